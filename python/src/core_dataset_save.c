/* SPDX-License-Identifier: Apache-2.0 */
/* Data sets as folders that they are loaded from again. */
#include "core_dataset.h"

/* max_shard_bytes, n_shards, durable of a dict */
static int save_options(PyObject *d, grebe_save_options *o, struct core_call *call)
{
    PyObject *bytes = PyDict_GetItemString(d, "max_shard_bytes"), *shards = PyDict_GetItemString(d, "n_shards");
    *o = (grebe_save_options)GREBE_SAVE_OPTIONS_INIT;
    o->max_shard_bytes = bytes != NULL && bytes != Py_None ? PyLong_AsLongLong(bytes) : 0;
    o->n_shards = shards != NULL && shards != Py_None ? PyLong_AsLongLong(shards) : 0;
    o->is_durable = PyDict_GetItemString(d, "durable") == Py_True;
    o->call = &call->o;
    return PyErr_Occurred() ? -1 : core_call_begin(d, call);
}

/* save(path, options) */
PyObject *core_dataset_save(PyObject *self, PyObject *args)
{
    const char *path = NULL;
    PyObject *options = NULL;
    grebe_save_options o;
    struct core_call call;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_status st = GREBE_OK;
    if (!PyArg_ParseTuple(args, "sO!", &path, &PyDict_Type, &options) || save_options(options, &o, &call) != 0) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    st = grebe_dataset_save_to_disk(((struct core_dataset *)self)->ds, path, &o, &err);
    Py_END_ALLOW_THREADS
    core_call_end(&call);
    if (st != GREBE_OK) {
        return core_raise(&err);
    }
    Py_RETURN_NONE;
}

/* dataset_save_dict([(name, handle), …], path, options) */
PyObject *core_dataset_save_dict(PyObject *self, PyObject *args)
{
    PyObject *pairs = NULL, *options = NULL;
    const char *path = NULL;
    grebe_save_options o;
    struct core_call call;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_status st = GREBE_OK;
    (void)self;
    if (!PyArg_ParseTuple(args, "O!sO!", &PyList_Type, &pairs, &path, &PyDict_Type, &options)) {
        return NULL;
    }
    Py_ssize_t n = PyList_Size(pairs);
    const char **names = PyMem_Calloc((size_t)n + 1, sizeof *names);
    const grebe_dataset **sets = PyMem_Calloc((size_t)n + 1, sizeof *sets);
    bool is_good = names != NULL && sets != NULL;
    for (Py_ssize_t i = 0; is_good && i < n; i++) {
        PyObject *handle = NULL;
        is_good = PyArg_ParseTuple(PyList_GetItem(pairs, i), "sO", &names[i], &handle) &&
                  (sets[i] = core_dataset_of(handle)) != NULL;
    }
    if (is_good && save_options(options, &o, &call) == 0) {
        Py_BEGIN_ALLOW_THREADS
        st = grebe_dataset_save_dict(names, sets, (size_t)n, path, &o, &err);
        Py_END_ALLOW_THREADS
        core_call_end(&call);
    }
    PyMem_Free((void *)names);
    PyMem_Free((void *)sets);
    if (PyErr_Occurred()) {
        return NULL;
    }
    if (st != GREBE_OK) {
        return core_raise(&err);
    }
    Py_RETURN_NONE;
}
