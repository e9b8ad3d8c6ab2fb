/* SPDX-License-Identifier: Apache-2.0 */
/* Bloom filters of chunks: header and bits, sized by how many distinct values there are. */
#include "parquet/parquet_write_internal.h"

#include <assert.h>
#include <math.h>

#include "base/checked.h"
#include "parquet/parquet_bloom.h"

/* The hash of a value's plain bytes, byte arrays without their length. */
static uint64_t hash_at(const struct pw_chunk *c, int64_t i)
{
    size_t len = 0;
    const unsigned char *v = pw_value_at(c, i, &len);

    return pq_bloom_hash(v, len);
}

/*
 * How many of the hashes differ, by linear counting (Whang 1990): each sets one of m >= 8 n bits,
 * and the share of bits that stay clear tells. Within a percent, and the same for any order.
 */
static grebe_status count_distinct(const struct buf *hashes, struct buf *bits, uint64_t *out,
                                   grebe_error *err)
{
    const uint64_t *h = (const uint64_t *)(const void *)hashes->data;
    const size_t n = hashes->len / sizeof *h;
    size_t m = 1024;
    grebe_status st = GREBE_OK;

    while (m < 8 * n) {
        m *= 2;
    }
    buf_clear(bits);
    st = buf_put_zero(bits, m / 8, err);
    if (st != GREBE_OK) {
        return st;
    }
    for (size_t i = 0; i < n; i++) {
        bit_set(bits->data, (int64_t)(h[i] & (m - 1)));
    }
    const double n_clear = (double)m - (double)bitmap_count(bits->data, 0, (int64_t)m);
    *out = min_u64(n, (uint64_t)ceil((double)m * log((double)m / n_clear)));
    return GREBE_OK;
}

/* Hashes of the distinct values, or of all where no dictionary knows them. */
static grebe_status collect_hashes(const struct pw_chunk *c, struct pw_scratch *s,
                                   struct buf *hashes, grebe_error *err)
{
    const int64_t *entries = (const int64_t *)(const void *)s->entries.data;
    const bool has_entries = c->has_dictionary;
    const int64_t n = has_entries ? (int64_t)(s->entries.len / sizeof *entries) : c->n_values;
    uint64_t *h = NULL;
    grebe_status st = GREBE_OK;

    buf_clear(hashes);
    st = buf_reserve(hashes, (size_t)n * sizeof *h + 1, err);
    if (st != GREBE_OK) {
        return st;
    }
    h = (uint64_t *)(void *)hashes->data;
    for (int64_t i = 0; i < n; i++) {
        h[i] = hash_at(c, has_entries ? entries[i] : i);
    }
    hashes->len = (size_t)n * sizeof *h;
    return GREBE_OK;
}

grebe_status pw_chunk_bloom(struct pw_chunk *c, const struct pw_config *config,
                            struct pw_scratch *s, grebe_error *err)
{
    struct buf *hashes = &s->body; /* the pages are in c->out by now */
    struct pq_bloom_header header = {0};
    uint64_t n_distinct = 0;
    grebe_status st = GREBE_OK;

    assert(c->leaf->store != PW_BOOL);
    GREBE_TRY(collect_hashes(c, s, hashes, err));
    GREBE_TRY(count_distinct(hashes, &s->piece, &n_distinct, err));
    header.n_bytes = (int32_t)pq_bloom_size(n_distinct, config->bloom_rate);
    GREBE_TRY(pq_bloom_header_encode(&header, &c->bloom, err));
    GREBE_TRY(buf_put_zero(&c->bloom, (size_t)header.n_bytes, err));
    unsigned char *bits = c->bloom.data + c->bloom.len - (size_t)header.n_bytes;
    const uint64_t *h = (const uint64_t *)(const void *)hashes->data;
    for (size_t i = 0; i < hashes->len / sizeof *h; i++) {
        pq_bloom_insert(bits, (size_t)header.n_bytes, h[i]);
    }
out:
    return st;
}
