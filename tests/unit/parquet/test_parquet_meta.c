/* SPDX-License-Identifier: Apache-2.0 */
#include "parquet/parquet_meta.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/endian.h"
#include "test_support.h"

#define GOLDEN TEST_DATA "/golden/parquet/"

static unsigned char *read_footer(const char *path, size_t *len, unsigned char **whole)
{
    size_t size = 0;
    *whole = test_read_file(path, &size);
    *len = load_le32(*whole + size - 8);
    return *whole + size - 8 - *len;
}

static void test_footer__files_of_others__encode_gives_equal_structs(void **state)
{
    (void)state;
    static const char *const files[] = { "pa_default.parquet", "pa_small_pages.parquet",
                                         "duck_default.parquet", "pl_default.parquet",
                                         "testing/nested_maps.snappy.parquet",
                                         "testing/floating_orders_nan_count.parquet" };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[512];
        grebe_error err = GREBE_ERROR_INIT;
        struct arena ar = ARENA_INIT(mem_system());
        struct buf once = BUF_INIT(mem_system());
        struct buf twice = BUF_INIT(mem_system());
        struct pq_footer f, again;
        unsigned char *whole;
        size_t len;
        snprintf(path, sizeof path, GOLDEN "%s", files[i]);
        unsigned char *footer = read_footer(path, &len, &whole);
        assert_ok(pq_footer_decode(&ar, footer, len, &f, &err));
        assert_true(f.n_schema > 1 && f.n_row_groups > 0);
        assert_ok(pq_footer_encode(&f, &once, &err));
        assert_ok(pq_footer_decode(&ar, once.data, once.len, &again, &err));
        assert_int_equal(again.n_schema, f.n_schema);
        assert_int_equal(again.n_row_groups, f.n_row_groups);
        assert_int_equal(again.n_key_values, f.n_key_values);
        assert_int_equal(again.n_column_orders, f.n_column_orders);
        for (uint32_t g = 0; g < f.n_row_groups; g++) {
            assert_int_equal(again.row_groups[g].num_rows, f.row_groups[g].num_rows);
            for (uint32_t c = 0; c < f.row_groups[g].n_columns; c++) {
                const struct pq_chunk *x = &f.row_groups[g].columns[c];
                const struct pq_chunk *y = &again.row_groups[g].columns[c];
                assert_int_equal(x->data_page_offset, y->data_page_offset);
                assert_int_equal(x->num_values, y->num_values);
                assert_int_equal(x->statistics.null_count, y->statistics.null_count);
                assert_int_equal(x->statistics.max_value.len, y->statistics.max_value.len);
                assert_int_equal(x->n_encoding_stats, y->n_encoding_stats);
                assert_int_equal(x->offset_index_offset, y->offset_index_offset);
            }
        }
        assert_ok(pq_footer_encode(&again, &twice, &err));
        assert_int_equal(once.len, twice.len);
        assert_memory_equal(once.data, twice.data, once.len);
        buf_release(&once);
        buf_release(&twice);
        arena_release(&ar);
        free(whole);
    }
}

static void test_footer__every_truncation__corrupt(void **state)
{
    (void)state;
    unsigned char *whole;
    size_t len;
    grebe_error err = GREBE_ERROR_INIT;
    unsigned char *footer = read_footer(GOLDEN "milvus/column_group_2.parquet", &len, &whole);
    for (size_t n = 0; n < len; n++) {
        struct arena ar = ARENA_INIT(mem_system());
        struct pq_footer f;
        unsigned char *cut = mem_alloc(mem_system(), n);
        memcpy(cut, footer, n);
        assert_fails(pq_footer_decode(&ar, cut, n, &f, &err), GREBE_ECORRUPT, "footer");
        assert_int_equal(f.n_schema, 0);
        arena_release(&ar);
        mem_free(mem_system(), cut, n);
    }
    free(whole);
}

static void test_footer__no_memory__no_leak(void **state)
{
    (void)state;
    struct test_allocator t;
    unsigned char *whole;
    size_t len;
    grebe_error err = GREBE_ERROR_INIT;
    test_allocator_init(&t);
    unsigned char *footer = read_footer(GOLDEN "pa_default.parquet", &len, &whole);
    bool is_done = false;
    for (size_t n = 1; !is_done; n++) {
        struct arena ar = ARENA_INIT(&t.a);
        struct pq_footer f;
        t.n_calls = 0;
        t.fail_at = n;
        grebe_status st = pq_footer_decode(&ar, footer, len, &f, &err);
        assert_true(st == GREBE_OK || st == GREBE_ENOMEM);
        is_done = st == GREBE_OK;
        arena_release(&ar);
        assert_int_equal(t.live_bytes, 0);
    }
    free(whole);
}

