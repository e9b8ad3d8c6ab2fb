/* SPDX-License-Identifier: Apache-2.0 */
#include "text/json_cursor.h"

#include "base/utf8.h"
#include "wire/json_escape.h"

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
            if (json_unicode_escape(&c->p, c->end, &code_point) != NULL) {
                return JSON_ODD;
            }
            n = utf8_put(bytes, code_point);
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
