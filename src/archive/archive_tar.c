/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tar: 512-byte headers (POSIX.1-1988 ustar), pax records (POSIX.1-2001) and GNU's long names. Archives without the end
 * mark of two empty blocks are taken, too, when they end between members.
 */
#include <string.h>

#include "archive/archive_internal.h"
#include "base/checked.h"
#include "base/error.h"

enum { BLOCK = 512, NAME_LEN = 100, PREFIX_LEN = 155, LONG_NAME_MAX = 1 << 16 };

/* Octal digits, or with the top bit set a number of 8 bits a byte (GNU); false: neither. */
static bool read_number(const unsigned char *p, size_t len, uint64_t *out)
{
    uint64_t v = 0;
    size_t i = 0;
    if ((p[0] & 0x80) != 0) {
        v = p[0] & 0x7f;
        for (i = 1; i < len; i++) {
            if (v >> 55 != 0) {
                return false;
            }
            v = v << 8 | p[i];
        }
        *out = v;
        return (p[0] & 0x40) == 0; /* no negative sizes */
    }
    while (i < len && p[i] == ' ') {
        i++;
    }
    for (; i < len && p[i] >= '0' && p[i] <= '7'; i++) {
        if (v >> 60 != 0) {
            return false;
        }
        v = v << 3 | (uint64_t)(p[i] - '0');
    }
    *out = v;
    return i == len || p[i] == ' ' || p[i] == '\0';
}

/* The sum of the header's bytes, its own field counted as blanks. */
static bool is_sum_right(const unsigned char *h)
{
    uint64_t stored = 0, sum = 0;
    int64_t signed_sum = 0; /* some old programs added signed bytes */
    for (size_t i = 0; i < BLOCK; i++) {
        unsigned char c = i >= 148 && i < 156 ? ' ' : h[i];
        sum += c;
        signed_sum += (signed char)c;
    }
    return read_number(h + 148, 8, &stored) && (stored == sum || (int64_t)stored == signed_sum);
}

static bool is_zero(const unsigned char *h)
{
    for (size_t i = 0; i < BLOCK; i++) {
        if (h[i] != 0) {
            return false;
        }
    }
    return true;
}

bool archive_is_tar(const unsigned char *head, size_t len)
{
    return len >= BLOCK && !is_zero(head) && is_sum_right(head);
}

/* What extension records say of the member behind them. */
struct extension {
    const char *name; /* NULL: none */
    size_t name_len;
    bool has_size, is_sparse;
    uint64_t size;
};

static size_t text_len(const unsigned char *p, size_t max)
{
    const unsigned char *end = memchr(p, '\0', max);
    return end != NULL ? (size_t)(end - p) : max;
}

/* "LEN KEY=VALUE\n", LEN of the whole record. */
static bool read_pax(const char *p, size_t len, struct extension *x)
{
    while (len > 0) {
        size_t n = 0, i = 0;
        for (; i < len && i < 10 && p[i] >= '0' && p[i] <= '9'; i++) {
            n = n * 10 + (size_t)(p[i] - '0');
        }
        if (i == 0 || i >= len || p[i] != ' ' || n <= i + 2 || n > len || p[n - 1] != '\n') {
            return false;
        }
        const char *key = p + i + 1, *end = p + n - 1, *equals = memchr(key, '=', (size_t)(end - key));
        if (equals == NULL) {
            return false;
        }
        size_t key_len = (size_t)(equals - key), value_len = (size_t)(end - equals - 1);
        if (key_len == 4 && memcmp(key, "path", 4) == 0) {
            x->name = equals + 1;
            x->name_len = value_len;
        } else if (key_len == 4 && memcmp(key, "size", 4) == 0) {
            x->size = 0;
            x->has_size = value_len > 0 && value_len < 20;
            for (const char *d = equals + 1; d < end; d++) {
                if (*d < '0' || *d > '9') {
                    return false;
                }
                x->size = x->size * 10 + (uint64_t)(*d - '0');
            }
        } else if (key_len > 11 && memcmp(key, "GNU.sparse.", 11) == 0) {
            x->is_sparse = true;
        }
        p += n;
        len -= n;
    }
    return true;
}

