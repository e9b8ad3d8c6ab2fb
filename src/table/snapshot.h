/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_TABLE_SNAPSHOT_H
#define GREBE_TABLE_SNAPSHOT_H

/*
 * One version, decoded and made ready for reading: where rows lie, which ids they have, which
 * columns there are. Immutable, reference-counted, kept in the context's cache.
 */

#include <stdatomic.h>

#include "arrow/arrow_schema.h"
#include "base/cache.h"
#include "table/manifest.h"

/* Body entries of ours (docs/format/table.md "Body entries"). */
#define STAT_SCHEMA "grebe.schema"
/* A file property: "1" makes INT96 timestamp[us]. */
#define FILE_INT96_US "grebe.int96_us"
#define STAT_ROW_IDS "grebe.rowids"

/** A column group with the positions of its files. */
struct snapshot_group {
    const struct manifest_group *manifest;
    size_t n_files;
    int64_t *row_begin; /* shape [n_files + 1]: rows before file i; the last is the total */
};

/** Ids [id_begin, id_begin + n) lie at rows [row_begin, row_begin + n). */
struct row_run {
    int64_t id_begin, row_begin, n;
};

/** A column as the table shows it. */
struct column {
    const char *stored; /* its name in groups and files */
    int32_t group;      /* in which group; -1: in none, all null */
    int32_t at;         /* position in the group's list of columns */
};

/** Columns of a version: logical names and types, and where they are stored. Immutable. */
struct columns {
    struct arena arena;
    struct ArrowSchema schema; /* struct; logical names */
    struct column *items;      /* shape [schema.n_children] */
    size_t n;
    bool is_stored; /* from the body entry, not from files */
};

struct snapshot {
    struct cache_value cached; /* first */
    grebe_context *ctx;
    char *base; /* path of the table */
    int64_t version;
    struct io_identity id; /* of the manifest file */
    struct manifest manifest;

    struct snapshot_group *groups; /* shape [manifest.groups.n] */
    int64_t n_rows;                /* of the first group with files */
    /* Groups of unequal length, impossible ranges: reading is refused with this. */
    grebe_status layout_status;
    grebe_error layout_error;

    /* An entry of row ids that does not fit the rows: reading by Grebe's semantics is refused. */
    grebe_status ids_status;
    grebe_error ids_error;

    struct row_run *runs; /* ascending in id and row; covers [0, n_rows). NULL: id = row */
    size_t n_runs;
    int64_t next_row_id;

    /* Once they are known: [0] Grebe's, [1] as the reference sees them. Set at most once each. */
    _Atomic(struct columns *) columns[2];
};

/**
 * The snapshot of a version, from the cache when the manifest file is unchanged.
 *
 * @param version 0: the empty snapshot.
 * @param out     One reference; snapshot_drop().
 */
grebe_status snapshot_open(struct io_store *store, const char *base, int64_t version,
                           struct snapshot **out, grebe_error *err);

/** From a manifest, moved in on success. */
grebe_status snapshot_new(grebe_context *ctx, const char *base, int64_t version,
                          struct manifest *m, struct snapshot **out, grebe_error *err);

/** Whether rows can be read. GREBE_OK, or what layout_error or, where they count, ids_error says. */
grebe_status snapshot_check_rows(const struct snapshot *s, bool is_milvus, grebe_error *err);

static inline struct snapshot *snapshot_keep(struct snapshot *s)
{
    cache_value_keep(&s->cached);
    return s;
}
static inline void snapshot_drop(struct snapshot *s)
{
    if (s != NULL) {
        cache_value_drop(&s->cached);
    }
}

/** Row of an id; -1: no such id (deleted, or never given out). */
int64_t snapshot_row_of_id(const struct snapshot *s, int64_t id);
/** Id of a row, 0 <= row < n_rows. */
int64_t snapshot_id_of_row(const struct snapshot *s, int64_t row);
/** First row whose id is at least `id`; n_rows: none. */
int64_t snapshot_row_lower_bound(const struct snapshot *s, int64_t id);

/** File of the group that holds the row: the last one that begins at or before it and is not
 *  empty. 0 <= row < total. */
size_t snapshot_file_of(const struct snapshot_group *g, int64_t row);

/**
 * The body entry `grebe.rowids` for n_rows rows, as a list of pairs in the arena.
 *
 * @param is_emptied None of the base's rows is left: all n_rows are new.
 */
grebe_status rowids_metadata(struct arena *arena, const struct snapshot *base, int64_t n_rows,
                             bool is_emptied, struct avro_list *out, grebe_error *err);

/** Put a snapshot whose manifest was just published into the cache. May do nothing. */
void snapshot_remember(struct io_store *store, struct snapshot *s);

/* ---- columns: table_columns.c ---- */

struct columns_options {
    struct io_store *store;
    bool is_milvus;
};

/** Columns of the snapshot; opens one file of each group when no schema is stored. Borrowed. */
grebe_status snapshot_columns(struct snapshot *s, struct io_store *store, bool is_milvus,
                              const struct columns **out, grebe_error *err);

/** @param c From columns_new or the like; NULL accepted. */
void columns_free(const grebe_allocator *a, struct columns *c);

/** Append the schema as the body entry's JSON. */
grebe_status columns_to_json(struct buf *dst, const struct columns *c, grebe_error *err);

#endif
