/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_ARROW_ARROW_SCHEMA_H
#define GREBE_ARROW_ARROW_SCHEMA_H

/*
 * Schemas and types over struct ArrowSchema. A schema made here is one owned tree: its release
 * frees children, dictionary, names and metadata. The schema of rows is a struct type ("+s").
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/name_index.h"
#include "grebe/arrow.h"

/** Nesting that is accepted anywhere. */
enum { ARROW_DEPTH_MAX = 64 };

enum arrow_kind {
    ARROW_NULL = 0,
    ARROW_BOOL,
    ARROW_INT8, ARROW_INT16, ARROW_INT32, ARROW_INT64,
    ARROW_UINT8, ARROW_UINT16, ARROW_UINT32, ARROW_UINT64,
    ARROW_FLOAT16, ARROW_FLOAT32, ARROW_FLOAT64,
    ARROW_STRING, ARROW_LARGE_STRING, ARROW_STRING_VIEW,
    ARROW_BINARY, ARROW_LARGE_BINARY, ARROW_BINARY_VIEW,
    ARROW_FIXED_BINARY,
    ARROW_DATE32, ARROW_DATE64,
    ARROW_TIME32, ARROW_TIME64,
    ARROW_TIMESTAMP, ARROW_DURATION,
    ARROW_INTERVAL_MONTHS, ARROW_INTERVAL_DAY_TIME, ARROW_INTERVAL_MONTH_DAY_NANO,
    ARROW_DECIMAL32, ARROW_DECIMAL64, ARROW_DECIMAL128, ARROW_DECIMAL256,
    ARROW_LIST, ARROW_LARGE_LIST, ARROW_LIST_VIEW, ARROW_LARGE_LIST_VIEW,
    ARROW_FIXED_LIST,
    ARROW_STRUCT, ARROW_MAP,
    ARROW_DENSE_UNION, ARROW_SPARSE_UNION,
    ARROW_RUN_END_ENCODED
};

enum arrow_unit { ARROW_SECOND = 0, ARROW_MILLI, ARROW_MICRO, ARROW_NANO };

/** What a format string says. Plain value; `timezone` is borrowed from the schema. */
struct arrow_type {
    enum arrow_kind kind;   /* for a dictionary-encoded field: the kind of the indices */
    bool is_dictionary;
    bool is_nullable;
    int32_t byte_width;     /* of one value: 1..32 fixed width, n for FIXED_BINARY; 0 otherwise */
    int32_t list_size;      /* FIXED_LIST */
    enum arrow_unit unit;   /* TIME, TIMESTAMP, DURATION */
    const char *timezone;   /* TIMESTAMP; "" when none */
    int32_t precision, scale; /* DECIMAL */
};

/** Whether the kind has 32- or 64-bit offsets into a run of bytes (strings and binaries). */
static inline bool arrow_kind_is_bytes(enum arrow_kind kind)
{
    return kind == ARROW_STRING || kind == ARROW_LARGE_STRING || kind == ARROW_BINARY ||
           kind == ARROW_LARGE_BINARY;
}
static inline bool arrow_kind_is_view(enum arrow_kind kind)
{
    return kind == ARROW_STRING_VIEW || kind == ARROW_BINARY_VIEW;
}
/** Whether values are UTF-8. */
static inline bool arrow_kind_is_text(enum arrow_kind kind)
{
    return kind == ARROW_STRING || kind == ARROW_LARGE_STRING || kind == ARROW_STRING_VIEW;
}
/** Lists with offsets, maps included. */
static inline bool arrow_kind_is_list(enum arrow_kind kind)
{
    return kind == ARROW_LIST || kind == ARROW_LARGE_LIST || kind == ARROW_MAP;
}
static inline bool arrow_kind_is_list_view(enum arrow_kind kind)
{
    return kind == ARROW_LIST_VIEW || kind == ARROW_LARGE_LIST_VIEW;
}
static inline bool arrow_kind_is_union(enum arrow_kind kind)
{
    return kind == ARROW_DENSE_UNION || kind == ARROW_SPARSE_UNION;
}
/** 8 where offsets (or list-view sizes) are 64-bit, 4 where they are 32-bit, 0 without offsets. */
static inline int arrow_offset_width(enum arrow_kind kind)
{
    switch (kind) {
    case ARROW_LARGE_STRING:
    case ARROW_LARGE_BINARY:
    case ARROW_LARGE_LIST:
    case ARROW_LARGE_LIST_VIEW: return 8;
    case ARROW_STRING:
    case ARROW_BINARY:
    case ARROW_LIST:
    case ARROW_LIST_VIEW:
    case ARROW_MAP: return 4;
    default: return 0;
    }
}

/**
 * Read the format string.
 *
 * @return GREBE_OK; GREBE_ESCHEMA (unknown format string; wrong number of children).
 */
grebe_status arrow_type_of(const struct ArrowSchema *schema, struct arrow_type *out,
                           grebe_error *err);

/**
 * Type ids of a union's children, in the order of the children.
 *
 * @param ids   Written, shape [128]: ids[i] is the type id of child i.
 * @param index Written, shape [128]: child of a type id, -1 where the id is not used.
 */
grebe_status arrow_union_ids(const struct ArrowSchema *schema, int8_t *ids, int8_t *index,
                             grebe_error *err);

/** Whole tree: formats known, children counted, names present, depth <= ARROW_DEPTH_MAX. */
grebe_status schema_check(const struct ArrowSchema *schema, grebe_error *err);

