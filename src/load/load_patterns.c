/* SPDX-License-Identifier: Apache-2.0 */
/* What a caller or a README names as data files: splits and their patterns. */
#include "load/load_patterns.h"

#include <string.h>

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

grebe_status load_check_split_name(const char *name, grebe_error *err)
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
    grebe_status st = load_check_split_name(name, err);
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
