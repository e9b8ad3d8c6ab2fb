/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/checked.h"
#include "base/number.h"
#include "builder/builder_csv.h"

enum { CHUNK_ROWS = 10000, QUOTE_NONE = 3 };

static const char *const na_default[] = { "",     "#N/A",   "#N/A N/A", "#NA",  "-1.#IND", "-1.#QNAN", "-NaN",
                                          "-nan", "1.#IND", "1.#QNAN",  "<NA>", "N/A",     "NA",       "NULL",
                                          "NaN",  "None",   "n/a",      "nan",  "null" };

/* ---- sets of words ---- */

static grebe_status add_word(struct arena *ar, struct csv_words *w, const char *p, size_t len, grebe_error *err)
{
    if (w->n == w->capacity) {
        size_t n = w->capacity == 0 ? 32 : 2 * w->capacity;
        const char **items = arena_array(ar, n, sizeof *items);
        size_t *lens = arena_array(ar, n, sizeof *lens);
        if (items == NULL || lens == NULL) {
            return mem_fail(err, n * sizeof *items, "words");
        }
        for (size_t i = 0; i < w->n; i++) {
            items[i] = w->items[i];
            lens[i] = w->lens[i];
        }
        w->items = items;
        w->lens = lens;
        w->capacity = n;
    }
    w->items[w->n] = p;
    w->lens[w->n++] = len;
    w->len_max = max_size(w->len_max, len);
    w->has_empty = w->has_empty || len == 0;
    if (len > 0) {
        w->has_first[(unsigned char)p[0]] = true;
    }
    return GREBE_OK;
}

/* What a number may look like: "-999", "-999.0". */
static grebe_status add_number(struct arena *ar, struct csv_na *na, double v, grebe_error *err)
{
    char text[NUMBER_TEXT_MAX];
    double *numbers = arena_array(ar, na->n_numbers + 1, sizeof *numbers);
    if (numbers == NULL) {
        return mem_fail(err, sizeof *numbers, "words");
    }
    for (size_t i = 0; i < na->n_numbers; i++) {
        numbers[i] = na->numbers[i];
    }
    numbers[na->n_numbers++] = v;
    na->numbers = numbers;
    size_t n = number_put_double(text, v, &number_style_python);
    const char *copy = arena_str(ar, text, n);
    grebe_status st = copy != NULL ? add_word(ar, &na->words, copy, n, err) : mem_fail(err, n, "words");
    if (st == GREBE_OK && n > 2 && memcmp(text + n - 2, ".0", 2) == 0) {
        st = add_word(ar, &na->words, copy, n - 2, err);
    }
    return st;
}

static grebe_status add_na(struct arena *ar, struct csv_na *na, const struct json_value *v, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    double d = 0;
    if (v->type == JSON_ARRAY) {
        for (size_t i = 0; i < v->n && st == GREBE_OK; i++) {
            st = add_na(ar, na, &v->items[i], err);
        }
        return st;
    }
    if (v->type != JSON_STRING && v->type != JSON_NUMBER) {
        return builder_option_fail("na_values", "texts or numbers", v, err);
    }
    st = add_word(ar, &na->words, v->text, v->n, err);
    return st == GREBE_OK && number_parse_double(v->text, v->n, &d) ? add_number(ar, na, d, err) : st;
}

static grebe_status read_na(const struct builder_base *b, struct arena *ar, struct csv_options *o, grebe_error *err)
{
    const struct json_value *v = builder_option_set(b, "na_values");
    bool is_default = true, is_filter = true, is_by_column = v != NULL && v->type == JSON_OBJECT;
    grebe_status st = GREBE_OK;
    GREBE_TRY(builder_option_bool(b, "keep_default_na", &is_default, err));
    GREBE_TRY(builder_option_bool(b, "na_filter", &is_filter, err));
    o->is_na_off = !is_filter;
    o->n_na = 1 + (is_by_column ? v->n : 0);
    o->na = arena_array(ar, o->n_na, sizeof *o->na);
    if (o->na == NULL) {
        return mem_fail(err, o->n_na * sizeof *o->na, "words");
    }
    for (size_t k = 0; k < o->n_na; k++) {
        for (size_t i = 0; is_default && i < sizeof na_default / sizeof na_default[0]; i++) {
            GREBE_TRY(add_word(ar, &o->na[k].words, na_default[i], strlen(na_default[i]), err));
        }
        if (k > 0) {
            o->na[k].column = v->members[k - 1].key;
            GREBE_TRY(add_na(ar, &o->na[k], &v->members[k - 1].value, err));
        } else if (v != NULL && !is_by_column) {
            GREBE_TRY(add_na(ar, &o->na[k], v, err));
        }
    }
out:
    return st;
}

