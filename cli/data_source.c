/* SPDX-License-Identifier: Apache-2.0 */
/* What SRC of `grebe data` is, and writing DEST. */
#include "data.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "opt.h"
#include "out.h"

static bool is_kind(const char *path, mode_t kind)
{
    struct stat st;
    return stat(path, &st) == 0 && (st.st_mode & S_IFMT) == kind;
}

static bool has_file(const char *folder, const char *name)
{
    char path[4096];
    int n = snprintf(path, sizeof path, "%s/%s", folder, name);
    return n > 0 && (size_t)n < sizeof path && is_kind(path, S_IFREG);
}

static bool is_saved_folder(const char *path)
{
    return has_file(path, "state.json") || has_file(path, "dataset_dict.json");
}

bool data_is_saved(struct cli *cli, const char *uri, const char **folder, const char **split)
{
    const char *hash = strrchr(uri, '#');
    *folder = uri;
    *split = NULL;
    if (is_saved_folder(uri)) {
        return true;
    }
    if (hash == NULL) {
        return false;
    }
    char *head = cli_copy(cli, uri);
    head[hash - uri] = '\0';
    *folder = head;
    *split = hash + 1;
    return is_saved_folder(head);
}

/* ---- loading ---- */

/* Endings and the loaders behind them. */
static const struct {
    const char *ending, *format, *options;
} endings[] = {
    { ".csv", "csv", NULL },        { ".tsv", "csv", "{\"sep\": \"\\t\"}" },
    { ".json", "json", NULL },      { ".jsonl", "json", NULL },
    { ".ndjson", "json", NULL },    { ".parquet", "parquet", NULL },
    { ".arrow", "arrow", NULL },    { ".txt", "text", NULL },
    { ".tar", "webdataset", NULL }, { ".conll", "conll", NULL },
    { ".xml", "xml", NULL },
};

static const char *const formats[] = { "csv",         "json",        "parquet",    "arrow", "text", "imagefolder",
                                       "audiofolder", "videofolder", "webdataset", "conll", "xml" };

static bool is_format(const char *word)
{
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        if (strcmp(formats[i], word) == 0) {
            return true;
        }
    }
    return false;
}

/* A growing text in cli memory. */
struct text {
    struct cli *cli;
    char *data;
    size_t len, capacity;
};

static void text_put(struct text *t, const char *s, size_t n)
{
    if (t->len + n + 1 > t->capacity) {
        size_t capacity = (t->len + n + 64) * 2;
        char *grown = cli_alloc(t->cli, capacity, 1);
        memcpy(grown, t->data != NULL ? t->data : "", t->len);
        t->data = grown;
        t->capacity = capacity;
    }
    memcpy(t->data + t->len, s, n);
    t->len += n;
    t->data[t->len] = '\0';
}

static void text_add(struct text *t, const char *s)
{
    text_put(t, s, strlen(s));
}

static void text_json(struct text *t, const char *s)
{
    char escape[8];
    text_add(t, "\"");
    for (; *s != '\0'; s++) {
        unsigned char c = (unsigned char)*s;
        if (c == '"' || c == '\\' || c < 0x20) {
            snprintf(escape, sizeof escape, c < 0x20 ? "\\u%04x" : "\\%c", c);
            text_add(t, escape);
        } else {
            text_put(t, s, 1);
        }
    }
    text_add(t, "\"");
}

/* A value that JSON knows stays as it is, anything else is text. */
static bool is_json_word(const char *v)
{
    char *end = NULL;
    if (strcmp(v, "true") == 0 || strcmp(v, "false") == 0 || strcmp(v, "null") == 0 || v[0] == '[' || v[0] == '{' ||
        v[0] == '"') {
        return true;
    }
    if (strchr("-0123456789", v[0]) == NULL || v[0] == '\0' || (v[0] == '0' && v[1] >= '0' && v[1] <= '9')) {
        return false;
    }
    strtod(v, &end);
    return *end == '\0';
}

