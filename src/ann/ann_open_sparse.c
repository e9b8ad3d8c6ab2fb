/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packed records, little endian, without padding:
 *   vectors  u32 n | u32 ids[n] | f32 values[n]
 *   tokens   u32 n | u32 ids[n]
 * and ann-benchmarks' sets, whose ids stand one after another with their sizes beside them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ann/ann_internal.h"
#include "base/checked.h"
#include "base/endian.h"

/* A stream of records: bytes of `width` for each element, after a count of four. */
struct records {
    struct buf memory;
    const unsigned char *bytes;
    uint64_t len;
    const char *name;
    unsigned width;
};

/* The record at byte `at`: its elements. *n is what it claims. */
static grebe_status record_at(const struct records *s, uint64_t i, uint64_t at, uint32_t *n, grebe_error *err)
{
    uint64_t left = s->len - at;
    *n = 0;
    if (left < 4) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "%s: record %llu at byte %llu: %llu bytes left of a 4-byte count", s->name,
                          (unsigned long long)i, (unsigned long long)at, (unsigned long long)left);
    }
    uint32_t count = load_le32(s->bytes + at);
    uint64_t need = (uint64_t)count * s->width;
    if (need > left - 4) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "%s: record %llu at byte %llu claims %u terms: needs %llu more bytes, %llu left%s",
                          s->name, (unsigned long long)i, (unsigned long long)at, count, (unsigned long long)need,
                          (unsigned long long)(left - 4), left == 4 ? " (VSAG accepts this)" : "");
    }
    *n = count;
    return GREBE_OK;
}

/* Number of records, elements of all, and the largest. */
static grebe_status count_records(const struct records *s, uint64_t *n, uint64_t *n_elements, uint32_t *largest,
                                  grebe_error *err)
{
    *n = *n_elements = 0;
    *largest = 0;
    for (uint64_t at = 0; at < s->len;) {
        uint32_t count = 0;
        grebe_status st = record_at(s, *n, at, &count, err);
        if (st != GREBE_OK) {
            return st;
        }
        at += 4 + (uint64_t)count * s->width;
        *n += 1;
        *n_elements += count;
        *largest = count > *largest ? count : *largest;
    }
    return GREBE_OK;
}

/* @param out buf_release(&out->memory), also after a failure. */
static grebe_status read_stream(struct ann_reader *r, const struct hdf5_data *h, unsigned width, struct records *out,
                                grebe_error *err)
{
    grebe_status st = GREBE_OK;
    *out = (struct records){ BUF_INIT(r->ctx->a), NULL, h->shape[0], h->name, width };
    if (h->rank == 2) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "%s: found rank 2, sparse needs 1", h->name);
    }
    GREBE_TRY(ann_need_rank(h, 1, err));
    if (h->cls == HDF5_UINT && h->size == 1 && r->o.profile != ANN_VSAG) {
        ann_find(r, ANN_WARNING, h->name, "%s is stored as uint8: VSAG turns bytes above 127 into 127", h->name);
    } else if (h->cls != HDF5_INT || h->size != 1) {
        st = GREBE_FAIL(err, GREBE_ECORRUPT, "%s: expected a stream of int8, found %s", h->name, h->type_name);
        goto out;
    }
    GREBE_TRY(ann_need_memory(r, h, h->shape[0], 1, err));
    GREBE_TRY(buf_reserve(&out->memory, (size_t)h->shape[0] + 1, err));
    out->bytes = out->memory.data;
    st = hdf5_read(r->f, h, 0, h->shape[0], HDF5_RAW, out->memory.data, err);
out:
    return st;
}

