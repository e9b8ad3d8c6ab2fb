/* SPDX-License-Identifier: Apache-2.0 */
/* Vector collections in Git: an open repository, and reading. */
#include "core.h"

#include <string.h>

grebe_vdb *core_vdb_enter(PyObject *self)
{
    struct core_vdb *v = (struct core_vdb *)self;
    if (v->is_closed) {
        PyErr_SetString(PyExc_ValueError, "the repository is closed");
        return NULL;
    }
    v->n_calls++;
    return v->vdb;
}

static void close_if_unused(struct core_vdb *v)
{
    if (v->is_closed && v->n_calls == 0) {
        grebe_vdb *vdb = v->vdb;
        v->vdb = NULL;
        grebe_vdb_close(vdb);
    }
}

void core_vdb_leave(PyObject *self)
{
    ((struct core_vdb *)self)->n_calls--;
    close_if_unused((struct core_vdb *)self);
}

/* open_vdb(path, mode) */
PyObject *core_vdb_open(PyObject *self, PyObject *args)
{
    const char *path = NULL;
    int mode = 0;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_vdb *vdb = NULL;
    grebe_status st = GREBE_OK;
    (void)self;
    if (!PyArg_ParseTuple(args, "si", &path, &mode)) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    st = grebe_vdb_open(core.ctx, path, (grebe_vdb_mode)mode, &vdb, &err);
    Py_END_ALLOW_THREADS
    if (st != GREBE_OK) {
        return core_raise(&err);
    }
    PyObject *object = core_object_new(core.vdb_class);
    if (object == NULL) {
        grebe_vdb_close(vdb);
        return NULL;
    }
    ((struct core_vdb *)object)->vdb = vdb;
    return object;
}

static PyObject *vdb_close(PyObject *self, PyObject *unused)
{
    (void)unused;
    ((struct core_vdb *)self)->is_closed = true;
    close_if_unused((struct core_vdb *)self);
    Py_RETURN_NONE;
}

static void vdb_dealloc(PyObject *self)
{
    ((struct core_vdb *)self)->is_closed = true;
    close_if_unused((struct core_vdb *)self);
    core_object_free(self);
}

/* ---- selections ---- */

int core_vdb_select(PyObject *ids, PyObject *filter, int is_lenient, struct core_vdb_select *out)
{
    memset(out, 0, sizeof *out);
    out->o = (grebe_vdb_select)GREBE_VDB_SELECT_INIT;
    out->o.is_lenient = is_lenient != 0;
    if (core_names(ids, &out->keep, &out->ids, &out->o.n_ids) != 0) {
        return -1;
    }
    out->o.ids = out->ids;
    if (filter != Py_None) {
        Py_ssize_t len = 0;
        out->o.filter = PyUnicode_AsUTF8AndSize(filter, &len);
        out->o.filter_len = (size_t)len;
    }
    return PyErr_Occurred() ? -1 : 0;
}

void core_vdb_select_free(struct core_vdb_select *s)
{
    PyMem_Free((void *)s->ids);
    Py_XDECREF(s->keep);
}

/* ---- calls with a few words ---- */

struct simple {
    const char *name, *first, *second; /* NULL: not given */
    unsigned long long number;
    int flag, more;
};

typedef grebe_status (*simple_fn)(grebe_vdb *, const struct simple *, grebe_vdb_result **, grebe_error *);

#define SIMPLE(fn, ...)                                                                                       \
    static grebe_status call_##fn(grebe_vdb *v, const struct simple *s, grebe_vdb_result **r, grebe_error *e) \
    {                                                                                                         \
        (void)s;                                                                                              \
        return grebe_vdb_##fn(__VA_ARGS__, r, e);                                                             \
    }
SIMPLE(describe, v)
SIMPLE(list, v)
SIMPLE(info, v, s->name, s->first)
SIMPLE(drop, v, s->name)
SIMPLE(history, v, s->name, s->number)
SIMPLE(restore, v, s->name, s->first)
SIMPLE(diff, v, s->name, s->first, s->second)
SIMPLE(validate, v, s->name, s->first, s->flag != 0, s->more != 0)
SIMPLE(doctor, v)
SIMPLE(push, v, s->name, s->first)
SIMPLE(pull, v, s->name, s->first)
SIMPLE(copy, v, s->name, s->first, s->second)
SIMPLE(rename, v, s->name, s->first)
SIMPLE(merge, v, s->name, s->first, (int)s->number)
SIMPLE(stats, v, s->name, s->first)
SIMPLE(gc, v, (int64_t)s->number)

