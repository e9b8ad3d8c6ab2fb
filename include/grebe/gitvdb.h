/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GITVDB_H
#define GREBE_GITVDB_H

/*
 * Collections of vectors in a Git repository, in the format of git-vdb (docs/format/gitvdb.md): equal content has the
 * same tree id whoever wrote it. Every write is a commit on refs/git-vdb/collections/NAME. A point has an id (a
 * string or an unsigned number), a vector of floats, and a payload (a JSON object).
 *
 * Results are values that can be looked at, printed as git-vdb prints them, or taken as Arrow rows.
 */

#include "grebe/arrow.h"
#include "grebe/print.h"
#include "grebe/source.h"

#ifdef __cplusplus
extern "C" {
#endif

/** An open repository. Reads may come from several threads; writes from one thread at a time. */
typedef struct grebe_vdb grebe_vdb;

/** What a call gave. */
typedef struct grebe_vdb_result grebe_vdb_result;

/** What grebe_vdb_open() does with the path. */
typedef enum grebe_vdb_mode {
    GREBE_VDB_EXISTING = 0, /**< a repository must be there; never writes */
    GREBE_VDB_CREATE = 1,   /**< a missing path or an empty folder becomes a bare repository */
    GREBE_VDB_INIT = 2,     /**< as 1, but with a work tree; a repository that is there is taken as it is */
    GREBE_VDB_INIT_BARE = 3
} grebe_vdb_mode;

/**
 * Open a repository: bare, normal, a worktree, with alternates; no search in the folders above.
 *
 * While a repository is open, libgit2's own check of hashes is off in the process (SHA-1 is checked here, three times
 * as fast).
 *
 * @param ctx  Borrowed; must outlive the repository and its results.
 * @param out  Owned by the caller, close with grebe_vdb_close(); NULL on failure.
 * @return GREBE_OK; GREBE_ENOTFOUND; GREBE_EINVAL (a folder with other things in it); GREBE_EUNSUPPORTED (a SHA-256
 *         repository; a build without libgit2); GREBE_EIO; GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_vdb_open(grebe_context *ctx, const char *path, grebe_vdb_mode mode,
                                                       grebe_vdb **out, grebe_error *err);
/** @param vdb NULL is accepted. */
GREBE_API void grebe_vdb_close(grebe_vdb *vdb);

/**
 * What `init` prints: {"bare":…,"collections":[],"repository":…}.
 * @return GREBE_OK; GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_vdb_describe(grebe_vdb *vdb, grebe_vdb_result **out, grebe_error *err);

/** How a collection is made. All of it is part of the root id. */
typedef struct grebe_vdb_config {
    uint32_t struct_size;
    uint32_t dimension;               /**< 1 to 2^32-1 */
    const char *vector_space;         /**< a name that queries can insist on; NULL: none. Borrowed. */
    uint64_t full_scan_threshold;     /**< up to so many points a search is exact unless told otherwise */
    uint64_t default_probes;          /**< centroids that a search through the index looks at; at least 1 */
    uint64_t default_candidate_limit; /**< points that it scores at most; at least 1 */
    uint32_t format;                  /**< 2; 1 makes the old format (for tests and old readers) */
} grebe_vdb_config;
#define GREBE_VDB_CONFIG_INIT(dim)                                             \
    {                                                                          \
        sizeof(grebe_vdb_config), (dim), 0, 1000, 96, 10000, 2                 \
    }

/**
 * Make an empty collection. GREBE_EEXISTS: there is one.
 *
 * @param out Its info.
 * @return GREBE_OK; GREBE_EEXISTS; GREBE_EINVAL (name, configuration); GREBE_EIO; GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_vdb_create(grebe_vdb *vdb, const char *name, const grebe_vdb_config *config,
                                                         grebe_vdb_result **out, grebe_error *err);
/**
 * {"collections":[info…]} in the order of the names.
 * @return GREBE_OK; GREBE_ECORRUPT; GREBE_EIO; GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_vdb_list(grebe_vdb *vdb, grebe_vdb_result **out, grebe_error *err);
/**
 * @param at A revision; NULL: now.
 * @return GREBE_OK; GREBE_EINVAL (name); GREBE_ENOTFOUND (no such collection or revision); GREBE_ECORRUPT with the
 *         path in the tree; GREBE_EIO; GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_vdb_info(grebe_vdb *vdb, const char *name, const char *at,
                                                       grebe_vdb_result **out, grebe_error *err);
/**
 * Remove the reference; objects stay until git collects them.
 * @return GREBE_OK; GREBE_ENOTFOUND; GREBE_ECONFLICT (somebody committed meanwhile); GREBE_EIO; GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_vdb_drop(grebe_vdb *vdb, const char *name, grebe_vdb_result **out,
                                                       grebe_error *err);

/** How points are written. Fields beyond struct_size take their defaults. */
typedef struct grebe_vdb_write_options {
    uint32_t struct_size;
    const char *expect_root;   /**< 40 hexadecimal digits that the root must have; NULL: any. Borrowed. */
    uint64_t batch_size;       /**< points of one commit; 0: 1000. UINT64_MAX: all in one */
    const char *name;          /**< of the input, in messages; NULL: "input". Borrowed. */
    const grebe_call_options *call; /**< Borrowed for the call; NULL: defaults */
    const char *id_column;     /**< of grebe_vdb_upsert_rows(); NULL: "id". Borrowed. */
    const char *vector_column; /**< of grebe_vdb_upsert_rows(); NULL: "vector". Borrowed. */
    bool ids_are_json;         /**< texts of the id column are JSON, whatever its metadata says */
} grebe_vdb_write_options;
#define GREBE_VDB_WRITE_OPTIONS_INIT                                           \
    {                                                                          \
        sizeof(grebe_vdb_write_options), 0, 0, 0, 0, 0, 0, false               \
    }

/**
 * Insert and replace points that come as lines of JSON: {"id":…,"vector":[…],"payload":{…}}. The whole text is read
 * and checked before anything is written. A collection that is missing is made with the dimension of the first point,
 * in the commit that holds the points.
 *
 * Commits of a long import reach the repository together: every few seconds, at the end, and before an error is
 * reported. Somebody else's commit in between ends the import with GREBE_ECONFLICT; what was published stays.
 *
 * @param read Called twice from the start: see `rewind`. Until it gives 0 bytes.
 * @param rewind Starts the text again; errno value on failure.
 * @param out  {"root":…,"affected_points":…}
 * @return GREBE_OK; GREBE_EINVAL (a line, with its number; no points; an id twice in a batch); GREBE_ECONFLICT;
 *         GREBE_EIO; GREBE_ECORRUPT; GREBE_ELIMIT; GREBE_ECANCELLED; GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_vdb_upsert_lines(grebe_vdb *vdb, const char *name, grebe_read_fn read,
                                                               int (*rewind)(void *read_ctx), void *read_ctx,
                                                               const grebe_vdb_write_options *options,
                                                               grebe_vdb_result **out, grebe_error *err);

/** One of the texts of grebe_vdb_import_lines(). Borrowed for the call. */
typedef struct grebe_vdb_text {
    const char *name;              /**< in messages; NULL: that of the options */
    grebe_read_fn read;            /**< until it gives 0 bytes */
    int (*rewind)(void *read_ctx); /**< starts the text again; errno value on failure */
    void *read_ctx;
} grebe_vdb_text;

/**
 * As grebe_vdb_upsert_lines() for lines that are rows: `id_column` and `vector_column` name their members, and every other member is
 * one of the payload, beside those of the member "payload" (an object, its text, or null). A name in both is GREBE_EINVAL. A vector
 * may also be text with commas between numbers. Texts are read one after the other, and may be packed with gzip or zstd.
 *
 * @param texts Shape [n_texts], n_texts >= 1.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_vdb_import_lines(grebe_vdb *vdb, const char *name, const grebe_vdb_text *texts,
                                                               size_t n_texts, const grebe_vdb_write_options *options,
                                                               grebe_vdb_result **out, grebe_error *err);

/**
 * As grebe_vdb_upsert_lines() for Arrow rows: a column of ids (text or integers), one of vectors (lists of numbers),
 * and the payload: a column "payload" gives the members of its JSON text or struct, every other column is a member of
 * its name. Ids are read as JSON where the field's metadata says "grebe.id": "json" (grebe_vdb_result_rows(),
 * grebe_vdb_scan()).
 *
 * @param rows Taken over and released, also on failure.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_vdb_upsert_rows(grebe_vdb *vdb, const char *name,
                                                              struct ArrowArrayStream *rows,
                                                              const grebe_vdb_write_options *options,
                                                              grebe_vdb_result **out, grebe_error *err);

/**
 * Insert or replace one point.
 *
 * @param id      A word as in grebe_vdb_select. Borrowed.
 * @param vector  Numbers with commas between, each read to the nearest float; or JSON: an array, or an object with
 *         "vector". Borrowed.
 * @param payload A JSON object; NULL: {}. Borrowed.
 * @return As grebe_vdb_upsert_lines().
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_vdb_upsert_point(grebe_vdb *vdb, const char *name, const char *id,
                                                               const char *vector, const char *payload,
                                                               const grebe_vdb_write_options *options,
                                                               grebe_vdb_result **out, grebe_error *err);

/** Which points. Ids and filter both given: those that both name (get), or either (delete). */
typedef struct grebe_vdb_select {
    uint32_t struct_size;
    /** Words: "42" is the number, "\"42\"" and "x" are strings; shape [n_ids]. NULL: not given; with n_ids 0 they name
     *  no point. Borrowed. */
    const char *const *ids;
    size_t n_ids;
    const char *filter;     /**< JSON; NULL: none. Borrowed. */
    size_t filter_len;
    bool is_lenient;        /**< conditions that mean nothing match everything, as in git-vdb 0.4, instead of being refused */
} grebe_vdb_select;
#define GREBE_VDB_SELECT_INIT                                                  \
    {                                                                          \
        sizeof(grebe_vdb_select), 0, 0, 0, 0, false                            \
    }

/**
 * Delete points by id or filter: one commit, also when nothing matched.
 * @return GREBE_OK; GREBE_EINVAL (neither ids nor filter; filter); GREBE_ECONFLICT (the root is not the expected one,
 *         or others were faster again and again); GREBE_ENOTFOUND (no such collection or revision); GREBE_ECORRUPT
 *         with the path in the tree; GREBE_EIO; GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_vdb_delete(grebe_vdb *vdb, const char *name, const grebe_vdb_select *select,
                                                         const grebe_vdb_write_options *options, grebe_vdb_result **out,
                                                         grebe_error *err);

/** What is read. Fields beyond struct_size take their defaults. */
typedef struct grebe_vdb_read_options {
    uint32_t struct_size;
    const char *at;         /**< any git revision of a commit or tree; NULL: now. Borrowed. */
    bool with_payload, with_vector;
    uint64_t offset, limit; /**< of get; limit UINT64_MAX: all */
    const char *const *fields; /**< members of the payload to give, dotted paths; shape [n_fields]; 0: all. Borrowed. */
    size_t n_fields;
    const grebe_call_options *call; /**< Borrowed for the call; NULL: defaults */
    /** Rows: "id" is always text that is each id as JSON. false: its type depends on the ids that were found. */
    bool ids_are_json;
} grebe_vdb_read_options;
#define GREBE_VDB_READ_OPTIONS_INIT                                                    \
    {                                                                                  \
        sizeof(grebe_vdb_read_options), 0, false, false, 0, UINT64_MAX, 0, 0, 0, false \
    }

/**
 * Points in the order of their ids: {"root":…,"points":[…]}. Given ids only: the shards that they lie in are read.
 * @return GREBE_OK; GREBE_EINVAL (filter); GREBE_ENOTFOUND (no such collection or revision); GREBE_ECORRUPT with the
 *         path in the tree; GREBE_EIO; GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_vdb_get(grebe_vdb *vdb, const char *name, const grebe_vdb_select *select,
                                                      const grebe_vdb_read_options *options, grebe_vdb_result **out,
                                                      grebe_error *err);
/**
 * The same as a stream of batches of at most 4,096 rows: columns as grebe_vdb_result_rows() gives them.
 *
 * @param out Owned by the caller. It may outlive vdb, not the context.
 * @return As grebe_vdb_get().
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_vdb_scan(grebe_vdb *vdb, const char *name, const grebe_vdb_select *select,
                                                       const grebe_vdb_read_options *options, struct ArrowArrayStream *out,
                                                       grebe_error *err);
/**
 * Points (select NULL: all) as lines of JSON, in the order of their ids; grebe_vdb_upsert_lines() reads all of them back to the same root.
 *
 * Memory: the collection and one line.
 * @param write As for grebe_print_rows().
 * @return GREBE_OK; GREBE_EIO (also: write failed); GREBE_ENOTFOUND; GREBE_ECORRUPT; GREBE_ECANCELLED; GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_vdb_export(grebe_vdb *vdb, const char *name, const grebe_vdb_select *select,
                                                         const grebe_vdb_read_options *options, grebe_write_fn write, void *write_ctx, grebe_error *err);
/**
 * {"root":…,"count":…}
 * @return As grebe_vdb_get().
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_vdb_count(grebe_vdb *vdb, const char *name, const grebe_vdb_select *select,
                                                        const grebe_vdb_read_options *options, grebe_vdb_result **out,
                                                        grebe_error *err);

/** A search. Fields beyond struct_size take their defaults. */
typedef struct grebe_vdb_query {
    uint32_t struct_size;
    const float *vectors;   /**< shape [n_vectors, dimension], row-major. Borrowed. */
    size_t n_vectors;
    uint32_t dimension;
    const char *text;       /**< instead of vectors: one as text, as for grebe_vdb_upsert_point(). Borrowed. */
    const char *lines;      /**< instead of vectors: one as text on each line. Borrowed. */
    const char *id;         /**< instead of vectors: the vector of this point, a word as in grebe_vdb_select. Borrowed. */
    uint64_t limit;         /**< nearest points for each vector */
    int mode;               /**< 0: exact up to full_scan_threshold points, 1: exact, 2: through the index */
    uint64_t probes, candidate_limit;  /**< 0: the collection's */
    const char *expected_vector_space; /**< NULL: any. Borrowed. */
    grebe_vdb_select select;           /**< filter only */
} grebe_vdb_query;
#define GREBE_VDB_QUERY_INIT                                                   \
    {                                                                          \
        sizeof(grebe_vdb_query), 0, 0, 0, 0, 0, 0, 10, 0, 0, 0, 0, GREBE_VDB_SELECT_INIT \
    }

/**
 * Nearest points by cosine, best first, equal scores by id: {"root":…,"points":[{"id","score",…}],"stats":{…}}; for
 * several vectors one such object each in "results".
 *
 * What was read stays in memory for later searches of the same root through the same grebe_vdb.
 * @return GREBE_OK; GREBE_EINVAL (dimension, components, vector space, filter); GREBE_ENOTFOUND (also: the id);
 *         GREBE_ECORRUPT; GREBE_ECANCELLED; GREBE_EIO; GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_vdb_search(grebe_vdb *vdb, const char *name, const grebe_vdb_query *query,
                                                         const grebe_vdb_read_options *options, grebe_vdb_result **out,
                                                         grebe_error *err);

/**
 * Newest first along first parents, at most `limit`.
 *
 * @param at A revision; NULL: now.
 * @return GREBE_OK; GREBE_ENOTFOUND (no such collection or revision); GREBE_ECORRUPT with the path in the tree;
 *         GREBE_EIO; GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_vdb_history(grebe_vdb *vdb, const char *name, uint64_t limit,
                                                          grebe_vdb_result **out, grebe_error *err);
/**
 * A new commit with the tree of an old revision.
 * @return GREBE_OK; GREBE_EINVAL (neither commit nor tree); GREBE_ECONFLICT (the root is not the expected one, or
 *         others were faster again and again); GREBE_ENOTFOUND (no such collection or revision); GREBE_ECORRUPT with
 *         the path in the tree; GREBE_EIO; GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_vdb_restore(grebe_vdb *vdb, const char *name, const char *revision,
                                                          grebe_vdb_result **out, grebe_error *err);
/**
 * What differs between two revisions: ids added, removed, changed; objects and bytes shared.
 * @return GREBE_OK; GREBE_EINVAL; GREBE_ENOTFOUND (no such collection or revision); GREBE_ECORRUPT with the path in
 *         the tree; GREBE_EIO; GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_vdb_diff(grebe_vdb *vdb, const char *name, const char *left,
                                                       const char *right, grebe_vdb_result **out, grebe_error *err);
/**
 * Check a collection.
 *
 * @param is_full Compute the index anew and compare.
 * @param out     {"root":…,"full":…,"point_count":…,"checked_buckets":…,"valid":true}; on GREBE_ECORRUPT the first
 *         problem is the message and *out NULL, unless all_problems: then it lists every problem ("problems",
 *         "valid":false).
 * @return GREBE_OK: nothing found; GREBE_ECORRUPT: see out; GREBE_ENOTFOUND; GREBE_EIO; GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_vdb_validate(grebe_vdb *vdb, const char *name, const char *at, bool is_full,
                                                           bool all_problems, grebe_vdb_result **out, grebe_error *err);
/**
 * Every collection of the repository: {"collections":…,"database":…,"reports":[…],"valid":…}.
 * @return GREBE_OK; GREBE_ECORRUPT: *out says which; GREBE_EIO; GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_vdb_doctor(grebe_vdb *vdb, grebe_vdb_result **out, grebe_error *err);

/**
 * @param remote A name of the repository's configuration, a path or an address. GREBE_ECONFLICT: not a fast-forward.
 * @return GREBE_OK; GREBE_ENOTFOUND (collection, remote); GREBE_ECONFLICT; GREBE_ENETWORK; GREBE_EAUTH; GREBE_EIO;
 *         GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_vdb_push(grebe_vdb *vdb, const char *name, const char *remote,
                                                       grebe_vdb_result **out, grebe_error *err);
/** Fetch the collection from a remote into refs/git-vdb/remotes/REMOTE/NAME and fast-forward to it; a collection that is not here yet
 *  is made. Where that is no fast-forward, the message names the reference to merge. @return As grebe_vdb_push(). */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_vdb_pull(grebe_vdb *vdb, const char *name, const char *remote,
                                                       grebe_vdb_result **out, grebe_error *err);

/**
 * A second reference to the same commit.
 *
 * @param at A revision that is a commit; NULL: now.
 * @return GREBE_OK; GREBE_ENOTFOUND; GREBE_EEXISTS; GREBE_EINVAL (name; no commit); GREBE_EIO; GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_vdb_copy(grebe_vdb *vdb, const char *name, const char *at,
                                                       const char *to, grebe_vdb_result **out, grebe_error *err);
/** Another name; the old one is gone. @return As grebe_vdb_copy(); GREBE_ECONFLICT (somebody committed to the old name meanwhile). */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_vdb_rename(grebe_vdb *vdb, const char *name, const char *to,
                                                         grebe_vdb_result **out, grebe_error *err);
/**
 * Merge another revision into a collection, point by point by id: what changed on one side only is taken from there. Where nothing
 * changed on one side since the common version, no commit is made: the collection stays, or goes on to the other revision.
 *
 * @param revision Any git revision of a commit, or the name of a collection: its newest version.
 * @param prefer 0: ids that changed differently on both sides are conflicts: GREBE_ECONFLICT, nothing is written,
 *         *out lists them; 1: ours is kept; 2: theirs is taken.
 * @return GREBE_OK; GREBE_ECONFLICT; GREBE_EINVAL (no commit; another dimension); GREBE_ENOTFOUND (no such collection
 *         or revision); GREBE_ECORRUPT with the path in the tree; GREBE_EIO; GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_vdb_merge(grebe_vdb *vdb, const char *name, const char *revision, int prefer,
                                                        grebe_vdb_result **out, grebe_error *err);
/**
 * Points, shards, centroids, bytes of vectors, payloads, ids and index, objects.
 * @return GREBE_OK; GREBE_ENOTFOUND (no such collection or revision); GREBE_ECORRUPT with the path in the tree;
 *         GREBE_EIO; GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_vdb_stats(grebe_vdb *vdb, const char *name, const char *at,
                                                        grebe_vdb_result **out, grebe_error *err);
/**
 * Pack the repository and drop what nothing refers to and is older than grace_seconds.
 * @return GREBE_OK; GREBE_EUNSUPPORTED (git is not installed); GREBE_EIO; GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_vdb_gc(grebe_vdb *vdb, int64_t grace_seconds, grebe_vdb_result **out,
                                                     grebe_error *err);

/* ---- results ---- */

/** Forms of printing, as git-vdb's --format. */
typedef enum grebe_vdb_form {
    GREBE_VDB_JSON = 0,   /**< one line */
    GREBE_VDB_PRETTY = 1, /**< indented by two blanks */
    GREBE_VDB_JSONL = 2   /**< a line for each point, collection, commit, report or query of several */
} grebe_vdb_form;

/**
 * @param write Called with pieces of the text, which ends with a line feed; as for grebe_print (grebe/print.h).
 * @return GREBE_OK; GREBE_EIO (write failed); GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_vdb_result_print(const grebe_vdb_result *result, grebe_vdb_form form,
                                                               grebe_write_fn write, void *write_ctx, grebe_error *err);
/** @return The root as 40 hexadecimal digits; NULL: the result has none. Borrowed from the result. */
GREBE_API const char *grebe_vdb_result_root(const grebe_vdb_result *result);
/** @return affected_points or count, points found, collections, commits or problems listed; 0 where there is nothing to count. */
GREBE_API uint64_t grebe_vdb_result_count(const grebe_vdb_result *result);
/**
 * Points of get and search as rows: "query" (int32, searches of several vectors), "id", "score" (float), "vector",
 * "payload" (JSON text). "id" is uint64 when all ids are numbers, text when all are strings, else (and always with
 * the option ids_are_json) text with each id as JSON.
 *
 * Other results: a row for each collection, commit, report, problem or conflict, for each id of a comparison ("id", "change"), or one
 * row. Columns are members of the result: text, numbers, bools, and JSON text for what is nested or of several kinds.
 *
 * @param out Struct array and its schema, owned by the caller.
 * @return GREBE_OK; GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_vdb_result_rows(const grebe_vdb_result *result, struct ArrowArray *out,
                                                              struct ArrowSchema *out_schema, grebe_error *err);
/**
 * The same as a stream of one batch.
 *
 * @param out Owned by the caller.
 * @return As grebe_vdb_result_rows().
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_vdb_result_stream(const grebe_vdb_result *result, struct ArrowArrayStream *out,
                                                                grebe_error *err);
/** @param result NULL is accepted. */
GREBE_API void grebe_vdb_result_free(grebe_vdb_result *result);

#ifdef __cplusplus
}
#endif
#endif
