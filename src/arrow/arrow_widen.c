/* SPDX-License-Identifier: Apache-2.0 */
#include "arrow/arrow_widen.h"

#include <assert.h>

#include "arrow/type_text.h"
#include "base/checked.h"

/* ---- rules ---- */

static bool is_signed(enum arrow_kind kind) { return kind >= ARROW_INT8 && kind <= ARROW_INT64; }
static bool is_unsigned(enum arrow_kind kind)
{
    return kind >= ARROW_UINT8 && kind <= ARROW_UINT64;
}

/* Bits of the magnitude that a value of the kind can have; 0: no number. */
static int number_bits(const struct arrow_type *t)
{
    switch (t->kind) {
    case ARROW_FLOAT16: return 11;
    case ARROW_FLOAT32: return 24;
    case ARROW_FLOAT64: return 53;
    default:
        return is_unsigned(t->kind) ? t->byte_width * 8
                                    : is_signed(t->kind) ? t->byte_width * 8 - 1 : 0;
    }
}

static bool number_widens(const struct arrow_type *f, const struct arrow_type *t)
{
    bool is_float = t->kind == ARROW_FLOAT32 || t->kind == ARROW_FLOAT64;
    bool from_float = f->kind >= ARROW_FLOAT16 && f->kind <= ARROW_FLOAT64;
    if (number_bits(f) == 0 || number_bits(t) == 0 || number_bits(t) < number_bits(f)) {
        return false;
    }
    if (is_float) {
        return true; /* -2^(n-1) is a power of two: as exact as the rest */
    }
    return !from_float && t->kind != ARROW_FLOAT16 && (is_signed(t->kind) || is_unsigned(f->kind));
}

static bool time_widens(const struct arrow_type *f, const struct arrow_type *t)
{
    if (f->kind == ARROW_DATE32) {
        return t->kind == ARROW_DATE64;
    }
    bool is_time = (f->kind == ARROW_TIME32 || f->kind == ARROW_TIME64) &&
                   (t->kind == ARROW_TIME32 || t->kind == ARROW_TIME64);
    bool is_same_kind = f->kind == t->kind &&
                        (f->kind == ARROW_TIMESTAMP || f->kind == ARROW_DURATION);
    return (is_time || is_same_kind) && t->unit >= f->unit &&
           strcmp(f->timezone, t->timezone) == 0;
}

static bool decimal_widens(const struct arrow_type *f, const struct arrow_type *t)
{
    return f->kind >= ARROW_DECIMAL32 && f->kind <= ARROW_DECIMAL256 && t->kind >= f->kind &&
           t->kind <= ARROW_DECIMAL256 && t->scale >= f->scale &&
           t->precision - t->scale >= f->precision - f->scale;
}

static bool is_any_bytes(enum arrow_kind kind, bool is_text)
{
    bool is_some = arrow_kind_is_bytes(kind) || arrow_kind_is_view(kind);
    return is_some && arrow_kind_is_text(kind) == is_text;
}

static bool is_any_list(enum arrow_kind kind)
{
    return kind == ARROW_LIST || kind == ARROW_LARGE_LIST || kind == ARROW_FIXED_LIST ||
           arrow_kind_is_list_view(kind);
}

static bool is_same_layout(const struct ArrowSchema *from, const struct ArrowSchema *to, int depth)
{
    bool is_named = strcmp(from->format, "+s") == 0 || strncmp(from->format, "+u", 2) == 0;
    if (depth > ARROW_DEPTH_MAX || strcmp(from->format, to->format) != 0 ||
        from->n_children != to->n_children ||
        (from->dictionary == NULL) != (to->dictionary == NULL)) {
        return false;
    }
    for (int64_t i = 0; i < from->n_children; i++) {
        const struct ArrowSchema *f = from->children[i];
        const struct ArrowSchema *t = to->children[i];
        bool is_stricter = (f->flags & ARROW_FLAG_NULLABLE) && !(t->flags & ARROW_FLAG_NULLABLE);
        if (is_stricter || !is_same_layout(f, t, depth + 1) ||
            (is_named && strcmp(f->name != NULL ? f->name : "",
                                t->name != NULL ? t->name : "") != 0)) {
            return false;
        }
    }
    return from->dictionary == NULL || is_same_layout(from->dictionary, to->dictionary, depth + 1);
}

