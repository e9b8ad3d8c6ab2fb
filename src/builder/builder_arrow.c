/* SPDX-License-Identifier: Apache-2.0 */
/* Arrow IPC, streams and files: record batches, each checked to the last offset. */
#include <string.h>

#include "arrow/ipc.h"
#include "arrow/ipc_file.h"
#include "builder/builder_internal.h"

struct arrow_builder {
    struct builder_base base;
};

/* An input of either form. */
struct arrow_rows {
    const struct builder_base *b;
    char *name;
    struct ipc_file *file;          /* NULL: a stream whose batches cannot be found before they are read */
    struct ArrowArrayStream stream;
    struct ArrowSchema schema;
    size_t batch;                   /* the next */
    int64_t row;
};

static void arrow_rows_free(void *self)
{
    struct arrow_rows *r = self;
    const grebe_allocator *a = r->b->b.ctx->a;
    ipc_file_close(r->file);
    stream_release(&r->stream);
    schema_release(&r->schema);
    str_free(a, r->name);
    mem_free(a, r, sizeof *r);
}

static grebe_status open_bytes(struct arrow_rows *r, struct region *bytes, grebe_error *err)
{
    const grebe_allocator *a = r->b->b.ctx->a;
    grebe_status st = GREBE_OK;
    if (ipc_file_sniff(bytes->data, bytes->len)) {
        st = ipc_file_open(a, bytes, &r->file, err);
        st = st == GREBE_OK ? schema_copy(a, &r->file->schema, &r->schema, err) : st;
    } else if (bytes->len < 8 || !ipc_sniff(bytes->data, bytes->len)) {
        st = GREBE_FAIL(err, GREBE_ECORRUPT, "expected an Arrow stream or file, found other content");
    } else {
        bool is_replaced = false; /* a dictionary: such batches can be read one after another only */
        st = ipc_file_open_stream(a, bytes, &is_replaced, &r->file, err);
        if (st == GREBE_OK) {
            return schema_copy(a, &r->file->schema, &r->schema, err);
        }
        if (is_replaced) {
            st = ipc_stream_of_region(a, bytes, &r->stream, err);
            st = st == GREBE_OK ? stream_schema(&r->stream, &r->schema, err) : st;
        }
    }
    return st;
}

/* The next batch with rows. */
static grebe_status take_batch(struct arrow_rows *r, struct ArrowArray *rows, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    do {
        array_release(rows);
        if (r->file == NULL) {
            st = stream_next(&r->stream, rows, err);
        } else if (r->batch < r->file->n_batches) {
            st = ipc_file_read(r->file, r->batch, NULL, 0, rows, err);
        } else {
            st = GREBE_END;
        }
        r->batch += st == GREBE_OK;
    } while (st == GREBE_OK && rows->length == 0);
    return st == GREBE_OK || st == GREBE_END ? st : error_wrap(err, st, "%s", r->name);
}

static grebe_status arrow_next(void *self, struct ArrowSchema *schema, struct ArrowArray *out, grebe_error *err)
{
    struct arrow_rows *r = self;
    struct ArrowArray rows = { 0 };
    struct ArrowSchema type = { 0 };
    grebe_status st = take_batch(r, &rows, err);
    if (st != GREBE_OK) {
        return st;
    }
    int64_t n = rows.length;
    st = schema_copy(r->b->b.ctx->a, &r->schema, &type, err);
    if (st != GREBE_OK) {
        array_release(&rows);
        return st;
    }
    st = builder_emit(r->b, r->name, &type, &rows, r->b->is_given, r->row, schema, out, err);
    r->row += n;
    return st;
}

static struct shard_place arrow_place(void *self)
{
    const struct arrow_rows *r = self;
    return (struct shard_place){ r->row, r->batch };
}

/* Whole batches. */
static int64_t arrow_skip(void *self, int64_t n)
{
    struct arrow_rows *r = self;
    int64_t skipped = 0;
    while (r->file != NULL && r->batch < r->file->n_batches && r->file->batches[r->batch].n_rows <= n - skipped) {
        skipped += r->file->batches[r->batch++].n_rows;
    }
    r->row += skipped;
    return skipped;
}

static int64_t arrow_next_row(void *self) { return ((struct arrow_rows *)self)->row; }

static const struct shard_reader_ops arrow_rows_ops = { arrow_next, arrow_place, arrow_next_row, arrow_rows_free, arrow_skip };

