/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_FUZZ_REQUIRE_H
#define GREBE_FUZZ_REQUIRE_H

#include <stdlib.h>

/** What must hold whatever the input is: an assertion of every build. */
static inline void require(int condition)
{
    if (!condition) {
        abort();
    }
}

#endif
