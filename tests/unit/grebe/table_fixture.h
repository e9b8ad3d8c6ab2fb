/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_TESTS_TABLE_FIXTURE_H
#define GREBE_TESTS_TABLE_FIXTURE_H

/* Small tables for tests: columns id (int64, not null), name (text), v (4 floats). */

#include "test_support.h"

#include <stdio.h>
#include <stdlib.h>

#include "arrow/arrow_stream.h"
#include "grebe/formats.h"
#include "grebe/scan.h"
#include "grebe/txn.h"
#include "io/io_fault.h"
#include "table/txn_internal.h"

__attribute__((unused)) static grebe_context *fixture_context(const grebe_allocator *a)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_context_options o = GREBE_CONTEXT_OPTIONS_INIT;
    grebe_context *ctx = NULL;
    o.allocator = a;
    o.threads = a == NULL ? 2 : 1;
    assert_ok(grebe_context_new(&o, &ctx, &err));
    return ctx;
}

__attribute__((unused)) static void int64_column(int64_t begin, int64_t n, struct ArrowArray *out)
{
    grebe_error err = GREBE_ERROR_INIT;
    void *data = NULL;
    assert_ok(array_new(mem_system(), n, 2, 0, out, &err));
    assert_ok(array_alloc_buffer(mem_system(), out, 1, (size_t)n * 8, &data, &err));
    for (int64_t i = 0; i < n; i++) {
        ((int64_t *)data)[i] = begin + i;
    }
}

/* "name_<i>"; every seventh is null. */
__attribute__((unused)) static void name_column(int64_t begin, int64_t n, struct ArrowArray *out)
{
    grebe_error err = GREBE_ERROR_INIT;
    void *validity = NULL;
    void *offsets = NULL;
    void *data = NULL;
    assert_ok(array_new(mem_system(), n, 3, 0, out, &err));
    assert_ok(array_alloc_buffer(mem_system(), out, 0, bitmap_bytes(n) + 1, &validity, &err));
    assert_ok(array_alloc_buffer(mem_system(), out, 1, (size_t)(n + 1) * 4, &offsets, &err));
    assert_ok(array_alloc_buffer(mem_system(), out, 2, (size_t)n * 32 + 1, &data, &err));
    memset(validity, 0, bitmap_bytes(n) + 1);
    int32_t at = 0;
    for (int64_t i = 0; i < n; i++) {
        ((int32_t *)offsets)[i] = at;
        if ((begin + i) % 7 == 6) {
            out->null_count++;
            continue;
        }
        bit_set(validity, i);
        at += snprintf((char *)data + at, 32, "name_%lld", (long long)(begin + i));
    }
    ((int32_t *)offsets)[n] = at;
}

__attribute__((unused)) static void vector_column(int64_t begin, int64_t n, struct ArrowArray *out)
{
    grebe_error err = GREBE_ERROR_INIT;
    void *data = NULL;
    assert_ok(array_new(mem_system(), n, 1, 1, out, &err));
    assert_ok(array_new(mem_system(), n * 4, 2, 0, out->children[0], &err));
    assert_ok(array_alloc_buffer(mem_system(), out->children[0], 1, (size_t)n * 16, &data, &err));
    for (int64_t i = 0; i < n * 4; i++) {
        ((float *)data)[i] = (float)(begin * 4 + i);
    }
}

struct column_spec {
    const char *name;
    const char *type; /* "id", "name" or "v": which values */
};

/* Rows [begin, begin + n) in batches of `batch` rows. */
__attribute__((unused)) static void rows_of(const struct column_spec *specs, size_t n_specs,
                                            int64_t begin, int64_t n, int64_t batch,
                                            struct ArrowArrayStream *out)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct ArrowSchema schema = { 0 };
    struct ArrowArray batches[64];
    size_t n_batches = 0;
    assert_ok(schema_new(mem_system(), "+s", "", false, (int64_t)n_specs, &schema, &err));
    for (size_t i = 0; i < n_specs; i++) {
        const char *type = strcmp(specs[i].type, "id") == 0     ? "int64"
                           : strcmp(specs[i].type, "name") == 0 ? "string"
                                                                : "fixed_size_list<float>[4]";
        assert_ok(type_parse(mem_system(), type, specs[i].name,
                             strcmp(specs[i].type, "name") == 0, schema.children[i], &err));
    }
    for (int64_t at = 0; at < n; at += batch) {
        int64_t length = n - at < batch ? n - at : batch;
        struct ArrowArray columns[16] = { { 0 } };
        for (size_t i = 0; i < n_specs; i++) {
            if (strcmp(specs[i].type, "id") == 0) {
                int64_column(begin + at, length, &columns[i]);
            } else if (strcmp(specs[i].type, "name") == 0) {
                name_column(begin + at, length, &columns[i]);
            } else {
                vector_column(begin + at, length, &columns[i]);
            }
        }
        assert_true(n_batches < 64);
        assert_ok(array_struct(mem_system(), length, columns, n_specs, &batches[n_batches++],
                               &err));
    }
    assert_ok(stream_from_batches(mem_system(), &schema, batches, n_batches, out, &err));
    schema_release(&schema);
}

