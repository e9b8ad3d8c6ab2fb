/* SPDX-License-Identifier: Apache-2.0 */
#include "core.h"

/*
 * Operations of a transaction on what lies in files already: column groups, delete logs,
 * statistics, indexes, LOB files. Arguments come as dicts and lists (python/grebe/_table.py).
 */

/* Blocks that live until the call is over. */
struct blocks {
    void **items;
    size_t n, capacity;
};

static void *block(struct blocks *b, size_t n, size_t size)
{
    if (b->n == b->capacity) {
        size_t capacity = b->capacity == 0 ? 16 : b->capacity * 2;
        void **grown = PyMem_Realloc(b->items, capacity * sizeof *grown);
        if (grown == NULL) {
            PyErr_NoMemory();
            return NULL;
        }
        b->items = grown;
        b->capacity = capacity;
    }
    void *p = PyMem_Calloc(n + 1, size);
    if (p == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    b->items[b->n++] = p;
    return p;
}

static void blocks_free(struct blocks *b)
{
    for (size_t i = 0; i < b->n; i++) {
        PyMem_Free(b->items[i]);
    }
    PyMem_Free(b->items);
}

/* Strings are copied: nothing but the blocks must live. None: NULL. */
static int copy_text(struct blocks *b, PyObject *value, const char **out)
{
    *out = NULL;
    if (value == NULL || value == Py_None) {
        return 0;
    }
    PyObject *text = PyUnicode_Check(value) ? Py_NewRef(value) : PyObject_Str(value);
    const char *s = text != NULL ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
    char *copy = s != NULL ? block(b, strlen(s), 1) : NULL;
    if (copy != NULL) {
        strcpy(copy, s);
    }
    Py_XDECREF(text);
    *out = copy;
    return copy != NULL ? 0 : -1;
}

static int copy_texts(struct blocks *b, PyObject *values, const char *const **out, size_t *n)
{
    *out = NULL;
    *n = 0;
    if (values == NULL || values == Py_None) {
        return 0;
    }
    if (PyUnicode_Check(values)) {
        PyErr_SetString(PyExc_TypeError, "expected a sequence of str, found a single str");
        return -1;
    }
    PyObject *list = PySequence_List(values);
    Py_ssize_t len = list != NULL ? PyList_Size(list) : 0;
    const char **texts = list != NULL ? block(b, (size_t)len, sizeof *texts) : NULL;
    int result = texts != NULL ? 0 : -1;
    for (Py_ssize_t i = 0; result == 0 && i < len; i++) {
        result = copy_text(b, PyList_GetItem(list, i), &texts[i]);
    }
    Py_XDECREF(list);
    *out = texts;
    *n = (size_t)len;
    return result;
}

static int copy_pairs(struct blocks *b, PyObject *dict, const grebe_property **out, size_t *n)
{
    *out = NULL;
    *n = 0;
    if (dict == NULL || dict == Py_None) {
        return 0;
    }
    PyObject *items = PyMapping_Items(dict);
    Py_ssize_t len = items != NULL ? PyList_Size(items) : 0;
    grebe_property *pairs = items != NULL ? block(b, (size_t)len, sizeof *pairs) : NULL;
    int result = pairs != NULL ? 0 : -1;
    for (Py_ssize_t i = 0; result == 0 && i < len; i++) {
        PyObject *pair = PyList_GetItem(items, i);
        result = copy_text(b, PyTuple_GetItem(pair, 0), &pairs[i].key) != 0 ||
                         copy_text(b, PyTuple_GetItem(pair, 1), &pairs[i].value) != 0
                     ? -1 : 0;
    }
    Py_XDECREF(items);
    *out = pairs;
    *n = (size_t)len;
    return result;
}

/* An item of a dict; NULL without an exception: not there. */
static PyObject *item(PyObject *dict, const char *name)
{
    if (!PyDict_Check(dict)) {
        PyErr_Format(PyExc_TypeError, "expected a dict, found %R", dict);
        return NULL;
    }
    return PyDict_GetItemString(dict, name);
}

static int int_item(PyObject *dict, const char *name, int64_t *out)
{
    PyObject *v = item(dict, name);
    if (v != NULL && v != Py_None) {
        *out = PyLong_AsLongLong(v);
    }
    return PyErr_Occurred() ? -1 : 0;
}

static int group_file(struct blocks *b, PyObject *dict, grebe_group_file *out)
{
    return copy_text(b, item(dict, "path"), &out->path) != 0 ||
                   int_item(dict, "row_begin", &out->row_begin) != 0 ||
                   int_item(dict, "row_end", &out->row_end) != 0 ||
                   copy_pairs(b, item(dict, "properties"), &out->properties,
                              &out->n_properties) != 0
               ? -1 : 0;
}

/* {"columns": […], "format": "parquet", "files": [{"path":…, "row_begin":…, "row_end":…, "properties": {…}}]} */
static int group_of(struct blocks *b, PyObject *dict, grebe_group *out)
{
    PyObject *files = item(dict, "files");
    if (PyErr_Occurred()) {
        return -1;
    }
    PyObject *list = PySequence_List(files != NULL ? files : Py_None);
    Py_ssize_t n = list != NULL ? PyList_Size(list) : 0;
    grebe_group_file *copies = list != NULL ? block(b, (size_t)n, sizeof *copies) : NULL;
    int result = copies != NULL && copy_text(b, item(dict, "format"), &out->format) == 0 &&
                         copy_texts(b, item(dict, "columns"), &out->columns, &out->n_columns) == 0
                     ? 0 : -1;
    for (Py_ssize_t i = 0; result == 0 && i < n; i++) {
        result = group_file(b, PyList_GetItem(list, i), &copies[i]);
    }
    out->format = out->format == NULL ? "parquet" : out->format;
    out->files = copies;
    out->n_files = (size_t)n;
    Py_XDECREF(list);
    return result;
}

static PyObject *done(struct blocks *b, bool is_read, grebe_status st, const grebe_error *err)
{
    blocks_free(b);
    if (!is_read) {
        return NULL;
    }
    if (st != GREBE_OK) {
        return core_raise(err);
    }
    Py_RETURN_NONE;
}

PyObject *core_txn_append_files(PyObject *self, PyObject *args)
{
    PyObject *groups = NULL;
    struct blocks b = { 0 };
    grebe_error err = GREBE_ERROR_INIT;
    grebe_status st = GREBE_OK;
    grebe_txn *t = core_txn_of(self);
    if (t == NULL || !PyArg_ParseTuple(args, "O", &groups)) {
        return NULL;
    }
    PyObject *list = PySequence_List(groups);
    Py_ssize_t n = list != NULL ? PyList_Size(list) : 0;
    grebe_group *copies = list != NULL ? block(&b, (size_t)n, sizeof *copies) : NULL;
    bool is_read = copies != NULL;
    for (Py_ssize_t i = 0; is_read && i < n; i++) {
        is_read = group_of(&b, PyList_GetItem(list, i), &copies[i]) == 0;
    }
    if (is_read) {
        st = grebe_txn_append_files(t, copies, (size_t)n, &err);
    }
    Py_XDECREF(list);
    return done(&b, is_read, st, &err);
}

PyObject *core_txn_add_group(PyObject *self, PyObject *args)
{
    PyObject *dict = NULL;
    struct blocks b = { 0 };
    grebe_group group = { 0 };
    grebe_error err = GREBE_ERROR_INIT;
    grebe_txn *t = core_txn_of(self);
    if (t == NULL || !PyArg_ParseTuple(args, "O", &dict)) {
        return NULL;
    }
    bool is_read = group_of(&b, dict, &group) == 0;
    grebe_status st = is_read ? grebe_txn_add_group(t, &group, &err) : GREBE_OK;
    return done(&b, is_read, st, &err);
}

PyObject *core_txn_add_delta_log(PyObject *self, PyObject *args)
{
    const char *path = NULL;
    int type = 0;
    long long n = 0;
    struct blocks b = { 0 };
    grebe_error err = GREBE_ERROR_INIT;
    grebe_txn *t = core_txn_of(self);
    if (t == NULL || !PyArg_ParseTuple(args, "siL", &path, &type, &n)) {
        return NULL;
    }
    return done(&b, true, grebe_txn_add_delta_log(t, path, type, n, &err), &err);
}

PyObject *core_txn_set_stat(PyObject *self, PyObject *args)
{
    const char *key = NULL;
    PyObject *paths = NULL, *metadata = NULL;
    const char *const *texts = NULL;
    const grebe_property *pairs = NULL;
    size_t n_texts = 0, n_pairs = 0;
    struct blocks b = { 0 };
    grebe_error err = GREBE_ERROR_INIT;
    grebe_txn *t = core_txn_of(self);
    if (t == NULL || !PyArg_ParseTuple(args, "sOO", &key, &paths, &metadata)) {
        return NULL;
    }
    bool is_read = copy_texts(&b, paths, &texts, &n_texts) == 0 &&
                   copy_pairs(&b, metadata, &pairs, &n_pairs) == 0;
    grebe_status st = is_read ? grebe_txn_set_stat(t, key, texts, n_texts, pairs, n_pairs, &err)
                              : GREBE_OK;
    return done(&b, is_read, st, &err);
}

PyObject *core_txn_add_index(PyObject *self, PyObject *args)
{
    PyObject *dict = NULL;
    struct blocks b = { 0 };
    grebe_index x = { 0 };
    grebe_error err = GREBE_ERROR_INIT;
    int64_t versions[3] = { 0, 0, 0 };
    grebe_txn *t = core_txn_of(self);
    if (t == NULL || !PyArg_ParseTuple(args, "O!", &PyDict_Type, &dict)) {
        return NULL;
    }
    bool is_read =
        copy_text(&b, item(dict, "column_name"), &x.column_name) == 0 &&
        copy_text(&b, item(dict, "index_name"), &x.index_name) == 0 &&
        copy_text(&b, item(dict, "index_type"), &x.index_type) == 0 &&
        copy_text(&b, item(dict, "path"), &x.path) == 0 &&
        int_item(dict, "field_id", &x.field_id) == 0 && int_item(dict, "index_id", &x.index_id) == 0 &&
        int_item(dict, "build_id", &x.build_id) == 0 &&
        int_item(dict, "index_version", &x.index_version) == 0 &&
        int_item(dict, "num_rows", &x.n_rows) == 0 &&
        int_item(dict, "serialized_size", &x.serialized_size) == 0 &&
        int_item(dict, "mem_size", &x.mem_size) == 0 &&
        int_item(dict, "current_index_version", &versions[0]) == 0 &&
        int_item(dict, "current_scalar_index_version", &versions[1]) == 0 &&
        int_item(dict, "index_store_path_version", &versions[2]) == 0 &&
        copy_texts(&b, item(dict, "index_file_keys"), &x.file_keys, &x.n_file_keys) == 0 &&
        copy_pairs(&b, item(dict, "properties"), &x.properties, &x.n_properties) == 0;
    for (size_t i = 0; is_read && i < 3; i++) {
        if (versions[i] < INT32_MIN || versions[i] > INT32_MAX) {
            PyErr_SetString(PyExc_ValueError, "a version of an index: expected 32 bits");
            is_read = false;
        }
    }
    x.current_index_version = (int32_t)versions[0];
    x.current_scalar_index_version = (int32_t)versions[1];
    x.index_store_path_version = (int32_t)versions[2];
    grebe_status st = is_read ? grebe_txn_add_index(t, &x, &err) : GREBE_OK;
    return done(&b, is_read, st, &err);
}

PyObject *core_txn_drop_index(PyObject *self, PyObject *args)
{
    long long id = 0;
    struct blocks b = { 0 };
    grebe_error err = GREBE_ERROR_INIT;
    grebe_txn *t = core_txn_of(self);
    if (t == NULL || !PyArg_ParseTuple(args, "L", &id)) {
        return NULL;
    }
    return done(&b, true, grebe_txn_drop_index(t, id, &err), &err);
}

PyObject *core_txn_add_lob_file(PyObject *self, PyObject *args)
{
    const char *path = NULL;
    long long field_id = 0, total = 0, valid = 0, bytes = 0;
    struct blocks b = { 0 };
    grebe_error err = GREBE_ERROR_INIT;
    grebe_txn *t = core_txn_of(self);
    if (t == NULL || !PyArg_ParseTuple(args, "sLLLL", &path, &field_id, &total, &valid, &bytes)) {
        return NULL;
    }
    return done(&b, true, grebe_txn_add_lob_file(t, path, field_id, total, valid, bytes, &err),
                &err);
}
