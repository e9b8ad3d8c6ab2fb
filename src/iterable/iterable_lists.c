/* SPDX-License-Identifier: Apache-2.0 */
/* Rows as lists: of so many rows each, or of neighbours that are equal in a column. */
#include "iterable/iterable_internal.h"

#include <string.h>

#include "base/checked.h"

/* ---- rows to lists ---- */

/* Struct of list<column>: the type of rows that are batches of these. */
static grebe_status lists_type(const grebe_allocator *a, const struct ArrowSchema *from, struct rows_type **out,
                               grebe_error *err)
{
    struct ArrowSchema all = { 0 };
    grebe_status st = schema_new(a, "+s", "", false, from->n_children, &all, err);
    for (int64_t i = 0; i < from->n_children && st == GREBE_OK; i++) {
        st = schema_new(a, "+l", from->children[i]->name, true, 1, all.children[i], err);
        if (st == GREBE_OK) {
            st = schema_copy(a, from->children[i], all.children[i]->children[0], err);
        }
        if (st == GREBE_OK) {
            st = schema_set_name(a, all.children[i]->children[0], "item", err);
        }
    }
    if (st == GREBE_OK) {
        st = rows_type_new(a, &all, out, err);
    }
    schema_release(&all);
    return st;
}

/* One column as lists that end at ends[0 .. n). */
static grebe_status lists_column(const grebe_allocator *a, const struct rows *in, int64_t child, const int64_t *ends,
                                 int64_t n, struct ArrowArray *out, grebe_error *err)
{
    void *p = NULL;
    grebe_status st = array_new(a, n, 2, 1, out, err);
    if (st == GREBE_OK) {
        st = array_alloc_buffer(a, out, 1, (size_t)(n + 1) * sizeof(int32_t), &p, err);
    }
    if (st == GREBE_OK) {
        int32_t *offsets = p;
        offsets[0] = 0;
        for (int64_t i = 0; i < n; i++) {
            offsets[i + 1] = (int32_t)ends[i];
        }
        st = array_view(in->data, array_shared_get(in->data)->children[child], in->begin, in->n, out->children[0], err);
    }
    if (st != GREBE_OK) {
        array_release(out);
    }
    return st;
}

/* All rows of `in` as n rows of lists. */
static grebe_status make_lists(const grebe_allocator *a, const struct rows *in, const int64_t *ends, int64_t n,
                               struct rows *out, grebe_error *err)
{
    struct buf columns = BUF_INIT(a);
    struct ArrowArray one = { 0 }, all = { 0 };
    struct rows_type *type = NULL;
    grebe_status st = GREBE_OK;
    if (in->n > INT32_MAX) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "%lld rows in one list", (long long)in->n);
    }
    GREBE_TRY(lists_type(a, &in->type->schema, &type, err));
    for (int64_t i = 0; i < in->type->schema.n_children; i++) {
        GREBE_TRY(lists_column(a, in, i, ends, n, &one, err));
        GREBE_TRY(buf_put(&columns, &one, sizeof one, err));
        memset(&one, 0, sizeof one);
    }
    GREBE_TRY(array_struct(a, n, (struct ArrowArray *)(void *)columns.data, columns.len / sizeof one, &all, err));
    buf_clear(&columns);
    st = rows_of(a, type, &all, out, err);
out:
    array_release(&one);
    for (size_t i = 0; i < columns.len / sizeof one; i++) {
        array_release(&((struct ArrowArray *)(void *)columns.data)[i]);
    }
    buf_release(&columns);
    rows_type_drop(type);
    return st;
}

/* ---- lists of so many rows ---- */

struct list_step {
    struct batch_step base;
    const grebe_allocator *a;
};

static void list_free(struct held *h)
{
    struct list_step *l = (struct list_step *)h;
    mem_free(l->a, l, sizeof *l);
}

static grebe_status list_run(struct batch_step *self, grebe_context *ctx, const struct rows *in, int64_t first,
                             struct rows *out, grebe_error *err)
{
    (void)self;
    (void)first;
    return make_lists(ctx->a, in, &in->n, 1, out, err);
}

static grebe_status lists_new(const grebe_iterable *it, int64_t batch_rows, bool drop_last, struct node **out,
                              grebe_error *err)
{
    const grebe_allocator *a = it->ctx->a;
    struct list_step *l = mem_alloc_zero(a, sizeof *l);
    if (l == NULL) {
        return mem_fail(err, sizeof *l, "lists");
    }
    atomic_init(&l->base.held.refs, 1);
    l->base.held.free = list_free;
    l->base.name = "lists";
    l->base.batch_rows = batch_rows;
    l->base.is_last_dropped = drop_last;
    l->base.is_by_row = true;
    l->base.run = list_run;
    l->a = a;
    return apply_new(it->root, &l->base, iterable_is_typed(it), out, err);
}

