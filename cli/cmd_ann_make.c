/* SPDX-License-Identifier: Apache-2.0 */
/* `grebe ann make`, `grebe ann groundtruth`, `grebe ann export`. */
#include <stdio.h>
#include <string.h>

#include "ann.h"
#include "exit_code.h"
#include "opt.h"
#include "out.h"

struct noting {
    struct cli *cli;
    size_t n_errors;
};

static void note_finding(void *arg, grebe_ann_level level, const char *place, const char *message)
{
    struct noting *n = arg;
    n->n_errors += level == GREBE_ANN_ERROR;
    out_note(n->cli, "%s%s: %s", level == GREBE_ANN_ERROR ? "error: " : "", place, message);
}

/* OUT-128-euclidean.hdf5: the word before the ending, as ann-benchmarks names files. */
static const char *metric_of_name(struct cli *cli, const char *path)
{
    const char *dash = strrchr(path, '-'), *dot = strrchr(path, '.');
    grebe_metric metric;
    if (dash == NULL || dot == NULL || dot < dash) {
        return NULL;
    }
    char *word = cli_copy(cli, dash + 1);
    word[dot - dash - 1] = '\0';
    return grebe_metric_parse(word, &metric, NULL) == GREBE_OK && metric != GREBE_METRIC_L2 ? word : NULL;
}

static int common_options_from(struct cli *cli, struct noting *noting, grebe_ann_make_options *o)
{
    int64_t k = 0;
    int short_rows = 0;
    int code = opt_int(cli, "k", 1, INT64_MAX, &k);
    code = code != 0 ? code : opt_choice(cli, "short-rows", "shrink|pad|fail", &short_rows);
    o->k = (uint64_t)k;
    o->short_rows = (grebe_ann_short)short_rows;
    o->is_filtered = opt_has(cli, "filtered");
    o->is_base_by_rows = true;
    o->finding = note_finding;
    o->finding_ctx = noting;
    o->call = &cli->call;
    return code;
}

static int make_options_from(struct cli *cli, struct noting *noting, const char *out, grebe_ann_make_options *o)
{
    int64_t split = 0, seed = 1;
    int code = common_options_from(cli, noting, o);
    code = code != 0 ? code : opt_int(cli, "split", 1, INT64_MAX, &split);
    code = code != 0 ? code : opt_int(cli, "seed", 0, INT64_MAX, &seed);
    o->base = opt_get(cli, "base");
    o->queries = opt_get(cli, "queries");
    o->split = (uint64_t)split;
    o->seed = (uint64_t)seed;
    o->column = opt_get(cli, "column");
    o->metric = opt_has(cli, "metric") ? opt_get(cli, "metric") : metric_of_name(cli, out);
    o->base_labels = opt_get(cli, "labels");
    o->query_labels = opt_get(cli, "query-labels");
    o->is_uint8_kept = opt_has(cli, "keep-uint8");
    o->is_int8_negated_ip = opt_has(cli, "vsag-int8-ip");
    o->is_maxsim_plain_l2 = opt_has(cli, "plain-l2");
    if (code == 0 && o->base == NULL) {
        code = out_usage(cli, "expected --base SOURCE");
    } else if (code == 0 && (o->queries == NULL) == (o->split == 0)) {
        code = out_usage(cli, "expected --queries SOURCE, or --split N");
    } else if (code == 0 && o->queries != NULL && (o->base_labels == NULL) != (o->query_labels == NULL)) {
        code = out_usage(cli, "--labels and --query-labels: both or none");
    } else if (code == 0 && o->queries == NULL && o->query_labels != NULL) {
        code = out_usage(cli, "--query-labels: with --split, labels of queries come from --labels");
    }
    return code;
}

static bool is_hdf5_name(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot != NULL && (strcmp(dot, ".hdf5") == 0 || strcmp(dot, ".h5") == 0);
}

/* The whole data set, or its truth alone, by the name. */
static int write_out(struct cli *cli, const grebe_ann_data *data, const char *path)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_ann_content c = GREBE_ANN_CONTENT_INIT;
    bool is_durable = false;
    int code = opt_durable(cli, &is_durable);
    if (code != 0) {
        return code;
    }
    grebe_status st = grebe_ann_content_of(data, &c, &err);
    if (st == GREBE_OK && is_hdf5_name(path)) {
        st = grebe_ann_write(cli->ctx, path, &c, is_durable, &cli->call, &err);
    } else if (st == GREBE_OK) {
        st = grebe_ann_export(cli->ctx, &c, GREBE_ANN_PART_NEIGHBORS, path, is_durable, &err);
    }
    if (st != GREBE_OK) {
        return out_error(cli, cli->cmd->name, &err);
    }
    out_note(cli, "%s: %llu base rows, %llu queries, k %llu, %s", path, (unsigned long long)c.base.n,
             (unsigned long long)c.queries.n, (unsigned long long)c.k, c.distance);
    return 0;
}

