/* SPDX-License-Identifier: Apache-2.0 */
#include "ann/ann_suite.h"

#include <math.h>
#include <string.h>

#include "io/io.h"

#define SUITE_BYTES_MAX ((uint64_t)16 << 20)

void ann_suite_init(struct ann_suite *s, grebe_context *ctx)
{
    *s = (struct ann_suite){ .ctx = ctx, .ar = ARENA_INIT(ctx->a) };
}

void ann_suite_release(struct ann_suite *s)
{
    arena_release(&s->ar);
    ann_suite_init(s, s->ctx);
}

/* What is being read, for messages. */
struct reader {
    struct ann_suite *s;
    const char *name;
    grebe_error *err;
};

#define FAIL_AT(r, t, st, ...) fail_at((r), (t), GREBE_FAIL((r)->err, (st), __VA_ARGS__))

static grebe_status fail_at(const struct reader *r, const struct yaml_tree *t, grebe_status st)
{
    return error_wrap(r->err, st, "%s:%u:%u", r->name, t->line, t->column);
}

/* ---- values under a key; what is not there stays as it is ---- */

static grebe_status get_text(struct reader *r, const struct yaml_tree *map, const char *key, const char **out)
{
    const struct yaml_tree *v = yaml_tree_get(map, key);
    if (v == NULL) {
        return GREBE_OK;
    }
    if (v->type != YAML_TREE_SCALAR) {
        return FAIL_AT(r, v, GREBE_EINVAL, "%s: expected a text, found a %s", key, yaml_tree_type_name(v));
    }
    *out = v->text;
    return GREBE_OK;
}

static grebe_status need_text(struct reader *r, const struct yaml_tree *map, const char *key, const char **out)
{
    *out = NULL;
    grebe_status st = get_text(r, map, key, out);
    if (st == GREBE_OK && (*out == NULL || (*out)[0] == '\0')) {
        st = FAIL_AT(r, map, GREBE_EINVAL, "%s is missing", key);
    }
    return st;
}

static grebe_status get_count(struct reader *r, const struct yaml_tree *map, const char *key, int64_t max, int64_t *out)
{
    const struct yaml_tree *v = yaml_tree_get(map, key);
    if (v != NULL && (!yaml_tree_i64(v, out) || *out < 1 || *out > max)) {
        return FAIL_AT(r, v, GREBE_EINVAL, "%s: expected a number from 1 to %lld, found \"%.40s\"", key, (long long)max,
                       v->type == YAML_TREE_SCALAR ? v->text : yaml_tree_type_name(v));
    }
    return GREBE_OK;
}

static grebe_status get_bool(struct reader *r, const struct yaml_tree *map, const char *key, bool *out)
{
    const struct yaml_tree *v = yaml_tree_get(map, key);
    if (v != NULL && !yaml_tree_bool(v, out)) {
        return FAIL_AT(r, v, GREBE_EINVAL, "%s: expected true or false, found \"%.40s\"", key,
                       v->type == YAML_TREE_SCALAR ? v->text : yaml_tree_type_name(v));
    }
    return GREBE_OK;
}

/* ---- exporters ---- */

static grebe_status read_export(struct reader *r, const struct yaml_tree *v, struct ann_export *out)
{
    enum ann_form form = ANN_FORM_TABLE;
    const char *path = NULL;
    bool is_append = false;
    if (v->type != YAML_TREE_MAP) {
        return FAIL_AT(r, v, GREBE_EINVAL, "an exporter: expected a map, found a %s", yaml_tree_type_name(v));
    }
    out->form = "table";
    out->sink = "stdout";
    grebe_status st = get_text(r, v, "format", &out->form);
    st = st == GREBE_OK ? get_text(r, v, "to", &out->sink) : st;
    if (st == GREBE_OK) {
        st = ann_form_parse(out->form, &form, r->err);
        st = st == GREBE_OK ? ann_sink_parse(out->sink, &path, &is_append, r->err) : st;
        st = st == GREBE_OK ? st : fail_at(r, v, st);
    }
    return st;
}

