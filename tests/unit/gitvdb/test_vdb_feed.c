/* SPDX-License-Identifier: Apache-2.0 */
/* Lines that all threads parse give the points, and name the mistakes, of one thread. */
#include "gitvdb/vdb_feed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/context_internal.h"
#include "test_support.h"

struct text {
    struct buf bytes;
    size_t at;
    unsigned n_rewinds;
};

static int read_text(void *ctx, void *dst, size_t len, size_t *got)
{
    struct text *t = ctx;
    *got = len < t->bytes.len - t->at ? len : t->bytes.len - t->at;
    if (*got > 0) {
        memcpy(dst, t->bytes.data + t->at, *got);
    }
    t->at += *got;
    return 0;
}

static int rewind_text(void *ctx)
{
    struct text *t = ctx;
    t->at = 0;
    t->n_rewinds++;
    return 0;
}

static void put_points(struct text *t, unsigned first, unsigned n, unsigned dim)
{
    for (unsigned i = first; i < first + n; i++) {
        assert_int_equal(buf_printf(&t->bytes, NULL, "{\"id\":%u,\"vector\":[", i), GREBE_OK);
        for (unsigned d = 0; d < dim; d++) {
            assert_int_equal(buf_printf(&t->bytes, NULL, "%s%u.25", d == 0 ? "" : ",", i % 1000 + d), GREBE_OK);
        }
        assert_int_equal(buf_printf(&t->bytes, NULL, "],\"payload\":{\"n\":%u}}\n%s", i, i % 97 == 0 ? "\n" : ""),
                         GREBE_OK);
    }
}

static void assert_point(const struct vdb_points *p, size_t i, unsigned number)
{
    char expected[32];
    size_t len;
    const char *payload = vdb_points_payload(p, i, &len);
    assert_true(vdb_points_id(p, i).is_number);
    assert_int_equal(vdb_points_id(p, i).number, number);
    assert_true(p->vectors[i * p->dim + p->dim - 1] == (float)(number % 1000 + p->dim - 1) + 0.25f);
    snprintf(expected, sizeof expected, "{\"n\":%u}", number);
    assert_int_equal(len, strlen(expected));
    assert_memory_equal(payload, expected, len);
}

static struct vdb_work work_of(grebe_context *ctx, const grebe_allocator *a)
{
    return (struct vdb_work){ .a = a, .pool = ctx == NULL ? NULL : ctx->pool, .threads = 4 };
}

static void assert_batches(struct vdb_feed *f, unsigned n, uint64_t batch_size)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct vdb_points batch;
    unsigned seen = 0;
    vdb_points_init(&batch, mem_system());
    assert_ok(vdb_feed_rewind(f, &err));
    for (;;) {
        assert_ok(vdb_feed_next(f, batch_size, &batch, &err));
        if (batch.n == 0) {
            break;
        }
        assert_int_equal(batch.n, batch_size < n - seen ? batch_size : n - seen);
        for (size_t i = 0; i < batch.n; i++) {
            assert_point(&batch, i, seen++);
        }
    }
    assert_int_equal(seen, n);
    vdb_points_release(&batch);
}

static void test_feed__many_lines__all_points_in_order_again_and_again(void **state)
{
    (void)state;
    static const struct {
        unsigned n, dim;
        uint64_t batch_size;
        unsigned n_rewinds; /* of the text, before the first batch */
    } cases[] = {
        { 1, 1, 10, 0 }, { 5000, 20, 1000, 0 }, { 30000, 8, 100000, 0 }, { 30000, 80, 100000, 0 }, { 30000, 80, 7000, 1 },
    };
    grebe_error err = GREBE_ERROR_INIT;
    grebe_context *ctx = NULL;
    assert_ok(context_new(NULL, &ctx, &err));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct text t = { BUF_INIT(mem_system()), 0, 0 };
        struct vdb_work work = work_of(ctx, mem_system());
        struct vdb_feed f;
        put_points(&t, 0, cases[i].n, cases[i].dim);
        assert_ok(vdb_feed_lines(&f, &work, read_text, rewind_text, &t, "t", cases[i].batch_size, &err));
        assert_int_equal(f.n, cases[i].n);
        assert_int_equal(f.dim, cases[i].dim);
        assert_int_equal(t.n_rewinds, cases[i].n_rewinds);
        assert_batches(&f, cases[i].n, cases[i].batch_size);
        assert_batches(&f, cases[i].n, cases[i].batch_size);
        vdb_feed_release(&f);
        buf_release(&t.bytes);
    }
    context_free(ctx);
}

