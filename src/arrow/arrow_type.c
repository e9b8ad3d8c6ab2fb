/* SPDX-License-Identifier: Apache-2.0 */
#include "arrow/arrow_schema.h"

#include <assert.h>
#include <string.h>

struct simple_format {
    char format[4];
    uint8_t kind, width, unit;
    int8_t n_children; /* -1: any */
};

/* Formats without parameters: "The Arrow C data interface", data type description. */
static const struct simple_format simple_formats[] = {
    { "n", ARROW_NULL, 0, 0, 0 },
    { "b", ARROW_BOOL, 0, 0, 0 },
    { "c", ARROW_INT8, 1, 0, 0 },
    { "C", ARROW_UINT8, 1, 0, 0 },
    { "s", ARROW_INT16, 2, 0, 0 },
    { "S", ARROW_UINT16, 2, 0, 0 },
    { "i", ARROW_INT32, 4, 0, 0 },
    { "I", ARROW_UINT32, 4, 0, 0 },
    { "l", ARROW_INT64, 8, 0, 0 },
    { "L", ARROW_UINT64, 8, 0, 0 },
    { "e", ARROW_FLOAT16, 2, 0, 0 },
    { "f", ARROW_FLOAT32, 4, 0, 0 },
    { "g", ARROW_FLOAT64, 8, 0, 0 },
    { "z", ARROW_BINARY, 0, 0, 0 },
    { "Z", ARROW_LARGE_BINARY, 0, 0, 0 },
    { "vz", ARROW_BINARY_VIEW, 0, 0, 0 },
    { "u", ARROW_STRING, 0, 0, 0 },
    { "U", ARROW_LARGE_STRING, 0, 0, 0 },
    { "vu", ARROW_STRING_VIEW, 0, 0, 0 },
    { "tdD", ARROW_DATE32, 4, 0, 0 },
    { "tdm", ARROW_DATE64, 8, ARROW_MILLI, 0 },
    { "tts", ARROW_TIME32, 4, ARROW_SECOND, 0 },
    { "ttm", ARROW_TIME32, 4, ARROW_MILLI, 0 },
    { "ttu", ARROW_TIME64, 8, ARROW_MICRO, 0 },
    { "ttn", ARROW_TIME64, 8, ARROW_NANO, 0 },
    { "tDs", ARROW_DURATION, 8, ARROW_SECOND, 0 },
    { "tDm", ARROW_DURATION, 8, ARROW_MILLI, 0 },
    { "tDu", ARROW_DURATION, 8, ARROW_MICRO, 0 },
    { "tDn", ARROW_DURATION, 8, ARROW_NANO, 0 },
    { "tiM", ARROW_INTERVAL_MONTHS, 4, 0, 0 },
    { "tiD", ARROW_INTERVAL_DAY_TIME, 8, 0, 0 },
    { "tin", ARROW_INTERVAL_MONTH_DAY_NANO, 16, 0, 0 },
    { "+l", ARROW_LIST, 0, 0, 1 },
    { "+L", ARROW_LARGE_LIST, 0, 0, 1 },
    { "+vl", ARROW_LIST_VIEW, 0, 0, 1 },
    { "+vL", ARROW_LARGE_LIST_VIEW, 0, 0, 1 },
    { "+s", ARROW_STRUCT, 0, 0, -1 },
    { "+m", ARROW_MAP, 0, 0, 1 },
    { "+r", ARROW_RUN_END_ENCODED, 0, 0, 2 },
};

static grebe_status bad_format(const struct ArrowSchema *schema, grebe_error *err)
{
    char name[96];
    char format[64];
    const char *n = schema->name != NULL ? schema->name : "";
    return GREBE_FAIL(err, GREBE_ESCHEMA, "field \"%s\": unknown Arrow format \"%s\"",
                      error_quote(name, sizeof name, n, strlen(n)),
                      error_quote(format, sizeof format, schema->format, strlen(schema->format)));
}

