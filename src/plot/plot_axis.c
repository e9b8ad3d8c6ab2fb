/* SPDX-License-Identifier: Apache-2.0 */
/* Scales, bounds and ticks. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "plot/plot_internal.h"

/* Beyond these a logit has no end; what lies there is drawn at the edge. */
#define LOGIT_MOST (1 - 1e-5)
#define LOGIT_LEAST 1e-5

grebe_status plot_scale_parse(const char *name, struct plot_axis *axis, grebe_error *err)
{
    static const char *const names[] = { "linear", "log", "logit" };
    char quoted[64];
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(names[i], name) == 0) {
            axis->scale = (enum plot_scale)i;
            return GREBE_OK;
        }
    }
    if (name[0] == 'a' && number_parse_double(name + 1, strlen(name + 1), &axis->power) && axis->power > 0 &&
        axis->power <= 100) {
        axis->scale = PLOT_POWER;
        return GREBE_OK;
    }
    return GREBE_FAIL(err, GREBE_EINVAL, "scale: expected linear, log, logit or aN (such as a3), found \"%s\"",
                      error_quote(quoted, sizeof quoted, name, strlen(name)));
}

double plot_transform(const struct plot_axis *axis, double v)
{
    if (!isfinite(v)) {
        return NAN;
    }
    switch (axis->scale) {
    case PLOT_LINEAR: return v;
    case PLOT_LOG: return v > 0 ? log10(v) : NAN;
    case PLOT_LOGIT:
        v = v < LOGIT_LEAST ? LOGIT_LEAST : v > LOGIT_MOST ? LOGIT_MOST : v;
        return log10(v / (1 - v));
    case PLOT_POWER: return 1 - pow(v > 1 ? 0 : 1 - v, 1 / axis->power);
    }
    return NAN;
}

/* Places behind the point that a step needs. */
static int decimals_of(double step)
{
    int n = 0;
    for (double x = step; n < 9 && fabs(x - round(x)) > 1e-6 * fabs(x); n++) {
        x *= 10;
    }
    return n;
}

static void add_tick(struct plot_range *r, double v, int decimals, bool is_minor)
{
    double at = plot_transform(r->axis, v);
    if (r->n_ticks == PLOT_TICKS_MAX || isnan(at) || at < r->low - 1e-9 || at > r->high + 1e-9 ||
        (r->n_ticks > 0 && at <= r->ticks[r->n_ticks - 1].at)) { /* the edge of a logit has one */
        return;
    }
    struct plot_tick *t = &r->ticks[r->n_ticks++];
    t->at = at;
    t->is_minor = is_minor;
    if (v >= 1e6 || (v > 0 && v < 1e-5)) {
        t->text[number_put_double(t->text, v, &(struct number_style){ -5, 6, false, false })] = '\0';
        char *point = strstr(t->text, ".0e");
        if (point != NULL) {
            memmove(point, point + 2, strlen(point + 2) + 1);
        }
    } else {
        t->text[number_put_fixed(t->text, v, decimals)] = '\0';
    }
}

/* 1, 2 or 5 times a power of ten, so that there are at most eight steps. */
static double step_of(double span)
{
    static const double steps[] = { 1, 2, 5, 10 };
    double unit = pow(10, floor(log10(span / 6))), step = unit;
    for (size_t i = 0; i < 4 && span / step > 8; i++) {
        step = unit * steps[i];
    }
    return step;
}

static void linear_ticks(struct plot_range *r, double low, double high)
{
    double step = step_of(high - low > 0 ? high - low : fabs(high) > 0 ? fabs(high) : 1);
    r->low = floor(low / step + 1e-9) * step;
    r->high = ceil(high / step - 1e-9) * step;
    if (r->high - r->low < step / 2) {
        r->low -= step;
        r->high += step;
    }
    int decimals = decimals_of(step);
    for (int i = 0; i <= 20; i++) {
        add_tick(r, r->low + i * step, decimals, false);
    }
    double pad = (r->high - r->low) * 0.015; /* markers on the edge stay whole */
    r->low -= pad;
    r->high += pad;
}

/* Where the ticks of a scale are too far apart for what is drawn: equal steps. */
static void equal_ticks(struct plot_range *r, double from, double to)
{
    double step = step_of(to > from ? to - from : 0.1);
    r->n_ticks = 0;
    for (int i = 0; i <= 10; i++) {
        add_tick(r, (floor(from / step) + i) * step, decimals_of(step), false);
    }
    if (r->n_ticks == 0) {
        add_tick(r, from, 5, false);
    }
}

