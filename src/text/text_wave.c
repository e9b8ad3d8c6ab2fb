/* SPDX-License-Identifier: Apache-2.0 */
#include "text/text_wave.h"

#include <string.h>

#include "base/checked.h"
#include "base/utf8.h"

enum { WAVE_MAX = 64, SAMPLE_BYTES = 16 << 20 };

/* Text that is parsed while types are tried; its rows stay in memory, up to twice as much. */
static const size_t TRY_BYTES = (size_t)256 << 20;
/* What types are tried from. */
enum { FIRST_BYTES = 256 << 10 };

/* Its mark, or every second byte zero; else UTF-16 would pass as UTF-8 with NULs. */
static grebe_status refuse_utf16(const struct text_reader *r, grebe_error *err)
{
    enum { LOOKED_AT = 64 };
    const char *data = r->data + r->at;
    size_t n = r->end - r->at, n_zeros[2] = { 0, 0 };
    if (n < 2) {
        return GREBE_OK;
    }
    bool has_mark = memcmp(data, "\xff\xfe", 2) == 0 || memcmp(data, "\xfe\xff", 2) == 0;
    n = min_size(n, LOOKED_AT) & ~(size_t)1;
    for (size_t i = 0; i < n; i++) {
        n_zeros[i & 1] += data[i] == 0;
    }
    bool is_wide = n >= 4 && n_zeros[0] + n_zeros[1] == n / 2 && (n_zeros[0] == 0 || n_zeros[1] == 0);
    if (!has_mark && !is_wide) {
        return GREBE_OK;
    }
    return GREBE_FAIL(err, GREBE_EUNSUPPORTED, "%s: UTF-16 is not read: convert it to UTF-8", r->name);
}

grebe_status text_wave_init(struct text_wave *w, grebe_context *ctx, void *owner,
                            const struct text_input *in, const struct text_sizes *sizes,
                            size_t block_bytes, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    w->ctx = ctx;
    w->call = call_options_resolve(ctx, in->call);
    w->size = 1;
    w->kept = BUF_INIT(ctx->a);
    w->sample_lines = sizes->sample_lines;
    w->block_bytes = sizes->block_bytes != 0 ? sizes->block_bytes : block_bytes;
    w->n_slots = min_size(max_size(w->call.threads, 1), WAVE_MAX);
    w->slots = mem_alloc_zero(ctx->a, w->n_slots * sizeof *w->slots);
    if (w->slots == NULL) {
        return mem_fail(err, w->n_slots * sizeof *w->slots, "blocks");
    }
    for (size_t i = 0; i < w->n_slots; i++) {
        w->slots[i].owner = owner;
        w->slots[i].index = i;
    }
    st = text_reader_init(&w->reader, ctx, in, err);
    size_t ahead = sizes->is_sample_all       ? SIZE_MAX
                   : sizes->sample_bytes != 0 ? sizes->sample_bytes
                   : sizes->sample_lines > 0  ? (size_t)FIRST_BYTES
                                              : (size_t)SAMPLE_BYTES;
    w->sample_bytes = ahead;
    st = st == GREBE_OK ? text_reader_fill(&w->reader, ahead, err) : st;
    return st == GREBE_OK ? refuse_utf16(&w->reader, err) : st;
}

void text_wave_opened(struct text_wave *w) { w->call = call_options_resolve(w->ctx, NULL); }

static void drop_kept(struct text_wave *w)
{
    for (; w->kept_at < w->kept.len; w->kept_at += sizeof(struct ArrowArray)) {
        array_release((struct ArrowArray *)(void *)(w->kept.data + w->kept_at));
    }
    if (w->kept.a != NULL) {
        buf_release(&w->kept);
    }
    w->kept_at = 0;
}

void text_wave_release(struct text_wave *w, bool is_input_kept)
{
    if (is_input_kept) {
        w->reader.input.free = NULL;
    }
    for (size_t i = 0; w->slots != NULL && i < w->n_slots; i++) {
        array_release(&w->slots[i].rows);
    }
    drop_kept(w);
    if (w->ctx != NULL) {
        mem_free(w->ctx->a, w->slots, w->slots != NULL ? w->n_slots * sizeof *w->slots : 0);
    }
    w->slots = NULL;
    text_reader_release(&w->reader);
}

/* Length of the first `lines` lines of what is there; 0: there are not so many. */
static size_t lines_len(const char *data, size_t len, uint64_t lines)
{
    size_t at = 0;
    for (uint64_t i = 0; i < lines; i++) {
        const char *end = memchr(data + at, '\n', len - at);
        if (end == NULL) {
            return 0;
        }
        at = (size_t)(end - data) + 1;
    }
    return at;
}

/* Whole records at the front of what is there: all that may be looked at. 0: not even one is there. */
static size_t sample_len(struct text_wave *w)
{
    const struct text_reader *r = &w->reader;
    size_t len = r->end - r->at;
    if (w->sample_lines == 0) {
        return r->is_over ? len : w->cut(w->cut_arg, r->data + r->at, len, false);
    }
    size_t wanted = lines_len(r->data + r->at, len, w->sample_lines);
    if (wanted == 0) {
        return r->is_over ? len : 0;
    }
    for (; wanted < len; wanted = min_size(2 * wanted, len)) {
        size_t taken = w->cut(w->cut_arg, r->data + r->at, wanted, false);
        if (taken > 0) {
            return taken;
        }
    }
    return r->is_over ? len : w->cut(w->cut_arg, r->data + r->at, len, false);
}

