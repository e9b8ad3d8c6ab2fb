/* SPDX-License-Identifier: Apache-2.0 */
#include "feature/features.h"

#include <inttypes.h>
#include <string.h>

#include "base/ascii.h"
#include "base/number.h"
#include "feature/feature_dtype.h"
#include "feature/feature_internal.h"
#include "wire/json_python.h"
#include "wire/yaml_json.h"

/* ---- names ---- */

static bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
static bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
static bool is_digit(char c) { return c >= '0' && c <= '9'; }

grebe_status feature_snake_case(struct buf *dst, const char *name, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    for (size_t i = 0; st == GREBE_OK && name[i] != '\0'; i++) {
        bool follows = i > 0 && (is_lower(name[i - 1]) || is_digit(name[i - 1]));
        bool begins = i > 0 && is_upper(name[i - 1]) && is_lower(name[i + 1]);
        if (is_upper(name[i]) && (follows || begins)) {
            st = buf_put_byte(dst, '_', err);
        }
        if (st == GREBE_OK) {
            st = buf_put_byte(dst, (uint8_t)ascii_lower(name[i]), err);
        }
    }
    return st;
}

grebe_status feature_camel_case(struct buf *dst, const char *name, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    bool is_first = true;
    for (size_t i = 0; st == GREBE_OK && name[i] != '\0'; i++) {
        char c = name[i];
        if (c == '_') {
            is_first = true;
            continue;
        }
        c = is_first && is_lower(c) ? (char)(c - 'a' + 'A') : is_first ? c : ascii_lower(c);
        is_first = false;
        st = buf_put_byte(dst, (uint8_t)c, err);
    }
    return st;
}

/* ---- reading: YAML becomes the tree that the JSON form has ---- */

struct translator {
    struct arena *ar;
    grebe_error *err;
};

static grebe_status no_memory(const struct translator *t) { return mem_fail(t->err, 64, "features"); }

#define FAIL_NODE(t, node, ...) \
    error_wrap((t)->err, GREBE_FAIL((t)->err, GREBE_EINVAL, __VA_ARGS__), "%u:%u", (node)->line, (node)->column)

static grebe_status text_value(const struct translator *t, const char *s, size_t n, struct json_value *out)
{
    *out = (struct json_value){ .type = JSON_STRING, .n = n };
    out->text = arena_str(t->ar, s, n);
    return out->text != NULL ? GREBE_OK : no_memory(t);
}

static grebe_status object_of(const struct translator *t, size_t n, struct json_value *out, struct json_member **members)
{
    *members = arena_array(t->ar, n, sizeof **members);
    *out = (struct json_value){ .type = JSON_OBJECT, .n = 0, .members = *members };
    return *members != NULL ? GREBE_OK : no_memory(t);
}

static grebe_status type_value(const struct translator *t, const char *snake, struct json_value *out)
{
    struct buf b = BUF_INIT(t->ar->a);
    grebe_status st = feature_camel_case(&b, snake, t->err);
    if (st == GREBE_OK) {
        const char *text = buf_text(&b);
        st = text != NULL ? text_value(t, text, b.len, out) : no_memory(t);
    }
    buf_release(&b);
    return st;
}

static grebe_status node_value(const struct translator *t, const struct yaml_tree *y, int depth, struct json_value *out);

/* names: {'0': neg, '1': pos} as a list. */
static grebe_status label_names(const struct translator *t, const struct yaml_tree *y, struct json_value *out)
{
    if (y->type != YAML_TREE_MAP) {
        return yaml_tree_to_json(t->ar, y, out, t->err);
    }
    struct json_value *items = arena_array(t->ar, y->n, sizeof *items);
    *out = (struct json_value){ .type = JSON_ARRAY, .n = y->n, .items = items };
    if (items == NULL) {
        return no_memory(t);
    }
    for (size_t i = 0; i < y->n; i++) {
        const struct yaml_tree *key = y->pairs[i].key, *name = y->pairs[i].value;
        int64_t id;
        if (!number_parse_i64(key->text, key->n, &id) || id < 0 || id >= (int64_t)y->n || items[id].text != NULL) {
            return FAIL_NODE(t, key, "class_label: expected each id of 0 … %zu once", y->n - 1);
        }
        if (name->type != YAML_TREE_SCALAR) {
            return FAIL_NODE(t, name, "class_label: expected a name, found a %s", yaml_tree_type_name(name));
        }
        grebe_status st = text_value(t, name->text, name->n, &items[id]);
        if (st != GREBE_OK) {
            return st;
        }
    }
    return GREBE_OK;
}

