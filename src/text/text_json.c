/* SPDX-License-Identifier: Apache-2.0 */
/* The stream: how the objects lie in the text, their shape, then block after block (text_wave.h). */
#include "text/text_json.h"

#include <string.h>

#include "base/checked.h"
#include "text/json_records.h"
#include "text/text_given.h"

/* Where a tree of values is needed it takes about ten times its text: blocks are smaller than those of CSV. */
enum { BLOCK_BYTES = 1 << 20 };

static void json_release(struct json_stream *s, bool is_input_kept)
{
    const grebe_allocator *a = s->arena.a;
    for (size_t i = 0; s->found != NULL && i < s->wave.n_slots; i++) {
        arena_release(&s->found[i].arena);
    }
    mem_free(a, s->found, s->found != NULL ? s->wave.n_slots * sizeof *s->found : 0);
    schema_release(&s->schema);
    schema_release(&s->given);
    schema_release(&s->native);
    schema_release(&s->read);
    arena_release(&s->arena);
    text_wave_release(&s->wave, is_input_kept);
    mem_free(a, s, sizeof *s);
}

static void json_free(void *self) { json_release(self, false); }

/* Whether a block that was read straight from the text has to be read again, by trees. */
static bool is_odd(grebe_status st)
{
    return st == JSON_ODD || st == GREBE_ECORRUPT || st == GREBE_ELIMIT;
}

/* ---- types ---- */

static grebe_status infer_tree(struct text_slot *slot, struct json_found *found, grebe_error *err)
{
    struct json_stream *s = slot->owner;
    struct json_records r = { 0 };
    size_t n = 0;
    arena_release(&found->arena);
    json_shape_init(&found->shape);
    grebe_status st = json_read_block(&r, slot, json_tree_object, err);
    const struct json_value *const *values = json_values_of(&r, &n);
    for (size_t i = 0; st == GREBE_OK && i < n; i++) {
        st = json_shape_add(&found->arena, &found->shape, values[i], err);
        if (st != GREBE_OK) {
            st = error_wrap(err, st, "%s:%u:%u", s->wave.reader.name, values[i]->line,
                            values[i]->column);
        }
    }
    found->n_rows = n;
    json_release_block(&r);
    return st;
}

static grebe_status infer_slot(struct text_slot *slot, grebe_error *err)
{
    struct json_stream *s = slot->owner;
    struct json_found *found = &s->found[slot->index];
    struct json_records r = { .found = found };
    json_shape_init(&found->shape);
    found->n_rows = 0;
    if (s->is_by_tree) {
        return infer_tree(slot, found, err);
    }
    grebe_status st = json_read_block(&r, slot, json_plain_object, err);
    json_release_block(&r);
    return is_odd(st) ? infer_tree(slot, found, err) : st;
}

/* The schema gets the types that were given, and what it was becomes the one of what is read. */
static grebe_status apply_given(struct json_stream *s, grebe_error *err)
{
    grebe_status st = schema_copy(s->arena.a, &s->schema, &s->read, err);
    for (int64_t i = 0; i < s->given.n_children && st == GREBE_OK; i++) {
        struct ArrowSchema copy = { 0 };
        int at = 0;
        st = schema_find(&s->schema, s->given.children[i]->name, &at, err);
        if (st != GREBE_OK && s->is_schema_loose) {
            st = GREBE_OK; /* it does not occur */
            continue;
        }
        if (st == GREBE_OK) {
            st = schema_copy(s->arena.a, s->given.children[i], &copy, err);
        }
        if (st == GREBE_OK) {
            schema_release(s->schema.children[at]);
            schema_move(s->schema.children[at], &copy);
        }
    }
    return st;
}

/* The shape of each field whose type is given; a loose schema adds none. */
static grebe_status give_types(struct json_stream *s, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    for (int64_t i = 0; i < s->native.n_children && st == GREBE_OK; i++) {
        const struct ArrowSchema *type = s->native.children[i];
        size_t len = strlen(type->name);
        struct json_field *f = json_shape_field(&s->shape, type->name, len, NULL);
        if (f == NULL && s->is_schema_loose) {
            continue;
        }
        st = json_shape_field_of(&s->arena, &s->shape, type->name, len, f, &f, err);
        if (st == GREBE_OK) {
            st = json_shape_give(&s->arena, &f->shape, type, err);
        }
    }
    return st;
}

