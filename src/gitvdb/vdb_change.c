/* SPDX-License-Identifier: Apache-2.0 */
/* A change to the points: only the shards that it touches are made anew, each by one merge of sorted rows. */
#include "gitvdb/vdb_build.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/endian.h"
#include "gitvdb/vdb_points_internal.h"

/* A point to set: where it stands in the change, and its id for sorting. */
struct incoming {
    struct vdb_id id;
    uint32_t shard;
    uint32_t index;
};

struct change_job {
    const struct vdb_built *from;
    struct vdb_built *to;
    const struct vdb_change *change;
    struct incoming *incoming;                /* shape [set->n], by shard, then id */
    size_t first_set[VDB_SHARDS + 1];         /* ranges of incoming */
    size_t first_gone[VDB_SHARDS + 1];        /* ranges of change->gone */
    bool is_changed[VDB_SHARDS];
};

/* ---- sorting by shard ---- */

struct digest_job {
    const struct vdb_points *set;
    struct incoming *incoming;
};
enum { DIGESTS_AT_ONCE = 1024 };

static grebe_status digest_some(void *arg, size_t piece, grebe_error *err)
{
    struct digest_job *job = arg;
    (void)err;
    size_t end = min_size(job->set->n, (piece + 1) * DIGESTS_AT_ONCE);
    for (size_t i = piece * DIGESTS_AT_ONCE; i < end; i++) {
        unsigned char digest[VDB_DIGEST_BYTES];
        struct incoming *in = &job->incoming[i];
        in->id = vdb_points_id(job->set, i);
        in->index = (uint32_t)i;
        vdb_id_digest(&in->id, digest);
        in->shard = vdb_shard_of(digest);
    }
    return GREBE_OK;
}

static int compare_incoming(const void *x, const void *y)
{
    const struct incoming *a = x, *b = y;
    if (a->shard != b->shard) {
        return a->shard < b->shard ? -1 : 1;
    }
    return vdb_id_compare(&a->id, &b->id);
}

static grebe_status fail_repeated(const struct vdb_id *id, grebe_error *err)
{
    char quoted[64];
    return GREBE_FAIL(err, GREBE_EINVAL, "expected each id once in a batch, found %s twice",
                      vdb_id_quote(id, quoted, sizeof quoted));
}

static grebe_status sort_incoming(struct change_job *job, const struct vdb_work *work, grebe_error *err)
{
    const struct vdb_points *set = job->change->set;
    size_t n = set == NULL ? 0 : set->n;
    if (n > UINT32_MAX) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "expected at most %u points in a batch, found %zu", UINT32_MAX, n);
    }
    if (n != 0) {
        job->incoming = mem_alloc(work->a, n * sizeof *job->incoming);
        if (job->incoming == NULL) {
            return mem_fail(err, n * sizeof *job->incoming, "a batch");
        }
        struct digest_job digests = { set, job->incoming };
        grebe_status st = parallel_for(work->pool, work->threads, (n + DIGESTS_AT_ONCE - 1) / DIGESTS_AT_ONCE,
                                       digest_some, &digests, work->cancel, err);
        if (st != GREBE_OK) {
            return st;
        }
        qsort(job->incoming, n, sizeof *job->incoming, compare_incoming);
    }
    size_t at = 0, gone = 0;
    for (uint32_t shard = 0; shard < VDB_SHARDS; shard++) {
        job->first_set[shard] = at;
        job->first_gone[shard] = gone;
        while (at < n && job->incoming[at].shard == shard) {
            at++;
        }
        while (gone < job->change->n_gone && job->change->gone[gone].shard == shard) {
            gone++;
        }
    }
    job->first_set[VDB_SHARDS] = at;
    job->first_gone[VDB_SHARDS] = gone;
    for (size_t i = 1; i < n; i++) {
        if (compare_incoming(&job->incoming[i - 1], &job->incoming[i]) == 0) {
            return fail_repeated(&job->incoming[i].id, err);
        }
    }
    return GREBE_OK;
}

/* ---- one shard ---- */

/* The new blobs of a shard while they grow. */
struct merge {
    const struct vdb_part *old; /* NULL: no rows */
    const struct vdb_points *set;
    const grebe_allocator *a;
    struct vdb_rows_writer ids, payloads;
    struct buf vectors; /* the whole blob; its header is set at the end */
    struct buf runs;    /* struct vdb_run */
    uint32_t dim;
    bool is_changed;
};

