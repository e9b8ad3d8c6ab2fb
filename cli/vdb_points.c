/* SPDX-License-Identifier: Apache-2.0 */
/* Sub-commands of `grebe vdb` on points. */
#include "vdb.h"

#include <string.h>
#include <unistd.h>

#include "out.h"

/* ---- points ---- */

int vdb_vector_word(struct vdb_words *w, const char *word, const char **out)
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
        code = vdb_vector_word(w, vdb_value(w, "vector"), &q.text);
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
    grebe_vdb_select select;
    grebe_vdb_read_options o;
    struct ArrowArrayStream rows = { 0 };
    int code = vdb_select_of(w, &select);
    if (code != 0) {
        return code;
    }
    vdb_read_options_from(w, &o);
    if (w->form >= FORM_ROWS) {
        o.with_payload = o.with_vector = true;
        w->cli->format = w->form - FORM_ROWS;
        return grebe_vdb_scan(w->vdb, w->positional[0], &select, &o, &rows, &err) == GREBE_OK ? out_rows(w->cli, &rows)
                                                                                              : vdb_error(w, &err);
    }
    grebe_status st = grebe_vdb_export(w->vdb, w->positional[0], &select, &o, out_write, w->cli, &err);
    return st == GREBE_OK || w->cli->is_pipe_closed ? 0 : vdb_error(w, &err);
}

int vdb_run_index(struct vdb_words *w)
{
    grebe_error err = GREBE_ERROR_INIT;
    err.status = GREBE_EUNSUPPORTED;
    snprintf(err.message, sizeof err.message, "indexing text needs an embedding, and none is built in");
    return vdb_error(w, &err);
}
