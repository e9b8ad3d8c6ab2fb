/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/graph_attribute_keys.h"

#include <string.h>

grebe_status graph_attribute_keys_new(const grebe_allocator *a, size_t n_expected, struct graph_attribute_keys *out, grebe_error *err)
{
    *out = (struct graph_attribute_keys){ .texts = ARENA_INIT(a), .key = BUF_INIT(a) };
    grebe_status st = name_index_new(a, n_expected, &out->exact, err);
    st = st == GREBE_OK ? name_index_new(a, 0, &out->by_name, err) : st;
    if (st != GREBE_OK) {
        graph_attribute_keys_release(out);
    }
    return st;
}

void graph_attribute_keys_release(struct graph_attribute_keys *k)
{
    name_index_release(&k->exact);
    name_index_release(&k->by_name);
    arena_release(&k->texts);
    buf_release(&k->key);
}

/* A length in front, because names and types may hold anything. */
static grebe_status put_key(struct graph_attribute_keys *k, enum graph_domain domain, const char *type, const char *name, grebe_error *err)
{
    buf_clear(&k->key);
    grebe_status st = type == NULL ? buf_printf(&k->key, err, "%d:-:%s", (int)domain, name)
                                   : buf_printf(&k->key, err, "%d:%zu:%s:%s", (int)domain, strlen(type), type, name);
    return st == GREBE_OK && buf_text(&k->key) == NULL ? mem_fail(err, k->key.len, "a name") : st;
}

static grebe_status put_name(struct graph_attribute_keys *k, enum graph_domain domain, const char *name, grebe_error *err)
{
    return put_key(k, domain, NULL, name, err);
}

static size_t place_of_key(struct graph_attribute_keys *k, const struct name_index *x)
{
    const size_t *place = name_index_find(x, buf_text(&k->key));
    return place != NULL ? *place : SIZE_MAX;
}

static grebe_status add(struct graph_attribute_keys *k, struct name_index *x, size_t place, size_t *first, grebe_error *err)
{
    *first = place_of_key(k, x);
    if (*first != SIZE_MAX) {
        return GREBE_OK;
    }
    *first = place;
    const char *copy = arena_str(&k->texts, buf_text(&k->key), k->key.len);
    return copy == NULL ? mem_fail(err, k->key.len, "a name") : name_index_add(x, copy, place, NULL, err);
}

grebe_status graph_attribute_keys_add(struct graph_attribute_keys *k, const struct graph_feature_spec *f, size_t place, size_t *first,
                                      grebe_error *err)
{
    size_t first_of_name;
    *first = place;
    if (f->name == NULL) {
        return GREBE_OK;
    }
    grebe_status st = put_name(k, f->domain, f->name, err);
    st = st == GREBE_OK ? add(k, &k->by_name, place, &first_of_name, err) : st;
    st = st == GREBE_OK ? put_key(k, f->domain, f->type, f->name, err) : st;
    return st == GREBE_OK ? add(k, &k->exact, place, first, err) : st;
}

grebe_status graph_attribute_keys_find(struct graph_attribute_keys *k, enum graph_domain domain, const char *type, const char *name,
                                       size_t *out, grebe_error *err)
{
    grebe_status st = put_key(k, domain, type, name, err);
    *out = st == GREBE_OK ? place_of_key(k, &k->exact) : SIZE_MAX;
    return st;
}

grebe_status graph_attribute_keys_find_name(struct graph_attribute_keys *k, enum graph_domain domain, const char *name, size_t *out,
                                            grebe_error *err)
{
    grebe_status st = put_name(k, domain, name, err);
    *out = st == GREBE_OK ? place_of_key(k, &k->by_name) : SIZE_MAX;
    return st;
}