enum widen_rule widen_rule_of(const struct ArrowSchema *from, const struct ArrowSchema *to,
                              const struct arrow_type *f, const struct arrow_type *t)
{
    if (is_same_layout(from, to, 0)) {
        return WIDEN_SAME;
    }
    if (f->kind == ARROW_NULL) {
        return WIDEN_NULL;
    }
    if (f->is_dictionary) {
        return !t->is_dictionary          ? WIDEN_DECODE
               : number_widens(f, t)      ? WIDEN_INDICES
                                          : WIDEN_NO;
    }
    if (t->is_dictionary) {
        return WIDEN_NO;
    }
    if (f->kind == ARROW_RUN_END_ENCODED) {
        return t->kind != ARROW_RUN_END_ENCODED ? WIDEN_RUNS : WIDEN_NO;
    }
    if (number_widens(f, t)) {
        return WIDEN_NUMBER;
    }
    if (time_widens(f, t)) {
        return WIDEN_SCALE;
    }
    if (decimal_widens(f, t)) {
        return WIDEN_DECIMAL;
    }
    if ((is_any_bytes(f->kind, true) && is_any_bytes(t->kind, true)) ||
        ((is_any_bytes(f->kind, false) || f->kind == ARROW_FIXED_BINARY) &&
         is_any_bytes(t->kind, false))) {
        return WIDEN_BYTES;
    }
    if ((is_any_list(f->kind) && is_any_list(t->kind) && !arrow_kind_is_list_view(t->kind) &&
         (f->kind != ARROW_FIXED_LIST || t->kind != ARROW_FIXED_LIST ||
          f->list_size == t->list_size)) ||
        (f->kind == ARROW_MAP && t->kind == ARROW_MAP)) {
        return WIDEN_LIST;
    }
    return f->kind == ARROW_STRUCT && t->kind == ARROW_STRUCT ? WIDEN_STRUCT : WIDEN_NO;
}

static grebe_status cannot(const struct ArrowSchema *from, const struct ArrowSchema *to,
                           grebe_error *err)
{
    char expected[128];
    char found[128];
    return GREBE_FAIL(err, GREBE_ESCHEMA, "expected %s, found %s",
                      type_quote(expected, sizeof expected, to),
                      type_quote(found, sizeof found, from));
}

static grebe_status wrap_field(grebe_error *err, grebe_status st, const struct ArrowSchema *field)
{
    char name[96];
    return error_wrap(err, st, "field \"%s\"", field_label(name, sizeof name, field));
}

/* Fields of a struct, by name; map entries by place. -1: `to` field i is missing in `from`. */
static grebe_status match_field(const struct ArrowSchema *from, const struct ArrowSchema *to,
                                int64_t i, bool by_place, int *out, grebe_error *err)
{
    *out = by_place ? (int)i : -1;
    if (by_place) {
        return GREBE_OK;
    }
    const char *name = to->children[i]->name != NULL ? to->children[i]->name : "";
    grebe_status st = schema_find(from, name, out, NULL);
    if (st == GREBE_EINVAL) {
        return wrap_field(err, GREBE_FAIL(err, GREBE_ESCHEMA, "is there more than once"),
                          to->children[i]);
    }
    if (*out < 0 && (to->children[i]->flags & ARROW_FLAG_NULLABLE) == 0) {
        return wrap_field(err, GREBE_FAIL(err, GREBE_ESCHEMA, "is missing and cannot be null"),
                          to->children[i]);
    }
    return GREBE_OK;
}

/* Every field of `from` has a place in `to`. */
static grebe_status check_no_extra(const struct ArrowSchema *from, const struct ArrowSchema *to,
                                   bool by_place, grebe_error *err)
{
    for (int64_t i = 0; i < from->n_children && !by_place; i++) {
        int k = -1;
        const char *name = from->children[i]->name != NULL ? from->children[i]->name : "";
        if (schema_find(to, name, &k, NULL) != GREBE_OK) {
            return wrap_field(err, GREBE_FAIL(err, GREBE_ESCHEMA, "is not expected"),
                              from->children[i]);
        }
    }
    return GREBE_OK;
}

