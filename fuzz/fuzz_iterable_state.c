/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A state from any bytes: taken by a stream with every kind of step that has words of its own, or refused; then only
 * rows of its source come. The signature is put right first, so that the words are looked at: bytes are what follows
 * it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arrow/arrow_stream.h"
#include "base/buf.h"
#include "base/context_internal.h"
#include "fuzz_require.h"
#include "grebe/iterable.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SHARD_ROWS = 9, SHARDS = 3 };

static grebe_status shard(void *fn_ctx, int64_t number, int64_t skip, struct ArrowArrayStream *out, grebe_error *err)
{
    struct ArrowSchema schema, field;
    struct ArrowArray column, rows;
    void *p;
    int64_t n = skip < SHARD_ROWS ? SHARD_ROWS - skip : 0;
    (void)fn_ctx;
    require(schema_new(mem_system(), "l", "id", true, 0, &field, err) == GREBE_OK);
    const struct ArrowSchema *fields[] = { &field };
    require(schema_struct(mem_system(), fields, 1, &schema, err) == GREBE_OK);
    require(array_new(mem_system(), n, 2, 0, &column, err) == GREBE_OK);
    require(array_alloc_buffer(mem_system(), &column, 1, (size_t)n * 8, &p, err) == GREBE_OK);
    for (int64_t i = 0; i < n; i++) {
        ((int64_t *)p)[i] = number * SHARD_ROWS + skip + i;
    }
    require(array_struct(mem_system(), n, &column, 1, &rows, err) == GREBE_OK);
    require(stream_from_batches(mem_system(), &schema, &rows, 1, out, err) == GREBE_OK);
    schema_release(&field);
    schema_release(&schema);
    return GREBE_OK;
}

static int append(void *arg, const void *bytes, size_t len)
{
    return buf_put(arg, bytes, len, NULL) == GREBE_OK ? 0 : 12;
}

static grebe_iterable *then(grebe_iterable *before, grebe_status st, grebe_iterable **next)
{
    require(st == GREBE_OK);
    grebe_iterable_free(before);
    return *next;
}

static grebe_iterable *make_stream(grebe_context *ctx)
{
    static const char features[] = "{\"id\": {\"dtype\": \"int64\", \"_type\": \"Value\"}}";
    uint32_t seed = 42;
    grebe_iterable_shuffle_options o = GREBE_ITERABLE_SHUFFLE_OPTIONS_INIT;
    grebe_iterable *it = NULL, *next = NULL;
    o.seed = (grebe_seed){ &seed, 1 };
    o.buffer_rows = 6;
    o.max_input_shards = 2;
    require(grebe_iterable_of_function(ctx, shard, NULL, NULL, SHARDS, true, features, &it, NULL) == GREBE_OK);
    it = then(it, grebe_iterable_shuffle(it, &o, &next, NULL), &next);
    const grebe_iterable *both[] = { it, it };
    it = then(it,
              grebe_iterable_interleave(both, 2, (double[]){ 0.3, 0.7 }, o.seed, GREBE_STOP_ALL_EXHAUSTED, &next, NULL),
              &next);
    it = then(it, grebe_iterable_repeat(it, 2, &next, NULL), &next);
    it = then(it, grebe_iterable_filter(it, "id % 5 <> 2", &next, NULL), &next);
    it = then(it, grebe_iterable_skip(it, 2, &next, NULL), &next);
    const grebe_iterable *chain[] = { it, it };
    it = then(it, grebe_iterable_concatenate(chain, 2, 0, &next, NULL), &next);
    it = then(it, grebe_iterable_take(it, 150, &next, NULL), &next);
    return then(it, grebe_iterable_split_by_node(it, 1, 2, GREBE_NODE_EXAMPLES, &next, NULL), &next);
}

static void read_rows(grebe_iterator *iter)
{
    for (int k = 0; k < 400; k++) {
        struct ArrowArray rows;
        struct ArrowSchema schema;
        if (grebe_iterator_next(iter, 1 + k % 7, &rows, &schema, NULL) != GREBE_OK || rows.release == NULL) {
            break;
        }
        const struct ArrowArray *c = rows.children[0];
        for (int64_t i = 0; i < rows.length; i++) {
            int64_t id = ((const int64_t *)c->buffers[1])[c->offset + i];
            require(id >= 0 && id < SHARD_ROWS * SHARDS);
        }
        rows.release(&rows);
        schema.release(&schema);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static grebe_context *ctx;
    static grebe_iterable *it;
    static char signature[17];
    struct buf text = BUF_INIT(mem_system());
    grebe_iterator *iter = NULL;
    if (ctx == NULL) {
        require(context_new(NULL, &ctx, NULL) == GREBE_OK);
        it = make_stream(ctx);
        require(grebe_iterator_new(it, NULL, NULL, &iter, NULL) == GREBE_OK);
        require(grebe_iterator_state(iter, 0, append, &text, NULL) == GREBE_OK);
        grebe_iterator_free(iter);
        memcpy(signature, strstr(buf_text(&text), "\"signature\": \"") + 14, 16);
        buf_clear(&text);
    }
    require(buf_put(&text, data, size, NULL) == GREBE_OK);
    char *found = strstr((char *)(uintptr_t)buf_text(&text), "\"signature\": \"");
    if (found != NULL && strlen(found) >= 14 + 16) {
        memcpy(found + 14, signature, 16);
    }
    if (grebe_iterator_new(it, buf_text(&text), NULL, &iter, NULL) == GREBE_OK) {
        read_rows(iter);
        grebe_iterator_free(iter);
    }
    buf_release(&text);
    return 0;
}
