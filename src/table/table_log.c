/* SPDX-License-Identifier: Apache-2.0 */
#include "table/table_internal.h"

#include <inttypes.h>

#include "table/version.h"

/* Results live in an arena with their header in front: one release frees everything. */
struct log_result {
    grebe_log log; /* first */
    struct arena arena;
};

struct tags_result {
    grebe_tag_list list; /* first */
    struct arena arena;
};

static const char *header_text(struct arena *arena, const struct snapshot *s, const char *key)
{
    const manifest_text *text = pairs_find(&s->manifest.header, key);
    return text == NULL ? "" : arena_str(arena, text->data, text->len);
}

/* When the version was made: what it says, else when its file was written. */
static int64_t commit_time(const struct snapshot *s, bool *is_of_file)
{
    int64_t time_us = 0;
    const manifest_text *text = pairs_find(&s->manifest.header, "grebe.time");
    *is_of_file = text == NULL || !time_parse(text->data, &time_us);
    return *is_of_file ? s->id.modified_ns / 1000 : time_us;
}

grebe_status version_at_time(struct io_store *store, const char *base, int64_t time_us,
                             int64_t *out, grebe_error *err)
{
    int64_t *versions = NULL;
    size_t n = 0;
    const grebe_allocator *a = store->ctx->a;
    char text[TIME_TEXT_LEN];
    grebe_status st = version_list(a, store, base, &versions, &n, err);
    *out = 0;
    for (size_t i = n; i > 0 && st == GREBE_OK && *out == 0; i--) {
        struct snapshot *s = NULL;
        bool is_of_file = false;
        st = snapshot_open(store, base, versions[i - 1], &s, err);
        if (st == GREBE_OK && commit_time(s, &is_of_file) <= time_us) {
            *out = versions[i - 1];
        }
        snapshot_drop(s);
    }
    if (st == GREBE_OK && *out == 0) {
        time_print(text, time_us);
        st = GREBE_FAIL(err, GREBE_ENOTFOUND, "%s: no version at %s, the first came later", base,
                        text);
    }
    mem_free(a, versions, n * sizeof *versions);
    return st;
}

static grebe_status fill_entry(struct arena *arena, const struct snapshot *s,
                               grebe_log_entry *e, grebe_error *err)
{
    e->version = s->version;
    e->time_us = commit_time(s, &e->is_time_of_file);
    e->operation = header_text(arena, s, "grebe.operation");
    e->message = header_text(arena, s, "grebe.message");
    e->writer = header_text(arena, s, "grebe.writer");
    if (e->operation == NULL || e->message == NULL || e->writer == NULL) {
        return mem_fail(err, 1, "a log entry");
    }
    e->n_rows = s->layout_status == GREBE_OK ? s->n_rows : -1;
    e->n_groups = s->manifest.groups.n;
    for (size_t g = 0; g < s->manifest.groups.n; g++) {
        e->n_files += s->groups[g].n_files;
    }
    e->n_delta_logs = s->manifest.delta_logs.n;
    e->n_indexes = s->manifest.indexes.n;
    return GREBE_OK;
}

grebe_status grebe_table_log(const grebe_table *table, size_t limit, grebe_log **out,
                             grebe_error *err)
{
    GREBE_CHECK_ARG(err, table != NULL && out != NULL);
    grebe_status st = GREBE_OK;
    const grebe_allocator *a = table->ctx->a;
    struct io_store *store = table->store->store;
    int64_t *versions = NULL;
    size_t n_all = 0;
    *out = NULL;
    struct log_result *made = mem_alloc_zero(a, sizeof *made);
    if (made == NULL) {
        return mem_fail(err, sizeof *made, "a log");
    }
    made->arena = ARENA_INIT(a);
    GREBE_TRY(version_list(a, store, table->path, &versions, &n_all, err));
    size_t n = limit == 0 || limit > n_all ? n_all : limit;
    grebe_log_entry *entries = arena_array(&made->arena, n, sizeof *entries);
    if (entries == NULL) {
        st = mem_fail(err, n * sizeof *entries, "a log");
        goto out;
    }
    made->log.entries = entries;
    for (size_t i = 0; i < n; i++) {
        struct snapshot *s = NULL;
        st = snapshot_open(store, table->path, versions[n_all - 1 - i], &s, err);
        if (st == GREBE_ENOTFOUND) { /* taken away since the listing */
            st = GREBE_OK;
            continue;
        }
        if (st == GREBE_OK) {
            st = fill_entry(&made->arena, s, &entries[made->log.n], err);
        }
        snapshot_drop(s);
        if (st != GREBE_OK) {
            goto out;
        }
        made->log.n++;
    }
    *out = &made->log;
    made = NULL;
out:
    mem_free(a, versions, n_all * sizeof *versions);
    grebe_log_free(made == NULL ? NULL : &made->log);
    return st;
}

