/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which of our indexes stands for one of VSAG's, and which parameter for which (docs/guide/ann.md has the table).
 * Parameters that change what is found or how large the index is must have a counterpart; those that steer VSAG's
 * threads and files are passed over.
 */
#include <stdio.h>
#include <string.h>

#include "ann/ann_suite.h"

struct parameter {
    const char *theirs;
    const char *ours; /* NULL: passed over; "=": must be one of `values` */
    const char *values; /* "fp32:none sq8:sq8": theirs and ours; NULL: a number as it is */
};

struct kind {
    const char *name, *block; /* of search parameters and, for the old ones, of build parameters */
    grebe_ann_index_kind kind;
    const struct parameter *build, *search;
    bool is_block_of_build; /* build parameters stand in a map called `block`, not in index_param */
    const char *defaults[4]; /* theirs, in our words, for what is not given */
};

#define QUANTS "fp32:none sq8:sq8 sq8_uniform:sq8 sq4:sq4 sq4_uniform:sq4 pq:pq4 pqfs:pq4 rabitq:rabitq"

static const struct parameter hgraph_build[] = {
    { "base_quantization_type", "quant", QUANTS }, { "max_degree", "degree", NULL },
    { "ef_construction", "ef_construction", NULL }, { "alpha", "alpha", NULL },
    { "use_reorder", "", NULL }, { "precise_quantization_type", "", "fp32:" }, { "graph_type", "", "nsw: odescent:" },
    { "build_thread_count", "", NULL }, { "graph_iter_turn", "", NULL }, { "neighbor_sample_rate", "", NULL },
    { "store_raw_vector", "", NULL }, { "base_io_type", "", NULL }, { "precise_io_type", "", NULL },
    { "base_file_path", "", NULL }, { "precise_file_path", "", NULL }, { "graph_io_type", "", NULL },
    { "graph_file_path", "", NULL }, { NULL, NULL, NULL }
};
static const struct parameter hgraph_search[] = {
    { "ef_search", "ef", NULL }, { "skip_ratio", "", NULL }, { "skip_strategy", "", NULL },
    { "brute_force_threshold", "", NULL }, { NULL, NULL, NULL }
};
static const struct parameter hnsw_build[] = {
    { "max_degree", "M", NULL }, { "ef_construction", "ef_construction", NULL }, { "use_conjugate_graph", "", NULL },
    { "use_static", "", NULL }, { NULL, NULL, NULL }
};
static const struct parameter hnsw_search[] = {
    { "ef_search", "ef", NULL }, { "use_conjugate_graph_search", "", NULL }, { NULL, NULL, NULL }
};
static const struct parameter ivf_build[] = {
    { "buckets_count", "lists", NULL }, { "base_quantization_type", "quant", QUANTS },
    { "partition_strategy_type", "", "ivf:" }, { "ivf_train_type", "", "kmeans:" }, { "use_reorder", "", NULL },
    { "precise_quantization_type", "", "fp32:" }, { "thread_count", "", NULL }, { "train_sample_count", "", NULL },
    { "base_io_type", "", NULL }, { "precise_io_type", "", NULL }, { NULL, NULL, NULL }
};
static const struct parameter ivf_search[] = {
    { "scan_buckets_count", "nprobe", NULL }, { "factor", "", NULL }, { "enable_reorder", "", NULL }, { "parallelism", "", NULL },
    { "timeout_ms", "", NULL }, { NULL, NULL, NULL }
};
static const struct parameter flat_build[] = {
    { "base_quantization_type", "", "fp32: fp16: bf16:" }, { "store_raw_vector", "", NULL }, { NULL, NULL, NULL }
};
static const struct parameter flat_search[] = { { "parallelism", "", NULL }, { NULL, NULL, NULL } };
static const struct parameter sindi_build[] = {
    { "term_id_limit", "", NULL }, { "window_size", "", NULL }, { "use_reorder", "", NULL }, { "rerank_type", "", "fp32:" },
    { "remap_term_ids", "", NULL }, { "immutable", "", NULL }, { NULL, NULL, NULL }
};
static const struct parameter sindi_search[] = {
    { "n_candidate", "candidates", NULL }, { "query_prune_ratio", "query_prune", NULL }, { NULL, NULL, NULL }
};

