/* SPDX-License-Identifier: Apache-2.0 */
#include "gitvdb/vdb_lsh.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "base/endian.h"
#include "gitvdb/vdb_lsh_internal.h"

const char lsh_vector_magic[8] = { 'G', 'T', 'V', 'D', 'B', 'V', '0', '1' };

/* ---- signatures ---- */

/* A hash for each coefficient: more than this is no index that anybody made. */
enum { COEFFICIENTS_MAX = 1 << 25 };

struct vdb_lsh_planes {
    const grebe_allocator *a;
    uint32_t n_tables, n_bits, dim;
    size_t size_bytes;
    float *coefficients; /* shape [n_tables, dim, n_bits]: 1 or -1, bits side by side so that they are summed together */
};

/* The lowest bit of the hash of where it stands says whether a coefficient is 1 or -1. */
static float coefficient(uint64_t seed, uint64_t table, uint64_t bit, uint64_t d)
{
    static const char domain[] = "git-vdb/lsh-v1/projection"; /* with its NUL */
    unsigned char text[sizeof domain + 32];
    unsigned char digest[VDB_DIGEST_BYTES];

    memcpy(text, domain, sizeof domain);
    store_le64(text + sizeof domain, seed);
    store_le64(text + sizeof domain + 8, table);
    store_le64(text + sizeof domain + 16, bit);
    store_le64(text + sizeof domain + 24, d);
    vdb_sha256(text, sizeof text, digest);
    return (digest[0] & 1) != 0 ? 1.0F : -1.0F;
}

grebe_status vdb_lsh_planes_new(const struct vdb_config *c, const grebe_allocator *a, struct vdb_lsh_planes **out,
                                grebe_error *err)
{
    uint64_t n = 0;

    *out = NULL;
    grebe_status st = vdb_config_check(c, 1, err);
    if (st != GREBE_OK) {
        return st;
    }
    if (!checked_mul_u64(c->tables, c->signature_bits, &n) || !checked_mul_u64(n, c->dimension, &n) ||
        n > COEFFICIENTS_MAX) {
        return GREBE_FAIL(err, GREBE_ELIMIT,
                          "%" PRIu64 " tables of %" PRIu64 " bits for dimension %" PRIu32
                          ": at most %d coefficients are supported", c->tables, c->signature_bits, c->dimension,
                          COEFFICIENTS_MAX);
    }
    struct vdb_lsh_planes *p = mem_alloc_zero(a, sizeof *p);
    if (p == NULL) {
        return mem_fail(err, sizeof *p, "projections");
    }
    p->a = a;
    p->n_tables = (uint32_t)c->tables;
    p->n_bits = (uint32_t)c->signature_bits;
    p->dim = c->dimension;
    p->size_bytes = (size_t)n * sizeof *p->coefficients;
    p->coefficients = mem_alloc(a, p->size_bytes);
    if (p->coefficients == NULL) {
        vdb_lsh_planes_free(p);
        return mem_fail(err, (size_t)n * sizeof *p->coefficients, "projections");
    }
    float *to = p->coefficients;
    for (uint32_t t = 0; t < p->n_tables; t++) {
        for (uint32_t d = 0; d < p->dim; d++) {
            for (uint32_t b = 0; b < p->n_bits; b++) {
                *to++ = coefficient(c->projection_seed, t, b, d);
            }
        }
    }
    *out = p;
    return GREBE_OK;
}

void vdb_lsh_planes_free(struct vdb_lsh_planes *p)
{
    if (p != NULL) {
        mem_free(p->a, p->coefficients, p->coefficients == NULL ? 0 : p->size_bytes);
        mem_free(p->a, p, sizeof *p);
    }
}

uint64_t vdb_lsh_signature(const struct vdb_lsh_planes *p, uint32_t table, const float *vector)
{
    const float *c = p->coefficients + (size_t)table * p->dim * p->n_bits;
    double sums[64] = { 0 };
    uint64_t signature = 0;

    assert(table < p->n_tables && p->n_bits <= 64);
    for (uint32_t d = 0; d < p->dim; d++, c += p->n_bits) {
        const double x = (double)vector[d];
        for (uint32_t b = 0; b < p->n_bits; b++) {
            sums[b] += x * (double)c[b];
        }
    }
    for (uint32_t b = 0; b < p->n_bits; b++) {
        signature |= (uint64_t)(sums[b] >= 0.0) << b;
    }
    return signature;
}

