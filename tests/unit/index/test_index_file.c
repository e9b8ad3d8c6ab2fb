/* SPDX-License-Identifier: Apache-2.0 */
#include "test_support.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/endian.h"
#include "base/hash.h"
#include "index/index_file.h"
#include "index/index_layout.h"
#include "io/io_fault.h"

struct fixture {
    grebe_context *ctx;
    char *folder;
    char path[500];
};

static int set_up(void **state)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct fixture *f = calloc(1, sizeof *f);
    assert_ok(context_new(NULL, &f->ctx, &err));
    f->folder = test_folder_new();
    snprintf(f->path, sizeof f->path, "%s/x.index", f->folder);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    context_free(f->ctx);
    test_folder_remove(f->folder);
    free(f);
    return 0;
}

static const char text[] = "links of the first node and of all others";

static grebe_status write_example(struct index_writer *w, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    unsigned char big[10000];
    memset(big, 7, sizeof big);
    GREBE_TRY(index_writer_uint(w, "rows", 12345, err));
    GREBE_TRY(index_writer_real(w, "scale", 0.125, err));
    GREBE_TRY(index_writer_uint(w, "abcdefgh", UINT64_MAX, err));
    GREBE_TRY(index_writer_section(w, "links", text, sizeof text, err));
    GREBE_TRY(index_writer_begin(w, "codes", err));
    for (int i = 0; i < 3; i++) {
        GREBE_TRY(index_writer_append(w, big + i, 3001, err));
    }
    GREBE_TRY(index_writer_end(w, err));
    GREBE_TRY(index_writer_section(w, "empty", NULL, 0, err));
    GREBE_TRY(index_writer_finish(w, err));
out:
    return st;
}

static void make_example(const struct fixture *f)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct index_writer *w = NULL;
    assert_ok(index_writer_open(f->ctx, f->path, true, &w, &err));
    assert_ok(write_example(w, &err));
    index_writer_close(w);
}

static void test_index_file__written__read_back(void **state)
{
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    struct index_file *file = NULL;
    uint64_t v = 0, len = 0;
    double real = 0;
    const void *data = NULL;
    make_example(f);
    assert_ok(index_file_open(f->ctx, f->path, false, &file, &err));
    assert_string_equal(index_file_path(file), f->path);
    assert_ok(index_file_uint(file, "rows", 1, 12345, &v, &err));
    assert_int_equal(v, 12345);
    assert_ok(index_file_uint(file, "abcdefgh", 0, UINT64_MAX, &v, &err));
    assert_true(v == UINT64_MAX);
    assert_ok(index_file_real(file, "scale", &real, &err));
    assert_true(real == 0.125);
    assert_fails(index_file_uint(file, "rows", 0, 12344, &v, &err), GREBE_ECORRUPT, "0 to 12344, found 12345");
    assert_fails(index_file_uint(file, "rows", 12346, 20000, &v, &err), GREBE_ECORRUPT, "found 12345");
    assert_fails(index_file_uint(file, "row", 0, 9, &v, &err), GREBE_ECORRUPT, "expected a field row");
    assert_fails(index_file_real(file, "abcdefgh", &real, &err), GREBE_ECORRUPT, "finite");
    assert_ok(index_file_section(file, "links", sizeof text, &data, &len, &err));
    assert_int_equal(len, sizeof text);
    assert_memory_equal(data, text, sizeof text);
    assert_int_equal((uintptr_t)data % INDEX_FILE_ALIGN, 0);
    assert_int_equal(index_file_offset(file, "links"), INDEX_FILE_ALIGN);
    assert_ok(index_file_section(file, "codes", UINT64_MAX, &data, &len, &err));
    assert_int_equal(len, 9003);
    for (size_t i = 0; i < len; i++) {
        assert_int_equal(((const unsigned char *)data)[i], 7);
    }
    assert_ok(index_file_section(file, "empty", 0, &data, &len, &err));
    assert_fails(index_file_section(file, "links", 5, &data, &len, &err), GREBE_ECORRUPT, "expected 5 bytes, found 42");
    assert_fails(index_file_section(file, "none", 5, &data, &len, &err), GREBE_ECORRUPT, "a section none");
    assert_true(index_file_has(file, "codes"));
    assert_false(index_file_has(file, "code"));
    index_file_close(file);
}

static void expect_refused(const struct fixture *f, const unsigned char *bytes, size_t len, grebe_status expected,
                           const char *fragment)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct index_file *file = NULL;
    test_write_file(f->path, bytes, len);
    assert_fails(index_file_open(f->ctx, f->path, true, &file, &err), expected, fragment);
    assert_null(file);
}

