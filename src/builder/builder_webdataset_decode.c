/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/builder_webdataset_decode.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/checked.h"
#include "base/endian.h"
#include "base/error.h"
#include "base/half.h"
#include "base/utf8.h"
#include "wire/json.h"

enum { DIMS_MAX = 16 };

/* ---- NumPy ---- */

enum number { BOOL, INT, UINT, FLOAT };

struct npy {
    const unsigned char *data;
    enum number kind;
    size_t width;
    bool is_fortran;
    uint64_t shape[DIMS_MAX];
    int n_dims;
};

/* What follows a key of the header, which is a literal of a Python dict. */
static const char *find_key(const char *header, const char *end, const char *key)
{
    size_t n = strlen(key);
    for (const char *p = header; (size_t)(end - p) > n + 3; p++) {
        if ((*p == '\'' || *p == '"') && memcmp(p + 1, key, n) == 0 && p[n + 1] == *p) {
            for (p += n + 2; p < end && (*p == ' ' || *p == ':'); p++) {
            }
            return p;
        }
    }
    return NULL;
}

static grebe_status npy_fail(const char *what, grebe_error *err)
{
    return GREBE_FAIL(err, GREBE_ECORRUPT, "npy: expected %s", what);
}

static grebe_status read_dtype(const char *p, const char *end, struct npy *a, const char **dtype, grebe_error *err)
{
    static const struct {
        const char *code, *name;
        enum number kind;
        size_t width;
    } known[] = { { "b1", "bool", BOOL, 1 },     { "i1", "int8", INT, 1 },      { "i2", "int16", INT, 2 },
                  { "i4", "int32", INT, 4 },     { "i8", "int64", INT, 8 },     { "u1", "uint8", UINT, 1 },
                  { "u2", "uint16", UINT, 2 },   { "u4", "uint32", UINT, 4 },   { "u8", "uint64", UINT, 8 },
                  { "f2", "float16", FLOAT, 2 }, { "f4", "float32", FLOAT, 4 }, { "f8", "float64", FLOAT, 8 } };
    if (p == NULL || end - p < 5 || (*p != '\'' && *p != '"')) {
        return GREBE_FAIL(err, GREBE_EUNSUPPORTED, "npy: records are not read");
    }
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        bool is_order = p[1] == '<' || p[1] == '=' || p[1] == '|';
        if (is_order && memcmp(p + 2, known[i].code, 2) == 0 && p[4] == p[0]) {
            a->kind = known[i].kind;
            a->width = known[i].width;
            *dtype = known[i].name;
            return GREBE_OK;
        }
    }
    return GREBE_FAIL(err, GREBE_EUNSUPPORTED, "npy: expected little-endian numbers, found type %.8s", p);
}

static grebe_status read_shape(const char *p, const char *end, struct npy *a, grebe_error *err)
{
    if (p == NULL || p == end || *p != '(') {
        return npy_fail("a shape", err);
    }
    for (p++; p < end && *p != ')';) {
        uint64_t n = 0;
        const char *begin = p;
        for (; p < end && *p >= '0' && *p <= '9' && n < UINT32_MAX; p++) {
            n = n * 10 + (uint64_t)(*p - '0');
        }
        if (p == begin || a->n_dims == DIMS_MAX) {
            return p == begin ? npy_fail("a shape of integers", err)
                              : GREBE_FAIL(err, GREBE_ELIMIT, "npy: expected at most %d dimensions, found more", DIMS_MAX);
        }
        a->shape[a->n_dims++] = n;
        while (p < end && (*p == ',' || *p == ' ' || *p == 'L')) {
            p++;
        }
    }
    return p < end ? GREBE_OK : npy_fail("a shape that ends", err);
}

