/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GITVDB_VDB_API_H
#define GREBE_GITVDB_VDB_API_H

/* What the public calls share: the open repository, views of roots that stay in memory, and results while they are made. */

#include <pthread.h>
#include <stdatomic.h>

#include "base/context_internal.h"
#include "gitvdb/vdb_filter.h"
#include "gitvdb/vdb_snapshot.h"
#include "grebe/gitvdb.h"

/** A snapshot that several users hold. */
struct vdb_view {
    atomic_uint refs;
    struct vdb_snapshot *snapshot;
};

enum { VDB_VIEWS = 4 };

struct grebe_vdb {
    atomic_uint refs;                  /* the caller's and those of streams; grebe_vdb_close() gives one back */
    grebe_context *ctx;
    const grebe_allocator *a;
    struct repo *repo;
    pthread_mutex_t lock;              /* of views */
    struct vdb_view *views[VDB_VIEWS]; /* most recently used first */
};

/** One more reference. */
grebe_vdb *vdb_retain(grebe_vdb *vdb);

/** The snapshot of a root, from the views or opened. @param out Owned; give back with vdb_view_drop(). */
grebe_status vdb_view_open(grebe_vdb *vdb, const struct repo_oid *root, struct vdb_view **out, grebe_error *err);
void vdb_view_drop(struct vdb_view *v); /* NULL accepted */

/** Root of a collection now (at NULL) or at a revision, which must be one of a collection. Names the collection in messages. */
grebe_status vdb_resolve(grebe_vdb *vdb, const char *name, const char *at, struct repo_oid *root, grebe_error *err);
/** Root and commit of a revision, as repo_revision(); the message hints at the reference where only the name of a collection was given. */
grebe_status vdb_revision(grebe_vdb *vdb, const char *text, bool *is_commit, struct repo_oid *commit, struct repo_oid *root,
                          grebe_error *err);
/** vdb_resolve() and vdb_view_open(). */
grebe_status vdb_view_of(grebe_vdb *vdb, const char *name, const char *at, struct vdb_view **out, grebe_error *err);

/** Threads and token of a call. */
struct vdb_work vdb_work_of(const grebe_vdb *vdb, const grebe_call_options *call);

/** A public options struct over its defaults; both as options_copy() (base/context_internal.h). */
grebe_status vdb_write_options_of(const grebe_vdb_write_options *given, grebe_vdb_write_options *out, grebe_error *err);
grebe_status vdb_read_options_of(const grebe_vdb_read_options *given, grebe_vdb_read_options *out, grebe_error *err);
/** The filter of a selection; *out NULL: none. */
grebe_status vdb_filter_of(const grebe_vdb *vdb, const grebe_vdb_select *select, struct vdb_filter **out, grebe_error *err);

/** One word of a selection's ids after the other, sorted, each once; in the arena. */
grebe_status vdb_ids_of(struct arena *ar, const grebe_vdb_select *select, struct vdb_id **out, size_t *n, grebe_error *err);

struct vdb_selection; /* vdb_select.h */
/** Both of the above as which rows. @param filter Owned also on failure: vdb_filter_free(). */
grebe_status vdb_selection_of(const grebe_vdb *vdb, const grebe_vdb_select *select, struct arena *ar,
                              struct vdb_selection *out, struct vdb_filter **filter, grebe_error *err);

/* ---- results ---- */

struct grebe_vdb_result {
    const grebe_allocator *a;
    struct arena ar;
    struct vdb_value value;
    struct vdb_view *view; /* holds texts and vectors that the value borrows; NULL: none */
    char root[REPO_OID_HEX + 1];
    uint64_t count;
    /* points of get and search for grebe_vdb_result_rows(); queries of them */
    const struct vdb_value *points; /* shape [n_lists]: arrays of points */
    size_t n_lists;
    bool ids_are_json;          /* in the rows, whatever they are */
    bool is_one_row;            /* no list in the value is what it is about */
    struct vdb_member *written; /* of a write: "root", "affected_points" */
};

grebe_status vdb_result_new(const grebe_vdb *vdb, grebe_vdb_result **out, grebe_error *err);

/** An object while it is filled. A failed allocation shows when it is ended. */
struct vdb_object_maker {
    struct arena *ar;
    struct vdb_member *members;
    size_t n, capacity;
    bool is_failed;
};
void vdb_object_begin(struct vdb_object_maker *o, struct arena *ar, size_t capacity);
void vdb_object_add(struct vdb_object_maker *o, const char *key, struct vdb_value value); /* key is static */
grebe_status vdb_object_end(struct vdb_object_maker *o, struct vdb_value *out, grebe_error *err);
/** Give up or finish: *result is freed and NULL on failure. Gives back st. */
grebe_status vdb_result_end(grebe_status st, grebe_vdb_result **result, grebe_vdb_result **out);

struct vdb_value vdb_text(const char *text); /* borrowed */
struct vdb_value vdb_uint(uint64_t v);
struct vdb_value vdb_bool(bool v);
struct vdb_value vdb_null(void);
struct vdb_value vdb_list(const struct vdb_value *items, size_t n);
/** 40 digits, kept in the arena; null without memory, which the object's end tells. */
struct vdb_value vdb_oid_value(struct vdb_object_maker *o, const struct repo_oid *oid);
/** Keys in the order of their bytes, all the way down. */
grebe_status vdb_value_sort(struct arena *ar, struct vdb_value *v, grebe_error *err);

/** {root, name, format_version, point_count, config, read_only}. */
grebe_status vdb_info_value(struct arena *ar, const char *name, const struct vdb_snapshot *s, bool is_read_only,
                            struct vdb_value *out, grebe_error *err);
/** A point of a view: id, score (NULL: none), payload and vector as options say. */
grebe_status vdb_point_value(struct arena *ar, struct vdb_snapshot *s, struct vdb_place at, const double *score,
                             const grebe_vdb_read_options *options, struct vdb_value *out, grebe_error *err);
/** Members of a payload that dotted paths name, in an object as deep as the paths. */
grebe_status vdb_project(struct arena *ar, const char *payload, size_t len, const char *const *fields, size_t n_fields,
                         struct vdb_value *out, grebe_error *err);
/** {"root":…,"affected_points":…}, made before anything is written: once a reference has moved, nothing may fail any more. */
grebe_status vdb_write_result_new(const grebe_vdb *vdb, grebe_vdb_result **out, grebe_error *err);
void vdb_write_result_fill(grebe_vdb_result *r, const struct repo_oid *root, uint64_t affected);

#endif
