/* SPDX-License-Identifier: Apache-2.0 */
#include "test_support.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/ascii.h"
#include "base/buf.h"
#include "base/buffer_pool.h"
#include "base/cache.h"
#include "base/checked.h"
#include "base/endian.h"
#include "base/hash.h"
#include "base/pool.h"
#include "base/region.h"
#include "base/utf8.h"

static void test_error__wrapped_and_cut__one_valid_line(void **state)
{
    (void)state;
    grebe_error err = GREBE_ERROR_INIT;
    char longer[700];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    assert_int_equal(GREBE_FAIL(&err, GREBE_ECORRUPT, "a\nb %s", longer), GREBE_ECORRUPT);
    assert_true(err.flags & GREBE_ERROR_TRUNCATED);
    assert_memory_equal(err.message, "a b xxx", 7);
    error_wrap(&err, GREBE_ECORRUPT, "file-%d", 7);
    assert_memory_equal(err.message, "file-7: a b xxx", 15);
    assert_int_equal(strlen(err.message), sizeof err.message - 1);
    assert_int_equal(error_wrap(NULL, GREBE_EIO, "x"), GREBE_EIO);
    grebe_error other = GREBE_ERROR_INIT;
    assert_int_equal(error_copy(&other, GREBE_ECORRUPT, &err), GREBE_ECORRUPT);
    assert_string_equal(other.message, err.message);
    assert_int_equal(error_copy(NULL, GREBE_EIO, &err), GREBE_EIO);

    char quoted[24];
    assert_string_equal(error_quote(quoted, sizeof quoted, "a\0\xff", 3), "a\\x00\\xff");
    assert_string_equal(error_quote(quoted, sizeof quoted, longer, 600), "xxxxxxxxxxxxxxxxxxxx...");
    assert_string_equal(grebe_status_name(GREBE_ECONFLICT), "conflict");
}

static void test_utf8__well_formed_and_not(void **state)
{
    (void)state;
    assert_true(utf8_is_valid("h\xc3\xa9llo \xf0\x9f\x90\xa6 and more text", 23));
    static const char *const bad[] = { "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82", "\xff" };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(utf8_valid_prefix(bad[i], strlen(bad[i])), 0);
    }
}

/* As in the C locale, whatever the program runs in: a Turkish one has no "i" for "I". */
static void test_ascii__every_pair_of_bytes__letters_alone_have_a_case(void **state)
{
    (void)state;
    for (int x = 1; x < 256; x++) {
        for (int y = 1; y < 256; y++) {
            const char a[] = { 'p', (char)x, '\0' }, b[] = { 'P', (char)y, '\0' };
            bool is_pair = (x ^ y) == 0x20 && (x | 0x20) >= 'a' && (x | 0x20) <= 'z';
            assert_int_equal(ascii_equal(a, b), x == y || is_pair);
            assert_int_equal(ascii_equal_n(a, b, 2), x == y || is_pair);
        }
    }
    assert_false(ascii_equal("plain", "PLAI") || ascii_equal("", "P") || !ascii_equal("", ""));
    assert_true(ascii_equal_n("csv.gz", "CSV", 3) && ascii_equal_n("a", "b", 0));
}

static void test_buf__every_allocation_fails_once__no_leak(void **state)
{
    (void)state;
    struct test_allocator t;
    for (size_t n = 1;; n++) {
        test_allocator_init(&t);
        t.fail_at = n;
        grebe_error err = GREBE_ERROR_INIT;
        struct buf b = BUF_INIT(&t.a);
        grebe_status st = GREBE_OK;
        for (int i = 0; st == GREBE_OK && i < 100; i++) {
            st = buf_printf(&b, &err, "%d,", i);
        }
        bool is_done = st == GREBE_OK;
        if (is_done) {
            assert_int_equal(b.len, 290);
            assert_memory_equal(buf_text(&b), "0,1,2,", 6);
        } else {
            assert_int_equal(st, GREBE_ENOMEM);
        }
        buf_release(&b);
        assert_int_equal(t.n_live, 0);
        if (is_done) {
            break;
        }
    }
}

static void test_alloc_bounded__count_from_a_file__refused_before_allocating(void **state)
{
    (void)state;
    struct test_allocator t;
    test_allocator_init(&t);
    grebe_error err = GREBE_ERROR_INIT;
    void *p = NULL;
    assert_fails(mem_alloc_bounded(&t.a, UINT64_MAX, 8, 100, "offsets", &p, &err), GREBE_ELIMIT,
                 "at most 100");
    assert_fails(mem_alloc_bounded(&t.a, UINT64_MAX / 4, 8, UINT64_MAX, "offsets", &p, &err),
                 GREBE_ELIMIT, "do not fit");
    assert_int_equal(t.n_calls, 0);
    assert_ok(mem_alloc_bounded(&t.a, 3, 8, 3, "offsets", &p, &err));
    mem_free(&t.a, p, 24);
}

