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

static void benchmark_json(const grebe_ann_content *c)
{
    static const char *const layouts[] = { "dense", "sparse", "multi_vector", "sets" };
    out_printf(",\"layout\":\"%s\",\"rows\":%llu,\"queries\":%llu,\"dim\":%u,\"k\":%llu,\"element\":\"%s\",\"metric\":",
               layouts[c->layout], (unsigned long long)c->base.n, (unsigned long long)c->queries.n, c->base.dim,
               (unsigned long long)c->k, element_name(c));
    out_json_text(c->distance);
    if (c->layout == GREBE_ANN_MULTI) {
        out_printf(",\"base_vectors\":%lld,\"query_vectors\":%lld", (long long)c->base.offsets[c->base.n],
                   (long long)c->queries.offsets[c->queries.n]);
    }
    out_printf(",\"has_labels\":%s,\"has_tokens\":%s", c->base.labels != NULL ? "true" : "false",
               c->base.token_offsets != NULL || c->queries.token_offsets != NULL ? "true" : "false");
}

static void benchmark_text(const grebe_ann_content *c)
{
    out_printf("N %llu, Q %llu, D %u, K %llu, %s, %s%s\n", (unsigned long long)c->base.n, (unsigned long long)c->queries.n,
               c->base.dim, (unsigned long long)c->k, element_name(c), c->distance,
               c->base.labels != NULL ? ", with labels" : "");
}

/* ---- data sets ---- */

struct listing {
    struct rows *rows; /* NULL: JSON */
    size_t n;
};

static void list_data(void *arg, const grebe_hdf5_data *d)
{
    struct listing *l = arg;
    char shape[64];
    snprintf(shape, sizeof shape, d->rank == 0 ? "[]" : d->rank == 1 ? "[%llu]" : "[%llu,%llu]", (unsigned long long)d->rows,
             (unsigned long long)d->columns);
    if (l->rows != NULL) {
        rows_text(l->rows, d->name);
        rows_text(l->rows, d->type);
        rows_text(l->rows, shape);
        rows_bool(l->rows, d->is_chunked);
        rows_text(l->rows, d->trouble);
    } else {
        out_printf("%s{\"name\":", l->n == 0 ? "" : ",");
        out_json_text(d->name);
        out_printf(",\"type\":");
        out_json_text(d->type);
        out_printf(",\"rank\":%u,\"shape\":%s,\"big_endian\":%s,\"chunked\":%s,\"trouble\":", d->rank, shape,
                   d->is_big_endian ? "true" : "false", d->is_chunked ? "true" : "false");
        if (d->trouble != NULL) {
            out_json_text(d->trouble);
        } else {
            out_printf("null");
        }
        out_printf("}");
    }
    l->n++;
}

static void pass_over(void *arg, const grebe_hdf5_data *d)
{
    (void)arg;
    (void)d;
}

/* All of it in the form asked for. c NULL: no benchmark file. */
static int print_info(struct cli *cli, const char *path, const grebe_ann_content *c)
{
    static const char *const columns[] = { "data set:text", "type:text", "shape:text", "chunked:bool", "trouble:text", NULL };
    grebe_error err = GREBE_ERROR_INIT;
    struct listing l = { NULL, 0 };
    if (grebe_hdf5_list(cli->ctx, path, pass_over, NULL, &err) != GREBE_OK) { /* before anything is printed */
        return out_error(cli, "info", &err);
    }
    if (cli->format == GREBE_PRINT_JSON) {
        out_printf("{\"path\":");
        out_json_text(path);
        out_printf(",\"format\":\"hdf5\"");
        if (c != NULL) {
            benchmark_json(c);
        }
        out_printf(",\"data_sets\":[");
        grebe_status st = grebe_hdf5_list(cli->ctx, path, list_data, &l, &err);
        out_printf("]}\n");
        return st == GREBE_OK ? 0 : out_error(cli, "info", &err);
    }
    if (cli->format == GREBE_PRINT_TABLE) {
        out_printf("%s: hdf5%s\n", path, c != NULL ? ", benchmark data set" : "");
        if (c != NULL) {
            benchmark_text(c);
        }
    }
    l.rows = rows_new(columns);
    if (grebe_hdf5_list(cli->ctx, path, list_data, &l, &err) != GREBE_OK) {
        rows_drop(l.rows);
        return out_error(cli, "info", &err);
    }
    return rows_print(cli, l.rows);
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
    if (!is_hdf5(path)) {
        return -1;
    }
    bool is_benchmark = grebe_ann_open(cli->ctx, path, &o, &data, &err) == GREBE_OK &&
                        grebe_ann_content_of(data, &c, &err) == GREBE_OK;
    int code = print_info(cli, path, is_benchmark ? &c : NULL);
    grebe_ann_close(data);
    return code;
}
