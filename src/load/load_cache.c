/* SPDX-License-Identifier: Apache-2.0 */
#include "load/load_cache.h"

#include <string.h>
#include <sys/stat.h>

#include "arrow/arrow_stream.h"
#include "base/name_index.h"
#include "ipc/rows_file.h"
#include "load/load_glob.h"
#include "load/load_plan.h"
#include "load/load_prepared.h"
#include "text/text_builder.h"

static grebe_status no_memory(grebe_error *err) { return mem_fail(err, sizeof(struct cache_entry), "the cache's content"); }

/* ---- finding ---- */

struct search {
    struct arena *ar;
    grebe_context *ctx;
    struct io_store *store;
    const char *cache;
    struct cache_entries *out;
    struct name_index folders; /* of entries that are folders */
    grebe_error *err;
};

static bool ends_with(const char *s, size_t len, const char *end)
{
    size_t n = strlen(end);
    return len >= n && memcmp(s + len - n, end, n) == 0;
}

static grebe_status add_entry(struct search *s, const char *path, enum cache_kind kind, bool is_folder, size_t *at)
{
    struct cache_entries *list = s->out;
    if (list->n == list->capacity) {
        size_t capacity = list->capacity == 0 ? 16 : 2 * list->capacity;
        struct cache_entry *items = arena_array(s->ar, capacity, sizeof *items);
        if (items == NULL) {
            return no_memory(s->err);
        }
        if (list->n > 0) {
            memcpy(items, list->items, list->n * sizeof *items);
        }
        list->items = items;
        list->capacity = capacity;
    }
    struct cache_entry *e = &list->items[list->n];
    *e = (struct cache_entry){ .path = path, .kind = kind, .is_folder = is_folder, .rows = -1 };
    const char *rest = path + strlen(s->cache) + 1, *slash = strchr(rest, '/');
    if (slash != NULL) { /* <dataset>/<config>/0.0.0/<hash> */
        const char *next = strchr(slash + 1, '/');
        e->dataset = arena_str(s->ar, rest, (size_t)(slash - rest));
        e->config = next != NULL ? arena_str(s->ar, slash + 1, (size_t)(next - slash - 1)) : NULL;
        if (e->dataset == NULL || (next != NULL && e->config == NULL)) {
            return no_memory(s->err);
        }
    }
    *at = list->n++;
    return is_folder ? name_index_add(&s->folders, path, *at, NULL, s->err) : GREBE_OK;
}

/* Sizes and times of one file more. The access time is what "used" goes by, where the file system keeps it. */
static void count_file(struct cache_entry *e, const struct stat *info, bool is_content)
{
    int64_t modified = (int64_t)info->st_mtim.tv_sec * 1000000 + info->st_mtim.tv_nsec / 1000;
    int64_t used = (int64_t)info->st_atim.tv_sec * 1000000 + info->st_atim.tv_nsec / 1000;
    used = used > modified ? used : modified;
    e->bytes += is_content ? (int64_t)info->st_size : 0;
    e->modified_us = is_content && modified > e->modified_us ? modified : e->modified_us;
    e->used_us = used > e->used_us ? used : e->used_us;
}

/* The folder "….incomplete" or ".….tmp" that a path lies in; 0: none. */
static size_t unfinished_folder(const char *path, size_t from)
{
    for (const char *p = strchr(path + from, '/'); p != NULL; p = strchr(p + 1, '/')) {
        if (ends_with(path, (size_t)(p - path), ".incomplete")) {
            return (size_t)(p - path);
        }
    }
    return 0;
}

static grebe_status see_prepared(struct search *s, const struct load_file *f)
{
    const char *name = path_base_name(f->path);
    size_t at = 0, from = strlen(s->cache);
    if (strcmp(name, "dataset_info.json") != 0 || unfinished_folder(f->path, from) > 0 || name == f->path + from + 1) {
        return GREBE_OK;
    }
    const char *folder = arena_str(s->ar, f->path, (size_t)(name - f->path) - 1);
    if (folder == NULL) {
        return no_memory(s->err);
    }
    grebe_status st = add_entry(s, folder, CACHE_PREPARED, true, &at);
    struct prepared *p = NULL;
    if (st == GREBE_OK && prepared_read(s->ctx->a, s->store, folder, &p, NULL) == GREBE_OK) {
        struct cache_entry *e = &s->out->items[at];
        e->rows = 0;
        for (size_t i = 0; i < p->n; i++) {
            e->rows += p->splits[i].n_rows;
        }
    }
    prepared_free(p);
    return st;
}

