/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/graph_yaml.h"

#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "base/number.h"
#include "wire/json.h"

/* ---- what a plain scalar is: the resolver of PyYAML ---- */

static bool is_word(const char *text, const char *lower, const char *title, const char *upper)
{
    return strcmp(text, lower) == 0 || strcmp(text, title) == 0 || strcmp(text, upper) == 0;
}

static bool is_null(const char *s)
{
    return s[0] == '\0' || strcmp(s, "~") == 0 || is_word(s, "null", "Null", "NULL");
}

static bool bool_of(const char *s, bool *out)
{
    *out = is_word(s, "true", "True", "TRUE") || is_word(s, "yes", "Yes", "YES") || is_word(s, "on", "On", "ON");
    return *out || is_word(s, "false", "False", "FALSE") || is_word(s, "no", "No", "NO") ||
           is_word(s, "off", "Off", "OFF");
}

/* Digits of a base with underscores, to the end. */
static bool digits_of(const char *s, unsigned base, uint64_t *out)
{
    uint64_t v = 0;
    if (*s == '\0') {
        return false;
    }
    for (; *s != '\0'; s++) {
        unsigned d = *s >= '0' && *s <= '9'   ? (unsigned)(*s - '0')
                     : *s >= 'a' && *s <= 'f' ? (unsigned)(*s - 'a') + 10
                     : *s >= 'A' && *s <= 'F' ? (unsigned)(*s - 'A') + 10
                                              : 99;
        if (*s == '_') {
            continue;
        }
        if (d >= base || __builtin_mul_overflow(v, (uint64_t)base, &v) || __builtin_add_overflow(v, (uint64_t)d, &v)) {
            return false;
        }
    }
    *out = v;
    return true;
}

/* 1:30 is ninety: digits to base 60. */
static bool sixties_of(const char *s, uint64_t *out)
{
    uint64_t v = 0;
    if (*s < '1' || *s > '9' || strchr(s, ':') == NULL) {
        return false;
    }
    for (bool is_first = true;; is_first = false) {
        size_t n = strspn(s, is_first ? "0123456789_" : "0123456789");
        uint64_t part = 0;
        for (size_t i = 0; i < n; i++) {
            if (s[i] != '_' && (__builtin_mul_overflow(part, (uint64_t)10, &part) ||
                                __builtin_add_overflow(part, (uint64_t)(s[i] - '0'), &part))) {
                return false;
            }
        }
        if (n == 0 || (!is_first && (n > 2 || part > 59)) || __builtin_mul_overflow(v, (uint64_t)60, &v) ||
            __builtin_add_overflow(v, part, &v)) {
            return false;
        }
        s += n;
        if (*s == '\0') {
            *out = v;
            return true;
        }
        if (*s++ != ':') {
            return false;
        }
    }
}

static bool int_of(const char *s, int64_t *out)
{
    bool is_negative = *s == '-';
    uint64_t v = 0;
    s += *s == '-' || *s == '+' ? 1 : 0;
    if (*s < '0' || *s > '9') {
        return false;
    }
    bool fits = s[0] == '0' && s[1] == 'b'    ? digits_of(s + 2, 2, &v)
                : s[0] == '0' && s[1] == 'x'  ? digits_of(s + 2, 16, &v)
                : s[0] == '0' && s[1] != '\0' ? digits_of(s + 1, 8, &v)
                                              : digits_of(s, 10, &v) || sixties_of(s, &v);
    if (!fits || v > (uint64_t)INT64_MAX) {
        return false;
    }
    *out = is_negative ? -(int64_t)v : (int64_t)v;
    return true;
}

