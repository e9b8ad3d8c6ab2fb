/* SPDX-License-Identifier: Apache-2.0 */
/* Neighbours of seeds, sampled. */
#include "core_dataset.h"

struct graph_sampler {
    PyObject_HEAD
    PyObject *graph; /* owned */
    grebe_graph_sampler *sampler;
    bool is_busy;    /* a call is under way without the GIL: no other may begin */
};

static void sampler_dealloc(PyObject *self)
{
    struct graph_sampler *s = (struct graph_sampler *)self;
    grebe_graph_sampler_free(s->sampler);
    Py_DECREF(s->graph);
    core_object_free(self);
}

int core_graph_sampling(PyObject *tuple, grebe_graph_sampling *out, Py_buffer *fanouts)
{
    Py_ssize_t n_layers = 0;
    int method = 0, with_replacement = 0, layer_dependency = 0, has_window = 0, keeps_duplicates = 0;
    long long window = 0;
    unsigned long long batch_dependency = 0;
    *out = (grebe_graph_sampling)GREBE_GRAPH_SAMPLING_INIT;
    if (!PyArg_ParseTuple(tuple, "y*nipzpKzzpLp", fanouts, &n_layers, &method, &with_replacement, &out->weights, &layer_dependency,
                          &batch_dependency, &out->node_times, &out->edge_times, &has_window, &window, &keeps_duplicates)) {
        return -1;
    }
    const size_t n = (size_t)fanouts->len / sizeof(int64_t);
    if (n_layers < 1 || n % (size_t)n_layers != 0) {
        PyBuffer_Release(fanouts);
        PyErr_Format(PyExc_ValueError, "fanouts: expected the same number for each of %zd layers, found %zu", n_layers, n);
        return -1;
    }
    out->method = (grebe_graph_method)method;
    out->fanouts = fanouts->buf;
    out->n_layers = (size_t)n_layers;
    out->n_fanouts = n / (size_t)n_layers;
    out->with_replacement = with_replacement != 0;
    out->layer_dependency = layer_dependency != 0;
    out->batch_dependency = batch_dependency;
    out->has_window = has_window != 0;
    out->window = window;
    out->keeps_duplicates = keeps_duplicates != 0;
    return 0;
}

/* graph_sampler(graph, sampling, threads) -> GraphSampler */
PyObject *core_graph_sampler(PyObject *self, PyObject *args)
{
    PyObject *graph = NULL, *sampling = NULL;
    Py_buffer fanouts = { 0 };
    unsigned threads = 0;
    grebe_graph_sampling o;
    grebe_graph_sampler *sampler = NULL;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_status st = GREBE_OK;
    (void)self;
    if (!PyArg_ParseTuple(args, "O!O!I", core.graph_class, &graph, &PyTuple_Type, &sampling, &threads) ||
        core_graph_sampling(sampling, &o, &fanouts) != 0) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    st = grebe_graph_sampler_new(((struct core_graph *)graph)->graph, &o, threads, &sampler, &err);
    Py_END_ALLOW_THREADS
    PyBuffer_Release(&fanouts);
    if (st != GREBE_OK) {
        return core_raise(&err);
    }
    struct graph_sampler *out = PyObject_New(struct graph_sampler, (PyTypeObject *)core.graph_sampler_class);
    if (out == NULL) {
        grebe_graph_sampler_free(sampler);
        return NULL;
    }
    out->graph = Py_NewRef(graph);
    out->sampler = sampler;
    out->is_busy = false;
    return (PyObject *)out;
}

