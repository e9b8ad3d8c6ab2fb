/* SPDX-License-Identifier: Apache-2.0 */
#include "git_test.h"

#include "base/checked.h"
#include "base/context_internal.h"
#include "git/git_delta.h"

static void fill_random(unsigned char *p, size_t n, uint64_t seed)
{
    for (size_t i = 0; i + 8 <= n; i += 8) {
        uint64_t v = test_random(&seed);
        memcpy(p + i, &v, 8);
    }
}

/* Blobs of all sizes around the borders of stored blocks and of sampling, floats and text. */
static void test_pack__many_blobs__git_reads_them_and_we_do(void **state)
{
    (void)state;
    static const size_t sizes[] = { 0,     1,     15,    16,     2047,   2048,   16384,  16385,
                                    65534, 65535, 65536, 131070, 131071, 300000, 2000000 };
    enum { N = sizeof sizes / sizeof sizes[0] };
    grebe_error err = GREBE_ERROR_INIT;
    struct git_fixture f;
    git_fixture_open(&f, REPO_CREATE);
    struct repo_oid oids[2 * N];
    unsigned char *bytes = malloc(2000000);
    assert_non_null(bytes);
    struct repo_pack *p = NULL;
    assert_ok(repo_pack_begin(f.repo, &p, &err));
    for (size_t i = 0; i < 2 * N; i++) {
        size_t n = sizes[i / 2];
        memset(bytes, 'a', n);
        if (i % 2 == 0) {
            fill_random(bytes, n, i);
        }
        assert_ok(repo_pack_add(p, REPO_BLOB, bytes, n, -1, &oids[i], &err));
        uint64_t before = repo_pack_bytes(p);
        assert_ok(repo_pack_add(p, REPO_BLOB, bytes, n, -1, &oids[i], &err));
        assert_int_equal(repo_pack_bytes(p), before); /* once only */
    }
    assert_false(repo_object_exists(f.repo, &oids[5]));
    assert_ok(repo_pack_publish(p, &err));
    repo_pack_free(p);
    for (size_t i = 0; i < 2 * N; i++) {
        size_t n = sizes[i / 2];
        memset(bytes, 'a', n);
        if (i % 2 == 0) {
            fill_random(bytes, n, i);
        }
        struct region *region = NULL;
        const unsigned char *got = NULL;
        size_t len = 0;
        enum repo_object type = REPO_TAG;
        uint64_t size = 0;
        assert_true(repo_object_exists(f.repo, &oids[i]));
        assert_ok(repo_object_stat(f.repo, &oids[i], &type, &size, &err));
        assert_true(type == REPO_BLOB && size == n);
        assert_ok(repo_object_read(f.repo, &oids[i], REPO_BLOB, &region, &got, &len, &err));
        assert_int_equal(len, n);
        assert_true(n == 0 || memcmp(got, bytes, n) == 0);
        region_drop(region);
        assert_fails(repo_object_read(f.repo, &oids[i], REPO_TREE, &region, &got, &len, &err), GREBE_ECORRUPT,
                     "expected a tree, found a blob");
        assert_null(region);
    }
    assert_fsck(f.path);
    assert_int_equal(run_shell("cd '%s' && git verify-pack objects/pack/*.idx", f.path), 0);
    assert_int_equal(run_shell("cd '%s/objects/pack' && test -z \"$(ls | grep tmp_)\" && "
                               "test \"$(stat -c %%a pack-*.pack pack-*.idx | sort -u)\" = 444 && "
                               "git index-pack -o ../../x.idx pack-*.pack >/dev/null && cmp ../../x.idx pack-*.idx",
                               f.path),
                     0);
    /* a second pack of the same objects has nothing to write */
    assert_ok(repo_pack_begin(f.repo, &p, &err));
    memset(bytes, 'a', 2048);
    assert_ok(repo_pack_add(p, REPO_BLOB, bytes, 2048, -1, &oids[0], &err));
    assert_ok(repo_pack_publish(p, &err));
    repo_pack_free(p);
    assert_int_equal(run_shell("test $(ls '%s/objects/pack' | wc -l) = 2", f.path), 0);
    free(bytes);
    git_fixture_close(&f);
}

