/* SPDX-License-Identifier: Apache-2.0 */
#include "gitvdb/vdb_points.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "base/number.h"
#include "gitvdb/vdb_scan.h"

static grebe_status new_vector(const grebe_allocator *a, size_t n, float **out, grebe_error *err)
{
    size_t size = 0;
    if (n == 0 || n > UINT32_MAX || !checked_mul_size(n, sizeof **out, &size)) {
        return GREBE_FAIL(err, GREBE_EINVAL, "vector: expected 1 to %" PRIu32 " numbers, found %zu", UINT32_MAX, n);
    }
    *out = mem_alloc(a, size);
    return *out != NULL ? GREBE_OK : mem_fail(err, size, "a vector");
}

static grebe_status check_component(float v, size_t i, grebe_error *err)
{
    return isfinite(v) ? GREBE_OK
                       : GREBE_FAIL(err, GREBE_EINVAL, "vector: component %zu: expected a finite float of 32 bits", i);
}

static grebe_status from_value(const grebe_allocator *a, const struct vdb_value *v, float **out, size_t *n,
                               grebe_error *err)
{
    grebe_status st = GREBE_OK;
    float *vector = NULL;
    if (v->type == VDB_OBJECT) {
        v = vdb_json_get(v, "vector", 6);
    }
    if (v == NULL || v->type != VDB_ARRAY) {
        return GREBE_FAIL(err, GREBE_EINVAL, "vector: expected an array of numbers, or an object with \"vector\"");
    }
    GREBE_TRY(new_vector(a, v->array.n, &vector, err));
    for (size_t i = 0; i < v->array.n; i++) {
        const struct vdb_value *item = &v->array.items[i];
        if (item->type != VDB_UINT && item->type != VDB_INT && item->type != VDB_FLOAT) {
            st = GREBE_FAIL(err, GREBE_EINVAL, "vector: component %zu: expected a number, found %s", i,
                            vdb_json_type_name(item->type));
            goto out;
        }
        vector[i] = item->type == VDB_UINT ? (float)item->u : item->type == VDB_INT ? (float)item->i : (float)item->f;
        GREBE_TRY(check_component(vector[i], i, err));
    }
    *out = vector;
    *n = v->array.n;
    vector = NULL;
out:
    mem_free(a, vector, v->array.n * sizeof *vector);
    return st;
}

static grebe_status from_json(const grebe_allocator *a, const char *text, size_t len, float **out, size_t *n,
                              grebe_error *err)
{
    struct arena ar = ARENA_INIT(a);
    const struct vdb_value *v = NULL;
    grebe_status st = vdb_json_parse(&ar, text, len, &v, err);
    if (st != GREBE_OK) {
        error_wrap(err, st, "vector");
    } else {
        st = from_value(a, v, out, n, err);
    }
    arena_release(&ar);
    return st;
}

static grebe_status from_list(const grebe_allocator *a, const char *text, const char *end, float **out, size_t *n,
                              grebe_error *err)
{
    grebe_status st = GREBE_OK;
    float *vector = NULL;
    char quoted[48];
    size_t count = 1;
    for (const char *p = text; p < end; p++) {
        count += *p == ',';
    }
    GREBE_TRY(new_vector(a, count, &vector, err));
    for (size_t i = 0; i < count; i++) {
        const char *comma = text < end ? memchr(text, ',', (size_t)(end - text)) : NULL;
        const char *word_end = comma != NULL ? comma : end;
        text = vdb_skip_space(text, word_end);
        size_t word = (size_t)(word_end - text);
        while (word > 0 && vdb_skip_space(text + word - 1, word_end) == word_end) {
            word--;
        }
        if (word == 0 || !number_parse_float(text, word, &vector[i])) {
            st = GREBE_FAIL(err, GREBE_EINVAL, "vector: component %zu: expected a number, found \"%s\"", i,
                            error_quote(quoted, sizeof quoted, text, word));
            goto out;
        }
        GREBE_TRY(check_component(vector[i], i, err));
        text = comma != NULL ? comma + 1 : end;
    }
    *out = vector;
    *n = count;
    vector = NULL;
out:
    mem_free(a, vector, count * sizeof *vector);
    return st;
}

grebe_status vdb_vector_from_text(const grebe_allocator *a, const char *text, size_t len, float **out, size_t *n,
                                  grebe_error *err)
{
    const char *end = len > 0 ? text + len : text;
    const char *first = vdb_skip_space(text, end);
    *out = NULL;
    *n = 0;
    if (first < end && (*first == '[' || *first == '{')) {
        return from_json(a, text, len, out, n, err);
    }
    return from_list(a, text, end, out, n, err);
}
