/* SPDX-License-Identifier: Apache-2.0 */
/* Zip and tar from any bytes: members lie inside the archive, and what is read has the size that was said. */
#include <stdlib.h>

#include "archive/archive.h"
#include "fuzz_require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fuzz_end(struct region *r) { (void)r; }

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const grebe_allocator *a = mem_system();
    struct region *bytes = NULL;
    struct archive *z = NULL;
    require(region_wrap(a, data, size, fuzz_end, NULL, &bytes, NULL) == GREBE_OK);
    if (archive_open(a, bytes, &z, NULL) == GREBE_OK) {
        for (size_t i = 0; i < z->n && i < 100; i++) {
            struct region *content = NULL;
            require(z->members[i].at <= size && z->members[i].stored <= size - z->members[i].at);
            if (archive_read(z, i, 1 << 20, &content, NULL) == GREBE_OK) {
                require(content->len == z->members[i].size);
                region_drop(content);
            }
        }
        archive_free(z);
    }
    region_drop(bytes);
    return 0;
}
