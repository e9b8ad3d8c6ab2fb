/* SPDX-License-Identifier: Apache-2.0 */
/* Several names, or names that are patterns, as one source. */
#include "grebe/source_many.h"

#include <string.h>

#include "io/io_glob.h"

/* Many files of one format and schema are one table: pruning, take and explain work across them. */
static grebe_status as_one_table(grebe_context *ctx, struct source_many *m, grebe_table **out,
                                 grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct table_store *store = NULL;
    *out = NULL;
    const char **paths = mem_alloc_zero(ctx->a, m->n_parts * sizeof *paths);
    if (paths == NULL) {
        return mem_fail(err, m->n_parts * sizeof *paths, "paths");
    }
    if (m->n_parts == 0 || !m->is_one_schema) { /* none: nothing but empty files */
        goto out;
    }
    const struct file_format *format = m->parts[0].file_format;
    for (size_t i = 0; i < m->n_parts; i++) {
        if (format == NULL || m->parts[i].file_format != format) {
            goto out;
        }
        paths[i] = m->parts[i].path;
    }
    GREBE_TRY(table_store_open(ctx, 0, &store, err));
    st = table_of_files(store, paths, m->n_parts, format,
                        m->options.is_int96_us, out, err);
out:
    table_store_drop(store);
    mem_free(ctx->a, paths, m->n_parts * sizeof *paths);
    return st;
}

static grebe_status open_list(grebe_context *ctx, const char *const *uris, size_t n,
                              const grebe_source_options *options, grebe_source **out,
                              grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct source_many *many = NULL;
    if (n == 1) {
        return source_open_one(ctx, uris[0], options, out, err);
    }
    struct grebe_source *s = mem_alloc_zero(ctx->a, sizeof *s);
    if (s == NULL) {
        return mem_fail(err, sizeof *s, "sources");
    }
    s->ctx = ctx;
    s->path = BUF_INIT(ctx->a);
    s->kind = GREBE_SOURCE_MANY;
    s->format = "many";
    GREBE_TRY(source_many_new(ctx, uris, n, options, &many, err));
    GREBE_TRY(as_one_table(ctx, many, &s->table, err));
    if (s->table == NULL) {
        s->many = many;
        many = NULL;
    } else {
        s->kind = GREBE_SOURCE_FILE;
        s->format = many->parts[0].format;
    }
    *out = s;
    s = NULL;
out:
    source_many_drop(many);
    grebe_source_close(s);
    return st;
}

/* The uri, or what it stands for when it is a pattern; appended to list (const char *). */
static grebe_status expand(grebe_context *ctx, struct io_store *store, const char *uri,
                           struct arena *arena, struct buf *list, grebe_error *err)
{
    struct io_info info;
    char name[32];
    char **paths = NULL;
    size_t n = 0;
    if (!path_is_pattern(uri) || path_scheme_len(uri) > 0 ||
        io_stat(store, uri, &info, NULL) == GREBE_OK) {
        return buf_put(list, &uri, sizeof uri, err);
    }
    const char *rest = source_forced_format(ctx, uri, name, sizeof name);
    size_t prefix = rest == NULL ? 0 : (size_t)(rest - uri);
    grebe_status st = io_glob(store, uri + prefix, arena, &paths, &n, err);
    const char *part = st == GREBE_OK && n == 0 ? strrchr(uri + prefix, '#') : NULL; /* of each file */
    if (part != NULL) {
        char *files = arena_str(arena, uri + prefix, (size_t)(part - uri) - prefix);
        st = files == NULL ? mem_fail(err, strlen(uri), "a path") : io_glob(store, files, arena, &paths, &n, err);
    }
    part = part == NULL ? "" : part;
    if (st == GREBE_OK && n == 0) {
        st = GREBE_FAIL(err, GREBE_ENOTFOUND, "%s: nothing matches the pattern", uri);
    }
    for (size_t i = 0; i < n && st == GREBE_OK; i++) {
        char *path = arena_alloc(arena, prefix + strlen(paths[i]) + strlen(part) + 1);
        if (path == NULL) {
            return mem_fail(err, strlen(paths[i]), "a path");
        }
        memcpy(path, uri, prefix);
        strcpy(path + prefix, paths[i]);
        strcat(path, part);
        st = buf_put(list, &path, sizeof path, err);
    }
    return st;
}

grebe_status grebe_source_open_many(grebe_context *ctx, const char *const *uris, size_t n,
                                    const grebe_source_options *options, grebe_source **out,
                                    grebe_error *err)
{
    grebe_status st = GREBE_OK;
    grebe_source_options o = GREBE_SOURCE_OPTIONS_INIT;
    struct io_store *store = NULL;
    GREBE_CHECK_ARG(err, ctx != NULL && uris != NULL && n > 0 && out != NULL);
    *out = NULL;
    struct arena arena = ARENA_INIT(ctx->a);
    struct buf list = BUF_INIT(ctx->a);
    if (options != NULL) {
        GREBE_TRY(options_copy(&o, sizeof o, options, err));
    }
    GREBE_TRY(io_local_new(ctx, &store, err));
    for (size_t i = 0; i < n; i++) {
        GREBE_TRY(expand(ctx, store, uris[i], &arena, &list, err));
    }
    st = open_list(ctx, (const char *const *)(void *)list.data, list.len / sizeof(char *), &o,
                          out, err);
out:
    io_store_free(store);
    buf_release(&list);
    arena_release(&arena);
    return st;
}
