/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_PYTHON_CORE_BUILD_H
#define GREBE_PYTHON_CORE_BUILD_H

/* Arrow arrays made in the extension: every node is freed by one release that owns its buffers. */

#include "core.h"

struct node {
    const void *buffers[3];
    struct ArrowArray child_space;
    struct ArrowArray *children_one[1];
    struct ArrowArray **children; /* several: owned */
    void *owned[3];
    Py_buffer *view; /* the numpy buffer that buffers[1] lies in */
};

/** The node behind an array of so many buffers; NULL with an exception, the array is empty then. */
struct node *build_array(struct ArrowArray *array, int64_t length, int64_t n_buffers);
/** Zeroed bytes as buffer i; NULL with an exception. */
void *build_own(struct node *n, int i, size_t bytes);
/** Room for n_children empty children; 0, or -1. */
int build_children(struct ArrowArray *array, int64_t n_children);
void build_release(struct ArrowArray *array, struct ArrowSchema *schema);
/** A schema without children; 0, or -1. */
int build_schema(const char *format, const char *name, struct ArrowSchema *out);
/** The Arrow format of a buffer's struct code; NULL: another. */
const char *build_format(const char *format, Py_ssize_t itemsize);
/** 1 done, 0 not a buffer that fits, -1 exception. */
int core_build_buffer(PyObject *values, const char *name, bool is_small, struct ArrowArray *array, struct ArrowSchema *schema);
/** Lists of int, or of float, and nothing else, which are most: 1 done, 0 another list, -1 exception with nothing held. */
int core_build_numbers(PyObject *list, const char *name, struct ArrowArray *array, struct ArrowSchema *schema);
/** From a list of Python values, in which scalars of array libraries are replaced; 0, or -1 with nothing held. */
int core_build_list(PyObject *list, const char *name, bool is_small, struct ArrowArray *array, struct ArrowSchema *schema);

#endif
