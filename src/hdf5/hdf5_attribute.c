/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attributes of the root group, in every form that programs write. A message has sizes of name, type and shape, then these
 * (padded to 8 in version 1), then the value; text of any length stands in a heap of the file. (IV.A.2.m, III.E)
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "base/endian.h"
#include "hdf5/hdf5_internal.h"

enum { ATTRIBUTE = 0x0c, ATTRIBUTE_INFO = 0x15, TEXT_MAX = 1 << 20, VALUE_MAX = 1 << 16, HEAP_MAX = 16 << 20 };

struct attribute {
    struct hdf5_file *f;
    const char *name;
    bool is_found, is_dense;
    struct hdf5_type type;
    uint64_t n;         /* elements */
    struct buf value;
};

static size_t padded(size_t n, bool is_padded) { return is_padded ? (n + 7) / 8 * 8 : n; }

static grebe_status read_message(void *arg, unsigned message, bool is_shared, const unsigned char *p, size_t n, uint64_t at,
                                 grebe_error *err)
{
    struct attribute *a = arg;
    uint64_t dims[32];
    unsigned rank = 0;
    bool is_null = false;
    if (message == ATTRIBUTE_INFO && n >= 2) {
        size_t i = 2 + ((p[1] & 1) != 0 ? 2u : 0);
        a->is_dense = n >= i + a->f->n_offset && hdf5_number(p + i, a->f->n_offset) != HDF5_NOWHERE;
        return GREBE_OK;
    }
    if (message != ATTRIBUTE || is_shared) {
        return GREBE_OK;
    }
    bool is_old = n > 0 && p[0] == 1;
    size_t head = n > 0 && p[0] == 3 ? 9 : 8;
    if (n < head || p[0] < 1 || p[0] > 3) {
        return hdf5_damaged(err, "attribute message", at);
    }
    size_t name = load_le16(p + 2), type = load_le16(p + 4), space = load_le16(p + 6);
    size_t type_at = head + padded(name, is_old), space_at = type_at + padded(type, is_old);
    size_t value_at = space_at + padded(space, is_old);
    if (value_at > n) {
        return hdf5_damaged(err, "attribute message", at);
    }
    size_t len = strnlen((const char *)p + head, name);
    if (len != strlen(a->name) || memcmp(p + head, a->name, len) != 0) {
        return GREBE_OK;
    }
    if (!is_old && p[1] != 0) {
        return GREBE_FAIL(err, GREBE_EUNSUPPORTED, "attribute %s: its type or shape stands in another object", a->name);
    }
    if (!hdf5_type_read(p + type_at, type, &a->type) || !hdf5_space_read(a->f, p + space_at, space, &rank, dims, &is_null)) {
        return hdf5_damaged(err, "attribute message", at);
    }
    a->n = is_null ? 0 : 1;
    for (unsigned i = 0; i < rank; i++) {
        if (!checked_mul_u64(a->n, dims[i], &a->n)) {
            a->n = UINT64_MAX;
        }
    }
    a->is_found = true;
    grebe_status st = buf_put(&a->value, p + value_at, n - value_at, err);
    return st == GREBE_OK ? GREBE_END : st;
}

/* One element of whatever type, its bytes in a->value. buf_release(&a->value) also after a failure. */
static grebe_status attribute_find(struct hdf5_file *f, const char *name, struct attribute *a, grebe_error *err)
{
    *a = (struct attribute){ .f = f, .name = name, .value = BUF_INIT(f->ctx->a) };
    grebe_status st = hdf5_messages(f, f->root, read_message, a, err);
    if (st != GREBE_OK) {
        return st;
    }
    if (!a->is_found && a->is_dense) {
        return GREBE_FAIL(err, GREBE_EUNSUPPORTED, "attribute %s: the file stores attributes in a fractal heap (more than 8 "
                          "in the newest format)", name);
    }
    if (!a->is_found) {
        return GREBE_FAIL(err, GREBE_ENOTFOUND, "attribute %s is missing", name);
    }
    if (a->n != 1) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "attribute %s: expected one element, has %llu elements", name,
                          (unsigned long long)a->n);
    }
    size_t size = a->type.is_variable ? 4 + (size_t)f->n_offset + 4 : a->type.d.size;
    if (a->type.d.cls != HDF5_OTHER && (size > a->value.len || size > VALUE_MAX)) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "attribute %s: expected %zu bytes, found %zu", name, size, a->value.len);
    }
    return GREBE_OK;
}

