/* SPDX-License-Identifier: Apache-2.0 */
/* `grebe graph init`: the metadata.yaml of files. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "graph.h"
#include "opt.h"
#include "out.h"

/* What the words say; everything is cli_alloc'd. */
struct words {
    grebe_graph_edge_file *edges;
    grebe_graph_node_count *nodes;
    grebe_graph_feature_file *features;
    grebe_graph_set_file *sets;
    grebe_graph_task_key *task_keys;
    size_t n_edges, n_nodes, n_features, n_sets, n_task_keys;
    const char *source, *target;
    const char **seeds; /* columns of the seeds in tables of sets */
    size_t n_seeds;
    const char *labels; /* the same; NULL: of that name */
    bool uses_seeds, uses_labels; /* whether a set has such columns */
};

static bool is_there(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0;
}

/* "KEY=PATH": PATH, and *key; a word that is a file has no key. */
static const char *split_key(struct cli *cli, const char *word, char **key)
{
    const char *equals = strchr(word, '=');
    *key = NULL;
    if (equals == NULL || is_there(word)) {
        return word;
    }
    *key = cli_copy(cli, word);
    (*key)[equals - word] = '\0';
    return equals + 1;
}

static size_t count_colons(const char *text)
{
    size_t n = 0;
    for (; *text != '\0'; text++) {
        n += *text == ':';
    }
    return n;
}

/* "TYPE:NAME": NAME, and *type cut off; the type may have colons. */
static char *split_name(char *key, const char **type)
{
    char *colon = strrchr(key, ':');
    *type = colon == NULL ? NULL : key;
    if (colon != NULL) {
        *colon = '\0';
    }
    return colon == NULL ? key : colon + 1;
}

static void add_edges(struct words *w, const char *type, const char *path)
{
    w->edges[w->n_edges++] = (grebe_graph_edge_file){ type, path, w->source, w->target };
}

static void add_feature(struct words *w, const char *domain, const char *type, const char *name, const char *path, bool is_attribute)
{
    w->features[w->n_features++] = (grebe_graph_feature_file){ domain, type, name, path, is_attribute };
}

/* The name of a file without folder and ending. */
static char *stem_of(struct cli *cli, const char *path)
{
    const char *slash = strrchr(path, '/');
    char *stem = cli_copy(cli, slash != NULL ? slash + 1 : path), *dot = strrchr(stem, '.');
    if (dot != NULL && dot != stem) {
        *dot = '\0';
    }
    return stem;
}

/* Whether an array (npy, torch) is one of edges: two rows of integers. Others are rows of nodes. */
static int look_at(struct cli *cli, const char *path, bool *is_array, bool *is_edges)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_source *source = NULL;
    struct ArrowSchema schema = { 0 };
    grebe_status st = grebe_source_open(cli->ctx, path, NULL, &source, &err);
    *is_array = *is_edges = false;
    st = st == GREBE_OK ? grebe_source_schema(source, &schema, &err) : st;
    if (st == GREBE_OK) {
        const char *format = grebe_source_format(source);
        *is_array = strcmp(format, "npy") == 0 || strcmp(format, "torch") == 0;
        const struct ArrowSchema *column = schema.n_children == 1 ? schema.children[0] : NULL;
        const bool is_list = column != NULL && column->n_children == 1 && strchr("cCsSiIlL", column->children[0]->format[0]) != NULL;
        *is_edges = !*is_array || (is_list && grebe_source_num_rows(source) == 2);
        schema.release(&schema);
    }
    grebe_source_close(source);
    return st == GREBE_OK ? 0 : out_error(cli, cli->cmd->name, &err);
}

/* [KEY=]FILE: what it is of is told by the colons in the key, without key by the file. */
static int add_file(struct cli *cli, struct words *w, const char *word)
{
    char *key = NULL;
    const char *type = NULL, *path = split_key(cli, word, &key);
    const size_t n = key == NULL ? 0 : count_colons(key);
    bool is_array = false, is_edges = false;
    if (key != NULL && n == 2) {
        add_edges(w, key, path);
    } else if (key != NULL && n <= 3) {
        const char *name = split_name(key, &type);
        add_feature(w, n == 3 ? "edge" : "node", type, name, path, false);
    } else if (key != NULL) {
        return out_usage(cli, "expected NAME=, TYPE:NAME=, or SOURCE:RELATION:DESTINATION[:NAME]= before a file, found \"%s\"", word);
    } else {
        int code = look_at(cli, path, &is_array, &is_edges);
        if (code != 0) {
            return code;
        }
        if (is_edges) {
            add_edges(w, NULL, path);
        } else {
            add_feature(w, "node", NULL, stem_of(cli, path), path, false);
        }
    }
    return 0;
}

