/* SPDX-License-Identifier: Apache-2.0 */
#include "gitvdb/vdb_lsh_internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/*
 * `validate` of format 1. Loading the snapshot has read every point and held its path against its id. In full, the tables
 * are walked through beside the list of what the points' own signatures say.
 */

struct signed_point {
    uint64_t signature;
    size_t index;
};

struct walk {
    struct vdb_snapshot *s;
    struct signed_point *expected; /* shape [n]: of one table, in the order of its tree */
    size_t n, at;
    uint32_t n_bits;
};

static int compare_signed(const void *a, const void *b)
{
    const struct signed_point *x = a, *y = b;
    if (x->signature != y->signature) {
        return x->signature < y->signature ? -1 : 1;
    }
    return x->index < y->index ? -1 : x->index > y->index;
}

static grebe_status fail_bucket(grebe_error *err)
{
    return GREBE_FAIL(err, GREBE_ECORRUPT, "expected the entries that the points' signatures give, found others");
}

/* All entries of one bucket are the next of those expected. */
static grebe_status check_bucket(struct walk *w, const struct repo_tree *bucket, const char *prefix, const char *name,
                                 grebe_error *err)
{
    char expected_name[LSH_SIGNATURE_HEX + 1], expected_prefix[3], hash[LSH_HASH_HEX + 1];

    if (bucket->n == 0) {
        return fail_bucket(err);
    }
    for (size_t i = 0; i < bucket->n; i++) {
        if (w->at == w->n) {
            return fail_bucket(err);
        }
        const struct signed_point *e = &w->expected[w->at++];
        const struct lsh_point *p = &w->s->lsh->points[e->index];
        lsh_signature_name(e->signature, w->n_bits, expected_name);
        lsh_prefix_name(expected_name, expected_prefix);
        lsh_hash_name(p->digest, hash);
        if (strcmp(expected_name, name) != 0 || strcmp(expected_prefix, prefix) != 0 ||
            strcmp(hash, bucket->entries[i].name) != 0 || !repo_entry_is_tree(&bucket->entries[i]) ||
            !repo_oid_equal(&bucket->entries[i].oid, &p->tree)) {
            return fail_bucket(err);
        }
    }
    return GREBE_OK;
}

static grebe_status check_prefix(struct walk *w, const struct repo_tree *table, const char *prefix, grebe_error *err)
{
    struct repo_tree t = { 0 };
    bool is_there = false;
    char quoted[80];

    grebe_status st = lsh_subtree(w->s->repo, table, prefix, &t, &is_there, err);
    for (size_t i = 0; st == GREBE_OK && i < t.n; i++) {
        struct repo_tree bucket = { 0 };
        const char *name = t.entries[i].name;
        st = lsh_subtree(w->s->repo, &t, name, &bucket, &is_there, err);
        if (st == GREBE_OK) {
            st = error_wrap(err, check_bucket(w, &bucket, prefix, name, err), "%s",
                            error_quote(quoted, sizeof quoted, name, strlen(name)));
        }
        repo_tree_release(&bucket);
    }
    repo_tree_release(&t);
    return st;
}

static grebe_status check_table(struct walk *w, const struct vdb_lsh_planes *planes, const struct repo_tree *index,
                                uint32_t table, grebe_error *err)
{
    struct repo_tree t = { 0 };
    char name[LSH_TABLE_NAME], quoted[80];
    bool is_there = false;

    for (size_t i = 0; i < w->n; i++) {
        const struct vdb_place at = w->s->lsh->points[i].at;
        const struct vdb_matrix *m = &w->s->shards[at.shard].vectors;
        w->expected[i].signature = vdb_lsh_signature(planes, table, m->values + (size_t)at.row * m->dim);
        w->expected[i].index = i;
    }
    qsort(w->expected, w->n, sizeof *w->expected, compare_signed);
    w->at = 0;
    lsh_table_name(table, name);
    grebe_status st = lsh_subtree(w->s->repo, index, name, &t, &is_there, err);
    for (size_t i = 0; st == GREBE_OK && i < t.n; i++) {
        const char *prefix = t.entries[i].name;
        st = error_wrap(err, check_prefix(w, &t, prefix, err), "%s",
                        error_quote(quoted, sizeof quoted, prefix, strlen(prefix)));
    }
    if (st == GREBE_OK && (w->at != w->n || !is_there)) {
        st = fail_bucket(err);
    }
    repo_tree_release(&t);
    return error_wrap(err, st, "index/lsh-v1/%s", name);
}

static grebe_status check_tables(struct vdb_snapshot *s, uint64_t *checked, grebe_error *err)
{
    const struct vdb_config *c = &s->meta.config;
    struct walk w = { .s = s, .n = s->lsh->n, .n_bits = (uint32_t)c->signature_bits };
    struct arena ar = ARENA_INIT(s->a);
    struct vdb_lsh_planes *planes = NULL;
    struct repo_tree index = { 0 };
    const size_t n_tables = w.n == 0 ? 0 : (size_t)c->tables; /* tables without entries are absent */
    grebe_status st;

    GREBE_TRY(vdb_lsh_planes_new(c, s->a, &planes, err));
    GREBE_TRY(lsh_index_open(s, &index, err));
    if (index.n != n_tables) {
        st = GREBE_FAIL(err, GREBE_ECORRUPT, "index/lsh-v1: expected %zu tables, found %zu", n_tables, index.n);
        goto out;
    }
    w.expected = arena_array(&ar, w.n, sizeof *w.expected);
    if (w.expected == NULL) {
        st = mem_fail(err, w.n * sizeof *w.expected, "tables");
        goto out;
    }
    for (uint32_t t = 0; t < n_tables; t++) {
        GREBE_TRY(check_table(&w, planes, &index, t, err));
    }
    *checked = (uint64_t)n_tables * w.n;
out:
    repo_tree_release(&index);
    vdb_lsh_planes_free(planes);
    arena_release(&ar);
    return st;
}

grebe_status vdb_lsh_validate(struct vdb_snapshot *s, bool is_full, uint64_t *checked, grebe_error *err)
{
    *checked = 0;
    grebe_status st = vdb_config_check(&s->meta.config, 1, err);
    if (st == GREBE_EINVAL) { /* the repository's fault, not the caller's */
        if (err != NULL) {
            err->status = GREBE_ECORRUPT;
        }
        return error_wrap(err, GREBE_ECORRUPT, "meta.json");
    }
    if (s->lsh->n != s->meta.point_count) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "meta.json: expected a count of %zu points, found %" PRIu64, s->lsh->n,
                          s->meta.point_count);
    }
    return is_full ? check_tables(s, checked, err) : st;
}
