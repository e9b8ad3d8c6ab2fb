/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "base/context_internal.h"
#include "dataset/dataset_internal.h"
#include "dataset/dataset_state.h"
#include "dataset/media_embed.h"
#include "dataset/order.h"
#include "dataset/rows_writer.h"
#include "io/io_draft.h"
#include "io/io_folder.h"

enum { SHARD_BYTES = 500000000, MEDIA_SAMPLE_ROWS = 1000, BATCH_ROWS_MAX = 1000, BATCH_BYTES = 100000000 };

struct save {
    const grebe_dataset *ds;
    struct io_store *store;
    grebe_save_options o;
    struct call call;
    const char *folder; /* that is being filled */
    int64_t n_shards;
    int64_t batch_rows;
    int64_t n_done;
    bool has_media;
};

/* ---- how many shards ---- */

/* Bytes of the rows with the media that are files elsewhere, of which the first rows speak for all. */
static grebe_status estimate_bytes(struct save *s, int64_t *out, grebe_error *err)
{
    const grebe_dataset *ds = s->ds;
    int64_t n_table = dataset_table_num_rows(ds->table), media = 0;
    struct ArrowArray rows;
    grebe_status st = dataset_table_num_bytes(ds->table, out, err);
    if (st == GREBE_OK && s->has_media && n_table > 0) {
        int64_t n = min_i64(n_table, MEDIA_SAMPLE_ROWS);
        st = dataset_table_read(ds->table, 0, n, NULL, 0, &rows, err);
        if (st == GREBE_OK) {
            st = media_file_bytes(s->store, ds->features, &rows, &media, err);
            array_release(&rows);
            *out += (int64_t)((double)media * (double)n_table / (double)n);
        }
    }
    if (st == GREBE_OK && ds->indices != NULL && n_table > 0) {
        *out = (int64_t)((double)*out * (double)ds->n_rows / (double)n_table);
    }
    return st;
}

static grebe_status plan(struct save *s, grebe_error *err)
{
    int64_t n_bytes = 0, n_table = dataset_table_num_rows(s->ds->table);
    grebe_status st = estimate_bytes(s, &n_bytes, err);
    if (st != GREBE_OK) {
        return st;
    }
    int64_t most = s->o.max_shard_bytes > 0 ? s->o.max_shard_bytes : SHARD_BYTES;
    s->n_shards = s->o.n_shards > 0 ? s->o.n_shards : max_i64(1, min_i64(n_bytes / most + 1, n_table));
    s->batch_rows = features_writer_rows(s->ds->features);
    if (n_bytes > 0) {
        int64_t fit = max_i64(1, (int64_t)((double)s->ds->n_rows * BATCH_BYTES / (double)n_bytes));
        s->batch_rows = min_i64(s->batch_rows, min_i64(BATCH_ROWS_MAX, fit));
    }
    return GREBE_OK;
}

/* ---- writing ---- */

static grebe_status path_in(struct buf *dst, const char *folder, const char *name, const char **out, grebe_error *err)
{
    buf_clear(dst);
    grebe_status st = buf_printf(dst, err, "%s/%s", folder, name);
    *out = st == GREBE_OK ? buf_text(dst) : NULL;
    return st == GREBE_OK && *out == NULL ? mem_fail(err, dst->len, name) : st;
}

static void tell_progress(struct save *s)
{
    if (s->call.progress != NULL) {
        grebe_progress p = { .phase = "save", .rows_done = (uint64_t)s->n_done, .rows_total = (uint64_t)s->ds->n_rows };
        s->call.progress(s->call.progress_ctx, &p);
    }
}