void grebe_log_free(grebe_log *log)
{
    if (log != NULL) {
        struct log_result *made = (struct log_result *)log;
        const grebe_allocator *a = made->arena.a;
        arena_release(&made->arena);
        mem_free(a, made, sizeof *made);
    }
}

/* ---- tags ---- */

grebe_status grebe_table_tag(const grebe_table *table, const char *name, int64_t version,
                             const char *message, grebe_error *err)
{
    GREBE_CHECK_ARG(err, table != NULL && name != NULL);
    struct io_store *store = table->store->store;
    struct snapshot *s = NULL;
    grebe_status st = tag_name_check(name, err);
    if (st == GREBE_OK && version == GREBE_VERSION_LATEST) {
        st = version_latest(store, table->path, &version, err);
    }
    if (st == GREBE_OK && version < 1) {
        st = GREBE_FAIL(err, GREBE_ENOTFOUND, "%s: no version %" PRId64 " to tag", table->path,
                        version);
    }
    if (st == GREBE_OK) { /* it must be there and readable */
        st = snapshot_open(store, table->path, version, &s, err);
    }
    snapshot_drop(s);
    if (st != GREBE_OK) {
        return st;
    }
    struct tag tag = { (char *)name, (char *)message, version, context_now_us(table->ctx) };
    return tag_write(store, table->path, &tag, err);
}

grebe_status grebe_table_tag_delete(const grebe_table *table, const char *name, grebe_error *err)
{
    GREBE_CHECK_ARG(err, table != NULL && name != NULL);
    return tag_remove(table->store->store, table->path, name, err);
}

static grebe_status keep_tag(struct arena *arena, const struct tag *tag, grebe_tag *out,
                             grebe_error *err)
{
    out->name = arena_str(arena, tag->name, strlen(tag->name));
    out->message = arena_str(arena, tag->message, strlen(tag->message));
    out->version = tag->version;
    out->time_us = tag->time_us;
    return out->name == NULL || out->message == NULL ? mem_fail(err, 1, "a tag") : GREBE_OK;
}

grebe_status grebe_table_tags(const grebe_table *table, grebe_tag_list **out, grebe_error *err)
{
    GREBE_CHECK_ARG(err, table != NULL && out != NULL);
    grebe_status st = GREBE_OK;
    const grebe_allocator *a = table->ctx->a;
    struct io_store *store = table->store->store;
    char **names = NULL;
    size_t n = 0;
    *out = NULL;
    struct tags_result *made = mem_alloc_zero(a, sizeof *made);
    if (made == NULL) {
        return mem_fail(err, sizeof *made, "tags");
    }
    made->arena = ARENA_INIT(a);
    GREBE_TRY(tag_names(a, store, table->path, &names, &n, err));
    grebe_tag *tags = arena_array(&made->arena, n, sizeof *tags);
    if (tags == NULL) {
        st = mem_fail(err, n * sizeof *tags, "tags");
        goto out;
    }
    made->list.tags = tags;
    for (size_t i = 0; i < n; i++) {
        struct tag tag;
        st = tag_read(store, table->path, names[i], &tag, err);
        if (st == GREBE_ENOTFOUND) {
            st = GREBE_OK;
            continue;
        }
        if (st == GREBE_OK) {
            st = keep_tag(&made->arena, &tag, &tags[made->list.n], err);
            tag_release(a, &tag);
        }
        if (st != GREBE_OK) {
            goto out;
        }
        made->list.n++;
    }
    *out = &made->list;
    made = NULL;
out:
    for (size_t i = 0; i < n; i++) {
        str_free(a, names[i]);
    }
    mem_free(a, names, n * sizeof *names);
    grebe_tag_list_free(made == NULL ? NULL : &made->list);
    return st;
}

void grebe_tag_list_free(grebe_tag_list *list)
{
    if (list != NULL) {
        struct tags_result *made = (struct tags_result *)list;
        const grebe_allocator *a = made->arena.a;
        arena_release(&made->arena);
        mem_free(a, made, sizeof *made);
    }
}
