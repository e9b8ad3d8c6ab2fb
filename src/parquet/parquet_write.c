/* SPDX-License-Identifier: Apache-2.0 */
#include "parquet/parquet_write.h"

#include <assert.h>
#include <string.h>

#include "base/checked.h"
#include "parquet/parquet_write_internal.h"

/*
 * Invariants between calls:
 * 1. groups[0] holds the rows that were not yet written (perhaps none); the others are empty.
 * 2. Everything before `position` is in the file; row_groups describes it.
 * 3. After a failure nothing but free is possible.
 */

/* Groups encoded at the same time: more threads than this share the columns of a group. */
enum { GROUPS_AT_ONCE_MAX = 16 };

/* False positives of a bloom filter, where nobody says how many. */
static const double BLOOM_RATE = 0.01;

/* Work worth a thread: values added in one call. */
enum { PARALLEL_VALUES_MIN = 1 << 16 };

/* ---- scratch memory of workers ---- */

static grebe_status scratch_take(struct pw_writer *w, struct pw_scratch **out, grebe_error *err)
{
    struct pw_scratch *s = NULL;

    pthread_mutex_lock(&w->lock);
    s = w->idle;
    if (s != NULL) {
        w->idle = s->next;
    }
    pthread_mutex_unlock(&w->lock);
    if (s == NULL) {
        s = mem_alloc(w->a, sizeof *s);
        if (s == NULL) {
            return mem_fail(err, sizeof *s, "encoder");
        }
        pw_scratch_init(s, w->a);
    }
    *out = s;
    return GREBE_OK;
}

static void scratch_give(struct pw_writer *w, struct pw_scratch *s)
{
    pthread_mutex_lock(&w->lock);
    s->next = w->idle;
    w->idle = s;
    pthread_mutex_unlock(&w->lock);
}

/* ---- one wave: pieces of the batch into groups, full groups to bytes ---- */

static grebe_status encode_chunk(struct pw_writer *w, struct pw_chunk *c, grebe_error *err)
{
    struct pw_scratch *s = NULL;
    grebe_status st = scratch_take(w, &s, err);

    if (st == GREBE_OK) {
        st = pw_chunk_encode(c, &w->config, s, err);
        scratch_give(w, s);
    }
    return st;
}

static const struct ArrowArray *column_of(const struct pw_writer *w, const struct pw_leaf *leaf)
{
    return w->batch->children[leaf->column];
}

/* Item i: leaf i % n_leaves of every piece that belongs to group i / n_leaves. */
static grebe_status wave_item(void *arg, size_t i, grebe_error *err)
{
    struct pw_writer *w = arg;
    struct pw_group *g = &w->groups[i / w->schema.n_leaves];
    struct pw_chunk *c = &g->chunks[i % w->schema.n_leaves];
    grebe_status st = GREBE_OK;

    for (size_t k = 0; k < w->n_pieces && st == GREBE_OK; k++) {
        const struct pw_piece *p = &w->pieces[k];

        if (p->group == g) {
            st = pw_chunk_add(c, column_of(w, c->leaf), w->batch->offset + p->begin, p->n, err);
        }
    }
    if (st == GREBE_OK && g->is_full) {
        st = encode_chunk(w, c, err);
    }
    return st;
}

static void group_clear(struct pw_writer *w, struct pw_group *g)
{
    for (uint32_t i = 0; i < w->schema.n_leaves; i++) {
        pw_chunk_clear(&g->chunks[i]);
    }
    g->n_rows = g->n_bits = g->n_bytes = 0;
    g->is_full = false;
}