static void test_arena__many_sizes__aligned_and_freed(void **state)
{
    (void)state;
    struct test_allocator t;
    test_allocator_init(&t);
    struct arena ar = ARENA_INIT(&t.a);
    for (size_t i = 0; i < 3000; i++) {
        unsigned char *p = arena_alloc(&ar, i);
        assert_non_null(p);
        assert_int_equal((uintptr_t)p % 16, 0);
        memset(p, 0xab, i);
    }
    assert_null(arena_array(&ar, SIZE_MAX / 2, 4));
    assert_string_equal(arena_str(&ar, "abcdef", 3), "abc");
    arena_release(&ar);
    assert_int_equal(t.n_live, 0);
}

struct sum {
    atomic_long total;
    size_t fail_from;
};

static grebe_status add(void *arg, size_t i, grebe_error *err)
{
    struct sum *s = arg;
    if (i >= s->fail_from) {
        return GREBE_FAIL(err, GREBE_EIO, "piece %zu", i);
    }
    atomic_fetch_add(&s->total, (long)i);
    return GREBE_OK;
}

static grebe_status nested(void *arg, size_t i, grebe_error *err)
{
    struct { struct pool *p; struct sum *s; } *n = arg;
    (void)i;
    return parallel_for(n->p, 4, 50, add, n->s, NULL, err);
}

static void test_parallel_for__many_pieces__each_once(void **state)
{
    (void)state;
    grebe_error err = GREBE_ERROR_INIT;
    struct pool *p = NULL;
    assert_ok(pool_new(mem_system(), &p, &err));
    for (int round = 0; round < 50; round++) {
        struct sum s = { 0, SIZE_MAX };
        assert_ok(parallel_for(p, 1 + (uint32_t)round % 5, 1000, add, &s, NULL, &err));
        assert_int_equal(s.total, 499500);
    }
    struct sum s = { 0, SIZE_MAX };
    struct { struct pool *p; struct sum *s; } n = { p, &s };
    assert_ok(parallel_for(p, 4, 20, nested, &n, NULL, &err));
    assert_int_equal(s.total, 20 * 1225);
    struct sum f = { 0, 10 };
    assert_fails(parallel_for(p, 4, 1000, add, &f, NULL, &err), GREBE_EIO, "piece 1");

    pool_free(p);
}

static void test_parallel_for__in_a_forked_child__starts_its_own_workers(void **state)
{
    (void)state;
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
    skip(); /* a sanitizer's own locks may be held by a worker at the time of fork(): the child would wait for ever */
#endif
    grebe_error err = GREBE_ERROR_INIT;
    struct pool *p = NULL;
    struct sum s = { 0, SIZE_MAX };
    assert_ok(pool_new(mem_system(), &p, &err));
    assert_ok(parallel_for(p, 4, 1000, add, &s, NULL, &err));
    pid_t child = fork();
    if (child == 0) {
        struct sum c = { 0, SIZE_MAX };
        grebe_status st = parallel_for(p, 4, 1000, add, &c, NULL, &err);
        pool_free(p);
        _exit(st == GREBE_OK && c.total == 499500 ? 0 : 1);
    }
    int status = 1;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
    pool_free(p);
}

static void test_parallel_for__cancelled__stops(void **state)
{
    (void)state;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_context *ctx = NULL;
    grebe_cancel *cancel = NULL;
    assert_ok(context_new(NULL, &ctx, &err));
    assert_ok(grebe_cancel_new(ctx, &cancel, &err));
    grebe_cancel_set(cancel);
    struct sum s = { 0, SIZE_MAX };
    assert_fails(parallel_for(ctx->pool, 2, 1000, add, &s, cancel, &err), GREBE_ECANCELLED,
                 "cancelled");
    assert_int_equal(s.total, 0);
    grebe_cancel_free(cancel);
    context_free(ctx);
}

static grebe_status slow_task(void *arg, grebe_error *err)
{
    (void)err;
    usleep(1000);
    atomic_fetch_add((atomic_int *)arg, 1);
    return GREBE_OK;
}

static void test_task__waited_and_abandoned__ran_or_not(void **state)
{
    (void)state;
    grebe_error err = GREBE_ERROR_INIT;
    struct pool *p = NULL;
    atomic_int n;
    struct task tasks[20];
    atomic_init(&n, 0);
    assert_ok(pool_new(mem_system(), &p, &err));
    for (int i = 0; i < 20; i++) {
        task_start(p, 3, &tasks[i], slow_task, &n);
    }
    for (int i = 0; i < 10; i++) {
        assert_ok(task_wait(&tasks[i], &err));
    }
    for (int i = 10; i < 20; i++) {
        task_abandon(&tasks[i]);
    }
    assert_true(n >= 10 && n <= 20);
    pool_free(p);
}

