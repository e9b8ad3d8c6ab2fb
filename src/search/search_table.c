/* SPDX-License-Identifier: Apache-2.0 */
/* The nearest rows of a table. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "search/search_column.h"
#include "search/search_internal.h"

/* Results of all queries: shape [n][k], id -1 where there is none. */
struct nearest {
    const grebe_allocator *a;
    size_t n, k;
    int64_t *ids;
    float *distances;
};

static grebe_status nearest_new(const grebe_allocator *a, size_t n, size_t k, struct nearest *out, grebe_error *err)
{
    size_t total = 0;
    *out = (struct nearest){ .a = a, .n = n, .k = k };
    if (!checked_mul_size(n, k, &total) || total > SIZE_MAX / 16) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "results of %zu queries with %zu rows each do not fit in memory", n, k);
    }
    out->ids = mem_alloc(a, total * sizeof *out->ids);
    out->distances = mem_alloc(a, total * sizeof *out->distances);
    if (out->ids == NULL || out->distances == NULL) {
        return mem_fail(err, total * sizeof *out->ids, "results");
    }
    for (size_t i = 0; i < total; i++) {
        out->ids[i] = -1;
        out->distances[i] = INFINITY;
    }
    return GREBE_OK;
}

static void nearest_release(struct nearest *r)
{
    mem_free(r->a, r->ids, r->n * r->k * sizeof *r->ids);
    mem_free(r->a, r->distances, r->n * r->k * sizeof *r->distances);
}

/* Rows of a later batch into the results; equal distances: the earlier row stays in front. */
static void merge(struct nearest *into, const struct nearest *more, size_t query, int64_t *ids, float *distances)
{
    size_t k = into->k, x = 0, y = 0;
    int64_t *to = into->ids + query * k;
    float *to_distances = into->distances + query * k;
    const int64_t *from = more->ids + query * k;
    const float *from_distances = more->distances + query * k;
    for (size_t i = 0; i < k; i++) {
        bool is_old = to[x] >= 0 && (from[y] < 0 || to_distances[x] <= from_distances[y]);
        ids[i] = is_old ? to[x] : from[y];
        distances[i] = is_old ? to_distances[x] : from_distances[y];
        x += is_old;
        y += !is_old && from[y] >= 0;
        if (ids[i] < 0) {
            distances[i] = INFINITY;
        }
    }
    memcpy(to, ids, k * sizeof *ids);
    memcpy(to_distances, distances, k * sizeof *distances);
}

struct search {
    const grebe_table *table;
    const char *column;
    const grebe_vectors *queries;
    grebe_table_search_options o;
    struct call call;
    struct nearest result;
};

static grebe_status search_batch(struct search *s, const struct search_column *c, struct nearest *part, int64_t *ids,
                                 float *distances, grebe_error *err)
{
    grebe_ann_index *flat = NULL;
    grebe_vectors v = GREBE_VECTORS_INIT;
    grebe_ann_index_search_options o = GREBE_ANN_INDEX_SEARCH_OPTIONS_INIT;
    grebe_status st = grebe_ann_index_new(s->table->ctx, GREBE_ANN_INDEX_FLAT, s->o.metric, (grebe_elem)c->elem, NULL, 0,
                                          s->call.threads, &flat, err);
    v.elem = (grebe_elem)c->elem;
    v.rows = c->n;
    v.dim = c->dim;
    v.data = c->rows;
    st = st == GREBE_OK ? options_copy(&o.call, sizeof o.call, s->o.call, err) : st;
    st = st == GREBE_OK ? grebe_ann_index_add(flat, &v, c->ids, s->o.call, err) : st;
    st = st == GREBE_OK ? grebe_ann_index_search(flat, s->queries, s->result.k, &o, part->ids, part->distances, err) : st;
    for (size_t q = 0; st == GREBE_OK && q < part->n; q++) {
        merge(&s->result, part, q, ids, distances);
    }
    grebe_ann_index_close(flat);
    return st;
}

/* Every row that fits, batch by batch: memory is that of some batches. */
static grebe_status search_all(struct search *s, grebe_error *err)
{
    const grebe_allocator *a = s->table->ctx->a;
    struct ArrowArrayStream rows = { 0 };
    struct search_reader reader = { 0 };
    struct search_column c = { .a = a };
    struct nearest part = { .a = a }, spare = { .a = a };
    grebe_scan_options scan = GREBE_SCAN_OPTIONS_INIT;
    grebe_status st = GREBE_OK;
    scan.columns = &s->column;
    scan.n_columns = 1;
    scan.with_row_id = true;
    scan.where = s->o.where;
    scan.call = s->o.call;
    GREBE_TRY(nearest_new(a, s->result.n, s->result.k, &part, err));
    GREBE_TRY(nearest_new(a, 1, s->result.k, &spare, err));
    GREBE_TRY(grebe_table_scan(s->table, &scan, &rows, err));
    GREBE_TRY(search_reader_open(&rows, s->column, "_rowid", &reader, err));
    for (;;) {
        GREBE_TRY(call_check(&s->call, err));
        c.n = 0;
        st = search_reader_next(&reader, 0, &c, err);
        if (st == GREBE_END) {
            st = GREBE_OK;
            break;
        }
        GREBE_TRY(st);
        if (c.n != 0) {
            GREBE_TRY(search_batch(s, &c, &part, spare.ids, spare.distances, err));
        }
    }
out:
    search_reader_close(&reader);
    search_column_release(&c);
    nearest_release(&part);
    nearest_release(&spare);
    stream_release(&rows);
    return st;
}

