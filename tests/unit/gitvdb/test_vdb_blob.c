/* SPDX-License-Identifier: Apache-2.0 */
#include "gitvdb/vdb_blob.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/endian.h"
#include "test_support.h"

/* ---- bytes ---- */

static struct buf from_hex(const char *hex)
{
    struct buf b = BUF_INIT(mem_system());
    while (hex[0] != 0) {
        char two[3] = { hex[0], hex[1], 0 };
        hex += 2;
        assert_int_equal(buf_put_byte(&b, (uint8_t)strtoul(two, NULL, 16), NULL), GREBE_OK);
    }
    return b;
}

static void assert_bytes(const struct buf *b, const char *hex)
{
    struct buf expected = from_hex(hex);
    assert_int_equal(b->len, expected.len);
    assert_memory_equal(b->data, expected.data, b->len);
    buf_release(&expected);
}

static struct vdb_id text_id(const char *text) { return (struct vdb_id){ false, 0, text, strlen(text) }; }
static struct vdb_id number_id(uint64_t number) { return (struct vdb_id){ true, number, NULL, 0 }; }

/* Every text, number and length that is odd, in canonical order. */
static const char *const texts[] = { "", "a", "ab", "a\xc3\xa9", "b", "\xf0\x9f\x98\x80" };
static const uint64_t numbers[] = { 0, 1, 255, 256, UINT64_C(1) << 32, UINT64_MAX };

static struct buf make_ids(void)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct vdb_rows_writer w;
    struct buf b = BUF_INIT(mem_system());
    vdb_rows_writer_init(&w, VDB_ROWS_IDS, mem_system());
    for (size_t i = 0; i < 6; i++) {
        struct vdb_id id = text_id(texts[i]);
        assert_ok(vdb_rows_writer_add_id(&w, &id, &err));
    }
    for (size_t i = 0; i < 6; i++) {
        struct vdb_id id = number_id(numbers[i]);
        assert_ok(vdb_rows_writer_add_id(&w, &id, &err));
    }
    assert_ok(vdb_rows_writer_end(&w, &b, &err));
    vdb_rows_writer_release(&w);
    return b;
}

/* ---- rows ---- */

static void test_rows__examples__published_bytes(void **state)
{
    (void)state;
    grebe_error err = GREBE_ERROR_INIT;
    struct vdb_rows_writer w;
    struct buf b = BUF_INIT(mem_system());
    struct vdb_id a = text_id("a"), seven = number_id(7);
    vdb_rows_writer_init(&w, VDB_ROWS_IDS, mem_system());
    assert_ok(vdb_rows_writer_add_id(&w, &a, &err));
    assert_ok(vdb_rows_writer_end(&w, &b, &err));
    assert_bytes(&b, "4754563249445300010000000000000006000000000100000061");
    buf_clear(&b);
    assert_ok(vdb_rows_writer_add_id(&w, &seven, &err)); /* the writer is empty again */
    assert_ok(vdb_rows_writer_end(&w, &b, &err));
    assert_bytes(&b, "4754563249445300010000000000000009000000010700000000000000");
    buf_clear(&b);
    vdb_rows_writer_release(&w);
    vdb_rows_writer_init(&w, VDB_ROWS_PAYLOADS, mem_system());
    assert_ok(vdb_rows_writer_add(&w, "{\"topic\":\"rust\"}", 16, &err));
    assert_ok(vdb_rows_writer_end(&w, &b, &err));
    assert_bytes(&b, "47545632504159000100000000000000100000007b22746f706963223a2272757374227d");
    buf_clear(&b);
    assert_ok(vdb_rows_writer_end(&w, &b, &err)); /* no rows */
    assert_bytes(&b, "47545632504159000000000000000000");
    vdb_rows_writer_release(&w);
    buf_release(&b);
}

