/* SPDX-License-Identifier: Apache-2.0 */
/* Preprocessed graphs: checking, preprocessing, opening; arrays in mapped files as buffers; rows of features by id. */
#include "core_dataset.h"

enum { MAX_RANK = 8 };

static void graph_dealloc(PyObject *self)
{
    grebe_graph_close(((struct core_graph *)self)->graph);
    Py_XDECREF(((struct core_graph *)self)->spare);
    core_object_free(self);
}

static const grebe_graph *graph_of(PyObject *self)
{
    return ((struct core_graph *)self)->graph;
}

/* ---- arrays ---- */

struct graph_array {
    PyObject_HEAD
    PyObject *owner;  /* owned: keeps the memory where it is */
    bool is_readonly; /* of a mapped file; a batch is its holder's alone */
    const void *data;
    const char *format; /* struct module; bfloat16 as the 16 bits that it is */
    const char *type;   /* static */
    uint8_t dlpack_code;
    int ndim;
    Py_ssize_t itemsize, len;
    Py_ssize_t shape[MAX_RANK], strides[MAX_RANK];
};

static const struct {
    const char *type, *format;
    uint8_t dlpack_code; /* dlpack.h: 0 int, 1 uint, 2 float, 4 bfloat, 6 bool */
} formats[] = { { "float32", "f", 2 }, { "float64", "d", 2 }, { "float16", "e", 2 }, { "bfloat16", "H", 4 }, { "int8", "b", 0 },
                { "uint8", "B", 1 },   { "int16", "h", 0 },   { "uint16", "H", 1 },  { "int32", "i", 0 },    { "uint32", "I", 1 },
                { "int64", "q", 0 },   { "uint64", "Q", 1 },  { "bool", "?", 6 } };

PyObject *core_graph_array(PyObject *owner, const grebe_graph_array *a)
{
    size_t f = 0;
    if (a->type == NULL) {
        Py_RETURN_NONE;
    }
    while (f < sizeof formats / sizeof formats[0] && strcmp(formats[f].type, a->type) != 0) {
        f++;
    }
    if (f == sizeof formats / sizeof formats[0] || a->rank > MAX_RANK) {
        return PyErr_Format(PyExc_TypeError, "expected an array of numbers with at most %d axes, found %s with %u", MAX_RANK, a->type,
                            (unsigned)a->rank);
    }
    PyTypeObject *type = (PyTypeObject *)core.graph_array_class;
    struct graph_array *out = PyObject_New(struct graph_array, type);
    if (out == NULL) {
        return NULL;
    }
    out->owner = Py_NewRef(owner);
    out->is_readonly = Py_TYPE(owner) != (PyTypeObject *)core.graph_batch_class;
    out->data = a->data;
    out->format = formats[f].format;
    out->type = formats[f].type;
    out->dlpack_code = formats[f].dlpack_code;
    out->ndim = (int)a->rank;
    out->itemsize = (Py_ssize_t)a->type_bytes;
    out->len = out->itemsize;
    for (int i = out->ndim - 1; i >= 0; i--) {
        out->shape[i] = (Py_ssize_t)a->shape[i]; /* the file is as long as that */
        out->strides[i] = out->len;
        out->len *= out->shape[i];
    }
    return (PyObject *)out;
}

static void array_dealloc(PyObject *self)
{
    Py_DECREF(((struct graph_array *)self)->owner);
    core_object_free(self);
}

static int array_get_buffer(PyObject *self, Py_buffer *view, int flags)
{
    struct graph_array *a = (struct graph_array *)self;
    view->obj = NULL;
    if ((flags & PyBUF_WRITABLE) == PyBUF_WRITABLE && a->is_readonly) {
        PyErr_SetString(PyExc_BufferError, "arrays of a graph are read-only");
        return -1;
    }
    *view = (Py_buffer){ .buf = (void *)(uintptr_t)a->data, .obj = Py_NewRef(self), .len = a->len, .itemsize = a->itemsize, .readonly = a->is_readonly };
    view->ndim = a->ndim;
    view->format = (flags & PyBUF_FORMAT) ? (char *)(uintptr_t)a->format : NULL;
    view->shape = (flags & PyBUF_ND) ? a->shape : NULL;
    view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? a->strides : NULL;
    return 0;
}

static PyObject *array_type(PyObject *self, PyObject *args)
{
    (void)args;
    return PyUnicode_FromString(((struct graph_array *)self)->type);
}

