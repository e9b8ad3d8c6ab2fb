/* SPDX-License-Identifier: Apache-2.0 */
/* Streams of grebe.dataset: trees of steps, and iterations over them with their states. */
#include "core_dataset.h"

struct core_iterable {
    PyObject_HEAD
    grebe_iterable *it;
};
struct core_iterator {
    PyObject_HEAD
    grebe_iterator *iter;
    bool is_busy; /* a call is under way without the GIL */
};

PyObject *core_iterable_new(grebe_iterable *it)
{
    PyObject *self = core_object_new(core.iterable_class);
    if (self == NULL) {
        grebe_iterable_free(it);
        return NULL;
    }
    ((struct core_iterable *)self)->it = it;
    return self;
}

static const grebe_iterable *of(PyObject *self) { return ((struct core_iterable *)self)->it; }

const grebe_iterable *core_iterable_of(PyObject *object)
{
    if (!PyObject_TypeCheck(object, (PyTypeObject *)core.iterable_class)) {
        PyErr_Format(PyExc_TypeError, "expected a stream, found %R", object);
        return NULL;
    }
    return of(object);
}

/* it: where the call of which st came wrote; read after the call, which is why it is a pointer. */
static PyObject *give(grebe_status st, grebe_iterable **it, const grebe_error *err)
{
    return st == GREBE_OK ? core_iterable_new(*it) : core_raise(err);
}

static void iterable_dealloc(PyObject *self)
{
    grebe_iterable *it = ((struct core_iterable *)self)->it;
    Py_BEGIN_ALLOW_THREADS
    grebe_iterable_free(it);
    Py_END_ALLOW_THREADS
    core_object_free(self);
}

/* ---- sources ---- */

/* iterable_of_dataset(handle, n_shards) */
PyObject *core_iterable_of_dataset(PyObject *self, PyObject *args)
{
    PyObject *handle = NULL;
    long long n = 1;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_iterable *out = NULL;
    (void)self;
    const grebe_dataset *ds = PyArg_ParseTuple(args, "OL", &handle, &n) ? core_dataset_of(handle) : NULL;
    return ds != NULL ? give(grebe_iterable_of_dataset(ds, n, &out, &err), &out, &err) : NULL;
}

/* iterable_of_function(fn, n_shards, is_table, features or None): fn(shard, skip) gives an Arrow stream */
PyObject *core_iterable_of_function(PyObject *self, PyObject *args)
{
    PyObject *fn = NULL;
    long long n = 1;
    int is_table = 0;
    const char *features = NULL;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_iterable *out = NULL;
    (void)self;
    if (!PyArg_ParseTuple(args, "OLpz", &fn, &n, &is_table, &features)) {
        return NULL;
    }
    struct core_function *f = core_function_new(fn);
    return f != NULL ? give(grebe_iterable_of_function(core.ctx, core_function_shard, f, core_function_free, n, is_table != 0,
                                                       features, &out, &err), &out, &err)
                     : NULL;
}

/* ---- steps ---- */

/* shuffle(seed, buffer_rows, max_input_shards) */
static PyObject *it_shuffle(PyObject *self, PyObject *args)
{
    PyObject *words = NULL;
    long long rows = 0, shards = 0;
    grebe_iterable_shuffle_options o = GREBE_ITERABLE_SHUFFLE_OPTIONS_INIT;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_iterable *out = NULL;
    if (!PyArg_ParseTuple(args, "OLL", &words, &rows, &shards) || core_seed(words, &o.seed) != 0) {
        return NULL;
    }
    o.buffer_rows = rows;
    o.max_input_shards = shards;
    return give(grebe_iterable_shuffle(of(self), &o, &out, &err), &out, &err);
}

