/* SPDX-License-Identifier: Apache-2.0 */
#include "core.h"

#include <string.h>

int core_names(PyObject *object, PyObject **keep, const char ***names, size_t *n)
{
    *keep = NULL;
    *names = NULL;
    *n = 0;
    if (object == NULL || object == Py_None) {
        return 0;
    }
    if (PyUnicode_Check(object)) {
        PyErr_SetString(PyExc_TypeError, "expected a sequence of column names, found a single str");
        return -1;
    }
    PyObject *list = PySequence_List(object);
    if (list == NULL) {
        return -1;
    }
    Py_ssize_t len = PyList_Size(list);
    const char **out = PyMem_Calloc((size_t)len + 1, sizeof *out);
    if (out == NULL) {
        Py_DECREF(list);
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < len; i++) {
        PyObject *item = PyList_GetItem(list, i);
        Py_ssize_t n_bytes = 0;
        out[i] = PyUnicode_Check(item) ? PyUnicode_AsUTF8AndSize(item, &n_bytes) : NULL;
        if (out[i] != NULL && strlen(out[i]) != (size_t)n_bytes) {
            PyErr_SetString(PyExc_ValueError, "embedded null character");
            out[i] = NULL;
        }
        if (out[i] == NULL) {
            if (!PyErr_Occurred()) {
                PyErr_Format(PyExc_TypeError, "expected column names (str), found %R", item);
            }
            PyMem_Free((void *)out);
            Py_DECREF(list);
            return -1;
        }
    }
    *keep = list;
    *names = out;
    *n = (size_t)len;
    return 0;
}

/* One integer of a buffer by its struct code. False: not an integer type. */
static bool read_integer(const char *format, Py_ssize_t size, const void *p, int64_t *out)
{
    while (*format == '@' || *format == '=' || *format == '<') {
        format++;
    }
    if (format[0] == '\0' || format[1] != '\0') {
        return false;
    }
    bool is_signed = strchr("bhilqn", format[0]) != NULL;
    if (!is_signed && strchr("BHILQN", format[0]) == NULL) {
        return false;
    }
    if (size == 8) {
        uint64_t v;
        memcpy(&v, p, 8);
        /* Beyond int64 no row id exists; INT64_MAX is out of range in any table and says so. */
        *out = is_signed || v <= INT64_MAX ? (int64_t)v : INT64_MAX;
    } else if (size == 4) {
        uint32_t v;
        memcpy(&v, p, 4);
        *out = is_signed ? (int64_t)(int32_t)v : (int64_t)v;
    } else if (size == 2) {
        uint16_t v;
        memcpy(&v, p, 2);
        *out = is_signed ? (int64_t)(int16_t)v : (int64_t)v;
    } else {
        uint8_t v;
        memcpy(&v, p, 1);
        *out = is_signed ? (int64_t)(int8_t)v : (int64_t)v;
    }
    return true;
}

/* 1: done, 0: not a buffer of integers, -1: exception. */
static int ids_from_buffer(PyObject *object, int64_t **ids, size_t *n)
{
    Py_buffer view;
    if (PyObject_GetBuffer(object, &view, PyBUF_FORMAT | PyBUF_STRIDED_RO) != 0) {
        PyErr_Clear();
        return 0;
    }
    int64_t dummy = 0;
    int result = 0;
    const char *format = view.format != NULL ? view.format : "B";
    char zero[8] = { 0 };
    if (view.ndim == 1 && read_integer(format, view.itemsize, zero, &dummy)) {
        size_t len = (size_t)view.shape[0];
        Py_ssize_t stride = view.strides != NULL ? view.strides[0] : view.itemsize;
        int64_t *out = PyMem_Malloc((len + 1) * sizeof *out);
        result = out != NULL ? 1 : -1;
        if (out == NULL) {
            PyErr_NoMemory();
        } else if (view.itemsize == 8 && stride == 8 && strchr(format, 'Q') == NULL &&
                   strchr(format, 'L') == NULL && strchr(format, 'N') == NULL) {
            memcpy(out, view.buf, len * 8);
        } else {
            for (size_t i = 0; i < len; i++) {
                read_integer(format, view.itemsize, (const char *)view.buf + (Py_ssize_t)i * stride,
                             &out[i]);
            }
        }
        *ids = out;
        *n = len;
    }
    PyBuffer_Release(&view);
    return result;
}

