/* SPDX-License-Identifier: Apache-2.0 */
/* What a file is: by its signature, its name and its size; and what it could be when these do not fit. */
#include <stdio.h>
#include <string.h>

#include "array/array_internal.h"
#include "base/checked.h"
#include "base/endian.h"

enum { HEAD_BYTES = 32, RAGGED_STEPS = 1 << 20 };

/* All that a file can be, in the order in which it is guessed. */
static const struct {
    enum array_kind kind;
    enum array_type type;
} guesses[] = { { ARRAY_FVECS, ARRAY_F32 }, { ARRAY_IVECS, ARRAY_I32 }, { ARRAY_BVECS, ARRAY_U8 },
                { ARRAY_BIN, ARRAY_F32 },   { ARRAY_BIN, ARRAY_U8 },    { ARRAY_BIN, ARRAY_F16 },
                { ARRAY_KNN, ARRAY_I32 },   { ARRAY_CSR, ARRAY_F32 },   { ARRAY_MULTI, ARRAY_F32 },
                { ARRAY_RANGE, ARRAY_I32 } };

static const char *vecs_or_bin(enum array_kind kind, enum array_type type, size_t bytes)
{
    return kind == ARRAY_BIN && bytes == 4   ? "fbin or ibin"
           : kind == ARRAY_BIN && bytes == 1 ? "u8bin or i8bin"
           : kind == ARRAY_FVECS             ? "fvecs or ivecs"
                                             : array_kind_name(kind, type);
}

/* "fits fvecs (1000 x 128)", or "" when it fits nothing. dst: shape [n]. */
static void guess(struct array_file *f, const unsigned char *head, size_t n_head, enum array_kind not_kind, char *dst,
                  size_t n)
{
    size_t len = 0;
    dst[0] = '\0';
    for (size_t i = 0; i < sizeof guesses / sizeof guesses[0] && len < n - 1; i++) {
        if (guesses[i].kind == ARRAY_IVECS || guesses[i].kind == not_kind ||
            !array_fits(f, head, n_head, guesses[i].kind, guesses[i].type)) {
            continue;
        }
        len += (size_t)snprintf(dst + len, n - len, "%s %s (%llu x %llu)", len == 0 ? "; it fits" : ",",
                                vecs_or_bin(guesses[i].kind, guesses[i].type, array_type_bytes(guesses[i].type)),
                                (unsigned long long)f->info.rows, (unsigned long long)f->info.columns);
    }
}

/* The first record that has another length than the first. */
static grebe_status ragged(struct array_file *f, const unsigned char *head, size_t n_head, enum array_kind kind,
                           enum array_type type, grebe_error *err)
{
    char other[160];
    uint64_t size = f->bytes->id.size_bytes, at = 0, i = 0;
    uint32_t first = n_head < 4 ? 0 : load_le32(head), d = first;
    const char *name = array_kind_name(kind, type), *path = f->bytes->path;
    guess(f, head, n_head, kind, other, sizeof other);
    if (first == 0 || first > ARRAY_COLUMNS_MAX) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "%s: %s: expected a length from 1 to %d first, found %lld%s", path, name,
                          ARRAY_COLUMNS_MAX, (long long)(int32_t)first, other);
    }
    for (; i < RAGGED_STEPS && at < size && other[0] == '\0'; i++) {
        unsigned char length[4];
        uint64_t bytes = 4 + (uint64_t)first * array_type_bytes(type);
        if (!range_fits_u64(at, 4, size) || io_read(f->bytes, at, length, 4, NULL) != GREBE_OK) {
            break;
        }
        d = load_le32(length);
        if (d != first) {
            return GREBE_FAIL(err, GREBE_ECORRUPT, "%s: %s: vector %llu: expected %u components, found %lld", path, name,
                              (unsigned long long)i, first, (long long)(int32_t)d);
        }
        if (!range_fits_u64(at, bytes, size)) {
            break;
        }
        at += bytes;
    }
    return GREBE_FAIL(err, GREBE_ECORRUPT, "%s: %s: expected records of %llu bytes (%u components), found %llu bytes in all%s",
                      path, name, (unsigned long long)(4 + (uint64_t)first * array_type_bytes(type)), first,
                      (unsigned long long)size, other);
}

