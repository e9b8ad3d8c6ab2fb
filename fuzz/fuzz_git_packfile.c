/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects of a Git pack from any bytes. The input is a number of objects, an offset of two bytes for each, and what
 * stands between the header and the trailer of the pack; the index is made to fit, with ids of one repeated byte (1, 2,
 * …). A last byte of 255 in the input's head makes the index itself any bytes.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz_require.h"
#include "git/git_packfile.h"

enum { OBJECTS_MAX = 8 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void put(struct io_store *s, const char *path, const struct buf *b)
{
    struct io_writer *w = NULL;
    require(io_create(s, path, false, &w, NULL) == GREBE_OK && io_write(w, b->data, b->len, NULL) == GREBE_OK &&
            io_writer_publish(w, true, NULL) == GREBE_OK);
    io_writer_free(w);
}

static void put_be32(struct buf *b, uint32_t v)
{
    unsigned char bytes[4] = { (unsigned char)(v >> 24), (unsigned char)(v >> 16), (unsigned char)(v >> 8),
                               (unsigned char)v };
    require(buf_put(b, bytes, 4, NULL) == GREBE_OK);
}

static void make_index(struct buf *b, const uint8_t *offsets, unsigned n)
{
    require(buf_put(b, "\377tOc\0\0\0\2", 8, NULL) == GREBE_OK);
    for (unsigned i = 0; i < 256; i++) {
        put_be32(b, i < n ? i : n);
    }
    for (unsigned i = 1; i <= n; i++) {
        unsigned char oid[20];
        memset(oid, (int)i, sizeof oid);
        require(buf_put(b, oid, sizeof oid, NULL) == GREBE_OK);
    }
    for (unsigned i = 0; i < n; i++) {
        put_be32(b, 0);
    }
    for (unsigned i = 0; i < n; i++) {
        put_be32(b, (uint32_t)offsets[2 * i] | (uint32_t)offsets[2 * i + 1] << 8);
    }
    require(buf_put_zero(b, 40, NULL) == GREBE_OK);
}

static void read_all(struct io_store *s, unsigned n)
{
    struct repo_packfile *p = NULL;
    grebe_error err = GREBE_ERROR_INIT;
    if (repo_packfile_open(s, "p", 1, &p, &err) != GREBE_OK) {
        require(err.message[0] != '\0' && p == NULL);
        return;
    }
    for (unsigned i = 1; i <= n; i++) {
        struct repo_oid oid;
        uint32_t at = 0;
        enum repo_object type = REPO_BLOB;
        uint64_t size = 0, again = 0;
        struct region *r = NULL;
        memset(oid.bytes, (int)i, sizeof oid.bytes);
        if (!repo_packfile_find(p, &oid, &at)) {
            continue;
        }
        grebe_status st = repo_packfile_read(p, s, at, &type, &size, &r, &err);
        require((st == GREBE_OK) == (r != NULL) && (st == GREBE_OK || err.message[0] != '\0'));
        if (st == GREBE_OK) {
            require(r->len == size && repo_packfile_read(p, s, at, &type, &again, NULL, &err) == GREBE_OK &&
                    again == size);
        }
        region_drop(r);
    }
    repo_packfile_drop(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    grebe_context_options options = GREBE_CONTEXT_OPTIONS_INIT;
    grebe_context *ctx = NULL;
    struct io_store *s = NULL;
    struct buf pack = BUF_INIT(mem_system()), index = BUF_INIT(mem_system());
    unsigned n = size == 0 ? 0 : data[0] % (OBJECTS_MAX + 1);
    if (size < 1 + 2 * (size_t)n) {
        return 0;
    }
    options.threads = 1;
    options.open_files_max = UINT32_MAX;
    require(context_new(&options, &ctx, NULL) == GREBE_OK && io_memory_new(ctx, &s, NULL) == GREBE_OK);
    if (data[0] == 255) {
        require(buf_put(&index, data + 1, size - 1, NULL) == GREBE_OK);
    } else {
        make_index(&index, data + 1, n);
    }
    require(buf_put(&pack, "PACK\0\0\0\2", 8, NULL) == GREBE_OK);
    put_be32(&pack, n);
    require(buf_put(&pack, data + 1 + 2 * n, size - 1 - 2 * n, NULL) == GREBE_OK &&
            buf_put_zero(&pack, 20, NULL) == GREBE_OK);
    put(s, "p.idx", &index);
    put(s, "p.pack", &pack);
    read_all(s, n);
    io_store_free(s);
    context_free(ctx);
    buf_release(&pack);
    buf_release(&index);
    return 0;
}
