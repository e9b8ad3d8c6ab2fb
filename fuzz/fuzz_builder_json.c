/* SPDX-License-Identifier: Apache-2.0 */
/* The json loader on any bytes, in small blocks. */
#include "fuzz_builder.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_builder("json", "{\"chunksize\": 40}", data, size);
    fuzz_builder("json", "{\"on_mixed_types\": null}", data, size);
    fuzz_builder("json", "{\"field\": \"data\", \"encoding_errors\": \"replace\"}", data, size);
    return 0;
}
