/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stream: header, types, then block after block. Invariants:
 * 1. reader.at stands at a record border between calls; blocks point into the reader and are
 *    done with before it is touched again.
 * 2. Blocks of a wave are parsed side by side and given out in order; a block that failed gives
 *    its error after the rows before it.
 */
#include "text/text_csv.h"

#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "base/hash.h"
#include "base/utf8.h"
#include "text/text_csv_internal.h"

enum { WAVE_MAX = 64, SAMPLE_BYTES = 16 << 20, BLOCK_BYTES = 4 << 20 };

struct csv_column {
    unsigned types; /* all that fit; after inference one bit, or 0 */
    bool is_seen;   /* false after inference: a column of nulls */
};

/* One block of a wave, and what became of it. */
struct csv_slot {
    struct csv_stream *stream;
    struct text_block block;
    struct csv_column *columns; /* inference: what this slot found, shape [n_columns] */
    struct ArrowArray rows;
    grebe_status status;
    grebe_error error;
};

struct csv_stream {
    grebe_context *ctx;
    struct text_csv_options o;
    struct text_reader reader;
    struct ArrowSchema schema;
    struct csv_column *columns;
    size_t n_columns;
    struct csv_slot *slots; /* shape [n_slots] */
    size_t n_slots;
    size_t wave;            /* blocks of the next wave */
    size_t next, n_ready;   /* slots not yet given out */
};

static void stream_free(void *self)
{
    struct csv_stream *s = self;
    const grebe_allocator *a = s->ctx->a;
    for (size_t i = 0; s->slots != NULL && i < s->n_slots; i++) {
        array_release(&s->slots[i].rows);
        mem_free(a, s->slots[i].columns, s->n_columns * sizeof *s->columns);
    }
    mem_free(a, s->slots, s->n_slots * sizeof *s->slots);
    mem_free(a, s->columns, s->n_columns * sizeof *s->columns);
    schema_release(&s->schema);
    text_reader_release(&s->reader);
    mem_free(a, s, sizeof *s);
}

/* ---- header ---- */

/* Names, empty ones filled in and repeated ones numbered, so that each is found by its name. */
static grebe_status unique_name(struct csv_stream *s, uint32_t *table, size_t mask, size_t i,
                                const char *name, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct buf text = BUF_INIT(s->ctx->a);
    const char *wanted = name;
    for (size_t k = 1;; k++) {
        if (k > 1) {
            buf_clear(&text);
            GREBE_TRY(buf_printf(&text, err, "%s_%zu", name, k));
            wanted = buf_text(&text);
            if (wanted == NULL) {
                st = mem_fail(err, text.len, "a name");
                goto out;
            }
        }
        size_t slot = (size_t)hash_bytes(wanted, strlen(wanted), 0) & mask;
        while (table[slot] != 0 &&
               strcmp(s->schema.children[table[slot] - 1]->name, wanted) != 0) {
            slot = (slot + 1) & mask;
        }
        if (table[slot] == 0) {
            table[slot] = (uint32_t)i + 1;
            break;
        }
    }
    st = schema_new(s->ctx->a, "u", wanted, true, 0, s->schema.children[i], err);
out:
    buf_release(&text);
    return st;
}

