/* SPDX-License-Identifier: Apache-2.0 */
#include "load/load_glob.h"

#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

enum { WALK_DEPTH_MAX = 64, WALK_FILES_MAX = 1 << 22 };

bool load_glob_has_magic(const char *pattern) { return strpbrk(pattern, "*?[") != NULL; }

grebe_status load_glob_escape(struct buf *out, const char *path, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    for (const char *p = path; *p != '\0' && st == GREBE_OK;) {
        size_t plain = strcspn(p, "*?[");
        st = buf_put(out, p, plain, err);
        p += plain;
        if (st == GREBE_OK && *p != '\0') {
            st = buf_printf(out, err, "[%c]", *p++);
        }
    }
    return st;
}

/* What a pattern says before its first character that stands for others, as it is in a path; where that character is. */
static const char *plain_begin(struct arena *ar, const char *pattern, const char **magic)
{
    char *out = arena_alloc(ar, strlen(pattern) + 1);
    size_t n = 0;
    const char *p = pattern;
    while (out != NULL && *p != '\0') {
        bool is_escaped = p[0] == '[' && p[1] != '\0' && strchr("*?[", p[1]) != NULL && p[2] == ']';
        if (!is_escaped && strchr("*?[", *p) != NULL) {
            break;
        }
        out[n++] = p[is_escaped];
        p += is_escaped ? 3 : 1;
    }
    if (out != NULL) {
        out[n] = '\0';
        *magic = p;
    }
    return out;
}

/* ---- one part against a name ---- */

/* A character of a name: one code point, or one byte that is none. */
static size_t char_len(const char *s, const char *end)
{
    size_t n = utf8_char_len(s, (size_t)(end - s));
    return n > 0 ? n : 1;
}

static int compare_chars(const char *x, size_t x_len, const char *y, size_t y_len)
{
    size_t n = x_len < y_len ? x_len : y_len;
    int c = memcmp(x, y, n); /* UTF-8 keeps the order of code points */
    return c != 0 ? c : (x_len > y_len) - (x_len < y_len);
}

/*
 * The set that begins behind '[' at p; *next is set behind its ']'. false and *next NULL: no ']' follows, the bracket is a letter.
 */
static bool set_has(const char *p, const char *end, const char *c, size_t c_len, const char **next)
{
    bool is_not = p < end && *p == '!', is_in = false;
    const char *first = p + is_not, *close = first < end && *first == ']' ? first + 1 : first;
    while (close < end && *close != ']') {
        close++;
    }
    *next = NULL;
    if (close >= end) {
        return false;
    }
    *next = close + 1;
    for (const char *s = first; s < close;) {
        size_t n = char_len(s, close);
        const char *last = s + n + 1;
        if (s + n < close && s[n] == '-' && last < close) {
            size_t last_len = char_len(last, close);
            is_in = is_in || (compare_chars(c, c_len, s, n) >= 0 && compare_chars(c, c_len, last, last_len) <= 0);
            s = last + last_len;
        } else {
            is_in = is_in || compare_chars(c, c_len, s, n) == 0;
            s += n;
        }
    }
    return first == close ? is_not : is_in != is_not;
}

/* One part against one name: a star is tried again from where it began, so the time is the product of both at most. */
static bool part_matches(const char *p, const char *p_end, const char *s, const char *s_end)
{
    const char *star = NULL, *star_s = NULL;
    while (s < s_end || p < p_end) {
        size_t n = s < s_end ? char_len(s, s_end) : 0;
        const char *next = NULL;
        if (p < p_end && *p == '*') {
            star = ++p;
            star_s = s;
            continue;
        }
        bool fits = false;
        if (p < p_end && n > 0) {
            if (*p == '?') {
                fits = true;
                next = p + 1;
            } else if (*p == '[') {
                fits = set_has(p + 1, p_end, s, n, &next);
            }
            if (next == NULL) {
                fits = *p == *s && (n == 1 || ((size_t)(p_end - p) >= n && memcmp(p, s, n) == 0));
                next = p + n;
            }
        }
        if (fits) {
            p = next;
            s += n;
        } else if (star != NULL && star_s < s_end) {
            star_s += char_len(star_s, s_end);
            s = star_s;
            p = star;
        } else {
            return false;
        }
    }
    return true;
}