static grebe_status copy_rows(struct vdb_rows_writer *w, const struct vdb_rows *rows, uint32_t first, uint32_t end,
                              grebe_error *err)
{
    size_t len, last_len;
    const unsigned char *start = vdb_rows_get(rows, first, &len);
    const unsigned char *last = vdb_rows_get(rows, end - 1, &last_len);
    size_t base = w->body.len;
    grebe_status st;
    GREBE_TRY(buf_reserve(&w->ends, (size_t)(end - first) * 4, err));
    GREBE_TRY(buf_put(&w->body, start, (size_t)(last - start) + last_len, err));
    if (w->body.len > UINT32_MAX) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "expected at most %u bytes in a shard, found more", UINT32_MAX);
    }
    for (uint32_t row = first; row < end; row++) {
        const unsigned char *bytes = vdb_rows_get(rows, row, &len);
        store_le32(w->ends.data + w->ends.len, (uint32_t)(base + (size_t)(bytes - start) + len));
        w->ends.len += 4;
    }
out:
    return st;
}

static grebe_status keep_rows(struct merge *m, uint32_t first, uint32_t end, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    if (first == end) {
        return st;
    }
    struct vdb_run run = { first, (uint32_t)(m->ids.ends.len / 4), end - first };
    GREBE_TRY(buf_put(&m->runs, &run, sizeof run, err));
    GREBE_TRY(copy_rows(&m->ids, &m->old->ids, first, end, err));
    GREBE_TRY(copy_rows(&m->payloads, &m->old->payloads, first, end, err));
    GREBE_TRY(buf_put(&m->vectors, m->old->vectors.values + (size_t)first * m->dim,
                      (size_t)(end - first) * m->dim * sizeof(float), err));
out:
    return st;
}

static grebe_status set_row(struct merge *m, const struct incoming *in, grebe_error *err)
{
    size_t len;
    const char *payload = vdb_points_payload(m->set, in->index, &len);
    grebe_status st;
    m->is_changed = true;
    GREBE_TRY(vdb_rows_writer_add_id(&m->ids, &in->id, err));
    GREBE_TRY(vdb_rows_writer_add(&m->payloads, payload, len, err));
    GREBE_TRY(buf_put(&m->vectors, m->set->vectors + (size_t)in->index * m->dim, m->dim * sizeof(float), err));
out:
    return st;
}

/* Whether a point to set compares equal to the row that stands there: IEEE equality, so that -0 equals 0. */
static bool is_same(const struct merge *m, const struct incoming *in, uint32_t row)
{
    const float *x = m->old->vectors.values + (size_t)row * m->dim;
    const float *y = m->set->vectors + (size_t)in->index * m->dim;
    size_t old_len, new_len;
    const char *old = (const char *)vdb_rows_get(&m->old->payloads, row, &old_len);
    const char *new = vdb_points_payload(m->set, in->index, &new_len);
    for (uint32_t d = 0; d < m->dim; d++) {
        if (!(x[d] == y[d])) {
            return false;
        }
    }
    return vdb_payload_equal(old, old_len, new, new_len);
}

/* Keep rows [*at, end) but those that go. */
static grebe_status keep_until(struct merge *m, uint32_t *at, uint32_t end, const struct vdb_place **gone,
                               const struct vdb_place *gone_end, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    while (*gone < gone_end && (*gone)->row < end) {
        GREBE_TRY(keep_rows(m, *at, (*gone)->row, err));
        *at = (*gone)->row + 1;
        m->is_changed = true;
        ++*gone;
    }
    GREBE_TRY(keep_rows(m, *at, end, err));
    *at = end;
out:
    return st;
}

static grebe_status merge_rows(struct merge *m, const struct incoming *in, const struct incoming *in_end,
                               const struct vdb_place *gone, const struct vdb_place *gone_end, grebe_error *err)
{
    uint32_t at = 0, n = m->old == NULL ? 0 : m->old->n;
    grebe_status st = GREBE_OK;
    for (; in < in_end; in++) {
        uint32_t row = 0;
        bool is_equal = false;
        bool is_there = m->old != NULL && vdb_rows_find(&m->old->ids, &in->id, &row);
        GREBE_TRY(keep_until(m, &at, row, &gone, gone_end, err));
        if (is_there) {
            is_equal = is_same(m, in, row);
            at = is_equal ? row : row + 1; /* an equal row is kept with those around it */
        }
        if (!is_equal) {
            GREBE_TRY(set_row(m, in, err));
        }
    }
    GREBE_TRY(keep_until(m, &at, n, &gone, gone_end, err));
out:
    return st;
}

