/* SPDX-License-Identifier: Apache-2.0 */
#include "gitvdb/vdb_points.h"

#include <math.h>
#include <string.h>

#include "base/endian.h"
#include "base/error.h"
#include "gitvdb/vdb_points_internal.h"
#include "gitvdb/vdb_scan.h"

/* One line, one pass: numbers go straight into the row, a payload that is canonical already straight into the buffer.
 */

enum { FIELD_ID = 1, FIELD_VECTOR = 2, FIELD_PAYLOAD = 4 };

static const struct vdb_line_form plain_form = { "id", "vector", 2, 6, false };

struct line {
    struct vdb_points *points;
    const struct vdb_line_form *form;
    struct vdb_text text;
    const char *p;
    struct arena ar; /* for what has no fast path */
    uint32_t fields; /* seen so far */
    size_t n;        /* components */
    const char *key; /* of the member that is read */
    size_t key_len;
    struct vdb_others others;
    const struct vdb_value *payload; /* read as a value, because others may join it; NULL: none */
    grebe_error *err;
};

static grebe_status fail_at(const struct line *l, const char *at, const char *expected)
{
    const struct vdb_fault fault = { at, expected };
    return vdb_fault_fail(&fault, &l->text, l->err);
}

/* ---- numbers ---- */

#define EACH(byte) (UINT64_C(0x0101010101010101) * (byte))

/* The number of digits at the beginning of x (8 bytes, the first one lowest) after "x ^= EACH('0')". */
static inline unsigned leading_digits(uint64_t x)
{
    uint64_t no_digit = ((x + EACH(0x76)) | x) & EACH(0x80); /* exact up to the first one */
    return no_digit != 0 ? (unsigned)__builtin_ctzll(no_digit) / 8 : 8;
}

/* Eight values of digits, the first one lowest, as a number: pairs, fours, eights. */
static inline uint64_t eight_digits(uint64_t x)
{
    x = x * 10 + (x >> 8);
    return ((x & UINT64_C(0x000000ff000000ff)) * UINT64_C(0x000f424000000064) +
            (x >> 16 & UINT64_C(0x000000ff000000ff)) * UINT64_C(0x0000271000000001)) >>
           32;
}

/* Up to 16 digits behind a point; end is at least 16 bytes away. */
static inline const char *fraction_digits(const char *p, uint64_t *significand, unsigned *n)
{
    static const uint64_t scale[9] = { 1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000 };
    *n = 0;
    for (int i = 0; i < 2; i++) {
        uint64_t x = load_le64(p) ^ EACH('0');
        unsigned k = leading_digits(x);
        if (k == 0) {
            break;
        }
        *significand = *significand * scale[k] + eight_digits(x << (64 - 8 * k));
        *n += k;
        p += k;
        if (k < 8) {
            break;
        }
    }
    return p;
}

/*
 * A plain decimal such as -0.38497: behind it; NULL: whatever else may stand there is for vdb_scan_number(). It is the
 * format's rule: at most 18 digits, one division.
 */
static inline const char *fast_float(const char *p, const char *end, float *out)
{
    enum { WHOLE_MAX = 2, ROOM = 24 };
    uint64_t significand = 0;
    unsigned n = 0;
    if (end - p < ROOM) {
        return NULL;
    }
    const bool is_negative = *p == '-';
    p += is_negative;
    const char *begin = p;
    while ((unsigned)(*p - '0') < 10 && p - begin < WHOLE_MAX) {
        significand = significand * 10 + (unsigned)(*p++ - '0');
    }
    if (*p != '.' || p == begin || (*begin == '0' && p - begin > 1)) {
        return NULL;
    }
    p = fraction_digits(p + 1, &significand, &n);
    if (n == 0 || (unsigned)(*p - '0') < 10 || (*p | 0x20) == 'e') {
        return NULL;
    }
    double f = (double)significand / vdb_pow10[n];
    *out = (float)(is_negative ? -f : f);
    return p;
}

static float float_of(const struct vdb_number *n)
{
    return n->type == VDB_UINT ? (float)n->u : n->type == VDB_INT ? (float)n->i : (float)n->f;
}

/* ---- the vector ---- */

/* How many components there can be: one more than commas up to the bracket. */
static size_t count_components(const char *p, const char *end)
{
    size_t n = 1;
    for (; p < end && *p != ']'; p++) {
        n += *p == ',';
    }
    return n;
}

