/* SPDX-License-Identifier: Apache-2.0 */
#include "parquet/parquet_bloom.h"

#include <assert.h>
#include <math.h>

#include "base/endian.h"
#include "base/hash.h"

enum { WORDS = 8 };

/* Parquet BloomFilter.md, "salt" */
static const uint32_t salt[WORDS] = { 0x47b6137bu, 0x44974d91u, 0x8824ad5bu, 0xa2b7289du,
                                      0x705495c7u, 0x2df1424bu, 0x9efc4947u, 0x5c6bfb31u };

size_t pq_bloom_block(size_t n_bytes, uint64_t hash)
{
    assert(n_bytes >= PQ_BLOOM_BLOCK_BYTES && n_bytes % PQ_BLOOM_BLOCK_BYTES == 0);
    uint64_t n_blocks = n_bytes / PQ_BLOOM_BLOCK_BYTES;
    return (size_t)(((hash >> 32) * n_blocks) >> 32) * PQ_BLOOM_BLOCK_BYTES;
}

static uint32_t word_mask(uint64_t hash, size_t word)
{
    return 1u << (((uint32_t)hash * salt[word]) >> 27);
}

uint64_t pq_bloom_hash(const void *plain, size_t len)
{
    return hash_bytes(plain, len, 0);
}

void pq_bloom_insert(unsigned char *bits, size_t n_bytes, uint64_t hash)
{
    unsigned char *block = bits + pq_bloom_block(n_bytes, hash);
    for (size_t i = 0; i < WORDS; i++) {
        store_le32(block + 4 * i, load_le32(block + 4 * i) | word_mask(hash, i));
    }
}

bool pq_bloom_probe(const unsigned char *bits, size_t n_bytes, uint64_t hash)
{
    const unsigned char *block = bits + pq_bloom_block(n_bytes, hash);
    for (size_t i = 0; i < WORDS; i++) {
        if ((load_le32(block + 4 * i) & word_mask(hash, i)) == 0) {
            return false;
        }
    }
    return true;
}

size_t pq_bloom_size(uint64_t n_distinct, double rate)
{
    assert(rate > 0 && rate < 1);
    double n_bits = -8.0 * (double)n_distinct / log(1.0 - pow(rate, 1.0 / 8));
    size_t bytes = PQ_BLOOM_BLOCK_BYTES;
    while (bytes < PQ_BLOOM_WRITE_BYTES_MAX && (double)bytes * 8 < n_bits) {
        bytes *= 2;
    }
    return bytes;
}
