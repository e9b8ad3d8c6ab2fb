/* SPDX-License-Identifier: Apache-2.0 */
/* JSON lines from any bytes, in small blocks; the length of the text chooses the layout. Read in place and by trees. */
#include "text/text_json.h"
#define FUZZ_VARIANTS 3
#define FUZZ_OPEN(ctx, in, variant, out, err)                                                 \
    text_json_open(ctx, in,                                                                   \
                   &(struct text_json_options){ .is_lines = size % 2 == 0,                    \
                                                .is_by_tree = (variant) == 2,                 \
                                                .sizes = { .block_bytes = 32 } },             \
                   out, err)
#include "fuzz_text.h"
