/* SPDX-License-Identifier: Apache-2.0 */
#include "arrow/arrow_schema_internal.h"

#include <string.h>

#include "base/checked.h"

/*
 * The C data interface's encoding of metadata, native byte order:
 * i32 n, then n times: i32 key length, key, i32 value length, value. No terminators.
 */

static int32_t load_i32(const char *p)
{
    int32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

/* Walks to the next pair; false when a length is negative (nothing behind it can be trusted). */
static bool next_pair(const char **p, struct key_value *out)
{
    int32_t key_len = load_i32(*p);
    if (key_len < 0) {
        return false;
    }
    out->key = *p + 4;
    out->key_len = (size_t)key_len;
    *p = out->key + key_len;
    int32_t value_len = load_i32(*p);
    if (value_len < 0) {
        return false;
    }
    out->value = *p + 4;
    out->value_len = (size_t)value_len;
    *p = out->value + value_len;
    return true;
}

size_t schema_metadata_count(const struct ArrowSchema *schema)
{
    if (schema->metadata == NULL) {
        return 0;
    }
    int32_t n = load_i32(schema->metadata);
    return n > 0 ? (size_t)n : 0;
}

struct key_value schema_metadata_at(const struct ArrowSchema *schema, size_t i)
{
    struct key_value pair = { "", 0, "", 0 };
    const char *p = schema->metadata + 4;
    for (size_t k = 0; k <= i; k++) {
        if (!next_pair(&p, &pair)) {
            return (struct key_value){ "", 0, "", 0 };
        }
    }
    return pair;
}

bool schema_metadata_find(const struct ArrowSchema *schema, const char *key,
                          struct key_value *out)
{
    size_t n = schema_metadata_count(schema);
    size_t key_len = strlen(key);
    const char *p = n > 0 ? schema->metadata + 4 : NULL;
    for (size_t i = 0; i < n; i++) {
        struct key_value pair;
        if (!next_pair(&p, &pair)) {
            return false;
        }
        if (pair.key_len == key_len && memcmp(pair.key, key, key_len) == 0) {
            *out = pair;
            return true;
        }
    }
    return false;
}

static char *put_text(char *p, const char *text, size_t len)
{
    int32_t n = (int32_t)len;
    memcpy(p, &n, sizeof n);
    if (len > 0) {
        memcpy(p + 4, text, len);
    }
    return p + 4 + len;
}

grebe_status schema_set_metadata(const grebe_allocator *a, struct ArrowSchema *schema,
                                 const struct key_value *pairs, size_t n, grebe_error *err)
{
    if (n == 0) {
        schema_adopt_metadata(schema, NULL, 0);
        return GREBE_OK;
    }
    size_t len = 4;
    for (size_t i = 0; i < n; i++) {
        if (pairs[i].key_len > INT32_MAX || pairs[i].value_len > INT32_MAX || n > INT32_MAX) {
            return GREBE_FAIL(err, GREBE_ELIMIT, "metadata of %zu bytes: at most 2147483647 fit",
                              max_size(pairs[i].key_len, pairs[i].value_len));
        }
        len += 8 + pairs[i].key_len + pairs[i].value_len;
    }
    char *metadata = mem_alloc(a, len);
    if (metadata == NULL) {
        return mem_fail(err, len, "metadata");
    }
    int32_t count = (int32_t)n;
    memcpy(metadata, &count, sizeof count);
    char *p = metadata + 4;
    for (size_t i = 0; i < n; i++) {
        p = put_text(p, pairs[i].key, pairs[i].key_len);
        p = put_text(p, pairs[i].value, pairs[i].value_len);
    }
    schema_adopt_metadata(schema, metadata, len);
    return GREBE_OK;
}

grebe_status schema_copy_metadata(const grebe_allocator *a, const struct ArrowSchema *src,
                                  struct ArrowSchema *dst, grebe_error *err)
{
    size_t n = schema_metadata_count(src);
    if (n == 0) {
        return GREBE_OK;
    }
    const char *end = src->metadata + 4;
    struct key_value pair;
    for (size_t i = 0; i < n; i++) {
        if (!next_pair(&end, &pair)) {
            return GREBE_FAIL(err, GREBE_ESCHEMA, "metadata pair %zu: negative length", i);
        }
    }
    size_t len = (size_t)(end - src->metadata);
    char *metadata = mem_alloc(a, len);
    if (metadata == NULL) {
        return mem_fail(err, len, "metadata");
    }
    memcpy(metadata, src->metadata, len);
    schema_adopt_metadata(dst, metadata, len);
    return GREBE_OK;
}
