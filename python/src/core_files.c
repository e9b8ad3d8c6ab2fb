/* SPDX-License-Identifier: Apache-2.0 */
#include "core.h"

/* Existing files: taken into a table in place. */

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

/* import_files(uri, paths, columns, check, format, on_conflict, message, durable, profile) */
PyObject *core_import_files(PyObject *self, PyObject *args)
{
    const char *uri = NULL, *format = NULL, *on_conflict = NULL, *message = NULL, *profile = NULL;
    PyObject *paths = NULL, *columns = NULL, *keep_paths = NULL, *keep_columns = NULL;
    const char **path_names = NULL, **column_names = NULL;
    size_t n_paths = 0;
    int is_checked = 0, durable = 1;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_import_options o = GREBE_IMPORT_OPTIONS_INIT;
    grebe_txn_options txn;
    grebe_table *made = NULL;
    (void)self;
    if (!PyArg_ParseTuple(args, "sOOpzszpz", &uri, &paths, &columns, &is_checked, &format,
                          &on_conflict, &message, &durable, &profile) ||
        core_txn_options(on_conflict, message, durable, profile, &txn) != 0) {
        return NULL;
    }
    if (core_names(paths, &keep_paths, &path_names, &n_paths) == 0 &&
        core_names(columns, &keep_columns, &column_names, &o.n_columns) == 0) {
        o.columns = column_names;
        o.is_checked = is_checked != 0;
        o.format = format;
        Py_BEGIN_ALLOW_THREADS
        if (grebe_table_import(core.ctx, uri, path_names, n_paths, &o, &txn, &made, &err) !=
            GREBE_OK) {
            made = NULL;
        }
        Py_END_ALLOW_THREADS
    }
    PyMem_Free((void *)path_names);
    PyMem_Free((void *)column_names);
    Py_XDECREF(keep_paths);
    Py_XDECREF(keep_columns);
    if (made == NULL) {
        return PyErr_Occurred() ? NULL : core_raise(&err);
    }
    return core_table_new(made);
}
