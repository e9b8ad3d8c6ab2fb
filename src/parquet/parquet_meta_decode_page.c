/* SPDX-License-Identifier: Apache-2.0 */
/* Page headers, page indexes, bloom filter headers. */
#include "parquet/parquet_meta.h"

#include <string.h>

#include "parquet/parquet_decoder.h"

/* ---- page headers ---- */

static void get_page_statistics(struct pq_decoder *d, const struct thrift_field *f,
                                struct pq_page_header *h)
{
    if (thrift_get_struct(&d->r, f)) {
        pq_statistics_init(&h->statistics);
        pq_decode_statistics(d, &h->statistics);
        h->has_statistics = true;
    }
}

static void get_page_v1(struct pq_decoder *d, struct pq_page_header *h)
{
    struct thrift_field f = { 0 };
    uint32_t seen = 0;
    while (thrift_field_next(&d->r, &f)) {
        switch (f.id) {
        case 1: seen |= thrift_get_i32(&d->r, &f, &h->num_values) ? pq_field_bit(1) : 0; break;
        case 2: seen |= thrift_get_i32(&d->r, &f, &h->encoding) ? pq_field_bit(2) : 0; break;
        case 3: thrift_get_i32(&d->r, &f, &h->definition_encoding); break;
        case 4: thrift_get_i32(&d->r, &f, &h->repetition_encoding); break;
        case 5: get_page_statistics(d, &f, h); break;
        default: thrift_skip(&d->r, f.type); break;
        }
    }
    pq_decode_require(d, seen, pq_field_bit(1) | pq_field_bit(2),
                      "a data page header lacks num_values or encoding");
}

static void get_page_dictionary(struct pq_decoder *d, struct pq_page_header *h)
{
    struct thrift_field f = { 0 };
    uint32_t seen = 0;
    while (thrift_field_next(&d->r, &f)) {
        switch (f.id) {
        case 1: seen |= thrift_get_i32(&d->r, &f, &h->num_values) ? pq_field_bit(1) : 0; break;
        case 2: seen |= thrift_get_i32(&d->r, &f, &h->encoding) ? pq_field_bit(2) : 0; break;
        case 3: thrift_get_bool(&d->r, &f, &h->is_sorted); break;
        default: thrift_skip(&d->r, f.type); break;
        }
    }
    pq_decode_require(d, seen, pq_field_bit(1) | pq_field_bit(2),
                      "a dictionary page header lacks num_values or encoding");
}

static void get_page_v2(struct pq_decoder *d, struct pq_page_header *h)
{
    struct thrift_field f = { 0 };
    uint32_t seen = 0;
    h->is_compressed = true;
    while (thrift_field_next(&d->r, &f)) {
        switch (f.id) {
        case 1: seen |= thrift_get_i32(&d->r, &f, &h->num_values) ? pq_field_bit(1) : 0; break;
        case 2: thrift_get_i32(&d->r, &f, &h->num_nulls); break;
        case 3: seen |= thrift_get_i32(&d->r, &f, &h->num_rows) ? pq_field_bit(3) : 0; break;
        case 4: seen |= thrift_get_i32(&d->r, &f, &h->encoding) ? pq_field_bit(4) : 0; break;
        case 5:
            seen |= thrift_get_i32(&d->r, &f, &h->definition_length) ? pq_field_bit(5) : 0;
            break;
        case 6:
            seen |= thrift_get_i32(&d->r, &f, &h->repetition_length) ? pq_field_bit(6) : 0;
            break;
        case 7: thrift_get_bool(&d->r, &f, &h->is_compressed); break;
        case 8: get_page_statistics(d, &f, h); break;
        default: thrift_skip(&d->r, f.type); break;
        }
    }
    pq_decode_require(d, seen,
                      pq_field_bit(1) | pq_field_bit(3) | pq_field_bit(4) | pq_field_bit(5) |
                          pq_field_bit(6),
                      "a version 2 data page header lacks a required field");
}

