/* SPDX-License-Identifier: Apache-2.0 */
#include "load/load_patterns.h"

#include <stdlib.h>
#include <string.h>

#include "base/name_index.h"
#include "base/utf8.h"

static grebe_status no_memory(grebe_error *err) { return mem_fail(err, 64, "data files"); }

/* ---- names of splits ---- */

/* Letters, digits and '_'; letters beyond ASCII are words too. */
static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || (unsigned char)c >= 0x80;
}

bool load_is_split_name(const char *name, size_t len)
{
    bool is_after_word = false;
    for (size_t i = 0; i < len; i++) {
        if (name[i] == '.') {
            if (!is_after_word || i + 1 == len) {
                return false;
            }
            is_after_word = false;
        } else if (!is_word(name[i])) {
            return false;
        } else {
            is_after_word = true;
        }
    }
    return is_after_word;
}

static grebe_status check_split_name(const char *name, grebe_error *err)
{
    char quoted[64];
    if (load_is_split_name(name, strlen(name))) {
        return GREBE_OK;
    }
    return GREBE_FAIL(err, GREBE_EINVAL, "data files: \"%s\" is no name of a split: expected words joined by dots",
                      error_quote(quoted, sizeof quoted, name, strlen(name)));
}

/* ---- data_files ---- */

static grebe_status texts_of(struct arena *ar, const struct json_value *v, struct load_patterns *out, grebe_error *err)
{
    size_t n = v->type == JSON_ARRAY ? v->n : 1;
    const struct json_value *items = v->type == JSON_ARRAY ? v->items : v;
    const char **patterns = arena_array(ar, n, sizeof *patterns);
    if (patterns == NULL) {
        return no_memory(err);
    }
    for (size_t i = 0; i < n; i++) {
        if (items[i].type != JSON_STRING || strlen(items[i].text) != items[i].n) {
            return GREBE_FAIL(err, GREBE_EINVAL, "data files: expected a path, found %s", json_type_name(items[i].type));
        }
        patterns[i] = arena_str(ar, items[i].text, items[i].n);
        if (patterns[i] == NULL) {
            return no_memory(err);
        }
    }
    out->patterns = patterns;
    out->n = n;
    return GREBE_OK;
}

static grebe_status split_of(struct arena *ar, const char *name, const struct json_value *paths, struct load_patterns *out,
                             grebe_error *err)
{
    grebe_status st = check_split_name(name, err);
    if (st != GREBE_OK) {
        return st;
    }
    if (strcmp(name, "all") == 0) {
        return GREBE_FAIL(err, GREBE_EINVAL, "data files: \"all\" stands for all splits and cannot name one");
    }
    out->split = arena_str(ar, name, strlen(name));
    return out->split != NULL ? texts_of(ar, paths, out, err) : no_memory(err);
}

/* [{"split": …, "path": …}, …] */
static grebe_status entries_of(struct arena *ar, const struct json_value *v, struct load_pattern_set *out, grebe_error *err)
{
    for (size_t i = 0; i < v->n; i++) {
        const struct json_value *e = &v->items[i], *split = json_get(e, "split"), *path = json_get(e, "path");
        if (e->type != JSON_OBJECT || e->n != 2 || split == NULL || split->type == JSON_ARRAY || split->type == JSON_OBJECT ||
            split->type == JSON_NULL || path == NULL || (path->type != JSON_STRING && path->type != JSON_ARRAY)) {
            return GREBE_FAIL(err, GREBE_EINVAL,
                              "data files: entry %zu: expected {\"split\": name, \"path\": path or list of paths}", i);
        }
        const char *name = split->type == JSON_BOOL ? (split->boolean ? "True" : "False") : split->text;
        for (size_t k = 0; k < out->n; k++) {
            if (strcmp(out->splits[k].split, name) == 0) {
                return GREBE_FAIL(err, GREBE_EINVAL, "data files: split \"%s\" stands there twice", name);
            }
        }
        grebe_status st = split_of(ar, name, path, &out->splits[out->n], err);
        if (st != GREBE_OK) {
            return st;
        }
        out->n++;
    }
    return GREBE_OK;
}

