/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/endian.h"
#include "base/utf8.h"
#include "parquet/parquet_fetch.h"
#include "parquet/parquet_filter.h"
#include "parquet/parquet_format.h"
#include "wire/json.h"

static void put_bytes(struct json_writer *w, const char *key, struct pq_bytes b)
{
    json_key(w, key);
    if (b.data == NULL) {
        json_null(w);
    } else {
        json_text_len(w, (const char *)b.data, b.len);
    }
}

static void put_int(struct json_writer *w, const char *key, int64_t v)
{
    json_key(w, key);
    json_int(w, v);
}

static void put_text(struct json_writer *w, const char *key, const char *v)
{
    json_key(w, key);
    json_text(w, v);
}

/* ---- schema ---- */

static const char *logical_name(const struct pq_schema_element *e)
{
    static const char *const names[] = { NULL,      "STRING",  "MAP",      "LIST",      "ENUM",
                                         "DECIMAL", "DATE",    "TIME",     "TIMESTAMP", NULL,
                                         "INTEGER", "UNKNOWN", "JSON",     "BSON",      "UUID",
                                         "FLOAT16", "VARIANT", "GEOMETRY", "GEOGRAPHY", "FILE" };
    static const char *const converted[] = { "UTF8",
                                             "MAP",
                                             "MAP_KEY_VALUE",
                                             "LIST",
                                             "ENUM",
                                             "DECIMAL",
                                             "DATE",
                                             "TIME_MILLIS",
                                             "TIME_MICROS",
                                             "TIMESTAMP_MILLIS",
                                             "TIMESTAMP_MICROS",
                                             "UINT_8",
                                             "UINT_16",
                                             "UINT_32",
                                             "UINT_64",
                                             "INT_8",
                                             "INT_16",
                                             "INT_32",
                                             "INT_64",
                                             "JSON",
                                             "BSON",
                                             "INTERVAL" };
    int32_t k = e->logical.kind;
    if (k > 0 && (size_t)k < sizeof names / sizeof *names && names[k] != NULL) {
        return names[k];
    }
    if (k == 0 && e->converted >= 0 &&
        (size_t)e->converted < sizeof converted / sizeof *converted) {
        return converted[e->converted];
    }
    return k != 0 ? "?" : NULL;
}

static void put_schema(struct json_writer *w, const struct pq_footer *f)
{
    static const char *const repetitions[] = { "REQUIRED", "OPTIONAL", "REPEATED" };
    json_key(w, "schema");
    json_open_array(w);
    for (uint32_t i = 0; i < f->n_schema; i++) {
        const struct pq_schema_element *e = &f->schema[i];
        json_open_object(w);
        put_bytes(w, "name", e->name);
        if (e->type >= 0) {
            put_text(w, "type", pq_type_name(e->type));
        } else {
            put_int(w, "children", e->n_children < 0 ? 0 : e->n_children);
        }
        if (e->type == PQ_FIXED) {
            put_int(w, "type_length", e->type_length);
        }
        if (e->repetition >= 0) {
            put_text(w, "repetition", repetitions[e->repetition]);
        }
        if (logical_name(e) != NULL) {
            put_text(w, "logical", logical_name(e));
        }
        if (e->has_field_id) {
            put_int(w, "field_id", e->field_id);
        }
        json_close_object(w);
    }
    json_close_array(w);
}

/* ---- statistics ---- */

static bool is_text(const struct pq_schema_element *e)
{
    return e->logical.kind == PQ_LOGICAL_STRING || e->logical.kind == PQ_LOGICAL_ENUM ||
           e->logical.kind == PQ_LOGICAL_JSON || e->converted == PQ_CONV_UTF8;
}

