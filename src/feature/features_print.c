/* SPDX-License-Identifier: Apache-2.0 */
#include "feature/features.h"

#include <inttypes.h>
#include <string.h>

#include "feature/feature_internal.h"
#include "wire/json_python.h"

/* An object being written. */
struct object {
    struct buf *dst;
    grebe_error *err;
    int indent, depth;
    size_t n;
};

static grebe_status print_node(const struct feature *f, int indent, int depth, struct buf *dst, grebe_error *err);

static grebe_status put_key(struct object *o, const char *key)
{
    return json_python_key(o->dst, key, o->n++, o->indent, o->depth, o->err);
}

static grebe_status put_string(struct object *o, const char *key, const char *value)
{
    grebe_status st = put_key(o, key);
    return st == GREBE_OK ? json_python_string(o->dst, value, strlen(value), o->err) : st;
}

static grebe_status put_integer(struct object *o, const char *key, int64_t value)
{
    grebe_status st = put_key(o, key);
    return st == GREBE_OK ? buf_printf(o->dst, o->err, "%" PRId64, value) : st;
}

static grebe_status put_names(struct object *o, const char *key, const char *const *names, size_t n)
{
    grebe_status st = put_key(o, key);
    if (st == GREBE_OK) {
        st = json_python_open(o->dst, '[', o->err);
    }
    for (size_t i = 0; st == GREBE_OK && i < n; i++) {
        st = json_python_next(o->dst, i, o->indent, o->depth + 1, o->err);
        if (st == GREBE_OK) {
            st = json_python_string(o->dst, names[i], strlen(names[i]), o->err);
        }
    }
    return st == GREBE_OK ? json_python_close(o->dst, ']', n, o->indent, o->depth + 1, o->err) : st;
}

static grebe_status put_shape(struct object *o, const struct feature *f)
{
    grebe_status st = put_key(o, "shape");
    if (st == GREBE_OK) {
        st = json_python_open(o->dst, '[', o->err);
    }
    for (int i = 0; st == GREBE_OK && i < f->n_dims; i++) {
        st = json_python_next(o->dst, (size_t)i, o->indent, o->depth + 1, o->err);
        if (st == GREBE_OK) {
            st = f->shape[i] < 0 ? buf_put_text(o->dst, "null", o->err)
                                 : buf_printf(o->dst, o->err, "%" PRId64, f->shape[i]);
        }
    }
    return st == GREBE_OK ? json_python_close(o->dst, ']', (size_t)f->n_dims, o->indent, o->depth + 1, o->err) : st;
}

/* Members of their own fields, which come before those of feature_members(). */
static grebe_status put_own(struct object *o, const struct feature *f)
{
    grebe_status st = GREBE_OK;
    switch (f->kind) {
    case FEATURE_VALUE: return put_string(o, "dtype", f->dtype);
    case FEATURE_CLASS_LABEL: return put_names(o, "names", f->names, f->n_names);
    case FEATURE_TRANSLATION: return put_names(o, "languages", f->names, f->n_names);
    case FEATURE_TRANSLATION_VARIABLE:
        if (f->n_names > 0) {
            GREBE_TRY(put_names(o, "languages", f->names, f->n_names));
            return put_integer(o, "num_languages", (int64_t)f->n_names);
        }
        return GREBE_OK;
    case FEATURE_ARRAY:
        GREBE_TRY(put_shape(o, f));
        return put_string(o, "dtype", f->dtype);
    case FEATURE_LIST:
    case FEATURE_LARGE_LIST:
        GREBE_TRY(put_key(o, "feature"));
        GREBE_TRY(print_node(f->child, o->indent, o->depth + 1, o->dst, o->err));
        return f->length >= 0 ? put_integer(o, "length", f->length) : GREBE_OK;
    default: break;
    }
out:
    return st;
}

static grebe_status put_members(struct object *o, const struct feature *f)
{
    grebe_status st = GREBE_OK;
    const struct feature_member *m = feature_members(f->type_name);
    for (; m != NULL && m->name != NULL; m++) {
        const struct json_value *v = json_get(f->more, m->name);
        bool is_decode = strcmp(m->name, "decode") == 0;
        if (is_decode ? !f->is_undecoded : v == NULL) {
            continue;
        }
        GREBE_TRY(put_key(o, m->name));
        if (is_decode) {
            GREBE_TRY(buf_put_text(o->dst, "false", o->err));
        } else {
            GREBE_TRY(json_python_value(o->dst, v, o->indent, o->depth + 1, o->err));
        }
    }
out:
    return st;
}

/* Depth is bounded by FEATURE_DEPTH_MAX. */
static grebe_status print_node(const struct feature *f, int indent, int depth, struct buf *dst, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct object o = { dst, err, indent, depth, 0 };
    GREBE_TRY(json_python_open(dst, '{', err));
    if (f->kind == FEATURE_STRUCT) {
        for (size_t i = 0; i < f->n_fields; i++) {
            GREBE_TRY(put_key(&o, f->fields[i].name));
            GREBE_TRY(print_node(&f->fields[i], indent, depth + 1, dst, err));
        }
    } else {
        GREBE_TRY(put_own(&o, f));
        GREBE_TRY(put_members(&o, f));
        GREBE_TRY(put_string(&o, "_type", f->type_name));
    }
    st = json_python_close(dst, '}', o.n, indent, depth, err);
out:
    return st;
}

grebe_status features_to_json(const struct features *f, int indent, int depth, struct buf *dst, grebe_error *err)
{
    return print_node(&f->top, indent, depth, dst, err);
}

grebe_status features_metadata(const struct features *f, const char *fingerprint, struct buf *dst, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    GREBE_TRY(buf_put_text(dst, "{\"info\": {\"features\": ", err));
    GREBE_TRY(features_to_json(f, -1, 0, dst, err));
    GREBE_TRY(buf_put_text(dst, "}", err));
    if (fingerprint != NULL) {
        GREBE_TRY(buf_put_text(dst, ", \"fingerprint\": ", err));
        GREBE_TRY(json_python_string(dst, fingerprint, strlen(fingerprint), err));
    }
    st = buf_put_text(dst, "}", err);
out:
    return st;
}
