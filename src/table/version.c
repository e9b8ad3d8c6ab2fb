/* SPDX-License-Identifier: Apache-2.0 */
#include "table/version.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char name_prefix[] = "manifest-";
static const char name_suffix[] = ".avro";

bool version_of_name(const char *name, int64_t *out)
{
    size_t len = strlen(name);
    size_t prefix = sizeof name_prefix - 1;
    size_t suffix = sizeof name_suffix - 1;
    if (len <= prefix + suffix || memcmp(name, name_prefix, prefix) != 0 ||
        memcmp(name + len - suffix, name_suffix, suffix) != 0 || name[prefix] == '0') {
        return false;
    }
    int64_t v = 0;
    for (size_t i = prefix; i < len - suffix; i++) {
        int digit = name[i] - '0';
        if (digit < 0 || digit > 9 || v > (INT64_MAX - digit) / 10) {
            return false;
        }
        v = v * 10 + digit;
    }
    *out = v;
    return true;
}

grebe_status version_path(struct buf *dst, const char *base, int64_t version, grebe_error *err)
{
    grebe_status st = path_join(dst, base, "_metadata/", err);
    return st == GREBE_OK ? buf_printf(dst, err, "manifest-%" PRId64 ".avro", version) : st;
}

static grebe_status list_metadata(struct io_store *store, const char *base, io_list_fn fn,
                                  void *arg, grebe_error *err)
{
    grebe_error found = GREBE_ERROR_INIT;
    struct buf path = BUF_INIT(store->ctx->a);
    grebe_status st = path_join(&path, base, "_metadata", err);
    if (st == GREBE_OK && buf_text(&path) == NULL) {
        st = mem_fail(err, path.len, "a path");
    }
    if (st == GREBE_OK) {
        st = io_list(store, buf_text(&path), fn, arg, &found);
        if (st == GREBE_ENOTFOUND) {
            st = GREBE_OK;
        } else if (st != GREBE_OK && err != NULL) {
            *err = found;
        }
    }
    buf_release(&path);
    return st;
}

static grebe_status take_latest(void *arg, const char *name, enum io_kind kind, grebe_error *err)
{
    (void)err;
    int64_t *latest = arg;
    int64_t v = 0;
    if (kind != IO_FOLDER && version_of_name(name, &v) && v > *latest) {
        *latest = v;
    }
    return GREBE_OK;
}

grebe_status version_latest(struct io_store *store, const char *base, int64_t *out,
                            grebe_error *err)
{
    *out = 0;
    return list_metadata(store, base, take_latest, out, err);
}

static grebe_status take_all(void *arg, const char *name, enum io_kind kind, grebe_error *err)
{
    struct buf *all = arg;
    int64_t v = 0;
    if (kind == IO_FOLDER || !version_of_name(name, &v)) {
        return GREBE_OK;
    }
    return buf_put(all, &v, sizeof v, err);
}

static int compare_version(const void *x, const void *y)
{
    int64_t a = *(const int64_t *)x;
    int64_t b = *(const int64_t *)y;
    return (a > b) - (a < b);
}

grebe_status version_list(const grebe_allocator *a, struct io_store *store, const char *base,
                          int64_t **out, size_t *n, grebe_error *err)
{
    struct buf all = BUF_INIT(a);
    *out = NULL;
    *n = 0;
    grebe_status st = list_metadata(store, base, take_all, &all, err);
    if (st == GREBE_OK && all.len > 0) {
        int64_t *versions = mem_alloc(a, all.len);
        if (versions == NULL) {
            st = mem_fail(err, all.len, "versions");
        } else {
            memcpy(versions, all.data, all.len);
            *n = all.len / sizeof *versions;
            qsort(versions, *n, sizeof *versions, compare_version);
            *out = versions;
        }
    }
    buf_release(&all);
    return st;
}
