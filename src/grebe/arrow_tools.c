/* SPDX-License-Identifier: Apache-2.0 */
/* The few Arrow helpers that callers of the C interface need, over room arrow. */
#include <errno.h>
#include <string.h>

#include "arrow/arrow_stream.h"
#include "base/context_internal.h"
#include "grebe/arrow.h"
#include "grebe/print.h"

grebe_status grebe_schema_copy(grebe_context *ctx, const struct ArrowSchema *schema,
                               struct ArrowSchema *out, grebe_error *err)
{
    GREBE_CHECK_ARG(err, ctx != NULL && schema != NULL && out != NULL);
    return schema_copy(ctx->a, schema, out, err);
}

grebe_status grebe_schema_make(grebe_context *ctx, const char *format, const char *name,
                               bool is_nullable, struct ArrowSchema *children, size_t n_children,
                               struct ArrowSchema *out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct ArrowSchema made = { 0 };
    GREBE_CHECK_ARG(err, ctx != NULL && name != NULL && out != NULL);
    GREBE_CHECK_ARG(err, n_children == 0 || children != NULL);
    GREBE_CHECK_ARG(err, format != NULL || n_children == 1);
    memset(out, 0, sizeof *out);
    if (format == NULL) {
        GREBE_TRY(schema_copy(ctx->a, &children[0], &made, err));
        GREBE_TRY(schema_set_name(ctx->a, &made, name, err));
        schema_release(&children[0]);
    } else {
        GREBE_TRY(schema_new(ctx->a, format, name, is_nullable, (int64_t)n_children, &made, err));
        /* Checked before the children move: a failure must leave them with the caller. */
        struct arrow_type type;
        GREBE_TRY(arrow_type_of(&made, &type, err));
        for (size_t i = 0; i < n_children; i++) {
            schema_move(made.children[i], &children[i]);
        }
    }
    schema_move(out, &made);
out:
    schema_release(&made);
    return st;
}

grebe_status grebe_array_view(grebe_context *ctx, struct ArrowArray *array,
                              struct ArrowArray *out, grebe_error *err)
{
    GREBE_CHECK_ARG(err, ctx != NULL && array != NULL && array->release != NULL && out != NULL);
    grebe_status st = GREBE_OK;
    struct array_shared *shared = NULL;
    struct ArrowArray first = { 0 }, second = { 0 };
    int64_t length = array->length;
    memset(out, 0, sizeof *out);
    GREBE_TRY(array_share(ctx->a, array, &shared, err));
    st = array_slice(shared, 0, length, &first, err);
    if (st == GREBE_OK) {
        st = array_slice(shared, 0, length, &second, err);
    }
    if (st != GREBE_OK) {
        array_release(&first);
        array_shared_take_back(shared, array);
        return st;
    }
    array_move(array, &first);
    array_move(out, &second);
    array_shared_drop(shared);
out:
    return st;
}

void grebe_stream_error(struct ArrowArrayStream *stream, int code, grebe_error *err)
{
    const grebe_error *own = stream_last_error(stream);
    if (own != NULL && own->status != GREBE_OK) {
        error_copy(err, own->status, own);
        return;
    }
    const char *text = stream->get_last_error != NULL ? stream->get_last_error(stream) : NULL;
    grebe_status st = status_from_errno(code);
    GREBE_FAIL_SYS(err, st == GREBE_ENOTFOUND || st == GREBE_EEXISTS ? GREBE_EIO : st, code, "%s",
                   text != NULL ? text : "the stream failed");
}
