/* SPDX-License-Identifier: Apache-2.0 */
/* Arrow in and out by the PyCapsule interface: capsules own their structure until it is taken. */
#include "core.h"

#include <errno.h>
#include <string.h>

/* ---- capsules ---- */

#define CAPSULE(kind, type, name)                                                  \
    static void kind##_capsule_free(PyObject *capsule)                             \
    {                                                                              \
        struct type *p = PyCapsule_GetPointer(capsule, name);                      \
        if (p != NULL) {                                                           \
            if (p->release != NULL) {                                              \
                p->release(p);                                                     \
            }                                                                      \
            free(p);                                                               \
        }                                                                          \
    }                                                                              \
    /* value is moved in, released on failure */                                   \
    PyObject *core_##kind##_capsule(struct type *value)                            \
    {                                                                              \
        struct type *p = malloc(sizeof *p);                                        \
        PyObject *capsule = NULL;                                                  \
        if (p == NULL) {                                                           \
            PyErr_NoMemory();                                                      \
        } else {                                                                   \
            *p = *value;                                                           \
            capsule = PyCapsule_New(p, name, kind##_capsule_free);                 \
        }                                                                          \
        if (capsule == NULL) {                                                     \
            free(p);                                                               \
            if (value->release != NULL) {                                          \
                value->release(value);                                             \
            }                                                                      \
        }                                                                          \
        value->release = NULL;                                                     \
        return capsule;                                                            \
    }

CAPSULE(schema, ArrowSchema, "arrow_schema")
CAPSULE(array, ArrowArray, "arrow_array")
CAPSULE(stream, ArrowArrayStream, "arrow_array_stream")

/* ---- a stream of one array ---- */

struct one {
    struct ArrowArray array;
    struct ArrowSchema schema;
    grebe_error err;
};

/* The schema may be asked for several times: each time a deep copy by way of the library. */
static int one_schema(struct ArrowArrayStream *s, struct ArrowSchema *out)
{
    struct one *one = s->private_data;
    return grebe_schema_copy(core.ctx, &one->schema, out, &one->err) == GREBE_OK ? 0 : ENOMEM;
}

static int one_next(struct ArrowArrayStream *s, struct ArrowArray *out)
{
    struct one *one = s->private_data;
    *out = one->array;
    memset(&one->array, 0, sizeof one->array);
    return 0;
}

static const char *one_error(struct ArrowArrayStream *s)
{
    return ((struct one *)s->private_data)->err.message;
}

static void one_release(struct ArrowArrayStream *s)
{
    struct one *one = s->private_data;
    if (one->array.release != NULL) {
        one->array.release(&one->array);
    }
    if (one->schema.release != NULL) {
        one->schema.release(&one->schema);
    }
    free(one);
    s->release = NULL;
}

int core_stream_of_one(struct ArrowArray *array, struct ArrowSchema *schema,
                         struct ArrowArrayStream *out)
{
    struct one *one = calloc(1, sizeof *one);
    if (one == NULL) {
        if (array->release != NULL) {
            array->release(array);
        }
        if (schema->release != NULL) {
            schema->release(schema);
        }
        PyErr_NoMemory();
        return -1;
    }
    one->array = *array;
    one->schema = *schema;
    array->release = NULL;
    schema->release = NULL;
    *out = (struct ArrowArrayStream){ one_schema, one_next, one_error, one_release, one };
    return 0;
}

/* ---- import ---- */

static int take_stream(PyObject *capsule, struct ArrowArrayStream *out)
{
    struct ArrowArrayStream *s = PyCapsule_GetPointer(capsule, "arrow_array_stream");
    if (s == NULL) {
        return -1;
    }
    if (s->release == NULL) {
        PyErr_SetString(PyExc_ValueError, "the Arrow stream was consumed already");
        return -1;
    }
    *out = *s;
    s->release = NULL;
    return 0;
}

int core_array_capsules(PyObject *pair, struct ArrowSchema **schema, struct ArrowArray **array)
{
    if (!PyTuple_Check(pair) || PyTuple_Size(pair) != 2) {
        PyErr_SetString(PyExc_TypeError, "__arrow_c_array__: expected a pair of capsules");
        return -1;
    }
    *schema = PyCapsule_GetPointer(PyTuple_GetItem(pair, 0), "arrow_schema");
    *array = *schema != NULL ? PyCapsule_GetPointer(PyTuple_GetItem(pair, 1), "arrow_array") : NULL;
    if (*array == NULL) {
        return -1;
    }
    if ((*schema)->release == NULL || (*array)->release == NULL) {
        PyErr_SetString(PyExc_ValueError, "the Arrow array was consumed already");
        return -1;
    }
    return 0;
}

static int take_array(PyObject *pair, struct ArrowArrayStream *out)
{
    struct ArrowSchema *schema = NULL;
    struct ArrowArray *array = NULL;
    if (core_array_capsules(pair, &schema, &array) != 0) {
        return -1;
    }
    if (schema->format == NULL || strcmp(schema->format, "+s") != 0) {
        PyErr_SetString(PyExc_TypeError, "expected rows (a struct array), found a single column: "
                                         "pass a dict {name: array}");
        return -1;
    }
    return core_stream_of_one(array, schema, out);
}

int core_import_stream(PyObject *object, struct ArrowArrayStream *out)
{
    memset(out, 0, sizeof *out);
    int result = -1;
    if (PyCapsule_IsValid(object, "arrow_array_stream")) {
        return take_stream(object, out);
    }
    if (PyObject_HasAttrString(object, "__arrow_c_stream__")) {
        PyObject *capsule = PyObject_CallMethod(object, "__arrow_c_stream__", NULL);
        if (capsule != NULL) {
            result = take_stream(capsule, out);
            Py_DECREF(capsule);
        }
        return result;
    }
    if (PyObject_HasAttrString(object, "__arrow_c_array__")) {
        PyObject *pair = PyObject_CallMethod(object, "__arrow_c_array__", NULL);
        if (pair != NULL) {
            result = take_array(pair, out);
            Py_DECREF(pair);
        }
        return result;
    }
    if (PyDict_Check(object)) {
        struct ArrowArray array = { 0 };
        struct ArrowSchema schema = { 0 };
        PyObject *names = PyDict_Keys(object), *values = PyDict_Values(object);
        if (names != NULL && values != NULL &&
            core_build_struct(names, values, false, &array, &schema) == 0) {
            result = core_stream_of_one(&array, &schema, out);
        }
        Py_XDECREF(names);
        Py_XDECREF(values);
        return result;
    }
    PyErr_Format(PyExc_TypeError,
                 "expected an Arrow producer (__arrow_c_stream__ or __arrow_c_array__) or a dict of "
                 "arrays, found %R", (PyObject *)Py_TYPE(object));
    return -1;
}
