/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Upserts: batch after batch, each a commit of its own, several commits in one pack. Versions in a pack share what they share: only
 * the last one is there in full.
 */
#include "gitvdb/vdb_feed.h"
#include "gitvdb/vdb_update.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

struct import {
    grebe_vdb *vdb;
    const char *name;
    const grebe_vdb_write_options *options;
    struct call call;
    struct vdb_work work;
    struct vdb_feed *feed;
    struct vdb_points batch;
    struct vdb_view *view;      /* what the first content was read from */
    struct vdb_built *now;      /* the content after the batches so far */
    struct repo_pack *pack;
    struct repo_oid published;   /* commit that the reference has */
    bool has_published;         /* false: there is no reference */
    bool is_past_first;         /* something of this import was published */
    struct repo_oid commit;      /* newest commit, in the pack */
    struct repo_oid root;
    unsigned n_pending;         /* commits in the pack */
    double started, pack_started;
};

/*
 * Commits become visible together when so many seconds, and an eighth of the import's time, went by. Whole blobs are written with
 * them, which the next pack has as well: before the longer time only when the history is a few times their size.
 */
static const double publish_seconds = 10, publish_seconds_most = 60;
enum { PUBLISH_RATIO = 3 };

/* More versions than these in a pack are a history, which should be small; fewer are data to be searched fast. */
static const unsigned small_from = 8;

static double now_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void end_attempt(struct import *im)
{
    vdb_built_free(im->now);
    im->now = NULL;
    vdb_view_drop(im->view);
    im->view = NULL;
    repo_pack_free(im->pack);
    im->pack = NULL;
}

static grebe_status add_commit(struct import *im, const char *message, grebe_error *err)
{
    const struct repo_oid *parents[] = { &im->commit };
    bool has_parent = im->has_published || im->n_pending != 0;
    grebe_status st = repo_commit_add(im->pack, &im->root, parents, has_parent ? 1 : 0, message, &im->commit, err);
    im->n_pending += st == GREBE_OK;
    return st;
}

/* No such collection: made with the first points, in the same pack. */
static grebe_status begin_new(struct import *im, grebe_error *err)
{
    struct vdb_config config = VDB_CONFIG_INIT(im->feed->dim);
    char message[VDB_MESSAGE_MAX];
    grebe_status st;
    GREBE_TRY(vdb_built_new(im->vdb->a, &config, 2, &im->now, err));
    GREBE_TRY(vdb_built_write(im->now, NULL, &im->work, im->pack, true, err));
    im->root = im->now->root;
    snprintf(message, sizeof message, "create collection %s", im->name);
    GREBE_TRY(add_commit(im, message, err));
out:
    return st;
}

static grebe_status begin_attempt(struct import *im, grebe_error *err)
{
    const char *expect = im->options->expect_root;
    grebe_status st;
    im->n_pending = 0;
    GREBE_TRY(vdb_feed_rewind(im->feed, err));
    GREBE_TRY(repo_pack_begin(im->vdb->repo, &im->pack, err));
    im->started = im->pack_started = now_seconds();
    st = repo_ref_read(im->vdb->repo, im->name, &im->commit, &im->root, err);
    im->has_published = st == GREBE_OK;
    if (st == GREBE_ENOTFOUND && expect == NULL) {
        return begin_new(im, err);
    }
    if (st != GREBE_OK) {
        return st;
    }
    im->published = im->commit;
    GREBE_TRY(vdb_expect_root(expect, &im->root, err));
    GREBE_TRY(vdb_view_open(im->vdb, &im->root, &im->view, err));
    GREBE_TRY(vdb_built_from(im->view->snapshot, &im->work, &im->now, err));
out:
    return st;
}

static grebe_status publish(struct import *im, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    if (im->n_pending == 0) {
        return st;
    }
    GREBE_TRY(vdb_built_finish(im->now, &im->work, im->pack, im->n_pending > small_from, err));
    GREBE_TRY(vdb_publish(im->vdb, im->name, im->has_published ? &im->published : NULL, &im->commit, im->pack, err));
    im->published = im->commit;
    im->has_published = true;
    im->is_past_first = true;
    im->n_pending = 0;
    repo_pack_free(im->pack);
    im->pack = NULL;
out:
    return st;
}

static grebe_status add_batch(struct import *im, grebe_error *err)
{
    struct vdb_change change = { .set = &im->batch };
    char message[VDB_MESSAGE_MAX];
    struct vdb_built *next;
    grebe_status st = GREBE_OK;
    if (im->pack == NULL) { /* the last one was published */
        im->pack_started = now_seconds();
        st = repo_pack_begin(im->vdb->repo, &im->pack, err);
    }
    st = st == GREBE_OK ? vdb_built_apply(im->now, &im->work, &change, &next, err) : st;
    if (st != GREBE_OK) {
        return st;
    }
    if (next != NULL) {
        st = vdb_built_write(next, im->now, &im->work, im->pack, true, err);
        if (st != GREBE_OK) {
            vdb_built_free(next);
            return st;
        }
        vdb_built_free(im->now);
        im->now = next;
        im->root = next->root;
    }
    snprintf(message, sizeof message, "upsert %zu points", im->batch.n);
    return add_commit(im, message, err);
}

