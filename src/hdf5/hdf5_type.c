/* SPDX-License-Identifier: Apache-2.0 */
/* What a stored type is: integers and floats of whole bytes in the usual layouts, booleans, text; all else by its name. */
#include "hdf5/hdf5_internal.h"

#include <stdio.h>

static bool is_ieee(struct hdf5_api *api, hid_t type, unsigned size, enum hdf5_class *cls)
{
    static const struct {
        unsigned size;
        size_t exponent_at, exponent, mantissa, bias;
        enum hdf5_class cls;
    } known[] = { { 2, 10, 5, 10, 15, HDF5_FLOAT },
                  { 2, 7, 8, 7, 127, HDF5_BFLOAT },
                  { 4, 23, 8, 23, 127, HDF5_FLOAT },
                  { 8, 52, 11, 52, 1023, HDF5_FLOAT } };
    size_t sign_at = 0, exponent_at = 0, exponent = 0, mantissa_at = 0, mantissa = 0;
    if (api->Tget_fields(type, &sign_at, &exponent_at, &exponent, &mantissa_at, &mantissa) < 0) {
        return false;
    }
    size_t bias = api->Tget_ebias(type);
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (size == known[i].size && sign_at == (size_t)size * 8 - 1 && exponent_at == known[i].exponent_at &&
            exponent == known[i].exponent && mantissa_at == 0 && mantissa == known[i].mantissa &&
            bias == known[i].bias) {
            *cls = known[i].cls;
            return true;
        }
    }
    return false;
}

static void describe_number(struct hdf5_api *api, hid_t type, H5T_class_t cls, struct hdf5_data *out)
{
    H5T_order_t order = api->Tget_order(type);
    bool is_whole = (order == H5T_ORDER_LE || order == H5T_ORDER_BE) && api->Tget_offset(type) == 0 &&
                    api->Tget_precision(type) == (size_t)out->size * 8;
    const char *word = cls == H5T_FLOAT ? "float" : api->Tget_sign(type) == H5T_SGN_NONE ? "uint" : "int";
    out->is_big_endian = order == H5T_ORDER_BE;
    if (cls == H5T_FLOAT && is_whole && is_ieee(api, type, out->size, &out->cls)) {
        snprintf(out->type_name, sizeof out->type_name, "%s%u", out->cls == HDF5_BFLOAT ? "bfloat" : "float",
                 out->size * 8);
    } else if (cls == H5T_INTEGER && is_whole && (out->size == 1 || out->size == 2 || out->size == 4 || out->size == 8)) {
        out->cls = word[0] == 'u' ? HDF5_UINT : HDF5_INT;
        snprintf(out->type_name, sizeof out->type_name, "%s%u", word, out->size * 8);
    } else {
        snprintf(out->type_name, sizeof out->type_name, "%s of %u bytes in an unusual layout", word, out->size);
    }
}

void hdf5_describe_type(struct hdf5_api *api, hid_t type, struct hdf5_data *out)
{
    static const char *const names[] = { "integer", "float", "time", "string", "bit field", "opaque", "compound",
                                         "reference", "enumeration", "variable length", "array" };
    H5T_class_t cls = api->Tget_class(type);
    size_t size = api->Tget_size(type);
    out->cls = HDF5_OTHER;
    out->size = size > UINT32_MAX ? 0 : (unsigned)size;
    snprintf(out->type_name, sizeof out->type_name, "%s",
             (int)cls >= 0 && (size_t)cls < sizeof names / sizeof names[0] ? names[cls] : "type of unknown class");
    if (cls == H5T_INTEGER || cls == H5T_FLOAT) {
        describe_number(api, type, cls, out);
    } else if (cls == H5T_STRING) {
        out->cls = HDF5_STRING;
    } else if (cls == H5T_ENUM && size == 1) {
        out->cls = HDF5_BOOL;
        snprintf(out->type_name, sizeof out->type_name, "enumeration (bool)");
    }
}