/* A cache file's kind and rows by its head; one that cannot be read counts as unfinished. */
static void see_cache_file(struct search *s, struct cache_entry *e)
{
    struct rows_file *file = NULL;
    if (rows_file_open(s->ctx, e->path, false, &file, NULL) != GREBE_OK) {
        e->kind = CACHE_UNFINISHED;
        return;
    }
    const struct ArrowSchema *schema = &file->schema;
    bool is_indices = schema->n_children == 1 && strcmp(schema->children[0]->name, "indices") == 0 &&
                      strcmp(schema->children[0]->format, "L") == 0;
    e->kind = is_indices ? CACHE_INDICES : CACHE_MAP;
    e->rows = file->n_rows;
    rows_file_drop(file);
}

static grebe_status see_file(struct search *s, const struct load_file *f)
{
    struct stat info;
    const char *name = path_base_name(f->path);
    size_t at = 0, len = unfinished_folder(f->path, strlen(s->cache)), name_len = strlen(name);
    grebe_status st = GREBE_OK;
    if (stat(f->path, &info) != 0) {
        return GREBE_OK; /* gone meanwhile */
    }
    const char *folder = arena_str(s->ar, f->path, len > 0 ? len : (size_t)(name - f->path) - 1);
    if (folder == NULL) {
        return no_memory(s->err);
    }
    const size_t *known = name_index_find(&s->folders, folder);
    bool is_cache = len == 0 && strncmp(name, "cache-", 6) == 0 && ends_with(name, name_len, ".arrow");
    bool is_temporary = len == 0 && (strncmp(name, ".tmp-", 5) == 0 || strstr(name, ".tmp-") != NULL);
    if (known != NULL) {
        count_file(&s->out->items[*known], &info, len > 0 || !(is_cache || is_temporary));
    }
    if (len > 0 && known == NULL) {
        st = add_entry(s, folder, CACHE_UNFINISHED, true, &at);
    } else if (is_cache || is_temporary) {
        st = add_entry(s, f->path, is_cache ? CACHE_MAP : CACHE_UNFINISHED, false, &at);
    } else {
        return st;
    }
    if (st == GREBE_OK) {
        struct cache_entry *e = &s->out->items[at];
        count_file(e, &info, true);
        if (is_cache) {
            see_cache_file(s, e);
        }
    }
    return st;
}

grebe_status cache_find(struct arena *ar, grebe_context *ctx, struct io_store *store, const char *cache,
                        struct cache_entries *out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct load_files all = { NULL, 0, 0 };
    struct search s = { .ar = ar, .ctx = ctx, .store = store, .cache = cache, .out = out, .err = err };
    *out = (struct cache_entries){ NULL, 0, 0 };
    GREBE_TRY(name_index_new(ctx->a, 64, &s.folders, err));
    GREBE_TRY(load_walk(ar, store, cache, 0, &all, err));
    for (size_t i = 0; i < all.n; i++) {
        GREBE_TRY(see_prepared(&s, &all.items[i]));
    }
    for (size_t i = 0; i < all.n; i++) {
        GREBE_TRY(see_file(&s, &all.items[i]));
    }
out:
    name_index_release(&s.folders);
    return st;
}

/* ---- rows ---- */

static const char *const KIND_NAMES[] = { "prepared", "map", "indices", "unfinished" };
enum { N_COLUMNS = 9 };
static const struct {
    const char *name, *format;
} COLUMNS[N_COLUMNS] = { { "path", "u" },  { "kind", "u" }, { "dataset", "u" },        { "config", "u" }, { "split", "u" },
                         { "bytes", "l" }, { "rows", "l" }, { "modified", "tsu:UTC" }, { "reason", "u" } };