static bool is_publishing_due(const struct import *im)
{
    double now = now_seconds(), age = now - im->pack_started;
    if (age < publish_seconds || age < (now - im->started) / 8) {
        return false;
    }
    return age > publish_seconds_most || repo_pack_bytes(im->pack) / PUBLISH_RATIO > vdb_built_pending(im->now);
}

static void report(struct import *im)
{
    if (im->call.progress != NULL) {
        grebe_progress p = { "upsert", im->feed->at, im->feed->n, 0, 0 };
        im->call.progress(im->call.progress_ctx, &p);
    }
}

static grebe_status run_attempt(struct import *im, grebe_error *err)
{
    grebe_status st;
    grebe_error late = GREBE_ERROR_INIT;
    GREBE_TRY(begin_attempt(im, err));
    for (;;) {
        bool is_first_of_new = im->view == NULL && im->n_pending == 1 && !im->is_past_first;
        st = vdb_feed_next(im->feed, im->options->batch_size, &im->batch, err);
        if (st == GREBE_OK && im->batch.n == 0) {
            break;
        }
        st = st == GREBE_OK ? add_batch(im, err) : st;
        st = st == GREBE_OK ? call_check(&im->call, err) : st;
        if (st != GREBE_OK) { /* what came before it stands, but a collection without points does not */
            grebe_status kept = is_first_of_new ? GREBE_OK : publish(im, &late);
            if (kept != GREBE_OK && err != NULL) {
                *err = late;
            }
            st = kept != GREBE_OK ? kept : st;
            goto out;
        }
        report(im);
        if (is_publishing_due(im)) {
            GREBE_TRY(publish(im, err));
        }
    }
    GREBE_TRY(publish(im, err));
out:
    end_attempt(im);
    return st;
}

static grebe_status import_feed(grebe_vdb *vdb, const char *name, struct vdb_feed *feed,
                                const grebe_vdb_write_options *options, grebe_vdb_result **out, grebe_error *err)
{
    struct import im = { .vdb = vdb, .name = name, .options = options, .feed = feed };
    grebe_vdb_result *result;
    grebe_error first;
    grebe_status st = vdb_write_result_new(vdb, &result, err);
    if (st != GREBE_OK) {
        return st;
    }
    im.call = call_options_resolve(vdb->ctx, options->call);
    im.work = vdb_work_of(vdb, options->call);
    vdb_points_init(&im.batch, vdb->a);
    for (unsigned attempt = 0;; attempt++) {
        first = (grebe_error)GREBE_ERROR_INIT;
        st = run_attempt(&im, &first);
        if (im.is_past_first || !vdb_may_retry(st, &first, attempt)) {
            break;
        }
        st = vdb_back_off(vdb, &im.work, attempt, &first);
        if (st != GREBE_OK) {
            break;
        }
    }
    vdb_points_release(&im.batch);
    if (st == GREBE_OK) {
        vdb_write_result_fill(result, &im.root, feed->n);
    } else {
        if (err != NULL) {
            *err = first;
        }
        error_wrap(err, st, "collection %s", name);
    }
    return vdb_result_end(st, &result, out);
}

/* @param are_rows Members beside id, vector and payload are kept, and options name the first two. */
static grebe_status import_texts(grebe_vdb *vdb, const char *name, const grebe_vdb_text *texts, size_t n_texts, bool are_rows,
                                 const grebe_vdb_write_options *options, grebe_vdb_result **out, grebe_error *err)
{
    grebe_vdb_write_options o;
    struct vdb_feed feed;
    *out = NULL;
    grebe_status st = vdb_write_options_of(options, &o, err);
    st = st == GREBE_OK ? repo_name_check(name, err) : st;
    st = st == GREBE_OK ? vdb_expect_check(o.expect_root, err) : st;
    if (st != GREBE_OK) {
        return st;
    }
    struct vdb_work work = vdb_work_of(vdb, o.call);
    struct vdb_line_form form = { o.id_column, o.vector_column, strlen(o.id_column), strlen(o.vector_column), true };
    st = vdb_feed_texts(&feed, &work, texts, n_texts, are_rows ? &form : NULL, o.name, o.batch_size, err);
    st = st == GREBE_OK ? import_feed(vdb, name, &feed, &o, out, err) : st;
    vdb_feed_release(&feed);
    return st;
}

