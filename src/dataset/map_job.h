/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_DATASET_MAP_JOB_H
#define GREBE_DATASET_MAP_JOB_H

/* A function that is applied to all rows: what was asked, in how many parts, and where each part is written. */

#include <pthread.h>

#include "dataset/transform.h"

/** Behind the fingerprint in the name of a file that has only the columns which the function gave (map_beside.h). */
#define MAP_COLUMNS_SUFFIX "-columns"

struct map_job {
    struct transform t;
    grebe_map_options m;
    bool is_filter, is_unknown; /* unknown: no function_id, nothing is found again */
    grebe_map_fn map;
    grebe_filter_fn filter;
    void *fn_ctx;
    int *input; /* columns that the function gets, shape [n_input] */
    size_t n_input;
    struct ArrowSchema input_schema;
    bool *is_removed; /* shape [columns] */
    int *carried;     /* columns that are kept without being given to the function, shape [n_carried] */
    size_t n_carried;
    struct features *given; /* NULL: from the types */
    int64_t batch_rows;
    int32_t n_parts;
    char *path;           /* without a part's suffix; NULL: memory */
    pthread_mutex_t lock; /* over n_done and the caller's progress */
    int64_t n_done;
};

/** Checks what was asked, and plans the parts (map_plan_parts). */
grebe_status map_job_begin(struct map_job *j, const grebe_dataset *ds, bool is_filter, const grebe_map_options *map,
                           const grebe_transform_options *options, grebe_error *err);
void map_job_end(struct map_job *j);

/** Rows of part i. */
void map_job_range(const struct map_job *j, int32_t i, int64_t *begin, int64_t *end);
/** Where part i is written, appended to dst with a NUL; empty: in memory. suffix: behind the fingerprint, before the part. */
grebe_status map_job_path(const struct map_job *j, int32_t i, const char *suffix, struct buf *dst, grebe_error *err);
/** The fingerprint of part i. */
grebe_status map_job_fingerprint(const struct map_job *j, int32_t i, struct buf *dst, grebe_error *err);
/** Whether part i was written before. */
bool map_job_finds(const struct map_job *j, const char *path);
/** A file that another takes the place of; NULL accepted. */
grebe_status map_job_forget(const struct map_job *j, const char *path, grebe_error *err);
/** The rows of a batch as the function gets them; *in borrows rows. */
grebe_status map_job_read(struct map_job *j, int64_t begin, int64_t end, int32_t part, struct ArrowArray *rows,
                          grebe_map_input *in, grebe_error *err);
void map_job_progress(struct map_job *j, int64_t n);

#endif