/* This form of DLPack has no flag for read-only memory: who writes to an array of a graph writes to a mapped file, and is killed. */
static PyObject *array_dlpack(PyObject *self, PyObject *args, PyObject *kwargs)
{
    struct graph_array *a = (struct graph_array *)self;
    (void)args;
    (void)kwargs; /* stream, max_version, dl_device, copy: host memory has no stream */
    return core_dlpack(self, a->data, a->ndim, a->shape, a->strides, a->itemsize, a->dlpack_code);
}

static PyMethodDef array_methods[] = {
    { "type", array_type, METH_NOARGS, NULL },
    { "__dlpack__", (PyCFunction)(void (*)(void))array_dlpack, METH_VARARGS | METH_KEYWORDS, "The array as a DLPack capsule, without a copy." },
    { "__dlpack_device__", core_dlpack_device, METH_NOARGS, "(kDLCPU, 0)" },
    { NULL, NULL, 0, NULL }
};
static PyType_Slot array_slots[] = { { Py_tp_dealloc, (void *)array_dealloc },
                                     { Py_bf_getbuffer, (void *)array_get_buffer },
                                     { Py_tp_methods, array_methods },
                                     { 0, NULL } };
PyType_Spec core_graph_array_spec = { "grebe._core.GraphArray", sizeof(struct graph_array), 0,
                                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, array_slots };

/* ---- check, preprocess, open ---- */

/* Problems of a data set as tuples; with the GIL only while one is added. */
struct problems {
    PyObject *list; /* NULL: an exception is set */
};

static void on_problem(void *arg, const grebe_graph_problem *p)
{
    struct problems *out = arg;
    PyGILState_STATE gil = PyGILState_Ensure();
    PyObject *item = out->list == NULL ? NULL
                                       : Py_BuildValue("(isKKss)", p->is_error, p->file, (unsigned long long)p->line,
                                                       (unsigned long long)p->column, p->field, p->message);
    if (out->list != NULL && (item == NULL || PyList_Append(out->list, item) != 0)) {
        Py_CLEAR(out->list);
    }
    Py_XDECREF(item);
    PyGILState_Release(gil);
}

/* (csv_header, csv_separator or None, allow_row_mismatch): what check and preprocess share */
static int read_files_options(PyObject *tuple, grebe_graph_options *o)
{
    int has_header = 0, allow_row_mismatch = 0;
    const char *separator = NULL;
    if (!PyArg_ParseTuple(tuple, "pzp", &has_header, &separator, &allow_row_mismatch)) {
        return -1;
    }
    if (separator != NULL && strlen(separator) != 1) {
        PyErr_Format(PyExc_ValueError, "csv_separator: expected one character, found '%s'", separator);
        return -1;
    }
    o->csv_has_header = has_header != 0;
    o->csv_separator = (char)(separator != NULL ? separator[0] : 0);
    o->allow_row_mismatch = allow_row_mismatch != 0;
    return 0;
}

/* graph_check(path, is_deep, is_strict, files, call) -> [(is_error, file, line, column, field, message), …] */
PyObject *core_graph_check(PyObject *self, PyObject *args)
{
    const char *path = NULL;
    int is_deep = 0, is_strict = 0;
    PyObject *options = NULL, *files = NULL;
    struct core_call call;
    struct problems problems = { NULL };
    grebe_graph_options o = GREBE_GRAPH_OPTIONS_INIT;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_status st = GREBE_OK;
    (void)self;
    if (!PyArg_ParseTuple(args, "sppO!O!", &path, &is_deep, &is_strict, &PyTuple_Type, &files, &PyDict_Type, &options) ||
        read_files_options(files, &o) != 0 || core_call_begin(options, &call) != 0) {
        return NULL;
    }
    problems.list = PyList_New(0);
    o.is_deep = is_deep != 0;
    o.is_strict = is_strict != 0;
    o.on_problem = on_problem;
    o.problem_arg = &problems;
    o.call = &call.o;
    Py_BEGIN_ALLOW_THREADS
    st = grebe_graph_check(core.ctx, path, &o, NULL, &err);
    Py_END_ALLOW_THREADS
    core_call_end(&call);
    if (st != GREBE_OK || PyErr_Occurred()) {
        Py_XDECREF(problems.list);
        return PyErr_Occurred() ? NULL : core_raise(&err);
    }
    return problems.list != NULL ? problems.list : PyErr_NoMemory();
}

