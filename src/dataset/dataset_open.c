/* SPDX-License-Identifier: Apache-2.0 */
#include "dataset/dataset_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "arrow/arrow_stream.h"
#include "base/context_internal.h"
#include "base/hash.h"
#include "dataset/fingerprint.h"
#include "dataset/fingerprint_content.h"
#include "wire/json.h"

/* ---- files ---- */

/* The fingerprint that the writer of the first file left in its metadata; NULL: none. */
static grebe_status stored_fingerprint(const grebe_allocator *a, const struct ArrowSchema *schema, char **out,
                                       grebe_error *err)
{
    struct key_value kv;
    struct arena ar = ARENA_INIT(a);
    const struct json_value *v = NULL;
    *out = NULL;
    if (!schema_metadata_find(schema, "huggingface", &kv) ||
        json_parse(&ar, kv.value, kv.value_len, &v, NULL) != GREBE_OK) {
        arena_release(&ar);
        return GREBE_OK;
    }
    const struct json_value *text = json_get(v, "fingerprint");
    grebe_status st = GREBE_OK;
    if (text != NULL && text->type == JSON_STRING && fingerprint_check(text->text, NULL) == GREBE_OK) {
        *out = str_copy(a, text->text);
        st = *out == NULL ? mem_fail(err, text->n, "a fingerprint") : GREBE_OK;
    }
    arena_release(&ar);
    return st;
}

/* Files without one: by their names, sizes and times. */
static grebe_status fingerprint_of_files(grebe_context *ctx, const char *const *paths, size_t n, char out[17],
                                         grebe_error *err)
{
    struct io_store *store = NULL;
    struct buf text = BUF_INIT(ctx->a);
    grebe_status st = io_local_new(ctx, &store, err);
    for (size_t i = 0; i < n && st == GREBE_OK; i++) {
        struct io_info info;
        st = io_stat(store, paths[i], &info, err);
        if (st == GREBE_OK) {
            st = buf_printf(&text, err, "%s\n%" PRIu64 " %" PRId64 "\n", paths[i], info.id.size_bytes,
                            info.id.modified_ns);
        }
    }
    if (st == GREBE_OK) {
        snprintf(out, 17, "%016" PRIx64, hash_bytes(text.data, text.len, 0));
    }
    buf_release(&text);
    io_store_free(store);
    return st;
}

grebe_status dataset_check_types(grebe_context *ctx, const struct features *f, const struct ArrowSchema *schema,
                                 grebe_error *err)
{
    struct ArrowSchema types = { 0 };
    grebe_status st = features_to_schema(ctx->a, f, &types, err);
    if (st == GREBE_OK && types.n_children != schema->n_children) {
        st = GREBE_FAIL(err, GREBE_ESCHEMA, "%lld features, the files have %lld columns", (long long)types.n_children,
                        (long long)schema->n_children);
    }
    for (int64_t i = 0; st == GREBE_OK && i < types.n_children; i++) {
        if (schema_equal(types.children[i], schema->children[i],
                         SCHEMA_EQUAL_IGNORE_METADATA | SCHEMA_EQUAL_IGNORE_NULLABLE |
                             SCHEMA_EQUAL_IGNORE_CHILD_NAMES)) {
            continue;
        }
        struct buf want = BUF_INIT(ctx->a), have = BUF_INIT(ctx->a);
        st = type_print(&want, types.children[i], err);
        st = st == GREBE_OK ? type_print(&have, schema->children[i], err) : st;
        if (st == GREBE_OK) {
            st = GREBE_FAIL(err, GREBE_ESCHEMA, "column \"%.64s\": expected %.100s by its feature, found \"%.64s\": %.100s",
                            types.children[i]->name, buf_text(&want), schema->children[i]->name, buf_text(&have));
        }
        buf_release(&want);
        buf_release(&have);
    }
    schema_release(&types);
    return st;
}

