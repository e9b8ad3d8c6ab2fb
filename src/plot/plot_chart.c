/* SPDX-License-Identifier: Apache-2.0 */
/* Curves. */
#include <math.h>
#include <string.h>

#include "plot/plot_internal.h"

enum { TOP = 76, BOTTOM = 56, RIGHT = 28, PANEL = 400, LEGEND_ROW = 22, LEGEND_TEXT = 13 };

struct frame {
    const struct plot_chart *chart;
    struct plot_range x, y;
    double left, right, top, bottom;
};

static double place_x(const struct frame *f, double v)
{
    double t = plot_transform(&f->chart->x, v);
    return f->left + (t - f->x.low) / (f->x.high - f->x.low) * (f->right - f->left);
}

static double place_y(const struct frame *f, double v)
{
    double t = plot_transform(&f->chart->y, v);
    return f->bottom - (t - f->y.low) / (f->y.high - f->y.low) * (f->bottom - f->top);
}

static bool is_drawn(const struct plot_chart *c, const struct plot_point *p)
{
    return !isnan(plot_transform(&c->x, p->x)) && !isnan(plot_transform(&c->y, p->y));
}

static bool set_ranges(struct frame *f)
{
    const struct plot_chart *c = f->chart;
    double x0 = INFINITY, x1 = -INFINITY, y0 = INFINITY, y1 = -INFINITY;
    for (size_t i = 0; i < c->n; i++) {
        for (size_t j = 0; j < c->series[i].n; j++) {
            const struct plot_point *p = &c->series[i].points[j];
            if (is_drawn(c, p)) {
                x0 = fmin(x0, p->x);
                x1 = fmax(x1, p->x);
                y0 = fmin(y0, p->y);
                y1 = fmax(y1, p->y);
            }
        }
    }
    if (x1 < x0) {
        return false;
    }
    plot_range_set(&f->x, &c->x, x0, x1);
    plot_range_set(&f->y, &c->y, y0, y1);
    return true;
}

static void line(struct plot_out *o, const char *class, double x0, double y0, double x1, double y1)
{
    plot_putf(o, "<path class=\"%s\" d=\"M", class);
    plot_put_number(o, x0);
    plot_put(o, " ");
    plot_put_number(o, y0);
    plot_put(o, "L");
    plot_put_number(o, x1);
    plot_put(o, " ");
    plot_put_number(o, y1);
    plot_put(o, "\"/>");
}

static void text_at(struct plot_out *o, const char *attributes, double x, double y, const char *text)
{
    plot_putf(o, "<text %s x=\"", attributes);
    plot_put_number(o, x);
    plot_put(o, "\" y=\"");
    plot_put_number(o, y);
    plot_put(o, "\">");
    plot_put_text(o, text, PLOT_NAME_MAX);
    plot_put(o, "</text>\n");
}

static void draw_axes(struct plot_out *o, const struct frame *f)
{
    for (size_t i = 0; i < f->x.n_ticks; i++) {
        double x = f->left + (f->x.ticks[i].at - f->x.low) / (f->x.high - f->x.low) * (f->right - f->left);
        line(o, "l", x, f->top, x, f->bottom);
        text_at(o, "class=\"k\" text-anchor=\"middle\"", x, f->bottom + 18, f->x.ticks[i].text);
    }
    for (size_t i = 0; i < f->y.n_ticks; i++) {
        double y = f->bottom - (f->y.ticks[i].at - f->y.low) / (f->y.high - f->y.low) * (f->bottom - f->top);
        line(o, "l", f->left, y, f->right, y);
        text_at(o, "class=\"k\" text-anchor=\"end\"", f->left - 8, y + 4, f->y.ticks[i].text);
    }
    text_at(o, "class=\"a\" text-anchor=\"middle\"", (f->left + f->right) / 2, f->bottom + 42, f->chart->x.title);
    double middle = (f->top + f->bottom) / 2;
    plot_put(o, "<text class=\"a\" text-anchor=\"middle\" transform=\"translate(22 ");
    plot_put_number(o, middle);
    plot_put(o, ") rotate(-90)\">");
    plot_put_text(o, f->chart->y.title, 60);
    plot_put(o, "</text>\n");
}

static void put_value(struct plot_out *o, const char *name, double v)
{
    char text[64];
    plot_put(o, "\n");
    plot_put_text(o, name, 60);
    plot_put(o, " ");
    plot_put(o, plot_value_text(text, v));
}

static void draw_point(struct plot_out *o, const struct frame *f, size_t i, const struct plot_point *p)
{
    plot_marker(o, i, place_x(f, p->x), place_y(f, p->y), p->is_beaten ? "b" : "");
    plot_put(o, " data-t=\"");
    plot_put_text(o, p->label != NULL ? p->label : f->chart->series[i].name, 200);
    put_value(o, f->chart->x.title, p->x);
    put_value(o, f->chart->y.title, p->y);
    plot_put(o, "\"/>\n");
}

