/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists of Python values as Arrow arrays, the type told by the values: bool, int, float, str, bytes, lists and arrays of
 * these, dicts, times and decimals (grebe._values), None among any. is_small: 32-bit offsets where they suffice.
 */
#include "core_build.h"

enum kind { KIND_NONE, KIND_BOOL, KIND_INT, KIND_FLOAT, KIND_TEXT, KIND_BYTES, KIND_LIST, KIND_DICT, KIND_OTHER, KIND_BAD };

static enum kind kind_of(PyObject *v)
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

/* Scalars of array libraries, which are arrays of no dimension, become plain values; the list is the caller's own. */
static int unwrap_scalars(PyObject *list)
{
    Py_ssize_t n = PyList_Size(list);
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *v = PyList_GetItem(list, i);
        enum kind k = kind_of(v);
        if (k < KIND_INT || (k > KIND_INT && k < KIND_LIST) || k == KIND_DICT || PyLong_Check(v) || PyList_Check(v)) {
            continue;
        }
        PyObject *ndim = PyObject_HasAttrString(v, "ndim") ? PyObject_GetAttrString(v, "ndim") : NULL;
        PyErr_Clear();
        bool is_scalar = ndim != NULL && PyLong_Check(ndim) && PyLong_AsLong(ndim) == 0;
        Py_XDECREF(ndim);
        PyErr_Clear();
        if (is_scalar && PyObject_HasAttrString(v, "item")) {
            PyObject *plain = PyObject_CallMethod(v, "item", NULL);
            if (plain == NULL || PyList_SetItem(list, i, plain) != 0) {
                return -1;
            }
        }
    }
    return 0;
}