static grebe_status put_number(const struct npy *a, const unsigned char *p, struct buf *json, grebe_error *err)
{
    uint64_t v = 0;
    for (size_t i = 0; i < a->width; i++) {
        v |= (uint64_t)p[i] << (8 * i);
    }
    if (a->kind == BOOL) {
        return buf_put_text(json, v != 0 ? "true" : "false", err);
    }
    if (a->kind == UINT) {
        return json_put_u64(json, v, err);
    }
    if (a->kind == INT) {
        unsigned shift = 64 - 8 * (unsigned)a->width;
        return json_put_i64(json, (int64_t)(v << shift) >> shift, err);
    }
    float f = 0;
    double d = 0;
    if (a->width == 8) {
        memcpy(&d, &v, sizeof d);
    } else if (a->width == 4) {
        uint32_t bits = (uint32_t)v;
        memcpy(&f, &bits, sizeof f);
        d = (double)f;
    } else {
        f = half_to_float((uint16_t)v);
        d = (double)f;
    }
    if (isnan(d) || isinf(d)) {
        return buf_put_text(json, isnan(d) ? "\"NaN\"" : d > 0 ? "\"Infinity\"" : "\"-Infinity\"", err);
    }
    return a->width == 8 ? json_put_double(json, d, err) : json_put_float(json, f, err);
}

/* Elements whose first indices are fixed; offset, in elements, is of these. */
static grebe_status put_dim(const struct npy *a, int dim, uint64_t offset, struct buf *json, grebe_error *err)
{
    if (dim == a->n_dims) {
        return put_number(a, a->data + offset * a->width, json, err);
    }
    uint64_t stride = 1;
    for (int i = a->is_fortran ? 0 : dim + 1; i < (a->is_fortran ? dim : a->n_dims); i++) {
        stride *= a->shape[i];
    }
    grebe_status st = buf_put_byte(json, '[', err);
    for (uint64_t i = 0; i < a->shape[dim] && st == GREBE_OK; i++) {
        st = i > 0 ? buf_put_byte(json, ',', err) : GREBE_OK;
        st = st == GREBE_OK ? put_dim(a, dim + 1, offset + i * stride, json, err) : st;
    }
    return st == GREBE_OK ? buf_put_byte(json, ']', err) : st;
}

grebe_status webdataset_npy(const unsigned char *p, size_t len, struct buf *json, const char **dtype, int *n_dims,
                            grebe_error *err)
{
    struct npy a = { 0 };
    if (len < 12 || memcmp(p, "\x93NUMPY", 6) != 0) {
        return npy_fail("a NumPy array, found other content", err);
    }
    const size_t head = p[6] == 1 ? 10 : 12;
    const uint64_t header_len = p[6] == 1 ? load_le16(p + 8) : load_le32(p + 8);
    if (!range_fits_u64(head, header_len, len)) {
        return npy_fail("a header inside the file", err);
    }
    const char *header = (const char *)p + head, *end = header + header_len;
    grebe_status st = read_dtype(find_key(header, end, "descr"), end, &a, dtype, err);
    const char *order = find_key(header, end, "fortran_order");
    a.is_fortran = order != NULL && order < end && *order == 'T';
    st = st == GREBE_OK ? read_shape(find_key(header, end, "shape"), end, &a, err) : st;
    if (st != GREBE_OK) {
        return st;
    }
    uint64_t n = a.width;
    for (int i = 0; i < a.n_dims; i++) { /* an empty dimension must not hide a huge one: lists would be made of it */
        if (!checked_mul_u64(n, a.shape[i] > 0 ? a.shape[i] : 1, &n) || n > len) {
            return npy_fail("as much content as the shape says", err);
        }
    }
    uint64_t size = n;
    for (int i = 0; i < a.n_dims; i++) {
        size = a.shape[i] == 0 ? 0 : size;
    }
    if (!range_fits_u64(head + header_len, size, len)) {
        return npy_fail("as much content as the shape says", err);
    }
    a.data = p + head + header_len;
    *n_dims = a.n_dims;
    return put_dim(&a, 0, 0, json, err);
}

/* ---- MessagePack and CBOR: bytes with a place ---- */

