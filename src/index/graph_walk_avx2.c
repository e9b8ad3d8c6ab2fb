/* SPDX-License-Identifier: Apache-2.0 */
#include "index/graph_walk.h"

#if defined(__AVX2__)

#include "index/graph_walk_loop.h"

graph_walk_fn graph_walk_avx2(void)
{
    return run_walks;
}

#else

graph_walk_fn graph_walk_avx2(void)
{
    return NULL;
}

#endif
