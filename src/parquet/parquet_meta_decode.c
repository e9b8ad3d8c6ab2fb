/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fields are taken by id and wire type; what is unknown or of another type is passed over, so
 * private fields of other writers and members newer than this code cost nothing.
 */
#include "parquet/parquet_meta.h"

#include <assert.h>
#include <string.h>

#include "wire/thrift.h"

struct decoder {
    struct thrift_reader r;
    struct arena *ar;
    bool is_out_of_memory;
    const char *limit; /* what was too many; NULL: nothing */
    uint32_t limit_value, limit_found;
    uint32_t n_schema;
};

static void *new_array(struct decoder *d, size_t n, size_t elem_size)
{
    void *p = arena_array(d->ar, n, elem_size);
    if (p == NULL) {
        d->is_out_of_memory = true;
        thrift_fault(&d->r, "no memory");
    }
    return p;
}

static bool within(struct decoder *d, uint32_t n, uint32_t limit, const char *what)
{
    if (n <= limit) {
        return true;
    }
    if (d->limit == NULL) {
        d->limit = what;
        d->limit_value = limit;
        d->limit_found = n;
    }
    thrift_fault(&d->r, "too many");
    return false;
}

static grebe_status finish(struct decoder *d, const char *what, grebe_error *err)
{
    if (d->is_out_of_memory) {
        return GREBE_FAIL(err, GREBE_ENOMEM, "%s: no memory for its arrays", what);
    }
    if (d->limit != NULL) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "%s: %u %s, the limit is %u", what, d->limit_found,
                          d->limit, d->limit_value);
    }
    return thrift_reader_check(&d->r, what, err);
}

static bool get_bytes(struct decoder *d, const struct thrift_field *f, struct pq_bytes *out)
{
    return thrift_get_bytes(&d->r, f, &out->data, &out->len);
}

/* A struct's required fields by bits of their ids. */
static void require(struct decoder *d, uint32_t seen, uint32_t wanted, const char *fault)
{
    if (d->r.fault == NULL && (seen & wanted) != wanted) {
        thrift_fault(&d->r, fault);
    }
}

static uint32_t bit(int32_t id) { return id >= 0 && id < 32 ? 1u << id : 0; }

static const int64_t *get_i64_list(struct decoder *d, const struct thrift_field *f, uint32_t *n)
{
    uint8_t elem = THRIFT_I64;
    int64_t *v;
    *n = 0;
    uint32_t count;
    if (!thrift_get_list(&d->r, f, &elem, &count)) {
        return NULL;
    }
    v = new_array(d, count, sizeof *v);
    for (uint32_t i = 0; i < count && d->r.fault == NULL; i++) {
        v[i] = thrift_elem_int(&d->r, elem);
    }
    *n = v == NULL ? 0 : count;
    return v;
}

static struct pq_key_value *get_key_values(struct decoder *d, const struct thrift_field *list,
                                           uint32_t *n)
{
    uint8_t elem = THRIFT_STRUCT;
    uint32_t count;
    *n = 0;
    if (!thrift_get_list(&d->r, list, &elem, &count) ||
        !within(d, count, PQ_KEY_VALUES_MAX, "key-value pairs")) {
        return NULL;
    }
    struct pq_key_value *kv = new_array(d, count, sizeof *kv);
    for (uint32_t i = 0; i < count && d->r.fault == NULL; i++) {
        struct thrift_field f = { 0 };
        while (thrift_field_next(&d->r, &f)) {
            switch (f.id) {
            case 1: get_bytes(d, &f, &kv[i].key); break;
            case 2: get_bytes(d, &f, &kv[i].value); break;
            default: thrift_skip(&d->r, f.type); break;
            }
        }
        require(d, kv[i].key.data != NULL ? 1 : 0, 1, "a key-value pair without a key");
    }
    *n = kv == NULL ? 0 : count;
    return kv;
}

static void get_time_unit(struct decoder *d, const struct thrift_field *f, uint8_t *unit)
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

static void get_logical_member(struct decoder *d, struct pq_logical *l)
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
            get_bytes(d, &f, &l->crs);
        } else if (l->kind == PQ_LOGICAL_GEOGRAPHY && f.id == 2) {
            thrift_get_i32(&d->r, &f, &l->algorithm);
        } else {
            thrift_skip(&d->r, f.type);
        }
    }
}

