/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fields are taken by id and wire type; what is unknown or of another type is passed over, so
 * private fields of other writers and members newer than this code cost nothing.
 */
#include "parquet/parquet_meta.h"

#include <string.h>

#include "parquet/parquet_decoder.h"

static struct pq_key_value *get_key_values(struct pq_decoder *d, const struct thrift_field *list,
                                           uint32_t *n)
{
    uint8_t elem = THRIFT_STRUCT;
    uint32_t count;
    *n = 0;
    if (!thrift_get_list(&d->r, list, &elem, &count) ||
        !pq_decode_within(d, count, PQ_KEY_VALUES_MAX, "key-value pairs")) {
        return NULL;
    }
    struct pq_key_value *kv = pq_decode_array(d, count, sizeof *kv);
    for (uint32_t i = 0; i < count && d->r.fault == NULL; i++) {
        struct thrift_field f = { 0 };
        while (thrift_field_next(&d->r, &f)) {
            switch (f.id) {
            case 1: pq_decode_bytes(d, &f, &kv[i].key); break;
            case 2: pq_decode_bytes(d, &f, &kv[i].value); break;
            default: thrift_skip(&d->r, f.type); break;
            }
        }
        pq_decode_require(d, kv[i].key.data != NULL ? 1 : 0, 1, "a key-value pair without a key");
    }
    *n = kv == NULL ? 0 : count;
    return kv;
}

static void get_time_unit(struct pq_decoder *d, const struct thrift_field *f, uint8_t *unit)
{
    struct thrift_field u = { 0 };
    if (!thrift_get_struct(&d->r, f)) {
        return;
    }
    while (thrift_field_next(&d->r, &u)) {
        if (u.id >= PQ_MILLIS && u.id <= PQ_NANOS) {
            *unit = (uint8_t)u.id;
        }
        thrift_skip(&d->r, u.type);
    }
}

static void get_logical_member(struct pq_decoder *d, struct pq_logical *l)
{
    struct thrift_field f = { 0 };
    while (thrift_field_next(&d->r, &f)) {
        bool is_time = l->kind == PQ_LOGICAL_TIME || l->kind == PQ_LOGICAL_TIMESTAMP;
        bool is_geo = l->kind == PQ_LOGICAL_GEOMETRY || l->kind == PQ_LOGICAL_GEOGRAPHY;
        if (l->kind == PQ_LOGICAL_DECIMAL && f.id == 1) {
            thrift_get_i32(&d->r, &f, &l->scale);
        } else if (l->kind == PQ_LOGICAL_DECIMAL && f.id == 2) {
            thrift_get_i32(&d->r, &f, &l->precision);
        } else if (is_time && f.id == 1) {
            thrift_get_bool(&d->r, &f, &l->is_utc);
        } else if (is_time && f.id == 2) {
            get_time_unit(d, &f, &l->unit);
        } else if (l->kind == PQ_LOGICAL_INTEGER && f.id == 1) {
            thrift_get_i8(&d->r, &f, &l->bit_width);
        } else if (l->kind == PQ_LOGICAL_INTEGER && f.id == 2) {
            thrift_get_bool(&d->r, &f, &l->is_signed);
        } else if (l->kind == PQ_LOGICAL_VARIANT && f.id == 1) {
            thrift_get_i8(&d->r, &f, &l->version);
        } else if (is_geo && f.id == 1) {
            pq_decode_bytes(d, &f, &l->crs);
        } else if (l->kind == PQ_LOGICAL_GEOGRAPHY && f.id == 2) {
            thrift_get_i32(&d->r, &f, &l->algorithm);
        } else {
            thrift_skip(&d->r, f.type);
        }
    }
}

static void get_logical(struct pq_decoder *d, const struct thrift_field *field,
                        struct pq_logical *l)
{
    struct thrift_field f = { 0 };
    if (!thrift_get_struct(&d->r, field)) {
        return;
    }
    while (thrift_field_next(&d->r, &f)) {
        if (f.type != THRIFT_STRUCT || f.id <= 0) {
            thrift_skip(&d->r, f.type);
            continue;
        }
        l->kind = f.id;
        get_logical_member(d, l);
    }
}

