/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_PARQUET_PARQUET_BLOOM_H
#define GREBE_PARQUET_PARQUET_BLOOM_H

/*
 * Split-block Bloom filters: blocks of 32 bytes, one bit set in each of a block's eight words.
 * Source: Parquet BloomFilter.md. Hashes are of a value's plain bytes: fixed widths as they are
 * stored (little-endian), byte arrays without their length. No IO, no Thrift here.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PQ_BLOOM_BLOCK_BYTES = 32, PQ_BLOOM_WRITE_BYTES_MAX = 1 << 20 };

/** XXH64 with seed 0, as the format wants it. */
uint64_t pq_bloom_hash(const void *plain, size_t len);

/** Offset of the block that a hash belongs to: all that a probe looks at. */
size_t pq_bloom_block(size_t n_bytes, uint64_t hash);

/** @param bits Shape [n_bytes], n_bytes a positive multiple of 32. */
void pq_bloom_insert(unsigned char *bits, size_t n_bytes, uint64_t hash);

/** False: no value of that hash was inserted. True: perhaps one was. bits, n_bytes as above. */
bool pq_bloom_probe(const unsigned char *bits, size_t n_bytes, uint64_t hash);

/**
 * Bytes for n_distinct values at the false positive rate wanted, 0 < rate < 1: a power of two from 32
 * to PQ_BLOOM_WRITE_BYTES_MAX.
 */
size_t pq_bloom_size(uint64_t n_distinct, double rate);

#endif
