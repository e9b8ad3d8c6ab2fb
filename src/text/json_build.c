/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays of JSON values, column by column. Recursion is bounded by the depth of the shape. */
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "text/json_shape.h"
#include "text/text_bytes.h"
#include "text/text_given.h"

struct build {
    const grebe_allocator *a;
    const char *name; /* of the input */
    bool is_trial;
    uint64_t *n_values, *missing_bytes; /* of all arrays so far */
    grebe_error *err;
};

static bool is_absent(const struct json_value *v) { return v == NULL || v->type == JSON_NULL; }

/* s: of a type that was given, if it was. */
static grebe_status fail_value(const struct build *b, const struct json_shape *s,
                               const struct json_value *v, const char *expected)
{
    char found[80];
    const char *why = s->is_given ? "as the schema has it" : "as the first rows are";
    expected = s->is_given ? s->type_name : expected;
    bool has_text = v->type == JSON_NUMBER || v->type == JSON_STRING;
    return GREBE_FAIL(b->err, GREBE_ECORRUPT, "%s:%u:%u: expected %s, %s, found %s",
                      b->name, v->line, v->column, expected, why,
                      has_text ? error_quote(found, sizeof found, v->text, v->n)
                               : json_type_name(v->type));
}

static grebe_status build_validity(const struct build *b, const struct json_value *const *values,
                                   size_t n, struct ArrowArray *out)
{
    void *bits = NULL;
    size_t n_nulls = 0;
    for (size_t i = 0; i < n; i++) {
        n_nulls += is_absent(values[i]);
    }
    out->null_count = (int64_t)n_nulls;
    if (n_nulls == 0) {
        return GREBE_OK;
    }
    grebe_status st = array_alloc_buffer(b->a, out, 0, bitmap_bytes((int64_t)n), &bits, b->err);
    if (st != GREBE_OK) {
        return st;
    }
    memset(bits, 0, bitmap_bytes((int64_t)n));
    for (size_t i = 0; i < n; i++) {
        if (!is_absent(values[i])) {
            bit_set(bits, (int64_t)i);
        }
    }
    return GREBE_OK;
}

static bool store(const struct json_shape *s, const struct json_value *v, void *data, size_t i)
{
    const unsigned type = s->type;
    if (v->type == JSON_BOOL) {
        if (type == TEXT_BOOL && v->boolean) {
            bit_set(data, (int64_t)i);
        }
        return type == TEXT_BOOL;
    }
    if (s->is_given && type != TEXT_BOOL && (v->type == JSON_STRING || v->type == JSON_NUMBER)) {
        size_t width = (size_t)s->given.byte_width;
        return text_given_store(&s->given, v->text, v->n, true, (char *)data + i * width);
    }
    if (v->type == JSON_STRING) { /* "NaN" and its like */
        return type == TEXT_DOUBLE && (json_is_text(v, "NaN") || json_is_text(v, "Infinity") ||
                                       json_is_text(v, "-Infinity")) &&
               number_parse_double(v->text, v->n, (double *)data + i);
    }
    if (v->type != JSON_NUMBER) {
        return false;
    }
    switch (type) {
    case TEXT_INT64: return text_to_i64(v->text, v->n, (int64_t *)data + i);
    case TEXT_UINT64: return text_to_u64(v->text, v->n, (uint64_t *)data + i);
    case TEXT_DOUBLE: return text_to_double(v->text, v->n, (double *)data + i);
    default: return false;
    }
}

static grebe_status build_values(const struct build *b, const struct json_shape *s,
                                 const struct json_value *const *values, size_t n,
                                 struct ArrowArray *out)
{
    void *data = NULL;
    size_t width = s->is_given ? (size_t)s->given.byte_width : sizeof(int64_t);
    size_t bytes = s->type == TEXT_BOOL ? bitmap_bytes((int64_t)n) : n * width;
    grebe_status st = array_alloc_buffer(b->a, out, 1, bytes, &data, b->err);
    if (st != GREBE_OK) {
        return st;
    }
    memset(data, 0, bytes);
    for (size_t i = 0; i < n; i++) {
        if (!is_absent(values[i]) && !store(s, values[i], data, i)) {
            return fail_value(b, s, values[i], text_type_name(s->type));
        }
    }
    return GREBE_OK;
}