static void test_rows__ids__read_back_and_found(void **state)
{
    (void)state;
    grebe_error err = GREBE_ERROR_INIT;
    struct buf b = make_ids();
    struct vdb_rows r;
    uint32_t row = 99;
    assert_ok(vdb_rows_open(VDB_ROWS_IDS, b.data, b.len, &r, &err));
    assert_int_equal(r.n, 12);
    for (uint32_t i = 0; i < 12; i++) {
        struct vdb_id id = vdb_rows_id(&r, i);
        struct vdb_id wanted = i < 6 ? text_id(texts[i]) : number_id(numbers[i - 6]);
        assert_int_equal(vdb_id_compare(&id, &wanted), 0);
        assert_true(vdb_rows_find(&r, &wanted, &row));
        assert_int_equal(row, i);
    }
    struct vdb_id between = text_id("aa"), last = text_id("\xf0\x9f\x98\x81"), number = number_id(257);
    assert_false(vdb_rows_find(&r, &between, &row));
    assert_int_equal(row, 2);
    assert_false(vdb_rows_find(&r, &last, &row));
    assert_int_equal(row, 6);
    assert_false(vdb_rows_find(&r, &number, &row));
    assert_int_equal(row, 10);
    buf_release(&b);
}

/* Offsets, lengths, types, text, order: each broken in its own way. */
static void test_rows__broken__corrupt_with_place(void **state)
{
    (void)state;
    static const struct { const char *hex, *fragment; } cases[] = {
        { "", "at least 16 bytes" },
        { "4754563249445300000000", "at least 16 bytes" },
        { "47545632504159000000000000000000", "magic" },
        { "47545632494453000100000000000000", "at most 0 rows" },
        { "4754563249445300ffffffff00000000", "rows" },
        { "47545632494453000000000001000000", "offset 0" },
        { "4754563249445300000000000000000061", "offset 0: expected the 1 bytes" },
        { "475456324944530001000000000000000500000000010000006161", "offset 1: expected the 7 bytes" },
        { "47545632494453000200000000000000060000000500000000010000006100", "offset 2: expected at least 6" },
        { "4754563249445300010000000000000006000000020100000061", "type" },
        { "4754563249445300010000000000000006000000000200000061", "expected an id of 1 bytes" },
        { "4754563249445300010000000000000004000000000000000061", "offset 1" },
        { "47545632494453000100000000000000040000000000000000", "offset 1" },
        { "47545632494453000100000000000000060000000001000000c1", "UTF-8" },
        { "4754563249445300010000000000000008000000010700000000000000", "offset 1" },
        { "47545632494453000100000000000000080000000107000000000000", "type" },
    };
    grebe_error err = GREBE_ERROR_INIT;
    struct vdb_rows r;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct buf b = from_hex(cases[i].hex);
        assert_fails(vdb_rows_open(VDB_ROWS_IDS, b.data, b.len, &r, &err), GREBE_ECORRUPT,
                     cases[i].fragment);
        assert_null(r.bytes);
        buf_release(&b);
    }
}

static void test_rows__order__strict(void **state)
{
    (void)state;
    static const struct { const char *first, *second; } texts_of[] = { { "b", "a" }, { "a", "a" }, { "ab", "a" } };
    grebe_error err = GREBE_ERROR_INIT;
    struct vdb_rows_writer w;
    struct vdb_rows r;
    struct buf b = BUF_INIT(mem_system());
    vdb_rows_writer_init(&w, VDB_ROWS_IDS, mem_system());
    for (int i = 0; i < 6; i++) {
        struct vdb_id first = i < 3 ? text_id(texts_of[i].first) : number_id(i == 4 ? 256 : 5);
        struct vdb_id second = i < 3 ? text_id(texts_of[i].second) : i == 5 ? text_id("z") : number_id(i == 4 ? 255 : 5);
        buf_clear(&b);
        assert_ok(vdb_rows_writer_add_id(&w, &first, &err));
        assert_ok(vdb_rows_writer_add_id(&w, &second, &err));
        assert_ok(vdb_rows_writer_end(&w, &b, &err));
        assert_fails(vdb_rows_open(VDB_ROWS_IDS, b.data, b.len, &r, &err), GREBE_ECORRUPT, "row 1");
    }
    vdb_rows_writer_release(&w);
    buf_release(&b);
}

