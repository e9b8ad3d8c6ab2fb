/* SPDX-License-Identifier: Apache-2.0 */
#include "iterable/iterable_pick.h"

#include <string.h>

#include "arrow/arrow_internal.h"
#include "dataset/dataset_part.h"

enum { AHEAD = 16 }; /* rows whose cache lines are asked for before they are read */

/* Where a row lies: slot of the children of its source. */
struct spot {
    int64_t slot;
    int32_t source;
};

/* A column of a source, its own offset counted in. */
struct flat_source {
    const void *values; /* or offsets of texts */
    const void *bytes;
    const uint8_t *validity; /* NULL: no nulls */
    int64_t offset;          /* of bits */
};

struct picking {
    const grebe_allocator *a;
    const struct rows *sources;
    size_t n_sources;
    struct flat_source *flat; /* shape [n_sources]; of the column at hand */
    struct spot *spots;       /* shape [n] */
    int64_t n;
    bool is_too_long;
    grebe_error *err;
};

static void find_spots(struct picking *p, const struct pick *picks, size_t n)
{
    struct spot *at = p->spots;
    for (size_t i = 0; i < n; i++) {
        const struct rows *from = &p->sources[picks[i].source];
        int64_t slot = array_shared_get(from->data)->offset + from->begin + picks[i].begin;
        for (int32_t k = 0; k < picks[i].n; k++) {
            *at++ = (struct spot){ slot + k, picks[i].source };
        }
    }
}

/* False: some source cannot be read so. *has_nulls: some has a bitmap. */
static bool look_at(struct picking *p, int64_t column, enum column_layout layout, int width, bool *has_nulls)
{
    int unit = layout == LAYOUT_BYTES32 ? 4 : layout == LAYOUT_BYTES64 ? 8 : layout == LAYOUT_FIXED ? width : 0;
    *has_nulls = false;
    for (size_t i = 0; i < p->n_sources; i++) {
        const struct ArrowArray *rows = array_shared_get(p->sources[i].data);
        const struct ArrowArray *child = rows->children[column];
        struct flat_source *f = &p->flat[i];
        bool has_bitmap = child->null_count != 0 && child->buffers[0] != NULL;
        if (rows->null_count != 0 || (child->length > 0 && child->buffers[1] == NULL)) {
            return false;
        }
        *f = (struct flat_source){ child->buffers[1], NULL, has_bitmap ? child->buffers[0] : NULL, child->offset };
        if (unit > 0 && f->values != NULL) {
            f->values = (const char *)f->values + child->offset * unit;
        }
        if (layout == LAYOUT_BYTES32 || layout == LAYOUT_BYTES64) {
            f->bytes = child->buffers[2];
        }
        *has_nulls = *has_nulls || has_bitmap;
    }
    return true;
}

#define PICK_FIXED(type)                                                                                               \
    do {                                                                                                               \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            if (i + AHEAD < n) {                                                                                       \
                __builtin_prefetch((const type *)flat[spots[i + AHEAD].source].values + spots[i + AHEAD].slot);        \
            }                                                                                                          \
            memcpy((type *)dst + i, (const type *)flat[spots[i].source].values + spots[i].slot, sizeof(type));         \
        }                                                                                                              \
    } while (0)

static grebe_status pick_fixed(const struct picking *p, int width, struct ArrowArray *out)
{
    const struct flat_source *flat = p->flat;
    const struct spot *spots = p->spots;
    int64_t n = p->n;
    void *dst = NULL;
    grebe_status st = array_alloc_buffer(p->a, out, 1, (size_t)n * (size_t)width, &dst, p->err);
    if (st != GREBE_OK) {
        return st;
    }
    switch (width) {
    case 1: PICK_FIXED(uint8_t); return GREBE_OK;
    case 2: PICK_FIXED(uint16_t); return GREBE_OK;
    case 4: PICK_FIXED(uint32_t); return GREBE_OK;
    case 8: PICK_FIXED(uint64_t); return GREBE_OK;
    default: break;
    }
    for (int64_t i = 0; i < n; i++) {
        memcpy((char *)dst + i * width, (const char *)flat[spots[i].source].values + spots[i].slot * width, (size_t)width);
    }
    return GREBE_OK;
}

static grebe_status pick_bits(const struct picking *p, int buffer, bool are_validity, struct ArrowArray *out)
{
    void *dst = NULL;
    int64_t n_set = 0;
    size_t len = bitmap_bytes(p->n);
    grebe_status st = array_alloc_buffer(p->a, out, buffer, len, &dst, p->err);
    if (st != GREBE_OK) {
        return st;
    }
    memset(dst, 0, len);
    for (int64_t i = 0; i < p->n; i++) {
        const struct flat_source *f = &p->flat[p->spots[i].source];
        const uint8_t *bits = are_validity ? f->validity : f->values;
        if (bits == NULL || bit_get(bits, f->offset + p->spots[i].slot)) {
            bit_set(dst, i);
            n_set++;
        }
    }
    if (are_validity) {
        out->null_count = p->n - n_set;
        if (out->null_count == 0) {
            array_set_buffer(out, 0, NULL, NULL);
        }
    }
    return GREBE_OK;
}

