/* SPDX-License-Identifier: Apache-2.0 */
/* The task of a metadata.yaml: its sets, of files or of columns of a source. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "graph/graph_metadata.h"
#include "grebe/graph_init_internal.h"
#include "grebe/print.h"
#include "grebe/source.h"
#include "grebe/write_file.h"

/* ---- files ---- */

/* A column of any type as a npy file. */
static grebe_status copy_column(struct graph_initing *k, const grebe_graph_set_file *f, struct io_writer *w, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    grebe_source *source = NULL;
    struct ArrowArrayStream rows = { 0 };
    grebe_source_options open = GREBE_SOURCE_OPTIONS_INIT;
    grebe_scan_options scan = GREBE_SCAN_OPTIONS_INIT;
    grebe_write_options write = GREBE_WRITE_OPTIONS_INIT;
    open.call = scan.call = write.call = k->options.call;
    scan.columns = f->columns;
    scan.n_columns = 1;
    GREBE_TRY(grebe_source_open(k->ctx, f->path, &open, &source, err));
    GREBE_TRY(grebe_source_scan(source, &scan, &rows, err));
    GREBE_TRY(write_file_rows(k->ctx, w, &rows, &write, NULL, err));
    GREBE_TRY(io_writer_flush(w, err));
out:
    grebe_source_close(source);
    return error_wrap(err, st, "%s: column \"%.100s\"", f->path, f->columns[0]);
}

grebe_status graph_init_place_sets(struct graph_initing *k, grebe_error *err)
{
    const grebe_graph_init_options *o = &k->options;
    grebe_status st = GREBE_OK;
    k->set_paths = arena_array(&k->ar, o->n_sets, sizeof *k->set_paths);
    k->set_formats = arena_array(&k->ar, o->n_sets, sizeof *k->set_formats);
    if (k->set_paths == NULL || k->set_formats == NULL) {
        return mem_fail(err, o->n_sets * sizeof *k->set_paths, "sets");
    }
    for (size_t i = 0; i < o->n_sets; i++) {
        const grebe_graph_set_file *f = &o->sets[i];
        struct io_writer *w = NULL;
        if (f->n_columns == 0) {
            GREBE_TRY(graph_init_array(k, f->path, &k->set_formats[i], &k->set_paths[i], err));
            continue;
        }
        k->set_formats[i] = "numpy";
        GREBE_TRY(graph_init_draft(k, "sets", i, &k->set_paths[i], &w, err));
        const bool is_ids = f->n_columns > 1 || strcmp(f->name, "seeds") == 0;
        GREBE_TRY(is_ids ? graph_init_columns(k, f->path, f->columns, f->n_columns, true, w, err) : copy_column(k, f, w, err));
    }
out:
    return st;
}

/* ---- metadata ---- */

static bool is_same(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static const struct yaml_tree *item_of(struct graph_initing *k, size_t i)
{
    struct arena *ar = &k->ar;
    const struct yaml_tree *t = graph_tree_text(ar, graph_tree_map(ar), "name", k->options.sets[i].name);
    t = graph_tree_text(ar, t, "format", k->set_formats[i]);
    return graph_tree_text(ar, t, "path", k->set_paths[i]);
}

/* The arrays of a set and type, from the first of them on. */
static const struct yaml_tree *part_of(struct graph_initing *k, size_t first)
{
    const grebe_graph_init_options *o = &k->options;
    const grebe_graph_set_file *f = &o->sets[first];
    const struct yaml_tree **items = arena_array(&k->ar, o->n_sets, sizeof *items);
    size_t n = 0;
    for (size_t i = first; items != NULL && i < o->n_sets; i++) {
        if (o->sets[i].set == f->set && is_same(o->sets[i].type, f->type)) {
            items[n] = item_of(k, i);
            if (items[n++] == NULL) {
                return NULL;
            }
        }
    }
    const struct yaml_tree *t = items != NULL ? graph_tree_map(&k->ar) : NULL;
    t = f->type != NULL ? graph_tree_text(&k->ar, t, "type", f->type) : t;
    return graph_tree_list(&k->ar, t, "data", items, n);
}

static bool is_first_of_part(const grebe_graph_init_options *o, size_t i)
{
    for (size_t j = 0; j < i; j++) {
        if (o->sets[j].set == o->sets[i].set && is_same(o->sets[j].type, o->sets[i].type)) {
            return false;
        }
    }
    return true;
}

static const struct yaml_tree *put_key(struct graph_initing *k, const struct yaml_tree *map, const grebe_graph_task_key *key)
{
    char *end = NULL;
    errno = 0;
    const long long number = strtoll(key->value, &end, 10);
    const bool is_number = errno == 0 && end != key->value && *end == '\0' && strchr(" \t\n+", key->value[0]) == NULL;
    return is_number ? graph_tree_int(&k->ar, map, key->key, number) : graph_tree_text(&k->ar, map, key->key, key->value);
}

const struct yaml_tree *graph_init_task(struct graph_initing *k)
{
    const grebe_graph_init_options *o = &k->options;
    const struct yaml_tree *task = graph_tree_map(&k->ar);
    for (size_t i = 0; i < o->n_task_keys; i++) {
        task = put_key(k, task, &o->task_keys[i]);
    }
    for (size_t kind = 0; kind < GRAPH_SETS; kind++) {
        const struct yaml_tree **parts = arena_array(&k->ar, o->n_sets, sizeof *parts);
        size_t n = 0;
        for (size_t i = 0; parts != NULL && i < o->n_sets; i++) {
            if ((size_t)o->sets[i].set == kind && is_first_of_part(o, i)) {
                parts[n] = part_of(k, i);
                if (parts[n++] == NULL) {
                    return NULL;
                }
            }
        }
        task = parts == NULL ? NULL : n > 0 ? graph_tree_list(&k->ar, task, graph_set_names[kind], parts, n) : task;
    }
    return task;
}
