/* SPDX-License-Identifier: Apache-2.0 */
/* Sub-commands of `grebe vdb` on points. */
#include "vdb.h"

#include <errno.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "out.h"

/* ---- writing ---- */

/* A text that is read twice: what comes through a pipe is kept in a temporary file meanwhile. */
struct twice {
    FILE *in;
    FILE *copy; /* NULL: `in` can be read again itself */
    bool is_second;
};

static int read_twice(void *read_ctx, void *dst, size_t len, size_t *got)
{
    struct twice *t = read_ctx;
    FILE *from = t->is_second && t->copy != NULL ? t->copy : t->in;
    errno = 0;
    *got = fread(dst, 1, len, from);
    if (*got == 0 && ferror(from)) {
        return errno != 0 ? errno : EIO;
    }
    if (t->copy != NULL && !t->is_second && fwrite(dst, 1, *got, t->copy) != *got) {
        return errno != 0 ? errno : EIO;
    }
    return 0;
}

static int rewind_twice(void *read_ctx)
{
    struct twice *t = read_ctx;
    t->is_second = true;
    FILE *from = t->copy != NULL ? t->copy : t->in;
    return fseek(from, 0, SEEK_SET) == 0 ? 0 : errno;
}

static int open_twice(struct vdb_words *w, const char *path, struct twice *t)
{
    *t = (struct twice){ strcmp(path, "-") == 0 ? stdin : fopen(path, "rb"), NULL, false };
    bool is_good = t->in != NULL;
    if (is_good && fseek(t->in, 0, SEEK_CUR) != 0) {
        t->copy = tmpfile();
        is_good = t->copy != NULL;
    }
    if (!is_good) {
        grebe_error err = GREBE_ERROR_INIT;
        err.status = errno == ENOENT ? GREBE_ENOTFOUND : GREBE_EIO;
        snprintf(err.message, sizeof err.message, "%.400s: %s", path, strerror(errno));
        return vdb_error(w, &err);
    }
    return 0;
}

static void close_twice(struct twice *t)
{
    if (t->copy != NULL) {
        fclose(t->copy);
    }
    if (t->in != NULL && t->in != stdin) {
        fclose(t->in);
    }
}

static void report_batch(void *progress_ctx, const grebe_progress *p)
{
    (void)progress_ctx;
    fprintf(stderr, "%llu points\n", (unsigned long long)p->rows_done);
}

static void vdb_write_options_from(struct vdb_words *w, const char *name, grebe_vdb_write_options *o)
{
    *o = (grebe_vdb_write_options)GREBE_VDB_WRITE_OPTIONS_INIT;
    o->expect_root = vdb_value(w, "expect-root");
    o->batch_size = vdb_has(w, "single-commit") ? UINT64_MAX : vdb_number(w, "batch-size", 1000);
    o->name = name;
    o->id_column = vdb_value(w, "id-column");
    o->vector_column = vdb_value(w, "vector-column");
    if (vdb_has(w, "progress")) {
        w->cli->call.progress = report_batch;
    }
    o->call = &w->cli->call;
}

/* One heap for all threads: each version's shards are made by any of them, and heaps of their own kept a fifth more memory than
 * is in use. Its lock is not felt, blocks are large. */
static void share_heap(void)
{
#ifdef __GLIBC__
    mallopt(M_ARENA_MAX, 1);
#endif
}

static int upsert_file(struct vdb_words *w, const char *path)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_vdb_write_options o;
    grebe_vdb_result *r = NULL;
    struct twice text;
    if (vdb_has(w, "batch-size") && vdb_number(w, "batch-size", 1) == 0) {
        return vdb_usage(w, "--batch-size must be greater than zero");
    }
    vdb_write_options_from(w, strcmp(path, "-") == 0 ? "stdin" : path, &o);
    share_heap();
    int code = open_twice(w, path, &text);
    code = code != 0 ? code : vdb_open(w);
    if (code == 0) {
        grebe_status st = grebe_vdb_upsert_lines(w->vdb, w->positional[0], read_twice, rewind_twice, &text, &o, &r, &err);
        code = vdb_finish(w, st, &err, r);
    }
    close_twice(&text);
    return code;
}

