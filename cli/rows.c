/* SPDX-License-Identifier: Apache-2.0 */
#include "rows.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "out.h"

enum { COLUMNS_MAX = 16 };

struct column {
    char name[32];
    char type; /* 't', 'i', 'b' */
    uint8_t *validity;
    int64_t *ints;    /* 'i' */
    uint8_t *bits;    /* 'b' */
    int32_t *offsets; /* 't' */
    char *text;
    size_t text_len, text_capacity;
    int64_t n_nulls;
};

struct rows {
    struct column columns[COLUMNS_MAX];
    size_t n_columns, at; /* at: column of the next value */
    int64_t n_rows, capacity;
    /* what the exported array and stream point into */
    struct ArrowArray *children[COLUMNS_MAX];
    struct ArrowArray child_space[COLUMNS_MAX];
    const void *buffers[COLUMNS_MAX][3];
    const void *top_buffers[1];
    struct ArrowSchema *fields[COLUMNS_MAX];
    struct ArrowSchema field_space[COLUMNS_MAX];
    bool is_given;
};

static void *grow(void *p, size_t bytes)
{
    void *q = realloc(p, bytes);
    if (q == NULL) {
        fputs("grebe: out of memory\n", stderr);
        exit(EXIT_CODE_LIMIT);
    }
    return q;
}

struct rows *rows_new(const char *const *columns)
{
    struct rows *r = grow(NULL, sizeof *r);
    memset(r, 0, sizeof *r);
    for (; columns[r->n_columns] != NULL; r->n_columns++) {
        assert(r->n_columns < COLUMNS_MAX);
        struct column *c = &r->columns[r->n_columns];
        const char *colon = strchr(columns[r->n_columns], ':');
        size_t len = (size_t)(colon - columns[r->n_columns]);
        assert(len < sizeof c->name);
        memcpy(c->name, columns[r->n_columns], len);
        c->type = colon[1];
    }
    return r;
}

static void reserve_row(struct rows *r)
{
    if (r->n_rows < r->capacity) {
        return;
    }
    r->capacity = r->capacity == 0 ? 64 : r->capacity * 2;
    size_t n = (size_t)r->capacity;
    for (size_t i = 0; i < r->n_columns; i++) {
        struct column *c = &r->columns[i];
        c->validity = grow(c->validity, n / 8);
        c->ints = grow(c->ints, n * sizeof *c->ints);
        c->bits = grow(c->bits, n / 8);
        c->offsets = grow(c->offsets, (n + 1) * sizeof *c->offsets);
        c->offsets[0] = 0;
    }
}

static struct column *next_column(struct rows *r, char type, bool is_valid)
{
    if (r->at == 0) {
        reserve_row(r);
    }
    struct column *c = &r->columns[r->at];
    assert(c->type == type);
    (void)type;
    uint8_t bit = (uint8_t)(1u << (r->n_rows & 7));
    uint8_t *byte = &c->validity[r->n_rows >> 3];
    *byte = (uint8_t)(is_valid ? *byte | bit : *byte & ~bit);
    c->n_nulls += !is_valid;
    return c;
}

static void column_done(struct rows *r)
{
    if (++r->at == r->n_columns) {
        r->at = 0;
        r->n_rows++;
    }
}

void rows_text(struct rows *r, const char *value)
{
    struct column *c = next_column(r, 't', value != NULL);
    size_t len = value == NULL ? 0 : strlen(value);
    if (c->text_len + len + 1 > c->text_capacity) {
        c->text_capacity = (c->text_len + len + 1) * 2;
        c->text = grow(c->text, c->text_capacity);
    }
    if (len > 0) {
        memcpy(c->text + c->text_len, value, len);
    }
    c->text_len += len;
    c->offsets[r->n_rows + 1] = (int32_t)c->text_len;
    column_done(r);
}

void rows_int(struct rows *r, int64_t value)
{
    struct column *c = next_column(r, 'i', value != INT64_MIN);
    c->ints[r->n_rows] = value;
    column_done(r);
}

void rows_bool(struct rows *r, bool value)
{
    struct column *c = next_column(r, 'b', true);
    uint8_t bit = (uint8_t)(1u << (r->n_rows & 7));
    uint8_t *byte = &c->bits[r->n_rows >> 3];
    *byte = (uint8_t)(value ? *byte | bit : *byte & ~bit);
    column_done(r);
}