static void get_schema_element(struct pq_decoder *d, struct pq_schema_element *e)
{
    struct thrift_field f = { 0 };
    pq_schema_element_init(e);
    while (thrift_field_next(&d->r, &f)) {
        switch (f.id) {
        case 1:
            if (thrift_get_i32(&d->r, &f, &e->type) &&
                (e->type < PQ_BOOLEAN || e->type > PQ_FIXED)) {
                thrift_fault(&d->r, "a schema element has an unknown physical type");
            }
            break;
        case 2: thrift_get_i32(&d->r, &f, &e->type_length); break;
        case 3:
            if (thrift_get_i32(&d->r, &f, &e->repetition) &&
                (e->repetition < PQ_REQUIRED || e->repetition > PQ_REPEATED)) {
                thrift_fault(&d->r, "a schema element has an unknown repetition");
            }
            break;
        case 4: pq_decode_bytes(d, &f, &e->name); break;
        case 5: thrift_get_i32(&d->r, &f, &e->n_children); break;
        case 6: thrift_get_i32(&d->r, &f, &e->converted); break;
        case 7: thrift_get_i32(&d->r, &f, &e->scale); break;
        case 8: thrift_get_i32(&d->r, &f, &e->precision); break;
        case 9: e->has_field_id = thrift_get_i32(&d->r, &f, &e->field_id); break;
        case 10: get_logical(d, &f, &e->logical); break;
        default: thrift_skip(&d->r, f.type); break;
        }
    }
    pq_decode_require(d, e->name.data != NULL ? 1 : 0, 1, "a schema element without a name");
}

static void get_schema(struct pq_decoder *d, const struct thrift_field *f, struct pq_footer *out)
{
    uint8_t elem = THRIFT_STRUCT;
    uint32_t n;
    if (!thrift_get_list(&d->r, f, &elem, &n) ||
        !pq_decode_within(d, n, PQ_SCHEMA_ELEMENTS_MAX, "schema elements")) {
        return;
    }
    out->schema = pq_decode_array(d, n, sizeof *out->schema);
    for (uint32_t i = 0; i < n && d->r.fault == NULL; i++) {
        get_schema_element(d, &out->schema[i]);
    }
    out->n_schema = n;
    d->n_schema = n;
}

static void get_encoding_stats(struct pq_decoder *d, const struct thrift_field *list,
                               struct pq_chunk *c)
{
    uint8_t elem = THRIFT_STRUCT;
    uint32_t n;
    if (!thrift_get_list(&d->r, list, &elem, &n)) {
        return;
    }
    struct pq_encoding_stats *stats = pq_decode_array(d, n, sizeof *stats);
    for (uint32_t i = 0; i < n && d->r.fault == NULL; i++) {
        struct thrift_field f = { 0 };
        while (thrift_field_next(&d->r, &f)) {
            switch (f.id) {
            case 1: thrift_get_i32(&d->r, &f, &stats[i].page_type); break;
            case 2: thrift_get_i32(&d->r, &f, &stats[i].encoding); break;
            case 3: thrift_get_i32(&d->r, &f, &stats[i].count); break;
            default: thrift_skip(&d->r, f.type); break;
            }
        }
    }
    c->encoding_stats = stats;
    c->n_encoding_stats = stats == NULL ? 0 : (int32_t)n;
}

static void get_size_statistics(struct pq_decoder *d, struct pq_size_statistics *s)
{
    struct thrift_field f = { 0 };
    while (thrift_field_next(&d->r, &f)) {
        switch (f.id) {
        case 1: thrift_get_i64(&d->r, &f, &s->unencoded_bytes); break;
        case 2: s->repetition = pq_decode_i64_list(d, &f, &s->n_repetition); break;
        case 3: s->definition = pq_decode_i64_list(d, &f, &s->n_definition); break;
        default: thrift_skip(&d->r, f.type); break;
        }
    }
}

static void get_encodings(struct pq_decoder *d, const struct thrift_field *f, struct pq_chunk *c)
{
    uint8_t elem = THRIFT_I32;
    uint32_t n;
    if (!thrift_get_list(&d->r, f, &elem, &n)) {
        return;
    }
    int32_t *encodings = pq_decode_array(d, n, sizeof *encodings);
    for (uint32_t i = 0; i < n && d->r.fault == NULL; i++) {
        int64_t e = thrift_elem_int(&d->r, elem);
        encodings[i] = e >= 0 && e <= INT32_MAX ? (int32_t)e : -1;
    }
    c->encodings = encodings;
    c->n_encodings = encodings == NULL ? 0 : (int32_t)n;
}

static void get_path(struct pq_decoder *d, const struct thrift_field *f, struct pq_chunk *c)
{
    uint8_t elem = THRIFT_BINARY;
    uint32_t n;
    if (!thrift_get_list(&d->r, f, &elem, &n)) {
        return;
    }
    struct pq_bytes *path = pq_decode_array(d, n, sizeof *path);
    for (uint32_t i = 0; i < n && d->r.fault == NULL; i++) {
        thrift_elem_bytes(&d->r, &path[i].data, &path[i].len);
    }
    c->path = path;
    c->n_path = path == NULL ? 0 : (int32_t)n;
}

