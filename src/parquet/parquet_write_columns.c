/* SPDX-License-Identifier: Apache-2.0 */
/* Options that name columns: encodings and bloom filters. */
#include "parquet/parquet_write_internal.h"

#include <stdio.h>
#include <string.h>

#include "base/ascii.h"

/* Encodings that may be asked for, by their names in the format. */
static const struct {
    const char *name;
    int32_t encoding;
} encoding_names[] = {
    { "plain", PQ_PLAIN },
    { "dictionary", PQ_RLE_DICTIONARY },
    { "rle_dictionary", PQ_RLE_DICTIONARY },
    { "rle", PQ_RLE },
    { "delta_binary_packed", PQ_DELTA_BINARY_PACKED },
    { "delta_length_byte_array", PQ_DELTA_LENGTH_BYTE_ARRAY },
    { "delta_byte_array", PQ_DELTA_BYTE_ARRAY },
    { "byte_stream_split", PQ_BYTE_STREAM_SPLIT },
};

static grebe_status find_encoding(const char *name, int32_t *out, grebe_error *err)
{
    for (size_t i = 0; i < sizeof encoding_names / sizeof encoding_names[0]; i++) {
        if (ascii_equal(encoding_names[i].name, name)) {
            *out = encoding_names[i].encoding;
            return GREBE_OK;
        }
    }
    return GREBE_FAIL(err, GREBE_EINVAL,
                      "encoding: expected plain, dictionary, rle, delta_binary_packed, "
                      "delta_length_byte_array, delta_byte_array or byte_stream_split, found %s",
                      name);
}

/*
 * Parquet's Encodings.md, less what other readers refuse: BYTE_STREAM_SPLIT and DELTA_BYTE_ARRAY
 * of fixed-length bytes.
 */
static bool can_hold(int32_t encoding, int32_t type)
{
    switch (encoding) {
    case PQ_PLAIN: return true;
    case PQ_RLE_DICTIONARY: return type != PQ_BOOLEAN;
    case PQ_RLE: return type == PQ_BOOLEAN;
    case PQ_DELTA_BINARY_PACKED: return type == PQ_INT32 || type == PQ_INT64;
    case PQ_DELTA_LENGTH_BYTE_ARRAY:
    case PQ_DELTA_BYTE_ARRAY: return type == PQ_BYTE_ARRAY;
    case PQ_BYTE_STREAM_SPLIT:
        return type == PQ_INT32 || type == PQ_INT64 || type == PQ_FLOAT || type == PQ_DOUBLE;
    default: return false;
    }
}

/* The path as users write it: the fields' names with dots, without the groups of lists. */
static bool is_named(const struct pw_leaf *leaf, const char *name)
{
    size_t at = 0;

    for (int32_t i = 0; i < leaf->n_path; i++) {
        const struct pq_bytes part = leaf->path[i];

        if (strncmp(name + at, (const char *)part.data, part.len) != 0) {
            return false;
        }
        at += part.len;
        if (name[at] == '\0') {
            return true; /* the leaf, or a field that it lies in */
        }
        if (name[at] != '.') {
            return false;
        }
        at++;
    }
    return false;
}

static grebe_status fail_column(const char *what, const char *name, grebe_error *err)
{
    char quoted[80];

    return GREBE_FAIL(err, GREBE_EINVAL, "%s: no column \"%s\"", what,
                      error_quote(quoted, sizeof quoted, name, strlen(name)));
}

static grebe_status fail_pairing(const struct pw_leaf *leaf, const char *what, grebe_error *err)
{
    const char *name = leaf->nodes[0].name;
    char quoted[80];

    return GREBE_FAIL(err, GREBE_EINVAL, "column \"%s\": its Parquet type %s cannot have %s",
                      error_quote(quoted, sizeof quoted, name, strlen(name)),
                      pq_type_name(leaf->type), what);
}

static grebe_status apply_encoding(struct pw_schema *schema, const grebe_column_encoding *e,
                                   bool is_part, grebe_error *err)
{
    size_t n_found = 0;
    int32_t encoding = 0;
    grebe_status st = find_encoding(e->encoding, &encoding, err);

    for (uint32_t i = 0; i < schema->n_leaves && st == GREBE_OK; i++) {
        struct pw_leaf *leaf = &schema->leaves[i];
        const bool is_fit = can_hold(encoding, leaf->type);

        if (e->column != NULL && !is_named(leaf, e->column)) {
            continue;
        }
        n_found++;
        if (is_fit) {
            leaf->encoding = encoding;
        } else if (e->column != NULL) {
            char what[64];

            snprintf(what, sizeof what, "encoding %s", pq_encoding_name(encoding));
            return fail_pairing(leaf, what, err);
        }
    }
    return st == GREBE_OK && n_found == 0 && e->column != NULL && !is_part
               ? fail_column("encoding", e->column, err)
               : st;
}

static grebe_status apply_bloom(struct pw_schema *schema, const char *name, bool is_part,
                                grebe_error *err)
{
    size_t n_found = 0;

    for (uint32_t i = 0; i < schema->n_leaves; i++) {
        struct pw_leaf *leaf = &schema->leaves[i];

        if (!is_named(leaf, name)) {
            continue;
        }
        n_found++;
        if (leaf->type == PQ_BOOLEAN) {
            return fail_pairing(leaf, "a bloom filter", err);
        }
        leaf->has_bloom = true;
    }
    return n_found == 0 && !is_part ? fail_column("bloom filter", name, err) : GREBE_OK;
}

grebe_status pw_apply_columns(struct pw_schema *schema,
                              const struct format_write_options *options, grebe_error *err)
{
    grebe_status st = GREBE_OK;

    /* First what holds for all columns, so that a named one wins wherever it stands. */
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < options->n_encodings && st == GREBE_OK; i++) {
            const grebe_column_encoding *e = &options->encodings[i];

            if ((e->column != NULL) == (round == 1)) {
                st = apply_encoding(schema, e, options->is_part, err);
            }
        }
    }
    for (size_t i = 0; i < options->n_bloom_columns && st == GREBE_OK; i++) {
        st = apply_bloom(schema, options->bloom_columns[i], options->is_part, err);
    }
    return st;
}
