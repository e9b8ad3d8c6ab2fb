/* SPDX-License-Identifier: Apache-2.0 */
#include "ann/ann_plot.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Cases of one curve: the same index with the same build parameters on the same data. */
struct group {
    const char *name;
    size_t first; /* a case of it */
    struct plot_point *points;
    size_t n;
};

struct work {
    const struct ann_report *r;
    const struct ann_plot *o;
    struct arena ar;
    struct group *groups;
    size_t n_groups;
    bool has_many_paths; /* names tell the data set then */
};

static const char *text_of(const struct ann_case *c, enum ann_text which)
{
    return c->text[which] == NULL ? "" : c->text[which];
}

static const char *series_of(const struct ann_case *c)
{
    return c->text[ANN_TEXT_SERIES] != NULL ? c->text[ANN_TEXT_SERIES] : text_of(c, ANN_TEXT_INDEX);
}

static bool is_together(const struct ann_case *x, const struct ann_case *y)
{
    return strcmp(series_of(x), series_of(y)) == 0 && strcmp(text_of(x, ANN_TEXT_PATH), text_of(y, ANN_TEXT_PATH)) == 0 &&
           strcmp(text_of(x, ANN_TEXT_INDEX_INFO), text_of(y, ANN_TEXT_INDEX_INFO)) == 0;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

static grebe_status name_group(struct work *w, struct group *g, grebe_error *err)
{
    const struct ann_case *c = &w->r->cases[g->first];
    char text[700];
    snprintf(text, sizeof text, w->has_many_paths ? "%s, %s" : "%s", series_of(c), base_name(text_of(c, ANN_TEXT_PATH)));
    for (size_t i = 0; i < w->n_groups; i++) { /* told apart by their parameters alone */
        if (&w->groups[i] != g && w->groups[i].name != NULL && strcmp(w->groups[i].name, text) == 0) {
            size_t n = strlen(text);
            snprintf(text + n, sizeof text - n, " %.300s", text_of(c, ANN_TEXT_INDEX_INFO));
            break;
        }
    }
    g->name = arena_str(&w->ar, text, strlen(text));
    return g->name == NULL ? mem_fail(err, sizeof text, "a plot") : GREBE_OK;
}

static grebe_status find_groups(struct work *w, grebe_error *err)
{
    const struct ann_report *r = w->r;
    w->groups = arena_array(&w->ar, r->n + 1, sizeof *w->groups);
    if (w->groups == NULL) {
        return mem_fail(err, r->n * sizeof *w->groups, "a plot");
    }
    for (size_t i = 1; i < r->n; i++) {
        const char *path = text_of(&r->cases[i], ANN_TEXT_PATH), *first = text_of(&r->cases[0], ANN_TEXT_PATH);
        w->has_many_paths = w->has_many_paths || strcmp(path, first) != 0;
    }
    for (size_t i = 0; i < r->n; i++) {
        size_t g = 0;
        while (g < w->n_groups && !is_together(&r->cases[w->groups[g].first], &r->cases[i])) {
            g++;
        }
        if (g == w->n_groups) {
            w->groups[w->n_groups++].first = i;
            grebe_status st = name_group(w, &w->groups[g], err);
            if (st != GREBE_OK) {
                return st;
            }
        }
    }
    return GREBE_OK;
}

static bool is_more_better(const char *key)
{
    static const char *const more[] = { "recall", "qps", "tps", "precision", "average_precision" };
    for (size_t i = 0; i < sizeof more / sizeof more[0]; i++) {
        if (strncmp(key, more[i], strlen(more[i])) == 0) {
            return true;
        }
    }
    return false;
}

static grebe_status fill_points(struct work *w, const char *x, const char *y, grebe_error *err)
{
    const struct ann_report *r = w->r;
    for (size_t g = 0; g < w->n_groups; g++) {
        struct group *group = &w->groups[g];
        group->points = arena_array(&w->ar, r->n, sizeof *group->points);
        if (group->points == NULL) {
            return mem_fail(err, r->n * sizeof *group->points, "a plot");
        }
        for (size_t i = 0; i < r->n; i++) {
            const double *vx = ann_case_number(&r->cases[i], x), *vy = ann_case_number(&r->cases[i], y);
            if (is_together(&r->cases[group->first], &r->cases[i]) && isfinite(*vx) && isfinite(*vy)) {
                group->points[group->n++] = (struct plot_point){ *vx, *vy, text_of(&r->cases[i], ANN_TEXT_NAME), false };
            }
        }
        plot_frontier(group->points, group->n, is_more_better(x), is_more_better(y));
        if (!w->o->is_all) {
            while (group->n > 0 && group->points[group->n - 1].is_beaten) {
                group->n--;
            }
        }
    }
    return GREBE_OK;
}

/* "recall@10" where all cases have the same k and rule. */
static void axis_title(const struct ann_report *r, const char *key, char *dst, size_t room)
{
    if (strcmp(key, "recall_avg") == 0) {
        double k = r->n > 0 ? r->cases[0].number[ANN_TOPK] : NAN;
        const char *rule = r->n > 0 ? text_of(&r->cases[0], ANN_TEXT_RULE) : "";
        for (size_t i = 1; i < r->n; i++) {
            k = r->cases[i].number[ANN_TOPK] == k ? k : NAN;
            rule = strcmp(rule, text_of(&r->cases[i], ANN_TEXT_RULE)) == 0 ? rule : "";
        }
        size_t n = (size_t)snprintf(dst, room, isfinite(k) ? "recall@%.0f" : "recall", isfinite(k) ? k : 0.0);
        if (rule[0] != '\0' && n < room) {
            snprintf(dst + n, room - n, " (%s)", rule);
        }
    } else if (strcmp(key, "qps") == 0) {
        snprintf(dst, room, "queries per second");
    } else if (strcmp(key, "qps_cpu") == 0) {
        snprintf(dst, room, "queries per second of processor");
    } else {
        snprintf(dst, room, "%s", key);
    }
}

static void describe(const struct work *w, const char *what, char *dst, size_t room)
{
    const struct ann_report *r = w->r;
    double threads = r->n > 0 ? r->cases[0].number[ANN_SEARCH_THREADS] : NAN;
    double rows = r->n > 0 ? r->cases[0].number[ANN_BASE_COUNT] : NAN, dim = r->n > 0 ? r->cases[0].number[ANN_DIM] : NAN;
    for (size_t i = 1; i < r->n; i++) {
        threads = r->cases[i].number[ANN_SEARCH_THREADS] == threads ? threads : NAN;
    }
    size_t n = 0;
    if (!w->has_many_paths && isfinite(rows) && isfinite(dim)) {
        n += (size_t)snprintf(dst, room, "%.0f rows of %.0f, %s; ", rows, dim, text_of(&r->cases[0], ANN_TEXT_METRIC));
    }
    if (isfinite(threads) && n < room && what[0] != '\0') {
        n += (size_t)snprintf(dst + n, room - n, "%.0f thread%s; ", threads, threads == 1 ? "" : "s");
    }
    snprintf(dst + n, room - n, "%s", what);
}

static const char *default_title(const struct work *w)
{
    return w->has_many_paths ? "Several data sets" : w->r->n == 0 ? "" : base_name(text_of(&w->r->cases[0], ANN_TEXT_PATH));
}

static grebe_status unknown_key(const char *key, grebe_error *err)
{
    char quoted[64];
    return GREBE_FAIL(err, GREBE_EINVAL, "plot: expected the key of a number such as recall_avg, qps, latency_avg(ms), "
                      "index_memory(B) or duration(s), found \"%s\"", error_quote(quoted, sizeof quoted, key, strlen(key)));
}

static grebe_status plot_curves(struct work *w, struct buf *dst, grebe_error *err)
{
    const struct ann_plot *o = w->o;
    const char *x = o->x != NULL ? o->x : "recall_avg", *y = o->y != NULL ? o->y : "qps";
    char x_title[128], y_title[128], subtitle[256];
    struct ann_case any = { 0 };
    struct plot_chart c = { .title = o->title != NULL ? o->title : default_title(w), .subtitle = subtitle };
    grebe_status st = GREBE_OK;
    GREBE_TRY(ann_case_number(&any, x) == NULL ? unknown_key(x, err) : GREBE_OK);
    GREBE_TRY(ann_case_number(&any, y) == NULL ? unknown_key(y, err) : GREBE_OK);
    GREBE_TRY(plot_scale_parse(o->x_scale != NULL ? o->x_scale : "linear", &c.x, err));
    GREBE_TRY(plot_scale_parse(o->y_scale != NULL ? o->y_scale : "log", &c.y, err));
    axis_title(w->r, x, x_title, sizeof x_title);
    axis_title(w->r, y, y_title, sizeof y_title);
    describe(w, o->is_all ? "all points, curves along the best" : "the best points of each index", subtitle, sizeof subtitle);
    c.x.title = x_title;
    c.y.title = y_title;
    GREBE_TRY(fill_points(w, x, y, err));
    struct plot_series *series = arena_array(&w->ar, w->n_groups + 1, sizeof *series);
    GREBE_TRY(series == NULL ? mem_fail(err, w->n_groups * sizeof *series, "a plot") : GREBE_OK);
    for (size_t i = 0; i < w->n_groups; i++) {
        if (w->groups[i].n > 0) {
            series[c.n++] = (struct plot_series){ w->groups[i].name, w->groups[i].points, w->groups[i].n };
        }
    }
    c.series = series;
    GREBE_TRY(o->is_html ? plot_chart_html(&c, dst, err) : plot_chart_svg(&c, dst, err));
out:
    return st;
}

/* The first case of a group that knows it: building and searching may be cases of their own. */
static double first_of(const struct work *w, const struct group *g, enum ann_number which)
{
    for (size_t i = g->first; i < w->r->n; i++) {
        if (is_together(&w->r->cases[g->first], &w->r->cases[i]) && isfinite(w->r->cases[i].number[which])) {
            return w->r->cases[i].number[which];
        }
    }
    return NAN;
}

static grebe_status plot_sizes(struct work *w, struct buf *dst, grebe_error *err)
{
    char subtitle[256];
    struct plot_bars b = { .title = w->o->title != NULL ? w->o->title : default_title(w), .subtitle = subtitle };
    const char **names = arena_array(&w->ar, w->n_groups + 1, sizeof *names);
    double *values = arena_array(&w->ar, 3 * (w->n_groups + 1), sizeof *values);
    if (names == NULL || values == NULL) {
        return mem_fail(err, w->n_groups * sizeof *names, "a plot");
    }
    double *seconds = values, *cpu = values + w->n_groups, *bytes = cpu + w->n_groups;
    for (size_t i = 0; i < w->n_groups; i++) {
        names[i] = w->groups[i].name;
        seconds[i] = first_of(w, &w->groups[i], ANN_BUILD_SECONDS);
        cpu[i] = first_of(w, &w->groups[i], ANN_BUILD_CPU_SECONDS);
        bytes[i] = first_of(w, &w->groups[i], ANN_INDEX_BYTES) / 1048576;
    }
    struct plot_bar_group groups[] = { { "build time, seconds", seconds, 2 },
                                       { "build time, seconds of processor", cpu, 2 }, { "index size, MiB", bytes, 1 } };
    describe(w, "", subtitle, sizeof subtitle);
    size_t n = strlen(subtitle);
    if (n >= 2) {
        subtitle[n - 2] = '\0'; /* the semicolon */
    }
    b.names = names;
    b.n = w->n_groups;
    b.groups = groups;
    b.n_groups = 3;
    return w->o->is_html ? plot_bars_html(&b, dst, err) : plot_bars_svg(&b, dst, err);
}

grebe_status ann_plot(const struct ann_report *r, const struct ann_plot *plot, struct buf *dst, grebe_error *err)
{
    struct work w = { .r = r, .o = plot, .ar = ARENA_INIT(r->ctx->a) };
    grebe_status st = find_groups(&w, err);
    st = st != GREBE_OK ? st : plot->is_bars ? plot_sizes(&w, dst, err) : plot_curves(&w, dst, err);
    arena_release(&w.ar);
    return st;
}