/* The value as JSON text, numbers as they were written. */
static void put_json(struct json_writer *w, const struct json_value *v)
{
    switch (v->type) {
    case JSON_NULL: json_null(w); break;
    case JSON_BOOL: json_bool(w, v->boolean); break;
    case JSON_NUMBER: json_raw(w, v->text, v->n); break;
    case JSON_STRING: json_text_len(w, v->text, v->n); break;
    case JSON_ARRAY:
        json_open_array(w);
        for (size_t i = 0; i < v->n; i++) {
            put_json(w, &v->items[i]);
        }
        json_close_array(w);
        break;
    case JSON_OBJECT:
        json_open_object(w);
        for (size_t i = 0; i < v->n; i++) {
            json_key_len(w, v->members[i].key, v->members[i].key_len);
            put_json(w, &v->members[i].value);
        }
        json_close_object(w);
        break;
    }
}

grebe_status json_put_value(struct buf *dst, const struct json_value *v, grebe_error *err)
{
    struct json_writer w;
    json_begin(&w, dst, 0, err);
    put_json(&w, v);
    return json_end(&w);
}

int json_value_depth(const struct json_value *v)
{
    int deepest = 0;
    for (size_t i = 0; (v->type == JSON_ARRAY || v->type == JSON_OBJECT) && i < v->n; i++) {
        int depth = json_value_depth(v->type == JSON_ARRAY ? &v->items[i] : &v->members[i].value);
        deepest = depth > deepest ? depth : deepest;
    }
    return deepest + (v->type == JSON_ARRAY || v->type == JSON_OBJECT);
}

static grebe_status put_bytes(const struct build *b, const struct json_shape *s,
                              const struct json_value *v, struct buf *dst)
{
    size_t n = v->type == JSON_STRING ? text_bytes_len(v->text, v->n, true) : SIZE_MAX;
    if (n == SIZE_MAX) {
        return fail_value(b, s, v, "binary");
    }
    grebe_status st = buf_reserve(dst, n, b->err);
    if (st == GREBE_OK && n > 0) {
        st = text_bytes_store(v->text, v->n, true, dst->data + dst->len) ? GREBE_OK
                                                                        : fail_value(b, s, v, "binary");
        dst->len += n;
    }
    return st;
}

static grebe_status build_strings(const struct build *b, const struct json_shape *s, bool is_json,
                                  const struct json_value *const *values, size_t n,
                                  struct ArrowArray *out)
{
    grebe_status st = GREBE_OK;
    void *p = NULL;
    struct buf text = BUF_INIT(b->a);
    GREBE_TRY(array_alloc_buffer(b->a, out, 1, (n + 1) * sizeof(int32_t), &p, b->err));
    int32_t *offsets = p;
    for (size_t i = 0; i < n; i++) {
        const struct json_value *v = values[i];
        offsets[i] = (int32_t)text.len;
        if (is_absent(v)) {
            continue;
        }
        if (is_json) {
            GREBE_TRY(json_put_value(&text, v, b->err));
        } else if (s->is_bytes) {
            GREBE_TRY(put_bytes(b, s, v, &text));
        } else if (v->type == JSON_STRING) {
            GREBE_TRY(buf_put(&text, v->text, v->n, b->err));
        } else if (s->is_given) {
            GREBE_TRY(json_put_value(&text, v, b->err));
        } else {
            st = fail_value(b, s, v, "a string");
            goto out;
        }
        if (text.len > INT32_MAX) {
            st = GREBE_FAIL(b->err, GREBE_ELIMIT, "%s:%u:%u: expected texts of 2 GiB at most", b->name,
                            v->line, v->column);
            goto out;
        }
    }
    offsets[n] = (int32_t)text.len;
    GREBE_TRY(array_alloc_buffer(b->a, out, 2, text.len, &p, b->err));
    if (text.len > 0) {
        memcpy(p, text.data, text.len);
    }
out:
    buf_release(&text);
    return st;
}

static grebe_status build_any(const struct build *b, const struct json_shape *s,
                              const struct json_value *const *values, size_t n,
                              struct ArrowArray *out);