/* class_label: {…} and the like: a class and its members. */
static grebe_status class_value(const struct translator *t, const struct yaml_pair *p, struct json_value *out)
{
    grebe_status st = GREBE_OK;
    struct json_member *members = NULL;
    size_t n = p->value->type == YAML_TREE_MAP ? p->value->n : 0;
    bool is_label = strcmp(p->key->text, "class_label") == 0;
    if (p->value->type != YAML_TREE_MAP && !yaml_tree_is_null(p->value)) {
        return FAIL_NODE(t, p->value, "%s: expected a map, found a %s", p->key->text, yaml_tree_type_name(p->value));
    }
    GREBE_TRY(object_of(t, n + 1, out, &members));
    for (size_t i = 0; i < n; i++) {
        const struct yaml_pair *m = &p->value->pairs[i];
        members[i].key = m->key->text;
        members[i].key_len = m->key->n;
        bool is_names = is_label && strcmp(m->key->text, "names") == 0;
        GREBE_TRY(is_names ? label_names(t, m->value, &members[i].value)
                           : yaml_tree_to_json(t->ar, m->value, &members[i].value, t->err));
    }
    members[n].key = "_type";
    members[n].key_len = 5;
    GREBE_TRY(type_value(t, p->key->text, &members[n].value));
    out->n = n + 1;
out:
    return st;
}

/* [{name: a, …}, …] as a struct. */
static grebe_status fields_value(const struct translator *t, const struct yaml_tree *y, int depth, struct json_value *out)
{
    struct json_member *members = NULL;
    grebe_status st = object_of(t, y->n, out, &members);
    for (size_t i = 0; st == GREBE_OK && i < y->n; i++) {
        const struct yaml_tree *name = yaml_tree_get(y->items[i], "name");
        if (name == NULL || name->type != YAML_TREE_SCALAR) {
            return FAIL_NODE(t, y->items[i], "expected an entry with a name");
        }
        members[i].key = name->text;
        members[i].key_len = name->n;
        st = node_value(t, y->items[i], depth + 1, &members[i].value);
    }
    out->n = y->n;
    return st;
}

/* list: T with its siblings. Sequence of entries: a struct of lists, which the JSON form has too. */
static grebe_status list_value(const struct translator *t, const struct yaml_tree *y, const char *key, const char *type,
                               int depth, struct json_value *out)
{
    grebe_status st = GREBE_OK;
    struct json_member *members = NULL;
    GREBE_TRY(object_of(t, y->n + 2, out, &members));
    for (size_t i = 0; i < y->n; i++) {
        const struct yaml_pair *p = &y->pairs[i];
        if (strcmp(p->key->text, "name") == 0) {
            continue;
        }
        struct json_member *m = &members[out->n++];
        bool is_child = strcmp(p->key->text, key) == 0;
        m->key = is_child ? "feature" : p->key->text;
        m->key_len = strlen(m->key);
        GREBE_TRY(is_child ? node_value(t, p->value, depth + 1, &m->value)
                           : yaml_tree_to_json(t->ar, p->value, &m->value, t->err));
    }
    struct json_member *last = &members[out->n++];
    last->key = "_type";
    last->key_len = 5;
    st = text_value(t, type, strlen(type), &last->value);
out:
    return st;
}

/* A dtype's name or a class in snake case. */
static grebe_status dtype_value(const struct translator *t, const char *text, size_t len, struct json_value *out)
{
    grebe_status st = GREBE_OK;
    struct json_member *members = NULL;
    char format[DTYPE_FORMAT_MAX];
    const char *canonical = NULL;
    bool is_value = dtype_format(text, format, &canonical, NULL) == GREBE_OK;
    GREBE_TRY(object_of(t, 2, out, &members));
    if (is_value) {
        members[0].key = "dtype";
        members[0].key_len = 5;
        GREBE_TRY(text_value(t, text, len, &members[0].value));
        out->n = 1;
    }
    struct json_member *last = &members[out->n++];
    last->key = "_type";
    last->key_len = 5;
    st = is_value ? text_value(t, "Value", 5, &last->value) : type_value(t, text, &last->value);
out:
    return st;
}

