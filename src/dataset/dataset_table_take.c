/* SPDX-License-Identifier: Apache-2.0 */
#include "dataset/dataset_table.h"

#include <string.h>

#include "arrow/array_select.h"
#include "base/checked.h"
#include "base/rng.h"
#include "dataset/dataset_part.h"

/* Where a row lies. */
struct place {
    uint32_t block, batch;
    int64_t row; /* in the batch */
};

/* Rows being taken; places are those of the column `like` and of all that lie in the same part. */
struct take {
    const struct dataset_table *t;
    const int64_t *rows;
    int64_t n;
    struct place *places; /* shape [n] */
    int64_t like;         /* -1: none yet */
    bool is_raw;          /* rows of the column at hand are yet to be checked */
    grebe_error *err;
};

static void find_places(struct take *k, size_t column)
{
    const struct dataset_table *t = k->t;
    if (k->like == t->alike[column]) {
        return;
    }
    k->like = t->alike[column];
    size_t block = 0;
    for (int64_t i = 0; i < k->n; i++) {
        int64_t row = k->rows[i];
        if (row < t->block_begin[block] || row >= t->block_begin[block + 1]) {
            block = table_block_of(t, row);
        }
        const struct table_source *s = &t->blocks[block].sources[column];
        struct place *p = &k->places[i];
        int64_t local = row - t->block_begin[block] + s->first_row;
        *p = (struct place){ (uint32_t)block, 0, local };
        if (s->part != NULL) {
            size_t batch = part_batch_of(s->part, local);
            p->batch = (uint32_t)batch;
            p->row = local - s->part->batch_begin[batch];
        }
    }
}

/* ---- flat columns: straight from the views ---- */

/* Rows from the i-th on that lie in the same batch. */
static int64_t run_of(const struct take *k, int64_t i)
{
    int64_t end = i + 1;
    while (end < k->n && k->places[end].block == k->places[i].block && k->places[end].batch == k->places[i].batch) {
        end++;
    }
    return end - i;
}

/* The view of each row; *is_flat false: some batch has none. *has_nulls: some batch has a bitmap. */
static grebe_status collect_views(struct take *k, size_t column, const struct column_view **views, bool *is_flat,
                                  bool *has_nulls)
{
    const struct column_view *v = NULL;
    int64_t before = -1;
    *is_flat = true;
    *has_nulls = false;
    k->is_raw = false;
    for (int64_t i = 0; i < k->n; i++) {
        const struct place *p = &k->places[i];
        const struct table_source *s = &k->t->blocks[p->block].sources[column];
        int64_t id = (int64_t)p->block << 32 | p->batch;
        if (id != before) {
            v = NULL;
            grebe_status st = s->part != NULL ? source_view(s, p->batch, run_of(k, i), &v, &k->is_raw, k->err) : GREBE_OK;
            if (st != GREBE_OK) {
                return st;
            }
            if (v == NULL) {
                *is_flat = false;
                return GREBE_OK;
            }
            *has_nulls = *has_nulls || v->null_count != 0;
            before = id;
        }
        views[i] = v;
    }
    return GREBE_OK;
}

enum { AHEAD = 24 }; /* rows whose cache lines are asked for before they are read */

#define TAKE_FIXED(type)                                                                                               \
    do {                                                                                                               \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            if (i + AHEAD < n) {                                                                                       \
                const struct column_view *f = views[i + AHEAD];                                                        \
                __builtin_prefetch((const type *)f->buffers[1] + f->offset + places[i + AHEAD].row);                   \
            }                                                                                                          \
            memcpy((type *)dst + i, (const type *)views[i]->buffers[1] + views[i]->offset + places[i].row,             \
                   sizeof(type));                                                                                      \
        }                                                                                                              \
    } while (0)

static void copy_fixed(const struct column_view *const *views, const struct place *places, int64_t n, int width,
                       void *dst)
{
    switch (width) {
    case 1: TAKE_FIXED(uint8_t); return;
    case 2: TAKE_FIXED(uint16_t); return;
    case 4: TAKE_FIXED(uint32_t); return;
    case 8: TAKE_FIXED(uint64_t); return;
    default: break;
    }
    for (int64_t i = 0; i < n; i++) {
        memcpy((char *)dst + i * width, (const char *)views[i]->buffers[1] + (views[i]->offset + places[i].row) * width,
               (size_t)width);
    }
}

