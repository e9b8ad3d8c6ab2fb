/* SPDX-License-Identifier: Apache-2.0 */
#include "grebe/source_graph.h"

#include <string.h>

#include "array/tensor_rows.h"
#include "grebe/graph_parts.h"

static bool is_there(struct io_store *store, const char *folder, size_t len, const char *entry)
{
    char path[4096];
    struct io_info info;
    const size_t n = strlen(entry);
    if (len == 0 || len + n + 2 > sizeof path) {
        return false;
    }
    memcpy(path, folder, len);
    path[len] = '/';
    memcpy(path + len + 1, entry, n + 1);
    return io_stat(store, path, &info, NULL) == GREBE_OK && info.kind == IO_FILE;
}

static bool is_graph(struct io_store *store, const char *path, size_t len)
{
    return is_there(store, path, len, "preprocessed/metadata.yaml") || is_there(store, path, len, "metadata.yaml");
}

bool source_is_graph(struct io_store *store, const char *path) { return is_graph(store, path, strlen(path)); }

const char *source_graph_part(struct io_store *store, const char *uri)
{
    for (const char *at = strchr(uri, '#'); at != NULL; at = strchr(at + 1, '#')) {
        if (is_graph(store, uri, (size_t)(at - uri))) {
            return at + 1;
        }
    }
    return NULL;
}

grebe_status source_graph_path(struct io_store *store, const char *uri, struct buf *dst, grebe_error *err)
{
    const char *part = source_graph_part(store, uri), *p = part != NULL ? part : uri + strlen(uri);
    grebe_status st = buf_put(dst, uri, (size_t)(p - uri), err);
    for (; st == GREBE_OK && *p != '\0'; p++) {
        st = *p == '/' ? buf_put_text(dst, "%2F", err) : *p == '%' ? buf_put_text(dst, "%25", err) : buf_put_byte(dst, (uint8_t)*p, err);
    }
    return st == GREBE_OK ? buf_put_byte(dst, 0, err) : st;
}

/* The part as it is called, with a NUL. */
static grebe_status decode_part(const char *part, struct buf *dst, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    while (st == GREBE_OK && *part != '\0') {
        const bool is_slash = strncmp(part, "%2F", 3) == 0, is_percent = strncmp(part, "%25", 3) == 0;
        st = buf_put_byte(dst, is_slash ? '/' : is_percent ? '%' : (uint8_t)*part, err);
        part += is_slash || is_percent ? 3 : 1;
    }
    return st == GREBE_OK ? buf_put_byte(dst, 0, err) : st;
}

/*
 * A feature of a data set that is not preprocessed, as it will be: of one dimension, a column. `err` says already why there is nothing
 * else to open.
 */
static grebe_status open_raw(struct io_store *store, const char *folder, const char *wanted, struct format_reader **out, grebe_error *err)
{
    struct graph_metadata *m = NULL;
    struct tensor t = { 0 };
    struct buf path = BUF_INIT(store->ctx->a);
    char name[GRAPH_PART_ROOM];
    size_t i = 0;
    grebe_status st = path_join(&path, folder, "metadata.yaml", err);
    st = st == GREBE_OK ? graph_metadata_read(store->ctx, buf_text(&path), folder, GRAPH_RAW, false, &m, err) : st;
    for (; st == GREBE_OK && i < m->n_features; i++) {
        graph_part_feature_name(&m->features[i], name);
        if (graph_part_is(name, wanted)) {
            break;
        }
    }
    if (st == GREBE_OK && i == m->n_features) {
        st = GREBE_FAIL(err, GREBE_ENOTFOUND, "%s: no feature \"%.100s\"; what else there is, is there when it is preprocessed: run grebe graph preprocess",
                        folder, wanted);
    }
    st = st == GREBE_OK ? graph_file_open(m, &m->features[i].file, &t, err) : st;
    if (st == GREBE_OK) {
        if (t.rank == 1) {
            t.rank = 2;
            t.shape[1] = 1;
            t.strides[1] = 1;
        }
        st = tensor_reader_new(store->ctx, &graph_part_format, &t, t.region->len, out, err);
    }
    tensor_release(&t);
    graph_metadata_free(m);
    buf_release(&path);
    return st;
}

static grebe_status part_open(struct io_store *store, const char *path, const struct file_hints *hints,
                              struct format_reader **out, grebe_error *err)
{
    const grebe_allocator *a = store->ctx->a;
    grebe_status st = GREBE_OK;
    grebe_graph *g = NULL;
    struct graph_part part;
    struct matrix m = { 0 };
    struct buf part_name = BUF_INIT(a);
    const char *at = source_graph_part(store, path);
    (void)hints;
    *out = NULL;
    char *folder = str_copy_len(a, path, at == NULL ? strlen(path) : (size_t)(at - 1 - path));
    if (folder == NULL) {
        return mem_fail(err, strlen(path), path);
    }
    if (at != NULL) {
        GREBE_TRY(decode_part(at, &part_name, err));
    }
    const char *name = at != NULL ? (const char *)part_name.data : NULL;
    st = grebe_graph_open(store->ctx, folder, &g, err);
    if (st == GREBE_ENOTFOUND && name != NULL && is_there(store, folder, strlen(folder), "metadata.yaml")) {
        st = open_raw(store, folder, name, out, err);
        goto out;
    }
    GREBE_TRY(st);
    GREBE_TRY(graph_part_find(g, folder, name, &part, err));
    st = graph_part_matrix(g, true, &part, NULL, &m, err);
    if (st != GREBE_OK) {
        st = error_wrap(err, st, "%s", path);
        goto out;
    }
    g = NULL; /* the rows have it */
    st = matrix_reader_new(store->ctx, &graph_part_format, &m, out, err);
    if (st != GREBE_OK) {
        m.close(m.file);
    }
out:
    grebe_graph_close(g);
    str_free(a, folder);
    buf_release(&part_name);
    return st;
}

static bool part_sniff(const unsigned char *head, size_t head_len, const unsigned char *tail, size_t tail_len)
{
    (void)head;
    (void)head_len;
    (void)tail;
    (void)tail_len;
    return false; /* a folder, found by its files */
}

static const char *const no_extensions[] = { NULL };

const struct file_format graph_part_format = {
    .name = "graph",
    .extensions = no_extensions,
    .sniff = part_sniff,
    .open = part_open,
};
