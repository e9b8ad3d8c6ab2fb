/* SPDX-License-Identifier: Apache-2.0 */
/* Cases in memory, and as JSON. */
#include "ann/ann_report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"

enum kind { INT, REAL };

struct number_key {
    enum ann_number which;
    enum kind kind;
    const char *group; /* NULL: at the top */
    const char *key;
};

/* In the order of the output; members of a group stand together. */
static const struct number_key number_keys[] = {
    { ANN_DIM, INT, "dataset_info", "dim" },
    { ANN_BASE_COUNT, INT, "dataset_info", "base_count" },
    { ANN_QUERY_COUNT, INT, "dataset_info", "query_count" },
    { ANN_TRUTH_K, INT, "dataset_info", "truth_k" },
    { ANN_TOPK, INT, NULL, "topk" },
    { ANN_RANGE, REAL, NULL, "range" },
    { ANN_BUILD_THREADS, INT, NULL, "num_threads_building" },
    { ANN_SEARCH_THREADS, INT, NULL, "num_threads_searching" },
    { ANN_BUILD_SECONDS, REAL, NULL, "duration(s)" },
    { ANN_BUILD_CPU_SECONDS, REAL, NULL, "build_cpu(s)" },
    { ANN_TPS, REAL, NULL, "tps" },
    { ANN_INDEX_BYTES, INT, NULL, "index_memory(B)" },
    { ANN_VECTOR_BYTES, INT, "memory_detail(B)", "vectors" },
    { ANN_CODE_BYTES, INT, "memory_detail(B)", "codes" },
    { ANN_LINK_BYTES, INT, "memory_detail(B)", "links" },
    { ANN_OTHER_BYTES, INT, "memory_detail(B)", "other" },
    { ANN_FILE_BYTES, INT, NULL, "index_serialized_size(B)" },
    { ANN_BUILD_MEMORY, INT, NULL, "memory_peak(build)(B)" },
    { ANN_SEARCH_MEMORY, INT, NULL, "memory_peak(search)(B)" },
    { ANN_QPS, REAL, NULL, "qps" },
    { ANN_QPS_CPU, REAL, NULL, "qps_cpu" },
    { ANN_SEARCH_CPU_SECONDS, REAL, NULL, "search_cpu(s)" },
    { ANN_LATENCY_AVG, REAL, NULL, "latency_avg(ms)" },
    { ANN_P50, REAL, "latency_detail(ms)", "p50" },
    { ANN_P80, REAL, "latency_detail(ms)", "p80" },
    { ANN_P90, REAL, "latency_detail(ms)", "p90" },
    { ANN_P95, REAL, "latency_detail(ms)", "p95" },
    { ANN_P99, REAL, "latency_detail(ms)", "p99" },
    { ANN_RECALL_AVG, REAL, NULL, "recall_avg" },
    { ANN_RECALL_STD, REAL, NULL, "recall_std" },
    { ANN_RECALL_QUERIES, INT, NULL, "recall_query_count" },
    { ANN_R0, REAL, "recall_detail", "p0" },
    { ANN_R10, REAL, "recall_detail", "p10" },
    { ANN_R30, REAL, "recall_detail", "p30" },
    { ANN_R50, REAL, "recall_detail", "p50" },
    { ANN_R70, REAL, "recall_detail", "p70" },
    { ANN_R90, REAL, "recall_detail", "p90" },
    { ANN_RECALL_BY_RULE + ANN_RULE_TIES, REAL, "recall_by_rule", "ties" },
    { ANN_RECALL_BY_RULE + ANN_RULE_VSAG, REAL, "recall_by_rule", "vsag" },
    { ANN_RECALL_BY_RULE + ANN_RULE_ID, REAL, "recall_by_rule", "id" },
    { ANN_RECALL_BY_RULE + ANN_RULE_ANNB, REAL, "recall_by_rule", "annb" },
    { ANN_RECALL_BY_RULE + ANN_RULE_EPS001, REAL, "recall_by_rule", "annb_eps_0.01" },
    { ANN_RECALL_BY_RULE + ANN_RULE_EPS01, REAL, "recall_by_rule", "annb_eps_0.1" },
    { ANN_RECALL_BY_RULE + ANN_RULE_BIGANN, REAL, "recall_by_rule", "bigann" },
    { ANN_PRECISION, REAL, NULL, "precision" },
    { ANN_AVERAGE_PRECISION, REAL, NULL, "average_precision" },
    { ANN_RESULTS, INT, NULL, "result_count" },
    { ANN_WARMUP_QUERIES, INT, NULL, "warmup_query_count" },
    { ANN_SAMPLES, INT, NULL, "measurement_sample_count" },
    { ANN_SUCCESSES, INT, NULL, "measurement_successful_query_count" },
    { ANN_SEARCH_SECONDS, REAL, NULL, "measurement_duration(s)" },
};
enum { N_NUMBER_KEYS = sizeof number_keys / sizeof number_keys[0] };