static void test_footer__more_columns_than_schema__corrupt(void **state)
{
    (void)state;
    /* schema of 1 element, then a row group whose list claims 2^20 columns */
    struct buf b = BUF_INIT(mem_system());
    grebe_error err = GREBE_ERROR_INIT;
    struct arena ar = ARENA_INIT(mem_system());
    struct pq_footer f;
    static const unsigned char head[] = { 0x15, 0x02, 0x19, 0x1c, 0x48, 0x01, 'r', 0x00, 0x16,
                                          0x00, 0x19, 0x1c, 0x19, 0xfc, 0x80, 0x80, 0x40 };
    assert_ok(buf_put(&b, head, sizeof head, &err));
    assert_ok(buf_put_zero(&b, 1 << 20, &err));
    assert_fails(pq_footer_decode(&ar, b.data, b.len, &f, &err), GREBE_ECORRUPT,
                 "more columns than the schema");
    assert_true(ar.total_bytes < 100000);
    arena_release(&ar);
    buf_release(&b);
}

static struct pq_page_header example_header(int32_t type)
{
    return (struct pq_page_header){
        .type = type, .uncompressed_size = 1000, .compressed_size = 900, .has_crc = true,
        .crc = 0xfedcba98, .num_values = 77, .encoding = PQ_RLE_DICTIONARY,
        .definition_encoding = PQ_RLE, .repetition_encoding = PQ_RLE, .num_nulls = 3,
        .num_rows = 70, .definition_length = 12, .repetition_length = 13, .is_compressed = false,
        .is_sorted = true
    };
}

static void test_page_header__padding__takes_the_bytes_asked_for(void **state)
{
    (void)state;
    static const int32_t types[] = { PQ_PAGE_DATA, PQ_PAGE_DICTIONARY, PQ_PAGE_DATA_V2 };
    grebe_error err = GREBE_ERROR_INIT;
    for (size_t t = 0; t < 3; t++) {
        size_t plain_len = 0;
        for (uint32_t padding = 0; padding <= 132; padding = padding == 0 ? 5 : padding + 1) {
            struct buf b = BUF_INIT(mem_system());
            struct pq_page_header h = example_header(types[t]), again;
            size_t len = 0;
            h.padding_bytes = padding;
            assert_ok(pq_page_header_encode(&h, &b, &err));
            plain_len = padding == 0 ? b.len : plain_len;
            assert_int_equal(b.len, plain_len + padding);
            for (size_t n = 0; n < b.len; n++) {
                assert_int_equal(pq_page_header_decode(b.data, n, &again, &len, &err), GREBE_END);
            }
            assert_ok(buf_put(&b, "body", 4, &err));
            assert_ok(pq_page_header_decode(b.data, b.len, &again, &len, &err));
            assert_int_equal(len, b.len - 4);
            assert_int_equal(again.type, h.type);
            assert_int_equal(again.num_values, h.num_values);
            assert_int_equal(again.encoding, h.encoding);
            assert_true(again.has_crc && again.crc == h.crc);
            if (types[t] == PQ_PAGE_DATA_V2) {
                assert_int_equal(again.definition_length, 12);
                assert_int_equal(again.repetition_length, 13);
                assert_int_equal(again.num_rows, 70);
                assert_false(again.is_compressed);
            }
            buf_release(&b);
        }
    }
}

static void test_page_header__negative_or_missing__corrupt(void **state)
{
    (void)state;
    grebe_error err = GREBE_ERROR_INIT;
    struct pq_page_header h;
    size_t len;
    /* type 0, sizes 10 and 10, no data page header */
    static const unsigned char no_part[] = { 0x15, 0x00, 0x15, 0x14, 0x15, 0x14, 0x00 };
    /* type 0, size -1 */
    static const unsigned char negative[] = { 0x15, 0x00, 0x15, 0x01, 0x15, 0x14, 0x2c, 0x15, 0x02,
                                              0x15, 0x00, 0x15, 0x06, 0x15, 0x06, 0x00, 0x00 };
    /* unknown page type 9: no part needed */
    static const unsigned char unknown[] = { 0x15, 0x12, 0x15, 0x14, 0x15, 0x14, 0x00 };
    assert_fails(pq_page_header_decode(no_part, sizeof no_part, &h, &len, &err), GREBE_ECORRUPT,
                 "lacks the part");
    assert_fails(pq_page_header_decode(negative, sizeof negative, &h, &len, &err), GREBE_ECORRUPT,
                 "negative");
    assert_ok(pq_page_header_decode(unknown, sizeof unknown, &h, &len, &err));
    assert_int_equal(h.type, 9);
}

