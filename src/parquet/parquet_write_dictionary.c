/* SPDX-License-Identifier: Apache-2.0 */
#include "parquet/parquet_write_internal.h"

#include <assert.h>
#include <string.h>

#include "base/endian.h"
#include "base/hash.h"
#include "codec/bitpack.h"
#include "codec/rle_hybrid.h"

/*
 * Dictionary of a chunk: entries in the order of their first appearance, found through an
 * open-addressing table that is at most half full. A slot keeps what decides most comparisons:
 * the value itself for numbers of 4 or 8 bytes, the hash for everything else.
 */

enum { SLOTS_FIRST = 1024 };

struct slot {
    uint64_t key;   /* the number, or the hash of the bytes */
    uint32_t entry; /* plus one; 0: free */
};

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 32) * 0x9e3779b97f4a7c15u;
    return x ^ x >> 29;
}

/* Two overlapping words that hold all bytes of a short value: equal words and lengths, equal
 * values. */
static void words_of(const unsigned char *v, size_t len, uint64_t word[2])
{
    if (len >= 8) {
        word[0] = load_le64(v);
        word[1] = load_le64(v + len - 8);
    } else if (len >= 4) {
        word[0] = load_le32(v);
        word[1] = load_le32(v + len - 4);
    } else {
        word[0] = len > 0 ? (uint64_t)v[0] | (uint64_t)v[len / 2] << 8 : 0;
        word[1] = len > 0 ? v[len - 1] : 0;
    }
}

static uint64_t hash_of(const unsigned char *v, size_t len)
{
    uint64_t word[2];

    if (len > 16) {
        return hash_bytes(v, len, 0);
    }
    words_of(v, len, word);
    return mix(mix(word[0] + len) ^ word[1]);
}

static bool is_same(const unsigned char *x, const unsigned char *y, size_t len)
{
    uint64_t a[2], b[2];

    if (len > 16) {
        return memcmp(x, y, len) == 0;
    }
    words_of(x, len, a);
    words_of(y, len, b);
    return a[0] == b[0] && a[1] == b[1];
}

static int64_t entry_value(const struct pw_dictionary *d, size_t entry)
{
    return ((const int64_t *)(const void *)d->s->entries.data)[entry];
}

static bool is_number(const struct pw_chunk *c)
{
    return c->leaf->store == PW_FIXED && (c->leaf->width == 4 || c->leaf->width == 8);
}

static uint64_t number_at(const struct pw_chunk *c, int64_t i)
{
    return c->leaf->width == 4 ? load_le32(c->values.data + 4 * i)
                               : load_le64(c->values.data + 8 * i);
}

/* The slot that holds an equal value, or the free one where it belongs. */
static struct slot *find_bytes(const struct pw_dictionary *d, const unsigned char *v, size_t len,
                               uint64_t hash)
{
    struct slot *slots = (struct slot *)(void *)d->s->table.data;
    size_t i = hash & (d->n_slots - 1);

    for (; slots[i].entry != 0; i = (i + 1) & (d->n_slots - 1)) {
        if (slots[i].key == hash) {
            size_t entry_len = 0;
            const unsigned char *entry =
                pw_value_at(d->c, entry_value(d, slots[i].entry - 1), &entry_len);

            if (entry_len == len && is_same(entry, v, len)) {
                break;
            }
        }
    }
    return &slots[i];
}

static struct slot *find_number(const struct pw_dictionary *d, uint64_t v)
{
    struct slot *slots = (struct slot *)(void *)d->s->table.data;
    size_t i = mix(v) & (d->n_slots - 1);

    while (slots[i].entry != 0 && slots[i].key != v) {
        i = (i + 1) & (d->n_slots - 1);
    }
    return &slots[i];
}

static struct slot *find_slot(const struct pw_dictionary *d, int64_t value, uint64_t *key,
                              size_t *len)
{
    if (is_number(d->c)) {
        *len = d->c->leaf->width;
        *key = number_at(d->c, value);
        return find_number(d, *key);
    }
    const unsigned char *v = pw_value_at(d->c, value, len);
    *key = hash_of(v, *len);
    return find_bytes(d, v, *len, *key);
}

static grebe_status resize_table(struct pw_dictionary *d, size_t n_slots, grebe_error *err)
{
    grebe_status st = GREBE_OK;

    buf_clear(&d->s->table);
    st = buf_put_zero(&d->s->table, n_slots * sizeof(struct slot), err);
    if (st != GREBE_OK) {
        return st;
    }
    d->n_slots = n_slots;
    for (size_t e = 0; e < pw_dictionary_count(d); e++) {
        uint64_t key = 0;
        size_t len = 0;
        struct slot *slot = find_slot(d, entry_value(d, e), &key, &len);

        *slot = (struct slot){key, (uint32_t)e + 1};
    }
    return GREBE_OK;
}

grebe_status pw_dictionary_begin(struct pw_dictionary *d, const struct pw_chunk *c,
                                 struct pw_scratch *s, grebe_error *err)
{
    *d = (struct pw_dictionary){.s = s, .c = c};
    buf_clear(&s->entries);
    buf_clear(&s->index);
    return resize_table(d, SLOTS_FIRST, err);
}