static grebe_status read_component(struct line *l, float *out)
{
    struct vdb_number n;
    struct vdb_fault fault;
    const char *p = l->p;
    if (p == l->text.end || (*p != '-' && (unsigned)(*p - '0') > 9)) {
        return fail_at(l, p, "a number");
    }
    l->p = vdb_scan_number(p, l->text.end, &n, &fault);
    if (l->p == NULL) {
        return vdb_fault_fail(&fault, &l->text, l->err);
    }
    if (n.type == VDB_FLOAT && isinf(n.f)) {
        return fail_at(l, p, "a number in the range of 64-bit floats");
    }
    *out = float_of(&n);
    return GREBE_OK;
}

/* l->p is behind the bracket. Components beyond dim are counted, not kept. */
static grebe_status read_components(struct line *l, float *row, size_t dim)
{
    grebe_status st = GREBE_OK;
    const char *const end = l->text.end;
    float ignored = 0;
    for (;; l->p++) {
        float *out = l->n < dim ? row + l->n : &ignored;
        l->p = vdb_skip_space(l->p, end);
        const char *p = fast_float(l->p, end, out);
        if (p != NULL) {
            l->p = p;
        } else {
            GREBE_TRY(read_component(l, out));
        }
        l->n++;
        if (l->p < end && *l->p != ',') {
            l->p = vdb_skip_space(l->p, end);
        }
        if (l->p == end || *l->p != ',') {
            break;
        }
    }
    if (l->p == end || *l->p != ']') {
        return fail_at(l, l->p, "',' or ']'");
    }
    l->p++;
out:
    return st;
}

static grebe_status read_value(struct line *l, struct vdb_value *v)
{
    return vdb_json_parse_at(&l->ar, &l->text, l->p, 1, &l->p, v, l->err);
}

/* "0.5,1", which is what tables without lists have. */
static grebe_status read_vector_text(struct line *l)
{
    struct vdb_points *points = l->points;
    struct vdb_value v;
    float *values = NULL;
    grebe_status st;
    GREBE_TRY(read_value(l, &v));
    GREBE_TRY(vdb_vector_from_text(points->a, v.s.text, v.s.len, &values, &l->n, l->err));
    if (l->n == 0 || l->n > UINT32_MAX) {
        st = GREBE_FAIL(l->err, GREBE_EINVAL, "vector: expected 1 to %u components, found %zu", UINT32_MAX, l->n);
        goto out;
    }
    points->dim = points->dim == 0 ? (uint32_t)l->n : points->dim;
    GREBE_TRY(vdb_points_reserve_row(points, l->err));
    if (l->n == points->dim) { /* else the end of the line says so */
        memcpy(points->vectors + points->n * points->dim, values, l->n * sizeof *values);
    }
out:
    mem_free(points->a, values, l->n * sizeof *values);
    return st;
}

static grebe_status read_vector(struct line *l)
{
    struct vdb_points *points = l->points;
    if (l->form->takes_others && l->p < l->text.end && *l->p == '"') {
        return read_vector_text(l);
    }
    if (l->p == l->text.end || *l->p != '[') {
        return fail_at(l, l->p, "an array of numbers");
    }
    const char *first = vdb_skip_space(l->p + 1, l->text.end);
    l->p++;
    if (first < l->text.end && *first == ']') {
        return fail_at(l, first, "a number");
    }
    if (points->dim == 0) {
        size_t n = count_components(first, l->text.end);
        if (n > UINT32_MAX) {
            return fail_at(l, first, "fewer than 2^32 numbers");
        }
        points->dim = (uint32_t)n;
    }
    grebe_status st = vdb_points_reserve_row(points, l->err);
    return st == GREBE_OK ? read_components(l, points->vectors + points->n * points->dim, points->dim) : st;
}

/* ---- id and payload ---- */

static grebe_status read_id(struct line *l)
{
    struct vdb_value v;
    struct vdb_id id;
    struct vdb_fault fault;
    bool has_escape = false;
    const char *at = l->p;
    if (at < l->text.end && *at == '"') {
        const char *behind = vdb_scan_string(at + 1, l->text.end, &has_escape, &fault);
        if (behind == NULL) {
            return vdb_fault_fail(&fault, &l->text, l->err);
        }
        if (!has_escape) {
            struct vdb_id plain = { false, 0, at + 1, (size_t)(behind - at - 2) };
            l->p = behind;
            return vdb_points_put_id(l->points, &plain, l->err);
        }
    }
    grebe_status st = read_value(l, &v);
    if (st == GREBE_OK) {
        st = vdb_id_from_json(&v, &id, l->err);
    }
    return st == GREBE_OK ? vdb_points_put_id(l->points, &id, l->err) : st;
}