/* ---- lists of equal neighbours. node: held: the column; is_typed ---- */

struct column_name {
    struct held held;
    const grebe_allocator *a;
    char *name;
};

static void column_name_free(struct held *h)
{
    struct column_name *c = (struct column_name *)h;
    str_free(c->a, c->name);
    mem_free(c->a, c, sizeof *c);
}

struct equal_reader {
    struct reader base;
    struct node *node;
    struct reader *kid;
};

/* Rows from the first on that have its value in column `at`. */
static grebe_status equal_run(const struct rows *in, int at, const struct rows *first, int64_t *n, grebe_error *err)
{
    const struct ArrowSchema *schema = in->type->schema.children[at];
    struct ArrowArray x = { 0 }, y = { 0 };
    grebe_status st = array_view(first->data, array_shared_get(first->data)->children[at], first->begin, 1, &x, err);
    *n = 0;
    while (st == GREBE_OK && *n < in->n) {
        st = array_view(in->data, array_shared_get(in->data)->children[at], in->begin + *n, 1, &y, err);
        bool is_same = st == GREBE_OK && array_equal(schema, &x, &y);
        array_release(&y);
        if (!is_same) {
            break;
        }
        (*n)++;
    }
    array_release(&x);
    return st;
}

static grebe_status equal_produce(struct reader *r, int64_t want, struct rows *out, grebe_error *err)
{
    struct equal_reader *e = (struct equal_reader *)r;
    const struct column_name *c = (const struct column_name *)e->node->held;
    const grebe_allocator *a = r->env.ctx->a;
    struct buf parts = BUF_INIT(a);
    struct rows whole = { 0 };
    grebe_status st = GREBE_OK;
    for (bool is_open = true; is_open;) {
        bool has = false;
        int at = 0;
        GREBE_TRY(reader_has_more(e->kid, want, &has, err));
        if (!has) {
            break;
        }
        struct rows waiting = rows_view(&e->kid->pending, e->kid->given, e->kid->pending.n - e->kid->given),
                    part = { 0 };
        int64_t n = 0;
        st = schema_find(&waiting.type->schema, c->name, &at, err);
        if (st == GREBE_OK) {
            st = equal_run(&waiting, at, parts.len > 0 ? (struct rows *)(void *)parts.data : &waiting, &n, err);
        }
        is_open = n == waiting.n;
        rows_release(&waiting);
        GREBE_TRY(st);
        if (n > 0) {
            GREBE_TRY(reader_next(e->kid, n, n, &part, err));
            st = buf_put(&parts, &part, sizeof part, err);
            if (st != GREBE_OK) {
                rows_release(&part);
                goto out;
            }
        }
    }
    if (parts.len == 0) {
        st = GREBE_END;
        goto out;
    }
    GREBE_TRY(rows_join(a, (struct rows *)(void *)parts.data, parts.len / sizeof whole, &whole, err));
    st = make_lists(a, &whole, &whole.n, 1, out, err);
out:
    for (size_t i = 0; i < parts.len / sizeof whole; i++) {
        rows_release(&((struct rows *)(void *)parts.data)[i]);
    }
    buf_release(&parts);
    rows_release(&whole);
    return st;
}

static grebe_status equal_save(struct reader *r, struct mark **out, grebe_error *err)
{
    struct mark_builder b = MARK_BUILDER_INIT(r->env.ctx->a);
    grebe_status st = place_put(&b, ((struct equal_reader *)r)->kid, err);
    if (st != GREBE_OK) {
        mark_builder_release(&b);
        return st;
    }
    return mark_finish(&b, out, err);
}

static grebe_status equal_load(struct reader *r, const struct mark *m, grebe_error *err)
{
    struct reader *kid = ((struct equal_reader *)r)->kid;
    return m != NULL ? place_get(kid, m, 0, 0, err) : reader_load(kid, NULL, 0, err);
}

static void equal_free(struct reader *r)
{
    struct equal_reader *e = (struct equal_reader *)r;
    reader_free(e->kid);
    node_drop(e->node);
    reader_dealloc(r, sizeof *e);
}

static const struct reader_ops equal_reader_ops = { equal_produce, equal_save, equal_load, equal_free };

