/* SPDX-License-Identifier: Apache-2.0 */
#include "core.h"

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

/* The method table_<name> of Python, around <name>_of(table, args, kwargs). */
#define TABLE_METHOD(name)                                                       \
    static PyObject *table_##name(PyObject *self, PyObject *args, PyObject *kwargs) \
    {                                                                            \
        return with_table(self, args, kwargs, name##_of);                        \
    }

PyObject *core_table_new(grebe_table *table)
{
    allocfunc alloc = (allocfunc)PyType_GetSlot((PyTypeObject *)core.table_class, Py_tp_alloc);
    PyObject *self = alloc((PyTypeObject *)core.table_class, 0);
    if (self == NULL) {
        grebe_table_close(table);
        return NULL;
    }
    ((struct core_table *)self)->table = table;
    return self;
}

static void table_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    ((struct core_table *)self)->is_closed = true;
    close_if_unused((struct core_table *)self);
    freefunc free_fn = (freefunc)PyType_GetSlot(type, Py_tp_free);
    free_fn(self);
    Py_DECREF(type);
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

/* ---- reading ---- */

struct scan_args {
    grebe_scan_options o;
    PyObject *keep;
    const char **names;
};

static int parse_scan(PyObject *args, PyObject *kwargs, struct scan_args *out)
{
    static char *keywords[] = { "columns", "where", "rows", "limit", "batch_rows", "with_row_id", NULL };
    PyObject *columns = NULL, *rows = NULL, *limit = NULL, *batch_rows = NULL;
    const char *where = NULL;
    int with_row_id = 0;
    memset(out, 0, sizeof *out);
    out->o = (grebe_scan_options)GREBE_SCAN_OPTIONS_INIT;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OzOOOp", keywords, &columns, &where, &rows, &limit,
                                     &batch_rows, &with_row_id) ||
        core_names(columns, &out->keep, &out->names, &out->o.n_columns) != 0 ||
        core_row_range(rows, &out->o.row_begin, &out->o.row_end) != 0) {
        return -1;
    }
    if (limit != NULL && limit != Py_None) {
        out->o.limit = PyLong_AsLongLong(limit);
        if (out->o.limit < 0 && !PyErr_Occurred()) {
            PyErr_SetString(PyExc_ValueError, "limit: expected a number that is not negative");
        }
    }
    if (batch_rows != NULL && batch_rows != Py_None) {
        out->o.batch_rows = PyLong_AsLongLong(batch_rows);
        if (out->o.batch_rows < 1 && !PyErr_Occurred()) {
            PyErr_SetString(PyExc_ValueError, "batch_rows: expected at least 1");
        }
    }
    out->o.columns = out->names;
    out->o.where = where;
    out->o.with_row_id = with_row_id != 0;
    return PyErr_Occurred() ? -1 : 0;
}

static void scan_args_free(struct scan_args *s)
{
    PyMem_Free((void *)s->names);
    Py_XDECREF(s->keep);
}

static PyObject *scan_of(grebe_table *t, PyObject *args, PyObject *kwargs)
{
    struct scan_args s;
    grebe_error err = GREBE_ERROR_INIT;
    struct ArrowArrayStream stream = { 0 };
    grebe_status st = GREBE_EINVAL;
    if (parse_scan(args, kwargs, &s) == 0) {
        Py_BEGIN_ALLOW_THREADS
        st = grebe_table_scan(t, &s.o, &stream, &err);
        Py_END_ALLOW_THREADS
    }
    scan_args_free(&s);
    if (PyErr_Occurred()) {
        return NULL;
    }
    return st == GREBE_OK ? core_stream_new(&stream) : core_raise(&err);
}

static PyObject *count_of(grebe_table *t, PyObject *args, PyObject *kwargs)
{
    static char *keywords[] = { "where", NULL };
    const char *where = NULL;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_scan_options o = GREBE_SCAN_OPTIONS_INIT;
    grebe_status st = GREBE_OK;
    int64_t n = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|z", keywords, &where)) {
        return NULL;
    }
    o.where = where;
    Py_BEGIN_ALLOW_THREADS
    st = grebe_table_count(t, &o, &n, &err);
    Py_END_ALLOW_THREADS
    return st == GREBE_OK ? PyLong_FromLongLong(n) : core_raise(&err);
}

