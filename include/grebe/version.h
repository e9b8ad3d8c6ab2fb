/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_VERSION_H
#define GREBE_VERSION_H

/* Which library this is and what it was built with. */

#include "grebe/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** @return "0.1.0". Static string. */
GREBE_API const char *grebe_version(void);

/**
 * One fact about the build a line: compiler, codecs, instruction sets in use.
 *
 * @return Static string with newlines.
 */
GREBE_API const char *grebe_build_info(void);

#ifdef __cplusplus
}
#endif
#endif
