/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes of the root group, in every form that programs write. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "hdf5/hdf5_internal.h"

enum { TEXT_MAX = 1 << 20 };

struct attribute {
    hid_t id, type, space;
    hssize_t n;
};

static void attribute_close(struct hdf5_api *api, struct attribute *a)
{
    if (a->space >= 0) {
        api->Sclose(a->space);
    }
    if (a->type >= 0) {
        api->Tclose(a->type);
    }
    if (a->id >= 0) {
        api->Aclose(a->id);
    }
}

/* One element of whatever type; between enter and leave. attribute_close() also after a failure. */
static grebe_status attribute_open(struct hdf5_file *f, const char *name, struct attribute *out, grebe_error *err)
{
    struct hdf5_api *api = &f->api;
    char why[160];
    *out = (struct attribute){ -1, -1, -1, 0 };
    htri_t is_there = api->Aexists(f->id, name);
    if (is_there == 0) {
        return GREBE_FAIL(err, GREBE_ENOTFOUND, "attribute %s is missing", name);
    }
    out->id = is_there < 0 ? -1 : api->Aopen(f->id, name, H5P_DEFAULT);
    out->type = out->id < 0 ? -1 : api->Aget_type(out->id);
    out->space = out->id < 0 ? -1 : api->Aget_space(out->id);
    if (out->type < 0 || out->space < 0) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "attribute %s: HDF5 structure damaged: %s", name,
                          hdf5_reason(api, why, sizeof why));
    }
    out->n = api->Sget_simple_extent_npoints(out->space);
    if (out->n != 1) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "attribute %s: expected one element, has %lld elements", name,
                          (long long)out->n);
    }
    return GREBE_OK;
}

/* A string whose length is the type's. */
static grebe_status fixed_text(struct hdf5_file *f, const char *name, const struct attribute *a, struct buf *out,
                               enum hdf5_text_form *form, grebe_error *err)
{
    struct hdf5_api *api = &f->api;
    grebe_status st = GREBE_OK;
    char why[160];
    size_t n = api->Tget_size(a->type), from = out->len;
    if (n == 0 || n > TEXT_MAX || n > f->bytes->id.size_bytes) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "attribute %s: expected a text of at most %d bytes, found %zu", name,
                          TEXT_MAX, n);
    }
    st = buf_put_zero(out, n, err);
    if (st != GREBE_OK) {
        return st;
    }
    if (api->Aread(a->id, a->type, out->data + from) < 0) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "attribute %s cannot be read: %s", name, hdf5_reason(api, why, sizeof why));
    }
    n = strnlen((const char *)out->data + from, n);
    if (api->Tget_strpad(a->type) == H5T_STR_SPACEPAD) {
        *form = HDF5_TEXT_SPACE_PADDED;
        while (n > 0 && out->data[from + n - 1] == ' ') {
            n--;
        }
    }
    out->len = from + n;
    return GREBE_OK;
}

static grebe_status variable_text(struct hdf5_file *f, const char *name, const struct attribute *a, struct buf *out,
                                  grebe_error *err)
{
    struct hdf5_api *api = &f->api;
    char *text = NULL, why[160];
    if (api->Aread(a->id, a->type, &text) < 0) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "attribute %s cannot be read: %s", name, hdf5_reason(api, why, sizeof why));
    }
    grebe_status st = text == NULL ? GREBE_OK : buf_put_text(out, text, err);
    api->free_memory(text);
    return st;
}

grebe_status hdf5_text(struct hdf5_file *f, const char *name, struct buf *out, enum hdf5_text_form *form,
                       grebe_error *err)
{
    struct attribute a;
    enum hdf5_text_form ignored;
    form = form == NULL ? &ignored : form;
    *form = HDF5_TEXT_PLAIN;
    buf_clear(out);
    hdf5_enter(&f->api);
    grebe_status st = attribute_open(f, name, &a, err);
    if (st == GREBE_OK && f->api.Tget_class(a.type) != H5T_STRING) {
        struct hdf5_data d;
        hdf5_describe_type(&f->api, a.type, &d);
        st = GREBE_FAIL(err, GREBE_ECORRUPT, "attribute %s is not a string: found %s", name, d.type_name);
    } else if (st == GREBE_OK) {
        st = f->api.Tis_variable_str(a.type) > 0 ? variable_text(f, name, &a, out, err)
                                                 : fixed_text(f, name, &a, out, form, err);
    }
    attribute_close(&f->api, &a);
    hdf5_leave(&f->api);
    return st;
}

/* One number as int64 (what is no integer is refused) or float64. */
static grebe_status read_number(struct hdf5_file *f, const char *name, enum hdf5_memory memory, void *out, grebe_error *err)
{
    struct attribute a;
    struct hdf5_data d = { 0 };
    unsigned char bytes[8] = { 0 };
    char why[160];
    size_t bad = 0;
    hdf5_enter(&f->api);
    grebe_status st = attribute_open(f, name, &a, err);
    if (st == GREBE_OK) {
        hdf5_describe_type(&f->api, a.type, &d);
        bool is_whole = d.cls == HDF5_INT || d.cls == HDF5_UINT || d.cls == HDF5_BOOL;
        bool is_real = memory == HDF5_AS_F64 && (d.cls == HDF5_FLOAT || d.cls == HDF5_BFLOAT);
        if ((!is_whole && !is_real) || d.size > sizeof bytes) {
            st = GREBE_FAIL(err, GREBE_ECORRUPT, "attribute %s is not %s: found %s", name,
                            memory == HDF5_AS_I64 ? "an integer" : "a number", d.type_name);
        } else if (f->api.Aread(a.id, a.type, bytes) < 0) {
            st = GREBE_FAIL(err, GREBE_ECORRUPT, "attribute %s cannot be read: %s", name,
                            hdf5_reason(&f->api, why, sizeof why));
        }
    }
    if (st == GREBE_OK) {
        if (d.is_big_endian) {
            hdf5_swap(bytes, 1, d.size);
        }
        st = hdf5_convert(&d, bytes, 1, memory, out, &bad, err);
        if (st != GREBE_OK) {
            st = error_wrap(err, st, "attribute %s: expected a number below 2^63, found", name);
        }
    }
    attribute_close(&f->api, &a);
    hdf5_leave(&f->api);
    return st;
}

grebe_status hdf5_int(struct hdf5_file *f, const char *name, int64_t *out, grebe_error *err)
{
    *out = 0;
    return read_number(f, name, HDF5_AS_I64, out, err);
}

grebe_status hdf5_real(struct hdf5_file *f, const char *name, double *out, grebe_error *err)
{
    *out = NAN;
    return read_number(f, name, HDF5_AS_F64, out, err);
}
