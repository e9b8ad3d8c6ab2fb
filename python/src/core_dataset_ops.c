/* SPDX-License-Identifier: Apache-2.0 */
/* Transforms of data sets: arguments in, one call of the library without the GIL, a new handle out. */
#include "core_dataset.h"

#include <limits.h>

/* The call with options o, and its result. */
#define TRANSFORM(t, ds, err, call_expr)                              \
    do {                                                              \
        Py_BEGIN_ALLOW_THREADS                                        \
        st = call_expr;                                               \
        Py_END_ALLOW_THREADS                                          \
        return core_dataset_give(st, ds, &(t).call, &(err));          \
    } while (0)

static const grebe_dataset *of(PyObject *self) { return ((struct core_dataset *)self)->ds; }

/* select(rows, options) */
static PyObject *op_select(PyObject *self, PyObject *args)
{
    PyObject *ids = NULL, *options = NULL;
    int64_t *rows = NULL;
    size_t n = 0;
    struct core_transform t;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_dataset *out = NULL;
    grebe_status st = GREBE_OK;
    if (!PyArg_ParseTuple(args, "OO!", &ids, &PyDict_Type, &options) || core_row_ids(ids, &rows, &n) != 0) {
        return NULL;
    }
    if (core_transform_begin(options, &t) != 0) {
        PyMem_Free(rows);
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    st = grebe_dataset_select(of(self), rows, n, &t.o, &out, &err);
    Py_END_ALLOW_THREADS
    PyMem_Free(rows);
    return core_dataset_give(st, out, &t.call, &err);
}

/* slice(begin, end, options) */
static PyObject *op_slice(PyObject *self, PyObject *args)
{
    long long begin = 0, end = 0;
    PyObject *options = NULL;
    struct core_transform t;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_dataset *out = NULL;
    grebe_status st = GREBE_OK;
    if (!PyArg_ParseTuple(args, "LLO!", &begin, &end, &PyDict_Type, &options) || core_transform_begin(options, &t) != 0) {
        return NULL;
    }
    TRANSFORM(t, out, err, grebe_dataset_slice(of(self), begin, end, &t.o, &out, &err));
}

/* shard(n, index, contiguous, options) */
static PyObject *op_shard(PyObject *self, PyObject *args)
{
    long long n = 0, index = 0;
    int contiguous = 1;
    PyObject *options = NULL;
    struct core_transform t;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_dataset *out = NULL;
    grebe_status st = GREBE_OK;
    if (!PyArg_ParseTuple(args, "LLpO!", &n, &index, &contiguous, &PyDict_Type, &options) ||
        core_transform_begin(options, &t) != 0) {
        return NULL;
    }
    TRANSFORM(t, out, err, grebe_dataset_shard(of(self), n, index, contiguous != 0, &t.o, &out, &err));
}

/* repeat(n, options) */
static PyObject *op_repeat(PyObject *self, PyObject *args)
{
    long long n = 0;
    PyObject *options = NULL;
    struct core_transform t;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_dataset *out = NULL;
    grebe_status st = GREBE_OK;
    if (!PyArg_ParseTuple(args, "LO!", &n, &PyDict_Type, &options) || core_transform_begin(options, &t) != 0) {
        return NULL;
    }
    TRANSFORM(t, out, err, grebe_dataset_repeat(of(self), n, &t.o, &out, &err));
}

/* shuffle(seed words or None, options) */
static PyObject *op_shuffle(PyObject *self, PyObject *args)
{
    PyObject *words = NULL, *options = NULL;
    grebe_seed seed;
    struct core_transform t;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_dataset *out = NULL;
    grebe_status st = GREBE_OK;
    if (!PyArg_ParseTuple(args, "OO!", &words, &PyDict_Type, &options) || core_seed(words, &seed) != 0 ||
        core_transform_begin(options, &t) != 0) {
        return NULL;
    }
    TRANSFORM(t, out, err, grebe_dataset_shuffle(of(self), seed, &t.o, &out, &err));
}

/* sort(columns, descending (bytes of 0 and 1), nulls_first, options) */
static PyObject *op_sort(PyObject *self, PyObject *args)
{
    PyObject *columns = NULL, *keep = NULL, *options = NULL;
    const char *descending = NULL, **names = NULL;
    Py_ssize_t n_descending = 0;
    int nulls_first = 0;
    size_t n = 0;
    struct core_transform t;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_dataset *out = NULL;
    grebe_status st = GREBE_OK;
    if (!PyArg_ParseTuple(args, "Oy#pO!", &columns, &descending, &n_descending, &nulls_first, &PyDict_Type, &options) ||
        core_names(columns, &keep, &names, &n) != 0) {
        return NULL;
    }
    grebe_sort_key *keys = PyMem_Calloc(n + 1, sizeof *keys);
    int ready = keys != NULL && n_descending == (Py_ssize_t)n ? core_transform_begin(options, &t) : -1;
    for (size_t i = 0; ready == 0 && i < n; i++) {
        keys[i] = (grebe_sort_key){ names[i], descending[i] != 0 };
    }
    if (ready == 0) {
        Py_BEGIN_ALLOW_THREADS
        st = grebe_dataset_sort(of(self), keys, n, nulls_first != 0, &t.o, &out, &err);
        Py_END_ALLOW_THREADS
    } else if (!PyErr_Occurred()) {
        PyErr_SetString(PyExc_ValueError, "sort: expected one direction for each column");
    }
    PyMem_Free(keys);
    PyMem_Free((void *)names);
    Py_XDECREF(keep);
    return ready == 0 ? core_dataset_give(st, out, &t.call, &err) : NULL;
}

/* A size: None, an int of rows, a float of all. */
static int split_size(PyObject *size, double *fraction, int64_t *rows)
{
    if (size == Py_None) {
        return 0;
    }
    if (PyFloat_Check(size)) {
        *fraction = PyFloat_AsDouble(size);
    } else {
        *rows = PyLong_AsLongLong(size);
    }
    return PyErr_Occurred() ? -1 : 0;
}

/* split(test_size, train_size, shuffle, stratify_by, seed, train_fingerprint, test_fingerprint, train_file, test_file, options) */
static PyObject *op_split(PyObject *self, PyObject *args)
{
    PyObject *test_size = NULL, *train_size = NULL, *words = NULL, *options = NULL;
    int shuffle = 1;
    grebe_split_options o = GREBE_SPLIT_OPTIONS_INIT;
    struct core_transform t;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_dataset *train = NULL, *test = NULL;
    grebe_status st = GREBE_OK;
    if (!PyArg_ParseTuple(args, "OOpzOzzzzO!", &test_size, &train_size, &shuffle, &o.stratify_by, &words, &o.train_fingerprint,
                          &o.test_fingerprint, &o.train_cache_file, &o.test_cache_file, &PyDict_Type, &options) ||
        split_size(test_size, &o.test_fraction, &o.test_rows) != 0 ||
        split_size(train_size, &o.train_fraction, &o.train_rows) != 0 || core_seed(words, &o.seed) != 0 ||
        core_transform_begin(options, &t) != 0) {
        return NULL;
    }
    o.is_in_order = shuffle == 0;
    Py_BEGIN_ALLOW_THREADS
    st = grebe_dataset_train_test_split(of(self), &o, &t.o, &train, &test, &err);
    Py_END_ALLOW_THREADS
    core_call_end(&t.call);
    if (st != GREBE_OK) {
        return core_raise(&err);
    }
    PyObject *a = core_dataset_new(train), *b = core_dataset_new(test);
    return a != NULL && b != NULL ? Py_BuildValue("(NN)", a, b) : NULL;
}

/* filter(where, options) */
static PyObject *op_filter(PyObject *self, PyObject *args)
{
    const char *where = NULL;
    PyObject *options = NULL;
    struct core_transform t;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_dataset *out = NULL;
    grebe_status st = GREBE_OK;
    if (!PyArg_ParseTuple(args, "sO!", &where, &PyDict_Type, &options) || core_transform_begin(options, &t) != 0) {
        return NULL;
    }
    TRANSFORM(t, out, err, grebe_dataset_filter(of(self), where, &t.o, &out, &err));
}

/* map(fn, is_filter, options): options of map and transform in one dict */
static PyObject *op_map(PyObject *self, PyObject *args)
{
    PyObject *fn = NULL, *options = NULL;
    int is_filter = 0;
    struct core_map map;
    struct core_transform t;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_dataset *out = NULL;
    grebe_status st = GREBE_OK;
    if (!PyArg_ParseTuple(args, "OpO!", &fn, &is_filter, &PyDict_Type, &options) || core_map_begin(options, &map) != 0) {
        return NULL;
    }
    struct core_function function = { fn }; /* borrowed for the call */
    if (core_transform_begin(options, &t) != 0) {
        core_map_end(&map);
        return NULL;
    }
    map.o.is_serial = true; /* the function is of Python */
    Py_BEGIN_ALLOW_THREADS
    st = is_filter ? grebe_dataset_filter_fn(of(self), core_function_filter, &function, &map.o, &t.o, &out, &err)
                   : grebe_dataset_map(of(self), core_function_map, &function, &map.o, &t.o, &out, &err);
    Py_END_ALLOW_THREADS
    core_map_end(&map);
    return core_dataset_give(st, out, &t.call, &err);
}

/* map_plan(is_filter, options) -> [bool, …] one a part */
static PyObject *op_map_plan(PyObject *self, PyObject *args)
{
    enum { PARTS_MAX = 4096 };
    PyObject *options = NULL;
    int is_filter = 0;
    int32_t n_parts = 0;
    struct core_map map;
    struct core_transform t;
    grebe_error err = GREBE_ERROR_INIT;
    if (!PyArg_ParseTuple(args, "pO!", &is_filter, &PyDict_Type, &options) || core_map_begin(options, &map) != 0) {
        return NULL;
    }
    bool *is_done = PyMem_Calloc(PARTS_MAX, sizeof *is_done);
    if (is_done == NULL || core_transform_begin(options, &t) != 0) {
        PyMem_Free(is_done);
        core_map_end(&map);
        return PyErr_Occurred() ? NULL : PyErr_NoMemory();
    }
    grebe_status st = grebe_dataset_map_plan(of(self), is_filter != 0, &map.o, &t.o, &n_parts, is_done, PARTS_MAX, &err);
    core_call_end(&t.call);
    core_map_end(&map);
    PyObject *list = st == GREBE_OK ? PyList_New(n_parts) : core_raise(&err);
    for (int32_t i = 0; list != NULL && i < n_parts; i++) {
        PyList_SetItem(list, i, PyBool_FromLong(i < PARTS_MAX && is_done[i]));
    }
    PyMem_Free(is_done);
    return list;
}

/* map_expr([(name, expr), …], options) */
static PyObject *op_map_expr(PyObject *self, PyObject *args)
{
    PyObject *pairs = NULL, *options = NULL;
    struct core_transform t;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_dataset *out = NULL;
    grebe_status st = GREBE_OK;
    if (!PyArg_ParseTuple(args, "O!O!", &PyList_Type, &pairs, &PyDict_Type, &options)) {
        return NULL;
    }
    Py_ssize_t n = PyList_Size(pairs);
    grebe_computed_column *columns = PyMem_Calloc((size_t)n + 1, sizeof *columns);
    for (Py_ssize_t i = 0; columns != NULL && i < n; i++) {
        if (!PyArg_ParseTuple(PyList_GetItem(pairs, i), "ss", &columns[i].name, &columns[i].expr)) {
            break;
        }
    }
    if (columns == NULL || PyErr_Occurred() || core_transform_begin(options, &t) != 0) {
        PyMem_Free(columns);
        return PyErr_Occurred() ? NULL : PyErr_NoMemory();
    }
    Py_BEGIN_ALLOW_THREADS
    st = grebe_dataset_map_expr(of(self), columns, (size_t)n, &t.o, &out, &err);
    Py_END_ALLOW_THREADS
    PyMem_Free(columns);
    return core_dataset_give(st, out, &t.call, &err);
}

/* rename([(from, to), …], options) */
static PyObject *op_rename(PyObject *self, PyObject *args)
{
    PyObject *pairs = NULL, *options = NULL;
    struct core_transform t;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_dataset *out = NULL;
    if (!PyArg_ParseTuple(args, "O!O!", &PyList_Type, &pairs, &PyDict_Type, &options)) {
        return NULL;
    }
    Py_ssize_t n = PyList_Size(pairs);
    grebe_column_rename *names = PyMem_Calloc((size_t)n + 1, sizeof *names);
    for (Py_ssize_t i = 0; names != NULL && i < n; i++) {
        if (!PyArg_ParseTuple(PyList_GetItem(pairs, i), "ss", &names[i].from, &names[i].to)) {
            break;
        }
    }
    if (names == NULL || PyErr_Occurred() || core_transform_begin(options, &t) != 0) {
        PyMem_Free(names);
        return PyErr_Occurred() ? NULL : PyErr_NoMemory();
    }
    grebe_status st = grebe_dataset_rename_columns(of(self), names, (size_t)n, &t.o, &out, &err);
    PyMem_Free(names);
    return core_dataset_give(st, out, &t.call, &err);
}

/* columns(names, is_removed, options): those alone, or all others */
static PyObject *op_columns(PyObject *self, PyObject *args)
{
    PyObject *columns = NULL, *keep = NULL, *options = NULL;
    int is_removed = 0;
    const char **names = NULL;
    size_t n = 0;
    struct core_transform t;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_dataset *out = NULL;
    if (!PyArg_ParseTuple(args, "OpO!", &columns, &is_removed, &PyDict_Type, &options) ||
        core_names(columns, &keep, &names, &n) != 0) {
        return NULL;
    }
    int ready = core_transform_begin(options, &t);
    grebe_status st = ready != 0 ? GREBE_EINVAL
                      : is_removed ? grebe_dataset_remove_columns(of(self), names, n, &t.o, &out, &err)
                                   : grebe_dataset_select_columns(of(self), names, n, &t.o, &out, &err);
    PyMem_Free((void *)names);
    Py_XDECREF(keep);
    return ready == 0 ? core_dataset_give(st, out, &t.call, &err) : NULL;
}

/* add_column(name, rows, feature or None, options) */
static PyObject *op_add_column(PyObject *self, PyObject *args)
{
    const char *name = NULL, *feature = NULL;
    PyObject *rows = NULL, *options = NULL;
    struct ArrowArrayStream stream;
    struct core_transform t;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_dataset *out = NULL;
    grebe_status st = GREBE_OK;
    if (!PyArg_ParseTuple(args, "sOzO!", &name, &rows, &feature, &PyDict_Type, &options) ||
        core_transform_begin(options, &t) != 0) {
        return NULL;
    }
    if (core_import_stream(rows, &stream) != 0) {
        core_call_end(&t.call);
        return NULL;
    }
    TRANSFORM(t, out, err, grebe_dataset_add_column(of(self), name, &stream, feature, &t.o, &out, &err));
}

/* apply(what, text or None, number, flag, options): transforms with at most these arguments */
static PyObject *op_apply(PyObject *self, PyObject *args)
{
    const char *what = NULL, *text = NULL;
    long long n = 0;
    int is_set = 0;
    PyObject *options = NULL;
    struct core_transform t;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_dataset *out = NULL;
    grebe_status st = GREBE_EINVAL;
    if (!PyArg_ParseTuple(args, "szLpO!", &what, &text, &n, &is_set, &PyDict_Type, &options) ||
        core_transform_begin(options, &t) != 0) {
        return NULL;
    }
    const grebe_dataset *ds = of(self);
    Py_BEGIN_ALLOW_THREADS
    if (strcmp(what, "flatten_indices") == 0) {
        st = grebe_dataset_flatten_indices(ds, &t.o, &out, &err);
    } else if (strcmp(what, "flatten") == 0) {
        st = grebe_dataset_flatten(ds, n < 0 ? -1 : n > INT_MAX ? INT_MAX : (int)n, &t.o, &out, &err);
    } else if (strcmp(what, "cast") == 0) {
        st = grebe_dataset_cast(ds, text, &t.o, &out, &err);
    } else if (strcmp(what, "class_encode") == 0) {
        st = grebe_dataset_class_encode_column(ds, text, is_set != 0, &t.o, &out, &err);
    } else {
        snprintf(err.message, sizeof err.message, "no such transform: %s", what);
        err.status = GREBE_EINVAL;
    }
    Py_END_ALLOW_THREADS
    return core_dataset_give(st, out, &t.call, &err);
}

/* align_labels(column, labels, options) */
static PyObject *op_align(PyObject *self, PyObject *args)
{
    const char *column = NULL, *labels = NULL;
    PyObject *options = NULL;
    struct core_transform t;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_dataset *out = NULL;
    grebe_status st = GREBE_OK;
    if (!PyArg_ParseTuple(args, "ssO!", &column, &labels, &PyDict_Type, &options) || core_transform_begin(options, &t) != 0) {
        return NULL;
    }
    TRANSFORM(t, out, err, grebe_dataset_align_labels(of(self), column, labels, &t.o, &out, &err));
}

/* batch(rows, by_column or None, drop_last, options) */
static PyObject *op_batch(PyObject *self, PyObject *args)
{
    const char *by = NULL;
    long long n = 0;
    int drop_last = 0;
    PyObject *options = NULL;
    struct core_transform t;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_dataset *out = NULL;
    grebe_status st = GREBE_OK;
    if (!PyArg_ParseTuple(args, "LzpO!", &n, &by, &drop_last, &PyDict_Type, &options) || core_transform_begin(options, &t) != 0) {
        return NULL;
    }
    TRANSFORM(t, out, err, grebe_dataset_batch(of(self), n, by, drop_last != 0, &t.o, &out, &err));
}

/* unique(column) -> list */
static PyObject *op_unique(PyObject *self, PyObject *args)
{
    const char *column = NULL;
    struct ArrowArray values = { 0 };
    struct ArrowSchema schema = { 0 };
    grebe_error err = GREBE_ERROR_INIT;
    grebe_status st = GREBE_OK;
    if (!PyArg_ParseTuple(args, "s", &column)) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    st = grebe_dataset_unique(of(self), column, &values, &schema, &err);
    Py_END_ALLOW_THREADS
    if (st != GREBE_OK) {
        return core_raise(&err);
    }
    PyObject *list = core_value_list(&schema, &values, 0, values.length);
    values.release(&values);
    schema.release(&schema);
    return list;
}

/* with_labels(options): format (type, columns, kwargs, output_all) or None, split, info, fingerprint */
static PyObject *op_with(PyObject *self, PyObject *args)
{
    PyObject *options = NULL, *columns = Py_None, *keep = NULL;
    grebe_dataset_labels labels = { 0 };
    grebe_dataset_format format = { 0 };
    int output_all = 0;
    const char **names = NULL;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_dataset *out = NULL;
    if (!PyArg_ParseTuple(args, "O!", &PyDict_Type, &options) ||
        !core_text(PyDict_GetItemString(options, "split"), &labels.split) ||
        !core_text(PyDict_GetItemString(options, "info"), &labels.info) ||
        !core_text(PyDict_GetItemString(options, "fingerprint"), &labels.fingerprint)) {
        return NULL;
    }
    PyObject *tuple = PyDict_GetItemString(options, "format");
    if (tuple != NULL) {
        if (!PyArg_ParseTuple(tuple, "zOzp", &format.type, &columns, &format.kwargs, &output_all) ||
            core_names(columns, &keep, &names, &format.n_columns) != 0) {
            return NULL;
        }
        format.columns = names;
        format.output_all_columns = output_all != 0;
        labels.format = &format;
    }
    grebe_status st = grebe_dataset_with(of(self), &labels, &out, &err);
    PyMem_Free((void *)names);
    Py_XDECREF(keep);
    return st == GREBE_OK ? core_dataset_new(out) : core_raise(&err);
}

PyMethodDef core_dataset_op_methods[] = {
    { "select", op_select, METH_VARARGS, NULL },
    { "slice", op_slice, METH_VARARGS, NULL },
    { "shard", op_shard, METH_VARARGS, NULL },
    { "repeat", op_repeat, METH_VARARGS, NULL },
    { "shuffle", op_shuffle, METH_VARARGS, NULL },
    { "sort", op_sort, METH_VARARGS, NULL },
    { "split", op_split, METH_VARARGS, NULL },
    { "filter", op_filter, METH_VARARGS, NULL },
    { "map", op_map, METH_VARARGS, NULL },
    { "map_plan", op_map_plan, METH_VARARGS, NULL },
    { "map_expr", op_map_expr, METH_VARARGS, NULL },
    { "rename", op_rename, METH_VARARGS, NULL },
    { "columns", op_columns, METH_VARARGS, NULL },
    { "add_column", op_add_column, METH_VARARGS, NULL },
    { "apply", op_apply, METH_VARARGS, NULL },
    { "align_labels", op_align, METH_VARARGS, NULL },
    { "batch", op_batch, METH_VARARGS, NULL },
    { "unique", op_unique, METH_VARARGS, NULL },
    { "with_labels", op_with, METH_VARARGS, NULL },
    { "save", core_dataset_save, METH_VARARGS, NULL },
    { NULL, NULL, 0, NULL },
};
