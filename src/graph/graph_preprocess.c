/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/graph_preprocess.h"

#include <stdio.h>
#include <string.h>

#include "graph/graph_manifest.h"
#include "io/io_draft.h"
#include "io/io_folder.h"

grebe_status graph_options_resolve(const grebe_graph_options *options, grebe_graph_options *out, grebe_error *err)
{
    *out = (grebe_graph_options)GREBE_GRAPH_OPTIONS_INIT;
    grebe_status st = options_copy(out, sizeof *out, options, err);
    if (st == GREBE_OK && out->csv_separator != '\0' && strchr("0123456789+-\"\r\n", out->csv_separator) != NULL) {
        char shown[8];
        st = GREBE_FAIL(err, GREBE_EINVAL, "csv_separator: expected a character that is not part of a number or a line's end, found \"%s\"",
                        error_quote(shown, sizeof shown, &out->csv_separator, 1));
    }
    return st;
}

void graph_problems_tell(struct graph_metadata *m, const grebe_graph_options *options)
{
    for (; options->on_problem != NULL && *m->untold != NULL; m->untold = &(*m->untold)->next) {
        const struct graph_problem *p = *m->untold;
        grebe_graph_problem told = { sizeof told, p->is_error, p->status, p->file,
                                     p->line,     p->column,   p->field,  p->message };
        options->on_problem(options->problem_arg, &told);
    }
}

enum { DEEP_ERRORS_MAX = 1000 };

/* ---- paths ---- */

struct job {
    grebe_context *ctx;
    struct io_store *store;
    struct arena arena;
    grebe_graph_options options;
    struct call call;
    const char *data;     /* folder of the data set */
    const char *metadata; /* its metadata.yaml */
    const char *out;      /* where `preprocessed` is made */
    const char *made;     /* OUT/preprocessed */
    struct graph_metadata *m;
    size_t n_field_errors; /* of the metadata itself, before its files were looked at */
};

static grebe_status join(struct job *j, const char *folder, const char *rest, const char **out, grebe_error *err)
{
    struct buf b = BUF_INIT(j->ctx->a);
    grebe_status st = path_join(&b, folder, rest, err);
    if (st == GREBE_OK) {
        *out = arena_str(&j->arena, (const char *)b.data, b.len);
        st = *out != NULL ? GREBE_OK : mem_fail(err, b.len, folder);
    }
    buf_release(&b);
    return st;
}

static grebe_status exists(struct job *j, const char *path, bool *out, grebe_error *err)
{
    struct io_info info;
    grebe_status st = io_stat(j->store, path, &info, err);
    *out = st == GREBE_OK;
    return st == GREBE_ENOTFOUND ? GREBE_OK : st;
}

/* `preprocessed` may be a link to another disk: it stays one, and what it leads to is made there. */
static grebe_status follow_link(struct job *j, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct buf out = BUF_INIT(j->ctx->a), made = BUF_INIT(j->ctx->a);
    GREBE_TRY(io_folder_resolve(j->out, &out, err));
    GREBE_TRY(io_folder_resolve(j->made, &made, err));
    const char *real = (const char *)made.data, *slash = strrchr(real, '/');
    const size_t n = slash != NULL ? (size_t)(slash - real) : 0;
    if (slash == NULL || strcmp(real, j->made) == 0 ||
        (strlen((const char *)out.data) == n && memcmp(real, out.data, n) == 0 && strcmp(slash, "/preprocessed") == 0)) {
        goto out; /* not there, or no link */
    }
    j->made = arena_str(&j->arena, real, strlen(real));
    j->out = arena_str(&j->arena, n > 0 ? real : "/", n > 0 ? n : 1);
    if (j->made == NULL || j->out == NULL) {
        st = mem_fail(err, made.len, real);
    }
out:
    buf_release(&out);
    buf_release(&made);
    return st;
}

