/* SPDX-License-Identifier: Apache-2.0 */
#include "base/name_index.h"

#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "base/hash.h"

enum { SLOTS_MIN = 16 };

/* The slot of the name, or the free one where it belongs. At least one slot is free. */
static struct name_slot *slot_of(const struct name_index *x, const char *name)
{
    size_t at = (size_t)hash_bytes(name, strlen(name), 0) & (x->n_slots - 1);
    while (x->slots[at].name != NULL && strcmp(x->slots[at].name, name) != 0) {
        at = (at + 1) & (x->n_slots - 1);
    }
    return &x->slots[at];
}

grebe_status name_index_new(const grebe_allocator *a, size_t n_expected, struct name_index *out,
                            grebe_error *err)
{
    size_t n_slots = SLOTS_MIN;
    while (n_slots / 2 <= n_expected && n_slots < SIZE_MAX / 4 / sizeof *out->slots) {
        n_slots *= 2;
    }
    *out = (struct name_index){ .a = a };
    out->slots = mem_alloc_zero(a, n_slots * sizeof *out->slots);
    if (out->slots == NULL) {
        return mem_fail(err, n_slots * sizeof *out->slots, "an index of names");
    }
    out->n_slots = n_slots;
    return GREBE_OK;
}

void name_index_release(struct name_index *x)
{
    if (x->slots != NULL) {
        mem_free(x->a, x->slots, x->n_slots * sizeof *x->slots);
    }
    *x = (struct name_index){ .a = x->a };
}

static grebe_status grow(struct name_index *x, grebe_error *err)
{
    struct name_index larger;
    grebe_status st = name_index_new(x->a, x->n_slots, &larger, err);
    if (st != GREBE_OK) {
        return st;
    }
    for (size_t i = 0; i < x->n_slots; i++) {
        if (x->slots[i].name != NULL) {
            *slot_of(&larger, x->slots[i].name) = x->slots[i];
        }
    }
    larger.n = x->n;
    name_index_release(x);
    *x = larger;
    return GREBE_OK;
}

grebe_status name_index_add(struct name_index *x, const char *name, size_t value, bool *is_there,
                            grebe_error *err)
{
    if (x->n + 1 > x->n_slots / 2) {
        grebe_status st = grow(x, err);
        if (st != GREBE_OK) {
            return st;
        }
    }
    struct name_slot *slot = slot_of(x, name);
    bool was_there = slot->name != NULL;
    if (!was_there) {
        *slot = (struct name_slot){ name, value };
        x->n++;
    }
    if (is_there != NULL) {
        *is_there = was_there;
    }
    return GREBE_OK;
}

size_t *name_index_find(const struct name_index *x, const char *name)
{
    if (x->n_slots == 0) {
        return NULL;
    }
    struct name_slot *slot = slot_of(x, name);
    return slot->name == NULL ? NULL : &slot->value;
}
