/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of objects parsed side by side, rows given out in order. */
#include <string.h>

#include "base/checked.h"
#include "builder/builder_json.h"
#include "builder/builder_text.h"
#include "text/json_table.h"

enum { SLOTS_MAX = 64, ROWS_TRIED = 64 };

struct json_rows;

/* Of a block's own types. */
struct own_shape {
    struct arena arena;
    struct json_shape shape;
    struct json_resolve how;
    bool is_there;
};

struct json_slot {
    struct text_block block;
    uint64_t at; /* of the block in the file */
    struct ArrowSchema schema;
    struct ArrowArray rows;
    grebe_status status;
    grebe_error error;
    struct own_shape own;
};

struct json_rows {
    struct json_builder *b;
    struct json_unit unit;
    struct json_slot slots[SLOTS_MAX];
    size_t n_slots, wave, next, n_ready;
    int64_t row;
    uint64_t start; /* where it began */
    bool is_begun;
    struct own_shape other; /* of blocks that came before: tried first, once all of a wave were odd */
};

/* ---- a block ---- */

/* Bare NaN and Infinity get quotes: the reader of tables knows them as strings. */
static grebe_status quote_specials(const char *data, size_t len, struct buf *dst, grebe_error *err)
{
    static const char *const words[] = { "NaN", "-Infinity", "Infinity" };
    grebe_status st = buf_reserve(dst, len + len / 8, err);
    for (size_t i = 0; i < len && st == GREBE_OK;) {
        size_t begin = i, n = 0;
        if (data[i] == '"') {
            for (i++; i < len && data[i] != '"'; i++) {
                i += data[i] == '\\';
            }
            i = min_size(i + 1, len);
        } else {
            for (size_t k = 0; k < 3 && n == 0; k++) {
                size_t w = strlen(words[k]);
                n = w <= len - i && memcmp(data + i, words[k], w) == 0 ? w : 0;
            }
            i += n > 0 ? n : 1;
        }
        st = n > 0 ? buf_printf(dst, err, "\"%.*s\"", (int)n, data + begin) : buf_put(dst, data + begin, i - begin, err);
    }
    return st;
}

/* Also JSON_ODD: the shape does not fit. */
static grebe_status read_table(const struct json_unit *u, const char *data, size_t len, const struct json_shape *shape,
                               size_t n_leaves, const grebe_allocator *a, struct ArrowArray *out, grebe_error *err)
{
    struct json_table table;
    struct json_cursor c = { data, data + len };
    bool is_first = true;
    grebe_status st = json_table_init(&table, a, shape, n_leaves, err);
    while (st == GREBE_OK) {
        st = json_next_object(u, &c, &is_first, err);
        if (st == GREBE_END) {
            st = GREBE_OK;
            break;
        }
        st = st == GREBE_OK ? json_table_put(&table, &c, err) : st;
        if (st == GREBE_OK && json_table_rows(&table) == ROWS_TRIED) {
            double share = (double)len / (double)(c.p - data);
            st = json_table_expect(&table, (size_t)(ROWS_TRIED * share * 1.05) + 16, err);
        }
    }
    if (st == GREBE_OK && json_table_rows(&table) > 0) {
        st = json_table_finish(&table, u->reader.name, out, err);
    }
    json_table_release(&table);
    return st;
}

static grebe_status with_shape(struct json_rows *r, struct json_slot *s, const struct json_shape *shape,
                               const struct json_resolve *how, grebe_error *err)
{
    const grebe_allocator *a = r->b->base.b.ctx->a;
    struct buf quoted = BUF_INIT(a);
    const char *data = s->block.data;
    size_t len = s->block.len;
    grebe_status st = GREBE_OK;
    if (how->has_special) {
        GREBE_TRY(quote_specials(data, len, &quoted, err));
        data = (const char *)quoted.data;
        len = quoted.len;
    }
    GREBE_TRY(read_table(&r->unit, data, len, shape, how->n_leaves, a, &s->rows, err));
    if (s->rows.release != NULL && how->has_times) {
        GREBE_TRY(json_rows_times(a, shape, &s->rows, err));
    }
    if (s->rows.release != NULL) {
        st = json_rows_schema(a, shape, "", &s->schema, err);
    }
out:
    if (st != GREBE_OK) {
        array_release(&s->rows);
    }
    buf_release(&quoted);
    return st;
}