/* Read everything that an accepted blob holds. */
static void use_rows(const struct vdb_rows *r, bool is_ids)
{
    unsigned sum = 0;
    for (uint32_t i = 0; i < r->n; i++) {
        size_t len = 0;
        const unsigned char *row = vdb_rows_get(r, i, &len);
        for (size_t k = 0; k < len; k++) {
            sum += row[k];
        }
        if (is_ids) {
            struct vdb_id id = vdb_rows_id(r, i);
            uint32_t found = 0;
            assert_true(vdb_rows_find(r, &id, &found) && found == i);
        }
    }
    assert_true(sum < UINT32_MAX);
}

/* A copy of exactly len bytes, so that a sanitizer sees a read behind them. */
static unsigned char *tight(const unsigned char *bytes, size_t len)
{
    unsigned char *copy = malloc(len + 1);
    memcpy(copy + 1, bytes, len);
    memmove(copy, copy + 1, len);
    return realloc(copy, len == 0 ? 1 : len);
}

static void test_rows__cut_and_flipped__corrupt_or_in_bounds(void **state)
{
    (void)state;
    grebe_error err = GREBE_ERROR_INIT;
    struct buf b = make_ids();
    for (size_t len = 0; len < b.len; len++) {
        unsigned char *cut = tight(b.data, len);
        struct vdb_rows r;
        assert_int_equal(vdb_rows_open(VDB_ROWS_IDS, cut, len, &r, &err), GREBE_ECORRUPT);
        assert_true(err.message[0] != 0);
        free(cut);
    }
    for (size_t at = 0; at < b.len * 8; at++) {
        for (int kind = VDB_ROWS_IDS; kind <= VDB_ROWS_PAYLOADS; kind++) {
            unsigned char *bad = tight(b.data, b.len);
            struct vdb_rows r;
            if (kind == VDB_ROWS_PAYLOADS) {
                memcpy(bad, "GTV2PAY", 8);
            }
            bad[at / 8] ^= (unsigned char)(1 << at % 8);
            grebe_status st = vdb_rows_open((enum vdb_rows_kind)kind, bad, b.len, &r, &err);
            assert_true(st == GREBE_OK || st == GREBE_ECORRUPT);
            if (st == GREBE_OK) {
                use_rows(&r, kind == VDB_ROWS_IDS);
            }
            free(bad);
        }
    }
    buf_release(&b);
}

/* ---- matrices ---- */

static void test_matrix__examples__published_bytes(void **state)
{
    (void)state;
    grebe_error err = GREBE_ERROR_INIT;
    struct buf b = BUF_INIT(mem_system());
    const float one[2] = { 1.0F, 0.0F }, half[2] = { 0.5F, 0.5F };
    struct vdb_matrix m;
    assert_ok(vdb_matrix_encode(VDB_MATRIX_VECTORS, one, 1, 2, &b, &err));
    assert_bytes(&b, "475456325645430002000000010000000000803f00000000");
    assert_ok(vdb_matrix_open(VDB_MATRIX_VECTORS, b.data, b.len, 2, &m, &err));
    assert_int_equal(m.n, 1);
    assert_int_equal(m.dim, 2);
    assert_memory_equal(m.values, one, sizeof one);
    buf_clear(&b);
    assert_ok(vdb_matrix_encode(VDB_MATRIX_CODEBOOK, half, 1, 2, &b, &err));
    assert_bytes(&b, "475456324956460002000000010000000000003f0000003f");
    buf_clear(&b);
    assert_ok(vdb_matrix_encode(VDB_MATRIX_CODEBOOK, NULL, 0, 2, &b, &err));
    assert_bytes(&b, "47545632495646000200000000000000");
    assert_ok(vdb_matrix_open(VDB_MATRIX_CODEBOOK, b.data, b.len, 2, &m, &err));
    assert_int_equal(m.n, 0);
    buf_release(&b);
}

