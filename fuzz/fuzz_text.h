/* SPDX-License-Identifier: Apache-2.0 */
/* The body of the targets for text readers: FUZZ_OPEN opens one of them. */
#include <stdlib.h>
#include <string.h>

#include "fuzz_require.h"
#include "text/text_value.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct fuzz_bytes {
    const uint8_t *data;
    size_t len, at;
};

static grebe_status fuzz_read(void *arg, void *dst, size_t len, size_t *got, grebe_error *err)
{
    struct fuzz_bytes *b = arg;
    (void)err;
    *got = b->len - b->at < len ? b->len - b->at : len;
    *got = *got < 7 ? *got : 7;
    if (*got > 0) {
        memcpy(dst, b->data + b->at, *got);
    }
    b->at += *got;
    return GREBE_OK;
}

static void fuzz_end(struct region *r) { (void)r; }

/* The rows that came out before the end or the failure, as JSON lines. */
static grebe_status fuzz_rows(grebe_context *ctx, const uint8_t *data, size_t size, int variant,
                              struct buf *printed)
{
    struct fuzz_bytes bytes = { data, size, 0 };
    struct text_input in = { .name = "x", .read = fuzz_read, .arg = &bytes };
    struct ArrowArrayStream rows = { 0 };
    struct ArrowSchema schema = { 0 };
    struct text_column column;
    grebe_error err = GREBE_ERROR_INIT;
    buf_clear(printed);
    if (variant != 1) {
        require(region_wrap(ctx->a, data, size, fuzz_end, NULL, &in.map, NULL) == GREBE_OK);
    }
    grebe_status st = FUZZ_OPEN(ctx, &in, variant, &rows, &err);
    if (st == GREBE_OK) {
        require(stream_schema(&rows, &schema, NULL) == GREBE_OK);
        require(schema_check(&schema, NULL) == GREBE_OK);
        require(text_column_init(ctx->a, &schema, &column, NULL) == GREBE_OK);
        for (;;) {
            struct ArrowArray batch = { 0 };
            st = stream_next(&rows, &batch, &err);
            if (st != GREBE_OK) {
                break;
            }
            require(array_check(&schema, &batch, true, NULL) == GREBE_OK);
            for (int64_t i = 0; i < batch.length; i++) {
                require(text_put_json(printed, &column, &batch, i, NULL) == GREBE_OK);
            }
            array_release(&batch);
        }
        text_column_release(ctx->a, &column);
    }
    require(st == GREBE_END || err.message[0] != '\0');
    schema_release(&schema);
    stream_release(&rows);
    region_drop(in.map);
    return st;
}

/* From a map, read in pieces, and as the format has more ways: all give the same rows, or fail alike. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static grebe_context *ctx; /* one for all inputs: making it takes longer than most of them */
    grebe_context_options o = GREBE_CONTEXT_OPTIONS_INIT;
    o.threads = 1;
    require(ctx != NULL || context_new(&o, &ctx, NULL) == GREBE_OK);
    struct buf first = BUF_INIT(ctx->a), other = BUF_INIT(ctx->a);
    grebe_status st = fuzz_rows(ctx, data, size, 0, &first);
    for (int variant = 1; variant < FUZZ_VARIANTS; variant++) {
        require(fuzz_rows(ctx, data, size, variant, &other) == st);
        /* Damage that trees find while types are told is otherwise found behind the rows before it. */
        size_t same = first.len < other.len ? first.len : other.len;
        require(first.len == other.len || (variant == 2 && st != GREBE_END));
        require(same == 0 || memcmp(first.data, other.data, same) == 0);
    }
    buf_release(&first);
    buf_release(&other);
    return 0;
}
