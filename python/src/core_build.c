/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arrow arrays from Python values: buffers (numpy) are taken as they lie, lists are copied.
 * Everything made here is freed by one release that walks nothing: a node owns its own block.
 */
#include "core.h"

#include <string.h>

struct node {
    const void *buffers[3];
    struct ArrowArray child_space;
    struct ArrowArray *children_one[1];
    struct ArrowArray **children; /* several: owned */
    void *owned[3];
    Py_buffer *view; /* the numpy buffer that buffers[1] lies in */
};

static void array_free(struct ArrowArray *array)
{
    struct node *n = array->private_data;
    for (int64_t i = 0; i < array->n_children; i++) {
        if (array->children[i]->release != NULL) {
            array->children[i]->release(array->children[i]);
        }
    }
    if (n->children != NULL) {
        for (int64_t i = 0; i < array->n_children; i++) {
            free(n->children[i]);
        }
        free(n->children);
    }
    for (int i = 0; i < 3; i++) {
        free(n->owned[i]);
    }
    if (n->view != NULL) {
        PyGILState_STATE gil = PyGILState_Ensure();
        PyBuffer_Release(n->view);
        PyGILState_Release(gil);
        free(n->view);
    }
    free(n);
    array->release = NULL;
}

static struct node *array_init(struct ArrowArray *array, int64_t length, int64_t n_buffers)
{
    struct node *n = calloc(1, sizeof *n);
    memset(array, 0, sizeof *array);
    if (n == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    array->length = length;
    array->n_buffers = n_buffers;
    array->buffers = n->buffers;
    array->private_data = n;
    array->release = array_free;
    return n;
}

static void *own(struct node *n, int i, size_t bytes)
{
    n->owned[i] = calloc(1, bytes + 64);
    n->buffers[i] = n->owned[i];
    if (n->owned[i] == NULL) {
        PyErr_NoMemory();
    }
    return n->owned[i];
}

static void release_both(struct ArrowArray *array, struct ArrowSchema *schema)
{
    if (array->release != NULL) {
        array->release(array);
    }
    if (schema->release != NULL) {
        schema->release(schema);
    }
}

static int make_schema(const char *format, const char *name, struct ArrowSchema *out)
{
    grebe_error err = GREBE_ERROR_INIT;
    return grebe_schema_make(core.ctx, format, name, true, NULL, 0, out, &err) == GREBE_OK
               ? 0
               : core_raise_int(&err);
}

/* ---- buffers ---- */

enum { BUFFER_DIMS_MAX = 8 };

static const char *arrow_format(const char *format, Py_ssize_t itemsize)
{
    while (*format == '@' || *format == '=' || *format == '<') {
        format++;
    }
    if (format[0] == '\0' || format[1] != '\0') {
        return NULL;
    }
    if (strchr("bhilqn", format[0]) != NULL) {
        return itemsize == 1 ? "c" : itemsize == 2 ? "s" : itemsize == 4 ? "i" : "l";
    }
    if (strchr("BHILQN", format[0]) != NULL) {
        return itemsize == 1 ? "C" : itemsize == 2 ? "S" : itemsize == 4 ? "I" : "L";
    }
    return format[0] == 'e' ? "e" : format[0] == 'f' ? "f" : format[0] == 'd' ? "g"
           : format[0] == '?' ? "b" : NULL;
}

static int bits_from_bools(struct node *n, const unsigned char *bools, int64_t length)
{
    uint8_t *bits = own(n, 1, (size_t)(length + 7) / 8);
    for (int64_t i = 0; bits != NULL && i < length; i++) {
        bits[i >> 3] = (uint8_t)(bits[i >> 3] | (bools[i] != 0) << (i & 7));
    }
    return bits != NULL ? 0 : -1;
}

/* view is moved in on success. Strided memory (a slice, a transposed matrix) is copied. */
static int column_from_view(Py_buffer *view, const char *name, struct ArrowArray *array,
                            struct ArrowSchema *schema)
{
    const char *format = arrow_format(view->format != NULL ? view->format : "B", view->itemsize);
    int64_t n = 1;
    for (int i = 0; i < view->ndim; i++) {
        n *= view->shape[i];
    }
    struct node *node = array_init(array, n, 2);
    if (node == NULL || make_schema(format, view->ndim > 1 ? "item" : name, schema) != 0) {
        return -1;
    }
    void *copy = NULL;
    if (!PyBuffer_IsContiguous(view, 'C')) {
        copy = malloc((size_t)view->len + 64);
        if (copy == NULL) {
            PyErr_NoMemory();
            return -1;
        }
        if (PyBuffer_ToContiguous(copy, view, view->len, 'C') != 0) {
            free(copy);
            return -1;
        }
    }
    if (format[0] == 'b') {
        int result = bits_from_bools(node, copy != NULL ? copy : view->buf, n);
        free(copy);
        if (result != 0) {
            return -1;
        }
    } else if (copy != NULL) {
        node->owned[1] = copy;
        node->buffers[1] = copy;
    } else {
        node->buffers[1] = view->buf;
        node->view = view;
        return 0;
    }
    PyBuffer_Release(view);
    free(view);
    return 0;
}

/* Wrap a column of values into fixed-size lists. */
static int wrap_vectors(int64_t length, int64_t dim, const char *name, struct ArrowArray *array,
                        struct ArrowSchema *schema)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct ArrowArray list;
    struct ArrowSchema list_schema = { 0 };
    char format[32];
    struct node *n = array_init(&list, length, 1);
    snprintf(format, sizeof format, "+w:%lld", (long long)dim);
    if (n == NULL) {
        return -1;
    }
    n->child_space = *array;
    array->release = NULL;
    n->children_one[0] = &n->child_space;
    list.children = n->children_one;
    list.n_children = 1;
    *array = list;
    if (grebe_schema_make(core.ctx, format, name, true, schema, 1, &list_schema, &err) != GREBE_OK) {
        return core_raise_int(&err);
    }
    *schema = list_schema;
    return 0;
}

