/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_TESTS_PARQUET_FORMULA_H
#define GREBE_TESTS_PARQUET_FORMULA_H

/*
 * The values of tests/golden/parquet/make.py: what row i of each column holds, as text, and
 * the text of what an array holds. Comparing the two makes no use of the code under test.
 */

#include <stdio.h>

#include "arrow/arrow_array.h"
#include "arrow/arrow_schema.h"
#include "test_support.h"

enum { FORMULA_ROWS = 600 };

struct text {
    char s[2048];
    size_t len;
};

static inline void add(struct text *t, const char *fmt, ...) GREBE_PRINTF(2, 3);
static inline void add(struct text *t, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(t->s + t->len, sizeof t->s - t->len, fmt, args);
    va_end(args);
    assert_true(n >= 0 && (size_t)n < sizeof t->s - t->len);
    t->len += (size_t)n;
}

/* ---- what an array holds ---- */

static inline int64_t offset_at(const struct ArrowArray *a, bool is_large, int64_t i)
{
    return is_large ? ((const int64_t *)a->buffers[1])[i] : ((const int32_t *)a->buffers[1])[i];
}

static inline void add_bytes(struct text *t, const unsigned char *p, int64_t n, bool is_text)
{
    if (is_text) {
        add(t, "\"%.*s\"", (int)n, (const char *)p);
        return;
    }
    add(t, "x");
    for (int64_t i = 0; i < n; i++) {
        add(t, "%02x", p[i]);
    }
}

static inline void add_value(struct text *t, const struct ArrowSchema *schema,
                             const struct ArrowArray *a, int64_t i);

static inline void add_list(struct text *t, const struct ArrowSchema *schema,
                            const struct ArrowArray *a, int64_t begin, int64_t end)
{
    add(t, "[");
    for (int64_t k = begin; k < end; k++) {
        add(t, k > begin ? "," : "%s", "");
        add_value(t, schema->children[0], a->children[0], k);
    }
    add(t, "]");
}

static inline void add_value(struct text *t, const struct ArrowSchema *schema,
                             const struct ArrowArray *a, int64_t i)
{
    struct arrow_type type;
    if (arrow_type_of(schema, &type, NULL) != GREBE_OK) {
        fail_msg("type of %s", schema->name);
    }
    i += a->offset;
    if (type.kind == ARROW_NULL || (a->n_buffers > 0 && a->buffers[0] != NULL &&
                                    !bit_get(a->buffers[0], i))) {
        add(t, "null");
        return;
    }
    const unsigned char *v = a->n_buffers > 1 ? a->buffers[1] : NULL;
    bool is_large = type.kind == ARROW_LARGE_STRING || type.kind == ARROW_LARGE_BINARY ||
                    type.kind == ARROW_LARGE_LIST;
    switch (type.kind) {
    case ARROW_BOOL: add(t, "%s", bit_get(v, i) ? "true" : "false"); break;
    case ARROW_INT8: add(t, "%d", ((const int8_t *)v)[i]); break;
    case ARROW_UINT16: add(t, "%u", ((const uint16_t *)(const void *)v)[i]); break;
    case ARROW_INT32:
    case ARROW_DATE32: add(t, "%d", ((const int32_t *)(const void *)v)[i]); break;
    case ARROW_UINT32: add(t, "%u", ((const uint32_t *)(const void *)v)[i]); break;
    case ARROW_INT64:
    case ARROW_TIMESTAMP: add(t, "%lld", (long long)((const int64_t *)(const void *)v)[i]); break;
    case ARROW_UINT64:
        add(t, "%llu", (unsigned long long)((const uint64_t *)(const void *)v)[i]);
        break;
    case ARROW_FLOAT16: add(t, "h%04x", ((const uint16_t *)(const void *)v)[i]); break;
    case ARROW_FLOAT32: add(t, "%.9g", (double)((const float *)(const void *)v)[i]); break;
    case ARROW_FLOAT64: add(t, "%.17g", ((const double *)(const void *)v)[i]); break;
    case ARROW_DECIMAL128: {
        int64_t low, high;
        memcpy(&low, v + 16 * i, 8);
        memcpy(&high, v + 16 * i + 8, 8);
        assert_int_equal(high, low < 0 ? -1 : 0);
        add(t, "%lld", (long long)low);
        break;
    }
    case ARROW_FIXED_BINARY: add_bytes(t, v + (int64_t)type.byte_width * i, type.byte_width, false); break;
    case ARROW_STRING:
    case ARROW_BINARY:
    case ARROW_LARGE_STRING:
    case ARROW_LARGE_BINARY: {
        int64_t begin = offset_at(a, is_large, i);
        add_bytes(t, (const unsigned char *)a->buffers[2] + begin, offset_at(a, is_large, i + 1) - begin,
                  type.kind == ARROW_STRING || type.kind == ARROW_LARGE_STRING);
        break;
    }
    case ARROW_STRING_VIEW:
    case ARROW_BINARY_VIEW: {
        int32_t view[4];
        memcpy(view, v + 16 * i, sizeof view);
        const unsigned char *p = view[0] <= 12 ? v + 16 * i + 4
                                               : (const unsigned char *)a->buffers[2 + view[2]] + view[3];
        add_bytes(t, p, view[0], type.kind == ARROW_STRING_VIEW);
        break;
    }
    case ARROW_LIST:
    case ARROW_LARGE_LIST:
    case ARROW_MAP:
        add_list(t, schema, a, offset_at(a, is_large, i), offset_at(a, is_large, i + 1));
        break;
    case ARROW_FIXED_LIST:
        add_list(t, schema, a, i * type.list_size, (i + 1) * type.list_size);
        break;
    case ARROW_STRUCT:
        add(t, "{");
        for (int64_t k = 0; k < a->n_children; k++) {
            add(t, k > 0 ? "," : "%s", "");
            add_value(t, schema->children[k], a->children[k], i);
        }
        add(t, "}");
        break;
    default: fail_msg("kind %d of %s", (int)type.kind, schema->name);
    }
}