static enum kind common_kind(PyObject *list)
{
    enum kind all = KIND_NONE;
    Py_ssize_t n = PyList_Size(list);
    for (Py_ssize_t i = 0; i < n; i++) {
        enum kind k = kind_of(PyList_GetItem(list, i));
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

/* Validity of the list's values; a list without None has none. */
static int set_validity(struct ArrowArray *array, struct node *n, PyObject *list)
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

/* ---- lists ---- */

/* One buffer of numbers, one-dimensional and contiguous, for numpy rows; false without an exception when v is none. */
static bool take_row(PyObject *v, Py_buffer *view, const char **format)
{
    if (!PyObject_CheckBuffer(v) || PyObject_GetBuffer(v, view, PyBUF_FORMAT | PyBUF_C_CONTIGUOUS) != 0) {
        PyErr_Clear();
        return false;
    }
    *format = view->ndim == 1 ? build_format(view->format != NULL ? view->format : "B", view->itemsize) : NULL;
    if (*format == NULL || (*format)[0] == 'b') {
        PyBuffer_Release(view);
        return false;
    }
    return true;
}

/*
 * All rows are buffers of numbers of one type: they are laid end to end, n_values written.
 * 1 done, 0 they are not, -1 exception.
 */
static int join_rows(PyObject *list, int64_t *lengths, struct ArrowArray *values, struct ArrowSchema *schema)
{
    Py_ssize_t n = PyList_Size(list);
    const char *all = NULL, *format = NULL;
    Py_ssize_t itemsize = 0;
    int64_t total = 0, at = 0;
    Py_buffer view;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *v = PyList_GetItem(list, i);
        lengths[i] = 0;
        if (v == Py_None) {
            continue;
        }
        if (PyBytes_Check(v) || !take_row(v, &view, &format)) {
            return 0;
        }
        lengths[i] = view.shape[0];
        total += view.shape[0];
        itemsize = view.itemsize;
        PyBuffer_Release(&view);
        if (all != NULL && strcmp(all, format) != 0) {
            return 0;
        }
        all = format;
    }
    if (all == NULL) {
        return 0;
    }
    struct node *node = build_array(values, total, 2);
    char *p = node != NULL ? build_own(node, 1, (size_t)(total * itemsize)) : NULL;
    if (p == NULL || build_schema(all, "item", schema) != 0) {
        return -1;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *v = PyList_GetItem(list, i);
        if (v != Py_None && take_row(v, &view, &format)) {
            if (at + view.shape[0] <= total) { /* nobody changed it meanwhile */
                memcpy(p + at * itemsize, view.buf, (size_t)(view.shape[0] * itemsize));
                at += view.shape[0];
            }
            PyBuffer_Release(&view);
        }
    }
    return 1;
}

static int infer(PyObject *list, const char *name, bool is_small, struct ArrowArray *array, struct ArrowSchema *schema);

/* Elements of all rows one after another; lengths: shape [rows], written. */
static int flatten_rows(PyObject *list, int64_t *lengths, bool is_small, struct ArrowArray *values, struct ArrowSchema *schema)
{
    Py_ssize_t n = PyList_Size(list);
    PyObject *flat = PyList_New(0);
    for (Py_ssize_t i = 0; flat != NULL && i < n; i++) {
        PyObject *v = PyList_GetItem(list, i);
        lengths[i] = 0;
        if (v == Py_None) {
            continue;
        }
        PyObject *items = PySequence_List(v);
        if (items == NULL || PyList_SetSlice(flat, PyList_Size(flat), PyList_Size(flat), items) != 0) {
            Py_CLEAR(flat);
        } else {
            lengths[i] = PyList_Size(items);
        }
        Py_XDECREF(items);
    }
    if (flat == NULL) {
        return -1;
    }
    int result = Py_EnterRecursiveCall(" in nested lists");
    if (result == 0) {
        result = infer(flat, "item", is_small, values, schema);
        Py_LeaveRecursiveCall();
    }
    Py_DECREF(flat);
    return result;
}

static int infer_lists(PyObject *list, const char *name, bool is_small, struct ArrowArray *array, struct ArrowSchema *schema)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct ArrowSchema item = { 0 };
    int64_t length = (int64_t)PyList_Size(list);
    struct node *n = build_array(array, length, 2);
    int64_t *lengths = calloc((size_t)length + 1, sizeof *lengths);
    int result = n != NULL && lengths != NULL ? set_validity(array, n, list) : -1;
    if (result == 0) {
        int joined = join_rows(list, lengths, &n->child_space, &item);
        result = joined != 0 ? (joined > 0 ? 0 : -1) : flatten_rows(list, lengths, is_small, &n->child_space, &item);
        n->children_one[0] = &n->child_space;
        array->children = n->children_one;
        array->n_children = 1;
    }
    is_small = is_small && result == 0 && n->child_space.length <= INT32_MAX;
    char *offsets = result == 0 ? build_own(n, 1, ((size_t)length + 1) * (is_small ? 4 : 8)) : NULL;
    int64_t at = 0;
    for (int64_t i = 0; offsets != NULL && i < length; i++) {
        at += lengths[i];
        if (is_small) {
            ((int32_t *)(void *)offsets)[i + 1] = (int32_t)at;
        } else {
            ((int64_t *)(void *)offsets)[i + 1] = at;
        }
    }
    free(lengths);
    result = offsets != NULL ? result : -1;
    if (result == 0 && grebe_schema_make(core.ctx, is_small ? "+l" : "+L", name, true, &item, 1, schema, &err) != GREBE_OK) {
        result = core_raise_int(&err);
    }
    if (result != 0 && item.release != NULL) {
        item.release(&item);
    }
    if (result != 0 && !PyErr_Occurred()) {
        PyErr_NoMemory();
    }
    return result;
}

/* ---- dicts ---- */

/* Keys of all dicts in the order of their first appearance, as a list; NULL with an exception. */
static PyObject *all_keys(PyObject *list)
{
    PyObject *seen = PyDict_New(), *keys = NULL;
    Py_ssize_t n = PyList_Size(list);
    bool is_good = seen != NULL;
    for (Py_ssize_t i = 0; is_good && i < n; i++) {
        PyObject *v = PyList_GetItem(list, i), *key = NULL, *value = NULL;
        Py_ssize_t at = 0;
        while (is_good && v != Py_None && PyDict_Next(v, &at, &key, &value)) {
            if (!PyUnicode_Check(key)) {
                PyErr_Format(PyExc_TypeError, "expected dicts with keys of type str, found %R", key);
                is_good = false;
            } else {
                is_good = PyDict_SetItem(seen, key, Py_None) == 0;
            }
        }
    }
    keys = is_good ? PyDict_Keys(seen) : NULL;
    Py_XDECREF(seen);
    return keys;
}

