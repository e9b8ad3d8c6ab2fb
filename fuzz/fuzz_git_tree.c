/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trees, commits, deltas and zlib streams of Git from any bytes. A tree that is taken is encoded to the same bytes;
 * what the reader of streams takes, zlib takes too.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz_require.h"
#include "git/git_delta.h"
#include "git/git_repo.h"
#include "git/git_zlib.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_tree(const uint8_t *data, size_t size)
{
    struct repo_tree t;
    struct buf again = BUF_INIT(mem_system());
    grebe_error err = GREBE_ERROR_INIT;
    if (repo_tree_parse(mem_system(), NULL, data, size, &t, &err) == GREBE_OK) {
        /* a name that is a file's and a tree's is read, but not written */
        if (repo_tree_encode(t.entries, t.n, &again, &err) == GREBE_OK) {
            require(again.len == size && (size == 0 || memcmp(again.data, data, size) == 0));
        }
        for (size_t i = 0; i < t.n; i++) {
            require(repo_tree_find(&t, t.entries[i].name) != NULL);
        }
        repo_tree_release(&t);
    } else {
        require(err.message[0] != '\0');
    }
    buf_release(&again);
}

static void try_commit(const uint8_t *data, size_t size)
{
    struct arena ar = ARENA_INIT(mem_system());
    struct repo_commit c;
    if (repo_commit_parse(&ar, data, size, &c, NULL) == GREBE_OK) {
        require(strlen(c.message) <= size && c.time_seconds >= 0);
    }
    arena_release(&ar);
}

/* The first byte says how long the base is. */
static void try_delta(const uint8_t *data, size_t size)
{
    uint64_t base_len = 0, len = 0;
    size_t at = 0;
    if (size == 0 || data[0] >= size) {
        return;
    }
    const uint8_t *delta = data + 1 + data[0];
    size_t delta_len = size - 1 - data[0];
    unsigned char *base = malloc((size_t)data[0] + 1);
    require(base != NULL);
    memcpy(base, data + 1, data[0]);
    if (repo_delta_lengths(delta, delta_len, &base_len, &len, &at, NULL) == GREBE_OK && len <= 1 << 20) {
        unsigned char *out = malloc(len + 1);
        require(out != NULL);
        if (repo_delta_apply(delta, delta_len, base, data[0], out, len, NULL) == GREBE_OK) {
            require(base_len == data[0]);
        }
        free(out);
    }
    free(base);
}

static void try_stream(const uint8_t *data, size_t size)
{
    unsigned char out[4096];
    size_t got = 0, used = 0;
    if (repo_inflate_head(mem_system(), data, size, out, sizeof out, &got, NULL) == GREBE_OK && got < sizeof out) {
        unsigned char *exact = malloc(got + 1);
        require(exact != NULL);
        require(repo_inflate(mem_system(), data, size, exact, got, &used, NULL) == GREBE_OK);
        require(used <= size && memcmp(exact, out, got) == 0);
        free(exact);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    try_tree(data, size);
    try_commit(data, size);
    try_delta(data, size);
    try_stream(data, size);
    return 0;
}
