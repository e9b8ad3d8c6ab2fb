/* SPDX-License-Identifier: Apache-2.0 */
/* The body of the targets for text readers: FUZZ_OPEN opens one of them. */
#include <stdlib.h>
#include <string.h>

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

static void fuzz_require(int condition)
{
    if (!condition) {
        abort();
    }
}

/* Rows that came out before the end or the failure. */
static grebe_status fuzz_rows(grebe_context *ctx, const uint8_t *data, size_t size, int is_map,
                              int64_t *n_rows)
{
    struct fuzz_bytes bytes = { data, size, 0 };
    struct text_input in = { .name = "x", .read = fuzz_read, .arg = &bytes };
    struct ArrowArrayStream rows = { 0 };
    struct ArrowSchema schema = { 0 };
    grebe_error err = GREBE_ERROR_INIT;
    *n_rows = 0;
    if (is_map) {
        fuzz_require(region_wrap(ctx->a, data, size, fuzz_end, NULL, &in.map, NULL) == GREBE_OK);
    }
    grebe_status st = FUZZ_OPEN(ctx, &in, &rows, &err);
    if (st == GREBE_OK) {
        fuzz_require(stream_schema(&rows, &schema, NULL) == GREBE_OK);
        fuzz_require(schema_check(&schema, NULL) == GREBE_OK);
        for (;;) {
            struct ArrowArray batch = { 0 };
            st = stream_next(&rows, &batch, &err);
            if (st != GREBE_OK) {
                break;
            }
            fuzz_require(array_check(&schema, &batch, true, NULL) == GREBE_OK);
            *n_rows += batch.length;
            array_release(&batch);
        }
    }
    fuzz_require(st == GREBE_END || err.message[0] != '\0');
    schema_release(&schema);
    stream_release(&rows);
    region_drop(in.map);
    return st;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    grebe_context *ctx = NULL;
    grebe_context_options o = GREBE_CONTEXT_OPTIONS_INIT;
    int64_t mapped = 0, read = 0;
    o.threads = 1;
    fuzz_require(context_new(&o, &ctx, NULL) == GREBE_OK);
    grebe_status st = fuzz_rows(ctx, data, size, 1, &mapped);
    fuzz_require(fuzz_rows(ctx, data, size, 0, &read) == st && mapped == read);
    context_free(ctx);
    return 0;
}
