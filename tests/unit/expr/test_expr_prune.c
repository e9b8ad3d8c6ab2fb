/* SPDX-License-Identifier: Apache-2.0 */
#include "test_support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "expr/expr.h"

/*
 * Random chunks, their bounds as files have them (exact, cut, or missing), random conditions: the
 * answer of pruning against what evaluation finds.
 */
enum { N_COLUMNS = 7, ROWS_MAX = 6 };

static const char *const types[N_COLUMNS] = { "int32", "uint64",        "double",        "float",
                                              "string", "timestamp[ms]", "bool" };
static const char *const names[N_COLUMNS] = { "a", "u", "d", "f", "s", "t", "b" };

static const char *const texts[] = { "", "a", "ab", "abc", "abd", "b", "ba", "z", "\xc3\xa9", "zz" };
enum { N_TEXTS = sizeof texts / sizeof texts[0] };

/* One column of a chunk: values, nulls, bounds. */
struct column {
    bool is_null[ROWS_MAX];
    int64_t ints[ROWS_MAX];
    double doubles[ROWS_MAX];
    const char *strings[ROWS_MAX];
    struct column_bounds bounds;
    unsigned char min[16], max[16];
};

struct chunk {
    int64_t n;
    struct column columns[N_COLUMNS];
    struct ArrowArray arrays[N_COLUMNS];
    const struct ArrowArray *list[N_COLUMNS];
};

static uint64_t pick(uint64_t *seed, uint64_t n) { return test_random(seed) % n; }

static const double double_values[] = { -1e300, -2.5, -1, -0.0, 0.0, 0.1, 1, 2.5, 1e300 };

static void fill(struct column *c, int kind, int64_t n, uint64_t *seed)
{
    /* Narrow chunks are where pruning has something to say. */
    uint64_t base = pick(seed, 8);
    uint64_t spread = 1 + pick(seed, 4);
    uint64_t null_share = pick(seed, 3) == 0 ? 1 + pick(seed, 3) : 0;
    uint64_t nan_share = pick(seed, 3) == 0 ? 1 : 0;
    for (int64_t i = 0; i < n; i++) {
        uint64_t k = base + pick(seed, spread);
        c->is_null[i] = null_share > 0 && pick(seed, 3) < null_share;
        c->ints[i] = (int64_t)k - (kind == 1 ? 0 : 4);
        c->doubles[i] = double_values[k % 9];
        if (nan_share && pick(seed, 3) == 0) {
            c->doubles[i] = (double)NAN;
        }
        c->strings[i] = texts[k % N_TEXTS];
    }
}

static void build(struct chunk *ch, int kind)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct column *c = &ch->columns[kind];
    struct ArrowArray *out = &ch->arrays[kind];
    void *p = NULL;
    void *bits = NULL;
    assert_ok(array_new(mem_system(), ch->n, kind == 4 ? 3 : 2, 0, out, &err));
    assert_ok(array_alloc_buffer(mem_system(), out, 0, 8, &bits, &err));
    memset(bits, 0, 8);
    assert_ok(array_alloc_buffer(mem_system(), out, 1, 8 * (ROWS_MAX + 1), &p, &err));
    memset(p, 0, 8 * (ROWS_MAX + 1));
    out->null_count = 0;
    char *data = NULL;
    if (kind == 4) {
        void *d = NULL;
        assert_ok(array_alloc_buffer(mem_system(), out, 2, 64, &d, &err));
        data = d;
    }
    int32_t end = 0;
    for (int64_t i = 0; i < ch->n; i++) {
        if (c->is_null[i]) {
            out->null_count++;
        } else {
            bit_set(bits, i);
        }
        switch (kind) {
        case 0: ((int32_t *)p)[i] = (int32_t)c->ints[i]; break;
        case 2: ((double *)p)[i] = c->doubles[i]; break;
        case 3: ((float *)p)[i] = (float)c->doubles[i]; break;
        case 4:
            memcpy(data + end, c->strings[i], strlen(c->strings[i]));
            end += (int32_t)strlen(c->strings[i]);
            ((int32_t *)p)[i + 1] = end;
            break;
        case 6:
            if (c->ints[i] > 0) {
                bit_set(p, i);
            }
            break;
        default: ((int64_t *)p)[i] = c->ints[i]; break;
        }
    }
    ch->list[kind] = out;
}