grebe_status text_wave_sample(struct text_wave *w, struct text_reader *view, grebe_error *err)
{
    struct text_reader *r = &w->reader;
    size_t len = sample_len(w);
    while (len == 0 && !r->is_over && r->end - r->at <= TEXT_RECORD_MAX) {
        grebe_status st = text_reader_fill(r, 2 * (r->end - r->at) + 65536, err);
        if (st != GREBE_OK) {
            return st;
        }
        len = sample_len(w);
    }
    *view = *r; /* a record beyond the limit: the first wave says so */
    view->end = len > 0 ? r->at + len : r->end;
    view->is_over = true;
    return GREBE_OK;
}

bool text_wave_first(struct text_wave *w, struct text_reader *view)
{
    struct text_reader *r = &w->reader;
    size_t len = r->end - r->at, first = min_size(FIRST_BYTES, w->block_bytes);
    if (r->input.map == NULL || r->codec != NULL || r->input.is_latin1 || w->sample_lines > 0 || len <= first ||
        len > TRY_BYTES || 2 * (uint64_t)len > w->call.memory_limit_bytes) {
        return false;
    }
    *view = *r;
    first = w->cut(w->cut_arg, r->data + r->at, first, false);
    view->end = r->at + first;
    return first > 0;
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
        w->slots[i].n_ragged = 0;
        w->slots[i].status = GREBE_OK;
    }
    w->work = fn;
    return parallel_for(w->ctx->pool, w->call.threads, *n, run_slot, w, w->call.cancel, err);
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

static uint64_t bytes_of(const struct ArrowArray *array)
{
    uint64_t sum = 0;
    for (int64_t i = 0; i < array->n_buffers; i++) {
        const struct region *r = array_buffer_owner(array, i);
        sum += r != NULL ? r->capacity : 0;
    }
    for (int64_t i = 0; i < array->n_children; i++) {
        sum += bytes_of(array->children[i]);
    }
    return sum;
}

/* The rows of n slots go to those that are kept; *is_well: no block failed, and they are not too many. */
static grebe_status keep_rows(struct text_wave *w, size_t n, uint64_t *n_bytes, bool *is_well,
                              grebe_error *err)
{
    grebe_status st = GREBE_OK;
    for (size_t i = 0; i < n && st == GREBE_OK; i++) {
        struct text_slot *slot = &w->slots[i];
        *is_well &= slot->status == GREBE_OK;
        w->n_ragged += slot->n_ragged;
        if (slot->status == GREBE_ENOMEM) {
            if (err != NULL) {
                *err = slot->error;
            }
            st = GREBE_ENOMEM;
        } else if (slot->rows.length > 0 && *is_well) {
            *n_bytes += bytes_of(&slot->rows);
            st = buf_put(&w->kept, &slot->rows, sizeof slot->rows, err);
            if (st == GREBE_OK) {
                memset(&slot->rows, 0, sizeof slot->rows);
            }
        }
    }
    for (size_t i = 0; i < n; i++) {
        array_release(&w->slots[i].rows);
    }
    *is_well &= *n_bytes <= 2 * TRY_BYTES && *n_bytes <= w->call.memory_limit_bytes / 2;
    return st;
}

grebe_status text_wave_try(struct text_wave *w, bool *is_done, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const struct text_reader start = w->reader; /* of a map: nothing of it moves */
    uint64_t n_bytes = 0;
    size_t n = 1;
    bool is_well = true;
    for (bool is_first = true; n > 0 && is_well && st == GREBE_OK; is_first = false) {
        st = run(w, &w->reader, w->n_slots, parse_slot, is_first, &n, err);
        if (st == GREBE_OK && n > 0) {
            w->is_closed = w->slots[n - 1].is_closed;
            st = keep_rows(w, n, &n_bytes, &is_well, err);
        }
    }
    *is_done = st == GREBE_OK && is_well;
    if (!*is_done) {
        drop_kept(w);
        w->n_ragged = 0;
        w->is_closed = false;
        w->reader = start;
    }
    w->is_begun = *is_done;
    return st == GREBE_ECORRUPT || st == GREBE_ELIMIT ? GREBE_OK : st;
}

grebe_status text_wave_next(struct text_wave *w, struct ArrowArray *out, grebe_error *err)
{
    if (w->kept_at < w->kept.len) {
        array_move(out, (struct ArrowArray *)(void *)(w->kept.data + w->kept_at));
        w->kept_at += sizeof(struct ArrowArray);
        return GREBE_OK;
    }
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
            w->n_ragged += slot->n_ragged;
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

grebe_status text_wave_widen(struct text_slot *slot, const struct ArrowSchema *from,
                             const struct ArrowSchema *to, grebe_error *err)
{
    const struct text_wave *w = slot->owner;
    struct ArrowArray widened = { 0 };
    grebe_status st = array_widen(w->ctx->a, from, to, &slot->rows, &widened, err);
    array_release(&slot->rows);
    if (st != GREBE_OK) {
        return error_wrap(err, st, "%s: rows from line %llu on", w->reader.name,
                          (unsigned long long)slot->block.line);
    }
    array_move(&slot->rows, &widened);
    return GREBE_OK;
}

grebe_status text_check_utf8(const char *name, const struct text_block *b, grebe_error *err)
{
    size_t well = utf8_valid_prefix(b->data, b->len);
    if (well == b->len) {
        return GREBE_OK;
    }
    char place[512];
    text_place(place, name, b, well);
    return GREBE_FAIL(err, GREBE_ECORRUPT,
                      "%s: expected UTF-8, found byte 0x%02x (encoding latin1 reads ISO 8859-1)",
                      place, (unsigned)(unsigned char)b->data[well]);
}
