/* SPDX-License-Identifier: Apache-2.0 */
#include "arrow/arrow_array.h"

#include <assert.h>
#include <string.h>

#include "base/checked.h"

/*
 * A node is one block: the private head, child structs, child pointers, buffer pointers, owners
 * of the buffers. A slice holds no owners but one reference to what it is a slice of; so does
 * every node below it, since a consumer may move children out and release the parent first.
 */
struct array_private {
    const grebe_allocator *a;
    size_t block_len;
    struct region **owners;      /* shape [n_buffers] */
    struct array_shared *shared; /* slices; NULL otherwise */
    int64_t n_buffers, n_children;
};

struct array_shared {
    atomic_uint refs;
    const grebe_allocator *a;
    struct ArrowArray array;
};

static void node_release(struct ArrowArray *array)
{
    struct array_private *p = array->private_data;
    for (int64_t i = 0; i < p->n_children; i++) {
        array_release(array->children[i]);
    }
    if (array->dictionary != NULL) {
        array_release(array->dictionary);
        mem_free(p->a, array->dictionary, sizeof *array->dictionary);
    }
    for (int64_t i = 0; i < p->n_buffers; i++) {
        region_drop(p->owners[i]);
    }
    array_shared_drop(p->shared);
    mem_free(p->a, p, p->block_len);
    memset(array, 0, sizeof *array);
}

void array_release(struct ArrowArray *array)
{
    if (array != NULL && array->release != NULL) {
        array->release(array);
        memset(array, 0, sizeof *array);
    }
}

void array_move(struct ArrowArray *dst, struct ArrowArray *src)
{
    *dst = *src;
    memset(src, 0, sizeof *src);
}

grebe_status array_new(const grebe_allocator *a, int64_t length, int64_t n_buffers,
                       int64_t n_children, struct ArrowArray *out, grebe_error *err)
{
    assert(a != NULL && out != NULL && length >= 0 && n_buffers >= 0 && n_children >= 0);
    memset(out, 0, sizeof *out);
    size_t children_len = 0;
    size_t buffers_len = 0;
    size_t len = 0;
    if (!checked_mul_size((size_t)n_children,
                          sizeof(struct ArrowArray) + sizeof(struct ArrowArray *),
                          &children_len) ||
        !checked_mul_size((size_t)n_buffers, 2 * sizeof(void *), &buffers_len) ||
        !checked_add_size(children_len, buffers_len, &len) ||
        !checked_add_size(len, sizeof(struct array_private), &len)) {
        return GREBE_FAIL(err, GREBE_ELIMIT,
                          "an array of %lld buffers and %lld children does not fit in memory",
                          (long long)n_buffers, (long long)n_children);
    }
    struct array_private *p = mem_alloc_zero(a, len);
    if (p == NULL) {
        return mem_fail(err, len, "an array");
    }
    p->a = a;
    p->block_len = len;
    p->n_buffers = n_buffers;
    p->n_children = n_children;
    struct ArrowArray *children = (struct ArrowArray *)(p + 1);
    struct ArrowArray **pointers = (struct ArrowArray **)(children + n_children);
    for (int64_t i = 0; i < n_children; i++) {
        pointers[i] = &children[i];
    }
    out->children = n_children > 0 ? pointers : NULL;
    out->buffers = (const void **)(pointers + n_children);
    p->owners = (struct region **)(out->buffers + n_buffers);
    out->length = length;
    out->n_buffers = n_buffers;
    out->n_children = n_children;
    out->private_data = p;
    out->release = node_release;
    return GREBE_OK;
}

void array_set_buffer(struct ArrowArray *array, int64_t i, const void *data,
                      struct region *owner)
{
    assert(array->release == node_release && i >= 0 && i < array->n_buffers);
    struct array_private *p = array->private_data;
    region_drop(p->owners[i]);
    p->owners[i] = owner;
    array->buffers[i] = data;
}

grebe_status array_alloc_buffer(const grebe_allocator *a, struct ArrowArray *array, int64_t i,
                                size_t len, void **data, grebe_error *err)
{
    struct region *r = NULL;
    *data = NULL;
    grebe_status st = region_new(a, len, &r, err);
    if (st == GREBE_OK) {
        *data = r->data;
        array_set_buffer(array, i, r->data, r);
    }
    return st;
}

grebe_status array_set_dictionary(const grebe_allocator *a, struct ArrowArray *array,
                                  struct ArrowArray *dictionary, grebe_error *err)
{
    assert(array->release == node_release && array->dictionary == NULL);
    struct ArrowArray *slot = mem_alloc(a, sizeof *slot);
    if (slot == NULL) {
        return mem_fail(err, sizeof *slot, "a dictionary");
    }
    array_move(slot, dictionary);
    array->dictionary = slot;
    return GREBE_OK;
}

struct region *array_buffer_owner(const struct ArrowArray *array, int64_t i)
{
    if (array->release != node_release) {
        return NULL;
    }
    const struct array_private *p = array->private_data;
    return p->owners[i];
}

