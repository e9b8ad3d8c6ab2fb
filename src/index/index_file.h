/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_INDEX_INDEX_FILE_H
#define GREBE_INDEX_INDEX_FILE_H

/*
 * An index as one file (docs/format/index.md): a page of 4 KiB with the magic, the sections, each at a multiple of
 * 4 KiB, and a last page, the table: version, fields (configuration and counts), the sections' places, lengths and
 * checksums, closed by a checksum of its own. It is mapped, never read in: a search touches only what it needs.
 *
 * Opening verifies the table's checksum and that every section lies inside the file. Sections up to
 * INDEX_VERIFY_BYTES in all are verified at once; larger files when the caller asks (`is_deep`). What is not verified
 * is hostile: whoever uses it checks each number on use, and gives GREBE_ECORRUPT.
 */

#include "base/context_internal.h"
#include "base/region.h"
#include "io/io.h"

enum { INDEX_FILE_VERSION = 1, INDEX_FILE_ALIGN = 4096, INDEX_SECTIONS_MAX = 40, INDEX_FIELDS_MAX = 64 };
#define INDEX_VERIFY_BYTES ((uint64_t)32 << 20)

/** Name of a section or a field: up to 8 characters, zero padded. */
typedef char index_tag[8];

struct index_file;
struct index_writer;

/**
 * @param is_deep Verify all sections.
 * @param out     index_file_close(); NULL on failure.
 * @return GREBE_OK; GREBE_ECORRUPT; GREBE_EUNSUPPORTED (a later version); GREBE_ENOTFOUND; GREBE_EIO; GREBE_ENOMEM.
 */
grebe_status index_file_open(grebe_context *ctx, const char *path, bool is_deep, struct index_file **out,
                             grebe_error *err);
void index_file_close(struct index_file *f); /* NULL accepted */
/** Path, for messages. */
const char *index_file_path(const struct index_file *f);
/** A number of the header; GREBE_ECORRUPT when it is missing, below min or above max. */
grebe_status index_file_uint(const struct index_file *f, const char *tag, uint64_t min, uint64_t max, uint64_t *out,
                             grebe_error *err);
grebe_status index_file_real(const struct index_file *f, const char *tag, double *out, grebe_error *err);
/**
 * A section of exactly `len` bytes (UINT64_MAX: any), borrowed until the file is closed, aligned to 4096.
 * At least 64 readable bytes follow it.
 */
grebe_status index_file_section(const struct index_file *f, const char *tag, uint64_t len, const void **data,
                                uint64_t *found_len, grebe_error *err);
/** The place of a section's first byte in the file, for messages; 0: no such section. */
uint64_t index_file_offset(const struct index_file *f, const char *tag);
bool index_file_has(const struct index_file *f, const char *tag);

/** Published under its name by index_writer_finish() alone, replacing what was there; until then the old file stays. */
grebe_status index_writer_open(grebe_context *ctx, const char *path, bool is_durable, struct index_writer **out,
                               grebe_error *err);
/** The same in any store (borrowed until the writer is closed). */
grebe_status index_writer_open_in(struct io_store *store, const char *path, bool is_durable, struct index_writer **out,
                                  grebe_error *err);
/* Tags have 1 to 8 characters and are used once; what breaks that is a mistake of the program (assert). */
grebe_status index_writer_uint(struct index_writer *w, const char *tag, uint64_t v, grebe_error *err);
grebe_status index_writer_real(struct index_writer *w, const char *tag, double v, grebe_error *err);
/** A section in one piece, or in several: begin, append, …, end. */
grebe_status index_writer_section(struct index_writer *w, const char *tag, const void *data, uint64_t len,
                                  grebe_error *err);
grebe_status index_writer_begin(struct index_writer *w, const char *tag, grebe_error *err);
grebe_status index_writer_append(struct index_writer *w, const void *data, uint64_t len, grebe_error *err);
grebe_status index_writer_end(struct index_writer *w, grebe_error *err);
grebe_status index_writer_finish(struct index_writer *w, grebe_error *err);
void index_writer_close(struct index_writer *w); /* without finish: nothing stays. NULL accepted */

#endif