struct text_key {
    enum ann_text which;
    const char *group, *key;
};

static const struct text_key text_keys[] = {
    { ANN_TEXT_SERIES, NULL, "series" },
    { ANN_TEXT_ACTION, NULL, "action" },
    { ANN_TEXT_INDEX, NULL, "index" },
    { ANN_TEXT_INDEX_INFO, NULL, "index_info" },
    { ANN_TEXT_SEARCH_PARAM, NULL, "search_param" },
    { ANN_TEXT_SEARCH_MODE, NULL, "search_mode" },
    { ANN_TEXT_RULE, NULL, "recall_rule" },
    { ANN_TEXT_HOW_LATENCY, "measurement_method", "latency" },
    { ANN_TEXT_HOW_QPS, "measurement_method", "qps" },
    { ANN_TEXT_PATH, "dataset_info", "filepath" },
    { ANN_TEXT_ELEMENT, "dataset_info", "data_type" },
    { ANN_TEXT_METRIC, "dataset_info", "metric" },
};
enum { N_TEXT_KEYS = sizeof text_keys / sizeof text_keys[0] };

/* ---- in memory ---- */

void ann_report_init(struct ann_report *r, grebe_context *ctx)
{
    *r = (struct ann_report){ .ctx = ctx, .arena = ARENA_INIT(ctx->a) };
}

void ann_report_release(struct ann_report *r)
{
    mem_free(r->ctx->a, r->cases, r->capacity * sizeof *r->cases);
    arena_release(&r->arena);
    ann_report_init(r, r->ctx);
}

grebe_status ann_report_add(struct ann_report *r, struct ann_case **out, grebe_error *err)
{
    *out = NULL;
    if (r->n == r->capacity) {
        size_t more = r->capacity == 0 ? 8 : 2 * r->capacity;
        struct ann_case *grown = mem_resize(r->ctx->a, r->cases, r->capacity * sizeof *grown, more * sizeof *grown);
        if (grown == NULL) {
            return mem_fail(err, more * sizeof *grown, "a report");
        }
        r->cases = grown;
        r->capacity = more;
    }
    struct ann_case *c = &r->cases[r->n++];
    memset(c, 0, sizeof *c);
    for (size_t i = 0; i < ANN_N_NUMBERS; i++) {
        c->number[i] = NAN;
    }
    *out = c;
    return GREBE_OK;
}

static grebe_status set_text(struct ann_report *r, struct ann_case *c, enum ann_text which, const char *text, size_t len,
                             grebe_error *err)
{
    c->text[which] = arena_str(&r->arena, text, len);
    return c->text[which] == NULL ? mem_fail(err, len, "a report") : GREBE_OK;
}

grebe_status ann_report_text(struct ann_report *r, struct ann_case *c, enum ann_text which, const char *text,
                             grebe_error *err)
{
    if (text == NULL) {
        c->text[which] = NULL;
        return GREBE_OK;
    }
    return set_text(r, c, which, text, strlen(text), err);
}

grebe_status ann_report_textf(struct ann_report *r, struct ann_case *c, enum ann_text which, grebe_error *err,
                              const char *fmt, ...)
{
    char text[1024];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    return set_text(r, c, which, text, strlen(text), err);
}

const char *ann_number_key(size_t i)
{
    return i < N_NUMBER_KEYS ? number_keys[i].key : NULL;
}

