/* SPDX-License-Identifier: Apache-2.0 */
/* Benchmark data sets: buffers in and out, the library's calls without the GIL. */
#include "core.h"

#include <string.h>

#include "grebe/ann_measure.h"

enum { VIEWS_MAX = 24 };

/* ---- out ---- */

/* name: a bytearray of n * size bytes; None where there is nothing. */
static int put_bytes(PyObject *dict, const char *name, const void *p, uint64_t n, size_t size)
{
    PyObject *value = NULL;
    if (p == NULL) {
        value = Py_NewRef(Py_None);
    } else {
        value = PyByteArray_FromStringAndSize(p, (Py_ssize_t)(n * size));
    }
    int bad = value == NULL ? -1 : PyDict_SetItemString(dict, name, value);
    Py_XDECREF(value);
    return bad;
}

static int put_int(PyObject *dict, const char *name, uint64_t v)
{
    PyObject *value = PyLong_FromUnsignedLongLong(v);
    int bad = value == NULL ? -1 : PyDict_SetItemString(dict, name, value);
    Py_XDECREF(value);
    return bad;
}

static uint64_t row_bytes(const grebe_ann_side *s)
{
    static const uint8_t bits_of[] = { 32, 16, 16, 8, 8, 1, 64 };
    return ((uint64_t)s->dim * bits_of[s->elem] + 7) / 8;
}

static PyObject *give_side(const grebe_ann_content *c, const grebe_ann_side *s)
{
    uint64_t n = s->offsets == NULL ? 0 : (uint64_t)s->offsets[s->n];
    uint64_t tokens = s->token_offsets == NULL ? 0 : (uint64_t)s->token_offsets[s->n];
    uint64_t rows = c->layout == GREBE_ANN_DENSE ? s->n : n;
    PyObject *d = PyDict_New();
    if (d == NULL || put_int(d, "n", s->n) != 0 || put_int(d, "dim", s->dim) != 0 || put_int(d, "elem", s->elem) != 0 ||
        put_bytes(d, "vectors", s->vectors, rows, (size_t)row_bytes(s)) != 0 ||
        put_bytes(d, "offsets", s->offsets, s->n + 1, 8) != 0 || put_bytes(d, "terms", s->terms, n, 4) != 0 ||
        put_bytes(d, "values", s->values, n, 4) != 0 || put_bytes(d, "token_offsets", s->token_offsets, s->n + 1, 8) != 0 ||
        put_bytes(d, "tokens", s->tokens, tokens, 4) != 0 || put_bytes(d, "labels", s->labels, s->n, 8) != 0) {
        Py_XDECREF(d);
        return NULL;
    }
    return d;
}

static PyObject *give_content(const grebe_ann_content *c)
{
    PyObject *base = give_side(c, &c->base), *queries = base == NULL ? NULL : give_side(c, &c->queries);
    PyObject *d = queries == NULL ? NULL
                                  : Py_BuildValue("{s:i,s:s,s:O,s:O,s:O,s:O}", "layout", (int)c->layout, "distance", c->distance,
                                                  "base", base, "queries", queries, "int8_negated_ip",
                                                  c->is_int8_negated_ip ? Py_True : Py_False, "plain_l2",
                                                  c->is_maxsim_plain_l2 ? Py_True : Py_False);
    Py_XDECREF(base);
    Py_XDECREF(queries);
    if (d == NULL || put_int(d, "k", c->k) != 0 || put_bytes(d, "neighbors", c->neighbors, c->queries.n * c->k, 8) != 0 ||
        put_bytes(d, "distances", c->distances, c->queries.n * c->k, 4) != 0 ||
        put_bytes(d, "valid_ratios", c->valid_ratios, c->n_valid_ratios, 4) != 0) {
        Py_XDECREF(d);
        return NULL;
    }
    return d;
}

/* ann_read(path, profile, allow_padding) -> dict */
PyObject *core_ann_read(PyObject *self, PyObject *args)
{
    const char *path = NULL;
    int profile = 0, allow_padding = 0;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_ann_read_options o = GREBE_ANN_READ_OPTIONS_INIT;
    grebe_ann_content c = GREBE_ANN_CONTENT_INIT;
    grebe_ann_data *data = NULL;
    grebe_status st;
    (void)self;
    if (!PyArg_ParseTuple(args, "sip", &path, &profile, &allow_padding)) {
        return NULL;
    }
    o.profile = (grebe_ann_profile)profile;
    o.allow_padding = allow_padding != 0;
    Py_BEGIN_ALLOW_THREADS
    st = grebe_ann_open(core.ctx, path, &o, &data, &err);
    Py_END_ALLOW_THREADS
    st = st == GREBE_OK ? grebe_ann_content_of(data, &c, &err) : st;
    PyObject *result = st == GREBE_OK ? give_content(&c) : core_raise(&err);
    grebe_ann_close(data);
    return result;
}

