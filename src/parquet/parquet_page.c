/* SPDX-License-Identifier: Apache-2.0 */
#include "parquet/parquet_page.h"

#include <assert.h>
#include <string.h>

#include "base/endian.h"
#include "base/hash.h"

#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
enum { PAGE_BYTES_MAX = 16 << 20 };
#else
enum { PAGE_BYTES_MAX = 1 << 30 };
#endif
enum { SPACE_TAIL = 64 };

/* ---- scratch ---- */

void pq_scratch_init(struct pq_scratch *s, const grebe_allocator *a)
{
    memset(s, 0, sizeof *s);
    s->a = a;
    s->codec = CODEC_WORKSPACE_INIT(a);
}

enum { N_SPACES = 10 };

static void list_spaces(struct pq_scratch *s, struct pq_space *spaces[N_SPACES])
{
    struct pq_space *const all[N_SPACES] = { &s->body,  &s->rep,       &s->def,     &s->bits,
                                             &s->index, &s->values,    &s->offsets, &s->rows,
                                             &s->runs,  &s->value_runs };
    memcpy(spaces, all, sizeof all);
}

size_t pq_scratch_bytes(const struct pq_scratch *s)
{
    struct pq_space *spaces[N_SPACES];
    size_t n = 0;
    list_spaces((struct pq_scratch *)(uintptr_t)s, spaces);
    for (size_t i = 0; i < N_SPACES; i++) {
        n += spaces[i]->capacity;
    }
    return n;
}

void pq_scratch_release(struct pq_scratch *s)
{
    struct pq_space *spaces[N_SPACES];
    list_spaces(s, spaces);
    for (size_t i = 0; i < N_SPACES; i++) {
        mem_free_aligned(s->a, spaces[i]->p, spaces[i]->capacity, MEM_ALIGN_VECTOR);
        *spaces[i] = (struct pq_space){ NULL, 0 };
    }
    codec_workspace_release(&s->codec);
}

void *pq_space_get(struct pq_scratch *s, struct pq_space *space, size_t size, grebe_error *err)
{
    size_t wanted = size + SPACE_TAIL;
    if (wanted <= space->capacity && space->p != NULL) {
        return space->p;
    }
    if (wanted < size) {
        (void)mem_fail(err, size, "a page");
        return NULL;
    }
    size_t capacity = space->capacity * 2 > wanted ? space->capacity * 2 : wanted;
    mem_free_aligned(s->a, space->p, space->capacity, MEM_ALIGN_VECTOR);
    *space = (struct pq_space){ NULL, 0 };
    space->p = mem_alloc_aligned(s->a, capacity, MEM_ALIGN_VECTOR);
    if (space->p == NULL) {
        (void)mem_fail(err, capacity, "a page");
        return NULL;
    }
    space->capacity = capacity;
    return space->p;
}

/* ---- chunks ---- */

static bool codec_of(int32_t codec, enum codec_id *out)
{
    static const enum codec_id ids[] = {
        CODEC_NONE,   CODEC_SNAPPY,     CODEC_GZIP, CODEC_LZO,
        CODEC_BROTLI, CODEC_LZ4_HADOOP, CODEC_ZSTD, CODEC_LZ4_RAW
    };
    if (codec < 0 || (size_t)codec >= sizeof ids / sizeof *ids) {
        return false;
    }
    *out = ids[codec];
    return true;
}

/* The directory of the chunk, from the shared file or made now; the first one made stays. */
static grebe_status get_pages(struct pq_chunk_data *c, struct pq_scratch *s, grebe_error *err)
{
    struct pq_file *f = c->reader->file;
    struct pq_group *g = &f->groups[c->chunk];
    uint32_t leaf = (uint32_t)(c->leaf - f->schema.leaves);
    uint32_t n_leaves = f->schema.n_leaves;

    _Atomic(struct pq_pages *) *by_leaf = atomic_load_explicit(&g->pages, memory_order_acquire);
    if (by_leaf == NULL) {
        _Atomic(struct pq_pages *) *made = mem_alloc_zero(f->a, n_leaves * sizeof *made);
        if (made == NULL) {
            return mem_fail(err, n_leaves * sizeof *made, "a page directory");
        }
        if (atomic_compare_exchange_strong(&g->pages, &by_leaf, made)) {
            by_leaf = made;
        } else {
            mem_free(f->a, (void *)made, n_leaves * sizeof *made);
        }
    }
    struct pq_pages *pages = atomic_load_explicit(&by_leaf[leaf], memory_order_acquire);
    if (pages == NULL) {
        struct pq_pages *made = NULL;
        grebe_status st = pq_pages_build(c, s, &made, err);
        if (st != GREBE_OK) {
            return st;
        }
        if (atomic_compare_exchange_strong(&by_leaf[leaf], &pages, made)) {
            pages = made;
        } else {
            pq_pages_free(f->a, made);
        }
    }
    c->pages = pages;
    return GREBE_OK;
}