static const struct {
    const char *name;
    simple_fn call;
    bool is_report; /* its result is what was found, also when that is bad */
} simple_calls[] = {
    { "describe", call_describe, false }, { "list", call_list, false },       { "info", call_info, false },
    { "drop", call_drop, false },         { "history", call_history, false }, { "restore", call_restore, false },
    { "diff", call_diff, false },         { "validate", call_validate, true }, { "doctor", call_doctor, true },
    { "push", call_push, false },         { "pull", call_pull, false },       { "copy", call_copy, false },
    { "rename", call_rename, false },     { "merge", call_merge, false },     { "stats", call_stats, false },
    { "gc", call_gc, false },
};

/* call(what, name, first, second, number, flag, more) */
static PyObject *vdb_call(PyObject *self, PyObject *args)
{
    const char *what = NULL;
    struct simple s = { 0 };
    grebe_error err = GREBE_ERROR_INIT;
    grebe_vdb_result *r = NULL;
    grebe_status st = GREBE_OK;
    size_t i = 0, n = sizeof simple_calls / sizeof simple_calls[0];
    if (!PyArg_ParseTuple(args, "s|zzzKpp", &what, &s.name, &s.first, &s.second, &s.number, &s.flag, &s.more)) {
        return NULL;
    }
    while (i < n && strcmp(simple_calls[i].name, what) != 0) {
        i++;
    }
    if (i == n) {
        PyErr_Format(PyExc_ValueError, "no call \"%s\"", what);
        return NULL;
    }
    grebe_vdb *vdb = core_vdb_enter(self);
    if (vdb == NULL) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    st = simple_calls[i].call(vdb, &s, &r, &err);
    Py_END_ALLOW_THREADS
    core_vdb_leave(self);
    return core_vdb_give(st, r, &err, simple_calls[i].is_report);
}

/* ---- reading ---- */

struct read_args {
    const char *name;
    struct core_vdb_select select;
    grebe_vdb_read_options o;
    const char **fields;
    PyObject *keep;
};

/* (name, ids, filter, lenient, at, with_payload, with_vector, fields, offset, limit, json_ids) */
static int read_args(PyObject *args, struct read_args *out)
{
    PyObject *ids = NULL, *filter = NULL, *fields = NULL;
    int is_lenient = 0, with_payload = 0, with_vector = 0, json_ids = 0;
    unsigned long long offset = 0, limit = 0;
    memset(out, 0, sizeof *out);
    out->o = (grebe_vdb_read_options)GREBE_VDB_READ_OPTIONS_INIT;
    if (!PyArg_ParseTuple(args, "sOOpzppOKKp", &out->name, &ids, &filter, &is_lenient, &out->o.at, &with_payload,
                          &with_vector, &fields, &offset, &limit, &json_ids) ||
        core_vdb_select(ids, filter, is_lenient, &out->select) != 0 ||
        core_names(fields, &out->keep, &out->fields, &out->o.n_fields) != 0) {
        return -1;
    }
    out->o.fields = out->fields;
    out->o.with_payload = with_payload != 0;
    out->o.with_vector = with_vector != 0;
    out->o.ids_are_json = json_ids != 0;
    out->o.offset = offset;
    out->o.limit = limit;
    return 0;
}

static void read_args_free(struct read_args *r)
{
    core_vdb_select_free(&r->select);
    PyMem_Free((void *)r->fields);
    Py_XDECREF(r->keep);
}

typedef grebe_status (*read_fn)(grebe_vdb *, const char *, const grebe_vdb_select *, const grebe_vdb_read_options *,
                                grebe_vdb_result **, grebe_error *);

static PyObject *read_with(PyObject *self, PyObject *args, read_fn read)
{
    struct read_args a;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_vdb_result *r = NULL;
    grebe_status st = GREBE_OK;
    grebe_vdb *vdb = read_args(args, &a) == 0 ? core_vdb_enter(self) : NULL;
    if (vdb != NULL) {
        Py_BEGIN_ALLOW_THREADS
        st = read(vdb, a.name, &a.select.o, &a.o, &r, &err);
        Py_END_ALLOW_THREADS
        core_vdb_leave(self);
    }
    read_args_free(&a);
    return vdb != NULL ? core_vdb_give(st, r, &err, false) : NULL;
}

static PyObject *vdb_get(PyObject *self, PyObject *args) { return read_with(self, args, grebe_vdb_get); }
static PyObject *vdb_count(PyObject *self, PyObject *args) { return read_with(self, args, grebe_vdb_count); }

