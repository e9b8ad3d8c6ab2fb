/* SPDX-License-Identifier: Apache-2.0 */
#include "array/tensor.h"

#include <stdio.h>
#include <string.h>

#include "array/tensor_internal.h"
#include "base/checked.h"
#include "base/endian.h"

void tensor_release(struct tensor *t)
{
    region_drop(t->region);
    memset(t, 0, sizeof *t);
}

size_t tensor_type_bytes(int type)
{
    return type == TENSOR_C64 ? 8 : type == TENSOR_C128 ? 16 : array_type_bytes((enum array_type)type);
}

const char *tensor_type_name(int type)
{
    return type == TENSOR_C64 ? "complex64" : type == TENSOR_C128 ? "complex128" : array_type_name((enum array_type)type);
}

void tensor_strides(struct tensor *t, bool is_fortran)
{
    uint64_t step = 1;
    for (unsigned i = 0; i < t->rank; i++) {
        unsigned d = is_fortran ? i : t->rank - 1 - i;
        t->strides[d] = (int64_t)step;
        step *= t->shape[d] > 0 ? t->shape[d] : 1; /* no overflow: tensor_settle came first */
    }
}

grebe_status tensor_settle(struct tensor *t, const char *path, grebe_error *err)
{
    uint64_t n = 1, nonzero = 1;
    for (unsigned i = 0; i < t->rank; i++) {
        bool fits = checked_mul_u64(n, t->shape[i], &n) &&
                    checked_mul_u64(nonzero, t->shape[i] > 0 ? t->shape[i] : 1, &nonzero);
        if (!fits || nonzero > (uint64_t)INT64_MAX / 16) {
            return GREBE_FAIL(err, GREBE_ECORRUPT, "%s: a shape of more values than memory can have", path);
        }
    }
    t->n_values = n;
    return GREBE_OK;
}

/* Whether strides are those of row-major order; dimensions of length 1 do not matter. */
bool tensor_is_stored(const struct tensor *t)
{
    return t->is_packed || t->region == NULL || t->n_values <= t->region->len / tensor_type_bytes(t->type);
}

bool tensor_is_packed(const struct tensor *t)
{
    uint64_t step = 1;
    for (unsigned i = t->rank; i-- > 0;) {
        if (t->shape[i] != 1 && t->strides[i] != (int64_t)step) {
            return t->n_values == 0;
        }
        step *= t->shape[i];
    }
    return true;
}

grebe_status tensor_check_room(const struct tensor *t, uint64_t room, const char *path, grebe_error *err)
{
    uint64_t last = 0, step = 0, bytes = 0;
    bool fits = true;
    for (unsigned i = 0; i < t->rank && t->n_values > 0; i++) {
        fits = fits && t->strides[i] >= 0 && checked_mul_u64((uint64_t)t->strides[i], t->shape[i] - 1, &step) &&
               checked_add_u64(last, step, &last);
    }
    fits = fits && (t->n_values == 0 || (checked_add_u64(last, 1, &last) &&
                                         checked_mul_u64(last, tensor_type_bytes(t->type), &bytes) && bytes <= room));
    if (!fits) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "%s: expected %llu values of %s, found %llu bytes", path,
                          (unsigned long long)t->n_values, tensor_type_name(t->type), (unsigned long long)room);
    }
    return GREBE_OK;
}

/* ---- npy ---- */

grebe_status tensor_of_npy(const char *path, struct region *r, struct tensor *out, grebe_error *err)
{
    struct npy_header h;
    grebe_status st = npy_header_read(path, r->data, r->len, &h, err);
    if (st != GREBE_OK) {
        return st;
    }
    out->type = h.type;
    out->rank = h.rank;
    memcpy(out->shape, h.shape, sizeof out->shape);
    out->is_big_endian = h.is_big_endian;
    GREBE_TRY(tensor_settle(out, path, err));
    tensor_strides(out, h.is_fortran);
    out->is_packed = tensor_is_packed(out);
    out->data = r->data + h.data_at;
    GREBE_TRY(tensor_check_room(out, r->len - h.data_at, path, err));
    out->region = region_keep(r);
out:
    return st;
}

