/* SPDX-License-Identifier: Apache-2.0 */
#include "parquet/parquet_meta.h"

#include <assert.h>

#include "wire/thrift.h"

static void put_opt_bytes(struct thrift_writer *w, int32_t id, struct pq_bytes b)
{
    if (b.data != NULL) {
        thrift_put_bytes(w, id, b.data, b.len);
    }
}

static void put_opt_i32(struct thrift_writer *w, int32_t id, int32_t v)
{
    if (v >= 0) {
        thrift_put_i32(w, id, v);
    }
}

static void put_opt_i64(struct thrift_writer *w, int32_t id, int64_t v)
{
    if (v >= 0) {
        thrift_put_i64(w, id, v);
    }
}

static void put_i64_list(struct thrift_writer *w, int32_t id, const int64_t *v, uint32_t n)
{
    if (v == NULL) {
        return;
    }
    thrift_put_list(w, id, THRIFT_I64, n);
    for (uint32_t i = 0; i < n; i++) {
        thrift_add_i64(w, v[i]);
    }
}

static void put_key_values(struct thrift_writer *w, int32_t id, const struct pq_key_value *kv,
                           uint32_t n)
{
    if (n == 0) {
        return;
    }
    thrift_put_list(w, id, THRIFT_STRUCT, n);
    for (uint32_t i = 0; i < n; i++) {
        thrift_add_struct(w);
        thrift_put_bytes(w, 1, kv[i].key.data, kv[i].key.len);
        put_opt_bytes(w, 2, kv[i].value);
        thrift_end_struct(w);
    }
}

static void put_empty_struct(struct thrift_writer *w, int32_t id)
{
    thrift_put_struct(w, id);
    thrift_end_struct(w);
}

static void put_logical(struct thrift_writer *w, const struct pq_logical *l)
{
    thrift_put_struct(w, l->kind);
    switch (l->kind) {
    case PQ_LOGICAL_DECIMAL:
        thrift_put_i32(w, 1, l->scale);
        thrift_put_i32(w, 2, l->precision);
        break;
    case PQ_LOGICAL_TIME:
    case PQ_LOGICAL_TIMESTAMP:
        assert(l->unit >= PQ_MILLIS && l->unit <= PQ_NANOS);
        thrift_put_bool(w, 1, l->is_utc);
        thrift_put_struct(w, 2);
        put_empty_struct(w, l->unit);
        thrift_end_struct(w);
        break;
    case PQ_LOGICAL_INTEGER:
        thrift_put_i8(w, 1, l->bit_width);
        thrift_put_bool(w, 2, l->is_signed);
        break;
    case PQ_LOGICAL_VARIANT:
        if (l->version != 0) {
            thrift_put_i8(w, 1, l->version);
        }
        break;
    case PQ_LOGICAL_GEOMETRY:
    case PQ_LOGICAL_GEOGRAPHY:
        put_opt_bytes(w, 1, l->crs);
        if (l->kind == PQ_LOGICAL_GEOGRAPHY) {
            put_opt_i32(w, 2, l->algorithm);
        }
        break;
    default: break;
    }
    thrift_end_struct(w);
}

static void put_schema_element(struct thrift_writer *w, const struct pq_schema_element *e)
{
    put_opt_i32(w, 1, e->type);
    if (e->type_length > 0) {
        thrift_put_i32(w, 2, e->type_length);
    }
    put_opt_i32(w, 3, e->repetition);
    thrift_put_bytes(w, 4, e->name.data, e->name.len);
    put_opt_i32(w, 5, e->n_children);
    put_opt_i32(w, 6, e->converted);
    put_opt_i32(w, 7, e->scale);
    put_opt_i32(w, 8, e->precision);
    if (e->has_field_id) {
        thrift_put_i32(w, 9, e->field_id);
    }
    if (e->logical.kind != PQ_LOGICAL_NONE) {
        thrift_put_struct(w, 10);
        put_logical(w, &e->logical);
        thrift_end_struct(w);
    }
}

