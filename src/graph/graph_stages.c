/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Invariants
 *  1. n_taken and what take() works on belong to whoever has set is_taking.
 *  2. is_made[i] is set after make(arg, i) has come back with GREBE_OK.
 */
#include "graph/graph_stages.h"

#include <stdatomic.h>

struct stages {
    size_t n, n_taken;
    pool_fn make, take;
    void *arg;
    atomic_bool is_taking;
    atomic_bool *is_made; /* shape [n] */
    grebe_status taken;   /* the first failure of take() */
    grebe_error error;
};

static bool is_next_made(const struct stages *s)
{
    return s->n_taken < s->n && atomic_load_explicit(&s->is_made[s->n_taken], memory_order_acquire);
}

/* Takes what is there, unless another thread does; what it misses then is taken after a later piece, at the latest at the end. */
static grebe_status take_made(struct stages *s)
{
    if (atomic_exchange_explicit(&s->is_taking, true, memory_order_acquire)) {
        return GREBE_OK;
    }
    while (s->taken == GREBE_OK && is_next_made(s)) {
        s->taken = s->take(s->arg, s->n_taken, &s->error);
        s->n_taken += s->taken == GREBE_OK;
    }
    grebe_status st = s->taken;
    atomic_store_explicit(&s->is_taking, false, memory_order_release);
    return st;
}

static grebe_status make_piece(void *arg, size_t i, grebe_error *err)
{
    struct stages *s = arg;
    grebe_status st = s->make(s->arg, i, err);
    if (st != GREBE_OK) {
        return st;
    }
    atomic_store_explicit(&s->is_made[i], true, memory_order_release);
    /* its failure stops the others; it is reported at the end */
    return take_made(s);
}

static grebe_status one_by_one(size_t n, pool_fn make, pool_fn take, void *arg, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    for (size_t i = 0; i < n && st == GREBE_OK; i++) {
        st = make(arg, i, err);
        st = st == GREBE_OK ? take(arg, i, err) : st;
    }
    return st;
}

grebe_status graph_stages(const grebe_allocator *a, struct pool *p, uint32_t threads, size_t n, pool_fn make, pool_fn take, void *arg,
                          grebe_error *err)
{
    if (p == NULL || threads <= 1 || n <= 1) {
        return one_by_one(n, make, take, arg, err);
    }
    struct stages s = { .n = n, .make = make, .take = take, .arg = arg, .error = GREBE_ERROR_INIT };
    atomic_init(&s.is_taking, false);
    s.is_made = mem_alloc(a, n * sizeof *s.is_made);
    if (s.is_made == NULL) {
        return mem_fail(err, n * sizeof *s.is_made, "stages of work");
    }
    for (size_t i = 0; i < n; i++) {
        atomic_init(&s.is_made[i], false);
    }
    grebe_status st = parallel_for(p, threads, n, make_piece, &s, NULL, err);
    grebe_status rest = take_made(&s); /* all that was made before the first failure of make() */
    if (rest != GREBE_OK) {
        st = error_copy(err, rest, &s.error); /* a piece that was made: it comes before any that was not */
    }
    mem_free(a, s.is_made, n * sizeof *s.is_made);
    return st;
}
