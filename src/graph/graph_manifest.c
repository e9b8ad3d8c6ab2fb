/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/graph_manifest.h"

#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "base/hash.h"
#include "wire/json.h"

enum { MANIFEST_BYTES_MAX = 256 << 20, FORMAT = 1 };
enum { IDS_DROPPED = 0, IDS_KEPT = 1, IDS_FOR_FEATURES = 2 /* of which there are none */ };

/* Fields that change the result, in the order of the file. */
struct option {
    const char *name;
    int value;
};
enum { N_OPTIONS = 6 };
static const char option_attribute_order[] = "attributes_in_file_order";

static void list_options(const grebe_graph_options *o, struct option list[N_OPTIONS])
{
    list[0] = (struct option){ "original_edge_ids", o->edge_ids == GREBE_GRAPH_EDGE_IDS_KEPT      ? IDS_KEPT
                                                        : o->edge_ids == GREBE_GRAPH_EDGE_IDS_DROPPED ? IDS_DROPPED
                                                                                                      : IDS_FOR_FEATURES };
    list[1] = (struct option){ "auto_cast", !o->without_cast };
    list[2] = (struct option){ option_attribute_order, o->keep_attribute_order };
    list[3] = (struct option){ "allow_row_mismatch", o->allow_row_mismatch };
    list[4] = (struct option){ "csv_header", o->csv_has_header };
    list[5] = (struct option){ "csv_separator", o->csv_separator != 0 ? o->csv_separator : ',' };
}

static grebe_status join(struct buf *dst, const char *folder, const char *rest, const char **out, grebe_error *err)
{
    buf_clear(dst);
    grebe_status st = graph_path_join(dst, folder, rest, err);
    *out = st == GREBE_OK ? buf_text(dst) : NULL;
    return st == GREBE_OK && *out == NULL ? mem_fail(err, dst->len, rest) : st;
}

/* Of the content, which is looked at where it is mapped and read where it cannot be. */
static grebe_status digest_of(struct io_store *store, const struct call *call, const char *path, uint64_t *out,
                              grebe_error *err)
{
    enum { CHUNK = 1 << 20 };
    grebe_status st = GREBE_OK;
    grebe_context *ctx = store->ctx;
    struct io_file *file = NULL;
    struct region *map = NULL;
    struct hash_stream *h = NULL;
    unsigned char *bytes = NULL;
    GREBE_TRY(hash_stream_new(ctx->a, &h, err));
    GREBE_TRY(io_open(store, path, &file, err));
    if (file->ops->map != NULL && file->id.size_bytes > 0) {
        GREBE_TRY(file->ops->map(file, &map, err));
    } else {
        bytes = mem_alloc(ctx->a, CHUNK);
        st = bytes != NULL ? GREBE_OK : mem_fail(err, CHUNK, path);
    }
    for (uint64_t at = 0; at < file->id.size_bytes && st == GREBE_OK; at += CHUNK) {
        size_t n = (size_t)min_u64(CHUNK, file->id.size_bytes - at);
        st = call_check(call, err);
        st = st != GREBE_OK || map != NULL ? st : io_read(file, at, bytes, n, err);
        hash_stream_put(h, map != NULL ? map->data + at : bytes, st == GREBE_OK ? n : 0);
        if (map != NULL) {
            region_forget(map, map->data + at, n);
        }
    }
    *out = hash_stream_get(h);
out:
    region_drop(map);
    io_close(file);
    hash_stream_free(h);
    mem_free(ctx->a, bytes, bytes != NULL ? CHUNK : 0);
    return st;
}

grebe_status graph_inputs_look(struct graph_inputs *x, struct io_store *store, struct arena *arena, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct buf path = BUF_INIT(store->ctx->a);
    x->before = arena_array(arena, x->n, sizeof *x->before);
    if (x->before == NULL) {
        return mem_fail(err, x->n * sizeof *x->before, x->data);
    }
    for (size_t i = 0; i < x->n; i++) {
        const char *real = NULL;
        struct io_info info;
        GREBE_TRY(join(&path, x->data, x->files[i], &real, err));
        GREBE_TRY(io_stat(store, real, &info, err));
        x->before[i] = info.id;
    }
out:
    buf_release(&path);
    return st;
}

