/* SPDX-License-Identifier: Apache-2.0 */
#include "arrow/arrow_array.h"

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

static int64_t value_bytes(const struct arrow_type *t, const struct ArrowSchema *f,
                           const struct ArrowArray *array, int64_t begin, int64_t n)
{
    const bool is_large = t->kind == ARROW_LARGE_STRING || t->kind == ARROW_LARGE_BINARY ||
                          t->kind == ARROW_LARGE_LIST;
    int64_t first = 0;
    int64_t between = 0;

    switch (t->kind) {
    case ARROW_NULL: return 0;
    case ARROW_BOOL: return (n + 7) / 8;
    case ARROW_STRING:
    case ARROW_BINARY:
    case ARROW_LARGE_STRING:
    case ARROW_LARGE_BINARY:
        between = offsets_between(array, is_large, begin, n, INT64_MAX / 2, &first);
        return between + (n + 1) * (is_large ? 8 : 4);
    case ARROW_STRING_VIEW:
    case ARROW_BINARY_VIEW: {
        int64_t total = 16 * n;

        for (int64_t i = begin; i < begin + n; i++) {
            total += ((const uint32_t *)array->buffers[1])[4 * i];
        }
        return total;
    }
    case ARROW_LIST:
    case ARROW_MAP:
    case ARROW_LARGE_LIST:
        between = offsets_between(array, is_large, begin, n, array->children[0]->length, &first);
        return (n + 1) * (is_large ? 8 : 4) +
               array_bytes(f->children[0], array->children[0], first, between);
    case ARROW_LIST_VIEW:
    case ARROW_LARGE_LIST_VIEW: /* elements may be shared: an even share of them */
        return array->length == 0
                   ? 0
                   : n * 16 + array_bytes(f->children[0], array->children[0], 0,
                                          array->children[0]->length) /
                                  array->length * n;
    case ARROW_FIXED_LIST:
        return array_bytes(f->children[0], array->children[0], begin * t->list_size,
                           n * t->list_size);
    default: return n * t->byte_width;
    }
}

int64_t array_bytes(const struct ArrowSchema *f, const struct ArrowArray *array, int64_t begin,
                    int64_t n)
{
    struct arrow_type t;
    const int64_t at = array->offset + begin;
    int64_t total = 0;

    if (arrow_type_of(f, &t, NULL) != GREBE_OK) {
        return 0; /* the schema was checked; only a size estimate is at stake */
    }
    if (array->n_buffers > 0 && array->buffers[0] != NULL && t.kind != ARROW_NULL) {
        total += (n + 7) / 8;
    }
    if (t.kind != ARROW_STRUCT) {
        return total + value_bytes(&t, f, array, at, n);
    }
    for (int64_t i = 0; i < f->n_children; i++) {
        total += array_bytes(f->children[i], array->children[i], at, n);
    }
    return total;
}
