/* SPDX-License-Identifier: Apache-2.0 */
#include "array/tensor_rows.h"

#include <string.h>

#include "base/checked.h"
#include "base/endian.h"

char tensor_arrow_format(int type)
{
    static const char formats[] = { [ARRAY_F32] = 'f', [ARRAY_F16] = 'e', [ARRAY_BF16] = 'f', [ARRAY_F64] = 'g',
                                    [ARRAY_I8] = 'c',  [ARRAY_U8] = 'C',  [ARRAY_I16] = 's',  [ARRAY_U16] = 'S',
                                    [ARRAY_I32] = 'i', [ARRAY_U32] = 'I', [ARRAY_I64] = 'l',  [ARRAY_U64] = 'L',
                                    [ARRAY_BOOL] = 'b' };
    return type >= 0 && (size_t)type < sizeof formats ? formats[type] : '\0';
}

uint64_t tensor_rows(const struct tensor *t) { return t->rank == 0 ? 1 : t->shape[0]; }

static uint64_t row_values(const struct tensor *t)
{
    uint64_t n = 1;
    for (unsigned i = 1; i < t->rank; i++) {
        n *= t->shape[i]; /* no overflow: of a tensor whose shape was checked */
    }
    return n;
}

grebe_status tensor_column(const struct tensor *t, const char *name, struct matrix_column *out, grebe_error *err)
{
    const bool is_list = t->rank > 1;
    const uint64_t width = row_values(t);
    const char format = tensor_arrow_format(t->type);
    const unsigned char *row_0 = t->is_packed && !t->is_big_endian && t->type != ARRAY_BF16 ? t->data : NULL;
    if (format == '\0') {
        return GREBE_FAIL(err, GREBE_EUNSUPPORTED, "rows of %s: there is no such column", tensor_type_name(t->type));
    }
    if (width > INT32_MAX) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "rows of %llu values, a list holds at most %d", (unsigned long long)width, INT32_MAX);
    }
    *out = (struct matrix_column){ name != NULL ? name : is_list ? "vector" : "value", format, is_list, width, row_0 };
    return GREBE_OK;
}

grebe_status tensor_read_rows(const struct tensor *t, uint64_t begin, uint64_t n, void *dst, grebe_error *err)
{
    const uint64_t n_values = n * row_values(t);
    unsigned char *bytes = dst;
    if (t->type != ARRAY_BF16) {
        return tensor_read(t, begin, n, dst, err);
    }
    /* the halves go to the end of dst, and are widened from the front: none is overwritten before it was read */
    unsigned char *halves = bytes + n_values * 2;
    grebe_status st = tensor_read(t, begin, n, halves, err);
    for (uint64_t i = 0; st == GREBE_OK && i < n_values; i++) {
        store_le32(bytes + 4 * i, (uint32_t)load_le16(halves + 2 * i) << 16);
    }
    return st;
}

/* ---- one tensor as a file ---- */

struct owned {
    const grebe_allocator *a;
    struct tensor t;
};

static grebe_status read_owned(void *file, size_t column, uint64_t begin, uint64_t n, void *dst, grebe_error *err)
{
    (void)column;
    return tensor_read_rows(&((struct owned *)file)->t, begin, n, dst, err);
}

static void close_owned(void *file)
{
    struct owned *o = file;
    tensor_release(&o->t);
    mem_free(o->a, o, sizeof *o);
}

grebe_status tensor_reader_new(grebe_context *ctx, const struct file_format *format, struct tensor *t, uint64_t file_size_bytes,
                               struct format_reader **out, grebe_error *err)
{
    *out = NULL;
    struct owned *o = mem_alloc_zero(ctx->a, sizeof *o);
    if (o == NULL) {
        return mem_fail(err, sizeof *o, "a tensor");
    }
    o->a = ctx->a;
    struct matrix m = { .n_columns = 1, .n_rows = tensor_rows(t), .map = t->region, .file_size_bytes = file_size_bytes,
                        .read = read_owned, .close = close_owned, .file = o };
    grebe_status st = tensor_column(t, NULL, &m.columns[0], err);
    st = st == GREBE_OK ? matrix_reader_new(ctx, format, &m, out, err) : st;
    if (st == GREBE_OK) {
        o->t = *t;
        memset(t, 0, sizeof *t);
    } else {
        mem_free(ctx->a, o, sizeof *o);
    }
    return st;
}
