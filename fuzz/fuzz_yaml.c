/* SPDX-License-Identifier: Apache-2.0 */
/* YAML, and configurations in it: whatever the text, a tree that can be walked (in bounded allocations) or a message. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "ann/ann_suite.h"
#include "bounded_memory.h"
#include "fuzz_require.h"
#include "wire/yaml_tree.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t walk(const struct yaml_tree *t, int depth)
{
    uint64_t n = 1 + t->n + (uint64_t)(t->line == 0);
    require(depth <= YAML_TREE_DEPTH_MAX * 2);
    for (size_t i = 0; t->type == YAML_TREE_LIST && i < t->n; i++) {
        n += walk(t->items[i], depth + 1);
    }
    for (size_t i = 0; t->type == YAML_TREE_MAP && i < t->n; i++) {
        require(t->pairs[i].key->type == YAML_TREE_SCALAR);
        n += walk(t->pairs[i].value, depth + 1);
    }
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static grebe_context *ctx;
    grebe_error err = GREBE_ERROR_INIT;
    const struct yaml_tree *t = NULL;
    struct ann_suite s;
    if (ctx == NULL && context_new(NULL, &ctx, &err) != GREBE_OK) {
        return 0;
    }
    struct arena ar = ARENA_INIT(&bounded_memory()->allocator);
    bounded_memory()->most_bytes = bounded_bytes(size);
    if (yaml_tree_parse(&ar, "x", (const char *)data, size, &t, &err) == GREBE_OK) {
        walk(t, 0);
    } else {
        require(err.message[0] != '\0');
    }
    arena_release(&ar);
    bounded_memory()->most_bytes = SIZE_MAX;
    ann_suite_init(&s, ctx);
    require(ann_suite_parse(&s, "x", (const char *)data, size, &err) != GREBE_OK || (s.n_cases > 0 && s.n_exports > 0));
    ann_suite_release(&s);
    return 0;
}
