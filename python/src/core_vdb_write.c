/* SPDX-License-Identifier: Apache-2.0 */
/* Making and changing vector collections. */
#include "core.h"

#include <errno.h>
#include <string.h>

/* create(name, dimension, vector_space, full_scan_threshold, probes, candidate_limit, format); None: the default. */
PyObject *core_vdb_create(PyObject *self, PyObject *args)
{
    const char *name = NULL, *space = NULL;
    unsigned long long dimension = 0, threshold = 0, probes = 0, limit = 0, format = 0;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_vdb_result *r = NULL;
    grebe_status st = GREBE_OK;
    if (!PyArg_ParseTuple(args, "sKzKKKK", &name, &dimension, &space, &threshold, &probes, &limit, &format)) {
        return NULL;
    }
    if (dimension > UINT32_MAX || format > UINT32_MAX) {
        PyErr_Format(PyExc_ValueError, "dimension: expected 1 to %lu, found %llu", (unsigned long)UINT32_MAX,
                     dimension);
        return NULL;
    }
    grebe_vdb_config c = GREBE_VDB_CONFIG_INIT((uint32_t)dimension);
    c.vector_space = space;
    c.full_scan_threshold = threshold;
    c.default_probes = probes;
    c.default_candidate_limit = limit;
    c.format = (uint32_t)format;
    grebe_vdb *vdb = core_vdb_enter(self);
    if (vdb == NULL) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    st = grebe_vdb_create(vdb, name, &c, &r, &err);
    Py_END_ALLOW_THREADS
    core_vdb_leave(self);
    return core_vdb_give(st, r, &err, false);
}

/* None: all points in one commit. */
static int batch_size_of(PyObject *object, uint64_t *out)
{
    *out = UINT64_MAX;
    if (object != Py_None) {
        *out = PyLong_AsUnsignedLongLong(object);
        if (!PyErr_Occurred() && *out == 0) {
            PyErr_SetString(PyExc_ValueError, "batch_size: expected a number from 1, or None, found 0");
        }
    }
    return PyErr_Occurred() ? -1 : 0;
}

