/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GIT_GIT_REPO_H
#define GREBE_GIT_GIT_REPO_H

/*
 * A Git repository as the rest of the room sees it: objects by id, one pack for each write, references that change only from
 * what was read. Reads may come from several threads; writes from one.
 *
 * Objects and references of plain repositories are read and written here, without libgit2, whose start takes longer than a small
 * search. Behind this header libgit2 opens the others (worktrees, extensions), makes new ones, finds revisions and merge bases, removes
 * references, pushes and pulls. Its settings are those of the whole process: its own checks of hashes are switched off (slow SHA-1;
 * ours are on), it syncs what it writes, and the extensions objectformat (sha1 only), worktreeconfig, preciousobjects and partialclone
 * are let through.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/region.h"
#include "grebe/context.h"

struct repo_oid {
    unsigned char bytes[20];
};
enum { REPO_OID_HEX = 40 };
void repo_oid_hex(const struct repo_oid *oid, char hex[REPO_OID_HEX + 1]);
bool repo_oid_equal(const struct repo_oid *a, const struct repo_oid *b);
/** Exactly 40 hex digits, any case; false otherwise. */
bool repo_oid_from_hex(const char *hex, size_t len, struct repo_oid *out);

enum repo_object { REPO_COMMIT = 1, REPO_TREE = 2, REPO_BLOB = 3, REPO_TAG = 4 };

/** Id of an object: SHA-1 of "<type> <len>\0" and the bytes (libcrypto, ~1.5 GB/s). */
void repo_oid_of(enum repo_object type, const void *bytes, size_t len, struct repo_oid *out);
/** "commit", "tree", "blob", "tag"; "?" for anything else. */
const char *repo_object_name(enum repo_object type);

struct repo;

enum repo_mode {
    REPO_EXISTING,  /* must exist: bare or not, no search upwards; worktrees and alternates work */
    REPO_CREATE,    /* a missing path or an empty folder becomes a bare repository */
    REPO_INIT,      /* `init`: a normal repository; an existing one is taken as it is */
    REPO_INIT_BARE
};

/**
 * @param out Owned, close with repo_close().
 * @return GREBE_OK; GREBE_ENOTFOUND (no such path); GREBE_EINVAL (a folder with other things); GREBE_EUNSUPPORTED
 *         (SHA-256 repository); GREBE_EIO; GREBE_ENOMEM.
 */
grebe_status repo_open(grebe_context *ctx, const char *path, enum repo_mode mode,
                           struct repo **out, grebe_error *err);
void repo_close(struct repo *r);
bool repo_is_bare(const struct repo *r);
/** As `init` prints it. Borrowed. */
const char *repo_path(const struct repo *r);

/**
 * The bytes of an object, whose hash is checked.
 *
 * @param out  Owned region; release with region_drop(). *len may be 0.
 * @return GREBE_OK; GREBE_ENOTFOUND (no such object); GREBE_ECORRUPT (hash or type); GREBE_EIO; GREBE_ENOMEM.
 */
grebe_status repo_object_read(struct repo *r, const struct repo_oid *oid, enum repo_object type,
                             struct region **out, const unsigned char **bytes, size_t *len,
                             grebe_error *err);
/** The same for an object that another one names: a missing one is GREBE_ECORRUPT. */
grebe_status repo_object_need(struct repo *r, const struct repo_oid *oid, enum repo_object type,
                             struct region **out, const unsigned char **bytes, size_t *len,
                             grebe_error *err);
/** Type and size without the bytes; packs tell it cheaply. */
grebe_status repo_object_stat(struct repo *r, const struct repo_oid *oid, enum repo_object *type,
                             uint64_t *size, grebe_error *err);
bool repo_object_exists(struct repo *r, const struct repo_oid *oid);

/* ---- trees ---- */

