/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays as DLPack capsules: the structures of dlpack.h, version 0.x ("dltensor"). */
#include "core.h"

enum { DL_MAX_RANK = 8 };

struct dl_tensor {
    void *data;
    struct { int32_t type, id; } device;
    int32_t ndim;
    struct { uint8_t code, bits; uint16_t lanes; } dtype;
    int64_t *shape, *strides;
    uint64_t byte_offset;
};

struct dl_managed {
    struct dl_tensor tensor;
    void *manager_ctx;
    void (*deleter)(struct dl_managed *self);
};

struct dl_space {
    struct dl_managed managed;
    int64_t shape[DL_MAX_RANK], strides[DL_MAX_RANK];
};

static void dl_delete(struct dl_managed *m)
{
    PyGILState_STATE gil = PyGILState_Ensure();
    Py_DECREF((PyObject *)m->manager_ctx);
    PyMem_Free(m);
    PyGILState_Release(gil);
}

static void dl_capsule_free(PyObject *capsule)
{
    if (PyCapsule_IsValid(capsule, "dltensor")) { /* "used_dltensor": the consumer deletes */
        struct dl_managed *m = PyCapsule_GetPointer(capsule, "dltensor");
        m->deleter(m);
    }
}

PyObject *core_dlpack(PyObject *owner, const void *data, int ndim, const Py_ssize_t *shape, const Py_ssize_t *strides,
                      Py_ssize_t itemsize, uint8_t code)
{
    if (ndim > DL_MAX_RANK) {
        return PyErr_Format(PyExc_BufferError, "expected at most %d axes, found %d", DL_MAX_RANK, ndim);
    }
    struct dl_space *s = PyMem_Calloc(1, sizeof *s);
    if (s == NULL) {
        return PyErr_NoMemory();
    }
    for (int i = 0; i < ndim; i++) {
        s->shape[i] = shape[i];
        s->strides[i] = strides[i] / itemsize;
    }
    struct dl_tensor *t = &s->managed.tensor;
    t->data = (void *)(uintptr_t)data;
    t->device.type = 1; /* kDLCPU */
    t->ndim = ndim;
    t->dtype.code = code;
    t->dtype.bits = (uint8_t)(itemsize * 8);
    t->dtype.lanes = 1;
    t->shape = s->shape;
    t->strides = s->strides;
    s->managed.manager_ctx = Py_NewRef(owner);
    s->managed.deleter = dl_delete;
    PyObject *capsule = PyCapsule_New(&s->managed, "dltensor", dl_capsule_free);
    if (capsule == NULL) {
        dl_delete(&s->managed);
    }
    return capsule;
}

PyObject *core_dlpack_device(PyObject *self, PyObject *unused)
{
    (void)self;
    (void)unused;
    return Py_BuildValue("(ii)", 1, 0);
}
