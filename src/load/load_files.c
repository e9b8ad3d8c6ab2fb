/* SPDX-License-Identifier: Apache-2.0 */
/* The files that patterns find, without those that are not data. */
#include "load/load_patterns.h"

#include <string.h>

#include "base/name_index.h"

static grebe_status no_memory(grebe_error *err) { return mem_fail(err, 64, "data files"); }

const char *load_pattern_below(struct arena *ar, const char *base, const char *rest)
{
    struct buf b = BUF_INIT(ar->a);
    const char *out = NULL;
    bool has_slash = base[0] != '\0' && base[strlen(base) - 1] == '/';
    if (load_glob_escape(&b, base, NULL) == GREBE_OK && buf_printf(&b, NULL, "%s%s", has_slash ? "" : "/", rest) == GREBE_OK) {
        out = arena_str(ar, (const char *)b.data, b.len);
    }
    buf_release(&b);
    return out;
}

/* ---- files that are not data ---- */

static bool is_ignored_name(const char *name)
{
    static const char *const ignored[] = { "README.md",       "config.json",    "dataset_info.json", "dataset_infos.json",
                                           "dummy_data.zip", "dataset_dict.json" };
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++) {
        if (strcmp(name, ignored[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* Parts that begin with a dot and are more than dots; folders that begin with two underscores. */
static void count_special(const char *path, size_t *n_hidden, size_t *n_special)
{
    *n_hidden = *n_special = 0;
    for (const char *p = path; *p != '\0';) {
        size_t len = strcspn(p, "/");
        bool is_dots = strspn(p, ".") >= len;
        *n_hidden += len > 0 && p[0] == '.' && !is_dots;
        *n_special += p[len] == '/' && len >= 2 && p[0] == '_' && p[1] == '_';
        p += len + (p[len] == '/');
    }
}

bool load_is_data(const char *path, const char *pattern)
{
    size_t hidden, special, hidden_pattern, special_pattern;
    const char *name = path_base_name(path);
    count_special(path, &hidden, &special);
    count_special(pattern, &hidden_pattern, &special_pattern);
    return hidden == hidden_pattern && special == special_pattern &&
           (!is_ignored_name(name) || strcmp(name, path_base_name(pattern)) == 0);
}

/* Whether one of the suffixes behind dots is allowed. */
static bool has_allowed_suffix(const char *name, load_extension_fn is_allowed)
{
    for (const char *dot = strchr(name, '.'); dot != NULL;) {
        const char *next = strchr(dot + 1, '.');
        size_t len = next != NULL ? (size_t)(next - dot) : strlen(dot);
        if (is_allowed(dot, len)) {
            return true;
        }
        dot = next;
    }
    return false;
}

/* ---- files ---- */

static grebe_status absolute_pattern(struct arena *ar, const char *base, const char *pattern, const char **out, grebe_error *err)
{
    struct buf b = BUF_INIT(ar->a);
    const char *joined = pattern[0] == '/' ? pattern : load_pattern_below(ar, base, pattern);
    grebe_status st = joined != NULL ? path_normalize(&b, joined, err) : no_memory(err);
    if (st == GREBE_OK) {
        *out = arena_str(ar, (const char *)b.data, b.len);
        st = *out != NULL ? GREBE_OK : no_memory(err);
    }
    buf_release(&b);
    return st;
}

/* known: what the folder holds; NULL: it is looked at. */
static grebe_status resolve_one(struct arena *ar, struct io_store *store, const char *base, const char *pattern,
                                const struct load_files *known, load_extension_fn is_allowed, struct load_files *out,
                                grebe_error *err)
{
    const char *full = NULL;
    struct load_files found = { NULL, 0, 0 };
    size_t before = out->n;
    if (path_scheme_len(pattern) > 0) {
        return GREBE_FAIL(err, GREBE_EUNSUPPORTED, "data files: %s: only files of this machine are read", pattern);
    }
    grebe_status st = absolute_pattern(ar, base, pattern, &full, err);
    if (st == GREBE_OK && known == NULL) {
        st = load_glob(ar, store, full, &found, err);
    } else if (st == GREBE_OK) {
        found = *known;
    }
    for (size_t i = 0; st == GREBE_OK && i < found.n; i++) {
        const char *path = found.items[i].path;
        if ((known == NULL || load_glob_matches(full, path)) && load_is_data(path, full) &&
            (is_allowed == NULL || has_allowed_suffix(path_base_name(path), is_allowed))) {
            st = load_files_put(ar, out, &found.items[i], err);
        }
    }
    if (st == GREBE_OK && out->n == before) {
        st = GREBE_FAIL(err, GREBE_ENOTFOUND, "unable to find \"%s\"%s", full,
                        is_allowed != NULL ? " with a suffix that a loader reads" : "");
    }
    return st;
}

/* Of a file that is there several times the first stays. */
static grebe_status drop_doubles(struct arena *ar, struct load_files *files, grebe_error *err)
{
    struct name_index seen = { 0 };
    size_t n = 0;
    grebe_status st = name_index_new(ar->a, files->n, &seen, err);
    for (size_t i = 0; st == GREBE_OK && i < files->n; i++) {
        bool is_there = false;
        st = name_index_add(&seen, files->items[i].path, i, &is_there, err);
        if (st == GREBE_OK && !is_there) {
            files->items[n++] = files->items[i];
        }
    }
    files->n = st == GREBE_OK ? n : files->n;
    name_index_release(&seen);
    return st;
}

static grebe_status resolve_split(struct arena *ar, struct io_store *store, const char *base, const struct load_patterns *p,
                                  const struct load_files *known, load_extension_fn is_allowed, struct load_files *out,
                                  grebe_error *err)
{
    grebe_status st = GREBE_OK;
    for (size_t i = 0; i < p->n; i++) {
        st = resolve_one(ar, store, base, p->patterns[i], known, is_allowed, out, err);
        if (st == GREBE_ENOTFOUND && load_glob_has_magic(p->patterns[i])) {
            continue; /* one of several patterns may find nothing */
        }
        if (st != GREBE_OK) {
            return st;
        }
    }
    return GREBE_OK;
}

grebe_status load_patterns_resolve(struct arena *ar, struct io_store *store, const char *base,
                                   const struct load_pattern_set *set, load_extension_fn is_allowed,
                                   struct load_file_set *out, grebe_error *err)
{
    size_t n_files = 0;
    out->n = 0;
    out->splits = arena_array(ar, set->n, sizeof *out->splits);
    if (out->splits == NULL) {
        return no_memory(err);
    }
    for (size_t i = 0; i < set->n; i++) {
        struct load_split_files *split = &out->splits[out->n++];
        split->split = set->splits[i].split;
        split->files = (struct load_files){ NULL, 0, 0 };
        grebe_status st = resolve_split(ar, store, base, &set->splits[i], set->is_default ? &set->all : NULL,
                                        is_allowed, &split->files, err);
        if (st == GREBE_OK && set->is_default) {
            st = drop_doubles(ar, &split->files, err);
        }
        if (st != GREBE_OK) {
            return st;
        }
        n_files += split->files.n;
    }
    if (n_files == 0 && !set->is_default) {
        return GREBE_FAIL(err, GREBE_ENOTFOUND, "unable to find \"%s\" in %s%s",
                          set->n > 0 && set->splits[0].n > 0 ? set->splits[0].patterns[0] : "", base,
                          is_allowed != NULL ? " with a suffix that a loader reads" : "");
    }
    return GREBE_OK;
}

grebe_status load_files_stat(struct io_store *store, struct load_file_set *set, grebe_error *err)
{
    for (size_t i = 0; i < set->n; i++) {
        for (size_t k = 0; k < set->splits[i].files.n; k++) {
            struct load_file *f = &set->splits[i].files.items[k];
            struct io_info info;
            grebe_status st = io_stat(store, f->path, &info, err);
            if (st != GREBE_OK) {
                return st;
            }
            f->size = info.id.size_bytes;
            f->modified_ns = info.id.modified_ns;
        }
    }
    return GREBE_OK;
}
