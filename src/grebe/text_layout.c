/* SPDX-License-Identifier: Apache-2.0 */
#include "grebe/text_layout.h"

#include <string.h>

#include "arrow/arrow_schema.h"
#include "base/context_internal.h"

grebe_status text_layout_options(grebe_text_options *dst, const grebe_text_options *options,
                                 grebe_error *err)
{
    if (options == NULL) {
        return GREBE_OK;
    }
    grebe_status st = options_copy(dst, sizeof *dst, options, err);
    if (st != GREBE_OK) {
        return st;
    }
    if (dst->header < GREBE_HEADER_YES || dst->header > GREBE_HEADER_AUTO) {
        return GREBE_FAIL(err, GREBE_EINVAL, "header: expected 0 to 2, found %d", (int)dst->header);
    }
    if (dst->ragged < GREBE_RAGGED_ERROR || dst->ragged > GREBE_RAGGED_DROP) {
        return GREBE_FAIL(err, GREBE_EINVAL, "ragged: expected 0 to 2, found %d", (int)dst->ragged);
    }
    if (dst->encoding < GREBE_ENCODING_UTF8 || dst->encoding > GREBE_ENCODING_LATIN1) {
        return GREBE_FAIL(err, GREBE_EINVAL, "encoding: expected 0 or 1, found %d",
                          (int)dst->encoding);
    }
    if (dst->sample_rows < -1) {
        return GREBE_FAIL(err, GREBE_EINVAL, "sample_rows: expected -1 or more, found %lld",
                          (long long)dst->sample_rows);
    }
    return GREBE_OK;
}

static grebe_status keep_text(struct arena *ar, const char **text, grebe_error *err)
{
    if (*text != NULL) {
        *text = arena_str(ar, *text, strlen(*text));
    }
    return *text != NULL ? GREBE_OK : mem_fail(err, 1, "a text");
}

grebe_status text_layout_keep(struct arena *ar, const grebe_text_options *options,
                              grebe_text_options *dst, struct ArrowSchema *schema, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    *dst = (grebe_text_options)GREBE_TEXT_OPTIONS_INIT;
    memset(schema, 0, sizeof *schema);
    GREBE_TRY(options_copy(dst, sizeof *dst, options, err));
    const char **texts[] = { &dst->delimiter, &dst->quote, &dst->escape, &dst->comment };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        GREBE_TRY(*texts[i] != NULL ? keep_text(ar, texts[i], err) : GREBE_OK);
    }
    if (dst->nulls != NULL) {
        const char **nulls = arena_array(ar, dst->n_nulls + 1, sizeof *nulls);
        if (nulls == NULL) {
            st = mem_fail(err, dst->n_nulls * sizeof *nulls, "texts");
            goto out;
        }
        for (size_t i = 0; i < dst->n_nulls; i++) {
            nulls[i] = dst->nulls[i];
            GREBE_TRY(keep_text(ar, &nulls[i], err));
        }
        dst->nulls = nulls;
    }
    if (dst->schema != NULL) {
        GREBE_TRY(schema_copy(ar->a, dst->schema, schema, err));
        dst->schema = schema;
    }
out:
    return st;
}

grebe_status text_layout_char(const char *text, const char *name, char *out, grebe_error *err)
{
    if (text == NULL) {
        return GREBE_OK;
    }
    char c = text[0];
    bool is_plain = (c >= ' ' && c <= '~') || c == '\t';
    if (!is_plain || text[1] != '\0') {
        char found[40];
        return GREBE_FAIL(err, GREBE_EINVAL, "%s: expected one ASCII character, found \"%s\"", name,
                          error_quote(found, sizeof found, text, strlen(text)));
    }
    *out = c;
    return GREBE_OK;
}

grebe_status text_layout_of(const grebe_text_options *o, struct text_csv_layout *out,
                            grebe_error *err)
{
    grebe_status st = text_layout_char(o->delimiter, "delimiter", &out->delimiter, err);
    if (st == GREBE_OK && o->quote != NULL && o->quote[0] == '\0') {
        out->quote = 0;
    } else if (st == GREBE_OK) {
        st = text_layout_char(o->quote, "quote", &out->quote, err);
    }
    if (st == GREBE_OK && out->quote != 0 && out->quote == out->delimiter) {
        st = GREBE_FAIL(err, GREBE_EINVAL, "expected a quote other than the delimiter '%c'",
                        out->quote);
    }
    out->has_no_header = o->header == GREBE_HEADER_NO;
    out->null_text = o->n_nulls > 0 ? o->nulls[0] : "";
    return st;
}