/* By the types that the block itself has. */
static grebe_status by_own_types(struct json_rows *r, struct json_slot *s, grebe_error *err)
{
    const struct features *f = r->b->base.b.features;
    struct arena arena = ARENA_INIT(r->b->base.b.ctx->a);
    struct json_kinds type = { 0 };
    char place[512];
    grebe_status st = json_see_block(&r->unit, &s->block, &arena, &type, err);
    if (st == GREBE_OK) {
        struct own_shape *own = &s->own;
        own->arena = ARENA_INIT(r->b->base.b.ctx->a);
        own->how = (struct json_resolve){ .ar = &own->arena };
        st = json_kinds_resolve(&own->how, &type, f != NULL ? &f->top : NULL, 0, "", &own->shape, err);
        own->shape.form = JSON_FORM_STRUCT; /* a block without rows */
        st = st == GREBE_OK ? with_shape(r, s, &own->shape, &own->how, err) : st;
        own->is_there = st == GREBE_OK;
        if (st == JSON_ODD) {
            st = GREBE_FAIL(err, GREBE_ECORRUPT, "expected plain JSON, found what is odd");
        }
        if (st != GREBE_OK && st != GREBE_ENOMEM) {
            error_wrap(err, st, "%s", text_place(place, r->unit.reader.name, &s->block, 0));
        }
    }
    arena_release(&arena);
    return st;
}

static bool is_odd(grebe_status st) { return st == JSON_ODD || st == GREBE_ECORRUPT || st == GREBE_ELIMIT; }

static grebe_status read_block(struct json_rows *r, struct json_slot *s, grebe_error *err)
{
    grebe_status st = builder_text_check(r->unit.reader.name, &s->block, err);
    if (st != GREBE_OK) {
        return st;
    }
    st = JSON_ODD;
    if (r->other.is_there) {
        st = with_shape(r, s, &r->other.shape, &r->other.how, err);
    }
    st = is_odd(st) ? with_shape(r, s, &r->b->shape, &r->b->how, err) : st;
    st = is_odd(st) ? by_own_types(r, s, err) : st;
    if (st == GREBE_OK && s->rows.release != NULL) {
        struct ArrowSchema schema = { 0 };
        struct ArrowArray rows = { 0 };
        schema_move(&schema, &s->schema);
        array_move(&rows, &s->rows);
        st = builder_emit(&r->b->base, r->unit.reader.name, &schema, &rows, false, 0, &s->schema, &s->rows, err);
    }
    return st;
}

static grebe_status run_slot(void *arg, size_t i, grebe_error *err)
{
    struct json_rows *r = arg;
    struct json_slot *s = &r->slots[i];
    (void)err;
    s->status = read_block(r, s, &s->error);
    return GREBE_OK;
}

/* ---- the reader ---- */

static void release_shape(struct own_shape *own)
{
    if (own->arena.a != NULL) {
        arena_release(&own->arena);
    }
    own->is_there = false;
}

/* Where no block of a wave was as expected, the next ones are likely as the last was. */
static void keep_shape(struct json_rows *r)
{
    for (size_t i = 0; i < r->n_ready; i++) {
        if (!r->slots[i].own.is_there) {
            return;
        }
    }
    release_shape(&r->other);
    r->other = r->slots[r->n_ready - 1].own; /* what a shape points to lies in the blocks of its arena */
    r->slots[r->n_ready - 1].own = (struct own_shape){ 0 };
}