/* step(what, a, b, c): steps whose arguments are numbers */
static PyObject *it_step(PyObject *self, PyObject *args)
{
    const char *what = NULL;
    long long a = 0, b = 0, c = 0;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_iterable *out = NULL;
    grebe_status st = GREBE_EINVAL;
    if (!PyArg_ParseTuple(args, "s|LLL", &what, &a, &b, &c)) {
        return NULL;
    }
    const grebe_iterable *it = of(self);
    if (strcmp(what, "skip") == 0) {
        st = grebe_iterable_skip(it, a, &out, &err);
    } else if (strcmp(what, "take") == 0) {
        st = grebe_iterable_take(it, a, &out, &err);
    } else if (strcmp(what, "repeat") == 0) {
        st = grebe_iterable_repeat(it, a, &out, &err);
    } else if (strcmp(what, "shard") == 0) {
        st = grebe_iterable_shard(it, a, b, c != 0, &out, &err);
    } else if (strcmp(what, "reshard") == 0) {
        st = grebe_iterable_reshard(it, &out, &err);
    } else if (strcmp(what, "node") == 0) {
        st = grebe_iterable_split_by_node(it, a, b, (grebe_node_split)c, &out, &err);
    } else if (strcmp(what, "worker") == 0) {
        st = grebe_iterable_for_worker(it, a, b, &out, &err);
    } else if (strcmp(what, "epoch") == 0) {
        st = grebe_iterable_set_epoch(it, a, &out, &err);
    } else if (strcmp(what, "prefetch") == 0) {
        st = grebe_iterable_prefetch(it, a < INT32_MIN ? INT32_MIN : a > INT32_MAX ? INT32_MAX : (int32_t)a, &out, &err);
    } else if (strcmp(what, "formatted") == 0) {
        st = grebe_iterable_with_formatted(it, a != 0, &out, &err);
    } else {
        PyErr_Format(PyExc_ValueError, "no such step: %s", what);
        return NULL;
    }
    return give(st, &out, &err);
}

/* map(fn, is_filter, is_by_row, options) */
static PyObject *it_map(PyObject *self, PyObject *args)
{
    PyObject *fn = NULL, *options = NULL;
    int is_filter = 0, is_by_row = 0;
    struct core_map map;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_iterable *out = NULL;
    if (!PyArg_ParseTuple(args, "OppO!", &fn, &is_filter, &is_by_row, &PyDict_Type, &options) ||
        core_map_begin(options, &map) != 0) {
        return NULL;
    }
    struct core_function *f = core_function_new(fn);
    grebe_status st = f == NULL ? GREBE_ENOMEM
                      : is_filter ? grebe_iterable_filter_fn(of(self), core_function_filter, f, core_function_free, &map.o,
                                                             is_by_row != 0, &out, &err)
                                  : grebe_iterable_map(of(self), core_function_map, f, core_function_free, &map.o,
                                                       is_by_row != 0, &out, &err);
    core_map_end(&map);
    return f != NULL ? give(st, &out, &err) : NULL;
}

/* filter(where) */
static PyObject *it_filter(PyObject *self, PyObject *args)
{
    const char *where = NULL;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_iterable *out = NULL;
    return PyArg_ParseTuple(args, "s", &where) ? give(grebe_iterable_filter(of(self), where, &out, &err), &out, &err) : NULL;
}

/* Pairs of texts of a list: two arrays in one, freed with PyMem_Free; NULL with an exception. */
static const char **take_pairs(PyObject *list, size_t *n)
{
    *n = (size_t)PyList_Size(list);
    const char **pairs = PyMem_Calloc(2 * *n + 1, sizeof *pairs);
    for (size_t i = 0; pairs != NULL && i < *n; i++) {
        if (!PyArg_ParseTuple(PyList_GetItem(list, (Py_ssize_t)i), "ss", &pairs[2 * i], &pairs[2 * i + 1])) {
            PyMem_Free((void *)pairs);
            return NULL;
        }
    }
    return pairs;
}

