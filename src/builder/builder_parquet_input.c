/* SPDX-License-Identifier: Apache-2.0 */
/* A Parquet file open for reading: which of its columns, and which of its rows. */
#include "builder/builder_parquet.h"

#include <string.h>

#include "base/checked.h"

void parquet_input_close(const grebe_allocator *a, struct parquet_input *in)
{
    if (in->r != NULL) {
        in->r->ops->close(in->r);
    }
    schema_release(&in->schema);
    mem_free(a, in->columns, in->capacity * sizeof *in->columns);
    expr_free(in->filter);
    memset(in, 0, sizeof *in);
}

static bool is_wanted(const struct parquet_builder *b, const char *name)
{
    const struct json_value *names = b->columns;
    if (names == NULL) {
        return !b->base.is_given || features_find(b->base.b.features, name) != NULL;
    }
    for (size_t i = 0; i < names->n; i++) {
        if (json_is_text(&names->items[i], name)) {
            return true;
        }
    }
    return false;
}

/* Every column that was asked for is there. */
static grebe_status check_columns(const struct parquet_builder *b, const struct parquet_input *in, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    for (size_t i = 0; b->columns != NULL && i < b->columns->n && st == GREBE_OK; i++) {
        int at = 0;
        st = schema_find(&in->r->schema, b->columns->items[i].text, &at, err);
    }
    return st;
}

static grebe_status choose_columns(struct parquet_builder *b, struct parquet_input *in, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const grebe_allocator *a = b->base.b.ctx->a;
    size_t n_filter = 0, n = (size_t)in->r->schema.n_children;
    const int *of_filter = in->filter != NULL ? expr_columns(in->filter, &n_filter) : NULL;
    in->capacity = 2 * n + 1;
    in->columns = mem_alloc_zero(a, in->capacity * sizeof *in->columns);
    if (in->columns == NULL) {
        return mem_fail(err, in->capacity * sizeof *in->columns, "columns");
    }
    GREBE_TRY(check_columns(b, in, err));
    for (size_t i = 0; i < n; i++) {
        if (is_wanted(b, in->r->schema.children[i]->name)) {
            in->columns[in->n++] = (int)i;
        }
    }
    in->n_wanted = in->n;
    for (size_t k = 0; k < n_filter; k++) {
        bool is_there = false;
        for (size_t i = 0; i < in->n_wanted; i++) {
            is_there = is_there || in->columns[i] == of_filter[k];
        }
        if (!is_there) {
            in->columns[in->n++] = of_filter[k];
        }
    }
    st = schema_project(a, &in->r->schema, in->columns, in->n_wanted, &in->schema, err);
out:
    return st;
}

/* What the library `datasets` says of the columns is in the Arrow schema, or under a key of the file. */
static grebe_status find_features(struct parquet_builder *b, struct parquet_input *in, grebe_error *err)
{
    struct key_value found = { 0 };
    const char *value = NULL;
    size_t len = 0;
    if (schema_metadata_find(&in->r->schema, "huggingface", &found)) {
        value = found.value;
        len = found.value_len;
    } else if (in->r->ops->find_metadata == NULL || !in->r->ops->find_metadata(in->r, "huggingface", &value, &len)) {
        return GREBE_OK;
    }
    const struct key_value pair = { "huggingface", 11, value, len };
    return schema_set_metadata(b->base.b.ctx->a, &in->schema, &pair, 1, err);
}

grebe_status parquet_input_open(struct parquet_builder *b, const char *path, struct parquet_input *in, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    grebe_context *ctx = b->base.b.ctx;
    const struct file_format *format = NULL;
    memset(in, 0, sizeof *in);
    GREBE_TRY(format_find(ctx, "parquet", &format, err));
    GREBE_TRY(format->open(b->base.store, path, NULL, &in->r, err));
    if (b->where.len > 0) {
        GREBE_TRY(expr_parse(ctx->a, (const char *)b->where.data, &in->filter, err));
        GREBE_TRY(expr_bind(in->filter, &in->r->schema, err));
    }
    GREBE_TRY(choose_columns(b, in, err));
    GREBE_TRY(find_features(b, in, err));
out:
    if (st != GREBE_OK) {
        parquet_input_close(ctx->a, in);
    }
    return st;
}

struct prune_arg {
    struct format_reader *r;
    const int *columns;
    size_t chunk;
};

static grebe_status chunk_bounds(void *arg, size_t i, struct column_bounds *out, grebe_error *err)
{
    const struct prune_arg *p = arg;
    return p->r->ops->bounds(p->r, p->columns[i], p->chunk, out, err);
}

static grebe_status chunk_contains(void *arg, size_t i, const void *value, size_t len, bool *may, grebe_error *err)
{
    const struct prune_arg *p = arg;
    return p->r->ops->may_contain == NULL
               ? GREBE_OK
               : p->r->ops->may_contain(p->r, p->columns[i], p->chunk, value, len, may, err);
}

grebe_status parquet_input_filter(const grebe_allocator *a, const struct parquet_input *in, struct ArrowArray *rows,
                                  struct ArrowArray *out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    size_t n_filter = 0, n = in->n_wanted;
    const int *of_filter = expr_columns(in->filter, &n_filter);
    const struct ArrowArray **columns = mem_alloc_zero(a, n_filter * sizeof *columns);
    size_t keep_bytes = bitmap_bytes(rows->length) + 8;
    uint8_t *keep = mem_alloc_zero(a, keep_bytes);
    struct ArrowArray *kept = mem_alloc_zero(a, (n + 1) * sizeof *kept);
    int64_t n_true = 0;
    if (columns == NULL || keep == NULL || kept == NULL) {
        st = mem_fail(err, keep_bytes, "a filter");
        goto out;
    }
    for (size_t k = 0; k < n_filter; k++) {
        for (size_t i = 0; i < in->n; i++) {
            columns[k] = in->columns[i] == of_filter[k] ? rows->children[i] : columns[k];
        }
    }
    GREBE_TRY(expr_eval(in->filter, columns, rows->length, keep, &n_true, err));
    for (size_t i = 0; i < n; i++) {
        GREBE_TRY(array_filter(a, in->schema.children[i], rows->children[i], keep, &kept[i], err));
    }
    st = array_struct(a, n_true, kept, n, out, err);
out:
    for (size_t i = 0; kept != NULL && i < n; i++) {
        array_release(&kept[i]);
    }
    mem_free(a, columns, n_filter * sizeof *columns);
    mem_free(a, keep, keep_bytes);
    mem_free(a, kept, (n + 1) * sizeof *kept);
    array_release(rows);
    return st;
}

grebe_status parquet_input_prune(const struct parquet_input *in, size_t group, enum expr_answer *out, grebe_error *err)
{
    size_t n = 0;
    *out = EXPR_ALL;
    if (in->filter == NULL) {
        return GREBE_OK;
    }
    struct prune_arg arg = { in->r, expr_columns(in->filter, &n), group };
    return expr_prune_values(in->filter, chunk_bounds, chunk_contains, &arg, out, err);
}