static grebe_status read_exports(struct reader *r, const struct yaml_tree *global)
{
    struct ann_suite *s = r->s;
    const struct yaml_tree *v = yaml_tree_get(global, "exporters");
    if (v != NULL && v->type == YAML_TREE_SCALAR && !yaml_tree_is_null(v)) {
        return FAIL_AT(r, v, GREBE_EINVAL, "exporters: expected a map of exporters, found a text");
    }
    size_t n = v == NULL || v->type == YAML_TREE_SCALAR ? 0 : v->n;
    s->exports = arena_array(&s->ar, n + 1, sizeof *s->exports);
    if (s->exports == NULL) {
        return mem_fail(r->err, n * sizeof *s->exports, r->name);
    }
    for (size_t i = 0; i < n; i++) { /* the original passes over a list in silence: here it is meant */
        const struct yaml_tree *e = v->type == YAML_TREE_LIST ? v->items[i] : v->pairs[i].value;
        grebe_status st = read_export(r, e, &s->exports[i]);
        if (st != GREBE_OK) {
            return st;
        }
    }
    if (n == 0) {
        s->exports[0] = (struct ann_export){ "table", "stdout" };
    }
    s->n_exports = n == 0 ? 1 : n;
    return GREBE_OK;
}

/* ---- cases ---- */

static grebe_status read_switches(struct reader *r, const struct yaml_tree *map, struct ann_suite_case *c)
{
    const struct { const char *key; bool *to; } switches[] = {
        { "delete_index_after_search", &c->deletes_index }, { "disable_recall", &c->is_without_recall },
        { "disable_percent_recall", &c->is_without_percent_recall }, { "disable_qps", &c->is_without_qps },
        { "disable_tps", &c->is_without_tps }, { "disable_memory", &c->is_without_memory },
        { "disable_latency", &c->is_without_latency }, { "disable_percent_latency", &c->is_without_percent_latency },
    };
    grebe_status st = GREBE_OK;
    for (size_t i = 0; st == GREBE_OK && i < sizeof switches / sizeof switches[0]; i++) {
        st = get_bool(r, map, switches[i].key, switches[i].to);
    }
    return st;
}

static grebe_status read_type(struct reader *r, const struct yaml_tree *map, struct ann_suite_case *c, bool *is_search)
{
    const char *type = NULL, *path = NULL;
    grebe_status st = need_text(r, map, "type", &type);
    st = st == GREBE_OK ? get_text(r, map, "index_path", &path) : st;
    if (st != GREBE_OK) {
        return st;
    }
    bool is_both = strcmp(type, "build,search") == 0;
    c->job.has_build = is_both || strcmp(type, "build") == 0;
    *is_search = is_both || strcmp(type, "search") == 0;
    if (!c->job.has_build && !*is_search) {
        return FAIL_AT(r, yaml_tree_get(map, "type"), GREBE_EINVAL,
                       "type: expected build, search or build,search, found \"%.40s\"", type);
    }
    c->job.save_path = c->job.has_build ? path : NULL;
    c->job.open_path = path != NULL ? path : "/tmp/performance/index"; /* the original's default */
    return GREBE_OK;
}

static grebe_status read_search(struct reader *r, const struct yaml_tree *map, struct ann_suite_case *c, int64_t *k)
{
    const char *mode = "knn";
    int64_t queries = 0;
    const struct yaml_tree *range = yaml_tree_get(map, "range");
    c->range = 0.5;
    grebe_status st = get_text(r, map, "search_mode", &mode);
    if (st == GREBE_OK && ann_mode_parse(mode, &c->mode, r->err) != GREBE_OK) {
        st = fail_at(r, yaml_tree_get(map, "search_mode"), GREBE_EINVAL);
    }
    if (st == GREBE_OK && range != NULL && !yaml_tree_double(range, &c->range)) {
        st = FAIL_AT(r, range, GREBE_EINVAL, "range: expected a number");
    }
    st = st == GREBE_OK ? get_count(r, map, "topk", INT32_MAX, k) : st;
    st = st == GREBE_OK ? get_count(r, map, "search_query_count", INT64_MAX, &queries) : st;
    c->n_queries = (uint64_t)queries;
    return st;
}

/* Blobs as one line of JSON where the report wants a value; the text where it wants that. */
static grebe_status echo(struct ann_suite *s, const char *text, const char **out, grebe_error *err)
{
    struct buf b = BUF_INIT(s->ctx->a);
    const struct json_value *v = NULL;
    grebe_status st = json_parse(&s->ar, text, strlen(text), &v, err);
    st = st == GREBE_OK ? ann_json_text(v, &b, err) : st;
    *out = st == GREBE_OK ? arena_str(&s->ar, (const char *)b.data, b.len) : NULL;
    buf_release(&b);
    return st == GREBE_OK && *out == NULL ? mem_fail(err, strlen(text), "create_params") : st;
}