static const struct kind kinds[] = {
    { "hgraph", "hgraph", GREBE_ANN_INDEX_GRAPH, hgraph_build, hgraph_search, false,
      { "quant=none", "degree=64", "ef_construction=400", NULL } },
    { "hnsw", "hnsw", GREBE_ANN_INDEX_HNSW, hnsw_build, hnsw_search, true, { NULL } },
    { "ivf", "ivf", GREBE_ANN_INDEX_IVF, ivf_build, ivf_search, false, { "lists=10", "quant=none", NULL } },
    { "brute_force", "brute_force", GREBE_ANN_INDEX_FLAT, flat_build, flat_search, false, { NULL } },
    { "sindi", "sindi", GREBE_ANN_INDEX_SPARSE, sindi_build, sindi_search, false, { NULL } },
};

enum { EXTRA_WORDS = 8 /* room behind what was given */ };

/* A value as text: "16", "sq8", "true". NULL: it is a list or map. */
static const char *value_text(const struct json_value *v)
{
    switch (v->type) {
    case JSON_STRING:
    case JSON_NUMBER: return v->text;
    case JSON_BOOL: return v->boolean ? "true" : "false";
    default: return NULL;
    }
}

/* "=theirs:ours" in a list of words. NULL: there is none. */
static const char *counterpart(struct arena *ar, const char *values, const char *theirs)
{
    size_t len = strlen(theirs);
    for (const char *p = values; *p != '\0';) {
        size_t n = strcspn(p, " ");
        if (n > len && memcmp(p, theirs, len) == 0 && p[len] == ':') {
            return arena_str(ar, p + len + 1, n - len - 1);
        }
        p += n + (p[n] == ' ');
    }
    return NULL;
}

static const char *word_of(struct arena *ar, const char *name, const char *value)
{
    size_t n = strlen(name) + strlen(value) + 2;
    char *word = arena_alloc(ar, n);
    if (word != NULL) {
        snprintf(word, n, "%s=%s", name, value);
    }
    return word;
}

static grebe_status translate_one(struct arena *ar, const struct kind *k, const struct parameter *p,
                                  const struct json_value *v, const char **words, size_t *n, grebe_error *err)
{
    char quoted[64];
    const char *text = value_text(v), *value = text;
    if (text == NULL) {
        return GREBE_FAIL(err, GREBE_EUNSUPPORTED, "%s: %s: expected a number or a word, found %s", k->name, p->theirs,
                          json_type_name(v->type));
    }
    if (p->values != NULL) {
        value = counterpart(ar, p->values, text);
        if (value == NULL) {
            return GREBE_FAIL(err, GREBE_EUNSUPPORTED, "%s: %s \"%s\" has no counterpart here", k->name, p->theirs,
                              error_quote(quoted, sizeof quoted, text, strlen(text)));
        }
    }
    if (p->ours[0] == '\0') {
        return GREBE_OK;
    }
    words[*n] = word_of(ar, p->ours, value);
    return words[(*n)++] == NULL ? mem_fail(err, 1, p->ours) : GREBE_OK;
}

static grebe_status translate(struct arena *ar, const struct kind *k, const struct parameter *table,
                              const struct json_value *object, const char *const **out, size_t *n_out, grebe_error *err)
{
    char quoted[64];
    size_t members = object == NULL || object->type != JSON_OBJECT ? 0 : object->n;
    const char **words = arena_array(ar, members + EXTRA_WORDS, sizeof *words);
    grebe_status st = words == NULL ? mem_fail(err, members * sizeof *words, k->name) : GREBE_OK;
    *n_out = 0;
    for (size_t i = 0; st == GREBE_OK && i < members; i++) {
        const struct parameter *p = table;
        while (p->theirs != NULL && strcmp(p->theirs, object->members[i].key) != 0) {
            p++;
        }
        st = p->theirs != NULL ? translate_one(ar, k, p, &object->members[i].value, words, n_out, err)
                               : GREBE_FAIL(err, GREBE_EUNSUPPORTED, "%s: parameter \"%s\" has no counterpart here", k->name,
                                            error_quote(quoted, sizeof quoted, object->members[i].key,
                                                        object->members[i].key_len));
    }
    *out = words;
    return st;
}

static bool has_word(const char *const *words, size_t n, const char *word)
{
    size_t len = strcspn(word, "=") + 1;
    for (size_t i = 0; i < n; i++) {
        if (strncmp(words[i], word, len) == 0) {
            return true;
        }
    }
    return false;
}

