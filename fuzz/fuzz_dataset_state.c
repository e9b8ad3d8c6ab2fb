/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The JSON files of a saved data set, and packed data sets, from any bytes. What is read can be written, and written
 * once more it is the same text. The first byte says what the rest is.
 */
#include <stdlib.h>
#include <string.h>

#include "base/context_internal.h"
#include "dataset/dataset_internal.h"
#include "dataset/dataset_state.h"
#include "fuzz_require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ROWS_MAX = 10000 };

static void read_state(const char *text, size_t len)
{
    const grebe_allocator *a = mem_system();
    struct saved_state s, again;
    struct buf once = BUF_INIT(a), twice = BUF_INIT(a);
    grebe_error err = GREBE_ERROR_INIT;
    if (saved_state_read(a, text, len, &s, &err) != GREBE_OK) {
        require(err.message[0] != '\0');
        return;
    }
    require(saved_state_write(&s, &once, NULL) == GREBE_OK);
    require(saved_state_read(a, (const char *)once.data, once.len, &again, NULL) == GREBE_OK);
    require(saved_state_write(&again, &twice, NULL) == GREBE_OK);
    require(once.len == twice.len && memcmp(once.data, twice.data, once.len) == 0);
    saved_state_release(&s);
    saved_state_release(&again);
    buf_release(&once);
    buf_release(&twice);
}

static void read_info(const char *text, size_t len)
{
    const grebe_allocator *a = mem_system();
    struct saved_info s, again;
    struct buf once = BUF_INIT(a), twice = BUF_INIT(a);
    grebe_error err = GREBE_ERROR_INIT;
    if (saved_info_read(a, text, len, &s, &err) != GREBE_OK) {
        require(err.message[0] != '\0');
        return;
    }
    if (s.features != NULL) {
        require(saved_info_write(a, s.features, s.info_json, &once, NULL) == GREBE_OK);
        require(saved_info_read(a, (const char *)once.data, once.len, &again, NULL) == GREBE_OK);
        require(saved_info_write(a, again.features, again.info_json, &twice, NULL) == GREBE_OK);
        require(once.len == twice.len && memcmp(once.data, twice.data, once.len) == 0);
        saved_info_release(a, &again);
    }
    saved_info_release(a, &s);
    buf_release(&once);
    buf_release(&twice);
}

static void read_splits(const char *text, size_t len)
{
    struct arena ar = ARENA_INIT(mem_system());
    const char *const *names = NULL;
    size_t n = 0;
    grebe_error err = GREBE_ERROR_INIT;
    if (saved_splits_read(&ar, text, len, &names, &n, &err) != GREBE_OK) {
        require(err.message[0] != '\0');
    }
    for (size_t i = 0; i < n; i++) {
        require(saved_name_check(names[i], strlen(names[i]), NULL) == GREBE_OK || err.message[0] != '\0');
    }
    arena_release(&ar);
}

static void unpack(const uint8_t *data, size_t size)
{
    grebe_context *ctx = NULL;
    grebe_dataset *ds = NULL;
    grebe_error err = GREBE_ERROR_INIT;
    require(context_new(NULL, &ctx, NULL) == GREBE_OK);
    if (grebe_dataset_unpack(ctx, data, size, &ds, &err) == GREBE_OK) {
        struct ArrowArray rows;
        int64_t n = ds->n_rows < ROWS_MAX ? ds->n_rows : ROWS_MAX;
        if (grebe_dataset_read(ds, 0, n, NULL, 0, &rows, &err) == GREBE_OK) {
            require(array_check(&ds->schema, &rows, true, NULL) == GREBE_OK);
            array_release(&rows);
        }
    } else {
        require(err.message[0] != '\0');
    }
    grebe_dataset_free(ds);
    context_free(ctx);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    const char *text = (const char *)data + 1;
    switch (data[0]) {
    case 's': read_state(text, size - 1); break;
    case 'i': read_info(text, size - 1); break;
    case 'd': read_splits(text, size - 1); break;
    default: unpack(data, size); break;
    }
    return 0;
}