/* [-+]? digits . digits (e[-+]digits)?, with underscores; .inf, .nan. */
static bool float_of(const char *s, double *out)
{
    char clean[64];
    size_t n = 0;
    const char *begin = s, *p = s + (*s == '-' || *s == '+' ? 1 : 0);
    if (is_word(p, ".inf", ".Inf", ".INF")) {
        *out = *begin == '-' ? -INFINITY : INFINITY;
        return true;
    }
    if (is_word(begin, ".nan", ".NaN", ".NAN")) {
        *out = NAN;
        return true;
    }
    size_t whole = strspn(p, "0123456789_");
    if ((whole > 0 && p[0] == '_') || p[whole] != '.' || (whole == 0 && (p[1] < '0' || p[1] > '9'))) {
        return false;
    }
    size_t rest = whole + 1 + strspn(p + whole + 1, "0123456789_");
    if (p[rest] == 'e' || p[rest] == 'E') {
        size_t digits = p[rest + 1] == '-' || p[rest + 1] == '+' ? strspn(p + rest + 2, "0123456789") : 0;
        if (digits == 0) {
            return false;
        }
        rest += 2 + digits;
    }
    if (p[rest] != '\0') {
        return false;
    }
    for (const char *c = begin; *c != '\0' && n < sizeof clean; c++) {
        if (*c != '_') {
            clean[n++] = *c;
        }
    }
    return n < sizeof clean && number_parse_double(clean, n, out);
}

static struct graph_yaml_scalar plain_of(const char *s, size_t n)
{
    struct graph_yaml_scalar x = { .kind = GRAPH_YAML_TEXT };
    if (strlen(s) != n) {
        return x;
    }
    x.kind = is_null(s)               ? GRAPH_YAML_NULL
             : bool_of(s, &x.boolean) ? GRAPH_YAML_BOOL
             : int_of(s, &x.integer)  ? GRAPH_YAML_INT
             : float_of(s, &x.real)   ? GRAPH_YAML_FLOAT
                                      : GRAPH_YAML_TEXT;
    return x;
}

struct graph_yaml_scalar graph_yaml_scalar_of(const struct yaml_tree *t)
{
    if (t == NULL) {
        return (struct graph_yaml_scalar){ .kind = GRAPH_YAML_NULL };
    }
    if (t->type != YAML_TREE_SCALAR) {
        return (struct graph_yaml_scalar){ .kind = GRAPH_YAML_OTHER };
    }
    return t->is_plain ? plain_of(t->text, t->n) : (struct graph_yaml_scalar){ .kind = GRAPH_YAML_TEXT };
}

/* ---- merge keys ---- */

static bool is_merge(const struct yaml_tree *key)
{
    return key->is_plain && key->n == 2 && memcmp(key->text, "<<", 2) == 0;
}

static size_t n_pairs(const struct yaml_tree *t) { return t->type == YAML_TREE_MAP ? t->n : 0; }

/* Pairs that "<<" names, those that are there already too; 0: there is no "<<". */
static size_t merged_pairs(const struct yaml_tree *map)
{
    size_t n = 0;
    for (size_t i = 0; i < map->n; i++) {
        const struct yaml_tree *v = map->pairs[i].value;
        if (is_merge(map->pairs[i].key)) {
            n += 1 + n_pairs(v);
            for (size_t k = 0; v->type == YAML_TREE_LIST && k < v->n; k++) {
                n += n_pairs(v->items[k]);
            }
        }
    }
    return n;
}

/* What a map becomes. */
struct merging {
    struct yaml_pair *pairs;
    size_t n, room;
    const char *name;
};

/* A key that is there already stays as it is. */
static grebe_status add_pairs(struct merging *to, const struct yaml_tree *map, const struct yaml_tree *at, grebe_error *err)
{
    for (size_t i = 0; i < n_pairs(map); i++) {
        const struct yaml_pair *p = &map->pairs[i];
        bool is_there = is_merge(p->key);
        for (size_t k = 0; k < to->n && !is_there; k++) {
            const struct yaml_tree *key = to->pairs[k].key;
            is_there = key->n == p->key->n && memcmp(key->text, p->key->text, p->key->n) == 0;
        }
        if (is_there) {
            continue;
        }
        if (to->n == to->room) {
            return GREBE_FAIL(err, GREBE_ELIMIT, "%s:%u:%u: more names in one map than the limit of %d", to->name, (unsigned)at->line,
                              (unsigned)at->column, YAML_TREE_KEYS_MAX);
        }
        to->pairs[to->n++] = *p;
    }
    return GREBE_OK;
}

