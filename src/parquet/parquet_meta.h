/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_PARQUET_PARQUET_META_H
#define GREBE_PARQUET_PARQUET_META_H

/*
 * The metadata structs of a Parquet file and their Thrift forms. No IO here.
 *
 * Decoding puts arrays into an arena and borrows all strings from the bytes decoded: both must
 * outlive the structs. Encoding writes what the structs hold, fields in ascending ids, nothing
 * that is absent. What is absent is -1, NULL or a clear has_ flag as said at each field.
 *
 * Source: parquet.thrift of apache/parquet-format.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"

enum pq_type {
    PQ_BOOLEAN = 0,
    PQ_INT32 = 1,
    PQ_INT64 = 2,
    PQ_INT96 = 3,
    PQ_FLOAT = 4,
    PQ_DOUBLE = 5,
    PQ_BYTE_ARRAY = 6,
    PQ_FIXED = 7 /* FIXED_LEN_BYTE_ARRAY */
};

enum pq_repetition { PQ_REQUIRED = 0, PQ_OPTIONAL = 1, PQ_REPEATED = 2 };

enum pq_converted {
    PQ_CONV_UTF8 = 0, PQ_CONV_MAP, PQ_CONV_MAP_KEY_VALUE, PQ_CONV_LIST, PQ_CONV_ENUM,
    PQ_CONV_DECIMAL, PQ_CONV_DATE, PQ_CONV_TIME_MILLIS, PQ_CONV_TIME_MICROS,
    PQ_CONV_TIMESTAMP_MILLIS, PQ_CONV_TIMESTAMP_MICROS,
    PQ_CONV_UINT_8, PQ_CONV_UINT_16, PQ_CONV_UINT_32, PQ_CONV_UINT_64,
    PQ_CONV_INT_8, PQ_CONV_INT_16, PQ_CONV_INT_32, PQ_CONV_INT_64,
    PQ_CONV_JSON, PQ_CONV_BSON, PQ_CONV_INTERVAL
};

/** Members of the LogicalType union by their ids. */
enum pq_logical_kind {
    PQ_LOGICAL_NONE = 0,
    PQ_LOGICAL_STRING = 1,
    PQ_LOGICAL_MAP = 2,
    PQ_LOGICAL_LIST = 3,
    PQ_LOGICAL_ENUM = 4,
    PQ_LOGICAL_DECIMAL = 5,
    PQ_LOGICAL_DATE = 6,
    PQ_LOGICAL_TIME = 7,
    PQ_LOGICAL_TIMESTAMP = 8,
    PQ_LOGICAL_INTEGER = 10,
    PQ_LOGICAL_UNKNOWN = 11, /* every value is null */
    PQ_LOGICAL_JSON = 12,
    PQ_LOGICAL_BSON = 13,
    PQ_LOGICAL_UUID = 14,
    PQ_LOGICAL_FLOAT16 = 15,
    PQ_LOGICAL_VARIANT = 16,
    PQ_LOGICAL_GEOMETRY = 17,
    PQ_LOGICAL_GEOGRAPHY = 18,
    PQ_LOGICAL_FILE = 19
    /* any other id: a member newer than this list */
};

enum pq_time_unit { PQ_MILLIS = 1, PQ_MICROS = 2, PQ_NANOS = 3 };

enum pq_encoding {
    PQ_PLAIN = 0,
    PQ_PLAIN_DICTIONARY = 2,
    PQ_RLE = 3,
    PQ_BIT_PACKED = 4,
    PQ_DELTA_BINARY_PACKED = 5,
    PQ_DELTA_LENGTH_BYTE_ARRAY = 6,
    PQ_DELTA_BYTE_ARRAY = 7,
    PQ_RLE_DICTIONARY = 8,
    PQ_BYTE_STREAM_SPLIT = 9,
    PQ_ALP = 10
};

/** CompressionCodec of the format. */
enum pq_codec {
    PQ_UNCOMPRESSED = 0,
    PQ_SNAPPY = 1,
    PQ_GZIP = 2,
    PQ_LZO = 3,
    PQ_BROTLI = 4,
    PQ_LZ4 = 5,
    PQ_ZSTD = 6,
    PQ_LZ4_RAW = 7
};

enum pq_page_type { PQ_PAGE_DATA = 0, PQ_PAGE_INDEX = 1, PQ_PAGE_DICTIONARY = 2, PQ_PAGE_DATA_V2 = 3 };

enum pq_boundary_order { PQ_UNORDERED = 0, PQ_ASCENDING = 1, PQ_DESCENDING = 2 };

/** Members of the ColumnOrder union; 0: absent or unknown, bounds say nothing. */
enum pq_column_order { PQ_ORDER_UNKNOWN = 0, PQ_ORDER_TYPE = 1, PQ_ORDER_IEEE754 = 2, PQ_ORDER_INT96 = 3 };

