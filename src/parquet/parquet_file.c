/* SPDX-License-Identifier: Apache-2.0 */
#include "parquet/parquet_file.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "base/endian.h"
#include "parquet/parquet_fetch.h"
#include "parquet/parquet_format.h"
#include "parquet/parquet_rank.h"

enum { FOOTER_BYTES_MAX = 256 << 20, TAIL_BYTES = 64 << 10, MAGIC_BYTES = 4, TRAILER_BYTES = 8 };

/* ---- life of the shared part ---- */

void pq_pages_free(const grebe_allocator *a, struct pq_pages *p)
{
    for (uint32_t i = 0; p != NULL && i < p->n; i++) {
        struct pq_rank *rank = atomic_load(&p->pages[i].rank);
        mem_free(a, rank, rank == NULL ? 0 : rank->size_bytes);
    }
    mem_free(a, p, p == NULL ? 0 : p->size_bytes);
}

static void file_free(struct cache_value *v)
{
    struct pq_file *f = (struct pq_file *)v;
    const grebe_allocator *a = f->a;
    for (size_t i = 0; i < f->n_chunks && f->groups != NULL; i++) {
        _Atomic(struct pq_pages *) *by_leaf = atomic_load(&f->groups[i].pages);
        for (uint32_t k = 0; by_leaf != NULL && k < f->schema.n_leaves; k++) {
            struct pq_pages *p = atomic_load(&by_leaf[k]);
            pq_pages_free(a, p);
        }
        mem_free(a, (void *)by_leaf, f->schema.n_leaves * sizeof *by_leaf);
    }
    mem_free(a, atomic_load(&f->group_sizes), f->footer.n_row_groups * sizeof(uint64_t));
    pq_schema_release(&f->schema);
    arena_release(&f->arena);
    mem_free(a, f, sizeof *f);
}

/* ---- bytes ---- */

grebe_status pq_bytes_get(struct pq_reader *r, uint64_t offset, uint64_t len,
                          const unsigned char **bytes, struct region **owner, grebe_error *err)
{
    uint64_t size = r->io->file->id.size_bytes;
    *bytes = NULL;
    *owner = NULL;
    if (!range_fits_u64(offset, len, size) || len > SIZE_MAX / 2) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "%llu bytes at %llu lie outside the file's %llu",
                          (unsigned long long)len, (unsigned long long)offset,
                          (unsigned long long)size);
    }
    if (r->io->map != NULL && range_fits_u64(offset, len, r->io->map->len)) {
        *owner = region_keep(r->io->map);
        *bytes = r->io->map->data + offset;
        return GREBE_OK;
    }
    struct region *heap = NULL;
    grebe_status st = region_new(r->base.ctx->a, (size_t)len, &heap, err);
    if (st == GREBE_OK) {
        st = io_read(r->io->file, offset, heap->data, (size_t)len, err);
    }
    if (st != GREBE_OK) {
        region_drop(heap);
        return st;
    }
    *owner = heap;
    *bytes = heap->data;
    return GREBE_OK;
}

/* ---- footer ---- */

static grebe_status check_trailer(const unsigned char trailer[TRAILER_BYTES], uint64_t size,
                                  uint64_t *footer_len, grebe_error *err)
{
    char magic[32];
    if (memcmp(trailer + 4, "PARE", 4) == 0) {
        return GREBE_FAIL(err, GREBE_EUNSUPPORTED, "the footer is encrypted");
    }
    if (memcmp(trailer + 4, "PAR1", 4) != 0) {
        return GREBE_FAIL(err, GREBE_ECORRUPT,
                          "no Parquet file: its last bytes are \"%s\", expected \"PAR1\"",
                          error_quote(magic, sizeof magic, trailer + 4, 4));
    }
    *footer_len = load_le32(trailer);
    if (*footer_len > size - MAGIC_BYTES - TRAILER_BYTES) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "footer of %llu bytes in a file of %llu",
                          (unsigned long long)*footer_len, (unsigned long long)size);
    }
    if (*footer_len > FOOTER_BYTES_MAX) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "footer of %llu bytes, the limit is %d",
                          (unsigned long long)*footer_len, FOOTER_BYTES_MAX);
    }
    return GREBE_OK;
}

static grebe_status read_at(const struct io_shared_file *io, uint64_t offset, void *dst, size_t len,
                            grebe_error *err)
{
    if (io->map != NULL && range_fits_u64(offset, len, io->map->len)) {
        memcpy(dst, io->map->data + offset, len);
        return GREBE_OK;
    }
    return io_read(io->file, offset, dst, len, err);
}

