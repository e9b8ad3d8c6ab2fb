/* SPDX-License-Identifier: Apache-2.0 */
/* The public calls on vector collections in a build without libgit2: no repository can be opened. */
#include "grebe/gitvdb.h"

#include "base/error.h"

#ifndef GREBE_HAVE_GIT

/* The parameters are those of the header, and none of them matters. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

#define UNSUPPORTED(err) \
    GREBE_FAIL(err, GREBE_EUNSUPPORTED, "vector collections in Git repositories are not built in (libgit2)")

grebe_status grebe_vdb_open(grebe_context *ctx, const char *path, grebe_vdb_mode mode, grebe_vdb **out,
                            grebe_error *err)
{
    *out = NULL;
    return UNSUPPORTED(err);
}

void grebe_vdb_close(grebe_vdb *vdb)
{
}

grebe_status grebe_vdb_describe(grebe_vdb *vdb, grebe_vdb_result **out, grebe_error *err)
{
    *out = NULL;
    return UNSUPPORTED(err);
}

grebe_status grebe_vdb_create(grebe_vdb *vdb, const char *name, const grebe_vdb_config *config,
                              grebe_vdb_result **out, grebe_error *err)
{
    *out = NULL;
    return UNSUPPORTED(err);
}

grebe_status grebe_vdb_list(grebe_vdb *vdb, grebe_vdb_result **out, grebe_error *err)
{
    *out = NULL;
    return UNSUPPORTED(err);
}

grebe_status grebe_vdb_info(grebe_vdb *vdb, const char *name, const char *at, grebe_vdb_result **out,
                            grebe_error *err)
{
    *out = NULL;
    return UNSUPPORTED(err);
}

grebe_status grebe_vdb_drop(grebe_vdb *vdb, const char *name, grebe_vdb_result **out, grebe_error *err)
{
    *out = NULL;
    return UNSUPPORTED(err);
}

grebe_status grebe_vdb_upsert_lines(grebe_vdb *vdb, const char *name, grebe_read_fn read,
                                    int (*rewind)(void *read_ctx), void *read_ctx,
                                    const grebe_vdb_write_options *options, grebe_vdb_result **out, grebe_error *err)
{
    *out = NULL;
    return UNSUPPORTED(err);
}

grebe_status grebe_vdb_import_lines(grebe_vdb *vdb, const char *name, const grebe_vdb_text *texts, size_t n_texts,
                                    const grebe_vdb_write_options *options, grebe_vdb_result **out, grebe_error *err)
{
    *out = NULL;
    return UNSUPPORTED(err);
}

grebe_status grebe_vdb_upsert_rows(grebe_vdb *vdb, const char *name, struct ArrowArrayStream *rows,
                                   const grebe_vdb_write_options *options, grebe_vdb_result **out, grebe_error *err)
{
    *out = NULL;
    rows->release(rows);
    return UNSUPPORTED(err);
}

grebe_status grebe_vdb_upsert_point(grebe_vdb *vdb, const char *name, const char *id, const char *vector,
                                    const char *payload, const grebe_vdb_write_options *options,
                                    grebe_vdb_result **out, grebe_error *err)
{
    *out = NULL;
    return UNSUPPORTED(err);
}

grebe_status grebe_vdb_delete(grebe_vdb *vdb, const char *name, const grebe_vdb_select *select,
                              const grebe_vdb_write_options *options, grebe_vdb_result **out, grebe_error *err)
{
    *out = NULL;
    return UNSUPPORTED(err);
}

grebe_status grebe_vdb_get(grebe_vdb *vdb, const char *name, const grebe_vdb_select *select,
                           const grebe_vdb_read_options *options, grebe_vdb_result **out, grebe_error *err)
{
    *out = NULL;
    return UNSUPPORTED(err);
}

grebe_status grebe_vdb_scan(grebe_vdb *vdb, const char *name, const grebe_vdb_select *select,
                            const grebe_vdb_read_options *options, struct ArrowArrayStream *out, grebe_error *err)
{
    *out = (struct ArrowArrayStream){ 0 };
    return UNSUPPORTED(err);
}

grebe_status grebe_vdb_export(grebe_vdb *vdb, const char *name, const grebe_vdb_select *select,
                              const grebe_vdb_read_options *options,
                              grebe_write_fn write, void *write_ctx, grebe_error *err)
{
    return UNSUPPORTED(err);
}

grebe_status grebe_vdb_count(grebe_vdb *vdb, const char *name, const grebe_vdb_select *select,
                             const grebe_vdb_read_options *options, grebe_vdb_result **out, grebe_error *err)
{
    *out = NULL;
    return UNSUPPORTED(err);
}

grebe_status grebe_vdb_search(grebe_vdb *vdb, const char *name, const grebe_vdb_query *query,
                              const grebe_vdb_read_options *options, grebe_vdb_result **out, grebe_error *err)
{
    *out = NULL;
    return UNSUPPORTED(err);
}

grebe_status grebe_vdb_history(grebe_vdb *vdb, const char *name, uint64_t limit, grebe_vdb_result **out,
                               grebe_error *err)
{
    *out = NULL;
    return UNSUPPORTED(err);
}

grebe_status grebe_vdb_restore(grebe_vdb *vdb, const char *name, const char *revision, grebe_vdb_result **out,
                               grebe_error *err)
{
    *out = NULL;
    return UNSUPPORTED(err);
}

grebe_status grebe_vdb_diff(grebe_vdb *vdb, const char *name, const char *left, const char *right,
                            grebe_vdb_result **out, grebe_error *err)
{
    *out = NULL;
    return UNSUPPORTED(err);
}

grebe_status grebe_vdb_validate(grebe_vdb *vdb, const char *name, const char *at, bool is_full, bool all_problems,
                                grebe_vdb_result **out, grebe_error *err)
{
    *out = NULL;
    return UNSUPPORTED(err);
}

grebe_status grebe_vdb_doctor(grebe_vdb *vdb, grebe_vdb_result **out, grebe_error *err)
{
    *out = NULL;
    return UNSUPPORTED(err);
}

grebe_status grebe_vdb_push(grebe_vdb *vdb, const char *name, const char *remote, grebe_vdb_result **out,
                            grebe_error *err)
{
    *out = NULL;
    return UNSUPPORTED(err);
}

grebe_status grebe_vdb_pull(grebe_vdb *vdb, const char *name, const char *remote, grebe_vdb_result **out,
                            grebe_error *err)
{
    *out = NULL;
    return UNSUPPORTED(err);
}

grebe_status grebe_vdb_copy(grebe_vdb *vdb, const char *name, const char *at, const char *to, grebe_vdb_result **out,
                            grebe_error *err)
{
    *out = NULL;
    return UNSUPPORTED(err);
}

grebe_status grebe_vdb_rename(grebe_vdb *vdb, const char *name, const char *to, grebe_vdb_result **out,
                              grebe_error *err)
{
    *out = NULL;
    return UNSUPPORTED(err);
}

grebe_status grebe_vdb_merge(grebe_vdb *vdb, const char *name, const char *revision, int prefer,
                             grebe_vdb_result **out, grebe_error *err)
{
    *out = NULL;
    return UNSUPPORTED(err);
}

grebe_status grebe_vdb_stats(grebe_vdb *vdb, const char *name, const char *at, grebe_vdb_result **out,
                             grebe_error *err)
{
    *out = NULL;
    return UNSUPPORTED(err);
}

grebe_status grebe_vdb_gc(grebe_vdb *vdb, int64_t grace_seconds, grebe_vdb_result **out, grebe_error *err)
{
    *out = NULL;
    return UNSUPPORTED(err);
}

grebe_status grebe_vdb_result_print(const grebe_vdb_result *result, grebe_vdb_form form, grebe_write_fn write,
                                    void *write_ctx, grebe_error *err)
{
    return UNSUPPORTED(err);
}

const char *grebe_vdb_result_root(const grebe_vdb_result *result)
{
    return NULL;
}

uint64_t grebe_vdb_result_count(const grebe_vdb_result *result)
{
    return 0;
}

grebe_status grebe_vdb_result_rows(const grebe_vdb_result *result, struct ArrowArray *out,
                                   struct ArrowSchema *out_schema, grebe_error *err)
{
    *out = (struct ArrowArray){ 0 };
    return UNSUPPORTED(err);
}

grebe_status grebe_vdb_result_stream(const grebe_vdb_result *result, struct ArrowArrayStream *out, grebe_error *err)
{
    *out = (struct ArrowArrayStream){ 0 };
    return UNSUPPORTED(err);
}

void grebe_vdb_result_free(grebe_vdb_result *result)
{
}

#endif
