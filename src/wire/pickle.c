/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/pickle.h"

#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "base/utf8.h"

/*
 * A machine with a stack of values, marks in it, and a memo, as Python's. Containers are filled after they came onto the stack, and
 * the memo may hand the same one out again: a container that is put into itself is a cycle, which the depth of a walk would find
 * endless. Each container remembers the largest number of levels below it, so that a cycle, or too deep a tree, is an error here.
 */
struct machine {
    struct arena *ar;
    const char *name;
    const unsigned char *p;
    size_t len, at, op_at;
    struct pickle_value **stack; /* NULL: a mark */
    size_t n_stack, stack_capacity;
    struct pickle_value **memo;
    size_t n_memo, memo_capacity, next_memo;
    size_t n_nodes;
    size_t places_max; /* of the stack, the memo, a container: what bounds each allocation by four times len, or ARENA_BLOCK_MAX */
    pickle_allows_fn allows;
    void *arg;
    grebe_error *err;
};

static grebe_status fail(struct machine *m, grebe_status st, const char *what)
{
    return error_at(m->err, GREBE_FAIL(m->err, st, "%s: pickle at offset %zu: %s", m->name, m->op_at, what), m->op_at);
}

static grebe_status need(struct machine *m, uint64_t n)
{
    return n <= m->len - m->at ? GREBE_OK : fail(m, GREBE_ECORRUPT, "it ends inside of a value");
}

static grebe_status no_memory(struct machine *m) { return fail(m, GREBE_ENOMEM, "out of memory"); }

/* Room for `wanted` values in all where there is room for *capacity. */
static grebe_status grow(struct machine *m, struct pickle_value ***items, size_t *capacity, size_t wanted)
{
    if (wanted <= *capacity) {
        return GREBE_OK;
    }
    if (wanted > m->places_max) { /* Python writes two bytes and more for each that waits, but for thousands of None in one tuple */
        return fail(m, GREBE_ELIMIT, "more values at once than a pickle of its length has");
    }
    size_t n = min_size(max_size(*capacity * 2, wanted), m->places_max);
    struct pickle_value **more = arena_array(m->ar, n, sizeof *more);
    if (more == NULL) {
        return no_memory(m);
    }
    if (*capacity > 0) {
        memcpy(more, *items, *capacity * sizeof *more);
    }
    *items = more;
    *capacity = n;
    return GREBE_OK;
}

static grebe_status push(struct machine *m, struct pickle_value *v)
{
    grebe_status st = grow(m, &m->stack, &m->stack_capacity, m->n_stack + 1);
    if (st == GREBE_OK) {
        m->stack[m->n_stack++] = v;
    }
    return st;
}

static grebe_status make(struct machine *m, enum pickle_type type, struct pickle_value **out)
{
    if (++m->n_nodes > PICKLE_NODES_MAX) {
        return fail(m, GREBE_ELIMIT, "too many values");
    }
    struct pickle_value *v = arena_alloc_zero(m->ar, sizeof *v);
    if (v == NULL) {
        return no_memory(m);
    }
    v->type = type;
    v->offset = m->op_at;
    *out = v;
    return push(m, v);
}

static grebe_status pop(struct machine *m, struct pickle_value **out)
{
    if (m->n_stack == 0 || m->stack[m->n_stack - 1] == NULL) {
        return fail(m, GREBE_ECORRUPT, "a value is expected on the stack");
    }
    *out = m->stack[--m->n_stack];
    return GREBE_OK;
}

/* The values above the newest mark, which is taken away; they stay valid until the next push. */
static grebe_status pop_mark(struct machine *m, struct pickle_value ***items, size_t *n)
{
    for (size_t i = m->n_stack; i-- > 0;) {
        if (m->stack[i] == NULL) {
            *items = m->stack + i + 1;
            *n = m->n_stack - i - 1;
            m->n_stack = i;
            return GREBE_OK;
        }
    }
    return fail(m, GREBE_ECORRUPT, "a mark is expected on the stack");
}

