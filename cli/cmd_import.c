/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd.h"

#include "opt.h"
#include "out.h"

int cmd_import(struct cli *cli)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_import_options o = GREBE_IMPORT_OPTIONS_INIT;
    grebe_txn_options txn;
    grebe_table *made = NULL;
    int code = txn_options_from(cli, &txn);
    if (code == 0 && opt_has(cli, "columns")) {
        const char **names = NULL;
        code = split_names(cli, opt_get(cli, "columns"), &names, &o.n_columns);
        o.columns = names;
    }
    if (code != 0) {
        return code;
    }
    o.is_checked = opt_has(cli, "check");
    o.format = opt_get(cli, "input-format");
    o.call = &cli->call;
    grebe_status st = grebe_table_import(cli->ctx, cli->positional[0],
                                         (const char *const *)cli->positional + 1,
                                         cli->n_positional - 1, &o, &txn, &made, &err);
    if (st != GREBE_OK) {
        return out_error(cli, "import", &err);
    }
    report_table(cli, made);
    grebe_table_close(made);
    return 0;
}
