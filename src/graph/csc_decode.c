/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/csc_decode.h"

#include <string.h>

#include "base/checked.h"

enum { WAVE_MAX = 16, ROOM = GRAPH_BLOCK_EDGES + 1, WAVE_BYTES = 2 * ROOM * 8 };

/* A block of the wave: its sources and destinations, at the end packed behind one another in `width` bytes each. */
struct decoded_block {
    int64_t *ends; /* shape [2 * ROOM] */
    size_t n;
};

struct decoding {
    const struct graph_edges *file;
    size_t width, first; /* block of the file that the wave begins with */
    struct decoded_block *wave;
};

static void pack(struct decoded_block *d, size_t width)
{
    unsigned char *bytes = (unsigned char *)d->ends;
    for (size_t half = 0; half < 2; half++) {
        const int64_t *from = d->ends + half * ROOM; /* what is written lies before what is still read */
        unsigned char *to = bytes + half * d->n * width;
        if (width == sizeof(int64_t)) {
            memmove(to, from, d->n * width);
            continue;
        }
        for (size_t k = 0; k < d->n; k++) {
            int32_t v = (int32_t)from[k];
            memcpy(to + k * sizeof v, &v, sizeof v);
        }
    }
}

static grebe_status decode_block(void *arg, size_t i, grebe_error *err)
{
    struct decoding *d = arg;
    struct decoded_block *x = &d->wave[i];
    grebe_status st = graph_edges_read(d->file, d->first + i, x->ends, x->ends + ROOM, &x->n, err);
    if (st == GREBE_OK) {
        pack(x, d->width);
    }
    return st;
}

/* All ends are below bounds that were checked. */
static size_t width_of(const struct graph_edges *e)
{
    return e->n_sources <= INT32_MAX && e->n_destinations <= INT32_MAX ? 4 : 8;
}

static grebe_status decode_file(struct csc_build *b, size_t type, struct decoded_block *wave, size_t n_wave,
                                struct io_writer *w, grebe_error *err)
{
    struct graph_edges *e = &b->files[type];
    const struct call *call = &b->options.call;
    struct decoding d = { .file = e, .width = width_of(e), .wave = wave };
    if (e->n_blocks == 0) {
        return GREBE_OK;
    }
    e->views = mem_alloc_zero(e->ctx->a, e->n_blocks * sizeof *e->views);
    if (e->views == NULL) {
        return mem_fail(err, e->n_blocks * sizeof *e->views, e->path);
    }
    for (; d.first < e->n_blocks; d.first += n_wave) {
        size_t n = min_size(n_wave, e->n_blocks - d.first);
        grebe_status st = parallel_for(e->ctx->pool, call->threads, n, decode_block, &d, call->cancel, err);
        for (size_t i = 0; i < n && st == GREBE_OK; i++) {
            e->views[d.first + i] = (struct graph_edge_view){ .width = d.width, .n = wave[i].n };
            b->edges_of[type] += (int64_t)wave[i].n;
            st = io_write(w, wave[i].ends, 2 * wave[i].n * d.width, err);
        }
        if (st != GREBE_OK) {
            return st;
        }
    }
    return GREBE_OK;
}

static grebe_status map_decoded(struct csc_build *b, struct io_writer *w, const bool *is_decoded, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct io_file *file = NULL;
    struct region *map = NULL;
    const unsigned char *at = NULL;
    if (w->n_written > 0) {
        GREBE_TRY(io_writer_flush(w, err));
        GREBE_TRY(io_open(b->options.store, io_writer_local_path(w), &file, err));
        if (file->id.size_bytes != w->n_written) {
            st = GREBE_FAIL(err, GREBE_EIO, "%s: %llu bytes were written, the file has %llu", file->path,
                            (unsigned long long)w->n_written, (unsigned long long)file->id.size_bytes);
            goto out;
        }
        GREBE_TRY(file->ops->map(file, &map, err));
        at = map->data;
    }
    for (size_t type = 0; type < b->m->n_edges; type++) {
        struct graph_edges *e = &b->files[type];
        for (size_t i = 0; is_decoded[type] && i < e->n_blocks; i++) {
            struct graph_edge_view *v = &e->views[i];
            v->sources = at;
            v->destinations = v->n > 0 ? at + v->n * v->width : at;
            at = v->n > 0 ? at + 2 * v->n * v->width : at;
        }
        e->decoded = is_decoded[type] ? region_keep(map) : NULL;
    }
out:
    region_drop(map);
    io_close(file);
    return st;
}

grebe_status csc_decode(struct csc_build *b, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct graph_metadata *m = b->m;
    const grebe_allocator *a = m->ctx->a;
    struct decoded_block wave[WAVE_MAX] = { { 0 } };
    size_t n_wave = min_size(b->options.call.threads > 0 ? b->options.call.threads : 1, WAVE_MAX), n_blocks = 0;
    struct buf path = BUF_INIT(a);
    struct io_writer *w = NULL;
    bool *is_decoded = arena_array(&m->arena, m->n_edges, sizeof *is_decoded), is_any = false;
    if (is_decoded == NULL) {
        return mem_fail(err, m->n_edges, m->shown);
    }
    for (size_t i = 0; i < m->n_edges; i++) {
        is_decoded[i] = !graph_edges_are_plain(&b->files[i]);
        is_any |= is_decoded[i];
        n_blocks = is_decoded[i] ? max_size(n_blocks, b->files[i].n_blocks) : n_blocks;
    }
    if (!is_any) {
        goto out;
    }
    GREBE_TRY(path_join(&path, b->options.folder, "edges", err));
    if (buf_text(&path) == NULL) {
        st = mem_fail(err, path.len, "a path");
        goto out;
    }
    GREBE_TRY(io_create(b->options.store, buf_text(&path), false, &w, err));
    n_wave = min_size(n_wave, n_blocks);
    for (size_t i = 0; i < n_wave; i++) {
        wave[i].ends = mem_alloc(a, WAVE_BYTES);
        if (wave[i].ends == NULL) {
            st = mem_fail(err, WAVE_BYTES, m->shown);
            goto out;
        }
    }
    for (size_t i = 0; i < m->n_edges; i++) {
        GREBE_TRY(is_decoded[i] ? decode_file(b, i, wave, n_wave, w, err) : GREBE_OK);
    }
    GREBE_TRY(map_decoded(b, w, is_decoded, err));
out:
    io_writer_free(w); /* has no name; the map keeps what is in it */
    buf_release(&path);
    for (size_t i = 0; i < WAVE_MAX; i++) {
        mem_free(a, wave[i].ends, wave[i].ends != NULL ? WAVE_BYTES : 0);
    }
    return st;
}
