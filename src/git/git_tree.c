/* SPDX-License-Identifier: Apache-2.0 */
#include "git/git_repo.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "git/git_store.h"

/* As git orders them: by bytes, a tree's name with '/' behind it. */
static int compare_names(const char *a, bool a_is_tree, const char *b, bool b_is_tree)
{
    size_t na = strlen(a), nb = strlen(b);
    size_t n = na < nb ? na : nb;
    int c = memcmp(a, b, n);
    if (c != 0) {
        return c;
    }
    unsigned char end_a = n < na ? (unsigned char)a[n] : a_is_tree ? '/' : 0;
    unsigned char end_b = n < nb ? (unsigned char)b[n] : b_is_tree ? '/' : 0;
    return (end_a > end_b) - (end_a < end_b);
}

static bool name_is_safe(const char *name)
{
    return name[0] != '\0' && strchr(name, '/') == NULL && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

/* One entry at *at: "<octal mode> <name>\0<20 bytes>". */
static grebe_status read_entry(const unsigned char *bytes, size_t len, size_t *at, struct repo_tree_entry *e,
                               grebe_error *err)
{
    size_t i = *at;
    uint32_t mode = 0;
    while (i < len && bytes[i] >= '0' && bytes[i] <= '7' && i - *at < 6) {
        mode = mode << 3 | (uint32_t)(bytes[i++] - '0');
    }
    if (i == *at || bytes[*at] == '0' || i >= len || bytes[i] != ' ') {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "tree: expected an octal mode and a space at byte %zu", *at);
    }
    i++;
    const unsigned char *end = memchr(bytes + i, '\0', len - i);
    if (end == NULL || len - (size_t)(end + 1 - bytes) < sizeof e->oid.bytes) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "tree: expected a name and 20 bytes of id at byte %zu, %zu bytes remain",
                          i, len - i);
    }
    e->mode = mode;
    e->name = (const char *)bytes + i;
    memcpy(e->oid.bytes, end + 1, sizeof e->oid.bytes);
    if (!name_is_safe(e->name)) {
        char text[64];
        return GREBE_FAIL(err, GREBE_ECORRUPT, "tree: expected a file name, found \"%s\" at byte %zu",
                          error_quote(text, sizeof text, e->name, strlen(e->name)), i);
    }
    *at = (size_t)(end + 1 - bytes) + sizeof e->oid.bytes;
    return GREBE_OK;
}

grebe_status repo_tree_parse(const grebe_allocator *a, struct region *region, const unsigned char *bytes, size_t len,
                            struct repo_tree *out, grebe_error *err)
{
    *out = (struct repo_tree){ .a = a };
    grebe_status st = GREBE_OK;
    size_t n = 0;
    /* two passes over bytes that are all checked: no entry is ever counted on the word of the file */
    for (size_t at = 0; at < len;) {
        struct repo_tree_entry e;
        st = read_entry(bytes, len, &at, &e, err);
        if (st != GREBE_OK) {
            return st;
        }
        n++;
    }
    if (n > 0) {
        out->entries = mem_alloc(a, n * sizeof *out->entries);
        if (out->entries == NULL) {
            return mem_fail(err, n * sizeof *out->entries, "entries of a tree");
        }
    }
    out->n = n;
    size_t at = 0;
    for (size_t i = 0; i < n && st == GREBE_OK; i++) {
        struct repo_tree_entry *e = &out->entries[i];
        st = read_entry(bytes, len, &at, e, err);
        const struct repo_tree_entry *before = e - 1;
        if (st == GREBE_OK && i > 0 &&
            compare_names(before->name, repo_entry_is_tree(before), e->name, repo_entry_is_tree(e)) >= 0) {
            char text[64];
            st = GREBE_FAIL(err, GREBE_ECORRUPT, "tree: expected names in ascending order, found \"%s\" as number %zu",
                            error_quote(text, sizeof text, e->name, strlen(e->name)), i);
        }
    }
    if (st != GREBE_OK) {
        repo_tree_release(out);
        return st;
    }
    out->region = region_keep(region);
    return GREBE_OK;
}

grebe_status repo_tree_read(struct repo *r, const struct repo_oid *oid, struct repo_tree *out, grebe_error *err)
{
    struct region *region = NULL;
    const unsigned char *bytes = NULL;
    size_t len = 0;
    *out = (struct repo_tree){ 0 };
    grebe_status st = repo_object_need(r, oid, REPO_TREE, &region, &bytes, &len, err);
    if (st == GREBE_OK) {
        st = repo_tree_parse(region->a, region, bytes, len, out, err);
        st = repo_object_wrap(oid, st, err);
    }
    region_drop(region);
    return st;
}

void repo_tree_release(struct repo_tree *t)
{
    if (t->entries != NULL) {
        mem_free(t->a, t->entries, t->n * sizeof *t->entries);
    }
    region_drop(t->region);
    *t = (struct repo_tree){ .a = t->a };
}

const struct repo_tree_entry *repo_tree_find(const struct repo_tree *t, const char *name)
{
    /* one pass: a name may stand at two places of the order, as a tree's and as a file's */
    for (size_t i = 0; i < t->n; i++) {
        if (strcmp(t->entries[i].name, name) == 0) {
            return &t->entries[i];
        }
    }
    return NULL;
}

static int compare_entries(const void *a, const void *b)
{
    const struct repo_tree_entry *x = a, *y = b;
    return compare_names(x->name, repo_entry_is_tree(x), y->name, repo_entry_is_tree(y));
}

grebe_status repo_tree_encode(struct repo_tree_entry *entries, size_t n, struct buf *out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    if (n > 1) {
        qsort(entries, n, sizeof *entries, compare_entries);
    }
    for (size_t i = 0; i < n && st == GREBE_OK; i++) {
        const struct repo_tree_entry *e = &entries[i];
        if (!name_is_safe(e->name) || (i > 0 && strcmp(entries[i - 1].name, e->name) == 0)) {
            char text[64];
            return GREBE_FAIL(err, GREBE_EINVAL, "tree: expected file names, each once, found \"%s\"",
                              error_quote(text, sizeof text, e->name, strlen(e->name)));
        }
        st = buf_printf(out, err, "%o %s", (unsigned)e->mode, e->name);
        if (st == GREBE_OK) {
            st = buf_put_byte(out, '\0', err);
        }
        if (st == GREBE_OK) {
            st = buf_put(out, e->oid.bytes, sizeof e->oid.bytes, err);
        }
    }
    return st;
}