static PyObject *take_of(grebe_table *t, PyObject *args, PyObject *kwargs)
{
    static char *keywords[] = { "rows", "columns", "missing", "with_row_id", NULL };
    PyObject *rows = NULL, *columns = NULL, *keep = NULL;
    const char *missing = NULL;
    const char **names = NULL;
    int with_row_id = 0;
    int64_t *ids = NULL;
    size_t n = 0;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_take_options o = GREBE_TAKE_OPTIONS_INIT;
    struct ArrowArray array = { 0 };
    struct ArrowSchema schema = { 0 };
    grebe_status st = GREBE_EINVAL;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|Ozp", keywords, &rows, &columns,
                                                  &missing, &with_row_id)) {
        return NULL;
    }
    if (missing != NULL && strcmp(missing, "null") == 0) {
        o.missing = GREBE_MISSING_NULL;
    } else if (missing != NULL && strcmp(missing, "error") != 0) {
        PyErr_Format(PyExc_ValueError, "missing: expected \"error\" or \"null\", found \"%s\"", missing);
        return NULL;
    }
    if (core_names(columns, &keep, &names, &o.n_columns) == 0 && core_row_ids(rows, &ids, &n) == 0) {
        o.columns = names;
        o.with_row_id = with_row_id != 0;
        Py_BEGIN_ALLOW_THREADS
        st = grebe_table_take(t, ids, n, &o, &array, &schema, &err);
        Py_END_ALLOW_THREADS
    }
    PyMem_Free((void *)names);
    PyMem_Free(ids);
    Py_XDECREF(keep);
    if (PyErr_Occurred()) {
        return NULL;
    }
    return st == GREBE_OK ? core_batch_new(&array, &schema) : core_raise(&err);
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

static PyObject *tags_of(grebe_table *t, PyObject *args, PyObject *kwargs)
{
    (void)args;
    (void)kwargs;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_tag_list *tags = NULL;
    grebe_status st = GREBE_OK;
    Py_BEGIN_ALLOW_THREADS
    st = grebe_table_tags(t, &tags, &err);
    Py_END_ALLOW_THREADS
    if (st != GREBE_OK) {
        return core_raise(&err);
    }
    PyObject *dict = PyDict_New();
    for (size_t i = 0; dict != NULL && i < tags->n; i++) {
        PyObject *v = PyLong_FromLongLong(tags->tags[i].version);
        if (v == NULL || PyDict_SetItemString(dict, tags->tags[i].name, v) != 0) {
            Py_CLEAR(dict);
        }
        Py_XDECREF(v);
    }
    grebe_tag_list_free(tags);
    return dict;
}

static PyObject *versions_of(grebe_table *t, PyObject *args, PyObject *kwargs)
{
    (void)args;
    (void)kwargs;
    grebe_error err = GREBE_ERROR_INIT;
    int64_t *versions = NULL;
    size_t n = 0;
    grebe_status st = GREBE_OK;
    Py_BEGIN_ALLOW_THREADS
    st = grebe_table_versions(t, &versions, &n, &err);
    Py_END_ALLOW_THREADS
    if (st != GREBE_OK) {
        return core_raise(&err);
    }
    PyObject *list = PyList_New((Py_ssize_t)n);
    for (size_t i = 0; list != NULL && i < n; i++) {
        PyObject *v = PyLong_FromLongLong(versions[i]);
        if (v == NULL || PyList_SetItem(list, (Py_ssize_t)i, v) != 0) {
            Py_CLEAR(list);
        }
    }
    grebe_versions_free(t, versions, n);
    return list;
}

static PyObject *log_of(grebe_table *t, PyObject *args, PyObject *kwargs)
{
    static char *keywords[] = { "limit", NULL };
    Py_ssize_t limit = 0;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_log *log = NULL;
    grebe_status st = GREBE_OK;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|n", keywords, &limit)) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    st = grebe_table_log(t, limit > 0 ? (size_t)limit : 0, &log, &err);
    Py_END_ALLOW_THREADS
    if (st != GREBE_OK) {
        return core_raise(&err);
    }
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list != NULL && i < log->n; i++) {
        const grebe_log_entry *e = &log->entries[i];
        PyObject *item = Py_BuildValue("{s:L,s:L,s:s,s:s,s:s,s:L,s:n,s:n}", "version",
                                       (long long)e->version, "time_us", (long long)e->time_us,
                                       "operation", e->operation, "message", e->message, "writer",
                                       e->writer, "num_rows", (long long)e->n_rows, "groups",
                                       (Py_ssize_t)e->n_groups, "files", (Py_ssize_t)e->n_files);
        if (item == NULL || PyList_Append(list, item) != 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(item);
    }
    grebe_log_free(log);
    return list;
}

static PyObject *at_of(grebe_table *t, PyObject *args, PyObject *kwargs)
{
    const char *at = NULL;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_table *out = NULL;
    grebe_status st = GREBE_OK;
    (void)kwargs;
    if (!PyArg_ParseTuple(args, "z", &at)) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    st = grebe_table_open_at(t, at, &out, &err);
    Py_END_ALLOW_THREADS
    return st == GREBE_OK ? core_table_new(out) : core_raise(&err);
}

