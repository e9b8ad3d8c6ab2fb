/* SPDX-License-Identifier: Apache-2.0 */
#include "arrow/arrow_schema.h"

#include <string.h>

#include "base/checked.h"

static const char *name_of(const struct ArrowSchema *schema)
{
    return schema->name != NULL ? schema->name : "";
}

static bool metadata_contains(const struct ArrowSchema *x, const struct ArrowSchema *y)
{
    size_t n = schema_metadata_count(x);
    size_t n_other = schema_metadata_count(y);
    for (size_t i = 0; i < n; i++) {
        struct key_value want = schema_metadata_at(x, i);
        bool is_found = false;
        for (size_t k = 0; k < n_other && !is_found; k++) {
            struct key_value have = schema_metadata_at(y, k);
            is_found = have.key_len == want.key_len && have.value_len == want.value_len &&
                       memcmp(have.key, want.key, want.key_len) == 0 &&
                       memcmp(have.value, want.value, want.value_len) == 0;
        }
        if (!is_found) {
            return false;
        }
    }
    return true;
}

static bool metadata_equal(const struct ArrowSchema *x, const struct ArrowSchema *y)
{
    return schema_metadata_count(x) == schema_metadata_count(y) && metadata_contains(x, y) &&
           metadata_contains(y, x);
}

/* Names of children of a list or a map (and of the map's key and value) carry no meaning. */
static bool is_list_format(const char *format)
{
    return strcmp(format, "+l") == 0 || strcmp(format, "+L") == 0 || strcmp(format, "+m") == 0 ||
           strncmp(format, "+w:", 3) == 0 || strncmp(format, "+v", 2) == 0;
}

static bool equal_node(const struct ArrowSchema *x, const struct ArrowSchema *y, unsigned flags,
                       bool ignore_name, bool is_map_entry, int depth)
{
    if (depth > ARROW_DEPTH_MAX || x->format == NULL || y->format == NULL ||
        strcmp(x->format, y->format) != 0 || x->n_children != y->n_children ||
        (x->dictionary == NULL) != (y->dictionary == NULL)) {
        return false;
    }
    if (!ignore_name && strcmp(name_of(x), name_of(y)) != 0) {
        return false;
    }
    int64_t differing = x->flags ^ y->flags;
    int64_t relevant = ARROW_FLAG_MAP_KEYS_SORTED |
                       (x->dictionary != NULL ? ARROW_FLAG_DICTIONARY_ORDERED : 0) |
                       (flags & SCHEMA_EQUAL_IGNORE_NULLABLE ? 0 : ARROW_FLAG_NULLABLE);
    if ((differing & relevant) != 0) {
        return false;
    }
    if (!(flags & SCHEMA_EQUAL_IGNORE_METADATA) && !metadata_equal(x, y)) {
        return false;
    }
    bool is_map = strcmp(x->format, "+m") == 0;
    bool ignore_children = (flags & SCHEMA_EQUAL_IGNORE_CHILD_NAMES) &&
                           (is_list_format(x->format) || is_map_entry);
    for (int64_t i = 0; i < x->n_children; i++) {
        if (!equal_node(x->children[i], y->children[i], flags, ignore_children, is_map,
                        depth + 1)) {
            return false;
        }
    }
    return x->dictionary == NULL ||
           equal_node(x->dictionary, y->dictionary, flags, true, false, depth + 1);
}

bool schema_equal(const struct ArrowSchema *x, const struct ArrowSchema *y, unsigned flags)
{
    return equal_node(x, y, flags, false, false, 0);
}

/* Edits (insert, delete, change a byte, case counts half) between names of at most 64 bytes. */
static unsigned edit_distance(const char *x, size_t x_len, const char *y, size_t y_len)
{
    unsigned row[65];
    for (size_t k = 0; k <= y_len; k++) {
        row[k] = (unsigned)k * 2;
    }
    for (size_t i = 1; i <= x_len; i++) {
        unsigned diagonal = row[0];
        row[0] = (unsigned)i * 2;
        for (size_t k = 1; k <= y_len; k++) {
            unsigned char c = (unsigned char)x[i - 1];
            unsigned char d = (unsigned char)y[k - 1];
            unsigned change = c == d ? 0 : ((c ^ d) == 0x20 && (c | 0x20) >= 'a') ? 1 : 2;
            unsigned best = diagonal + change;
            best = row[k] + 2 < best ? row[k] + 2 : best;
            best = row[k - 1] + 2 < best ? row[k - 1] + 2 : best;
            diagonal = row[k];
            row[k] = best;
        }
    }
    return row[y_len];
}