/* Value n_values is new: it becomes an entry. */
static grebe_status add_entry(struct pw_dictionary *d, struct slot *slot, uint64_t key,
                              size_t len, grebe_error *err)
{
    const size_t n = pw_dictionary_count(d) + 1;
    grebe_status st = buf_put(&d->s->entries, &d->n_values, sizeof d->n_values, err);

    if (st != GREBE_OK) {
        return st;
    }
    *slot = (struct slot){key, (uint32_t)n};
    d->size_bytes += d->c->leaf->store == PW_BYTES ? len + 4 : len;
    return n * 2 > d->n_slots ? resize_table(d, d->n_slots * 2, err) : GREBE_OK;
}

/* Indices of the values from n_values on while they are known, at most up to `end`. */
static void add_known_numbers(struct pw_dictionary *d, int64_t end, uint32_t *index)
{
    const struct slot *slots = (const struct slot *)(const void *)d->s->table.data;
    const size_t mask = d->n_slots - 1;
    const unsigned char *values = d->c->values.data;
    const bool is_narrow = d->c->leaf->width == 4;
    int64_t at = d->n_values;

    for (; at < end; at++) {
        const uint64_t v = is_narrow ? load_le32(values + 4 * at) : load_le64(values + 8 * at);
        size_t i = mix(v) & mask;

        while (slots[i].key != v && slots[i].entry != 0) {
            i = (i + 1) & mask;
        }
        if (slots[i].entry == 0) {
            break;
        }
        *index++ = slots[i].entry - 1;
    }
    d->n_values = at;
}

static void add_known_bytes(struct pw_dictionary *d, int64_t end, uint32_t *index)
{
    const struct slot *slots = (const struct slot *)(const void *)d->s->table.data;
    const size_t mask = d->n_slots - 1;
    int64_t at = d->n_values;

    for (; at < end; at++) {
        size_t len = 0;
        const unsigned char *v = pw_value_at(d->c, at, &len);
        const uint64_t hash = hash_of(v, len);
        size_t i = hash & mask;

        if (slots[i].entry == 0) {
            break;
        }
        if (slots[i].key != hash) {
            i = (size_t)(find_bytes(d, v, len, hash) - slots);
        } else {
            size_t entry_len = 0;
            const unsigned char *entry =
                pw_value_at(d->c, entry_value(d, slots[i].entry - 1), &entry_len);

            if (entry_len != len || !is_same(entry, v, len)) {
                i = (size_t)(find_bytes(d, v, len, hash) - slots);
            }
        }
        if (slots[i].entry == 0) {
            break;
        }
        *index++ = slots[i].entry - 1;
    }
    d->n_values = at;
}

grebe_status pw_dictionary_add(struct pw_dictionary *d, int64_t end, grebe_error *err)
{
    const int64_t first = d->n_values;
    grebe_status st = buf_reserve(&d->s->index, (size_t)(end - first) * 4 + 4, err);
    uint32_t *index = (uint32_t *)(void *)(d->s->index.data + d->s->index.len);

    while (st == GREBE_OK && d->n_values < end) {
        uint64_t key = 0;
        size_t len = 0;

        if (is_number(d->c)) {
            add_known_numbers(d, end, index + (d->n_values - first));
        } else {
            add_known_bytes(d, end, index + (d->n_values - first));
        }
        if (d->n_values < end) {
            struct slot *slot = find_slot(d, d->n_values, &key, &len);

            index[d->n_values - first] = (uint32_t)pw_dictionary_count(d);
            st = add_entry(d, slot, key, len, err);
            d->n_values++;
        }
    }
    d->s->index.len += (size_t)(d->n_values - first) * sizeof *index;
    return st;
}

grebe_status pw_dictionary_put_entries(const struct pw_dictionary *d, struct buf *dst,
                                       grebe_error *err)
{
    grebe_status st = GREBE_OK;

    for (size_t e = 0; e < pw_dictionary_count(d) && st == GREBE_OK; e++) {
        st = pw_put_plain(d->c, entry_value(d, e), 1, dst, err);
    }
    return st;
}

grebe_status pw_dictionary_put_index(const struct pw_dictionary *d, int64_t begin, int64_t n,
                                     bool is_arrow, struct buf *dst, grebe_error *err)
{
    const size_t count = pw_dictionary_count(d);
    const unsigned width = bitpack_width(count > 0 ? count - 1 : 0);
    const uint32_t *index = (const uint32_t *)(const void *)d->s->index.data;
    grebe_status st = buf_put_byte(dst, (uint8_t)width, err);

    assert(begin + n <= d->n_values);
    if (st != GREBE_OK || n == 0) {
        return st;
    }
    return is_arrow ? rle_encode_u32(dst, index + begin, (size_t)n, width, err)
                    : rle_encode_indices(dst, index + begin, (size_t)n, width, err);
}