static void test_pack__deltas_before_their_base__git_reads_them(void **state)
{
    (void)state;
    enum { LEN = 70000 * 8, N = 6 };
    grebe_error err = GREBE_ERROR_INIT;
    struct git_fixture f;
    git_fixture_open(&f, REPO_CREATE);
    unsigned char *versions[N];
    struct repo_oid oids[N];
    struct repo_pack *p = NULL;
    struct repo_delta d;
    repo_delta_init(&d, mem_system());
    for (size_t i = 0; i < N; i++) {
        versions[i] = malloc(LEN);
        assert_non_null(versions[i]);
        fill_random(versions[i], LEN, 7);
        memset(versions[i] + 1000 * i, (int)i, 100 + i * 100);
        repo_oid_of(REPO_BLOB, versions[i], LEN, &oids[i]);
    }
    assert_ok(repo_pack_begin(f.repo, &p, &err));
    for (size_t i = 0; i + 1 < N; i++) { /* each against the next one, the last is whole */
        const unsigned char *bytes = NULL;
        size_t len = 0;
        size_t at = 0;
        assert_ok(repo_delta_begin(&d, LEN, LEN, &err));
        while (at < LEN) {
            size_t run = at;
            while (run < LEN && versions[i][run] == versions[i + 1][run]) {
                run++;
            }
            assert_ok(repo_delta_copy(&d, at, run - at, &err));
            for (at = run; at < LEN && versions[i][at] != versions[i + 1][at]; at++) {
                assert_ok(repo_delta_insert(&d, versions[i] + at, 1, &err));
            }
        }
        assert_ok(repo_delta_end(&d, &bytes, &len, &err));
        assert_true(len < 3000);
        unsigned char *made = malloc(LEN);
        assert_ok(repo_delta_apply(bytes, len, versions[i + 1], LEN, made, LEN, &err));
        assert_memory_equal(made, versions[i], LEN);
        free(made);
        assert_ok(repo_pack_add_delta(p, &oids[i], &oids[i + 1], bytes, len, &err));
    }
    struct repo_oid last;
    assert_ok(repo_pack_add(p, REPO_BLOB, versions[N - 1], LEN, -1, &last, &err));
    assert_true(repo_oid_equal(&last, &oids[N - 1]));
    assert_ok(repo_pack_publish(p, &err));
    repo_pack_free(p);
    for (size_t i = 0; i < N; i++) {
        struct region *region = NULL;
        const unsigned char *got = NULL;
        size_t len = 0;
        enum repo_object type = REPO_TAG;
        uint64_t size = 0;
        assert_ok(repo_object_stat(f.repo, &oids[i], &type, &size, &err));
        assert_true(type == REPO_BLOB && size == LEN);
        assert_ok(repo_object_read(f.repo, &oids[i], REPO_BLOB, &region, &got, &len, &err));
        assert_int_equal(len, LEN);
        assert_memory_equal(got, versions[i], LEN);
        region_drop(region);
        free(versions[i]);
    }
    repo_delta_release(&d);
    assert_fsck(f.path);
    assert_int_equal(
        run_shell("cd '%s' && git verify-pack -v objects/pack/*.idx | grep -q 'chain length = 5: 1 object' && "
                  "git index-pack -o x.idx objects/pack/*.pack >/dev/null && cmp x.idx objects/pack/*.idx",
                  f.path),
        0);
    git_fixture_close(&f);
}

static void test_pack__base_of_a_delta__completed_or_refused(void **state)
{
    (void)state;
    static const char base_text[] = "one two three four five six seven eight nine ten";
    static const char text[] = "one two three four five six seven eight nine ten eleven";
    grebe_error err = GREBE_ERROR_INIT;
    struct git_fixture f;
    struct repo_oid base, oid, nowhere;
    struct repo_pack *p = NULL;
    struct repo_delta d;
    const unsigned char *delta = NULL;
    size_t len = 0;
    git_fixture_open(&f, REPO_CREATE);
    repo_delta_init(&d, mem_system());
    repo_oid_of(REPO_BLOB, text, sizeof text - 1, &oid);
    repo_oid_of(REPO_BLOB, "nowhere", 7, &nowhere);
    assert_ok(repo_delta_begin(&d, sizeof base_text - 1, sizeof text - 1, &err));
    assert_ok(repo_delta_copy(&d, 0, sizeof base_text - 1, &err));
    assert_int_equal(repo_delta_end(&d, &delta, &len, &err), GREBE_EINVAL); /* too short yet */
    assert_ok(repo_delta_insert(&d, " eleven", 7, &err));
    assert_ok(repo_delta_end(&d, &delta, &len, &err));
    /* the base is in the repository, in another pack: it is put in once more, whole */
    assert_ok(repo_pack_begin(f.repo, &p, &err));
    assert_ok(repo_pack_add(p, REPO_BLOB, base_text, sizeof base_text - 1, -1, &base, &err));
    assert_ok(repo_pack_publish(p, &err));
    repo_pack_free(p);
    assert_ok(repo_pack_begin(f.repo, &p, &err));
    assert_fails(repo_pack_add_delta(p, &oid, &oid, delta, len, &err), GREBE_EINVAL, "another object");
    assert_fails(repo_pack_add_delta(p, &oid, &base, delta, 3, &err), GREBE_EINVAL, "found 3");
    assert_ok(repo_pack_add_delta(p, &oid, &base, delta, len, &err));
    assert_ok(repo_pack_add_delta(p, &oid, &base, delta, len, &err));
    assert_true(repo_pack_has(p, &oid) && !repo_pack_has(p, &base));
    assert_ok(repo_pack_publish(p, &err));
    repo_pack_free(p);
    assert_fsck(f.path);
    assert_int_equal(
        run_shell("cd '%s' && test $(git verify-pack -v objects/pack/*.idx | grep -c ' blob ') = 3", f.path), 0);
    /* a base that is nowhere */
    assert_ok(repo_pack_begin(f.repo, &p, &err));
    assert_ok(repo_pack_add_delta(p, &nowhere, &(struct repo_oid){ { 9 } }, delta, len, &err));
    assert_fails(repo_pack_publish(p, &err), GREBE_EINVAL, "base of a delta");
    repo_pack_free(p);
    assert_int_equal(run_shell("test $(ls '%s/objects/pack' | wc -l) = 4", f.path), 0);
    repo_delta_release(&d);
    git_fixture_close(&f);
}

