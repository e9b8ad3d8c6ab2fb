/* SPDX-License-Identifier: Apache-2.0 */
/* Writing of index files: sections one after the other, the table last, then the name. */
#include "index/index_file.h"

#include <assert.h>
#include <string.h>

#include "base/checked.h"
#include "base/endian.h"
#include "base/hash.h"
#include "index/index_layout.h"

struct index_writer {
    const grebe_allocator *a;
    struct io_store *own_store; /* NULL: the store is the caller's */
    struct io_writer *out;
    struct hash_stream *sum;
    uint64_t offset;
    unsigned char *section; /* entry of the section that is open; NULL: none is */
    uint32_t n_fields, n_sections;
    unsigned char table[INDEX_FILE_ALIGN];
};

static const unsigned char zeros[INDEX_FILE_ALIGN];

static grebe_status put(struct index_writer *w, const void *data, uint64_t len, grebe_error *err)
{
    enum { PIECE = 1 << 30 };
    const unsigned char *p = data;
    while (len > 0) {
        size_t part = (size_t)min_u64(len, PIECE);
        grebe_status st = io_write(w->out, p, part, err);
        if (st != GREBE_OK) {
            return st;
        }
        p += part;
        len -= part;
        w->offset += part;
    }
    return GREBE_OK;
}

static grebe_status pad(struct index_writer *w, grebe_error *err)
{
    uint64_t over = w->offset % INDEX_FILE_ALIGN;
    return over == 0 ? GREBE_OK : put(w, zeros, INDEX_FILE_ALIGN - over, err);
}

grebe_status index_writer_open_in(struct io_store *store, const char *path, bool is_durable, struct index_writer **out,
                                  grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const grebe_allocator *a = store->ctx->a;
    *out = NULL;
    struct index_writer *w = mem_alloc_zero(a, sizeof *w);
    if (w == NULL) {
        return mem_fail(err, sizeof *w, path);
    }
    w->a = a;
    GREBE_TRY(hash_stream_new(a, &w->sum, err));
    GREBE_TRY(io_create(store, path, is_durable, &w->out, err));
    memcpy(w->table, INDEX_MAGIC, INDEX_MAGIC_BYTES);
    GREBE_TRY(put(w, w->table, INDEX_FILE_ALIGN, err));
    *out = w;
    w = NULL;
out:
    index_writer_close(w);
    return st;
}

grebe_status index_writer_open(grebe_context *ctx, const char *path, bool is_durable, struct index_writer **out,
                               grebe_error *err)
{
    struct io_store *store = NULL;
    *out = NULL;
    grebe_status st = io_local_new(ctx, &store, err);
    if (st == GREBE_OK) {
        st = index_writer_open_in(store, path, is_durable, out, err);
    }
    if (st != GREBE_OK) {
        io_store_free(store);
        return st;
    }
    (*out)->own_store = store;
    return GREBE_OK;
}

void index_writer_close(struct index_writer *w)
{
    if (w == NULL) {
        return;
    }
    io_writer_free(w->out);
    hash_stream_free(w->sum);
    io_store_free(w->own_store);
    mem_free(w->a, w, sizeof *w);
}

static void put_tag(unsigned char *entry, const char *tag)
{
    size_t len = strlen(tag);
    assert(len >= 1 && len <= sizeof(index_tag));
    memcpy(entry, tag, len);
}

grebe_status index_writer_uint(struct index_writer *w, const char *tag, uint64_t v, grebe_error *err)
{
    if (w->n_fields == INDEX_FIELDS_MAX) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "%s: expected at most %d fields", w->out->path, INDEX_FIELDS_MAX);
    }
    unsigned char *e = w->table + INDEX_TABLE_FIELDS + (size_t)w->n_fields++ * INDEX_FIELD_BYTES;
    put_tag(e, tag);
    store_le64(e + 8, v);
    return GREBE_OK;
}

grebe_status index_writer_real(struct index_writer *w, const char *tag, double v, grebe_error *err)
{
    uint64_t bits;
    if (v - v != 0) {
        return GREBE_FAIL(err, GREBE_EINVAL, "%s: field %s: expected a finite number", w->out->path, tag);
    }
    memcpy(&bits, &v, sizeof bits);
    return index_writer_uint(w, tag, bits, err);
}

grebe_status index_writer_begin(struct index_writer *w, const char *tag, grebe_error *err)
{
    assert(w->section == NULL);
    if (w->n_sections == INDEX_SECTIONS_MAX) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "%s: expected at most %d sections", w->out->path, INDEX_SECTIONS_MAX);
    }
    grebe_status st = pad(w, err);
    if (st != GREBE_OK) {
        return st;
    }
    w->section = w->table + INDEX_TABLE_SECTIONS + (size_t)w->n_sections++ * INDEX_SECTION_BYTES;
    put_tag(w->section, tag);
    store_le64(w->section + 8, w->offset);
    hash_stream_reset(w->sum);
    return GREBE_OK;
}

grebe_status index_writer_append(struct index_writer *w, const void *data, uint64_t len, grebe_error *err)
{
    assert(w->section != NULL);
    if (len == 0) {
        return GREBE_OK;
    }
    hash_stream_put(w->sum, data, (size_t)len);
    return put(w, data, len, err);
}

grebe_status index_writer_end(struct index_writer *w, grebe_error *err)
{
    (void)err;
    assert(w->section != NULL);
    store_le64(w->section + 16, w->offset - load_le64(w->section + 8));
    store_le64(w->section + 24, hash_stream_get(w->sum));
    w->section = NULL;
    return GREBE_OK;
}

grebe_status index_writer_section(struct index_writer *w, const char *tag, const void *data, uint64_t len,
                                  grebe_error *err)
{
    grebe_status st = index_writer_begin(w, tag, err);
    if (st == GREBE_OK) {
        st = index_writer_append(w, data, len, err);
    }
    return st == GREBE_OK ? index_writer_end(w, err) : st;
}

grebe_status index_writer_finish(struct index_writer *w, grebe_error *err)
{
    assert(w->section == NULL);
    grebe_status st = pad(w, err);
    if (st != GREBE_OK) {
        return st;
    }
    unsigned char *t = w->table;
    store_le32(t + INDEX_TABLE_VERSION, INDEX_FILE_VERSION);
    store_le32(t + INDEX_TABLE_N_FIELDS, w->n_fields);
    store_le32(t + INDEX_TABLE_N_SECTIONS, w->n_sections);
    store_le64(t + INDEX_TABLE_BYTES, w->offset + INDEX_FILE_ALIGN);
    store_le64(t + INDEX_TABLE_CHECKSUM, hash_xxh3(t, INDEX_TABLE_CHECKSUM));
    st = put(w, t, INDEX_FILE_ALIGN, err);
    return st == GREBE_OK ? io_writer_publish(w->out, true, err) : st;
}
