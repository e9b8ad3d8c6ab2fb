/* SPDX-License-Identifier: Apache-2.0 */
/* Values of a column: the first of integer, number, truth value and text that all of them are, missing ones aside. */
#include <math.h>
#include <string.h>

#include "base/ascii.h"
#include "base/checked.h"
#include "base/number.h"
#include "builder/builder_csv.h"
#include "text/text_builder.h"
#include "text/text_type.h"

#define NOT_THIS GREBE_END

bool csv_words_have(const struct csv_words *w, const char *p, size_t len)
{
    if (len == 0) {
        return w->has_empty;
    }
    if (len > w->len_max || !w->has_first[(unsigned char)p[0]]) {
        return false;
    }
    for (size_t i = 0; i < w->n; i++) {
        if (w->lens[i] == len && memcmp(w->items[i], p, len) == 0) {
            return true;
        }
    }
    return false;
}

const char *csv_type_format(enum csv_type t)
{
    static const char *const formats[] = { "g", "l", "L", "g", "b", "u" };
    return formats[t];
}

struct values {
    const struct csv_options *o;
    const struct csv_chunk *c;
    const struct csv_column *column;
    size_t n;
    struct text_builder *b;
    grebe_error *err;
};

/* The text of a row; false: it is missing. */
static bool value_at(const struct values *v, size_t row, const char **p, size_t *len)
{
    return csv_field_at(v->c, row, v->column->at, p, len) &&
           (v->o->is_na_off || !csv_words_have(&v->column->na->words, *p, *len));
}

static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

static void trim(const char **p, size_t *len)
{
    while (*len > 0 && is_space(**p)) {
        ++*p;
        --*len;
    }
    while (*len > 0 && is_space((*p)[*len - 1])) {
        --*len;
    }
}

/* ---- integers ---- */

enum parsed { PARSED, PARSED_OVER, PARSED_NOT };

static enum parsed parse_int(const struct csv_options *o, const char *p, size_t len, bool *is_negative, uint64_t *out)
{
    uint64_t v = 0;
    bool is_over = false;
    trim(&p, &len);
    *is_negative = len > 0 && p[0] == '-';
    size_t i = len > 0 && (p[0] == '-' || p[0] == '+'), first = i;
    for (; i < len; i++) {
        unsigned digit = (unsigned)(unsigned char)p[i] - '0';
        if (digit > 9) {
            if (o->thousands != 0 && p[i] == o->thousands && i > first) {
                continue;
            }
            return PARSED_NOT;
        }
        is_over = is_over || __builtin_mul_overflow(v, 10u, &v) || __builtin_add_overflow(v, digit, &v);
    }
    if (i == first || p[first] < '0' || p[first] > '9') {
        return PARSED_NOT;
    }
    *out = v;
    return is_over ? PARSED_OVER : PARSED;
}

/* NOT_THIS: not all are integers, or one is missing. *is_large: all are, and one is beyond int64. */
static grebe_status read_ints(const struct values *v, bool is_missing_null, bool *is_large)
{
    grebe_status st = GREBE_OK;
    bool has_negative = false, has_missing = false;
    *is_large = false;
    for (size_t i = 0; i < v->n && st == GREBE_OK; i++) {
        const char *p = NULL;
        size_t len = 0;
        bool is_negative = false;
        uint64_t value = 0;
        if (!value_at(v, i, &p, &len)) {
            has_missing = !is_missing_null;
            st = text_builder_put_nulls(v->b, 1, v->err);
            continue;
        }
        enum parsed what = parse_int(v->o, p, len, &is_negative, &value);
        if (what == PARSED_NOT) {
            *is_large = false;
            return NOT_THIS;
        }
        has_negative = has_negative || (is_negative && value != 0);
        bool is_over = value > (uint64_t)INT64_MAX + is_negative;
        if (what == PARSED_OVER || (is_over && is_negative)) {
            char quoted[64];
            return GREBE_FAIL(v->err, GREBE_ECORRUPT, "expected integers of 64 bits, found %s",
                              error_quote(quoted, sizeof quoted, p, len));
        }
        *is_large = *is_large || is_over;
        st = text_builder_reserve(v->b, 1, v->err);
        if (st == GREBE_OK) {
            value = is_negative ? 0 - value : value;
            memcpy(v->b->data + v->b->n * sizeof value, &value, sizeof value);
            text_builder_took(v->b);
        }
    }
    return st == GREBE_OK && (has_missing || (*is_large && has_negative)) ? NOT_THIS : st;
}