/* ---- waiting and helping ---- */

/* Returns when so many have come, or after ten seconds: then nobody else was there to come. */
struct meeting {
    struct pool *p;
    atomic_int n, n_wanted;
};

static grebe_status meet(struct meeting *m, grebe_error *err)
{
    atomic_fetch_add(&m->n, 1);
    for (int i = 0; atomic_load(&m->n) < atomic_load(&m->n_wanted); i++) {
        if (i == 10000) {
            return GREBE_FAIL(err, GREBE_EIO, "alone");
        }
        usleep(1000);
    }
    return GREBE_OK;
}

static grebe_status meet_task(void *arg, grebe_error *err) { return meet(arg, err); }

static grebe_status meet_piece(void *arg, size_t i, grebe_error *err)
{
    (void)i;
    return meet(arg, err);
}

static grebe_status meet_in_a_loop(void *arg, grebe_error *err)
{
    struct meeting *m = arg;
    usleep(20000); /* the waiter sleeps by now */
    return parallel_for(m->p, 2, 2, meet_piece, m, NULL, err);
}

static void await_worker(const struct meeting *m)
{
    while (atomic_load(&m->n) == 0) {
        usleep(100);
    }
}

/* One worker is all there is: it waits for a task that was queued behind its own. */
static void test_task_wait_helping__queued_before__run_by_the_waiter(void **state)
{
    (void)state;
    grebe_error err = GREBE_ERROR_INIT;
    struct meeting m = { NULL, 0, 3 };
    struct task tasks[3];
    assert_ok(pool_new(mem_system(), &m.p, &err));
    task_start(m.p, 2, &tasks[0], slow_task, &m.n); /* the worker is started */
    assert_ok(task_wait(&tasks[0], &err));
    assert_int_equal(m.n, 1);
    atomic_store(&m.n, 0);
    atomic_store(&m.n_wanted, 2);
    task_start(m.p, 2, &tasks[0], meet_task, &m);
    await_worker(&m);
    task_start(m.p, 2, &tasks[1], meet_task, &m);
    task_start(m.p, 2, &tasks[2], meet_task, &m);
    assert_ok(task_wait_helping(&tasks[0], &err));
    assert_ok(task_wait(&tasks[1], &err));
    task_abandon(&tasks[2]);
    pool_free(m.p);
}

/* The worker's own pieces are queued while its waiter sleeps already. */
static void test_task_wait_helping__queued_meanwhile__run_by_the_waiter(void **state)
{
    (void)state;
    grebe_error err = GREBE_ERROR_INIT;
    struct meeting m = { NULL, 0, 2 };
    struct task t;
    for (int round = 0; round < 3; round++) {
        assert_ok(pool_new(mem_system(), &m.p, &err));
        atomic_store(&m.n, 0);
        task_start(m.p, 2, &t, meet_in_a_loop, &m);
        usleep(5000); /* time for the worker to take it; who waits runs it else */
        assert_ok(task_wait_helping(&t, &err));
        assert_int_equal(m.n, 2);
        pool_free(m.p);
    }
}

struct value {
    struct cache_value v;
    int *n_freed;
};

static void value_free(struct cache_value *v)
{
    struct value *x = (struct value *)v;
    (*x->n_freed)++;
    free(x);
}

static void test_cache__over_budget__oldest_go_first(void **state)
{
    (void)state;
    grebe_error err = GREBE_ERROR_INIT;
    struct cache *c = NULL;
    int n_freed = 0;
    assert_ok(cache_new(mem_system(), 100, 1000, &c, &err));
    for (int i = 0; i < 20; i++) {
        struct value *x = malloc(sizeof *x);
        cache_value_init(&x->v, 10, value_free);
        x->n_freed = &n_freed;
        cache_put(c, &i, sizeof i, &x->v);
        cache_value_drop(&x->v);
        int first = 0;
        cache_value_drop(cache_get(c, &first, sizeof first)); /* keeps 0 young */
    }
    assert_int_equal(n_freed, 10);
    int key = 0;
    struct cache_value *v = cache_get(c, &key, sizeof key);
    assert_non_null(v);
    key = 5;
    assert_null(cache_get(c, &key, sizeof key));
    cache_free(c);
    assert_int_equal(n_freed, 19); /* v is still held here */
    cache_value_drop(v);
    assert_int_equal(n_freed, 20);
}

