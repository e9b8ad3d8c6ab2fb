/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of lists and of dicts as Arrow arrays. */
#include "core_infer.h"

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
        result = core_infer(flat, "item", is_small, values, schema);
        Py_LeaveRecursiveCall();
    }
    Py_DECREF(flat);
    return result;
}

int core_infer_lists(PyObject *list, const char *name, bool is_small, struct ArrowArray *array, struct ArrowSchema *schema)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct ArrowSchema item = { 0 };
    int64_t length = (int64_t)PyList_Size(list);
    struct node *n = build_array(array, length, 2);
    int64_t *lengths = calloc((size_t)length + 1, sizeof *lengths);
    int result = n != NULL && lengths != NULL ? core_set_validity(array, n, list) : -1;
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

int core_infer_dicts(PyObject *list, const char *name, bool is_small, struct ArrowArray *array, struct ArrowSchema *schema)
{
    grebe_error err = GREBE_ERROR_INIT;
    PyObject *keys = all_keys(list);
    Py_ssize_t n = keys != NULL ? PyList_Size(keys) : 0;
    struct ArrowSchema *fields = calloc((size_t)n + 1, sizeof *fields);
    struct node *node = build_array(array, (int64_t)PyList_Size(list), 1);
    int result = keys != NULL && fields != NULL && node != NULL ? core_set_validity(array, node, list) : -1;
    result = result == 0 ? build_children(array, n) : result;
    for (Py_ssize_t i = 0; result == 0 && i < n; i++) {
        PyObject *key = PyList_GetItem(keys, i);
        const char *text = PyUnicode_AsUTF8AndSize(key, NULL);
        PyObject *values = text != NULL ? values_under(list, key) : NULL;
        result = values != NULL ? Py_EnterRecursiveCall(" in nested dicts") : -1;
        if (result == 0) {
            result = core_infer(values, text, is_small, array->children[i], &fields[i]);
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
