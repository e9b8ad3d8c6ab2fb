/* SPDX-License-Identifier: Apache-2.0 */
/* What leaves read: a data set, a function of the caller, files through a builder. */
#include "iterable/iterable_internal.h"

#include <string.h>

#include "arrow/arrow_stream.h"
#include "base/checked.h"
#include "dataset/dataset_internal.h"
#include "dataset/order.h"

static void source_init(struct shard_source *s, const char *name, void (*free)(struct held *h), bool are_tables,
                        int64_t n_shards)
{
    atomic_init(&s->held.refs, 1);
    s->held.free = free;
    s->name = name;
    s->are_tables = are_tables;
    s->n_shards = n_shards;
}

/* ---- rows of a data set ---- */

struct dataset_source {
    struct shard_source base;
    grebe_context *ctx;
    grebe_dataset *ds;
    int64_t n_rows;
};

struct dataset_shard {
    struct dataset_source *source;
    struct ArrowSchema schema;
    int64_t begin, end, next;
};

static grebe_status dataset_shard_next(void *self, struct ArrowSchema *schema, struct ArrowArray *out, grebe_error *err)
{
    struct dataset_shard *s = self;
    /* Batches end where they do without a skip: those of files are made for that. */
    int64_t end = min_i64(s->end, s->next + READ_ROWS - (s->next - s->begin) % READ_ROWS);
    if (s->next == s->end) {
        return GREBE_END;
    }
    grebe_status st = schema_copy(s->source->ctx->a, &s->schema, schema, err);
    if (st == GREBE_OK) {
        st = grebe_dataset_read(s->source->ds, s->next, end, NULL, 0, out, err);
    }
    if (st == GREBE_OK) {
        s->next = end;
    }
    return st;
}

static int64_t dataset_shard_row(void *self)
{
    struct dataset_shard *s = self;
    return s->next - s->begin;
}

static int64_t dataset_shard_skip(void *self, int64_t n)
{
    struct dataset_shard *s = self;
    int64_t step = min_i64(n, s->end - s->next);
    s->next += step;
    return step;
}

static struct shard_place dataset_shard_place(void *self)
{
    return (struct shard_place){ dataset_shard_row(self), 0 };
}

static void dataset_shard_free(void *self)
{
    struct dataset_shard *s = self;
    schema_release(&s->schema);
    mem_free(s->source->ctx->a, s, sizeof *s);
}

static const struct shard_reader_ops dataset_shard_ops = { dataset_shard_next, dataset_shard_place, dataset_shard_row,
                                                           dataset_shard_free, dataset_shard_skip };

static grebe_status dataset_source_open(struct shard_source *base, const struct reading *r, int64_t shard,
                                        struct shard_place place, struct shard_reader *out, grebe_error *err)
{
    struct dataset_source *d = (struct dataset_source *)base;
    struct dataset_shard *s = mem_alloc_zero(r->ctx->a, sizeof *s);
    if (s == NULL) {
        return mem_fail(err, sizeof *s, "a shard");
    }
    s->source = d;
    order_part(d->n_rows, base->n_shards, shard, &s->begin, &s->end);
    s->next = place.row > s->end - s->begin ? s->end : s->begin + place.row;
    grebe_status st = grebe_dataset_schema(d->ds, &s->schema, err);
    if (st != GREBE_OK) {
        mem_free(r->ctx->a, s, sizeof *s);
        return st;
    }
    *out = (struct shard_reader){ &dataset_shard_ops, s };
    return GREBE_OK;
}

static grebe_status dataset_source_describe(const struct shard_source *base, struct buf *dst, grebe_error *err)
{
    return buf_printf(dst, err, " rows %lld", (long long)((const struct dataset_source *)base)->n_rows);
}

static void dataset_source_free(struct held *h)
{
    struct dataset_source *d = (struct dataset_source *)h;
    grebe_dataset_free(d->ds);
    mem_free(d->ctx->a, d, sizeof *d);
}