static grebe_status node_value(const struct translator *t, const struct yaml_tree *y, int depth, struct json_value *out)
{
    static const char *const lists[][2] = { { "list", "List" }, { "large_list", "LargeList" }, { "sequence", "Sequence" } };
    if (depth > FEATURE_DEPTH_MAX) {
        return FAIL_NODE(t, y, "more than %d levels", FEATURE_DEPTH_MAX);
    }
    if (y->type == YAML_TREE_SCALAR) {
        return dtype_value(t, y->text, y->n, out);
    }
    if (y->type == YAML_TREE_LIST) {
        return fields_value(t, y, depth, out);
    }
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        if (yaml_tree_get(y, lists[i][0]) != NULL) {
            return list_value(t, y, lists[i][0], lists[i][1], depth, out);
        }
    }
    const struct yaml_tree *fields = yaml_tree_get(y, "struct"), *dtype = yaml_tree_get(y, "dtype");
    if (fields != NULL) {
        return node_value(t, fields, depth + 1, out);
    }
    if (dtype != NULL) {
        return node_value(t, dtype, depth + 1, out);
    }
    for (size_t i = 0; i < y->n; i++) {
        if (strcmp(y->pairs[i].key->text, "name") != 0) {
            return class_value(t, &y->pairs[i], out);
        }
    }
    return FAIL_NODE(t, y, "expected dtype, struct or list");
}

grebe_status features_from_yaml(const grebe_allocator *a, const struct yaml_tree *node, struct features **out, grebe_error *err)
{
    struct arena ar = ARENA_INIT(a);
    struct translator t = { &ar, err };
    struct json_value tree;
    *out = NULL;
    if (node->type != YAML_TREE_LIST) {
        return FAIL_NODE(&t, node, "features: expected a list of entries with a name, found a %s", yaml_tree_type_name(node));
    }
    grebe_status st = fields_value(&t, node, 0, &tree);
    if (st == GREBE_OK) {
        st = features_from_tree(a, &tree, out, err);
    }
    arena_release(&ar);
    return st;
}

/* ---- writing ---- */

struct writer {
    struct buf *dst;
    grebe_error *err;
};

/* Whether a text stands without quotes and is read again as this text. */
static bool is_plain_text(const char *s)
{
    static const char *const words[] = { "yes", "no", "on", "off", "true", "false", "null" };
    size_t len = strlen(s);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (ascii_equal(s, words[i])) {
            return false;
        }
    }
    if (len == 0 || s[len - 1] == ' ' || s[len - 1] == ':' || strstr(s, ": ") != NULL || strstr(s, " #") != NULL) {
        return false;
    }
    unsigned char first = (unsigned char)s[0];
    bool begins = is_lower(s[0]) || is_upper(s[0]) || first == '_' || first >= 0x80;
    for (size_t i = 0; i < len; i++) {
        begins = begins && (unsigned char)s[i] >= 0x20 && (unsigned char)s[i] != 0x7f;
    }
    return begins;
}

static grebe_status put_text(const struct writer *w, const char *s)
{
    grebe_status st = GREBE_OK;
    bool has_control = false;
    for (const char *p = s; *p != '\0'; p++) {
        has_control = has_control || (unsigned char)*p < 0x20 || *p == 0x7f;
    }
    if (has_control) { /* in double quotes YAML has the escapes of JSON */
        return json_put_string(w->dst, s, strlen(s), w->err);
    }
    if (is_plain_text(s)) {
        return buf_put_text(w->dst, s, w->err);
    }
    GREBE_TRY(buf_put_byte(w->dst, '\'', w->err));
    for (; *s != '\0'; s++) {
        if (*s == '\'') {
            GREBE_TRY(buf_put_byte(w->dst, '\'', w->err));
        }
        GREBE_TRY(buf_put_byte(w->dst, (uint8_t)*s, w->err));
    }
    st = buf_put_byte(w->dst, '\'', w->err);
out:
    return st;
}

