/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_EXPR_EXPR_INTERNAL_H
#define GREBE_EXPR_EXPR_INTERNAL_H

/*
 * The tree of an expression. parse builds it, bind gives every node a domain (what its values
 * are), eval and prune only read it. Its depth is at most EXPR_DEPTH_MAX.
 */

#include "arrow/arrow_internal.h"
#include "base/arena.h"
#include "expr/expr.h"
#include "base/decimal.h"

enum expr_op {
    OP_LITERAL,
    OP_COLUMN,
    OP_AND, /* n kids */
    OP_OR,  /* n kids */
    OP_NOT,
    OP_COMPARE, /* sub: enum compare_op */
    OP_IS_NULL,
    OP_IS_TRUE,
    OP_IS_FALSE,
    OP_BETWEEN, /* kid 0 from kid 1 to kid 2 */
    OP_IN,     /* kid 0 in a list of the others */
    OP_LIKE,   /* kid 0 like kid 1; escape in `boolean`/`escape` */
    OP_ARITH,  /* sub: '+', '-', '*', '/', '%' */
    OP_NEGATE,
    OP_CALL    /* sub: enum expr_function */
};

enum compare_op { CMP_EQ, CMP_NE, CMP_LT, CMP_LE, CMP_GT, CMP_GE };

enum expr_function {
    FN_IS_NAN,
    FN_LENGTH,
    FN_LOWER,
    FN_UPPER,
    FN_ABS,
    FN_STARTS_WITH,
    FN_ENDS_WITH,
    FN_CONTAINS
};

enum literal_kind {
    LIT_NULL,
    LIT_BOOL,
    LIT_NUMBER, /* text as written, with '-' folded in */
    LIT_STRING,
    LIT_BLOB,
    LIT_TIMESTAMP,
    LIT_DATE
};

/** What values are. Tri-state booleans are FALSE 0 < NULL 1 < TRUE 2: and = min, or = max. */
enum domain {
    D_NULL = 0, /* the literal null */
    D_BOOL,
    D_INT,     /* int64 */
    D_UINT,    /* uint64 */
    D_DOUBLE,
    D_DECIMAL, /* 256 bits with the node's scale */
    D_BYTES,
    D_TIME,    /* int64 in the unit of the node's time type */
    D_OTHER    /* lists, structs, …: only null or not, and length */
};

enum { TRI_FALSE = 0, TRI_NULL = 1, TRI_TRUE = 2 };

enum time_kind { TIME_DATE, TIME_STAMP, TIME_OF_DAY, TIME_DURATION };
enum time_zone { ZONE_NONE, ZONE_SOME, ZONE_ANY /* a literal: taken as UTC */ };

struct time_type {
    enum time_kind kind;
    enum time_zone zone;
    int64_t ns_per_unit; /* 1 … 86400 * 10^9 */
};

/** One value. */
struct scalar {
    enum domain domain;
    bool is_null;
    bool boolean;
    int64_t i; /* D_INT, D_TIME */
    uint64_t u;
    double d;
    struct arrow_bytes bytes;
    struct decimal256 decimal;
    int32_t scale;
    struct time_type time;
};

/** A step of a column path after the name. */
struct path_step {
    const char *name; /* field of a struct; NULL: an index */
    size_t name_len;
    int64_t index;    /* of a list; negative: from the end */
    int child;        /* bound: index of the field */
};

/** Literals of an `in` list, sorted, where the domain has one order: D_INT or D_BYTES. */
struct value_set {
    size_t n;
    const int64_t *ints;
    const struct arrow_bytes *bytes;
    bool has_null;
};

struct expr_node {
    enum expr_op op;
    int sub;
    size_t at; /* offset in the text, for messages */
    int depth;
    struct expr_node **kids;
    size_t n_kids;

    /* literals; for OP_LIKE text[0] is the escape byte when len is 1 */
    enum literal_kind literal;
    const char *text;
    size_t len;
    bool boolean;