grebe_status pq_page_header_decode(const void *bytes, size_t len, struct pq_page_header *out,
                                   size_t *header_len, grebe_error *err)
{
    struct pq_decoder d = { 0 };
    struct thrift_field f = { 0 };
    uint32_t seen = 0;
    static const int32_t part_of_type[] = { 5, 6, 7, 8 };

    memset(out, 0, sizeof *out);
    *header_len = 0;
    thrift_reader_init(&d.r, bytes, len);
    while (thrift_field_next(&d.r, &f)) {
        bool is_part = f.id == 5 || f.id == 7 || f.id == 8;
        if (is_part && thrift_get_struct(&d.r, &f)) {
            seen |= pq_field_bit(f.id);
            if (f.id == 5) {
                get_page_v1(&d, out);
            } else if (f.id == 7) {
                get_page_dictionary(&d, out);
            } else {
                get_page_v2(&d, out);
            }
            continue;
        }
        switch (f.id) {
        case 1: seen |= thrift_get_i32(&d.r, &f, &out->type) ? pq_field_bit(1) : 0; break;
        case 2:
            seen |= thrift_get_i32(&d.r, &f, &out->uncompressed_size) ? pq_field_bit(2) : 0;
            break;
        case 3:
            seen |= thrift_get_i32(&d.r, &f, &out->compressed_size) ? pq_field_bit(3) : 0;
            break;
        case 4: {
            int32_t crc = 0;
            out->has_crc = thrift_get_i32(&d.r, &f, &crc);
            out->crc = (uint32_t)crc;
            break;
        }
        case 5:
        case 7:
        case 8: break; /* of another type: passed over above */
        default: thrift_skip(&d.r, f.type); break;
        }
    }
    pq_decode_require(&d, seen, pq_field_bit(1) | pq_field_bit(2) | pq_field_bit(3),
                      "a page header lacks its type or sizes");
    bool is_known = out->type >= PQ_PAGE_DATA && out->type <= PQ_PAGE_DATA_V2;
    if (is_known && out->type != PQ_PAGE_INDEX) {
        pq_decode_require(&d, seen, pq_field_bit(part_of_type[out->type]),
                          "a page header lacks the part that its type asks for");
    }
    if (d.r.fault != NULL && d.r.is_short) {
        return GREBE_END;
    }
    *header_len = thrift_consumed(&d.r);
    grebe_status st = pq_decode_finish(&d, "page header", err);
    if (st == GREBE_OK &&
        (out->uncompressed_size < 0 || out->compressed_size < 0 || out->num_values < 0)) {
        st = GREBE_FAIL(err, GREBE_ECORRUPT,
                        "page header: sizes %d and %d, %d values: none may be negative",
                        out->uncompressed_size, out->compressed_size, out->num_values);
    }
    return st;
}

/* ---- page index ---- */

static void get_page_locations(struct pq_decoder *d, const struct thrift_field *list,
                               struct pq_offset_index *out)
{
    uint8_t elem = THRIFT_STRUCT;
    uint32_t n;
    if (!thrift_get_list(&d->r, list, &elem, &n)) {
        return;
    }
    out->offset = pq_decode_array(d, n, sizeof *out->offset);
    out->size = pq_decode_array(d, n, sizeof *out->size);
    out->first_row = pq_decode_array(d, n, sizeof *out->first_row);
    for (uint32_t i = 0; i < n && d->r.fault == NULL; i++) {
        struct thrift_field f = { 0 };
        uint32_t seen = 0;
        while (thrift_field_next(&d->r, &f)) {
            switch (f.id) {
            case 1: seen |= thrift_get_i64(&d->r, &f, &out->offset[i]) ? pq_field_bit(1) : 0; break;
            case 2: seen |= thrift_get_i32(&d->r, &f, &out->size[i]) ? pq_field_bit(2) : 0; break;
            case 3:
                seen |= thrift_get_i64(&d->r, &f, &out->first_row[i]) ? pq_field_bit(3) : 0;
                break;
            default: thrift_skip(&d->r, f.type); break;
            }
        }
        pq_decode_require(d, seen, pq_field_bit(1) | pq_field_bit(2) | pq_field_bit(3),
                          "a page location lacks a field");
    }
    out->n = n;
}

grebe_status pq_offset_index_decode(struct arena *ar, const void *bytes, size_t len,
                                    struct pq_offset_index *out, grebe_error *err)
{
    struct pq_decoder d = { .ar = ar };
    struct thrift_field f = { 0 };
    uint32_t n_unencoded = 0;
    memset(out, 0, sizeof *out);
    thrift_reader_init(&d.r, bytes, len);
    while (thrift_field_next(&d.r, &f)) {
        if (f.id == 1) {
            get_page_locations(&d, &f, out);
        } else if (f.id == 2) {
            out->unencoded_bytes = (int64_t *)pq_decode_i64_list(&d, &f, &n_unencoded);
        } else {
            thrift_skip(&d.r, f.type);
        }
    }
    if (n_unencoded != out->n) {
        out->unencoded_bytes = NULL;
    }
    return pq_decode_finish(&d, "offset index", err);
}

