/* SPDX-License-Identifier: Apache-2.0 */
#include "search/search_column.h"

#include <inttypes.h>
#include <string.h>

#include "base/checked.h"

void search_column_release(struct search_column *c)
{
    if (c->a != NULL) {
        mem_free(c->a, c->rows, c->row_capacity);
        mem_free(c->a, c->ids, c->id_capacity * sizeof *c->ids);
    }
    memset(c, 0, sizeof *c);
}

static bool is_vector_list(const struct ArrowSchema *field)
{
    const char *f = field->format;
    return (strncmp(f, "+w:", 3) == 0 || strcmp(f, "+l") == 0 || strcmp(f, "+L") == 0) && field->n_children == 1 &&
           strlen(field->children[0]->format) == 1 && strchr("fgecC", field->children[0]->format[0]) != NULL;
}

grebe_status search_column_type(const struct ArrowSchema *field, enum vector_elem *elem, uint32_t *dim, grebe_error *err)
{
    struct arrow_type type;
    if (!is_vector_list(field)) {
        return GREBE_FAIL(err, GREBE_ESCHEMA,
                          "column %s: expected lists of float, double, half float, int8 or uint8, found format \"%s\"",
                          field->name, field->format);
    }
    switch (field->children[0]->format[0]) {
    case 'f': *elem = VECTOR_F32; break;
    case 'g': *elem = VECTOR_F64; break;
    case 'e': *elem = VECTOR_F16; break;
    case 'c': *elem = VECTOR_I8; break;
    default: *elem = VECTOR_U8; break;
    }
    *dim = 0;
    if (field->format[1] != 'w') {
        return GREBE_OK;
    }
    grebe_status st = arrow_type_of(field, &type, err);
    if (st == GREBE_OK && (type.list_size < 1 || type.list_size > 65536)) {
        st = GREBE_FAIL(err, GREBE_ESCHEMA, "column %s: expected 1 to 65536 components, found %lld", field->name,
                        (long long)type.list_size);
    }
    *dim = st == GREBE_OK ? (uint32_t)type.list_size : 0;
    return st;
}

static bool is_null(const struct ArrowArray *array, int64_t row)
{
    const uint8_t *valid = array->n_buffers > 0 ? array->buffers[0] : NULL;
    int64_t at = array->offset + row;
    return valid != NULL && (valid[at / 8] >> (at % 8) & 1) == 0;
}

/* One batch's column, and where its rows lie. */
struct source {
    struct search_column *c;
    const struct ArrowSchema *field;
    const struct ArrowArray *array, *values;
    enum vector_elem elem; /* as stored */
    int64_t first;         /* rows of the stream before this batch */
};

/* Values [*begin, *end) of a row. */
static void row_of(const struct source *s, int64_t row, int64_t *begin, int64_t *end)
{
    int64_t at = s->array->offset + row;
    if (s->field->format[1] == 'w') {
        *begin = at * (int64_t)s->c->dim;
        *end = *begin + (int64_t)s->c->dim;
    } else if (s->field->format[1] == 'l') {
        const int32_t *offsets = s->array->buffers[1];
        *begin = offsets[at];
        *end = offsets[at + 1];
    } else {
        const int64_t *offsets = s->array->buffers[1];
        *begin = offsets[at];
        *end = offsets[at + 1];
    }
}

static grebe_status reserve(struct search_column *c, size_t n, bool has_ids, grebe_error *err)
{
    size_t row = vector_row_bytes(c->elem, c->dim), bytes = 0;
    if (!checked_mul_size(n, row, &bytes)) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "%zu vectors of %zu bytes do not fit in memory", n, row);
    }
    if (bytes > c->row_capacity) {
        size_t capacity = c->n == 0 ? bytes : bytes + bytes / 2;
        unsigned char *rows = mem_resize(c->a, c->rows, c->row_capacity, capacity);
        if (rows == NULL) {
            return mem_fail(err, capacity, "vectors of a column");
        }
        c->rows = rows;
        c->row_capacity = capacity;
    }
    if (has_ids && n > c->id_capacity) {
        size_t capacity = c->n == 0 ? n : n + n / 2;
        int64_t *ids = mem_resize(c->a, c->ids, c->id_capacity * sizeof *ids, capacity * sizeof *ids);
        if (ids == NULL) {
            return mem_fail(err, capacity * sizeof *ids, "row ids");
        }
        c->ids = ids;
        c->id_capacity = capacity;
    }
    return GREBE_OK;
}

static grebe_status put_row(const struct source *s, int64_t row, grebe_error *err)
{
    struct search_column *c = s->c;
    int64_t begin = 0, end = 0;
    row_of(s, row, &begin, &end);
    if (end - begin != (int64_t)c->dim) {
        return GREBE_FAIL(err, GREBE_ESCHEMA, "column %s, row %" PRId64 ": expected %u components, found %" PRId64,
                          s->field->name, s->first + row, c->dim, end - begin);
    }
    for (int64_t i = begin; s->values->null_count != 0 && i < end; i++) {
        if (is_null(s->values, i)) {
            return GREBE_FAIL(err, GREBE_ESCHEMA,
                              "column %s, row %" PRId64 ", component %" PRId64 ": expected a number, found null",
                              s->field->name, s->first + row, i - begin);
        }
    }
    unsigned char *dst = c->rows + c->n * vector_row_bytes(c->elem, c->dim);
    const unsigned char *src = (const unsigned char *)s->values->buffers[1] +
                               (size_t)(s->values->offset + begin) * vector_row_bytes(s->elem, 1);
    if (s->elem == VECTOR_F64) {
        vector_to_f32(s->elem, src, c->dim, (float *)(void *)dst);
    } else {
        memcpy(dst, src, vector_row_bytes(s->elem, c->dim));
    }
    return GREBE_OK;
}

