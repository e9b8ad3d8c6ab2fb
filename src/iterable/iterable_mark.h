/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_ITERABLE_ITERABLE_MARK_H
#define GREBE_ITERABLE_ITERABLE_MARK_H

/*
 * Where readers stand: numbers, and the marks of the readers below. Marks are shared, not copied: one is made before
 * each batch of each reader, and the one of a large buffer is large (docs/format/dataset_state.md).
 */

#include <stdatomic.h>
#include <stdbool.h>

#include "base/buf.h"
#include "base/pcg64.h"
#include "wire/json.h"

/** Immutable. */
struct mark {
    atomic_uint refs;
    const grebe_allocator *a;
    size_t n_words, n_kids;
    struct mark **kids; /* in the same memory */
    int64_t words[];
};
struct mark *mark_keep(const struct mark *m); /* NULL accepted */
void mark_drop(struct mark *m);               /* NULL accepted */

/** Words and kids of a mark that is being made. After a failure every call does nothing. */
struct mark_builder {
    struct buf words, kids;
};
#define MARK_BUILDER_INIT(a)                                                                                           \
    (struct mark_builder)                                                                                              \
    {                                                                                                                  \
        BUF_INIT(a), BUF_INIT(a)                                                                                       \
    }
grebe_status mark_put(struct mark_builder *b, int64_t word, grebe_error *err);
grebe_status mark_put_rng(struct mark_builder *b, const struct pcg64 *g, grebe_error *err);
/** kid is moved in, also on failure. */
grebe_status mark_put_kid(struct mark_builder *b, struct mark *kid, grebe_error *err);
/** The builder is empty afterwards. */
grebe_status mark_finish(struct mark_builder *b, struct mark **out, grebe_error *err);
void mark_builder_release(struct mark_builder *b);

enum { MARK_RNG_WORDS = 6 };
/** Largest number of rows in a mark, so that sums cannot overflow. */
#define MARK_ROWS_MAX (INT64_MAX / 4)
/** GREBE_EINVAL. */
grebe_status mark_get_rng(const struct mark *m, size_t w, struct pcg64 *out, grebe_error *err);
/** GREBE_EINVAL unless the mark has so many (at least: words >= n_words) of both. */
grebe_status mark_expect(const struct mark *m, size_t n_words, size_t n_kids, grebe_error *err);
grebe_status mark_fail(grebe_error *err, const char *what);

/** Appended: numbers, ", " between them: words, kids, the words, the kids alike. */
grebe_status mark_print(const struct mark *m, struct buf *dst, grebe_error *err);
/** The reverse. GREBE_EINVAL. */
grebe_status mark_read(const grebe_allocator *a, const struct json_value *numbers, struct mark **out, grebe_error *err);

#endif
