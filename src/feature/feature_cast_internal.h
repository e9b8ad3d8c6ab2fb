/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_FEATURE_FEATURE_CAST_INTERNAL_H
#define GREBE_FEATURE_FEATURE_CAST_INTERNAL_H

/* Parts of features_cast, by kind of feature. */

#include "feature/feature_internal.h"

/** One cast under way. */
struct caster {
    const grebe_allocator *a;
    struct array_shared *shared; /* what does not change is a view of it; NULL: a copy */
    const struct feature_cast_options *o;
    grebe_error *err;
};

/** Any node to any feature. array: borrowed, of any offset. out: offset 0 unless it is a view. */
grebe_status cast_node(const struct caster *c, const struct feature *f, const struct ArrowSchema *s,
                       const struct ArrowArray *array, struct ArrowArray *out);
/** As cast_node for an array that is moved in, also on failure. */
grebe_status cast_owned(const struct caster *c, const struct feature *f, const struct ArrowSchema *s, struct ArrowArray *array,
                        struct ArrowArray *out);
/** The array as it is: a view or a copy. */
grebe_status cast_same(const struct caster *c, const struct ArrowSchema *s, const struct ArrowArray *array,
                       struct ArrowArray *out);
/** n nulls of the feature's storage. */
grebe_status cast_nulls(const struct caster *c, const struct feature *f, int64_t n, struct ArrowArray *out);
/** A leaf to a type. */
grebe_status cast_value(const struct caster *c, const struct ArrowSchema *to, const struct ArrowSchema *s,
                        const struct ArrowArray *array, struct ArrowArray *out);
/** "cannot cast … to …". */
grebe_status cast_refused(const struct caster *c, const struct feature *f, const struct ArrowSchema *s);
/** Rows that are null: buffer 0 of out, null_count set. */
grebe_status cast_validity(const struct caster *c, const struct ArrowArray *array, struct ArrowArray *out);
/** The rows again, those in `array` that are null gathered as null at every depth. */
grebe_status cast_hide_nulls(const struct caster *c, const struct ArrowSchema *s, const struct ArrowArray *array,
                             const struct ArrowArray *rows, struct ArrowArray *out);

/* feature_cast_text.c */
/** A scalar as text, as pyarrow writes it. to: the text type. */
grebe_status cast_to_text(const struct caster *c, const struct ArrowSchema *to, const struct ArrowSchema *s,
                          const struct ArrowArray *array, struct ArrowArray *out);
/** Text as numbers and truth values. *is_known false: not a type of these. */
grebe_status cast_from_text(const struct caster *c, const struct ArrowSchema *to, const struct ArrowSchema *s,
                            const struct ArrowArray *array, bool *is_known, struct ArrowArray *out);

/* feature_cast_nested.c */
grebe_status cast_list(const struct caster *c, const struct feature *f, const struct ArrowSchema *s,
                       const struct ArrowArray *array, struct ArrowArray *out);
grebe_status cast_struct(const struct caster *c, const struct feature *f, const struct ArrowSchema *s,
                         const struct ArrowArray *array, struct ArrowArray *out);

/* feature_cast_special.c */
grebe_status cast_label(const struct caster *c, const struct feature *f, const struct ArrowSchema *s,
                        const struct ArrowArray *array, struct ArrowArray *out);
grebe_status cast_media(const struct caster *c, const struct feature *f, const struct ArrowSchema *s,
                        const struct ArrowArray *array, struct ArrowArray *out);
grebe_status cast_json(const struct caster *c, const struct feature *f, const struct ArrowSchema *s,
                       const struct ArrowArray *array, struct ArrowArray *out);

#endif
