/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_PYTHON_CORE_H
#define GREBE_PYTHON_CORE_H

/*
 * The extension module grebe._core: handles of the C library as Python objects. No logic of its
 * own: arguments in, one call of the library without the GIL, results or exception out. The
 * classes that people see derive from these in Python.
 */

#define PY_SSIZE_T_CLEAN
#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x030B0000
#endif
#include <Python.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "grebe/grebe.h"

/* One interpreter, one state: the module refuses to be loaded into a second one. */
struct core_state {
    grebe_context *ctx;       /* of the process; lives until its end */
    PyObject *error_classes;  /* dict: status name -> exception class */
    PyObject *table_class, *stream_class, *batch_class, *schema_class, *txn_class, *column_class,
             *chunks_class, *vdb_class, *vdb_result_class, *index_class, *dataset_class, *iterable_class, *iterator_class, *numbers_class, *graph_class, *graph_array_class,
             *graph_sampler_class, *graph_loader_class, *graph_batch_class, *graph_room_class;
    PyObject *value_out, *values_in; /* of grebe._values */
};
extern struct core_state core;

/* ---- core_error.c ---- */
/** Set the exception that fits; always NULL. */
PyObject *core_raise(const grebe_error *err);
/** As core_raise for functions that give int; always -1. */
int core_raise_int(const grebe_error *err);

/* ---- core_object.c ---- */
/** An object of a class whose bytes after the head are zero; NULL with an exception. */
PyObject *core_object_new(PyObject *type);
/** The end of every tp_dealloc: the memory, and the reference to its type. */
void core_object_free(PyObject *self);

/* ---- core_capsule.c ---- */
/** Any Arrow producer as a stream: __arrow_c_stream__, else __arrow_c_array__. 0, or -1 with an exception. */
int core_import_stream(PyObject *object, struct ArrowArrayStream *out);
/**
 * The two structures in what __arrow_c_array__ returned: the capsules own them still.
 *
 * @return 0; -1 with TypeError (no pair of capsules) or ValueError (consumed already).
 */
int core_array_capsules(PyObject *pair, struct ArrowSchema **schema, struct ArrowArray **array);
/** Capsules for a consumer; the structure is moved in (released on failure too). */
PyObject *core_schema_capsule(struct ArrowSchema *value);
PyObject *core_array_capsule(struct ArrowArray *value);
PyObject *core_stream_capsule(struct ArrowArrayStream *value);
/** A stream of one array; array and schema are moved in (released on failure too). 0, or -1. */
int core_stream_of_one(struct ArrowArray *array, struct ArrowSchema *schema, struct ArrowArrayStream *out);

/* ---- core_schema.c, core_stream.c, core_batch.c ---- */
struct core_batch {
    PyObject_HEAD
    struct ArrowArray array;
    struct ArrowSchema schema;
};
struct core_stream {
    PyObject_HEAD
    struct ArrowArrayStream stream;
    bool is_busy; /* a call is under way, perhaps without the GIL: no other may touch it */
};
struct core_schema {
    PyObject_HEAD
    struct ArrowSchema schema;
};

/** New objects; the Arrow structures are moved in (released on failure too). */
PyObject *core_stream_new(struct ArrowArrayStream *stream);
/** cast(rows, [(column, type), …]) -> Stream */
PyObject *core_cast(PyObject *self, PyObject *args);
PyObject *core_batch_new(struct ArrowArray *array, struct ArrowSchema *schema);
PyObject *core_schema_new(struct ArrowSchema *schema);
/** A copy of a schema as a capsule; ValueError where it was released. */
PyObject *core_export_schema(const struct ArrowSchema *schema);
/** Module functions for dicts of arrays. */
PyObject *core_batch_from_columns(PyObject *self, PyObject *args);
/** batch_slice(batch, begin, end) -> Batch */
PyObject *core_batch_slice(PyObject *self, PyObject *args);
/** Column i as (schema, array) capsules. */
PyObject *core_batch_export_column(PyObject *batch, Py_ssize_t i);
extern PyType_Spec core_stream_spec, core_batch_spec, core_schema_spec;

/* ---- core_column.c ---- */
PyObject *core_column_new(PyObject *batch, Py_ssize_t i);
/** What of a column is a plain block of numbers. */
struct core_block {
    void *data;
    int ndim;
    Py_ssize_t shape[2];
    Py_ssize_t strides[2];
    Py_ssize_t itemsize;
    const char *format;  /* struct module */
    uint8_t dlpack_code; /* 0 int, 1 uint, 2 float */
};
/** NULL, or why the column is none, without an exception. */
const char *core_block_of(const struct ArrowSchema *schema, const struct ArrowArray *array, struct core_block *b);
/** The buffer of a block that lives as long as its owner. 0, or -1. */
int core_block_view(PyObject *owner, struct core_block *b, Py_buffer *view, int flags);
extern PyType_Spec core_column_spec;

