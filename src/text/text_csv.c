/* SPDX-License-Identifier: Apache-2.0 */
/* The stream: header, types, then block after block (text_wave.h). */
#include "text/text_csv.h"

#include <string.h>

#include "base/checked.h"
#include "text/text_csv_internal.h"
#include "text/text_given.h"

enum { BLOCK_BYTES = 2 << 20 };

static void csv_release(struct csv_stream *s, bool is_input_kept)
{
    const grebe_allocator *a = s->wave.ctx->a;
    mem_free(a, s->findings, s->findings != NULL ? s->wave.n_slots * s->n_columns * sizeof *s->findings : 0);
    mem_free(a, s->columns, s->n_columns * sizeof *s->columns);
    schema_release(&s->schema);
    schema_release(&s->given);
    schema_release(&s->read);
    if (s->arena.a != NULL) {
        arena_release(&s->arena);
    }
    text_wave_release(&s->wave, is_input_kept);
    mem_free(a, s, sizeof *s);
}

static void csv_free(void *self) { csv_release(self, false); }

/* ---- types ---- */

static grebe_status infer_slot(struct text_slot *slot, grebe_error *err)
{
    struct csv_stream *s = slot->owner;
    struct csv_column *found = s->findings + slot->index * s->n_columns;
    size_t n_rows = 0;
    struct csv_split split;
    grebe_status st = GREBE_OK;
    csv_split_init(&split, s->wave.ctx->a, &s->o, s->wave.reader.name, &slot->block);
    memcpy(found, s->columns, s->n_columns * sizeof *found);
    do {
        st = csv_split_rows(&split, s->n_columns, &n_rows, err);
        for (size_t k = 0; st == GREBE_OK && n_rows > 0 && k < s->n_columns; k++) {
            if (s->columns[k].given != NULL) {
                continue;
            }
            csv_infer_column(&split, n_rows, s->n_columns, k, &found[k].types,
                             &found[k].is_seen);
        }
    } while (st == GREBE_OK && n_rows > 0);
    csv_split_release(&split);
    return st;
}

/* What fits all values of the view. */
static grebe_status infer_view(struct csv_stream *s, struct text_reader *view, grebe_error *err)
{
    for (size_t k = 0; k < s->n_columns; k++) {
        s->columns[k].types = TEXT_ANY;
        s->columns[k].is_seen = false;
    }
    for (;;) {
        size_t n = 0;
        grebe_status st = text_wave_run(&s->wave, view, infer_slot, &n, err);
        if (st != GREBE_OK || n == 0) {
            return st;
        }
        for (size_t i = 0; i < n * s->n_columns; i++) {
            s->columns[i % s->n_columns].types &= s->findings[i].types;
            s->columns[i % s->n_columns].is_seen |= s->findings[i].is_seen;
        }
    }
}

static grebe_status set_types(struct csv_stream *s, grebe_error *err)
{
    for (size_t k = 0; k < s->n_columns; k++) {
        struct ArrowSchema typed = { 0 };
        struct csv_column *c = &s->columns[k];
        if (c->given != NULL) {
            continue;
        }
        c->types = text_type_narrowest(c->types);
        grebe_status st = schema_new(s->wave.ctx->a, c->is_seen ? text_type_format(c->types) : "n",
                                     s->schema.children[k]->name, true, 0, &typed, err);
        if (st != GREBE_OK) {
            return st;
        }
        schema_release(s->schema.children[k]);
        schema_move(s->schema.children[k], &typed);
    }
    return GREBE_OK;
}

/* The schema gets the types that were given; blocks are built as it was. */
static grebe_status apply_given(struct csv_stream *s, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const grebe_allocator *a = s->wave.ctx->a;
    if (s->given.release == NULL) {
        return GREBE_OK;
    }
    if (s->read.release != NULL) { /* what was tried did not do */
        schema_release(&s->schema);
        schema_move(&s->schema, &s->read);
        st = set_types(s, err);
    }
    if (st == GREBE_OK) {
        st = schema_copy(a, &s->schema, &s->read, err);
    }
    for (int64_t i = 0; i < s->given.n_children && st == GREBE_OK; i++) {
        struct ArrowSchema copy = { 0 };
        int at = 0;
        st = schema_find(&s->schema, s->given.children[i]->name, &at, err);
        if (st == GREBE_OK) {
            st = schema_copy(a, s->given.children[i], &copy, err);
        }
        if (st == GREBE_OK) {
            schema_release(s->schema.children[at]);
            schema_move(s->schema.children[at], &copy);
        }
    }
    return st;
}

static grebe_status infer(struct csv_stream *s, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct text_reader view;
    bool is_done = false;
    size_t bytes = s->wave.n_slots * s->n_columns * sizeof *s->findings;
    s->findings = mem_alloc(s->wave.ctx->a, bytes);
    if (s->findings == NULL) {
        return mem_fail(err, bytes, "columns");
    }
    if (text_wave_first(&s->wave, &view)) {
        GREBE_TRY(infer_view(s, &view, err));
        GREBE_TRY(set_types(s, err));
        GREBE_TRY(apply_given(s, err));
        GREBE_TRY(text_wave_try(&s->wave, &is_done, err));
    }
    if (!is_done) {
        GREBE_TRY(text_wave_sample(&s->wave, &view, err));
        GREBE_TRY(infer_view(s, &view, err));
        GREBE_TRY(set_types(s, err));
        st = apply_given(s, err);
    }
out:
    return st;
}

/* ---- rows ---- */