const double *ann_case_number(const struct ann_case *c, const char *key)
{
    for (size_t i = 0; i < N_NUMBER_KEYS; i++) {
        const struct number_key *k = &number_keys[i];
        size_t group = k->group == NULL ? 0 : strlen(k->group);
        bool is_it = strcmp(key, k->key) == 0 && k->group == NULL;
        is_it = is_it || (group > 0 && strncmp(key, k->group, group) == 0 && key[group] == '.' &&
                          strcmp(key + group + 1, k->key) == 0);
        if (is_it) {
            return &c->number[k->which];
        }
    }
    return NULL;
}

/* ---- JSON out ---- */

static void put_number(struct json_writer *w, enum kind kind, double v)
{
    if (!isfinite(v)) {
        json_null(w);
    } else if (kind == INT && v == floor(v) && fabs(v) < 0x1p53) {
        json_int(w, (int64_t)v);
    } else {
        json_real(w, v);
    }
}

static void put_text(struct json_writer *w, const char *text)
{
    if (text == NULL) {
        json_null(w);
    } else {
        json_text(w, text);
    }
}

void ann_bytes_text(char *dst, double v)
{
    static const char *const units[] = { " B", " KB", " MB", " GB", " TB" };
    size_t unit = 0;
    while (v >= 1024 && unit + 1 < sizeof units / sizeof units[0]) {
        v /= 1024;
        unit++;
    }
    size_t n = number_put_fixed(dst, v, 2);
    memcpy(dst + n, units[unit], strlen(units[unit]) + 1);
}

static void put_bytes(struct json_writer *w, double v)
{
    char text[NUMBER_TEXT_MAX + 4];
    if (isfinite(v)) {
        ann_bytes_text(text, v);
        json_text(w, text);
    } else {
        json_null(w);
    }
}

static bool is_same(const char *x, const char *y)
{
    return x == y || (x != NULL && y != NULL && strcmp(x, y) == 0);
}

static void put_texts(struct json_writer *w, const struct ann_case *c, const char *group)
{
    for (size_t i = 0; i < N_TEXT_KEYS; i++) {
        const struct text_key *k = &text_keys[i];
        if (!is_same(k->group, group)) {
            continue;
        }
        json_key(w, k->key);
        if (k->which == ANN_TEXT_INDEX_INFO && c->text[k->which] != NULL) {
            json_raw(w, c->text[k->which], strlen(c->text[k->which]));
        } else {
            put_text(w, c->text[k->which]);
        }
    }
}

static void put_numbers(struct json_writer *w, const struct ann_case *c)
{
    const char *open = NULL;
    for (size_t i = 0; i < N_NUMBER_KEYS; i++) {
        const struct number_key *k = &number_keys[i];
        if (!is_same(open, k->group)) {
            if (open != NULL) {
                json_close_object(w);
            }
            if (k->group != NULL) {
                json_key(w, k->group);
                json_open_object(w);
                put_texts(w, c, k->group);
            }
            open = k->group;
        }
        json_key(w, k->key);
        put_number(w, k->kind, c->number[k->which]);
    }
}

static void put_case(struct json_writer *w, const struct ann_case *c)
{
    static const char *const not_counted[] = { "statistics_query_count", "statistics_total", "statistics_avg_per_query" };
    json_open_object(w);
    put_texts(w, c, NULL);
    json_key(w, "measurement_method");
    json_open_object(w);
    put_texts(w, c, "measurement_method");
    json_close_object(w);
    put_numbers(w, c);
    json_key(w, "memory_peak(build)");
    put_bytes(w, c->number[ANN_BUILD_MEMORY]);
    json_key(w, "memory_peak(search)");
    put_bytes(w, c->number[ANN_SEARCH_MEMORY]);
    for (size_t i = 0; i < 3; i++) { /* keys of the original; an index here counts nothing while it searches */
        json_key(w, not_counted[i]);
        json_null(w);
    }
    json_close_object(w);
}

static const char *raw_name(const struct ann_case *c)
{
    return c->text[ANN_TEXT_NAME] == NULL ? "case" : c->text[ANN_TEXT_NAME];
}

/* Whether case i may be called so: no case before it is, and no other will be by its own name. */
static bool is_free(const struct ann_report *r, const char **used, size_t i, const char *name)
{
    for (size_t j = 0; j < r->n; j++) {
        if ((j < i && strcmp(used[j], name) == 0) || (j > i && strcmp(raw_name(&r->cases[j]), name) == 0)) {
            return false;
        }
    }
    return true;
}