/* ---- core_values.c ---- */
/** The value in slot i (before the array's offset); None for null. */
PyObject *core_value(const struct ArrowSchema *schema, const struct ArrowArray *array, int64_t i);
/** Values [begin, begin + n) as a list. */
PyObject *core_value_list(const struct ArrowSchema *schema, const struct ArrowArray *array, int64_t begin, int64_t n);
/** Rows as a list of dicts; names: a tuple of the columns' names. */
PyObject *core_row_dicts(const struct ArrowSchema *schema, const struct ArrowArray *rows, PyObject *names);

/* ---- core_build.c ---- */
/** An Arrow array and schema from a buffer (numpy) or a list of Python values. 0, or -1. */
int core_build_column(PyObject *values, const char *name, bool is_small, struct ArrowArray *array,
                      struct ArrowSchema *schema);
int core_build_struct(PyObject *names, PyObject *columns, bool is_small, struct ArrowArray *array,
                      struct ArrowSchema *schema);

/* ---- core_args.c ---- */
/** A misspelled option must not be ignored: 0, or -1 with TypeError for a key that is none of known, shape [n]. */
int core_known_names(PyObject *options, const char *const *known, size_t n);
/** A sequence of str to an array of C strings that live as long as *keep. None: NULL, 0. 0, or -1. */
int core_names(PyObject *object, PyObject **keep, const char ***names, size_t *n);
/** Row ids from a buffer of integers, an Arrow array or any iterable. Free *ids with PyMem_Free. 0, or -1. */
int core_row_ids(PyObject *object, int64_t **ids, size_t *n);
/** (begin, end), slice, range or None. 0, or -1. */
int core_row_range(PyObject *object, int64_t *begin, int64_t *end);

/* ---- core_chunks.c ---- */
extern PyType_Spec core_chunks_spec;

/* ---- core_files.c ---- */
/** 0, or -1 with an exception. profile may be NULL. */
int core_txn_options(const char *on_conflict, const char *message, int durable, const char *profile,
                     grebe_txn_options *out);
/** Existing files, and how they are taken in; what the pointers live in. */
struct core_import {
    grebe_import_options o;
    const char **paths, **columns;
    size_t n_paths;
    PyObject *keep[2];
};
/** 0, or -1; free in both cases. */
int core_import_args(PyObject *paths, PyObject *columns, int is_checked, const char *format, struct core_import *out);
void core_import_args_free(struct core_import *args);
PyObject *core_import_files(PyObject *self, PyObject *args);
PyObject *core_open_packed(PyObject *self, PyObject *args);
PyObject *core_write_packed(PyObject *self, PyObject *args);

