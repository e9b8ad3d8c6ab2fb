/* SPDX-License-Identifier: Apache-2.0 */
#include "dataset/row_set.h"

#include <string.h>

#include "base/hash.h"

void row_set_init(struct row_set *s, const grebe_allocator *a)
{
    *s = (struct row_set){ a, BUF_INIT(a), BUF_INIT(a), NULL, 0, 0 };
}

void row_set_release(struct row_set *s)
{
    mem_free(s->a, s->slots, s->slots != NULL ? (s->mask + 1) * sizeof *s->slots : 0);
    buf_release(&s->keys);
    buf_release(&s->ends);
    s->slots = NULL;
}

static const unsigned char *key_of(const struct row_set *s, size_t i, size_t *len)
{
    const size_t *ends = (const size_t *)(const void *)s->ends.data;
    size_t begin = i > 0 ? ends[i - 1] : 0;
    *len = ends[i] - begin;
    return s->keys.data + begin;
}

static grebe_status grow(struct row_set *s, grebe_error *err)
{
    size_t size = s->slots != NULL ? (s->mask + 1) * 2 : 64;
    size_t *slots = mem_alloc_zero(s->a, size * sizeof *slots);
    if (slots == NULL) {
        return mem_fail(err, size * sizeof *slots, "distinct values");
    }
    for (size_t i = 0; i < s->n; i++) {
        size_t len = 0;
        const unsigned char *key = key_of(s, i, &len);
        size_t at = (size_t)hash_xxh3(key, len) & (size - 1);
        while (slots[at] != 0) {
            at = (at + 1) & (size - 1);
        }
        slots[at] = i + 1;
    }
    mem_free(s->a, s->slots, s->slots != NULL ? (s->mask + 1) * sizeof *s->slots : 0);
    s->slots = slots;
    s->mask = size - 1;
    return GREBE_OK;
}

grebe_status row_set_put(struct row_set *s, const void *key, size_t len, size_t *i, bool *is_new, grebe_error *err)
{
    grebe_status st = s->slots == NULL || s->n * 2 > s->mask ? grow(s, err) : GREBE_OK;
    if (st != GREBE_OK) {
        return st;
    }
    size_t at = (size_t)hash_xxh3(key, len) & s->mask;
    for (; s->slots[at] != 0; at = (at + 1) & s->mask) {
        size_t known_len = 0;
        const unsigned char *known = key_of(s, s->slots[at] - 1, &known_len);
        if (known_len == len && memcmp(known, key, len) == 0) {
            *i = s->slots[at] - 1;
            *is_new = false;
            return GREBE_OK;
        }
    }
    st = buf_put(&s->keys, key, len, err);
    size_t end = s->keys.len;
    st = st == GREBE_OK ? buf_put(&s->ends, &end, sizeof end, err) : st;
    if (st == GREBE_OK) {
        *i = s->n++;
        *is_new = true;
        s->slots[at] = s->n;
    }
    return st;
}
