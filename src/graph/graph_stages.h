/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GRAPH_GRAPH_STAGES_H
#define GREBE_GRAPH_GRAPH_STAGES_H

/* Work in two stages: pieces are made on any thread, and taken one at a time in their order by whichever thread is free. */

#include "base/pool.h"

/**
 * make(arg, i) for every i in [0, n), and take(arg, i) after it and after take(arg, i - 1).
 *
 * @param p NULL: everything runs on the caller's thread.
 * @return GREBE_OK; the failure of the lowest i that failed, of which nothing behind is taken; GREBE_ENOMEM.
 */
grebe_status graph_stages(const grebe_allocator *a, struct pool *p, uint32_t threads, size_t n, pool_fn make, pool_fn take, void *arg,
                          grebe_error *err);

#endif
