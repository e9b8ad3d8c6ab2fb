/* SPDX-License-Identifier: Apache-2.0 */
/* Arrow in and out by the PyCapsule interface: capsules own their structure until it is taken. */
#include "core.h"

#include <errno.h>
#include <string.h>

/* ---- capsules ---- */

#define CAPSULE(kind, type, name)                                                  \
    static void kind##_capsule_free(PyObject *capsule)                             \
    {                                                                              \
        struct type *p = PyCapsule_GetPointer(capsule, name);                      \
        if (p != NULL) {                                                           \
            if (p->release != NULL) {                                              \
                p->release(p);                                                     \
            }                                                                      \
            free(p);                                                      \
        }                                                                          \
    }                                                                              \
    /* value is moved in, released on failure */                                   \
    static PyObject *kind##_capsule(struct type *value)                            \
    {                                                                              \
        struct type *p = malloc(sizeof *p);                               \
        PyObject *capsule = NULL;                                                  \
        if (p == NULL) {                                                           \
            PyErr_NoMemory();                                                      \
        } else {                                                                   \
            *p = *value;                                                           \
            capsule = PyCapsule_New(p, name, kind##_capsule_free);                 \
        }                                                                          \
        if (capsule == NULL) {                                                     \
            free(p);                                                      \
            if (value->release != NULL) {                                          \
                value->release(value);                                             \
            }                                                                      \
        }                                                                          \
        value->release = NULL;                                                     \
        return capsule;                                                            \
    }

CAPSULE(schema, ArrowSchema, "arrow_schema")
CAPSULE(array, ArrowArray, "arrow_array")
CAPSULE(stream, ArrowArrayStream, "arrow_array_stream")

/* ---- a stream of one array ---- */

struct one {
    struct ArrowArray array;
    struct ArrowSchema schema;
    grebe_error err;
};

/* The schema may be asked for several times: each time a deep copy by way of the library. */
static int one_schema(struct ArrowArrayStream *s, struct ArrowSchema *out)
{
    struct one *one = s->private_data;
    return grebe_schema_copy(core.ctx, &one->schema, out, &one->err) == GREBE_OK ? 0 : ENOMEM;
}

static int one_next(struct ArrowArrayStream *s, struct ArrowArray *out)
{
    struct one *one = s->private_data;
    *out = one->array;
    memset(&one->array, 0, sizeof one->array);
    return 0;
}

static const char *one_error(struct ArrowArrayStream *s)
{
    return ((struct one *)s->private_data)->err.message;
}

static void one_release(struct ArrowArrayStream *s)
{
    struct one *one = s->private_data;
    if (one->array.release != NULL) {
        one->array.release(&one->array);
    }
    if (one->schema.release != NULL) {
        one->schema.release(&one->schema);
    }
    free(one);
    s->release = NULL;
}

/* array and schema are moved in, released on failure. */
static int stream_of_one(struct ArrowArray *array, struct ArrowSchema *schema,
                         struct ArrowArrayStream *out)
{
    struct one *one = calloc(1, sizeof *one);
    if (one == NULL) {
        if (array->release != NULL) {
            array->release(array);
        }
        if (schema->release != NULL) {
            schema->release(schema);
        }
        PyErr_NoMemory();
        return -1;
    }
    one->array = *array;
    one->schema = *schema;
    array->release = NULL;
    schema->release = NULL;
    *out = (struct ArrowArrayStream){ one_schema, one_next, one_error, one_release, one };
    return 0;
}

/* ---- import ---- */

static int take_stream(PyObject *capsule, struct ArrowArrayStream *out)
{
    struct ArrowArrayStream *s = PyCapsule_GetPointer(capsule, "arrow_array_stream");
    if (s == NULL) {
        return -1;
    }
    if (s->release == NULL) {
        PyErr_SetString(PyExc_ValueError, "the Arrow stream was consumed already");
        return -1;
    }
    *out = *s;
    s->release = NULL;
    return 0;
}

int core_array_capsules(PyObject *pair, struct ArrowSchema **schema, struct ArrowArray **array)
{
    if (!PyTuple_Check(pair) || PyTuple_Size(pair) != 2) {
        PyErr_SetString(PyExc_TypeError, "__arrow_c_array__: expected a pair of capsules");
        return -1;
    }
    *schema = PyCapsule_GetPointer(PyTuple_GetItem(pair, 0), "arrow_schema");
    *array = *schema != NULL ? PyCapsule_GetPointer(PyTuple_GetItem(pair, 1), "arrow_array") : NULL;
    if (*array == NULL) {
        return -1;
    }
    if ((*schema)->release == NULL || (*array)->release == NULL) {
        PyErr_SetString(PyExc_ValueError, "the Arrow array was consumed already");
        return -1;
    }
    return 0;
}

static int take_array(PyObject *pair, struct ArrowArrayStream *out)
{
    struct ArrowSchema *schema = NULL;
    struct ArrowArray *array = NULL;
    if (core_array_capsules(pair, &schema, &array) != 0) {
        return -1;
    }
    if (schema->format == NULL || strcmp(schema->format, "+s") != 0) {
        PyErr_SetString(PyExc_TypeError, "expected rows (a struct array), found a single column: "
                                         "pass a dict {name: array}");
        return -1;
    }
    return stream_of_one(array, schema, out);
}

int core_import_stream(PyObject *object, struct ArrowArrayStream *out)
{
    memset(out, 0, sizeof *out);
    int result = -1;
    if (PyCapsule_IsValid(object, "arrow_array_stream")) {
        return take_stream(object, out);
    }
    if (PyObject_HasAttrString(object, "__arrow_c_stream__")) {
        PyObject *capsule = PyObject_CallMethod(object, "__arrow_c_stream__", NULL);
        if (capsule != NULL) {
            result = take_stream(capsule, out);
            Py_DECREF(capsule);
        }
        return result;
    }
    if (PyObject_HasAttrString(object, "__arrow_c_array__")) {
        PyObject *pair = PyObject_CallMethod(object, "__arrow_c_array__", NULL);
        if (pair != NULL) {
            result = take_array(pair, out);
            Py_DECREF(pair);
        }
        return result;
    }
    if (PyDict_Check(object)) {
        struct ArrowArray array = { 0 };
        struct ArrowSchema schema = { 0 };
        PyObject *names = PyDict_Keys(object), *values = PyDict_Values(object);
        if (names != NULL && values != NULL &&
            core_build_struct(names, values, false, &array, &schema) == 0) {
            result = stream_of_one(&array, &schema, out);
        }
        Py_XDECREF(names);
        Py_XDECREF(values);
        return result;
    }
    PyErr_Format(PyExc_TypeError,
                 "expected an Arrow producer (__arrow_c_stream__ or __arrow_c_array__) or a dict of "
                 "arrays, found %R", (PyObject *)Py_TYPE(object));
    return -1;
}

/* ---- Schema ---- */

static void schema_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    struct core_schema *s = (struct core_schema *)self;
    if (s->schema.release != NULL) {
        s->schema.release(&s->schema);
    }
    freefunc free_fn = (freefunc)PyType_GetSlot(type, Py_tp_free);
    free_fn(self);
    Py_DECREF(type);
}

