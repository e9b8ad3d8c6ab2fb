/* SPDX-License-Identifier: Apache-2.0 */
/* Writing in a build without libhdf5: no file can be made, so nothing else is ever called. Reading needs no library. */
#include "hdf5/hdf5_file.h"

/* The parameters are those of the header, and none of them matters. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

#define UNSUPPORTED(err) GREBE_FAIL(err, GREBE_EUNSUPPORTED, "writing HDF5 files is not built in (libhdf5)")

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
