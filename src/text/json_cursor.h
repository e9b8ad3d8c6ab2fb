/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_TEXT_JSON_CURSOR_H
#define GREBE_TEXT_JSON_CURSOR_H

/*
 * JSON read in place, without a tree. Whatever is not plainly well-formed is JSON_ODD: the reader of trees
 * (wire/json.h) then reads the block again, and says what is wrong and where, or finds it right.
 */

#include <stdbool.h>
#include <string.h>

#include "base/buf.h"
#include "base/endian.h"
#include "text/text_type.h"
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define JSON_ODD GREBE_END

struct json_cursor {
    const char *p, *end;
};

static inline void json_skip_space(struct json_cursor *c)
{
    if (c->p < c->end && (unsigned char)*c->p > ' ') {
        return; /* mostly */
    }
    while (c->p < c->end && (*c->p == ' ' || *c->p == '\n' || *c->p == '\t' || *c->p == '\r')) {
        c->p++;
    }
}

/** Whether the character comes next, behind any space; takes it. */
static inline bool json_take(struct json_cursor *c, char wanted)
{
    if (c->p < c->end && *c->p == wanted) {
        c->p++;
        return true;
    }
    json_skip_space(c);
    if (c->p < c->end && *c->p == wanted) {
        c->p++;
        return true;
    }
    return false;
}

static inline bool json_take_word(struct json_cursor *c, const char *word, size_t len)
{
    if ((size_t)(c->end - c->p) < len || memcmp(c->p, word, len) != 0) {
        return false;
    }
    c->p += len;
    return true;
}

/** First quote, backslash or control character from p on; end: there is none. */
static inline const char *json_string_stop(const char *p, const char *end)
{
#ifdef __SSE2__
    const __m128i quote = _mm_set1_epi8('"'), slash = _mm_set1_epi8('\\'),
                  last = _mm_set1_epi8(0x1f);
    while (end - p >= 16) {
        __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
        __m128i is_control = _mm_cmpeq_epi8(_mm_min_epu8(v, last), v);
        __m128i is_stop = _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(v, quote),
                                                    _mm_cmpeq_epi8(v, slash)), is_control);
        unsigned mask = (unsigned)_mm_movemask_epi8(is_stop);
        if (mask != 0) {
            return p + __builtin_ctz(mask);
        }
        p += 16;
    }
#endif
    while (p < end && *p != '"' && *p != '\\' && (unsigned char)*p >= 0x20) {
        p++;
    }
    return p;
}

/** The rest of a string up to its closing quote, escapes undone, behind what dst has. */
grebe_status json_decode_string(struct json_cursor *c, struct buf *dst, grebe_error *err);

/**
 * A string; c->p is at its opening quote and comes to stand behind the closing one. Its text is in place, or, with
 * escapes, in scratch until the next call.
 */
static inline grebe_status json_string(struct json_cursor *c, struct buf *scratch,
                                       const char **text, size_t *len, grebe_error *err)
{
    const char *begin = ++c->p;
    const char *stop = json_string_stop(begin, c->end);
    if (stop < c->end && *stop == '"') {
        *text = begin;
        *len = (size_t)(stop - begin);
        c->p = stop + 1;
        return GREBE_OK;
    }
    buf_clear(scratch);
    grebe_status st = json_decode_string(c, scratch, err);
    *text = (const char *)scratch->data;
    *len = scratch->len;
    return st;
}

/** What the number at c->p looks like; its length, 0: no JSON number. */
size_t json_number(const struct json_cursor *c, bool *is_integer, bool *has_exponent);

/** "NaN", "Infinity", "-Infinity": numbers, as JSON output has them. */
bool json_is_special(const char *text, size_t len);

#endif
