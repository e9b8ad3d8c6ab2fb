/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A manifest from any bytes. What was decoded is made into a snapshot (row positions, row ids), is
 * encoded, decoded again and encoded once more: the second bytes are the first.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz_require.h"
#include "table/snapshot.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void use_snapshot(struct manifest *m)
{
    grebe_context *ctx = NULL;
    struct snapshot *s = NULL;
    grebe_error err = GREBE_ERROR_INIT;
    require(context_new(NULL, &ctx, NULL) == GREBE_OK);
    if (snapshot_new(ctx, "base", 1, m, &s, &err) == GREBE_OK && s->layout_status == GREBE_OK) {
        int64_t step = s->n_rows / 16 + 1;
        for (int64_t row = 0; row < s->n_rows && row >= 0; row += step) {
            int64_t id = snapshot_id_of_row(s, row);
            require(id >= 0 && id < s->next_row_id && snapshot_row_of_id(s, id) == row);
            for (size_t g = 0; g < s->manifest.groups.n; g++) {
                const struct snapshot_group *group = &s->groups[g];
                if (row < group->row_begin[group->n_files]) {
                    size_t f = snapshot_file_of(group, row);
                    require(group->row_begin[f] <= row && row < group->row_begin[f + 1]);
                }
            }
            if (row > INT64_MAX - step) {
                break;
            }
        }
        require(snapshot_row_of_id(s, -1) == -1 && snapshot_row_of_id(s, s->next_row_id) == -1);
    }
    snapshot_drop(s);
    context_free(ctx);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct manifest m;
    struct manifest again;
    struct buf first = BUF_INIT(mem_system());
    struct buf second = BUF_INIT(mem_system());
    manifest_init(&m, mem_system());
    manifest_init(&again, mem_system());
    grebe_status st = manifest_decode(&m, data, size, &err);
    require(st == GREBE_OK || err.message[0] != '\0');
    if (st == GREBE_OK) {
        require(manifest_encode(&first, &m, NULL) == GREBE_OK);
        require(manifest_decode(&again, first.data, first.len, &err) == GREBE_OK);
        require(manifest_encode(&second, &again, NULL) == GREBE_OK);
        require(first.len == second.len && memcmp(first.data, second.data, first.len) == 0);
        use_snapshot(&again);
    }
    manifest_release(&m);
    manifest_release(&again);
    buf_release(&first);
    buf_release(&second);
    return 0;
}
