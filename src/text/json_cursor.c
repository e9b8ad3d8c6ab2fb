/* SPDX-License-Identifier: Apache-2.0 */
#include "text/json_cursor.h"

static bool hex4(const char *p, uint32_t *out)
{
    uint32_t v = 0;
    for (int i = 0; i < 4; i++) {
        char c = p[i], lower = (char)(c | 0x20);
        if (c >= '0' && c <= '9') {
            v = v << 4 | (uint32_t)(c - '0');
        } else if (lower >= 'a' && lower <= 'f') {
            v = v << 4 | (uint32_t)(lower - 'a' + 10);
        } else {
            return false;
        }
    }
    *out = v;
    return true;
}

static size_t put_code_point(char *dst, uint32_t c)
{
    if (c < 0x80) {
        dst[0] = (char)c;
        return 1;
    }
    size_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const unsigned char first[] = { 0, 0, 0xc0, 0xe0, 0xf0 };
    for (size_t i = n; i-- > 1; c >>= 6) {
        dst[i] = (char)(0x80 | (c & 0x3f));
    }
    dst[0] = (char)(first[n] | c);
    return n;
}

/* Behind "\u": the character, of one half or two. */
static bool unicode_escape(struct json_cursor *c, uint32_t *out)
{
    uint32_t low = 0;
    if (c->end - c->p < 4 || !hex4(c->p, out) || (*out >= 0xdc00 && *out <= 0xdfff)) {
        return false;
    }
    c->p += 4;
    if (*out >= 0xd800 && *out <= 0xdbff) {
        if (c->end - c->p < 6 || c->p[0] != '\\' || c->p[1] != 'u' || !hex4(c->p + 2, &low) ||
            low < 0xdc00 || low > 0xdfff) {
            return false;
        }
        c->p += 6;
        *out = 0x10000 + ((*out - 0xd800) << 10) + (low - 0xdc00);
    }
    return true;
}

grebe_status json_decode_string(struct json_cursor *c, struct buf *dst, grebe_error *err)
{
    static const char letters[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    for (;;) {
        const char *stop = json_string_stop(c->p, c->end);
        grebe_status st = buf_put(dst, c->p, (size_t)(stop - c->p), err);
        c->p = stop;
        if (st != GREBE_OK) {
            return st;
        }
        if (c->p == c->end || (unsigned char)*c->p < 0x20) {
            return JSON_ODD;
        }
        if (*c->p++ == '"') {
            return GREBE_OK;
        }
        if (c->p == c->end || *c->p == '\0') {
            return JSON_ODD;
        }
        char bytes[4];
        size_t n = 1;
        if (*c->p == 'u') {
            uint32_t code_point = 0;
            c->p++;
            if (!unicode_escape(c, &code_point)) {
                return JSON_ODD;
            }
            n = put_code_point(bytes, code_point);
        } else {
            const char *found = strchr(letters, *c->p++);
            if (found == NULL) {
                return JSON_ODD;
            }
            bytes[0] = values[found - letters];
        }
        st = buf_put(dst, bytes, n, err);
        if (st != GREBE_OK) {
            return st;
        }
    }
}

size_t json_number(const struct json_cursor *c, bool *is_integer, bool *has_exponent)
{
    const char *p = c->p;
    p += p < c->end && *p == '-';
    size_t whole = text_digits(p, (size_t)(c->end - p));
    if (whole == 0 || (whole > 1 && *p == '0')) {
        return 0;
    }
    p += whole;
    *is_integer = true;
    *has_exponent = false;
    if (p < c->end && *p == '.') {
        p++;
        size_t behind = text_digits(p, (size_t)(c->end - p));
        if (behind == 0) {
            return 0;
        }
        p += behind;
        *is_integer = false;
    }
    if (p < c->end && (*p == 'e' || *p == 'E')) {
        p++;
        p += p < c->end && (*p == '+' || *p == '-');
        size_t digits = text_digits(p, (size_t)(c->end - p));
        if (digits == 0) {
            return 0;
        }
        p += digits;
        *is_integer = false;
        *has_exponent = true;
    }
    return (size_t)(p - c->p);
}

bool json_is_special(const char *text, size_t len)
{
    return (len == 3 && memcmp(text, "NaN", 3) == 0) ||
           (len == 8 && memcmp(text, "Infinity", 8) == 0) ||
           (len == 9 && memcmp(text, "-Infinity", 9) == 0);
}
