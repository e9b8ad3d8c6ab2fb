/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_PYTHON_CORE_DATASET_H
#define GREBE_PYTHON_CORE_DATASET_H

/* What the parts of grebe.dataset share: handles, options of calls, functions of Python called by the library. */

#include "core.h"

struct core_dataset {
    PyObject_HEAD
    grebe_dataset *ds;
    PyObject *names; /* tuple of the columns' names */
    struct ArrowSchema schema;
};

/** Moved in (freed on failure). */
PyObject *core_dataset_new(grebe_dataset *ds);
/** The data set of a handle, borrowed; NULL with TypeError. */
const grebe_dataset *core_dataset_of(PyObject *object);

/** Options of a call from a dict: threads, progress (callable(phase, done, total) or None). Ctrl-C cancels. */
struct core_call {
    grebe_call_options o;
    PyObject *progress; /* borrowed; NULL: none */
    int64_t last_us;
    bool is_interrupted;
};
/** 0, or -1. The struct must not move until core_call_end(). */
int core_call_begin(PyObject *options, struct core_call *out);
void core_call_end(struct core_call *call);

/** Transform options; `call` lies inside. */
struct core_transform {
    grebe_transform_options o;
    struct core_call call;
};
int core_transform_begin(PyObject *options, struct core_transform *out);

/** A data set, or the exception of the call. */
PyObject *core_dataset_give(grebe_status st, grebe_dataset *ds, struct core_call *call, const grebe_error *err);

/** A seed from a bytes object of 32-bit words, or None. 0, or -1. */
int core_seed(PyObject *object, grebe_seed *out);

/** A text from a str or None (NULL). False with an exception. */
bool core_text(PyObject *object, const char **out);

/** An append-only bytes object for grebe_write_fn; ctx is a struct core_bytes. */
struct core_bytes {
    char *data;
    size_t len, capacity;
};
int core_bytes_write(void *ctx, const void *bytes, size_t len);

/** A function of Python as a map or filter function of the library: fn(batch, first_row, part). */
struct core_function {
    PyObject *fn; /* owned */
};
struct core_function *core_function_new(PyObject *fn); /* NULL with an exception */
void core_function_free(void *function); /* from any thread, with or without the GIL */
grebe_status core_function_map(void *function, const grebe_map_input *in, grebe_map_output *out, grebe_error *err);
grebe_status core_function_filter(void *function, const grebe_map_input *in, uint8_t *keep, grebe_error *err);
grebe_status core_function_shard(void *function, int64_t shard, int64_t skip, struct ArrowArrayStream *out, grebe_error *err);
/** The exception that is set, kept for core_raise_function: err speaks of it. Gives err->status. */
grebe_status core_keep_exception(grebe_error *err);
/** As core_raise; an exception of a function that the error speaks of is raised itself. */
PyObject *core_raise_function(const grebe_error *err);

/** Map options from a dict; names live in keep. */
struct core_map {
    grebe_map_options o;
    PyObject *keep[2];
    const char **names[2];
};
int core_map_begin(PyObject *options, struct core_map *out);
void core_map_end(struct core_map *map);

