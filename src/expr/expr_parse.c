/* SPDX-License-Identifier: Apache-2.0 */
#include "expr/expr_lex.h"

#include <assert.h>
#include <string.h>

#include "base/utf8.h"

/*
 * Recursive descent, SQL's precedence: or < and < not < is, comparison, in, between, like <
 * + - < * / % < unary minus < path. Nesting of parentheses, calls, `not` and signs is counted in
 * `nesting`; chains of operators make the tree deeper and are held by the depth of the nodes.
 */
struct parser {
    struct expr *e;
    size_t pos;
    struct token t; /* the next token */
    bool is_after_name;
    int nesting;
    grebe_error *err;
};

/* Kids of a node while their number is not known. */
struct kids {
    struct buf items; /* struct expr_node * */
};

static grebe_status parse_or(struct parser *ps, struct expr_node **out);
static grebe_status parse_additive(struct parser *ps, struct expr_node **out);
static grebe_status parse_unary(struct parser *ps, struct expr_node **out);

static grebe_status no_memory(const struct parser *ps)
{
    return mem_fail(ps->err, sizeof(struct expr_node), "a condition");
}

static grebe_status advance(struct parser *ps)
{
    bool is_op = ps->t.kind == TOKEN_OP;
    bool is_after_name = ps->t.kind == TOKEN_NAME || ps->t.kind == TOKEN_QUOTED ||
                         (is_op && ps->t.op == ']');
    return expr_lex(ps->e, &ps->pos, is_after_name, &ps->t, ps->err);
}

static bool is_op(const struct parser *ps, int op) { return ps->t.kind == TOKEN_OP && ps->t.op == op; }

static grebe_status expect_op(struct parser *ps, int op, const char *expected)
{
    return is_op(ps, op) ? advance(ps) : expr_syntax(ps->e, &ps->t, expected, ps->err);
}

/* Take the word if it is next. */
static grebe_status take_word(struct parser *ps, const char *word, bool *taken)
{
    *taken = token_is_word(&ps->t, word);
    return *taken ? advance(ps) : GREBE_OK;
}

static grebe_status too_deep(const struct parser *ps)
{
    return GREBE_FAIL(ps->err, GREBE_ELIMIT, "condition, column %zu: nested deeper than %d",
                      expr_column_of(ps->e, ps->t.at), EXPR_DEPTH_MAX);
}

struct expr_node *expr_node_new(struct expr *e, enum expr_op op, size_t at, size_t n_kids)
{
    struct expr_node *node = arena_alloc_zero(&e->arena, sizeof *node);
    struct expr_node **kids = arena_array(&e->arena, n_kids, sizeof *kids);
    if (node == NULL || kids == NULL) {
        return NULL;
    }
    node->op = op;
    node->at = at;
    node->kids = kids;
    node->n_kids = n_kids;
    node->depth = 1;
    return node;
}

/* Count the depth once the kids are in. */
static grebe_status finish_node(const struct parser *ps, struct expr_node *node)
{
    for (size_t i = 0; i < node->n_kids; i++) {
        if (node->kids[i]->depth >= node->depth) {
            node->depth = node->kids[i]->depth + 1;
        }
    }
    return node->depth > EXPR_DEPTH_MAX ? too_deep(ps) : GREBE_OK;
}

static grebe_status make1(const struct parser *ps, enum expr_op op, int sub, size_t at,
                          struct expr_node *kid, struct expr_node **out)
{
    struct expr_node *node = expr_node_new(ps->e, op, at, 1);
    if (node == NULL) {
        return no_memory(ps);
    }
    node->sub = sub;
    node->kids[0] = kid;
    *out = node;
    return finish_node(ps, node);
}

static grebe_status make2(const struct parser *ps, enum expr_op op, int sub, size_t at,
                          struct expr_node *left, struct expr_node *right, struct expr_node **out)
{
    struct expr_node *node = expr_node_new(ps->e, op, at, 2);
    if (node == NULL) {
        return no_memory(ps);
    }
    node->sub = sub;
    node->kids[0] = left;
    node->kids[1] = right;
    *out = node;
    return finish_node(ps, node);
}

static grebe_status push_kid(struct parser *ps, struct kids *k, struct expr_node *node)
{
    return buf_put(&k->items, &node, sizeof node, ps->err);
}

