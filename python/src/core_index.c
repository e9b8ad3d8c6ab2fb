/* SPDX-License-Identifier: Apache-2.0 */
/* Vector indexes: buffers in, results into buffers of the caller, the library's call without the GIL. */
#include "core.h"

#include <string.h>

struct core_index {
    PyObject_HEAD
    grebe_ann_index *index;
    int n_calls;  /* under way without the GIL */
    bool is_busy; /* a call that needs the index alone is among them */
};

/* A call begins: `is_alone` when it changes the index. NULL with an exception. */
static grebe_ann_index *enter(PyObject *self, bool is_alone)
{
    struct core_index *x = (struct core_index *)self;
    if (x->index == NULL) {
        PyErr_SetString(PyExc_ValueError, "the index is closed");
        return NULL;
    }
    if (x->is_busy || (is_alone && x->n_calls != 0)) {
        PyErr_SetString(PyExc_RuntimeError, "the index is in use by another thread: adding, removing, saving and closing need it alone");
        return NULL;
    }
    x->n_calls++;
    x->is_busy = is_alone;
    return x->index;
}

static void leave(PyObject *self)
{
    struct core_index *x = (struct core_index *)self;
    x->n_calls--;
    x->is_busy = false;
}

static PyObject *give_index(grebe_ann_index *index)
{
    PyObject *object = core_object_new(core.index_class);
    if (object == NULL) {
        grebe_ann_index_close(index);
        return NULL;
    }
    ((struct core_index *)object)->index = index;
    return object;
}

/* new_index(kind, metric, elem, params, threads) */
PyObject *core_index_make(PyObject *self, PyObject *args)
{
    const char *kind_name = NULL, *metric_name = NULL;
    int elem = 0;
    unsigned threads = 0;
    PyObject *params = NULL, *keep = NULL;
    const char **names = NULL;
    size_t n = 0;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_ann_index_kind kind = GREBE_ANN_INDEX_FLAT;
    grebe_metric metric = GREBE_METRIC_L2;
    grebe_ann_index *index = NULL;
    (void)self;
    if (!PyArg_ParseTuple(args, "ssiOI", &kind_name, &metric_name, &elem, &params, &threads) ||
        core_names(params, &keep, &names, &n) != 0) {
        return NULL;
    }
    grebe_status st = grebe_ann_index_kind_parse(kind_name, &kind, &err);
    st = st == GREBE_OK ? grebe_metric_parse(metric_name, &metric, &err) : st;
    st = st == GREBE_OK ? grebe_ann_index_new(core.ctx, kind, metric, (grebe_elem)elem, names, n, threads, &index, &err) : st;
    PyMem_Free((void *)names);
    Py_XDECREF(keep);
    return st == GREBE_OK ? give_index(index) : core_raise(&err);
}

/* open_index(path, deep) */
PyObject *core_index_open(PyObject *self, PyObject *args)
{
    const char *path = NULL;
    int deep = 0;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_ann_index *index = NULL;
    grebe_status st = GREBE_OK;
    (void)self;
    if (!PyArg_ParseTuple(args, "sp", &path, &deep)) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    st = grebe_ann_index_open(core.ctx, path, deep != 0, &index, &err);
    Py_END_ALLOW_THREADS
    return st == GREBE_OK ? give_index(index) : core_raise(&err);
}

/* int64 from a buffer or None. */
static int take_int64(PyObject *object, Py_buffer *view, const int64_t **out, size_t *n)
{
    view->obj = NULL;
    *out = NULL;
    *n = 0;
    if (object == Py_None) {
        return 0;
    }
    if (PyObject_GetBuffer(object, view, PyBUF_C_CONTIGUOUS) != 0) {
        return -1;
    }
    if (view->itemsize != 8) {
        PyBuffer_Release(view);
        PyErr_SetString(PyExc_ValueError, "ids: expected int64");
        return -1;
    }
    static const int64_t none[1] = { 0 };
    *n = (size_t)(view->len / 8);
    *out = *n != 0 ? view->buf : none; /* an empty buffer is not "all" */
    return 0;
}

/* add(rows, ids, threads) */
static PyObject *index_add(PyObject *self, PyObject *args)
{
    PyObject *tuple = NULL, *id_object = NULL;
    struct core_rows rows;
    Py_buffer view;
    const int64_t *ids = NULL;
    size_t n_ids = 0;
    grebe_call_options o = GREBE_CALL_OPTIONS_INIT;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_status st = GREBE_OK;
    if (!PyArg_ParseTuple(args, "OOI", &tuple, &id_object, &o.threads) || core_rows_take(tuple, &rows) != 0) {
        return NULL;
    }
    grebe_ann_index *index = NULL;
    if (take_int64(id_object, &view, &ids, &n_ids) == 0) {
        if (ids != NULL && n_ids != rows.v.rows) {
            PyErr_Format(PyExc_ValueError, "ids: expected %llu, one for each row, found %zu",
                         (unsigned long long)rows.v.rows, n_ids);
        } else {
            index = enter(self, true);
        }
    }
    if (index != NULL) {
        Py_BEGIN_ALLOW_THREADS
        st = grebe_ann_index_add(index, &rows.v, ids, &o, &err);
        Py_END_ALLOW_THREADS
        leave(self);
    }
    if (ids != NULL) {
        PyBuffer_Release(&view);
    }
    core_rows_release(&rows);
    if (index == NULL) {
        return NULL;
    }
    if (st != GREBE_OK) {
        return core_raise(&err);
    }
    Py_RETURN_NONE;
}

