/* SPDX-License-Identifier: Apache-2.0 */
#include "dataset/fingerprint.h"

#include <stdlib.h>
#include <string.h>

#include "base/endian.h"

enum { FRAME_TARGET = 64 * 1024, FRAME_MIN = 4, BATCH = 1000 };

grebe_status pickle_raw(struct pickle *p, const void *bytes, size_t len, grebe_error *err)
{
    return buf_put(&p->frame, bytes, len, err);
}

static grebe_status put_byte(struct pickle *p, uint8_t byte, grebe_error *err)
{
    return buf_put_byte(&p->frame, byte, err);
}

static grebe_status close_frame(struct pickle *p, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    if (p->frame.len >= FRAME_MIN) {
        unsigned char head[9] = { 0x95 };
        store_le64(head + 1, p->frame.len);
        st = buf_put(&p->out, head, sizeof head, err);
    }
    if (st == GREBE_OK) {
        st = buf_put(&p->out, p->frame.data, p->frame.len, err);
    }
    buf_clear(&p->frame);
    return st;
}

/* Before each value a frame that is full ends. */
static grebe_status begin_value(struct pickle *p, grebe_error *err)
{
    return p->frame.len >= FRAME_TARGET ? close_frame(p, err) : GREBE_OK;
}

grebe_status pickle_begin(struct pickle *p, const grebe_allocator *a, grebe_error *err)
{
    p->out = BUF_INIT(a);
    p->frame = BUF_INIT(a);
    return buf_put(&p->out, "\x80\x04", 2, err);
}

grebe_status pickle_end(struct pickle *p, grebe_error *err)
{
    grebe_status st = put_byte(p, '.', err);
    return st == GREBE_OK ? close_frame(p, err) : st;
}

void pickle_release(struct pickle *p)
{
    buf_release(&p->out);
    buf_release(&p->frame);
}

grebe_status pickle_text(struct pickle *p, const char *text, size_t len, grebe_error *err)
{
    unsigned char head[5];
    grebe_status st = begin_value(p, err);
    if (st != GREBE_OK) {
        return st;
    }
    if (len <= 0xff) {
        head[0] = 0x8c;
        head[1] = (unsigned char)len;
        st = pickle_raw(p, head, 2, err);
        return st == GREBE_OK ? pickle_raw(p, text, len, err) : st;
    }
    if (len > UINT32_MAX) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "a text of %zu bytes in a fingerprint", len);
    }
    head[0] = 'X';
    store_le32(head + 1, (uint32_t)len);
    if (len < FRAME_TARGET) {
        st = pickle_raw(p, head, 5, err);
        return st == GREBE_OK ? pickle_raw(p, text, len, err) : st;
    }
    /* a large text stands outside of frames */
    if (p->frame.len > 0) {
        st = close_frame(p, err);
    }
    if (st == GREBE_OK) {
        st = buf_put(&p->out, head, 5, err);
    }
    return st == GREBE_OK ? buf_put(&p->out, text, len, err) : st;
}

/* Two's complement, lowest byte first, as few bytes as keep the sign. */
static grebe_status put_long(struct pickle *p, const unsigned char *bytes, size_t n, grebe_error *err)
{
    unsigned char head[5] = { 0x8a, (unsigned char)n };
    size_t head_len = 2;
    if (n > 255) {
        head[0] = 0x8b;
        store_le32(head + 1, (uint32_t)n);
        head_len = 5;
    }
    grebe_status st = pickle_raw(p, head, head_len, err);
    return st == GREBE_OK ? pickle_raw(p, bytes, n, err) : st;
}

