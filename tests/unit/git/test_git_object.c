/* SPDX-License-Identifier: Apache-2.0 */
#include "git_test.h"

#include <sys/stat.h>
#include <unistd.h>

#include "git/git_delta.h"
#include "git/git_zlib.h"

static grebe_status read_blob(struct repo *r, const struct repo_oid *oid, size_t *len, grebe_error *err)
{
    struct region *region = NULL;
    const unsigned char *bytes = NULL;
    grebe_status st = repo_object_read(r, oid, REPO_BLOB, &region, &bytes, len, err);
    assert_true((st == GREBE_OK) == (region != NULL));
    region_drop(region);
    return st;
}

static void assert_damaged(struct git_fixture *f, const struct repo_oid *oid)
{
    grebe_error err = GREBE_ERROR_INIT;
    char hex[REPO_OID_HEX + 1];
    size_t len = 0;
    repo_oid_hex(oid, hex);
    git_fixture_reopen(f);
    assert_fails(read_blob(f->repo, oid, &len, &err), GREBE_ECORRUPT, hex);
}

/* Bytes of a loose object: "<head>\0<body>", whatever that is, under this id. */
static void put_loose(struct git_fixture *f, const struct repo_oid *oid, const void *bytes, size_t len)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct repo_deflater d;
    struct buf z = BUF_INIT(mem_system());
    char hex[REPO_OID_HEX + 1], path[700];
    repo_oid_hex(oid, hex);
    repo_deflater_init(&d, mem_system());
    assert_ok(repo_deflate(&d, bytes, len, 6, &z, &err));
    assert_int_equal(
        run_shell("mkdir -p '%s/objects/%.2s' && rm -f '%s/objects/%.2s/%s'", f->path, hex, f->path, hex, hex + 2), 0);
    snprintf(path, sizeof path, "%s/objects/%.2s/%s", f->path, hex, hex + 2);
    test_write_file(path, z.data, z.len);
    buf_release(&z);
    repo_deflater_release(&d);
}

static void test_object__loose_and_damaged__refused_with_its_id(void **state)
{
    (void)state;
    static const char whole[] = "blob 5\0hello";
    static const struct {
        const char *bytes;
        size_t len;
    } bad[] = {
        { "blob 5\0hellO", 12 },
        { "blob 5\0hell", 11 },
        { "blob 5\0hello!", 13 },
        { "blob 05x\0hello", 13 },
        { "blub 5\0hello", 12 },
        { "blob \0hello", 11 },
        { "blob 5", 6 },
        { "", 0 },
        { "tree 5\0hello", 12 },
        { "blob -5\0hello", 13 },
        { "blob 99999999999\0h", 18 },
        { "blob 18446744073709551621\0hello", 31 },
    };
    grebe_error err = GREBE_ERROR_INIT;
    struct git_fixture f;
    struct repo_oid oid;
    size_t len = 0;
    git_fixture_open(&f, REPO_CREATE);
    repo_oid_of(REPO_BLOB, "hello", 5, &oid);
    put_loose(&f, &oid, whole, 12);
    assert_ok(read_blob(f.repo, &oid, &len, &err));
    assert_int_equal(len, 5);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        put_loose(&f, &oid, bad[i].bytes, bad[i].len);
        assert_damaged(&f, &oid);
    }
    /* every byte of the file changed in turn: other bytes, or none, but never wrong ones */
    put_loose(&f, &oid, whole, 12);
    char hex[REPO_OID_HEX + 1], path[700];
    repo_oid_hex(&oid, hex);
    snprintf(path, sizeof path, "%s/objects/%.2s/%s", f.path, hex, hex + 2);
    size_t n = 0;
    unsigned char *z = test_read_file(path, &n);
    for (size_t i = 0; i < n; i++) {
        z[i] ^= 0x10;
        test_write_file(path, z, n);
        git_fixture_reopen(&f);
        grebe_status st = read_blob(f.repo, &oid, &len, &err);
        assert_true(st == GREBE_ECORRUPT || (st == GREBE_OK && len == 5)); /* the window size and adler may differ */
        z[i] ^= 0x10;
    }
    for (size_t i = 0; i + 4 < n; i++) { /* cut: the last four bytes are adler's */
        test_write_file(path, z, i);
        assert_damaged(&f, &oid);
    }
    free(z);
    git_fixture_close(&f);
}

