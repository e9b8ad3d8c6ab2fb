/* SPDX-License-Identifier: Apache-2.0 */
#include "table/txn_internal.h"

#include <assert.h>
#include <inttypes.h>
#include <time.h>

#include "table/version.h"

/*
 * One attempt: list, decide what to apply to, apply, encode, decode again and open the result
 * (so that what is published can be read), publish by put-if-absent. Publishing is the only step
 * that shows; whatever fails before leaves the table as it was, and nothing fails after it.
 */

struct attempt {
    struct grebe_txn *x;
    int64_t latest;
    int64_t target;
    struct snapshot *base; /* what is applied to; one reference */
    struct buf bytes;      /* the manifest */
    grebe_table *result;   /* the new version, opened in memory */
    bool is_race_lost;     /* the version's name was taken by somebody else */
};

static void attempt_release(struct attempt *t)
{
    snapshot_drop(t->base);
    buf_release(&t->bytes);
    grebe_table_close(t->result);
    t->base = NULL;
    t->result = NULL;
}

static grebe_status conflict(grebe_error *err, grebe_status st, const struct grebe_txn *x,
                             int64_t latest)
{
    if (err != NULL) {
        err->status = st;
        err->flags |= GREBE_ERROR_HAS_VERSIONS | GREBE_ERROR_RETRYABLE;
        err->read_version = (uint64_t)x->base->snapshot->version;
        err->latest_version = (uint64_t)latest;
    }
    return st;
}

/* Which version the operations apply to. */
static grebe_status choose_base(struct attempt *t, grebe_error *err)
{
    struct grebe_txn *x = t->x;
    struct snapshot *read = x->base->snapshot;
    if (t->latest < read->version) {
        return GREBE_FAIL(err, GREBE_ECORRUPT,
                          "%s: read version %" PRId64 ", the latest is now %" PRId64,
                          x->base->path, read->version, t->latest);
    }
    if (t->latest == read->version || x->on_conflict == GREBE_ON_CONFLICT_OVERWRITE) {
        t->base = snapshot_keep(read);
        return GREBE_OK;
    }
    if (x->on_conflict == GREBE_ON_CONFLICT_FAIL) {
        grebe_status st = GREBE_FAIL(err, GREBE_ECONFLICT,
                                     "%s: changed since version %" PRId64 ", the latest is %" PRId64,
                                     x->base->path, read->version, t->latest);
        return conflict(err, st, x, t->latest);
    }
    grebe_status st = snapshot_open(x->base->store->store, x->base->path, t->latest, &t->base, err);
    if (st == GREBE_OK) {
        st = snapshot_check_rows(t->base, table_is_milvus(x->base), err);
    }
    if (st == GREBE_OK) {
        st = rebase_check(x, read, t->base, err);
    }
    if (st == GREBE_ECONFLICT) {
        error_wrap(err, st, "%s: changed since version %" PRId64, x->base->path, read->version);
        conflict(err, st, x, t->latest);
    }
    return st;
}

/* Apply and encode. What fitted the version that was read and does not fit now is a conflict. */
static grebe_status build_manifest(struct attempt *t, grebe_error *err)
{
    struct grebe_txn *x = t->x;
    struct draft d;
    grebe_status st = draft_apply(x, t->base, &d, err);
    bool is_rebased = t->base != x->base->snapshot;
    if (is_rebased && (st == GREBE_ESCHEMA || st == GREBE_EEXISTS || st == GREBE_ENOTFOUND)) {
        st = GREBE_ECONFLICT;
        error_wrap(err, st, "%s: changed since version %" PRId64, x->base->path,
                   x->base->snapshot->version);
        conflict(err, st, x, t->latest);
    }
    if (st != GREBE_OK) {
        return st;
    }
    st = draft_entries(x, &d, x->base->snapshot->version, err);
    if (st == GREBE_OK) {
        st = manifest_encode(&t->bytes, &d.m, err);
    }
    draft_release(&d);
    return st;
}

/* Open the new version from the bytes that will be published. */
static grebe_status open_result(struct attempt *t, grebe_error *err)
{
    struct grebe_txn *x = t->x;
    struct manifest m;
    struct snapshot *snapshot = NULL;
    manifest_init(&m, x->ctx->a);
    grebe_status st = manifest_decode(&m, t->bytes.data, t->bytes.len, err);
    if (st == GREBE_OK) {
        st = snapshot_new(x->ctx, x->base->path, t->target, &m, &snapshot, err);
    }
    if (st == GREBE_OK) {
        st = table_new(x->ctx, x->base->store, x->base->path, x->base->compat, snapshot,
                       &t->result, err);
    }
    if (st == GREBE_OK) {
        st = table_check_layout(t->result, err);
    } else {
        snapshot_drop(snapshot);
    }
    manifest_release(&m);
    return st;
}