/* Good lines, a bad one, good lines: what one thread says of it. */
static void assert_named(grebe_context *ctx, unsigned before, const char *bad, const char *expected)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct text t = { BUF_INIT(mem_system()), 0, 0 };
    struct vdb_work work = work_of(ctx, mem_system());
    struct vdb_feed f;
    put_points(&t, 1, before, 20); /* no blank line among the first 96 */
    assert_ok(buf_printf(&t.bytes, &err, "%s\n", bad));
    put_points(&t, 1, 9000, 20);
    assert_ok(buf_printf(&t.bytes, &err, "{nothing good either\n\xff\n"));
    assert_fails(vdb_feed_lines(&f, &work, read_text, rewind_text, &t, "t", 1000, &err), GREBE_EINVAL, expected);
    vdb_feed_release(&f);
    buf_release(&t.bytes);
}

static void test_feed__bad_line_anywhere__the_first_is_named(void **state)
{
    (void)state;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_context *ctx = NULL;
    assert_ok(context_new(NULL, &ctx, &err));
    assert_named(ctx, 0, "{\"id\":1,\"vector\":[]}", "t line 1: ");
    assert_named(ctx, 0, "{\"id\":1", "t line 1: ");
    assert_named(ctx, 0, "{\"id\":1,\"vector\":[1]}", "t line 2: id 1: expected a vector of 1 components, found 20");
    assert_named(ctx, 50, "{\"id\":7,\"vector\":[1]}", "t line 51: id 7: expected a vector of 20 components, found 1");
    assert_named(ctx, 4000, "{\"id\":7,\"vector\":[1]}", "t line 4042: id 7: expected a vector of 20 components, found 1");
    assert_named(ctx, 20000, "nonsense", "t line 20207: ");
    context_free(ctx);
}

static void test_feed__no_memory__fails_and_frees(void **state)
{
    (void)state;
    grebe_status st = GREBE_ENOMEM;
    struct text t = { BUF_INIT(mem_system()), 0, 0 };
    put_points(&t, 0, 300, 3);
    for (size_t fail_at = 1; st != GREBE_OK; fail_at++) {
        struct test_allocator a;
        struct vdb_feed f;
        struct vdb_points batch;
        test_allocator_init(&a);
        a.fail_at = fail_at;
        struct vdb_work work = { .a = &a.a, .threads = 1 };
        t.at = 0;
        vdb_points_init(&batch, &a.a);
        st = vdb_feed_lines(&f, &work, read_text, rewind_text, &t, "t", 1000, NULL);
        st = st == GREBE_OK ? vdb_feed_next(&f, 100, &batch, NULL) : st;
        assert_true(st == GREBE_OK || st == GREBE_ENOMEM);
        vdb_points_release(&batch);
        vdb_feed_release(&f);
        assert_int_equal(a.n_live, 0);
        assert_true(fail_at < 1000);
    }
    buf_release(&t.bytes);
}

/* ---- several texts as rows ---- */

static const struct vdb_line_form row_form = { "id", "vector", 2, 6, true };

static void pack(struct text *t, const struct text *from, enum codec_id id)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct codec_workspace ws = CODEC_WORKSPACE_INIT(mem_system());
    *t = (struct text){ BUF_INIT(mem_system()), 0, 0 };
    assert_ok(codec_compress(id, CODEC_LEVEL_DEFAULT, from->bytes.data, from->bytes.len, &t->bytes, &ws, &err));
    codec_workspace_release(&ws);
}

/* Plain, gzip, zstd, and one without a line feed at its end. */
static void make_texts(struct text texts[4], grebe_vdb_text list[4], unsigned n)
{
    static const char *const names[] = { "one", "two", "three", "four" };
    struct text plain[3];
    for (unsigned i = 0; i < 3; i++) {
        plain[i] = (struct text){ BUF_INIT(mem_system()), 0, 0 };
        put_points(&plain[i], i * n, n, 20);
    }
    texts[0] = plain[0];
    pack(&texts[1], &plain[1], CODEC_GZIP);
    pack(&texts[2], &plain[2], CODEC_ZSTD);
    texts[3] = (struct text){ BUF_INIT(mem_system()), 0, 0 };
    put_points(&texts[3], 3 * n, n, 20);
    while (texts[3].bytes.data[texts[3].bytes.len - 1] == '\n') {
        texts[3].bytes.len--;
    }
    for (unsigned i = 0; i < 4; i++) {
        list[i] = (grebe_vdb_text){ names[i], read_text, rewind_text, &texts[i] };
    }
    buf_release(&plain[1].bytes);
    buf_release(&plain[2].bytes);
}

