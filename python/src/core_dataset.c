/* SPDX-License-Identifier: Apache-2.0 */
/* Data sets as handles: what they are, reading rows. Where they come from: core_load.c; transforms: core_dataset_ops.c. */
#include "core_dataset.h"

PyObject *core_dataset_new(grebe_dataset *ds)
{
    grebe_dataset_info info;
    grebe_dataset_get_info(ds, &info);
    PyObject *names = PyTuple_New((Py_ssize_t)info.n_columns);
    for (size_t i = 0; names != NULL && i < info.n_columns; i++) {
        PyObject *name = PyUnicode_InternFromString(info.columns[i]);
        if (name == NULL || PyTuple_SetItem(names, (Py_ssize_t)i, name) != 0) {
            Py_CLEAR(names);
        }
    }
    PyObject *self = names != NULL ? core_object_new(core.dataset_class) : NULL;
    if (self == NULL) {
        Py_XDECREF(names);
        grebe_dataset_free(ds);
        return NULL;
    }
    struct core_dataset *d = (struct core_dataset *)self;
    grebe_error err = GREBE_ERROR_INIT;
    d->ds = ds;
    d->names = names;
    if (grebe_dataset_schema(ds, &d->schema, &err) != GREBE_OK) {
        Py_DECREF(self);
        return core_raise(&err);
    }
    return self;
}

const grebe_dataset *core_dataset_of(PyObject *object)
{
    if (!PyObject_TypeCheck(object, (PyTypeObject *)core.dataset_class)) {
        PyErr_Format(PyExc_TypeError, "expected a data set, found %R", object);
        return NULL;
    }
    return ((struct core_dataset *)object)->ds;
}

PyObject *core_dataset_give(grebe_status st, grebe_dataset *ds, struct core_call *call, const grebe_error *err)
{
    core_call_end(call);
    if (st != GREBE_OK) {
        return core_raise_function(err);
    }
    return core_dataset_new(ds);
}

static void dataset_dealloc(PyObject *self)
{
    struct core_dataset *d = (struct core_dataset *)self;
    grebe_dataset *ds = d->ds;
    Py_XDECREF(d->names);
    if (d->schema.release != NULL) {
        d->schema.release(&d->schema);
    }
    Py_BEGIN_ALLOW_THREADS
    grebe_dataset_free(ds);
    Py_END_ALLOW_THREADS
    core_object_free(self);
}

/* ---- what they are ---- */

static PyObject *strings(const char *const *items, size_t n)
{
    PyObject *list = PyList_New((Py_ssize_t)n);
    for (size_t i = 0; list != NULL && i < n; i++) {
        PyObject *item = PyUnicode_DecodeFSDefault(items[i]);
        if (item == NULL || PyList_SetItem(list, (Py_ssize_t)i, item) != 0) {
            Py_CLEAR(list);
        }
    }
    return list;
}

/* info() -> dict */
static PyObject *dataset_info(PyObject *self, PyObject *unused)
{
    (void)unused;
    grebe_dataset_info i;
    grebe_dataset_get_info(((struct core_dataset *)self)->ds, &i);
    PyObject *columns = strings(i.columns, i.n_columns), *files = strings(i.files, i.n_files);
    PyObject *formatted = i.format.columns != NULL ? strings(i.format.columns, i.format.n_columns) : Py_NewRef(Py_None);
    if (columns == NULL || files == NULL || formatted == NULL) {
        Py_XDECREF(columns);
        Py_XDECREF(files);
        Py_XDECREF(formatted);
        return NULL;
    }
    return Py_BuildValue("{s:L,s:N,s:s,s:s,s:s,s:z,s:N,s:N,s:L,s:(zNzN)}", "num_rows", (long long)i.n_rows, "columns", columns,
                         "features", i.features, "info", i.info, "fingerprint", i.fingerprint, "split", i.split, "files", files,
                         "has_indices", PyBool_FromLong(i.has_indices), "table_rows", (long long)i.n_table_rows, "format",
                         i.format.type, formatted, i.format.kwargs, PyBool_FromLong(i.format.output_all_columns));
}

static PyObject *dataset_num_rows(PyObject *self, void *unused)
{
    (void)unused;
    grebe_dataset_info i;
    grebe_dataset_get_info(((struct core_dataset *)self)->ds, &i);
    return PyLong_FromLongLong(i.n_rows);
}

static PyObject *dataset_num_bytes(PyObject *self, PyObject *unused)
{
    (void)unused;
    int64_t n = 0;
    grebe_error err = GREBE_ERROR_INIT;
    return grebe_dataset_num_bytes(((struct core_dataset *)self)->ds, &n, &err) == GREBE_OK ? PyLong_FromLongLong(n)
                                                                                         : core_raise(&err);
}