/* Fields of structs in the order that the type has; what does not match stays, and is found by the comparison. */
static grebe_status follow_order(struct arena *ar, struct json_value *v, const struct ArrowSchema *type, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    if (v->type != JSON_OBJECT) {
        return GREBE_OK;
    }
    const struct json_value *kind = json_get(v, "_type");
    bool is_list = kind != NULL && (json_is_text(kind, "List") || json_is_text(kind, "LargeList"));
    if (is_list && type->n_children == 1) {
        struct json_member *m = arena_array(ar, v->n, sizeof *m);
        if (m == NULL) {
            return mem_fail(err, v->n * sizeof *m, "features");
        }
        memcpy(m, v->members, v->n * sizeof *m);
        for (size_t i = 0; i < v->n && st == GREBE_OK; i++) {
            st = strcmp(m[i].key, "feature") == 0 ? follow_order(ar, &m[i].value, type->children[0], err) : st;
        }
        v->members = m;
        return st;
    }
    if ((kind != NULL && kind->type == JSON_STRING) || strcmp(type->format, "+s") != 0 || (size_t)type->n_children != v->n) {
        return GREBE_OK;
    }
    struct json_member *m = arena_array(ar, v->n, sizeof *m);
    if (m == NULL) {
        return mem_fail(err, v->n * sizeof *m, "features");
    }
    for (size_t i = 0; i < v->n && st == GREBE_OK; i++) {
        const struct json_value *field = json_get(v, type->children[i]->name);
        if (field == NULL) {
            return GREBE_OK;
        }
        m[i] = (struct json_member){ type->children[i]->name, strlen(type->children[i]->name), *field };
        st = follow_order(ar, &m[i].value, type->children[i], err);
    }
    v->members = m;
    return st;
}

/* Features in the order of the table's columns, of its types. */
static grebe_status fit_features(grebe_context *ctx, const struct features *given, const struct ArrowSchema *schema,
                                 struct features **out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct arena ar = ARENA_INIT(ctx->a);
    struct buf json = BUF_INIT(ctx->a);
    const struct json_value *v = NULL;
    *out = NULL;
    for (int64_t i = 0; i < schema->n_children; i++) {
        if (features_find(given, schema->children[i]->name) == NULL) {
            return GREBE_FAIL(err, GREBE_ESCHEMA, "column \"%.64s\" of the files has no feature",
                              schema->children[i]->name);
        }
    }
    GREBE_TRY(features_to_json(given, -1, 0, &json, err));
    GREBE_TRY(json_parse(&ar, (const char *)json.data, json.len, &v, err));
    struct json_value ordered = *v;
    GREBE_TRY(follow_order(&ar, &ordered, schema, err));
    GREBE_TRY(features_from_tree(ctx->a, &ordered, out, err));
    GREBE_TRY(dataset_check_types(ctx, *out, schema, err));
out:
    arena_release(&ar);
    buf_release(&json);
    if (st != GREBE_OK) {
        features_free(*out);
        *out = NULL;
    }
    return st;
}

grebe_status dataset_open_files(grebe_context *ctx, const char *const *paths, size_t n, const struct features *features,
                                bool in_memory, const char *info_json, const char *split, const char *fingerprint,
                                grebe_dataset **out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct dataset_table *table = NULL;
    struct features *own = NULL;
    char *stored = NULL, computed[17];
    *out = NULL;
    GREBE_TRY(dataset_table_of_files(ctx, paths, n, in_memory, &table, err));
    const struct ArrowSchema *schema = dataset_table_schema(table);
    if (features != NULL) {
        GREBE_TRY(fit_features(ctx, features, schema, &own, err));
    } else {
        GREBE_TRY(features_from_schema(ctx->a, schema, true, &own, err));
        GREBE_TRY(dataset_check_types(ctx, own, schema, err));
    }
    if (fingerprint == NULL) {
        GREBE_TRY(stored_fingerprint(ctx->a, schema, &stored, err));
        fingerprint = stored;
    }
    if (fingerprint == NULL) {
        GREBE_TRY(fingerprint_of_files(ctx, paths, n, computed, err));
        fingerprint = computed;
    }
    GREBE_TRY(dataset_new(ctx, table, NULL, own, info_json, split, fingerprint, NULL, out, err));
    table = NULL;
    own = NULL;
out:
    dataset_table_drop(table);
    features_free(own);
    str_free(ctx->a, stored);
    return st;
}

grebe_status grebe_dataset_of_files(grebe_context *ctx, const char *const *paths, size_t n,
                                    const grebe_dataset_open_options *options, grebe_dataset **out, grebe_error *err)
{
    grebe_dataset_open_options o = GREBE_DATASET_OPEN_OPTIONS_INIT;
    GREBE_CHECK_ARG(err, ctx != NULL && paths != NULL && n >= 1 && out != NULL);
    *out = NULL;
    grebe_status st = options_copy(&o, sizeof o, options, err);
    return st != GREBE_OK ? st : dataset_open_files(ctx, paths, n, NULL, o.keep_in_memory, NULL, NULL, NULL, out, err);
}

