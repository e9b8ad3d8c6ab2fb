/* SPDX-License-Identifier: Apache-2.0 */
/* What a stored type is: integers and floats of whole bytes in the usual layouts, booleans, text; all else by its name. */
#include <stdio.h>
#include <string.h>

#include "base/endian.h"
#include "hdf5/hdf5_internal.h"

enum { CLASS_INTEGER = 0, CLASS_FLOAT = 1, CLASS_STRING = 3, CLASS_ENUM = 8, CLASS_VARIABLE = 9, DIMS_MAX = 32 };

static bool float_class(const unsigned char *p, unsigned size, enum hdf5_class *cls)
{
    static const struct {
        unsigned size, exponent_at, exponent, mantissa, bias;
        enum hdf5_class cls;
    } known[] = { { 2, 10, 5, 10, 15, HDF5_FLOAT },
                  { 2, 7, 8, 7, 127, HDF5_BFLOAT },
                  { 4, 23, 8, 23, 127, HDF5_FLOAT },
                  { 8, 52, 11, 52, 1023, HDF5_FLOAT } };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        /* 2: sign's place; 8: bit offset, precision, exponent and mantissa (place, size), bias */
        if (size == known[i].size && p[2] == size * 8 - 1 && load_le16(p + 8) == 0 && load_le16(p + 10) == size * 8 &&
            p[12] == known[i].exponent_at && p[13] == known[i].exponent && p[14] == 0 && p[15] == known[i].mantissa &&
            load_le32(p + 16) == known[i].bias && (p[1] & 0x40) == 0) {
            *cls = known[i].cls;
            return true;
        }
    }
    return false;
}

static void describe_number(const unsigned char *p, unsigned cls, struct hdf5_data *d)
{
    const char *word = cls == CLASS_FLOAT ? "float" : (p[1] & 8) != 0 ? "int" : "uint";
    bool is_whole = load_le16(p + 8) == 0 && load_le16(p + 10) == d->size * 8;
    d->is_big_endian = (p[1] & 1) != 0;
    if (cls == CLASS_FLOAT && float_class(p, d->size, &d->cls)) {
        snprintf(d->type_name, sizeof d->type_name, "%s%u", d->cls == HDF5_BFLOAT ? "bfloat" : "float", d->size * 8);
    } else if (cls == CLASS_INTEGER && is_whole && (d->size == 1 || d->size == 2 || d->size == 4 || d->size == 8)) {
        d->cls = word[0] == 'u' ? HDF5_UINT : HDF5_INT;
        snprintf(d->type_name, sizeof d->type_name, "%s%u", word, d->size * 8);
    } else {
        snprintf(d->type_name, sizeof d->type_name, "%s of %u bytes in an unusual layout", word, d->size);
    }
}

bool hdf5_type_read(const unsigned char *p, size_t n, struct hdf5_type *out)
{
    static const char *const names[] = { "integer", "float", "time", "string", "bit field", "opaque", "compound",
                                         "reference", "enumeration", "variable length", "array" };
    memset(out, 0, sizeof *out);
    if (n < 8 || p[0] >> 4 == 0 || p[0] >> 4 > 5) {
        return false;
    }
    unsigned cls = p[0] & 15;
    size_t props = cls == CLASS_INTEGER ? 4 : cls == CLASS_FLOAT ? 12 : 0;
    out->d.cls = HDF5_OTHER;
    out->d.size = load_le32(p + 4);
    snprintf(out->d.type_name, sizeof out->d.type_name, "%s",
             cls < sizeof names / sizeof names[0] ? names[cls] : "type of unknown class");
    if (n - 8 < props) {
        return false;
    }
    if (cls == CLASS_INTEGER || cls == CLASS_FLOAT) {
        describe_number(p, cls, &out->d);
    } else if (cls == CLASS_STRING) {
        out->d.cls = HDF5_STRING;
        out->is_space_padded = (p[1] & 15) == 2;
    } else if (cls == CLASS_ENUM && out->d.size == 1) {
        out->d.cls = HDF5_BOOL;
        snprintf(out->d.type_name, sizeof out->d.type_name, "enumeration (bool)");
    } else if (cls == CLASS_VARIABLE && (p[1] & 15) == 1) {
        out->d.cls = HDF5_STRING;
        out->is_variable = true;
        out->is_space_padded = p[1] >> 4 == 2;
        snprintf(out->d.type_name, sizeof out->d.type_name, "string");
    }
    return true;
}

bool hdf5_space_read(const struct hdf5_file *f, const unsigned char *p, size_t n, unsigned *rank, uint64_t *dims,
                     bool *is_null)
{
    if (n < 4 || (p[0] != 1 && p[0] != 2) || p[1] > DIMS_MAX) {
        return false;
    }
    size_t at = p[0] == 1 ? 8 : 4;
    *rank = p[1];
    *is_null = p[0] == 2 && p[3] == 2;
    if (n < at || (n - at) / f->n_length < *rank) {
        return false;
    }
    for (unsigned i = 0; i < *rank; i++) {
        dims[i] = hdf5_number(p + at + (size_t)i * f->n_length, f->n_length);
    }
    return true;
}
