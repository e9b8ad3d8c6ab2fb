/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists of Python values as Arrow arrays, the type told by the values: bool, int, float, str, bytes, lists and arrays of
 * these, dicts, times and decimals (grebe._values), None among any. is_small: 32-bit offsets where they suffice, and numbers
 * of an array library keep their width.
 */
#include "core_infer.h"

enum kind core_kind_of(PyObject *v)
{
    return v == Py_None         ? KIND_NONE
           : PyBool_Check(v)    ? KIND_BOOL
           : PyLong_Check(v)    ? KIND_INT
           : PyFloat_Check(v)   ? KIND_FLOAT
           : PyUnicode_Check(v) ? KIND_TEXT
           : PyBytes_Check(v)   ? KIND_BYTES
           : PyDict_Check(v)    ? KIND_DICT
           : PyList_Check(v) || PyTuple_Check(v) || PySequence_Check(v) ? KIND_LIST
           : PyIndex_Check(v) && !PyMapping_Check(v) ? KIND_INT /* a tensor of one element is an index too */
                                                     : KIND_OTHER;
}

static enum kind common_kind(PyObject *list)
{
    enum kind all = KIND_NONE;
    Py_ssize_t n = PyList_Size(list);
    for (Py_ssize_t i = 0; i < n; i++) {
        enum kind k = core_kind_of(PyList_GetItem(list, i));
        if (k == KIND_NONE || k == all) {
            continue;
        }
        if (all == KIND_NONE) {
            all = k;
        } else if ((all == KIND_INT && k == KIND_FLOAT) || (all == KIND_FLOAT && k == KIND_INT)) {
            all = KIND_FLOAT;
        } else {
            return KIND_BAD;
        }
    }
    return all;
}

int core_set_validity(struct ArrowArray *array, struct node *n, PyObject *list)
{
    array->null_count = 0;
    for (int64_t i = 0; i < array->length; i++) {
        array->null_count += PyList_GetItem(list, (Py_ssize_t)i) == Py_None;
    }
    uint8_t *bits = array->null_count != 0 ? build_own(n, 0, (size_t)(array->length + 7) / 8) : NULL;
    for (int64_t i = 0; bits != NULL && i < array->length; i++) {
        bits[i >> 3] = (uint8_t)(bits[i >> 3] | (PyList_GetItem(list, (Py_ssize_t)i) != Py_None) << (i & 7));
    }
    return bits != NULL || array->null_count == 0 ? 0 : -1;
}

/* Integers beyond int64 make the column one of uint64. */
static int fill_integers(struct ArrowArray *array, struct node *n, PyObject *list, bool is_unsigned)
{
    char *p = build_own(n, 1, (size_t)array->length * 8);
    for (int64_t i = 0; p != NULL && i < array->length; i++) {
        PyObject *v = PyList_GetItem(list, (Py_ssize_t)i);
        if (v == Py_None) {
            continue;
        }
        PyObject *index = PyNumber_Index(v);
        uint64_t x = 0;
        if (index != NULL && is_unsigned) {
            x = PyLong_AsUnsignedLongLong(index);
        } else if (index != NULL) {
            x = (uint64_t)PyLong_AsLongLong(index);
        }
        Py_XDECREF(index);
        memcpy(p + i * 8, &x, 8);
        if (PyErr_Occurred()) {
            return -1;
        }
    }
    return p != NULL ? 0 : -1;
}

static int fill_numbers(struct ArrowArray *array, struct node *n, PyObject *list, enum kind k)
{
    char *p = build_own(n, 1, (size_t)array->length * 8);
    for (int64_t i = 0; p != NULL && i < array->length; i++) {
        PyObject *v = PyList_GetItem(list, (Py_ssize_t)i);
        if (v == Py_None) {
            continue;
        }
        if (k == KIND_FLOAT) {
            double d = PyFloat_AsDouble(v);
            memcpy(p + i * 8, &d, 8);
        } else {
            p[i >> 3] = (char)(p[i >> 3] | (v == Py_True) << (i & 7));
        }
        if (PyErr_Occurred()) {
            return -1;
        }
    }
    return p != NULL ? 0 : -1;
}

