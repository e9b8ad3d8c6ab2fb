/* SPDX-License-Identifier: Apache-2.0 */
#include "index/ivf_lists.h"

#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "base/endian.h"
#include "index/ivf_kmeans.h"

static size_t blocks_of(size_t rows) { return (rows + IVF_BLOCK - 1) / IVF_BLOCK; }

grebe_status ivf_lists_init(struct ivf_lists *l, const grebe_allocator *a, uint32_t n_lists, size_t block_bytes,
                            grebe_error *err)
{
    *l = (struct ivf_lists){.a = a, .n_lists = n_lists, .block_bytes = block_bytes};
    l->sizes = mem_alloc_zero(a, n_lists * sizeof *l->sizes);
    l->begin = mem_alloc_zero(a, ((size_t)n_lists + 1) * sizeof *l->begin);
    if (l->sizes == NULL || l->begin == NULL) {
        ivf_lists_release(l);
        return mem_fail(err, ((size_t)n_lists + 1) * sizeof *l->begin, "lists");
    }
    return GREBE_OK;
}

void ivf_lists_release(struct ivf_lists *l)
{
    if (l->a != NULL) {
        mem_free(l->a, l->sizes, l->n_lists * sizeof *l->sizes);
        mem_free(l->a, l->begin, ((size_t)l->n_lists + 1) * sizeof *l->begin);
        mem_free_aligned(l->a, l->owned, l->owned_bytes, MEM_ALIGN_VECTOR);
    }
    *l = (struct ivf_lists){0};
}

/* ---- appending ---- */

struct append_work {
    const struct ivf_lists *from;
    struct ivf_lists *to;
    const struct ivf_codes *codes;
    const float *centroids;
    const struct index_store *store;
    const size_t *begin; /* of the new rows by list */
    const uint32_t *order;
    uint32_t first;
};

/* Where the three arrays stand in one piece of memory; codes first, for their alignment. */
static grebe_status allocate(struct ivf_lists *l, size_t blocks, grebe_error *err)
{
    const size_t slots = blocks * IVF_BLOCK;
    size_t bytes;

    if (!checked_mul_size(blocks, l->block_bytes + IVF_BLOCK * 8, &bytes)) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "%zu blocks of codes do not fit in memory", blocks);
    }
    l->owned = mem_alloc_aligned(l->a, bytes, MEM_ALIGN_VECTOR);
    if (l->owned == NULL) {
        return mem_fail(err, bytes, "codes of rows");
    }
    l->owned_bytes = bytes;
    l->codes = l->owned;
    l->bias = (const float *)(const void *)(l->codes + blocks * l->block_bytes);
    l->positions = (const uint32_t *)(const void *)(l->bias + slots);
    return GREBE_OK;
}

static grebe_status append_list(void *arg, size_t list, grebe_error *err)
{
    const struct append_work *w = arg;
    const struct ivf_lists *from = w->from;
    struct ivf_lists *to = w->to;
    const size_t old = from->begin[list], at = to->begin[list], n_old = blocks_of(from->sizes[list]);
    const size_t n = to->begin[list + 1] - at, slots = n * IVF_BLOCK;
    uint8_t *codes = (uint8_t *)to->owned + at * to->block_bytes;
    float *bias = (float *)(uintptr_t)to->bias + at * IVF_BLOCK;
    uint32_t *positions = (uint32_t *)(uintptr_t)to->positions + at * IVF_BLOCK;
    size_t slot = from->sizes[list];
    const struct index_store *s = w->store;
    const size_t scratch_bytes = s->dim * sizeof(float);
    float *scratch = s->elem == VECTOR_F32 ? NULL : mem_alloc(to->a, scratch_bytes);

    if (s->elem != VECTOR_F32 && scratch == NULL) {
        return mem_fail(err, scratch_bytes, "a row");
    }
    if (n_old > 0) {
        memcpy(codes, from->codes + old * to->block_bytes, n_old * to->block_bytes);
        memcpy(bias, from->bias + old * IVF_BLOCK, n_old * IVF_BLOCK * sizeof *bias);
        memcpy(positions, from->positions + old * IVF_BLOCK, n_old * IVF_BLOCK * sizeof *positions);
    }
    memset(codes + n_old * to->block_bytes, 0, (n - n_old) * to->block_bytes);
    for (size_t i = n_old * IVF_BLOCK; i < slots; i++) {
        bias[i] = INFINITY;
        positions[i] = UINT32_MAX;
    }
    for (size_t i = w->begin[list]; i < w->begin[list + 1]; i++, slot++) {
        const void *stored = index_store_row(s, w->first + w->order[i]);
        const float *row = scratch != NULL ? scratch : (const float *)stored;

        if (scratch != NULL) {
            vector_to_f32(s->elem, stored, s->dim, scratch);
        }
        bias[slot] = ivf_codes_put(w->codes, row, w->centroids + list * w->codes->dim,
                                   codes + slot / IVF_BLOCK * to->block_bytes, (uint32_t)(slot % IVF_BLOCK));
        positions[slot] = w->first + w->order[i];
    }
    to->sizes[list] = (uint32_t)slot;
    mem_free(to->a, scratch, scratch_bytes);
    return GREBE_OK;
}