static void clear_slots(struct json_rows *r)
{
    for (size_t i = 0; i < r->n_slots; i++) {
        schema_release(&r->slots[i].schema);
        array_release(&r->slots[i].rows);
        release_shape(&r->slots[i].own);
    }
}

static grebe_status run_wave(struct json_rows *r, grebe_error *err)
{
    struct text_block blocks[SLOTS_MAX];
    const struct call *call = &r->b->base.call;
    clear_slots(r);
    r->next = r->n_ready = 0;
    uint64_t at = r->unit.reader.at;
    grebe_status st = json_unit_blocks(&r->unit, r->unit.block_bytes, blocks, r->wave, &r->n_ready, err);
    if (st != GREBE_OK) {
        r->n_ready = 0;
        return st;
    }
    for (size_t i = 0; i < r->n_ready; i++) {
        r->slots[i].block = blocks[i];
        r->slots[i].at = at;
        at += blocks[i].len;
    }
    r->wave = min_size(2 * r->wave, r->n_slots);
    st = parallel_for(r->b->base.b.ctx->pool, call->threads, r->n_ready, run_slot, r, call->cancel, err);
    if (st == GREBE_OK && r->n_ready > 0) {
        keep_shape(r);
    }
    return st;
}

static grebe_status json_rows_next(void *self, struct ArrowSchema *schema, struct ArrowArray *out, grebe_error *err)
{
    struct json_rows *r = self;
    r->is_begun = true;
    if (r->b->base.b.features != NULL && r->b->base.b.features->top.n_fields == 0) {
        return GREBE_END; /* objects without fields are no rows */
    }
    for (;;) {
        if (r->next == r->n_ready) {
            grebe_status st = run_wave(r, err);
            if (st != GREBE_OK || r->n_ready == 0) {
                return st != GREBE_OK ? st : GREBE_END;
            }
        }
        struct json_slot *s = &r->slots[r->next];
        if (s->status != GREBE_OK) {
            if (err != NULL) {
                *err = s->error;
            }
            return s->status;
        }
        r->next++;
        if (s->rows.release != NULL) {
            r->row += s->rows.length;
            schema_move(schema, &s->schema);
            array_move(out, &s->rows);
            return GREBE_OK;
        }
    }
}

static struct shard_place json_rows_place(void *self)
{
    const struct json_rows *r = self;
    if (!r->unit.is_plain) {
        return (struct shard_place){ 0, 0 };
    }
    uint64_t at = !r->is_begun ? r->start : r->next < r->n_ready ? r->slots[r->next].at : r->unit.reader.at;
    return (struct shard_place){ r->row, at };
}

static int64_t json_rows_next_row(void *self) { return ((struct json_rows *)self)->row; }

static void json_rows_free(void *self)
{
    struct json_rows *r = self;
    const grebe_allocator *a = r->b->base.b.ctx->a;
    clear_slots(r);
    release_shape(&r->other);
    json_unit_release(&r->unit);
    mem_free(a, r, sizeof *r);
}

static const struct shard_reader_ops json_rows_ops = { json_rows_next, json_rows_place, json_rows_next_row,
                                                       json_rows_free, NULL };

grebe_status json_rows_open(struct builder_base *base, struct region *bytes, const char *name, struct shard_place place,
                            struct shard_reader *out, grebe_error *err)
{
    struct json_builder *b = (struct json_builder *)base;
    struct json_rows *r = mem_alloc_zero(base->b.ctx->a, sizeof *r);
    if (r == NULL) {
        return mem_fail(err, sizeof *r, name);
    }
    r->b = b;
    r->n_slots = min_size(max_size(base->call.threads, 1), SLOTS_MAX);
    r->wave = 1;
    r->row = place.row;
    r->start = place.at;
    grebe_status st = json_unit_open(b, bytes, name, place.at, &r->unit, err);
    if (st != GREBE_OK) {
        json_rows_free(r);
        return st;
    }
    *out = (struct shard_reader){ &json_rows_ops, r };
    return GREBE_OK;
}