PyObject *core_schema_new(struct ArrowSchema *schema)
{
    allocfunc alloc = (allocfunc)PyType_GetSlot((PyTypeObject *)core.schema_class, Py_tp_alloc);
    PyObject *self = alloc((PyTypeObject *)core.schema_class, 0);
    if (self == NULL) {
        schema->release(schema);
        return NULL;
    }
    ((struct core_schema *)self)->schema = *schema;
    schema->release = NULL;
    return self;
}

static PyObject *export_schema(const struct ArrowSchema *schema)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct ArrowSchema copy = { 0 };
    if (schema->release == NULL) {
        PyErr_SetString(PyExc_ValueError, "closed");
        return NULL;
    }
    if (grebe_schema_copy(core.ctx, schema, &copy, &err) != GREBE_OK) {
        return core_raise(&err);
    }
    return schema_capsule(&copy);
}

static PyObject *schema_arrow_c_schema(PyObject *self, PyObject *unused)
{
    (void)unused;
    return export_schema(&((struct core_schema *)self)->schema);
}

static PyObject *schema_names(PyObject *self, void *unused)
{
    (void)unused;
    const struct ArrowSchema *s = &((struct core_schema *)self)->schema;
    PyObject *list = PyList_New((Py_ssize_t)s->n_children);
    for (int64_t i = 0; list != NULL && i < s->n_children; i++) {
        PyObject *name = PyUnicode_FromString(s->children[i]->name);
        if (name == NULL || PyList_SetItem(list, (Py_ssize_t)i, name) != 0) {
            Py_DECREF(list);
            return NULL;
        }
    }
    return list;
}

