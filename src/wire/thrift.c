/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/thrift.h"

#include <assert.h>
#include <string.h>

#include "base/endian.h"

static const char *const FAULT_SHORT = "the bytes end inside a value";

void thrift_reader_init(struct thrift_reader *r, const void *bytes, size_t len)
{
    assert(bytes != NULL || len == 0);
    r->begin = bytes;
    r->at = r->begin;
    r->end = len == 0 ? r->begin : r->begin + len;
    r->fault = NULL;
    r->fault_offset = 0;
    r->is_short = false;
}

void thrift_fault(struct thrift_reader *r, const char *fault)
{
    if (r->fault == NULL) {
        r->fault = fault;
        r->fault_offset = thrift_consumed(r);
        r->at = r->end; /* every later read ends at once */
    }
}

static void fault_short(struct thrift_reader *r)
{
    if (r->fault == NULL) {
        r->is_short = true;
        thrift_fault(r, FAULT_SHORT);
    }
}

grebe_status thrift_reader_check(const struct thrift_reader *r, const char *what, grebe_error *err)
{
    if (r->fault == NULL) {
        return GREBE_OK;
    }
    return GREBE_FAIL(err, GREBE_ECORRUPT, "%s: byte %zu of %zu: %s", what, r->fault_offset,
                      (size_t)(r->end - r->begin), r->fault);
}

static inline size_t left(const struct thrift_reader *r)
{
    return (size_t)(r->end - r->at);
}

static uint64_t read_varint(struct thrift_reader *r, unsigned bytes_max)
{
    uint64_t v = 0;
    const unsigned char *p = r->at;
    if (p < r->end && *p < 0x80) {
        r->at++;
        return *p;
    }
    for (unsigned i = 0; i < bytes_max; i++) {
        if (p == r->end) {
            fault_short(r);
            return 0;
        }
        unsigned char b = *p++;
        if (i == 9 && b > 1) {
            break;
        }
        v |= (uint64_t)(b & 0x7f) << (7 * i);
        if (b < 0x80) {
            r->at = p;
            return v;
        }
    }
    thrift_fault(r, "a varint is longer than its type allows");
    return 0;
}

static inline int64_t zigzag(uint64_t v)
{
    return (int64_t)(v >> 1 ^ (~(v & 1) + 1));
}

static int32_t read_i32(struct thrift_reader *r)
{
    int64_t v = zigzag(read_varint(r, 10));
    if (v < INT32_MIN || v > INT32_MAX) {
        thrift_fault(r, "an integer does not fit 32 bits");
        return 0;
    }
    return (int32_t)v;
}

static uint8_t read_byte(struct thrift_reader *r)
{
    if (r->at == r->end) {
        fault_short(r);
        return 0;
    }
    return *r->at++;
}

bool thrift_field_next(struct thrift_reader *r, struct thrift_field *f)
{
    if (r->fault != NULL) {
        return false;
    }
    uint8_t head = read_byte(r);
    f->type = head & 15;
    if (head == 0 || r->fault != NULL) {
        return false;
    }
    unsigned delta = head >> 4;
    if (delta != 0) {
        f->id += (int32_t)delta;
    } else {
        int64_t id = zigzag(read_varint(r, 5));
        if (id < INT16_MIN || id > INT16_MAX) {
            thrift_fault(r, "a field id does not fit 16 bits");
            return false;
        }
        f->id = (int32_t)id;
    }
    if (f->type == THRIFT_STOP || f->type > THRIFT_UUID) {
        thrift_fault(r, "a field has an unknown type");
    }
    return r->fault == NULL;
}

static bool is_int(uint8_t type)
{
    return type == THRIFT_I16 || type == THRIFT_I32 || type == THRIFT_I64;
}

static bool skip_unless(struct thrift_reader *r, const struct thrift_field *f, bool is_wanted)
{
    if (!is_wanted) {
        thrift_skip(r, f->type);
    }
    return is_wanted;
}

bool thrift_get_bool(struct thrift_reader *r, const struct thrift_field *f, bool *out)
{
    if (!skip_unless(r, f, f->type == THRIFT_TRUE || f->type == THRIFT_FALSE)) {
        return false;
    }
    *out = f->type == THRIFT_TRUE;
    return true;
}

bool thrift_get_i32(struct thrift_reader *r, const struct thrift_field *f, int32_t *out)
{
    if (!skip_unless(r, f, is_int(f->type))) {
        return false;
    }
    int32_t v = read_i32(r);
    if (r->fault == NULL) {
        *out = v;
    }
    return r->fault == NULL;
}

bool thrift_get_i64(struct thrift_reader *r, const struct thrift_field *f, int64_t *out)
{
    if (!skip_unless(r, f, is_int(f->type))) {
        return false;
    }
    int64_t v = zigzag(read_varint(r, 10));
    if (r->fault == NULL) {
        *out = v;
    }
    return r->fault == NULL;
}

bool thrift_get_i8(struct thrift_reader *r, const struct thrift_field *f, int8_t *out)
{
    if (!skip_unless(r, f, f->type == THRIFT_I8)) {
        return false;
    }
    int8_t v = (int8_t)read_byte(r);
    if (r->fault == NULL) {
        *out = v;
    }
    return r->fault == NULL;
}

