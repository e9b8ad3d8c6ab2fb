/* SPDX-License-Identifier: Apache-2.0 */
/* Opening a file, and what its root group holds. */
#include "hdf5/hdf5_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "hdf5/hdf5_internal.h"

/* What a byte of a deflated chunk can grow to (RFC 1951: 258 bytes for two bits), rounded up. */
enum { GROWTH_MAX = 1040 };

static grebe_status cannot_read(struct hdf5_data *d, grebe_status status, const char *text)
{
    d->trouble_status = status;
    snprintf(d->trouble, sizeof d->trouble, "%s", text);
    return status;
}

/* Filters that the library lacks are named before anything is read. */
static void look_at_filters(struct hdf5_api *api, hid_t plist, struct hdf5_data *d, int *n_filters)
{
    *n_filters = api->Pget_nfilters(plist);
    for (int i = 0; i < *n_filters; i++) {
        char name[64] = "";
        unsigned flags = 0, config = 0, values[1];
        size_t n_values = 1;
        H5Z_filter_t id = api->Pget_filter2(plist, (unsigned)i, &flags, &n_values, values, sizeof name, name, &config);
        if (id >= 0 && api->Zfilter_avail(id) > 0) {
            continue;
        }
        char quoted[48], text[sizeof d->trouble];
        error_quote(quoted, sizeof quoted, name, strnlen(name, sizeof name));
        snprintf(text, sizeof text, "filter %d (%s) is not available", (int)id, quoted[0] == '\0' ? "no name" : quoted);
        cannot_read(d, GREBE_EUNSUPPORTED, text);
        return;
    }
}

