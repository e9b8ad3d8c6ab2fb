/* SPDX-License-Identifier: Apache-2.0 */
#include "index/index_found.h"

grebe_status index_found_reserve(struct index_found *f, const grebe_allocator *a, size_t more, grebe_error *err)
{
    enum { FIRST = 1024 };
    size_t capacity = f->capacity == 0 ? FIRST : f->capacity;
    while (capacity - f->n < more) {
        capacity *= 2;
    }
    if (capacity == f->capacity) {
        return GREBE_OK;
    }
    struct topk_item *items = mem_resize(a, f->items, f->capacity * sizeof *items, capacity * sizeof *items);
    if (items == NULL) {
        return mem_fail(err, capacity * sizeof *items, "rows within a radius");
    }
    f->items = items;
    f->capacity = capacity;
    return GREBE_OK;
}

void index_found_sort(struct index_found *f)
{
    struct topk all;
    topk_init(&all, f->n, f->items, f->capacity);
    all.n = f->n;
    topk_finish(&all);
}

void index_found_release(struct index_found *f, const grebe_allocator *a)
{
    mem_free(a, f->items, f->capacity * sizeof *f->items);
    *f = (struct index_found){ 0 };
}

grebe_status index_found_join(const struct index_found *f, size_t n, const grebe_allocator *a, struct index_ranges *out,
                              grebe_error *err)
{
    size_t total = 0;
    for (size_t q = 0; q < n; q++) {
        total += f[q].n;
    }
    *out = (struct index_ranges){ .a = a, .n = n, .total = total, .capacity = total };
    out->offsets = mem_alloc(a, (n + 1) * sizeof *out->offsets);
    out->positions = mem_alloc(a, total * sizeof *out->positions);
    out->distances = mem_alloc(a, total * sizeof *out->distances);
    if (out->offsets == NULL || out->positions == NULL || out->distances == NULL) {
        index_ranges_release(out);
        return mem_fail(err, total * sizeof(struct topk_item), "rows within a radius");
    }
    total = 0;
    for (size_t q = 0; q < n; q++) {
        out->offsets[q] = (int64_t)total;
        for (size_t i = 0; i < f[q].n; i++, total++) {
            out->positions[total] = f[q].items[i].id;
            out->distances[total] = f[q].items[i].distance;
        }
    }
    out->offsets[n] = (int64_t)total;
    return GREBE_OK;
}
