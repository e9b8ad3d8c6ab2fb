/* SPDX-License-Identifier: Apache-2.0 */
#include "vector/topk.h"

#include <math.h>
#include <stdlib.h>

#include "test_support.h"

/* Random streams with many equal distances, in random order, against a full sort. */

static int compare(const void *a, const void *b)
{
    const struct topk_item *x = a, *y = b;
    const bool nan_x = isnan(x->distance), nan_y = isnan(y->distance);

    if (nan_x != nan_y) {
        return nan_x ? 1 : -1;
    }
    if (!nan_x && x->distance != y->distance) {
        return x->distance < y->distance ? -1 : 1;
    }
    return x->id < y->id ? -1 : x->id > y->id;
}

static float draw(uint64_t *seed, int kind)
{
    const uint64_t r = test_random(seed);

    if (kind == 1 && r % 3 == 0) {
        return r % 2 ? NAN : INFINITY;
    }
    if (kind == 2) {
        return (float)(r % 5) - 2; /* -2 … 2 with zeros of both signs */
    }
    return r % 97 == 0 ? -0.0f : (float)(int32_t)(uint32_t)r * 0x1p-20f;
}

static void check(size_t n, size_t k, size_t capacity, int kind, uint64_t *seed)
{
    struct topk_item *all = calloc(n + 1, sizeof *all), *room = calloc(capacity + 1, sizeof *room);
    float *stream = calloc(n + 1, sizeof *stream);
    struct topk t;
    size_t found;

    for (size_t i = 0; i < n; i++) {
        stream[i] = draw(seed, kind);
        all[i] = (struct topk_item){stream[i], (uint32_t)i};
    }
    qsort(all, n, sizeof *all, compare);
    for (int way = 0; way < 3; way++) {
        topk_init(&t, k, room, capacity);
        if (way == 0) {
            topk_push_many(&t, stream, n, 0);
        } else {
            for (size_t i = 0; i < n; i++) {
                const size_t at = way == 1 ? n - 1 - i : i;

                topk_push(&t, stream[at], (uint32_t)at);
            }
        }
        found = topk_finish(&t);
        assert_int_equal(found, n < k ? n : k);
        for (size_t i = 0; i < found; i++) {
            if (room[i].id != all[i].id) {
                fail_msg("n %zu k %zu capacity %zu kind %d way %d: place %zu: expected %u (%g), found %u (%g)", n, k,
                         capacity, kind, way, i, all[i].id, (double)all[i].distance, room[i].id,
                         (double)room[i].distance);
            }
            assert_true(isnan(all[i].distance) ? isnan(room[i].distance) : room[i].distance == all[i].distance);
        }
    }
    free(all);
    free(room);
    free(stream);
}

static void test_topk__any_order__same_as_sorting(void **state)
{
    uint64_t seed = test_seed();
    const size_t ks[] = {0, 1, 2, 10, 33, 100, 700};

    (void)state;
    for (size_t i = 0; i < sizeof ks / sizeof *ks; i++) {
        for (int kind = 0; kind < 3; kind++) {
            for (size_t n = 0; n < 2000; n += 1 + n / 3) {
                check(n, ks[i], topk_capacity(ks[i]), kind, &seed);
                check(n, ks[i], ks[i], kind, &seed);
                check(n, ks[i], ks[i] + 1, kind, &seed);
            }
        }
    }
}

static void test_topk__limit__equal_distances_enter(void **state)
{
    struct topk_item room[4];
    struct topk t;

    (void)state;
    topk_init(&t, 2, room, 4);
    assert_true(t.limit == INFINITY);
    for (uint32_t id = 9; id > 0; id--) {
        topk_push(&t, 1.0f, id);
    }
    assert_true(t.limit == 1.0f);
    assert_int_equal(topk_finish(&t), 2);
    assert_int_equal(room[0].id, 1);
    assert_int_equal(room[1].id, 2);
}

static void test_topk__sorted_streams__many(void **state)
{
    enum { N = 50000, K = 5000 };
    struct topk_item *room = calloc(topk_capacity(K), sizeof *room);
    struct topk t;

    (void)state;
    for (int is_up = 0; is_up < 2; is_up++) {
        topk_init(&t, K, room, topk_capacity(K));
        for (uint32_t i = 0; i < N; i++) {
            topk_push(&t, (float)(is_up ? i : N - 1 - i), i);
        }
        assert_int_equal(topk_finish(&t), K);
        for (uint32_t i = 0; i < K; i++) {
            assert_int_equal(room[i].id, is_up ? i : N - 1 - i);
        }
    }
    free(room);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_topk__any_order__same_as_sorting),
        cmocka_unit_test(test_topk__limit__equal_distances_enter),
        cmocka_unit_test(test_topk__sorted_streams__many),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
