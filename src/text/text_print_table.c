/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows for people. The first PAGE_ROWS rows decide how wide the columns are; later rows keep
 * those widths, so that memory does not grow with the number of rows.
 */
#include <string.h>

#include "arrow/type_text.h"
#include "base/checked.h"
#include "base/utf8.h"
#include "text/text_print.h"
#include "text/text_value.h"

enum { PAGE_ROWS = 1000, CELL_MAX = 60, CELL_MIN = 8, LIST_ITEMS_SHOWN = 4 };

struct table_printer {
    struct text_print *p;
    struct text_columns columns;
    struct buf out;
    struct buf cell;
    size_t *widths;      /* in characters */
    bool *is_right;      /* numbers */
    bool is_colored;
    uint32_t screen;
    bool is_head_done;
    /* cells of the first page, one after the other: text with a NUL, row by row */
    struct buf page;
    int64_t n_page_rows;
};

static size_t count_characters(const char *s, size_t len)
{
    size_t n = 0;
    for (size_t i = 0; i < len; i++) {
        n += ((unsigned char)s[i] & 0xc0) != 0x80;
    }
    return n;
}

/* At most max characters of the cell, the last one "…" when something was cut. */
static size_t cut_to(const char *s, size_t len, size_t max, bool *is_cut)
{
    size_t n = 0, at = 0;
    *is_cut = count_characters(s, len) > max;
    size_t keep = *is_cut ? max - 1 : max;
    while (at < len && n < keep) {
        size_t step = utf8_char_len(s + at, len - at);
        at += step == 0 ? 1 : step;
        n++;
    }
    return at;
}

/* A vector as its first numbers and its length: what fits on a line. */
static grebe_status put_vector(struct buf *dst, const struct text_column *c,
                               const struct ArrowArray *array, int64_t i, grebe_error *err)
{
    grebe_status st = buf_put_byte(dst, '[', err);
    int64_t size = c->type.list_size;
    int64_t begin = (i + array->offset) * size;
    for (int64_t k = 0; st == GREBE_OK && k < size && k < LIST_ITEMS_SHOWN; k++) {
        if (k > 0) {
            st = buf_put_text(dst, ", ", err);
        }
        if (st == GREBE_OK) {
            st = text_put_json(dst, &c->children[0], array->children[0], begin + k, err);
        }
    }
    if (st == GREBE_OK && size > LIST_ITEMS_SHOWN) {
        st = buf_printf(dst, err, ", … %lld]", (long long)size);
        return st;
    }
    return st == GREBE_OK ? buf_put_byte(dst, ']', err) : st;
}

/*
 * Newlines and escape sequences stay out of the terminal: each C0 control, DEL, and C1 control
 * as UTF-8 has it becomes one space.
 */
static void hide_controls(struct buf *b)
{
    size_t len = 0;
    for (size_t i = 0; i < b->len; i++) {
        bool is_c1 = b->data[i] == 0xc2 && i + 1 < b->len && b->data[i + 1] < 0xa0;
        bool is_control = is_c1 || b->data[i] < 0x20 || b->data[i] == 0x7f;
        b->data[len++] = is_control ? ' ' : b->data[i];
        i += is_c1;
    }
    b->len = len;
}

static grebe_status put_cell(struct table_printer *t, size_t k, const struct ArrowArray *column,
                             int64_t i, grebe_error *err)
{
    const struct text_column *c = &t->columns.items[k];
    bool is_null = false;
    grebe_status st = GREBE_OK;
    buf_clear(&t->cell);
    if (c->type.kind == ARROW_FIXED_LIST && !array_is_null(column, i)) {
        st = put_vector(&t->cell, c, column, i, err);
    } else {
        st = text_put_plain(&t->cell, c, column, i, &is_null, err);
    }
    if (st == GREBE_OK && is_null) {
        st = buf_put_text(&t->cell, "null", err);
    }
    if (st == GREBE_OK) {
        hide_controls(&t->cell);
    }
    return st;
}

static grebe_status put_padded(struct table_printer *t, const char *s, size_t len, size_t k,
                               grebe_error *err)
{
    grebe_status st = GREBE_OK;
    bool is_cut = false;
    size_t keep = cut_to(s, len, t->widths[k], &is_cut);
    size_t shown = count_characters(s, keep) + is_cut;
    size_t padding = t->widths[k] - shown;
    bool is_last = k + 1 == t->columns.n;
    if (k > 0) {
        GREBE_TRY(buf_put_text(&t->out, "  ", err));
    }
    for (size_t i = 0; t->is_right[k] && i < padding; i++) {
        GREBE_TRY(buf_put_byte(&t->out, ' ', err));
    }
    GREBE_TRY(buf_put(&t->out, s, keep, err));
    if (is_cut) {
        GREBE_TRY(buf_put_text(&t->out, "…", err));
    }
    for (size_t i = 0; !t->is_right[k] && !is_last && i < padding; i++) {
        GREBE_TRY(buf_put_byte(&t->out, ' ', err));
    }
out:
    return st;
}

static void widen(struct table_printer *t, size_t k, const char *s, size_t len)
{
    size_t n = count_characters(s, len);
    n = n > CELL_MAX ? CELL_MAX : n;
    if (n > t->widths[k]) {
        t->widths[k] = n;
    }
}