/* ---- by an index ---- */

/* Row ids of the rows that fit, as int64. */
static grebe_status allowed_ids(const struct search *s, struct buf *out, grebe_error *err)
{
    struct ArrowArrayStream rows = { 0 };
    struct ArrowArray batch = { 0 };
    grebe_scan_options scan = GREBE_SCAN_OPTIONS_INIT;
    static const char *const none[1] = { NULL };
    grebe_status st = GREBE_OK;
    scan.columns = none;
    scan.n_columns = 0;
    scan.with_row_id = true;
    scan.where = s->o.where;
    scan.call = s->o.call;
    GREBE_TRY(grebe_table_scan(s->table, &scan, &rows, err));
    for (;;) {
        st = stream_next(&rows, &batch, err);
        if (st == GREBE_END) {
            st = GREBE_OK;
            break;
        }
        GREBE_TRY(st);
        const struct ArrowArray *ids = batch.children[0];
        GREBE_TRY(buf_put(out, (const int64_t *)ids->buffers[1] + ids->offset, (size_t)ids->length * sizeof(int64_t), err));
        array_release(&batch);
    }
out:
    array_release(&batch);
    stream_release(&rows);
    return st;
}

/* What the version says about its index. A file of another table, or of another column, is found out where it can be. */
static grebe_status check_index(const struct search *s, const grebe_ann_index *index, const grebe_index_info *info,
                                const char *path, grebe_error *err)
{
    grebe_ann_index_stats stats = GREBE_ANN_INDEX_STATS_INIT;
    struct ArrowSchema schema = { 0 };
    enum vector_elem elem = VECTOR_F32;
    uint32_t dim = 0;
    int at = 0;
    grebe_status st = GREBE_OK;
    GREBE_TRY(grebe_ann_index_get_stats(index, &stats, err));
    GREBE_TRY(grebe_table_schema(s->table, &schema, err));
    GREBE_TRY(schema_find(&schema, s->column, &at, err));
    GREBE_TRY(search_column_type(schema.children[at], &elem, &dim, err));
    elem = elem == VECTOR_F64 ? VECTOR_F32 : elem;
    if (strcmp(info->index_type + strlen(SEARCH_TYPE_PREFIX), grebe_ann_index_kind_name(stats.kind)) != 0 ||
        (stats.dim != 0 && dim != 0 && stats.dim != dim) || stats.elem != (grebe_elem)elem ||
        stats.rows > (uint64_t)grebe_table_num_rows(s->table)) {
        st = GREBE_FAIL(err, GREBE_ECORRUPT, "%s: expected a %s of %u %s, found a %s of %" PRIu64 " rows of %u %s", path,
                        info->index_type, dim, vector_elem_name(elem), grebe_ann_index_kind_name(stats.kind), stats.rows,
                        stats.dim, vector_elem_name((enum vector_elem)stats.elem));
    }
out:
    schema_release(&schema);
    return st;
}

static grebe_status check_found(const struct search *s, const char *path, grebe_error *err)
{
    int64_t n = grebe_table_num_rows(s->table);
    for (size_t i = 0; i < s->result.n * s->result.k; i++) {
        if (s->result.ids[i] < -1 || s->result.ids[i] >= n) {
            return GREBE_FAIL(err, GREBE_ECORRUPT, "%s: expected ids below %" PRId64 ", found %" PRId64, path, n,
                              s->result.ids[i]);
        }
    }
    return GREBE_OK;
}