/* remove(ids) -> how many were there */
static PyObject *index_remove(PyObject *self, PyObject *args)
{
    PyObject *object = NULL;
    Py_buffer view;
    const int64_t *ids = NULL;
    size_t n = 0, removed = 0;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_status st = GREBE_OK;
    if (!PyArg_ParseTuple(args, "O", &object) || take_int64(object, &view, &ids, &n) != 0) {
        return NULL;
    }
    grebe_ann_index *index = enter(self, true);
    if (index != NULL) {
        Py_BEGIN_ALLOW_THREADS
        st = grebe_ann_index_remove(index, ids, n, &removed, &err);
        Py_END_ALLOW_THREADS
        leave(self);
    }
    if (ids != NULL) {
        PyBuffer_Release(&view);
    }
    return index == NULL ? NULL : st != GREBE_OK ? core_raise(&err) : PyLong_FromSize_t(removed);
}

/* ---- searching ---- */

struct search_args {
    struct core_rows rows;
    grebe_ann_index_search_options o;
    PyObject *keep;
    const char **names;
    Py_buffer allow, ids;
};

static void search_release(struct search_args *a)
{
    core_rows_release(&a->rows);
    PyMem_Free((void *)a->names);
    Py_XDECREF(a->keep);
    if (a->o.allow != NULL) {
        PyBuffer_Release(&a->allow);
    }
    if (a->o.ids != NULL) {
        PyBuffer_Release(&a->ids);
    }
}

/* rows, params, allow (bits as uint64, or None), how many bits, ids (int64, or None), threads */
static int search_take(struct search_args *a, PyObject *rows, PyObject *params, PyObject *allow, Py_ssize_t bits,
                       PyObject *ids, unsigned threads)
{
    memset(a, 0, sizeof *a);
    a->o = (grebe_ann_index_search_options)GREBE_ANN_INDEX_SEARCH_OPTIONS_INIT;
    a->o.call.threads = threads;
    if (core_rows_take(rows, &a->rows) != 0 || core_names(params, &a->keep, &a->names, &a->o.n_params) != 0) {
        search_release(a);
        return -1;
    }
    a->o.params = a->names;
    if (allow != Py_None) {
        static const uint64_t none[1] = { 0 };
        if (PyObject_GetBuffer(allow, &a->allow, PyBUF_C_CONTIGUOUS) != 0) {
            search_release(a);
            return -1;
        }
        a->o.allow = a->allow.len != 0 ? a->allow.buf : none;
        a->o.allow_bits = (uint64_t)bits;
        if (bits < 0 || a->allow.len < (bits + 63) / 64 * 8) {
            search_release(a);
            return core_fail_size("filter", (bits + 63) / 64 * 8, 0);
        }
    }
    if (take_int64(ids, &a->ids, &a->o.ids, &a->o.n_ids) != 0) {
        search_release(a);
        return -1;
    }
    return 0;
}

/* search(rows, k, params, allow, bits, only, threads, ids, distances): into the last two, int64 and float32 [rows][k] */
static PyObject *index_search(PyObject *self, PyObject *args)
{
    PyObject *rows, *params, *allow, *only, *id_object, *distance_object;
    Py_ssize_t k = 0, bits = 0;
    unsigned threads = 0;
    struct search_args a;
    Py_buffer ids, distances;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_status st = GREBE_OK;
    if (!PyArg_ParseTuple(args, "OnOOnOIOO", &rows, &k, &params, &allow, &bits, &only, &threads, &id_object,
                          &distance_object) ||
        search_take(&a, rows, params, allow, bits, only, threads) != 0) {
        return NULL;
    }
    grebe_ann_index *index = NULL;
    if (PyObject_GetBuffer(id_object, &ids, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE) != 0) {
        search_release(&a);
        return NULL;
    }
    if (PyObject_GetBuffer(distance_object, &distances, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE) == 0) {
        Py_ssize_t n = 0;
        if (k < 0 || __builtin_mul_overflow(k, (Py_ssize_t)a.rows.v.rows, &n) || ids.len / 8 != n ||
            distances.len / 4 != n) {
            core_fail_size("results", n * 8, ids.len);
        } else {
            index = enter(self, false);
        }
        if (index != NULL) {
            Py_BEGIN_ALLOW_THREADS
            st = grebe_ann_index_search(index, &a.rows.v, (size_t)k, &a.o, ids.buf, distances.buf, &err);
            Py_END_ALLOW_THREADS
            leave(self);
        }
        PyBuffer_Release(&distances);
    }
    PyBuffer_Release(&ids);
    search_release(&a);
    if (index == NULL) {
        return NULL;
    }
    if (st != GREBE_OK) {
        return core_raise(&err);
    }
    Py_RETURN_NONE;
}

