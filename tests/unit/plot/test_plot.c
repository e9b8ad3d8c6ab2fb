/* SPDX-License-Identifier: Apache-2.0 */
#include "plot/plot.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/utf8.h"
#include "plot/plot_internal.h"
#include "test_support.h"

static size_t count(const char *text, const char *word)
{
    size_t n = 0;
    for (const char *p = text; (p = strstr(p, word)) != NULL; p += strlen(word)) {
        n++;
    }
    return n;
}

static const struct plot_point a_points[] = { { 0.5, 1000, "a <ef=1>", false }, { 0.9, 500, "a ef=2", false }, { 1, 20, "a ef=3", false } };
static const struct plot_point b_points[] = { { 0.6, 0, "no place on a log axis", false }, { 0.7, 2000, NULL, false }, { 0.65, 900, "beaten", true } };
static const struct plot_series series[] = { { "a & b", a_points, 3 }, { "größe", b_points, 3 } };

static struct plot_chart chart(void)
{
    return (struct plot_chart){ .title = "Title \"x\"", .subtitle = "sub", .x = { "recall", PLOT_LINEAR, 0 },
                                .y = { "rate", PLOT_LOG, 0 }, .series = series, .n = 2 };
}

static void test_chart__points_curves_legend__escaped(void **state)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct buf b = BUF_INIT(mem_system()), again = BUF_INIT(mem_system());
    struct plot_chart c = chart();
    (void)state;
    assert_ok(plot_chart_svg(&c, &b, &err));
    const char *text = buf_text(&b);
    assert_int_equal(count(text, "data-t="), 5);       /* what has no place is left out */
    assert_int_equal(count(text, "<path class=\"c c0\" d"), 2); /* curve and legend */
    assert_int_equal(count(text, "<path class=\"c c1\" d"), 1); /* one point that is not beaten: no curve */
    assert_int_equal(count(text, "class=\"m f1 b\""), 1);
    assert_non_null(strstr(text, "a &amp; b"));
    assert_non_null(strstr(text, "a &lt;ef=1&gt;"));
    assert_non_null(strstr(text, "Title &quot;x&quot;"));
    assert_null(strstr(text, "nan"));
    assert_null(strstr(text, "inf"));
    assert_non_null(strstr(text, ">1000</text>"));
    assert_ok(plot_chart_svg(&c, &again, &err));
    assert_int_equal(b.len, again.len);
    assert_memory_equal(b.data, again.data, b.len);
    buf_release(&b);
    buf_release(&again);
}

/* Names of anybody's: what a browser reads has to be XML all the same. */
static void test_chart__bytes_that_are_no_text__replaced(void **state)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct buf b = BUF_INIT(mem_system());
    struct plot_chart c = chart();
    (void)state;
    c.title = "\xff<\x01\xc3\xa4\xed\xa0\x80\xef\xbf\xbe\xe2\x82";
    assert_ok(plot_chart_svg(&c, &b, &err));
    const char *text = buf_text(&b);
    assert_non_null(strstr(text, "\xef\xbf\xbd&lt; \xc3\xa4\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"));
    assert_true(utf8_is_valid(b.data, b.len));
    buf_release(&b);
}

static void test_chart__html__nothing_from_outside(void **state)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct buf b = BUF_INIT(mem_system());
    struct plot_chart c = chart();
    (void)state;
    assert_ok(plot_chart_html(&c, &b, &err));
    const char *text = buf_text(&b);
    assert_int_equal(count(text, "http"), 1); /* the name space */
    assert_null(strstr(text, "src="));
    assert_non_null(strstr(text, "prefers-color-scheme:dark"));
    assert_int_equal(count(text, "<tr>"), 7);
    assert_int_equal(count(text, "</svg>"), 1);
    assert_non_null(strstr(text, "</html>"));
    buf_release(&b);
}

static void test_chart__nothing_to_draw__told(void **state)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct buf b = BUF_INIT(mem_system());
    static const struct plot_point none[] = { { NAN, 1, NULL, false }, { 1, -1, NULL, false } };
    static const struct plot_series empty[] = { { "x", none, 2 } };
    struct plot_chart c = chart();
    (void)state;
    c.series = empty;
    c.n = 1;
    assert_fails(plot_chart_svg(&c, &b, &err), GREBE_EINVAL, "no point");
    c.n = 0;
    assert_fails(plot_chart_svg(&c, &b, &err), GREBE_EINVAL, "no point");
    buf_release(&b);
}

