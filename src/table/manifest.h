/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_TABLE_MANIFEST_H
#define GREBE_TABLE_MANIFEST_H

/*
 * A manifest: everything that belongs to one version of a table (docs/format/table.md). Bytes
 * to struct and back, and the paths inside. Decoding checks the encoding only; whether ranges
 * and totals make sense is snapshot.h's business.
 */

#include "io/io.h"
#include "wire/avro_schema.h"

enum {
    MANIFEST_BYTES_MAX = 256 << 20, /* of the file, and of its block after inflation */
    MANIFEST_RAW_VERSION_MAX = 3
};

/** A string of a manifest: NUL-terminated, never NULL once decoded. May hold any bytes. */
typedef struct avro_bytes manifest_text;

struct manifest_file {
    manifest_text path; /* as stored: see manifest_path_resolve */
    int64_t row_begin;  /* inside the file, half open; not checked */
    int64_t row_end;
    struct avro_list properties; /* struct avro_pair, sorted by key */
    manifest_text blob;          /* "metadata" of the generations before properties */
};

struct manifest_group {
    struct avro_list columns; /* manifest_text */
    struct avro_list files;   /* struct manifest_file */
    manifest_text format;
};

struct manifest_delta {
    manifest_text path;
    int32_t type;
    int64_t n_entries;
};

struct manifest_stat {
    manifest_text key;         /* first: the key of the map */
    struct avro_list paths;    /* manifest_text */
    struct avro_list metadata; /* struct avro_pair, sorted by key */
};

struct manifest_index {
    manifest_text column_name, index_name, index_type, path;
    int64_t field_id, index_id, build_id, index_version, n_rows, serialized_size, mem_size;
    int32_t current_index_version, current_scalar_index_version, index_store_path_version;
    struct avro_list file_keys;  /* manifest_text */
    struct avro_list properties; /* struct avro_pair, sorted by key */
};

struct manifest_lob {
    manifest_text path;
    int64_t field_id, total_rows, valid_rows, file_size_bytes;
};

enum manifest_encoding { MANIFEST_AVRO = 0, MANIFEST_RAW };

/** Immutable once made; everything lives in the arena (or in the arena of the manifest that
 *  it was made from, which must then live longer). */
struct manifest {
    struct arena arena;
    struct avro_list groups;     /* struct manifest_group */
    struct avro_list delta_logs; /* struct manifest_delta */
    struct avro_list stats;      /* struct manifest_stat, sorted by key, keys distinct */
    struct avro_list indexes;    /* struct manifest_index */
    struct avro_list lob_files;  /* struct manifest_lob */
    struct avro_list header;     /* struct avro_pair: header keys "grebe.*" */
    enum manifest_encoding encoding;
    int32_t raw_version; /* MANIFEST_RAW */
    uint64_t size_bytes; /* of the file */
};

/** An empty manifest; no allocation. */
void manifest_init(struct manifest *m, const grebe_allocator *a);
/** Frees everything; the manifest is empty and initialised afterwards. */
void manifest_release(struct manifest *m);

static inline struct manifest_group *manifest_group_at(const struct manifest *m, size_t i)
{
    return (struct manifest_group *)m->groups.items + i;
}
static inline struct manifest_file *manifest_file_at(const struct manifest_group *g, size_t i)
{
    return (struct manifest_file *)g->files.items + i;
}
static inline const char *manifest_column_at(const struct manifest_group *g, size_t i)
{
    return ((const manifest_text *)g->columns.items + i)->data;
}
static inline struct manifest_delta *manifest_delta_at(const struct manifest *m, size_t i)
{
    return (struct manifest_delta *)m->delta_logs.items + i;
}
static inline struct manifest_stat *manifest_stat_at(const struct manifest *m, size_t i)
{
    return (struct manifest_stat *)m->stats.items + i;
}
static inline struct manifest_index *manifest_index_at(const struct manifest *m, size_t i)
{
    return (struct manifest_index *)m->indexes.items + i;
}
static inline struct manifest_lob *manifest_lob_at(const struct manifest *m, size_t i)
{
    return (struct manifest_lob *)m->lob_files.items + i;
}