/* The shape of all records of the view, and the schema; *n_rows of them. */
static grebe_status infer_view(struct json_stream *s, struct text_reader *view, size_t *n_rows,
                               grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const grebe_allocator *a = s->arena.a;
    size_t n = 0;
    schema_release(&s->schema);
    schema_release(&s->read);
    arena_release(&s->arena);
    json_shape_init(&s->shape);
    s->n_leaves = 0;
    *n_rows = 0;
    do {
        GREBE_TRY(text_wave_run(&s->wave, view, infer_slot, &n, err));
        for (size_t i = 0; i < n; i++) {
            GREBE_TRY(json_shape_merge(&s->arena, &s->shape, &s->found[i].shape, err));
            arena_release(&s->found[i].arena);
            *n_rows += s->found[i].n_rows;
        }
    } while (n > 0);
    if (s->native.release != NULL) {
        GREBE_TRY(give_types(s, err));
    }
    json_shape_resolve(&s->shape, 0, &s->n_leaves);
    if (s->shape.n_fields > 0) {
        GREBE_TRY(json_shape_schema(a, &s->shape, "", &s->schema, err));
        s->schema.flags &= ~(int64_t)ARROW_FLAG_NULLABLE;
        st = s->given.release != NULL ? apply_given(s, err) : GREBE_OK;
    }
out:
    return st;
}

static grebe_status infer(struct json_stream *s, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct text_reader view;
    bool is_done = false;
    size_t n_rows = 0, bytes = s->wave.n_slots * sizeof *s->found;
    s->found = mem_alloc_zero(s->arena.a, bytes);
    if (s->found == NULL) {
        return mem_fail(err, bytes, "shapes");
    }
    for (size_t i = 0; i < s->wave.n_slots; i++) {
        s->found[i].arena = ARENA_INIT(s->arena.a);
    }
    if (text_wave_first(&s->wave, &view)) {
        GREBE_TRY(infer_view(s, &view, &n_rows, err));
        /* Objects without fields are text, but a struct when a later one has fields. */
        if (s->shape.n_fields > 0 && !json_shape_has_empty(&s->shape)) {
            s->is_trial = true;
            st = text_wave_try(&s->wave, &is_done, err);
            s->is_trial = false;
            GREBE_TRY(st);
        }
    }
    if (!is_done) {
        GREBE_TRY(text_wave_sample(&s->wave, &view, err));
        GREBE_TRY(infer_view(s, &view, &n_rows, err));
        if (s->shape.n_fields == 0 && n_rows > 0) {
            st = GREBE_FAIL(err, GREBE_ECORRUPT, "%s: expected objects with fields, found no field",
                            s->wave.reader.name);
        } else if (s->shape.n_fields == 0) { /* as no rows are written */
            s->shape.form = JSON_FORM_STRUCT;
            st = schema_new(s->arena.a, "+s", "", false, 0, &s->schema, err);
        }
    }
out:
    return st;
}

/* ---- rows ---- */

static grebe_status parse_tree(struct text_slot *slot, grebe_error *err)
{
    struct json_stream *s = slot->owner;
    struct json_records r = { 0 };
    size_t n = 0;
    grebe_status st = json_read_block(&r, slot, json_tree_object, err);
    const struct json_value *const *values = json_values_of(&r, &n);
    if (st == GREBE_OK && (uint64_t)n * s->n_leaves > JSON_VALUES_MAX && n > 1) {
        st = GREBE_FAIL(err, GREBE_ELIMIT,
                        "%s:%llu: expected rows that have most of the %zu fields, found %zu rows in "
                        "%zu bytes", s->wave.reader.name, (unsigned long long)slot->block.line,
                        s->n_leaves, n, slot->block.len);
    }
    if (st == GREBE_OK && n > 0) {
        st = json_build(s->arena.a, s->wave.reader.name, &s->shape, s->is_trial, values, n, &slot->rows,
                        err);
    }
    json_release_block(&r);
    return st;
}