/* Order of rows i and k of the column; NaN is left out by the caller. */
static int order(const struct column *c, int kind, int64_t i, int64_t k)
{
    if (kind == 4) {
        return strcmp(c->strings[i], c->strings[k]);
    }
    if (kind == 2 || kind == 3) {
        return c->doubles[i] < c->doubles[k] ? -1 : c->doubles[i] > c->doubles[k];
    }
    if (kind == 6) {
        return (c->ints[i] > 0) - (c->ints[k] > 0);
    }
    return c->ints[i] < c->ints[k] ? -1 : c->ints[i] > c->ints[k];
}

static size_t store(const struct column *c, int kind, int64_t i, unsigned char *dst, uint64_t *seed)
{
    int32_t narrow = (int32_t)c->ints[i];
    double d = c->doubles[i];
    if (d == 0 && pick(seed, 2)) {
        d = -d; /* writers may store either zero */
    }
    float f = (float)d;
    switch (kind) {
    case 0: memcpy(dst, &narrow, 4); return 4;
    case 2: memcpy(dst, &d, 8); return 8;
    case 3: memcpy(dst, &f, 4); return 4;
    case 4: memcpy(dst, c->strings[i], strlen(c->strings[i])); return strlen(c->strings[i]);
    case 6: dst[0] = c->ints[i] > 0; return 1;
    default: memcpy(dst, &c->ints[i], 8); return 8;
    }
}

static void make_bounds(struct column *c, int kind, int64_t n, uint64_t *seed)
{
    struct column_bounds *b = &c->bounds;
    memset(b, 0, sizeof *b);
    int64_t low = -1;
    int64_t high = -1;
    int64_t n_null = 0;
    int64_t n_nan = 0;
    for (int64_t i = 0; i < n; i++) {
        bool is_nan = (kind == 2 || kind == 3) && isnan(c->doubles[i]);
        n_null += c->is_null[i];
        n_nan += is_nan && !c->is_null[i];
        if (c->is_null[i] || is_nan) {
            continue;
        }
        low = low < 0 || order(c, kind, i, low) < 0 ? i : low;
        high = high < 0 || order(c, kind, i, high) > 0 ? i : high;
    }
    b->n_values = n;
    b->has_null_count = pick(seed, 4) > 0;
    b->null_count = n_null;
    b->has_nan_count = pick(seed, 2);
    b->nan_count = n_nan;
    if (low >= 0 && pick(seed, 4) > 0) {
        b->has_min = b->is_min_exact = true;
        b->min_len = store(c, kind, low, c->min, seed);
        if (kind == 4 && b->min_len > 1 && pick(seed, 2)) {
            b->min_len = 1; /* cut: still below */
            b->is_min_exact = false;
        }
    }
    if (high >= 0 && pick(seed, 4) > 0) {
        b->has_max = b->is_max_exact = true;
        b->max_len = store(c, kind, high, c->max, seed);
        if (kind == 4 && b->max_len > 1 && c->max[0] < 0x7f && pick(seed, 2)) {
            b->max_len = 1; /* cut and raised */
            c->max[0]++;
            b->is_max_exact = false;
        }
    }
    b->min = c->min;
    b->max = c->max;
}

static grebe_status bounds_at(void *arg, size_t i, struct column_bounds *out, grebe_error *err)
{
    struct column_bounds **list = arg;
    (void)err;
    *out = *list[i];
    return GREBE_OK;
}

/* A chunk that also tells truly whether it holds a value, as a filter without mistakes would. */
struct asked {
    struct column_bounds **bounds;
    struct chunk *chunk;
    const int *at;
    int n_not_there;
};

static grebe_status bounds_of_asked(void *arg, size_t i, struct column_bounds *out, grebe_error *err)
{
    struct asked *a = arg;
    return bounds_at(a->bounds, i, out, err);
}

