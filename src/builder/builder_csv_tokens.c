/* SPDX-License-Identifier: Apache-2.0 */
/* Fields of lines, by the states of the C parser of pandas; plain runs of characters are passed over at once. */
#include <string.h>

#include "builder/builder_csv.h"

void csv_chunk_release(struct csv_chunk *c)
{
    buf_release(&c->fields);
    buf_release(&c->rows);
    buf_release(&c->copies);
}

void csv_chunk_clear(struct csv_chunk *c, size_t n_rows)
{
    if (n_rows < csv_chunk_rows(c)) {
        c->fields.len = csv_row_begin(c, n_rows) * sizeof(struct csv_field);
        c->rows.len = n_rows * sizeof(size_t);
    }
    if (n_rows == 0) {
        buf_clear(&c->fields);
        buf_clear(&c->copies);
    }
}

static bool is_break(const struct csv_format *f, char c)
{
    return f->terminator != 0 ? c == f->terminator : c == '\n' || c == '\r';
}

static bool is_blank(char c) { return c == ' ' || c == '\t'; }

/* A line being taken. */
struct line {
    const struct csv_format *f;
    const char *data;
    size_t len, at;
    bool is_last;
    struct csv_chunk *c;
    grebe_error *err;
};

static grebe_status put_field(struct line *l, uint64_t at, size_t len, bool is_copied)
{
    if (len > UINT32_MAX) {
        return GREBE_FAIL(l->err, GREBE_ELIMIT, "expected fields below 4 GiB, found a longer one");
    }
    struct csv_field field = { at, (uint32_t)len, is_copied };
    return buf_put(&l->c->fields, &field, sizeof field, l->err);
}

/* Behind a break at l->at; false: a CR at the end, whose LF may be to come. */
static bool pass_break(struct line *l)
{
    size_t at = l->at + 1;
    if (l->f->terminator == 0 && l->data[l->at] == '\r') {
        if (at == l->len && !l->is_last) {
            return false;
        }
        at += at < l->len && l->data[at] == '\n';
    }
    l->at = at;
    return true;
}

/* To the break that ends the line, and over it. */
static enum csv_line pass_rest(struct line *l, enum csv_line then)
{
    while (l->at < l->len && !is_break(l->f, l->data[l->at])) {
        l->at++;
    }
    if (l->at == l->len) {
        return l->is_last ? then : CSV_MORE;
    }
    return pass_break(l) ? then : CSV_MORE;
}

/* How the rest of a field goes on that cannot stay where it is; `begin` is where it began, copied so far. */
static grebe_status take_copied(struct line *l, bool is_quoted, enum csv_line *what)
{
    const struct csv_format *f = l->f;
    struct buf *copies = &l->c->copies;
    const size_t begin = copies->len;
    grebe_status st = GREBE_OK;
    while (st == GREBE_OK && l->at < l->len) {
        char c = l->data[l->at];
        if (f->escape != 0 && c == f->escape) {
            if (l->at + 1 == l->len) {
                *what = l->is_last ? CSV_OPEN_ESCAPE : CSV_MORE;
                return GREBE_OK;
            }
            st = buf_put_byte(copies, (uint8_t)l->data[l->at + 1], l->err);
            l->at += 2;
        } else if (is_quoted && c == f->quote) {
            if (l->at + 1 == l->len && !l->is_last) {
                *what = CSV_MORE;
                return GREBE_OK;
            }
            is_quoted = f->is_double && l->at + 1 < l->len && l->data[l->at + 1] == f->quote;
            st = is_quoted ? buf_put_byte(copies, (uint8_t)c, l->err) : GREBE_OK;
            l->at += is_quoted ? 2 : 1;
        } else if (!is_quoted && (c == f->delimiter || is_break(f, c) || (f->comment != 0 && c == f->comment) ||
                                  (f->is_white && is_blank(c)))) {
            break;
        } else {
            size_t end = l->at + 1;
            while (end < l->len && (is_quoted ? l->data[end] != f->quote && (f->escape == 0 || l->data[end] != f->escape)
                                              : !f->stops[(unsigned char)l->data[end]])) {
                end++;
            }
            st = buf_put(copies, l->data + l->at, end - l->at, l->err);
            l->at = end;
        }
    }
    if (l->at == l->len && (!l->is_last || is_quoted)) {
        *what = l->is_last ? CSV_OPEN_QUOTE : CSV_MORE;
        return st;
    }
    return st == GREBE_OK ? put_field(l, begin, copies->len - begin, true) : st;
}

