/* SPDX-License-Identifier: Apache-2.0 */
/* `grebe vdb`: from words to a sub-command, and what all of them do. */
#include "vdb.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "opt.h"
#include "out.h"

int vdb_open(struct vdb_words *w)
{
    grebe_error err = GREBE_ERROR_INIT;
    return grebe_vdb_open(w->cli->ctx, w->db, w->command->mode, &w->vdb, &err) == GREBE_OK ? 0 : vdb_error(w, &err);
}

int cmd_vdb(struct cli *cli)
{
    static struct vdb_words w; /* large; zero */
    int code = vdb_words_parse(cli, cli->positional, cli->n_positional, &w);
    if (code != 0) {
        return code < 0 ? 0 : code;
    }
    const char *path = getenv("GIT_VDB_REPO");
    w.db = w.db != NULL ? w.db : path != NULL ? path : ".git-vdb";
    code = w.command->needs_no_repository ? 0 : vdb_open(&w);
    code = code == 0 ? w.command->run(&w) : code;
    grebe_vdb_close(w.vdb);
    return code;
}

int vdb_error(struct vdb_words *w, const grebe_error *err)
{
    char what[64];
    snprintf(what, sizeof what, "vdb %s%s%s", w->command->group != NULL ? w->command->group : "",
             w->command->group != NULL ? " " : "", w->command->name);
    return out_error(w->cli, what, err);
}

static int print_rows(struct vdb_words *w, const grebe_vdb_result *r)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct ArrowArrayStream rows = { 0 };
    w->cli->format = w->form - FORM_ROWS;
    if (grebe_vdb_result_stream(r, &rows, &err) != GREBE_OK) {
        return vdb_error(w, &err);
    }
    return out_rows(w->cli, &rows);
}

int vdb_print(struct vdb_words *w, grebe_vdb_result *r)
{
    grebe_error err = GREBE_ERROR_INIT;
    int code = 0;
    if (w->form >= FORM_ROWS) {
        code = print_rows(w, r);
    } else if (grebe_vdb_result_print(r, (grebe_vdb_form)w->form, out_write, w->cli, &err) != GREBE_OK &&
               !w->cli->is_pipe_closed) {
        code = vdb_error(w, &err);
    }
    grebe_vdb_result_free(r);
    return code;
}

int vdb_finish(struct vdb_words *w, grebe_status st, const grebe_error *err, grebe_vdb_result *r)
{
    return st == GREBE_OK ? vdb_print(w, r) : vdb_error(w, err);
}

/* ---- texts ---- */

int vdb_read_all(struct vdb_words *w, const char *path, const char **out, size_t *len)
{
    bool is_stdin = strcmp(path, "-") == 0;
    FILE *f = is_stdin ? stdin : fopen(path, "rb");
    size_t capacity = 1 << 16;
    *len = 0;
    char *text = f == NULL ? NULL : malloc(capacity);
    while (text != NULL) {
        *len += fread(text + *len, 1, capacity - *len - 1, f);
        if (*len < capacity - 1) {
            break;
        }
        capacity *= 2;
        char *more = realloc(text, capacity);
        if (more == NULL) {
            free(text);
        }
        text = more;
    }
    int failed = f == NULL || ferror(f) ? errno : text == NULL ? ENOMEM : 0;
    if (f != NULL && !is_stdin) {
        fclose(f);
    }
    if (failed != 0) {
        grebe_error err = GREBE_ERROR_INIT;
        err.status = failed == ENOMEM ? GREBE_ENOMEM : failed == ENOENT ? GREBE_ENOTFOUND : GREBE_EIO;
        snprintf(err.message, sizeof err.message, "%.400s: %s", path, strerror(failed));
        free(text);
        return vdb_error(w, &err);
    }
    text[*len] = '\0';
    char *own = cli_alloc(w->cli, *len + 1, 1);
    memcpy(own, text, *len + 1);
    free(text);
    *out = own;
    return 0;
}

int vdb_text_of(struct vdb_words *w, const char *word, const char **out, size_t *len)
{
    struct stat st;
    if (strcmp(word, "-") == 0 || stat(word, &st) == 0) {
        return vdb_read_all(w, word, out, len);
    }
    *out = word;
    *len = strlen(word);
    return 0;
}

int vdb_select_of(struct vdb_words *w, grebe_vdb_select *out)
{
    const struct vdb_given *ids = vdb_values(w, "ids");
    const char *filter = vdb_value(w, "filter");
    *out = (grebe_vdb_select)GREBE_VDB_SELECT_INIT;
    out->is_lenient = vdb_has(w, "lenient");
    if (ids != NULL) {
        out->ids = ids->values;
        out->n_ids = ids->n;
    }
    return filter == NULL ? 0 : vdb_text_of(w, filter, &out->filter, &out->filter_len);
}

void vdb_read_options_from(struct vdb_words *w, grebe_vdb_read_options *out)
{
    const char *fields = vdb_value(w, "fields");
    *out = (grebe_vdb_read_options)GREBE_VDB_READ_OPTIONS_INIT;
    out->at = vdb_value(w, "at");
    out->with_payload = vdb_has(w, "with-payload") || fields != NULL;
    out->with_vector = vdb_has(w, "with-vector");
    out->offset = vdb_number(w, "offset", 0);
    out->limit = vdb_number(w, "limit", UINT64_MAX);
    out->call = &w->cli->call;
    if (fields != NULL) {
        const char **names = cli_alloc(w->cli, strlen(fields) + 1, sizeof *names);
        char *text = cli_copy(w->cli, fields);
        for (char *at = text; at != NULL;) {
            names[out->n_fields++] = at;
            at = strchr(at, ',');
            if (at != NULL) {
                *at++ = '\0';
            }
        }
        out->fields = names;
    }
}