/* Module functions and methods by file. */
extern PyMethodDef core_dataset_op_methods[]; /* of Dataset: transforms; ended by NULL */
/** Before the type is made. */
void core_dataset_methods(void);
PyObject *core_dataset_of_files(PyObject *self, PyObject *args);
PyObject *core_dataset_of_rows(PyObject *self, PyObject *args);
PyObject *core_dataset_from_disk(PyObject *self, PyObject *args);
PyObject *core_dataset_load(PyObject *self, PyObject *args);
PyObject *core_dataset_concatenate(PyObject *self, PyObject *args);
PyObject *core_dataset_interleave(PyObject *self, PyObject *args);
/* save(path, options) of Dataset */
PyObject *core_dataset_save(PyObject *self, PyObject *args);
PyObject *core_dataset_save_dict(PyObject *self, PyObject *args);
PyObject *core_dataset_unpack(PyObject *self, PyObject *args);
PyObject *core_fingerprint(PyObject *self, PyObject *args);
PyObject *core_fingerprint_value(PyObject *self, PyObject *args);
PyObject *core_cache_list(PyObject *self, PyObject *args);
PyObject *core_cache_remove(PyObject *self, PyObject *args);
PyObject *core_iterable_load(PyObject *self, PyObject *args);
PyObject *core_iterable_of_dataset(PyObject *self, PyObject *args);
PyObject *core_iterable_of_function(PyObject *self, PyObject *args);
PyObject *core_iterable_concatenate(PyObject *self, PyObject *args);
PyObject *core_iterable_interleave(PyObject *self, PyObject *args);
PyObject *core_stream_of_batches(PyObject *self, PyObject *args);
PyObject *core_iterable_new(grebe_iterable *it); /* moved in */
/** The stream of a handle, borrowed; NULL with TypeError. */
const grebe_iterable *core_iterable_of(PyObject *object);
/* ---- core_graph.c, core_graph_room.c, core_graph_batch.c, core_graph_sample.c, core_graph_loader.c ---- */
struct core_graph {
    PyObject_HEAD
    grebe_graph *graph;   /* immutable: may be used from many threads */
    PyObject *spare;      /* owned: memory of rows that nobody holds any more; NULL: none */
    Py_ssize_t spare_len; /* bytes */
};
enum { CORE_GRAPH_SPARE_MAX = 1 << 28 };
/** spare(bytes) of Graph: memory of so many, which is given away, or None. room(memory): a buffer that gives it back. */
PyObject *core_graph_spare(PyObject *self, PyObject *args);
PyObject *core_graph_room(PyObject *self, PyObject *args);
PyObject *core_graph_check(PyObject *self, PyObject *args);
PyObject *core_graph_preprocess(PyObject *self, PyObject *args);
PyObject *core_graph_init(PyObject *self, PyObject *args);
PyObject *core_graph_export(PyObject *self, PyObject *args);
PyObject *core_graph_open(PyObject *self, PyObject *args);
PyObject *core_graph_sampler(PyObject *self, PyObject *args);
PyObject *core_graph_negatives(PyObject *self, PyObject *args);
PyObject *core_graph_loader(PyObject *self, PyObject *args);
/** A view, which keeps its owner, and may be written to where that is a kept batch; None where there is no such array. */
PyObject *core_graph_array(PyObject *owner, const grebe_graph_array *a);
/** The batch that a call on owner gave, kept; what was kept; and numbers of its, a view that keeps it. */
PyObject *core_graph_keep(PyObject *owner, const grebe_graph_batch *batch);
const grebe_graph_batch *core_graph_kept(PyObject *batch);
PyObject *core_graph_ids(PyObject *batch, const int64_t *values, int64_t n);
/** An item that a list takes over; false with an exception. */
bool core_graph_append(PyObject *list, PyObject *item);
/** ([nodes of each type], [([(rows, columns) of each node type], [(indptr, indices, edges) of each edge type]) of each layer]) */
PyObject *core_graph_give(PyObject *batch, const grebe_graph *graph);
/**
 * Options of sampling from (fanouts: int64 buffer, layers, method, with replacement, weights or None, layer dependency, batch dependency,
 * times of nodes, of edges, or None, whether there is a window, window). 0, or -1 and nothing held.
 */
int core_graph_sampling(PyObject *tuple, grebe_graph_sampling *out, Py_buffer *fanouts);
extern PyType_Spec core_graph_spec, core_graph_array_spec, core_graph_room_spec, core_graph_batch_spec, core_graph_sampler_spec, core_graph_loader_spec;
extern PyType_Spec core_dataset_spec, core_iterable_spec, core_iterator_spec, core_numbers_spec;
/** numbers(begin, end, name): a method of Dataset. */
PyObject *core_dataset_numbers(PyObject *self, PyObject *args);

#endif
