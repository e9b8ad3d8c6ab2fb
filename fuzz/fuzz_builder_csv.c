/* SPDX-License-Identifier: Apache-2.0 */
/* The csv loader on any bytes, with the options that change how text is cut. */
#include "fuzz_builder.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_builder("csv", "{\"chunksize\": 2}", data, size);
    fuzz_builder(
        "csv",
        "{\"chunksize\": 3, \"escapechar\": \"\\\\\", \"comment\": \"#\", \"on_bad_lines\": \"skip\", \"header\": null}",
        data, size);
    fuzz_builder("csv",
                 "{\"chunksize\": 3, \"sep\": \"\\\\s+\", \"skip_blank_lines\": false, \"encoding_errors\": \"replace\"}",
                 data, size);
    return 0;
}
