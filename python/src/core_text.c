/* SPDX-License-Identifier: Apache-2.0 */
/* The layout of text: a dict of keyword values becomes grebe_text_options. */
#include "core.h"

#include <string.h>

static int check_names(PyObject *options)
{
    static const char *const known[] = { "delimiter", "quote", "escape", "comment", "header",
                                         "null_values", "decimal_comma", "trim", "skip_rows",
                                         "ragged", "encoding", "schema", "sample_rows" };
    return core_known_names(options, known, sizeof known / sizeof known[0]);
}

/* One of the words, by its number. */
static int choice_item(PyObject *options, const char *name, const char *const *words,
                       int32_t *out)
{
    const char *text = core_text_item(options, name);
    for (int32_t i = 0; text != NULL && words[i] != NULL; i++) {
        if (strcmp(words[i], text) == 0) {
            *out = i;
            return 0;
        }
    }
    if (text != NULL) {
        PyErr_Format(PyExc_ValueError, "%s: unknown value \"%s\"", name, text);
    }
    return PyErr_Occurred() ? -1 : 0;
}

/* True, False or "auto". */
static int header_item(PyObject *options, int32_t *out)
{
    static const char *const words[] = { "yes", "no", "auto", NULL };
    PyObject *v = PyDict_GetItemString(options, "header");
    if (v == Py_True || v == Py_False) {
        *out = v == Py_True ? GREBE_HEADER_YES : GREBE_HEADER_NO;
        return 0;
    }
    return choice_item(options, "header", words, out);
}

static int number_item(PyObject *options, const char *name, int64_t *out)
{
    PyObject *v = PyDict_GetItemString(options, name);
    if (v != NULL && v != Py_None) {
        *out = PyLong_AsLongLong(v);
        if (!PyErr_Occurred() && *out < 0) {
            PyErr_Format(PyExc_ValueError, "%s: expected 0 or more, found %R", name, v);
        }
    }
    return PyErr_Occurred() ? -1 : 0;
}

/* A number of lines, or "all". */
static int sample_item(PyObject *options, int64_t *out)
{
    PyObject *v = PyDict_GetItemString(options, "sample_rows");
    if (v != NULL && PyUnicode_Check(v)) {
        static const char *const words[] = { "all", NULL };
        int32_t ignored = 0;
        *out = 0;
        return choice_item(options, "sample_rows", words, &ignored);
    }
    return number_item(options, "sample_rows", out);
}

/* A str is the JSON of a schema file; anything else has __arrow_c_schema__. */
static int schema_item(PyObject *options, struct core_text_args *out)
{
    PyObject *v = PyDict_GetItemString(options, "schema");
    grebe_error err = GREBE_ERROR_INIT;
    if (v == NULL || v == Py_None) {
        return 0;
    }
    if (PyUnicode_Check(v)) {
        Py_ssize_t len = 0;
        const char *text = PyUnicode_AsUTF8AndSize(v, &len);
        if (text == NULL || grebe_schema_parse_json(core.ctx, text, (size_t)len, &out->schema,
                                                    &err) != GREBE_OK) {
            return text == NULL ? -1 : core_raise_int(&err);
        }
    } else {
        PyObject *capsule = PyObject_CallMethod(v, "__arrow_c_schema__", NULL);
        struct ArrowSchema *schema =
            capsule != NULL ? PyCapsule_GetPointer(capsule, "arrow_schema") : NULL;
        if (schema != NULL) {
            out->schema = *schema;
            schema->release = NULL;
        }
        Py_XDECREF(capsule);
        if (schema == NULL) {
            return -1;
        }
    }
    out->o.schema = &out->schema;
    return 0;
}

int core_text_args(PyObject *options, struct core_text_args *out)
{
    static const char *const ragged[] = { "error", "fill", "drop", NULL };
    static const char *const encodings[] = { "utf-8", "latin1", NULL };
    int64_t skip = 0;
    memset(out, 0, sizeof *out);
    out->o = (grebe_text_options)GREBE_TEXT_OPTIONS_INIT;
    if (check_names(options) != 0) {
        return -1;
    }
    out->o.delimiter = core_text_item(options, "delimiter");
    out->o.quote = core_text_item(options, "quote");
    out->o.escape = core_text_item(options, "escape");
    out->o.comment = core_text_item(options, "comment");
    PyObject *decimal_comma = PyDict_GetItemString(options, "decimal_comma");
    PyObject *trim = PyDict_GetItemString(options, "trim");
    out->o.is_decimal_comma = decimal_comma != NULL && PyObject_IsTrue(decimal_comma) == 1;
    out->o.is_trimmed = trim != NULL && PyObject_IsTrue(trim) == 1;
    PyObject *nulls = PyDict_GetItemString(options, "null_values");
    PyObject *one = nulls != NULL && PyUnicode_Check(nulls) ? PyList_New(0) : NULL;
    if (one != NULL && PyList_Append(one, nulls) == 0) {
        nulls = one;
    }
    int result = PyErr_Occurred() ? -1 : core_names(nulls, &out->keep, &out->nulls, &out->o.n_nulls);
    Py_XDECREF(one);
    out->o.nulls = out->nulls;
    if (result != 0 || header_item(options, &out->o.header) != 0 ||
        choice_item(options, "ragged", ragged, &out->o.ragged) != 0 ||
        choice_item(options, "encoding", encodings, &out->o.encoding) != 0 ||
        number_item(options, "skip_rows", &skip) != 0 ||
        sample_item(options, &out->o.sample_rows) != 0 || schema_item(options, out) != 0) {
        return -1;
    }
    out->o.skip_lines = (uint64_t)skip;
    return 0;
}

void core_text_args_free(struct core_text_args *args)
{
    if (args->schema.release != NULL) {
        args->schema.release(&args->schema);
    }
    PyMem_Free((void *)args->nulls);
    Py_XDECREF(args->keep);
    memset(args, 0, sizeof *args);
}