static void test_matrix__broken__corrupt_with_place(void **state)
{
    (void)state;
    grebe_error err = GREBE_ERROR_INIT;
    struct buf b = BUF_INIT(mem_system());
    float v[3 * 5000];
    struct vdb_matrix m;
    for (size_t i = 0; i < 15000; i++) {
        v[i] = (float)i;
    }
    static const struct { size_t at; uint32_t bits; } bad[] = { { 0, 0x7f800000 }, { 14999, 0xff800000 }, { 4096, 0x7fc00000 },
                                                                { 4095, 0x7f800001 }, { 7, 0xffffffff } };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char place[64];
        buf_clear(&b);
        assert_ok(vdb_matrix_encode(VDB_MATRIX_VECTORS, v, 5000, 3, &b, &err));
        store_le32(b.data + VDB_MATRIX_HEADER + 4 * bad[i].at, bad[i].bits);
        snprintf(place, sizeof place, "row %zu, component %zu: expected a finite", bad[i].at / 3, bad[i].at % 3);
        assert_fails(vdb_matrix_open(VDB_MATRIX_VECTORS, b.data, b.len, 3, &m, &err), GREBE_ECORRUPT, place);
        assert_null(m.values);
    }
    buf_clear(&b);
    v[0] = 3.4028235e38F; /* the largest floats and the smallest are finite */
    v[1] = -1e-45F;
    assert_ok(vdb_matrix_encode(VDB_MATRIX_VECTORS, v, 4, 3, &b, &err));
    assert_ok(vdb_matrix_open(VDB_MATRIX_VECTORS, b.data, b.len, 3, &m, &err));
    for (size_t len = 0; len < b.len; len++) {
        unsigned char *cut = tight(b.data, len);
        assert_fails(vdb_matrix_open(VDB_MATRIX_VECTORS, cut, len, 3, &m, &err), GREBE_ECORRUPT, "expected");
        free(cut);
    }
    assert_fails(vdb_matrix_open(VDB_MATRIX_CODEBOOK, b.data, b.len, 3, &m, &err), GREBE_ECORRUPT, "magic");
    assert_fails(vdb_matrix_open(VDB_MATRIX_VECTORS, b.data, b.len, 4, &m, &err), GREBE_ECORRUPT, "dimension 4, found 3");
    store_le32(b.data + 8, 0);
    assert_fails(vdb_matrix_open(VDB_MATRIX_VECTORS, b.data, b.len, 0, &m, &err), GREBE_ECORRUPT, "dimension");
    store_le32(b.data + 8, UINT32_MAX); /* a product beyond 64 bits of bytes */
    store_le32(b.data + 12, UINT32_MAX);
    assert_fails(vdb_matrix_open(VDB_MATRIX_VECTORS, b.data, b.len, UINT32_MAX, &m, &err), GREBE_ECORRUPT, "rows");
    buf_release(&b);
}

/* ---- postings ---- */