/* A bound by its physical type; bytes that are no text as 0x and digits. */
static void put_bound(struct json_writer *w, const char *key, const struct pq_schema_element *e,
                      struct pq_bytes b)
{
    enum { HEX_BYTES_MAX = 32 };
    char hex[2 * HEX_BYTES_MAX + 8];
    if (b.data == NULL) {
        return;
    }
    json_key(w, key);
    if (e->type == PQ_INT32 && b.len == 4) {
        json_int(w, (int32_t)load_le32(b.data));
    } else if (e->type == PQ_INT64 && b.len == 8) {
        json_int(w, (int64_t)load_le64(b.data));
    } else if (e->type == PQ_FLOAT && b.len == 4) {
        float v;
        memcpy(&v, b.data, sizeof v);
        json_real32(w, v);
    } else if (e->type == PQ_DOUBLE && b.len == 8) {
        double v;
        memcpy(&v, b.data, sizeof v);
        json_real(w, v);
    } else if (e->type == PQ_BOOLEAN && b.len == 1) {
        json_bool(w, b.data[0] != 0);
    } else if (is_text(e) && utf8_is_valid(b.data, b.len)) {
        json_text_len(w, (const char *)b.data, b.len);
    } else {
        size_t n = b.len < HEX_BYTES_MAX ? b.len : HEX_BYTES_MAX;
        int at = snprintf(hex, sizeof hex, "0x");
        for (size_t i = 0; i < n; i++) {
            at += snprintf(hex + at, sizeof hex - (size_t)at, "%02x", b.data[i]);
        }
        snprintf(hex + at, sizeof hex - (size_t)at, n < b.len ? "..." : "");
        json_text(w, hex);
    }
}

static void put_statistics(struct json_writer *w, const struct pq_chunk *c,
                           const struct pq_schema_element *e)
{
    const struct pq_statistics *s = &c->statistics;
    if (!c->has_statistics) {
        return;
    }
    json_key(w, "statistics");
    json_open_object(w);
    put_bound(w, "min", e, s->min_value.data != NULL ? s->min_value : s->legacy_min);
    put_bound(w, "max", e, s->max_value.data != NULL ? s->max_value : s->legacy_max);
    if (s->null_count >= 0) {
        put_int(w, "null_count", s->null_count);
    }
    if (s->nan_count >= 0) {
        put_int(w, "nan_count", s->nan_count);
    }
    if (s->distinct_count >= 0) {
        put_int(w, "distinct_count", s->distinct_count);
    }
    if (s->is_min_exact >= 0) {
        json_key(w, "is_min_exact");
        json_bool(w, s->is_min_exact != 0);
    }
    if (s->is_max_exact >= 0) {
        json_key(w, "is_max_exact");
        json_bool(w, s->is_max_exact != 0);
    }
    json_close_object(w);
}

/* ---- chunks ---- */

static void put_page(struct json_writer *w, const struct pq_chunk_data *c,
                     const struct pq_page *page, bool is_dictionary)
{
    json_open_object(w);
    put_text(w, "type", is_dictionary ? "dictionary" : page->is_v2 ? "data_v2" : "data");
    json_key(w, "offset");
    json_uint(w, c->start + page->offset);
    put_int(w, "header_bytes", page->header_len);
    put_int(w, "stored_bytes", page->body_len);
    put_int(w, "raw_bytes", page->raw_len);
    put_text(w, "encoding", pq_encoding_name(page->encoding));
    put_int(w, "values", page->n_values);
    if (!is_dictionary) {
        put_int(w, "first_row", page->first_row);
        put_int(w, "rows", page->n_rows);
    }
    json_key(w, "has_crc");
    json_bool(w, page->has_crc);
    json_close_object(w);
}

static grebe_status put_pages(struct json_writer *w, struct pq_reader *r, size_t chunk,
                              uint32_t leaf, struct pq_scratch *s)
{
    struct pq_chunk_data c;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_status st = pq_chunk_open(r, chunk, leaf, s, &c, &err);
    if (st == GREBE_OK) {
        json_key(w, "pages");
        json_open_array(w);
        if (c.pages->has_dictionary) {
            put_page(w, &c, &c.pages->dictionary, true);
        }
        for (uint32_t i = 0; i < c.pages->n; i++) {
            put_page(w, &c, &c.pages->pages[i], false);
        }
        json_close_array(w);
    } else {
        put_text(w, "error", err.message);
    }
    pq_chunk_close(&c);
    return st == GREBE_ENOMEM ? st : GREBE_OK;
}

