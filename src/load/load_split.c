/* SPDX-License-Identifier: Apache-2.0 */
#include "load/load_split.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "load/load_patterns.h"

static grebe_status unreadable(const char *text, size_t len, grebe_error *err)
{
    char quoted[96];
    return GREBE_FAIL(err, GREBE_EINVAL, "split \"%s\": expected name, name[from:to] or name[from%%:to%%]",
                      error_quote(quoted, sizeof quoted, text, len));
}

/* -?[0-9]([0-9_]*[0-9])? and what follows it; *p moves. false: no number in range. */
static bool take_integer(const char **p, const char *end, int64_t *out)
{
    const char *s = *p;
    bool is_negative = s < end && *s == '-';
    int64_t v = 0;
    s += is_negative;
    const char *first = s;
    for (; s < end && ((*s >= '0' && *s <= '9') || (*s == '_' && s > first)); s++) {
        if (*s == '_') {
            continue;
        }
        if (v > (INT64_MAX - 9) / 10) {
            return false;
        }
        v = v * 10 + (*s - '0');
    }
    if (s == first || s[-1] == '_') {
        return false;
    }
    *out = is_negative ? -v : v;
    *p = s;
    return true;
}

static bool take_bound(const char **p, const char *end, char stop, int64_t *out, bool *has, bool *is_percent)
{
    *has = false;
    if (*p < end && **p != stop) {
        if (!take_integer(p, end, out)) {
            return false;
        }
        *has = true;
        if (*p < end && **p == '%') {
            *is_percent = true;
            ++*p;
        }
    }
    if (*p >= end || **p != stop) {
        return false;
    }
    ++*p;
    return true;
}

static bool is_at(const char *p, const char *end, const char *word)
{
    size_t len = strlen(word);
    return (size_t)(end - p) == len && memcmp(p, word, len) == 0;
}

/* "(closest)" or "(pct1_dropremainder)", or nothing. */
static bool take_rounding(const char *p, const char *end, struct split_term *t)
{
    t->has_rounding = p < end;
    t->is_dropping = is_at(p, end, "(pct1_dropremainder)");
    return p == end || t->is_dropping || is_at(p, end, "(closest)");
}

static grebe_status parse_term(struct arena *ar, const char *text, size_t len, struct split_term *t, grebe_error *err)
{
    const char *end = text + len, *p = text;
    *t = (struct split_term){ 0 };
    while (p < end && *p != '[' && *p != '(') {
        p++;
    }
    if (!load_is_split_name(text, (size_t)(p - text))) {
        return unreadable(text, len, err);
    }
    t->name = arena_str(ar, text, (size_t)(p - text));
    if (t->name == NULL) {
        return mem_fail(err, len, "a split");
    }
    if (p < end && *p == '[') {
        p++;
        t->is_sliced = true;
        if (!take_bound(&p, end, ':', &t->from, &t->has_from, &t->is_percent) ||
            !take_bound(&p, end, ']', &t->to, &t->has_to, &t->is_percent)) {
            return unreadable(text, len, err);
        }
    }
    if (!take_rounding(p, end, t)) {
        return unreadable(text, len, err);
    }
    if (t->has_rounding && !t->is_percent) {
        return GREBE_FAIL(err, GREBE_EINVAL, "split \"%.*s\": rounding is for percents alone", (int)len, text);
    }
    bool is_far = (t->has_from && (t->from > 100 || t->from < -100)) || (t->has_to && (t->to > 100 || t->to < -100));
    if (t->is_percent && is_far) {
        return GREBE_FAIL(err, GREBE_EINVAL, "split \"%.*s\": percents are from -100 to 100", (int)len, text);
    }
    return GREBE_OK;
}

grebe_status split_parse(struct arena *ar, const char *text, struct split_spec *out, grebe_error *err)
{
    size_t n = 1;
    bool has_percents = false, is_dropping = false;
    for (const char *p = text; *p != '\0'; p++) {
        n += *p == '+';
    }
    *out = (struct split_spec){ arena_str(ar, text, strlen(text)), arena_array(ar, n, sizeof *out->terms), 0,
                                strcmp(text, "all") == 0 };
    if (out->terms == NULL || out->text == NULL) {
        return mem_fail(err, n * sizeof *out->terms, "a split");
    }
    for (const char *p = text;; p++) {
        size_t len = strcspn(p, "+");
        struct split_term *t = &out->terms[out->n++];
        grebe_status st = parse_term(ar, p, len, t, err);
        if (st != GREBE_OK) {
            return st;
        }
        if (t->is_percent && has_percents && t->is_dropping != is_dropping) {
            return GREBE_FAIL(err, GREBE_EINVAL, "split \"%s\": terms of different rounding cannot be added", text);
        }
        if (t->is_percent) {
            has_percents = true;
            is_dropping = t->is_dropping;
        }
        p += len;
        if (*p == '\0') {
            return GREBE_OK;
        }
    }
}

/* ---- rows ---- */

/* Half goes to the even one: rint() in the mode that every thread starts with. */
static int64_t closest(int64_t percent, int64_t n) { return (int64_t)nearbyint((double)percent * (double)n / 100.0); }

static int64_t bound(const struct split_term *t, bool has, int64_t v, int64_t n, int64_t otherwise)
{
    if (!has) {
        return otherwise;
    }
    if (t->is_percent) {
        v = t->is_dropping ? v * (n / 100) : closest(v, n);
    }
    if (v < 0) {
        v = v + n < 0 ? 0 : v + n;
    }
    return v > n ? n : v;
}

static grebe_status unknown_split(const char *name, const struct split_size *splits, size_t n, grebe_error *err)
{
    char names[200];
    size_t at = 0;
    names[0] = '\0';
    for (size_t i = 0; i < n && at + 24 < sizeof names; i++) {
        if (i > 0) {
            memcpy(names + at, ", ", 3);
            at += 2;
        }
        error_quote(names + at, sizeof names - at, splits[i].name, strlen(splits[i].name));
        at += strlen(names + at);
    }
    return GREBE_FAIL(err, GREBE_ENOTFOUND, "split \"%s\": expected one of %s", name, names);
}

grebe_status split_resolve(const struct split_term *t, const struct split_size *splits, size_t n, struct split_range *out,
                           grebe_error *err)
{
    size_t at = 0;
    while (at < n && strcmp(splits[at].name, t->name) != 0) {
        at++;
    }
    if (at == n) {
        return unknown_split(t->name, splits, n, err);
    }
    int64_t rows = splits[at].n_rows;
    if (t->is_percent && t->is_dropping && rows < 100) {
        return GREBE_FAIL(err, GREBE_EINVAL, "split \"%s\": pct1_dropremainder needs 100 rows, found %" PRId64, t->name, rows);
    }
    out->split = at;
    out->begin = bound(t, t->has_from, t->from, rows, 0);
    out->end = bound(t, t->has_to, t->to, rows, rows);
    if (out->begin > out->end) {
        return GREBE_FAIL(err, GREBE_EINVAL, "split \"%s\": row %" PRId64 " lies behind row %" PRId64, t->name, out->begin,
                          out->end);
    }
    return GREBE_OK;
}

/* ---- text ---- */

grebe_status split_print(const struct split_spec *spec, const struct split_size *splits, size_t n, struct buf *dst,
                         grebe_error *err)
{
    grebe_status st = spec->is_all ? GREBE_OK : buf_put_text(dst, spec->text, err);
    for (size_t i = 0; st == GREBE_OK && spec->is_all && i < n; i++) {
        st = buf_printf(dst, err, "%s%s", i > 0 ? "+" : "", splits[i].name);
    }
    return st;
}
