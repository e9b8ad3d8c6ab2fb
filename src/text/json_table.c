/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A builder for every place of the shape. Fields that an object does not have lag behind and are filled with nulls
 * when their next value comes, or at the end.
 */
#include "text/json_table.h"

#include "base/checked.h"
#include "base/number.h"
#include "text/text_bytes.h"
#include "text/text_given.h"

struct json_node {
    const struct json_shape *shape;
    struct text_builder b;
    struct json_node *children;      /* of a struct [n_fields], of a list [1] */
    const struct json_field **order; /* what came behind field i - 1 in the object before; [n_fields + 1] */
};

static grebe_status node_init(struct json_table *t, struct json_node *node,
                              const struct json_shape *s, grebe_error *err)
{
    static const enum text_builder_kind kinds[] = { TEXT_BUILDER_NULLS, TEXT_BUILDER_FIXED,
                                                    TEXT_BUILDER_STRUCT, TEXT_BUILDER_LIST,
                                                    TEXT_BUILDER_TEXT };
    enum text_builder_kind kind = kinds[s->form];
    grebe_status st = GREBE_OK;
    if (s->form == JSON_FORM_VALUE) {
        kind = s->type == 0           ? TEXT_BUILDER_TEXT
               : s->type == TEXT_BOOL ? TEXT_BUILDER_BITS
                                      : TEXT_BUILDER_FIXED;
    }
    node->shape = s;
    text_builder_init(&node->b, t->arena.a, kind,
                      s->is_given ? (size_t)s->given.byte_width : sizeof(int64_t));
    size_t n = s->form == JSON_FORM_STRUCT ? s->n_fields : s->form == JSON_FORM_LIST;
    node->children = arena_array(&t->arena, n, sizeof *node->children);
    if (node->children == NULL) {
        return mem_fail(err, n * sizeof *node->children, "columns");
    }
    if (s->form == JSON_FORM_LIST) {
        return node_init(t, &node->children[0], s->item, err);
    }
    if (s->form != JSON_FORM_STRUCT) {
        return GREBE_OK;
    }
    node->order = arena_array(&t->arena, n + 1, sizeof(void *));
    if (node->order == NULL) {
        return mem_fail(err, n * sizeof(void *), "columns");
    }
    size_t i = 0;
    for (const struct json_field *f = s->first; f != NULL && st == GREBE_OK; f = f->next, i++) {
        node->order[i] = f;
        st = node_init(t, &node->children[i], &f->shape, err);
    }
    return st;
}

grebe_status json_table_init(struct json_table *t, const grebe_allocator *a,
                             const struct json_shape *shape, size_t n_leaves, grebe_error *err)
{
    *t = (struct json_table){ .n_leaves = n_leaves };
    t->arena = ARENA_INIT(a);
    t->values = ARENA_INIT(a);
    t->scratch = BUF_INIT(a);
    t->root = arena_alloc_zero(&t->arena, sizeof *t->root);
    return t->root != NULL ? node_init(t, t->root, shape, err)
                           : mem_fail(err, sizeof *t->root, "columns");
}

static size_t n_children(const struct json_node *node)
{
    if (node->children == NULL) { /* not all of it was made */
        return 0;
    }
    return node->shape->form == JSON_FORM_STRUCT ? node->shape->n_fields
                                                 : node->shape->form == JSON_FORM_LIST;
}

static void node_release(struct json_node *node)
{
    if (node->shape != NULL) {
        for (size_t i = 0; i < n_children(node); i++) {
            node_release(&node->children[i]);
        }
        text_builder_release(&node->b);
    }
}

void json_table_release(struct json_table *t)
{
    if (t->root != NULL) {
        node_release(t->root);
        t->root = NULL;
    }
    arena_release(&t->arena);
    arena_release(&t->values);
    buf_release(&t->scratch);
}

size_t json_table_rows(const struct json_table *t) { return t->root->b.n; }

/* Of the places that have a value in (nearly) every row. */
static grebe_status node_expect(struct json_node *node, size_t n_now, size_t n_rows,
                                grebe_error *err)
{
    grebe_status st = GREBE_OK;
    if (node->b.n > n_now / 2 && node->b.n < n_rows) {
        st = text_builder_reserve(&node->b, n_rows - node->b.n, err);
    }
    for (size_t i = 0; st == GREBE_OK && node->shape->form == JSON_FORM_STRUCT && i < n_children(node);
         i++) {
        st = node_expect(&node->children[i], n_now, n_rows, err);
    }
    return st;
}

grebe_status json_table_expect(struct json_table *t, size_t n_rows, grebe_error *err)
{
    return node_expect(t->root, t->root->b.n, n_rows, err);
}

