/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_TEST_ITERABLE_FIXTURE_H
#define GREBE_TEST_ITERABLE_FIXTURE_H

/* Streams of one column "id" of numbers in a row, and the functions that the stored orders were made with. */

#include "arrow/arrow_stream.h"
#include "grebe/iterable.h"
#include "test_support.h"
#include "wire/json.h"

#include <stdio.h>
#include <stdlib.h>

#define ID_FEATURES "{\"id\": {\"dtype\": \"int64\", \"_type\": \"Value\"}}"

static inline void id_schema(struct ArrowSchema *out)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct ArrowSchema field;
    assert_ok(schema_new(mem_system(), "l", "id", true, 0, &field, &err));
    const struct ArrowSchema *fields[] = { &field };
    assert_ok(schema_struct(mem_system(), fields, 1, out, &err));
    schema_release(&field);
}

static inline void id_array(const int64_t *ids, int64_t n, struct ArrowArray *out)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct ArrowArray column;
    void *p;
    assert_ok(array_new(mem_system(), n, 2, 0, &column, &err));
    assert_ok(array_alloc_buffer(mem_system(), &column, 1, (size_t)n * 8, &p, &err));
    if (n > 0) {
        memcpy(p, ids, (size_t)n * 8);
    }
    assert_ok(array_struct(mem_system(), n, &column, 1, out, &err));
}

static inline const int64_t *ids_of(const struct ArrowArray *rows)
{
    const struct ArrowArray *c = rows->children[0];
    return (const int64_t *)c->buffers[1] + c->offset + rows->offset;
}

/* A source of shards: rows of each, and how many come at a time. */
struct id_source {
    int64_t rows[64], first[64];
    int64_t n, batch;
    _Atomic int64_t n_opened; /* calls, and rows given: how much a resumption reads; a prefetch counts from another thread */
    _Atomic int64_t n_given;
};

struct id_stream {
    struct id_source *source;
    int64_t next, end;
};

static inline grebe_status id_stream_schema(void *self, struct ArrowSchema *out, grebe_error *err)
{
    (void)self;
    (void)err;
    id_schema(out);
    return GREBE_OK;
}

static inline grebe_status id_stream_next(void *self, struct ArrowArray *out, grebe_error *err)
{
    struct id_stream *s = self;
    int64_t n = s->end - s->next < s->source->batch ? s->end - s->next : s->source->batch;
    (void)err;
    if (n == 0) {
        return GREBE_END;
    }
    int64_t *ids = malloc((size_t)n * sizeof *ids);
    for (int64_t i = 0; i < n; i++) {
        ids[i] = s->next + i;
    }
    id_array(ids, n, out);
    free(ids);
    s->next += n;
    s->source->n_given += n;
    return GREBE_OK;
}

static const struct stream_ops id_stream_ops = { id_stream_schema, id_stream_next, free };

static inline grebe_status id_shard(void *fn_ctx, int64_t shard, int64_t skip, struct ArrowArrayStream *out,
                                    grebe_error *err)
{
    struct id_source *source = fn_ctx;
    struct id_stream *s = malloc(sizeof *s);
    int64_t n = source->rows[shard];
    source->n_opened++;
    *s = (struct id_stream){ source, source->first[shard] + (skip < n ? skip : n), source->first[shard] + n };
    return stream_export(mem_system(), &id_stream_ops, s, out, err);
}

/* Shards of so many rows, numbered through from 0. is_table, is_typed: as of the leaves "examples", "csv", "arrow". */
static inline grebe_iterable *id_iterable(grebe_context *ctx, const int64_t *rows, int64_t n, int64_t batch,
                                          bool is_table, bool is_typed)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct id_source *s = calloc(1, sizeof *s);
    grebe_iterable *it;
    s->n = n;
    s->batch = batch;
    for (int64_t i = 0, at = 0; i < n; i++) {
        s->first[i] = at;
        s->rows[i] = rows[i];
        at += rows[i];
    }
    assert_ok(
        grebe_iterable_of_function(ctx, id_shard, s, free, n, is_table, is_typed ? ID_FEATURES : NULL, &it, &err));
    return it;
}

