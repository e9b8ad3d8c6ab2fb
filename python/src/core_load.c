/* SPDX-License-Identifier: Apache-2.0 */
/* Where data sets come from: saved folders, files, rows, and loading, into the cache or as streams. */
#include "core_dataset.h"

/* [(name, handle), …]; frees the dict. */
static PyObject *list_of_dict(grebe_dataset_dict *dict)
{
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list != NULL && i < grebe_dataset_dict_len(dict); i++) {
        PyObject *set = core_dataset_new(grebe_dataset_keep(grebe_dataset_dict_get(dict, i)));
        PyObject *pair = set != NULL ? Py_BuildValue("(sN)", grebe_dataset_dict_name(dict, i), set) : NULL;
        if (pair == NULL || PyList_Append(list, pair) != 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(pair);
    }
    grebe_dataset_dict_free(dict);
    return list;
}

/* dataset_from_disk(path, keep_in_memory) -> [(split or "", handle)] */
PyObject *core_dataset_from_disk(PyObject *self, PyObject *args)
{
    const char *path = NULL;
    int in_memory = 0;
    grebe_dataset_open_options o = GREBE_DATASET_OPEN_OPTIONS_INIT;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_dataset_dict *dict = NULL;
    grebe_status st = GREBE_OK;
    (void)self;
    if (!PyArg_ParseTuple(args, "sp", &path, &in_memory)) {
        return NULL;
    }
    o.keep_in_memory = in_memory != 0;
    Py_BEGIN_ALLOW_THREADS
    st = grebe_dataset_load_from_disk(core.ctx, path, &o, &dict, &err);
    Py_END_ALLOW_THREADS
    return st == GREBE_OK ? list_of_dict(dict) : core_raise(&err);
}

/* dataset_of_files(paths, keep_in_memory) */
PyObject *core_dataset_of_files(PyObject *self, PyObject *args)
{
    PyObject *paths = NULL, *keep = NULL;
    int in_memory = 0;
    const char **names = NULL;
    size_t n = 0;
    grebe_dataset_open_options o = GREBE_DATASET_OPEN_OPTIONS_INIT;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_dataset *ds = NULL;
    grebe_status st = GREBE_OK;
    (void)self;
    if (!PyArg_ParseTuple(args, "Op", &paths, &in_memory) || core_names(paths, &keep, &names, &n) != 0) {
        return NULL;
    }
    o.keep_in_memory = in_memory != 0;
    Py_BEGIN_ALLOW_THREADS
    st = grebe_dataset_of_files(core.ctx, names, n, &o, &ds, &err);
    Py_END_ALLOW_THREADS
    PyMem_Free((void *)names);
    Py_XDECREF(keep);
    return st == GREBE_OK ? core_dataset_new(ds) : core_raise(&err);
}

/* dataset_of_rows(rows, features or None) */
PyObject *core_dataset_of_rows(PyObject *self, PyObject *args)
{
    PyObject *rows = NULL;
    const char *features = NULL;
    struct ArrowArrayStream stream;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_dataset *ds = NULL;
    grebe_status st = GREBE_OK;
    (void)self;
    if (!PyArg_ParseTuple(args, "Oz", &rows, &features) || core_import_stream(rows, &stream) != 0) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    st = grebe_dataset_of_rows(core.ctx, &stream, features, &ds, &err);
    Py_END_ALLOW_THREADS
    return st == GREBE_OK ? core_dataset_new(ds) : core_raise_function(&err);
}

/* dataset_unpack(bytes) */
PyObject *core_dataset_unpack(PyObject *self, PyObject *args)
{
    const char *bytes = NULL;
    Py_ssize_t len = 0;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_dataset *ds = NULL;
    grebe_status st = GREBE_OK;
    (void)self;
    if (!PyArg_ParseTuple(args, "y#", &bytes, &len)) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    st = grebe_dataset_unpack(core.ctx, bytes, (size_t)len, &ds, &err);
    Py_END_ALLOW_THREADS
    return st == GREBE_OK ? core_dataset_new(ds) : core_raise(&err);
}

/* Load options from a dict of texts and flags. */
static int load_options(PyObject *d, grebe_load_options *o, struct core_call *call)
{
    PyObject *bytes = PyDict_GetItemString(d, "max_shard_bytes"), *jobs = PyDict_GetItemString(d, "n_jobs");
    *o = (grebe_load_options)GREBE_LOAD_OPTIONS_INIT;
    if (!core_text(PyDict_GetItemString(d, "config"), &o->config) || !core_text(PyDict_GetItemString(d, "data_dir"), &o->data_dir) ||
        !core_text(PyDict_GetItemString(d, "data_files"), &o->data_files) || !core_text(PyDict_GetItemString(d, "split"), &o->split) ||
        !core_text(PyDict_GetItemString(d, "cache_dir"), &o->cache_dir) ||
        !core_text(PyDict_GetItemString(d, "features"), &o->features) ||
        !core_text(PyDict_GetItemString(d, "format_options"), &o->format_options)) {
        return -1;
    }
    o->mode = PyDict_GetItemString(d, "again") == Py_True ? GREBE_LOAD_AGAIN : GREBE_LOAD_REUSE;
    o->skip_verification = PyDict_GetItemString(d, "skip_verification") == Py_True;
    o->keep_in_memory = PyDict_GetItemString(d, "keep_in_memory") == Py_True;
    o->max_shard_bytes = bytes != NULL && bytes != Py_None ? PyLong_AsLongLong(bytes) : 0;
    o->n_jobs = jobs != NULL && jobs != Py_None ? (int32_t)PyLong_AsLong(jobs) : 0;
    if (PyErr_Occurred() || core_call_begin(d, call) != 0) {
        return -1;
    }
    o->call = &call->o;
    return 0;
}

/* dataset_load(path, options) -> [(split, handle)] */
PyObject *core_dataset_load(PyObject *self, PyObject *args)
{
    const char *path = NULL;
    PyObject *options = NULL;
    grebe_load_options o;
    struct core_call call;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_dataset_dict *dict = NULL;
    grebe_status st = GREBE_OK;
    (void)self;
    if (!PyArg_ParseTuple(args, "sO!", &path, &PyDict_Type, &options) || load_options(options, &o, &call) != 0) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    st = grebe_dataset_load(core.ctx, path, &o, &dict, &err);
    Py_END_ALLOW_THREADS
    core_call_end(&call);
    return st == GREBE_OK ? list_of_dict(dict) : core_raise(&err);
}

/* iterable_load(path, options) -> [(split, handle)] */
PyObject *core_iterable_load(PyObject *self, PyObject *args)
{
    const char *path = NULL;
    PyObject *options = NULL;
    grebe_load_options o;
    struct core_call call;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_iterable_dict *dict = NULL;
    grebe_status st = GREBE_OK;
    (void)self;
    if (!PyArg_ParseTuple(args, "sO!", &path, &PyDict_Type, &options) || load_options(options, &o, &call) != 0) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    st = grebe_iterable_load(core.ctx, path, &o, &dict, &err);
    Py_END_ALLOW_THREADS
    core_call_end(&call);
    if (st != GREBE_OK) {
        return core_raise(&err);
    }
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list != NULL && i < grebe_iterable_dict_len(dict); i++) {
        PyObject *it = core_iterable_new(grebe_iterable_keep(grebe_iterable_dict_get(dict, i)));
        PyObject *pair = it != NULL ? Py_BuildValue("(sN)", grebe_iterable_dict_name(dict, i), it) : NULL;
        if (pair == NULL || PyList_Append(list, pair) != 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(pair);
    }
    grebe_iterable_dict_free(dict);
    return list;
}
