/* SPDX-License-Identifier: Apache-2.0 */
#include "test_support.h"

#include <stdlib.h>

#include "wire/avro_schema.h"

/* ---- primitives ---- */

static void long_is(int64_t v, const char *bytes, size_t n)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct buf b = BUF_INIT(mem_system());
    int64_t back = 0;
    assert_ok(avro_write_long(&b, v, &err));
    assert_int_equal(b.len, n);
    assert_memory_equal(b.data, bytes, n);
    struct avro_reader r = { b.data, b.len, 0, 0, 0 };
    assert_ok(avro_read_long(&r, &back, &err));
    assert_int_equal(back, v);
    assert_int_equal(r.at, n);
    for (size_t cut = 0; cut < n; cut++) {
        r = (struct avro_reader){ b.data, cut, 0, 0, 0 };
        assert_fails(avro_read_long(&r, &back, &err), GREBE_ECORRUPT, "the end");
    }
    buf_release(&b);
}

static void test_long__zig_zag__golden_bytes(void **state)
{
    (void)state;
    /* Avro specification, "Primitive Types"; the extremes from fastavro 1.13.1 */
    long_is(0, "\x00", 1);
    long_is(-1, "\x01", 1);
    long_is(1, "\x02", 1);
    long_is(-64, "\x7f", 1);
    long_is(64, "\x80\x01", 2);
    long_is(0x4D494C56, "\xac\xb1\xca\xd4\x09", 5);
    long_is(INT64_MAX, "\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10);
    long_is(INT64_MIN, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10);
}

static void test_long__too_long__refused(void **state)
{
    (void)state;
    grebe_error err = GREBE_ERROR_INIT;
    int64_t v = 0;
    int32_t i = 0;
    struct avro_reader r = { (const unsigned char *)"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11,
                             0, 100, 0 };
    assert_fails(avro_read_long(&r, &v, &err), GREBE_ECORRUPT, "offset 100");
    r = (struct avro_reader){ (const unsigned char *)"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 10, 0, 0, 0 };
    assert_int_equal(avro_read_long(&r, &v, &err), GREBE_ECORRUPT);
    r = (struct avro_reader){ (const unsigned char *)"\x80\x80\x80\x80\x10", 5, 0, 0, 0 };
    assert_fails(avro_read_int(&r, &i, &err), GREBE_ECORRUPT, "32 bits");
    assert_int_equal(r.at, 0);
}

static void test_bytes__hostile_lengths__refused(void **state)
{
    (void)state;
    static const int64_t lengths[] = { -1, 3, INT32_MAX, INT64_MAX, INT64_MIN };
    for (size_t i = 0; i < 5; i++) {
        grebe_error err = GREBE_ERROR_INIT;
        struct buf b = BUF_INIT(mem_system());
        struct avro_bytes out;
        assert_ok(avro_write_long(&b, lengths[i], &err));
        assert_ok(buf_put(&b, "ab", 2, &err));
        struct avro_reader r = { b.data, b.len, 0, 0, 0 };
        assert_fails(avro_read_bytes(&r, &out, &err), GREBE_ECORRUPT, "2 bytes left");
        buf_release(&b);
    }
}

/* ---- schemas and resolution ---- */

struct point {
    struct avro_bytes name;
    int64_t x;
    int32_t y;
    struct avro_list tags;   /* avro_bytes */
    struct avro_list labels; /* avro_pair */
};

static const struct avro_member point_members[] = {
    { "name", AVRO_MEMBER_STRING, offsetof(struct point, name), true, NULL },
    { "x", AVRO_MEMBER_LONG, offsetof(struct point, x), false, NULL },
    { "y", AVRO_MEMBER_INT, offsetof(struct point, y), false, NULL },
    { "tags", AVRO_MEMBER_STRINGS, offsetof(struct point, tags), false, NULL },
    { "labels", AVRO_MEMBER_STRING_MAP, offsetof(struct point, labels), false, NULL },
};
static const struct avro_record point_record = { "Point", sizeof(struct point), point_members, 5 };

static grebe_status resolve(struct arena *arena, const char *schema, const char *bytes, size_t len,
                            struct point *out, size_t *used, grebe_error *err)
{
    struct avro_type *type = NULL;
    struct avro_reader r = { (const unsigned char *)bytes, len, 0, 0, 0 };
    memset(out, 0, sizeof *out);
    grebe_status st = avro_schema_parse(arena, schema, strlen(schema), &type, err);
    if (st == GREBE_OK) {
        st = avro_record_resolve(&r, type, &point_record, arena, out, err);
    }
    *used = r.at;
    return st;
}

#define FIELDS(f) "{\"type\":\"record\",\"name\":\"P\",\"namespace\":\"n\",\"fields\":[" f "]}"

static void test_resolve__another_order_unions_unknown_and_missing_fields(void **state)
{
    (void)state;
    grebe_error err = GREBE_ERROR_INIT;
    struct arena arena = ARENA_INIT(mem_system());
    struct point p;
    size_t used = 0;
    /* x as int before name; an unknown nested field between; name behind a union; y is missing */
    const char *schema = FIELDS(
        "{\"name\":\"x\",\"type\":\"int\"},"
        "{\"name\":\"extra\",\"type\":{\"type\":\"array\",\"items\":{\"type\":\"map\",\"values\":\"double\"}}},"
        "{\"name\":\"name\",\"type\":[\"null\",\"string\"],\"doc\":\"d\"},"
        "{\"name\":\"tags\",\"type\":{\"type\":\"array\",\"items\":[\"string\",\"null\"]}},"
        "{\"name\":\"more\",\"type\":[\"null\",\"n.P\"]}");
    static const char bytes[] = "\x0e"
                                "\x02" "\x02" "\x02k" "\0\0\0\0\0\0\0\0" "\x00" "\x00"
                                "\x02\x06" "abc"
                                "\x03\x06" "\x00\x02" "t" "\x02" "\x02\x00\x02" "u" "\x00"
                                "\x00";
    assert_ok(resolve(&arena, schema, bytes, sizeof bytes - 1, &p, &used, &err));
    assert_int_equal(used, sizeof bytes - 1);
    assert_string_equal(p.name.data, "abc");
    assert_int_equal(p.x, 7);
    assert_int_equal(p.y, 0);
    assert_int_equal(p.tags.n, 3);
    const struct avro_bytes *tags = p.tags.items;
    assert_string_equal(tags[0].data, "t");
    assert_null(tags[1].data);
    assert_string_equal(tags[2].data, "u");
    for (size_t n = 0; n + 1 < sizeof bytes; n++) { /* cut anywhere: refused */
        char *copy = malloc(n + 1);
        memcpy(copy, bytes, n);
        assert_int_equal(resolve(&arena, schema, copy, n, &p, &used, &err), GREBE_ECORRUPT);
        free(copy);
    }
    arena_release(&arena);
}

static void test_resolve__what_does_not_fit__named(void **state)
{
    (void)state;
    grebe_error err = GREBE_ERROR_INIT;
    struct arena arena = ARENA_INIT(mem_system());
    struct point p;
    size_t used = 0;
    assert_fails(resolve(&arena, FIELDS("{\"name\":\"x\",\"type\":\"long\"}"), "\x00", 1, &p, &used, &err),
                 GREBE_ECORRUPT, "\"name\"");
    assert_fails(resolve(&arena, FIELDS("{\"name\":\"name\",\"type\":\"long\"}"), "\x00", 1, &p, &used,
                         &err), GREBE_ECORRUPT, "expected string, found long");
    assert_fails(resolve(&arena, FIELDS("{\"name\":\"name\",\"type\":[\"null\"]}"), "\x02", 1, &p, &used,
                         &err), GREBE_ECORRUPT, "union branch");
    assert_fails(resolve(&arena, "\"string\"", "\x00", 1, &p, &used, &err), GREBE_ECORRUPT,
                 "expected record");
    assert_fails(resolve(&arena, FIELDS("{\"name\":\"name\",\"type\":\"strnig\"}"), "\x00", 1, &p, &used,
                         &err), GREBE_ECORRUPT, "strnig");
    assert_fails(resolve(&arena, "{\"type\":\"array\"}", "\x00", 1, &p, &used, &err), GREBE_ECORRUPT,
                 "items");
    assert_int_equal(resolve(&arena, "[", "", 0, &p, &used, &err), GREBE_ECORRUPT);
    char deep[4096] = "";
    for (int i = 0; i < 100; i++) {
        strcat(deep, "{\"type\":");
    }
    assert_true(resolve(&arena, deep, "", 0, &p, &used, &err) != GREBE_OK);
    arena_release(&arena);
}

static void test_record__written_and_read__same(void **state)
{
    (void)state;
    grebe_error err = GREBE_ERROR_INIT;
    struct arena arena = ARENA_INIT(mem_system());
    struct buf b = BUF_INIT(mem_system());
    struct avro_bytes tags[2] = { { "a", 1 }, { "", 0 } };
    struct avro_pair labels[1] = { { { "k", 1 }, { "v\0w", 3 } } };
    struct point p = { { "name", 4 }, INT64_MIN, -5, { tags, 2 }, { labels, 1 } };
    struct point q = { 0 };
    assert_ok(avro_record_write(&b, &point_record, &p, &err));
    struct avro_reader r = { b.data, b.len, 0, 0, 0 };
    assert_ok(avro_record_read(&r, &point_record, &arena, &q, &err));
    assert_int_equal(r.at, b.len);
    assert_int_equal(q.x, INT64_MIN);
    assert_int_equal(q.y, -5);
    assert_int_equal(q.tags.n, 2);
    const struct avro_pair *label = q.labels.items;
    assert_int_equal(label->value.len, 3);
    assert_memory_equal(label->value.data, "v\0w", 4);
    buf_release(&b);
    arena_release(&arena);
}

static void test_skip__arrays_of_nothing__no_endless_work(void **state)
{
    (void)state;
    grebe_error err = GREBE_ERROR_INIT;
    struct arena arena = ARENA_INIT(mem_system());
    struct avro_type *type = NULL;
    const char *schema = "{\"type\":\"array\",\"items\":\"null\"}";
    assert_ok(avro_schema_parse(&arena, schema, strlen(schema), &type, &err));
    struct avro_reader r = { (const unsigned char *)"\x04\x00\x00\x00", 4, 0, 0, 0 };
    assert_ok(avro_skip(&r, type, &err));
    assert_int_equal(r.at, 2);
    r = (struct avro_reader){ (const unsigned char *)"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10, 0, 0, 0 };
    assert_int_equal(avro_skip(&r, type, &err), GREBE_ECORRUPT);
    arena_release(&arena);
}

/* R1 holds two R0, R2 two R1, …: R30 is 2^30 values of no byte. */
static void test_skip__records_that_double__no_endless_work(void **state)
{
    (void)state;
    grebe_error err = GREBE_ERROR_INIT;
    struct arena arena = ARENA_INIT(mem_system());
    struct avro_type *type = NULL;
    struct buf schema = BUF_INIT(mem_system());
    assert_ok(buf_put_text(&schema, "[{\"type\":\"record\",\"name\":\"R0\",\"fields\":[]}", &err));
    for (int i = 1; i <= 30; i++) {
        assert_ok(buf_printf(&schema, &err,
                             ",{\"type\":\"record\",\"name\":\"R%d\",\"fields\":["
                             "{\"name\":\"a\",\"type\":\"R%d\"},{\"name\":\"b\",\"type\":\"R%d\"}]}",
                             i, i - 1, i - 1));
    }
    assert_ok(buf_put_text(&schema, "]", &err));
    assert_ok(avro_schema_parse(&arena, (const char *)schema.data, schema.len, &type, &err));
    struct avro_reader r = { (const unsigned char *)"\x3c", 1, 0, 0, 0 };
    assert_fails(avro_skip(&r, type, &err), GREBE_ELIMIT, "passed over in 1 bytes");
    buf_release(&schema);
    arena_release(&arena);
}

/* ---- what a list of records cannot be made to do ---- */

struct branch {
    struct avro_list twigs; /* struct twig */
    struct avro_bytes name;
};
struct twig {
    int64_t a, b, c, d, e, f;
};
static const struct avro_member twig_members[] = {
    { "a", AVRO_MEMBER_LONG, offsetof(struct twig, a), false, NULL },
    { "f", AVRO_MEMBER_LONG, offsetof(struct twig, f), false, NULL },
};
static const struct avro_record twig_record = { "Twig", sizeof(struct twig), twig_members, 2 };
static const struct avro_member branch_members[] = {
    { "twigs", AVRO_MEMBER_RECORDS, offsetof(struct branch, twigs), true, &twig_record },
    { "name", AVRO_MEMBER_STRING, offsetof(struct branch, name), false, NULL },
};
static const struct avro_record branch_record = { "Branch", sizeof(struct branch), branch_members,
                                                  2 };

static void branch_fails(const char *schema, const char *bytes, size_t len, const char *message)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct arena arena = ARENA_INIT(mem_system());
    struct avro_type *type = NULL;
    struct branch *out = calloc(1, sizeof *out); /* alone, so that a write behind it is seen */
    struct avro_reader r = { (const unsigned char *)bytes, len, 0, 0, 0 };
    assert_non_null(out);
    assert_ok(avro_schema_parse(&arena, schema, strlen(schema), &type, &err));
    assert_fails(avro_record_resolve(&r, type, &branch_record, &arena, out, &err), GREBE_ECORRUPT,
                 message);
    free(out);
    arena_release(&arena);
}

static void test_resolve__record_inside_itself__members_not_exchanged(void **state)
{
    (void)state;
    /* The field f, of a twig, would be written behind the end of the branch. */
    branch_fails(FIELDS("{\"name\":\"twigs\",\"type\":{\"type\":\"array\",\"items\":\"P\"}},"
                        "{\"name\":\"f\",\"type\":\"long\"}"),
                 "\x02\x00\x02\x00\x02", 5, "record type of its own for Twig");
}

static void test_resolve__items_without_bytes__refused(void **state)
{
    (void)state;
    /* 48 bytes of memory for each item, for no byte of input */
    branch_fails(FIELDS("{\"name\":\"twigs\",\"type\":{\"type\":\"array\",\"items\":"
                        "{\"type\":\"record\",\"name\":\"E\",\"fields\":[]}}}"),
                 "\x08\x00\x00\x00\x00\x00", 6, "item 0 of 4 takes no byte");
}

static void test_ocf__codecs_and_header(void **state)
{
    (void)state;
    grebe_error err = GREBE_ERROR_INIT;
    struct arena arena = ARENA_INIT(mem_system());
    struct buf inflated = BUF_INIT(mem_system());
    struct buf b = BUF_INIT(mem_system());
    struct avro_ocf ocf;
    static const unsigned char sync[16] = { 1, 2, 3 };
    struct avro_pair extra = { { "grebe.x", 7 }, { "y", 1 } };
    assert_ok(avro_ocf_write(&b, "\"long\"", 6, &extra, 1, sync, 1, "\x02", 1, &err));
    assert_ok(avro_ocf_read(b.data, b.len, 1 << 20, &arena, &inflated, &ocf, &err));
    assert_int_equal(ocf.n_metadata, 3);
    assert_int_equal(ocf.n_records, 1);
    assert_int_equal(ocf.body.len, 1);
    assert_false(ocf.has_trailing);
    memcpy(b.data + 17, "zstd", 4); /* codec null -> zstd */
    assert_fails(avro_ocf_read(b.data, b.len, 1 << 20, &arena, &inflated, &ocf, &err),
                 GREBE_EUNSUPPORTED, "zstd");
    buf_release(&b);
    buf_release(&inflated);
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_long__zig_zag__golden_bytes),
        cmocka_unit_test(test_long__too_long__refused),
        cmocka_unit_test(test_bytes__hostile_lengths__refused),
        cmocka_unit_test(test_resolve__another_order_unions_unknown_and_missing_fields),
        cmocka_unit_test(test_resolve__what_does_not_fit__named),
        cmocka_unit_test(test_record__written_and_read__same),
        cmocka_unit_test(test_skip__arrays_of_nothing__no_endless_work),
        cmocka_unit_test(test_skip__records_that_double__no_endless_work),
        cmocka_unit_test(test_resolve__record_inside_itself__members_not_exchanged),
        cmocka_unit_test(test_resolve__items_without_bytes__refused),
        cmocka_unit_test(test_ocf__codecs_and_header),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