static grebe_status equal_open(const struct node *n, const struct reading *env, struct reader **out, grebe_error *err)
{
    struct reading below = *env;
    below.are_tables = node_yields_tables(n->kids[0]) && (n->is_typed || env->are_tables);
    grebe_status st = reader_alloc(sizeof(struct equal_reader), &equal_reader_ops, env, out, err);
    if (st != GREBE_OK) {
        return st;
    }
    struct equal_reader *e = (struct equal_reader *)*out;
    e->node = node_keep((struct node *)(uintptr_t)n);
    st = node_open(n->kids[0], &below, &e->kid, err);
    if (st != GREBE_OK) {
        reader_free(*out);
        *out = NULL;
    }
    return st;
}

static bool equal_yields_tables(const struct node *n)
{
    (void)n;
    return false;
}

static grebe_status equal_describe(const struct node *n, struct buf *dst, grebe_error *err)
{
    return buf_printf(dst, err, " %s", ((const struct column_name *)n->held)->name);
}

static const struct node_ops equal_ops = {
    .name = "equal", .yields_tables = equal_yields_tables, .describe = equal_describe, .open = equal_open
};

grebe_status groups_by_new(struct node *kid, const char *column, bool is_typed, struct node **out, grebe_error *err)
{
    const grebe_allocator *a = kid->ctx->a;
    struct column_name *c = mem_alloc_zero(a, sizeof *c);
    if (c == NULL) {
        return mem_fail(err, sizeof *c, "a column");
    }
    atomic_init(&c->held.refs, 1);
    c->held.free = column_name_free;
    c->a = a;
    c->name = str_copy(a, column);
    grebe_status st =
        c->name == NULL ? mem_fail(err, strlen(column), "a column") : node_new(kid->ctx, &equal_ops, &kid, 1, out, err);
    if (st != GREBE_OK) {
        held_drop(&c->held);
        return st;
    }
    (*out)->held = &c->held;
    (*out)->is_typed = is_typed;
    return GREBE_OK;
}

/* Every column as a list of what it was. */
static grebe_status list_features(const grebe_iterable *it, struct features **out, grebe_error *err)
{
    const grebe_allocator *a = it->ctx->a;
    struct buf json = BUF_INIT(a), one = BUF_INIT(a);
    struct features *single = NULL;
    grebe_status st = buf_put_byte(&json, '{', err);
    for (size_t i = 0; i < it->features->top.n_fields && st == GREBE_OK; i++) {
        /* {"name": F} becomes "name": {"feature": F, "length": -1, "_type": "List"} */
        const char *name = it->features->top.fields[i].name;
        buf_clear(&one);
        GREBE_TRY(features_project(a, it->features, &name, NULL, 1, &single, err));
        GREBE_TRY(features_to_json(single, -1, 0, &one, err));
        features_free(single);
        single = NULL;
        const char *text = buf_text(&one), *colon = text == NULL ? NULL : strstr(text, "\": {");
        if (colon == NULL) {
            st = mem_fail(err, one.len, "features");
            goto out;
        }
        size_t key = (size_t)(colon - text) + 2;
        GREBE_TRY(buf_printf(&json, err, "%s%.*s {\"feature\": %.*s, \"length\": -1, \"_type\": \"List\"}",
                             i > 0 ? ", " : "", (int)(key - 1), text + 1, (int)(one.len - key - 2), text + key + 1));
    }
    GREBE_TRY(st);
    GREBE_TRY(buf_put_byte(&json, '}', err));
    st = features_from_json(a, (const char *)json.data, json.len, out, err);
out:
    features_free(single);
    buf_release(&json);
    buf_release(&one);
    return st;
}

grebe_status grebe_iterable_batch(const grebe_iterable *it, int64_t batch_rows, const char *by_column,
                                  bool drop_last_batch, grebe_iterable **out, grebe_error *err)
{
    struct features *features = NULL;
    struct node *root = NULL;
    grebe_status st = GREBE_OK;
    *out = NULL;
    if (by_column == NULL && batch_rows < 1) {
        return GREBE_FAIL(err, GREBE_EINVAL, "batches of %lld rows", (long long)batch_rows);
    }
    if (by_column != NULL && it->features != NULL && features_find(it->features, by_column) == NULL) {
        return GREBE_FAIL(err, GREBE_ENOTFOUND, "column \"%s\" is not there", by_column);
    }
    GREBE_TRY(by_column != NULL ? groups_by_new(it->root, by_column, iterable_is_typed(it), &root, err)
                                : lists_new(it, batch_rows, drop_last_batch, &root, err));
    if (it->features != NULL) {
        GREBE_TRY(list_features(it, &features, err));
    }
    st = iterable_new(it->ctx, it, root, features, it->is_typed, out, err);
    root = NULL;
out:
    node_drop(root);
    return st;
}
