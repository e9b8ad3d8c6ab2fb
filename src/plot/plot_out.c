/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes of SVG and HTML. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "base/utf8.h"
#include "plot/plot_internal.h"

void plot_put(struct plot_out *o, const char *text)
{
    if (o->st == GREBE_OK) {
        o->st = buf_put_text(o->dst, text, o->err);
    }
}

void plot_putf(struct plot_out *o, const char *fmt, ...)
{
    char text[512];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    plot_put(o, text);
}

void plot_put_text(struct plot_out *o, const char *text, size_t most)
{
    size_t n = 0, len = strlen(text), chars = 0;
    for (const char *p = text; len > 0 && o->st == GREBE_OK; p += n, len -= n) {
        if (chars++ == most) {
            plot_put(o, "…");
            return;
        }
        n = utf8_char_len(p, len);
        if (n == 0 || (n == 3 && (memcmp(p, "\xef\xbf\xbe", 3) == 0 || memcmp(p, "\xef\xbf\xbf", 3) == 0))) {
            plot_put(o, "\xef\xbf\xbd"); /* no text, or no character of XML */
            n = n == 0 ? 1 : n;
            continue;
        }
        switch (*p) {
        case '&': plot_put(o, "&amp;"); break;
        case '<': plot_put(o, "&lt;"); break;
        case '>': plot_put(o, "&gt;"); break;
        case '"': plot_put(o, "&quot;"); break;
        default: o->st = (unsigned char)*p < ' ' ? buf_put_byte(o->dst, ' ', o->err) : buf_put(o->dst, p, n, o->err);
        }
    }
}

void plot_put_number(struct plot_out *o, double v)
{
    char text[NUMBER_TEXT_MAX + 1];
    size_t n = number_put_fixed(text, isfinite(v) ? v : 0, 2);
    while (n > 1 && text[n - 1] == '0') {
        n--;
    }
    n -= text[n - 1] == '.';
    text[n] = '\0';
    plot_put(o, text);
}

const char *plot_value_text(char *dst, double v)
{
    double size = fabs(v);
    int decimals = size >= 1000 ? 0 : size >= 100 ? 1 : size >= 10 ? 2 : size >= 1 ? 3 : 5;
    size_t n = number_put_fixed(dst, v, decimals);
    if (size > 0 && size < 0.001) {
        n = number_put_double(dst, v, &number_style_json);
    }
    dst[n] = '\0';
    return dst;
}

double plot_text_width(const char *text, double size)
{
    double n = 0;
    for (const char *p = text; *p != '\0'; p++) {
        n += ((unsigned char)*p & 0xc0) != 0x80;
    }
    return n * size * 0.61;
}

/* Colours that stay apart for most kinds of colour vision; the second set is for dark grounds. */
static const char style[] =
    "<style>"
    ".g{--bg:#fff;--fg:#1f2328;--dim:#59636e;--line:#d8dee4;"
    "--c0:#0969da;--c1:#d1570b;--c2:#1a7f37;--c3:#8250df;--c4:#bf3989;--c5:#0b7285;--c6:#9a6700;--c7:#cf222e;--c8:#57606a;"
    "--c9:#4d7c0f;font-family:system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif;background:var(--bg)}"
    "@media (prefers-color-scheme:dark){.g{--bg:#0d1117;--fg:#e6edf3;--dim:#9198a1;--line:#30363d;"
    "--c0:#58a6ff;--c1:#f0883e;--c2:#3fb950;--c3:#bc8cff;--c4:#f778ba;--c5:#39c5cf;--c6:#d29922;--c7:#ff7b72;--c8:#8b949e;"
    "--c9:#a3d977}}"
    ".g .bg{fill:var(--bg)}.g text{fill:var(--fg);font-size:13px}.g .t{font-size:18px;font-weight:600}"
    ".g .s,.g .k{fill:var(--dim)}.g .k{font-size:12px}.g .a{fill:var(--dim);font-size:13px}"
    ".g .l{stroke:var(--line);stroke-width:1;fill:none}.g .c{fill:none;stroke-width:2;stroke-linejoin:round}"
    ".g .m{stroke:var(--bg);stroke-width:1}.g .b{opacity:.35}";

