/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of grebe.dataset: options from dicts, progress and Ctrl-C, functions of Python that the library calls. */
#include "core_dataset.h"

#include <errno.h>
#include <time.h>

/* ---- progress and cancel ---- */

static int64_t now_us(void)
{
    struct timespec t = { 0, 0 };
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* At most 20 times a second: the GIL is taken only then. */
static void on_progress(void *ctx, const grebe_progress *p)
{
    enum { EVERY_US = 50000 };
    struct core_call *call = ctx;
    int64_t now = now_us();
    if (now - call->last_us < EVERY_US || call->is_interrupted) {
        return;
    }
    call->last_us = now;
    PyGILState_STATE gil = PyGILState_Ensure();
    PyObject *done = call->progress != NULL
                         ? PyObject_CallFunction(call->progress, "sKK", p->phase, (unsigned long long)p->rows_done,
                                                 (unsigned long long)p->rows_total)
                         : Py_NewRef(Py_None);
    if (done == NULL || PyErr_CheckSignals() != 0) {
        call->is_interrupted = true; /* the exception stays set: core_raise gives it */
        grebe_cancel_set(call->o.cancel);
    }
    Py_XDECREF(done);
    PyGILState_Release(gil);
}

int core_call_begin(PyObject *options, struct core_call *out)
{
    grebe_error err = GREBE_ERROR_INIT;
    *out = (struct core_call){ .o = GREBE_CALL_OPTIONS_INIT, .last_us = now_us() };
    PyObject *threads = PyDict_GetItemString(options, "threads");
    PyObject *progress = PyDict_GetItemString(options, "progress");
    if (threads != NULL && threads != Py_None) {
        long n = PyLong_AsLong(threads);
        if (n < 0 || n > 256) {
            if (!PyErr_Occurred()) {
                PyErr_Format(PyExc_ValueError, "threads: expected a number from 0 to 256, found %ld", n);
            }
            return -1;
        }
        out->o.threads = (uint32_t)n;
    }
    if (grebe_cancel_new(core.ctx, &out->o.cancel, &err) != GREBE_OK) {
        return core_raise_int(&err);
    }
    out->progress = progress != Py_None ? progress : NULL;
    out->o.progress = on_progress;
    out->o.progress_ctx = out;
    return 0;
}

void core_call_end(struct core_call *call)
{
    grebe_cancel_free(call->o.cancel);
    call->o.cancel = NULL;
}

bool core_text(PyObject *object, const char **out)
{
    *out = NULL;
    if (object == NULL || object == Py_None) {
        return true;
    }
    Py_ssize_t len = 0;
    *out = PyUnicode_Check(object) ? PyUnicode_AsUTF8AndSize(object, &len) : NULL;
    if (*out != NULL && strlen(*out) != (size_t)len) {
        PyErr_SetString(PyExc_ValueError, "embedded null character");
        *out = NULL;
    } else if (*out == NULL && !PyErr_Occurred()) {
        PyErr_Format(PyExc_TypeError, "expected str or None, found %R", object);
    }
    return *out != NULL;
}

static bool flag(PyObject *options, const char *name)
{
    PyObject *v = PyDict_GetItemString(options, name);
    return v != NULL && PyObject_IsTrue(v) == 1;
}

static int64_t number(PyObject *options, const char *name, int64_t otherwise)
{
    PyObject *v = PyDict_GetItemString(options, name);
    return v != NULL && v != Py_None ? PyLong_AsLongLong(v) : otherwise;
}

int core_transform_begin(PyObject *options, struct core_transform *out)
{
    out->o = (grebe_transform_options)GREBE_TRANSFORM_OPTIONS_INIT;
    if (!core_text(PyDict_GetItemString(options, "cache_file"), &out->o.cache_file) ||
        !core_text(PyDict_GetItemString(options, "new_fingerprint"), &out->o.new_fingerprint)) {
        return -1;
    }
    out->o.ignore_cache = flag(options, "ignore_cache");
    out->o.keep_in_memory = flag(options, "keep_in_memory");
    out->o.writer_batch_rows = number(options, "writer_batch_rows", 0);
    if (PyErr_Occurred() || core_call_begin(options, &out->call) != 0) {
        return -1;
    }
    out->o.call = &out->call.o;
    return 0;
}

int core_map_begin(PyObject *options, struct core_map *out)
{
    *out = (struct core_map){ .o = GREBE_MAP_OPTIONS_INIT };
    grebe_map_options *o = &out->o;
    if (core_names(PyDict_GetItemString(options, "input_columns"), &out->keep[0], &out->names[0], &o->n_input_columns) != 0 ||
        core_names(PyDict_GetItemString(options, "remove_columns"), &out->keep[1], &out->names[1], &o->n_remove_columns) != 0 ||
        !core_text(PyDict_GetItemString(options, "features"), &o->features) ||
        !core_text(PyDict_GetItemString(options, "function_id"), &o->function_id) ||
        !core_text(PyDict_GetItemString(options, "suffix_template"), &o->suffix_template)) {
        core_map_end(out);
        return -1;
    }
    o->input_columns = out->names[0];
    o->remove_columns = out->names[1];
    o->batch_rows = number(options, "batch_rows", 0);
    o->drop_last_batch = flag(options, "drop_last_batch");
    o->is_rows_fixed = flag(options, "is_rows_fixed");
    o->is_type_kept = flag(options, "is_type_kept");
    o->n_parts = (int32_t)number(options, "n_parts", 0);
    o->part = (int32_t)number(options, "part", -1);
    if (PyErr_Occurred()) {
        core_map_end(out);
        return -1;
    }
    return 0;
}

void core_map_end(struct core_map *map)
{
    for (int i = 0; i < 2; i++) {
        PyMem_Free((void *)map->names[i]);
        Py_XDECREF(map->keep[i]);
        map->names[i] = NULL;
        map->keep[i] = NULL;
    }
}

int core_seed(PyObject *object, grebe_seed *out)
{
    *out = (grebe_seed){ NULL, 0 };
    if (object == Py_None) {
        return 0;
    }
    char *bytes = NULL;
    Py_ssize_t len = 0;
    if (PyBytes_AsStringAndSize(object, &bytes, &len) != 0) {
        return -1;
    }
    out->words = (const uint32_t *)(const void *)bytes; /* a bytes object's data is aligned to 8 and more */
    out->n = (size_t)len / 4;
    return 0;
}

int core_bytes_write(void *ctx, const void *bytes, size_t len)
{
    struct core_bytes *b = ctx;
    if (b->capacity - b->len < len) {
        size_t more = b->capacity * 2 > b->len + len ? b->capacity * 2 : b->len + len + 256;
        char *data = realloc(b->data, more);
        if (data == NULL) {
            return ENOMEM;
        }
        b->data = data;
        b->capacity = more;
    }
    memcpy(b->data + b->len, bytes, len);
    b->len += len;
    return 0;
}

/* ---- functions of Python ---- */

/* Exceptions that wait to be raised when the library's call has come back, by number. */
static PyObject *waiting; /* dict; guarded by the GIL */
static long long n_waiting;

grebe_status core_keep_exception(grebe_error *err)
{
    PyObject *type = NULL, *value = NULL, *trace = NULL;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    if (trace != NULL && value != NULL) {
        PyException_SetTraceback(value, trace);
    }
    PyObject *key = PyLong_FromLongLong(++n_waiting);
    waiting = waiting != NULL ? waiting : PyDict_New();
    if (key != NULL && waiting != NULL && value != NULL) {
        (void)PyDict_SetItem(waiting, key, value);
    }
    Py_XDECREF(key);
    PyObject *text = value != NULL ? PyObject_Str(value) : NULL;
    PyErr_Clear();
    const char *words = text != NULL ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
    PyErr_Clear();
    err->status = GREBE_EINVAL;
    err->flags = 0;
    snprintf(err->message, sizeof err->message, "<python exception %lld> %.200s", n_waiting, words != NULL ? words : "");
    Py_XDECREF(text);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
    return err->status;
}

PyObject *core_raise_function(const grebe_error *err)
{
    const char *mark = strstr(err->message, "<python exception ");
    if (mark == NULL || waiting == NULL || PyErr_Occurred()) {
        return core_raise(err);
    }
    PyObject *key = PyLong_FromLongLong(strtoll(mark + strlen("<python exception "), NULL, 10));
    PyObject *value = key != NULL ? PyDict_GetItemWithError(waiting, key) : NULL;
    if (value == NULL) {
        Py_XDECREF(key);
        return core_raise(err);
    }
    Py_INCREF(value);
    (void)PyDict_DelItem(waiting, key);
    Py_DECREF(key);
    if (mark != err->message) { /* which rows: said by the library in front */
        PyObject *note = PyUnicode_DecodeUTF8(err->message, (Py_ssize_t)(mark - err->message), "replace");
        PyObject *done = note != NULL ? PyObject_CallMethod(value, "add_note", "O", note) : NULL;
        PyErr_Clear();
        Py_XDECREF(done);
        Py_XDECREF(note);
    }
    PyErr_SetObject((PyObject *)Py_TYPE(value), value);
    Py_DECREF(value);
    return NULL;
}

struct core_function *core_function_new(PyObject *fn)
{
    struct core_function *f = calloc(1, sizeof *f);
    if (f == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    f->fn = Py_NewRef(fn);
    return f;
}

void core_function_free(void *function)
{
    struct core_function *f = function;
    PyGILState_STATE gil = PyGILState_Ensure();
    Py_DECREF(f->fn);
    PyGILState_Release(gil);
    free(f);
}

/* The batch as a Python object, then fn(batch, first_row, part); NULL with an exception. */
static PyObject *call_with_batch(const struct core_function *f, const grebe_map_input *in)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct ArrowArray rows = { 0 };
    struct ArrowSchema schema = { 0 };
    if (grebe_array_view(core.ctx, in->rows, &rows, &err) != GREBE_OK) {
        return core_raise(&err);
    }
    if (grebe_schema_copy(core.ctx, in->schema, &schema, &err) != GREBE_OK) {
        rows.release(&rows);
        return core_raise(&err);
    }
    PyObject *batch = core_batch_new(&rows, &schema);
    PyObject *result = batch != NULL ? PyObject_CallFunction(f->fn, "OLi", batch, (long long)in->first_row, (int)in->part) : NULL;
    Py_XDECREF(batch);
    return result;
}

/* None, or (kind, Batch). */
static int take_output(PyObject *result, grebe_map_output *out)
{
    PyObject *batch = NULL;
    if (result == Py_None) {
        out->kind = GREBE_MAP_NOTHING;
        return 0;
    }
    if (!PyArg_ParseTuple(result, "iO", &out->kind, &batch)) {
        return -1;
    }
    if (!PyObject_TypeCheck(batch, (PyTypeObject *)core.batch_class)) {
        PyErr_SetString(PyExc_TypeError, "expected a Batch");
        return -1;
    }
    grebe_error err = GREBE_ERROR_INIT;
    struct core_batch *b = (struct core_batch *)batch;
    if (grebe_array_view(core.ctx, &b->array, &out->rows, &err) != GREBE_OK ||
        grebe_schema_copy(core.ctx, &b->schema, &out->schema, &err) != GREBE_OK) {
        return core_raise_int(&err);
    }
    return 0;
}

grebe_status core_function_map(void *function, const grebe_map_input *in, grebe_map_output *out, grebe_error *err)
{
    PyGILState_STATE gil = PyGILState_Ensure();
    PyObject *result = call_with_batch(function, in);
    grebe_status st = result != NULL && take_output(result, out) == 0 ? GREBE_OK : core_keep_exception(err);
    Py_XDECREF(result);
    PyGILState_Release(gil);
    return st;
}

/* The function gives a bytes-like of one byte a row. */
grebe_status core_function_filter(void *function, const grebe_map_input *in, uint8_t *keep, grebe_error *err)
{
    PyGILState_STATE gil = PyGILState_Ensure();
    PyObject *result = call_with_batch(function, in);
    Py_buffer view;
    grebe_status st = GREBE_OK;
    if (result == NULL || PyObject_GetBuffer(result, &view, PyBUF_SIMPLE) != 0) {
        st = core_keep_exception(err);
    } else {
        if (view.len != (Py_ssize_t)in->rows->length) {
            PyErr_Format(PyExc_ValueError, "filter: expected a mask of %lld values, found %zd", (long long)in->rows->length,
                         view.len);
            st = core_keep_exception(err);
        } else {
            memcpy(keep, view.buf, (size_t)view.len);
        }
        PyBuffer_Release(&view);
    }
    Py_XDECREF(result);
    PyGILState_Release(gil);
    return st;
}

/* The rows of a shard: fn(shard, skip) gives any Arrow stream. */
grebe_status core_function_shard(void *function, int64_t shard, int64_t skip, struct ArrowArrayStream *out, grebe_error *err)
{
    const struct core_function *f = function;
    PyGILState_STATE gil = PyGILState_Ensure();
    PyObject *result = PyObject_CallFunction(f->fn, "LL", (long long)shard, (long long)skip);
    grebe_status st = result != NULL && core_import_stream(result, out) == 0 ? GREBE_OK : core_keep_exception(err);
    Py_XDECREF(result);
    PyGILState_Release(gil);
    return st;
}