static grebe_status write_shard(struct save *s, const char *path, int64_t begin, int64_t end, grebe_error *err)
{
    struct rows_writer *w = NULL;
    struct rows_writer_options o = { NULL, s->batch_rows, s->o.is_durable, s->has_media };
    grebe_status st = rows_writer_new(s->store->ctx, path, s->ds->features, &o, &w, err);
    for (int64_t row = begin; row < end && st == GREBE_OK;) {
        struct ArrowArray rows;
        int64_t stop = min_i64(end, dataset_batch_end(s->ds, row, s->batch_rows));
        st = call_check(&s->call, err);
        st = st == GREBE_OK ? dataset_read_some(s->ds, row, &stop, NULL, 0, &rows, err) : st;
        st = st == GREBE_OK ? rows_writer_put(w, &rows, err) : st;
        s->n_done += stop - row;
        tell_progress(s);
        row = stop;
    }
    st = st == GREBE_OK ? rows_writer_finish(w, err) : st;
    rows_writer_free(w);
    return st;
}

static grebe_status write_text(struct save *s, const char *name, const struct buf *text, grebe_error *err)
{
    struct buf path = BUF_INIT(s->store->ctx->a);
    const char *p = NULL;
    struct io_writer *w = NULL;
    grebe_status st = path_in(&path, s->folder, name, &p, err);
    st = st == GREBE_OK ? io_create(s->store, p, s->o.is_durable, &w, err) : st;
    st = st == GREBE_OK ? io_write(w, text->data, text->len, err) : st;
    st = st == GREBE_OK ? io_writer_publish(w, true, err) : st;
    io_writer_free(w);
    buf_release(&path);
    return st;
}

/* The shards, and their names into the state. */
static grebe_status write_shards(struct save *s, struct saved_state *state, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct buf path = BUF_INIT(s->store->ctx->a);
    const char **names = arena_array(&state->arena, (size_t)s->n_shards, sizeof *names);
    if (names == NULL) {
        return mem_fail(err, (size_t)s->n_shards * sizeof *names, "names of files");
    }
    for (int64_t i = 0; i < s->n_shards; i++) {
        char name[64];
        const char *p = NULL;
        int64_t begin = 0, end = 0;
        int n = snprintf(name, sizeof name, "data-%05" PRId64 "-of-%05" PRId64 ".arrow", i, s->n_shards);
        names[i] = arena_str(&state->arena, name, (size_t)n);
        if (names[i] == NULL) {
            st = mem_fail(err, (size_t)n, name);
            goto out;
        }
        order_part(s->ds->n_rows, s->n_shards, i, &begin, &end);
        GREBE_TRY(path_in(&path, s->folder, name, &p, err));
        GREBE_TRY(write_shard(s, p, begin, end, err));
    }
    state->files = names;
    state->n_files = (size_t)s->n_shards;
out:
    buf_release(&path);
    return st;
}

/* Fill the folder; state.json comes last. */
static grebe_status write_set(struct save *s, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const grebe_allocator *a = s->store->ctx->a;
    const grebe_dataset *ds = s->ds;
    struct saved_state state = {
        .arena = ARENA_INIT(a), .fingerprint = ds->fingerprint, .split = ds->split, .format = ds->format
    };
    struct buf text = BUF_INIT(a);
    for (size_t i = 0; i < ds->features->top.n_fields; i++) {
        s->has_media = s->has_media || media_are_in(&ds->features->top.fields[i]);
    }
    GREBE_TRY(io_make_folders(s->store, s->folder, s->o.is_durable, err));
    GREBE_TRY(plan(s, err));
    GREBE_TRY(write_shards(s, &state, err));
    GREBE_TRY(saved_info_write(a, ds->features, ds->info_json, &text, err));
    GREBE_TRY(write_text(s, "dataset_info.json", &text, err));
    buf_clear(&text);
    GREBE_TRY(saved_state_write(&state, &text, err));
    GREBE_TRY(write_text(s, "state.json", &text, err));
out:
    buf_release(&text);
    arena_release(&state.arena);
    return st;
}

/* ---- the folder that is there ---- */

struct look {
    bool has_entries, is_saved;
};

