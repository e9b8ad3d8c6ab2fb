/* SPDX-License-Identifier: Apache-2.0 */
#include "load/load_card.h"

#include <string.h>

#include "load/load_patterns.h"
#include "wire/yaml_json.h"

enum { CARD_BYTES_MAX = 16 << 20 };

static grebe_status no_memory(grebe_error *err) { return mem_fail(err, 64, "a data set's card"); }

/* ---- the head of README.md ---- */

static bool is_line(const char *p, const char *end, const char **next)
{
    if (end - p < 3 || memcmp(p, "---", 3) != 0) {
        return false;
    }
    p += 3;
    while (p < end && (*p == ' ' || *p == '\t' || *p == '\r')) {
        p++;
    }
    *next = p < end ? p + 1 : p;
    return p == end || *p == '\n';
}

const char *load_card_head(const char *text, size_t text_len, size_t *len)
{
    const char *p = text, *end = text + text_len, *begin = NULL;
    *len = 0;
    if (text_len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
        p += 3;
    }
    while (p < end && (*p == '\n' || *p == '\r' || *p == ' ')) {
        p++;
    }
    if (!is_line(p, end, &begin)) {
        return text;
    }
    for (p = begin; p < end;) {
        const char *next = NULL;
        if (is_line(p, end, &next)) {
            *len = (size_t)(p - begin);
            return begin;
        }
        const char *eol = memchr(p, '\n', (size_t)(end - p));
        p = eol != NULL ? eol + 1 : end;
    }
    return text;
}

/* ---- files ---- */

static grebe_status read_text(struct io_store *store, const char *folder, const char *name, struct buf *path,
                              struct region **out, grebe_error *err)
{
    struct io_info info;
    *out = NULL;
    buf_clear(path);
    grebe_status st = buf_printf(path, err, "%s/%s", folder, name);
    if (st == GREBE_OK && buf_text(path) == NULL) {
        st = no_memory(err);
    }
    if (st != GREBE_OK || io_stat(store, buf_text(path), &info, NULL) != GREBE_OK || info.kind != IO_FILE) {
        return st;
    }
    return io_read_all(store, buf_text(path), CARD_BYTES_MAX, out, NULL, err);
}

/* ---- parts ---- */

/* A text, or another scalar as it is written. */
static const char *scalar_text(const struct yaml_tree *y)
{
    return y != NULL && y->type == YAML_TREE_SCALAR && !yaml_tree_is_null(y) ? y->text : NULL;
}

static grebe_status features_at(const struct load_card *c, const struct yaml_tree *y, struct features **out, grebe_error *err)
{
    *out = NULL;
    if (y == NULL || yaml_tree_is_null(y)) {
        return GREBE_OK;
    }
    grebe_status st = features_from_yaml(c->arena.a, y, out, err);
    return st == GREBE_OK ? st : error_wrap(err, st, "features");
}

static bool is_entry(const struct yaml_tree *y)
{
    const struct yaml_tree *path = yaml_tree_get(y, "path"), *split = yaml_tree_get(y, "split");
    if (y->type == YAML_TREE_SCALAR) {
        return true;
    }
    return y->type == YAML_TREE_MAP && y->n == 2 && path != NULL && path->type != YAML_TREE_MAP && split != NULL &&
           split->type == YAML_TREE_SCALAR && load_is_split_name(split->text, split->n);
}

/* Names that no folder could have. */
static bool has_bad_char(const char *name) { return strpbrk(name, "<>:/\\|?*") != NULL; }

static grebe_status data_files_at(struct load_card *c, const struct yaml_tree *y, struct load_config *out, grebe_error *err)
{
    bool is_right = y->type == YAML_TREE_SCALAR || (y->type == YAML_TREE_LIST && y->n > 0);
    for (size_t i = 0; is_right && y->type == YAML_TREE_LIST && i < y->n; i++) {
        is_right = is_entry(y->items[i]);
    }
    if (!is_right) {
        return GREBE_FAIL(err, GREBE_EINVAL, "%u:%u: data_files: expected a path, a list of paths or of {split: train, path: …}",
                          y->line, y->column);
    }
    struct json_value *v = arena_alloc_zero(&c->arena, sizeof *v);
    if (v == NULL) {
        return no_memory(err);
    }
    out->data_files = v;
    grebe_status st = yaml_tree_to_json(&c->arena, y, v, err);
    if (st == GREBE_OK && v->type != JSON_ARRAY) {
        *v = (struct json_value){ .type = JSON_STRING, .n = y->n, .text = y->text };
    }
    return st;
}

static bool is_reserved(const char *key)
{
    static const char *const keys[] = { "config_name", "data_files", "data_dir", "default", "features", "description", "version" };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (strcmp(keys[i], key) == 0) {
            return true;
        }
    }
    return false;
}