/* ---- values ---- */

static grebe_status put_value(struct json_table *t, struct json_node *node, struct json_cursor *c,
                              int depth, grebe_error *err);

static grebe_status put_text(struct json_node *node, const char *text, size_t len,
                             grebe_error *err)
{
    return text_builder_put_text(&node->b, text, len, err);
}

static grebe_status put_bytes(struct json_node *node, const char *text, size_t len, grebe_error *err)
{
    struct text_builder *b = &node->b;
    size_t n = text_bytes_len(text, len, true);
    if (n == SIZE_MAX) {
        return JSON_ODD;
    }
    grebe_status st = text_builder_reserve(b, 1, err);
    if (st == GREBE_OK) {
        st = text_builder_reserve_text(b, n, err);
    }
    if (st == GREBE_OK && !text_bytes_store(text, len, true, b->chars + b->text_len)) {
        st = JSON_ODD;
    }
    if (st == GREBE_OK) {
        text_builder_end_text(b, n);
    }
    return st;
}

static grebe_status put_string(struct json_table *t, struct json_node *node, struct json_cursor *c,
                               grebe_error *err)
{
    const char *text = NULL;
    size_t len = 0;
    if (*c->p != '"') {
        return JSON_ODD;
    }
    grebe_status st = json_string(c, &t->scratch, &text, &len, err);
    if (st == GREBE_OK && node->shape->is_bytes) {
        return put_bytes(node, text, len, err);
    }
    return st == GREBE_OK ? put_text(node, text, len, err) : st;
}

static bool is_number_char(char c)
{
    return (c >= '0' && c <= '9') || c == '.' || c == 'e' || c == 'E' || c == '+' || c == '-';
}

/* A number that the plain ways do not know. */
static bool odd_number(struct json_cursor *c, unsigned type, void *dst)
{
    bool is_integer = false, has_exponent = false;
    size_t n = json_number(c, &is_integer, &has_exponent);
    const char *s = c->p;
    c->p += n;
    return n > 0 && (type == TEXT_INT64    ? text_to_i64(s, n, dst)
                     : type == TEXT_UINT64 ? text_to_u64(s, n, dst)
                                           : text_to_double(s, n, dst));
}

/* A number or a string whose text is a value of the given type. */
static grebe_status put_given(struct json_table *t, struct json_node *node, struct json_cursor *c,
                              grebe_error *err)
{
    struct text_builder *b = &node->b;
    bool is_integer = false, has_exponent = false;
    const char *text = c->p;
    size_t n = 0;
    grebe_status st = text_builder_reserve(b, 1, err);
    if (st == GREBE_OK && *c->p == '"') {
        st = json_string(c, &t->scratch, &text, &n, err);
    } else {
        n = json_number(c, &is_integer, &has_exponent);
        c->p += n;
    }
    if (st != GREBE_OK || !text_given_store(&node->shape->given, text, n, true, b->data + b->n * b->width)) {
        return st != GREBE_OK ? st : JSON_ODD;
    }
    text_builder_took(b);
    return GREBE_OK;
}

static grebe_status put_number(struct json_table *t, struct json_node *node, struct json_cursor *c,
                               grebe_error *err)
{
    struct text_builder *b = &node->b;
    const unsigned type = node->shape->type;
    grebe_status st = text_builder_reserve(b, 1, err);
    if (st != GREBE_OK) {
        return st;
    }
    void *dst = b->data + b->n * sizeof(int64_t);
    size_t left = (size_t)(c->end - c->p);
    size_t n = type == TEXT_INT64    ? text_take_i64(c->p, left, dst)
               : type == TEXT_DOUBLE ? text_take_double(c->p, left, dst)
                                     : 0;
    if (n > 0 && n < left && !is_number_char(c->p[n])) {
        c->p += n;
    } else if (node->shape->is_given) {
        return put_given(t, node, c, err);
    } else if (*c->p == '"' && type == TEXT_DOUBLE) {
        const char *text = NULL;
        st = json_string(c, &t->scratch, &text, &n, err);
        if (st == GREBE_OK && !(json_is_special(text, n) && number_parse_double(text, n, dst))) {
            st = JSON_ODD;
        }
    } else if (!odd_number(c, type, dst)) {
        st = JSON_ODD;
    }
    if (st == GREBE_OK) {
        text_builder_took(b);
    }
    return st;
}