int cmd_ann_make(struct cli *cli)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_ann_make_options o = GREBE_ANN_MAKE_OPTIONS_INIT;
    grebe_ann_data *data = NULL;
    const char *path = cli->positional[0];
    struct noting noting = { cli, 0 };
    int code = make_options_from(cli, &noting, path, &o);
    o.neighbors = opt_get(cli, "neighbors");
    o.distances = opt_get(cli, "distances");
    if (code == 0 && (o.neighbors == NULL ? o.distances != NULL : o.queries == NULL)) {
        code = out_usage(cli, "--distances: with --neighbors, --neighbors: with --queries");
    }
    if (code == 0 && !is_hdf5_name(path)) {
        code = out_usage(cli, "expected a name that ends in .hdf5, found %s", path);
    }
    if (code == 0 && grebe_ann_make(cli->ctx, &o, &data, &err) != GREBE_OK) {
        code = out_error(cli, "ann make", &err);
    }
    code = code == 0 ? write_out(cli, data, path) : code;
    grebe_ann_close(data);
    return code == 0 && noting.n_errors > 0 ? EXIT_CODE_CORRUPT : code;
}

int cmd_ann_groundtruth(struct cli *cli)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_ann_make_options o = GREBE_ANN_MAKE_OPTIONS_INIT;
    grebe_ann_read_options read = GREBE_ANN_READ_OPTIONS_INIT;
    grebe_ann_data *data = NULL;
    bool is_file = cli->n_positional == 2;
    const char *path = cli->positional[cli->n_positional - 1];
    struct noting noting = { cli, 0 };
    int code = is_file ? common_options_from(cli, &noting, &o) : make_options_from(cli, &noting, path, &o);
    if (code == 0 && is_file && (opt_has(cli, "base") || opt_has(cli, "queries") || opt_has(cli, "split"))) {
        code = out_usage(cli, "a data set, or --base and --queries");
    }
    read.allow_padding = true;
    read.is_base_by_rows = true;
    read.call = &cli->call;
    if (code == 0) {
        grebe_status st = is_file ? grebe_ann_open(cli->ctx, cli->positional[0], &read, &data, &err)
                                  : grebe_ann_make(cli->ctx, &o, &data, &err);
        if (st == GREBE_OK && is_file) {
            grebe_ann_content c = GREBE_ANN_CONTENT_INIT;
            st = grebe_ann_content_of(data, &c, &err);
            o.k = o.k == 0 ? c.k : o.k;
            st = st == GREBE_OK ? grebe_ann_refill(data, &o, &err) : st;
        }
        code = st == GREBE_OK ? write_out(cli, data, path) : out_error(cli, "ann groundtruth", &err);
    }
    grebe_ann_close(data);
    return code;
}

int cmd_ann_export(struct cli *cli)
{
    static const struct {
        const char *option;
        grebe_ann_part part;
    } parts[] = { { "base", GREBE_ANN_PART_BASE },           { "queries", GREBE_ANN_PART_QUERIES },
                  { "neighbors", GREBE_ANN_PART_NEIGHBORS }, { "distances", GREBE_ANN_PART_DISTANCES },
                  { "labels", GREBE_ANN_PART_BASE_LABELS },  { "query-labels", GREBE_ANN_PART_QUERY_LABELS } };
    grebe_error err = GREBE_ERROR_INIT;
    grebe_ann_read_options read = GREBE_ANN_READ_OPTIONS_INIT;
    grebe_ann_content c = GREBE_ANN_CONTENT_INIT;
    grebe_ann_data *data = NULL;
    size_t n = 0;
    read.allow_padding = true;
    read.is_base_by_rows = true;
    read.call = &cli->call;
    grebe_status st = grebe_ann_open(cli->ctx, cli->positional[0], &read, &data, &err);
    st = st == GREBE_OK ? grebe_ann_content_of(data, &c, &err) : st;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0] && st == GREBE_OK; i++) {
        const char *path = opt_get(cli, parts[i].option);
        if (path != NULL) {
            st = grebe_ann_export(cli->ctx, &c, parts[i].part, path, false, &err);
            n++;
        }
    }
    grebe_ann_close(data);
    if (st != GREBE_OK) {
        return out_error(cli, "ann export", &err);
    }
    return n > 0 ? 0 : out_usage(cli, "expected --base, --queries, --neighbors, --distances, --labels or --query-labels");
}
