/* SPDX-License-Identifier: Apache-2.0 */
/* Parquet's Thrift structs from any bytes; what was read is written and read again. */
#include <stdlib.h>
#include <string.h>

#include "fuzz_require.h"
#include "parquet/parquet_meta.h"
#include "wire/thrift.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void page_header(const uint8_t *data, size_t size)
{
    struct pq_page_header h, again;
    struct buf bytes = BUF_INIT(mem_system());
    size_t len = 0;
    if (pq_page_header_decode(data, size, &h, &len, NULL) == GREBE_OK) {
        require(len <= size);
        if (h.type == PQ_PAGE_DATA || h.type >= PQ_PAGE_DICTIONARY) {
            if (h.type <= PQ_PAGE_DATA_V2) {
                require(pq_page_header_encode(&h, &bytes, NULL) == GREBE_OK);
                require(pq_page_header_decode(bytes.data, bytes.len, &again, &len, NULL) ==
                        GREBE_OK);
                require(len == bytes.len && again.num_values == h.num_values &&
                        again.crc == h.crc && again.encoding == h.encoding);
            }
        }
    }
    buf_release(&bytes);
}

static void indexes(const uint8_t *data, size_t size)
{
    struct arena ar = ARENA_INIT(mem_system());
    struct buf bytes = BUF_INIT(mem_system());
    struct pq_offset_index offsets, again;
    struct pq_column_index columns;
    struct pq_bloom_header bloom;
    size_t len = 0;
    if (pq_offset_index_decode(&ar, data, size, &offsets, NULL) == GREBE_OK) {
        require(pq_offset_index_encode(&offsets, &bytes, NULL) == GREBE_OK);
        require(pq_offset_index_decode(&ar, bytes.data, bytes.len, &again, NULL) == GREBE_OK);
        require(again.n == offsets.n);
        for (uint32_t i = 0; i < again.n; i++) {
            require(again.offset[i] == offsets.offset[i] && again.size[i] == offsets.size[i] &&
                    again.first_row[i] == offsets.first_row[i]);
        }
    }
    buf_clear(&bytes);
    if (pq_column_index_decode(&ar, data, size, &columns, NULL) == GREBE_OK) {
        require(pq_column_index_encode(&columns, &bytes, NULL) == GREBE_OK);
    }
    (void)!pq_bloom_header_decode(data, size, &bloom, &len, NULL);
    buf_release(&bytes);
    arena_release(&ar);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena ar = ARENA_INIT(mem_system());
    struct pq_footer footer;
    struct thrift_reader r;
    thrift_reader_init(&r, data, size);
    thrift_skip(&r, THRIFT_STRUCT);
    require(thrift_consumed(&r) <= size);
    if (pq_footer_decode(&ar, data, size, &footer, NULL) == GREBE_OK) {
        require(footer.n_schema > 0);
    }
    arena_release(&ar);
    page_header(data, size);
    indexes(data, size);
    return 0;
}
