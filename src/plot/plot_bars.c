/* SPDX-License-Identifier: Apache-2.0 */
/* Bars: a panel for each group, a row for each name. */
#include <math.h>
#include <string.h>

#include "base/number.h"
#include "plot/plot_internal.h"

enum { ROW = 26, BAR = 16, GROUP_GAP = 46, TEXT = 13 };

static double widest_name(const struct plot_bars *b)
{
    double most = 0;
    for (size_t i = 0; i < b->n; i++) {
        most = fmax(most, plot_text_width(b->names[i], TEXT));
    }
    return fmin(most, 420);
}

static double most_of(const struct plot_bars *b, const struct plot_bar_group *g)
{
    double most = 0;
    for (size_t i = 0; i < b->n; i++) {
        most = isfinite(g->values[i]) && g->values[i] > most ? g->values[i] : most;
    }
    return most;
}

static void draw_row(struct plot_out *o, const struct plot_bars *b, const struct plot_bar_group *g, size_t i, double y,
                     double left, double room, double most)
{
    char value[NUMBER_TEXT_MAX + 1];
    double v = g->values[i], width = isfinite(v) && most > 0 ? v / most * room : 0;
    value[isfinite(v) ? number_put_fixed(value, v, g->decimals) : 0] = '\0';
    plot_put(o, "<text text-anchor=\"end\" x=\"");
    plot_put_number(o, left - 10);
    plot_put(o, "\" y=\"");
    plot_put_number(o, y + BAR - 3);
    plot_put(o, "\">");
    plot_put_text(o, b->names[i], (size_t)(420 / (TEXT * 0.61)));
    plot_putf(o, "</text><rect class=\"f%d\" rx=\"2\" height=\"%d\" x=\"", (int)(i % PLOT_COLORS), BAR);
    plot_put_number(o, left);
    plot_put(o, "\" y=\"");
    plot_put_number(o, y);
    plot_put(o, "\" width=\"");
    plot_put_number(o, fmax(width, 1));
    plot_put(o, "\" data-t=\"");
    plot_put_text(o, b->names[i], 200);
    plot_put(o, "\n");
    plot_put_text(o, g->title, 80);
    plot_putf(o, " %s\"/><text class=\"k\" x=\"", value);
    plot_put_number(o, left + fmax(width, 1) + 8);
    plot_put(o, "\" y=\"");
    plot_put_number(o, y + BAR - 3);
    plot_putf(o, "\">%s</text>\n", isfinite(v) ? value : "not measured");
}

void plot_draw_bars(struct plot_out *o, const struct plot_bars *b)
{
    double left = 36 + widest_name(b), room = PLOT_WIDTH - left - 110;
    double top = b->title == NULL ? 10 : b->subtitle == NULL ? 44 : 66;
    double group = GROUP_GAP + (double)b->n * ROW;
    if (b->n == 0 || b->n_groups == 0) {
        o->st = GREBE_FAIL(o->err, GREBE_EINVAL, "there is no bar to draw: no case was built");
        return;
    }
    plot_begin(o, PLOT_WIDTH, top + (double)b->n_groups * group + 16, b->title, b->subtitle);
    for (size_t g = 0; g < b->n_groups; g++) {
        double y = top + (double)g * group, most = most_of(b, &b->groups[g]);
        plot_put(o, "<text class=\"a\" x=\"");
        plot_put_number(o, left);
        plot_put(o, "\" y=\"");
        plot_put_number(o, y + 28);
        plot_put(o, "\">");
        plot_put_text(o, b->groups[g].title, 80);
        plot_put(o, "</text>\n");
        for (size_t i = 0; i < b->n; i++) {
            draw_row(o, b, &b->groups[g], i, y + 40 + (double)i * ROW, left, room, most);
        }
    }
    plot_put(o, "</svg>\n");
}

grebe_status plot_bars_svg(const struct plot_bars *bars, struct buf *dst, grebe_error *err)
{
    struct plot_out o = { dst, err, GREBE_OK };
    plot_draw_bars(&o, bars);
    return o.st;
}

grebe_status plot_bars_html(const struct plot_bars *bars, struct buf *dst, grebe_error *err)
{
    struct plot_out o = { dst, err, GREBE_OK };
    plot_page_begin(&o, bars->title);
    plot_draw_bars(&o, bars);
    plot_page_end(&o);
    return o.st;
}