static grebe_status read_words(const struct builder_base *b, struct arena *ar, const char *name, struct csv_words *out,
                               grebe_error *err)
{
    const struct json_value *v = builder_option_set(b, name);
    grebe_status st = GREBE_OK;
    for (size_t i = 0; v != NULL && i < v->n && st == GREBE_OK; i++) {
        if (v->type != JSON_ARRAY || v->items[i].type != JSON_STRING) {
            return builder_option_fail(name, "a list of texts", v, err);
        }
        st = add_word(ar, out, v->items[i].text, v->items[i].n, err);
    }
    return st;
}

/* ---- characters ---- */

static grebe_status read_char(const struct builder_base *b, const char *name, char *out, grebe_error *err)
{
    const struct json_value *v = builder_option_set(b, name);
    if (v == NULL) {
        return GREBE_OK;
    }
    if (v->type != JSON_STRING || v->n != 1) {
        return builder_option_fail(name, "one character of ASCII", v, err);
    }
    *out = v->text[0];
    return GREBE_OK;
}

static grebe_status read_delimiter(const struct builder_base *b, struct csv_format *f, grebe_error *err)
{
    const char *name = builder_option_set(b, "delimiter") != NULL ? "delimiter" : "sep";
    const struct json_value *v = builder_option_set(b, name);
    f->delimiter = ',';
    if (json_is_text(v, "\\s+")) {
        f->delimiter = ' ';
        f->is_white = true;
        return GREBE_OK;
    }
    if (v != NULL && v->type == JSON_STRING && v->n > 1) {
        return GREBE_FAIL(err, GREBE_EUNSUPPORTED, "option \"%s\": one character or \"\\s+\" is read, found a longer text",
                          name);
    }
    return read_char(b, name, &f->delimiter, err);
}

static grebe_status read_format(const struct builder_base *b, struct csv_format *f, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    bool is_blank_skipped = true;
    int64_t quoting = 0;
    f->quote = '"';
    f->is_double = true;
    GREBE_TRY(read_delimiter(b, f, err));
    GREBE_TRY(read_char(b, "quotechar", &f->quote, err));
    GREBE_TRY(read_char(b, "escapechar", &f->escape, err));
    GREBE_TRY(read_char(b, "comment", &f->comment, err));
    GREBE_TRY(read_char(b, "lineterminator", &f->terminator, err));
    GREBE_TRY(builder_option_bool(b, "doublequote", &f->is_double, err));
    GREBE_TRY(builder_option_bool(b, "skipinitialspace", &f->is_space_skipped, err));
    GREBE_TRY(builder_option_bool(b, "skip_blank_lines", &is_blank_skipped, err));
    GREBE_TRY(builder_option_i64(b, "quoting", 0, &quoting, err));
    f->is_blank_kept = !is_blank_skipped;
    f->quote = quoting == QUOTE_NONE ? 0 : f->quote;
    f->stops[(unsigned char)f->delimiter] = 1;
    if (f->terminator != 0) {
        f->stops[(unsigned char)f->terminator] = 1;
    } else {
        f->stops['\n'] = f->stops['\r'] = 1;
    }
    if (f->escape != 0) {
        f->stops[(unsigned char)f->escape] = 1;
    }
    if (f->comment != 0) {
        f->stops[(unsigned char)f->comment] = 1;
    }
    if (f->is_white) {
        f->stops['\t'] = f->stops[' '] = 1;
    }
out:
    return st;
}