struct digesting {
    struct io_store *store;
    const struct call *call;
    const struct graph_inputs *inputs;
    uint64_t *digests;
};

static grebe_status digest_input(void *arg, size_t i, grebe_error *err)
{
    const struct digesting *d = arg;
    const char *name = d->inputs->files[i], *real = NULL;
    grebe_status st = GREBE_OK;
    struct buf path = BUF_INIT(d->store->ctx->a);
    struct io_info info;
    GREBE_TRY(join(&path, d->inputs->data, name, &real, err));
    GREBE_TRY(digest_of(d->store, d->call, real, &d->digests[i], err));
    GREBE_TRY(io_stat(d->store, real, &info, err)); /* after all reading */
    if (!io_identity_equal(&info.id, &d->inputs->before[i])) {
        st = GREBE_FAIL(err, GREBE_ECORRUPT, "%s: changed while it was read", name);
    }
out:
    buf_release(&path);
    return st;
}

static void put_input(struct json_writer *w, const char *file, const struct io_identity *id, uint64_t digest)
{
    char hex[20];
    snprintf(hex, sizeof hex, "%016llx", (unsigned long long)digest);
    json_open_object(w);
    json_key(w, "path");
    json_text(w, file);
    json_key(w, "size");
    json_uint(w, id->size_bytes);
    json_key(w, "modified_ns");
    json_int(w, id->modified_ns);
    json_key(w, "xxh3");
    json_text(w, hex);
    json_close_object(w);
}

static void put_output(struct json_writer *w, const char *name, uint64_t size)
{
    json_open_object(w);
    json_key(w, "path");
    json_text(w, name);
    json_key(w, "size");
    json_uint(w, size);
    json_close_object(w);
}

grebe_status graph_manifest_write(const struct graph_outputs *outputs, const grebe_graph_options *options,
                                  const struct graph_inputs *inputs, uint64_t graph_bytes, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct io_store *store = outputs->store;
    const grebe_allocator *a = store->ctx->a;
    struct buf text = BUF_INIT(a), path = BUF_INIT(a);
    struct io_writer *file = NULL;
    struct json_writer w;
    struct option list[N_OPTIONS];
    const char *real = NULL;
    struct digesting d = { store, &outputs->call, inputs, arena_array(&outputs->m->arena, inputs->n, sizeof *d.digests) };
    if (d.digests == NULL) {
        return mem_fail(err, inputs->n * sizeof *d.digests, inputs->data);
    }
    GREBE_TRY(parallel_for(store->ctx->pool, outputs->call.threads, inputs->n, digest_input, &d, outputs->call.cancel,
                           err));
    list_options(options, list);
    json_begin(&w, &text, 1, err);
    json_open_object(&w);
    json_key(&w, "tool");
    json_text(&w, "grebe");
    json_key(&w, "format");
    json_int(&w, FORMAT);
    json_key(&w, "options");
    json_open_object(&w);
    for (size_t i = 0; i < N_OPTIONS; i++) {
        json_key(&w, list[i].name);
        json_int(&w, list[i].value);
    }
    json_close_object(&w);
    json_key(&w, "inputs");
    json_open_array(&w);
    for (size_t i = 0; i < inputs->n; i++) {
        put_input(&w, inputs->files[i], &inputs->before[i], d.digests[i]);
    }
    json_close_array(&w);
    json_key(&w, "outputs");
    json_open_array(&w);
    put_output(&w, "fused_csc_sampling_graph.pt", graph_bytes);
    for (size_t i = 0; i < outputs->n; i++) {
        put_output(&w, outputs->items[i].name, outputs->items[i].n_bytes);
    }
    json_close_array(&w);
    json_close_object(&w);
    GREBE_TRY(json_end(&w));
    GREBE_TRY(buf_put_byte(&text, '\n', err));
    GREBE_TRY(join(&path, outputs->folder, "manifest.json", &real, err));
    GREBE_TRY(io_create(store, real, outputs->is_durable, &file, err));
    GREBE_TRY(io_write(file, text.data, text.len, err));
    GREBE_TRY(io_writer_publish(file, false, err));
out:
    io_writer_free(file);
    buf_release(&text);
    buf_release(&path);
    return st;
}

