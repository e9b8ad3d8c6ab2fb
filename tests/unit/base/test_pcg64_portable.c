/* SPDX-License-Identifier: Apache-2.0 */

/* The same numbers from a compiler that has no integers of 128 bits: the room's file once more, without them. */
#define GREBE_NO_INT128 1
#include "base/pcg64.c"

#include "test_pcg64.c"
