/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The value section of a page, by encoding. Each decoder takes the runs of values that are
 * wanted and appends them; where an encoding can only be read from its start, what lies before
 * the last wanted value is decoded and the rest is not looked at.
 */
#include "parquet/parquet_values.h"

#include <assert.h>
#include <string.h>

#include "base/endian.h"
#include "codec/bitpack.h"
#include "codec/delta.h"
#include "codec/dictionary.h"
#include "codec/rle_hybrid.h"
#include "codec/stream_split.h"

void pq_dictionary_release(struct pq_dictionary *d)
{
    region_drop(d->values);
    region_drop(d->offsets);
    memset(d, 0, sizeof *d);
}

static grebe_status too_few(const struct pq_source *in, size_t needed, grebe_error *err)
{
    return GREBE_FAIL(err, GREBE_ECORRUPT, "%u values need %zu bytes, the page holds %zu",
                      in->n_present, needed, in->len);
}

grebe_status pq_source_wrong_encoding(const struct pq_source *in)
{
    if (in->page->encoding == PQ_ALP || in->page->encoding > PQ_ALP) {
        return GREBE_FAIL(in->err, GREBE_EUNSUPPORTED, "encoding %u (%s) is not known here",
                          in->page->encoding, pq_encoding_name(in->page->encoding));
    }
    return GREBE_FAIL(in->err, GREBE_ECORRUPT, "the encoding %s cannot hold %s",
                      pq_encoding_name(in->page->encoding), pq_type_name(in->c->leaf->type));
}

/* ---- fixed width ---- */

static grebe_status reserve_fixed(struct pq_out *out, int64_t n, grebe_error *err)
{
    uint64_t width = (uint64_t)out->node->width_out;
    uint64_t wanted = (uint64_t)n;
    if (out->values.region == NULL) {
        uint64_t per_row = out->mode == PQ_OUT_LISTS ? out->list_len : 1;
        uint64_t expected = (uint64_t)out->rows_expected * per_row;
        wanted = expected > wanted && expected < UINT32_MAX ? expected : wanted;
    }
    return pq_block_reserve(out, &out->values, wanted * width, err);
}

grebe_status pq_values_append_fixed(struct pq_out *out, const unsigned char *src, int64_t n,
                                    grebe_error *err)
{
    grebe_status st = reserve_fixed(out, n, err);
    if (st == GREBE_OK) {
        st = pq_convert_values(out->node, src, out->values.region->data + out->values.len,
                               (size_t)n, err);
    }
    if (st == GREBE_OK) {
        out->values.len += (size_t)n * (size_t)out->node->width_out;
        out->n_values += n;
    }
    return st;
}

static grebe_status append_runs(const struct pq_source *in, const unsigned char *src,
                                struct pq_out *out)
{
    size_t w = (size_t)out->node->width_in;
    for (size_t i = 0; i < in->n_runs; i++) {
        grebe_status st = pq_values_append_fixed(out, src + (size_t)in->runs[i].begin * w,
                                                 in->runs[i].n, in->err);
        if (st != GREBE_OK) {
            return st;
        }
    }
    return GREBE_OK;
}

/* A place for n_head stored values: the output itself when all of them are wanted as they are. */
static grebe_status fixed_target(const struct pq_source *in, struct pq_out *out, bool *is_direct,
                                 unsigned char **dst)
{
    size_t bytes = in->n_head * (size_t)out->node->width_in;
    *is_direct = out->node->convert == PQ_CONVERT_COPY && in->n_runs == 1 && in->runs[0].begin == 0;
    if (!*is_direct) {
        *dst = pq_space_get(in->s, &in->s->values, bytes, in->err);
        return *dst == NULL ? GREBE_ENOMEM : GREBE_OK;
    }
    grebe_status st = reserve_fixed(out, (int64_t)in->n_head, in->err);
    *dst = st == GREBE_OK ? out->values.region->data + out->values.len : NULL;
    return st;
}

static grebe_status finish_fixed(const struct pq_source *in, struct pq_out *out,
                                 const unsigned char *values, bool is_direct)
{
    if (!is_direct) {
        return append_runs(in, values, out);
    }
    out->values.len += in->n_head * (size_t)out->node->width_out;
    out->n_values += (int64_t)in->n_head;
    return GREBE_OK;
}

