/* SPDX-License-Identifier: Apache-2.0 */
#include "base/context_internal.h"
#include "grebe/formats.h"
#include "source/source.h"

grebe_status grebe_context_new(const grebe_context_options *options, grebe_context **out,
                               grebe_error *err)
{
    GREBE_CHECK_ARG(err, out != NULL);
    grebe_status st = context_new(options, out, err);
    if (st == GREBE_OK) {
        (*out)->registry = formats_registry();
    }
    return st;
}

void grebe_context_free(grebe_context *ctx) { context_free(ctx); }
