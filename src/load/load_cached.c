/* SPDX-License-Identifier: Apache-2.0 */
#include "load/load_cached.h"

#include <stdio.h>
#include <string.h>

static grebe_status no_memory(grebe_error *err) { return mem_fail(err, sizeof(struct load_plan), "loading"); }

bool load_is_hub_name(grebe_context *ctx, const char *path)
{
    struct io_store *store = NULL;
    struct io_info info;
    const char *slash = strchr(path, '/');
    size_t len = strlen(path);
    if (len == 0 || path[0] == '/' || path[0] == '.' || (slash != NULL && (strchr(slash + 1, '/') != NULL || slash[1] == '\0')) ||
        (len > 3 && strcmp(path + len - 3, ".py") == 0) || load_is_module(path) || io_local_new(ctx, &store, NULL) != GREBE_OK) {
        return false;
    }
    bool is_there = io_stat(store, path, &info, NULL) == GREBE_OK;
    io_store_free(store);
    return !is_there;
}

/* An entry: <config_id>/<version>/<hash> below the data set's folder. */
struct candidate {
    const char *folder, *config_id;
    const char *hash, *config; /* config: config_name of its dataset_info.json */
    int64_t modified_ns;
};

/* The part of a path that begins at p, moved behind it and its '/'. */
static const char *take_part(struct arena *ar, const char **p)
{
    size_t len = strcspn(*p, "/");
    const char *part = arena_str(ar, *p, len);
    *p += len + ((*p)[len] == '/');
    return part;
}

/* GREBE_OK with folder NULL: the file is no entry's. */
static grebe_status candidate_of(struct load_plan *p, const char *base, const char *path, struct candidate *out, grebe_error *err)
{
    struct io_info info;
    struct region *text = NULL;
    const struct json_value *tree = NULL, *name;
    const char *rest = path + strlen(base) + 1;
    *out = (struct candidate){ .folder = NULL };
    if (strcmp(path_base_name(path), "dataset_info.json") != 0 || strstr(path, ".incomplete/") != NULL) {
        return GREBE_OK;
    }
    out->config_id = take_part(&p->arena, &rest);
    const char *version = take_part(&p->arena, &rest);
    out->hash = take_part(&p->arena, &rest);
    if (out->config_id == NULL || version == NULL || out->hash == NULL) {
        return no_memory(err);
    }
    if (strcmp(rest, "dataset_info.json") != 0 || io_stat(p->store, path, &info, NULL) != GREBE_OK ||
        io_read_all(p->store, path, 64 << 20, &text, NULL, NULL) != GREBE_OK) {
        return GREBE_OK;
    }
    grebe_status st = json_parse(&p->arena, (const char *)text->data, text->len, &tree, NULL);
    region_drop(text);
    name = st == GREBE_OK ? json_get(tree, "config_name") : NULL;
    if (st == GREBE_ENOMEM) {
        return no_memory(err);
    }
    if (name != NULL && name->type == JSON_STRING) {
        out->config = name->text;
        out->modified_ns = info.id.modified_ns;
        out->folder = arena_str(&p->arena, path, (size_t)(path_base_name(path) - path) - 1);
        return out->folder != NULL ? GREBE_OK : no_memory(err);
    }
    return GREBE_OK;
}

/* Of two entries the one to take: of the config asked for, the default one before others, the newest. */
static bool is_better(const struct candidate *x, const struct candidate *than)
{
    bool a = strcmp(x->config, "default") == 0, b = strcmp(than->config, "default") == 0;
    return a != b ? a : x->modified_ns > than->modified_ns;
}

static grebe_status choose(struct load_plan *p, const char *name, const char *base, const struct load_files *files,
                           struct candidate *out, grebe_error *err)
{
    const char *asked = p->options.config, *other = NULL;
    *out = (struct candidate){ .folder = NULL };
    for (size_t i = 0; i < files->n; i++) {
        struct candidate c;
        grebe_status st = candidate_of(p, base, files->items[i].path, &c, err);
        if (st != GREBE_OK) {
            return st;
        }
        if (c.folder == NULL || (asked != NULL && strcmp(asked, c.config) != 0)) {
            continue;
        }
        if (out->folder != NULL && strcmp(out->config, c.config) != 0) {
            other = c.config;
        }
        if (out->folder == NULL || is_better(&c, out)) {
            *out = c;
        }
    }
    if (out->folder == NULL) {
        return GREBE_FAIL(err, GREBE_ENOTFOUND,
                          "%s: no such folder or format, nor is it%s%s in the cache, and nothing is fetched from a hub", name,
                          asked != NULL ? " with the config " : "", asked != NULL ? asked : "");
    }
    if (other != NULL && strcmp(out->config, "default") != 0) {
        return GREBE_FAIL(err, GREBE_EINVAL, "%s: the name of a config is missing: the cache has \"%s\" and \"%s\"", name,
                          out->config, other);
    }
    return GREBE_OK;
}

/* "owner/name" lies under "owner___name". */
static grebe_status cached_base(struct load_plan *p, const char *name, const char **out, grebe_error *err)
{
    const char *cache = NULL, *slash = strchr(name, '/');
    struct buf b = BUF_INIT(p->ctx->a);
    grebe_status st = load_cache_folder(&p->arena, p->options.cache_dir, &cache, err);
    if (st == GREBE_OK) {
        st = slash != NULL ? buf_printf(&b, err, "%s/%.*s___%s", cache, (int)(slash - name), name, slash + 1)
                           : buf_printf(&b, err, "%s/%s", cache, name);
    }
    if (st == GREBE_OK) {
        *out = arena_str(&p->arena, (const char *)b.data, b.len);
        st = *out != NULL ? GREBE_OK : no_memory(err);
    }
    buf_release(&b);
    return st;
}

grebe_status load_cached(grebe_context *ctx, const char *name, const grebe_load_options *options, struct load_plan **plan,
                         struct prepared **out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct candidate best;
    struct load_files files = { NULL, 0, 0 };
    const char *base = NULL;
    *plan = NULL;
    *out = NULL;
    struct load_plan *p = mem_alloc_zero(ctx->a, sizeof *p);
    if (p == NULL) {
        return no_memory(err);
    }
    p->ctx = ctx;
    p->arena = ARENA_INIT(ctx->a);
    p->options = (grebe_load_options)GREBE_LOAD_OPTIONS_INIT;
    GREBE_TRY(options_copy(&p->options, sizeof p->options, options, err));
    GREBE_TRY(io_local_new(ctx, &p->store, err));
    GREBE_TRY(cached_base(p, name, &base, err));
    GREBE_TRY(load_walk(&p->arena, p->store, base, 4, &files, err));
    GREBE_TRY(choose(p, name, base, &files, &best, err));
    GREBE_TRY(prepared_read(ctx->a, p->store, best.folder, out, err));
    p->dataset_name = path_base_name(base);
    p->config_id = best.config_id;
    snprintf(p->hash, sizeof p->hash, "%s", best.hash);
    *plan = p;
    p = NULL;
out:
    load_plan_free(p);
    return st;
}
