/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_DATASET_DATASET_STATE_H
#define GREBE_DATASET_DATASET_STATE_H

/* The two JSON files of a saved data set (docs/format/dataset.md). */

#include "feature/features.h"
#include "grebe/dataset.h"

/** What state.json says. Texts lie in the arena. */
struct saved_state {
    struct arena arena;
    const char *const *files; /* names, shape [n_files]; none has a folder in it */
    size_t n_files;
    const char *fingerprint; /* NULL: none */
    const char *split;       /* NULL: none */
    grebe_dataset_format format;
};

/** Missing keys are allowed, unknown ones passed over. GREBE_ECORRUPT; GREBE_EUNSUPPORTED (indices in files of their
 * own). */
grebe_status saved_state_read(const grebe_allocator *a, const char *text, size_t len, struct saved_state *out,
                              grebe_error *err);
void saved_state_release(struct saved_state *s);
/** As `datasets` writes it, byte for byte. Appends to dst. GREBE_EINVAL: kwargs are no JSON object. */
grebe_status saved_state_write(const struct saved_state *s, struct buf *dst, grebe_error *err);

/** What dataset_info.json says: features (NULL: none) and the rest as JSON on one line. */
struct saved_info {
    struct features *features;
    char *info_json;
};
grebe_status saved_info_read(const grebe_allocator *a, const char *text, size_t len, struct saved_info *out,
                             grebe_error *err);
void saved_info_release(const grebe_allocator *a, struct saved_info *s);
grebe_status saved_info_write(const grebe_allocator *a, const struct features *f, const char *info_json,
                              struct buf *dst, grebe_error *err);

/** {"splits": […]}; names in the arena. */
grebe_status saved_splits_read(struct arena *ar, const char *text, size_t len, const char *const **names, size_t *n,
                               grebe_error *err);
grebe_status saved_splits_write(const char *const *names, size_t n, struct buf *dst, grebe_error *err);

/** GREBE_ECORRUPT: empty, "." or "..", or with a folder in it: a file beside the JSON must not be elsewhere. */
grebe_status saved_name_check(const char *name, size_t len, grebe_error *err);

#endif
