/* SPDX-License-Identifier: Apache-2.0 */
/* The sub-commands of `grebe vdb`, once: help and completions are made from this table. */
#include "vdb.h"

#include <string.h>

#include "out.h"

const struct vdb_option vdb_globals[] = {
    { "db", VDB_TEXT, "PATH", "the repository (default: GIT_VDB_REPO, else .git-vdb)" },
    { "repo", VDB_TEXT, "PATH", NULL },
    { "format", VDB_TEXT, "FORM", "json (the default), pretty or jsonl; rows: table, csv or arrow" },
    { NULL, VDB_FLAG, NULL, NULL },
};

#define AT { "at", VDB_TEXT, "REV", "read an older version: any git revision" }
#define FILTER { "filter", VDB_TEXT, "JSON", "which points: JSON, a file with it, or - for standard input" }, \
               { "lenient", VDB_FLAG, NULL, "conditions that mean nothing match everything, as in git-vdb 0.4, instead of being errors" }
#define WITH { "with-payload", VDB_FLAG, NULL, "give payloads" }, { "with-vector", VDB_FLAG, NULL, "give vectors" }, \
             { "fields", VDB_TEXT, "A,B.C", "only these members of payloads (implies --with-payload)" }
#define EXPECT { "expect-root", VDB_TEXT, "HEX", "fail unless this is the root" }
#define END { NULL, VDB_FLAG, NULL, NULL }

static const struct vdb_option none[] = { END };
static const struct vdb_option init_options[] = { { "bare", VDB_FLAG, NULL, "without a work tree" }, END };
static const struct vdb_option create_options[] = {
    { "dimension", VDB_NUMBER, "N", "components of each vector" },
    { "distance", VDB_TEXT, "cosine", "the only one" },
    { "vector-space", VDB_TEXT, "NAME", "a name for what made the vectors" },
    { "full-scan-threshold", VDB_NUMBER, "N", "searches are exact up to so many points (default 1000)" },
    { "default-probes", VDB_NUMBER, "N", "centroids that a search looks at (default 96)" },
    { "default-candidate-limit", VDB_NUMBER, "N", "points that a search scores (default 10000)" },
    END
};
static const struct vdb_option at_options[] = { AT, END };
static const struct vdb_option upsert_options[] = {
    { "input", VDB_TEXT, "FILE", NULL },
    { "id", VDB_TEXT, "ID", "one point: its id, JSON or a plain word" },
    { "vector", VDB_TEXT, "V", "one point: its vector, 0.1,0.2 or JSON or a file" },
    { "payload", VDB_TEXT, "JSON", "one point: its payload" },
    EXPECT,
    { "batch-size", VDB_NUMBER, "N", "points of one commit (default 1000)" },
    { "progress", VDB_FLAG, NULL, "report batches on standard error" },
    END
};
static const struct vdb_option import_options[] = {
    { "input-format", VDB_TEXT, "FORMAT", "csv, tsv, json, jsonl, arrow or parquet (default: by content and name; - is jsonl)" },
    { "id-column", VDB_TEXT, "NAME", "the column of ids (default id)" },
    { "vector-column", VDB_TEXT, "NAME", "the column of vectors (default vector)" },
    { "single-commit", VDB_FLAG, NULL, "all points in one commit" },
    { "batch-size", VDB_NUMBER, "N", "points of one commit (default 1000)" },
    EXPECT,
    { "progress", VDB_FLAG, NULL, "report batches on standard error" },
    END
};
static const struct vdb_option get_options[] = {
    { "ids", VDB_MANY, "ID…", "these points" }, FILTER,
    { "offset", VDB_NUMBER, "N", "pass over the first N" }, { "limit", VDB_NUMBER, "N", "at most N" }, WITH, AT, END
};
static const struct vdb_option delete_options[] = { { "ids", VDB_MANY, "ID…", "these points" }, FILTER, EXPECT, END };
static const struct vdb_option count_options[] = { { "ids", VDB_MANY, "ID…", "these points" }, FILTER, AT, END };
static const struct vdb_option export_options[] = { FILTER, AT, END };
static const struct vdb_option copy_options[] = { { "at", VDB_TEXT, "REV", "an older version instead of the newest" }, END };
static const struct vdb_option search_options[] = {
    { "vector", VDB_TEXT, "V", "what to look for: 0.1,0.2 or JSON or a file" },
    { "text", VDB_TEXT, "TEXT", NULL },
    { "id", VDB_TEXT, "ID", "look for what is near this point" },
    { "queries", VDB_TEXT, "FILE", "many vectors, one a line: [0.1,0.2], {\"vector\":[…]} or 0.1,0.2; - for standard input" },
    { "limit", VDB_NUMBER, "N", "nearest points (default 10)" }, FILTER,
    { "exact", VDB_FLAG, NULL, "compare with every point" },
    { "approximate", VDB_FLAG, NULL, "look through the index" },
    { "probes", VDB_NUMBER, "N", "centroids looked at (0: the collection's)" },
    { "candidate-limit", VDB_NUMBER, "N", "points scored (0: the collection's)" }, WITH,
    { "expected-vector-space", VDB_TEXT, "NAME", "fail unless the collection has it" }, AT, END
};
static const struct vdb_option index_options[] = { { "chunk-chars", VDB_NUMBER, "N", NULL }, END };
static const struct vdb_option history_options[] = { { "limit", VDB_NUMBER, "N", "at most N commits (default 20)" }, END };
static const struct vdb_option validate_options[] = {
    AT, { "full", VDB_FLAG, NULL, "compute the index anew and compare" },
    { "all", VDB_FLAG, NULL, "list every problem, not the first only" }, END
};
static const struct vdb_option merge_options[] = {
    { "prefer", VDB_TEXT, "ours|theirs", "who wins where both sides changed a point (default: conflicts are listed, nothing is written)" }, END
};
static const struct vdb_option gc_options[] = {
    { "grace", VDB_NUMBER, "SECONDS", "keep unreachable objects younger than this (default two weeks)" }, END
};

