/* SPDX-License-Identifier: Apache-2.0 */
/* What the footer's key-value pairs tell a table: docs/format/parquet.md "Keys of Milvus". */
#include "parquet/parquet_format.h"

#include <inttypes.h>
#include <string.h>

#include "base/checked.h"
#include "parquet/parquet_file.h"

const struct pq_bytes *pq_file_value(const struct pq_file *f, const char *key)
{
    for (uint32_t i = 0; i < f->footer.n_key_values; i++) {
        const struct pq_key_value *kv = &f->footer.key_values[i];
        if (kv->key.len == strlen(key) && memcmp(kv->key.data, key, kv->key.len) == 0) {
            return &kv->value;
        }
    }
    return NULL;
}

bool pq_find_metadata(struct format_reader *base, const char *key, const char **value,
                      size_t *len)
{
    const struct pq_bytes *found = pq_file_value(((struct pq_reader *)base)->file, key);
    *value = "";
    *len = 0;
    if (found != NULL && found->data != NULL) {
        *value = (const char *)found->data;
        *len = found->len;
    }
    return found != NULL;
}

/* A decimal number up to `end`; false: none, or too large. */
static bool read_number(const unsigned char **p, const unsigned char *end, uint64_t *out)
{
    const unsigned char *at = *p;
    uint64_t v = 0;
    for (; at < end && *at >= '0' && *at <= '9'; at++) {
        if (v > (UINT64_MAX - 9) / 10) {
            return false;
        }
        v = v * 10 + (uint64_t)(*at - '0');
    }
    bool is_number = at > *p;
    *p = at;
    *out = v;
    return is_number;
}

/*
 * "memory_size|row_count|first_row;…", one entry a row group (loon.md 5.6): the sizes. The reference
 * refuses a file whose entries are not as many as its row groups.
 */
static grebe_status read_group_sizes(const struct pq_file *f, uint64_t *sizes, grebe_error *err)
{
    const struct pq_bytes *text = f->group_sizes_text;
    const unsigned char *p = text->data;
    const unsigned char *end = p == NULL ? NULL : p + text->len;
    uint32_t n = 0;
    bool is_more = false; /* a ';' was read, and an entry must follow */
    while (p < end) {
        uint64_t fields[3];
        for (int i = 0; i < 3; i++) {
            if (!read_number(&p, end, &fields[i]) || (i < 2 && (p == end || *p++ != '|'))) {
                return GREBE_FAIL(err, GREBE_ECORRUPT,
                                  "row_group_metadata: entry %" PRIu32
                                  ": expected size|rows|first row", n);
            }
        }
        if (n < f->footer.n_row_groups) {
            sizes[n] = fields[0];
        }
        n++;
        is_more = p < end && *p == ';';
        p += is_more;
        if (is_more ? n >= f->footer.n_row_groups : p < end) {
            break;
        }
    }
    if (n != f->footer.n_row_groups || p != end || is_more) {
        return GREBE_FAIL(err, GREBE_ECORRUPT,
                          "row_group_metadata: expected %" PRIu32 " entries, one a row group, "
                          "found %s%" PRIu32, f->footer.n_row_groups,
                          p != end || is_more ? "more than " : "", n);
    }
    return GREBE_OK;
}

/* The sizes, read when the first one is asked for: all chunks are asked one after another. Borrowed. */
static grebe_status group_sizes(struct pq_file *f, const uint64_t **out, grebe_error *err)
{
    uint64_t *sizes = atomic_load_explicit(&f->group_sizes, memory_order_acquire);
    if (sizes == NULL) {
        size_t n_bytes = f->footer.n_row_groups * sizeof *sizes;
        uint64_t *made = mem_alloc(f->a, n_bytes);
        if (made == NULL) {
            return mem_fail(err, n_bytes, "sizes of row groups");
        }
        grebe_status st = read_group_sizes(f, made, err);
        if (st != GREBE_OK) {
            mem_free(f->a, made, n_bytes);
            return st;
        }
        if (atomic_compare_exchange_strong(&f->group_sizes, &sizes, made)) {
            sizes = made;
        } else {
            mem_free(f->a, made, n_bytes);
        }
    }
    *out = sizes;
    return GREBE_OK;
}

/* Bytes of the columns' pages before compression. */
static uint64_t raw_bytes(const struct pq_file *f, const int *columns, size_t n_columns,
                          size_t chunk)
{
    uint64_t total = 0;
    for (size_t i = 0; i < n_columns; i++) {
        size_t column = columns == NULL ? i : (size_t)columns[i];
        const struct pq_node *node = &f->schema.columns[column];
        for (uint32_t leaf = node->leaf_begin; leaf < node->leaf_end; leaf++) {
            int64_t size = pq_chunk_of(f, chunk, leaf)->total_uncompressed_size;
            total += size > 0 && (uint64_t)size < UINT64_MAX - total ? (uint64_t)size : 0;
        }
    }
    return total;
}

grebe_status pq_memory_bytes(struct format_reader *base, const int *columns, size_t n_columns,
                             size_t chunk, uint64_t *out, grebe_error *err)
{
    struct pq_file *f = ((struct pq_reader *)base)->file;
    const uint64_t *sizes = NULL; /* NULL: the file does not tell */
    *out = 0;
    if (f->group_sizes_text != NULL) {
        grebe_status st = group_sizes(f, &sizes, err);
        if (st != GREBE_OK) {
            return st;
        }
    }
    if (chunk >= f->n_chunks) {
        return GREBE_OK;
    }
    uint64_t all = raw_bytes(f, NULL, f->schema.n_columns, chunk);
    uint64_t part = columns == NULL ? all : raw_bytes(f, columns, n_columns, chunk);
    uint64_t size = sizes == NULL ? part : sizes[f->groups[chunk].index];
    if (sizes == NULL || part == all) {
        *out = size;
    } else { /* the columns' share of it */
        double share = all == 0 ? 0 : (double)part / (double)all;
        *out = (uint64_t)(share * (double)(size >> 1)) << 1;
    }
    return GREBE_OK;
}