static grebe_status build_list(const struct build *b, const struct json_shape *s,
                               const struct json_value *const *values, size_t n,
                               struct ArrowArray *out)
{
    grebe_status st = GREBE_OK;
    void *p = NULL;
    size_t n_items = 0; /* at most the bytes of a block: fits 32 bits */
    const struct json_value **items = NULL;
    GREBE_TRY(array_alloc_buffer(b->a, out, 1, (n + 1) * sizeof(int32_t), &p, b->err));
    int32_t *offsets = p;
    for (size_t i = 0; i < n; i++) {
        offsets[i] = (int32_t)n_items;
        if (!is_absent(values[i])) {
            if (values[i]->type != JSON_ARRAY) {
                st = fail_value(b, s, values[i], "an array");
                goto out;
            }
            n_items += values[i]->n;
        }
    }
    offsets[n] = (int32_t)n_items;
    items = mem_alloc(b->a, n_items * sizeof(void *));
    if (items == NULL) {
        st = mem_fail(b->err, n_items * sizeof(void *), "items");
        goto out;
    }
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; !is_absent(values[i]) && k < values[i]->n; k++) {
            items[at++] = &values[i]->items[k];
        }
    }
    st = build_any(b, s->item, items, n_items, out->children[0]);
out:
    mem_free(b->a, items, items != NULL ? n_items * sizeof(void *) : 0);
    return st;
}

/* Where a member of a row belongs. */
struct member_at {
    uint32_t field, member;
};

static int compare_members(const void *x, const void *y)
{
    const struct member_at *p = x, *q = y;
    return p->field != q->field ? (p->field > q->field) - (p->field < q->field)
                                : (p->member > q->member) - (p->member < q->member);
}

/* The members of an object in the order of the fields. Only a sample can have left a field out. */
static grebe_status order_members(const struct build *b, const struct json_shape *s,
                                  const struct json_value *v, struct member_at *order)
{
    struct json_field *f = NULL;
    bool is_ordered = true;
    if (v->type != JSON_OBJECT) {
        return fail_value(b, s, v, "an object");
    }
    for (size_t i = 0; i < v->n; i++) {
        const struct json_member *m = &v->members[i];
        f = json_shape_field(s, m->key, m->key_len, f != NULL ? f->next : s->first);
        if (f == NULL) {
            char key[80];
            return GREBE_FAIL(b->err, GREBE_ECORRUPT,
                              "%s:%u:%u: expected the fields of the first rows, found \"%s\"",
                              b->name, m->value.line, m->value.column,
                              error_quote(key, sizeof key, m->key, m->key_len));
        }
        order[i] = (struct member_at){ (uint32_t)f->index, (uint32_t)i };
        is_ordered &= i == 0 || order[i - 1].field <= order[i].field;
    }
    if (!is_ordered) {
        qsort(order, v->n, sizeof *order, compare_members);
    }
    for (size_t i = 1; b->is_trial && i < v->n; i++) {
        if (order[i].field == order[i - 1].field) {
            const struct json_value *at = &v->members[order[i].member].value;
            return GREBE_FAIL(b->err, GREBE_ECORRUPT, "%s:%u:%u: a key that comes twice", b->name,
                              at->line, at->column);
        }
    }
    return GREBE_OK;
}

/* Rows being taken apart, field after field. */
struct rows {
    struct member_at *order; /* of all rows; shape [n_members] */
    size_t *at, *end;        /* of each row: what is not yet taken of its part; shape [n] */
    const struct json_value **values; /* of one field; shape [n] */
};

/* Values of field k: of a key that comes twice the last one. */
static void take_field(struct rows *r, const struct json_value *const *rows, size_t n, size_t k)
{
    for (size_t i = 0; i < n; i++) {
        r->values[i] = NULL;
        for (; r->at[i] < r->end[i] && r->order[r->at[i]].field == k; r->at[i]++) {
            r->values[i] = &rows[i]->members[r->order[r->at[i]].member].value;
        }
    }
}

