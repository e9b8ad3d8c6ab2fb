/* SPDX-License-Identifier: Apache-2.0 */
#include "load/load_plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/utf8.h"
#include "feature/feature_internal.h"
#include "wire/json_python.h"

/* Counted up when what is written for the same files changes. */
static const char FORMAT_VERSION[] = "1";

static grebe_status no_memory(grebe_error *err) { return mem_fail(err, sizeof(struct load_plan), "loading"); }

void load_plan_free(struct load_plan *p)
{
    if (p == NULL) {
        return;
    }
    const grebe_allocator *a = p->ctx->a;
    features_free(p->features);
    load_card_free(p->card);
    io_store_free(p->store);
    arena_release(&p->arena);
    mem_free(a, p, sizeof *p);
}

/* ---- texts ---- */

static grebe_status arena_text(struct load_plan *p, struct buf *b, const char **out, grebe_error *err)
{
    const char *text = buf_text(b);
    *out = text != NULL ? arena_str(&p->arena, text, b->len) : NULL;
    return *out != NULL ? GREBE_OK : no_memory(err);
}

enum { NAME_MAX_BYTES = 160 };

/* The folder from the root of the file system: base, or rest below it. */
static grebe_status absolute_folder(struct load_plan *p, const char *base, const char *rest, const char **out, grebe_error *err)
{
    struct buf joined = BUF_INIT(p->ctx->a), full = BUF_INIT(p->ctx->a);
    grebe_status st = GREBE_OK;
    GREBE_TRY(rest == NULL || rest[0] == '\0' ? buf_put_text(&joined, base, err)
                                              : buf_printf(&joined, err, "%s/%s", base, rest));
    if (buf_text(&joined) == NULL) {
        st = no_memory(err);
        goto out;
    }
    GREBE_TRY(path_absolute(&full, buf_text(&joined), err));
    while (full.len > 1 && full.data[full.len - 1] == '/') {
        full.len--;
    }
    st = arena_text(p, &full, out, err);
out:
    buf_release(&joined);
    buf_release(&full);
    return st;
}

static bool has_file(const struct load_plan *p, const char *folder, const char *name)
{
    struct buf b = BUF_INIT(p->ctx->a);
    struct io_info info;
    bool has = buf_printf(&b, NULL, "%s/%s", folder, name) == GREBE_OK && buf_text(&b) != NULL &&
               io_stat(p->store, buf_text(&b), &info, NULL) == GREBE_OK && info.kind == IO_FILE;
    buf_release(&b);
    return has;
}

/* Latin-1 letters beyond ASCII have their small ones 0x20 behind them; the sign of multiplication is none. */
static void lower_latin(struct buf *b, size_t from)
{
    for (size_t i = from; i + 1 < b->len; i++) {
        if (b->data[i] == 0xc3 && b->data[i + 1] >= 0x80 && b->data[i + 1] <= 0x9e && b->data[i + 1] != 0x97) {
            b->data[i + 1] = (unsigned char)(b->data[i + 1] + 0x20);
        }
    }
}

grebe_status load_dataset_name(struct buf *dst, const char *folder, grebe_error *err)
{
    size_t from = dst->len;
    grebe_status st = feature_snake_case(dst, folder, err);
    if (st == GREBE_OK) {
        lower_latin(dst, from);
        if (dst->len - from > NAME_MAX_BYTES) { /* split and shard come behind it in names of files; the path's hash tells it from others */
            dst->len = from + utf8_valid_prefix(dst->data + from, NAME_MAX_BYTES);
        }
    }
    return st;
}

/* ---- where from ---- */

static grebe_status parse_member(struct load_plan *p, const char *what, const char *text, const struct json_value **out,
                                 grebe_error *err)
{
    *out = NULL;
    if (text == NULL) {
        return GREBE_OK;
    }
    grebe_status st = json_parse(&p->arena, text, strlen(text), out, err);
    return st == GREBE_OK ? st : error_wrap(err, st == GREBE_ECORRUPT ? GREBE_EINVAL : st, "%s", what);
}

