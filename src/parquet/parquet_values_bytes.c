/* SPDX-License-Identifier: Apache-2.0 */
/* Byte strings, by encoding: offsets and the bytes they lead to. */
#include "parquet/parquet_values.h"

#include <assert.h>
#include <string.h>

#include "base/endian.h"
#include "codec/delta.h"

/* Short strings are copied with one wide store of so many bytes, and the store may reach beyond the last
 * of them: room for it is reserved too. */
enum { PLAIN_COPY = 32, DICTIONARY_COPY = 16 };

/* ---- room ---- */

/* Bytes to begin with: what all rows will take if they go on like these, so that blocks are not copied
 * while they grow. No more than chunks honestly inflate to. */
static uint64_t first_bytes(const struct pq_source *in, const struct pq_out *out, uint64_t n,
                            uint64_t bytes)
{
    enum { INFLATE_MAX = 64 };
    double rows = (double)out->rows_expected;
    double most = (double)in->c->len * INFLATE_MAX;
    double all = n == 0 ? 0 : (double)bytes / (double)n * rows * 1.05;
    all = all < most ? all : most;
    all = out->offset_width == 4 && all > INT32_MAX ? INT32_MAX : all;
    all = all < (double)out->limit_bytes ? all : (double)out->limit_bytes;
    return all > (double)bytes ? (uint64_t)all : bytes;
}

/* Room for n strings of `bytes` in all and `spare` bytes behind them, which offsets need not reach; the
 * first offset is there afterwards. */
static grebe_status reserve_strings(const struct pq_source *in, struct pq_out *out, uint64_t n,
                                    uint64_t bytes, uint64_t spare)
{
    grebe_error *err = in->err;
    size_t w = (size_t)out->offset_width;
    if (w == 4 && out->values.len + bytes > INT32_MAX) {
        return GREBE_FAIL(err, GREBE_ELIMIT,
                          "%llu bytes of strings at once, 32-bit offsets end at %d",
                          (unsigned long long)(out->values.len + bytes), INT32_MAX);
    }
    uint64_t n_offsets = n + 1;
    if (out->offsets.region == NULL && (uint64_t)out->rows_expected > n &&
        out->mode == PQ_OUT_FLAT) {
        n_offsets = (uint64_t)out->rows_expected + 1;
        bytes = out->values.region == NULL ? first_bytes(in, out, n, bytes) : bytes;
    }
    grebe_status st = pq_block_reserve(out, &out->offsets, n_offsets * w, err);
    if (st == GREBE_OK) {
        st = pq_block_reserve(out, &out->values, bytes + spare, err);
    }
    if (st == GREBE_OK && out->offsets.len == 0) {
        memset(out->offsets.region->data, 0, w);
        out->offsets.len = w;
    }
    return st;
}

/* After reserve_strings: the next offset, past what was appended to `values`. */
static inline void end_string(struct pq_out *out)
{
    if (out->offset_width == 4) {
        int32_t v = (int32_t)out->values.len;
        memcpy(out->offsets.region->data + out->offsets.len, &v, 4);
    } else {
        int64_t v = (int64_t)out->values.len;
        memcpy(out->offsets.region->data + out->offsets.len, &v, 8);
    }
    out->offsets.len += (size_t)out->offset_width;
    out->n_values++;
}

static inline void append_string(struct pq_out *out, const unsigned char *p, size_t len)
{
    memcpy(out->values.region->data + out->values.len, p, len);
    out->values.len += len;
    end_string(out);
}

/* Strings that lie one after another with their offsets: a copy and an addition. */
static grebe_status append_string_runs(const struct pq_source *in, const int32_t *offsets,
                                       const unsigned char *data, struct pq_out *out)
{
    uint64_t total = 0;
    for (size_t r = 0; r < in->n_runs; r++) {
        total +=
            (uint64_t)(offsets[in->runs[r].begin + in->runs[r].n] - offsets[in->runs[r].begin]);
    }
    grebe_status st = reserve_strings(in, out, in->n_wanted, total, 0);
    for (size_t r = 0; r < in->n_runs && st == GREBE_OK; r++) {
        const int32_t *from = offsets + in->runs[r].begin;
        size_t n = (size_t)in->runs[r].n;
        size_t len = (size_t)(from[n] - from[0]);
        int64_t shift = (int64_t)out->values.len - from[0];
        memcpy(out->values.region->data + out->values.len, data + from[0], len);
        if (out->offset_width == 4) {
            int32_t *to = (int32_t *)(void *)(out->offsets.region->data + out->offsets.len);
            for (size_t i = 0; i < n; i++) {
                to[i] = (int32_t)(from[i + 1] + shift);
            }
        } else {
            int64_t *to = (int64_t *)(void *)(out->offsets.region->data + out->offsets.len);
            for (size_t i = 0; i < n; i++) {
                to[i] = from[i + 1] + shift;
            }
        }
        out->values.len += len;
        out->offsets.len += n * (size_t)out->offset_width;
        out->n_values += (int64_t)n;
    }
    return st;
}

