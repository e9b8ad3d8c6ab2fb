/* SPDX-License-Identifier: Apache-2.0 */
/* Columns chosen, left out, renamed and cast. */
#include "iterable/iterable_internal.h"

#include <string.h>

#include "base/checked.h"

/* ---- chosen columns, perhaps under other names ---- */

enum choice { CHOICE_ONLY, CHOICE_WITHOUT, CHOICE_RENAMED };

struct columns_step {
    struct batch_step base;
    struct arena arena;
    enum choice choice;
    const char **names; /* shape [n] */
    const char **as;    /* CHOICE_RENAMED: shape [n] */
    size_t n;
};

static void columns_free(struct held *h)
{
    struct columns_step *c = (struct columns_step *)h;
    const grebe_allocator *a = c->arena.a;
    arena_release(&c->arena);
    mem_free(a, c, sizeof *c);
}

static size_t place_of(const struct columns_step *c, const char *name)
{
    size_t i = 0;
    while (i < c->n && strcmp(c->names[i], name) != 0) {
        i++;
    }
    return i;
}

/* Which columns of the schema stay, in their new order. Every name must be there. */
static grebe_status find_columns(const struct columns_step *c, const struct ArrowSchema *schema, struct buf *out,
                                 grebe_error *err)
{
    grebe_status st = GREBE_OK;
    int at = 0;
    for (size_t i = 0; i < c->n && st == GREBE_OK; i++) {
        st = schema_find(schema, c->names[i], &at, err);
        if (st == GREBE_OK && c->choice == CHOICE_ONLY) {
            st = buf_put(out, &at, sizeof at, err);
        }
    }
    for (at = 0; at < schema->n_children && st == GREBE_OK && c->choice != CHOICE_ONLY; at++) {
        if (c->choice == CHOICE_RENAMED || place_of(c, schema->children[at]->name) == c->n) {
            st = buf_put(out, &at, sizeof at, err);
        }
    }
    return st;
}

static grebe_status columns_type(const struct columns_step *c, const grebe_allocator *a, const struct ArrowSchema *from,
                                 const int *columns, size_t n, struct rows_type **out, grebe_error *err)
{
    struct ArrowSchema schema = { 0 };
    grebe_status st = schema_project(a, from, columns, n, &schema, err);
    for (size_t i = 0; i < n && st == GREBE_OK && c->choice == CHOICE_RENAMED; i++) {
        size_t k = place_of(c, schema.children[i]->name);
        if (k < c->n) {
            st = schema_set_name(a, schema.children[i], c->as[k], err);
        }
    }
    if (st == GREBE_OK) {
        st = schema_set_metadata(a, &schema, NULL, 0, err); /* tells of columns as they were */
    }
    if (st == GREBE_OK) {
        st = rows_type_new(a, &schema, out, err);
    }
    schema_release(&schema);
    return st;
}

static grebe_status columns_run(struct batch_step *self, grebe_context *ctx, const struct rows *in, int64_t first,
                                struct rows *out, grebe_error *err)
{
    struct columns_step *c = (struct columns_step *)self;
    struct buf columns = BUF_INIT(ctx->a), views = BUF_INIT(ctx->a);
    struct ArrowArray one = { 0 }, all = { 0 };
    struct rows_type *type = NULL;
    grebe_status st = GREBE_OK;
    (void)first;
    GREBE_TRY(find_columns(c, &in->type->schema, &columns, err));
    const int *chosen = (const int *)(const void *)columns.data;
    size_t n = columns.len / sizeof *chosen;
    GREBE_TRY(columns_type(c, ctx->a, &in->type->schema, chosen, n, &type, err));
    for (size_t i = 0; i < n; i++) {
        GREBE_TRY(array_view(in->data, array_shared_get(in->data)->children[chosen[i]], in->begin, in->n, &one, err));
        GREBE_TRY(buf_put(&views, &one, sizeof one, err));
        memset(&one, 0, sizeof one);
    }
    GREBE_TRY(array_struct(ctx->a, in->n, (struct ArrowArray *)(void *)views.data, n, &all, err));
    buf_clear(&views);
    st = rows_of(ctx->a, type, &all, out, err);
out:
    array_release(&one);
    for (size_t i = 0; i < views.len / sizeof one; i++) {
        array_release(&((struct ArrowArray *)(void *)views.data)[i]);
    }
    rows_type_drop(type);
    buf_release(&columns);
    buf_release(&views);
    return st;
}

