/* SPDX-License-Identifier: Apache-2.0 */
#include "parquet/parquet_check.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "parquet/parquet_format.h"

void pq_find(const struct pq_findings *f, bool is_error, const char *fmt, ...)
{
    char message[400];
    va_list args;
    va_start(args, fmt);
    vsnprintf(message, sizeof message, fmt, args);
    va_end(args);
    f->fn(f->arg, is_error, f->place, message);
}

/* A failure that ends the check, or one that is a finding. */
static bool is_finding(grebe_status st)
{
    return st == GREBE_ECORRUPT || st == GREBE_EUNSUPPORTED || st == GREBE_ELIMIT ||
           st == GREBE_ESCHEMA;
}

static grebe_status report(const struct pq_findings *f, grebe_status st, const grebe_error *found,
                           grebe_error *err)
{
    if (!is_finding(st)) {
        if (err != NULL) {
            *err = *found;
        }
        return st;
    }
    /* What cannot be read here is no fault of the file. */
    pq_find(f, st != GREBE_EUNSUPPORTED && st != GREBE_ESCHEMA, "%s", found->message);
    return GREBE_OK;
}

static void check_offset_index(const struct pq_chunk_data *c, const struct pq_offset_index *index,
                               const struct pq_findings *f)
{
    const struct pq_pages *p = c->pages;
    if (index->n != p->n) {
        pq_find(f, true, "the offset index lists %u pages, the chunk has %u", index->n, p->n);
        return;
    }
    for (uint32_t i = 0; i < p->n; i++) {
        const struct pq_page *page = &p->pages[i];
        uint64_t size = (uint64_t)page->header_len + page->body_len;
        if ((uint64_t)index->offset[i] != c->start + page->offset ||
            (uint64_t)index->size[i] != size || index->first_row[i] != page->first_row) {
            pq_find(f, true,
                    "offset index, page %u: %d bytes at %lld from row %lld, found %llu at %llu "
                    "from row %lld",
                    i, index->size[i], (long long)index->offset[i], (long long)index->first_row[i],
                    (unsigned long long)size, (unsigned long long)(c->start + page->offset),
                    (long long)page->first_row);
            return;
        }
    }
}

static void check_encoding_stats(const struct pq_chunk_data *c, const struct pq_findings *f)
{
    const struct pq_chunk *m = c->meta;
    for (int32_t i = 0; i < m->n_encoding_stats; i++) {
        const struct pq_encoding_stats *s = &m->encoding_stats[i];
        int32_t n = 0;
        if (s->page_type == PQ_PAGE_DICTIONARY) {
            n = c->pages->has_dictionary ? s->count : 0;
        } else {
            for (uint32_t k = 0; k < c->pages->n; k++) {
                const struct pq_page *page = &c->pages->pages[k];
                n += page->encoding == s->encoding; /* Arrow calls all of them DATA_PAGE */
            }
        }
        if (n != s->count) {
            pq_find(f, false, "encoding statistics: %d pages of %s, found %d", s->count,
                    pq_encoding_name(s->encoding), n);
        }
    }
}

static bool check_pages(struct pq_chunk_data *c, const struct pq_findings *f)
{
    bool is_right = true;
    for (uint32_t i = 0; i < c->pages->n + 1; i++) {
        struct pq_page *page = i == 0 ? &c->pages->dictionary : &c->pages->pages[i - 1];
        grebe_error found = GREBE_ERROR_INIT;
        if (i == 0 && !c->pages->has_dictionary) {
            continue;
        }
        /* Not by the remembered facts: a check looks at the bytes as they are now. */
        struct pq_page fresh = *page;
        atomic_init(&fresh.facts, page->has_crc ? 0 : PQ_PAGE_CRC_IS_RIGHT);
        grebe_status st = pq_page_verify(c, &fresh, &found);
        if (st != GREBE_OK) {
            pq_page_wrap(c, page, st, &found);
            pq_find(f, true, "%s", found.message);
            is_right = false;
        }
    }
    return is_right;
}

static grebe_status check_chunk(struct pq_reader *r, size_t chunk, uint32_t leaf, bool is_deep,
                                const struct call *call, struct pq_scratch *s,
                                struct pq_findings *f, grebe_error *err)
{
    struct pq_chunk_data c;
    struct pq_offset_index index;
    struct arena ar = ARENA_INIT(r->base.ctx->a);
    grebe_error found = GREBE_ERROR_INIT;
    grebe_status st = pq_chunk_open(r, chunk, leaf, s, &c, &found);
    if (st != GREBE_OK) {
        st = report(f, st, &found, err);
        goto out;
    }
    bool is_right = check_pages(&c, f);
    check_encoding_stats(&c, f);
    if (c.meta->offset_index_offset > 0) {
        GREBE_TRY(pq_offset_index_read(r, c.meta, &ar, &index, err));
        if (index.n == 0 && c.pages->n > 0) {
            pq_find(f, true, "the offset index cannot be read");
        } else {
            check_offset_index(&c, &index, f);
        }
    }
    if (is_deep && is_right) {
        st = pq_check_values(&c, call, f, err);
    }
out:
    arena_release(&ar);
    pq_chunk_close(&c);
    return st;
}

grebe_status pq_check(struct format_reader *base, bool is_deep, const struct call *call,
                      check_fn fn, void *arg, grebe_error *err)
{
    struct pq_reader *r = (struct pq_reader *)base;
    const struct pq_file *file = r->file;
    struct pq_findings f = { .fn = fn, .arg = arg };
    unsigned char magic[4];
    grebe_status st = GREBE_OK;
    struct pq_scratch *s = pq_scratch_borrow(r, err);

    if (s == NULL) {
        return GREBE_ENOMEM;
    }
    snprintf(f.place, sizeof f.place, "file");
    GREBE_TRY(io_read(r->io->file, 0, magic, sizeof magic, err));
    if (memcmp(magic, "PAR1", 4) != 0) {
        pq_find(&f, true, "the file does not begin with \"PAR1\"");
    }
    snprintf(f.place, sizeof f.place, "footer");
    if (file->footer.num_rows != file->n_rows) {
        pq_find(&f, false, "num_rows is %lld, the row groups have %lld",
                (long long)file->footer.num_rows, (long long)file->n_rows);
    }
    if (file->footer.n_column_orders != 0 &&
        file->footer.n_column_orders != file->schema.n_leaves) {
        pq_find(&f, true, "%u column orders for %u columns", file->footer.n_column_orders,
                file->schema.n_leaves);
    }
    for (size_t chunk = 0; chunk < file->n_chunks; chunk++) {
        for (uint32_t leaf = 0; leaf < file->schema.n_leaves; leaf++) {
            snprintf(f.place, sizeof f.place, "row group %u, column %s", file->groups[chunk].index,
                     file->schema.leaves[leaf].name);
            GREBE_TRY(call_check(call, err));
            GREBE_TRY(check_chunk(r, chunk, leaf, is_deep, call, s, &f, err));
        }
        if (call->progress != NULL) {
            grebe_progress p = { .phase = "check",
                                 .rows_done = (uint64_t)file->chunk_begin[chunk + 1],
                                 .rows_total = (uint64_t)file->n_rows };
            call->progress(call->progress_ctx, &p);
        }
    }
out:
    pq_scratch_return(r, s);
    return st;
}