struct repo_tree_entry {
    uint32_t mode;    /* 040000 tree, 0100644 blob, … */
    const char *name; /* borrowed, NUL-terminated */
    struct repo_oid oid;
};
struct repo_tree {
    struct region *region;          /* holds the names */
    struct repo_tree_entry *entries; /* shape [n], in git's order */
    size_t n;
    const grebe_allocator *a;
};
/** GREBE_OK; GREBE_ECORRUPT (missing, bytes that are no tree, order, a name with '/', empty, "." or ".."). */
grebe_status repo_tree_read(struct repo *r, const struct repo_oid *oid, struct repo_tree *out,
                           grebe_error *err);
/** The same from bytes; `region` (NULL: none) is kept as long as the tree, which borrows the names. */
grebe_status repo_tree_parse(const grebe_allocator *a, struct region *region, const unsigned char *bytes, size_t len,
                            struct repo_tree *out, grebe_error *err);
void repo_tree_release(struct repo_tree *t);
const struct repo_tree_entry *repo_tree_find(const struct repo_tree *t, const char *name);
static inline bool repo_entry_is_tree(const struct repo_tree_entry *e) { return e->mode == 040000; }
/** The bytes of a tree object from entries in any order (they are sorted). */
grebe_status repo_tree_encode(struct repo_tree_entry *entries, size_t n, struct buf *out,
                             grebe_error *err);

/* ---- writing: one pack ---- */

struct repo_pack;
/** Nothing is visible before repo_pack_publish(). @param out Owned, end with repo_pack_free(). */
grebe_status repo_pack_begin(struct repo *r, struct repo_pack **out, grebe_error *err);
/** As a level: records of so many bytes (git_records.h), 0: nothing but bytes. Fast and small for what is made of numbers. */
#define REPO_RECORDS(stride) (-2 - (int)(stride))
/**
 * Put an object into the pack unless the pack or the repository has it.
 *
 * @param bytes Borrowed for the call.
 * @param level zlib level; -1: chosen by the content (floats that do not shrink are stored); REPO_RECORDS().
 */
grebe_status repo_pack_add(struct repo_pack *p, enum repo_object type, const void *bytes, size_t len,
                          int level, struct repo_oid *out, grebe_error *err);

/** One of the objects of repo_pack_add_all(). */
struct repo_pack_item {
    const void *bytes; /* borrowed for the call */
    size_t len;
    int level;          /* as of repo_pack_add() */
    bool has_oid;       /* false: it is not known yet */
    struct repo_oid oid; /* known, or written */
};
/** Where the work of a pack is done. */
struct repo_pack_threads {
    const grebe_allocator *a;
    struct pool *pool; /* NULL: on the caller's thread */
    uint32_t n;
    const grebe_cancel *cancel;
};
/** repo_pack_add() for each item, in their order; all threads hash and compress. */
grebe_status repo_pack_add_all(struct repo_pack *p, enum repo_object type, struct repo_pack_item *items, size_t n,
                              const struct repo_pack_threads *threads, grebe_error *err);
/**
 * Put an older version of an object in as a delta against a newer one, which is or will be in this pack.
 *
 * @param delta Git's delta instructions (git_delta.h), borrowed for the call.
 */
grebe_status repo_pack_add_delta(struct repo_pack *p, const struct repo_oid *oid,
                                const struct repo_oid *base, const void *delta, size_t len,
                                grebe_error *err);
/** Whether an object was put into this pack, in whole or as a delta. */
bool repo_pack_has(const struct repo_pack *p, const struct repo_oid *oid);
/** Bytes that were written to the pack so far. */
uint64_t repo_pack_bytes(const struct repo_pack *p);
/** fsync, index, rename into objects/pack: the objects are there for everybody. A pack without objects publishes nothing. Bases
 *  of deltas that only the repository has are put in whole; GREBE_EINVAL: one is nowhere. Once for each pack. */
grebe_status repo_pack_publish(struct repo_pack *p, grebe_error *err);
/** Drop what was not published. NULL accepted. */
void repo_pack_free(struct repo_pack *p);

/* ---- references and commits ---- */

