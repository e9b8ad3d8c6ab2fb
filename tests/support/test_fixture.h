/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_TESTS_TEST_FIXTURE_H
#define GREBE_TESTS_TEST_FIXTURE_H

/* What most tests of a room need: a context, a folder that is removed, a seed. For cmocka's setup and teardown. */

#include "base/context_internal.h"

struct fixture {
    grebe_context *ctx;
    char *folder;
    uint64_t seed;
};

int fixture_set_up(void **state);
int fixture_tear_down(void **state);

#endif