static void get_logical(struct decoder *d, const struct thrift_field *field, struct pq_logical *l)
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

static void get_schema_element(struct decoder *d, struct pq_schema_element *e)
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
        case 4: get_bytes(d, &f, &e->name); break;
        case 5: thrift_get_i32(&d->r, &f, &e->n_children); break;
        case 6: thrift_get_i32(&d->r, &f, &e->converted); break;
        case 7: thrift_get_i32(&d->r, &f, &e->scale); break;
        case 8: thrift_get_i32(&d->r, &f, &e->precision); break;
        case 9: e->has_field_id = thrift_get_i32(&d->r, &f, &e->field_id); break;
        case 10: get_logical(d, &f, &e->logical); break;
        default: thrift_skip(&d->r, f.type); break;
        }
    }
    require(d, e->name.data != NULL ? 1 : 0, 1, "a schema element without a name");
}

static void get_schema(struct decoder *d, const struct thrift_field *f, struct pq_footer *out)
{
    uint8_t elem = THRIFT_STRUCT;
    uint32_t n;
    if (!thrift_get_list(&d->r, f, &elem, &n) ||
        !within(d, n, PQ_SCHEMA_ELEMENTS_MAX, "schema elements")) {
        return;
    }
    out->schema = new_array(d, n, sizeof *out->schema);
    for (uint32_t i = 0; i < n && d->r.fault == NULL; i++) {
        get_schema_element(d, &out->schema[i]);
    }
    out->n_schema = n;
    d->n_schema = n;
}

static void get_statistics(struct decoder *d, struct pq_statistics *s)
{
    struct thrift_field f = { 0 };
    bool flag;
    while (thrift_field_next(&d->r, &f)) {
        switch (f.id) {
        case 1: get_bytes(d, &f, &s->legacy_max); break;
        case 2: get_bytes(d, &f, &s->legacy_min); break;
        case 3: thrift_get_i64(&d->r, &f, &s->null_count); break;
        case 4: thrift_get_i64(&d->r, &f, &s->distinct_count); break;
        case 5: get_bytes(d, &f, &s->max_value); break;
        case 6: get_bytes(d, &f, &s->min_value); break;
        case 7:
            if (thrift_get_bool(&d->r, &f, &flag)) {
                s->is_max_exact = flag;
            }
            break;
        case 8:
            if (thrift_get_bool(&d->r, &f, &flag)) {
                s->is_min_exact = flag;
            }
            break;
        case 9: thrift_get_i64(&d->r, &f, &s->nan_count); break;
        default: thrift_skip(&d->r, f.type); break;
        }
    }
}