static grebe_status read_footer(struct pq_file *f, const struct io_shared_file *io,
                                const struct file_hints *hints, grebe_error *err)
{
    uint64_t size = f->id.size_bytes;
    if (size < 2 * MAGIC_BYTES + 4) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "no Parquet file: %llu bytes, at least 12 needed",
                          (unsigned long long)size);
    }
    /* One read gets the trailer and, nearly always, the whole footer. */
    uint64_t tail = hints != NULL && hints->footer_size_bytes > TRAILER_BYTES
                        ? hints->footer_size_bytes
                        : TAIL_BYTES;
    tail = io->map != NULL ? TRAILER_BYTES : min_u64(min_u64(tail, FOOTER_BYTES_MAX), size);
    unsigned char *bytes = arena_alloc(&f->arena, (size_t)tail);
    if (bytes == NULL) {
        return mem_fail(err, (size_t)tail, "a footer");
    }
    grebe_status st = read_at(io, size - tail, bytes, (size_t)tail, err);
    if (st == GREBE_OK) {
        st = check_trailer(bytes + tail - TRAILER_BYTES, size, &f->footer_len, err);
    }
    if (st != GREBE_OK) {
        return st;
    }
    f->footer_start = size - TRAILER_BYTES - f->footer_len;
    if (f->footer_len + TRAILER_BYTES <= tail) {
        f->footer_bytes = bytes + tail - TRAILER_BYTES - f->footer_len;
        return GREBE_OK;
    }
    f->footer_bytes = arena_alloc(&f->arena, (size_t)f->footer_len);
    if (f->footer_bytes == NULL) {
        return mem_fail(err, (size_t)f->footer_len, "a footer");
    }
    return read_at(io, f->footer_start, f->footer_bytes, (size_t)f->footer_len, err);
}

/* ---- who wrote it ---- */

static const char *read_number(const char *p, const char *end, int32_t *out)
{
    int32_t v = 0;
    const char *start = p;
    while (p < end && *p >= '0' && *p <= '9' && p - start < 6) {
        v = v * 10 + (*p++ - '0');
    }
    *out = v;
    return p;
}

/* Moves *p behind the word when the text begins with it and the word ends there. */
static bool read_word(const char **p, const char *end, const char *word)
{
    size_t len = strlen(word);
    size_t left = (size_t)(end - *p);
    if (left < len || memcmp(*p, word, len) != 0 || (left > len && (*p)[len] != ' ')) {
        return false;
    }
    *p += left > len ? len + 1 : len;
    return true;
}

/* "parquet-mr version 1.8.0 (build …)": the grammar that every reader's bug table parses. What
 * is left out counts as 0, the oldest. */
static struct pq_writer_version parse_created_by(struct pq_bytes text)
{
    struct pq_writer_version v = { PQ_APP_OTHER, 0, 0, 0 };
    const char *p = text.data == NULL ? "" : (const char *)text.data;
    const char *end = p + text.len;
    if (read_word(&p, end, "parquet-mr")) {
        v.application = PQ_APP_MR;
    } else if (read_word(&p, end, "parquet-cpp")) {
        v.application = PQ_APP_CPP;
    } else {
        return v;
    }
    if (!read_word(&p, end, "version")) {
        return v;
    }
    p = read_number(p, end, &v.major);
    if (p < end && *p == '.') {
        p = read_number(p + 1, end, &v.minor);
    }
    if (p < end && *p == '.') {
        (void)read_number(p + 1, end, &v.patch);
    }
    return v;
}

bool pq_writer_is_before(const struct pq_writer_version *v, enum pq_application application,
                         int32_t major, int32_t minor, int32_t patch)
{
    if (v->application != application) {
        return false;
    }
    if (v->major != major) {
        return v->major < major;
    }
    return v->minor != minor ? v->minor < minor : v->patch < patch;
}

/* ---- what must hold of the metadata (spec 12.2) ---- */

struct pq_range pq_chunk_range(const struct pq_file *f, const struct pq_chunk *c)
{
    struct pq_range r = { 0, 0 };
    int64_t start = c->data_page_offset;
    if (c->dictionary_page_offset > 0 && (start <= 0 || c->dictionary_page_offset < start)) {
        start = c->dictionary_page_offset;
    }
    if (start > 0 && c->total_compressed_size > 0) {
        r.start = (uint64_t)start;
        r.len = (uint64_t)c->total_compressed_size;
        if (pq_writer_is_before(&f->writer, PQ_APP_MR, 1, 2, 9) && r.start < f->footer_start) {
            /* It left the dictionary page's header out of the size. */
            r.len = min_u64(r.len + 100, f->footer_start - r.start);
        }
    }
    return r;
}

static bool same_path(const struct pq_chunk *c, const struct pq_leaf *leaf)
{
    if (c->n_path != leaf->n_path) {
        return false;
    }
    for (int32_t i = 0; i < c->n_path; i++) {
        if (c->path[i].len != leaf->path[i].len ||
            memcmp(c->path[i].data, leaf->path[i].data, c->path[i].len) != 0) {
            return false;
        }
    }
    return true;
}