static grebe_status columns_describe(const struct batch_step *self, struct buf *dst, grebe_error *err)
{
    const struct columns_step *c = (const struct columns_step *)self;
    grebe_status st = buf_printf(dst, err, " %d", (int)c->choice);
    for (size_t i = 0; i < c->n && st == GREBE_OK; i++) {
        st = buf_printf(dst, err, " %s>%s", c->names[i], c->as != NULL ? c->as[i] : "");
    }
    return st;
}

static grebe_status columns_step_new(const grebe_allocator *a, enum choice choice, const char *const *names,
                                     const char *const *as, size_t n, struct batch_step **out, grebe_error *err)
{
    struct columns_step *c = mem_alloc_zero(a, sizeof *c);
    if (c == NULL) {
        return mem_fail(err, sizeof *c, "columns");
    }
    atomic_init(&c->base.held.refs, 1);
    c->base.held.free = columns_free;
    c->base.name = "columns";
    c->base.run = columns_run;
    c->base.describe = columns_describe;
    c->arena = ARENA_INIT(a);
    c->choice = choice;
    c->n = n;
    c->names = arena_array(&c->arena, n, sizeof *c->names);
    c->as = as != NULL ? arena_array(&c->arena, n, sizeof *c->as) : NULL;
    bool is_made = c->names != NULL && (as == NULL || c->as != NULL);
    for (size_t i = 0; i < n && is_made; i++) {
        c->names[i] = arena_str(&c->arena, names[i], strlen(names[i]));
        is_made = c->names[i] != NULL;
        if (is_made && as != NULL) {
            c->as[i] = arena_str(&c->arena, as[i], strlen(as[i]));
            is_made = c->as[i] != NULL;
        }
    }
    if (!is_made) {
        held_drop(&c->base.held);
        return mem_fail(err, n * sizeof *names, "columns");
    }
    *out = &c->base;
    return GREBE_OK;
}

/* ---- features of what is chosen ---- */

static grebe_status choose_features(const grebe_iterable *it, const struct columns_step *c, struct features **out,
                                    grebe_error *err)
{
    const grebe_allocator *a = it->ctx->a;
    struct buf names = BUF_INIT(a), as = BUF_INIT(a);
    grebe_status st = GREBE_OK;
    for (size_t i = 0; i < c->n; i++) {
        if (features_find(it->features, c->names[i]) == NULL) {
            st = GREBE_FAIL(err, GREBE_ENOTFOUND, "column \"%s\" is not there", c->names[i]);
            goto out;
        }
        if (c->choice == CHOICE_ONLY) {
            GREBE_TRY(buf_put(&names, &c->names[i], sizeof(char *), err));
            GREBE_TRY(buf_put(&as, &c->names[i], sizeof(char *), err));
        }
    }
    for (size_t i = 0; i < it->features->top.n_fields && c->choice != CHOICE_ONLY; i++) {
        const char *name = it->features->top.fields[i].name;
        size_t k = place_of(c, name);
        if (c->choice == CHOICE_WITHOUT && k < c->n) {
            continue;
        }
        GREBE_TRY(buf_put(&names, &name, sizeof name, err));
        GREBE_TRY(buf_put(&as, k < c->n ? &c->as[k] : &name, sizeof name, err));
    }
    const char *const *to = (const char *const *)(const void *)as.data;
    size_t n = names.len / sizeof *to;
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < i; k++) {
            if (strcmp(to[i], to[k]) == 0) {
                st = GREBE_FAIL(err, GREBE_EINVAL, "two columns would be named \"%s\"", to[i]);
                goto out;
            }
        }
    }
    st = features_project(a, it->features, (const char *const *)(const void *)names.data, to, n, out, err);
