/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_ANN_ANN_PLOT_H
#define GREBE_ANN_ANN_PLOT_H

/* Cases of a report as a picture. */

#include "ann/ann_report.h"
#include "plot/plot.h"

struct ann_plot {
    const char *x, *y;             /* keys; NULL: recall_avg and qps */
    const char *x_scale, *y_scale; /* NULL: linear; of y: log */
    const char *title;             /* NULL: of the data sets */
    bool is_html;
    bool is_all;                   /* points that others beat, too */
    bool is_bars;                  /* build seconds and index bytes of each series */
};

grebe_status ann_plot(const struct ann_report *r, const struct ann_plot *plot, struct buf *dst, grebe_error *err);

#endif