static grebe_status check_groups(struct pq_file *f, grebe_error *err)
{
    const struct pq_schema *s = &f->schema;
    for (uint32_t i = 0; i < f->footer.n_row_groups; i++) {
        const struct pq_row_group *g = &f->footer.row_groups[i];
        if (g->num_rows < 0 || !checked_add_i64(f->n_rows, g->num_rows, &f->n_rows)) {
            return GREBE_FAIL(err, GREBE_ECORRUPT, "row group %u: %lld rows", i,
                              (long long)g->num_rows);
        }
        if (g->n_columns != s->n_leaves) {
            return GREBE_FAIL(err, GREBE_ECORRUPT, "row group %u: %u columns, the schema has %u", i,
                              g->n_columns, s->n_leaves);
        }
        f->n_chunks += g->num_rows > 0;
    }
    return GREBE_OK;
}

static grebe_status list_chunks(struct pq_file *f, grebe_error *err)
{
    size_t n = f->n_chunks;
    f->groups = arena_array(&f->arena, n, sizeof *f->groups);
    f->chunk_begin = arena_array(&f->arena, n + 1, sizeof *f->chunk_begin);
    if (f->groups == NULL || f->chunk_begin == NULL) {
        return mem_fail(err, n * sizeof *f->groups, "row groups");
    }
    size_t k = 0;
    int64_t row = 0;
    for (uint32_t i = 0; i < f->footer.n_row_groups; i++) {
        int64_t n_rows = f->footer.row_groups[i].num_rows;
        if (n_rows > 0) {
            f->groups[k].index = i;
            f->groups[k].row_begin = row;
            f->groups[k].n_rows = n_rows;
            atomic_init(&f->groups[k].pages, NULL);
            f->chunk_begin[k++] = row;
            row += n_rows;
        }
    }
    f->chunk_begin[k] = row;
    assert(k == n && row == f->n_rows);
    return GREBE_OK;
}

static grebe_status file_new(grebe_context *ctx, const struct io_shared_file *io,
                             const struct file_hints *hints, struct pq_file **out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct pq_file *f = mem_alloc_zero(ctx->a, sizeof *f);
    *out = NULL;
    if (f == NULL) {
        return mem_fail(err, sizeof *f, "a Parquet file");
    }
    cache_value_init(&f->cached, 0, file_free);
    atomic_init(&f->group_sizes, NULL);
    f->a = ctx->a;
    f->arena = ARENA_INIT(ctx->a);
    f->id = io->file->id;
    GREBE_TRY(read_footer(f, io, hints, err));
    GREBE_TRY(pq_footer_decode(&f->arena, f->footer_bytes, (size_t)f->footer_len, &f->footer, err));
    f->footer.is_int96_us = hints != NULL && hints->is_int96_us;
    GREBE_TRY(pq_schema_resolve(ctx->a, &f->arena, &f->footer, &f->schema, err));
    f->writer = parse_created_by(f->footer.created_by);
    GREBE_TRY(check_groups(f, err));
    GREBE_TRY(list_chunks(f, err));
    f->group_sizes_text = pq_file_value(f, "row_group_metadata");
    /* The arena, the Arrow schema, and page directories and sizes that will come. */
    f->cached.cost_bytes = sizeof *f + f->arena.total_bytes + f->schema.n_leaves * 512 +
                           f->n_chunks * f->schema.n_leaves * 128 +
                           f->footer.n_row_groups * sizeof(uint64_t);
    *out = f;
    f = NULL;
out:
    if (f != NULL) {
        cache_value_drop(&f->cached);
    }
    return st;
}

/* ---- opening ---- */

static void release_shared_schema(struct ArrowSchema *schema)
{
    /* The tree belongs to the pq_file, which the reader keeps. */
    memset(schema, 0, sizeof *schema);
}

void pq_reader_close(struct format_reader *base)
{
    struct pq_reader *r = (struct pq_reader *)base;
    const grebe_allocator *a = base->ctx->a;
    schema_release(&base->schema);
    pq_scratch_free(atomic_load(&r->spare));
    if (r->file != NULL) {
        cache_value_drop(&r->file->cached);
    }
    io_shared_drop(r->io);
    mem_free(a, r, sizeof *r);
}

