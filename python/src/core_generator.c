/* SPDX-License-Identifier: Apache-2.0 */
/* An iterator of Python that gives Batches as an Arrow stream: each of its steps takes the GIL. */
#include "core_dataset.h"

#include <errno.h>

struct generator {
    PyObject *iterator;        /* owned */
    struct ArrowSchema schema; /* of the first batch */
    struct ArrowArray first;   /* not yet given out; released otherwise */
    bool is_over;
    grebe_error err;
};

/* The next batch; array->release NULL at the end. With the GIL. 0, or -1 with an exception. */
static int pull(struct generator *g, struct ArrowArray *array, struct ArrowSchema *schema)
{
    grebe_error err = GREBE_ERROR_INIT;
    array->release = NULL;
    PyObject *item = g->is_over ? NULL : PyIter_Next(g->iterator);
    if (item == NULL) {
        g->is_over = true;
        return PyErr_Occurred() ? -1 : 0;
    }
    int result = 0;
    if (!PyObject_TypeCheck(item, (PyTypeObject *)core.batch_class)) {
        PyErr_SetString(PyExc_TypeError, "expected a Batch");
        result = -1;
    } else {
        struct core_batch *b = (struct core_batch *)item;
        if (grebe_array_view(core.ctx, &b->array, array, &err) != GREBE_OK ||
            (schema != NULL && grebe_schema_copy(core.ctx, &b->schema, schema, &err) != GREBE_OK)) {
            result = core_raise_int(&err);
        }
    }
    Py_DECREF(item);
    return result;
}

static int get_schema(struct ArrowArrayStream *s, struct ArrowSchema *out)
{
    struct generator *g = s->private_data;
    return grebe_schema_copy(core.ctx, &g->schema, out, &g->err) == GREBE_OK ? 0 : ENOMEM;
}

static int get_next(struct ArrowArrayStream *s, struct ArrowArray *out)
{
    struct generator *g = s->private_data;
    memset(out, 0, sizeof *out);
    if (g->first.release != NULL) {
        *out = g->first;
        g->first.release = NULL;
        return 0;
    }
    PyGILState_STATE gil = PyGILState_Ensure();
    int code = pull(g, out, NULL) == 0 ? 0 : (core_keep_exception(&g->err), EINVAL);
    PyGILState_Release(gil);
    return code;
}

static const char *get_last_error(struct ArrowArrayStream *s)
{
    return ((struct generator *)s->private_data)->err.message;
}

static void release(struct ArrowArrayStream *s)
{
    struct generator *g = s->private_data;
    PyGILState_STATE gil = PyGILState_Ensure();
    Py_XDECREF(g->iterator);
    PyGILState_Release(gil);
    if (g->schema.release != NULL) {
        g->schema.release(&g->schema);
    }
    if (g->first.release != NULL) {
        g->first.release(&g->first);
    }
    free(g);
    s->release = NULL;
}

/* stream_of_batches(iterable, empty): empty is a Batch without rows, whose schema counts when there is no other. */
PyObject *core_stream_of_batches(PyObject *self, PyObject *args)
{
    PyObject *iterable = NULL, *empty = NULL;
    grebe_error err = GREBE_ERROR_INIT;
    (void)self;
    if (!PyArg_ParseTuple(args, "OO", &iterable, &empty)) {
        return NULL;
    }
    struct generator *g = calloc(1, sizeof *g);
    if (g == NULL) {
        return PyErr_NoMemory();
    }
    struct ArrowArrayStream s = { get_schema, get_next, get_last_error, release, g };
    g->iterator = PyObject_GetIter(iterable);
    if (g->iterator == NULL || pull(g, &g->first, &g->schema) != 0) {
        release(&s);
        return NULL;
    }
    if (g->first.release == NULL && PyObject_TypeCheck(empty, (PyTypeObject *)core.batch_class) &&
        grebe_schema_copy(core.ctx, &((struct core_batch *)empty)->schema, &g->schema, &err) != GREBE_OK) {
        release(&s);
        return core_raise(&err);
    }
    return core_stream_new(&s);
}
