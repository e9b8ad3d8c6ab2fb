/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "dataset/transform.h"

/* Fields that a column falls into; 0: it stays. Media and translations are structs of their storage. */
static size_t n_parts(const struct feature *f, const struct ArrowSchema *type)
{
    if (f->kind == FEATURE_STRUCT || f->kind == FEATURE_TRANSLATION || f->kind == FEATURE_TRANSLATION_VARIABLE ||
        (f->kind == FEATURE_MEDIA && f->is_undecoded)) {
        return (size_t)type->n_children;
    }
    return 0;
}

static char *joined_name(struct arena *ar, const char *parent, const char *child)
{
    size_t n = strlen(parent), m = strlen(child);
    char *name = arena_alloc(ar, n + m + 2);
    if (name != NULL) {
        memcpy(name, parent, n);
        name[n] = '.';
        memcpy(name + n + 1, child, m + 1);
    }
    return name;
}

/* The features one level down: of structs those of the fields, of others by the types. */
static grebe_status flat_features(const grebe_allocator *a, const struct features *f, const struct ArrowSchema *schema,
                                  struct arena *ar, struct buf *columns, struct features **out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct ArrowSchema flat = { 0 };
    struct features *derived = NULL;
    struct feature *fields = NULL;
    size_t n = 0, at = 0;
    for (size_t i = 0; i < f->top.n_fields; i++) {
        size_t k = n_parts(&f->top.fields[i], schema->children[i]);
        n += k > 0 ? k : 1;
    }
    fields = arena_array(ar, n + 1, sizeof *fields);
    if (fields == NULL) {
        return mem_fail(err, n * sizeof *fields, "features");
    }
    GREBE_TRY(schema_new(a, "+s", "", false, (int64_t)n, &flat, err));
    for (size_t i = 0; i < f->top.n_fields; i++) {
        const struct feature *field = &f->top.fields[i];
        size_t parts = n_parts(field, schema->children[i]);
        for (size_t k = 0; k < (parts > 0 ? parts : 1); k++, at++) {
            int pair[2] = { (int)i, parts > 0 ? (int)k : -1 };
            const struct ArrowSchema *type = parts > 0 ? schema->children[i]->children[k] : schema->children[i];
            char *name = parts > 0 ? joined_name(ar, field->name, type->name) : NULL;
            GREBE_TRY(buf_put(columns, pair, sizeof pair, err));
            GREBE_TRY(schema_copy(a, type, flat.children[at], err));
            if (parts > 0) {
                st = name == NULL ? mem_fail(err, 1, "a name") : schema_set_name(a, flat.children[at], name, err);
                if (st != GREBE_OK) {
                    goto out;
                }
            }
            if (field->kind == FEATURE_STRUCT) {
                fields[at] = field->fields[k];
                fields[at].name = name;
            } else if (parts == 0) {
                fields[at] = *field;
            }
        }
    }
    GREBE_TRY(features_from_schema(a, &flat, false, &derived, err));
    for (size_t i = 0; i < n; i++) {
        if (fields[i].type_name == NULL) {
            fields[i] = derived->top.fields[i];
        }
    }
    /* a tree over both, copied */
    struct features both = { ARENA_INIT(a), derived->top };
    both.top.fields = fields;
    both.top.n_fields = n;
    const char **names = arena_array(ar, n + 1, sizeof *names);
    if (names == NULL) {
        st = mem_fail(err, n * sizeof *names, "columns");
        goto out;
    }
    for (size_t i = 0; i < n; i++) {
        names[i] = fields[i].name;
        for (size_t k = 0; k < i; k++) {
            if (strcmp(names[k], names[i]) == 0) {
                st = GREBE_FAIL(err, GREBE_EINVAL, "column \"%.64s\": two columns would have this name", names[i]);
                goto out;
            }
        }
    }
    GREBE_TRY(features_project(a, &both, names, NULL, n, out, err));
out:
    schema_release(&flat);
    features_free(derived);
    return st;
}

/* One level less. *is_done: there was no struct. */
static grebe_status flatten_once(const grebe_allocator *a, struct dataset_table **table, struct features **f,
                                 bool *is_done, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct arena ar = ARENA_INIT(a);
    struct ArrowSchema schema = { 0 }, flat = { 0 };
    struct buf pairs = BUF_INIT(a);
    struct features *next = NULL;
    struct dataset_table *made = NULL;
    *is_done = true;
    GREBE_TRY(features_to_schema(a, *f, &schema, err));
    for (size_t i = 0; i < (*f)->top.n_fields; i++) {
        *is_done = *is_done && n_parts(&(*f)->top.fields[i], schema.children[i]) == 0;
    }
    if (*is_done) {
        goto out;
    }
    GREBE_TRY(flat_features(a, *f, &schema, &ar, &pairs, &next, err));
    GREBE_TRY(features_to_schema(a, next, &flat, err));
    size_t n = pairs.len / (2 * sizeof(int));
    int *columns = arena_array(&ar, n + 1, sizeof *columns), *steps = arena_array(&ar, n + 1, sizeof *steps);
    if (columns == NULL || steps == NULL) {
        st = mem_fail(err, n * sizeof *columns, "columns");
        goto out;
    }
    for (size_t i = 0; i < n; i++) {
        columns[i] = ((const int *)(const void *)pairs.data)[2 * i];
        steps[i] = ((const int *)(const void *)pairs.data)[2 * i + 1];
    }
    GREBE_TRY(dataset_table_flatten(*table, columns, steps, &flat, &made, err));
    dataset_table_drop(*table);
    features_free(*f);
    *table = made;
    *f = next;
    next = NULL;
out:
    features_free(next);
    buf_release(&pairs);
    schema_release(&schema);
    schema_release(&flat);
    arena_release(&ar);
    return st;
}

grebe_status grebe_dataset_flatten(const grebe_dataset *ds, int max_depth, const grebe_transform_options *options,
                                   grebe_dataset **out, grebe_error *err)
{
    enum { DEPTH_DEFAULT = 16 };
    GREBE_CHECK_ARG(err, ds != NULL && max_depth >= 0 && out != NULL);
    grebe_status st = GREBE_OK;
    struct transform t;
    struct derived d = { 0 };
    bool is_done = false;
    int depth = max_depth > 0 ? max_depth : DEPTH_DEFAULT;
    *out = NULL;
    GREBE_TRY(transform_begin(&t, ds, options, "flatten", err));
    GREBE_TRY(transform_arg_name(&t, err));
    if (depth != DEPTH_DEFAULT) {
        GREBE_TRY(fingerprint_arg_int(&t.f, "max_depth", depth, err));
    }
    GREBE_TRY(transform_seal(&t, NULL, err));
    d.table = dataset_table_keep(ds->table);
    GREBE_TRY(dataset_copy_features(ds, &d.features, err));
    for (int i = 0; i < depth && !is_done; i++) {
        GREBE_TRY(flatten_once(ds->ctx->a, &d.table, &d.features, &is_done, err));
    }
    GREBE_TRY(dataset_derive(ds, &d, t.fingerprint, out, err));
out:
    dataset_table_drop(d.table);
    features_free(d.features);
    transform_end(&t);
    return st;
}
