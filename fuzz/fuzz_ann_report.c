/* SPDX-License-Identifier: Apache-2.0 */
/* Reports of measurement: what is read is printed and read again as the same, and drawn. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "ann/ann_plot.h"
#include "ann/ann_report.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void print_again(grebe_context *ctx, const struct buf *text)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct ann_report r;
    struct buf again = BUF_INIT(ctx->a);
    ann_report_init(&r, ctx);
    if (ann_report_parse(&r, (const char *)text->data, text->len, &err) != GREBE_OK ||
        ann_report_print(&r, ANN_FORM_JSON, 0, &again, &err) != GREBE_OK || again.len != text->len ||
        memcmp(again.data, text->data, text->len) != 0) {
        abort();
    }
    buf_release(&again);
    ann_report_release(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static grebe_context *ctx;
    grebe_error err = GREBE_ERROR_INIT;
    struct ann_report r;
    struct ann_plot curves = { .is_html = true }, bars = { .is_bars = true };
    if (ctx == NULL && context_new(NULL, &ctx, &err) != GREBE_OK) {
        return 0;
    }
    struct buf text = BUF_INIT(ctx->a), other = BUF_INIT(ctx->a);
    ann_report_init(&r, ctx);
    if (ann_report_parse(&r, (const char *)data, size, &err) == GREBE_OK && r.n < 200) {
        if (ann_report_print(&r, ANN_FORM_JSON, 0, &text, &err) != GREBE_OK) {
            abort();
        }
        print_again(ctx, &text);
        (void)!ann_report_print(&r, ANN_FORM_TABLE, 0, &other, &err);
        (void)!ann_report_print(&r, ANN_FORM_LINE, 1, &other, &err);
        (void)!ann_plot(&r, &curves, &other, &err);
        (void)!ann_plot(&r, &bars, &other, &err);
    }
    buf_release(&other);
    buf_release(&text);
    ann_report_release(&r);
    return 0;
}
