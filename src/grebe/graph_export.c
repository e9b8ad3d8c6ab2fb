/* SPDX-License-Identifier: Apache-2.0 */
/* A preprocessed graph as plain files: names, folders, and the form that is tables. */
#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "base/utf8.h"
#include "grebe/graph_export_internal.h"
#include "grebe/source.h"
#include "io/io_draft.h"
#include "io/io_folder.h"

/* ---- names ---- */

static bool is_taken(const struct graph_exporting *e, const char *name)
{
    for (size_t i = 0; i < e->n_names; i++) {
        if (strcmp(e->names[i], name) == 0) {
            return true;
        }
    }
    return false;
}

/* The part as a name of a file, cut after a whole character. */
static void put_safe(char *dst, size_t room, const char *part)
{
    enum { CHARACTER_BYTES_MAX = 4 };
    size_t n = 0, left = strlen(part);
    while (left > 0 && n + CHARACTER_BYTES_MAX < room) {
        const unsigned char c = (unsigned char)*part;
        const size_t len = utf8_char_len(part, left), step = len > 0 ? len : 1;
        if (c == ':') {
            dst[n++] = '_';
        }
        const bool is_odd = len == 0 || c == ':' || c == '/' || c == '\\' || c < 0x20 || c == 0x7f || (c == '.' && n == 0);
        if (is_odd) {
            dst[n++] = '_';
        } else {
            memcpy(dst + n, part, len);
            n += len;
        }
        part += step;
        left -= step;
    }
    dst[n] = '\0';
}

grebe_status graph_export_name(struct graph_exporting *e, const char *group, const char *part, const char *ending,
                               const char **out, grebe_error *err)
{
    enum { PART_BYTES_MAX = 200 };
    char safe[PART_BYTES_MAX], name[PART_BYTES_MAX + 80];
    put_safe(safe, sizeof safe, part);
    snprintf(name, sizeof name, "%s/%s.%s", group, safe, ending);
    for (unsigned i = 2; is_taken(e, name); i++) {
        snprintf(name, sizeof name, "%s/%s-%u.%s", group, safe, i, ending);
    }
    if (e->n_names == e->capacity) {
        const size_t capacity = e->capacity * 2 + 16;
        const char **names = arena_array(&e->ar, capacity, sizeof *names);
        if (names == NULL) {
            return mem_fail(err, capacity * sizeof *names, "names");
        }
        if (e->n_names > 0) {
            memcpy(names, e->names, e->n_names * sizeof *names);
        }
        e->names = names;
        e->capacity = capacity;
    }
    *out = arena_str(&e->ar, name, strlen(name));
    if (*out == NULL) {
        return mem_fail(err, sizeof name, "names");
    }
    e->names[e->n_names++] = *out;
    return GREBE_OK;
}

/* FOLDER/NAME, and the folder that it is in. @param out In the arena. */
static grebe_status place_file(struct graph_exporting *e, const char *name, const char **out, grebe_error *err)
{
    struct buf b = BUF_INIT(e->ctx->a);
    const char *slash = strchr(name, '/');
    grebe_status st = GREBE_OK;
    if (slash != NULL) {
        GREBE_TRY(path_join(&b, e->folder, "", err));
        GREBE_TRY(buf_put_byte(&b, '/', err));
        GREBE_TRY(buf_put(&b, name, (size_t)(slash - name), err));
        GREBE_TRY(io_make_folders(e->store, buf_text(&b), e->options.is_durable, err));
        b.len = 0;
    }
    GREBE_TRY(path_join(&b, e->folder, name, err));
    *out = arena_str(&e->ar, (const char *)b.data, b.len);
    st = *out != NULL ? GREBE_OK : mem_fail(err, b.len, name);
out:
    buf_release(&b);
    return st;
}

grebe_status graph_export_create(struct graph_exporting *e, const char *name, struct io_writer **out, grebe_error *err)
{
    const char *path = NULL;
    *out = NULL;
    grebe_status st = place_file(e, name, &path, err);
    return st == GREBE_OK ? io_create(e->store, path, e->options.is_durable, out, err) : st;
}

