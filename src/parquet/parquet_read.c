/* SPDX-License-Identifier: Apache-2.0 */
#include "parquet/parquet_format.h"

#include <string.h>

#include "parquet/parquet_fetch.h"

static size_t chunk_of(const struct pq_file *f, int64_t row)
{
    size_t low = 0, high = f->n_chunks;
    while (high - low > 1) {
        size_t mid = low + (high - low) / 2;
        if (f->chunk_begin[mid] <= row) {
            low = mid;
        } else {
            high = mid;
        }
    }
    return low;
}

grebe_status pq_read(struct format_reader *base, const int *columns, size_t n_columns,
                     int64_t row_begin, int64_t row_end, const struct call *call,
                     struct ArrowArray *out, grebe_error *err)
{
    struct pq_reader *r = (struct pq_reader *)base;
    struct pq_run run;
    struct pq_part part;
    memset(out, 0, sizeof *out);
    if (row_begin < 0 || row_end < row_begin || row_end > base->n_rows) {
        return GREBE_FAIL(err, GREBE_EINVAL, "%s: rows %lld to %lld of %lld", r->io->file->path,
                          (long long)row_begin, (long long)row_end, (long long)base->n_rows);
    }
    size_t n_parts = 0;
    if (row_end > row_begin) {
        size_t chunk = chunk_of(r->file, row_begin);
        int64_t begin = r->file->chunk_begin[chunk];
        if (row_end > r->file->chunk_begin[chunk + 1]) {
            return GREBE_FAIL(err, GREBE_EINVAL,
                              "%s: rows %lld to %lld go beyond the row group that ends at %lld",
                              r->io->file->path, (long long)row_begin, (long long)row_end,
                              (long long)r->file->chunk_begin[chunk + 1]);
        }
        run = (struct pq_run){ row_begin - begin, row_end - row_begin };
        part = (struct pq_part){ chunk, &run, 1, run.n };
        n_parts = 1;
    }
    grebe_status st =
        pq_fetch(r, columns, n_columns, n_parts == 0 ? NULL : &part, n_parts, true, call, out, err);
    return st == GREBE_OK ? st : error_wrap(err, st, "%s", r->io->file->path);
}

/* ---- take ---- */

struct selection {
    struct pq_run *runs; /* shape [n], room for one a row */
    struct pq_part *parts;
    size_t n_parts;
};

/* Neighbouring rows make one run; equal ones begin a new one. */
static grebe_status select_rows(const struct pq_file *f, const int64_t *rows, int64_t n,
                                struct selection *s, grebe_error *err)
{
    struct pq_run *run = s->runs;
    int64_t end = 0; /* of the current chunk */
    int64_t begin = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t row = rows[i];
        if (row < 0 || row >= f->n_rows || (i > 0 && row < rows[i - 1])) {
            return GREBE_FAIL(err, GREBE_EINVAL,
                              "row %lld at place %lld: expected ascending rows below %lld",
                              (long long)row, (long long)i, (long long)f->n_rows);
        }
        struct pq_part *part = s->n_parts == 0 ? NULL : &s->parts[s->n_parts - 1];
        if (row >= end) {
            size_t chunk = chunk_of(f, row);
            begin = f->chunk_begin[chunk];
            end = f->chunk_begin[chunk + 1];
            part = &s->parts[s->n_parts++];
            *part = (struct pq_part){ chunk, run, 0, 0 };
        } else if (row == rows[i - 1] + 1) {
            run[-1].n++;
            part->n_rows++;
            continue;
        }
        *run++ = (struct pq_run){ row - begin, 1 };
        part->n_runs++;
        part->n_rows++;
    }
    return GREBE_OK;
}

grebe_status pq_take(struct format_reader *base, const int *columns, size_t n_columns,
                     const int64_t *rows, int64_t n, const struct call *call,
                     struct ArrowArray *out, grebe_error *err)
{
    struct pq_reader *r = (struct pq_reader *)base;
    const grebe_allocator *a = base->ctx->a;
    struct selection s = { NULL, NULL, 0 };
    grebe_status st = GREBE_OK;

    memset(out, 0, sizeof *out);
    if (n < 0 || (n > 0 && rows == NULL)) {
        return GREBE_FAIL(err, GREBE_EINVAL, "%lld rows", (long long)n);
    }
    size_t n_parts_max = (size_t)n < r->file->n_chunks ? (size_t)n : r->file->n_chunks;
    size_t run_bytes = (size_t)n * sizeof *s.runs;
    size_t part_bytes = n_parts_max * sizeof *s.parts;
    s.runs = mem_alloc(a, run_bytes + part_bytes);
    if (s.runs == NULL) {
        return mem_fail(err, run_bytes + part_bytes, "rows to take");
    }
    s.parts = (struct pq_part *)(void *)((unsigned char *)s.runs + run_bytes);
    GREBE_TRY(select_rows(r->file, rows, n, &s, err));
    GREBE_TRY(pq_fetch(r, columns, n_columns, s.parts, s.n_parts, false, call, out, err));
out:
    mem_free(a, s.runs, run_bytes + part_bytes);
    return st == GREBE_OK ? st : error_wrap(err, st, "%s", r->io->file->path);
}