static grebe_status resolve(struct load_plan *p, const struct json_value *data_files, const char *base, bool is_folder,
                            grebe_error *err)
{
    struct load_pattern_set set;
    grebe_status st = data_files != NULL ? load_patterns_of(&p->arena, data_files, &set, err)
                                         : load_patterns_default(&p->arena, p->store, base, &set, err);
    if (st == GREBE_OK) {
        st = load_patterns_resolve(&p->arena, p->store, base, &set, is_folder ? load_is_any_extension : NULL, &p->files, err);
    }
    return st;
}

/* The path names a format. */
static grebe_status plan_format(struct load_plan *p, const char *path, const struct json_value *data_files, grebe_error *err)
{
    const char *dir = p->options.data_dir;
    p->kind = builder_find(path);
    if (p->kind == NULL) {
        return GREBE_FAIL(err, GREBE_EUNSUPPORTED, "files of \"%s\" are not read", path);
    }
    if (data_files == NULL && dir == NULL) {
        return GREBE_FAIL(err, GREBE_EINVAL, "loading \"%s\": expected data_files or data_dir", path);
    }
    grebe_status st = absolute_folder(p, dir != NULL ? dir : ".", NULL, &p->base, err);
    p->dataset_name = p->kind->name;
    p->config_name = p->options.config == NULL ? "default"
                                               : arena_str(&p->arena, p->options.config, strlen(p->options.config));
    if (st != GREBE_OK || p->config_name == NULL) {
        return st != GREBE_OK ? st : no_memory(err);
    }
    if (strpbrk(p->config_name, "<>:/\\|?*") != NULL || p->config_name[0] == '\0') {
        return GREBE_FAIL(err, GREBE_EINVAL, "config \"%s\": the name has one of <>:/\\|?*", p->config_name);
    }
    return resolve(p, data_files, p->base, false, err);
}

static const char *base_name(const char *path)
{
    const char *name = path_base_name(path);
    return name[0] != '\0' ? name : "root";
}

/* Files that a folder's configuration names, or that lie under the usual names. */
static grebe_status folder_files(struct load_plan *p, const struct load_config *config, const struct json_value *data_files,
                                 grebe_error *err)
{
    const char *base = p->base, *dir = p->options.data_dir;
    grebe_status st = GREBE_OK;
    if (data_files != NULL || dir != NULL) {
        st = absolute_folder(p, p->base, dir, &base, err);
    } else if (config != NULL) {
        st = absolute_folder(p, p->base, config->data_dir, &base, err);
        data_files = config->data_files;
    }
    return st == GREBE_OK ? resolve(p, data_files, base, true, err) : st;
}

static grebe_status merge_options(struct load_plan *p, const struct load_module *module, const struct load_config *config,
                                  const struct json_value *given, grebe_error *err);

static grebe_status plan_folder(struct load_plan *p, const struct json_value *data_files, const struct json_value *given,
                                grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const struct load_config *config = NULL;
    struct load_module module;
    struct buf name = BUF_INIT(p->ctx->a);
    if (p->options.data_dir != NULL && p->options.data_dir[0] == '/') {
        return GREBE_FAIL(err, GREBE_EINVAL, "data_dir %s: expected a path below %s", p->options.data_dir, p->base);
    }
    GREBE_TRY(load_card_read(p->ctx->a, p->store, p->base, &p->card, err));
    GREBE_TRY(load_card_config(p->card, p->options.config, &config, err));
    GREBE_TRY(folder_files(p, config, data_files, err));
    GREBE_TRY(load_module_infer(&p->arena, p->store, p->base, &p->files, &module, err));
    load_module_filter(module.name, &p->files);
    p->kind = builder_find(module.name);
    if (p->kind == NULL) {
        st = GREBE_FAIL(err, GREBE_EUNSUPPORTED, "%s: files of \"%s\" are not read", p->base, module.name);
        goto out;
    }
    GREBE_TRY(load_dataset_name(&name, base_name(p->base), err));
    GREBE_TRY(arena_text(p, &name, &p->dataset_name, err));
    /* without configs a name is that of what is said of the data set, or "default" */
    bool is_said = p->card->n_configs == 0 && p->card->n_infos == 1 &&
                   (p->options.config == NULL || strcmp(p->options.config, "default") != 0);
    p->config_name = config != NULL ? config->name : is_said ? p->card->infos[0].config : "default";
    p->info = load_card_info(p->card, p->config_name);
    GREBE_TRY(merge_options(p, &module, config, given, err));
    const struct features *f = config != NULL && config->features != NULL  ? config->features
                               : p->info != NULL && p->info->features != NULL ? p->info->features
                                                                              : NULL;
    if (f != NULL && p->features == NULL) {
        st = features_copy(p->ctx->a, f, &p->features, err);
    }
out:
    buf_release(&name);
    return st;
}

