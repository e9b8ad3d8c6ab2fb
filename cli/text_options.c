/* SPDX-License-Identifier: Apache-2.0 */
/* How the text of a source is laid out, as the options say. */
#include "text_options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opt.h"
#include "out.h"

int read_text(struct cli *cli, const char *path, char **text, size_t *len)
{
    enum { TEXT_MAX = 64 << 20 };
    grebe_error err = GREBE_ERROR_INIT;
    FILE *f = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
    errno = f != NULL ? 0 : errno;
    for (size_t capacity = 0, got = 1; f != NULL && errno == 0 && got > 0; *len += got) {
        if (*len == capacity) {
            capacity = capacity == 0 ? 1 << 16 : capacity * 2;
            char *grown = capacity <= TEXT_MAX ? realloc(*text, capacity) : NULL;
            if (grown == NULL) {
                errno = capacity <= TEXT_MAX ? ENOMEM : EFBIG;
                break;
            }
            *text = grown;
        }
        got = fread(*text + *len, 1, capacity - *len, f);
    }
    int failed = errno;
    if (f != NULL && f != stdin) {
        fclose(f);
    }
    if (failed == 0) {
        return 0;
    }
    err.status = failed == ENOENT                      ? GREBE_ENOTFOUND
                 : failed == ENOMEM || failed == EFBIG ? GREBE_ELIMIT
                                                       : GREBE_EIO;
    snprintf(err.message, sizeof err.message, "%.400s: %s", path, strerror(failed));
    return out_error(cli, cli->cmd->name, &err);
}


/* "\\t" and "tab" as people type them. */
static const char *character(struct cli *cli, const char *name)
{
    const char *text = opt_get(cli, name);
    return text != NULL && (strcmp(text, "\\t") == 0 || strcmp(text, "tab") == 0) ? "\t" : text;
}

int schema_option(struct cli *cli, struct ArrowSchema *out)
{
    const char *path = opt_get(cli, "schema");
    grebe_error err = GREBE_ERROR_INIT;
    size_t len = 0;
    char *text = NULL;
    int code = read_text(cli, path, &text, &len);
    if (code == 0) {
        grebe_status st = grebe_schema_parse_json(cli->ctx, text, len, out, &err);
        bool is_other_file = st == GREBE_ECORRUPT || st == GREBE_EINVAL;
        code = st == GREBE_OK  ? 0
               : is_other_file ? out_usage(cli, "--schema %s: %s", path, err.message)
                               : out_error(cli, cli->cmd->name, &err);
    }
    free(text);
    return code;
}

int text_options_from(struct cli *cli, grebe_text_options *out, struct ArrowSchema *schema)
{
    *out = (grebe_text_options)GREBE_TEXT_OPTIONS_INIT;
    memset(schema, 0, sizeof *schema);
    int header = GREBE_HEADER_YES, ragged = GREBE_RAGGED_ERROR, encoding = GREBE_ENCODING_UTF8;
    int64_t skip = 0;
    out->delimiter = character(cli, "delimiter");
    out->quote = character(cli, "quote");
    out->escape = character(cli, "escape");
    out->comment = character(cli, "comment");
    out->is_decimal_comma = opt_has(cli, "decimal-comma");
    out->is_trimmed = opt_has(cli, "trim");
    int code = opt_choice(cli, "header", "yes|no|auto", &header);
    code = code != 0 ? code : opt_choice(cli, "ragged", "error|fill|drop", &ragged);
    code = code != 0 ? code : opt_choice(cli, "encoding", "utf-8|latin1", &encoding);
    code = code != 0 ? code : opt_int(cli, "skip-rows", 0, INT64_MAX, &skip);
    if (code == 0 && opt_has(cli, "null-values")) {
        const char **nulls = NULL;
        code = split_words(cli, opt_get(cli, "null-values"), &nulls, &out->n_nulls);
        out->nulls = nulls;
    }
    if (code == 0 && opt_has(cli, "sample-rows")) {
        if (strcmp(opt_get(cli, "sample-rows"), "all") == 0) {
            out->sample_rows = 0;
        } else {
            code = opt_int(cli, "sample-rows", 1, INT64_MAX, &out->sample_rows);
        }
    }
    out->header = header;
    out->ragged = ragged;
    out->encoding = encoding;
    out->skip_lines = (uint64_t)skip;
    if (code == 0 && opt_has(cli, "schema")) {
        code = schema_option(cli, schema);
        out->schema = schema;
    }
    return code;
}

int text_output_from(struct cli *cli, grebe_text_options *out)
{
    *out = (grebe_text_options)GREBE_TEXT_OPTIONS_INIT;
    int header = GREBE_HEADER_YES;
    int code = opt_choice(cli, "output-header", "yes|no", &header);
    const char **null_text = cli_alloc(cli, 1, sizeof *null_text);
    out->delimiter = character(cli, "output-delimiter");
    out->quote = character(cli, "output-quote");
    out->header = header;
    if (opt_has(cli, "output-null")) {
        null_text[0] = opt_get(cli, "output-null");
        out->nulls = null_text;
        out->n_nulls = 1;
    }
    return code;
}
