/* SPDX-License-Identifier: Apache-2.0 */
/* `grebe data stream`: rows as they come, from a place on, and where they stopped. */
#include "data.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opt.h"
#include "out.h"

/* ---- the stream that is read ---- */

/* One stream of several, by name; keeps it. */
static int choose_stream(struct cli *cli, const char *uri, const grebe_iterable_dict *dict, grebe_iterable **out)
{
    size_t n = grebe_iterable_dict_len(dict);
    if (n != 1) {
        char names[256] = "";
        for (size_t i = 0; i < n; i++) {
            const char *name = grebe_iterable_dict_name(dict, i);
            if (strlen(names) + strlen(name) + 3 < sizeof names) {
                strcat(names, i > 0 ? ", " : "");
                strcat(names, name);
            }
        }
        return out_usage(cli, "%s: expected --split, one of: %s", uri, names);
    }
    *out = grebe_iterable_keep(grebe_iterable_dict_get(dict, 0));
    return 0;
}

static int open_stream(struct cli *cli, struct data_source *s, grebe_iterable **out)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_load_options o;
    const char *uri = cli->positional[0], *path = NULL, *folder = NULL, *split = NULL;
    int64_t n_shards = 1;
    int code = opt_int(cli, "shards", 1, INT64_MAX, &n_shards);
    code = code != 0 ? code : data_load_options(cli, uri, &o, &path);
    if (code == 0 && path != NULL && !data_is_saved(cli, uri, &folder, &split)) {
        grebe_iterable_dict *dict = NULL;
        if (grebe_iterable_load(cli->ctx, path, &o, &dict, &err) != GREBE_OK) {
            return out_error(cli, "data stream", &err);
        }
        code = choose_stream(cli, uri, dict, out);
        grebe_iterable_dict_free(dict);
        return code;
    }
    const grebe_dataset *ds = NULL;
    code = code != 0 ? code : data_open(cli, uri, s);
    code = code != 0 ? code : data_one(cli, uri, s, &ds);
    if (code == 0 && grebe_iterable_of_dataset(ds, n_shards, out, &err) != GREBE_OK) {
        code = out_error(cli, "data stream", &err);
    }
    return code;
}

/* *it becomes the next one. */
static void step(grebe_iterable **it, grebe_status *st, grebe_status made, grebe_iterable *next)
{
    *st = made;
    if (made == GREBE_OK) {
        grebe_iterable_free(*it);
        *it = next;
    }
}

struct stream_steps {
    int64_t buffer, groups, skip, take, epoch, repeat;
    grebe_seed seed;
    uint32_t words[2];
};

static int steps_from(struct cli *cli, struct stream_steps *s)
{
    *s = (struct stream_steps){ .take = -1, .repeat = 1 };
    int code = opt_int(cli, "shuffle-buffer", 1, INT64_MAX, &s->buffer);
    code = code != 0 ? code : opt_int(cli, "max-input-shards", 1, INT64_MAX, &s->groups);
    code = code != 0 ? code : opt_int(cli, "skip", 0, INT64_MAX, &s->skip);
    code = code != 0 ? code : opt_int(cli, "take", 0, INT64_MAX, &s->take);
    code = code != 0 ? code : opt_int(cli, "epoch", 0, INT64_MAX, &s->epoch);
    code = code != 0 ? code : opt_int(cli, "repeat", 1, INT64_MAX, &s->repeat);
    code = code != 0 ? code : data_seed(cli, s->words, &s->seed);
    if (code == 0 && s->buffer == 0 && (s->seed.n > 0 || s->groups > 0)) {
        code = out_usage(cli, "--seed and --max-input-shards: with --shuffle-buffer");
    }
    if (code == 0 && s->buffer > 0 && s->seed.n == 0 && (opt_has(cli, "state") || opt_has(cli, "save-state"))) {
        code = out_usage(cli, "--state and --save-state: a shuffle needs --seed, to be the same the next time");
    }
    return code;
}

/* In this order: columns, where, shuffle, skip, take, repeat, epoch. */
static int add_steps(struct cli *cli, grebe_iterable **it)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct stream_steps s;
    const char **columns = NULL;
    size_t n = 0;
    grebe_status st = GREBE_OK;
    grebe_iterable *next = NULL;
    int code = steps_from(cli, &s);
    if (code == 0 && opt_has(cli, "columns")) {
        code = split_names(cli, opt_get(cli, "columns"), &columns, &n);
    }
    if (code != 0) {
        return code;
    }
    if (opt_has(cli, "where")) {
        st = grebe_iterable_filter(*it, opt_get(cli, "where"), &next, &err);
        step(it, &st, st, next);
    }
    if (st == GREBE_OK && columns != NULL) {
        st = grebe_iterable_select_columns(*it, columns, n, &next, &err);
        step(it, &st, st, next);
    }
    if (st == GREBE_OK && s.buffer > 0) {
        grebe_iterable_shuffle_options o = GREBE_ITERABLE_SHUFFLE_OPTIONS_INIT;
        o.seed = s.seed;
        o.buffer_rows = s.buffer;
        o.max_input_shards = s.groups;
        st = grebe_iterable_shuffle(*it, &o, &next, &err);
        step(it, &st, st, next);
    }
    if (st == GREBE_OK && s.skip > 0) {
        st = grebe_iterable_skip(*it, s.skip, &next, &err);
        step(it, &st, st, next);
    }
    if (st == GREBE_OK && s.take >= 0) {
        st = grebe_iterable_take(*it, s.take, &next, &err);
        step(it, &st, st, next);
    }
    if (st == GREBE_OK && s.repeat > 1) {
        st = grebe_iterable_repeat(*it, s.repeat, &next, &err);
        step(it, &st, st, next);
    }
    if (st == GREBE_OK && s.epoch > 0) {
        st = grebe_iterable_set_epoch(*it, s.epoch, &next, &err);
        step(it, &st, st, next);
    }
    return st == GREBE_OK ? 0 : out_error(cli, "data stream", &err);
}