static grebe_status append(struct machine *m, struct pickle_value *to, struct pickle_value *const *items, size_t n)
{
    struct pickle_value **room = (struct pickle_value **)(uintptr_t)to->items; /* of this machine */
    grebe_status st = grow(m, &room, &to->capacity, to->n + n);
    to->items = (const struct pickle_value **)room;
    for (size_t i = 0; i < n && st == GREBE_OK; i++) {
        room[to->n++] = items[i];
    }
    return st;
}

/* ---- scalars ---- */

static grebe_status put_int(struct machine *m, int64_t x)
{
    struct pickle_value *v = NULL;
    grebe_status st = make(m, PICKLE_INT, &v);
    if (st == GREBE_OK) {
        v->integer = x;
    }
    return st;
}

/* Two's complement, little-endian, n bytes. */
static grebe_status put_long(struct machine *m, size_t n)
{
    grebe_status st = need(m, n);
    uint64_t x = 0;
    if (st != GREBE_OK) {
        return st;
    }
    bool is_negative = n > 0 && (m->p[m->at + n - 1] & 0x80) != 0;
    for (size_t i = 0; i < n; i++) {
        unsigned char byte = m->p[m->at + i];
        if (i >= 8 && byte != (is_negative ? 0xff : 0)) {
            return fail(m, GREBE_EUNSUPPORTED, "an integer of more than 64 bits");
        }
        x |= i < 8 ? (uint64_t)byte << (8 * i) : 0;
    }
    if (is_negative && n < 8) {
        x |= UINT64_MAX << (8 * n);
    }
    if (n > 8 && (x >> 63 != 0) != is_negative) {
        return fail(m, GREBE_EUNSUPPORTED, "an integer of more than 64 bits");
    }
    m->at += n;
    return put_int(m, (int64_t)x);
}

static grebe_status put_text(struct machine *m, enum pickle_type type, uint64_t n)
{
    struct pickle_value *v = NULL;
    grebe_status st = need(m, n);
    if (st == GREBE_OK && type == PICKLE_TEXT && !utf8_is_valid((const char *)m->p + m->at, (size_t)n)) {
        return fail(m, GREBE_ECORRUPT, "a text is no UTF-8");
    }
    st = st == GREBE_OK ? make(m, type, &v) : st;
    if (st == GREBE_OK) {
        v->text = arena_str(m->ar, (const char *)m->p + m->at, (size_t)n);
        v->n = (size_t)n;
        m->at += (size_t)n;
        st = v->text != NULL ? GREBE_OK : no_memory(m);
    }
    return st;
}

static grebe_status put_float(struct machine *m)
{
    struct pickle_value *v = NULL;
    grebe_status st = need(m, 8);
    st = st == GREBE_OK ? make(m, PICKLE_FLOAT, &v) : st;
    if (st == GREBE_OK) {
        uint64_t bits = 0;
        for (int i = 0; i < 8; i++) {
            bits = bits << 8 | m->p[m->at + (size_t)i];
        }
        memcpy(&v->real, &bits, sizeof v->real);
        m->at += 8;
    }
    return st;
}

/* ---- names ---- */

static grebe_status put_global(struct machine *m, const char *module, size_t module_len, const char *name, size_t name_len)
{
    struct pickle_value *v = NULL;
    char text[256];
    if (module_len + name_len + 2 > sizeof text) {
        return fail(m, GREBE_ELIMIT, "a name that is too long");
    }
    memcpy(text, module, module_len);
    text[module_len] = ' ';
    memcpy(text + module_len + 1, name, name_len);
    text[module_len + 1 + name_len] = '\0';
    if (!m->allows(m->arg, module, module_len, name, name_len)) {
        char quoted[300];
        error_quote(quoted, sizeof quoted, text, module_len + 1 + name_len);
        return error_at(m->err, GREBE_FAIL(m->err, GREBE_EUNSUPPORTED,
                                           "%s: pickle at offset %zu: the name %s is not one that data needs; nothing of it was run", m->name,
                                           m->op_at, quoted), m->op_at);
    }
    grebe_status st = make(m, PICKLE_GLOBAL, &v);
    if (st == GREBE_OK) {
        v->n = module_len + 1 + name_len;
        v->text = arena_str(m->ar, text, v->n);
        st = v->text != NULL ? GREBE_OK : no_memory(m);
    }
    return st;
}

