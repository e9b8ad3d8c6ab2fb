/* SPDX-License-Identifier: Apache-2.0 */
/* Many objects at once: hashed and compressed on all threads, appended in their order, so that the bytes of a pack do not
 * depend on the number of threads. */
#include "git/git_pack_raw.h"

#include "base/hash.h"
#include "base/pool.h"
#include "git/git_zlib.h"

enum {
    CHUNK_BYTES = 64 << 10, /* of objects that one thread takes at a time */
    WAVE = 8              /* chunks whose entries are in memory at a time */
};

/* An entry that is ready; len 0: the pack or the repository has the object. */
struct ready {
    size_t len;
    uint32_t crc;
};

struct chunk {
    size_t first, end; /* items */
    struct repo_deflater deflater;
    struct buf entries; /* of all its items, one behind the other */
    struct buf ready;   /* struct ready for each item */
};

struct wave {
    const struct repo_pack *pack;
    enum repo_object type;
    struct repo_pack_item *items;
    struct chunk chunks[WAVE];
    size_t n;
};

static grebe_status make_entry(const struct wave *w, struct chunk *c, struct repo_pack_item *item, grebe_error *err)
{
    struct ready ready = { 0, 0 };
    size_t start = c->entries.len;
    grebe_status st;
    if (!item->has_oid) {
        repo_oid_of(w->type, item->bytes, item->len, &item->oid);
        item->has_oid = true;
    }
    if (repo_pack_lacks(w->pack, &item->oid)) {
        GREBE_TRY(repo_pack_put_head(&c->entries, (unsigned)w->type, item->len, err));
        GREBE_TRY(repo_deflate(&c->deflater, item->bytes, item->len, item->level, &c->entries, err));
        ready.len = c->entries.len - start;
        ready.crc = hash_crc32(0, c->entries.data + start, ready.len);
    }
    st = buf_put(&c->ready, &ready, sizeof ready, err);
out:
    return st;
}

static grebe_status make_chunk(void *arg, size_t i, grebe_error *err)
{
    struct wave *w = arg;
    struct chunk *c = &w->chunks[i];
    grebe_status st = GREBE_OK;
    buf_clear(&c->entries);
    buf_clear(&c->ready);
    for (size_t k = c->first; k < c->end && st == GREBE_OK; k++) {
        st = make_entry(w, c, &w->items[k], err);
    }
    return st;
}

/* The next items, as many as the chunks hold. @return The first item behind them. */
static size_t cut_chunks(struct wave *w, size_t at, size_t n)
{
    for (w->n = 0; w->n < WAVE && at < n; w->n++) {
        struct chunk *c = &w->chunks[w->n];
        size_t bytes = 0;
        c->first = at;
        while (at < n && (at == c->first || bytes < CHUNK_BYTES)) {
            bytes += w->items[at++].len;
        }
        c->end = at;
    }
    return at;
}

static grebe_status append_chunk(struct repo_pack *p, const struct wave *w, const struct chunk *c, grebe_error *err)
{
    const struct ready *ready = (const struct ready *)(const void *)c->ready.data;
    const unsigned char *entry = c->entries.data;
    grebe_status st = GREBE_OK;
    for (size_t k = c->first; k < c->end && st == GREBE_OK; k++, ready++) {
        if (ready->len != 0 && !repo_pack_has(p, &w->items[k].oid)) { /* equal ones may stand in one wave */
            st = repo_pack_put_entry(p, &w->items[k].oid, entry, ready->len, ready->crc, err);
        }
        entry += ready->len;
    }
    return st;
}

grebe_status repo_pack_add_all(struct repo_pack *p, enum repo_object type, struct repo_pack_item *items, size_t n,
                              const struct repo_pack_threads *threads, grebe_error *err)
{
    struct wave w = { .pack = p, .type = type, .items = items };
    grebe_status st = GREBE_OK;
    for (size_t i = 0; i < WAVE; i++) {
        repo_deflater_init(&w.chunks[i].deflater, threads->a);
        w.chunks[i].entries = BUF_INIT(threads->a);
        w.chunks[i].ready = BUF_INIT(threads->a);
    }
    for (size_t at = 0; at < n;) {
        at = cut_chunks(&w, at, n);
        GREBE_TRY(parallel_for(threads->pool, threads->n, w.n, make_chunk, &w, threads->cancel, err));
        for (size_t i = 0; i < w.n; i++) {
            GREBE_TRY(append_chunk(p, &w, &w.chunks[i], err));
        }
    }
out:
    for (size_t i = 0; i < WAVE; i++) {
        repo_deflater_release(&w.chunks[i].deflater);
        buf_release(&w.chunks[i].entries);
        buf_release(&w.chunks[i].ready);
    }
    return st;
}