/* --option k=v … as an object, behind what the ending says. */
static int format_options(struct cli *cli, const char *given, const char **out)
{
    struct text t = { cli, NULL, 0, 0 };
    if (opt_nth(cli, "option", 0) == NULL) {
        *out = given;
        return 0;
    }
    text_add(&t, "{");
    for (size_t i = 0; opt_nth(cli, "option", i) != NULL; i++) {
        const char *pair = opt_nth(cli, "option", i), *equals = strchr(pair, '=');
        if (equals == NULL || equals == pair) {
            return out_usage(cli, "--option: expected NAME=VALUE, found %s", pair);
        }
        char *name = cli_copy(cli, pair);
        name[equals - pair] = '\0';
        text_add(&t, i > 0 ? ", " : "");
        text_json(&t, name);
        text_add(&t, ": ");
        if (is_json_word(equals + 1)) {
            text_add(&t, equals + 1);
        } else {
            text_json(&t, equals + 1);
        }
    }
    text_add(&t, "}");
    *out = t.data;
    return 0;
}

/* The content of --features. */
static int read_features(struct cli *cli, const char **out)
{
    const char *path = opt_get(cli, "features");
    struct text t = { cli, NULL, 0, 0 };
    if (path == NULL) {
        return 0;
    }
    FILE *f = fopen(path, "rb");
    if (f == NULL) {
        grebe_error err = GREBE_ERROR_INIT;
        err.status = GREBE_ENOTFOUND;
        snprintf(err.message, sizeof err.message, "%.400s: no such file", path);
        return out_error(cli, "features", &err);
    }
    char part[4096];
    size_t n;
    while ((n = fread(part, 1, sizeof part, f)) > 0) {
        text_put(&t, part, n);
    }
    fclose(f);
    *out = t.data != NULL ? t.data : "";
    return 0;
}

/* --data-files: one or more patterns, "SPLIT=PATTERN" for a split. */
static int data_files(struct cli *cli, const char **out)
{
    struct text t = { cli, NULL, 0, 0 };
    const char *first = opt_nth(cli, "data-files", 0);
    if (first == NULL) {
        return 0;
    }
    bool is_list = true, is_split = true;
    for (size_t i = 0; opt_nth(cli, "data-files", i) != NULL; i++) {
        const char *v = opt_nth(cli, "data-files", i);
        bool has_split = v[strcspn(v, "=/*?[")] == '=';
        is_list = is_list && !has_split;
        is_split = is_split && has_split;
    }
    if (!is_list && !is_split) {
        return out_usage(cli, "--data-files: a split for each (SPLIT=PATTERN), or for none");
    }
    text_add(&t, "[");
    for (size_t i = 0; opt_nth(cli, "data-files", i) != NULL; i++) {
        const char *v = opt_nth(cli, "data-files", i);
        text_add(&t, i > 0 ? ", " : "");
        if (is_split) {
            char *name = cli_copy(cli, v);
            name[strcspn(v, "=")] = '\0';
            text_add(&t, "{\"split\": ");
            text_json(&t, name);
            text_add(&t, ", \"path\": ");
            text_json(&t, strchr(v, '=') + 1);
            text_add(&t, "}");
        } else {
            text_json(&t, v);
        }
    }
    text_add(&t, "]");
    *out = t.data;
    return 0;
}

/* The loader for a file by its ending, .gz and the like left out; SIZE_MAX: none. */
static size_t ending_of(const char *path)
{
    static const char *const packed[] = { ".gz", ".zst", ".bz2", ".xz", ".lz4" };
    size_t len = strlen(path);
    for (size_t k = 0; k < sizeof packed / sizeof *packed; k++) {
        size_t n = strlen(packed[k]);
        if (len > n && strcmp(path + len - n, packed[k]) == 0) {
            len -= n;
            break;
        }
    }
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        size_t n = strlen(endings[i].ending);
        if (len > n && strncmp(path + len - n, endings[i].ending, n) == 0) {
            return i;
        }
    }
    return SIZE_MAX;
}