/* A file must hold JSON, an array or an object; a word may be numbers with commas between, or an array. */
static int vector_text(struct vdb_words *w, const char *word, const char **out)
{
    size_t len;
    if (access(word, F_OK) != 0) {
        *out = word;
        return word[strspn(word, " \t\r\n")] != '{' ? 0 : vdb_usage(w, "--vector: expected 0.1,0.2 or a JSON array, found an object");
    }
    int code = vdb_read_all(w, word, out, &len);
    const char *first = code == 0 ? *out + strspn(*out, " \t\r\n") : "";
    if (code == 0 && *first != '[' && *first != '{') {
        return vdb_usage(w, "%s: expected JSON, an array or an object with \"vector\"", word);
    }
    return code;
}

static int upsert_one(struct vdb_words *w)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_vdb_write_options o;
    grebe_vdb_result *r = NULL;
    const char *vector;
    vdb_write_options_from(w, "input", &o);
    int code = vector_text(w, vdb_value(w, "vector"), &vector);
    code = code != 0 ? code : vdb_open(w);
    if (code != 0) {
        return code;
    }
    grebe_status st = grebe_vdb_upsert_point(w->vdb, w->positional[0], vdb_value(w, "id"), vector, vdb_value(w, "payload"),
                                             &o, &r, &err);
    return vdb_finish(w, st, &err, r);
}

int vdb_run_upsert(struct vdb_words *w)
{
    bool has_id = vdb_has(w, "id"), has_vector = vdb_has(w, "vector"), has_file = w->n_positional == 2;
    if (has_file + vdb_has(w, "input") + (has_id || has_vector) > 1) {
        return vdb_usage(w, "expected one of FILE and --id with --vector, found several");
    }
    if (has_id != has_vector) {
        return vdb_usage(w, "expected --id and --vector together, found one");
    }
    if (has_id) {
        return upsert_one(w);
    }
    const char *path = has_file ? w->positional[1] : vdb_value(w, "input");
    return path != NULL ? upsert_file(w, path) : vdb_usage(w, "expected FILE, or --id and --vector");
}

/* Lines of JSON with a member "vector" that no other reader knows as a table are points already. */
static bool is_point_lines(const char *path)
{
    size_t len = strlen(path);
    return strcmp(path, "-") == 0 || (len > 6 && strcmp(path + len - 6, ".jsonl") == 0);
}

int vdb_run_import(struct vdb_words *w)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_vdb_write_options o;
    grebe_vdb_result *r = NULL;
    grebe_source *source = NULL;
    struct ArrowArrayStream rows = { 0 };
    grebe_scan_options scan = GREBE_SCAN_OPTIONS_INIT;
    size_t n = (size_t)w->n_positional - 1;
    const char **paths = cli_alloc(w->cli, n, sizeof *paths);
    for (size_t i = 0; i < n; i++) {
        paths[i] = i + 1 < VDB_POSITIONAL_MAX ? w->positional[i + 1] : w->more[i + 1 - VDB_POSITIONAL_MAX];
    }
    if (n == 1 && is_point_lines(paths[0])) {
        return upsert_file(w, paths[0]);
    }
    vdb_write_options_from(w, paths[0], &o);
    scan.call = &w->cli->call;
    int code = vdb_open(w);
    if (code != 0) {
        return code;
    }
    grebe_status st = grebe_source_open_many(w->cli->ctx, paths, n, NULL, &source, &err);
    st = st == GREBE_OK ? grebe_source_scan(source, &scan, &rows, &err) : st;
    st = st == GREBE_OK ? grebe_vdb_upsert_rows(w->vdb, w->positional[0], &rows, &o, &r, &err) : st;
    code = vdb_finish(w, st, &err, r);
    grebe_source_close(source);
    return code;
}

