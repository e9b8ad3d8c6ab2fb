/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A schema message from any bytes (the ARROW:schema key of a Parquet file): what was read goes through
 * our own encoding, JSON and text and stays the same.
 */
#include <stdlib.h>
#include <string.h>

#include "arrow/ipc.h"
#include "fuzz_require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ArrowSchema schema;
    struct ArrowSchema back;
    struct buf bytes = BUF_INIT(mem_system());
    grebe_error err = GREBE_ERROR_INIT;
    if (ipc_schema_decode(mem_system(), data, size, &schema, &err) != GREBE_OK) {
        require(schema.release == NULL && err.message[0] != '\0');
        return 0;
    }
    require(schema_check(&schema, NULL) == GREBE_OK);
    require(ipc_schema_encode(&bytes, &schema, &err) == GREBE_OK);
    require(ipc_schema_decode(mem_system(), bytes.data, bytes.len, &back, &err) == GREBE_OK);
    require(schema_equal(&schema, &back, 0));
    schema_release(&back);
    buf_clear(&bytes);
    if (schema_to_json(&bytes, &schema, &err) == GREBE_OK) {
        require(schema_from_json(mem_system(), (const char *)bytes.data, bytes.len, &back, &err) ==
                GREBE_OK);
        schema_release(&back);
    }
    buf_release(&bytes);
    schema_release(&schema);
    return 0;
}
