/* SPDX-License-Identifier: Apache-2.0 */
/* Parquet: row groups are what can be read from. */
#include "builder/builder_parquet.h"

#include <string.h>

#include "base/checked.h"
#include "builder/builder_filter.h"

/* Whether a failure is of the file and the file may be passed over. */
static bool is_passed_over(const struct parquet_builder *b, grebe_status st, const char *path, const grebe_error *err)
{
    bool is_bad = st == GREBE_ECORRUPT || st == GREBE_EUNSUPPORTED || st == GREBE_ELIMIT;
    if (!is_bad || b->on_bad == BAD_ERROR) {
        return false;
    }
    if (b->on_bad == BAD_WARN) {
        context_log(b->base.b.ctx, GREBE_LOG_WARNING, "%s is passed over: %s", path, err != NULL ? err->message : "");
    }
    return true;
}

/* ---- rows ---- */

struct parquet_rows {
    struct parquet_builder *b;
    const char *path;
    struct parquet_input in;
    size_t chunk, end;     /* row groups */
    int64_t in_chunk;      /* rows of the next one that were read: without a filter, groups are read in pieces */
    int64_t piece;         /* about so many rows are read next */
    int64_t row;           /* rows given out */
    struct shard_place group; /* of the group, or the piece of it, in hand */
    struct array_shared *rows; /* of it; NULL: none */
    int64_t rows_at;
    bool is_over;
};

/* Rows of a row group that are read together, so that a large group is neither held nor, to go on within it, read as a
 * whole. The first ones are few: who asks for one row, as after going on in the middle, waits for little. */
enum { PIECE_FIRST = 512, PIECE_ROWS = 32768, PIECE_GROWTH = 8 };

static int64_t piece_end(const struct parquet_rows *p, size_t chunk, int64_t begin)
{
    int64_t end = p->in.r->chunk_begin[chunk + 1], batch = p->b->batch_rows > 0 ? p->b->batch_rows : 1;
    int64_t piece = batch >= p->piece ? batch : p->piece / batch * batch;
    return p->in.filter != NULL || end - begin <= piece ? end : begin + piece;
}

struct check_work {
    const struct ArrowSchema *schema;
    const struct ArrowArray *rows;
};

static grebe_status check_values(void *arg, size_t i, grebe_error *err)
{
    const struct check_work *w = arg;
    return array_check(w->schema->children[i], w->rows->children[i], true, err);
}

/* The next row group, or piece of one, with rows. */
static grebe_status read_group(struct parquet_rows *p, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct format_reader *r = p->in.r;
    const grebe_allocator *a = p->b->base.b.ctx->a;
    while (p->chunk < p->end) {
        struct ArrowArray rows = { 0 }, kept = { 0 };
        enum expr_answer answer = EXPR_ALL;
        size_t chunk = p->chunk;
        int64_t begin = r->chunk_begin[chunk] + p->in_chunk, end = piece_end(p, chunk, begin);
        bool is_last = end == r->chunk_begin[chunk + 1];
        p->group = (struct shard_place){ p->row, chunk };
        p->piece = min_i64(p->piece * PIECE_GROWTH, PIECE_ROWS);
        p->chunk += is_last;
        p->in_chunk = is_last ? 0 : end - r->chunk_begin[chunk];
        st = parquet_input_prune(&p->in, chunk, &answer, err);
        if (st != GREBE_OK) {
            return st;
        }
        if (answer == EXPR_NONE) {
            continue;
        }
        st = r->ops->read(r, p->in.columns, answer == EXPR_ALL ? p->in.n_wanted : p->in.n, begin, end, &p->b->base.call,
                          &rows, err);
        if (st == GREBE_OK && answer == EXPR_SOME) {
            st = parquet_input_filter(a, &p->in, &rows, &kept, err);
            array_move(&rows, &kept);
        }
        if (st == GREBE_OK) { /* pages do not promise that text is UTF-8 */
            struct check_work w = { &p->in.schema, &rows };
            st = parallel_for(p->b->base.b.ctx->pool, p->b->base.call.threads, (size_t)rows.n_children, check_values, &w,
                              p->b->base.call.cancel, err);
            st = st == GREBE_OK ? st : error_wrap(err, st, "%s, row group %zu", p->path, chunk);
        }
        if (st != GREBE_OK) {
            array_release(&rows);
            return st;
        }
        if (rows.length > 0) {
            st = array_share(a, &rows, &p->rows, err);
            p->rows_at = 0;
            array_release(&rows);
            return st;
        }
        array_release(&rows);
    }
    return GREBE_END;
}