/* 1 done, 0 not a buffer that fits, -1 exception. */
static int from_buffer(PyObject *values, const char *name, struct ArrowArray *array,
                       struct ArrowSchema *schema)
{
    Py_buffer *view = calloc(1, sizeof *view);
    if (view == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    if (PyObject_GetBuffer(values, view, PyBUF_FORMAT | PyBUF_STRIDED_RO) != 0) {
        PyErr_Clear();
        free(view);
        return 0;
    }
    if (arrow_format(view->format != NULL ? view->format : "B", view->itemsize) == NULL ||
        view->ndim < 1 || view->ndim > BUFFER_DIMS_MAX || PyBytes_Check(values)) {
        PyBuffer_Release(view);
        free(view);
        return 0;
    }
    int ndim = view->ndim;
    int64_t shape[BUFFER_DIMS_MAX], lengths[BUFFER_DIMS_MAX]; /* lengths: of what lies above dimension i */
    for (int i = 0; i < ndim; i++) {
        shape[i] = view->shape[i];
        lengths[i] = i == 0 ? 1 : lengths[i - 1] * shape[i - 1];
    }
    if (column_from_view(view, name, array, schema) != 0) {
        if (array->release == NULL || ((struct node *)array->private_data)->view == NULL) {
            PyBuffer_Release(view);
            free(view);
        }
        release_both(array, schema);
        return -1;
    }
    for (int i = ndim - 1; i > 0; i--) {
        if (wrap_vectors(lengths[i], shape[i], i > 1 ? "item" : name, array, schema) != 0) {
            release_both(array, schema);
            return -1;
        }
    }
    return 1;
}

/* ---- lists ---- */

enum kind { KIND_NONE, KIND_BOOL, KIND_INT, KIND_FLOAT, KIND_TEXT, KIND_BYTES, KIND_LIST, KIND_BAD };

static enum kind kind_of(PyObject *v)
{
    return v == Py_None         ? KIND_NONE
           : PyBool_Check(v)    ? KIND_BOOL
           : PyLong_Check(v)    ? KIND_INT
           : PyFloat_Check(v)   ? KIND_FLOAT
           : PyUnicode_Check(v) ? KIND_TEXT
           : PyBytes_Check(v)   ? KIND_BYTES
           : PyList_Check(v) || PyTuple_Check(v) || PyObject_CheckBuffer(v) ? KIND_LIST
           : PyIndex_Check(v) ? KIND_INT
           : PyObject_HasAttrString(v, "__float__") ? KIND_FLOAT
                                                    : KIND_BAD;
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

static int set_validity(struct ArrowArray *array, struct node *n, PyObject *list)
{
    uint8_t *bits = own(n, 0, (size_t)(array->length + 7) / 8);
    for (int64_t i = 0; bits != NULL && i < array->length; i++) {
        bool is_null = PyList_GetItem(list, (Py_ssize_t)i) == Py_None;
        array->null_count += is_null;
        bits[i >> 3] = (uint8_t)(bits[i >> 3] | !is_null << (i & 7));
    }
    return bits != NULL ? 0 : -1;
}

static int fill_numbers(struct ArrowArray *array, struct node *n, PyObject *list, enum kind k)
{
    char *p = own(n, 1, (size_t)array->length * 8);
    for (int64_t i = 0; p != NULL && i < array->length; i++) {
        PyObject *v = PyList_GetItem(list, (Py_ssize_t)i);
        if (v == Py_None) {
            continue;
        }
        if (k == KIND_FLOAT) {
            double d = PyFloat_AsDouble(v);
            memcpy(p + i * 8, &d, 8);
        } else if (k == KIND_INT) {
            PyObject *index = PyNumber_Index(v);
            int64_t x = index != NULL ? PyLong_AsLongLong(index) : -1;
            Py_XDECREF(index);
            memcpy(p + i * 8, &x, 8);
        } else {
            p[i >> 3] = (char)(p[i >> 3] | (v == Py_True) << (i & 7));
        }
        if (PyErr_Occurred()) {
            return -1;
        }
    }
    return p != NULL ? 0 : -1;
}

static int fill_bytes(struct ArrowArray *array, struct node *n, PyObject *list, enum kind k)
{
    int64_t *offsets = own(n, 1, ((size_t)array->length + 1) * 8);
    int64_t total = 0;
    for (int pass = 0; offsets != NULL && pass < 2; pass++) {
        char *data = pass == 1 ? own(n, 2, (size_t)total) : NULL;
        if (pass == 1 && data == NULL) {
            return -1;
        }
        for (int64_t i = 0; i < array->length; i++) {
            PyObject *v = PyList_GetItem(list, (Py_ssize_t)i);
            Py_ssize_t len = 0;
            const char *s = "";
            if (v != Py_None && k == KIND_TEXT) {
                s = PyUnicode_AsUTF8AndSize(v, &len);
            } else if (v != Py_None) {
                s = PyBytes_AsString(v);
                len = PyBytes_Size(v);
            }
            if (s == NULL) {
                return -1;
            }
            if (pass == 0) {
                total += len;
                offsets[i + 1] = total;
            } else if (len > 0) {
                memcpy(data + offsets[i], s, (size_t)len);
            }
        }
    }
    return offsets != NULL ? 0 : -1;
}

static int from_lists(PyObject *list, const char *name, struct ArrowArray *array,
                      struct ArrowSchema *schema);

static int from_list(PyObject *list, const char *name, struct ArrowArray *array,
                     struct ArrowSchema *schema)
{
    static const char *const formats[] = { "n", "b", "l", "g", "U", "Z" };
    enum kind k = common_kind(list);
    int64_t length = (int64_t)PyList_Size(list);
    if (k == KIND_LIST) {
        return from_lists(list, name, array, schema);
    }
    if (k == KIND_BAD) {
        PyErr_Format(PyExc_TypeError, "column \"%s\": expected values of one type (bool, int, float, "
                     "str, bytes, lists of these, None)", name);
        return -1;
    }
    struct node *n = array_init(array, length, k == KIND_NONE ? 0 : k >= KIND_TEXT ? 3 : 2);
    if (n == NULL || make_schema(formats[k], name, schema) != 0) {
        return -1;
    }
    if (k == KIND_NONE) {
        array->null_count = length;
        return 0;
    }
    if (set_validity(array, n, list) != 0) {
        return -1;
    }
    return k >= KIND_TEXT ? fill_bytes(array, n, list, k) : fill_numbers(array, n, list, k);
}

static int from_lists(PyObject *list, const char *name, struct ArrowArray *array,
                      struct ArrowSchema *schema)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct ArrowSchema list_schema = { 0 };
    int64_t length = (int64_t)PyList_Size(list);
    PyObject *flat = PyList_New(0);
    struct node *n = array_init(array, length, 2);
    int64_t *offsets = n != NULL && flat != NULL ? own(n, 1, ((size_t)length + 1) * 8) : NULL;
    if (offsets == NULL || set_validity(array, n, list) != 0) {
        Py_XDECREF(flat);
        return -1;
    }
    for (int64_t i = 0; i < length; i++) {
        PyObject *v = PyList_GetItem(list, (Py_ssize_t)i);
        PyObject *items = v == Py_None ? PyList_New(0) : PySequence_List(v);
        if (items == NULL || PyList_SetSlice(flat, PyList_Size(flat), PyList_Size(flat), items) != 0) {
            Py_XDECREF(items);
            Py_DECREF(flat);
            return -1;
        }
        Py_DECREF(items);
        offsets[i + 1] = PyList_Size(flat);
    }
    struct ArrowSchema item_schema = { 0 };
    int result = Py_EnterRecursiveCall(" in nested lists");
    if (result == 0) {
        result = from_list(flat, "item", &n->child_space, &item_schema);
        Py_LeaveRecursiveCall();
    }
    Py_DECREF(flat);
    n->children_one[0] = &n->child_space;
    array->children = n->children_one;
    array->n_children = 1;
    if (result == 0 && grebe_schema_make(core.ctx, "+L", name, true, &item_schema, 1, &list_schema,
                                         &err) != GREBE_OK) {
        result = core_raise_int(&err);
    }
    if (result == 0) {
        *schema = list_schema;
    } else if (item_schema.release != NULL) {
        item_schema.release(&item_schema);
    }
    return result;
}

/* ---- entry points ---- */

int core_build_column(PyObject *values, const char *name, struct ArrowArray *array,
                      struct ArrowSchema *schema)
{
    memset(array, 0, sizeof *array);
    memset(schema, 0, sizeof *schema);
    if (PyObject_HasAttrString(values, "__arrow_c_array__")) {
        PyObject *pair = PyObject_CallMethod(values, "__arrow_c_array__", NULL);
        struct ArrowSchema *s = NULL;
        struct ArrowArray *a = NULL;
        grebe_error err = GREBE_ERROR_INIT;
        int result = -1;
        if (pair != NULL && core_array_capsules(pair, &s, &a) == 0) {
            result = grebe_schema_make(core.ctx, NULL, name, true, s, 1, schema, &err) == GREBE_OK
                         ? 0 : core_raise_int(&err);
        }
        if (result == 0) {
            *array = *a;
            a->release = NULL;
        }
        Py_XDECREF(pair);
        return result;
    }
    int done = PyObject_CheckBuffer(values) ? from_buffer(values, name, array, schema) : 0;
    if (done != 0) {
        return done < 0 ? -1 : 0;
    }
    PyObject *list = PyObject_HasAttrString(values, "tolist")
                         ? PyObject_CallMethod(values, "tolist", NULL)
                         : PySequence_List(values);
    if (list == NULL || !PyList_Check(list)) {
        Py_XDECREF(list);
        if (!PyErr_Occurred()) {
            PyErr_Format(PyExc_TypeError, "column \"%s\": expected a sequence", name);
        }
        return -1;
    }
    int result = from_list(list, name, array, schema);
    Py_DECREF(list);
    if (result != 0) {
        release_both(array, schema);
    }
    return result;
}

int core_build_struct(PyObject *names, PyObject *columns, struct ArrowArray *array,
                      struct ArrowSchema *schema)
{
    grebe_error err = GREBE_ERROR_INIT;
    Py_ssize_t n = PyList_Size(names);
    struct node *node = array_init(array, 0, 1);
    struct ArrowSchema *fields = calloc((size_t)n + 1, sizeof *fields);
    int result = node != NULL && fields != NULL ? 0 : -1;
    memset(schema, 0, sizeof *schema);
    if (result == 0) {
        node->children = calloc((size_t)n + 1, sizeof *node->children);
        array->children = node->children;
        result = node->children != NULL ? 0 : -1;
    }
    if (result != 0 && !PyErr_Occurred()) {
        PyErr_NoMemory();
    }
    for (Py_ssize_t i = 0; result == 0 && i < n; i++) {
        PyObject *name = PyList_GetItem(names, i);
        const char *text = PyUnicode_Check(name) ? PyUnicode_AsUTF8AndSize(name, NULL) : NULL;
        node->children[i] = calloc(1, sizeof **node->children);
        array->n_children = i + 1;
        if (text == NULL || node->children[i] == NULL) {
            if (!PyErr_Occurred()) {
                PyErr_SetString(PyExc_TypeError, "expected column names (str)");
            }
            array->n_children = node->children[i] != NULL ? i + 1 : i;
            result = -1;
            break;
        }
        result = core_build_column(PyList_GetItem(columns, i), text, node->children[i], &fields[i]);
        if (result == 0 && i > 0 && node->children[i]->length != node->children[0]->length) {
            PyErr_Format(PyExc_ValueError, "column \"%s\": expected %lld rows, found %lld", text,
                         (long long)node->children[0]->length, (long long)node->children[i]->length);
            result = -1;
        }
    }
    array->length = result == 0 && n > 0 ? node->children[0]->length : 0;
    if (result == 0 && grebe_schema_make(core.ctx, "+s", "", false, fields, (size_t)n, schema, &err) !=
                           GREBE_OK) {
        result = core_raise_int(&err);
    }
    for (Py_ssize_t i = 0; fields != NULL && i < n; i++) {
        if (fields[i].release != NULL) {
            fields[i].release(&fields[i]);
        }
    }
    free(fields);
    if (result != 0 && array->release != NULL) {
        array->release(array);
    }
    return result;
}
