/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/json.h"

#include <assert.h>
#include <string.h>

#include "base/number.h"
#include "base/utf8.h"

static grebe_status put_escape(struct buf *dst, unsigned char c, grebe_error *err)
{
    static const char digits[] = "0123456789abcdef";
    char text[6] = { '\\', 'u', '0', '0', digits[c >> 4], digits[c & 15] };
    switch (c) {
    case '"': return buf_put(dst, "\\\"", 2, err);
    case '\\': return buf_put(dst, "\\\\", 2, err);
    case '\n': return buf_put(dst, "\\n", 2, err);
    case '\r': return buf_put(dst, "\\r", 2, err);
    case '\t': return buf_put(dst, "\\t", 2, err);
    case '\b': return buf_put(dst, "\\b", 2, err);
    case '\f': return buf_put(dst, "\\f", 2, err);
    default: return buf_put(dst, text, sizeof text, err);
    }
}

/* Valid UTF-8 with quotes, backslashes and control characters escaped. */
static grebe_status put_valid(struct buf *dst, const char *s, size_t len, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    size_t begin = 0;
    for (size_t i = 0; i < len && st == GREBE_OK; i++) {
        unsigned char c = (unsigned char)s[i];
        if (c >= 0x20 && c != '"' && c != '\\' && c != 0x7f) {
            continue;
        }
        st = buf_put(dst, s + begin, i - begin, err);
        if (st == GREBE_OK) {
            st = put_escape(dst, c, err);
        }
        begin = i + 1;
    }
    return st != GREBE_OK ? st : buf_put(dst, s + begin, len - begin, err);
}

grebe_status json_put_string(struct buf *dst, const char *s, size_t len, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    GREBE_TRY(buf_reserve(dst, len + 2, err));
    GREBE_TRY(buf_put_byte(dst, '"', err));
    while (len > 0) {
        size_t valid = utf8_valid_prefix(s, len);
        GREBE_TRY(put_valid(dst, s, valid, err));
        s += valid;
        len -= valid;
        if (len > 0) {
            GREBE_TRY(buf_put(dst, "\xef\xbf\xbd", 3, err));
            s++;
            len--;
        }
    }
    GREBE_TRY(buf_put_byte(dst, '"', err));
out:
    return st;
}

grebe_status json_put_i64(struct buf *dst, int64_t v, grebe_error *err)
{
    char text[NUMBER_TEXT_MAX];
    return buf_put(dst, text, number_put_i64(text, v), err);
}

grebe_status json_put_u64(struct buf *dst, uint64_t v, grebe_error *err)
{
    char text[NUMBER_TEXT_MAX];
    return buf_put(dst, text, number_put_u64(text, v), err);
}

static bool is_finite(double v) { return v - v == 0; }

grebe_status json_put_double(struct buf *dst, double v, grebe_error *err)
{
    char text[NUMBER_TEXT_MAX];
    if (!is_finite(v)) {
        return buf_put(dst, "null", 4, err);
    }
    return buf_put(dst, text, number_put_double(text, v, &number_style_json), err);
}

grebe_status json_put_float(struct buf *dst, float v, grebe_error *err)
{
    char text[NUMBER_TEXT_MAX];
    if (!is_finite((double)v)) {
        return buf_put(dst, "null", 4, err);
    }
    return buf_put(dst, text, number_put_float(text, v, &number_style_json), err);
}

/* ---- the writer ---- */

void json_begin(struct json_writer *w, struct buf *dst, int indent, grebe_error *err)
{
    memset(w, 0, sizeof *w);
    w->dst = dst;
    w->indent = indent;
    w->err = err;
    w->status = GREBE_OK;
}

static void put(struct json_writer *w, const char *s, size_t len)
{
    if (w->status == GREBE_OK) {
        w->status = buf_put(w->dst, s, len, w->err);
    }
}

static void new_line(struct json_writer *w)
{
    if (w->indent > 0) {
        put(w, "\n", 1);
        for (int i = 0; i < w->depth * w->indent; i++) {
            put(w, " ", 1);
        }
    }
}

/* What goes in front of a value or a key. */
static void before_item(struct json_writer *w)
{
    if (w->has_key) {
        w->has_key = false;
        return;
    }
    if (w->depth > 0) {
        if (w->has_items[w->depth]) {
            put(w, ",", 1);
        }
        new_line(w);
    }
    w->has_items[w->depth] = true;
}

static void open_container(struct json_writer *w, const char *bracket)
{
    before_item(w);
    put(w, bracket, 1);
    if (w->depth == JSON_DEPTH_MAX) {
        if (w->status == GREBE_OK) {
            w->status = GREBE_FAIL(w->err, GREBE_ELIMIT, "JSON nested deeper than %d",
                                   JSON_DEPTH_MAX);
        }
        return;
    }
    w->has_items[++w->depth] = false;
}

static void close_container(struct json_writer *w, const char *bracket)
{
    assert(w->depth > 0);
    w->has_key = false; /* a key whose value failed */
    bool had_items = w->has_items[w->depth];
    w->depth--;
    if (had_items) {
        new_line(w);
    }
    put(w, bracket, 1);
}

void json_open_object(struct json_writer *w) { open_container(w, "{"); }
void json_close_object(struct json_writer *w) { close_container(w, "}"); }
void json_open_array(struct json_writer *w) { open_container(w, "["); }
void json_close_array(struct json_writer *w) { close_container(w, "]"); }

void json_key_len(struct json_writer *w, const char *key, size_t len)
{
    assert(!w->has_key);
    before_item(w);
    if (w->status == GREBE_OK) {
        w->status = json_put_string(w->dst, key, len, w->err);
    }
    put(w, ": ", w->indent > 0 ? 2 : 1);
    w->has_key = true;
}

void json_key(struct json_writer *w, const char *key) { json_key_len(w, key, strlen(key)); }

void json_text_len(struct json_writer *w, const char *s, size_t len)
{
    before_item(w);
    if (w->status == GREBE_OK) {
        w->status = json_put_string(w->dst, s, len, w->err);
    }
}

void json_text(struct json_writer *w, const char *s) { json_text_len(w, s, strlen(s)); }

void json_int(struct json_writer *w, int64_t v)
{
    before_item(w);
    if (w->status == GREBE_OK) {
        w->status = json_put_i64(w->dst, v, w->err);
    }
}

void json_uint(struct json_writer *w, uint64_t v)
{
    before_item(w);
    if (w->status == GREBE_OK) {
        w->status = json_put_u64(w->dst, v, w->err);
    }
}

void json_real(struct json_writer *w, double v)
{
    before_item(w);
    if (w->status == GREBE_OK) {
        w->status = json_put_double(w->dst, v, w->err);
    }
}

void json_real32(struct json_writer *w, float v)
{
    before_item(w);
    if (w->status == GREBE_OK) {
        w->status = json_put_float(w->dst, v, w->err);
    }
}

void json_bool(struct json_writer *w, bool v)
{
    before_item(w);
    put(w, v ? "true" : "false", v ? 4 : 5);
}

void json_null(struct json_writer *w)
{
    before_item(w);
    put(w, "null", 4);
}

void json_raw(struct json_writer *w, const char *s, size_t len)
{
    before_item(w);
    put(w, s, len);
}

grebe_status json_end(struct json_writer *w)
{
    assert(w->status != GREBE_OK || (w->depth == 0 && !w->has_key));
    return w->status;
}
