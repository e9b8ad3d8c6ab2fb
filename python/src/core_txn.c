/* SPDX-License-Identifier: Apache-2.0 */
#include "core.h"

#include <string.h>

struct core_txn {
    PyObject_HEAD
    grebe_txn *txn;
    bool is_busy; /* rows are being written, perhaps without the GIL: no other call may touch it */
};

grebe_txn *core_txn_of(PyObject *self)
{
    struct core_txn *t = (struct core_txn *)self;
    if (t->is_busy) {
        PyErr_SetString(PyExc_ValueError, "the transaction is in use by another call");
        return NULL;
    }
    if (t->txn == NULL) {
        PyErr_SetString(PyExc_ValueError, "the transaction was committed or given up");
    }
    return t->txn;
}

static void txn_dealloc(PyObject *self)
{
    grebe_txn_free(((struct core_txn *)self)->txn);
    core_object_free(self);
}

/* Txn(table, on_conflict, message, durable, profile) */
static PyObject *txn_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *keywords[] = { "table", "on_conflict", "message", "durable", "profile", NULL };
    PyObject *table = NULL;
    const char *on_conflict = "rebase", *message = NULL, *profile = NULL;
    int durable = 1;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_txn_options o;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|szpz", keywords, &table, &on_conflict, &message,
                                     &durable, &profile)) {
        return NULL;
    }
    if (core_txn_options(on_conflict, message, durable, profile, &o) != 0) {
        return NULL;
    }
    if (!PyObject_IsInstance(table, core.table_class)) {
        PyErr_SetString(PyExc_TypeError, "expected a grebe.Table");
        return NULL;
    }
    grebe_table *t = core_table_of(table);
    if (t == NULL) {
        return NULL;
    }
    PyObject *self = core_object_new((PyObject *)type);
    if (self != NULL && grebe_txn_new(t, &o, &((struct core_txn *)self)->txn, &err) != GREBE_OK) {
        Py_DECREF(self);
        return core_raise(&err);
    }
    return self;
}

/* _append(data, options) and _add_columns(data, rows, options) */
static PyObject *write_rows(PyObject *self, PyObject *data, PyObject *rows, PyObject *options,
                            bool is_append)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct core_write_args write;
    struct ArrowArrayStream stream = { 0 };
    int64_t begin = 0, end = INT64_MAX;
    grebe_status st = GREBE_EINVAL;
    grebe_txn *t = core_txn_of(self);
    if (t == NULL) {
        return NULL;
    }
    ((struct core_txn *)self)->is_busy = true;
    if (core_write_args(options, &write) == 0 && core_row_range(rows, &begin, &end) == 0 &&
        core_import_stream(data, &stream) == 0) {
        Py_BEGIN_ALLOW_THREADS
        st = is_append ? grebe_txn_append(t, &stream, &write.o, &err)
                       : grebe_txn_add_columns(t, &stream, begin, end, &write.o, &err);
        Py_END_ALLOW_THREADS
    }
    ((struct core_txn *)self)->is_busy = false;
    core_write_args_free(&write);
    if (PyErr_Occurred()) {
        return NULL;
    }
    if (st != GREBE_OK) {
        return core_raise(&err);
    }
    Py_RETURN_NONE;
}

static PyObject *txn_append(PyObject *self, PyObject *args)
{
    PyObject *data = NULL, *options = NULL;
    return PyArg_ParseTuple(args, "OO!", &data, &PyDict_Type, &options)
               ? write_rows(self, data, NULL, options, true)
               : NULL;
}

static PyObject *txn_add_columns(PyObject *self, PyObject *args)
{
    PyObject *data = NULL, *rows = NULL, *options = NULL;
    return PyArg_ParseTuple(args, "OOO!", &data, &rows, &PyDict_Type, &options)
               ? write_rows(self, data, rows, options, false)
               : NULL;
}

