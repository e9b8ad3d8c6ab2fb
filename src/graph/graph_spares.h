/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GRAPH_GRAPH_SPARES_H
#define GREBE_GRAPH_GRAPH_SPARES_H

/* Memory of batches that callers have given back, for later batches: pages that are there already cost no fault. */

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

enum { GRAPH_SPARES_MAX = 16 };

/** From any thread. What is left in it belongs to whoever frees it. */
struct graph_spares {
    pthread_mutex_t lock;
    void *all[GRAPH_SPARES_MAX];
    size_t n, max;
};

/** @param max Kept at most; GRAPH_SPARES_MAX in any case. */
static inline void graph_spares_init(struct graph_spares *s, size_t max)
{
    pthread_mutex_init(&s->lock, NULL);
    s->n = 0;
    s->max = max < GRAPH_SPARES_MAX ? max : GRAPH_SPARES_MAX;
}

static inline void graph_spares_destroy(struct graph_spares *s) { pthread_mutex_destroy(&s->lock); }

/** @return NULL: there is none. */
static inline void *graph_spares_take(struct graph_spares *s)
{
    pthread_mutex_lock(&s->lock);
    void *found = s->n > 0 ? s->all[--s->n] : NULL;
    pthread_mutex_unlock(&s->lock);
    return found;
}

/** @return Whether it was kept. */
static inline bool graph_spares_give(struct graph_spares *s, void *spare)
{
    pthread_mutex_lock(&s->lock);
    bool is_kept = s->n < s->max;
    if (is_kept) {
        s->all[s->n++] = spare;
    }
    pthread_mutex_unlock(&s->lock);
    return is_kept;
}

#endif
