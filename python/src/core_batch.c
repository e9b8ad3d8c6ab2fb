/* SPDX-License-Identifier: Apache-2.0 */
/* Some rows in memory. */
#include "core.h"

#include <string.h>

static void batch_dealloc(PyObject *self)
{
    struct core_batch *b = (struct core_batch *)self;
    if (b->array.release != NULL) {
        b->array.release(&b->array);
    }
    if (b->schema.release != NULL) {
        b->schema.release(&b->schema);
    }
    core_object_free(self);
}

PyObject *core_batch_new(struct ArrowArray *array, struct ArrowSchema *schema)
{
    PyObject *self = core_object_new(core.batch_class);
    if (self == NULL) {
        array->release(array);
        schema->release(schema);
        return NULL;
    }
    ((struct core_batch *)self)->array = *array;
    ((struct core_batch *)self)->schema = *schema;
    array->release = NULL;
    schema->release = NULL;
    return self;
}

static PyObject *batch_export_array(struct core_batch *b)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct ArrowArray copy = { 0 };
    if (b->array.release == NULL) {
        PyErr_SetString(PyExc_ValueError, "closed");
        return NULL;
    }
    if (grebe_array_view(core.ctx, &b->array, &copy, &err) != GREBE_OK) {
        return core_raise(&err);
    }
    return core_array_capsule(&copy);
}

static PyObject *batch_arrow_c_array(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *keywords[] = { "requested_schema", NULL };
    PyObject *requested = NULL;
    struct core_batch *b = (struct core_batch *)self;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O", keywords, &requested)) {
        return NULL;
    }
    PyObject *schema = core_export_schema(&b->schema);
    PyObject *array = schema != NULL ? batch_export_array(b) : NULL;
    if (array == NULL) {
        Py_XDECREF(schema);
        return NULL;
    }
    return Py_BuildValue("(NN)", schema, array);
}

/* One column as (schema, array) capsules; without a copy. */
PyObject *core_batch_export_column(PyObject *batch, Py_ssize_t i)
{
    struct core_batch *b = (struct core_batch *)batch;
    grebe_error err = GREBE_ERROR_INIT;
    struct ArrowArray rows = { 0 }, column = { 0 };
    if (grebe_array_view(core.ctx, &b->array, &rows, &err) != GREBE_OK) {
        return core_raise(&err);
    }
    column = *rows.children[i]; /* a consumer may move a child out */
    rows.children[i]->release = NULL;
    rows.release(&rows);
    PyObject *schema = core_export_schema(b->schema.children[i]);
    PyObject *array = schema != NULL ? core_array_capsule(&column) : NULL;
    if (array == NULL) {
        Py_XDECREF(schema);
        return NULL;
    }
    return Py_BuildValue("(NN)", schema, array);
}

static PyObject *batch_arrow_c_schema(PyObject *self, PyObject *unused)
{
    (void)unused;
    return core_export_schema(&((struct core_batch *)self)->schema);
}

/* Its rows, without a copy, and their schema. 0, or -1 with an exception. */
static int batch_view(struct core_batch *b, struct ArrowArray *rows, struct ArrowSchema *schema)
{
    grebe_error err = GREBE_ERROR_INIT;
    if (b->array.release == NULL) {
        PyErr_SetString(PyExc_ValueError, "closed");
        return -1;
    }
    if (grebe_array_view(core.ctx, &b->array, rows, &err) != GREBE_OK) {
        return core_raise_int(&err);
    }
    if (grebe_schema_copy(core.ctx, &b->schema, schema, &err) != GREBE_OK) {
        rows->release(rows);
        return core_raise_int(&err);
    }
    return 0;
}