struct bytes {
    const unsigned char *p;
    size_t len, at;
    const char *name;
    struct buf *json;
    grebe_error *err;
};

static grebe_status bytes_fail(const struct bytes *b)
{
    return GREBE_FAIL(b->err, GREBE_ECORRUPT, "%s, byte %zu: expected a value, found other content or the end", b->name,
                      b->at);
}

static grebe_status kind_fail(const struct bytes *b, const char *what)
{
    return GREBE_FAIL(b->err, GREBE_EUNSUPPORTED, "%s, byte %zu: %s have no JSON", b->name, b->at, what);
}

/* A big-endian number of n bytes. */
static bool take_be(struct bytes *b, size_t n, uint64_t *out)
{
    uint64_t v = 0;
    if (b->len - b->at < n) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        v = v << 8 | b->p[b->at++];
    }
    *out = v;
    return true;
}

static grebe_status put_text(struct bytes *b, uint64_t n)
{
    if (n > b->len - b->at || !utf8_is_valid(b->p + b->at, (size_t)n)) {
        return bytes_fail(b);
    }
    b->at += (size_t)n;
    return json_put_string(b->json, (const char *)b->p + b->at - n, (size_t)n, b->err);
}

static grebe_status put_real(struct bytes *b, double v)
{
    return isfinite(v) ? json_put_double(b->json, v, b->err) : buf_put_text(b->json, "null", b->err);
}

static grebe_status put_float_bits(struct bytes *b, size_t n)
{
    uint64_t v = 0;
    double d = 0;
    if (!take_be(b, n, &v)) {
        return bytes_fail(b);
    }
    if (n == 8) {
        memcpy(&d, &v, sizeof d);
    } else if (n == 4) {
        uint32_t bits = (uint32_t)v;
        float f = 0;
        memcpy(&f, &bits, sizeof f);
        d = (double)f;
    } else {
        d = (double)half_to_float((uint16_t)v);
    }
    return put_real(b, d);
}

typedef grebe_status (*value_fn)(struct bytes *b, int depth);

/* n values, or pairs of them. */
static grebe_status put_many(struct bytes *b, uint64_t n, bool is_map, value_fn value, int depth)
{
    grebe_status st = buf_put_byte(b->json, is_map ? '{' : '[', b->err);
    if (n > b->len - b->at) { /* each takes a byte, at least */
        return bytes_fail(b);
    }
    for (uint64_t i = 0; i < n && st == GREBE_OK; i++) {
        st = i > 0 ? buf_put_byte(b->json, ',', b->err) : GREBE_OK;
        size_t key = b->json->len;
        st = st == GREBE_OK ? value(b, depth + 1) : st;
        if (st == GREBE_OK && is_map) {
            if (b->json->data[key] != '"') {
                return kind_fail(b, "keys that are no strings");
            }
            st = buf_put_byte(b->json, ':', b->err);
            st = st == GREBE_OK ? value(b, depth + 1) : st;
        }
    }
    return st == GREBE_OK ? buf_put_byte(b->json, is_map ? '}' : ']', b->err) : st;
}

static grebe_status msgpack_sized(struct bytes *b, unsigned char c, int depth);

static grebe_status msgpack_value(struct bytes *b, int depth)
{
    if (depth > JSON_DEPTH_MAX || b->at == b->len) {
        return bytes_fail(b);
    }
    const unsigned char c = b->p[b->at++];
    if (c < 0x80) {
        return json_put_u64(b->json, c, b->err);
    }
    if (c >= 0xe0) {
        return json_put_i64(b->json, (int64_t)c - 256, b->err);
    }
    if (c < 0x90) {
        return put_many(b, c & 15u, true, msgpack_value, depth);
    }
    if (c < 0xa0) {
        return put_many(b, c & 15u, false, msgpack_value, depth);
    }
    if (c < 0xc0) {
        return put_text(b, c & 31u);
    }
    return msgpack_sized(b, c, depth);
}