int data_load_options(struct cli *cli, const char *uri, grebe_load_options *o, const char **path)
{
    const char *options = NULL;
    *o = (grebe_load_options)GREBE_LOAD_OPTIONS_INIT;
    o->call = &cli->call;
    o->cache_dir = opt_get(cli, "cache-dir");
    o->config = opt_get(cli, "config");
    o->data_dir = opt_get(cli, "data-dir");
    o->split = opt_get(cli, "split");
    o->skip_verification = opt_has(cli, "no-verification");
    o->mode = opt_has(cli, "force") ? GREBE_LOAD_AGAIN : GREBE_LOAD_REUSE;
    *path = NULL;
    if (is_kind(uri, S_IFREG)) {
        size_t i = ending_of(uri);
        if (i != SIZE_MAX) {
            struct text t = { cli, NULL, 0, 0 };
            char *whole = realpath(uri, NULL);
            text_json(&t, whole != NULL ? whole : uri);
            free(whole);
            *path = endings[i].format;
            o->data_files = t.data;
            options = endings[i].options;
        }
    } else if (is_kind(uri, S_IFDIR)) {
        char meta[4096];
        snprintf(meta, sizeof meta, "%s/_metadata", uri);
        *path = is_kind(meta, S_IFDIR) ? NULL : uri; /* a table */
    } else if (is_format(uri)) {
        *path = uri;
    }
    int code = o->data_files == NULL ? data_files(cli, &o->data_files) : 0;
    code = code != 0 ? code : format_options(cli, options, &o->format_options);
    return code != 0 ? code : read_features(cli, &o->features);
}

/* ---- opening ---- */

/* Rows of a table, an array, standard input, …: through a file, since they may be more than memory. */
static int open_rows(struct cli *cli, const char *uri, struct data_source *out)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_source *source = NULL;
    struct ArrowArrayStream rows = { 0 };
    grebe_write_options write = GREBE_WRITE_OPTIONS_INIT;
    grebe_dataset *ds = NULL;
    int64_t n_rows = 0;
    const char *tmp = getenv("TMPDIR");
    int code = open_source(cli, uri, &source);
    if (code != 0) {
        return code;
    }
    snprintf(out->temp, sizeof out->temp, "%s/grebe-data-%ld.arrows", tmp != NULL && *tmp != '\0' ? tmp : "/tmp",
             (long)getpid());
    write.call = &cli->call;
    grebe_status st = grebe_source_scan(source, NULL, &rows, &err);
    st = st == GREBE_OK ? grebe_write_file(cli->ctx, out->temp, &rows, &write, false, &n_rows, &err) : st;
    const char *paths[1] = { out->temp };
    st = st == GREBE_OK ? grebe_dataset_of_files(cli->ctx, paths, 1, NULL, &ds, &err) : st;
    grebe_source_close(source);
    if (st != GREBE_OK) {
        return out_error(cli, cli->cmd->name, &err);
    }
    out->rows = ds;
    return 0;
}

int data_open(struct cli *cli, const char *uri, struct data_source *out)
{
    grebe_error err = GREBE_ERROR_INIT;
    const char *folder = NULL, *path = NULL;
    memset(out, 0, sizeof *out);
    if (data_is_saved(cli, uri, &folder, &out->split)) {
        grebe_dataset_open_options o = GREBE_DATASET_OPEN_OPTIONS_INIT;
        o.call = &cli->call;
        out->split = out->split == NULL ? opt_get(cli, "split") : out->split;
        return grebe_dataset_load_from_disk(cli->ctx, folder, &o, &out->dict, &err) == GREBE_OK
                   ? 0
                   : out_error(cli, cli->cmd->name, &err);
    }
    out->split = NULL;
    grebe_load_options o;
    int code = data_load_options(cli, uri, &o, &path);
    if (code != 0 || path == NULL) {
        return code != 0 ? code : open_rows(cli, uri, out);
    }
    return grebe_dataset_load(cli->ctx, path, &o, &out->dict, &err) == GREBE_OK ? 0
                                                                                : out_error(cli, cli->cmd->name, &err);
}

