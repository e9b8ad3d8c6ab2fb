/* SPDX-License-Identifier: Apache-2.0 */
/* Versions of a table: which there are, what made them, their names. */
#include "core_table.h"

PyObject *core_table_tags(grebe_table *t, PyObject *args, PyObject *kwargs)
{
    (void)args;
    (void)kwargs;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_tag_list *tags = NULL;
    grebe_status st = GREBE_OK;
    Py_BEGIN_ALLOW_THREADS
    st = grebe_table_tags(t, &tags, &err);
    Py_END_ALLOW_THREADS
    if (st != GREBE_OK) {
        return core_raise(&err);
    }
    PyObject *dict = PyDict_New();
    for (size_t i = 0; dict != NULL && i < tags->n; i++) {
        PyObject *v = PyLong_FromLongLong(tags->tags[i].version);
        if (v == NULL || PyDict_SetItemString(dict, tags->tags[i].name, v) != 0) {
            Py_CLEAR(dict);
        }
        Py_XDECREF(v);
    }
    grebe_tag_list_free(tags);
    return dict;
}

PyObject *core_table_versions(grebe_table *t, PyObject *args, PyObject *kwargs)
{
    (void)args;
    (void)kwargs;
    grebe_error err = GREBE_ERROR_INIT;
    int64_t *versions = NULL;
    size_t n = 0;
    grebe_status st = GREBE_OK;
    Py_BEGIN_ALLOW_THREADS
    st = grebe_table_versions(t, &versions, &n, &err);
    Py_END_ALLOW_THREADS
    if (st != GREBE_OK) {
        return core_raise(&err);
    }
    PyObject *list = PyList_New((Py_ssize_t)n);
    for (size_t i = 0; list != NULL && i < n; i++) {
        PyObject *v = PyLong_FromLongLong(versions[i]);
        if (v == NULL || PyList_SetItem(list, (Py_ssize_t)i, v) != 0) {
            Py_CLEAR(list);
        }
    }
    grebe_versions_free(t, versions, n);
    return list;
}

PyObject *core_table_log(grebe_table *t, PyObject *args, PyObject *kwargs)
{
    static char *keywords[] = { "limit", NULL };
    Py_ssize_t limit = 0;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_log *log = NULL;
    grebe_status st = GREBE_OK;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|n", keywords, &limit)) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    st = grebe_table_log(t, limit > 0 ? (size_t)limit : 0, &log, &err);
    Py_END_ALLOW_THREADS
    if (st != GREBE_OK) {
        return core_raise(&err);
    }
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list != NULL && i < log->n; i++) {
        const grebe_log_entry *e = &log->entries[i];
        PyObject *item = Py_BuildValue("{s:L,s:L,s:s,s:s,s:s,s:L,s:n,s:n}", "version",
                                       (long long)e->version, "time_us", (long long)e->time_us,
                                       "operation", e->operation, "message", e->message, "writer",
                                       e->writer, "num_rows", (long long)e->n_rows, "groups",
                                       (Py_ssize_t)e->n_groups, "files", (Py_ssize_t)e->n_files);
        if (item == NULL || PyList_Append(list, item) != 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(item);
    }
    grebe_log_free(log);
    return list;
}

PyObject *core_table_at(grebe_table *t, PyObject *args, PyObject *kwargs)
{
    const char *at = NULL;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_table *out = NULL;
    grebe_status st = GREBE_OK;
    (void)kwargs;
    if (!PyArg_ParseTuple(args, "z", &at)) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    st = grebe_table_open_at(t, at, &out, &err);
    Py_END_ALLOW_THREADS
    return st == GREBE_OK ? core_table_new(out) : core_raise(&err);
}

PyObject *core_table_tag(grebe_table *t, PyObject *args, PyObject *kwargs)
{
    static char *keywords[] = { "name", "version", "message", "delete", NULL };
    const char *name = NULL, *message = NULL;
    PyObject *version = NULL;
    int is_delete = 0;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_status st = GREBE_OK;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "s|Ozp", keywords, &name, &version,
                                                  &message, &is_delete)) {
        return NULL;
    }
    int64_t v = grebe_table_version(t);
    if (version != NULL && version != Py_None) {
        v = PyLong_AsLongLong(version);
        if (PyErr_Occurred()) {
            return NULL;
        }
    }
    Py_BEGIN_ALLOW_THREADS
    st = is_delete ? grebe_table_tag_delete(t, name, &err)
                   : grebe_table_tag(t, name, v, message, &err);
    Py_END_ALLOW_THREADS
    if (st != GREBE_OK) {
        return core_raise(&err);
    }
    Py_RETURN_NONE;
}
