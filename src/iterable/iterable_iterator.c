/* SPDX-License-Identifier: Apache-2.0 */
/* One pass over the rows, and its state as text. */
#include "iterable/iterable_internal.h"

#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "base/hash.h"

enum { STATE_VERSION = 1 };

struct grebe_iterator {
    grebe_context *ctx;
    grebe_iterable *it;
    struct node *root;
    struct reader *reader;
    uint64_t signature;
    int64_t epoch;
    struct place before; /* the last batch, or the one whose reading failed */
    int64_t n_last;      /* its rows; 0 where it failed */
    grebe_status failed; /* what an earlier call failed with */
};

/* A number that is the same for streams whose states fit each other. */
static grebe_status sign(const grebe_iterable *it, uint64_t *out, grebe_error *err)
{
    struct buf text = BUF_INIT(it->ctx->a);
    grebe_status st =
        buf_printf(&text, err, "%lld of %lld %d, %lld of %lld, %d %d ", (long long)it->rank, (long long)it->world,
                   (int)it->how, (long long)it->worker, (long long)it->n_workers, it->is_typed, it->is_formatted);
    if (st == GREBE_OK) {
        st = node_describe(it->root, &text, err);
    }
    *out = st == GREBE_OK ? hash_xxh3(text.data, text.len) : 0;
    buf_release(&text);
    return st;
}

/* ---- reading a state ---- */

static grebe_status check_head(const struct json_value *top, uint64_t signature, int64_t *epoch, int64_t *skip,
                               grebe_error *err)
{
    int64_t version = 0;
    char expected[17];
    snprintf(expected, sizeof expected, "%016llx", (unsigned long long)signature);
    if (top->type != JSON_OBJECT || !json_i64(json_get(top, "version"), &version)) {
        return GREBE_FAIL(err, GREBE_EINVAL, "this is no state of a stream: expected an object with a version");
    }
    if (version != STATE_VERSION) {
        return GREBE_FAIL(err, GREBE_EINVAL, "a state of version %lld: expected %d", (long long)version, STATE_VERSION);
    }
    if (!json_is_text(json_get(top, "signature"), expected)) {
        return GREBE_FAIL(err, GREBE_EINVAL,
                          "the state is one of another stream (sources, steps, seeds or their order differ)");
    }
    if (!json_i64(json_get(top, "epoch"), epoch) || !json_i64(json_get(top, "skip"), skip)) {
        return mark_fail(err, "no epoch, or no number of rows to skip");
    }
    return GREBE_OK;
}

/* Of another epoch: the reader stays at the beginning. */
static grebe_status load_state(grebe_iterator *iter, const char *state, grebe_error *err)
{
    struct arena ar = ARENA_INIT(iter->ctx->a);
    const struct json_value *top = NULL;
    struct mark *mark = NULL;
    int64_t epoch = 0, skip = 0;
    grebe_status st = json_parse(&ar, state, strlen(state), &top, err);
    if (st == GREBE_ECORRUPT || st == GREBE_ELIMIT) {
        st = GREBE_FAIL(err, GREBE_EINVAL, "this is no state of a stream: it is no JSON");
    }
    GREBE_TRY(st);
    GREBE_TRY(check_head(top, iter->signature, &epoch, &skip, err));
    if (epoch == iter->epoch) {
        GREBE_TRY(mark_read(iter->ctx->a, json_get(top, "words"), &mark, err));
        st = reader_load(iter->reader, mark, skip, err);
    }
out:
    mark_drop(mark);
    arena_release(&ar);
    return st;
}

/* ---- life ---- */

grebe_status grebe_iterator_new(const grebe_iterable *it, const char *state, const grebe_call_options *call,
                                grebe_iterator **out, grebe_error *err)
{
    GREBE_CHECK_ARG(err, it != NULL && out != NULL);
    *out = NULL;
    grebe_iterator *iter = mem_alloc_zero(it->ctx->a, sizeof *iter);
    if (iter == NULL) {
        return mem_fail(err, sizeof *iter, "an iterator");
    }
    grebe_status st = GREBE_OK;
    struct reading env = { it->ctx, call_options_resolve(it->ctx, call), false };
    iter->ctx = it->ctx;
    iter->it = grebe_iterable_keep(it);
    iter->epoch = it->epoch;
    GREBE_TRY(sign(it, &iter->signature, err));
    GREBE_TRY(iterable_pass(it, &iter->root, &env.are_tables, err));
    GREBE_TRY(node_open(iter->root, &env, &iter->reader, err));
    if (state != NULL) {
        GREBE_TRY(load_state(iter, state, err));
    }
    *out = iter;
    iter = NULL;
out:
    grebe_iterator_free(iter);
    return st;
}