/**
 * A schema node with n_children empty (released) children, to be filled by the caller.
 *
 * @param format, name Copied. name NULL means "".
 * @param out          Owned; release with schema_release(). Empty on failure.
 */
grebe_status schema_new(const grebe_allocator *a, const char *format, const char *name,
                        bool is_nullable, int64_t n_children, struct ArrowSchema *out,
                        grebe_error *err);

/** The first child of that name; -1: there is none. */
int schema_child(const struct ArrowSchema *schema, const char *name);

/** A struct schema whose children are copies of fields[0..n). */
grebe_status schema_struct(const grebe_allocator *a, const struct ArrowSchema *const *fields,
                           size_t n, struct ArrowSchema *out, grebe_error *err);

grebe_status schema_copy(const grebe_allocator *a, const struct ArrowSchema *src,
                         struct ArrowSchema *out, grebe_error *err);

/** A copy with the types that files give back: values instead of dictionaries and runs, lists
 *  instead of list views, at every depth. */
grebe_status schema_copy_plain(const grebe_allocator *a, const struct ArrowSchema *src,
                               struct ArrowSchema *out, grebe_error *err);

/** Fields of a struct schema in the order of columns[0..n); metadata of the struct is kept. */
grebe_status schema_project(const grebe_allocator *a, const struct ArrowSchema *src,
                            const int *columns, size_t n, struct ArrowSchema *out,
                            grebe_error *err);

/** Replace the name of a schema that schema_new/schema_copy made. */
grebe_status schema_set_name(const grebe_allocator *a, struct ArrowSchema *schema,
                             const char *name, grebe_error *err);

/** Make a schema that schema_new made dictionary-encoded; `values` is moved in on success. */
grebe_status schema_set_dictionary(const grebe_allocator *a, struct ArrowSchema *schema,
                                   struct ArrowSchema *values, grebe_error *err);

/** Call release if there is one; leaves an empty struct. */
void schema_release(struct ArrowSchema *schema);

/** dst takes over src, which becomes empty. */
void schema_move(struct ArrowSchema *dst, struct ArrowSchema *src);

struct key_value {
    const char *key;
    size_t key_len;
    const char *value;
    size_t value_len;
};

/** Number of metadata pairs; pair i. Pointers into schema->metadata. */
size_t schema_metadata_count(const struct ArrowSchema *schema);
struct key_value schema_metadata_at(const struct ArrowSchema *schema, size_t i);
/** Whether the key is there; *out is filled then. */
bool schema_metadata_find(const struct ArrowSchema *schema, const char *key,
                          struct key_value *out);
/** Replace all metadata of a schema made here; n == 0 removes it. Pairs are copied. */
grebe_status schema_set_metadata(const grebe_allocator *a, struct ArrowSchema *schema,
                                 const struct key_value *pairs, size_t n, grebe_error *err);

enum {
    SCHEMA_EQUAL_IGNORE_NULLABLE = 1,
    SCHEMA_EQUAL_IGNORE_METADATA = 2,
    SCHEMA_EQUAL_IGNORE_CHILD_NAMES = 4 /* "item" against "element" inside lists */
};

/** Same type, name, nullability, metadata (as a set), children; less what flags leave out. */
bool schema_equal(const struct ArrowSchema *x, const struct ArrowSchema *y, unsigned flags);

/**
 * Index of the field with this name.
 *
 * @return GREBE_OK; GREBE_ENOTFOUND (message names the nearest field); GREBE_EINVAL (two have it).
 */
grebe_status schema_find(const struct ArrowSchema *schema, const char *name, int *out,
                         grebe_error *err);

/** The fields by name, for many look-ups. @param out Owned; name_index_release(). Names are borrowed. */
grebe_status schema_index(const grebe_allocator *a, const struct ArrowSchema *schema,
                          struct name_index *out, grebe_error *err);

/** As schema_find, through the schema's index. */
grebe_status schema_find_indexed(const struct ArrowSchema *schema, const struct name_index *index,
                                 const char *name, int *out, grebe_error *err);

/** As schema_find_indexed where a missing field is no failure: GREBE_ENOTFOUND comes without a message. */
grebe_status schema_find_maybe(const struct ArrowSchema *schema, const struct name_index *index,
                               const char *name, int *out, grebe_error *err);

/* ---- types as text, docs/format/schema.md ---- */

/**
 * The type as one prints and types it: "int64", "float", "double", "timestamp[us, tz=UTC]",
 * "fixed_size_list<float>[128]", "list<item: string not null>", "struct<a: int32, b: bool>",
 * "dictionary<values=string, indices=int32>", …  Appends to dst.
 */
grebe_status type_print(struct buf *dst, const struct ArrowSchema *schema, grebe_error *err);

/** The reverse. GREBE_EINVAL with the column where the text stops making sense. */
grebe_status type_parse(const grebe_allocator *a, const char *text, const char *name,
                        bool is_nullable, struct ArrowSchema *out, grebe_error *err);

/** {"fields":[{"name":…,"type":…,"nullable":…,"metadata":{…}},…]} (interfaces.md), and back. */
grebe_status schema_to_json(struct buf *dst, const struct ArrowSchema *schema, grebe_error *err);
grebe_status schema_from_json(const grebe_allocator *a, const char *json, size_t len,
                              struct ArrowSchema *out, grebe_error *err);

#endif