/* run([(type or None, ids: int64 buffer, times: int64 buffer or None), …], seed) -> as core_graph_give() */
static PyObject *sampler_run(PyObject *self, PyObject *args)
{
    struct graph_sampler *s = (struct graph_sampler *)self;
    PyObject *list = NULL, *result = NULL;
    unsigned long long seed = 0;
    Py_ssize_t n = 0;
    const grebe_graph_batch *batch = NULL;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_status st = GREBE_OK;
    if (!PyArg_ParseTuple(args, "O!K", &PyList_Type, &list, &seed)) {
        return NULL;
    }
    if (s->is_busy) {
        PyErr_SetString(PyExc_RuntimeError, "the sampler is in use by another thread");
        return NULL;
    }
    const size_t n_all = (size_t)PyList_Size(list);
    grebe_graph_seeds *seeds = PyMem_Calloc(n_all, sizeof *seeds);
    Py_buffer *views = PyMem_Calloc(n_all, sizeof *views), *times = PyMem_Calloc(n_all, sizeof *times);
    if (seeds == NULL || views == NULL || times == NULL) {
        PyErr_NoMemory();
        goto out;
    }
    for (; (size_t)n < n_all; n++) {
        if (!PyArg_ParseTuple(PyList_GetItem(list, n), "zy*z*", &seeds[n].type, &views[n], &times[n])) {
            goto out;
        }
        seeds[n].ids = views[n].buf;
        seeds[n].times = times[n].buf;
        seeds[n].n = (int64_t)(views[n].len / (Py_ssize_t)sizeof(int64_t));
        if (times[n].buf != NULL && times[n].len != views[n].len) {
            PyErr_Format(PyExc_ValueError, "times: expected one for each seed, found %zd and %zd bytes", times[n].len, views[n].len);
            n++;
            goto out;
        }
    }
    s->is_busy = true;
    Py_BEGIN_ALLOW_THREADS
    st = grebe_graph_sampler_run(s->sampler, seeds, (size_t)n, seed, &batch, &err);
    Py_END_ALLOW_THREADS
    PyObject *kept = st != GREBE_OK ? core_raise(&err) : core_graph_keep(self, batch);
    s->is_busy = false;
    if (kept != NULL) {
        result = core_graph_give(kept, ((struct core_graph *)s->graph)->graph);
        Py_DECREF(kept); /* its arrays hold it */
    }
out:
    while (n > 0) {
        PyBuffer_Release(&views[--n]);
        PyBuffer_Release(&times[n]);
    }
    PyMem_Free(seeds);
    PyMem_Free(views);
    PyMem_Free(times);
    return result;
}

static PyMethodDef sampler_methods[] = { { "run", sampler_run, METH_VARARGS, NULL }, { NULL, NULL, 0, NULL } };
static PyType_Slot sampler_slots[] = { { Py_tp_dealloc, (void *)sampler_dealloc }, { Py_tp_methods, sampler_methods }, { 0, NULL } };
PyType_Spec core_graph_sampler_spec = { "grebe._core.GraphSampler", sizeof(struct graph_sampler), 0,
                                        Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, sampler_slots };

/* graph_negatives(pairs: int64 buffer [n][2], ratio, n_targets, seed, out: writable [n * (1 + ratio)][2]) */
PyObject *core_graph_negatives(PyObject *self, PyObject *args)
{
    Py_buffer pairs = { 0 }, out = { 0 };
    long long ratio = 0, n_targets = 0;
    unsigned long long seed = 0;
    grebe_error err = GREBE_ERROR_INIT;
    PyObject *result = NULL;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*LLKw*", &pairs, &ratio, &n_targets, &seed, &out)) {
        return NULL;
    }
    if (ratio < 0 || ratio >= PY_SSIZE_T_MAX || pairs.len % (Py_ssize_t)(2 * sizeof(int64_t)) != 0 ||
        pairs.len > PY_SSIZE_T_MAX / (ratio + 1) || out.len != pairs.len * (ratio + 1)) {
        PyErr_Format(PyExc_ValueError, "negatives: expected pairs of int64 and room for 1 + %lld of each, found %zd and %zd bytes", ratio,
                     pairs.len, out.len);
    } else {
        grebe_status st = GREBE_OK;
        Py_BEGIN_ALLOW_THREADS
        st = grebe_graph_negatives(pairs.buf, (int64_t)(pairs.len / 16), ratio, n_targets, seed, out.buf, &err);
        Py_END_ALLOW_THREADS
        result = st == GREBE_OK ? Py_NewRef(Py_None) : core_raise(&err);
    }
    PyBuffer_Release(&pairs);
    PyBuffer_Release(&out);
    return result;
}