grebe_status grebe_iterable_of_dataset(const grebe_dataset *ds, int64_t n_shards, grebe_iterable **out,
                                       grebe_error *err)
{
    GREBE_CHECK_ARG(err, ds != NULL && out != NULL);
    *out = NULL;
    grebe_context *ctx = ds->ctx;
    grebe_dataset_info info;
    grebe_dataset_get_info(ds, &info);
    if (n_shards < 1 || n_shards > max_i64(info.n_rows, 1)) {
        return GREBE_FAIL(err, GREBE_EINVAL, "%lld rows cannot be read in %lld shards", (long long)info.n_rows,
                          (long long)n_shards);
    }
    struct dataset_source *d = mem_alloc_zero(ctx->a, sizeof *d);
    if (d == NULL) {
        return mem_fail(err, sizeof *d, "a stream");
    }
    source_init(&d->base, "dataset", dataset_source_free, true, n_shards);
    d->base.open = dataset_source_open;
    d->base.describe = dataset_source_describe;
    d->ctx = ctx;
    d->ds = grebe_dataset_keep(ds);
    d->n_rows = info.n_rows;
    struct node *root = NULL;
    struct features *features = NULL;
    grebe_status st = leaf_new(ctx, &d->base, &root, err);
    if (st == GREBE_OK) {
        st = features_from_json(ctx->a, info.features, strlen(info.features), &features, err);
    }
    if (st != GREBE_OK) {
        node_drop(root);
        return st;
    }
    st = iterable_new(ctx, NULL, root, features, true, out, err);
    if (st == GREBE_OK) {
        (*out)->is_formatted = info.format.type != NULL;
    }
    return st;
}

/* ---- a function of the caller ---- */

struct function_source {
    struct shard_source base;
    grebe_context *ctx;
    grebe_shard_fn fn;
    void *fn_ctx;
    void (*free)(void *fn_ctx);
};

struct stream_shard {
    grebe_context *ctx;
    struct ArrowArrayStream stream;
    struct ArrowSchema schema;
    int64_t row;
};

static grebe_status stream_shard_next(void *self, struct ArrowSchema *schema, struct ArrowArray *out, grebe_error *err)
{
    struct stream_shard *s = self;
    struct ArrowArray array = { 0 };
    grebe_status st = stream_next(&s->stream, &array, err);
    if (st == GREBE_OK) {
        st = array_import_rows(s->ctx->a, &s->schema, &array, out, err);
    }
    if (st == GREBE_OK) {
        st = schema_copy(s->ctx->a, &s->schema, schema, err);
    }
    if (st == GREBE_OK) {
        s->row += out->length;
    }
    return st;
}

static int64_t stream_shard_row(void *self)
{
    struct stream_shard *s = self;
    return s->row;
}

static struct shard_place stream_shard_place(void *self)
{
    return (struct shard_place){ stream_shard_row(self), 0 };
}

static void stream_shard_free(void *self)
{
    struct stream_shard *s = self;
    stream_release(&s->stream);
    schema_release(&s->schema);
    mem_free(s->ctx->a, s, sizeof *s);
}

static const struct shard_reader_ops stream_shard_ops = { stream_shard_next, stream_shard_place, stream_shard_row,
                                                          stream_shard_free, NULL };

static grebe_status function_source_open(struct shard_source *base, const struct reading *r, int64_t shard,
                                         struct shard_place place, struct shard_reader *out, grebe_error *err)
{
    struct function_source *f = (struct function_source *)base;
    struct stream_shard *s = mem_alloc_zero(r->ctx->a, sizeof *s);
    if (s == NULL) {
        return mem_fail(err, sizeof *s, "a shard");
    }
    s->ctx = r->ctx;
    s->row = place.row;
    grebe_status st = f->fn(f->fn_ctx, shard, place.row, &s->stream, err);
    if (st == GREBE_OK) {
        st = stream_schema(&s->stream, &s->schema, err);
    }
    if (st != GREBE_OK) {
        stream_shard_free(s);
        return st;
    }
    *out = (struct shard_reader){ &stream_shard_ops, s };
    return GREBE_OK;
}

