/* SPDX-License-Identifier: Apache-2.0 */
/* Options of writing: a dict of keyword values becomes grebe_write_options. */
#include "core.h"

#include <string.h>

const char *core_text_item(PyObject *dict, const char *name)
{
    PyObject *v = PyDict_GetItemString(dict, name);
    return v == NULL || v == Py_None ? NULL : PyUnicode_AsUTF8AndSize(v, NULL);
}

static int int_item(PyObject *dict, const char *name, int64_t min, int64_t max, int64_t *out)
{
    PyObject *v = PyDict_GetItemString(dict, name);
    if (v != NULL && v != Py_None) {
        *out = PyLong_AsLongLong(v);
        if (!PyErr_Occurred() && (*out < min || *out > max)) {
            PyErr_Format(PyExc_ValueError, "%s: expected a number from %lld to %lld, found %lld", name,
                         (long long)min, (long long)max, (long long)*out);
        }
    }
    return PyErr_Occurred() ? -1 : 0;
}

/* A misspelled option must not be ignored. */
static int check_options(PyObject *options)
{
    static const char *const known[] = { "profile", "file_format", "compression", "compression_level",
                                         "row_group_bytes", "row_group_rows", "groups", "durable",
                                         "message", "encodings", "bloom", "bloom_rate",
                                         "page_bytes", "page_rows", "data_page_version",
                                         "statistics", "page_index", "checksums", "policy",
                                         "policy_patterns", "policy_formats", "max_column_bytes",
                                         "max_columns_in_group", "file_bytes", "properties",
                                         "delimiter", "quote", "header", "null_value" };
    return core_known_names(options, known, sizeof known / sizeof known[0]);
}

static int group_args(PyObject *groups, struct core_write_args *out)
{
    PyObject *list = PySequence_List(groups);
    if (list == NULL) {
        return -1;
    }
    Py_ssize_t n = PyList_Size(list);
    out->groups = PyMem_Calloc((size_t)n + 1, sizeof *out->groups);
    int result = out->groups != NULL ? 0 : -1;
    for (Py_ssize_t i = 0; result == 0 && i < n; i++) {
        PyObject *keep = NULL;
        const char **names = NULL;
        result = core_names(PyList_GetItem(list, i), &keep, &names, &out->groups[i].n_columns);
        out->groups[i].columns = names;
        out->o.n_groups = (size_t)i + 1;
        if (keep != NULL) {
            result = PyList_Append(out->keep, keep);
            Py_DECREF(keep);
        }
    }
    out->o.groups = out->groups;
    Py_DECREF(list);
    return result;
}

/* encodings: a name for every column that it fits, or a dict by column. */
static int encoding_args(PyObject *value, struct core_write_args *out)
{
    PyObject *keys = NULL, *values = NULL, *keep[2] = { NULL, NULL };
    const char **columns = NULL, **names = NULL;
    size_t n = 0, n_names = 0;
    int result = -1;
    if (PyUnicode_Check(value)) {
        out->encodings = PyMem_Calloc(1, sizeof *out->encodings);
        if (out->encodings == NULL) {
            PyErr_NoMemory();
            return -1;
        }
        out->encodings[0].encoding = PyUnicode_AsUTF8AndSize(value, NULL);
        out->o.encodings = out->encodings;
        out->o.n_encodings = 1;
        return out->encodings[0].encoding != NULL ? 0 : -1;
    }
    keys = PyMapping_Keys(value);
    values = keys != NULL ? PyMapping_Values(value) : NULL;
    if (values == NULL || core_names(keys, &keep[0], &columns, &n) != 0 ||
        core_names(values, &keep[1], &names, &n_names) != 0) {
        goto done;
    }
    out->encodings = PyMem_Calloc(n + 1, sizeof *out->encodings);
    if (out->encodings == NULL) {
        PyErr_NoMemory();
        goto done;
    }
    for (size_t i = 0; i < n && i < n_names; i++) {
        out->encodings[i] = (grebe_column_encoding){ columns[i], names[i] };
    }
    out->o.encodings = out->encodings;
    out->o.n_encodings = n;
    result = PyList_Append(out->keep, keep[0]) == 0 && PyList_Append(out->keep, keep[1]) == 0 ? 0 : -1;
done:
    PyMem_Free((void *)columns);
    PyMem_Free((void *)names);
    Py_XDECREF(keep[0]);
    Py_XDECREF(keep[1]);
    Py_XDECREF(keys);
    Py_XDECREF(values);
    return result;
}