/* Their defaults, where ours are others. Codes without use_reorder: nothing is ranked again by the rows. */
static void add_defaults(const struct kind *k, const struct json_value *build, struct ann_job *job)
{
    const char **words = NULL;
    memcpy(&words, &job->params, sizeof words); /* made by translate() */
    for (size_t i = 0; k->defaults[i] != NULL; i++) {
        if (!has_word(words, job->n_params, k->defaults[i])) {
            words[job->n_params++] = k->defaults[i];
        }
    }
    const struct json_value *reorder = json_get(build, "use_reorder");
    bool is_reordered = reorder != NULL && reorder->type == JSON_BOOL && reorder->boolean;
    for (size_t i = 0; k->kind == GREBE_ANN_INDEX_GRAPH && !is_reordered && i < job->n_params; i++) {
        if (strncmp(words[i], "quant=", 6) == 0 && strcmp(words[i], "quant=none") != 0) {
            words[job->n_params++] = "rerank=none";
            break;
        }
    }
}

/* A parameter that our index does not take is found before anything is run. */
static grebe_status try_new(grebe_context *ctx, const struct ann_job *job, grebe_error *err)
{
    grebe_ann_index *index = NULL;
    grebe_metric metric = job->kind == GREBE_ANN_INDEX_SPARSE ? GREBE_METRIC_IP : GREBE_METRIC_EUCLIDEAN;
    grebe_status st = grebe_ann_index_new(ctx, job->kind, metric, GREBE_ELEM_F32, job->params, job->n_params, 1, &index, err);
    grebe_ann_index_close(index);
    return st == GREBE_OK ? st : error_wrap(err, st, "%s", job->index_name);
}

/* hgraph searches with ef_search of k at least, whatever is said. */
static grebe_status raise_ef(struct arena *ar, struct ann_suite_case *c, grebe_error *err)
{
    char text[24];
    const char **words = arena_array(ar, c->search.n_params + 1, sizeof *words);
    unsigned long long ef = 0;
    if (words == NULL) {
        return mem_fail(err, 1, "ef");
    }
    for (size_t i = 0; i < c->search.n_params; i++) {
        words[i] = c->search.params[i];
        if (sscanf(words[i], "ef=%llu", &ef) == 1 && ef < c->k) {
            snprintf(text, sizeof text, "%llu", (unsigned long long)c->k);
            words[i] = word_of(ar, "ef", text);
            if (words[i] == NULL) {
                return mem_fail(err, 1, "ef");
            }
        }
    }
    c->search.params = words;
    return GREBE_OK;
}

static grebe_status parse_object(struct arena *ar, const char *what, const char *text, const struct json_value **out,
                                 grebe_error *err)
{
    grebe_status st = json_parse(ar, text, strlen(text), out, err);
    if (st != GREBE_OK) {
        return error_wrap(err, st, "%s", what);
    }
    return (*out)->type == JSON_OBJECT ? GREBE_OK : GREBE_FAIL(err, GREBE_ECORRUPT, "%s: expected an object, found %s", what,
                                                               json_type_name((*out)->type));
}

grebe_status ann_vsag_translate(grebe_context *ctx, struct arena *ar, const char *name, const char *create_params,
                                const char *search_params, uint64_t k, struct ann_suite_case *out, grebe_error *err)
{
    char quoted[64];
    const struct json_value *create = NULL, *search = NULL;
    const struct kind *found = NULL;
    grebe_status st = GREBE_OK;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        found = strcmp(kinds[i].name, name) == 0 ? &kinds[i] : found;
    }
    if (found == NULL) {
        return GREBE_FAIL(err, GREBE_EUNSUPPORTED,
                          "index \"%s\" has no counterpart here: expected hgraph, hnsw, ivf, brute_force or sindi",
                          error_quote(quoted, sizeof quoted, name, strlen(name)));
    }
    out->k = k;
    out->job.kind = found->kind;
    out->job.index_name = name;
    GREBE_TRY(parse_object(ar, "create_params", create_params, &create, err));
    const struct json_value *metric = json_get(create, "metric_type");
    out->is_range_squared = metric == NULL || json_is_text(metric, "l2");
    const struct json_value *build = json_get(create, found->is_block_of_build ? found->block : "index_param");
    GREBE_TRY(translate(ar, found, found->build, build, &out->job.params, &out->job.n_params, err));
    add_defaults(found, build, &out->job);
    GREBE_TRY(try_new(ctx, &out->job, err));
    if (search_params != NULL && search_params[0] != '\0') {
        GREBE_TRY(parse_object(ar, "search_params", search_params, &search, err));
        GREBE_TRY(translate(ar, found, found->search, json_get(search, found->block), &out->search.params,
                            &out->search.n_params, err));
        GREBE_TRY(raise_ef(ar, out, err));
    }
    out->search.text = search_params;
out:
    return st;
}
