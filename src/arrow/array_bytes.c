/* SPDX-License-Identifier: Apache-2.0 */
#include "arrow/arrow_array.h"

/* What rows take in memory. */

/*
 * In bits. As Arrow C++ counts (is_arrow): whole buffers of a batch, which the milvus profile
 * needs; or so that the parts of a batch add up to it, wherever it was cut.
 */
struct measure {
    bool is_arrow;
};

static int64_t node_bits(const struct measure *m, const struct ArrowSchema *f,
                         const struct ArrowArray *array, int64_t begin, int64_t n);

static int64_t bitmap_bits(const struct measure *m, int64_t n)
{
    return m->is_arrow ? (n + 7) / 8 * 8 : n;
}

static int64_t offset_bits(const struct measure *m, int64_t n, bool is_large)
{
    return (n + m->is_arrow) * (is_large ? 64 : 32);
}

/* What offsets span; nothing when they make no sense, which the writing of the values finds. */
static int64_t offsets_between(const struct ArrowArray *array, bool is_large, int64_t begin,
                               int64_t n, int64_t limit, int64_t *first)
{
    const int32_t *o32 = array->buffers[1];
    const int64_t *o64 = array->buffers[1];

    *first = 0;
    if (n == 0 || o32 == NULL) {
        return 0;
    }
    const int64_t from = is_large ? o64[begin] : o32[begin];
    const int64_t to = is_large ? o64[begin + n] : o32[begin + n];
    if (from < 0 || to < from || to > limit) {
        return 0;
    }
    *first = from;
    return to - from;
}

/* Elements that list views name, shared ones as often as they are named. */
static int64_t list_view_bits(const struct measure *m, const struct ArrowSchema *f,
                              const struct ArrowArray *array, bool is_large, int64_t begin,
                              int64_t n)
{
    const struct ArrowArray *child = array->children[0];
    int64_t total = n * (is_large ? 128 : 64);

    for (int64_t i = begin; i < begin + n; i++) {
        const int64_t at = is_large ? ((const int64_t *)array->buffers[1])[i]
                                    : ((const int32_t *)array->buffers[1])[i];
        const int64_t len = is_large ? ((const int64_t *)array->buffers[2])[i]
                                     : ((const int32_t *)array->buffers[2])[i];

        if (at >= 0 && len > 0 && len <= child->length && at <= child->length - len) {
            total += node_bits(m, f->children[0], child, at, len);
        }
    }
    return total;
}

static int64_t value_bits(const struct measure *m, const struct arrow_type *t,
                          const struct ArrowSchema *f, const struct ArrowArray *array,
                          int64_t begin, int64_t n)
{
    const bool is_large = arrow_offset_width(t->kind) == 8;
    int64_t first = 0;
    int64_t between = 0;

    switch (t->kind) {
    case ARROW_NULL: return 0;
    case ARROW_BOOL: return bitmap_bits(m, n);
    case ARROW_STRING:
    case ARROW_BINARY:
    case ARROW_LARGE_STRING:
    case ARROW_LARGE_BINARY:
        between = offsets_between(array, is_large, begin, n, INT64_MAX / 16, &first);
        return between * 8 + offset_bits(m, n, is_large);
    case ARROW_STRING_VIEW:
    case ARROW_BINARY_VIEW: {
        int64_t total = 16 * n;

        for (int64_t i = begin; i < begin + n; i++) {
            total += ((const uint32_t *)array->buffers[1])[4 * i];
        }
        return total * 8;
    }
    case ARROW_LIST:
    case ARROW_MAP:
    case ARROW_LARGE_LIST:
        between = offsets_between(array, is_large, begin, n, array->children[0]->length, &first);
        return offset_bits(m, n, is_large) +
               node_bits(m, f->children[0], array->children[0], first, between);
    case ARROW_LIST_VIEW:
    case ARROW_LARGE_LIST_VIEW: return list_view_bits(m, f, array, is_large, begin, n);
    case ARROW_FIXED_LIST:
        return node_bits(m, f->children[0], array->children[0], begin * t->list_size,
                          n * t->list_size);
    default: return n * t->byte_width * 8;
    }
}

/* Rows [begin, begin + n) of the array, its offset not yet added. */
static int64_t node_bits(const struct measure *m, const struct ArrowSchema *f,
                         const struct ArrowArray *array, int64_t begin, int64_t n)
{
    struct arrow_type t;
    const int64_t at = array->offset + begin;
    int64_t total = 0;

    if (arrow_type_of(f, &t, NULL) != GREBE_OK) {
        return 0; /* the schema was checked; only a size estimate is at stake */
    }
    /* Whether a part of a batch has a bitmap depends on the cut, so parts count without it. */
    if (m->is_arrow && array->n_buffers > 0 && array->buffers[0] != NULL &&
        t.kind != ARROW_NULL) {
        total += bitmap_bits(m, n);
    }
    if (t.kind != ARROW_STRUCT) {
        return total + value_bits(m, &t, f, array, at, n);
    }
    for (int64_t i = 0; i < f->n_children; i++) {
        total += node_bits(m, f->children[i], array->children[i], at, n);
    }
    return total;
}

int64_t array_bits(const struct ArrowSchema *schema, const struct ArrowArray *array,
                   int64_t begin, int64_t n, bool is_arrow)
{
    const struct measure m = { is_arrow };
    return node_bits(&m, schema, array, begin, n);
}

int64_t array_bytes(const struct ArrowSchema *schema, const struct ArrowArray *array,
                    int64_t begin, int64_t n)
{
    return array_bits(schema, array, begin, n, true) / 8;
}
