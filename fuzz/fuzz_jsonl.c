/* SPDX-License-Identifier: Apache-2.0 */
/* JSON lines from any bytes, in small blocks; the first bit of the text chooses the layout. */
#include "text/text_json.h"
#define FUZZ_OPEN(ctx, in, out, err)                                                          \
    text_json_open(ctx, in, &(struct text_json_options){ .is_lines = size % 2 == 0, .sizes = { .block_bytes = 32 } }, out, err)
#include "fuzz_text.h"