static grebe_status make_n(const struct parser *ps, enum expr_op op, size_t at,
                           const struct kids *k, struct expr_node **out)
{
    size_t n = k->items.len / sizeof(struct expr_node *);
    struct expr_node *node = expr_node_new(ps->e, op, at, n);
    if (node == NULL) {
        return no_memory(ps);
    }
    memcpy(node->kids, k->items.data, k->items.len);
    *out = node;
    return finish_node(ps, node);
}

/* ---- primaries ---- */

static grebe_status literal(struct parser *ps, enum literal_kind kind, const char *text,
                            size_t len, bool boolean, size_t at, struct expr_node **out)
{
    struct expr_node *node = expr_node_new(ps->e, OP_LITERAL, at, 0);
    if (node == NULL) {
        return no_memory(ps);
    }
    node->literal = kind;
    node->text = text;
    node->len = len;
    node->boolean = boolean;
    *out = node;
    return GREBE_OK;
}

static const struct {
    const char *name;
    size_t n_args;
} functions[] = {
    [FN_IS_NAN] = { "is_nan", 1 },           [FN_LENGTH] = { "length", 1 },
    [FN_LOWER] = { "lower", 1 },             [FN_UPPER] = { "upper", 1 },
    [FN_ABS] = { "abs", 1 },                 [FN_STARTS_WITH] = { "starts_with", 2 },
    [FN_ENDS_WITH] = { "ends_with", 2 },     [FN_CONTAINS] = { "contains", 2 },
};

const char *expr_function_name(enum expr_function fn) { return functions[fn].name; }

/* name ( args ): the name is taken, '(' is next. */
static grebe_status parse_call(struct parser *ps, const struct token *name,
                               struct expr_node **out)
{
    grebe_status st = GREBE_OK;
    size_t fn = 0;
    size_t n_functions = sizeof functions / sizeof functions[0];
    while (fn < n_functions && !token_is_word(name, functions[fn].name)) {
        fn++;
    }
    if (fn == n_functions) {
        return expr_syntax(ps->e, name,
                           "a function (is_nan, length, lower, upper, abs, starts_with, "
                           "ends_with, contains)",
                           ps->err);
    }
    struct expr_node *node = expr_node_new(ps->e, OP_CALL, name->at, functions[fn].n_args);
    if (node == NULL) {
        return no_memory(ps);
    }
    node->sub = (int)fn;
    if (++ps->nesting > EXPR_DEPTH_MAX) {
        return too_deep(ps);
    }
    GREBE_TRY(advance(ps));
    for (size_t i = 0; i < node->n_kids; i++) {
        if (i > 0) {
            GREBE_TRY(expect_op(ps, ',', "','"));
        }
        GREBE_TRY(parse_or(ps, &node->kids[i]));
    }
    GREBE_TRY(expect_op(ps, ')', "')'"));
    ps->nesting--;
    *out = node;
    st = finish_node(ps, node);
out:
    return st;
}

static grebe_status push_step(struct parser *ps, struct buf *steps, const char *name, size_t len,
                              int64_t index)
{
    struct path_step step = { NULL, len, index, -1 };
    if (name != NULL) {
        step.name = arena_str(&ps->e->arena, name, len);
        if (step.name == NULL) {
            return no_memory(ps);
        }
    }
    if (steps->len / sizeof step >= EXPR_DEPTH_MAX) {
        return too_deep(ps);
    }
    return buf_put(steps, &step, sizeof step, ps->err);
}

static grebe_status parse_index(struct parser *ps, struct buf *steps)
{
    grebe_status st = advance(ps);
    if (st != GREBE_OK) {
        return st;
    }
    bool is_negative = is_op(ps, '-');
    if (is_negative) {
        st = advance(ps);
    }
    int64_t index = 0;
    if (st == GREBE_OK && ps->t.kind != TOKEN_NUMBER) {
        return expr_syntax(ps->e, &ps->t, "an index", ps->err);
    }
    for (size_t i = 0; st == GREBE_OK && i < ps->t.len; i++) {
        char c = ps->t.text[i];
        if (c < '0' || c > '9' || index > INT32_MAX) {
            return expr_syntax(ps->e, &ps->t, "an index", ps->err);
        }
        index = index * 10 + (c - '0');
    }
    if (st == GREBE_OK) {
        st = push_step(ps, steps, NULL, 0, is_negative ? -index : index);
    }
    if (st == GREBE_OK) {
        st = advance(ps);
    }
    return st == GREBE_OK ? expect_op(ps, ']', "']'") : st;
}