/* ---- by content ---- */

grebe_status tensor_map_file(grebe_context *ctx, const char *path, struct region **out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct io_store *store = NULL;
    struct io_file *file = NULL;
    *out = NULL;
    GREBE_TRY(io_local_new(ctx, &store, err));
    GREBE_TRY(io_open(store, path, &file, err));
    if (file->id.size_bytes > 0 && file->ops->map != NULL) {
        GREBE_TRY(file->ops->map(file, out, err));
    } else {
        GREBE_TRY(region_new(ctx->a, 0, out, err));
    }
out:
    io_close(file);
    io_store_free(store);
    return st;
}

static grebe_status open_torch(grebe_context *ctx, const char *path, struct tensor *out, grebe_error *err)
{
    struct torch_file *f = NULL;
    grebe_status st = torch_open(ctx, path, NULL, NULL, &f, err);
    if (st == GREBE_OK) {
        const struct pickle_value *root = torch_root(f);
        bool is_tensor = root->type == PICKLE_CALL;
        st = is_tensor ? torch_tensor(f, root, out, err)
                       : GREBE_FAIL(err, GREBE_EUNSUPPORTED, "%s: expected one tensor, found a %s", path,
                                    pickle_type_name(root->type));
    }
    torch_close(f);
    return st;
}

grebe_status tensor_open(grebe_context *ctx, const char *path, struct tensor *out, grebe_error *err)
{
    struct region *r = NULL;
    memset(out, 0, sizeof *out);
    grebe_status st = tensor_map_file(ctx, path, &r, err);
    if (st == GREBE_OK) {
        st = array_is_npy(r->data, r->len) ? tensor_of_npy(path, r, out, err) : open_torch(ctx, path, out, err);
    }
    region_drop(r);
    if (st != GREBE_OK) {
        tensor_release(out);
    }
    return st;
}

/* ---- reading ---- */

/* Where the value of a row-major number lies. */
static const unsigned char *value_at(const struct tensor *t, uint64_t i, size_t width)
{
    uint64_t at = 0;
    for (unsigned d = t->rank; d-- > 0;) {
        at += i % t->shape[d] * (uint64_t)t->strides[d];
        i /= t->shape[d];
    }
    return t->data + at * width;
}

static void reverse(unsigned char *p, size_t width)
{
    for (size_t i = 0; i < width / 2; i++) {
        unsigned char x = p[i];
        p[i] = p[width - 1 - i];
        p[width - 1 - i] = x;
    }
}

/* Values [begin, begin + n) of the first dimension: how many in each, and that they are there. */
static grebe_status row_values(const struct tensor *t, uint64_t begin, uint64_t n, uint64_t *each, grebe_error *err)
{
    uint64_t rows = t->rank > 0 ? t->shape[0] : 1;
    if (begin > rows || n > rows - begin) {
        return GREBE_FAIL(err, GREBE_EINVAL, "rows %llu to %llu of %llu", (unsigned long long)begin, (unsigned long long)(begin + n),
                          (unsigned long long)rows);
    }
    *each = rows > 0 ? t->n_values / rows : 0;
    return GREBE_OK;
}

grebe_status tensor_read(const struct tensor *t, uint64_t begin, uint64_t n, void *dst, grebe_error *err)
{
    uint64_t each = 0;
    size_t width = tensor_type_bytes(t->type);
    size_t unit = t->type >= TENSOR_C64 ? width / 2 : width; /* what has a byte order of its own */
    grebe_status st = row_values(t, begin, n, &each, err);
    if (st != GREBE_OK || n * each == 0) {
        return st;
    }
    if (t->is_packed) {
        memcpy(dst, t->data + begin * each * width, (size_t)(n * each) * width);
    } else {
        for (uint64_t i = 0; i < n * each; i++) {
            memcpy((unsigned char *)dst + i * width, value_at(t, begin * each + i, width), width);
        }
    }
    for (uint64_t i = 0; t->is_big_endian && i < n * each * (width / unit); i++) {
        reverse((unsigned char *)dst + i * unit, unit);
    }
    return GREBE_OK;
}

