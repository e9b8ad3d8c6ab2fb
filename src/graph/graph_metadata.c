/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/graph_metadata.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/context_internal.h"
#include "graph/graph_metadata_internal.h"
#include "io/io.h"

enum { MESSAGE_MAX = 700 };

const char *const graph_set_names[GRAPH_SETS] = { "train_set", "validation_set", "test_set" };

/* ---- problems ---- */

static grebe_status add_problem(struct graph_metadata *m, const struct graph_problem *p, grebe_error *err)
{
    struct graph_problem *x = arena_alloc(&m->arena, sizeof *x);
    if (x == NULL) {
        return mem_fail(err, sizeof *x, m->shown);
    }
    *x = *p;
    x->is_error = p->is_error || m->is_strict;
    x->field = arena_str(&m->arena, p->field, strlen(p->field));
    x->message = arena_str(&m->arena, p->message, strlen(p->message));
    if (x->field == NULL || x->message == NULL) {
        return mem_fail(err, strlen(p->message), m->shown);
    }
    *m->last_problem = x;
    m->last_problem = &x->next;
    m->n_errors += x->is_error ? 1 : 0;
    return GREBE_OK;
}

grebe_status graph_problem_add(struct graph_metadata *m, const struct yaml_tree *at, const char *field, bool is_error,
                               grebe_status status, grebe_error *err, const char *fmt, ...)
{
    char message[MESSAGE_MAX];
    va_list args;
    va_start(args, fmt);
    vsnprintf(message, sizeof message, fmt, args);
    va_end(args);
    struct graph_problem p = {
        NULL, is_error, status, m->shown, at != NULL ? at->line : 0, at != NULL ? at->column : 0, field, message
    };
    return add_problem(m, &p, err);
}

grebe_status graph_problem_add_file(struct graph_metadata *m, const struct graph_file *f, grebe_status status,
                                    const char *message, grebe_error *err)
{
    char field[160];
    snprintf(field, sizeof field, "%s.path", f->field);
    struct graph_problem p = { NULL, true, status, m->shown, f->path_at->line, f->path_at->column, field, message };
    return add_problem(m, &p, err);
}

bool graph_file_is_told(const struct graph_metadata *m, const struct graph_file *f)
{
    const size_t n = f->field != NULL ? strlen(f->field) : 0;
    for (const struct graph_problem *p = m->problems; n > 0 && m->n_errors > 0 && p != NULL; p = p->next) {
        if (p->is_error && strncmp(p->field, f->field, n) == 0 && (p->field[n] == '.' || p->field[n] == '\0')) {
            return true;
        }
    }
    return false;
}

grebe_status graph_problems_status(const struct graph_metadata *m, grebe_error *err)
{
    for (const struct graph_problem *p = m->problems; p != NULL; p = p->next) {
        if (!p->is_error) {
            continue;
        }
        char place[64] = "", more[64] = "";
        if (p->line > 0) {
            snprintf(place, sizeof place, ":%llu:%llu", (unsigned long long)p->line, (unsigned long long)p->column);
        }
        if (m->n_errors > 1) {
            snprintf(more, sizeof more, " (and %zu more)", m->n_errors - 1);
        }
        return GREBE_FAIL(err, p->status, "%s%s: %s%s%s%s", p->file, place, p->field, p->field[0] != '\0' ? ": " : "",
                          p->message, more);
    }
    return GREBE_OK;
}

/* ---- types ---- */

size_t graph_node_type_find(const struct graph_metadata *m, const char *type)
{
    const size_t i = name_chain_find(&m->node_names, type);
    return i < m->n_nodes ? i : m->n_nodes;
}

size_t graph_edge_type_find(const struct graph_metadata *m, const char *type)
{
    const size_t *i = m->edge_names.n > 0 ? name_index_find(&m->edge_names, type) : NULL;
    return i != NULL ? *i : m->n_edges;
}

const struct graph_feature_spec *graph_edge_feature(const struct graph_metadata *m)
{
    for (size_t i = 0; i < m->n_features; i++) {
        if (m->features[i].domain == GRAPH_EDGE) {
            return &m->features[i];
        }
    }
    return NULL;
}

