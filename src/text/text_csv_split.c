/* SPDX-License-Identifier: Apache-2.0 */
/* Records and fields: with text_csv_cut.c the only place that knows quotes. */
#include "text/text_csv_internal.h"

#include <string.h>

#include "base/checked.h"

static bool is_line_end(char c) { return c == '\n' || c == '\r'; }

void csv_split_init(struct csv_split *s, const grebe_allocator *a, const struct text_csv_options *o,
                    const char *name, const struct text_block *block)
{
    const char d = o->delimiter;
    const struct text_set set = { { d, '\n', '\r', o->quote != 0 ? o->quote : d,
                                    o->escape != 0 ? o->escape : d } };
    s->o = o;
    s->name = name;
    s->block = block;
    s->at = 0;
    s->n_ragged = s->n_rows = 0;
    s->cells = (struct csv_cells){ a, NULL, 0, 0 };
    text_scan_init(&s->scan, block->data, block->len, &set);
}

void csv_split_release(struct csv_split *s)
{
    mem_free(s->cells.a, s->cells.cells, s->cells.capacity * sizeof *s->cells.cells);
    s->cells.cells = NULL;
    s->cells.n = s->cells.capacity = 0;
}

static grebe_status grow_cells(struct csv_cells *c, grebe_error *err)
{
    size_t capacity = c->capacity == 0 ? 1024 : 2 * c->capacity;
    void *p = mem_resize(c->a, c->cells, c->capacity * sizeof *c->cells,
                         capacity * sizeof *c->cells);
    if (p == NULL) {
        return mem_fail(err, capacity * sizeof *c->cells, "fields");
    }
    c->cells = p;
    c->capacity = capacity;
    return GREBE_OK;
}

