/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Invariants
 *  1. Batch i is made in slot i % n_slots; slots of batches [next, next + n_started) have started tasks, in this order.
 *  2. The slot of the batch that the caller has is not among them: there is one slot more than are made ahead.
 *  3. A slot whose batch was taken has none until its next is started.
 *  4. Working memory, which grows with the nodes of the graph, is there for each batch that is being made, not for each that waits.
 */
#include "graph/graph_loader.h"

#include "graph/graph_spares.h"

struct slot {
    struct graph_loader *loader;
    struct graph_minibatch *batch; /* NULL: it was taken */
    struct task task;
    int64_t index;
};

struct graph_loader {
    grebe_context *ctx;
    const struct graph_recipe *recipe;
    struct graph_loading loading;
    struct graph_epoch epoch;
    bool is_begun;
    uint64_t number;
    int64_t n_batches, next, n_started;
    struct slot *slots;
    size_t n_slots;
    struct graph_spares spares;    /* minibatches */
    struct graph_spares scratches; /* of batches that are made */
};

static grebe_status make_batch(void *arg, grebe_error *err)
{
    struct slot *s = arg;
    struct graph_loader *l = s->loader;
    /* a batch alone has all threads; of several each has one */
    uint32_t threads = l->n_slots <= 2 ? l->loading.threads : 1;
    s->batch->scratch = graph_spares_take(&l->scratches);
    grebe_status st = graph_minibatch_make(s->batch, &l->epoch, l->number, s->index, threads, err);
    if (s->batch->scratch == NULL || graph_spares_give(&l->scratches, s->batch->scratch)) {
        s->batch->scratch = NULL;
    }
    graph_scratch_free(s->batch->scratch);
    s->batch->scratch = NULL;
    return st;
}

grebe_status graph_loader_new(const struct graph_recipe *recipe, const struct graph_loading *loading, struct graph_loader **out,
                              grebe_error *err)
{
    grebe_context *ctx = recipe->g->ctx;
    struct graph_loader *l = mem_alloc_zero(ctx->a, sizeof *l);
    grebe_status st;
    *out = NULL;
    if (l == NULL) {
        return mem_fail(err, sizeof *l, "a loader");
    }
    l->ctx = ctx;
    l->recipe = recipe;
    l->loading = *loading;
    l->number = 0;
    graph_spares_init(&l->spares, GRAPH_SPARES_MAX);
    graph_spares_init(&l->scratches, loading->threads);
    GREBE_TRY(graph_items_check(recipe->items, err));
    GREBE_TRY(graph_recipe_check(recipe, err));
    /* without an order: how many batches there will be, and whether the share is one */
    GREBE_TRY(graph_epoch_begin(ctx, recipe->items, loading->share, false, 0, &l->epoch, err));
    l->n_batches = l->epoch.n_batches;
    graph_epoch_end(&l->epoch);
    uint32_t ahead = loading->ahead == 0 ? loading->threads - 1 : loading->ahead;
    l->n_slots = (size_t)(ahead == 0 ? 1 : min_size(ahead, 256)) + 1;
    l->slots = mem_alloc_zero(ctx->a, l->n_slots * sizeof *l->slots);
    if (l->slots == NULL) {
        st = mem_fail(err, l->n_slots * sizeof *l->slots, "a loader");
        goto out;
    }
    for (size_t i = 0; i < l->n_slots; i++) {
        l->slots[i].loader = l;
        GREBE_TRY(graph_minibatch_new(recipe, &l->slots[i].batch, err));
    }
    *out = l;
out:
    if (st != GREBE_OK) {
        graph_loader_free(l);
    }
    return st;
}

static void drop_started(struct graph_loader *l)
{
    for (int64_t i = 0; i < l->n_started; i++) {
        task_abandon(&l->slots[(size_t)(l->next + i) % l->n_slots].task);
    }
    l->n_started = 0;
}

