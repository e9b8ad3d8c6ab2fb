/* SPDX-License-Identifier: Apache-2.0 */
#include "arrow/array_select.h"

#include <assert.h>

#include "base/checked.h"
#include "base/hash.h"

/* Values of all sources in one dictionary: equal values get one index. */
struct unify {
    const grebe_allocator *a;
    const struct select *s;
    struct arrow_type t;  /* of the values */
    int64_t *table;       /* hash table of index + 1; 0: empty. Shape [table_size] */
    size_t table_size;    /* power of two */
    struct row_range *where; /* where value i comes from: source (len), row (begin). Shape [capacity] */
    int64_t *rows;        /* its row again, for the gather. Shape [capacity] */
    size_t capacity;
    int64_t n;
    int64_t *map;         /* new index of value r of source k: map[map_begin[k] + r] */
    size_t *map_begin;    /* shape [n_sels] */
};

static bool is_flat(const struct arrow_type *t)
{
    return !t->is_dictionary && (t->byte_width > 0 || arrow_kind_is_bytes(t->kind) ||
                                 arrow_kind_is_view(t->kind));
}

static struct arrow_bytes value_at(const struct ArrowArray *array, const struct arrow_type *t,
                                   int64_t i)
{
    if (arrow_kind_is_bytes(t->kind) || arrow_kind_is_view(t->kind)) {
        return arrow_bytes_at(array, t->kind, 0, i);
    }
    const char *p = array->buffers[1];
    return (struct arrow_bytes){ p + (array->offset + i) * t->byte_width, t->byte_width };
}

static void unify_release(struct unify *u)
{
    size_t n_sels = u->s->n_sels;
    mem_free(u->a, u->table, u->table_size * sizeof *u->table);
    mem_free(u->a, u->where, u->capacity * sizeof *u->where);
    mem_free(u->a, u->rows, u->capacity * sizeof *u->rows);
    mem_free(u->a, u->map, u->capacity * sizeof *u->map);
    mem_free(u->a, u->map_begin, n_sels * sizeof *u->map_begin);
}

static grebe_status unify_init(struct unify *u, const struct select *s,
                               const struct ArrowSchema *values)
{
    memset(u, 0, sizeof *u);
    u->a = s->a;
    u->s = s;
    grebe_status st = arrow_type_of(values, &u->t, s->err);
    if (st != GREBE_OK) {
        return st;
    }
    size_t total = 1;
    for (size_t k = 0; k < s->n_sels; k++) {
        total += (size_t)s->sels[k].src->dictionary->length;
    }
    if (total > SIZE_MAX / 64) {
        return GREBE_FAIL(s->err, GREBE_ELIMIT, "dictionaries of %zu values", total);
    }
    size_t table_size = 16;
    while (table_size < total * 2) {
        table_size *= 2;
    }
    u->map_begin = mem_alloc_zero(u->a, s->n_sels * sizeof *u->map_begin);
    u->table = mem_alloc_zero(u->a, table_size * sizeof *u->table);
    u->table_size = u->table != NULL ? table_size : 0;
    u->where = mem_alloc(u->a, total * sizeof *u->where);
    u->rows = mem_alloc(u->a, total * sizeof *u->rows);
    u->map = mem_alloc(u->a, total * sizeof *u->map);
    u->capacity = total;
    if (u->map_begin == NULL || u->table == NULL || u->where == NULL || u->rows == NULL ||
        u->map == NULL) {
        return mem_fail(s->err, table_size * sizeof *u->table, "a dictionary");
    }
    return GREBE_OK;
}

/* Index of a value among those seen so far, -1 when it is new; *slot is where it belongs. */
static int64_t unify_lookup(const struct unify *u, size_t source, int64_t row, size_t *slot)
{
    const struct ArrowArray *dictionary = u->s->sels[source].src->dictionary;
    bool is_null = array_is_null(dictionary, row);
    struct arrow_bytes v = { "", 0 };
    if (!is_null) {
        v = value_at(dictionary, &u->t, row);
    }
    uint64_t h = hash_bytes(v.p, (size_t)v.len, is_null);
    for (size_t i = (size_t)h & (u->table_size - 1);; i = (i + 1) & (u->table_size - 1)) {
        int64_t index = u->table[i] - 1;
        if (index < 0) {
            *slot = i;
            return -1;
        }
        const struct ArrowArray *other = u->s->sels[u->where[index].len].src->dictionary;
        bool is_other_null = array_is_null(other, u->where[index].begin);
        if (is_null || is_other_null) {
            if (is_null == is_other_null) {
                return index;
            }
            continue;
        }
        struct arrow_bytes w = value_at(other, &u->t, u->where[index].begin);
        if (w.len == v.len && memcmp(w.p, v.p, (size_t)v.len) == 0) {
            return index;
        }
    }
}