static inline bool has_room(const struct pq_out *out, size_t len)
{
    bool fits = out->offset_width == 8 || out->values.len + len <= INT32_MAX;
    return fits && out->values.region->len - out->values.len >= len &&
           out->offsets.region->len - out->offsets.len >= (size_t)out->offset_width;
}

static grebe_status plain_beyond(const struct pq_source *in, int64_t i)
{
    return GREBE_FAIL(in->err, GREBE_ECORRUPT, "string %lld of %u ends beyond the page's %zu bytes",
                      (long long)i, in->n_present, in->len);
}

/* Move *at over n strings, the first of which is number i. */
static grebe_status skip_plain(const struct pq_source *in, size_t *at, int64_t i, int64_t n)
{
    size_t p = *at;
    for (int64_t end = i + n; i < end; i++) {
        uint32_t size = in->len - p >= 4 ? load_le32(in->bytes + p) : UINT32_MAX;
        if (in->len - p < 4 || size > in->len - p - 4) {
            return plain_beyond(in, i);
        }
        p += 4 + (size_t)size;
    }
    *at = p;
    return GREBE_OK;
}

/* Strings [i, i + n) at *at, for which the output has offsets and the bytes that the page holds from *at
 * on, and PLAIN_COPY more: locals, because bytes alias everything. */
static grebe_status copy_plain(const struct pq_source *in, size_t *at, int64_t i, int64_t n,
                               struct pq_out *out)
{
    const unsigned char *bytes = in->bytes;
    const size_t len = in->len;
    unsigned char *dst = out->values.region->data;
    unsigned char *offsets = out->offsets.region->data + out->offsets.len;
    const size_t width = (size_t)out->offset_width;
    size_t end = out->values.len;
    size_t p = *at;
    assert(out->values.region->len - end >= len - p + PLAIN_COPY);
    for (int64_t k = 0; k < n; k++) {
        uint32_t size = len - p >= 4 ? load_le32(bytes + p) : UINT32_MAX;
        if (len - p < 4 || size > len - p - 4) {
            return plain_beyond(in, i + k);
        }
        p += 4;
        if (size <= PLAIN_COPY && len - p >= PLAIN_COPY) {
            memcpy(dst + end, bytes + p, PLAIN_COPY);
        } else {
            memcpy(dst + end, bytes + p, size);
        }
        p += size;
        end += size;
        if (width == 4) {
            uint32_t v = (uint32_t)end;
            memcpy(offsets + 4 * k, &v, 4);
        } else {
            uint64_t v = end;
            memcpy(offsets + 8 * k, &v, 8);
        }
    }
    out->values.len = end;
    out->offsets.len += (size_t)n * width;
    out->n_values += n;
    *at = p;
    return GREBE_OK;
}

/* One string after another with room found for each: where few of a page are wanted. */
static grebe_status append_plain(const struct pq_source *in, size_t *at, int64_t i, int64_t n,
                                 struct pq_out *out)
{
    for (int64_t end = i + n; i < end; i++) {
        const size_t p = *at;
        grebe_status st = skip_plain(in, at, i, 1);
        size_t size = *at - p - 4;
        if (st == GREBE_OK && !has_room(out, size)) {
            st = reserve_strings(in, out, 1, size, 0);
        }
        if (st != GREBE_OK) {
            return st;
        }
        append_string(out, in->bytes + p + 4, size);
    }
    return GREBE_OK;
}

static grebe_status read_plain_strings(const struct pq_source *in, struct pq_out *out)
{
    size_t at = 0, run_at = 0;
    int64_t i = 0;
    /* All strings of the page together cannot be longer than it; a few are reserved as they come. */
    bool are_few = in->n_wanted * 8 < in->n_head;
    bool is_reserved = !are_few && (out->offset_width == 8 || out->values.len + in->len <= INT32_MAX);
    for (size_t r = 1; r < in->n_runs; r++) { /* one that is taken twice makes them longer */
        is_reserved = is_reserved && in->runs[r].begin >= in->runs[r - 1].begin + in->runs[r - 1].n;
    }
    grebe_status st =
        reserve_strings(in, out, in->n_wanted, is_reserved ? in->len : 0,
                        is_reserved ? PLAIN_COPY : 0);
    for (size_t r = 0; r < in->n_runs && st == GREBE_OK; r++) {
        int64_t begin = in->runs[r].begin;
        if (begin < i) { /* values that the run before took too: go back to where it began */
            i = in->runs[r - 1].begin;
            at = run_at;
        }
        st = skip_plain(in, &at, i, begin - i);
        run_at = at;
        if (st == GREBE_OK) {
            st = is_reserved ? copy_plain(in, &at, begin, in->runs[r].n, out)
                             : append_plain(in, &at, begin, in->runs[r].n, out);
        }
        i = begin + in->runs[r].n;
    }
    return st;
}