void graph_loader_free(struct graph_loader *l)
{
    if (l == NULL) {
        return;
    }
    drop_started(l);
    for (size_t i = 0; l->slots != NULL && i < l->n_slots; i++) {
        graph_minibatch_free(l->slots[i].batch);
    }
    for (void *spare; (spare = graph_spares_take(&l->spares)) != NULL;) {
        graph_minibatch_free(spare);
    }
    for (void *spare; (spare = graph_spares_take(&l->scratches)) != NULL;) {
        graph_scratch_free(spare);
    }
    graph_spares_destroy(&l->spares);
    graph_spares_destroy(&l->scratches);
    mem_free(l->ctx->a, l->slots, l->n_slots * sizeof *l->slots);
    graph_epoch_end(&l->epoch);
    mem_free(l->ctx->a, l, sizeof *l);
}

int64_t graph_loader_count(const struct graph_loader *l) { return l->n_batches; }
uint64_t graph_loader_epoch(const struct graph_loader *l) { return l->number; }

grebe_status graph_loader_begin(struct graph_loader *l, uint64_t epoch, grebe_error *err)
{
    drop_started(l);
    graph_epoch_end(&l->epoch);
    l->is_begun = false;
    l->number = epoch;
    grebe_status st = graph_epoch_begin(l->ctx, l->recipe->items, l->loading.share, l->loading.is_shuffled, l->recipe->seed + epoch,
                                        &l->epoch, err);
    l->is_begun = st == GREBE_OK;
    l->next = 0;
    return st;
}

void graph_loader_take(struct graph_loader *l, const struct graph_minibatch *m)
{
    for (size_t i = 0; i < l->n_slots; i++) {
        if (l->slots[i].batch == m) {
            l->slots[i].batch = NULL;
        }
    }
}

void graph_loader_give(struct graph_loader *l, struct graph_minibatch *m)
{
    if (!graph_spares_give(&l->spares, m)) {
        graph_minibatch_free(m);
    }
}

/* The batch of a slot from which it was taken. */
static grebe_status fill_slot(struct slot *s, grebe_error *err)
{
    struct graph_loader *l = s->loader;
    s->batch = graph_spares_take(&l->spares);
    return s->batch == NULL ? graph_minibatch_new(l->recipe, &s->batch, err) : GREBE_OK;
}

/* Start what may be made ahead of the batch that is asked for. */
static grebe_status start_ahead(struct graph_loader *l, grebe_error *err)
{
    while (l->n_started + 1 < (int64_t)l->n_slots && l->next + l->n_started < l->n_batches) {
        struct slot *s = &l->slots[(size_t)(l->next + l->n_started) % l->n_slots];
        grebe_status st = s->batch == NULL ? fill_slot(s, err) : GREBE_OK;
        if (st != GREBE_OK) {
            return st;
        }
        s->index = l->next + l->n_started;
        s->task = (struct task){ 0 };
        task_start(l->loading.threads > 1 ? l->ctx->pool : NULL, l->loading.threads, &s->task, make_batch, s);
        l->n_started++;
    }
    return GREBE_OK;
}

grebe_status graph_loader_next(struct graph_loader *l, struct graph_minibatch **out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    *out = NULL;
    if (!l->is_begun) {
        GREBE_TRY(graph_loader_begin(l, l->number, err));
    }
    if (l->next == l->n_batches) {
        l->is_begun = false;
        l->number++;
        graph_epoch_end(&l->epoch);
        return GREBE_END;
    }
    GREBE_TRY(start_ahead(l, err));
    struct slot *s = &l->slots[(size_t)l->next % l->n_slots];
    st = task_wait_helping(&s->task, err);
    l->next++;
    l->n_started--;
    if (st == GREBE_OK) {
        /* the batch that was handed out before is given up by now; what cannot be started is started, or fails, when it is asked for */
        (void)!start_ahead(l, NULL);
        st = graph_minibatch_fetch_cached(s->batch, 1, err);
    }
    if (st != GREBE_OK) { /* the next call makes the same batch */
        drop_started(l);
        l->next--;
    }
    *out = st == GREBE_OK ? s->batch : NULL;
out:
    return st;
}
