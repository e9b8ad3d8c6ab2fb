/* SPDX-License-Identifier: Apache-2.0 */
/* Many threads on one reader of an Arrow file, and on readers of one file. Meant for ThreadSanitizer as well. */
#include "ipc/ipc_format.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "arrow/ipc.h"
#include "test_support.h"

enum { N_THREADS = 8, N_ROUNDS = 12, N_TAKE = 20, N_BATCHES = 6 };

struct work {
    struct io_store *store;
    struct format_reader *shared;
    const struct ArrowArray *expected; /* the rows of each batch */
    uint64_t seed;
    int n_failed; /* cmocka's asserts belong to the main thread */
};

static int ascending(const void *x, const void *y)
{
    int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;
    return (a > b) - (a < b);
}

static void take_some(struct work *w, struct format_reader *r, const struct call *call)
{
    struct ArrowArray taken, expected;
    int64_t ids[N_TAKE], local[N_TAKE];
    for (int i = 0; i < N_TAKE; i++) {
        ids[i] = (int64_t)(test_random(&w->seed) % (uint64_t)r->n_rows);
    }
    qsort(ids, N_TAKE, sizeof *ids, ascending);
    for (int i = 0; i < N_TAKE; i++) {
        local[i] = ids[i] % w->expected->length;
    }
    if (r->ops->take(r, NULL, 0, ids, N_TAKE, call, &taken, NULL) != GREBE_OK) {
        w->n_failed++;
        return;
    }
    if (array_gather(mem_system(), &r->schema, w->expected, local, N_TAKE, &expected, NULL) != GREBE_OK) {
        w->n_failed++;
    } else {
        w->n_failed += !array_equal(&r->schema, &taken, &expected);
        array_release(&expected);
    }
    array_release(&taken);
}

static void read_one(struct work *w, struct format_reader *r, const struct call *call)
{
    struct ArrowArray rows;
    size_t chunk = (size_t)(test_random(&w->seed) % r->n_chunks);
    int column = (int)(test_random(&w->seed) % (uint64_t)r->schema.n_children);
    if (r->ops->read(r, NULL, 0, r->chunk_begin[chunk], r->chunk_begin[chunk + 1], call, &rows, NULL) !=
        GREBE_OK) {
        w->n_failed++;
        return;
    }
    w->n_failed += !array_equal(&r->schema, &rows, w->expected);
    array_release(&rows);
    if (r->ops->read(r, &column, 1, r->chunk_begin[chunk], r->chunk_begin[chunk + 1], call, &rows, NULL) !=
        GREBE_OK) {
        w->n_failed++;
        return;
    }
    w->n_failed += !array_equal(r->schema.children[column], rows.children[0], w->expected->children[column]);
    array_release(&rows);
}

static void *run(void *arg)
{
    struct work *w = arg;
    struct call call = { .threads = 2, .memory_limit_bytes = UINT64_MAX };
    for (int i = 0; i < N_ROUNDS; i++) {
        struct format_reader *own = NULL;
        take_some(w, w->shared, &call);
        read_one(w, w->shared, &call);
        if (ipc_format.open(w->store, "f.arrow", NULL, &own, NULL) != GREBE_OK) {
            w->n_failed++;
            continue;
        }
        take_some(w, own, &call);
        own->ops->close(own);
    }
    return NULL;
}

/* The batch of a golden stream, N_BATCHES times in a file. */
static void make_file(struct io_store *store, const char *golden, enum ipc_compression compression,
                      struct ArrowArray *batch)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct ipc_write_options o = { compression, INT32_MIN, true };
    struct buf bytes = BUF_INIT(mem_system());
    struct ArrowArrayStream stream;
    struct ArrowSchema schema;
    struct ipc_writer *w = NULL;
    struct io_writer *to = NULL;
    struct region *region = NULL;
    char path[512];
    size_t len = 0;
    snprintf(path, sizeof path, "%s/golden/arrow/%s", TEST_DATA, golden);
    unsigned char *from = test_read_file(path, &len);
    assert_ok(region_new(mem_system(), len, &region, &err));
    memcpy(region->data, from, len);
    free(from);
    assert_ok(ipc_stream_of_region(mem_system(), region, &stream, &err));
    region_drop(region);
    assert_ok(stream_schema(&stream, &schema, &err));
    assert_ok(stream_next(&stream, batch, &err));
    assert_ok(ipc_writer_new(mem_system(), &schema, &o, ipc_sink_buf, &bytes, &w, &err));
    for (int i = 0; i < N_BATCHES; i++) {
        assert_ok(ipc_writer_write(w, batch, &err));
    }
    assert_ok(ipc_writer_finish(w, &err));
    assert_ok(io_create(store, "f.arrow", false, &to, &err));
    assert_ok(io_write(to, bytes.data, bytes.len, &err));
    assert_ok(io_writer_publish(to, true, &err));
    io_writer_free(to);
    ipc_writer_free(w);
    stream_release(&stream);
    schema_release(&schema);
    buf_release(&bytes);
}

static void run_file(const char *golden, enum ipc_compression compression)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_context *ctx = NULL;
    struct io_store *store = NULL;
    struct format_reader *r = NULL;
    struct ArrowArray batch;
    struct work works[N_THREADS];
    pthread_t threads[N_THREADS];
    uint64_t seed = test_seed();
    assert_ok(context_new(NULL, &ctx, &err));
    assert_ok(io_memory_new(ctx, &store, &err));
    make_file(store, golden, compression, &batch);
    assert_ok(ipc_format.open(store, "f.arrow", NULL, &r, &err));
    assert_int_equal(r->n_chunks, N_BATCHES);
    for (int i = 0; i < N_THREADS; i++) {
        works[i] = (struct work){ store, r, &batch, seed + (uint64_t)i, 0 };
        assert_int_equal(pthread_create(&threads[i], NULL, run, &works[i]), 0);
    }
    for (int i = 0; i < N_THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(works[i].n_failed, 0);
    }
    r->ops->close(r);
    array_release(&batch);
    io_store_free(store);
    context_free(ctx);
}

static void test_threads__take_and_read__right_rows(void **state)
{
    (void)state;
    run_file("all_types.arrows", IPC_UNCOMPRESSED);
    run_file("all_types.arrows", IPC_ZSTD);
#if defined(GREBE_HAVE_LZ4)
    run_file("unions_runs.arrows", IPC_LZ4_FRAME);
#else
    run_file("unions_runs.arrows", IPC_ZSTD);
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_threads__take_and_read__right_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