static grebe_status pick_texts(struct picking *p, int width, struct ArrowArray *out)
{
    const struct flat_source *flat = p->flat;
    const struct spot *spots = p->spots;
    int64_t n = p->n, total = 0;
    void *offsets = NULL, *bytes = NULL;
    grebe_status st = array_alloc_buffer(p->a, out, 1, (size_t)(n + 1) * (size_t)width, &offsets, p->err);
    if (st != GREBE_OK) {
        return st;
    }
    store_offset(offsets, width, 0, 0);
    for (int64_t i = 0; i < n; i++) {
        if (i + AHEAD < n) {
            const struct spot *f = &spots[i + AHEAD];
            __builtin_prefetch((const char *)flat[f->source].values + f->slot * width);
        }
        const void *from = flat[spots[i].source].values;
        total += load_offset(from, width, spots[i].slot + 1) - load_offset(from, width, spots[i].slot);
        if (width == 4 && total > INT32_MAX) {
            p->is_too_long = true;
            return GREBE_OK;
        }
        store_offset(offsets, width, i + 1, total);
    }
    st = array_alloc_buffer(p->a, out, 2, (size_t)total, &bytes, p->err);
    for (int64_t i = 0; i < n && st == GREBE_OK; i++) {
        if (i + AHEAD < n) {
            const struct flat_source *f = &flat[spots[i + AHEAD].source];
            const char *far = (const char *)f->bytes + load_offset(f->values, width, spots[i + AHEAD].slot);
            __builtin_prefetch(far);
            __builtin_prefetch(far + 64);
        }
        const struct flat_source *f = &flat[spots[i].source];
        int64_t at = load_offset(offsets, width, i), len = load_offset(offsets, width, i + 1) - at;
        if (len > 0) {
            memcpy((char *)bytes + at, (const char *)f->bytes + load_offset(f->values, width, spots[i].slot), (size_t)len);
        }
    }
    return st;
}

static grebe_status pick_column(struct picking *p, enum column_layout layout, int width, bool has_nulls,
                                struct ArrowArray *out)
{
    bool is_text = layout == LAYOUT_BYTES32 || layout == LAYOUT_BYTES64;
    grebe_status st = array_new(p->a, p->n, is_text ? 3 : 2, 0, out, p->err);
    if (st != GREBE_OK) {
        return st;
    }
    if (is_text) {
        st = pick_texts(p, layout == LAYOUT_BYTES32 ? 4 : 8, out);
    } else {
        st = layout == LAYOUT_BOOL ? pick_bits(p, 1, false, out) : pick_fixed(p, width, out);
    }
    if (st == GREBE_OK && has_nulls && !p->is_too_long) {
        st = pick_bits(p, 0, true, out);
    }
    return st;
}

static grebe_status pick_columns(struct picking *p, const struct ArrowSchema *schema, struct ArrowArray *columns,
                                 bool *is_done)
{
    *is_done = true;
    for (int64_t c = 0; c < schema->n_children; c++) {
        int width = 0;
        bool has_nulls = false;
        enum column_layout layout = column_layout_of(schema->children[c], &width);
        if (layout == LAYOUT_NESTED || !look_at(p, c, layout, width, &has_nulls)) {
            *is_done = false;
            return GREBE_OK;
        }
        grebe_status st = pick_column(p, layout, width, has_nulls, &columns[c]);
        if (st != GREBE_OK || p->is_too_long) {
            *is_done = false;
            return st;
        }
    }
    return GREBE_OK;
}

grebe_status rows_pick_flat(const grebe_allocator *a, const struct rows *sources, size_t n_sources,
                            const struct ArrowSchema *schema, const struct pick *picks, size_t n, struct ArrowArray *out,
                            bool *is_done, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct picking p = { a, sources, n_sources, NULL, NULL, 0, false, err };
    size_t n_columns = (size_t)schema->n_children;
    struct ArrowArray *columns = NULL;
    *is_done = false;
    for (size_t c = 0; c < n_columns; c++) {
        int width = 0;
        if (column_layout_of(schema->children[c], &width) == LAYOUT_NESTED) {
            return GREBE_OK;
        }
    }
    for (size_t i = 0; i < n; i++) {
        p.n += picks[i].n;
    }
    columns = mem_alloc_zero(a, n_columns * sizeof *columns);
    p.flat = mem_alloc(a, n_sources * sizeof *p.flat);
    p.spots = mem_alloc(a, (size_t)p.n * sizeof *p.spots);
    if (columns == NULL || p.flat == NULL || p.spots == NULL) {
        st = mem_fail(err, (size_t)p.n * sizeof *p.spots, "rows");
        goto out;
    }
    find_spots(&p, picks, n);
    GREBE_TRY(pick_columns(&p, schema, columns, is_done));
    if (*is_done) {
        st = array_struct(a, p.n, columns, n_columns, out, err);
    }
out:
    for (size_t c = 0; columns != NULL && (st != GREBE_OK || !*is_done) && c < n_columns; c++) {
        array_release(&columns[c]);
    }
    mem_free(a, columns, n_columns * sizeof *columns);
    mem_free(a, p.flat, n_sources * sizeof *p.flat);
    mem_free(a, p.spots, (size_t)p.n * sizeof *p.spots);
    return st;
}