static void put_statistics(struct thrift_writer *w, int32_t id, const struct pq_statistics *s)
{
    thrift_put_struct(w, id);
    put_opt_bytes(w, 1, s->legacy_max);
    put_opt_bytes(w, 2, s->legacy_min);
    put_opt_i64(w, 3, s->null_count);
    put_opt_i64(w, 4, s->distinct_count);
    put_opt_bytes(w, 5, s->max_value);
    put_opt_bytes(w, 6, s->min_value);
    if (s->is_max_exact >= 0) {
        thrift_put_bool(w, 7, s->is_max_exact != 0);
    }
    if (s->is_min_exact >= 0) {
        thrift_put_bool(w, 8, s->is_min_exact != 0);
    }
    put_opt_i64(w, 9, s->nan_count);
    thrift_end_struct(w);
}

static void put_size_statistics(struct thrift_writer *w, int32_t id,
                                const struct pq_size_statistics *s)
{
    thrift_put_struct(w, id);
    put_opt_i64(w, 1, s->unencoded_bytes);
    put_i64_list(w, 2, s->repetition, s->n_repetition);
    put_i64_list(w, 3, s->definition, s->n_definition);
    thrift_end_struct(w);
}

static void put_column_metadata(struct thrift_writer *w, const struct pq_chunk *c)
{
    thrift_put_struct(w, 3);
    thrift_put_i32(w, 1, c->type);
    thrift_put_list(w, 2, THRIFT_I32, (size_t)c->n_encodings);
    for (int32_t i = 0; i < c->n_encodings; i++) {
        thrift_add_i32(w, c->encodings[i]);
    }
    thrift_put_list(w, 3, THRIFT_BINARY, (size_t)c->n_path);
    for (int32_t i = 0; i < c->n_path; i++) {
        thrift_add_bytes(w, c->path[i].data, c->path[i].len);
    }
    thrift_put_i32(w, 4, c->codec);
    thrift_put_i64(w, 5, c->num_values);
    thrift_put_i64(w, 6, c->total_uncompressed_size);
    thrift_put_i64(w, 7, c->total_compressed_size);
    put_key_values(w, 8, c->key_values, (uint32_t)c->n_key_values);
    thrift_put_i64(w, 9, c->data_page_offset);
    if (c->dictionary_page_offset > 0) {
        thrift_put_i64(w, 11, c->dictionary_page_offset);
    }
    if (c->has_statistics) {
        put_statistics(w, 12, &c->statistics);
    }
    if (c->n_encoding_stats > 0) {
        thrift_put_list(w, 13, THRIFT_STRUCT, (size_t)c->n_encoding_stats);
        for (int32_t i = 0; i < c->n_encoding_stats; i++) {
            thrift_add_struct(w);
            thrift_put_i32(w, 1, c->encoding_stats[i].page_type);
            thrift_put_i32(w, 2, c->encoding_stats[i].encoding);
            thrift_put_i32(w, 3, c->encoding_stats[i].count);
            thrift_end_struct(w);
        }
    }
    if (c->bloom_filter_offset > 0) {
        thrift_put_i64(w, 14, c->bloom_filter_offset);
        if (c->bloom_filter_length > 0) {
            thrift_put_i32(w, 15, c->bloom_filter_length);
        }
    }
    if (c->has_size_statistics) {
        put_size_statistics(w, 16, &c->size_statistics);
    }
    thrift_end_struct(w);
}

static void put_chunk(struct thrift_writer *w, const struct pq_chunk *c)
{
    assert(!c->is_encrypted && c->file_path.data == NULL);
    thrift_add_struct(w);
    thrift_put_i64(w, 2, 0); /* file_offset: deprecated, 0 by the format's own advice */
    if (c->has_metadata) {
        put_column_metadata(w, c);
    }
    if (c->offset_index_offset > 0) {
        thrift_put_i64(w, 4, c->offset_index_offset);
        thrift_put_i32(w, 5, c->offset_index_length);
    }
    if (c->column_index_offset > 0) {
        thrift_put_i64(w, 6, c->column_index_offset);
        thrift_put_i32(w, 7, c->column_index_length);
    }
    thrift_end_struct(w);
}

