/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_PLOT_PLOT_INTERNAL_H
#define GREBE_PLOT_PLOT_INTERNAL_H

#include "plot/plot.h"

enum { PLOT_TICKS_MAX = 40, PLOT_COLORS = 10, PLOT_WIDTH = 900, PLOT_NAME_MAX = 90 };

struct plot_tick {
    double at; /* transformed */
    char text[32];
    bool is_minor; /* a line without a text */
};

/** An axis with its bounds, in transformed values. */
struct plot_range {
    const struct plot_axis *axis;
    double low, high;
    struct plot_tick ticks[PLOT_TICKS_MAX];
    size_t n_ticks;
};

/** The value on the axis; NaN: it has no place there. */
double plot_transform(const struct plot_axis *axis, double v);
/** Bounds and ticks around values from low to high (not transformed). */
void plot_range_set(struct plot_range *r, const struct plot_axis *axis, double low, double high);

/* Writing. After a failure nothing more is written, and the failure stays. */
struct plot_out {
    struct buf *dst;
    grebe_error *err;
    grebe_status st;
};
void plot_put(struct plot_out *o, const char *text);
/** Text with what XML needs escaped, cut at `most` characters. */
void plot_put_text(struct plot_out *o, const char *text, size_t most);
/** A coordinate with two places at most. */
void plot_put_number(struct plot_out *o, double v);
/** printf without floats. */
void plot_putf(struct plot_out *o, const char *fmt, ...) GREBE_PRINTF(2, 3);
/** A value as people read it: four significant digits, thousands as they are. dst: shape [32]. */
const char *plot_value_text(char *dst, double v);
/** Width in pixels of a text of this size, about. */
double plot_text_width(const char *text, double size);

/** <svg …>, styles, background and titles. */
void plot_begin(struct plot_out *o, double width, double height, const char *title, const char *subtitle);
/** A marker of series i. @param more Attributes, or "". */
void plot_marker(struct plot_out *o, size_t i, double x, double y, const char *classes);
/** Around a picture: what makes it a page. */
void plot_page_begin(struct plot_out *o, const char *title);
void plot_page_end(struct plot_out *o);

void plot_draw_chart(struct plot_out *o, const struct plot_chart *chart);
void plot_draw_bars(struct plot_out *o, const struct plot_bars *bars);

#endif
