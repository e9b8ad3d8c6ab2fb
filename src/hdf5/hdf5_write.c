/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing: what is the same is the same bytes. No times, members in the order of the calls, the oldest format, which is
 * what VSAG and h5py write. The library writes into the temporary file of an io_writer, which then gets its name.
 */
#include <errno.h>
#include <string.h>

#include "base/checked.h"
#include "hdf5/hdf5_api.h"
#include "hdf5/hdf5_file.h"
#include "io/io.h"

/* Large data sets begin at a page, so that they can be read in place. */
enum { ALIGN_FROM = 65536, ALIGN = 4096 };

struct hdf5_writer {
    grebe_context *ctx;
    struct io_store *store;
    struct io_writer *to;
    struct hdf5_api api;
    hid_t id;
    hid_t data, type; /* of the data set that was begun; -1: none */
    char name[64];
    unsigned rank;
    uint64_t shape[2], n_done;
};

static grebe_status fail(struct hdf5_writer *w, const char *what, grebe_error *err)
{
    char why[200];
    int sys = errno;
    hdf5_reason(&w->api, why, sizeof why);
    if (sys == ENOSPC || sys == EDQUOT || sys == EFBIG) {
        return GREBE_FAIL_SYS(err, status_from_errno(sys), sys, "%s: cannot write %s", w->to->path, what);
    }
    return GREBE_FAIL(err, GREBE_EIO, "%s: cannot write %s: %s", w->to->path, what, why);
}

static grebe_status create_entered(struct hdf5_writer *w, grebe_error *err)
{
    struct hdf5_api *api = &w->api;
    hid_t access = api->Pcreate(api->P_CLS_FILE_ACCESS_ID);
    api->Pset_fclose_degree(access, H5F_CLOSE_STRONG);
    api->Pset_file_locking(access, 0, 1);
    api->Pset_alignment(access, ALIGN_FROM, ALIGN);
    errno = 0;
    w->id = api->Fcreate(io_writer_local_path(w->to), HDF5_TRUNCATE, H5P_DEFAULT, access);
    api->Pclose(access);
    return w->id >= 0 ? GREBE_OK : fail(w, "its first bytes", err);
}

grebe_status hdf5_writer_open(grebe_context *ctx, const char *path, struct hdf5_writer **out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    *out = NULL;
    struct hdf5_writer *w = mem_alloc_zero(ctx->a, sizeof *w);
    if (w == NULL) {
        return mem_fail(err, sizeof *w, path);
    }
    w->ctx = ctx;
    w->id = w->data = w->type = -1;
    GREBE_TRY(hdf5_api_load(&w->api, err));
    GREBE_TRY(io_local_new(ctx, &w->store, err));
    GREBE_TRY(io_create(w->store, path, false, &w->to, err));
    hdf5_enter(&w->api);
    st = create_entered(w, err);
    hdf5_leave(&w->api);
    if (st != GREBE_OK) {
        goto out;
    }
    *out = w;
    w = NULL;
out:
    hdf5_writer_close(w);
    return st;
}

static void data_close(struct hdf5_writer *w)
{
    if (w->data >= 0) {
        w->api.Dclose(w->data);
    }
    if (w->type >= 0) {
        w->api.Tclose(w->type);
    }
    w->data = w->type = -1;
}

void hdf5_writer_close(struct hdf5_writer *w)
{
    if (w == NULL) {
        return;
    }
    if (w->api.library != NULL) {
        hdf5_enter(&w->api);
        data_close(w);
        if (w->id >= 0) {
            w->api.Fclose(w->id);
        }
        hdf5_leave(&w->api);
    }
    io_writer_free(w->to);
    io_store_free(w->store);
    mem_free(w->ctx->a, w, sizeof *w);
}

/* ---- attributes ---- */

