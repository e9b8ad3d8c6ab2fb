/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The header of a npy file: 93 "NUMPY", version (two bytes), length of the text (u16; u32 from version 2 on), and the text
 * of a Python dictionary: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }. Anything that is not such a text is
 * refused; nothing is ever unpickled. (numpy.lib.format)
 */
#include <stdio.h>
#include <string.h>

#include "array/array_internal.h"
#include "array/tensor_internal.h"
#include "base/checked.h"
#include "base/endian.h"

enum { HEADER_MAX = 1 << 20, NPY_ALIGN = 64 };

static const struct {
    char code;
    size_t bytes;
    int type;
} codes[] = { { 'f', 4, ARRAY_F32 }, { 'f', 2, ARRAY_F16 }, { 'f', 8, ARRAY_F64 }, { 'i', 1, ARRAY_I8 },
              { 'u', 1, ARRAY_U8 },  { 'i', 2, ARRAY_I16 }, { 'u', 2, ARRAY_U16 }, { 'i', 4, ARRAY_I32 },
              { 'u', 4, ARRAY_U32 }, { 'i', 8, ARRAY_I64 }, { 'u', 8, ARRAY_U64 }, { 'b', 1, ARRAY_BOOL },
              { 'c', 8, TENSOR_C64 }, { 'c', 16, TENSOR_C128 } };

enum { N_CODES = sizeof codes / sizeof codes[0] };

/* The text that remains. */
struct cursor {
    const char *p, *end;
};

static void skip_space(struct cursor *c)
{
    while (c->p < c->end && (*c->p == ' ' || *c->p == '\n' || *c->p == '\t')) {
        c->p++;
    }
}

static bool eat(struct cursor *c, const char *text)
{
    size_t n = strlen(text);
    skip_space(c);
    if ((size_t)(c->end - c->p) < n || memcmp(c->p, text, n) != 0) {
        return false;
    }
    c->p += n;
    return true;
}

/* A string in either quotes, without escapes. */
static bool eat_string(struct cursor *c, char *dst, size_t room)
{
    skip_space(c);
    char quote = c->p < c->end ? *c->p : '\0';
    if (quote != '\'' && quote != '"') {
        return false;
    }
    const char *begin = c->p + 1, *p = begin;
    while (p < c->end && *p != quote && *p != '\\') {
        p++;
    }
    if (p == c->end || *p != quote || (size_t)(p - begin) >= room) {
        return false;
    }
    memcpy(dst, begin, (size_t)(p - begin));
    dst[p - begin] = '\0';
    c->p = p + 1;
    return true;
}

static bool eat_number(struct cursor *c, uint64_t *out)
{
    skip_space(c);
    const char *begin = c->p;
    *out = 0;
    for (; c->p < c->end && *c->p >= '0' && *c->p <= '9'; c->p++) {
        if (!checked_mul_u64(*out, 10, out) || !checked_add_u64(*out, (uint64_t)(*c->p - '0'), out)) {
            return false;
        }
    }
    eat(c, "L"); /* Python 2 */
    return c->p > begin;
}

static bool eat_shape(struct cursor *c, struct npy_header *h)
{
    if (!eat(c, "(")) {
        return false;
    }
    for (h->rank = 0; !eat(c, ")"); h->rank++) {
        if (h->rank == NPY_DIMS_MAX || !eat_number(c, &h->shape[h->rank])) {
            return false;
        }
        if (!eat(c, ",")) {
            h->rank++;
            return eat(c, ")");
        }
    }
    return true;
}

