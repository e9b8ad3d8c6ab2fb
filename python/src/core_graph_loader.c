/* SPDX-License-Identifier: Apache-2.0 */
/* Epochs of batches: items of a set, what was sampled around them, rows of features. */
#include "core_dataset.h"

struct graph_loader {
    PyObject_HEAD
    PyObject *graph; /* owned */
    grebe_graph_loader *loader;
    Py_ssize_t n_parts, n_fetches;
    bool is_sampled;
    bool is_busy; /* a call is under way without the GIL: no other may begin */
};

static void loader_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    struct graph_loader *l = (struct graph_loader *)self;
    grebe_graph_loader *loader = l->loader;
    Py_BEGIN_ALLOW_THREADS /* waits for batches that are being made */
    grebe_graph_loader_free(loader);
    Py_END_ALLOW_THREADS
    Py_DECREF(l->graph);
    freefunc free_fn = (freefunc)PyType_GetSlot(type, Py_tp_free);
    free_fn(self);
    Py_DECREF(type);
}

/* [(domain, type or None, name, bytes of cache), …], borrowed from the list. Free with PyMem_Free. */
static grebe_graph_fetch *fetches_of(PyObject *list)
{
    const Py_ssize_t n = PyList_Size(list);
    grebe_graph_fetch *out = PyMem_Calloc((size_t)n + 1, sizeof *out);
    if (out == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        unsigned long long bytes = 0;
        if (!PyArg_ParseTuple(PyList_GetItem(list, i), "szsK", &out[i].domain, &out[i].type, &out[i].name, &bytes)) {
            PyMem_Free(out);
            return NULL;
        }
        out[i].cache_bytes = bytes;
    }
    return out;
}

/*
 * graph_loader(graph, task, set, sampling or None, batch_size, is_shuffled, drop_last, seed, n_replicas, rank, n_workers, worker,
 *              negative_ratio, excludes_seeds, fetches, threads) -> GraphLoader
 */
PyObject *core_graph_loader(PyObject *self, PyObject *args)
{
    PyObject *graph = NULL, *sampling = NULL, *fetches = NULL;
    Py_ssize_t task = 0;
    int set = 0, is_shuffled = 0, drop_last = 0, excludes_seeds = 0;
    long long batch_size = 0, n_replicas = 0, rank = 0, n_workers = 0, worker = 0, ratio = 0;
    unsigned long long seed = 0;
    Py_buffer fanouts = { 0 };
    grebe_graph_sampling how;
    grebe_graph_loader_options o = GREBE_GRAPH_LOADER_OPTIONS_INIT;
    grebe_graph_loader *loader = NULL;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_status st = GREBE_OK;
    (void)self;
    if (!PyArg_ParseTuple(args, "O!niOLppKLLLLLpO!I", core.graph_class, &graph, &task, &set, &sampling, &batch_size, &is_shuffled,
                          &drop_last, &seed, &n_replicas, &rank, &n_workers, &worker, &ratio, &excludes_seeds, &PyList_Type, &fetches, &o.threads)) {
        return NULL;
    }
    grebe_graph_fetch *rows = fetches_of(fetches);
    if (rows == NULL || (sampling != Py_None && core_graph_sampling(sampling, &how, &fanouts) != 0)) {
        PyMem_Free(rows);
        return NULL;
    }
    o.task = (size_t)task;
    o.set = (grebe_graph_set)set;
    o.sampling = sampling != Py_None ? &how : NULL;
    o.batch_size = batch_size;
    o.is_shuffled = is_shuffled != 0;
    o.drop_last = drop_last != 0;
    o.seed = seed;
    o.n_replicas = n_replicas;
    o.rank = rank;
    o.n_workers = n_workers;
    o.worker = worker;
    o.negative_ratio = ratio;
    o.excludes_seeds = excludes_seeds != 0;
    o.fetches = rows;
    o.n_fetches = (size_t)PyList_Size(fetches);
    const grebe_graph *g = ((struct core_graph *)graph)->graph;
    Py_BEGIN_ALLOW_THREADS
    st = grebe_graph_loader_new(g, &o, &loader, &err);
    Py_END_ALLOW_THREADS
    PyMem_Free(rows);
    if (sampling != Py_None) {
        PyBuffer_Release(&fanouts);
    }
    struct graph_loader *out = st == GREBE_OK ? PyObject_New(struct graph_loader, (PyTypeObject *)core.graph_loader_class) : NULL;
    if (out == NULL) {
        grebe_graph_loader_free(loader);
        return st == GREBE_OK ? NULL : core_raise(&err);
    }
    out->graph = Py_NewRef(graph);
    out->loader = loader;
    out->n_parts = (Py_ssize_t)grebe_graph_set_parts(g, (size_t)task, (grebe_graph_set)set);
    out->n_fetches = (Py_ssize_t)o.n_fetches;
    out->is_sampled = o.sampling != NULL;
    out->is_busy = false;
    return (PyObject *)out;
}

