/* SPDX-License-Identifier: Apache-2.0 */
/* `grebe vdb upsert` and `import`: where points come from. */
#include "vdb.h"

#include <errno.h>
#include <glob.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "out.h"

/* ---- texts ---- */

/* A text that is read twice: what comes through a pipe is kept in a temporary file meanwhile. It is opened when it is first read, and a
 * file is closed at its end, so that there may be many. */
struct twice {
    const char *path; /* "-": standard input */
    FILE *in;
    FILE *copy; /* NULL: `in` can be read again itself */
    bool is_over, is_second;
    bool is_once; /* nobody will ask for it again */
};

static int open_twice(struct twice *t)
{
    t->in = strcmp(t->path, "-") == 0 ? stdin : fopen(t->path, "rb");
    bool is_good = t->in != NULL;
    if (is_good && !t->is_once && fseek(t->in, 0, SEEK_CUR) != 0) {
        t->copy = tmpfile();
        is_good = t->copy != NULL;
    }
    return is_good ? 0 : errno;
}

static void close_twice(struct twice *t)
{
    if (t->copy != NULL) {
        fclose(t->copy);
    }
    if (t->in != NULL && t->in != stdin) {
        fclose(t->in);
    }
    t->copy = t->in = NULL;
}

static int read_twice(void *read_ctx, void *dst, size_t len, size_t *got)
{
    struct twice *t = read_ctx;
    *got = 0;
    int failed = t->in == NULL && !t->is_over ? open_twice(t) : 0;
    if (failed != 0 || t->is_over) {
        return failed;
    }
    FILE *from = t->is_second && t->copy != NULL ? t->copy : t->in;
    errno = 0;
    *got = fread(dst, 1, len, from);
    if (*got == 0 && ferror(from)) {
        return errno != 0 ? errno : EIO;
    }
    if (t->copy != NULL && !t->is_second && fwrite(dst, 1, *got, t->copy) != *got) {
        return errno != 0 ? errno : EIO;
    }
    t->is_over = *got == 0;
    if (t->is_over && t->copy == NULL && t->in != stdin) {
        close_twice(t);
    }
    return 0;
}

static int rewind_twice(void *read_ctx)
{
    struct twice *t = read_ctx;
    FILE *from = t->copy != NULL ? t->copy : t->in;
    t->is_second = true;
    t->is_over = false;
    return from == NULL || fseek(from, 0, SEEK_SET) == 0 ? 0 : errno;
}

/* That a file can be opened, before anything is made. Exit code. */
static int try_open(struct vdb_words *w, struct twice *t)
{
    int failed = open_twice(t);
    if (failed == 0) {
        return 0;
    }
    grebe_error err = GREBE_ERROR_INIT;
    err.status = failed == ENOENT ? GREBE_ENOTFOUND : GREBE_EIO;
    snprintf(err.message, sizeof err.message, "%.400s: %s", t->path, strerror(failed));
    return vdb_error(w, &err);
}

/* ---- options ---- */

static void report_batch(void *progress_ctx, const grebe_progress *p)
{
    (void)progress_ctx;
    fprintf(stderr, "%llu points\n", (unsigned long long)p->rows_done);
}

void vdb_write_options_from(struct vdb_words *w, const char *name, grebe_vdb_write_options *o)
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

static int check_batch_size(struct vdb_words *w)
{
    bool is_zero = vdb_has(w, "batch-size") && vdb_number(w, "batch-size", 1) == 0;
    return is_zero ? vdb_usage(w, "--batch-size must be greater than zero") : 0;
}

/* ---- upsert ---- */

static int upsert_file(struct vdb_words *w, const char *path)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_vdb_write_options o;
    grebe_vdb_result *r = NULL;
    struct twice text = { .path = path };
    int code = check_batch_size(w);
    if (code != 0) {
        return code;
    }
    vdb_write_options_from(w, strcmp(path, "-") == 0 ? "stdin" : path, &o);
    share_heap();
    code = try_open(w, &text);
    code = code != 0 ? code : vdb_open(w);
    if (code == 0) {
        grebe_status st = grebe_vdb_upsert_lines(w->vdb, w->positional[0], read_twice, rewind_twice, &text, &o, &r, &err);
        code = vdb_finish(w, st, &err, r);
    }
    close_twice(&text);
    return code;
}

static int upsert_one(struct vdb_words *w)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_vdb_write_options o;
    grebe_vdb_result *r = NULL;
    const char *vector;
    vdb_write_options_from(w, "input", &o);
    int code = vdb_vector_word(w, vdb_value(w, "vector"), &vector);
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

/* ---- import ---- */

/* Sources in the order given, patterns as the files that they match. */
struct sources {
    const char **names; /* shape [n] */
    size_t n;
};

static bool ends_with(const char *text, size_t len, const char *ending)
{
    size_t n = strlen(ending);
    return len > n && strncmp(text + len - n, ending, n) == 0;
}

