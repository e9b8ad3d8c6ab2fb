/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_IO_IO_H
#define GREBE_IO_IO_H

/*
 * Files and folders behind one small interface: local disk, memory, and wrappers for tests.
 * Paths are the store's keys, '/' between parts, as the user typed them.
 *
 * A finished file is immutable. A new one is written under a temporary name in its folder and
 * appears under its own name in one step (io_writer_publish), or never.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/context_internal.h"
#include "base/region.h"

/** Who a file is; two opens of the same unchanged file give equal identities. */
struct io_identity {
    uint64_t device, inode, size_bytes;
    int64_t modified_ns, changed_ns;
};

static inline bool io_identity_equal(const struct io_identity *x, const struct io_identity *y)
{
    return x->device == y->device && x->inode == y->inode && x->size_bytes == y->size_bytes &&
           x->modified_ns == y->modified_ns && x->changed_ns == y->changed_ns;
}

enum io_kind { IO_FILE = 0, IO_FOLDER, IO_OTHER };

struct io_info {
    enum io_kind kind;
    struct io_identity id;
};

/** One read of a call: len bytes at offset go to dst. */
struct io_range {
    uint64_t offset;
    size_t len;
    void *dst;
};

struct io_file;
struct io_writer;
struct io_store;

struct io_file_ops {
    /** At most len bytes at offset; *got is 0 only at the end of the file. */
    grebe_status (*read_some)(struct io_file *f, uint64_t offset, void *dst, size_t len,
                              size_t *got, grebe_error *err);
    /** The whole file as one region, one reference; NULL op: cannot be mapped. */
    grebe_status (*map)(struct io_file *f, struct region **out, grebe_error *err);
    void (*close)(struct io_file *f);
};

/** Head of every open file. Reads are safe from many threads. */
struct io_file {
    const struct io_file_ops *ops;
    const grebe_allocator *a;
    struct io_identity id;
    char *path; /* for messages */
};

struct io_writer_ops {
    grebe_status (*write)(struct io_writer *w, const void *bytes, size_t len, grebe_error *err);
    /** Make it durable if asked for, then give it its name. See io_writer_publish. */
    grebe_status (*publish)(struct io_writer *w, bool is_replace, grebe_error *err);
    void (*free)(struct io_writer *w); /* an unpublished one is removed */
};

struct io_writer {
    const struct io_writer_ops *ops;
    const grebe_allocator *a;
    char *path;
    uint64_t n_written;
    bool is_durable;
    bool is_published;
};

/** Called for each entry of a folder, in no order. Any status but OK ends the listing. */
typedef grebe_status (*io_list_fn)(void *arg, const char *name, enum io_kind kind,
                                   grebe_error *err);

struct io_store_ops {
    grebe_status (*open)(struct io_store *s, const char *path, struct io_file **out,
                         grebe_error *err);
    grebe_status (*stat)(struct io_store *s, const char *path, struct io_info *out,
                         grebe_error *err);
    /** GREBE_ENOTFOUND when the folder is not there. `kind` may be IO_OTHER when unknown. */
    grebe_status (*list)(struct io_store *s, const char *path, io_list_fn fn, void *arg,
                         grebe_error *err);
    grebe_status (*make_folders)(struct io_store *s, const char *path, bool is_durable,
                                 grebe_error *err);
    grebe_status (*remove)(struct io_store *s, const char *path, grebe_error *err);
    grebe_status (*create)(struct io_store *s, const char *path, bool is_durable,
                           struct io_writer **out, grebe_error *err);
    void (*free)(struct io_store *s);
};

struct io_store {
    const struct io_store_ops *ops;
    grebe_context *ctx;
    /* Stores of one scope see the same files under the same paths (all local ones do). */
    const void *cache_scope;
};

/* ---- stores ---- */

/** The machine's file system. @param out Owned; io_store_free(). */
grebe_status io_local_new(grebe_context *ctx, struct io_store **out, grebe_error *err);
/** Files in memory; folders exist as soon as something lies in them. */
grebe_status io_memory_new(grebe_context *ctx, struct io_store **out, grebe_error *err);
void io_store_free(struct io_store *s); /* NULL accepted */

/* ---- calls ---- */

grebe_status io_open(struct io_store *s, const char *path, struct io_file **out,
                     grebe_error *err);
void io_close(struct io_file *f); /* NULL accepted */
grebe_status io_stat(struct io_store *s, const char *path, struct io_info *out,
                     grebe_error *err);
grebe_status io_list(struct io_store *s, const char *path, io_list_fn fn, void *arg,
                     grebe_error *err);
grebe_status io_make_folders(struct io_store *s, const char *path, bool is_durable,
                             grebe_error *err);
