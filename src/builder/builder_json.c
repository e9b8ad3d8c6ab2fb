/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/builder_json.h"

#include <string.h>

#include "base/checked.h"
#include "builder/builder_decode.h"
#include "builder/builder_text.h"

enum { CHUNK_BYTES = 10 << 20, BLOCK_BYTES = 1 << 20 };

/* ---- types ---- */

/* What types are found from: so many bytes and the rest of their last line; all of it where rows are no lines. GREBE_END.
 */
static grebe_status take_chunk(struct json_builder *b, struct json_unit *u, struct text_block *out, grebe_error *err)
{
    struct text_reader *r = &u->reader;
    size_t chunk = u->layout == ROWS_LINES ? (size_t)b->chunk_bytes : SIZE_MAX / 4;
    grebe_status st = text_reader_fill(r, chunk, err);
    const char *end = NULL;
    while (st == GREBE_OK && end == NULL) {
        const size_t ahead = r->end - r->at;
        end = ahead > chunk ? memchr(r->data + r->at + chunk, '\n', ahead - chunk) : NULL;
        if (end != NULL || r->is_over) {
            break;
        }
        st = text_reader_fill(r, 2 * ahead, err);
    }
    if (st != GREBE_OK || r->at == r->end) {
        return st != GREBE_OK ? st : GREBE_END;
    }
    const size_t len = end != NULL ? (size_t)(end + 1 - r->data) - r->at : r->end - r->at;
    *out = (struct text_block){ r->data + r->at, len, r->line, r->column };
    text_reader_skip(r, len);
    return GREBE_OK;
}

/* Types of the blocks of a unit: the first of them, more while places are null. */
static grebe_status see_unit(struct json_builder *b, struct region *bytes, const char *name, struct json_kinds *type,
                             grebe_error *err)
{
    struct json_unit u;
    struct text_block block;
    grebe_status st = json_unit_open(b, bytes, name, 0, &u, err);
    while (st == GREBE_OK && (type->n_fields == 0 || json_kinds_has_nulls(type))) {
        struct arena arena = ARENA_INIT(b->base.b.ctx->a);
        struct json_kinds more = { 0 };
        bool is_first = type->n_fields == 0;
        st = take_chunk(b, &u, &block, err);
        if (st == GREBE_OK) {
            st = builder_text_check(name, &block, err);
        }
        if (st == GREBE_OK) {
            st = json_see_block(&u, &block, is_first ? &b->arena : &arena, is_first ? type : &more, err);
        }
        if (st == GREBE_OK && !is_first) {
            st = json_kinds_widen(&b->arena, type, &more, err);
        }
        arena_release(&arena);
    }
    json_unit_release(&u);
    return st == GREBE_END ? GREBE_OK : st;
}

static grebe_status see_file(struct json_builder *b, const char *path, struct json_kinds *type, grebe_error *err)
{
    struct builder_units units;
    grebe_status st = builder_units_open(&b->base, path, &units, err);
    for (size_t i = 0; st == GREBE_OK && i < units.n; i++) {
        struct region *bytes = NULL;
        const char *name = NULL;
        st = builder_units_get(&units, i, &bytes, &name, err);
        st = st == GREBE_OK ? see_unit(b, bytes, name, type, err) : st;
        region_drop(bytes);
    }
    builder_units_close(&units);
    return st;
}

static grebe_status infer_types(struct json_builder *b, grebe_error *err)
{
    struct json_kinds *type = arena_alloc_zero(&b->arena, sizeof *type);
    struct ArrowSchema schema = { 0 };
    grebe_status st = type != NULL ? GREBE_OK : mem_fail(err, sizeof *type, "types");
    for (size_t i = 0; st == GREBE_OK && i < builder_n_files(&b->base); i++) {
        if (type->n_fields > 0 && !json_kinds_has_nulls(type)) {
            break;
        }
        bool is_first = type->n_fields == 0;
        st = see_file(b, builder_file(&b->base, i), type, err);
        if (st != GREBE_OK && st != GREBE_ENOMEM && !is_first) { /* whoever reads this file will say so */
            st = GREBE_OK;
            break;
        }
    }
    GREBE_TRY(st);
    b->how.is_mixed_json = b->is_mixed_json;
    GREBE_TRY(json_kinds_resolve(&b->how, type, NULL, 0, "", &b->shape, err));
    b->shape.form = JSON_FORM_STRUCT; /* no rows at all */
    b->how.has_special = false;       /* blocks that have them are read again */
    GREBE_TRY(json_rows_schema(b->base.b.ctx->a, &b->shape, "", &schema, err));
    st = builder_set_schema(&b->base, &schema, false, err);
out:
    schema_release(&schema);
    return st;
}

