/* SPDX-License-Identifier: Apache-2.0 */
/* Indexes as words, and search parameters as lists of values. */
#include <stdio.h>
#include <string.h>

#include "ann/ann_run.h"

enum { SWEEPS_MAX = 8, CASES_MAX = 10000 };

/* "graph:ef=16,32": one parameter with its values, as "ef=16" and "ef=32". */
struct sweep {
    bool is_of_kind;
    grebe_ann_index_kind kind;
    const char **words;
    size_t n;
};

static grebe_status parse_sweep(struct arena *ar, const char *text, struct sweep *out, grebe_error *err)
{
    char quoted[96];
    const char *colon = strchr(text, ':'), *equals = strchr(text, '=');
    grebe_status st = GREBE_OK;
    *out = (struct sweep){ 0 };
    if (colon != NULL && equals != NULL && colon < equals) {
        char *kind = arena_str(ar, text, (size_t)(colon - text));
        st = kind == NULL ? mem_fail(err, 16, text) : grebe_ann_index_kind_parse(kind, &out->kind, err);
        out->is_of_kind = true;
        text = colon + 1;
    }
    if (st != GREBE_OK) {
        return st;
    }
    if (equals == NULL || equals == text || equals[1] == '\0') {
        return GREBE_FAIL(err, GREBE_EINVAL, "sweep: expected NAME=VALUE,VALUE,… or KIND:NAME=…, found \"%s\"",
                          error_quote(quoted, sizeof quoted, text, strlen(text)));
    }
    size_t name = (size_t)(equals - text), most = strlen(equals);
    out->words = arena_array(ar, most, sizeof *out->words);
    if (out->words == NULL) {
        return mem_fail(err, most * sizeof *out->words, text);
    }
    for (const char *p = equals + 1; *p != '\0';) {
        size_t n = strcspn(p, ",");
        char *word = arena_alloc(ar, name + n + 2);
        if (word == NULL) {
            return mem_fail(err, name + n + 2, text);
        }
        memcpy(word, text, name + 1); /* with the equals sign */
        memcpy(word + name + 1, p, n);
        word[name + 1 + n] = '\0';
        if (n > 0) {
            out->words[out->n++] = word;
        }
        p += n + (p[n] == ',');
    }
    return out->n > 0 ? GREBE_OK : GREBE_FAIL(err, GREBE_EINVAL, "sweep: expected values behind \"%.60s\"", text);
}

/* Every combination of the sweeps that this kind has, the last one changing fastest. */
static grebe_status combine(struct arena *ar, const struct sweep *sweeps, size_t n, struct ann_job *job, grebe_error *err)
{
    const struct sweep *mine[SWEEPS_MAX];
    size_t n_mine = 0, total = 1;
    for (size_t i = 0; i < n; i++) {
        if (!sweeps[i].is_of_kind || sweeps[i].kind == job->kind) {
            mine[n_mine++] = &sweeps[i];
            total = total > CASES_MAX || sweeps[i].n > CASES_MAX ? CASES_MAX + 1 : total * sweeps[i].n;
        }
    }
    if (total > CASES_MAX) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "sweeps: more than %d ways to search one index", CASES_MAX);
    }
    struct ann_search_spec *specs = arena_array(ar, total, sizeof *specs);
    const char **words = arena_array(ar, total * (n_mine + 1), sizeof *words);
    if (specs == NULL || words == NULL) {
        return mem_fail(err, total * sizeof *specs, "sweeps");
    }
    for (size_t i = 0; i < total; i++) {
        size_t rest = i;
        specs[i].params = words + i * n_mine;
        specs[i].n_params = n_mine;
        for (size_t j = n_mine; j-- > 0;) {
            words[i * n_mine + j] = mine[j]->words[rest % mine[j]->n];
            rest /= mine[j]->n;
        }
    }
    job->searches = specs;
    job->n_searches = total;
    return GREBE_OK;
}

static bool is_name(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' || c == '-';
}

/* "FOLDER/graph_M_16.gix" */
static grebe_status path_of(struct arena *ar, const char *folder, const char *text, const char **out, grebe_error *err)
{
    size_t n = strlen(folder) + strlen(text) + 8, at = strlen(folder);
    char *path = arena_alloc(ar, n);
    *out = path;
    if (path == NULL) {
        return mem_fail(err, n, text);
    }
    memcpy(path, folder, at);
    path[at++] = '/';
    for (const char *p = text; *p != '\0'; p++) {
        bool is_plain = is_name(*p);
        if (is_plain || path[at - 1] != '_') {
            path[at++] = is_plain ? *p : '_';
        }
    }
    snprintf(path + at, n - at, ".gix");
    return GREBE_OK;
}