/* Findings while the GIL is held. */
static void add_finding(void *ctx, grebe_ann_level level, const char *place, const char *message)
{
    static const char *const names[] = { "notice", "warning", "error" };
    PyObject *list = ctx, *one = PyErr_Occurred() ? NULL : Py_BuildValue("(sss)", names[level], place, message);
    if (one != NULL) {
        (void)!PyList_Append(list, one);
        Py_DECREF(one);
    }
}

/* ann_check(path, profile, allow_padding) -> [(level, place, message)] */
PyObject *core_ann_check(PyObject *self, PyObject *args)
{
    const char *path = NULL;
    int profile = 0, allow_padding = 0;
    uint64_t n_errors = 0;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_ann_read_options o = GREBE_ANN_READ_OPTIONS_INIT;
    (void)self;
    PyObject *list = PyList_New(0);
    if (list == NULL || !PyArg_ParseTuple(args, "sip", &path, &profile, &allow_padding)) {
        Py_XDECREF(list);
        return NULL;
    }
    o.profile = (grebe_ann_profile)profile;
    o.allow_padding = allow_padding != 0;
    o.finding = add_finding;
    o.finding_ctx = list;
    grebe_status st = grebe_ann_check(core.ctx, path, &o, &n_errors, &err);
    if (st != GREBE_OK || PyErr_Occurred()) {
        Py_DECREF(list);
        return st != GREBE_OK ? core_raise(&err) : NULL;
    }
    return list;
}

/* ---- in ---- */

/* Buffers of a call. */
struct views {
    Py_buffer v[VIEWS_MAX];
    int n;
};

static void views_release(struct views *views)
{
    for (int i = 0; i < views->n; i++) {
        PyBuffer_Release(&views->v[i]);
    }
    views->n = 0;
}

/* The buffer under a name, which has exactly n * size bytes; *out NULL: None, or not there. */
static int take(PyObject *dict, const char *name, uint64_t n, size_t size, struct views *views, const void **out)
{
    PyObject *o = PyDict_GetItemString(dict, name);
    *out = NULL;
    if (o == NULL || o == Py_None) {
        return 0;
    }
    if (views->n == VIEWS_MAX || PyObject_GetBuffer(o, &views->v[views->n], PyBUF_C_CONTIGUOUS) != 0) {
        return -1;
    }
    Py_buffer *v = &views->v[views->n++];
    uint64_t bytes = 0;
    if (__builtin_mul_overflow(n, (uint64_t)size, &bytes) || (uint64_t)v->len != bytes) {
        return core_fail_size(name, (Py_ssize_t)bytes, v->len);
    }
    *out = v->buf;
    return 0;
}

static int take_int(PyObject *dict, const char *name, uint64_t *out)
{
    PyObject *o = PyDict_GetItemString(dict, name);
    if (o == NULL) {
        PyErr_Format(PyExc_KeyError, "%s", name);
        return -1;
    }
    *out = PyLong_AsUnsignedLongLong(o);
    return PyErr_Occurred() ? -1 : 0;
}

/* The last of offsets, which must lie within what a buffer can have. */
static int last_of(const int64_t *offsets, uint64_t n, uint64_t *out)
{
    *out = offsets == NULL ? 0 : (uint64_t)offsets[n];
    if (offsets != NULL && (offsets[n] < 0 || offsets[0] != 0)) {
        PyErr_SetString(PyExc_ValueError, "offsets: expected to ascend from 0");
        return -1;
    }
    return 0;
}