static PyObject *tag_of(grebe_table *t, PyObject *args, PyObject *kwargs)
{
    static char *keywords[] = { "name", "version", "message", "delete", NULL };
    const char *name = NULL, *message = NULL;
    PyObject *version = NULL;
    int is_delete = 0;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_status st = GREBE_OK;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "s|Ozp", keywords, &name, &version,
                                                  &message, &is_delete)) {
        return NULL;
    }
    int64_t v = grebe_table_version(t);
    if (version != NULL && version != Py_None) {
        v = PyLong_AsLongLong(version);
        if (PyErr_Occurred()) {
            return NULL;
        }
    }
    Py_BEGIN_ALLOW_THREADS
    st = is_delete ? grebe_table_tag_delete(t, name, &err)
                   : grebe_table_tag(t, name, v, message, &err);
    Py_END_ALLOW_THREADS
    if (st != GREBE_OK) {
        return core_raise(&err);
    }
    Py_RETURN_NONE;
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

static PyObject *check_of(grebe_table *t, PyObject *args, PyObject *kwargs)
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

static PyObject *chunks_of(grebe_table *t, PyObject *args, PyObject *kwargs)
{
    return core_chunks_open(t, args, kwargs);
}

TABLE_METHOD(scan)
TABLE_METHOD(chunks)
TABLE_METHOD(take)
TABLE_METHOD(count)
TABLE_METHOD(log)
TABLE_METHOD(tag)
TABLE_METHOD(check)
TABLE_METHOD(at)
TABLE_METHOD(versions)
TABLE_METHOD(tags)

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

/* ---- any source, any file ---- */

/* read([uri, …], format, verify, int96 in microseconds, text options, **scan) */
PyObject *core_read(PyObject *self, PyObject *args, PyObject *kwargs)
{
    const char *format = NULL, **uris = NULL;
    size_t n_uris = 0;
    PyObject *sources = NULL, *keep = NULL;
    struct scan_args s;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_source_options o = GREBE_SOURCE_OPTIONS_INIT;
    grebe_table_open_options table = GREBE_TABLE_OPEN_OPTIONS_INIT;
    struct core_text_args text;
    PyObject *text_options = NULL;
    grebe_source *source = NULL;
    struct ArrowArrayStream stream = { 0 };
    grebe_status st = GREBE_EINVAL;
    int verify = 1, int96_us = 0;
    (void)self;
    PyObject *empty = PyTuple_New(0);
    if (empty == NULL || !PyArg_ParseTuple(args, "OzppO!", &sources, &format, &verify, &int96_us,
                                           &PyDict_Type, &text_options) ||
        core_names(sources, &keep, &uris, &n_uris) != 0) {
        Py_XDECREF(empty);
        Py_XDECREF(keep);
        return NULL;
    }
    int is_text_fit = core_text_args(text_options, &text) == 0;
    memset(&s, 0, sizeof s); /* parse_scan may not be called */
    if (is_text_fit && parse_scan(empty, kwargs, &s) == 0) {
        o.format = format;
        o.table = &table;
        o.text = &text.o;
        o.is_int96_us = int96_us != 0;
        table.skip_checksums = verify == 0;
        Py_BEGIN_ALLOW_THREADS
        st = grebe_source_open_many(core.ctx, uris, n_uris, &o, &source, &err);
        if (st == GREBE_OK) {
            st = grebe_source_scan(source, &s.o, &stream, &err);
        }
        grebe_source_close(source);
        Py_END_ALLOW_THREADS
    }
    scan_args_free(&s);
    core_text_args_free(&text);
    PyMem_Free((void *)uris);
    Py_XDECREF(keep);
    Py_DECREF(empty);
    if (PyErr_Occurred()) {
        return NULL;
    }
    return st == GREBE_OK ? core_stream_new(&stream) : core_raise(&err);
}

/* write(path, data, options: dict) -> rows */
PyObject *core_write(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *keywords[] = { "path", "data", "options", NULL };
    const char *path = NULL;
    PyObject *data = NULL, *options = NULL;
    grebe_error err = GREBE_ERROR_INIT;
    struct core_write_args write;
    struct ArrowArrayStream rows = { 0 };
    grebe_status st = GREBE_EINVAL;
    int64_t n = 0;
    (void)self;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "sOO!", keywords, &path, &data, &PyDict_Type,
                                     &options)) {
        return NULL;
    }
    if (core_write_args(options, &write) == 0 && core_import_stream(data, &rows) == 0) {
        PyObject *durable = PyDict_GetItemString(options, "durable");
        bool is_durable = durable != NULL && PyObject_IsTrue(durable) == 1;
        Py_BEGIN_ALLOW_THREADS
        st = grebe_write_file(core.ctx, path, &rows, &write.o, is_durable, &n, &err);
        Py_END_ALLOW_THREADS
    }
    core_write_args_free(&write);
    if (PyErr_Occurred()) {
        return NULL;
    }
    return st == GREBE_OK ? PyLong_FromLongLong(n) : core_raise(&err);
}
