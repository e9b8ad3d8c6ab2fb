/* SPDX-License-Identifier: Apache-2.0 */
/* Stored elements to what is wanted in memory: by value, never by reinterpreting another signedness. */
#include "hdf5/hdf5_internal.h"

#include <math.h>

#include "base/endian.h"
#include "base/half.h"

static double float_at(const struct hdf5_data *d, const unsigned char *p)
{
    uint32_t bits;
    uint64_t wide;
    float f;
    double g;
    if (d->size == 2 && d->cls == HDF5_BFLOAT) {
        bits = (uint32_t)load_le16(p) << 16;
        memcpy(&f, &bits, sizeof f);
        return f;
    }
    if (d->size == 2) {
        return half_to_float(load_le16(p));
    }
    if (d->size == 4) {
        bits = load_le32(p);
        memcpy(&f, &bits, sizeof f);
        return f;
    }
    wide = load_le64(p);
    memcpy(&g, &wide, sizeof g);
    return g;
}

/* Sign-extended; of an unsigned type the bits of the number. */
static int64_t int_at(const struct hdf5_data *d, const unsigned char *p)
{
    bool is_signed = d->cls == HDF5_INT || d->cls == HDF5_BOOL;
    switch (d->size) {
    case 1: return is_signed ? (int64_t)(int8_t)p[0] : (int64_t)p[0];
    case 2: return is_signed ? (int64_t)(int16_t)load_le16(p) : (int64_t)load_le16(p);
    case 4: return is_signed ? (int64_t)(int32_t)load_le32(p) : (int64_t)load_le32(p);
    default: return (int64_t)load_le64(p);
    }
}

static double number_at(const struct hdf5_data *d, const unsigned char *p)
{
    if (d->cls == HDF5_FLOAT || d->cls == HDF5_BFLOAT) {
        return float_at(d, p);
    }
    int64_t v = int_at(d, p);
    return d->cls == HDF5_UINT ? (double)(uint64_t)v : (double)v;
}

grebe_status hdf5_convert(const struct hdf5_data *d, const void *src, size_t n, enum hdf5_memory memory, void *dst,
                          size_t *bad, grebe_error *err)
{
    const unsigned char *p = src;
    bool is_float = d->cls == HDF5_FLOAT || d->cls == HDF5_BFLOAT;
    if (memory == HDF5_AS_I64 && is_float) {
        return GREBE_FAIL(err, GREBE_ESCHEMA, "%s: expected integers, found %s", d->name, d->type_name);
    }
    if (memory == HDF5_AS_I64) {
        int64_t *out = dst;
        for (size_t i = 0; i < n; i++, p += d->size) {
            out[i] = int_at(d, p);
            if (d->cls == HDF5_UINT && d->size == 8 && out[i] < 0) {
                *bad = i;
                return GREBE_FAIL(err, GREBE_ECORRUPT, "%llu", (unsigned long long)(uint64_t)out[i]);
            }
        }
    } else if (memory == HDF5_AS_F64) {
        double *out = dst;
        for (size_t i = 0; i < n; i++, p += d->size) {
            out[i] = number_at(d, p);
        }
    } else if (memory == HDF5_AS_F32 && d->cls == HDF5_FLOAT && d->size == 2) {
        float *out = dst;
        for (size_t i = 0; i < n; i++, p += 2) {
            out[i] = half_to_float(load_le16(p));
        }
    } else {
        float *out = dst;
        for (size_t i = 0; i < n; i++, p += d->size) {
            out[i] = (float)number_at(d, p);
        }
    }
    return GREBE_OK;
}
