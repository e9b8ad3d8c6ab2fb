/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_TEST_VDB_API_TEST_H
#define GREBE_TEST_VDB_API_TEST_H

/* What the tests of the public calls share: a repository in a folder, points as lines, results as text. */

#include "../git/git_test.h"

#include "grebe/gitvdb.h"

struct api_fixture {
    struct test_allocator memory; /* threads: 1 */
    grebe_context *ctx;
    grebe_vdb *vdb;
    char *folder;
    char path[512]; /* of a bare repository */
};

static inline void api_open(struct api_fixture *f)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_context_options o = GREBE_CONTEXT_OPTIONS_INIT;
    test_allocator_init(&f->memory);
    o.allocator = &f->memory.a;
    o.threads = 1;
    assert_ok(context_new(&o, &f->ctx, &err));
    assert_ok(grebe_vdb_open(f->ctx, f->path, GREBE_VDB_CREATE, &f->vdb, &err));
}

/** Everything is given back. */
static inline void api_shut(struct api_fixture *f)
{
    grebe_vdb_close(f->vdb);
    context_free(f->ctx);
    f->vdb = NULL;
    f->ctx = NULL;
    assert_int_equal(f->memory.n_live, 0);
}

static inline void api_fixture_open(struct api_fixture *f)
{
    memset(f, 0, sizeof *f);
    f->folder = test_folder_new();
    snprintf(f->path, sizeof f->path, "%s/r.git", f->folder);
    api_open(f);
}

static inline void api_fixture_close(struct api_fixture *f)
{
    api_shut(f);
    assert_fsck(f->path);
    assert_int_equal(run_shell("test -z \"$(find '%s' -name '*.lock' -o -name '*tmp*' | grep -v fsck.txt)\"", f->path), 0);
    test_folder_remove(f->folder);
}

/* ---- points as lines ---- */

struct text {
    char *data;
    size_t len, at;
};

static inline int text_read(void *ctx, void *dst, size_t len, size_t *got)
{
    struct text *t = ctx;
    *got = len < t->len - t->at ? len : t->len - t->at;
    memcpy(dst, t->data + t->at, *got);
    t->at += *got;
    return 0;
}

static inline int text_rewind(void *ctx)
{
    ((struct text *)ctx)->at = 0;
    return 0;
}

/** Points with numbers as ids from `begin`; the same seed gives the same vectors. */
static inline struct text make_lines(uint64_t begin, size_t n, unsigned dim, uint64_t seed)
{
    size_t capacity = n * (dim * 12 + 64) + 1;
    struct text t = { malloc(capacity), 0, 0 };
    assert_non_null(t.data);
    for (uint64_t id = begin; id < begin + n; id++) {
        uint64_t state = seed * 1000003 + id;
        t.len += (size_t)sprintf(t.data + t.len, "{\"id\":%llu,\"vector\":[", (unsigned long long)id);
        for (unsigned d = 0; d < dim; d++) {
            double x = (double)(test_random(&state) >> 40) / 8388608.0 - 1.0;
            t.len += (size_t)sprintf(t.data + t.len, "%s%.6f", d == 0 ? "" : ",", x);
        }
        t.len += (size_t)sprintf(t.data + t.len, "],\"payload\":{\"n\":%llu}}\n", (unsigned long long)(id % 10));
    }
    return t;
}

static inline grebe_status put_lines(grebe_vdb *vdb, const char *name, struct text *t, uint64_t batch, grebe_error *err)
{
    grebe_vdb_write_options o = GREBE_VDB_WRITE_OPTIONS_INIT;
    grebe_vdb_result *r = NULL;
    o.batch_size = batch;
    t->at = 0;
    grebe_status st = grebe_vdb_upsert_lines(vdb, name, text_read, text_rewind, t, &o, &r, err);
    grebe_vdb_result_free(r);
    return st;
}

/** Upsert n generated points in batches. */
static inline void put_points(grebe_vdb *vdb, const char *name, uint64_t begin, size_t n, unsigned dim, uint64_t seed, uint64_t batch)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct text t = make_lines(begin, n, dim, seed);
    assert_ok(put_lines(vdb, name, &t, batch, &err));
    free(t.data);
}

/* ---- what is there ---- */

/** The commit that the reference file names; "" without one. */
static inline void read_ref(const char *path, const char *name, char out[41])
{
    char file[700];
    snprintf(file, sizeof file, "%s/refs/git-vdb/collections/%s", path, name);
    FILE *f = fopen(file, "rb");
    size_t n = f == NULL ? 0 : fread(out, 1, 40, f);
    out[n] = '\0';
    if (f != NULL) {
        fclose(f);
    }
}

static inline void root_of(grebe_vdb *vdb, const char *name, char out[41])
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_vdb_result *r = NULL;
    assert_ok(grebe_vdb_info(vdb, name, NULL, &r, &err));
    assert_int_equal(strlen(grebe_vdb_result_root(r)), 40);
    memcpy(out, grebe_vdb_result_root(r), 41);
    grebe_vdb_result_free(r);
}

static inline uint64_t count_of(grebe_vdb *vdb, const char *name)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_vdb_result *r = NULL;
    assert_ok(grebe_vdb_count(vdb, name, NULL, NULL, &r, &err));
    uint64_t n = grebe_vdb_result_count(r);
    grebe_vdb_result_free(r);
    return n;
}

static inline void assert_valid(grebe_vdb *vdb, const char *name)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_vdb_result *r = NULL;
    assert_ok(grebe_vdb_validate(vdb, name, NULL, true, false, &r, &err));
    grebe_vdb_result_free(r);
}

/** The root of one commit with the generated points [0, n), built in a repository of its own. */
static inline void clean_root(size_t n, unsigned dim, uint64_t seed, char out[41])
{
    struct api_fixture f;
    api_fixture_open(&f);
    put_points(f.vdb, "clean", 0, n, dim, seed, UINT64_MAX);
    root_of(f.vdb, "clean", out);
    api_fixture_close(&f);
}

static inline int text_append(void *ctx, const void *bytes, size_t len)
{
    struct text *t = ctx;
    char *more = realloc(t->data, t->len + len + 1);
    assert_non_null(more);
    t->data = more;
    memcpy(more + t->len, bytes, len);
    t->len += len;
    more[t->len] = '\0';
    return 0;
}

/** A result as JSON text; free with free(). */
static inline char *printed(const grebe_vdb_result *r)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct text t = { NULL, 0, 0 };
    assert_ok(grebe_vdb_result_print(r, GREBE_VDB_JSON, text_append, &t, &err));
    return t.data;
}

#endif