static const char *bytes_of(PyObject *v, enum kind k, Py_ssize_t *len)
{
    *len = 0;
    if (v == Py_None) {
        return "";
    }
    if (k == KIND_TEXT) {
        return PyUnicode_AsUTF8AndSize(v, len);
    }
    *len = PyBytes_Size(v);
    return PyBytes_AsString(v);
}

/* *is_small: false afterwards when 32-bit offsets do not do. */
static int fill_bytes(struct ArrowArray *array, struct node *n, PyObject *list, enum kind k, bool *is_small)
{
    int64_t total = 0;
    Py_ssize_t len = 0;
    for (int64_t i = 0; i < array->length; i++) {
        if (bytes_of(PyList_GetItem(list, (Py_ssize_t)i), k, &len) == NULL) {
            return -1;
        }
        total += len;
    }
    *is_small = *is_small && total <= INT32_MAX;
    char *offsets = build_own(n, 1, ((size_t)array->length + 1) * (*is_small ? 4 : 8));
    char *data = build_own(n, 2, (size_t)total);
    int64_t at = 0;
    for (int64_t i = 0; offsets != NULL && data != NULL && i < array->length; i++) {
        const char *s = bytes_of(PyList_GetItem(list, (Py_ssize_t)i), k, &len);
        memcpy(data + at, s, (size_t)len);
        at += len;
        if (*is_small) {
            ((int32_t *)(void *)offsets)[i + 1] = (int32_t)at;
        } else {
            ((int64_t *)(void *)offsets)[i + 1] = at;
        }
    }
    return offsets != NULL && data != NULL ? 0 : -1;
}

/* ---- times and decimals ---- */

static int store_int(PyObject *v, char *p, Py_ssize_t width)
{
    if (width <= 8) {
        int64_t x = PyLong_AsLongLong(v);
        int32_t x32 = (int32_t)x;
        memcpy(p, width == 4 ? (void *)&x32 : (void *)&x, (size_t)width);
        return PyErr_Occurred() ? -1 : 0;
    }
    PyObject *little = PyObject_GetAttrString(v, "to_bytes"), *args = Py_BuildValue("(ns)", width, "little");
    PyObject *kwargs = Py_BuildValue("{s:O}", "signed", Py_True);
    PyObject *bytes = little != NULL && args != NULL && kwargs != NULL ? PyObject_Call(little, args, kwargs) : NULL;
    if (bytes != NULL) {
        memcpy(p, PyBytes_AsString(bytes), (size_t)width);
    }
    int result = bytes != NULL ? 0 : -1;
    Py_XDECREF(little);
    Py_XDECREF(args);
    Py_XDECREF(kwargs);
    Py_XDECREF(bytes);
    return result;
}

static int infer_others(PyObject *list, const char *name, struct ArrowArray *array, struct ArrowSchema *schema)
{
    PyObject *found = PyObject_CallFunctionObjArgs(core.values_in, list, NULL), *values = NULL;
    const char *format = NULL;
    Py_ssize_t width = 0;
    int result = -1;
    if (found != NULL && PyArg_ParseTuple(found, "snO!", &format, &width, &PyList_Type, &values)) {
        struct node *n = build_array(array, (int64_t)PyList_Size(values), 2);
        char *p = n != NULL ? build_own(n, 1, (size_t)(array->length * width)) : NULL;
        result = p != NULL && build_schema(format, name, schema) == 0 ? core_set_validity(array, n, values) : -1;
        for (Py_ssize_t i = 0; result == 0 && i < PyList_Size(values); i++) {
            PyObject *v = PyList_GetItem(values, i);
            result = v != Py_None ? store_int(v, p + i * width, width) : 0;
        }
    }
    Py_XDECREF(found);
    return result;
}

/* Numbers of the width that they have in an array library. */
static int infer_scalars(PyObject *list, const char *name, const char *format, struct ArrowArray *array, struct ArrowSchema *schema)
{
    struct node *n = build_array(array, (int64_t)PyList_Size(list), 2);
    return n != NULL && core_set_validity(array, n, list) == 0 && core_fill_scalars(array, n, list, format) == 0
               ? build_schema(format, name, schema) : -1;
}