static void test_posting__entries__checked(void **state)
{
    (void)state;
    grebe_error err = GREBE_ERROR_INIT;
    struct vdb_posting p;
    struct buf b = from_hex("4754563250535400020000001300000000003f0000000000");
    assert_ok(vdb_posting_open(b.data, b.len, &p, &err));
    assert_int_equal(p.n, 2);
    assert_int_equal(vdb_posting_get(&p, 0).shard, 0x13);
    assert_int_equal(vdb_posting_get(&p, 1).shard, 0x3f);
    assert_int_equal(vdb_posting_get(&p, 1).row, 0);
    for (size_t len = 0; len < b.len; len++) {
        unsigned char *cut = tight(b.data, len);
        assert_fails(vdb_posting_open(cut, len, &p, &err), GREBE_ECORRUPT, "expected");
        free(cut);
    }
    for (size_t at = 0; at < b.len * 8; at++) {
        unsigned char *bad = tight(b.data, b.len);
        bad[at / 8] ^= (unsigned char)(1 << at % 8);
        grebe_status st = vdb_posting_open(bad, b.len, &p, &err);
        assert_true(st == GREBE_ECORRUPT || (st == GREBE_OK && at >= 12 * 8 && p.n == 2));
        free(bad);
    }
    buf_release(&b);
    static const struct { const char *hex, *fragment; } cases[] = {
        { "475456325053540001000000400000000000", "entry 0: expected a shard below 64, found 64" },
        { "475456325053540002000000010005000000010005000000", "entry 1" }, /* the same twice */
        { "475456325053540002000000010005000000010004000000", "entry 1" },
        { "475456325053540002000000020000000000010005000000", "entry 1" },
        { "475456324944530002000000020000000000030005000000", "magic" },
        { "4754563250535400ffffffff020000000000030005000000", "entries" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct buf c = from_hex(cases[i].hex);
        assert_fails(vdb_posting_open(c.data, c.len, &p, &err), GREBE_ECORRUPT, cases[i].fragment);
        assert_null(p.entries);
        buf_release(&c);
    }
    struct buf none = from_hex("475456325053540000000000");
    assert_ok(vdb_posting_open(none.data, none.len, &p, &err));
    assert_int_equal(p.n, 0);
    buf_release(&none);
}

/* ---- meta.json ---- */

static const char meta_2[] =
    "{\"dimension\":2,\"distance\":\"cosine\",\"format_version\":2,\"git_object_format\":\"sha1\",\"index\":{"
    "\"default_candidate_limit\":10000,\"default_probes\":96,\"full_scan_threshold\":1000,\"projection_seed\":"
    "7451614797069836849,\"signature_bits\":12,\"tables\":12},\"ivf\":{\"centroid_count\":0,\"shard_bits\":6,"
    "\"training_iterations\":4,\"training_sample_limit\":8192},\"point_count\":0,\"vector_codec\":\"f32le-sharded-v2\","
    "\"vector_space\":null}";

static void test_meta__example__published_bytes(void **state)
{
    (void)state;
    grebe_error err = GREBE_ERROR_INIT;
    struct arena ar = ARENA_INIT(mem_system());
    struct buf b = BUF_INIT(mem_system());
    struct vdb_meta m = { .config = VDB_CONFIG_INIT(2), .format = 2, .shard_bits = 6, .training_iterations = 4,
                          .training_sample_limit = 8192 };
    struct vdb_meta read;
    assert_int_equal(sizeof meta_2 - 1, 405);
    assert_ok(vdb_meta_encode(&m, &b, &err));
    assert_int_equal(b.len, 405);
    assert_memory_equal(b.data, meta_2, 405);
    assert_ok(vdb_meta_parse(&ar, meta_2, 405, &read, &err));
    assert_int_equal(read.format, 2);
    assert_true(read.config.projection_seed == UINT64_C(0x6769742d76646231) && read.config.vector_space == NULL);
    assert_int_equal(read.training_sample_limit, 8192);
    buf_clear(&b);
    m.format = 1;
    m.point_count = UINT64_MAX;
    m.config.vector_space = "m/\xc3\xa9\"\n@1";
    m.config.vector_space_len = strlen(m.config.vector_space);
    m.config.full_scan_threshold = 0;
    assert_ok(vdb_meta_encode(&m, &b, &err));
    assert_null(strstr(buf_text(&b), "ivf"));
    assert_ok(vdb_meta_parse(&ar, b.data, b.len, &read, &err));
    assert_int_equal(read.format, 1);
    assert_true(read.point_count == UINT64_MAX && read.config.full_scan_threshold == 0);
    assert_int_equal(read.config.vector_space_len, m.config.vector_space_len);
    assert_memory_equal(read.config.vector_space, m.config.vector_space, m.config.vector_space_len);
    buf_release(&b);
    arena_release(&ar);
}

/* The example with one piece of text in place of another. */
static void assert_meta_fails(const char *old, const char *new, grebe_status expected, const char *fragment)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct arena ar = ARENA_INIT(mem_system());
    struct vdb_meta m;
    char text[1024];
    const char *at = strstr(meta_2, old);
    assert_non_null(at);
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - meta_2), meta_2, new, at + strlen(old));
    assert_fails(vdb_meta_parse(&ar, text, strlen(text), &m, &err), expected, fragment);
    assert_int_equal(err.status, expected);
    arena_release(&ar);
}