/* ---- numbers ---- */

static bool is_infinite_word(const char *p, size_t len)
{
    size_t sign = len > 0 && (p[0] == '-' || p[0] == '+');
    return (len - sign == 3 && ascii_equal_n(p + sign, "inf", 3)) ||
           (len - sign == 8 && ascii_equal_n(p + sign, "infinity", 8));
}

static bool parse_number(const struct csv_options *o, const char *p, size_t len, double *out)
{
    char plain[128];
    if (o->thousands == 0 && o->decimal == '.' && len > 0 && text_take_double(p, len, out) == len) {
        return true;
    }
    trim(&p, &len);
    if (len == 0 || len >= sizeof plain) {
        return len > 0 && o->thousands == 0 && o->decimal == '.' && (p[len - 1] | 32) != 'n' &&
               number_parse_double(p, len, out);
    }
    if (is_infinite_word(p, len)) {
        return number_parse_double(p, len, out);
    }
    size_t n = 0;
    for (size_t i = 0; i < len; i++) {
        char c = p[i];
        if (o->thousands != 0 && c == o->thousands && n > 0 && plain[n - 1] >= '0' && plain[n - 1] <= '9') {
            continue;
        }
        if (c == '.' && o->decimal != '.') {
            return false;
        }
        c = c == o->decimal ? '.' : c;
        if (!((c >= '0' && c <= '9') || c == '.' || c == 'e' || c == 'E' || c == '+' || c == '-')) {
            return false;
        }
        plain[n++] = c;
    }
    return number_parse_double(plain, n, out);
}

static grebe_status read_doubles(const struct values *v)
{
    const struct csv_na *na = v->column->na;
    grebe_status st = GREBE_OK;
    for (size_t i = 0; i < v->n && st == GREBE_OK; i++) {
        const char *p = NULL;
        size_t len = 0;
        double value = 0;
        bool is_there = value_at(v, i, &p, &len);
        if (is_there && !parse_number(v->o, p, len, &value)) {
            return NOT_THIS;
        }
        for (size_t k = 0; is_there && !v->o->is_na_off && k < na->n_numbers; k++) {
            is_there = na->numbers[k] != value;
        }
        if (!is_there) {
            st = text_builder_put_nulls(v->b, 1, v->err);
            continue;
        }
        st = text_builder_reserve(v->b, 1, v->err);
        if (st == GREBE_OK) {
            memcpy(v->b->data + v->b->n * sizeof value, &value, sizeof value);
            text_builder_took(v->b);
        }
    }
    return st;
}

/* ---- truth values and text ---- */

static bool is_word_of(const char *p, size_t len, const char *lower)
{
    if (len != strlen(lower) || !ascii_equal_n(p, lower, len)) {
        return false;
    }
    bool is_upper = p[0] < 'a', is_rest_upper = p[1] < 'a'; /* true, True, TRUE */
    for (size_t i = 2; i < len; i++) {
        if ((p[i] < 'a') != is_rest_upper) {
            return false;
        }
    }
    return is_upper || !is_rest_upper;
}

static grebe_status read_bools(const struct values *v)
{
    grebe_status st = GREBE_OK;
    for (size_t i = 0; i < v->n && st == GREBE_OK; i++) {
        const char *p = NULL;
        size_t len = 0;
        if (!value_at(v, i, &p, &len)) {
            st = text_builder_put_nulls(v->b, 1, v->err);
            continue;
        }
        bool is_true = csv_words_have(&v->o->true_words, p, len) || is_word_of(p, len, "true");
        if (!is_true && !csv_words_have(&v->o->false_words, p, len) && !is_word_of(p, len, "false")) {
            return NOT_THIS;
        }
        st = text_builder_reserve(v->b, 1, v->err);
        if (st == GREBE_OK) {
            if (is_true) {
                bit_set(v->b->data, (int64_t)v->b->n);
            }
            text_builder_took(v->b);
        }
    }
    return st;
}

static grebe_status read_texts(const struct values *v)
{
    grebe_status st = GREBE_OK;
    for (size_t i = 0; i < v->n && st == GREBE_OK; i++) {
        const char *p = NULL;
        size_t len = 0;
        if (!value_at(v, i, &p, &len)) {
            st = text_builder_put_nulls(v->b, 1, v->err);
            continue;
        }
        st = text_builder_reserve(v->b, 1, v->err);
        st = st == GREBE_OK ? text_builder_reserve_text(v->b, len, v->err) : st;
        if (st == GREBE_OK) {
            if (len > 0) {
                memcpy(v->b->chars + v->b->text_len, p, len);
            }
            text_builder_end_text(v->b, len);
        }
    }
    return st;
}