/* map_expr([(name, expr), …]) or rename([(from, to), …]): structs of two texts each */
static PyObject *it_pairs(PyObject *self, PyObject *args)
{
    const char *what = NULL;
    PyObject *list = NULL;
    size_t n = 0;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_iterable *out = NULL;
    if (!PyArg_ParseTuple(args, "sO!", &what, &PyList_Type, &list)) {
        return NULL;
    }
    const char **pairs = take_pairs(list, &n);
    grebe_computed_column *columns = PyMem_Calloc(n + 1, sizeof *columns);
    grebe_column_rename *names = PyMem_Calloc(n + 1, sizeof *names);
    grebe_status st = GREBE_ENOMEM;
    if (pairs != NULL && columns != NULL && names != NULL) {
        for (size_t i = 0; i < n; i++) {
            columns[i] = (grebe_computed_column){ pairs[2 * i], pairs[2 * i + 1] };
            names[i] = (grebe_column_rename){ pairs[2 * i], pairs[2 * i + 1] };
        }
        st = strcmp(what, "map_expr") == 0 ? grebe_iterable_map_expr(of(self), columns, n, &out, &err)
                                           : grebe_iterable_rename_columns(of(self), names, n, &out, &err);
    }
    PyMem_Free((void *)pairs);
    PyMem_Free(columns);
    PyMem_Free(names);
    return PyErr_Occurred() ? NULL : give(st, &out, &err);
}

/* columns(names, is_removed) */
static PyObject *it_columns(PyObject *self, PyObject *args)
{
    PyObject *columns = NULL, *keep = NULL;
    int is_removed = 0;
    const char **names = NULL;
    size_t n = 0;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_iterable *out = NULL;
    if (!PyArg_ParseTuple(args, "Op", &columns, &is_removed) || core_names(columns, &keep, &names, &n) != 0) {
        return NULL;
    }
    grebe_status st = is_removed ? grebe_iterable_remove_columns(of(self), names, n, &out, &err)
                                 : grebe_iterable_select_columns(of(self), names, n, &out, &err);
    PyMem_Free((void *)names);
    Py_XDECREF(keep);
    return give(st, &out, &err);
}

/* cast(features, is_partial) */
static PyObject *it_cast(PyObject *self, PyObject *args)
{
    const char *features = NULL;
    int is_partial = 0;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_iterable *out = NULL;
    return PyArg_ParseTuple(args, "sp", &features, &is_partial)
               ? give(grebe_iterable_cast(of(self), features, is_partial != 0, &out, &err), &out, &err)
               : NULL;
}

/* batch(rows, by_column or None, drop_last) */
static PyObject *it_batch(PyObject *self, PyObject *args)
{
    const char *by = NULL;
    long long n = 0;
    int drop_last = 0;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_iterable *out = NULL;
    return PyArg_ParseTuple(args, "Lzp", &n, &by, &drop_last)
               ? give(grebe_iterable_batch(of(self), n, by, drop_last != 0, &out, &err), &out, &err)
               : NULL;
}

static PyObject *it_num_shards(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromLongLong(grebe_iterable_num_shards(of(self)));
}

static PyObject *it_epoch(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromLongLong(grebe_iterable_epoch(of(self)));
}

static PyObject *it_features(PyObject *self, void *unused)
{
    (void)unused;
    return Py_BuildValue("z", grebe_iterable_features(of(self)));
}

/* ---- iterations ---- */

/* iterator(state or None, threads) */
static PyObject *it_iterator(PyObject *self, PyObject *args)
{
    const char *state = NULL;
    unsigned threads = 0;
    grebe_call_options o = GREBE_CALL_OPTIONS_INIT;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_iterator *iter = NULL;
    grebe_status st = GREBE_OK;
    if (!PyArg_ParseTuple(args, "zI", &state, &threads)) {
        return NULL;
    }
    o.threads = threads;
    Py_BEGIN_ALLOW_THREADS
    st = grebe_iterator_new(of(self), state, &o, &iter, &err);
    Py_END_ALLOW_THREADS
    if (st != GREBE_OK) {
        return core_raise_function(&err);
    }
    PyObject *object = core_object_new(core.iterator_class);
    if (object == NULL) {
        grebe_iterator_free(iter);
        return NULL;
    }
    ((struct core_iterator *)object)->iter = iter;
    return object;
}

static void iterator_dealloc(PyObject *self)
{
    grebe_iterator *iter = ((struct core_iterator *)self)->iter;
    Py_BEGIN_ALLOW_THREADS
    grebe_iterator_free(iter);
    Py_END_ALLOW_THREADS
    core_object_free(self);
}