static grebe_status read_delta_lengths(const struct pq_source *in, struct pq_out *out)
{
    const uint8_t *data = NULL;
    grebe_status st = delta_check(in->bytes, in->len, in->n_head, in->err);
    if (st != GREBE_OK) {
        return st;
    }
    int32_t *offsets =
        pq_space_get(in->s, &in->s->offsets, (in->n_head + 1) * sizeof *offsets, in->err);
    if (offsets == NULL) {
        return GREBE_ENOMEM;
    }
    st = delta_length_decode(in->bytes, in->len, offsets, in->n_head, &data, NULL, in->err);
    return st == GREBE_OK ? append_string_runs(in, offsets, data, out) : st;
}

static grebe_status read_delta_strings(const struct pq_source *in, struct pq_out *out)
{
    struct buf bytes = BUF_INIT(in->s->a);
    int32_t *offsets = NULL;
    grebe_status st = pq_source_delta_strings(in, out, 0, &offsets, &bytes);
    if (st == GREBE_OK) {
        static const unsigned char none[1] = { 0 };
        st = append_string_runs(in, offsets, bytes.data == NULL ? none : bytes.data, out);
    }
    buf_release(&bytes);
    return st;
}

/* Strings of a dictionary, reserved already with DICTIONARY_COPY bytes to spare: short ones are copied with
 * one wide store. Offsets of 32 bits, the usual case, go through locals that bytes cannot alias. */
static void gather_strings(const struct pq_dictionary *d, const uint32_t *at, size_t n,
                           struct pq_out *out)
{
    const int32_t *offsets = (const int32_t *)(const void *)d->offsets->data;
    const unsigned char *from = d->values->data;
    if (out->offset_width != 4) {
        for (size_t i = 0; i < n; i++) {
            append_string(out, from + offsets[at[i]],
                          (size_t)(offsets[at[i] + 1] - offsets[at[i]]));
        }
        return;
    }
    unsigned char *dst = out->values.region->data;
    int32_t *ends = (int32_t *)(void *)(out->offsets.region->data + out->offsets.len);
    size_t end = out->values.len;
    for (size_t i = 0; i < n; i++) {
        int32_t begin = offsets[at[i]];
        size_t len = (size_t)(offsets[at[i] + 1] - begin);
        if (len <= DICTIONARY_COPY) {
            memcpy(dst + end, from + begin, DICTIONARY_COPY);
        } else {
            memcpy(dst + end, from + begin, len);
        }
        end += len;
        ends[i] = (int32_t)end;
    }
    assert(n == 0 || out->values.region->len - end >= DICTIONARY_COPY);
    out->values.len = end;
    out->offsets.len += n * sizeof *ends;
    out->n_values += (int64_t)n;
}

static grebe_status read_dictionary_strings(const struct pq_source *in, struct pq_out *out,
                                            struct pq_dictionary *d)
{
    uint32_t *index = NULL;
    uint64_t total = 0;
    grebe_status st = pq_source_indices(in, out, d, &index);
    if (st != GREBE_OK) {
        return st;
    }
    const int32_t *offsets = (const int32_t *)(const void *)d->offsets->data;
    for (size_t r = 0; r < in->n_runs; r++) {
        const uint32_t *at = index + in->runs[r].begin;
        size_t n = (size_t)in->runs[r].n;
        uint64_t sum = 0;
        for (size_t i = 0; i < n; i++) {
            sum += (uint32_t)(offsets[at[i] + 1] - offsets[at[i]]);
        }
        total += sum;
    }
    st = reserve_strings(in, out, in->n_wanted, total, DICTIONARY_COPY);
    for (size_t r = 0; r < in->n_runs && st == GREBE_OK; r++) {
        gather_strings(d, index + in->runs[r].begin, (size_t)in->runs[r].n, out);
    }
    return st;
}

grebe_status pq_values_read_strings(const struct pq_source *in, struct pq_out *out,
                                 struct pq_dictionary *d)
{
    switch (in->page->encoding) {
    case PQ_PLAIN: return read_plain_strings(in, out);
    case PQ_PLAIN_DICTIONARY:
    case PQ_RLE_DICTIONARY: return read_dictionary_strings(in, out, d);
    case PQ_DELTA_LENGTH_BYTE_ARRAY: return read_delta_lengths(in, out);
    case PQ_DELTA_BYTE_ARRAY: return read_delta_strings(in, out);
    default: return pq_source_wrong_encoding(in);
    }
}
