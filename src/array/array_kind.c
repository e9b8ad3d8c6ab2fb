/* SPDX-License-Identifier: Apache-2.0 */
/* Names of types and kinds, and the size equation by which each kind is known (docs/format/arrays.md). */
#include <string.h>

#include "array/array_internal.h"
#include "base/ascii.h"
#include "base/checked.h"
#include "base/endian.h"

static const struct {
    const char *name;
    size_t bytes;
} types[] = { [ARRAY_F32] = { "float32", 4 }, [ARRAY_F16] = { "float16", 2 },   [ARRAY_BF16] = { "bfloat16", 2 },
              [ARRAY_F64] = { "float64", 8 }, [ARRAY_I8] = { "int8", 1 },       [ARRAY_U8] = { "uint8", 1 },
              [ARRAY_I16] = { "int16", 2 },   [ARRAY_U16] = { "uint16", 2 },    [ARRAY_I32] = { "int32", 4 },
              [ARRAY_U32] = { "uint32", 4 },  [ARRAY_I64] = { "int64", 8 },     [ARRAY_U64] = { "uint64", 8 },
              [ARRAY_BOOL] = { "bool", 1 } };

enum { N_TYPES = sizeof types / sizeof types[0] };

size_t array_type_bytes(enum array_type t) { return (size_t)t < N_TYPES ? types[t].bytes : 0; }

const char *array_type_name(enum array_type t) { return (size_t)t < N_TYPES ? types[t].name : NULL; }

/* The first name of a kind and type is the one that is printed. */
static const struct ending {
    const char *ending;
    enum array_kind kind;
    enum array_type type;
} endings[] = { { "npy", ARRAY_NPY, ARRAY_F32 },       { "fvecs", ARRAY_FVECS, ARRAY_F32 },
                { "ivecs", ARRAY_IVECS, ARRAY_I32 },   { "bvecs", ARRAY_BVECS, ARRAY_U8 },
                { "fbin", ARRAY_BIN, ARRAY_F32 },      { "f32bin", ARRAY_BIN, ARRAY_F32 },
                { "u8bin", ARRAY_BIN, ARRAY_U8 },      { "bbin", ARRAY_BIN, ARRAY_U8 },
                { "i8bin", ARRAY_BIN, ARRAY_I8 },      { "ibin", ARRAY_BIN, ARRAY_I32 },
                { "i32bin", ARRAY_BIN, ARRAY_I32 },    { "f16bin", ARRAY_BIN, ARRAY_F16 },
                { "hbin", ARRAY_BIN, ARRAY_F16 },      { "dbin", ARRAY_BIN, ARRAY_F64 },
                { "f64bin", ARRAY_BIN, ARRAY_F64 },    { "u32bin", ARRAY_BIN, ARRAY_U32 },
                { "i64bin", ARRAY_BIN, ARRAY_I64 },    { "u64bin", ARRAY_BIN, ARRAY_U64 },
                { "csr", ARRAY_CSR, ARRAY_F32 },       { "spmat", ARRAY_CSR, ARRAY_F32 },
                { "rangeres", ARRAY_RANGE, ARRAY_F32 }, { "gt", ARRAY_KNN, ARRAY_I32 },
                { "knn", ARRAY_KNN, ARRAY_I32 },       { "multi", ARRAY_MULTI, ARRAY_F32 } };

enum { N_ENDINGS = sizeof endings / sizeof endings[0] };

const char *array_kind_name(enum array_kind kind, enum array_type type)
{
    for (size_t i = 0; i < N_ENDINGS; i++) {
        if (endings[i].kind == kind && (kind != ARRAY_BIN || endings[i].type == type)) {
            return endings[i].kind == ARRAY_KNN ? "knn result" : endings[i].ending;
        }
    }
    return "bin";
}

bool array_kind_of_name(const char *path, enum array_kind *kind, enum array_type *type)
{
    const char *dot = strrchr(path_base_name(path), '.');
    for (size_t i = 0; dot != NULL && i < N_ENDINGS; i++) {
        if (ascii_equal(dot + 1, endings[i].ending)) {
            *kind = endings[i].kind;
            *type = endings[i].type;
            return true;
        }
    }
    return false;
}

bool array_is_npy(const unsigned char *head, size_t n) { return n >= 6 && memcmp(head, "\x93NUMPY", 6) == 0; }

static bool set(struct array_file *f, enum array_kind kind, enum array_type type, uint64_t rows, uint64_t columns,
                uint64_t offset)
{
    f->info = (struct array_info){ kind, type, rows, columns, 2, 0 };
    f->offset = offset;
    f->row_head = 0;
    return true;
}

/* base + rows * columns * size == the file's size, in numbers that cannot wrap. */
static bool equals(uint64_t base, uint64_t rows, uint64_t columns, uint64_t size, uint64_t file_bytes)
{
    uint64_t n = 0;
    return checked_mul_u64(rows, columns, &n) && checked_mul_u64(n, size, &n) && checked_add_u64(n, base, &n) &&
           n == file_bytes;
}