static int bloom_args(PyObject *options, struct core_write_args *out)
{
    PyObject *columns = PyDict_GetItemString(options, "bloom");
    PyObject *rate = PyDict_GetItemString(options, "bloom_rate");
    PyObject *keep = NULL;
    if (rate != NULL && rate != Py_None) {
        out->o.bloom_rate = PyFloat_AsDouble(rate);
        if (!PyErr_Occurred() && !(out->o.bloom_rate > 0 && out->o.bloom_rate < 1)) {
            PyErr_Format(PyExc_ValueError, "bloom_rate: expected a number between 0 and 1, found %R",
                         rate);
        }
    }
    if (PyErr_Occurred() || core_names(columns, &keep, &out->bloom, &out->o.n_bloom_columns) != 0) {
        return -1;
    }
    out->o.bloom_columns = out->bloom;
    int result = keep == NULL ? 0 : PyList_Append(out->keep, keep);
    Py_XDECREF(keep);
    return result;
}

/* An option that is on unless it is false. *is_off is set. */
static int switch_item(PyObject *options, const char *name, bool *is_off)
{
    PyObject *v = PyDict_GetItemString(options, name);
    const int is_on = v == NULL || v == Py_None ? 1 : PyObject_IsTrue(v);
    *is_off = is_on == 0;
    return is_on < 0 ? -1 : 0;
}

/* What the writer of Parquet files leaves to the user. */
static int parquet_args(PyObject *options, struct core_write_args *out)
{
    int64_t version = 0;
    PyObject *encodings = PyDict_GetItemString(options, "encodings");
    if (encodings != NULL && encodings != Py_None && encoding_args(encodings, out) != 0) {
        return -1;
    }
    if (bloom_args(options, out) != 0 ||
        int_item(options, "page_bytes", 1, INT64_MAX, &out->o.page_bytes) != 0 ||
        int_item(options, "page_rows", 1, INT64_MAX, &out->o.page_rows) != 0 ||
        int_item(options, "data_page_version", 1, 2, &version) != 0 ||
        switch_item(options, "statistics", &out->o.is_without_statistics) != 0 ||
        switch_item(options, "page_index", &out->o.is_without_page_index) != 0 ||
        switch_item(options, "checksums", &out->o.is_without_checksums) != 0) {
        return -1;
    }
    out->o.data_page_version = (int32_t)version;
    return 0;
}

/* A list of str into the options; its strings live in out->keep, its array in out->lists. */
static int list_arg(PyObject *options, const char *name, struct core_write_args *out, size_t slot,
                    const char *const **items, size_t *n)
{
    PyObject *keep = NULL;
    const char **names = NULL;
    int result = core_names(PyDict_GetItemString(options, name), &keep, &names, n);
    out->lists[slot] = names;
    *items = names;
    if (keep != NULL) {
        result = PyList_Append(out->keep, keep);
        Py_DECREF(keep);
    }
    return result;
}

/* str of any value: numbers and truths are text in the reference's properties. */
static int property_text(PyObject *value, struct core_write_args *out, const char **text)
{
    PyObject *str = PyObject_Str(value);
    int result = str != NULL ? PyList_Append(out->keep, str) : -1;
    *text = result == 0 ? PyUnicode_AsUTF8AndSize(str, NULL) : NULL;
    Py_XDECREF(str);
    return *text != NULL ? 0 : -1;
}

static int property_args(PyObject *dict, struct core_write_args *out)
{
    if (dict == NULL || dict == Py_None) {
        return 0;
    }
    PyObject *items = PyMapping_Items(dict);
    Py_ssize_t n = items != NULL ? PyList_Size(items) : 0;
    int result = items != NULL ? 0 : -1;
    out->properties = PyMem_Calloc((size_t)n + 1, sizeof *out->properties);
    if (result == 0 && out->properties == NULL) {
        PyErr_NoMemory();
        result = -1;
    }
    for (Py_ssize_t i = 0; result == 0 && i < n; i++) {
        PyObject *pair = PyList_GetItem(items, i);
        result = property_text(PyTuple_GetItem(pair, 0), out, &out->properties[i].key);
        result = result != 0 ? result
                             : property_text(PyTuple_GetItem(pair, 1), out, &out->properties[i].value);
        out->o.n_properties = (size_t)i + 1;
    }
    out->o.properties = out->properties;
    Py_XDECREF(items);
    return result;
}

