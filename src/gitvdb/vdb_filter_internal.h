/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GITVDB_VDB_FILTER_INTERNAL_H
#define GREBE_GITVDB_VDB_FILTER_INTERNAL_H

/*
 * A filter in memory. Payloads are canonical text, and there is one way to write a string in it: keys and strings of a
 * filter are kept as they would stand there, and are compared without reading the payload into a tree.
 */

#include "gitvdb/vdb_filter.h"

/** Bytes between the quotes of a canonical string, or any text. */
struct vdb_slice {
    const char *p;
    size_t len;
};

enum vdb_scalar_type { VDB_SCALAR_NULL, VDB_SCALAR_BOOL, VDB_SCALAR_NUMBER, VDB_SCALAR_STRING, VDB_SCALAR_NONE };

/** What values are compared as: all numbers are doubles. */
struct vdb_scalar {
    enum vdb_scalar_type type; /* VDB_SCALAR_NONE: an array or object */
    double number;             /* of a boolean: 0, 1 */
    struct vdb_slice text;     /* canonical, without quotes */
};

enum vdb_condition_kind {
    VDB_HAS_FIELD,
    VDB_FIELD_IN,
    VDB_FIELD_NOT_IN,
    VDB_FIELD_CONTAINS,
    VDB_DOCUMENT_CONTAINS,
    VDB_DOCUMENT_REGEX,
    VDB_FIELD,
    VDB_HAS_ID,
    VDB_NESTED
};

enum vdb_bound { VDB_GT, VDB_GTE, VDB_LT, VDB_LTE, VDB_BOUNDS };

struct vdb_regex;
struct vdb_condition;

/** must, should, must_not. */
enum { VDB_MUST, VDB_SHOULD, VDB_MUST_NOT, VDB_CLAUSES };
struct vdb_group {
    const struct vdb_condition *conditions[VDB_CLAUSES];
    size_t n[VDB_CLAUSES];
};

struct vdb_condition {
    enum vdb_condition_kind kind;
    const struct vdb_slice *path; /* keys from the outside in; shape [n_path] */
    size_t n_path;
    const struct vdb_scalar *values; /* any, none: sorted; contains, match: one. Shape [n_values] */
    size_t n_values;
    bool has_range, has_bound[VDB_BOUNDS];
    double bounds[VDB_BOUNDS];
    struct vdb_slice text;    /* as it is, not escaped */
    struct vdb_regex *regex;  /* owned by the filter */
    const struct vdb_id *ids; /* sorted. Shape [n_ids] */
    size_t n_ids;
    struct vdb_group nested;
};

struct vdb_filter {
    const grebe_allocator *a;
    struct arena ar;
    struct vdb_group root;
    bool needs_payload;
    struct vdb_regex *regexes; /* all of them, linked */
};

/** <0, 0, >0 in any fixed order in which equals are what filters hold for equal. */
int vdb_scalar_compare(const struct vdb_scalar *a, const struct vdb_scalar *b);

/* ---- canonical text (vdb_filter_text.c); NULL: it is none ---- */

/** Behind the value at p. */
const char *vdb_skip_canonical(const char *p, const char *end);
/** Follow keys from the object at p. *out NULL: not there. GREBE_OK; GREBE_ECORRUPT. */
grebe_status vdb_find_path(const char *p, const char *end, const struct vdb_slice *path, size_t n, const char **out,
                           grebe_error *err);
/** The value at p as a scalar. GREBE_OK; GREBE_ECORRUPT. */
grebe_status vdb_scalar_at(const char *p, const char *end, struct vdb_scalar *out, grebe_error *err);
grebe_status vdb_payload_fail(grebe_error *err);

/* ---- regular expressions (vdb_filter_regex.c) ---- */

/** Compile and put in front of *list. GREBE_OK; GREBE_EINVAL; GREBE_EUNSUPPORTED: built without PCRE2; GREBE_ENOMEM. */
grebe_status vdb_regex_new(struct arena *ar, const struct vdb_slice *pattern, struct vdb_regex **list,
                           struct vdb_regex **out, grebe_error *err);
void vdb_regex_free_all(struct vdb_regex *list);

/** What matching needs besides; it lies in the arena, but must be freed. @param out Also set on failure. */
struct vdb_regex_state;
grebe_status vdb_regex_state_new(struct arena *ar, struct vdb_regex_state **out, grebe_error *err);
void vdb_regex_state_free(struct vdb_regex_state *s); /* NULL accepted */
grebe_status vdb_regex_matches(const struct vdb_regex *r, struct vdb_regex_state *s, const struct vdb_slice *text,
                               bool *out, grebe_error *err);

#endif