/* Make the widest columns narrower until a line fits on the screen. */
static void fit_screen(struct table_printer *t)
{
    if (t->screen == 0) {
        return;
    }
    for (;;) {
        size_t total = 2 * (t->columns.n > 0 ? t->columns.n - 1 : 0), widest = 0;
        for (size_t k = 0; k < t->columns.n; k++) {
            total += t->widths[k];
            widest = t->widths[k] > t->widths[widest] ? k : widest;
        }
        if (total <= t->screen || t->columns.n == 0 || t->widths[widest] <= CELL_MIN) {
            return;
        }
        t->widths[widest]--;
    }
}

static grebe_status put_head(struct table_printer *t, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    fit_screen(t);
    for (int line = 0; line < 2; line++) {
        if (t->is_colored) {
            GREBE_TRY(buf_put_text(&t->out, line == 0 ? "\033[1m" : "\033[2m", err));
        }
        for (size_t k = 0; k < t->columns.n; k++) {
            char type[128];
            const struct ArrowSchema *field = t->columns.schema.children[k];
            const char *text = line == 0 ? field->name : type_quote(type, sizeof type, field);
            buf_clear(&t->cell);
            GREBE_TRY(buf_put_text(&t->cell, text, err));
            hide_controls(&t->cell); /* the file gave its columns their names */
            GREBE_TRY(put_padded(t, (const char *)t->cell.data, t->cell.len, k, err));
        }
        GREBE_TRY(buf_put_text(&t->out, t->is_colored ? "\033[0m\n" : "\n", err));
    }
    const char *cell = (const char *)t->page.data;
    for (int64_t i = 0; i < t->n_page_rows; i++) {
        for (size_t k = 0; k < t->columns.n; k++) {
            size_t len = strlen(cell);
            GREBE_TRY(put_padded(t, cell, len, k, err));
            cell += len + 1;
        }
        GREBE_TRY(buf_put_byte(&t->out, '\n', err));
    }
    buf_release(&t->page);
    t->is_head_done = true;
    st = text_flush(t->p, &t->out, true, err);
out:
    return st;
}

static grebe_status put_row(void *arg, const struct ArrowArray *batch, int64_t i, grebe_error *err)
{
    struct table_printer *t = arg;
    grebe_status st = GREBE_OK;
    for (size_t k = 0; k < t->columns.n; k++) {
        GREBE_TRY(put_cell(t, k, batch->children[k], i, err));
        if (t->is_head_done) {
            GREBE_TRY(put_padded(t, (const char *)t->cell.data, t->cell.len, k, err));
        } else {
            widen(t, k, (const char *)t->cell.data, t->cell.len);
            /* A long cell is cut here already: only CELL_MAX characters can ever be shown. */
            size_t keep = min_size(t->cell.len, (size_t)CELL_MAX * 4 + 4);
            GREBE_TRY(buf_put(&t->page, t->cell.data, keep, err));
            GREBE_TRY(buf_put_byte(&t->page, '\0', err));
        }
    }
    if (t->is_head_done) {
        GREBE_TRY(buf_put_byte(&t->out, '\n', err));
        st = text_flush(t->p, &t->out, false, err);
    } else if (++t->n_page_rows == PAGE_ROWS) {
        st = put_head(t, err);
    }
out:
    return st;
}

grebe_status text_print_table(struct text_print *p, struct ArrowArrayStream *rows, uint32_t width,
                              bool is_colored, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct table_printer t = { .p = p, .out = BUF_INIT(p->a), .cell = BUF_INIT(p->a),
                               .page = BUF_INIT(p->a), .screen = width,
                               .is_colored = is_colored };
    GREBE_TRY(text_columns_init(p->a, rows, &t.columns, err));
    size_t n = t.columns.n;
    t.widths = mem_alloc_zero(p->a, n * sizeof *t.widths);
    t.is_right = mem_alloc_zero(p->a, n * sizeof *t.is_right);
    if (t.widths == NULL || t.is_right == NULL) {
        st = mem_fail(err, n * sizeof *t.widths, "columns");
        goto out;
    }
    for (size_t k = 0; k < n; k++) {
        char type[128];
        const struct ArrowSchema *field = t.columns.schema.children[k];
        enum arrow_kind kind = t.columns.items[k].type.kind;
        type_quote(type, sizeof type, field);
        widen(&t, k, field->name, strlen(field->name));
        widen(&t, k, type, strlen(type));
        bool is_number = (kind >= ARROW_INT8 && kind <= ARROW_FLOAT64) ||
                         (kind >= ARROW_DECIMAL32 && kind <= ARROW_DECIMAL256);
        t.is_right[k] = is_number && !t.columns.items[k].type.is_dictionary;
    }
    GREBE_TRY(text_print_rows(p, rows, put_row, &t, err));
    if (!t.is_head_done) {
        GREBE_TRY(put_head(&t, err));
    }
    st = text_flush(p, &t.out, true, err);
out:
    mem_free(p->a, t.widths, t.columns.n * sizeof *t.widths);
    mem_free(p->a, t.is_right, t.columns.n * sizeof *t.is_right);
    text_columns_release(p->a, &t.columns);
    buf_release(&t.out);
    buf_release(&t.cell);
    buf_release(&t.page);
    return st;
}