static int policy_args(PyObject *options, struct core_write_args *out)
{
    static const char *const policies[] = { "", "single", "schema_based", "size_based" };
    const char *policy = core_text_item(options, "policy");
    int32_t i = 0;
    while (policy != NULL && i < 4 && (i == 0 || strcmp(policies[i], policy) != 0)) {
        i++;
    }
    if (i == 4) {
        PyErr_Format(PyExc_ValueError, "policy: expected \"single\", \"schema_based\" or \"size_based\", "
                     "found \"%s\"", policy);
        return -1;
    }
    out->o.policy = i;
    if (PyErr_Occurred() ||
        list_arg(options, "policy_patterns", out, 0, &out->o.policy_patterns,
                 &out->o.n_policy_patterns) != 0 ||
        list_arg(options, "policy_formats", out, 1, &out->o.policy_formats,
                 &out->o.n_policy_formats) != 0 ||
        int_item(options, "max_column_bytes", 0, INT64_MAX, &out->o.max_column_bytes) != 0 ||
        int_item(options, "max_columns_in_group", 0, INT64_MAX, &out->o.max_columns_in_group) != 0 ||
        int_item(options, "file_bytes", 1, INT64_MAX, &out->o.file_bytes) != 0) {
        return -1;
    }
    return property_args(PyDict_GetItemString(options, "properties"), out);
}

/* Of files of CSV. */
static int text_args(PyObject *options, struct core_write_args *out)
{
    PyObject *header = PyDict_GetItemString(options, "header");
    out->text = (grebe_text_options)GREBE_TEXT_OPTIONS_INIT;
    out->text.delimiter = core_text_item(options, "delimiter");
    out->text.quote = core_text_item(options, "quote");
    out->null_text = core_text_item(options, "null_value");
    if (out->null_text != NULL) {
        out->text.nulls = &out->null_text;
        out->text.n_nulls = 1;
    }
    if (header != NULL && header != Py_None && PyObject_IsTrue(header) == 0) {
        out->text.header = GREBE_HEADER_NO;
    }
    out->o.text = &out->text;
    return PyErr_Occurred() ? -1 : 0;
}

int core_write_args(PyObject *options, struct core_write_args *out)
{
    int64_t level = INT32_MIN;
    memset(out, 0, sizeof *out);
    out->o = (grebe_write_options)GREBE_WRITE_OPTIONS_INIT;
    out->keep = PyList_New(0);
    if (out->keep == NULL || check_options(options) != 0) {
        return -1;
    }
    const char *profile = core_text_item(options, "profile");
    if (profile != NULL && strcmp(profile, "milvus") == 0) {
        out->o.profile = GREBE_PROFILE_MILVUS;
    } else if (profile != NULL && strcmp(profile, "open") != 0) {
        PyErr_Format(PyExc_ValueError, "profile: expected \"open\" or \"milvus\", found \"%s\"", profile);
        return -1;
    }
    out->o.file_format = core_text_item(options, "file_format");
    out->o.compression = core_text_item(options, "compression");
    if (PyErr_Occurred() || int_item(options, "compression_level", INT32_MIN + 1, INT32_MAX, &level) != 0 ||
        int_item(options, "row_group_bytes", 1, INT64_MAX, &out->o.row_group_bytes) != 0 ||
        int_item(options, "row_group_rows", 1, INT64_MAX, &out->o.row_group_rows) != 0) {
        return -1;
    }
    out->o.compression_level = (int32_t)level;
    if (parquet_args(options, out) != 0 || policy_args(options, out) != 0 ||
        text_args(options, out) != 0) {
        return -1;
    }
    PyObject *groups = PyDict_GetItemString(options, "groups");
    return groups != NULL && groups != Py_None ? group_args(groups, out) : 0;
}

void core_write_args_free(struct core_write_args *args)
{
    for (size_t i = 0; args->groups != NULL && i < args->o.n_groups; i++) {
        PyMem_Free((void *)args->groups[i].columns);
    }
    PyMem_Free(args->groups);
    PyMem_Free(args->encodings);
    PyMem_Free((void *)args->bloom);
    PyMem_Free(args->properties);
    for (size_t i = 0; i < sizeof args->lists / sizeof args->lists[0]; i++) {
        PyMem_Free((void *)args->lists[i]);
    }
    Py_XDECREF(args->keep);
}