static grebe_status parquet_next(void *self, struct ArrowSchema *schema, struct ArrowArray *out, grebe_error *err)
{
    struct parquet_rows *p = self;
    const grebe_allocator *a = p->b->base.b.ctx->a;
    grebe_status st = p->is_over ? GREBE_END : GREBE_OK;
    struct ArrowArray part = { 0 };
    struct ArrowSchema type = { 0 };
    if (st == GREBE_OK && p->rows == NULL) {
        st = read_group(p, err);
        if (st != GREBE_OK && st != GREBE_END && is_passed_over(p->b, st, p->path, err)) {
            p->is_over = true;
            st = GREBE_END;
        }
    }
    if (st != GREBE_OK) {
        return st;
    }
    int64_t left = array_shared_get(p->rows)->length - p->rows_at;
    int64_t n = p->b->batch_rows > 0 ? min_i64(left, p->b->batch_rows) : left;
    st = array_slice(p->rows, p->rows_at, n, &part, err);
    st = st == GREBE_OK ? schema_copy(a, &p->in.schema, &type, err) : st;
    if (st != GREBE_OK) {
        array_release(&part);
        return st;
    }
    p->rows_at += n;
    if (n == left) {
        array_shared_drop(p->rows);
        p->rows = NULL;
    }
    st = builder_emit(&p->b->base, p->path, &type, &part, p->b->base.is_given, p->row, schema, out, err);
    p->row += n;
    return st;
}

static struct shard_place parquet_place(void *self)
{
    const struct parquet_rows *p = self;
    return p->rows != NULL ? p->group : (struct shard_place){ p->row, p->chunk };
}

/* Row groups, and rows of one, that nobody asks for are not decoded. */
static int64_t parquet_skip(void *self, int64_t n)
{
    struct parquet_rows *p = self;
    int64_t left = n;
    if (p->is_over || p->rows != NULL || p->in.filter != NULL) {
        return 0;
    }
    while (left > 0 && p->chunk < p->end) {
        const int64_t *begin = &p->in.r->chunk_begin[p->chunk];
        int64_t in_group = begin[1] - begin[0] - p->in_chunk, step = min_i64(left, in_group);
        if (step < in_group && p->b->batch_rows > 0) { /* batches begin where they would have begun */
            step = (p->in_chunk + step) / p->b->batch_rows * p->b->batch_rows - p->in_chunk;
            if (step <= 0) {
                break;
            }
        }
        p->in_chunk += step;
        left -= step;
        if (step == in_group) {
            p->chunk++;
            p->in_chunk = 0;
        }
    }
    p->row += n - left;
    return n - left;
}

static int64_t parquet_next_row(void *self) { return ((struct parquet_rows *)self)->row; }

static void parquet_rows_free(void *self)
{
    struct parquet_rows *p = self;
    const grebe_allocator *a = p->b->base.b.ctx->a;
    array_shared_drop(p->rows);
    parquet_input_close(a, &p->in);
    mem_free(a, p, sizeof *p);
}

static const struct shard_reader_ops parquet_rows_ops = { parquet_next, parquet_place, parquet_next_row,
                                                          parquet_rows_free, parquet_skip };

static grebe_status parquet_read(struct builder *base, size_t split, size_t file, int64_t part, struct shard_place place,
                                 struct shard_reader *out, grebe_error *err)
{
    struct parquet_builder *b = (struct parquet_builder *)base;
    struct parquet_rows *p = mem_alloc_zero(base->ctx->a, sizeof *p);
    if (p == NULL) {
        return mem_fail(err, sizeof *p, "a reader");
    }
    p->b = b;
    p->path = builder_path(&b->base, split, file);
    grebe_status st = parquet_input_open(b, p->path, &p->in, err);
    if (st != GREBE_OK && is_passed_over(b, st, p->path, err)) {
        p->is_over = true;
        st = GREBE_OK;
    }
    size_t n = p->in.r != NULL ? p->in.r->n_chunks : 0;
    if (st == GREBE_OK && !p->is_over && (place.at > n || (part >= 0 && (uint64_t)part >= n))) {
        st = GREBE_FAIL(err, GREBE_EINVAL, "%s: expected a place in %zu row groups", p->path, n);
    }
    if (st != GREBE_OK) {
        parquet_rows_free(p);
        return st;
    }
    p->end = part >= 0 ? (size_t)part + 1 : n;
    p->chunk = part >= 0 ? max_size((size_t)part, (size_t)place.at) : (size_t)place.at;
    p->row = place.row;
    p->piece = PIECE_FIRST;
    if (p->in.r != NULL && p->chunk < p->end &&
        p->in.filter == NULL) { /* rows of the shard are those of the file from its first group on */
        const int64_t *begins = p->in.r->chunk_begin;
        int64_t first = begins[part >= 0 ? part : 0], in_chunk = place.row - (begins[p->chunk] - first);
        if (in_chunk < 0 || in_chunk >= begins[p->chunk + 1] - begins[p->chunk]) {
            in_chunk = 0;
            p->row = begins[p->chunk] - first;
        }
        p->in_chunk = in_chunk;
    }
    *out = (struct shard_reader){ &parquet_rows_ops, p };
    return GREBE_OK;
}

/* ---- the builder ---- */

