/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd.h"

#include <errno.h>
#include <string.h>

#include "ids.h"
#include "opt.h"
#include "out.h"

static int scan(struct cli *cli, int64_t limit_default)
{
    grebe_scan_options o;
    grebe_source *source = NULL;
    struct ArrowArrayStream rows = { 0 };
    int code = scan_options_from(cli, &o);
    if (!opt_has(cli, "limit")) {
        o.limit = limit_default;
    }
    code = code != 0 ? code : open_sources(cli, cli->positional, cli->n_positional, &source);
    code = code != 0 ? code : scan_rows(cli, source, &o, &rows);
    code = code != 0 ? code : out_rows(cli, &rows);
    grebe_source_close(source);
    return code;
}

int cmd_head(struct cli *cli)
{
    enum { HEAD_ROWS = 10 };
    return scan(cli, HEAD_ROWS);
}

int cmd_scan(struct cli *cli) { return scan(cli, -1); }

int cmd_count(struct cli *cli)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_scan_options o;
    grebe_source *source = NULL;
    int64_t n = 0;
    int code = scan_options_from(cli, &o);
    if (opt_has(cli, "cast")) {
        return out_usage(cli, "--cast changes nothing that count tells");
    }
    code = code != 0 ? code : open_sources(cli, cli->positional, cli->n_positional, &source);
    if (code == 0) {
        grebe_status st = grebe_source_count(source, &o, &n, &err);
        n = o.limit >= 0 && n > o.limit ? o.limit : n;
        if (st != GREBE_OK) {
            code = out_error(cli, "count", &err);
        } else if (cli->format == GREBE_PRINT_JSON || cli->format == GREBE_PRINT_JSONL) {
            out_printf("{\"rows\":%lld}\n", (long long)n);
        } else {
            out_printf("%lld\n", (long long)n);
        }
    }
    grebe_source_close(source);
    return code;
}

/* ---- take ---- */

/* One batch as a stream, so that it prints like everything else. */
struct one_batch {
    struct ArrowSchema schema;
    struct ArrowArray batch;
};

static int one_schema(struct ArrowArrayStream *s, struct ArrowSchema *out)
{
    struct one_batch *one = s->private_data;
    if (one->schema.release == NULL) {
        return EINVAL;
    }
    *out = one->schema;
    one->schema.release = NULL;
    return 0;
}

static int one_next(struct ArrowArrayStream *s, struct ArrowArray *out)
{
    struct one_batch *one = s->private_data;
    *out = one->batch;
    memset(&one->batch, 0, sizeof one->batch);
    return 0;
}

static const char *one_error(struct ArrowArrayStream *s)
{
    (void)s;
    return "the schema can be asked for once";
}

static void one_release(struct ArrowArrayStream *s)
{
    struct one_batch *one = s->private_data;
    if (one->schema.release != NULL) {
        one->schema.release(&one->schema);
    }
    if (one->batch.release != NULL) {
        one->batch.release(&one->batch);
    }
    s->release = NULL;
}

int cmd_take(struct cli *cli)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_take_options o = GREBE_TAKE_OPTIONS_INIT;
    grebe_source *source = NULL;
    struct ids ids = { 0 };
    struct one_batch one;
    int missing = GREBE_MISSING_ERROR, code = 0;
    memset(&one, 0, sizeof one);

    if (opt_has(cli, "rows") == opt_has(cli, "rows-from")) {
        return out_usage(cli, "expected one of --rows LIST and --rows-from FILE");
    }
    code = opt_has(cli, "rows") ? ids_parse(cli, opt_get(cli, "rows"), &ids)
                                : ids_read(cli, opt_get(cli, "rows-from"), &ids);
    code = code != 0 ? code : opt_choice(cli, "missing", "error|null", &missing);
    o.missing = missing;
    o.with_row_id = opt_has(cli, "with-row-id");
    o.call = &cli->call;
    if (code == 0 && opt_has(cli, "columns")) {
        const char **names = NULL;
        code = split_names(cli, opt_get(cli, "columns"), &names, &o.n_columns);
        o.columns = names;
    }
    code = code != 0 ? code : open_sources(cli, cli->positional, cli->n_positional, &source);
    if (code == 0) {
        grebe_status st = grebe_source_take(source, ids.data, ids.n, &o, &one.batch, &one.schema,
                                            &err);
        if (st != GREBE_OK) {
            code = out_error(cli, "take", &err);
        } else {
            struct ArrowArrayStream rows = { one_schema, one_next, one_error, one_release, &one };
            code = out_rows(cli, &rows);
        }
    }
    ids_drop(&ids);
    grebe_source_close(source);
    return code;
}
