/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GITVDB_VDB_KERNELS_H
#define GREBE_GITVDB_VDB_KERNELS_H

/*
 * The inner loops of assignment and search that have several variants. They compute in f32 and may differ in their last bits from
 * variant to variant: callers know how far they can be from the truth (vdb_dot_error()) and decide what is that close in f64.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cpu.h"

enum {
    VDB_LANES = 8,
    VDB_PANEL = 16,       /* centroids side by side in a packed codebook: shape [dim, VDB_PANEL] for each panel */
    VDB_GROUP = 6,        /* points that are scored together */
    VDB_ROWS = 4,         /* rows of a matrix that are scored together */
    VDB_CODE_RUN = 16,    /* rows of codes are padded with zeros to a multiple of it */
    VDB_CODE_MAX = 127,
    VDB_DIM_FAST = 65536  /* above it the bounds on errors are not small: f64 for all */
};

#define VDB_NORM2_MIN 0x1p-80F
#define VDB_NORM2_MAX 0x1p100F

/** What is known of one point: for each lane the best score, the second best, and whose the best is. */
struct vdb_best {
    float first[VDB_LANES], second[VDB_LANES];
    int32_t index[VDB_LANES]; /* of the run of VDB_LANES centroids in which the best stands */
};

/** The same for all lanes. */
struct vdb_winner {
    float first, second; /* equal: several have this score */
    uint32_t centroid;   /* whose the best is */
};

/** A row as codes of a byte a component: it is scale * codes and a rest whose square is gap2. All three in f32. */
struct vdb_encoded {
    float scale, norm2, gap2;
};

struct vdb_kernels {
    /**
     * Score VDB_GROUP points against one panel.
     *
     * @param rows  Shape [VDB_GROUP], each [dim]; the same pointer may stand there several times.
     * @param panel Shape [dim, VDB_PANEL], aligned to 32. Columns of NaN win nowhere.
     * @param first Number of the panel's first run of VDB_LANES centroids.
     * @param best  Shape [VDB_GROUP], updated. A later equal score counts as second.
     */
    void (*score_group)(const float *const *rows, uint32_t dim, const float *panel, int32_t first,
                        struct vdb_best *best);
    /** Over the lanes. @param best Shape [n]. @param out Shape [n]. */
    void (*find_winners)(const struct vdb_best *best, size_t n, struct vdb_winner *out);
    /** Sums of squares. @param rows Shape [n], each [dim]; VDB_ROWS divides n. */
    void (*norms2)(const float *const *rows, size_t n, uint32_t dim, float *norms2);
    /**
     * Products of rows with one query, and their sums of squares.
     *
     * @param rows Shape [n], each [dim]; VDB_ROWS divides n.
     */
    void (*dots_f32)(const float *const *rows, size_t n, const float *query, uint32_t dim, float *dots,
                     float *norms2);
    /**
     * The same in whole numbers, exact as long as sums of absolute products stay below 2^31.
     *
     * @param rows  Shape [n], each [width]; VDB_ROWS divides n, VDB_CODE_RUN divides width.
     * @param query Shape [width].
     */
    void (*dots_i8)(const int8_t *const *rows, size_t n, const int16_t *query, size_t width, int32_t *dots);
    /**
     * Codes of a row, -127 to 127, zeros behind them.
     *
     * @param codes Written unless norm2 is outside VDB_NORM2_MIN to VDB_NORM2_MAX. Shape [dim padded to VDB_CODE_RUN].
     */
    void (*encode_i8)(const float *row, uint32_t dim, int8_t *codes, struct vdb_encoded *out);
};

/** A square of a length for which the bounds hold and nothing overflows. */
static inline bool vdb_norm2_is_safe(float norm2) { return norm2 >= VDB_NORM2_MIN && norm2 <= VDB_NORM2_MAX; }

/** The variant for this machine (cpu_simd_level()). Threads: safe. */
const struct vdb_kernels *vdb_kernels(void);
/** The variant of a level; NULL: the machine cannot run it, or it is not built in. */
const struct vdb_kernels *vdb_kernels_of(enum cpu_simd level);

extern const struct vdb_kernels vdb_kernels_scalar;
/* NULL where the compiler has no such instructions. */
const struct vdb_kernels *vdb_kernels_avx2(void);

/**
 * How far a sum of dim products that was made in f32, in any order, fused or not, can be from the truth, as a share of the
 * product of the two lengths: the usual bound g = dim * u / (1 - dim * u) with u = 2^-24 (Higham, Accuracy and Stability, 3.1;
 * sum |x y| <= |x| |y|), u more for each factor that was itself rounded to f32, and a twentieth for what is smaller by orders: f64
 * roundings (2^-53 each) and products below the normal numbers, when lengths are above 2^-40 (VDB_NORM2_MIN).
 * For dim <= VDB_DIM_FAST.
 */
static inline double vdb_dot_error(uint32_t dim, uint32_t n_rounded)
{
    return 1.05 * ((double)dim + n_rounded + 1) * 0x1p-24;
}

#endif