/** Bytes borrowed from the footer (or from the writer). data NULL: absent; len 0: empty. */
struct pq_bytes {
    const unsigned char *data;
    size_t len;
};

struct pq_key_value {
    struct pq_bytes key;
    struct pq_bytes value; /* data NULL: the key stands alone */
};

struct pq_logical {
    int32_t kind; /* enum pq_logical_kind or an unknown id */
    int32_t precision, scale; /* DECIMAL */
    int8_t bit_width;         /* INTEGER */
    bool is_signed;           /* INTEGER */
    bool is_utc;              /* TIME, TIMESTAMP: isAdjustedToUTC */
    uint8_t unit;             /* TIME, TIMESTAMP: enum pq_time_unit; 0: unknown */
    int8_t version;           /* VARIANT: specification_version; 0: absent */
    struct pq_bytes crs;      /* GEOMETRY, GEOGRAPHY */
    int32_t algorithm;        /* GEOGRAPHY; -1: absent */
};

struct pq_schema_element {
    struct pq_bytes name;
    int32_t type;           /* enum pq_type; -1: a group */
    int32_t type_length;    /* FIXED; 0: absent */
    int32_t repetition;     /* enum pq_repetition; -1: absent (root) */
    int32_t n_children;     /* -1: absent */
    int32_t converted;      /* enum pq_converted; -1: absent */
    int32_t scale, precision; /* -1: absent */
    bool has_field_id;
    int32_t field_id;
    struct pq_logical logical;
};

struct pq_statistics {
    struct pq_bytes min_value, max_value;   /* fields 6, 5 */
    struct pq_bytes legacy_min, legacy_max; /* fields 2, 1 */
    int64_t null_count, distinct_count, nan_count; /* -1: absent */
    int8_t is_min_exact, is_max_exact;      /* -1: absent */
};

struct pq_encoding_stats {
    int32_t page_type, encoding, count;
};

struct pq_size_statistics {
    int64_t unencoded_bytes;                 /* -1: absent */
    const int64_t *repetition, *definition;  /* histograms; NULL: absent */
    uint32_t n_repetition, n_definition;
};

enum pq_chunk_crypto { PQ_CHUNK_PLAIN = 0, PQ_CHUNK_ENCRYPTED = 1 };

/** ColumnChunk with its ColumnMetaData. */
struct pq_chunk {
    int32_t type;  /* enum pq_type */
    int32_t codec; /* enum pq_codec */
    int64_t num_values;
    int64_t total_uncompressed_size, total_compressed_size;
    int64_t data_page_offset;
    int64_t dictionary_page_offset; /* 0: absent */
    int64_t offset_index_offset, column_index_offset; /* 0: absent */
    int32_t offset_index_length, column_index_length;
    int64_t bloom_filter_offset; /* 0: absent */
    int32_t bloom_filter_length; /* 0: absent; then the filter's header tells */
    int32_t n_path, n_encodings, n_encoding_stats, n_key_values;
    const struct pq_bytes *path;     /* path_in_schema, shape [n_path] */
    const int32_t *encodings;        /* shape [n_encodings] */
    const struct pq_encoding_stats *encoding_stats; /* shape [n_encoding_stats] */
    const struct pq_key_value *key_values;          /* shape [n_key_values] */
    bool has_metadata;      /* ColumnMetaData was there */
    bool has_statistics;    /* `statistics` is set */
    bool has_size_statistics;
    bool is_encrypted;      /* ColumnCryptoMetaData is there: never parse its pages */
    struct pq_bytes file_path; /* set: the pages are in another file (refused) */
    struct pq_statistics statistics;
    struct pq_size_statistics size_statistics;
};

struct pq_sorting_column {
    int32_t column;
    bool is_descending, nulls_first;
};

struct pq_row_group {
    struct pq_chunk *columns; /* shape [n_columns] */
    uint32_t n_columns;
    uint32_t n_sorting;
    const struct pq_sorting_column *sorting;
    int64_t total_byte_size;
    int64_t num_rows;
    int64_t file_offset;           /* -1: absent */
    int64_t total_compressed_size; /* -1: absent */
    int32_t ordinal;               /* -1: absent */
};

/** FileMetaData. */
struct pq_footer {
    int32_t version;
    int64_t num_rows; /* can be wrong in old files: the row groups decide */
    struct pq_schema_element *schema; /* depth first, root first; shape [n_schema] */
    uint32_t n_schema;
    uint32_t n_row_groups;
    struct pq_row_group *row_groups;
    struct pq_key_value *key_values;
    uint32_t n_key_values;
    uint32_t n_column_orders;         /* 0: absent; else one per leaf */
    const uint8_t *column_orders;     /* enum pq_column_order */
    struct pq_bytes created_by;       /* data NULL: absent */
    bool is_encrypted;                /* plaintext footer of a file with encrypted columns */
    bool is_int96_us;                 /* not stored: INT96 is wanted in microseconds, rounded down */
};

