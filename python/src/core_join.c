/* SPDX-License-Identifier: Apache-2.0 */
/* Several data sets, or several streams, as one. */
#include "core_dataset.h"

/* Handle i of an array from an object; false with TypeError. */
typedef bool (*put_fn)(PyObject *object, void *handles, size_t i);

static bool put_dataset(PyObject *object, void *handles, size_t i)
{
    const grebe_dataset **sets = handles;
    sets[i] = core_dataset_of(object);
    return sets[i] != NULL;
}

static bool put_iterable(PyObject *object, void *handles, size_t i)
{
    const grebe_iterable **its = handles;
    its[i] = core_iterable_of(object);
    return its[i] != NULL;
}

/* What is joined, and how. */
struct join {
    void *handles; /* as put wrote them, shape [n] */
    size_t n;
    int how; /* the axis, or when to stop */
    grebe_seed seed;
    const double *probabilities; /* shape [n], or NULL */
    Py_buffer view;              /* that they lie in */
};

static void join_end(struct join *j)
{
    if (j->view.obj != NULL) {
        PyBuffer_Release(&j->view);
    }
    PyMem_Free(j->handles);
}

static int take_handles(PyObject *list, put_fn put, struct join *j)
{
    j->n = (size_t)PyList_Size(list);
    j->handles = PyMem_Calloc(j->n + 1, sizeof(void *));
    if (j->handles == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (size_t i = 0; i < j->n; i++) {
        if (!put(PyList_GetItem(list, (Py_ssize_t)i), j->handles, i)) {
            return -1;
        }
    }
    return 0;
}

/* ([handle, …], axis). 0, or -1; join_end() in both cases. */
static int concatenate_args(PyObject *args, put_fn put, struct join *j)
{
    PyObject *list = NULL;
    memset(j, 0, sizeof *j);
    return PyArg_ParseTuple(args, "O!i", &PyList_Type, &list, &j->how) ? take_handles(list, put, j) : -1;
}

/* ([handle, …], probabilities (buffer of doubles) or None, seed, stop). 0, or -1; join_end() in both cases. */
static int interleave_args(PyObject *args, put_fn put, const char *what, struct join *j)
{
    PyObject *list = NULL, *weights = NULL, *words = NULL;
    memset(j, 0, sizeof *j);
    if (!PyArg_ParseTuple(args, "O!OOi", &PyList_Type, &list, &weights, &words, &j->how) || core_seed(words, &j->seed) != 0 ||
        (weights != Py_None && PyObject_GetBuffer(weights, &j->view, PyBUF_C_CONTIGUOUS) != 0) ||
        take_handles(list, put, j) != 0) {
        return -1;
    }
    if (weights != Py_None && j->view.len != (Py_ssize_t)(j->n * sizeof(double))) {
        PyErr_Format(PyExc_ValueError, "probabilities: expected %zu, one for each %s, found %zd", j->n, what, j->view.len / 8);
        return -1;
    }
    j->probabilities = weights != Py_None ? j->view.buf : NULL;
    return 0;
}

/* dataset_concatenate([handle, …], axis) */
PyObject *core_dataset_concatenate(PyObject *self, PyObject *args)
{
    struct join j;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_dataset *out = NULL;
    grebe_status st = GREBE_EINVAL;
    (void)self;
    if (concatenate_args(args, put_dataset, &j) == 0) {
        Py_BEGIN_ALLOW_THREADS
        st = grebe_dataset_concatenate(j.handles, j.n, j.how, &out, &err);
        Py_END_ALLOW_THREADS
    }
    join_end(&j);
    return st == GREBE_OK ? core_dataset_new(out) : core_raise(&err);
}

/* dataset_interleave([handle, …], probabilities, seed, stop) */
PyObject *core_dataset_interleave(PyObject *self, PyObject *args)
{
    struct join j;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_dataset *out = NULL;
    grebe_status st = GREBE_EINVAL;
    (void)self;
    if (interleave_args(args, put_dataset, "data set", &j) == 0) {
        Py_BEGIN_ALLOW_THREADS
        st = grebe_dataset_interleave(j.handles, j.n, j.probabilities, j.seed, (grebe_stop)j.how, &out, &err);
        Py_END_ALLOW_THREADS
    }
    join_end(&j);
    return st == GREBE_OK ? core_dataset_new(out) : core_raise(&err);
}

/* iterable_concatenate([handle, …], axis) */
PyObject *core_iterable_concatenate(PyObject *self, PyObject *args)
{
    struct join j;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_iterable *out = NULL;
    grebe_status st = GREBE_EINVAL;
    (void)self;
    if (concatenate_args(args, put_iterable, &j) == 0) {
        st = grebe_iterable_concatenate(j.handles, j.n, j.how, &out, &err);
    }
    join_end(&j);
    return st == GREBE_OK ? core_iterable_new(out) : core_raise(&err);
}

/* iterable_interleave([handle, …], probabilities, seed, stop) */
PyObject *core_iterable_interleave(PyObject *self, PyObject *args)
{
    struct join j;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_iterable *out = NULL;
    grebe_status st = GREBE_EINVAL;
    (void)self;
    if (interleave_args(args, put_iterable, "stream", &j) == 0) {
        st = grebe_iterable_interleave(j.handles, j.n, j.probabilities, j.seed, (grebe_stop)j.how, &out, &err);
    }
    join_end(&j);
    return st == GREBE_OK ? core_iterable_new(out) : core_raise(&err);
}