/* Its own names first, then those of "<<" in their order. */
static grebe_status merge_map(struct arena *ar, const char *name, const struct yaml_tree *t, const struct yaml_tree **out,
                              grebe_error *err)
{
    struct yaml_tree *made = arena_alloc(ar, sizeof *made);
    struct merging to = { .room = min_size(t->n + merged_pairs(t), YAML_TREE_KEYS_MAX), .name = name };
    to.pairs = arena_array(ar, to.room, sizeof *to.pairs);
    if (made == NULL || to.pairs == NULL) {
        return mem_fail(err, to.room * sizeof *to.pairs, name);
    }
    grebe_status st = add_pairs(&to, t, t, err);
    for (size_t i = 0; i < t->n && st == GREBE_OK; i++) {
        const struct yaml_tree *v = t->pairs[i].value;
        if (!is_merge(t->pairs[i].key)) {
            continue;
        }
        if (v->type == YAML_TREE_SCALAR) {
            return GREBE_FAIL(err, GREBE_ECORRUPT, "%s:%u:%u: \"<<\" takes a map, or a list of maps", name,
                              (unsigned)v->line, (unsigned)v->column);
        }
        st = v->type == YAML_TREE_MAP ? add_pairs(&to, v, v, err) : st;
        for (size_t k = 0; v->type == YAML_TREE_LIST && k < v->n && st == GREBE_OK; k++) {
            st = add_pairs(&to, v->items[k], v, err);
        }
    }
    *made = *t;
    made->pairs = to.pairs;
    made->n = to.n;
    *out = made;
    return st;
}

static grebe_status merge_values(struct arena *ar, const char *name, const struct yaml_tree *t, const struct yaml_tree **out,
                                 grebe_error *err)
{
    struct yaml_tree *made = NULL;
    struct yaml_pair *pairs = NULL;
    *out = t;
    for (size_t i = 0; i < t->n; i++) {
        const struct yaml_tree *value = NULL;
        grebe_status st = graph_yaml_merge(ar, name, t->pairs[i].value, &value, err);
        if (st != GREBE_OK) {
            return st;
        }
        if (value == t->pairs[i].value) {
            continue;
        }
        if (made == NULL) {
            made = arena_alloc(ar, sizeof *made);
            pairs = arena_array(ar, t->n, sizeof *pairs);
            if (made == NULL || pairs == NULL) {
                return mem_fail(err, t->n * sizeof *pairs, name);
            }
            memcpy(pairs, t->pairs, t->n * sizeof *pairs);
            *made = *t;
            made->pairs = pairs;
            *out = made;
        }
        pairs[i].value = value;
    }
    return GREBE_OK;
}

static grebe_status merge_items(struct arena *ar, const char *name, const struct yaml_tree *t, const struct yaml_tree **out,
                                grebe_error *err)
{
    struct yaml_tree *made = NULL;
    const struct yaml_tree **items = NULL;
    *out = t;
    for (size_t i = 0; i < t->n; i++) {
        const struct yaml_tree *item = NULL;
        grebe_status st = graph_yaml_merge(ar, name, t->items[i], &item, err);
        if (st != GREBE_OK) {
            return st;
        }
        if (item == t->items[i]) {
            continue;
        }
        if (made == NULL) {
            made = arena_alloc(ar, sizeof *made);
            items = arena_array(ar, t->n, sizeof *items);
            if (made == NULL || items == NULL) {
                return mem_fail(err, t->n * sizeof *items, name);
            }
            memcpy(items, t->items, t->n * sizeof *items);
            *made = *t;
            made->items = items;
            *out = made;
        }
        items[i] = item;
    }
    return GREBE_OK;
}

/* Depth is bounded by YAML_TREE_DEPTH_MAX (merging puts nothing deeper), work by YAML_TREE_NODES_MAX. */
grebe_status graph_yaml_merge(struct arena *ar, const char *name, const struct yaml_tree *t, const struct yaml_tree **out,
                              grebe_error *err)
{
    grebe_status st = GREBE_OK;
    *out = t;
    if (t->type == YAML_TREE_LIST) {
        return merge_items(ar, name, t, out, err);
    }
    if (t->type == YAML_TREE_MAP) {
        st = merged_pairs(t) > 0 ? merge_map(ar, name, t, &t, err) : GREBE_OK;
        return st == GREBE_OK ? merge_values(ar, name, t, out, err) : st;
    }
    return GREBE_OK;
}

