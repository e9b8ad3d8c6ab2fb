/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A condition from any bytes: it is printed and parsed to the same, bound to a few columns, and
 * evaluated and pruned on a handful of rows, where both must agree.
 */
#include <stdlib.h>
#include <string.h>

#include "expr/expr.h"
#include "fuzz_require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ROWS = 4, COLUMNS = 5 };

static grebe_status no_bounds(void *arg, size_t i, struct column_bounds *out, grebe_error *err)
{
    (void)arg;
    (void)i;
    (void)err;
    memset(out, 0, sizeof *out);
    return GREBE_OK;
}

/* i int64, d double, s string, ts timestamp, st struct<i: int64>: four rows of zeros and nulls. */
static void make_rows(struct ArrowSchema *schema, struct ArrowArray *rows)
{
    static const char *const types[COLUMNS] = { "int64", "double", "string", "timestamp[us]",
                                                "struct<i: int64, l: list<int8>>" };
    static const char *const names[COLUMNS] = { "i", "d", "s", "ts", "st" };
    struct ArrowArray columns[COLUMNS];
    require(schema_new(mem_system(), "+s", "", false, COLUMNS, schema, NULL) == GREBE_OK);
    for (int k = 0; k < COLUMNS; k++) {
        require(type_parse(mem_system(), types[k], names[k], true, schema->children[k], NULL) ==
                GREBE_OK);
        require(array_nulls(mem_system(), schema->children[k], ROWS, &columns[k], NULL) ==
                GREBE_OK);
        if (k < 4) { /* two of the rows are zeros */
            uint8_t *bits = (uint8_t *)(uintptr_t)columns[k].buffers[0];
            bits[0] = 5;
            columns[k].null_count = 2;
        }
    }
    require(array_struct(mem_system(), ROWS, columns, COLUMNS, rows, NULL) == GREBE_OK);
}

static void use(struct expr *e)
{
    struct ArrowSchema schema;
    struct ArrowArray rows;
    uint8_t keep[1];
    int64_t n_true = 0;
    enum expr_answer answer = EXPR_SOME;
    make_rows(&schema, &rows);
    if (expr_bind(e, &schema, NULL) == GREBE_OK) {
        grebe_status st = expr_eval_rows(e, &rows, keep, &n_true, NULL);
        require(expr_prune(e, no_bounds, NULL, &answer, NULL) == GREBE_OK);
        if (st == GREBE_OK) {
            require(answer != EXPR_NONE || n_true == 0);
            require(answer != EXPR_ALL || n_true == ROWS);
        }
    }
    array_release(&rows);
    schema_release(&schema);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf text = BUF_INIT(mem_system());
    struct buf first = BUF_INIT(mem_system());
    struct buf second = BUF_INIT(mem_system());
    struct expr *e = NULL;
    struct expr *again = NULL;
    grebe_error err = GREBE_ERROR_INIT;
    require(buf_put(&text, data, size, NULL) == GREBE_OK && buf_text(&text) != NULL);
    if (expr_parse(mem_system(), buf_text(&text), &e, &err) == GREBE_OK) {
        require(expr_print(e, &first, NULL) == GREBE_OK && buf_text(&first) != NULL);
        grebe_status st = expr_parse(mem_system(), buf_text(&first), &again, &err);
        require(st == GREBE_OK || st == GREBE_ELIMIT); /* parentheses everywhere are deeper */
        if (st == GREBE_OK) {
            require(expr_print(again, &second, NULL) == GREBE_OK);
            require(first.len == second.len && memcmp(first.data, second.data, first.len) == 0);
        }
        use(e);
    } else {
        require(e == NULL && err.message[0] != '\0');
    }
    expr_free(e);
    expr_free(again);
    buf_release(&text);
    buf_release(&first);
    buf_release(&second);
    return 0;
}