static grebe_status read_case(struct reader *r, const struct yaml_tree *global, const struct yaml_pair *pair,
                              struct ann_suite_case *c)
{
    const struct yaml_tree *map = pair->value;
    const char *index = NULL, *create = NULL, *search = NULL;
    int64_t k = 10, building = 1, searching = 1;
    bool is_search = false;
    grebe_status st = GREBE_OK;
    if (map->type != YAML_TREE_MAP) {
        return FAIL_AT(r, map, GREBE_EINVAL, "case \"%.60s\": expected a map, found a %s", pair->key->text,
                       yaml_tree_type_name(map));
    }
    c->line = map->line;
    c->column = map->column;
    c->job.name = pair->key->text;
    GREBE_TRY(need_text(r, map, "datapath", &c->dataset));
    GREBE_TRY(need_text(r, map, "index_name", &index));
    GREBE_TRY(need_text(r, map, "create_params", &create));
    GREBE_TRY(get_text(r, map, "search_params", &search));
    GREBE_TRY(read_type(r, map, c, &is_search));
    if (is_search && search == NULL) {
        GREBE_TRY(FAIL_AT(r, map, GREBE_EINVAL, "search_params is missing"));
    }
    GREBE_TRY(read_search(r, map, c, &k));
    GREBE_TRY(read_switches(r, map, c));
    GREBE_TRY(get_count(r, global, "num_threads_building", 1024, &building));
    GREBE_TRY(get_count(r, global, "num_threads_searching", 1024, &searching));
    GREBE_TRY(get_count(r, map, "num_threads_building", 1024, &building));
    GREBE_TRY(get_count(r, map, "num_threads_searching", 1024, &searching));
    c->build_threads = (uint32_t)building;
    c->search_threads = (uint32_t)searching;
    st = ann_vsag_translate(r->s->ctx, &r->s->ar, index, create, search, (uint64_t)k, c, r->err);
    GREBE_TRY(st == GREBE_OK ? st : fail_at(r, map, st));
    GREBE_TRY(echo(r->s, create, &c->job.index_info, r->err));
    c->job.searches = &c->search;
    c->job.n_searches = is_search;
out:
    return st;
}

static grebe_status read_global(struct reader *r, const struct yaml_tree *global)
{
    bool is_served = false;
    if (global != NULL && global->type != YAML_TREE_MAP && !yaml_tree_is_null(global)) {
        return FAIL_AT(r, global, GREBE_EINVAL, "global: expected a map, found a %s", yaml_tree_type_name(global));
    }
    const struct yaml_tree *server = yaml_tree_get(global, "http_server");
    grebe_status st = get_bool(r, server, "enabled", &is_served);
    if (st == GREBE_OK && is_served) {
        st = FAIL_AT(r, server, GREBE_EUNSUPPORTED, "http_server: there is none here");
    }
    return st == GREBE_OK ? read_exports(r, global) : st;
}

grebe_status ann_suite_parse(struct ann_suite *s, const char *name, const char *text, size_t len, grebe_error *err)
{
    const struct yaml_tree *root = NULL;
    struct reader r = { s, name, err };
    grebe_status st = yaml_tree_parse(&s->ar, name, text, len, &root, err);
    if (st != GREBE_OK) {
        return st;
    }
    if (root->type != YAML_TREE_MAP) {
        return FAIL_AT(&r, root, GREBE_EINVAL, "expected a map of cases, found a %s", yaml_tree_type_name(root));
    }
    const struct yaml_tree *global = yaml_tree_get(root, "global");
    GREBE_TRY(read_global(&r, global));
    s->cases = arena_array(&s->ar, root->n, sizeof *s->cases);
    GREBE_TRY(s->cases == NULL ? mem_fail(err, root->n * sizeof *s->cases, name) : GREBE_OK);
    for (size_t i = 0; i < root->n; i++) {
        if (root->pairs[i].value != global) {
            GREBE_TRY(read_case(&r, global, &root->pairs[i], &s->cases[s->n_cases]));
            s->n_cases++;
        }
    }
    if (s->n_cases == 0) {
        st = FAIL_AT(&r, root, GREBE_EINVAL, "expected a case, found none");
    }
out:
    return st;
}

