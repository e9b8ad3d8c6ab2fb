/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Column indexes, offset indexes and bloom filters of any file: what is told of pages must fit the
 * chunk, and nothing outside the file may be looked at.
 */
#include <stdlib.h>
#include <string.h>

#include "base/context_internal.h"
#include "fuzz_require.h"
#include "parquet/parquet_format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static grebe_status store_file(struct io_store *store, const uint8_t *data, size_t size)
{
    struct io_writer *w = NULL;
    grebe_status st = io_create(store, "f", false, &w, NULL);
    if (st == GREBE_OK) {
        st = io_write(w, data, size, NULL);
    }
    if (st == GREBE_OK) {
        st = io_writer_publish(w, true, NULL);
    }
    io_writer_free(w);
    return st;
}

static void use_pages(struct format_reader *r, int column, size_t chunk)
{
    struct page_bounds p;
    grebe_status st = r->ops->page_bounds(r, column, chunk, &p, NULL);
    if (st == GREBE_OK && p.n > 0) {
        require(p.row_begin[0] == 0);
        require(p.row_begin[p.n] == r->chunk_begin[chunk + 1] - r->chunk_begin[chunk]);
        for (size_t i = 0; i < p.n; i++) {
            const struct column_bounds *b = &p.bounds[i];
            require(p.row_begin[i] <= p.row_begin[i + 1]);
            require(!b->has_null_count || (b->null_count >= 0 && b->null_count <= b->n_values));
            volatile unsigned char sum = 0; /* every byte of a bound can be read */
            for (size_t k = 0; b->has_min && k < b->min_len; k++) {
                sum = (unsigned char)(sum + ((const unsigned char *)b->min)[k]);
            }
            for (size_t k = 0; b->has_max && k < b->max_len; k++) {
                sum = (unsigned char)(sum + ((const unsigned char *)b->max)[k]);
            }
        }
    }
    page_bounds_release(&p);
}

static void use_filter(struct format_reader *r, int column, size_t chunk)
{
    static const unsigned char value[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
    for (size_t len = 0; len <= sizeof value; len++) {
        bool may = false;
        if (r->ops->may_contain(r, column, chunk, value, len, &may, NULL) != GREBE_OK) {
            return;
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    grebe_context *ctx = NULL;
    struct io_store *store = NULL;
    struct format_reader *r = NULL;
    if (context_new(NULL, &ctx, NULL) == GREBE_OK && io_memory_new(ctx, &store, NULL) == GREBE_OK &&
        store_file(store, data, size) == GREBE_OK &&
        parquet_format.open(store, "f", NULL, &r, NULL) == GREBE_OK) {
        int n = r->schema.n_children < 16 ? (int)r->schema.n_children : 16;
        for (int c = 0; c < n; c++) {
            for (size_t chunk = 0; chunk < r->n_chunks && chunk < 4; chunk++) {
                use_pages(r, c, chunk);
                use_filter(r, c, chunk);
            }
        }
        r->ops->close(r);
    }
    io_store_free(store);
    context_free(ctx);
    return 0;
}