/* Stored offsets against those that the scan finds: five ways to be wrong, five messages. */
static grebe_status check_offsets(struct ann_reader *r, const char *name, const struct records *s, uint64_t n,
                                  bool is_needed, grebe_error *err)
{
    const struct hdf5_data *h = hdf5_find(r->f, name);
    int64_t *stored = NULL;
    uint64_t at = 0;
    grebe_status st = GREBE_OK;
    if (h == NULL || (h->rank == 1 && h->shape[0] == 0 && !is_needed)) {
        return GREBE_OK;
    }
    GREBE_TRY(ann_need_rank(h, 1, err));
    if (h->shape[0] != n + 1) {
        st = GREBE_FAIL(err, GREBE_ECORRUPT, "%s: %llu elements expected, %llu found", name, (unsigned long long)(n + 1),
                        (unsigned long long)h->shape[0]);
        goto out;
    }
    GREBE_TRY(ann_read_ints(r, h, &stored, err));
    if (stored[0] != 0) {
        st = GREBE_FAIL(err, GREBE_ECORRUPT, "%s: first element %lld, expected 0", name, (long long)stored[0]);
        goto out;
    }
    if ((uint64_t)stored[n] != s->len) {
        st = GREBE_FAIL(err, GREBE_ECORRUPT, "%s: last element %lld, expected %llu", name, (long long)stored[n],
                        (unsigned long long)s->len);
        goto out;
    }
    for (uint64_t i = 1; i <= n; i++) {
        if (stored[i] < stored[i - 1]) {
            st = GREBE_FAIL(err, GREBE_ECORRUPT, "%s: decreases at %llu: %lld after %lld", name, (unsigned long long)i,
                            (long long)stored[i], (long long)stored[i - 1]);
            goto out;
        }
    }
    for (uint64_t i = 0; i < n; i++) {
        if ((uint64_t)stored[i] != at) {
            st = GREBE_FAIL(err, GREBE_ECORRUPT, "%s: record %llu: %lld stored, %llu found", name, (unsigned long long)i,
                            (long long)stored[i], (unsigned long long)at);
            goto out;
        }
        at += 4 + (uint64_t)load_le32(s->bytes + at) * s->width;
    }
out:
    return st;
}

static grebe_status read_tokens(struct ann_reader *r, const char *name, const char *offsets, const char *of,
                                struct ann_vectors *v, grebe_error *err)
{
    const struct hdf5_data *h = hdf5_find(r->f, name);
    struct records s = { .memory = BUF_INIT(r->ctx->a) };
    uint64_t n = 0, n_tokens = 0, at = 0;
    uint32_t largest = 0;
    void *p = NULL;
    grebe_status st = GREBE_OK;
    if ((h == NULL) != (hdf5_find(r->f, offsets) == NULL)) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "%s without %s", h != NULL ? name : offsets, h != NULL ? offsets : name);
    }
    if (h == NULL) {
        return GREBE_OK;
    }
    GREBE_TRY(read_stream(r, h, 4, &s, err));
    GREBE_TRY(count_records(&s, &n, &n_tokens, &largest, err));
    if (n != v->n) {
        char found[48];
        snprintf(found, sizeof found, n < v->n ? "%llu records" : "more than %llu records",
                 (unsigned long long)(n < v->n ? n : v->n));
        st = GREBE_FAIL(err, GREBE_ECORRUPT, "%s has %s, %s %llu", name, found, of, (unsigned long long)v->n);
        goto out;
    }
    GREBE_TRY(check_offsets(r, offsets, &s, n, true, err));
    GREBE_TRY(ann_array(r->d, n + 1, sizeof(int64_t), name, &p, err));
    v->token_offsets = p;
    GREBE_TRY(ann_array(r->d, n_tokens, sizeof(uint32_t), name, &p, err));
    v->tokens = p;
    for (uint64_t i = 0; i < n; i++) {
        uint32_t count = load_le32(s.bytes + at);
        v->token_offsets[i + 1] = v->token_offsets[i] + count;
        at += 4;
        for (uint32_t j = 0; j < count; j++, at += 4) {
            v->tokens[v->token_offsets[i] + j] = load_le32(s.bytes + at);
        }
    }
out:
    buf_release(&s.memory);
    return st;
}

/* ---- order of terms ---- */

struct pair {
    uint32_t term;
    float value;
};

static int by_term(const void *x, const void *y)
{
    uint32_t a = ((const struct pair *)x)->term, b = ((const struct pair *)y)->term;
    return (a > b) - (a < b);
}