static int take_side(PyObject *dict, const char *name, grebe_ann_layout layout, struct views *views, grebe_ann_side *s)
{
    PyObject *d = PyDict_GetItemString(dict, name);
    uint64_t dim = 0, elem = 0, n = 0, tokens = 0;
    const void *offsets = NULL, *terms = NULL, *values = NULL, *token_offsets = NULL, *token = NULL, *labels = NULL;
    if (d == NULL || !PyDict_Check(d) || take_int(d, "n", &s->n) != 0 || take_int(d, "dim", &dim) != 0 ||
        take_int(d, "elem", &elem) != 0 || s->n > INT64_MAX / 16 || dim > UINT32_MAX || elem > GREBE_ELEM_F64) {
        if (!PyErr_Occurred()) {
            PyErr_Format(PyExc_ValueError, "%s: expected rows of vectors", name);
        }
        return -1;
    }
    s->dim = (uint32_t)dim;
    s->elem = (grebe_elem)elem;
    if (take(d, "offsets", s->n + 1, 8, views, &offsets) != 0 || last_of(offsets, s->n, &n) != 0 ||
        take(d, "vectors", layout == GREBE_ANN_DENSE ? s->n : n, (size_t)row_bytes(s), views, &s->vectors) != 0 ||
        take(d, "terms", n, 4, views, &terms) != 0 || take(d, "values", n, 4, views, &values) != 0 ||
        take(d, "token_offsets", s->n + 1, 8, views, &token_offsets) != 0 || last_of(token_offsets, s->n, &tokens) != 0 ||
        take(d, "tokens", tokens, 4, views, &token) != 0 || take(d, "labels", s->n, 8, views, &labels) != 0) {
        return -1;
    }
    s->offsets = offsets;
    s->terms = terms;
    s->values = values;
    s->token_offsets = token_offsets;
    s->tokens = token;
    s->labels = labels;
    return 0;
}

static int take_content(PyObject *dict, struct views *views, grebe_ann_content *c)
{
    uint64_t layout = 0, n = 0;
    const void *p = NULL;
    PyObject *distance = PyDict_GetItemString(dict, "distance");
    PyObject *negated = PyDict_GetItemString(dict, "int8_negated_ip"), *plain = PyDict_GetItemString(dict, "plain_l2");
    PyObject *ratios = PyDict_GetItemString(dict, "valid_ratios");
    *c = (grebe_ann_content)GREBE_ANN_CONTENT_INIT;
    views->n = 0;
    if (take_int(dict, "layout", &layout) != 0 || layout > GREBE_ANN_SETS || distance == NULL ||
        (c->distance = PyUnicode_AsUTF8AndSize(distance, NULL)) == NULL) {
        return -1;
    }
    c->layout = (grebe_ann_layout)layout;
    if (take_side(dict, "base", c->layout, views, &c->base) != 0 || take_side(dict, "queries", c->layout, views, &c->queries) != 0 ||
        take_int(dict, "k", &c->k) != 0 || __builtin_mul_overflow(c->queries.n, c->k, &n)) {
        return -1;
    }
    if (take(dict, "neighbors", n, 8, views, &p) != 0) {
        return -1;
    }
    c->neighbors = p;
    if (take(dict, "distances", n, 4, views, &p) != 0) {
        return -1;
    }
    c->distances = p;
    if (ratios != NULL && ratios != Py_None) {
        if (take_int(dict, "n_valid_ratios", &c->n_valid_ratios) != 0 ||
            take(dict, "valid_ratios", c->n_valid_ratios, 4, views, &p) != 0) {
            return -1;
        }
        c->valid_ratios = p;
    }
    c->is_int8_negated_ip = negated == Py_True;
    c->is_maxsim_plain_l2 = plain == Py_True;
    return 0;
}