grebe_status grebe_vdb_upsert_lines(grebe_vdb *vdb, const char *name, grebe_read_fn read, int (*rewind)(void *read_ctx),
                                    void *read_ctx, const grebe_vdb_write_options *options, grebe_vdb_result **out,
                                    grebe_error *err)
{
    struct grebe_vdb_text text = { NULL, read, rewind, read_ctx };
    GREBE_CHECK_ARG(err, vdb != NULL && name != NULL && read != NULL && rewind != NULL && out != NULL);
    return import_texts(vdb, name, &text, 1, false, options, out, err);
}

grebe_status grebe_vdb_import_lines(grebe_vdb *vdb, const char *name, const grebe_vdb_text *texts, size_t n_texts,
                                    const grebe_vdb_write_options *options, grebe_vdb_result **out, grebe_error *err)
{
    GREBE_CHECK_ARG(err, vdb != NULL && name != NULL && texts != NULL && n_texts != 0 && out != NULL);
    for (size_t i = 0; i < n_texts; i++) {
        GREBE_CHECK_ARG(err, texts[i].read != NULL && texts[i].rewind != NULL);
    }
    return import_texts(vdb, name, texts, n_texts, true, options, out, err);
}
/* One point as a feed. */
static grebe_status feed_point(struct vdb_feed *f, const char *id_word, const char *vector, const char *payload,
                               grebe_error *err)
{
    struct arena ar = ARENA_INIT(f->a);
    struct buf text = BUF_INIT(f->a);
    const struct vdb_value *v = NULL;
    struct vdb_id id;
    float *values = NULL;
    size_t n = 0;
    grebe_status st;
    GREBE_TRY(vdb_id_from_word(&ar, id_word, strlen(id_word), &id, err));
    GREBE_TRY(vdb_vector_from_text(f->a, vector, strlen(vector), &values, &n, err));
    if (payload != NULL) {
        GREBE_TRY(error_wrap(err, vdb_json_parse(&ar, payload, strlen(payload), &v, err), "payload"));
        if (v->type != VDB_OBJECT) {
            st = GREBE_FAIL(err, GREBE_EINVAL, "inline payload must be a JSON object");
            goto out;
        }
        GREBE_TRY(vdb_json_put(&text, v, err));
    }
    if (n == 0 || n > UINT32_MAX) {
        st = GREBE_FAIL(err, GREBE_EINVAL, "vector: expected 1 to %u components, found %zu", UINT32_MAX, n);
        goto out;
    }
    GREBE_TRY(vdb_points_add(&f->kept, &id, values, (uint32_t)n, payload == NULL ? NULL : (const char *)text.data, text.len,
                             err));
    f->n = 1;
    f->dim = (uint32_t)n;
out:
    mem_free(f->a, values, n * sizeof *values);
    buf_release(&text);
    arena_release(&ar);
    return st;
}

grebe_status grebe_vdb_upsert_point(grebe_vdb *vdb, const char *name, const char *id, const char *vector,
                                    const char *payload, const grebe_vdb_write_options *options, grebe_vdb_result **out,
                                    grebe_error *err)
{
    grebe_vdb_write_options o;
    GREBE_CHECK_ARG(err, vdb != NULL && name != NULL && id != NULL && vector != NULL && out != NULL);
    *out = NULL;
    struct vdb_feed feed = { .a = vdb->a, .name = "input", .is_kept = true };
    vdb_points_init(&feed.kept, vdb->a);
    grebe_status st = vdb_write_options_of(options, &o, err);
    st = st == GREBE_OK ? repo_name_check(name, err) : st;
    st = st == GREBE_OK ? vdb_expect_check(o.expect_root, err) : st;
    st = st == GREBE_OK ? feed_point(&feed, id, vector, payload, err) : st;
    st = st == GREBE_OK ? import_feed(vdb, name, &feed, &o, out, err) : st;
    vdb_feed_release(&feed);
    return st;
}

grebe_status grebe_vdb_upsert_rows(grebe_vdb *vdb, const char *name, struct ArrowArrayStream *rows,
                                   const grebe_vdb_write_options *options, grebe_vdb_result **out, grebe_error *err)
{
    grebe_vdb_write_options o;
    struct vdb_feed feed = { 0 };
    GREBE_CHECK_ARG(err, rows != NULL && rows->release != NULL);
    grebe_status st = vdb == NULL || name == NULL || out == NULL
                          ? GREBE_FAIL(err, GREBE_EINVAL, "%s: expected a repository, a name and out", __func__)
                          : vdb_write_options_of(options, &o, err);
    st = st == GREBE_OK ? repo_name_check(name, err) : st;
    st = st == GREBE_OK ? vdb_expect_check(o.expect_root, err) : st;
    if (st != GREBE_OK) {
        rows->release(rows);
        return st;
    }
    *out = NULL;
    st = vdb_feed_rows(&feed, vdb->a, rows, &o, err);
    st = st == GREBE_OK ? import_feed(vdb, name, &feed, &o, out, err) : st;
    vdb_feed_release(&feed);
    return st;
}