/* The values under a key, None where there is none. */
static PyObject *values_under(PyObject *list, PyObject *key)
{
    Py_ssize_t n = PyList_Size(list);
    PyObject *out = PyList_New(n);
    for (Py_ssize_t i = 0; out != NULL && i < n; i++) {
        PyObject *v = PyList_GetItem(list, i);
        PyObject *value = v != Py_None ? PyDict_GetItemWithError(v, key) : NULL;
        if (value == NULL && PyErr_Occurred()) {
            Py_CLEAR(out);
            break;
        }
        PyList_SetItem(out, i, Py_NewRef(value != NULL ? value : Py_None));
    }
    return out;
}

static int infer_dicts(PyObject *list, const char *name, bool is_small, struct ArrowArray *array, struct ArrowSchema *schema)
{
    grebe_error err = GREBE_ERROR_INIT;
    PyObject *keys = all_keys(list);
    Py_ssize_t n = keys != NULL ? PyList_Size(keys) : 0;
    struct ArrowSchema *fields = calloc((size_t)n + 1, sizeof *fields);
    struct node *node = build_array(array, (int64_t)PyList_Size(list), 1);
    int result = keys != NULL && fields != NULL && node != NULL ? set_validity(array, node, list) : -1;
    result = result == 0 ? build_children(array, n) : result;
    for (Py_ssize_t i = 0; result == 0 && i < n; i++) {
        PyObject *key = PyList_GetItem(keys, i);
        const char *text = PyUnicode_AsUTF8AndSize(key, NULL);
        PyObject *values = text != NULL ? values_under(list, key) : NULL;
        result = values != NULL ? Py_EnterRecursiveCall(" in nested dicts") : -1;
        if (result == 0) {
            result = infer(values, text, is_small, array->children[i], &fields[i]);
            Py_LeaveRecursiveCall();
        }
        Py_XDECREF(values);
    }
    if (result == 0 && grebe_schema_make(core.ctx, "+s", name, true, fields, (size_t)n, schema, &err) != GREBE_OK) {
        result = core_raise_int(&err);
    }
    for (Py_ssize_t i = 0; fields != NULL && i < n; i++) {
        if (fields[i].release != NULL) {
            fields[i].release(&fields[i]);
        }
    }
    free(fields);
    Py_XDECREF(keys);
    if (result != 0 && !PyErr_Occurred()) {
        PyErr_NoMemory();
    }
    return result;
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
        result = p != NULL && build_schema(format, name, schema) == 0 ? set_validity(array, n, values) : -1;
        for (Py_ssize_t i = 0; result == 0 && i < PyList_Size(values); i++) {
            PyObject *v = PyList_GetItem(values, i);
            result = v != Py_None ? store_int(v, p + i * width, width) : 0;
        }
    }
    Py_XDECREF(found);
    return result;
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
        result = set_validity(array, n, list);
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

static int infer(PyObject *list, const char *name, bool is_small, struct ArrowArray *array, struct ArrowSchema *schema)
{
    memset(array, 0, sizeof *array);
    memset(schema, 0, sizeof *schema);
    int done = core_build_numbers(list, name, array, schema);
    if (done != 0) {
        return done > 0 ? 0 : -1;
    }
    if (unwrap_scalars(list) != 0) {
        return -1;
    }
    enum kind k = common_kind(list);
    switch (k) {
    case KIND_LIST: return infer_lists(list, name, is_small, array, schema);
    case KIND_DICT: return infer_dicts(list, name, is_small, array, schema);
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
    int result = infer(list, name, is_small, array, schema);
    if (result != 0) {
        build_release(array, schema);
    }
    return result;
}