out:
    buf_release(&names);
    buf_release(&as);
    return st;
}

static grebe_status choose_columns(const grebe_iterable *it, enum choice choice, const char *const *names,
                                   const char *const *as, size_t n, grebe_iterable **out, grebe_error *err)
{
    struct batch_step *step = NULL;
    struct features *features = NULL;
    struct node *root = NULL;
    *out = NULL;
    grebe_status st = columns_step_new(it->ctx->a, choice, names, as, n, &step, err);
    if (st == GREBE_OK && it->features != NULL) {
        st = choose_features(it, (struct columns_step *)step, &features, err);
    }
    if (st != GREBE_OK) {
        held_drop(step != NULL ? &step->held : NULL);
        return st;
    }
    st = apply_new(it->root, step, iterable_is_typed(it), &root, err);
    if (st != GREBE_OK) {
        features_free(features);
        return st;
    }
    return iterable_new(it->ctx, it, root, features, it->is_typed, out, err);
}

grebe_status grebe_iterable_select_columns(const grebe_iterable *it, const char *const *columns, size_t n,
                                           grebe_iterable **out, grebe_error *err)
{
    return choose_columns(it, CHOICE_ONLY, columns, NULL, n, out, err);
}

grebe_status grebe_iterable_remove_columns(const grebe_iterable *it, const char *const *columns, size_t n,
                                           grebe_iterable **out, grebe_error *err)
{
    return choose_columns(it, CHOICE_WITHOUT, columns, NULL, n, out, err);
}

grebe_status grebe_iterable_rename_columns(const grebe_iterable *it, const grebe_column_rename *names, size_t n,
                                           grebe_iterable **out, grebe_error *err)
{
    const grebe_allocator *a = it->ctx->a;
    const char **list = mem_alloc(a, 2 * n * sizeof *list);
    *out = NULL;
    if (list == NULL) {
        return mem_fail(err, 2 * n * sizeof *list, "columns");
    }
    grebe_status st = GREBE_OK;
    for (size_t i = 0; i < n; i++) {
        list[i] = names[i].from;
        list[n + i] = names[i].to;
        if (names[i].to[0] == '\0') {
            st = GREBE_FAIL(err, GREBE_EINVAL, "column \"%s\" would have an empty name", names[i].from);
        }
    }
    if (st == GREBE_OK) {
        st = choose_columns(it, CHOICE_RENAMED, list, list + n, n, out, err);
    }
    mem_free(a, list, 2 * n * sizeof *list);
    return st;
}

/* ---- casts ---- */

struct cast_step {
    struct batch_step base;
    const grebe_allocator *a;
    struct features *features; /* what the columns shall be */
    bool is_partial;           /* the named columns alone; others as they are */
};

static void cast_free(struct held *h)
{
    struct cast_step *c = (struct cast_step *)h;
    features_free(c->features);
    mem_free(c->a, c, sizeof *c);
}

static grebe_status cast_describe(const struct batch_step *self, struct buf *dst, grebe_error *err)
{
    const struct cast_step *c = (const struct cast_step *)self;
    grebe_status st = buf_printf(dst, err, " %d ", c->is_partial);
    return st != GREBE_OK ? st : features_to_json(c->features, -1, 0, dst, err);
}

