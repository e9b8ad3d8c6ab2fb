/* SPDX-License-Identifier: Apache-2.0 */
#include "table/snapshot.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/checked.h"
#include "base/utf8.h"
#include "table/version.h"

static void snapshot_free(struct cache_value *v)
{
    struct snapshot *s = (struct snapshot *)v;
    const grebe_allocator *a = s->ctx->a;
    columns_free(a, atomic_load(&s->columns[0]));
    columns_free(a, atomic_load(&s->columns[1]));
    manifest_release(&s->manifest); /* groups and runs live in its arena */
    str_free(a, s->base);
    mem_free(a, s, sizeof *s);
}

/* A C string is what files and columns are named by: a NUL inside would cut it. */
static grebe_status check_text(const manifest_text *t, const char *what, bool may_be_empty,
                               grebe_error *err)
{
    char quoted[64];
    if (strlen(t->data) == t->len && (t->len > 0 || may_be_empty)) {
        return GREBE_OK;
    }
    return GREBE_FAIL(err, GREBE_ECORRUPT, "%s: expected a name without NUL, found \"%s\"", what,
                      error_quote(quoted, sizeof quoted, t->data, t->len));
}

/* A column of a manifest has a name; one of a file that stands for itself may have none. */
static grebe_status check_names(const struct manifest *m, bool is_of_files, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    for (size_t g = 0; g < m->groups.n && st == GREBE_OK; g++) {
        const struct manifest_group *group = manifest_group_at(m, g);
        for (size_t c = 0; c < group->columns.n && st == GREBE_OK; c++) {
            const manifest_text *name = (manifest_text *)group->columns.items + c;
            st = check_text(name, "column", is_of_files, err);
            if (st == GREBE_OK && !utf8_is_valid(name->data, name->len)) {
                char quoted[64]; /* rows go out with this name, and whoever takes them trusts it */
                st = GREBE_FAIL(err, GREBE_ECORRUPT, "column: expected a name in UTF-8, found \"%s\"",
                                error_quote(quoted, sizeof quoted, name->data, name->len));
            }
        }
        for (size_t f = 0; f < group->files.n && st == GREBE_OK; f++) {
            st = check_text(&manifest_file_at(group, f)->path, "file", false, err);
        }
    }
    return st;
}

/* The first thing wrong with ranges and totals is kept: the version can be looked at, checked
 * and listed, but its rows are not read. */
static void layout_fail(struct snapshot *s, grebe_status st, grebe_error *found)
{
    if (s->layout_status == GREBE_OK) {
        s->layout_status = st;
        s->layout_error = *found;
    }
}

static grebe_status build_group(struct snapshot *s, size_t g, grebe_error *err)
{
    struct snapshot_group *group = &s->groups[g];
    grebe_error found = GREBE_ERROR_INIT;
    group->manifest = manifest_group_at(&s->manifest, g);
    group->n_files = group->manifest->files.n;
    group->row_begin = arena_array(&s->manifest.arena, group->n_files + 1, sizeof(int64_t));
    if (group->row_begin == NULL) {
        return mem_fail(err, (group->n_files + 1) * sizeof(int64_t), "row positions");
    }
    int64_t total = 0;
    for (size_t f = 0; f < group->n_files; f++) {
        const struct manifest_file *file = manifest_file_at(group->manifest, f);
        group->row_begin[f] = total;
        int64_t n = 0;
        if (file->row_begin < 0 || file->row_end < file->row_begin) {
            layout_fail(s, GREBE_FAIL(&found, GREBE_ECORRUPT,
                                      "group %zu: file \"%.80s\": rows [%" PRId64 ", %" PRId64
                                      ") are no range", g, file->path.data, file->row_begin,
                                      file->row_end), &found);
        } else {
            n = file->row_end - file->row_begin;
        }
        if (!checked_add_i64(total, n, &total)) {
            layout_fail(s, GREBE_FAIL(&found, GREBE_ECORRUPT, "group %zu: more than 2^63 rows", g),
                        &found);
        }
    }
    group->row_begin[group->n_files] = total;
    return GREBE_OK;
}

