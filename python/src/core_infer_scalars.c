/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scalars of array libraries among values: numpy.float32 is a number of 32 bits, of which a list may be one of numbers of 32
 * bits (as pyarrow has it for numpy).
 */
#include "core_infer.h"

#include <math.h>

/* kind and width of a dtype as numpy describes it; any other: not a number that is kept. */
static bool number_of(PyObject *dtype, Py_UCS4 *kind, int *width)
{
    PyObject *code = PyObject_HasAttrString(dtype, "kind") ? PyObject_GetAttrString(dtype, "kind") : NULL;
    PyObject *size = PyObject_HasAttrString(dtype, "itemsize") ? PyObject_GetAttrString(dtype, "itemsize") : NULL;
    bool is_known = code != NULL && size != NULL && PyUnicode_Check(code) && PyUnicode_GetLength(code) == 1 && PyLong_Check(size);
    *kind = is_known ? PyUnicode_ReadChar(code, 0) : 0;
    *width = is_known ? (int)PyLong_AsLong(size) : 0;
    Py_XDECREF(code);
    Py_XDECREF(size);
    PyErr_Clear();
    return (*kind == 'i' || *kind == 'u' || *kind == 'f') && *width >= (*kind == 'f' ? 2 : 1) && *width <= 8;
}

static void note(struct scalars *s, Py_UCS4 kind, int width)
{
    int *widest = kind == 'i' ? &s->signed_width : kind == 'u' ? &s->unsigned_width : &s->float_width;
    *widest = width > *widest ? width : *widest;
}

static bool is_scalar(PyObject *v)
{
    PyObject *ndim = PyObject_HasAttrString(v, "ndim") ? PyObject_GetAttrString(v, "ndim") : NULL;
    bool result = ndim != NULL && PyLong_Check(ndim) && PyLong_AsLong(ndim) == 0 && PyObject_HasAttrString(v, "item");
    Py_XDECREF(ndim);
    PyErr_Clear();
    return result;
}

int core_unwrap_scalars(PyObject *list, struct scalars *out)
{
    Py_ssize_t n = PyList_Size(list);
    PyObject *last = NULL; /* the dtype that was looked at last: mostly it is that of all */
    bool is_number = false;
    Py_UCS4 kind = 0;
    int width = 0, result = 0;
    for (Py_ssize_t i = 0; result == 0 && i < n; i++) {
        PyObject *v = PyList_GetItem(list, i);
        enum kind k = core_kind_of(v);
        if (k == KIND_NONE) {
            continue;
        }
        if (k == KIND_BOOL || (k > KIND_INT && k < KIND_LIST) || k == KIND_DICT || PyLong_Check(v) || PyList_Check(v) || !is_scalar(v)) {
            out->has_others = true;
            continue;
        }
        PyObject *dtype = PyObject_HasAttrString(v, "dtype") ? PyObject_GetAttrString(v, "dtype") : NULL;
        PyErr_Clear();
        if (dtype == NULL || dtype != last) {
            is_number = dtype != NULL && number_of(dtype, &kind, &width);
        }
        if (is_number) {
            note(out, kind, width);
        } else {
            out->has_others = true;
        }
        Py_XDECREF(last);
        last = dtype;
        PyObject *plain = PyObject_CallMethod(v, "item", NULL);
        result = plain != NULL ? PyList_SetItem(list, i, plain) : -1;
    }
    Py_XDECREF(last);
    return result;
}

const char *core_scalars_format(const struct scalars *s)
{
    const int whole = s->signed_width > s->unsigned_width ? s->signed_width : s->unsigned_width;
    if (s->has_others) {
        return NULL;
    }
    if (s->float_width != 0) { /* 32 bits hold whole numbers of 16 exactly */
        return whole == 0 && s->float_width == 2   ? "e"
               : whole <= 2 && s->float_width == 4 ? "f"
                                                   : NULL;
    }
    if (s->signed_width != 0 && s->unsigned_width < s->signed_width) {
        return whole == 1 ? "c" : whole == 2 ? "s" : whole == 4 ? "i" : "l";
    }
    if (s->unsigned_width != 0 && s->signed_width == 0) {
        return whole == 1 ? "C" : whole == 2 ? "S" : whole == 4 ? "I" : "L";
    }
    return NULL;
}

/* A number that was one of 16 bits, as those. IEEE 754 binary16: sign, 5 bits of exponent (bias 15), 10 of fraction. */
static uint16_t half_of(double d)
{
    const uint16_t sign = signbit(d) ? 0x8000 : 0;
    int exponent = 0;
    if (isnan(d) || isinf(d)) {
        return (uint16_t)(sign | 0x7c00 | (isnan(d) ? 0x200 : 0));
    }
    const double fraction = frexp(fabs(d), &exponent); /* in [0.5, 1), or 0 */
    if (exponent < -13) { /* below 2^-14: counted in 2^-24 */
        return (uint16_t)(sign | (uint16_t)ldexp(fabs(d), 24));
    }
    return fraction == 0 ? sign : (uint16_t)(sign | (uint16_t)((exponent + 14) << 10) | (uint16_t)(ldexp(fraction, 11) - 1024));
}

static void put_float(char *p, char format, double d)
{
    const float f = (float)d;
    const uint16_t half = format == 'e' ? half_of(d) : 0;
    memcpy(p, format == 'e' ? (const void *)&half : (const void *)&f, format == 'e' ? sizeof half : sizeof f);
}

/* Values are of the format's width: the others bits are the sign. */
static void put_integer(char *p, size_t width, uint64_t v)
{
    const uint8_t v8 = (uint8_t)v;
    const uint16_t v16 = (uint16_t)v;
    const uint32_t v32 = (uint32_t)v;
    memcpy(p, width == 1 ? (const void *)&v8 : width == 2 ? (const void *)&v16 : width == 4 ? (const void *)&v32 : (const void *)&v, width);
}

int core_fill_scalars(struct ArrowArray *array, struct node *n, PyObject *list, const char *format)
{
    const bool is_float = format[0] == 'e' || format[0] == 'f';
    const size_t width = strchr("cC", format[0]) != NULL ? 1 : strchr("sSe", format[0]) != NULL ? 2 : strchr("iIf", format[0]) != NULL ? 4 : 8;
    char *p = build_own(n, 1, (size_t)array->length * width);
    for (int64_t i = 0; p != NULL && i < array->length; i++) {
        PyObject *v = PyList_GetItem(list, (Py_ssize_t)i);
        if (v == Py_None) {
            continue;
        }
        if (is_float) {
            put_float(p + (size_t)i * width, format[0], PyFloat_AsDouble(v));
        } else {
            put_integer(p + (size_t)i * width, width,
                        format[0] == 'L' ? PyLong_AsUnsignedLongLong(v) : (uint64_t)PyLong_AsLongLong(v));
        }
        if (PyErr_Occurred()) {
            return -1;
        }
    }
    return p != NULL ? 0 : -1;
}
