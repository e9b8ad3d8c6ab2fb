/* SPDX-License-Identifier: Apache-2.0 */
#include "load/load_prepared.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "dataset/rows_writer.h"
#include "io/io_folder.h"
#include "io/io_lock.h"
#include "load/load_verify.h"

/*
 * Files become Arrow shards: the files of a split are cut into runs, about as many as there are threads; each run is a job that
 * writes shards of its own, so the order of rows is that of the files whoever is done first. Everything lies in
 * <folder>.incomplete until dataset_info.json stands there; then the folder gets its name. A lock beside it keeps others waiting.
 */

enum { SHARD_BYTES = 500 * 1000 * 1000, RUN_BYTES_MIN = 4 << 20 };

struct shard {
    int64_t n_rows;
    char name[32]; /* while it is written: "00003-00001" of job 3 */
};

/** A run of files of one split. */
struct job {
    size_t split, file_begin, file_end;
    struct buf shards; /* struct shard */
    int64_t n_rows, n_bytes;
};

struct preparation {
    struct load_plan *p;
    const char *folder; /* being filled */
    struct builder *builder;
    struct job *jobs; /* shape [n_jobs] */
    size_t n_jobs;
    struct call call;
    int64_t max_shard_bytes;
    pthread_mutex_t lock; /* of progress */
    grebe_progress progress;
};

static grebe_status no_memory(grebe_error *err) { return mem_fail(err, sizeof(struct job), "loading"); }

/* ---- jobs ---- */

static grebe_status shard_path(const struct preparation *r, const struct job *j, const char *name, struct buf *dst,
                               grebe_error *err)
{
    buf_clear(dst);
    grebe_status st = buf_printf(dst, err, "%s/%s-%s-%s.arrow", r->folder, r->p->dataset_name,
                                 r->p->files.splits[j->split].split, name);
    return st == GREBE_OK && buf_text(dst) == NULL ? no_memory(err) : st;
}

static grebe_status begin_shard(struct preparation *r, struct job *j, struct rows_writer **out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct buf path = BUF_INIT(r->p->ctx->a);
    struct rows_writer_options o = { 0 };
    struct shard s = { 0 };
    snprintf(s.name, sizeof s.name, "%05zu-%05zu", (size_t)(j - r->jobs), j->shards.len / sizeof s);
    GREBE_TRY(shard_path(r, j, s.name, &path, err));
    GREBE_TRY(rows_writer_new(r->p->ctx, buf_text(&path), r->builder->features, &o, out, err));
    st = buf_put(&j->shards, &s, sizeof s, err);
out:
    buf_release(&path);
    return st;
}

static grebe_status end_shard(struct job *j, struct rows_writer **w, grebe_error *err)
{
    struct shard *last = (struct shard *)(void *)j->shards.data + j->shards.len / sizeof *last - 1;
    grebe_status st = rows_writer_finish(*w, err);
    last->n_rows = rows_writer_num_rows(*w);
    j->n_rows += last->n_rows;
    j->n_bytes += rows_writer_num_bytes(*w);
    rows_writer_free(*w);
    *w = NULL;
    return st;
}

static void tell_progress(struct preparation *r, int64_t n_rows, uint64_t n_bytes)
{
    if (r->call.progress == NULL) {
        return;
    }
    pthread_mutex_lock(&r->lock);
    r->progress.rows_done += (uint64_t)n_rows;
    r->progress.bytes_done += n_bytes;
    r->call.progress(r->call.progress_ctx, &r->progress);
    pthread_mutex_unlock(&r->lock);
}

/* Rows as the reader gave them into the shard in hand, or a new one when that one is full. */
static grebe_status put_rows(struct preparation *r, struct job *j, const struct ArrowSchema *schema, struct ArrowArray *rows,
                             int64_t first_row, struct rows_writer **w, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct ArrowArray fit = { 0 };
    const struct feature_cast_options o = { .is_missing_null = true, .first_row = first_row };
    int64_t n = rows->length;
    GREBE_TRY(features_cast(r->p->ctx->a, r->builder->features, schema, rows, &o, &fit, err));
    if (*w != NULL && rows_writer_num_bytes(*w) > r->max_shard_bytes && rows_writer_num_rows(*w) > 0) {
        GREBE_TRY(end_shard(j, w, err));
    }
    if (*w == NULL) {
        GREBE_TRY(begin_shard(r, j, w, err));
    }
    st = rows_writer_put(*w, &fit, err);
    tell_progress(r, n, 0);
out:
    array_release(rows);
    array_release(&fit);
    return st;
}

