/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An Arrow file from any bytes, as the format that tables and the command see: every batch is read twice
 * and checked, rows that are taken are the rows that were read, and what it tells of itself can be had.
 */
#include <stdlib.h>
#include <string.h>

#include "arrow/arrow_array.h"
#include "base/context_internal.h"
#include "fuzz_require.h"
#include "ipc/ipc_format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { CHUNKS_MAX = 64, ROWS_MAX = 100000, TAKE_MAX = 16 };

static void ignore(void *arg, bool is_error, const char *place, const char *message)
{
    (void)arg;
    (void)is_error;
    require(place != NULL && message != NULL);
}

static void take_and_compare(struct format_reader *r, size_t chunk, const struct ArrowArray *all,
                             const struct call *call)
{
    struct ArrowArray taken, expected;
    int64_t rows[TAKE_MAX], local[TAKE_MAX];
    for (int i = 0; i < TAKE_MAX; i++) {
        local[i] = all->length * i / TAKE_MAX;
        rows[i] = r->chunk_begin[chunk] + local[i];
    }
    require(r->ops->take(r, NULL, 0, rows, TAKE_MAX, call, &taken, NULL) == GREBE_OK);
    require(array_gather(r->ctx->a, &r->schema, all, local, TAKE_MAX, &expected, NULL) == GREBE_OK);
    require(array_check(&r->schema, &taken, true, NULL) == GREBE_OK);
    require(array_equal(&r->schema, &taken, &expected));
    array_release(&taken);
    array_release(&expected);
}

static void read_chunk(struct format_reader *r, size_t chunk, const struct call *call)
{
    struct ArrowArray rows, again;
    grebe_error err = GREBE_ERROR_INIT;
    int64_t begin = r->chunk_begin[chunk], end = r->chunk_begin[chunk + 1];
    (void)r->ops->stored_bytes(r, NULL, 0, chunk);
    if (end - begin > ROWS_MAX) {
        return;
    }
    if (r->ops->read(r, NULL, 0, begin, end, call, &rows, &err) != GREBE_OK) {
        require(err.message[0] != '\0');
        return;
    }
    require(rows.length == end - begin);
    require(array_check(&r->schema, &rows, true, NULL) == GREBE_OK);
    require(r->ops->read(r, NULL, 0, begin, end, call, &again, NULL) == GREBE_OK);
    require(array_equal(&r->schema, &rows, &again));
    take_and_compare(r, chunk, &rows, call);
    array_release(&rows);
    array_release(&again);
}

static void use(struct format_reader *r)
{
    struct call call = { .threads = 1, .memory_limit_bytes = UINT64_MAX };
    struct buf json = BUF_INIT(r->ctx->a);
    for (size_t chunk = 0; chunk < r->n_chunks && chunk < CHUNKS_MAX; chunk++) {
        read_chunk(r, chunk, &call);
    }
    (void)!r->ops->check(r, true, &call, ignore, NULL, NULL);
    (void)!r->ops->inspect(r, &json, NULL);
    buf_release(&json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    grebe_context *ctx = NULL;
    struct io_store *store = NULL;
    struct io_writer *w = NULL;
    struct format_reader *r = NULL;
    grebe_error err = GREBE_ERROR_INIT;
    require(context_new(NULL, &ctx, NULL) == GREBE_OK);
    require(io_memory_new(ctx, &store, NULL) == GREBE_OK);
    require(io_create(store, "f.arrow", false, &w, NULL) == GREBE_OK);
    require(io_write(w, data, size, NULL) == GREBE_OK);
    require(io_writer_publish(w, true, NULL) == GREBE_OK);
    io_writer_free(w);
    if (ipc_format.open(store, "f.arrow", NULL, &r, &err) == GREBE_OK) {
        use(r);
        r->ops->close(r);
    } else {
        require(err.message[0] != '\0');
    }
    io_store_free(store);
    context_free(ctx);
    return 0;
}
