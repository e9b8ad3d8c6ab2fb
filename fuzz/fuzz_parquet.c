/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A whole file from any bytes: every column is read and some rows are taken. Where both give
 * rows they are the same rows; nothing else is promised of bad bytes but a clean failure.
 */
#include <stdlib.h>
#include <string.h>

#include "arrow/arrow_array.h"
#include "fuzz_require.h"
#include "parquet/parquet_format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ROWS_MAX = 100000, TAKE_MAX = 16 };

static void ignore(void *arg, bool is_error, const char *place, const char *message)
{
    (void)arg;
    (void)is_error;
    require(place != NULL && message != NULL);
}

static void take_and_compare(struct format_reader *r, int column, size_t chunk,
                             const struct ArrowArray *all, const struct call *call)
{
    struct ArrowArray taken, expected;
    int64_t rows[TAKE_MAX], local[TAKE_MAX];
    const struct ArrowSchema *field = r->schema.children[column];
    for (int i = 0; i < TAKE_MAX; i++) {
        local[i] = all->length * i / TAKE_MAX;
        rows[i] = r->chunk_begin[chunk] + local[i];
    }
    grebe_error err = GREBE_ERROR_INIT;
    if (r->ops->take(r, &column, 1, rows, TAKE_MAX, call, &taken, &err) != GREBE_OK) {
        require(err.message[0] != '\0');
        return;
    }
    require(array_gather(r->ctx->a, field, all->children[0], local, TAKE_MAX, &expected, NULL) ==
            GREBE_OK);
    require(array_equal(field, taken.children[0], &expected));
    array_release(&taken);
    array_release(&expected);
}

static void read_column(struct format_reader *r, int column, size_t chunk,
                        const struct call *call)
{
    struct ArrowArray rows;
    struct column_bounds bounds;
    grebe_error err = GREBE_ERROR_INIT;
    int64_t begin = r->chunk_begin[chunk];
    int64_t end = r->chunk_begin[chunk + 1];
    (void)!r->ops->bounds(r, column, chunk, &bounds, NULL);
    (void)r->ops->stored_bytes(r, &column, 1, chunk);
    bool is_whole = end - begin <= ROWS_MAX;
    if (!is_whole) {
        end = begin + ROWS_MAX;
    }
    if (r->ops->read(r, &column, 1, begin, end, call, &rows, &err) != GREBE_OK) {
        require(err.message[0] != '\0' && rows.release == NULL);
        return;
    }
    require(rows.length == end - begin);
    struct ArrowSchema one = r->schema;
    struct ArrowSchema *field = r->schema.children[column];
    one.n_children = 1;
    one.children = &field;
    require(array_check(&one, &rows, false, NULL) == GREBE_OK);
    if (is_whole && rows.length > 0) {
        take_and_compare(r, column, chunk, &rows, call);
    }
    array_release(&rows);
}

static void use(struct format_reader *r)
{
    struct call call = { .threads = 1, .memory_limit_bytes = UINT64_MAX };
    struct buf json = BUF_INIT(r->ctx->a);
    size_t n_chunks = r->n_chunks < 8 ? r->n_chunks : 8;
    for (size_t chunk = 0; chunk < n_chunks; chunk++) {
        for (int64_t c = 0; c < r->schema.n_children && c < 64; c++) {
            read_column(r, (int)c, chunk, &call);
        }
    }
    if (r->n_rows <= ROWS_MAX && r->n_chunks <= 8 && r->schema.n_children <= 64) {
        (void)!r->ops->check(r, true, &call, ignore, NULL, NULL);
        (void)!r->ops->inspect(r, &json, NULL);
    }
    buf_release(&json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    grebe_context *ctx = NULL;
    struct io_store *store = NULL;
    struct io_writer *w = NULL;
    struct format_reader *r = NULL;
    require(context_new(NULL, &ctx, NULL) == GREBE_OK);
    require(io_memory_new(ctx, &store, NULL) == GREBE_OK);
    require(io_create(store, "f.parquet", false, &w, NULL) == GREBE_OK);
    require(io_write(w, data, size, NULL) == GREBE_OK);
    require(io_writer_publish(w, true, NULL) == GREBE_OK);
    io_writer_free(w);
    if (parquet_format.open(store, "f.parquet", NULL, &r, NULL) == GREBE_OK) {
        use(r);
        r->ops->close(r);
    }
    io_store_free(store);
    context_free(ctx);
    return 0;
}