static grebe_status convert_file(struct preparation *r, struct job *j, size_t file, struct rows_writer **w, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct shard_reader reader = { NULL, NULL };
    int64_t row = 0;
    const struct load_file *source = &r->p->files.splits[j->split].files.items[file];
    GREBE_TRY(r->builder->ops->read(r->builder, j->split, file, -1, (struct shard_place){ 0, 0 }, &reader, err));
    for (;;) {
        struct ArrowSchema schema = { 0 };
        struct ArrowArray rows = { 0 };
        GREBE_TRY(call_check(&r->call, err));
        st = reader.ops->next(reader.self, &schema, &rows, err);
        if (st == GREBE_END) {
            st = GREBE_OK;
            break;
        }
        if (st == GREBE_OK) {
            int64_t n = rows.length;
            st = put_rows(r, j, &schema, &rows, row, w, err);
            row += n;
            if (st == GREBE_ESCHEMA) {
                error_wrap(err, st, "%s", source->path);
            }
        }
        schema_release(&schema);
        GREBE_TRY(st);
    }
    tell_progress(r, 0, source->size);
out:
    shard_reader_free(&reader);
    return st;
}

static grebe_status run_job(void *arg, size_t i, grebe_error *err)
{
    struct preparation *r = arg;
    struct job *j = &r->jobs[i];
    struct rows_writer *w = NULL;
    grebe_status st = GREBE_OK;
    bool is_first = i == 0 || r->jobs[i - 1].split != j->split;
    for (size_t file = j->file_begin; st == GREBE_OK && file < j->file_end; file++) {
        st = convert_file(r, j, file, &w, err);
    }
    if (st == GREBE_OK && w == NULL && is_first) { /* of a split without rows there is one file, too */
        st = begin_shard(r, j, &w, err);
    }
    if (st == GREBE_OK && w != NULL) {
        st = end_shard(j, &w, err);
    }
    rows_writer_free(w);
    return st;
}

/* The files of a split in n runs of about the same bytes. */
static void cut_files(const struct load_files *files, size_t split, size_t n, struct job *jobs)
{
    uint64_t total = 0, sum = 0;
    size_t file = 0;
    for (size_t i = 0; i < files->n; i++) {
        total += files->items[i].size + 1;
    }
    for (size_t i = 0; i < n; i++) {
        jobs[i].split = split;
        jobs[i].file_begin = file;
        uint64_t until = total / n * (i + 1);
        do { /* each run has a file, and leaves one for each run behind it */
            sum += file < files->n ? files->items[file].size + 1 : 0;
            file++;
        } while (file < files->n - (n - 1 - i) && (i + 1 == n || sum + files->items[file].size / 2 < until));
        jobs[i].file_end = i + 1 == n ? files->n : file;
    }
}

/* Runs of a split: as many as asked for, or as threads, but of a few bytes there is one. */
static size_t n_runs_of(const struct preparation *r, const struct load_files *files)
{
    uint64_t total = 0;
    for (size_t i = 0; i < files->n; i++) {
        total += files->items[i].size;
    }
    size_t n = r->p->options.n_jobs > 0 ? (size_t)r->p->options.n_jobs
                                        : (size_t)min_u64(r->call.threads, 1 + total / RUN_BYTES_MIN);
    n = min_size(n, files->n);
    return n > 0 ? n : 1;
}

static grebe_status make_jobs(struct preparation *r, grebe_error *err)
{
    const struct load_file_set *set = &r->p->files;
    size_t n = 0;
    for (size_t i = 0; i < set->n; i++) {
        n += n_runs_of(r, &set->splits[i].files);
    }
    r->jobs = arena_array(&r->p->arena, n, sizeof *r->jobs);
    if (r->jobs == NULL) {
        return no_memory(err);
    }
    for (size_t i = 0; i < set->n; i++) {
        const struct load_files *files = &set->splits[i].files;
        size_t n_runs = n_runs_of(r, files);
        struct job *first = &r->jobs[r->n_jobs];
        if (files->n == 0) {
            first->split = i;
        } else {
            cut_files(files, i, n_runs, first);
        }
        r->n_jobs += n_runs;
        for (size_t k = 0; k < files->n; k++) {
            r->progress.bytes_total += files->items[k].size;
        }
    }
    for (size_t i = 0; i < r->n_jobs; i++) {
        r->jobs[i].shards = BUF_INIT(r->p->ctx->a);
    }
    return GREBE_OK;
}

