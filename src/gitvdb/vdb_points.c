/* SPDX-License-Identifier: Apache-2.0 */
#include "gitvdb/vdb_points.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "base/number.h"
#include "gitvdb/vdb_points_internal.h"

enum { ROWS_FIRST = 16, DIM_WIDE = 4096, ID_NUMBER_BYTES = 10 };

void vdb_points_init(struct vdb_points *p, const grebe_allocator *a)
{
    memset(p, 0, sizeof *p);
    p->a = a;
    p->ids = BUF_INIT(a);
    p->payloads = BUF_INIT(a);
}

void vdb_points_clear(struct vdb_points *p)
{
    p->n = 0;
    buf_clear(&p->ids);
    buf_clear(&p->payloads);
}

static void drop_rows(struct vdb_points *p)
{
    mem_free(p->a, p->vectors, p->capacity * p->dim * sizeof *p->vectors);
    mem_free(p->a, p->id_end, p->capacity * sizeof *p->id_end);
    mem_free(p->a, p->payload_end, p->capacity * sizeof *p->payload_end);
    p->vectors = NULL;
    p->id_end = NULL;
    p->payload_end = NULL;
    p->capacity = 0;
}

void vdb_points_set_dim(struct vdb_points *p, uint32_t dim)
{
    if (p->dim != dim) {
        drop_rows(p);
        p->dim = dim;
    }
}

void vdb_points_release(struct vdb_points *p)
{
    drop_rows(p);
    buf_release(&p->ids);
    buf_release(&p->payloads);
    vdb_points_init(p, p->a);
}

/* A longer copy of one array of ends. */
static grebe_status grown_ends(const struct vdb_points *p, const uint64_t *ends, size_t capacity, uint64_t **out,
                               grebe_error *err)
{
    *out = mem_alloc(p->a, capacity * sizeof *ends);
    if (*out == NULL) {
        return mem_fail(err, capacity * sizeof *ends, "points");
    }
    if (p->n > 0) {
        memcpy(*out, ends, p->n * sizeof *ends);
    }
    return GREBE_OK;
}

grebe_status vdb_points_reserve_row(struct vdb_points *p, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const size_t row_size = (size_t)p->dim * sizeof *p->vectors;
    const size_t capacity = p->capacity > 0 ? p->capacity * 2 : p->dim <= DIM_WIDE ? ROWS_FIRST : 1;
    uint64_t *id_end = NULL;
    uint64_t *payload_end = NULL;
    size_t size = 0;
    if (p->n < p->capacity) {
        return GREBE_OK;
    }
    if (p->n >= UINT32_MAX || !checked_mul_size(capacity, row_size, &size)) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "points: %zu of %" PRIu32 " components are more than fit", p->n, p->dim);
    }
    GREBE_TRY(grown_ends(p, p->id_end, capacity, &id_end, err));
    GREBE_TRY(grown_ends(p, p->payload_end, capacity, &payload_end, err));
    float *vectors = mem_resize(p->a, p->vectors, p->capacity * row_size, size);
    if (vectors == NULL) {
        st = mem_fail(err, size, "points");
        goto out;
    }
    mem_free(p->a, p->id_end, p->capacity * sizeof *p->id_end);
    mem_free(p->a, p->payload_end, p->capacity * sizeof *p->payload_end);
    p->vectors = vectors;
    p->id_end = id_end;
    p->payload_end = payload_end;
    p->capacity = capacity;
    return GREBE_OK;
out:
    mem_free(p->a, id_end, capacity * sizeof *id_end);
    mem_free(p->a, payload_end, capacity * sizeof *payload_end);
    return st;
}

grebe_status vdb_points_put_id(struct vdb_points *p, const struct vdb_id *id, grebe_error *err)
{
    unsigned char head[ID_NUMBER_BYTES] = { id->is_number ? 'u' : 's', 0 };
    if (id->is_number) {
        for (int i = 0; i < 8; i++) {
            head[2 + i] = (unsigned char)(id->number >> (56 - 8 * i));
        }
        return buf_put(&p->ids, head, sizeof head, err);
    }
    grebe_status st = buf_put(&p->ids, head, 2, err);
    return st == GREBE_OK && id->len > 0 ? buf_put(&p->ids, id->text, id->len, err) : st;
}

static struct vdb_id id_of_bytes(const unsigned char *bytes, size_t len)
{
    struct vdb_id id = { bytes[0] == 'u', 0, NULL, 0 };
    if (id.is_number) {
        for (int i = 0; i < 8; i++) {
            id.number = id.number << 8 | bytes[2 + i];
        }
    } else {
        id.text = (const char *)bytes + 2;
        id.len = len - 2;
    }
    return id;
}

