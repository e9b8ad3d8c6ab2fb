/* SPDX-License-Identifier: Apache-2.0 */
#include "parquet/parquet_write_internal.h"

#include <math.h>
#include <stdlib.h>

#include "base/endian.h"
#include "base/utf8.h"
#include "test_support.h"

/* Statistics against brute force, on chunks that are filled by hand. */

static void chunk_of(struct pw_chunk *c, struct pw_leaf *leaf, enum pw_store store,
                     enum pw_order order, uint32_t width)
{
    static struct pw_node node = {.shape = PW_VALUE, .name = "x"};

    memset(leaf, 0, sizeof *leaf);
    leaf->n_nodes = 1;
    leaf->nodes = &node;
    leaf->store = store;
    leaf->order = order;
    leaf->width = width;
    pw_chunk_init(c, mem_system(), leaf);
}

static void add_string(struct pw_chunk *c, const void *s, size_t len)
{
    grebe_error err = GREBE_ERROR_INIT;
    int64_t end = 0;

    assert_ok(buf_put(&c->values, s, len, &err));
    end = (int64_t)c->values.len;
    assert_ok(buf_put(&c->ends, &end, sizeof end, &err));
    c->n_values++;
}

static int compare(const unsigned char *x, size_t x_len, const unsigned char *y, size_t y_len)
{
    const size_t n = x_len < y_len ? x_len : y_len;
    const int order = n > 0 ? memcmp(x, y, n) : 0;

    return order != 0 ? order : (x_len > y_len) - (x_len < y_len);
}

static size_t random_text(unsigned char *dst, uint64_t *seed)
{
    static const char *const parts[] = {"a", "\x7f", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80",
                                        "\xed\x9f\xbf", "\xef\xbf\xbf", "\xf0\x90\x80\x80",
                                        "\xf4\x8f\xbf\xbf", "zz"};
    const int style = (int)(test_random(seed) % 3);
    size_t n = 0;

    for (size_t k = test_random(seed) % 40; k > 0; k--) {
        const char *p = parts[style == 0 ? 8 : test_random(seed) % 10];

        memcpy(dst + n, p, strlen(p));
        n += strlen(p);
    }
    return n;
}

static void test_bounds__strings__never_exclude_a_value(void **state)
{
    uint64_t seed = test_seed();
    grebe_error err = GREBE_ERROR_INIT;
    int n_without_max = 0;

    (void)state;
    for (int round = 0; round < 3000; round++) {
        const bool is_text = round % 2 == 0;
        struct pw_chunk c;
        struct pw_leaf leaf;
        struct pw_bounds bounds;
        struct buf min = BUF_INIT(mem_system()), max = BUF_INIT(mem_system());
        bool is_min_exact, is_max_exact, has_min, has_max;
        unsigned char s[400];

        chunk_of(&c, &leaf, PW_BYTES, PW_ORDER_BYTES, 0);
        leaf.is_utf8 = is_text;
        for (size_t k = 1 + test_random(&seed) % 5; k > 0; k--) {
            size_t len = is_text ? random_text(s, &seed) : test_random(&seed) % 90;

            for (size_t i = 0; !is_text && i < len; i++) {
                s[i] = round % 3 == 0 ? 0xff : (unsigned char)(test_random(&seed) | 0xf0);
            }
            add_string(&c, s, len);
        }
        pw_bounds_of(&c, 0, c.n_values, &bounds);
        assert_ok(pw_bound_bytes(&c, &bounds, false, 64, &min, &is_min_exact, &has_min, &err));
        assert_ok(pw_bound_bytes(&c, &bounds, true, 64, &max, &is_max_exact, &has_max, &err));
        assert_true(has_min && min.len <= 64 && max.len <= 64);
        n_without_max += !has_max;
        bool is_min_met = false, is_max_met = false;
        for (int64_t i = 0; i < c.n_values; i++) {
            size_t len = 0;
            const unsigned char *v = pw_bytes_at(&c, i, &len);
            const int low = compare(min.data, min.len, v, len);

            assert_true(low <= 0);
            is_min_met |= low == 0;
            if (has_max) {
                const int high = compare(max.data, max.len, v, len);

                assert_true(high >= 0);
                is_max_met |= high == 0;
            }
        }
        assert_int_equal(is_min_exact, is_min_met);
        if (has_max) {
            assert_true(!is_max_exact || is_max_met);
        }
        if (is_text) {
            assert_true(utf8_is_valid(min.data, min.len));
            assert_true(!has_max || utf8_is_valid(max.data, max.len));
        }
        buf_release(&min);
        buf_release(&max);
        pw_chunk_release(&c);
    }
    assert_true(n_without_max > 0);
}