/* ---- names and facts ---- */

/* Shards of all jobs of a split get the names under which they are read. */
static grebe_status name_shards(struct preparation *r, size_t split, struct prepared_split *out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct buf from = BUF_INIT(r->p->ctx->a), to = BUF_INIT(r->p->ctx->a);
    size_t n = 0, at = 0;
    *out = (struct prepared_split){ .name = r->p->files.splits[split].split };
    for (size_t i = 0; i < r->n_jobs; i++) {
        n += r->jobs[i].split == split ? r->jobs[i].shards.len / sizeof(struct shard) : 0;
    }
    int64_t *rows = arena_array(&r->p->arena, n, sizeof *rows);
    if (rows == NULL) {
        return no_memory(err);
    }
    for (size_t i = 0; i < r->n_jobs; i++) {
        const struct job *j = &r->jobs[i];
        const struct shard *shards = (const struct shard *)(const void *)j->shards.data;
        for (size_t k = 0; j->split == split && k < j->shards.len / sizeof *shards; k++) {
            GREBE_TRY(shard_path(r, j, shards[k].name, &from, err));
            buf_clear(&to);
            GREBE_TRY(buf_printf(&to, err, "%s/", r->folder));
            GREBE_TRY(prepared_shard_name(&to, r->p->dataset_name, out->name, at, n, err));
            if (buf_text(&to) == NULL) {
                st = no_memory(err);
                goto out;
            }
            if (rename(buf_text(&from), buf_text(&to)) != 0) {
                st = GREBE_FAIL_SYS(err, status_from_errno(errno), errno, "%s: cannot rename", buf_text(&from));
                goto out;
            }
            rows[at++] = shards[k].n_rows;
        }
        out->n_rows += j->split == split ? j->n_rows : 0;
        out->n_bytes += j->split == split ? j->n_bytes : 0;
    }
    out->n_shards = n;
    out->shard_rows = rows;
out:
    buf_release(&from);
    buf_release(&to);
    return st;
}

static grebe_status write_info(struct preparation *r, const struct prepared_split *splits, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct buf path = BUF_INIT(r->p->ctx->a), text = BUF_INIT(r->p->ctx->a);
    struct io_writer *w = NULL;
    GREBE_TRY(prepared_info_text(r->p, r->builder->features, splits, r->p->files.n, &text, err));
    GREBE_TRY(buf_printf(&path, err, "%s/dataset_info.json", r->folder));
    if (buf_text(&path) == NULL) {
        st = no_memory(err);
        goto out;
    }
    GREBE_TRY(io_create(r->p->store, buf_text(&path), false, &w, err));
    GREBE_TRY(io_write(w, text.data, text.len, err));
    st = io_writer_publish(w, true, err);
out:
    io_writer_free(w);
    buf_release(&path);
    buf_release(&text);
    return st;
}

/* ---- the folder ---- */

static grebe_status fill_folder(struct preparation *r, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct load_plan *p = r->p;
    grebe_call_options call = GREBE_CALL_OPTIONS_INIT;
    struct prepared_split *splits = arena_array(&p->arena, p->files.n, sizeof *splits);
    if (splits == NULL) {
        return no_memory(err);
    }
    GREBE_TRY(load_verify_names(p, err));
    GREBE_TRY(make_jobs(r, err));
    uint32_t n_side = r->n_jobs < r->call.threads ? (uint32_t)r->n_jobs : r->call.threads;
    GREBE_TRY(options_copy(&call, sizeof call, p->options.call, err));
    call.threads = r->call.threads / (n_side > 0 ? n_side : 1);
    call.threads = call.threads > 0 ? call.threads : 1;
    call.progress = NULL;
    GREBE_TRY(load_plan_builder(p, &call, &r->builder, err));
    GREBE_TRY(builder_infer(r->builder, err));
    if (r->builder->features == NULL) {
        st = GREBE_FAIL(err, GREBE_ESCHEMA, "%s: the files have no columns", p->base);
        goto out;
    }
    GREBE_TRY(parallel_for(p->ctx->pool, r->call.threads, r->n_jobs, run_job, r, r->call.cancel, err));
    for (size_t i = 0; i < p->files.n; i++) {
        GREBE_TRY(name_shards(r, i, &splits[i], err));
    }
    GREBE_TRY(load_verify(p, splits, p->files.n, err));
    st = write_info(r, splits, err);
out:
    builder_free(r->builder);
    for (size_t i = 0; i < r->n_jobs; i++) {
        buf_release(&r->jobs[i].shards);
    }
    return st;
}

