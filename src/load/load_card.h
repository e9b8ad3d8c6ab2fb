/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_LOAD_LOAD_CARD_H
#define GREBE_LOAD_LOAD_CARD_H

/*
 * What a folder says of itself: configurations and facts in the head of README.md, in .huggingface.yaml (whose keys
 * count more), and, of older folders, in dataset_infos.json.
 */

#include "feature/features.h"
#include "io/io.h"

/** One entry of "configs". */
struct load_config {
    const char *name;
    bool is_default;
    const struct json_value *data_files; /* NULL: none */
    const char *data_dir;                /* NULL: none */
    const struct json_value *options;    /* everything else, an object */
    struct features *features;           /* owned by the card; NULL: none */
};

/** A split as it is said to be. */
struct load_split_info {
    const char *name;
    int64_t n_rows; /* -1: not said */
};

/** One entry of "dataset_info". */
struct load_info {
    const char *config;
    struct features *features; /* owned by the card; NULL: none */
    struct load_split_info *splits; /* shape [n_splits] */
    size_t n_splits;
    bool has_splits;
    const char *description, *citation, *homepage, *license; /* "": none */
};

struct load_card {
    struct arena arena;
    struct load_config *configs;
    size_t n_configs;
    struct load_info *infos;
    size_t n_infos;
};

/**
 * @param folder Absolute. Without any of the files: an empty card.
 * @return GREBE_OK; GREBE_ECORRUPT (no YAML, no JSON); GREBE_EINVAL (entries of another shape); GREBE_ELIMIT (16 MiB).
 */
grebe_status load_card_read(const grebe_allocator *a, struct io_store *store, const char *folder, struct load_card **out,
                            grebe_error *err);
void load_card_free(struct load_card *card); /* NULL accepted */

/**
 * The configuration that is asked for, or the default one.
 *
 * @param name NULL: the default one.
 * @param out  NULL: the folder has none.
 * @return GREBE_EINVAL (several, none of them the default; several defaults); GREBE_ENOTFOUND (no such name).
 */
grebe_status load_card_config(const struct load_card *card, const char *name, const struct load_config **out, grebe_error *err);
/** What is said of a configuration; NULL: nothing. */
const struct load_info *load_card_info(const struct load_card *card, const char *config);

/** Bytes of a README up to the end of its head, which stands between two lines "---". len 0: there is none. */
const char *load_card_head(const char *text, size_t text_len, size_t *len);

#endif
