/* SPDX-License-Identifier: Apache-2.0 */
/* `grebe graph export`: a preprocessed data set as plain files. */
#include "graph.h"
#include "opt.h"
#include "out.h"

int cmd_graph_export(struct cli *cli)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_graph_export_options o = GREBE_GRAPH_EXPORT_OPTIONS_INIT;
    int code = opt_durable(cli, &o.is_durable); /* off: what was exported can be made again */
    if (code != 0) {
        return code;
    }
    o.file_format = opt_get(cli, "file-format");
    o.call = &cli->call;
    if (grebe_graph_export(cli->ctx, cli->positional[0], cli->positional[1], &o, &err) != GREBE_OK) {
        return out_error(cli, cli->cmd->name, &err);
    }
    out_printf("%s\n", cli->positional[1]);
    return 0;
}