/* One pack of three blobs of which one is a delta, its paths found. */
static void put_pack(struct git_fixture *f, struct repo_oid oids[3], char pack[700], char index[700])
{
    grebe_error err = GREBE_ERROR_INIT;
    struct repo_pack *p = NULL;
    struct repo_delta d;
    const unsigned char *delta = NULL;
    unsigned char bytes[3000];
    size_t len = 0;
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (unsigned char)(i * i >> 3);
    }
    repo_delta_init(&d, mem_system());
    assert_ok(repo_pack_begin(f->repo, &p, &err));
    assert_ok(repo_pack_add(p, REPO_BLOB, bytes, sizeof bytes, 0, &oids[0], &err));
    assert_ok(repo_pack_add(p, REPO_BLOB, bytes, 500, 6, &oids[1], &err));
    repo_oid_of(REPO_BLOB, bytes + 7, 2000, &oids[2]);
    assert_ok(repo_delta_begin(&d, sizeof bytes, 2000, &err));
    assert_ok(repo_delta_copy(&d, 7, 1500, &err));
    assert_ok(repo_delta_insert(&d, bytes + 1507, 500, &err));
    assert_ok(repo_delta_end(&d, &delta, &len, &err));
    assert_ok(repo_pack_add_delta(p, &oids[2], &oids[0], delta, len, &err));
    assert_ok(repo_pack_publish(p, &err));
    repo_pack_free(p);
    repo_delta_release(&d);
    assert_fsck(f->path);
    assert_int_equal(run_shell("cd '%s/objects/pack' && chmod u+w * && ls $PWD/*.pack | tr -d '\\n' >../../p && "
                               "ls $PWD/*.idx | tr -d '\\n' >../../i",
                               f->path),
                     0);
    char *const out[] = { pack, index };
    for (int i = 0; i < 2; i++) {
        char path[600];
        snprintf(path, sizeof path, "%s/%s", f->path, i == 0 ? "p" : "i");
        unsigned char *text = test_read_file(path, &len);
        assert_true(len < 700);
        memcpy(out[i], text, len);
        out[i][len] = '\0';
        free(text);
    }
}

static void test_object__pack_or_index_damaged_anywhere__never_wrong_bytes(void **state)
{
    (void)state;
    grebe_error err = GREBE_ERROR_INIT;
    struct git_fixture f;
    struct repo_oid oids[3];
    char paths[2][700];
    git_fixture_open(&f, REPO_CREATE);
    put_pack(&f, oids, paths[0], paths[1]);
    for (int which = 0; which < 2; which++) {
        size_t n = 0, n_refused = 0;
        unsigned char *bytes = test_read_file(paths[which], &n);
        for (size_t i = 0; i < n; i += i < 1200 || i + 1200 > n ? 1 : 37) {
            unsigned char was = bytes[i];
            bytes[i] = (unsigned char)(was ^ (i % 2 == 0 ? 0x81 : 0x10));
            test_write_file(paths[which], bytes, n);
            git_fixture_reopen(&f);
            for (int k = 0; k < 3; k++) {
                size_t len = 0;
                enum repo_object type = REPO_BLOB;
                uint64_t size = 0;
                grebe_status st = read_blob(f.repo, &oids[k], &len, &err);
                if (st == GREBE_OK) {
                    assert_int_equal(len, k == 0 ? 3000 : k == 1 ? 500 : 2000);
                } else {
                    assert_true(st == GREBE_ECORRUPT || st == GREBE_ENOTFOUND);
                    n_refused++;
                }
                (void)repo_object_stat(f.repo, &oids[k], &type, &size, &err);
            }
            bytes[i] = was;
        }
        assert_true(n_refused > 200);
        for (size_t len = 0; len < n; len += 61) { /* cut */
            test_write_file(paths[which], bytes, len);
            assert_damaged(&f, &oids[0]);
        }
        test_write_file(paths[which], bytes, n);
        free(bytes);
    }
    git_fixture_reopen(&f);
    size_t len = 0;
    assert_ok(read_blob(f.repo, &oids[2], &len, &err));
    /* a pack without its index, and an index without its pack, hold nothing */
    unlink(paths[0]);
    git_fixture_reopen(&f);
    assert_fails(read_blob(f.repo, &oids[0], &len, &err), GREBE_ENOTFOUND, "no object");
    /* a second, whole copy is found behind a damaged one */
    git_fixture_close(&f);
    git_fixture_open(&f, REPO_CREATE);
    put_pack(&f, oids, paths[0], paths[1]);
    assert_int_equal(
        run_shell("cd '%s' && mkdir l && cp '%s' l/x && git init -q --bare l/r && git -C l/r unpack-objects -q <l/x && "
                  "cp -r l/r/objects/[0-9a-f][0-9a-f] objects/",
                  f.path, paths[0]),
        0);
    size_t n = 0;
    unsigned char *bytes = test_read_file(paths[0], &n);
    bytes[600] ^= 1;
    test_write_file(paths[0], bytes, n);
    free(bytes);
    git_fixture_reopen(&f);
    for (int k = 0; k < 3; k++) {
        assert_ok(read_blob(f.repo, &oids[k], &len, &err));
    }
    git_fixture_close(&f);
}