/* A misspelled parameter of the last index, or of searching it, is found before the first one is built. */
static grebe_status try_new(struct ann_dataset *d, const struct ann_job *job, grebe_error *err)
{
    grebe_ann_index *index = NULL;
    grebe_metric metric = GREBE_METRIC_L2;
    grebe_ann_index_search_options o = GREBE_ANN_INDEX_SEARCH_OPTIONS_INIT;
    grebe_vectors v;
    int64_t id = -1;
    float distance = 0;
    grebe_status st = grebe_metric_parse(d->distance, &metric, err);
    st = st == GREBE_OK ? ann_side_vectors(d, &d->train, 0, 1, &v, err) : st;
    st = st == GREBE_OK ? grebe_ann_index_new(d->ctx, job->kind, metric, v.elem, job->params, job->n_params, 1, &index, err) : st;
    bool has_row = st == GREBE_OK && v.rows == 1 && grebe_ann_index_add(index, &v, NULL, NULL, NULL) == GREBE_OK;
    for (size_t i = 0; has_row && st == GREBE_OK && i < job->n_searches; i++) {
        o.params = job->searches[i].params;
        o.n_params = job->searches[i].n_params;
        st = grebe_ann_index_search(index, &v, 1, &o, &id, &distance, err);
    }
    grebe_ann_index_close(index);
    return st;
}

grebe_status ann_run_indexes(struct ann_dataset *d, const char *const *indexes, size_t n_indexes, const char *const *sweeps,
                             size_t n_sweeps, const char *save_folder, const struct ann_run_options *o,
                             struct ann_report *report, grebe_error *err)
{
    struct arena ar = ARENA_INIT(d->ctx->a);
    struct sweep parsed[SWEEPS_MAX];
    grebe_status st = GREBE_OK;
    if (n_sweeps > SWEEPS_MAX || n_indexes == 0) {
        return GREBE_FAIL(err, GREBE_EINVAL, "expected an index, and at most %d sweeps, found %zu and %zu", SWEEPS_MAX, n_indexes,
                          n_sweeps);
    }
    struct ann_job *jobs = arena_array(&ar, n_indexes, sizeof *jobs);
    GREBE_TRY(jobs == NULL ? mem_fail(err, n_indexes * sizeof *jobs, "indexes") : GREBE_OK);
    for (size_t i = 0; i < n_sweeps; i++) {
        GREBE_TRY(parse_sweep(&ar, sweeps[i], &parsed[i], err));
    }
    for (size_t i = 0; i < n_indexes; i++) {
        const char **params = NULL;
        jobs[i].has_build = true;
        st = ann_index_parse(&ar, indexes[i], &jobs[i].kind, &params, &jobs[i].n_params, err);
        jobs[i].params = params;
        GREBE_TRY(st == GREBE_OK ? st : error_wrap(err, st, "index \"%s\"", indexes[i]));
        GREBE_TRY(combine(&ar, parsed, n_sweeps, &jobs[i], err));
        st = try_new(d, &jobs[i], err);
        GREBE_TRY(st == GREBE_OK ? st : error_wrap(err, st, "index \"%s\"", indexes[i]));
        if (save_folder != NULL) {
            GREBE_TRY(path_of(&ar, save_folder, indexes[i], &jobs[i].save_path, err));
        }
    }
    for (size_t i = 0; i < n_sweeps; i++) {
        bool is_used = !parsed[i].is_of_kind;
        for (size_t j = 0; j < n_indexes; j++) {
            is_used = is_used || parsed[i].kind == jobs[j].kind;
        }
        GREBE_TRY(is_used ? GREBE_OK : GREBE_FAIL(err, GREBE_EINVAL, "sweep: no index of the kind of \"%.60s\"", sweeps[i]));
    }
    for (size_t i = 0; i < n_indexes; i++) {
        st = ann_run_job(d, &jobs[i], o, report, err);
        GREBE_TRY(st == GREBE_OK ? st : error_wrap(err, st, "index \"%s\"", indexes[i]));
    }
out:
    arena_release(&ar);
    return st;
}