/** A file, or a folder in which nothing is. */
grebe_status io_remove(struct io_store *s, const char *path, grebe_error *err);

/**
 * Exactly len bytes at offset.
 *
 * @return GREBE_OK; GREBE_ECORRUPT when the file ends before (message: place, expected, found); GREBE_EIO.
 */
grebe_status io_read(struct io_file *f, uint64_t offset, void *dst, size_t len, grebe_error *err);

/**
 * Several ranges in one call. Ranges that lie at most gap_bytes apart are read together, up to
 * IO_MERGE_MAX bytes; `ranges` is sorted by offset in place.
 */
grebe_status io_read_ranges(struct io_file *f, struct io_range *ranges, size_t n,
                            size_t gap_bytes, grebe_error *err);
enum { IO_GAP_DEFAULT = 8192, IO_MERGE_MAX = 1 << 20 };

/** The whole file in a heap region; GREBE_ELIMIT beyond limit bytes. */
grebe_status io_read_all(struct io_store *s, const char *path, uint64_t limit,
                         struct region **out, struct io_identity *id, grebe_error *err);

/** A file that will be `path`. @param out Owned; io_writer_free() (removes what was not published). */
grebe_status io_create(struct io_store *s, const char *path, bool is_durable,
                       struct io_writer **out, grebe_error *err);
grebe_status io_write(struct io_writer *w, const void *bytes, size_t len, grebe_error *err);
void io_writer_free(struct io_writer *w); /* NULL accepted */
/**
 * The file that will get the name, for a library that writes files itself: it must write into this very file. Borrowed;
 * NULL: the store's files are not on this machine.
 */
const char *io_writer_local_path(const struct io_writer *w);
/** All that was gathered is in the file that io_writer_local_path() names. */
grebe_status io_writer_flush(struct io_writer *w, grebe_error *err);
/**
 * Replace bytes that were written before, such as a count that is known at the end alone.
 * @return GREBE_OK; GREBE_EUNSUPPORTED (the store cannot); GREBE_EINVAL (beyond what was written); GREBE_EIO.
 */
grebe_status io_writer_patch(struct io_writer *w, uint64_t offset, const void *bytes, size_t len, grebe_error *err);

/**
 * Leave out n bytes for io_writer_patch(); they read as zeros until then. A patch of what was left out may run in many
 * threads at once, while nothing else is done with the writer.
 */
grebe_status io_writer_skip(struct io_writer *w, uint64_t n, grebe_error *err);

/**
 * Give the file its name. The only way in which a name comes to be in the whole library.
 * Durable: the file is synced before, its folder after.
 *
 * @param is_replace false: put-if-absent.
 * @return GREBE_OK; GREBE_EEXISTS (put-if-absent and the name is taken: nothing happened);
 *         GREBE_EUNKNOWN_OUTCOME (the name was given but the folder could not be synced, or the
 *         answer was lost on the way: the file must not be removed); GREBE_ELIMIT (no space);
 *         GREBE_EIO.
 */
grebe_status io_writer_publish(struct io_writer *w, bool is_replace, grebe_error *err);

/* ---- files that stay open: the context's cache ---- */

/** An open file that several users share, with its map. Immutable. */
struct io_shared_file {
    struct cache_value cached;
    struct io_file *file;
    struct region *map; /* NULL when the store cannot map, or there is no address space left */
};

/**
 * Open through the context's cache: one stat, and nothing more when the file is known and
 * unchanged. The map reads the file as it is: a program that truncates a data file in place
 * kills its readers (SIGBUS), which is why nothing of ours ever does.
 *
 * @param out One reference; io_shared_drop().
 */
grebe_status io_open_shared(struct io_store *s, const char *path, struct io_shared_file **out,
                            grebe_error *err);
void io_shared_drop(struct io_shared_file *f); /* NULL accepted */

/* ---- paths ---- */

/** base + '/' + rest (rest may be ""), lexically normalised where `rest` has dots. Appends to dst. */
grebe_status path_join(struct buf *dst, const char *base, const char *rest, grebe_error *err);
/** "." and ".." resolved textually, double '/' folded, a trailing '/' kept. Appends to dst. */
grebe_status path_normalize(struct buf *dst, const char *path, grebe_error *err);
/** The path from the root of the file system: the process's current folder in front of a relative
 *  one, then path_normalize. Appends to dst. */
grebe_status path_absolute(struct buf *dst, const char *path, grebe_error *err);
/** What follows the last '/', or the whole path. */
const char *path_base_name(const char *path);
/** Length of the scheme when the path is a URI ("s3://…": 2), else 0. */
size_t path_scheme_len(const char *path);

#endif