static grebe_status options_at(struct load_card *c, const struct yaml_tree *y, struct load_config *out, grebe_error *err)
{
    struct json_value *v = arena_alloc_zero(&c->arena, sizeof *v);
    struct json_member *members = arena_array(&c->arena, y->n, sizeof *members);
    if (v == NULL || members == NULL) {
        return no_memory(err);
    }
    v->type = JSON_OBJECT;
    v->members = members;
    for (size_t i = 0; i < y->n; i++) {
        const struct yaml_pair *p = &y->pairs[i];
        if (!is_reserved(p->key->text)) {
            members[v->n].key = p->key->text;
            members[v->n].key_len = p->key->n;
            grebe_status st = yaml_tree_to_json(&c->arena, p->value, &members[v->n].value, err);
            if (st != GREBE_OK) {
                return st;
            }
            v->n++;
        }
    }
    out->options = v;
    return GREBE_OK;
}

static grebe_status config_at(struct load_card *c, const struct yaml_tree *y, struct load_config *out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const struct yaml_tree *files = yaml_tree_get(y, "data_files"), *is_default = yaml_tree_get(y, "default");
    const char *name = y->type == YAML_TREE_MAP ? scalar_text(yaml_tree_get(y, "config_name")) : NULL;
    if (name == NULL || name[0] == '\0' || has_bad_char(name)) {
        return GREBE_FAIL(err, GREBE_EINVAL, "%u:%u: configs: expected an entry with a config_name without any of <>:/\\|?*",
                          y->line, y->column);
    }
    out->name = name;
    if (is_default != NULL && !yaml_tree_bool(is_default, &out->is_default)) {
        return GREBE_FAIL(err, GREBE_EINVAL, "%u:%u: default: expected true or false", is_default->line, is_default->column);
    }
    out->data_dir = scalar_text(yaml_tree_get(y, "data_dir"));
    if (files != NULL && !yaml_tree_is_null(files)) {
        GREBE_TRY(data_files_at(c, files, out, err));
    }
    GREBE_TRY(features_at(c, yaml_tree_get(y, "features"), &out->features, err));
    st = options_at(c, y, out, err);
out:
    return st == GREBE_OK ? st : error_wrap(err, st, "config \"%s\"", name);
}

static grebe_status configs_at(struct load_card *c, const struct yaml_tree *y, grebe_error *err)
{
    if (y->type != YAML_TREE_LIST) {
        return GREBE_FAIL(err, GREBE_EINVAL, "%u:%u: configs: expected a list, found a %s", y->line, y->column,
                          yaml_tree_type_name(y));
    }
    c->configs = arena_array(&c->arena, y->n, sizeof *c->configs);
    if (c->configs == NULL) {
        return no_memory(err);
    }
    for (size_t i = 0; i < y->n; i++) {
        struct load_config *config = &c->configs[c->n_configs++];
        grebe_status st = config_at(c, y->items[i], config, err);
        if (st != GREBE_OK) {
            return st;
        }
    }
    return GREBE_OK;
}

/* ---- dataset_info ---- */

static grebe_status info_splits(struct load_card *c, const struct yaml_tree *y, struct load_info *out, grebe_error *err)
{
    if (y == NULL || yaml_tree_is_null(y)) {
        return GREBE_OK;
    }
    if (y->type != YAML_TREE_LIST) {
        return GREBE_FAIL(err, GREBE_EINVAL, "%u:%u: splits: expected a list, found a %s", y->line, y->column,
                          yaml_tree_type_name(y));
    }
    out->has_splits = true;
    out->splits = arena_array(&c->arena, y->n, sizeof *out->splits);
    if (out->splits == NULL) {
        return no_memory(err);
    }
    for (size_t i = 0; i < y->n; i++) {
        const struct yaml_tree *rows = yaml_tree_get(y->items[i], "num_examples");
        struct load_split_info *split = &out->splits[out->n_splits++];
        split->name = scalar_text(yaml_tree_get(y->items[i], "name"));
        split->n_rows = -1;
        if (split->name == NULL || (rows != NULL && (!yaml_tree_i64(rows, &split->n_rows) || split->n_rows < 0))) {
            return GREBE_FAIL(err, GREBE_EINVAL, "%u:%u: splits: expected name and num_examples", y->items[i]->line,
                              y->items[i]->column);
        }
    }
    return GREBE_OK;
}

static const char *text_or_empty(const struct yaml_tree *y)
{
    const char *text = scalar_text(y);
    return text != NULL ? text : "";
}