/* "KEY=VALUE" of an option, which reads `form`: *value, and *key copied. Exit code. */
static int split_word(struct cli *cli, const char *option, const char *form, const char *word, char **key, const char **value)
{
    const char *equals = strchr(word, '=');
    if (equals == NULL || equals == word) {
        return out_usage(cli, "--%s: expected %s, found \"%s\"", option, form, word);
    }
    *key = cli_copy(cli, word);
    (*key)[equals - word] = '\0';
    *value = equals + 1;
    return 0;
}

/* --edge-feature and --attribute: [TYPE:]NAME=FILE. */
static int add_options(struct cli *cli, struct words *w, const char *option, bool is_attribute)
{
    const char *word;
    for (size_t i = 0; (word = opt_nth(cli, option, i)) != NULL; i++) {
        const char *file = NULL, *type = NULL;
        char *key = NULL;
        int code = split_word(cli, option, "[TYPE:]NAME=FILE", word, &key, &file);
        if (code != 0) {
            return code;
        }
        const size_t n = count_colons(key);
        const char *name = split_name(key, &type);
        add_feature(w, is_attribute && n == 1 ? "node" : "edge", type, name, file, is_attribute);
    }
    return 0;
}

/* --train, --validation, --test: [TYPE:]NAME=FILE, an array or a table with a column of that name. */
static int add_sets(struct cli *cli, struct words *w, const char *option, grebe_graph_set set)
{
    const char *word;
    for (size_t i = 0; (word = opt_nth(cli, option, i)) != NULL; i++) {
        const char *file = NULL, *type = NULL;
        char *key = NULL;
        bool is_array = false, is_edges = false;
        int code = split_word(cli, option, "[TYPE:]NAME=FILE", word, &key, &file);
        code = code != 0 ? code : look_at(cli, file, &is_array, &is_edges);
        if (code != 0) {
            return code;
        }
        const char **name = cli_alloc(cli, 1, sizeof *name);
        *name = split_name(key, &type);
        grebe_graph_set_file *f = &w->sets[w->n_sets++];
        *f = (grebe_graph_set_file){ set, type, *name, file, NULL, 0 };
        if (!is_array) {
            const bool is_pair = type == NULL || strchr(type, ':') != NULL; /* may be one of --src and --dst */
            const bool is_seeds = strcmp(*name, "seeds") == 0 && w->n_seeds > 0 && (is_pair || opt_has(cli, "seeds"));
            const bool is_label = strcmp(*name, "labels") == 0 && w->labels != NULL;
            w->uses_seeds = w->uses_seeds || is_seeds;
            w->uses_labels = w->uses_labels || is_label;
            f->columns = is_seeds ? w->seeds : is_label ? &w->labels : name;
            f->n_columns = is_seeds ? w->n_seeds : 1;
        }
    }
    return 0;
}

/* --task KEY=VALUE */
static int add_task_keys(struct cli *cli, struct words *w)
{
    const char *word;
    for (size_t i = 0; (word = opt_nth(cli, "task", i)) != NULL; i++) {
        const char *value = NULL;
        char *key = NULL;
        int code = split_word(cli, "task", "KEY=VALUE", word, &key, &value);
        if (code != 0) {
            return code;
        }
        w->task_keys[w->n_task_keys++] = (grebe_graph_task_key){ key, value };
    }
    return w->n_task_keys > 0 && w->n_sets == 0 ? out_usage(cli, "--task: expected sets of the task by --train, --validation or --test") : 0;
}