/* A line, without its end. */
static grebe_status take_line(struct machine *m, const char **line, size_t *n)
{
    const unsigned char *end = memchr(m->p + m->at, '\n', m->len - m->at);
    if (end == NULL) {
        return fail(m, GREBE_ECORRUPT, "it ends inside of a name");
    }
    *line = (const char *)m->p + m->at;
    *n = (size_t)(end - (m->p + m->at));
    m->at += *n + 1;
    return GREBE_OK;
}

static grebe_status op_global(struct machine *m)
{
    const char *module = NULL, *name = NULL;
    size_t module_len = 0, name_len = 0;
    grebe_status st = take_line(m, &module, &module_len);
    st = st == GREBE_OK ? take_line(m, &name, &name_len) : st;
    return st == GREBE_OK ? put_global(m, module, module_len, name, name_len) : st;
}

static grebe_status op_stack_global(struct machine *m)
{
    struct pickle_value *name = NULL, *module = NULL;
    grebe_status st = pop(m, &name);
    st = st == GREBE_OK ? pop(m, &module) : st;
    if (st == GREBE_OK && (name->type != PICKLE_TEXT || module->type != PICKLE_TEXT)) {
        return fail(m, GREBE_ECORRUPT, "a name that is no text");
    }
    return st == GREBE_OK ? put_global(m, module->text, module->n, name->text, name->n) : st;
}

/* ---- containers ---- */

static grebe_status put_tuple(struct machine *m, struct pickle_value **items, size_t n)
{
    struct pickle_value *v = NULL, *kept[3];
    struct pickle_value **from = items;
    if (n <= 3) { /* the push of the tuple itself takes their place on the stack */
        memcpy(kept, items, n * sizeof *kept);
        from = kept;
    } else {
        from = arena_array(m->ar, n, sizeof *from);
        if (from == NULL) {
            return no_memory(m);
        }
        memcpy(from, items, n * sizeof *from);
    }
    grebe_status st = make(m, PICKLE_TUPLE, &v);
    return st == GREBE_OK ? append(m, v, from, n) : st;
}

static grebe_status op_tuple_of(struct machine *m, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (m->n_stack < n || m->stack[m->n_stack - 1 - i] == NULL) {
            return fail(m, GREBE_ECORRUPT, "values are expected on the stack");
        }
    }
    m->n_stack -= n;
    return put_tuple(m, m->stack + m->n_stack, n);
}

/* The container below on the stack that items go into. */
static grebe_status container(struct machine *m, enum pickle_type type, struct pickle_value **out)
{
    struct pickle_value *v = m->n_stack > 0 ? m->stack[m->n_stack - 1] : NULL;
    /* a call of OrderedDict stands for the dict that it makes */
    if (v == NULL || (v->type != type && !(type == PICKLE_DICT && v->type == PICKLE_CALL))) {
        return fail(m, GREBE_ECORRUPT, type == PICKLE_DICT ? "a dict is expected on the stack" : "a list is expected on the stack");
    }
    *out = v;
    return GREBE_OK;
}

static grebe_status add_items(struct machine *m, enum pickle_type type, size_t n_above)
{
    struct pickle_value **items = NULL, *to = NULL;
    size_t n = n_above;
    grebe_status st = GREBE_OK;
    if (n_above == 0) {
        st = pop_mark(m, &items, &n);
    } else {
        for (size_t i = 0; i < n; i++) {
            if (m->n_stack < n || m->stack[m->n_stack - 1 - i] == NULL) {
                return fail(m, GREBE_ECORRUPT, "values are expected on the stack");
            }
        }
        m->n_stack -= n;
        items = m->stack + m->n_stack;
    }
    st = st == GREBE_OK ? container(m, type, &to) : st;
    if (st == GREBE_OK && type == PICKLE_DICT && n % 2 != 0) {
        return fail(m, GREBE_ECORRUPT, "a key without a value");
    }
    if (st == GREBE_OK && to->type == PICKLE_CALL) {
        if (to->state == NULL) { /* the pairs of an OrderedDict are kept as its state */
            struct pickle_value *pairs = arena_alloc_zero(m->ar, sizeof *pairs);
            if (pairs == NULL) {
                return no_memory(m);
            }
            pairs->type = PICKLE_DICT;
            pairs->offset = m->op_at;
            to->state = pairs;
        }
        if (to->state->type != PICKLE_DICT) {
            return fail(m, GREBE_ECORRUPT, "items of an object that has a state");
        }
        to = (struct pickle_value *)(uintptr_t)to->state; /* made here, or by this machine: not shared as a constant */
    }
    return st == GREBE_OK ? append(m, to, items, n) : st;
}