static grebe_status publish(struct attempt *t, grebe_error *err)
{
    struct grebe_txn *x = t->x;
    struct io_writer *w = NULL;
    struct buf path = BUF_INIT(x->ctx->a);
    struct buf folder = BUF_INIT(x->ctx->a);
    grebe_status st = GREBE_OK;
    GREBE_TRY(path_join(&folder, x->base->path, "_metadata", err));
    if (buf_text(&folder) == NULL) {
        GREBE_TRY(mem_fail(err, folder.len, "a path"));
    }
    GREBE_TRY(txn_make_folders(x, buf_text(&folder), err));
    GREBE_TRY(version_path(&path, x->base->path, t->target, err));
    if (buf_text(&path) == NULL) {
        GREBE_TRY(mem_fail(err, path.len, "a path"));
    }
    GREBE_TRY(txn_create_file(x, buf_text(&folder), buf_text(&path), &w, err));
    GREBE_TRY(io_write(w, t->bytes.data, t->bytes.len, err));
    st = io_writer_publish(w, false, err);
    t->is_race_lost = st == GREBE_EEXISTS; /* a file where a folder belongs gives it too */
out:
    io_writer_free(w);
    buf_release(&folder);
    buf_release(&path);
    return st;
}

/* Let the others finish first: up to 1 ms after the first lost race, up to 64 ms after many. */
static void sleep_a_little(grebe_context *ctx, int32_t attempt)
{
    uint32_t r = 0;
    uint64_t ceiling_us = 1000u << (attempt < 6 ? attempt : 6);
    if (context_random(ctx, &r, sizeof r, NULL) != GREBE_OK) {
        r = UINT32_MAX / 2;
    }
    uint64_t us = ceiling_us * r / UINT32_MAX;
    struct timespec pause = { (time_t)(us / 1000000), (long)(us % 1000000) * 1000 };
    nanosleep(&pause, NULL);
}

static grebe_status attempt_commit(struct attempt *t, grebe_error *err)
{
    struct grebe_txn *x = t->x;
    grebe_status st = version_latest(x->base->store->store, x->base->path, &t->latest, err);
    if (st == GREBE_OK && t->latest == INT64_MAX) {
        st = GREBE_FAIL(err, GREBE_ELIMIT, "%s: version %" PRId64 " is the last possible",
                        x->base->path, t->latest);
    }
    if (st == GREBE_OK) {
        t->target = t->latest + 1;
        st = choose_base(t, err);
    }
    if (st == GREBE_OK) {
        st = build_manifest(t, err);
    }
    if (st == GREBE_OK) {
        st = open_result(t, err);
    }
    return st == GREBE_OK ? publish(t, err) : st;
}

static grebe_status commit_loop(struct grebe_txn *x, struct attempt *t, grebe_error *err)
{
    for (int32_t i = 0;; i++) {
        grebe_error found = GREBE_ERROR_INIT;
        *t = (struct attempt){ .x = x, .bytes = BUF_INIT(x->ctx->a) };
        grebe_status st = attempt_commit(t, &found);
        if (t->is_race_lost && i < x->retries_max) {
            attempt_release(t);
            sleep_a_little(x->ctx, i);
            continue;
        }
        if (t->is_race_lost) {
            st = GREBE_FAIL(&found, GREBE_ECONFLICT,
                            "%s: retries exhausted: %" PRId32 " attempts lost the race, the last "
                            "for version %" PRId64, x->base->path, i + 1, t->target);
            conflict(&found, st, x, t->target);
        }
        if (st != GREBE_OK && err != NULL) {
            *err = found;
        }
        return st;
    }
}

grebe_status grebe_txn_commit(grebe_txn *x, int64_t *version, grebe_table **out, grebe_error *err)
{
    GREBE_CHECK_ARG(err, x != NULL);
    struct attempt t;
    if (version != NULL) {
        *version = 0;
    }
    if (out != NULL) {
        *out = NULL;
    }
    if (x->state != TXN_OPEN) {
        return GREBE_FAIL(err, GREBE_EINVAL, "the transaction is over");
    }
    if (!txn_has_changes(x)) {
        return GREBE_FAIL(err, GREBE_EINVAL, "%s: nothing to commit", x->base->path);
    }
    grebe_status st = commit_loop(x, &t, err);
    x->state = TXN_DONE;
    if (st == GREBE_OK) {
        snapshot_remember(x->base->store->store, t.result->snapshot);
        if (version != NULL) {
            *version = t.target;
        }
        if (out != NULL) {
            *out = t.result;
            t.result = NULL;
        }
    } else if (st != GREBE_EUNKNOWN_OUTCOME) {
        txn_remove_files(x, 0);
    }
    attempt_release(&t);
    return st;
}