static PyObject *vdb_scan(PyObject *self, PyObject *args)
{
    struct read_args a;
    grebe_error err = GREBE_ERROR_INIT;
    struct ArrowArrayStream rows = { 0 };
    grebe_status st = GREBE_OK;
    grebe_vdb *vdb = read_args(args, &a) == 0 ? core_vdb_enter(self) : NULL;
    if (vdb != NULL) {
        Py_BEGIN_ALLOW_THREADS
        st = grebe_vdb_scan(vdb, a.name, &a.select.o, &a.o, &rows, &err);
        Py_END_ALLOW_THREADS
        core_vdb_leave(self);
    }
    read_args_free(&a);
    if (vdb == NULL) {
        return NULL;
    }
    return st == GREBE_OK ? core_stream_new(&rows) : core_raise(&err);
}

/* ---- search ---- */

/* Floats of 32 bits, one vector or rows of them, in place. 0, or -1. */
static int query_vectors(PyObject *object, Py_buffer *view, grebe_vdb_query *q)
{
    if (PyObject_GetBuffer(object, view, PyBUF_FORMAT | PyBUF_C_CONTIGUOUS) != 0) {
        return -1;
    }
    const char *format = view->format != NULL ? view->format : "B";
    format += *format == '@' || *format == '=' || *format == '<';
    if (strcmp(format, "f") != 0 || view->ndim < 1 || view->ndim > 2) {
        PyErr_Format(PyExc_TypeError, "vector: expected float32 in one or two dimensions, found \"%s\" in %d", format,
                     view->ndim);
        return -1;
    }
    Py_ssize_t dim = view->shape[view->ndim - 1];
    if (dim > (Py_ssize_t)UINT32_MAX || (view->ndim == 2 && view->shape[0] == 0)) {
        PyErr_SetString(PyExc_ValueError, "vector: expected at least one vector of at most 2^32-1 components");
        return -1;
    }
    q->vectors = view->buf;
    q->n_vectors = view->ndim == 2 ? (size_t)view->shape[0] : 1;
    q->dimension = (uint32_t)dim;
    return 0;
}

/* search(read arguments…, vectors, id, k, mode, probes, candidate_limit, vector_space): the first is a tuple. */
static PyObject *vdb_search(PyObject *self, PyObject *args)
{
    PyObject *read = NULL, *vectors = NULL;
    struct read_args a = { 0 };
    Py_buffer view = { 0 };
    grebe_vdb_query q = GREBE_VDB_QUERY_INIT;
    unsigned long long k = 0, probes = 0, limit = 0;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_vdb_result *r = NULL;
    grebe_vdb *vdb = NULL;
    grebe_status st = GREBE_OK;
    if (!PyArg_ParseTuple(args, "O!OzKiKKz", &PyTuple_Type, &read, &vectors, &q.id, &k, &q.mode, &probes, &limit,
                          &q.expected_vector_space)) {
        return NULL;
    }
    q.limit = k;
    q.probes = probes;
    q.candidate_limit = limit;
    if (read_args(read, &a) == 0 && (vectors == Py_None || query_vectors(vectors, &view, &q) == 0)) {
        vdb = core_vdb_enter(self);
    }
    if (vdb != NULL) {
        q.select = a.select.o;
        Py_BEGIN_ALLOW_THREADS
        st = grebe_vdb_search(vdb, a.name, &q, &a.o, &r, &err);
        Py_END_ALLOW_THREADS
        core_vdb_leave(self);
    }
    if (view.obj != NULL) {
        PyBuffer_Release(&view);
    }
    read_args_free(&a);
    return vdb != NULL ? core_vdb_give(st, r, &err, false) : NULL;
}

static PyMethodDef vdb_methods[] = {
    { "close", vdb_close, METH_NOARGS, NULL },
    { "call", vdb_call, METH_VARARGS, NULL },
    { "create", core_vdb_create, METH_VARARGS, NULL },
    { "upsert_rows", core_vdb_upsert_rows, METH_VARARGS, NULL },
    { "upsert_lines", core_vdb_upsert_lines, METH_VARARGS, NULL },
    { "delete", core_vdb_delete, METH_VARARGS, NULL },
    { "get", vdb_get, METH_VARARGS, NULL },
    { "count", vdb_count, METH_VARARGS, NULL },
    { "scan", vdb_scan, METH_VARARGS, NULL },
    { "search", vdb_search, METH_VARARGS, NULL },
    { NULL, NULL, 0, NULL }
};
static PyType_Slot vdb_slots[] = { { Py_tp_dealloc, (void *)vdb_dealloc },
                                   { Py_tp_methods, vdb_methods },
                                   { 0, NULL } };
PyType_Spec core_vdb_spec = { "grebe._core.Vdb", sizeof(struct core_vdb), 0,
                              Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, vdb_slots };
