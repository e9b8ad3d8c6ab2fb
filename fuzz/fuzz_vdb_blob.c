/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A blob of a vector collection from any bytes; the first byte says which kind. What was accepted is read through and written
 * again: the second bytes are the first.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz_require.h"
#include "gitvdb/vdb_blob.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void use_rows(enum vdb_rows_kind kind, const uint8_t *data, size_t size, grebe_error *err)
{
    struct vdb_rows rows;
    struct vdb_rows_writer w;
    struct buf again = BUF_INIT(mem_system());
    if (vdb_rows_open(kind, data, size, &rows, err) != GREBE_OK) {
        require(err->message[0] != 0);
        return;
    }
    vdb_rows_writer_init(&w, kind, mem_system());
    for (uint32_t i = 0; i < rows.n; i++) {
        size_t len = 0;
        const unsigned char *row = vdb_rows_get(&rows, i, &len);
        if (kind == VDB_ROWS_IDS) {
            uint32_t found = 0;
            struct vdb_id id = vdb_rows_id(&rows, i);
            require(vdb_rows_find(&rows, &id, &found) && found == i);
            require(vdb_rows_writer_add_id(&w, &id, NULL) == GREBE_OK);
        } else {
            require(vdb_rows_writer_add(&w, row, len, NULL) == GREBE_OK);
        }
    }
    require(vdb_rows_writer_end(&w, &again, NULL) == GREBE_OK);
    require(again.len == size && memcmp(again.data, data, size) == 0);
    buf_release(&again);
    vdb_rows_writer_release(&w);
}

static void use_matrix(enum vdb_matrix_kind kind, const uint8_t *data, size_t size, grebe_error *err)
{
    struct vdb_matrix m;
    struct buf again = BUF_INIT(mem_system());
    uint32_t dim = size < 9 ? 1 : data[8];
    if (vdb_matrix_open(kind, data, size, dim, &m, err) != GREBE_OK) {
        require(err->message[0] != 0);
        return;
    }
    for (size_t i = 0; i < (size_t)m.n * m.dim; i++) {
        require(m.values[i] - m.values[i] == 0.0F);
    }
    require(vdb_matrix_encode(kind, m.values, m.n, m.dim, &again, NULL) == GREBE_OK);
    require(again.len == size && memcmp(again.data, data, size) == 0);
    buf_release(&again);
}

static void use_posting(const uint8_t *data, size_t size, grebe_error *err)
{
    struct vdb_posting p;
    if (vdb_posting_open(data, size, &p, err) != GREBE_OK) {
        require(err->message[0] != 0);
        return;
    }
    for (uint32_t i = 0; i < p.n; i++) {
        struct vdb_place at = vdb_posting_get(&p, i);
        require(at.shard < VDB_SHARDS);
        if (i > 0) {
            struct vdb_place before = vdb_posting_get(&p, i - 1);
            require(before.shard < at.shard || (before.shard == at.shard && before.row < at.row));
        }
    }
}

static void use_meta(const uint8_t *data, size_t size, grebe_error *err)
{
    struct vdb_meta m;
    struct arena ar = ARENA_INIT(mem_system());
    struct buf again = BUF_INIT(mem_system());
    if (vdb_meta_parse(&ar, data, size, &m, err) == GREBE_OK) {
        require(vdb_meta_encode(&m, &again, NULL) == GREBE_OK);
        require(again.len == size && memcmp(again.data, data, size) == 0);
    } else {
        require(err->message[0] != 0);
    }
    buf_release(&again);
    arena_release(&ar);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    grebe_error err = GREBE_ERROR_INIT;
    if (size == 0) {
        return 0;
    }
    /* a copy: aligned as matrices need it, and with nothing behind it */
    uint8_t *copy = malloc(size == 1 ? 1 : size - 1);
    require(copy != NULL);
    memcpy(copy, data + 1, size - 1);
    switch (data[0] % 6) {
    case 0: use_rows(VDB_ROWS_IDS, copy, size - 1, &err); break;
    case 1: use_rows(VDB_ROWS_PAYLOADS, copy, size - 1, &err); break;
    case 2: use_matrix(VDB_MATRIX_VECTORS, copy, size - 1, &err); break;
    case 3: use_matrix(VDB_MATRIX_CODEBOOK, copy, size - 1, &err); break;
    case 4: use_posting(copy, size - 1, &err); break;
    default: use_meta(copy, size - 1, &err); break;
    }
    free(copy);
    return 0;
}
