/* SPDX-License-Identifier: Apache-2.0 */
#include "grebe/made_rows.h"

#include <assert.h>
#include <string.h>

grebe_status made_rows_init(const grebe_allocator *a, const struct made_layout *layout, size_t n,
                            struct made_rows *out, grebe_error *err)
{
    *out = (struct made_rows){ .a = a, .layout = layout, .n_columns = n };
    out->columns = mem_alloc_zero(a, n * sizeof *out->columns);
    if (out->columns == NULL) {
        return mem_fail(err, n * sizeof *out->columns, "a table");
    }
    for (size_t i = 0; i < n; i++) {
        out->columns[i] = (struct made_column){ BUF_INIT(a), BUF_INIT(a), BUF_INIT(a) };
    }
    return GREBE_OK;
}

void made_rows_release(struct made_rows *m)
{
    for (size_t i = 0; m->columns != NULL && i < m->n_columns; i++) {
        buf_release(&m->columns[i].values);
        buf_release(&m->columns[i].ends);
        buf_release(&m->columns[i].valid);
    }
    if (m->columns != NULL) {
        mem_free(m->a, m->columns, m->n_columns * sizeof *m->columns);
        m->columns = NULL;
    }
}

static grebe_status put(struct made_rows *m, const char *format, const void *bytes, size_t len,
                        bool is_valid, grebe_error *err)
{
    struct made_column *c = &m->columns[m->at];
    assert(strcmp(m->layout[m->at].format, format) == 0 && (is_valid || m->layout[m->at].is_nullable));
    (void)format;
    m->at = (m->at + 1) % m->n_columns;
    grebe_status st = buf_put(&c->values, bytes, len, err);
    if (st == GREBE_OK && c->values.len > INT32_MAX) {
        st = GREBE_FAIL(err, GREBE_ELIMIT, "texts of more than 2 GiB");
    }
    int32_t end = (int32_t)c->values.len;
    if (st == GREBE_OK) {
        st = buf_put(&c->ends, &end, sizeof end, err);
    }
    return st == GREBE_OK ? buf_put_byte(&c->valid, is_valid, err) : st;
}

grebe_status made_text(struct made_rows *m, const char *text, size_t len, grebe_error *err)
{
    return put(m, "u", text != NULL ? text : "", text != NULL ? len : 0, text != NULL, err);
}

grebe_status made_int(struct made_rows *m, int64_t v, bool is_valid, grebe_error *err)
{
    return put(m, "l", &v, sizeof v, is_valid, err);
}

grebe_status made_real(struct made_rows *m, double v, bool is_valid, grebe_error *err)
{
    return put(m, "g", &v, sizeof v, is_valid, err);
}

static grebe_status finish_column(const struct made_rows *m, size_t i, int64_t n,
                                  struct ArrowArray *out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const struct made_column *c = &m->columns[i];
    bool is_text = m->layout[i].format[0] == 'u';
    void *p = NULL;
    GREBE_TRY(array_new(m->a, n, is_text ? 3 : 2, 0, out, err));
    GREBE_TRY(array_alloc_buffer(m->a, out, 0, bitmap_bytes(n), &p, err));
    memset(p, 0, bitmap_bytes(n));
    for (int64_t row = 0; row < n; row++) {
        if (c->valid.data[row]) {
            bit_set(p, row);
        }
        out->null_count += c->valid.data[row] == 0;
    }
    if (is_text) {
        GREBE_TRY(array_alloc_buffer(m->a, out, 1, ((size_t)n + 1) * 4, &p, err));
        memset(p, 0, 4);
        if (n > 0) {
            memcpy((char *)p + 4, c->ends.data, (size_t)n * 4);
        }
    }
    GREBE_TRY(array_alloc_buffer(m->a, out, is_text ? 2 : 1, c->values.len, &p, err));
    if (c->values.len > 0) {
        memcpy(p, c->values.data, c->values.len);
    }
out:
    if (st != GREBE_OK) {
        array_release(out);
    }
    return st;
}

static grebe_status schema_of(const struct made_rows *m, struct ArrowSchema *out, grebe_error *err)
{
    grebe_status st = schema_new(m->a, "+s", "", false, (int64_t)m->n_columns, out, err);
    for (size_t i = 0; i < m->n_columns && st == GREBE_OK; i++) {
        st = schema_new(m->a, m->layout[i].format, m->layout[i].name, m->layout[i].is_nullable, 0,
                        out->children[i], err);
    }
    if (st != GREBE_OK) {
        schema_release(out);
    }
    return st;
}

grebe_status made_rows_finish(struct made_rows *m, struct ArrowArrayStream *out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct ArrowSchema schema = { 0 };
    struct ArrowArray batch = { 0 };
    int64_t n = (int64_t)m->columns[0].valid.len;
    assert(m->at == 0);
    struct ArrowArray *columns = mem_alloc_zero(m->a, m->n_columns * sizeof *columns);
    if (columns == NULL) {
        return mem_fail(err, m->n_columns * sizeof *columns, "columns");
    }
    for (size_t i = 0; i < m->n_columns; i++) {
        GREBE_TRY(finish_column(m, i, n, &columns[i], err));
    }
    GREBE_TRY(schema_of(m, &schema, err));
    GREBE_TRY(array_struct(m->a, n, columns, m->n_columns, &batch, err));
    GREBE_TRY(stream_from_batches(m->a, &schema, &batch, 1, out, err));
out:
    for (size_t i = 0; i < m->n_columns; i++) {
        array_release(&columns[i]);
    }
    mem_free(m->a, columns, m->n_columns * sizeof *columns);
    array_release(&batch);
    schema_release(&schema);
    return st;
}