/* "  key:" */
static grebe_status put_key(const struct writer *w, int indent, const char *key)
{
    return buf_printf(w->dst, w->err, "%*s%s:", indent, "", key);
}

static grebe_status put_pair(const struct writer *w, int indent, const char *key, const char *text)
{
    grebe_status st = put_key(w, indent, key);
    if (st == GREBE_OK) {
        st = buf_put_byte(w->dst, ' ', w->err);
    }
    if (st == GREBE_OK) {
        st = put_text(w, text);
    }
    return st == GREBE_OK ? buf_put_byte(w->dst, '\n', w->err) : st;
}

static grebe_status put_body(const struct writer *w, const struct feature *f, int indent);
static grebe_status put_special(const struct writer *w, const struct feature *f, const char *key, int indent);

static grebe_status put_entries(const struct writer *w, const struct feature *f, int indent)
{
    grebe_status st = GREBE_OK;
    for (size_t i = 0; st == GREBE_OK && i < f->n_fields; i++) {
        st = put_pair(w, indent, "- name", f->fields[i].name);
        if (st == GREBE_OK) {
            st = put_body(w, &f->fields[i], indent + 2);
        }
    }
    return st;
}

/* key, and behind it entries in the column of the key. */
static grebe_status put_fields(const struct writer *w, const char *key, const struct feature *f, int indent)
{
    grebe_status st = put_key(w, indent, key);
    if (st == GREBE_OK) {
        st = buf_put_text(w->dst, f->n_fields == 0 ? " []\n" : "\n", w->err);
    }
    return st == GREBE_OK ? put_entries(w, f, indent) : st;
}

static grebe_status put_list(const struct writer *w, const struct feature *f, int indent)
{
    grebe_status st = GREBE_OK;
    const char *key = f->kind == FEATURE_LARGE_LIST ? "large_list" : "list";
    if (f->child->kind == FEATURE_VALUE && f->child->more == NULL) {
        GREBE_TRY(put_pair(w, indent, key, f->child->dtype));
    } else if (f->child->kind == FEATURE_STRUCT) {
        GREBE_TRY(put_fields(w, key, f->child, indent));
    } else if (f->child->kind == FEATURE_VALUE || f->child->kind == FEATURE_LIST || f->child->kind == FEATURE_LARGE_LIST) {
        GREBE_TRY(put_key(w, indent, key));
        GREBE_TRY(buf_put_byte(w->dst, '\n', w->err));
        GREBE_TRY(put_body(w, f->child, indent + 2));
    } else {
        GREBE_TRY(put_special(w, f->child, key, indent));
    }
    if (f->length >= 0) {
        st = buf_printf(w->dst, w->err, "%*slength: %" PRId64 "\n", indent, "", f->length);
    }
out:
    return st;
}

/* A list of texts or sizes in the column of its key. */
static grebe_status put_names(const struct writer *w, const char *key, const char *const *names, size_t n, bool is_numbered,
                              int indent)
{
    grebe_status st = GREBE_OK;
    GREBE_TRY(put_key(w, indent, key));
    GREBE_TRY(buf_put_text(w->dst, n > 0 ? "\n" : is_numbered ? " {}\n" : " []\n", w->err));
    for (size_t i = 0; i < n; i++) {
        GREBE_TRY(is_numbered ? buf_printf(w->dst, w->err, "%*s'%zu': ", indent + 2, "", i)
                              : buf_printf(w->dst, w->err, "%*s- ", indent, ""));
        GREBE_TRY(put_text(w, names[i]));
        GREBE_TRY(buf_put_byte(w->dst, '\n', w->err));
    }
out:
    return st;
}

static grebe_status put_shape(const struct writer *w, const struct feature *f, int indent)
{
    grebe_status st = put_key(w, indent, "shape");
    if (st == GREBE_OK) {
        st = buf_put_byte(w->dst, '\n', w->err);
    }
    for (int i = 0; st == GREBE_OK && i < f->n_dims; i++) {
        st = f->shape[i] < 0 ? buf_printf(w->dst, w->err, "%*s- null\n", indent, "")
                             : buf_printf(w->dst, w->err, "%*s- %" PRId64 "\n", indent, "", f->shape[i]);
    }
    return st == GREBE_OK ? put_pair(w, indent, "dtype", f->dtype) : st;
}

