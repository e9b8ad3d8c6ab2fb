/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "opt.h"
#include "out.h"
#include "text_options.h"

struct cli_block {
    struct cli_block *next;
    max_align_t data[];
};

void *cli_alloc(struct cli *cli, size_t n, size_t size)
{
    struct cli_block *b = size > 0 && n > (SIZE_MAX / 2) / size
                              ? NULL
                              : calloc(1, sizeof *b + (n * size > 0 ? n * size : 1));
    if (b == NULL) {
        fputs("grebe: out of memory\n", stderr);
        exit(EXIT_CODE_LIMIT);
    }
    b->next = cli->blocks;
    cli->blocks = b;
    return b->data;
}

char *cli_copy(struct cli *cli, const char *text)
{
    char *copy = cli_alloc(cli, strlen(text) + 1, 1);
    strcpy(copy, text);
    return copy;
}

void cli_free_all(struct cli *cli)
{
    while (cli->blocks != NULL) {
        struct cli_block *next = cli->blocks->next;
        free(cli->blocks);
        cli->blocks = next;
    }
}

enum { READ_MAX = 1 << 30, LOOK_MS = 50 };

static int read_stdin(void *read_ctx, void *dst, size_t len, size_t *got)
{
    const struct cli *cli = read_ctx;
    struct pollfd input = { STDIN_FILENO, POLLIN, 0 };
    ssize_t n = -1;
    *got = 0;
    /* Whichever thread a signal interrupts, and even if it comes just before the wait: the token
     * is looked at again soon. */
    while (poll(&input, 1, LOOK_MS) <= 0 && !grebe_cancel_is_set(cli->cancel)) {
    }
    do {
        if (grebe_cancel_is_set(cli->cancel)) {
            return EINTR;
        }
        n = read(STDIN_FILENO, dst, len < READ_MAX ? len : READ_MAX);
    } while (n < 0 && errno == EINTR);
    if (n < 0) {
        return errno;
    }
    *got = (size_t)n;
    return 0;
}

static int table_options(struct cli *cli, grebe_table_open_options *out)
{
    int compat = 0, verify = 0;
    *out = (grebe_table_open_options)GREBE_TABLE_OPEN_OPTIONS_INIT;
    int code = opt_choice(cli, "compat", "none|milvus", &compat);
    code = code != 0 ? code : opt_choice(cli, "verify", "on|off", &verify);
    out->compat = compat;
    out->skip_checksums = verify == 1;
    out->at = opt_get(cli, "version");
    out->is_for_inspection = cli->is_for_inspection;
    return code;
}

static int open_all(struct cli *cli, char **uris, size_t n, const struct ArrowSchema *like,
                    grebe_source **out)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_table_open_options table;
    grebe_source_options o = GREBE_SOURCE_OPTIONS_INIT;
    grebe_text_options text;
    struct ArrowSchema schema = { 0 };
    int int96 = 0;
    int code = table_options(cli, &table);
    if (code != 0) {
        return code;
    }
    code = opt_choice(cli, "int96", "ns|us", &int96);
    if (code != 0) {
        return code;
    }
    o.is_int96_us = int96 == 1;
    o.format = opt_get(cli, "input-format");
    o.read = read_stdin;
    o.read_ctx = cli;
    o.table = &table;
    o.text = &text;
    o.call = &cli->call;
    code = text_options_from(cli, &text, &schema);
    if (text.schema == NULL && like != NULL && like->n_children > 0) {
        text.schema = like;
        text.is_schema_loose = true;
    }
    if (code == 0 && grebe_source_open_many(cli->ctx, (const char *const *)uris, n, &o, out, &err) !=
                         GREBE_OK) {
        code = out_error(cli, cli->cmd->name, &err);
    }
    if (schema.release != NULL) {
        schema.release(&schema);
    }
    return code;
}

int open_sources(struct cli *cli, char **uris, size_t n, grebe_source **out)
{
    return open_all(cli, uris, n, NULL, out);
}

int open_source(struct cli *cli, const char *uri, grebe_source **out)
{
    return open_source_like(cli, uri, NULL, out);
}

int open_source_like(struct cli *cli, const char *uri, const struct ArrowSchema *like,
                     grebe_source **out)
{
    char *one = cli_copy(cli, uri);
    return open_all(cli, &one, 1, like, out);
}

int open_table(struct cli *cli, const char *uri, grebe_table **out)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_table_open_options o;
    int code = table_options(cli, &o);
    if (code != 0) {
        return code;
    }
    grebe_status st = grebe_table_open(cli->ctx, uri, &o, out, &err);
    return st == GREBE_OK ? 0 : out_error(cli, cli->cmd->name, &err);
}