/* ---- functions ---- */

static inline grebe_status id_map(void *fn_ctx, const grebe_map_input *in, grebe_map_output *out, grebe_error *err)
{
    bool is_double = strcmp(fn_ctx, "dup") == 0;
    int64_t n = in->rows->length, *ids = malloc((size_t)(n * 2 + 1) * sizeof *ids);
    const int64_t *from = ids_of(in->rows);
    (void)err;
    for (int64_t i = 0; i < n; i++) {
        if (is_double) {
            ids[2 * i] = from[i];
            ids[2 * i + 1] = -from[i];
        } else {
            ids[i] = from[i] * 10;
        }
    }
    id_schema(&out->schema);
    id_array(ids, is_double ? 2 * n : n, &out->rows);
    free(ids);
    return GREBE_OK;
}

static inline grebe_status id_filter(void *fn_ctx, const grebe_map_input *in, uint8_t *keep, grebe_error *err)
{
    int64_t wanted = strcmp(fn_ctx, "odd_batch") == 0;
    const int64_t *from = ids_of(in->rows);
    (void)err;
    for (int64_t i = 0; i < in->rows->length; i++) {
        keep[i] = (((from[i] % 2) + 2) % 2) == wanted;
    }
    return GREBE_OK;
}

/* The next stream takes the place of the one before. */
static inline grebe_iterable *then(grebe_iterable *before, grebe_iterable *next)
{
    grebe_iterable_free(before);
    return next;
}

static inline grebe_iterable *with_function(grebe_iterable *it, const char *fn, int64_t batch)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_map_options o = GREBE_MAP_OPTIONS_INIT;
    grebe_iterable *next = NULL;
    o.batch_rows = batch;
    o.is_rows_fixed = false;
    char *name = (char *)(uintptr_t)fn;
    if (strcmp(fn, "x10") == 0 || strcmp(fn, "dup") == 0) {
        assert_ok(grebe_iterable_map(it, id_map, name, NULL, &o, true, &next, &err));
    } else {
        assert_ok(grebe_iterable_filter_fn(it, id_filter, name, NULL, &o, true, &next, &err));
    }
    return then(it, next);
}

/* ---- reading ---- */

struct ids {
    int64_t *ids;
    size_t n, capacity;
};

static inline void ids_add(struct ids *x, const int64_t *ids, size_t n)
{
    while (x->n + n > x->capacity) {
        x->capacity = x->capacity * 2 + 64;
        x->ids = realloc(x->ids, x->capacity * sizeof *x->ids);
    }
    if (n > 0) {
        memcpy(x->ids + x->n, ids, n * sizeof *ids);
    }
    x->n += n;
}

/* Rows of one call; false at the end. Lists (of a step that batches) are told by their values. */
static inline bool ids_next(grebe_iterator *iter, int64_t batch, struct ids *out, grebe_error *err)
{
    struct ArrowArray rows;
    struct ArrowSchema schema;
    grebe_status st = grebe_iterator_next(iter, batch, &rows, &schema, err);
    if (st != GREBE_OK) {
        fail_msg("next: %s", err->message);
    }
    if (rows.release == NULL) {
        return false;
    }
    const struct ArrowArray *c = rows.children[0];
    if (schema.children[0]->format[0] == '+') {
        const int32_t *offsets = (const int32_t *)c->buffers[1] + c->offset;
        const struct ArrowArray *v = c->children[0];
        ids_add(out, (const int64_t *)v->buffers[1] + v->offset + offsets[0],
                (size_t)(offsets[c->length] - offsets[0]));
    } else {
        ids_add(out, ids_of(&rows), (size_t)rows.length);
    }
    rows.release(&rows);
    schema.release(&schema);
    return true;
}

