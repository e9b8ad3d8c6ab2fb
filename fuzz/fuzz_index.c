/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An index file from any bytes, whole pages: its checksums are made right first, so that mutations reach what lies
 * behind them. What opens is searched, with a filter and within a radius, gets a row more, and loses one.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/endian.h"
#include "base/hash.h"
#include "fuzz_require.h"
#include "index/index.h"
#include "index/index_layout.h"
#include "vector/distance.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void close_file(unsigned char *bytes, size_t len)
{
    unsigned char *t = bytes + len - INDEX_FILE_ALIGN;
    for (size_t i = 0; i < INDEX_SECTIONS_MAX; i++) {
        unsigned char *e = t + INDEX_TABLE_SECTIONS + i * INDEX_SECTION_BYTES;
        uint64_t offset = load_le64(e + 8), n = load_le64(e + 16);
        if (offset <= len && n <= len - offset) {
            store_le64(e + 24, hash_xxh3(bytes + offset, (size_t)n));
        }
    }
    memcpy(bytes, INDEX_MAGIC, INDEX_MAGIC_BYTES);
    memcpy(t, INDEX_MAGIC, INDEX_MAGIC_BYTES);
    store_le64(t + INDEX_TABLE_BYTES, len);
    store_le64(t + INDEX_TABLE_CHECKSUM, hash_xxh3(t, INDEX_TABLE_CHECKSUM));
}

static void use_index(struct index *ix, const struct index_config *c)
{
    enum { K = 5, DIM_MAX = 2048 };
    static float row[DIM_MAX];
    uint32_t positions[K];
    float distances[K];
    uint64_t word = 0x5a5a5a5a5a5a5a5a;
    struct index_info info;
    struct index_ranges ranges = { 0 };
    struct call call = { .threads = 1, .memory_limit_bytes = UINT64_MAX };
    ix->ops->info(ix, &info);
    if (info.dim > DIM_MAX || c->kind == INDEX_SPARSE) {
        return;
    }
    struct index_rows q = { .dense = { row, vector_row_bytes(c->elem, info.dim), 1, info.dim, c->elem } };
    struct index_search s = { .k = K, .call = call };
    for (int i = 0; i < 2; i++) {
        if (ix->ops->search(ix, &q, &s, positions, distances, NULL) == GREBE_OK) {
            for (size_t k = 0; k < K; k++) {
                require(positions[k] == UINT32_MAX || positions[k] < info.rows + info.removed);
            }
        }
        s.filter = (struct index_filter){ &word, info.rows + info.removed < 64 ? info.rows + info.removed : 64, 32 };
    }
    s.filter = (struct index_filter){ 0 };
    if (ix->ops->range != NULL && ix->ops->range(ix, &q, 1.0f, &s, &ranges, NULL) == GREBE_OK) {
        index_ranges_release(&ranges);
    }
    (void)!ix->ops->add(ix, &q, &call, NULL);
    ix->ops->info(ix, &info);
    if (info.rows > 0) {
        (void)!ix->ops->remove(ix, 0, NULL);
        (void)!ix->ops->search(ix, &q, &s, positions, distances, NULL);
    }
}

static void open_index(grebe_context *ctx, const char *path)
{
    struct index_file *f = NULL;
    struct index *ix = NULL;
    grebe_error err = GREBE_ERROR_INIT;
    uint64_t kind = 0, metric = 0, elem = 0, dim = 0;
    grebe_status st = index_file_open(ctx, path, true, &f, &err);
    require(st == GREBE_OK || err.message[0] != '\0');
    if (st == GREBE_OK && index_file_uint(f, "kind", 0, INDEX_N_KINDS - 1, &kind, NULL) == GREBE_OK &&
        index_file_uint(f, "metric", 0, VECTOR_JACCARD, &metric, NULL) == GREBE_OK &&
        index_file_uint(f, "elem", 0, VECTOR_BIT, &elem, NULL) == GREBE_OK &&
        index_file_uint(f, "dim", 0, UINT32_MAX, &dim, NULL) == GREBE_OK) {
        struct index_config c = { .kind = (enum index_kind)kind,
                                  .metric = (enum vector_metric)metric,
                                  .elem = (enum vector_elem)elem,
                                  .dim = (uint32_t)dim };
        const struct index_ops *ops = index_ops_of(c.kind);
        if (ops != NULL && (c.kind == INDEX_SPARSE || vector_distance_ops(c.metric, c.elem) != NULL)) {
            st = ops->load(ctx, &c, f, &ix, &err);
            require(st == GREBE_OK || err.message[0] != '\0');
            if (st == GREBE_OK) {
                use_index(ix, &c);
                ops->free(ix);
            }
        }
    }
    index_file_close(f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t len = size / INDEX_FILE_ALIGN * INDEX_FILE_ALIGN;
    if (len < 2 * INDEX_FILE_ALIGN) {
        return 0;
    }
    grebe_context *ctx = NULL;
    char path[64];
    unsigned char *bytes = malloc(len);
    require(bytes != NULL);
    memcpy(bytes, data, len);
    close_file(bytes, len);
    int fd = memfd_create("index", 0);
    require(fd >= 0 && write(fd, bytes, len) == (ssize_t)len);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    require(context_new(NULL, &ctx, NULL) == GREBE_OK);
    open_index(ctx, path);
    context_free(ctx);
    close(fd);
    free(bytes);
    return 0;
}