/* (type, items, seeds, rows or None, n_positives, arity) of a part */
static PyObject *give_part(const grebe_graph_batch *b, size_t part, bool is_sampled)
{
    grebe_graph_batch_items p;
    grebe_error err = GREBE_ERROR_INIT;
    if (grebe_graph_batch_part(b, part, &p, &err) != GREBE_OK) {
        return core_raise(&err);
    }
    PyObject *rows = is_sampled ? core_graph_ids(p.rows, p.n_seeds * p.arity) : Py_NewRef(Py_None);
    return rows == NULL ? NULL
                        : Py_BuildValue("(zNNNLL)", p.type, core_graph_ids(p.items, p.n_items),
                                        core_graph_ids(p.seeds, p.n_seeds * p.arity), rows, (long long)p.n_positives, (long long)p.arity);
}

/* Rows of a feature of nodes, as bytes. */
static PyObject *give_rows(const grebe_graph_batch *b, size_t fetch)
{
    grebe_graph_rows r;
    grebe_error err = GREBE_ERROR_INIT;
    return grebe_graph_batch_rows(b, fetch, 0, &r, &err) == GREBE_OK
               ? PyBytes_FromStringAndSize(r.data, (Py_ssize_t)r.n * (Py_ssize_t)r.row_bytes)
               : core_raise(&err);
}

/* begin(epoch): its first batch is the next one */
static PyObject *loader_begin(PyObject *self, PyObject *args)
{
    struct graph_loader *l = (struct graph_loader *)self;
    unsigned long long epoch = 0;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_status st = GREBE_OK;
    if (!PyArg_ParseTuple(args, "K", &epoch)) {
        return NULL;
    }
    if (l->is_busy) {
        PyErr_SetString(PyExc_RuntimeError, "the loader is in use by another thread");
        return NULL;
    }
    l->is_busy = true;
    Py_BEGIN_ALLOW_THREADS
    st = grebe_graph_loader_begin(l->loader, epoch, &err);
    Py_END_ALLOW_THREADS
    l->is_busy = false;
    return st == GREBE_OK ? Py_NewRef(Py_None) : core_raise(&err);
}

/* next() -> (parts, sampled or None, [rows of each fetch]), or None at the end of the epoch */
static PyObject *loader_next(PyObject *self, PyObject *args)
{
    struct graph_loader *l = (struct graph_loader *)self;
    const grebe_graph_batch *b = NULL;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_status st = GREBE_OK;
    (void)args;
    if (l->is_busy) {
        PyErr_SetString(PyExc_RuntimeError, "the loader is in use by another thread");
        return NULL;
    }
    l->is_busy = true;
    Py_BEGIN_ALLOW_THREADS
    st = grebe_graph_loader_next(l->loader, &b, &err);
    Py_END_ALLOW_THREADS
    PyObject *out = NULL, *parts = PyList_New(0), *rows = PyList_New(0);
    bool is_ok = st == GREBE_OK && parts != NULL && rows != NULL;
    for (Py_ssize_t i = 0; is_ok && i < l->n_parts; i++) {
        is_ok = core_graph_append(parts, give_part(b, (size_t)i, l->is_sampled));
    }
    for (Py_ssize_t i = 0; is_ok && i < l->n_fetches; i++) {
        is_ok = core_graph_append(rows, give_rows(b, (size_t)i));
    }
    PyObject *sampled = !is_ok ? NULL : l->is_sampled ? core_graph_give(b, ((struct core_graph *)l->graph)->graph) : Py_NewRef(Py_None);
    if (sampled != NULL) {
        out = Py_BuildValue("(ONO)", parts, sampled, rows);
    } else if (st == GREBE_END) {
        out = Py_NewRef(Py_None);
    } else if (st != GREBE_OK) {
        out = core_raise(&err);
    }
    Py_XDECREF(parts);
    Py_XDECREF(rows);
    l->is_busy = false;
    return out;
}

static PyObject *loader_n_batches(PyObject *self, PyObject *args)
{
    (void)args;
    return PyLong_FromLongLong(grebe_graph_loader_n_batches(((struct graph_loader *)self)->loader));
}

static PyMethodDef loader_methods[] = { { "begin", loader_begin, METH_VARARGS, NULL },
                                        { "next", loader_next, METH_NOARGS, NULL },
                                        { "n_batches", loader_n_batches, METH_NOARGS, NULL },
                                        { NULL, NULL, 0, NULL } };
static PyType_Slot loader_slots[] = { { Py_tp_dealloc, (void *)loader_dealloc }, { Py_tp_methods, loader_methods }, { 0, NULL } };
PyType_Spec core_graph_loader_spec = { "grebe._core.GraphLoader", sizeof(struct graph_loader), 0,
                                       Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, loader_slots };