static grebe_status run_wave(struct pw_writer *w, grebe_error *err)
{
    size_t n_groups = 0;
    int64_t n_values = 0;
    uint32_t threads = 1;
    grebe_status st = GREBE_OK;

    for (size_t k = 0; k < w->n_pieces; k++) {
        n_groups = max_size(n_groups, (size_t)(w->pieces[k].group - w->groups) + 1);
        n_values += w->pieces[k].n * w->schema.n_leaves;
    }
    if (w->n_pieces == 0) {
        n_groups = 1; /* the last group, at finish */
    }
    if (w->groups[0].is_full || n_values >= PARALLEL_VALUES_MIN) {
        threads = w->call.threads;
    }
    GREBE_TRY(parallel_for(w->ctx->pool, threads, n_groups * w->schema.n_leaves, wave_item, w,
                           w->call.cancel, err));
    for (size_t g = 0; g < n_groups && w->groups[g].is_full; g++) {
        GREBE_TRY(pw_group_write(w, &w->groups[g], err));
        group_clear(w, &w->groups[g]);
    }
    if (w->groups[n_groups - 1].n_rows > 0 && n_groups > 1) {
        const struct pw_group partial = w->groups[n_groups - 1];

        w->groups[n_groups - 1] = w->groups[0];
        w->groups[0] = partial;
    }
out:
    return st;
}

/* ---- the format's functions ---- */

static grebe_status check_state(struct pw_writer *w, grebe_error *err)
{
    if (w->is_failed || w->is_finished) {
        return GREBE_FAIL(err, GREBE_EINVAL, "%s: the writer %s", w->to->path,
                          w->is_failed ? "failed before" : "is finished");
    }
    return call_check(&w->call, err);
}

static grebe_status writer_write(struct format_writer *base, const struct ArrowArray *batch,
                                 grebe_error *err)
{
    struct pw_writer *w = (struct pw_writer *)base;
    int64_t begin = 0;
    grebe_status st = check_state(w, err);

    if (st != GREBE_OK) {
        return st;
    }
    w->is_failed = true; /* until all went well */
    GREBE_TRY(pw_input_begin(&w->input, &w->schema.arrow, batch, &w->batch, err));
    while (begin < batch->length) {
        GREBE_TRY(call_check(&w->call, err));
        GREBE_TRY(pw_plan(w, &begin, err));
        GREBE_TRY(run_wave(w, err));
    }
    w->n_rows += batch->length;
    w->is_failed = false;
out:
    pw_input_end(&w->input);
    w->batch = NULL;
    return st;
}

static grebe_status writer_finish(struct format_writer *base, struct file_summary *out,
                                  grebe_error *err)
{
    struct pw_writer *w = (struct pw_writer *)base;
    grebe_status st = check_state(w, err);

    if (st != GREBE_OK) {
        return st;
    }
    w->is_failed = true;
    if (w->groups[0].n_rows > 0) {
        w->groups[0].is_full = true;
        w->n_pieces = 0;
        GREBE_TRY(run_wave(w, err));
    }
    GREBE_TRY(pw_footer_write(w, out, err));
    w->is_failed = false;
    w->is_finished = true;
out:
    return st;
}

static void writer_free(struct format_writer *base)
{
    struct pw_writer *w = (struct pw_writer *)base;

    if (w == NULL) {
        return;
    }
    for (size_t g = 0; w->groups != NULL && g < w->n_groups_max; g++) {
        for (uint32_t i = 0; w->groups[g].chunks != NULL && i < w->schema.n_leaves; i++) {
            pw_chunk_release(&w->groups[g].chunks[i]);
        }
    }
    while (w->idle != NULL) {
        struct pw_scratch *s = w->idle;

        w->idle = s->next;
        pw_scratch_release(s);
        mem_free(w->a, s, sizeof *s);
    }
    if (w->has_lock) {
        pthread_mutex_destroy(&w->lock);
    }
    buf_release(&w->row_groups);
    buf_release(&w->blooms);
    buf_release(&w->column_indexes);
    buf_release(&w->offset_indexes);
    buf_release(&w->milvus_groups);
    pw_input_release(&w->input);
    pw_schema_release(&w->schema);
    arena_release(&w->arena);
    mem_free(w->a, w, sizeof *w);
}

static const struct format_writer_ops writer_ops = {writer_write, writer_finish, writer_free};

/* A level that the codec does not have is refused here, not by the first page that needs it. */
static grebe_status try_level(struct pw_writer *w, grebe_error *err)
{
    struct codec_workspace ws = CODEC_WORKSPACE_INIT(w->a);
    struct buf packed = BUF_INIT(w->a);
    const grebe_status st = codec_compress(w->config.codec, w->config.level, "level", 5, &packed,
                                           &ws, err);

    buf_release(&packed);
    codec_workspace_release(&ws);
    return st;
}