static grebe_status job_begin(struct job *j, grebe_context *ctx, const char *path, const grebe_graph_options *options,
                              grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct io_info info;
    *j = (struct job){ .ctx = ctx, .arena = ARENA_INIT(ctx->a) };
    GREBE_TRY(graph_options_resolve(options, &j->options, err));
    j->call = call_options_resolve(ctx, j->options.call);
    GREBE_TRY(io_local_new(ctx, &j->store, err));
    if (path[0] == '\0') {
        st = GREBE_FAIL(err, GREBE_EINVAL, "expected the folder of a data set, found an empty path");
        goto out;
    }
    st = io_stat(j->store, path, &info, err);
    if (st == GREBE_OK && info.kind != IO_FOLDER) {
        st = GREBE_FAIL(err, GREBE_EINVAL, "%s: expected the folder of a data set", path);
    }
    GREBE_TRY(st);
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/') {
        n--;
    }
    j->data = arena_str(&j->arena, path, n);
    if (j->data == NULL) {
        st = mem_fail(err, n, path);
        goto out;
    }
    j->out = j->options.out != NULL ? j->options.out : j->data;
    GREBE_TRY(join(j, j->data, "metadata.yaml", &j->metadata, err));
    GREBE_TRY(join(j, j->out, "preprocessed", &j->made, err));
out:
    return st;
}

static void job_end(struct job *j)
{
    graph_metadata_free(j->m);
    arena_release(&j->arena);
    io_store_free(j->store);
}

/* ---- whether there is anything to do ---- */

static grebe_status decide(struct job *j, bool *is_needed, char *reason, size_t room, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const char *metadata = NULL;
    bool is_there = false, is_raw = false, is_current = false;
    *is_needed = true;
    GREBE_TRY(join(j, j->made, "metadata.yaml", &metadata, err));
    GREBE_TRY(exists(j, metadata, &is_there, err));
    GREBE_TRY(exists(j, j->metadata, &is_raw, err));
    if (!is_there) {
        snprintf(reason, room, "it was not there");
    } else if (j->options.force == GREBE_GRAPH_ALWAYS) {
        snprintf(reason, room, "it was asked for");
    } else if (j->options.force == GREBE_GRAPH_NEVER || !is_raw) {
        snprintf(reason, room, is_raw ? "what is there shall be used" : "there is nothing it could be made of");
        *is_needed = false;
    } else {
        GREBE_TRY(
            graph_manifest_compare(j->store, &j->call, j->made, j->data, &j->options, &is_current, reason, room, err));
        *is_needed = !is_current;
    }
out:
    return st;
}

/* ---- what is replaced ---- */

static grebe_status see_any(void *arg, const char *name, enum io_kind kind, grebe_error *err)
{
    (void)name;
    (void)kind;
    (void)err;
    *(bool *)arg = true;
    return GREBE_OK;
}

/* Whether the metadata of a folder is of a preprocessed data set: Grebe leaves its manifest there, DGL names the graph that it made. */
static grebe_status was_preprocessed(struct job *j, const char *metadata, bool *out, grebe_error *err)
{
    struct region *text = NULL;
    struct arena arena = ARENA_INIT(j->ctx->a);
    const struct yaml_tree *root = NULL;
    grebe_error failed = GREBE_ERROR_INIT;
    grebe_status st = graph_manifest_is_there(j->store, j->made, out, err);
    if (st == GREBE_OK && !*out) {
        st = io_read_all(j->store, metadata, GRAPH_METADATA_BYTES_MAX, &text, NULL, &failed);
        st = st == GREBE_OK ? yaml_tree_parse(&arena, metadata, (const char *)text->data, text->len, &root, &failed) : st;
        *out = st == GREBE_OK && yaml_tree_get(root, "graph_topology") != NULL;
        st = st == GREBE_ENOMEM ? error_copy(err, st, &failed) : GREBE_OK;
    }
    region_drop(text);
    arena_release(&arena);
    return st;
}

