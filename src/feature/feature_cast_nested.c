/* SPDX-License-Identifier: Apache-2.0 */
#include "feature/feature_cast_internal.h"

#include <inttypes.h>
#include <string.h>

#include "arrow/arrow_internal.h"
#include "base/name_index.h"

/* ---- structs ---- */

/* The child of a struct at the struct's rows; where the struct is null, so is the child. */
static grebe_status cast_field(const struct caster *c, const struct feature *f, const struct ArrowSchema *s,
                               const struct ArrowArray *array, const struct ArrowArray *child, struct ArrowArray *out)
{
    struct ArrowArray node = *child;
    node.offset += array->offset;
    node.length = array->length;
    node.null_count = -1;
    if (array_null_count(array) == 0) {
        return cast_node(c, f, s, &node, out);
    }
    struct ArrowArray hidden = { 0 };
    grebe_status st = cast_hide_nulls(c, s, array, &node, &hidden);
    return st == GREBE_OK ? cast_owned(c, f, s, &hidden, out) : st;
}

static grebe_status check_fields(const struct caster *c, const struct feature *f, const struct ArrowSchema *s)
{
    for (int64_t i = 0; i < s->n_children; i++) {
        if (feature_field(f, s->children[i]->name) == NULL) {
            return cast_refused(c, f, s);
        }
    }
    return GREBE_OK;
}

grebe_status cast_struct(const struct caster *c, const struct feature *f, const struct ArrowSchema *s,
                         const struct ArrowArray *array, struct ArrowArray *out)
{
    grebe_status st = GREBE_OK;
    if (strcmp(s->format, "+s") != 0) {
        return cast_refused(c, f, s);
    }
    GREBE_TRY(check_fields(c, f, s));
    GREBE_TRY(array_new(c->a, array->length, 1, (int64_t)f->n_fields, out, c->err));
    GREBE_TRY(cast_validity(c, array, out));
    for (size_t i = 0; i < f->n_fields; i++) {
        const struct feature *field = &f->fields[i];
        int64_t at = 0;
        while (at < s->n_children && strcmp(s->children[at]->name, field->name) != 0) {
            at++;
        }
        st = at < s->n_children ? cast_field(c, field, s->children[at], array, array->children[at], out->children[i])
                                : cast_nulls(c, field, array->length, out->children[i]);
        if (st != GREBE_OK) {
            error_wrap(c->err, st, "field \"%s\"", field->name);
            goto out;
        }
    }
out:
    if (st != GREBE_OK) {
        array_release(out);
    }
    return st;
}

/* ---- lists ---- */

/* Lists of one array, whatever their layout. */
struct lists {
    const struct ArrowArray *array;
    int width;    /* of offsets; 0: fixed */
    int64_t size; /* of each list, when fixed */
    int64_t begin, end; /* elements of all */
};

static int64_t list_begin(const struct lists *l, int64_t i)
{
    int64_t at = l->array->offset + i;
    return l->width == 0 ? at * l->size : load_offset(l->array->buffers[1], l->width, at);
}

static void lists_of(const struct arrow_type *t, const struct ArrowArray *array, struct lists *out)
{
    out->array = array;
    out->width = t->kind == ARROW_FIXED_LIST ? 0 : arrow_offset_width(t->kind);
    out->size = t->list_size;
    out->begin = out->end = 0;
    if (array->length > 0) {
        out->begin = list_begin(out, 0);
        out->end = list_begin(out, array->length);
    }
}

/* Offsets from 0 on, of `width` bytes. */
static grebe_status put_offsets(const struct caster *c, const struct lists *l, int width, struct ArrowArray *out)
{
    int64_t n = l->array->length;
    void *p = NULL;
    if (width == 4 && l->end - l->begin > INT32_MAX) {
        return GREBE_FAIL(c->err, GREBE_ELIMIT, "lists of %" PRId64 " elements: 32-bit offsets count to 2^31 - 1",
                          l->end - l->begin);
    }
    grebe_status st = array_alloc_buffer(c->a, out, 1, (size_t)(n + 1) * (size_t)width, &p, c->err);
    if (st != GREBE_OK) {
        return st;
    }
    store_offset(p, width, 0, 0);
    for (int64_t i = 0; i < n; i++) {
        store_offset(p, width, i + 1, list_begin(l, i + 1) - l->begin);
    }
    return GREBE_OK;
}

static grebe_status check_lengths(const struct caster *c, const struct lists *l, int64_t length, bool *is_gathered)
{
    *is_gathered = false;
    for (int64_t i = 0; i < l->array->length; i++) {
        int64_t n = list_begin(l, i + 1) - list_begin(l, i);
        if (n == length) {
            continue;
        }
        if (!array_is_null(l->array, i)) {
            return GREBE_FAIL(c->err, GREBE_ESCHEMA, "row %" PRId64 ": expected a list of %" PRId64 ", found one of %" PRId64,
                              c->o->first_row + i, length, n);
        }
        *is_gathered = true;
    }
    return GREBE_OK;
}

/* The elements of lists of one length, with nulls where a list is null. `elements` begin at l->begin. */
static grebe_status gather_elements(const struct caster *c, const struct lists *l, int64_t length,
                                    const struct ArrowSchema *s, const struct ArrowArray *elements, struct ArrowArray *out)
{
    int64_t n = l->array->length;
    void *at = NULL;
    if (length > 0 && n > INT64_MAX / 16 / length) {
        return GREBE_FAIL(c->err, GREBE_ELIMIT, "%" PRId64 " lists of %" PRId64, n, length);
    }
    size_t bytes = (size_t)(n * length + 1) * sizeof(int64_t);
    at = mem_alloc(c->a, bytes);
    if (at == NULL) {
        return mem_fail(c->err, bytes, "elements");
    }
    int64_t *rows = at;
    for (int64_t i = 0; i < n; i++) {
        bool is_null = array_is_null(l->array, i);
        for (int64_t k = 0; k < length; k++) {
            rows[i * length + k] = is_null ? -1 : list_begin(l, i) - l->begin + k;
        }
    }
    grebe_status st = array_gather(c->a, s, elements, rows, n * length, out, c->err);
    mem_free(c->a, at, bytes);
    return st;
}

