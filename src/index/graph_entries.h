/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_INDEX_GRAPH_ENTRIES_H
#define GREBE_INDEX_GRAPH_ENTRIES_H

/*
 * Where walks begin: a random sample of 2 sqrt(n) nodes. Their code rows lie in one block, in groups around some of
 * them (pivots), so that a query measures the pivots and the members of a few groups: no walk at random addresses.
 * Groups depend on the set of entries alone, not on the order in which they came. Entries that are in no group yet
 * stand at the end and are all measured.
 */

#include "index/graph_codes.h"

enum { GRAPH_STARTS = 8, GRAPH_ENTRIES_MAX = 8192, GRAPH_PIVOTS_MAX = 128 };

struct graph_entries {
    uint32_t *ids;       /* shape [n] */
    unsigned char *rows; /* code rows of ids */
    size_t room, stride;
    uint32_t n, n_groups;
    uint32_t first[GRAPH_PIVOTS_MAX + 1]; /* group i is [first[i], first[i + 1]) */
    unsigned char *pivots;                /* code rows of the pivots; room for GRAPH_PIVOTS_MAX */
};

/** Room for the entries of a graph of n nodes. */
grebe_status graph_entries_reserve(struct graph_entries *e, const struct graph_codes *c, uint32_t n, grebe_error *err);
void graph_entries_release(struct graph_entries *e, const grebe_allocator *a); /* idempotent */

/** Of new nodes, in the order of insertion, as many as a graph of n nodes should have more. */
void graph_entries_add(struct graph_entries *e, const struct graph_codes *c, const uint32_t *ids, uint32_t n_ids,
                       uint32_t n);
/** Nodes from n on are no entries any more. */
void graph_entries_cut(struct graph_entries *e, const struct graph_codes *c, uint32_t n);
/** The same nodes as another's, which has at most as many as there is room for. */
void graph_entries_copy(struct graph_entries *e, const struct graph_codes *c, const struct graph_entries *from);
/** Copy the code rows again; groups are dissolved. */
void graph_entries_refresh(struct graph_entries *e, const struct graph_codes *c);

/** Whether many entries are in no group. */
bool graph_entries_are_loose(const struct graph_entries *e);
/** Put all entries into groups. Without memory for it there are none, and a query measures all entries. */
void graph_entries_group(struct graph_entries *e, const struct graph_codes *c);

/** The nearest entries, or nearly so. starts has GRAPH_STARTS places. @return How many. */
uint32_t graph_entries_nearest(const struct graph_entries *e, const struct graph_codes *c, const void *query,
                               uint32_t *starts);

#endif
