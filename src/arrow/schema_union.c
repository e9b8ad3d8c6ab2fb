/* SPDX-License-Identifier: Apache-2.0 */
#include "arrow/schema_union.h"

#include <string.h>

#include "arrow/type_text.h"
#include "base/name_index.h"

static grebe_status unite_type(const grebe_allocator *a, const struct ArrowSchema *x,
                               const struct ArrowSchema *y, int depth, struct ArrowSchema *out,
                               grebe_error *err);

static grebe_status copy_nullable(const grebe_allocator *a, const struct ArrowSchema *src,
                                  bool is_nullable, struct ArrowSchema *out, grebe_error *err)
{
    grebe_status st = schema_copy(a, src, out, err);
    if (st == GREBE_OK && is_nullable) {
        out->flags |= ARROW_FLAG_NULLABLE;
    }
    return st;
}

static grebe_status copy_metadata(const grebe_allocator *a, const struct ArrowSchema *src,
                                  struct ArrowSchema *dst, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    size_t n = schema_metadata_count(src);
    struct key_value *pairs = mem_alloc_zero(a, n * sizeof *pairs);
    if (pairs == NULL) {
        return mem_fail(err, n * sizeof *pairs, "metadata");
    }
    for (size_t i = 0; i < n; i++) {
        pairs[i] = schema_metadata_at(src, i);
    }
    st = n > 0 ? schema_set_metadata(a, dst, pairs, n, err) : GREBE_OK;
    mem_free(a, pairs, n * sizeof *pairs);
    return st;
}

/* The fields of x in their order, then what only y has. */
static grebe_status unite_fields(const grebe_allocator *a, const struct ArrowSchema *x,
                                 const struct ArrowSchema *y, const struct name_index *in_x,
                                 const struct name_index *in_y, int depth, struct ArrowSchema *out,
                                 grebe_error *err)
{
    grebe_status st = GREBE_OK;
    int at = 0;
    for (int64_t i = 0; i < x->n_children; i++) {
        const struct ArrowSchema *field = x->children[i];
        st = schema_find_maybe(y, in_y, field->name, &at, err);
        if (st == GREBE_ENOTFOUND) {
            GREBE_TRY(copy_nullable(a, field, true, out->children[i], err));
            continue;
        }
        GREBE_TRY(st);
        st = unite_type(a, field, y->children[at], depth + 1, out->children[i], err);
        if (st != GREBE_OK) {
            st = error_wrap(err, st, "column \"%.64s\"", field->name);
            goto out;
        }
    }
    int64_t k = x->n_children;
    for (int64_t i = 0; i < y->n_children; i++) {
        st = schema_find_maybe(x, in_x, y->children[i]->name, &at, err);
        if (st == GREBE_ENOTFOUND) {
            st = copy_nullable(a, y->children[i], true, out->children[k++], err);
        }
        GREBE_TRY(st);
    }
out:
    return st;
}

/* Fields of structs by name. */
static grebe_status unite_struct(const grebe_allocator *a, const struct ArrowSchema *x,
                                 const struct ArrowSchema *y, int depth, bool is_nullable,
                                 struct ArrowSchema *out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct name_index in_x = { 0 }, in_y = { 0 };
    int64_t n = x->n_children;
    int at = 0;
    memset(out, 0, sizeof *out);
    GREBE_TRY(schema_index(a, x, &in_x, err));
    GREBE_TRY(schema_index(a, y, &in_y, err));
    for (int64_t i = 0; i < y->n_children; i++) {
        n += schema_find_maybe(x, &in_x, y->children[i]->name, &at, NULL) == GREBE_ENOTFOUND;
    }
    GREBE_TRY(schema_new(a, "+s", x->name, is_nullable, n, out, err));
    GREBE_TRY(unite_fields(a, x, y, &in_x, &in_y, depth, out, err));
    st = copy_metadata(a, x, out, err);
out:
    name_index_release(&in_x);
    name_index_release(&in_y);
    if (st != GREBE_OK) {
        schema_release(out);
    }
    return st;
}

/* Children by place: lists of all kinds, maps. */
static grebe_status unite_children(const grebe_allocator *a, const struct ArrowSchema *x,
                                   const struct ArrowSchema *y, int depth, bool is_nullable,
                                   struct ArrowSchema *out, grebe_error *err)
{
    grebe_status st = schema_new(a, x->format, x->name, is_nullable, x->n_children, out, err);
    if (st != GREBE_OK) {
        return st;
    }
    out->flags |= x->flags & ~(int64_t)ARROW_FLAG_NULLABLE;
    for (int64_t i = 0; i < x->n_children && st == GREBE_OK; i++) {
        st = unite_type(a, x->children[i], y->children[i], depth + 1, out->children[i], err);
    }
    if (st == GREBE_OK) {
        st = copy_metadata(a, x, out, err);
    }
    if (st != GREBE_OK) {
        schema_release(out);
    }
    return st;
}

