/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of one column of a data set as a block of numbers, the shortest way from a mapped file to numpy: one object, no schema,
 * no batch.
 */
#include "core_dataset.h"

struct numbers {
    PyObject_HEAD
    struct ArrowArray rows; /* keeps the memory */
    struct core_block block;
};

static void numbers_dealloc(PyObject *self)
{
    struct ArrowArray *rows = &((struct numbers *)self)->rows;
    if (rows->release != NULL) {
        rows->release(rows);
    }
    core_object_free(self);
}

static int numbers_get_buffer(PyObject *self, Py_buffer *view, int flags)
{
    view->obj = NULL;
    return core_block_view(self, &((struct numbers *)self)->block, view, flags);
}

static PyType_Slot numbers_slots[] = { { Py_tp_dealloc, (void *)numbers_dealloc },
                                       { Py_bf_getbuffer, (void *)numbers_get_buffer },
                                       { 0, NULL } };
PyType_Spec core_numbers_spec = { "grebe._core.Numbers", sizeof(struct numbers), 0,
                                  Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, numbers_slots };

/* Whether a column of the type can be a block at all. */
static bool may_be_block(const struct ArrowSchema *schema)
{
    const char *format = strncmp(schema->format, "+w:", 3) == 0 ? schema->children[0]->format : schema->format;
    return format[0] != '\0' && format[1] == '\0' && strchr("cCsSiIlLefg", format[0]) != NULL;
}

/* numbers(begin, end, name) -> an object with a buffer; None when the rows are no block of numbers without nulls */
PyObject *core_dataset_numbers(PyObject *self, PyObject *args)
{
    long long begin = 0, end = 0;
    const char *name = NULL;
    struct core_dataset *d = (struct core_dataset *)self;
    struct ArrowArray rows = { 0 };
    struct core_block block;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_status st = GREBE_OK;
    int64_t c = 0;
    if (!PyArg_ParseTuple(args, "LLs", &begin, &end, &name)) {
        return NULL;
    }
    while (c < d->schema.n_children && strcmp(d->schema.children[c]->name, name) != 0) {
        c++;
    }
    if (c == d->schema.n_children || !may_be_block(d->schema.children[c])) {
        Py_RETURN_NONE;
    }
    if (end - begin > 64) { /* little work is not worth giving the GIL away */
        Py_BEGIN_ALLOW_THREADS
        st = grebe_dataset_read(d->ds, begin, end, &name, 1, &rows, &err);
        Py_END_ALLOW_THREADS
    } else {
        st = grebe_dataset_read(d->ds, begin, end, &name, 1, &rows, &err);
    }
    if (st != GREBE_OK) {
        return core_raise(&err);
    }
    if (core_block_of(d->schema.children[c], rows.children[0], &block) != NULL) {
        rows.release(&rows);
        Py_RETURN_NONE;
    }
    PyObject *out = core_object_new(core.numbers_class);
    if (out == NULL) {
        rows.release(&rows);
        return NULL;
    }
    ((struct numbers *)out)->rows = rows;
    ((struct numbers *)out)->block = block;
    return out;
}