/* ---- states ---- */

/* The content of a file; NULL: a message was printed. */
static char *read_state(struct cli *cli, const char *path, int *code)
{
    grebe_error err = GREBE_ERROR_INIT;
    FILE *f = fopen(path, "rb");
    size_t capacity = 4096, len = 0, n = 0;
    char *text = malloc(capacity);
    while (f != NULL && text != NULL && (n = fread(text + len, 1, capacity - len - 1, f)) > 0) {
        len += n;
        if (len + 1 == capacity) {
            char *grown = realloc(text, capacity *= 2);
            if (grown == NULL) {
                free(text);
            }
            text = grown;
        }
    }
    if (f == NULL || text == NULL) {
        err.status = text == NULL ? GREBE_ENOMEM : errno == ENOENT ? GREBE_ENOTFOUND : GREBE_EIO;
        snprintf(err.message, sizeof err.message, "%.400s: %s", path, text == NULL ? "no memory" : strerror(errno));
        *code = out_error(cli, "data stream", &err);
        free(text);
        text = NULL;
    } else {
        text[len] = '\0';
    }
    if (f != NULL) {
        fclose(f);
    }
    return text;
}

static int write_file(void *f, const void *bytes, size_t len)
{
    return fwrite(bytes, 1, len, f) == len ? 0 : errno;
}

/* Beside the file first: an old state is replaced by a whole new one. */
static int save_state(struct cli *cli, const grebe_iterator *iter, const char *path)
{
    grebe_error err = GREBE_ERROR_INIT;
    char *temp = cli_alloc(cli, strlen(path) + 8, 1);
    sprintf(temp, "%s.new", path);
    FILE *f = fopen(temp, "wb");
    grebe_status st = GREBE_EIO;
    if (f == NULL) {
        err.status = GREBE_EIO;
        snprintf(err.message, sizeof err.message, "%.400s: %s", temp, strerror(errno));
        return out_error(cli, "data stream", &err);
    }
    st = grebe_iterator_state(iter, 0, write_file, f, &err);
    fputc('\n', f);
    if ((fclose(f) != 0 || rename(temp, path) != 0) && st == GREBE_OK) {
        st = err.status = GREBE_EIO;
        snprintf(err.message, sizeof err.message, "%.400s: %s", path, strerror(errno));
    }
    if (st != GREBE_OK) {
        remove(temp);
    }
    return st == GREBE_OK ? 0 : out_error(cli, "data stream", &err);
}

/* Rows printed, and where they stopped. */
static int print_rows(struct cli *cli, const grebe_iterable *it, const char *state, int64_t limit)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_iterator *iter = NULL;
    struct ArrowArrayStream rows = { 0 };
    enum { BATCH_ROWS = 1000 };
    int code = 0;
    if (grebe_iterator_new(it, state, &cli->call, &iter, &err) != GREBE_OK ||
        grebe_iterator_scan(iter, BATCH_ROWS, limit, &rows, &err) != GREBE_OK) {
        code = out_error(cli, "data stream", &err);
    }
    code = code != 0 ? code : out_rows(cli, &rows);
    if (rows.release != NULL) {
        rows.release(&rows);
    }
    if (code == 0 && opt_has(cli, "save-state")) {
        code = save_state(cli, iter, opt_get(cli, "save-state"));
    }
    grebe_iterator_free(iter);
    return code;
}

int cmd_data_stream(struct cli *cli)
{
    struct data_source s = { 0 };
    grebe_iterable *it = NULL;
    char *state = NULL;
    int64_t limit = -1;
    int code = opt_int(cli, "limit", 0, INT64_MAX, &limit);
    if (code == 0 && opt_has(cli, "state")) {
        state = read_state(cli, opt_get(cli, "state"), &code);
    }
    code = code != 0 ? code : open_stream(cli, &s, &it);
    code = code != 0 ? code : add_steps(cli, &it);
    code = code != 0 ? code : print_rows(cli, it, state, limit);
    grebe_iterable_free(it);
    data_close(&s);
    free(state);
    return code;
}
