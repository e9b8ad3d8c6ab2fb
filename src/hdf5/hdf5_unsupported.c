/* SPDX-License-Identifier: Apache-2.0 */
/* The room in a build without libhdf5: no file can be opened or made, so nothing else is ever called. */
#include "hdf5/hdf5_file.h"

#include <string.h>

/* The parameters are those of the header, and none of them matters. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

#define UNSUPPORTED(err) GREBE_FAIL(err, GREBE_EUNSUPPORTED, "HDF5 files are not built in (libhdf5)")

bool hdf5_has_signature(const unsigned char *head, size_t n)
{
    return n >= 8 && memcmp(head, "\x89HDF\r\n\x1a\n", 8) == 0;
}

grebe_status hdf5_open(grebe_context *ctx, const char *path, struct hdf5_file **out, grebe_error *err)
{
    *out = NULL;
    return UNSUPPORTED(err);
}

void hdf5_close(struct hdf5_file *f)
{
}

size_t hdf5_n_data(const struct hdf5_file *f) { return 0; }

const struct hdf5_data *hdf5_data_at(const struct hdf5_file *f, size_t i) { return NULL; }

const struct hdf5_data *hdf5_find(const struct hdf5_file *f, const char *name) { return NULL; }

grebe_status hdf5_text(struct hdf5_file *f, const char *name, struct buf *out, enum hdf5_text_form *form,
                       grebe_error *err)
{
    return UNSUPPORTED(err);
}

grebe_status hdf5_int(struct hdf5_file *f, const char *name, int64_t *out, grebe_error *err) { return UNSUPPORTED(err); }

grebe_status hdf5_real(struct hdf5_file *f, const char *name, double *out, grebe_error *err) { return UNSUPPORTED(err); }

grebe_status hdf5_read(struct hdf5_file *f, const struct hdf5_data *d, uint64_t begin, uint64_t n,
                       enum hdf5_memory memory, void *dst, grebe_error *err)
{
    return UNSUPPORTED(err);
}

grebe_status hdf5_writer_open(grebe_context *ctx, const char *path, struct hdf5_writer **out, grebe_error *err)
{
    *out = NULL;
    return UNSUPPORTED(err);
}

grebe_status hdf5_write_text(struct hdf5_writer *w, const char *name, const char *value, grebe_error *err)
{
    return UNSUPPORTED(err);
}

grebe_status hdf5_write_int(struct hdf5_writer *w, const char *name, int64_t value, bool is_array, grebe_error *err)
{
    return UNSUPPORTED(err);
}

grebe_status hdf5_write_real(struct hdf5_writer *w, const char *name, double value, grebe_error *err)
{
    return UNSUPPORTED(err);
}

grebe_status hdf5_write_begin(struct hdf5_writer *w, const char *name, enum hdf5_class cls, unsigned size,
                              uint64_t rows, uint64_t columns, grebe_error *err)
{
    return UNSUPPORTED(err);
}

grebe_status hdf5_write_rows(struct hdf5_writer *w, uint64_t begin, uint64_t n, const void *src, grebe_error *err)
{
    return UNSUPPORTED(err);
}

grebe_status hdf5_write_end(struct hdf5_writer *w, grebe_error *err) { return UNSUPPORTED(err); }

grebe_status hdf5_writer_finish(struct hdf5_writer *w, bool is_durable, grebe_error *err) { return UNSUPPORTED(err); }

void hdf5_writer_close(struct hdf5_writer *w)
{
}