static PyObject *schema_types(PyObject *self, void *unused)
{
    (void)unused;
    const struct ArrowSchema *s = &((struct core_schema *)self)->schema;
    PyObject *list = PyList_New((Py_ssize_t)s->n_children);
    for (int64_t i = 0; list != NULL && i < s->n_children; i++) {
        char text[1024];
        grebe_type_name(core.ctx, s->children[i], text, sizeof text);
        PyObject *item = PyUnicode_FromString(text);
        if (item == NULL || PyList_SetItem(list, (Py_ssize_t)i, item) != 0) {
            Py_DECREF(list);
            return NULL;
        }
    }
    return list;
}

static int append_bytes(void *write_ctx, const void *bytes, size_t len)
{
    PyObject **text = write_ctx;
    PyObject *part = PyBytes_FromStringAndSize(bytes, (Py_ssize_t)len);
    if (part == NULL) {
        return ENOMEM;
    }
    PyBytes_ConcatAndDel(text, part);
    return *text != NULL ? 0 : ENOMEM;
}

static PyObject *schema_to_json(PyObject *self, PyObject *unused)
{
    (void)unused;
    grebe_error err = GREBE_ERROR_INIT;
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, 0);
    if (bytes == NULL) {
        return NULL;
    }
    if (grebe_schema_print_json(core.ctx, &((struct core_schema *)self)->schema, append_bytes, &bytes,
                                &err) != GREBE_OK) {
        Py_XDECREF(bytes);
        return core_raise(&err);
    }
    PyObject *text = PyUnicode_FromEncodedObject(bytes, "utf-8", "strict");
    Py_DECREF(bytes);
    return text;
}

static PyMethodDef schema_methods[] = {
    { "__arrow_c_schema__", schema_arrow_c_schema, METH_NOARGS, "The schema as a PyCapsule." },
    { "to_json", schema_to_json, METH_NOARGS, "The schema as the JSON of a schema file." },
    { NULL, NULL, 0, NULL }
};
static PyGetSetDef schema_getset[] = { { "names", schema_names, NULL, "Names of the columns.", NULL },
                                       { "types", schema_types, NULL, "Types of the columns, as text.", NULL },
                                       { NULL, NULL, NULL, NULL, NULL } };
static PyType_Slot schema_slots[] = { { Py_tp_dealloc, (void *)schema_dealloc },
                                      { Py_tp_methods, schema_methods },
                                      { Py_tp_getset, schema_getset },
                                      { 0, NULL } };
PyType_Spec core_schema_spec = { "grebe._core.Schema", sizeof(struct core_schema), 0,
                                 Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE |
                                     Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                 schema_slots };

/* ---- Stream ---- */

static void stream_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    struct core_stream *s = (struct core_stream *)self;
    if (s->stream.release != NULL) {
        s->stream.release(&s->stream);
    }
    freefunc free_fn = (freefunc)PyType_GetSlot(type, Py_tp_free);
    free_fn(self);
    Py_DECREF(type);
}

PyObject *core_stream_new(struct ArrowArrayStream *stream)
{
    allocfunc alloc = (allocfunc)PyType_GetSlot((PyTypeObject *)core.stream_class, Py_tp_alloc);
    PyObject *self = alloc((PyTypeObject *)core.stream_class, 0);
    if (self == NULL) {
        stream->release(stream);
        return NULL;
    }
    ((struct core_stream *)self)->stream = *stream;
    stream->release = NULL;
    return self;
}