/* A payload that others may join, which may come before or behind it. */
static grebe_status read_payload_value(struct line *l)
{
    struct vdb_value *v = arena_alloc(&l->ar, sizeof *v);
    if (v == NULL) {
        return mem_fail(l->err, sizeof *v, "a payload");
    }
    const char *at = l->p;
    grebe_status st = read_value(l, v);
    if (st != GREBE_OK || v->type == VDB_NULL) {
        return st;
    }
    l->payload = v;
    if (v->type == VDB_STRING) {
        st = error_wrap(l->err, vdb_json_parse(&l->ar, v->s.text, v->s.len, &l->payload, l->err), "payload");
    }
    return st == GREBE_OK && l->payload->type != VDB_OBJECT ? fail_at(l, at, "an object as payload") : st;
}

/* Whether a line of only id, vector and payload goes on behind p: then nothing joins the payload. */
static bool is_end_of_line(const struct line *l, const char *p)
{
    p = vdb_skip_space(p, l->text.end);
    return p < l->text.end && *p != ',' && l->others.n == 0;
}

static grebe_status read_payload(struct line *l)
{
    struct vdb_value v;
    bool is_unstable = false;
    const char *at = l->p;
    if (at == l->text.end || (*at != '{' && !l->form->takes_others)) {
        return fail_at(l, at, "an object as payload");
    }
    const char *behind = *at == '{' ? vdb_scan_canonical(at, l->text.end, 1, &is_unstable) : NULL;
    if (behind != NULL && !is_unstable && (!l->form->takes_others || is_end_of_line(l, behind))) {
        l->p = behind; /* it would be printed as it stands */
        return buf_put(&l->points->payloads, at, (size_t)(behind - at), l->err);
    }
    if (l->form->takes_others) {
        return read_payload_value(l);
    }
    grebe_status st = read_value(l, &v);
    return st == GREBE_OK ? vdb_json_put(&l->points->payloads, &v, l->err) : st;
}

static grebe_status read_other(struct line *l)
{
    struct vdb_value v;
    const char *key = l->key;
    const size_t key_len = l->key_len;
    grebe_status st = read_value(l, &v);
    l->others.ar = &l->ar;
    return st == GREBE_OK ? vdb_others_add(&l->others, key, key_len, &v, l->err) : st;
}

static grebe_status read_field(struct line *l, uint32_t field)
{
    if (field == 0 && l->form->takes_others) {
        return read_other(l);
    }
    if (field == 0) {
        return vdb_skip_value(l->points->a, &l->text, l->p, &l->p, l->err);
    }
    if ((l->fields & field) != 0) {
        return fail_at(l, l->p, "id, vector and payload once each");
    }
    l->fields |= field;
    switch (field) {
    case FIELD_ID: return read_id(l);
    case FIELD_VECTOR: return read_vector(l);
    default: return read_payload(l);
    }
}

/* ---- the line ---- */

static uint32_t field_of(const struct vdb_line_form *form, const char *key, size_t len)
{
    if (len == form->id_len && memcmp(key, form->id, len) == 0) {
        return FIELD_ID;
    }
    if (len == form->vector_len && memcmp(key, form->vector, len) == 0) {
        return FIELD_VECTOR;
    }
    return len == 7 && memcmp(key, "payload", 7) == 0 ? FIELD_PAYLOAD : 0;
}

/* l->p at a quote; moves behind the colon. */
static grebe_status read_key(struct line *l, uint32_t *field)
{
    struct vdb_fault fault;
    struct vdb_value v;
    bool has_escape = false;
    const char *begin = l->p + 1;
    if (l->p == l->text.end || *l->p != '"') {
        return fail_at(l, l->p, "'\"' before a key");
    }
    const char *behind = vdb_scan_string(begin, l->text.end, &has_escape, &fault);
    if (behind == NULL) {
        return vdb_fault_fail(&fault, &l->text, l->err);
    }
    l->key = begin;
    l->key_len = (size_t)(behind - 1 - begin);
    if (has_escape) {
        grebe_status st = read_value(l, &v);
        if (st != GREBE_OK) {
            return st;
        }
        l->key = v.s.text;
        l->key_len = v.s.len;
    }
    *field = field_of(l->form, l->key, l->key_len);
    l->p = vdb_skip_space(behind, l->text.end);
    if (l->p == l->text.end || *l->p != ':') {
        return fail_at(l, l->p, "':'");
    }
    l->p = vdb_skip_space(l->p + 1, l->text.end);
    return GREBE_OK;
}