static grebe_status fail_at(uint64_t at, const char *expected, grebe_error *err)
{
    return error_at(err, GREBE_FAIL(err, GREBE_ECORRUPT, "tar, byte %llu: expected %s", (unsigned long long)at, expected),
                    at);
}

static grebe_status add_member(struct archive_list *list, const unsigned char *h, uint64_t at, uint64_t size,
                               const struct extension *x, grebe_error *err)
{
    char name[NAME_LEN + PREFIX_LEN + 2];
    size_t len = text_len(h, NAME_LEN), prefix = 0;
    const bool is_ustar = memcmp(h + 257, "ustar\0", 6) == 0; /* GNU's "ustar  " has other things there */
    const char type = (char)h[156];
    struct archive_member m = { .size = size, .stored = size, .at = at };
    if (is_ustar && h[345] != 0) {
        prefix = text_len(h + 345, PREFIX_LEN);
        memcpy(name, h + 345, prefix);
        name[prefix++] = '/';
    }
    memcpy(name + prefix, h, len);
    const char *text = x->name != NULL ? x->name : name;
    len = x->name != NULL ? x->name_len : prefix + len;
    m.is_folder = type == '5' || (len > 0 && text[len - 1] == '/');
    m.is_other = x->is_sparse || !(type == '0' || type == '\0' || type == '7' || type == '5') ||
                 memchr(text, '\0', len) != NULL;
    return archive_add(list, &m, text, len, err);
}

/* Content of a header that speaks of the next one. */
static grebe_status read_extension(const struct region *r, char type, uint64_t at, uint64_t size, struct extension *x,
                                   grebe_error *err)
{
    const unsigned char *p = r->data + at;
    if (type == 'L') {
        if (size > LONG_NAME_MAX) {
            return GREBE_FAIL(err, GREBE_ELIMIT, "tar: expected a name of at most %d bytes, found %llu", LONG_NAME_MAX,
                              (unsigned long long)size);
        }
        x->name = (const char *)p;
        x->name_len = text_len(p, (size_t)size);
    } else if (type == 'x' && !read_pax((const char *)p, (size_t)size, x)) {
        return fail_at(at, "pax records", err);
    }
    return x->name_len <= LONG_NAME_MAX ? GREBE_OK : GREBE_FAIL(err, GREBE_ELIMIT, "tar: a name is too long");
}

grebe_status tar_list(struct archive_list *list, grebe_error *err)
{
    const struct region *r = list->z->base.region;
    struct extension x = { 0 };
    grebe_status st = GREBE_OK;
    uint64_t at = 0, size = 0;
    while (at < r->len && st == GREBE_OK) {
        const unsigned char *h = r->data + at;
        if (r->len - at < BLOCK) {
            return fail_at(at, "a header of 512 bytes, found the end", err);
        }
        if (is_zero(h)) {
            return GREBE_OK; /* the end mark */
        }
        if (!is_sum_right(h) || !read_number(h + 124, 12, &size)) {
            return fail_at(at, "a header whose checksum fits", err);
        }
        const char type = (char)h[156];
        const bool is_extension = type == 'x' || type == 'g' || type == 'L' || type == 'K';
        size = !is_extension && x.has_size ? x.size : size;
        at += BLOCK;
        if (type >= '1' && type <= '6') { /* links, devices, folders have no content whatever they say */
            size = type == '1' && x.has_size ? size : 0;
        }
        if (size > r->len - at) {
            return fail_at(at, "the content of a member, found the end", err);
        }
        if (is_extension) {
            st = read_extension(r, type, at, size, &x, err);
        } else {
            st = add_member(list, h, at, size, &x, err);
            x = (struct extension){ 0 };
        }
        at += min_u64((size + BLOCK - 1) / BLOCK * BLOCK, r->len - at);
    }
    return st;
}