static grebe_status check_types(const struct ArrowSchema *from, const struct ArrowSchema *to,
                                bool by_place, int depth, grebe_error *err)
{
    struct arrow_type f;
    struct arrow_type t;
    grebe_status st = arrow_type_of(from, &f, err);
    if (st == GREBE_OK) {
        st = arrow_type_of(to, &t, err);
    }
    if (st == GREBE_OK && depth > ARROW_DEPTH_MAX) {
        st = GREBE_FAIL(err, GREBE_ELIMIT, "types are nested deeper than %d", ARROW_DEPTH_MAX);
    }
    if (st != GREBE_OK) {
        return st;
    }
    switch (widen_rule_of(from, to, &f, &t)) {
    case WIDEN_NO: return cannot(from, to, err);
    case WIDEN_DECODE: return check_types(from->dictionary, to, false, depth + 1, err);
    case WIDEN_INDICES:
        return check_types(from->dictionary, to->dictionary, false, depth + 1, err);
    case WIDEN_RUNS: return check_types(from->children[1], to, false, depth + 1, err);
    case WIDEN_LIST:
        return check_types(from->children[0], to->children[0], f.kind == ARROW_MAP, depth + 1,
                           err);
    case WIDEN_STRUCT:
        st = check_no_extra(from, to, by_place, err);
        for (int64_t i = 0; i < to->n_children && st == GREBE_OK; i++) {
            int k = -1;
            st = match_field(from, to, i, by_place, &k, err);
            if (st == GREBE_OK && k >= 0) {
                st = check_types(from->children[k], to->children[i], false, depth + 1, err);
                st = wrap_field(err, st, to->children[i]);
            }
        }
        return st;
    default: return GREBE_OK;
    }
}

grebe_status schema_widens(const struct ArrowSchema *from, const struct ArrowSchema *to,
                           grebe_error *err)
{
    return check_types(from, to, false, 0, err);
}

/* ---- arrays ---- */

static grebe_status copy_rows(const struct widen *w, const struct ArrowSchema *schema,
                              const struct ArrowArray *array, int64_t begin, int64_t n,
                              struct ArrowArray *out)
{
    if (w->shared != NULL) {
        return array_view(w->shared, array, begin, n, out, w->err);
    }
    struct row_range range = { begin, n };
    struct selection sel = { array, NULL, &range, 1, 0, false };
    struct select s = { w->a, &sel, 1, n, false, 0, w->err };
    return select_node(&s, schema, out);
}

/* Widen an array that only we hold, whole; it is moved or released. */
static grebe_status widen_owned(const struct widen *w, const struct ArrowSchema *from,
                                const struct ArrowSchema *to, struct ArrowArray *array, int depth,
                                struct ArrowArray *out)
{
    if (is_same_layout(from, to, 0)) {
        array_move(out, array);
        return GREBE_OK;
    }
    struct widen copy = { w->a, NULL, w->err };
    grebe_status st = widen_node(&copy, from, to, array, 0, array->length, depth, out);
    array_release(array);
    return st;
}

/* Rows of `to` that is not nullable hold no null; rows that are null in the parent do not count. */
static grebe_status check_nulls(const struct widen *w, const struct ArrowSchema *to,
                                const struct arrow_type *f, const struct ArrowArray *array,
                                int64_t begin, int64_t n, const uint8_t *parent_bits,
                                int64_t parent_begin)
{
    if ((to->flags & ARROW_FLAG_NULLABLE) != 0) {
        return GREBE_OK;
    }
    const uint8_t *bits = arrow_validity(array, f->kind);
    if (bits == NULL && f->kind != ARROW_NULL) {
        return GREBE_OK;
    }
    for (int64_t i = 0; i < n; i++) {
        bool is_null = bits == NULL || !bit_get(bits, array->offset + begin + i);
        if (is_null && (parent_bits == NULL || bit_get(parent_bits, parent_begin + i))) {
            return GREBE_FAIL(w->err, GREBE_ESCHEMA, "row %lld is null, expected %s not null",
                              (long long)(begin + i), arrow_kind_name(f->kind));
        }
    }
    return GREBE_OK;
}

static grebe_status widen_child(const struct widen *w, const struct ArrowSchema *from,
                                const struct ArrowSchema *to, const struct ArrowArray *array,
                                int64_t begin, int64_t n, const uint8_t *parent_bits,
                                int64_t parent_begin, int depth, struct ArrowArray *out)
{
    struct arrow_type f;
    grebe_status st = arrow_type_of(from, &f, w->err);
    if (st == GREBE_OK) {
        st = check_nulls(w, to, &f, array, begin, n, parent_bits, parent_begin);
    }
    return st == GREBE_OK ? widen_node(w, from, to, array, begin, n, depth, out) : st;
}

