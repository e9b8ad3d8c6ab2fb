/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_WIRE_JSON_PYTHON_H
#define GREBE_WIRE_JSON_PYTHON_H

/* JSON as Python's json.dumps writes it: ", " and ": ", everything but ASCII escaped; with an indent one item a line. */

#include "wire/json.h"

/** A quoted string, ASCII only; what is no UTF-8 becomes \ufffd. Appends to dst. */
grebe_status json_python_string(struct buf *dst, const char *s, size_t len, grebe_error *err);

/** What stands between items and around them. */
grebe_status json_python_open(struct buf *dst, char bracket, grebe_error *err);
/** @param i Number of the item that comes next in a container that was opened at this depth. indent < 0: one line. */
grebe_status json_python_next(struct buf *dst, size_t i, int indent, int depth, grebe_error *err);
/** @param n Items that there were. */
grebe_status json_python_close(struct buf *dst, char bracket, size_t n, int indent, int depth, grebe_error *err);
/** As json_python_next, with a key behind it. */
grebe_status json_python_key(struct buf *dst, const char *key, size_t i, int indent, int depth, grebe_error *err);

/** A tree; numbers as they were written. */
grebe_status json_python_value(struct buf *dst, const struct json_value *v, int indent, int depth, grebe_error *err);

/** A deep copy. NULL: no memory. */
const struct json_value *json_value_copy(struct arena *ar, const struct json_value *v);

#endif