/* ---- what make.py put in ---- */

static inline void formula_lists(struct text *t, const char *name, int64_t i)
{
    if (strcmp(name, "li") == 0) {
        if (i % 9 == 5) {
            add(t, "null");
            return;
        }
        add(t, "[");
        for (int64_t k = 0; k < i % 4; k++) {
            add(t, (i + k) % 5 == 0 ? "%snull" : "%s%lld", k > 0 ? "," : "", (long long)(i + k));
        }
        add(t, "]");
    } else if (strcmp(name, "ls") == 0) {
        add(t, "[");
        for (int64_t k = 0; k < i % 3; k++) {
            add(t, "%s\"s%lld\"", k > 0 ? "," : "", (long long)(i * k));
        }
        add(t, "]");
    } else if (strcmp(name, "v") == 0) {
        add(t, "[");
        for (int k = 0; k < 8; k++) {
            add(t, "%s%.9g", k > 0 ? "," : "", (double)i + k * 0.125);
        }
        add(t, "]");
    } else {
        assert_string_equal(name, "vn");
        if (i % 4 == 2) {
            add(t, "null");
        } else {
            add(t, "[%lld,%lld,%lld]", (long long)i, (long long)(i - 1), (long long)(i - 2));
        }
    }
}

static inline void formula_nested(struct text *t, const char *name, int64_t i)
{
    if (strcmp(name, "st") == 0) {
        if (i % 8 == 6) {
            add(t, "null");
        } else {
            add(t, i % 3 == 1 ? "{null," : "{%lld,", (long long)i);
            add(t, "\"b%d\"}", (int)(i % 5));
        }
    } else if (strcmp(name, "ll") == 0) {
        if (i % 13 == 7) {
            add(t, "null");
            return;
        }
        add(t, "[");
        for (int64_t k = 0; k < i % 4; k++) {
            add(t, k > 0 ? "," : "%s", "");
            if ((i + k) % 6 == 1) {
                add(t, "null");
                continue;
            }
            add(t, "[");
            for (int64_t j = 0; j < k; j++) {
                add(t, "%s%lld", j > 0 ? "," : "", (long long)(i * 10 + j));
            }
            add(t, "]");
        }
        add(t, "]");
    } else if (strcmp(name, "m") == 0) {
        add(t, "[");
        for (int64_t k = 0; k < i % 3; k++) {
            add(t, "%s{\"k%d\",", k > 0 ? "," : "", (int)k);
            add(t, (i + k) % 4 == 3 ? "null}" : "%lld}", (long long)(i - k));
        }
        add(t, "]");
    } else {
        assert_string_equal(name, "ls2");
        add(t, "[");
        for (int64_t k = 0; k < i % 4; k++) {
            add(t, "%s{%lld,", k > 0 ? "," : "", (long long)(i + k));
            add(t, k == 1 ? "null" : "%s", "[");
            for (int64_t j = 0; k != 1 && j < i % 3; j++) {
                add(t, "%s%d", j > 0 ? "," : "", (int)k);
            }
            add(t, k == 1 ? "%s}" : "%s}", k == 1 ? "" : "]");
        }
        add(t, "]");
    }
}