void grebe_iterator_free(grebe_iterator *iter)
{
    if (iter != NULL) {
        reader_free(iter->reader);
        node_drop(iter->root);
        place_release(&iter->before);
        grebe_iterable_free(iter->it);
        mem_free(iter->ctx->a, iter, sizeof *iter);
    }
}

grebe_context *iterator_context(const grebe_iterator *iter)
{
    return iter->ctx;
}

grebe_status iterator_schema(const grebe_iterator *iter, struct ArrowSchema *out, grebe_error *err)
{
    return iter->it->features != NULL ? features_to_schema(iter->ctx->a, iter->it->features, out, err)
                                      : schema_new(iter->ctx->a, "+s", "", false, 0, out, err);
}

/* ---- rows ---- */

grebe_status grebe_iterator_next(grebe_iterator *iter, int64_t batch_rows, struct ArrowArray *out,
                                 struct ArrowSchema *schema, grebe_error *err)
{
    struct rows rows = { 0 };
    struct place before = { 0 };
    grebe_status st = GREBE_OK;
    memset(out, 0, sizeof *out);
    memset(schema, 0, sizeof *schema);
    if (iter->failed != GREBE_OK) {
        return GREBE_FAIL(err, iter->failed, "reading failed before: to go on, begin another pass from the state of this one");
    }
    GREBE_TRY(reader_place(iter->reader, &before, err));
    GREBE_TRY(batch_rows > 0 ? reader_read(iter->reader, batch_rows, &rows, err)
                             : reader_next(iter->reader, READ_ROWS, INT64_MAX, &rows, err));
    GREBE_TRY(rows_array(&rows, out, err));
    GREBE_TRY(schema_copy(iter->ctx->a, &rows.type->schema, schema, err));
out:
    place_release(&iter->before);
    iter->before = before;
    iter->n_last = st == GREBE_OK ? rows.n : 0;
    if (st == GREBE_END) {
        st = GREBE_OK;
    } else if (st != GREBE_OK) {
        array_release(out);
        iter->failed = st;
    }
    rows_release(&rows);
    return st;
}

grebe_status grebe_iterator_state(const grebe_iterator *iter, int64_t rows_back, grebe_write_fn write, void *write_ctx,
                                  grebe_error *err)
{
    struct buf text = BUF_INIT(iter->ctx->a);
    struct place p = { 0 };
    grebe_status st = GREBE_OK;
    if (rows_back < 0 || rows_back > iter->n_last) {
        return GREBE_FAIL(err, GREBE_EINVAL, "%lld rows back: the last batch has %lld", (long long)rows_back,
                          (long long)iter->n_last);
    }
    if (iter->failed != GREBE_OK && iter->before.mark == NULL) {
        return GREBE_FAIL(err, iter->failed, "reading failed, and where it stood could not be noted");
    }
    if (rows_back > 0 || iter->failed != GREBE_OK) {
        p = (struct place){ mark_keep(iter->before.mark), iter->before.given + iter->n_last - rows_back };
    } else {
        GREBE_TRY(reader_place(iter->reader, &p, err));
    }
    GREBE_TRY(buf_printf(
        &text, err, "{\"version\": %d, \"signature\": \"%016llx\", \"epoch\": %lld, \"skip\": %lld, \"words\": [",
        STATE_VERSION, (unsigned long long)iter->signature, (long long)iter->epoch, (long long)p.given));
    GREBE_TRY(mark_print(p.mark, &text, err));
    GREBE_TRY(buf_put_text(&text, "]}", err));
    int sys = write(write_ctx, text.data, text.len);
    if (sys != 0) {
        st = GREBE_FAIL_SYS(err, status_from_errno(sys), sys, "writing the state");
    }
out:
    place_release(&p);
    buf_release(&text);
    return st;
}
