/* SPDX-License-Identifier: Apache-2.0 */
#include "grebe/hdf5.h"

#include "hdf5/hdf5_file.h"

grebe_status grebe_hdf5_list(grebe_context *ctx, const char *path, grebe_hdf5_data_fn fn, void *data_ctx,
                             grebe_error *err)
{
    GREBE_CHECK_ARG(err, ctx != NULL && path != NULL && fn != NULL);
    struct hdf5_file *f = NULL;
    grebe_status st = hdf5_open(ctx, path, &f, err);
    for (size_t i = 0; st == GREBE_OK && i < hdf5_n_data(f); i++) {
        const struct hdf5_data *d = hdf5_data_at(f, i);
        grebe_hdf5_data one = { d->name, d->type_name, d->rank, d->shape[0], d->shape[1], d->is_big_endian,
                                d->chunk_rows > 0, d->trouble_status == GREBE_OK ? NULL : d->trouble };
        fn(data_ctx, &one);
    }
    hdf5_close(f);
    return st;
}
