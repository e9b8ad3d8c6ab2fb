/* SPDX-License-Identifier: Apache-2.0 */
/* The usual names of files and folders: which splits they tell of. */
#include "load/load_patterns.h"

#include <stdlib.h>
#include <string.h>

static grebe_status no_memory(grebe_error *err) { return mem_fail(err, 64, "data files"); }

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

/* word: stands in every path that fits, NULL: none is known. Few paths have it, and to look for it costs little. */
static grebe_status finds_any(const struct look *l, const char *pattern, const char *word, bool *out)
{
    const char *full = load_pattern_below(l->ar, l->base, pattern);
    size_t base_len = strlen(l->base);
    *out = false;
    if (full == NULL) {
        return no_memory(l->err);
    }
    for (size_t i = 0; i < l->all->n && !*out; i++) {
        const char *path = l->all->items[i].path;
        *out = (word == NULL || strstr(path + base_len, word) != NULL) && load_glob_matches(full, path) && load_is_data(path, full);
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
    grebe_status st = load_check_split_name(name, l->err);
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
    const char *full = load_pattern_below(l->ar, l->base, SHARDED);
    out->splits = arena_array(l->ar, l->all->n, sizeof *out->splits);
    if (full == NULL || out->splits == NULL) {
        return no_memory(l->err);
    }
    for (size_t i = 0; st == GREBE_OK && i < l->all->n; i++) {
        const char *path = l->all->items[i].path;
        if (load_glob_matches(full, path) && load_is_data(path, full)) {
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
