/* SPDX-License-Identifier: Apache-2.0 */
#include "core_dataset.h"

struct core_state core;

/* register(error_classes, Table, Stream, Batch, Schema, Chunks, value_out, values_in): the Python classes that results have, and
 * the functions that times and decimals go through. */
static PyObject *core_register(PyObject *self, PyObject *args)
{
    PyObject *errors, *table, *stream, *batch, *schema, *chunks, *value_out, *values_in;
    (void)self;
    if (!PyArg_ParseTuple(args, "O!OOOOOOO", &PyDict_Type, &errors, &table, &stream, &batch, &schema,
                          &chunks, &value_out, &values_in)) {
        return NULL;
    }
    core.error_classes = Py_NewRef(errors);
    core.table_class = Py_NewRef(table);
    core.stream_class = Py_NewRef(stream);
    core.batch_class = Py_NewRef(batch);
    core.schema_class = Py_NewRef(schema);
    core.chunks_class = Py_NewRef(chunks);
    core.value_out = Py_NewRef(value_out);
    core.values_in = Py_NewRef(values_in);
    Py_RETURN_NONE;
}

static PyObject *core_set_threads(PyObject *self, PyObject *args)
{
    enum { THREADS_MAX = 256 };
    Py_ssize_t n = 0;
    (void)self;
    if (!PyArg_ParseTuple(args, "n", &n)) {
        return NULL;
    }
    if (n < 0 || n > THREADS_MAX) {
        PyErr_Format(PyExc_ValueError, "threads: expected a number from 0 to %d, found %zd", THREADS_MAX, n);
        return NULL;
    }
    grebe_context_set_threads(core.ctx, (uint32_t)n);
    Py_RETURN_NONE;
}

static PyObject *core_stream_from(PyObject *self, PyObject *object)
{
    struct ArrowArrayStream stream;
    (void)self;
    return core_import_stream(object, &stream) == 0 ? core_stream_new(&stream) : NULL;
}

static PyObject *core_build_info(PyObject *self, PyObject *unused)
{
    (void)self;
    (void)unused;
    return PyUnicode_FromString(grebe_build_info());
}

#define KW(fn) ((PyCFunction)(void (*)(void))(fn))
static PyMethodDef methods[] = {
    { "register", core_register, METH_VARARGS, NULL },
    { "open", KW(core_table_open), METH_VARARGS | METH_KEYWORDS, NULL },
    { "create", KW(core_table_create), METH_VARARGS | METH_KEYWORDS, NULL },
    { "read", KW(core_read), METH_VARARGS | METH_KEYWORDS, NULL },
    { "write", KW(core_write), METH_VARARGS | METH_KEYWORDS, NULL },
    { "import_files", core_import_files, METH_VARARGS, NULL },
    { "open_packed", core_open_packed, METH_VARARGS, NULL },
    { "write_packed", core_write_packed, METH_VARARGS, NULL },
    { "stream_from", core_stream_from, METH_O, NULL },
    { "cast", core_cast, METH_VARARGS, NULL },
    { "batch_from_columns", core_batch_from_columns, METH_VARARGS, NULL },
    { "batch_slice", core_batch_slice, METH_VARARGS, NULL },
    { "open_vdb", core_vdb_open, METH_VARARGS, NULL },
    { "search_table", core_table_search, METH_VARARGS, NULL },
    { "build_index", core_table_build_index, METH_VARARGS, NULL },
    { "drop_index", core_table_drop_index, METH_VARARGS, NULL },
    { "new_index", core_index_make, METH_VARARGS, NULL },
    { "open_index", core_index_open, METH_VARARGS, NULL },
    { "ann_read", core_ann_read, METH_VARARGS, NULL },
    { "ann_check", core_ann_check, METH_VARARGS, NULL },
    { "ann_write", core_ann_write, METH_VARARGS, NULL },
    { "ann_groundtruth", core_ann_groundtruth, METH_VARARGS, NULL },
    { "ann_evaluate", core_ann_evaluate, METH_VARARGS, NULL },
    { "ann_evaluate_file", core_ann_evaluate_file, METH_VARARGS, NULL },
    { "ann_run", core_ann_run, METH_VARARGS, NULL },
    { "ann_plot", core_ann_plot, METH_VARARGS, NULL },
    { "dataset_of_files", core_dataset_of_files, METH_VARARGS, NULL },
    { "dataset_of_rows", core_dataset_of_rows, METH_VARARGS, NULL },
    { "dataset_from_disk", core_dataset_from_disk, METH_VARARGS, NULL },
    { "dataset_load", core_dataset_load, METH_VARARGS, NULL },
    { "dataset_concatenate", core_dataset_concatenate, METH_VARARGS, NULL },
    { "dataset_interleave", core_dataset_interleave, METH_VARARGS, NULL },
    { "dataset_save_dict", core_dataset_save_dict, METH_VARARGS, NULL },
    { "dataset_unpack", core_dataset_unpack, METH_VARARGS, NULL },
    { "fingerprint", core_fingerprint, METH_VARARGS, NULL },
    { "fingerprint_value", core_fingerprint_value, METH_VARARGS, NULL },
    { "cache_list", core_cache_list, METH_VARARGS, NULL },
    { "cache_remove", core_cache_remove, METH_VARARGS, NULL },
    { "iterable_load", core_iterable_load, METH_VARARGS, NULL },
    { "iterable_of_dataset", core_iterable_of_dataset, METH_VARARGS, NULL },
    { "iterable_of_function", core_iterable_of_function, METH_VARARGS, NULL },
    { "iterable_concatenate", core_iterable_concatenate, METH_VARARGS, NULL },
    { "iterable_interleave", core_iterable_interleave, METH_VARARGS, NULL },
    { "stream_of_batches", core_stream_of_batches, METH_VARARGS, NULL },
    { "graph_check", core_graph_check, METH_VARARGS, NULL },
    { "graph_preprocess", core_graph_preprocess, METH_VARARGS, NULL },
    { "graph_init", core_graph_init, METH_VARARGS, NULL },
    { "graph_export", core_graph_export, METH_VARARGS, NULL },
    { "graph_open", core_graph_open, METH_VARARGS, NULL },
    { "graph_sampler", core_graph_sampler, METH_VARARGS, NULL },
    { "graph_loader", core_graph_loader, METH_VARARGS, NULL },
    { "graph_negatives", core_graph_negatives, METH_VARARGS, NULL },
    { "set_threads", core_set_threads, METH_VARARGS, NULL },
    { "build_info", core_build_info, METH_NOARGS, NULL },
    { NULL, NULL, 0, NULL }
};