static PyObject *batch_arrow_c_stream(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *keywords[] = { "requested_schema", NULL };
    PyObject *requested = NULL;
    struct core_batch *b = (struct core_batch *)self;
    struct ArrowArray view = { 0 };
    struct ArrowSchema schema = { 0 };
    struct ArrowArrayStream stream = { 0 };
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O", keywords, &requested)) {
        return NULL;
    }
    if (batch_view(b, &view, &schema) != 0) {
        return NULL;
    }
    return core_stream_of_one(&view, &schema, &stream) == 0 ? core_stream_capsule(&stream) : NULL;
}

static PyObject *batch_schema(PyObject *self, void *unused)
{
    (void)unused;
    grebe_error err = GREBE_ERROR_INIT;
    struct ArrowSchema schema = { 0 };
    if (grebe_schema_copy(core.ctx, &((struct core_batch *)self)->schema, &schema, &err) != GREBE_OK) {
        return core_raise(&err);
    }
    return core_schema_new(&schema);
}

static PyObject *batch_num_rows(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromLongLong(((struct core_batch *)self)->array.length);
}

static Py_ssize_t batch_length(PyObject *self)
{
    return (Py_ssize_t)((struct core_batch *)self)->array.length;
}

/* batch["name"] or batch[i]: a Column. */
static PyObject *batch_column(PyObject *self, PyObject *key)
{
    struct core_batch *b = (struct core_batch *)self;
    if (PyUnicode_Check(key)) {
        const char *name = PyUnicode_AsUTF8AndSize(key, NULL);
        for (int64_t i = 0; name != NULL && i < b->schema.n_children; i++) {
            if (strcmp(b->schema.children[i]->name, name) == 0) {
                return core_column_new(self, (Py_ssize_t)i);
            }
        }
        if (name != NULL) {
            PyErr_SetObject(PyExc_KeyError, key);
        }
        return NULL;
    }
    Py_ssize_t i = PyNumber_AsSsize_t(key, PyExc_IndexError);
    if (i == -1 && PyErr_Occurred()) {
        return NULL;
    }
    if (i < 0) {
        i += (Py_ssize_t)b->schema.n_children;
    }
    if (i < 0 || i >= b->schema.n_children) {
        PyErr_SetString(PyExc_IndexError, "column index out of range");
        return NULL;
    }
    return core_column_new(self, i);
}

static PyObject *batch_to_dicts(PyObject *self, PyObject *unused)
{
    (void)unused;
    struct core_batch *b = (struct core_batch *)self;
    PyObject *names = PyTuple_New((Py_ssize_t)b->schema.n_children);
    for (int64_t i = 0; names != NULL && i < b->schema.n_children; i++) {
        PyObject *name = PyUnicode_FromString(b->schema.children[i]->name);
        if (name == NULL || PyTuple_SetItem(names, (Py_ssize_t)i, name) != 0) {
            Py_CLEAR(names);
        }
    }
    PyObject *rows = names != NULL ? core_row_dicts(&b->schema, &b->array, names) : NULL;
    Py_XDECREF(names);
    return rows;
}

static PyMethodDef batch_methods[] = {
    { "to_dicts", batch_to_dicts, METH_NOARGS, "The rows as a list of dicts of Python objects." },
    { "__arrow_c_schema__", batch_arrow_c_schema, METH_NOARGS, "The schema as a PyCapsule." },
    { "__arrow_c_array__", (PyCFunction)(void (*)(void))batch_arrow_c_array,
      METH_VARARGS | METH_KEYWORDS, "Schema and array as PyCapsules; without a copy." },
    { "__arrow_c_stream__", (PyCFunction)(void (*)(void))batch_arrow_c_stream,
      METH_VARARGS | METH_KEYWORDS, "A stream of this one batch as a PyCapsule; without a copy." },
    { NULL, NULL, 0, NULL }
};
static PyGetSetDef batch_getset[] = { { "schema", batch_schema, NULL, "Schema of the batch.", NULL },
                                      { "num_rows", batch_num_rows, NULL, "Number of rows.", NULL },
                                      { NULL, NULL, NULL, NULL, NULL } };