static grebe_status contains_of_asked(void *arg, size_t i, const void *value, size_t len, bool *may,
                                      grebe_error *err)
{
    struct asked *a = arg;
    int kind = a->at[i];
    const struct column *c = &a->chunk->columns[kind];
    unsigned char stored[16];
    (void)err;
    assert_true(*may);
    *may = false;
    for (int64_t k = 0; k < a->chunk->n && !*may; k++) {
        uint64_t seed = 1;
        for (int sign = 0; sign < 2 && !c->is_null[k]; sign++) { /* either zero, as formats ask */
            size_t n = store(c, kind, k, stored, &seed);
            if (kind == 2 || kind == 3) {
                assert_int_equal(len, n);
                double x = 0, y = 0;
                float f = 0, g = 0;
                memcpy(kind == 2 ? (void *)&x : (void *)&f, value, n);
                memcpy(kind == 2 ? (void *)&y : (void *)&g, stored, n);
                *may = *may || (kind == 2 ? x == y : f == g);
            } else {
                assert_true(kind == 4 || len == n);
                *may = *may || (len == n && memcmp(value, stored, n) == 0);
            }
        }
    }
    a->n_not_there += !*may;
    return GREBE_OK;
}

/* ---- conditions ---- */

static void literal(char *dst, size_t len, int kind, uint64_t *seed)
{
    static const char *const numbers[] = { "-4", "-1", "0", "0.0", "1", "2.5", "3", "0.1", "-2.5",
                                           "1e300", "7", "9.5", "18446744073709551615" };
    if (pick(seed, 20) == 0) {
        snprintf(dst, len, "null");
    } else if (kind == 4) {
        snprintf(dst, len, "'%s'", texts[pick(seed, N_TEXTS)]);
    } else if (kind == 5) {
        snprintf(dst, len, "'1970-01-01 00:00:00.00%d'", (int)pick(seed, 6));
    } else if (kind == 6) {
        snprintf(dst, len, "%s", pick(seed, 2) ? "true" : "false");
    } else {
        snprintf(dst, len, "%s", numbers[pick(seed, sizeof numbers / sizeof numbers[0])]);
    }
}

static void condition(char *dst, size_t len, int depth, uint64_t *seed)
{
    static const char *const ops[] = { "=", "<>", "<", "<=", ">", ">=" };
    char x[400];
    char y[400];
    int kind = (int)pick(seed, N_COLUMNS);
    uint64_t form = pick(seed, depth > 0 ? 14 : 9);
    literal(x, 64, kind, seed);
    literal(y, 64, kind, seed);
    switch (form) {
    case 0:
    case 1:
    case 2: snprintf(dst, len, "%s %s %.60s", names[kind], ops[pick(seed, 6)], x); break;
    case 3: snprintf(dst, len, "%.60s %s %s", x, ops[pick(seed, 6)], names[kind]); break;
    case 4:
        snprintf(dst, len, "%s %sin (%.60s, %.60s)", names[kind], pick(seed, 2) ? "not " : "", x, y);
        break;
    case 5: snprintf(dst, len, "%s is %snull", names[kind], pick(seed, 2) ? "not " : ""); break;
    case 6:
        snprintf(dst, len, "%s %sbetween %.60s and %.60s", names[kind], pick(seed, 2) ? "not " : "", x,
                 y);
        break;
    case 7:
        if (pick(seed, 2)) {
            snprintf(dst, len, "s %slike '%s%s'", pick(seed, 3) ? "" : "not ",
                     texts[pick(seed, N_TEXTS)], pick(seed, 4) ? "%" : "");
        } else {
            snprintf(dst, len, "starts_with(s, '%s')", texts[pick(seed, N_TEXTS)]);
        }
        break;
    case 8: snprintf(dst, len, "%s", pick(seed, 2) ? "b" : "is_nan(d)"); break;
    case 9:
    case 10:
    case 11:
        condition(x, sizeof x, depth - 1, seed);
        condition(y, sizeof y, depth - 1, seed);
        snprintf(dst, len, "(%.150s) %s (%.150s)", x, form == 9 ? "or" : "and", y);
        break;
    case 12:
        condition(x, sizeof x, depth - 1, seed);
        snprintf(dst, len, "not (%.180s)", x);
        break;
    default:
        condition(x, sizeof x, depth - 1, seed);
        snprintf(dst, len, "(%.180s) is %s%s", x, pick(seed, 2) ? "not " : "",
                 pick(seed, 2) ? "true" : "false");
    }
}