static grebe_status put_bool(struct json_node *node, struct json_cursor *c, grebe_error *err)
{
    struct text_builder *b = &node->b;
    grebe_status st = text_builder_reserve(b, 1, err);
    if (st != GREBE_OK) {
        return st;
    }
    if (json_take_word(c, "true", 4)) {
        bit_set(b->data, (int64_t)b->n);
    } else if (!json_take_word(c, "false", 5)) {
        return JSON_ODD;
    }
    text_builder_took(b);
    return GREBE_OK;
}

/* Any value as JSON text: by a tree of this one value. */
static grebe_status put_json(struct json_table *t, struct json_node *node, struct json_cursor *c,
                             int depth, grebe_error *err)
{
    const struct json_place place = { "", 1, 1 };
    const struct json_value *v = NULL;
    size_t used = (size_t)(c->end - c->p);
    arena_release(&t->values);
    if (json_parse_at(&t->values, c->p, used, &place, &used, &v, NULL) != GREBE_OK ||
        depth + json_value_depth(v) > JSON_DEPTH_MAX) {
        return JSON_ODD;
    }
    c->p += used;
    buf_clear(&t->scratch);
    grebe_status st = json_put_value(&t->scratch, v, err);
    return st == GREBE_OK ? put_text(node, (char *)t->scratch.data, t->scratch.len, err) : st;
}

static grebe_status put_list(struct json_table *t, struct json_node *node, struct json_cursor *c,
                             int depth, grebe_error *err)
{
    struct json_node *item = &node->children[0];
    if (*c->p != '[' || depth >= JSON_DEPTH_MAX) {
        return JSON_ODD;
    }
    c->p++;
    grebe_status st = text_builder_reserve(&node->b, 1, err);
    if (st != GREBE_OK) {
        return st;
    }
    if (!json_take(c, ']')) {
        do {
            json_skip_space(c);
            st = put_value(t, item, c, depth + 1, err);
            if (st != GREBE_OK) {
                return st;
            }
        } while (json_take(c, ','));
        if (!json_take(c, ']')) {
            return JSON_ODD;
        }
    }
    ((int32_t *)(void *)node->b.data)[node->b.n + 1] = (int32_t)item->b.n; /* checked as it grew */
    text_builder_took(&node->b);
    return GREBE_OK;
}

/* The field whose name stands at the cursor, which is mostly the one that stood here before. */
static grebe_status take_name(struct json_table *t, struct json_node *node, size_t at,
                              struct json_cursor *c, const struct json_field **out,
                              grebe_error *err)
{
    const struct json_field *guess = node->order[at];
    const char *name = NULL;
    size_t len = 0;
    if (guess != NULL && json_field_is_at(guess, c->p, c->end)) {
        c->p += guess->len + 2;
        *out = guess;
        return GREBE_OK;
    }
    if (c->p == c->end || *c->p != '"') {
        return JSON_ODD;
    }
    grebe_status st = json_string(c, &t->scratch, &name, &len, err);
    if (st != GREBE_OK) {
        return st;
    }
    *out = node->order[at] = json_shape_field(node->shape, name, len, NULL);
    return *out != NULL ? GREBE_OK : JSON_ODD;
}

static grebe_status fail_sparse(size_t n_rows, grebe_error *err)
{
    return GREBE_FAIL(err, GREBE_ELIMIT,
                      "expected objects that have most of their fields, found %zu rows whose values are "
                      "more than %d, or take more than %d bytes where they are missing", n_rows,
                      JSON_VALUES_MAX, JSON_MISSING_BYTES_MAX);
}

/* The child comes to have n values. What is filled in is counted first: few bytes of text may ask for much. */
static grebe_status fill_gap(struct json_table *t, struct json_node *child, size_t n, grebe_error *err)
{
    size_t gap = n - child->b.n;
    t->missing_bytes += (uint64_t)gap * json_shape_slot_bytes(child->shape); /* < 2^31 values of 32 bytes */
    if (t->missing_bytes > JSON_MISSING_BYTES_MAX) {
        return fail_sparse(t->root->b.n, err);
    }
    grebe_status st = text_builder_reserve(&child->b, gap + 1, err); /* not twice as much for the value behind it */
    return st == GREBE_OK ? text_builder_put_nulls(&child->b, gap, err) : st;
}

