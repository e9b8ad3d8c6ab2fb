/* SPDX-License-Identifier: Apache-2.0 */
/* The body of the targets for loaders of data sets: a file in memory, read whole and from a place in its middle. */
#include <stdlib.h>
#include <string.h>

#include "builder/builder_internal.h"
#include "fuzz_require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Rows from a place on; the place before the second batch is written. */
static int64_t fuzz_rows(struct builder *b, struct shard_place from, struct shard_place *middle, grebe_status *st)
{
    struct shard_reader reader = { 0 };
    int64_t n = 0;
    *st = b->ops->read(b, 0, 0, -1, from, &reader, NULL);
    for (int i = 0; *st == GREBE_OK; i++) {
        struct ArrowSchema schema = { 0 };
        struct ArrowArray rows = { 0 };
        *st = reader.ops->next(reader.self, &schema, &rows, NULL);
        if (*st == GREBE_OK) {
            require(array_check(&schema, &rows, true, NULL) == GREBE_OK);
            n += rows.length;
            if (i == 0 && middle != NULL) {
                *middle = reader.ops->place(reader.self);
            }
        }
        schema_release(&schema);
        array_release(&rows);
    }
    shard_reader_free(&reader);
    return n;
}

static void fuzz_builder(const char *kind, const char *options, const uint8_t *data, size_t size)
{
    static const char *const paths[] = { "/x" };
    static const struct builder_files files = { "train", paths, 1 };
    grebe_context_options context_options = GREBE_CONTEXT_OPTIONS_INIT;
    struct arena arena = ARENA_INIT(mem_system());
    struct builder_request request = { .splits = &files, .n_splits = 1 };
    grebe_context *ctx = NULL;
    struct io_store *store = NULL;
    struct io_writer *w = NULL;
    struct builder *b = NULL;
    context_options.threads = 1;
    require(context_new(&context_options, &ctx, NULL) == GREBE_OK);
    require(json_parse(&arena, options, strlen(options), &request.options, NULL) == GREBE_OK);
    require(io_memory_new(ctx, &store, NULL) == GREBE_OK);
    require(io_create(store, "/x", false, &w, NULL) == GREBE_OK);
    require(io_write(w, data, size, NULL) == GREBE_OK);
    require(io_writer_publish(w, true, NULL) == GREBE_OK);
    io_writer_free(w);
    require(builder_open(ctx, builder_find(kind), &request, &b, NULL) == GREBE_OK);
    builder_use_store(b, store);
    if (builder_infer(b, NULL) == GREBE_OK) {
        struct shard_place middle = { 0 };
        grebe_status st = GREBE_OK, again = GREBE_OK;
        int64_t n = fuzz_rows(b, (struct shard_place){ 0 }, &middle, &st);
        int64_t rest = fuzz_rows(b, middle, NULL, &again);
        require(st != GREBE_END || (again == GREBE_END && rest == n - middle.row));
    }
    builder_free(b);
    context_free(ctx);
    arena_release(&arena);
}
