/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_HDF5_HDF5_FILE_H
#define GREBE_HDF5_HDF5_FILE_H

/*
 * HDF5 files as this library uses them: data sets of rank 1 or 2 and attributes in the root group, read and written by
 * ourselves, from and to the bytes (docs/format/hdf5.md, docs/decisions/). Reading is safe from several threads on one file.
 * Conversion between element types is by value, never with another signedness.
 */

#include "base/buf.h"
#include "base/context_internal.h"
#include "io/io.h"
#include "vector/vector_types.h"

struct hdf5_file;

/** Class of a stored type. OTHER cannot be read; type_name says what it is. */
enum hdf5_class { HDF5_INT, HDF5_UINT, HDF5_FLOAT, HDF5_BFLOAT, HDF5_BOOL /* enum over i8, as h5py writes bool */,
                  HDF5_STRING, HDF5_OTHER };

struct hdf5_data {
    char name[64];
    enum hdf5_class cls;
    char type_name[48]; /* "float32", "uint8", "enumeration (bool)", "compound", … */
    unsigned size; /* bytes of an element as stored */
    bool is_big_endian;
    unsigned rank; /* as stored; shape has 1 where there is no second dimension */
    uint64_t shape[2];
    uint64_t storage_bytes; /* as stored in the file */
    uint64_t offset;   /* of a data set in one piece; UINT64_MAX: chunked or compact */
    uint64_t chunk_rows; /* chunked: rows of a chunk; 0: it is not */
    grebe_status trouble_status; /* not GREBE_OK: its values cannot be read, and `trouble` says why */
    char trouble[160];
};

/** Whether the bytes (8 or more, from the file's beginning) are an HDF5 signature. */
bool hdf5_has_signature(const unsigned char *head, size_t n);

/** GREBE_ENOTFOUND, GREBE_ECORRUPT (no HDF5, damaged), GREBE_EUNSUPPORTED (a filter that is not there; named), GREBE_EIO. */
grebe_status hdf5_open(grebe_context *ctx, const char *path, struct hdf5_file **out, grebe_error *err);
/** The same in another store, which is borrowed until hdf5_close(). */
grebe_status hdf5_open_in(struct io_store *store, const char *path, struct hdf5_file **out, grebe_error *err);
void hdf5_close(struct hdf5_file *f); /* NULL accepted */

/** Data sets of the root group, in name order; members of other kinds are passed over. Borrowed from the file. */
size_t hdf5_n_data(const struct hdf5_file *f);
const struct hdf5_data *hdf5_data_at(const struct hdf5_file *f, size_t i);
const struct hdf5_data *hdf5_find(const struct hdf5_file *f, const char *name); /* NULL: none */

enum hdf5_text_form { HDF5_TEXT_PLAIN, HDF5_TEXT_SPACE_PADDED };
/**
 * A root attribute that is one string in any of the forms that programs write.
 * @return GREBE_OK; GREBE_ENOTFOUND; GREBE_ECORRUPT: it is no string, or has several elements (the message names both).
 */
grebe_status hdf5_text(struct hdf5_file *f, const char *name, struct buf *out, enum hdf5_text_form *form,
                       grebe_error *err);
/** A root attribute that is one integer (scalar or one element). */
grebe_status hdf5_int(struct hdf5_file *f, const char *name, int64_t *out, grebe_error *err);
/** A root attribute that is one number: a float, an integer or a truth value. *out is NaN on failure. */
grebe_status hdf5_real(struct hdf5_file *f, const char *name, double *out, grebe_error *err);

/** What elements become in memory. RAW: stored bytes, little endian. */
enum hdf5_memory { HDF5_RAW, HDF5_AS_F32, HDF5_AS_F64, HDF5_AS_I64 };
/**
 * Rows [begin, begin + n) of a data set (rank 1: elements), row-major, packed.
 * @param dst Shape [n][shape[1]] of the memory type.
 */
grebe_status hdf5_read(struct hdf5_file *f, const struct hdf5_data *d, uint64_t begin, uint64_t n,
                       enum hdf5_memory memory, void *dst, grebe_error *err);

/* ---- writing: deterministic bytes (no times, fixed order), contiguous, published at finish alone ---- */

struct hdf5_writer;
grebe_status hdf5_writer_open(grebe_context *ctx, const char *path, struct hdf5_writer **out, grebe_error *err);
/** vlen ASCII, null terminated, as VSAG writes. */
grebe_status hdf5_write_text(struct hdf5_writer *w, const char *name, const char *value, grebe_error *err);
/** int64, scalar or (is_array) of shape (1,). */
grebe_status hdf5_write_int(struct hdf5_writer *w, const char *name, int64_t value, bool is_array, grebe_error *err);
/** float64, scalar. */
grebe_status hdf5_write_real(struct hdf5_writer *w, const char *name, double value, grebe_error *err);
/** Begin a data set: cls INT, UINT, FLOAT or BOOL (bytes 0 and 1, as h5py has them) with size; rank 1 when columns is 0. */
grebe_status hdf5_write_begin(struct hdf5_writer *w, const char *name, enum hdf5_class cls, unsigned size,
                              uint64_t rows, uint64_t columns, grebe_error *err);
/** Rows in order, little endian. */
grebe_status hdf5_write_rows(struct hdf5_writer *w, uint64_t begin, uint64_t n, const void *src, grebe_error *err);
/** GREBE_EINVAL: rows are missing. */
grebe_status hdf5_write_end(struct hdf5_writer *w, grebe_error *err);
/** Give the file its name, replacing what was there. */
grebe_status hdf5_writer_finish(struct hdf5_writer *w, bool is_durable, grebe_error *err);
void hdf5_writer_close(struct hdf5_writer *w); /* without finish: nothing stays. NULL accepted */

#endif