/* Fields by their names, or an array of them in order. */
static grebe_status read_fields(struct line *l)
{
    static const uint32_t order[] = { FIELD_ID, FIELD_VECTOR, FIELD_PAYLOAD };
    grebe_status st = GREBE_OK;
    const char *const end = l->text.end;
    const bool is_object = l->p < end && *l->p == '{';
    const char close = is_object ? '}' : ']';
    if (l->p == end || (!is_object && *l->p != '[')) {
        return fail_at(l, l->p, "an object with id, vector and payload");
    }
    l->p = vdb_skip_space(l->p + 1, end);
    for (size_t i = 0; l->p == end || *l->p != close || i > 0; i++) {
        uint32_t field = 0;
        if (is_object) {
            GREBE_TRY(read_key(l, &field));
        } else if (i < sizeof order / sizeof *order) {
            field = order[i];
        } else {
            return fail_at(l, l->p, "id, vector and payload only");
        }
        GREBE_TRY(read_field(l, field));
        l->p = vdb_skip_space(l->p, end);
        if (l->p < end && *l->p == close) {
            break;
        }
        if (l->p == end || *l->p != ',') {
            return fail_at(l, l->p, is_object ? "',' or '}'" : "',' or ']'");
        }
        l->p = vdb_skip_space(l->p + 1, end);
    }
    if (l->p == end) {
        return fail_at(l, l->p, is_object ? "'}'" : "']'");
    }
    l->p = vdb_skip_space(l->p + 1, end);
    if (l->p != end) {
        return fail_at(l, l->p, "the end of the line");
    }
out:
    return st;
}

static grebe_status end_line(struct line *l)
{
    struct vdb_points *points = l->points;
    if ((l->fields & FIELD_ID) == 0) {
        return GREBE_FAIL(l->err, GREBE_EINVAL, "a point without %s", l->form->id);
    }
    if ((l->fields & FIELD_VECTOR) == 0) {
        return GREBE_FAIL(l->err, GREBE_EINVAL, "a point without %s", l->form->vector);
    }
    points->id_end[points->n] = points->ids.len;
    if (l->n != points->dim) {
        struct vdb_id id = vdb_points_id(points, points->n);
        return vdb_points_dim_fail(&id, points->dim, l->n, l->err);
    }
    const size_t end = points->n == 0 ? 0 : (size_t)points->payload_end[points->n - 1];
    grebe_status st = GREBE_OK;
    if (l->payload != NULL || l->others.n != 0) {
        st = vdb_others_put(&l->others, l->payload, &points->payloads, l->err);
    } else if (points->payloads.len == end) {
        st = buf_put(&points->payloads, "{}", 2, l->err);
    }
    if (st != GREBE_OK) {
        return st;
    }
    vdb_points_end_row(points);
    return GREBE_OK;
}

grebe_status vdb_points_add_line(struct vdb_points *p, const char *line, size_t len, grebe_error *err)
{
    return vdb_points_add_row_line(p, &plain_form, line, len, err);
}

grebe_status vdb_points_add_row_line(struct vdb_points *p, const struct vdb_line_form *form, const char *line, size_t len,
                                     grebe_error *err)
{
    const size_t ids_len = p->ids.len;
    const size_t payloads_len = p->payloads.len;
    const uint32_t dim_before = p->dim;
    struct line l = { .points = p, .form = form, .text = { line, len > 0 ? line + len : line, true }, .p = line,
                      .ar = ARENA_INIT(p->a), .err = err };
    l.p = vdb_skip_space(l.p, l.text.end);
    grebe_status st = read_fields(&l);
    if (st == GREBE_OK) {
        st = end_line(&l);
    }
    if (st != GREBE_OK) {
        p->ids.len = ids_len;
        p->payloads.len = payloads_len;
        vdb_points_set_dim(p, dim_before);
    }
    arena_release(&l.ar);
    return st;
}
