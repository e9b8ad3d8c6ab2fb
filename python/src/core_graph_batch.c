/* SPDX-License-Identifier: Apache-2.0 */
/* A batch that was sampled or loaded: its arrays are views, and its memory goes back when the last of them is gone. */
#include "core_dataset.h"

struct graph_batch {
    PyObject_HEAD
    PyObject *owner; /* owned: what made the batch and takes its memory back */
    grebe_graph_batch *batch;
};

static void batch_dealloc(PyObject *self)
{
    struct graph_batch *b = (struct graph_batch *)self;
    grebe_graph_batch_free(b->batch);
    Py_DECREF(b->owner);
    core_object_free(self);
}

static PyType_Slot batch_slots[] = { { Py_tp_dealloc, (void *)batch_dealloc }, { 0, NULL } };
PyType_Spec core_graph_batch_spec = { "grebe._core.GraphBatch", sizeof(struct graph_batch), 0,
                                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, batch_slots };

PyObject *core_graph_keep(PyObject *owner, const grebe_graph_batch *batch)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct graph_batch *out = PyObject_New(struct graph_batch, (PyTypeObject *)core.graph_batch_class);
    if (out == NULL) {
        return NULL;
    }
    out->owner = Py_NewRef(owner);
    out->batch = NULL;
    if (grebe_graph_batch_keep(batch, &out->batch, &err) != GREBE_OK) {
        Py_DECREF(out);
        return core_raise(&err);
    }
    return (PyObject *)out;
}

const grebe_graph_batch *core_graph_kept(PyObject *batch)
{
    return ((struct graph_batch *)batch)->batch;
}

PyObject *core_graph_ids(PyObject *batch, const int64_t *values, int64_t n)
{
    static int64_t none; /* nothing of it is ever read or written */
    const uint64_t shape[] = { (uint64_t)n };
    const grebe_graph_array a = { "int64", sizeof *values, 1, shape, values == NULL ? &none : values };
    return core_graph_array(batch, &a);
}

bool core_graph_append(PyObject *list, PyObject *item)
{
    const bool is_ok = item != NULL && PyList_Append(list, item) == 0;
    Py_XDECREF(item);
    return is_ok;
}

/* ([(rows, columns) of each type of nodes], [(indptr, indices, edges) of each type of edges]) */
static PyObject *give_layer(PyObject *batch, size_t layer, size_t node_types, size_t edge_types)
{
    const grebe_graph_batch *b = core_graph_kept(batch);
    PyObject *counts = PyList_New(0), *relations = PyList_New(0);
    bool is_ok = counts != NULL && relations != NULL;
    for (size_t t = 0; is_ok && t < node_types; t++) {
        int64_t rows = 0, columns = 0;
        grebe_graph_batch_counts(b, layer, t, &rows, &columns);
        is_ok = core_graph_append(counts, Py_BuildValue("(LL)", (long long)rows, (long long)columns));
    }
    for (size_t t = 0; is_ok && t < edge_types; t++) {
        grebe_graph_relation r;
        grebe_graph_batch_relation(b, layer, t, &r);
        is_ok = core_graph_append(relations, Py_BuildValue("(NNN)", core_graph_ids(batch, r.indptr, r.indptr != NULL ? r.n_columns + 1 : 0),
                                                           core_graph_ids(batch, r.indices, r.n_edges),
                                                           core_graph_ids(batch, r.edges, r.n_edges)));
    }
    PyObject *out = is_ok ? Py_BuildValue("(OO)", counts, relations) : NULL;
    Py_XDECREF(counts);
    Py_XDECREF(relations);
    return out;
}

PyObject *core_graph_give(PyObject *batch, const grebe_graph *graph)
{
    const grebe_graph_batch *b = core_graph_kept(batch);
    grebe_graph_info info;
    grebe_graph_get_info(graph, &info);
    const size_t node_types = info.n_node_types > 0 ? info.n_node_types : 1, edge_types = info.n_edge_types > 0 ? info.n_edge_types : 1;
    PyObject *nodes = PyList_New(0), *layers = PyList_New(0);
    bool is_ok = nodes != NULL && layers != NULL;
    for (size_t t = 0; is_ok && t < node_types; t++) {
        int64_t n = 0;
        const int64_t *ids = grebe_graph_batch_nodes(b, t, &n);
        is_ok = core_graph_append(nodes, core_graph_ids(batch, ids, n));
    }
    for (size_t l = 0; is_ok && l < grebe_graph_batch_n_layers(b); l++) {
        is_ok = core_graph_append(layers, give_layer(batch, l, node_types, edge_types));
    }
    if (!is_ok) {
        Py_XDECREF(nodes);
        Py_XDECREF(layers);
        return NULL;
    }
    return Py_BuildValue("(NN)", nodes, layers);
}