static grebe_status does_not_fit(struct array_file *f, const unsigned char *head, size_t n_head, enum array_kind kind,
                                 enum array_type type, grebe_error *err)
{
    char other[160];
    uint64_t size = f->bytes->id.size_bytes;
    const char *path = f->bytes->path;
    if (kind == ARRAY_FVECS || kind == ARRAY_IVECS || kind == ARRAY_BVECS) {
        return ragged(f, head, n_head, kind, type, err);
    }
    guess(f, head, n_head, kind, other, sizeof other);
    if (n_head < 8) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "%s: %s: expected a header, found %llu bytes", path,
                          array_kind_name(kind, type), (unsigned long long)size);
    }
    if (kind == ARRAY_BIN || kind == ARRAY_KNN) {
        size_t bytes = kind == ARRAY_KNN ? 8 : array_type_bytes(type);
        double expected = 8 + (double)load_le32(head) * (double)load_le32(head + 4) * (double)bytes;
        return GREBE_FAIL(err, GREBE_ECORRUPT, "%s: %s: expected %.0f bytes for %u x %u %s, found %llu%s", path,
                          array_kind_name(kind, type), expected, load_le32(head), load_le32(head + 4),
                          kind == ARRAY_KNN ? "ids and distances" : array_type_name(type), (unsigned long long)size, other);
    }
    return GREBE_FAIL(err, GREBE_ECORRUPT, "%s: %s: its header does not fit %llu bytes%s", path,
                      array_kind_name(kind, type), (unsigned long long)size, other);
}

/* A name that does not tell: the kind whose size equation holds, if there is one alone. */
static grebe_status find_kind(struct array_file *f, const unsigned char *head, size_t n_head, grebe_error *err)
{
    struct array_file found = *f;
    size_t n = 0;
    char other[160];
    for (size_t i = 0; i < sizeof guesses / sizeof guesses[0]; i++) {
        struct array_file one = *f;
        if (guesses[i].kind != ARRAY_IVECS && array_fits(&one, head, n_head, guesses[i].kind, guesses[i].type)) {
            found = one;
            n++;
        }
    }
    bool is_typed = n == 1 && (found.info.kind == ARRAY_KNN || found.info.kind == ARRAY_CSR ||
                               found.info.kind == ARRAY_MULTI || found.info.kind == ARRAY_RANGE);
    if (is_typed) {
        *f = found;
        return GREBE_OK;
    }
    guess(f, head, n_head, ARRAY_UNKNOWN, other, sizeof other);
    return GREBE_FAIL(err, GREBE_EUNSUPPORTED,
                      "%s: expected a name that tells the type (.npy, .fvecs, .ivecs, .bvecs, .fbin, .u8bin, .i8bin, .ibin, "
                      ".csr, …)%s", f->bytes->path, other);
}

static grebe_status look(struct array_file *f, enum array_kind kind, grebe_error *err)
{
    unsigned char head[HEAD_BYTES] = { 0 };
    enum array_kind named = ARRAY_UNKNOWN;
    enum array_type type = ARRAY_F32;
    size_t n_head = (size_t)min_u64(sizeof head, f->bytes->id.size_bytes);
    grebe_status st = io_read(f->bytes, 0, head, n_head, err);
    if (st != GREBE_OK) {
        return st;
    }
    if ((kind == ARRAY_UNKNOWN || kind == ARRAY_NPY) && array_is_npy(head, n_head)) {
        return array_npy_open(f, err);
    }
    bool is_named = array_kind_of_name(f->bytes->path, &named, &type);
    if (kind != ARRAY_UNKNOWN && !(is_named && named == kind)) {
        named = kind;
        type = kind == ARRAY_BVECS ? ARRAY_U8 : kind == ARRAY_IVECS || kind == ARRAY_KNN ? ARRAY_I32 : ARRAY_F32;
    }
    if (named == ARRAY_NPY) {
        char shown[32];
        return GREBE_FAIL(err, GREBE_ECORRUPT, "%s: npy: expected \\x93NUMPY first, found %s", f->bytes->path,
                          error_quote(shown, sizeof shown, head, n_head < 6 ? n_head : 6));
    }
    if (named == ARRAY_UNKNOWN) {
        return find_kind(f, head, n_head, err);
    }
    if (array_fits(f, head, n_head, named, type)) {
        return GREBE_OK;
    }
    /* ids with distances are often named as ids alone; their size tells */
    if (named == ARRAY_BIN && type == ARRAY_I32 && array_fits(f, head, n_head, ARRAY_KNN, type)) {
        return GREBE_OK;
    }
    return does_not_fit(f, head, n_head, named, type, err);
}