static void test_prune__random_chunks__no_row_lost(void **state)
{
    (void)state;
    grebe_error err = GREBE_ERROR_INIT;
    uint64_t seed = test_seed();
    struct ArrowSchema schema;
    int n_none = 0;
    int n_all = 0;
    int n_could_none = 0;
    int n_none_values = 0;
    int n_not_there = 0;
    assert_ok(schema_new(mem_system(), "+s", "", false, N_COLUMNS, &schema, &err));
    for (int i = 0; i < N_COLUMNS; i++) {
        assert_ok(type_parse(mem_system(), types[i], names[i], true, schema.children[i], &err));
    }
    for (int round = 0; round < 30000; round++) {
        struct chunk ch;
        struct expr *e = NULL;
        char text[512];
        memset(&ch, 0, sizeof ch);
        ch.n = 1 + (int64_t)pick(&seed, ROWS_MAX);
        for (int i = 0; i < N_COLUMNS; i++) {
            fill(&ch.columns[i], i, ch.n, &seed);
            build(&ch, i);
            make_bounds(&ch.columns[i], i, ch.n, &seed);
        }
        condition(text, sizeof text, 2, &seed);
        grebe_status st = expr_parse(mem_system(), text, &e, &err);
        if (st != GREBE_OK) { /* a text cut in two by its length */
            assert_int_equal(st, GREBE_EINVAL);
        } else {
            size_t n = 0;
            uint8_t keep[1];
            int64_t n_true = 0;
            const struct ArrowArray *columns[N_COLUMNS];
            struct column_bounds *bounds[N_COLUMNS];
            enum expr_answer answer = EXPR_SOME;
            assert_ok(expr_bind(e, &schema, &err));
            const int *at = expr_columns(e, &n);
            for (size_t i = 0; i < n; i++) {
                columns[i] = ch.list[at[i]];
                bounds[i] = &ch.columns[at[i]].bounds;
            }
            assert_ok(expr_eval(e, columns, ch.n, keep, &n_true, &err));
            assert_ok(expr_prune(e, bounds_at, bounds, &answer, &err));
            if ((answer == EXPR_NONE && n_true != 0) || (answer == EXPR_ALL && n_true != ch.n)) {
                fail_msg("%s: %s, but %d of %d rows", text, answer == EXPR_NONE ? "none" : "all",
                         (int)n_true, (int)ch.n);
            }
            n_none += answer == EXPR_NONE;
            n_all += answer == EXPR_ALL;
            struct asked asked = { bounds, &ch, at, 0 };
            assert_ok(expr_prune_values(e, bounds_of_asked, contains_of_asked, &asked, &answer, &err));
            if ((answer == EXPR_NONE && n_true != 0) || (answer == EXPR_ALL && n_true != ch.n)) {
                fail_msg("%s: %s by values, but %d of %d rows", text,
                         answer == EXPR_NONE ? "none" : "all", (int)n_true, (int)ch.n);
            }
            n_none_values += answer == EXPR_NONE;
            n_not_there += asked.n_not_there;
            n_could_none += n_true == 0;
        }
        expr_free(e);
        for (int i = 0; i < N_COLUMNS; i++) {
            array_release(&ch.arrays[i]);
        }
    }
    schema_release(&schema);
    print_message("none %d (of %d without rows), all %d\n", n_none, n_could_none, n_all);
    assert_true(n_none > n_could_none / 3 && n_all > 1000);
    assert_true(n_none_values > n_none + 100 && n_not_there > 1000);
}

static void test_prune__no_bounds__unknown(void **state)
{
    (void)state;
    grebe_error err = GREBE_ERROR_INIT;
    struct ArrowSchema schema;
    struct column_bounds none;
    struct column_bounds *list[1] = { &none };
    static const char *const conditions[] = { "a = 1", "a is null", "a is not null", "a <> 1",
                                              "not a < 5", "a in (1, 2)", "a between 1 and 2" };
    memset(&none, 0, sizeof none);
    assert_ok(schema_new(mem_system(), "+s", "", false, 1, &schema, &err));
    assert_ok(type_parse(mem_system(), "int32", "a", true, schema.children[0], &err));
    for (size_t i = 0; i < sizeof conditions / sizeof conditions[0]; i++) {
        struct expr *e = NULL;
        enum expr_answer answer = EXPR_NONE;
        assert_ok(expr_parse(mem_system(), conditions[i], &e, &err));
        assert_ok(expr_bind(e, &schema, &err));
        assert_ok(expr_prune(e, bounds_at, list, &answer, &err));
        assert_int_equal(answer, EXPR_SOME);
        expr_free(e);
    }
    schema_release(&schema);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_prune__random_chunks__no_row_lost),
        cmocka_unit_test(test_prune__no_bounds__unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
