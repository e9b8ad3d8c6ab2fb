/* SPDX-License-Identifier: Apache-2.0 */
/* Pickles of anybody: a tree or an error, in allocations bounded by the input. */
#include <stdint.h>

#include "bounded_memory.h"
#include "wire/pickle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static bool allow_all(void *arg, const char *module, size_t module_len, const char *name, size_t name_len)
{
    (void)arg;
    (void)module;
    (void)name;
    return module_len + name_len < 200;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct arena ar = ARENA_INIT(&bounded_memory()->allocator);
    const struct pickle_value *v = NULL;
    bounded_memory()->most_bytes = bounded_bytes(len);
    if (pickle_parse(&ar, "fuzz", data, len, allow_all, NULL, &v, &err) == GREBE_OK) {
        (void)pickle_get(v, "a");
        (void)pickle_call(v, "a b", 2);
    }
    arena_release(&ar);
    return 0;
}