/* upsert_rows(name, data, id_column, vector_column, ids_are_json, expect_root, batch_size) */
PyObject *core_vdb_upsert_rows(PyObject *self, PyObject *args)
{
    const char *name = NULL;
    PyObject *data = NULL, *batch_size = NULL;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_vdb_write_options o = GREBE_VDB_WRITE_OPTIONS_INIT;
    struct ArrowArrayStream rows = { 0 };
    grebe_vdb_result *r = NULL;
    grebe_status st = GREBE_OK;
    int is_json = 0;
    if (!PyArg_ParseTuple(args, "sOzzpzO", &name, &data, &o.id_column, &o.vector_column, &is_json, &o.expect_root,
                          &batch_size) ||
        batch_size_of(batch_size, &o.batch_size) != 0 || core_import_stream(data, &rows) != 0) {
        return NULL;
    }
    o.ids_are_json = is_json != 0;
    o.name = "rows";
    grebe_vdb *vdb = core_vdb_enter(self);
    if (vdb == NULL) {
        rows.release(&rows);
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    st = grebe_vdb_upsert_rows(vdb, name, &rows, &o, &r, &err);
    Py_END_ALLOW_THREADS
    core_vdb_leave(self);
    return core_vdb_give(st, r, &err, false);
}

/* ---- lines ---- */

struct reader {
    PyObject *file; /* read(n) gives bytes, seek(start) starts again */
    PyObject *start;
    PyObject *rest; /* bytes that were read and not yet given */
    Py_ssize_t at;
};

enum { READ_BYTES = 1 << 20 };

/* Called without the GIL; an exception stays set and is raised when the call is over. */
static int read_file(void *read_ctx, void *dst, size_t len, size_t *got)
{
    struct reader *r = read_ctx;
    PyGILState_STATE gil = PyGILState_Ensure();
    int failed = 0;
    *got = 0;
    if (r->rest == NULL || r->at == PyBytes_Size(r->rest)) {
        Py_XDECREF(r->rest);
        r->at = 0;
        r->rest = PyObject_CallMethod(r->file, "read", "n", (Py_ssize_t)READ_BYTES);
        if (r->rest != NULL && !PyBytes_Check(r->rest)) {
            PyErr_Format(PyExc_TypeError, "read(): expected bytes, found %R", (PyObject *)Py_TYPE(r->rest));
            Py_CLEAR(r->rest);
        }
        failed = r->rest == NULL ? EIO : 0;
    }
    if (failed == 0) {
        Py_ssize_t left = PyBytes_Size(r->rest) - r->at;
        *got = (size_t)left < len ? (size_t)left : len;
        memcpy(dst, PyBytes_AsString(r->rest) + r->at, *got);
        r->at += (Py_ssize_t)*got;
    }
    PyGILState_Release(gil);
    return failed;
}

static int rewind_file(void *read_ctx)
{
    struct reader *r = read_ctx;
    PyGILState_STATE gil = PyGILState_Ensure();
    Py_CLEAR(r->rest);
    PyObject *moved = PyObject_CallMethod(r->file, "seek", "O", r->start);
    int failed = moved == NULL ? EIO : 0;
    Py_XDECREF(moved);
    PyGILState_Release(gil);
    return failed;
}

/* upsert_lines(name, file, input_name, expect_root, batch_size) */
PyObject *core_vdb_upsert_lines(PyObject *self, PyObject *args)
{
    const char *name = NULL;
    PyObject *batch_size = NULL;
    struct reader reader = { 0 };
    grebe_error err = GREBE_ERROR_INIT;
    grebe_vdb_write_options o = GREBE_VDB_WRITE_OPTIONS_INIT;
    grebe_vdb_result *r = NULL;
    grebe_status st = GREBE_OK;
    if (!PyArg_ParseTuple(args, "sOszO", &name, &reader.file, &o.name, &o.expect_root, &batch_size) ||
        batch_size_of(batch_size, &o.batch_size) != 0) {
        return NULL;
    }
    reader.start = PyObject_CallMethod(reader.file, "tell", NULL);
    grebe_vdb *vdb = reader.start != NULL ? core_vdb_enter(self) : NULL;
    if (vdb == NULL) {
        Py_XDECREF(reader.start);
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    st = grebe_vdb_upsert_lines(vdb, name, read_file, rewind_file, &reader, &o, &r, &err);
    Py_END_ALLOW_THREADS
    core_vdb_leave(self);
    Py_XDECREF(reader.rest);
    Py_DECREF(reader.start);
    return core_vdb_give(st, r, &err, false);
}

/* delete(name, ids, filter, lenient, expect_root) */
PyObject *core_vdb_delete(PyObject *self, PyObject *args)
{
    const char *name = NULL;
    PyObject *ids = NULL, *filter = NULL;
    int is_lenient = 0;
    struct core_vdb_select select = { 0 };
    grebe_error err = GREBE_ERROR_INIT;
    grebe_vdb_write_options o = GREBE_VDB_WRITE_OPTIONS_INIT;
    grebe_vdb_result *r = NULL;
    grebe_status st = GREBE_OK;
    if (!PyArg_ParseTuple(args, "sOOpz", &name, &ids, &filter, &is_lenient, &o.expect_root)) {
        return NULL;
    }
    grebe_vdb *vdb = core_vdb_select(ids, filter, is_lenient, &select) == 0 ? core_vdb_enter(self) : NULL;
    if (vdb != NULL) {
        Py_BEGIN_ALLOW_THREADS
        st = grebe_vdb_delete(vdb, name, &select.o, &o, &r, &err);
        Py_END_ALLOW_THREADS
        core_vdb_leave(self);
    }
    core_vdb_select_free(&select);
    return vdb != NULL ? core_vdb_give(st, r, &err, false) : NULL;
}