static grebe_status take_bytes(struct take *k, const struct column_view *const *views, int width,
                               struct ArrowArray *out)
{
    const grebe_allocator *a = k->t->ctx->a;
    int64_t total = 0;
    void *p = NULL;
    grebe_status st = array_alloc_buffer(a, out, 1, (size_t)(k->n + 1) * (size_t)width, &p, k->err);
    if (st != GREBE_OK) {
        return st;
    }
    store_offset(p, width, 0, 0);
    for (int64_t i = 0; i < k->n; i++) {
        if (i + AHEAD < k->n) {
            const struct column_view *f = views[i + AHEAD];
            __builtin_prefetch((const char *)f->buffers[1] + (f->offset + k->places[i + AHEAD].row) * width);
        }
        if (k->is_raw && !view_checks_offsets(views[i], width, k->places[i].row, 1)) {
            return view_bad_offsets(k->err, k->places[i].row);
        }
        int64_t row = views[i]->offset + k->places[i].row;
        total += load_offset(views[i]->buffers[1], width, row + 1) - load_offset(views[i]->buffers[1], width, row);
        if (width == 4 && total > INT32_MAX) {
            return GREBE_FAIL(k->err, GREBE_ELIMIT,
                              "%lld rows of it take more than the 2^31 - 1 bytes that 32-bit offsets count: "
                              "take fewer rows at once",
                              (long long)k->n);
        }
        store_offset(p, width, i + 1, total);
    }
    void *bytes = NULL;
    st = array_alloc_buffer(a, out, 2, (size_t)total, &bytes, k->err);
    for (int64_t i = 0; i < k->n && st == GREBE_OK; i++) {
        if (i + AHEAD < k->n) {
            const struct column_view *f = views[i + AHEAD];
            int64_t far = load_offset(f->buffers[1], width, f->offset + k->places[i + AHEAD].row);
            __builtin_prefetch((const char *)f->buffers[2] + far);
            __builtin_prefetch((const char *)f->buffers[2] + far + 64);
        }
        int64_t at = load_offset(p, width, i), len = load_offset(p, width, i + 1) - at;
        int64_t from = load_offset(views[i]->buffers[1], width, views[i]->offset + k->places[i].row);
        memcpy((char *)bytes + at, (const char *)views[i]->buffers[2] + from, (size_t)len);
    }
    return st;
}

static grebe_status take_validity(struct take *k, const struct column_view *const *views, struct ArrowArray *out)
{
    void *p = NULL;
    size_t len = bitmap_bytes(k->n);
    grebe_status st = array_alloc_buffer(k->t->ctx->a, out, 0, len, &p, k->err);
    if (st != GREBE_OK) {
        return st;
    }
    int64_t n_valid = 0;
    memset(p, 0, len);
    for (int64_t i = 0; i < k->n; i++) {
        const uint8_t *bits = views[i]->buffers[0];
        if (bits == NULL || bit_get(bits, views[i]->offset + k->places[i].row)) {
            bit_set(p, i);
            n_valid++;
        }
    }
    out->null_count = k->n - n_valid;
    if (out->null_count == 0) {
        array_set_buffer(out, 0, NULL, NULL);
    }
    return GREBE_OK;
}

static grebe_status take_flat(struct take *k, const struct ArrowSchema *schema, enum column_layout layout, int width,
                              const struct column_view *const *views, bool has_nulls, struct ArrowArray *out)
{
    const grebe_allocator *a = k->t->ctx->a;
    bool is_bytes = layout == LAYOUT_BYTES32 || layout == LAYOUT_BYTES64;
    void *p = NULL;
    grebe_status st = array_new(a, k->n, is_bytes ? 3 : 2, 0, out, k->err);
    if (st == GREBE_OK && is_bytes) {
        st = take_bytes(k, views, layout == LAYOUT_BYTES32 ? 4 : 8, out);
    } else if (st == GREBE_OK && layout == LAYOUT_FIXED) {
        st = array_alloc_buffer(a, out, 1, (size_t)k->n * (size_t)width, &p, k->err);
        if (st == GREBE_OK) {
            copy_fixed(views, k->places, k->n, width, p);
        }
    } else if (st == GREBE_OK) {
        st = array_alloc_buffer(a, out, 1, bitmap_bytes(k->n), &p, k->err);
        if (st == GREBE_OK) {
            memset(p, 0, bitmap_bytes(k->n));
        }
        for (int64_t i = 0; i < k->n && st == GREBE_OK; i++) {
            if (bit_get(views[i]->buffers[1], views[i]->offset + k->places[i].row)) {
                bit_set(p, i);
            }
        }
    }
    if (st == GREBE_OK && has_nulls) {
        st = take_validity(k, views, out);
    }
    if (st == GREBE_OK && is_bytes && k->is_raw) { /* what was copied is what has to be good */
        st = array_check(schema, out, true, k->err);
    }
    if (st != GREBE_OK) {
        array_release(out);
    }
    return st;
}

/* ---- other columns: batches are opened once, rows copied in the order asked ---- */

struct opened {
    uint64_t id; /* block and batch, + 1; 0: free */
    struct ArrowArray array;
};

struct opened_set {
    const grebe_allocator *a;
    struct opened *items; /* shape [mask + 1] */
    size_t mask;
};

static grebe_status opened_new(const grebe_allocator *a, int64_t n, struct opened_set *out, grebe_error *err)
{
    size_t size = 4;
    while (size < (size_t)n * 2) {
        size *= 2;
    }
    *out = (struct opened_set){ a, mem_alloc_zero(a, size * sizeof *out->items), size - 1 };
    return out->items == NULL ? mem_fail(err, size * sizeof *out->items, "batches") : GREBE_OK;
}

static void opened_release(struct opened_set *o)
{
    for (size_t i = 0; o->items != NULL && i <= o->mask; i++) {
        array_release(&o->items[i].array);
    }
    mem_free(o->a, o->items, (o->mask + 1) * sizeof *o->items);
}