static int add_task(struct cli *cli, struct words *w)
{
    int code = opt_has(cli, "seeds") ? split_names(cli, opt_get(cli, "seeds"), &w->seeds, &w->n_seeds) : 0;
    if (code == 0 && w->n_seeds == 0 && w->source != NULL) {
        w->seeds = cli_alloc(cli, 2, sizeof *w->seeds);
        w->seeds[0] = w->source;
        w->seeds[1] = w->target;
        w->n_seeds = 2;
    }
    code = code != 0 ? code : add_sets(cli, w, "train", GREBE_GRAPH_TRAIN);
    code = code != 0 ? code : add_sets(cli, w, "validation", GREBE_GRAPH_VALIDATION);
    code = code != 0 ? code : add_sets(cli, w, "test", GREBE_GRAPH_TEST);
    if (code == 0 && opt_has(cli, "seeds") && !w->uses_seeds) {
        code = out_usage(cli, "--seeds: expected \"seeds\" of a set in a table, by --train, --validation or --test");
    }
    if (code == 0 && w->labels != NULL && !w->uses_labels) {
        code = out_usage(cli, "--labels: expected \"labels\" of a set in a table, by --train, --validation or --test");
    }
    return code != 0 ? code : add_task_keys(cli, w);
}

/* --nodes [TYPE=]N */
static int add_counts(struct cli *cli, struct words *w)
{
    const char *word;
    for (size_t i = 0; (word = opt_nth(cli, "nodes", i)) != NULL; i++) {
        const char *equals = strrchr(word, '='), *digits = equals != NULL ? equals + 1 : word;
        char *end = NULL, *type = NULL;
        errno = 0;
        const long long n = strtoll(digits, &end, 10);
        if (errno != 0 || end == digits || *end != '\0' || n < 0) {
            return out_usage(cli, "--nodes: expected [TYPE=]N, found \"%s\"", word);
        }
        if (equals != NULL) {
            type = cli_copy(cli, word);
            type[equals - word] = '\0';
        }
        w->nodes[w->n_nodes++] = (grebe_graph_node_count){ type, n };
    }
    return 0;
}

int cmd_graph_init(struct cli *cli)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_graph_init_options o = GREBE_GRAPH_INIT_OPTIONS_INIT;
    const size_t n = cli->n_positional + OPT_VALUES_MAX;
    struct words w = { .edges = cli_alloc(cli, n, sizeof *w.edges),
                       .nodes = cli_alloc(cli, n, sizeof *w.nodes),
                       .features = cli_alloc(cli, n, sizeof *w.features),
                       .sets = cli_alloc(cli, n, sizeof *w.sets),
                       .task_keys = cli_alloc(cli, n, sizeof *w.task_keys),
                       .source = opt_get(cli, "src"),
                       .target = opt_get(cli, "dst"),
                       .labels = opt_get(cli, "labels") };
    int code = (w.source == NULL) != (w.target == NULL) ? out_usage(cli, "--src, --dst: expected both or none") : 0;
    for (size_t i = 1; i < cli->n_positional && code == 0; i++) {
        code = add_file(cli, &w, cli->positional[i]);
    }
    code = code != 0 ? code : add_options(cli, &w, "edge-feature", false);
    code = code != 0 ? code : add_options(cli, &w, "attribute", true);
    code = code != 0 ? code : add_counts(cli, &w);
    code = code != 0 ? code : add_task(cli, &w);
    if (code == 0 && w.n_edges == 0) {
        code = out_usage(cli, "expected a file of edges: csv, npy of shape (2, edges), Parquet, or a table with --src and --dst");
    }
    if (code != 0) {
        return code;
    }
    o.name = opt_get(cli, "name");
    o.edges = w.edges;
    o.n_edges = w.n_edges;
    o.nodes = w.nodes;
    o.n_nodes = w.n_nodes;
    o.features = w.features;
    o.n_features = w.n_features;
    o.sets = w.sets;
    o.n_sets = w.n_sets;
    o.task_keys = w.task_keys;
    o.n_task_keys = w.n_task_keys;
    o.is_replaced = opt_has(cli, "force");
    o.call = &cli->call;
    if (grebe_graph_init(cli->ctx, cli->positional[0], &o, &err) != GREBE_OK) {
        return out_error(cli, cli->cmd->name, &err);
    }
    out_printf("%s/metadata.yaml\n", cli->positional[0]);
    return 0;
}