static grebe_status build_groups(struct snapshot *s, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    grebe_error found = GREBE_ERROR_INIT;
    size_t n = s->manifest.groups.n;
    size_t first = SIZE_MAX; /* the group that the others are held against */
    s->groups = arena_array(&s->manifest.arena, n, sizeof *s->groups);
    if (s->groups == NULL) {
        return mem_fail(err, n * sizeof *s->groups, "column groups");
    }
    for (size_t g = 0; g < n && st == GREBE_OK; g++) {
        st = build_group(s, g, err);
        if (st == GREBE_OK && first == SIZE_MAX && s->groups[g].n_files > 0) {
            first = g;
            s->n_rows = s->groups[g].row_begin[s->groups[g].n_files];
        }
    }
    for (size_t g = 0; g < n && st == GREBE_OK; g++) {
        const struct snapshot_group *group = &s->groups[g];
        int64_t rows = group->row_begin[group->n_files];
        /* The reference's size_based policy leaves a group without columns and files. */
        if (group->manifest->columns.n > 0 && rows != s->n_rows) {
            layout_fail(s, GREBE_FAIL(&found, GREBE_ECORRUPT,
                                      "group %zu: expected %" PRId64 " rows as in group %zu, "
                                      "found %" PRId64, g, s->n_rows, first, rows), &found);
        }
    }
    return st;
}

/* ---- row ids ---- */

static bool parse_int(const char **p, int64_t *out)
{
    int64_t v = 0;
    const char *at = *p;
    for (; *at >= '0' && *at <= '9'; at++) {
        int digit = *at - '0';
        if (v > (INT64_MAX - digit) / 10) {
            return false;
        }
        v = v * 10 + digit;
    }
    bool is_number = at != *p;
    *p = at;
    *out = v;
    return is_number;
}

static bool pair_int(const struct avro_list *pairs, const char *key, int64_t *out)
{
    const manifest_text *text = pairs_find(pairs, key);
    const char *p = text == NULL ? "" : text->data;
    return parse_int(&p, out) && p == text->data + text->len;
}

/* "id:n,id:n,…": runs of ids in row order, ids ascending and disjoint. */
static bool parse_runs(struct snapshot *s, const manifest_text *text, int64_t rows, int64_t next)
{
    size_t n_max = 1;
    for (size_t i = 0; i < text->len; i++) {
        n_max += text->data[i] == ',';
    }
    s->runs = arena_array(&s->manifest.arena, n_max + 1, sizeof *s->runs); /* one for new rows */
    if (s->runs == NULL) {
        return false;
    }
    int64_t row = 0;
    int64_t id_end = 0;
    const char *p = text->data;
    while (s->n_runs < n_max && *p != '\0') {
        struct row_run *run = &s->runs[s->n_runs];
        if (!parse_int(&p, &run->id_begin) || *p++ != ':' || !parse_int(&p, &run->n) ||
            run->id_begin < id_end || run->n <= 0 || run->n > rows - row ||
            run->id_begin > next - run->n || (*p != ',' && *p != '\0')) {
            return false;
        }
        run->row_begin = row;
        row += run->n;
        id_end = run->id_begin + run->n;
        s->n_runs++;
        p += *p == ',';
    }
    return row == rows && p == text->data + text->len;
}

/*
 * `grebe.rowids` says for how many rows it was written and which id comes next; rows that a
 * foreign commit appended after it take the next ids. Without the entry id and row are one.
 */