/* ---- JSON ---- */

static void put_json(struct json_writer *w, const struct yaml_tree *t)
{
    struct graph_yaml_scalar x = graph_yaml_scalar_of(t);
    if (t->type == YAML_TREE_LIST) {
        json_open_array(w);
        for (size_t i = 0; i < t->n; i++) {
            put_json(w, t->items[i]);
        }
        json_close_array(w);
    } else if (t->type == YAML_TREE_MAP) {
        json_open_object(w);
        for (size_t i = 0; i < t->n; i++) {
            json_key_len(w, t->pairs[i].key->text, t->pairs[i].key->n);
            put_json(w, t->pairs[i].value);
        }
        json_close_object(w);
    } else if (x.kind == GRAPH_YAML_NULL) {
        json_null(w);
    } else if (x.kind == GRAPH_YAML_BOOL) {
        json_bool(w, x.boolean);
    } else if (x.kind == GRAPH_YAML_INT) {
        json_int(w, x.integer);
    } else if (x.kind == GRAPH_YAML_FLOAT) {
        json_real(w, x.real);
    } else {
        json_text_len(w, t->text, t->n);
    }
}

grebe_status graph_yaml_to_json(struct buf *dst, const struct yaml_tree *t, grebe_error *err)
{
    struct json_writer w;
    json_begin(&w, dst, 0, err);
    put_json(&w, t);
    return json_end(&w);
}

/* ---- making trees ---- */

struct yaml_tree graph_yaml_text(const char *text)
{
    return (struct yaml_tree){ .type = YAML_TREE_SCALAR, .n = strlen(text), .text = text };
}

struct yaml_tree graph_yaml_plain(const char *text)
{
    return (struct yaml_tree){ .type = YAML_TREE_SCALAR, .is_plain = true, .n = strlen(text), .text = text };
}

const struct yaml_tree *graph_yaml_set(struct arena *ar, const struct yaml_tree *map, const char *key,
                                       const struct yaml_tree *value)
{
    struct yaml_tree *out = arena_alloc(ar, sizeof *out), *name = arena_alloc(ar, sizeof *name), *copy = arena_alloc(ar, sizeof *copy);
    struct yaml_pair *pairs = arena_array(ar, map->n + 1, sizeof *pairs);
    size_t n = 0;
    bool is_set = value == NULL;
    if (out == NULL || name == NULL || copy == NULL || pairs == NULL) {
        return NULL;
    }
    if (value != NULL) {
        *copy = *value;
    }
    for (size_t i = 0; i < map->n; i++) {
        const struct yaml_tree *k = map->pairs[i].key;
        bool is_it = k->n == strlen(key) && memcmp(k->text, key, k->n) == 0;
        if (is_it && value == NULL) {
            continue;
        }
        pairs[n++] = is_it ? (struct yaml_pair){ k, copy } : map->pairs[i];
        is_set = is_set || is_it;
    }
    if (!is_set) {
        *name = graph_yaml_text(key);
        pairs[n++] = (struct yaml_pair){ name, copy };
    }
    *out = *map;
    out->pairs = pairs;
    out->n = n;
    return out;
}

const struct yaml_tree *graph_yaml_set_all(struct arena *ar, const struct yaml_tree *map, const struct yaml_tree *more)
{
    struct yaml_tree *out = arena_alloc(ar, sizeof *out);
    struct yaml_pair *pairs = arena_array(ar, map->n + more->n, sizeof *pairs);
    size_t n = 0;
    if (out == NULL || pairs == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < map->n; i++) {
        if (yaml_tree_get(more, map->pairs[i].key->text) == NULL) {
            pairs[n++] = map->pairs[i];
        }
    }
    if (more->n > 0) {
        memcpy(pairs + n, more->pairs, more->n * sizeof *pairs);
    }
    *out = *map;
    out->pairs = pairs;
    out->n = n + more->n;
    return out;
}