int core_row_ids(PyObject *object, int64_t **ids, size_t *n)
{
    *ids = NULL;
    *n = 0;
    int done = PyObject_CheckBuffer(object) ? ids_from_buffer(object, ids, n) : 0;
    if (done != 0) {
        return done < 0 ? -1 : 0;
    }
    PyObject *list = NULL;
    if (PyObject_HasAttrString(object, "to_numpy")) {
        /* pyarrow, pandas and polars: their own conversion, then the buffer */
        PyObject *array = PyObject_CallMethod(object, "to_numpy", NULL);
        if (array == NULL) {
            return -1;
        }
        done = PyObject_CheckBuffer(array) ? ids_from_buffer(array, ids, n) : 0;
        Py_DECREF(array);
        if (done != 0) {
            return done < 0 ? -1 : 0;
        }
    }
    list = PySequence_List(object);
    if (list == NULL) {
        return -1;
    }
    Py_ssize_t len = PyList_Size(list);
    int64_t *out = PyMem_Malloc(((size_t)len + 1) * sizeof *out);
    if (out == NULL) {
        Py_DECREF(list);
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < len; i++) {
        int overflow = 0;
        PyObject *item = PyList_GetItem(list, i);
        if (PyBool_Check(item)) { /* a mask is no list of rows: 0 and 1 would be read again and again */
            PyErr_SetString(PyExc_TypeError, "expected row numbers, found bool");
            PyMem_Free(out);
            Py_DECREF(list);
            return -1;
        }
        PyObject *index = PyNumber_Index(item);
        long long v = index != NULL ? PyLong_AsLongLongAndOverflow(index, &overflow) : -1;
        Py_XDECREF(index);
        if (v == -1 && PyErr_Occurred()) {
            PyMem_Free(out);
            Py_DECREF(list);
            return -1;
        }
        out[i] = overflow > 0 ? INT64_MAX : overflow < 0 ? INT64_MIN : v;
    }
    Py_DECREF(list);
    *ids = out;
    *n = (size_t)len;
    return 0;
}

static int range_part(PyObject *value, int64_t missing, int64_t *out)
{
    if (value == NULL || value == Py_None) {
        *out = missing;
        return 0;
    }
    PyObject *index = PyNumber_Index(value);
    if (index == NULL) {
        return -1;
    }
    *out = PyLong_AsLongLong(index);
    Py_DECREF(index);
    return *out == -1 && PyErr_Occurred() ? -1 : 0;
}

int core_row_range(PyObject *object, int64_t *begin, int64_t *end)
{
    *begin = 0;
    *end = INT64_MAX;
    if (object == NULL || object == Py_None) {
        return 0;
    }
    PyObject *b = NULL, *e = NULL;
    int result = 0;
    if (PyTuple_Check(object) && PyTuple_Size(object) == 2) {
        b = Py_NewRef(PyTuple_GetItem(object, 0));
        e = Py_NewRef(PyTuple_GetItem(object, 1));
    } else if (PyObject_HasAttrString(object, "start") && PyObject_HasAttrString(object, "stop") &&
               PyObject_HasAttrString(object, "step")) {
        PyObject *step = PyObject_GetAttrString(object, "step");
        int64_t s = 1;
        if (step == NULL || range_part(step, 1, &s) != 0 || s != 1) {
            Py_XDECREF(step);
            if (!PyErr_Occurred()) {
                PyErr_SetString(PyExc_ValueError, "rows: expected step 1");
            }
            return -1;
        }
        Py_DECREF(step);
        b = PyObject_GetAttrString(object, "start");
        e = PyObject_GetAttrString(object, "stop");
    } else {
        PyErr_Format(PyExc_TypeError, "rows: expected (begin, end), a slice or a range, found %R",
                     object);
        return -1;
    }
    if (range_part(b, 0, begin) != 0 || range_part(e, INT64_MAX, end) != 0) {
        result = -1;
    } else if (*begin < 0 || *end < *begin) {
        PyErr_Format(PyExc_ValueError, "rows: expected 0 <= begin <= end, found %lld and %lld",
                     (long long)*begin, (long long)*end);
        result = -1;
    }
    Py_XDECREF(b);
    Py_XDECREF(e);
    return result;
}

int core_known_names(PyObject *options, const char *const *known, size_t n)
{
    PyObject *keys = PyDict_Keys(options);
    int result = keys != NULL ? 0 : -1;
    for (Py_ssize_t i = 0; result == 0 && i < PyList_Size(keys); i++) {
        const char *name = PyUnicode_AsUTF8AndSize(PyList_GetItem(keys, i), NULL);
        size_t k = 0;
        while (name != NULL && k < n && strcmp(name, known[k]) != 0) {
            k++;
        }
        if (k == n) {
            PyErr_Format(PyExc_TypeError, "unknown option \"%s\"", name);
        }
        result = PyErr_Occurred() ? -1 : 0;
    }
    Py_XDECREF(keys);
    return result;
}
