/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/yaml_tree.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/ascii.h"
#include "base/name_chain.h"
#include "base/number.h"

#if GREBE_HAVE_YAML

#include <yaml.h>

/* A list or map that is being read. Items gather in a chain of the arena; their number is known at its end. */
struct cell {
    struct cell *next;
    const struct yaml_tree *tree;
};

struct level {
    struct yaml_tree *head;
    struct cell *first, **last;
    size_t n;
    uint64_t weight;    /* nodes when aliases are written out */
    const char *anchor;
};

struct anchor {
    const struct yaml_tree *tree;
    uint64_t weight;
};

struct reader {
    struct arena *ar;
    const char *name;
    yaml_parser_t parser;
    struct level levels[YAML_TREE_DEPTH_MAX];
    size_t depth;
    struct name_chain anchors; /* to addresses of struct anchor */
    const struct yaml_tree *root; /* NULL: none yet */
    uint64_t total;
};

static grebe_status fail_at(const struct reader *r, const yaml_mark_t *at, grebe_status st, const char *what,
                            grebe_error *err)
{
    return GREBE_FAIL(err, st, "%s:%zu:%zu: %s", r->name, at->line + 1, at->column + 1, what);
}

static grebe_status syntax(const struct reader *r, grebe_error *err)
{
    char text[200];
    const yaml_parser_t *p = &r->parser;
    if (p->error == YAML_MEMORY_ERROR) {
        return mem_fail(err, 0, r->name);
    }
    if (p->error == YAML_READER_ERROR) { /* its mark is not set */
        return GREBE_FAIL(err, GREBE_ECORRUPT, "%s: byte %zu: %s", r->name, p->problem_offset,
                          p->problem == NULL ? "no text" : p->problem);
    }
    snprintf(text, sizeof text, "%s%s%s", p->problem == NULL ? "no YAML" : p->problem, p->context == NULL ? "" : " ",
             p->context == NULL ? "" : p->context);
    return fail_at(r, &p->problem_mark, GREBE_ECORRUPT, text, err);
}

static char *copy_name(struct reader *r, const unsigned char *name)
{
    return name == NULL ? NULL : arena_str(r->ar, (const char *)name, strlen((const char *)name));
}

static grebe_status keep_anchor(struct reader *r, const char *name, const struct yaml_tree *tree, uint64_t weight,
                                grebe_error *err)
{
    struct anchor *a = name == NULL ? NULL : arena_alloc(r->ar, sizeof *a);
    if (name == NULL) {
        return GREBE_OK;
    }
    if (a == NULL) {
        return mem_fail(err, sizeof *a, r->name);
    }
    *a = (struct anchor){ tree, weight };
    return name_chain_add(&r->anchors, r->ar, name, (size_t)(uintptr_t)a) ? GREBE_OK : mem_fail(err, sizeof *a, r->name);
}

static bool is_key(const struct level *l)
{
    return l->head->type == YAML_TREE_MAP && l->n % 2 == 0;
}

/* A finished node goes to the list or map that is open. */
static grebe_status add(struct reader *r, const struct yaml_tree *tree, uint64_t weight, const yaml_mark_t *at,
                        grebe_error *err)
{
    r->total += weight;
    if (r->total > YAML_TREE_NODES_MAX) {
        return fail_at(r, at, GREBE_ELIMIT, "more values than the limit of 1048576, aliases written out", err);
    }
    if (r->depth == 0) {
        r->root = tree;
        return GREBE_OK;
    }
    struct level *l = &r->levels[r->depth - 1];
    if (is_key(l)) {
        if (tree->type != YAML_TREE_SCALAR) {
            return fail_at(r, at, GREBE_ECORRUPT, "expected a name as key, found a list or map", err);
        }
        if (l->n / 2 >= YAML_TREE_KEYS_MAX) {
            return fail_at(r, at, GREBE_ELIMIT, "more names in one map than the limit of 4096", err);
        }
        bool is_at_key = true;
        for (const struct cell *c = l->first; c != NULL; c = c->next, is_at_key = !is_at_key) {
            if (is_at_key && c->tree->n == tree->n && memcmp(c->tree->text, tree->text, tree->n) == 0) {
                char text[160], quoted[96];
                snprintf(text, sizeof text, "a key that is there already: %s, on line %u",
                         error_quote(quoted, sizeof quoted, tree->text, tree->n), (unsigned)c->tree->line);
                return fail_at(r, at, GREBE_ECORRUPT, text, err);
            }
        }
    }
    struct cell *c = arena_alloc(r->ar, sizeof *c);
    if (c == NULL) {
        return mem_fail(err, sizeof *c, r->name);
    }
    *c = (struct cell){ NULL, tree };
    *l->last = c;
    l->last = &c->next;
    l->n++;
    l->weight += weight;
    return GREBE_OK;
}

