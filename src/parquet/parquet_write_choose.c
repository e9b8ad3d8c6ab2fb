/* SPDX-License-Identifier: Apache-2.0 */
/* Which encoding the pages of a chunk get: what was asked for, or what reads fastest and is small. */
#include "parquet/parquet_write_internal.h"

#include <assert.h>

#include "base/checked.h"
#include "codec/bitpack.h"

/*
 * Whether a dictionary of all values pays: few distinct ones in a sample, and a small whole.
 * Input that has a dictionary keeps one, unless it is really large. `limit`: bytes of index and
 * entries beyond which another encoding is better.
 */
static grebe_status try_dictionary(struct pw_dictionary *d, const struct pw_config *config,
                                   size_t limit, bool *is_good, grebe_error *err)
{
    const bool is_asked = (d->c->leaf->is_dictionary && config->dictionary_bytes_max > 0) ||
                          d->c->leaf->encoding == PQ_RLE_DICTIONARY;
    const size_t bytes_max = is_asked ? PW_DICT_ASKED_BYTES_MAX : config->dictionary_bytes_max;
    const int64_t n = d->c->n_values;
    int64_t end = min_i64(n, PW_DICT_SAMPLE);
    if (bytes_max == 0) { /* none are wanted */
        *is_good = false;
        return GREBE_OK;
    }
    grebe_status st = pw_dictionary_add(d, end, err);

    *is_good = n > 0 && (is_asked || ((int64_t)pw_dictionary_count(d) * 2 <= end &&
                                      pw_dictionary_size(d, n) <= limit));
    while (st == GREBE_OK && *is_good && end < n) {
        end = min_i64(n, end + PW_DICT_SAMPLE);
        st = pw_dictionary_add(d, end, err);
        *is_good = d->size_bytes <= bytes_max;
    }
    *is_good = *is_good && d->size_bytes <= bytes_max &&
               (is_asked || pw_dictionary_size(d, n) <= limit);
    return st;
}

size_t pw_dictionary_size(const struct pw_dictionary *d, int64_t n)
{
    const size_t count = pw_dictionary_count(d);
    const unsigned width = bitpack_width(count > 0 ? count - 1 : 0);

    return d->size_bytes + (size_t)bitpack_bytes((uint64_t)n, width);
}

/* What DELTA_BINARY_PACKED makes of the chunk, judged by a stretch in its middle. */
static grebe_status estimate_delta(const struct pw_chunk *c, struct pw_scratch *s, size_t *size,
                                   grebe_error *err)
{
    const int64_t n = min_i64(c->n_values, PW_PAGE_ROWS);
    grebe_status st = GREBE_OK;

    buf_clear(&s->piece);
    st = pw_put_delta(c, (c->n_values - n) / 2, n, &s->piece, err);
    *size = (size_t)((double)s->piece.len * ((double)c->n_values / (double)n));
    return st;
}

/*
 * Numbers: PLAIN is addressed or copied, so the others must save a quarter. Between those two
 * the smaller one: both are decoded at memory speed.
 */
static grebe_status choose_for_numbers(struct pw_chunk *c, const struct pw_config *config,
                                       struct pw_dictionary *d, int32_t *encoding,
                                       grebe_error *err)
{
    const size_t plain = (size_t)pw_plain_size(c, 0, c->n_values);
    size_t best = plain * (100 - PW_SAVING_PCT) / 100;
    size_t delta = 0;
    grebe_status st = GREBE_OK;

    *encoding = PQ_PLAIN;
    if (c->leaf->is_integer) {
        st = estimate_delta(c, d->s, &delta, err);
        if (delta <= best) {
            *encoding = PQ_DELTA_BINARY_PACKED;
            best = delta;
        }
    }
    if (st == GREBE_OK) {
        st = try_dictionary(d, config, best, &c->has_dictionary, err);
    }
    if (c->has_dictionary) {
        *encoding = PQ_RLE_DICTIONARY;
    }
    return st;
}

static grebe_status choose_for_bytes(struct pw_chunk *c, const struct pw_config *config,
                                     struct pw_dictionary *d, int32_t *encoding,
                                     grebe_error *err)
{
    const grebe_status st = try_dictionary(d, config, SIZE_MAX, &c->has_dictionary, err);

    /* pyarrow 26 cannot read DELTA_LENGTH_BYTE_ARRAY into a dictionary type. */
    *encoding = c->has_dictionary         ? PQ_RLE_DICTIONARY
                : c->leaf->is_dictionary ? PQ_PLAIN
                                          : PQ_DELTA_LENGTH_BYTE_ARRAY;
    return st;
}

/* Lists of numbers may be vectors of another length each: no dictionary is tried for floats. */
static bool may_have_dictionary(const struct pw_chunk *c)
{
    const bool is_float = c->leaf->type == PQ_FLOAT || c->leaf->type == PQ_DOUBLE;

    return c->leaf->store == PW_FIXED && c->mode != PW_VECTOR && c->leaf->width >= 4 &&
           !c->leaf->is_blob && !(is_float && c->leaf->max_rep > 0);
}

grebe_status pw_choose_encoding(struct pw_chunk *c, const struct pw_config *config,
                                struct pw_dictionary *d, int32_t *encoding, grebe_error *err)
{
    const int32_t asked = c->leaf->encoding;
    grebe_status st = pw_dictionary_begin(d, c, d->s, err);

    *encoding = asked == PQ_ENCODING_ANY || asked == PQ_RLE_DICTIONARY ? PQ_PLAIN : asked;
    if (st != GREBE_OK || c->n_values == 0 ||
        (asked != PQ_ENCODING_ANY && asked != PQ_RLE_DICTIONARY)) {
        return st;
    }
    if (asked == PQ_RLE_DICTIONARY) {
        st = try_dictionary(d, config, SIZE_MAX, &c->has_dictionary, err);
        *encoding = c->has_dictionary ? PQ_RLE_DICTIONARY : PQ_PLAIN;
    } else if (c->leaf->store == PW_BYTES) {
        st = choose_for_bytes(c, config, d, encoding, err);
    } else if (may_have_dictionary(c)) {
        st = choose_for_numbers(c, config, d, encoding, err);
    }
    return st;
}