static void get_column_metadata(struct pq_decoder *d, struct pq_chunk *c)
{
    struct thrift_field f = { 0 };
    uint32_t seen = 0;
    uint32_t n;
    while (thrift_field_next(&d->r, &f)) {
        switch (f.id) {
        case 1: seen |= thrift_get_i32(&d->r, &f, &c->type) ? pq_field_bit(1) : 0; break;
        case 2: get_encodings(d, &f, c); break;
        case 3: get_path(d, &f, c); break;
        case 4: seen |= thrift_get_i32(&d->r, &f, &c->codec) ? pq_field_bit(4) : 0; break;
        case 5: seen |= thrift_get_i64(&d->r, &f, &c->num_values) ? pq_field_bit(5) : 0; break;
        case 6: thrift_get_i64(&d->r, &f, &c->total_uncompressed_size); break;
        case 7:
            seen |= thrift_get_i64(&d->r, &f, &c->total_compressed_size) ? pq_field_bit(7) : 0;
            break;
        case 8:
            c->key_values = get_key_values(d, &f, &n);
            c->n_key_values = (int32_t)n;
            break;
        case 9:
            seen |= thrift_get_i64(&d->r, &f, &c->data_page_offset) ? pq_field_bit(9) : 0;
            break;
        case 11: thrift_get_i64(&d->r, &f, &c->dictionary_page_offset); break;
        case 12:
            if (thrift_get_struct(&d->r, &f)) {
                c->has_statistics = true;
                pq_decode_statistics(d, &c->statistics);
            }
            break;
        case 13: get_encoding_stats(d, &f, c); break;
        case 14: thrift_get_i64(&d->r, &f, &c->bloom_filter_offset); break;
        case 15: thrift_get_i32(&d->r, &f, &c->bloom_filter_length); break;
        case 16:
            if (thrift_get_struct(&d->r, &f)) {
                c->has_size_statistics = true;
                get_size_statistics(d, &c->size_statistics);
            }
            break;
        default: thrift_skip(&d->r, f.type); break;
        }
    }
    pq_decode_require(d, seen,
                      pq_field_bit(1) | pq_field_bit(4) | pq_field_bit(5) | pq_field_bit(7) |
                          pq_field_bit(9),
                      "column metadata lacks type, codec, num_values, size or data_page_offset");
}

static void get_chunk(struct pq_decoder *d, struct pq_chunk *c)
{
    struct thrift_field f = { 0 };
    pq_chunk_init(c);
    while (thrift_field_next(&d->r, &f)) {
        switch (f.id) {
        case 1: pq_decode_bytes(d, &f, &c->file_path); break;
        case 3:
            if (thrift_get_struct(&d->r, &f)) {
                c->has_metadata = true;
                get_column_metadata(d, c);
            }
            break;
        case 4: thrift_get_i64(&d->r, &f, &c->offset_index_offset); break;
        case 5: thrift_get_i32(&d->r, &f, &c->offset_index_length); break;
        case 6: thrift_get_i64(&d->r, &f, &c->column_index_offset); break;
        case 7: thrift_get_i32(&d->r, &f, &c->column_index_length); break;
        case 8:
            c->is_encrypted = true;
            thrift_skip(&d->r, f.type);
            break;
        case 9:
            c->is_encrypted = true;
            thrift_skip(&d->r, f.type);
            break;
        default: thrift_skip(&d->r, f.type); break;
        }
    }
}

static void get_sorting(struct pq_decoder *d, const struct thrift_field *list,
                        struct pq_row_group *g)
{
    uint8_t elem = THRIFT_STRUCT;
    uint32_t n;
    if (!thrift_get_list(&d->r, list, &elem, &n)) {
        return;
    }
    struct pq_sorting_column *s = pq_decode_array(d, n, sizeof *s);
    for (uint32_t i = 0; i < n && d->r.fault == NULL; i++) {
        struct thrift_field f = { 0 };
        while (thrift_field_next(&d->r, &f)) {
            switch (f.id) {
            case 1: thrift_get_i32(&d->r, &f, &s[i].column); break;
            case 2: thrift_get_bool(&d->r, &f, &s[i].is_descending); break;
            case 3: thrift_get_bool(&d->r, &f, &s[i].nulls_first); break;
            default: thrift_skip(&d->r, f.type); break;
            }
        }
    }
    g->sorting = s;
    g->n_sorting = s == NULL ? 0 : n;
}