static const char *text_at(const struct cache_entry *e, size_t column)
{
    switch (column) {
    case 0: return e->path;
    case 1: return KIND_NAMES[e->kind];
    case 2: return e->dataset;
    case 3: return e->config;
    case 8: return e->reason;
    default: return NULL;
    }
}

static grebe_status put_cell(struct text_builder *b, const struct cache_entry *e, size_t column, grebe_error *err)
{
    grebe_status st = text_builder_reserve(b, 1, err);
    if (st != GREBE_OK) {
        return st;
    }
    if (column >= 5 && column <= 7) {
        int64_t v = column == 5 ? e->bytes : column == 6 ? e->rows : e->modified_us;
        if (v < 0) {
            return text_builder_put_nulls(b, 1, err);
        }
        memcpy(b->data + 8 * b->n, &v, 8);
        text_builder_took(b);
        return GREBE_OK;
    }
    const char *text = text_at(e, column);
    if (text == NULL) {
        return text_builder_put_nulls(b, 1, err);
    }
    size_t len = strlen(text);
    st = text_builder_reserve_text(b, len, err);
    if (st == GREBE_OK) {
        memcpy(b->chars + b->text_len, text, len);
        text_builder_end_text(b, len);
    }
    return st;
}

static grebe_status make_schema(const grebe_allocator *a, size_t n_columns, struct ArrowSchema *out, grebe_error *err)
{
    grebe_status st = schema_new(a, "+s", "", false, (int64_t)n_columns, out, err);
    for (size_t i = 0; st == GREBE_OK && i < n_columns; i++) {
        st = schema_new(a, COLUMNS[i].format, COLUMNS[i].name, true, 0, out->children[i], err);
    }
    return st;
}

grebe_status cache_rows(grebe_context *ctx, const struct cache_entries *entries, bool with_reason,
                        struct ArrowArrayStream *out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    size_t n_columns = with_reason ? N_COLUMNS : N_COLUMNS - 1;
    struct ArrowSchema schema = { 0 };
    struct ArrowArray columns[N_COLUMNS] = { { 0 } }, batch = { 0 };
    struct text_builder b[N_COLUMNS];
    int64_t n = 0;
    for (size_t c = 0; c < N_COLUMNS; c++) {
        text_builder_init(&b[c], ctx->a, c >= 5 && c <= 7 ? TEXT_BUILDER_FIXED : TEXT_BUILDER_TEXT, 8);
    }
    GREBE_TRY(make_schema(ctx->a, n_columns, &schema, err));
    for (size_t i = 0; i < entries->n; i++) {
        if (with_reason && entries->items[i].reason == NULL) {
            continue;
        }
        n++;
        for (size_t c = 0; c < n_columns; c++) {
            GREBE_TRY(put_cell(&b[c], &entries->items[i], c, err));
        }
    }
    for (size_t c = 0; c < n_columns; c++) {
        GREBE_TRY(text_builder_finish(&b[c], 0, &columns[c], err));
    }
    GREBE_TRY(array_struct(ctx->a, n, columns, n_columns, &batch, err));
    st = stream_from_batches(ctx->a, &schema, &batch, 1, out, err);
out:
    for (size_t c = 0; c < N_COLUMNS; c++) {
        text_builder_release(&b[c]);
        array_release(&columns[c]);
    }
    array_release(&batch);
    schema_release(&schema);
    return st;
}

grebe_status grebe_cache_list(grebe_context *ctx, const char *cache_dir, struct ArrowArrayStream *out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct arena ar;
    struct io_store *store = NULL;
    const char *cache = NULL;
    struct cache_entries entries;
    GREBE_CHECK_ARG(err, ctx != NULL && out != NULL);
    memset(out, 0, sizeof *out);
    ar = ARENA_INIT(ctx->a);
    GREBE_TRY(io_local_new(ctx, &store, err));
    GREBE_TRY(load_cache_folder(&ar, cache_dir, &cache, err));
    GREBE_TRY(cache_find(&ar, ctx, store, cache, &entries, err));
    st = cache_rows(ctx, &entries, false, out, err);
out:
    io_store_free(store);
    arena_release(&ar);
    return st;
}