static grebe_status look_at(void *arg, const char *name, enum io_kind kind, grebe_error *err)
{
    struct look *l = arg;
    (void)kind, (void)err;
    l->has_entries = true;
    l->is_saved = l->is_saved || strcmp(name, "state.json") == 0 || strcmp(name, "dataset_dict.json") == 0;
    return GREBE_OK;
}

/* Whether a file of the set lies in the folder or below it. */
static grebe_status check_not_own(struct io_store *store, const grebe_dataset *ds, const char *folder, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct io_info target, info;
    struct buf path = BUF_INIT(store->ctx->a);
    GREBE_TRY(io_stat(store, folder, &target, err));
    for (size_t i = 0; i < ds->n_files; i++) {
        buf_clear(&path);
        GREBE_TRY(path_absolute(&path, ds->files[i], err));
        GREBE_TRY(buf_put_byte(&path, 0, err));
        char *p = (char *)path.data;
        for (char *slash = strrchr(p, '/'); slash != NULL && slash != p; slash = strrchr(p, '/')) {
            *slash = '\0';
            if (io_stat(store, p, &info, NULL) == GREBE_OK && info.id.device == target.id.device &&
                info.id.inode == target.id.inode) {
                st = GREBE_FAIL(err, GREBE_EINVAL, "%s: holds files that this data set reads (%s): save it elsewhere",
                                folder, ds->files[i]);
                goto out;
            }
        }
    }
out:
    buf_release(&path);
    return st;
}

static grebe_status check_target(struct io_store *store, const grebe_dataset *const *sets, size_t n, const char *folder,
                                 grebe_error *err)
{
    struct io_info info;
    struct look l = { false, false };
    grebe_status st = io_stat(store, folder, &info, NULL);
    if (st == GREBE_ENOTFOUND) {
        return GREBE_OK;
    }
    if (st != GREBE_OK) {
        return io_stat(store, folder, &info, err);
    }
    if (info.kind != IO_FOLDER) {
        return GREBE_FAIL(err, GREBE_EEXISTS, "%s: is no folder", folder);
    }
    for (size_t i = 0; i < n && st == GREBE_OK; i++) {
        st = check_not_own(store, sets[i], folder, err);
    }
    st = st == GREBE_OK ? io_list(store, folder, look_at, &l, err) : st;
    if (st == GREBE_OK && l.has_entries && !l.is_saved) {
        st = GREBE_FAIL(err, GREBE_EEXISTS, "%s: is a folder with other things in it", folder);
    }
    return st;
}

/* ---- the calls ---- */

/* The folder filled beside the place where it will be. */
struct target {
    char *path;
    struct io_store *store;
    struct io_draft draft;
};

static grebe_status target_begin(grebe_context *ctx, const char *path, struct target *t, grebe_error *err)
{
    struct buf real = BUF_INIT(ctx->a);
    grebe_status st = io_local_new(ctx, &t->store, err);
    st = st == GREBE_OK ? io_folder_resolve(path, &real, err) : st;
    if (st == GREBE_OK) {
        size_t len = strlen((const char *)real.data);
        while (len > 1 && real.data[len - 1] == '/') {
            len--;
        }
        t->path = str_copy_len(ctx->a, (const char *)real.data, len);
        st = t->path == NULL ? mem_fail(err, len, path) : GREBE_OK;
    }
    buf_release(&real);
    return st;
}

/* Give the folder its name when st is good, and nothing came to its place that may not be replaced; what is left over is removed. */
static grebe_status target_end(struct target *t, grebe_status st, const grebe_dataset *const *sets, size_t n, bool is_durable, grebe_error *err)
{
    st = st == GREBE_OK ? check_target(t->store, sets, n, t->path, err) : st;
    if (st == GREBE_OK) {
        st = io_draft_publish(&t->draft, t->path, is_durable, err);
    }
    if (t->store != NULL) {
        io_draft_end(&t->draft);
        str_free(t->store->ctx->a, t->path);
    }
    io_store_free(t->store);
    return st;
}