static void test_tree__hostile_bytes__refused(void **state)
{
    (void)state;
    static const char id[] = "aaaaaaaaaaaaaaaaaaaa";
    static const struct {
        const char *entries;  /* '|' stands for the NUL, and an id follows each */
        const char *fragment; /* NULL: good */
    } cases[] = {
        { "100644 a|", NULL },
        { "40000 a|100644 a.b|", "ascending" }, /* a tree's name counts as "a/" */
        { "100644 a.b|40000 a|", NULL },
        { "100644 a|40000 a|", NULL }, /* in order; git's fsck complains of it, readers look at kinds */
        { "120000 link|160000 module|", NULL },
        { "100644 a|100644 a|", "ascending" },
        { "100644 b|100644 a|", "ascending" },
        { "100644 a/b|", "expected a file name" },
        { "100644 |", "expected a file name" },
        { "100644 .|", "expected a file name" },
        { "40000 ..|", "expected a file name" },
        { "040000 a|", "octal mode" },
        { "100844 a|", "octal mode" },
        { " a|", "octal mode" },
        { "1000000 a|", "octal mode" },
        { "100644a|", "octal mode" },
    };
    grebe_error err = GREBE_ERROR_INIT;
    struct repo_tree t;
    unsigned char bytes[200];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        size_t n = 0;
        for (const char *p = cases[i].entries; *p != '\0'; p++) {
            bytes[n++] = *p == '|' ? 0 : (unsigned char)*p;
            if (*p == '|') {
                memcpy(bytes + n, id, 20);
                n += 20;
            }
        }
        if (cases[i].fragment == NULL) {
            assert_ok(repo_tree_parse(mem_system(), NULL, bytes, n, &t, &err));
            repo_tree_release(&t);
        } else {
            assert_fails(repo_tree_parse(mem_system(), NULL, bytes, n, &t, &err), GREBE_ECORRUPT, cases[i].fragment);
        }
        for (size_t len = 1; len < 27 && len < n; len++) { /* cut inside the first entry */
            assert_int_equal(repo_tree_parse(mem_system(), NULL, bytes, len, &t, &err), GREBE_ECORRUPT);
        }
    }
    assert_ok(repo_tree_parse(mem_system(), NULL, bytes, 0, &t, &err));
    assert_int_equal(t.n, 0);
    repo_tree_release(&t);
    /* what comes out of git's own hands: links and submodules keep their kind */
    struct git_fixture f;
    git_fixture_open(&f, REPO_CREATE);
    assert_int_equal(run_shell("cd '%s' && b=$(git hash-object -w --stdin </dev/null) && printf '120000 blob "
                               "%%s\\tl\\n160000 commit 1111111111111111111111111111111111111111\\tm\\n"
                               "100755 blob %%s\\tx\\n' $b $b | git mktree --missing >t",
                               f.path),
                     0);
    char path[600];
    size_t n = 0;
    snprintf(path, sizeof path, "%s/t", f.path);
    unsigned char *hex = test_read_file(path, &n);
    struct repo_oid oid;
    assert_true(repo_oid_from_hex((const char *)hex, 40, &oid));
    free(hex);
    assert_ok(repo_tree_read(f.repo, &oid, &t, &err));
    assert_int_equal(t.n, 3);
    assert_int_equal(repo_tree_find(&t, "l")->mode, 0120000);
    assert_int_equal(repo_tree_find(&t, "m")->mode, 0160000);
    assert_int_equal(repo_tree_find(&t, "x")->mode, 0100755);
    repo_tree_release(&t);
    struct repo_tree_entry twice[2] = { { 0100644, "a", { { 0 } } }, { 0100644, "a", { { 0 } } } };
    struct buf b = BUF_INIT(mem_system());
    assert_fails(repo_tree_encode(twice, 2, &b, &err), GREBE_EINVAL, "\"a\"");
    twice[0].name = "x/y";
    assert_fails(repo_tree_encode(twice, 1, &b, &err), GREBE_EINVAL, "x/y");
    buf_release(&b);
    git_fixture_close(&f);
}

