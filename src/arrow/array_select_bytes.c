/* SPDX-License-Identifier: Apache-2.0 */
#include "arrow/array_select.h"

#include <assert.h>

#include "base/checked.h"

static inline int64_t offset_in(const struct ArrowArray *src, int width, int64_t row)
{
    return load_offset(src->buffers[1], width, src->offset + row);
}

/* First pass: the offsets, and from them the bytes. */
static grebe_status put_offsets(const struct select *s, int width, void *offsets, int64_t *total)
{
    int64_t limit = width == 4 ? INT32_MAX : INT64_MAX;
    int64_t end = 0;
    int64_t at = 0;
    store_offset(offsets, width, at++, 0);
    for (size_t k = 0; k < s->n_sels; k++) {
        const struct selection *sel = &s->sels[k];
        for (size_t i = 0; i < sel->n; i++) {
            struct row_range r = selection_range(sel, i);
            if (r.begin < 0) {
                for (int64_t row = 0; row < r.len; row++) {
                    store_offset(offsets, width, at++, end);
                }
                continue;
            }
            if (r.len == 0) {
                continue;
            }
            int64_t first = offset_in(sel->src, width, r.begin);
            int64_t n_bytes = offset_in(sel->src, width, r.begin + r.len) - first;
            if (n_bytes > limit - end) {
                return GREBE_FAIL(s->err, GREBE_ELIMIT,
                                  "%lld bytes in one array of 32-bit offsets: at most 2147483647 "
                                  "fit (large_string and large_binary hold more)",
                                  (long long)(end + n_bytes));
            }
            int64_t shift = end - first;
            for (int64_t row = 1; row <= r.len; row++) {
                store_offset(offsets, width, at++,
                             offset_in(sel->src, width, r.begin + row) + shift);
            }
            end += n_bytes;
        }
    }
    assert(at == s->n_rows + 1);
    *total = end;
    return GREBE_OK;
}

grebe_status select_bytes(const struct select *s, const struct arrow_type *t,
                          struct ArrowArray *out)
{
    grebe_status st = GREBE_OK;
    int width = arrow_offset_width(t->kind);
    size_t len = 0;
    void *p = NULL;
    int64_t total = 0;

    if (!checked_mul_size((size_t)s->n_rows + 1, (size_t)width, &len)) {
        return GREBE_FAIL(s->err, GREBE_ELIMIT, "%lld offsets do not fit in memory",
                          (long long)s->n_rows);
    }
    GREBE_TRY(array_alloc_buffer(s->a, out, 1, len, &p, s->err));
    GREBE_TRY(put_offsets(s, width, p, &total));
    GREBE_TRY(array_alloc_buffer(s->a, out, 2, (size_t)total, &p, s->err));
    char *dst = p;
    for (size_t k = 0; k < s->n_sels; k++) {
        const struct selection *sel = &s->sels[k];
        const char *src = sel->src->buffers[2];
        for (size_t i = 0; i < sel->n; i++) {
            struct row_range r = selection_range(sel, i);
            if (r.begin < 0 || r.len == 0) {
                continue;
            }
            int64_t first = offset_in(sel->src, width, r.begin);
            size_t n_bytes = (size_t)(offset_in(sel->src, width, r.begin + r.len) - first);
            if (n_bytes > 0) {
                memcpy(dst, src + first, n_bytes);
                dst += n_bytes;
            }
        }
    }
out:
    return st;
}

/* ---- views: long values move into buffers of our own, at most VIEW_BUFFER_MAX bytes each ---- */

static const int64_t VIEW_BUFFER_MAX = INT64_C(1) << 30;

/* Where the next long value goes. */
struct view_place {
    int64_t n_buffers; /* begun so far */
    int64_t used;      /* bytes of the last one */
};

/* Reserve len bytes; the value goes to buffer n_buffers - 1 at used - len. */
static void view_reserve(struct view_place *place, int64_t len)
{
    if (place->n_buffers == 0 || place->used > VIEW_BUFFER_MAX - len) {
        if (place->n_buffers == 0 || place->used > 0) {
            place->n_buffers++;
        }
        place->used = 0;
    }
    place->used += len;
}

static bool load_view(const struct selection *sel, const struct row_range *r, int64_t row,
                      struct arrow_view *v)
{
    if (r->begin < 0) {
        return false;
    }
    const struct ArrowArray *src = sel->src;
    int64_t at = src->offset + r->begin + row;
    const uint8_t *bits = src->null_count != 0 ? src->buffers[0] : NULL;
    if (bits != NULL && !bit_get(bits, at)) {
        return false; /* a null's view may hold anything */
    }
    memcpy(v, (const char *)src->buffers[1] + at * (int64_t)sizeof *v, sizeof *v);
    return true;
}

/* One walk over all rows: with out NULL only places are counted and sizes noted. */
static void walk_views(const struct select *s, struct ArrowArray *out, struct view_place *place,
                       int64_t *sizes)
{
    char *dst = out != NULL ? (char *)(uintptr_t)out->buffers[1] : NULL;
    for (size_t k = 0; k < s->n_sels; k++) {
        const struct selection *sel = &s->sels[k];
        for (size_t i = 0; i < sel->n; i++) {
            struct row_range r = selection_range(sel, i);
            for (int64_t row = 0; row < r.len; row++) {
                struct arrow_view v = { 0, 0, 0, 0 };
                bool is_long = load_view(sel, &r, row, &v) && v.len > ARROW_VIEW_INLINE_MAX;
                if (is_long) {
                    view_reserve(place, v.len);
                    int64_t at = place->used - v.len;
                    if (out != NULL) {
                        char *to = (char *)(uintptr_t)out->buffers[1 + place->n_buffers] + at;
                        const char *from = sel->src->buffers[2 + v.buffer_index];
                        memcpy(to, from + v.offset, (size_t)v.len);
                    }
                    v.buffer_index = (int32_t)(place->n_buffers - 1);
                    v.offset = (int32_t)at;
                    if (sizes != NULL) {
                        sizes[place->n_buffers - 1] = place->used;
                    }
                }
                if (dst != NULL) {
                    memcpy(dst, &v, sizeof v);
                    dst += sizeof v;
                }
            }
        }
    }
}

grebe_status select_views(const struct select *s, const struct arrow_type *t,
                          struct ArrowArray *out)
{
    grebe_status st = GREBE_OK;
    struct view_place place = { 0, 0 };
    size_t len = 0;
    void *p = NULL;

    (void)t;
    walk_views(s, NULL, &place, NULL);
    GREBE_TRY(array_new(s->a, s->n_rows, 3 + place.n_buffers, 0, out, s->err));
    GREBE_TRY(select_validity(s, out));
    if (!checked_mul_size((size_t)s->n_rows, sizeof(struct arrow_view), &len)) {
        return GREBE_FAIL(s->err, GREBE_ELIMIT, "%lld views do not fit in memory",
                          (long long)s->n_rows);
    }
    int64_t *sizes = NULL;
    GREBE_TRY(array_alloc_buffer(s->a, out, 2 + place.n_buffers, (size_t)place.n_buffers * 8, &p,
                                 s->err));
    sizes = p;
    place = (struct view_place){ 0, 0 };
    walk_views(s, NULL, &place, sizes);
    for (int64_t i = 0; i < place.n_buffers; i++) {
        GREBE_TRY(array_alloc_buffer(s->a, out, 2 + i, (size_t)sizes[i], &p, s->err));
    }
    GREBE_TRY(array_alloc_buffer(s->a, out, 1, len, &p, s->err));
    place = (struct view_place){ 0, 0 };
    walk_views(s, out, &place, NULL);
out:
    return st;
}
