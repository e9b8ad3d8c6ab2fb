/* SPDX-License-Identifier: Apache-2.0 */
#include "index/index_params.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/checked.h"
#include "base/number.h"

static void store_value(const struct index_param *p, double v, void *dst)
{
    if (p->type == INDEX_PARAM_REAL) {
        memcpy((char *)dst + p->offset, &v, sizeof v);
    } else {
        uint32_t u = (uint32_t)v;
        memcpy((char *)dst + p->offset, &u, sizeof u);
    }
}

/* Levenshtein distance; words of a table are short, a longer one is far from everything. */
static unsigned word_distance(const char *x, size_t x_len, const char *y, size_t y_len)
{
    enum { WORD_MAX = 32 };
    unsigned row[WORD_MAX + 1];
    if (x_len > WORD_MAX || y_len > WORD_MAX) {
        return UINT32_MAX;
    }
    for (unsigned j = 0; j <= y_len; j++) {
        row[j] = j;
    }
    for (unsigned i = 1; i <= x_len; i++) {
        unsigned diagonal = row[0];
        row[0] = i;
        for (unsigned j = 1; j <= y_len; j++) {
            unsigned best = diagonal + (x[i - 1] != y[j - 1]);
            diagonal = row[j];
            best = best < row[j] + 1 ? best : row[j] + 1;
            row[j] = best < row[j - 1] + 1 ? best : row[j - 1] + 1;
        }
    }
    return row[y_len];
}

static grebe_status unknown_name(const struct index_param *table, size_t n, const char *name, size_t len,
                                 grebe_error *err)
{
    char quoted[64];
    const char *nearest = NULL;
    unsigned best = UINT32_MAX;
    for (size_t i = 0; i < n; i++) {
        unsigned d = word_distance(name, len, table[i].name, strlen(table[i].name));
        if (d < best) {
            best = d;
            nearest = table[i].name;
        }
    }
    error_quote(quoted, sizeof quoted, name, len);
    if (nearest == NULL) {
        return GREBE_FAIL(err, GREBE_EINVAL, "unknown parameter \"%s\"", quoted);
    }
    return GREBE_FAIL(err, GREBE_EINVAL, "unknown parameter \"%s\": the nearest is \"%s\"", quoted, nearest);
}

static grebe_status read_choice(const struct index_param *p, const char *text, double *v, grebe_error *err)
{
    char quoted[64];
    char legal[200] = "";
    size_t at = 0;
    for (size_t i = 0; p->choices[i] != NULL; i++) {
        size_t len = strlen(p->choices[i]);
        if (strcmp(p->choices[i], text) == 0) {
            *v = (double)i;
            return GREBE_OK;
        }
        if (at + len + 3 < sizeof legal) {
            memcpy(legal + at, at == 0 ? "" : ", ", at == 0 ? 0 : 2);
            at += at == 0 ? 0 : 2;
            memcpy(legal + at, p->choices[i], len + 1);
            at += len;
        }
    }
    return GREBE_FAIL(err, GREBE_EINVAL, "parameter %s: expected one of %s, found \"%s\"", p->name, legal,
                      error_quote(quoted, sizeof quoted, text, strlen(text)));
}

static grebe_status read_value(const struct index_param *p, const char *text, double *v, grebe_error *err)
{
    char quoted[64], low[NUMBER_TEXT_MAX], high[NUMBER_TEXT_MAX];
    if (p->type == INDEX_PARAM_CHOICE) {
        return read_choice(p, text, v, err);
    }
    uint64_t u = 0;
    bool is_number = p->type == INDEX_PARAM_REAL ? number_parse_double(text, strlen(text), v) && isfinite(*v)
                                                 : number_parse_u64(text, strlen(text), &u);
    if (is_number && p->type == INDEX_PARAM_UINT) {
        *v = u > UINT32_MAX ? HUGE_VAL : (double)u;
    }
    if (is_number && *v >= p->min && *v <= p->max) {
        return GREBE_OK;
    }
    low[number_put_double(low, p->min, &number_style_json)] = '\0';
    high[number_put_double(high, p->max, &number_style_json)] = '\0';
    if (p->type == INDEX_PARAM_UINT) { /* whole numbers without ".0" */
        low[number_put_u64(low, (uint64_t)p->min)] = '\0';
        high[number_put_u64(high, (uint64_t)p->max)] = '\0';
    }
    return GREBE_FAIL(err, GREBE_EINVAL, "parameter %s: expected a%s number from %s to %s, found \"%s\"", p->name,
                      p->type == INDEX_PARAM_UINT ? " whole" : "", low, high,
                      error_quote(quoted, sizeof quoted, text, strlen(text)));
}

grebe_status index_params_fill(const struct index_param *table, size_t n, const char *const *params, size_t n_params,
                               void *dst, grebe_error *err)
{
    char quoted[64];
    for (size_t i = 0; i < n; i++) {
        store_value(&table[i], table[i].fallback, dst);
    }
    if (params == NULL && n_params != 0) {
        return GREBE_FAIL(err, GREBE_EINVAL, "parameters: expected %zu, found NULL", n_params);
    }
    for (size_t k = 0; k < n_params; k++) {
        const char *equals = params[k] != NULL ? strchr(params[k], '=') : NULL;
        if (equals == NULL) {
            return GREBE_FAIL(err, GREBE_EINVAL, "parameter %zu: expected name=value, found \"%s\"", k,
                              params[k] == NULL ? "NULL" : error_quote(quoted, sizeof quoted, params[k], strlen(params[k])));
        }
        size_t len = (size_t)(equals - params[k]);
        size_t i = 0;
        while (i < n && (strlen(table[i].name) != len || memcmp(table[i].name, params[k], len) != 0)) {
            i++;
        }
        if (i == n) {
            return unknown_name(table, n, params[k], len, err);
        }
        double v = 0;
        grebe_status st = read_value(&table[i], equals + 1, &v, err);
        if (st != GREBE_OK) {
            return st;
        }
        store_value(&table[i], v, dst);
    }
    return GREBE_OK;
}
