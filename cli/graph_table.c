/* SPDX-License-Identifier: Apache-2.0 */
/* The sub-commands of `grebe graph`, and their options. */
#include "graph.h"
#include "opt.h"

#define MISMATCH_OPTION { "allow-row-mismatch", NULL, "features may have other numbers of rows than there are nodes or edges", 0 }

#define READ_OPTIONS                                                                                                   \
    { "strict", NULL, "warnings are errors", 0 },                                                                      \
        MISMATCH_OPTION,    \
        { "csv-header", NULL, "the first line of text files of edges is passed over", 0 },                             \
    {                                                                                                                  \
        "csv-sep", "C", "between the two numbers of a line (default ',')", 0                                           \
    }

static const struct opt_spec check_options[] = {
    { "deep", NULL, "read all edges, and the ids in sets, too", 0 },
    READ_OPTIONS,
    { NULL, NULL, NULL, 0 },
};

static const struct cmd check_spec = { "graph check",
                                       "graph check DIR [--deep] [--strict]",
                                       "check metadata.yaml and the files that it names",
                                       "DIR is a data set in the layout of GraphBolt: metadata.yaml, edges as csv or "
                                       "npy, features and sets as npy or torch files. All "
                                       "mistakes are told in one run, each with line, column and field; files are "
                                       "looked at by their headers, with --deep edges and ids in sets by their "
                                       "values too. Errors give exit status 5.",
                                       "grebe graph check data/ --deep",
                                       check_options, NULL, 1, 1, cmd_graph_check, NULL };

enum { ANY_FILES = 1 << 16 };

static const struct opt_spec init_options[] = {
    { "name", "TEXT", "name of the data set (default: of the folder)", 0 },
    { "src", "COL", "column of the sources; files of edges are then any SOURCE: tables, Parquet, csv with a header", 0 },
    { "dst", "COL", "column of the destinations", 0 },
    { "nodes", "[TYPE=]N", "number of nodes; may be repeated (default: as many as edges and features tell)", 0 },
    { "edge-feature", "[TYPE:]NAME=FILE", "rows of edges; may be repeated", 0 },
    { "attribute", "[TYPE:]NAME=FILE", "weights or times of edges (of nodes: TYPE without relation) that samplers use; may be repeated", 0 },
    { "train", "[TYPE:]NAME=FILE", "items to train with: seeds=, labels=, …; may be repeated", 0 },
    { "validation", "[TYPE:]NAME=FILE", "items to choose by; may be repeated", 0 },
    { "test", "[TYPE:]NAME=FILE", "items to measure by; may be repeated", 0 },
    { "seeds", "COL,...", "columns of the seeds in tables of items (default: those of --src and --dst, else seeds)", 0 },
    { "labels", "COL", "column of the labels in tables of items (default labels)", 0 },
    { "task", "KEY=VALUE", "what the task is: name=, num_classes=, …; may be repeated", 0 },
    { "force", NULL, "replace files that are there: metadata.yaml, copies in edges/ and sets/", 0 },
    { NULL, NULL, NULL, 0 },
};

static const struct cmd init_spec = { "graph init",
                                      "graph init DIR [KEY=]FILE... [--src COL --dst COL]",
                                      "write the metadata.yaml of files",
                                      "Files of edges and features of nodes, npy or torch. KEY says what a file is of: NAME= a feature of the nodes, TYPE:NAME= of "
                                      "the nodes of a type, SOURCE:RELATION:DESTINATION= edges of that type, SOURCE:RELATION:DESTINATION:NAME= a "
                                      "feature of these. Without KEY csv, Parquet and arrays of two rows of integers are edges, other arrays features "
                                      "under the name of the file. All edges are read, so what `graph check` would find is found at once. With --src and "
                                      "--dst two columns are copied to DIR/edges/; other files stay where they are. Sets of items are arrays of one NAME each, npy or torch (seeds "
                                      "of pairs have two columns), or any SOURCE with a column of that NAME, which is copied to DIR/sets/; TYPE is of "
                                      "the nodes, or SOURCE:RELATION:DESTINATION of the pairs.",
                                      "grebe graph init data/ data/edges.csv feat=data/x.npy\n"
                                      "grebe graph init data/ likes.parquet --src user --dst item --nodes 1000\n"
                                      "grebe graph init data/ e.csv x=x.npy --train seeds=s.npy --train labels=y.npy --task num_classes=7\n"
                                      "grebe graph init data/ author:writes:paper=w.csv paper:cites:paper=c.npy paper:x=x.pt",
                                      init_options, NULL, 2, ANY_FILES, cmd_graph_init, NULL };