static struct yaml_tree *new_node(struct reader *r, enum yaml_type type, const yaml_mark_t *at)
{
    struct yaml_tree *tree = arena_alloc(r->ar, sizeof *tree);
    if (tree != NULL) {
        *tree = (struct yaml_tree){ .type = type, .line = (uint32_t)at->line + 1, .column = (uint32_t)at->column + 1 };
    }
    return tree;
}

static grebe_status open_level(struct reader *r, enum yaml_type type, const unsigned char *anchor, const yaml_mark_t *at,
                               grebe_error *err)
{
    if (r->depth == YAML_TREE_DEPTH_MAX) {
        return fail_at(r, at, GREBE_ELIMIT, "deeper than the limit of 64 lists and maps", err);
    }
    struct level *l = &r->levels[r->depth++];
    *l = (struct level){ .head = new_node(r, type, at), .weight = 1 };
    l->last = &l->first;
    l->anchor = copy_name(r, anchor);
    return l->head == NULL || (anchor != NULL && l->anchor == NULL) ? mem_fail(err, sizeof *l->head, r->name) : GREBE_OK;
}

static grebe_status close_level(struct reader *r, const yaml_mark_t *at, grebe_error *err)
{
    struct level *l = &r->levels[--r->depth];
    struct yaml_tree *tree = l->head;
    const struct cell *c = l->first;
    if (tree->type == YAML_TREE_LIST) {
        const struct yaml_tree **items = arena_array(r->ar, l->n, sizeof *items);
        if (items == NULL) {
            return mem_fail(err, l->n * sizeof *items, r->name);
        }
        for (size_t i = 0; i < l->n; i++, c = c->next) {
            items[i] = c->tree;
        }
        tree->items = items;
        tree->n = l->n;
    } else {
        struct yaml_pair *pairs = arena_array(r->ar, l->n / 2, sizeof *pairs);
        if (pairs == NULL) {
            return mem_fail(err, l->n * sizeof *pairs, r->name);
        }
        for (size_t i = 0; i < l->n / 2; i++, c = c->next->next) {
            pairs[i] = (struct yaml_pair){ c->tree, c->next->tree };
        }
        tree->pairs = pairs;
        tree->n = l->n / 2;
    }
    uint64_t weight = l->weight;
    r->total -= weight - 1; /* its members were counted one by one; add() counts the whole */
    grebe_status st = keep_anchor(r, l->anchor, tree, weight, err);
    return st == GREBE_OK ? add(r, tree, weight, at, err) : st;
}

static bool is_text_tag(const yaml_char_t *tag)
{
    return tag != NULL && (strcmp((const char *)tag, "!") == 0 || strcmp((const char *)tag, "tag:yaml.org,2002:str") == 0);
}

static grebe_status add_scalar(struct reader *r, const yaml_event_t *e, grebe_error *err)
{
    struct yaml_tree *tree = new_node(r, YAML_TREE_SCALAR, &e->start_mark);
    char *text = arena_str(r->ar, (const char *)e->data.scalar.value, e->data.scalar.length);
    char *anchor = copy_name(r, e->data.scalar.anchor);
    if (tree == NULL || text == NULL || (e->data.scalar.anchor != NULL && anchor == NULL)) {
        return mem_fail(err, e->data.scalar.length, r->name);
    }
    tree->is_plain = e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE && !is_text_tag(e->data.scalar.tag);
    tree->text = text;
    tree->n = e->data.scalar.length;
    grebe_status st = keep_anchor(r, anchor, tree, 1, err);
    return st == GREBE_OK ? add(r, tree, 1, &e->start_mark, err) : st;
}

static grebe_status add_alias(struct reader *r, const yaml_event_t *e, grebe_error *err)
{
    const size_t found = name_chain_find(&r->anchors, (const char *)e->data.alias.anchor);
    const struct anchor *a = found != SIZE_MAX ? (const struct anchor *)(uintptr_t)found : NULL;
    return a != NULL ? add(r, a->tree, a->weight, &e->start_mark, err)
                     : fail_at(r, &e->start_mark, GREBE_ECORRUPT, "an alias of something that was not there before", err);
}

/* "!!str", "!!map" and their kin say what is seen anyway; whatever else asks for something to be made, which nobody does here. */
static grebe_status check_tag(const struct reader *r, const yaml_event_t *e, grebe_error *err)
{
    static const char *const core[] = { "str", "int", "float", "bool", "null", "seq", "map" };
    static const char prefix[] = "tag:yaml.org,2002:";
    char text[160], quoted[96];
    const yaml_char_t *t = e->type == YAML_SCALAR_EVENT           ? e->data.scalar.tag
                           : e->type == YAML_SEQUENCE_START_EVENT ? e->data.sequence_start.tag
                           : e->type == YAML_MAPPING_START_EVENT  ? e->data.mapping_start.tag
                                                                  : NULL;
    const char *tag = (const char *)t;
    if (tag == NULL || strcmp(tag, "!") == 0) {
        return GREBE_OK;
    }
    for (size_t i = 0; i < sizeof core / sizeof core[0]; i++) {
        if (strncmp(tag, prefix, sizeof prefix - 1) == 0 && strcmp(tag + sizeof prefix - 1, core[i]) == 0) {
            return GREBE_OK;
        }
    }
    snprintf(text, sizeof text, "a tag that is not read: %s", error_quote(quoted, sizeof quoted, tag, strlen(tag)));
    return fail_at(r, &e->start_mark, GREBE_EUNSUPPORTED, text, err);
}