/* name (.name | [index])*; the first name is taken. */
static grebe_status parse_path(struct parser *ps, const struct token *name,
                               struct expr_node **out)
{
    grebe_status st = GREBE_OK;
    struct buf steps = BUF_INIT(ps->e->a);
    struct expr_node *node = expr_node_new(ps->e, OP_COLUMN, name->at, 0);
    if (node == NULL) {
        return no_memory(ps);
    }
    GREBE_TRY(push_step(ps, &steps, name->text, name->len, 0));
    while (is_op(ps, '.') || is_op(ps, '[')) {
        if (is_op(ps, '[')) {
            GREBE_TRY(parse_index(ps, &steps));
            continue;
        }
        GREBE_TRY(advance(ps));
        if (ps->t.kind != TOKEN_NAME && ps->t.kind != TOKEN_QUOTED) {
            st = expr_syntax(ps->e, &ps->t, "the name of a field", ps->err);
            goto out;
        }
        GREBE_TRY(push_step(ps, &steps, ps->t.text, ps->t.len, 0));
        GREBE_TRY(advance(ps));
    }
    node->n_steps = steps.len / sizeof *node->steps;
    node->steps = arena_array(&ps->e->arena, node->n_steps, sizeof *node->steps);
    if (node->steps == NULL) {
        st = no_memory(ps);
        goto out;
    }
    memcpy(node->steps, steps.data, steps.len);
    *out = node;
out:
    buf_release(&steps);
    return st;
}

static bool is_reserved(const struct token *t)
{
    static const char *const words[] = { "and", "or", "not", "in", "is", "like", "between",
                                         "escape", "null", "true", "false" };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (token_is_word(t, words[i])) {
            return true;
        }
    }
    return false;
}

static grebe_status parse_word(struct parser *ps, struct expr_node **out)
{
    struct token word = ps->t;
    if (token_is_word(&word, "null") || token_is_word(&word, "true") ||
        token_is_word(&word, "false")) {
        enum literal_kind kind = token_is_word(&word, "null") ? LIT_NULL : LIT_BOOL;
        grebe_status st = literal(ps, kind, "", 0, token_is_word(&word, "true"), word.at, out);
        return st == GREBE_OK ? advance(ps) : st;
    }
    if (is_reserved(&word)) {
        return expr_syntax(ps->e, &word, "a value", ps->err);
    }
    grebe_status st = advance(ps);
    if (st != GREBE_OK) {
        return st;
    }
    bool is_stamp = token_is_word(&word, "timestamp");
    if ((is_stamp || token_is_word(&word, "date")) && ps->t.kind == TOKEN_STRING) {
        st = literal(ps, is_stamp ? LIT_TIMESTAMP : LIT_DATE, ps->t.text, ps->t.len, false, word.at,
                     out);
        return st == GREBE_OK ? advance(ps) : st;
    }
    return is_op(ps, '(') ? parse_call(ps, &word, out) : parse_path(ps, &word, out);
}

static grebe_status parse_primary(struct parser *ps, struct expr_node **out)
{
    grebe_status st = GREBE_OK;
    struct token t = ps->t;
    switch (t.kind) {
    case TOKEN_NAME: return parse_word(ps, out);
    case TOKEN_QUOTED:
        st = advance(ps);
        return st == GREBE_OK ? parse_path(ps, &t, out) : st;
    case TOKEN_STRING:
    case TOKEN_BLOB:
    case TOKEN_NUMBER:
        st = literal(ps,
                     t.kind == TOKEN_STRING ? LIT_STRING
                     : t.kind == TOKEN_BLOB ? LIT_BLOB
                                            : LIT_NUMBER,
                     t.text, t.len, false, t.at, out);
        return st == GREBE_OK ? advance(ps) : st;
    default: break;
    }
    if (!is_op(ps, '(')) {
        return expr_syntax(ps->e, &t, "a value", ps->err);
    }
    if (++ps->nesting > EXPR_DEPTH_MAX) {
        return too_deep(ps);
    }
    GREBE_TRY(advance(ps));
    GREBE_TRY(parse_or(ps, out));
    GREBE_TRY(expect_op(ps, ')', "')'"));
    ps->nesting--;
out:
    return st;
}

