/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd.h"

#include <stdio.h>
#include <string.h>

#include "opt.h"
#include "out.h"
#include "text_options.h"

/* ---- convert ---- */

int cmd_convert(struct cli *cli)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_scan_options scan;
    grebe_write_options write;
    grebe_text_options text;
    grebe_source *source = NULL;
    struct ArrowArrayStream rows = { 0 };
    int64_t n_rows = 0;
    const char *to = cli->positional[cli->n_positional - 1];
    int durable = 1; /* a converted file can be made again: not synced unless asked for */
    int code = scan_options_from(cli, &scan);
    code = code != 0 ? code : write_options_from(cli, &write);
    code = code != 0 ? code : opt_choice(cli, "durable", "on|off", &durable);
    code = code != 0 ? code : text_output_from(cli, &text);
    write.text = &text;
    code = code != 0 ? code : open_sources(cli, cli->positional, cli->n_positional - 1, &source);
    code = code != 0 ? code : scan_rows(cli, source, &scan, &rows);
    if (code == 0) {
        write.expected_rows = grebe_source_num_rows(source);
        grebe_status st = grebe_write_file(cli->ctx, to, &rows, &write, durable == 0, &n_rows, &err);
        code = st == GREBE_OK ? 0 : out_error(cli, "convert", &err);
    }
    if (code == 0) {
        out_note(cli, "%s: %lld rows", to, (long long)n_rows);
    }
    grebe_source_close(source);
    return code;
}

/* ---- inspect ---- */

/* JSON laid out for people, as it arrives: a line per member, two spaces a level. */
struct layout {
    struct cli *cli;
    int depth;
    bool is_compact, in_string, is_escaped;
};

static void new_line(struct layout *l)
{
    out_printf("\n%*s", 2 * l->depth, "");
}

static int write_laid_out(void *write_ctx, const void *bytes, size_t len)
{
    struct layout *l = write_ctx;
    const char *p = bytes;
    if (l->is_compact) {
        return out_write(l->cli, bytes, len);
    }
    for (size_t i = 0; i < len; i++) {
        char c = p[i];
        if (l->in_string) {
            out_printf("%c", c);
            l->in_string = c != '"' || l->is_escaped;
            l->is_escaped = c == '\\' && !l->is_escaped;
        } else if (c == '{' || c == '[') {
            bool is_empty = i + 1 < len && (p[i + 1] == '}' || p[i + 1] == ']');
            out_printf("%c", c);
            l->depth++;
            if (!is_empty) {
                new_line(l);
            }
        } else if (c == '}' || c == ']') {
            bool was_empty = i > 0 && (p[i - 1] == '{' || p[i - 1] == '[');
            l->depth--;
            if (!was_empty) {
                new_line(l);
            }
            out_printf("%c", c);
        } else if (c == ',') {
            out_printf(",");
            new_line(l);
        } else {
            out_printf(c == ':' ? ": " : "%c", c);
            l->in_string = c == '"';
        }
    }
    return 0;
}

int cmd_inspect(struct cli *cli)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct layout l = { cli, 0, cli->format != GREBE_PRINT_TABLE, false, false };
    grebe_status st = grebe_file_inspect(cli->ctx, cli->positional[0],
                                         opt_get(cli, "input-format"), write_laid_out, &l, &err);
    if (st != GREBE_OK) {
        return out_error(cli, "inspect", &err);
    }
    out_printf("\n");
    return 0;
}
