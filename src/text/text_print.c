/* SPDX-License-Identifier: Apache-2.0 */
#include "text/text_print.h"

#include <string.h>

#include "base/name_index.h"
#include "text/text_value.h"
#include "wire/json.h"

enum { FLUSH_BYTES = 256 << 10 };

grebe_status text_columns_init(const grebe_allocator *a, struct ArrowArrayStream *rows,
                               struct text_columns *out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    memset(out, 0, sizeof *out);
    GREBE_TRY(stream_schema(rows, &out->schema, err));
    GREBE_TRY(schema_check(&out->schema, err));
    size_t n = (size_t)out->schema.n_children;
    out->items = mem_alloc_zero(a, n * sizeof *out->items);
    if (out->items == NULL) {
        st = mem_fail(err, n * sizeof *out->items, "columns");
        goto out;
    }
    for (size_t i = 0; i < n; i++) {
        GREBE_TRY(text_column_init(a, out->schema.children[i], &out->items[i], err));
        out->n = i + 1;
    }
out:
    if (st != GREBE_OK) {
        if (out->items != NULL) {
            for (size_t i = 0; i < out->n; i++) {
                text_column_release(a, &out->items[i]);
            }
            mem_free(a, out->items, (size_t)out->schema.n_children * sizeof *out->items);
        }
        schema_release(&out->schema);
        memset(out, 0, sizeof *out);
    }
    return st;
}

void text_columns_release(const grebe_allocator *a, struct text_columns *c)
{
    for (size_t i = 0; i < c->n; i++) {
        text_column_release(a, &c->items[i]);
    }
    mem_free(a, c->items, c->n * sizeof *c->items);
    schema_release(&c->schema);
    memset(c, 0, sizeof *c);
}

grebe_status text_flush(struct text_print *p, struct buf *b, bool is_last, grebe_error *err)
{
    if (b->len == 0 || (!is_last && b->len < FLUSH_BYTES)) {
        return GREBE_OK;
    }
    grebe_status st = p->sink->write(p->sink, b->data, b->len, err);
    buf_clear(b);
    return st;
}

grebe_status text_print_rows(struct text_print *p, struct ArrowArrayStream *rows, text_put_row_fn put,
                             void *arg, grebe_error *err)
{
    for (;;) {
        struct ArrowArray batch = { 0 };
        grebe_status st = stream_next(rows, &batch, err);
        if (st == GREBE_END) {
            return GREBE_OK;
        }
        for (int64_t i = 0; st == GREBE_OK && i < batch.length; i++) {
            st = put(arg, &batch, i, err);
            p->n_rows++;
        }
        array_release(&batch);
        if (st == GREBE_OK && p->step != NULL) {
            st = p->step(p->step_arg, p->n_rows, err);
        }
        if (st != GREBE_OK) {
            return st;
        }
    }
}

/* ---- rows one after the other: JSON and CSV ---- */

struct row_printer {
    struct text_print *p;
    struct text_columns columns;
    struct buf b;
    const struct text_csv_layout *layout; /* CSV */
    bool is_lines;   /* JSON */
    struct buf *names; /* JSON: "name": of each column, shape [n] */
};

static grebe_status put_json_row(void *arg, const struct ArrowArray *batch, int64_t i,
                                 grebe_error *err)
{
    struct row_printer *r = arg;
    grebe_status st = GREBE_OK;
    if (!r->is_lines) {
        GREBE_TRY(buf_put_text(&r->b, r->p->n_rows == 0 ? "[\n" : ",\n", err));
    }
    GREBE_TRY(buf_put_byte(&r->b, '{', err));
    for (size_t k = 0; k < r->columns.n; k++) {
        GREBE_TRY(buf_put(&r->b, r->names[k].data, r->names[k].len, err));
        GREBE_TRY(text_put_json(&r->b, &r->columns.items[k], batch->children[k], i, err));
    }
    GREBE_TRY(buf_put_text(&r->b, r->is_lines ? "}\n" : "}", err));
    st = text_flush(r->p, &r->b, false, err);
out:
    return st;
}

/* The fields of a JSON object have names of their own, at every depth. */
static grebe_status check_names(const grebe_allocator *a, const struct ArrowSchema *schema, int depth,
                                grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct name_index names = { 0 };
    bool is_there = false, is_struct = strcmp(schema->format, "+s") == 0;
    if (is_struct) {
        GREBE_TRY(name_index_new(a, (size_t)schema->n_children, &names, err));
    }
    for (int64_t i = 0; i < schema->n_children; i++) {
        const struct ArrowSchema *field = schema->children[i];
        if (is_struct) {
            GREBE_TRY(name_index_add(&names, field->name, (size_t)i, &is_there, err));
        }
        if (is_there) {
            char name[80];
            st = GREBE_FAIL(err, GREBE_EINVAL, "%s \"%s\" is there more than once, which a JSON object cannot "
                            "hold: choose others with --columns, or write CSV",
                            depth == 0 ? "column" : "field",
                            error_quote(name, sizeof name, field->name, strlen(field->name)));
            goto out;
        }
        GREBE_TRY(check_names(a, field, depth + 1, err)); /* as deep as schema_check lets it be */
    }
out:
    name_index_release(&names);
    return st;
}

/* ,"name": before each value (without the comma for the first) */
static grebe_status json_names(struct row_printer *r, const grebe_allocator *a, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    size_t n = r->columns.n;
    r->names = mem_alloc_zero(a, n * sizeof *r->names);
    if (r->names == NULL) {
        return mem_fail(err, n * sizeof *r->names, "names");
    }
    for (size_t k = 0; k < n; k++) {
        const char *name = r->columns.schema.children[k]->name;
        r->names[k] = BUF_INIT(a);
        if (k > 0) {
            GREBE_TRY(buf_put_byte(&r->names[k], ',', err));
        }
        GREBE_TRY(json_put_string(&r->names[k], name, strlen(name), err));
        GREBE_TRY(buf_put_byte(&r->names[k], ':', err));
    }
out:
    return st;
}

