/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_FEATURE_FEATURES_H
#define GREBE_FEATURE_FEATURES_H

/*
 * What columns mean: the feature language of `datasets` (Value, ClassLabel, List, Array2D, Image, …) in its three forms, JSON,
 * YAML and Arrow, and the casts between storage types (docs/format/features.md).
 */

#include "arrow/arrow_array.h"
#include "base/arena.h"
#include "base/buf.h"
#include "wire/json.h"
#include "wire/yaml_tree.h"

enum feature_kind {
    FEATURE_VALUE,
    FEATURE_CLASS_LABEL,
    FEATURE_LIST,       /* of `child`, length -1: any */
    FEATURE_LARGE_LIST,
    FEATURE_STRUCT,     /* fields */
    FEATURE_ARRAY,      /* Array2D … Array5D */
    FEATURE_MEDIA,      /* Image, Audio, Video, Pdf, Nifti, Mesh: struct<bytes, path> */
    FEATURE_JSON,
    FEATURE_TRANSLATION,
    FEATURE_TRANSLATION_VARIABLE
};

struct feature {
    enum feature_kind kind;
    const char *type_name;  /* as written in _type: "Value", "Image", "Array2D" */
    const char *name;       /* of a field of a struct, a column; else "" */
    const char *dtype;      /* FEATURE_VALUE, FEATURE_ARRAY: normalised */
    int64_t length;         /* FEATURE_LIST */
    const struct feature *child;
    const struct feature *fields; /* FEATURE_STRUCT: shape [n_fields] */
    size_t n_fields;
    const char *const *names; /* FEATURE_CLASS_LABEL, languages of translations: shape [n_names] */
    size_t n_names;
    int64_t shape[5];       /* FEATURE_ARRAY; the first may be -1: dynamic */
    int n_dims;
    bool is_undecoded;      /* "decode": false */
    const struct json_value *more; /* further members as read, written again (sampling_rate, mode, …); NULL: none */
};

/** Features of all columns: a FEATURE_STRUCT whose memory lies in the arena. Immutable once made. */
struct features {
    struct arena arena;
    struct feature top;
};
void features_free(struct features *f); /* NULL accepted */

/** From JSON text, an object of columns. GREBE_EINVAL, GREBE_ECORRUPT naming the path within ("a.feature: unknown _type \"X\""). */
grebe_status features_from_json(const grebe_allocator *a, const char *text, size_t len, struct features **out, grebe_error *err);
/** From a tree that wire/json.h read. */
grebe_status features_from_tree(const grebe_allocator *a, const struct json_value *tree, struct features **out, grebe_error *err);
/** From a YAML sequence of entries, as READMEs have it. */
grebe_status features_from_yaml(const grebe_allocator *a, const struct yaml_tree *node, struct features **out, grebe_error *err);
/** From Arrow types; with_metadata: the "huggingface" metadata counts where it fits the types, column by column. */
grebe_status features_from_schema(const grebe_allocator *a, const struct ArrowSchema *schema, bool with_metadata,
                                  struct features **out, grebe_error *err);

/** Appended. indent < 0: one line with ", " and ": "; else Python's json.dumps(indent=…) at that depth. ASCII only. */
grebe_status features_to_json(const struct features *f, int indent, int depth, struct buf *dst, grebe_error *err);
grebe_status features_to_yaml(const struct features *f, int depth, struct buf *dst, grebe_error *err);
/** Struct schema of the storage types; fields nullable, list children "item"; no metadata but that of extensions. */
grebe_status features_to_schema(const grebe_allocator *a, const struct features *f, struct ArrowSchema *out, grebe_error *err);
/** Value of the schema metadata key "huggingface". fingerprint NULL: without one. */
grebe_status features_metadata(const struct features *f, const char *fingerprint, struct buf *dst, grebe_error *err);
/** features_to_schema with that metadata. */
grebe_status features_to_file_schema(const grebe_allocator *a, const struct features *f, const char *fingerprint,
                                     struct ArrowSchema *out, grebe_error *err);

/** Column by name; NULL: none. */
const struct feature *features_find(const struct features *f, const char *name);
bool feature_equal(const struct feature *x, const struct feature *y);
/** The named columns in that order, under their names in `as` (NULL: names). */
grebe_status features_project(const grebe_allocator *a, const struct features *f, const char *const *names, const char *const *as,
                              size_t n, struct features **out, grebe_error *err);
grebe_status features_copy(const grebe_allocator *a, const struct features *f, struct features **out, grebe_error *err);
/** Columns of f, those of `more` replacing or following them. */
grebe_status features_merge(const grebe_allocator *a, const struct features *f, const struct features *more,
                            struct features **out, grebe_error *err);

/** How columns meet. */
struct feature_cast_options {
    bool is_trial;        /* numbers do not become text ("try type") */
    bool is_missing_null; /* columns that rows lack are null; else GREBE_ESCHEMA */
    bool is_extra_dropped; /* columns that features lack are left out; else GREBE_ESCHEMA */
    int64_t first_row;    /* added to rows in messages */
};

/**
 * Rows cast to features: columns by name, in the order of the features, storage by the rules of docs/format/features.md ("Casts").
 *
 * @param schema Struct type of the rows. @param rows Moved in, also on failure.
 * @return GREBE_OK; GREBE_ESCHEMA naming column, row, expected and found.
 */
grebe_status features_cast(const grebe_allocator *a, const struct features *f, const struct ArrowSchema *schema,
                           struct ArrowArray *rows, const struct feature_cast_options *o, struct ArrowArray *out,
                           grebe_error *err);
/** One column to one feature. array: borrowed. */
grebe_status feature_cast(const grebe_allocator *a, const struct feature *f, const struct ArrowSchema *schema,
                          const struct ArrowArray *array, const struct feature_cast_options *o, struct ArrowArray *out,
                          grebe_error *err);

/** Rows of a batch in a written file: 100 with images, audio or plain binary, 10 with video, else 1000. */
int64_t features_writer_rows(const struct features *f);

#endif
