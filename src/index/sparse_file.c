/* SPDX-License-Identifier: Apache-2.0 */
/* A sparse index in a file: the rows, a directory of windows, and the windows' blocks one behind the other. */
#include <inttypes.h>
#include <string.h>

#include "base/checked.h"
#include "index/sparse_index.h"

/* An entry of the directory: n_rows, n_terms, n_postings, is_signed. */
enum { ENTRY_WORDS = 4 };

static grebe_status save_windows(const struct sparse_index *x, struct index_writer *w, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    GREBE_TRY(index_writer_begin(w, "windows", err));
    for (size_t i = 0; i < x->n_windows; i++) {
        GREBE_TRY(index_writer_append(w, x->windows[i].terms, x->windows[i].bytes, err));
    }
    GREBE_TRY(index_writer_end(w, err));
    GREBE_TRY(index_writer_begin(w, "windir", err));
    for (size_t i = 0; i < x->n_windows; i++) {
        const struct sparse_window *p = &x->windows[i];
        uint32_t entry[ENTRY_WORDS] = { p->n_rows, p->n_terms, p->n_postings, p->is_signed };
        GREBE_TRY(index_writer_append(w, entry, sizeof entry, err));
    }
    st = index_writer_end(w, err);
out:
    return st;
}

grebe_status sparse_save(struct index *ix, struct index_writer *w, grebe_error *err)
{
    struct sparse_index *x = (struct sparse_index *)ix;
    static const int64_t none[1] = { 0 };
    const int64_t *offsets = x->rows.n != 0 ? x->rows.offsets : none;
    uint64_t n_values = (uint64_t)offsets[x->rows.n];
    grebe_status st = GREBE_OK;
    GREBE_TRY(index_writer_uint(w, "rows", x->rows.n, err));
    GREBE_TRY(index_writer_uint(w, "values", n_values, err));
    GREBE_TRY(index_writer_section(w, "offsets", offsets, (x->rows.n + 1) * sizeof *offsets, err));
    GREBE_TRY(index_writer_section(w, "terms", x->rows.terms, n_values * sizeof *x->rows.terms, err));
    GREBE_TRY(index_writer_section(w, "floats", x->rows.values, n_values * sizeof *x->rows.values, err));
    GREBE_TRY(save_windows(x, w, err));
    st = index_bits_save(&x->removed, "removed", w, err);
out:
    return st;
}

static grebe_status load_windows(struct sparse_index *x, const struct index_file *f, grebe_error *err)
{
    const void *dir = NULL, *blocks = NULL;
    uint64_t len = 0, n = (x->rows.n + SPARSE_WINDOW_ROWS - 1) / SPARSE_WINDOW_ROWS, at = 0, postings = 0;
    grebe_status st = index_file_section(f, "windir", n * ENTRY_WORDS * sizeof(uint32_t), &dir, &len, err);
    st = st == GREBE_OK ? index_file_section(f, "windows", UINT64_MAX, &blocks, &len, err) : st;
    if (st != GREBE_OK || n == 0) {
        return st;
    }
    x->windows = mem_alloc_zero(x->base.ctx->a, (size_t)n * sizeof *x->windows);
    if (x->windows == NULL) {
        return mem_fail(err, (size_t)n * sizeof *x->windows, "windows");
    }
    x->n_windows = (size_t)n;
    for (uint64_t i = 0; i < n; i++) {
        uint32_t entry[ENTRY_WORDS];
        memcpy(entry, (const char *)dir + i * sizeof entry, sizeof entry);
        uint64_t rows = i + 1 < n ? SPARSE_WINDOW_ROWS : x->rows.n - i * SPARSE_WINDOW_ROWS;
        struct sparse_window w = { .n_rows = entry[0], .n_terms = entry[1], .n_postings = entry[2],
                                   .is_signed = entry[3] != 0 };
        size_t bytes = sparse_window_bytes(w.n_terms, w.n_postings);
        postings += w.n_postings;
        if (w.n_rows != rows || w.n_terms > w.n_postings || entry[3] > 1 || bytes == 0 || !range_fits_u64(at, bytes, len)) {
            return GREBE_FAIL(err, GREBE_ECORRUPT,
                              "window %" PRIu64 ": expected %" PRIu64 " rows inside %" PRIu64 " bytes, found %u rows, %u terms, "
                              "%u postings at byte %" PRIu64, i, rows, len, entry[0], entry[1], entry[2], at);
        }
        sparse_window_attach(&w, (const char *)blocks + at);
        x->windows[i] = w;
        at += bytes;
    }
    if (at != len || postings != (uint64_t)x->rows.offsets[x->rows.n]) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "windows: expected %" PRIu64 " bytes and %" PRId64 " postings, found %" PRIu64
                          " and %" PRIu64, at, x->rows.offsets[x->rows.n], len, postings);
    }
    return GREBE_OK;
}

grebe_status sparse_load(grebe_context *ctx, const struct index_config *config, struct index_file *file,
                         struct index **out, grebe_error *err)
{
    struct sparse_index *x = NULL;
    const void *offsets = NULL, *terms = NULL, *values = NULL;
    uint64_t n = 0, n_values = 0, len = 0;
    grebe_status st = sparse_new(ctx, config, &x, err);
    *out = NULL;
    if (st != GREBE_OK) {
        return st;
    }
    GREBE_TRY(index_file_uint(file, "rows", 0, INDEX_ROWS_MAX, &n, err));
    GREBE_TRY(index_file_uint(file, "values", 0, (uint64_t)1 << 56, &n_values, err));
    GREBE_TRY(index_file_section(file, "offsets", (n + 1) * sizeof(int64_t), &offsets, &len, err));
    GREBE_TRY(index_file_section(file, "terms", n_values * sizeof(uint32_t), &terms, &len, err));
    GREBE_TRY(index_file_section(file, "floats", n_values * sizeof(float), &values, &len, err));
    x->rows = (struct vector_sparse){ offsets, terms, values, n };
    if (x->rows.offsets[0] != 0 || x->rows.offsets[n] < 0 || (uint64_t)x->rows.offsets[n] != n_values) {
        st = GREBE_FAIL(err, GREBE_ECORRUPT, "offsets: expected 0 to %" PRIu64 ", found %" PRId64 " to %" PRId64, n_values,
                        x->rows.offsets[0], x->rows.offsets[n]);
        goto out;
    }
    GREBE_TRY(load_windows(x, file, err));
    GREBE_TRY(index_bits_load(&x->removed, "removed", file, n, err));
    *out = &x->base;
    x = NULL;
out:
    if (x != NULL) {
        sparse_free(&x->base);
    }
    return st;
}
