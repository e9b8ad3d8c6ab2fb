/* SPDX-License-Identifier: Apache-2.0 */
/* Files of torch that hold one tensor, and members of npz archives, as sources of rows (docs/format/arrays.md). */
#include <stdio.h>
#include <string.h>

#include "archive/archive.h"
#include "array/tensor_internal.h"
#include "array/tensor_rows.h"
#include "base/checked.h"
#include "base/endian.h"
#include "base/text_distance.h"

/* The name of the first member of a zip archive, as far as it is in the head; 0: no zip, or an empty one. */
static size_t first_name(const unsigned char *head, size_t len, const char **name)
{
    enum { NAME_LEN_AT = 26, NAME_AT = 30 }; /* of a local file header: APPNOTE.TXT 4.3.7 */
    *name = (const char *)head + NAME_AT;
    return len > NAME_AT && archive_is_zip(head, len) ? min_size(load_le16(head + NAME_LEN_AT), len - NAME_AT) : 0;
}

static bool ends_with(const char *name, size_t len, const char *end)
{
    const size_t n = strlen(end);
    return len >= n && memcmp(name + len - n, end, n) == 0;
}

/* ---- torch ---- */

static bool torch_sniff(const unsigned char *head, size_t head_len, const unsigned char *tail, size_t tail_len)
{
    const char *name;
    const size_t len = first_name(head, head_len, &name);
    (void)tail;
    (void)tail_len;
    return ends_with(name, len, "/data.pkl");
}

static grebe_status torch_format_open(struct io_store *store, const char *path, const struct file_hints *hints,
                                      struct format_reader **out, grebe_error *err)
{
    struct tensor t;
    struct io_info info;
    (void)hints;
    *out = NULL;
    grebe_status st = io_stat(store, path, &info, err);
    st = st == GREBE_OK ? tensor_open(store->ctx, path, &t, err) : st;
    if (st == GREBE_OK) {
        st = error_wrap(err, tensor_reader_new(store->ctx, &torch_format, &t, info.id.size_bytes, out, err), "%s", path);
        tensor_release(&t);
    }
    return st;
}

/* ---- npz ---- */

static bool npz_sniff(const unsigned char *head, size_t head_len, const unsigned char *tail, size_t tail_len)
{
    const char *name;
    const size_t len = first_name(head, head_len, &name);
    (void)tail;
    (void)tail_len;
    return ends_with(name, len, ".npy");
}

/* Whether a member is the array `name`: with or without ".npy", as numpy has it. */
static bool is_array(const char *member, const char *name)
{
    const size_t n = strlen(name);
    return strncmp(member, name, n) == 0 && (member[n] == '\0' || strcmp(member + n, ".npy") == 0);
}

static void name_of(const struct archive_member *m, char *dst, size_t room)
{
    const size_t n = strlen(m->name);
    snprintf(dst, room, "%.*s", (int)min_size(ends_with(m->name, n, ".npy") ? n - 4 : n, room - 1), m->name);
}

/* What there is, and which of it may have been meant. */
static grebe_status no_member(const struct archive *z, const char *path, const char *name, grebe_error *err)
{
    char names[240] = "", nearest[100] = "", quoted[100];
    size_t len = 0, best = SIZE_MAX;
    for (size_t i = 0; i < z->n; i++) {
        char here[100];
        name_of(&z->members[i], here, sizeof here);
        const size_t d = name == NULL ? 0 : text_distance(name, here);
        if (d < best) {
            best = d;
            memcpy(nearest, here, sizeof nearest);
        }
        if (len + strlen(here) + 3 < sizeof names) {
            len += (size_t)snprintf(names + len, sizeof names - len, "%s%s", i == 0 ? "" : ", ", here);
        }
    }
    if (name == NULL) {
        return GREBE_FAIL(err, GREBE_EINVAL, "%s: expected %s#NAME, where NAME is one of %s", path, path, names);
    }
    const bool is_near = best <= strlen(name) / 2;
    return GREBE_FAIL(err, GREBE_ENOTFOUND, "%s: there is no array \"%s\"%s%s; there are: %s", path,
                      error_quote(quoted, sizeof quoted, name, strlen(name)), is_near ? ": did you mean " : "",
                      is_near ? nearest : "", names);
}

/* The array of that name; NULL: the only one. */
static grebe_status open_member(const struct archive *z, const char *path, const char *name,
                                struct tensor *out, grebe_error *err)
{
    enum { RATIO_MAX = 1032, SLACK = 1 << 16 }; /* deflate makes at most 1032 bytes of one */
    struct region *bytes = NULL;
    uint64_t limit = 0;
    size_t i = 0;
    while (i < z->n && (name == NULL ? z->n > 1 : !is_array(z->members[i].name, name))) {
        i++;
    }
    if (i == z->n) {
        return no_member(z, path, name, err);
    }
    if (!checked_mul_u64(z->members[i].stored, RATIO_MAX, &limit) || !checked_add_u64(limit, SLACK, &limit)) {
        limit = UINT64_MAX;
    }
    grebe_status st = archive_read(z, i, limit, &bytes, err);
    st = st == GREBE_OK ? tensor_of_npy(path, bytes, out, err) : st;
    region_drop(bytes);
    return error_wrap(err, st, "%s", z->members[i].name);
}

static grebe_status npz_format_open(struct io_store *store, const char *path, const struct file_hints *hints,
                                    struct format_reader **out, grebe_error *err)
{
    grebe_context *ctx = store->ctx;
    grebe_status st = GREBE_OK;
    struct io_info info;
    struct region *r = NULL;
    struct archive *z = NULL;
    struct tensor t = { 0 };
    const char *hash = NULL;
    (void)hints;
    *out = NULL;
    if (io_stat(store, path, &info, NULL) != GREBE_OK) { /* a name with '#' in it is a name first */
        hash = strrchr(path, '#');
    }
    char *file = str_copy_len(ctx->a, path, hash == NULL ? strlen(path) : (size_t)(hash - path));
    if (file == NULL) {
        return mem_fail(err, strlen(path), path);
    }
    GREBE_TRY(tensor_map_file(ctx, file, &r, err));
    st = archive_is_zip(r->data, r->len) ? archive_open(ctx->a, r, &z, err)
                                         : GREBE_FAIL(err, GREBE_ECORRUPT, "expected a zip archive, found other content");
    if (st != GREBE_OK) {
        st = error_wrap(err, st, "%s", file);
        goto out;
    }
    GREBE_TRY(open_member(z, file, hash == NULL ? NULL : hash + 1, &t, err));
    st = error_wrap(err, tensor_reader_new(ctx, &npz_format, &t, r->len, out, err), "%s", path);
out:
    tensor_release(&t);
    archive_free(z);
    region_drop(r);
    str_free(ctx->a, file);
    return st;
}

static const char *const torch_extensions[] = { "pt", "pth", NULL };
static const char *const npz_extensions[] = { "npz", NULL };

const struct file_format torch_format = {
    .name = "torch",
    .extensions = torch_extensions,
    .sniff = torch_sniff,
    .open = torch_format_open,
};

const struct file_format npz_format = {
    .name = "npz",
    .extensions = npz_extensions,
    .sniff = npz_sniff,
    .open = npz_format_open,
};