static grebe_status parse_unary(struct parser *ps, struct expr_node **out)
{
    grebe_status st = GREBE_OK;
    size_t at = ps->t.at;
    bool is_minus = is_op(ps, '-');
    if (!is_minus && !is_op(ps, '+')) {
        return parse_primary(ps, out);
    }
    if (++ps->nesting > EXPR_DEPTH_MAX) {
        return too_deep(ps);
    }
    GREBE_TRY(advance(ps));
    GREBE_TRY(parse_unary(ps, out));
    ps->nesting--;
    if (is_minus && (*out)->op == OP_LITERAL && (*out)->literal == LIT_NUMBER) {
        /* Part of the number, so that -9223372036854775808 is one. */
        struct expr_node *number = *out;
        bool was_negative = number->text[0] == '-';
        char *text = arena_alloc(&ps->e->arena, number->len + 1);
        if (text == NULL) {
            return no_memory(ps);
        }
        text[0] = '-';
        memcpy(text + !was_negative, number->text, number->len);
        number->text = was_negative ? number->text + 1 : text;
        number->len = was_negative ? number->len - 1 : number->len + 1;
        number->at = at;
    } else if (is_minus) {
        st = make1(ps, OP_NEGATE, 0, at, *out, out);
    }
out:
    return st;
}

static grebe_status parse_product(struct parser *ps, struct expr_node **out)
{
    grebe_status st = parse_unary(ps, out);
    while (st == GREBE_OK && (is_op(ps, '*') || is_op(ps, '/') || is_op(ps, '%'))) {
        struct token op = ps->t;
        struct expr_node *right = NULL;
        st = advance(ps);
        if (st == GREBE_OK) {
            st = parse_unary(ps, &right);
        }
        if (st == GREBE_OK) {
            st = make2(ps, OP_ARITH, op.op, op.at, *out, right, out);
        }
    }
    return st;
}

static grebe_status parse_additive(struct parser *ps, struct expr_node **out)
{
    grebe_status st = parse_product(ps, out);
    while (st == GREBE_OK && (is_op(ps, '+') || is_op(ps, '-'))) {
        struct token op = ps->t;
        struct expr_node *right = NULL;
        st = advance(ps);
        if (st == GREBE_OK) {
            st = parse_product(ps, &right);
        }
        if (st == GREBE_OK) {
            st = make2(ps, OP_ARITH, op.op, op.at, *out, right, out);
        }
    }
    if (st == GREBE_OK && is_op(ps, OP2('|', '|'))) {
        return expr_syntax(ps->e, &ps->t, "no '||' (strings are not joined here)", ps->err);
    }
    return st;
}

/* ---- predicates ---- */

static bool compare_of_token(const struct parser *ps, enum compare_op *out)
{
    static const struct {
        int op;
        enum compare_op compare;
    } ops[] = {
        { '=', CMP_EQ },           { OP2('=', '='), CMP_EQ }, { OP2('<', '>'), CMP_NE },
        { OP2('!', '='), CMP_NE }, { '<', CMP_LT },           { OP2('<', '='), CMP_LE },
        { '>', CMP_GT },           { OP2('>', '='), CMP_GE },
    };
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++) {
        if (is_op(ps, ops[i].op)) {
            *out = ops[i].compare;
            return true;
        }
    }
    return false;
}

static grebe_status parse_in(struct parser *ps, struct expr_node *left, size_t at,
                             struct expr_node **out)
{
    grebe_status st = GREBE_OK;
    struct kids k = { BUF_INIT(ps->e->a) };
    GREBE_TRY(push_kid(ps, &k, left));
    GREBE_TRY(expect_op(ps, '(', "'(' and a list"));
    do {
        struct expr_node *item = NULL;
        if (k.items.len > sizeof item) {
            GREBE_TRY(advance(ps));
        }
        GREBE_TRY(parse_additive(ps, &item));
        GREBE_TRY(push_kid(ps, &k, item));
    } while (is_op(ps, ','));
    GREBE_TRY(expect_op(ps, ')', "',' or ')'"));
    GREBE_TRY(make_n(ps, OP_IN, at, &k, out));
out:
    buf_release(&k.items);
    return st;
}