static void free_texts(struct text texts[4])
{
    for (int i = 0; i < 4; i++) {
        buf_release(&texts[i].bytes);
    }
}

static void test_texts__packed_or_not__one_input_read_twice(void **state)
{
    (void)state;
    enum { EACH = 40000 }; /* more than is kept */
    grebe_error err = GREBE_ERROR_INIT;
    struct vdb_work work = { .a = mem_system(), .threads = 1 };
    struct text texts[4];
    grebe_vdb_text list[4];
    struct vdb_feed f;
    struct vdb_points batch;
    make_texts(texts, list, EACH);
    vdb_points_init(&batch, mem_system());
    assert_ok(vdb_feed_texts(&f, &work, list, 4, &row_form, "all", 1000, &err));
    assert_false(f.is_kept);
    assert_int_equal(f.n, 4 * EACH);
    for (int round = 0; round < 2; round++) {
        assert_ok(vdb_feed_rewind(&f, &err));
        for (unsigned at = 0; at < 4 * EACH; at += (unsigned)batch.n) {
            assert_ok(vdb_feed_next(&f, 777, &batch, &err));
            assert_true(batch.n > 0);
            assert_point(&batch, 0, at);
        }
        assert_ok(vdb_feed_next(&f, 777, &batch, &err));
        assert_int_equal(batch.n, 0);
    }
    vdb_points_release(&batch);
    vdb_feed_release(&f);
    free_texts(texts);
}

static void test_texts__bad_ones__named(void **state)
{
    (void)state;
    grebe_error err = GREBE_ERROR_INIT;
    struct vdb_work work = { .a = mem_system(), .threads = 1 };
    struct text texts[4];
    grebe_vdb_text list[4];
    struct vdb_feed f;
    make_texts(texts, list, 10);
    assert_ok(buf_put_text(&texts[3].bytes, "\n\n{\"id\":1,\"vector\":[1]}", &err));
    assert_fails(vdb_feed_texts(&f, &work, list, 4, &row_form, "all", 1000, &err), GREBE_EINVAL, "four line 12: id 1");
    vdb_feed_release(&f);
    for (size_t len = 0; len < texts[1].bytes.len; len++) {
        struct text cut = { texts[1].bytes, 0, 0 };
        cut.bytes.len = len;
        grebe_vdb_text one = { "cut", read_text, rewind_text, &cut };
        grebe_status st = vdb_feed_texts(&f, &work, &one, 1, &row_form, "all", 1000, &err);
        assert_true(st == (len < 2 || len == 0 ? GREBE_EINVAL : GREBE_ECORRUPT) || (len < 4 && st == GREBE_EINVAL));
        assert_non_null(strstr(err.message, len == 0 ? "expected points, found none" : "cut"));
        vdb_feed_release(&f);
    }
    free_texts(texts);
}

static void test_texts__no_memory__fails_and_frees(void **state)
{
    (void)state;
    grebe_status st = GREBE_ENOMEM;
    struct text texts[4];
    grebe_vdb_text list[4];
    make_texts(texts, list, 20);
    for (size_t fail_at = 1; st != GREBE_OK; fail_at++) {
        struct test_allocator a;
        struct vdb_feed f;
        test_allocator_init(&a);
        a.fail_at = fail_at;
        struct vdb_work work = { .a = &a.a, .threads = 1 };
        for (int i = 0; i < 4; i++) {
            texts[i].at = 0;
        }
        st = vdb_feed_texts(&f, &work, list, 4, &row_form, "all", 1000, NULL);
        assert_true(st == GREBE_OK || st == GREBE_ENOMEM);
        vdb_feed_release(&f);
        assert_int_equal(a.n_live, 0);
        assert_true(fail_at < 1000);
    }
    free_texts(texts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_feed__many_lines__all_points_in_order_again_and_again),
        cmocka_unit_test(test_feed__bad_line_anywhere__the_first_is_named),
        cmocka_unit_test(test_feed__no_memory__fails_and_frees),
        cmocka_unit_test(test_texts__packed_or_not__one_input_read_twice),
        cmocka_unit_test(test_texts__bad_ones__named),
        cmocka_unit_test(test_texts__no_memory__fails_and_frees),
    };
    return cmocka_run_group_tests_name("vdb_feed", tests, NULL, NULL);
}