static grebe_status parquet_infer(struct builder *base, grebe_error *err)
{
    struct parquet_builder *b = (struct parquet_builder *)base;
    const grebe_allocator *a = base->ctx->a;
    struct ArrowSchema schema = { 0 };
    grebe_status st = GREBE_OK;
    for (size_t i = 0; i < builder_n_files(&b->base); i++) {
        struct parquet_input in;
        const char *path = builder_file(&b->base, i);
        if (schema.release != NULL && !builder_has_nulls(&schema)) {
            break;
        }
        st = parquet_input_open(b, path, &in, err);
        if (st != GREBE_OK && is_passed_over(b, st, path, err)) {
            st = GREBE_OK;
            continue;
        }
        if (st == GREBE_OK && schema.release == NULL) {
            schema_move(&schema, &in.schema);
        } else if (st == GREBE_OK) {
            st = builder_widen_nulls(a, &schema, &in.schema, err);
        } else if (schema.release != NULL) { /* whoever reads this file will say so */
            st = GREBE_OK;
            break;
        }
        parquet_input_close(a, &in);
        GREBE_TRY(st);
    }
    if (schema.release == NULL) {
        GREBE_TRY(schema_new(a, "+s", "", false, 0, &schema, err));
    }
    st = builder_set_schema(&b->base, &schema, true, err);
out:
    schema_release(&schema);
    return st;
}

static grebe_status parquet_parts(struct builder *base, size_t split, size_t file, int64_t *n, grebe_error *err)
{
    struct parquet_builder *b = (struct parquet_builder *)base;
    struct parquet_input in;
    const char *path = builder_path(&b->base, split, file);
    grebe_status st = parquet_input_open(b, path, &in, err);
    *n = 1;
    if (st != GREBE_OK) {
        return is_passed_over(b, st, path, err) ? GREBE_OK : st;
    }
    *n = in.r->n_chunks > 0 ? (int64_t)in.r->n_chunks : 1;
    parquet_input_close(base->ctx->a, &in);
    return GREBE_OK;
}

static void parquet_free(struct builder *base)
{
    struct parquet_builder *b = (struct parquet_builder *)base;
    buf_release(&b->where);
    builder_base_free(base);
}

static const struct builder_ops parquet_ops = { parquet_infer, parquet_parts, parquet_read, parquet_free, NULL };

static grebe_status parquet_set_up(struct builder *base, grebe_error *err)
{
    struct parquet_builder *b = (struct parquet_builder *)base;
    grebe_status st = GREBE_OK;
    b->where = BUF_INIT(base->ctx->a);
    const char *bad = "error";
    const struct json_value *filters = builder_option_set(&b->base, "filters");
    b->columns = builder_option_set(&b->base, "columns");
    GREBE_TRY(builder_option_i64(&b->base, "batch_size", 1, &b->batch_rows, err));
    GREBE_TRY(builder_option_text(&b->base, "on_bad_files", &bad, err));
    if (strcmp(bad, "warn") == 0) {
        b->on_bad = BAD_WARN;
    } else if (strcmp(bad, "skip") == 0) {
        b->on_bad = BAD_SKIP;
    } else if (strcmp(bad, "error") != 0) {
        st = builder_option_fail("on_bad_files", "error, warn or skip", builder_option(&b->base, "on_bad_files"), err);
        goto out;
    }
    for (size_t i = 0; b->columns != NULL && (b->columns->type != JSON_ARRAY || i < b->columns->n); i++) {
        const struct json_value *name = b->columns->type == JSON_ARRAY ? &b->columns->items[i] : b->columns;
        if (name->type != JSON_STRING || b->columns->type != JSON_ARRAY) {
            st = builder_option_fail("columns", "a list of names", name, err);
            goto out;
        }
        if (b->base.is_given && features_find(b->base.b.features, name->text) == NULL) {
            st = GREBE_FAIL(err, GREBE_EINVAL, "option \"columns\": \"%s\" is not among the features", name->text);
            goto out;
        }
    }
    if (b->columns != NULL && b->base.is_given && b->columns->n != b->base.b.features->top.n_fields) {
        st = GREBE_FAIL(err, GREBE_EINVAL, "expected columns and features that agree, found %zu and %zu", b->columns->n,
                        b->base.b.features->top.n_fields);
        goto out;
    }
    if (filters != NULL) {
        GREBE_TRY(builder_filter_text(filters, &b->where, err));
        st = buf_text(&b->where) != NULL ? GREBE_OK : mem_fail(err, 0, "a filter");
    }
out:
    return st;
}

static const char *const parquet_extensions[] = { ".parquet", ".geoparquet", ".gpq", NULL };
static const char *const parquet_options[] = { "columns", "batch_size", "filters", "features", "on_bad_files",
                                               "fragment_scan_options", NULL };

const struct builder_kind builder_parquet = { .name = "parquet",
                                              .extensions = parquet_extensions,
                                              .options = parquet_options,
                                              .knows_features = true,
                                              .size = sizeof(struct parquet_builder),
                                              .ops = &parquet_ops,
                                              .set_up = parquet_set_up };
