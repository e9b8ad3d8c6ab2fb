/* SPDX-License-Identifier: Apache-2.0 */
/* Tables as handles: how one comes to be, what it is called with, and how it ends. */
#include "core_table.h"

#include <string.h>

grebe_table *core_table_of(PyObject *self)
{
    struct core_table *t = (struct core_table *)self;
    if (t->is_closed) {
        PyErr_SetString(PyExc_ValueError, "the table is closed");
        return NULL;
    }
    return t->table;
}

/* Close what close() asked for, once no call uses it. */
static void close_if_unused(struct core_table *t)
{
    if (t->is_closed && t->n_calls == 0) {
        grebe_table *table = t->table;
        t->table = NULL;
        grebe_table_close(table);
    }
}

/* Another thread, or Python code that runs while arguments are read, may call close() meanwhile. */
static PyObject *with_table(PyObject *self, PyObject *args, PyObject *kwargs,
                            PyObject *(*call)(grebe_table *, PyObject *, PyObject *))
{
    struct core_table *t = (struct core_table *)self;
    grebe_table *table = core_table_of(self);
    if (table == NULL) {
        return NULL;
    }
    t->n_calls++;
    PyObject *result = call(table, args, kwargs);
    t->n_calls--;
    close_if_unused(t);
    return result;
}

/* The method table_<name> of Python, around call(table, args, kwargs). */
#define TABLE_METHOD(name, call)                                                    \
    static PyObject *table_##name(PyObject *self, PyObject *args, PyObject *kwargs) \
    {                                                                               \
        return with_table(self, args, kwargs, call);                                \
    }

PyObject *core_table_new(grebe_table *table)
{
    PyObject *self = core_object_new(core.table_class);
    if (self == NULL) {
        grebe_table_close(table);
        return NULL;
    }
    ((struct core_table *)self)->table = table;
    return self;
}

static void table_dealloc(PyObject *self)
{
    ((struct core_table *)self)->is_closed = true;
    close_if_unused((struct core_table *)self);
    core_object_free(self);
}

static int parse_compat(const char *compat, int32_t *out)
{
    *out = GREBE_COMPAT_NONE;
    if (compat != NULL && strcmp(compat, "milvus") == 0) {
        *out = GREBE_COMPAT_MILVUS;
    } else if (compat != NULL) {
        PyErr_Format(PyExc_ValueError, "compat: expected None or \"milvus\", found \"%s\"", compat);
        return -1;
    }
    return 0;
}

/* storage_options: dict of str. The strings are borrowed from it. */
static int parse_storage(PyObject *dict, PyObject **keep, const char ***keys, const char ***values,
                         size_t *n)
{
    PyObject *k = NULL, *v = NULL;
    *keys = NULL;
    *values = NULL;
    *n = 0;
    *keep = NULL;
    if (dict == NULL || dict == Py_None) {
        return 0;
    }
    PyObject *key_list = PyMapping_Keys(dict), *value_list = key_list != NULL ? PyMapping_Values(dict) : NULL;
    size_t n_values = 0;
    int result = value_list == NULL || core_names(key_list, &k, keys, n) != 0 ||
                         core_names(value_list, &v, values, &n_values) != 0
                     ? -1 : 0;
    Py_XDECREF(key_list);
    Py_XDECREF(value_list);
    if (result == 0) {
        *keep = PyTuple_Pack(2, k, v);
        result = *keep != NULL ? 0 : -1;
    }
    Py_XDECREF(k);
    Py_XDECREF(v);
    return result;
}

/* open(uri, at, compat, storage_options, version_zero) */
PyObject *core_table_open(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *keywords[] = { "uri", "at", "compat", "storage_options", NULL };
    const char *uri = NULL, *at = NULL, *compat = NULL;
    PyObject *storage = NULL, *keep = NULL;
    const char **keys = NULL, **values = NULL;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_table_open_options o = GREBE_TABLE_OPEN_OPTIONS_INIT;
    grebe_table *table = NULL;
    grebe_status st = GREBE_OK;
    (void)self;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "s|zzO", keywords, &uri, &at, &compat, &storage) ||
        parse_compat(compat, &o.compat) != 0) {
        return NULL;
    }
    if (parse_storage(storage, &keep, &keys, &values, &o.n_storage_options) == 0) {
        o.at = at;
        o.storage_keys = keys;
        o.storage_values = values;
        Py_BEGIN_ALLOW_THREADS
        st = grebe_table_open(core.ctx, uri, &o, &table, &err);
        Py_END_ALLOW_THREADS
    }
    PyMem_Free((void *)keys);
    PyMem_Free((void *)values);
    Py_XDECREF(keep);
    if (table == NULL) {
        return PyErr_Occurred() ? NULL : core_raise(&err);
    }
    (void)st;
    return core_table_new(table);
}

/* create(uri, data, options: dict) */
PyObject *core_table_create(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *keywords[] = { "uri", "data", "options", NULL };
    const char *uri = NULL;
    PyObject *data = NULL, *options = NULL;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_table_create_options o = GREBE_TABLE_CREATE_OPTIONS_INIT;
    struct core_write_args write;
    struct ArrowArrayStream rows = { 0 };
    grebe_table *table = NULL;
    (void)self;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "sOO!", keywords, &uri, &data, &PyDict_Type,
                                     &options)) {
        return NULL;
    }
    if (core_write_args(options, &write) == 0 && core_import_stream(data, &rows) == 0) {
        PyObject *durable = PyDict_GetItemString(options, "durable");
        o.is_not_durable = durable != NULL && PyObject_IsTrue(durable) == 0;
        o.message = core_text_item(options, "message");
        o.write = &write.o;
        Py_BEGIN_ALLOW_THREADS
        if (grebe_table_create(core.ctx, uri, &rows, &o, &table, &err) != GREBE_OK) {
            table = NULL;
        }
        Py_END_ALLOW_THREADS
    }
    core_write_args_free(&write);
    if (table == NULL) {
        return PyErr_Occurred() ? NULL : core_raise(&err);
    }
    return core_table_new(table);
}

