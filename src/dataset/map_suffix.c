/* SPDX-License-Identifier: Apache-2.0 */
#include "dataset/map_suffix.h"

#include <string.h>

enum { WIDTH_MAX = 9 };

/* One piece of a template: literal text, or a field. */
struct piece {
    const char *text;
    size_t len;
    bool is_rank, is_count;
    int width; /* zeros in front up to it */
};

/* The next piece; false at the end. *is_bad: braces that make no field. */
static bool next_piece(const char **at, struct piece *out, bool *is_bad)
{
    const char *p = *at;
    memset(out, 0, sizeof *out);
    if (*p == '\0') {
        return false;
    }
    if (*p != '{') {
        out->text = p;
        out->len = strcspn(p, "{}");
        *is_bad = out->len == 0;
        *at = p + out->len;
        return !*is_bad;
    }
    out->is_rank = strncmp(p + 1, "rank", 4) == 0;
    out->is_count = strncmp(p + 1, "num_proc", 8) == 0;
    p += 1 + (out->is_rank ? 4 : out->is_count ? 8 : 0);
    if (*p == ':') {
        p++;
        while (*p >= '0' && *p <= '9') {
            out->width = out->width * 10 + (*p++ - '0');
            if (out->width > WIDTH_MAX) {
                break;
            }
        }
        *is_bad = *p != 'd';
        p += *p == 'd';
    }
    *is_bad = *is_bad || *p != '}' || !(out->is_rank || out->is_count);
    *at = p + (*p == '}');
    return !*is_bad;
}

grebe_status map_suffix_check(const char *template, grebe_error *err)
{
    struct piece p;
    bool is_bad = false;
    int n_rank = 0, n_count = 0;
    for (const char *at = template; next_piece(&at, &p, &is_bad);) {
        n_rank += p.is_rank;
        n_count += p.is_count;
    }
    if (is_bad || n_rank != 1 || n_count != 1 || strchr(template, '/') != NULL) {
        return GREBE_FAIL(err, GREBE_EINVAL, "suffix_template \"%.80s\": expected {rank} and {num_proc}, each once",
                          template);
    }
    return GREBE_OK;
}

grebe_status map_suffix_put(const char *template, int32_t rank, int32_t n, struct buf *dst, grebe_error *err)
{
    struct piece p;
    bool is_bad = false;
    grebe_status st = GREBE_OK;
    for (const char *at = template; st == GREBE_OK && next_piece(&at, &p, &is_bad);) {
        st = p.text != NULL ? buf_put(dst, p.text, p.len, err)
                            : buf_printf(dst, err, "%0*d", p.width, (int)(p.is_rank ? rank : n));
    }
    return st;
}

bool map_suffix_parse(const char *template, const char *text, size_t len, int32_t *rank, int32_t *n)
{
    struct piece p;
    bool is_bad = false;
    const char *end = text + len;
    for (const char *at = template; next_piece(&at, &p, &is_bad);) {
        if (p.text != NULL) {
            if ((size_t)(end - text) < p.len || memcmp(text, p.text, p.len) != 0) {
                return false;
            }
            text += p.len;
            continue;
        }
        int32_t v = 0, digits = 0;
        while (text < end && *text >= '0' && *text <= '9' && digits < WIDTH_MAX) {
            v = v * 10 + (*text++ - '0');
            digits++;
        }
        if (digits == 0 || digits < p.width) {
            return false;
        }
        *(p.is_rank ? rank : n) = v;
    }
    return text == end && *n > 0 && *rank < *n;
}
