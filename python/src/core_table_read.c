/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a table: all, some, as many as there are. */
#include "core_table.h"

#include <string.h>

int core_scan_args(PyObject *args, PyObject *kwargs, struct core_scan_args *out)
{
    static char *keywords[] = { "columns", "where", "rows", "limit", "batch_rows", "with_row_id", NULL };
    PyObject *columns = NULL, *rows = NULL, *limit = NULL, *batch_rows = NULL;
    const char *where = NULL;
    int with_row_id = 0;
    memset(out, 0, sizeof *out);
    out->o = (grebe_scan_options)GREBE_SCAN_OPTIONS_INIT;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OzOOOp", keywords, &columns, &where, &rows, &limit,
                                     &batch_rows, &with_row_id) ||
        core_names(columns, &out->keep, &out->names, &out->o.n_columns) != 0 ||
        core_row_range(rows, &out->o.row_begin, &out->o.row_end) != 0) {
        return -1;
    }
    if (limit != NULL && limit != Py_None) {
        out->o.limit = PyLong_AsLongLong(limit);
        if (out->o.limit < 0 && !PyErr_Occurred()) {
            PyErr_SetString(PyExc_ValueError, "limit: expected a number that is not negative");
        }
    }
    if (batch_rows != NULL && batch_rows != Py_None) {
        out->o.batch_rows = PyLong_AsLongLong(batch_rows);
        if (out->o.batch_rows < 1 && !PyErr_Occurred()) {
            PyErr_SetString(PyExc_ValueError, "batch_rows: expected at least 1");
        }
    }
    out->o.columns = out->names;
    out->o.where = where;
    out->o.with_row_id = with_row_id != 0;
    return PyErr_Occurred() ? -1 : 0;
}

void core_scan_args_free(struct core_scan_args *s)
{
    PyMem_Free((void *)s->names);
    Py_XDECREF(s->keep);
}

PyObject *core_table_scan(grebe_table *t, PyObject *args, PyObject *kwargs)
{
    struct core_scan_args s;
    grebe_error err = GREBE_ERROR_INIT;
    struct ArrowArrayStream stream = { 0 };
    grebe_status st = GREBE_EINVAL;
    if (core_scan_args(args, kwargs, &s) == 0) {
        Py_BEGIN_ALLOW_THREADS
        st = grebe_table_scan(t, &s.o, &stream, &err);
        Py_END_ALLOW_THREADS
    }
    core_scan_args_free(&s);
    if (PyErr_Occurred()) {
        return NULL;
    }
    return st == GREBE_OK ? core_stream_new(&stream) : core_raise(&err);
}

PyObject *core_table_count(grebe_table *t, PyObject *args, PyObject *kwargs)
{
    static char *keywords[] = { "where", NULL };
    const char *where = NULL;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_scan_options o = GREBE_SCAN_OPTIONS_INIT;
    grebe_status st = GREBE_OK;
    int64_t n = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|z", keywords, &where)) {
        return NULL;
    }
    o.where = where;
    Py_BEGIN_ALLOW_THREADS
    st = grebe_table_count(t, &o, &n, &err);
    Py_END_ALLOW_THREADS
    return st == GREBE_OK ? PyLong_FromLongLong(n) : core_raise(&err);
}

PyObject *core_table_take(grebe_table *t, PyObject *args, PyObject *kwargs)
{
    static char *keywords[] = { "rows", "columns", "missing", "with_row_id", NULL };
    PyObject *rows = NULL, *columns = NULL, *keep = NULL;
    const char *missing = NULL;
    const char **names = NULL;
    int with_row_id = 0;
    int64_t *ids = NULL;
    size_t n = 0;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_take_options o = GREBE_TAKE_OPTIONS_INIT;
    struct ArrowArray array = { 0 };
    struct ArrowSchema schema = { 0 };
    grebe_status st = GREBE_EINVAL;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|Ozp", keywords, &rows, &columns,
                                                  &missing, &with_row_id)) {
        return NULL;
    }
    if (missing != NULL && strcmp(missing, "null") == 0) {
        o.missing = GREBE_MISSING_NULL;
    } else if (missing != NULL && strcmp(missing, "error") != 0) {
        PyErr_Format(PyExc_ValueError, "missing: expected \"error\" or \"null\", found \"%s\"", missing);
        return NULL;
    }
    if (core_names(columns, &keep, &names, &o.n_columns) == 0 && core_row_ids(rows, &ids, &n) == 0) {
        o.columns = names;
        o.with_row_id = with_row_id != 0;
        Py_BEGIN_ALLOW_THREADS
        st = grebe_table_take(t, ids, n, &o, &array, &schema, &err);
        Py_END_ALLOW_THREADS
    }
    PyMem_Free((void *)names);
    PyMem_Free(ids);
    Py_XDECREF(keep);
    if (PyErr_Occurred()) {
        return NULL;
    }
    return st == GREBE_OK ? core_batch_new(&array, &schema) : core_raise(&err);
}
