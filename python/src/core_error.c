/* SPDX-License-Identifier: Apache-2.0 */
#include "core.h"

static void set(PyObject *object, const char *name, PyObject *value)
{
    if (value != NULL) {
        PyObject_SetAttrString(object, name, value);
        Py_DECREF(value);
    }
}

PyObject *core_raise(const grebe_error *err)
{
    if (PyErr_Occurred()) {
        return NULL; /* a Python producer failed inside the call: its own exception says more */
    }
    const char *name = grebe_status_name(err->status);
    PyObject *cls = core.error_classes != NULL ? PyDict_GetItemString(core.error_classes, name) : NULL;
    if (cls == NULL) {
        PyErr_Format(PyExc_RuntimeError, "%s: %s", name, err->message);
        return NULL;
    }
    PyObject *text = PyUnicode_DecodeUTF8(err->message, (Py_ssize_t)strlen(err->message), "replace");
    PyObject *e = text != NULL ? PyObject_CallFunctionObjArgs(cls, text, NULL) : NULL;
    Py_XDECREF(text);
    if (e == NULL) {
        return NULL;
    }
    set(e, "status", PyUnicode_FromString(name));
    set(e, "retryable", PyBool_FromLong((err->flags & GREBE_ERROR_RETRYABLE) != 0));
    if (err->flags & GREBE_ERROR_HAS_OFFSET) {
        set(e, "offset", PyLong_FromUnsignedLongLong(err->offset));
    }
    if (err->flags & GREBE_ERROR_HAS_VERSIONS) {
        set(e, "read_version", PyLong_FromUnsignedLongLong(err->read_version));
        set(e, "latest_version", PyLong_FromUnsignedLongLong(err->latest_version));
    }
    PyErr_SetObject(cls, e);
    Py_DECREF(e);
    return NULL;
}

int core_raise_int(const grebe_error *err)
{
    core_raise(err);
    return -1;
}