/* Everything lives in struct rows, so that releasing a part is only marking it released. */
static void release_schema(struct ArrowSchema *s)
{
    for (int64_t i = 0; i < s->n_children; i++) {
        if (s->children[i]->release != NULL) {
            s->children[i]->release(s->children[i]);
        }
    }
    s->release = NULL;
}

static void release_array(struct ArrowArray *a)
{
    for (int64_t i = 0; i < a->n_children; i++) {
        if (a->children[i]->release != NULL) {
            a->children[i]->release(a->children[i]);
        }
    }
    a->release = NULL;
}

static int get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
    struct rows *r = stream->private_data;
    memset(out, 0, sizeof *out);
    for (size_t i = 0; i < r->n_columns; i++) {
        struct ArrowSchema *f = &r->field_space[i];
        memset(f, 0, sizeof *f);
        char type = r->columns[i].type;
        f->format = type == 't' ? "u" : type == 'i' ? "l" : "b";
        f->name = r->columns[i].name;
        f->flags = ARROW_FLAG_NULLABLE;
        f->release = release_schema;
        r->fields[i] = f;
    }
    out->format = "+s";
    out->name = "";
    out->n_children = (int64_t)r->n_columns;
    out->children = r->fields;
    out->release = release_schema;
    return 0;
}

static int get_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
    struct rows *r = stream->private_data;
    memset(out, 0, sizeof *out);
    if (r->is_given || r->n_rows == 0) {
        return 0;
    }
    r->is_given = true;
    for (size_t i = 0; i < r->n_columns; i++) {
        struct column *c = &r->columns[i];
        struct ArrowArray *a = &r->child_space[i];
        memset(a, 0, sizeof *a);
        a->length = r->n_rows;
        a->null_count = c->n_nulls;
        a->n_buffers = c->type == 't' ? 3 : 2;
        a->buffers = r->buffers[i];
        a->release = release_array;
        r->buffers[i][0] = c->validity;
        r->buffers[i][1] = c->type == 't' ? (void *)c->offsets
                           : c->type == 'i' ? (void *)c->ints
                                            : (void *)c->bits;
        r->buffers[i][2] = c->text != NULL ? c->text : "";
        r->children[i] = a;
    }
    out->length = r->n_rows;
    out->n_buffers = 1;
    out->buffers = r->top_buffers;
    out->n_children = (int64_t)r->n_columns;
    out->children = r->children;
    out->release = release_array;
    return 0;
}

static const char *get_last_error(struct ArrowArrayStream *stream)
{
    (void)stream;
    return NULL;
}

void rows_drop(struct rows *r)
{
    for (size_t i = 0; i < r->n_columns; i++) {
        struct column *c = &r->columns[i];
        free(c->validity);
        free(c->ints);
        free(c->bits);
        free(c->offsets);
        free(c->text);
    }
    free(r);
}

static void release_rows(struct ArrowArrayStream *stream)
{
    rows_drop(stream->private_data);
    stream->release = NULL;
}

int rows_print(struct cli *cli, struct rows *r)
{
    assert(r->at == 0);
    struct ArrowArrayStream stream = { get_schema, get_next, get_last_error, release_rows, r };
    return out_rows(cli, &stream);
}

/* ---- a stream without rows ---- */

static void release_nothing(struct ArrowSchema *s) { s->release = NULL; }

/* A shallow copy whose strings and children belong to the original, which the stream keeps. */
static int empty_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
    struct ArrowSchema *kept = stream->private_data;
    *out = *kept;
    out->release = release_nothing;
    return 0;
}

static int empty_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
    (void)stream;
    memset(out, 0, sizeof *out);
    return 0;
}

static void empty_release(struct ArrowArrayStream *stream)
{
    struct ArrowSchema *kept = stream->private_data;
    kept->release(kept);
    free(kept);
    stream->release = NULL;
}

void rows_empty_stream(struct ArrowSchema *schema, struct ArrowArrayStream *out)
{
    struct ArrowSchema *kept = grow(NULL, sizeof *kept);
    *kept = *schema;
    schema->release = NULL;
    *out = (struct ArrowArrayStream){ empty_schema, empty_next, get_last_error, empty_release,
                                      kept };
}
