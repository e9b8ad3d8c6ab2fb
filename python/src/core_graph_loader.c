/* SPDX-License-Identifier: Apache-2.0 */
/* Epochs of batches: items of a set, what was sampled around them, rows of features. */
#include "core_dataset.h"

#define IS_SEEDS SIZE_MAX /* a column that batches have in another form */

struct graph_loader {
    PyObject_HEAD
    PyObject *graph; /* owned */
    grebe_graph_loader *loader;
    Py_ssize_t n_parts, n_columns, n_fetches;
    size_t *row_bytes; /* owned, shape [n_parts][n_columns]: of the columns of the set, or IS_SEEDS */
    bool *is_of_edges; /* owned, by fetch */
    bool is_sampled;
    bool is_busy; /* a call is under way without the GIL: no other may begin */
};

static void loader_dealloc(PyObject *self)
{
    struct graph_loader *l = (struct graph_loader *)self;
    grebe_graph_loader *loader = l->loader;
    Py_BEGIN_ALLOW_THREADS /* waits for batches that are being made */
    grebe_graph_loader_free(loader);
    Py_END_ALLOW_THREADS
    PyMem_Free(l->row_bytes);
    PyMem_Free(l->is_of_edges);
    Py_DECREF(l->graph);
    core_object_free(self);
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

/* [(type, that of the other direction), …], borrowed from the list. Free with PyMem_Free. */
static const char **reverse_of(PyObject *list)
{
    const Py_ssize_t n = PyList_Size(list);
    const char **out = PyMem_Calloc(2 * (size_t)n + 1, sizeof *out);
    if (out == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        if (!PyArg_ParseTuple(PyList_GetItem(list, i), "ss", &out[2 * i], &out[2 * i + 1])) {
            PyMem_Free(out);
            return NULL;
        }
    }
    return out;
}

/* Bytes of a row of every column of the set; its parts have the same columns. 0, or -1 with an exception. */
static int find_columns(struct graph_loader *l, const grebe_graph *g, size_t task, grebe_graph_set set)
{
    const char *name = NULL;
    grebe_graph_array a;
    grebe_error err = GREBE_ERROR_INIT;
    l->n_parts = (Py_ssize_t)grebe_graph_set_parts(g, task, set);
    l->n_columns = (Py_ssize_t)grebe_graph_set_part(g, task, set, 0, &name);
    l->row_bytes = PyMem_Calloc((size_t)(l->n_parts * l->n_columns) + 1, sizeof *l->row_bytes);
    if (l->row_bytes == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < l->n_parts * l->n_columns; i++) {
        if (grebe_graph_set_values(g, task, set, (size_t)(i / l->n_columns), (size_t)(i % l->n_columns), &name, &a, &err) != GREBE_OK) {
            return core_raise_int(&err);
        }
        l->row_bytes[i] = name != NULL && strcmp(name, "seeds") == 0 ? IS_SEEDS : a.type_bytes;
        for (uint32_t d = 1; d < a.rank && l->row_bytes[i] != IS_SEEDS; d++) {
            l->row_bytes[i] *= (size_t)a.shape[d]; /* no more than the file has */
        }
    }
    return 0;
}

/*
 * graph_loader(graph, task, set, sampling or None, batch_size, is_shuffled, drop_last, seed, n_replicas, rank, n_workers, worker,
 *              negative_ratio, excludes_seeds, excludes_reverse, [(type, reverse type), …], fetches, threads) -> GraphLoader
 */
PyObject *core_graph_loader(PyObject *self, PyObject *args)
{
    PyObject *graph = NULL, *sampling = NULL, *reverse = NULL, *fetches = NULL;
    Py_ssize_t task = 0;
    int set = 0, is_shuffled = 0, drop_last = 0, excludes_seeds = 0, excludes_reverse = 0;
    long long batch_size = 0, n_replicas = 0, rank = 0, n_workers = 0, worker = 0, ratio = 0;
    unsigned long long seed = 0;
    Py_buffer fanouts = { 0 };
    grebe_graph_sampling how;
    grebe_graph_loader_options o = GREBE_GRAPH_LOADER_OPTIONS_INIT;
    grebe_graph_loader *loader = NULL;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_status st = GREBE_OK;
    (void)self;
    if (!PyArg_ParseTuple(args, "O!niOLppKLLLLLppO!O!I", core.graph_class, &graph, &task, &set, &sampling, &batch_size, &is_shuffled,
                          &drop_last, &seed, &n_replicas, &rank, &n_workers, &worker, &ratio, &excludes_seeds, &excludes_reverse,
                          &PyList_Type, &reverse, &PyList_Type, &fetches, &o.threads)) {
        return NULL;
    }
    grebe_graph_fetch *rows = fetches_of(fetches);
    const char **pairs = rows == NULL ? NULL : reverse_of(reverse);
    if (pairs == NULL || (sampling != Py_None && core_graph_sampling(sampling, &how, &fanouts) != 0)) {
        PyMem_Free(rows);
        PyMem_Free(pairs);
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
    o.excludes_reverse = excludes_reverse != 0;
    o.reverse = pairs;
    o.n_reverse = (size_t)PyList_Size(reverse);
    o.fetches = rows;
    o.n_fetches = (size_t)PyList_Size(fetches);
    const grebe_graph *g = ((struct core_graph *)graph)->graph;
    Py_BEGIN_ALLOW_THREADS
    st = grebe_graph_loader_new(g, &o, &loader, &err);
    Py_END_ALLOW_THREADS
    bool *is_of_edges = PyMem_Calloc(o.n_fetches + 1, sizeof *is_of_edges);
    for (size_t i = 0; is_of_edges != NULL && i < o.n_fetches; i++) {
        is_of_edges[i] = strcmp(rows[i].domain, "edge") == 0;
    }
    PyMem_Free(rows);
    PyMem_Free(pairs);
    if (sampling != Py_None) {
        PyBuffer_Release(&fanouts);
    }
    struct graph_loader *out = st == GREBE_OK && is_of_edges != NULL ? PyObject_New(struct graph_loader, (PyTypeObject *)core.graph_loader_class) : NULL;
    if (out == NULL) {
        grebe_graph_loader_free(loader);
        PyMem_Free(is_of_edges);
        return st != GREBE_OK ? core_raise(&err) : PyErr_Occurred() ? NULL : PyErr_NoMemory();
    }
    out->graph = Py_NewRef(graph);
    out->loader = loader;
    out->n_fetches = (Py_ssize_t)o.n_fetches;
    out->is_sampled = o.sampling != NULL;
    out->is_busy = false;
    out->row_bytes = NULL;
    out->is_of_edges = is_of_edges;
    if (find_columns(out, g, (size_t)task, (grebe_graph_set)set) != 0) {
        Py_DECREF(out);
        return NULL;
    }
    return (PyObject *)out;
}

/* Values of the columns of a part beside its seeds: new memory, which Python may write to. */
static PyObject *give_columns(const struct graph_loader *l, const grebe_graph_batch *b, size_t part, int64_t n)
{
    PyObject *out = PyList_New(0);
    grebe_error err = GREBE_ERROR_INIT;
    for (Py_ssize_t i = 0; out != NULL && i < l->n_columns; i++) {
        const size_t bytes = l->row_bytes[(Py_ssize_t)part * l->n_columns + i];
        if (bytes == IS_SEEDS) {
            continue;
        }
        PyObject *values = PyByteArray_FromStringAndSize(NULL, (Py_ssize_t)n * (Py_ssize_t)bytes);
        if (values != NULL && grebe_graph_batch_column(b, part, (size_t)i, PyByteArray_AsString(values), &err) != GREBE_OK) {
            Py_CLEAR(values);
            core_raise(&err);
        }
        if (!core_graph_append(out, values)) {
            Py_CLEAR(out);
        }
    }
    return out;
}

/* (type, number of items, seeds, rows or None, arity, [values of each other column]) of a part */
static PyObject *give_part(const struct graph_loader *l, PyObject *batch, size_t part)
{
    const grebe_graph_batch *b = core_graph_kept(batch);
    grebe_graph_batch_items p;
    grebe_error err = GREBE_ERROR_INIT;
    if (grebe_graph_batch_part(b, part, &p, &err) != GREBE_OK) {
        return core_raise(&err);
    }
    PyObject *rows = l->is_sampled ? core_graph_ids(batch, p.rows, p.n_seeds * p.arity) : Py_NewRef(Py_None);
    return Py_BuildValue("(zLNNLN)", p.type, (long long)p.n_items, core_graph_ids(batch, p.seeds, p.n_seeds * p.arity), rows,
                         (long long)p.arity, give_columns(l, b, part, p.n_items));
}

/* Rows of a feature, as bytes: of nodes, or of the edges of a layer. */
static PyObject *give_rows(PyObject *batch, size_t fetch, size_t layer)
{
    static unsigned char none; /* nothing of it is ever read or written */
    grebe_graph_rows r;
    grebe_error err = GREBE_ERROR_INIT;
    if (grebe_graph_batch_rows(core_graph_kept(batch), fetch, layer, &r, &err) != GREBE_OK) {
        return core_raise(&err);
    }
    const uint64_t shape[] = { (uint64_t)r.n * r.row_bytes };
    const grebe_graph_array a = { "uint8", 1, 1, shape, r.data == NULL ? &none : r.data };
    return core_graph_array(batch, &a);
}

/* [rows of each layer] of a feature of edges */
static PyObject *give_layers(PyObject *batch, size_t fetch)
{
    PyObject *out = PyList_New(0);
    const size_t n = grebe_graph_batch_n_layers(core_graph_kept(batch));
    for (size_t i = 0; out != NULL && i < n; i++) {
        if (!core_graph_append(out, give_rows(batch, fetch, i))) {
            Py_CLEAR(out);
        }
    }
    return out;
}

/* (parts, sampled or None, [rows of each fetch]) */
static PyObject *give_batch(const struct graph_loader *l, PyObject *batch)
{
    PyObject *out = NULL, *parts = PyList_New(0), *rows = PyList_New(0);
    bool is_ok = parts != NULL && rows != NULL;
    for (Py_ssize_t i = 0; is_ok && i < l->n_parts; i++) {
        is_ok = core_graph_append(parts, give_part(l, batch, (size_t)i));
    }
    for (Py_ssize_t i = 0; is_ok && i < l->n_fetches; i++) {
        is_ok = core_graph_append(rows, l->is_of_edges[i] ? give_layers(batch, (size_t)i) : give_rows(batch, (size_t)i, 0));
    }
    PyObject *sampled = !is_ok          ? NULL
                        : l->is_sampled ? core_graph_give(batch, ((struct core_graph *)l->graph)->graph)
                                        : Py_NewRef(Py_None);
    if (sampled != NULL) {
        out = Py_BuildValue("(ONO)", parts, sampled, rows);
    }
    Py_XDECREF(parts);
    Py_XDECREF(rows);
    return out;
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
    PyObject *batch = st == GREBE_OK ? core_graph_keep(self, b) : NULL;
    l->is_busy = false;
    if (st != GREBE_OK) {
        return st == GREBE_END ? Py_NewRef(Py_None) : core_raise(&err);
    }
    PyObject *out = batch != NULL ? give_batch(l, batch) : NULL;
    Py_XDECREF(batch); /* what was given holds it */
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
