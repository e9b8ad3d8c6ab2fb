/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of vectors as Python gives them: buffers, borrowed for a call. */
#include "core.h"

#include <string.h>

void core_rows_release(struct core_rows *r)
{
    for (int i = 0; i < r->n_views; i++) {
        PyBuffer_Release(&r->views[i]);
    }
    r->n_views = 0;
}

static int take_view(struct core_rows *r, PyObject *object)
{
    if (PyObject_GetBuffer(object, &r->views[r->n_views], PyBUF_C_CONTIGUOUS) != 0) {
        return -1;
    }
    r->n_views++;
    return 0;
}

int core_fail_size(const char *what, Py_ssize_t expected, Py_ssize_t found)
{
    PyErr_Format(PyExc_ValueError, "%s: expected %zd bytes, found %zd", what, expected, found);
    return -1;
}

static int dense_rows(PyObject *tuple, struct core_rows *out)
{
    PyObject *data = NULL;
    int elem = 0;
    Py_ssize_t rows = 0, dim = 0;
    static const uint8_t bits_of[] = { 32, 16, 16, 8, 8, 1, 64 };
    if (!PyArg_ParseTuple(tuple, "Oinn", &data, &elem, &rows, &dim) || take_view(out, data) != 0) {
        return -1;
    }
    if (elem < 0 || elem >= (int)sizeof bits_of || rows < 0 || dim < 0 || dim > UINT32_MAX) {
        PyErr_SetString(PyExc_ValueError, "vectors: expected an element type, rows and components");
        return -1;
    }
    Py_ssize_t row = (dim * bits_of[elem] + 7) / 8, bytes = 0;
    if (__builtin_mul_overflow(rows, row, &bytes) || out->views[0].len != bytes) {
        return core_fail_size("vectors", bytes, out->views[0].len);
    }
    out->v.elem = (grebe_elem)elem;
    out->v.rows = (uint64_t)rows;
    out->v.dim = (uint32_t)dim;
    out->v.data = out->views[0].buf;
    return 0;
}

static int sparse_rows(PyObject *tuple, struct core_rows *out)
{
    PyObject *offsets = NULL, *terms = NULL, *values = NULL;
    if (!PyArg_ParseTuple(tuple, "OOO", &offsets, &terms, &values) || take_view(out, offsets) != 0 ||
        take_view(out, terms) != 0 || take_view(out, values) != 0) {
        return -1;
    }
    Py_ssize_t n = out->views[0].len / 8;
    if (n == 0 || out->views[0].itemsize != 8 || out->views[1].itemsize != 4 || out->views[2].itemsize != 4) {
        PyErr_SetString(PyExc_ValueError, "sparse rows: expected (int64 offsets, uint32 terms, float32 values)");
        return -1;
    }
    out->v.offsets = out->views[0].buf;
    Py_ssize_t last = (Py_ssize_t)out->v.offsets[n - 1];
    if (out->views[1].len / 4 < last || out->views[2].len / 4 < last) {
        return core_fail_size("sparse rows", last * 4, out->views[1].len);
    }
    out->v.rows = (uint64_t)(n - 1);
    out->v.terms = out->views[1].buf;
    out->v.values = out->views[2].buf;
    return 0;
}

int core_rows_take(PyObject *tuple, struct core_rows *out)
{
    memset(out, 0, sizeof *out);
    out->v = (grebe_vectors)GREBE_VECTORS_INIT;
    if (!PyTuple_Check(tuple)) {
        PyErr_SetString(PyExc_TypeError, "vectors: expected a tuple");
        return -1;
    }
    int bad = PyTuple_Size(tuple) == 4 ? dense_rows(tuple, out) : sparse_rows(tuple, out);
    if (bad != 0) {
        core_rows_release(out);
    }
    return bad;
}