static grebe_status choose_codec(struct pw_writer *w, const struct format_write_options *o,
                                 grebe_error *err)
{
    w->config.codec = CODEC_ZSTD;
    w->config.level = o->compression_level;
    w->config.is_milvus = o->is_profile_milvus;
    if (o->compression != NULL) {
        w->config.is_codec_asked = true;
        if (!codec_from_name(o->compression, &w->config.codec) ||
            w->config.codec == CODEC_DEFLATE || w->config.codec == CODEC_LZ4_HADOOP) {
            return GREBE_FAIL(err, GREBE_EINVAL,
                              "compression: expected none, snappy, gzip, brotli, lz4 or zstd, found %s",
                              o->compression);
        }
    }
    if (!codec_is_available(w->config.codec, true)) {
        return GREBE_FAIL(err, GREBE_EUNSUPPORTED, "codec %s is not built in",
                          codec_name(w->config.codec));
    }
    return o->compression_level == CODEC_LEVEL_DEFAULT ? GREBE_OK : try_level(w, err);
}

static grebe_status choose_layout(struct pw_writer *w, const struct format_write_options *o,
                                  grebe_error *err)
{
    struct pw_config *c = &w->config;
    const bool is_bulk = o->is_bulk && !c->is_milvus;
    const bool is_chosen = o->data_page_version != 0 || o->page_bytes != 0 || o->page_rows != 0 ||
                           o->is_without_statistics || o->is_without_page_index ||
                           o->is_without_checksums || o->n_encodings > 0 ||
                           o->n_bloom_columns > 0;

    if (c->is_milvus && is_chosen) {
        return GREBE_FAIL(err, GREBE_EINVAL,
                          "profile milvus: encodings, bloom filters, pages and what is left out "
                          "cannot be chosen");
    }
    if (o->data_page_version < 0 || o->data_page_version > 2) {
        return GREBE_FAIL(err, GREBE_EINVAL, "data page version: expected 1 or 2, found %d",
                          o->data_page_version);
    }
    if (o->page_bytes < 0 || o->page_bytes > PW_PAGE_BYTES_MAX || o->page_rows < 0) {
        return GREBE_FAIL(err, GREBE_EINVAL,
                          "pages: expected 1 to %d bytes and at least 1 row, found %lld and %lld",
                          PW_PAGE_BYTES_MAX, (long long)o->page_bytes, (long long)o->page_rows);
    }
    if (o->bloom_rate != 0 && !(o->bloom_rate > 0 && o->bloom_rate < 1)) {
        return GREBE_FAIL(err, GREBE_EINVAL,
                          "bloom filters: expected a false positive rate between 0 and 1, found %g",
                          o->bloom_rate);
    }
    c->is_v2 = o->data_page_version == 2;
    c->is_without_statistics = o->is_without_statistics;
    c->is_without_page_index = o->is_without_page_index;
    c->is_without_checksums = o->is_without_checksums;
    c->page_bytes = o->page_bytes > 0 ? o->page_bytes
                    : is_bulk         ? PW_PAGE_BYTES_BULK
                                      : PW_PAGE_BYTES;
    c->page_rows = o->page_rows > 0    ? o->page_rows
                   : o->page_bytes > 0 ? INT32_MAX
                   : is_bulk           ? PW_PAGE_ROWS_BULK
                                       : PW_PAGE_ROWS;
    c->split_page_bytes = o->page_bytes > 0 ? o->page_bytes
                          : is_bulk         ? PW_SPLIT_PAGE_BYTES_BULK
                                            : PW_SPLIT_PAGE_BYTES;
    c->split_page_rows = o->page_rows > 0 ? o->page_rows : INT32_MAX;
    c->vector_page_bytes = is_bulk ? PW_VECTOR_PAGE_BYTES_BULK : PW_VECTOR_PAGE_BYTES;
    c->dictionary_bytes_max = o->is_without_dictionary ? 0
                              : is_bulk                ? PW_DICT_BYTES_MAX_BULK
                                                       : PW_DICT_BYTES_MAX;
    c->bloom_rate = o->bloom_rate > 0 ? o->bloom_rate : BLOOM_RATE;
    return GREBE_OK;
}