/* Offsets of csr end where they should; counts of multi and range add up. */
static grebe_status check_inside(struct array_file *f, grebe_error *err)
{
    unsigned char b[8];
    uint32_t counts[1024];
    uint64_t sum = 0;
    grebe_status st = GREBE_OK;
    if (f->info.kind == ARRAY_CSR) {
        for (int i = 0; i < 2; i++) {
            uint64_t expected = i == 0 ? 0 : f->info.n_values;
            st = io_read(f->bytes, f->offset + (i == 0 ? 0 : 8 * f->info.rows), b, sizeof b, err);
            if (st != GREBE_OK) {
                return st;
            }
            if (load_le64(b) != expected) {
                return GREBE_FAIL(err, GREBE_ECORRUPT, "%s: csr: expected the offset %llu at row %llu, found %llu",
                                  f->bytes->path, (unsigned long long)expected,
                                  (unsigned long long)(i == 0 ? 0 : f->info.rows), (unsigned long long)load_le64(b));
            }
        }
        return GREBE_OK;
    }
    for (uint64_t at = 0; at < f->info.rows; at += 1024) {
        uint64_t n = min_u64(1024, f->info.rows - at);
        st = array_read_counts(f, at, n, counts, err);
        for (uint64_t i = 0; i < n && st == GREBE_OK; i++) {
            sum += counts[i]; /* 2^32 counts of 2^32 at most */
        }
        if (st != GREBE_OK) {
            return st;
        }
    }
    if (sum != f->info.n_values) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "%s: %s: expected counts that sum to %llu, found %llu", f->bytes->path,
                          array_kind_name(f->info.kind, f->info.type), (unsigned long long)f->info.n_values,
                          (unsigned long long)sum);
    }
    return GREBE_OK;
}

grebe_status array_open(grebe_context *ctx, const char *path, enum array_kind kind, struct array_file **out,
                        grebe_error *err)
{
    struct io_store *store = NULL;
    *out = NULL;
    grebe_status st = io_local_new(ctx, &store, err);
    if (st == GREBE_OK) {
        st = array_open_in(store, path, kind, out, err);
    }
    if (st == GREBE_OK) {
        (*out)->store = store;
        store = NULL;
    }
    io_store_free(store);
    return st;
}

grebe_status array_open_in(struct io_store *store, const char *path, enum array_kind kind, struct array_file **out,
                           grebe_error *err)
{
    grebe_status st = GREBE_OK;
    grebe_context *ctx = store->ctx;
    *out = NULL;
    struct array_file *f = mem_alloc_zero(ctx->a, sizeof *f);
    if (f == NULL) {
        return mem_fail(err, sizeof *f, path);
    }
    f->ctx = ctx;
    GREBE_TRY(io_open_shared(store, path, &f->shared, err));
    f->bytes = f->shared->file;
    GREBE_TRY(look(f, kind, err));
    if (f->info.kind == ARRAY_CSR || f->info.kind == ARRAY_MULTI || f->info.kind == ARRAY_RANGE) {
        GREBE_TRY(check_inside(f, err));
    }
    *out = f;
    f = NULL;
out:
    array_close(f);
    return st;
}

void array_close(struct array_file *f)
{
    if (f != NULL) {
        io_shared_drop(f->shared);
        io_store_free(f->store);
        mem_free(f->ctx->a, f, sizeof *f);
    }
}

const struct array_info *array_info(const struct array_file *f) { return &f->info; }

const struct region *array_map(const struct array_file *f, const unsigned char **row_0)
{
    bool is_plain = f->row_head == 0 && !f->is_big_endian && !f->is_by_column &&
                    (f->info.kind == ARRAY_NPY || f->info.kind == ARRAY_BIN);
    *row_0 = is_plain && f->shared->map != NULL ? f->shared->map->data + f->offset : NULL;
    return *row_0 != NULL ? f->shared->map : NULL;
}
