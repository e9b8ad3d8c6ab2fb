/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_TESTS_PARQUET_ONE_COLUMN_H
#define GREBE_TESTS_PARQUET_ONE_COLUMN_H

/* Parquet files of one column whose every number can lie. */

#include "arrow/ipc.h"
#include "base/base64.h"
#include "base/endian.h"
#include "parquet/parquet_format.h"
#include "parquet/parquet_meta.h"
#include "test_support.h"

/* A file of one column: a dictionary page where it has bytes, then a data page. */
struct claim {
    const char *what;
    int32_t type, type_length, repetition, codec;
    bool is_list;
    const char *hint; /* Arrow format of the list, in ARROW:schema */
    int64_t num_rows, num_values; /* of the chunk */
    struct pq_page_header dictionary, page;
    unsigned char dictionary_bytes[16], bytes[32];
    size_t dictionary_len, len;
    const unsigned char *before; /* whole pages in front of the data page */
    size_t before_len;
    grebe_status expected;
    const char *fragment;
};

static inline struct pq_bytes text(const char *s)
{
    return (struct pq_bytes){ (const unsigned char *)s, strlen(s) };
}

static inline uint32_t fill_schema(const struct claim *c, struct pq_schema_element elements[4])
{
    uint32_t n = c->is_list ? 4 : 2;
    for (uint32_t i = 0; i < n; i++) {
        pq_schema_element_init(&elements[i]);
        elements[i].n_children = i + 1 < n ? 1 : -1;
    }
    elements[0].name = text("schema");
    if (c->is_list) {
        elements[1].name = text("v");
        elements[1].repetition = PQ_OPTIONAL;
        elements[1].converted = PQ_CONV_LIST;
        elements[2].name = text("list");
        elements[2].repetition = PQ_REPEATED;
    }
    elements[n - 1].name = text(c->is_list ? "element" : "v");
    elements[n - 1].repetition = c->repetition;
    elements[n - 1].type = c->type;
    elements[n - 1].type_length = c->type_length;
    return n;
}

static inline void put_page(struct buf *file, const struct pq_page_header *header, const unsigned char *bytes,
                     size_t len)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct pq_page_header h = *header;
    h.compressed_size = (int32_t)len;
    h.uncompressed_size = h.uncompressed_size == 0 ? (int32_t)len : h.uncompressed_size;
    assert_ok(pq_page_header_encode(&h, file, &err));
    assert_ok(buf_put(file, bytes, len, &err));
}

static inline void put_hint(const char *format, struct buf *out)
{
    grebe_error err = GREBE_ERROR_INIT;
    const grebe_allocator *a = mem_system();
    struct buf message = BUF_INIT(a);
    struct ArrowSchema hint;
    assert_ok(schema_new(a, "+s", "", false, 1, &hint, &err));
    assert_ok(schema_new(a, format, "v", true, 1, hint.children[0], &err));
    assert_ok(schema_new(a, "f", "element", true, 0, hint.children[0]->children[0], &err));
    assert_ok(ipc_schema_encode(&message, &hint, &err));
    assert_ok(base64_encode(out, message.data, message.len, &err));
    schema_release(&hint);
    buf_release(&message);
}

static inline void make_file(const struct claim *c, struct buf *file)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct pq_schema_element elements[4];
    struct pq_row_group group;
    struct pq_chunk chunk;
    struct buf hint = BUF_INIT(mem_system());
    const struct pq_bytes path[] = { text("v"), text("list"), text("element") };
    const int32_t encodings[] = { c->page.encoding, PQ_RLE };
    unsigned char tail[8];
    assert_ok(buf_put(file, "PAR1", 4, &err));
    pq_chunk_init(&chunk);
    chunk.type = c->type;
    chunk.codec = c->codec;
    chunk.num_values = c->num_values;
    if (c->dictionary_len > 0) {
        chunk.dictionary_page_offset = 4;
        put_page(file, &c->dictionary, c->dictionary_bytes, c->dictionary_len);
    }
    chunk.data_page_offset = (int64_t)file->len;
    assert_ok(buf_put(file, c->before, c->before_len, &err));
    put_page(file, &c->page, c->bytes, c->len);
    chunk.total_compressed_size = (int64_t)file->len - 4;
    chunk.total_uncompressed_size = INT64_MAX / 2;
    chunk.path = path;
    chunk.n_path = c->is_list ? 3 : 1;
    chunk.encodings = encodings;
    chunk.n_encodings = 2;
    chunk.has_metadata = true;
    pq_row_group_init(&group);
    group.columns = &chunk;
    group.n_columns = 1;
    group.num_rows = c->num_rows;
    struct pq_footer footer = { .version = 2, .num_rows = c->num_rows, .schema = elements,
                                .n_schema = fill_schema(c, elements), .n_row_groups = 1,
                                .row_groups = &group };
    struct pq_key_value pair;
    if (c->hint != NULL) {
        put_hint(c->hint, &hint);
        pair = (struct pq_key_value){ text("ARROW:schema"), { hint.data, hint.len } };
        footer.key_values = &pair;
        footer.n_key_values = 1;
    }
    size_t before = file->len;
    assert_ok(pq_footer_encode(&footer, file, &err));
    store_le32(tail, (uint32_t)(file->len - before));
    memcpy(tail + 4, "PAR1", 4);
    assert_ok(buf_put(file, tail, sizeof tail, &err));
    buf_release(&hint);
}

#endif