static grebe_status make_names(struct csv_stream *s, const struct csv_split *split,
                               grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const grebe_allocator *a = s->ctx->a;
    size_t n_table = 16;
    struct buf text = BUF_INIT(a);
    uint32_t *table = NULL;
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
        if (!s->o.has_no_header) {
            text.len = csv_copy_text((char *)text.data, split->block->data, c);
        }
        size_t well = utf8_valid_prefix(text.data, text.len);
        if (well < text.len || memchr(text.data, 0, text.len) != NULL) {
            char place[512];
            text_place(place, s->reader.name, split->block, c.begin);
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

/* The first record that is no empty line: how many columns, and their names. */
static grebe_status read_header(struct csv_stream *s, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct text_reader *r = &s->reader;
    size_t n = 0, begin = 0;
    if (r->end - r->at >= 3 && memcmp(r->data + r->at, "\xef\xbb\xbf", 3) == 0) {
        r->at += 3;
    }
    size_t len = min_size(r->end - r->at, TEXT_RECORD_MAX);
    struct text_block block = { r->data + r->at, len, r->line, true };
    struct csv_split split = { &s->o, r->name, &block, 0, { s->ctx->a, NULL, 0, 0 } };
    if (s->o.delimiter == 0) {
        s->o.delimiter = csv_sniff_delimiter(block.data, len);
    }
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
    s->columns = mem_alloc_zero(s->ctx->a, n * sizeof *s->columns);
    if (s->columns == NULL) {
        st = mem_fail(err, n * sizeof *s->columns, "columns");
        goto out;
    }
    s->n_columns = n;
    GREBE_TRY(make_names(s, &split, err));
    text_reader_skip(r, s->o.has_no_header ? begin : split.at);
out:
    csv_split_release(&split);
    return st;
}

/* ---- a wave of blocks ---- */

static grebe_status infer_slot(void *arg, size_t i, grebe_error *err)
{
    struct csv_slot *slot = &((struct csv_slot *)arg)[i];
    struct csv_stream *s = slot->stream;
    size_t n_rows = 0;
    struct csv_split split = { &s->o, s->reader.name, &slot->block, 0, { s->ctx->a, NULL, 0, 0 } };
    grebe_status st = csv_split_block(&split, s->n_columns, &n_rows, err);
    for (size_t k = 0; st == GREBE_OK && k < s->n_columns; k++) {
        csv_infer_column(&split, n_rows, s->n_columns, k, &slot->columns[k].types,
                         &slot->columns[k].is_seen);
    }
    csv_split_release(&split);
    return st;
}

static grebe_status check_utf8(const struct csv_stream *s, const struct text_block *b,
                               grebe_error *err)
{
    size_t well = utf8_valid_prefix(b->data, b->len);
    if (well == b->len) {
        return GREBE_OK;
    }
    char place[512];
    text_place(place, s->reader.name, b, well);
    return GREBE_FAIL(err, GREBE_ECORRUPT, "%s: expected UTF-8, found byte 0x%02x", place,
                      (unsigned)(unsigned char)b->data[well]);
}

static grebe_status build_rows(struct csv_slot *slot, const struct csv_split *split,
                               size_t n_rows, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct csv_stream *s = slot->stream;
    const grebe_allocator *a = s->ctx->a;
    size_t n = s->n_columns;
    struct ArrowArray *columns = mem_alloc_zero(a, n * sizeof *columns);
    if (columns == NULL) {
        return mem_fail(err, n * sizeof *columns, "columns");
    }
    for (size_t k = 0; k < n; k++) {
        if (!s->columns[k].is_seen) {
            for (size_t row = 0; row < n_rows; row++) { /* a sample may have shown only nulls */
                struct csv_cell c = split->cells.cells[row * n + k];
                if (!csv_is_null(split, c)) {
                    char place[512];
                    text_place(place, s->reader.name, split->block, c.begin);
                    st = GREBE_FAIL(err, GREBE_ECORRUPT, "%s: column \"%s\": expected null, as the "
                                    "first rows are, found a value", place,
                                    s->schema.children[k]->name);
                    goto out;
                }
            }
            GREBE_TRY(array_nulls(a, s->schema.children[k], (int64_t)n_rows, &columns[k], err));
            continue;
        }
        GREBE_TRY(csv_build_column(a, split, n_rows, n, k, s->columns[k].types,
                                   s->schema.children[k]->name, &columns[k], err));
    }
    st = array_struct(a, (int64_t)n_rows, columns, n, &slot->rows, err);
out:
    for (size_t k = 0; st != GREBE_OK && k < n; k++) {
        array_release(&columns[k]);
    }
    mem_free(a, columns, n * sizeof *columns);
    return st;
}

/* A failure waits in the slot: the rows before it are given out first. */
static grebe_status parse_slot(void *arg, size_t i, grebe_error *err)
{
    struct csv_slot *slot = &((struct csv_slot *)arg)[i];
    struct csv_stream *s = slot->stream;
    size_t n_rows = 0;
    struct csv_split split = { &s->o, s->reader.name, &slot->block, 0, { s->ctx->a, NULL, 0, 0 } };
    (void)err;
    slot->error = (grebe_error)GREBE_ERROR_INIT;
    slot->status = check_utf8(s, &slot->block, &slot->error);
    if (slot->status == GREBE_OK) {
        slot->status = csv_split_block(&split, s->n_columns, &n_rows, &slot->error);
    }
    if (slot->status == GREBE_OK) {
        slot->status = build_rows(slot, &split, n_rows, &slot->error);
    }
    csv_split_release(&split);
    return GREBE_OK;
}

static grebe_status next_wave(struct csv_stream *s, struct text_reader *r, size_t max,
                              size_t block_bytes, size_t *n, grebe_error *err)
{
    struct text_block blocks[WAVE_MAX];
    grebe_status st = text_reader_blocks(r, block_bytes, csv_cut, &s->o, blocks, max, n, err);
    for (size_t i = 0; st == GREBE_OK && i < *n; i++) {
        s->slots[i].block = blocks[i];
    }
    return st;
}

static uint32_t threads_of(const struct csv_stream *s)
{
    return call_options_resolve(s->ctx, NULL).threads;
}

static size_t block_bytes_of(const struct csv_stream *s)
{
    return s->o.sizes.block_bytes != 0 ? s->o.sizes.block_bytes : BLOCK_BYTES;
}

/* ---- types ---- */

/* What inference may look at: the whole input, or the whole records of the sample. */
static grebe_status sample_of(struct csv_stream *s, struct text_reader *view, grebe_error *err)
{
    struct text_reader *r = &s->reader;
    while (!r->is_over) {
        size_t len = csv_cut(&s->o, r->data + r->at, r->end - r->at, false);
        if (len > 0) {
            *view = *r;
            view->end = r->at + len;
            view->is_over = true;
            return GREBE_OK;
        }
        if (r->end - r->at > TEXT_RECORD_MAX) {
            break; /* reported by the first wave */
        }
        grebe_status st = text_reader_fill(r, 2 * (r->end - r->at) + 65536, err);
        if (st != GREBE_OK) {
            return st;
        }
    }
    *view = *r;
    view->is_over = true;
    return GREBE_OK;
}

static grebe_status infer(struct csv_stream *s, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const grebe_allocator *a = s->ctx->a;
    struct text_reader view;
    GREBE_TRY(sample_of(s, &view, err));
    for (size_t k = 0; k < s->n_columns; k++) {
        s->columns[k].types = TEXT_ANY;
    }
    for (size_t i = 0; i < s->n_slots; i++) {
        s->slots[i].stream = s;
        s->slots[i].columns = mem_alloc(a, s->n_columns * sizeof *s->columns);
        if (s->slots[i].columns == NULL) {
            st = mem_fail(err, s->n_columns * sizeof *s->columns, "columns");
            goto out;
        }
    }
    for (;;) {
        size_t n = 0;
        GREBE_TRY(next_wave(s, &view, s->n_slots, block_bytes_of(s), &n, err));
        if (n == 0) {
            break;
        }
        for (size_t i = 0; i < n; i++) {
            memcpy(s->slots[i].columns, s->columns, s->n_columns * sizeof *s->columns);
        }
        GREBE_TRY(parallel_for(s->ctx->pool, threads_of(s), n, infer_slot, s->slots, NULL, err));
        for (size_t i = 0; i < n * s->n_columns; i++) {
            const struct csv_column *found = &s->slots[i / s->n_columns].columns[i % s->n_columns];
            s->columns[i % s->n_columns].types &= found->types;
            s->columns[i % s->n_columns].is_seen |= found->is_seen;
        }
    }
    for (size_t k = 0; k < s->n_columns; k++) {
        struct ArrowSchema typed = { 0 };
        struct csv_column *c = &s->columns[k];
        c->types = text_type_narrowest(c->types);
        GREBE_TRY(schema_new(a, c->is_seen ? text_type_format(c->types) : "n",
                             s->schema.children[k]->name, true, 0, &typed, err));
        schema_release(s->schema.children[k]);
        schema_move(s->schema.children[k], &typed);
    }
out:
    return st;
}

/* ---- stream ---- */

static grebe_status csv_schema(void *self, struct ArrowSchema *out, grebe_error *err)
{
    struct csv_stream *s = self;
    return schema_copy(s->ctx->a, &s->schema, out, err);
}

static grebe_status csv_next(void *self, struct ArrowArray *out, grebe_error *err)
{
    struct csv_stream *s = self;
    for (;;) {
        while (s->next < s->n_ready) {
            struct csv_slot *slot = &s->slots[s->next];
            if (slot->status != GREBE_OK) { /* stays: every later call fails alike */
                if (err != NULL) {
                    *err = slot->error;
                }
                return slot->status;
            }
            s->next++;
            if (slot->rows.length > 0) {
                array_move(out, &slot->rows);
                return GREBE_OK;
            }
            array_release(&slot->rows);
        }
        s->next = s->n_ready = 0;
        size_t n = 0;
        grebe_status st = next_wave(s, &s->reader, s->wave, block_bytes_of(s), &n, err);
        if (st != GREBE_OK || n == 0) {
            return st != GREBE_OK ? st : GREBE_END;
        }
        st = parallel_for(s->ctx->pool, threads_of(s), n, parse_slot, s->slots, NULL, err);
        if (st != GREBE_OK) {
            return st;
        }
        s->n_ready = n;
        s->wave = min_size(2 * s->wave, s->n_slots); /* who wants ten rows waits for one block */
    }
}

static const struct stream_ops csv_ops = { csv_schema, csv_next, stream_free };

grebe_status text_csv_open(grebe_context *ctx, const struct text_input *in,
                           const struct text_csv_options *o, struct ArrowArrayStream *out,
                           grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const grebe_allocator *a = ctx->a;
    struct csv_stream *s = mem_alloc_zero(a, sizeof *s);
    if (s == NULL) {
        return mem_fail(err, sizeof *s, in->name);
    }
    s->ctx = ctx;
    s->o = o != NULL ? *o : TEXT_CSV_OPTIONS_INIT;
    s->wave = 1;
    s->n_slots = min_size(threads_of(s), WAVE_MAX);
    s->slots = mem_alloc_zero(a, s->n_slots * sizeof *s->slots);
    if (s->slots == NULL) {
        st = mem_fail(err, s->n_slots * sizeof *s->slots, "blocks");
        goto out;
    }
    GREBE_TRY(text_reader_init(&s->reader, ctx, in, err));
    size_t sample = s->o.sizes.sample_bytes != 0 ? s->o.sizes.sample_bytes : SAMPLE_BYTES;
    GREBE_TRY(text_reader_fill(&s->reader, sample, err));
    GREBE_TRY(read_header(s, err));
    GREBE_TRY(infer(s, err));
    GREBE_TRY(stream_export(a, &csv_ops, s, out, err));
    s = NULL;
out:
    if (s != NULL) {
        s->reader.input.free = NULL; /* still the caller's */
        stream_free(s);
    }
    return st;
}