/* Lines of JSON: by --input-format, else by the word. *path is without "jsonl:" in front. */
static bool is_lines(const struct vdb_words *w, const char *word, const char **path)
{
    const char *format = vdb_value(w, "input-format");
    size_t len = strlen(word);
    *path = word;
    if (format != NULL) {
        return strcmp(format, "jsonl") == 0 || strcmp(format, "ndjson") == 0;
    }
    for (int i = 0; i < 2; i++) {
        const char *prefix = i == 0 ? "jsonl:" : "ndjson:";
        if (strncmp(word, prefix, strlen(prefix)) == 0) {
            *path = word + strlen(prefix);
            return true;
        }
    }
    len -= ends_with(word, len, ".gz") ? 3 : ends_with(word, len, ".zst") ? 4 : 0;
    return strcmp(word, "-") == 0 || ends_with(word, len, ".jsonl") || ends_with(word, len, ".ndjson");
}

static void add_source(struct vdb_words *w, struct sources *s, const char *name)
{
    if ((s->n & (s->n - 1)) == 0) { /* full: a power of two, or nothing */
        const char **more = cli_alloc(w->cli, s->n == 0 ? 1 : s->n * 2, sizeof *more);
        if (s->n != 0) {
            memcpy(more, s->names, s->n * sizeof *more);
        }
        s->names = more;
    }
    s->names[s->n++] = name;
}

/* A name that exists is no pattern; what matches nothing is a name, which then is not found. */
static void add_lines(struct vdb_words *w, struct sources *s, const char *path)
{
    glob_t found = { 0 };
    if (strcspn(path, "*?[") == strlen(path) || access(path, F_OK) == 0 || glob(path, 0, NULL, &found) != 0) {
        add_source(w, s, path);
    }
    for (size_t i = 0; i < found.gl_pathc; i++) {
        add_source(w, s, cli_copy(w->cli, found.gl_pathv[i]));
    }
    globfree(&found);
}

static int import_lines(struct vdb_words *w, const struct sources *s)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_vdb_write_options o;
    grebe_vdb_result *r = NULL;
    struct twice *texts = cli_alloc(w->cli, s->n, sizeof *texts);
    grebe_vdb_text *list = cli_alloc(w->cli, s->n, sizeof *list);
    bool has_stdin = false;
    int code = 0;
    for (size_t i = 0; i < s->n && code == 0; i++) {
        bool is_stdin = strcmp(s->names[i], "-") == 0;
        if (is_stdin && has_stdin) {
            return vdb_usage(w, "expected - once, found it twice");
        }
        has_stdin = has_stdin || is_stdin;
        texts[i].path = s->names[i];
        list[i] = (grebe_vdb_text){ is_stdin ? "stdin" : s->names[i], read_twice, rewind_twice, &texts[i] };
        code = is_stdin ? 0 : try_open(w, &texts[i]);
        if (code == 0 && texts[i].copy == NULL) { /* a file that is there; opened again when it is read */
            close_twice(&texts[i]);
        }
    }
    vdb_write_options_from(w, s->n == 1 ? list[0].name : "import", &o);
    share_heap();
    code = code != 0 ? code : vdb_open(w);
    if (code == 0) {
        grebe_status st = grebe_vdb_import_lines(w->vdb, w->positional[0], list, s->n, &o, &r, &err);
        code = vdb_finish(w, st, &err, r);
    }
    for (size_t i = 0; i < s->n; i++) {
        close_twice(&texts[i]);
    }
    return code;
}

static int import_rows(struct vdb_words *w, const struct sources *s)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_vdb_write_options o;
    grebe_vdb_result *r = NULL;
    grebe_source *source = NULL;
    struct ArrowArrayStream rows = { 0 };
    struct twice in = { .path = "-", .is_once = true };
    grebe_source_options how = GREBE_SOURCE_OPTIONS_INIT;
    grebe_scan_options scan = GREBE_SCAN_OPTIONS_INIT;
    vdb_write_options_from(w, s->names[0], &o);
    scan.call = how.call = &w->cli->call;
    how.format = vdb_value(w, "input-format");
    how.read = read_twice;
    how.read_ctx = &in;
    int code = vdb_open(w);
    if (code != 0) {
        return code;
    }
    grebe_status st = grebe_source_open_many(w->cli->ctx, s->names, s->n, &how, &source, &err);
    st = st == GREBE_OK ? grebe_source_scan(source, &scan, &rows, &err) : st;
    st = st == GREBE_OK ? grebe_vdb_upsert_rows(w->vdb, w->positional[0], &rows, &o, &r, &err) : st;
    code = vdb_finish(w, st, &err, r);
    grebe_source_close(source);
    close_twice(&in);
    return code;
}

int vdb_run_import(struct vdb_words *w)
{
    struct sources lines = { 0 }, rows = { 0 };
    int code = check_batch_size(w);
    for (size_t i = 1; i < (size_t)w->n_positional && code == 0; i++) {
        const char *word = i < VDB_POSITIONAL_MAX ? w->positional[i] : w->more[i - VDB_POSITIONAL_MAX], *path;
        if (is_lines(w, word, &path)) {
            add_lines(w, &lines, path);
        } else {
            add_source(w, &rows, word);
        }
    }
    if (code == 0 && lines.n != 0 && rows.n != 0) {
        code = vdb_usage(w, "expected lines of JSON or other sources, found both; import one kind after the other");
    }
    return code != 0 ? code : lines.n != 0 ? import_lines(w, &lines) : import_rows(w, &rows);
}
