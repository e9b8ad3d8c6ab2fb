/* SPDX-License-Identifier: Apache-2.0 */
#include "git/git_discover.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CONFIG_MAX = 16 << 10 };

static bool has(const char *folder, const char *name, mode_t kind, uid_t *owner)
{
    char path[PATH_MAX + 64];
    struct stat info;
    snprintf(path, sizeof path, "%s%s%s", folder, name[0] != '\0' ? "/" : "", name);
    if (stat(path, &info) != 0 || (info.st_mode & S_IFMT) != kind) {
        return false;
    }
    if (owner != NULL) {
        *owner = info.st_uid;
    }
    return true;
}

/* The text of the configuration, NUL-terminated; false: none, or longer than plain ones are. */
static bool read_config(const char *folder, char text[CONFIG_MAX])
{
    char path[PATH_MAX + 64];
    snprintf(path, sizeof path, "%s/config", folder);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        return false;
    }
    ssize_t n = read(fd, text, CONFIG_MAX - 1);
    close(fd);
    if (n < 0 || n == CONFIG_MAX - 1 || memchr(text, '\0', (size_t)n) != NULL) {
        return false;
    }
    text[n] = '\0';
    return true;
}

/* Value of "key = value" if the line has this key (any case), else NULL. */
static const char *value_of(const char *line, const char *key)
{
    size_t n = strlen(key);
    if (strncasecmp(line, key, n) != 0) {
        return NULL;
    }
    line += n + strspn(line + n, " \t");
    return *line == '=' ? line + 1 + strspn(line + 1, " \t") : NULL;
}

/* Reads [core]: *is_bare. false: something is in it that needs a real reader of configurations. */
static bool config_is_plain(char *text, bool *is_bare)
{
    bool is_core = false, has_bare = false;
    char *rest = NULL;
    if (strchr(text, '\\') != NULL || strchr(text, ';') != NULL) { /* continued lines, comments behind values */
        return false;
    }
    for (char *line = strtok_r(text, "\r\n", &rest); line != NULL; line = strtok_r(NULL, "\r\n", &rest)) {
        line += strspn(line, " \t");
        if (*line == '[') {
            is_core = strncasecmp(line, "[core]", 6) == 0;
            if (strncasecmp(line, "[include", 8) == 0 || strncasecmp(line, "[extensions", 11) == 0 ||
                (is_core && line[6] != '\0') || (!is_core && strncasecmp(line, "[core", 5) == 0)) {
                return false;
            }
            continue;
        }
        if (!is_core) {
            continue;
        }
        const char *version = value_of(line, "repositoryformatversion");
        const char *bare = value_of(line, "bare");
        if (strncasecmp(line, "worktree", 8) == 0 || (version != NULL && strcmp(version, "0") != 0)) {
            return false;
        }
        if (bare != NULL) {
            has_bare = strcmp(bare, "true") == 0 || strcmp(bare, "false") == 0;
            *is_bare = strcmp(bare, "true") == 0;
            if (!has_bare) {
                return false;
            }
        }
    }
    return has_bare;
}

static bool is_plain(const char *folder, bool is_below, bool *is_bare)
{
    char config[CONFIG_MAX];
    uid_t owner = 0;
    if (!has(folder, "", S_IFDIR, &owner) || owner != geteuid() || !has(folder, "HEAD", S_IFREG, NULL) ||
        !has(folder, "objects", S_IFDIR, NULL) || !has(folder, "refs", S_IFDIR, NULL) ||
        has(folder, "commondir", S_IFREG, NULL)) {
        return false;
    }
    return read_config(folder, config) && config_is_plain(config, is_bare) && *is_bare == !is_below;
}

grebe_status repo_discover(const char *path, struct buf *folder, bool *is_bare, bool *is_found, grebe_error *err)
{
    char resolved[PATH_MAX], below[PATH_MAX + 8];
    struct stat info;
    *is_found = false;
    if (realpath(path, resolved) == NULL) {
        return GREBE_OK;
    }
    snprintf(below, sizeof below, "%s/.git", resolved);
    bool is_below = lstat(below, &info) == 0;
    uid_t owner = 0;
    if (is_below && (!S_ISDIR(info.st_mode) || !has(resolved, "", S_IFDIR, &owner) || owner != geteuid())) {
        return GREBE_OK; /* a link to somewhere else, or not ours */
    }
    const char *place = is_below ? below : resolved;
    *is_found = is_plain(place, is_below, is_bare);
    return *is_found ? buf_put_text(folder, place, err) : GREBE_OK;
}