static inline void formula_bytes(struct text *t, const char *name, int64_t i)
{
    if (strcmp(name, "s") == 0) {
        add(t, i % 6 == 2 ? "null" : "\"row-%d\"", (int)(i % 50));
    } else if (strcmp(name, "t") == 0) {
        add(t, "\"%.*s%lld\"", (int)(i % 40), "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
            (long long)i);
    } else if (strcmp(name, "bin") == 0) {
        add(t, "x");
        for (int64_t k = 0; k < i % 9; k++) {
            add(t, "%02x", (unsigned)(i * k % 256));
        }
    } else {
        assert_string_equal(name, "fsb");
        if (i % 10 == 9) {
            add(t, "null");
            return;
        }
        add(t, "x");
        for (int64_t k = 0; k < 5; k++) {
            add(t, "%02x", (unsigned)((i + k) % 256));
        }
    }
}

static inline unsigned half_of(double v)
{
    if (v == 0) {
        return 0;
    }
    int e = 15;
    while (v >= 2) {
        v /= 2;
        e++;
    }
    while (v < 1) {
        v *= 2;
        e--;
    }
    return (unsigned)e << 10 | (unsigned)((v - 1) * 1024);
}

static inline void formula_value(struct text *t, const char *name, int64_t i)
{
    long long n = (long long)i;
    if (strcmp(name, "id") == 0) {
        add(t, "%lld", n * 3 - 500);
    } else if (strcmp(name, "i8") == 0) {
        add(t, n % 7 == 3 ? "null" : "%lld", n % 200 - 100);
    } else if (strcmp(name, "u16") == 0) {
        add(t, "%lld", n * 61 % 65536);
    } else if (strcmp(name, "u32") == 0) {
        add(t, "%lld", 4294967295LL - n);
    } else if (strcmp(name, "u64") == 0) {
        add(t, "%llu", 18446744073709551615ULL - (unsigned long long)(n * n));
    } else if (strcmp(name, "i32") == 0) {
        add(t, n % 5 == 0 ? "null" : "%lld", n % 13 * 1000);
    } else if (strcmp(name, "f32") == 0) {
        add(t, "%.9g", (double)n * 0.5);
    } else if (strcmp(name, "f64") == 0) {
        add(t, n % 11 == 4 ? "null" : "%.17g", (double)n * 0.25 - 7);
    } else if (strcmp(name, "b") == 0) {
        add(t, "%s", n % 4 == 1 ? "null" : n % 3 == 0 ? "true" : "false");
    } else if (strcmp(name, "d32") == 0) {
        add(t, "%lld", n - 200);
    } else if (strcmp(name, "ts") == 0) {
        add(t, "%lld", n * 1000003);
    } else if (strcmp(name, "none") == 0) {
        add(t, "null");
    } else if (strcmp(name, "dec") == 0) {
        add(t, n % 8 == 5 ? "null" : "%lld", n * 101 - 5000);
    } else if (strcmp(name, "f16") == 0) {
        add(t, "h%04x", half_of((double)(n % 100) * 0.5));
    } else if (name[0] == 'v' || strcmp(name, "li") == 0 || strcmp(name, "ls") == 0) {
        formula_lists(t, name, i);
    } else if (strcmp(name, "st") == 0 || strcmp(name, "ll") == 0 || strcmp(name, "m") == 0 ||
               strcmp(name, "ls2") == 0) {
        formula_nested(t, name, i);
    } else {
        formula_bytes(t, name, i);
    }
}

/** Row k of column c of the array holds what the formulas say of row i. */
static inline void assert_row(const struct ArrowSchema *schema, const struct ArrowArray *rows,
                              int64_t c, int64_t k, int64_t i)
{
    struct text found = { .len = 0 };
    struct text expected = { .len = 0 };
    add_value(&found, schema->children[c], rows->children[c], k);
    formula_value(&expected, schema->children[c]->name, i);
    if (strcmp(found.s, expected.s) != 0) {
        fail_msg("column %s, row %lld: expected %s, found %s", schema->children[c]->name,
                 (long long)i, expected.s, found.s);
    }
}

#endif