static grebe_status build_row_ids(struct snapshot *s, grebe_error *err)
{
    int64_t rows = 0;
    int64_t next = 0;
    s->next_row_id = s->n_rows;
    const struct manifest_stat *stat = manifest_stat_find(&s->manifest, STAT_ROW_IDS);
    if (stat == NULL || stat->metadata.n == 0) {
        return GREBE_OK;
    }
    const manifest_text *runs = pairs_find(&stat->metadata, "runs");
    bool is_valid = pair_int(&stat->metadata, "rows", &rows) &&
                    pair_int(&stat->metadata, "next", &next) && rows <= s->n_rows &&
                    next >= rows && next <= INT64_MAX - (s->n_rows - rows);
    if (is_valid && runs == NULL && next == rows) {
        return GREBE_OK;
    }
    if (is_valid && runs != NULL) {
        is_valid = parse_runs(s, runs, rows, next);
        if (s->runs == NULL) {
            return mem_fail(err, runs->len, "row id runs");
        }
    } else {
        is_valid = false;
    }
    if (!is_valid) {
        s->runs = NULL;
        s->n_runs = 0;
        s->ids_error = (grebe_error)GREBE_ERROR_INIT;
        s->ids_status = GREBE_FAIL(&s->ids_error, GREBE_ECORRUPT,
                                   "entry %s: rows %" PRId64 ", next %" PRId64 ", runs \"%.64s\" "
                                   "do not describe a table of %" PRId64 " rows", STAT_ROW_IDS,
                                   rows, next, runs == NULL ? "" : runs->data, s->n_rows);
        return GREBE_OK;
    }
    if (s->n_rows > rows) {
        s->runs[s->n_runs++] = (struct row_run){ next, rows, s->n_rows - rows };
    }
    s->next_row_id = next + (s->n_rows - rows);
    return GREBE_OK;
}

grebe_status snapshot_check_rows(const struct snapshot *s, bool is_milvus, grebe_error *err)
{
    bool is_layout = s->layout_status != GREBE_OK;
    grebe_status st = is_layout ? s->layout_status : is_milvus ? GREBE_OK : s->ids_status;
    if (st != GREBE_OK && err != NULL) {
        *err = is_layout ? s->layout_error : s->ids_error;
    }
    return st;
}

/* The run with the largest begin that is <= key; SIZE_MAX: none. */
static size_t run_of(const struct snapshot *s, int64_t key, bool by_id)
{
    size_t lo = 0;
    size_t hi = s->n_runs;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        int64_t begin = by_id ? s->runs[mid].id_begin : s->runs[mid].row_begin;
        if (begin <= key) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return lo == 0 ? SIZE_MAX : lo - 1;
}

int64_t snapshot_row_of_id(const struct snapshot *s, int64_t id)
{
    if (s->runs == NULL) {
        return id >= 0 && id < s->n_rows ? id : -1;
    }
    size_t i = run_of(s, id, true);
    if (i == SIZE_MAX || id - s->runs[i].id_begin >= s->runs[i].n) {
        return -1;
    }
    return s->runs[i].row_begin + (id - s->runs[i].id_begin);
}

int64_t snapshot_id_of_row(const struct snapshot *s, int64_t row)
{
    assert(row >= 0 && row < s->n_rows);
    if (s->runs == NULL) {
        return row;
    }
    const struct row_run *run = &s->runs[run_of(s, row, false)];
    return run->id_begin + (row - run->row_begin);
}

int64_t snapshot_row_lower_bound(const struct snapshot *s, int64_t id)
{
    if (id <= 0) {
        return 0;
    }
    if (s->runs == NULL) {
        return min_i64(id, s->n_rows);
    }
    size_t i = run_of(s, id, true);
    if (i == SIZE_MAX) {
        return 0;
    }
    return s->runs[i].row_begin + min_i64(id - s->runs[i].id_begin, s->runs[i].n);
}

