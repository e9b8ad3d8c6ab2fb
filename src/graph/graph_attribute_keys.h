/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GRAPH_GRAPH_ATTRIBUTE_KEYS_H
#define GREBE_GRAPH_GRAPH_ATTRIBUTE_KEYS_H

/* Features by domain, type and name, and by domain and name of any type: of tens of thousands of types each is looked up. */

#include "base/buf.h"
#include "base/name_index.h"
#include "graph/graph_metadata.h"

struct graph_attribute_keys {
    struct name_index exact, by_name; /* to places in the list: the first of each */
    struct arena texts;
    struct buf key; /* of a look */
};

grebe_status graph_attribute_keys_new(const grebe_allocator *a, size_t n_expected, struct graph_attribute_keys *out, grebe_error *err);
void graph_attribute_keys_release(struct graph_attribute_keys *k);
/**
 * Add the feature at a place of the list; one without a name is not added.
 *
 * @param first Written: the place of the first of that domain, type and name; `place` itself: there was none.
 */
grebe_status graph_attribute_keys_add(struct graph_attribute_keys *k, const struct graph_feature_spec *f, size_t place, size_t *first,
                                      grebe_error *err);
/** @param type NULL: none. @param out Its place; SIZE_MAX: there is none. */
grebe_status graph_attribute_keys_find(struct graph_attribute_keys *k, enum graph_domain domain, const char *type, const char *name,
                                       size_t *out, grebe_error *err);
/** The first of any type. */
grebe_status graph_attribute_keys_find_name(struct graph_attribute_keys *k, enum graph_domain domain, const char *name, size_t *out,
                                            grebe_error *err);

#endif
