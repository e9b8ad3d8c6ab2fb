/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_PLOT_PLOT_H
#define GREBE_PLOT_PLOT_H

/*
 * Curves and bars as SVG, or as one page of HTML with values under the pointer. Nothing outside is referred to; light and
 * dark follow the reader's setting; equal charts give equal bytes.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

enum plot_scale { PLOT_LINEAR, PLOT_LOG, PLOT_LOGIT, PLOT_POWER /* 1 - (1-x)^(1/power): near 1 there is more room */ };

struct plot_axis {
    const char *title;
    enum plot_scale scale;
    double power;
};

struct plot_point {
    double x, y;
    const char *label; /* what a reader sees under the pointer; may be NULL */
    bool is_beaten;    /* drawn faint, and the curve passes it by */
};

struct plot_series {
    const char *name;
    const struct plot_point *points; /* in the order of the curve */
    size_t n;
};

/** Texts are UTF-8. What has no place on an axis (NaN, 0 on a logarithmic one) is left out. */
struct plot_chart {
    const char *title, *subtitle; /* NULL: none */
    struct plot_axis x, y;
    const struct plot_series *series;
    size_t n;
};

/** One group of bars: a value for each name, NaN: none. */
struct plot_bar_group {
    const char *title;
    const double *values; /* shape [n] of the chart */
    int decimals;
};

struct plot_bars {
    const char *title, *subtitle;
    const char *const *names; /* shape [n] */
    size_t n;
    const struct plot_bar_group *groups;
    size_t n_groups;
};

/** "linear", "log", "logit", "aN" with a number N > 0. */
grebe_status plot_scale_parse(const char *name, struct plot_axis *axis, grebe_error *err);
/** Mark the points that another one beats in both directions, and sort the rest along x. */
void plot_frontier(struct plot_point *points, size_t n, bool is_more_x_better, bool is_more_y_better);

/** @return GREBE_OK; GREBE_EINVAL: there is no point to draw; GREBE_ENOMEM. */
grebe_status plot_chart_svg(const struct plot_chart *chart, struct buf *dst, grebe_error *err);
grebe_status plot_chart_html(const struct plot_chart *chart, struct buf *dst, grebe_error *err);
grebe_status plot_bars_svg(const struct plot_bars *bars, struct buf *dst, grebe_error *err);
grebe_status plot_bars_html(const struct plot_bars *bars, struct buf *dst, grebe_error *err);

#endif