bool thrift_get_double(struct thrift_reader *r, const struct thrift_field *f, double *out)
{
    if (!skip_unless(r, f, f->type == THRIFT_DOUBLE)) {
        return false;
    }
    if (left(r) < 8) {
        fault_short(r);
        return false;
    }
    uint64_t bits = load_le64(r->at);
    memcpy(out, &bits, sizeof *out);
    r->at += 8;
    return true;
}

void thrift_elem_bytes(struct thrift_reader *r, const unsigned char **bytes, size_t *len)
{
    uint64_t n = read_varint(r, 5);
    *bytes = r->at;
    *len = 0;
    if (n > left(r)) {
        fault_short(r);
        *bytes = r->at;
        return;
    }
    *len = (size_t)n;
    r->at += n;
}

bool thrift_get_bytes(struct thrift_reader *r, const struct thrift_field *f,
                      const unsigned char **bytes, size_t *len)
{
    if (!skip_unless(r, f, f->type == THRIFT_BINARY)) {
        return false;
    }
    const unsigned char *at;
    size_t n;
    thrift_elem_bytes(r, &at, &n);
    if (r->fault == NULL) {
        *bytes = at;
        *len = n;
    }
    return r->fault == NULL;
}

bool thrift_get_struct(struct thrift_reader *r, const struct thrift_field *f)
{
    return skip_unless(r, f, f->type == THRIFT_STRUCT);
}

/* Bytes that one element takes at least. */
static size_t elem_bytes_min(uint8_t elem)
{
    return elem == THRIFT_DOUBLE ? 8 : elem == THRIFT_UUID ? 16 : 1;
}

static uint32_t read_list_head(struct thrift_reader *r, uint8_t *elem)
{
    uint8_t head = read_byte(r);
    *elem = head & 15;
    uint64_t n = head >> 4;
    if (n == 15) {
        n = read_varint(r, 5);
    }
    if (n > 0 && (*elem == THRIFT_STOP || *elem > THRIFT_UUID)) {
        thrift_fault(r, "a list has an unknown element type");
        return 0;
    }
    if (n * elem_bytes_min(*elem) > left(r)) {
        fault_short(r);
        return 0;
    }
    return (uint32_t)n;
}

bool thrift_get_list(struct thrift_reader *r, const struct thrift_field *f, uint8_t *elem,
                     uint32_t *n)
{
    *n = 0;
    if (!skip_unless(r, f, f->type == THRIFT_LIST || f->type == THRIFT_SET)) {
        return false;
    }
    uint8_t wanted = *elem;
    const unsigned char *start = r->at;
    uint32_t count = read_list_head(r, elem);
    if (r->fault != NULL) {
        return false;
    }
    bool fits = *elem == wanted || count == 0 || (is_int(wanted) && is_int(*elem)) ||
                (wanted <= THRIFT_FALSE && *elem <= THRIFT_FALSE);
    if (!fits) {
        r->at = start;
        thrift_skip(r, f->type);
        return false;
    }
    *n = count;
    return true;
}

bool thrift_elem_bool(struct thrift_reader *r)
{
    return read_byte(r) == 1;
}

int64_t thrift_elem_int(struct thrift_reader *r, uint8_t elem)
{
    (void)elem;
    return zigzag(read_varint(r, 10));
}

static void skip_bytes(struct thrift_reader *r, uint64_t n)
{
    if (n > left(r)) {
        fault_short(r);
        return;
    }
    r->at += n;
}

/* depth counts what is open around the value; it bounds the recursion. */
static void skip_value(struct thrift_reader *r, uint8_t type, bool is_element, unsigned depth)
{
    struct thrift_field f = { 0 };
    uint8_t elem;
    uint64_t n;

    if (depth > THRIFT_DEPTH_MAX) {
        thrift_fault(r, "nested deeper than 64");
        return;
    }
    switch (type) {
    case THRIFT_TRUE:
    case THRIFT_FALSE: skip_bytes(r, is_element ? 1 : 0); break;
    case THRIFT_I8: skip_bytes(r, 1); break;
    case THRIFT_I16:
    case THRIFT_I32:
    case THRIFT_I64: (void)read_varint(r, 10); break;
    case THRIFT_DOUBLE: skip_bytes(r, 8); break;
    case THRIFT_UUID: skip_bytes(r, 16); break;
    case THRIFT_BINARY:
        n = read_varint(r, 5);
        skip_bytes(r, n);
        break;
    case THRIFT_LIST:
    case THRIFT_SET:
        n = read_list_head(r, &elem);
        for (uint64_t i = 0; i < n && r->fault == NULL; i++) {
            skip_value(r, elem, true, depth + 1);
        }
        break;
    case THRIFT_MAP:
        n = read_varint(r, 5);
        elem = n > 0 ? read_byte(r) : 0;
        if (n > left(r) / 2) {
            fault_short(r);
        }
        for (uint64_t i = 0; i < n && r->fault == NULL; i++) {
            skip_value(r, elem >> 4, true, depth + 1);
            skip_value(r, elem & 15, true, depth + 1);
        }
        break;
    case THRIFT_STRUCT:
        while (thrift_field_next(r, &f)) {
            skip_value(r, f.type, false, depth + 1);
        }
        break;
    default: thrift_fault(r, "a value has an unknown type"); break;
    }
}

