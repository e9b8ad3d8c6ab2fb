/* SPDX-License-Identifier: Apache-2.0 */
#include "feature/feature_cast_internal.h"

#include <inttypes.h>
#include <string.h>

#include "arrow/array_cast.h"
#include "arrow/arrow_internal.h"
#include "base/name_index.h"
#include "base/number.h"
#include "text/text_value.h"
#include "wire/json_python.h"

/* Types that are always there: releasing them does nothing. */
static void keep(struct ArrowSchema *s) { (void)s; }
static const struct ArrowSchema INT64 = { .format = "l", .name = "", .flags = ARROW_FLAG_NULLABLE, .release = keep };
static const struct ArrowSchema TEXT = { .format = "u", .name = "", .flags = ARROW_FLAG_NULLABLE, .release = keep };
static const struct ArrowSchema BINARY = { .format = "z", .name = "", .flags = ARROW_FLAG_NULLABLE, .release = keep };

/* ---- ClassLabel ---- */

static bool is_space(char ch) { return ch == ' ' || (ch >= '\t' && ch <= '\r'); }

/* The name itself, then without space around it, then a number of a class (-1: none). */
static bool label_of(const struct name_index *names, size_t n_names, const char *s, size_t len, struct buf *scratch,
                     int64_t *out)
{
    for (int i = 0; i < 2; i++) {
        buf_clear(scratch);
        if (buf_put(scratch, s, len, NULL) != GREBE_OK || buf_text(scratch) == NULL) {
            return false;
        }
        const size_t *at = strlen(buf_text(scratch)) == len ? name_index_find(names, buf_text(scratch)) : NULL;
        if (at != NULL) {
            *out = (int64_t)*at;
            return true;
        }
        while (len > 0 && is_space(s[0])) {
            s++;
            len--;
        }
        while (len > 0 && is_space(s[len - 1])) {
            len--;
        }
    }
    if (len > 1 && s[0] == '+') {
        s++;
        len--;
    }
    return number_parse_i64(s, len, out) && *out >= -1 && *out < (int64_t)n_names;
}

static grebe_status labels_from_text(const struct caster *c, const struct feature *f, const struct arrow_type *t,
                                     const struct ArrowArray *array, struct ArrowArray *out)
{
    grebe_status st = GREBE_OK;
    struct name_index names = { 0 };
    struct buf scratch = BUF_INIT(c->a);
    void *p = NULL;
    GREBE_TRY(name_index_new(c->a, f->n_names, &names, c->err));
    for (size_t i = 0; i < f->n_names; i++) {
        GREBE_TRY(name_index_add(&names, f->names[i], i, NULL, c->err));
    }
    GREBE_TRY(array_new(c->a, array->length, 2, 0, out, c->err));
    GREBE_TRY(cast_validity(c, array, out));
    GREBE_TRY(array_alloc_buffer(c->a, out, 1, (size_t)array->length * 8, &p, c->err));
    int64_t *labels = p;
    for (int64_t i = 0; i < array->length; i++) {
        labels[i] = 0;
        if (array_is_null(array, i)) {
            continue;
        }
        struct arrow_bytes b = arrow_bytes_at(array, t->kind, t->byte_width, i);
        if (!label_of(&names, f->n_names, b.p, (size_t)b.len, &scratch, &labels[i])) {
            char quoted[80];
            st = GREBE_FAIL(c->err, GREBE_ESCHEMA, "row %" PRId64 ": \"%s\" is none of the %zu class labels",
                            c->o->first_row + i, error_quote(quoted, sizeof quoted, b.p, (size_t)b.len), f->n_names);
            goto out;
        }
    }
out:
    name_index_release(&names);
    buf_release(&scratch);
    if (st != GREBE_OK) {
        array_release(out);
    }
    return st;
}

static grebe_status check_labels(const struct caster *c, const struct feature *f, const struct ArrowArray *labels)
{
    const void *values = labels->buffers[1];
    int64_t n_names = (int64_t)f->n_names;
    for (int64_t i = 0; i < labels->length; i++) {
        int64_t v = load_i64_at(values, labels->offset + i);
        if (v >= n_names && !array_is_null(labels, i)) {
            return GREBE_FAIL(c->err, GREBE_ESCHEMA,
                              "row %" PRId64 ": class label %" PRId64 " is greater than the configured %" PRId64 " classes",
                              c->o->first_row + i, v, n_names);
        }
    }
    return GREBE_OK;
}

grebe_status cast_label(const struct caster *c, const struct feature *f, const struct ArrowSchema *s,
                        const struct ArrowArray *array, struct ArrowArray *out)
{
    struct arrow_type t;
    grebe_status st = arrow_type_of(s, &t, c->err);
    if (st != GREBE_OK) {
        return st;
    }
    if (arrow_kind_is_text(t.kind)) {
        return labels_from_text(c, f, &t, array, out);
    }
    if (t.kind == ARROW_INT64) {
        st = check_labels(c, f, array);
        return st == GREBE_OK ? cast_same(c, s, array, out) : st;
    }
    if (!array_cast_knows(s, &INT64)) {
        return cast_refused(c, f, s);
    }
    st = array_cast(c->a, s, &INT64, array, c->o->first_row, out, c->err);
    if (st == GREBE_OK) {
        st = check_labels(c, f, out);
    }
    return st;
}

/* ---- media ---- */