static void test_index_file__cut_at_every_length__refused(void **state)
{
    struct fixture *f = *state;
    size_t len = 0;
    make_example(f);
    unsigned char *bytes = test_read_file(f->path, &len);
    assert_int_equal(len % INDEX_FILE_ALIGN, 0);
    for (size_t n = 0; n < len; n += n < 100 || n % INDEX_FILE_ALIGN < 9 || n % INDEX_FILE_ALIGN > 4090 ? 1 : 97) {
        expect_refused(f, bytes, n, GREBE_ECORRUPT, f->path);
    }
    expect_refused(f, bytes, len - INDEX_FILE_ALIGN, GREBE_ECORRUPT, "cut off");
    free(bytes);
}

static void close_table(unsigned char *bytes, size_t len)
{
    unsigned char *t = bytes + len - INDEX_FILE_ALIGN;
    store_le64(t + INDEX_TABLE_CHECKSUM, hash_xxh3(t, INDEX_TABLE_CHECKSUM));
}

/* Whatever the table says, opening and reading everything that it names stays inside the file (a sanitizer tells). */
static void open_hostile(const struct fixture *f, const unsigned char *bytes, size_t len)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct index_file *file = NULL;
    static const char *const tags[] = { "links", "codes", "empty" };
    test_write_file(f->path, bytes, len);
    grebe_status st = index_file_open(f->ctx, f->path, true, &file, &err);
    if (st != GREBE_OK) {
        assert_true(st == GREBE_ECORRUPT || st == GREBE_EUNSUPPORTED);
        assert_null(file);
        return;
    }
    for (size_t i = 0; i < 3; i++) {
        const void *data = NULL;
        uint64_t n = 0;
        if (index_file_section(file, tags[i], UINT64_MAX, &data, &n, &err) == GREBE_OK) {
            uint64_t sum = hash_xxh3(data, (size_t)n + 64); /* 64 more can be read */
            assert_true(n <= len && (sum | 1) != 0);
        }
    }
    index_file_close(file);
}

static void test_index_file__every_word_of_the_table_hostile__never_read_outside(void **state)
{
    struct fixture *f = *state;
    static const uint64_t values[] = { 0, UINT64_MAX, 0x7fffffff, UINT64_C(0x7fffffffffffffff), 4096, 1 };
    size_t len = 0;
    make_example(f);
    unsigned char *bytes = test_read_file(f->path, &len);
    unsigned char *table = bytes + len - INDEX_FILE_ALIGN;
    for (size_t at = 0; at < INDEX_TABLE_CHECKSUM; at += at < 1200 ? 4 : 64) {
        unsigned char kept[8];
        memcpy(kept, table + at, 8);
        for (size_t v = 0; v < sizeof values / sizeof values[0]; v++) {
            store_le32(table + at, (uint32_t)values[v]);
            close_table(bytes, len);
            open_hostile(f, bytes, len);
            memcpy(table + at, kept, 8);
            if (at % 8 == 0) {
                store_le64(table + at, values[v]);
                close_table(bytes, len);
                open_hostile(f, bytes, len);
                memcpy(table + at, kept, 8);
            }
        }
    }
    free(bytes);
}

static void test_index_file__table_broken__message_names_it(void **state)
{
    struct fixture *f = *state;
    size_t len = 0;
    make_example(f);
    unsigned char *bytes = test_read_file(f->path, &len);
    unsigned char *table = bytes + len - INDEX_FILE_ALIGN;
    unsigned char *section = table + INDEX_TABLE_SECTIONS;

    store_le32(table + INDEX_TABLE_VERSION, INDEX_FILE_VERSION + 1);
    expect_refused(f, bytes, len, GREBE_EUNSUPPORTED, "version 2, expected at most 1");
    store_le32(table + INDEX_TABLE_VERSION, INDEX_FILE_VERSION);
    table[100] ^= 1;
    expect_refused(f, bytes, len, GREBE_ECORRUPT, "checksum");
    table[100] ^= 1;
    store_le64(section + INDEX_SECTION_BYTES + 8, INDEX_FILE_ALIGN); /* on top of the first */
    close_table(bytes, len);
    expect_refused(f, bytes, len, GREBE_ECORRUPT, "section codes");
    store_le64(section + INDEX_SECTION_BYTES + 8, 2 * INDEX_FILE_ALIGN);
    memcpy(section, "codes\0\0\0", 8);
    close_table(bytes, len);
    expect_refused(f, bytes, len, GREBE_ECORRUPT, "a name of its own");
    memcpy(section, "links\0\0\0", 8);
    close_table(bytes, len);
    bytes[INDEX_FILE_ALIGN + 3] ^= 4;
    expect_refused(f, bytes, len, GREBE_ECORRUPT, "section links at 4096: expected checksum");
    bytes[INDEX_FILE_ALIGN + 3] ^= 4;
    bytes[0] ^= 1;
    expect_refused(f, bytes, len, GREBE_ECORRUPT, "expected an index file");
    bytes[0] ^= 1;
    open_hostile(f, bytes, len);
    free(bytes);
}

