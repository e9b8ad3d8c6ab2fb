/* SPDX-License-Identifier: Apache-2.0 */
/* What a call on a vector collection gave: as JSON text, or its points as rows. */
#include "core.h"

#include <errno.h>
#include <string.h>

struct core_vdb_result {
    PyObject_HEAD
    grebe_vdb_result *result;
};

static PyObject *result_new(grebe_vdb_result *result)
{
    PyObject *self = core_object_new(core.vdb_result_class);
    if (self == NULL) {
        grebe_vdb_result_free(result);
        return NULL;
    }
    ((struct core_vdb_result *)self)->result = result;
    return self;
}

static PyObject *result_json(PyObject *self, PyObject *unused);

/* A result as a dict. NULL with an exception. */
static PyObject *dict_of(grebe_vdb_result *result)
{
    PyObject *object = result_new(result);
    PyObject *text = object != NULL ? result_json(object, NULL) : NULL;
    PyObject *json = text != NULL ? PyImport_ImportModule("json") : NULL;
    PyObject *dict = json != NULL ? PyObject_CallMethod(json, "loads", "O", text) : NULL;
    Py_XDECREF(json);
    Py_XDECREF(text);
    Py_XDECREF(object);
    return dict;
}

/* The exception that is set gets the result, which lists what stood in the way. */
static void attach(grebe_vdb_result *result)
{
    PyObject *type = NULL, *value = NULL, *trace = NULL;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    PyObject *dict = dict_of(result);
    if (dict == NULL || PyObject_SetAttrString(value, "result", dict) != 0) {
        PyErr_Clear();
    }
    Py_XDECREF(dict);
    PyErr_Restore(type, value, trace);
}

PyObject *core_vdb_give(grebe_status st, grebe_vdb_result *result, const grebe_error *err, bool is_report)
{
    if (st == GREBE_OK || (result != NULL && is_report)) {
        return result_new(result);
    }
    core_raise(err);
    if (result != NULL) {
        attach(result);
    }
    return NULL;
}

static void result_dealloc(PyObject *self)
{
    grebe_vdb_result_free(((struct core_vdb_result *)self)->result);
    core_object_free(self);
}

/* ---- text ---- */

struct text {
    char *bytes;
    size_t len, capacity;
};

static int append(void *write_ctx, const void *bytes, size_t len)
{
    struct text *t = write_ctx;
    if (len > t->capacity - t->len) {
        size_t more = t->capacity * 2 + len;
        char *grown = realloc(t->bytes, more);
        if (grown == NULL) {
            return ENOMEM;
        }
        t->bytes = grown;
        t->capacity = more;
    }
    if (len != 0) {
        memcpy(t->bytes + t->len, bytes, len);
    }
    t->len += len;
    return 0;
}

static PyObject *result_json(PyObject *self, PyObject *unused)
{
    (void)unused;
    const grebe_vdb_result *r = ((struct core_vdb_result *)self)->result;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_status st = GREBE_OK;
    struct text text = { 0 };
    Py_BEGIN_ALLOW_THREADS
    st = grebe_vdb_result_print(r, GREBE_VDB_JSON, append, &text, &err);
    Py_END_ALLOW_THREADS
    const char *bytes = text.bytes != NULL ? text.bytes : "";
    PyObject *out = st == GREBE_OK ? PyUnicode_DecodeUTF8(bytes, (Py_ssize_t)text.len, "strict") : core_raise(&err);
    free(text.bytes);
    return out;
}

static PyObject *result_rows(PyObject *self, PyObject *unused)
{
    (void)unused;
    const grebe_vdb_result *r = ((struct core_vdb_result *)self)->result;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_status st = GREBE_OK;
    struct ArrowArray rows = { 0 };
    struct ArrowSchema schema = { 0 };
    Py_BEGIN_ALLOW_THREADS
    st = grebe_vdb_result_rows(r, &rows, &schema, &err);
    Py_END_ALLOW_THREADS
    return st == GREBE_OK ? core_batch_new(&rows, &schema) : core_raise(&err);
}

static PyObject *result_root(PyObject *self, void *unused)
{
    (void)unused;
    const char *root = grebe_vdb_result_root(((struct core_vdb_result *)self)->result);
    return root != NULL ? PyUnicode_FromString(root) : Py_NewRef(Py_None);
}

static PyObject *result_count(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromUnsignedLongLong(grebe_vdb_result_count(((struct core_vdb_result *)self)->result));
}

static PyMethodDef result_methods[] = { { "json", result_json, METH_NOARGS, "As git-vdb prints it." },
                                        { "rows", result_rows, METH_NOARGS, "The points as a Batch." },
                                        { NULL, NULL, 0, NULL } };
static PyGetSetDef result_getset[] = { { "root", result_root, NULL, "The root, or None.", NULL },
                                       { "count", result_count, NULL, "Points, collections, commits.", NULL },
                                       { NULL, NULL, NULL, NULL, NULL } };
static PyType_Slot result_slots[] = { { Py_tp_dealloc, (void *)result_dealloc },
                                      { Py_tp_methods, result_methods },
                                      { Py_tp_getset, result_getset },
                                      { 0, NULL } };
PyType_Spec core_vdb_result_spec = { "grebe._core.VdbResult", sizeof(struct core_vdb_result), 0,
                                     Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, result_slots };