static grebe_status op_call(struct machine *m)
{
    struct pickle_value *arguments = NULL, *function = NULL, *v = NULL;
    grebe_status st = pop(m, &arguments);
    st = st == GREBE_OK ? pop(m, &function) : st;
    if (st == GREBE_OK && (function->type != PICKLE_GLOBAL || arguments->type != PICKLE_TUPLE)) {
        return fail(m, GREBE_ECORRUPT, "a call of something that is no name");
    }
    st = st == GREBE_OK ? make(m, PICKLE_CALL, &v) : st;
    struct pickle_value *both[2] = { function, arguments };
    return st == GREBE_OK ? append(m, v, both, 2) : st;
}

static grebe_status op_build(struct machine *m)
{
    struct pickle_value *state = NULL;
    grebe_status st = pop(m, &state);
    if (st == GREBE_OK && (m->n_stack == 0 || m->stack[m->n_stack - 1] == NULL || m->stack[m->n_stack - 1]->type != PICKLE_CALL ||
                           m->stack[m->n_stack - 1]->state != NULL)) {
        return fail(m, GREBE_ECORRUPT, "a state of something that is no object");
    }
    if (st == GREBE_OK) {
        m->stack[m->n_stack - 1]->state = state;
    }
    return st;
}

static grebe_status op_persid(struct machine *m)
{
    struct pickle_value *id = NULL, *v = NULL;
    grebe_status st = pop(m, &id);
    st = st == GREBE_OK ? make(m, PICKLE_PERSID, &v) : st;
    return st == GREBE_OK ? append(m, v, &id, 1) : st;
}

/* ---- the memo ---- */

static grebe_status put_memo(struct machine *m, uint64_t i)
{
    if (m->n_stack == 0 || m->stack[m->n_stack - 1] == NULL) {
        return fail(m, GREBE_ECORRUPT, "a value is expected on the stack");
    }
    if (i >= m->places_max) {
        return fail(m, GREBE_ECORRUPT, "a place in the memo that no pickle of this length has");
    }
    grebe_status st = grow(m, &m->memo, &m->memo_capacity, (size_t)i + 1);
    if (st == GREBE_OK) {
        m->memo[i] = m->stack[m->n_stack - 1];
        m->n_memo = m->n_memo > i + 1 ? m->n_memo : (size_t)i + 1;
    }
    return st;
}

static grebe_status get_memo(struct machine *m, uint64_t i)
{
    if (i >= m->n_memo || m->memo[i] == NULL) {
        return fail(m, GREBE_ECORRUPT, "a place in the memo that holds nothing");
    }
    return push(m, m->memo[i]);
}

/* ---- opcodes ---- */

static grebe_status number(struct machine *m, size_t bytes, uint64_t *out)
{
    grebe_status st = need(m, bytes);
    *out = 0;
    for (size_t i = 0; st == GREBE_OK && i < bytes; i++) {
        *out |= (uint64_t)m->p[m->at + i] << (8 * i);
    }
    m->at += st == GREBE_OK ? bytes : 0;
    return st;
}

/* An opcode with a length of so many bytes in front of its text. */
static grebe_status sized_text(struct machine *m, enum pickle_type type, size_t bytes)
{
    uint64_t n = 0;
    grebe_status st = number(m, bytes, &n);
    return st == GREBE_OK ? put_text(m, type, n) : st;
}

