/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One column of a batch for numpy, torch and others: numbers and vectors of numbers without
 * nulls are given as they lie in memory, by the buffer protocol and by DLPack.
 */
#include "core.h"

#include <string.h>

struct column {
    PyObject_HEAD
    PyObject *batch; /* keeps the memory */
    Py_ssize_t index;
};

PyObject *core_column_new(PyObject *batch, Py_ssize_t i)
{
    PyObject *self = core_object_new(core.column_class);
    if (self != NULL) {
        ((struct column *)self)->batch = Py_NewRef(batch);
        ((struct column *)self)->index = i;
    }
    return self;
}

static void column_dealloc(PyObject *self)
{
    Py_XDECREF(((struct column *)self)->batch);
    core_object_free(self);
}

static bool number_of(const char *format, struct core_block *b)
{
    static const struct {
        char arrow;
        const char *format;
        Py_ssize_t size;
        uint8_t code;
    } types[] = { { 'c', "b", 1, 0 }, { 'C', "B", 1, 1 }, { 's', "h", 2, 0 }, { 'S', "H", 2, 1 },
                  { 'i', "i", 4, 0 }, { 'I', "I", 4, 1 }, { 'l', "q", 8, 0 }, { 'L', "Q", 8, 1 },
                  { 'e', "e", 2, 2 }, { 'f', "f", 4, 2 }, { 'g', "d", 8, 2 } };
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (format[0] == types[i].arrow && format[1] == '\0') {
            b->format = types[i].format;
            b->itemsize = types[i].size;
            b->dlpack_code = types[i].code;
            return true;
        }
    }
    return false;
}

static bool has_nulls(const struct ArrowArray *a)
{
    if (a->null_count == 0 || a->n_buffers == 0 || a->buffers[0] == NULL) {
        return false;
    }
    const uint8_t *bits = a->buffers[0];
    for (int64_t i = a->offset; i < a->offset + a->length; i++) {
        if (((bits[i >> 3] >> (i & 7)) & 1) == 0) {
            return true;
        }
    }
    return false;
}

const char *core_block_of(const struct ArrowSchema *schema, const struct ArrowArray *array, struct core_block *b)
{
    const struct ArrowArray *values = array;
    int64_t begin = array->offset, list_size = 1;
    memset(b, 0, sizeof *b);
    b->ndim = 1;
    if (strncmp(schema->format, "+w:", 3) == 0) {
        list_size = strtoll(schema->format + 3, NULL, 10);
        schema = schema->children[0];
        values = array->children[0];
        begin = array->offset * list_size + values->offset;
        b->ndim = 2;
    }
    if (!number_of(schema->format, b)) {
        return "is no block of numbers";
    }
    if (has_nulls(array) || (values != array && has_nulls(values))) {
        return "has nulls";
    }
    b->shape[0] = (Py_ssize_t)array->length;
    b->shape[1] = (Py_ssize_t)list_size;
    b->strides[1] = b->itemsize;
    b->strides[0] = b->ndim == 2 ? b->itemsize * (Py_ssize_t)list_size : b->itemsize;
    static char nothing[8];
    b->data = values->buffers[1] != NULL
                  ? (void *)((uintptr_t)values->buffers[1] + (uintptr_t)(begin * b->itemsize))
                  : nothing;
    return NULL;
}

/* 0, or -1 with BufferError saying why the column is no block. */
static int find_block(PyObject *self, struct core_block *b)
{
    struct column *c = (struct column *)self;
    struct core_batch *batch = (struct core_batch *)c->batch;
    const struct ArrowSchema *schema = batch->schema.children[c->index];
    const char *why = core_block_of(schema, batch->array.children[c->index], b);
    if (why != NULL) {
        PyErr_Format(PyExc_BufferError, "column \"%s\" of type %s %s", schema->name, schema->format, why);
        return -1;
    }
    return 0;
}

int core_block_view(PyObject *owner, struct core_block *b, Py_buffer *view, int flags)
{
    if ((flags & PyBUF_WRITABLE) == PyBUF_WRITABLE) {
        PyErr_SetString(PyExc_BufferError, "columns are read-only");
        return -1;
    }
    view->obj = Py_NewRef(owner);
    view->buf = b->data;
    view->len = b->shape[0] * (b->ndim == 2 ? b->shape[1] : 1) * b->itemsize;
    view->itemsize = b->itemsize;
    view->readonly = 1;
    view->ndim = b->ndim;
    view->format = (flags & PyBUF_FORMAT) ? (char *)(uintptr_t)b->format : NULL;
    view->shape = (flags & PyBUF_ND) ? b->shape : NULL;
    view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? b->strides : NULL;
    view->suboffsets = NULL;
    view->internal = NULL;
    return 0;
}