/* ---- rows in memory ---- */

static void release_batches(struct buf *batches)
{
    struct ArrowArray *items = (struct ArrowArray *)(void *)batches->data;
    for (size_t i = 0; i < batches->len / sizeof *items; i++) {
        array_release(&items[i]);
    }
    buf_release(batches);
}

/* Batches of the stream, cast to the features. */
static grebe_status collect(grebe_context *ctx, struct ArrowArrayStream *rows, const struct ArrowSchema *schema,
                            const struct features *f, struct buf *batches, grebe_error *err)
{
    struct feature_cast_options o = { .first_row = 0 };
    for (;;) {
        struct ArrowArray batch = { 0 }, normal = { 0 }, cast = { 0 };
        grebe_status st = stream_next(rows, &batch, err);
        if (st == GREBE_END) {
            return GREBE_OK;
        }
        if (st == GREBE_OK) {
            st = array_import_rows(ctx->a, schema, &batch, &normal, err);
        }
        if (st == GREBE_OK) {
            st = features_cast(ctx->a, f, schema, &normal, &o, &cast, err);
        }
        if (st == GREBE_OK) {
            o.first_row += cast.length;
            st = buf_put(batches, &cast, sizeof cast, err);
            if (st != GREBE_OK) {
                array_release(&cast);
            }
        }
        array_release(&batch);
        if (st != GREBE_OK) {
            return st;
        }
    }
}

grebe_status dataset_of_batches(grebe_context *ctx, struct features *features, struct ArrowArray *batches, size_t n,
                                grebe_dataset **out, grebe_error *err)
{
    struct ArrowSchema schema = { 0 };
    struct dataset_table *table = NULL;
    struct buf json = BUF_INIT(ctx->a);
    char fingerprint[17];
    *out = NULL;
    grebe_status st = features_to_schema(ctx->a, features, &schema, err);
    st = st == GREBE_OK ? features_to_json(features, -1, 0, &json, err) : st;
    st = st == GREBE_OK ? buf_put_byte(&json, 0, err) : st;
    st = st == GREBE_OK ? dataset_table_of_batches(ctx, &schema, batches, n, &table, err) : st;
    st = st == GREBE_OK ? fingerprint_of_rows(table, (const char *)json.data, fingerprint, err) : st;
    if (st == GREBE_OK) {
        st = dataset_new(ctx, table, NULL, features, NULL, NULL, fingerprint, NULL, out, err);
    }
    if (st != GREBE_OK) {
        dataset_table_drop(table);
    }
    schema_release(&schema);
    buf_release(&json);
    return st;
}

grebe_status grebe_dataset_of_rows(grebe_context *ctx, struct ArrowArrayStream *rows, const char *features,
                                   grebe_dataset **out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    GREBE_CHECK_ARG(err, rows != NULL);
    struct ArrowSchema schema = { 0 }, plain = { 0 };
    struct features *f = NULL;
    if (ctx == NULL || out == NULL) {
        stream_release(rows);
        return GREBE_FAIL(err, GREBE_EINVAL, "grebe_dataset_of_rows: expected a context and a place for the result");
    }
    struct buf batches = BUF_INIT(ctx->a);
    *out = NULL;
    GREBE_TRY(stream_schema(rows, &schema, err));
    if (features != NULL) {
        GREBE_TRY(features_from_json(ctx->a, features, strlen(features), &f, err));
    } else {
        GREBE_TRY(schema_copy_plain(ctx->a, &schema, &plain, err));
        GREBE_TRY(features_from_schema(ctx->a, &plain, true, &f, err));
    }
    GREBE_TRY(collect(ctx, rows, &schema, f, &batches, err));
    GREBE_TRY(dataset_of_batches(ctx, f, (struct ArrowArray *)(void *)batches.data,
                                 batches.len / sizeof(struct ArrowArray), out, err));
    f = NULL;
out:
    stream_release(rows);
    release_batches(&batches);
    features_free(f);
    schema_release(&schema);
    schema_release(&plain);
    return st;
}