static PyObject *table_schema(PyObject *self, void *unused)
{
    (void)unused;
    grebe_error err = GREBE_ERROR_INIT;
    struct ArrowSchema schema = { 0 };
    grebe_table *t = core_table_of(self);
    if (t == NULL) {
        return NULL;
    }
    grebe_status st = grebe_table_schema(t, &schema, &err);
    return st == GREBE_OK ? core_schema_new(&schema) : core_raise(&err);
}

static PyObject *table_version(PyObject *self, void *unused)
{
    (void)unused;
    grebe_table *t = core_table_of(self);
    return t != NULL ? PyLong_FromLongLong(grebe_table_version(t)) : NULL;
}

static PyObject *table_num_rows(PyObject *self, void *unused)
{
    (void)unused;
    grebe_table *t = core_table_of(self);
    return t != NULL ? PyLong_FromLongLong(grebe_table_num_rows(t)) : NULL;
}

static PyObject *table_closed(PyObject *self, void *unused)
{
    (void)unused;
    return PyBool_FromLong(((struct core_table *)self)->is_closed);
}

static PyObject *table_path(PyObject *self, void *unused)
{
    (void)unused;
    grebe_table *t = core_table_of(self);
    return t != NULL ? PyUnicode_FromString(grebe_table_path(t)) : NULL;
}

static void add_finding(void *arg, bool is_error, const char *place, const char *message)
{
    PyGILState_STATE gil = PyGILState_Ensure();
    PyObject *item = Py_BuildValue("(sss)", is_error ? "error" : "warning", place, message);
    if (item == NULL || PyList_Append((PyObject *)arg, item) != 0) {
        PyErr_Clear();
    }
    Py_XDECREF(item);
    PyGILState_Release(gil);
}

static PyObject *check(grebe_table *t, PyObject *args, PyObject *kwargs)
{
    static char *keywords[] = { "deep", NULL };
    int deep = 0;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_check_options o = GREBE_CHECK_OPTIONS_INIT;
    grebe_status st = GREBE_OK;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|p", keywords, &deep)) {
        return NULL;
    }
    PyObject *list = PyList_New(0);
    if (list == NULL) {
        return NULL;
    }
    o.is_deep = deep != 0;
    o.on_finding = add_finding;
    o.arg = list;
    Py_BEGIN_ALLOW_THREADS
    st = grebe_table_check(t, &o, NULL, &err);
    Py_END_ALLOW_THREADS
    if (st != GREBE_OK) {
        Py_DECREF(list);
        return core_raise(&err);
    }
    return list;
}

static PyObject *table_close(PyObject *self, PyObject *unused)
{
    (void)unused;
    ((struct core_table *)self)->is_closed = true;
    close_if_unused((struct core_table *)self);
    Py_RETURN_NONE;
}

TABLE_METHOD(scan, core_table_scan)
TABLE_METHOD(chunks, core_chunks_open)
TABLE_METHOD(take, core_table_take)
TABLE_METHOD(count, core_table_count)
TABLE_METHOD(log, core_table_log)
TABLE_METHOD(tag, core_table_tag)
TABLE_METHOD(check, check)
TABLE_METHOD(at, core_table_at)
TABLE_METHOD(versions, core_table_versions)
TABLE_METHOD(tags, core_table_tags)

static PyObject *table_get_tags(PyObject *self, void *unused)
{
    (void)unused;
    return table_tags(self, NULL, NULL);
}

#define KW(fn) ((PyCFunction)(void (*)(void))(fn))
static PyMethodDef table_methods[] = {
    { "_chunks", KW(table_chunks), METH_VARARGS | METH_KEYWORDS, NULL },
    { "_scan", KW(table_scan), METH_VARARGS | METH_KEYWORDS, NULL },
    { "_take", KW(table_take), METH_VARARGS | METH_KEYWORDS, NULL },
    { "_count", KW(table_count), METH_VARARGS | METH_KEYWORDS, NULL },
    { "_log", KW(table_log), METH_VARARGS | METH_KEYWORDS, NULL },
    { "_tag", KW(table_tag), METH_VARARGS | METH_KEYWORDS, NULL },
    { "_check", KW(table_check), METH_VARARGS | METH_KEYWORDS, NULL },
    { "_at", KW(table_at), METH_VARARGS | METH_KEYWORDS, NULL },
    { "_versions", KW(table_versions), METH_VARARGS | METH_KEYWORDS, NULL },
    { "close", table_close, METH_NOARGS, "Close the table; streams and batches stay valid." },
    { NULL, NULL, 0, NULL }
};
static PyGetSetDef table_getset[] = {
    { "schema", table_schema, NULL, "The columns of this version.", NULL },
    { "version", table_version, NULL, "Number of this version.", NULL },
    { "num_rows", table_num_rows, NULL, "Rows of this version.", NULL },
    { "tags", table_get_tags, NULL, "Names of versions: {name: version}.", NULL },
    { "closed", table_closed, NULL, "Whether close() was called.", NULL },
    { "uri", table_path, NULL, "Where the table lies.", NULL },
    { NULL, NULL, NULL, NULL, NULL }
};
static PyType_Slot table_slots[] = { { Py_tp_dealloc, (void *)table_dealloc },
                                     { Py_tp_methods, table_methods },
                                     { Py_tp_getset, table_getset },
                                     { 0, NULL } };
PyType_Spec core_table_spec = { "grebe._core.Table", sizeof(struct core_table), 0,
                                Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE |
                                    Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                table_slots };