static void put_row_group(struct thrift_writer *w, const struct pq_row_group *g)
{
    thrift_add_struct(w);
    thrift_put_list(w, 1, THRIFT_STRUCT, g->n_columns);
    for (uint32_t i = 0; i < g->n_columns; i++) {
        put_chunk(w, &g->columns[i]);
    }
    thrift_put_i64(w, 2, g->total_byte_size);
    thrift_put_i64(w, 3, g->num_rows);
    if (g->n_sorting > 0) {
        thrift_put_list(w, 4, THRIFT_STRUCT, g->n_sorting);
        for (uint32_t i = 0; i < g->n_sorting; i++) {
            thrift_add_struct(w);
            thrift_put_i32(w, 1, g->sorting[i].column);
            thrift_put_bool(w, 2, g->sorting[i].is_descending);
            thrift_put_bool(w, 3, g->sorting[i].nulls_first);
            thrift_end_struct(w);
        }
    }
    put_opt_i64(w, 5, g->file_offset);
    put_opt_i64(w, 6, g->total_compressed_size);
    if (g->ordinal >= 0 && g->ordinal <= INT16_MAX) {
        thrift_put_i16(w, 7, (int16_t)g->ordinal);
    }
    thrift_end_struct(w);
}

grebe_status pq_footer_encode(const struct pq_footer *footer, struct buf *dst, grebe_error *err)
{
    struct thrift_writer w;
    assert(!footer->is_encrypted);
    assert(footer->n_schema >= 1 && footer->n_schema <= PQ_SCHEMA_ELEMENTS_MAX);
    thrift_writer_init(&w, dst, err);
    thrift_put_i32(&w, 1, footer->version);
    thrift_put_list(&w, 2, THRIFT_STRUCT, footer->n_schema);
    for (uint32_t i = 0; i < footer->n_schema; i++) {
        thrift_add_struct(&w);
        put_schema_element(&w, &footer->schema[i]);
        thrift_end_struct(&w);
    }
    thrift_put_i64(&w, 3, footer->num_rows);
    thrift_put_list(&w, 4, THRIFT_STRUCT, footer->n_row_groups);
    for (uint32_t i = 0; i < footer->n_row_groups; i++) {
        put_row_group(&w, &footer->row_groups[i]);
    }
    put_key_values(&w, 5, footer->key_values, footer->n_key_values);
    put_opt_bytes(&w, 6, footer->created_by);
    if (footer->n_column_orders > 0) {
        thrift_put_list(&w, 7, THRIFT_STRUCT, footer->n_column_orders);
        for (uint32_t i = 0; i < footer->n_column_orders; i++) {
            assert(footer->column_orders[i] != PQ_ORDER_UNKNOWN);
            thrift_add_struct(&w);
            put_empty_struct(&w, footer->column_orders[i]);
            thrift_end_struct(&w);
        }
    }
    return thrift_writer_finish(&w);
}