/* A struct of two columns, of which one is made of the array and the other is null. */
static grebe_status media_of_leaf(const struct caster *c, const struct ArrowSchema *s, const struct ArrowArray *array,
                                  bool is_path, struct ArrowArray *out)
{
    grebe_status st = GREBE_OK;
    const struct ArrowSchema *to = is_path ? &TEXT : &BINARY;
    GREBE_TRY(array_new(c->a, array->length, 1, 2, out, c->err));
    GREBE_TRY(cast_validity(c, array, out));
    GREBE_TRY(cast_value(c, to, s, array, out->children[is_path ? 1 : 0]));
    st = array_nulls(c->a, is_path ? &BINARY : &TEXT, array->length, out->children[is_path ? 0 : 1], c->err);
out:
    if (st != GREBE_OK) {
        array_release(out);
    }
    return st;
}

/* The named field of a struct, null where the struct has none. */
static grebe_status media_field(const struct caster *c, const struct ArrowSchema *s, const struct ArrowArray *array,
                                const char *name, const struct ArrowSchema *to, struct ArrowArray *out)
{
    for (int64_t i = 0; i < s->n_children; i++) {
        if (strcmp(s->children[i]->name, name) == 0) {
            struct ArrowArray node = *array->children[i];
            node.offset += array->offset;
            node.length = array->length;
            node.null_count = -1;
            return strcmp(s->children[i]->format, "n") == 0 ? array_nulls(c->a, to, array->length, out, c->err)
                                                             : cast_value(c, to, s->children[i], &node, out);
        }
    }
    return array_nulls(c->a, to, array->length, out, c->err);
}

grebe_status cast_media(const struct caster *c, const struct feature *f, const struct ArrowSchema *s,
                        const struct ArrowArray *array, struct ArrowArray *out)
{
    struct arrow_type t;
    grebe_status st = arrow_type_of(s, &t, c->err);
    if (st != GREBE_OK) {
        return st;
    }
    if (arrow_kind_is_text(t.kind)) {
        return media_of_leaf(c, s, array, true, out);
    }
    if (t.kind == ARROW_BINARY || t.kind == ARROW_LARGE_BINARY || t.kind == ARROW_BINARY_VIEW) {
        return media_of_leaf(c, s, array, false, out);
    }
    if (t.kind != ARROW_STRUCT) {
        return cast_refused(c, f, s);
    }
    GREBE_TRY(array_new(c->a, array->length, 1, 2, out, c->err));
    GREBE_TRY(cast_validity(c, array, out));
    GREBE_TRY(media_field(c, s, array, "bytes", &BINARY, out->children[0]));
    st = media_field(c, s, array, "path", &TEXT, out->children[1]);
out:
    if (st != GREBE_OK) {
        array_release(out);
    }
    return st;
}

/* ---- Json ---- */

/* Text that is JSON stays what it is: as `datasets` does it, the first five values decide for all. */
static bool is_json_text(const struct caster *c, const struct arrow_type *t, const struct ArrowArray *array)
{
    bool is_json = true;
    for (int64_t i = 0; is_json && i < array->length && i < 5; i++) {
        struct arena ar = ARENA_INIT(c->a);
        const struct json_value *v = NULL;
        if (!array_is_null(array, i)) {
            struct arrow_bytes b = arrow_bytes_at(array, t->kind, t->byte_width, i);
            is_json = json_parse(&ar, b.p, (size_t)b.len, &v, NULL) == GREBE_OK;
        }
        arena_release(&ar);
    }
    return is_json;
}

static grebe_status json_texts(const struct caster *c, const struct ArrowSchema *s, const struct ArrowArray *array,
                               struct ArrowArray *out)
{
    grebe_status st = GREBE_OK;
    struct text_column column = { 0 };
    struct buf bytes = BUF_INIT(c->a);
    void *p = NULL;
    GREBE_TRY(text_column_init(c->a, s, &column, c->err));
    GREBE_TRY(array_new(c->a, array->length, 3, 0, out, c->err));
    GREBE_TRY(cast_validity(c, array, out));
    GREBE_TRY(array_alloc_buffer(c->a, out, 1, ((size_t)array->length + 1) * 4, &p, c->err));
    store_offset(p, 4, 0, 0);
    for (int64_t i = 0; i < array->length; i++) {
        if (!array_is_null(array, i)) {
            GREBE_TRY(text_put_json(&bytes, &column, array, i, c->err));
        }
        if (bytes.len > INT32_MAX) {
            st = GREBE_FAIL(c->err, GREBE_ELIMIT, "row %" PRId64 ": more than 2^31 - 1 bytes of JSON in a batch",
                            c->o->first_row + i);
            goto out;
        }
        store_offset(p, 4, i + 1, (int64_t)bytes.len);
    }
    GREBE_TRY(array_alloc_buffer(c->a, out, 2, bytes.len, &p, c->err));
    if (bytes.len > 0) {
        memcpy(p, bytes.data, bytes.len);
    }
out:
    text_column_release(c->a, &column);
    buf_release(&bytes);
    if (st != GREBE_OK) {
        array_release(out);
    }
    return st;
}

grebe_status cast_json(const struct caster *c, const struct feature *f, const struct ArrowSchema *s,
                       const struct ArrowArray *array, struct ArrowArray *out)
{
    struct arrow_type t;
    (void)f;
    grebe_status st = arrow_type_of(s, &t, c->err);
    if (st != GREBE_OK) {
        return st;
    }
    bool is_kept = arrow_kind_is_text(t.kind) && is_json_text(c, &t, array);
    return is_kept ? cast_value(c, &TEXT, s, array, out) : json_texts(c, s, array, out);
}