static void function_source_free(struct held *h)
{
    struct function_source *f = (struct function_source *)h;
    if (f->free != NULL) {
        f->free(f->fn_ctx);
    }
    mem_free(f->ctx->a, f, sizeof *f);
}

grebe_status grebe_iterable_of_function(grebe_context *ctx, grebe_shard_fn fn, void *fn_ctx, void (*free)(void *),
                                        int64_t n_shards, bool is_table, const char *features, grebe_iterable **out,
                                        grebe_error *err)
{
    struct function_source *f = NULL;
    struct features *parsed = NULL;
    struct node *root = NULL;
    grebe_status st = GREBE_OK;
    *out = NULL;
    if (n_shards < 1) {
        st = GREBE_FAIL(err, GREBE_EINVAL, "a stream of %lld shards", (long long)n_shards);
    } else if (features != NULL) {
        st = features_from_json(ctx->a, features, strlen(features), &parsed, err);
    }
    if (st == GREBE_OK) {
        f = mem_alloc_zero(ctx->a, sizeof *f);
        st = f == NULL ? mem_fail(err, sizeof *f, "a stream") : GREBE_OK;
    }
    if (st != GREBE_OK) {
        features_free(parsed);
        if (free != NULL) {
            free(fn_ctx);
        }
        return st;
    }
    source_init(&f->base, "function", function_source_free, is_table, n_shards);
    f->base.open = function_source_open;
    f->ctx = ctx;
    f->fn = fn;
    f->fn_ctx = fn_ctx;
    f->free = free;
    st = leaf_new(ctx, &f->base, &root, err);
    if (st != GREBE_OK) {
        features_free(parsed);
        return st;
    }
    return iterable_new(ctx, NULL, root, parsed, parsed != NULL, out, err);
}

/* ---- files ---- */

/* Shard: a file, or one part of it. */
struct file_part {
    size_t file;
    int64_t part; /* -1: all of it */
};

struct builder_held {
    struct held held;
    grebe_context *ctx;
    struct builder *builder;
    void (*free)(void *arg);
    void *arg;
};

struct file_source {
    struct shard_source base;
    grebe_context *ctx;
    struct builder_held *builder;
    size_t split;
    struct file_part *parts; /* shape [base.n_shards] */
};

static void builder_held_free(struct held *h)
{
    struct builder_held *b = (struct builder_held *)h;
    grebe_context *ctx = b->ctx;
    if (b->free != NULL) {
        b->free(b->arg);
    }
    mem_free(ctx->a, b, sizeof *b);
}

static void file_source_free(struct held *h)
{
    struct file_source *f = (struct file_source *)h;
    grebe_context *ctx = f->ctx;
    held_drop(&f->builder->held);
    mem_free(ctx->a, f->parts, (size_t)f->base.n_shards * sizeof *f->parts);
    mem_free(ctx->a, f, sizeof *f);
}

static grebe_status file_source_open(struct shard_source *base, const struct reading *r, int64_t shard,
                                     struct shard_place place, struct shard_reader *out, grebe_error *err)
{
    struct file_source *f = (struct file_source *)base;
    struct builder *b = f->builder->builder;
    (void)r;
    return b->ops->read(b, f->split, f->parts[shard].file, f->parts[shard].part, place, out, err);
}

static grebe_status file_source_describe(const struct shard_source *base, struct buf *dst, grebe_error *err)
{
    const struct file_source *f = (const struct file_source *)base;
    grebe_status st = buf_printf(dst, err, " %s", f->builder->builder->kind->name);
    for (int64_t i = 0; i < base->n_shards && st == GREBE_OK; i++) {
        st = buf_printf(dst, err, " %zu:%lld", f->parts[i].file, (long long)f->parts[i].part);
    }
    return st;
}

static grebe_status file_source_reshard(struct shard_source *base, const int64_t *shards, int64_t n,
                                        struct shard_source **out, grebe_error *err);