static void check_float(const double *v, int64_t n, bool expect, double low, double high,
                        int64_t n_nan)
{
    struct pw_chunk c;
    struct pw_leaf leaf;
    struct pw_bounds b;
    struct buf bytes = BUF_INIT(mem_system());
    bool is_exact, has;
    grebe_error err = GREBE_ERROR_INIT;

    chunk_of(&c, &leaf, PW_FIXED, PW_ORDER_F64, 8);
    assert_ok(buf_put(&c.values, v, (size_t)n * 8, &err));
    c.n_values = n;
    pw_bounds_of(&c, 0, n, &b);
    assert_int_equal(b.n_nan, n_nan);
    assert_int_equal(b.has, expect);
    if (expect) {
        assert_ok(pw_bound_bytes(&c, &b, false, 64, &bytes, &is_exact, &has, &err));
        assert_ok(pw_bound_bytes(&c, &b, true, 64, &bytes, &is_exact, &has, &err));
        assert_memory_equal(bytes.data, &low, 8);
        assert_memory_equal(bytes.data + 8, &high, 8);
    }
    buf_release(&bytes);
    pw_chunk_release(&c);
}

static void test_bounds__floats__nan_left_out_and_zeros_widened(void **state)
{
    const double nan = (double)NAN, inf = (double)INFINITY;

    (void)state;
    check_float((double[]){1, nan, -2}, 3, true, -2, 1, 1);
    check_float((double[]){nan, nan}, 2, false, 0, 0, 2);
    check_float((double[]){0.0, 3}, 2, true, -0.0, 3, 0);
    check_float((double[]){-0.0, -3}, 2, true, -3, 0.0, 0);
    check_float((double[]){-inf, inf, nan}, 3, true, -inf, inf, 1);
}

static void test_bounds__halves__every_finite_value_comes_back(void **state)
{
    grebe_error err = GREBE_ERROR_INIT;

    (void)state;
    for (uint32_t h = 0; h < 65536; h++) {
        struct pw_chunk c;
        struct pw_leaf leaf;
        struct pw_bounds b;
        struct buf bytes = BUF_INIT(mem_system());
        unsigned char v[2];
        bool is_exact, has;

        chunk_of(&c, &leaf, PW_FIXED, PW_ORDER_F16, 2);
        store_le16(v, (uint16_t)h);
        assert_ok(buf_put(&c.values, v, 2, &err));
        c.n_values = 1;
        pw_bounds_of(&c, 0, 1, &b);
        assert_int_equal(b.has, (h & 0x7fff) <= 0x7c00);
        if (b.has && (h & 0x7fff) != 0) {
            assert_ok(pw_bound_bytes(&c, &b, true, 64, &bytes, &is_exact, &has, &err));
            assert_int_equal(load_le16(bytes.data), h);
        }
        buf_release(&bytes);
        pw_chunk_release(&c);
    }
}

static void test_bounds__integers_and_decimals__as_brute_force(void **state)
{
    uint64_t seed = test_seed();
    grebe_error err = GREBE_ERROR_INIT;
    const enum pw_order orders[] = {PW_ORDER_I32, PW_ORDER_U32, PW_ORDER_I64, PW_ORDER_U64,
                                    PW_ORDER_DECIMAL};

    (void)state;
    for (int round = 0; round < 500; round++) {
        const enum pw_order order = orders[round % 5];
        const uint32_t width = order == PW_ORDER_I32 || order == PW_ORDER_U32 ? 4 : 8;
        const int64_t n = 1 + (int64_t)(test_random(&seed) % 100);
        struct pw_chunk c;
        struct pw_leaf leaf;
        struct pw_bounds b;
        __extension__ typedef __int128 wide;
        wide low = 0, high = 0;

        chunk_of(&c, &leaf, PW_FIXED, order, width);
        for (int64_t i = 0; i < n; i++) {
            uint64_t r = test_random(&seed) >> (test_random(&seed) % 64);
            unsigned char bytes[8];
            wide v = 0;

            r = round % 2 ? r : ~r;
            store_le64(bytes, r);
            switch (order) {
            case PW_ORDER_I32: v = (int32_t)r; break;
            case PW_ORDER_U32: v = (uint32_t)r; break;
            case PW_ORDER_U64: v = r; break;
            default: v = (int64_t)r; break;
            }
            for (int k = 0; order == PW_ORDER_DECIMAL && k < 8; k++) {
                bytes[k] = (unsigned char)(r >> (56 - 8 * k));
            }
            assert_ok(buf_put(&c.values, bytes, width, &err));
            low = i == 0 || v < low ? v : low;
            high = i == 0 || v > high ? v : high;
        }
        c.n_values = n;
        pw_bounds_of(&c, 0, n, &b);
        assert_true(b.has);
        if (order == PW_ORDER_I32 || order == PW_ORDER_I64) {
            assert_true(b.min.i == low && b.max.i == high);
        } else if (order != PW_ORDER_DECIMAL) {
            assert_true(b.min.u == low && b.max.u == high);
        } else {
            int64_t found[2] = {b.min_at, b.max_at};

            for (int k = 0; k < 2; k++) {
                const unsigned char *p = c.values.data + 8 * found[k];
                uint64_t u = 0;

                for (int i = 0; i < 8; i++) {
                    u = u << 8 | p[i];
                }
                assert_true((int64_t)u == (k == 0 ? low : high));
            }
        }
        pw_chunk_release(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bounds__strings__never_exclude_a_value),
        cmocka_unit_test(test_bounds__floats__nan_left_out_and_zeros_widened),
        cmocka_unit_test(test_bounds__halves__every_finite_value_comes_back),
        cmocka_unit_test(test_bounds__integers_and_decimals__as_brute_force),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