static grebe_status read_delta(const struct pq_source *in, struct pq_out *out)
{
    bool is_direct;
    unsigned char *dst;
    grebe_status st = delta_check(in->bytes, in->len, in->n_head, in->err);
    if (st == GREBE_OK) {
        st = fixed_target(in, out, &is_direct, &dst);
    }
    if (st != GREBE_OK) {
        return st;
    }
    st = in->c->leaf->type == PQ_INT32
             ? delta_decode_i32(in->bytes, in->len, (int32_t *)(void *)dst, in->n_head, NULL,
                                in->err)
             : delta_decode_i64(in->bytes, in->len, (int64_t *)(void *)dst, in->n_head, NULL,
                                in->err);
    return st == GREBE_OK ? finish_fixed(in, out, dst, is_direct) : st;
}

static grebe_status read_stream_split(const struct pq_source *in, struct pq_out *out)
{
    size_t w = (size_t)out->node->width_in;
    size_t n = in->n_present;
    if (in->len != n * w) {
        return too_few(in, n * w, in->err);
    }
    if (in->n_wanted * 8 < n) {
        /* A few values: byte k of value i is at k * n + i. */
        unsigned char *one = pq_space_get(in->s, &in->s->values, w, in->err);
        grebe_status st = one == NULL ? GREBE_ENOMEM : GREBE_OK;
        for (size_t r = 0; r < in->n_runs; r++) {
            for (int64_t i = 0; i < in->runs[r].n && st == GREBE_OK; i++) {
                size_t at = (size_t)(in->runs[r].begin + i);
                for (size_t k = 0; k < w; k++) {
                    one[k] = in->bytes[k * n + at];
                }
                st = pq_values_append_fixed(out, one, 1, in->err);
            }
        }
        return st;
    }
    unsigned char *all = pq_space_get(in->s, &in->s->values, n * w, in->err);
    if (all == NULL) {
        return GREBE_ENOMEM;
    }
    grebe_status st = stream_split_decode(in->bytes, in->len, w, all, n, in->err);
    return st == GREBE_OK ? append_runs(in, all, out) : st;
}

grebe_status pq_source_delta_strings(const struct pq_source *in, const struct pq_out *out,
                                   size_t fixed_len, int32_t **offsets, struct buf *bytes)
{
    struct delta_strings_options options = { .output_limit = 1 << 30, .fixed_len = fixed_len };
    if (options.output_limit > out->limit_bytes) {
        options.output_limit = (size_t)out->limit_bytes;
    }
    grebe_status st = delta_check(in->bytes, in->len, in->n_head, in->err); /* the prefixes */
    if (st != GREBE_OK) {
        return st;
    }
    *offsets = pq_space_get(in->s, &in->s->offsets, (in->n_head + 1) * sizeof **offsets, in->err);
    if (*offsets == NULL) {
        return GREBE_ENOMEM;
    }
    return delta_strings_decode(in->bytes, in->len, &options, *offsets, in->n_head, bytes, NULL,
                                in->err);
}

static grebe_status read_delta_fixed(const struct pq_source *in, struct pq_out *out)
{
    struct buf bytes = BUF_INIT(in->s->a);
    int32_t *offsets = NULL;
    grebe_status st = pq_source_delta_strings(in, out, (size_t)out->node->width_in, &offsets, &bytes);
    if (st == GREBE_OK) {
        st = append_runs(in, bytes.data, out);
    }
    buf_release(&bytes);
    return st;
}

/* ---- dictionary ---- */

static grebe_status load_fixed_dictionary(const struct pq_source *in, const unsigned char *bytes,
                                          size_t len, struct pq_out *out, struct pq_dictionary *d)
{
    size_t w = (size_t)out->node->width_in;
    uint64_t n = in->c->pages->dictionary.n_values;
    if (n * w > len) {
        return GREBE_FAIL(in->err, GREBE_ECORRUPT,
                          "dictionary of %llu entries of %zu bytes in %zu bytes",
                          (unsigned long long)n, w, len);
    }
    d->n = (uint32_t)n;
    grebe_status st =
        region_new(in->s->a, (size_t)n * (size_t)out->node->width_out, &d->values, in->err);
    return st == GREBE_OK ? pq_convert_values(out->node, bytes, d->values->data, (size_t)n, in->err)
                          : st;
}

