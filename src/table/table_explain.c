/* SPDX-License-Identifier: Apache-2.0 */
#include "table/table_scan.h"

#include <assert.h>

#include "base/checked.h"

struct explain_result {
    grebe_explain explain; /* first */
    struct arena arena;
    grebe_explain_file *files;
    size_t capacity;
};

static grebe_explain_file *push_file(struct explain_result *r)
{
    if (r->explain.n_files == r->capacity) {
        size_t capacity = r->capacity == 0 ? 16 : r->capacity * 2;
        grebe_explain_file *grown = arena_array(&r->arena, capacity, sizeof *grown);
        if (grown == NULL) {
            return NULL;
        }
        if (r->explain.n_files > 0) {
            memcpy(grown, r->files, r->explain.n_files * sizeof *grown);
        }
        r->files = grown;
        r->explain.files = grown;
        r->capacity = capacity;
    }
    return &r->files[r->explain.n_files++];
}

static grebe_status name_file(struct explain_result *r, const struct scan *s,
                              const struct snapshot_group *group, size_t f,
                              grebe_explain_file *out, grebe_error *err)
{
    struct buf path = BUF_INIT(r->arena.a);
    const char *format = group->manifest->format.data;
    grebe_status st = manifest_path_resolve(&path, s->table->snapshot->base, FOLDER_DATA,
                                            manifest_file_at(group->manifest, f)->path.data, err);
    if (st == GREBE_OK) {
        const char *text = buf_text(&path);
        out->path = text == NULL ? NULL : arena_str(&r->arena, text, path.len);
        out->format = arena_str(&r->arena, format, strlen(format));
        st = out->path == NULL || out->format == NULL ? mem_fail(err, path.len, "a path")
                                                      : GREBE_OK;
    }
    buf_release(&path);
    return st;
}

/* Stored bytes of the needed columns in the chunk that holds the row. */
static uint64_t chunk_bytes(const struct scan *s, const struct plan_group *g,
                            const struct data_file *f, int64_t row)
{
    uint64_t bytes = 0;
    size_t chunk = format_chunk_of(f->reader, f->file_row_begin + (row - f->row_begin));
    for (size_t i = 0; i < g->n_columns; i++) {
        int field = f->field_of[s->table->columns->items[g->columns[i]].at];
        if (field >= 0) {
            bytes += f->reader->ops->stored_bytes(f->reader, &field, 1, chunk);
        }
    }
    return bytes;
}

/* Whether rows [begin, end) touch a segment; *at moves on with ascending rows. */
static bool touches(const struct scan *s, size_t *at, int64_t begin, int64_t end)
{
    while (*at < s->n_segments && s->segments[*at].end <= begin) {
        *at += 1;
    }
    return *at < s->n_segments && s->segments[*at].begin < end;
}

static grebe_status explain_group(struct explain_result *r, struct scan *s, size_t i,
                                  grebe_error *err)
{
    const struct plan_group *g = &s->plan.groups[i];
    const struct snapshot_group *group = &s->table->snapshot->groups[g->group];
    size_t segment = 0;
    grebe_explain_file *file = NULL;
    struct data_file *open = NULL;
    grebe_status st = GREBE_OK;
    for (int64_t row = s->row_begin; row < s->row_end && st == GREBE_OK;) {
        size_t before = open == NULL ? SIZE_MAX : open->file;
        st = call_check(&s->call, err);
        if (st == GREBE_OK) {
            st = scan_file_at(s, g->group, row, &open, err);
        }
        if (st != GREBE_OK) {
            break;
        }
        if (open->file != before) {
            file = push_file(r);
            st = file == NULL ? mem_fail(err, sizeof *file, "files")
                              : name_file(r, s, group, open->file, file, err);
            if (st != GREBE_OK) {
                break;
            }
            file->group = g->group;
            file->row_begin = group->row_begin[open->file];
            file->row_end = group->row_begin[open->file + 1];
        }
        int64_t end = scan_chunk_end(open, row, s->row_end);
        uint64_t bytes = chunk_bytes(s, g, open, row);
        bool is_read = touches(s, &segment, row, end);
        file->n_chunks++;
        file->n_chunks_read += is_read;
        file->bytes_total += bytes;
        file->bytes_read += is_read ? bytes : 0;
        row = end;
    }
    data_file_drop(open);
    return st;
}

static void sum_up(struct explain_result *r, const struct scan *s)
{
    grebe_explain *e = &r->explain;
    e->n_groups = s->table->snapshot->manifest.groups.n;
    e->n_groups_read = s->plan.n_groups;
    for (size_t i = 0; i < e->n_files; i++) {
        e->n_chunks += e->files[i].n_chunks;
        e->n_chunks_read += e->files[i].n_chunks_read;
        e->bytes_total += e->files[i].bytes_total;
        e->bytes_read += e->files[i].bytes_read;
    }
    for (size_t i = 0; i < s->n_segments; i++) {
        e->n_rows += s->segments[i].end - s->segments[i].begin;
    }
}

grebe_status grebe_table_explain(const grebe_table *table, const grebe_scan_options *options,
                                 grebe_explain **out, grebe_error *err)
{
    GREBE_CHECK_ARG(err, table != NULL && out != NULL);
    grebe_status st = GREBE_OK;
    const grebe_allocator *a = table->ctx->a;
    struct scan *s = NULL;
    struct segment segment;
    struct buf where = BUF_INIT(a);
    *out = NULL;
    struct explain_result *r = mem_alloc_zero(a, sizeof *r);
    if (r == NULL) {
        return mem_fail(err, sizeof *r, "a plan");
    }
    r->arena = ARENA_INIT(a);
    GREBE_TRY(scan_new(table, options, false, &s, err));
    do {
        st = scan_segment(s, s->n_segments, &segment, err);
    } while (st == GREBE_OK);
    if (st != GREBE_END) {
        goto out;
    }
    st = GREBE_OK;
    for (size_t i = 0; i < s->plan.n_groups; i++) {
        GREBE_TRY(explain_group(r, s, i, err));
    }
    if (s->where != NULL) {
        GREBE_TRY(expr_print(s->where, &where, err));
    }
    const char *text = buf_text(&where);
    r->explain.where = text == NULL ? NULL : arena_str(&r->arena, text, where.len);
    if (r->explain.where == NULL) {
        st = mem_fail(err, where.len, "a plan");
        goto out;
    }
    sum_up(r, s);
    *out = &r->explain;
    r = NULL;
out:
    buf_release(&where);
    scan_free(s);
    grebe_explain_free(r == NULL ? NULL : &r->explain);
    return st;
}

void grebe_explain_free(grebe_explain *explain)
{
    if (explain != NULL) {
        struct explain_result *r = (struct explain_result *)explain;
        const grebe_allocator *a = r->arena.a;
        arena_release(&r->arena);
        mem_free(a, r, sizeof *r);
    }
}