/* ---- tables ---- */

static const char *group_of(const struct graph_part *part)
{
    switch (part->kind) {
    case GRAPH_PART_FEATURE: return "features";
    case GRAPH_PART_EDGES: return "edges";
    case GRAPH_PART_NODES: return "nodes";
    default: return "sets";
    }
}

static grebe_status export_table(struct graph_exporting *e, const struct graph_part *part, const char *name, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const char *file = NULL, *path = NULL, *colon = strchr(name, ':');
    struct buf uri = BUF_INIT(e->ctx->a);
    grebe_source *source = NULL;
    struct ArrowArrayStream rows = { 0 };
    grebe_scan_options scan = GREBE_SCAN_OPTIONS_INIT;
    const bool keeps_kind = part->kind == GRAPH_PART_FEATURE || colon == NULL; /* else the folder tells it */
    GREBE_TRY(graph_export_name(e, group_of(part), keeps_kind ? name : colon + 1, e->options.file_format, &file, err));
    GREBE_TRY(place_file(e, file, &path, err));
    GREBE_TRY(buf_put_text(&uri, e->source, err));
    GREBE_TRY(buf_put_byte(&uri, '#', err));
    GREBE_TRY(buf_put_text(&uri, name, err));
    GREBE_TRY(grebe_source_open(e->ctx, buf_text(&uri), NULL, &source, err));
    scan.call = e->options.call;
    GREBE_TRY(grebe_source_scan(source, &scan, &rows, err));
    GREBE_TRY(grebe_write_file(e->ctx, path, &rows, NULL, e->options.is_durable, NULL, err));
out:
    grebe_source_close(source);
    buf_release(&uri);
    return st;
}

static grebe_status export_tables(struct graph_exporting *e, grebe_error *err)
{
    struct graph_part part;
    char name[GRAPH_PART_ROOM];
    grebe_status st = GREBE_OK;
    for (size_t k = 0; st == GREBE_OK && graph_part_at(e->g, k, &part, name); k++) {
        st = call_check(&e->call, err);
        if (st == GREBE_OK && !(part.kind == GRAPH_PART_NODES && e->g->csc.n_node_attributes == 0)) {
            st = export_table(e, &part, name, err);
        }
    }
    return st;
}

/* ---- the whole ---- */

static grebe_status see_entry(void *arg, const char *name, enum io_kind kind, grebe_error *err)
{
    (void)name;
    (void)kind;
    (void)err;
    ++*(size_t *)arg;
    return GREBE_OK;
}

static grebe_status check_format(const char *name, grebe_error *err)
{
    static const char *const known[] = { "parquet", "arrow", "arrows", "csv", "tsv", "json", "jsonl" };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(known[i], name) == 0) {
            return GREBE_OK;
        }
    }
    return GREBE_FAIL(err, GREBE_EUNSUPPORTED, "format of files: expected npy, parquet, arrow, arrows, csv, tsv, json or jsonl, found \"%.40s\"",
                      name);
}

/*
 * Nothing, or an empty folder; one that a link leads to is the one that is filled.
 *
 * @param place Written: where it is, without '/' at its end.
 */