/* next(batch_rows) -> Batch or None at the end */
static PyObject *iterator_next(PyObject *self, PyObject *args)
{
    struct core_iterator *i = (struct core_iterator *)self;
    long long n = 0;
    struct ArrowArray rows = { 0 };
    struct ArrowSchema schema = { 0 };
    grebe_error err = GREBE_ERROR_INIT;
    grebe_status st = GREBE_OK;
    if (!PyArg_ParseTuple(args, "L", &n)) {
        return NULL;
    }
    if (i->is_busy) {
        PyErr_SetString(PyExc_ValueError, "the iteration is in use by another thread");
        return NULL;
    }
    i->is_busy = true;
    Py_BEGIN_ALLOW_THREADS
    st = grebe_iterator_next(i->iter, n, &rows, &schema, &err);
    Py_END_ALLOW_THREADS
    i->is_busy = false;
    if (st != GREBE_OK) {
        return core_raise_function(&err);
    }
    if (rows.release == NULL) {
        if (schema.release != NULL) {
            schema.release(&schema);
        }
        Py_RETURN_NONE;
    }
    return core_batch_new(&rows, &schema);
}

/* state(rows_back) -> str */
static PyObject *iterator_state(PyObject *self, PyObject *args)
{
    struct core_iterator *i = (struct core_iterator *)self;
    long long back = 0;
    struct core_bytes bytes = { 0 };
    grebe_error err = GREBE_ERROR_INIT;
    if (!PyArg_ParseTuple(args, "L", &back)) {
        return NULL;
    }
    if (i->is_busy) {
        PyErr_SetString(PyExc_ValueError, "the iteration is in use by another thread");
        return NULL;
    }
    grebe_status st = grebe_iterator_state(i->iter, back, core_bytes_write, &bytes, &err);
    PyObject *out = st == GREBE_OK ? PyUnicode_DecodeUTF8(bytes.data, (Py_ssize_t)bytes.len, "strict") : core_raise(&err);
    free(bytes.data);
    return out;
}

static PyMethodDef iterable_methods[] = { { "shuffle", it_shuffle, METH_VARARGS, NULL },
                                          { "step", it_step, METH_VARARGS, NULL },
                                          { "map", it_map, METH_VARARGS, NULL },
                                          { "filter", it_filter, METH_VARARGS, NULL },
                                          { "pairs", it_pairs, METH_VARARGS, NULL },
                                          { "columns", it_columns, METH_VARARGS, NULL },
                                          { "cast", it_cast, METH_VARARGS, NULL },
                                          { "batch", it_batch, METH_VARARGS, NULL },
                                          { "iterator", it_iterator, METH_VARARGS, NULL },
                                          { NULL, NULL, 0, NULL } };
static PyGetSetDef iterable_getset[] = { { "num_shards", it_num_shards, NULL, "Shards of the source.", NULL },
                                         { "epoch", it_epoch, NULL, "The epoch.", NULL },
                                         { "features", it_features, NULL, "JSON, or None.", NULL },
                                         { NULL, NULL, NULL, NULL, NULL } };
static PyType_Slot iterable_slots[] = { { Py_tp_dealloc, (void *)iterable_dealloc },
                                        { Py_tp_methods, iterable_methods },
                                        { Py_tp_getset, iterable_getset },
                                        { 0, NULL } };
PyType_Spec core_iterable_spec = { "grebe._core.Iterable", sizeof(struct core_iterable), 0,
                                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, iterable_slots };

static PyMethodDef iterator_methods[] = { { "next", iterator_next, METH_VARARGS, NULL },
                                          { "state", iterator_state, METH_VARARGS, NULL },
                                          { NULL, NULL, 0, NULL } };
static PyType_Slot iterator_slots[] = { { Py_tp_dealloc, (void *)iterator_dealloc },
                                        { Py_tp_methods, iterator_methods },
                                        { 0, NULL } };
PyType_Spec core_iterator_spec = { "grebe._core.Iterator", sizeof(struct core_iterator), 0,
                                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, iterator_slots };