size_t snapshot_file_of(const struct snapshot_group *g, int64_t row)
{
    size_t lo = 0;
    size_t hi = g->n_files;
    assert(row >= 0 && row < g->row_begin[g->n_files]);
    while (lo < hi) { /* first file that begins after the row */
        size_t mid = lo + (hi - lo) / 2;
        if (g->row_begin[mid] <= row) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    assert(lo > 0 && g->row_begin[lo] > row);
    return lo - 1;
}

static bool put_pair(struct arena *arena, struct avro_pair *pair, const char *key,
                     const char *value)
{
    pair->key = (manifest_text){ key, strlen(key) };
    pair->value.len = strlen(value);
    pair->value.data = arena_str(arena, value, pair->value.len);
    return pair->value.data != NULL;
}

/* The base's runs with n_new more rows behind them: "id:n,id:n,…". */
static grebe_status print_runs(struct buf *dst, const struct snapshot *base, int64_t n_new,
                               bool is_emptied, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct row_run all = { 0, 0, base->n_rows };
    const struct row_run *runs = base->runs != NULL ? base->runs : &all;
    size_t n_runs = is_emptied ? 0 : base->runs != NULL ? base->n_runs : base->n_rows > 0;
    for (size_t i = 0; i < n_runs && st == GREBE_OK; i++) {
        int64_t n = runs[i].n;
        if (i + 1 == n_runs && runs[i].id_begin + n == base->next_row_id) { /* goes on */
            n += n_new;
            n_new = 0;
        }
        st = buf_printf(dst, err, "%s%" PRId64 ":%" PRId64, i == 0 ? "" : ",", runs[i].id_begin, n);
    }
    if (n_new > 0 && st == GREBE_OK) {
        st = buf_printf(dst, err, "%s%" PRId64 ":%" PRId64, n_runs == 0 ? "" : ",",
                        base->next_row_id, n_new);
    }
    return st;
}

grebe_status rowids_metadata(struct arena *arena, const struct snapshot *base, int64_t n_rows,
                             bool is_emptied, struct avro_list *out, grebe_error *err)
{
    assert(is_emptied || n_rows >= base->n_rows);
    grebe_status st = GREBE_OK;
    struct buf runs = BUF_INIT(arena->a);
    char number[24];
    struct avro_pair *pairs = arena_array(arena, 3, sizeof *pairs);
    bool is_ok = pairs != NULL;
    size_t n = 0;
    int64_t n_new = is_emptied ? n_rows : n_rows - base->n_rows;
    snprintf(number, sizeof number, "%" PRId64, base->next_row_id + n_new);
    is_ok = is_ok && put_pair(arena, &pairs[n++], "next", number);
    snprintf(number, sizeof number, "%" PRId64, n_rows);
    is_ok = is_ok && put_pair(arena, &pairs[n++], "rows", number);
    if (base->runs != NULL || is_emptied) {
        st = print_runs(&runs, base, n_new, is_emptied, err);
        const char *text = buf_text(&runs);
        is_ok = is_ok && text != NULL && put_pair(arena, &pairs[n++], "runs", text);
    }
    if (st == GREBE_OK && !is_ok) {
        st = mem_fail(err, 3 * sizeof *pairs, "row ids");
    }
    *out = (struct avro_list){ pairs, n };
    buf_release(&runs);
    return st;
}

/* ---- opening ---- */

grebe_status snapshot_new(grebe_context *ctx, const char *base, int64_t version,
                          struct manifest *m, struct snapshot **out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    *out = NULL;
    struct snapshot *s = mem_alloc_zero(ctx->a, sizeof *s);
    if (s == NULL) {
        return mem_fail(err, sizeof *s, "a version");
    }
    cache_value_init(&s->cached, 0, snapshot_free);
    s->ctx = ctx;
    s->version = version;
    manifest_init(&s->manifest, ctx->a);
    s->base = str_copy(ctx->a, base);
    if (s->base == NULL) {
        st = mem_fail(err, strlen(base), "a path");
        goto out;
    }
    struct manifest moved = *m;
    s->manifest = moved;
    manifest_init(m, ctx->a);
    st = check_names(&s->manifest, version == 0, err);
    if (st == GREBE_OK) {
        st = build_groups(s, err);
    }
    if (st == GREBE_OK && s->layout_status == GREBE_OK) {
        st = build_row_ids(s, err);
    }
    if (st != GREBE_OK) {
        *m = s->manifest; /* not moved after all */
        manifest_init(&s->manifest, ctx->a);
        goto out;
    }
    s->cached.cost_bytes = sizeof *s + s->manifest.arena.total_bytes;
    *out = s;
    s = NULL;
out:
    snapshot_drop(s);
    return st;
}

static grebe_status read_manifest(struct io_store *store, const char *base, int64_t version,
                                  const char *path, struct snapshot **out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct region *bytes = NULL;
    struct io_identity id;
    struct manifest m;
    manifest_init(&m, store->ctx->a);
    GREBE_TRY(io_read_all(store, path, MANIFEST_BYTES_MAX, &bytes, &id, err));
    st = manifest_decode(&m, bytes->data, bytes->len, err);
    if (st == GREBE_OK) {
        st = snapshot_new(store->ctx, base, version, &m, out, err);
    }
    if (st != GREBE_OK) {
        error_wrap(err, st, "%s", path);
        goto out;
    }
    (*out)->id = id;
out:
    manifest_release(&m);
    region_drop(bytes);
    return st;
}

/* Key of the cache: the scope too, for two stores may have the same path. *path_at: where the
 * path of the manifest begins in it. */
static grebe_status cache_key(struct io_store *store, const char *base, int64_t version,
                              struct buf *key, size_t *path_at, grebe_error *err)
{
    grebe_status st = buf_put_text(key, "mf:", err);
    if (st == GREBE_OK) {
        st = buf_put(key, &store->cache_scope, sizeof store->cache_scope, err);
    }
    *path_at = key->len;
    if (st == GREBE_OK) {
        st = version_path(key, base, version, err);
    }
    return st == GREBE_OK && buf_text(key) == NULL ? mem_fail(err, key->len, "a path") : st;
}

void snapshot_remember(struct io_store *store, struct snapshot *s)
{
    struct buf key = BUF_INIT(store->ctx->a);
    size_t path_at = 0;
    struct io_info info;
    if (cache_key(store, s->base, s->version, &key, &path_at, NULL) == GREBE_OK &&
        io_stat(store, (const char *)key.data + path_at, &info, NULL) == GREBE_OK &&
        info.id.size_bytes == s->manifest.size_bytes) {
        s->id = info.id;
        cache_put(store->ctx->metadata, key.data, key.len, &s->cached);
    }
    buf_release(&key);
}

grebe_status snapshot_open(struct io_store *store, const char *base, int64_t version,
                           struct snapshot **out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    grebe_context *ctx = store->ctx;
    struct buf key = BUF_INIT(ctx->a);
    struct io_info info;
    *out = NULL;
    if (version == 0) {
        struct manifest empty;
        manifest_init(&empty, ctx->a);
        return snapshot_new(ctx, base, 0, &empty, out, err);
    }
    size_t path_at = 0;
    GREBE_TRY(cache_key(store, base, version, &key, &path_at, err));
    const char *path = (const char *)key.data + path_at;
    st = io_stat(store, path, &info, err);
    if (st == GREBE_ENOTFOUND) {
        st = GREBE_FAIL(err, GREBE_ENOTFOUND, "%s: version %" PRId64 " is not there", base,
                        version);
    }
    if (st != GREBE_OK) {
        goto out;
    }
    struct snapshot *known = (struct snapshot *)cache_get(ctx->metadata, key.data, key.len);
    if (known != NULL && io_identity_equal(&known->id, &info.id) && known->version == version) {
        *out = known;
        goto out;
    }
    snapshot_drop(known);
    GREBE_TRY(read_manifest(store, base, version, path, out, err));
    cache_put(ctx->metadata, key.data, key.len, &(*out)->cached);
out:
    buf_release(&key);
    return st;
}