static bool is_ascending(const uint32_t *t, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        if (t[i] < t[i - 1]) {
            return false;
        }
    }
    return true;
}

grebe_status ann_sort_terms(struct ann_vectors *v, const grebe_allocator *a, struct ann_order *out, grebe_error *err)
{
    struct buf pairs = BUF_INIT(a);
    grebe_status st = GREBE_OK;
    memset(out, 0, sizeof *out);
    for (uint64_t i = 0; i < v->n; i++) {
        size_t n = (size_t)(v->offsets[i + 1] - v->offsets[i]);
        uint32_t *terms = v->terms + v->offsets[i];
        float *values = v->values == NULL ? NULL : v->values + v->offsets[i];
        if (!is_ascending(terms, n)) {
            buf_clear(&pairs);
            GREBE_TRY(buf_reserve(&pairs, n * sizeof(struct pair), err));
            struct pair *p = (struct pair *)(void *)pairs.data;
            for (size_t j = 0; j < n; j++) {
                p[j] = (struct pair){ terms[j], values == NULL ? 0 : values[j] };
            }
            qsort(p, n, sizeof *p, by_term);
            for (size_t j = 0; j < n; j++) {
                terms[j] = p[j].term;
                if (values != NULL) {
                    values[j] = p[j].value;
                }
            }
            out->first_unsorted = out->n_unsorted++ == 0 ? i : out->first_unsorted;
        }
        for (size_t j = 1; j < n; j++) {
            if (terms[j] == terms[j - 1]) {
                out->term_twice = out->n_twice == 0 ? terms[j] : out->term_twice;
                out->first_twice = out->n_twice++ == 0 ? i : out->first_twice;
                break;
            }
        }
    }
out:
    buf_release(&pairs);
    return st;
}

static void report_order(const struct ann_reader *r, const char *name, const struct ann_order *order)
{
    char place[64];
    if (order->n_unsorted > 0) {
        snprintf(place, sizeof place, "%s[%llu]", name, (unsigned long long)order->first_unsorted);
        ann_find(r, ANN_WARNING, place, "unsorted ids in %s: record %llu (%llu such)", name,
                 (unsigned long long)order->first_unsorted, (unsigned long long)order->n_unsorted);
    }
    if (order->n_twice > 0) {
        snprintf(place, sizeof place, "%s[%llu]", name, (unsigned long long)order->first_twice);
        ann_find(r, ANN_ERROR, place, "%s: record %llu holds id %u twice (%llu such)", name,
                 (unsigned long long)order->first_twice, order->term_twice, (unsigned long long)order->n_twice);
    }
}

/* ---- sides ---- */

struct side_names {
    const char *vectors, *offsets, *tokens, *token_offsets, *sizes;
};

static const struct side_names train_names = { "train", "train_offsets", "train_token_sequences",
                                               "train_token_sequences_offsets", "size_train" };
static const struct side_names test_names = { "test", "test_offsets", "test_token_sequences",
                                              "test_token_sequences_offsets", "size_test" };

static grebe_status read_side(struct ann_reader *r, const struct side_names *names, struct ann_vectors *v,
                              grebe_error *err)
{
    const struct hdf5_data *h = hdf5_find(r->f, names->vectors);
    struct records s = { .memory = BUF_INIT(r->ctx->a) };
    struct ann_order order;
    uint64_t n_values = 0, at = 0;
    void *p = NULL;
    grebe_status st = GREBE_OK;
    GREBE_TRY(read_stream(r, h, 8, &s, err));
    if (s.len == 0) {
        st = GREBE_FAIL(err, GREBE_ECORRUPT, "%s is empty: expected one record or more", h->name);
        goto out;
    }
    v->elem = VECTOR_F32;
    GREBE_TRY(count_records(&s, &v->n, &n_values, &v->dim, err));
    GREBE_TRY(check_offsets(r, names->offsets, &s, v->n, false, err));
    GREBE_TRY(ann_array(r->d, v->n + 1, sizeof(int64_t), h->name, &p, err));
    v->offsets = p;
    GREBE_TRY(ann_array(r->d, n_values, sizeof(uint32_t), h->name, &p, err));
    v->terms = p;
    GREBE_TRY(ann_array(r->d, n_values, sizeof(float), h->name, &p, err));
    v->values = p;
    for (uint64_t i = 0; i < v->n; i++) {
        uint32_t count = load_le32(s.bytes + at);
        int64_t to = v->offsets[i];
        at += 4;
        for (uint32_t j = 0; j < count; j++) {
            uint32_t bits = load_le32(s.bytes + at + 4 * (uint64_t)count + 4 * (uint64_t)j);
            v->terms[to + j] = load_le32(s.bytes + at + 4 * (uint64_t)j);
            memcpy(&v->values[to + j], &bits, sizeof bits);
        }
        at += 8 * (uint64_t)count;
        v->offsets[i + 1] = to + count;
    }
    GREBE_TRY(ann_sort_terms(v, r->ctx->a, &order, err));
    report_order(r, h->name, &order);
    GREBE_TRY(read_tokens(r, names->tokens, names->token_offsets, names->vectors, v, err));
out:
    buf_release(&s.memory);
    return st;
}