/* One name from *text up to ',' or the end; "quoted, with ""doubled"" quotes" or bare. */
static bool next_name(const char **text, char *dst)
{
    const char *p = *text;
    if (*p == '"') {
        for (p++;; p++) {
            if (*p == '\0') {
                return false;
            }
            if (*p == '"' && p[1] == '"') {
                p++;
            } else if (*p == '"') {
                p++;
                break;
            }
            *dst++ = *p;
        }
        if (*p != ',' && *p != '\0') {
            return false;
        }
    } else {
        while (*p != ',' && *p != '\0') {
            *dst++ = *p++;
        }
    }
    *dst = '\0';
    *text = p;
    return true;
}

int split_words(struct cli *cli, const char *text, const char ***out, size_t *n)
{
    size_t max = 1, count = 0;
    for (const char *p = text; *p != '\0'; p++) {
        max += *p == ',';
    }
    const char **words = cli_alloc(cli, max, sizeof *words);
    for (const char *p = text;; p++) {
        char *word = cli_alloc(cli, strlen(p) + 1, 1);
        if (!next_name(&p, word)) {
            return out_usage(cli, "expected texts separated by commas, found \"%s\"", text);
        }
        words[count++] = word;
        if (*p == '\0') {
            break;
        }
    }
    *out = words;
    *n = count;
    return 0;
}

int split_names(struct cli *cli, const char *text, const char ***out, size_t *n)
{
    size_t max = 1;
    for (const char *p = text; *p != '\0'; p++) {
        max += *p == ',';
    }
    const char **names = cli_alloc(cli, max, sizeof *names);
    size_t count = 0;
    for (const char *p = text;;) {
        char *name = cli_alloc(cli, strlen(p) + 1, 1);
        if (!next_name(&p, name)) {
            return out_usage(cli, "expected names separated by commas, found \"%s\"", text);
        }
        if (name[0] == '\0' && text[0] != '"') {
            return out_usage(cli, "empty name in \"%s\"", text);
        }
        names[count++] = name;
        if (*p == '\0') {
            break;
        }
        p++;
    }
    *out = names;
    *n = count;
    return 0;
}

int scan_options_from(struct cli *cli, grebe_scan_options *out)
{
    *out = (grebe_scan_options)GREBE_SCAN_OPTIONS_INIT;
    int code = 0;
    if (opt_has(cli, "columns")) {
        const char **names = NULL;
        code = split_names(cli, opt_get(cli, "columns"), &names, &out->n_columns);
        out->columns = names;
    }
    out->where = opt_get(cli, "where");
    out->with_row_id = opt_has(cli, "with-row-id");
    out->call = &cli->call;
    code = code != 0 ? code : opt_range(cli, "rows", &out->row_begin, &out->row_end);
    code = code != 0 ? code : opt_int(cli, "limit", 0, INT64_MAX, &out->limit);
    code = code != 0 ? code : opt_int(cli, "batch-rows", 1, INT64_MAX, &out->batch_rows);
    return code;
}

static int parse_compression(struct cli *cli, grebe_write_options *out)
{
    const char *text = opt_get(cli, "compression");
    if (text == NULL) {
        return 0;
    }
    char *name = cli_copy(cli, text);
    char *colon = strchr(name, ':');
    if (colon != NULL) {
        char *end = NULL;
        errno = 0;
        long level = strtol(colon + 1, &end, 10);
        if (errno != 0 || end == colon + 1 || *end != '\0' || level < -1000 || level > 1000) {
            return out_usage(cli, "--compression: expected a level after ':', found \"%s\"", text);
        }
        *colon = '\0';
        out->compression_level = (int32_t)level;
    }
    out->compression = name;
    return 0;
}

/* COL=TYPE, the first '=' between them; "odd=name"=TYPE. */
static bool split_cast(char *text, grebe_column_cast *out)
{
    char *end = text[0] == '"' ? strchr(text + 1, '"') : strchr(text, '=');
    char *type = end != NULL && text[0] == '"' ? end + 1 : end;
    if (type == NULL || *type != '=' || end == text) {
        return false;
    }
    *end = '\0';
    *out = (grebe_column_cast){ text[0] == '"' ? text + 1 : text, type + 1 };
    return true;
}

int scan_rows(struct cli *cli, grebe_source *source, const grebe_scan_options *options,
              struct ArrowArrayStream *out)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct ArrowArrayStream rows = { 0 };
    size_t n = 0;
    while (opt_nth(cli, "cast", n) != NULL) {
        n++;
    }
    grebe_column_cast *casts = cli_alloc(cli, n + 1, sizeof *casts);
    for (size_t i = 0; i < n; i++) {
        if (!split_cast(cli_copy(cli, opt_nth(cli, "cast", i)), &casts[i])) {
            return out_usage(cli, "--cast: expected COL=TYPE, found \"%s\"", opt_nth(cli, "cast", i));
        }
    }
    grebe_status st = grebe_source_scan(source, options, n > 0 ? &rows : out, &err);
    if (st == GREBE_OK && n > 0) {
        st = grebe_rows_cast(cli->ctx, &rows, casts, n, out, &err);
    }
    if (rows.release != NULL) {
        rows.release(&rows);
    }
    return st == GREBE_OK ? 0 : out_error(cli, cli->cmd->name, &err);
}