static void test_commit__odd_bytes__read_or_refused(void **state)
{
    (void)state;
#define TREE "tree aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n"
    static const struct {
        const char *text, *message;
        int64_t seconds;
    } good[] = {
        { TREE "author a <b> 5 +0000\ncommitter a <b> 7 +0000\n\nhello\n", "hello\n", 7 },
        { TREE "committer a <b> 99999999999999999999 +0000\n\nx", "x", 0 },
        { TREE "committer a\n\nx", "x", 0 },
        { TREE "committer a <b> -7 +0000\ngpgsig a\n b\n c\n\n\n\nx\n\ny", "x\n\ny", 0 },
        { TREE, "", 0 },
        { TREE "committer a <b> 12", "", 12 },
    };
    static const char *const bad[] = { "",
                                       "tree",
                                       "tree aaaa\n",
                                       "parent aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n",
                                       "tree gggggggggggggggggggggggggggggggggggggggg\n",
                                       "tree aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" };
    grebe_error err = GREBE_ERROR_INIT;
    struct arena ar = ARENA_INIT(mem_system());
    struct repo_commit c;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        assert_ok(repo_commit_parse(&ar, good[i].text, strlen(good[i].text), &c, &err));
        assert_string_equal(c.message, good[i].message);
        assert_int_equal(c.time_seconds, good[i].seconds);
        assert_false(c.has_parent);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_fails(repo_commit_parse(&ar, bad[i], strlen(bad[i]), &c, &err), GREBE_ECORRUPT, "40 hex digits");
    }
    arena_release(&ar);
}

static void test_zlib__streams_of_others__read_exactly(void **state)
{
    (void)state;
    grebe_error err = GREBE_ERROR_INIT;
    uint64_t seed = test_seed();
    struct repo_deflater d;
    struct buf z = BUF_INIT(mem_system());
    unsigned char *in = malloc(300000), *out = malloc(300001);
    assert_true(in != NULL && out != NULL);
    repo_deflater_init(&d, mem_system());
    for (int round = 0; round < 200; round++) {
        size_t n = (size_t)(test_random(&seed) % (round % 4 == 0 ? 300000 : 3000));
        uint64_t mask = round % 3 == 0 ? UINT64_MAX : UINT64_C(0x0101010101010101);
        for (size_t i = 0; i < n; i++) { /* half noise: some blocks are stored, some are not */
            in[i] = i > n / 2 ? (unsigned char)(test_random(&seed) & mask) : (unsigned char)test_random(&seed);
        }
        int level = (int)(test_random(&seed) % 11) - 1;
        size_t used = 0;
        buf_clear(&z);
        assert_ok(repo_deflate(&d, in, n, level, &z, &err));
        size_t len = z.len;
        assert_ok(buf_put_text(&z, "behind", &err));
        assert_ok(repo_inflate(mem_system(), z.data, z.len, out, n, &used, &err));
        assert_int_equal(used, len);
        assert_memory_equal(in, out, n);
        assert_int_equal(repo_inflate(mem_system(), z.data, z.len, out, n + 1, NULL, &err), GREBE_ECORRUPT);
        if (n > 0) {
            assert_int_equal(repo_inflate(mem_system(), z.data, z.len, out, n - 1, NULL, &err), GREBE_ECORRUPT);
        }
        assert_int_equal(repo_inflate(mem_system(), z.data, len - 5, out, n, NULL, &err), GREBE_ECORRUPT);
        size_t got = 0;
        assert_ok(repo_inflate_head(mem_system(), z.data, z.len, out, 10, &got, &err));
        assert_int_equal(got, n < 10 ? n : 10);
    }
    free(in);
    free(out);
    buf_release(&z);
    repo_deflater_release(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_object__loose_and_damaged__refused_with_its_id),
        cmocka_unit_test(test_object__pack_or_index_damaged_anywhere__never_wrong_bytes),
        cmocka_unit_test(test_tree__hostile_bytes__refused),
        cmocka_unit_test(test_commit__odd_bytes__read_or_refused),
        cmocka_unit_test(test_zlib__streams_of_others__read_exactly),
    };
    return cmocka_run_group_tests_name("repo_object", tests, NULL, NULL);
}