/* graph_preprocess(path, out, keeps_edge_ids, casts, force, is_durable, is_strict, files, call) -> (is_reused, reason) */
PyObject *core_graph_preprocess(PyObject *self, PyObject *args)
{
    const char *path = NULL, *out = NULL;
    int keeps_edge_ids = 1, casts = 1, force = 0, is_durable = 1, is_strict = 0;
    PyObject *options = NULL, *files = NULL;
    struct core_call call;
    grebe_graph_options o = GREBE_GRAPH_OPTIONS_INIT;
    grebe_graph_made made = { 0 };
    grebe_error err = GREBE_ERROR_INIT;
    grebe_status st = GREBE_OK;
    (void)self;
    if (!PyArg_ParseTuple(args, "szpppppO!O!", &path, &out, &keeps_edge_ids, &casts, &force, &is_durable, &is_strict, &PyTuple_Type, &files,
                          &PyDict_Type, &options) ||
        read_files_options(files, &o) != 0 || core_call_begin(options, &call) != 0) {
        return NULL;
    }
    o.out = out;
    o.edge_ids = keeps_edge_ids != 0 ? GREBE_GRAPH_EDGE_IDS_KEPT : GREBE_GRAPH_EDGE_IDS_FOR_FEATURES;
    o.without_cast = casts == 0;
    o.force = force != 0 ? GREBE_GRAPH_ALWAYS : GREBE_GRAPH_IF_CHANGED;
    o.is_durable = is_durable != 0;
    o.is_strict = is_strict != 0;
    o.call = &call.o;
    Py_BEGIN_ALLOW_THREADS
    st = grebe_graph_preprocess(core.ctx, path, &o, &made, &err);
    Py_END_ALLOW_THREADS
    core_call_end(&call);
    if (st != GREBE_OK || PyErr_Occurred()) {
        return PyErr_Occurred() ? NULL : core_raise(&err);
    }
    return Py_BuildValue("(Ns)", PyBool_FromLong(made.is_reused), made.reason);
}

/* graph_open(path) -> Graph */
PyObject *core_graph_open(PyObject *self, PyObject *args)
{
    const char *path = NULL;
    grebe_graph *graph = NULL;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_status st = GREBE_OK;
    (void)self;
    if (!PyArg_ParseTuple(args, "s", &path)) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    st = grebe_graph_open(core.ctx, path, &graph, &err);
    Py_END_ALLOW_THREADS
    if (st != GREBE_OK) {
        return core_raise(&err);
    }
    struct core_graph *out = PyObject_New(struct core_graph, (PyTypeObject *)core.graph_class);
    if (out == NULL) {
        grebe_graph_close(graph);
        return NULL;
    }
    out->graph = graph;
    out->spare = NULL;
    out->spare_len = 0;
    return (PyObject *)out;
}

/* ---- what an opened graph has ---- */

/* info() -> dict: texts, numbers, and the arrays of the graph */
static PyObject *graph_info(PyObject *self, PyObject *args)
{
    grebe_graph_info info;
    (void)args;
    grebe_graph_get_info(graph_of(self), &info);
    const grebe_graph_array *arrays[] = { &info.indptr, &info.indices, &info.node_type_offset, &info.type_per_edge };
    const char *names[] = { "indptr", "indices", "node_type_offset", "type_per_edge" };
    PyObject *out = Py_BuildValue("{szsLsLsnsn}", "name", info.name, "num_nodes", (long long)info.n_nodes, "num_edges",
                                  (long long)info.n_edges, "num_features", (Py_ssize_t)info.n_features, "num_tasks",
                                  (Py_ssize_t)info.n_tasks);
    for (size_t i = 0; out != NULL && i < 4; i++) {
        PyObject *a = core_graph_array(self, arrays[i]);
        if (a == NULL || PyDict_SetItemString(out, names[i], a) != 0) {
            Py_CLEAR(out);
        }
        Py_XDECREF(a);
    }
    return out;
}

/* node_types() -> [(type, nodes), …]: empty in a graph without types */
static PyObject *graph_node_types(PyObject *self, PyObject *args)
{
    const grebe_graph *g = graph_of(self);
    grebe_graph_info info;
    (void)args;
    grebe_graph_get_info(g, &info);
    PyObject *out = PyList_New(0);
    for (size_t i = 0; out != NULL && i < info.n_node_types; i++) {
        if (!core_graph_append(out, Py_BuildValue("(sL)", grebe_graph_node_type(g, i), (long long)grebe_graph_num_nodes(g, i)))) {
            Py_CLEAR(out);
        }
    }
    return out;
}