static grebe_status widen_struct(const struct widen *w, const struct ArrowSchema *from,
                                 const struct ArrowSchema *to, const struct ArrowArray *array,
                                 int64_t begin, int64_t n, bool by_place, int depth,
                                 struct ArrowArray *out)
{
    grebe_status st = GREBE_OK;
    struct arrow_type f;
    const uint8_t *bits = arrow_validity(array, ARROW_STRUCT);

    GREBE_TRY(arrow_type_of(from, &f, w->err));
    GREBE_TRY(check_no_extra(from, to, by_place, w->err));
    GREBE_TRY(array_new(w->a, n, 1, to->n_children, out, w->err));
    GREBE_TRY(widen_validity(w, &f, array, begin, n, out));
    for (int64_t i = 0; i < to->n_children; i++) {
        int k = -1;
        GREBE_TRY(match_field(from, to, i, by_place, &k, w->err));
        if (k < 0) {
            GREBE_TRY(array_nulls(w->a, to->children[i], n, out->children[i], w->err));
            continue;
        }
        st = widen_child(w, from->children[k], to->children[i], array->children[k],
                         array->offset + begin, n, bits, array->offset + begin, depth + 1,
                         out->children[i]);
        if (st != GREBE_OK) {
            st = wrap_field(w->err, st, to->children[i]);
            goto out;
        }
    }
out:
    return st;
}

/* Elements of row i of any list: [begin, begin + len) of the child. */
static struct row_range elements_of(const struct ArrowArray *array, const struct arrow_type *f,
                                    int64_t i)
{
    i += array->offset;
    if (f->kind == ARROW_FIXED_LIST) {
        return (struct row_range){ i * f->list_size, f->list_size };
    }
    int width = arrow_offset_width(f->kind);
    int64_t begin = load_offset(array->buffers[1], width, i);
    int64_t len = arrow_kind_is_list_view(f->kind)
                      ? load_offset(array->buffers[2], width, i)
                      : load_offset(array->buffers[1], width, i + 1) - begin;
    return (struct row_range){ begin, len };
}

/* Offsets of the new lists (none for fixed size) and the ranges of elements that they take. */
static grebe_status walk_lists(const struct widen *w, const struct arrow_type *f,
                               const struct arrow_type *t, const struct ArrowArray *array,
                               int64_t begin, int64_t n, void *offsets,
                               struct child_select *child, size_t *n_ranges)
{
    const uint8_t *bits = arrow_validity(array, f->kind);
    int width = arrow_offset_width(t->kind);
    int64_t end = 0;
    *n_ranges = 0;
    for (int64_t i = 0; i < n; i++) {
        bool is_valid = bits == NULL || bit_get(bits, array->offset + begin + i);
        struct row_range r = { -1, t->kind == ARROW_FIXED_LIST ? t->list_size : 0 };
        if (is_valid) {
            r = elements_of(array, f, begin + i);
        }
        if (t->kind == ARROW_FIXED_LIST && r.len != t->list_size) {
            return GREBE_FAIL(w->err, GREBE_ESCHEMA,
                              "row %lld: a list of %lld elements, expected %d",
                              (long long)(begin + i), (long long)r.len, (int)t->list_size);
        }
        /* List views may overlap, so that together they may have more elements than there are. */
        if (!checked_add_i64(end, r.len, &end) || (width == 4 && end > INT32_MAX)) {
            return GREBE_FAIL(w->err, GREBE_ELIMIT,
                              "row %lld: more than %lld elements in one array of lists",
                              (long long)(begin + i),
                              width == 4 ? (long long)INT32_MAX : (long long)INT64_MAX);
        }
        child_select_put(child, n_ranges, r.begin, r.len);
        if (width > 0) {
            store_offset(offsets, width, i + 1, end);
        }
    }
    return GREBE_OK;
}