static void get_columns(struct pq_decoder *d, const struct thrift_field *f, struct pq_row_group *g)
{
    uint8_t elem = THRIFT_STRUCT;
    uint32_t n;
    if (!thrift_get_list(&d->r, f, &elem, &n)) {
        return;
    }
    /* The schema comes first in every file; without it a count could ask for any memory. */
    if (n > d->n_schema) {
        thrift_fault(&d->r, "a row group has more columns than the schema");
        return;
    }
    g->columns = pq_decode_array(d, n, sizeof *g->columns);
    for (uint32_t i = 0; i < n && d->r.fault == NULL; i++) {
        get_chunk(d, &g->columns[i]);
    }
    g->n_columns = g->columns == NULL ? 0 : n;
}

static void get_row_group(struct pq_decoder *d, struct pq_row_group *g)
{
    struct thrift_field f = { 0 };
    uint32_t seen = 0;
    pq_row_group_init(g);
    while (thrift_field_next(&d->r, &f)) {
        switch (f.id) {
        case 1:
            seen |= pq_field_bit(1);
            get_columns(d, &f, g);
            break;
        case 2: thrift_get_i64(&d->r, &f, &g->total_byte_size); break;
        case 3: seen |= thrift_get_i64(&d->r, &f, &g->num_rows) ? pq_field_bit(3) : 0; break;
        case 4: get_sorting(d, &f, g); break;
        case 5: thrift_get_i64(&d->r, &f, &g->file_offset); break;
        case 6: thrift_get_i64(&d->r, &f, &g->total_compressed_size); break;
        case 7: thrift_get_i32(&d->r, &f, &g->ordinal); break;
        default: thrift_skip(&d->r, f.type); break;
        }
    }
    pq_decode_require(d, seen, pq_field_bit(1) | pq_field_bit(3),
                      "a row group lacks columns or num_rows");
}

static void get_row_groups(struct pq_decoder *d, const struct thrift_field *f,
                           struct pq_footer *out)
{
    uint8_t elem = THRIFT_STRUCT;
    uint32_t n;
    if (!thrift_get_list(&d->r, f, &elem, &n) ||
        !pq_decode_within(d, n, PQ_ROW_GROUPS_MAX, "row groups")) {
        return;
    }
    out->row_groups = pq_decode_array(d, n, sizeof *out->row_groups);
    for (uint32_t i = 0; i < n && d->r.fault == NULL; i++) {
        get_row_group(d, &out->row_groups[i]);
    }
    out->n_row_groups = n;
}

static void get_column_orders(struct pq_decoder *d, const struct thrift_field *list,
                              struct pq_footer *out)
{
    uint8_t elem = THRIFT_STRUCT;
    uint32_t n;
    if (!thrift_get_list(&d->r, list, &elem, &n)) {
        return;
    }
    uint8_t *orders = pq_decode_array(d, n, sizeof *orders);
    for (uint32_t i = 0; i < n && d->r.fault == NULL; i++) {
        struct thrift_field f = { 0 };
        while (thrift_field_next(&d->r, &f)) {
            if (f.id >= PQ_ORDER_TYPE && f.id <= PQ_ORDER_INT96) {
                orders[i] = (uint8_t)f.id;
            }
            thrift_skip(&d->r, f.type);
        }
    }
    out->column_orders = orders;
    out->n_column_orders = orders == NULL ? 0 : n;
}

grebe_status pq_footer_decode(struct arena *ar, const void *bytes, size_t len,
                              struct pq_footer *out, grebe_error *err)
{
    struct pq_decoder d = { .ar = ar };
    struct thrift_field f = { 0 };
    uint32_t seen = 0;

    memset(out, 0, sizeof *out);
    thrift_reader_init(&d.r, bytes, len);
    while (thrift_field_next(&d.r, &f)) {
        seen |= pq_field_bit(f.id);
        switch (f.id) {
        case 1: thrift_get_i32(&d.r, &f, &out->version); break;
        case 2: get_schema(&d, &f, out); break;
        case 3: thrift_get_i64(&d.r, &f, &out->num_rows); break;
        case 4: get_row_groups(&d, &f, out); break;
        case 5: out->key_values = get_key_values(&d, &f, &out->n_key_values); break;
        case 6: pq_decode_bytes(&d, &f, &out->created_by); break;
        case 7: get_column_orders(&d, &f, out); break;
        case 8:
            out->is_encrypted = true;
            thrift_skip(&d.r, f.type);
            break;
        default: thrift_skip(&d.r, f.type); break;
        }
    }
    pq_decode_require(&d, seen, pq_field_bit(2) | pq_field_bit(4),
                      "the footer lacks schema or row groups");
    grebe_status st = pq_decode_finish(&d, "footer", err);
    if (st == GREBE_OK && out->n_schema == 0) {
        st = GREBE_FAIL(err, GREBE_ECORRUPT, "footer: the schema is empty");
    }
    if (st != GREBE_OK) {
        memset(out, 0, sizeof *out);
    }
    return st;
}