/* Pieces of random places and lengths, joined ones and ones beyond what one instruction takes. */
static void test_delta__random_pieces__made_again(void **state)
{
    (void)state;
    enum { BASE = 20 << 20 };
    grebe_error err = GREBE_ERROR_INIT;
    uint64_t seed = test_seed();
    unsigned char *base = malloc(BASE), *want = malloc(3 * (size_t)BASE), *got = malloc(3 * (size_t)BASE);
    assert_true(base != NULL && want != NULL && got != NULL);
    fill_random(base, BASE, seed);
    struct repo_delta d;
    repo_delta_init(&d, mem_system());
    for (int round = 0; round < 40; round++) {
        size_t pieces = test_random(&seed) % 30, at = 0, n = 0;
        struct {
            size_t from, len;
            int is_copy;
        } list[64];
        for (size_t i = 0; i < pieces; i++) {
            list[i].is_copy = test_random(&seed) % 3 != 0;
            list[i].len = i == 0 && round == 0 ? 0x1000005
                          : list[i].is_copy    ? test_random(&seed) % 200000
                                               : test_random(&seed) % 400;
            if (i == 3) {
                list[i].len = 0x10000; /* the length that is written as none */
            }
            list[i].from =
                i > 0 && test_random(&seed) % 4 == 0 && list[i - 1].from + list[i - 1].len + list[i].len < BASE
                    ? list[i - 1].from + list[i - 1].len /* goes on where the last one ended */
                    : test_random(&seed) % (BASE - list[i].len);
            n += list[i].len;
        }
        assert_ok(repo_delta_begin(&d, BASE, n, &err));
        for (size_t i = 0; i < pieces; i++) {
            assert_ok(list[i].is_copy ? repo_delta_copy(&d, list[i].from, list[i].len, &err)
                                      : repo_delta_insert(&d, base + list[i].from, list[i].len, &err));
            memcpy(want + at, base + list[i].from, list[i].len);
            at += list[i].len;
        }
        const unsigned char *bytes = NULL;
        size_t len = 0;
        assert_ok(repo_delta_end(&d, &bytes, &len, &err));
        assert_ok(repo_delta_apply(bytes, len, base, BASE, got, n, &err));
        assert_memory_equal(got, want, n);
        if (n > 0) {
            assert_int_equal(repo_delta_apply(bytes, len - 1, base, BASE, got, n, &err), GREBE_ECORRUPT);
        }
        assert_int_equal(repo_delta_apply(bytes, len, base, BASE - 1, got, n, &err), GREBE_ECORRUPT);
    }
    repo_delta_release(&d);
    free(base);
    free(want);
    free(got);
}

