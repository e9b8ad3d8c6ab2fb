/* SPDX-License-Identifier: Apache-2.0 */
/* Fields of the maps of metadata.yaml: what is there, what is missing, what is nearly right. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "graph/graph_metadata_internal.h"
#include "io/io.h"

grebe_status graph_section_fail(const struct graph_section *map, const char *key, grebe_error *err, const char *fmt, ...)
{
    char message[600], field[200];
    va_list args;
    va_start(args, fmt);
    vsnprintf(message, sizeof message, fmt, args);
    va_end(args);
    const struct yaml_tree *v = key != NULL ? yaml_tree_get(map->tree, key) : NULL;
    snprintf(field, sizeof field, "%s%s%s", map->field, map->field[0] != '\0' && key != NULL ? "." : "",
             key != NULL ? key : "");
    return graph_problem_add(map->m, v != NULL ? v : map->tree, field, true, GREBE_ESCHEMA, err, "%s", message);
}

static const char *const kinds[] = { "nothing", "a truth value", "an integer", "a number", "a text", "a list or map" };

grebe_status graph_section_text(const struct graph_section *map, const char *key, bool is_required, const char **out,
                            grebe_error *err)
{
    const struct yaml_tree *v = yaml_tree_get(map->tree, key);
    struct graph_yaml_scalar x = graph_yaml_scalar_of(v);
    char field[200];
    *out = NULL;
    if (v == NULL || x.kind == GRAPH_YAML_NULL) {
        return is_required ? graph_section_fail(map, key, err, "%s is required", key) : GREBE_OK;
    }
    if (x.kind == GRAPH_YAML_OTHER || strlen(v->text) != v->n) {
        return graph_section_fail(map, key, err, "expected a text, found %s",
                              x.kind == GRAPH_YAML_OTHER ? yaml_tree_type_name(v) : "a NUL");
    }
    *out = v->text;
    if (x.kind == GRAPH_YAML_TEXT) {
        return GREBE_OK;
    }
    snprintf(field, sizeof field, "%s.%s", map->field, key);
    return x.kind == GRAPH_YAML_INT
               ? graph_problem_add(map->m, v, field, false, GREBE_ESCHEMA, err,
                                   "an unquoted %s is the number %lld in YAML 1.1; taken as the text \"%s\": quote it",
                                   v->text, (long long)x.integer, v->text)
               : graph_problem_add(map->m, v, field, false, GREBE_ESCHEMA, err,
                                   "an unquoted %s is %s in YAML 1.1; taken as the text \"%s\": quote it", v->text,
                                   kinds[x.kind], v->text);
}

grebe_status graph_section_list(const struct graph_section *map, const char *key, size_t entry_bytes, const struct yaml_tree **list,
                            size_t *n, void **entries, grebe_error *err)
{
    struct graph_metadata *m = map->m;
    const struct yaml_tree *v = yaml_tree_get(map->tree, key);
    grebe_status st = GREBE_OK;
    *list = v;
    *n = 0;
    if (v != NULL && v->type != YAML_TREE_LIST && graph_yaml_scalar_of(v).kind != GRAPH_YAML_NULL) {
        st = graph_section_fail(map, key, err, "expected a list, found a %s", yaml_tree_type_name(v));
    } else if (v != NULL && v->type == YAML_TREE_LIST && v->n > (4 * m->text_bytes + ARENA_BLOCK_MAX) / entry_bytes) {
        st = graph_section_fail(map, key, err, "%zu entries are more than a file of %zu bytes describes", v->n, m->text_bytes);
    } else if (v != NULL && v->type == YAML_TREE_LIST) {
        *n = v->n;
    }
    *entries = arena_array(&m->arena, *n, entry_bytes);
    return *entries != NULL || st != GREBE_OK ? st : mem_fail(err, *n * entry_bytes, m->shown);
}

grebe_status graph_section_item(const struct graph_section *map, const char *key, const struct yaml_tree *list, size_t i,
                            struct graph_section *out, bool *is_map, grebe_error *err)
{
    out->m = map->m;
    out->tree = list->items[i];
    snprintf(out->field, sizeof out->field, "%.90s%s%s[%zu]", map->field, map->field[0] != '\0' ? "." : "", key, i);
    *is_map = out->tree->type == YAML_TREE_MAP;
    return *is_map ? GREBE_OK
                   : graph_section_fail(out, NULL, err, "expected a map, found a %s", yaml_tree_type_name(out->tree));
}

static grebe_status in_memory_of(const struct graph_section *map, bool *out, grebe_error *err)
{
    const struct yaml_tree *v = yaml_tree_get(map->tree, "in_memory");
    struct graph_yaml_scalar x = graph_yaml_scalar_of(v);
    *out = true;
    if (v == NULL) {
        return GREBE_OK;
    }
    if (x.kind == GRAPH_YAML_NULL || x.kind == GRAPH_YAML_BOOL ||
        (x.kind == GRAPH_YAML_INT && (x.integer == 0 || x.integer == 1))) {
        *out = x.kind == GRAPH_YAML_BOOL ? x.boolean : x.kind == GRAPH_YAML_INT && x.integer == 1; /* null: on disk */
        return GREBE_OK;
    }
    struct yaml_tree plain = *v;
    plain.is_plain = true; /* "true" in quotes is taken too */
    x = graph_yaml_scalar_of(&plain);
    *out = x.boolean;
    return x.kind == GRAPH_YAML_BOOL ? GREBE_OK
                                     : graph_section_fail(map, "in_memory", err, "in_memory is true or false, found %s",
                                                      v->type == YAML_TREE_SCALAR ? v->text : yaml_tree_type_name(v));
}

grebe_status graph_path_join(struct buf *dst, const char *folder, const char *name, grebe_error *err)
{
    return name[0] == '/' ? buf_put_text(dst, name, err) : path_join(dst, folder, name, err);
}