static const struct opt_spec preprocess_options[] = {
    { "out", "DIR", "make `preprocessed` there instead of in the data set", 0 },
    { "no-original-edge-id", NULL, "do not keep which row of its file an edge was", 0 },
    { "no-cast", NULL, "keep the integer types of the files, instead of the smallest that hold the values", 0 },
    { "dgl-edge-attr-order", NULL, "leave attributes of edges in the order of the files, as DGL does", 0 },
    { "force", NULL, "make it again even if nothing has changed", 0 },
    { "keep", NULL, "use what is there, whatever has changed", 0 },
    OPT_DURABLE("folder", "off"),
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
                                            "--threads and --memory-limit. Prints the folder.",
                                            "grebe graph preprocess data/ --memory-limit 4GiB",
                                            preprocess_options, NULL, 1, 1, cmd_graph_preprocess, NULL };

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
                                      info_options, NULL, 1, 1, cmd_graph_info, NULL };

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
                                        "edge, its number in the edge file (without original edge ids: position, where it stands in the graph); "
                                        "with --nodes one for each node in the order of the rows that training uses, "
                                        "seeds first. What is drawn depends on --seed alone, not on --threads.",
                                        "grebe graph sample data/ --seeds 0,5 --fanouts 10,5 --type paper --format csv",
                                        sample_options, NULL, 1, 1, cmd_graph_sample, NULL };

static const struct opt_spec export_options[] = {
    { "file-format", "npy|parquet|csv|jsonl|arrow", "npy (default): a data set to preprocess again; else tables", 0 },
    OPT_DURABLE("folder", "off"),
    { NULL, NULL, NULL, 0 },
};

static const struct cmd export_spec = { "graph export",
                                        "graph export DIR DEST [--file-format FORMAT]",
                                        "write a preprocessed data set as plain files",
                                        "Makes the folder DEST: metadata.yaml and npy files that DGL and `grebe graph preprocess` read, or tables in "
                                        "edges/ (source, target, edge: its number in the edge file, or where those were not kept position, attributes), nodes/, features/ (in the order of the ids) "
                                        "and sets/. Edges are in the order of the files that they came from, where that was kept. Prints the folder.",
                                        "grebe graph export data/ plain/\n"
                                        "grebe graph export data/ tables/ --file-format parquet",
                                        export_options, NULL, 2, 2, cmd_graph_export, NULL };

static const struct opt_spec verify_options[] = {
    MISMATCH_OPTION,
    { NULL, NULL, NULL, 0 },
};

static const struct cmd verify_spec = { "graph verify",
                                        "graph verify DIR",
                                        "verify a preprocessed data set",
                                        "Checksums of the graph are right, lists ascend, ids are in range, types are those of the ends of "
                                        "each edge, each row of a file of edges is there once, seeds are nodes, and every file is there "
                                        "with as many rows as it must have. What is found gives exit status 5; what cannot be opened "
                                        "its own.",
                                        "grebe graph verify data/",
                                        verify_options, NULL, 1, 1, cmd_graph_verify, NULL };

const struct cmd *const graph_list[] = { &check_spec, &init_spec, &preprocess_spec, &info_spec, &sample_spec, &export_spec, &verify_spec, NULL };