static grebe_status cast_to_fixed(const struct caster *c, const struct feature *f, const struct ArrowSchema *s,
                                  const struct lists *l, const struct ArrowArray *elements, struct ArrowArray *out)
{
    grebe_status st = GREBE_OK;
    bool is_gathered = false;
    struct ArrowArray gathered = { 0 };
    GREBE_TRY(check_lengths(c, l, f->length, &is_gathered));
    GREBE_TRY(array_new(c->a, l->array->length, 1, 1, out, c->err));
    GREBE_TRY(cast_validity(c, l->array, out));
    if (is_gathered || out->null_count > 0) {
        GREBE_TRY(gather_elements(c, l, f->length, s->children[0], elements, &gathered));
        st = cast_owned(c, f->child, s->children[0], &gathered, out->children[0]);
    } else {
        st = cast_node(c, f->child, s->children[0], elements, out->children[0]);
    }
out:
    if (st != GREBE_OK) {
        array_release(out);
    }
    return st;
}

static grebe_status cast_to_offsets(const struct caster *c, const struct feature *f, const struct ArrowSchema *s,
                                    const struct lists *l, const struct ArrowArray *elements, struct ArrowArray *out)
{
    grebe_status st = GREBE_OK;
    int width = f->kind == FEATURE_LARGE_LIST ? 8 : 4;
    GREBE_TRY(array_new(c->a, l->array->length, 2, 1, out, c->err));
    GREBE_TRY(cast_validity(c, l->array, out));
    GREBE_TRY(put_offsets(c, l, width, out));
    st = cast_node(c, f->child, s->children[0], elements, out->children[0]);
out:
    if (st != GREBE_OK) {
        array_release(out);
    }
    return st;
}

/* As cast_compacted for lists of one length: elements below a null list become null. */
static grebe_status cast_fixed_with_nulls(const struct caster *c, const struct feature *f, const struct ArrowSchema *s,
                                          const struct lists *l, const struct ArrowArray *elements, struct ArrowArray *out)
{
    grebe_status st = GREBE_OK;
    struct ArrowArray gathered = { 0 };
    GREBE_TRY(gather_elements(c, l, l->size, s->children[0], elements, &gathered));
    GREBE_TRY(array_new(c->a, l->array->length, 2, 1, out, c->err));
    GREBE_TRY(cast_validity(c, l->array, out));
    GREBE_TRY(put_offsets(c, l, f->kind == FEATURE_LARGE_LIST ? 8 : 4, out));
    st = cast_owned(c, f->child, s->children[0], &gathered, out->children[0]);
out:
    if (gathered.release != NULL) {
        array_release(&gathered);
    }
    if (st != GREBE_OK) {
        array_release(out);
    }
    return st;
}

/* Elements below null lists would be looked at: lists gathered anew have none. */
static grebe_status cast_compacted(const struct caster *c, const struct feature *f, const struct ArrowSchema *s,
                                   const struct ArrowArray *array, struct ArrowArray *out)
{
    struct ArrowArray hidden = { 0 };
    struct array_shared *shared = NULL;
    struct arrow_type t;
    struct lists l;
    grebe_status st = GREBE_OK;
    GREBE_TRY(arrow_type_of(s, &t, c->err));
    GREBE_TRY(cast_hide_nulls(c, s, array, array, &hidden));
    GREBE_TRY(array_share(c->a, &hidden, &shared, c->err));
    struct caster inner = { c->a, shared, c->o, c->err };
    const struct ArrowArray *lists = array_shared_get(shared);
    lists_of(&t, lists, &l);
    struct ArrowArray elements = *lists->children[0];
    elements.offset += l.begin;
    elements.length = l.end - l.begin;
    elements.null_count = -1;
    st = cast_to_offsets(&inner, f, s, &l, &elements, out);
out:
    array_shared_drop(shared);
    if (hidden.release != NULL) {
        array_release(&hidden);
    }
    return st;
}

grebe_status cast_list(const struct caster *c, const struct feature *f, const struct ArrowSchema *s,
                       const struct ArrowArray *array, struct ArrowArray *out)
{
    struct arrow_type t;
    struct lists l;
    grebe_status st = arrow_type_of(s, &t, c->err);
    if (st != GREBE_OK) {
        return st;
    }
    if (!arrow_kind_is_list(t.kind) && t.kind != ARROW_FIXED_LIST) {
        return cast_refused(c, f, s);
    }
    bool has_nulls = array_null_count(array) > 0;
    if (f->length < 0 && has_nulls && t.kind != ARROW_FIXED_LIST) {
        return cast_compacted(c, f, s, array, out);
    }
    lists_of(&t, array, &l);
    struct ArrowArray elements = *array->children[0];
    elements.offset += l.begin;
    elements.length = l.end - l.begin;
    elements.null_count = -1;
    if (f->length >= 0) {
        return cast_to_fixed(c, f, s, &l, &elements, out);
    }
    return has_nulls ? cast_fixed_with_nulls(c, f, s, &l, &elements, out) : cast_to_offsets(c, f, s, &l, &elements, out);
}