grebe_status json_infer(struct json_builder *b, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    if (b->is_ready) {
        return GREBE_OK;
    }
    b->how = (struct json_resolve){ .ar = &b->arena };
    st = b->base.is_given ? json_shape_of_feature(&b->how, &b->base.b.features->top, &b->shape, err) : infer_types(b, err);
    b->is_ready = st == GREBE_OK;
    return st;
}

/* ---- the builder ---- */

static grebe_status json_builder_infer(struct builder *base, grebe_error *err)
{
    return json_infer((struct json_builder *)base, err);
}

static grebe_status json_read(struct builder *base, size_t split, size_t file, int64_t part, struct shard_place place,
                              struct shard_reader *out, grebe_error *err)
{
    grebe_status st = json_infer((struct json_builder *)base, err);
    return st == GREBE_OK ? builder_read_units(base, split, file, part, place, out, err) : st;
}

static void json_free(struct builder *base)
{
    struct json_builder *b = (struct json_builder *)base;
    arena_release(&b->arena);
    builder_base_free(base);
}

static const struct builder_ops json_ops = { json_builder_infer, builder_one_part, json_read, json_free, json_rows_open };

static grebe_status json_set_up(struct builder *base, grebe_error *err)
{
    struct json_builder *b = (struct json_builder *)base;
    grebe_status st = GREBE_OK;
    b->arena = ARENA_INIT(base->ctx->a);
    b->chunk_bytes = CHUNK_BYTES;
    json_shape_init(&b->shape);
    const struct json_value *mixed = builder_option(&b->base, "on_mixed_types");
    GREBE_TRY(builder_option_text(&b->base, "field", &b->field, err));
    GREBE_TRY(builder_option_text(&b->base, "encoding", &b->encoding, err));
    GREBE_TRY(builder_option_text(&b->base, "encoding_errors", &b->encoding_errors, err));
    GREBE_TRY(builder_decode_check(b->encoding, b->encoding_errors, err));
    GREBE_TRY(builder_option_i64(&b->base, "chunksize", 1, &b->chunk_bytes, err));
    if (builder_option_set(&b->base, "newlines_in_values") != NULL) {
        st = GREBE_FAIL(err, GREBE_EINVAL, "option \"newlines_in_values\" is not supported any more");
        goto out;
    }
    b->is_mixed_json = mixed == NULL || json_is_text(mixed, "use_json");
    if (!b->is_mixed_json && mixed->type != JSON_NULL) {
        st = builder_option_fail("on_mixed_types", "use_json or null", mixed, err);
        goto out;
    }
    b->base.block_bytes = (size_t)min_i64(b->chunk_bytes, BLOCK_BYTES);
    if (b->base.is_given) {
        st = json_infer(b, err);
    }
out:
    return st;
}

static const char *const json_extensions[] = { ".json", ".jsonl", ".ndjson", NULL };
static const char *const json_options[] = {
    "features",           "encoding",       "encoding_errors",    "field", "use_threads", "block_size", "chunksize",
    "newlines_in_values", "on_mixed_types", "parse_agent_traces", NULL
};

const struct builder_kind builder_json = { .name = "json",
                                           .extensions = json_extensions,
                                           .options = json_options,
                                           .knows_features = true,
                                           .size = sizeof(struct json_builder),
                                           .ops = &json_ops,
                                           .set_up = json_set_up };