/* By the index, or by every row where that is asked for or the index has another metric than the one wanted. */
static grebe_status search_index(struct search *s, const grebe_index_info *info, grebe_error *err)
{
    grebe_context *ctx = s->table->ctx;
    grebe_ann_index *index = NULL;
    struct buf path = BUF_INIT(ctx->a), ids = BUF_INIT(ctx->a);
    grebe_ann_index_search_options o = GREBE_ANN_INDEX_SEARCH_OPTIONS_INIT;
    static const int64_t nobody[1] = { 0 };
    grebe_ann_index_stats stats = GREBE_ANN_INDEX_STATS_INIT;
    grebe_status st = GREBE_OK;
    GREBE_TRY(search_index_path(ctx->a, info->path, &path, err));
    st = grebe_ann_index_open(ctx, (const char *)path.data, false, &index, err);
    st = st == GREBE_OK ? check_index(s, index, info, (const char *)path.data, err) : st;
    st = st == GREBE_OK ? grebe_ann_index_get_stats(index, &stats, err) : st;
    if (s->o.is_exact && (st == GREBE_OK || st == GREBE_ECORRUPT || st == GREBE_ENOTFOUND)) {
        /* A damaged index does not keep its column from being read. */
        s->o.metric = st == GREBE_OK ? stats.metric : s->o.metric;
        st = search_all(s, err);
        goto out;
    }
    GREBE_TRY(st);
    if (s->o.has_metric && s->o.metric != stats.metric) {
        st = search_all(s, err);
        goto out;
    }
    o.params = s->o.params;
    o.n_params = s->o.n_params;
    GREBE_TRY(options_copy(&o.call, sizeof o.call, s->o.call, err));
    if (s->o.where != NULL) {
        GREBE_TRY(allowed_ids(s, &ids, err));
        o.n_ids = ids.len / sizeof(int64_t);
        o.ids = o.n_ids != 0 ? (const int64_t *)(const void *)ids.data : nobody;
    }
    GREBE_TRY(grebe_ann_index_search(index, s->queries, s->result.k, &o, s->result.ids, s->result.distances, err));
    st = check_found(s, (const char *)path.data, err);
out:
    grebe_ann_index_close(index);
    buf_release(&path);
    buf_release(&ids);
    return st;
}

/* ---- results as rows ---- */

static grebe_status put_column(const grebe_allocator *a, const char *name, const char *format, const void *values,
                               size_t n, size_t bytes, struct ArrowArray *array, struct ArrowSchema *schema,
                               grebe_error *err)
{
    void *dst = NULL;
    grebe_status st = array_new(a, (int64_t)n, 2, 0, array, err);
    st = st == GREBE_OK ? array_alloc_buffer(a, array, 1, n * bytes, &dst, err) : st;
    if (st == GREBE_OK && n != 0) {
        memcpy(dst, values, n * bytes);
    }
    return st == GREBE_OK ? schema_new(a, format, name, false, 0, schema, err) : st;
}

/* What was found, without gaps, and the query of each row. */
static size_t close_gaps(struct nearest *r, int64_t *query)
{
    size_t m = 0;
    for (size_t i = 0; i < r->n * r->k; i++) {
        if (r->ids[i] >= 0) {
            r->ids[m] = r->ids[i];
            r->distances[m] = r->distances[i];
            query[m++] = (int64_t)(i / r->k);
        }
    }
    return m;
}

static grebe_status rows_of(const struct search *s, size_t n, const int64_t *query, struct ArrowArrayStream *out,
                            grebe_error *err)
{
    const grebe_allocator *a = s->table->ctx->a;
    struct ArrowArray taken = { 0 }, batch = { 0 };
    struct ArrowSchema types = { 0 }, schema = { 0 };
    grebe_take_options take = GREBE_TAKE_OPTIONS_INIT;
    int64_t own = s->result.n > 1 ? 3 : 2, at = 0;
    grebe_status st = GREBE_OK;
    take.columns = s->o.columns;
    take.n_columns = s->o.n_columns;
    take.call = s->o.call;
    GREBE_TRY(grebe_table_take(s->table, s->result.ids, n, &take, &taken, &types, err));
    GREBE_TRY(array_new(a, (int64_t)n, 1, own + taken.n_children, &batch, err));
    GREBE_TRY(schema_new(a, "+s", "", false, own + taken.n_children, &schema, err));
    if (own == 3) {
        GREBE_TRY(put_column(a, "_query", "l", query, n, 8, batch.children[at], schema.children[at], err));
        at++;
    }
    GREBE_TRY(put_column(a, "_rowid", "l", s->result.ids, n, 8, batch.children[at], schema.children[at], err));
    at++;
    GREBE_TRY(put_column(a, "_distance", "f", s->result.distances, n, 4, batch.children[at], schema.children[at], err));
    at++;
    for (int64_t i = 0; i < taken.n_children; i++) {
        array_move(batch.children[at + i], taken.children[i]);
        schema_move(schema.children[at + i], types.children[i]);
    }
    st = stream_from_batches(a, &schema, &batch, 1, out, err);
out:
    array_release(&taken);
    array_release(&batch);
    schema_release(&types);
    schema_release(&schema);
    return st;
}