static grebe_status put_members(const struct writer *w, const struct feature *f, int indent)
{
    grebe_status st = GREBE_OK;
    for (const struct feature_member *m = feature_members(f->type_name); m != NULL && m->name != NULL; m++) {
        const struct json_value *v = json_get(f->more, m->name);
        if (strcmp(m->name, "decode") == 0 && f->is_undecoded) {
            GREBE_TRY(put_key(w, indent, "decode"));
            GREBE_TRY(buf_put_text(w->dst, " false\n", w->err));
        } else if (v != NULL && v->type == JSON_STRING) {
            GREBE_TRY(put_pair(w, indent, m->name, v->text));
        } else if (v != NULL) { /* JSON is YAML */
            GREBE_TRY(put_key(w, indent, m->name));
            GREBE_TRY(buf_put_byte(w->dst, ' ', w->err));
            GREBE_TRY(json_python_value(w->dst, v, -1, 0, w->err));
            GREBE_TRY(buf_put_byte(w->dst, '\n', w->err));
        }
    }
out:
    return st;
}

static bool has_members(const struct feature *f)
{
    return f->kind == FEATURE_CLASS_LABEL || f->kind == FEATURE_ARRAY || f->kind == FEATURE_TRANSLATION || f->n_names > 0 ||
           f->is_undecoded || f->more != NULL;
}

/* key: name, or key: {name: members} */
static grebe_status put_class(const struct writer *w, const struct feature *f, const char *key, const char *name, int indent)
{
    grebe_status st = GREBE_OK;
    if (!has_members(f)) {
        return put_pair(w, indent, key, name);
    }
    GREBE_TRY(buf_printf(w->dst, w->err, "%*s%s:\n%*s%s:\n", indent, "", key, indent + 2, "", name));
    indent += 4;
    switch (f->kind) {
    case FEATURE_CLASS_LABEL: GREBE_TRY(put_names(w, "names", f->names, f->n_names, true, indent)); break;
    case FEATURE_ARRAY: GREBE_TRY(put_shape(w, f, indent)); break;
    case FEATURE_TRANSLATION:
    case FEATURE_TRANSLATION_VARIABLE:
        GREBE_TRY(put_names(w, "languages", f->names, f->n_names, false, indent));
        if (f->kind == FEATURE_TRANSLATION_VARIABLE) {
            GREBE_TRY(buf_printf(w->dst, w->err, "%*snum_languages: %zu\n", indent, "", f->n_names));
        }
        break;
    default: break;
    }
    st = put_members(w, f, indent);
out:
    return st;
}

static grebe_status put_special(const struct writer *w, const struct feature *f, const char *key, int indent)
{
    grebe_status st = GREBE_OK;
    struct buf name = BUF_INIT(w->dst->a);
    GREBE_TRY(feature_snake_case(&name, f->type_name, w->err));
    if (buf_text(&name) == NULL) {
        st = mem_fail(w->err, name.len, "a name");
        goto out;
    }
    st = put_class(w, f, key, buf_text(&name), indent);
out:
    buf_release(&name);
    return st;
}

static grebe_status put_body(const struct writer *w, const struct feature *f, int indent)
{
    grebe_status st = GREBE_OK;
    switch (f->kind) {
    case FEATURE_VALUE:
        st = put_pair(w, indent, "dtype", f->dtype);
        return st == GREBE_OK ? put_members(w, f, indent) : st;
    case FEATURE_STRUCT: return put_fields(w, "struct", f, indent);
    case FEATURE_LIST:
    case FEATURE_LARGE_LIST: return put_list(w, f, indent);
    default: return put_special(w, f, "dtype", indent);
    }
}

grebe_status features_to_yaml(const struct features *f, int depth, struct buf *dst, grebe_error *err)
{
    struct writer w = { dst, err };
    return f->top.n_fields == 0 ? buf_printf(dst, err, "%*s[]\n", 2 * depth, "") : put_entries(&w, &f->top, 2 * depth);
}
