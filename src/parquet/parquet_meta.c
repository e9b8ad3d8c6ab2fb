/* SPDX-License-Identifier: Apache-2.0 */
#include "parquet/parquet_meta.h"

#include <string.h>

void pq_schema_element_init(struct pq_schema_element *e)
{
    memset(e, 0, sizeof *e);
    e->type = -1;
    e->repetition = -1;
    e->n_children = -1;
    e->converted = -1;
    e->scale = -1;
    e->precision = -1;
    e->logical.algorithm = -1;
}

void pq_statistics_init(struct pq_statistics *s)
{
    memset(s, 0, sizeof *s);
    s->null_count = -1;
    s->distinct_count = -1;
    s->nan_count = -1;
    s->is_min_exact = -1;
    s->is_max_exact = -1;
}

void pq_chunk_init(struct pq_chunk *c)
{
    memset(c, 0, sizeof *c);
    pq_statistics_init(&c->statistics);
    c->size_statistics.unencoded_bytes = -1;
}

void pq_row_group_init(struct pq_row_group *g)
{
    memset(g, 0, sizeof *g);
    g->file_offset = -1;
    g->total_compressed_size = -1;
    g->ordinal = -1;
}

static const char *name_at(const char *const *names, size_t n, int32_t i)
{
    return i >= 0 && (size_t)i < n && names[i] != NULL ? names[i] : "?";
}

const char *pq_type_name(int32_t type)
{
    static const char *const names[] = {
        "BOOLEAN", "INT32",  "INT64",      "INT96",
        "FLOAT",   "DOUBLE", "BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY"
    };
    return name_at(names, sizeof names / sizeof *names, type);
}

const char *pq_encoding_name(int32_t encoding)
{
    static const char *const names[] = { "PLAIN",
                                         NULL,
                                         "PLAIN_DICTIONARY",
                                         "RLE",
                                         "BIT_PACKED",
                                         "DELTA_BINARY_PACKED",
                                         "DELTA_LENGTH_BYTE_ARRAY",
                                         "DELTA_BYTE_ARRAY",
                                         "RLE_DICTIONARY",
                                         "BYTE_STREAM_SPLIT",
                                         "ALP" };
    return name_at(names, sizeof names / sizeof *names, encoding);
}

const char *pq_codec_name(int32_t codec)
{
    static const char *const names[] = { "UNCOMPRESSED", "SNAPPY", "GZIP", "LZO",
                                         "BROTLI",       "LZ4",    "ZSTD", "LZ4_RAW" };
    return name_at(names, sizeof names / sizeof *names, codec);
}