static grebe_status write_attribute(struct hdf5_writer *w, const char *name, hid_t type, hid_t space, hid_t memory,
                                    const void *value, grebe_error *err)
{
    struct hdf5_api *api = &w->api;
    errno = 0;
    hid_t a = type < 0 || space < 0 ? -1 : api->Acreate2(w->id, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    bool is_done = a >= 0 && api->Awrite(a, memory, value) >= 0;
    grebe_status st = is_done ? GREBE_OK : fail(w, name, err);
    if (a >= 0) {
        api->Aclose(a);
    }
    return st;
}

grebe_status hdf5_write_text(struct hdf5_writer *w, const char *name, const char *value, grebe_error *err)
{
    struct hdf5_api *api = &w->api;
    hdf5_enter(api);
    hid_t space = api->Screate(H5S_SCALAR), type = api->Tcopy(api->T_C_S1);
    if (type >= 0) {
        api->Tset_size(type, H5T_VARIABLE);
    }
    grebe_status st = write_attribute(w, name, type, space, type, &value, err);
    api->Tclose(type);
    api->Sclose(space);
    hdf5_leave(api);
    return st;
}

grebe_status hdf5_write_int(struct hdf5_writer *w, const char *name, int64_t value, bool is_array, grebe_error *err)
{
    struct hdf5_api *api = &w->api;
    hsize_t one = 1;
    hdf5_enter(api);
    hid_t space = is_array ? api->Screate_simple(1, &one, NULL) : api->Screate(H5S_SCALAR);
    grebe_status st = write_attribute(w, name, api->T_STD_I64LE, space, api->T_NATIVE_INT64, &value, err);
    api->Sclose(space);
    hdf5_leave(api);
    return st;
}

grebe_status hdf5_write_real(struct hdf5_writer *w, const char *name, double value, grebe_error *err)
{
    struct hdf5_api *api = &w->api;
    hdf5_enter(api);
    hid_t space = api->Screate(H5S_SCALAR);
    grebe_status st = write_attribute(w, name, api->T_IEEE_F64LE, space, api->T_NATIVE_DOUBLE, &value, err);
    api->Sclose(space);
    hdf5_leave(api);
    return st;
}

/* ---- data sets ---- */

static hid_t half_type(struct hdf5_api *api)
{
    hid_t t = api->Tcopy(api->T_IEEE_F32LE);
    bool is_made = t >= 0 && api->Tset_fields(t, 15, 10, 5, 0, 10) >= 0 && api->Tset_precision(t, 16) >= 0 &&
                   api->Tset_size(t, 2) >= 0 && api->Tset_ebias(t, 15) >= 0;
    if (!is_made && t >= 0) {
        api->Tclose(t);
    }
    return is_made ? t : -1;
}

static hid_t bool_type(struct hdf5_api *api)
{
    static const int8_t no = 0, yes = 1;
    hid_t t = api->Tenum_create(api->T_STD_I8LE);
    if (t >= 0 && (api->Tenum_insert(t, "FALSE", &no) < 0 || api->Tenum_insert(t, "TRUE", &yes) < 0)) {
        api->Tclose(t);
        t = -1;
    }
    return t;
}

static hid_t type_of(struct hdf5_api *api, enum hdf5_class cls, unsigned size)
{
    const struct {
        enum hdf5_class cls;
        unsigned size;
        hid_t type;
    } types[] = { { HDF5_INT, 1, api->T_STD_I8LE },    { HDF5_INT, 2, api->T_STD_I16LE },
                  { HDF5_INT, 4, api->T_STD_I32LE },   { HDF5_INT, 8, api->T_STD_I64LE },
                  { HDF5_UINT, 1, api->T_STD_U8LE },   { HDF5_UINT, 2, api->T_STD_U16LE },
                  { HDF5_UINT, 4, api->T_STD_U32LE },  { HDF5_UINT, 8, api->T_STD_U64LE },
                  { HDF5_FLOAT, 4, api->T_IEEE_F32LE }, { HDF5_FLOAT, 8, api->T_IEEE_F64LE } };
    if (cls == HDF5_FLOAT && size == 2) {
        return half_type(api);
    }
    if (cls == HDF5_BOOL && size == 1) {
        return bool_type(api);
    }
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (types[i].cls == cls && types[i].size == size) {
            return api->Tcopy(types[i].type);
        }
    }
    return -1;
}