/* ---- reading ---- */

/* @param text The values are borrowed from it and the arena. */
static grebe_status read_manifest(struct io_store *store, const char *made, struct buf *path, struct arena *arena, struct region **text,
                                  const struct json_value **root, grebe_error *err)
{
    const char *real = NULL;
    grebe_status st = join(path, made, "manifest.json", &real, err);
    st = st == GREBE_OK ? io_read_all(store, real, MANIFEST_BYTES_MAX, text, NULL, err) : st;
    return st == GREBE_OK ? json_parse(arena, (const char *)(*text)->data, (*text)->len, root, err) : st;
}

grebe_status graph_manifest_is_there(struct io_store *store, const char *made, bool *out, grebe_error *err)
{
    struct buf path = BUF_INIT(store->ctx->a);
    struct arena arena = ARENA_INIT(store->ctx->a);
    struct region *text = NULL;
    const struct json_value *root = NULL;
    grebe_error failed = GREBE_ERROR_INIT;
    grebe_status st = read_manifest(store, made, &path, &arena, &text, &root, &failed);
    const struct json_value *tool = st == GREBE_OK ? json_get(root, "tool") : NULL;
    *out = tool != NULL && tool->type == JSON_STRING && strcmp(tool->text, "grebe") == 0;
    region_drop(text);
    arena_release(&arena);
    buf_release(&path);
    return st == GREBE_ENOMEM ? error_copy(err, st, &failed) : GREBE_OK;
}

grebe_status graph_manifest_attribute_order(struct io_store *store, const char *made, bool *is_of_files, grebe_error *err)
{
    struct buf path = BUF_INIT(store->ctx->a);
    struct arena arena = ARENA_INIT(store->ctx->a);
    struct region *text = NULL;
    const struct json_value *root = NULL;
    grebe_error failed = GREBE_ERROR_INIT;
    int64_t value = 0;
    grebe_status st = read_manifest(store, made, &path, &arena, &text, &root, &failed);
    *is_of_files = st == GREBE_ENOTFOUND || (st == GREBE_OK && json_i64(json_get(json_get(root, "options"), option_attribute_order), &value) && value == 1);
    region_drop(text);
    arena_release(&arena);
    buf_release(&path);
    return st == GREBE_OK || st == GREBE_ENOTFOUND ? GREBE_OK : error_copy(err, st, &failed);
}

/* ---- comparing ---- */

struct comparing {
    struct io_store *store;
    const struct call *call;
    struct buf path;
    char *reason;
    size_t room;
};

static bool options_are_same(const struct json_value *v, const grebe_graph_options *options, char *reason, size_t room)
{
    struct option list[N_OPTIONS];
    list_options(options, list);
    for (size_t i = 0; i < N_OPTIONS; i++) {
        int64_t was = -1;
        bool is_there = json_i64(json_get(v, list[i].name), &was);
        bool is_more = i == 0 && list[i].value == IDS_FOR_FEATURES && was == IDS_KEPT;
        if (!is_there || (was != list[i].value && !is_more)) {
            snprintf(reason, room, "option %s changed", list[i].name);
            return false;
        }
    }
    return true;
}

/* An input: the size, and the time or the content. */
static grebe_status input_is_same(struct comparing *c, const char *data, const struct json_value *v, bool *is_same,
                                  grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const struct json_value *name = json_get(v, "path"), *was_digest = json_get(v, "xxh3");
    const char *real = NULL;
    struct io_info info;
    grebe_error failed = GREBE_ERROR_INIT;
    uint64_t size = 0, digest = 0;
    int64_t modified = 0;
    char hex[20];
    *is_same = false;
    if (name == NULL || name->type != JSON_STRING || was_digest == NULL || was_digest->type != JSON_STRING ||
        !json_u64(json_get(v, "size"), &size) || !json_i64(json_get(v, "modified_ns"), &modified)) {
        snprintf(c->reason, c->room, "manifest.json is not one of this program");
        return GREBE_OK;
    }
    GREBE_TRY(join(&c->path, data, name->text, &real, err));
    st = io_stat(c->store, real, &info, &failed);
    if (st != GREBE_OK) {
        snprintf(c->reason, c->room, "%.200s cannot be looked at", name->text);
        return GREBE_OK;
    }
    if (info.id.size_bytes == size && info.id.modified_ns == modified) {
        *is_same = true;
        return GREBE_OK;
    }
    if (info.id.size_bytes == size) { /* touched, perhaps not changed */
        GREBE_TRY(digest_of(c->store, c->call, real, &digest, err));
        snprintf(hex, sizeof hex, "%016llx", (unsigned long long)digest);
        *is_same = strcmp(hex, was_digest->text) == 0;
    }
    if (!*is_same) {
        snprintf(c->reason, c->room, "%.200s changed", name->text);
    }
out:
    return st;
}