grebe_status ann_suite_read(struct ann_suite *s, const char *path, grebe_error *err)
{
    struct io_store *store = NULL;
    struct region *text = NULL;
    grebe_status st = GREBE_OK;
    GREBE_TRY(io_local_new(s->ctx, &store, err));
    GREBE_TRY(io_read_all(store, path, SUITE_BYTES_MAX, &text, NULL, err));
    st = ann_suite_parse(s, path, (const char *)text->data, text->len, err);
out:
    region_drop(text);
    io_store_free(store);
    return st;
}

/* ---- running ---- */

static void unset(struct ann_case *c, enum ann_number first, enum ann_number last)
{
    for (int i = (int)first; i <= (int)last; i++) {
        c->number[i] = NAN;
    }
}

/* What a case asked not to be told. */
static void silence(const struct ann_suite_case *x, struct ann_case *c)
{
    if (x->is_without_recall) {
        unset(c, ANN_RECALL_AVG, ANN_RECALL_QUERIES);
        unset(c, ANN_RECALL_BY_RULE, ANN_AVERAGE_PRECISION);
    }
    if (x->is_without_recall || x->is_without_percent_recall) {
        unset(c, ANN_R0, ANN_R90);
    }
    if (x->is_without_qps) {
        unset(c, ANN_QPS, ANN_QPS_CPU);
    }
    if (x->is_without_tps) {
        unset(c, ANN_TPS, ANN_TPS);
    }
    if (x->is_without_memory) {
        unset(c, ANN_BUILD_MEMORY, ANN_SEARCH_MEMORY);
        unset(c, ANN_INDEX_BYTES, ANN_OTHER_BYTES);
    }
    if (x->is_without_latency) {
        unset(c, ANN_LATENCY_AVG, ANN_LATENCY_AVG);
    }
    if (x->is_without_latency || x->is_without_percent_latency) {
        unset(c, ANN_P50, ANN_P99);
    }
}

static grebe_status run_case(struct ann_suite *s, const struct ann_suite_case *x, const struct ann_run_options *base,
                             struct ann_dataset *d, struct ann_report *report, grebe_error *err)
{
    struct ann_run_options o = *base;
    struct io_store *store = NULL;
    size_t before = report->n;
    o.mode = x->mode;
    o.k = x->k;
    o.range = x->is_range_squared && d->metric == VECTOR_EUCLIDEAN ? sqrt(x->range) : x->range;
    o.n_queries = x->n_queries;
    o.build_threads = x->build_threads;
    o.search_threads = x->search_threads;
    o.results_path = NULL;
    grebe_status st = ann_run_job(d, &x->job, &o, report, err);
    for (size_t i = before; i < report->n; i++) {
        silence(x, &report->cases[i]);
    }
    const char *path = x->job.has_build ? x->job.save_path : x->job.open_path;
    if (st == GREBE_OK && x->deletes_index && path != NULL && x->job.n_searches > 0) {
        GREBE_TRY(io_local_new(s->ctx, &store, err));
        GREBE_TRY(io_remove(store, path, err));
    }
out:
    io_store_free(store);
    return st;
}

grebe_status ann_suite_run(struct ann_suite *s, const struct ann_run_options *base, struct ann_report *report,
                           grebe_error *err)
{
    struct ann_dataset *d = NULL;
    const char *open = NULL;
    struct ann_open_options options = { 0 };
    grebe_status st = GREBE_OK;
    options.allow_padding = true;
    for (size_t i = 0; i < s->n_cases; i++) {
        const struct ann_suite_case *x = &s->cases[i];
        if (open == NULL || strcmp(open, x->dataset) != 0) { /* cases of one data set mostly follow each other */
            ann_dataset_free(d);
            d = NULL;
            GREBE_TRY(ann_dataset_open(s->ctx, x->dataset, &options, base->call, &d, err));
            open = x->dataset;
        }
        st = run_case(s, x, base, d, report, err);
        GREBE_TRY(st == GREBE_OK ? st : error_wrap(err, st, "case \"%s\"", x->job.name));
    }
out:
    ann_dataset_free(d);
    return st;
}