grebe_status pq_chunk_open(struct pq_reader *r, size_t chunk, uint32_t leaf, struct pq_scratch *s,
                           struct pq_chunk_data *out, grebe_error *err)
{
    struct pq_file *f = r->file;
    memset(out, 0, sizeof *out);
    out->reader = r;
    out->chunk = chunk;
    out->leaf = &f->schema.leaves[leaf];
    out->meta = pq_chunk_of(f, chunk, leaf);
    grebe_status st =
        pq_chunk_check(f, &f->footer.row_groups[f->groups[chunk].index], out->leaf, err);
    if (st != GREBE_OK) {
        return st;
    }
    if (!codec_of(out->meta->codec, &out->codec)) {
        return GREBE_FAIL(err, GREBE_EUNSUPPORTED, "unknown compression codec %d",
                          out->meta->codec);
    }
    if (!codec_is_available(out->codec, false)) {
        return GREBE_FAIL(err, GREBE_EUNSUPPORTED, "built without the codec %s",
                          codec_name(out->codec));
    }
    struct pq_range range = pq_chunk_range(f, out->meta);
    st = pq_bytes_get(r, range.start, range.len, &out->bytes, &out->owner, err);
    if (st == GREBE_OK) {
        out->start = range.start;
        out->len = (size_t)range.len;
        st = get_pages(out, s, err);
    }
    return st;
}

void pq_chunk_close(struct pq_chunk_data *c)
{
    region_drop(c->owner);
    c->owner = NULL;
    c->bytes = NULL;
}

uint32_t pq_page_of_row(const struct pq_pages *p, int64_t row)
{
    uint32_t low = 0, high = p->n;
    while (high - low > 1) {
        uint32_t mid = low + (high - low) / 2;
        if (p->pages[mid].first_row <= row) {
            low = mid;
        } else {
            high = mid;
        }
    }
    return low;
}

/* ---- pages ---- */

grebe_status pq_page_wrap(const struct pq_chunk_data *c, const struct pq_page *page,
                          grebe_status st, grebe_error *err)
{
    if (st != GREBE_OK && st != GREBE_ENOMEM) {
        uint64_t at = c->start + page->offset;
        error_at(err, st, at);
        error_wrap(err, st, "%s at %llu",
                   c->pages != NULL && page == &c->pages->dictionary ? "dictionary" : "page",
                   (unsigned long long)at);
    }
    return st;
}

static const unsigned char *body_of(const struct pq_chunk_data *c, const struct pq_page *page)
{
    return c->bytes + page->offset + page->header_len;
}

grebe_status pq_page_verify(const struct pq_chunk_data *c, struct pq_page *page, grebe_error *err)
{
    uint64_t facts = atomic_load_explicit(&page->facts, memory_order_acquire);
    if ((facts & PQ_PAGE_CRC_IS_RIGHT) != 0 || c->reader->base.skip_checksums) {
        return GREBE_OK;
    }
    if (page->has_crc) {
        uint32_t found = hash_crc32(0, body_of(c, page), page->body_len);
        if (found != page->crc) {
            return GREBE_FAIL(err, GREBE_ECORRUPT,
                              "checksum 0x%08x expected, 0x%08x found over %u bytes", page->crc,
                              found, page->body_len);
        }
    }
    atomic_fetch_or_explicit(&page->facts, PQ_PAGE_CRC_IS_RIGHT, memory_order_release);
    return GREBE_OK;
}

static grebe_status inflate(const struct pq_chunk_data *c, struct pq_scratch *s,
                            const unsigned char *src, size_t src_len, size_t raw_len,
                            const unsigned char **out, grebe_error *err)
{
    if (raw_len > PAGE_BYTES_MAX) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "%zu bytes when decompressed, the limit is %d",
                          raw_len, PAGE_BYTES_MAX);
    }
    if (raw_len > codec_expand_max(c->codec, src_len)) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "%s: %zu bytes cannot stand for %zu",
                          codec_name(c->codec), src_len, raw_len);
    }
    unsigned char *raw = pq_space_get(s, &s->body, raw_len, err);
    if (raw == NULL) {
        return GREBE_ENOMEM;
    }
    *out = raw;
    return codec_decompress(c->codec, src, src_len, raw, raw_len, &s->codec, err);
}

