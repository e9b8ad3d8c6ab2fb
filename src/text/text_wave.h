/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_TEXT_TEXT_WAVE_H
#define GREBE_TEXT_TEXT_WAVE_H

/*
 * Blocks of text parsed side by side, rows given out in order. Invariants:
 * 1. reader.at stands at a record border between calls; blocks point into the reader and are
 *    done with before it is touched again.
 * 2. A block that failed gives its error after the rows before it, and at every later call.
 * 3. Rows that were parsed while types were tried come first; there are none, or all that the input has.
 */

#include "text/text_input.h"

struct text_wave;

/** One block, and what became of it. */
struct text_slot {
    void *owner;           /* of the wave: the format's stream */
    size_t index;          /* of the slot */
    struct text_block block;
    bool is_first;         /* block of the input */
    bool is_closed;        /* for the format */
    struct ArrowArray rows;
    size_t n_ragged;       /* rows that were filled, cut or left out */
    grebe_status status;
    grebe_error error;
};

/** Called on any thread, for one slot at a time. */
typedef grebe_status (*text_slot_fn)(struct text_slot *slot, grebe_error *err);

struct text_wave {
    grebe_context *ctx;
    struct call call; /* while the stream is opened: its token and threads */
    struct text_reader reader;
    size_t block_bytes;
    text_cut_fn cut;
    void *cut_arg;
    text_slot_fn parse;     /* fills slot->rows */
    struct text_slot *slots; /* shape [n_slots] */
    size_t n_slots;
    size_t size;            /* blocks of the next wave */
    size_t next, n_ready;   /* slots not yet given out */
    bool is_begun;
    bool is_closed;         /* of the last block that was parsed */
    struct buf kept;        /* struct ArrowArray, parsed by text_wave_try */
    size_t kept_at;         /* bytes of it that were given out */
    uint64_t sample_lines;
    size_t sample_bytes;    /* read ahead */
    size_t n_ragged;        /* of all rows given out */
    text_slot_fn work;      /* of the wave that runs */
};

/**
 * Opens the input and reads ahead sample_bytes of it. Set cut, cut_arg and parse before the
 * first call of another function.
 *
 * @param in Taken over by success; on failure text_wave_release leaves it to the caller.
 */
grebe_status text_wave_init(struct text_wave *w, grebe_context *ctx, void *owner,
                            const struct text_input *in, const struct text_sizes *sizes,
                            size_t block_bytes, grebe_error *err);
/** The stream is open: the token and the threads of the call are its past. */
void text_wave_opened(struct text_wave *w);
/** @param is_input_kept The caller of the open call keeps the input: it failed. */
void text_wave_release(struct text_wave *w, bool is_input_kept);

/** Types from the first records may do for all of a map that is not large: the view has them; false: it is not worth it. */
bool text_wave_first(struct text_wave *w, struct text_reader *view);
/**
 * Parse everything with the types there are. *is_done: all is well, and the rows will be given out. Else nothing has
 * happened.
 */
grebe_status text_wave_try(struct text_wave *w, bool *is_done, grebe_error *err);

/** What inference may look at: all of a map, else the whole records read ahead. A plain view: not released. */
grebe_status text_wave_sample(struct text_wave *w, struct text_reader *view, grebe_error *err);

/** Run fn on the next blocks of the view; *n of them, 0 at the end. The first failure is given. */
grebe_status text_wave_run(struct text_wave *w, struct text_reader *view, text_slot_fn fn,
                           size_t *n, grebe_error *err);

/** Next batch with rows; GREBE_END. */
grebe_status text_wave_next(struct text_wave *w, struct ArrowArray *out, grebe_error *err);

/** The rows of a slot become those of another type (array_widen). */
grebe_status text_wave_widen(struct text_slot *slot, const struct ArrowSchema *from,
                             const struct ArrowSchema *to, grebe_error *err);

/** GREBE_ECORRUPT with the place of the first byte that is no UTF-8. */
grebe_status text_check_utf8(const char *name, const struct text_block *b, grebe_error *err);

#endif