static bool is_list(const struct ArrowSchema *s)
{
    return s->dictionary == NULL && s->n_children == 1 &&
           (strcmp(s->format, "+l") == 0 || strcmp(s->format, "+L") == 0 ||
            strncmp(s->format, "+w:", 3) == 0);
}

/* Lists of two kinds, vectors of two lengths: a list. A list fits a vector only when its length does, which
 * is not known here. */
static grebe_status unite_as_list(const grebe_allocator *a, const struct ArrowSchema *x,
                                  const struct ArrowSchema *y, int depth, bool is_nullable,
                                  struct ArrowSchema *out, grebe_error *err)
{
    bool is_large = strcmp(x->format, "+L") == 0 || strcmp(y->format, "+L") == 0;
    grebe_status st = schema_new(a, is_large ? "+L" : "+l", x->name, is_nullable, 1, out, err);
    if (st == GREBE_OK) {
        st = unite_type(a, x->children[0], y->children[0], depth + 1, out->children[0], err);
    }
    if (st != GREBE_OK) {
        schema_release(out);
    }
    return st;
}

/* The smallest number type that holds the values of both; no values are lost on the way. */
static grebe_status unite_numbers(const grebe_allocator *a, const struct ArrowSchema *x,
                                  const struct ArrowSchema *y, struct ArrowSchema *out,
                                  grebe_error *err)
{
    static const char *const formats[] = { "s", "i", "l", "S", "I", "L", "f", "g" };
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        grebe_status st = schema_new(a, formats[i], x->name, true, 0, out, err);
        if (st != GREBE_OK) {
            return st;
        }
        if (schema_widens(x, out, NULL) == GREBE_OK && schema_widens(y, out, NULL) == GREBE_OK) {
            return GREBE_OK;
        }
        schema_release(out);
    }
    char expected[128];
    char found[128];
    return GREBE_FAIL(err, GREBE_ESCHEMA, "expected %s, found %s (no type holds both)",
                      type_quote(expected, sizeof expected, x),
                      type_quote(found, sizeof found, y));
}

static grebe_status unite_type(const grebe_allocator *a, const struct ArrowSchema *x,
                               const struct ArrowSchema *y, int depth, struct ArrowSchema *out,
                               grebe_error *err)
{
    bool is_nullable = ((x->flags | y->flags) & ARROW_FLAG_NULLABLE) != 0;
    bool is_same_shape = strcmp(x->format, y->format) == 0 && x->n_children == y->n_children &&
                         x->dictionary == NULL && y->dictionary == NULL;
    memset(out, 0, sizeof *out);
    if (depth > ARROW_DEPTH_MAX) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "expected at most %d levels of nesting, found more",
                          ARROW_DEPTH_MAX);
    }
    if (strcmp(x->format, "+s") == 0 && strcmp(y->format, "+s") == 0) {
        return unite_struct(a, x, y, depth, is_nullable, out, err);
    }
    if (is_same_shape && (strncmp(x->format, "+l", 2) == 0 || strncmp(x->format, "+L", 2) == 0 ||
                          strncmp(x->format, "+w:", 3) == 0 || strcmp(x->format, "+m") == 0)) {
        return unite_children(a, x, y, depth, is_nullable, out, err);
    }
    if (is_list(x) && is_list(y)) {
        return unite_as_list(a, x, y, depth, is_nullable, out, err);
    }
    if (schema_widens(y, x, NULL) == GREBE_OK) {
        return copy_nullable(a, x, is_nullable, out, err);
    }
    if (schema_widens(x, y, NULL) == GREBE_OK) {
        return copy_nullable(a, y, is_nullable, out, err);
    }
    grebe_status st = unite_numbers(a, x, y, out, err);
    if (st == GREBE_OK && !is_nullable) {
        out->flags &= ~(int64_t)ARROW_FLAG_NULLABLE;
    }
    return st;
}

grebe_status schema_unite(const grebe_allocator *a, struct ArrowSchema *all,
                          const struct ArrowSchema *more, grebe_error *err)
{
    struct ArrowSchema united;
    bool is_nullable = (all->flags & ARROW_FLAG_NULLABLE) != 0;
    grebe_status st = unite_struct(a, all, more, 0, is_nullable, &united, err);
    if (st == GREBE_OK) {
        schema_release(all);
        schema_move(all, &united);
    }
    return st;
}
