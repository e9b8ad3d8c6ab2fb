/* SPDX-License-Identifier: Apache-2.0 */
/* Rows that come batch after batch. */
#include "core.h"

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

static void stream_dealloc(PyObject *self)
{
    struct core_stream *s = (struct core_stream *)self;
    if (s->stream.release != NULL) {
        s->stream.release(&s->stream);
    }
    core_object_free(self);
}

PyObject *core_stream_new(struct ArrowArrayStream *stream)
{
    PyObject *self = core_object_new(core.stream_class);
    if (self == NULL) {
        stream->release(stream);
        return NULL;
    }
    ((struct core_stream *)self)->stream = *stream;
    stream->release = NULL;
    return self;
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
    return core_stream_capsule(&s->stream);
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
