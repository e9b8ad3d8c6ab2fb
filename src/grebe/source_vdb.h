/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GREBE_SOURCE_VDB_H
#define GREBE_GREBE_SOURCE_VDB_H

/* A collection of vectors as a source: REPOSITORY#NAME, REPOSITORY#NAME@REVISION. */

#include "grebe/gitvdb.h"
#include "io/io.h"

struct source_vdb;

/**
 * Where the name of a collection begins: behind a '#' that follows the path of a Git repository.
 *
 * @param is_forced Said by "gitvdb:"; then any '#' does when none follows a repository.
 * @return NULL: uri is no collection.
 */
const char *source_vdb_name(struct io_store *store, const char *uri, bool is_forced);

/**
 * @param name As source_vdb_name() gave it: in uri.
 * @param out  Owned: source_vdb_close(). All scans see the content of this moment.
 */
grebe_status source_vdb_open(grebe_context *ctx, const char *uri, const char *name, struct source_vdb **out,
                             grebe_error *err);
void source_vdb_close(struct source_vdb *v); /* NULL accepted */
int64_t source_vdb_rows(const struct source_vdb *v);
grebe_status source_vdb_schema(struct source_vdb *v, struct ArrowSchema *out, grebe_error *err);
grebe_status source_vdb_scan(struct source_vdb *v, const grebe_scan_options *options, struct ArrowArrayStream *out,
                             grebe_error *err);

#endif
