/* SPDX-License-Identifier: Apache-2.0 */
/* Names and types of columns. */
#include "core.h"

#include <errno.h>

static void schema_dealloc(PyObject *self)
{
    struct core_schema *s = (struct core_schema *)self;
    if (s->schema.release != NULL) {
        s->schema.release(&s->schema);
    }
    core_object_free(self);
}

PyObject *core_schema_new(struct ArrowSchema *schema)
{
    PyObject *self = core_object_new(core.schema_class);
    if (self == NULL) {
        schema->release(schema);
        return NULL;
    }
    ((struct core_schema *)self)->schema = *schema;
    schema->release = NULL;
    return self;
}

PyObject *core_export_schema(const struct ArrowSchema *schema)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct ArrowSchema copy = { 0 };
    if (schema->release == NULL) {
        PyErr_SetString(PyExc_ValueError, "closed");
        return NULL;
    }
    if (grebe_schema_copy(core.ctx, schema, &copy, &err) != GREBE_OK) {
        return core_raise(&err);
    }
    return core_schema_capsule(&copy);
}

static PyObject *schema_arrow_c_schema(PyObject *self, PyObject *unused)
{
    (void)unused;
    return core_export_schema(&((struct core_schema *)self)->schema);
}

static PyObject *schema_names(PyObject *self, void *unused)
{
    (void)unused;
    const struct ArrowSchema *s = &((struct core_schema *)self)->schema;
    PyObject *list = PyList_New((Py_ssize_t)s->n_children);
    for (int64_t i = 0; list != NULL && i < s->n_children; i++) {
        PyObject *name = PyUnicode_FromString(s->children[i]->name);
        if (name == NULL || PyList_SetItem(list, (Py_ssize_t)i, name) != 0) {
            Py_DECREF(list);
            return NULL;
        }
    }
    return list;
}

static PyObject *schema_types(PyObject *self, void *unused)
{
    (void)unused;
    const struct ArrowSchema *s = &((struct core_schema *)self)->schema;
    PyObject *list = PyList_New((Py_ssize_t)s->n_children);
    for (int64_t i = 0; list != NULL && i < s->n_children; i++) {
        char text[1024];
        grebe_type_name(core.ctx, s->children[i], text, sizeof text);
        PyObject *item = PyUnicode_FromString(text);
        if (item == NULL || PyList_SetItem(list, (Py_ssize_t)i, item) != 0) {
            Py_DECREF(list);
            return NULL;
        }
    }
    return list;
}

static int append_bytes(void *write_ctx, const void *bytes, size_t len)
{
    PyObject **text = write_ctx;
    PyObject *part = PyBytes_FromStringAndSize(bytes, (Py_ssize_t)len);
    if (part == NULL) {
        return ENOMEM;
    }
    PyBytes_ConcatAndDel(text, part);
    return *text != NULL ? 0 : ENOMEM;
}

static PyObject *schema_to_json(PyObject *self, PyObject *unused)
{
    (void)unused;
    grebe_error err = GREBE_ERROR_INIT;
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, 0);
    if (bytes == NULL) {
        return NULL;
    }
    if (grebe_schema_print_json(core.ctx, &((struct core_schema *)self)->schema, append_bytes, &bytes,
                                &err) != GREBE_OK) {
        Py_XDECREF(bytes);
        return core_raise(&err);
    }
    PyObject *text = PyUnicode_FromEncodedObject(bytes, "utf-8", "strict");
    Py_DECREF(bytes);
    return text;
}

static PyMethodDef schema_methods[] = {
    { "__arrow_c_schema__", schema_arrow_c_schema, METH_NOARGS, "The schema as a PyCapsule." },
    { "to_json", schema_to_json, METH_NOARGS, "The schema as the JSON of a schema file." },
    { NULL, NULL, 0, NULL }
};
static PyGetSetDef schema_getset[] = { { "names", schema_names, NULL, "Names of the columns.", NULL },
                                       { "types", schema_types, NULL, "Types of the columns, as text.", NULL },
                                       { NULL, NULL, NULL, NULL, NULL } };
static PyType_Slot schema_slots[] = { { Py_tp_dealloc, (void *)schema_dealloc },
                                      { Py_tp_methods, schema_methods },
                                      { Py_tp_getset, schema_getset },
                                      { 0, NULL } };
PyType_Spec core_schema_spec = { "grebe._core.Schema", sizeof(struct core_schema), 0,
                                 Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE |
                                     Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                 schema_slots };
