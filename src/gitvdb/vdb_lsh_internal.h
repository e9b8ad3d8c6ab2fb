/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GITVDB_VDB_LSH_INTERNAL_H
#define GREBE_GITVDB_VDB_LSH_INTERNAL_H

/* What the files of format 1 share; for vdb_lsh*.c. */

#include "gitvdb/vdb_lsh.h"

enum {
    LSH_HASH_HEX = 64,
    LSH_SIGNATURE_HEX = 16,   /* at most */
    LSH_VECTOR_HEADER = 12,
    LSH_TABLE_NAME = 9
};
extern const char lsh_vector_magic[8]; /* "GTVDBV01", without a NUL */

/** A point of a snapshot or of what is written. */
struct lsh_point {
    unsigned char digest[VDB_DIGEST_BYTES];
    struct repo_oid tree; /* id.json, payload.json, vector.f32le */
    struct vdb_place at;
};

struct vdb_lsh_points {
    struct lsh_point *points; /* shape [n], ascending by digest */
    size_t n;
};

/** Sorts by digest. */
int lsh_compare_points(const void *a, const void *b);
/** Index of the point whose hash has this hexadecimal name; n: there is none. */
size_t lsh_find(const struct vdb_lsh_points *p, const char *name);
void lsh_hash_name(const unsigned char digest[VDB_DIGEST_BYTES], char name[LSH_HASH_HEX + 1]);
/** "0a3" for 12 bits. */
void lsh_signature_name(uint64_t signature, uint32_t bits, char name[LSH_SIGNATURE_HEX + 1]);
/** The first two digits, or the only one. */
void lsh_prefix_name(const char *signature_name, char prefix[3]);
void lsh_table_name(uint32_t table, char name[LSH_TABLE_NAME]);

/** The tree index/lsh-v1 of a snapshot. */
grebe_status lsh_index_open(struct vdb_snapshot *s, struct repo_tree *out, grebe_error *err);
/** An entry that is a tree, read; *is_there false: no such entry. */
grebe_status lsh_subtree(struct repo *r, const struct repo_tree *t, const char *name, struct repo_tree *out,
                         bool *is_there, grebe_error *err);

#endif