void plot_begin(struct plot_out *o, double width, double height, const char *title, const char *subtitle)
{
    plot_put(o, "<svg class=\"g\" xmlns=\"http://www.w3.org/2000/svg\" ");
    plot_putf(o, "viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" role=\"img\"", (int)width,
              (int)ceil(height), (int)width, (int)ceil(height));
    if (title != NULL) { /* not <title>, which would hover beside the values of a page */
        plot_put(o, " aria-label=\"");
        plot_put_text(o, title, 200);
        plot_put(o, "\"");
    }
    plot_put(o, ">");
    plot_put(o, style);
    for (int i = 0; i < PLOT_COLORS; i++) {
        plot_putf(o, ".g .c%d{stroke:var(--c%d)}.g .f%d{fill:var(--c%d)}", i, i, i, i);
    }
    plot_put(o, "</style><rect class=\"bg\" width=\"100%\" height=\"100%\"/>\n");
    if (title != NULL) {
        plot_put(o, "<text class=\"t\" x=\"24\" y=\"34\">");
        plot_put_text(o, title, 88);
        plot_put(o, "</text>\n");
    }
    if (subtitle != NULL) {
        plot_put(o, "<text class=\"s\" x=\"24\" y=\"56\">");
        plot_put_text(o, subtitle, 118);
        plot_put(o, "</text>\n");
    }
}

static void put_place(struct plot_out *o, const char *before, double x, const char *between, double y, const char *after)
{
    plot_put(o, before);
    plot_put_number(o, x);
    plot_put(o, between);
    plot_put_number(o, y);
    plot_put(o, after);
}

void plot_marker(struct plot_out *o, size_t i, double x, double y, const char *classes)
{
    static const char *const shapes[] = { "M-4.2 0a4.2 4.2 0 1 0 8.4 0a4.2 4.2 0 1 0 -8.4 0z", "M-3.8 -3.8h7.6v7.6h-7.6z",
                                          "M0 -5l4.8 8.4h-9.6z", "M0 -5.4l5.4 5.4l-5.4 5.4l-5.4 -5.4z",
                                          "M0 5l4.8 -8.4h-9.6z" };
    plot_putf(o, "<path class=\"m f%d %s\" d=\"%s\"", (int)(i % PLOT_COLORS), classes,
              shapes[(i + i / PLOT_COLORS) % (sizeof shapes / sizeof shapes[0])]);
    put_place(o, " transform=\"translate(", x, " ", y, ")\"");
}

void plot_page_begin(struct plot_out *o, const char *title)
{
    plot_put(o, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
                "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\"><title>");
    plot_put_text(o, title == NULL ? "measurements" : title, 200);
    plot_put(o, "</title>\n<style>:root{color-scheme:light dark}body{margin:0;background:#fff;color:#1f2328;"
                "font:14px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif}"
                "main{max-width:960px;margin:0 auto;padding:16px}svg.g{max-width:100%;height:auto}"
                "#tip{position:fixed;display:none;pointer-events:none;padding:6px 10px;border-radius:6px;background:#1f2328;"
                "color:#fff;font-size:13px;max-width:420px;z-index:2;white-space:pre-line}"
                "table{border-collapse:collapse;margin:16px 0;font-variant-numeric:tabular-nums}th,td{padding:3px 12px 3px 0;"
                "text-align:left;border-bottom:1px solid #d8dee4}td.n,th.n{text-align:right}[data-t]{cursor:default}"
                "[data-s]{cursor:pointer}.off{opacity:.25}.wide{overflow-x:auto}"
                "@media (prefers-color-scheme:dark){body{background:#0d1117;color:#e6edf3}th,td{border-color:#30363d}"
                "#tip{background:#e6edf3;color:#0d1117}}</style></head><body><main>\n");
}

/* The pointer shows a point's values; a name in the legend hides its curve. */
void plot_page_end(struct plot_out *o)
{
    plot_put(o, "<div id=\"tip\"></div>\n<script>\n"
                "const tip=document.getElementById('tip');\n"
                "document.addEventListener('pointermove',e=>{const m=e.target.closest('[data-t]');\n"
                "if(!m){tip.style.display='none';return}tip.textContent=m.dataset.t;tip.style.display='block';\n"
                "const r=tip.getBoundingClientRect(),x=Math.min(e.clientX+14,innerWidth-r.width-8),\n"
                "y=e.clientY+18+r.height>innerHeight?e.clientY-r.height-10:e.clientY+18;\n"
                "tip.style.left=Math.max(4,x)+'px';tip.style.top=y+'px'});\n"
                "for(const k of document.querySelectorAll('[data-s]'))k.addEventListener('click',()=>{\n"
                "k.classList.toggle('off');const off=k.classList.contains('off');\n"
                "for(const c of document.querySelectorAll('.series'+k.dataset.s))c.style.display=off?'none':''});\n"
                "</script></main></body></html>\n");
}