/* ann_write(path, content, durable) */
PyObject *core_ann_write(PyObject *self, PyObject *args)
{
    const char *path = NULL;
    PyObject *dict = NULL;
    int durable = 0;
    struct views views = { .n = 0 };
    grebe_error err = GREBE_ERROR_INIT;
    grebe_ann_content c;
    grebe_status st = GREBE_OK;
    (void)self;
    if (!PyArg_ParseTuple(args, "sO!p", &path, &PyDict_Type, &dict, &durable)) {
        return NULL;
    }
    if (take_content(dict, &views, &c) != 0) {
        views_release(&views);
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    st = grebe_ann_write(core.ctx, path, &c, durable != 0, NULL, &err);
    Py_END_ALLOW_THREADS
    views_release(&views);
    return st == GREBE_OK ? Py_NewRef(Py_None) : core_raise(&err);
}

/* ann_groundtruth(content, filtered, threads) -> (ids, distances) as bytearrays; content has k */
PyObject *core_ann_groundtruth(PyObject *self, PyObject *args)
{
    PyObject *dict = NULL, *ids = NULL, *distances = NULL, *result = NULL;
    int filtered = 0;
    unsigned threads = 0;
    struct views views = { .n = 0 };
    grebe_error err = GREBE_ERROR_INIT;
    grebe_ann_content c;
    grebe_call_options call = GREBE_CALL_OPTIONS_INIT;
    grebe_status st = GREBE_OK;
    uint64_t n = 0;
    (void)self;
    if (!PyArg_ParseTuple(args, "O!pI", &PyDict_Type, &dict, &filtered, &threads) || take_content(dict, &views, &c) != 0) {
        goto out;
    }
    if (c.k == 0 || c.k > c.base.n || __builtin_mul_overflow(c.queries.n, c.k, &n) || n > PY_SSIZE_T_MAX / 8) {
        PyErr_Format(PyExc_ValueError, "k: expected from 1 to %llu, the number of base rows, found %llu",
                     (unsigned long long)c.base.n, (unsigned long long)c.k);
        goto out;
    }
    ids = PyByteArray_FromStringAndSize(NULL, (Py_ssize_t)n * 8);
    distances = ids == NULL ? NULL : PyByteArray_FromStringAndSize(NULL, (Py_ssize_t)n * 4);
    if (distances == NULL) {
        goto out;
    }
    int64_t *i = (int64_t *)(void *)PyByteArray_AsString(ids);
    float *d = (float *)(void *)PyByteArray_AsString(distances);
    call.threads = threads;
    Py_BEGIN_ALLOW_THREADS
    st = grebe_ann_groundtruth(core.ctx, &c, c.k, filtered != 0, &call, i, d, &err);
    Py_END_ALLOW_THREADS
    result = st == GREBE_OK ? PyTuple_Pack(2, ids, distances) : core_raise(&err);
out:
    views_release(&views);
    Py_XDECREF(ids);
    Py_XDECREF(distances);
    return result;
}

/* ann_evaluate(content, ids, distances, seconds, n, width, k, rule, per_query) -> JSON text; per_query: room for n doubles */
PyObject *core_ann_evaluate(PyObject *self, PyObject *args)
{
    PyObject *dict = NULL, *ids = NULL, *distances = NULL, *seconds = NULL, *per_query = NULL, *given = NULL, *text = NULL;
    unsigned long long n = 0, width = 0, k = 0;
    struct views views = { .n = 0 };
    grebe_error err = GREBE_ERROR_INIT;
    grebe_ann_content c;
    grebe_ann_found found = GREBE_ANN_FOUND_INIT;
    grebe_ann_eval_options o = GREBE_ANN_EVAL_OPTIONS_INIT;
    grebe_ann_report *report = NULL;
    grebe_status st = GREBE_OK;
    uint64_t total = 0;
    const void *p[4] = { NULL };
    (void)self;
    if (!PyArg_ParseTuple(args, "O!OOOKKKsO", &PyDict_Type, &dict, &ids, &distances, &seconds, &n, &width, &k, &o.rule,
                          &per_query) || take_content(dict, &views, &c) != 0) {
        goto out;
    }
    given = Py_BuildValue("{s:O,s:O,s:O,s:O}", "ids", ids, "distances", distances, "times", seconds, "per_query", per_query);
    if (given == NULL || __builtin_mul_overflow(n, width, &total) || take(given, "ids", total, 8, &views, &p[0]) != 0 ||
        take(given, "distances", total, 4, &views, &p[1]) != 0 || take(given, "times", n, 8, &views, &p[2]) != 0 ||
        take(given, "per_query", n, 8, &views, &p[3]) != 0) {
        goto out;
    }
    found.n = n;
    found.width = width;
    found.ids = p[0];
    found.distances = p[1];
    found.seconds = p[2];
    memcpy(&o.per_query, &p[3], sizeof o.per_query); /* a bytearray: written */
    o.k = k;
    Py_BEGIN_ALLOW_THREADS
    st = grebe_ann_report_new(core.ctx, &report, &err);
    st = st == GREBE_OK ? grebe_ann_evaluate(core.ctx, &c, &found, &o, report, &err) : st;
    Py_END_ALLOW_THREADS
    text = st == GREBE_OK ? core_report_text(report) : core_raise(&err);
out:
    grebe_ann_report_free(report);
    views_release(&views);
    Py_XDECREF(given);
    return text;
}