/* Columns that a row of vectors can have: without rows any number would fit. */
static bool is_width(uint64_t columns) { return columns > 0 && columns <= ARRAY_COLUMNS_MAX; }

static bool fits_vecs(struct array_file *f, const unsigned char *head, size_t n_head, enum array_kind kind,
                      enum array_type type)
{
    uint64_t size = f->bytes->id.size_bytes;
    uint32_t d = n_head < 4 ? 0 : load_le32(head);
    uint64_t record = 4 + (uint64_t)d * array_type_bytes(type);
    unsigned char last[4];
    if (d == 0 || d > ARRAY_COLUMNS_MAX || size % record != 0 ||
        io_read(f->bytes, size - record, last, sizeof last, NULL) != GREBE_OK || load_le32(last) != d) {
        return false;
    }
    set(f, kind, type, size / record, d, 4);
    f->row_head = 4;
    return true;
}

/* Eight bytes of header, or sixteen (files of more than 2^32 rows, cuVS). */
static bool fits_bin(struct array_file *f, const unsigned char *head, size_t n_head, enum array_type type)
{
    uint64_t size = f->bytes->id.size_bytes, bytes = array_type_bytes(type);
    if (n_head >= 8 && is_width(load_le32(head + 4)) && equals(8, load_le32(head), load_le32(head + 4), bytes, size)) {
        return set(f, ARRAY_BIN, type, load_le32(head), load_le32(head + 4), 8);
    }
    return n_head >= 16 && is_width(load_le64(head + 8)) && equals(16, load_le64(head), load_le64(head + 8), bytes, size) &&
           set(f, ARRAY_BIN, type, load_le64(head), load_le64(head + 8), 16);
}

static bool fits_csr(struct array_file *f, const unsigned char *head, size_t n_head)
{
    uint64_t size = f->bytes->id.size_bytes, bytes = 0, values = 0;
    uint64_t n = n_head < 24 ? 0 : load_le64(head), terms = n_head < 24 ? 0 : load_le64(head + 8);
    uint64_t nnz = n_head < 24 ? 0 : load_le64(head + 16);
    if (n_head < 24 || n >= INT64_MAX || terms > (uint64_t)UINT32_MAX + 1 || !checked_mul_u64(n + 1, 8, &bytes) ||
        !checked_mul_u64(nnz, 8, &values) || !checked_add_u64(bytes, values, &bytes) || bytes != size - 24) {
        return false;
    }
    set(f, ARRAY_CSR, ARRAY_F32, n, terms, 24);
    f->info.n_values = nnz;
    f->n_terms = terms;
    return true;
}

static bool fits_multi(struct array_file *f, const unsigned char *head, size_t n_head)
{
    uint64_t size = f->bytes->id.size_bytes;
    if (n_head < 12) {
        return false;
    }
    uint64_t n = load_le32(head), dim = load_le32(head + 4), total = load_le32(head + 8);
    if (n == 0 || dim == 0 || dim > ARRAY_COLUMNS_MAX || !equals(12 + 4 * n, total, dim, 4, size)) {
        return false;
    }
    set(f, ARRAY_MULTI, ARRAY_F32, n, dim, 12);
    f->info.n_values = total;
    return true;
}

static bool fits_range(struct array_file *f, const unsigned char *head, size_t n_head)
{
    uint64_t size = f->bytes->id.size_bytes;
    if (n_head < 8 || !equals(8 + 4 * (uint64_t)load_le32(head), load_le32(head + 4), 1, 8, size)) {
        return false;
    }
    set(f, ARRAY_RANGE, ARRAY_I32, load_le32(head), 1, 8);
    f->info.n_values = load_le32(head + 4);
    return true;
}

bool array_fits(struct array_file *f, const unsigned char *head, size_t n_head, enum array_kind kind,
                enum array_type type)
{
    switch (kind) {
    case ARRAY_FVECS:
    case ARRAY_IVECS:
    case ARRAY_BVECS: return fits_vecs(f, head, n_head, kind, type);
    case ARRAY_BIN: return fits_bin(f, head, n_head, type);
    case ARRAY_KNN:
        return n_head >= 8 && is_width(load_le32(head + 4)) &&
               equals(8, load_le32(head), load_le32(head + 4), 8, f->bytes->id.size_bytes) &&
               set(f, ARRAY_KNN, ARRAY_I32, load_le32(head), load_le32(head + 4), 8);
    case ARRAY_CSR: return fits_csr(f, head, n_head);
    case ARRAY_MULTI: return fits_multi(f, head, n_head);
    case ARRAY_RANGE: return fits_range(f, head, n_head);
    default: return false;
    }
}
