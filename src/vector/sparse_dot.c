/* SPDX-License-Identifier: Apache-2.0 */
#include "vector/sparse_dot.h"

#include <math.h>

#include "vector/distance.h"

double vector_sparse_dot(const uint32_t *a_terms, const float *a_values, size_t a_n, const uint32_t *b_terms,
                         const float *b_values, size_t b_n)
{
    double sum = 0;
    size_t i = 0, j = 0;

    while (i < a_n && j < b_n) {
        if (a_terms[i] == b_terms[j]) {
            sum += (double)a_values[i++] * (double)b_values[j++];
        } else {
            /* one of them moves; without a branch, since which one is as good as random */
            const bool is_a = a_terms[i] < b_terms[j];

            i += is_a;
            j += !is_a;
        }
    }
    return sum;
}

double vector_maxsim(enum vector_metric metric, const float *query, size_t query_n, const float *document,
                     size_t document_n, uint32_t dim)
{
    double sum = 0;

    for (size_t i = 0; i < query_n; i++) {
        double nearest = INFINITY;

        for (size_t j = 0; j < document_n; j++) {
            const double d = vector_distance_exact(metric == VECTOR_EUCLIDEAN ? VECTOR_L2SQ : metric, VECTOR_F32,
                                                   query + i * dim, document + j * dim, dim);

            nearest = isnan(d) || d < nearest ? d : nearest;
            if (isnan(nearest)) {
                break;
            }
        }
        sum += metric == VECTOR_EUCLIDEAN ? sqrt(nearest) : nearest;
    }
    return sum;
}
