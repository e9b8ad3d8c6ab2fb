/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/checked.h"
#include "dataset/map_job.h"

/* Rows of the table that one part keeps. */
struct kept {
    struct map_job *j;
    int32_t i;
    struct buf rows; /* uint64 */
    struct buf path;
    struct dataset_indices *file; /* a part that was written before, or is written */
};

static grebe_status keep_batch(struct kept *k, int64_t begin, int64_t end, grebe_error *err)
{
    struct map_job *j = k->j;
    const grebe_dataset *ds = j->t.ds;
    const uint64_t *before = ds->indices != NULL ? dataset_indices_rows(ds->indices) : NULL;
    struct ArrowArray rows = { 0 };
    grebe_map_input in;
    size_t len = (size_t)(end - begin);
    uint8_t *keep = mem_alloc_zero(ds->ctx->a, len);
    if (keep == NULL) {
        return mem_fail(err, len, "kept rows");
    }
    grebe_status st = map_job_read(j, begin, end, k->i, &rows, &in, err);
    if (st == GREBE_OK) {
        st = j->filter(j->fn_ctx, &in, keep, err);
        st = st == GREBE_OK ? st : error_wrap(err, st, "rows %lld to %lld", (long long)begin, (long long)end - 1);
    }
    st = st == GREBE_OK ? buf_reserve(&k->rows, len * sizeof(uint64_t), err) : st;
    for (int64_t row = begin; row < end && st == GREBE_OK; row++) {
        if (keep[row - begin] != 0) {
            uint64_t v = before != NULL ? before[row] : (uint64_t)row;
            memcpy(k->rows.data + k->rows.len, &v, sizeof v);
            k->rows.len += sizeof v;
        }
    }
    array_release(&rows);
    mem_free(ds->ctx->a, keep, len);
    map_job_progress(j, end - begin);
    return st;
}

static grebe_status run_part(void *arg, size_t i, grebe_error *err)
{
    struct kept *k = (struct kept *)arg + i;
    struct map_job *j = k->j;
    grebe_status st = GREBE_OK;
    int64_t begin = 0, end = 0, n_table = dataset_table_num_rows(j->t.ds->table);
    GREBE_TRY(map_job_path(j, k->i, "", &k->path, err));
    const char *path = k->path.len > 0 ? (const char *)k->path.data : NULL;
    map_job_range(j, k->i, &begin, &end);
    if (map_job_finds(j, path)) {
        map_job_progress(j, end - begin);
        return dataset_indices_open(j->t.ds->ctx, path, n_table, &k->file, err);
    }
    for (int64_t row = begin; row < end;) {
        int64_t n = min_i64(j->batch_rows, end - row);
        GREBE_TRY(keep_batch(k, row, row + n, err));
        row += n;
    }
    if (path != NULL) {
        GREBE_TRY(dataset_write_indices(&j->t, path, (const uint64_t *)(const void *)k->rows.data,
                                        (int64_t)(k->rows.len / sizeof(uint64_t)), err));
        GREBE_TRY(dataset_indices_open(j->t.ds->ctx, path, n_table, &k->file, err));
    }
out:
    return st;
}

static int64_t kept_len(const struct kept *k)
{
    return k->file != NULL ? dataset_indices_len(k->file) : (int64_t)(k->rows.len / sizeof(uint64_t));
}

/* The parts one after another; a single file stays a file. */
static grebe_status join(struct map_job *j, struct kept *parts, size_t n, struct dataset_indices **out,
                         grebe_error *err)
{
    int64_t total = 0, at = 0;
    if (n == 1 && parts[0].file != NULL) {
        *out = dataset_indices_keep(parts[0].file);
        return GREBE_OK;
    }
    for (size_t i = 0; i < n; i++) {
        total += kept_len(&parts[i]);
    }
    uint64_t *rows = mem_alloc(j->t.ds->ctx->a, (size_t)total * sizeof *rows);
    if (rows == NULL) {
        return mem_fail(err, (size_t)total * sizeof *rows, "indices");
    }
    for (size_t i = 0; i < n; i++) {
        const void *from =
            parts[i].file != NULL ? (const void *)dataset_indices_rows(parts[i].file) : parts[i].rows.data;
        int64_t len = kept_len(&parts[i]);
        if (len > 0) {
            memcpy(rows + at, from, (size_t)len * sizeof *rows);
        }
        at += len;
    }
    return dataset_indices_new(j->t.ds->ctx, rows, total, out, err);
}

static grebe_status filter_parts(struct map_job *j, grebe_dataset **out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const grebe_dataset *ds = j->t.ds;
    size_t n = j->m.part >= 0 ? 1 : (size_t)j->n_parts;
    struct derived d = { .are_rows_new = true };
    struct buf fingerprint = BUF_INIT(ds->ctx->a);
    struct kept *parts = mem_alloc_zero(ds->ctx->a, n * sizeof *parts);
    if (parts == NULL) {
        return mem_fail(err, n * sizeof *parts, "parts");
    }
    for (size_t i = 0; i < n; i++) {
        parts[i] = (struct kept){ .j = j, .i = j->m.part >= 0 ? j->m.part : (int32_t)i };
        parts[i].rows = parts[i].path = BUF_INIT(ds->ctx->a);
    }
    GREBE_TRY(parallel_for(ds->ctx->pool, j->m.is_serial ? 1 : j->t.call.threads, n, run_part, parts, j->t.call.cancel, err));
    GREBE_TRY(join(j, parts, n, &d.indices, err));
    if (n == 1) {
        GREBE_TRY(map_job_fingerprint(j, parts[0].i, &fingerprint, err));
    }
    GREBE_TRY(dataset_derive(ds, &d, n == 1 ? (const char *)fingerprint.data : j->t.fingerprint, out, err));
out:
    for (size_t i = 0; i < n; i++) {
        buf_release(&parts[i].rows);
        buf_release(&parts[i].path);
        dataset_indices_drop(parts[i].file);
    }
    dataset_indices_drop(d.indices);
    buf_release(&fingerprint);
    mem_free(ds->ctx->a, parts, n * sizeof *parts);
    return st;
}

grebe_status grebe_dataset_filter_fn(const grebe_dataset *ds, grebe_filter_fn fn, void *fn_ctx,
                                     const grebe_map_options *map, const grebe_transform_options *options,
                                     grebe_dataset **out, grebe_error *err)
{
    GREBE_CHECK_ARG(err, ds != NULL && fn != NULL && out != NULL);
    struct map_job j;
    *out = NULL;
    grebe_status st = map_job_begin(&j, ds, true, map, options, err);
    j.filter = fn;
    j.fn_ctx = fn_ctx;
    if (st == GREBE_OK && ds->n_rows == 0) {
        *out = grebe_dataset_keep(ds);
    } else if (st == GREBE_OK) {
        st = filter_parts(&j, out, err);
    }
    map_job_end(&j);
    return st;
}