static grebe_status find_or_make_file(struct io_store *store, const char *path,
                                      const struct io_shared_file *io,
                                      const struct file_hints *hints, struct pq_file **out,
                                      grebe_error *err)
{
    grebe_context *ctx = store->ctx;
    grebe_status st = GREBE_OK;
    /* "pq:" or "pu:", the store's scope (two stores may hold the same path), the path */
    unsigned char key_space[512];
    size_t path_len = strlen(path);
    size_t head_len = 3 + sizeof store->cache_scope;
    size_t key_len = head_len + path_len;
    unsigned char *key = key_len <= sizeof key_space ? key_space : mem_alloc(ctx->a, key_len);
    *out = NULL;
    if (key == NULL) {
        return mem_fail(err, key_len, path);
    }
    memcpy(key, hints != NULL && hints->is_int96_us ? "pu:" : "pq:", 3); /* their schemas differ */
    memcpy(key + 3, &store->cache_scope, sizeof store->cache_scope);
    memcpy(key + head_len, path, path_len);

    struct pq_file *f = (struct pq_file *)cache_get(ctx->metadata, key, key_len);
    if (f != NULL && !io_identity_equal(&f->id, &io->file->id)) {
        cache_value_drop(&f->cached);
        f = NULL;
    }
    if (f == NULL) {
        st = file_new(ctx, io, hints, &f, err);
        if (st == GREBE_OK) {
            cache_put(ctx->metadata, key, key_len, &f->cached);
        }
    }
    *out = f;
    if (key != key_space) {
        mem_free(ctx->a, key, key_len);
    }
    return st;
}

grebe_status pq_open(struct io_store *store, const char *path, const struct file_hints *hints,
                     struct format_reader **out, grebe_error *err)
{
    grebe_context *ctx = store->ctx;
    grebe_status st = GREBE_OK;
    struct pq_reader *r = mem_alloc_zero(ctx->a, sizeof *r);

    *out = NULL;
    if (r == NULL) {
        return mem_fail(err, sizeof *r, "a reader");
    }
    r->base.ops = &pq_reader_ops;
    r->base.format = &parquet_format;
    r->base.ctx = ctx;
    GREBE_TRY(io_open_shared(store, path, &r->io, err));
    st = find_or_make_file(store, path, r->io, hints, &r->file, err);
    if (st != GREBE_OK) {
        error_wrap(err, st, "%s", path);
        goto out;
    }
    r->base.schema = r->file->schema.arrow;
    r->base.schema.release = release_shared_schema;
    r->base.n_rows = r->file->n_rows;
    r->base.n_chunks = r->file->n_chunks;
    r->base.chunk_begin = r->file->chunk_begin;
    r->base.file_size_bytes = r->file->id.size_bytes;
    *out = &r->base;
    r = NULL;
out:
    if (r != NULL) {
        pq_reader_close(&r->base);
    }
    return st;
}

/* ---- may it be read ---- */

grebe_status pq_chunk_check(const struct pq_file *f, const struct pq_row_group *g,
                            const struct pq_leaf *leaf, grebe_error *err)
{
    const struct pq_chunk *c = &g->columns[leaf - f->schema.leaves];
    if (c->is_encrypted) {
        return GREBE_FAIL(err, GREBE_EUNSUPPORTED, "it is encrypted");
    }
    if (c->file_path.data != NULL) {
        return GREBE_FAIL(err, GREBE_EUNSUPPORTED, "it lies in another file");
    }
    if (leaf->unreadable != NULL) {
        return GREBE_FAIL(err, GREBE_EUNSUPPORTED, "%s", leaf->unreadable);
    }
    if (!c->has_metadata) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "it has no metadata");
    }
    if (c->type != leaf->type) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "physical type %d (%s), the schema says %s", c->type,
                          pq_type_name(c->type), pq_type_name(leaf->type));
    }
    if (!same_path(c, leaf)) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "path_in_schema is another than the schema's");
    }
    if (c->num_values < 0 || (leaf->max_rep == 0 && c->num_values != g->num_rows) ||
        (leaf->max_rep > 0 && c->num_values < g->num_rows)) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "%lld values in %lld rows", (long long)c->num_values,
                          (long long)g->num_rows);
    }
    struct pq_range r = pq_chunk_range(f, c);
    bool needs_pages = c->num_values > 0;
    if (needs_pages && (r.len == 0 || c->data_page_offset <= 0)) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "%lld values but no pages: offset %lld, size %lld",
                          (long long)c->num_values, (long long)c->data_page_offset,
                          (long long)c->total_compressed_size);
    }
    if (c->total_compressed_size < 0 ||
        (r.len > 0 &&
         (r.start < MAGIC_BYTES || !range_fits_u64(r.start, r.len, f->footer_start)))) {
        return GREBE_FAIL(err, GREBE_ECORRUPT,
                          "%lld bytes at %llu lie outside the data, which ends at %llu",
                          (long long)c->total_compressed_size, (unsigned long long)r.start,
                          (unsigned long long)f->footer_start);
    }
    return GREBE_OK;
}
