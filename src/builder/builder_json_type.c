/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/builder_json_type.h"

#include <string.h>

#include "base/calendar.h"
#include "base/checked.h"
#include "base/hash.h"
#include "base/number.h"

enum { FIELDS_FEW = 12, DEPTH_MAX = ARROW_DEPTH_MAX - 8 };

/* ---- values that are passed over ---- */

static bool skip_string(struct json_cursor *c)
{
    for (c->p++; c->p < c->end;) {
        c->p = json_string_stop(c->p, c->end);
        if (c->p == c->end || (unsigned char)*c->p < 0x20) {
            return false;
        }
        if (*c->p == '"') {
            c->p++;
            return true;
        }
        c->p += 2;
    }
    return false;
}

static bool take_special(struct json_cursor *c)
{
    return json_take_word(c, "NaN", 3) || json_take_word(c, "Infinity", 8) || json_take_word(c, "-Infinity", 9);
}

bool json_skip_value(struct json_cursor *c, int depth)
{
    bool is_integer = false, has_exponent = false;
    json_skip_space(c);
    if (c->p >= c->end || depth > JSON_DEPTH_MAX) {
        return false;
    }
    if (*c->p == '"') {
        return skip_string(c);
    }
    if (*c->p == '{' || *c->p == '[') {
        const char close = *c->p == '{' ? '}' : ']';
        c->p++;
        if (json_take(c, close)) {
            return true;
        }
        do {
            json_skip_space(c);
            if (close == '}' && (c->p >= c->end || *c->p != '"' || !skip_string(c) || !json_take(c, ':'))) {
                return false;
            }
            if (!json_skip_value(c, depth + 1)) {
                return false;
            }
        } while (json_take(c, ','));
        return json_take(c, close);
    }
    if (json_take_word(c, "null", 4) || json_take_word(c, "true", 4) || json_take_word(c, "false", 5) ||
        take_special(c)) {
        return true;
    }
    size_t n = json_number(c, &is_integer, &has_exponent);
    c->p += n;
    return n > 0;
}

/* ---- points in time ---- */

static bool two_digits(const char *s, unsigned max, unsigned *out)
{
    if (s[0] < '0' || s[0] > '9' || s[1] < '0' || s[1] > '9') {
        return false;
    }
    *out = (unsigned)(s[0] - '0') * 10 + (unsigned)(s[1] - '0');
    return *out <= max;
}

/* "Z", "+hh", "+hhmm", "+hh:mm" or nothing. */
static bool zone_of(const char *s, size_t len, int64_t *seconds)
{
    unsigned h = 0, m = 0;
    *seconds = 0;
    if (len == 0 || (len == 1 && s[0] == 'Z')) {
        return true;
    }
    if ((s[0] != '+' && s[0] != '-') || len < 3 || !two_digits(s + 1, 23, &h)) {
        return false;
    }
    bool is_ok =
        len == 3 || (len == 5 && two_digits(s + 3, 59, &m)) || (len == 6 && s[3] == ':' && two_digits(s + 4, 59, &m));
    *seconds = ((int64_t)h * 3600 + (int64_t)m * 60) * (s[0] == '-' ? -1 : 1);
    return is_ok;
}

bool json_time(const char *s, size_t len, int64_t *seconds)
{
    unsigned century = 0, year = 0, month = 0, day = 0, h = 0, m = 0, sec = 0;
    int64_t zone = 0;
    size_t at = 10;
    if (len < 10 || s[4] != '-' || s[7] != '-' || !two_digits(s, 99, &century) || !two_digits(s + 2, 99, &year) ||
        !two_digits(s + 5, 12, &month) || !two_digits(s + 8, 31, &day)) {
        return false;
    }
    const int64_t y = (int64_t)century * 100 + year, days = calendar_days(y, (int)month, (int)day);
    int64_t real_y = 0;
    int real_month = 0, real_day = 0;
    calendar_date(days, &real_y, &real_month, &real_day); /* 30 February is another day */
    if (month == 0 || day == 0 || real_day != (int)day) {
        return false;
    }
    if (len > at) {
        if ((s[at] != 'T' && s[at] != ' ') || len < at + 3 || !two_digits(s + at + 1, 23, &h)) {
            return false;
        }
        at += 3;
        if (len >= at + 3 && s[at] == ':') {
            if (!two_digits(s + at + 1, 59, &m)) {
                return false;
            }
            at += 3;
            if (len >= at + 3 && s[at] == ':') {
                if (!two_digits(s + at + 1, 59, &sec)) {
                    return false;
                }
                at += 3;
            }
        }
        if (!zone_of(s + at, len - at, &zone)) {
            return false;
        }
    }
    *seconds = days * 86400 + (int64_t)h * 3600 + (int64_t)m * 60 + sec - zone;
    return true;
}

/* ---- fields ---- */

static bool is_named(const struct json_kinds_field *f, const char *name, size_t len)
{
    return f->len == len && memcmp(f->name, name, len) == 0;
}