static grebe_status end_merge(struct change_job *job, struct merge *m, uint32_t shard, grebe_error *err)
{
    struct buf blobs[VDB_PART_KINDS] = { BUF_INIT(m->a), BUF_INIT(m->a), BUF_INIT(m->a) };
    struct vdb_part *part = NULL;
    uint32_t n = (uint32_t)(m->ids.ends.len / 4);
    grebe_status st = GREBE_OK;
    vdb_part_drop(job->to->parts[shard]);
    job->to->parts[shard] = NULL;
    if (n == 0) {
        return st;
    }
    GREBE_TRY(vdb_part_new(m->a, shard, &part, err));
    GREBE_TRY(vdb_rows_writer_end(&m->ids, &blobs[0], err));
    GREBE_TRY(vdb_rows_writer_end(&m->payloads, &blobs[1], err));
    vdb_matrix_header(VDB_MATRIX_VECTORS, n, m->dim, m->vectors.data);
    blobs[2] = m->vectors;
    m->vectors = BUF_INIT(m->a);
    GREBE_TRY(vdb_part_take(part, m->dim, blobs, err));
    part->runs = m->runs;
    m->runs = BUF_INIT(m->a);
    job->to->parts[shard] = vdb_part_keep(part);
out:
    for (int kind = 0; kind < VDB_PART_KINDS; kind++) {
        buf_release(&blobs[kind]);
    }
    vdb_part_drop(part);
    return st;
}

static grebe_status change_shard(void *arg, size_t i, grebe_error *err)
{
    struct change_job *job = arg;
    const struct vdb_change *c = job->change;
    uint32_t shard = (uint32_t)i;
    size_t n_set = job->first_set[i + 1] - job->first_set[i];
    size_t n_gone = job->first_gone[i + 1] - job->first_gone[i];
    if (n_set == 0 && n_gone == 0) {
        return GREBE_OK;
    }
    grebe_status st = vdb_built_load(job->from, shard, VDB_PART_ALL, err);
    if (st != GREBE_OK) {
        return st;
    }
    struct merge m = { .old = job->from->parts[i], .set = c->set, .a = job->to->a,
                       .dim = job->to->meta.config.dimension, .vectors = BUF_INIT(job->to->a),
                       .runs = BUF_INIT(job->to->a) };
    vdb_rows_writer_init(&m.ids, VDB_ROWS_IDS, m.a);
    vdb_rows_writer_init(&m.payloads, VDB_ROWS_PAYLOADS, m.a);
    uint32_t n_old = m.old == NULL ? 0 : m.old->n;
    GREBE_TRY(buf_reserve(&m.vectors, VDB_MATRIX_HEADER + (n_old + n_set) * m.dim * sizeof(float), err));
    GREBE_TRY(buf_put(&m.vectors, (const unsigned char[VDB_MATRIX_HEADER]){ 0 }, VDB_MATRIX_HEADER, err));
    GREBE_TRY(merge_rows(&m, job->incoming == NULL ? NULL : job->incoming + job->first_set[i],
                         job->incoming == NULL ? NULL : job->incoming + job->first_set[i + 1],
                         c->gone == NULL ? NULL : c->gone + job->first_gone[i],
                         c->gone == NULL ? NULL : c->gone + job->first_gone[i + 1], err));
    if (m.is_changed) {
        GREBE_TRY(end_merge(job, &m, shard, err));
        job->is_changed[i] = true;
    }
out:
    vdb_rows_writer_release(&m.ids);
    vdb_rows_writer_release(&m.payloads);
    buf_release(&m.vectors);
    buf_release(&m.runs);
    return st;
}

grebe_status vdb_built_apply(const struct vdb_built *from, const struct vdb_work *work,
                             const struct vdb_change *change, struct vdb_built **out, grebe_error *err)
{
    struct change_job job = { .from = from, .change = change };
    bool is_changed = false;
    grebe_status st = GREBE_OK;
    *out = NULL;
    if (change->set != NULL && change->set->n != 0) {
        if (change->set->dim != from->meta.config.dimension) {
            return GREBE_FAIL(err, GREBE_EINVAL, "expected vectors of dimension %u, found %u",
                              (unsigned)from->meta.config.dimension, (unsigned)change->set->dim);
        }
        GREBE_TRY(vdb_points_check(change->set, err));
    }
    GREBE_TRY(sort_incoming(&job, work, err));
    GREBE_TRY(vdb_built_share(from, &job.to, err));
    GREBE_TRY(parallel_for(work->pool, work->threads, VDB_SHARDS, change_shard, &job, work->cancel, err));
    job.to->n = 0;
    for (uint32_t i = 0; i < VDB_SHARDS; i++) {
        is_changed = is_changed || job.is_changed[i];
        job.to->n += job.to->parts[i] == NULL ? 0 : job.to->parts[i]->n;
    }
out:
    mem_free(work->a, job.incoming, (change->set == NULL ? 0 : change->set->n) * sizeof *job.incoming);
    if (st != GREBE_OK || !is_changed) {
        vdb_built_free(job.to);
        return st;
    }
    *out = job.to;
    return GREBE_OK;
}