static grebe_status build_struct(const struct build *b, const struct json_shape *s,
                                 const struct json_value *const *values, size_t n,
                                 struct ArrowArray *out)
{
    grebe_status st = GREBE_OK;
    size_t n_members = 0, k = 0, at = 0; /* members are at most the bytes of a block */
    for (size_t i = 0; i < n; i++) {
        n_members += !is_absent(values[i]) && values[i]->type == JSON_OBJECT ? values[i]->n : 0;
    }
    struct rows r = { mem_alloc(b->a, n_members * sizeof *r.order),
                      mem_alloc(b->a, n * sizeof *r.at), mem_alloc(b->a, n * sizeof *r.end),
                      mem_alloc(b->a, n * sizeof(void *)) };
    if (r.order == NULL || r.at == NULL || r.end == NULL || r.values == NULL) {
        st = mem_fail(b->err, n_members * sizeof *r.order, "members");
        goto out;
    }
    for (size_t i = 0; i < n; i++) {
        r.at[i] = at;
        if (!is_absent(values[i])) {
            GREBE_TRY(order_members(b, s, values[i], r.order + at));
            at += values[i]->n;
        }
        r.end[i] = at;
    }
    for (const struct json_field *f = s->first; f != NULL; f = f->next, k++) {
        take_field(&r, values, n, k);
        GREBE_TRY(build_any(b, &f->shape, r.values, n, out->children[k]));
    }
out:
    mem_free(b->a, r.order, r.order != NULL ? n_members * sizeof *r.order : 0);
    mem_free(b->a, r.at, r.at != NULL ? n * sizeof *r.at : 0);
    mem_free(b->a, r.end, r.end != NULL ? n * sizeof *r.end : 0);
    mem_free(b->a, r.values, r.values != NULL ? n * sizeof(void *) : 0);
    return st;
}

static grebe_status build_nulls(const struct build *b, const struct json_shape *s, const struct json_value *const *values,
                                size_t n, struct ArrowArray *out)
{
    for (size_t i = 0; i < n; i++) {
        if (!is_absent(values[i])) {
            return fail_value(b, s, values[i], "null");
        }
    }
    grebe_status st = array_new(b->a, (int64_t)n, 0, 0, out, b->err);
    if (st == GREBE_OK) {
        out->null_count = (int64_t)n;
    }
    return st;
}

static size_t count_missing(const struct json_value *const *values, size_t n)
{
    size_t n_missing = 0;
    for (size_t i = 0; i < n; i++) {
        n_missing += values[i] == NULL;
    }
    return n_missing;
}

static grebe_status build_any(const struct build *b, const struct json_shape *s,
                              const struct json_value *const *values, size_t n,
                              struct ArrowArray *out)
{
    static const int64_t n_buffers[] = { 0, 2, 1, 2, 3 };
    grebe_status st = GREBE_OK;
    bool is_string = s->form == JSON_FORM_VALUE && s->type == 0;
    int64_t n_children = s->form == JSON_FORM_LIST     ? 1
                         : s->form == JSON_FORM_STRUCT ? (int64_t)s->n_fields
                                                       : 0;
    *b->n_values += n;
    *b->missing_bytes += (uint64_t)count_missing(values, n) * json_shape_slot_bytes(s);
    if (*b->n_values > JSON_VALUES_MAX || *b->missing_bytes > JSON_MISSING_BYTES_MAX) {
        return GREBE_FAIL(b->err, GREBE_ELIMIT,
                          "%s: expected objects that have most of their fields, found rows whose values "
                          "are more than %d, or take more than %d bytes where they are missing", b->name,
                          JSON_VALUES_MAX, JSON_MISSING_BYTES_MAX);
    }
    if (s->form == JSON_FORM_NULL) {
        return build_nulls(b, s, values, n, out);
    }
    GREBE_TRY(array_new(b->a, (int64_t)n, is_string ? 3 : n_buffers[s->form], n_children, out,
                        b->err));
    GREBE_TRY(build_validity(b, values, n, out));
    switch (s->form) {
    case JSON_FORM_LIST: st = build_list(b, s, values, n, out); break;
    case JSON_FORM_STRUCT: st = build_struct(b, s, values, n, out); break;
    case JSON_FORM_TEXT: st = build_strings(b, s, true, values, n, out); break;
    default:
        st = is_string ? build_strings(b, s, false, values, n, out)
                       : build_values(b, s, values, n, out);
    }
out:
    if (st != GREBE_OK) {
        array_release(out);
    }
    return st;
}

grebe_status json_build(const grebe_allocator *a, const char *name, const struct json_shape *s,
                        bool is_trial, const struct json_value *const *values, size_t n,
                        struct ArrowArray *out, grebe_error *err)
{
    uint64_t n_values = 0, missing_bytes = 0;
    const struct build b = { a, name, is_trial, &n_values, &missing_bytes, err };
    return build_any(&b, s, values, n, out);
}
