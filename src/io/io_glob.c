/* SPDX-License-Identifier: Apache-2.0 */
#include "io/io_glob.h"

#include <stdlib.h>
#include <string.h>

enum { GLOB_DEPTH_MAX = 64, GLOB_MATCHES_MAX = 1 << 20 };

bool path_is_pattern(const char *path)
{
    return strpbrk(path, "*?[") != NULL;
}

/* The class "[abc]", "[a-z]", "[!abc]" at p (behind '['): whether c is in it; *end behind ']'. NULL
 * when it never ends: then '[' stands for itself. */
static const char *match_class(const char *p, char c, bool *is_match)
{
    bool is_negated = *p == '!' || *p == '^';
    bool is_in = false, is_first = true;
    for (p += is_negated; *p != '\0' && (*p != ']' || is_first); is_first = false) {
        unsigned char low = (unsigned char)*p, high = low, at = (unsigned char)c;
        if (p[1] == '-' && p[2] != '\0' && p[2] != ']') {
            high = (unsigned char)p[2];
            p += 2;
        }
        is_in = is_in || (low <= at && at <= high);
        p++;
    }
    *is_match = is_in != is_negated;
    return *p == ']' ? p + 1 : NULL;
}

/* Whether the first char of name fits the pattern's next element; *after behind that element. */
static bool match_one(const char *pattern, char c, const char **after)
{
    if (*pattern == '[') {
        bool is_match = false;
        const char *end = match_class(pattern + 1, c, &is_match);
        if (end != NULL) {
            *after = end;
            return is_match;
        }
    }
    *after = pattern + 1;
    return *pattern == '?' || *pattern == c;
}

bool glob_match(const char *pattern, const char *name)
{
    const char *star = NULL, *star_name = NULL;
    if (name[0] == '.' && pattern[0] != '.') {
        return false;
    }
    /* Greedy with one point to go back to: linear times the number of stars at worst. */
    while (*name != '\0') {
        const char *after = NULL;
        if (*pattern == '*') {
            star = ++pattern;
            star_name = name;
        } else if (*pattern != '\0' && match_one(pattern, *name, &after)) {
            pattern = after;
            name++;
        } else if (star != NULL) {
            pattern = star;
            name = ++star_name;
        } else {
            return false;
        }
    }
    while (*pattern == '*') {
        pattern++;
    }
    return *pattern == '\0';
}

/* ---- walking ---- */

struct glob {
    struct io_store *store;
    struct arena *arena;
    struct buf matches; /* char *, one a match */
};

/* Names of one folder, kept so that folders are not open while others are walked. */
struct names {
    struct glob *glob;
    const char *pattern; /* of the names wanted */
    struct buf found;    /* struct found */
};

struct found {
    char *name;
    enum io_kind kind;
};

static grebe_status keep_name(void *arg, const char *name, enum io_kind kind, grebe_error *err)
{
    struct names *n = arg;
    if (!glob_match(n->pattern, name)) {
        return GREBE_OK;
    }
    struct found f = { arena_str(n->glob->arena, name, strlen(name)), kind };
    if (f.name == NULL) {
        return mem_fail(err, strlen(name), "a name");
    }
    return buf_put(&n->found, &f, sizeof f, err);
}

static grebe_status add_match(struct glob *g, const char *path, grebe_error *err)
{
    char *copy = arena_str(g->arena, path, strlen(path));
    if (copy == NULL) {
        return mem_fail(err, strlen(path), "a path");
    }
    if (g->matches.len / sizeof copy >= GLOB_MATCHES_MAX) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "expected at most %d files, found more",
                          GLOB_MATCHES_MAX);
    }
    return buf_put(&g->matches, &copy, sizeof copy, err);
}

static bool is_folder(struct glob *g, const char *path, enum io_kind kind)
{
    struct io_info info;
    return kind == IO_FOLDER ||
           (kind == IO_OTHER && io_stat(g->store, path, &info, NULL) == GREBE_OK &&
            info.kind == IO_FOLDER);
}

static grebe_status walk(struct glob *g, const char *folder, const char *pattern, int depth,
                         grebe_error *err);

/* folder + '/' + name, in the arena. */
static char *join(struct glob *g, const char *folder, const char *name, size_t name_len)
{
    size_t n = strlen(folder);
    bool has_slash = n == 0 || folder[n - 1] == '/';
    char *path = arena_alloc(g->arena, n + name_len + 2);
    if (path != NULL) {
        memcpy(path, folder, n);
        memcpy(path + n, "/", 1);
        n += has_slash ? 0 : 1;
        memcpy(path + n, name, name_len);
        path[n + name_len] = '\0';
    }
    return path;
}