static int infer_plain(PyObject *list, const char *name, enum kind k, bool is_small, struct ArrowArray *array,
                       struct ArrowSchema *schema)
{
    int64_t length = (int64_t)PyList_Size(list);
    struct node *n = build_array(array, length, k == KIND_NONE ? 0 : k >= KIND_TEXT ? 3 : 2);
    const char *format = k == KIND_NONE ? "n" : k == KIND_BOOL ? "b" : k == KIND_INT ? "l" : "g";
    int result = n != NULL ? 0 : -1;
    if (k == KIND_NONE) {
        array->null_count = length;
    } else if (result == 0) {
        result = core_set_validity(array, n, list);
    }
    if (result == 0 && k >= KIND_TEXT) {
        result = fill_bytes(array, n, list, k, &is_small);
        format = k == KIND_TEXT ? (is_small ? "u" : "U") : (is_small ? "z" : "Z");
    } else if (result == 0 && k == KIND_INT) {
        result = fill_integers(array, n, list, false);
        if (result != 0 && PyErr_ExceptionMatches(PyExc_OverflowError)) {
            PyErr_Clear();
            free(n->owned[1]);
            n->owned[1] = NULL;
            result = fill_integers(array, n, list, true);
            format = "L";
        }
    } else if (result == 0 && k != KIND_NONE) {
        result = fill_numbers(array, n, list, k);
    }
    return result == 0 ? build_schema(format, name, schema) : result;
}

int core_build_numbers(PyObject *list, const char *name, struct ArrowArray *array, struct ArrowSchema *schema)
{
    int64_t n = (int64_t)PyList_Size(list);
    PyObject *first = n > 0 ? PyList_GetItem(list, 0) : Py_None;
    bool is_int = PyLong_CheckExact(first);
    if (!is_int && !PyFloat_CheckExact(first)) {
        return 0;
    }
    struct node *node = build_array(array, n, 2);
    int64_t *ints = node != NULL ? build_own(node, 1, (size_t)n * 8) : NULL;
    double *floats = (double *)(void *)ints;
    for (int64_t i = 0; ints != NULL && i < n; i++) {
        PyObject *v = PyList_GetItem(list, (Py_ssize_t)i);
        int overflow = 0;
        if (is_int ? !PyLong_CheckExact(v) : !PyFloat_CheckExact(v)) {
            overflow = 1;
        } else if (is_int) {
            ints[i] = PyLong_AsLongLongAndOverflow(v, &overflow);
        } else {
            floats[i] = PyFloat_AsDouble(v);
        }
        if (overflow != 0) {
            array->release(array);
            memset(array, 0, sizeof *array);
            return 0;
        }
    }
    if (ints != NULL && build_schema(is_int ? "l" : "g", name, schema) == 0) {
        return 1;
    }
    build_release(array, schema);
    return -1;
}

int core_infer(PyObject *list, const char *name, bool is_small, struct ArrowArray *array, struct ArrowSchema *schema)
{
    memset(array, 0, sizeof *array);
    memset(schema, 0, sizeof *schema);
    int done = core_build_numbers(list, name, array, schema);
    if (done != 0) {
        return done > 0 ? 0 : -1;
    }
    struct scalars scalars = { 0 };
    if (core_unwrap_scalars(list, &scalars) != 0) {
        return -1;
    }
    enum kind k = common_kind(list);
    const char *format = is_small ? core_scalars_format(&scalars) : NULL;
    if (format != NULL) {
        return infer_scalars(list, name, format, array, schema);
    }
    switch (k) {
    case KIND_LIST: return core_infer_lists(list, name, is_small, array, schema);
    case KIND_DICT: return core_infer_dicts(list, name, is_small, array, schema);
    case KIND_OTHER: return infer_others(list, name, array, schema);
    case KIND_BAD:
        PyErr_Format(PyExc_TypeError, "column \"%s\": expected values of one type (bool, int, float, str, bytes, times, decimals, "
                     "lists and dicts of these, None)", name);
        return -1;
    default: return infer_plain(list, name, k, is_small, array, schema);
    }
}

int core_build_list(PyObject *list, const char *name, bool is_small, struct ArrowArray *array, struct ArrowSchema *schema)
{
    int result = core_infer(list, name, is_small, array, schema);
    if (result != 0) {
        build_release(array, schema);
    }
    return result;
}