/* range(rows, radius, params, allow, bits, only, threads) -> (offsets, ids, distances) as bytes */
static PyObject *index_range(PyObject *self, PyObject *args)
{
    PyObject *rows, *params, *allow, *only, *out = NULL;
    Py_ssize_t bits = 0;
    float radius = 0;
    unsigned threads = 0;
    struct search_args a;
    grebe_ann_index_range r = { 0 };
    grebe_error err = GREBE_ERROR_INIT;
    grebe_status st = GREBE_OK;
    if (!PyArg_ParseTuple(args, "OfOOnOI", &rows, &radius, &params, &allow, &bits, &only, &threads) ||
        search_take(&a, rows, params, allow, bits, only, threads) != 0) {
        return NULL;
    }
    grebe_ann_index *index = enter(self, false);
    if (index != NULL) {
        Py_BEGIN_ALLOW_THREADS
        st = grebe_ann_index_range_search(index, &a.rows.v, radius, &a.o, &r, &err);
        Py_END_ALLOW_THREADS
        leave(self);
    }
    search_release(&a);
    if (index == NULL) {
        return NULL;
    }
    if (st != GREBE_OK) {
        return core_raise(&err);
    }
    Py_ssize_t n = (Py_ssize_t)r.offsets[r.queries];
    out = Py_BuildValue("(y#y#y#)", (const char *)r.offsets, (Py_ssize_t)(r.queries + 1) * 8, (const char *)r.ids, n * 8,
                        (const char *)r.distances, n * 4);
    grebe_ann_index_range_free(&r);
    return out;
}

/* ---- the rest ---- */

/* save(path, durable) */
static PyObject *index_save(PyObject *self, PyObject *args)
{
    const char *path = NULL;
    int durable = 0;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_status st = GREBE_OK;
    if (!PyArg_ParseTuple(args, "sp", &path, &durable)) {
        return NULL;
    }
    grebe_ann_index *index = enter(self, true);
    if (index == NULL) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    st = grebe_ann_index_save(index, path, durable != 0, &err);
    Py_END_ALLOW_THREADS
    leave(self);
    if (st != GREBE_OK) {
        return core_raise(&err);
    }
    Py_RETURN_NONE;
}

/* info() -> dict */
static PyObject *index_info(PyObject *self, PyObject *unused)
{
    grebe_ann_index_stats info = GREBE_ANN_INDEX_STATS_INIT;
    grebe_error err = GREBE_ERROR_INIT;
    (void)unused;
    grebe_ann_index *index = enter(self, false);
    if (index == NULL) {
        return NULL;
    }
    grebe_status st = grebe_ann_index_get_stats(index, &info, &err);
    leave(self);
    if (st != GREBE_OK) {
        return core_raise(&err);
    }
    return Py_BuildValue("{s:s,s:s,s:i,s:I,s:K,s:K,s:K,s:K,s:K,s:K}", "kind", grebe_ann_index_kind_name(info.kind), "metric",
                         grebe_metric_name(info.metric), "elem", (int)info.elem, "dim", info.dim, "rows", info.rows,
                         "removed", info.removed, "bytes_vectors", info.bytes_vectors, "bytes_codes", info.bytes_codes,
                         "bytes_links", info.bytes_links, "bytes_other", info.bytes_other);
}

static PyObject *index_close(PyObject *self, PyObject *unused)
{
    struct core_index *x = (struct core_index *)self;
    (void)unused;
    if (x->index != NULL && enter(self, true) == NULL) {
        return NULL;
    }
    grebe_ann_index_close(x->index);
    x->index = NULL;
    x->n_calls = 0;
    x->is_busy = false;
    Py_RETURN_NONE;
}

static void index_dealloc(PyObject *self)
{
    grebe_ann_index_close(((struct core_index *)self)->index);
    core_object_free(self);
}

static PyMethodDef index_methods[] = {
    { "add", index_add, METH_VARARGS, NULL },       { "remove", index_remove, METH_VARARGS, NULL },
    { "search", index_search, METH_VARARGS, NULL }, { "range", index_range, METH_VARARGS, NULL },
    { "save", index_save, METH_VARARGS, NULL },     { "info", index_info, METH_NOARGS, NULL },
    { "close", index_close, METH_NOARGS, NULL },    { NULL, NULL, 0, NULL }
};

static PyType_Slot index_slots[] = {
    { Py_tp_dealloc, (void *)index_dealloc },
    { Py_tp_methods, index_methods },
    { 0, NULL },
};

PyType_Spec core_index_spec = { "grebe._core.Index", sizeof(struct core_index), 0,
                                Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, index_slots };