static grebe_status widen_elements(const struct widen *w, const struct ArrowSchema *from,
                                   const struct ArrowSchema *to, const struct ArrowArray *elements,
                                   struct child_select *child, size_t n_ranges, bool is_map,
                                   int depth, struct ArrowArray *out)
{
    grebe_status st = GREBE_OK;
    struct ArrowArray picked;
    const struct ArrowArray *source = elements;
    int64_t begin = n_ranges > 0 ? child->ranges[0].begin : 0;
    bool is_direct = n_ranges <= 1 && begin >= 0;

    memset(&picked, 0, sizeof picked);
    if (!is_direct) {
        child->sels[0] = (struct selection){ elements, NULL, child->ranges, n_ranges, 0, true };
        child->s.is_fill_valid = true;
        GREBE_TRY(select_node(&child->s, from, &picked));
        source = &picked;
        begin = 0;
    }
    struct widen copy = { w->a, is_direct ? w->shared : NULL, w->err };
    if (is_map) {
        GREBE_TRY(widen_struct(&copy, from, to, source, begin, child->s.n_rows, true, depth + 1,
                               out));
    } else if (!is_direct && is_same_layout(from, to, 0) &&
               ((to->flags & ARROW_FLAG_NULLABLE) || picked.null_count == 0)) {
        array_move(out, &picked);
    } else {
        GREBE_TRY(widen_child(&copy, from, to, source, begin, child->s.n_rows, NULL, 0,
                              depth + 1, out));
    }
out:
    array_release(&picked);
    return st;
}

static grebe_status widen_list(const struct widen *w, const struct ArrowSchema *from,
                               const struct ArrowSchema *to, const struct arrow_type *f,
                               const struct arrow_type *t, const struct ArrowArray *array,
                               int64_t begin, int64_t n, int depth, struct ArrowArray *out)
{
    grebe_status st = GREBE_OK;
    struct child_select child;
    struct selection none = { array, NULL, NULL, 0, 0, false };
    struct select parent = { w->a, &none, 1, n, false, depth, w->err };
    int width = arrow_offset_width(t->kind);
    void *offsets = NULL;
    size_t n_ranges = 0;

    GREBE_TRY(child_select_new(&parent, (size_t)n, &child));
    GREBE_TRY(array_new(w->a, n, width > 0 ? 2 : 1, 1, out, w->err));
    GREBE_TRY(widen_validity(w, f, array, begin, n, out));
    if (width > 0) {
        GREBE_TRY(array_alloc_buffer(w->a, out, 1, ((size_t)n + 1) * (size_t)width, &offsets,
                                     w->err));
        store_offset(offsets, width, 0, 0);
    }
    GREBE_TRY(walk_lists(w, f, t, array, begin, n, offsets, &child, &n_ranges));
    GREBE_TRY(widen_elements(w, from->children[0], to->children[0], array->children[0], &child,
                             n_ranges, f->kind == ARROW_MAP, depth, out->children[0]));
out:
    child_select_release(&child);
    return st;
}

/* Rows of a dictionary or of runs as rows of their values. */
static grebe_status expand(const struct widen *w, const struct ArrowSchema *from,
                           const struct arrow_type *f, const struct ArrowArray *array,
                           int64_t begin, int64_t n, struct ArrowArray *out)
{
    grebe_status st = GREBE_OK;
    struct arrow_type ends;
    size_t len = (size_t)n * sizeof(int64_t) + 1;
    int64_t *rows = mem_alloc(w->a, len);
    if (rows == NULL) {
        return mem_fail(w->err, len, "row numbers");
    }
    const uint8_t *bits = arrow_validity(array, f->kind);
    if (!f->is_dictionary) {
        GREBE_TRY(arrow_type_of(from->children[0], &ends, w->err));
    }
    for (int64_t i = 0; i < n; i++) {
        int64_t slot = array->offset + begin + i;
        if (!f->is_dictionary) {
            rows[i] = arrow_run_of(array->children[0], ends.kind, slot);
        } else {
            rows[i] = bits == NULL || bit_get(bits, slot)
                          ? arrow_load_int(array->buffers[1], f->kind, slot)
                          : -1;
        }
    }
    st = f->is_dictionary
             ? array_gather(w->a, from->dictionary, array->dictionary, rows, n, out, w->err)
             : array_gather(w->a, from->children[1], array->children[1], rows, n, out, w->err);
out:
    mem_free(w->a, rows, len);
    return st;
}

