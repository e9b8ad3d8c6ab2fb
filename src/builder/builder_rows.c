/* SPDX-License-Identifier: Apache-2.0 */
/* Rows as found become rows of the features. */
#include <string.h>

#include "builder/builder_internal.h"

grebe_status builder_emit(const struct builder_base *b, const char *name, struct ArrowSchema *schema,
                          struct ArrowArray *rows, bool is_extra_dropped, int64_t first_row, struct ArrowSchema *out_schema,
                          struct ArrowArray *out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const grebe_allocator *a = b->b.ctx->a;
    const unsigned flags =
        SCHEMA_EQUAL_IGNORE_NULLABLE | SCHEMA_EQUAL_IGNORE_METADATA | SCHEMA_EQUAL_IGNORE_CHILD_NAMES;
    memset(out, 0, sizeof *out);
    memset(out_schema, 0, sizeof *out_schema);
    if (b->b.features == NULL) {
        schema_move(out_schema, schema);
        array_move(out, rows);
        return GREBE_OK;
    }
    GREBE_TRY(schema_copy(a, &b->storage, out_schema, err));
    if (schema_equal(schema, &b->storage, flags)) {
        array_move(out, rows);
        goto out;
    }
    const struct feature_cast_options o = { .is_missing_null = true, .is_extra_dropped = is_extra_dropped,
                                            .first_row = first_row };
    st = features_cast(a, b->b.features, schema, rows, &o, out, err);
    if (st != GREBE_OK) {
        error_wrap(err, st, "%s", name);
    }
out:
    schema_release(schema);
    array_release(rows);
    if (st != GREBE_OK) {
        schema_release(out_schema);
    }
    return st;
}

bool builder_has_nulls(const struct ArrowSchema *schema)
{
    bool has = strcmp(schema->format, "n") == 0;
    for (int64_t i = 0; i < schema->n_children && !has; i++) {
        has = builder_has_nulls(schema->children[i]);
    }
    return has;
}

/* The child of the same name, or, in lists, the same place. */
static const struct ArrowSchema *child_like(const struct ArrowSchema *of, const struct ArrowSchema *child, int64_t i)
{
    if (strcmp(of->format, "+s") != 0) {
        return i < of->n_children ? of->children[i] : NULL;
    }
    int k = schema_child(of, child->name);
    return k >= 0 ? of->children[k] : NULL;
}

grebe_status builder_widen_nulls(const grebe_allocator *a, struct ArrowSchema *schema, const struct ArrowSchema *more,
                                 grebe_error *err)
{
    grebe_status st = GREBE_OK;
    if (strcmp(schema->format, "n") == 0 && strcmp(more->format, "n") != 0) {
        struct ArrowSchema copy = { 0 };
        GREBE_TRY(schema_copy(a, more, &copy, err));
        st = schema_set_name(a, &copy, schema->name != NULL ? schema->name : "", err);
        if (st != GREBE_OK) {
            schema_release(&copy);
            goto out;
        }
        schema_release(schema);
        schema_move(schema, &copy);
        goto out;
    }
    if (strcmp(schema->format, more->format) != 0) {
        goto out;
    }
    for (int64_t i = 0; i < schema->n_children && st == GREBE_OK; i++) {
        const struct ArrowSchema *other = child_like(more, schema->children[i], i);
        st = other != NULL ? builder_widen_nulls(a, schema->children[i], other, err) : GREBE_OK;
    }
out:
    return st;
}
