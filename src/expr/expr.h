/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_EXPR_EXPR_H
#define GREBE_EXPR_EXPR_H

/*
 * The filter language: SQL's `where` for one table, three-valued logic (docs/format/expr.md).
 * parse -> bind to a schema -> eval on batches, prune by bounds. A bound expression is immutable
 * and may be used from many threads.
 */

#include "arrow/arrow_array.h"
#include "expr/bounds.h"

/** Limits on what is parsed. */
enum { EXPR_TEXT_MAX = 1 << 20, EXPR_DEPTH_MAX = 128 };

struct expr;

/**
 * @param text NUL-terminated UTF-8.
 * @param out  Owned; expr_free(). NULL on failure.
 * @return GREBE_OK; GREBE_EINVAL with the column of the first thing that makes no sense;
 *         GREBE_ELIMIT (length, depth).
 */
grebe_status expr_parse(const grebe_allocator *a, const char *text, struct expr **out,
                        grebe_error *err);
void expr_free(struct expr *e); /* NULL accepted */

/**
 * Find the columns and check the types. The schema is copied as far as it is needed. An
 * expression is bound once.
 *
 * @param schema Struct type.
 * @return GREBE_OK; GREBE_ENOTFOUND (column; names the nearest); GREBE_ESCHEMA (types that do not
 *         compare; no condition); GREBE_EINVAL (a literal that does not fit, an ambiguous column).
 */
grebe_status expr_bind(struct expr *e, const struct ArrowSchema *schema, grebe_error *err);

/** Top-level columns that it reads, ascending, each once; shape [*n], borrowed from e. */
const int *expr_columns(const struct expr *e, size_t *n);

/** The expression as understood, appended: parses again to the same. */
grebe_status expr_print(const struct expr *e, struct buf *dst, grebe_error *err);

/**
 * For which rows it is true (false and null are both 0).
 *
 * @param columns Shape [n of expr_columns], in that order, each of `length` rows. Borrowed.
 * @param keep    Written: shape [bitmap_bytes(length)]; bits behind length are 0.
 * @param n_true  Number of ones; may be NULL.
 * @return GREBE_OK; GREBE_EINVAL (integer overflow, with the row); GREBE_ENOMEM.
 */
grebe_status expr_eval(const struct expr *e, const struct ArrowArray *const *columns,
                       int64_t length, uint8_t *keep, int64_t *n_true, grebe_error *err);

/** As expr_eval on a struct array of the bound schema. */
grebe_status expr_eval_rows(const struct expr *e, const struct ArrowArray *rows, uint8_t *keep,
                            int64_t *n_true, grebe_error *err);

/* ---- values: the same language where it need not be a condition ---- */

/** As expr_bind; the expression may be of any type. */
grebe_status expr_bind_value(struct expr *e, const struct ArrowSchema *schema, grebe_error *err);

/**
 * The type of the values: a column's own (nested fields too); of what is computed bool, int64, uint64, double, decimal256,
 * string, binary, date32 or timestamp.
 *
 * @return GREBE_OK; GREBE_EUNSUPPORTED (lists and structs out of others, …).
 */
grebe_status expr_value_type(const struct expr *e, const char *name, struct ArrowSchema *out, grebe_error *err);

/** A value for each row. columns: as for expr_eval. out: of expr_value_type. GREBE_ELIMIT (text beyond 32-bit offsets). */
grebe_status expr_eval_value(const struct expr *e, const struct ArrowArray *const *columns, int64_t length,
                             struct ArrowArray *out, grebe_error *err);

/** What bounds say of all rows of a chunk. */
enum expr_answer {
    EXPR_NONE, /* true for no row */
    EXPR_SOME, /* unknown */
    EXPR_ALL   /* true for every row */
};

/** Bounds of column i of expr_columns; everything unset when nothing is known. */
typedef grebe_status (*expr_bounds_fn)(void *arg, size_t i, struct column_bounds *out,
                                       grebe_error *err);

/** Never EXPR_NONE when a row may match, never EXPR_ALL when one may not. */
grebe_status expr_prune(const struct expr *e, expr_bounds_fn bounds, void *arg,
                        enum expr_answer *out, grebe_error *err);

/**
 * Whether column i of expr_columns may hold the value (as in struct column_bounds, of the column's
 * type) anywhere in the chunk. *may is true when called and stays so when nothing is known.
 */
typedef grebe_status (*expr_contains_fn)(void *arg, size_t i, const void *value, size_t len,
                                         bool *may, grebe_error *err);

/** As expr_prune; values that a column is compared with by `=` or `in` are asked for, too, where
 *  bounds do not rule them out. */
grebe_status expr_prune_values(const struct expr *e, expr_bounds_fn bounds,
                               expr_contains_fn contains, void *arg, enum expr_answer *out,
                               grebe_error *err);

#endif