static void get_encoding_stats(struct decoder *d, const struct thrift_field *list,
                               struct pq_chunk *c)
{
    uint8_t elem = THRIFT_STRUCT;
    uint32_t n;
    if (!thrift_get_list(&d->r, list, &elem, &n)) {
        return;
    }
    struct pq_encoding_stats *stats = new_array(d, n, sizeof *stats);
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

static void get_size_statistics(struct decoder *d, struct pq_size_statistics *s)
{
    struct thrift_field f = { 0 };
    while (thrift_field_next(&d->r, &f)) {
        switch (f.id) {
        case 1: thrift_get_i64(&d->r, &f, &s->unencoded_bytes); break;
        case 2: s->repetition = get_i64_list(d, &f, &s->n_repetition); break;
        case 3: s->definition = get_i64_list(d, &f, &s->n_definition); break;
        default: thrift_skip(&d->r, f.type); break;
        }
    }
}

static void get_encodings(struct decoder *d, const struct thrift_field *f, struct pq_chunk *c)
{
    uint8_t elem = THRIFT_I32;
    uint32_t n;
    if (!thrift_get_list(&d->r, f, &elem, &n)) {
        return;
    }
    int32_t *encodings = new_array(d, n, sizeof *encodings);
    for (uint32_t i = 0; i < n && d->r.fault == NULL; i++) {
        int64_t e = thrift_elem_int(&d->r, elem);
        encodings[i] = e >= 0 && e <= INT32_MAX ? (int32_t)e : -1;
    }
    c->encodings = encodings;
    c->n_encodings = encodings == NULL ? 0 : (int32_t)n;
}

static void get_path(struct decoder *d, const struct thrift_field *f, struct pq_chunk *c)
{
    uint8_t elem = THRIFT_BINARY;
    uint32_t n;
    if (!thrift_get_list(&d->r, f, &elem, &n)) {
        return;
    }
    struct pq_bytes *path = new_array(d, n, sizeof *path);
    for (uint32_t i = 0; i < n && d->r.fault == NULL; i++) {
        thrift_elem_bytes(&d->r, &path[i].data, &path[i].len);
    }
    c->path = path;
    c->n_path = path == NULL ? 0 : (int32_t)n;
}

static void get_column_metadata(struct decoder *d, struct pq_chunk *c)
{
    struct thrift_field f = { 0 };
    uint32_t seen = 0;
    uint32_t n;
    while (thrift_field_next(&d->r, &f)) {
        switch (f.id) {
        case 1: seen |= thrift_get_i32(&d->r, &f, &c->type) ? bit(1) : 0; break;
        case 2: get_encodings(d, &f, c); break;
        case 3: get_path(d, &f, c); break;
        case 4: seen |= thrift_get_i32(&d->r, &f, &c->codec) ? bit(4) : 0; break;
        case 5: seen |= thrift_get_i64(&d->r, &f, &c->num_values) ? bit(5) : 0; break;
        case 6: thrift_get_i64(&d->r, &f, &c->total_uncompressed_size); break;
        case 7: seen |= thrift_get_i64(&d->r, &f, &c->total_compressed_size) ? bit(7) : 0; break;
        case 8:
            c->key_values = get_key_values(d, &f, &n);
            c->n_key_values = (int32_t)n;
            break;
        case 9: seen |= thrift_get_i64(&d->r, &f, &c->data_page_offset) ? bit(9) : 0; break;
        case 11: thrift_get_i64(&d->r, &f, &c->dictionary_page_offset); break;
        case 12:
            if (thrift_get_struct(&d->r, &f)) {
                c->has_statistics = true;
                get_statistics(d, &c->statistics);
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
    require(d, seen, bit(1) | bit(4) | bit(5) | bit(7) | bit(9),
            "column metadata lacks type, codec, num_values, size or data_page_offset");
}

static void get_chunk(struct decoder *d, struct pq_chunk *c)
{
    struct thrift_field f = { 0 };
    pq_chunk_init(c);
    while (thrift_field_next(&d->r, &f)) {
        switch (f.id) {
        case 1: get_bytes(d, &f, &c->file_path); break;
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

static void get_sorting(struct decoder *d, const struct thrift_field *list, struct pq_row_group *g)
{
    uint8_t elem = THRIFT_STRUCT;
    uint32_t n;
    if (!thrift_get_list(&d->r, list, &elem, &n)) {
        return;
    }
    struct pq_sorting_column *s = new_array(d, n, sizeof *s);
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

static void get_columns(struct decoder *d, const struct thrift_field *f, struct pq_row_group *g)
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
    g->columns = new_array(d, n, sizeof *g->columns);
    for (uint32_t i = 0; i < n && d->r.fault == NULL; i++) {
        get_chunk(d, &g->columns[i]);
    }
    g->n_columns = g->columns == NULL ? 0 : n;
}

static void get_row_group(struct decoder *d, struct pq_row_group *g)
{
    struct thrift_field f = { 0 };
    uint32_t seen = 0;
    pq_row_group_init(g);
    while (thrift_field_next(&d->r, &f)) {
        switch (f.id) {
        case 1:
            seen |= bit(1);
            get_columns(d, &f, g);
            break;
        case 2: thrift_get_i64(&d->r, &f, &g->total_byte_size); break;
        case 3: seen |= thrift_get_i64(&d->r, &f, &g->num_rows) ? bit(3) : 0; break;
        case 4: get_sorting(d, &f, g); break;
        case 5: thrift_get_i64(&d->r, &f, &g->file_offset); break;
        case 6: thrift_get_i64(&d->r, &f, &g->total_compressed_size); break;
        case 7: thrift_get_i32(&d->r, &f, &g->ordinal); break;
        default: thrift_skip(&d->r, f.type); break;
        }
    }
    require(d, seen, bit(1) | bit(3), "a row group lacks columns or num_rows");
}

static void get_row_groups(struct decoder *d, const struct thrift_field *f, struct pq_footer *out)
{
    uint8_t elem = THRIFT_STRUCT;
    uint32_t n;
    if (!thrift_get_list(&d->r, f, &elem, &n) ||
        !within(d, n, PQ_ROW_GROUPS_MAX, "row groups")) {
        return;
    }
    out->row_groups = new_array(d, n, sizeof *out->row_groups);
    for (uint32_t i = 0; i < n && d->r.fault == NULL; i++) {
        get_row_group(d, &out->row_groups[i]);
    }
    out->n_row_groups = n;
}

static void get_column_orders(struct decoder *d, const struct thrift_field *list,
                              struct pq_footer *out)
{
    uint8_t elem = THRIFT_STRUCT;
    uint32_t n;
    if (!thrift_get_list(&d->r, list, &elem, &n)) {
        return;
    }
    uint8_t *orders = new_array(d, n, sizeof *orders);
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
    struct decoder d = { .ar = ar };
    struct thrift_field f = { 0 };
    uint32_t seen = 0;

    memset(out, 0, sizeof *out);
    thrift_reader_init(&d.r, bytes, len);
    while (thrift_field_next(&d.r, &f)) {
        seen |= bit(f.id);
        switch (f.id) {
        case 1: thrift_get_i32(&d.r, &f, &out->version); break;
        case 2: get_schema(&d, &f, out); break;
        case 3: thrift_get_i64(&d.r, &f, &out->num_rows); break;
        case 4: get_row_groups(&d, &f, out); break;
        case 5: out->key_values = get_key_values(&d, &f, &out->n_key_values); break;
        case 6: get_bytes(&d, &f, &out->created_by); break;
        case 7: get_column_orders(&d, &f, out); break;
        case 8:
            out->is_encrypted = true;
            thrift_skip(&d.r, f.type);
            break;
        default: thrift_skip(&d.r, f.type); break;
        }
    }
    require(&d, seen, bit(2) | bit(4), "the footer lacks schema or row groups");
    grebe_status st = finish(&d, "footer", err);
    if (st == GREBE_OK && out->n_schema == 0) {
        st = GREBE_FAIL(err, GREBE_ECORRUPT, "footer: the schema is empty");
    }
    if (st != GREBE_OK) {
        memset(out, 0, sizeof *out);
    }
    return st;
}

/* ---- page headers ---- */

static void get_page_v1(struct decoder *d, struct pq_page_header *h)
{
    struct thrift_field f = { 0 };
    uint32_t seen = 0;
    while (thrift_field_next(&d->r, &f)) {
        switch (f.id) {
        case 1: seen |= thrift_get_i32(&d->r, &f, &h->num_values) ? bit(1) : 0; break;
        case 2: seen |= thrift_get_i32(&d->r, &f, &h->encoding) ? bit(2) : 0; break;
        case 3: thrift_get_i32(&d->r, &f, &h->definition_encoding); break;
        case 4: thrift_get_i32(&d->r, &f, &h->repetition_encoding); break;
        default: thrift_skip(&d->r, f.type); break;
        }
    }
    require(d, seen, bit(1) | bit(2), "a data page header lacks num_values or encoding");
}

static void get_page_dictionary(struct decoder *d, struct pq_page_header *h)
{
    struct thrift_field f = { 0 };
    uint32_t seen = 0;
    while (thrift_field_next(&d->r, &f)) {
        switch (f.id) {
        case 1: seen |= thrift_get_i32(&d->r, &f, &h->num_values) ? bit(1) : 0; break;
        case 2: seen |= thrift_get_i32(&d->r, &f, &h->encoding) ? bit(2) : 0; break;
        case 3: thrift_get_bool(&d->r, &f, &h->is_sorted); break;
        default: thrift_skip(&d->r, f.type); break;
        }
    }
    require(d, seen, bit(1) | bit(2), "a dictionary page header lacks num_values or encoding");
}

static void get_page_v2(struct decoder *d, struct pq_page_header *h)
{
    struct thrift_field f = { 0 };
    uint32_t seen = 0;
    h->is_compressed = true;
    while (thrift_field_next(&d->r, &f)) {
        switch (f.id) {
        case 1: seen |= thrift_get_i32(&d->r, &f, &h->num_values) ? bit(1) : 0; break;
        case 2: thrift_get_i32(&d->r, &f, &h->num_nulls); break;
        case 3: seen |= thrift_get_i32(&d->r, &f, &h->num_rows) ? bit(3) : 0; break;
        case 4: seen |= thrift_get_i32(&d->r, &f, &h->encoding) ? bit(4) : 0; break;
        case 5: seen |= thrift_get_i32(&d->r, &f, &h->definition_length) ? bit(5) : 0; break;
        case 6: seen |= thrift_get_i32(&d->r, &f, &h->repetition_length) ? bit(6) : 0; break;
        case 7: thrift_get_bool(&d->r, &f, &h->is_compressed); break;
        default: thrift_skip(&d->r, f.type); break;
        }
    }
    require(d, seen, bit(1) | bit(3) | bit(4) | bit(5) | bit(6),
            "a version 2 data page header lacks a required field");
}

grebe_status pq_page_header_decode(const void *bytes, size_t len, struct pq_page_header *out,
                                   size_t *header_len, grebe_error *err)
{
    struct decoder d = { 0 };
    struct thrift_field f = { 0 };
    uint32_t seen = 0;
    static const int32_t part_of_type[] = { 5, 6, 7, 8 };

    memset(out, 0, sizeof *out);
    *header_len = 0;
    thrift_reader_init(&d.r, bytes, len);
    while (thrift_field_next(&d.r, &f)) {
        bool is_part = f.id == 5 || f.id == 7 || f.id == 8;
        if (is_part && thrift_get_struct(&d.r, &f)) {
            seen |= bit(f.id);
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
        case 1: seen |= thrift_get_i32(&d.r, &f, &out->type) ? bit(1) : 0; break;
        case 2: seen |= thrift_get_i32(&d.r, &f, &out->uncompressed_size) ? bit(2) : 0; break;
        case 3: seen |= thrift_get_i32(&d.r, &f, &out->compressed_size) ? bit(3) : 0; break;
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
    require(&d, seen, bit(1) | bit(2) | bit(3), "a page header lacks its type or sizes");
    bool is_known = out->type >= PQ_PAGE_DATA && out->type <= PQ_PAGE_DATA_V2;
    if (is_known && out->type != PQ_PAGE_INDEX) {
        require(&d, seen, bit(part_of_type[out->type]),
                "a page header lacks the part that its type asks for");
    }
    if (d.r.fault != NULL && d.r.is_short) {
        return GREBE_END;
    }
    *header_len = thrift_consumed(&d.r);
    grebe_status st = finish(&d, "page header", err);
    if (st == GREBE_OK && (out->uncompressed_size < 0 || out->compressed_size < 0 ||
                           out->num_values < 0)) {
        st = GREBE_FAIL(err, GREBE_ECORRUPT,
                        "page header: sizes %d and %d, %d values: none may be negative",
                        out->uncompressed_size, out->compressed_size, out->num_values);
    }
    return st;
}

/* ---- page index ---- */

static void get_page_locations(struct decoder *d, const struct thrift_field *list,
                               struct pq_offset_index *out)
{
    uint8_t elem = THRIFT_STRUCT;
    uint32_t n;
    if (!thrift_get_list(&d->r, list, &elem, &n)) {
        return;
    }
    out->offset = new_array(d, n, sizeof *out->offset);
    out->size = new_array(d, n, sizeof *out->size);
    out->first_row = new_array(d, n, sizeof *out->first_row);
    for (uint32_t i = 0; i < n && d->r.fault == NULL; i++) {
        struct thrift_field f = { 0 };
        uint32_t seen = 0;
        while (thrift_field_next(&d->r, &f)) {
            switch (f.id) {
            case 1: seen |= thrift_get_i64(&d->r, &f, &out->offset[i]) ? bit(1) : 0; break;
            case 2: seen |= thrift_get_i32(&d->r, &f, &out->size[i]) ? bit(2) : 0; break;
            case 3: seen |= thrift_get_i64(&d->r, &f, &out->first_row[i]) ? bit(3) : 0; break;
            default: thrift_skip(&d->r, f.type); break;
            }
        }
        require(d, seen, bit(1) | bit(2) | bit(3), "a page location lacks a field");
    }
    out->n = n;
}

grebe_status pq_offset_index_decode(struct arena *ar, const void *bytes, size_t len,
                                    struct pq_offset_index *out, grebe_error *err)
{
    struct decoder d = { .ar = ar };
    struct thrift_field f = { 0 };
    uint32_t n_unencoded = 0;
    memset(out, 0, sizeof *out);
    thrift_reader_init(&d.r, bytes, len);
    while (thrift_field_next(&d.r, &f)) {
        if (f.id == 1) {
            get_page_locations(&d, &f, out);
        } else if (f.id == 2) {
            out->unencoded_bytes = (int64_t *)get_i64_list(&d, &f, &n_unencoded);
        } else {
            thrift_skip(&d.r, f.type);
        }
    }
    if (n_unencoded != out->n) {
        out->unencoded_bytes = NULL;
    }
    return finish(&d, "offset index", err);
}

static struct pq_bytes *get_bytes_list(struct decoder *d, const struct thrift_field *f,
                                       uint32_t *n)
{
    uint8_t elem = THRIFT_BINARY;
    if (!thrift_get_list(&d->r, f, &elem, n)) {
        return NULL;
    }
    struct pq_bytes *v = new_array(d, *n, sizeof *v);
    for (uint32_t i = 0; i < *n && d->r.fault == NULL; i++) {
        thrift_elem_bytes(&d->r, &v[i].data, &v[i].len);
    }
    return v;
}

static bool *get_bool_list(struct decoder *d, const struct thrift_field *f, uint32_t *n)
{
    uint8_t elem = THRIFT_TRUE;
    if (!thrift_get_list(&d->r, f, &elem, n)) {
        return NULL;
    }
    bool *v = new_array(d, *n, sizeof *v);
    for (uint32_t i = 0; i < *n && d->r.fault == NULL; i++) {
        v[i] = thrift_elem_bool(&d->r);
    }
    return v;
}

grebe_status pq_column_index_decode(struct arena *ar, const void *bytes, size_t len,
                                    struct pq_column_index *out, grebe_error *err)
{
    struct decoder d = { .ar = ar };
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
        case 5: out->null_counts = (int64_t *)get_i64_list(&d, &f, &n_nulls); break;
        case 6: out->repetition = (int64_t *)get_i64_list(&d, &f, &out->n_repetition); break;
        case 7: out->definition = (int64_t *)get_i64_list(&d, &f, &out->n_definition); break;
        case 8: out->nan_counts = (int64_t *)get_i64_list(&d, &f, &n_nans); break;
        default: thrift_skip(&d.r, f.type); break;
        }
    }
    grebe_status st = finish(&d, "column index", err);
    if (st == GREBE_OK && (n_min != out->n || n_max != out->n)) {
        st = GREBE_FAIL(err, GREBE_ECORRUPT,
                        "column index: %u null flags, %u minima and %u maxima", out->n, n_min,
                        n_max);
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
static bool get_is_first_member(struct decoder *d, const struct thrift_field *field)
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
    struct decoder d = { 0 };
    struct thrift_field f = { 0 };
    uint32_t seen = 0;
    memset(out, 0, sizeof *out);
    thrift_reader_init(&d.r, bytes, len);
    while (thrift_field_next(&d.r, &f)) {
        if (f.id == 1) {
            seen |= thrift_get_i32(&d.r, &f, &out->n_bytes) ? bit(1) : 0;
        } else if (f.id >= 2 && f.id <= 4) {
            seen |= get_is_first_member(&d, &f) ? bit(f.id) : 0;
        } else {
            thrift_skip(&d.r, f.type);
        }
    }
    require(&d, seen, bit(1), "a bloom filter header without its size");
    *header_len = thrift_consumed(&d.r);
    out->is_usable = (seen & 30) == 30 && out->n_bytes > 0 && out->n_bytes % 32 == 0 &&
                     out->n_bytes <= PQ_BLOOM_BYTES_MAX;
    return finish(&d, "bloom filter header", err);
}
