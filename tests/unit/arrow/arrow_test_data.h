/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_TESTS_ARROW_TEST_DATA_H
#define GREBE_TESTS_ARROW_TEST_DATA_H

/* Golden streams as schema and one batch. */

#include "test_support.h"

#include <stdio.h>
#include <stdlib.h>

#include "arrow/ipc.h"

static inline void end_free(struct region *r) { free(r->end_ctx); }

/* A stream over a file of tests/golden/arrow, by region. */
static inline void open_golden(const grebe_allocator *a, const char *name,
                               struct ArrowArrayStream *out)
{
    grebe_error err = GREBE_ERROR_INIT;
    char path[512];
    size_t len = 0;
    struct region *r = NULL;
    snprintf(path, sizeof path, "%s/golden/arrow/%s", TEST_DATA, name);
    unsigned char *bytes = test_read_file(path, &len);
    assert_ok(region_wrap(a, bytes, len, end_free, bytes, &r, &err));
    assert_ok(ipc_stream_of_region(a, r, out, &err));
    region_drop(r);
}

/* The only batch of a golden stream. */
static inline void read_golden(const char *name, struct ArrowSchema *schema,
                               struct ArrowArray *batch)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct ArrowArrayStream stream;
    struct ArrowArray none;
    open_golden(mem_system(), name, &stream);
    assert_ok(stream_schema(&stream, schema, &err));
    assert_ok(stream_next(&stream, batch, &err));
    assert_int_equal(stream_next(&stream, &none, &err), GREBE_END);
    stream_release(&stream);
}

#endif