static grebe_status put_batch(struct source *s, const struct ArrowArray *ids, size_t expected, grebe_error *err)
{
    struct search_column *c = s->c;
    int64_t n = s->array->length;
    grebe_status st = GREBE_OK;
    for (int64_t i = 0; c->dim == 0 && i < n; i++) { /* the first row of lists fixes the number of components */
        int64_t begin = 0, end = 0;
        if (!is_null(s->array, i)) {
            row_of(s, i, &begin, &end);
            if (end <= begin || end - begin > 65536) {
                return GREBE_FAIL(err, GREBE_ESCHEMA,
                                  "column %s, row %" PRId64 ": expected 1 to 65536 components, found %" PRId64,
                                  s->field->name, s->first + i, end - begin);
            }
            c->dim = (uint32_t)(end - begin);
        }
    }
    if (c->dim == 0) {
        return GREBE_OK;
    }
    size_t want = c->n + (size_t)n;
    GREBE_TRY(reserve(c, c->n == 0 && expected > want ? expected : want, ids != NULL, err));
    for (int64_t i = 0; st == GREBE_OK && i < n; i++) {
        if (is_null(s->array, i)) {
            if (ids == NULL) {
                st = GREBE_FAIL(err, GREBE_ESCHEMA, "column %s, row %" PRId64 ": expected a vector, found null", s->field->name,
                                s->first + i);
            }
            continue;
        }
        st = put_row(s, i, err);
        if (st == GREBE_OK && ids != NULL) {
            c->ids[c->n] = ((const int64_t *)ids->buffers[1])[ids->offset + i];
        }
        c->n += st == GREBE_OK;
    }
out:
    return st;
}

static grebe_status find_column(const struct ArrowSchema *schema, const char *name, int *out, grebe_error *err)
{
    int found = -1;
    if (name != NULL) {
        return schema_find(schema, name, out, err);
    }
    for (int64_t i = 0; i < schema->n_children; i++) {
        if (is_vector_list(schema->children[i])) {
            if (found >= 0) {
                return GREBE_FAIL(err, GREBE_EINVAL, "expected one column of vectors or its name, found %s and %s",
                                  schema->children[found]->name, schema->children[i]->name);
            }
            found = (int)i;
        }
    }
    *out = found;
    return found >= 0 ? GREBE_OK : GREBE_FAIL(err, GREBE_ESCHEMA, "expected a column of vectors, found none");
}

grebe_status search_reader_open(struct ArrowArrayStream *rows, const char *column, const char *id,
                                struct search_reader *out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    memset(out, 0, sizeof *out);
    out->rows = rows;
    out->id_at = -1;
    GREBE_TRY(stream_schema(rows, &out->schema, err));
    GREBE_TRY(find_column(&out->schema, column, &out->at, err));
    if (id != NULL) {
        GREBE_TRY(schema_find(&out->schema, id, &out->id_at, err));
    }
    st = search_column_type(out->schema.children[out->at], &out->elem, &out->dim, err);
out:
    return st;
}

void search_reader_close(struct search_reader *r)
{
    schema_release(&r->schema);
}

grebe_status search_reader_next(struct search_reader *r, size_t expected, struct search_column *c, grebe_error *err)
{
    struct ArrowArray batch = { 0 };
    grebe_status st = stream_next(r->rows, &batch, err);
    if (st != GREBE_OK) {
        return st;
    }
    c->elem = r->elem == VECTOR_F64 ? VECTOR_F32 : r->elem;
    c->dim = c->dim == 0 ? r->dim : c->dim;
    struct source s = { c, r->schema.children[r->at], batch.children[r->at], batch.children[r->at]->children[0], r->elem,
                        r->n_read };
    st = put_batch(&s, r->id_at >= 0 ? batch.children[r->id_at] : NULL, expected, err);
    r->n_read += batch.length;
    array_release(&batch);
    return st;
}

grebe_status search_column_read(const grebe_allocator *a, struct ArrowArrayStream *rows, const char *column,
                                const char *id, size_t expected, const struct call *call, struct search_column *out,
                                grebe_error *err)
{
    struct search_reader r;
    memset(out, 0, sizeof *out);
    out->a = a;
    grebe_status st = search_reader_open(rows, column, id, &r, err);
    while (st == GREBE_OK) {
        st = call != NULL ? call_check(call, err) : GREBE_OK;
        st = st == GREBE_OK ? search_reader_next(&r, expected, out, err) : st;
    }
    search_reader_close(&r);
    return st == GREBE_END ? GREBE_OK : st;
}