/* A decimal number with optional '-'; moves *p behind it. False: none or too large. */
static bool parse_i32(const char **p, int32_t *out)
{
    const char *s = *p;
    bool is_negative = *s == '-';
    s += is_negative;
    if (*s < '0' || *s > '9') {
        return false;
    }
    int64_t v = 0;
    for (; *s >= '0' && *s <= '9'; s++) {
        v = v * 10 + (*s - '0');
        if (v > INT32_MAX) {
            return false;
        }
    }
    *out = (int32_t)(is_negative ? -v : v);
    *p = s;
    return true;
}

/* "d:precision,scale" or "d:precision,scale,bits" */
static bool parse_decimal(const char *p, struct arrow_type *t)
{
    int32_t bits = 128;
    if (!parse_i32(&p, &t->precision) || *p++ != ',' || !parse_i32(&p, &t->scale)) {
        return false;
    }
    if (*p == ',') {
        p++;
        if (!parse_i32(&p, &bits)) {
            return false;
        }
    }
    int32_t precision_max = 0;
    switch (bits) {
    case 32: t->kind = ARROW_DECIMAL32; precision_max = 9; break;
    case 64: t->kind = ARROW_DECIMAL64; precision_max = 18; break;
    case 128: t->kind = ARROW_DECIMAL128; precision_max = 38; break;
    case 256: t->kind = ARROW_DECIMAL256; precision_max = 76; break;
    default: return false;
    }
    t->byte_width = bits / 8;
    return *p == '\0' && t->precision >= 1 && t->precision <= precision_max &&
           t->scale >= -1000 && t->scale <= 1000;
}

static bool parse_unit(char c, enum arrow_unit *out)
{
    static const char letters[] = "smun";
    const char *p = c == '\0' ? NULL : strchr(letters, c);
    if (p == NULL) {
        return false;
    }
    *out = (enum arrow_unit)(p - letters);
    return true;
}

/* Formats with parameters; *n_children as in struct simple_format. */
static bool parse_with_parameters(const char *f, struct arrow_type *t, int *n_children)
{
    *n_children = 0;
    if (strncmp(f, "w:", 2) == 0) {
        const char *p = f + 2;
        t->kind = ARROW_FIXED_BINARY;
        return parse_i32(&p, &t->byte_width) && *p == '\0' && t->byte_width >= 0;
    }
    if (strncmp(f, "d:", 2) == 0) {
        return parse_decimal(f + 2, t);
    }
    if (strncmp(f, "ts", 2) == 0 && f[2] != '\0' && f[3] == ':') {
        t->kind = ARROW_TIMESTAMP;
        t->byte_width = 8;
        t->timezone = f + 4;
        return parse_unit(f[2], &t->unit);
    }
    if (strncmp(f, "+w:", 3) == 0) {
        const char *p = f + 3;
        t->kind = ARROW_FIXED_LIST;
        *n_children = 1;
        return parse_i32(&p, &t->list_size) && *p == '\0' && t->list_size >= 0;
    }
    if (strncmp(f, "+ud:", 4) == 0 || strncmp(f, "+us:", 4) == 0) {
        t->kind = f[2] == 'd' ? ARROW_DENSE_UNION : ARROW_SPARSE_UNION;
        *n_children = -1;
        return true;
    }
    return false;
}

grebe_status arrow_type_of(const struct ArrowSchema *schema, struct arrow_type *out,
                           grebe_error *err)
{
    memset(out, 0, sizeof *out);
    out->timezone = "";
    if (schema->release == NULL || schema->format == NULL) {
        return GREBE_FAIL(err, GREBE_ESCHEMA, "a schema was released before it was used");
    }
    const char *f = schema->format;
    int n_children = 0;
    bool is_known = false;
    for (size_t i = 0; i < sizeof simple_formats / sizeof simple_formats[0]; i++) {
        const struct simple_format *s = &simple_formats[i];
        if (f[0] == s->format[0] && strcmp(f, s->format) == 0) {
            out->kind = (enum arrow_kind)s->kind;
            out->byte_width = s->width;
            out->unit = (enum arrow_unit)s->unit;
            n_children = s->n_children;
            is_known = true;
            break;
        }
    }
    if (!is_known && !parse_with_parameters(f, out, &n_children)) {
        return bad_format(schema, err);
    }
    if (n_children >= 0 && schema->n_children != n_children) {
        return GREBE_FAIL(err, GREBE_ESCHEMA,
                          "Arrow format \"%.32s\": expected %d children, found %lld", f,
                          n_children, (long long)schema->n_children);
    }
    out->is_dictionary = schema->dictionary != NULL;
    out->is_nullable = (schema->flags & ARROW_FLAG_NULLABLE) != 0;
    if (out->is_dictionary && (out->kind < ARROW_INT8 || out->kind > ARROW_UINT64)) {
        return GREBE_FAIL(err, GREBE_ESCHEMA,
                          "dictionary indices: expected an integer type, found \"%.32s\"", f);
    }
    return GREBE_OK;
}

