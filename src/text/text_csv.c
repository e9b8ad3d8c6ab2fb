/* SPDX-License-Identifier: Apache-2.0 */
/* The stream: header, types, then block after block (text_wave.h). */
#include "text/text_csv.h"

#include <string.h>

#include "base/checked.h"
#include "base/hash.h"
#include "base/utf8.h"
#include "text/text_csv_internal.h"
#include "text/text_given.h"
#include "text/text_wave.h"

enum { BLOCK_BYTES = 2 << 20 };

struct csv_stream {
    struct text_wave wave; /* first: text_slot.owner is it, too */
    struct text_csv_options o;
    struct ArrowSchema schema;
    struct ArrowSchema given; /* columns of given types; perhaps none */
    struct ArrowSchema read;  /* what blocks are built as; none: as the schema */
    struct arena arena;       /* of the given types */
    struct csv_column *columns;  /* shape [n_columns] */
    struct csv_column *findings; /* of each slot while types are inferred, [n_slots][n_columns] */
    size_t n_columns;
};

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

/* ---- header ---- */

/* A name in the table: whose it is, and the number that the next one like it tries. */
struct taken_name {
    uint32_t column; /* counted from 1; 0: free */
    uint32_t next;
};

static struct taken_name *slot_of(const struct csv_stream *s, struct taken_name *table, size_t mask,
                                 const char *name)
{
    size_t slot = (size_t)hash_bytes(name, strlen(name), 0) & mask;
    while (table[slot].column != 0 &&
           strcmp(s->schema.children[table[slot].column - 1]->name, name) != 0) {
        slot = (slot + 1) & mask;
    }
    return &table[slot];
}

/* Names, empty ones filled in and repeated ones numbered, so that each is found by its name. */
static grebe_status unique_name(struct csv_stream *s, struct taken_name *table, size_t mask, size_t i,
                                const char *name, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct buf text = BUF_INIT(s->wave.ctx->a);
    const char *wanted = name;
    struct taken_name *first = slot_of(s, table, mask, name), *slot = first;
    while (slot->column != 0) {
        buf_clear(&text);
        GREBE_TRY(buf_printf(&text, err, "%s_%u", name, first->next++));
        wanted = buf_text(&text);
        if (wanted == NULL) {
            st = mem_fail(err, text.len, "a name");
            goto out;
        }
        slot = slot_of(s, table, mask, wanted);
    }
    *slot = (struct taken_name){ (uint32_t)i + 1, 2 };
    st = schema_new(s->wave.ctx->a, "u", wanted, true, 0, s->schema.children[i], err);
out:
    buf_release(&text);
    return st;
}

static grebe_status make_names(struct csv_stream *s, const struct csv_split *split,
                               grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const grebe_allocator *a = s->wave.ctx->a;
    size_t n_table = 16;
    struct buf text = BUF_INIT(a);
    struct taken_name *table = NULL;
    while (n_table < 2 * s->n_columns) {
        n_table *= 2;
    }
    table = mem_alloc_zero(a, n_table * sizeof *table);
    if (table == NULL) {
        return mem_fail(err, n_table * sizeof *table, "column names");
    }
    GREBE_TRY(schema_new(a, "+s", "", false, (int64_t)s->n_columns, &s->schema, err));
    for (size_t i = 0; i < s->n_columns; i++) {
        struct csv_cell c = split->cells.cells[i];
        buf_clear(&text);
        GREBE_TRY(buf_reserve(&text, c.len + 32, err));
        if (s->o.header == TEXT_HEADER_NO && (int64_t)i < s->given.n_children) {
            GREBE_TRY(buf_put_text(&text, s->given.children[i]->name, err));
            GREBE_TRY(buf_reserve(&text, 32, err));
        } else if (s->o.header == TEXT_HEADER_YES) {
            text.len = csv_copy_text(&s->o, (char *)text.data, split->block->data, c);
        }
        size_t well = utf8_valid_prefix(text.data, text.len);
        if (well < text.len || memchr(text.data, 0, text.len) != NULL) {
            char place[512];
            text_place(place, s->wave.reader.name, split->block, c.begin);
            st = GREBE_FAIL(err, GREBE_ECORRUPT,
                            "%s: expected the name of column %zu, found bytes that are no text",
                            place, i + 1);
            goto out;
        }
        if (text.len == 0) {
            GREBE_TRY(buf_printf(&text, err, "column_%zu", i + 1));
        }
        text.data[text.len] = 0; /* reserved above */
        GREBE_TRY(unique_name(s, table, n_table - 1, i, (char *)text.data, err));
    }
out:
    buf_release(&text);
    mem_free(a, table, n_table * sizeof *table);
    return st;
}

/* A line of which nothing is a number, date or truth value, and not all is empty. */
static bool is_header(const struct csv_split *split, size_t n)
{
    unsigned seen = 0;
    bool is_text = false;
    for (size_t i = 0; i < n; i++) {
        struct csv_cell c = split->cells.cells[i];
        seen |= c.is_quoted ? 0 : text_types_of(split->block->data + c.begin, c.len);
        is_text |= c.len > 0;
    }
    return seen == 0 && is_text;
}

