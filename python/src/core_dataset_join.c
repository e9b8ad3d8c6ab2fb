/* SPDX-License-Identifier: Apache-2.0 */
/* Several data sets as one. */
#include "core_dataset.h"

/* Handles of a list. NULL with an exception; free with PyMem_Free. */
static const grebe_dataset **take_sets(PyObject *list, size_t *n)
{
    *n = (size_t)PyList_Size(list);
    const grebe_dataset **sets = PyMem_Calloc(*n + 1, sizeof *sets);
    for (size_t i = 0; sets != NULL && i < *n; i++) {
        sets[i] = core_dataset_of(PyList_GetItem(list, (Py_ssize_t)i));
        if (sets[i] == NULL) {
            PyMem_Free((void *)sets);
            return NULL;
        }
    }
    return sets;
}

/* dataset_concatenate([handle, …], axis) */
PyObject *core_dataset_concatenate(PyObject *self, PyObject *args)
{
    PyObject *list = NULL;
    int axis = 0;
    size_t n = 0;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_dataset *out = NULL;
    grebe_status st = GREBE_OK;
    (void)self;
    if (!PyArg_ParseTuple(args, "O!i", &PyList_Type, &list, &axis)) {
        return NULL;
    }
    const grebe_dataset **sets = take_sets(list, &n);
    if (sets == NULL) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    st = grebe_dataset_concatenate(sets, n, axis, &out, &err);
    Py_END_ALLOW_THREADS
    PyMem_Free((void *)sets);
    return st == GREBE_OK ? core_dataset_new(out) : core_raise(&err);
}

/* dataset_interleave([handle, …], probabilities (buffer of doubles) or None, seed, stop) */
PyObject *core_dataset_interleave(PyObject *self, PyObject *args)
{
    PyObject *list = NULL, *weights = NULL, *words = NULL;
    int stop = 0;
    size_t n = 0;
    grebe_seed seed;
    Py_buffer view = { 0 };
    grebe_error err = GREBE_ERROR_INIT;
    grebe_dataset *out = NULL;
    grebe_status st = GREBE_OK;
    (void)self;
    if (!PyArg_ParseTuple(args, "O!OOi", &PyList_Type, &list, &weights, &words, &stop) || core_seed(words, &seed) != 0) {
        return NULL;
    }
    if (weights != Py_None && PyObject_GetBuffer(weights, &view, PyBUF_C_CONTIGUOUS) != 0) {
        return NULL;
    }
    const grebe_dataset **sets = take_sets(list, &n);
    if (sets != NULL && weights != Py_None && view.len != (Py_ssize_t)(n * sizeof(double))) {
        PyErr_Format(PyExc_ValueError, "probabilities: expected %zu, one for each data set, found %zd", n, view.len / 8);
    } else if (sets != NULL) {
        Py_BEGIN_ALLOW_THREADS
        st = grebe_dataset_interleave(sets, n, weights != Py_None ? view.buf : NULL, seed, (grebe_stop)stop, &out, &err);
        Py_END_ALLOW_THREADS
    }
    if (weights != Py_None) {
        PyBuffer_Release(&view);
    }
    PyMem_Free((void *)sets);
    if (PyErr_Occurred()) {
        return NULL;
    }
    return st == GREBE_OK ? core_dataset_new(out) : core_raise(&err);
}