static grebe_status widen_dictionary(const struct widen *w, const struct ArrowSchema *from,
                                     const struct ArrowSchema *to, const struct arrow_type *f,
                                     const struct arrow_type *t, const struct ArrowArray *array,
                                     int64_t begin, int64_t n, int depth, struct ArrowArray *out)
{
    struct ArrowArray values;
    grebe_status st = widen_numbers(w, f, t, array, begin, n, out);
    if (st != GREBE_OK) {
        return st;
    }
    st = widen_node(w, from->dictionary, to->dictionary, array->dictionary, 0,
                    array->dictionary->length, depth + 1, &values);
    if (st == GREBE_OK) {
        st = array_set_dictionary(w->a, out, &values, w->err);
        if (st != GREBE_OK) {
            array_release(&values);
        }
    }
    return st;
}

grebe_status widen_node(const struct widen *w, const struct ArrowSchema *from,
                        const struct ArrowSchema *to, const struct ArrowArray *array,
                        int64_t begin, int64_t n, int depth, struct ArrowArray *out)
{
    grebe_status st = GREBE_OK;
    struct arrow_type f;
    struct arrow_type t;
    struct ArrowArray values;

    memset(out, 0, sizeof *out);
    if (depth > ARROW_DEPTH_MAX) {
        return GREBE_FAIL(w->err, GREBE_ELIMIT, "types are nested deeper than %d",
                          ARROW_DEPTH_MAX);
    }
    GREBE_TRY(arrow_type_of(from, &f, w->err));
    GREBE_TRY(arrow_type_of(to, &t, w->err));
    switch (widen_rule_of(from, to, &f, &t)) {
    case WIDEN_NO: st = cannot(from, to, w->err); break;
    case WIDEN_SAME: st = copy_rows(w, from, array, begin, n, out); break;
    case WIDEN_NULL: st = array_nulls(w->a, to, n, out, w->err); break;
    case WIDEN_NUMBER: st = widen_numbers(w, &f, &t, array, begin, n, out); break;
    case WIDEN_SCALE: st = widen_scale(w, &f, &t, array, begin, n, out); break;
    case WIDEN_DECIMAL: st = widen_decimals(w, &f, &t, array, begin, n, out); break;
    case WIDEN_BYTES: st = widen_bytes(w, &f, &t, array, begin, n, out); break;
    case WIDEN_STRUCT:
        st = widen_struct(w, from, to, array, begin, n, false, depth, out);
        break;
    case WIDEN_LIST: st = widen_list(w, from, to, &f, &t, array, begin, n, depth, out); break;
    case WIDEN_INDICES:
        st = widen_dictionary(w, from, to, &f, &t, array, begin, n, depth, out);
        break;
    case WIDEN_DECODE:
    case WIDEN_RUNS:
        GREBE_TRY(expand(w, from, &f, array, begin, n, &values));
        st = widen_owned(w, f.is_dictionary ? from->dictionary : from->children[1], to, &values,
                         depth + 1, out);
        break;
    }
out:
    if (st != GREBE_OK) {
        array_release(out);
    }
    return st;
}

static grebe_status widen_all(const struct widen *w, const struct ArrowSchema *from,
                              const struct ArrowSchema *to, const struct ArrowArray *array,
                              struct ArrowArray *out)
{
    struct arrow_type f;
    memset(out, 0, sizeof *out);
    grebe_status st = arrow_type_of(from, &f, w->err);
    if (st == GREBE_OK && f.kind != ARROW_STRUCT) {
        st = check_nulls(w, to, &f, array, 0, array->length, NULL, 0);
    }
    return st == GREBE_OK ? widen_node(w, from, to, array, 0, array->length, 0, out) : st;
}

grebe_status array_widen(const grebe_allocator *a, const struct ArrowSchema *from,
                         const struct ArrowSchema *to, const struct ArrowArray *array,
                         struct ArrowArray *out, grebe_error *err)
{
    struct widen w = { a, NULL, err };
    return widen_all(&w, from, to, array, out);
}

grebe_status array_widen_shared(const grebe_allocator *a, const struct ArrowSchema *from,
                                const struct ArrowSchema *to, struct array_shared *shared,
                                struct ArrowArray *out, grebe_error *err)
{
    struct widen w = { a, shared, err };
    return widen_all(&w, from, to, array_shared_get(shared), out);
}