static void test_buffer_pool__large_block__kept_and_used_again(void **state)
{
    (void)state;
    struct test_allocator t;
    test_allocator_init(&t);
    grebe_error err = GREBE_ERROR_INIT;
    struct buffer_pool *p = NULL;
    assert_ok(buffer_pool_new(&t.a, 4 << 20, &p, &err));
    const grebe_allocator *a = buffer_pool_allocator(p);
    uint64_t seed = test_seed();
    void *x = mem_alloc_aligned(a, 300000, 64);
    mem_free_aligned(a, x, 300000, 64);
    size_t n_calls = t.n_calls;
    assert_ptr_equal(mem_alloc_aligned(a, 310000, 64), x);
    assert_int_equal(t.n_calls, n_calls);
    mem_free_aligned(a, x, 310000, 64);
    for (int i = 0; i < 300; i++) {
        size_t size = (size_t)(test_random(&seed) % (8 << 20));
        unsigned char *y = mem_alloc(a, size);
        assert_non_null(y);
        memset(y, 1, size);
        size_t grown = size + (size_t)(test_random(&seed) % size + 1);
        y = mem_resize(a, y, size, grown);
        assert_non_null(y);
        memset(y, 2, grown);
        mem_free(a, y, grown);
    }
    buffer_pool_free(p);
    assert_int_equal(t.n_live, 0);
}

static void test_region__last_reference__frees(void **state)
{
    (void)state;
    struct test_allocator t;
    test_allocator_init(&t);
    grebe_error err = GREBE_ERROR_INIT;
    struct region *r = NULL;
    assert_ok(region_new(&t.a, 100, &r, &err));
    assert_int_equal((uintptr_t)r->data % 64, 0);
    region_keep(r);
    region_drop(r);
    assert_true(t.n_live > 0);
    region_drop(r);
    assert_int_equal(t.n_live, 0);
    assert_fails(region_new(&t.a, SIZE_MAX - 3, &r, &err), GREBE_ELIMIT, "does not fit");
}

static void test_context__seeded__same_uuid(void **state)
{
    (void)state;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_context_options o = GREBE_CONTEXT_OPTIONS_INIT;
    char x[37], y[37], z[37];
    o.random_seed = 7;
    for (int i = 0; i < 2; i++) {
        grebe_context *ctx = NULL;
        assert_ok(context_new(&o, &ctx, &err));
        assert_ok(context_uuid(ctx, i == 0 ? x : y, &err));
        assert_ok(context_uuid(ctx, z, &err));
        context_free(ctx);
    }
    assert_string_equal(x, y);
    assert_string_not_equal(x, z);
    assert_int_equal(x[14], '4');
    assert_true(strchr("89ab", x[19]) != NULL);
    setenv("SOURCE_DATE_EPOCH", "1700000000", 1);
    grebe_context *ctx = NULL;
    assert_ok(context_new(NULL, &ctx, &err));
    assert_int_equal(context_now_us(ctx), INT64_C(1700000000000000));
    unsetenv("SOURCE_DATE_EPOCH");
    context_free(ctx);
}

static void test_hash__known_vectors(void **state)
{
    (void)state;
    assert_int_equal(hash_bytes("", 0, 0), UINT64_C(0xef46db3751d8e999));
    assert_int_equal(hash_crc32(0, "123456789", 9), 0xcbf43926);
    unsigned char b[8];
    store_le64(b, UINT64_C(0x0123456789abcdef));
    assert_int_equal(b[0], 0xef);
    assert_int_equal(load_le64(b), UINT64_C(0x0123456789abcdef));
    size_t n = 0;
    assert_false(checked_mul_size(SIZE_MAX, 2, &n));
    assert_true(range_fits_u64(5, 5, 10));
    assert_false(range_fits_u64(5, UINT64_MAX, 10));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_error__wrapped_and_cut__one_valid_line),
        cmocka_unit_test(test_utf8__well_formed_and_not),
        cmocka_unit_test(test_ascii__every_pair_of_bytes__letters_alone_have_a_case),
        cmocka_unit_test(test_buf__every_allocation_fails_once__no_leak),
        cmocka_unit_test(test_alloc_bounded__count_from_a_file__refused_before_allocating),
        cmocka_unit_test(test_arena__many_sizes__aligned_and_freed),
        cmocka_unit_test(test_parallel_for__many_pieces__each_once),
        cmocka_unit_test(test_parallel_for__in_a_forked_child__starts_its_own_workers),
        cmocka_unit_test(test_parallel_for__cancelled__stops),
        cmocka_unit_test(test_task__waited_and_abandoned__ran_or_not),
        cmocka_unit_test(test_task_wait_helping__queued_before__run_by_the_waiter),
        cmocka_unit_test(test_task_wait_helping__queued_meanwhile__run_by_the_waiter),
        cmocka_unit_test(test_cache__over_budget__oldest_go_first),
        cmocka_unit_test(test_buffer_pool__large_block__kept_and_used_again),
        cmocka_unit_test(test_region__last_reference__frees),
        cmocka_unit_test(test_context__seeded__same_uuid),
        cmocka_unit_test(test_hash__known_vectors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