/* ---- probes ---- */

/* The next combination of n_set positions below n_bits; false: it was the last. */
static bool next_mask(struct vdb_lsh_probes *p)
{
    for (uint32_t i = p->n_set; i > 0; i--) {
        if (p->positions[i - 1] < p->n_bits - (p->n_set - i) - 1) {
            p->positions[i - 1]++;
            for (uint32_t k = i; k < p->n_set; k++) {
                p->positions[k] = (uint8_t)(p->positions[k - 1] + 1);
            }
            return true;
        }
    }
    return false;
}

static void first_mask(struct vdb_lsh_probes *p)
{
    for (uint32_t i = 0; i < p->n_set; i++) {
        p->positions[i] = (uint8_t)i;
    }
}

bool vdb_lsh_probes_next(struct vdb_lsh_probes *p, uint32_t *table, uint64_t *mask)
{
    assert(p->n_bits >= 1 && p->n_bits <= 64);
    if (!p->is_begun) {
        p->is_begun = true;
    } else if (!next_mask(p)) {
        p->table++;
        if (p->table == p->n_tables) {
            p->table = 0;
            p->n_set++;
        }
        if (p->n_set > p->n_bits) {
            return false;
        }
        first_mask(p);
    }
    *table = p->table;
    *mask = 0;
    for (uint32_t i = 0; i < p->n_set; i++) {
        *mask |= UINT64_C(1) << p->positions[i];
    }
    return true;
}

/* ---- names ---- */

void lsh_hash_name(const unsigned char digest[VDB_DIGEST_BYTES], char name[LSH_HASH_HEX + 1])
{
    static const char digits[] = "0123456789abcdef";

    for (int i = 0; i < VDB_DIGEST_BYTES; i++) {
        name[2 * i] = digits[digest[i] >> 4];
        name[2 * i + 1] = digits[digest[i] & 15];
    }
    name[LSH_HASH_HEX] = 0;
}

void lsh_signature_name(uint64_t signature, uint32_t bits, char name[LSH_SIGNATURE_HEX + 1])
{
    snprintf(name, LSH_SIGNATURE_HEX + 1, "%0*" PRIx64, (int)((bits + 3) / 4), signature);
}

void lsh_prefix_name(const char *signature_name, char prefix[3])
{
    prefix[0] = signature_name[0];
    prefix[1] = signature_name[1]; /* may be the NUL */
    prefix[2] = 0;
}

void lsh_table_name(uint32_t table, char name[LSH_TABLE_NAME])
{
    snprintf(name, LSH_TABLE_NAME, "%04" PRIx32, table);
}

int lsh_compare_points(const void *a, const void *b)
{
    const struct lsh_point *x = a, *y = b;
    return memcmp(x->digest, y->digest, VDB_DIGEST_BYTES);
}

size_t lsh_find(const struct vdb_lsh_points *p, const char *name)
{
    size_t low = 0, high = p->n;
    char other[LSH_HASH_HEX + 1];

    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        lsh_hash_name(p->points[middle].digest, other);
        const int order = strcmp(other, name);
        if (order == 0) {
            return middle;
        }
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return p->n;
}

/* ---- trees ---- */

grebe_status lsh_subtree(struct repo *r, const struct repo_tree *t, const char *name, struct repo_tree *out,
                         bool *is_there, grebe_error *err)
{
    const struct repo_tree_entry *e = repo_tree_find(t, name);

    *is_there = e != NULL;
    if (e == NULL) {
        return GREBE_OK;
    }
    if (!repo_entry_is_tree(e)) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "%s: expected a tree, found mode %o", name, (unsigned)e->mode);
    }
    return error_wrap(err, repo_tree_read(r, &e->oid, out, err), "%s", name);
}

grebe_status lsh_index_open(struct vdb_snapshot *s, struct repo_tree *out, grebe_error *err)
{
    struct repo_tree index = { 0 };
    bool is_there = false;

    grebe_status st = repo_tree_read(s->repo, &s->index_oid, &index, err);
    if (st == GREBE_OK) {
        st = lsh_subtree(s->repo, &index, "lsh-v1", out, &is_there, err);
    }
    if (st == GREBE_OK && !is_there) {
        st = GREBE_FAIL(err, GREBE_ECORRUPT, "lsh-v1: expected a tree, found nothing");
    }
    repo_tree_release(&index);
    return error_wrap(err, st, "index");
}