static size_t slot_of(const struct json_kinds *t, const char *name, size_t len)
{
    size_t slot = (size_t)hash_bytes(name, len, 0) & t->mask;
    while (t->table[slot] != NULL && !is_named(t->table[slot], name, len)) {
        slot = (slot + 1) & t->mask;
    }
    return slot;
}

static struct json_kinds_field *find_field(const struct json_kinds *t, const char *name, size_t len,
                                          struct json_kinds_field *hint)
{
    if (hint != NULL && is_named(hint, name, len)) {
        return hint;
    }
    if (t->table != NULL) {
        return t->table[slot_of(t, name, len)];
    }
    for (struct json_kinds_field *f = t->first; f != NULL; f = f->next) {
        if (is_named(f, name, len)) {
            return f;
        }
    }
    return NULL;
}

static grebe_status put_in_table(struct arena *ar, struct json_kinds *t, struct json_kinds_field *f, grebe_error *err)
{
    if (t->n_fields <= FIELDS_FEW) {
        return GREBE_OK;
    }
    if (t->table != NULL && 2 * t->n_fields <= t->mask + 1) {
        t->table[slot_of(t, f->name, f->len)] = f;
        return GREBE_OK;
    }
    size_t n = t->table == NULL ? 64 : 2 * (t->mask + 1);
    t->table = arena_array(ar, n, sizeof(void *));
    if (t->table == NULL) {
        return mem_fail(err, n * sizeof(void *), "names of fields");
    }
    t->mask = n - 1;
    for (struct json_kinds_field *g = t->first; g != NULL; g = g->next) {
        t->table[slot_of(t, g->name, g->len)] = g;
    }
    return GREBE_OK;
}

static grebe_status need_field(struct arena *ar, struct json_kinds *t, const char *name, size_t len,
                               struct json_kinds_field *hint, struct json_kinds_field **out, grebe_error *err)
{
    *out = find_field(t, name, len, hint);
    if (*out != NULL) {
        return GREBE_OK;
    }
    if (t->n_fields == JSON_FIELDS_MAX) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "expected at most %d fields in an object, found more", JSON_FIELDS_MAX);
    }
    if (memchr(name, '\0', len) != NULL) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "expected the name of a field, found a NUL in it");
    }
    struct json_kinds_field *f = arena_alloc_zero(ar, sizeof *f);
    char *copy = arena_str(ar, name, len);
    if (f == NULL || copy == NULL) {
        return mem_fail(err, sizeof *f + len, "a field");
    }
    f->name = copy;
    f->len = len;
    *(t->last != NULL ? &t->last->next : &t->first) = f;
    t->last = f;
    t->n_fields++;
    *out = f;
    return put_in_table(ar, t, f, err);
}

/* ---- seeing ---- */

static grebe_status fail_syntax(grebe_error *err)
{
    return GREBE_FAIL(err, GREBE_ECORRUPT, "expected a JSON value, found text that is none or is cut off");
}

static grebe_status need_item(struct arena *ar, struct json_kinds *t, grebe_error *err)
{
    if (t->item == NULL) {
        t->item = arena_alloc_zero(ar, sizeof *t->item);
    }
    return t->item != NULL ? GREBE_OK : mem_fail(err, sizeof *t->item, "a list");
}

/* One key with its value. */
static grebe_status see_member(struct json_see *s, struct json_kinds *t, struct json_cursor *c, int depth,
                               struct json_kinds_field **f, grebe_error *err)
{
    const char *name = NULL;
    size_t len = 0;
    json_skip_space(c);
    if (c->p >= c->end || *c->p != '"') {
        return fail_syntax(err);
    }
    grebe_status st = json_string(c, &s->scratch, &name, &len, err);
    if (st != GREBE_OK) {
        return st == JSON_ODD ? fail_syntax(err) : st;
    }
    size_t n_before = t->n_fields;
    st = need_field(s->ar, t, name, len, *f != NULL ? (*f)->next : t->first, f, err);
    if (st != GREBE_OK) {
        return st;
    }
    if ((*f)->last_object == t->n_objects) {
        char quoted[64];
        return GREBE_FAIL(err, GREBE_ECORRUPT, "expected each key once in an object, found \"%s\" again",
                          error_quote(quoted, sizeof quoted, (*f)->name, (*f)->len));
    }
    (*f)->last_object = t->n_objects;
    t->is_json = t->is_json || (t->n_objects > 1 && t->n_fields > n_before && depth > 0);
    if (!json_take(c, ':')) {
        return fail_syntax(err);
    }
    return json_kinds_see(s, &(*f)->type, c, depth + 1, err);
}

static grebe_status see_object(struct json_see *s, struct json_kinds *t, struct json_cursor *c, int depth, grebe_error *err)
{
    struct json_kinds_field *f = NULL;
    size_t n_keys = 0;
    t->seen |= JSON_SAW_OBJECT;
    t->n_objects++;
    c->p++;
    if (!json_take(c, '}')) {
        do {
            grebe_status st = see_member(s, t, c, depth, &f, err);
            if (st != GREBE_OK) {
                return st;
            }
            n_keys++;
        } while (json_take(c, ','));
        if (!json_take(c, '}')) {
            return fail_syntax(err);
        }
    }
    if (t->n_objects == 1) {
        t->n_first = n_keys;
    }
    t->is_json = t->is_json || (depth > 0 && (n_keys != t->n_first || t->n_first == 0));
    return GREBE_OK;
}