/* ---- parts ---- */

static const char *part_end(const char *p)
{
    const char *slash = strchr(p, '/');
    return slash != NULL ? slash : p + strlen(p);
}

static bool is_deep(const char *p, const char *end) { return end - p == 2 && p[0] == '*' && p[1] == '*'; }

/* Both point to the begin of a part. A "**" is tried again from where it began, as a star within a part. */
static bool parts_match(const char *p, const char *s)
{
    const char *deep = NULL, *deep_s = NULL;
    for (;;) {
        const char *p_end = part_end(p), *s_end = part_end(s);
        if (*p != '\0' && is_deep(p, p_end)) {
            if (*p_end == '\0') {
                return true;
            }
            deep = p = p_end + 1;
            deep_s = s;
            continue;
        }
        bool is_last_p = *p_end == '\0', is_last_s = *s_end == '\0';
        if (is_last_p == is_last_s && part_matches(p, p_end, s, s_end)) {
            if (is_last_p) {
                return true;
            }
            p = p_end + 1;
            s = s_end + 1;
            continue;
        }
        if (deep == NULL) {
            return false;
        }
        const char *end = part_end(deep_s);
        if (*end == '\0') {
            return false;
        }
        s = deep_s = end + 1;
        p = deep;
    }
}

bool load_glob_matches(const char *pattern, const char *path)
{
    return pattern[0] == '/' && path[0] == '/' && parts_match(pattern + 1, path + 1);
}

/* ---- folders ---- */

grebe_status load_files_put(struct arena *ar, struct load_files *list, const struct load_file *f, grebe_error *err)
{
    if (list->n == list->capacity) {
        size_t capacity = list->capacity == 0 ? 16 : list->capacity * 2;
        struct load_file *items = arena_array(ar, capacity, sizeof *items);
        if (items == NULL) {
            return mem_fail(err, capacity * sizeof *items, "files");
        }
        if (list->n > 0) {
            memcpy(items, list->items, list->n * sizeof *items);
        }
        list->items = items;
        list->capacity = capacity;
    }
    list->items[list->n++] = *f;
    return GREBE_OK;
}

struct walk {
    struct arena *ar;
    struct io_store *store;
    const char *folder;
    int depth_max; /* 0: none */
    struct load_files *out;
};

/* What lies in one folder is listed whole before its folders are entered: one open folder at a time. */
struct entries {
    struct arena *ar;
    const char *folder;
    struct load_files files, folders;
    struct io_store *store;
};

static grebe_status see_entry(void *arg, const char *name, enum io_kind kind, grebe_error *err)
{
    struct entries *e = arg;
    size_t folder_len = strlen(e->folder), name_len = strlen(name);
    bool has_slash = folder_len > 0 && e->folder[folder_len - 1] == '/';
    char *path = arena_alloc(e->ar, folder_len + name_len + 2);
    if (path == NULL) {
        return mem_fail(err, folder_len + name_len + 2, "a path");
    }
    memcpy(path, e->folder, folder_len);
    path[folder_len] = '/';
    memcpy(path + folder_len + !has_slash, name, name_len + 1);
    struct load_file f = { path, 0, 0 };
    if (kind == IO_OTHER) { /* a link to a file counts as the file, one to a folder is not followed */
        struct io_info info;
        if (io_stat(e->store, path, &info, NULL) != GREBE_OK || info.kind != IO_FILE) {
            return GREBE_OK;
        }
    }
    return load_files_put(e->ar, kind == IO_FOLDER ? &e->folders : &e->files, &f, err);
}