static grebe_status parse(const char *path, const char *text, size_t n, struct npy_header *h, grebe_error *err)
{
    struct cursor c = { text, text + n };
    char key[32], shown[80];
    memset(h, 0, sizeof *h);
    if (!eat(&c, "{")) {
        goto damaged;
    }
    while (!eat(&c, "}")) {
        if (!eat_string(&c, key, sizeof key) || !eat(&c, ":")) {
            goto damaged;
        }
        if (strcmp(key, "descr") == 0) {
            skip_space(&c);
            if (c.p < c.end && *c.p == '[') {
                return GREBE_FAIL(err, GREBE_EUNSUPPORTED, "%s: expected an array of numbers, found records: %s", path,
                                  error_quote(shown, sizeof shown, c.p, (size_t)(c.end - c.p)));
            }
            if (!eat_string(&c, h->descr, sizeof h->descr)) {
                goto damaged;
            }
            h->seen |= 1;
        } else if (strcmp(key, "fortran_order") == 0) {
            h->is_fortran = eat(&c, "True");
            if (!h->is_fortran && !eat(&c, "False")) {
                goto damaged;
            }
            h->seen |= 2;
        } else if (strcmp(key, "shape") == 0 && eat_shape(&c, h)) {
            h->seen |= 4;
        } else {
            goto damaged;
        }
        if (!eat(&c, ",")) {
            if (!eat(&c, "}")) {
                goto damaged;
            }
            break;
        }
    }
    if (h->seen == 7) {
        return GREBE_OK;
    }
damaged:
    return GREBE_FAIL(err, GREBE_ECORRUPT,
                      "%s: npy header: expected {'descr': …, 'fortran_order': …, 'shape': …}, found %s", path,
                      error_quote(shown, sizeof shown, text, n));
}

/* The type that descr names; GREBE_EUNSUPPORTED for records, objects, times, texts. */
static grebe_status set_type(const char *path, struct npy_header *h, grebe_error *err)
{
    const char *d = h->descr;
    char order = '=', shown[48];
    size_t bytes = 0;
    h->is_big_endian = false;
    if (strcmp(d, "?") == 0) {
        h->type = ARRAY_BOOL;
        return GREBE_OK;
    }
    if (*d == '<' || *d == '>' || *d == '|' || *d == '=') {
        order = *d++;
    }
    char code = *d++;
    for (; *d >= '0' && *d <= '9' && bytes < 100; d++) {
        bytes = bytes * 10 + (size_t)(*d - '0');
    }
    for (size_t i = 0; i < N_CODES && *d == '\0'; i++) {
        if (codes[i].code == code && codes[i].bytes == bytes) {
            h->type = codes[i].type;
            h->is_big_endian = order == '>' && bytes > 1;
            return GREBE_OK;
        }
    }
    return GREBE_FAIL(err, GREBE_EUNSUPPORTED, "%s: npy: expected numbers or bool, found the type '%s'", path,
                      error_quote(shown, sizeof shown, h->descr, strlen(h->descr)));
}

static grebe_status set_shape(struct array_file *f, const struct npy_header *h, grebe_error *err)
{
    uint64_t size = f->bytes->id.size_bytes, n = array_type_bytes(f->info.type);
    if (h->rank > 2) {
        return GREBE_FAIL(err, GREBE_EUNSUPPORTED, "%s: npy: expected one or two dimensions, found %u", f->bytes->path, h->rank);
    }
    f->info.rank = h->rank;
    f->info.rows = h->rank > 0 ? h->shape[0] : 1;
    f->info.columns = h->rank > 1 ? h->shape[1] : 1;
    f->is_by_column = h->is_fortran && h->rank == 2 && f->info.rows != 1 && f->info.columns != 1;
    bool fits = checked_mul_u64(n, f->info.rows, &n) && checked_mul_u64(n, f->info.columns, &n) &&
                checked_add_u64(n, f->offset, &n);
    if (!fits || n > size) {
        return GREBE_FAIL(err, GREBE_ECORRUPT,
                          "%s: npy: expected %llu x %llu %s after %llu bytes of header, found %llu bytes in all",
                          f->bytes->path, (unsigned long long)f->info.rows, (unsigned long long)f->info.columns,
                          array_type_name(f->info.type), (unsigned long long)f->offset, (unsigned long long)size);
    }
    return GREBE_OK;
}

