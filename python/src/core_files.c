/* SPDX-License-Identifier: Apache-2.0 */
#include "core.h"

/* Existing files: taken into a table in place; packed files, which are rows without a manifest. */

int core_txn_options(const char *on_conflict, const char *message, int durable, const char *profile,
                     grebe_txn_options *out)
{
    *out = (grebe_txn_options)GREBE_TXN_OPTIONS_INIT;
    out->message = message;
    out->is_not_durable = durable == 0;
    if (strcmp(on_conflict, "fail") == 0) {
        out->on_conflict = GREBE_ON_CONFLICT_FAIL;
    } else if (strcmp(on_conflict, "overwrite") == 0) {
        out->on_conflict = GREBE_ON_CONFLICT_OVERWRITE;
    } else if (strcmp(on_conflict, "rebase") != 0) {
        PyErr_Format(PyExc_ValueError, "on_conflict: expected \"rebase\", \"fail\" or \"overwrite\", "
                     "found \"%s\"", on_conflict);
        return -1;
    }
    if (profile != NULL && strcmp(profile, "milvus") == 0) {
        out->profile = GREBE_PROFILE_MILVUS;
    } else if (profile != NULL && strcmp(profile, "open") != 0) {
        PyErr_Format(PyExc_ValueError, "profile: expected \"open\" or \"milvus\", found \"%s\"", profile);
        return -1;
    }
    return 0;
}

int core_import_args(PyObject *paths, PyObject *columns, int is_checked, const char *format, struct core_import *out)
{
    memset(out, 0, sizeof *out);
    out->o = (grebe_import_options)GREBE_IMPORT_OPTIONS_INIT;
    out->o.is_checked = is_checked != 0;
    out->o.format = format;
    int result = core_names(paths, &out->keep[0], &out->paths, &out->n_paths);
    result = result == 0 ? core_names(columns, &out->keep[1], &out->columns, &out->o.n_columns) : result;
    out->o.columns = out->columns;
    return result;
}

void core_import_args_free(struct core_import *args)
{
    PyMem_Free((void *)args->paths);
    PyMem_Free((void *)args->columns);
    Py_XDECREF(args->keep[0]);
    Py_XDECREF(args->keep[1]);
}

/* import_files(uri, paths, columns, check, format, on_conflict, message, durable, profile) */
PyObject *core_import_files(PyObject *self, PyObject *args)
{
    const char *uri = NULL, *format = NULL, *on_conflict = NULL, *message = NULL, *profile = NULL;
    PyObject *paths = NULL, *columns = NULL;
    int is_checked = 0, durable = 1;
    grebe_error err = GREBE_ERROR_INIT;
    struct core_import import;
    grebe_txn_options txn;
    grebe_table *made = NULL;
    (void)self;
    if (!PyArg_ParseTuple(args, "sOOpzszpz", &uri, &paths, &columns, &is_checked, &format,
                          &on_conflict, &message, &durable, &profile) ||
        core_txn_options(on_conflict, message, durable, profile, &txn) != 0) {
        return NULL;
    }
    if (core_import_args(paths, columns, is_checked, format, &import) == 0) {
        Py_BEGIN_ALLOW_THREADS
        if (grebe_table_import(core.ctx, uri, import.paths, import.n_paths, &import.o, &txn, &made, &err) !=
            GREBE_OK) {
            made = NULL;
        }
        Py_END_ALLOW_THREADS
    }
    core_import_args_free(&import);
    if (made == NULL) {
        return PyErr_Occurred() ? NULL : core_raise(&err);
    }
    return core_table_new(made);
}

/* ---- packed files ---- */

/* The schema behind __arrow_c_schema__, borrowed from *keep. 0, or -1. */
static int borrow_schema(PyObject *object, PyObject **keep, const struct ArrowSchema **out)
{
    *keep = PyObject_CallMethod(object, "__arrow_c_schema__", NULL);
    *out = *keep != NULL ? PyCapsule_GetPointer(*keep, "arrow_schema") : NULL;
    return *out != NULL ? 0 : -1;
}

/* open_packed(paths, field_ids, schema) */
PyObject *core_open_packed(PyObject *self, PyObject *args)
{
    PyObject *paths = NULL, *ids = NULL, *schema = NULL, *keep = NULL, *keep_schema = NULL;
    const char **names = NULL;
    size_t n = 0;
    int64_t *field_ids = NULL;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_packed_options o = GREBE_PACKED_OPTIONS_INIT;
    grebe_table *table = NULL;
    (void)self;
    if (!PyArg_ParseTuple(args, "OOO", &paths, &ids, &schema)) {
        return NULL;
    }
    if (core_names(paths, &keep, &names, &n) == 0 &&
        (ids == Py_None || core_row_ids(ids, &field_ids, &o.n_field_ids) == 0) &&
        (schema == Py_None || borrow_schema(schema, &keep_schema, &o.schema) == 0)) {
        o.field_ids = field_ids;
        Py_BEGIN_ALLOW_THREADS
        if (grebe_packed_open(core.ctx, names, n, &o, &table, &err) != GREBE_OK) {
            table = NULL;
        }
        Py_END_ALLOW_THREADS
    }
    PyMem_Free((void *)names);
    PyMem_Free(field_ids);
    Py_XDECREF(keep);
    Py_XDECREF(keep_schema);
    if (table == NULL) {
        return PyErr_Occurred() ? NULL : core_raise(&err);
    }
    return core_table_new(table);
}

/* write_packed(paths, data, options) */
PyObject *core_write_packed(PyObject *self, PyObject *args)
{
    PyObject *paths = NULL, *data = NULL, *options = NULL, *keep = NULL;
    const char **names = NULL;
    size_t n = 0;
    struct core_write_args write;
    struct ArrowArrayStream rows = { 0 };
    grebe_error err = GREBE_ERROR_INIT;
    grebe_status st = GREBE_EINVAL;
    int64_t n_rows = 0;
    (void)self;
    if (!PyArg_ParseTuple(args, "OOO!", &paths, &data, &PyDict_Type, &options)) {
        return NULL;
    }
    if (core_write_args(options, &write) == 0 && core_names(paths, &keep, &names, &n) == 0) {
        PyObject *durable = PyDict_GetItemString(options, "durable");
        bool is_durable = durable != NULL && PyObject_IsTrue(durable) == 1;
        if (write.groups != NULL && write.o.n_groups != n) {
            PyErr_Format(PyExc_ValueError, "groups: expected one for each of %zu paths, found %zu", n,
                         write.o.n_groups);
        } else if (core_import_stream(data, &rows) == 0) {
            Py_BEGIN_ALLOW_THREADS
            st = grebe_packed_write(core.ctx, names, n, &rows, write.groups, &write.o, is_durable,
                                    &n_rows, &err);
            Py_END_ALLOW_THREADS
        }
    }
    core_write_args_free(&write);
    PyMem_Free((void *)names);
    Py_XDECREF(keep);
    if (PyErr_Occurred()) {
        return NULL;
    }
    return st == GREBE_OK ? PyLong_FromLongLong(n_rows) : core_raise(&err);
}