static PyObject *dataset_schema(PyObject *self, PyObject *unused)
{
    (void)unused;
    struct ArrowSchema schema = { 0 };
    grebe_error err = GREBE_ERROR_INIT;
    return grebe_schema_copy(core.ctx, &((struct core_dataset *)self)->schema, &schema, &err) == GREBE_OK ? core_schema_new(&schema)
                                                                                                          : core_raise(&err);
}

/* ---- reading ---- */

/* Columns of the data set's schema, in the order asked; NULL: all. */
static grebe_status columns_schema(const struct core_dataset *d, const char *const *columns, size_t n, struct ArrowSchema *out,
                                   grebe_error *err)
{
    if (columns == NULL) {
        return grebe_schema_copy(core.ctx, &d->schema, out, err);
    }
    struct ArrowSchema *fields = calloc(n + 1, sizeof *fields);
    grebe_status st = fields != NULL ? GREBE_OK : GREBE_ENOMEM;
    for (size_t i = 0; st == GREBE_OK && i < n; i++) {
        for (int64_t c = 0; c < d->schema.n_children; c++) {
            if (strcmp(d->schema.children[c]->name, columns[i]) == 0) {
                st = grebe_schema_copy(core.ctx, d->schema.children[c], &fields[i], err);
                break;
            }
        }
    }
    if (st == GREBE_OK) {
        st = grebe_schema_make(core.ctx, "+s", "", false, fields, n, out, err);
    }
    for (size_t i = 0; fields != NULL && i < n; i++) {
        if (fields[i].release != NULL) {
            fields[i].release(&fields[i]);
        }
    }
    free(fields);
    return st;
}

static PyObject *give_batch(const struct core_dataset *d, const char *const *columns, size_t n, struct ArrowArray *rows)
{
    struct ArrowSchema schema = { 0 };
    grebe_error err = GREBE_ERROR_INIT;
    if (columns_schema(d, columns, n, &schema, &err) != GREBE_OK) {
        rows->release(rows);
        return core_raise(&err);
    }
    return core_batch_new(rows, &schema);
}

/* read(begin, end, columns or None) -> Batch */
static PyObject *dataset_read(PyObject *self, PyObject *args)
{
    long long begin = 0, end = 0;
    PyObject *columns = Py_None, *keep = NULL;
    const char **names = NULL;
    size_t n = 0;
    struct ArrowArray rows = { 0 };
    grebe_error err = GREBE_ERROR_INIT;
    grebe_status st = GREBE_OK;
    struct core_dataset *d = (struct core_dataset *)self;
    if (!PyArg_ParseTuple(args, "LL|O", &begin, &end, &columns) || core_names(columns, &keep, &names, &n) != 0) {
        return NULL;
    }
    if (end - begin > 64) { /* little work is not worth giving the GIL away */
        Py_BEGIN_ALLOW_THREADS
        st = grebe_dataset_read(d->ds, begin, end, names, n, &rows, &err);
        Py_END_ALLOW_THREADS
    } else {
        st = grebe_dataset_read(d->ds, begin, end, names, n, &rows, &err);
    }
    PyObject *out = st == GREBE_OK ? give_batch(d, names, n, &rows) : core_raise(&err);
    PyMem_Free((void *)names);
    Py_XDECREF(keep);
    return out;
}