static grebe_status check_options(const grebe_save_options *options, grebe_save_options *o, grebe_error *err)
{
    grebe_status st = options_copy(o, sizeof *o, options, err);
    if (st == GREBE_OK && (o->max_shard_bytes < 0 || o->n_shards < 0 || (o->max_shard_bytes > 0 && o->n_shards > 0))) {
        return GREBE_FAIL(err, GREBE_EINVAL, "max_shard_bytes %lld, n_shards %lld: expected one of them, or none",
                          (long long)o->max_shard_bytes, (long long)o->n_shards);
    }
    enum { SHARDS_MAX = 1 << 20 };
    if (st == GREBE_OK && o->n_shards > SHARDS_MAX) {
        return GREBE_FAIL(err, GREBE_EINVAL, "n_shards %lld: at most %d", (long long)o->n_shards, SHARDS_MAX);
    }
    return st;
}

grebe_status grebe_dataset_save_to_disk(const grebe_dataset *ds, const char *path, const grebe_save_options *options,
                                        grebe_error *err)
{
    GREBE_CHECK_ARG(err, ds != NULL && path != NULL && path[0] != '\0');
    struct target t = { NULL, NULL, IO_DRAFT_INIT };
    struct save s = { .ds = ds, .o = GREBE_SAVE_OPTIONS_INIT };
    grebe_status st = check_options(options, &s.o, err);
    st = st == GREBE_OK ? target_begin(ds->ctx, path, &t, err) : st;
    st = st == GREBE_OK ? check_target(t.store, &ds, 1, t.path, err) : st;
    st = st == GREBE_OK ? io_draft_begin(t.store, t.path, &t.draft, err) : st;
    if (st == GREBE_OK) {
        s.call = call_options_resolve(ds->ctx, s.o.call);
        s.store = t.store;
        s.folder = t.draft.folder;
        st = write_set(&s, err);
    }
    return target_end(&t, st, &ds, 1, s.o.is_durable, err);
}

grebe_status grebe_dataset_save_dict(const char *const *names, const grebe_dataset *const *sets, size_t n,
                                     const char *path, const grebe_save_options *options, grebe_error *err)
{
    GREBE_CHECK_ARG(err, names != NULL && sets != NULL && n > 0 && path != NULL && path[0] != '\0');
    grebe_status st = GREBE_OK;
    grebe_context *ctx = sets[0]->ctx;
    struct target t = { NULL, NULL, IO_DRAFT_INIT };
    grebe_save_options o = GREBE_SAVE_OPTIONS_INIT;
    struct buf folder = BUF_INIT(ctx->a), text = BUF_INIT(ctx->a);
    for (size_t i = 0; i < n; i++) {
        if (saved_name_check(names[i], strlen(names[i]), err) != GREBE_OK) {
            return GREBE_FAIL(err, GREBE_EINVAL, "split \"%.64s\": expected the name of a folder", names[i]);
        }
    }
    GREBE_TRY(check_options(options, &o, err));
    GREBE_TRY(target_begin(ctx, path, &t, err));
    GREBE_TRY(check_target(t.store, sets, n, t.path, err));
    GREBE_TRY(io_draft_begin(t.store, t.path, &t.draft, err));
    for (size_t i = 0; i < n; i++) {
        struct save s = { .ds = sets[i], .o = o, .store = t.store, .call = call_options_resolve(ctx, o.call) };
        GREBE_TRY(path_in(&folder, t.draft.folder, names[i], &s.folder, err));
        GREBE_TRY(write_set(&s, err));
    }
    struct save s = { .store = t.store, .o = o, .folder = t.draft.folder };
    GREBE_TRY(saved_splits_write(names, n, &text, err));
    GREBE_TRY(write_text(&s, "dataset_dict.json", &text, err));
out:
    buf_release(&folder);
    buf_release(&text);
    return target_end(&t, st, sets, n, o.is_durable, err);
}
