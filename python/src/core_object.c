/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of objects whose types are made when the module is loaded. */
#include "core.h"

PyObject *core_object_new(PyObject *type)
{
    allocfunc alloc = (allocfunc)PyType_GetSlot((PyTypeObject *)type, Py_tp_alloc);
    return alloc((PyTypeObject *)type, 0);
}

void core_object_free(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    freefunc free_fn = (freefunc)PyType_GetSlot(type, Py_tp_free);
    free_fn(self);
    Py_DECREF(type);
}
