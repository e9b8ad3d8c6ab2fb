/* SPDX-License-Identifier: Apache-2.0 */
/* The nearest rows of a table, and the indexes of its columns. */
#include "core.h"

/* search_table(table, column, rows, k, columns, where, params, exact, metric, threads) -> Stream */
PyObject *core_table_search(PyObject *self, PyObject *args)
{
    PyObject *table_object, *rows_object, *columns, *params, *keep_columns = NULL, *keep_params = NULL;
    const char *column = NULL, *metric = NULL, **names = NULL, **words = NULL;
    Py_ssize_t k = 0;
    int is_exact = 0;
    grebe_call_options call = GREBE_CALL_OPTIONS_INIT;
    grebe_table_search_options o = GREBE_TABLE_SEARCH_OPTIONS_INIT;
    grebe_error err = GREBE_ERROR_INIT;
    struct core_rows rows;
    struct ArrowArrayStream out = { 0 };
    grebe_status st = GREBE_OK;
    (void)self;
    if (!PyArg_ParseTuple(args, "OsOnOzOpzI", &table_object, &column, &rows_object, &k, &columns, &o.where, &params,
                          &is_exact, &metric, &call.threads)) {
        return NULL;
    }
    grebe_table *table = core_table_of(table_object);
    if (table == NULL || core_rows_take(rows_object, &rows) != 0) {
        return NULL;
    }
    if (k < 0) {
        PyErr_Format(PyExc_ValueError, "k: expected at least 0, found %zd", k);
    } else if (core_names(columns, &keep_columns, &names, &o.n_columns) == 0 &&
               core_names(params, &keep_params, &words, &o.n_params) == 0) {
        o.columns = names;
        o.params = words;
        o.is_exact = is_exact != 0;
        o.call = &call;
        table = grebe_table_keep(table);
        Py_BEGIN_ALLOW_THREADS
        o.has_metric = metric != NULL;
        st = o.has_metric ? grebe_metric_parse(metric, &o.metric, &err) : st;
        st = st == GREBE_OK ? grebe_table_search(table, column, &rows.v, (size_t)k, &o, &out, &err) : st;
        Py_END_ALLOW_THREADS
        grebe_table_close(table);
    }
    core_rows_release(&rows);
    PyMem_Free((void *)names);
    PyMem_Free((void *)words);
    Py_XDECREF(keep_columns);
    Py_XDECREF(keep_params);
    if (PyErr_Occurred()) {
        return NULL;
    }
    return st == GREBE_OK ? core_stream_new(&out) : core_raise(&err);
}

/* build_index(table, column, kind, metric, name, params, on_conflict, message, durable, threads) -> Table */
PyObject *core_table_build_index(PyObject *self, PyObject *args)
{
    PyObject *table_object, *params, *keep = NULL;
    const char *column = NULL, *kind = NULL, *metric = NULL, *on_conflict = NULL, *message = NULL, **words = NULL;
    int durable = 0;
    grebe_call_options call = GREBE_CALL_OPTIONS_INIT;
    grebe_column_index_options o = GREBE_COLUMN_INDEX_OPTIONS_INIT;
    grebe_txn_options txn;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_table *made = NULL;
    grebe_status st = GREBE_OK;
    (void)self;
    if (!PyArg_ParseTuple(args, "OssszOszpI", &table_object, &column, &kind, &metric, &o.name, &params, &on_conflict,
                          &message, &durable, &call.threads) ||
        core_txn_options(on_conflict, message, durable, NULL, &txn) != 0) {
        return NULL;
    }
    grebe_table *table = core_table_of(table_object);
    if (table == NULL || core_names(params, &keep, &words, &o.n_params) != 0) {
        return NULL;
    }
    o.params = words;
    o.txn = &txn;
    o.call = &call;
    table = grebe_table_keep(table);
    Py_BEGIN_ALLOW_THREADS
    st = grebe_ann_index_kind_parse(kind, &o.kind, &err);
    st = st == GREBE_OK ? grebe_metric_parse(metric, &o.metric, &err) : st;
    st = st == GREBE_OK ? grebe_table_build_index(table, column, &o, &made, &err) : st;
    Py_END_ALLOW_THREADS
    grebe_table_close(table);
    PyMem_Free((void *)words);
    Py_XDECREF(keep);
    return st == GREBE_OK ? core_table_new(made) : core_raise(&err);
}

/* drop_index(table, column, on_conflict, message, durable) -> Table */
PyObject *core_table_drop_index(PyObject *self, PyObject *args)
{
    PyObject *table_object;
    const char *column = NULL, *on_conflict = NULL, *message = NULL;
    int durable = 0;
    grebe_txn_options txn;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_table *made = NULL;
    grebe_status st = GREBE_OK;
    (void)self;
    if (!PyArg_ParseTuple(args, "Osszp", &table_object, &column, &on_conflict, &message, &durable) ||
        core_txn_options(on_conflict, message, durable, NULL, &txn) != 0) {
        return NULL;
    }
    grebe_table *table = core_table_of(table_object);
    if (table == NULL) {
        return NULL;
    }
    table = grebe_table_keep(table);
    Py_BEGIN_ALLOW_THREADS
    st = grebe_table_drop_index(table, column, &txn, &made, &err);
    Py_END_ALLOW_THREADS
    grebe_table_close(table);
    return st == GREBE_OK ? core_table_new(made) : core_raise(&err);
}