static grebe_status open_batch(struct take *k, struct opened_set *set, size_t column, const struct place *p,
                               const struct ArrowArray **out)
{
    uint64_t id = ((uint64_t)p->block << 32 | p->batch) + 1;
    size_t i = (size_t)rng_mix(id) & set->mask;
    while (set->items[i].id != 0 && set->items[i].id != id) {
        i = (i + 1) & set->mask;
    }
    struct opened *o = &set->items[i];
    *out = &o->array;
    if (o->id == id) {
        return GREBE_OK;
    }
    const struct table_source *s = &k->t->blocks[p->block].sources[column];
    int64_t n = s->part->batch_begin[p->batch + 1] - s->part->batch_begin[p->batch];
    grebe_status st = source_read(s, p->batch, 0, n, &o->array, k->err);
    o->id = st == GREBE_OK ? id : 0;
    return st;
}

static grebe_status take_nested(struct take *k, size_t column, struct ArrowArray *out)
{
    grebe_status st = GREBE_OK;
    const grebe_allocator *a = k->t->ctx->a;
    size_t n = (size_t)k->n, n_sels = 0;
    struct opened_set set = { a, NULL, 0 };
    struct ArrowArray nothing = { 0 };
    struct selection *sels = mem_alloc_zero(a, n * sizeof *sels);
    int64_t *rows = mem_alloc(a, n * sizeof *rows);
    if (sels == NULL || rows == NULL) {
        st = mem_fail(k->err, n * sizeof *sels, "selections");
        goto out;
    }
    GREBE_TRY(opened_new(a, k->n, &set, k->err));
    GREBE_TRY(array_nulls(a, k->t->schema.children[column], 0, &nothing, k->err));
    for (size_t i = 0; i < n; i++) {
        const struct place *p = &k->places[i];
        const struct ArrowArray *src = &nothing;
        rows[i] = -1;
        if (k->t->blocks[p->block].sources[column].part != NULL) {
            GREBE_TRY(open_batch(k, &set, column, p, &src));
            rows[i] = p->row;
        }
        if (n_sels > 0 && sels[n_sels - 1].src == src) {
            sels[n_sels - 1].n++;
        } else {
            sels[n_sels++] = (struct selection){ src, &rows[i], NULL, 1, 0, src == &nothing };
        }
    }
    struct select s = { a, sels, n_sels, k->n, false, 0, k->err };
    GREBE_TRY(select_node(&s, k->t->schema.children[column], out));
out:
    opened_release(&set);
    array_release(&nothing);
    mem_free(a, sels, n * sizeof *sels);
    mem_free(a, rows, n * sizeof *rows);
    return st;
}

static grebe_status take_column(struct take *k, size_t column, const struct column_view **views, struct ArrowArray *out)
{
    int width = 0;
    bool is_flat = false, has_nulls = false;
    const struct ArrowSchema *schema = k->t->schema.children[column];
    enum column_layout layout = column_layout_of(schema, &width);
    find_places(k, column);
    if (layout != LAYOUT_NESTED) {
        grebe_status st = collect_views(k, column, views, &is_flat, &has_nulls);
        if (st != GREBE_OK) {
            return st;
        }
    }
    return is_flat ? take_flat(k, schema, layout, width, views, has_nulls, out) : take_nested(k, column, out);
}

grebe_status dataset_table_take(const struct dataset_table *t, const int64_t *rows, int64_t n, const int *columns,
                                size_t n_columns, struct ArrowArray *out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const grebe_allocator *a = t->ctx->a;
    size_t n_out = columns != NULL ? n_columns : (size_t)t->schema.n_children;
    struct take k = { t, rows, n, NULL, -1, false, err };
    memset(out, 0, sizeof *out);
    if (n == 0) {
        return dataset_table_read(t, 0, 0, columns, n_columns, out, err);
    }
    struct ArrowArray *made = mem_alloc_zero(a, n_out * sizeof *made);
    const struct column_view **views = mem_alloc(a, (size_t)n * sizeof *views);
    k.places = mem_alloc(a, (size_t)n * sizeof *k.places);
    if (made == NULL || views == NULL || k.places == NULL) {
        st = mem_fail(err, (size_t)n * sizeof *k.places, "rows to take");
        goto out;
    }
    for (size_t i = 0; i < n_out; i++) {
        size_t column = columns != NULL ? (size_t)columns[i] : i;
        st = take_column(&k, column, views, &made[i]);
        if (st != GREBE_OK) {
            error_wrap(err, st, "column \"%.64s\"", t->schema.children[column]->name);
            goto out;
        }
    }
    GREBE_TRY(array_struct(a, n, made, n_out, out, err));
out:
    for (size_t i = 0; st != GREBE_OK && made != NULL && i < n_out; i++) {
        array_release(&made[i]);
    }
    mem_free(a, made, n_out * sizeof *made);
    mem_free(a, views, (size_t)n * sizeof *views);
    mem_free(a, k.places, (size_t)n * sizeof *k.places);
    return st;
}
