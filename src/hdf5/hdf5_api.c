/* SPDX-License-Identifier: Apache-2.0 */
#include "hdf5/hdf5_api.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* The library has one state for the whole process, so there is one lock for the whole process. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static grebe_status load_one(void *library, const char *name, void *dst, grebe_error *err)
{
    void *symbol = dlsym(library, name);
    memcpy(dst, &symbol, sizeof symbol); /* ISO C has no cast for functions, POSIX promises that it works */
    return symbol != NULL ? GREBE_OK : GREBE_FAIL(err, GREBE_EUNSUPPORTED, GREBE_HDF5_SONAME " lacks %s", name);
}

grebe_status hdf5_api_load(struct hdf5_api *out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    memset(out, 0, sizeof *out);
    /* never unmapped: it registers a function for the end of the process */
    out->library = dlopen(GREBE_HDF5_SONAME, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (out->library == NULL) {
        const char *why = dlerror();
        return GREBE_FAIL(err, GREBE_EUNSUPPORTED, "this needs libhdf5: %s", why != NULL ? why : "it cannot be loaded");
    }
#define HDF5_LOAD(name) GREBE_TRY(load_one(out->library, "H5" #name, &out->name, err));
    HDF5_FUNCTIONS(HDF5_LOAD)
#undef HDF5_LOAD
    pthread_mutex_lock(&lock);
    int failed = out->open();
    pthread_mutex_unlock(&lock);
    if (failed < 0) {
        st = GREBE_FAIL(err, GREBE_EUNSUPPORTED, "libhdf5 cannot be started");
        goto out;
    }
#define HDF5_LOAD(name)                                                          \
    do {                                                                         \
        const hid_t *variable = NULL;                                            \
        GREBE_TRY(load_one(out->library, "H5" #name "_g", &variable, err));      \
        out->name = *variable;                                                   \
    } while (0);
    HDF5_VARIABLES(HDF5_LOAD)
#undef HDF5_LOAD
out:
    if (st != GREBE_OK) {
        dlclose(out->library);
        memset(out, 0, sizeof *out);
    }
    return st;
}

void hdf5_enter(struct hdf5_api *api)
{
    pthread_mutex_lock(&lock);
    api->Eget_auto2(H5E_DEFAULT, &api->was_auto, &api->was_data);
    api->Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

void hdf5_leave(struct hdf5_api *api)
{
    api->Eset_auto2(H5E_DEFAULT, api->was_auto, api->was_data);
    pthread_mutex_unlock(&lock);
}

struct reason {
    char *dst;
    size_t n;
};

static herr_t keep_first(unsigned i, const H5E_error2_t *e, void *arg)
{
    const struct reason *r = arg;
    if (i == 0 && e->desc != NULL) {
        error_quote(r->dst, r->n, e->desc, strlen(e->desc));
    }
    return 0;
}

const char *hdf5_reason(struct hdf5_api *api, char *dst, size_t n)
{
    struct reason r = { dst, n };
    snprintf(dst, n, "no reason given");
    api->Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_first, &r);
    api->Eclear2(H5E_DEFAULT);
    return dst;
}
