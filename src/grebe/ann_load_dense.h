/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GREBE_ANN_LOAD_DENSE_H
#define GREBE_GREBE_ANN_LOAD_DENSE_H

/* Dense vectors of a source of rows, into memory or left there; what that shares with the loading of labels. */

#include "arrow/arrow_stream.h"
#include "grebe/ann_load.h"
#include "grebe/source.h"

grebe_status ann_load_dense(struct ann_dataset *d, struct ann_vectors *v, const struct ann_load *o, grebe_error *err);

grebe_status load_open_source(grebe_context *ctx, const char *uri, const grebe_call_options *call, grebe_source **out,
                              grebe_error *err);
/** Numbers of a row: NaN and infinity have no truth. @param row Told with a component that is one of them. */
grebe_status load_check_finite(const char *uri, uint64_t row, const float *values, uint64_t n, grebe_error *err);
bool load_is_list(enum arrow_kind k);
/** The named column, or the only one of lists; of scalars when is_scalar. */
grebe_status load_find_column(const struct ArrowSchema *schema, const char *uri, const char *name, bool is_scalar, int *out,
                              grebe_error *err);
/** Where list i begins among the elements, and how many it has. @param width Of fixed lists. */
int64_t load_list_at(enum arrow_kind kind, uint32_t width, const struct ArrowArray *list, int64_t i, int64_t *n);
/** One column from row_begin. A stream is scanned once. */
grebe_status load_scan(grebe_source *source, const char *column, int64_t row_begin, const grebe_call_options *call,
                       struct ArrowArrayStream *rows, grebe_error *err);

#endif