static inline void ids_all(const grebe_iterable *it, const char *state, int64_t batch, struct ids *out)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_iterator *iter;
    assert_ok(grebe_iterator_new(it, state, NULL, &iter, &err));
    while (ids_next(iter, batch, out, &err)) {
    }
    grebe_iterator_free(iter);
}

static inline int ids_write(void *arg, const void *bytes, size_t len)
{
    grebe_error err = GREBE_ERROR_INIT;
    return buf_put(arg, bytes, len, &err) == GREBE_OK ? 0 : 12;
}

/* The state as text; free with free(). */
static inline char *state_text(const grebe_iterator *iter, int64_t back)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct buf text = BUF_INIT(mem_system());
    assert_ok(grebe_iterator_state(iter, back, ids_write, &text, &err));
    char *copy = malloc(text.len + 1);
    memcpy(copy, buf_text(&text), text.len + 1);
    buf_release(&text);
    return copy;
}

static inline void assert_ids(const char *what, const struct ids *got, const int64_t *want, size_t n)
{
    if (got->n != n) {
        fail_msg("%s: %zu rows, expected %zu", what, got->n, n);
    }
    for (size_t i = 0; i < n; i++) {
        if (got->ids[i] != want[i]) {
            fail_msg("%s: row %zu is %lld, expected %lld", what, i, (long long)got->ids[i], (long long)want[i]);
        }
    }
}

/* ---- streams of the stored orders ---- */

static inline int64_t member_i64(const struct json_value *v, const char *name, int64_t otherwise)
{
    int64_t x = otherwise;
    const struct json_value *m = json_get(v, name);
    if (m != NULL) {
        json_i64(m, &x);
    }
    return x;
}

static inline grebe_iterable *golden_stream(grebe_context *ctx, const struct json_value *c, int64_t batch,
                                            bool *is_refused);

static inline grebe_stop stop_of(const struct json_value *rule)
{
    return rule == NULL || json_is_text(rule, "first_exhausted") ? GREBE_STOP_FIRST_EXHAUSTED
           : json_is_text(rule, "all_exhausted")                 ? GREBE_STOP_ALL_EXHAUSTED
                                                                 : GREBE_STOP_ALL_EXHAUSTED_WITHOUT_REPLACEMENT;
}

static inline grebe_iterable *golden_join(grebe_context *ctx, grebe_iterable *it, bool is_chain,
                                          const struct json_value *a, int64_t batch)
{
    grebe_error err = GREBE_ERROR_INIT;
    bool is_refused = false;
    grebe_iterable *other = golden_stream(ctx, json_get(a, "other"), batch, &is_refused), *next = NULL;
    const grebe_iterable *both[] = { it, other };
    if (is_chain) {
        assert_ok(grebe_iterable_concatenate(both, 2, 0, &next, &err));
    } else {
        const struct json_value *p = json_get(a, "probabilities");
        double chances[2];
        uint32_t seed = (uint32_t)member_i64(a, "seed", 0);
        bool has_p = p != NULL && p->type == JSON_ARRAY;
        for (size_t i = 0; i < 2 && has_p; i++) {
            assert_true(json_double(&p->items[i], &chances[i]));
        }
        assert_ok(grebe_iterable_interleave(both, 2, has_p ? chances : NULL, (grebe_seed){ &seed, 1 },
                                            stop_of(json_get(a, "stopping_strategy")), &next, &err));
    }
    grebe_iterable_free(other);
    return next;
}