grebe_status hdf5_write_begin(struct hdf5_writer *w, const char *name, enum hdf5_class cls, unsigned size,
                              uint64_t rows, uint64_t columns, grebe_error *err)
{
    struct hdf5_api *api = &w->api;
    hsize_t shape[2] = { rows, columns };
    grebe_status st = GREBE_OK;
    if (w->data >= 0 || strlen(name) >= sizeof w->name) {
        return GREBE_FAIL(err, GREBE_EINVAL, "%s: the data set before it is not finished, or its name is too long", name);
    }
    hdf5_enter(api);
    errno = 0;
    w->rank = columns == 0 ? 1 : 2;
    w->shape[0] = rows;
    w->shape[1] = columns == 0 ? 1 : columns;
    w->n_done = 0;
    memcpy(w->name, name, strlen(name) + 1);
    w->type = type_of(api, cls, size);
    hid_t space = api->Screate_simple((int)w->rank, shape, NULL), plist = api->Pcreate(api->P_CLS_DATASET_CREATE_ID);
    if (w->type >= 0 && space >= 0 && plist >= 0 && api->Pset_obj_track_times(plist, 0) >= 0 &&
        api->Pset_layout(plist, H5D_CONTIGUOUS) >= 0 && api->Pset_fill_time(plist, H5D_FILL_TIME_NEVER) >= 0) {
        w->data = api->Dcreate2(w->id, name, w->type, space, H5P_DEFAULT, plist, H5P_DEFAULT);
    }
    if (w->data < 0) {
        st = fail(w, name, err);
        data_close(w);
    }
    if (plist >= 0) {
        api->Pclose(plist);
    }
    if (space >= 0) {
        api->Sclose(space);
    }
    hdf5_leave(api);
    return st;
}

grebe_status hdf5_write_rows(struct hdf5_writer *w, uint64_t begin, uint64_t n, const void *src, grebe_error *err)
{
    struct hdf5_api *api = &w->api;
    hsize_t start[2] = { begin, 0 }, count[2] = { n, w->shape[1] };
    if (w->data < 0 || begin != w->n_done || !range_fits_u64(begin, n, w->shape[0])) {
        return GREBE_FAIL(err, GREBE_EINVAL, "%s: expected row %llu of %llu next, found %llu rows from %llu", w->name,
                          (unsigned long long)w->n_done, (unsigned long long)w->shape[0], (unsigned long long)n,
                          (unsigned long long)begin);
    }
    if (n == 0) {
        return GREBE_OK;
    }
    hdf5_enter(api);
    errno = 0;
    hid_t space = api->Dget_space(w->data), memory = api->Screate_simple((int)w->rank, count, NULL);
    bool is_done = space >= 0 && memory >= 0 &&
                   api->Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL) >= 0 &&
                   api->Dwrite(w->data, w->type, memory, space, H5P_DEFAULT, src) >= 0;
    grebe_status st = is_done ? GREBE_OK : fail(w, w->name, err);
    if (memory >= 0) {
        api->Sclose(memory);
    }
    if (space >= 0) {
        api->Sclose(space);
    }
    hdf5_leave(api);
    w->n_done += is_done ? n : 0;
    return st;
}

grebe_status hdf5_write_end(struct hdf5_writer *w, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    if (w->data < 0 || w->n_done != w->shape[0]) {
        return GREBE_FAIL(err, GREBE_EINVAL, "%s: expected %llu rows, found %llu", w->name,
                          (unsigned long long)w->shape[0], (unsigned long long)w->n_done);
    }
    hdf5_enter(&w->api);
    errno = 0;
    herr_t closed = w->api.Dclose(w->data);
    w->data = -1;
    if (closed < 0) {
        st = fail(w, w->name, err);
    }
    data_close(w);
    hdf5_leave(&w->api);
    return st;
}

grebe_status hdf5_writer_finish(struct hdf5_writer *w, bool is_durable, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    if (w->data >= 0 || w->id < 0) {
        return GREBE_FAIL(err, GREBE_EINVAL, "%s: expected every data set finished, and one finish", w->to->path);
    }
    hdf5_enter(&w->api);
    errno = 0;
    herr_t closed = w->api.Fclose(w->id);
    w->id = -1;
    if (closed < 0) {
        st = fail(w, "its end", err);
    }
    hdf5_leave(&w->api);
    if (st == GREBE_OK) {
        w->to->is_durable = is_durable;
        st = io_writer_publish(w->to, true, err);
    }
    return st;
}
