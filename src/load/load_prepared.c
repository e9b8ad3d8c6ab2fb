/* SPDX-License-Identifier: Apache-2.0 */
#include "load/load_prepared.h"

#include <inttypes.h>
#include <string.h>

#include "wire/json_python.h"

enum { INFO_BYTES_MAX = 64 << 20, SHARDS_MAX = 99999 };

static grebe_status no_memory(grebe_error *err) { return mem_fail(err, sizeof(struct prepared), "a prepared data set"); }

grebe_status prepared_folder(const struct load_plan *p, const char *cache, struct buf *dst, grebe_error *err)
{
    return buf_printf(dst, err, "%s/%s/%s/0.0.0/%s", cache, p->dataset_name, p->config_id, p->hash);
}

grebe_status prepared_shard_name(struct buf *dst, const char *dataset_name, const char *split, size_t shard, size_t n_shards,
                                 grebe_error *err)
{
    return n_shards == 1 ? buf_printf(dst, err, "%s-%s.arrow", dataset_name, split)
                         : buf_printf(dst, err, "%s-%s-%05zu-of-%05zu.arrow", dataset_name, split, shard, n_shards);
}

/* ---- writing dataset_info.json: the fields of `datasets` in its order ---- */

static grebe_status put_text(struct buf *dst, const char *key, const char *text, grebe_error *err)
{
    grebe_status st = buf_printf(dst, err, "\"%s\": ", key);
    if (st == GREBE_OK) {
        st = json_python_string(dst, text, strlen(text), err);
    }
    return st == GREBE_OK ? buf_put(dst, ", ", 2, err) : st;
}

static grebe_status put_split(const struct load_plan *p, const struct prepared_split *s, struct buf *dst, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    GREBE_TRY(json_python_string(dst, s->name, strlen(s->name), err));
    GREBE_TRY(buf_put_text(dst, ": {\"name\": ", err));
    GREBE_TRY(json_python_string(dst, s->name, strlen(s->name), err));
    GREBE_TRY(buf_printf(dst, err, ", \"num_bytes\": %" PRId64 ", \"num_examples\": %" PRId64, s->n_bytes, s->n_rows));
    if (s->n_shards > 1) {
        GREBE_TRY(buf_put_text(dst, ", \"shard_lengths\": [", err));
        for (size_t i = 0; i < s->n_shards; i++) {
            GREBE_TRY(buf_printf(dst, err, "%s%" PRId64, i > 0 ? ", " : "", s->shard_rows[i]));
        }
        GREBE_TRY(buf_put_byte(dst, ']', err));
    }
    GREBE_TRY(buf_put_text(dst, ", \"dataset_name\": ", err));
    GREBE_TRY(json_python_string(dst, p->dataset_name, strlen(p->dataset_name), err));
    st = buf_put_byte(dst, '}', err);
out:
    return st;
}

static uint64_t source_bytes(const struct load_plan *p)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < p->files.n; i++) {
        for (size_t k = 0; k < p->files.splits[i].files.n; k++) {
            sum += p->files.splits[i].files.items[k].size;
        }
    }
    return sum;
}

grebe_status prepared_info_text(const struct load_plan *p, const struct features *features,
                                const struct prepared_split *splits, size_t n, struct buf *dst, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const struct load_info *info = p->info;
    int64_t bytes = 0;
    GREBE_TRY(buf_put_byte(dst, '{', err));
    GREBE_TRY(put_text(dst, "description", info != NULL ? info->description : "", err));
    GREBE_TRY(put_text(dst, "citation", info != NULL ? info->citation : "", err));
    GREBE_TRY(put_text(dst, "homepage", info != NULL ? info->homepage : "", err));
    GREBE_TRY(put_text(dst, "license", info != NULL ? info->license : "", err));
    GREBE_TRY(buf_put_text(dst, "\"features\": ", err));
    GREBE_TRY(features_to_json(features, -1, 0, dst, err));
    GREBE_TRY(buf_put(dst, ", ", 2, err));
    GREBE_TRY(put_text(dst, "builder_name", p->kind->name, err));
    GREBE_TRY(put_text(dst, "dataset_name", p->dataset_name, err));
    GREBE_TRY(put_text(dst, "config_name", p->config_name, err));
    GREBE_TRY(buf_put_text(dst, "\"version\": {\"version_str\": \"0.0.0\", \"major\": 0, \"minor\": 0, \"patch\": 0}, ", err));
    GREBE_TRY(buf_put_text(dst, "\"splits\": {", err));
    for (size_t i = 0; i < n; i++) {
        GREBE_TRY(buf_put_text(dst, i > 0 ? ", " : "", err));
        GREBE_TRY(put_split(p, &splits[i], dst, err));
        bytes += splits[i].n_bytes;
    }
    uint64_t sources = source_bytes(p);
    st = buf_printf(dst, err, "}, \"download_size\": %" PRIu64 ", \"dataset_size\": %" PRId64 ", \"size_in_bytes\": %" PRIu64 "}",
                    sources, bytes, sources + (uint64_t)bytes);
out:
    return st;
}

/* ---- reading ---- */

