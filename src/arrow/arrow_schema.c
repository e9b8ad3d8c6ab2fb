/* SPDX-License-Identifier: Apache-2.0 */
#include "arrow/arrow_schema.h"

#include <assert.h>
#include <string.h>

#include "arrow/arrow_schema_internal.h"
#include "base/checked.h"

/*
 * A node is one block: the private head, then the child structs, then the pointers to them.
 * Consumers may move a child out (copy it and set its release to NULL): its memory stays here.
 */
struct schema_private {
    const grebe_allocator *a;
    size_t block_len;
    size_t metadata_len;
};

static void node_release(struct ArrowSchema *schema)
{
    struct schema_private *p = schema->private_data;
    for (int64_t i = 0; i < schema->n_children; i++) {
        schema_release(schema->children[i]);
    }
    if (schema->dictionary != NULL) {
        schema_release(schema->dictionary);
        mem_free(p->a, schema->dictionary, sizeof *schema->dictionary);
    }
    str_free(p->a, (char *)(uintptr_t)schema->format);
    str_free(p->a, (char *)(uintptr_t)schema->name);
    mem_free(p->a, (char *)(uintptr_t)schema->metadata, p->metadata_len);
    mem_free(p->a, p, p->block_len);
    memset(schema, 0, sizeof *schema);
}

void schema_release(struct ArrowSchema *schema)
{
    if (schema != NULL && schema->release != NULL) {
        schema->release(schema);
        memset(schema, 0, sizeof *schema);
    }
}

void schema_move(struct ArrowSchema *dst, struct ArrowSchema *src)
{
    *dst = *src;
    memset(src, 0, sizeof *src);
}

grebe_status schema_new(const grebe_allocator *a, const char *format, const char *name,
                        bool is_nullable, int64_t n_children, struct ArrowSchema *out,
                        grebe_error *err)
{
    assert(a != NULL && format != NULL && out != NULL && n_children >= 0);
    memset(out, 0, sizeof *out);
    size_t per_child = sizeof(struct ArrowSchema) + sizeof(struct ArrowSchema *);
    size_t len = 0;
    if (!checked_mul_size((size_t)n_children, per_child, &len) ||
        !checked_add_size(len, sizeof(struct schema_private), &len)) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "a type with %lld children does not fit in memory",
                          (long long)n_children);
    }
    struct schema_private *p = mem_alloc_zero(a, len);
    char *format_copy = str_copy(a, format);
    char *name_copy = str_copy(a, name != NULL ? name : "");
    if (p == NULL || format_copy == NULL || name_copy == NULL) {
        mem_free(a, p, len);
        str_free(a, format_copy);
        str_free(a, name_copy);
        return mem_fail(err, len, "a schema");
    }
    p->a = a;
    p->block_len = len;
    out->format = format_copy;
    out->name = name_copy;
    out->flags = is_nullable ? ARROW_FLAG_NULLABLE : 0;
    out->n_children = n_children;
    if (n_children > 0) {
        struct ArrowSchema *children = (struct ArrowSchema *)(p + 1);
        out->children = (struct ArrowSchema **)(children + n_children);
        for (int64_t i = 0; i < n_children; i++) {
            out->children[i] = &children[i];
        }
    }
    out->private_data = p;
    out->release = node_release;
    return GREBE_OK;
}

grebe_status schema_set_dictionary(const grebe_allocator *a, struct ArrowSchema *schema,
                                   struct ArrowSchema *values, grebe_error *err)
{
    assert(schema->release == node_release && schema->dictionary == NULL);
    struct ArrowSchema *slot = mem_alloc(a, sizeof *slot);
    if (slot == NULL) {
        return mem_fail(err, sizeof *slot, "a schema");
    }
    schema_move(slot, values);
    schema->dictionary = slot;
    return GREBE_OK;
}

grebe_status schema_set_name(const grebe_allocator *a, struct ArrowSchema *schema,
                             const char *name, grebe_error *err)
{
    assert(schema->release == node_release);
    char *copy = str_copy(a, name != NULL ? name : "");
    if (copy == NULL) {
        return mem_fail(err, 1, "a name");
    }
    str_free(a, (char *)(uintptr_t)schema->name);
    schema->name = copy;
    return GREBE_OK;
}

grebe_status schema_set_format(const grebe_allocator *a, struct ArrowSchema *schema,
                               const char *format, grebe_error *err)
{
    assert(schema->release == node_release);
    char *copy = str_copy(a, format);
    if (copy == NULL) {
        return mem_fail(err, strlen(format), "a format string");
    }
    str_free(a, (char *)(uintptr_t)schema->format);
    schema->format = copy;
    return GREBE_OK;
}