/* Levels in front of a v1 page's values; moves *p behind them. */
static grebe_status split_v1_levels(const struct pq_page *page, uint8_t max, uint8_t encoding,
                                    const unsigned char **p, const unsigned char *end,
                                    struct pq_levels *out, const char *what, grebe_error *err)
{
    size_t left = (size_t)(end - *p);
    *out = (struct pq_levels){ .n = page->n_values, .max = max };
    if (max == 0) {
        return GREBE_OK;
    }
    if (encoding == PQ_RLE) {
        uint32_t len = left >= 4 ? load_le32(*p) : 0;
        if (left < 4 || len > left - 4) {
            return GREBE_FAIL(err, GREBE_ECORRUPT, "%s levels of %u bytes, %zu remain", what, len,
                              left);
        }
        out->bytes = *p + 4;
        out->len = len;
        *p += 4 + (size_t)len;
        return GREBE_OK;
    }
    if (encoding != PQ_BIT_PACKED) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "%s levels have the encoding %s", what,
                          pq_encoding_name(encoding));
    }
    uint64_t len = ((uint64_t)page->n_values * pq_level_width(max) + 7) / 8;
    if (len > left) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "%s levels of %llu bytes, %zu remain", what,
                          (unsigned long long)len, left);
    }
    out->bytes = *p;
    out->len = (size_t)len;
    out->is_msb_packed = true;
    *p += len;
    return GREBE_OK;
}

static grebe_status split_v1(const struct pq_chunk_data *c, const struct pq_page *page,
                             const unsigned char *raw, size_t raw_len, struct pq_page_view *view,
                             grebe_error *err)
{
    const unsigned char *p = raw;
    const unsigned char *end = raw + raw_len;
    grebe_status st = split_v1_levels(page, c->leaf->max_rep, page->rep_encoding, &p, end,
                                      &view->rep, "repetition", err);
    if (st == GREBE_OK) {
        st = split_v1_levels(page, c->leaf->max_def, page->def_encoding, &p, end, &view->def,
                             "definition", err);
    }
    view->values = p;
    view->values_len = (size_t)(end - p);
    return st;
}

static bool is_stored_raw(const struct pq_chunk_data *c, const struct pq_page *page)
{
    return c->codec == CODEC_NONE || (page->is_v2 && !page->is_compressed);
}

static grebe_status open_v2(const struct pq_chunk_data *c, const struct pq_page *page,
                            struct pq_scratch *s, struct pq_page_view *view, grebe_error *err)
{
    const unsigned char *body = body_of(c, page);
    uint64_t level_bytes = (uint64_t)page->rep_len + page->def_len;
    if (level_bytes > page->body_len || level_bytes > page->raw_len) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "%llu bytes of levels in a page of %u, raw %u",
                          (unsigned long long)level_bytes, page->body_len, page->raw_len);
    }
    view->rep = (struct pq_levels){
        .n = page->n_values, .max = c->leaf->max_rep, .bytes = body, .len = page->rep_len
    };
    view->def = (struct pq_levels){ .n = page->n_values,
                                    .max = c->leaf->max_def,
                                    .bytes = body + page->rep_len,
                                    .len = page->def_len };
    const unsigned char *stored = body + level_bytes;
    size_t stored_len = page->body_len - (size_t)level_bytes;
    size_t raw_len = page->raw_len - (size_t)level_bytes;
    view->values = stored;
    view->values_len = raw_len;
    if (raw_len == 0) {
        return GREBE_OK; /* nothing, or the compressed form of nothing */
    }
    if (is_stored_raw(c, page)) {
        return stored_len == raw_len
                   ? GREBE_OK
                   : GREBE_FAIL(err, GREBE_ECORRUPT, "%zu bytes of values stored, %zu declared",
                                stored_len, raw_len);
    }
    if (s == NULL) {
        view->values = NULL;
        return GREBE_OK;
    }
    return inflate(c, s, stored, stored_len, raw_len, &view->values, err);
}

