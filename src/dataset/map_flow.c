/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The batches of a part, in groups: while the function has one group, on the thread of the call, another thread puts the group
 * before into the file and reads the group behind. The function is called in the order of rows, and the failure that is told
 * is that of the lowest rows.
 */
#include <string.h>

#include "base/checked.h"
#include "base/pool.h"
#include "dataset/map_part.h"

/*
 * A group is as many batches as have so many bytes, given and taken: fewer, and waking a thread costs more than it does; more, and
 * memory fills up. The first one is a batch, and each at most twice as long as the one before.
 */
enum { GROUP_BYTES = 8 << 20, GROUP_MAX = 64, GROUPS = 3 };

struct group {
    struct map_call *calls; /* shape [n] */
    size_t n;
};

struct flow {
    struct map_part *p;
    int64_t next, end; /* rows to read */
    size_t group_batches; /* of the next group to read */
    struct map_call *calls; /* shape [GROUPS * GROUP_MAX] */
    struct group groups[GROUPS];
    /* what the other thread does: one group out, one in */
    struct group *written, *filled;
    grebe_status read_status; /* told when the group before it went through the function */
    grebe_error read_error;
};

static grebe_status note_kind(struct map_part *p, bool is_nothing, int64_t row, grebe_error *err)
{
    int64_t *own = is_nothing ? &p->nothing_row : &p->something_row;
    int64_t other = is_nothing ? p->something_row : p->nothing_row;
    if (other >= 0) {
        return GREBE_FAIL(err, GREBE_ESCHEMA, "row %lld: the function gave %s after row %lld, where it gave %s",
                          (long long)row, is_nothing ? "nothing" : "something", (long long)other,
                          is_nothing ? "something" : "nothing");
    }
    *own = *own < 0 ? row : *own;
    return GREBE_OK;
}

static void release_group(struct group *g)
{
    for (size_t i = 0; i < g->n; i++) {
        map_call_release(&g->calls[i]);
    }
    g->n = 0;
}

static grebe_status read_group(struct flow *f, struct group *g, grebe_error *err)
{
    struct map_job *j = f->p->j;
    grebe_status st = GREBE_OK;
    size_t n_batches = f->group_batches;
    for (g->n = 0; f->next < f->end && g->n < n_batches && st == GREBE_OK; f->next += min_i64(j->batch_rows, f->end - f->next)) {
        int64_t n = min_i64(j->batch_rows, f->end - f->next);
        if (j->m.drop_last_batch && j->batch_rows != INT64_MAX && n < j->batch_rows) {
            f->next = f->end;
            break;
        }
        st = map_call_read(j, f->next, f->next + n, f->p->i, &g->calls[g->n], err);
        g->n += st == GREBE_OK;
    }
    return st;
}

static grebe_status write_group(struct flow *f, struct group *g, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    for (size_t i = 0; i < g->n && st == GREBE_OK; i++) {
        struct map_batch b;
        st = map_call_merge(f->p->j, &g->calls[i], &b, err);
        if (st == GREBE_OK && !b.is_nothing) {
            st = map_part_take(f->p, &b, err);
        } else if (st == GREBE_OK) {
            map_batch_release(f->p->j, &b);
        }
    }
    return st;
}

/* Status of the writing; that of the reading is kept. */
static grebe_status other_thread(void *arg, grebe_error *err)
{
    struct flow *f = arg;
    grebe_status st = write_group(f, f->written, err);
    f->read_status = st == GREBE_OK ? read_group(f, f->filled, &f->read_error) : GREBE_OK;
    return st;
}

/* How long groups may be, by the bytes of this one. Called while no group is read. */
static void measure(struct flow *f, const struct group *g)
{
    int64_t bytes = 1;
    for (size_t i = 0; i < g->n; i++) {
        const struct map_call *c = &g->calls[i];
        const struct ArrowArray *given = c->result != NULL ? array_shared_get(c->result) : NULL;
        bytes += array_bytes(&f->p->j->input_schema, &c->rows, 0, c->rows.length);
        bytes += given != NULL ? array_bytes(&c->given.schema, given, 0, given->length) : 0;
    }
    int64_t fit = GROUP_BYTES / (bytes / (int64_t)g->n + 1);
    f->group_batches = (size_t)max_i64(1, min_i64(fit, min_i64(GROUP_MAX, 2 * (int64_t)g->n)));
}

static grebe_status apply_group(struct flow *f, struct group *g, grebe_error *err)
{
    struct map_job *j = f->p->j;
    grebe_status st = GREBE_OK;
    for (size_t i = 0; i < g->n && st == GREBE_OK; i++) {
        struct map_call *c = &g->calls[i];
        st = map_call_apply(j, c, err);
        st = st == GREBE_OK ? note_kind(f->p, c->given.kind == GREBE_MAP_NOTHING, c->begin, err) : st;
        map_job_progress(j, c->end - c->begin);
    }
    return st;
}

/* One group through the function while the others move on. */
static grebe_status step(struct flow *f, struct group *g, grebe_error *err)
{
    const struct call *call = &f->p->j->t.call;
    struct task task;
    grebe_error own = GREBE_ERROR_INIT;
    memset(&task, 0, sizeof task);
    release_group(f->filled); /* written a step ago */
    task_start(f->p->j->t.ds->ctx->pool, call->threads, &task, other_thread, f);
    grebe_status st = apply_group(f, g, &own);
    grebe_status before = task_wait(&task, err); /* of lower rows: told first */
    if (before == GREBE_OK && st != GREBE_OK) {
        error_copy(err, st, &own);
    }
    st = before != GREBE_OK ? before : st;
    if (st == GREBE_OK && f->read_status != GREBE_OK) {
        st = apply_group(f, f->filled, err); /* the batches before the one that could not be read */
        if (st == GREBE_OK) {
            st = error_copy(err, f->read_status, &f->read_error);
        }
    }
    if (st == GREBE_OK) {
        measure(f, g);
    }
    return st;
}

grebe_status map_part_batches(struct map_part *p, grebe_error *err)
{
    const grebe_allocator *a = p->j->t.ds->ctx->a;
    const size_t bytes = GROUPS * GROUP_MAX * sizeof(struct map_call);
    struct flow f = { .p = p, .group_batches = 1 };
    map_job_range(p->j, p->i, &f.next, &f.end);
    f.calls = mem_alloc_zero(a, bytes);
    if (f.calls == NULL) {
        return mem_fail(err, bytes, "batches");
    }
    for (size_t i = 0; i < GROUPS; i++) {
        f.groups[i].calls = f.calls + i * GROUP_MAX;
    }
    grebe_status st = read_group(&f, &f.groups[0], err);
    size_t k = 0;
    for (; st == GREBE_OK && f.groups[k % GROUPS].n > 0; k++) {
        f.written = &f.groups[(k + GROUPS - 1) % GROUPS];
        f.filled = &f.groups[(k + 1) % GROUPS];
        st = step(&f, &f.groups[k % GROUPS], err);
    }
    if (st == GREBE_OK) {
        st = write_group(&f, &f.groups[(k + GROUPS - 1) % GROUPS], err);
    }
    for (size_t i = 0; i < GROUPS; i++) {
        release_group(&f.groups[i]);
    }
    mem_free(a, f.calls, bytes);
    return st;
}