/* Every name of the folder that fits; rest: what is left of the pattern, "" at the end. */
static grebe_status walk_names(struct glob *g, const char *folder, const char *name_pattern,
                               const char *rest, int depth, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    bool is_deep = strcmp(name_pattern, "**") == 0;
    struct names names = { g, is_deep ? "*" : name_pattern, BUF_INIT(g->arena->a) };
    if (depth > GLOB_DEPTH_MAX) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "%s: expected at most %d levels of folders, found more",
                          folder, GLOB_DEPTH_MAX);
    }
    if (is_deep && rest[0] != '\0') { /* "**" is also no folder at all */
        GREBE_TRY(walk(g, folder, rest, depth + 1, err));
    }
    st = io_list(g->store, folder[0] == '\0' ? "." : folder, keep_name, &names, err);
    if (st == GREBE_ENOTFOUND) {
        st = GREBE_OK;
        goto out;
    }
    GREBE_TRY(st);
    size_t n = names.found.len / sizeof(struct found);
    for (size_t i = 0; i < n; i++) {
        struct found f;
        memcpy(&f, names.found.data + i * sizeof f, sizeof f);
        char *path = join(g, folder, f.name, strlen(f.name));
        if (path == NULL) {
            GREBE_TRY(mem_fail(err, strlen(f.name), "a path"));
        }
        bool is_end = rest[0] == '\0';
        if (is_end && !is_deep) {
            GREBE_TRY(add_match(g, path, err));
        } else if (!is_folder(g, path, f.kind)) {
            GREBE_TRY(is_end ? add_match(g, path, err) : GREBE_OK);
        } else if (!is_deep) {
            GREBE_TRY(walk(g, path, rest, depth + 1, err));
        } else if (f.kind == IO_FOLDER) { /* a link may lead back: only a name in the pattern enters it */
            GREBE_TRY(walk_names(g, path, "**", rest, depth + 1, err));
        }
    }
out:
    buf_release(&names.found);
    return st;
}

/* The pattern from `folder` on; its first part is walked here. */
static grebe_status walk(struct glob *g, const char *folder, const char *pattern, int depth,
                         grebe_error *err)
{
    while (strncmp(pattern, "**/**", 5) == 0 && (pattern[5] == '/' || pattern[5] == '\0')) {
        pattern += 3; /* two in a row are one */
    }
    size_t n = strcspn(pattern, "/");
    const char *rest = pattern + n + strspn(pattern + n, "/");
    char *part = arena_str(g->arena, pattern, n);
    if (part == NULL) {
        return mem_fail(err, n, "a pattern");
    }
    if (path_is_pattern(part)) {
        return walk_names(g, folder, part, rest, depth, err);
    }
    char *path = join(g, folder, part, n);
    struct io_info info;
    if (path == NULL) {
        return mem_fail(err, n, "a path");
    }
    if (rest[0] != '\0') {
        return walk(g, path, rest, depth, err);
    }
    return io_stat(g->store, path, &info, NULL) == GREBE_OK ? add_match(g, path, err) : GREBE_OK;
}

static int by_text(const void *x, const void *y)
{
    return strcmp(*(char *const *)x, *(char *const *)y);
}

static size_t drop_repeated(char **sorted, size_t n)
{
    size_t kept = 1;
    for (size_t i = 1; i < n; i++) {
        if (strcmp(sorted[i], sorted[kept - 1]) != 0) {
            sorted[kept++] = sorted[i];
        }
    }
    return kept;
}

grebe_status io_glob(struct io_store *store, const char *pattern, struct arena *arena,
                     char ***out, size_t *n, grebe_error *err)
{
    struct glob g = { store, arena, BUF_INIT(arena->a) };
    bool is_absolute = pattern[0] == '/';
    grebe_status st = GREBE_OK;
    *out = NULL;
    *n = 0;
    st = walk(&g, is_absolute ? "/" : "", pattern + strspn(pattern, "/"), 0, err);
    if (st == GREBE_OK && g.matches.len > 0) {
        *n = g.matches.len / sizeof(char *);
        *out = arena_array(arena, *n, sizeof **out);
        if (*out == NULL) {
            st = mem_fail(err, g.matches.len, "paths");
        } else {
            memcpy(*out, g.matches.data, g.matches.len);
            qsort(*out, *n, sizeof **out, by_text);
            *n = drop_repeated(*out, *n); /* two "**" find a path in more than one way */
        }
    }
    buf_release(&g.matches);
    return error_wrap(err, st, "%s", pattern);
}
