/* SPDX-License-Identifier: Apache-2.0 */
#include "table/txn_internal.h"

#include <inttypes.h>

#include "base/checked.h"

/* Fixed-size binary from this width on is a vector (Milvus keeps vectors so), not a code. */
enum { VECTOR_BYTES_MIN = 64 };
/* Binary and text columns whose values are this long on average are large (images, documents). */
enum { LARGE_BYTES_MIN = 2048 };

static bool is_float(enum arrow_kind kind)
{
    return kind == ARROW_FLOAT16 || kind == ARROW_FLOAT32 || kind == ARROW_FLOAT64;
}

/* Bytes of the values of a variable-size column; 0: none, or views, which are not looked at. */
static int64_t value_bytes(const struct arrow_type *type, const struct ArrowArray *values)
{
    if (values->length == 0 || values->buffers[1] == NULL) {
        return 0;
    }
    if (type->kind == ARROW_STRING || type->kind == ARROW_BINARY) {
        const int32_t *offsets = (const int32_t *)values->buffers[1] + values->offset;
        return offsets[values->length] - offsets[0];
    }
    const int64_t *offsets = (const int64_t *)values->buffers[1] + values->offset;
    return offsets[values->length] - offsets[0];
}

/* Whether a column wants files of its own. */
static grebe_status is_apart(const struct ArrowSchema *field, const struct ArrowArray *values,
                             bool *out, grebe_error *err)
{
    struct arrow_type type;
    struct arrow_type item;
    *out = false;
    grebe_status st = arrow_type_of(field, &type, err);
    if (st != GREBE_OK || type.is_dictionary) {
        return st;
    }
    switch (type.kind) {
    case ARROW_FIXED_LIST:
    case ARROW_LIST:
    case ARROW_LARGE_LIST:
        st = arrow_type_of(field->children[0], &item, err);
        *out = st == GREBE_OK && (is_float(item.kind) || (type.kind == ARROW_FIXED_LIST &&
                                                          item.kind <= ARROW_FLOAT64));
        return st;
    case ARROW_FIXED_BINARY: *out = type.byte_width >= VECTOR_BYTES_MIN; return GREBE_OK;
    case ARROW_BINARY:
    case ARROW_LARGE_BINARY:
    case ARROW_STRING:
    case ARROW_LARGE_STRING:
        *out = values != NULL && values->length > 0 &&
               value_bytes(&type, values) / values->length >= LARGE_BYTES_MIN;
        return GREBE_OK;
    default: return GREBE_OK;
    }
}

/* Groups that the caller named come first, in the order named. */
static grebe_status named_groups(const grebe_allocator *a, const struct ArrowSchema *schema,
                                 const grebe_write_options *options, int *out, grebe_error *err)
{
    struct name_index index;
    grebe_status st = schema_index(a, schema, &index, err);
    for (size_t g = 0; g < options->n_groups && st == GREBE_OK; g++) {
        const grebe_group_spec *spec = &options->groups[g];
        if (spec->n_columns == 0) {
            st = GREBE_FAIL(err, GREBE_EINVAL, "group %zu names no column", g);
        }
        for (size_t c = 0; c < spec->n_columns && st == GREBE_OK; c++) {
            int column = 0;
            st = schema_find_indexed(schema, &index, spec->columns[c], &column, err);
            if (st != GREBE_OK) {
                error_wrap(err, st, "group %zu", g);
            } else if (out[column] >= 0) {
                st = GREBE_FAIL(err, GREBE_EINVAL, "column \"%s\" is in groups %d and %zu",
                                spec->columns[c], out[column], g);
            } else {
                out[column] = (int)g;
            }
        }
    }
    name_index_release(&index);
    return st;
}

/* Ours: columns of their own, and one group for the rest. */
static grebe_status group_by_kind(const struct ArrowSchema *schema, const struct ArrowArray *first,
                                  bool is_single, int *out, int *next, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    int shared = -1; /* the group of everything that is not apart */
    for (int64_t i = 0; i < schema->n_children && st == GREBE_OK; i++) {
        bool apart = false;
        if (out[i] >= 0) {
            continue;
        }
        if (!is_single) {
            st = is_apart(schema->children[i],
                          first == NULL || first->release == NULL ? NULL : first->children[i],
                          &apart, err);
        }
        if (!apart && shared < 0) {
            shared = (*next)++;
        }
        out[i] = apart ? (*next)++ : shared;
    }
    return st;
}

grebe_status group_columns(const grebe_allocator *a, const struct ArrowSchema *schema,
                           const struct ArrowArray *first, const grebe_write_options *options,
                           int *out, const char **formats, size_t *n_groups, grebe_error *err)
{
    int next = (int)min_size(options->n_groups, INT32_MAX / 2);
    bool is_single = options->is_single_group || options->profile == GREBE_PROFILE_MILVUS ||
                     options->policy == GREBE_POLICY_SINGLE;
    for (int64_t i = 0; i < schema->n_children; i++) {
        out[i] = -1;
        formats[i] = NULL;
    }
    grebe_status st = policy_check(options, err);
    if (st == GREBE_OK) {
        st = named_groups(a, schema, options, out, err);
    }
    if (st == GREBE_OK && options->policy == GREBE_POLICY_SCHEMA_BASED) {
        st = policy_schema_based(a, schema, options, out, formats, &next, err);
    } else if (st == GREBE_OK && options->policy == GREBE_POLICY_SIZE_BASED) {
        st = policy_size_based(schema, first, options, out, &next, err);
    } else if (st == GREBE_OK) {
        st = group_by_kind(schema, first, is_single, out, &next, err);
    }
    *n_groups = (size_t)next;
    return st;
}
