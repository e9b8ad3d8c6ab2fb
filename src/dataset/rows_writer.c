/* SPDX-License-Identifier: Apache-2.0 */
#include "dataset/rows_writer.h"

#include <string.h>

#include "arrow/ipc.h"
#include "base/checked.h"
#include "dataset/media_embed.h"

/* A batch is cut further before its buffers take more: readers join none that 32-bit offsets do not count. */
enum { BATCH_BYTES_MAX = 1 << 30 };

struct piece {
    struct array_shared *rows;
    int64_t at, n; /* rows not yet written: [at, at + n) */
};

struct rows_writer {
    grebe_context *ctx;
    struct features *features;
    struct ArrowSchema schema;
    struct io_store *store;
    struct io_writer *file;
    struct ipc_writer *ipc;
    int64_t batch_rows;
    bool are_files_embedded;
    struct buf pieces;  /* struct piece */
    size_t first_piece; /* those before are written */
    int64_t n_pending, n_rows, n_bytes;
};

static grebe_status to_file(void *sink, const void *bytes, size_t len, grebe_error *err)
{
    return io_write(sink, bytes, len, err);
}

static grebe_status copy_features(const grebe_allocator *a, const struct features *f, struct features **out,
                                  grebe_error *err)
{
    size_t n = f->top.n_fields;
    const char **names = mem_alloc(a, n * sizeof *names);
    if (names == NULL) {
        return mem_fail(err, n * sizeof *names, "columns");
    }
    for (size_t i = 0; i < n; i++) {
        names[i] = f->top.fields[i].name;
    }
    grebe_status st = features_project(a, f, names, NULL, n, out, err);
    mem_free(a, names, n * sizeof *names);
    return st;
}

grebe_status rows_writer_new(grebe_context *ctx, const char *path, const struct features *features,
                             const struct rows_writer_options *o, struct rows_writer **out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct ArrowSchema head = { 0 };
    *out = NULL;
    struct rows_writer *w = mem_alloc_zero(ctx->a, sizeof *w);
    if (w == NULL) {
        return mem_fail(err, sizeof *w, "a writer");
    }
    w->ctx = ctx;
    w->pieces = BUF_INIT(ctx->a);
    w->batch_rows = o->batch_rows > 0 ? o->batch_rows : features_writer_rows(features);
    w->are_files_embedded = o->are_files_embedded;
    GREBE_TRY(copy_features(ctx->a, features, &w->features, err));
    GREBE_TRY(features_to_schema(ctx->a, features, &w->schema, err));
    GREBE_TRY(features_to_file_schema(ctx->a, features, o->fingerprint, &head, err));
    GREBE_TRY(io_local_new(ctx, &w->store, err));
    GREBE_TRY(io_create(w->store, path, o->is_durable, &w->file, err));
    GREBE_TRY(ipc_writer_new(ctx->a, &head, NULL, to_file, w->file, &w->ipc, err));
    *out = w;
    w = NULL;
out:
    schema_release(&head);
    rows_writer_free(w);
    return st;
}

void rows_writer_free(struct rows_writer *w)
{
    if (w == NULL) {
        return;
    }
    struct piece *p = (struct piece *)(void *)w->pieces.data;
    for (size_t i = w->first_piece; i < w->pieces.len / sizeof *p; i++) {
        array_shared_drop(p[i].rows);
    }
    buf_release(&w->pieces);
    ipc_writer_free(w->ipc);
    io_writer_free(w->file);
    io_store_free(w->store);
    schema_release(&w->schema);
    features_free(w->features);
    mem_free(w->ctx->a, w, sizeof *w);
}

int64_t rows_writer_num_rows(const struct rows_writer *w)
{
    return w->n_rows;
}
int64_t rows_writer_num_bytes(const struct rows_writer *w)
{
    return w->n_bytes;
}

/* ---- batches ---- */

/* How many of the first n pending rows fit into a batch: half of them as often as their bytes are too many. */
static int64_t rows_that_fit(const struct rows_writer *w, int64_t n)
{
    const struct piece *p = (const struct piece *)(const void *)w->pieces.data;
    for (; n > 1; n /= 2) {
        int64_t bytes = 0, left = n;
        for (size_t i = w->first_piece; left > 0; i++) {
            int64_t k = min_i64(left, p[i].n);
            bytes += array_bytes(&w->schema, array_shared_get(p[i].rows), p[i].at, k);
            left -= k;
        }
        if (bytes <= BATCH_BYTES_MAX) {
            break;
        }
    }
    return n;
}

