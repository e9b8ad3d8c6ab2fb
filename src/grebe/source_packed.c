/* SPDX-License-Identifier: Apache-2.0 */
/* "packed:FILE,FILE" and "packed:FOLDER": packed files (grebe/packed.h) as a source. */
#include "grebe/source_internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "grebe/packed.h"

static const char prefix[] = "packed:";

const char *source_packed_paths(const char *uri)
{
    size_t n = sizeof prefix - 1;
    return strncmp(uri, prefix, n) == 0 && uri[n] != '\0' ? uri + n : NULL;
}

struct path_list {
    struct arena arena;
    const char *folder; /* of names that are listed */
    const char **items;
    size_t n, capacity;
};

static grebe_status add_path(struct path_list *l, const char *folder, const char *name, size_t len,
                             grebe_error *err)
{
    if (l->n == l->capacity) {
        size_t capacity = l->capacity == 0 ? 16 : l->capacity * 2;
        const char **grown = arena_array(&l->arena, capacity, sizeof *grown);
        if (grown == NULL) {
            return mem_fail(err, capacity * sizeof *grown, "paths");
        }
        if (l->n > 0) {
            memcpy((void *)grown, l->items, l->n * sizeof *grown);
        }
        l->items = grown;
        l->capacity = capacity;
    }
    size_t folder_len = folder == NULL ? 0 : strlen(folder);
    bool has_slash = folder_len == 0 || folder[folder_len - 1] == '/';
    char *path = arena_alloc(&l->arena, folder_len + len + 2);
    if (path == NULL) {
        return mem_fail(err, folder_len + len + 2, "a path");
    }
    if (folder_len > 0) {
        memcpy(path, folder, folder_len);
        memcpy(path + folder_len, "/", 1);
    }
    size_t at = folder_len + (has_slash ? 0 : 1);
    memcpy(path + at, name, len);
    path[at + len] = '\0';
    l->items[l->n++] = path;
    return GREBE_OK;
}

static grebe_status list_name(void *arg, const char *name, enum io_kind kind, grebe_error *err)
{
    struct path_list *l = arg;
    size_t len = strlen(name);
    const size_t n = strlen(".parquet");
    bool is_one = kind != IO_FOLDER && name[0] != '.' && len > n &&
                  strcmp(name + len - n, ".parquet") == 0;
    return is_one ? add_path(l, l->folder, name, len, err) : GREBE_OK;
}

static int compare_paths(const void *x, const void *y)
{
    return strcmp(*(const char *const *)x, *(const char *const *)y);
}

/* A path that is there is taken as it is, commas and all. */
static grebe_status list_paths(struct path_list *l, struct io_store *store, const char *text,
                               grebe_error *err)
{
    struct io_info info;
    grebe_status st = GREBE_OK;
    if (io_stat(store, text, &info, NULL) == GREBE_OK) {
        if (info.kind != IO_FOLDER) {
            return add_path(l, NULL, text, strlen(text), err);
        }
        l->folder = text;
        st = io_list(store, text, list_name, l, err);
        if (st == GREBE_OK && l->n == 0) {
            st = GREBE_FAIL(err, GREBE_ENOTFOUND, "%s: expected files that end in .parquet", text);
        }
        if (st == GREBE_OK) {
            qsort((void *)l->items, l->n, sizeof *l->items, compare_paths);
        }
        return st;
    }
    for (const char *at = text; st == GREBE_OK;) {
        size_t n = strcspn(at, ",");
        if (n > 0) {
            st = add_path(l, NULL, at, n, err);
        }
        if (at[n] == '\0') {
            break;
        }
        at += n + 1;
    }
    return st;
}

grebe_status source_packed_open(struct grebe_source *s, struct io_store *store, const char *paths,
                                grebe_error *err)
{
    struct path_list l = { .arena = ARENA_INIT(s->ctx->a) };
    grebe_status st = list_paths(&l, store, paths, err);
    if (st == GREBE_OK) {
        s->kind = GREBE_SOURCE_FILE;
        s->format = "packed";
        st = grebe_packed_open(s->ctx, l.items, l.n, NULL, &s->table, err);
    }
    arena_release(&l.arena);
    return st;
}
