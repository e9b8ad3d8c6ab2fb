/* SPDX-License-Identifier: Apache-2.0 */
#include "arrow/ipc_dictionary.h"

#include <assert.h>
#include <string.h>

#include "arrow/arrow_internal.h"

static void list_dictionaries(const struct ArrowSchema *schema, const struct ipc_ids *ids,
                              struct ipc_dictionaries *out)
{
    const struct ArrowSchema *values = schema;
    if (schema->dictionary != NULL) {
        out->items[out->n] = (struct ipc_dictionary){ schema, ids->ids[out->n], NULL, BUF_INIT(ids->a) };
        out->n++;
        values = schema->dictionary;
    }
    for (int64_t i = 0; i < values->n_children; i++) {
        list_dictionaries(values->children[i], ids, out);
    }
}

grebe_status ipc_dictionaries_new(const grebe_allocator *a, const struct ArrowSchema *schema,
                                  const struct ipc_ids *ids, struct ipc_dictionaries *out,
                                  grebe_error *err)
{
    size_t n = ipc_dictionary_count(schema);
    *out = (struct ipc_dictionaries){ NULL, 0 };
    assert(n == ids->n);
    if (n == 0) {
        return GREBE_OK;
    }
    out->items = mem_alloc_zero(a, n * sizeof *out->items);
    if (out->items == NULL) {
        return mem_fail(err, n * sizeof *out->items, "dictionaries");
    }
    list_dictionaries(schema, ids, out);
    return GREBE_OK;
}

static void drop_deltas(struct ipc_dictionary *d)
{
    for (size_t at = 0; at < d->deltas.len; at += sizeof(struct ArrowArray)) {
        array_release((struct ArrowArray *)(void *)(d->deltas.data + at));
    }
    buf_release(&d->deltas);
}

void ipc_dictionaries_release(const grebe_allocator *a, struct ipc_dictionaries *d)
{
    for (size_t i = 0; i < d->n; i++) {
        drop_deltas(&d->items[i]);
        array_shared_drop(d->items[i].values);
    }
    mem_free(a, d->items, d->n * sizeof *d->items);
    *d = (struct ipc_dictionaries){ NULL, 0 };
}

/* All parts joined at once: one by one, many deltas would take the square of their number. */
static grebe_status settle(const grebe_allocator *a, struct ipc_dictionary *d, grebe_error *err)
{
    size_t n = d->deltas.len / sizeof(struct ArrowArray);
    struct ArrowArray joined;
    struct array_shared *shared = NULL;
    if (n == 0) {
        return GREBE_OK;
    }
    const struct ArrowArray **parts = mem_alloc(a, (n + 1) * sizeof *parts);
    if (parts == NULL) {
        return mem_fail(err, (n + 1) * sizeof *parts, "a dictionary");
    }
    parts[0] = array_shared_get(d->values);
    for (size_t i = 0; i < n; i++) {
        parts[i + 1] = (struct ArrowArray *)(void *)d->deltas.data + i;
    }
    grebe_status st = array_concat(a, d->field->dictionary, parts, n + 1, &joined, err);
    mem_free(a, parts, (n + 1) * sizeof *parts);
    if (st == GREBE_OK) {
        st = array_share(a, &joined, &shared, err);
        array_release(&joined);
    }
    if (st == GREBE_OK) {
        drop_deltas(d);
        array_shared_drop(d->values);
        d->values = shared;
    }
    return st;
}

grebe_status ipc_dictionaries_settle(const grebe_allocator *a, struct ipc_dictionaries *d,
                                     grebe_error *err)
{
    grebe_status st = GREBE_OK;
    for (size_t i = 0; i < d->n && st == GREBE_OK; i++) {
        st = settle(a, &d->items[i], err);
    }
    return st;
}

struct ipc_dictionary *ipc_dictionary_find(const struct ipc_dictionaries *d, int64_t id)
{
    for (size_t i = 0; i < d->n; i++) {
        if (d->items[i].id == id) {
            return &d->items[i];
        }
    }
    return NULL;
}

bool ipc_dictionary_is_set(const struct ipc_dictionaries *d, int64_t id)
{
    const struct ipc_dictionary *found = ipc_dictionary_find(d, id);
    return found != NULL && found->values != NULL;
}

grebe_status ipc_dictionary_take(const grebe_allocator *a, struct ipc_dictionary *d, bool is_delta,
                                 struct ArrowArray *values, grebe_error *err)
{
    struct array_shared *shared = NULL;
    grebe_status st = GREBE_OK;
    if (is_delta && d->values != NULL) {
        st = buf_put(&d->deltas, values, sizeof *values, err);
        if (st == GREBE_OK) {
            memset(values, 0, sizeof *values);
        }
        return st;
    }
    st = array_share(a, values, &shared, err);
    if (st == GREBE_OK) {
        drop_deltas(d);
        array_shared_drop(d->values);
        d->values = shared;
    }
    return st;
}

grebe_status ipc_dictionary_values(const grebe_allocator *a, const struct ipc_dictionaries *d,
                                   const struct ArrowSchema *field, struct ArrowArray *out,
                                   grebe_error *err)
{
    const struct ipc_dictionary *own = NULL;
    for (size_t i = 0; i < d->n && own == NULL; i++) {
        own = d->items[i].field == field ? &d->items[i] : NULL;
    }
    assert(own != NULL);
    struct ipc_dictionary *holder = ipc_dictionary_find(d, own->id);
    grebe_status st = settle(a, holder, err);
    if (st != GREBE_OK) {
        return st;
    }
    if (holder->values == NULL) {
        return array_nulls(a, field->dictionary, 0, out, err);
    }
    if (!schema_equal(holder->field->dictionary, field->dictionary, SCHEMA_EQUAL_IGNORE_METADATA)) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "dictionary %lld is used with two types",
                          (long long)own->id);
    }
    const struct ArrowArray *whole = array_shared_get(holder->values);
    return array_view(holder->values, whole, 0, whole->length, out, err);
}