grebe_status pq_page_open(const struct pq_chunk_data *c, struct pq_page *page, struct pq_scratch *s,
                          struct pq_page_view *view, grebe_error *err)
{
    memset(view, 0, sizeof *view);
    grebe_status st = pq_page_verify(c, page, err);
    if (st != GREBE_OK) {
        return st;
    }
    if (page->is_v2) {
        return open_v2(c, page, s, view, err);
    }
    const unsigned char *raw = body_of(c, page);
    if (is_stored_raw(c, page)) {
        if (page->body_len != page->raw_len) {
            return GREBE_FAIL(err, GREBE_ECORRUPT, "%u bytes stored, %u declared", page->body_len,
                              page->raw_len);
        }
    } else if (page->raw_len > 0) {
        st = inflate(c, s, raw, page->body_len, page->raw_len, &raw, err);
        if (st != GREBE_OK) {
            return st;
        }
    }
    return split_v1(c, page, raw, page->raw_len, view, err);
}

grebe_status pq_dictionary_read(const struct pq_chunk_data *c, struct pq_scratch *s,
                                const unsigned char **bytes, size_t *len, grebe_error *err)
{
    struct pq_page *page = &c->pages->dictionary;
    assert(c->pages->has_dictionary);
    *bytes = body_of(c, page);
    *len = page->raw_len;
    grebe_status st = pq_page_verify(c, page, err);
    if (st != GREBE_OK) {
        return st;
    }
    if (c->codec == CODEC_NONE) {
        return page->body_len == page->raw_len
                   ? GREBE_OK
                   : GREBE_FAIL(err, GREBE_ECORRUPT, "dictionary of %u bytes stored, %u declared",
                                page->body_len, page->raw_len);
    }
    return page->raw_len == 0 ? GREBE_OK
                              : inflate(c, s, *bytes, page->body_len, page->raw_len, bytes, err);
}

/* ---- values that can be used where they lie ---- */

static grebe_status find_dense(const struct pq_chunk_data *c, struct pq_page *page,
                               size_t *value_offset, bool *is_dense, grebe_error *err)
{
    struct pq_page_view view;
    const struct pq_leaf *leaf = c->leaf;
    const struct pq_node *node = leaf->node;
    *is_dense = false;
    if (page->encoding != PQ_PLAIN || !is_stored_raw(c, page) || node->width_in == 0 ||
        node->convert == PQ_CONVERT_NULL || leaf->max_rep > 1 || page->begins_inside_row) {
        return GREBE_OK;
    }
    grebe_status st = pq_page_open(c, page, NULL, &view, err);
    if (st != GREBE_OK) {
        return st;
    }
    if (!pq_levels_are_max(&view.def)) {
        return GREBE_OK;
    }
    if (leaf->max_rep == 1) {
        uint32_t list_len = page->n_rows == 0 ? 0 : page->n_values / page->n_rows;
        if (list_len == 0 || page->n_values % page->n_rows != 0 ||
            !pq_levels_are_periodic(&view.rep, &list_len)) {
            return GREBE_OK;
        }
    }
    if ((uint64_t)page->n_values * (uint32_t)node->width_in != view.values_len) {
        /* More bytes than values are odd but harmless; fewer are not: the decoder will say so. */
        return GREBE_OK;
    }
    *value_offset = (size_t)(view.values - body_of(c, page));
    *is_dense = true;
    return GREBE_OK;
}

grebe_status pq_page_dense(const struct pq_chunk_data *c, struct pq_page *page,
                           const unsigned char **values, grebe_error *err)
{
    uint64_t facts = atomic_load_explicit(&page->facts, memory_order_acquire);
    *values = NULL;
    if ((facts & (PQ_PAGE_IS_DENSE | PQ_PAGE_IS_NOT_DENSE)) == 0) {
        size_t value_offset = 0;
        bool is_dense = false;
        grebe_status st = find_dense(c, page, &value_offset, &is_dense, err);
        if (st != GREBE_OK) {
            return st;
        }
        facts = is_dense ? PQ_PAGE_IS_DENSE | (uint64_t)value_offset << PQ_PAGE_FACT_SHIFT
                         : PQ_PAGE_IS_NOT_DENSE;
        atomic_fetch_or_explicit(&page->facts, facts, memory_order_release);
    }
    if ((facts & PQ_PAGE_IS_DENSE) != 0) {
        *values = body_of(c, page) + (facts >> PQ_PAGE_FACT_SHIFT);
    }
    return GREBE_OK;
}