/* ---- core_table.c, core_source.c, core_txn.c ---- */
struct core_table {
    PyObject_HEAD
    grebe_table *table;
    int n_calls;    /* under way, perhaps without the GIL; the last one closes what was closed meanwhile */
    bool is_closed; /* for everybody who comes now */
};
PyObject *core_table_new(grebe_table *table); /* moved in */
/** The open table of a grebe.Table; NULL with an exception. */
grebe_table *core_table_of(PyObject *self);
PyObject *core_table_open(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *core_table_create(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *core_read(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *core_write(PyObject *self, PyObject *args, PyObject *kwargs);
extern PyType_Spec core_table_spec, core_txn_spec;
/** The open transaction of a Txn that no other call uses; NULL with an exception. */
grebe_txn *core_txn_of(PyObject *self);
/* ---- core_txn_files.c: methods of Txn ---- */
PyObject *core_txn_append_files(PyObject *self, PyObject *args);
PyObject *core_txn_add_group(PyObject *self, PyObject *args);
PyObject *core_txn_add_delta_log(PyObject *self, PyObject *args);
PyObject *core_txn_set_stat(PyObject *self, PyObject *args);
PyObject *core_txn_add_index(PyObject *self, PyObject *args);
PyObject *core_txn_drop_index(PyObject *self, PyObject *args);
PyObject *core_txn_add_lob_file(PyObject *self, PyObject *args);
/* ---- core_vdb.c, core_vdb_write.c, core_vdb_result.c ---- */
struct core_vdb {
    PyObject_HEAD
    grebe_vdb *vdb;
    int n_calls;    /* as of a table */
    bool is_closed;
};
/** A call that uses the repository begins; NULL with an exception when it is closed. core_vdb_leave() ends it. */
grebe_vdb *core_vdb_enter(PyObject *self);
void core_vdb_leave(PyObject *self);
/** ids (sequence of words or None), filter (str or None), is_lenient; what the pointers live in. */
struct core_vdb_select {
    grebe_vdb_select o;
    const char **ids;
    PyObject *keep;
};
/** 0, or -1; free in both cases. @param filter Borrowed. */
int core_vdb_select(PyObject *ids, PyObject *filter, int is_lenient, struct core_vdb_select *out);
void core_vdb_select_free(struct core_vdb_select *s);
/** The result of a call, or its exception. With is_report a result counts also when the call failed. */
PyObject *core_vdb_give(grebe_status st, grebe_vdb_result *result, const grebe_error *err, bool is_report);
PyObject *core_vdb_open(PyObject *self, PyObject *args);
PyObject *core_vdb_create(PyObject *self, PyObject *args);
PyObject *core_vdb_upsert_rows(PyObject *self, PyObject *args);
PyObject *core_vdb_upsert_lines(PyObject *self, PyObject *args);
PyObject *core_vdb_delete(PyObject *self, PyObject *args);
extern PyType_Spec core_vdb_spec, core_vdb_result_spec;
/* ---- core_vectors.c ---- */
/** Rows of vectors: (buffer, elem, rows, dim), or (offsets, terms, values) of sparse ones. */
struct core_rows {
    grebe_vectors v;
    Py_buffer views[3];
    int n_views;
};
/** 0, or -1 with an exception and nothing held. */
int core_rows_take(PyObject *tuple, struct core_rows *out);
void core_rows_release(struct core_rows *r);
/** ValueError: "<what>: expected … bytes, found …"; always -1. */
int core_fail_size(const char *what, Py_ssize_t expected, Py_ssize_t found);

/* ---- core_search.c ---- */
PyObject *core_table_search(PyObject *self, PyObject *args);
PyObject *core_table_build_index(PyObject *self, PyObject *args);
PyObject *core_table_drop_index(PyObject *self, PyObject *args);

/* ---- core_index.c ---- */
PyObject *core_index_make(PyObject *self, PyObject *args);
PyObject *core_index_open(PyObject *self, PyObject *args);
extern PyType_Spec core_index_spec;

/* ---- core_ann.c ---- */
PyObject *core_ann_read(PyObject *self, PyObject *args);
PyObject *core_ann_check(PyObject *self, PyObject *args);
PyObject *core_ann_write(PyObject *self, PyObject *args);
PyObject *core_ann_groundtruth(PyObject *self, PyObject *args);
PyObject *core_ann_evaluate(PyObject *self, PyObject *args);
/* ---- core_measure.c ---- */
/** A report as JSON text. */
PyObject *core_report_text(const grebe_ann_report *report);
PyObject *core_ann_evaluate_file(PyObject *self, PyObject *args);
PyObject *core_ann_run(PyObject *self, PyObject *args);
PyObject *core_ann_plot(PyObject *self, PyObject *args);

/* ---- core_write.c ---- */
/** The string under a name, borrowed from the dict; NULL: None, not there, or an exception. */
const char *core_text_item(PyObject *dict, const char *name);
/** Fill write options from keyword values. The strings are borrowed from the dict. 0, or -1. */
struct core_write_args {
    grebe_write_options o;
    grebe_group_spec *groups;
    grebe_column_encoding *encodings;
    const char **bloom;
    grebe_property *properties;
    const char **lists[2];
    grebe_text_options text; /* o points to it: the struct stays where it is */
    const char *null_text;
    PyObject *keep; /* list of what the pointers live in */
};
/** The layout of text from keyword values; the strings are borrowed from the dict. 0, or -1; free in both cases. */
struct core_text_args {
    grebe_text_options o;
    struct ArrowSchema schema;
    const char **nulls;
    PyObject *keep;
};
int core_text_args(PyObject *options, struct core_text_args *out);
void core_text_args_free(struct core_text_args *args);
int core_write_args(PyObject *options, struct core_write_args *out);
void core_write_args_free(struct core_write_args *args);

/* ---- DLPack: core_dlpack.c ---- */

/** A capsule of memory that `owner` keeps. strides: bytes. code: dlpack.h, DLDataTypeCode. */
PyObject *core_dlpack(PyObject *owner, const void *data, int ndim, const Py_ssize_t *shape, const Py_ssize_t *strides,
                      Py_ssize_t itemsize, uint8_t code);
PyObject *core_dlpack_device(PyObject *self, PyObject *unused); /* METH_NOARGS */

#endif
