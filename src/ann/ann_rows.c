/* SPDX-License-Identifier: Apache-2.0 */
/* Dense rows, in memory or read by blocks. */
#include "ann/ann_dataset.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked.h"

/* Rows that are nearer to each other than this are read together. */
enum { BLOCK_BYTES = 4 << 20, GAP_BYTES = 16 << 10 };

bool ann_has_rows(const struct ann_vectors *v) { return v->dense != NULL || v->rows.read != NULL; }

bool ann_fits_memory(const struct call *call, uint64_t n, size_t row_bytes)
{
    uint64_t bytes = 0;
    return checked_mul_u64(n, row_bytes, &bytes) && bytes <= call->memory_limit_bytes / 2;
}

struct ann_rows ann_rows_of(const struct ann_vectors *v)
{
    if (v->rows.read != NULL) {
        return v->rows;
    }
    return (struct ann_rows){ .n = v->n, .dim = v->dim, .elem = v->elem, .data = v->dense };
}

size_t ann_block_rows(const struct ann_rows *rows, const struct call *call)
{
    size_t bytes = max_size(vector_row_bytes(rows->elem, rows->dim), 1);
    uint64_t n = min_u64(BLOCK_BYTES, call->memory_limit_bytes / 4) / bytes;
    return (size_t)min_u64(n == 0 ? 1 : n, rows->n == 0 ? 1 : rows->n);
}

grebe_status ann_rows_get(const struct ann_rows *rows, uint64_t begin, uint64_t n, void *block, const void **out,
                          grebe_error *err)
{
    if (rows->read == NULL) {
        *out = (const unsigned char *)rows->data + begin * vector_row_bytes(rows->elem, rows->dim);
        return GREBE_OK;
    }
    *out = block;
    return rows->read(rows->arg, begin, n, block, err);
}

struct wanted {
    int64_t id;
    size_t at;
};

static int by_id(const void *a, const void *b)
{
    const struct wanted *x = a, *y = b;
    return x->id != y->id ? (x->id < y->id ? -1 : 1) : (x->at > y->at) - (x->at < y->at);
}

grebe_status ann_rows_gather(grebe_context *ctx, const struct ann_rows *rows, const int64_t *ids, size_t n, void *dst,
                             grebe_error *err)
{
    size_t row = vector_row_bytes(rows->elem, rows->dim), n_wanted = 0, most = max_size(BLOCK_BYTES / max_size(row, 1), 1);
    size_t gap = rows->is_in_order ? most : GAP_BYTES / max_size(row, 1) + 1;
    struct buf wanted = BUF_INIT(ctx->a), block = BUF_INIT(ctx->a);
    grebe_status st = GREBE_OK;
    GREBE_TRY(buf_reserve(&wanted, n * sizeof(struct wanted), err));
    struct wanted *w = (struct wanted *)(void *)wanted.data;
    for (size_t i = 0; i < n; i++) {
        if (ids[i] >= 0) {
            w[n_wanted++] = (struct wanted){ ids[i], i };
        }
    }
    if (n_wanted > 1) {
        qsort(w, n_wanted, sizeof *w, by_id);
    }
    for (size_t i = 0; i < n_wanted;) {
        int64_t first = w[i].id, last = first;
        size_t end = i;
        while (end < n_wanted && (size_t)(w[end].id - last) <= gap &&
               (size_t)(w[end].id - first) < most) {
            last = w[end++].id;
        }
        size_t n_read = (size_t)(last - first) + 1;
        const void *p = NULL;
        GREBE_TRY(buf_reserve(&block, rows->read != NULL ? n_read * row : 1, err));
        GREBE_TRY(ann_rows_get(rows, (uint64_t)first, n_read, block.data, &p, err));
        for (; i < end; i++) {
            memcpy((unsigned char *)dst + w[i].at * row, (const unsigned char *)p + (size_t)(w[i].id - first) * row, row);
        }
    }
out:
    buf_release(&wanted);
    buf_release(&block);
    return st;
}