/* edge_types() -> [type, …] */
static PyObject *graph_edge_types(PyObject *self, PyObject *args)
{
    const char *name = NULL;
    (void)args;
    PyObject *out = PyList_New(0);
    for (size_t i = 0; out != NULL && (name = grebe_graph_edge_type(graph_of(self), i)) != NULL; i++) {
        if (!core_graph_append(out, PyUnicode_FromString(name))) {
            Py_CLEAR(out);
        }
    }
    return out;
}

/* edge_counts() -> bytes: int64 of each type. Reads the types of all edges. */
static PyObject *graph_edge_counts(PyObject *self, PyObject *args)
{
    const grebe_graph *g = graph_of(self);
    grebe_graph_info info;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_status st = GREBE_OK;
    (void)args;
    grebe_graph_get_info(g, &info);
    int64_t *counts = PyMem_Calloc(info.n_edge_types + 1, sizeof *counts);
    if (counts == NULL) {
        return PyErr_NoMemory();
    }
    if (info.n_edge_types > 0) {
        Py_BEGIN_ALLOW_THREADS
        st = grebe_graph_num_edges(g, NULL, counts, &err);
        Py_END_ALLOW_THREADS
    }
    PyObject *out = st != GREBE_OK ? core_raise(&err) : PyBytes_FromStringAndSize((const char *)counts, (Py_ssize_t)(info.n_edge_types * sizeof *counts));
    PyMem_Free(counts);
    return out;
}

/* attribute(is_edge, i) -> (name, array), or None beyond the last */
static PyObject *graph_attribute(PyObject *self, PyObject *args)
{
    int is_edge = 0;
    Py_ssize_t i = 0;
    grebe_graph_array a = { 0 };
    if (!PyArg_ParseTuple(args, "pn", &is_edge, &i)) {
        return NULL;
    }
    const char *name = grebe_graph_attribute(graph_of(self), is_edge != 0, (size_t)i, &a);
    if (name == NULL) {
        Py_RETURN_NONE;
    }
    PyObject *array = core_graph_array(self, &a);
    return array == NULL ? NULL : Py_BuildValue("(sN)", name, array);
}

/* feature(i) -> (domain, type or None, name, is_in_memory, JSON) */
static PyObject *graph_feature(PyObject *self, PyObject *args)
{
    Py_ssize_t i = 0;
    grebe_graph_feature f = { 0 };
    grebe_error err = GREBE_ERROR_INIT;
    if (!PyArg_ParseTuple(args, "n", &i)) {
        return NULL;
    }
    if (grebe_graph_get_feature(graph_of(self), (size_t)i, &f, &err) != GREBE_OK) {
        return core_raise(&err);
    }
    return Py_BuildValue("(szsNz)", f.domain, f.type, f.name, PyBool_FromLong(f.is_in_memory), f.metadata);
}

/* feature_values(i) -> array */
static PyObject *graph_feature_values(PyObject *self, PyObject *args)
{
    Py_ssize_t i = 0;
    grebe_graph_array a = { 0 };
    grebe_error err = GREBE_ERROR_INIT;
    if (!PyArg_ParseTuple(args, "n", &i)) {
        return NULL;
    }
    return grebe_graph_feature_values(graph_of(self), (size_t)i, &a, &err) == GREBE_OK ? core_graph_array(self, &a) : core_raise(&err);
}