/* What nobody has preprocessed is not ours to remove. */
static grebe_status check_replaced(struct job *j, grebe_error *err)
{
    struct io_info info;
    bool is_there = false, is_full = false, is_made = false;
    const char *metadata = NULL;
    grebe_status st = exists(j, j->made, &is_there, err);
    if (st != GREBE_OK || !is_there) {
        return st;
    }
    GREBE_TRY(io_stat(j->store, j->made, &info, err));
    if (info.kind != IO_FOLDER) {
        st = GREBE_FAIL(err, GREBE_EEXISTS, "%s: expected a folder or nothing, found a file", j->made);
        goto out;
    }
    GREBE_TRY(join(j, j->made, "metadata.yaml", &metadata, err));
    GREBE_TRY(exists(j, metadata, &is_there, err));
    if (j->options.force == GREBE_GRAPH_ALWAYS) {
        goto out;
    }
    if (is_there) {
        GREBE_TRY(was_preprocessed(j, metadata, &is_made, err));
    } else {
        GREBE_TRY(io_list(j->store, j->made, see_any, &is_full, err));
    }
    if (is_there ? !is_made : is_full) {
        st = GREBE_FAIL(err, GREBE_EEXISTS, "%s: files %s, which are replaced only by force", j->made,
                        is_there ? "that were not preprocessed" : "without metadata.yaml");
    }
out:
    return st;
}

/* A source that lies in the folder that is replaced would be lost with it. */
static grebe_status check_apart(struct job *j, const struct graph_inputs *inputs, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct buf made = BUF_INIT(j->ctx->a), real = BUF_INIT(j->ctx->a), path = BUF_INIT(j->ctx->a);
    GREBE_TRY(io_folder_resolve(j->made, &made, err));
    const size_t n = strlen((const char *)made.data);
    for (size_t i = 0; i < inputs->n; i++) {
        buf_clear(&path);
        buf_clear(&real);
        GREBE_TRY(graph_path_join(&path, j->data, inputs->files[i], err));
        GREBE_TRY(buf_put_byte(&path, '\0', err));
        GREBE_TRY(io_folder_resolve((const char *)path.data, &real, err));
        if (strncmp((const char *)real.data, (const char *)made.data, n) == 0 && real.data[n] == '/') {
            st = GREBE_FAIL(err, GREBE_EINVAL, "%s: a source in the folder that would be replaced, %s", inputs->files[i], j->made);
            goto out;
        }
    }
out:
    buf_release(&made);
    buf_release(&real);
    buf_release(&path);
    return st;
}

/* ---- making ---- */

static grebe_status read_checked(struct job *j, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    GREBE_TRY(graph_metadata_read(j->ctx, j->metadata, j->data, GRAPH_RAW, j->options.is_strict, &j->m, err));
    j->n_field_errors = j->m->n_errors;
    GREBE_TRY(graph_metadata_check_files(j->m, j->options.allow_row_mismatch, err));
    const struct graph_feature_spec *f = graph_edge_feature(j->m);
    if (f != NULL && j->options.edge_ids == GREBE_GRAPH_EDGE_IDS_FOR_FEATURES) {
        j->options.edge_ids = GREBE_GRAPH_EDGE_IDS_KEPT;
    }
    if (f != NULL && j->options.edge_ids == GREBE_GRAPH_EDGE_IDS_DROPPED) {
        st = graph_problem_add(j->m, f->item, f->file.field, false, GREBE_ESCHEMA, err,
                               "rows of an edge feature cannot be found for sampled edges without original edge ids");
    }
out:
    return st;
}