/* Straight from the text; also JSON_ODD. */
static grebe_status parse_plain(struct text_slot *slot, grebe_error *err)
{
    struct json_stream *s = slot->owner;
    struct json_table table;
    struct json_records r = { .table = &table };
    grebe_status st = json_table_init(&table, s->arena.a, &s->shape, s->n_leaves, err);
    if (st == GREBE_OK) {
        st = json_read_block(&r, slot, json_plain_object, err);
        json_release_block(&r);
    }
    if (st == GREBE_OK && json_table_rows(&table) > 0) {
        st = json_table_finish(&table, s->wave.reader.name, &slot->rows, err);
    }
    json_table_release(&table);
    return st;
}

static grebe_status parse_slot(struct text_slot *slot, grebe_error *err)
{
    struct json_stream *s = slot->owner;
    grebe_status st = s->is_by_tree ? JSON_ODD : parse_plain(slot, err);
    st = is_odd(st) ? parse_tree(slot, err) : st;
    if (st == GREBE_OK && s->read.release != NULL && slot->rows.length > 0) {
        st = text_wave_widen(slot, &s->read, &s->schema, err);
    }
    return st;
}

static grebe_status json_schema(void *self, struct ArrowSchema *out, grebe_error *err)
{
    struct json_stream *s = self;
    return schema_copy(s->arena.a, &s->schema, out, err);
}

static grebe_status json_next(void *self, struct ArrowArray *out, grebe_error *err)
{
    struct json_stream *s = self;
    grebe_status st = text_wave_next(&s->wave, out, err);
    if (st == GREBE_END && s->layout == LAYOUT_ARRAY && !s->wave.is_closed) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "%s:%llu:%llu: expected ']', found the end",
                          s->wave.reader.name, (unsigned long long)s->wave.reader.line,
                          (unsigned long long)s->wave.reader.column);
    }
    return st;
}

static const struct stream_ops json_ops = { json_schema, json_next, json_free };

static bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

/* A byte order mark and white space go; a '[' in front makes it one array. */
static void find_layout(struct json_stream *s, bool is_lines)
{
    struct text_reader *r = &s->wave.reader;
    size_t n = 0;
    if (r->end - r->at >= 3 && memcmp(r->data + r->at, "\xef\xbb\xbf", 3) == 0) {
        r->at += 3;
    }
    while (n < r->end - r->at && is_space(r->data[r->at + n])) {
        n++;
    }
    s->layout = is_lines ? LAYOUT_LINES : LAYOUT_VALUES;
    if (n < r->end - r->at && r->data[r->at + n] == '[') {
        s->layout = LAYOUT_ARRAY;
        n++;
    }
    if (n > 0) {
        text_reader_skip(r, n);
    }
}

grebe_status text_json_open(grebe_context *ctx, const struct text_input *in,
                            const struct text_json_options *o, struct ArrowArrayStream *out,
                            grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const struct text_json_options defaults = TEXT_JSON_OPTIONS_INIT;
    o = o != NULL ? o : &defaults;
    struct json_stream *s = mem_alloc_zero(ctx->a, sizeof *s);
    if (s == NULL) {
        return mem_fail(err, sizeof *s, in->name);
    }
    s->arena = ARENA_INIT(ctx->a);
    s->is_by_tree = o->is_by_tree;
    if (o->schema != NULL) {
        s->is_schema_loose = o->is_schema_loose;
        GREBE_TRY(s->is_schema_loose ? text_given_possible(ctx->a, o->schema, &s->given, err)
                                     : schema_copy_plain(ctx->a, o->schema, &s->given, err));
        GREBE_TRY(text_given_native(ctx->a, &s->given, &s->native, err));
    }
    s->wave.cut = json_cut;
    s->wave.cut_arg = s;
    s->wave.parse = parse_slot;
    GREBE_TRY(text_wave_init(&s->wave, ctx, s, in, &o->sizes, BLOCK_BYTES, err));
    find_layout(s, o->is_lines);
    GREBE_TRY(infer(s, err));
    text_wave_opened(&s->wave);
    GREBE_TRY(stream_export(ctx->a, &json_ops, s, out, err));
    s = NULL;
out:
    if (s != NULL) {
        json_release(s, true);
    }
    return st;
}
