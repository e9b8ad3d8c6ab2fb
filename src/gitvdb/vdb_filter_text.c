/* SPDX-License-Identifier: Apache-2.0 */
#include "gitvdb/vdb_filter_internal.h"

#include <string.h>

#include "base/error.h"
#include "base/number.h"
#include "gitvdb/vdb_scan.h"

/* Text that is not canonical after all gives a failure or a wrong value here, never a read outside of it. */

grebe_status vdb_payload_fail(grebe_error *err)
{
    return GREBE_FAIL(err, GREBE_ECORRUPT, "payload: expected a canonical JSON object");
}

/* At the closing quote of a string, p is behind the opening one; NULL: there is none. */
static inline const char *find_quote(const char *p, const char *end)
{
    bool has_high = false;
    while ((p = vdb_scan_plain(p, end, &has_high)) < end && *p != '"') {
        if (*p != '\\' || end - p < 2) {
            return NULL;
        }
        p += 2;
    }
    return p < end ? p : NULL;
}

/* Behind the array or object at p. */
static const char *skip_container(const char *p, const char *end)
{
    size_t depth = 0;
    while (p < end) {
        switch (*p) {
        case '"':
            p = find_quote(p + 1, end);
            if (p == NULL) {
                return NULL;
            }
            break;
        case '{':
        case '[': depth++; break;
        case '}':
        case ']':
            if (--depth == 0) {
                return p + 1;
            }
            break;
        default: break;
        }
        p++;
    }
    return NULL;
}

const char *vdb_skip_canonical(const char *p, const char *end)
{
    if (p == end) {
        return NULL;
    }
    if (*p == '"') {
        p = find_quote(p + 1, end);
        return p != NULL ? p + 1 : NULL;
    }
    if (*p == '{' || *p == '[') {
        return skip_container(p, end);
    }
    while (p < end && *p != ',' && *p != '}' && *p != ']') {
        p++;
    }
    return p;
}

/* The value of a key in the object at p; *out NULL: it has none. false: no canonical text. */
static bool find_key(const char *p, const char *end, const struct vdb_slice *key, const char **out)
{
    *out = NULL;
    p++;
    if (p < end && *p == '}') {
        return true;
    }
    for (;;) {
        const char *close = p < end && *p == '"' ? find_quote(p + 1, end) : NULL;
        if (close == NULL || end - close < 3 || close[1] != ':') {
            return false;
        }
        if ((size_t)(close - p - 1) == key->len && (key->len == 0 || memcmp(p + 1, key->p, key->len) == 0)) {
            *out = close + 2;
            return true;
        }
        p = vdb_skip_canonical(close + 2, end);
        if (p == NULL || p == end || (*p != ',' && *p != '}')) {
            return false;
        }
        if (*p++ == '}') {
            return true;
        }
    }
}

grebe_status vdb_find_path(const char *p, const char *end, const struct vdb_slice *path, size_t n, const char **out,
                           grebe_error *err)
{
    *out = NULL;
    if (p == end || *p != '{') {
        return vdb_payload_fail(err);
    }
    for (size_t i = 0; i < n; i++) {
        if (*p != '{') {
            return GREBE_OK;
        }
        const char *value = NULL;
        if (!find_key(p, end, &path[i], &value)) {
            return vdb_payload_fail(err);
        }
        if (value == NULL) {
            return GREBE_OK;
        }
        p = value;
    }
    *out = p;
    return GREBE_OK;
}

static bool read_number(const char *p, const char *end, double *out)
{
    enum { WHOLE_MAX = 15 };
    const char *begin = p + (*p == '-');
    uint64_t whole = 0;
    const char *behind = begin;
    while (behind < end && (unsigned)(*behind - '0') < 10 && behind - begin <= WHOLE_MAX) {
        whole = whole * 10 + (unsigned)(*behind++ - '0');
    }
    if (behind > begin && behind < end && (*behind == ',' || *behind == '}' || *behind == ']')) {
        *out = *p == '-' ? -(double)whole : (double)whole;
        return true;
    }
    /* Correct rounding, not the format's rule: what was printed for a double is nearest to that double, also where the
     * rule would read another one (unstable floats). */
    const char *close = vdb_skip_canonical(p, end);
    return close != NULL && number_parse_double(p, (size_t)(close - p), out);
}

grebe_status vdb_scalar_at(const char *p, const char *end, struct vdb_scalar *out, grebe_error *err)
{
    out->type = VDB_SCALAR_NONE;
    out->number = 0;
    switch (p < end ? *p : '\0') {
    case '{':
    case '[': return GREBE_OK;
    case 'n': out->type = VDB_SCALAR_NULL; return GREBE_OK;
    case 't':
    case 'f':
        out->type = VDB_SCALAR_BOOL;
        out->number = *p == 't';
        return GREBE_OK;
    case '"': {
        const char *close = find_quote(p + 1, end);
        if (close == NULL) {
            return vdb_payload_fail(err);
        }
        out->type = VDB_SCALAR_STRING;
        out->text.p = p + 1;
        out->text.len = (size_t)(close - p - 1);
        return GREBE_OK;
    }
    default:
        out->type = VDB_SCALAR_NUMBER;
        return p < end && (*p == '-' || (*p >= '0' && *p <= '9')) && read_number(p, end, &out->number)
                   ? GREBE_OK
                   : vdb_payload_fail(err);
    }
}

int vdb_scalar_compare(const struct vdb_scalar *a, const struct vdb_scalar *b)
{
    if (a->type != b->type) {
        return a->type < b->type ? -1 : 1;
    }
    if (a->type == VDB_SCALAR_STRING) {
        size_t n = a->text.len < b->text.len ? a->text.len : b->text.len;
        int order = n > 0 ? memcmp(a->text.p, b->text.p, n) : 0;
        return order != 0 ? order : (a->text.len > b->text.len) - (a->text.len < b->text.len);
    }
    return (a->number > b->number) - (a->number < b->number);
}