grebe_status ivf_lists_append(struct ivf_lists *l, grebe_context *ctx, const struct ivf_codes *codes,
                              const float *centroids, const struct index_store *store, uint64_t first,
                              const uint32_t *lists, size_t n, const struct call *call, grebe_error *err)
{
    const uint32_t n_lists = l->n_lists;
    struct ivf_lists fresh = {0};
    size_t *begin = mem_alloc(l->a, ((size_t)l->n_lists + 1) * sizeof *begin);
    uint32_t *order = mem_alloc(l->a, n * sizeof *order);
    struct append_work w = {l, &fresh, codes, centroids, store, begin, order, (uint32_t)first};
    grebe_status st = GREBE_OK;
    size_t blocks = 0;

    if (begin == NULL || order == NULL) {
        st = mem_fail(err, n * sizeof *order, "rows by list");
        goto out;
    }
    kmeans_group(lists, n, l->n_lists, begin, order);
    GREBE_TRY(ivf_lists_init(&fresh, l->a, l->n_lists, l->block_bytes, err));
    for (uint32_t i = 0; i < l->n_lists; i++) {
        fresh.begin[i] = blocks;
        blocks += blocks_of(l->sizes[i] + (begin[i + 1] - begin[i]));
    }
    fresh.begin[l->n_lists] = blocks;
    GREBE_TRY(allocate(&fresh, blocks, err));
    GREBE_TRY(parallel_for(ctx->pool, call->threads, l->n_lists, append_list, &w, call->cancel, err));
    ivf_lists_release(l);
    *l = fresh;
    fresh = (struct ivf_lists){0};
out:
    ivf_lists_release(&fresh);
    mem_free(ctx->a, begin, ((size_t)n_lists + 1) * sizeof *begin);
    mem_free(ctx->a, order, n * sizeof *order);
    return st;
}

/* ---- files ---- */

grebe_status ivf_lists_save(const struct ivf_lists *l, struct index_writer *w, grebe_error *err)
{
    const size_t blocks = ivf_lists_blocks(l), slots = blocks * IVF_BLOCK;
    grebe_status st = GREBE_OK;

    GREBE_TRY(index_writer_section(w, "sizes", l->sizes, (uint64_t)l->n_lists * sizeof *l->sizes, err));
    GREBE_TRY(index_writer_section(w, "codes", l->codes, (uint64_t)blocks * l->block_bytes, err));
    GREBE_TRY(index_writer_section(w, "bias", l->bias, (uint64_t)slots * sizeof *l->bias, err));
    GREBE_TRY(index_writer_section(w, "rowsof", l->positions, (uint64_t)slots * sizeof *l->positions, err));
out:
    return st;
}

grebe_status ivf_lists_load(struct ivf_lists *l, const struct index_file *f, uint64_t n, grebe_error *err)
{
    const void *sizes = NULL, *codes = NULL, *bias = NULL, *positions = NULL;
    uint64_t rows = 0, slots;
    size_t blocks = 0;
    grebe_status st = GREBE_OK;

    GREBE_TRY(index_file_section(f, "sizes", (uint64_t)l->n_lists * sizeof *l->sizes, &sizes, NULL, err));
    for (uint32_t i = 0; i < l->n_lists; i++) {
        l->sizes[i] = load_le32((const unsigned char *)sizes + (size_t)i * 4);
        l->begin[i] = blocks;
        rows += l->sizes[i];
        blocks += blocks_of(l->sizes[i]);
    }
    l->begin[l->n_lists] = blocks;
    if (rows != n) {
        st = GREBE_FAIL(err, GREBE_ECORRUPT, "%s: section sizes: expected %llu rows in all lists, found %llu",
                        index_file_path(f), (unsigned long long)n, (unsigned long long)rows);
        goto out;
    }
    slots = (uint64_t)blocks * IVF_BLOCK;
    GREBE_TRY(index_file_section(f, "codes", (uint64_t)blocks * l->block_bytes, &codes, NULL, err));
    GREBE_TRY(index_file_section(f, "bias", slots * sizeof *l->bias, &bias, NULL, err));
    GREBE_TRY(index_file_section(f, "rowsof", slots * sizeof *l->positions, &positions, NULL, err));
    l->codes = codes;
    l->bias = bias;
    l->positions = positions;
out:
    return st;
}
