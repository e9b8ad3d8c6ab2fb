/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GIT_GIT_DISCOVER_H
#define GREBE_GIT_GIT_DISCOVER_H

/*
 * Plain repositories found without libgit2, whose start (certificates for TLS, 5 ms) costs more than a small search. Whatever is
 * not plain (worktrees, extensions, included or unusual configuration, a foreign owner) is left to libgit2.
 */

#include <stdbool.h>

#include "base/buf.h"

/**
 * @param folder  The folder with HEAD, absolute, is put here when the repository is plain.
 * @param is_found false: ask libgit2.
 * @return GREBE_OK; GREBE_ENOMEM.
 */
grebe_status repo_discover(const char *path, struct buf *folder, bool *is_bare, bool *is_found, grebe_error *err);

#endif