static grebe_status make_groups(struct pw_writer *w, grebe_error *err)
{
    const uint64_t fit = w->call.memory_limit_bytes / (uint64_t)(4 * w->group_bytes);

    w->n_groups_max = (size_t)min_u64(min_u64(w->call.threads, GROUPS_AT_ONCE_MAX), fit);
    w->n_groups_max = max_size(1, w->n_groups_max);
    w->groups = arena_array(&w->arena, w->n_groups_max, sizeof *w->groups);
    w->pieces = arena_array(&w->arena, w->n_groups_max, sizeof *w->pieces);
    if (w->groups == NULL || w->pieces == NULL) {
        return mem_fail(err, w->n_groups_max * sizeof *w->groups, "row groups");
    }
    for (size_t g = 0; g < w->n_groups_max; g++) {
        struct pw_chunk *chunks = arena_array(&w->arena, w->schema.n_leaves, sizeof *chunks);

        if (chunks == NULL) {
            return mem_fail(err, w->schema.n_leaves * sizeof *chunks, "row groups");
        }
        for (uint32_t i = 0; i < w->schema.n_leaves; i++) {
            pw_chunk_init(&chunks[i], w->a, &w->schema.leaves[i]);
        }
        w->groups[g].chunks = chunks;
    }
    return GREBE_OK;
}

static grebe_status make_schema(struct pw_writer *w, const struct ArrowSchema *given,
                                grebe_error *err)
{
    struct ArrowSchema written = {0};
    grebe_status st = GREBE_OK;

    GREBE_TRY(schema_check(given, err));
    GREBE_TRY(pw_input_init(&w->input, w->a, &w->arena, given, err));
    GREBE_TRY(pw_schema_written(w->a, given, &written, err));
    GREBE_TRY(pw_schema_build(w->a, &w->arena, &written, w->config.is_milvus, &w->schema, err));
out:
    schema_release(&written);
    return st;
}

grebe_status parquet_writer_create(grebe_context *ctx, struct io_writer *to,
                                   const struct ArrowSchema *schema,
                                   const struct format_write_options *options,
                                   struct format_writer **out, grebe_error *err)
{
    struct pw_writer *w = mem_alloc_zero(ctx->a, sizeof *w);
    grebe_status st = GREBE_OK;

    *out = NULL;
    if (w == NULL) {
        return mem_fail(err, sizeof *w, "Parquet writer");
    }
    w->base.ops = &writer_ops;
    w->ctx = ctx;
    w->a = ctx->a;
    w->to = to;
    w->call = options->call;
    w->call.threads = w->call.threads == 0 ? 1 : w->call.threads;
    if (w->call.memory_limit_bytes == 0) {
        w->call.memory_limit_bytes = UINT64_MAX;
    }
    w->arena = ARENA_INIT(w->a);
    w->row_groups = BUF_INIT(w->a);
    w->blooms = BUF_INIT(w->a);
    w->column_indexes = BUF_INIT(w->a);
    w->offset_indexes = BUF_INIT(w->a);
    w->milvus_groups = BUF_INIT(w->a);
    w->is_group_bytes_given = options->row_group_bytes > 0;
    w->group_bytes = w->is_group_bytes_given ? min_i64(options->row_group_bytes, PW_GROUP_BYTES_MAX)
                     : options->is_bulk && !options->is_profile_milvus ? PW_GROUP_BYTES_WHOLE
                                            : PW_GROUP_BYTES;
    w->group_rows_max = max_i64(0, options->row_group_rows);
    w->expected_rows = options->expected_rows;
    if (pthread_mutex_init(&w->lock, NULL) != 0) {
        st = mem_fail(err, sizeof w->lock, "lock");
        goto out;
    }
    w->has_lock = true;
    GREBE_TRY(choose_codec(w, options, err));
    GREBE_TRY(choose_layout(w, options, err));
    GREBE_TRY(make_schema(w, schema, err));
    GREBE_TRY(pw_apply_columns(&w->schema, options, err));
    GREBE_TRY(pw_metadata_keep(w, options, err));
    GREBE_TRY(make_groups(w, err));
    *out = &w->base;
    w = NULL;
out:
    if (w != NULL) {
        writer_free(&w->base);
    }
    return st;
}
