/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_ARRAY_ARRAY_FORMAT_H
#define GREBE_ARRAY_ARRAY_FORMAT_H

/* Array files as sources of rows: a column "vector" of lists, or "value" of numbers; knn results: "ids", "distances". */

#include "source/source.h"

extern const struct file_format npy_format;  /* known by its signature */
extern const struct file_format vecs_format; /* fvecs, fbin, … : known by the name, checked by the size */

#endif