static grebe_status parse_between(struct parser *ps, struct expr_node *left, size_t at,
                                  struct expr_node **out)
{
    grebe_status st = GREBE_OK;
    struct expr_node *low = NULL;
    struct expr_node *high = NULL;
    bool taken = false;
    GREBE_TRY(parse_additive(ps, &low));
    GREBE_TRY(take_word(ps, "and", &taken));
    if (!taken) {
        st = expr_syntax(ps->e, &ps->t, "and", ps->err);
        goto out;
    }
    GREBE_TRY(parse_additive(ps, &high));
    struct expr_node *node = expr_node_new(ps->e, OP_BETWEEN, at, 3);
    if (node == NULL) {
        st = no_memory(ps);
        goto out;
    }
    node->kids[0] = left;
    node->kids[1] = low;
    node->kids[2] = high;
    *out = node;
    GREBE_TRY(finish_node(ps, node));
out:
    return st;
}

static grebe_status parse_like(struct parser *ps, struct expr_node *left, size_t at,
                               struct expr_node **out)
{
    grebe_status st = GREBE_OK;
    struct expr_node *pattern = NULL;
    bool has_escape = false;
    GREBE_TRY(parse_additive(ps, &pattern));
    GREBE_TRY(make2(ps, OP_LIKE, 0, at, left, pattern, out));
    GREBE_TRY(take_word(ps, "escape", &has_escape));
    if (has_escape) {
        if (ps->t.kind != TOKEN_STRING || ps->t.len != 1 || (unsigned char)ps->t.text[0] >= 0x80) {
            st = expr_syntax(ps->e, &ps->t, "a string of one ASCII character", ps->err);
            goto out;
        }
        (*out)->text = ps->t.text;
        (*out)->len = 1;
        GREBE_TRY(advance(ps));
    }
out:
    return st;
}

static grebe_status parse_is(struct parser *ps, size_t at, struct expr_node **out)
{
    static const struct {
        const char *word;
        enum expr_op op;
    } kinds[] = { { "null", OP_IS_NULL }, { "true", OP_IS_TRUE }, { "false", OP_IS_FALSE } };
    bool is_not = false;
    grebe_status st = take_word(ps, "not", &is_not);
    for (size_t i = 0; st == GREBE_OK && i < 3; i++) {
        bool taken = false;
        st = take_word(ps, kinds[i].word, &taken);
        if (st == GREBE_OK && taken) {
            st = make1(ps, kinds[i].op, 0, at, *out, out);
            return st == GREBE_OK && is_not ? make1(ps, OP_NOT, 0, at, *out, out) : st;
        }
    }
    return st != GREBE_OK ? st : expr_syntax(ps->e, &ps->t, "null, true or false", ps->err);
}

/* [not] in, between, like behind an operand */
static grebe_status parse_word_predicate(struct parser *ps, size_t at, bool *is_found,
                                         struct expr_node **out)
{
    grebe_status st = GREBE_OK;
    bool is_not = false;
    bool taken = false;
    *is_found = true;
    GREBE_TRY(take_word(ps, "not", &is_not));
    GREBE_TRY(take_word(ps, "in", &taken));
    if (taken) {
        GREBE_TRY(parse_in(ps, *out, at, out));
        goto negate;
    }
    GREBE_TRY(take_word(ps, "between", &taken));
    if (taken) {
        GREBE_TRY(parse_between(ps, *out, at, out));
        goto negate;
    }
    GREBE_TRY(take_word(ps, "like", &taken));
    if (taken) {
        GREBE_TRY(parse_like(ps, *out, at, out));
        goto negate;
    }
    *is_found = false;
    if (is_not) {
        st = expr_syntax(ps->e, &ps->t, "in, between or like", ps->err);
    }
    goto out;
negate:
    if (is_not) {
        GREBE_TRY(make1(ps, OP_NOT, 0, at, *out, out));
    }
out:
    return st;
}

