/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_INDEX_INDEX_PARAMS_H
#define GREBE_INDEX_INDEX_PARAMS_H

/* Parameters "name=value" against a kind's table of them. */

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum index_param_type { INDEX_PARAM_UINT, INDEX_PARAM_REAL, INDEX_PARAM_CHOICE };

struct index_param {
    const char *name;
    enum index_param_type type;
    size_t offset;              /* of a uint32_t (UINT, CHOICE) or a double (REAL) in the struct that is filled */
    double min, max;            /* both allowed */
    double fallback;            /* the default */
    const char *const *choices; /* NULL-terminated; the value is the index */
    const char *help;
};

/**
 * Defaults, then what the caller gave.
 * @return GREBE_OK; GREBE_EINVAL: an unknown name (the nearest one is named), a value that is no number, no choice or
 *         out of range.
 */
grebe_status index_params_fill(const struct index_param *table, size_t n, const char *const *params, size_t n_params,
                               void *dst, grebe_error *err);

#endif