/* One integer, native byte order. */
static bool integer_of(int type, const unsigned char *p, int64_t *out)
{
    uint64_t u = 0;
    switch (type) {
    case ARRAY_I8: *out = *(const int8_t *)p; return true;
    case ARRAY_U8: *out = *p; return true;
    case ARRAY_I16: *out = (int16_t)load_le16(p); return true;
    case ARRAY_U16: *out = load_le16(p); return true;
    case ARRAY_I32: *out = (int32_t)load_le32(p); return true;
    case ARRAY_U32: *out = load_le32(p); return true;
    default:
        u = load_le64(p);
        memcpy(out, &u, sizeof *out);
        return type == ARRAY_I64 || u <= (uint64_t)INT64_MAX;
    }
}

static bool is_integer(int type)
{
    return type == ARRAY_I8 || type == ARRAY_U8 || type == ARRAY_I16 || type == ARRAY_U16 || type == ARRAY_I32 ||
           type == ARRAY_U32 || type == ARRAY_I64 || type == ARRAY_U64;
}

grebe_status tensor_read_i64(const struct tensor *t, uint64_t begin, uint64_t n, int64_t *dst, grebe_error *err)
{
    uint64_t each = 0;
    size_t width = tensor_type_bytes(t->type);
    grebe_status st = row_values(t, begin, n, &each, err);
    if (st == GREBE_OK && !is_integer(t->type)) {
        st = GREBE_FAIL(err, GREBE_ESCHEMA, "expected integers, found %s", tensor_type_name(t->type));
    }
    for (uint64_t i = 0; st == GREBE_OK && i < n * each; i++) {
        unsigned char bytes[8];
        const unsigned char *p = t->is_packed ? t->data + (begin * each + i) * width : value_at(t, begin * each + i, width);
        memcpy(bytes, p, width);
        if (t->is_big_endian) {
            reverse(bytes, width);
        }
        if (!integer_of(t->type, bytes, &dst[i])) {
            st = GREBE_FAIL(err, GREBE_ESCHEMA, "value %llu is %llu: expected at most 2^63 - 1", (unsigned long long)(begin * each + i),
                            (unsigned long long)dst[i]);
        }
    }
    return st;
}

/* ---- writing ---- */

grebe_status tensor_npy_header(struct buf *dst, int type, const uint64_t *shape, unsigned rank, grebe_error *err)
{
    enum { DATA_AT = 4096, HEAD = 10 };
    static const char codes[] = { 'f', 'f', '\0', 'f', 'i', 'u', 'i', 'u', 'i', 'u', 'i', 'u', 'b', 'c', 'c' };
    size_t width = tensor_type_bytes(type);
    char text[512];
    int n = 0;
    if (codes[type] == '\0') {
        return GREBE_FAIL(err, GREBE_EUNSUPPORTED, "npy has no %s", tensor_type_name(type));
    }
    n = snprintf(text, sizeof text, "{'descr': '%c%c%zu', 'fortran_order': False, 'shape': (", width == 1 ? '|' : '<', codes[type], width);
    for (unsigned i = 0; i < rank; i++) {
        n += snprintf(text + n, sizeof text - (size_t)n, i == 0 ? "%llu" : ", %llu", (unsigned long long)shape[i]);
    }
    n += snprintf(text + n, sizeof text - (size_t)n, "%s), }", rank == 1 ? "," : "");
    unsigned char head[HEAD] = { 0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, 0, 0 };
    store_le16(head + 8, DATA_AT - HEAD);
    size_t begin = dst->len;
    grebe_status st = buf_put(dst, head, sizeof head, err);
    st = st == GREBE_OK ? buf_put(dst, text, (size_t)n, err) : st;
    while (st == GREBE_OK && dst->len - begin < DATA_AT - 1) {
        st = buf_put_byte(dst, ' ', err);
    }
    return st == GREBE_OK ? buf_put_byte(dst, '\n', err) : st;
}
