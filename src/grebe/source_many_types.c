/* SPDX-License-Identifier: Apache-2.0 */
/* Types of several sources that no type holds: integers beside floats, and text, which can be read another way. */
#include "grebe/source_many.h"

#include <string.h>

#include "arrow/schema_union.h"
#include "base/name_index.h"

/* ---- types ---- */

static bool unites(const grebe_allocator *a, const struct ArrowSchema *x, const struct ArrowSchema *y)
{
    const struct ArrowSchema *fields[2] = { x, y };
    struct ArrowSchema all = { 0 }, more = { 0 };
    bool is_good = schema_struct(a, &fields[0], 1, &all, NULL) == GREBE_OK &&
                   schema_struct(a, &fields[1], 1, &more, NULL) == GREBE_OK &&
                   schema_unite(a, &all, &more, NULL) == GREBE_OK;
    schema_release(&all);
    schema_release(&more);
    return is_good;
}

static bool is_number(const struct ArrowSchema *s)
{
    return strlen(s->format) == 1 && strchr("iIlLfg", s->format[0]) != NULL;
}

static grebe_status retype(const grebe_allocator *a, struct ArrowSchema *field, const char *format,
                           grebe_error *err)
{
    struct ArrowSchema other;
    grebe_status st = schema_new(a, format, field->name, true, 0, &other, err);
    if (st == GREBE_OK) {
        schema_release(field);
        schema_move(field, &other);
    }
    return st;
}

/*
 * A column of both that does not unite: integers and floats become double, which is checked value by value when
 * they are read; what is text everywhere can be read as string. Anything else is left to fail.
 */
static grebe_status meet_column(const grebe_allocator *a, struct ArrowSchema *x, struct ArrowSchema *y,
                                bool is_text, grebe_error *err)
{
    bool has_float = strchr("fg", x->format[0]) != NULL || strchr("fg", y->format[0]) != NULL;
    bool is_double = is_number(x) && is_number(y) && has_float;
    if (!is_double && !is_text) {
        return GREBE_OK;
    }
    const char *format = is_double ? "g" : "u";
    grebe_status st = retype(a, x, format, err);
    return st == GREBE_OK ? retype(a, y, format, err) : st;
}

grebe_status many_meet(struct source_many *m, struct ArrowSchema *schema, bool is_text,
                            grebe_error *err)
{
    const grebe_allocator *a = m->ctx->a;
    grebe_status st = GREBE_OK;
    struct name_index known = { 0 };
    if (m->schema.release != NULL) {
        st = schema_index(a, &m->schema, &known, err);
    }
    for (int64_t i = 0; i < schema->n_children && st == GREBE_OK; i++) {
        int at = 0;
        bool is_known = m->schema.release != NULL &&
                        schema_find_maybe(&m->schema, &known, schema->children[i]->name, &at, NULL) == GREBE_OK;
        if (!is_known) {
            st = buf_put_byte(&m->is_text, is_text, err); /* where schema_unite will put the field */
        } else {
            m->is_text.data[at] = m->is_text.data[at] && is_text;
            struct ArrowSchema *x = m->schema.children[at], *y = schema->children[i];
            if (x->n_children == 0 && y->n_children == 0 &&
                !schema_equal(x, y, SCHEMA_EQUAL_IGNORE_METADATA) && !unites(a, x, y)) {
                st = meet_column(a, x, y, m->is_text.data[at], err);
            }
        }
    }
    name_index_release(&known);
    return st;
}

/* ---- reading ---- */

/* What the caller gave, and the union's strings that the file has and would not read as such; *is_more: there are any. */
static grebe_status schema_for(const struct source_many *m, const struct source_part *part,
                               struct ArrowSchema *out, bool *is_more, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const grebe_allocator *a = m->ctx->a;
    const struct ArrowSchema *own = &part->text_schema;
    struct buf fields = BUF_INIT(a);
    struct name_index in_own = { 0 };
    int at = 0;
    *is_more = false;
    GREBE_TRY(schema_index(a, own, &in_own, err));
    for (int64_t i = 0; m->text_schema.release != NULL && i < m->text_schema.n_children; i++) {
        GREBE_TRY(buf_put(&fields, &m->text_schema.children[i], sizeof m->text_schema.children[i], err));
    }
    for (int64_t i = 0; i < m->schema.n_children; i++) {
        struct ArrowSchema *field = m->schema.children[i];
        bool is_given = m->text_schema.release != NULL &&
                        schema_find(&m->text_schema, field->name, &at, NULL) == GREBE_OK;
        if (!is_given && strcmp(field->format, "u") == 0 &&
            schema_find_maybe(own, &in_own, field->name, &at, NULL) == GREBE_OK &&
            strcmp(own->children[at]->format, "u") != 0) {
            *is_more = true;
            GREBE_TRY(buf_put(&fields, &field, sizeof field, err));
        }
    }
    st = schema_struct(a, (const struct ArrowSchema *const *)(void *)fields.data,
                       fields.len / sizeof(struct ArrowSchema *), out, err);
out:
    name_index_release(&in_own);
    buf_release(&fields);
    return st;
}

grebe_status many_reopen(const struct source_many *m, const struct source_part *part,
                         grebe_source **out, grebe_error *err)
{
    struct ArrowSchema schema = { 0 };
    grebe_source_options o = m->options;
    grebe_text_options text = GREBE_TEXT_OPTIONS_INIT;
    bool is_more = false;
    grebe_status st = GREBE_OK;
    *out = NULL;
    if (part->text_schema.release != NULL) {
        st = schema_for(m, part, &schema, &is_more, err);
    }
    if (is_more) {
        text = m->options.text != NULL ? m->text : text;
        text.schema = &schema;
        o.text = &text;
    }
    if (st == GREBE_OK) {
        st = source_open_one(m->ctx, part->uri, &o, out, err);
    }
    schema_release(&schema);
    return st;
}

grebe_status many_cast(const struct source_many *m, const struct ArrowSchema *wanted,
                       struct ArrowArrayStream *rows, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct ArrowSchema schema = { 0 };
    struct ArrowArrayStream cast = { 0 };
    struct buf casts = BUF_INIT(m->ctx->a);
    struct name_index in_wanted = { 0 };
    int at = 0;
    GREBE_TRY(stream_schema(rows, &schema, err));
    GREBE_TRY(schema_index(m->ctx->a, wanted, &in_wanted, err));
    for (int64_t i = 0; i < schema.n_children; i++) {
        const struct ArrowSchema *field = schema.children[i];
        GREBE_TRY(schema_find_indexed(wanted, &in_wanted, field->name, &at, err));
        if (strcmp(wanted->children[at]->format, "g") == 0 && strchr("lL", field->format[0]) != NULL &&
            field->format[1] == '\0') {
            const grebe_column_cast one = { field->name, "double" };
            GREBE_TRY(buf_put(&casts, &one, sizeof one, err));
        }
    }
    if (casts.len > 0) {
        GREBE_TRY(grebe_rows_cast(m->ctx, rows, (const grebe_column_cast *)(void *)casts.data,
                                  casts.len / sizeof(grebe_column_cast), &cast, err));
        stream_move(rows, &cast);
    }
out:
    name_index_release(&in_wanted);
    buf_release(&casts);
    schema_release(&schema);
    return st;
}