static grebe_status msgpack_sized(struct bytes *b, unsigned char c, int depth)
{
    uint64_t n = 0;
    switch (c) {
    case 0xc0: return buf_put_text(b->json, "null", b->err);
    case 0xc2: return buf_put_text(b->json, "false", b->err);
    case 0xc3: return buf_put_text(b->json, "true", b->err);
    case 0xca: return put_float_bits(b, 4);
    case 0xcb: return put_float_bits(b, 8);
    case 0xcc:
    case 0xcd:
    case 0xce:
    case 0xcf: return take_be(b, (size_t)1 << (c - 0xcc), &n) ? json_put_u64(b->json, n, b->err) : bytes_fail(b);
    case 0xd0:
    case 0xd1:
    case 0xd2:
    case 0xd3: {
        const size_t width = (size_t)1 << (c - 0xd0);
        const unsigned shift = 64 - 8 * (unsigned)width;
        return take_be(b, width, &n) ? json_put_i64(b->json, (int64_t)(n << shift) >> shift, b->err) : bytes_fail(b);
    }
    case 0xd9:
    case 0xda:
    case 0xdb: return take_be(b, (size_t)1 << (c - 0xd9), &n) ? put_text(b, n) : bytes_fail(b);
    case 0xdc:
    case 0xdd: return take_be(b, (size_t)2 << (c - 0xdc), &n) ? put_many(b, n, false, msgpack_value, depth) : bytes_fail(b);
    case 0xde:
    case 0xdf: return take_be(b, (size_t)2 << (c - 0xde), &n) ? put_many(b, n, true, msgpack_value, depth) : bytes_fail(b);
    default: return kind_fail(b, "binary values and extensions");
    }
}

static grebe_status end_of(struct bytes *b, grebe_status st)
{
    return st == GREBE_OK && b->at != b->len ? bytes_fail(b) : st;
}

grebe_status webdataset_msgpack(const unsigned char *p, size_t len, struct buf *json, grebe_error *err)
{
    struct bytes b = { p, len, 0, "msgpack", json, err };
    return end_of(&b, msgpack_value(&b, 0));
}

static grebe_status cbor_value(struct bytes *b, int depth)
{
    uint64_t n = 0;
    if (depth > JSON_DEPTH_MAX || b->at == b->len) {
        return bytes_fail(b);
    }
    const unsigned char c = b->p[b->at++], major = c >> 5, more = c & 31u;
    if (major == 7) { /* simple values and floats */
        switch (more) {
        case 20: return buf_put_text(b->json, "false", b->err);
        case 21: return buf_put_text(b->json, "true", b->err);
        case 22:
        case 23: return buf_put_text(b->json, "null", b->err);
        case 25: return put_float_bits(b, 2);
        case 26: return put_float_bits(b, 4);
        case 27: return put_float_bits(b, 8);
        default: return kind_fail(b, "such simple values");
        }
    }
    if (more > 27) {
        return kind_fail(b, "lengths that come at the end");
    }
    n = more;
    if (more >= 24 && !take_be(b, (size_t)1 << (more - 24), &n)) {
        return bytes_fail(b);
    }
    switch (major) {
    case 0: return json_put_u64(b->json, n, b->err);
    case 1: return n <= INT64_MAX ? json_put_i64(b->json, -1 - (int64_t)n, b->err) : kind_fail(b, "integers so low");
    case 3: return put_text(b, n);
    case 4: return put_many(b, n, false, cbor_value, depth);
    case 5: return put_many(b, n, true, cbor_value, depth);
    case 6: return cbor_value(b, depth + 1); /* a tag says how to understand the value */
    default: return kind_fail(b, "binary values");
    }
}

grebe_status webdataset_cbor(const unsigned char *p, size_t len, struct buf *json, grebe_error *err)
{
    struct bytes b = { p, len, 0, "cbor", json, err };
    return end_of(&b, cbor_value(&b, 0));
}
