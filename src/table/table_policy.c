/* SPDX-License-Identifier: Apache-2.0 */
/* The reference's ways to split columns into groups (loon.md 2.3); table_group.c has ours. */
#include "table/txn_internal.h"

#include <inttypes.h>

#include "base/checked.h"
#include "table/name_pattern.h"

grebe_status policy_check(const grebe_write_options *o, grebe_error *err)
{
    bool is_schema = o->policy == GREBE_POLICY_SCHEMA_BASED;
    bool is_size = o->policy == GREBE_POLICY_SIZE_BASED;
    if (o->policy < GREBE_POLICY_DEFAULT || o->policy > GREBE_POLICY_SIZE_BASED) {
        return GREBE_FAIL(err, GREBE_EINVAL, "policy: expected 0 to 3, found %d", o->policy);
    }
    if (!is_schema && (o->n_policy_patterns > 0 || o->n_policy_formats > 0)) {
        return GREBE_FAIL(err, GREBE_EINVAL, "patterns and formats belong to policy schema_based");
    }
    if (o->n_policy_formats > 0 && o->n_policy_formats != o->n_policy_patterns) {
        return GREBE_FAIL(err, GREBE_EINVAL,
                          "policy schema_based: expected a format for each of the %zu patterns, or "
                          "none, found %zu", o->n_policy_patterns, o->n_policy_formats);
    }
    if (!is_size && (o->max_column_bytes != 0 || o->max_columns_in_group != 0)) {
        return GREBE_FAIL(err, GREBE_EINVAL,
                          "max_column_bytes and max_columns_in_group belong to policy size_based");
    }
    if (o->max_column_bytes < 0 || o->max_columns_in_group < 0 || o->file_bytes < 0) {
        return GREBE_FAIL(err, GREBE_EINVAL,
                          "expected sizes that are not negative, found max_column_bytes %" PRId64
                          ", max_columns_in_group %" PRId64 ", file_bytes %" PRId64,
                          o->max_column_bytes, o->max_columns_in_group, o->file_bytes);
    }
    return GREBE_OK;
}

/* The first pattern that the name matches; their number: none. */
static grebe_status pattern_of(struct name_pattern *const *patterns, size_t n, const char *name,
                               size_t *out, grebe_error *err)
{
    for (*out = 0; *out < n; ++*out) {
        bool matches = false;
        grebe_status st = name_pattern_match(patterns[*out], name, &matches, err);
        if (st != GREBE_OK || matches) {
            return st;
        }
    }
    return GREBE_OK;
}

grebe_status policy_schema_based(const grebe_allocator *a, const struct ArrowSchema *schema,
                                 const grebe_write_options *o, int *out, const char **formats,
                                 int *next, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    size_t n = o->n_policy_patterns;
    int *groups = mem_alloc(a, (n + 1) * sizeof *groups); /* by pattern; the last: no pattern */
    struct name_pattern **patterns = mem_alloc_zero(a, (n + 1) * sizeof *patterns);
    size_t *matched = mem_alloc_zero(a, (size_t)schema->n_children * sizeof *matched);
    if (groups == NULL || patterns == NULL || matched == NULL) {
        st = mem_fail(err, (n + 1) * sizeof *patterns, "patterns");
        goto out;
    }
    for (size_t i = 0; i < n; i++) {
        GREBE_TRY(name_pattern_new(o->policy_patterns[i], &patterns[i], err));
    }
    for (size_t i = 0; i <= n; i++) {
        groups[i] = -1;
    }
    for (int64_t i = 0; i < schema->n_children; i++) {
        if (out[i] < 0) {
            GREBE_TRY(pattern_of(patterns, n, schema->children[i]->name, &matched[i], err));
            groups[matched[i]] = 0;
        }
    }
    for (size_t i = 0; i <= n; i++) { /* numbers in the order of the patterns, empty ones vanish */
        groups[i] = groups[i] < 0 ? -1 : (*next)++;
    }
    for (int64_t i = 0; i < schema->n_children; i++) {
        if (out[i] < 0) {
            out[i] = groups[matched[i]];
            formats[i] = matched[i] < o->n_policy_formats ? o->policy_formats[matched[i]] : NULL;
        }
    }
out:
    for (size_t i = 0; patterns != NULL && i < n; i++) {
        name_pattern_free(patterns[i]);
    }
    mem_free(a, groups, (n + 1) * sizeof *groups);
    mem_free(a, patterns, (n + 1) * sizeof *patterns);
    mem_free(a, matched, (size_t)schema->n_children * sizeof *matched);
    return st;
}

grebe_status policy_size_based(const struct ArrowSchema *schema, const struct ArrowArray *first,
                               const grebe_write_options *o, int *out, int *next,
                               grebe_error *err)
{
    int64_t n_in_group = 0;
    int group = -1;
    if (first == NULL || first->release == NULL || first->length == 0) {
        return GREBE_FAIL(err, GREBE_EINVAL,
                          "policy size_based: expected rows to measure, found none");
    }
    for (int64_t i = 0; i < schema->n_children; i++) {
        if (out[i] >= 0) {
            continue;
        }
        int64_t bytes = array_bytes(schema->children[i], first->children[i], 0, first->length);
        bool joins = bytes / first->length < o->max_column_bytes &&
                     n_in_group < o->max_columns_in_group;
        /* The reference emits a group without columns when the first one does not join. */
        if (group < 0 || !joins) {
            group = (*next)++;
            n_in_group = 0;
        }
        out[i] = group;
        n_in_group++;
    }
    return GREBE_OK;
}
