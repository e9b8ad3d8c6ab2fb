/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GIT_GIT_GIT_API_H
#define GREBE_GIT_GIT_GIT_API_H

/*
 * libgit2 loaded when it is first needed. It and the fifteen libraries that it needs (TLS, ssh, Kerberos) take 1.3 ms of the start of
 * every process that is linked with them, a third of that of `grebe`; what most commands do with a repository needs none of it.
 */

#include <git2.h>

#include "base/error.h"

/* The functions that are used, without "git_". */
#define REPO_GIT_FUNCTIONS(X)                                                                              \
    X(libgit2_init) X(libgit2_shutdown) X(libgit2_opts) X(error_last) X(error_set_str)                    \
    X(repository_open_ext) X(repository_init_ext) X(repository_init_options_init) X(repository_free)      \
    X(repository_path) X(repository_commondir) X(repository_is_bare) X(repository_config_snapshot)        \
    X(config_get_entry) X(config_entry_free) X(config_free)                                               \
    X(reference_lookup) X(reference_name_to_id) X(reference_target) X(reference_delete) X(reference_free) \
    X(revparse_single) X(object_id) X(object_free) X(merge_base)                                          \
    X(remote_lookup) X(remote_create_anonymous) X(remote_free) X(remote_init_callbacks) X(remote_connect) \
    X(remote_ls) X(remote_download) X(remote_update_tips) X(remote_disconnect) X(remote_push)             \
    X(push_options_init) X(fetch_options_init)                                                            \
    X(credential_ssh_key_from_agent) X(credential_username_new)

struct git_api {
    void *library;
#define REPO_GIT_MEMBER(name) __typeof__(&git_##name) name;
    REPO_GIT_FUNCTIONS(REPO_GIT_MEMBER)
#undef REPO_GIT_MEMBER
};

/** Load the version that the headers are of. GREBE_OK; GREBE_EUNSUPPORTED: it is not installed. */
grebe_status git_api_load(struct git_api *out, grebe_error *err);
void git_api_unload(struct git_api *api);

#endif