static int column_get_buffer(PyObject *self, Py_buffer *view, int flags)
{
    view->obj = NULL;
    struct core_block *b = PyMem_Calloc(1, sizeof *b);
    if (b == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    if (find_block(self, b) != 0 || core_block_view(self, b, view, flags) != 0) {
        PyMem_Free(b);
        return -1;
    }
    view->internal = b;
    return 0;
}

static void column_release_buffer(PyObject *self, Py_buffer *view)
{
    (void)self;
    PyMem_Free(view->internal);
}

/* ---- DLPack ---- */

static PyObject *column_dlpack(PyObject *self, PyObject *args, PyObject *kwargs)
{
    struct core_block b;
    (void)args;
    (void)kwargs; /* stream, max_version, dl_device, copy: host memory has no stream */
    if (find_block(self, &b) != 0) {
        return NULL;
    }
    return core_dlpack(self, b.data, b.ndim, b.shape, b.strides, b.itemsize, b.dlpack_code);
}

static Py_ssize_t column_length(PyObject *self)
{
    struct column *c = (struct column *)self;
    return (Py_ssize_t)((struct core_batch *)c->batch)->array.children[c->index]->length;
}

static PyObject *column_name(PyObject *self, void *unused)
{
    (void)unused;
    struct column *c = (struct column *)self;
    return PyUnicode_FromString(((struct core_batch *)c->batch)->schema.children[c->index]->name);
}

static PyObject *column_to_list(PyObject *self, PyObject *unused)
{
    (void)unused;
    struct column *c = (struct column *)self;
    struct core_batch *b = (struct core_batch *)c->batch;
    return core_value_list(b->schema.children[c->index], b->array.children[c->index], 0, b->array.length);
}

/* lists() -> (struct code, values, offsets) when the column is one of lists of numbers without nulls, as bytes; else None. */
static PyObject *column_lists(PyObject *self, PyObject *unused)
{
    (void)unused;
    struct column *c = (struct column *)self;
    struct core_batch *batch = (struct core_batch *)c->batch;
    const struct ArrowSchema *s = batch->schema.children[c->index];
    const struct ArrowArray *a = batch->array.children[c->index];
    struct core_block b = { 0 };
    bool is_large = strcmp(s->format, "+L") == 0;
    if ((!is_large && strcmp(s->format, "+l") != 0) || !number_of(s->children[0]->format, &b) || has_nulls(a) ||
        has_nulls(a->children[0])) {
        Py_RETURN_NONE;
    }
    PyObject *offsets = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)((a->length + 1) * 8));
    int64_t *o = offsets != NULL ? (int64_t *)(void *)PyBytes_AsString(offsets) : NULL;
    const void *stored = a->buffers[1];
    int64_t first = 0, last = 0;
    for (int64_t i = 0; o != NULL && stored != NULL && i <= a->length; i++) {
        last = is_large ? ((const int64_t *)stored)[a->offset + i] : ((const int32_t *)stored)[a->offset + i];
        first = i == 0 ? last : first;
        o[i] = last - first;
    }
    if (o != NULL && stored == NULL) {
        o[0] = 0;
    }
    const char *p = a->children[0]->buffers[1];
    PyObject *values = PyBytes_FromStringAndSize(
        p != NULL ? p + (first + a->children[0]->offset) * b.itemsize : "", (Py_ssize_t)((last - first) * b.itemsize));
    if (offsets == NULL || values == NULL) {
        Py_XDECREF(offsets);
        Py_XDECREF(values);
        return NULL;
    }
    return Py_BuildValue("(sNN)", b.format, values, offsets);
}

static PyObject *column_type(PyObject *self, void *unused)
{
    (void)unused;
    struct column *c = (struct column *)self;
    return PyUnicode_FromString(((struct core_batch *)c->batch)->schema.children[c->index]->format);
}

static PyObject *column_arrow_c_array(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *keywords[] = { "requested_schema", NULL };
    PyObject *requested = NULL;
    struct column *c = (struct column *)self;
    return PyArg_ParseTupleAndKeywords(args, kwargs, "|O", keywords, &requested) ? core_batch_export_column(c->batch, c->index) : NULL;
}

static PyMethodDef column_methods[] = {

    { "__arrow_c_array__", (PyCFunction)(void (*)(void))column_arrow_c_array, METH_VARARGS | METH_KEYWORDS,
      "The column as PyCapsules; without a copy." },
    { "lists", column_lists, METH_NOARGS, "(code, values, offsets) of lists of numbers without nulls; else None." },
    { "to_list", column_to_list, METH_NOARGS, "The values as Python objects." },
    { "__dlpack__", (PyCFunction)(void (*)(void))column_dlpack, METH_VARARGS | METH_KEYWORDS,
      "The column as a DLPack capsule, without a copy." },
    { "__dlpack_device__", core_dlpack_device, METH_NOARGS, "(kDLCPU, 0)" },
    { NULL, NULL, 0, NULL }
};
static PyGetSetDef column_getset[] = { { "name", column_name, NULL, "Name of the column.", NULL },
                                       { "format", column_type, NULL, "Arrow format string of its type.", NULL },
                                       { NULL, NULL, NULL, NULL, NULL } };
static PyType_Slot column_slots[] = { { Py_tp_dealloc, (void *)column_dealloc },
                                      { Py_tp_methods, column_methods },
                                      { Py_tp_getset, column_getset },
                                      { Py_sq_length, (void *)column_length },
                                      { Py_bf_getbuffer, (void *)column_get_buffer },
                                      { Py_bf_releasebuffer, (void *)column_release_buffer },
                                      { 0, NULL } };
PyType_Spec core_column_spec = { "grebe._core.Column", sizeof(struct column), 0,
                                 Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                 column_slots };