static void put_chunk_head(struct json_writer *w, struct pq_reader *r, const struct pq_chunk *c,
                           const struct pq_leaf *leaf)
{
    const struct pq_file *f = r->file;
    put_text(w, "path", leaf->name);
    put_text(w, "type", pq_type_name(leaf->type));
    put_text(w, "codec", pq_codec_name(c->codec));
    json_key(w, "encodings");
    json_open_array(w);
    for (int32_t i = 0; i < c->n_encodings; i++) {
        json_text(w, pq_encoding_name(c->encodings[i]));
    }
    json_close_array(w);
    put_int(w, "values", c->num_values);
    put_int(w, "stored_bytes", c->total_compressed_size);
    put_int(w, "raw_bytes", c->total_uncompressed_size);
    json_key(w, "offset");
    json_uint(w, pq_chunk_range(f, c).start);
    json_key(w, "has_offset_index");
    json_bool(w, c->offset_index_offset > 0);
    json_key(w, "has_column_index");
    json_bool(w, c->column_index_offset > 0);
    json_key(w, "has_bloom_filter");
    json_bool(w, c->bloom_filter_offset > 0);
    if (c->bloom_filter_offset > 0) {
        struct pq_filter filter;
        put_int(w, "bloom_filter_offset", c->bloom_filter_offset);
        json_key(w, "bloom_filter_bytes"); /* of the bits; null: it cannot be used */
        if (pq_filter_find(r, c, &filter, NULL) == GREBE_OK && filter.n_bytes > 0) {
            json_uint(w, filter.n_bytes);
        } else {
            json_null(w);
        }
    }
    json_key(w, "is_encrypted");
    json_bool(w, c->is_encrypted);
}

static grebe_status put_groups(struct json_writer *w, struct pq_reader *r, struct pq_scratch *s)
{
    const struct pq_file *f = r->file;
    grebe_status st = GREBE_OK;
    json_key(w, "row_groups");
    json_open_array(w);
    for (size_t i = 0; i < f->n_chunks && st == GREBE_OK; i++) {
        const struct pq_row_group *g = &f->footer.row_groups[f->groups[i].index];
        json_open_object(w);
        put_int(w, "row_begin", f->groups[i].row_begin);
        put_int(w, "rows", g->num_rows);
        put_int(w, "raw_bytes", g->total_byte_size);
        json_key(w, "columns");
        json_open_array(w);
        for (uint32_t k = 0; k < f->schema.n_leaves && st == GREBE_OK; k++) {
            json_open_object(w);
            put_chunk_head(w, r, &g->columns[k], &f->schema.leaves[k]);
            put_statistics(w, &g->columns[k], &f->footer.schema[f->schema.leaves[k].element]);
            st = put_pages(w, r, i, k, s);
            json_close_object(w);
        }
        json_close_array(w);
        json_close_object(w);
    }
    json_close_array(w);
    return st;
}

static void put_key_values(struct json_writer *w, const struct pq_footer *f)
{
    json_key(w, "metadata");
    json_open_object(w);
    for (uint32_t i = 0; i < f->n_key_values; i++) {
        const struct pq_key_value *kv = &f->key_values[i];
        json_key_len(w, (const char *)kv->key.data, kv->key.len);
        if (kv->value.data == NULL) {
            json_null(w);
        } else {
            json_text_len(w, (const char *)kv->value.data, kv->value.len);
        }
    }
    json_close_object(w);
}

grebe_status pq_inspect(struct format_reader *base, struct buf *dst, grebe_error *err)
{
    struct pq_reader *r = (struct pq_reader *)base;
    const struct pq_file *f = r->file;
    struct json_writer w;
    struct pq_scratch *s = pq_scratch_borrow(r, err);
    if (s == NULL) {
        return GREBE_ENOMEM;
    }
    json_begin(&w, dst, 0, err);
    json_open_object(&w);
    put_text(&w, "format", "parquet");
    put_int(&w, "version", f->footer.version);
    put_bytes(&w, "created_by", f->footer.created_by);
    put_int(&w, "rows", f->n_rows);
    json_key(&w, "file_bytes");
    json_uint(&w, f->id.size_bytes);
    json_key(&w, "footer_bytes");
    json_uint(&w, f->footer_len);
    put_schema(&w, &f->footer);
    put_key_values(&w, &f->footer);
    grebe_status st = put_groups(&w, r, s);
    json_close_object(&w);
    pq_scratch_return(r, s);
    grebe_status end = json_end(&w);
    return st != GREBE_OK ? mem_fail(err, 0, "a page directory") : end;
}
