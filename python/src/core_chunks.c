/* SPDX-License-Identifier: Apache-2.0 */
#include "core_table.h"

struct core_chunks {
    PyObject_HEAD
    grebe_chunks *chunks;
};

static grebe_chunks *chunks_of(PyObject *self) { return ((struct core_chunks *)self)->chunks; }

static void chunks_dealloc(PyObject *self)
{
    grebe_chunks_close(chunks_of(self));
    core_object_free(self);
}

PyObject *core_chunks_open(grebe_table *t, PyObject *args, PyObject *kwargs)
{
    static char *keywords[] = { "group", "columns", NULL };
    Py_ssize_t group = 0;
    PyObject *columns = NULL, *keep = NULL;
    const char **names = NULL;
    size_t n = 0;
    grebe_chunks *chunks = NULL;
    grebe_error err = GREBE_ERROR_INIT;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "n|O", keywords, &group, &columns)) {
        return NULL;
    }
    if (core_names(columns, &keep, &names, &n) == 0) {
        Py_BEGIN_ALLOW_THREADS
        if (grebe_chunks_open(t, group < 0 ? SIZE_MAX : (size_t)group, names, n, &chunks, &err) !=
            GREBE_OK) {
            chunks = NULL;
        }
        Py_END_ALLOW_THREADS
    }
    PyMem_Free((void *)names);
    Py_XDECREF(keep);
    if (chunks == NULL) {
        return PyErr_Occurred() ? NULL : core_raise(&err);
    }
    PyObject *self = core_object_new(core.chunks_class);
    if (self == NULL) {
        grebe_chunks_close(chunks);
        return NULL;
    }
    ((struct core_chunks *)self)->chunks = chunks;
    return self;
}

static Py_ssize_t chunks_length(PyObject *self)
{
    return chunks_of(self) == NULL ? 0 : (Py_ssize_t)grebe_chunks_count(chunks_of(self));
}

static PyObject *chunks_schema(PyObject *self, void *unused)
{
    (void)unused;
    grebe_error err = GREBE_ERROR_INIT;
    struct ArrowSchema schema = { 0 };
    grebe_status st = grebe_chunks_schema(chunks_of(self), &schema, &err);
    return st == GREBE_OK ? core_schema_new(&schema) : core_raise(&err);
}

/* _info(chunk) -> (row_begin, n_rows, memory_bytes, file) */
static PyObject *chunks_info(PyObject *self, PyObject *args)
{
    Py_ssize_t chunk = 0;
    grebe_chunk_info info;
    grebe_error err = GREBE_ERROR_INIT;
    if (!PyArg_ParseTuple(args, "n", &chunk)) {
        return NULL;
    }
    grebe_status st = grebe_chunks_info(chunks_of(self), chunk < 0 ? SIZE_MAX : (size_t)chunk,
                                        &info, &err);
    return st == GREBE_OK ? Py_BuildValue("(LLKn)", (long long)info.row_begin, (long long)info.n_rows,
                                          (unsigned long long)info.memory_bytes,
                                          (Py_ssize_t)info.file)
                          : core_raise(&err);
}

/* _of_rows(rows) -> list of int */
static PyObject *chunks_of_rows(PyObject *self, PyObject *args)
{
    PyObject *rows = NULL, *list = NULL;
    int64_t *ids = NULL;
    size_t n = 0, n_out = 0;
    grebe_error err = GREBE_ERROR_INIT;
    if (!PyArg_ParseTuple(args, "O", &rows) || core_row_ids(rows, &ids, &n) != 0) {
        return NULL;
    }
    size_t *numbers = PyMem_Calloc(n + 1, sizeof *numbers);
    grebe_status st = numbers != NULL
                          ? grebe_chunks_of_rows(chunks_of(self), ids, n, numbers, &n_out, &err)
                          : GREBE_ENOMEM;
    if (numbers == NULL) {
        PyErr_NoMemory();
    } else if (st != GREBE_OK) {
        core_raise(&err);
    } else {
        list = PyList_New((Py_ssize_t)n_out);
    }
    for (size_t i = 0; list != NULL && i < n_out; i++) {
        PyObject *v = PyLong_FromSize_t(numbers[i]);
        if (v == NULL || PyList_SetItem(list, (Py_ssize_t)i, v) != 0) {
            Py_CLEAR(list);
        }
    }
    PyMem_Free(numbers);
    PyMem_Free(ids);
    return list;
}

static PyObject *batches_of(PyObject *self, struct ArrowArray *arrays, size_t n)
{
    grebe_error err = GREBE_ERROR_INIT;
    PyObject *list = PyList_New((Py_ssize_t)n);
    for (size_t i = 0; i < n; i++) {
        struct ArrowSchema schema = { 0 };
        PyObject *batch = NULL;
        if (list != NULL && grebe_chunks_schema(chunks_of(self), &schema, &err) == GREBE_OK) {
            batch = core_batch_new(&arrays[i], &schema);
        } else {
            arrays[i].release(&arrays[i]);
            if (list != NULL) {
                core_raise(&err);
            }
        }
        if (list != NULL && (batch == NULL || PyList_SetItem(list, (Py_ssize_t)i, batch) != 0)) {
            Py_CLEAR(list);
        }
    }
    return list;
}

/* _read(numbers, threads) -> list of Batch */
static PyObject *chunks_read(PyObject *self, PyObject *args)
{
    PyObject *wanted = NULL, *list = NULL;
    int64_t *ids = NULL;
    size_t n = 0;
    int threads = 0;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_call_options call = GREBE_CALL_OPTIONS_INIT;
    grebe_status st = GREBE_OK;
    if (!PyArg_ParseTuple(args, "Oi", &wanted, &threads) || core_row_ids(wanted, &ids, &n) != 0) {
        return NULL;
    }
    size_t *numbers = PyMem_Calloc(n + 1, sizeof *numbers);
    struct ArrowArray *arrays = PyMem_Calloc(n + 1, sizeof *arrays);
    if (numbers == NULL || arrays == NULL) {
        PyErr_NoMemory();
    } else {
        for (size_t i = 0; i < n; i++) {
            numbers[i] = ids[i] < 0 ? SIZE_MAX : (size_t)ids[i];
        }
        call.threads = threads > 0 ? (uint32_t)threads : 0;
        Py_BEGIN_ALLOW_THREADS
        st = grebe_chunks_read(chunks_of(self), numbers, n, &call, arrays, &err);
        Py_END_ALLOW_THREADS
        list = st == GREBE_OK ? batches_of(self, arrays, n) : core_raise(&err);
    }
    PyMem_Free(numbers);
    PyMem_Free(arrays);
    PyMem_Free(ids);
    return list;
}

static PyMethodDef chunks_methods[] = {
    { "_info", chunks_info, METH_VARARGS, NULL },
    { "_of_rows", chunks_of_rows, METH_VARARGS, NULL },
    { "_read", chunks_read, METH_VARARGS, NULL },
    { NULL, NULL, 0, NULL }
};
static PyGetSetDef chunks_getset[] = { { "schema", chunks_schema, NULL, NULL, NULL },
                                       { NULL, NULL, NULL, NULL, NULL } };
static PyType_Slot chunks_slots[] = { { Py_tp_dealloc, (void *)chunks_dealloc },
                                      { Py_sq_length, (void *)chunks_length },
                                      { Py_tp_methods, chunks_methods },
                                      { Py_tp_getset, chunks_getset },
                                      { 0, NULL } };
PyType_Spec core_chunks_spec = { "grebe._core.Chunks", sizeof(struct core_chunks), 0,
                                 Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, chunks_slots };
