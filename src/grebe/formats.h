/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GREBE_FORMATS_H
#define GREBE_GREBE_FORMATS_H

#include "source/source.h"

/** Everything that this build can open. A new file format is one line there. */
const struct source_registry *formats_registry(void);

#endif
