/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_PYTHON_CORE_TABLE_H
#define GREBE_PYTHON_CORE_TABLE_H

/* What the parts of grebe.Table share. */

#include "core.h"

/** Which rows and columns a scan gives; what the pointers live in. */
struct core_scan_args {
    grebe_scan_options o;
    PyObject *keep;
    const char **names;
};
/** From (columns, where, rows, limit, batch_rows, with_row_id). 0, or -1; free in both cases. */
int core_scan_args(PyObject *args, PyObject *kwargs, struct core_scan_args *out);
void core_scan_args_free(struct core_scan_args *s);

/* Methods of Table; the table stays open while they run. */

/* ---- core_table_read.c, core_chunks.c ---- */
PyObject *core_table_scan(grebe_table *t, PyObject *args, PyObject *kwargs);
PyObject *core_table_count(grebe_table *t, PyObject *args, PyObject *kwargs);
PyObject *core_table_take(grebe_table *t, PyObject *args, PyObject *kwargs);
PyObject *core_chunks_open(grebe_table *t, PyObject *args, PyObject *kwargs);
/* ---- core_table_versions.c ---- */
PyObject *core_table_tags(grebe_table *t, PyObject *args, PyObject *kwargs);
PyObject *core_table_versions(grebe_table *t, PyObject *args, PyObject *kwargs);
PyObject *core_table_log(grebe_table *t, PyObject *args, PyObject *kwargs);
PyObject *core_table_at(grebe_table *t, PyObject *args, PyObject *kwargs);
PyObject *core_table_tag(grebe_table *t, PyObject *args, PyObject *kwargs);

#endif
