/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The C interface in one page: a table from a file, rows by id, a filtered scan.
 *
 *     cc words.c -lgrebe && ./a.out glove_20k.parquet words
 */
#include <stdio.h>
#include <string.h>

#include "grebe/grebe.h"

static int fail(const grebe_error *err)
{
    fprintf(stderr, "%s: %s\n", grebe_status_name(err->status), err->message);
    return 1;
}

/* Strings lie in one buffer; offsets say where each begins and ends. */
static void print_words(const struct ArrowArray *rows)
{
    const struct ArrowArray *word = rows->children[0];
    const int32_t *offsets = (const int32_t *)word->buffers[1] + word->offset;
    const char *text = (const char *)word->buffers[2];
    for (int64_t i = 0; i < rows->length; i++) {
        printf("%.*s\n", (int)(offsets[i + 1] - offsets[i]), text + offsets[i]);
    }
}

static int run(grebe_context *ctx, const char *file, const char *path)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_source *source = NULL;
    grebe_table *table = NULL;
    struct ArrowArrayStream rows = { 0 };
    struct ArrowArray batch = { 0 };
    int result = 1;

    /* A table from the rows of a file. */
    if (grebe_source_open(ctx, file, NULL, &source, &err) != GREBE_OK ||
        grebe_source_scan(source, NULL, &rows, &err) != GREBE_OK ||
        grebe_table_create(ctx, path, &rows, NULL, &table, &err) != GREBE_OK) {
        fail(&err);
        goto out;
    }
    /* Rows by id, in the order asked. */
    const int64_t ids[] = { 9, 0, 9 };
    const char *const columns[] = { "word" };
    grebe_take_options take = GREBE_TAKE_OPTIONS_INIT;
    take.columns = columns;
    take.n_columns = 1;
    if (grebe_table_take(table, ids, 3, &take, &batch, NULL, &err) != GREBE_OK) {
        fail(&err);
        goto out;
    }
    print_words(&batch);
    batch.release(&batch);
    /* A scan with a filter, batch by batch. */
    grebe_scan_options scan = GREBE_SCAN_OPTIONS_INIT;
    scan.columns = columns;
    scan.n_columns = 1;
    scan.where = "rank between 100 and 200 and word like '%ea%'";
    if (grebe_table_scan(table, &scan, &rows, &err) != GREBE_OK) {
        fail(&err);
        goto out;
    }
    for (;;) {
        int code = rows.get_next(&rows, &batch);
        if (code != 0) {
            grebe_stream_error(&rows, code, &err);
            fail(&err);
            goto out;
        }
        if (batch.release == NULL) {
            break;
        }
        print_words(&batch);
        batch.release(&batch);
    }
    result = 0;
out:
    if (rows.release != NULL) {
        rows.release(&rows);
    }
    grebe_table_close(table);
    grebe_source_close(source);
    return result;
}

int main(int argc, char **argv)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_context *ctx = NULL;
    if (argc != 3) {
        fprintf(stderr, "usage: %s FILE TABLE\n", argv[0]);
        return 2;
    }
    if (grebe_context_new(NULL, &ctx, &err) != GREBE_OK) {
        return fail(&err);
    }
    int result = run(ctx, argv[1], argv[2]);
    grebe_context_free(ctx);
    return result;
}