PyObject *core_cast(PyObject *self, PyObject *args)
{
    PyObject *data = NULL, *pairs = NULL;
    grebe_error err = GREBE_ERROR_INIT;
    struct ArrowArrayStream rows = { 0 }, out = { 0 };
    grebe_status st = GREBE_EINVAL;
    (void)self;
    if (!PyArg_ParseTuple(args, "OO!", &data, &PyList_Type, &pairs)) {
        return NULL;
    }
    Py_ssize_t n = PyList_Size(pairs);
    grebe_column_cast *casts = PyMem_Calloc((size_t)n + 1, sizeof *casts);
    if (casts == NULL) {
        return PyErr_NoMemory();
    }
    for (Py_ssize_t i = 0; i < n && !PyErr_Occurred(); i++) {
        /* both borrowed from the list, which lives until the call is over */
        (void)PyArg_ParseTuple(PyList_GetItem(pairs, i), "ss", &casts[i].column, &casts[i].type);
    }
    if (!PyErr_Occurred() && core_import_stream(data, &rows) == 0) {
        Py_BEGIN_ALLOW_THREADS
        st = grebe_rows_cast(core.ctx, &rows, casts, (size_t)n, &out, &err);
        if (rows.release != NULL) {
            rows.release(&rows);
        }
        Py_END_ALLOW_THREADS
    }
    PyMem_Free(casts);
    if (PyErr_Occurred()) {
        return NULL;
    }
    return st == GREBE_OK ? core_stream_new(&out) : core_raise(&err);
}

static bool stream_is_open(struct core_stream *s)
{
    if (s->is_busy) {
        PyErr_SetString(PyExc_ValueError, "the stream is in use by another call");
        return false;
    }
    if (s->stream.release == NULL) {
        PyErr_SetString(PyExc_ValueError, "the stream was consumed or closed");
        return false;
    }
    return true;
}

static PyObject *stream_arrow_c_stream(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *keywords[] = { "requested_schema", NULL };
    PyObject *requested = NULL; /* a wish: giving the schema that there is is allowed */
    struct core_stream *s = (struct core_stream *)self;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O", keywords, &requested) || !stream_is_open(s)) {
        return NULL;
    }
    return stream_capsule(&s->stream);
}

static PyObject *stream_error(struct ArrowArrayStream *s, int code)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_stream_error(s, code, &err);
    return core_raise(&err);
}

static PyObject *stream_schema(PyObject *self, void *unused)
{
    (void)unused;
    struct core_stream *s = (struct core_stream *)self;
    struct ArrowSchema schema = { 0 };
    if (!stream_is_open(s)) {
        return NULL;
    }
    int code = s->stream.get_schema(&s->stream, &schema);
    return code != 0 ? stream_error(&s->stream, code) : core_schema_new(&schema);
}

static PyObject *stream_next(PyObject *self)
{
    struct core_stream *s = (struct core_stream *)self;
    struct ArrowArray array = { 0 };
    struct ArrowSchema schema = { 0 };
    int code = 0;
    if (!stream_is_open(s)) {
        return NULL;
    }
    s->is_busy = true;
    Py_BEGIN_ALLOW_THREADS
    code = s->stream.get_next(&s->stream, &array);
    if (code == 0 && array.release != NULL) {
        code = s->stream.get_schema(&s->stream, &schema);
    }
    Py_END_ALLOW_THREADS
    s->is_busy = false;
    if (code != 0) {
        if (array.release != NULL) {
            array.release(&array);
        }
        return stream_error(&s->stream, code);
    }
    if (array.release == NULL) {
        return NULL; /* StopIteration */
    }
    return core_batch_new(&array, &schema);
}

static PyObject *stream_close(PyObject *self, PyObject *unused)
{
    (void)unused;
    struct core_stream *s = (struct core_stream *)self;
    if (s->stream.release != NULL) {
        if (!stream_is_open(s)) {
            return NULL;
        }
        struct ArrowArrayStream stream = s->stream;
        s->stream.release = NULL;
        Py_BEGIN_ALLOW_THREADS
        stream.release(&stream);
        Py_END_ALLOW_THREADS
    }
    Py_RETURN_NONE;
}

