/* SPDX-License-Identifier: Apache-2.0 */
/* The writer's part of the reference's property registry (loon.md 2.4): every value is text. */
#include "table/txn_internal.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/ascii.h"
#include "base/number.h"

enum { BUFFER_BYTES = 33554432 };
static const int64_t FILE_BYTES_MILVUS = 2147483648;

enum property_kind { PROPERTY_TEXT = 0, PROPERTY_CHOICE, PROPERTY_BOOL, PROPERTY_INT, PROPERTY_LIST };

enum property_id {
    P_POLICY, P_FORMAT, P_PATTERNS, P_FORMATS, P_COLUMN_BYTES, P_GROUP_COLUMNS, P_BUFFER_SIZE,
    P_FILE_BYTES, P_COMPRESSION, P_LEVEL, P_DICTIONARY, P_ENC_ENABLE, P_ENC_KEY, P_ENC_META,
    P_ENC_ALGORITHM, P_VORTEX_STATS, P_VORTEX_VERSION, P_VORTEX_GROUP_BYTES
};

struct property_spec {
    const char *key;
    enum property_id id;
    enum property_kind kind;
    const char *choices; /* PROPERTY_CHOICE: "a|b|c" */
    int64_t min, max;    /* PROPERTY_INT */
};

static const struct property_spec registry[] = {
    { "writer.policy", P_POLICY, PROPERTY_CHOICE, "single|schema_based|size_based", 0, 0 },
    { "writer.format", P_FORMAT, PROPERTY_CHOICE, "parquet|vortex|lance-table|iceberg-table", 0, 0 },
    { "writer.split.schema_based.patterns", P_PATTERNS, PROPERTY_LIST, NULL, 0, 0 },
    { "writer.split.schema_based.formats", P_FORMATS, PROPERTY_LIST, NULL, 0, 0 },
    { "writer.split.size_based.max_avg_column_size", P_COLUMN_BYTES, PROPERTY_INT, NULL, 0, INT64_MAX },
    { "writer.split.size_based.max_columns_in_group", P_GROUP_COLUMNS, PROPERTY_INT, NULL, 0, INT64_MAX },
    { "writer.buffer_size", P_BUFFER_SIZE, PROPERTY_INT, NULL, 1, INT32_MAX },
    { "writer.file_rolling.size", P_FILE_BYTES, PROPERTY_INT, NULL, 1, INT64_MAX },
    { "writer.compression", P_COMPRESSION, PROPERTY_CHOICE, "uncompressed|snappy|gzip|lz4|zstd|brotli", 0, 0 },
    { "writer.compression_level", P_LEVEL, PROPERTY_INT, NULL, INT32_MIN + 1, INT32_MAX },
    { "writer.enable_dictionary", P_DICTIONARY, PROPERTY_BOOL, NULL, 0, 0 },
    { "writer.enc.enable", P_ENC_ENABLE, PROPERTY_BOOL, NULL, 0, 0 },
    { "writer.enc.key", P_ENC_KEY, PROPERTY_TEXT, NULL, 0, 0 },
    { "writer.enc.meta", P_ENC_META, PROPERTY_TEXT, NULL, 0, 0 },
    { "writer.enc.algorithm", P_ENC_ALGORITHM, PROPERTY_CHOICE, "AES_GCM_V1|AES_GCM_CTR_V1", 0, 0 },
    { "writer.vortex.enable_statistics", P_VORTEX_STATS, PROPERTY_BOOL, NULL, 0, 0 },
    { "writer.vortex.format_version", P_VORTEX_VERSION, PROPERTY_INT, NULL, 1, 2 },
    { "writer.vortex_v2.row_group_max_size", P_VORTEX_GROUP_BYTES, PROPERTY_INT, NULL, 131072, INT64_MAX },
};

/* A value that was read: which member is set follows from the kind. */
struct property_value {
    const char *text;   /* TEXT and CHOICE */
    int64_t number;     /* INT; CHOICE: which one; BOOL: 0 or 1 */
    const char **items; /* LIST */
    size_t n_items;
};

static grebe_status bad_value(const struct property_spec *p, const char *text, const char *expected,
                              grebe_error *err)
{
    char quoted[96];
    return GREBE_FAIL(err, GREBE_EINVAL, "property %s: expected %s, found \"%s\"", p->key, expected,
                      error_quote(quoted, sizeof quoted, text, strlen(text)));
}

static grebe_status read_choice(const struct property_spec *p, const char *text, int64_t *out,
                                grebe_error *err)
{
    const char *at = p->choices;
    for (int64_t i = 0;; i++) {
        size_t n = strcspn(at, "|");
        if (strlen(text) == n && memcmp(at, text, n) == 0) {
            *out = i;
            return GREBE_OK;
        }
        if (at[n] == '\0') {
            return bad_value(p, text, p->choices, err);
        }
        at += n + 1;
    }
}

static grebe_status read_int(const struct property_spec *p, const char *text, int64_t *out,
                             grebe_error *err)
{
    char expected[80];
    if (number_parse_i64(text, strlen(text), out) && *out >= p->min && *out <= p->max) {
        return GREBE_OK;
    }
    snprintf(expected, sizeof expected, "an integer from %" PRId64 " to %" PRId64, p->min, p->max);
    return bad_value(p, text, expected, err);
}

static bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/* Items separated by commas, blanks around them cut off; an empty text is an empty list. */
static grebe_status read_list(struct arena *arena, const char *text, struct property_value *v,
                              grebe_error *err)
{
    size_t n_max = 1;
    for (const char *p = text; *p != '\0'; p++) {
        n_max += *p == ',';
    }
    v->items = arena_array(arena, n_max, sizeof *v->items);
    if (v->items == NULL) {
        return mem_fail(err, n_max * sizeof *v->items, "a list");
    }
    for (const char *p = text;; p++) {
        size_t n = strcspn(p, ",");
        const char *begin = p;
        const char *end = p + n;
        while (begin < end && is_blank(*begin)) {
            begin++;
        }
        while (end > begin && is_blank(end[-1])) {
            end--;
        }
        if (end > begin) {
            v->items[v->n_items] = arena_str(arena, begin, (size_t)(end - begin));
            if (v->items[v->n_items++] == NULL) {
                return mem_fail(err, n, "a list");
            }
        }
        p += n;
        if (*p == '\0') {
            return GREBE_OK;
        }
    }
}

static grebe_status read_value(struct arena *arena, const struct property_spec *p, const char *text,
                               struct property_value *out, grebe_error *err)
{
    *out = (struct property_value){ .text = text };
    switch (p->kind) {
    case PROPERTY_TEXT: return GREBE_OK;
    case PROPERTY_CHOICE: return read_choice(p, text, &out->number, err);
    case PROPERTY_BOOL:
        out->number = ascii_equal(text, "true");
        return out->number == 1 || ascii_equal(text, "false")
                   ? GREBE_OK
                   : bad_value(p, text, "true or false", err);
    case PROPERTY_INT: return read_int(p, text, &out->number, err);
    case PROPERTY_LIST: return read_list(arena, text, out, err);
    }
    return GREBE_OK;
}

/* A value becomes what the fields of the options do not say. The reference's patterns and sizes are
 * there whatever the policy is, and count where it is theirs. */
static grebe_status set_value(struct write_plan *w, const grebe_write_options *given,
                              const struct property_spec *p, const struct property_value *v,
                              grebe_error *err)
{
    grebe_write_options *o = &w->o;
    switch (p->id) {
    case P_POLICY:
        o->policy = given->policy == GREBE_POLICY_DEFAULT ? (int32_t)v->number + 1 : given->policy;
        break;
    case P_FORMAT: o->file_format = given->file_format == NULL ? v->text : given->file_format; break;
    case P_PATTERNS:
        if (given->n_policy_patterns == 0) {
            o->policy_patterns = v->items;
            o->n_policy_patterns = v->n_items;
        }
        break;
    case P_FORMATS:
        if (given->n_policy_formats == 0) {
            o->policy_formats = v->items;
            o->n_policy_formats = v->n_items;
        }
        break;
    case P_COLUMN_BYTES:
        o->max_column_bytes = given->max_column_bytes == 0 ? v->number : given->max_column_bytes;
        break;
    case P_GROUP_COLUMNS:
        o->max_columns_in_group = given->max_columns_in_group == 0 ? v->number
                                                                   : given->max_columns_in_group;
        break;
    case P_BUFFER_SIZE: w->buffer_bytes = v->number; break;
    case P_FILE_BYTES: o->file_bytes = given->file_bytes == 0 ? v->number : given->file_bytes; break;
    case P_COMPRESSION:
        if (given->compression == NULL) {
            o->compression = v->number == 0 ? "none" : v->text;
        }
        break;
    case P_LEVEL:
        if (given->compression_level == INT32_MIN) { /* negative: the codec's own */
            o->compression_level = v->number < 0 ? INT32_MIN : (int32_t)v->number;
        }
        break;
    case P_DICTIONARY: w->is_without_dictionary = v->number == 0; break;
    case P_ENC_ENABLE:
        if (v->number == 1) {
            return GREBE_FAIL(err, GREBE_EUNSUPPORTED,
                              "property %s: this build writes no encrypted files", p->key);
        }
        break;
    case P_ENC_KEY:
    case P_ENC_META:
    case P_ENC_ALGORITHM:
    case P_VORTEX_STATS:
    case P_VORTEX_VERSION:
    case P_VORTEX_GROUP_BYTES: break; /* checked; of formats that are not written */
    }
    return GREBE_OK;
}

/* What the reference has beside the policy that was chosen is nothing to us. */
static void drop_unused(grebe_write_options *o, const grebe_write_options *given)
{
    if (o->policy != GREBE_POLICY_SCHEMA_BASED) {
        o->n_policy_patterns = given->n_policy_patterns;
        o->n_policy_formats = given->n_policy_formats;
    }
    if (o->policy != GREBE_POLICY_SIZE_BASED) {
        o->max_column_bytes = given->max_column_bytes;
        o->max_columns_in_group = given->max_columns_in_group;
    }
}

grebe_status write_plan_new(struct arena *arena, const grebe_write_options *options,
                            struct write_plan *out, grebe_error *err)
{
    *out = (struct write_plan){ .o = GREBE_WRITE_OPTIONS_INIT, .buffer_bytes = BUFFER_BYTES };
    grebe_status st = options_copy(&out->o, sizeof out->o, options, err);
    const grebe_write_options given = out->o;
    for (size_t i = 0; i < given.n_properties && st == GREBE_OK; i++) {
        const grebe_property *property = &given.properties[i];
        for (size_t k = 0; k < sizeof registry / sizeof *registry; k++) {
            struct property_value value;
            if (strcmp(registry[k].key, property->key) != 0) {
                continue;
            }
            st = read_value(arena, &registry[k], property->value, &value, err);
            if (st == GREBE_OK) {
                st = set_value(out, &given, &registry[k], &value, err);
            }
            break;
        }
    }
    if (st != GREBE_OK) {
        return st;
    }
    drop_unused(&out->o, &given);
    if (out->o.file_bytes == 0 && out->o.profile == GREBE_PROFILE_MILVUS) {
        out->o.file_bytes = FILE_BYTES_MILVUS;
    }
    return policy_check(&out->o, err);
}