/* ---- rows ---- */

static grebe_status read_header(const struct builder_base *b, struct csv_options *o, grebe_error *err)
{
    const struct json_value *v = builder_option(b, "header");
    o->names = builder_option_set(b, "column_names");
    o->names = o->names != NULL ? o->names : builder_option_set(b, "names");
    o->header = o->names != NULL ? -1 : 0;
    if (o->names != NULL && o->names->type != JSON_ARRAY) {
        return builder_option_fail("names", "a list of names", o->names, err);
    }
    for (size_t i = 0; o->names != NULL && i < o->names->n; i++) {
        if (o->names->items[i].type != JSON_STRING && o->names->items[i].type != JSON_NUMBER) {
            return builder_option_fail("names", "a list of names", &o->names->items[i], err);
        }
    }
    if (v == NULL || json_is_text(v, "infer")) {
        return GREBE_OK;
    }
    if (v->type == JSON_NULL) {
        o->header = -1;
        return GREBE_OK;
    }
    if (v->type == JSON_ARRAY && v->n > 1) {
        return GREBE_FAIL(err, GREBE_EUNSUPPORTED, "option \"header\": names of several rows are not read");
    }
    v = v->type == JSON_ARRAY && v->n == 1 ? &v->items[0] : v;
    return json_i64(v, &o->header) && o->header >= 0 ? GREBE_OK
                                                     : builder_option_fail("header", "\"infer\", null or a row", v, err);
}

static grebe_status read_rows(const struct builder_base *b, struct csv_options *o, grebe_error *err)
{
    const struct json_value *skip = builder_option_set(b, "skiprows");
    const char *bad = "error";
    grebe_status st = GREBE_OK;
    o->n_rows = -1;
    o->chunk_rows = CHUNK_ROWS;
    if (skip != NULL && skip->type == JSON_ARRAY) {
        o->skip_list = skip;
    } else {
        GREBE_TRY(builder_option_i64(b, "skiprows", 0, &o->skip_rows, err));
    }
    GREBE_TRY(builder_option_i64(b, "nrows", 0, &o->n_rows, err));
    GREBE_TRY(builder_option_i64(b, "skipfooter", 0, &o->skip_footer, err));
    GREBE_TRY(builder_option_i64(b, "chunksize", 1, &o->chunk_rows, err));
    GREBE_TRY(builder_option_text(b, "on_bad_lines", &bad, err));
    if (strcmp(bad, "warn") == 0) {
        o->on_bad = CSV_BAD_WARN;
    } else if (strcmp(bad, "skip") == 0) {
        o->on_bad = CSV_BAD_SKIP;
    } else if (strcmp(bad, "error") != 0) {
        st = builder_option_fail("on_bad_lines", "error, warn or skip", builder_option(b, "on_bad_lines"), err);
        goto out;
    }
    const struct json_value *index = builder_option_set(b, "index_col");
    o->is_index_off = index != NULL && index->type == JSON_BOOL && !index->boolean;
    o->index_col = o->is_index_off ? NULL : index;
    o->usecols = builder_option_set(b, "usecols");
    if (o->usecols != NULL && o->usecols->type != JSON_ARRAY) {
        st = builder_option_fail("usecols", "a list of names or numbers", o->usecols, err);
    }
out:
    return st;
}

grebe_status csv_read_options(const struct builder_base *b, struct arena *ar, struct csv_options *o, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    memset(o, 0, sizeof *o);
    o->decimal = '.';
    GREBE_TRY(read_format(b, &o->format, err));
    GREBE_TRY(builder_encoding_options(b, &o->encoding, err));
    GREBE_TRY(read_header(b, o, err));
    GREBE_TRY(read_rows(b, o, err));
    GREBE_TRY(read_na(b, ar, o, err));
    GREBE_TRY(read_words(b, ar, "true_values", &o->true_words, err));
    GREBE_TRY(read_words(b, ar, "false_values", &o->false_words, err));
    GREBE_TRY(read_char(b, "thousands", &o->thousands, err));
    st = read_char(b, "decimal", &o->decimal, err);
out:
    return st;
}
