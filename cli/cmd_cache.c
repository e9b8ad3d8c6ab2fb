/* SPDX-License-Identifier: Apache-2.0 */
/* `grebe cache ls`, `grebe cache rm`. */
#include "data.h"

#include <stdlib.h>
#include <string.h>

#include "opt.h"
#include "out.h"

int cmd_cache_ls(struct cli *cli)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct ArrowArrayStream rows = { 0 };
    if (grebe_cache_list(cli->ctx, opt_get(cli, "cache-dir"), &rows, &err) != GREBE_OK) {
        return out_error(cli, "cache ls", &err);
    }
    return out_rows(cli, &rows);
}

/* "7d", "12h", "30m", "90s" in microseconds. */
static int parse_age(struct cli *cli, const char *text, int64_t *out)
{
    static const struct {
        char unit;
        int64_t seconds;
    } units[] = { { 'd', 86400 }, { 'h', 3600 }, { 'm', 60 }, { 's', 1 } };
    char *end = NULL;
    long long n = strtoll(text, &end, 10);
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (end != text && end[0] == units[i].unit && end[1] == '\0' && n >= 0 && n < 1000000) {
            *out = (int64_t)n * units[i].seconds * 1000000;
            return 0;
        }
    }
    return out_usage(cli, "--older-than: expected an age such as 7d or 12h, found %s", text);
}

int cmd_cache_rm(struct cli *cli)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_cache_remove_options o = GREBE_CACHE_REMOVE_OPTIONS_INIT;
    struct ArrowArrayStream rows = { 0 };
    uint64_t bytes = 0;
    int code = opt_size(cli, "max-bytes", &bytes);
    if (code == 0 && opt_has(cli, "older-than")) {
        code = parse_age(cli, opt_get(cli, "older-than"), &o.older_than_us);
    }
    if (code == 0 && cli->n_positional == 0 && !opt_has(cli, "max-bytes") && !opt_has(cli, "older-than") &&
        !opt_has(cli, "unfinished") && !opt_has(cli, "all")) {
        code = out_usage(cli, "expected PATH, --older-than, --max-bytes, --unfinished or --all");
    }
    if (code != 0) {
        return code;
    }
    o.path = cli->n_positional > 0 ? cli->positional[0] : NULL;
    o.max_bytes = opt_has(cli, "max-bytes") ? (int64_t)(bytes < INT64_MAX ? bytes : INT64_MAX) : -1;
    o.is_unfinished_only = opt_has(cli, "unfinished");
    o.is_dry_run = opt_has(cli, "dry-run");
    if (grebe_cache_remove(cli->ctx, opt_get(cli, "cache-dir"), &o, &rows, &err) != GREBE_OK) {
        return out_error(cli, "cache rm", &err);
    }
    return out_rows(cli, &rows);
}
