/* SPDX-License-Identifier: Apache-2.0 */
/* Sub-commands of `grebe vdb` on whole collections and repositories. */
#include "vdb.h"

#include <string.h>

#include "out.h"

int vdb_run_init(struct vdb_words *w)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_vdb_result *r = NULL;
    grebe_vdb_mode mode = vdb_has(w, "bare") ? GREBE_VDB_INIT_BARE : GREBE_VDB_INIT;
    grebe_status st = grebe_vdb_open(w->cli->ctx, w->positional[0], mode, &w->vdb, &err);
    st = st == GREBE_OK ? grebe_vdb_describe(w->vdb, &r, &err) : st;
    return vdb_finish(w, st, &err, r);
}

int vdb_run_collection_create(struct vdb_words *w)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_vdb_result *r = NULL;
    const char *distance = vdb_value(w, "distance");
    if (!vdb_has(w, "dimension")) {
        return vdb_usage(w, "expected --dimension");
    }
    if (distance != NULL && strcmp(distance, "cosine") != 0) {
        return vdb_usage(w, "--distance: expected cosine, found \"%s\"", distance);
    }
    uint64_t dimension = vdb_number(w, "dimension", 0);
    if (dimension > UINT32_MAX) {
        return vdb_usage(w, "--dimension: expected 1 to %u, found %llu", UINT32_MAX, (unsigned long long)dimension);
    }
    grebe_vdb_config c = GREBE_VDB_CONFIG_INIT((uint32_t)dimension);
    c.vector_space = vdb_value(w, "vector-space");
    c.full_scan_threshold = vdb_number(w, "full-scan-threshold", c.full_scan_threshold);
    c.default_probes = vdb_number(w, "default-probes", c.default_probes);
    c.default_candidate_limit = vdb_number(w, "default-candidate-limit", c.default_candidate_limit);
    int code = vdb_open(w);
    if (code != 0) {
        return code;
    }
    grebe_status st = grebe_vdb_create(w->vdb, w->positional[0], &c, &r, &err);
    return vdb_finish(w, st, &err, r);
}

int vdb_run_collection_list(struct vdb_words *w)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_vdb_result *r = NULL;
    grebe_status st = grebe_vdb_list(w->vdb, &r, &err);
    return vdb_finish(w, st, &err, r);
}

int vdb_run_collection_info(struct vdb_words *w)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_vdb_result *r = NULL;
    grebe_status st = grebe_vdb_info(w->vdb, w->positional[0], vdb_value(w, "at"), &r, &err);
    return vdb_finish(w, st, &err, r);
}

int vdb_run_collection_delete(struct vdb_words *w)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_vdb_result *r = NULL;
    grebe_status st = grebe_vdb_drop(w->vdb, w->positional[0], &r, &err);
    return vdb_finish(w, st, &err, r);
}

int vdb_run_history(struct vdb_words *w)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_vdb_result *r = NULL;
    grebe_status st = grebe_vdb_history(w->vdb, w->positional[0], vdb_number(w, "limit", 20), &r, &err);
    return vdb_finish(w, st, &err, r);
}

int vdb_run_restore(struct vdb_words *w)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_vdb_result *r = NULL;
    grebe_status st = grebe_vdb_restore(w->vdb, w->positional[0], w->positional[1], &r, &err);
    return vdb_finish(w, st, &err, r);
}

int vdb_run_push(struct vdb_words *w)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_vdb_result *r = NULL;
    const char *remote = w->n_positional == 2 ? w->positional[1] : "origin";
    grebe_status st = grebe_vdb_push(w->vdb, w->positional[0], remote, &r, &err);
    return vdb_finish(w, st, &err, r);
}

int vdb_run_pull(struct vdb_words *w)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_vdb_result *r = NULL;
    const char *remote = w->n_positional == 2 ? w->positional[1] : "origin";
    grebe_status st = grebe_vdb_pull(w->vdb, w->positional[0], remote, &r, &err);
    return vdb_finish(w, st, &err, r);
}

