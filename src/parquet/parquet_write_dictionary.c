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
 * open-addressing table of entry numbers (plus one; 0 is free) that is at most half full.
 */

enum { SLOTS_FIRST = 1024 };

static const unsigned char *value_at(const struct pw_chunk *c, int64_t i, size_t *len)
{
    if (c->leaf->store == PW_BYTES) {
        return pw_bytes_at(c, i, len);
    }
    assert(c->leaf->store == PW_FIXED);
    *len = c->leaf->width;
    return c->values.data + (size_t)i * c->leaf->width;
}

static uint64_t hash_value(const unsigned char *v, size_t len)
{
    if (len == 4 || len == 8) { /* numbers: a multiplication mixes well enough */
        const uint64_t x = len == 4 ? load_le32(v) : load_le64(v);
        const uint64_t m = (x ^ x >> 32) * 0x9e3779b97f4a7c15u;

        return m ^ m >> 29;
    }
    return hash_bytes(v, len, 0);
}

static int64_t entry_value(const struct pw_dictionary *d, size_t entry)
{
    return ((const int64_t *)(const void *)d->s->entries.data)[entry];
}

/* The slot that holds an equal value, or the free one where it belongs. */
static uint32_t *find_slot(const struct pw_dictionary *d, const unsigned char *v, size_t len)
{
    uint32_t *slots = (uint32_t *)(void *)d->s->table.data;
    size_t i = hash_value(v, len) & (d->n_slots - 1);

    while (slots[i] != 0) {
        size_t entry_len = 0;
        const unsigned char *entry = value_at(d->c, entry_value(d, slots[i] - 1), &entry_len);

        if (entry_len == len && (len == 0 || memcmp(entry, v, len) == 0)) {
            break;
        }
        i = (i + 1) & (d->n_slots - 1);
    }
    return &slots[i];
}

static grebe_status resize_table(struct pw_dictionary *d, size_t n_slots, grebe_error *err)
{
    grebe_status st = GREBE_OK;

    buf_clear(&d->s->table);
    st = buf_put_zero(&d->s->table, n_slots * sizeof(uint32_t), err);
    if (st != GREBE_OK) {
        return st;
    }
    d->n_slots = n_slots;
    for (size_t e = 0; e < pw_dictionary_count(d); e++) {
        size_t len = 0;
        const unsigned char *v = value_at(d->c, entry_value(d, e), &len);

        *find_slot(d, v, len) = (uint32_t)e + 1;
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

grebe_status pw_dictionary_add(struct pw_dictionary *d, int64_t end, grebe_error *err)
{
    grebe_status st = buf_reserve(&d->s->index, (size_t)(end - d->n_values) * 4 + 4, err);

    for (; d->n_values < end && st == GREBE_OK; d->n_values++) {
        size_t len = 0;
        const unsigned char *v = value_at(d->c, d->n_values, &len);
        uint32_t *slot = find_slot(d, v, len);
        uint32_t entry = *slot;

        if (entry == 0) {
            entry = (uint32_t)pw_dictionary_count(d) + 1;
            st = buf_put(&d->s->entries, &d->n_values, sizeof d->n_values, err);
            if (st != GREBE_OK) {
                break;
            }
            *slot = entry;
            d->size_bytes += d->c->leaf->store == PW_BYTES ? len + 4 : len;
            if (entry * 2 > d->n_slots) {
                st = resize_table(d, d->n_slots * 2, err);
            }
        }
        entry--;
        memcpy(d->s->index.data + d->s->index.len, &entry, sizeof entry);
        d->s->index.len += sizeof entry;
    }
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
                                     struct buf *dst, grebe_error *err)
{
    const size_t count = pw_dictionary_count(d);
    const unsigned width = bitpack_width(count > 0 ? count - 1 : 0);
    const uint32_t *index = (const uint32_t *)(const void *)d->s->index.data;
    grebe_status st = buf_put_byte(dst, (uint8_t)width, err);

    assert(begin + n <= d->n_values);
    return st == GREBE_OK && n > 0 ? rle_encode_u32(dst, index + begin, (size_t)n, width, err)
                                   : st;
}
