/* SPDX-License-Identifier: Apache-2.0 */
#include "dataset/fingerprint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/context_internal.h"
#include "base/hash.h"

static void digits(uint64_t hash, char out[17])
{
    static const char hex[] = "0123456789abcdef";
    for (int i = 0; i < 16; i++) {
        out[i] = hex[hash >> (60 - 4 * i) & 15];
    }
    out[16] = '\0';
}

/* "==<class 'T'>==" and the digest of the pickle, which is ended and released. st: of what was put into it. */
static grebe_status absorb(struct fingerprint *f, const char *type, struct pickle *p, grebe_status st, grebe_error *err)
{
    char digest[17];
    if (st == GREBE_OK) {
        st = pickle_end(p, err);
    }
    if (st == GREBE_OK) {
        digits(hash_bytes(p->out.data, p->out.len, 0), digest);
        st = buf_printf(&f->text, err, "==<class '%s'>==%s", type, digest);
    }
    pickle_release(p);
    return st;
}

static const char *type_of(const struct json_value *v)
{
    switch (v->type) {
    case JSON_STRING: return "str";
    case JSON_ARRAY: return "list";
    case JSON_OBJECT: return "dict";
    case JSON_BOOL: return "bool";
    case JSON_NUMBER: return strpbrk(v->text, ".eE") != NULL ? "float" : "int";
    default: return "NoneType";
    }
}

grebe_status fingerprint_text(struct fingerprint *f, const char *text, grebe_error *err)
{
    struct pickle p;
    grebe_status st = pickle_begin(&p, f->text.a, err);
    st = st == GREBE_OK ? pickle_text(&p, text, strlen(text), err) : st;
    return absorb(f, "str", &p, st, err);
}

grebe_status fingerprint_value(struct fingerprint *f, const struct json_value *v, grebe_error *err)
{
    struct pickle p;
    grebe_status st = pickle_begin(&p, f->text.a, err);
    st = st == GREBE_OK ? pickle_json(&p, v, err) : st;
    return absorb(f, type_of(v), &p, st, err);
}

grebe_status fingerprint_begin(struct fingerprint *f, const grebe_allocator *a, const char *from, const char *transform,
                               grebe_error *err)
{
    char name[128];
    f->text = BUF_INIT(a);
    snprintf(name, sizeof name, "datasets.arrow_dataset.Dataset.%s", transform);
    grebe_status st = fingerprint_text(f, from, err);
    return st == GREBE_OK ? fingerprint_text(f, name, err) : st;
}

void fingerprint_release(struct fingerprint *f)
{
    buf_release(&f->text);
}

void fingerprint_end(struct fingerprint *f, char out[17])
{
    digits(hash_bytes(f->text.data, f->text.len, 0), out);
    fingerprint_release(f);
}

/* ---- arguments ---- */

grebe_status fingerprint_arg_text(struct fingerprint *f, const char *name, const char *text, grebe_error *err)
{
    grebe_status st = fingerprint_text(f, name, err);
    return st == GREBE_OK ? fingerprint_text(f, text, err) : st;
}

grebe_status fingerprint_arg_int(struct fingerprint *f, const char *name, int64_t v, grebe_error *err)
{
    struct pickle p;
    grebe_status st = fingerprint_text(f, name, err);
    if (st != GREBE_OK) {
        return st;
    }
    st = pickle_begin(&p, f->text.a, err);
    st = st == GREBE_OK ? pickle_int(&p, v, err) : st;
    return absorb(f, "int", &p, st, err);
}

grebe_status fingerprint_arg_double(struct fingerprint *f, const char *name, double v, grebe_error *err)
{
    char text[40];
    snprintf(text, sizeof text, "%.17e", v);
    struct json_value number = { .type = JSON_NUMBER, .n = strlen(text), .text = text };
    grebe_status st = fingerprint_text(f, name, err);
    return st == GREBE_OK ? fingerprint_value(f, &number, err) : st;
}

grebe_status fingerprint_arg_bool(struct fingerprint *f, const char *name, bool v, grebe_error *err)
{
    struct json_value value = { .type = JSON_BOOL, .boolean = v };
    grebe_status st = fingerprint_text(f, name, err);
    return st == GREBE_OK ? fingerprint_value(f, &value, err) : st;
}

