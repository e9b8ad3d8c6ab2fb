/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An Avro schema and a value of it: the input up to the first NUL is the schema, the rest is skipped as
 * a value, and the whole is tried as a container file whose first record is skipped.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz_require.h"
#include "wire/avro_schema.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void schema_and_value(const uint8_t *data, size_t size)
{
    struct arena arena = ARENA_INIT(mem_system());
    struct avro_type *type = NULL;
    const uint8_t *end = size == 0 ? NULL : memchr(data, 0, size);
    size_t len = end == NULL ? size : (size_t)(end - data);
    grebe_error err = GREBE_ERROR_INIT;
    if (avro_schema_parse(&arena, (const char *)data, len, &type, &err) == GREBE_OK) {
        struct avro_reader r = { data + len, size - len, 0, len, 0 };
        require(type != NULL);
        (void)!avro_skip(&r, type, &err);
        require(r.at <= r.len);
    } else {
        require(err.message[0] != '\0');
    }
    arena_release(&arena);
}

static void container(const uint8_t *data, size_t size)
{
    struct arena arena = ARENA_INIT(mem_system());
    struct buf inflated = BUF_INIT(mem_system());
    struct avro_type *type = NULL;
    struct avro_ocf ocf;
    if (avro_ocf_read(data, size, 1 << 20, &arena, &inflated, &ocf, NULL) == GREBE_OK &&
        avro_schema_parse(&arena, ocf.schema.data, ocf.schema.len, &type, NULL) == GREBE_OK) {
        (void)!avro_skip(&ocf.body, type, NULL);
        require(ocf.body.at <= ocf.body.len);
    }
    buf_release(&inflated);
    arena_release(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    schema_and_value(data, size);
    container(data, size);
    return 0;
}