/* The node whose type a field has once dictionaries and runs are values. */
static const struct ArrowSchema *plain_type(const struct ArrowSchema *field)
{
    for (;;) {
        if (field->dictionary != NULL) {
            field = field->dictionary;
        } else if (strcmp(field->format, "+r") == 0 && field->n_children == 2) {
            field = field->children[1];
        } else {
            return field;
        }
    }
}

static const char *plain_format(const char *format)
{
    return strcmp(format, "+vl") == 0 ? "+l" : strcmp(format, "+vL") == 0 ? "+L" : format;
}

static grebe_status copy_node(const grebe_allocator *a, const struct ArrowSchema *src,
                              bool is_plain, int depth, struct ArrowSchema *out, grebe_error *err)
{
    grebe_status st = GREBE_OK;

    memset(out, 0, sizeof *out);
    if (src->release == NULL || src->format == NULL) {
        return GREBE_FAIL(err, GREBE_ESCHEMA, "a schema was released before it was used");
    }
    if (depth > ARROW_DEPTH_MAX) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "types are nested deeper than %d", ARROW_DEPTH_MAX);
    }
    const struct ArrowSchema *type = is_plain ? plain_type(src) : src;
    GREBE_TRY(schema_new(a, is_plain ? plain_format(type->format) : type->format, src->name, false,
                         type->n_children, out, err));
    out->flags = (type->flags & ~(int64_t)ARROW_FLAG_NULLABLE) | (src->flags & ARROW_FLAG_NULLABLE);
    for (int64_t i = 0; i < type->n_children; i++) {
        GREBE_TRY(copy_node(a, type->children[i], is_plain, depth + 1, out->children[i], err));
    }
    if (type->dictionary != NULL) {
        struct ArrowSchema values;
        GREBE_TRY(copy_node(a, type->dictionary, is_plain, depth + 1, &values, err));
        st = schema_set_dictionary(a, out, &values, err);
        if (st != GREBE_OK) {
            schema_release(&values);
            goto out;
        }
    }
    GREBE_TRY(schema_copy_metadata(a, src, out, err));
out:
    if (st != GREBE_OK) {
        schema_release(out);
    }
    return st;
}

grebe_status schema_copy(const grebe_allocator *a, const struct ArrowSchema *src,
                         struct ArrowSchema *out, grebe_error *err)
{
    return copy_node(a, src, false, 0, out, err);
}

grebe_status schema_copy_plain(const grebe_allocator *a, const struct ArrowSchema *src,
                               struct ArrowSchema *out, grebe_error *err)
{
    return copy_node(a, src, true, 0, out, err);
}

int schema_child(const struct ArrowSchema *schema, const char *name)
{
    for (int64_t i = 0; i < schema->n_children; i++) {
        if (strcmp(schema->children[i]->name, name) == 0) {
            return (int)i;
        }
    }
    return -1;
}

grebe_status schema_struct(const grebe_allocator *a, const struct ArrowSchema *const *fields,
                           size_t n, struct ArrowSchema *out, grebe_error *err)
{
    grebe_status st = schema_new(a, "+s", "", false, (int64_t)n, out, err);
    for (size_t i = 0; i < n && st == GREBE_OK; i++) {
        st = schema_copy(a, fields[i], out->children[i], err);
    }
    if (st != GREBE_OK) {
        schema_release(out);
    }
    return st;
}

grebe_status schema_project(const grebe_allocator *a, const struct ArrowSchema *src,
                            const int *columns, size_t n, struct ArrowSchema *out,
                            grebe_error *err)
{
    grebe_status st = GREBE_OK;

    GREBE_TRY(schema_new(a, src->format, src->name, false, (int64_t)n, out, err));
    out->flags = src->flags;
    for (size_t i = 0; i < n; i++) {
        assert(columns[i] >= 0 && columns[i] < src->n_children);
        GREBE_TRY(schema_copy(a, src->children[columns[i]], out->children[i], err));
    }
    GREBE_TRY(schema_copy_metadata(a, src, out, err));
out:
    if (st != GREBE_OK) {
        schema_release(out);
    }
    return st;
}

void schema_adopt_metadata(struct ArrowSchema *schema, char *metadata, size_t len)
{
    assert(schema->release == node_release);
    struct schema_private *p = schema->private_data;
    mem_free(p->a, (char *)(uintptr_t)schema->metadata, p->metadata_len);
    schema->metadata = metadata;
    p->metadata_len = len;
}
