/* SPDX-License-Identifier: Apache-2.0 */
#include "source/source.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

size_t format_chunk_of(const struct format_reader *r, int64_t row)
{
    assert(r->n_chunks > 0 && row >= 0 && row < r->n_rows);
    size_t low = 0, high = r->n_chunks; /* chunk_begin[low] <= row < chunk_begin[high] */
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (r->chunk_begin[middle] <= row) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

grebe_status format_find(const grebe_context *ctx, const char *name,
                         const struct file_format **out, grebe_error *err)
{
    char known[160];
    size_t len = 0;
    *out = NULL;
    known[0] = '\0';
    const struct file_format *const *formats = ctx->registry != NULL ? ctx->registry->formats : NULL;
    for (size_t i = 0; formats != NULL && formats[i] != NULL; i++) {
        if (strcmp(formats[i]->name, name) == 0) {
            *out = formats[i];
            return GREBE_OK;
        }
        if (len < sizeof known) {
            int n = snprintf(known + len, sizeof known - len, "%s%s", i == 0 ? "" : ", ",
                             formats[i]->name);
            len += n > 0 ? (size_t)n : 0;
        }
    }
    char quoted[64];
    return GREBE_FAIL(err, GREBE_EUNSUPPORTED, "file format: expected one of %s, found \"%s\"", known,
                      error_quote(quoted, sizeof quoted, name, strlen(name)));
}

void page_bounds_release(struct page_bounds *p)
{
    if (p->arena.a != NULL) {
        arena_release(&p->arena);
    }
    memset(p, 0, sizeof *p);
}

void format_write_options_from(const grebe_write_options *options,
                               struct format_write_options *out)
{
    out->compression = options->compression;
    out->compression_level = options->compression_level;
    out->row_group_bytes = options->row_group_bytes;
    out->row_group_rows = options->row_group_rows;
    out->expected_rows = options->expected_rows;
    out->is_profile_milvus = options->profile == GREBE_PROFILE_MILVUS;
    out->encodings = options->encodings;
    out->n_encodings = options->n_encodings;
    out->bloom_columns = options->bloom_columns;
    out->n_bloom_columns = options->n_bloom_columns;
    out->bloom_rate = options->bloom_rate;
    out->page_bytes = options->page_bytes;
    out->page_rows = options->page_rows;
    out->data_page_version = options->data_page_version;
    out->is_without_statistics = options->is_without_statistics;
    out->is_without_page_index = options->is_without_page_index;
    out->is_without_checksums = options->is_without_checksums;
}

grebe_status format_of_file(struct io_store *store, const char *path,
                            const struct file_format **out, grebe_error *err)
{
    enum { LOOK_BYTES = 64 };
    grebe_status st = GREBE_OK;
    struct io_file *f = NULL;
    unsigned char head[LOOK_BYTES], tail[LOOK_BYTES];
    const struct source_registry *registry = store->ctx->registry;
    *out = NULL;
    GREBE_TRY(io_open(store, path, &f, err));
    uint64_t size = f->id.size_bytes;
    size_t n = size < LOOK_BYTES ? (size_t)size : LOOK_BYTES;
    GREBE_TRY(io_read(f, 0, head, n, err));
    GREBE_TRY(io_read(f, size - n, tail, n, err));
    for (size_t i = 0; registry != NULL && registry->formats[i] != NULL && *out == NULL; i++) {
        if (registry->formats[i]->sniff(head, n, tail, n)) {
            *out = registry->formats[i];
        }
    }
    if (*out == NULL) {
        st = GREBE_FAIL(err, GREBE_EUNSUPPORTED,
                        "%s: expected a data file of a known format, found other content", path);
    }
out:
    io_close(f);
    return st;
}
