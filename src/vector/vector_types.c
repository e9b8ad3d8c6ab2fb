/* SPDX-License-Identifier: Apache-2.0 */
#include "vector/vector_types.h"

#include <math.h>
#include <string.h>

#include "base/half.h"
#include "vector/distance_internal.h"

size_t vector_row_bytes(enum vector_elem elem, uint32_t dim)
{
    switch (elem) {
    case VECTOR_F32:
        return (size_t)dim * 4;
    case VECTOR_F16:
    case VECTOR_BF16:
        return (size_t)dim * 2;
    case VECTOR_I8:
    case VECTOR_U8:
        return dim;
    case VECTOR_BIT:
        return ((size_t)dim + 7) / 8;
    case VECTOR_F64:
        return (size_t)dim * 8;
    }
    return 0;
}

const char *vector_elem_name(enum vector_elem elem)
{
    switch (elem) {
    case VECTOR_F32:
        return "float32";
    case VECTOR_F16:
        return "float16";
    case VECTOR_BF16:
        return "bfloat16";
    case VECTOR_I8:
        return "int8";
    case VECTOR_U8:
        return "uint8";
    case VECTOR_BIT:
        return "bit";
    case VECTOR_F64:
        return "float64";
    }
    return NULL;
}

const char *vector_metric_name(enum vector_metric metric)
{
    switch (metric) {
    case VECTOR_EUCLIDEAN:
        return "euclidean";
    case VECTOR_L2SQ:
        return "l2";
    case VECTOR_IP:
        return "ip";
    case VECTOR_COSINE:
        return "angular";
    case VECTOR_HAMMING:
        return "hamming";
    case VECTOR_JACCARD:
        return "jaccard";
    }
    return NULL;
}

grebe_status vector_metric_parse(const char *name, enum vector_metric *out, grebe_error *err)
{
    static const struct {
        const char *name;
        enum vector_metric metric;
    } names[] = {
        {"euclidean", VECTOR_EUCLIDEAN}, {"l2", VECTOR_L2SQ},         {"sqeuclidean", VECTOR_L2SQ},
        {"l2sq", VECTOR_L2SQ},           {"ip", VECTOR_IP},           {"dot", VECTOR_IP},
        {"angular", VECTOR_COSINE},      {"cosine", VECTOR_COSINE},   {"hamming", VECTOR_HAMMING},
        {"jaccard", VECTOR_JACCARD},
    };
    char shown[64];

    *out = VECTOR_EUCLIDEAN;
    for (size_t i = 0; name != NULL && i < sizeof names / sizeof *names; i++) {
        if (strcmp(name, names[i].name) == 0) {
            *out = names[i].metric;
            return GREBE_OK;
        }
    }
    error_quote(shown, sizeof shown, name == NULL ? "" : name, name == NULL ? 0 : strlen(name));
    return GREBE_FAIL(err, GREBE_EINVAL,
                      "metric: expected euclidean, l2, ip, angular, hamming or jaccard, found \"%s\"", shown);
}

float vector_metric_finish(enum vector_metric metric, uint32_t dim, float kernel_value)
{
    switch (metric) {
    case VECTOR_EUCLIDEAN:
        return kernel_value < 0 ? 0 : sqrtf(kernel_value);
    case VECTOR_IP:
    case VECTOR_COSINE:
        return 1.0f + kernel_value;
    case VECTOR_HAMMING:
        return dim == 0 ? 0 : kernel_value / (float)dim;
    case VECTOR_L2SQ:
    case VECTOR_JACCARD:
        break;
    }
    return kernel_value;
}

static void f64_to_f32(const unsigned char *src, size_t n, float *dst)
{
    for (size_t i = 0; i < n; i++) {
        double v;

        memcpy(&v, src + i * sizeof v, sizeof v);
        dst[i] = (float)v;
    }
}

void vector_to_f32(enum vector_elem elem, const void *src, size_t n, float *dst)
{
    switch (elem) {
    case VECTOR_F32:
        memcpy(dst, src, n * sizeof *dst);
        break;
    case VECTOR_F16:
        distance_half_to_f32()(src, n, dst);
        break;
    case VECTOR_BF16:
        for (size_t i = 0; i < n; i++) {
            dst[i] = distance_load_bf16(src, i);
        }
        break;
    case VECTOR_I8:
        for (size_t i = 0; i < n; i++) {
            dst[i] = (float)((const int8_t *)src)[i];
        }
        break;
    case VECTOR_U8:
        for (size_t i = 0; i < n; i++) {
            dst[i] = (float)((const uint8_t *)src)[i];
        }
        break;
    case VECTOR_F64:
        f64_to_f32(src, n, dst);
        break;
    case VECTOR_BIT:
        break;
    }
}