static void log_ticks(struct plot_range *r, double low, double high)
{
    static const double fine[] = { 1, 2, 5 }, finest[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9 };
    double pad = (log10(high) - log10(low)) * 0.06;
    r->low = log10(low) - (pad > 0.02 ? pad : 0.02);
    r->high = log10(high) + (pad > 0.02 ? pad : 0.02);
    double decades = r->high - r->low;
    const double *steps = decades < 0.7 ? finest : fine;
    size_t n = decades < 0.7 ? 9 : decades < 3.5 ? 3 : 1;
    int skip = decades > 12 ? (int)(decades / 12) + 1 : 1;
    for (int e = (int)floor(r->low); e <= (int)ceil(r->high); e += skip) {
        for (size_t i = 0; i < n; i++) {
            add_tick(r, steps[i] * pow(10, e), e < 0 ? -e : 0, false);
        }
    }
    if (r->n_ticks < 3) {
        equal_ticks(r, pow(10, r->low), pow(10, r->high));
    }
}

/* Towards 1: 0.9, 0.99, 0.999, …; what matters most is placed first, the rest where there is room. */
static void nines_ticks(struct plot_range *r)
{
    static const struct { double v; int decimals, rank; } at[] = {
        { 0, 0, 1 }, { 0.1, 1, 2 }, { 0.2, 1, 3 }, { 0.3, 1, 2 }, { 0.4, 1, 3 }, { 0.5, 1, 1 }, { 0.6, 1, 3 }, { 0.7, 1, 2 },
        { 0.8, 1, 2 }, { 0.9, 1, 0 }, { 0.95, 2, 1 }, { 0.98, 2, 2 }, { 0.99, 2, 0 }, { 0.995, 3, 2 }, { 0.999, 3, 0 },
        { 0.9999, 4, 1 }, { 1, 0, 0 },
    };
    enum { N = sizeof at / sizeof at[0], RANKS = 4 };
    double room = (r->high - r->low) / 16;
    bool is_taken[N] = { false };
    for (int rank = 0; rank < RANKS; rank++) {
        for (size_t i = N; i-- > 0;) {
            bool fits = at[i].rank == rank;
            for (size_t j = 0; j < N && fits; j++) {
                double t = plot_transform(r->axis, at[i].v), u = plot_transform(r->axis, at[j].v);
                fits = !is_taken[j] || u < r->low || u > r->high || fabs(t - u) >= room;
            }
            is_taken[i] = is_taken[i] || fits;
        }
    }
    for (size_t i = 0; i < N; i++) {
        if (is_taken[i]) {
            add_tick(r, at[i].v, at[i].decimals, false);
        }
    }
}

void plot_range_set(struct plot_range *r, const struct plot_axis *axis, double low, double high)
{
    *r = (struct plot_range){ .axis = axis };
    if (axis->scale == PLOT_LINEAR) {
        linear_ticks(r, low, high);
        return;
    }
    if (axis->scale == PLOT_LOG) {
        log_ticks(r, low, high);
        return;
    }
    r->low = plot_transform(axis, low);
    r->high = plot_transform(axis, high);
    double pad = (r->high - r->low) * 0.04;
    pad = pad > 0 ? pad : 0.1;
    r->low -= pad;
    r->high += axis->scale == PLOT_POWER && high >= 1 ? pad / 3 : pad;
    nines_ticks(r);
    if (r->n_ticks < 2) {
        equal_ticks(r, low, high);
    }
}

/* ---- frontier ---- */

static int by_x(const void *a, const void *b)
{
    const struct plot_point *p = a, *q = b;
    if (p->is_beaten != q->is_beaten) {
        return p->is_beaten ? 1 : -1;
    }
    return p->x < q->x ? -1 : p->x > q->x ? 1 : p->y < q->y ? -1 : p->y > q->y;
}

void plot_frontier(struct plot_point *points, size_t n, bool is_more_x_better, bool is_more_y_better)
{
    double sx = is_more_x_better ? 1 : -1, sy = is_more_y_better ? 1 : -1;
    for (size_t i = 0; i < n; i++) {
        points[i].is_beaten = false;
        for (size_t j = 0; j < n && !points[i].is_beaten; j++) {
            double dx = sx * (points[j].x - points[i].x), dy = sy * (points[j].y - points[i].y);
            points[i].is_beaten = dx >= 0 && dy >= 0 && (dx > 0 || dy > 0 || j < i);
        }
    }
    qsort(points, n, sizeof *points, by_x);
}