static grebe_status cast_run(struct batch_step *self, grebe_context *ctx, const struct rows *in, int64_t first,
                             struct rows *out, grebe_error *err)
{
    struct cast_step *c = (struct cast_step *)self;
    struct features *found = NULL, *all = NULL;
    struct ArrowArray array = { 0 }, cast = { 0 };
    struct ArrowSchema schema = { 0 };
    struct rows_type *type = NULL;
    struct feature_cast_options o = { .is_missing_null = !c->is_partial, .is_extra_dropped = true, .first_row = first };
    grebe_status st = GREBE_OK;
    if (c->is_partial) {
        GREBE_TRY(features_from_schema(ctx->a, &in->type->schema, true, &found, err));
        for (size_t i = 0; i < c->features->top.n_fields; i++) {
            if (features_find(found, c->features->top.fields[i].name) == NULL) {
                st = GREBE_FAIL(err, GREBE_ENOTFOUND, "column \"%s\" is not there", c->features->top.fields[i].name);
                goto out;
            }
        }
        GREBE_TRY(features_merge(ctx->a, found, c->features, &all, err));
    }
    const struct features *to = c->is_partial ? all : c->features;
    GREBE_TRY(rows_array(in, &array, err));
    GREBE_TRY(features_cast(ctx->a, to, &in->type->schema, &array, &o, &cast, err));
    GREBE_TRY(features_to_schema(ctx->a, to, &schema, err));
    GREBE_TRY(rows_type_new(ctx->a, &schema, &type, err));
    st = rows_of(ctx->a, type, &cast, out, err);
out:
    rows_type_drop(type);
    schema_release(&schema);
    features_free(found);
    features_free(all);
    return st;
}

static grebe_status cast_node(struct node *kid, const struct features *features, bool is_partial, bool is_typed,
                              struct node **out, grebe_error *err)
{
    const grebe_allocator *a = kid->ctx->a;
    struct cast_step *c = mem_alloc_zero(a, sizeof *c);
    struct buf json = BUF_INIT(a);
    if (c == NULL) {
        return mem_fail(err, sizeof *c, "a cast");
    }
    atomic_init(&c->base.held.refs, 1);
    c->base.held.free = cast_free;
    c->base.name = "cast";
    c->base.run = cast_run;
    c->base.describe = cast_describe;
    c->a = a;
    c->is_partial = is_partial;
    grebe_status st = features_to_json(features, -1, 0, &json, err);
    if (st == GREBE_OK) {
        st = features_from_json(a, (const char *)json.data, json.len, &c->features, err);
    }
    buf_release(&json);
    if (st != GREBE_OK) {
        held_drop(&c->base.held);
        return st;
    }
    return apply_new(kid, &c->base, is_typed, out, err);
}

grebe_status cast_new(struct node *kid, const struct features *features, bool is_typed, struct node **out,
                      grebe_error *err)
{
    return cast_node(kid, features, false, is_typed, out, err);
}

grebe_status grebe_iterable_cast(const grebe_iterable *it, const char *features, bool is_partial, grebe_iterable **out,
                                 grebe_error *err)
{
    const grebe_allocator *a = it->ctx->a;
    struct features *to = NULL, *all = NULL;
    struct node *root = NULL;
    grebe_status st = GREBE_OK;
    *out = NULL;
    GREBE_TRY(features_from_json(a, features, strlen(features), &to, err));
    for (size_t i = 0; i < to->top.n_fields && it->features != NULL; i++) {
        if (features_find(it->features, to->top.fields[i].name) == NULL) {
            st = GREBE_FAIL(err, GREBE_ENOTFOUND, "column \"%s\" is not there", to->top.fields[i].name);
            goto out;
        }
    }
    if (!is_partial && it->features != NULL && it->features->top.n_fields != to->top.n_fields) {
        st = GREBE_FAIL(err, GREBE_EINVAL, "a cast to %zu columns: there are %zu", to->top.n_fields,
                        it->features->top.n_fields);
        goto out;
    }
    GREBE_TRY(cast_node(it->root, to, is_partial, iterable_is_typed(it), &root, err));
    if (is_partial && it->features != NULL) {
        GREBE_TRY(features_merge(a, it->features, to, &all, err));
    } else if (!is_partial) {
        all = to;
        to = NULL;
    }
    bool is_typed = it->is_typed || !is_partial;
    st = iterable_new(it->ctx, it, root, all, is_typed, out, err);
    root = NULL;
    all = NULL;
out:
    node_drop(root);
    features_free(to);
    features_free(all);
    return st;
}