/* @param parts struct file_part; the source takes a copy. */
static grebe_status file_source_new(struct builder_held *builder, size_t split, const struct buf *parts,
                                    struct shard_source **out, grebe_error *err)
{
    grebe_context *ctx = builder->builder->ctx;
    struct file_source *f = mem_alloc_zero(ctx->a, sizeof *f);
    if (f == NULL) {
        return mem_fail(err, sizeof *f, "files");
    }
    source_init(&f->base, "files", file_source_free, true, (int64_t)(parts->len / sizeof *f->parts));
    f->base.open = file_source_open;
    f->base.describe = file_source_describe;
    f->base.reshard = file_source_reshard;
    f->ctx = ctx;
    f->split = split;
    f->parts = mem_alloc(ctx->a, parts->len);
    if (f->parts == NULL) {
        mem_free(ctx->a, f, sizeof *f);
        return mem_fail(err, parts->len, "files");
    }
    if (parts->len > 0) {
        memcpy(f->parts, parts->data, parts->len);
    }
    held_keep(&builder->held);
    f->builder = builder;
    *out = &f->base;
    return GREBE_OK;
}

static grebe_status file_source_reshard(struct shard_source *base, const int64_t *shards, int64_t n,
                                        struct shard_source **out, grebe_error *err)
{
    struct file_source *f = (struct file_source *)base;
    struct builder *b = f->builder->builder;
    struct buf parts = BUF_INIT(f->ctx->a);
    grebe_status st = GREBE_OK;
    for (int64_t i = 0; i < n; i++) {
        struct file_part whole = f->parts[shards[i]];
        int64_t n_parts = 1;
        if (whole.part < 0) {
            GREBE_TRY(b->ops->parts_of_file(b, f->split, whole.file, &n_parts, err));
        }
        for (int64_t k = 0; k < n_parts; k++) {
            struct file_part one = { whole.file, n_parts > 1 ? k : whole.part };
            GREBE_TRY(buf_put(&parts, &one, sizeof one, err));
        }
    }
    st = file_source_new(f->builder, f->split, &parts, out, err);
out:
    buf_release(&parts);
    return st;
}

/* Features that the loader knows: a copy. */
static grebe_status copy_features(const struct features *from, const grebe_allocator *a, struct features **out,
                                  grebe_error *err)
{
    struct buf json = BUF_INIT(a);
    grebe_status st = features_to_json(from, -1, 0, &json, err);
    if (st == GREBE_OK) {
        st = features_from_json(a, (const char *)json.data, json.len, out, err);
    }
    buf_release(&json);
    return st;
}

grebe_status iterable_of_files(const struct iterable_files *files, grebe_iterable **out, grebe_error *err)
{
    grebe_context *ctx = files->builder->ctx;
    struct builder_held *held = mem_alloc_zero(ctx->a, sizeof *held);
    struct buf parts = BUF_INIT(ctx->a);
    struct shard_source *source = NULL;
    struct node *root = NULL;
    struct features *features = NULL;
    grebe_status st = GREBE_OK;
    *out = NULL;
    if (held == NULL) {
        if (files->free != NULL) {
            files->free(files->arg);
        }
        return mem_fail(err, sizeof *held, "files");
    }
    atomic_init(&held->held.refs, 1);
    held->held.free = builder_held_free;
    held->ctx = ctx;
    held->builder = files->builder;
    held->free = files->free;
    held->arg = files->arg;
    for (size_t i = 0; i < files->n_files; i++) {
        struct file_part one = { i, -1 };
        GREBE_TRY(buf_put(&parts, &one, sizeof one, err));
    }
    GREBE_TRY(file_source_new(held, files->split, &parts, &source, err));
    GREBE_TRY(leaf_new(ctx, source, &root, err));
    if (files->builder->kind->knows_features) {
        GREBE_TRY(builder_infer(files->builder, err));
    }
    if (files->builder->features != NULL) {
        GREBE_TRY(copy_features(files->builder->features, ctx->a, &features, err));
    }
    bool is_typed = features != NULL && (files->builder->kind->knows_features || files->are_features_given);
    st = iterable_new(ctx, NULL, root, features, is_typed, out, err);
    root = NULL;
out:
    node_drop(root);
    buf_release(&parts);
    held_drop(&held->held);
    return st;
}