static grebe_status corrupt(const char *what, grebe_error *err) { return GREBE_FAIL(err, GREBE_ECORRUPT, "%s", what); }

/* A name becomes a part of a path. */
/* Of a folder called "...", too; what leads out of the folder is none. */
static bool is_file_name(const char *name)
{
    return name[0] != '\0' && strchr(name, '/') == NULL && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

static grebe_status read_split(struct prepared *p, const char *dataset_name, const struct json_member *m,
                               struct prepared_split *out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const struct json_value *lengths = json_get(&m->value, "shard_lengths");
    struct buf path = BUF_INIT(p->arena.a);
    int64_t sum = 0;
    bool is_single = lengths == NULL || lengths->type != JSON_ARRAY;
    *out = (struct prepared_split){ .name = m->key, .n_shards = is_single ? 1 : lengths->n };
    if (!is_file_name(m->key) || !json_i64(json_get(&m->value, "num_examples"), &out->n_rows) || out->n_rows < 0 ||
        !json_i64(json_get(&m->value, "num_bytes"), &out->n_bytes)) {
        return corrupt("splits: expected name, num_bytes and num_examples", err);
    }
    if (out->n_shards == 0 || out->n_shards > SHARDS_MAX) {
        return corrupt("shard_lengths: expected 1 to 99999", err);
    }
    int64_t *rows = arena_array(&p->arena, out->n_shards, sizeof *rows);
    const char **paths = arena_array(&p->arena, out->n_shards, sizeof *paths);
    if (rows == NULL || paths == NULL) {
        return no_memory(err);
    }
    rows[0] = out->n_rows;
    for (size_t i = 0; i < out->n_shards; i++) {
        if (!is_single && (!json_i64(&lengths->items[i], &rows[i]) || rows[i] < 0 || rows[i] > INT64_MAX - sum)) {
            st = corrupt("shard_lengths: expected numbers of rows", err);
            goto out;
        }
        sum += rows[i];
        buf_clear(&path);
        GREBE_TRY(buf_printf(&path, err, "%s/", p->folder));
        GREBE_TRY(prepared_shard_name(&path, dataset_name, out->name, i, out->n_shards, err));
        paths[i] = arena_str(&p->arena, (const char *)path.data, path.len);
        if (paths[i] == NULL) {
            st = no_memory(err);
            goto out;
        }
    }
    if (sum != out->n_rows) {
        st = corrupt("shard_lengths do not add up to num_examples", err);
    }
    out->shard_rows = rows;
    out->paths = paths;
out:
    buf_release(&path);
    return st;
}

static grebe_status read_info(struct prepared *p, const struct region *text, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const struct json_value *tree = NULL, *features, *splits, *name;
    GREBE_TRY(json_parse(&p->arena, (const char *)text->data, text->len, &tree, err));
    GREBE_TRY(json_expect(tree, "features", JSON_OBJECT, &features, err));
    GREBE_TRY(json_expect(tree, "splits", JSON_OBJECT, &splits, err));
    GREBE_TRY(json_expect(tree, "dataset_name", JSON_STRING, &name, err));
    if (!is_file_name(name->text)) {
        st = corrupt("dataset_name is no name of a file", err);
        goto out;
    }
    GREBE_TRY(features_from_tree(p->arena.a, features, &p->features, err));
    p->info = arena_str(&p->arena, (const char *)text->data, text->len);
    p->splits = arena_array(&p->arena, splits->n, sizeof *p->splits);
    if (p->info == NULL || p->splits == NULL) {
        st = no_memory(err);
        goto out;
    }
    for (size_t i = 0; i < splits->n; i++) {
        GREBE_TRY(read_split(p, name->text, &splits->members[i], &p->splits[i], err));
        p->n++;
    }
out:
    return st;
}

grebe_status prepared_read(const grebe_allocator *a, struct io_store *store, const char *folder, struct prepared **out,
                           grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct buf path = BUF_INIT(a);
    struct region *text = NULL;
    struct prepared *p = mem_alloc_zero(a, sizeof *p);
    *out = NULL;
    if (p == NULL) {
        return no_memory(err);
    }
    p->arena = ARENA_INIT(a);
    p->folder = arena_str(&p->arena, folder, strlen(folder));
    GREBE_TRY(buf_printf(&path, err, "%s/dataset_info.json", folder));
    if (p->folder == NULL || buf_text(&path) == NULL) {
        st = no_memory(err);
        goto out;
    }
    GREBE_TRY(io_read_all(store, buf_text(&path), INFO_BYTES_MAX, &text, NULL, err));
    st = read_info(p, text, err);
    if (st != GREBE_OK) {
        error_wrap(err, st, "%s", buf_text(&path));
        goto out;
    }
    *out = p;
    p = NULL;
out:
    region_drop(text);
    buf_release(&path);
    prepared_free(p);
    return st;
}

void prepared_free(struct prepared *p)
{
    if (p != NULL) {
        const grebe_allocator *a = p->arena.a;
        features_free(p->features);
        arena_release(&p->arena);
        mem_free(a, p, sizeof *p);
    }
}