static const char *human(double bytes, char *dst, size_t n)
{
    static const char *const units[] = { "bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
    size_t u = 0;
    for (; bytes >= 1024 && u + 1 < sizeof units / sizeof units[0]; u++) {
        bytes /= 1024;
    }
    snprintf(dst, n, "%.*f %s", bytes == (double)(uint64_t)bytes ? 0 : 1, bytes, units[u]);
    return dst;
}

/* Nothing is allocated for what the file cannot hold: `growth` bytes of values for one that is stored. */
static void check_claim(struct hdf5_data *d, uint64_t file_bytes, uint64_t growth)
{
    uint64_t n = 0, most = 0;
    bool fits = checked_mul_u64(d->shape[0], d->shape[1], &n) && checked_mul_u64(n, d->size, &n);
    if (!checked_mul_u64(file_bytes, growth, &most)) {
        most = UINT64_MAX;
    }
    if (fits && n <= most) {
        return;
    }
    char size[32], text[sizeof d->trouble];
    double bytes = (double)d->shape[0] * (double)d->shape[1] * d->size;
    snprintf(text, sizeof text, "claims %llu x %llu %.24s (%s), the file has %llu bytes",
             (unsigned long long)d->shape[0], (unsigned long long)d->shape[1], d->type_name,
             human(bytes, size, sizeof size), (unsigned long long)file_bytes);
    cannot_read(d, GREBE_ECORRUPT, text);
}

/* Where and how the values are stored, and whether that can be. */
static void look_at_layout(struct hdf5_file *f, hid_t data, hid_t plist, struct hdf5_data *d)
{
    struct hdf5_api *api = &f->api;
    H5D_layout_t layout = api->Pget_layout(plist);
    uint64_t file_bytes = f->bytes->id.size_bytes;
    uint64_t growth = 1, bytes = d->shape[0] * d->shape[1] * d->size; /* wraps only where check_claim says so */
    int n_filters = 0;
    if (layout == H5D_VIRTUAL || (layout == H5D_CONTIGUOUS && api->Pget_external_count(plist) > 0)) {
        cannot_read(d, GREBE_EUNSUPPORTED, "its values are in other files");
    } else if (layout == H5D_CHUNKED) {
        hsize_t chunk[H5S_MAX_RANK] = { 0 };
        int rank = api->Pget_chunk(plist, H5S_MAX_RANK, chunk);
        look_at_filters(api, plist, d, &n_filters);
        growth = n_filters > 0 ? GROWTH_MAX : 1;
        struct hdf5_data whole = *d;
        whole.shape[0] = rank > 0 ? chunk[0] : 0;
        whole.shape[1] = 1;
        for (int i = 1; i < rank && i < H5S_MAX_RANK; i++) {
            if (!checked_mul_u64(whole.shape[1], chunk[i], &whole.shape[1])) {
                whole.shape[1] = UINT64_MAX;
            }
        }
        d->chunk_rows = whole.shape[0] > 0 ? whole.shape[0] : 1;
        check_claim(&whole, file_bytes, growth);
        if (whole.trouble_status != GREBE_OK && d->trouble_status == GREBE_OK && d->storage_bytes > 0) {
            char text[sizeof d->trouble];
            snprintf(text, sizeof text, "a chunk %.140s", whole.trouble);
            cannot_read(d, GREBE_ECORRUPT, text);
        }
    } else if (layout == H5D_CONTIGUOUS) {
        haddr_t at = api->Dget_offset(data);
        if (at != HADDR_UNDEF && range_fits_u64(at, bytes, file_bytes)) {
            d->offset = at;
        } else if (at != HADDR_UNDEF && bytes > 0 && d->cls != HDF5_STRING && d->cls != HDF5_OTHER) {
            cannot_read(d, GREBE_ECORRUPT, "its values stand beyond the end of the file");
        }
    }
    check_claim(d, file_bytes, growth);
}

static grebe_status describe(struct hdf5_file *f, const char *name, struct hdf5_data *d, grebe_error *err)
{
    struct hdf5_api *api = &f->api;
    char why[160];
    hsize_t dims[H5S_MAX_RANK] = { 0 };
    hid_t data = api->Dopen2(f->id, name, H5P_DEFAULT);
    hid_t type = data < 0 ? -1 : api->Dget_type(data);
    hid_t space = data < 0 ? -1 : api->Dget_space(data);
    hid_t plist = data < 0 ? -1 : api->Dget_create_plist(data);
    grebe_status st = GREBE_OK;
    memset(d, 0, sizeof *d);
    snprintf(d->name, sizeof d->name, "%s", name);
    d->offset = UINT64_MAX;
    int rank = space < 0 ? -1 : api->Sget_simple_extent_ndims(space);
    if (type < 0 || plist < 0 || rank < 0 || rank > H5S_MAX_RANK ||
        api->Sget_simple_extent_dims(space, dims, NULL) < 0) {
        st = GREBE_FAIL(err, GREBE_ECORRUPT, "data set %s: HDF5 structure damaged: %s", d->name,
                        hdf5_reason(api, why, sizeof why));
        goto out;
    }
    hdf5_describe_type(api, type, d);
    d->rank = (unsigned)rank;
    d->shape[0] = rank > 0 ? dims[0] : (uint64_t)(api->Sget_simple_extent_type(space) != H5S_NULL);
    d->shape[1] = 1;
    for (int i = 1; i < rank; i++) {
        if (!checked_mul_u64(d->shape[1], dims[i], &d->shape[1])) {
            d->shape[1] = UINT64_MAX;
        }
    }
    d->storage_bytes = api->Dget_storage_size(data);
    look_at_layout(f, data, plist, d);
out:
    if (plist >= 0) {
        api->Pclose(plist);
    }
    if (space >= 0) {
        api->Sclose(space);
    }
    if (type >= 0) {
        api->Tclose(type);
    }
    if (data >= 0) {
        api->Dclose(data);
    }
    return st;
}

struct listing {
    struct hdf5_file *f;
    grebe_status st;
    grebe_error *err;
};

/* Members that are no data sets, names that none of ours has, and links out of the file are passed over. */
static herr_t list_one(hid_t group, const char *name, const H5L_info_t *info, void *arg)
{
    struct listing *l = arg;
    struct hdf5_api *api = &l->f->api;
    struct hdf5_data d;
    H5O_info_t object;
    if (info->type != H5L_TYPE_HARD || name[0] == '\0' || strlen(name) >= sizeof d.name || strcmp(name, ".") == 0 ||
        strchr(name, '/') != NULL) {
        return 0;
    }
    if (api->Oget_info_by_name2(group, name, &object, H5O_INFO_BASIC, H5P_DEFAULT) < 0) {
        char why[160], shown[72];
        l->st = GREBE_FAIL(l->err, GREBE_ECORRUPT, "%s: HDF5 structure damaged: %s",
                           error_quote(shown, sizeof shown, name, strlen(name)), hdf5_reason(api, why, sizeof why));
        return -1;
    }
    if (object.type != H5O_TYPE_DATASET) {
        return 0;
    }
    if (l->f->data.len / sizeof d >= HDF5_DATA_MAX) {
        l->st = GREBE_FAIL(l->err, GREBE_ELIMIT, "expected at most %d data sets in the root group", HDF5_DATA_MAX);
        return -1;
    }
    l->st = describe(l->f, name, &d, l->err);
    if (l->st == GREBE_OK) {
        l->st = buf_put(&l->f->data, &d, sizeof d, l->err);
    }
    return l->st == GREBE_OK ? 0 : -1;
}

static int by_name(const void *x, const void *y)
{
    return strcmp(((const struct hdf5_data *)x)->name, ((const struct hdf5_data *)y)->name);
}

static grebe_status open_entered(struct hdf5_file *f, const char *path, grebe_error *err)
{
    struct hdf5_api *api = &f->api;
    char why[200];
    hdf5_lzf_register(api);
    hid_t access = api->Pcreate(api->P_CLS_FILE_ACCESS_ID);
    if (access < 0) {
        return GREBE_FAIL(err, GREBE_ENOMEM, "libhdf5: %s", hdf5_reason(api, why, sizeof why));
    }
    api->Pset_fclose_degree(access, H5F_CLOSE_STRONG);
    api->Pset_file_locking(access, 0, 1); /* a reader needs no right to write, and NFS has no locks */
    f->id = api->Fopen(path, HDF5_READ_ONLY, access);
    api->Pclose(access);
    if (f->id < 0) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "HDF5 structure damaged: %s", hdf5_reason(api, why, sizeof why));
    }
    struct listing l = { f, GREBE_OK, err };
    if (api->Literate(f->id, H5_INDEX_NAME, H5_ITER_INC, NULL, list_one, &l) < 0) {
        return l.st != GREBE_OK ? l.st
                                : GREBE_FAIL(err, GREBE_ECORRUPT, "HDF5 structure damaged: %s",
                                             hdf5_reason(api, why, sizeof why));
    }
    return GREBE_OK;
}