struct pq_page_header {
    int32_t type; /* enum pq_page_type or an unknown one (to be skipped) */
    int32_t uncompressed_size, compressed_size; /* of the body */
    bool has_crc;
    uint32_t crc;
    int32_t num_values; /* data and dictionary pages */
    int32_t encoding;
    int32_t definition_encoding, repetition_encoding; /* v1 */
    int32_t num_nulls, num_rows;                      /* v2 */
    int32_t definition_length, repetition_length;     /* v2 */
    bool is_compressed;                               /* v2 */
    bool is_sorted;                                   /* dictionary */
    bool has_statistics;          /* data pages; reading only */
    struct pq_statistics statistics; /* borrowed from the bytes */
    /** Writing only: bytes that the extension field 32767 takes in all (0, or 5 … 132), so that
     *  values behind the header come to lie where one wants them. */
    uint32_t padding_bytes;
};

/** Struct of arrays, each of shape [n]. */
struct pq_offset_index {
    uint32_t n;
    int64_t *offset;
    int32_t *size;      /* compressed_page_size, header included */
    int64_t *first_row; /* in the row group */
    int64_t *unencoded_bytes; /* NULL: absent */
};

struct pq_column_index {
    uint32_t n;
    bool *null_pages;
    struct pq_bytes *min, *max; /* a null page has empty ones */
    int32_t boundary_order;     /* enum pq_boundary_order */
    int64_t *null_counts;       /* NULL: absent */
    int64_t *nan_counts;        /* NULL: absent */
    /* Concatenated per page, max_level + 1 entries each; NULL: absent. */
    int64_t *repetition, *definition;
    uint32_t n_repetition, n_definition;
};

/** Only the split-block filter with XXH64, uncompressed, is usable. */
struct pq_bloom_header {
    int32_t n_bytes;
    bool is_usable; /* reading: all three unions say what we know */
};

/* Values to start from: everything absent. */
void pq_schema_element_init(struct pq_schema_element *e);
void pq_statistics_init(struct pq_statistics *s);
void pq_chunk_init(struct pq_chunk *c);
void pq_row_group_init(struct pq_row_group *g);

/** Limits of a footer. */
enum {
    PQ_SCHEMA_ELEMENTS_MAX = 65536,
    PQ_ROW_GROUPS_MAX = 1 << 20,
    PQ_KEY_VALUES_MAX = 65536,
    PQ_PAGE_HEADER_BYTES_MAX = 16 << 20,
    PQ_INDEX_BYTES_MAX = 64 << 20,
    PQ_BLOOM_BYTES_MAX = 128 << 20
};

/**
 * FileMetaData from its Thrift bytes.
 *
 * @param bytes Borrowed by *out. Shape [len].
 * @param ar    Owns the arrays of *out.
 * @return GREBE_OK; GREBE_ECORRUPT (not Thrift, a required field missing); GREBE_ELIMIT; GREBE_ENOMEM.
 */
grebe_status pq_footer_decode(struct arena *ar, const void *bytes, size_t len,
                              struct pq_footer *out, grebe_error *err);
/** Appends the Thrift bytes to dst. */
grebe_status pq_footer_encode(const struct pq_footer *footer, struct buf *dst, grebe_error *err);

/**
 * The page header at the start of bytes.
 *
 * @param header_len Bytes that it takes.
 * @return GREBE_OK; GREBE_END (the bytes end inside it: give more); GREBE_ECORRUPT.
 */
grebe_status pq_page_header_decode(const void *bytes, size_t len, struct pq_page_header *out,
                                   size_t *header_len, grebe_error *err);
grebe_status pq_page_header_encode(const struct pq_page_header *header, struct buf *dst,
                                   grebe_error *err);

grebe_status pq_offset_index_decode(struct arena *ar, const void *bytes, size_t len,
                                    struct pq_offset_index *out, grebe_error *err);
grebe_status pq_offset_index_encode(const struct pq_offset_index *index, struct buf *dst,
                                    grebe_error *err);

grebe_status pq_column_index_decode(struct arena *ar, const void *bytes, size_t len,
                                    struct pq_column_index *out, grebe_error *err);
grebe_status pq_column_index_encode(const struct pq_column_index *index, struct buf *dst,
                                    grebe_error *err);

/** @param header_len Bytes that the header takes; the filter's bits follow it. */
grebe_status pq_bloom_header_decode(const void *bytes, size_t len, struct pq_bloom_header *out,
                                    size_t *header_len, grebe_error *err);
grebe_status pq_bloom_header_encode(const struct pq_bloom_header *header, struct buf *dst,
                                    grebe_error *err);

/** Names for messages and inspect; "?" for a value that is none. */
const char *pq_type_name(int32_t type);
const char *pq_encoding_name(int32_t encoding);
const char *pq_codec_name(int32_t codec);

#endif