/* All files that were read, each once. */
static grebe_status list_inputs(struct job *j, struct graph_inputs *out, grebe_error *err)
{
    const struct graph_metadata *m = j->m;
    size_t most = 1 + m->n_edges + m->n_attributes + m->n_features, k = 0;
    for (size_t i = 0; i < m->n_tasks; i++) {
        for (size_t s = 0; s < GRAPH_SETS; s++) {
            for (size_t p = 0; p < m->tasks[i].n_sets[s]; p++) {
                most += m->tasks[i].sets[s][p].n_items;
            }
        }
    }
    const char **files = arena_array(&j->arena, most, sizeof *files);
    if (files == NULL) {
        return mem_fail(err, most * sizeof *files, m->shown);
    }
    files[k++] = "metadata.yaml";
    for (size_t i = 0; i < m->n_edges; i++) {
        files[k++] = m->edges[i].file.path;
    }
    for (size_t i = 0; i < m->n_attributes; i++) {
        files[k++] = m->attributes[i].file.path;
    }
    for (size_t i = 0; i < m->n_features; i++) {
        files[k++] = m->features[i].file.path;
    }
    for (size_t i = 0; i < m->n_tasks; i++) {
        for (size_t s = 0; s < GRAPH_SETS; s++) {
            for (size_t p = 0; p < m->tasks[i].n_sets[s]; p++) {
                for (size_t x = 0; x < m->tasks[i].sets[s][p].n_items; x++) {
                    files[k++] = m->tasks[i].sets[s][p].items[x].file.path;
                }
            }
        }
    }
    struct name_index seen;
    grebe_status st = name_index_new(j->ctx->a, k, &seen, err);
    *out = (struct graph_inputs){ .data = j->data, .files = files };
    for (size_t i = 0; i < k && st == GREBE_OK; i++) {
        bool is_there = false;
        st = name_index_add(&seen, files[i], i, &is_there, err);
        files[out->n] = files[i];
        out->n += is_there ? 0 : 1;
    }
    name_index_release(&seen);
    return st == GREBE_OK ? graph_inputs_look(out, j->store, &j->arena, err) : st;
}

static grebe_status make_in(struct job *j, const char *folder, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct csc_build *b = NULL;
    const char *graph = NULL;
    uint64_t graph_bytes = 0;
    struct graph_inputs inputs = { 0 };
    struct graph_outputs outputs = {
        .m = j->m, .store = j->store, .folder = folder, .is_durable = j->options.is_durable, .call = j->call
    };
    const struct csc_options options = { .has_edge_ids = j->options.edge_ids == GREBE_GRAPH_EDGE_IDS_KEPT,
                                         .is_cast = !j->options.without_cast,
                                         .is_attribute_order_kept = j->options.keep_attribute_order,
                                         .allows_row_mismatch = j->options.allow_row_mismatch,
                                         .csv = { j->options.csv_has_header, j->options.csv_separator },
                                         .call = j->call,
                                         .store = j->store,
                                         .folder = folder };
    GREBE_TRY(list_inputs(j, &inputs, err));
    GREBE_TRY(check_apart(j, &inputs, err));
    GREBE_TRY(csc_build_begin(j->m, &options, &b, err));
    GREBE_TRY(graph_items_write(&outputs, &j->options, options.is_cast && b->indices_type == ARRAY_I32, err));
    GREBE_TRY(join(j, folder, "fused_csc_sampling_graph.pt", &graph, err));
    GREBE_TRY(graph_file_write(&outputs, graph, b, &graph_bytes, err));
    csc_build_free(b);
    b = NULL;
    GREBE_TRY(graph_manifest_write(&outputs, &j->options, &inputs, graph_bytes, err));
    GREBE_TRY(graph_outputs_publish(&outputs, err)); /* last: the disk has had the most time */
out:
    graph_outputs_release(&outputs);
    csc_build_free(b);
    return st;
}

/* A folder beside the result gets its name when all is in it. */
static grebe_status make(struct job *j, grebe_error *err)
{
    struct io_draft draft = IO_DRAFT_INIT;
    grebe_status st = io_draft_begin(j->store, j->made, &draft, err);
    st = st == GREBE_OK ? make_in(j, draft.folder, err) : st;
    st = st == GREBE_OK ? check_replaced(j, err) : st; /* again: others may have come meanwhile */
    st = st == GREBE_OK ? io_draft_publish(&draft, j->made, j->options.is_durable, err) : st;
    io_draft_end(&draft);
    return st;
}