/* ---- a column ---- */

static bool are_all_missing(const struct values *v)
{
    const char *p = NULL;
    size_t len = 0;
    for (size_t i = 0; i < v->n; i++) {
        if (value_at(v, i, &p, &len)) {
            return false;
        }
    }
    return true;
}

static grebe_status read_as(const struct values *v, const grebe_allocator *a, enum csv_type *type)
{
    static const enum text_builder_kind kinds[] = { TEXT_BUILDER_FIXED, TEXT_BUILDER_FIXED, TEXT_BUILDER_FIXED,
                                                    TEXT_BUILDER_FIXED, TEXT_BUILDER_BITS,  TEXT_BUILDER_TEXT };
    bool is_large = false;
    grebe_status st = GREBE_OK;
    text_builder_release(v->b);
    text_builder_init(v->b, a, kinds[*type], sizeof(int64_t));
    st = v->n > 0 ? text_builder_reserve(v->b, v->n, v->err) : GREBE_OK;
    if (st != GREBE_OK) {
        return st;
    }
    switch (*type) {
    case CSV_ALL_NA: return text_builder_put_nulls(v->b, v->n, v->err);
    case CSV_INT64:
    case CSV_UINT64:
        st = read_ints(v, v->column->is_given, &is_large);
        *type = st == NOT_THIS && is_large ? CSV_TEXT : is_large ? CSV_UINT64 : CSV_INT64;
        return st;
    case CSV_DOUBLE: return read_doubles(v);
    case CSV_BOOL: return read_bools(v);
    default: return read_texts(v);
    }
}

/* Which values of a column are not what its feature asks for. */
static grebe_status fail_given(const struct values *v, enum csv_type wanted)
{
    static const char *const names[] = { "", "an integer", "an integer", "a number", "a truth value", "" };
    const char *p = NULL;
    size_t len = 0;
    bool is_negative = false;
    uint64_t u = 0;
    double d = 0;
    for (size_t i = 0; i < v->n; i++) {
        bool is_odd = value_at(v, i, &p, &len) &&
                      (wanted == CSV_DOUBLE ? !parse_number(v->o, p, len, &d)
                       : wanted == CSV_BOOL ? !is_word_of(p, len, "true") && !is_word_of(p, len, "false")
                                            : parse_int(v->o, p, len, &is_negative, &u) != PARSED);
        if (is_odd) {
            char quoted[64];
            return GREBE_FAIL(v->err, GREBE_ESCHEMA, "row %zu of the chunk: expected %s, found \"%s\"", i, names[wanted],
                              error_quote(quoted, sizeof quoted, p, len));
        }
    }
    return GREBE_FAIL(v->err, GREBE_ESCHEMA, "expected %s in every row", names[wanted]);
}

grebe_status csv_read_column(const grebe_allocator *a, const struct csv_options *o, const struct csv_chunk *c,
                             const struct csv_column *column, enum csv_type *type, struct ArrowArray *out, grebe_error *err)
{
    static const enum csv_type order[] = { CSV_INT64, CSV_DOUBLE, CSV_BOOL, CSV_TEXT };
    struct text_builder b;
    struct values v = { o, c, column, csv_chunk_rows(c), &b, err };
    grebe_status st = NOT_THIS;
    text_builder_init(&b, a, TEXT_BUILDER_FIXED, sizeof(int64_t));
    memset(out, 0, sizeof *out);
    if (column->is_given) {
        *type = column->wanted;
        st = read_as(&v, a, type);
        st = st == NOT_THIS ? fail_given(&v, column->wanted) : st;
    } else if (are_all_missing(&v)) {
        *type = CSV_ALL_NA;
        st = read_as(&v, a, type);
    } else {
        for (size_t i = 0; i < sizeof order / sizeof order[0] && st == NOT_THIS; i++) {
            *type = order[i];
            st = read_as(&v, a, type);
            if (st == NOT_THIS && *type == CSV_TEXT) { /* integers that no integer type holds stay what they are */
                i = sizeof order / sizeof order[0] - 2;
            }
        }
    }
    st = st == GREBE_OK ? text_builder_finish(&b, 0, out, err) : st;
    if (st != GREBE_OK) {
        char quoted[96];
        error_wrap(err, st, "column \"%s\"", error_quote(quoted, sizeof quoted, column->name, strlen(column->name)));
    }
    text_builder_release(&b);
    return st;
}
