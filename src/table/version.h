/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_TABLE_VERSION_H
#define GREBE_TABLE_VERSION_H

/* Which versions a folder holds, what they are called, and when they were made. */

#include "io/io.h"

/** Whether a name in `_metadata` is a manifest: "manifest-<N>.avro", N >= 1 without leading 0. */
bool version_of_name(const char *name, int64_t *out);

/** Append "<base>/_metadata/manifest-<version>.avro". */
grebe_status version_path(struct buf *dst, const char *base, int64_t version, grebe_error *err);

/** The newest version; 0: none. One listing. */
grebe_status version_latest(struct io_store *store, const char *base, int64_t *out,
                            grebe_error *err);

/**
 * All versions, ascending. One listing.
 *
 * @param out Bytes are *n * sizeof(int64_t); free with mem_free. NULL when *n is 0.
 */
grebe_status version_list(const grebe_allocator *a, struct io_store *store, const char *base,
                          int64_t **out, size_t *n, grebe_error *err);

/** The newest version that was made at or before a time. GREBE_ENOTFOUND: none. table_log.c */
grebe_status version_at_time(struct io_store *store, const char *base, int64_t time_us,
                             int64_t *out, grebe_error *err);

/* ---- tags: <base>/_refs/tags/<name>.json ---- */

enum { TAG_NAME_MAX = 200 };

struct tag {
    char *name; /* all owned: tag_release */
    char *message;
    int64_t version;
    int64_t time_us; /* INT64_MIN: not known */
};

void tag_release(const grebe_allocator *a, struct tag *tag);

/** GREBE_EINVAL unless the name is one that a tag may have. */
grebe_status tag_name_check(const char *name, grebe_error *err);
grebe_status tag_read(struct io_store *store, const char *base, const char *name,
                      struct tag *out, grebe_error *err);
/** Put-if-absent: GREBE_EEXISTS. */
grebe_status tag_write(struct io_store *store, const char *base, const struct tag *tag,
                       grebe_error *err);
grebe_status tag_remove(struct io_store *store, const char *base, const char *name,
                        grebe_error *err);
/** Names, each owned by the caller (str_free), array of *n pointers by mem_free. Sorted. */
grebe_status tag_names(const grebe_allocator *a, struct io_store *store, const char *base,
                       char ***out, size_t *n, grebe_error *err);

/* ---- times ---- */

enum { TIME_TEXT_LEN = 32 };

/** "2026-11-29T12:00:00.000001Z"; the fraction is left out when it is 0. */
void time_print(char dst[TIME_TEXT_LEN], int64_t time_us);
/**
 * RFC 3339: date, 'T' or ' ', time, optional fraction, 'Z' or an offset; the date alone is its
 * midnight, no zone is UTC.
 *
 * @return false: no such text.
 */
bool time_parse(const char *text, int64_t *out_us);

#endif