static void test_meta__broken__refused(void **state)
{
    (void)state;
    assert_meta_fails("null}", "null}\n", GREBE_ECORRUPT, "canonical");
    assert_meta_fails("null}", "null,\"x\":1}", GREBE_ECORRUPT, "canonical");
    assert_meta_fails("\"tables\":12", "\"tables\":12,\"x\":1", GREBE_ECORRUPT, "canonical");
    assert_meta_fails(":2,", ": 2,", GREBE_ECORRUPT, "canonical");
    assert_meta_fails("\"dimension\":2,", "", GREBE_ECORRUPT, "dimension");
    assert_meta_fails("\"dimension\":2", "\"dimension\":2.0", GREBE_ECORRUPT, "dimension");
    assert_meta_fails("\"dimension\":2", "\"dimension\":0", GREBE_ECORRUPT, "dimension");
    assert_meta_fails("\"dimension\":2", "\"dimension\":4294967296", GREBE_ECORRUPT, "dimension");
    assert_meta_fails("\"format_version\":2", "\"format_version\":3", GREBE_EUNSUPPORTED, "found 3");
    assert_meta_fails("\"format_version\":2", "\"format_version\":1", GREBE_EUNSUPPORTED, "vector_codec");
    assert_meta_fails("f32le-sharded-v2", "f32le-v1", GREBE_EUNSUPPORTED, "vector_codec");
    assert_meta_fails("sha1", "sha256", GREBE_EUNSUPPORTED, "sha1");
    assert_meta_fails("cosine", "l2", GREBE_ECORRUPT, "cosine");
    assert_meta_fails("\"tables\":12", "\"tables\":-12", GREBE_ECORRUPT, "\"index\": \"tables\"");
    assert_meta_fails("\"shard_bits\":6", "\"shard_bits\":null", GREBE_ECORRUPT, "\"ivf\": \"shard_bits\"");
    assert_meta_fails("\"ivf\":{\"centroid_count\":0,", "\"ivg\":{\"centroid_count\":0,", GREBE_EUNSUPPORTED, "ivf");
    assert_meta_fails("\"vector_space\":null", "\"vector_space\":7", GREBE_ECORRUPT, "vector_space");
    assert_meta_fails("{\"dimension\"", "[{\"dimension\"", GREBE_ECORRUPT, "expected");
    assert_meta_fails(meta_2, "", GREBE_ECORRUPT, "expected");
    assert_meta_fails(meta_2, "[]", GREBE_ECORRUPT, "expected");
}

static void test_meta__cut_and_flipped__refused(void **state)
{
    (void)state;
    grebe_error err = GREBE_ERROR_INIT;
    struct vdb_meta m;
    for (size_t len = 0; len < 405; len++) {
        struct arena ar = ARENA_INIT(mem_system());
        unsigned char *cut = tight((const unsigned char *)meta_2, len);
        assert_int_equal(vdb_meta_parse(&ar, cut, len, &m, &err), GREBE_ECORRUPT);
        free(cut);
        arena_release(&ar);
    }
    for (size_t at = 0; at < 405 * 8; at++) {
        struct arena ar = ARENA_INIT(mem_system());
        struct buf again = BUF_INIT(mem_system());
        unsigned char *bad = tight((const unsigned char *)meta_2, 405);
        bad[at / 8] ^= (unsigned char)(1 << at % 8);
        grebe_status st = vdb_meta_parse(&ar, bad, 405, &m, &err);
        assert_true(st == GREBE_OK || st == GREBE_ECORRUPT || st == GREBE_EUNSUPPORTED);
        if (st == GREBE_OK) { /* another number: it prints as it stands */
            assert_ok(vdb_meta_encode(&m, &again, &err));
            assert_int_equal(again.len, 405);
            assert_memory_equal(again.data, bad, 405);
        }
        buf_release(&again);
        free(bad);
        arena_release(&ar);
    }
}

