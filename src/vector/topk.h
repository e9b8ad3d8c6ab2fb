/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_VECTOR_TOPK_H
#define GREBE_VECTOR_TOPK_H

/*
 * The k nearest of a stream of (distance, id): ascending distance, equal distances by lower id; NaN is farther than
 * everything, +inf included. The result does not depend on the order of the stream.
 */

#include <stddef.h>
#include <stdint.h>

struct topk_item {
    float distance;
    uint32_t id;
};

/** Memory is the caller's: `items` has room for `capacity` >= k items (more room: fewer selections). */
struct topk {
    struct topk_item *items;
    size_t n, k, capacity;
    float limit; /* nothing beyond it can enter; +inf until k are there. Equal distances can. */
};

/** Room that is worth having for a k: about 2k + 64. */
size_t topk_capacity(size_t k);
void topk_init(struct topk *t, size_t k, struct topk_item *items, size_t capacity);
/** Items with distance > limit are dropped; others are kept until a selection. */
void topk_push(struct topk *t, float distance, uint32_t id);
/** ids first + i for i in [0, n). The fast form: whole vectors of distances against the limit. */
void topk_push_many(struct topk *t, const float *distances, size_t n, uint32_t first);
/** The k nearest of what is there, in any order unless k is small. @return How many: at most k. */
size_t topk_select(struct topk *t);
/** Sort what is there, nearest first. @return How many: at most k. */
size_t topk_finish(struct topk *t);

#endif
