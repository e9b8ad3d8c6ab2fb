/* SPDX-License-Identifier: Apache-2.0 */
/* An Arrow file from any bytes: what its footer names is read, checked, and the same twice. */
#include <stdlib.h>
#include <string.h>

#include "arrow/ipc_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { BATCHES_MAX = 64, ROWS_MAX = 100000 };

static void require(int condition)
{
    if (!condition) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct region *r = NULL;
    struct ipc_file *f = NULL;
    require(region_new(mem_system(), size, &r, NULL) == GREBE_OK);
    if (size > 0) {
        memcpy(r->data, data, size);
    }
    (void)!ipc_file_open(mem_system(), r, &f, NULL);
    region_drop(r);
    for (size_t i = 0; f != NULL && i < f->n_batches && i < BATCHES_MAX; i++) {
        struct ArrowArray rows, again;
        if (f->batches[i].n_rows > ROWS_MAX ||
            ipc_file_read(f, i, NULL, 0, &rows, NULL) != GREBE_OK) {
            continue;
        }
        require(array_check(&f->schema, &rows, true, NULL) == GREBE_OK);
        require(ipc_file_read(f, i, NULL, 0, &again, NULL) == GREBE_OK);
        require(array_equal(&f->schema, &rows, &again));
        array_release(&rows);
        array_release(&again);
    }
    ipc_file_close(f);
    return 0;
}