static void draw_series(struct plot_out *o, const struct frame *f, size_t i)
{
    const struct plot_series *s = &f->chart->series[i];
    size_t n = 0;
    plot_putf(o, "<g class=\"series%d\">\n", (int)i);
    for (size_t j = 0; j < s->n; j++) {
        n += is_drawn(f->chart, &s->points[j]) && !s->points[j].is_beaten;
    }
    if (n > 1) {
        plot_putf(o, "<path class=\"c c%d\" d=\"", (int)(i % PLOT_COLORS));
        n = 0;
        for (size_t j = 0; j < s->n; j++) {
            if (is_drawn(f->chart, &s->points[j]) && !s->points[j].is_beaten) {
                plot_put(o, n++ == 0 ? "M" : "L");
                plot_put_number(o, place_x(f, s->points[j].x));
                plot_put(o, " ");
                plot_put_number(o, place_y(f, s->points[j].y));
            }
        }
        plot_put(o, "\"/>\n");
    }
    for (size_t j = 0; j < s->n; j++) {
        if (is_drawn(f->chart, &s->points[j])) {
            draw_point(o, f, i, &s->points[j]);
        }
    }
    plot_put(o, "</g>\n");
}

/* Entries flow in columns as wide as the longest name. */
struct legend {
    size_t columns, rows;
    double column;
};

static struct legend legend_of(const struct plot_chart *c)
{
    double most = 0, room = PLOT_WIDTH - 48;
    for (size_t i = 0; i < c->n; i++) {
        double w = fmin(plot_text_width(c->series[i].name, LEGEND_TEXT), PLOT_NAME_MAX * LEGEND_TEXT * 0.61);
        most = fmax(most, w);
    }
    struct legend l = { .column = most + 48 };
    l.columns = l.column >= room ? 1 : (size_t)(room / l.column);
    l.columns = l.columns > c->n ? c->n : l.columns;
    l.rows = (c->n + l.columns - 1) / l.columns;
    return l;
}

static void draw_legend(struct plot_out *o, const struct plot_chart *c, const struct legend *l, double top)
{
    for (size_t i = 0; i < c->n; i++) {
        double x = 24 + (double)(i / l->rows) * l->column, y = top + (double)(i % l->rows) * LEGEND_ROW;
        plot_putf(o, "<g data-s=\"%d\">", (int)i);
        plot_putf(o, "<path class=\"c c%d\" d=\"M", (int)(i % PLOT_COLORS));
        plot_put_number(o, x);
        plot_put(o, " ");
        plot_put_number(o, y);
        plot_put(o, "h26\"/>");
        plot_marker(o, i, x + 13, y, "");
        plot_put(o, "/>");
        text_at(o, "", x + 34, y + 4.5, c->series[i].name);
        plot_put(o, "</g>\n");
    }
}

void plot_draw_chart(struct plot_out *o, const struct plot_chart *chart)
{
    struct frame f = { .chart = chart };
    if (!set_ranges(&f)) {
        o->st = GREBE_FAIL(o->err, GREBE_EINVAL, "there is no point to draw: no case has both %s and %s", chart->x.title,
                           chart->y.title);
        return;
    }
    struct legend l = legend_of(chart);
    double widest = 0;
    for (size_t i = 0; i < f.y.n_ticks; i++) {
        widest = fmax(widest, plot_text_width(f.y.ticks[i].text, 12));
    }
    f.left = 46 + widest;
    f.right = PLOT_WIDTH - RIGHT;
    f.top = chart->title == NULL && chart->subtitle == NULL ? 20 : chart->subtitle == NULL ? 54 : TOP;
    f.bottom = f.top + PANEL;
    double legend_top = f.bottom + BOTTOM + 14;
    plot_begin(o, PLOT_WIDTH, legend_top + (double)l.rows * LEGEND_ROW, chart->title, chart->subtitle);
    draw_axes(o, &f);
    for (size_t i = 0; i < chart->n; i++) {
        draw_series(o, &f, i);
    }
    draw_legend(o, chart, &l, legend_top);
    plot_put(o, "</svg>\n");
}

grebe_status plot_chart_svg(const struct plot_chart *chart, struct buf *dst, grebe_error *err)
{
    struct plot_out o = { dst, err, GREBE_OK };
    plot_draw_chart(&o, chart);
    return o.st;
}

static void put_cell(struct plot_out *o, double v)
{
    char text[64];
    plot_put(o, "<td class=\"n\">");
    plot_put(o, isfinite(v) ? plot_value_text(text, v) : "");
    plot_put(o, "</td>");
}

/* The numbers behind the picture. */
static void put_table(struct plot_out *o, const struct plot_chart *c)
{
    plot_put(o, "<div class=\"wide\"><table><tr><th></th><th class=\"n\">");
    plot_put_text(o, c->x.title, 60);
    plot_put(o, "</th><th class=\"n\">");
    plot_put_text(o, c->y.title, 60);
    plot_put(o, "</th></tr>\n");
    for (size_t i = 0; i < c->n; i++) {
        for (size_t j = 0; j < c->series[i].n; j++) {
            const struct plot_point *p = &c->series[i].points[j];
            plot_put(o, "<tr><td>");
            plot_put_text(o, p->label != NULL ? p->label : c->series[i].name, 200);
            plot_put(o, "</td>");
            put_cell(o, p->x);
            put_cell(o, p->y);
            plot_put(o, "</tr>\n");
        }
    }
    plot_put(o, "</table></div>\n");
}

grebe_status plot_chart_html(const struct plot_chart *chart, struct buf *dst, grebe_error *err)
{
    struct plot_out o = { dst, err, GREBE_OK };
    plot_page_begin(&o, chart->title);
    plot_draw_chart(&o, chart);
    put_table(&o, chart);
    plot_page_end(&o);
    return o.st;
}
