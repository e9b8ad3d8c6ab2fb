/* SPDX-License-Identifier: Apache-2.0 */
/* `grebe data map`, `filter`, `shuffle`, `split`, `sort`, `select`: SRC to DEST. */
#include "data.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "opt.h"
#include "out.h"

/* What one verb does: *out from ds. */
typedef grebe_status (*change_fn)(void *arg, const grebe_dataset *ds, const grebe_transform_options *o,
                                  grebe_dataset **out, grebe_error *err);

static int change(struct cli *cli, change_fn fn, void *arg)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct data_source s;
    const grebe_dataset *ds = NULL;
    grebe_dataset *changed = NULL;
    grebe_transform_options o;
    data_transform_options(cli, &o);
    int code = data_open(cli, cli->positional[0], &s);
    code = code != 0 ? code : data_one(cli, cli->positional[0], &s, &ds);
    if (code == 0 && fn(arg, ds, &o, &changed, &err) != GREBE_OK) {
        code = out_error(cli, cli->cmd->name, &err);
    }
    code = code != 0 ? code : data_write(cli, changed, cli->positional[1]);
    grebe_dataset_free(changed);
    data_close(&s);
    return code;
}

/* ---- filter ---- */

static grebe_status run_filter(void *arg, const grebe_dataset *ds, const grebe_transform_options *o,
                               grebe_dataset **out, grebe_error *err)
{
    return grebe_dataset_filter(ds, arg, o, out, err);
}

int cmd_data_filter(struct cli *cli)
{
    const char *where = opt_get(cli, "where");
    return where == NULL ? out_usage(cli, "expected --where EXPR") : change(cli, run_filter, (void *)(uintptr_t)where);
}

/* ---- shuffle ---- */

static grebe_status run_shuffle(void *arg, const grebe_dataset *ds, const grebe_transform_options *o,
                                grebe_dataset **out, grebe_error *err)
{
    return grebe_dataset_shuffle(ds, *(const grebe_seed *)arg, o, out, err);
}

int cmd_data_shuffle(struct cli *cli)
{
    uint32_t words[2];
    grebe_seed seed;
    int code = data_seed(cli, words, &seed);
    return code != 0 ? code : change(cli, run_shuffle, &seed);
}

/* ---- sort ---- */

struct sorting {
    grebe_sort_key *keys;
    size_t n;
    bool are_nulls_first;
};

static grebe_status run_sort(void *arg, const grebe_dataset *ds, const grebe_transform_options *o, grebe_dataset **out,
                             grebe_error *err)
{
    const struct sorting *s = arg;
    return grebe_dataset_sort(ds, s->keys, s->n, s->are_nulls_first, o, out, err);
}

int cmd_data_sort(struct cli *cli)
{
    const char **names = NULL;
    struct sorting s = { NULL, 0, false };
    int nulls = 0;
    if (!opt_has(cli, "by")) {
        return out_usage(cli, "expected --by COLUMN,-COLUMN");
    }
    int code = split_names(cli, opt_get(cli, "by"), &names, &s.n);
    code = code != 0 ? code : opt_choice(cli, "nulls", "last|first", &nulls);
    if (code != 0) {
        return code;
    }
    s.keys = cli_alloc(cli, s.n, sizeof *s.keys);
    for (size_t i = 0; i < s.n; i++) {
        bool is_descending = names[i][0] == '-';
        s.keys[i] = (grebe_sort_key){ names[i] + is_descending, is_descending };
    }
    s.are_nulls_first = nulls == 1;
    return change(cli, run_sort, &s);
}

/* ---- select ---- */

struct selecting {
    int64_t *rows; /* NULL: a range */
    size_t n;
    int64_t begin, end;
    bool is_rows, is_range;
    const char **columns, **removed;
    size_t n_columns, n_removed;
};