/* The columns of a block, a few rows at a time. */
static grebe_status append_rows(struct csv_stream *s, struct csv_split *split,
                                struct csv_filled *columns, int64_t *n_all, grebe_error *err)
{
    size_t n_rows = 0, n = s->n_columns;
    for (;;) {
        grebe_status st = csv_split_rows(split, n, &n_rows, err);
        if (st != GREBE_OK || n_rows == 0) {
            return st;
        }
        if (*n_all == 0) { /* the first ones tell how many may come */
            size_t expected = (size_t)((double)n_rows * (double)split->block->len /
                                       (double)split->at * 1.05) + 16;
            for (size_t k = 0; st == GREBE_OK && k < n; k++) {
                st = csv_filled_reserve(&columns[k], min_size(expected, CSV_VALUES_MAX / n), err);
            }
        }
        for (size_t k = 0; st == GREBE_OK && k < n; k++) {
            st = csv_append_column(&columns[k], split, n_rows, n, k, &s->columns[k],
                                   s->schema.children[k]->name, err);
        }
        if (st != GREBE_OK) {
            return st;
        }
        *n_all += (int64_t)n_rows;
    }
}

static grebe_status parse_slot(struct text_slot *slot, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct csv_stream *s = slot->owner;
    const grebe_allocator *a = s->wave.ctx->a;
    size_t n = s->n_columns;
    int64_t n_rows = 0;
    struct csv_split split;
    csv_split_init(&split, a, &s->o, s->wave.reader.name, &slot->block);
    struct ArrowArray *columns = mem_alloc_zero(a, n * sizeof *columns);
    struct csv_filled *filled = mem_alloc_zero(a, n * sizeof *filled);
    if (columns == NULL || filled == NULL) {
        st = mem_fail(err, n * sizeof *filled, "columns");
        goto out;
    }
    for (size_t k = 0; k < n; k++) {
        GREBE_TRY(csv_filled_init(&filled[k], a, &s->columns[k], err));
    }
    GREBE_TRY(append_rows(s, &split, filled, &n_rows, err));
    for (size_t k = 0; k < n; k++) {
        GREBE_TRY(csv_filled_finish(&filled[k], s->wave.reader.name, &columns[k], err));
    }
    GREBE_TRY(array_struct(a, n_rows, columns, n, &slot->rows, err));
    slot->n_ragged = split.n_ragged;
    if (s->read.release != NULL && n_rows > 0) {
        st = text_wave_widen(slot, &s->read, &s->schema, err);
    }
out:
    for (size_t k = 0; k < n; k++) {
        if (columns != NULL) {
            array_release(&columns[k]); /* moved, unless something failed */
        }
        if (filled != NULL) {
            csv_filled_release(&filled[k]);
        }
    }
    mem_free(a, filled, n * sizeof *filled);
    mem_free(a, columns, n * sizeof *columns);
    csv_split_release(&split);
    return st;
}

static grebe_status csv_schema(void *self, struct ArrowSchema *out, grebe_error *err)
{
    struct csv_stream *s = self;
    return schema_copy(s->wave.ctx->a, &s->schema, out, err);
}

static grebe_status csv_next(void *self, struct ArrowArray *out, grebe_error *err)
{
    struct csv_stream *s = self;
    grebe_status st = text_wave_next(&s->wave, out, err);
    if (st == GREBE_END && s->wave.n_ragged > 0) {
        context_log(s->wave.ctx, GREBE_LOG_WARNING, "%s: %zu rows of other than %zu fields were %s",
                    s->wave.reader.name, s->wave.n_ragged, s->n_columns,
                    s->o.ragged == TEXT_RAGGED_DROP ? "left out" : "filled or cut");
        s->wave.n_ragged = 0;
    }
    return st;
}

static const struct stream_ops csv_ops = { csv_schema, csv_next, csv_free };

/* The texts of nulls, which are borrowed for the call only. */
static grebe_status keep_nulls(struct csv_stream *s, grebe_error *err)
{
    const char **nulls = arena_array(&s->arena, s->o.n_nulls + 1, sizeof *nulls);
    bool is_kept = nulls != NULL;
    for (size_t i = 0; is_kept && i < s->o.n_nulls; i++) {
        nulls[i] = arena_str(&s->arena, s->o.nulls[i], strlen(s->o.nulls[i]));
        is_kept = nulls[i] != NULL;
    }
    s->o.nulls = nulls;
    return is_kept ? GREBE_OK : mem_fail(err, s->o.n_nulls * sizeof *nulls, "texts");
}

grebe_status text_csv_open(grebe_context *ctx, const struct text_input *in,
                           const struct text_csv_options *o, struct ArrowArrayStream *out,
                           grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct csv_stream *s = mem_alloc_zero(ctx->a, sizeof *s);
    if (s == NULL) {
        return mem_fail(err, sizeof *s, in->name);
    }
    s->wave.ctx = ctx; /* csv_release needs it from here on */
    s->o = o != NULL ? *o : TEXT_CSV_OPTIONS_INIT;
    s->arena = ARENA_INIT(ctx->a);
    if (s->o.nulls != NULL) {
        GREBE_TRY(keep_nulls(s, err));
    }
    if (s->o.schema != NULL) {
        GREBE_TRY(s->o.is_schema_loose ? text_given_possible(ctx->a, s->o.schema, &s->given, err)
                                       : schema_copy(ctx->a, s->o.schema, &s->given, err));
        s->o.schema = NULL;
    }
    s->wave.cut = csv_cut;
    s->wave.cut_arg = &s->o;
    s->wave.parse = parse_slot;
    GREBE_TRY(text_wave_init(&s->wave, ctx, s, in, &s->o.sizes, BLOCK_BYTES, err));
    GREBE_TRY(csv_read_header(s, err));
    GREBE_TRY(infer(s, err));
    text_wave_opened(&s->wave);
    GREBE_TRY(stream_export(ctx->a, &csv_ops, s, out, err));
    s = NULL;
out:
    if (s != NULL) {
        csv_release(s, true);
    }
    return st;
}
