/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_BUILDER_BUILDER_JSON_H
#define GREBE_BUILDER_BUILDER_JSON_H

/* The json loader: how objects lie in a file, their types, and blocks of them read side by side. */

#include "builder/builder_internal.h"
#include "builder/builder_json_type.h"
#include "text/text_input.h"

enum json_rows_layout {
    ROWS_LINES, /* objects one after another, cut between lines */
    ROWS_ARRAY, /* elements of one array */
    ROWS_WHOLE  /* objects over several lines: one block */
};

struct json_builder {
    struct builder_base base;
    const char *field, *encoding, *encoding_errors; /* NULL: none, UTF-8, strict */
    bool is_mixed_json;
    int64_t chunk_bytes;    /* types are found from so many bytes */
    struct arena arena;     /* of the shape */
    struct json_shape shape; /* that blocks are tried with */
    struct json_resolve how; /* the shape's */
    bool is_ready;           /* there is a shape */
};

/** The text of a unit, made lines or one array. */
struct json_unit {
    struct text_reader reader;
    enum json_rows_layout layout;
    bool is_plain;       /* places are bytes of the file */
    size_t block_bytes;
};

/**
 * @param at A place in a plain file, 0: the start.
 * @param out Release in any case.
 */
grebe_status json_unit_open(struct json_builder *b, struct region *bytes, const char *name, uint64_t at,
                            struct json_unit *out, grebe_error *err);
void json_unit_release(struct json_unit *u);
/** Next blocks, shape [max], of about block_bytes. */
grebe_status json_unit_blocks(struct json_unit *u, size_t block_bytes, struct text_block *blocks, size_t max, size_t *n,
                              grebe_error *err);

/**
 * The objects of a block, one after another.
 *
 * @return GREBE_OK with the cursor at an object; GREBE_END; GREBE_ECORRUPT without a place.
 */
grebe_status json_next_object(const struct json_unit *u, struct json_cursor *c, bool *is_first, grebe_error *err);

/** What the objects of a block look like. GREBE_ECORRUPT with its place. */
grebe_status json_see_block(const struct json_unit *u, const struct text_block *block, struct arena *ar,
                            struct json_kinds *t, grebe_error *err);

/** The builder's shape, and its features where they are not given. */
grebe_status json_infer(struct json_builder *b, grebe_error *err);

/** builder_unit_fn. */
grebe_status json_rows_open(struct builder_base *b, struct region *bytes, const char *name, struct shard_place place,
                            struct shard_reader *out, grebe_error *err);

#endif