/* With the lock held: <folder>.incomplete is filled and becomes <folder>. */
static grebe_status make_folder(struct load_plan *p, const char *folder, const struct call *call, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct buf made = BUF_INIT(p->ctx->a);
    bool was_there = false;
    struct preparation r = { .p = p, .call = *call, .progress = { .phase = "load" } };
    r.max_shard_bytes = p->options.max_shard_bytes > 0 ? p->options.max_shard_bytes : SHARD_BYTES;
    if (pthread_mutex_init(&r.lock, NULL) != 0) {
        return no_memory(err);
    }
    GREBE_TRY(buf_printf(&made, err, "%s.incomplete", folder));
    r.folder = buf_text(&made);
    if (r.folder == NULL) {
        st = no_memory(err);
        goto out;
    }
    GREBE_TRY(io_folder_remove(p->store, r.folder, err)); /* of one who was killed */
    GREBE_TRY(io_make_folders(p->store, r.folder, false, err));
    st = fill_folder(&r, err);
    if (st == GREBE_OK) {
        st = io_folder_publish(r.folder, folder, false, &was_there, err);
    }
    if (st != GREBE_OK || was_there) {
        (void)io_folder_remove(p->store, r.folder, NULL);
    }
out:
    pthread_mutex_destroy(&r.lock);
    buf_release(&made);
    return st;
}

/* What is there and whole; *out NULL: nothing that can be used. */
static grebe_status find_prepared(struct load_plan *p, const char *folder, struct prepared **out, grebe_error *err)
{
    struct io_info info;
    grebe_status st = prepared_read(p->ctx->a, p->store, folder, out, err);
    if (st == GREBE_ENOMEM) {
        return st;
    }
    for (size_t i = 0; *out != NULL && i < (*out)->n; i++) {
        for (size_t k = 0; *out != NULL && k < (*out)->splits[i].n_shards; k++) {
            if (io_stat(p->store, (*out)->splits[i].paths[k], &info, NULL) != GREBE_OK) { /* somebody took files away */
                prepared_free(*out);
                *out = NULL;
            }
        }
    }
    return GREBE_OK;
}

/* <folder>_builder.lock, shortened when the name of the folder is long. */
static grebe_status lock_path(const char *folder, struct buf *dst, grebe_error *err)
{
    grebe_status st = buf_printf(dst, err, "%s_builder.lock", folder);
    return st == GREBE_OK && buf_text(dst) == NULL ? no_memory(err) : st;
}

grebe_status load_prepare(struct load_plan *p, struct prepared **out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct io_lock lock = IO_LOCK_INIT;
    struct call call = call_options_resolve(p->ctx, p->options.call);
    struct buf folder = BUF_INIT(p->ctx->a), path = BUF_INIT(p->ctx->a);
    const char *cache = NULL;
    *out = NULL;
    GREBE_TRY(load_cache_folder(&p->arena, p->options.cache_dir, &cache, err));
    GREBE_TRY(prepared_folder(p, cache, &folder, err));
    if (buf_text(&folder) == NULL) {
        st = no_memory(err);
        goto out;
    }
    if (p->options.mode == GREBE_LOAD_REUSE) {
        GREBE_TRY(find_prepared(p, buf_text(&folder), out, err));
    }
    if (*out != NULL) {
        goto out;
    }
    GREBE_TRY(lock_path(buf_text(&folder), &path, err));
    folder.data[folder.len - LOAD_HASH_LEN - 1] = '\0'; /* the folder above */
    st = io_make_folders(p->store, (const char *)folder.data, false, err);
    folder.data[folder.len - LOAD_HASH_LEN - 1] = '/';
    GREBE_TRY(st);
    GREBE_TRY(io_lock_take(&lock, buf_text(&path), &call, err));
    if (p->options.mode == GREBE_LOAD_REUSE) { /* somebody else may have made it meanwhile */
        GREBE_TRY(find_prepared(p, buf_text(&folder), out, err));
    }
    if (*out == NULL) {
        GREBE_TRY(make_folder(p, buf_text(&folder), &call, err));
        st = prepared_read(p->ctx->a, p->store, buf_text(&folder), out, err);
    }
out:
    io_lock_drop(&lock);
    buf_release(&folder);
    buf_release(&path);
    return st;
}