static grebe_status walk_folder(struct walk *w, const char *folder, int depth, grebe_error *err)
{
    struct entries e = { w->ar, folder, { NULL, 0, 0 }, { NULL, 0, 0 }, w->store };
    if (depth > WALK_DEPTH_MAX) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "%s: more than %d folders deep", folder, WALK_DEPTH_MAX);
    }
    grebe_status st = io_list(w->store, folder, see_entry, &e, err);
    if (st == GREBE_ENOTFOUND) {
        return GREBE_OK;
    }
    for (size_t i = 0; st == GREBE_OK && i < e.files.n; i++) {
        st = load_files_put(w->ar, w->out, &e.files.items[i], err);
    }
    if (st == GREBE_OK && w->out->n > WALK_FILES_MAX) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "%s: more than %d files", w->folder, WALK_FILES_MAX);
    }
    if (w->depth_max > 0 && depth >= w->depth_max) {
        return st;
    }
    for (size_t i = 0; st == GREBE_OK && i < e.folders.n; i++) {
        st = walk_folder(w, e.folders.items[i].path, depth + 1, err);
    }
    return st;
}

static int by_path(const void *x, const void *y)
{
    return strcmp(((const struct load_file *)x)->path, ((const struct load_file *)y)->path);
}

grebe_status load_walk(struct arena *ar, struct io_store *store, const char *folder, int depth, struct load_files *out,
                       grebe_error *err)
{
    struct walk w = { ar, store, folder, depth, out };
    *out = (struct load_files){ NULL, 0, 0 };
    grebe_status st = walk_folder(&w, folder, 1, err);
    if (st == GREBE_OK && out->n > 1) {
        qsort(out->items, out->n, sizeof *out->items, by_path);
    }
    return st;
}

/* ---- patterns ---- */

static grebe_status check_pattern(const char *pattern, int *depth, const char *magic, grebe_error *err)
{
    *depth = 1;
    for (const char *p = pattern; *p != '\0';) {
        const char *end = part_end(p);
        for (const char *s = p; s + 1 < end; s++) {
            if (s[0] == '*' && s[1] == '*') {
                if (!is_deep(p, end)) {
                    char quoted[120];
                    return GREBE_FAIL(err, GREBE_EINVAL, "pattern \"%s\": \"**\" can only be a whole part of a path",
                                      error_quote(quoted, sizeof quoted, pattern, strlen(pattern)));
                }
                *depth = 0;
            }
        }
        if (end > magic && *end == '/' && *depth > 0) {
            ++*depth;
        }
        p = *end == '/' ? end + 1 : end;
    }
    return GREBE_OK;
}

/* The file of that path, where there is one. */
static grebe_status put_file(struct arena *ar, struct io_store *store, const char *path, struct load_files *out, grebe_error *err)
{
    struct io_info info;
    struct load_file f = { arena_str(ar, path, strlen(path)), 0, 0 };
    if (f.path == NULL) {
        return mem_fail(err, strlen(path), "a path");
    }
    return io_stat(store, path, &info, NULL) == GREBE_OK && info.kind == IO_FILE ? load_files_put(ar, out, &f, err) : GREBE_OK;
}

grebe_status load_glob(struct arena *ar, struct io_store *store, const char *pattern, struct load_files *out, grebe_error *err)
{
    struct load_files all = { NULL, 0, 0 };
    const char *magic = NULL, *begin = plain_begin(ar, pattern, &magic);
    *out = (struct load_files){ NULL, 0, 0 };
    if (begin == NULL) {
        return mem_fail(err, strlen(pattern), "a path");
    }
    if (*magic == '\0') {
        return put_file(ar, store, begin, out, err);
    }
    int depth = 0;
    grebe_status st = check_pattern(pattern, &depth, magic, err);
    const char *slash = strrchr(begin, '/');
    size_t root_len = slash != NULL ? (size_t)(slash - begin) + 1 : 0;
    const char *root = arena_str(ar, begin, root_len > 1 ? root_len - 1 : root_len);
    if (st == GREBE_OK && root == NULL) {
        st = mem_fail(err, root_len, "a path");
    }
    if (st == GREBE_OK) {
        st = load_walk(ar, store, root, depth, &all, err);
    }
    for (size_t i = 0; st == GREBE_OK && i < all.n; i++) {
        if (load_glob_matches(pattern, all.items[i].path)) {
            st = load_files_put(ar, out, &all.items[i], err);
        }
    }
    return st;
}
