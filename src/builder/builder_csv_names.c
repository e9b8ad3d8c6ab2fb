/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the columns of a file of CSV as pandas makes them, and which of the columns are read. */
#include <string.h>

#include "base/name_index.h"
#include "base/utf8.h"
#include "builder/builder_csv.h"

/* ---- names ---- */

static grebe_status name_fail(grebe_error *err) { return mem_fail(err, 0, "names"); }

static const char *name_printf(struct csv_file *f, const char *format, const char *text, size_t i)
{
    struct buf b = BUF_INIT(f->arena.a);
    const char *copy = NULL;
    if (buf_printf(&b, NULL, format, text, i) == GREBE_OK) {
        copy = arena_str(&f->arena, (const char *)b.data, b.len);
    }
    buf_release(&b);
    return copy;
}

static bool is_unnamed(const char *name) { return strncmp(name, "Unnamed: ", 9) == 0; }

/* The name for one that is there already: with the first of ".1", ".2", … that makes it new. */
static grebe_status make_new(struct csv_file *f, struct name_index *counts, const struct name_index *header,
                             const char **name, grebe_error *err)
{
    const char *old = *name, *made = old;
    size_t *count = name_index_find(counts, old);
    for (size_t k = count != NULL ? *count : 0; k > 0;) {
        *name_index_find(counts, old) = k + 1;
        made = name_printf(f, "%s.%zu", old, k);
        if (made == NULL) {
            return name_fail(err);
        }
        count = name_index_find(counts, made);
        k = name_index_find(header, made) != NULL ? k + 1 : count != NULL ? *count : 0;
    }
    *name = made;
    return name_index_add(counts, made, 1, NULL, err);
}

/* As pandas makes names unique, columns without a name last. */
static grebe_status make_unique(struct csv_file *f, const char **names, size_t n, grebe_error *err)
{
    struct name_index counts = { 0 }, header = { 0 };
    grebe_status st = GREBE_OK;
    GREBE_TRY(name_index_new(f->arena.a, n, &counts, err));
    GREBE_TRY(name_index_new(f->arena.a, n, &header, err));
    for (size_t i = 0; i < n; i++) {
        GREBE_TRY(name_index_add(&header, names[i], 0, NULL, err));
    }
    for (size_t i = 0; i < 2 * n; i++) {
        const char **name = &names[i % n];
        if (is_unnamed(*name) == (i >= n)) {
            GREBE_TRY(make_new(f, &counts, &header, name, err));
            GREBE_TRY(name_index_add(&header, *name, 0, NULL, err));
        }
    }
out:
    name_index_release(&counts);
    name_index_release(&header);
    return st;
}

static grebe_status given_names(struct csv_file *f, const char **names, grebe_error *err)
{
    const struct json_value *v = f->o->names;
    for (size_t i = 0; i < v->n; i++) {
        names[i] = v->items[i].text;
        for (size_t k = 0; k < i; k++) {
            if (strcmp(names[k], names[i]) == 0) {
                return GREBE_FAIL(err, GREBE_EINVAL, "option \"names\": \"%s\" is there twice", names[i]);
            }
        }
    }
    return GREBE_OK;
}

grebe_status csv_make_names(struct csv_file *f, bool has_header, size_t row, size_t n, const char **names,
                            grebe_error *err)
{
    if (f->o->names != NULL) {
        return given_names(f, names, err);
    }
    for (size_t i = 0; i < n; i++) {
        const char *p = NULL;
        size_t len = 0;
        if (!has_header) {
            names[i] = name_printf(f, "%.0s%zu", "", i);
        } else if (csv_field_at(&f->chunk, row, i, &p, &len) && len > 0) {
            if (memchr(p, '\0', len) != NULL || !utf8_is_valid(p, len)) { /* UTF-16, or what is no text */
                return GREBE_FAIL(err, GREBE_ECORRUPT, "header, field %zu: expected UTF-8 without null characters", i + 1);
            }
            names[i] = arena_str(&f->arena, p, len);
        } else {
            names[i] = name_printf(f, "%sUnnamed: %zu", "", i);
        }
        if (names[i] == NULL) {
            return name_fail(err);
        }
    }
    return make_unique(f, names, n, err);
}

/* ---- columns ---- */