/* Object `index` of the heap collection at an address: its first len bytes. */
static grebe_status read_heap_object(struct hdf5_file *f, uint64_t at, uint32_t index, size_t len, struct buf *out,
                                     grebe_error *err)
{
    unsigned char h[24];
    size_t head = 8 + (size_t)f->n_length;
    grebe_status st = hdf5_at(f, at, h, head, "global heap", err);
    if (st != GREBE_OK) {
        return st;
    }
    uint64_t size = hdf5_number(h + 8, f->n_length);
    if (memcmp(h, "GCOL", 4) != 0 || size > HEAP_MAX || size > f->bytes->id.size_bytes) {
        return hdf5_damaged(err, "global heap", at);
    }
    for (uint64_t i = head; size - i >= head && i < size;) {
        st = hdf5_at(f, at + i, h, head, "global heap", err);
        if (st != GREBE_OK) {
            return st;
        }
        uint64_t n = hdf5_number(h + 8, f->n_length);
        if (load_le16(h) == 0 || n > size - i - head) {
            break;
        }
        if (load_le16(h) == index) {
            if (len > n) {
                break;
            }
            st = buf_put_zero(out, len, err);
            return st == GREBE_OK ? hdf5_at(f, at + i + head, out->data, len, "global heap", err) : st;
        }
        i += head + (n + 7) / 8 * 8;
        if (i > size) {
            break;
        }
    }
    return hdf5_damaged(err, "object of a global heap", at);
}

grebe_status hdf5_text(struct hdf5_file *f, const char *name, struct buf *out, enum hdf5_text_form *form,
                       grebe_error *err)
{
    struct attribute a;
    grebe_status st = GREBE_OK;
    enum hdf5_text_form ignored = HDF5_TEXT_PLAIN;
    form = form == NULL ? &ignored : form;
    *form = HDF5_TEXT_PLAIN;
    buf_clear(out);
    GREBE_TRY(attribute_find(f, name, &a, err));
    if (a.type.d.cls != HDF5_STRING) {
        st = GREBE_FAIL(err, GREBE_ECORRUPT, "attribute %s is not a string: found %s", name, a.type.d.type_name);
        goto out;
    }
    if (a.type.is_variable) {
        const unsigned char *p = a.value.data;
        size_t len = load_le32(p);
        uint64_t at = hdf5_number(p + 4, f->n_offset);
        if (len > TEXT_MAX) {
            st = GREBE_FAIL(err, GREBE_ECORRUPT, "attribute %s: expected a text of at most %d bytes, found %zu", name, TEXT_MAX, len);
            goto out;
        }
        if (len > 0 && at != 0) {
            GREBE_TRY(read_heap_object(f, at, load_le32(p + 4 + f->n_offset), len, out, err));
        }
    } else {
        GREBE_TRY(buf_put(out, a.value.data, a.type.d.size, err));
    }
    out->len = out->len == 0 ? 0 : strnlen((const char *)out->data, out->len);
    if (a.type.is_space_padded) {
        *form = HDF5_TEXT_SPACE_PADDED;
        while (out->len > 0 && out->data[out->len - 1] == ' ') {
            out->len--;
        }
    }
out:
    buf_release(&a.value);
    return st;
}

/* One number as int64 (what is no integer is refused) or float64. */
static grebe_status read_number(struct hdf5_file *f, const char *name, enum hdf5_memory memory, void *out, grebe_error *err)
{
    struct attribute a;
    size_t bad = 0;
    grebe_status st = attribute_find(f, name, &a, err);
    const struct hdf5_data *d = &a.type.d;
    bool is_number = d->cls == HDF5_INT || d->cls == HDF5_UINT || d->cls == HDF5_BOOL;
    is_number = is_number || (memory == HDF5_AS_F64 && (d->cls == HDF5_FLOAT || d->cls == HDF5_BFLOAT));
    if (st == GREBE_OK && !is_number) {
        st = GREBE_FAIL(err, GREBE_ECORRUPT, "attribute %s is not %s: found %s", name,
                        memory == HDF5_AS_I64 ? "an integer" : "a number", d->type_name);
    }
    if (st == GREBE_OK) {
        if (d->is_big_endian) {
            swap_elements(a.value.data, 1, d->size);
        }
        st = hdf5_convert(d, a.value.data, 1, memory, out, &bad, err);
        if (st != GREBE_OK) {
            st = error_wrap(err, st, "attribute %s: expected a number below 2^63, found", name);
        }
    }
    buf_release(&a.value);
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