static grebe_status output_is_there(struct comparing *c, const char *made, const struct json_value *v, bool *is_there,
                                    grebe_error *err)
{
    const struct json_value *name = json_get(v, "path");
    const char *real = NULL;
    struct io_info info;
    grebe_error failed = GREBE_ERROR_INIT;
    uint64_t size = 0;
    *is_there = false;
    if (name == NULL || name->type != JSON_STRING || !json_u64(json_get(v, "size"), &size)) {
        snprintf(c->reason, c->room, "manifest.json is not one of this program");
        return GREBE_OK;
    }
    grebe_status st = join(&c->path, made, name->text, &real, err);
    if (st == GREBE_OK) {
        *is_there = io_stat(c->store, real, &info, &failed) == GREBE_OK && info.id.size_bytes == size;
        if (!*is_there) {
            snprintf(c->reason, c->room, "%.200s, which was made, is not there or of another size", name->text);
        }
    }
    return st;
}

static grebe_status compare(struct comparing *c, const char *made, const char *data, const struct json_value *root,
                            const grebe_graph_options *options, bool *is_current, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    int64_t format = 0;
    const struct json_value *inputs = json_get(root, "inputs"), *outputs = json_get(root, "outputs");
    *is_current = false;
    if (!json_i64(json_get(root, "format"), &format) || format != FORMAT || inputs == NULL ||
        inputs->type != JSON_ARRAY || outputs == NULL || outputs->type != JSON_ARRAY) {
        snprintf(c->reason, c->room, "manifest.json is not one of this version");
        return GREBE_OK;
    }
    if (!options_are_same(json_get(root, "options"), options, c->reason, c->room)) {
        return GREBE_OK;
    }
    *is_current = true;
    for (size_t i = 0; i < inputs->n && *is_current && st == GREBE_OK; i++) {
        st = input_is_same(c, data, &inputs->items[i], is_current, err);
    }
    for (size_t i = 0; i < outputs->n && *is_current && st == GREBE_OK; i++) {
        st = output_is_there(c, made, &outputs->items[i], is_current, err);
    }
    if (st == GREBE_OK && *is_current) {
        snprintf(c->reason, c->room, "nothing has changed");
    }
    return st;
}

grebe_status graph_manifest_compare(struct io_store *store, const struct call *call, const char *made, const char *data,
                                    const grebe_graph_options *options, bool *is_current, char *reason, size_t room,
                                    grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const grebe_allocator *a = store->ctx->a;
    struct comparing c = { store, call, BUF_INIT(a), reason, room };
    struct arena arena = ARENA_INIT(a);
    struct region *text = NULL;
    const struct json_value *root = NULL;
    grebe_error failed = GREBE_ERROR_INIT;
    *is_current = false;
    st = read_manifest(store, made, &c.path, &arena, &text, &root, &failed);
    if (st == GREBE_ENOTFOUND) {
        snprintf(reason, room, "it was made by another program: there is no manifest.json");
        st = GREBE_OK;
        goto out;
    }
    if (st == GREBE_ENOMEM) {
        error_copy(err, st, &failed);
        goto out;
    }
    if (st != GREBE_OK) {
        snprintf(reason, room, "manifest.json cannot be read");
        st = GREBE_OK;
        goto out;
    }
    st = compare(&c, made, data, root, options, is_current, err);
out:
    region_drop(text);
    arena_release(&arena);
    buf_release(&c.path);
    return st;
}