/* The next n pending rows as one array. */
static grebe_status join(struct rows_writer *w, int64_t n, struct ArrowArray *out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const grebe_allocator *a = w->ctx->a;
    struct piece *p = (struct piece *)(void *)w->pieces.data + w->first_piece;
    size_t n_pieces = 0, made = 0;
    memset(out, 0, sizeof *out);
    for (int64_t left = n; left > 0; left -= p[n_pieces - 1].n) {
        n_pieces++;
    }
    if (n_pieces == 1) {
        return array_slice(p->rows, p->at, n, out, err);
    }
    struct ArrowArray *parts = mem_alloc_zero(a, n_pieces * sizeof *parts);
    const struct ArrowArray **pointers = mem_alloc(a, n_pieces * sizeof *pointers);
    if (parts == NULL || pointers == NULL) {
        st = mem_fail(err, n_pieces * sizeof *parts, "rows to join");
        goto out;
    }
    int64_t left = n;
    for (; made < n_pieces; made++) {
        int64_t k = min_i64(left, p[made].n);
        GREBE_TRY(array_slice(p[made].rows, p[made].at, k, &parts[made], err));
        pointers[made] = &parts[made];
        left -= k;
    }
    GREBE_TRY(array_concat(a, &w->schema, pointers, n_pieces, out, err));
out:
    for (size_t i = 0; i < made; i++) {
        array_release(&parts[i]);
    }
    mem_free(a, parts, n_pieces * sizeof *parts);
    mem_free(a, pointers, n_pieces * sizeof *pointers);
    return st;
}

static void step_over(struct rows_writer *w, int64_t n)
{
    struct piece *p = (struct piece *)(void *)w->pieces.data;
    w->n_pending -= n;
    while (n > 0) {
        struct piece *first = &p[w->first_piece];
        int64_t k = min_i64(n, first->n);
        first->at += k;
        first->n -= k;
        n -= k;
        if (first->n == 0) {
            array_shared_drop(first->rows);
            w->first_piece++;
        }
    }
    if (w->first_piece * sizeof *p == w->pieces.len) {
        buf_clear(&w->pieces);
        w->first_piece = 0;
    }
}

/* Batches out of what is pending; with is_all the last one may be smaller. */
static grebe_status write_pending(struct rows_writer *w, bool is_all, grebe_error *err)
{
    while (w->n_pending >= w->batch_rows || (is_all && w->n_pending > 0)) {
        struct ArrowArray rows;
        int64_t n = rows_that_fit(w, min_i64(w->n_pending, w->batch_rows));
        grebe_status st = join(w, n, &rows, err);
        if (st == GREBE_OK) {
            st = ipc_writer_write(w->ipc, &rows, err);
            array_release(&rows);
        }
        if (st != GREBE_OK) {
            return st;
        }
        step_over(w, n);
    }
    return GREBE_OK;
}

grebe_status rows_writer_put(struct rows_writer *w, struct ArrowArray *rows, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct piece p = { NULL, 0, rows->length };
    if (rows->length == 0) { /* rows that are not there have no types either */
        array_release(rows);
        return GREBE_OK;
    }
    if (w->are_files_embedded) {
        GREBE_TRY(media_embed(w->store, w->features, rows, err));
    }
    w->n_bytes += array_bytes(&w->schema, rows, 0, rows->length);
    GREBE_TRY(array_share(w->ctx->a, rows, &p.rows, err));
    GREBE_TRY(buf_put(&w->pieces, &p, sizeof p, err));
    w->n_pending += p.n;
    w->n_rows += p.n;
    p.rows = NULL;
    st = write_pending(w, false, err);
out:
    array_shared_drop(p.rows);
    array_release(rows);
    return st;
}

grebe_status rows_writer_finish(struct rows_writer *w, grebe_error *err)
{
    grebe_status st = write_pending(w, true, err);
    if (st == GREBE_OK) {
        st = ipc_writer_finish(w->ipc, err);
    }
    return st == GREBE_OK ? io_writer_publish(w->file, true, err) : st;
}