/* The field whose name is nearest, NULL when none is near enough to be meant. */
static const char *nearest_field(const struct ArrowSchema *schema, const char *name)
{
    enum { NAME_MAX_BYTES = 64, FIELDS_MAX = 4096 };
    size_t len = strlen(name);
    if (len == 0 || len > NAME_MAX_BYTES) {
        return NULL;
    }
    const char *best = NULL;
    unsigned best_distance = (unsigned)len + 1;
    for (int64_t i = 0; i < schema->n_children && i < FIELDS_MAX; i++) {
        const char *other = name_of(schema->children[i]);
        size_t other_len = strlen(other);
        if (other_len > NAME_MAX_BYTES) {
            continue;
        }
        unsigned d = edit_distance(name, len, other, other_len);
        if (d < best_distance) {
            best_distance = d;
            best = other;
        }
    }
    return best;
}

grebe_status schema_find(const struct ArrowSchema *schema, const char *name, int *out,
                         grebe_error *err)
{
    int found = -1;
    *out = -1;
    for (int64_t i = 0; i < schema->n_children; i++) {
        if (strcmp(name_of(schema->children[i]), name) != 0) {
            continue;
        }
        if (found >= 0) {
            char text[96];
            return GREBE_FAIL(err, GREBE_EINVAL, "field \"%s\" is there more than once: %d and %lld",
                              error_quote(text, sizeof text, name, strlen(name)), found,
                              (long long)i);
        }
        found = (int)i;
    }
    if (found < 0) {
        char text[96];
        char near_text[96];
        const char *nearest = nearest_field(schema, name);
        error_quote(text, sizeof text, name, strlen(name));
        if (nearest == NULL) {
            return GREBE_FAIL(err, GREBE_ENOTFOUND, "no field \"%s\"", text);
        }
        return GREBE_FAIL(err, GREBE_ENOTFOUND, "no field \"%s\" (nearest: \"%s\")", text,
                          error_quote(near_text, sizeof near_text, nearest, strlen(nearest)));
    }
    *out = found;
    return GREBE_OK;
}

/* Of a name that several fields have the number is SIZE_MAX: whoever asks for it is told so. */
grebe_status schema_index(const grebe_allocator *a, const struct ArrowSchema *schema,
                          struct name_index *out, grebe_error *err)
{
    grebe_status st = name_index_new(a, (size_t)schema->n_children, out, err);
    for (int64_t i = 0; i < schema->n_children && st == GREBE_OK; i++) {
        bool is_there = false;
        const char *name = name_of(schema->children[i]);
        st = name_index_add(out, name, (size_t)i, &is_there, err);
        if (is_there) {
            *name_index_find(out, name) = SIZE_MAX;
        }
    }
    if (st != GREBE_OK) {
        name_index_release(out);
    }
    return st;
}

grebe_status schema_find_maybe(const struct ArrowSchema *schema, const struct name_index *index,
                               const char *name, int *out, grebe_error *err)
{
    const size_t *at = name_index_find(index, name);
    if (at != NULL && *at == SIZE_MAX) {
        return schema_find(schema, name, out, err); /* two have it: says which */
    }
    *out = at != NULL ? (int)*at : -1;
    return at != NULL ? GREBE_OK : GREBE_ENOTFOUND;
}

grebe_status schema_find_indexed(const struct ArrowSchema *schema, const struct name_index *index,
                                 const char *name, int *out, grebe_error *err)
{
    grebe_status st = schema_find_maybe(schema, index, name, out, err);
    return st == GREBE_ENOTFOUND && err != NULL ? schema_find(schema, name, out, err) : st;
}