static void unify_values(struct unify *u)
{
    bool can_compare = is_flat(&u->t);
    size_t at = 0;
    for (size_t k = 0; k < u->s->n_sels; k++) {
        u->map_begin[k] = at;
        int64_t n = u->s->sels[k].src->dictionary->length;
        for (int64_t row = 0; row < n; row++) {
            size_t slot = 0;
            int64_t index = can_compare ? unify_lookup(u, k, row, &slot) : -1;
            if (index < 0) {
                index = u->n++;
                u->where[index] = (struct row_range){ row, (int64_t)k };
                u->rows[index] = row;
                if (can_compare) {
                    u->table[slot] = index + 1;
                }
            }
            u->map[at++] = index;
        }
    }
}

static int64_t index_max(enum arrow_kind kind)
{
    switch (kind) {
    case ARROW_INT8: return INT8_MAX;
    case ARROW_UINT8: return UINT8_MAX;
    case ARROW_INT16: return INT16_MAX;
    case ARROW_UINT16: return UINT16_MAX;
    case ARROW_INT32: return INT32_MAX;
    case ARROW_UINT32: return UINT32_MAX;
    default: return INT64_MAX;
    }
}

static void store_index(void *p, int32_t width, int64_t i, int64_t v)
{
    uint8_t narrow8 = (uint8_t)v;
    uint16_t narrow16 = (uint16_t)v;
    switch (width) {
    case 1: memcpy((char *)p + i, &narrow8, 1); break;
    case 2: memcpy((char *)p + 2 * i, &narrow16, 2); break;
    default: store_offset(p, width, i, v);
    }
}

/* Indices of all rows through a map per source; nulls get 0. */
static grebe_status put_indices(const struct select *s, const struct arrow_type *t,
                                const int64_t *map, const size_t *map_begin,
                                struct ArrowArray *out)
{
    void *p = NULL;
    size_t len = 0;
    if (!checked_mul_size((size_t)s->n_rows, (size_t)t->byte_width, &len)) {
        return GREBE_FAIL(s->err, GREBE_ELIMIT, "%lld indices do not fit in memory",
                          (long long)s->n_rows);
    }
    grebe_status st = array_alloc_buffer(s->a, out, 1, len, &p, s->err);
    int64_t at = 0;
    for (size_t k = 0; k < s->n_sels && st == GREBE_OK; k++) {
        const struct selection *sel = &s->sels[k];
        const struct ArrowArray *src = sel->src;
        const uint8_t *bits = src->null_count != 0 ? src->buffers[0] : NULL;
        for (size_t i = 0; i < sel->n; i++) {
            struct row_range r = selection_range(sel, i);
            for (int64_t row = 0; row < r.len; row++, at++) {
                int64_t slot = src->offset + r.begin + row;
                int64_t v = 0;
                if (r.begin >= 0 && (bits == NULL || bit_get(bits, slot))) {
                    v = arrow_load_int(src->buffers[1], t->kind, slot);
                    v = map[map_begin[k] + (size_t)v];
                }
                store_index(p, t->byte_width, at, v);
            }
        }
    }
    return st;
}

static grebe_status attach(const struct select *s, const struct ArrowSchema *schema,
                           const struct selection *sels, size_t n_sels, int64_t n,
                           struct ArrowArray *out)
{
    struct select values = { s->a, sels, n_sels, n, false, s->depth + 1, s->err };
    struct ArrowArray dictionary;
    grebe_status st = select_node(&values, schema->dictionary, &dictionary);
    if (st == GREBE_OK) {
        st = array_set_dictionary(s->a, out, &dictionary, s->err);
        if (st != GREBE_OK) {
            array_release(&dictionary);
        }
    }
    return st;
}