static grebe_status run_select(void *arg, const grebe_dataset *ds, const grebe_transform_options *o,
                               grebe_dataset **out, grebe_error *err)
{
    const struct selecting *s = arg;
    grebe_dataset *now = grebe_dataset_keep(ds), *next = NULL;
    grebe_status st = GREBE_OK;
    for (int step = 0; step < 3 && st == GREBE_OK; step++) {
        next = NULL;
        if (step == 0 && s->is_range) {
            st = grebe_dataset_slice(now, s->begin, s->end, o, &next, err);
        } else if (step == 0 && s->is_rows) {
            st = grebe_dataset_select(now, s->rows, s->n, o, &next, err);
        } else if (step == 1 && s->columns != NULL) {
            st = grebe_dataset_select_columns(now, s->columns, s->n_columns, o, &next, err);
        } else if (step == 2 && s->removed != NULL) {
            st = grebe_dataset_remove_columns(now, s->removed, s->n_removed, o, &next, err);
        }
        if (next != NULL) {
            grebe_dataset_free(now);
            now = next;
        }
    }
    if (st != GREBE_OK) {
        grebe_dataset_free(now);
        return st;
    }
    *out = now;
    return GREBE_OK;
}

/* "9,0,4": rows in that order. */
static int parse_rows(struct cli *cli, const char *text, struct selecting *s)
{
    size_t n = 1;
    for (const char *p = text; *p != '\0'; p++) {
        n += *p == ',';
    }
    s->rows = cli_alloc(cli, n, sizeof *s->rows);
    s->is_rows = true;
    for (const char *p = text;;) {
        char *end = NULL;
        errno = 0;
        long long v = strtoll(p, &end, 10);
        if (end == p || errno != 0 || (*end != ',' && *end != '\0')) {
            return out_usage(cli, "--rows: expected numbers with commas between them, or BEGIN:END, found \"%s\"",
                             text);
        }
        s->rows[s->n++] = v;
        if (*end == '\0') {
            return 0;
        }
        p = end + 1;
    }
}

int cmd_data_select(struct cli *cli)
{
    struct selecting s = { .end = INT64_MAX };
    const char *rows = opt_get(cli, "rows");
    int code = 0;
    if (rows != NULL && strchr(rows, ':') != NULL) {
        s.is_range = true;
        code = opt_range(cli, "rows", &s.begin, &s.end);
    } else if (rows != NULL) {
        code = parse_rows(cli, rows, &s);
    }
    if (code == 0 && opt_has(cli, "columns")) {
        code = split_names(cli, opt_get(cli, "columns"), &s.columns, &s.n_columns);
    }
    if (code == 0 && opt_has(cli, "remove")) {
        code = split_names(cli, opt_get(cli, "remove"), &s.removed, &s.n_removed);
    }
    if (code == 0 && rows == NULL && s.columns == NULL && s.removed == NULL) {
        code = out_usage(cli, "expected --rows, --columns or --remove");
    }
    return code != 0 ? code : change(cli, run_select, &s);
}

/* ---- split ---- */

/* A fraction, or a number of rows. */
static int parse_part(struct cli *cli, const char *name, double *fraction, int64_t *rows)
{
    const char *text = opt_get(cli, name);
    char *end = NULL;
    if (text == NULL) {
        return 0;
    }
    if (strpbrk(text, ".eE") != NULL) {
        *fraction = strtod(text, &end);
    } else {
        *rows = strtoll(text, &end, 10);
    }
    return end != text && *end == '\0' && text[0] != '-'
               ? 0
               : out_usage(cli, "--%s: expected a fraction such as 0.2, or rows, found %s", name, text);
}