static struct pq_bytes *get_bytes_list(struct pq_decoder *d, const struct thrift_field *f,
                                       uint32_t *n)
{
    uint8_t elem = THRIFT_BINARY;
    if (!thrift_get_list(&d->r, f, &elem, n)) {
        return NULL;
    }
    struct pq_bytes *v = pq_decode_array(d, *n, sizeof *v);
    for (uint32_t i = 0; i < *n && d->r.fault == NULL; i++) {
        thrift_elem_bytes(&d->r, &v[i].data, &v[i].len);
    }
    return v;
}

static bool *get_bool_list(struct pq_decoder *d, const struct thrift_field *f, uint32_t *n)
{
    uint8_t elem = THRIFT_TRUE;
    if (!thrift_get_list(&d->r, f, &elem, n)) {
        return NULL;
    }
    bool *v = pq_decode_array(d, *n, sizeof *v);
    for (uint32_t i = 0; i < *n && d->r.fault == NULL; i++) {
        v[i] = thrift_elem_bool(&d->r);
    }
    return v;
}

grebe_status pq_column_index_decode(struct arena *ar, const void *bytes, size_t len,
                                    struct pq_column_index *out, grebe_error *err)
{
    struct pq_decoder d = { .ar = ar };
    struct thrift_field f = { 0 };
    uint32_t n_min = 0, n_max = 0, n_nulls = 0, n_nans = 0;
    memset(out, 0, sizeof *out);
    thrift_reader_init(&d.r, bytes, len);
    while (thrift_field_next(&d.r, &f)) {
        switch (f.id) {
        case 1: out->null_pages = get_bool_list(&d, &f, &out->n); break;
        case 2: out->min = get_bytes_list(&d, &f, &n_min); break;
        case 3: out->max = get_bytes_list(&d, &f, &n_max); break;
        case 4: thrift_get_i32(&d.r, &f, &out->boundary_order); break;
        case 5: out->null_counts = (int64_t *)pq_decode_i64_list(&d, &f, &n_nulls); break;
        case 6: out->repetition = (int64_t *)pq_decode_i64_list(&d, &f, &out->n_repetition); break;
        case 7: out->definition = (int64_t *)pq_decode_i64_list(&d, &f, &out->n_definition); break;
        case 8: out->nan_counts = (int64_t *)pq_decode_i64_list(&d, &f, &n_nans); break;
        default: thrift_skip(&d.r, f.type); break;
        }
    }
    grebe_status st = pq_decode_finish(&d, "column index", err);
    if (st == GREBE_OK && (n_min != out->n || n_max != out->n)) {
        st = GREBE_FAIL(err, GREBE_ECORRUPT, "column index: %u null flags, %u minima and %u maxima",
                        out->n, n_min, n_max);
    }
    if (st != GREBE_OK) {
        memset(out, 0, sizeof *out);
        return st;
    }
    if (n_nulls != out->n) {
        out->null_counts = NULL;
    }
    if (n_nans != out->n) {
        out->nan_counts = NULL;
    }
    return GREBE_OK;
}

/* Whether the union holds member 1 and nothing else. */
static bool get_is_first_member(struct pq_decoder *d, const struct thrift_field *field)
{
    struct thrift_field f = { 0 };
    bool is_first = false, is_other = false;
    if (!thrift_get_struct(&d->r, field)) {
        return false;
    }
    while (thrift_field_next(&d->r, &f)) {
        is_first = is_first || (f.id == 1 && f.type == THRIFT_STRUCT);
        is_other = is_other || f.id != 1;
        thrift_skip(&d->r, f.type);
    }
    return is_first && !is_other;
}

grebe_status pq_bloom_header_decode(const void *bytes, size_t len, struct pq_bloom_header *out,
                                    size_t *header_len, grebe_error *err)
{
    struct pq_decoder d = { 0 };
    struct thrift_field f = { 0 };
    uint32_t seen = 0;
    memset(out, 0, sizeof *out);
    thrift_reader_init(&d.r, bytes, len);
    while (thrift_field_next(&d.r, &f)) {
        if (f.id == 1) {
            seen |= thrift_get_i32(&d.r, &f, &out->n_bytes) ? pq_field_bit(1) : 0;
        } else if (f.id >= 2 && f.id <= 4) {
            seen |= get_is_first_member(&d, &f) ? pq_field_bit(f.id) : 0;
        } else {
            thrift_skip(&d.r, f.type);
        }
    }
    pq_decode_require(&d, seen, pq_field_bit(1), "a bloom filter header without its size");
    *header_len = thrift_consumed(&d.r);
    out->is_usable = (seen & 30) == 30 && out->n_bytes > 0 && out->n_bytes % 32 == 0 &&
                     out->n_bytes <= PQ_BLOOM_BYTES_MAX;
    return pq_decode_finish(&d, "bloom filter header", err);
}