const struct vdb_command vdb_commands[] = {
    { NULL, "init", NULL, "REPO", "make a repository", 1, 1, GREBE_VDB_EXISTING, true, false, init_options, vdb_run_init },
    { "collection", "create", NULL, "NAME", "make an empty collection", 1, 1, GREBE_VDB_CREATE, true, false, create_options, vdb_run_collection_create },
    { "collection", "list", NULL, "", "list the collections", 0, 0, GREBE_VDB_EXISTING, false, false, none, vdb_run_collection_list },
    { "collection", "info", NULL, "NAME", "show one collection", 1, 1, GREBE_VDB_EXISTING, false, false, at_options, vdb_run_collection_info },
    { "collection", "delete", NULL, "NAME", "remove a collection", 1, 1, GREBE_VDB_CREATE, false, false, none, vdb_run_collection_delete },
    { NULL, "upsert", NULL, "NAME [FILE]", "insert or replace points from lines of JSON", 1, 2, GREBE_VDB_CREATE, true, false, upsert_options, vdb_run_upsert },
    { NULL, "get", NULL, "NAME", "read points by id or filter", 1, 1, GREBE_VDB_EXISTING, false, false, get_options, vdb_run_get },
    { NULL, "delete", NULL, "NAME", "delete points by id or filter", 1, 1, GREBE_VDB_CREATE, true, false, delete_options, vdb_run_delete },
    { NULL, "count", NULL, "NAME", "count points", 1, 1, GREBE_VDB_EXISTING, false, false, count_options, vdb_run_count },
    { NULL, "search", "query", "NAME", "find the nearest points", 1, 1, GREBE_VDB_EXISTING, false, false, search_options, vdb_run_search },
    { NULL, "index", NULL, "NAME PATH…", "index text files (needs an embedding; not built in)", 2, 99, GREBE_VDB_CREATE, false, false, index_options, vdb_run_index },
    { NULL, "history", NULL, "NAME", "list the commits of a collection", 1, 1, GREBE_VDB_EXISTING, false, false, history_options, vdb_run_history },
    { NULL, "restore", NULL, "NAME REV", "make an older version the newest", 2, 2, GREBE_VDB_CREATE, false, false, none, vdb_run_restore },
    { NULL, "push", NULL, "NAME [REMOTE]", "send a collection to a remote", 1, 2, GREBE_VDB_EXISTING, false, false, none, vdb_run_push },
    { NULL, "pull", NULL, "NAME [REMOTE]", "fast-forward a collection from a remote", 1, 2, GREBE_VDB_CREATE, false, false, none, vdb_run_pull },
    { NULL, "diff", NULL, "NAME LEFT RIGHT", "compare two revisions", 3, 3, GREBE_VDB_EXISTING, false, false, none, vdb_run_diff },
    { NULL, "validate", NULL, "NAME", "check a collection", 1, 1, GREBE_VDB_EXISTING, false, false, validate_options, vdb_run_validate },
    { NULL, "doctor", NULL, "", "check every collection", 0, 0, GREBE_VDB_EXISTING, false, false, none, vdb_run_doctor },
    { NULL, "completions", NULL, "SHELL", "print completions for bash, elvish, fish, powershell or zsh", 1, 1, GREBE_VDB_EXISTING, true, false, none, vdb_run_completions },
    { NULL, "import", NULL, "NAME SOURCE…", "insert points from lines of JSON, Parquet, a table or any other source", 2, 99, GREBE_VDB_CREATE, true, true, import_options, vdb_run_import },
    { NULL, "export", NULL, "NAME", "print points as lines of JSON (or as rows: --format)", 1, 1, GREBE_VDB_EXISTING, false, true, export_options, vdb_run_export },
    { NULL, "copy", NULL, "NAME NEW", "a second name for the same version, or an older one", 2, 2, GREBE_VDB_EXISTING, false, true, copy_options, vdb_run_copy },
    { NULL, "rename", NULL, "NAME NEW", "give a collection another name", 2, 2, GREBE_VDB_EXISTING, false, true, none, vdb_run_rename },
    { NULL, "merge", NULL, "NAME REV", "take what changed in another revision or collection, point by point", 2, 2, GREBE_VDB_EXISTING, false, true, merge_options, vdb_run_merge },
    { NULL, "stats", NULL, "NAME", "count points, shards, objects and bytes", 1, 1, GREBE_VDB_EXISTING, false, true, at_options, vdb_run_stats },
    { NULL, "gc", NULL, "", "pack the repository and drop what nothing refers to", 0, 0, GREBE_VDB_EXISTING, false, true, gc_options, vdb_run_gc },
    { NULL, NULL, NULL, NULL, NULL, 0, 0, GREBE_VDB_EXISTING, false, false, NULL, NULL },
};