/* Names as keys, each once: the second "x" is "x #2". */
static grebe_status unique_names(const struct ann_report *r, struct arena *ar, const char ***out, grebe_error *err)
{
    const char **used = arena_array(ar, r->n + 1, sizeof *used);
    *out = used;
    if (used == NULL) {
        return mem_fail(err, r->n * sizeof *used, "a report");
    }
    for (size_t i = 0; i < r->n; i++) {
        const char *name = raw_name(&r->cases[i]);
        size_t before = 0, room = strlen(name) + 24;
        for (size_t j = 0; j < i; j++) {
            before += strcmp(raw_name(&r->cases[j]), name) == 0;
        }
        char *own = before == 0 ? NULL : arena_alloc(ar, room);
        if (before > 0 && own == NULL) {
            return mem_fail(err, room, "a report");
        }
        for (size_t n = before + 1; before > 0; n++) {
            snprintf(own, room, "%s #%zu", name, n);
            if (is_free(r, used, i, own)) {
                break;
            }
        }
        used[i] = before == 0 ? name : own;
    }
    return GREBE_OK;
}

static grebe_status print_json(const struct ann_report *r, struct buf *dst, grebe_error *err)
{
    struct arena ar = ARENA_INIT(r->ctx->a);
    const char **names = NULL;
    struct json_writer w;
    grebe_status st = unique_names(r, &ar, &names, err);
    if (st == GREBE_OK) {
        json_begin(&w, dst, 2, err);
        json_open_object(&w);
        for (size_t i = 0; i < r->n; i++) {
            json_key(&w, names[i]);
            put_case(&w, &r->cases[i]);
        }
        json_close_object(&w);
        st = json_end(&w);
    }
    arena_release(&ar);
    return st == GREBE_OK ? buf_put_byte(dst, '\n', err) : st;
}

grebe_status ann_report_print(const struct ann_report *r, enum ann_form form, int64_t now_ns, struct buf *dst,
                              grebe_error *err)
{
    return form == ANN_FORM_JSON ? print_json(r, dst, err) : ann_report_print_text(r, form, now_ns, dst, err);
}

/* ---- JSON in ---- */

/* A tree as text again. */
static void put_value(struct json_writer *w, const struct json_value *v, int depth)
{
    switch (depth > JSON_DEPTH_MAX ? JSON_NULL : v->type) {
    case JSON_NULL: json_null(w); break;
    case JSON_BOOL: json_bool(w, v->boolean); break;
    case JSON_NUMBER: json_raw(w, v->text, v->n); break;
    case JSON_STRING: json_text_len(w, v->text, v->n); break;
    case JSON_ARRAY:
        json_open_array(w);
        for (size_t i = 0; i < v->n; i++) {
            put_value(w, &v->items[i], depth + 1);
        }
        json_close_array(w);
        break;
    case JSON_OBJECT:
        json_open_object(w);
        for (size_t i = 0; i < v->n; i++) {
            json_key_len(w, v->members[i].key, v->members[i].key_len);
            put_value(w, &v->members[i].value, depth + 1);
        }
        json_close_object(w);
        break;
    }
}

grebe_status ann_json_text(const struct json_value *v, struct buf *dst, grebe_error *err)
{
    struct json_writer w;
    json_begin(&w, dst, 0, err);
    put_value(&w, v, 0);
    return json_end(&w);
}

static grebe_status raw_json(struct ann_report *r, struct ann_case *c, enum ann_text which, const struct json_value *v,
                             grebe_error *err)
{
    struct buf text = BUF_INIT(r->ctx->a);
    grebe_status st = ann_json_text(v, &text, err);
    st = st == GREBE_OK ? set_text(r, c, which, (const char *)text.data, text.len, err) : st;
    buf_release(&text);
    return st;
}

static const struct json_value *member(const struct json_value *v, const char *group, const char *key)
{
    return json_get(group == NULL ? v : json_get(v, group), key);
}