static void test_config__limits__einval(void **state)
{
    (void)state;
    grebe_error err = GREBE_ERROR_INIT;
    struct vdb_config c = VDB_CONFIG_INIT(2);
    assert_ok(vdb_config_check(&c, 2, &err));
    assert_ok(vdb_config_check(&c, 1, &err));
    c.dimension = 0;
    assert_fails(vdb_config_check(&c, 2, &err), GREBE_EINVAL, "dimension");
    c = (struct vdb_config)VDB_CONFIG_INIT(2);
    c.default_probes = 0;
    assert_fails(vdb_config_check(&c, 2, &err), GREBE_EINVAL, "default_probes");
    c = (struct vdb_config)VDB_CONFIG_INIT(2);
    c.default_candidate_limit = 0;
    assert_fails(vdb_config_check(&c, 2, &err), GREBE_EINVAL, "default_candidate_limit");
    c = (struct vdb_config)VDB_CONFIG_INIT(2);
    c.full_scan_threshold = 0;
    c.signature_bits = 65;
    assert_ok(vdb_config_check(&c, 2, &err));
    assert_fails(vdb_config_check(&c, 1, &err), GREBE_EINVAL, "signature_bits");
    c.signature_bits = 64;
    c.tables = 0;
    assert_fails(vdb_config_check(&c, 1, &err), GREBE_EINVAL, "tables");
}

/* ---- lack of memory ---- */

static grebe_status write_and_parse(const grebe_allocator *a)
{
    struct vdb_rows_writer w;
    struct buf b = BUF_INIT(a);
    struct arena ar = ARENA_INIT(a);
    struct vdb_meta m;
    const float v[2] = { 1.0F, 2.0F };
    grebe_status st = GREBE_OK;
    vdb_rows_writer_init(&w, VDB_ROWS_IDS, a);
    for (uint64_t i = 0; i < 40; i++) {
        struct vdb_id id = number_id(i);
        GREBE_TRY(vdb_rows_writer_add_id(&w, &id, NULL));
    }
    GREBE_TRY(vdb_rows_writer_end(&w, &b, NULL));
    GREBE_TRY(vdb_matrix_encode(VDB_MATRIX_VECTORS, v, 1, 2, &b, NULL));
    GREBE_TRY(vdb_meta_parse(&ar, meta_2, 405, &m, NULL));
    GREBE_TRY(vdb_meta_encode(&m, &b, NULL));
out:
    vdb_rows_writer_release(&w);
    buf_release(&b);
    arena_release(&ar);
    return st;
}

static void test_blobs__no_memory__fails_and_frees(void **state)
{
    (void)state;
    grebe_status st = GREBE_ENOMEM;
    for (size_t fail_at = 1; st != GREBE_OK; fail_at++) {
        struct test_allocator a;
        test_allocator_init(&a);
        a.fail_at = fail_at;
        st = write_and_parse(&a.a);
        assert_true(st == GREBE_OK || st == GREBE_ENOMEM);
        assert_int_equal(a.n_live, 0);
        assert_true(fail_at < 1000);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows__examples__published_bytes),
        cmocka_unit_test(test_rows__ids__read_back_and_found),
        cmocka_unit_test(test_rows__broken__corrupt_with_place),
        cmocka_unit_test(test_rows__order__strict),
        cmocka_unit_test(test_rows__cut_and_flipped__corrupt_or_in_bounds),
        cmocka_unit_test(test_matrix__examples__published_bytes),
        cmocka_unit_test(test_matrix__broken__corrupt_with_place),
        cmocka_unit_test(test_posting__entries__checked),
        cmocka_unit_test(test_meta__example__published_bytes),
        cmocka_unit_test(test_meta__broken__refused),
        cmocka_unit_test(test_meta__cut_and_flipped__refused),
        cmocka_unit_test(test_config__limits__einval),
        cmocka_unit_test(test_blobs__no_memory__fails_and_frees),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
