/* SPDX-License-Identifier: Apache-2.0 */
/* The lines in front of the rows: what is skipped, names, and the columns whose types are given. */
#include "text/text_csv_internal.h"

#include <string.h>

#include "base/checked.h"
#include "base/hash.h"
#include "base/utf8.h"
#include "text/text_given.h"

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
        if (s->o.header == TEXT_HEADER_NO && (int64_t)i < s->given.n_children && !s->o.is_schema_loose) {
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
                            "%s: expected the name of column %zu, found bytes that are no "
                            "UTF-8 (encoding latin1 reads ISO 8859-1)", place, i + 1);
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

/* Of a loose schema: what the file has. */
static grebe_status drop_absent(struct csv_stream *s, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const grebe_allocator *a = s->wave.ctx->a;
    struct ArrowSchema present = { 0 };
    struct buf fields = BUF_INIT(a);
    int at = 0;
    for (int64_t i = 0; i < s->given.n_children; i++) {
        if (schema_find(&s->schema, s->given.children[i]->name, &at, NULL) == GREBE_OK) {
            GREBE_TRY(buf_put(&fields, &s->given.children[i], sizeof s->given.children[i], err));
        }
    }
    GREBE_TRY(schema_struct(a, (const struct ArrowSchema *const *)(void *)fields.data,
                            fields.len / sizeof(struct ArrowSchema *), &present, err));
    schema_release(&s->given);
    schema_move(&s->given, &present);
out:
    buf_release(&fields);
    return st;
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

/* "sep=;", which tells Excel the delimiter and is no row. */
static void take_sep_line(struct csv_stream *s)
{
    static const char sep[] = "sep=";
    const size_t at = sizeof sep - 1; /* of the delimiter */
    struct text_reader *r = &s->wave.reader;
    const char *line = r->data + r->at;
    size_t len = r->end - r->at;
    if (len < at + 2 || memcmp(line, sep, at) != 0 || (line[at + 1] != '\n' && line[at + 1] != '\r') ||
        strchr(",;|:\t", line[at]) == NULL || line[at] == '\0') {
        return;
    }
    s->o.delimiter = s->o.delimiter == 0 ? line[at] : s->o.delimiter;
    bool is_crlf = len > at + 2 && line[at + 1] == '\r' && line[at + 2] == '\n';
    text_reader_skip(r, at + 2 + is_crlf);
}

/* The first record that is no empty line: how many columns, and their names. */
grebe_status csv_read_header(struct csv_stream *s, grebe_error *err)
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
    take_sep_line(s);
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
    } while (n == 1 && split.cells.cells[0].len == 0 && !split.cells.cells[0].is_quoted &&
             !split.cells.cells[0].is_escaped);
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
    if (s->o.is_schema_loose && s->given.release != NULL) {
        GREBE_TRY(drop_absent(s, err));
    }
    GREBE_TRY(find_given(s, err));
    text_reader_skip(r, s->o.header == TEXT_HEADER_YES ? split.at : begin);
out:
    csv_split_release(&split);
    return st;
}