/* Ends at a delimiter, a break, a comment or the end. */
static grebe_status take_field(struct line *l, enum csv_line *what)
{
    const struct csv_format *f = l->f;
    size_t begin = l->at;
    if (f->quote != 0 && l->at < l->len && l->data[l->at] == f->quote) {
        const char *close = memchr(l->data + l->at + 1, f->quote, l->len - l->at - 1);
        size_t end = close != NULL ? (size_t)(close - l->data) : l->len;
        l->at++;
        if (f->escape == 0 && end + 1 < l->len && (l->data[end + 1] == f->delimiter || is_break(f, l->data[end + 1]))) {
            l->at = end + 1;
            return put_field(l, begin + 1, end - begin - 1, false);
        }
        return take_copied(l, true, what);
    }
    while (l->at < l->len && !f->stops[(unsigned char)l->data[l->at]]) {
        l->at++;
    }
    if (l->at < l->len && f->escape != 0 && l->data[l->at] == f->escape) {
        l->at = begin;
        return take_copied(l, false, what);
    }
    if (l->at == l->len && !l->is_last) {
        *what = CSV_MORE;
        return GREBE_OK;
    }
    return put_field(l, begin, l->at - begin, false);
}

static void skip_blanks(struct line *l)
{
    while (l->at < l->len && is_blank(l->data[l->at])) {
        l->at++;
    }
}

/* All fields of a line that has some. */
static grebe_status take_fields(struct line *l, enum csv_line *what)
{
    const struct csv_format *f = l->f;
    grebe_status st = GREBE_OK;
    *what = CSV_ROW;
    for (;;) {
        if (f->is_white) {
            skip_blanks(l);
        }
        while (f->is_space_skipped && l->at < l->len && l->data[l->at] == ' ' && f->delimiter != ' ') {
            l->at++;
        }
        bool is_tail = f->is_white && l->at < l->len && is_break(f, l->data[l->at]); /* blanks at the end delimit nothing */
        if (!is_tail) {
            st = take_field(l, what);
        }
        if (st != GREBE_OK || *what != CSV_ROW) {
            return st;
        }
        if (l->at == l->len) {
            return GREBE_OK;
        }
        char c = l->data[l->at];
        if (is_break(f, c)) {
            *what = pass_break(l) ? CSV_ROW : CSV_MORE;
            return GREBE_OK;
        }
        if (f->comment != 0 && c == f->comment) {
            *what = pass_rest(l, CSV_ROW);
            return GREBE_OK;
        }
        l->at++; /* a delimiter */
        if (l->at == l->len) {
            if (!l->is_last) {
                *what = CSV_MORE;
                return GREBE_OK;
            }
            return f->is_white ? GREBE_OK : put_field(l, 0, 0, false);
        }
    }
}

/* Lines that are no rows, as far as the beginning tells. */
static enum csv_line look_at_line(struct line *l)
{
    const struct csv_format *f = l->f;
    size_t at = l->at;
    if (at == l->len) {
        return l->is_last ? CSV_END : CSV_MORE;
    }
    if (f->comment != 0 && l->data[at] == f->comment) {
        return pass_rest(l, CSV_NOTHING);
    }
    while (!f->is_blank_kept && at < l->len && is_blank(l->data[at]) && l->data[at] != f->delimiter) {
        at++;
    }
    if (at == l->len) {
        return l->is_last ? (l->at = at, CSV_END) : CSV_MORE;
    }
    if (is_break(f, l->data[at]) && (!f->is_blank_kept || at == l->at)) {
        l->at = at;
        return pass_break(l) ? CSV_NOTHING : CSV_MORE;
    }
    return CSV_ROW;
}

grebe_status csv_take_line(const struct csv_format *f, const char *data, size_t len, size_t at, bool is_last,
                           struct csv_chunk *c, size_t *used, enum csv_line *what, grebe_error *err)
{
    struct line l = { f, data, len, at, is_last, c, err };
    const size_t n_fields = c->fields.len, n_copied = c->copies.len, first = n_fields / sizeof(struct csv_field);
    c->text = data;
    *what = look_at_line(&l);
    grebe_status st = GREBE_OK;
    if (*what == CSV_NOTHING && f->is_blank_kept && is_break(f, data[at])) {
        *what = CSV_ROW; /* without a field */
    } else if (*what == CSV_ROW) {
        st = take_fields(&l, what);
    }
    if (st == GREBE_OK && *what == CSV_ROW) {
        st = buf_put(&c->rows, &first, sizeof first, err);
    }
    if (st != GREBE_OK || *what != CSV_ROW) {
        c->fields.len = n_fields;
        c->copies.len = n_copied;
    }
    *used = *what == CSV_MORE ? 0 : l.at - at;
    return st;
}

enum csv_line csv_skip_line(const struct csv_format *f, const char *data, size_t len, size_t at, bool is_last, size_t *used)
{
    struct line l = { f, data, len, at, is_last, NULL, NULL };
    bool is_quoted = false, is_begin = true;
    *used = 0;
    if (at == len) {
        return is_last ? CSV_END : CSV_MORE;
    }
    for (; l.at < len && (is_quoted || !is_break(f, data[l.at])); l.at++) {
        char c = data[l.at];
        if (f->quote != 0 && c == f->quote && (is_quoted || is_begin)) {
            is_quoted = !is_quoted;
        }
        is_begin = !is_quoted && c == f->delimiter;
    }
    if (l.at == len) {
        *used = l.at - at;
        return is_last ? CSV_NOTHING : CSV_MORE;
    }
    enum csv_line what = pass_break(&l) ? CSV_NOTHING : CSV_MORE;
    *used = what == CSV_MORE ? 0 : l.at - at;
    return what;
}
