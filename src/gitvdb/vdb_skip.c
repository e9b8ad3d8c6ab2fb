/* SPDX-License-Identifier: Apache-2.0 */
/* Values that nobody asked for: their grammar is checked, but no number's range, no half of a pair and no depth. */
#include "gitvdb/vdb_scan.h"

#include <string.h>

#include "base/buf.h"
#include "base/utf8.h"

static bool is_hex(char c) { return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f'); }

/* Behind the closing quote; p is behind the opening one. */
static const char *skip_string(const char *p, const char *end, struct vdb_fault *fault)
{
    const char *begin = p;
    bool has_high = false;
    for (;;) {
        p = vdb_scan_plain(p, end, &has_high);
        if (p == end || *p != '\\') {
            break;
        }
        size_t n = p + 1 < end && p[1] == 'u' ? 6 : 2;
        if ((size_t)(end - p) < n || (n == 2 && (p[1] == '\0' || strchr("\"\\/bfnrt", p[1]) == NULL))) {
            return vdb_scan_fault(fault, p, "an escape");
        }
        for (size_t i = 2; i < n; i++) {
            if (!is_hex(p[i])) {
                return vdb_scan_fault(fault, p + i, "a hexadecimal digit");
            }
        }
        p += n;
    }
    if (p == end || *p != '"') {
        return vdb_scan_fault(fault, p, p == end ? "'\"'" : "no control character in a string");
    }
    if (has_high && !utf8_is_valid(begin, (size_t)(p - begin))) {
        return vdb_scan_fault(fault, begin, "UTF-8");
    }
    return p + 1;
}

/* Behind a string, a number or a word. */
static const char *skip_scalar(const char *p, const char *end, struct vdb_fault *fault)
{
    static const char *const words[] = { "null", "true", "false" };
    struct vdb_number ignored;
    if (p < end && *p == '"') {
        return skip_string(p + 1, end, fault);
    }
    if (p < end && (*p == '-' || (*p >= '0' && *p <= '9'))) {
        return vdb_scan_number(p, end, &ignored, fault);
    }
    for (int i = 0; i < 3; i++) {
        size_t n = strlen(words[i]);
        if ((size_t)(end - p) >= n && memcmp(p, words[i], n) == 0) {
            return p + n;
        }
    }
    return vdb_scan_fault(fault, p, "a value");
}

/* Behind a key and its colon, at a value. */
static const char *skip_key(const char *p, const char *end, struct vdb_fault *fault)
{
    p = vdb_skip_space(p, end);
    if (p == end || *p != '"') {
        return vdb_scan_fault(fault, p, "'\"' before a key");
    }
    p = skip_string(p + 1, end, fault);
    p = p == NULL ? NULL : vdb_skip_space(p, end);
    if (p == NULL || (p < end && *p == ':')) {
        return p == NULL ? NULL : vdb_skip_space(p + 1, end);
    }
    return vdb_scan_fault(fault, p, "':'");
}

/* Behind what ends with a value: closing brackets, and a comma with the next key. *p is NULL on a fault, *is_over when no container is open. */
static void after_value(struct buf *open, const char **p, const char *end, struct vdb_fault *fault)
{
    while (open->len != 0) {
        char close = (char)open->data[open->len - 1];
        *p = vdb_skip_space(*p, end);
        if (*p < end && **p == close) {
            open->len--;
            ++*p;
            continue;
        }
        if (*p == end || **p != ',') {
            *p = vdb_scan_fault(fault, *p, close == '}' ? "',' or '}'" : "',' or ']'");
        } else {
            *p = close == '}' ? skip_key(*p + 1, end, fault) : vdb_skip_space(*p + 1, end);
        }
        return;
    }
}

grebe_status vdb_skip_value(const grebe_allocator *a, const struct vdb_text *text, const char *p, const char **after,
                            grebe_error *err)
{
    struct buf open = BUF_INIT(a); /* closing brackets that are due */
    struct vdb_fault fault;
    const char *const end = text->end;
    grebe_status st = GREBE_OK;
    do {
        char close = p == end || (*p != '{' && *p != '[') ? '\0' : *p == '{' ? '}' : ']';
        if (close == '\0') {
            p = skip_scalar(p, end, &fault);
        } else {
            GREBE_TRY(buf_put_byte(&open, (uint8_t)close, err));
            p = vdb_skip_space(p + 1, end);
            if (p == end || *p != close) {
                p = close == '}' ? skip_key(p, end, &fault) : p;
                if (p != NULL) {
                    continue;
                }
            }
        }
        if (p != NULL) {
            after_value(&open, &p, end, &fault);
        }
    } while (p != NULL && open.len != 0);
    st = p != NULL ? GREBE_OK : vdb_fault_fail(&fault, text, err);
    *after = p;
out:
    buf_release(&open);
    return st;
}