static PyObject *return_self(PyObject *self) { return Py_NewRef(self); }

static PyMethodDef stream_methods[] = {
    { "__arrow_c_stream__", (PyCFunction)(void (*)(void))stream_arrow_c_stream,
      METH_VARARGS | METH_KEYWORDS, "The stream as a PyCapsule; it is consumed." },
    { "close", stream_close, METH_NOARGS, "Release the stream." },
    { NULL, NULL, 0, NULL }
};
static PyGetSetDef stream_getset[] = { { "schema", stream_schema, NULL, "Schema of the batches.", NULL },
                                       { NULL, NULL, NULL, NULL, NULL } };
static PyType_Slot stream_slots[] = { { Py_tp_dealloc, (void *)stream_dealloc },
                                      { Py_tp_methods, stream_methods },
                                      { Py_tp_getset, stream_getset },
                                      { Py_tp_iter, (void *)return_self },
                                      { Py_tp_iternext, (void *)stream_next },
                                      { 0, NULL } };
PyType_Spec core_stream_spec = { "grebe._core.Stream", sizeof(struct core_stream), 0,
                                 Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE |
                                     Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                 stream_slots };

/* ---- Batch ---- */

static void batch_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    struct core_batch *b = (struct core_batch *)self;
    if (b->array.release != NULL) {
        b->array.release(&b->array);
    }
    if (b->schema.release != NULL) {
        b->schema.release(&b->schema);
    }
    freefunc free_fn = (freefunc)PyType_GetSlot(type, Py_tp_free);
    free_fn(self);
    Py_DECREF(type);
}

PyObject *core_batch_new(struct ArrowArray *array, struct ArrowSchema *schema)
{
    allocfunc alloc = (allocfunc)PyType_GetSlot((PyTypeObject *)core.batch_class, Py_tp_alloc);
    PyObject *self = alloc((PyTypeObject *)core.batch_class, 0);
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
    return array_capsule(&copy);
}

static PyObject *batch_arrow_c_array(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *keywords[] = { "requested_schema", NULL };
    PyObject *requested = NULL;
    struct core_batch *b = (struct core_batch *)self;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O", keywords, &requested)) {
        return NULL;
    }
    PyObject *schema = export_schema(&b->schema);
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
    PyObject *schema = export_schema(b->schema.children[i]);
    PyObject *array = schema != NULL ? array_capsule(&column) : NULL;
    if (array == NULL) {
        Py_XDECREF(schema);
        return NULL;
    }
    return Py_BuildValue("(NN)", schema, array);
}

static PyObject *batch_arrow_c_schema(PyObject *self, PyObject *unused)
{
    (void)unused;
    return export_schema(&((struct core_batch *)self)->schema);
}

static PyObject *batch_arrow_c_stream(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *keywords[] = { "requested_schema", NULL };
    PyObject *requested = NULL;
    struct core_batch *b = (struct core_batch *)self;
    grebe_error err = GREBE_ERROR_INIT;
    struct ArrowArray view = { 0 };
    struct ArrowSchema schema = { 0 };
    struct ArrowArrayStream stream = { 0 };
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O", keywords, &requested)) {
        return NULL;
    }
    if (b->array.release == NULL) {
        PyErr_SetString(PyExc_ValueError, "closed");
        return NULL;
    }
    if (grebe_array_view(core.ctx, &b->array, &view, &err) != GREBE_OK) {
        return core_raise(&err);
    }
    if (grebe_schema_copy(core.ctx, &b->schema, &schema, &err) != GREBE_OK) {
        view.release(&view);
        return core_raise(&err);
    }
    return stream_of_one(&view, &schema, &stream) == 0 ? stream_capsule(&stream) : NULL;
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
    grebe_error err = GREBE_ERROR_INIT;
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
    if (grebe_array_view(core.ctx, &b->array, &rows, &err) != GREBE_OK) {
        return core_raise(&err);
    }
    if (grebe_schema_copy(core.ctx, &b->schema, &schema, &err) != GREBE_OK) {
        rows.release(&rows);
        return core_raise(&err);
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