grebe_status fingerprint_arg_seed(struct fingerprint *f, const char *name, grebe_seed seed, grebe_error *err)
{
    struct pickle p;
    grebe_status st = fingerprint_text(f, name, err);
    if (st != GREBE_OK) {
        return st;
    }
    st = pickle_begin(&p, f->text.a, err);
    st = st == GREBE_OK ? pickle_words(&p, seed.words, seed.n, err) : st;
    return absorb(f, "int", &p, st, err);
}

grebe_status fingerprint_arg_texts(struct fingerprint *f, const char *name, const char *const *texts, size_t n,
                                   grebe_error *err)
{
    const grebe_allocator *a = f->text.a;
    struct json_value *items = mem_alloc_zero(a, n * sizeof *items);
    if (items == NULL) {
        return mem_fail(err, n * sizeof *items, "names");
    }
    for (size_t i = 0; i < n; i++) {
        items[i] = (struct json_value){ .type = JSON_STRING, .n = strlen(texts[i]), .text = texts[i] };
    }
    struct json_value list = { .type = JSON_ARRAY, .n = n, .items = items };
    grebe_status st = fingerprint_text(f, name, err);
    st = st == GREBE_OK ? fingerprint_value(f, &list, err) : st;
    mem_free(a, items, n * sizeof *items);
    return st;
}

grebe_status fingerprint_arg_json(struct fingerprint *f, const char *name, const char *json, grebe_error *err)
{
    struct arena ar = ARENA_INIT(f->text.a);
    const struct json_value *v = NULL;
    grebe_status st = json_parse(&ar, json, strlen(json), &v, err);
    st = st == GREBE_OK ? fingerprint_text(f, name, err) : st;
    st = st == GREBE_OK ? fingerprint_value(f, v, err) : st;
    arena_release(&ar);
    return st;
}

grebe_status fingerprint_arg_range(struct fingerprint *f, const char *name, int64_t begin, int64_t end,
                                   grebe_error *err)
{
    struct pickle p;
    char text[64];
    /* what dill makes of it: _eval_repr("range(0, 2)") */
    static const char maker[] = "\x8c\ndill._dill\x8c\n_eval_repr\x93\x94";
    snprintf(text, sizeof text, "range(%lld, %lld)", (long long)begin, (long long)end);
    grebe_status st = fingerprint_text(f, name, err);
    if (st != GREBE_OK) {
        return st;
    }
    st = pickle_begin(&p, f->text.a, err);
    st = st == GREBE_OK ? pickle_raw(&p, maker, sizeof maker - 1, err) : st;
    st = st == GREBE_OK ? pickle_text(&p, text, strlen(text), err) : st;
    st = st == GREBE_OK ? pickle_raw(&p, "\x85\x94R\x94", 4, err) : st;
    return absorb(f, "range", &p, st, err);
}

grebe_status fingerprint_arg_rows(struct fingerprint *f, const char *name, const int64_t *rows, size_t n,
                                  grebe_error *err)
{
    enum { PICKLED_MAX = 1 << 20, BATCH = 1000 };
    struct pickle p;
    char digest[17];
    grebe_status st = fingerprint_text(f, name, err);
    if (st != GREBE_OK) {
        return st;
    }
    if (n > PICKLED_MAX) { /* nobody waits for ten bytes a row */
        digits(hash_bytes(rows, n * sizeof *rows, 0), digest);
        return buf_printf(&f->text, err, "==<rows>==%s", digest);
    }
    st = pickle_begin(&p, f->text.a, err);
    st = st == GREBE_OK ? pickle_raw(&p, "]\x94", 2, err) : st;
    for (size_t i = 0; i < n && st == GREBE_OK; i += BATCH) {
        size_t k = n - i < BATCH ? n - i : BATCH;
        st = k > 1 ? pickle_raw(&p, "(", 1, err) : GREBE_OK;
        for (size_t j = 0; j < k && st == GREBE_OK; j++) {
            st = pickle_int(&p, rows[i + j], err);
        }
        st = st == GREBE_OK ? pickle_raw(&p, k > 1 ? "e" : "a", 1, err) : st;
    }
    return absorb(f, "list", &p, st, err);
}