static grebe_status parse_predicate(struct parser *ps, struct expr_node **out)
{
    grebe_status st = GREBE_OK;
    size_t at = ps->t.at;
    enum compare_op compare;
    bool is_word = false;
    bool taken = false;

    GREBE_TRY(parse_additive(ps, out));
    if (compare_of_token(ps, &compare)) {
        struct token op = ps->t;
        struct expr_node *right = NULL;
        GREBE_TRY(advance(ps));
        GREBE_TRY(parse_additive(ps, &right));
        GREBE_TRY(make2(ps, OP_COMPARE, (int)compare, op.at, *out, right, out));
        if (compare_of_token(ps, &compare)) {
            st = expr_syntax(ps->e, &ps->t, "and, or, or the end (comparisons do not chain)",
                             ps->err);
            goto out;
        }
    } else {
        GREBE_TRY(parse_word_predicate(ps, at, &is_word, out));
    }
    GREBE_TRY(take_word(ps, "is", &taken));
    while (taken) {
        GREBE_TRY(parse_is(ps, at, out));
        GREBE_TRY(take_word(ps, "is", &taken));
    }
out:
    return st;
}

static grebe_status parse_not(struct parser *ps, struct expr_node **out)
{
    grebe_status st = GREBE_OK;
    size_t at = ps->t.at;
    bool is_not = false;
    GREBE_TRY(take_word(ps, "not", &is_not));
    if (!is_not) {
        return parse_predicate(ps, out);
    }
    if (++ps->nesting > EXPR_DEPTH_MAX) {
        return too_deep(ps);
    }
    GREBE_TRY(parse_not(ps, out));
    ps->nesting--;
    GREBE_TRY(make1(ps, OP_NOT, 0, at, *out, out));
out:
    return st;
}

static grebe_status parse_chain(struct parser *ps, enum expr_op op, const char *word,
                                grebe_status (*part)(struct parser *, struct expr_node **),
                                struct expr_node **out)
{
    grebe_status st = GREBE_OK;
    struct kids k = { BUF_INIT(ps->e->a) };
    size_t at = ps->t.at;
    bool more = false;
    do {
        GREBE_TRY(part(ps, out));
        GREBE_TRY(push_kid(ps, &k, *out));
        GREBE_TRY(take_word(ps, word, &more));
    } while (more);
    if (k.items.len > sizeof(struct expr_node *)) {
        GREBE_TRY(make_n(ps, op, at, &k, out));
    }
out:
    buf_release(&k.items);
    return st;
}

static grebe_status parse_and(struct parser *ps, struct expr_node **out)
{
    return parse_chain(ps, OP_AND, "and", parse_not, out);
}

static grebe_status parse_or(struct parser *ps, struct expr_node **out)
{
    return parse_chain(ps, OP_OR, "or", parse_and, out);
}

grebe_status expr_parse(const grebe_allocator *a, const char *text, struct expr **out,
                        grebe_error *err)
{
    grebe_status st = GREBE_OK;
    size_t len = strlen(text);
    struct parser ps = { 0 };

    *out = NULL;
    if (len > EXPR_TEXT_MAX) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "condition of %zu bytes: at most %d", len,
                          EXPR_TEXT_MAX);
    }
    if (!utf8_is_valid(text, len)) {
        return GREBE_FAIL(err, GREBE_EINVAL, "condition: no UTF-8 at byte %zu",
                          utf8_valid_prefix(text, len));
    }
    struct expr *e = mem_alloc_zero(a, sizeof *e);
    if (e == NULL) {
        return mem_fail(err, sizeof *e, "a condition");
    }
    e->a = a;
    e->arena = ARENA_INIT(a);
    e->text = arena_str(&e->arena, text, len);
    ps.e = e;
    ps.err = err;
    if (e->text == NULL) {
        st = no_memory(&ps);
        goto out;
    }
    GREBE_TRY(advance(&ps));
    GREBE_TRY(parse_or(&ps, &e->root));
    if (ps.t.kind != TOKEN_END) {
        st = expr_syntax(e, &ps.t, "and, or, or the end", err);
        goto out;
    }
    *out = e;
    e = NULL;
out:
    expr_free(e);
    return st;
}

void expr_free(struct expr *e)
{
    if (e != NULL) {
        const grebe_allocator *a = e->a;
        schema_release(&e->schema);
        arena_release(&e->arena);
        mem_free(a, e, sizeof *e);
    }
}