int vdb_run_diff(struct vdb_words *w)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_vdb_result *r = NULL;
    grebe_status st = grebe_vdb_diff(w->vdb, w->positional[0], w->positional[1], w->positional[2], &r, &err);
    return vdb_finish(w, st, &err, r);
}

/* A check with findings prints them and ends with exit code 5. */
static int finish_check(struct vdb_words *w, grebe_status st, const grebe_error *err, grebe_vdb_result *r)
{
    if (st == GREBE_ECORRUPT && r != NULL) {
        int code = vdb_print(w, r);
        return code != 0 ? code : EXIT_CODE_CORRUPT;
    }
    return vdb_finish(w, st, err, r);
}

int vdb_run_validate(struct vdb_words *w)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_vdb_result *r = NULL;
    grebe_status st = grebe_vdb_validate(w->vdb, w->positional[0], vdb_value(w, "at"), vdb_has(w, "full"), vdb_has(w, "all"),
                                         &r, &err);
    return finish_check(w, st, &err, r);
}

int vdb_run_doctor(struct vdb_words *w)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_vdb_result *r = NULL;
    grebe_status st = grebe_vdb_doctor(w->vdb, &r, &err);
    return finish_check(w, st, &err, r);
}

int vdb_run_copy(struct vdb_words *w)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_vdb_result *r = NULL;
    grebe_status st = grebe_vdb_copy(w->vdb, w->positional[0], vdb_value(w, "at"), w->positional[1], &r, &err);
    return vdb_finish(w, st, &err, r);
}

int vdb_run_rename(struct vdb_words *w)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_vdb_result *r = NULL;
    grebe_status st = grebe_vdb_rename(w->vdb, w->positional[0], w->positional[1], &r, &err);
    return vdb_finish(w, st, &err, r);
}

int vdb_run_merge(struct vdb_words *w)
{
    static const char *const choices[] = { "", "ours", "theirs" };
    grebe_error err = GREBE_ERROR_INIT;
    grebe_vdb_result *r = NULL;
    const char *prefer = vdb_value(w, "prefer");
    int choice = 0;
    for (int i = 1; prefer != NULL && i < 3; i++) {
        choice = strcmp(prefer, choices[i]) == 0 ? i : choice;
    }
    if (prefer != NULL && choice == 0) {
        return vdb_usage(w, "--prefer: expected ours or theirs, found \"%s\"", prefer);
    }
    grebe_status st = grebe_vdb_merge(w->vdb, w->positional[0], w->positional[1], choice, &r, &err);
    if (st == GREBE_ECONFLICT && r != NULL) { /* the list of conflicts, then the message */
        vdb_print(w, r);
        r = NULL;
    }
    return vdb_finish(w, st, &err, r);
}

int vdb_run_stats(struct vdb_words *w)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_vdb_result *r = NULL;
    grebe_status st = grebe_vdb_stats(w->vdb, w->positional[0], vdb_value(w, "at"), &r, &err);
    return vdb_finish(w, st, &err, r);
}

int vdb_run_gc(struct vdb_words *w)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_vdb_result *r = NULL;
    uint64_t grace = vdb_number(w, "grace", 14 * 24 * 3600);
    grebe_status st = grebe_vdb_gc(w->vdb, grace > INT64_MAX ? INT64_MAX : (int64_t)grace, &r, &err);
    return vdb_finish(w, st, &err, r);
}

int vdb_run_completions(struct vdb_words *w)
{
    static const char *const shells[] = { "bash", "elvish", "fish", "powershell", "zsh" };
    int which = -1;
    for (int i = 0; i < 5; i++) {
        which = strcmp(w->positional[0], shells[i]) == 0 ? i : which;
    }
    if (which < 0) {
        return vdb_usage(w, "expected bash, elvish, fish, powershell or zsh, found \"%s\"", w->positional[0]);
    }
    return vdb_completions(which);
}
