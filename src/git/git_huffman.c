/* SPDX-License-Identifier: Apache-2.0 */
#include "git/git_huffman.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

enum {
    SYMBOL_BITS = 9,
    SYMBOL_MASK = (1 << SYMBOL_BITS) - 1,
    DEPTHS = REPO_HUFFMAN_SYMBOLS,
    RARE = 64 /* counts below are sorted by counting: in small objects nearly all are */
};

/* Shell's sort: keys are a few hundred at most. */
static void sort(uint32_t *keys, size_t n)
{
    static const size_t gaps[] = { 132, 57, 23, 10, 4, 1 };
    for (size_t g = 0; g < sizeof gaps / sizeof *gaps; g++) {
        size_t gap = gaps[g];
        for (size_t i = gap; i < n; i++) {
            uint32_t key = keys[i];
            size_t j = i;
            for (; j >= gap && keys[j - gap] > key; j -= gap) {
                keys[j] = keys[j - gap];
            }
            keys[j] = key;
        }
    }
}

/* Symbols with a count as count << SYMBOL_BITS | symbol, ascending. Symbols without one fill up to two. */
static size_t sorted_keys(const uint32_t *counts, unsigned n, uint32_t *keys)
{
    uint32_t next[RARE + 1] = { 0 }; /* where the next symbol of each count goes */
    uint32_t filler[2] = { n, n };
    size_t used = 0, n_rare = 0;
    for (unsigned i = 0; i < n; i++) {
        assert(counts[i] < 1u << (32 - SYMBOL_BITS));
        used += counts[i] != 0;
        next[counts[i] < RARE ? counts[i] + 1 : 0] += counts[i] != 0;
    }
    for (unsigned i = 0, k = 0; used < 2; i++) { /* counts as if they were there once */
        if (counts[i] == 0) {
            filler[k++] = i;
            next[2]++;
            used++;
        }
    }
    next[0] = 0;
    for (unsigned c = 1; c <= RARE; c++) {
        n_rare += next[c];
        next[c] = (uint32_t)n_rare;
    }
    size_t at = n_rare;
    for (unsigned i = 0; i < n; i++) {
        uint32_t count = i == filler[0] || i == filler[1] ? 1 : counts[i];
        if (count >= RARE) {
            keys[at++] = count << SYMBOL_BITS | i;
        } else if (count > 0) {
            keys[next[count]++] = count << SYMBOL_BITS | i;
        }
    }
    sort(keys + n_rare, at - n_rare);
    return used;
}

/* How many leaves lie at each depth of Huffman's tree. Leaves and the nodes above them both come in ascending order: two queues. */
static void count_depths(const uint32_t *keys, size_t n, uint32_t *at_depth)
{
    assert(n >= 2);
    uint32_t weight[REPO_HUFFMAN_SYMBOLS];
    uint16_t above_leaf[REPO_HUFFMAN_SYMBOLS], above_node[REPO_HUFFMAN_SYMBOLS], depth[REPO_HUFFMAN_SYMBOLS];
    size_t leaf = 0, node = 0;
    for (size_t made = 0; made + 1 < n; made++) {
        weight[made] = 0;
        for (int side = 0; side < 2; side++) {
            if (node == made || (leaf < n && keys[leaf] >> SYMBOL_BITS <= weight[node])) {
                weight[made] += keys[leaf] >> SYMBOL_BITS;
                above_leaf[leaf++] = (uint16_t)made;
            } else {
                weight[made] += weight[node];
                above_node[node++] = (uint16_t)made;
            }
        }
    }
    depth[n - 2] = 0; /* the root */
    for (size_t i = n - 2; i-- > 0;) {
        depth[i] = depth[above_node[i]] + 1;
    }
    memset(at_depth, 0, DEPTHS * sizeof *at_depth);
    for (size_t i = 0; i < n; i++) {
        // cppcheck-suppress uninitvar; each leaf found its place above, as 2 <= n
        at_depth[depth[above_leaf[i]] + 1]++;
    }
}

/* Leaves that lie too deep come up to depth `most`; others go down until all of them find room. */
static void limit_depths(uint32_t *at_depth, unsigned most)
{
    uint32_t room = 0;
    for (unsigned d = most + 1; d < DEPTHS; d++) {
        at_depth[most] += at_depth[d];
        at_depth[d] = 0;
    }
    for (unsigned d = 1; d <= most; d++) {
        room += at_depth[d] << (most - d);
    }
    for (; room > 1u << most; room--) {
        unsigned d = most - 1;
        while (at_depth[d] == 0) {
            d--;
        }
        at_depth[most]--; /* it moves next to the one that goes down */
        at_depth[d]--;
        at_depth[d + 1] += 2;
    }
}

static uint16_t reversed(uint32_t code, unsigned len)
{
    code = (code & 0x5555) << 1 | (code >> 1 & 0x5555);
    code = (code & 0x3333) << 2 | (code >> 2 & 0x3333);
    code = (code & 0x0f0f) << 4 | (code >> 4 & 0x0f0f);
    code = (code & 0x00ff) << 8 | (code >> 8 & 0x00ff);
    return (uint16_t)(code >> (16 - len));
}

void repo_huffman_from(const uint8_t *len, unsigned n, struct repo_huffman *out)
{
    uint32_t at_length[REPO_HUFFMAN_BITS + 1] = { 0 }, next[REPO_HUFFMAN_BITS + 2] = { 0 };
    assert(n <= REPO_HUFFMAN_SYMBOLS);
    out->n = 0;
    memset(out->len, 0, sizeof out->len);
    memcpy(out->len, len, n);
    for (unsigned i = 0; i < n; i++) {
        assert(len[i] <= REPO_HUFFMAN_BITS);
        at_length[len[i]]++;
    }
    at_length[0] = 0;
    for (unsigned d = 1; d <= REPO_HUFFMAN_BITS; d++) {
        next[d + 1] = (next[d] + at_length[d]) << 1;
    }
    for (unsigned i = 0; i < n; i++) {
        if (len[i] != 0) {
            out->bits[i] = reversed(next[len[i]]++, len[i]);
            out->n = i + 1;
        }
    }
}

void repo_huffman_make(const uint32_t *counts, unsigned n, unsigned most, struct repo_huffman *out)
{
    uint32_t keys[REPO_HUFFMAN_SYMBOLS], at_depth[DEPTHS];
    uint8_t len[REPO_HUFFMAN_SYMBOLS] = { 0 };
    assert(n >= 2 && n <= REPO_HUFFMAN_SYMBOLS && most <= REPO_HUFFMAN_BITS && n <= 1u << most);
    size_t used = sorted_keys(counts, n, keys), rank = 0;
    count_depths(keys, used, at_depth);
    limit_depths(at_depth, most);
    for (unsigned d = most; d > 0; d--) { /* the rarest get the longest */
        for (uint32_t i = 0; i < at_depth[d]; i++) {
            len[keys[rank++] & SYMBOL_MASK] = (uint8_t)d;
        }
    }
    repo_huffman_from(len, n, out);
}