grebe_status pq_page_header_encode(const struct pq_page_header *h, struct buf *dst,
                                   grebe_error *err)
{
    struct thrift_writer w;
    static const unsigned char zeros[128] = { 0 };
    assert(h->uncompressed_size >= 0 && h->compressed_size >= 0 && h->num_values >= 0);
    thrift_writer_init(&w, dst, err);
    thrift_put_i32(&w, 1, h->type);
    thrift_put_i32(&w, 2, h->uncompressed_size);
    thrift_put_i32(&w, 3, h->compressed_size);
    if (h->has_crc) {
        thrift_put_i32(&w, 4, (int32_t)h->crc);
    }
    switch (h->type) {
    case PQ_PAGE_DATA:
        thrift_put_struct(&w, 5);
        thrift_put_i32(&w, 1, h->num_values);
        thrift_put_i32(&w, 2, h->encoding);
        thrift_put_i32(&w, 3, h->definition_encoding);
        thrift_put_i32(&w, 4, h->repetition_encoding);
        thrift_end_struct(&w);
        break;
    case PQ_PAGE_DICTIONARY:
        thrift_put_struct(&w, 7);
        thrift_put_i32(&w, 1, h->num_values);
        thrift_put_i32(&w, 2, h->encoding);
        if (h->is_sorted) {
            thrift_put_bool(&w, 3, true);
        }
        thrift_end_struct(&w);
        break;
    default:
        assert(h->type == PQ_PAGE_DATA_V2);
        thrift_put_struct(&w, 8);
        thrift_put_i32(&w, 1, h->num_values);
        thrift_put_i32(&w, 2, h->num_nulls);
        thrift_put_i32(&w, 3, h->num_rows);
        thrift_put_i32(&w, 4, h->encoding);
        thrift_put_i32(&w, 5, h->definition_length);
        thrift_put_i32(&w, 6, h->repetition_length);
        thrift_put_bool(&w, 7, h->is_compressed);
        thrift_end_struct(&w);
        break;
    }
    if (h->padding_bytes > 0) {
        /* long-form field head (1 + 3) and a one-byte length, then the zeros */
        assert(h->padding_bytes >= 5 && h->padding_bytes <= 132);
        thrift_put_bytes(&w, INT16_MAX, zeros, h->padding_bytes - 5);
    }
    return thrift_writer_finish(&w);
}

grebe_status pq_offset_index_encode(const struct pq_offset_index *index, struct buf *dst,
                                    grebe_error *err)
{
    struct thrift_writer w;
    thrift_writer_init(&w, dst, err);
    thrift_put_list(&w, 1, THRIFT_STRUCT, index->n);
    for (uint32_t i = 0; i < index->n; i++) {
        thrift_add_struct(&w);
        thrift_put_i64(&w, 1, index->offset[i]);
        thrift_put_i32(&w, 2, index->size[i]);
        thrift_put_i64(&w, 3, index->first_row[i]);
        thrift_end_struct(&w);
    }
    put_i64_list(&w, 2, index->unencoded_bytes, index->n);
    return thrift_writer_finish(&w);
}

static void put_bounds(struct thrift_writer *w, int32_t id, const struct pq_bytes *v, uint32_t n)
{
    thrift_put_list(w, id, THRIFT_BINARY, n);
    for (uint32_t i = 0; i < n; i++) {
        thrift_add_bytes(w, v[i].data, v[i].len);
    }
}

grebe_status pq_column_index_encode(const struct pq_column_index *index, struct buf *dst,
                                    grebe_error *err)
{
    struct thrift_writer w;
    thrift_writer_init(&w, dst, err);
    thrift_put_list(&w, 1, THRIFT_TRUE, index->n);
    for (uint32_t i = 0; i < index->n; i++) {
        thrift_add_bool(&w, index->null_pages[i]);
    }
    put_bounds(&w, 2, index->min, index->n);
    put_bounds(&w, 3, index->max, index->n);
    thrift_put_i32(&w, 4, index->boundary_order);
    put_i64_list(&w, 5, index->null_counts, index->n);
    put_i64_list(&w, 6, index->repetition, index->n_repetition);
    put_i64_list(&w, 7, index->definition, index->n_definition);
    put_i64_list(&w, 8, index->nan_counts, index->n);
    return thrift_writer_finish(&w);
}

grebe_status pq_bloom_header_encode(const struct pq_bloom_header *header, struct buf *dst,
                                    grebe_error *err)
{
    struct thrift_writer w;
    assert(header->n_bytes > 0 && header->n_bytes % 32 == 0);
    thrift_writer_init(&w, dst, err);
    thrift_put_i32(&w, 1, header->n_bytes);
    for (int32_t id = 2; id <= 4; id++) { /* BLOCK, XXHASH, UNCOMPRESSED: member 1 of each */
        thrift_put_struct(&w, id);
        put_empty_struct(&w, 1);
        thrift_end_struct(&w);
    }
    return thrift_writer_finish(&w);
}
