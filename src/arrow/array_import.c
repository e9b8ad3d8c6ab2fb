/* SPDX-License-Identifier: Apache-2.0 */
#include "arrow/arrow_internal.h"

grebe_status array_import_rows(const grebe_allocator *a, const struct ArrowSchema *schema,
                               struct ArrowArray *array, struct ArrowArray *out,
                               grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct arrow_type t;
    struct array_shared *shared = NULL;

    memset(out, 0, sizeof *out);
    GREBE_TRY(arrow_type_of(schema, &t, err));
    if (t.kind != ARROW_STRUCT) {
        return GREBE_FAIL(err, GREBE_ESCHEMA, "rows: expected a struct type, found \"%.32s\"",
                          schema->format);
    }
    GREBE_TRY(array_check(schema, array, false, err));
    if (array_null_count(array) != 0) {
        return GREBE_FAIL(err, GREBE_ESCHEMA, "%lld of %lld rows are null as a whole",
                          (long long)array_null_count(array), (long long)array->length);
    }
    bool is_plain = array->offset == 0;
    for (int64_t i = 0; i < array->n_children; i++) {
        is_plain = is_plain && array->children[i]->length == array->length;
    }
    if (is_plain) {
        array_move(out, array);
        return GREBE_OK;
    }
    int64_t begin = array->offset;
    int64_t length = array->length;
    GREBE_TRY(array_new(a, length, 1, array->n_children, out, err));
    GREBE_TRY(array_share(a, array, &shared, err));
    const struct ArrowArray *whole = array_shared_get(shared);
    for (int64_t i = 0; i < whole->n_children; i++) {
        st = array_view(shared, whole->children[i], begin, length, out->children[i], err);
        if (st != GREBE_OK) {
            break;
        }
    }
    if (st != GREBE_OK) {
        array_release(out);
        array_shared_take_back(shared, array);
        shared = NULL;
    }
out:
    if (st != GREBE_OK) {
        array_release(out);
    }
    array_shared_drop(shared);
    return st;
}