/* ---- options of the format ---- */

static bool takes_option(const struct builder_kind *kind, const char *name)
{
    for (size_t i = 0; kind->options[i] != NULL; i++) {
        if (strcmp(kind->options[i], name) == 0) {
            return true;
        }
    }
    return false;
}

static void set_member(struct json_value *object, struct json_member *members, const struct json_member *m)
{
    for (size_t i = 0; i < object->n; i++) {
        if (strcmp(members[i].key, m->key) == 0) {
            members[i] = *m;
            return;
        }
    }
    members[object->n++] = *m;
}

/* What the suffix says, over it what the README says (what the loader does not know is left out), over it what the caller says. */
static grebe_status merge_options(struct load_plan *p, const struct load_module *module, const struct load_config *config,
                                  const struct json_value *given, grebe_error *err)
{
    size_t n_config = config != NULL ? config->options->n : 0, n_given = given != NULL ? given->n : 0;
    struct json_value *all = arena_alloc_zero(&p->arena, sizeof *all);
    struct json_member *members = arena_array(&p->arena, 1 + n_config + n_given, sizeof *members);
    if (all == NULL || members == NULL) {
        return no_memory(err);
    }
    all->type = JSON_OBJECT;
    all->members = members;
    if (module != NULL && module->option != NULL) {
        struct json_member m = { module->option, strlen(module->option), { .type = JSON_STRING } };
        m.value.text = module->option_value;
        m.value.n = strlen(module->option_value);
        set_member(all, members, &m);
    }
    for (size_t i = 0; i < n_config; i++) {
        const struct json_member *m = &config->options->members[i];
        if (takes_option(p->kind, m->key)) {
            set_member(all, members, m);
        } else {
            context_log(p->ctx, GREBE_LOG_WARNING, "config \"%s\": %s has no option \"%s\"", config->name, p->kind->name, m->key);
        }
    }
    for (size_t i = 0; i < n_given; i++) {
        set_member(all, members, &given->members[i]);
    }
    p->format_options = all;
    return GREBE_OK;
}

/* ---- names in the cache ---- */

static int by_key(const void *x, const void *y)
{
    return strcmp(((const struct json_member *)x)->key, ((const struct json_member *)y)->key);
}

static grebe_status put_option_text(struct load_plan *p, struct buf *dst, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    size_t n = p->format_options->n;
    struct json_member *sorted = arena_array(&p->arena, n, sizeof *sorted);
    if (sorted == NULL) {
        return no_memory(err);
    }
    if (n > 0) {
        memcpy(sorted, p->format_options->members, n * sizeof *sorted);
        qsort(sorted, n, sizeof *sorted, by_key);
    }
    struct json_value object = { .type = JSON_OBJECT, .n = n, .members = sorted };
    GREBE_TRY(json_python_value(dst, &object, -1, 0, err));
out:
    return st;
}

static grebe_status put_texts(struct buf *dst, const char *key, const char *text, grebe_error *err)
{
    grebe_status st = buf_printf(dst, err, ", \"%s\": ", key);
    if (st == GREBE_OK) {
        st = text != NULL ? json_python_string(dst, text, strlen(text), err) : buf_put_text(dst, "null", err);
    }
    return st;
}

