/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text_distance.h"

#include <string.h>

#include "base/ascii.h"
#include "base/checked.h"

size_t text_distance(const char *x, const char *y)
{
    enum { NAME_MAX_HERE = 48 };
    size_t row[NAME_MAX_HERE + 1], n = min_size(strlen(y), NAME_MAX_HERE);
    for (size_t j = 0; j <= n; j++) {
        row[j] = j;
    }
    for (size_t i = 1; x[i - 1] != '\0'; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            size_t cost = diagonal + (ascii_lower(x[i - 1]) != ascii_lower(y[j - 1]));
            diagonal = row[j];
            row[j] = min_size(cost, min_size(row[j], row[j - 1]) + 1);
        }
    }
    return row[n];
}