static grebe_status select_unified(const struct select *s, const struct ArrowSchema *schema,
                                   const struct arrow_type *t, struct ArrowArray *out)
{
    grebe_status st = GREBE_OK;
    struct unify u;
    struct selection *sels = NULL;

    GREBE_TRY(unify_init(&u, s, schema->dictionary));
    unify_values(&u);
    if (u.n - 1 > index_max(t->kind)) {
        st = GREBE_FAIL(s->err, GREBE_ELIMIT,
                        "a joint dictionary of %lld values: indices of %d bytes reach %lld",
                        (long long)u.n, (int)t->byte_width, (long long)index_max(t->kind));
        goto out;
    }
    GREBE_TRY(put_indices(s, t, u.map, u.map_begin, out));
    sels = mem_alloc_zero(s->a, s->n_sels * sizeof *sels);
    if (sels == NULL) {
        st = mem_fail(s->err, s->n_sels * sizeof *sels, "selections");
        goto out;
    }
    /* New values are numbered source by source, so each source has one stretch of rows. */
    int64_t at = 0;
    for (size_t k = 0; k < s->n_sels; k++) {
        int64_t begin = at;
        while (at < u.n && u.where[at].len == (int64_t)k) {
            at++;
        }
        sels[k] = (struct selection){ s->sels[k].src->dictionary, u.rows + begin, NULL,
                                      (size_t)(at - begin), 0, false };
    }
    GREBE_TRY(attach(s, schema, sels, s->n_sels, u.n, out));
out:
    mem_free(s->a, sels, s->n_sels * sizeof *sels);
    unify_release(&u);
    return st;
}

/* Only the values that the rows use, in the order of their first use. */
static grebe_status select_compact(const struct select *s, const struct ArrowSchema *schema,
                                   const struct arrow_type *t, struct ArrowArray *out)
{
    grebe_status st = GREBE_OK;
    const struct ArrowArray *dictionary = s->sels[0].src->dictionary;
    size_t n_values = (size_t)dictionary->length;
    size_t len = (n_values + (size_t)s->n_rows) * sizeof(int64_t) + 1;
    int64_t n_used = 0;
    int64_t *map = mem_alloc(s->a, len);
    size_t *begin = mem_alloc_zero(s->a, s->n_sels * sizeof *begin);
    if (map == NULL || begin == NULL) {
        st = mem_fail(s->err, len, "a dictionary");
        goto out;
    }
    int64_t *used = map + n_values;
    memset(map, 0xff, n_values * sizeof *map);
    for (size_t k = 0; k < s->n_sels; k++) {
        const struct selection *sel = &s->sels[k];
        const struct ArrowArray *src = sel->src;
        const uint8_t *bits = src->null_count != 0 ? src->buffers[0] : NULL;
        for (size_t i = 0; i < sel->n; i++) {
            struct row_range r = selection_range(sel, i);
            for (int64_t row = 0; r.begin >= 0 && row < r.len; row++) {
                int64_t slot = src->offset + r.begin + row;
                if (bits != NULL && !bit_get(bits, slot)) {
                    continue;
                }
                int64_t v = arrow_load_int(src->buffers[1], t->kind, slot);
                if (map[v] < 0) {
                    map[v] = n_used;
                    used[n_used++] = v;
                }
            }
        }
    }
    GREBE_TRY(put_indices(s, t, map, begin, out));
    struct selection values = { dictionary, used, NULL, (size_t)n_used, 0, false };
    GREBE_TRY(attach(s, schema, &values, 1, n_used, out));
out:
    mem_free(s->a, map, len);
    mem_free(s->a, begin, s->n_sels * sizeof *begin);
    return st;
}

static bool is_same_dictionary(const struct ArrowSchema *schema, const struct ArrowArray *x,
                               const struct ArrowArray *y)
{
    if (x == y) {
        return true;
    }
    bool is_same = x->length == y->length && x->offset == y->offset &&
                   x->n_buffers == y->n_buffers && x->n_children == 0 && y->n_children == 0 &&
                   x->dictionary == NULL && y->dictionary == NULL;
    for (int64_t i = 0; i < x->n_buffers && is_same; i++) {
        is_same = x->buffers[i] == y->buffers[i];
    }
    return is_same || (x->length == y->length && array_equal(schema->dictionary, x, y));
}

grebe_status select_dictionary(const struct select *s, const struct ArrowSchema *schema,
                               const struct arrow_type *t, struct ArrowArray *out)
{
    enum { SMALL_DICTIONARY = 1024 }; /* values: copied without looking which are used */
    bool is_same = true;
    for (size_t k = 1; k < s->n_sels && is_same; k++) {
        is_same = is_same_dictionary(schema, s->sels[0].src->dictionary,
                                     s->sels[k].src->dictionary);
    }
    if (!is_same) {
        return select_unified(s, schema, t, out);
    }
    const struct ArrowArray *dictionary = s->sels[0].src->dictionary;
    if (dictionary->length > SMALL_DICTIONARY && dictionary->length > s->n_rows) {
        return select_compact(s, schema, t, out);
    }
    grebe_status st = select_fixed(s, 1, (size_t)t->byte_width, out);
    struct row_range all = { 0, dictionary->length };
    struct selection values = { dictionary, NULL, &all, 1, 0, false };
    return st != GREBE_OK ? st : attach(s, schema, &values, 1, dictionary->length, out);
}