grebe_status pickle_int(struct pickle *p, int64_t v, grebe_error *err)
{
    unsigned char bytes[9];
    grebe_status st = begin_value(p, err);
    if (st != GREBE_OK) {
        return st;
    }
    if (v >= 0 && v <= 0xff) {
        bytes[0] = 'K';
        bytes[1] = (unsigned char)v;
        return pickle_raw(p, bytes, 2, err);
    }
    if (v >= 0 && v <= 0xffff) {
        bytes[0] = 'M';
        bytes[1] = (unsigned char)v;
        bytes[2] = (unsigned char)(v >> 8);
        return pickle_raw(p, bytes, 3, err);
    }
    if (v >= INT32_MIN && v <= INT32_MAX) {
        bytes[0] = 'J';
        store_le32(bytes + 1, (uint32_t)(int32_t)v);
        return pickle_raw(p, bytes, 5, err);
    }
    store_le64(bytes, (uint64_t)v);
    size_t n = 8;
    unsigned char sign = v < 0 ? 0xff : 0;
    while (n > 1 && bytes[n - 1] == sign && (bytes[n - 2] & 0x80) == (sign & 0x80)) {
        n--;
    }
    return put_long(p, bytes, n, err);
}

/* A magnitude, lowest byte first. */
static grebe_status put_magnitude(struct pickle *p, unsigned char *bytes, size_t n, bool is_negative, grebe_error *err)
{
    while (n > 0 && bytes[n - 1] == 0) {
        n--;
    }
    if (n <= 8) {
        uint64_t v = 0;
        for (size_t i = 0; i < n; i++) {
            v |= (uint64_t)bytes[i] << 8 * i;
        }
        if (v <= INT64_MAX) {
            return pickle_int(p, is_negative ? -(int64_t)v : (int64_t)v, err);
        }
    }
    grebe_status st = begin_value(p, err);
    bytes[n] = 0; /* room for the sign */
    unsigned carry = 1;
    for (size_t i = 0; is_negative && i <= n; i++) {
        unsigned byte = (unsigned)(unsigned char)~bytes[i] + carry;
        bytes[i] = (unsigned char)byte;
        carry = byte >> 8;
    }
    size_t len = n + 1;
    unsigned char sign = is_negative ? 0xff : 0;
    if (bytes[n] == sign && (bytes[n - 1] & 0x80) == (sign & 0x80)) {
        len = n;
    }
    return st == GREBE_OK ? put_long(p, bytes, len, err) : st;
}

grebe_status pickle_words(struct pickle *p, const uint32_t *words, size_t n, grebe_error *err)
{
    const grebe_allocator *a = p->out.a;
    unsigned char *bytes = mem_alloc_zero(a, n * 4 + 1);
    if (bytes == NULL) {
        return mem_fail(err, n * 4 + 1, "a number");
    }
    for (size_t i = 0; i < n; i++) {
        store_le32(bytes + 4 * i, words[i]);
    }
    grebe_status st = put_magnitude(p, bytes, n * 4, false, err);
    mem_free(a, bytes, n * 4 + 1);
    return st;
}

/* Decimal digits of any number. */
static grebe_status put_digits(struct pickle *p, const char *text, size_t len, grebe_error *err)
{
    enum { DIGITS_MAX = 4096 };
    bool is_negative = len > 0 && text[0] == '-';
    const grebe_allocator *a = p->out.a;
    if (len > DIGITS_MAX) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "a number of %zu digits in a fingerprint", len);
    }
    unsigned char *bytes = mem_alloc_zero(a, len + 1);
    if (bytes == NULL) {
        return mem_fail(err, len + 1, "a number");
    }
    size_t n = 0;
    for (size_t i = is_negative; i < len; i++) {
        unsigned carry = (unsigned)(text[i] - '0');
        for (size_t k = 0; k < n; k++) {
            carry += bytes[k] * 10u;
            bytes[k] = (unsigned char)carry;
            carry >>= 8;
        }
        if (carry > 0) {
            bytes[n++] = (unsigned char)carry;
        }
    }
    grebe_status st = put_magnitude(p, bytes, n, is_negative, err);
    mem_free(a, bytes, len + 1);
    return st;
}