__attribute__((unused)) static void rows_stream(int64_t begin, int64_t n,
                                                struct ArrowArrayStream *out)
{
    static const struct column_spec specs[] = { { "id", "id" }, { "name", "name" }, { "v", "v" } };
    rows_of(specs, 3, begin, n, 50, out);
}

/* A table of n rows; not durable. */
__attribute__((unused)) static grebe_status create_in(struct io_store *store, const char *path,
                                                      int64_t n, const grebe_write_options *w,
                                                      grebe_table **out, grebe_error *err)
{
    struct ArrowArrayStream rows;
    struct table_store *shared = NULL;
    grebe_table_create_options o = GREBE_TABLE_CREATE_OPTIONS_INIT;
    o.is_not_durable = true;
    o.write = w;
    *out = NULL;
    grebe_status st = table_store_new(store->ctx, store, false, &shared, err);
    if (st != GREBE_OK) {
        return st;
    }
    rows_stream(0, n, &rows);
    st = table_create_in(shared, path, &rows, &o, out, err);
    table_store_drop(shared);
    if (rows.release != NULL) {
        stream_release(&rows);
    }
    return st;
}

/* Append n rows that follow `begin`; the new version in *out. */
__attribute__((unused)) static grebe_status append_to(const grebe_table *t, int64_t begin,
                                                      int64_t n, int32_t on_conflict,
                                                      grebe_table **out, grebe_error *err)
{
    struct ArrowArrayStream rows;
    grebe_txn *x = NULL;
    grebe_txn_options o = GREBE_TXN_OPTIONS_INIT;
    o.is_not_durable = true;
    o.on_conflict = on_conflict;
    *out = NULL;
    grebe_status st = grebe_txn_new(t, &o, &x, err);
    if (st == GREBE_OK) {
        rows_stream(begin, n, &rows);
        st = grebe_txn_append(x, &rows, NULL, err);
    }
    if (st == GREBE_OK) {
        st = grebe_txn_commit(x, NULL, out, err);
    }
    grebe_txn_free(x);
    return st;
}

/* All ids of a table, in row order; malloced, free() it. */
__attribute__((unused)) static int64_t *all_ids(const grebe_table *t, int64_t *n)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct ArrowArrayStream stream;
    grebe_scan_options o = GREBE_SCAN_OPTIONS_INIT;
    static const char *const columns[] = { "id" };
    o.columns = columns;
    o.n_columns = 1;
    int64_t *ids = malloc((size_t)(grebe_table_num_rows(t) + 1) * sizeof *ids);
    *n = 0;
    assert_ok(grebe_table_scan(t, &o, &stream, &err));
    for (;;) {
        struct ArrowArray batch;
        grebe_status st = stream_next(&stream, &batch, &err);
        if (st == GREBE_END) {
            break;
        }
        assert_ok(st);
        const struct ArrowArray *values = batch.children[0];
        memcpy(ids + *n, (const int64_t *)values->buffers[1] + values->offset,
               (size_t)batch.length * sizeof *ids);
        *n += batch.length;
        array_release(&batch);
    }
    stream_release(&stream);
    return ids;
}

/* The table holds exactly ids 0 … n - 1, in order. */
__attribute__((unused)) static void assert_ids(const grebe_table *t, int64_t n)
{
    int64_t found = 0;
    int64_t *ids = all_ids(t, &found);
    assert_int_equal(found, n);
    for (int64_t i = 0; i < n; i++) {
        assert_int_equal(ids[i], i);
    }
    free(ids);
}

struct name_count {
    size_t n_manifests, n_others;
};

__attribute__((unused)) static grebe_status count_name(void *arg, const char *name,
                                                       enum io_kind kind, grebe_error *err)
{
    struct name_count *c = arg;
    (void)kind;
    (void)err;
    if (strncmp(name, "manifest-", 9) == 0) {
        c->n_manifests++;
    } else if (name[0] != '.') {
        c->n_others++;
    }
    return GREBE_OK;
}

/* Names in a folder of a store: manifests and everything else that does not start with a dot. */
__attribute__((unused)) static struct name_count count_names(struct io_store *store,
                                                             const char *folder)
{
    struct name_count c = { 0, 0 };
    grebe_error err = GREBE_ERROR_INIT;
    grebe_status st = io_list(store, folder, count_name, &c, &err);
    if (st != GREBE_OK && st != GREBE_ENOTFOUND) {
        fail_msg("%s: %s", folder, err.message);
    }
    return c;
}

#endif