static grebe_status sized_int(struct machine *m, size_t bytes)
{
    uint64_t n = 0;
    grebe_status st = number(m, bytes, &n);
    return st == GREBE_OK ? put_int(m, bytes == 4 ? (int32_t)(uint32_t)n : (int64_t)n) : st;
}

static grebe_status sized_long(struct machine *m, size_t bytes)
{
    uint64_t n = 0;
    grebe_status st = number(m, bytes, &n);
    st = st == GREBE_OK ? need(m, n) : st;
    return st == GREBE_OK ? put_long(m, (size_t)n) : st;
}

static grebe_status put_constant(struct machine *m, enum pickle_type type, bool boolean)
{
    struct pickle_value *v = NULL;
    grebe_status st = make(m, type, &v);
    if (st == GREBE_OK) {
        v->boolean = boolean;
    }
    return st;
}

static grebe_status memo_op(struct machine *m, size_t bytes, bool is_put)
{
    uint64_t i = 0;
    grebe_status st = number(m, bytes, &i);
    return st != GREBE_OK ? st : is_put ? put_memo(m, i) : get_memo(m, i);
}

static grebe_status skip(struct machine *m, size_t bytes)
{
    uint64_t ignored = 0;
    return number(m, bytes, &ignored);
}

static grebe_status op_tuple(struct machine *m)
{
    struct pickle_value **items = NULL;
    size_t n = 0;
    grebe_status st = pop_mark(m, &items, &n);
    return st == GREBE_OK ? put_tuple(m, items, n) : st;
}

static grebe_status op_pop(struct machine *m)
{
    struct pickle_value **items = NULL, *v = NULL;
    size_t n = 0;
    if (m->n_stack > 0 && m->stack[m->n_stack - 1] == NULL) {
        return pop_mark(m, &items, &n);
    }
    return pop(m, &v);
}

static grebe_status step(struct machine *m, unsigned char op)
{
    switch (op) {
    case 0x80: return skip(m, 1); /* PROTO */
    case 0x95: return skip(m, 8); /* FRAME */
    case '(': return push(m, NULL);
    case '0': return op_pop(m);
    case '1': { struct pickle_value **items; size_t n; return pop_mark(m, &items, &n); }
    case 'N': return put_constant(m, PICKLE_NONE, false);
    case 0x88: return put_constant(m, PICKLE_BOOL, true);
    case 0x89: return put_constant(m, PICKLE_BOOL, false);
    case 'J': return sized_int(m, 4);
    case 'K': return sized_int(m, 1);
    case 'M': return sized_int(m, 2);
    case 0x8a: return sized_long(m, 1);
    case 0x8b: return sized_long(m, 4);
    case 'G': return put_float(m);
    case 'X': return sized_text(m, PICKLE_TEXT, 4);
    case 0x8c: return sized_text(m, PICKLE_TEXT, 1);
    case 0x8d: return sized_text(m, PICKLE_TEXT, 8);
    case 'C': return sized_text(m, PICKLE_BYTES, 1);
    case 'B': return sized_text(m, PICKLE_BYTES, 4);
    case 0x8e: return sized_text(m, PICKLE_BYTES, 8);
    case ')': return op_tuple_of(m, 0);
    case 't': return op_tuple(m);
    case 0x85: return op_tuple_of(m, 1);
    case 0x86: return op_tuple_of(m, 2);
    case 0x87: return op_tuple_of(m, 3);
    case ']': return put_constant(m, PICKLE_LIST, false);
    case '}': return put_constant(m, PICKLE_DICT, false);
    case 'a': return add_items(m, PICKLE_LIST, 1);
    case 'e': return add_items(m, PICKLE_LIST, 0);
    case 's': return add_items(m, PICKLE_DICT, 2);
    case 'u': return add_items(m, PICKLE_DICT, 0);
    case 'q': return memo_op(m, 1, true);
    case 'r': return memo_op(m, 4, true);
    case 0x94: return put_memo(m, m->next_memo++);
    case 'h': return memo_op(m, 1, false);
    case 'j': return memo_op(m, 4, false);
    case 'c': return op_global(m);
    case 0x93: return op_stack_global(m);
    case 'Q': return op_persid(m);
    case 'R': return op_call(m);
    case 0x81: return op_call(m); /* NEWOBJ: of a class */
    case 'b': return op_build(m);
    default: {
        char what[64];
        snprintf(what, sizeof what, "opcode 0x%02x is not one that data needs", op);
        return fail(m, GREBE_EUNSUPPORTED, what);
    }
    }
}