static grebe_status put_number(struct pickle *p, const struct json_value *v, grebe_error *err)
{
    bool is_float =
        memchr(v->text, '.', v->n) != NULL || memchr(v->text, 'e', v->n) != NULL || memchr(v->text, 'E', v->n) != NULL;
    if (!is_float) {
        return put_digits(p, v->text, v->n, err);
    }
    double d = 0;
    uint64_t bits;
    unsigned char bytes[9] = { 'G' };
    json_double(v, &d);
    memcpy(&bits, &d, sizeof bits);
    for (int i = 0; i < 8; i++) {
        bytes[1 + i] = (unsigned char)(bits >> (56 - 8 * i));
    }
    grebe_status st = begin_value(p, err);
    return st == GREBE_OK ? pickle_raw(p, bytes, sizeof bytes, err) : st;
}

static grebe_status put_items(struct pickle *p, const struct json_value *v, grebe_error *err)
{
    grebe_status st = begin_value(p, err);
    if (st == GREBE_OK) {
        st = pickle_raw(p, "]\x94", 2, err);
    }
    for (size_t i = 0; i < v->n && st == GREBE_OK; i += BATCH) {
        size_t n = v->n - i < BATCH ? v->n - i : BATCH;
        st = n > 1 ? put_byte(p, '(', err) : GREBE_OK;
        for (size_t k = 0; k < n && st == GREBE_OK; k++) {
            st = pickle_json(p, &v->items[i + k], err);
        }
        st = st == GREBE_OK ? put_byte(p, n > 1 ? 'e' : 'a', err) : st;
    }
    return st;
}

static int by_key(const void *x, const void *y)
{
    const struct json_member *const *p = x, *const *q = y;
    size_t n = (*p)->key_len < (*q)->key_len ? (*p)->key_len : (*q)->key_len;
    int c = memcmp((*p)->key, (*q)->key, n); /* the order of code points is that of UTF-8 */
    return c != 0 ? c : ((*p)->key_len > (*q)->key_len) - ((*p)->key_len < (*q)->key_len);
}

static grebe_status put_members(struct pickle *p, const struct json_value *v, grebe_error *err)
{
    const grebe_allocator *a = p->out.a;
    const struct json_member **sorted = mem_alloc(a, v->n * sizeof *sorted);
    if (sorted == NULL) {
        return mem_fail(err, v->n * sizeof *sorted, "members");
    }
    for (size_t i = 0; i < v->n; i++) {
        sorted[i] = &v->members[i];
    }
    qsort(sorted, v->n, sizeof *sorted, by_key);
    grebe_status st = begin_value(p, err);
    if (st == GREBE_OK) {
        st = pickle_raw(p, "}\x94", 2, err);
    }
    for (size_t i = 0; i < v->n && st == GREBE_OK; i += BATCH) {
        size_t n = v->n - i < BATCH ? v->n - i : BATCH;
        st = n > 1 ? put_byte(p, '(', err) : GREBE_OK;
        for (size_t k = 0; k < n && st == GREBE_OK; k++) {
            st = pickle_text(p, sorted[i + k]->key, sorted[i + k]->key_len, err);
            st = st == GREBE_OK ? pickle_json(p, &sorted[i + k]->value, err) : st;
        }
        st = st == GREBE_OK ? put_byte(p, n > 1 ? 'u' : 's', err) : st;
    }
    mem_free(a, sorted, v->n * sizeof *sorted);
    return st;
}

grebe_status pickle_json(struct pickle *p, const struct json_value *v, grebe_error *err)
{
    grebe_status st;
    switch (v->type) {
    case JSON_STRING: return pickle_text(p, v->text, v->n, err);
    case JSON_NUMBER: return put_number(p, v, err);
    case JSON_ARRAY: return put_items(p, v, err);
    case JSON_OBJECT: return put_members(p, v, err);
    default: break;
    }
    st = begin_value(p, err);
    return st != GREBE_OK ? st : put_byte(p, v->type == JSON_NULL ? 'N' : v->boolean ? 0x88 : 0x89, err);
}