/* ---- others ---- */

grebe_status fingerprint_random(grebe_context *ctx, char out[17], grebe_error *err)
{
    uint64_t bits = 0;
    grebe_status st = context_random(ctx, &bits, sizeof bits, err);
    digits(bits, out);
    return st;
}

grebe_status fingerprint_check(const char *fingerprint, grebe_error *err)
{
    enum { LEN_MAX = 64 };
    size_t len = strlen(fingerprint);
    if (len == 0 || len > LEN_MAX || strpbrk(fingerprint, "<>:/\\|?*") != NULL) {
        return GREBE_FAIL(err, GREBE_EINVAL, "fingerprint \"%.80s\": expected 1 to 64 characters, none of <>:/\\|?*",
                          fingerprint);
    }
    return GREBE_OK;
}

static int by_key(const void *x, const void *y)
{
    const struct json_member *const *p = x, *const *q = y;
    return strcmp((*p)->key, (*q)->key);
}

static grebe_status put_arguments(struct fingerprint *f, const struct json_value *v, grebe_error *err)
{
    const grebe_allocator *a = f->text.a;
    grebe_status st = GREBE_OK;
    const struct json_member **sorted = mem_alloc(a, v->n * sizeof *sorted);
    if (sorted == NULL) {
        return mem_fail(err, v->n * sizeof *sorted, "arguments");
    }
    for (size_t i = 0; i < v->n; i++) {
        sorted[i] = &v->members[i];
    }
    qsort(sorted, v->n, sizeof *sorted, by_key);
    for (size_t i = 0; i < v->n && st == GREBE_OK; i++) {
        st = fingerprint_text(f, sorted[i]->key, err);
        st = st == GREBE_OK ? fingerprint_value(f, &sorted[i]->value, err) : st;
    }
    mem_free(a, sorted, v->n * sizeof *sorted);
    return st;
}

grebe_status grebe_fingerprint(grebe_context *ctx, const char *from, const char *transform, const char *arguments,
                               char out[17], grebe_error *err)
{
    GREBE_CHECK_ARG(err, ctx != NULL && from != NULL && transform != NULL && arguments != NULL && out != NULL);
    struct fingerprint f = { BUF_INIT(ctx->a) };
    struct arena ar = ARENA_INIT(ctx->a);
    const struct json_value *v = NULL;
    out[0] = '\0';
    grebe_status st = json_parse(&ar, arguments, strlen(arguments), &v, err);
    if (st == GREBE_OK && v->type != JSON_OBJECT) {
        st = GREBE_FAIL(err, GREBE_EINVAL, "arguments: expected an object, found %s", json_type_name(v->type));
    }
    st = st == GREBE_OK ? fingerprint_text(&f, from, err) : st;
    st = st == GREBE_OK ? fingerprint_text(&f, transform, err) : st;
    st = st == GREBE_OK ? put_arguments(&f, v, err) : st;
    if (st == GREBE_OK) {
        fingerprint_end(&f, out);
    }
    fingerprint_release(&f);
    arena_release(&ar);
    return st == GREBE_ECORRUPT ? GREBE_EINVAL : st;
}

grebe_status grebe_fingerprint_value(grebe_context *ctx, const char *value, char out[17], grebe_error *err)
{
    GREBE_CHECK_ARG(err, ctx != NULL && value != NULL && out != NULL);
    struct arena ar = ARENA_INIT(ctx->a);
    const struct json_value *v = NULL;
    struct pickle p;
    out[0] = '\0';
    grebe_status st = json_parse(&ar, value, strlen(value), &v, err);
    if (st == GREBE_OK) {
        st = pickle_begin(&p, ctx->a, err);
        st = st == GREBE_OK ? pickle_json(&p, v, err) : st;
        st = st == GREBE_OK ? pickle_end(&p, err) : st;
        if (st == GREBE_OK) {
            digits(hash_bytes(p.out.data, p.out.len, 0), out);
        }
        pickle_release(&p);
    }
    arena_release(&ar);
    return st == GREBE_ECORRUPT ? GREBE_EINVAL : st;
}
