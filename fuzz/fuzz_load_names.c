/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What names and READMEs say of data files (the first byte says which): the head of a README as a card, dataset_info.json of a cache,
 * split expressions, patterns against paths, data_files. Whatever the text, a meaning or a message.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "load/load_card.h"
#include "load/load_glob.h"
#include "load/load_patterns.h"
#include "load/load_prepared.h"
#include "load/load_split.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void put_file(struct io_store *store, const char *path, const uint8_t *data, size_t size)
{
    struct io_writer *w = NULL;
    if (io_create(store, path, false, &w, NULL) == GREBE_OK && io_write(w, data, size, NULL) == GREBE_OK) {
        (void)!io_writer_publish(w, true, NULL);
    }
    io_writer_free(w);
}

static void read_card(grebe_context *ctx, const char *name, const uint8_t *data, size_t size)
{
    struct io_store *store = NULL;
    struct load_card *card = NULL;
    const struct load_config *config = NULL;
    char path[64] = "d/";
    if (io_memory_new(ctx, &store, NULL) != GREBE_OK) {
        return;
    }
    strcat(path, name);
    put_file(store, path, data, size);
    if (load_card_read(ctx->a, store, "d", &card, NULL) == GREBE_OK) {
        (void)!load_card_config(card, NULL, &config, NULL);
        if (config != NULL) {
            (void)load_card_info(card, config->name);
        }
    }
    load_card_free(card);
    io_store_free(store);
}

static void read_prepared(grebe_context *ctx, const uint8_t *data, size_t size)
{
    struct io_store *store = NULL;
    struct prepared *p = NULL;
    if (io_memory_new(ctx, &store, NULL) != GREBE_OK) {
        return;
    }
    put_file(store, "d/dataset_info.json", data, size);
    if (prepared_read(ctx->a, store, "d", &p, NULL) == GREBE_OK) {
        for (size_t i = 0; i < p->n; i++) {
            int64_t sum = 0;
            for (size_t k = 0; k < p->splits[i].n_shards; k++) {
                sum += p->splits[i].shard_rows[k];
            }
            if (sum != p->splits[i].n_rows) {
                abort();
            }
        }
    }
    prepared_free(p);
    io_store_free(store);
}

static void read_split(struct arena *ar, const char *text)
{
    const struct split_size sizes[] = { { "train", 99 }, { "test", 0 }, { "a.b", INT64_MAX / 200 } };
    struct split_spec spec;
    grebe_error err = GREBE_ERROR_INIT;
    if (split_parse(ar, text, &spec, &err) != GREBE_OK) {
        return;
    }
    for (size_t i = 0; i < spec.n; i++) {
        struct split_range r;
        if (split_resolve(&spec.terms[i], sizes, 3, &r, &err) == GREBE_OK &&
            (r.begin < 0 || r.begin > r.end || r.end > sizes[r.split].n_rows)) {
            abort();
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static grebe_context *ctx;
    if (size < 1 || (ctx == NULL && context_new(NULL, &ctx, NULL) != GREBE_OK)) {
        return 0;
    }
    struct arena ar = ARENA_INIT(ctx->a);
    uint8_t which = data[0];
    char *text = arena_str(&ar, (const char *)data + 1, size - 1);
    const struct json_value *v = NULL;
    struct load_pattern_set set;
    switch (which % 6) {
    case 0: read_card(ctx, "README.md", data + 1, size - 1); break;
    case 1: read_card(ctx, ".huggingface.yaml", data + 1, size - 1); break;
    case 2: read_card(ctx, "dataset_infos.json", data + 1, size - 1); break;
    case 3: read_prepared(ctx, data + 1, size - 1); break;
    case 4: read_split(&ar, text); break;
    default:
        if (json_parse(&ar, text, size - 1, &v, NULL) == GREBE_OK) {
            (void)!load_patterns_of(&ar, v, &set, NULL);
        }
        if (strchr(text, '\n') != NULL && size < 2000) { /* a pattern and a path */
            char *path = strchr(text, '\n');
            *path++ = '\0';
            (void)load_glob_matches(text, path);
        }
        break;
    }
    arena_release(&ar);
    return 0;
}
