/* SPDX-License-Identifier: Apache-2.0 */
/* CSV from any bytes, in small blocks: from a map and read in pieces; what comes out is checked deeply, and both agree. */
#include "text/text_csv.h"
#define FUZZ_VARIANTS 2
#define FUZZ_OPEN(ctx, in, variant, out, err)                                                          \
    ((void)(variant), text_csv_open(ctx, in,                                                           \
                                    &(struct text_csv_options){ .quote = '"', .sizes = { .block_bytes = 32 } }, \
                                    out, err))
#include "fuzz_text.h"