static void test_indexes__encoded__come_back(void **state)
{
    (void)state;
    grebe_error err = GREBE_ERROR_INIT;
    struct arena ar = ARENA_INIT(mem_system());
    struct buf b = BUF_INIT(mem_system());
    int64_t offsets[20], rows[20], nulls[20];
    int32_t sizes[20];
    bool null_pages[20];
    struct pq_bytes min[20], max[20];
    for (int i = 0; i < 20; i++) {
        offsets[i] = 4 + 100 * i;
        sizes[i] = 100;
        rows[i] = 10 * i;
        nulls[i] = i;
        null_pages[i] = i == 7;
        min[i] = (struct pq_bytes){ (const unsigned char *)"aa", i == 7 ? 0 : 2 };
        max[i] = (struct pq_bytes){ (const unsigned char *)"zz", i == 7 ? 0 : 2 };
    }
    struct pq_offset_index o = { .n = 20, .offset = offsets, .size = sizes, .first_row = rows }, o2;
    assert_ok(pq_offset_index_encode(&o, &b, &err));
    assert_ok(pq_offset_index_decode(&ar, b.data, b.len, &o2, &err));
    assert_int_equal(o2.n, 20);
    assert_memory_equal(o2.offset, offsets, sizeof offsets);
    assert_memory_equal(o2.size, sizes, sizeof sizes);
    assert_memory_equal(o2.first_row, rows, sizeof rows);
    assert_null(o2.unencoded_bytes);
    buf_clear(&b);
    struct pq_column_index c = { .n = 20, .null_pages = null_pages, .min = min, .max = max,
                                 .boundary_order = PQ_ASCENDING, .null_counts = nulls }, c2;
    assert_ok(pq_column_index_encode(&c, &b, &err));
    assert_ok(pq_column_index_decode(&ar, b.data, b.len, &c2, &err));
    assert_int_equal(c2.n, 20);
    assert_true(c2.null_pages[7] && !c2.null_pages[8]);
    assert_memory_equal(c2.null_counts, nulls, sizeof nulls);
    assert_int_equal(c2.max[3].len, 2);
    assert_int_equal(c2.boundary_order, PQ_ASCENDING);
    for (size_t n = 0; n < b.len; n++) {
        assert_int_equal(pq_column_index_decode(&ar, b.data, n, &c2, &err), GREBE_ECORRUPT);
    }
    buf_release(&b);
    arena_release(&ar);
}

static void test_bloom_header__only_the_known_kind_is_usable(void **state)
{
    (void)state;
    grebe_error err = GREBE_ERROR_INIT;
    struct buf b = BUF_INIT(mem_system());
    struct pq_bloom_header h = { .n_bytes = 1024 }, again;
    size_t len;
    assert_ok(pq_bloom_header_encode(&h, &b, &err));
    assert_ok(pq_bloom_header_decode(b.data, b.len, &again, &len, &err));
    assert_true(again.is_usable && again.n_bytes == 1024 && len == b.len);
    b.data[4] = 0x2c; /* member 2 of the first union */
    assert_ok(pq_bloom_header_decode(b.data, b.len, &again, &len, &err));
    assert_false(again.is_usable);
    buf_release(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_footer__files_of_others__encode_gives_equal_structs),
        cmocka_unit_test(test_footer__every_truncation__corrupt),
        cmocka_unit_test(test_footer__no_memory__no_leak),
        cmocka_unit_test(test_footer__more_columns_than_schema__corrupt),
        cmocka_unit_test(test_page_header__padding__takes_the_bytes_asked_for),
        cmocka_unit_test(test_page_header__negative_or_missing__corrupt),
        cmocka_unit_test(test_indexes__encoded__come_back),
        cmocka_unit_test(test_bloom_header__only_the_known_kind_is_usable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
