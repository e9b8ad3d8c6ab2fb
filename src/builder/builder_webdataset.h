/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_BUILDER_BUILDER_WEBDATASET_H
#define GREBE_BUILDER_BUILDER_WEBDATASET_H

/* WebDataset: members of a tar archive whose names have one beginning are one example. */

#include "builder/builder_folder.h"
#include "builder/builder_json_type.h"

enum field_kind { FIELD_BYTES, FIELD_TEXT, FIELD_INT, FIELD_MEDIA, FIELD_NPY, FIELD_JSON, FIELD_MSGPACK, FIELD_CBOR };

struct field {
    const char *name;  /* "jpg", "seg.png" */
    enum field_kind kind;
    const char *media; /* "Image"; NULL: none */
    struct json_kinds *type; /* of trees */
    const char *dtype; /* of NumPy arrays */
    int n_dims;
    struct json_shape *shape;
    size_t n_leaves;
};

struct webdataset_builder {
    struct builder_base base;
    struct arena arena;
    struct field *fields; /* shape [n] */
    size_t n;
    bool is_ready;
};

/** Whether values of the kind are read from JSON text. */
static inline bool webdataset_is_tree(enum field_kind k) { return k >= FIELD_NPY; }

/** An example: members [begin, end), of which some may be no fields. */
struct example {
    size_t begin, end, key_len;
    const char *key;
};

grebe_status webdataset_open_tar(struct builder_base *b, const char *path, struct archive **out, grebe_error *err);
/** The example at member `at` or behind it. */
bool webdataset_next_example(const struct archive *z, size_t at, struct example *out);
/** The field of a member of the example; NULL: the member is none. */
const char *webdataset_member_field(const struct archive *z, const struct example *e, size_t i);
/** The content of a member, expanded where its last suffix is one of a compression. */
grebe_status webdataset_payload(struct builder_base *b, const struct archive *z, size_t i, struct region **out,
                                grebe_error *err);
/** A tree's payload as JSON. `scratch` has it where it is not the payload itself. dtype, n_dims: of NumPy arrays. */
grebe_status webdataset_tree_text(const struct field *f, const struct region *bytes, struct buf *scratch,
                                  struct json_cursor *out, const char **dtype, int *n_dims, grebe_error *err);
struct field *webdataset_find_field(const struct webdataset_builder *b, const char *name);
grebe_status webdataset_rows_schema(const struct webdataset_builder *b, struct ArrowSchema *out, grebe_error *err);

/** builder_ops.infer: the first examples of the first archive say which fields there are, and of what types. */
grebe_status webdataset_infer(struct builder *base, grebe_error *err);

#endif