/* ---- help ---- */

/* Two columns; the left one is as wide in characters, not bytes. */
static void print_pair(FILE *f, const char *left, int width, const char *right)
{
    int n = 0;
    for (const char *c = left; *c != '\0'; c++) {
        n += (*c & 0xc0) != 0x80;
    }
    fprintf(f, "  %s%*s %s\n", left, n < width ? width - n : 0, "", right);
}

static void print_options(const struct vdb_option *options)
{
    for (const struct vdb_option *o = options; o->name != NULL; o++) {
        if (o->help != NULL) {
            char left[96];
            snprintf(left, sizeof left, "--%s%s%s", o->name, o->arg != NULL ? " " : "", o->arg != NULL ? o->arg : "");
            print_pair(stdout, left, 30, o->help);
        }
    }
}

void vdb_usage_line(const struct vdb_command *c, FILE *f)
{
    fprintf(f, "%s%s%s%s%s [options]\n", c->group != NULL ? c->group : "", c->group != NULL ? " " : "", c->name,
            c->usage[0] != '\0' ? " " : "", c->usage);
}

void vdb_help(const struct vdb_command *c)
{
    out_printf("%s\n\nusage: grebe vdb ", c->summary);
    vdb_usage_line(c, stdout);
    out_printf("\noptions\n");
    print_options(c->options);
    print_options(vdb_globals);
}

void vdb_overview(const char *group, FILE *f)
{
    fprintf(f, "grebe vdb: vector collections as Git trees, compatible with git-vdb 0.4\n\n"
               "usage: grebe vdb [--db PATH] [--format json|pretty|jsonl|table|csv|arrow] COMMAND …\n\n");
    for (const struct vdb_command *c = vdb_commands; c->name != NULL; c++) {
        bool is_shown = group == NULL || (c->group != NULL && strcmp(c->group, group) == 0);
        if (is_shown) {
            char left[64];
            snprintf(left, sizeof left, "%s%s%s %s", c->group != NULL ? c->group : "", c->group != NULL ? " " : "", c->name,
                     c->usage);
            print_pair(f, left, 28, c->summary);
        }
    }
    fprintf(f, "\ngrebe vdb COMMAND --help shows the options of one.\n");
}

/* ---- the man page ---- */

void vdb_man(void)
{
    out_printf("\n.SH SUB\\-COMMANDS\n");
    for (const struct vdb_command *c = vdb_commands; c->name != NULL; c++) {
        out_printf(".SS ");
        man_text(c->group != NULL ? c->group : "");
        man_text(c->group != NULL ? " " : "");
        man_text(c->name);
        man_text(" ");
        man_text(c->usage);
        out_printf("\n");
        man_text(c->summary);
        man_text(c->is_ours ? " (not in git-vdb)" : "");
        out_printf("\n");
        for (const struct vdb_option *o = c->options; o->name != NULL; o++) {
            if (o->help != NULL) {
                out_printf(".TP\n");
                man_option(o->name, o->arg, o->help);
            }
        }
    }
    out_printf(".SH OPTIONS OF ALL\n");
    for (const struct vdb_option *o = vdb_globals; o->name != NULL; o++) {
        if (o->help != NULL) {
            out_printf(".TP\n");
            man_option(o->name, o->arg, o->help);
        }
    }
    out_printf(".SH ENVIRONMENT\n.TP\n.B GIT_VDB_REPO\nas \\-\\-db\n");
}
