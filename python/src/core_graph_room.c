/* SPDX-License-Identifier: Apache-2.0 */
/* Memory for rows of features: it comes back to its graph when the last view of it is gone, and holds what is read next. */
#include "core_dataset.h"

struct graph_room {
    PyObject_HEAD
    PyObject *graph; /* owned */
    Py_buffer memory;
};

static void room_dealloc(PyObject *self)
{
    struct graph_room *r = (struct graph_room *)self;
    struct core_graph *g = (struct core_graph *)r->graph;
    PyObject *memory = Py_NewRef(r->memory.obj), *before = g->spare;
    const Py_ssize_t len = r->memory.len;
    PyBuffer_Release(&r->memory);
    if (len <= CORE_GRAPH_SPARE_MAX) {
        g->spare = memory;
        g->spare_len = len;
        memory = before;
    }
    Py_XDECREF(memory);
    Py_DECREF(r->graph);
    core_object_free(self);
}

static int room_get_buffer(PyObject *self, Py_buffer *view, int flags)
{
    struct graph_room *r = (struct graph_room *)self;
    return PyBuffer_FillInfo(view, self, r->memory.buf, r->memory.len, 0, flags);
}

static PyType_Slot room_slots[] = { { Py_tp_dealloc, (void *)room_dealloc }, { Py_bf_getbuffer, (void *)room_get_buffer }, { 0, NULL } };
PyType_Spec core_graph_room_spec = { "grebe._core.GraphRoom", sizeof(struct graph_room), 0,
                                     Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, room_slots };

PyObject *core_graph_spare(PyObject *self, PyObject *args)
{
    struct core_graph *g = (struct core_graph *)self;
    Py_ssize_t len = 0;
    if (!PyArg_ParseTuple(args, "n", &len)) {
        return NULL;
    }
    if (g->spare == NULL || g->spare_len < len || g->spare_len / 4 > len) {
        Py_RETURN_NONE;
    }
    PyObject *memory = g->spare;
    g->spare = NULL;
    return memory;
}

PyObject *core_graph_room(PyObject *self, PyObject *args)
{
    Py_buffer memory = { 0 };
    if (!PyArg_ParseTuple(args, "w*", &memory)) {
        return NULL;
    }
    struct graph_room *out = PyObject_New(struct graph_room, (PyTypeObject *)core.graph_room_class);
    if (out == NULL) {
        PyBuffer_Release(&memory);
        return NULL;
    }
    out->graph = Py_NewRef(self);
    out->memory = memory;
    return (PyObject *)out;
}