/* _import(paths, columns, check, format) */
static PyObject *txn_import(PyObject *self, PyObject *args)
{
    PyObject *paths = NULL, *columns = NULL;
    const char *format = NULL;
    int is_checked = 0;
    grebe_error err = GREBE_ERROR_INIT;
    struct core_import import;
    grebe_status st = GREBE_EINVAL;
    if (!PyArg_ParseTuple(args, "OOpz", &paths, &columns, &is_checked, &format)) {
        return NULL;
    }
    grebe_txn *t = core_txn_of(self);
    if (t == NULL) {
        return NULL;
    }
    if (core_import_args(paths, columns, is_checked, format, &import) == 0) {
        ((struct core_txn *)self)->is_busy = true;
        Py_BEGIN_ALLOW_THREADS
        st = grebe_txn_import(t, import.paths, import.n_paths, &import.o, &err);
        Py_END_ALLOW_THREADS
        ((struct core_txn *)self)->is_busy = false;
    }
    core_import_args_free(&import);
    if (PyErr_Occurred()) {
        return NULL;
    }
    if (st != GREBE_OK) {
        return core_raise(&err);
    }
    Py_RETURN_NONE;
}

static PyObject *finish(grebe_status st, const grebe_error *err)
{
    if (st != GREBE_OK) {
        return core_raise(err);
    }
    Py_RETURN_NONE;
}

static PyObject *txn_drop_column(PyObject *self, PyObject *args)
{
    const char *name = NULL;
    grebe_error err = GREBE_ERROR_INIT;
    if (!PyArg_ParseTuple(args, "s", &name)) {
        return NULL;
    }
    grebe_txn *t = core_txn_of(self);
    if (t == NULL) {
        return NULL;
    }
    return finish(grebe_txn_drop_column(t, name, &err), &err);
}

static PyObject *txn_rename_column(PyObject *self, PyObject *args)
{
    const char *old_name = NULL, *new_name = NULL;
    grebe_error err = GREBE_ERROR_INIT;
    if (!PyArg_ParseTuple(args, "ss", &old_name, &new_name)) {
        return NULL;
    }
    grebe_txn *t = core_txn_of(self);
    if (t == NULL) {
        return NULL;
    }
    return finish(grebe_txn_rename_column(t, old_name, new_name, &err), &err);
}

static PyObject *txn_commit(PyObject *self, PyObject *unused)
{
    (void)unused;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_table *made = NULL;
    grebe_status st = GREBE_OK;
    grebe_txn *t = core_txn_of(self);
    if (t == NULL) {
        return NULL;
    }
    ((struct core_txn *)self)->txn = NULL; /* so that no other thread takes it up */
    Py_BEGIN_ALLOW_THREADS
    st = grebe_txn_commit(t, NULL, &made, &err);
    grebe_txn_free(t);
    Py_END_ALLOW_THREADS
    return st == GREBE_OK ? core_table_new(made) : core_raise(&err);
}

static PyObject *txn_abort(PyObject *self, PyObject *unused)
{
    (void)unused;
    grebe_txn *t = ((struct core_txn *)self)->txn;
    if (t != NULL && core_txn_of(self) == NULL) {
        return NULL;
    }
    ((struct core_txn *)self)->txn = NULL;
    Py_BEGIN_ALLOW_THREADS
    grebe_txn_free(t);
    Py_END_ALLOW_THREADS
    Py_RETURN_NONE;
}

static PyMethodDef txn_methods[] = {
    { "_append", txn_append, METH_VARARGS, NULL },
    { "_add_columns", txn_add_columns, METH_VARARGS, NULL },
    { "_import", txn_import, METH_VARARGS, NULL },
    { "_append_files", core_txn_append_files, METH_VARARGS, NULL },
    { "_add_group", core_txn_add_group, METH_VARARGS, NULL },
    { "_add_delta_log", core_txn_add_delta_log, METH_VARARGS, NULL },
    { "_set_stat", core_txn_set_stat, METH_VARARGS, NULL },
    { "_add_index", core_txn_add_index, METH_VARARGS, NULL },
    { "_drop_index", core_txn_drop_index, METH_VARARGS, NULL },
    { "_add_lob_file", core_txn_add_lob_file, METH_VARARGS, NULL },
    { "_drop_column", txn_drop_column, METH_VARARGS, NULL },
    { "_rename_column", txn_rename_column, METH_VARARGS, NULL },
    { "_commit", txn_commit, METH_NOARGS, NULL },
    { "_abort", txn_abort, METH_NOARGS, NULL },
    { NULL, NULL, 0, NULL }
};
static PyType_Slot txn_slots[] = { { Py_tp_dealloc, (void *)txn_dealloc },
                                   { Py_tp_new, (void *)txn_new },
                                   { Py_tp_methods, txn_methods },
                                   { 0, NULL } };
PyType_Spec core_txn_spec = { "grebe._core.Txn", sizeof(struct core_txn), 0,
                              Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, txn_slots };
