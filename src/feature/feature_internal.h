/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_FEATURE_FEATURE_INTERNAL_H
#define GREBE_FEATURE_FEATURE_INTERNAL_H

/* What the files of this room share. */

#include "feature/features.h"

/** A member that a type of feature may have beside those that have fields of their own, and what it is when it is left out. */
struct feature_member {
    const char *name;
    const char *absent; /* as JSON */
};

/** Members of the type in the order in which they are written, "decode" among them, ended by a NULL name; NULL: the type
 *  is not known. */
const struct feature_member *feature_members(const char *type_name);

/** New features with an empty arena and no columns. */
grebe_status features_new(const grebe_allocator *a, struct features **out, grebe_error *err);

/** Reads a node into *out; `name` is that of the field. The tree may go afterwards. */
grebe_status feature_read(struct arena *ar, const struct json_value *v, const char *name, struct feature *out, grebe_error *err);

/** A deep copy under another name. */
grebe_status feature_copy(struct arena *ar, const struct feature *f, const char *name, struct feature *out, grebe_error *err);

/** A field of a struct; NULL: none. */
const struct feature *feature_field(const struct feature *f, const char *name);

/** Storage of a node, without its name. */
grebe_status feature_schema(const grebe_allocator *a, const struct feature *f, const char *name, struct ArrowSchema *out,
                            grebe_error *err);

/** A list by its format, with one child, which gets the name "item" and is moved in on success. */
grebe_status feature_list_schema(const grebe_allocator *a, const char *format, const char *name, struct ArrowSchema *child,
                                 struct ArrowSchema *out, grebe_error *err);

/** "class_label" of "ClassLabel", "array2_d" of "Array2D", and back. Appends to dst. */
grebe_status feature_snake_case(struct buf *dst, const char *name, grebe_error *err);
grebe_status feature_camel_case(struct buf *dst, const char *name, grebe_error *err);

enum { FEATURE_DEPTH_MAX = 48 };

#endif
