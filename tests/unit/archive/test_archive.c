/* SPDX-License-Identifier: Apache-2.0 */
#include "archive/archive.h"

#include <stdio.h>
#include <stdlib.h>

#include "test_support.h"

static struct region *region_of(const grebe_allocator *a, const char *name)
{
    char path[512];
    size_t len = 0;
    struct region *r = NULL;
    grebe_error err;
    snprintf(path, sizeof path, TEST_DATA "/data/archive/%s", name);
    unsigned char *bytes = test_read_file(path, &len);
    assert_ok(region_new(a, len, &r, &err));
    memcpy(r->data, bytes, len);
    free(bytes);
    return r;
}

static void check_content(const struct archive *z, size_t i, const char *name, const char *content, size_t len)
{
    grebe_error err;
    struct region *r = NULL;
    assert_string_equal(z->members[i].name, name);
    assert_ok(archive_read(z, i, 1 << 20, &r, &err));
    assert_int_equal(r->len, len);
    assert_memory_equal(r->data, content, len);
    region_drop(r);
}

static void zip_members(void **state)
{
    (void)state;
    grebe_error err;
    struct archive *z = NULL;
    struct region *r = region_of(mem_system(), "plain.zip"), *out = NULL;
    char deflated[4500];
    for (size_t i = 0; i < 500; i++) {
        memcpy(deflated + 9 * i, "deflated ", 9);
    }
    assert_true(archive_is_zip(r->data, r->len));
    assert_ok(archive_open(mem_system(), r, &z, &err));
    region_drop(r);
    assert_int_equal(z->n, 5);
    check_content(z, 0, "b.txt", "stored content", 14);
    check_content(z, 1, "a/deflated.txt", deflated, sizeof deflated);
    assert_true(z->members[2].is_folder);
    check_content(z, 3, "empty", "", 0);
    assert_false(archive_name_is_safe(z->members[4].name));
    assert_fails(archive_read(z, 1, 4499, &out, &err), GREBE_ELIMIT, "at most 4499");
    assert_fails(archive_read(z, 2, 10, &out, &err), GREBE_EINVAL, "folder");
    archive_free(z);
    r = region_of(mem_system(), "zip64.zip");
    assert_ok(archive_open(mem_system(), r, &z, &err));
    region_drop(r);
    check_content(z, 0, "big.txt", "sixty-four", 10);
    archive_free(z);
    r = region_of(mem_system(), "bzip2.zip");
    assert_ok(archive_open(mem_system(), r, &z, &err));
    region_drop(r);
    assert_fails(archive_read(z, 0, 1000, &out, &err), GREBE_EUNSUPPORTED, "method 12");
    archive_free(z);
}

static void tar_members(void **state)
{
    static const char *const files[] = { "ustar.tar", "gnu.tar", "pax.tar" };
    (void)state;
    grebe_error err;
    char name[200] = "", bytes[768];
    for (size_t i = 0; i < 30; i++) {
        strcat(name, "deep/");
    }
    strcat(name, "name.txt");
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (char)i;
    }
    for (size_t k = 0; k < 3; k++) {
        struct archive *z = NULL;
        struct region *r = region_of(mem_system(), files[k]);
        assert_true(archive_is_tar(r->data, r->len));
        assert_false(archive_is_zip(r->data, r->len));
        assert_ok(archive_open(mem_system(), r, &z, &err));
        region_drop(r);
        assert_int_equal(z->n, k == 2 ? 7 : 6);
        check_content(z, 0, "one.txt", "first", 5);
        assert_true(z->members[1].is_folder);
        check_content(z, 2, name, "long name", 9);
        check_content(z, 3, "empty", "", 0);
        assert_true(z->members[4].is_other);
        check_content(z, 5, "two.bin", bytes, sizeof bytes);
        if (k == 2) {
            check_content(z, 6, "n\xc3\xa4me.txt", "umlaut", 6);
        }
        archive_free(z);
    }
}

/* Every length and every changed byte: an error or members that lie inside; never more. */
static void damaged(void **state)
{
    static const char *const files[] = { "plain.zip", "zip64.zip", "gnu.tar", "pax.tar" };
    (void)state;
    grebe_error err;
    for (size_t k = 0; k < 4; k++) {
        struct region *whole = region_of(mem_system(), files[k]);
        for (size_t i = 0; i < 2 * whole->len; i++) {
            struct region *r = NULL, *out = NULL;
            struct archive *z = NULL;
            bool is_cut = i < whole->len;
            size_t len = is_cut ? i : whole->len;
            assert_ok(region_new(mem_system(), len, &r, &err));
            memcpy(r->data, whole->data, len);
            if (!is_cut) {
                r->data[i - whole->len] ^= 0x55;
            }
            if (archive_open(mem_system(), r, &z, &err) == GREBE_OK) {
                for (size_t m = 0; m < z->n; m++) {
                    assert_true(z->members[m].at <= len && z->members[m].stored <= len - z->members[m].at);
                    if (archive_read(z, m, 1 << 16, &out, &err) == GREBE_OK) {
                        region_drop(out);
                    }
                }
                archive_free(z);
            }
            region_drop(r);
        }
        region_drop(whole);
    }
}

static void no_memory(void **state)
{
    static const char *const files[] = { "plain.zip", "pax.tar" };
    (void)state;
    grebe_error err;
    for (size_t k = 0; k < 2; k++) {
        struct region *r = region_of(mem_system(), files[k]);
        grebe_status st = GREBE_ENOMEM;
        for (size_t at = 1; st == GREBE_ENOMEM; at++) {
            struct test_allocator t;
            struct archive *z = NULL;
            struct region *out = NULL;
            test_allocator_init(&t);
            t.fail_at = at;
            st = archive_open(&t.a, r, &z, &err);
            for (size_t i = 0; st == GREBE_OK && i < z->n && i < 2; i++) {
                st = z->members[i].is_folder ? GREBE_OK : archive_read(z, i, 1 << 16, &out, &err);
                region_drop(out);
                out = NULL;
            }
            archive_free(z);
            assert_int_equal(t.n_live, 0);
            assert_true(at < 1000);
        }
        assert_int_equal(st, GREBE_OK);
        region_drop(r);
    }
}

static void names(void **state)
{
    (void)state;
    assert_true(archive_name_is_safe("a/b.txt"));
    assert_true(archive_name_is_safe("a..b/..c"));
    assert_false(archive_name_is_safe("/etc/passwd"));
    assert_false(archive_name_is_safe("a/../../b"));
    assert_false(archive_name_is_safe(".."));
    assert_false(archive_name_is_safe("c:/x"));
    assert_false(archive_name_is_safe("a\\..\\b"));
    assert_false(archive_name_is_safe(""));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(zip_members), cmocka_unit_test(tar_members),
                                        cmocka_unit_test(damaged), cmocka_unit_test(no_memory), cmocka_unit_test(names) };
    return cmocka_run_group_tests_name("archive", tests, NULL, NULL);
}
