/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_LOAD_LOAD_SPLIT_H
#define GREBE_LOAD_LOAD_SPLIT_H

/* The split grammar: "train", "train[:10%]+test[5:]", "all" (docs/format/dataset_files.md). */

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"

/** One term. */
struct split_term {
    const char *name;
    int64_t from, to;
    bool has_from, has_to;
    bool is_percent;   /* from and to are percents */
    bool is_sliced;    /* brackets stand there */
    bool has_rounding; /* "(closest)" or "(pct1_dropremainder)" stands there */
    bool is_dropping;  /* pct1_dropremainder */
};

struct split_spec {
    const char *text;
    struct split_term *terms; /* shape [n] */
    size_t n;
    bool is_all; /* "all" alone */
};

/** What there is of a split. */
struct split_size {
    const char *name;
    int64_t n_rows;
};

/** Rows [begin, end) of split number `split`. */
struct split_range {
    size_t split;
    int64_t begin, end;
};

/** GREBE_EINVAL: text that makes no sense, percents beyond 100, terms of different rounding. */
grebe_status split_parse(struct arena *ar, const char *text, struct split_spec *out, grebe_error *err);

/**
 * Rows that a term stands for.
 *
 * @return GREBE_OK; GREBE_ENOTFOUND (no such split; the others are named); GREBE_EINVAL (less than 100 rows for
 *         pct1_dropremainder, from behind to). No rows are no failure here.
 */
grebe_status split_resolve(const struct split_term *t, const struct split_size *splits, size_t n, struct split_range *out,
                           grebe_error *err);

/** As it was written; "all" as the names of all splits. Appends to dst. */
grebe_status split_print(const struct split_spec *spec, const struct split_size *splits, size_t n, struct buf *dst,
                         grebe_error *err);

#endif
