/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arrow arrays from Python values: buffers (numpy) are taken as they lie, lists are copied.
 * Everything made here is freed by one release that walks nothing: a node owns its own block.
 */
#include "core_build.h"

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

struct node *build_array(struct ArrowArray *array, int64_t length, int64_t n_buffers)
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

void *build_own(struct node *n, int i, size_t bytes)
{
    n->owned[i] = calloc(1, bytes + 64);
    n->buffers[i] = n->owned[i];
    if (n->owned[i] == NULL) {
        PyErr_NoMemory();
    }
    return n->owned[i];
}

void build_release(struct ArrowArray *array, struct ArrowSchema *schema)
{
    if (array->release != NULL) {
        array->release(array);
    }
    if (schema->release != NULL) {
        schema->release(schema);
    }
}

int build_schema(const char *format, const char *name, struct ArrowSchema *out)
{
    grebe_error err = GREBE_ERROR_INIT;
    return grebe_schema_make(core.ctx, format, name, true, NULL, 0, out, &err) == GREBE_OK
               ? 0
               : core_raise_int(&err);
}

int build_children(struct ArrowArray *array, int64_t n_children)
{
    struct node *n = array->private_data;
    n->children = calloc((size_t)n_children + 1, sizeof *n->children);
    array->children = n->children;
    for (int64_t i = 0; n->children != NULL && i < n_children; i++) {
        n->children[i] = calloc(1, sizeof **n->children);
        if (n->children[i] == NULL) {
            break;
        }
        array->n_children = i + 1;
    }
    if (n->children == NULL || array->n_children < n_children) {
        PyErr_NoMemory();
        return -1;
    }
    return 0;
}

/* ---- buffers ---- */

enum { BUFFER_DIMS_MAX = 8 };

const char *build_format(const char *format, Py_ssize_t itemsize)
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
    uint8_t *bits = build_own(n, 1, (size_t)(length + 7) / 8);
    for (int64_t i = 0; bits != NULL && i < length; i++) {
        bits[i >> 3] = (uint8_t)(bits[i >> 3] | (bools[i] != 0) << (i & 7));
    }
    return bits != NULL ? 0 : -1;
}

/* view is moved in on success. Strided memory (a slice, a transposed matrix) is copied. */
static int column_from_view(Py_buffer *view, const char *name, struct ArrowArray *array,
                            struct ArrowSchema *schema)
{
    const char *format = build_format(view->format != NULL ? view->format : "B", view->itemsize);
    int64_t n = 1;
    for (int i = 0; i < view->ndim; i++) {
        n *= view->shape[i];
    }
    struct node *node = build_array(array, n, 2);
    if (node == NULL || build_schema(format, view->ndim > 1 ? "item" : name, schema) != 0) {
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

/* Wrap a column of values into lists of one length: fixed-size ones, or, is_small, lists with 32-bit offsets where these suffice. */
static int wrap_vectors(int64_t length, int64_t dim, const char *name, bool is_small, struct ArrowArray *array,
                        struct ArrowSchema *schema)
{
    is_small = is_small && (dim == 0 || length <= INT32_MAX / dim);
    grebe_error err = GREBE_ERROR_INIT;
    struct ArrowArray list;
    struct ArrowSchema list_schema = { 0 };
    char format[32];
    struct node *n = build_array(&list, length, is_small ? 2 : 1);
    snprintf(format, sizeof format, is_small ? "+l" : "+w:%lld", (long long)dim);
    if (n == NULL) {
        return -1;
    }
    if (is_small) {
        int32_t *offsets = build_own(n, 1, ((size_t)length + 1) * sizeof *offsets);
        if (offsets == NULL) {
            list.release(&list);
            return -1;
        }
        for (int64_t i = 0; i <= length; i++) {
            offsets[i] = (int32_t)(i * dim);
        }
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
int core_build_buffer(PyObject *values, const char *name, bool is_small, struct ArrowArray *array,
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
    if (build_format(view->format != NULL ? view->format : "B", view->itemsize) == NULL ||
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
        build_release(array, schema);
        return -1;
    }
    for (int i = ndim - 1; i > 0; i--) {
        if (wrap_vectors(lengths[i], shape[i], i > 1 ? "item" : name, is_small, array, schema) != 0) {
            build_release(array, schema);
            return -1;
        }
    }
    return 1;
}

/* ---- entry points ---- */

int core_build_column(PyObject *values, const char *name, bool is_small, struct ArrowArray *array,
                      struct ArrowSchema *schema)
{
    memset(array, 0, sizeof *array);
    memset(schema, 0, sizeof *schema);
    int done = PyList_CheckExact(values) ? core_build_numbers(values, name, array, schema) : 0;
    if (done != 0) {
        return done < 0 ? -1 : 0;
    }
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
    done = PyObject_CheckBuffer(values) ? core_build_buffer(values, name, is_small, array, schema) : 0;
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
    int result = core_build_list(list, name, is_small, array, schema);
    Py_DECREF(list);
    return result;
}

int core_build_struct(PyObject *names, PyObject *columns, bool is_small, struct ArrowArray *array,
                      struct ArrowSchema *schema)
{
    grebe_error err = GREBE_ERROR_INIT;
    Py_ssize_t n = PyList_Size(names);
    struct node *node = build_array(array, 0, 1);
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
        Py_ssize_t n_bytes = 0;
        const char *text = PyUnicode_Check(name) ? PyUnicode_AsUTF8AndSize(name, &n_bytes) : NULL;
        if (text != NULL && strlen(text) != (size_t)n_bytes) {
            PyErr_Format(PyExc_ValueError, "column name %R: a name cannot hold a null character", name);
            text = NULL;
        }
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
        result = core_build_column(PyList_GetItem(columns, i), text, is_small, node->children[i], &fields[i]);
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