static grebe_status check_dest(struct io_store *store, const char *dest, struct buf *place, grebe_error *err)
{
    struct io_info info;
    grebe_status st = GREBE_OK;
    size_t n = 0, len = strlen(dest);
    while (len > 1 && dest[len - 1] == '/') {
        len--;
    }
    GREBE_TRY(buf_put(place, dest, len, err));
    GREBE_TRY(buf_text(place) != NULL ? GREBE_OK : mem_fail(err, len, dest));
    const char *slash = strrchr(buf_text(place), '/'), *last = slash != NULL ? slash + 1 : buf_text(place);
    if (strcmp(last, "") == 0 || strcmp(last, ".") == 0 || strcmp(last, "..") == 0) { /* the folder of a process cannot be replaced */
        st = GREBE_FAIL(err, GREBE_EINVAL, "%s: expected the name of a folder, that is made or is empty", dest);
        goto out;
    }
    char *named = str_copy(store->ctx->a, buf_text(place));
    GREBE_TRY(named != NULL ? GREBE_OK : mem_fail(err, len, dest));
    buf_clear(place);
    st = io_folder_resolve(named, place, err);
    str_free(store->ctx->a, named);
    GREBE_TRY(st);
    st = io_stat(store, (const char *)place->data, &info, NULL);
    if (st == GREBE_OK && info.kind == IO_FOLDER) {
        st = io_list(store, (const char *)place->data, see_entry, &n, err);
        st = st != GREBE_OK || n == 0 ? st : GREBE_FAIL(err, GREBE_EEXISTS, "%s: the folder is not empty", dest);
    } else {
        st = st == GREBE_OK ? GREBE_FAIL(err, GREBE_EEXISTS, "%s: there is a file of that name", dest) : GREBE_OK;
    }
out:
    return st;
}

/* What has rows in the order of the files, which without edge ids nothing leads to, would be written for other edges. */
static grebe_status check_edge_ids(const grebe_graph *g, grebe_error *err)
{
    const struct graph_csc *csc = graph_dataset_csc(g);
    const struct graph_feature_spec *feature = graph_edge_feature(g->metadata);
    bool is_of_files = false;
    if (csc == NULL || graph_edge_ids(csc) != NULL) {
        return GREBE_OK;
    }
    if (feature != NULL) {
        return GREBE_FAIL(err, GREBE_ESCHEMA, "edge feature \"%.100s\": its rows cannot be told from the edges of a graph without original edge ids",
                          feature->name != NULL ? feature->name : "");
    }
    grebe_status st = csc->n_edge_attributes > 0 ? graph_dataset_attribute_order(g, &is_of_files, err) : GREBE_OK;
    return st != GREBE_OK || !is_of_files
               ? st
               : GREBE_FAIL(err, GREBE_ESCHEMA, "attribute \"%.100s\", in the order of the files: its rows cannot be told from the edges of a graph without original edge ids",
                            csc->edge_attributes[0].name);
}

grebe_status grebe_graph_export(grebe_context *ctx, const char *path, const char *dest, const grebe_graph_export_options *options,
                                grebe_error *err)
{
    GREBE_CHECK_ARG(err, ctx != NULL && path != NULL && dest != NULL && dest[0] != '\0');
    grebe_status st = GREBE_OK;
    struct graph_exporting e = { .ctx = ctx, .source = path, .options = GREBE_GRAPH_EXPORT_OPTIONS_INIT, .ar = ARENA_INIT(ctx->a) };
    struct io_draft draft = IO_DRAFT_INIT;
    struct buf place = BUF_INIT(ctx->a);
    GREBE_TRY(options_copy(&e.options, sizeof e.options, options, err));
    e.call = call_options_resolve(ctx, e.options.call);
    const bool is_dataset = e.options.file_format == NULL || strcmp(e.options.file_format, "npy") == 0;
    GREBE_TRY(is_dataset ? GREBE_OK : check_format(e.options.file_format, err));
    GREBE_TRY(io_local_new(ctx, &e.store, err));
    GREBE_TRY(check_dest(e.store, dest, &place, err));
    GREBE_TRY(grebe_graph_open(ctx, path, &e.g, err));
    GREBE_TRY(check_edge_ids(e.g, err));
    GREBE_TRY(io_draft_begin(e.store, (const char *)place.data, &draft, err));
    e.folder = draft.folder;
    GREBE_TRY(is_dataset ? graph_export_dataset(&e, err) : export_tables(&e, err));
    GREBE_TRY(io_draft_publish_new(&draft, (const char *)place.data, e.options.is_durable, err));
out:
    io_draft_end(&draft);
    buf_release(&place);
    grebe_graph_close(e.g);
    io_store_free(e.store);
    arena_release(&e.ar);
    return st;
}
