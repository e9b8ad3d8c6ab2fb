/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_ANN_ANN_RESULT_H
#define GREBE_ANN_ANN_RESULT_H

/*
 * What an engine found, as programs exchange it: ann-benchmarks' HDF5 result files (ids, distances, times, attributes),
 * and arrays of ids (npy, ivecs, ibin, knn results; docs/format/arrays.md).
 */

#include "ann/ann_recall.h"

struct ann_result {
    grebe_context *ctx;
    uint64_t n, width; /* queries, columns */
    int64_t *ids;      /* shape [n][width], -1 behind the last */
    float *distances;  /* the same, +inf behind the last; NULL: not stated */
    double *times;     /* shape [n], seconds; NULL: not stated */

    /* Attributes; texts empty and numbers NaN where there are none. */
    char algo[128], name[256], dataset[128], distance[32];
    double count, build_seconds, best_search_seconds /* of a query */, index_kb, candidates, run_count;
    bool is_batch;
};

void ann_result_init(struct ann_result *r, grebe_context *ctx);
void ann_result_release(struct ann_result *r); /* idempotent */
/** Memory for ids, and for distances and times where asked for. */
grebe_status ann_result_alloc(struct ann_result *r, uint64_t n, uint64_t width, bool has_distances, bool has_times,
                              grebe_error *err);

/**
 * Read a file of any of the kinds, told by its content.
 *
 * @param out Empty; ann_result_release(), also after a failure.
 * @return GREBE_OK; GREBE_ENOTFOUND; GREBE_ECORRUPT (place, expected, found); GREBE_ELIMIT; GREBE_ENOMEM.
 */
grebe_status ann_result_read(grebe_context *ctx, const char *path, const struct call *call, struct ann_result *out,
                             grebe_error *err);
/**
 * Write by the ending of the name: .hdf5, .h5 as ann-benchmarks lays it out (int32 ids, float32 distances and times);
 * .npy (int64), .ivecs, .ibin (ids alone). Without distances or times the HDF5 form leaves them out.
 *
 * @return GREBE_OK; GREBE_EUNSUPPORTED (ending); GREBE_EINVAL (an id above 2^31 - 1 where int32 is the form).
 */
grebe_status ann_result_write(const struct ann_result *r, const char *path, grebe_error *err);

/** As ann_recall() takes it. */
static inline struct ann_found ann_result_found(const struct ann_result *r)
{
    return (struct ann_found){ r->n, r->width, r->ids, r->distances };
}

#endif