/* ---- sharing ---- */

grebe_status array_share(const grebe_allocator *a, struct ArrowArray *array,
                         struct array_shared **out, grebe_error *err)
{
    *out = NULL;
    struct array_shared *s = mem_alloc_zero(a, sizeof *s);
    if (s == NULL) {
        return mem_fail(err, sizeof *s, "a shared array");
    }
    atomic_init(&s->refs, 1);
    s->a = a;
    array_move(&s->array, array);
    *out = s;
    return GREBE_OK;
}

struct array_shared *array_shared_keep(struct array_shared *s)
{
    if (s != NULL) {
        unsigned before = atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
        assert(before > 0 && before < 0x7fffffffu);
        (void)before;
    }
    return s;
}

void array_shared_drop(struct array_shared *s)
{
    if (s == NULL || atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) != 1) {
        return;
    }
    array_release(&s->array);
    mem_free(s->a, s, sizeof *s);
}

const struct ArrowArray *array_shared_get(const struct array_shared *s) { return &s->array; }

void array_shared_take_back(struct array_shared *s, struct ArrowArray *out)
{
    assert(atomic_load(&s->refs) == 1);
    array_move(out, &s->array);
    mem_free(s->a, s, sizeof *s);
}

/* A view of the whole node and of everything below it. */
static grebe_status view_node(struct array_shared *s, const struct ArrowArray *node, int depth,
                              struct ArrowArray *out, grebe_error *err)
{
    grebe_status st = GREBE_OK;

    memset(out, 0, sizeof *out);
    if (depth > ARROW_DEPTH_MAX) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "types are nested deeper than %d", ARROW_DEPTH_MAX);
    }
    GREBE_TRY(array_new(s->a, node->length, node->n_buffers, node->n_children, out, err));
    struct array_private *p = out->private_data;
    p->shared = array_shared_keep(s);
    out->null_count = node->null_count;
    out->offset = node->offset;
    for (int64_t i = 0; i < node->n_buffers; i++) {
        out->buffers[i] = node->buffers[i];
    }
    for (int64_t i = 0; i < node->n_children; i++) {
        GREBE_TRY(view_node(s, node->children[i], depth + 1, out->children[i], err));
    }
    if (node->dictionary != NULL) {
        struct ArrowArray dictionary;
        GREBE_TRY(view_node(s, node->dictionary, depth + 1, &dictionary, err));
        st = array_set_dictionary(s->a, out, &dictionary, err);
        if (st != GREBE_OK) {
            array_release(&dictionary);
        }
    }
out:
    if (st != GREBE_OK) {
        array_release(out);
    }
    return st;
}

static void narrow(struct ArrowArray *view, int64_t begin, int64_t length)
{
    bool is_whole = begin == 0 && length == view->length;
    view->offset += begin;
    view->length = length;
    if (!is_whole && view->null_count != 0) {
        view->null_count = -1;
    }
}

grebe_status array_view(struct array_shared *s, const struct ArrowArray *node, int64_t begin,
                        int64_t length, struct ArrowArray *out, grebe_error *err)
{
    assert(begin >= 0 && length >= 0 && begin <= node->length && length <= node->length - begin);
    grebe_status st = view_node(s, node, 0, out, err);
    if (st == GREBE_OK) {
        narrow(out, begin, length);
    }
    return st;
}

grebe_status array_slice(struct array_shared *s, int64_t begin, int64_t length,
                         struct ArrowArray *out, grebe_error *err)
{
    const struct ArrowArray *whole = &s->array;
    assert(begin >= 0 && length >= 0 && begin <= whole->length && length <= whole->length - begin);
    /* Without a schema a struct is told by its one buffer (no validity) and children of its own
     * length. A fixed-size list of 1 looks the same, and may be sliced the same way. */
    bool is_struct = whole->n_buffers == 1 && whole->buffers[0] == NULL &&
                     whole->dictionary == NULL;
    for (int64_t i = 0; i < whole->n_children; i++) {
        is_struct = is_struct && whole->children[i]->length == whole->length + whole->offset;
    }
    grebe_status st = view_node(s, whole, 0, out, err);
    if (st != GREBE_OK) {
        return st;
    }
    if (!is_struct) {
        narrow(out, begin, length);
        return GREBE_OK;
    }
    for (int64_t i = 0; i < out->n_children; i++) {
        narrow(out->children[i], whole->offset + begin, length);
    }
    out->offset = 0;
    out->length = length;
    out->null_count = 0;
    return GREBE_OK;
}

grebe_status array_struct(const grebe_allocator *a, int64_t length, struct ArrowArray *columns,
                          size_t n, struct ArrowArray *out, grebe_error *err)
{
    grebe_status st = array_new(a, length, 1, (int64_t)n, out, err);
    if (st != GREBE_OK) {
        return st;
    }
    for (size_t i = 0; i < n; i++) {
        assert(columns[i].length == length);
        array_move(out->children[i], &columns[i]);
    }
    return GREBE_OK;
}