grebe_status hdf5_open(grebe_context *ctx, const char *path, struct hdf5_file **out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    *out = NULL;
    struct hdf5_file *f = mem_alloc_zero(ctx->a, sizeof *f);
    if (f == NULL) {
        return mem_fail(err, sizeof *f, path);
    }
    f->ctx = ctx;
    f->id = -1;
    f->data = BUF_INIT(ctx->a);
    GREBE_TRY(io_local_new(ctx, &f->store, err));
    GREBE_TRY(io_open(f->store, path, &f->bytes, err));
    st = hdf5_superblock_check(f->bytes, err);
    if (st != GREBE_OK) {
        st = error_wrap(err, st, "%s", path);
        goto out;
    }
    GREBE_TRY(hdf5_api_load(&f->api, err));
    hdf5_enter(&f->api);
    st = open_entered(f, path, err);
    hdf5_leave(&f->api);
    if (st != GREBE_OK) {
        st = error_wrap(err, st, "%s", path);
        goto out;
    }
    if (f->data.len > 0) {
        qsort(f->data.data, f->data.len / sizeof(struct hdf5_data), sizeof(struct hdf5_data), by_name);
    }
    *out = f;
    f = NULL;
out:
    hdf5_close(f);
    return st;
}

void hdf5_close(struct hdf5_file *f)
{
    if (f == NULL) {
        return;
    }
    if (f->id >= 0) {
        hdf5_enter(&f->api);
        f->api.Fclose(f->id);
        hdf5_leave(&f->api);
    }
    io_close(f->bytes);
    io_store_free(f->store);
    buf_release(&f->data);
    mem_free(f->ctx->a, f, sizeof *f);
}

size_t hdf5_n_data(const struct hdf5_file *f) { return f->data.len / sizeof(struct hdf5_data); }

const struct hdf5_data *hdf5_data_at(const struct hdf5_file *f, size_t i)
{
    return (const struct hdf5_data *)(const void *)f->data.data + i;
}

const struct hdf5_data *hdf5_find(const struct hdf5_file *f, const char *name)
{
    for (size_t i = 0; i < hdf5_n_data(f); i++) {
        if (strcmp(hdf5_data_at(f, i)->name, name) == 0) {
            return hdf5_data_at(f, i);
        }
    }
    return NULL;
}