/* Where batches cannot be found, those before the place are read and passed over. */
static grebe_status skip_to(struct arrow_rows *r, struct shard_place place, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct ArrowArray rows = { 0 };
    r->row = place.row;
    if (r->file != NULL) {
        r->batch = (size_t)place.at;
        return place.at <= r->file->n_batches ? GREBE_OK
                                              : GREBE_FAIL(err, GREBE_EINVAL, "expected a place in %zu batches, found %llu",
                                                           r->file->n_batches, (unsigned long long)place.at);
    }
    while (st == GREBE_OK && r->batch < place.at) {
        st = stream_next(&r->stream, &rows, err);
        array_release(&rows);
        r->batch++;
    }
    return st == GREBE_END ? GREBE_FAIL(err, GREBE_EINVAL, "expected a place in %zu batches, found %llu", r->batch,
                                        (unsigned long long)place.at)
                           : st;
}

static grebe_status open_unit(struct builder_base *b, struct region *bytes, const char *name, struct shard_place place,
                              struct shard_reader *out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct region *content = NULL;
    struct arrow_rows *r = mem_alloc_zero(b->b.ctx->a, sizeof *r);
    if (r == NULL) {
        return mem_fail(err, sizeof *r, name);
    }
    r->b = b;
    r->name = str_copy(b->b.ctx->a, name);
    if (r->name == NULL) {
        st = mem_fail(err, strlen(name), "a name");
        goto out;
    }
    GREBE_TRY(builder_expand(b->b.ctx, name, bytes, &content, err));
    st = open_bytes(r, content, err);
    st = st == GREBE_OK ? skip_to(r, place, err) : st;
    if (st != GREBE_OK) {
        error_wrap(err, st, "%s", name);
        goto out;
    }
    *out = (struct shard_reader){ &arrow_rows_ops, r };
    r = NULL;
out:
    region_drop(content);
    if (r != NULL) {
        arrow_rows_free(r);
    }
    return st;
}

/* ---- the builder ---- */

static grebe_status see_file(struct arrow_builder *b, const char *path, struct ArrowSchema *schema, grebe_error *err)
{
    const grebe_allocator *a = b->base.b.ctx->a;
    struct builder_units units;
    grebe_status st = builder_units_open(&b->base, path, &units, err);
    for (size_t i = 0; st == GREBE_OK && i < units.n; i++) {
        struct shard_reader reader = { 0 };
        struct region *bytes = NULL;
        const char *name = NULL;
        st = builder_units_get(&units, i, &bytes, &name, err);
        st = st == GREBE_OK ? open_unit(&b->base, bytes, name, (struct shard_place){ 0 }, &reader, err) : st;
        if (st == GREBE_OK) {
            struct arrow_rows *r = reader.self;
            if (schema->release == NULL) {
                schema_move(schema, &r->schema);
            } else {
                st = builder_widen_nulls(a, schema, &r->schema, err);
            }
        }
        shard_reader_free(&reader);
        region_drop(bytes);
    }
    builder_units_close(&units);
    return st;
}

static grebe_status arrow_infer(struct builder *base, grebe_error *err)
{
    struct arrow_builder *b = (struct arrow_builder *)base;
    struct ArrowSchema schema = { 0 };
    grebe_status st = GREBE_OK;
    for (size_t i = 0; i < builder_n_files(&b->base) && (schema.release == NULL || builder_has_nulls(&schema)); i++) {
        st = see_file(b, builder_file(&b->base, i), &schema, err);
        if (st != GREBE_OK && schema.release != NULL) { /* whoever reads this file will say so */
            st = GREBE_OK;
            break;
        }
        GREBE_TRY(st);
    }
    if (schema.release == NULL) {
        GREBE_TRY(schema_new(base->ctx->a, "+s", "", false, 0, &schema, err));
    }
    st = builder_set_schema(&b->base, &schema, true, err);
out:
    schema_release(&schema);
    return st;
}

static const struct builder_ops arrow_ops = { arrow_infer, builder_one_part, builder_read_units, builder_base_free, open_unit };

static const char *const arrow_extensions[] = { ".arrow", NULL };
static const char *const arrow_options[] = { "features", NULL };

const struct builder_kind builder_arrow = { .name = "arrow",
                                            .extensions = arrow_extensions,
                                            .options = arrow_options,
                                            .knows_features = true,
                                            .size = sizeof(struct arrow_builder),
                                            .ops = &arrow_ops };