static void test_index_file__flips__sections_noticed(void **state)
{
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    size_t len = 0;
    uint64_t random = test_seed();
    make_example(f);
    unsigned char *bytes = test_read_file(f->path, &len);
    for (int i = 0; i < 300; i++) {
        size_t at = (size_t)(test_random(&random) % len);
        unsigned char bit = (unsigned char)(1u << (test_random(&random) % 8));
        bool is_padding = (at >= 8 && at < 4096) || (at >= 4096 + sizeof text && at < 8192) ||
                          (at >= 8192 + 9003 && at < len - INDEX_FILE_ALIGN);
        bytes[at] ^= bit;
        test_write_file(f->path, bytes, len);
        struct index_file *file = NULL;
        grebe_status st = index_file_open(f->ctx, f->path, false, &file, &err);
        assert_int_equal(st == GREBE_OK, is_padding);
        index_file_close(file);
        bytes[at] ^= bit;
    }
    free(bytes);
}

static void test_index_file__nth_call_fails__old_file_stays(void **state)
{
    struct fixture *f = *state;
    for (uint64_t n = 1;; n++) {
        grebe_error err = GREBE_ERROR_INIT;
        struct io_store *local = NULL;
        struct io_fault_store *fault = NULL;
        struct index_writer *w = NULL;
        size_t len = 0;
        test_write_file(f->path, "old", 3);
        assert_ok(io_local_new(f->ctx, &local, &err));
        assert_ok(io_fault_new(f->ctx, local, &fault, &err));
        fault->plan.fail_at = n;
        fault->plan.fail_all_after = true;
        fault->plan.fail_status = GREBE_ELIMIT; /* the disk is full */
        grebe_status st = index_writer_open_in(&fault->store, f->path, false, &w, &err);
        if (st == GREBE_OK) {
            st = write_example(w, &err);
        }
        index_writer_close(w);
        io_store_free(&fault->store);
        unsigned char *after = test_read_file(f->path, &len);
        assert_true(st == GREBE_EUNKNOWN_OUTCOME || (len == 3) == (st != GREBE_OK));
        assert_true(len != 3 || memcmp(after, "old", 3) == 0);
        free(after);
        if (st == GREBE_OK) {
            assert_true(n > 5);
            break;
        }
        assert_true(st == GREBE_ELIMIT || st == GREBE_EUNKNOWN_OUTCOME);
    }
}

static void test_index_file__nth_allocation_fails__nothing_leaks(void **state)
{
    struct fixture *f = *state;
    make_example(f);
    for (size_t n = 1;; n++) {
        grebe_error err = GREBE_ERROR_INIT;
        struct test_allocator t;
        grebe_context_options o = GREBE_CONTEXT_OPTIONS_INIT;
        grebe_context *ctx = NULL;
        struct index_file *file = NULL;
        struct index_writer *w = NULL;
        test_allocator_init(&t);
        o.allocator = &t.a;
        assert_ok(context_new(&o, &ctx, &err));
        t.fail_at = t.n_calls + n;
        grebe_status st = index_file_open(ctx, f->path, true, &file, &err);
        index_file_close(file);
        if (st == GREBE_OK) {
            st = index_writer_open(ctx, f->path, false, &w, &err);
        }
        if (st == GREBE_OK) {
            st = write_example(w, &err);
        }
        index_writer_close(w);
        context_free(ctx);
        assert_int_equal(t.n_live, 0);
        if (st == GREBE_OK) {
            break;
        }
        assert_int_equal(st, GREBE_ENOMEM);
    }
}

static void test_index_writer__too_many_names__limit(void **state)
{
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    struct index_writer *w = NULL;
    char tag[16];
    assert_ok(index_writer_open(f->ctx, f->path, false, &w, &err));
    for (int i = 0; i < INDEX_FIELDS_MAX; i++) {
        snprintf(tag, sizeof tag, "f%d", i);
        assert_ok(index_writer_uint(w, tag, 1, &err));
    }
    assert_fails(index_writer_uint(w, "more", 1, &err), GREBE_ELIMIT, "64 fields");
    for (int i = 0; i < INDEX_SECTIONS_MAX; i++) {
        snprintf(tag, sizeof tag, "s%d", i);
        assert_ok(index_writer_section(w, tag, tag, 3, &err));
    }
    assert_fails(index_writer_section(w, "more", tag, 3, &err), GREBE_ELIMIT, "40 sections");
    assert_ok(index_writer_finish(w, &err));
    index_writer_close(w);
    struct index_file *file = NULL;
    const void *data = NULL;
    assert_ok(index_file_open(f->ctx, f->path, true, &file, &err));
    assert_ok(index_file_section(file, "s39", 3, &data, NULL, &err));
    assert_memory_equal(data, "s39", 3);
    index_file_close(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_index_file__written__read_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_index_file__cut_at_every_length__refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_index_file__every_word_of_the_table_hostile__never_read_outside, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_index_file__table_broken__message_names_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_index_file__flips__sections_noticed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_index_file__nth_call_fails__old_file_stays, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_index_file__nth_allocation_fails__nothing_leaks, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_index_writer__too_many_names__limit, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