static grebe_status on_event(struct reader *r, const yaml_event_t *e, grebe_error *err)
{
    switch (e->type) {
    case YAML_DOCUMENT_START_EVENT:
        return r->root != NULL ? fail_at(r, &e->start_mark, GREBE_ECORRUPT, "expected one document, found a second", err) : GREBE_OK;
    case YAML_SCALAR_EVENT: return add_scalar(r, e, err);
    case YAML_ALIAS_EVENT: return add_alias(r, e, err);
    case YAML_SEQUENCE_START_EVENT:
        return open_level(r, YAML_TREE_LIST, e->data.sequence_start.anchor, &e->start_mark, err);
    case YAML_MAPPING_START_EVENT:
        return open_level(r, YAML_TREE_MAP, e->data.mapping_start.anchor, &e->start_mark, err);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT: return close_level(r, &e->start_mark, err);
    default: return GREBE_OK;
    }
}

grebe_status yaml_tree_parse(struct arena *ar, const char *name, const char *text, size_t len, const struct yaml_tree **out,
                             grebe_error *err)
{
    struct reader *r = arena_alloc_zero(ar, sizeof *r);
    struct yaml_tree *empty = arena_alloc(ar, sizeof *empty);
    grebe_status st = GREBE_OK;
    bool is_end = false;
    *out = NULL;
    if (r == NULL || empty == NULL) {
        return mem_fail(err, sizeof *r, name);
    }
    r->ar = ar;
    r->name = name;
    if (!yaml_parser_initialize(&r->parser)) {
        return mem_fail(err, sizeof r->parser, name);
    }
    yaml_parser_set_input_string(&r->parser, (const unsigned char *)text, len);
    while (st == GREBE_OK && !is_end) {
        yaml_event_t event;
        if (!yaml_parser_parse(&r->parser, &event)) {
            st = syntax(r, err);
            break;
        }
        is_end = event.type == YAML_STREAM_END_EVENT;
        st = check_tag(r, &event, err);
        st = st == GREBE_OK ? on_event(r, &event, err) : st;
        yaml_event_delete(&event);
    }
    yaml_parser_delete(&r->parser);
    if (st == GREBE_OK) {
        *empty = (struct yaml_tree){ .type = YAML_TREE_MAP, .line = 1, .column = 1 };
        *out = r->root != NULL ? r->root : empty;
    }
    return st;
}

#else

grebe_status yaml_tree_parse(struct arena *ar, const char *name, const char *text, size_t len, const struct yaml_tree **out,
                             grebe_error *err)
{
    (void)ar;
    (void)text;
    (void)len;
    *out = NULL;
    return GREBE_FAIL(err, GREBE_EUNSUPPORTED, "%s: YAML is not built in (libyaml)", name);
}

#endif

const struct yaml_tree *yaml_tree_get(const struct yaml_tree *t, const char *key)
{
    size_t len = strlen(key);
    for (size_t i = 0; t != NULL && t->type == YAML_TREE_MAP && i < t->n; i++) {
        if (t->pairs[i].key->n == len && memcmp(t->pairs[i].key->text, key, len) == 0) {
            return t->pairs[i].value;
        }
    }
    return NULL;
}

bool yaml_tree_is_null(const struct yaml_tree *t)
{
    return t != NULL && t->type == YAML_TREE_SCALAR && t->is_plain &&
           (t->n == 0 || strcmp(t->text, "~") == 0 || ascii_equal(t->text, "null"));
}

bool yaml_tree_bool(const struct yaml_tree *t, bool *out)
{
    static const char *const words[] = { "false", "true", "no", "yes", "off", "on" };
    for (size_t i = 0; t != NULL && t->type == YAML_TREE_SCALAR && t->is_plain && i < sizeof words / sizeof words[0]; i++) {
        if (ascii_equal(t->text, words[i])) {
            *out = i % 2 == 1;
            return true;
        }
    }
    return false;
}

bool yaml_tree_i64(const struct yaml_tree *t, int64_t *out)
{
    return t != NULL && t->type == YAML_TREE_SCALAR && number_parse_i64(t->text, t->n, out);
}

bool yaml_tree_double(const struct yaml_tree *t, double *out)
{
    return t != NULL && t->type == YAML_TREE_SCALAR && number_parse_double(t->text, t->n, out) && isfinite(*out);
}

const char *yaml_tree_type_name(const struct yaml_tree *t)
{
    return t->type == YAML_TREE_SCALAR ? "text" : t->type == YAML_TREE_LIST ? "list" : "map";
}