grebe_status npy_header_read(const char *path, const unsigned char *bytes, uint64_t len, struct npy_header *h, grebe_error *err)
{
    if (len < 8 || !array_is_npy(bytes, (size_t)len)) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "%s: expected a npy file", path);
    }
    unsigned version = bytes[6];
    size_t fixed = version == 1 ? 10 : 12;
    if (version < 1 || version > 3) {
        return GREBE_FAIL(err, GREBE_EUNSUPPORTED, "%s: npy: expected version 1, 2 or 3, found %u", path, version);
    }
    if (len < fixed) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "%s: npy: the header ends before its length", path);
    }
    uint64_t n = version == 1 ? load_le16(bytes + 8) : load_le32(bytes + 8);
    if (n > HEADER_MAX || !range_fits_u64(fixed, n, len)) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "%s: npy: the header claims %llu bytes, the file has %llu", path,
                          (unsigned long long)n, (unsigned long long)len);
    }
    grebe_status st = parse(path, (const char *)bytes + fixed, (size_t)n, h, err);
    h->data_at = fixed + n;
    return st == GREBE_OK ? set_type(path, h, err) : st;
}

grebe_status array_npy_open(struct array_file *f, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    unsigned char head[12];
    struct buf text = BUF_INIT(f->ctx->a);
    struct npy_header h;
    uint64_t size = f->bytes->id.size_bytes;
    memset(head, 0, sizeof head);
    GREBE_TRY(io_read(f->bytes, 0, head, size < sizeof head ? (size_t)size : sizeof head, err));
    uint64_t n = 12 + (head[6] == 1 ? load_le16(head + 8) : load_le32(head + 8));
    n = n > size || n > 12 + HEADER_MAX ? (size < 12 + HEADER_MAX ? size : 12 + HEADER_MAX) : n;
    GREBE_TRY(buf_reserve(&text, (size_t)n, err));
    GREBE_TRY(io_read(f->bytes, 0, text.data, (size_t)n, err));
    GREBE_TRY(npy_header_read(f->bytes->path, text.data, n, &h, err));
    if (h.type > ARRAY_BOOL) {
        st = GREBE_FAIL(err, GREBE_EUNSUPPORTED, "%s: npy: expected numbers or bool, found the type '%s'", f->bytes->path, h.descr);
        goto out;
    }
    f->info.kind = ARRAY_NPY;
    f->info.type = (enum array_type)h.type;
    f->is_big_endian = h.is_big_endian;
    f->offset = h.data_at;
    GREBE_TRY(set_shape(f, &h, err));
out:
    buf_release(&text);
    return st;
}

grebe_status array_npy_header(struct buf *dst, enum array_type type, uint64_t rows, uint64_t columns, grebe_error *err)
{
    char text[160], shape[64];
    char code = 'V';
    size_t bytes = array_type_bytes(type);
    for (size_t i = 0; i < N_CODES; i++) {
        code = codes[i].type == (int)type ? codes[i].code : code;
    }
    if (code == 'V') {
        return GREBE_FAIL(err, GREBE_EUNSUPPORTED, "npy has no %s", array_type_name(type));
    }
    if (columns == 0) {
        snprintf(shape, sizeof shape, "(%llu,)", (unsigned long long)rows);
    } else {
        snprintf(shape, sizeof shape, "(%llu, %llu)", (unsigned long long)rows, (unsigned long long)columns);
    }
    int n = snprintf(text, sizeof text, "{'descr': '%c%c%zu', 'fortran_order': False, 'shape': %s, }",
                     bytes == 1 ? '|' : '<', code, bytes, shape);
    /* as numpy does since 1.23, room for any number of rows, so that the length of the header is always the same */
    size_t padded = (10 + (size_t)n + 1 + NPY_ALIGN - 1) / NPY_ALIGN * NPY_ALIGN;
    padded = padded < 2 * NPY_ALIGN ? 2 * NPY_ALIGN : padded;
    unsigned char head[10] = { 0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, 0, 0 };
    store_le16(head + 8, (uint16_t)(padded - 10));
    grebe_status st = buf_put(dst, head, sizeof head, err);
    if (st == GREBE_OK) {
        st = buf_put(dst, text, (size_t)n, err);
    }
    while (st == GREBE_OK && dst->len < padded - 1) {
        st = buf_put_byte(dst, ' ', err);
    }
    return st == GREBE_OK ? buf_put_byte(dst, '\n', err) : st;
}
