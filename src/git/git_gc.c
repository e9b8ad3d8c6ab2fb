/* SPDX-License-Identifier: Apache-2.0 */
#include "git/git_repo.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "git/git_library.h"

/* git's words go nowhere: a library does not print, and its exit status says what there is to say. */
static int spawn_git(char *const argv[], pid_t *pid)
{
    extern char **environ;
    posix_spawn_file_actions_t actions;
    int failed = posix_spawn_file_actions_init(&actions);
    if (failed != 0) {
        return failed;
    }
    failed = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (failed == 0) {
        failed = posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    }
    if (failed == 0) {
        failed = posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    }
    if (failed == 0) {
        failed = posix_spawnp(pid, "git", &actions, NULL, argv, environ);
    }
    posix_spawn_file_actions_destroy(&actions);
    return failed;
}

/* A ".keep" file of ours is needed for the moment between a pack and its reference: an old one is of a writer that was killed. */
static void drop_old_keeps(struct buf *path)
{
    enum { OLD_SECONDS = 60 };
    size_t stem = path->len;
    DIR *dir = opendir(buf_text(path));
    for (const struct dirent *e; dir != NULL && (e = readdir(dir)) != NULL;) {
        struct stat s;
        char text[sizeof REPO_KEEP_TEXT];
        size_t len = strlen(e->d_name);
        path->len = stem;
        if (len < 5 || strcmp(e->d_name + len - 5, ".keep") != 0 || buf_printf(path, NULL, "/%s", e->d_name) != GREBE_OK) {
            continue;
        }
        int fd = open(buf_text(path), O_RDONLY | O_CLOEXEC);
        if (fd >= 0) {
            ssize_t n = read(fd, text, sizeof text);
            bool is_ours = n == (ssize_t)sizeof text - 1 && memcmp(text, REPO_KEEP_TEXT, sizeof text - 1) == 0;
            if (is_ours && fstat(fd, &s) == 0 && s.st_mtime + OLD_SECONDS < time(NULL)) {
                unlink(buf_text(path));
            }
            close(fd);
        }
    }
    if (dir != NULL) {
        closedir(dir);
    }
}

grebe_status repo_gc(struct repo *r, int64_t grace_seconds, grebe_error *err)
{
    char prune[64];
    char directory[] = "--git-dir";
    pid_t pid = 0;
    int status = 0;
    if (grace_seconds < 0) {
        return GREBE_FAIL(err, GREBE_EINVAL, "expected seconds of grace from 0, found %lld", (long long)grace_seconds);
    }
    snprintf(prune, sizeof prune, "--prune=%lld.seconds.ago", (long long)grace_seconds);
    struct buf folder = BUF_INIT(r->a);
    if (buf_printf(&folder, NULL, "%s/pack", r->objects) == GREBE_OK && buf_reserve(&folder, 256, NULL) == GREBE_OK) {
        drop_old_keeps(&folder);
    }
    buf_release(&folder);
    char *path = str_copy(r->a, r->git_dir);
    if (path == NULL) {
        return mem_fail(err, 0, "a path");
    }
    char *argv[] = { (char[]){ "git" }, directory, path, (char[]){ "gc" }, (char[]){ "--quiet" }, prune, NULL };
    int failed = spawn_git(argv, &pid);
    str_free(r->a, path);
    if (failed == ENOENT) {
        return GREBE_FAIL(err, GREBE_EUNSUPPORTED, "expected the command git, found none on PATH");
    }
    if (failed != 0) {
        return GREBE_FAIL_SYS(err, status_from_errno(failed), failed, "cannot run git");
    }
    while (waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR) {
            return GREBE_FAIL_SYS(err, GREBE_EIO, errno, "cannot wait for git");
        }
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127) {
        return GREBE_FAIL(err, GREBE_EUNSUPPORTED, "expected the command git, found none on PATH");
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        return GREBE_FAIL(err, GREBE_EIO, "%s: git gc failed (%s %d)", r->path,
                          WIFEXITED(status) ? "exit status" : "signal",
                          WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
    }
    return repo_refresh(r, err);
}