/* Levels below a value; PICKLE_DEPTH_MAX + 1 and more: too many, or a cycle. Each value is walked once: `integer` of containers, which
 * mean nothing else there, remembers the levels (0: not walked yet, -1: being walked). */
static int levels_of(struct pickle_value *v, int depth)
{
    bool is_container = v->type >= PICKLE_TUPLE && v->type != PICKLE_GLOBAL;
    if (!is_container) {
        return 1;
    }
    if (v->integer != 0 || depth > PICKLE_DEPTH_MAX) {
        return v->integer > 0 ? (int)v->integer : PICKLE_DEPTH_MAX + 1;
    }
    int most = 0;
    v->integer = -1;
    for (size_t i = 0; i < v->n + (v->state != NULL); i++) {
        const struct pickle_value *item = i < v->n ? v->items[i] : v->state;
        int below = levels_of((struct pickle_value *)(uintptr_t)item, depth + 1);
        most = below > most ? below : most;
        if (most > PICKLE_DEPTH_MAX) {
            break;
        }
    }
    v->integer = most + 1;
    return most + 1;
}

grebe_status pickle_parse(struct arena *ar, const char *name, const void *bytes, size_t len, pickle_allows_fn allows, void *arg,
                          const struct pickle_value **out, grebe_error *err)
{
    struct machine m = { .ar = ar, .name = name, .p = bytes, .len = len, .allows = allows, .arg = arg, .err = err };
    struct pickle_value *top = NULL;
    m.places_max = (ARENA_BLOCK_MAX - 64) / sizeof *m.stack + len / 2; /* an arena needs a few bytes itself */
    *out = NULL;
    grebe_status st = grow(&m, &m.stack, &m.stack_capacity, 1); /* an address even of no values */
    while (st == GREBE_OK) {
        m.op_at = m.at;
        st = need(&m, 1);
        if (st != GREBE_OK) {
            return st;
        }
        unsigned char op = m.p[m.at++];
        if (op == '.') {
            break;
        }
        st = step(&m, op);
    }
    st = st == GREBE_OK ? pop(&m, &top) : st;
    if (st == GREBE_OK && m.n_stack != 0) {
        st = fail(&m, GREBE_ECORRUPT, "values are left on the stack");
    }
    if (st == GREBE_OK && levels_of(top, 0) > PICKLE_DEPTH_MAX) {
        st = fail(&m, GREBE_ELIMIT, "values that hold each other, or too many levels");
    }
    if (st == GREBE_OK) {
        *out = top;
    }
    return st;
}

bool pickle_is_global(const struct pickle_value *v, const char *module_name)
{
    return v != NULL && v->type == PICKLE_GLOBAL && strcmp(v->text, module_name) == 0;
}

const struct pickle_value **pickle_call(const struct pickle_value *v, const char *module_name, size_t n)
{
    if (v == NULL || v->type != PICKLE_CALL || !pickle_is_global(v->items[0], module_name) || v->items[1]->n != n) {
        return NULL;
    }
    return v->items[1]->items;
}

const struct pickle_value *pickle_get(const struct pickle_value *v, const char *key)
{
    for (size_t i = 0; v != NULL && v->type == PICKLE_DICT && i + 1 < v->n; i += 2) {
        if (v->items[i]->type == PICKLE_TEXT && v->items[i]->n == strlen(key) && memcmp(v->items[i]->text, key, v->items[i]->n) == 0) {
            return v->items[i + 1];
        }
    }
    return NULL;
}

const char *pickle_type_name(enum pickle_type type)
{
    static const char *const names[] = { "None", "bool", "int", "float", "str", "bytes", "tuple", "list", "dict", "a name",
                                         "a reference", "an object" };
    return names[type];
}