static int add_type(PyObject *module, const char *name, PyType_Spec *spec, PyObject **keep)
{
    PyObject *type = PyType_FromSpec(spec);
    if (type == NULL || PyModule_AddObjectRef(module, name, type) != 0) {
        Py_XDECREF(type);
        return -1;
    }
    *keep = type;
    return 0;
}

static struct PyModuleDef definition = { PyModuleDef_HEAD_INIT, "grebe._core", NULL, -1, methods,
                                         NULL, NULL, NULL, NULL };

PyMODINIT_FUNC PyInit__core(void);

PyMODINIT_FUNC PyInit__core(void)
{
    grebe_error err = GREBE_ERROR_INIT;
    PyObject *module = PyModule_Create(&definition);
    if (module == NULL) {
        return NULL;
    }
    if (core.ctx == NULL && grebe_context_new(NULL, &core.ctx, &err) != GREBE_OK) {
        PyErr_SetString(PyExc_MemoryError, err.message);
        Py_DECREF(module);
        return NULL;
    }
    core_dataset_methods();
    if (add_type(module, "Table", &core_table_spec, &core.table_class) != 0 ||
        add_type(module, "Stream", &core_stream_spec, &core.stream_class) != 0 ||
        add_type(module, "Batch", &core_batch_spec, &core.batch_class) != 0 ||
        add_type(module, "Schema", &core_schema_spec, &core.schema_class) != 0 ||
        add_type(module, "Txn", &core_txn_spec, &core.txn_class) != 0 ||
        add_type(module, "Chunks", &core_chunks_spec, &core.chunks_class) != 0 ||
        add_type(module, "Column", &core_column_spec, &core.column_class) != 0 ||
        add_type(module, "Vdb", &core_vdb_spec, &core.vdb_class) != 0 ||
        add_type(module, "VdbResult", &core_vdb_result_spec, &core.vdb_result_class) != 0 ||
        add_type(module, "Index", &core_index_spec, &core.index_class) != 0 ||
        add_type(module, "Dataset", &core_dataset_spec, &core.dataset_class) != 0 ||
        add_type(module, "Iterable", &core_iterable_spec, &core.iterable_class) != 0 ||
        add_type(module, "Iterator", &core_iterator_spec, &core.iterator_class) != 0 ||
        add_type(module, "Graph", &core_graph_spec, &core.graph_class) != 0 ||
        add_type(module, "GraphArray", &core_graph_array_spec, &core.graph_array_class) != 0 ||
        add_type(module, "GraphSampler", &core_graph_sampler_spec, &core.graph_sampler_class) != 0 ||
        add_type(module, "GraphBatch", &core_graph_batch_spec, &core.graph_batch_class) != 0 ||
        add_type(module, "GraphRoom", &core_graph_room_spec, &core.graph_room_class) != 0 ||
        add_type(module, "GraphLoader", &core_graph_loader_spec, &core.graph_loader_class) != 0 ||
        add_type(module, "Numbers", &core_numbers_spec, &core.numbers_class) != 0 ||
        PyModule_AddStringConstant(module, "version", grebe_version()) != 0) {
        Py_DECREF(module);
        return NULL;
    }
    return module;
}
