/* SPDX-License-Identifier: Apache-2.0 */
#include "text/text_wave.h"

#include "base/checked.h"
#include "base/utf8.h"

enum { WAVE_MAX = 64, SAMPLE_BYTES = 16 << 20 };

static uint32_t threads_of(const struct text_wave *w)
{
    return call_options_resolve(w->ctx, NULL).threads;
}

grebe_status text_wave_init(struct text_wave *w, grebe_context *ctx, void *owner,
                            const struct text_input *in, const struct text_sizes *sizes,
                            size_t block_bytes, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    w->ctx = ctx;
    w->size = 1;
    w->block_bytes = sizes->block_bytes != 0 ? sizes->block_bytes : block_bytes;
    w->n_slots = min_size(max_size(threads_of(w), 1), WAVE_MAX);
    w->slots = mem_alloc_zero(ctx->a, w->n_slots * sizeof *w->slots);
    if (w->slots == NULL) {
        return mem_fail(err, w->n_slots * sizeof *w->slots, "blocks");
    }
    for (size_t i = 0; i < w->n_slots; i++) {
        w->slots[i].owner = owner;
        w->slots[i].index = i;
    }
    st = text_reader_init(&w->reader, ctx, in, err);
    if (st == GREBE_OK) {
        st = text_reader_fill(&w->reader,
                              sizes->sample_bytes != 0 ? sizes->sample_bytes : SAMPLE_BYTES, err);
    }
    return st;
}

void text_wave_release(struct text_wave *w, bool is_input_kept)
{
    if (is_input_kept) {
        w->reader.input.free = NULL;
    }
    for (size_t i = 0; w->slots != NULL && i < w->n_slots; i++) {
        array_release(&w->slots[i].rows);
    }
    if (w->ctx != NULL) {
        mem_free(w->ctx->a, w->slots, w->slots != NULL ? w->n_slots * sizeof *w->slots : 0);
    }
    w->slots = NULL;
    text_reader_release(&w->reader);
}

grebe_status text_wave_sample(struct text_wave *w, struct text_reader *view, grebe_error *err)
{
    struct text_reader *r = &w->reader;
    while (!r->is_over && r->end - r->at <= TEXT_RECORD_MAX) { /* beyond: the first wave says so */
        size_t len = w->cut(w->cut_arg, r->data + r->at, r->end - r->at, false);
        if (len > 0) {
            *view = *r;
            view->end = r->at + len;
            view->is_over = true;
            return GREBE_OK;
        }
        grebe_status st = text_reader_fill(r, 2 * (r->end - r->at) + 65536, err);
        if (st != GREBE_OK) {
            return st;
        }
    }
    *view = *r;
    view->is_over = true;
    return GREBE_OK;
}

static grebe_status run_slot(void *arg, size_t i, grebe_error *err)
{
    struct text_wave *w = arg;
    return w->work(&w->slots[i], err);
}

static grebe_status run(struct text_wave *w, struct text_reader *r, size_t max, text_slot_fn fn,
                        bool is_first, size_t *n, grebe_error *err)
{
    struct text_block blocks[WAVE_MAX];
    grebe_status st =
        text_reader_blocks(r, w->block_bytes, w->cut, w->cut_arg, blocks, max, n, err);
    if (st != GREBE_OK || *n == 0) {
        return st;
    }
    for (size_t i = 0; i < *n; i++) {
        w->slots[i].block = blocks[i];
        w->slots[i].is_first = is_first && i == 0;
        w->slots[i].is_closed = false;
        w->slots[i].status = GREBE_OK;
    }
    w->work = fn;
    return parallel_for(w->ctx->pool, threads_of(w), *n, run_slot, w, NULL, err);
}

grebe_status text_wave_run(struct text_wave *w, struct text_reader *view, text_slot_fn fn,
                           size_t *n, grebe_error *err)
{
    bool is_first = view->at == w->reader.at;
    return run(w, view, w->n_slots, fn, is_first, n, err);
}

/* A failure waits in the slot: the rows before it are given out first. */
static grebe_status parse_slot(struct text_slot *slot, grebe_error *err)
{
    (void)err;
    struct text_wave *w = slot->owner; /* the wave is the owner's first member */
    slot->error = (grebe_error)GREBE_ERROR_INIT;
    slot->status = text_check_utf8(w->reader.name, &slot->block, &slot->error);
    if (slot->status == GREBE_OK) {
        slot->status = w->parse(slot, &slot->error);
    }
    return GREBE_OK;
}

grebe_status text_wave_next(struct text_wave *w, struct ArrowArray *out, grebe_error *err)
{
    for (;;) {
        while (w->next < w->n_ready) {
            struct text_slot *slot = &w->slots[w->next];
            if (slot->status != GREBE_OK) {
                if (err != NULL) {
                    *err = slot->error;
                }
                return slot->status;
            }
            w->next++;
            if (slot->rows.length > 0) {
                array_move(out, &slot->rows);
                return GREBE_OK;
            }
            array_release(&slot->rows);
        }
        w->next = w->n_ready = 0;
        size_t n = 0;
        grebe_status st = run(w, &w->reader, w->size, parse_slot, !w->is_begun, &n, err);
        if (st != GREBE_OK || n == 0) {
            return st != GREBE_OK ? st : GREBE_END;
        }
        w->is_begun = true;
        w->n_ready = n;
        w->is_closed = w->slots[n - 1].is_closed;
        w->size = min_size(2 * w->size, w->n_slots); /* who wants ten rows waits for one block */
    }
}

grebe_status text_check_utf8(const char *name, const struct text_block *b, grebe_error *err)
{
    size_t well = utf8_valid_prefix(b->data, b->len);
    if (well == b->len) {
        return GREBE_OK;
    }
    char place[512];
    text_place(place, name, b, well);
    return GREBE_FAIL(err, GREBE_ECORRUPT, "%s: expected UTF-8, found byte 0x%02x", place,
                      (unsigned)(unsigned char)b->data[well]);
}