/** "refs/git-vdb/collections/NAME" to its commit and root tree. GREBE_ENOTFOUND: no such collection. */
grebe_status repo_ref_read(struct repo *r, const char *name, struct repo_oid *commit,
                          struct repo_oid *root, grebe_error *err);
/**
 * Let the reference be `commit` if it is still `old` (NULL: if it does not exist).
 * @return GREBE_OK; GREBE_ECONFLICT (it is not; or somebody holds its lock file: then RETRYABLE is set and sys is
 *         EEXIST); GREBE_EEXISTS (old is NULL and it exists); GREBE_EIO.
 */
grebe_status repo_ref_update(struct repo *r, const char *name, const struct repo_oid *old,
                            const struct repo_oid *commit, grebe_error *err);
/** Remove it if it is still `old`. */
grebe_status repo_ref_delete(struct repo *r, const char *name, const struct repo_oid *old,
                            grebe_error *err);
/** Names of all collections in the order of their bytes. @param out Owned array of owned strings in ar. */
grebe_status repo_ref_list(struct repo *r, struct arena *ar, const char *const **out, size_t *n,
                          grebe_error *err);
/** 1-128 bytes of [A-Za-z0-9._-], not "." at either end, no "..". GREBE_OK; GREBE_EINVAL. */
grebe_status repo_name_check(const char *name, grebe_error *err);

/** Add a commit to the pack: author and committer "git-vdb <git-vdb@localhost>", time from the context's clock, local
 *  offset (UTC while SOURCE_DATE_EPOCH is set). @param parents Shape [n_parents]; NULL with 0: none. */
grebe_status repo_commit_add(struct repo_pack *p, const struct repo_oid *root,
                            const struct repo_oid *const *parents, size_t n_parents,
                            const char *message, struct repo_oid *out, grebe_error *err);

/** A commit as history shows it; strings in the arena. */
struct repo_commit {
    struct repo_oid oid, root;
    struct repo_oid parent; /* the first */
    bool has_parent;
    const char *message;
    int64_t time_seconds;
};
grebe_status repo_commit_read(struct repo *r, const struct repo_oid *oid, struct arena *ar,
                             struct repo_commit *out, grebe_error *err);
/** The same from bytes; out->oid is left zero. GREBE_OK; GREBE_ECORRUPT; GREBE_ENOMEM. */
grebe_status repo_commit_parse(struct arena *ar, const void *bytes, size_t len, struct repo_commit *out, grebe_error *err);
/** Newest common ancestor; GREBE_ENOTFOUND: none. */
grebe_status repo_merge_base(struct repo *r, const struct repo_oid *a, const struct repo_oid *b,
                            struct repo_oid *out, grebe_error *err);
/**
 * Any expression that git takes for a revision. *is_commit false: a bare tree, commit is unset.
 * @return GREBE_OK; GREBE_ENOTFOUND; GREBE_EINVAL ("revision is not a commit or tree").
 */
grebe_status repo_revision(struct repo *r, const char *text, bool *is_commit,
                          struct repo_oid *commit, struct repo_oid *root, grebe_error *err);

/* ---- elsewhere ---- */

/** Push the collection's reference; a remote is a name or a path or an address. Credentials: a user and password in the address,
 *  or the agent of ssh; helpers of git are not asked. GREBE_ECONFLICT: not a fast-forward; GREBE_EAUTH; GREBE_ENETWORK. */
grebe_status repo_push(struct repo *r, const char *name, const char *remote, grebe_error *err);
/** Fetch into refs/git-vdb/remotes/REMOTE/NAME (a path or an address stands there as far as a reference may hold it), then
 *  fast-forward or create the collection. GREBE_ECONFLICT: the collection has commits that the remote lacks; the message says how
 *  to merge. */
grebe_status repo_pull(struct repo *r, const char *name, const char *remote,
                      struct repo_oid *root, grebe_error *err);
/** Packs of a repository into one, unreachable objects older than `grace_seconds` dropped: `git gc` where git is installed. */
grebe_status repo_gc(struct repo *r, int64_t grace_seconds, grebe_error *err);

#endif
