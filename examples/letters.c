/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A data set for training, from C: a Parquet file into the cache, a condition, a computed column, a shuffle, and the first rows of it; then
 * the same file as a stream that is stopped and goes on.
 *
 *     letters WORDS.parquet CACHE_FOLDER
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "grebe/grebe.h"

static int fail(const grebe_error *err)
{
    fprintf(stderr, "letters: %s\n", err->message);
    return 1;
}

/* Words of a batch: the one column is text with 32-bit offsets. */
static void print_words(const char *title, const struct ArrowArray *rows)
{
    const struct ArrowArray *words = rows->children[0];
    const int32_t *offsets = (const int32_t *)words->buffers[1] + words->offset;
    const char *text = words->buffers[2];
    printf("%s:", title);
    for (int64_t i = 0; i < rows->length; i++) {
        printf(" %.*s", (int)(offsets[i + 1] - offsets[i]), text + offsets[i]);
    }
    printf("\n");
}

static int map_style(grebe_context *ctx, const char *files, const char *cache)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_dataset_dict *dict = NULL;
    grebe_dataset *frequent = NULL, *counted = NULL, *shuffled = NULL;
    grebe_load_options load = GREBE_LOAD_OPTIONS_INIT;
    struct ArrowArray rows = { 0 };
    const grebe_computed_column letters = { "letters", "length(word)" };
    const uint32_t seed = 42;
    const char *const columns[] = { "word" };
    load.data_files = files;
    load.cache_dir = cache;
    load.split = "train";
    grebe_status st = grebe_dataset_load(ctx, "parquet", &load, &dict, &err);
    if (st == GREBE_OK) {
        st = grebe_dataset_filter(grebe_dataset_dict_get(dict, 0), "rank < 5000", NULL, &frequent, &err);
    }
    st = st == GREBE_OK ? grebe_dataset_map_expr(frequent, &letters, 1, NULL, &counted, &err) : st;
    st = st == GREBE_OK ? grebe_dataset_shuffle(counted, (grebe_seed){ &seed, 1 }, NULL, &shuffled, &err) : st;
    st = st == GREBE_OK ? grebe_dataset_read(shuffled, 0, 5, columns, 1, &rows, &err) : st;
    if (st == GREBE_OK) {
        grebe_dataset_info info;
        grebe_dataset_get_info(shuffled, &info);
        printf("%lld rows, %zu columns\n", (long long)info.n_rows, info.n_columns);
        print_words("shuffled", &rows);
        rows.release(&rows);
    }
    grebe_dataset_free(shuffled);
    grebe_dataset_free(counted);
    grebe_dataset_free(frequent);
    grebe_dataset_dict_free(dict);
    return st == GREBE_OK ? 0 : fail(&err);
}

/* The state of an iteration as text. */
struct text {
    char bytes[65536];
    size_t len;
};

static int append(void *ctx, const void *bytes, size_t len)
{
    struct text *t = ctx;
    if (len >= sizeof t->bytes - t->len) {
        return 28; /* ENOSPC */
    }
    memcpy(t->bytes + t->len, bytes, len);
    t->len += len;
    t->bytes[t->len] = '\0';
    return 0;
}

/* The next n rows of a stream that begins at a state (NULL: its beginning), and the state behind them. */
static grebe_status next_words(const grebe_iterable *it, const char *state, int64_t n, const char *title, struct text *after,
                               grebe_error *err)
{
    grebe_iterator *iter = NULL;
    struct ArrowArray rows = { 0 };
    struct ArrowSchema schema = { 0 };
    grebe_status st = grebe_iterator_new(it, state, NULL, &iter, err);
    st = st == GREBE_OK ? grebe_iterator_next(iter, n, &rows, &schema, err) : st;
    if (st == GREBE_OK && rows.release != NULL) {
        print_words(title, &rows);
        rows.release(&rows);
        schema.release(&schema);
        after->len = 0;
        st = grebe_iterator_state(iter, 0, append, after, err);
    }
    grebe_iterator_free(iter);
    return st;
}

static int streamed(grebe_context *ctx, const char *files)
{
    static struct text state, later;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_iterable_dict *dict = NULL;
    grebe_iterable *words = NULL, *shuffled = NULL;
    grebe_load_options load = GREBE_LOAD_OPTIONS_INIT;
    grebe_iterable_shuffle_options shuffle = GREBE_ITERABLE_SHUFFLE_OPTIONS_INIT;
    const uint32_t seed = 7;
    const char *const columns[] = { "word" };
    load.data_files = files;
    load.split = "train";
    shuffle.seed = (grebe_seed){ &seed, 1 };
    shuffle.buffer_rows = 1000;
    grebe_status st = grebe_iterable_load(ctx, "parquet", &load, &dict, &err);
    st = st == GREBE_OK ? grebe_iterable_select_columns(grebe_iterable_dict_get(dict, 0), columns, 1, &words, &err) : st;
    st = st == GREBE_OK ? grebe_iterable_shuffle(words, &shuffle, &shuffled, &err) : st;
    st = st == GREBE_OK ? next_words(shuffled, NULL, 8, "streamed", &later, &err) : st;
    st = st == GREBE_OK ? next_words(shuffled, NULL, 4, "the first four", &state, &err) : st;
    st = st == GREBE_OK ? next_words(shuffled, state.bytes, 4, "and on from there", &later, &err) : st;
    grebe_iterable_free(shuffled);
    grebe_iterable_free(words);
    grebe_iterable_dict_free(dict);
    return st == GREBE_OK ? 0 : fail(&err);
}

int main(int argc, char **argv)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_context *ctx = NULL;
    char files[4096];
    if (argc != 3) {
        fprintf(stderr, "usage: letters WORDS.parquet CACHE_FOLDER\n");
        return 2;
    }
    snprintf(files, sizeof files, "\"%s\"", argv[1]); /* JSON: a path without quotes and backslashes */
    if (grebe_context_new(NULL, &ctx, &err) != GREBE_OK) {
        return fail(&err);
    }
    int result = map_style(ctx, files, argv[2]);
    result = result == 0 ? streamed(ctx, files) : result;
    grebe_context_free(ctx);
    return result;
}
