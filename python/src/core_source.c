/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of whatever can be read, and files of whatever kind can be written. */
#include "core_table.h"

#include <string.h>

/* read([uri, …], format, verify, int96 in microseconds, text options, **scan) */
PyObject *core_read(PyObject *self, PyObject *args, PyObject *kwargs)
{
    const char *format = NULL, **uris = NULL;
    size_t n_uris = 0;
    PyObject *sources = NULL, *keep = NULL;
    struct core_scan_args s;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_source_options o = GREBE_SOURCE_OPTIONS_INIT;
    grebe_table_open_options table = GREBE_TABLE_OPEN_OPTIONS_INIT;
    struct core_text_args text;
    PyObject *text_options = NULL;
    grebe_source *source = NULL;
    struct ArrowArrayStream stream = { 0 };
    grebe_status st = GREBE_EINVAL;
    int verify = 1, int96_us = 0;
    (void)self;
    PyObject *empty = PyTuple_New(0);
    if (empty == NULL || !PyArg_ParseTuple(args, "OzppO!", &sources, &format, &verify, &int96_us,
                                           &PyDict_Type, &text_options) ||
        core_names(sources, &keep, &uris, &n_uris) != 0) {
        Py_XDECREF(empty);
        Py_XDECREF(keep);
        return NULL;
    }
    int is_text_fit = core_text_args(text_options, &text) == 0;
    memset(&s, 0, sizeof s); /* core_scan_args may not be called */
    if (is_text_fit && core_scan_args(empty, kwargs, &s) == 0) {
        o.format = format;
        o.table = &table;
        o.text = &text.o;
        o.is_int96_us = int96_us != 0;
        table.skip_checksums = verify == 0;
        Py_BEGIN_ALLOW_THREADS
        st = grebe_source_open_many(core.ctx, uris, n_uris, &o, &source, &err);
        if (st == GREBE_OK) {
            st = grebe_source_scan(source, &s.o, &stream, &err);
        }
        grebe_source_close(source);
        Py_END_ALLOW_THREADS
    }
    core_scan_args_free(&s);
    core_text_args_free(&text);
    PyMem_Free((void *)uris);
    Py_XDECREF(keep);
    Py_DECREF(empty);
    if (PyErr_Occurred()) {
        return NULL;
    }
    return st == GREBE_OK ? core_stream_new(&stream) : core_raise(&err);
}

/* write(path, data, options: dict) -> rows */
PyObject *core_write(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *keywords[] = { "path", "data", "options", NULL };
    const char *path = NULL;
    PyObject *data = NULL, *options = NULL;
    grebe_error err = GREBE_ERROR_INIT;
    struct core_write_args write;
    struct ArrowArrayStream rows = { 0 };
    grebe_status st = GREBE_EINVAL;
    int64_t n = 0;
    (void)self;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "sOO!", keywords, &path, &data, &PyDict_Type,
                                     &options)) {
        return NULL;
    }
    if (core_write_args(options, &write) == 0 && core_import_stream(data, &rows) == 0) {
        PyObject *durable = PyDict_GetItemString(options, "durable");
        bool is_durable = durable != NULL && PyObject_IsTrue(durable) == 1;
        Py_BEGIN_ALLOW_THREADS
        st = grebe_write_file(core.ctx, path, &rows, &write.o, is_durable, &n, &err);
        Py_END_ALLOW_THREADS
    }
    core_write_args_free(&write);
    if (PyErr_Occurred()) {
        return NULL;
    }
    return st == GREBE_OK ? PyLong_FromLongLong(n) : core_raise(&err);
}
