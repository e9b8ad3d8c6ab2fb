/* SPDX-License-Identifier: Apache-2.0 */
/* The sub-commands of `grebe graph`, and their options. */
#include "graph.h"

#define READ_OPTIONS                                                                                                   \
    { "strict", NULL, "warnings are errors", 0 },                                                                      \
        { "allow-row-mismatch", NULL, "features may have other numbers of rows than there are nodes or edges", 0 },    \
        { "csv-header", NULL, "the first line of text files of edges is passed over", 0 },                             \
    {                                                                                                                  \
        "csv-sep", "C", "between the two numbers of a line (default ',')", 0                                           \
    }

static const struct opt_spec check_options[] = {
    { "deep", NULL, "read all edges too", 0 },
    READ_OPTIONS,
    { NULL, NULL, NULL, 0 },
};

static const struct cmd check_spec = { "graph check",
                                       "graph check DIR [--deep] [--strict]",
                                       "check metadata.yaml and the files that it names",
                                       "DIR is a data set in the layout of GraphBolt: metadata.yaml, edges as csv or "
                                       "npy, features and sets as npy or torch files. All "
                                       "mistakes are told in one run, each with line, column and field; files are "
                                       "looked at by their headers, with --deep edges by their "
                                       "values too. Errors give exit status 5.",
                                       "grebe graph check data/ --deep",
                                       check_options,
                                       NULL,
                                       1,
                                       1,
                                       cmd_graph_check,
                                       NULL };

static const struct opt_spec preprocess_options[] = {
    { "out", "DIR", "make `preprocessed` there instead of in the data set", 0 },
    { "no-original-edge-id", NULL, "do not keep which row of its file an edge was", 0 },
    { "no-cast", NULL, "keep the integer types of the files, instead of the smallest that hold the values", 0 },
    { "dgl-edge-attr-order", NULL, "leave attributes of edges in the order of the files, as DGL does", 0 },
    { "force", NULL, "make it again even if nothing has changed", 0 },
    { "keep", NULL, "use what is there, whatever has changed", 0 },
    { "durable", "on|off", "sync to disk before the folder appears (default on)", 0 },
    READ_OPTIONS,
    { NULL, NULL, NULL, 0 },
};

static const struct cmd preprocess_spec = { "graph preprocess",
                                            "graph preprocess DIR [--out DIR] [--no-original-edge-id] [--no-cast]",
                                            "make what training reads",
                                            "Makes DIR/preprocessed: the graph by destination, features and sets as "
                                            "npy files, and metadata that DGL reads too. The folder "
                                            "appears when it is whole; the second time nothing is done unless an "
                                            "option or a file has changed. The result does not depend on "
                                            "--threads and --memory. Prints the folder.",
                                            "grebe graph preprocess data/ --memory-limit 4GiB",
                                            preprocess_options,
                                            NULL,
                                            1,
                                            1,
                                            cmd_graph_preprocess,
                                            NULL };

static const struct opt_spec info_options[] = {
    { "quick", NULL, "only what the headers of the files tell: no degrees, no edges by type", 0 },
    { "plot", "FILE", "draw how many nodes have at least each degree: .svg, or .html with values under the pointer", 0 },
    { NULL, NULL, NULL, 0 },
};

static const struct cmd info_spec = { "graph info",
                                      "graph info DIR [--plot FILE.svg] [--quick]",
                                      "show types, degrees, attributes, features and sets of a preprocessed data set",
                                      "DIR is a data set with `preprocessed` in it, made by this program or by DGL, or "
                                      "that folder itself. One row for the graph, each type, attribute, feature and array of a set; for "
                                      "each type of edges its number, self loops, and in- and out-degrees: of how many nodes, and as metadata how "
                                      "many have none, least, mean, quantiles, most. Isolated nodes have no edge of any type.",
                                      "grebe graph info data/ --plot degrees.svg",
                                      info_options,
                                      NULL,
                                      1,
                                      1,
                                      cmd_graph_info,
                                      NULL };

static const struct opt_spec sample_options[] = {
    { "seeds", "LIST", "ids of the seeds, counted from 0 in their type: 3,7,10:20", 0 },
    { "seeds-from", "FILE", "the same from a file, - for standard input", 0 },
    { "fanouts", "LIST", "neighbours of each node, by hop, the outermost first; -1 or all: every one; a/b: by type of edges", 0 },
    { "type", "NODE", "type of the seeds, in a graph with several", 0 },
    { "replace", NULL, "draw with replacement", 0 },
    { "weight", "NAME", "draw by this attribute of the edges (weights or a mask)", 0 },
    { "labor", NULL, "let seeds share what is drawn, which reaches fewer nodes (LABOR)", 0 },
    { "seed", "N", "of what is drawn (default 0): the same gives the same", 0 },
    { "nodes", NULL, "print the nodes that are reached instead of the edges", 0 },
    { NULL, NULL, NULL, 0 },
};

static const struct cmd sample_spec = { "graph sample",
                                        "graph sample DIR --seeds LIST --fanouts LIST [--type NODE]",
                                        "sample neighbours of nodes, hop by hop",
                                        "One row for each sampled edge: the hop (1 at the seeds), its type, source, target and "
                                        "number in the edge file; with --nodes one for each node in the order of the rows that training uses, "
                                        "seeds first. What is drawn depends on --seed alone, not on --threads.",
                                        "grebe graph sample data/ --seeds 0,5 --fanouts 10,5 --type paper --format csv",
                                        sample_options,
                                        NULL,
                                        1,
                                        1,
                                        cmd_graph_sample,
                                        NULL };

static const struct opt_spec verify_options[] = {
    { "allow-row-mismatch", NULL, "features may have other numbers of rows than there are nodes or edges", 0 },
    { NULL, NULL, NULL, 0 },
};

static const struct cmd verify_spec = { "graph verify",
                                        "graph verify DIR",
                                        "verify a preprocessed data set",
                                        "Lists ascend, ids are in range, types are those of the ends of each edge, "
                                        "checksums are right, and every file is there with as many "
                                        "rows as it must have. Errors give exit status 5.",
                                        "grebe graph verify data/",
                                        verify_options,
                                        NULL,
                                        1,
                                        1,
                                        cmd_graph_verify,
                                        NULL };

const struct cmd *const graph_list[] = { &check_spec, &preprocess_spec, &info_spec, &sample_spec, &verify_spec, NULL };
