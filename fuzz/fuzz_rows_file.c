/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An Arrow stream or file from any bytes, as data sets open it: by the heads of its messages. Columns are read one by
 * one and together, twice, and are the same; a failure has a message. Before that, from another look at the same bytes,
 * single rows are read, of which only they themselves are checked.
 */
#include <stdlib.h>
#include <string.h>

#include "base/context_internal.h"
#include "dataset/dataset_part.h"
#include "fuzz_require.h"
#include "ipc/rows_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { BATCHES_MAX = 32, COLUMNS_MAX = 32, ROWS_MAX = 100000 };

static void read_batch(struct rows_file *f, size_t i)
{
    struct ArrowArray all, one;
    grebe_error err = GREBE_ERROR_INIT;
    int64_t n = f->batch_begin[i + 1] - f->batch_begin[i];
    require(n > 0);
    if (n > ROWS_MAX) {
        return;
    }
    if (rows_file_batch(f, i, NULL, 0, &all, &err) != GREBE_OK) {
        require(err.message[0] != '\0');
        return;
    }
    require(all.length == n && all.n_children == f->schema.n_children);
    for (int c = 0; c < (int)f->schema.n_children && c < COLUMNS_MAX; c++) {
        require(array_check(f->schema.children[c], all.children[c], true, NULL) == GREBE_OK);
        require(rows_file_batch(f, i, &c, 1, &one, NULL) == GREBE_OK);
        require(array_equal(f->schema.children[c], all.children[c], one.children[0]));
        array_release(&one);
    }
    array_release(&all);
}

enum { SINGLE_ROWS = 12 };

/* Single rows of a column of a batch: good ones, or a failure; all are good in a batch that is good. */
static void read_single_rows(struct table_part *p, size_t i, int32_t column)
{
    struct table_source s = { p, 0, column, 0, { 0 } };
    struct ArrowArray one;
    int64_t n = p->batch_begin[i + 1] - p->batch_begin[i];
    int n_bad = 0;
    for (int64_t k = 0; k < SINGLE_ROWS && k < n; k++) {
        int64_t row = k % 2 == 0 ? k : n - k;
        if (source_read(&s, i, row, 1, &one, NULL) != GREBE_OK) {
            n_bad++;
            continue;
        }
        require(one.length == 1 && array_check(part_schema(p)->children[column], &one, true, NULL) == GREBE_OK);
        array_release(&one);
    }
    if (n <= ROWS_MAX && source_read(&s, i, 0, n, &one, NULL) == GREBE_OK) {
        require(n_bad == 0);
        require(array_check(part_schema(p)->children[column], &one, true, NULL) == GREBE_OK);
        array_release(&one);
    }
}

static void read_rows(grebe_context *ctx, struct region *bytes)
{
    struct rows_file *f = NULL;
    struct table_part *p = NULL;
    if (rows_file_of_region(ctx, "f.arrow", bytes, &f, NULL) != GREBE_OK) {
        return;
    }
    require(part_of_file(ctx, f, &p, NULL) == GREBE_OK);
    for (size_t i = 0; i < p->n_batches && i < BATCHES_MAX; i++) {
        for (int32_t c = 0; c < (int32_t)part_schema(p)->n_children && c < COLUMNS_MAX; c++) {
            read_single_rows(p, i, c);
        }
    }
    part_drop(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    grebe_context *ctx = NULL;
    struct region *bytes = NULL;
    struct rows_file *f = NULL;
    grebe_error err = GREBE_ERROR_INIT;
    require(context_new(NULL, &ctx, NULL) == GREBE_OK);
    require(region_new(ctx->a, size, &bytes, NULL) == GREBE_OK);
    if (size > 0) {
        memcpy(bytes->data, data, size);
    }
    read_rows(ctx, bytes);
    if (rows_file_of_region(ctx, "f.arrow", bytes, &f, &err) == GREBE_OK) {
        for (size_t i = 0; i < f->n_batches && i < BATCHES_MAX; i++) {
            read_batch(f, i);
        }
    } else {
        require(strstr(err.message, "f.arrow") != NULL);
    }
    rows_file_drop(f);
    region_drop(bytes);
    context_free(ctx);
    return 0;
}