static grebe_status info_at(struct load_card *c, const struct yaml_tree *y, struct load_info *out, grebe_error *err)
{
    const char *name = scalar_text(yaml_tree_get(y, "config_name"));
    out->config = name != NULL ? name : "default";
    out->description = text_or_empty(yaml_tree_get(y, "description"));
    out->citation = text_or_empty(yaml_tree_get(y, "citation"));
    out->homepage = text_or_empty(yaml_tree_get(y, "homepage"));
    out->license = text_or_empty(yaml_tree_get(y, "license"));
    grebe_status st = features_at(c, yaml_tree_get(y, "features"), &out->features, err);
    if (st == GREBE_OK) {
        st = info_splits(c, yaml_tree_get(y, "splits"), out, err);
    }
    return st == GREBE_OK ? st : error_wrap(err, st, "dataset_info");
}

static grebe_status infos_at(struct load_card *c, const struct yaml_tree *y, grebe_error *err)
{
    size_t n = y->type == YAML_TREE_LIST ? y->n : 1;
    if (y->type == YAML_TREE_SCALAR) {
        return GREBE_FAIL(err, GREBE_EINVAL, "%u:%u: dataset_info: expected a map or a list of maps", y->line, y->column);
    }
    c->infos = arena_array(&c->arena, n, sizeof *c->infos);
    if (c->infos == NULL) {
        return no_memory(err);
    }
    for (size_t i = 0; i < n; i++) {
        struct load_info *info = &c->infos[c->n_infos++];
        grebe_status st = info_at(c, y->type == YAML_TREE_LIST ? y->items[i] : y, info, err);
        if (st != GREBE_OK) {
            return st;
        }
    }
    return GREBE_OK;
}

/* ---- dataset_infos.json of older folders ---- */

static grebe_status legacy_info(struct load_card *c, const struct json_member *m, bool is_alone, struct load_info *out,
                                grebe_error *err)
{
    const struct json_value *features = json_get(&m->value, "features"), *splits = json_get(&m->value, "splits");
    *out = (struct load_info){ .config = is_alone ? "default" : m->key, .description = "", .citation = "", .homepage = "",
                               .license = "" };
    if (features != NULL && features->type == JSON_OBJECT) {
        grebe_status st = features_from_tree(c->arena.a, features, &out->features, err);
        if (st != GREBE_OK) {
            return st;
        }
    }
    if (splits == NULL || splits->type != JSON_OBJECT) {
        return GREBE_OK;
    }
    out->has_splits = true;
    out->splits = arena_array(&c->arena, splits->n, sizeof *out->splits);
    if (out->splits == NULL) {
        return no_memory(err);
    }
    for (size_t i = 0; i < splits->n; i++) {
        struct load_split_info *split = &out->splits[out->n_splits++];
        split->name = splits->members[i].key;
        if (!json_i64(json_get(&splits->members[i].value, "num_examples"), &split->n_rows)) {
            split->n_rows = -1;
        }
    }
    return GREBE_OK;
}

static grebe_status read_legacy(struct load_card *c, const struct region *text, grebe_error *err)
{
    const struct json_value *tree = NULL;
    grebe_status st = json_parse(&c->arena, (const char *)text->data, text->len, &tree, err);
    if (st != GREBE_OK) {
        return st;
    }
    size_t n = tree->type == JSON_OBJECT ? tree->n : 0, n_newer = c->n_infos;
    struct load_info *infos = arena_array(&c->arena, n + n_newer, sizeof *infos);
    if (infos == NULL) {
        return no_memory(err);
    }
    for (size_t i = 0; i < n_newer; i++) {
        infos[i] = c->infos[i];
    }
    c->infos = infos;
    for (size_t i = 0; i < n; i++) {
        struct load_info info;
        st = legacy_info(c, &tree->members[i], n == 1, &info, err);
        if (st != GREBE_OK || load_card_info(c, info.config) != NULL) {
            features_free(info.features);
        } else {
            c->infos[c->n_infos++] = info;
        }
        if (st != GREBE_OK) {
            return st;
        }
    }
    return GREBE_OK;
}

/* ---- the whole ---- */

static grebe_status parse_yaml(struct load_card *c, const char *name, const char *text, size_t len,
                               const struct yaml_tree **out, grebe_error *err)
{
    grebe_status st = yaml_tree_parse(&c->arena, name, text, len, out, err);
    if (st == GREBE_OK && (*out)->type != YAML_TREE_MAP) {
        *out = NULL; /* a head that says nothing */
    }
    return st;
}

