/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bloom filters of chunks. What they say is believed only where they are of the one kind that is
 * defined; an unknown algorithm, hash or compression, and any damage, means "perhaps".
 */
#include "parquet/parquet_filter.h"

#include <string.h>

#include "base/checked.h"
#include "parquet/parquet_bloom.h"
#include "parquet/parquet_bounds.h"
#include "parquet/parquet_format.h"

enum { HEADER_BYTES_MAX = 1024, PLAIN_BYTES_MAX = 8 };

grebe_status pq_filter_find(struct pq_reader *r, const struct pq_chunk *c, struct pq_filter *out,
                            grebe_error *err)
{
    const unsigned char *bytes = NULL;
    struct region *owner = NULL;
    struct pq_bloom_header header;
    size_t header_len = 0;
    uint64_t end = r->file->footer_start;
    memset(out, 0, sizeof *out);
    if (!c->has_metadata || c->is_encrypted || c->bloom_filter_offset <= 0 ||
        (uint64_t)c->bloom_filter_offset >= end || c->bloom_filter_length < 0) {
        return GREBE_OK;
    }
    uint64_t offset = (uint64_t)c->bloom_filter_offset;
    uint64_t len = end - offset;
    if (c->bloom_filter_length > 0) {
        len = min_u64(len, (uint64_t)c->bloom_filter_length);
    }
    size_t window = (size_t)min_u64(len, HEADER_BYTES_MAX);
    grebe_status st = pq_bytes_get(r, offset, window, &bytes, &owner, err);
    if (st != GREBE_OK) {
        return st;
    }
    st = pq_bloom_header_decode(bytes, window, &header, &header_len, NULL);
    region_drop(owner);
    if (st == GREBE_OK && header.is_usable && (uint64_t)header.n_bytes <= len - header_len) {
        out->offset = offset + header_len;
        out->n_bytes = (size_t)header.n_bytes;
    }
    return st == GREBE_ENOMEM ? st : GREBE_OK;
}

/* One block of the filter is all that has to be read. */
static grebe_status probe(struct pq_reader *r, const struct pq_filter *f, uint64_t hash, bool *may,
                          grebe_error *err)
{
    const unsigned char *block = NULL;
    struct region *owner = NULL;
    grebe_status st = pq_bytes_get(r, f->offset + pq_bloom_block(f->n_bytes, hash),
                                   PQ_BLOOM_BLOCK_BYTES, &block, &owner, err);
    if (st == GREBE_OK) {
        *may = pq_bloom_probe(block, PQ_BLOOM_BLOCK_BYTES, hash);
    }
    region_drop(owner);
    return st;
}

/* The bytes that were hashed for a value of a fixed width: those of the stored type. */
static bool plain_of(const struct pq_leaf *leaf, const void *value, size_t len,
                     unsigned char plain[PLAIN_BYTES_MAX])
{
    const struct pq_node *n = leaf->node;
    bool is_narrow = n->convert == PQ_CONVERT_NARROW;
    if ((n->convert != PQ_CONVERT_COPY && !is_narrow) || n->width_in > PLAIN_BYTES_MAX ||
        len != (size_t)n->width_out || n->width_out > n->width_in) {
        return false;
    }
    memcpy(plain, value, len);
    if (is_narrow) {
        bool is_unsigned = n->arrow >= ARROW_UINT8 && n->arrow <= ARROW_UINT64;
        bool is_negative = !is_unsigned && (plain[len - 1] & 0x80) != 0;
        memset(plain + len, is_negative ? 0xff : 0, (size_t)n->width_in - len);
    }
    return true;
}

/* The other zero of a floating-point zero: both are equal, their bytes are not. */
static bool other_zero(const struct pq_leaf *leaf, unsigned char plain[PLAIN_BYTES_MAX])
{
    size_t w = (size_t)leaf->node->width_in;
    if (leaf->type != PQ_FLOAT && leaf->type != PQ_DOUBLE) {
        return false;
    }
    for (size_t i = 0; i < w; i++) {
        if ((plain[i] & (i + 1 == w ? 0x7f : 0xff)) != 0) {
            return false;
        }
    }
    plain[w - 1] ^= 0x80;
    return true;
}

grebe_status pq_may_contain(struct format_reader *base, int column, size_t chunk,
                            const void *value, size_t len, bool *may, grebe_error *err)
{
    struct pq_reader *r = (struct pq_reader *)base;
    const struct pq_file *f = r->file;
    struct pq_filter filter;
    unsigned char plain[PLAIN_BYTES_MAX] = { 0 };
    *may = true;
    if (column < 0 || (uint32_t)column >= f->schema.n_columns || chunk >= f->n_chunks) {
        return GREBE_FAIL(err, GREBE_EINVAL, "column %d, chunk %zu: out of range", column, chunk);
    }
    const struct pq_leaf *leaf = pq_leaf_of_column(f, column);
    if (leaf == NULL || leaf->max_rep > 0 || leaf->unreadable != NULL) {
        return GREBE_OK;
    }
    const struct pq_chunk *c = pq_chunk_of(f, chunk, leaf->node->leaf);
    if (c->bloom_filter_offset <= 0 || c->type != leaf->type) {
        return GREBE_OK;
    }
    bool is_bytes = leaf->node->convert == PQ_CONVERT_BYTES ||
                    (leaf->type == PQ_FIXED && leaf->node->convert == PQ_CONVERT_COPY &&
                     leaf->node->arrow == ARROW_FIXED_BINARY);
    bool is_number = leaf->type == PQ_INT32 || leaf->type == PQ_INT64 || leaf->type == PQ_FLOAT ||
                     leaf->type == PQ_DOUBLE;
    if (!is_bytes && !(is_number && plain_of(leaf, value, len, plain))) {
        return GREBE_OK;
    }
    grebe_status st = pq_filter_find(r, c, &filter, err);
    if (st != GREBE_OK || filter.n_bytes == 0) {
        return st;
    }
    if (is_bytes) {
        return probe(r, &filter, pq_bloom_hash(value, len), may, err);
    }
    size_t width = (size_t)leaf->node->width_in;
    st = probe(r, &filter, pq_bloom_hash(plain, width), may, err);
    if (st == GREBE_OK && !*may && other_zero(leaf, plain)) {
        st = probe(r, &filter, pq_bloom_hash(plain, width), may, err);
    }
    return st;
}