grebe_status load_patterns_of(struct arena *ar, const struct json_value *v, struct load_pattern_set *out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    bool has_entries = false;
    *out = (struct load_pattern_set){ .is_default = false };
    if ((v->type != JSON_STRING && v->type != JSON_ARRAY && v->type != JSON_OBJECT) || v->n == 0) {
        return GREBE_FAIL(err, GREBE_EINVAL, "data files: expected a path, a list or an object of splits, found %s%s",
                          v->n == 0 ? "an empty " : "", json_type_name(v->type));
    }
    out->splits = arena_array(ar, v->n + 1, sizeof *out->splits);
    if (out->splits == NULL) {
        return no_memory(err);
    }
    for (size_t i = 0; v->type == JSON_ARRAY && i < v->n; i++) {
        has_entries = has_entries || v->items[i].type == JSON_OBJECT;
    }
    if (has_entries) {
        return entries_of(ar, v, out, err);
    }
    if (v->type != JSON_OBJECT) {
        out->n = 1;
        return split_of(ar, "train", v, out->splits, err);
    }
    for (size_t i = 0; st == GREBE_OK && i < v->n; i++) {
        st = split_of(ar, v->members[i].key, &v->members[i].value, &out->splits[i], err);
        out->n++;
    }
    return st;
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

static bool is_data(const char *path, const char *pattern)
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

/* ---- usual names ---- */

struct keywords {
    const char *split;
    const char *words[5];
};

static const struct keywords KEYWORDS[] = { { "train", { "train", "training", NULL } },
                                            { "validation", { "validation", "valid", "dev", "val", NULL } },
                                            { "test", { "test", "testing", "eval", "evaluation", NULL } } };
static const char SEPARATORS[] = "[-._ 0-9]";
static const char *const IN_FOLDERS[] = { "**/K/**", "**/KS*/**", "**/*SK/**", "**/*SKS*/**" };
static const char *const IN_NAMES[] = { "**/KS*", "**/*SKS*" };
static const char SHARDED[] = "data/*-[0-9][0-9][0-9][0-9][0-9]-of-[0-9][0-9][0-9][0-9][0-9]*.*";

/* What a folder holds, walked once, against patterns relative to it. */
struct look {
    struct arena *ar;
    const char *base;
    const struct load_files *all;
    grebe_error *err;
};

/* A pattern below a folder, whose own name stands for itself. */
static const char *pattern_below(struct arena *ar, const char *base, const char *rest)
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

/* word: stands in every path that fits, NULL: none is known. Few paths have it, and to look for it costs little. */
static grebe_status finds_any(const struct look *l, const char *pattern, const char *word, bool *out)
{
    const char *full = pattern_below(l->ar, l->base, pattern);
    size_t base_len = strlen(l->base);
    *out = false;
    if (full == NULL) {
        return no_memory(l->err);
    }
    for (size_t i = 0; i < l->all->n && !*out; i++) {
        const char *path = l->all->items[i].path;
        *out = (word == NULL || strstr(path + base_len, word) != NULL) && load_glob_matches(full, path) && is_data(path, full);
    }
    return GREBE_OK;
}

/* A form with K for the word and S for the separators. */
static const char *fill_in(struct arena *ar, const char *form, const char *word)
{
    struct buf b = BUF_INIT(ar->a);
    grebe_status st = GREBE_OK;
    for (const char *p = form; st == GREBE_OK && *p != '\0'; p++) {
        st = *p == 'K'   ? buf_put_text(&b, word, NULL)
             : *p == 'S' ? buf_put_text(&b, SEPARATORS, NULL)
                         : buf_put_byte(&b, (uint8_t)*p, NULL);
    }
    const char *out = st == GREBE_OK ? arena_str(ar, (const char *)b.data, b.len) : NULL;
    buf_release(&b);
    return out;
}

static grebe_status by_keywords(const struct look *l, const char *const *forms, size_t n_forms, struct load_pattern_set *out)
{
    out->splits = arena_array(l->ar, 3, sizeof *out->splits);
    if (out->splits == NULL) {
        return no_memory(l->err);
    }
    for (size_t k = 0; k < 3; k++) {
        size_t n = 0;
        bool is_found = false;
        const char **patterns = arena_array(l->ar, 4 * n_forms, sizeof *patterns);
        if (patterns == NULL) {
            return no_memory(l->err);
        }
        for (size_t w = 0; KEYWORDS[k].words[w] != NULL; w++) {
            for (size_t f = 0; f < n_forms; f++) {
                patterns[n] = fill_in(l->ar, forms[f], KEYWORDS[k].words[w]);
                if (patterns[n] == NULL) {
                    return no_memory(l->err);
                }
                if (!is_found) {
                    grebe_status st = finds_any(l, patterns[n], KEYWORDS[k].words[w], &is_found);
                    if (st != GREBE_OK) {
                        return st;
                    }
                }
                n++;
            }
        }
        if (is_found) {
            out->splits[out->n++] = (struct load_patterns){ KEYWORDS[k].split, patterns, n };
        }
    }
    return GREBE_OK;
}

static grebe_status by_patterns(const struct look *l, const char *split, const char *const *patterns, size_t n,
                                struct load_pattern_set *out)
{
    bool is_found = false;
    grebe_status st = GREBE_OK;
    for (size_t i = 0; st == GREBE_OK && i < n && !is_found; i++) {
        st = finds_any(l, patterns[i], NULL, &is_found);
    }
    if (st != GREBE_OK || !is_found) {
        return st;
    }
    out->splits = arena_array(l->ar, 1, sizeof *out->splits);
    if (out->splits == NULL) {
        return no_memory(l->err);
    }
    out->splits[out->n++] = (struct load_patterns){ split, patterns, n };
    return GREBE_OK;
}

/* ---- data/SPLIT-00000-of-00001.x ---- */

static int split_rank(const char *name)
{
    for (int i = 0; i < 3; i++) {
        if (strcmp(KEYWORDS[i].split, name) == 0) {
            return i;
        }
    }
    return 3;
}

static int by_split(const void *x, const void *y)
{
    const char *a = ((const struct load_patterns *)x)->split, *b = ((const struct load_patterns *)y)->split;
    int rank = split_rank(a) - split_rank(b);
    return rank != 0 ? rank : strcmp(a, b);
}

/* "-00000-of-00001" stands at p. */
static bool is_shard_number(const char *p)
{
    static const char form[] = "-dddddxofxddddd";
    for (size_t i = 0; form[i] != '\0'; i++) {
        bool fits = form[i] == 'd' ? p[i] >= '0' && p[i] <= '9' : form[i] == 'x' ? p[i] == '-' : p[i] == form[i];
        if (!fits) {
            return false;
        }
    }
    return true;
}

/* The name of the split that a file's name begins with, as long as it may be. */
static const char *shard_split(struct arena *ar, const char *name)
{
    const char *last = NULL;
    for (const char *p = strchr(name, '-'); p != NULL; p = strchr(p + 1, '-')) {
        if (is_shard_number(p) && strchr(p + 15, '.') != NULL) {
            last = p;
        }
    }
    return last != NULL ? arena_str(ar, name, (size_t)(last - name)) : NULL;
}

static grebe_status add_shard_split(const struct look *l, const char *name, size_t capacity, struct load_pattern_set *out)
{
    for (size_t i = 0; i < out->n; i++) {
        if (strcmp(out->splits[i].split, name) == 0) {
            return GREBE_OK;
        }
    }
    grebe_status st = check_split_name(name, l->err);
    if (st != GREBE_OK) {
        return st;
    }
    struct buf b = BUF_INIT(l->ar->a);
    const char **patterns = arena_array(l->ar, 1, sizeof *patterns);
    st = buf_printf(&b, l->err, "data/%s%s", name, strchr(SHARDED, '-'));
    if (st == GREBE_OK && patterns != NULL) {
        patterns[0] = arena_str(l->ar, (const char *)b.data, b.len);
    }
    buf_release(&b);
    if (st != GREBE_OK || patterns == NULL || patterns[0] == NULL || out->n >= capacity) {
        return no_memory(l->err);
    }
    out->splits[out->n++] = (struct load_patterns){ name, patterns, 1 };
    return GREBE_OK;
}

static grebe_status by_shards(const struct look *l, struct load_pattern_set *out)
{
    grebe_status st = GREBE_OK;
    const char *full = pattern_below(l->ar, l->base, SHARDED);
    out->splits = arena_array(l->ar, l->all->n, sizeof *out->splits);
    if (full == NULL || out->splits == NULL) {
        return no_memory(l->err);
    }
    for (size_t i = 0; st == GREBE_OK && i < l->all->n; i++) {
        const char *path = l->all->items[i].path;
        if (load_glob_matches(full, path) && is_data(path, full)) {
            const char *name = shard_split(l->ar, path_base_name(path));
            if (name != NULL) {
                st = add_shard_split(l, name, l->all->n, out);
            }
        }
    }
    if (out->n > 1) {
        qsort(out->splits, out->n, sizeof *out->splits, by_split);
    }
    return st;
}

grebe_status load_patterns_default(struct arena *ar, struct io_store *store, const char *base, struct load_pattern_set *out,
                                   grebe_error *err)
{
    static const char *const logs[] = { "**/*.eval" }, *const harbor[] = { "**/task.toml", "**/instruction.md" },
                             *const all_files[] = { "**" };
    *out = (struct load_pattern_set){ .is_default = true };
    grebe_status st = load_walk(ar, store, base, 0, &out->all, err);
    struct look l = { ar, base, &out->all, err };
    for (int attempt = 0; st == GREBE_OK && out->n == 0 && attempt < 6; attempt++) {
        switch (attempt) {
        case 0: st = by_shards(&l, out); break;
        case 1: st = by_patterns(&l, "logs", logs, 1, out); break;
        case 2: st = by_patterns(&l, "test", harbor, 2, out); break;
        case 3: st = by_keywords(&l, IN_FOLDERS, 4, out); break;
        case 4: st = by_keywords(&l, IN_NAMES, 2, out); break;
        default: st = by_patterns(&l, "train", all_files, 1, out); break;
        }
    }
    if (st == GREBE_OK && out->n == 0) {
        st = GREBE_FAIL(err, GREBE_ENOTFOUND, "%s: the folder has no data files", base);
    }
    return st;
}

/* ---- files ---- */

static grebe_status absolute_pattern(struct arena *ar, const char *base, const char *pattern, const char **out, grebe_error *err)
{
    struct buf b = BUF_INIT(ar->a);
    const char *joined = pattern[0] == '/' ? pattern : pattern_below(ar, base, pattern);
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
        if ((known == NULL || load_glob_matches(full, path)) && is_data(path, full) &&
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