grebe_status ann_read_sparse(struct ann_reader *r, grebe_error *err)
{
    grebe_status st = read_side(r, &train_names, &r->d->train, err);
    return st != GREBE_OK ? st : read_side(r, &test_names, &r->d->test, err);
}

static grebe_status read_set_side(struct ann_reader *r, const struct side_names *names, struct ann_vectors *v,
                                  grebe_error *err)
{
    const struct hdf5_data *h = hdf5_find(r->f, names->vectors), *c = NULL;
    struct ann_order order;
    int64_t *sizes = NULL, *ids = NULL;
    void *p = NULL;
    grebe_status st = GREBE_OK;
    GREBE_TRY(ann_need(r, names->sizes, &c, err));
    GREBE_TRY(ann_read_ints(r, c, &sizes, err));
    GREBE_TRY(ann_read_ints(r, h, &ids, err));
    v->n = c->shape[0];
    v->elem = VECTOR_F32;
    GREBE_TRY(ann_array(r->d, v->n + 1, sizeof(int64_t), names->sizes, &p, err));
    v->offsets = p;
    for (uint64_t i = 0; i < v->n; i++) {
        if (sizes[i] < 0 || (uint64_t)sizes[i] > h->shape[0] - (uint64_t)v->offsets[i]) {
            st = GREBE_FAIL(err, GREBE_ECORRUPT, "%s[%llu] = %lld: %s has %llu elements, %lld are taken", names->sizes,
                            (unsigned long long)i, (long long)sizes[i], names->vectors,
                            (unsigned long long)h->shape[0], (long long)v->offsets[i]);
            goto out;
        }
        v->offsets[i + 1] = v->offsets[i] + sizes[i];
    }
    if (v->n == 0 || (uint64_t)v->offsets[v->n] != h->shape[0]) {
        st = GREBE_FAIL(err, GREBE_ECORRUPT, "%s sums to %lld, %s has %llu elements", names->sizes,
                        (long long)v->offsets[v->n], names->vectors, (unsigned long long)h->shape[0]);
        goto out;
    }
    GREBE_TRY(ann_array(r->d, h->shape[0], sizeof(uint32_t), names->vectors, &p, err));
    v->terms = p;
    for (uint64_t i = 0; i < h->shape[0]; i++) {
        if (ids[i] < 0 || ids[i] > UINT32_MAX) {
            st = GREBE_FAIL(err, GREBE_ECORRUPT, "%s[%llu] = %lld: expected an item below 2^32", names->vectors,
                            (unsigned long long)i, (long long)ids[i]);
            goto out;
        }
        v->terms[i] = (uint32_t)ids[i];
    }
    GREBE_TRY(ann_sort_terms(v, r->ctx->a, &order, err));
    report_order(r, names->vectors, &order);
out:
    return st;
}

grebe_status ann_read_sets(struct ann_reader *r, grebe_error *err)
{
    grebe_status st = read_set_side(r, &train_names, &r->d->train, err);
    return st != GREBE_OK ? st : read_set_side(r, &test_names, &r->d->test, err);
}