static grebe_status read_card(struct load_card *c, struct io_store *store, const char *folder, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct buf path = BUF_INIT(c->arena.a);
    struct region *readme = NULL, *more = NULL, *legacy = NULL;
    const struct yaml_tree *head = NULL, *over = NULL;
    size_t len = 0;
    GREBE_TRY(read_text(store, folder, "README.md", &path, &readme, err));
    if (readme != NULL) {
        const char *text = load_card_head((const char *)readme->data, readme->len, &len);
        if (len > 0) {
            GREBE_TRY(parse_yaml(c, "README.md", text, len, &head, err));
        }
    }
    GREBE_TRY(read_text(store, folder, ".huggingface.yaml", &path, &more, err));
    if (more != NULL) {
        GREBE_TRY(parse_yaml(c, ".huggingface.yaml", (const char *)more->data, more->len, &over, err));
    }
    const struct yaml_tree *configs = yaml_tree_get(over, "configs"), *infos = yaml_tree_get(over, "dataset_info");
    configs = configs != NULL ? configs : yaml_tree_get(head, "configs");
    infos = infos != NULL ? infos : yaml_tree_get(head, "dataset_info");
    if (configs != NULL && !yaml_tree_is_null(configs)) {
        GREBE_TRY(configs_at(c, configs, err));
    }
    if (infos != NULL && !yaml_tree_is_null(infos)) {
        GREBE_TRY(infos_at(c, infos, err));
    }
    GREBE_TRY(read_text(store, folder, "dataset_infos.json", &path, &legacy, err));
    if (legacy != NULL) {
        st = read_legacy(c, legacy, err);
        if (st != GREBE_OK) {
            error_wrap(err, st, "dataset_infos.json");
        }
    }
out:
    buf_release(&path);
    region_drop(readme);
    region_drop(more);
    region_drop(legacy);
    return st;
}

grebe_status load_card_read(const grebe_allocator *a, struct io_store *store, const char *folder, struct load_card **out,
                            grebe_error *err)
{
    *out = NULL;
    struct load_card *c = mem_alloc_zero(a, sizeof *c);
    if (c == NULL) {
        return no_memory(err);
    }
    c->arena = ARENA_INIT(a);
    grebe_status st = read_card(c, store, folder, err);
    if (st != GREBE_OK) {
        load_card_free(c);
        return error_wrap(err, st, "%s", folder);
    }
    *out = c;
    return GREBE_OK;
}

void load_card_free(struct load_card *c)
{
    if (c == NULL) {
        return;
    }
    const grebe_allocator *a = c->arena.a;
    for (size_t i = 0; i < c->n_configs; i++) {
        features_free(c->configs[i].features);
    }
    for (size_t i = 0; i < c->n_infos; i++) {
        features_free(c->infos[i].features);
    }
    arena_release(&c->arena);
    mem_free(a, c, sizeof *c);
}

/* ---- which configuration ---- */

static const char *config_names(const struct load_card *c, char *dst, size_t dst_len)
{
    size_t at = 0;
    dst[0] = '\0';
    for (size_t i = 0; i < c->n_configs && at + 24 < dst_len; i++) {
        if (i > 0) {
            memcpy(dst + at, ", ", 3);
            at += 2;
        }
        error_quote(dst + at, dst_len - at, c->configs[i].name, strlen(c->configs[i].name));
        at += strlen(dst + at);
    }
    return dst;
}

grebe_status load_card_config(const struct load_card *c, const char *name, const struct load_config **out, grebe_error *err)
{
    char names[240];
    const struct load_config *found = NULL;
    *out = NULL;
    for (size_t i = 0; i < c->n_configs; i++) {
        const struct load_config *config = &c->configs[i];
        bool is_default = c->n_configs == 1 || strcmp(config->name, "default") == 0 || config->is_default;
        if (is_default && found != NULL) {
            return GREBE_FAIL(err, GREBE_EINVAL, "several default configs: \"%s\" and \"%s\"", found->name, config->name);
        }
        found = is_default ? config : found;
    }
    for (size_t i = 0; name != NULL && i < c->n_configs; i++) {
        if (strcmp(c->configs[i].name, name) == 0) {
            *out = &c->configs[i];
            return GREBE_OK;
        }
    }
    bool is_plain = c->n_configs == 0 && (name == NULL || strcmp(name, "default") == 0 ||
                                          (c->n_infos == 1 && strcmp(c->infos[0].config, name) == 0));
    if (name != NULL && !is_plain) {
        return GREBE_FAIL(err, GREBE_ENOTFOUND, "config \"%s\" is not there: expected one of %s", name,
                          c->n_configs > 0 ? config_names(c, names, sizeof names) : "default");
    }
    if (found == NULL && c->n_configs > 0) {
        return GREBE_FAIL(err, GREBE_EINVAL, "the name of a config is missing: expected one of %s",
                          config_names(c, names, sizeof names));
    }
    *out = found;
    return GREBE_OK;
}

const struct load_info *load_card_info(const struct load_card *c, const char *config)
{
    for (size_t i = 0; i < c->n_infos; i++) {
        if (strcmp(c->infos[i].config, config) == 0) {
            return &c->infos[i];
        }
    }
    return NULL;
}
