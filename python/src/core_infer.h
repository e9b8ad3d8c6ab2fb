/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_PYTHON_CORE_INFER_H
#define GREBE_PYTHON_CORE_INFER_H

/* What the parts share that tell the type of a list by its values. */

#include "core_build.h"

enum kind { KIND_NONE, KIND_BOOL, KIND_INT, KIND_FLOAT, KIND_TEXT, KIND_BYTES, KIND_LIST, KIND_DICT, KIND_OTHER, KIND_BAD };

enum kind core_kind_of(PyObject *v);
/** An array and its schema, empty or half made on failure: build_release(). is_small as of core_build_list(). 0, or -1. */
int core_infer(PyObject *list, const char *name, bool is_small, struct ArrowArray *array, struct ArrowSchema *schema);
/** Validity of the list's values; a list without None has none. 0, or -1. */
int core_set_validity(struct ArrowArray *array, struct node *n, PyObject *list);

/* ---- core_infer_nested.c ---- */
/** As core_infer(), of lists, and of dicts, with None among them. */
int core_infer_lists(PyObject *list, const char *name, bool is_small, struct ArrowArray *array, struct ArrowSchema *schema);
int core_infer_dicts(PyObject *list, const char *name, bool is_small, struct ArrowArray *array, struct ArrowSchema *schema);

/* ---- core_infer_scalars.c ---- */
/** Which numbers of array libraries a list held: the widest of each, in bytes, 0 none. */
struct scalars {
    int signed_width, unsigned_width, float_width;
    bool has_others; /* values that have no width of their own */
};
/** Scalars of array libraries, which are arrays of no dimension, become plain values; the list is the caller's own. 0, or -1. */
int core_unwrap_scalars(PyObject *list, struct scalars *out);
/** The format that holds them all exactly; NULL: there is none, or others are among them, and the values tell the type. */
const char *core_scalars_format(const struct scalars *s);
/** Numbers, or None, of that format as buffer 1. 0, or -1. */
int core_fill_scalars(struct ArrowArray *array, struct node *n, PyObject *list, const char *format);

#endif
