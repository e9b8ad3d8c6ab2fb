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
    bool is_durable = false; /* a converted file can be made again: not synced unless asked for */
    int code = scan_options_from(cli, &scan);
    code = code != 0 ? code : write_options_from(cli, &write);
    code = code != 0 ? code : opt_durable(cli, &is_durable);
    code = code != 0 ? code : text_output_from(cli, &text);
    write.text = &text;
    code = code != 0 ? code : open_sources(cli, cli->positional, cli->n_positional - 1, &source);
    code = code != 0 ? code : scan_rows(cli, source, &scan, &rows);
    if (code == 0) {
        write.expected_rows = grebe_source_num_rows(source);
        grebe_status st = grebe_write_file(cli->ctx, to, &rows, &write, is_durable, &n_rows, &err);
        code = st == GREBE_OK ? 0 : out_error(cli, "convert", &err);
    }
    if (code == 0) {
        out_note(cli, "%s: %lld rows", to, (long long)n_rows);
    }
    grebe_source_close(source);
    return code;
}

/* ---- inspect ---- */

int cmd_inspect(struct cli *cli)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct ArrowArrayStream rows = { 0 };
    const char *format = opt_get(cli, "input-format");
    bool is_json = cli->format == GREBE_PRINT_JSON || cli->format == GREBE_PRINT_JSONL;
    grebe_status st = is_json ? grebe_file_inspect(cli->ctx, cli->positional[0], format, out_write,
                                                   cli, &err)
                              : grebe_file_inspect_rows(cli->ctx, cli->positional[0], format, &rows,
                                                        &err);
    if (st != GREBE_OK) {
        return out_error(cli, "inspect", &err);
    }
    if (is_json) {
        out_printf("\n");
        return 0;
    }
    return out_rows(cli, &rows);
}