static inline grebe_status put_cell(struct csv_cells *c, struct csv_cell cell, grebe_error *err)
{
    if (c->n == c->capacity) {
        grebe_status st = grow_cells(c, err);
        if (st != GREBE_OK) {
            return st;
        }
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

/* A field whose opening quote stands at *at; *at becomes the byte behind the closing one. */
static grebe_status quoted_field(struct csv_split *s, struct csv_cell *cell, size_t *at,
                                 grebe_error *err)
{
    const char *data = s->block->data;
    const size_t len = s->block->len, begin = *at + 1;
    const char quote = s->o->quote, escape = s->o->escape == quote ? 0 : s->o->escape;
    size_t skipped_to = 0, close = 0;
    bool is_escaped = false;
    for (;;) {
        close = text_scan_next(&s->scan);
        if (close == len) {
            return fail_quote(s, *at, true, err);
        }
        if (close < skipped_to) {
            continue;
        }
        bool is_double = data[close] == quote && close + 1 < len && data[close + 1] == quote;
        if (is_double || (escape != 0 && data[close] == escape)) {
            is_escaped = true;
            skipped_to = close + 2;
        } else if (data[close] == quote) {
            break;
        }
    }
    *cell = (struct csv_cell){ (uint32_t)begin, (uint32_t)(close - begin) & 0x3fffffff, 1,
                               is_escaped };
    *at = close + 1;
    if (*at < len && data[*at] != s->o->delimiter && !is_line_end(data[*at])) {
        return fail_quote(s, *at, false, err);
    }
    (void)text_scan_next(&s->scan); /* the separator, or the end */
    return GREBE_OK;
}

static struct csv_cell plain_field(const struct csv_split *s, size_t begin, size_t end)
{
    const char *data = s->block->data;
    if (s->o->is_trimmed) {
        while (begin < end && (data[begin] == ' ' || data[begin] == '\t')) {
            begin++;
        }
        while (begin < end && (data[end - 1] == ' ' || data[end - 1] == '\t')) {
            end--;
        }
    }
    return (struct csv_cell){ (uint32_t)begin, (uint32_t)(end - begin) & 0x3fffffff, 0, 0 };
}

/* A field without quotes that has escapes; \N is an empty one. */
static struct csv_cell escaped_field(const struct csv_split *s, size_t begin, size_t end)
{
    struct csv_cell cell = plain_field(s, begin, end);
    cell.is_escaped = 1;
    if (s->o->nulls == NULL && csv_is_escaped_null(s->block->data + cell.begin, cell.len)) {
        cell.len = 0;
    }
    return cell;
}

/* To the begin of the next line. */
static void skip_line(struct csv_split *s)
{
    const char *data = s->block->data;
    size_t at = 0;
    do {
        at = text_scan_next(&s->scan);
    } while (at < s->block->len && !is_line_end(data[at]));
    s->at = at == s->block->len ? at : at + 1;
    if (at + 1 < s->block->len && data[at] == '\r' && data[at + 1] == '\n') {
        s->at = text_scan_next(&s->scan) + 1;
    }
}

grebe_status csv_next_record(struct csv_split *s, size_t *n_fields, size_t *begin,
                             grebe_error *err)
{
    const char *data = s->block->data;
    const size_t len = s->block->len;
    const char delimiter = s->o->delimiter, quote = s->o->quote;
    *n_fields = 0;
    while (s->at < len && s->o->comment != 0 && data[s->at] == s->o->comment) {
        skip_line(s);
    }
    *begin = s->at;
    if (s->at == len) {
        return GREBE_OK;
    }
    size_t field = s->at, skipped_to = 0;
    for (;;) {
        struct csv_cell cell;
        grebe_status st = GREBE_OK;
        size_t at = text_scan_next(&s->scan);
        if (at < len && data[at] == quote && quote != 0 && at == field) {
            st = quoted_field(s, &cell, &at, err);
        } else if (at < len && data[at] != delimiter && !is_line_end(data[at])) {
            /* a quote inside the field is itself, and so is an escape that does not count here */
            if (data[at] == '\\' && at >= skipped_to && csv_escapes_all(s->o, delimiter)) {
                skipped_to = at + 2;
            }
            continue;
        } else if (skipped_to > field) {
            if (at < skipped_to && at < len) {
                continue; /* an escaped separator */
            }
            cell = escaped_field(s, field, at);
        } else {
            cell = plain_field(s, field, at);
        }
        if (st == GREBE_OK) {
            st = put_cell(&s->cells, cell, err);
        }
        if (st != GREBE_OK) {
            return st;
        }
        (*n_fields)++;
        if (at == len) {
            s->at = len;
            return GREBE_OK;
        }
        field = at + 1;
        if (data[at] != delimiter) {
            if (data[at] == '\r' && field < len && data[field] == '\n') {
                field = text_scan_next(&s->scan) + 1;
            }
            s->at = field;
            return GREBE_OK;
        }
    }
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
    return GREBE_FAIL(err, GREBE_ECORRUPT, "%s: expected %zu field%s, found %zu", place, n_columns,
                      n_columns == 1 ? "" : "s", n_fields);
}

/* A record of another number of fields; *is_row: it is one nevertheless. */
static grebe_status ragged_record(struct csv_split *s, size_t begin, size_t n_columns, size_t n,
                                  bool *is_row, grebe_error *err)
{
    const struct csv_cell *last = &s->cells.cells[s->cells.n - 1];
    grebe_status st = GREBE_OK;
    *is_row = false;
    if (n == 1 && last->len == 0 && !last->is_quoted && !last->is_escaped) {
        s->cells.n--; /* an empty line */
        return GREBE_OK;
    }
    if (s->o->ragged == TEXT_RAGGED_ERROR) {
        return fail_ragged(s, begin, n_columns, n, err);
    }
    s->n_ragged++;
    if (s->o->ragged == TEXT_RAGGED_DROP) {
        s->cells.n -= n;
        return GREBE_OK;
    }
    *is_row = true;
    s->cells.n -= n > n_columns ? n - n_columns : 0;
    for (; st == GREBE_OK && n < n_columns; n++) {
        st = put_cell(&s->cells, (struct csv_cell){ CSV_MISSING, 0, 0, 0 }, err);
    }
    return st;
}

grebe_status csv_split_rows(struct csv_split *s, size_t n_columns, size_t *n_rows,
                            grebe_error *err)
{
    *n_rows = 0;
    s->cells.n = 0;
    while (s->cells.n < CSV_CELLS_AIM) {
        size_t n = 0, begin = 0;
        bool is_row = true;
        grebe_status st = csv_next_record(s, &n, &begin, err);
        if (st != GREBE_OK || n == 0) {
            return st;
        }
        if (n != n_columns) {
            st = ragged_record(s, begin, n_columns, n, &is_row, err);
            if (st != GREBE_OK) {
                return st;
            }
        }
        *n_rows += is_row;
    }
    s->n_rows += *n_rows;
    if (s->n_ragged > 0 && s->n_rows > CSV_VALUES_MAX / n_columns) {
        return GREBE_FAIL(err, GREBE_ELIMIT,
                          "%s:%llu: expected rows that have most of the %zu fields, found %zu rows in "
                          "%zu bytes", s->name, (unsigned long long)s->block->line, n_columns,
                          s->n_rows, s->at);
    }
    return GREBE_OK;
}
