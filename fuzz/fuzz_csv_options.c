/* SPDX-License-Identifier: Apache-2.0 */
/* CSV in any layout: the first four bytes choose it, and the types of some columns. */
#include "fuzz_require.h"
#include "text/text_csv.h"

#define FUZZ_VARIANTS 2
#define FUZZ_OPEN(ctx, in, variant, out, err) ((void)(variant), open_chosen(ctx, in, data, size, out, err))

static grebe_status open_chosen(grebe_context *ctx, struct text_input *in, const unsigned char *data,
                                size_t size, struct ArrowArrayStream *out, grebe_error *err);

#include "fuzz_text.h"

static grebe_status open_chosen(grebe_context *ctx, struct text_input *in, const unsigned char *data,
                                size_t size, struct ArrowArrayStream *out, grebe_error *err)
{
    static const char delimiters[] = { 0, ',', ';', ' ' }, quotes[] = { '"', '\'', 0, '"' },
                      escapes[] = { 0, '\\', '"', '\'' };
    static const char *const formats[] = { "s", "e", "d:9,2", "tsn:UTC", "u", "+l", "b", "n" };
    static const char *const nulls[] = { "NA", "" };
    struct text_csv_options o = TEXT_CSV_OPTIONS_INIT;
    struct ArrowSchema schema = { 0 };
    unsigned char c[4] = { 0 };
    memcpy(c, data, size < 4 ? size : 4);
    o.delimiter = delimiters[c[0] & 3];
    o.quote = quotes[c[0] >> 2 & 3];
    o.escape = escapes[c[0] >> 4 & 3];
    o.comment = c[0] & 64 ? '#' : 0;
    o.is_decimal_comma = (c[0] & 128) != 0;
    o.header = c[1] & 3 ? (enum text_header)((c[1] & 3) - 1) : TEXT_HEADER_YES;
    o.ragged = c[1] & 12 ? (enum text_ragged)((c[1] >> 2 & 3) - 1) : TEXT_RAGGED_FILL;
    o.is_trimmed = (c[1] & 16) != 0;
    o.skip_lines = c[1] >> 5 & 3;
    in->is_latin1 = (c[1] & 128) != 0;
    o.nulls = c[2] & 1 ? nulls : NULL;
    o.n_nulls = c[2] & 1 ? 2 : 0;
    o.is_schema_loose = (c[2] & 32) != 0;
    o.sizes.block_bytes = 32;
    if (c[2] & 2) {
        const char *format = formats[c[2] >> 2 & 7];
        require(schema_new(ctx->a, "+s", "", false, 1, &schema, NULL) == GREBE_OK);
        require(schema_new(ctx->a, format, "a", true, format[0] == '+', schema.children[0],
                                NULL) == GREBE_OK);
        if (format[0] == '+') {
            require(schema_new(ctx->a, "f", "item", true, 0, schema.children[0]->children[0],
                                    NULL) == GREBE_OK);
        }
        o.schema = &schema;
    }
    grebe_status st = text_csv_open(ctx, in, &o, out, err);
    schema_release(&schema);
    return st;
}
