/* SPDX-License-Identifier: Apache-2.0 */
/* `grebe ann check`, and what `grebe info` says of a benchmark file. */
#include <stdio.h>
#include <string.h>

#include "ann.h"
#include "opt.h"
#include "out.h"
#include "rows.h"

static const char *const level_names[] = { "notice", "warning", "error" };

struct findings {
    struct rows *rows;
    size_t n;
};

static void add_finding(void *arg, grebe_ann_level level, const char *place, const char *message)
{
    struct findings *f = arg;
    rows_text(f->rows, level_names[level]);
    rows_text(f->rows, place);
    rows_text(f->rows, message);
    f->n++;
}

int cmd_ann_check(struct cli *cli)
{
    static const char *const columns[] = { "level:text", "place:text", "message:text", NULL };
    grebe_error err = GREBE_ERROR_INIT;
    grebe_ann_read_options o = GREBE_ANN_READ_OPTIONS_INIT;
    uint64_t n_errors = 0;
    if (opt_has(cli, "vsag") && opt_has(cli, "annb")) {
        return out_usage(cli, "--vsag and --annb: one of them");
    }
    struct findings f = { rows_new(columns), 0 };
    o.profile = opt_has(cli, "vsag") ? GREBE_ANN_VSAG : opt_has(cli, "annb") ? GREBE_ANN_ANNB : GREBE_ANN_READ;
    o.allow_padding = opt_has(cli, "allow-padding");
    o.finding = add_finding;
    o.finding_ctx = &f;
    o.call = &cli->call;
    if (grebe_ann_check(cli->ctx, cli->positional[0], &o, &n_errors, &err) != GREBE_OK) {
        rows_drop(f.rows);
        return out_error(cli, "ann check", &err);
    }
    int code = 0;
    if (f.n == 0 && cli->format == GREBE_PRINT_TABLE) {
        rows_drop(f.rows);
        out_printf("ok\n");
    } else {
        code = rows_print(cli, f.rows);
    }
    out_note(cli, "%s: %llu error%s", cli->positional[0], (unsigned long long)n_errors, n_errors == 1 ? "" : "s");
    return code != 0 ? code : n_errors > 0 ? EXIT_CODE_CORRUPT : 0;
}

/* ---- info ---- */

static const char *element_name(const grebe_ann_content *c)
{
    static const char *const elements[] = { "float32", "float16", "bfloat16", "int8", "uint8", "bit", "float64" };
    return c->layout == GREBE_ANN_DENSE    ? elements[c->base.elem]
           : c->layout == GREBE_ANN_SPARSE ? "sparse"
           : c->layout == GREBE_ANN_MULTI  ? "multi_vector"
                                           : "set";
}

static void info_json(const char *path, const grebe_ann_content *c)
{
    static const char *const layouts[] = { "dense", "sparse", "multi_vector", "sets" };
    out_printf("{\"path\":");
    out_json_text(path);
    out_printf(",\"format\":\"hdf5\",\"layout\":\"%s\",\"rows\":%llu,\"queries\":%llu,\"dim\":%u,\"k\":%llu,\"element\":\"%s\","
               "\"metric\":", layouts[c->layout], (unsigned long long)c->base.n, (unsigned long long)c->queries.n,
               c->base.dim, (unsigned long long)c->k, element_name(c));
    out_json_text(c->distance);
    if (c->layout == GREBE_ANN_MULTI) {
        out_printf(",\"base_vectors\":%lld,\"query_vectors\":%lld", (long long)c->base.offsets[c->base.n],
                   (long long)c->queries.offsets[c->queries.n]);
    }
    out_printf(",\"has_labels\":%s,\"has_tokens\":%s,\"int8_convention\":%s}\n", c->base.labels != NULL ? "true" : "false",
               c->base.token_offsets != NULL || c->queries.token_offsets != NULL ? "true" : "false",
               c->base.elem != GREBE_ELEM_I8 ? "null" : c->is_int8_negated_ip ? "\"-ip\"" : "\"1-ip\"");
}

static int info_rows(struct cli *cli, const grebe_ann_content *c)
{
    static const char *const columns[] = { "rows:int", "queries:int", "dim:int", "k:int", "element:text", "metric:text", NULL };
    struct rows *r = rows_new(columns);
    rows_int(r, (int64_t)c->base.n);
    rows_int(r, (int64_t)c->queries.n);
    rows_int(r, c->base.dim);
    rows_int(r, (int64_t)c->k);
    rows_text(r, element_name(c));
    rows_text(r, c->distance);
    return rows_print(cli, r);
}

/* By its first bytes, or behind a user block by its name. */
static bool is_hdf5(const char *path)
{
    unsigned char head[8] = { 0 };
    const char *dot = strrchr(path, '.');
    FILE *f = fopen(path, "rb");
    if (f == NULL) {
        return false;
    }
    size_t n = fread(head, 1, sizeof head, f);
    fclose(f);
    return (n == sizeof head && memcmp(head, "\x89HDF\r\n\x1a\n", sizeof head) == 0) ||
           (dot != NULL && (strcmp(dot, ".hdf5") == 0 || strcmp(dot, ".h5") == 0));
}

int ann_info(struct cli *cli, const char *path)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_ann_data *data = NULL;
    grebe_ann_content c = GREBE_ANN_CONTENT_INIT;
    grebe_ann_read_options o = GREBE_ANN_READ_OPTIONS_INIT;
    o.allow_padding = true;
    o.is_without_vectors = true;
    o.call = &cli->call;
    int code = 0;
    if (!is_hdf5(path)) {
        return -1;
    }
    if (grebe_ann_open(cli->ctx, path, &o, &data, &err) != GREBE_OK || grebe_ann_content_of(data, &c, &err) != GREBE_OK) {
        grebe_ann_close(data);
        return -1;
    }
    if (cli->format == GREBE_PRINT_JSON) {
        info_json(path, &c);
    } else if (cli->format == GREBE_PRINT_TABLE) {
        out_printf("%s: hdf5, benchmark data set\nN %llu, Q %llu, D %u, K %llu, %s, %s%s\n", path,
                   (unsigned long long)c.base.n, (unsigned long long)c.queries.n, c.base.dim, (unsigned long long)c.k,
                   element_name(&c), c.distance, c.base.labels != NULL ? ", with labels" : "");
    } else {
        code = info_rows(cli, &c);
    }
    grebe_ann_close(data);
    return code;
}