/* Ticks lie inside, ascend, and each scale has at least two of them, whatever the values. */
static void test_axis__any_values__ticks(void **state)
{
    static const struct plot_axis axes[] = { { "l", PLOT_LINEAR, 0 }, { "g", PLOT_LOG, 0 }, { "t", PLOT_LOGIT, 0 },
                                             { "p", PLOT_POWER, 3 } };
    static const double values[][2] = { { 0.5, 1 }, { 0.9, 0.9 }, { 0.990, 0.9999 }, { 1, 1 }, { 1e-7, 1e9 }, { 123456, 123457 },
                                        { 0.001, 0.0012 }, { 3e5, 3e6 } };
    (void)state;
    for (size_t a = 0; a < 4; a++) {
        for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
            struct plot_range r;
            if (a >= 2 && values[i][1] > 1) {
                continue;
            }
            plot_range_set(&r, &axes[a], values[i][0], values[i][1]);
            assert_true(r.low <= plot_transform(&axes[a], values[i][0]) && r.high >= plot_transform(&axes[a], values[i][1]));
            assert_true(r.high > r.low);
            if (r.n_ticks < 1 || (a == 0 && r.n_ticks < 2)) {
                fail_msg("scale %zu, values %zu: %zu ticks", a, i, r.n_ticks);
            }
            for (size_t t = 0; t < r.n_ticks; t++) {
                assert_true(r.ticks[t].at >= r.low - 1e-9 && r.ticks[t].at <= r.high + 1e-9);
                assert_true(t == 0 || r.ticks[t].at > r.ticks[t - 1].at);
                assert_true(r.ticks[t].text[0] != '\0');
            }
        }
    }
}

static void test_axis__names(void **state)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct plot_axis a = { 0 };
    (void)state;
    assert_ok(plot_scale_parse("a3", &a, &err));
    assert_true(a.scale == PLOT_POWER && a.power == 3);
    assert_true(fabs(plot_transform(&a, 0.875) - 0.5) < 1e-12);
    assert_ok(plot_scale_parse("logit", &a, &err));
    assert_true(plot_transform(&a, 0.5) == 0 && isfinite(plot_transform(&a, 1)) && isfinite(plot_transform(&a, 0)));
    assert_fails(plot_scale_parse("a0", &a, &err), GREBE_EINVAL, "found \"a0\"");
    assert_fails(plot_scale_parse("symlog", &a, &err), GREBE_EINVAL, "linear");
    a.scale = PLOT_LOG;
    assert_true(isnan(plot_transform(&a, 0)) && isnan(plot_transform(&a, -1)) && isnan(plot_transform(&a, INFINITY)));
}

static void test_frontier__beaten_points__last(void **state)
{
    struct plot_point p[] = { { 0.9, 10, "c", false }, { 0.5, 5, "beaten", false }, { 0.5, 30, "a", false }, { 0.8, 20, "b", false },
                              { 0.8, 20, "the same again", false } };
    (void)state;
    plot_frontier(p, 5, true, true);
    assert_string_equal(p[0].label, "a");
    assert_string_equal(p[1].label, "b");
    assert_string_equal(p[2].label, "c");
    assert_true(!p[2].is_beaten && p[3].is_beaten && p[4].is_beaten);
    struct plot_point q[] = { { 1, 5, "worse", false }, { 1, 3, "better", false } }; /* less is better below */
    plot_frontier(q, 2, true, false);
    assert_string_equal(q[0].label, "better");
    assert_true(q[1].is_beaten);
}

static void test_bars__not_measured__told(void **state)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct buf b = BUF_INIT(mem_system());
    static const char *const names[] = { "flat", "a <graph>" };
    static const double seconds[] = { NAN, 2.5 };
    static const struct plot_bar_group groups[] = { { "build time, seconds", seconds, 1 } };
    struct plot_bars bars = { "t", NULL, names, 2, groups, 1 };
    (void)state;
    assert_ok(plot_bars_svg(&bars, &b, &err));
    assert_non_null(strstr(buf_text(&b), "not measured"));
    assert_non_null(strstr(buf_text(&b), ">2.5</text>"));
    assert_non_null(strstr(buf_text(&b), "a &lt;graph&gt;"));
    buf_clear(&b);
    assert_ok(plot_bars_html(&bars, &b, &err));
    bars.n = 0;
    assert_fails(plot_bars_svg(&bars, &b, &err), GREBE_EINVAL, "no bar");
    buf_release(&b);
}

static void test_chart__every_allocation_fails__told(void **state)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct test_allocator t;
    struct plot_chart c = chart();
    (void)state;
    for (size_t at = 1;; at++) {
        test_allocator_init(&t);
        t.fail_at = at;
        struct buf b = BUF_INIT(&t.a);
        grebe_status st = plot_chart_html(&c, &b, &err);
        buf_release(&b);
        assert_int_equal(t.n_live, 0);
        if (st == GREBE_OK) {
            break;
        }
        assert_int_equal(st, GREBE_ENOMEM);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chart__points_curves_legend__escaped),
        cmocka_unit_test(test_chart__bytes_that_are_no_text__replaced),
        cmocka_unit_test(test_chart__html__nothing_from_outside),
        cmocka_unit_test(test_chart__nothing_to_draw__told),
        cmocka_unit_test(test_axis__any_values__ticks),
        cmocka_unit_test(test_axis__names),
        cmocka_unit_test(test_frontier__beaten_points__last),
        cmocka_unit_test(test_bars__not_measured__told),
        cmocka_unit_test(test_chart__every_allocation_fails__told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