    /* columns */
    struct path_step *steps; /* steps[0] is the column's name */
    size_t n_steps;
    int column;                     /* bound: index in the schema; expr->positions leads on */
    size_t first_step;              /* bound: steps from here on are below the column */
    const struct ArrowSchema *leaf; /* what the values are stored as, dictionaries resolved */
    struct arrow_type leaf_type;

    /* bound */
    enum domain domain;
    struct time_type time;
    int32_t scale;
    bool is_text;
    struct scalar value; /* of literals */
    const struct value_set *set;
    size_t slot;
};

struct expr {
    const grebe_allocator *a;
    struct arena arena;
    const char *text;
    struct expr_node *root;
    bool is_bound;
    struct ArrowSchema schema; /* copy; leaves point into it */
    int *columns;              /* ascending, in the arena */
    size_t n_columns;
    int *positions;            /* of a top-level field in columns, -1: not used; in the arena */
    size_t n_slots;
};

/** Column (in characters, from 1) of an offset in the text. */
size_t expr_column_of(const struct expr *e, size_t at);

/** A node in the arena; NULL: no memory. */
struct expr_node *expr_node_new(struct expr *e, enum expr_op op, size_t at, size_t n_kids);

const char *expr_function_name(enum expr_function fn);
/** What the node is, for messages. Returns dst. */
const char *expr_describe(char *dst, size_t dst_len, const struct expr_node *node);

/**
 * Give a literal the domain that suits what it meets; *node is replaced by a copy.
 *
 * @return GREBE_OK, also where nothing suits (the comparison is refused later); GREBE_EINVAL
 *         (a text that is no time).
 */
grebe_status expr_adapt_literal(struct expr *e, struct expr_node **node,
                                const struct expr_node *other, grebe_error *err);
/** The domain of a literal on its own. */
grebe_status expr_bind_literal(struct expr *e, struct expr_node *node, grebe_error *err);

/** "YYYY-MM-DD[ T]HH:MM:SS.f" with optional zone, as a scalar of the finest unit it needs. */
bool expr_parse_timestamp(const char *s, size_t len, struct scalar *out);
/** Days since 1970-01-01. */
bool expr_parse_date(const char *s, size_t len, struct scalar *out);
/** "HH:MM[:SS[.f]]" */
bool expr_parse_time_of_day(const char *s, size_t len, struct scalar *out);

enum { SCALAR_UNORDERED = 2 };
/** -1, 0, 1; SCALAR_UNORDERED with a NaN. Domains compare (expr_comparable), neither is null. */
int scalar_compare(const struct scalar *x, const struct scalar *y);
/** Whether values of the nodes have an order between them. */
bool expr_comparable(const struct expr_node *x, const struct expr_node *y);
/** TRI_TRUE or TRI_FALSE for the outcome of scalar_compare. */
static inline uint8_t compare_outcome(enum compare_op op, int c)
{
    if (c == SCALAR_UNORDERED) {
        return op == CMP_NE ? TRI_TRUE : TRI_FALSE;
    }
    bool is_true = op == CMP_EQ   ? c == 0
                   : op == CMP_NE ? c != 0
                   : op == CMP_LT ? c < 0
                   : op == CMP_LE ? c <= 0
                   : op == CMP_GT ? c > 0
                                  : c >= 0;
    return is_true ? TRI_TRUE : TRI_FALSE;
}

/**
 * The value as one of the column's stored type (as in struct column_bounds).
 *
 * @param space Room for a fixed width, shape [8]; strings are borrowed from the scalar.
 * @return false: no such value, or not known how it is stored.
 */
bool scalar_as_stored(const struct scalar *v, const struct expr_node *column, void *space,
                      const void **out, size_t *len);

/** Bytes in the order of memcmp, the shorter first. */
int bytes_compare(struct arrow_bytes x, struct arrow_bytes y);
/** Whether part is somewhere in text. */
bool bytes_contain(struct arrow_bytes text, struct arrow_bytes part);
/** SQL like: % any run, _ one character, escape (-1: none) takes the next literally. */
bool expr_like(struct arrow_bytes text, struct arrow_bytes pattern, int escape);

#endif
