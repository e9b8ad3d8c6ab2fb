/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/builder.h"

#include <string.h>

#include "base/checked.h"
#include "base/text_distance.h"
#include "builder/builder_internal.h"

static const struct builder_kind *const kinds[] = { &builder_csv,         &builder_json,        &builder_text,
                                                    &builder_parquet,     &builder_arrow,       &builder_conll,
                                                    &builder_xml,         &builder_imagefolder, &builder_audiofolder,
                                                    &builder_videofolder, &builder_webdataset,  NULL };

const struct builder_kind *builder_find(const char *name)
{
    for (size_t i = 0; kinds[i] != NULL; i++) {
        if (strcmp(kinds[i]->name, name) == 0) {
            return kinds[i];
        }
    }
    return NULL;
}

/* ---- options ---- */

static grebe_status check_options(const struct builder_kind *kind, const struct json_value *options, grebe_error *err)
{
    if (options == NULL || options->type == JSON_NULL) {
        return GREBE_OK;
    }
    if (options->type != JSON_OBJECT) {
        return GREBE_FAIL(err, GREBE_EINVAL, "options of %s: expected an object, found %s", kind->name,
                          json_type_name(options->type));
    }
    for (size_t i = 0; i < options->n; i++) {
        const char *name = options->members[i].key, *nearest = NULL;
        bool is_known = false;
        for (size_t k = 0; kind->options[k] != NULL; k++) {
            is_known = is_known || strcmp(kind->options[k], name) == 0;
        }
        for (size_t k = 0, best = SIZE_MAX; kind->options[k] != NULL && !is_known; k++) {
            const size_t d = text_distance(name, kind->options[k]);
            nearest = d < best ? kind->options[k] : nearest;
            best = min_size(best, d);
        }
        if (!is_known) {
            char quoted[64];
            return GREBE_FAIL(err, GREBE_EINVAL, "%s has no option \"%s\"; the nearest is \"%s\"", kind->name,
                              error_quote(quoted, sizeof quoted, name, options->members[i].key_len),
                              nearest != NULL ? nearest : "none");
        }
    }
    return GREBE_OK;
}

const struct json_value *builder_option(const struct builder_base *b, const char *name)
{
    return json_get(b->request->options, name);
}

const struct json_value *builder_option_set(const struct builder_base *b, const char *name)
{
    const struct json_value *v = builder_option(b, name);
    return v != NULL && v->type != JSON_NULL ? v : NULL;
}

grebe_status builder_option_fail(const char *name, const char *expected, const struct json_value *found, grebe_error *err)
{
    char quoted[48];
    bool is_short = found->type == JSON_STRING || found->type == JSON_NUMBER;
    return GREBE_FAIL(err, GREBE_EINVAL, "option \"%s\": expected %s, found %s%s", name, expected,
                      is_short ? "" : json_type_name(found->type),
                      is_short ? error_quote(quoted, sizeof quoted, found->text, found->n) : "");
}

grebe_status builder_option_bool(const struct builder_base *b, const char *name, bool *out, grebe_error *err)
{
    const struct json_value *v = builder_option_set(b, name);
    if (v == NULL) {
        return GREBE_OK;
    }
    if (v->type != JSON_BOOL) {
        return builder_option_fail(name, "true or false", v, err);
    }
    *out = v->boolean;
    return GREBE_OK;
}

grebe_status builder_option_i64(const struct builder_base *b, const char *name, int64_t min, int64_t *out, grebe_error *err)
{
    const struct json_value *v = builder_option_set(b, name);
    int64_t n = 0;
    if (v == NULL) {
        return GREBE_OK;
    }
    if (!json_i64(v, &n) || n < min) {
        return builder_option_fail(name, min > 0 ? "a positive integer" : "an integer that is not negative", v, err);
    }
    *out = n;
    return GREBE_OK;
}

grebe_status builder_option_text(const struct builder_base *b, const char *name, const char **out, grebe_error *err)
{
    const struct json_value *v = builder_option_set(b, name);
    if (v == NULL) {
        return GREBE_OK;
    }
    if (v->type != JSON_STRING) {
        return builder_option_fail(name, "a string", v, err);
    }
    *out = v->text;
    return GREBE_OK;
}

/* ---- life ---- */

/* The head filled in: store, call, features as given. */
static grebe_status set_up_base(struct builder_base *b, const struct builder_request *request, grebe_error *err)
{
    grebe_context *ctx = b->b.ctx;
    b->request = request;
    b->call = call_options_resolve(ctx, request->call);
    grebe_status st = io_local_new(ctx, &b->store, err);
    if (st == GREBE_OK && request->features != NULL) {
        struct features *copy = NULL;
        st = features_merge(ctx->a, request->features, request->features, &copy, err);
        st = st == GREBE_OK ? builder_set_features(b, copy, err) : st;
        b->is_given = true;
    }
    return st;
}

void builder_base_free(struct builder *b)
{
    struct builder_base *base = (struct builder_base *)b;
    schema_release(&base->storage);
    features_free(b->features);
    io_store_free(base->store);
    mem_free(b->ctx->a, b, b->kind->size);
}

void builder_use_store(struct builder *b, struct io_store *store)
{
    struct builder_base *base = (struct builder_base *)b;
    io_store_free(base->store);
    base->store = store;
}

grebe_status builder_set_features(struct builder_base *b, struct features *f, grebe_error *err)
{
    schema_release(&b->storage);
    features_free(b->b.features);
    b->b.features = f;
    return features_to_schema(b->b.ctx->a, f, &b->storage, err);
}

grebe_status builder_set_schema(struct builder_base *b, const struct ArrowSchema *schema, bool with_metadata,
                                grebe_error *err)
{
    struct features *f = NULL;
    grebe_status st = features_from_schema(b->b.ctx->a, schema, with_metadata, &f, err);
    return st == GREBE_OK ? builder_set_features(b, f, err) : st;
}

grebe_status builder_open(grebe_context *ctx, const struct builder_kind *kind, const struct builder_request *request,
                          struct builder **out, grebe_error *err)
{
    *out = NULL;
    grebe_status st = check_options(kind, request->options, err);
    if (st != GREBE_OK) {
        return st;
    }
    struct builder *b = mem_alloc_zero(ctx->a, kind->size);
    if (b == NULL) {
        return mem_fail(err, kind->size, "a builder");
    }
    *b = (struct builder){ .ops = kind->ops, .kind = kind, .ctx = ctx };
    st = set_up_base((struct builder_base *)b, request, err);
    st = st == GREBE_OK && kind->set_up != NULL ? kind->set_up(b, err) : st;
    if (st != GREBE_OK) {
        builder_free(b);
        return st;
    }
    *out = b;
    return GREBE_OK;
}

grebe_status builder_infer(struct builder *b, grebe_error *err)
{
    return b->features != NULL || b->ops->infer == NULL ? GREBE_OK : b->ops->infer(b, err);
}

void builder_free(struct builder *b)
{
    if (b != NULL) {
        b->ops->free(b);
    }
}

void shard_reader_free(struct shard_reader *r)
{
    if (r->ops != NULL) {
        r->ops->free(r->self);
        r->ops = NULL;
        r->self = NULL;
    }
}