int vdb_run_delete(struct vdb_words *w)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_vdb_select select;
    grebe_vdb_write_options o;
    grebe_vdb_result *r = NULL;
    if (vdb_has(w, "ids") && vdb_has(w, "filter")) {
        return vdb_usage(w, "expected --ids or --filter, found both");
    }
    int code = vdb_select_of(w, &select);
    code = code == 0 ? vdb_open(w) : code;
    if (code != 0) {
        return code;
    }
    vdb_write_options_from(w, "input", &o);
    grebe_status st = grebe_vdb_delete(w->vdb, w->positional[0], &select, &o, &r, &err);
    return vdb_finish(w, st, &err, r);
}

/* ---- reading ---- */

typedef grebe_status (*read_fn)(grebe_vdb *, const char *, const grebe_vdb_select *, const grebe_vdb_read_options *,
                                grebe_vdb_result **, grebe_error *);

static int run_read(struct vdb_words *w, read_fn read, bool is_everything)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_vdb_select select;
    grebe_vdb_read_options o;
    grebe_vdb_result *r = NULL;
    int code = vdb_select_of(w, &select);
    if (code != 0) {
        return code;
    }
    vdb_read_options_from(w, &o);
    o.with_payload = o.with_payload || is_everything;
    o.with_vector = o.with_vector || is_everything;
    grebe_status st = read(w->vdb, w->positional[0], &select, &o, &r, &err);
    return vdb_finish(w, st, &err, r);
}

int vdb_run_get(struct vdb_words *w) { return run_read(w, grebe_vdb_get, false); }
int vdb_run_count(struct vdb_words *w) { return run_read(w, grebe_vdb_count, false); }

int vdb_run_search(struct vdb_words *w)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_vdb_query q = GREBE_VDB_QUERY_INIT;
    grebe_vdb_read_options o;
    grebe_vdb_result *r = NULL;
    size_t len;
    if (vdb_has(w, "vector") + vdb_has(w, "text") + vdb_has(w, "id") + vdb_has(w, "queries") != 1) {
        return vdb_usage(w, "expected one of --vector, --id, --queries and --text");
    }
    if (vdb_has(w, "exact") && vdb_has(w, "approximate")) {
        return vdb_usage(w, "--exact and --approximate are mutually exclusive");
    }
    int code = vdb_select_of(w, &q.select);
    if (code == 0 && vdb_has(w, "text")) {
        err.status = GREBE_EUNSUPPORTED;
        snprintf(err.message, sizeof err.message, "text search needs an embedding, and none is built in");
        return vdb_error(w, &err);
    }
    if (code == 0 && vdb_has(w, "vector")) {
        code = vector_text(w, vdb_value(w, "vector"), &q.text);
    }
    if (code == 0 && vdb_has(w, "queries")) {
        code = vdb_read_all(w, vdb_value(w, "queries"), &q.lines, &len);
    }
    if (code != 0) {
        return code;
    }
    vdb_read_options_from(w, &o);
    q.id = vdb_value(w, "id");
    q.limit = vdb_number(w, "limit", 10);
    q.mode = vdb_has(w, "exact") ? 1 : vdb_has(w, "approximate") ? 2 : 0;
    q.probes = vdb_number(w, "probes", 0);
    q.candidate_limit = vdb_number(w, "candidate-limit", 0);
    q.expected_vector_space = vdb_value(w, "expected-vector-space");
    grebe_status st = grebe_vdb_search(w->vdb, w->positional[0], &q, &o, &r, &err);
    return vdb_finish(w, st, &err, r);
}

int vdb_run_export(struct vdb_words *w)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_vdb_read_options o;
    vdb_read_options_from(w, &o);
    grebe_status st = grebe_vdb_export(w->vdb, w->positional[0], &o, out_write, w->cli, &err);
    return st == GREBE_OK || w->cli->is_pipe_closed ? 0 : vdb_error(w, &err);
}

int vdb_run_index(struct vdb_words *w)
{
    grebe_error err = GREBE_ERROR_INIT;
    err.status = GREBE_EUNSUPPORTED;
    snprintf(err.message, sizeof err.message, "indexing text needs an embedding, and none is built in");
    return vdb_error(w, &err);
}