/* "hgraph max_degree=32": what a report of eval_performance has instead of a series. */
static grebe_status name_series(struct ann_report *r, struct ann_case *c, const struct json_value *info, grebe_error *err)
{
    struct buf text = BUF_INIT(r->ctx->a);
    const struct json_value *params = json_get(info, "index_param");
    params = params != NULL ? params : info;
    grebe_status st = GREBE_OK;
    GREBE_TRY(buf_put_text(&text, c->text[ANN_TEXT_INDEX] != NULL ? c->text[ANN_TEXT_INDEX] : "index", err));
    for (size_t i = 0; params != NULL && params->type == JSON_OBJECT && i < params->n; i++) {
        const struct json_value *v = &params->members[i].value;
        bool is_shown = v->type == JSON_STRING || v->type == JSON_NUMBER || v->type == JSON_BOOL;
        if (!is_shown || strstr(params->members[i].key, "thread") != NULL) {
            continue;
        }
        GREBE_TRY(buf_put_byte(&text, ' ', err));
        GREBE_TRY(buf_put(&text, params->members[i].key, params->members[i].key_len, err));
        GREBE_TRY(buf_put_byte(&text, '=', err));
        GREBE_TRY(v->type == JSON_BOOL ? buf_put_text(&text, v->boolean ? "true" : "false", err)
                                       : buf_put(&text, v->text, v->n, err));
    }
    GREBE_TRY(set_text(r, c, ANN_TEXT_SERIES, (const char *)text.data, text.len, err));
out:
    buf_release(&text);
    return st;
}

static grebe_status parse_case(struct ann_report *r, const struct json_member *m, grebe_error *err)
{
    struct ann_case *c = NULL;
    if (m->value.type != JSON_OBJECT) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "%u:%u: expected an object of measurements, found %s", m->value.line,
                          m->value.column, json_type_name(m->value.type));
    }
    grebe_status st = ann_report_add(r, &c, err);
    st = st == GREBE_OK ? set_text(r, c, ANN_TEXT_NAME, m->key, m->key_len, err) : st;
    for (size_t i = 0; st == GREBE_OK && i < N_TEXT_KEYS; i++) {
        const struct json_value *v = member(&m->value, text_keys[i].group, text_keys[i].key);
        if (v != NULL && v->type == JSON_STRING && text_keys[i].which != ANN_TEXT_INDEX_INFO) {
            st = set_text(r, c, text_keys[i].which, v->text, v->n, err);
        } else if (v != NULL && v->type == JSON_OBJECT && text_keys[i].which == ANN_TEXT_INDEX_INFO) {
            st = raw_json(r, c, text_keys[i].which, v, err);
        }
    }
    for (size_t i = 0; st == GREBE_OK && i < N_NUMBER_KEYS; i++) {
        const struct json_value *v = member(&m->value, number_keys[i].group, number_keys[i].key);
        double x = NAN;
        if (v != NULL && v->type != JSON_NULL && !json_double(v, &x)) {
            st = GREBE_FAIL(err, GREBE_ECORRUPT, "%u:%u: %s: expected a number, found %s", v->line, v->column,
                            number_keys[i].key, json_type_name(v->type));
        }
        c->number[number_keys[i].which] = x;
    }
    if (st == GREBE_OK && c->text[ANN_TEXT_SERIES] == NULL && c->text[ANN_TEXT_INDEX] != NULL) {
        st = name_series(r, c, json_get(&m->value, "index_info"), err);
    }
    return st;
}

grebe_status ann_report_parse(struct ann_report *r, const char *text, size_t len, grebe_error *err)
{
    struct arena scratch = ARENA_INIT(r->ctx->a);
    const struct json_value *v = NULL;
    grebe_status st = GREBE_OK;
    size_t before = r->n;
    GREBE_TRY(json_parse(&scratch, text, len, &v, err));
    if (v->type != JSON_OBJECT) {
        st = GREBE_FAIL(err, GREBE_ECORRUPT, "1:1: expected an object of cases, found %s", json_type_name(v->type));
        goto out;
    }
    for (size_t i = 0; i < v->n; i++) {
        GREBE_TRY(parse_case(r, &v->members[i], err));
    }
out:
    if (st != GREBE_OK) {
        r->n = before;
    }
    arena_release(&scratch);
    return st;
}