grebe_status graph_metadata_path(struct graph_metadata *m, const char *path, const char **out, grebe_error *err)
{
    static const char made[] = "preprocessed/";
    struct buf b = BUF_INIT(m->ctx->a);
    bool is_made = m->made_in != NULL && strncmp(path, made, sizeof made - 1) == 0;
    grebe_status st = is_made ? path_join(&b, m->made_in, path + sizeof made - 1, err)
                              : graph_path_join(&b, m->folder, path, err);
    if (st == GREBE_OK) {
        *out = arena_str(&m->arena, (const char *)b.data, b.len);
        st = *out != NULL ? GREBE_OK : mem_fail(err, b.len, path);
    }
    buf_release(&b);
    return st;
}

grebe_status graph_section_file(const struct graph_section *map, const char *const *formats, struct graph_file *out,
                            grebe_error *err)
{
    static const char *const all[] = { "numpy", "torch", "csv", "parquet", NULL };
    const char *format = NULL;
    grebe_status st = GREBE_OK;
    struct graph_metadata *m = map->m;
    out->path_at = yaml_tree_get(map->tree, "path");
    out->format_at = yaml_tree_get(map->tree, "format");
    out->field = arena_str(&m->arena, map->field, strlen(map->field));
    if (out->field == NULL) {
        return mem_fail(err, strlen(map->field), map->field);
    }
    GREBE_TRY(graph_section_text(map, "format", true, &format, err));
    GREBE_TRY(graph_section_text(map, "path", true, &out->path, err));
    GREBE_TRY(in_memory_of(map, &out->is_in_memory, err));
    bool is_known = false;
    for (size_t i = 0; format != NULL && formats[i] != NULL; i++) {
        is_known = is_known || strcmp(formats[i], format) == 0;
    }
    for (size_t i = 0; format != NULL && all[i] != NULL; i++) {
        out->format = strcmp(all[i], format) == 0 ? (enum graph_format)i : out->format;
    }
    if (format != NULL && !is_known) {
        GREBE_TRY(graph_section_fail(map, "format", err, "expected %s or %s, found %s", formats[0], formats[1], format));
        out->path = NULL; /* nothing more is said of the file */
    }
    if (out->path != NULL && out->path[0] == '\0') {
        GREBE_TRY(graph_section_fail(map, "path", err, "path is empty"));
        out->path = NULL;
    }
    if (out->path != NULL) {
        GREBE_TRY(graph_metadata_path(m, out->path, &out->real_path, err));
    }
out:
    return st;
}

/* ---- keys that are not known ---- */

/* Edits from one word to another, at most 3. */
static size_t edits(const char *x, const char *y)
{
    enum { LONGEST = 40 };
    size_t row[LONGEST + 1], n = strlen(x), k = strlen(y);
    if (n > LONGEST || k > LONGEST) {
        return 3;
    }
    for (size_t j = 0; j <= k; j++) {
        row[j] = j;
    }
    for (size_t i = 1; i <= n; i++) {
        size_t before = row[0];
        row[0] = i;
        for (size_t j = 1; j <= k; j++) {
            size_t above = row[j];
            size_t best = before + (x[i - 1] == y[j - 1] ? 0 : 1);
            best = min_size(best, min_size(above, row[j - 1]) + 1);
            row[j] = best;
            before = above;
        }
    }
    return min_size(row[k], 3);
}

static bool is_among(const char *const *known, const char *key)
{
    for (size_t i = 0; known[i] != NULL; i++) {
        if (strcmp(known[i], key) == 0) {
            return true;
        }
    }
    return false;
}

const char *graph_section_near(const char *const *known, const char *word)
{
    const char *near = NULL;
    size_t least = strlen(word) <= 4 ? 2 : 3; /* short words are near to everything */
    for (size_t k = 0; known[k] != NULL; k++) {
        const size_t n = edits(word, known[k]);
        if (n < least) {
            least = n;
            near = known[k];
        }
    }
    return least > 0 ? near : NULL;
}

grebe_status graph_section_typos(const struct graph_section *map, const char *const *known, bool is_closed,
                             const char *consequence, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    for (size_t i = 0; i < map->tree->n && st == GREBE_OK; i++) {
        const struct yaml_tree *key = map->tree->pairs[i].key;
        const char *near = graph_section_near(known, key->text);
        char field[200];
        if (is_among(known, key->text) || (near == NULL && !is_closed)) {
            continue;
        }
        snprintf(field, sizeof field, "%s%s%.60s", map->field, map->field[0] != '\0' ? "." : "", key->text);
        st = near != NULL
                 ? graph_problem_add(map->m, key, field, false, GREBE_ESCHEMA, err, "did you mean %s? %s", near,
                                     consequence)
                 : graph_problem_add(map->m, key, field, false, GREBE_ESCHEMA, err, "not known. %s", consequence);
    }
    return st;
}

grebe_status graph_section_extra(const struct graph_section *map, const char *const *known, const struct yaml_tree **out,
                             grebe_error *err)
{
    struct yaml_tree *extra = arena_alloc(&map->m->arena, sizeof *extra);
    struct yaml_pair *pairs = arena_array(&map->m->arena, map->tree->n, sizeof *pairs);
    size_t n = 0;
    if (extra == NULL || pairs == NULL) {
        return mem_fail(err, sizeof *extra, map->field);
    }
    for (size_t i = 0; i < map->tree->n; i++) {
        if (!is_among(known, map->tree->pairs[i].key->text)) {
            pairs[n++] = map->tree->pairs[i];
        }
    }
    *extra = *map->tree;
    extra->pairs = pairs;
    extra->n = n;
    *out = extra;
    return GREBE_OK;
}