/* feature_read(i, ids: contiguous int64, threads, out: contiguous, writable): rows by id into out */
static PyObject *graph_feature_read(PyObject *self, PyObject *args)
{
    Py_ssize_t i = 0;
    unsigned threads = 0;
    Py_buffer ids = { 0 }, out = { 0 };
    grebe_graph_array a = { 0 };
    grebe_error err = GREBE_ERROR_INIT;
    PyObject *result = NULL;
    if (!PyArg_ParseTuple(args, "ny*Iw*", &i, &ids, &threads, &out)) {
        return NULL;
    }
    grebe_status st = grebe_graph_feature_values(graph_of(self), (size_t)i, &a, &err);
    size_t row = a.type_bytes;
    for (uint32_t d = 1; d < a.rank; d++) {
        row *= (size_t)a.shape[d];
    }
    const int64_t n = (int64_t)(ids.len / (Py_ssize_t)sizeof(int64_t));
    if (st != GREBE_OK) {
        (void)core_raise(&err);
    } else if (ids.len % (Py_ssize_t)sizeof(int64_t) != 0 ||
               (row == 0 ? out.len != 0 : (size_t)out.len / row != (size_t)n || (size_t)out.len % row != 0)) {
        (void)core_fail_size("rows of a feature", (Py_ssize_t)(row * (size_t)n), out.len);
    } else {
        Py_BEGIN_ALLOW_THREADS
        st = grebe_graph_feature_read(graph_of(self), (size_t)i, ids.buf, n, threads, out.buf, &err);
        Py_END_ALLOW_THREADS
        result = st == GREBE_OK ? Py_NewRef(Py_None) : core_raise(&err);
    }
    PyBuffer_Release(&ids);
    PyBuffer_Release(&out);
    return result;
}

/* task(i) -> JSON, or None beyond the last */
static PyObject *graph_task(PyObject *self, PyObject *args)
{
    Py_ssize_t i = 0;
    return PyArg_ParseTuple(args, "n", &i) ? Py_BuildValue("z", grebe_graph_task_metadata(graph_of(self), (size_t)i)) : NULL;
}

/* One part of a set as a list of (name, array). */
static PyObject *set_part(PyObject *self, size_t task, grebe_graph_set set, size_t part, size_t n)
{
    PyObject *out = PyList_New(0);
    for (size_t i = 0; out != NULL && i < n; i++) {
        const char *name = NULL;
        grebe_graph_array a = { 0 };
        grebe_error err = GREBE_ERROR_INIT;
        PyObject *array = grebe_graph_set_values(graph_of(self), task, set, part, i, &name, &a, &err) == GREBE_OK ? core_graph_array(self, &a)
                                                                                                                 : core_raise(&err);
        if (!core_graph_append(out, array == NULL ? NULL : Py_BuildValue("(zN)", name, array))) {
            Py_CLEAR(out);
        }
    }
    return out;
}

/* set(task, 0 train | 1 validation | 2 test) -> [(type or None, [(name, array), …]), …] */
static PyObject *graph_set(PyObject *self, PyObject *args)
{
    Py_ssize_t task = 0;
    int set = 0;
    if (!PyArg_ParseTuple(args, "ni", &task, &set)) {
        return NULL;
    }
    const size_t n = grebe_graph_set_parts(graph_of(self), (size_t)task, (grebe_graph_set)set);
    PyObject *out = PyList_New(0);
    for (size_t part = 0; out != NULL && part < n; part++) {
        const char *type = NULL;
        size_t arrays = grebe_graph_set_part(graph_of(self), (size_t)task, (grebe_graph_set)set, part, &type);
        PyObject *values = set_part(self, (size_t)task, (grebe_graph_set)set, part, arrays);
        if (!core_graph_append(out, values == NULL ? NULL : Py_BuildValue("(zN)", type, values))) {
            Py_CLEAR(out);
        }
    }
    return out;
}

static PyMethodDef graph_methods[] = { { "info", graph_info, METH_NOARGS, NULL },
                                       { "node_types", graph_node_types, METH_NOARGS, NULL },
                                       { "edge_types", graph_edge_types, METH_NOARGS, NULL },
                                       { "edge_counts", graph_edge_counts, METH_NOARGS, NULL },
                                       { "attribute", graph_attribute, METH_VARARGS, NULL },
                                       { "feature", graph_feature, METH_VARARGS, NULL },
                                       { "feature_values", graph_feature_values, METH_VARARGS, NULL },
                                       { "feature_read", graph_feature_read, METH_VARARGS, NULL },
                                       { "spare", core_graph_spare, METH_VARARGS, NULL },
                                       { "room", core_graph_room, METH_VARARGS, NULL },
                                       { "task", graph_task, METH_VARARGS, NULL },
                                       { "set", graph_set, METH_VARARGS, NULL },
                                       { NULL, NULL, 0, NULL } };
static PyType_Slot graph_slots[] = { { Py_tp_dealloc, (void *)graph_dealloc }, { Py_tp_methods, graph_methods }, { 0, NULL } };
PyType_Spec core_graph_spec = { "grebe._core.Graph", sizeof(struct core_graph), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                graph_slots };