struct vdb_id vdb_points_id(const struct vdb_points *p, size_t i)
{
    uint64_t begin = i > 0 ? p->id_end[i - 1] : 0;
    return id_of_bytes(p->ids.data + begin, (size_t)(p->id_end[i] - begin));
}

const char *vdb_points_payload(const struct vdb_points *p, size_t i, size_t *len)
{
    uint64_t begin = i > 0 ? p->payload_end[i - 1] : 0;
    *len = (size_t)(p->payload_end[i] - begin);
    return (const char *)p->payloads.data + begin;
}

const char *vdb_id_quote(const struct vdb_id *id, char *dst, size_t dst_len)
{
    char digits[NUMBER_TEXT_MAX];
    if (id->is_number) {
        return error_quote(dst, dst_len, digits, number_put_u64(digits, id->number));
    }
    dst[0] = '"';
    error_quote(dst + 1, dst_len - 2, id->text, id->len);
    return strcat(dst, "\"");
}

grebe_status vdb_points_dim_fail(const struct vdb_id *id, uint32_t expected, size_t found, grebe_error *err)
{
    char quoted[80];
    return GREBE_FAIL(err, GREBE_EINVAL, "id %s: expected a vector of %" PRIu32 " components, found %zu",
                      vdb_id_quote(id, quoted, sizeof quoted), expected, found);
}

static grebe_status check_vector(const struct vdb_id *id, const float *vector, uint32_t dim, grebe_error *err)
{
    char quoted[80];
    uint32_t bad = 0;
    for (uint32_t i = 0; i < dim; i++) { /* an exponent of ones carries into the sign */
        uint32_t bits;
        memcpy(&bits, vector + i, sizeof bits);
        bad |= (bits & 0x7f800000u) + 0x00800000u;
    }
    if (bad >> 31 == 0) {
        return GREBE_OK;
    }
    uint32_t at = 0;
    while (at + 1 < dim && isfinite(vector[at])) {
        at++;
    }
    return GREBE_FAIL(err, GREBE_EINVAL, "id %s: component %" PRIu32 ": expected a finite float of 32 bits",
                      vdb_id_quote(id, quoted, sizeof quoted), at);
}

grebe_status vdb_points_check(const struct vdb_points *p, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    for (size_t i = 0; st == GREBE_OK && i < p->n; i++) {
        struct vdb_id id = vdb_points_id(p, i);
        st = check_vector(&id, p->vectors + i * p->dim, p->dim, err);
    }
    return st;
}

void vdb_points_end_row(struct vdb_points *p)
{
    p->id_end[p->n] = p->ids.len;
    p->payload_end[p->n] = p->payloads.len;
    p->n++;
}

grebe_status vdb_points_add(struct vdb_points *p, const struct vdb_id *id, const float *vector, uint32_t dim,
                            const char *payload, size_t payload_len, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const size_t ids_len = p->ids.len;
    const size_t payloads_len = p->payloads.len;
    const uint32_t dim_before = p->dim;
    if (dim == 0 || (p->dim != 0 && dim != p->dim)) {
        return vdb_points_dim_fail(id, p->dim > 0 ? p->dim : 1, dim, err);
    }
    GREBE_TRY(check_vector(id, vector, dim, err));
    p->dim = dim;
    GREBE_TRY(vdb_points_reserve_row(p, err));
    GREBE_TRY(vdb_points_put_id(p, id, err));
    GREBE_TRY(payload != NULL ? buf_put(&p->payloads, payload, payload_len, err) : buf_put(&p->payloads, "{}", 2, err));
    memcpy(p->vectors + p->n * dim, vector, dim * sizeof *vector);
    vdb_points_end_row(p);
out:
    if (st != GREBE_OK) {
        p->ids.len = ids_len;
        p->payloads.len = payloads_len;
        vdb_points_set_dim(p, dim_before);
    }
    return st;
}

grebe_status vdb_points_append(struct vdb_points *p, const struct vdb_points *more, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    uint64_t ids_len = p->ids.len, payloads_len = p->payloads.len;
    if (more->n == 0) {
        return st;
    }
    assert(p->n == 0 || p->dim == more->dim);
    vdb_points_set_dim(p, more->dim);
    GREBE_TRY(buf_put(&p->ids, more->ids.data, more->ids.len, err));
    GREBE_TRY(buf_put(&p->payloads, more->payloads.data, more->payloads.len, err));
    for (size_t i = 0; i < more->n; i++) {
        GREBE_TRY(vdb_points_reserve_row(p, err));
        memcpy(p->vectors + p->n * p->dim, more->vectors + i * p->dim, p->dim * sizeof *p->vectors);
        p->id_end[p->n] = ids_len + more->id_end[i];
        p->payload_end[p->n] = payloads_len + more->payload_end[i];
        p->n++;
    }
out:
    return st;
}