/* "COL=ENC", or "ENC" for every column that it fits. */
static int parse_encodings(struct cli *cli, grebe_write_options *out)
{
    size_t n = 0;
    while (opt_nth(cli, "column-encoding", n) != NULL) {
        n++;
    }
    grebe_column_encoding *list = cli_alloc(cli, n + 1, sizeof *list);
    for (size_t i = 0; i < n; i++) {
        char *text = cli_copy(cli, opt_nth(cli, "column-encoding", i));
        char *equals = strrchr(text, '=');
        list[i] = (grebe_column_encoding){ NULL, text };
        if (equals != NULL) {
            *equals = '\0';
            list[i] = (grebe_column_encoding){ text, equals + 1 };
        }
    }
    out->encodings = list;
    out->n_encodings = n;
    return 0;
}

static int parse_left_out(struct cli *cli, grebe_write_options *out)
{
    const char **names = NULL;
    size_t n = 0;
    if (opt_get(cli, "leave-out") == NULL) {
        return 0;
    }
    int code = split_names(cli, opt_get(cli, "leave-out"), &names, &n);
    for (size_t i = 0; i < n && code == 0; i++) {
        if (strcmp(names[i], "statistics") == 0) {
            out->is_without_statistics = true;
        } else if (strcmp(names[i], "page-index") == 0) {
            out->is_without_page_index = true;
        } else if (strcmp(names[i], "checksums") == 0) {
            out->is_without_checksums = true;
        } else {
            code = out_usage(cli, "--leave-out: expected statistics, page-index or checksums, found \"%s\"",
                             names[i]);
        }
    }
    return code;
}

static int parse_bloom(struct cli *cli, grebe_write_options *out)
{
    const char *rate = opt_get(cli, "bloom-rate");
    const char **names = NULL;
    int code = 0;
    if (opt_get(cli, "bloom") != NULL) {
        code = split_names(cli, opt_get(cli, "bloom"), &names, &out->n_bloom_columns);
        out->bloom_columns = names;
    }
    if (code == 0 && rate != NULL) {
        char *end = NULL;
        out->bloom_rate = strtod(rate, &end);
        if (end == rate || *end != '\0' || !(out->bloom_rate > 0 && out->bloom_rate < 1)) {
            return out_usage(cli, "--bloom-rate: expected a number between 0 and 1, found \"%s\"", rate);
        }
    }
    return code;
}

/* What the writer of Parquet files leaves to the user. */
static int parquet_options_from(struct cli *cli, grebe_write_options *out)
{
    uint64_t page_bytes = 0;
    int64_t version = 0;
    int code = parse_encodings(cli, out);
    code = code != 0 ? code : parse_bloom(cli, out);
    code = code != 0 ? code : parse_left_out(cli, out);
    code = code != 0 ? code : opt_size(cli, "page-bytes", &page_bytes);
    code = code != 0 ? code : opt_int(cli, "page-rows", 1, INT32_MAX, &out->page_rows);
    code = code != 0 ? code : opt_int(cli, "data-page-version", 1, 2, &version);
    out->page_bytes = page_bytes > INT64_MAX ? INT64_MAX : (int64_t)page_bytes;
    out->data_page_version = (int32_t)version;
    return code;
}

/* "a, b,c": items between commas without the blanks around them; cli_alloc'd. */
static const char *const *split_list(struct cli *cli, const char *text, size_t *n)
{
    *n = 0;
    if (text == NULL) {
        return NULL;
    }
    char *copy = cli_copy(cli, text);
    const char **items = cli_alloc(cli, strlen(text) + 1, sizeof *items);
    for (char *p = copy; *p != '\0';) {
        size_t len = strcspn(p, ",");
        char *end = p + len;
        char *next = *end == ',' ? end + 1 : end;
        while (p < end && *p == ' ') {
            p++;
        }
        while (end > p && end[-1] == ' ') {
            end--;
        }
        *end = '\0';
        if (end > p) {
            items[(*n)++] = p;
        }
        p = next;
    }
    return items;
}

