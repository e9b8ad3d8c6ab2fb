/* SPDX-License-Identifier: Apache-2.0 */
/* Records and fields: the only place that knows quotes. */
#include "text/text_csv_internal.h"

#include <string.h>

#include "base/checked.h"

static bool is_line_end(char c) { return c == '\n' || c == '\r'; }

/* Last record border of data without quotes. */
static size_t cut_plain(const char *data, size_t len)
{
    for (size_t i = len; i > 0; i--) {
        /* A CR at the very end may be half of a CR LF. */
        if (data[i - 1] == '\n' || (data[i - 1] == '\r' && i < len && data[i] != '\n')) {
            return i;
        }
    }
    return 0;
}

/* From the first byte of a field to the byte behind it: its delimiter, line end, or the end. */
static size_t field_end(const char *data, size_t at, size_t len, char delimiter, bool *is_open)
{
    *is_open = false;
    if (at < len && data[at] == '"') {
        at++;
        for (;;) {
            const char *quote = memchr(data + at, '"', len - at);
            if (quote == NULL) {
                *is_open = true;
                return len;
            }
            at = (size_t)(quote - data) + 1;
            if (at == len || data[at] != '"') {
                break;
            }
            at++;
        }
    }
    while (at < len && data[at] != delimiter && !is_line_end(data[at])) {
        at++;
    }
    return at;
}

size_t csv_cut(void *arg, const char *data, size_t len, bool is_last)
{
    const struct text_csv_options *o = arg;
    size_t border = 0, at = 0;
    bool is_open = false;
    if (is_last || len == 0) {
        return len;
    }
    if (memchr(data, '"', len) == NULL) {
        return cut_plain(data, len);
    }
    while (at < len) {
        at = field_end(data, at, len, o->delimiter, &is_open);
        if (at == len || is_open) {
            break;
        }
        if (data[at] == '\r') {
            if (at + 1 == len) {
                break;
            }
            at += data[at + 1] == '\n';
        }
        bool is_end = data[at] == '\n' || data[at] == '\r';
        at++;
        border = is_end ? at : border;
    }
    return border;
}

static grebe_status put_cell(struct csv_cells *c, struct csv_cell cell, grebe_error *err)
{
    if (c->n == c->capacity) {
        size_t capacity = c->capacity == 0 ? 1024 : 2 * c->capacity;
        void *p = mem_resize(c->a, c->cells, c->capacity * sizeof cell, capacity * sizeof cell);
        if (p == NULL) {
            return mem_fail(err, capacity * sizeof cell, "fields");
        }
        c->cells = p;
        c->capacity = capacity;
    }
    c->cells[c->n++] = cell;
    return GREBE_OK;
}

static grebe_status fail_quote(const struct csv_split *s, size_t at, bool is_open,
                               grebe_error *err)
{
    char place[512], found[24];
    text_place(place, s->name, s->block, at);
    if (is_open) {
        return GREBE_FAIL(err, GREBE_ECORRUPT,
                          "%s: expected a closing quote for the one here, found the end", place);
    }
    error_quote(found, sizeof found, s->block->data + at, 1);
    return GREBE_FAIL(err, GREBE_ECORRUPT,
                      "%s: expected a separator or the end of the line behind the closing quote, "
                      "found \"%s\"", place, found);
}

/* A field that begins with a quote; s->at comes to stand behind the closing one. */
static grebe_status quoted_field(struct csv_split *s, struct csv_cell *cell, grebe_error *err)
{
    const char *data = s->block->data;
    size_t len = s->block->len, begin = s->at + 1, at = begin;
    bool is_escaped = false;
    for (;;) {
        const char *quote = at < len ? memchr(data + at, '"', len - at) : NULL;
        if (quote == NULL) {
            return fail_quote(s, s->at, true, err);
        }
        at = (size_t)(quote - data) + 1;
        if (at == len || data[at] != '"') {
            break;
        }
        at++;
        is_escaped = true;
    }
    if (at < len && data[at] != s->o->delimiter && !is_line_end(data[at])) {
        return fail_quote(s, at, false, err);
    }
    *cell = (struct csv_cell){ (uint32_t)begin, (uint32_t)(at - 1 - begin) & 0x3fffffff, 1,
                               is_escaped };
    s->at = at;
    return GREBE_OK;
}