int cmd_data_split(struct cli *cli)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_split_options o = GREBE_SPLIT_OPTIONS_INIT;
    grebe_transform_options t;
    struct data_source s;
    const grebe_dataset *ds = NULL;
    grebe_dataset *train = NULL, *test = NULL;
    uint32_t words[2];
    data_transform_options(cli, &t);
    int code = parse_part(cli, "test", &o.test_fraction, &o.test_rows);
    code = code != 0 ? code : parse_part(cli, "train", &o.train_fraction, &o.train_rows);
    code = code != 0 ? code : data_seed(cli, words, &o.seed);
    if (code != 0) {
        return code;
    }
    o.stratify_by = opt_get(cli, "stratify");
    o.is_in_order = opt_has(cli, "in-order");
    code = data_open(cli, cli->positional[0], &s);
    code = code != 0 ? code : data_one(cli, cli->positional[0], &s, &ds);
    if (code == 0 && grebe_dataset_train_test_split(ds, &o, &t, &train, &test, &err) != GREBE_OK) {
        code = out_error(cli, "data split", &err);
    }
    if (code == 0) {
        const char *names[2] = { "train", "test" };
        const grebe_dataset *sets[2] = { train, test };
        code = data_write_dict(cli, names, sets, 2, cli->positional[1]);
    }
    grebe_dataset_free(train);
    grebe_dataset_free(test);
    data_close(&s);
    return code;
}

/* ---- map ---- */

struct mapping {
    grebe_computed_column *columns;
    size_t n;
    const char **removed;
    size_t n_removed;
    char file[4096]; /* where the new columns are written */
};

static grebe_status run_map(void *arg, const grebe_dataset *ds, const grebe_transform_options *given,
                            grebe_dataset **out, grebe_error *err)
{
    const struct mapping *m = arg;
    grebe_transform_options o = *given;
    grebe_dataset *computed = NULL;
    o.keep_in_memory = false;
    o.cache_file = m->file;
    grebe_status st = m->n > 0 ? grebe_dataset_map_expr(ds, m->columns, m->n, &o, &computed, err)
                               : (computed = grebe_dataset_keep(ds), GREBE_OK);
    if (st != GREBE_OK || m->removed == NULL) {
        *out = computed;
        return st;
    }
    st = grebe_dataset_remove_columns(computed, m->removed, m->n_removed, given, out, err);
    grebe_dataset_free(computed);
    return st;
}

/* "n = length(text)" */
static int parse_set(struct cli *cli, const char *text, grebe_computed_column *out)
{
    const char *equals = strchr(text, '=');
    if (equals == NULL || equals[1] == '=') {
        return out_usage(cli, "--set: expected NAME = EXPR, found %s", text);
    }
    char *name = cli_copy(cli, text), *end = name + (equals - text);
    while (end > name && end[-1] == ' ') {
        end--;
    }
    *end = '\0';
    while (*name == ' ') {
        name++;
    }
    *out = (grebe_computed_column){ name, equals + 1 + strspn(equals + 1, " ") };
    return name[0] != '\0' ? 0 : out_usage(cli, "--set: expected NAME = EXPR, found %s", text);
}

int cmd_data_map(struct cli *cli)
{
    struct mapping m = { 0 };
    size_t n = 0;
    const char *tmp = getenv("TMPDIR");
    int code = 0;
    while (opt_nth(cli, "set", n) != NULL) {
        n++;
    }
    m.columns = cli_alloc(cli, n, sizeof *m.columns);
    for (; m.n < n && code == 0; m.n++) {
        code = parse_set(cli, opt_nth(cli, "set", m.n), &m.columns[m.n]);
    }
    if (code == 0 && opt_has(cli, "remove")) {
        code = split_names(cli, opt_get(cli, "remove"), &m.removed, &m.n_removed);
    }
    if (code == 0 && n == 0 && m.removed == NULL) {
        code = out_usage(cli, "expected --set 'NAME = EXPR' or --remove A,B");
    }
    snprintf(m.file, sizeof m.file, "%s/grebe-map-%ld.arrow", tmp != NULL && *tmp != '\0' ? tmp : "/tmp",
             (long)getpid());
    code = code != 0 ? code : change(cli, run_map, &m);
    unlink(m.file);
    return code;
}