static grebe_status load_string_dictionary(const struct pq_source *in, const unsigned char *bytes,
                                           size_t len, struct pq_dictionary *d)
{
    uint64_t n = in->c->pages->dictionary.n_values;
    if (n * 4 > len || len > INT32_MAX) {
        return GREBE_FAIL(in->err, GREBE_ECORRUPT, "dictionary of %llu strings in %zu bytes",
                          (unsigned long long)n, len);
    }
    grebe_status st = region_new(in->s->a, (size_t)(n + 1) * sizeof(int32_t), &d->offsets, in->err);
    if (st == GREBE_OK) {
        /* Not len - 4 * n: entries before the one that turns out to be too long may fill the page.
         */
        st = region_new(in->s->a, len, &d->values, in->err);
    }
    if (st != GREBE_OK) {
        return st;
    }
    int32_t *offsets = (int32_t *)(void *)d->offsets->data;
    size_t at = 0, total = 0;
    offsets[0] = 0;
    for (uint64_t i = 0; i < n; i++) {
        uint32_t size = len - at >= 4 ? load_le32(bytes + at) : UINT32_MAX;
        if (len - at < 4 || size > len - at - 4) {
            return GREBE_FAIL(in->err, GREBE_ECORRUPT,
                              "dictionary entry %llu of %llu ends beyond the page",
                              (unsigned long long)i, (unsigned long long)n);
        }
        at += 4;
        memcpy(d->values->data + total, bytes + at, size);
        at += size;
        total += size;
        offsets[i + 1] = (int32_t)total;
    }
    d->n = (uint32_t)n;
    return GREBE_OK;
}

static grebe_status load_dictionary(const struct pq_source *in, struct pq_out *out,
                                    struct pq_dictionary *d)
{
    const unsigned char *bytes;
    size_t len;
    /* The page being read may lie in scratch->body: the dictionary gets its own memory. */
    struct pq_space body = in->s->body;
    in->s->body = (struct pq_space){ NULL, 0 };
    grebe_status st = pq_dictionary_read(in->c, in->s, &bytes, &len, in->err);
    if (st == GREBE_OK) {
        st = out->offset_width > 0 ? load_string_dictionary(in, bytes, len, d)
                                   : load_fixed_dictionary(in, bytes, len, out, d);
    }
    mem_free_aligned(in->s->a, in->s->body.p, in->s->body.capacity, MEM_ALIGN_VECTOR);
    in->s->body = body;
    d->is_loaded = st == GREBE_OK;
    if (st != GREBE_OK) {
        pq_dictionary_release(d);
    }
    return pq_page_wrap(in->c, &in->c->pages->dictionary, st, in->err);
}

/* The first n_head indices, each checked against the dictionary. */
grebe_status pq_source_indices(const struct pq_source *in, struct pq_out *out,
                                 struct pq_dictionary *d, uint32_t **index)
{
    grebe_status st = GREBE_OK;
    if (!in->c->pages->has_dictionary) {
        return GREBE_FAIL(in->err, GREBE_ECORRUPT, "dictionary indices without a dictionary page");
    }
    if (!d->is_loaded) {
        st = load_dictionary(in, out, d);
        if (st != GREBE_OK) {
            return st;
        }
    }
    *index = pq_space_get(in->s, &in->s->index, in->n_head * sizeof **index, in->err);
    if (*index == NULL) {
        return GREBE_ENOMEM;
    }
    if (in->n_head == 0) {
        return GREBE_OK;
    }
    /* An empty body stands for a dictionary of one entry. */
    unsigned width = in->len > 0 ? in->bytes[0] : 0;
    if (width > 32 || d->n == 0) {
        return GREBE_FAIL(in->err, GREBE_ECORRUPT, "indices of %u bits into a dictionary of %u",
                          width, d->n);
    }
    const unsigned char *runs = in->len > 0 ? in->bytes + 1 : NULL;
    return rle_decode_u32(runs, in->len > 0 ? in->len - 1 : 0, width, d->n - 1, *index, in->n_head,
                          NULL, in->err);
}

static grebe_status read_dictionary_fixed(const struct pq_source *in, struct pq_out *out,
                                          struct pq_dictionary *d)
{
    uint32_t *index = NULL;
    size_t w = (size_t)out->node->width_out;
    grebe_status st = pq_source_indices(in, out, d, &index);
    if (st == GREBE_OK) {
        st = reserve_fixed(out, (int64_t)in->n_wanted, in->err);
    }
    if (st != GREBE_OK) {
        return st;
    }
    for (size_t i = 0; i < in->n_runs; i++) {
        size_t n = (size_t)in->runs[i].n;
        dictionary_gather(d->values->data, w, index + in->runs[i].begin, n,
                          out->values.region->data + out->values.len);
        out->values.len += n * w;
    }
    out->n_values += (int64_t)in->n_wanted;
    return GREBE_OK;
}

/* ---- booleans ---- */

