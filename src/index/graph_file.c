/* SPDX-License-Identifier: Apache-2.0 */
#include "index/graph_index.h"

grebe_status graph_index_save(struct index *ix, struct index_writer *w, grebe_error *err)
{ (void)ix; (void)w; return GREBE_FAIL(err, GREBE_EUNSUPPORTED, "x"); }
grebe_status graph_options_read(const struct index_file *file, struct graph_options *out, grebe_error *err)
{ (void)file; (void)out; return GREBE_FAIL(err, GREBE_EUNSUPPORTED, "x"); }
grebe_status graph_index_fill(struct graph_index *x, struct index_file *file, grebe_error *err)
{ (void)x; (void)file; return GREBE_FAIL(err, GREBE_EUNSUPPORTED, "x"); }