grebe_status text_print_json(struct text_print *p, struct ArrowArrayStream *rows, bool is_lines,
                             grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct row_printer r = { .p = p, .b = BUF_INIT(p->a), .is_lines = is_lines };
    GREBE_TRY(text_columns_init(p->a, rows, &r.columns, err));
    GREBE_TRY(check_names(p->a, &r.columns.schema, 0, err));
    GREBE_TRY(json_names(&r, p->a, err));
    GREBE_TRY(text_print_rows(p, rows, put_json_row, &r, err));
    if (!is_lines) {
        GREBE_TRY(buf_put_text(&r.b, p->n_rows == 0 ? "[]\n" : "\n]\n", err));
    }
    st = text_flush(p, &r.b, true, err);
out:
    for (size_t k = 0; r.names != NULL && k < r.columns.n; k++) {
        buf_release(&r.names[k]);
    }
    mem_free(p->a, r.names, r.columns.n * sizeof *r.names);
    text_columns_release(p->a, &r.columns);
    buf_release(&r.b);
    return st;
}

/*
 * RFC 4180: quotes around a field with a delimiter, quote, CR or LF, around an empty string (null is nothing at
 * all) and the text that null has; inner quotes doubled. The field is b[begin, end of b).
 */
static grebe_status quote_field(struct buf *b, size_t begin, const struct text_csv_layout *l,
                                grebe_error *err)
{
    size_t len = b->len - begin, n_quotes = 0;
    bool needs_quotes = strlen(l->null_text) == len &&
                        (len == 0 || memcmp(b->data + begin, l->null_text, len) == 0);
    for (size_t i = begin; i < b->len; i++) {
        char c = (char)b->data[i];
        n_quotes += c == l->quote;
        needs_quotes = needs_quotes || c == l->delimiter || c == '\n' || c == '\r' ||
                       (c == l->quote && l->quote != 0);
    }
    if (!needs_quotes) {
        return GREBE_OK;
    }
    if (l->quote == 0) {
        char found[40];
        return GREBE_FAIL(err, GREBE_EINVAL,
                          "expected fields that need no quotes, as there are none, found \"%s\"",
                          error_quote(found, sizeof found, (char *)b->data + begin, len));
    }
    grebe_status st = buf_put_zero(b, n_quotes + 2, err);
    if (st != GREBE_OK) {
        return st;
    }
    size_t to = b->len - 1;
    b->data[to--] = (unsigned char)l->quote;
    for (size_t i = begin + len; i > begin; i--) {
        unsigned char c = b->data[i - 1];
        b->data[to--] = c;
        if ((char)c == l->quote) {
            b->data[to--] = c;
        }
    }
    b->data[to] = (unsigned char)l->quote;
    return GREBE_OK;
}

static grebe_status put_csv_row(void *arg, const struct ArrowArray *batch, int64_t i, grebe_error *err)
{
    struct row_printer *r = arg;
    grebe_status st = GREBE_OK;
    for (size_t k = 0; k < r->columns.n; k++) {
        bool is_null = false;
        if (k > 0) {
            GREBE_TRY(buf_put_byte(&r->b, (uint8_t)r->layout->delimiter, err));
        }
        size_t begin = r->b.len;
        GREBE_TRY(text_put_plain(&r->b, &r->columns.items[k], batch->children[k], i, &is_null, err));
        GREBE_TRY(is_null ? buf_put_text(&r->b, r->layout->null_text, err)
                          : quote_field(&r->b, begin, r->layout, err));
    }
    GREBE_TRY(buf_put_byte(&r->b, '\n', err));
    st = text_flush(r->p, &r->b, false, err);
out:
    return st;
}

/* It is written as it is, and what would have to be quoted is no null when it is read. */
static grebe_status check_null_text(const struct text_csv_layout *l, grebe_error *err)
{
    for (const char *c = l->null_text; *c != '\0'; c++) {
        if (*c == l->delimiter || *c == l->quote || *c == '\n' || *c == '\r') {
            char found[80];
            return GREBE_FAIL(err, GREBE_EINVAL, "null: expected a text without delimiter, quote and end of "
                              "line, found \"%s\"",
                              error_quote(found, sizeof found, l->null_text, strlen(l->null_text)));
        }
    }
    return GREBE_OK;
}

grebe_status text_print_csv(struct text_print *p, struct ArrowArrayStream *rows,
                            const struct text_csv_layout *layout, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct row_printer r = { .p = p, .b = BUF_INIT(p->a), .layout = layout };
    GREBE_TRY(check_null_text(layout, err));
    GREBE_TRY(text_columns_init(p->a, rows, &r.columns, err));
    for (size_t k = 0; k < r.columns.n && !layout->has_no_header; k++) {
        if (k > 0) {
            GREBE_TRY(buf_put_byte(&r.b, (uint8_t)layout->delimiter, err));
        }
        size_t begin = r.b.len;
        GREBE_TRY(buf_put_text(&r.b, r.columns.schema.children[k]->name, err));
        GREBE_TRY(quote_field(&r.b, begin, layout, err));
    }
    if (!layout->has_no_header) {
        GREBE_TRY(buf_put_byte(&r.b, '\n', err));
    }
    GREBE_TRY(text_print_rows(p, rows, put_csv_row, &r, err));
    st = text_flush(p, &r.b, true, err);
out:
    text_columns_release(p->a, &r.columns);
    buf_release(&r.b);
    return st;
}