static grebe_status read_bits(const struct pq_source *in, struct pq_out *out)
{
    const uint8_t *bits = in->bytes;
    grebe_status st = GREBE_OK;
    if (in->page->encoding == PQ_RLE) {
        uint32_t len = in->len >= 4 ? load_le32(in->bytes) : 0;
        if (in->n_head > 0 && (in->len < 4 || len > in->len - 4)) {
            return GREBE_FAIL(in->err, GREBE_ECORRUPT, "booleans of %u bytes in a page of %zu", len,
                              in->len);
        }
        uint8_t *decoded = pq_space_get(in->s, &in->s->bits, (in->n_head + 7) / 8, in->err);
        if (decoded == NULL) {
            return GREBE_ENOMEM;
        }
        if (in->n_head > 0) {
            st = rle_decode_bits(in->bytes + 4, len, decoded, in->n_head, in->err);
        }
        bits = decoded;
    } else if (in->page->encoding != PQ_PLAIN) {
        return pq_source_wrong_encoding(in);
    } else if (in->len < ((size_t)in->n_present + 7) / 8) {
        return too_few(in, ((size_t)in->n_present + 7) / 8, in->err);
    }
    if (st == GREBE_OK) {
        size_t bytes = bitmap_bytes(out->n_values + (int64_t)in->n_wanted);
        size_t expected = bitmap_bytes(out->rows_expected);
        size_t extra = bytes - out->values.len;
        if (out->values.region == NULL && expected > extra && out->mode == PQ_OUT_FLAT) {
            extra = expected;
        }
        st = pq_block_reserve(out, &out->values, extra, in->err);
    }
    for (size_t r = 0; r < in->n_runs && st == GREBE_OK; r++) {
        bitmap_copy(out->values.region->data, out->n_values, bits, in->runs[r].begin,
                    in->runs[r].n);
        out->n_values += in->runs[r].n;
        out->values.len = bitmap_bytes(out->n_values);
    }
    return st;
}

/* ---- by type and encoding (spec 5.1) ---- */

static grebe_status read_fixed(const struct pq_source *in, struct pq_out *out, struct pq_dictionary *d)
{
    int32_t type = in->c->leaf->type;
    bool is_int = type == PQ_INT32 || type == PQ_INT64;
    switch (in->page->encoding) {
    case PQ_PLAIN:
        if (in->len / (size_t)out->node->width_in < in->n_present) {
            return too_few(in, (size_t)in->n_present * (size_t)out->node->width_in, in->err);
        }
        return append_runs(in, in->bytes, out);
    case PQ_PLAIN_DICTIONARY:
    case PQ_RLE_DICTIONARY: return read_dictionary_fixed(in, out, d);
    case PQ_DELTA_BINARY_PACKED: return is_int ? read_delta(in, out) : pq_source_wrong_encoding(in);
    case PQ_BYTE_STREAM_SPLIT:
        return type == PQ_INT96 ? pq_source_wrong_encoding(in) : read_stream_split(in, out);
    case PQ_DELTA_BYTE_ARRAY:
        return type == PQ_FIXED ? read_delta_fixed(in, out) : pq_source_wrong_encoding(in);
    default: return pq_source_wrong_encoding(in);
    }
}

grebe_status pq_values_append(const struct pq_chunk_data *c, struct pq_dictionary *dictionary,
                              const struct pq_page *page, const unsigned char *values,
                              size_t values_len, uint32_t n_present, const struct pq_run *runs,
                              size_t n_runs, struct pq_scratch *s, struct pq_out *out,
                              grebe_error *err)
{
    struct pq_source in = { .c = c,
                         .page = page,
                         .bytes = values,
                         .len = values_len,
                         .n_present = n_present,
                         .runs = runs,
                         .n_runs = n_runs,
                         .s = s,
                         .err = err };
    for (size_t i = 0; i < n_runs; i++) {
        assert(runs[i].begin >= 0 && runs[i].begin + runs[i].n <= (int64_t)n_present);
        int64_t end = runs[i].begin + runs[i].n;
        in.n_wanted += (size_t)runs[i].n;
        in.n_head = (size_t)end > in.n_head ? (size_t)end : in.n_head;
    }
    if (out->node->convert == PQ_CONVERT_NULL) {
        out->n_values += (int64_t)in.n_wanted; /* annotated as always null: what is stored says nothing */
        return GREBE_OK;
    }
    if (in.n_wanted == 0) {
        return GREBE_OK;
    }
    if (out->offset_width > 0) {
        return pq_values_read_strings(&in, out, dictionary);
    }
    return out->node->convert == PQ_CONVERT_BOOL ? read_bits(&in, out)
                                                 : read_fixed(&in, out, dictionary);
}
