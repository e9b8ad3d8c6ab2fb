/* SPDX-License-Identifier: Apache-2.0 */
#include "test_support.h"

#include <stdio.h>
#include <unistd.h>

#include "io/io_glob.h"

static void test_glob_match__patterns__as_shells(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *name;
        bool is_match;
    } cases[] = {
        { "*", "a", true },           { "*", ".a", false },       { ".*", ".a", true },
        { "*.csv", "x.csv", true },   { "*.csv", "x.csv.gz", false }, { "*.csv*", "x.csv.gz", true },
        { "a?c", "abc", true },       { "a?c", "ac", false },     { "[a-c]1", "b1", true },
        { "[a-c]1", "d1", false },    { "[!a-c]1", "d1", true },  { "[!a-c]1", "a1", false },
        { "[]]", "]", true },         { "[a", "[a", true },       { "[a-]", "-", true },
        { "*a*b*c", "xxaxxbxxc", true }, { "*a*b*c", "xxaxxbxx", false }, { "", "", true },
        { "", "a", false },           { "**", "abc", true },      { "a*", "a", true },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (glob_match(cases[i].pattern, cases[i].name) != cases[i].is_match) {
            fail_msg("\"%s\" on \"%s\"", cases[i].pattern, cases[i].name);
        }
    }
}

static void put(struct io_store *s, const char *path)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct io_writer *w = NULL;
    assert_ok(io_create(s, path, false, &w, &err));
    assert_ok(io_write(w, "x", 1, &err));
    assert_ok(io_writer_publish(w, false, &err));
    io_writer_free(w);
}

static void assert_paths(struct io_store *s, const char *top, const char *pattern,
                         const char *expected)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct arena arena = ARENA_INIT(mem_system());
    char **paths = NULL, all[512] = "";
    char whole[512];
    size_t n = 0;
    snprintf(whole, sizeof whole, "%s/%s", top, pattern);
    assert_ok(io_glob(s, whole, &arena, &paths, &n, &err));
    for (size_t i = 0; i < n; i++) {
        strcat(strcat(all, paths[i] + strlen(top) + 1), " ");
    }
    assert_string_equal(all, expected);
    arena_release(&arena);
}

static void test_glob__folders__sorted_and_once(void **state)
{
    (void)state;
    grebe_error err = GREBE_ERROR_INIT;
    struct io_store *s = NULL;
    grebe_context *ctx = NULL;
    assert_ok(context_new(NULL, &ctx, &err));
    char *top = test_folder_new(), path[512];
    assert_ok(io_local_new(ctx, &s, &err));
    snprintf(path, sizeof path, "%s/d/e/f", top);
    assert_ok(io_make_folders(s, path, false, &err));
    const char *const files[] = { "d/b.csv", "d/a.csv", "d/x.txt", "d/e/c.csv", "d/e/f/d.csv" };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(path, sizeof path, "%s/%s", top, files[i]);
        put(s, path);
    }
    assert_paths(s, top, "d/*.csv", "d/a.csv d/b.csv ");
    assert_paths(s, top, "d/*.txt", "d/x.txt ");
    assert_paths(s, top, "d/*/*.csv", "d/e/c.csv ");
    assert_paths(s, top, "d/**/*.csv", "d/a.csv d/b.csv d/e/c.csv d/e/f/d.csv ");
    assert_paths(s, top, "d/**/**/c.csv", "d/e/c.csv ");
    assert_paths(s, top, "d/**", "d/a.csv d/b.csv d/e/c.csv d/e/f/d.csv d/x.txt ");
    assert_paths(s, top, "d/[e]/c.csv", "d/e/c.csv ");
    assert_paths(s, top, "d/?/c.csv", "d/e/c.csv ");
    char link[512], back[600];
    snprintf(link, sizeof link, "%s/d/e/up", top);
    snprintf(back, sizeof back, "%s/d", top);
    assert_int_equal(symlink(back, link), 0); /* "**" does not run in circles; a name that is a link is entered */
    assert_paths(s, top, "d/**/*.csv", "d/a.csv d/b.csv d/e/c.csv d/e/f/d.csv ");
    assert_paths(s, top, "d/e/*/a.csv", "d/e/up/a.csv ");
    assert_paths(s, top, "d/e/up/*.txt", "d/e/up/x.txt ");
    assert_int_equal(unlink(link), 0);
    assert_paths(s, top, "z/*", "");
    assert_paths(s, top, "d/*.nothing", "");
    io_store_free(s);
    test_folder_remove(top);
    context_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_glob_match__patterns__as_shells),
        cmocka_unit_test(test_glob__folders__sorted_and_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