void thrift_skip(struct thrift_reader *r, uint8_t type)
{
    skip_value(r, type, false, 0);
}

/* ---- writing ---- */

void thrift_writer_init(struct thrift_writer *w, struct buf *to, grebe_error *err)
{
    w->to = to;
    w->err = err;
    w->status = GREBE_OK;
    w->depth = 0;
    w->last_id[0] = 0;
}

static void put(struct thrift_writer *w, const void *bytes, size_t len)
{
    if (w->status == GREBE_OK) {
        w->status = buf_put(w->to, bytes, len, w->err);
    }
}

static void put_varint(struct thrift_writer *w, uint64_t v)
{
    unsigned char bytes[10];
    size_t n = 0;
    while (v >= 0x80) {
        bytes[n++] = (unsigned char)(v | 0x80);
        v >>= 7;
    }
    bytes[n++] = (unsigned char)v;
    put(w, bytes, n);
}

static void put_zigzag(struct thrift_writer *w, int64_t v)
{
    put_varint(w, (uint64_t)v << 1 ^ (v < 0 ? UINT64_MAX : 0));
}

static void put_byte(struct thrift_writer *w, unsigned v)
{
    unsigned char b = (unsigned char)v;
    put(w, &b, 1);
}

static void put_field(struct thrift_writer *w, int32_t id, unsigned type)
{
    int32_t *last = &w->last_id[w->depth];
    assert(id > *last && id <= INT16_MAX);
    if (id - *last <= 15) {
        put_byte(w, (unsigned)(id - *last) << 4 | type);
    } else {
        put_byte(w, type);
        put_zigzag(w, id);
    }
    *last = id;
}

static void open_struct(struct thrift_writer *w)
{
    assert(w->depth + 1 < THRIFT_DEPTH_MAX);
    w->depth++;
    w->last_id[w->depth] = 0;
}

grebe_status thrift_writer_finish(struct thrift_writer *w)
{
    assert(w->depth == 0);
    put_byte(w, THRIFT_STOP);
    return w->status;
}

void thrift_put_bool(struct thrift_writer *w, int32_t id, bool v)
{
    put_field(w, id, v ? THRIFT_TRUE : THRIFT_FALSE);
}

void thrift_put_i8(struct thrift_writer *w, int32_t id, int8_t v)
{
    put_field(w, id, THRIFT_I8);
    put_byte(w, (unsigned char)v);
}

void thrift_put_i16(struct thrift_writer *w, int32_t id, int16_t v)
{
    put_field(w, id, THRIFT_I16);
    put_zigzag(w, v);
}

void thrift_put_i32(struct thrift_writer *w, int32_t id, int32_t v)
{
    put_field(w, id, THRIFT_I32);
    put_zigzag(w, v);
}

void thrift_put_i64(struct thrift_writer *w, int32_t id, int64_t v)
{
    put_field(w, id, THRIFT_I64);
    put_zigzag(w, v);
}

void thrift_put_double(struct thrift_writer *w, int32_t id, double v)
{
    unsigned char bytes[8];
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    store_le64(bytes, bits);
    put_field(w, id, THRIFT_DOUBLE);
    put(w, bytes, sizeof bytes);
}

void thrift_put_bytes(struct thrift_writer *w, int32_t id, const void *bytes, size_t len)
{
    put_field(w, id, THRIFT_BINARY);
    thrift_add_bytes(w, bytes, len);
}

void thrift_put_struct(struct thrift_writer *w, int32_t id)
{
    put_field(w, id, THRIFT_STRUCT);
    open_struct(w);
}

void thrift_put_list(struct thrift_writer *w, int32_t id, uint8_t elem, size_t n)
{
    assert(n <= INT32_MAX);
    put_field(w, id, THRIFT_LIST);
    if (n < 15) {
        put_byte(w, (unsigned)n << 4 | elem);
    } else {
        put_byte(w, 0xf0u | elem);
        put_varint(w, n);
    }
}

void thrift_end_struct(struct thrift_writer *w)
{
    assert(w->depth > 0);
    put_byte(w, THRIFT_STOP);
    w->depth--;
}

void thrift_add_bool(struct thrift_writer *w, bool v)
{
    put_byte(w, v ? THRIFT_TRUE : THRIFT_FALSE);
}

void thrift_add_i32(struct thrift_writer *w, int32_t v)
{
    put_zigzag(w, v);
}

void thrift_add_i64(struct thrift_writer *w, int64_t v)
{
    put_zigzag(w, v);
}

void thrift_add_bytes(struct thrift_writer *w, const void *bytes, size_t len)
{
    assert(len <= INT32_MAX);
    put_varint(w, len);
    if (len > 0) {
        put(w, bytes, len);
    }
}

void thrift_add_struct(struct thrift_writer *w)
{
    open_struct(w);
}
