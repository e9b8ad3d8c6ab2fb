/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/delta.h"

#include <assert.h>
#include <string.h>

#include "base/checked.h"

grebe_status delta_length_decode(const void *bytes, size_t len, int32_t *offsets, size_t n,
                                 const uint8_t **data, size_t *used, grebe_error *err)
{
    size_t lengths_len = 0;
    uint64_t sum = 0;
    uint64_t have = 0;
    grebe_status st = delta_decode_i32(bytes, len, offsets + 1, n, &lengths_len, err);

    *data = NULL;
    offsets[0] = 0;
    if (st != GREBE_OK) {
        return st;
    }
    have = min_u64(len - lengths_len, INT32_MAX);
    for (size_t i = 1; i <= n; i++) {
        if (offsets[i] < 0 || (uint64_t)offsets[i] > have - sum) {
            return GREBE_FAIL(err, GREBE_ECORRUPT,
                              "string %zu: expected a length up to %llu, found %d", i - 1,
                              (unsigned long long)(have - sum), offsets[i]);
        }
        sum += (uint64_t)offsets[i];
        offsets[i] = (int32_t)sum;
    }
    *data = (const uint8_t *)bytes + lengths_len;
    if (used != NULL) {
        *used = lengths_len + (size_t)sum;
    }
    return GREBE_OK;
}

grebe_status delta_length_encode(struct buf *dst, const int32_t *lengths, size_t n,
                                 grebe_error *err)
{
    return delta_encode_i32(dst, lengths, n, err);
}

/*
 * Total length of the output, every prefix checked against the string before it.
 * suffixes[i + 1] - suffixes[i] is the length of suffix i.
 */
static grebe_status check_prefixes(const struct delta_strings_options *o, const int32_t *prefixes,
                                   const int32_t *suffixes, size_t n, size_t *total,
                                   grebe_error *err)
{
    size_t before = o->previous != NULL ? o->previous_len : 0;

    *total = 0;
    for (size_t i = 0; i < n; i++) {
        const size_t suffix = (size_t)(suffixes[i + 1] - suffixes[i]);

        if (prefixes[i] < 0 || (size_t)prefixes[i] > before) {
            return GREBE_FAIL(err, GREBE_ECORRUPT,
                              "string %zu: expected a prefix up to %zu bytes, found %d", i, before,
                              prefixes[i]);
        }
        before = (size_t)prefixes[i] + suffix;
        if (o->fixed_len != 0 && before != o->fixed_len) {
            return GREBE_FAIL(err, GREBE_ECORRUPT, "value %zu: expected %zu bytes, found %zu", i,
                              o->fixed_len, before);
        }
        if (before > min_size(o->output_limit, INT32_MAX) - *total) {
            return GREBE_FAIL(err, GREBE_ELIMIT,
                              "strings of a page: expected at most %zu bytes, found more",
                              min_size(o->output_limit, INT32_MAX));
        }
        *total += before;
    }
    return GREBE_OK;
}

static void join_strings(const struct delta_strings_options *o, const int32_t *prefixes,
                         const int32_t *suffixes, const uint8_t *suffix_data, int32_t *offsets,
                         size_t n, uint8_t *out)
{
    const uint8_t *before = o->previous;
    int32_t at = 0;

    offsets[0] = 0;
    for (size_t i = 0; i < n; i++) {
        const int32_t suffix = suffixes[i + 1] - suffixes[i];

        if (prefixes[i] > 0) {
            memcpy(out + at, before, (size_t)prefixes[i]);
        }
        if (suffix > 0) {
            memcpy(out + at + prefixes[i], suffix_data + suffixes[i], (size_t)suffix);
        }
        before = out + at;
        at += prefixes[i] + suffix;
        offsets[i + 1] = at;
    }
}

grebe_status delta_strings_decode(const void *bytes, size_t len,
                                  const struct delta_strings_options *options, int32_t *offsets,
                                  size_t n, struct buf *out, size_t *used, grebe_error *err)
{
    const grebe_allocator *a = out->a;
    const size_t scratch_len = (2 * n + 1) * sizeof(int32_t);
    int32_t *prefixes = mem_alloc(a, scratch_len);
    int32_t *suffixes = NULL;
    const uint8_t *suffix_data = NULL;
    size_t prefixes_len = 0;
    size_t suffixes_len = 0;
    size_t total = 0;
    grebe_status st = GREBE_OK;

    if (prefixes == NULL) {
        return mem_fail(err, scratch_len, "string lengths");
    }
    suffixes = prefixes + n;
    GREBE_TRY(delta_decode_i32(bytes, len, prefixes, n, &prefixes_len, err));
    GREBE_TRY(delta_length_decode((const uint8_t *)bytes + prefixes_len, len - prefixes_len,
                                  suffixes, n, &suffix_data, &suffixes_len, err));
    GREBE_TRY(check_prefixes(options, prefixes, suffixes, n, &total, err));
    GREBE_TRY(buf_reserve(out, total, err));
    join_strings(options, prefixes, suffixes, suffix_data, offsets, n, out->data + out->len);
    assert((size_t)offsets[n] == total);
    out->len += total;
    if (used != NULL) {
        *used = prefixes_len + suffixes_len;
    }
out:
    mem_free(a, prefixes, scratch_len);
    return st;
}

static size_t common_prefix(const uint8_t *x, size_t x_len, const uint8_t *y, size_t y_len)
{
    const size_t max = min_size(x_len, y_len);
    size_t i = 0;

    while (i < max && x[i] == y[i]) {
        i++;
    }
    return i;
}

grebe_status delta_strings_encode(struct buf *dst, const int32_t *offsets, const uint8_t *data,
                                  size_t n, grebe_error *err)
{
    const grebe_allocator *a = dst->a;
    const size_t scratch_len = 2 * n * sizeof(int32_t);
    int32_t *prefixes = mem_alloc(a, scratch_len);
    int32_t *suffixes = NULL;
    grebe_status st = GREBE_OK;

    if (prefixes == NULL) {
        return mem_fail(err, scratch_len, "string lengths");
    }
    suffixes = prefixes + n;
    for (size_t i = 0; i < n; i++) {
        const size_t len = (size_t)(offsets[i + 1] - offsets[i]);
        const size_t before = i > 0 ? (size_t)(offsets[i] - offsets[i - 1]) : 0;

        prefixes[i] = i == 0 ? 0
                             : (int32_t)common_prefix(data + offsets[i - 1], before,
                                                      data + offsets[i], len);
        suffixes[i] = (int32_t)len - prefixes[i];
    }
    GREBE_TRY(delta_encode_i32(dst, prefixes, n, err));
    GREBE_TRY(delta_encode_i32(dst, suffixes, n, err));
    for (size_t i = 0; i < n; i++) {
        if (suffixes[i] > 0) {
            GREBE_TRY(
                buf_put(dst, data + offsets[i] + prefixes[i], (size_t)suffixes[i], err));
        }
    }
out:
    mem_free(a, prefixes, scratch_len);
    return st;
}