static grebe_status put_struct(struct json_table *t, struct json_node *node, struct json_cursor *c,
                               int depth, grebe_error *err)
{
    const size_t row = node->b.n;
    size_t at = 0;
    if (*c->p != '{' || depth >= JSON_DEPTH_MAX) {
        return JSON_ODD;
    }
    c->p++;
    grebe_status st = text_builder_reserve(&node->b, 1, err);
    if (st != GREBE_OK) {
        return st;
    }
    if (!json_take(c, '}')) {
        do {
            const struct json_field *f = NULL;
            json_skip_space(c);
            st = take_name(t, node, at, c, &f, err);
            if (st != GREBE_OK || !json_take(c, ':')) {
                return st != GREBE_OK ? st : JSON_ODD;
            }
            struct json_node *child = &node->children[f->index];
            if (child->b.n < row) {
                st = fill_gap(t, child, row, err);
            } else if (child->b.n > row) {
                st = JSON_ODD; /* the key comes twice */
            }
            json_skip_space(c);
            st = st == GREBE_OK ? put_value(t, child, c, depth + 1, err) : st;
            if (st != GREBE_OK) {
                return st;
            }
            at = f->index + 1;
        } while (json_take(c, ','));
        if (!json_take(c, '}')) {
            return JSON_ODD;
        }
    }
    text_builder_took(&node->b);
    return GREBE_OK;
}

static grebe_status put_value(struct json_table *t, struct json_node *node, struct json_cursor *c,
                              int depth, grebe_error *err)
{
    if (c->p == c->end) {
        return JSON_ODD;
    }
    if (*c->p == 'n') {
        return json_take_word(c, "null", 4) ? text_builder_put_nulls(&node->b, 1, err) : JSON_ODD;
    }
    switch (node->shape->form) {
    case JSON_FORM_STRUCT: return put_struct(t, node, c, depth, err);
    case JSON_FORM_LIST: return put_list(t, node, c, depth, err);
    case JSON_FORM_TEXT: return put_json(t, node, c, depth, err);
    case JSON_FORM_VALUE:
        if (node->shape->is_given && node->shape->type == 0 && !node->shape->is_bytes && *c->p != '"') {
            return put_json(t, node, c, depth, err);
        }
        return node->shape->type == 0            ? put_string(t, node, c, err)
               : node->shape->type == TEXT_BOOL  ? put_bool(node, c, err)
               : node->shape->type == TEXT_GIVEN ? put_given(t, node, c, err)
                                                 : put_number(t, node, c, err);
    default: return JSON_ODD;
    }
}

grebe_status json_table_put(struct json_table *t, struct json_cursor *c, grebe_error *err)
{
    if (c->p == c->end || *c->p != '{') {
        return JSON_ODD;
    }
    return put_struct(t, t->root, c, 0, err);
}

grebe_status json_table_put_text(struct json_table *t, const char *text, size_t len,
                                 grebe_error *err)
{
    struct json_cursor c = { text, text + len };
    json_skip_space(&c);
    grebe_status st = put_value(t, t->root, &c, 0, err);
    json_skip_space(&c);
    return st == GREBE_OK && c.p != c.end ? JSON_ODD : st;
}

grebe_status json_table_put_null(struct json_table *t, grebe_error *err)
{
    return text_builder_put_nulls(&t->root->b, 1, err);
}

/* ---- the end ---- */

/* Values of the node and below it, when it is filled up to n; *missing: bytes of those filled in then are added. */
static uint64_t count_values(const struct json_node *node, size_t n, uint64_t *missing)
{
    uint64_t sum = n;
    *missing += (uint64_t)(n - node->b.n) * json_shape_slot_bytes(node->shape);
    for (size_t i = 0; i < n_children(node); i++) {
        const struct json_node *child = &node->children[i];
        sum += count_values(child, node->shape->form == JSON_FORM_STRUCT ? n : child->b.n,
                            missing);
    }
    return sum;
}

static grebe_status node_finish(struct json_node *node, size_t n, struct ArrowArray *out,
                                grebe_error *err)
{
    grebe_status st = GREBE_OK;
    if (node->b.n < n) {
        GREBE_TRY(text_builder_put_nulls(&node->b, n - node->b.n, err));
    }
    GREBE_TRY(text_builder_finish(&node->b, (int64_t)n_children(node), out, err));
    for (size_t i = 0; i < n_children(node); i++) {
        struct json_node *child = &node->children[i];
        size_t n_values = node->shape->form == JSON_FORM_STRUCT ? n : child->b.n;
        GREBE_TRY(node_finish(child, n_values, out->children[i], err));
    }
out:
    if (st != GREBE_OK) {
        array_release(out);
    }
    return st;
}

grebe_status json_table_finish(struct json_table *t, const char *name, struct ArrowArray *out,
                               grebe_error *err)
{
    uint64_t missing = t->missing_bytes;
    if (count_values(t->root, t->root->b.n, &missing) > JSON_VALUES_MAX ||
        missing > JSON_MISSING_BYTES_MAX) {
        return error_wrap(err, fail_sparse(t->root->b.n, err), "%s", name);
    }
    return node_finish(t->root, t->root->b.n, out, err);
}