grebe_status arrow_union_ids(const struct ArrowSchema *schema, int8_t *ids, int8_t *index,
                             grebe_error *err)
{
    memset(ids, 0, 128);
    memset(index, -1, 128);
    assert(strncmp(schema->format, "+u", 2) == 0);
    const char *p = schema->format + 4;
    int64_t n = 0;
    while (*p != '\0') {
        int32_t id = -1;
        if (!parse_i32(&p, &id) || id < 0 || id > 127 || n >= 128 || index[id] >= 0 ||
            (*p != ',' && *p != '\0')) {
            return bad_format(schema, err);
        }
        p += *p == ',';
        index[id] = (int8_t)n;
        ids[n++] = (int8_t)id;
    }
    if (n != schema->n_children) {
        return GREBE_FAIL(err, GREBE_ESCHEMA, "union: %lld type ids, but %lld children",
                          (long long)n, (long long)schema->n_children);
    }
    return GREBE_OK;
}

static grebe_status check_node(const struct ArrowSchema *schema, int depth, grebe_error *err)
{
    struct arrow_type t;
    if (depth > ARROW_DEPTH_MAX) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "types are nested deeper than %d", ARROW_DEPTH_MAX);
    }
    grebe_status st = arrow_type_of(schema, &t, err);
    if (st != GREBE_OK) {
        return st;
    }
    if (schema->n_children < 0 || (schema->n_children > 0 && schema->children == NULL)) {
        return GREBE_FAIL(err, GREBE_ESCHEMA, "a type has %lld children but no list of them",
                          (long long)schema->n_children);
    }
    if (arrow_kind_is_union(t.kind)) {
        int8_t ids[128];
        int8_t index[128];
        st = arrow_union_ids(schema, ids, index, err);
    }
    for (int64_t i = 0; i < schema->n_children && st == GREBE_OK; i++) {
        const struct ArrowSchema *child = schema->children[i];
        if (child == NULL || child->release == NULL) {
            return GREBE_FAIL(err, GREBE_ESCHEMA, "child %lld of a type is missing", (long long)i);
        }
        st = check_node(child, depth + 1, err);
        if (st != GREBE_OK && child->name != NULL && child->name[0] != '\0') {
            char name[64];
            error_wrap(err, st, "%s",
                       error_quote(name, sizeof name, child->name, strlen(child->name)));
        }
    }
    if (st == GREBE_OK && t.kind == ARROW_MAP) {
        const struct ArrowSchema *entries = schema->children[0];
        if (strcmp(entries->format, "+s") != 0 || entries->n_children != 2) {
            return GREBE_FAIL(err, GREBE_ESCHEMA,
                              "map: expected entries of a struct of key and value, found \"%.32s\"",
                              entries->format);
        }
    }
    if (st == GREBE_OK && t.kind == ARROW_RUN_END_ENCODED) {
        const char *f = schema->children[0]->format;
        if (strcmp(f, "s") != 0 && strcmp(f, "i") != 0 && strcmp(f, "l") != 0) {
            return GREBE_FAIL(err, GREBE_ESCHEMA,
                              "run ends: expected int16, int32 or int64, found \"%.32s\"", f);
        }
    }
    if (st == GREBE_OK && schema->dictionary != NULL) {
        st = check_node(schema->dictionary, depth + 1, err);
    }
    return st;
}

grebe_status schema_check(const struct ArrowSchema *schema, grebe_error *err)
{
    return check_node(schema, 0, err);
}