static grebe_status see_array(struct json_see *s, struct json_kinds *t, struct json_cursor *c, int depth, grebe_error *err)
{
    t->seen |= JSON_SAW_ARRAY;
    grebe_status st = need_item(s->ar, t, err);
    c->p++;
    if (st != GREBE_OK || json_take(c, ']')) {
        return st;
    }
    do {
        st = json_kinds_see(s, t->item, c, depth + 1, err);
        if (st != GREBE_OK) {
            return st;
        }
    } while (json_take(c, ','));
    return json_take(c, ']') ? GREBE_OK : fail_syntax(err);
}

static grebe_status see_number(struct json_kinds *t, struct json_cursor *c, grebe_error *err)
{
    bool is_integer = false, has_exponent = false;
    int64_t v = 0;
    if (take_special(c)) {
        t->seen |= JSON_SAW_SPECIAL;
        return GREBE_OK;
    }
    size_t n = json_number(c, &is_integer, &has_exponent);
    if (n == 0) {
        return fail_syntax(err);
    }
    bool is_small = is_integer && (n < 19 || number_parse_i64(c->p, n, &v));
    t->seen |= is_small ? JSON_SAW_INT : JSON_SAW_FLOAT;
    c->p += n;
    return GREBE_OK;
}

grebe_status json_kinds_see(struct json_see *s, struct json_kinds *t, struct json_cursor *c, int depth, grebe_error *err)
{
    const char *text = NULL;
    size_t len = 0;
    int64_t seconds = 0;
    json_skip_space(c);
    if (c->p >= c->end) {
        return fail_syntax(err);
    }
    if (depth > JSON_DEPTH_MAX) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "expected at most %d levels, found more", JSON_DEPTH_MAX);
    }
    switch (*c->p) {
    case '{': return see_object(s, t, c, depth, err);
    case '[': return see_array(s, t, c, depth, err);
    case '"': {
        grebe_status st = json_string(c, &s->scratch, &text, &len, err);
        if (st != GREBE_OK) {
            return st == JSON_ODD ? fail_syntax(err) : st;
        }
        t->seen |= JSON_SAW_STRING;
        t->is_no_time = t->is_no_time || !json_time(text, len, &seconds);
        return GREBE_OK;
    }
    case 'n': t->seen |= JSON_SAW_NULL; return json_take_word(c, "null", 4) ? GREBE_OK : fail_syntax(err);
    case 't': t->seen |= JSON_SAW_BOOL; return json_take_word(c, "true", 4) ? GREBE_OK : fail_syntax(err);
    case 'f': t->seen |= JSON_SAW_BOOL; return json_take_word(c, "false", 5) ? GREBE_OK : fail_syntax(err);
    default: return see_number(t, c, err);
    }
}

/* ---- null places ---- */

bool json_kinds_has_nulls(const struct json_kinds *t)
{
    if ((t->seen & ~(unsigned)JSON_SAW_NULL) == 0) {
        return true;
    }
    bool has = t->seen == JSON_SAW_ARRAY && json_kinds_has_nulls(t->item);
    for (const struct json_kinds_field *f = t->first; f != NULL && !has && !t->is_json; f = f->next) {
        has = json_kinds_has_nulls(&f->type);
    }
    return has;
}

grebe_status json_kinds_widen(struct arena *ar, struct json_kinds *t, const struct json_kinds *more, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    if ((t->seen & ~(unsigned)JSON_SAW_NULL) == 0) { /* all of it, copied into this arena */
        struct json_kinds_field *hint = NULL;
        unsigned seen = t->seen;
        t->seen |= more->seen;
        t->is_no_time = more->is_no_time;
        t->is_json = more->is_json;
        t->n_objects = more->n_objects;
        t->n_first = more->n_first;
        if ((more->seen & ~(unsigned)JSON_SAW_NULL) == 0) {
            t->seen = seen | more->seen;
        }
        for (const struct json_kinds_field *f = more->first; f != NULL; f = f->next) {
            GREBE_TRY(need_field(ar, t, f->name, f->len, NULL, &hint, err));
            GREBE_TRY(json_kinds_widen(ar, &hint->type, &f->type, err));
        }
        if (more->item != NULL) {
            GREBE_TRY(need_item(ar, t, err));
            st = json_kinds_widen(ar, t->item, more->item, err);
        }
        goto out;
    }
    if (t->item != NULL && more->item != NULL) {
        GREBE_TRY(json_kinds_widen(ar, t->item, more->item, err));
    }
    for (struct json_kinds_field *f = t->first; f != NULL; f = f->next) {
        const struct json_kinds_field *g = find_field(more, f->name, f->len, NULL);
        if (g != NULL) {
            GREBE_TRY(json_kinds_widen(ar, &f->type, &g->type, err));
        }
    }
out:
    return st;
}
