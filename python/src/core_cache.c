/* SPDX-License-Identifier: Apache-2.0 */
/* Fingerprints, and what lies in the cache. */
#include "core_dataset.h"

/* fingerprint(from, transform, arguments) -> str */
PyObject *core_fingerprint(PyObject *self, PyObject *args)
{
    const char *from = NULL, *transform = NULL, *arguments = NULL;
    char out[17];
    grebe_error err = GREBE_ERROR_INIT;
    (void)self;
    if (!PyArg_ParseTuple(args, "sss", &from, &transform, &arguments)) {
        return NULL;
    }
    return grebe_fingerprint(core.ctx, from, transform, arguments, out, &err) == GREBE_OK ? PyUnicode_FromString(out)
                                                                                        : core_raise(&err);
}

/* fingerprint_value(json) -> str */
PyObject *core_fingerprint_value(PyObject *self, PyObject *args)
{
    const char *value = NULL;
    char out[17];
    grebe_error err = GREBE_ERROR_INIT;
    (void)self;
    if (!PyArg_ParseTuple(args, "s", &value)) {
        return NULL;
    }
    return grebe_fingerprint_value(core.ctx, value, out, &err) == GREBE_OK ? PyUnicode_FromString(out) : core_raise(&err);
}

/* cache_list(cache_dir or None) -> Stream */
PyObject *core_cache_list(PyObject *self, PyObject *args)
{
    const char *dir = NULL;
    struct ArrowArrayStream stream = { 0 };
    grebe_error err = GREBE_ERROR_INIT;
    (void)self;
    if (!PyArg_ParseTuple(args, "z", &dir)) {
        return NULL;
    }
    return grebe_cache_list(core.ctx, dir, &stream, &err) == GREBE_OK ? core_stream_new(&stream) : core_raise(&err);
}

/* cache_remove(cache_dir, path, max_bytes, older_than_us, unfinished_only, dry_run) -> Stream */
PyObject *core_cache_remove(PyObject *self, PyObject *args)
{
    const char *dir = NULL;
    long long max_bytes = -1, older = -1;
    int unfinished = 0, dry_run = 0;
    grebe_cache_remove_options o = GREBE_CACHE_REMOVE_OPTIONS_INIT;
    struct ArrowArrayStream stream = { 0 };
    grebe_error err = GREBE_ERROR_INIT;
    (void)self;
    if (!PyArg_ParseTuple(args, "zzLLpp", &dir, &o.path, &max_bytes, &older, &unfinished, &dry_run)) {
        return NULL;
    }
    o.max_bytes = max_bytes;
    o.older_than_us = older;
    o.is_unfinished_only = unfinished != 0;
    o.is_dry_run = dry_run != 0;
    return grebe_cache_remove(core.ctx, dir, &o, &stream, &err) == GREBE_OK ? core_stream_new(&stream) : core_raise(&err);
}
