/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs from files and to files. */
#include "core_dataset.h"

/* graph_export(path, dest, file_format or None, call) */
PyObject *core_graph_export(PyObject *self, PyObject *args)
{
    const char *path = NULL, *dest = NULL;
    PyObject *options = NULL;
    struct core_call call;
    grebe_graph_export_options o = GREBE_GRAPH_EXPORT_OPTIONS_INIT;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_status st = GREBE_OK;
    (void)self;
    if (!PyArg_ParseTuple(args, "sszO!", &path, &dest, &o.file_format, &PyDict_Type, &options) || core_call_begin(options, &call) != 0) {
        return NULL;
    }
    o.call = &call.o;
    Py_BEGIN_ALLOW_THREADS
    st = grebe_graph_export(core.ctx, path, dest, &o, &err);
    Py_END_ALLOW_THREADS
    core_call_end(&call);
    if (st != GREBE_OK || PyErr_Occurred()) {
        return PyErr_Occurred() ? NULL : core_raise(&err);
    }
    Py_RETURN_NONE;
}

/* Lists of tuples, whose texts are borrowed from them. */
struct init_lists {
    grebe_graph_edge_file *edges;
    grebe_graph_node_count *nodes;
    grebe_graph_feature_file *features;
    grebe_graph_set_file *sets;
    grebe_graph_task_key *task_keys;
    const char **columns; /* of all sets, one after another */
};

static size_t count_columns(PyObject *sets)
{
    size_t n = 0;
    for (Py_ssize_t i = 0; i < PyList_Size(sets); i++) {
        PyObject *item = PyList_GetItem(sets, i), *columns = PyTuple_Check(item) ? PyTuple_GetItem(item, 4) : NULL;
        n += columns != NULL && PyList_Check(columns) ? (size_t)PyList_Size(columns) : 0;
    }
    PyErr_Clear();
    return n;
}

static bool parse_sets(PyObject *sets, PyObject *task_keys, struct init_lists *out)
{
    const char **next = out->columns;
    bool is_ok = true;
    for (Py_ssize_t i = 0; is_ok && i < PyList_Size(sets); i++) {
        grebe_graph_set_file *f = &out->sets[i];
        PyObject *columns = NULL;
        int set = 0;
        is_ok = PyArg_ParseTuple(PyList_GetItem(sets, i), "izssO!", &set, &f->type, &f->name, &f->path, &PyList_Type, &columns);
        f->set = (grebe_graph_set)set;
        for (Py_ssize_t k = 0; is_ok && k < PyList_Size(columns); k++) {
            PyObject *column = PyList_GetItem(columns, k);
            if (!PyUnicode_Check(column)) {
                PyErr_SetString(PyExc_TypeError, "names of columns are texts");
            }
            *next = PyUnicode_Check(column) ? PyUnicode_AsUTF8AndSize(column, NULL) : NULL;
            f->columns = f->columns == NULL ? next : f->columns;
            f->n_columns++;
            is_ok = *next++ != NULL;
        }
    }
    for (Py_ssize_t i = 0; is_ok && i < PyList_Size(task_keys); i++) {
        is_ok = PyArg_ParseTuple(PyList_GetItem(task_keys, i), "ss", &out->task_keys[i].key, &out->task_keys[i].value);
    }
    return is_ok;
}

static bool parse_lists(PyObject *edges, PyObject *nodes, PyObject *features, struct init_lists *out)
{
    bool is_ok = true;
    for (Py_ssize_t i = 0; is_ok && i < PyList_Size(edges); i++) {
        grebe_graph_edge_file *e = &out->edges[i];
        is_ok = PyArg_ParseTuple(PyList_GetItem(edges, i), "zszz", &e->type, &e->path, &e->source, &e->target);
    }
    for (Py_ssize_t i = 0; is_ok && i < PyList_Size(nodes); i++) {
        long long num = 0;
        is_ok = PyArg_ParseTuple(PyList_GetItem(nodes, i), "zL", &out->nodes[i].type, &num);
        out->nodes[i].num = num;
    }
    for (Py_ssize_t i = 0; is_ok && i < PyList_Size(features); i++) {
        grebe_graph_feature_file *f = &out->features[i];
        int is_attribute = 0;
        is_ok = PyArg_ParseTuple(PyList_GetItem(features, i), "szssp", &f->domain, &f->type, &f->name, &f->path, &is_attribute);
        f->is_attribute = is_attribute != 0;
    }
    return is_ok;
}

/* graph_init(dir, name or None, [(type or None, path, source or None, target or None), …], [(type or None, num), …],
 *            [(domain, type or None, name, path, is_attribute), …], [(set, type or None, name, path, [column, …]), …],
 *            [(key, value), …], force, call) */
PyObject *core_graph_init(PyObject *self, PyObject *args)
{
    const char *dir = NULL;
    PyObject *edges = NULL, *nodes = NULL, *features = NULL, *sets = NULL, *task_keys = NULL, *options = NULL, *result = NULL;
    int force = 0;
    struct core_call call;
    grebe_graph_init_options o = GREBE_GRAPH_INIT_OPTIONS_INIT;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_status st = GREBE_OK;
    (void)self;
    if (!PyArg_ParseTuple(args, "szO!O!O!O!O!pO!", &dir, &o.name, &PyList_Type, &edges, &PyList_Type, &nodes, &PyList_Type, &features,
                          &PyList_Type, &sets, &PyList_Type, &task_keys, &force, &PyDict_Type, &options)) {
        return NULL;
    }
    struct init_lists lists = { PyMem_Calloc((size_t)PyList_Size(edges) + 1, sizeof *lists.edges),
                                PyMem_Calloc((size_t)PyList_Size(nodes) + 1, sizeof *lists.nodes),
                                PyMem_Calloc((size_t)PyList_Size(features) + 1, sizeof *lists.features),
                                PyMem_Calloc((size_t)PyList_Size(sets) + 1, sizeof *lists.sets),
                                PyMem_Calloc((size_t)PyList_Size(task_keys) + 1, sizeof *lists.task_keys),
                                PyMem_Calloc(count_columns(sets) + 1, sizeof *lists.columns) };
    if (lists.edges == NULL || lists.nodes == NULL || lists.features == NULL || lists.sets == NULL || lists.task_keys == NULL ||
        lists.columns == NULL) {
        (void)PyErr_NoMemory();
    } else if (parse_lists(edges, nodes, features, &lists) && parse_sets(sets, task_keys, &lists) && core_call_begin(options, &call) == 0) {
        o.edges = lists.edges;
        o.n_edges = (size_t)PyList_Size(edges);
        o.nodes = lists.nodes;
        o.n_nodes = (size_t)PyList_Size(nodes);
        o.features = lists.features;
        o.n_features = (size_t)PyList_Size(features);
        o.sets = lists.sets;
        o.n_sets = (size_t)PyList_Size(sets);
        o.task_keys = lists.task_keys;
        o.n_task_keys = (size_t)PyList_Size(task_keys);
        o.is_replaced = force != 0;
        o.call = &call.o;
        Py_BEGIN_ALLOW_THREADS
        st = grebe_graph_init(core.ctx, dir, &o, &err);
        Py_END_ALLOW_THREADS
        core_call_end(&call);
        result = PyErr_Occurred() ? NULL : st != GREBE_OK ? core_raise(&err) : Py_NewRef(Py_None);
    }
    PyMem_Free(lists.edges);
    PyMem_Free(lists.nodes);
    PyMem_Free(lists.features);
    PyMem_Free(lists.sets);
    PyMem_Free(lists.task_keys);
    PyMem_Free(lists.columns);
    return result;
}