/* All of a list into a fresh pack; the id of the pack says what its bytes are. */
static void add_all(struct repo_pack_item *items, size_t n, uint32_t n_threads, char id[REPO_OID_HEX + 1])
{
    grebe_error err = GREBE_ERROR_INIT;
    struct git_fixture f;
    git_fixture_open(&f, REPO_CREATE);
    struct repo_pack_threads threads = { mem_system(), f.ctx->pool, n_threads, NULL };
    struct repo_pack *p = NULL;
    for (size_t i = 0; i < n; i++) {
        items[i].has_oid = false;
    }
    assert_ok(repo_pack_begin(f.repo, &p, &err));
    assert_ok(repo_pack_add_all(p, REPO_BLOB, items, n, &threads, &err));
    uint64_t bytes = repo_pack_bytes(p);
    assert_ok(repo_pack_add_all(p, REPO_BLOB, items, n, &threads, &err));
    assert_int_equal(repo_pack_bytes(p), bytes); /* once only */
    assert_ok(repo_pack_publish(p, &err));
    repo_pack_free(p);
    assert_fsck(f.path);
    for (size_t i = 0; i < n; i++) {
        struct region *region = NULL;
        const unsigned char *got = NULL;
        size_t len = 0;
        assert_ok(repo_object_read(f.repo, &items[i].oid, REPO_BLOB, &region, &got, &len, &err));
        assert_int_equal(len, items[i].len);
        assert_true(len == 0 || memcmp(got, items[i].bytes, len) == 0);
        region_drop(region);
    }
    assert_int_equal(run_shell("cd '%s/objects/pack' && ls *.idx > ../../name", f.path), 0);
    char path[700];
    snprintf(path, sizeof path, "%s/name", f.path);
    FILE *in = fopen(path, "r");
    assert_non_null(in);
    assert_int_equal(fscanf(in, "pack-%40s", id), 1);
    fclose(in);
    git_fixture_close(&f);
}

static void test_pack__many_at_once__same_bytes_for_any_threads(void **state)
{
    (void)state;
    enum { N = 3000, BYTES = 1 << 20 };
    char one[REPO_OID_HEX + 1], four[REPO_OID_HEX + 1];
    unsigned char *bytes = malloc(BYTES);
    struct repo_pack_item *items = malloc(N * sizeof *items);
    assert_true(bytes != NULL && items != NULL);
    fill_random(bytes, BYTES / 2, 1);
    memset(bytes + BYTES / 2, 7, BYTES / 2);
    for (size_t i = 0; i < N; i++) { /* every 3rd one is there several times; some are longer than a chunk */
        size_t start = i % 3 == 0 ? 5 : i * 211;
        size_t len = i % 3 == 0 ? i % 7 * 900 : i % 500 == 1 ? 300000 : i % 1300;
        int level = i % 4 == 0 ? -1 : i % 4 == 1 ? REPO_RECORDS(6) : i % 4 == 2 ? REPO_RECORDS(0) : 6;
        level = i % 3 == 0 ? REPO_RECORDS(0) : level;
        items[i] = (struct repo_pack_item){ bytes + start, min_size(len, BYTES - start), level, false, { { 0 } } };
    }
    add_all(items, N, 1, one);
    add_all(items, N, 4, four);
    assert_string_equal(one, four);
    free(items);
    free(bytes);
}

static void test_pack__many_at_once_no_memory__fails_and_frees(void **state)
{
    (void)state;
    unsigned char bytes[600] = { 0 };
    struct repo_pack_item items[3];
    grebe_error err = GREBE_ERROR_INIT;
    struct git_fixture f;
    git_fixture_open(&f, REPO_CREATE);
    grebe_status st = GREBE_ENOMEM;
    for (size_t fail_at = 1; st != GREBE_OK; fail_at++) {
        struct test_allocator a;
        test_allocator_init(&a);
        a.fail_at = fail_at;
        struct repo_pack_threads threads = { &a.a, NULL, 1, NULL };
        struct repo_pack *p = NULL;
        for (size_t i = 0; i < 3; i++) {
            items[i] = (struct repo_pack_item){ bytes, 100 + i * 200, i == 2 ? 6 : REPO_RECORDS(6), false, { { 0 } } };
        }
        assert_ok(repo_pack_begin(f.repo, &p, &err));
        st = repo_pack_add_all(p, REPO_BLOB, items, 3, &threads, NULL);
        assert_true(st == GREBE_OK || st == GREBE_ENOMEM);
        repo_pack_free(p);
        assert_int_equal(a.n_live, 0);
        assert_true(fail_at < 100);
    }
    git_fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pack__many_blobs__git_reads_them_and_we_do),
        cmocka_unit_test(test_pack__deltas_before_their_base__git_reads_them),
        cmocka_unit_test(test_pack__base_of_a_delta__completed_or_refused),
        cmocka_unit_test(test_pack__many_at_once__same_bytes_for_any_threads),
        cmocka_unit_test(test_pack__many_at_once_no_memory__fails_and_frees),
        cmocka_unit_test(test_delta__random_pieces__made_again),
    };
    return cmocka_run_group_tests_name("repo_pack", tests, NULL, NULL);
}