int data_one(struct cli *cli, const char *uri, const struct data_source *s, const grebe_dataset **out)
{
    char names[256] = "";
    if (s->rows != NULL) {
        *out = s->rows;
        return 0;
    }
    size_t n = grebe_dataset_dict_len(s->dict);
    for (size_t i = 0; i < n; i++) {
        const char *name = grebe_dataset_dict_name(s->dict, i);
        if (s->split == NULL ? n == 1 : strcmp(name, s->split) == 0) {
            *out = grebe_dataset_dict_get(s->dict, i);
            return 0;
        }
        if (strlen(names) + strlen(name) + 3 < sizeof names) {
            strcat(names, i > 0 ? ", " : "");
            strcat(names, name);
        }
    }
    if (s->split == NULL) {
        return out_usage(cli, "%s: expected --split, one of: %s", uri, names);
    }
    grebe_error err = GREBE_ERROR_INIT;
    err.status = GREBE_ENOTFOUND;
    snprintf(err.message, sizeof err.message, "%.200s: expected a split of: %.100s, found \"%.60s\"", uri, names, s->split);
    return out_error(cli, cli->cmd->name, &err);
}

void data_close(struct data_source *s)
{
    grebe_dataset_dict_free(s->dict);
    grebe_dataset_free(s->rows);
    s->dict = NULL;
    s->rows = NULL;
    if (s->temp[0] != '\0') {
        unlink(s->temp);
    }
}

/* ---- writing ---- */

static int save_options(struct cli *cli, grebe_save_options *o)
{
    uint64_t bytes = 0;
    *o = (grebe_save_options)GREBE_SAVE_OPTIONS_INIT;
    o->is_durable = true;
    int code = opt_int(cli, "num-shards", 1, 100000, &o->n_shards);
    code = code != 0 ? code : opt_size(cli, "max-shard-size", &bytes);
    code = code != 0 ? code : opt_durable(cli, &o->is_durable);
    o->max_shard_bytes = bytes > INT64_MAX ? INT64_MAX : (int64_t)bytes;
    o->call = &cli->call;
    if (code == 0 && o->n_shards > 0 && o->max_shard_bytes > 0) {
        code = out_usage(cli, "--num-shards and --max-shard-size: one of them");
    }
    return code;
}

static long long rows_of(const grebe_dataset *ds)
{
    grebe_dataset_info info;
    grebe_dataset_get_info(ds, &info);
    return (long long)info.n_rows;
}

int data_write(struct cli *cli, const grebe_dataset *ds, const char *dest)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_save_options o;
    int code = save_options(cli, &o);
    if (code == 0 && grebe_dataset_save_to_disk(ds, dest, &o, &err) != GREBE_OK) {
        code = out_error(cli, cli->cmd->name, &err);
    }
    if (code == 0) {
        out_note(cli, "%s: %lld rows", dest, rows_of(ds));
    }
    return code;
}

int data_write_dict(struct cli *cli, const char *const *names, const grebe_dataset *const *sets, size_t n,
                    const char *dest)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_save_options o;
    int code = save_options(cli, &o);
    if (code == 0 && grebe_dataset_save_dict(names, sets, n, dest, &o, &err) != GREBE_OK) {
        code = out_error(cli, cli->cmd->name, &err);
    }
    for (size_t i = 0; i < n && code == 0; i++) {
        out_note(cli, "%s#%s: %lld rows", dest, names[i], rows_of(sets[i]));
    }
    return code;
}

/* ---- what transforms take ---- */

int data_seed(struct cli *cli, uint32_t words[2], grebe_seed *out)
{
    int64_t seed = -1;
    int code = opt_int(cli, "seed", 0, INT64_MAX, &seed);
    words[0] = (uint32_t)(uint64_t)seed;
    words[1] = (uint32_t)((uint64_t)seed >> 32);
    *out = seed < 0 ? (grebe_seed){ NULL, 0 } : (grebe_seed){ words, words[1] != 0 ? 2 : 1 };
    return code;
}

void data_transform_options(struct cli *cli, grebe_transform_options *o)
{
    *o = (grebe_transform_options)GREBE_TRANSFORM_OPTIONS_INIT;
    o->keep_in_memory = true;
    o->ignore_cache = true;
    o->call = &cli->call;
}