bool graph_edge_type_part(const char *type, unsigned part, char *dst, size_t room)
{
    const char *first = strchr(type, ':'), *second = first != NULL ? strchr(first + 1, ':') : NULL;
    if (second == NULL || strchr(second + 1, ':') != NULL) {
        return false;
    }
    const char *begin = part == 0 ? type : part == 1 ? first + 1 : second + 1;
    const char *end = part == 0 ? first : part == 1 ? second : second + strlen(second);
    if ((size_t)(end - begin) >= room) {
        return false;
    }
    memcpy(dst, begin, (size_t)(end - begin));
    dst[end - begin] = '\0';
    return true;
}

/* ---- reading ---- */

/* A failure of the YAML reader, which names file, line and column, as a problem of the file. */
static grebe_status add_syntax(struct graph_metadata *m, const grebe_error *failed, grebe_error *err)
{
    const char *text = failed->message;
    unsigned line = 0, column = 0;
    int n = 0;
    size_t len = strlen(m->shown);
    if (strncmp(text, m->shown, len) == 0 && sscanf(text + len, ":%u:%u: %n", &line, &column, &n) == 2 && n > 0) {
        text += len + (size_t)n;
    } else if (strncmp(text, m->shown, len) == 0 && strncmp(text + len, ": ", 2) == 0) {
        text += len + 2; /* bytes that are no text have no line */
    }
    struct yaml_tree at = { .line = line, .column = column };
    return graph_problem_add(m, line > 0 ? &at : NULL, "", true, failed->status, err, "%s", text);
}

static grebe_status read_text(struct graph_metadata *m, const char *path, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct io_store *store = NULL;
    struct region *text = NULL;
    const struct yaml_tree *tree = NULL;
    grebe_error failed = GREBE_ERROR_INIT;
    GREBE_TRY(io_local_new(m->ctx, &store, err));
    GREBE_TRY(io_read_all(store, path, GRAPH_METADATA_BYTES_MAX, &text, NULL, err));
    m->text_bytes = text->len;
    st = yaml_tree_parse(&m->arena, m->shown, (const char *)text->data, text->len, &tree, &failed);
    st = st == GREBE_OK ? graph_yaml_merge(&m->arena, m->shown, tree, &tree, &failed) : st;
    if (st == GREBE_ENOMEM) {
        st = mem_fail(err, text->len, m->shown);
        goto out;
    }
    if (st != GREBE_OK) {
        st = add_syntax(m, &failed, err);
        goto out;
    }
    m->root = tree;
    if (tree->type != YAML_TREE_MAP || (tree->n == 0 && text->len == 0)) {
        GREBE_TRY(
            graph_problem_add(m, tree, "", true, GREBE_ESCHEMA, err, "%s",
                              text->len == 0 ? "the file is empty: a section \"graph\" is needed" : "expected a map"));
        m->root = NULL;
    }
out:
    region_drop(text);
    io_store_free(store);
    return st;
}

grebe_status graph_metadata_read(grebe_context *ctx, const char *path, const char *folder, enum graph_dialect dialect,
                                 bool is_strict, struct graph_metadata **out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    *out = NULL;
    struct graph_metadata *m = mem_alloc_zero(ctx->a, sizeof *m);
    if (m == NULL) {
        return mem_fail(err, sizeof *m, path);
    }
    m->ctx = ctx;
    m->arena = ARENA_INIT(ctx->a);
    m->is_strict = is_strict;
    m->last_problem = &m->problems;
    m->untold = &m->problems;
    m->path = arena_str(&m->arena, path, strlen(path));
    m->folder = arena_str(&m->arena, folder, strlen(folder));
    m->shown = m->path;
    if (m->path == NULL || m->folder == NULL) {
        st = mem_fail(err, strlen(path), path);
        goto out;
    }
    if (dialect == GRAPH_PREPROCESSED) {
        const char *slash = strrchr(path, '/');
        m->made_in = slash != NULL ? arena_str(&m->arena, path, (size_t)(slash - path) + 1) : ".";
        if (m->made_in == NULL) {
            st = mem_fail(err, strlen(path), path);
            goto out;
        }
    }
    GREBE_TRY(read_text(m, path, err));
    if (m->root != NULL) {
        GREBE_TRY(graph_metadata_fill(m, dialect, err));
    }
    *out = m;
    m = NULL;
out:
    graph_metadata_free(m);
    return st;
}

void graph_metadata_free(struct graph_metadata *m)
{
    if (m != NULL) {
        const grebe_allocator *a = m->ctx->a;
        name_index_release(&m->edge_names);
        arena_release(&m->arena);
        mem_free(a, m, sizeof *m);
    }
}