/* NULL with *is_refused: the step failed. */
static inline grebe_iterable *golden_step(grebe_context *ctx, grebe_iterable *it, const char *op,
                                          const struct json_value *a, int64_t batch, bool *is_refused)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_iterable *next = NULL;
    grebe_status st = GREBE_OK;
    int64_t n = 0;
    json_i64(a, &n);
    if (strcmp(op, "shuffle") == 0) {
        grebe_iterable_shuffle_options o = GREBE_ITERABLE_SHUFFLE_OPTIONS_INIT;
        uint32_t seed = (uint32_t)member_i64(a, "seed", 0);
        o.seed = (grebe_seed){ &seed, 1 };
        o.buffer_rows = member_i64(a, "buffer_size", 0);
        o.max_input_shards = member_i64(a, "max_buffer_input_shards", 0);
        st = grebe_iterable_shuffle(it, &o, &next, &err);
    } else if (strcmp(op, "epoch") == 0) {
        st = grebe_iterable_set_epoch(it, n, &next, &err);
    } else if (strcmp(op, "with_format") == 0) {
        st = grebe_iterable_with_formatted(it, true, &next, &err);
    } else if (strcmp(op, "take") == 0) {
        st = grebe_iterable_take(it, member_i64(a, "n", 0), &next, &err);
    } else if (strcmp(op, "skip") == 0) {
        st = grebe_iterable_skip(it, member_i64(a, "n", 0), &next, &err);
    } else if (strcmp(op, "repeat") == 0) {
        st = grebe_iterable_repeat(it, member_i64(a, "num_times", 0), &next, &err);
    } else if (strcmp(op, "shard") == 0) {
        const struct json_value *c = json_get(a, "contiguous");
        st = grebe_iterable_shard(it, member_i64(a, "num_shards", 0), member_i64(a, "index", 0),
                                  c == NULL || c->boolean, &next, &err);
    } else if (strcmp(op, "map") == 0 || strcmp(op, "filter") == 0) {
        static const char *const names[] = { "x10", "even", "dup", "odd_batch" };
        size_t i = 0;
        while (!json_is_text(json_get(a, "fn"), names[i])) {
            i++;
        }
        return with_function(it, names[i], i < 2 ? 1 : member_i64(a, "batch_size", 1000));
    } else if (strcmp(op, "batch") == 0) {
        const struct json_value *drop = json_get(a, "drop_last_batch");
        st = grebe_iterable_batch(it, member_i64(a, "batch_size", 0), NULL, drop != NULL && drop->boolean, &next, &err);
    } else if (strcmp(op, "node") == 0) {
        const struct json_value *s = json_get(a, "strategy");
        grebe_node_split how = s == NULL || json_is_text(s, "auto") ? GREBE_NODE_AUTO
                               : json_is_text(s, "shards")          ? GREBE_NODE_SHARDS
                                                                    : GREBE_NODE_EXAMPLES;
        st = grebe_iterable_split_by_node(it, member_i64(a, "rank", 0), member_i64(a, "world_size", 0), how, &next,
                                          &err);
    } else {
        assert_true(strcmp(op, "concat_with") == 0 || strcmp(op, "interleave_with") == 0);
        next = golden_join(ctx, it, strcmp(op, "concat_with") == 0, a, batch);
    }
    if (st != GREBE_OK) {
        *is_refused = true;
    }
    return then(it, next);
}

static inline grebe_iterable *golden_stream(grebe_context *ctx, const struct json_value *c, int64_t batch,
                                            bool *is_refused)
{
    const struct json_value *source = json_get(c, "source"), *shards = json_get(source, "shards"),
                            *ops = json_get(c, "ops");
    const struct json_value *leaf = json_get(source, "leaf");
    int64_t rows[64];
    assert_true(shards->n <= 64);
    for (size_t i = 0; i < shards->n; i++) {
        assert_true(json_i64(&shards->items[i], &rows[i]));
    }
    grebe_iterable *it = id_iterable(ctx, rows, (int64_t)shards->n, member_i64(source, "batch", batch),
                                     !json_is_text(leaf, "examples"), json_is_text(leaf, "arrow"));
    for (size_t i = 0; i < ops->n && it != NULL; i++) {
        const struct json_value *op = &ops->items[i];
        it = golden_step(ctx, it, op->items[0].text, &op->items[1], batch, is_refused);
    }
    return it;
}

#endif