/** Value of a key in a list of struct avro_pair; NULL: not there. */
const manifest_text *pairs_find(const struct avro_list *pairs, const char *key);
/** The statistics entry of a key; NULL: none. */
const struct manifest_stat *manifest_stat_find(const struct manifest *m, const char *key);
/** A decimal property of a file such as "file_size"; 0: absent or no number. */
uint64_t manifest_file_size(const struct manifest_file *f, const char *key);
/** Whether the text is exactly `s`. */
static inline bool text_is(const manifest_text *t, const char *s)
{
    return t->len == strlen(s) && (t->len == 0 || memcmp(t->data, s, t->len) == 0);
}

/**
 * Decode any generation: container files of all schemas by field name, raw versions 1 to 3.
 *
 * @param m   Initialised and empty; released on failure.
 * @return GREBE_OK; GREBE_ECORRUPT; GREBE_EUNSUPPORTED (codec, raw version); GREBE_ELIMIT; GREBE_ENOMEM.
 */
grebe_status manifest_decode(struct manifest *m, const void *bytes, size_t len, grebe_error *err);

/**
 * Append today's form: a container file with one record, the reference's schema text, header
 * keys of m->header. The same manifest gives the same bytes.
 *
 * @return GREBE_OK; GREBE_ELIMIT (larger than a reader accepts); GREBE_ENOMEM.
 */
grebe_status manifest_encode(struct buf *dst, const struct manifest *m, grebe_error *err);

/** The schema text that is written: 2433 bytes. */
extern const char manifest_schema_text[];

/* ---- paths, docs/format/table.md "Paths" ---- */

/** What a path belongs to: decides the folder that it is relative to. */
enum manifest_folder {
    FOLDER_DATA = 0, /* _data/ */
    FOLDER_DELTA,    /* _delta/ */
    FOLDER_STATS,    /* _stats/ */
    FOLDER_INDEX,    /* _index/ */
    FOLDER_LOBS      /* ../lobs/ */
};

/** "_data/", …: static string. */
const char *manifest_folder_name(enum manifest_folder folder);

/** Append where a stored path lies. base: path of the table. */
grebe_status manifest_path_resolve(struct buf *dst, const char *base, enum manifest_folder folder,
                                   const char *stored, grebe_error *err);

/** Append what is stored for a path: without the folder when it lies inside, else untouched. */
grebe_status manifest_path_relativize(struct buf *dst, const char *base,
                                      enum manifest_folder folder, const char *path,
                                      grebe_error *err);

/**
 * Where a path of before 2026-01-19 lies: entries stored "_delta/9" or "tbl/_delta/9" where we
 * expect "9".  Appends nothing when the stored path has no such part.
 */
grebe_status manifest_path_old(struct buf *dst, const char *base, enum manifest_folder folder,
                               const char *stored, grebe_error *err);

/** As manifest_path_resolve; when nothing lies there but at the old form's place, that one. */
grebe_status manifest_path_probe(struct buf *dst, struct io_store *store, const char *base,
                                 enum manifest_folder folder, const char *stored,
                                 grebe_error *err);

/* ---- shared by manifest_decode.c and manifest_encode.c ---- */

/* Tables of members: manifest_schema.c. */
extern const struct avro_record manifest_record;      /* struct manifest as it is written */
extern const struct avro_record manifest_record_read; /* and as any container file is read */

/* Sections of the raw form in file order; stats are written in one of two ways. */
enum {
    RAW_GROUPS = 0,
    RAW_DELTAS,
    RAW_STATS_PATHS, /* versions 1 and 2 */
    RAW_STATS,       /* version 3 */
    RAW_INDEXES,     /* versions 2 and 3, where bytes remain */
    MANIFEST_RAW_SECTIONS
};
extern const struct avro_member manifest_raw_sections[MANIFEST_RAW_SECTIONS];

#endif
