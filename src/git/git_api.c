/* SPDX-License-Identifier: Apache-2.0 */
#include "git/git_api.h"

#include <dlfcn.h>
#include <string.h>

static grebe_status load_one(void *library, const char *name, void *function, grebe_error *err)
{
    void *symbol = dlsym(library, name);
    memcpy(function, &symbol, sizeof symbol); /* ISO C has no cast for this, POSIX promises that it works */
    return symbol != NULL ? GREBE_OK
                          : GREBE_FAIL(err, GREBE_EUNSUPPORTED, "libgit2.so." LIBGIT2_SOVERSION " lacks %s", name);
}

grebe_status git_api_load(struct git_api *out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    memset(out, 0, sizeof *out);
    /* never unmapped: libraries below it leave destructors of threads behind */
    out->library = dlopen("libgit2.so." LIBGIT2_SOVERSION, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (out->library == NULL) {
        const char *why = dlerror();
        return GREBE_FAIL(err, GREBE_EUNSUPPORTED, "this needs libgit2: %s", why != NULL ? why : "it cannot be loaded");
    }
#define REPO_GIT_LOAD(name) GREBE_TRY(load_one(out->library, "git_" #name, &out->name, err));
    REPO_GIT_FUNCTIONS(REPO_GIT_LOAD)
#undef REPO_GIT_LOAD
out:
    if (st != GREBE_OK) {
        git_api_unload(out);
    }
    return st;
}

void git_api_unload(struct git_api *api)
{
    if (api->library != NULL) {
        dlclose(api->library);
    }
    memset(api, 0, sizeof *api);
}
