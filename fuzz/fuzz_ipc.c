/* SPDX-License-Identifier: Apache-2.0 */
/* An Arrow stream from any bytes: each batch is checked, written, read again and compared. */
#include <stdlib.h>
#include <string.h>

#include "arrow/ipc.h"
#include "fuzz_require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { BATCHES_MAX = 64, ROWS_MAX = 100000 };

static void open_bytes(const uint8_t *data, size_t size, struct ArrowArrayStream *out)
{
    struct region *r = NULL;
    memset(out, 0, sizeof *out);
    require(region_new(mem_system(), size, &r, NULL) == GREBE_OK);
    if (size > 0) {
        memcpy(r->data, data, size);
    }
    (void)!ipc_stream_of_region(mem_system(), r, out, NULL);
    region_drop(r);
}

static void write_again(const struct ArrowSchema *schema, const struct ArrowArray *batch)
{
    struct buf bytes = BUF_INIT(mem_system());
    struct ipc_writer *w = NULL;
    struct ArrowArrayStream stream;
    struct ArrowArray back;
    grebe_status st = ipc_writer_new(mem_system(), schema, NULL, ipc_sink_buf, &bytes, &w, NULL);
    if (st == GREBE_OK && ipc_writer_write(w, batch, NULL) == GREBE_OK &&
        ipc_writer_finish(w, NULL) == GREBE_OK) {
        open_bytes(bytes.data, bytes.len, &stream);
        require(stream.release != NULL);
        require(stream_next(&stream, &back, NULL) == GREBE_OK);
        require(array_equal(schema, batch, &back));
        array_release(&back);
        stream_release(&stream);
    }
    ipc_writer_free(w);
    buf_release(&bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ArrowArrayStream stream;
    struct ArrowSchema schema;
    open_bytes(data, size, &stream);
    if (stream.release == NULL) {
        return 0;
    }
    require(stream_schema(&stream, &schema, NULL) == GREBE_OK);
    for (int i = 0; i < BATCHES_MAX; i++) {
        struct ArrowArray batch;
        if (stream_next(&stream, &batch, NULL) != GREBE_OK) {
            break;
        }
        require(array_check(&schema, &batch, true, NULL) == GREBE_OK);
        if (batch.length <= ROWS_MAX) {
            write_again(&schema, &batch);
        }
        array_release(&batch);
    }
    schema_release(&schema);
    stream_release(&stream);
    return 0;
}
