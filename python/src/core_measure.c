/* SPDX-License-Identifier: Apache-2.0 */
/* Measurement: reports come out as the JSON that the library prints. */
#include "core.h"

#include <errno.h>
#include <string.h>

#include "grebe/ann_measure.h"

/* Bytes that the library writes, in a bytearray. */
static int add_bytes(void *ctx, const void *bytes, size_t len)
{
    PyObject *to = ctx;
    Py_ssize_t at = PyByteArray_Size(to);
    if (PyByteArray_Resize(to, at + (Py_ssize_t)len) != 0) {
        return ENOMEM;
    }
    memcpy(PyByteArray_AsString(to) + at, bytes, len);
    return 0;
}

static PyObject *text_of(PyObject *bytes)
{
    return PyUnicode_DecodeUTF8(PyByteArray_AsString(bytes), PyByteArray_Size(bytes), "replace");
}

PyObject *core_report_text(const grebe_ann_report *report)
{
    grebe_error err = GREBE_ERROR_INIT;
    PyObject *bytes = PyByteArray_FromStringAndSize(NULL, 0), *text = NULL;
    if (bytes != NULL) {
        grebe_status st = grebe_ann_report_print(report, "json", add_bytes, bytes, &err);
        text = st == GREBE_OK ? text_of(bytes) : core_raise(&err);
    }
    Py_XDECREF(bytes);
    return text;
}

/* ann_evaluate_file(data, results, k, rule) -> JSON text */
PyObject *core_ann_evaluate_file(PyObject *self, PyObject *args)
{
    const char *data_path = NULL, *results = NULL;
    unsigned long long k = 0;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_ann_read_options read = GREBE_ANN_READ_OPTIONS_INIT;
    grebe_ann_eval_options o = GREBE_ANN_EVAL_OPTIONS_INIT;
    grebe_ann_report *report = NULL;
    grebe_ann_data *data = NULL;
    grebe_status st = GREBE_OK;
    (void)self;
    if (!PyArg_ParseTuple(args, "ssKs", &data_path, &results, &k, &o.rule)) {
        return NULL;
    }
    read.allow_padding = true;
    o.k = k;
    Py_BEGIN_ALLOW_THREADS
    st = grebe_ann_report_new(core.ctx, &report, &err);
    st = st == GREBE_OK ? grebe_ann_open(core.ctx, data_path, &read, &data, &err) : st;
    st = st == GREBE_OK ? grebe_ann_evaluate_file(core.ctx, data, results, &o, report, &err) : st;
    Py_END_ALLOW_THREADS
    PyObject *text = st == GREBE_OK ? core_report_text(report) : core_raise(&err);
    grebe_ann_report_free(report);
    grebe_ann_close(data);
    return text;
}

/* ann_run(data, indexes, sweeps, k, queries, threads, build_threads, runs, mode, range, rule, warmup, batch) -> JSON text */
PyObject *core_ann_run(PyObject *self, PyObject *args)
{
    const char *path = NULL;
    PyObject *indexes = NULL, *sweeps = NULL, *keep[2] = { NULL, NULL }, *text = NULL;
    const char **names[2] = { NULL, NULL };
    unsigned long long k = 0, queries = 0;
    int warmup = 1, batch = 0;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_ann_read_options read = GREBE_ANN_READ_OPTIONS_INIT;
    grebe_ann_run_options o = GREBE_ANN_RUN_OPTIONS_INIT;
    grebe_ann_report *report = NULL;
    grebe_ann_data *data = NULL;
    grebe_status st = GREBE_OK;
    (void)self;
    if (!PyArg_ParseTuple(args, "sOOKKIIIsdspp", &path, &indexes, &sweeps, &k, &queries, &o.search_threads, &o.build_threads,
                          &o.runs, &o.mode, &o.range, &o.rule, &warmup, &batch) ||
        core_names(indexes, &keep[0], &names[0], &o.n_indexes) != 0 ||
        core_names(sweeps, &keep[1], &names[1], &o.n_sweeps) != 0) {
        goto out;
    }
    o.indexes = names[0];
    o.sweeps = names[1];
    o.k = k;
    o.n_queries = queries;
    o.is_without_warmup = warmup == 0;
    o.is_batch = batch != 0;
    read.allow_padding = true;
    Py_BEGIN_ALLOW_THREADS
    st = grebe_ann_report_new(core.ctx, &report, &err);
    st = st == GREBE_OK ? grebe_ann_open(core.ctx, path, &read, &data, &err) : st;
    st = st == GREBE_OK ? grebe_ann_run(core.ctx, data, &o, report, &err) : st;
    Py_END_ALLOW_THREADS
    text = st == GREBE_OK ? core_report_text(report) : core_raise(&err);
out:
    grebe_ann_report_free(report);
    grebe_ann_close(data);
    for (int i = 0; i < 2; i++) {
        PyMem_Free((void *)names[i]);
        Py_XDECREF(keep[i]);
    }
    return text;
}

/* ann_plot(paths of JSON reports, html, bars, all, x, y, x_scale, y_scale, title) -> text; None: defaults */
PyObject *core_ann_plot(PyObject *self, PyObject *args)
{
    PyObject *paths = NULL, *keep = NULL, *bytes = NULL, *text = NULL;
    const char **names = NULL;
    size_t n = 0;
    int html = 0, bars = 0, all = 0;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_ann_plot_options o = GREBE_ANN_PLOT_OPTIONS_INIT;
    grebe_ann_report *report = NULL;
    (void)self;
    if (!PyArg_ParseTuple(args, "Opppzzzzz", &paths, &html, &bars, &all, &o.x, &o.y, &o.x_scale, &o.y_scale, &o.title) ||
        core_names(paths, &keep, &names, &n) != 0) {
        return NULL;
    }
    o.is_html = html != 0;
    o.is_bars = bars != 0;
    o.is_all = all != 0;
    grebe_status st = grebe_ann_report_new(core.ctx, &report, &err);
    for (size_t i = 0; st == GREBE_OK && i < n; i++) {
        st = grebe_ann_report_load(report, names[i], &err);
    }
    bytes = st == GREBE_OK ? PyByteArray_FromStringAndSize(NULL, 0) : NULL;
    if (bytes != NULL) {
        st = grebe_ann_report_plot(report, &o, add_bytes, bytes, &err);
    }
    text = st != GREBE_OK ? core_raise(&err) : bytes == NULL ? NULL : text_of(bytes);
    Py_XDECREF(bytes);
    grebe_ann_report_free(report);
    PyMem_Free((void *)names);
    Py_XDECREF(keep);
    return text;
}