static bool is_of(const struct json_value *list, const char *name, size_t i)
{
    int64_t v = 0;
    if (list == NULL) {
        return false;
    }
    for (size_t k = 0; k < (list->type == JSON_ARRAY ? list->n : 1); k++) {
        const struct json_value *item = list->type == JSON_ARRAY ? &list->items[k] : list;
        if (json_is_text(item, name) || (item->type == JSON_NUMBER && json_i64(item, &v) && v >= 0 && (size_t)v == i)) {
            return true;
        }
    }
    return false;
}

static const struct csv_na *na_of(const struct csv_options *o, const char *name)
{
    for (size_t i = 1; i < o->n_na; i++) {
        if (strcmp(o->na[i].column, name) == 0) {
            return &o->na[i];
        }
    }
    return &o->na[0];
}

/* How the values of a feature are read: what is no plain number or truth value is text. */
static enum csv_type wanted_type(const struct feature *f)
{
    static const struct {
        const char *dtype;
        enum csv_type type;
    } known[] = { { "int", CSV_INT64 }, { "uint", CSV_UINT64 }, { "float", CSV_DOUBLE }, { "bool", CSV_BOOL } };
    for (size_t i = 0; f->kind == FEATURE_VALUE && i < sizeof known / sizeof known[0]; i++) {
        if (strncmp(f->dtype, known[i].dtype, strlen(known[i].dtype)) == 0) {
            return known[i].type;
        }
    }
    return CSV_TEXT;
}

static void add_column(struct csv_file *f, const char *name, size_t at)
{
    struct csv_column *c = &f->columns[f->n++];
    *c = (struct csv_column){ .name = name, .at = at, .na = na_of(f->o, name) };
    const struct feature *given = f->b->is_given ? features_find(f->b->b.features, name) : NULL;
    if (given != NULL) {
        c->is_given = true;
        c->wanted = wanted_type(given);
    }
}

/* Every name that was asked for is there. */
static grebe_status check_asked(const struct csv_file *f, const struct json_value *list, const char *option,
                                const char *const *names, size_t n, grebe_error *err)
{
    for (size_t k = 0; list != NULL && k < (list->type == JSON_ARRAY ? list->n : 1); k++) {
        const struct json_value *item = list->type == JSON_ARRAY ? &list->items[k] : list;
        int64_t v = 0;
        bool is_there = item->type == JSON_NUMBER && json_i64(item, &v) && v >= 0 && (size_t)v < n;
        for (size_t i = 0; i < n && item->type == JSON_STRING && !is_there; i++) {
            is_there = strcmp(names[i], item->text) == 0;
        }
        if (!is_there) {
            char quoted[64];
            return GREBE_FAIL(err, GREBE_EINVAL, "%s: option \"%s\": there is no column %s", f->reader.name, option,
                              item->type == JSON_STRING || item->type == JSON_NUMBER
                                  ? error_quote(quoted, sizeof quoted, item->text, item->n)
                                  : "of that kind");
        }
    }
    return GREBE_OK;
}

grebe_status csv_choose_columns(struct csv_file *f, const char *const *names, size_t n_names, size_t n_leading,
                                grebe_error *err)
{
    const struct csv_options *o = f->o;
    f->columns = arena_array(&f->arena, n_names + n_leading, sizeof *f->columns);
    if (f->columns == NULL) {
        return mem_fail(err, (n_names + n_leading) * sizeof *f->columns, "columns");
    }
    grebe_status st = check_asked(f, o->usecols, "usecols", names, n_names, err);
    st = st == GREBE_OK ? check_asked(f, o->index_col, "index_col", names, n_names, err) : st;
    for (size_t i = 0; i < n_names && st == GREBE_OK; i++) {
        bool is_used = o->usecols == NULL || is_of(o->usecols, names[i], i);
        if (is_used && !is_of(o->index_col, names[i], i)) {
            add_column(f, names[i], i + n_leading);
        }
    }
    for (size_t i = 0; i < n_names && st == GREBE_OK; i++) {
        if (is_of(o->index_col, names[i], i)) {
            add_column(f, is_unnamed(names[i]) ? "__index_level_0__" : names[i], i + n_leading);
        }
    }
    for (size_t i = 0; i < n_leading && st == GREBE_OK; i++) {
        const char *name = name_printf(f, "%s__index_level_%zu__", "", i);
        if (name == NULL) {
            return name_fail(err);
        }
        add_column(f, name, i);
    }
    return st;
}