static PyType_Slot batch_slots[] = { { Py_tp_dealloc, (void *)batch_dealloc },
                                     { Py_tp_methods, batch_methods },
                                     { Py_tp_getset, batch_getset },
                                     { Py_mp_length, (void *)batch_length },
                                     { Py_mp_subscript, (void *)batch_column },
                                     { 0, NULL } };
PyType_Spec core_batch_spec = { "grebe._core.Batch", sizeof(struct core_batch), 0,
                                Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE |
                                    Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                batch_slots };

/* The field of texts becomes one of the extension type arrow.json. */
static int mark_json(struct ArrowSchema *field)
{
    static const char key[] = "ARROW:extension:name", value[] = "arrow.json";
    char metadata[64];
    const int32_t head[2] = { 1, sizeof key - 1 };
    const int32_t len = sizeof value - 1;
    memcpy(metadata, head, 8);
    memcpy(metadata + 8, key, sizeof key - 1);
    memcpy(metadata + 8 + sizeof key - 1, &len, 4);
    memcpy(metadata + 12 + sizeof key - 1, value, sizeof value - 1);
    grebe_error err = GREBE_ERROR_INIT;
    struct ArrowSchema marked = *field, copy = { 0 };
    marked.metadata = metadata;
    if (grebe_schema_copy(core.ctx, &marked, &copy, &err) != GREBE_OK) {
        return core_raise_int(&err);
    }
    field->release(field);
    *field = copy;
    return 0;
}

/* Rows [begin, end) of a batch without a copy. */
PyObject *core_batch_slice(PyObject *self, PyObject *args)
{
    PyObject *object = NULL;
    long long begin = 0, end = 0;
    struct ArrowArray rows = { 0 };
    struct ArrowSchema schema = { 0 };
    (void)self;
    if (!PyArg_ParseTuple(args, "OLL", &object, &begin, &end)) {
        return NULL;
    }
    if (!PyObject_TypeCheck(object, (PyTypeObject *)core.batch_class)) {
        PyErr_SetString(PyExc_TypeError, "expected a Batch");
        return NULL;
    }
    struct core_batch *b = (struct core_batch *)object;
    if (begin < 0 || end < begin || end > b->array.length) {
        PyErr_Format(PyExc_IndexError, "rows %lld to %lld of a batch of %lld", begin, end, (long long)b->array.length);
        return NULL;
    }
    if (batch_view(b, &rows, &schema) != 0) {
        return NULL;
    }
    rows.length = end - begin;
    for (int64_t i = 0; i < rows.n_children; i++) {
        struct ArrowArray *c = rows.children[i];
        c->offset += begin;
        c->length = end - begin;
        c->null_count = c->null_count == 0 ? 0 : -1;
    }
    return core_batch_new(&rows, &schema);
}

PyObject *core_batch_from_columns(PyObject *self, PyObject *args)
{
    (void)self;
    PyObject *names = NULL, *values = NULL;
    struct ArrowArray array = { 0 };
    struct ArrowSchema schema = { 0 };
    int is_small = 0; /* offsets of 32 bits, lists of any length: the types that data sets have */
    PyObject *json_names = NULL;
    if (!PyArg_ParseTuple(args, "OO|pO!", &names, &values, &is_small, &PyList_Type, &json_names) ||
        core_build_struct(names, values, is_small != 0, &array, &schema) != 0) {
        return NULL;
    }
    for (int64_t i = 0; json_names != NULL && i < schema.n_children; i++) {
        PyObject *name = PyUnicode_FromString(schema.children[i]->name);
        int is_json = name != NULL ? PySequence_Contains(json_names, name) : -1;
        Py_XDECREF(name);
        if (is_json < 0 || (is_json == 1 && mark_json(schema.children[i]) != 0)) {
            array.release(&array);
            schema.release(&schema);
            return NULL;
        }
    }
    return core_batch_new(&array, &schema);
}