/* What the caller asked for: a configuration's name and a hash of everything else. */
static grebe_status name_config(struct load_plan *p, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct buf b = BUF_INIT(p->ctx->a);
    const grebe_load_options *o = &p->options;
    GREBE_TRY(buf_put_text(&b, "{\"options\": ", err));
    GREBE_TRY(put_option_text(p, &b, err));
    GREBE_TRY(put_texts(&b, "data_files", o->data_files, err));
    GREBE_TRY(put_texts(&b, "data_dir", o->data_dir, err));
    GREBE_TRY(put_texts(&b, "base", p->base, err));
    GREBE_TRY(buf_put_text(&b, ", \"features\": ", err));
    if (p->features != NULL) {
        GREBE_TRY(features_to_json(p->features, -1, 0, &b, err));
    }
    uint64_t digest = hash_bytes(b.data, b.len, 0);
    buf_clear(&b);
    size_t len = strlen(p->config_name); /* folders' names end at 255 bytes */
    GREBE_TRY(buf_printf(&b, err, "%.*s-%016" PRIx64, (int)(len < 200 ? len : 200), p->config_name, digest));
    st = arena_text(p, &b, &p->config_id, err);
out:
    buf_release(&b);
    return st;
}

static grebe_status hash_files(struct load_plan *p, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct buf b = BUF_INIT(p->ctx->a);
    GREBE_TRY(load_files_stat(p->store, &p->files, err));
    GREBE_TRY(buf_printf(&b, err, "{\"builder\": \"%s\", \"format\": %s", p->kind->name, FORMAT_VERSION));
    for (size_t i = 0; i < p->files.n; i++) {
        const struct load_files *files = &p->files.splits[i].files;
        GREBE_TRY(put_texts(&b, "split", p->files.splits[i].split, err));
        for (size_t k = 0; k < files->n; k++) {
            GREBE_TRY(put_texts(&b, "path", files->items[k].path, err));
            GREBE_TRY(buf_printf(&b, err, " %" PRIu64 " %" PRId64, files->items[k].size, files->items[k].modified_ns));
        }
    }
    snprintf(p->hash, sizeof p->hash, "%016" PRIx64, hash_bytes(b.data, b.len, 0));
out:
    buf_release(&b);
    return st;
}

grebe_status load_cache_folder(struct arena *ar, const char *asked, const char **out, grebe_error *err)
{
    const char *env, *rest = "";
    struct buf b = BUF_INIT(ar->a);
    grebe_status st = GREBE_OK;
    if (asked != NULL && asked[0] != '\0') {
        env = asked;
    } else if ((env = getenv("HF_DATASETS_CACHE")) != NULL && env[0] != '\0') {
        rest = "";
    } else if ((env = getenv("HF_HOME")) != NULL && env[0] != '\0') {
        rest = "/datasets";
    } else if ((env = getenv("XDG_CACHE_HOME")) != NULL && env[0] != '\0') {
        rest = "/huggingface/datasets";
    } else if ((env = getenv("HOME")) != NULL && env[0] != '\0') {
        rest = "/.cache/huggingface/datasets";
    } else {
        return GREBE_FAIL(err, GREBE_EINVAL, "expected a cache_dir: neither HF_DATASETS_CACHE nor HF_HOME nor HOME is set");
    }
    struct buf full = BUF_INIT(ar->a);
    GREBE_TRY(buf_printf(&b, err, "%s%s", env, rest));
    if (buf_text(&b) == NULL) {
        st = no_memory(err);
        goto out;
    }
    GREBE_TRY(path_absolute(&full, buf_text(&b), err));
    while (full.len > 1 && full.data[full.len - 1] == '/') {
        full.len--;
    }
    *out = arena_str(ar, (const char *)full.data, full.len);
    st = *out != NULL ? GREBE_OK : no_memory(err);
out:
    buf_release(&b);
    buf_release(&full);
    return st;
}

/* ---- the plan ---- */

/* "a", "a/b": what a hub would have; there is none here. */
static bool is_hub_name(const char *path)
{
    const char *slash = strchr(path, '/');
    return path[0] != '/' && path[0] != '.' && (slash == NULL || strchr(slash + 1, '/') == NULL);
}