grebe_status csv_next_record(struct csv_split *s, size_t *n_fields, size_t *begin,
                             grebe_error *err)
{
    const char *data = s->block->data;
    const size_t len = s->block->len;
    const char delimiter = s->o->delimiter;
    *n_fields = 0;
    *begin = s->at;
    while (s->at < len || *n_fields > 0) {
        struct csv_cell cell = { 0, 0, 0, 0 };
        grebe_status st = GREBE_OK;
        if (s->at < len && data[s->at] == '"') {
            st = quoted_field(s, &cell, err);
        } else {
            size_t at = s->at;
            while (at < len && data[at] != delimiter && !is_line_end(data[at])) {
                at++;
            }
            cell = (struct csv_cell){ (uint32_t)s->at, (uint32_t)(at - s->at) & 0x3fffffff, 0, 0 };
            s->at = at;
        }
        if (st == GREBE_OK) {
            st = put_cell(&s->cells, cell, err);
        }
        if (st != GREBE_OK) {
            return st;
        }
        (*n_fields)++;
        if (s->at == len) {
            return GREBE_OK;
        }
        char c = data[s->at++];
        if (c != delimiter) {
            s->at += c == '\r' && s->at < len && data[s->at] == '\n';
            return GREBE_OK;
        }
    }
    return GREBE_OK;
}

static grebe_status fail_ragged(const struct csv_split *s, size_t begin, size_t n_columns,
                                size_t n_fields, grebe_error *err)
{
    char place[512];
    size_t at = begin;
    if (n_fields > n_columns) { /* the first field too many */
        at = s->cells.cells[s->cells.n - n_fields + n_columns].begin;
    } else { /* the end of the line */
        struct csv_cell last = s->cells.cells[s->cells.n - 1];
        at = (size_t)last.begin + last.len + last.is_quoted;
    }
    text_place(place, s->name, s->block, at);
    return GREBE_FAIL(err, GREBE_ECORRUPT, "%s: expected %zu fields, found %zu", place, n_columns,
                      n_fields);
}

grebe_status csv_split_block(struct csv_split *s, size_t n_columns, size_t *n_rows,
                             grebe_error *err)
{
    *n_rows = 0;
    for (;;) {
        size_t n = 0, begin = 0;
        grebe_status st = csv_next_record(s, &n, &begin, err);
        if (st != GREBE_OK || n == 0) {
            return st;
        }
        struct csv_cell *last = &s->cells.cells[s->cells.n - 1];
        if (n == 1 && n_columns > 1 && last->len == 0 && !last->is_quoted) {
            s->cells.n--; /* an empty line */
            continue;
        }
        if (n != n_columns && !s->o->is_ragged_allowed) {
            return fail_ragged(s, begin, n_columns, n, err);
        }
        for (; n > n_columns; n--) {
            s->cells.n--;
        }
        for (; st == GREBE_OK && n < n_columns; n++) {
            st = put_cell(&s->cells, (struct csv_cell){ (uint32_t)begin, 0, 0, 0 }, err);
        }
        if (st != GREBE_OK) {
            return st;
        }
        (*n_rows)++;
    }
}

void csv_split_release(struct csv_split *s)
{
    mem_free(s->cells.a, s->cells.cells, s->cells.capacity * sizeof *s->cells.cells);
    s->cells.cells = NULL;
    s->cells.n = s->cells.capacity = 0;
}

/* Fields in each of the first records: their smallest and largest number. */
static void count_fields(const char *data, size_t len, char delimiter, size_t *least, size_t *most)
{
    size_t at = 0, n = 1;
    int n_records = 0;
    bool is_open = false;
    *least = SIZE_MAX;
    *most = 0;
    while (at < len && n_records < 32) {
        size_t begin = at;
        at = field_end(data, at, len, delimiter, &is_open);
        if (at == len) {
            break; /* perhaps cut */
        }
        if (data[at] == delimiter) {
            n++;
            at++;
            continue;
        }
        bool is_empty = n == 1 && at == begin;
        at += data[at] == '\r' && at + 1 < len && data[at + 1] == '\n';
        at++;
        if (!is_empty) {
            *least = min_size(*least, n);
            *most = max_size(*most, n);
            n_records++;
        }
        n = 1;
    }
    if (n_records == 0) { /* a single line */
        *least = *most = n;
    }
}

char csv_sniff_delimiter(const char *data, size_t len)
{
    static const char candidates[] = { ',', '\t', ';', '|' };
    char best = ',';
    size_t best_score = 0;
    for (size_t i = 0; i < sizeof candidates; i++) {
        size_t least = 0, most = 0;
        count_fields(data, min_size(len, 65536), candidates[i], &least, &most);
        /* The same number in every line says most; then the number itself. */
        size_t score = most <= 1 ? 0 : least == most ? ((size_t)1 << 32) + most : least;
        if (score > best_score) {
            best = candidates[i];
            best_score = score;
        }
    }
    return best;
}