static int parse_properties(struct cli *cli, grebe_write_options *out)
{
    size_t n = 0;
    while (opt_nth(cli, "property", n) != NULL) {
        n++;
    }
    grebe_property *properties = cli_alloc(cli, n + 1, sizeof *properties);
    for (size_t i = 0; i < n; i++) {
        char *key = cli_copy(cli, opt_nth(cli, "property", i));
        char *equals = strchr(key, '=');
        if (equals == NULL || equals == key) {
            return out_usage(cli, "--property: expected KEY=VALUE, found \"%s\"", key);
        }
        *equals = '\0';
        properties[i] = (grebe_property){ key, equals + 1 };
    }
    out->properties = properties;
    out->n_properties = n;
    return 0;
}

static int parse_policy(struct cli *cli, grebe_write_options *out)
{
    int policy = -1;
    uint64_t column_bytes = 0, file_bytes = 0;
    int code = opt_choice(cli, "policy", "single|schema_based|size_based", &policy);
    code = code != 0 ? code : opt_size(cli, "max-column-bytes", &column_bytes);
    code = code != 0 ? code : opt_size(cli, "file-bytes", &file_bytes);
    code = code != 0 ? code : opt_int(cli, "max-columns-in-group", 0, INT64_MAX, &out->max_columns_in_group);
    if (code == 0 && opt_has(cli, "file-bytes") && file_bytes == 0) {
        code = out_usage(cli, "--file-bytes: expected a size above 0");
    }
    out->policy = policy + 1; /* grebe_policy: 0 is ours */
    out->policy_patterns = split_list(cli, opt_get(cli, "policy-patterns"), &out->n_policy_patterns);
    out->policy_formats = split_list(cli, opt_get(cli, "policy-formats"), &out->n_policy_formats);
    out->max_column_bytes = column_bytes > INT64_MAX ? INT64_MAX : (int64_t)column_bytes;
    out->file_bytes = file_bytes > INT64_MAX ? INT64_MAX : (int64_t)file_bytes;
    return code != 0 ? code : parse_properties(cli, out);
}

int write_options_from(struct cli *cli, grebe_write_options *out)
{
    *out = (grebe_write_options)GREBE_WRITE_OPTIONS_INIT;
    int profile = GREBE_PROFILE_OPEN;
    uint64_t row_group_bytes = 0;
    size_t n_groups = 0;
    int code = opt_choice(cli, "profile", "open|milvus", &profile);
    code = code != 0 ? code : parse_compression(cli, out);
    code = code != 0 ? code : opt_size(cli, "row-group-bytes", &row_group_bytes);
    code = code != 0 ? code : opt_int(cli, "row-group-rows", 1, INT64_MAX, &out->row_group_rows);
    code = code != 0 ? code : parquet_options_from(cli, out);
    code = code != 0 ? code : parse_policy(cli, out);
    if (code != 0) {
        return code;
    }
    out->profile = profile;
    out->file_format = opt_get(cli, "file-format");
    out->row_group_bytes = row_group_bytes > INT64_MAX ? INT64_MAX : (int64_t)row_group_bytes;
    out->call = &cli->call;
    while (opt_nth(cli, "group", n_groups) != NULL) {
        n_groups++;
    }
    grebe_group_spec *groups = cli_alloc(cli, n_groups + 1, sizeof *groups);
    for (size_t i = 0; i < n_groups; i++) {
        const char **names = NULL;
        code = split_names(cli, opt_nth(cli, "group", i), &names, &groups[i].n_columns);
        if (code != 0) {
            return code;
        }
        groups[i].columns = names;
    }
    out->groups = groups;
    out->n_groups = n_groups;
    return 0;
}

int txn_options_from(struct cli *cli, grebe_txn_options *out)
{
    *out = (grebe_txn_options)GREBE_TXN_OPTIONS_INIT;
    int strategy = GREBE_ON_CONFLICT_REBASE, profile = GREBE_PROFILE_OPEN;
    bool is_durable = true;
    int code = opt_choice(cli, "on-conflict", "rebase|fail|overwrite", &strategy);
    code = code != 0 ? code : opt_durable(cli, &is_durable);
    code = code != 0 ? code : opt_choice(cli, "profile", "open|milvus", &profile);
    out->on_conflict = strategy;
    out->is_not_durable = !is_durable;
    out->profile = profile;
    out->message = opt_get(cli, "message");
    return code;
}

void report_table(struct cli *cli, const grebe_table *table)
{
    grebe_table_info *info = NULL;
    char size[16];
    if (cli->is_quiet || grebe_table_info_get(table, &info, NULL) != GREBE_OK) {
        return;
    }
    out_note(cli, "%s: version %lld, %lld rows, %zu column group%s, %s", grebe_table_path(table),
             (long long)info->version, (long long)info->n_rows, info->n_groups,
             info->n_groups == 1 ? "" : "s", size_text(size, info->data_bytes));
    grebe_table_info_free(info);
}