/* The columns whose types are given. */
static grebe_status find_given(struct csv_stream *s, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const grebe_allocator *a = s->wave.ctx->a;
    struct ArrowSchema native = { 0 };
    for (int64_t i = 0; i < s->given.n_children; i++) {
        int at = 0;
        struct json_shape *shape = arena_alloc(&s->arena, sizeof *shape);
        if (shape == NULL) {
            st = mem_fail(err, sizeof *shape, "a type");
            goto out;
        }
        st = schema_find(&s->schema, s->given.children[i]->name, &at, err);
        if (st != GREBE_OK) {
            st = error_wrap(err, st, "%s: expected the columns of the schema", s->wave.reader.name);
            goto out;
        }
        GREBE_TRY(text_given_native(a, s->given.children[i], &native, err));
        GREBE_TRY(json_shape_give(&s->arena, shape, &native, err));
        s->columns[at].given = shape;
        schema_release(s->schema.children[at]);
        schema_move(s->schema.children[at], &native);
    }
out:
    schema_release(&native);
    return st;
}

/* Lines that are not looked at. */
static grebe_status skip_lines(struct csv_stream *s, grebe_error *err)
{
    struct text_reader *r = &s->wave.reader;
    for (uint64_t i = 0; i < s->o.skip_lines;) {
        const char *begin = r->data + r->at;
        const char *end = r->end > r->at ? memchr(begin, '\n', r->end - r->at) : NULL;
        if (end != NULL) {
            text_reader_skip(r, (size_t)(end - begin) + 1);
            i++;
        } else if (r->is_over || r->end - r->at > TEXT_RECORD_MAX) {
            text_reader_skip(r, r->end - r->at);
            break;
        } else {
            grebe_status st = text_reader_fill(r, 2 * (r->end - r->at) + 65536, err);
            if (st != GREBE_OK) {
                return st;
            }
        }
    }
    /* The sample is ahead of the lines that count. */
    return text_reader_fill(r, s->wave.sample_bytes, err);
}

/* The first record that is no empty line: how many columns, and their names. */
static grebe_status read_header(struct csv_stream *s, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct text_reader *r = &s->wave.reader;
    size_t n = 0, begin = 0;
    if (r->end - r->at >= 3 && memcmp(r->data + r->at, "\xef\xbb\xbf", 3) == 0) {
        r->at += 3;
    }
    grebe_status skipped = skip_lines(s, err);
    if (skipped != GREBE_OK) {
        return skipped;
    }
    size_t len = min_size(r->end - r->at, TEXT_RECORD_MAX);
    struct text_block block = { r->data + r->at, len, r->line, 1 };
    struct csv_split split;
    if (s->o.delimiter == 0) {
        s->o.delimiter = csv_sniff_delimiter(&s->o, block.data, len);
    }
    csv_split_init(&split, s->wave.ctx->a, &s->o, r->name, &block);
    do {
        split.cells.n = 0;
        GREBE_TRY(csv_next_record(&split, &n, &begin, err));
    } while (n == 1 && split.cells.cells[0].len == 0 && !split.cells.cells[0].is_quoted);
    if (n == 0) {
        st = GREBE_FAIL(err, GREBE_ECORRUPT, "%s: expected a line with the names of the columns, "
                        "found nothing", r->name);
        goto out;
    }
    if (n > CSV_COLUMNS_MAX) {
        st = GREBE_FAIL(err, GREBE_ELIMIT, "%s: expected at most %d columns, found %zu", r->name,
                        CSV_COLUMNS_MAX, n);
        goto out;
    }
    if (split.at == len && !r->is_over) {
        st = GREBE_FAIL(err, GREBE_ELIMIT, "%s: expected a first line of at most %zu bytes, found a "
                        "longer one", r->name, len);
        goto out;
    }
    s->columns = mem_alloc_zero(s->wave.ctx->a, n * sizeof *s->columns);
    if (s->columns == NULL) {
        st = mem_fail(err, n * sizeof *s->columns, "columns");
        goto out;
    }
    s->n_columns = n;
    if (s->o.header == TEXT_HEADER_AUTO) {
        s->o.header = is_header(&split, n) ? TEXT_HEADER_YES : TEXT_HEADER_NO;
    }
    GREBE_TRY(make_names(s, &split, err));
    GREBE_TRY(find_given(s, err));
    text_reader_skip(r, s->o.header == TEXT_HEADER_YES ? split.at : begin);
out:
    csv_split_release(&split);
    return st;
}

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
        for (size_t k = 0; st == GREBE_OK && k < s->n_columns; k++) {
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
        GREBE_TRY(schema_copy(ctx->a, s->o.schema, &s->given, err));
        s->o.schema = NULL;
    }
    s->wave.cut = csv_cut;
    s->wave.cut_arg = &s->o;
    s->wave.parse = parse_slot;
    GREBE_TRY(text_wave_init(&s->wave, ctx, s, in, &s->o.sizes, BLOCK_BYTES, err));
    GREBE_TRY(read_header(s, err));
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