/* take(rows, columns or None) -> Batch */
static PyObject *dataset_take(PyObject *self, PyObject *args)
{
    PyObject *ids = NULL, *columns = Py_None, *keep = NULL;
    const char **names = NULL;
    int64_t *rows = NULL;
    size_t n = 0, n_rows = 0;
    struct ArrowArray out = { 0 };
    grebe_error err = GREBE_ERROR_INIT;
    grebe_status st = GREBE_OK;
    struct core_dataset *d = (struct core_dataset *)self;
    if (!PyArg_ParseTuple(args, "O|O", &ids, &columns) || core_names(columns, &keep, &names, &n) != 0) {
        return NULL;
    }
    if (core_row_ids(ids, &rows, &n_rows) != 0) {
        PyMem_Free((void *)names);
        Py_XDECREF(keep);
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    st = grebe_dataset_take(d->ds, rows, n_rows, names, n, &out, &err);
    Py_END_ALLOW_THREADS
    PyObject *batch = st == GREBE_OK ? give_batch(d, names, n, &out) : core_raise(&err);
    PyMem_Free(rows);
    PyMem_Free((void *)names);
    Py_XDECREF(keep);
    return batch;
}

/* rows(begin, end) -> list of dicts */
static PyObject *dataset_rows(PyObject *self, PyObject *args)
{
    long long begin = 0, end = 0;
    struct ArrowArray rows = { 0 };
    grebe_error err = GREBE_ERROR_INIT;
    struct core_dataset *d = (struct core_dataset *)self;
    if (!PyArg_ParseTuple(args, "LL", &begin, &end)) {
        return NULL;
    }
    if (grebe_dataset_read(d->ds, begin, end, NULL, 0, &rows, &err) != GREBE_OK) {
        return core_raise(&err);
    }
    PyObject *list = core_row_dicts(&d->schema, &rows, d->names);
    rows.release(&rows);
    return list;
}

/* row(i) -> dict; from the end when i is negative */
static PyObject *dataset_row(PyObject *self, PyObject *number)
{
    struct ArrowArray row = { 0 };
    grebe_error err = GREBE_ERROR_INIT;
    grebe_dataset_info info;
    struct core_dataset *d = (struct core_dataset *)self;
    long long i = PyLong_AsLongLong(number);
    if (i == -1 && PyErr_Occurred()) {
        return NULL;
    }
    grebe_dataset_get_info(d->ds, &info);
    if (i < -info.n_rows || i >= info.n_rows) {
        PyErr_Format(PyExc_IndexError, "row %lld of %lld rows", i, (long long)info.n_rows);
        return NULL;
    }
    i += i < 0 ? info.n_rows : 0;
    if (grebe_dataset_read(d->ds, i, i + 1, NULL, 0, &row, &err) != GREBE_OK) {
        return core_raise(&err);
    }
    PyObject *dict = PyDict_New();
    for (int64_t c = 0; dict != NULL && c < d->schema.n_children; c++) {
        PyObject *v = core_value(d->schema.children[c], row.children[c], 0);
        if (v == NULL || PyDict_SetItem(dict, PyTuple_GetItem(d->names, (Py_ssize_t)c), v) != 0) {
            Py_CLEAR(dict);
        }
        Py_XDECREF(v);
    }
    row.release(&row);
    return dict;
}

/* scan(columns or None, batch_rows) -> Stream */
static PyObject *dataset_scan(PyObject *self, PyObject *args)
{
    PyObject *columns = NULL, *keep = NULL;
    long long batch_rows = 0;
    const char **names = NULL;
    size_t n = 0;
    struct ArrowArrayStream stream = { 0 };
    grebe_error err = GREBE_ERROR_INIT;
    grebe_status st = GREBE_OK;
    if (!PyArg_ParseTuple(args, "OL", &columns, &batch_rows) || core_names(columns, &keep, &names, &n) != 0) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    st = grebe_dataset_scan(((struct core_dataset *)self)->ds, names, n, batch_rows, NULL, &stream, &err);
    Py_END_ALLOW_THREADS
    PyMem_Free((void *)names);
    Py_XDECREF(keep);
    return st == GREBE_OK ? core_stream_new(&stream) : core_raise(&err);
}

/* pack() -> bytes */
static PyObject *dataset_pack(PyObject *self, PyObject *unused)
{
    (void)unused;
    struct core_bytes bytes = { 0 };
    grebe_error err = GREBE_ERROR_INIT;
    grebe_status st = GREBE_OK;
    Py_BEGIN_ALLOW_THREADS
    st = grebe_dataset_pack(((struct core_dataset *)self)->ds, core_bytes_write, &bytes, &err);
    Py_END_ALLOW_THREADS
    PyObject *out = st == GREBE_OK ? PyBytes_FromStringAndSize(bytes.data, (Py_ssize_t)bytes.len) : core_raise(&err);
    free(bytes.data);
    return out;
}

static PyMethodDef read_methods[] = {
    { "info", dataset_info, METH_NOARGS, NULL },     { "num_bytes", dataset_num_bytes, METH_NOARGS, NULL },
    { "schema", dataset_schema, METH_NOARGS, NULL }, { "read", dataset_read, METH_VARARGS, NULL },
    { "take", dataset_take, METH_VARARGS, NULL },    { "rows", dataset_rows, METH_VARARGS, NULL },
    { "row", dataset_row, METH_O, NULL },
    { "scan", dataset_scan, METH_VARARGS, NULL },    { "pack", dataset_pack, METH_NOARGS, NULL },
    { "numbers", core_dataset_numbers, METH_VARARGS, NULL },
};

static PyGetSetDef dataset_getset[] = { { "num_rows", dataset_num_rows, NULL, "Number of rows.", NULL },
                                        { NULL, NULL, NULL, NULL, NULL } };

/* read_methods and those of core_dataset_ops.c, joined when the type is made */
enum { METHODS_MAX = 48 };
static PyMethodDef methods[METHODS_MAX];
static PyType_Slot dataset_slots[] = { { Py_tp_dealloc, (void *)dataset_dealloc },
                                       { Py_tp_methods, methods },
                                       { Py_tp_getset, dataset_getset },
                                       { 0, NULL } };
PyType_Spec core_dataset_spec = { "grebe._core.Dataset", sizeof(struct core_dataset), 0,
                                  Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, dataset_slots };

void core_dataset_methods(void)
{
    size_t n = sizeof read_methods / sizeof read_methods[0];
    memcpy(methods, read_methods, sizeof read_methods);
    for (size_t i = 0; core_dataset_op_methods[i].ml_name != NULL && n + 1 < METHODS_MAX; i++) {
        methods[n++] = core_dataset_op_methods[i];
    }
}