/* The columns to give when none are named: all but the vectors. @param names Owned, n of them; strings of schema. */
static grebe_status other_columns(const struct search *s, struct ArrowSchema *schema, const char ***names, size_t *n,
                                  grebe_error *err)
{
    grebe_status st = grebe_table_schema(s->table, schema, err);
    if (st != GREBE_OK) {
        return st;
    }
    *names = mem_alloc(s->table->ctx->a, (size_t)schema->n_children * sizeof **names);
    if (*names == NULL) {
        return mem_fail(err, (size_t)schema->n_children * sizeof **names, "columns");
    }
    for (int64_t i = 0; i < schema->n_children; i++) {
        if (strcmp(schema->children[i]->name, s->column) != 0) {
            (*names)[(*n)++] = schema->children[i]->name;
        }
    }
    return GREBE_OK;
}

static grebe_status find_nearest(struct search *s, grebe_error *err)
{
    grebe_table_info *info = NULL;
    const grebe_index_info *index = NULL;
    grebe_status st = grebe_table_info_get(s->table, &info, err);
    if (st != GREBE_OK) {
        return st;
    }
    for (size_t i = 0; !(s->o.is_exact && s->o.has_metric) && i < info->n_indexes; i++) {
        index = search_is_ours(&info->indexes[i], s->column) ? &info->indexes[i] : index;
    }
    st = index != NULL ? search_index(s, index, err) : search_all(s, err);
    grebe_table_info_free(info);
    return st;
}

grebe_status grebe_table_search(const grebe_table *table, const char *column, const grebe_vectors *queries, size_t k,
                                const grebe_table_search_options *options, struct ArrowArrayStream *out,
                                grebe_error *err)
{
    GREBE_CHECK_ARG(err, table != NULL && column != NULL && queries != NULL && out != NULL);
    struct search s = { .table = table, .column = column, .queries = queries,
                        .o = GREBE_TABLE_SEARCH_OPTIONS_INIT };
    struct ArrowSchema schema = { 0 };
    const char **names = NULL;
    int64_t *query = NULL;
    size_t n_names = 0, room = 0;
    grebe_status st = GREBE_OK;
    memset(out, 0, sizeof *out);
    GREBE_TRY(options_copy(&s.o, sizeof s.o, options, err));
    s.call = call_options_resolve(table->ctx, s.o.call);
    k = min_size(k, (size_t)grebe_table_num_rows(table));
    GREBE_TRY(nearest_new(table->ctx->a, (size_t)queries->rows, k, &s.result, err));
    if (s.o.columns == NULL) {
        GREBE_TRY(other_columns(&s, &schema, &names, &n_names, err));
        s.o.columns = names;
        s.o.n_columns = n_names;
    }
    if (k != 0 && queries->rows != 0) {
        GREBE_TRY(find_nearest(&s, err));
    }
    room = s.result.n * s.result.k;
    query = mem_alloc(table->ctx->a, room * sizeof *query);
    if (query == NULL) {
        st = mem_fail(err, room * sizeof *query, "results");
        goto out;
    }
    st = rows_of(&s, close_gaps(&s.result, query), query, out, err);
out:
    mem_free(table->ctx->a, query, room * sizeof *query);
    mem_free(table->ctx->a, names, (size_t)schema.n_children * sizeof *names);
    schema_release(&schema);
    nearest_release(&s.result);
    return st == GREBE_OK ? st : error_wrap(err, st, "searching column %s", column);
}

/* ---- vectors of a stream ---- */

grebe_status grebe_vector_rows_read(grebe_context *ctx, struct ArrowArrayStream *rows, const char *column,
                                    grebe_vector_rows *out, grebe_error *err)
{
    GREBE_CHECK_ARG(err, ctx != NULL && rows != NULL && out != NULL);
    memset(out, 0, sizeof *out);
    struct search_column *c = mem_alloc_zero(ctx->a, sizeof *c);
    grebe_status st = c != NULL ? search_column_read(ctx->a, rows, column, NULL, 0, NULL, c, err)
                                : mem_fail(err, sizeof *c, "vectors");
    stream_release(rows);
    if (st != GREBE_OK) {
        if (c != NULL) {
            search_column_release(c);
            mem_free(ctx->a, c, sizeof *c);
        }
        return st;
    }
    out->vectors = (grebe_vectors)GREBE_VECTORS_INIT;
    out->vectors.elem = (grebe_elem)c->elem;
    out->vectors.rows = c->n;
    out->vectors.dim = c->dim;
    out->vectors.data = c->rows;
    out->owner = c;
    return GREBE_OK;
}

void grebe_vector_rows_free(grebe_vector_rows *rows)
{
    struct search_column *c = rows->owner;
    if (c != NULL) {
        const grebe_allocator *a = c->a;
        search_column_release(c);
        mem_free(a, c, sizeof *c);
    }
    memset(rows, 0, sizeof *rows);
}