grebe_status grebe_graph_preprocess(grebe_context *ctx, const char *path, const grebe_graph_options *options,
                                    grebe_graph_made *made, grebe_error *err)
{
    GREBE_CHECK_ARG(err, ctx != NULL && path != NULL);
    grebe_status st = GREBE_OK;
    struct job j;
    char reason[256] = "";
    bool is_needed = false;
    GREBE_TRY(job_begin(&j, ctx, path, options, err));
    GREBE_TRY(follow_link(&j, err));
    GREBE_TRY(decide(&j, &is_needed, reason, sizeof reason, err));
    if (is_needed) {
        GREBE_TRY(read_checked(&j, err));
        GREBE_TRY(j.m->n_errors == 0 ? graph_seeds_check(j.m, &j.call, err) : GREBE_OK);
        graph_problems_tell(j.m, &j.options);
        GREBE_TRY(graph_problems_status(j.m, err));
        GREBE_TRY(check_replaced(&j, err));
        st = make(&j, err);
        graph_problems_tell(j.m, &j.options); /* rows of text files of edges */
        GREBE_TRY(st);
    }
    if (made != NULL) {
        made->is_reused = !is_needed;
        memcpy(made->reason, reason, sizeof made->reason);
    }
out:
    job_end(&j);
    return st;
}

/* ---- checking ---- */

/* Every edge of every file; what is wrong becomes a problem of the file. */
static grebe_status check_edges(struct job *j, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const struct graph_csv_options csv = { j->options.csv_has_header, j->options.csv_separator };
    const size_t bytes = 2 * (GRAPH_BLOCK_EDGES + 1) * sizeof(int64_t);
    int64_t *ends = mem_alloc(j->ctx->a, bytes);
    if (ends == NULL) {
        return mem_fail(err, bytes, j->data);
    }
    for (size_t i = 0; i < j->m->n_edges && st == GREBE_OK; i++) {
        struct graph_edges e = { 0 };
        grebe_error failed = GREBE_ERROR_INIT;
        int64_t all = 0;
        if (graph_file_is_told(j->m, &j->m->edges[i].file)) {
            continue;
        }
        grebe_status found = graph_edges_open(j->m, i, &csv, &e, &failed);
        for (size_t k = 0; k < e.n_blocks && found == GREBE_OK; k++) {
            size_t n = 0;
            found = call_check(&j->call, &failed);
            found = found == GREBE_OK ? graph_edges_read(&e, k, ends, ends + GRAPH_BLOCK_EDGES + 1, &n, &failed) : found;
            all += (int64_t)n;
        }
        bool is_new = j->m->edges[i].n_edges < 0;
        graph_edges_close(&e);
        if (found == GREBE_ENOMEM || found == GREBE_ECANCELLED) {
            st = error_copy(err, found, &failed);
        } else if (found != GREBE_OK) {
            st = graph_problem_add_file(j->m, &j->m->edges[i].file, found, failed.message, err);
        } else if (is_new && !j->options.allow_row_mismatch) {
            j->m->edges[i].n_edges = all;
            st = graph_metadata_check_rows(j->m, i, err);
        }
    }
    mem_free(j->ctx->a, ends, bytes);
    return st;
}

grebe_status grebe_graph_check(grebe_context *ctx, const char *path, const grebe_graph_options *options,
                               size_t *n_errors, grebe_error *err)
{
    GREBE_CHECK_ARG(err, ctx != NULL && path != NULL);
    grebe_status st = GREBE_OK;
    struct job j;
    GREBE_TRY(job_begin(&j, ctx, path, options, err));
    GREBE_TRY(read_checked(&j, err));
    /* also where files are wrong, so that one run tells all; of very many of them nobody reads more */
    if (j.options.is_deep && j.n_field_errors == 0 && j.m->n_errors < DEEP_ERRORS_MAX) {
        GREBE_TRY(check_edges(&j, err));
        GREBE_TRY(graph_seeds_check(j.m, &j.call, err));
    }
    graph_problems_tell(j.m, &j.options);
    if (n_errors != NULL) {
        *n_errors = j.m->n_errors;
    }
out:
    job_end(&j);
    return st;
}