static grebe_status route(struct load_plan *p, const char *path, const struct json_value *data_files,
                          const struct json_value *given, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct io_info info;
    size_t len = strlen(path);
    if (load_is_module(path)) {
        st = plan_format(p, path, data_files, err);
        return st == GREBE_OK ? merge_options(p, NULL, NULL, given, err) : st;
    }
    GREBE_TRY(absolute_folder(p, path, NULL, &p->base, err));
    bool is_there = io_stat(p->store, p->base, &info, NULL) == GREBE_OK;
    bool is_folder = is_there && info.kind == IO_FOLDER;
    char script[256];
    snprintf(script, sizeof script, "%.240s.py", base_name(p->base));
    if ((len > 3 && strcmp(path + len - 3, ".py") == 0) || (is_folder && has_file(p, p->base, script))) {
        return GREBE_FAIL(err, GREBE_EUNSUPPORTED, "%s: scripts of data sets are not run", p->base);
    }
    if (is_there && !is_folder) {
        return GREBE_FAIL(err, GREBE_EINVAL,
                          "%s: a file: expected a folder, or a format (csv, json, parquet, …) whose data_files it is", p->base);
    }
    if (!is_folder) {
        return GREBE_FAIL(err, GREBE_ENOTFOUND, "%s: no such folder%s", p->base,
                          is_hub_name(path) ? ", and nothing is fetched from a hub" : "");
    }
    st = plan_folder(p, data_files, given, err);
out:
    return st;
}

static grebe_status check_saved(struct load_plan *p, const char *path, grebe_error *err)
{
    bool is_saved = has_file(p, path, "state.json") || has_file(p, path, "dataset_dict.json");
    return is_saved ? GREBE_FAIL(err, GREBE_EINVAL, "%s: a saved data set: expected load_from_disk", path) : GREBE_OK;
}

static grebe_status make_plan(struct load_plan *p, const char *path, const grebe_load_options *options, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const struct json_value *data_files = NULL, *given = NULL;
    p->options = (grebe_load_options)GREBE_LOAD_OPTIONS_INIT;
    GREBE_TRY(options_copy(&p->options, sizeof p->options, options, err));
    GREBE_TRY(io_local_new(p->ctx, &p->store, err));
    GREBE_TRY(parse_member(p, "data_files", p->options.data_files, &data_files, err));
    GREBE_TRY(parse_member(p, "format_options", p->options.format_options, &given, err));
    if (data_files != NULL && data_files->type == JSON_NULL) {
        data_files = NULL;
    }
    if (given != NULL && given->type != JSON_OBJECT) {
        st = GREBE_FAIL(err, GREBE_EINVAL, "format_options: expected an object, found %s", json_type_name(given->type));
        goto out;
    }
    if (p->options.features != NULL) {
        st = features_from_json(p->ctx->a, p->options.features, strlen(p->options.features), &p->features, err);
        if (st != GREBE_OK) {
            error_wrap(err, st, "features");
            goto out;
        }
    }
    GREBE_TRY(check_saved(p, path, err));
    GREBE_TRY(route(p, path, data_files, given, err));
    GREBE_TRY(name_config(p, err));
    st = hash_files(p, err);
out:
    return st;
}

grebe_status load_plan_new(grebe_context *ctx, const char *path, const grebe_load_options *options, struct load_plan **out,
                           grebe_error *err)
{
    *out = NULL;
    struct load_plan *p = mem_alloc_zero(ctx->a, sizeof *p);
    if (p == NULL) {
        return no_memory(err);
    }
    p->ctx = ctx;
    p->arena = ARENA_INIT(ctx->a);
    grebe_status st = make_plan(p, path, options, err);
    if (st != GREBE_OK) {
        load_plan_free(p);
        return st;
    }
    *out = p;
    return GREBE_OK;
}

grebe_status load_plan_builder(struct load_plan *p, const grebe_call_options *call, struct builder **out, grebe_error *err)
{
    struct builder_files *splits = arena_array(&p->arena, p->files.n, sizeof *splits);
    struct builder_request *request = arena_alloc_zero(&p->arena, sizeof *request);
    if (splits == NULL || request == NULL) {
        return no_memory(err);
    }
    for (size_t i = 0; i < p->files.n; i++) {
        const struct load_files *files = &p->files.splits[i].files;
        const char **paths = arena_array(&p->arena, files->n, sizeof *paths);
        if (paths == NULL) {
            return no_memory(err);
        }
        for (size_t k = 0; k < files->n; k++) {
            paths[k] = files->items[k].path;
        }
        splits[i] = (struct builder_files){ p->files.splits[i].split, paths, files->n };
    }
    *request = (struct builder_request){ .options = p->format_options, .features = p->features, .splits = splits,
                                         .n_splits = p->files.n, .base = p->base, .call = call };
    return builder_open(p->ctx, p->kind, request, out, err);
}
