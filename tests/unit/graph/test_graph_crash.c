/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preprocessing that dies, or that the system refuses a call, at each of its system calls in turn: the old result or
 * the new one stands there, whole. The process is traced, so that what happens between two calls of any kind is met.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <sys/user.h>
#endif

#include "graph/graph_dataset.h"
#include "graph_data.h"

/* Traced from here on; 0: made, 1: failed, as it may. */
static void child_main(struct fixture *f, bool without_ids, bool is_durable)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_context *ctx = NULL;
    grebe_context_options c = GREBE_CONTEXT_OPTIONS_INIT;
    grebe_graph_options o = GREBE_GRAPH_OPTIONS_INIT;
    c.threads = 1;
    o.force = GREBE_GRAPH_ALWAYS;
    o.is_durable = is_durable;
    o.edge_ids = without_ids ? GREBE_GRAPH_EDGE_IDS_DROPPED : GREBE_GRAPH_EDGE_IDS_KEPT;
    if (context_new(&c, &ctx, &err) != GREBE_OK || ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0) {
        _exit(2);
    }
    raise(SIGSTOP);
    _exit(grebe_graph_preprocess(ctx, f->folder, &o, NULL, &err) == GREBE_OK ? 0 : 1);
}

/* Lets the child go on to its next entry into the system, or back out of it. False: it has ended, with *status. */
static bool to_next_stop(pid_t child, int *status)
{
    return ptrace(PTRACE_SYSCALL, child, NULL, NULL) == 0 && waitpid(child, status, 0) == child && WIFSTOPPED(*status);
}

static pid_t start(struct fixture *f, bool without_ids, bool is_durable, int *status)
{
    pid_t child = fork();
    if (child == 0) {
        child_main(f, without_ids, is_durable);
    }
    assert_int_equal(waitpid(child, status, 0), child);
    if (WIFEXITED(*status) && WEXITSTATUS(*status) == 2) {
        print_message("[  SKIPPED ] processes cannot be traced here\n");
        skip();
    }
    return child;
}

/* The result is whole. Gives whether it has no ids of edges: which of the two it is. */
static bool check_result(struct fixture *f, int at)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_graph *g = NULL;
    grebe_graph_options o = GREBE_GRAPH_OPTIONS_INIT;
    grebe_graph_made made;
    size_t n_errors = 1;
    grebe_status st = grebe_graph_open(f->ctx, f->folder, &g, &err);
    if (st != GREBE_OK) {
        fail_msg("call %d: %s", at, err.message);
    }
    bool is_bare = graph_edge_attribute(graph_dataset_csc(g), "_ORIGINAL_EDGE_ID") == NULL;
    assert_ok(grebe_graph_verify(g, NULL, &n_errors, &err));
    if (n_errors != 0) {
        fail_msg("call %d: %zu errors in what is there", at, n_errors);
    }
    grebe_graph_close(g);
    o.edge_ids = is_bare ? GREBE_GRAPH_EDGE_IDS_DROPPED : GREBE_GRAPH_EDGE_IDS_KEPT; /* the manifest is that of the same result, and names all files of it */
    assert_ok(grebe_graph_preprocess(f->ctx, f->folder, &o, &made, &err));
    if (!made.is_reused) {
        fail_msg("call %d: what is there does not fit its manifest: %s", at, made.reason);
    }
    return is_bare;
}

static void remove_leftovers(struct fixture *f)
{
    char command[900];
    snprintf(command, sizeof command, "rm -rf %s/preprocessed.tmp-*", f->folder);
    assert_int_equal(system(command), 0);
}

static void begin(struct fixture *f)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_graph_options o = GREBE_GRAPH_OPTIONS_INIT;
    float x[300] = { 0 };
    make_data(f, 400, 300, 40);
    char path[700];
    path_in(f, "metadata.yaml", path, sizeof path);
    FILE *file = fopen(path, "a");
    fputs("feature_data:\n- {domain: node, type: a, name: x, format: numpy, path: x.npy}\n", file);
    fclose(file);
    put_npy(f, "x.npy", ARRAY_F32, (uint64_t[]){ 300, 1 }, 2, x, sizeof x);
    o.edge_ids = GREBE_GRAPH_EDGE_IDS_DROPPED;
    assert_ok(grebe_graph_preprocess(f->ctx, f->folder, &o, NULL, &err));
}

static void test_killed__at_any_system_call__old_or_new_result(void **state)
{
    struct fixture *f = *state;
    int n_old = 0, n_new = 0;
    bool was_bare = true, is_whole = false;
    begin(f);
    for (int n = 1; !is_whole; n++) {
        int status = 0;
        pid_t child = start(f, !was_bare, false, &status);
        bool is_stopped = true;
        for (int k = 0; k < n && is_stopped; k++) {
            is_stopped = to_next_stop(child, &status);
        }
        is_whole = !is_stopped;
        if (is_stopped) {
            kill(child, SIGKILL);
            waitpid(child, &status, 0);
        } else {
            assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        }
        bool is_bare = check_result(f, n);
        assert_true(!is_whole || is_bare != was_bare);
        n_old += is_bare == was_bare ? 1 : 0;
        n_new += is_bare != was_bare ? 1 : 0;
        was_bare = is_bare;
        remove_leftovers(f);
    }
    assert_true(n_old > 100); /* killed before the names were exchanged, */
    assert_true(n_new > 5);   /* and after, while the old result was removed */
}

/* ---- an input that is written to meanwhile ---- */

static void write_x(struct fixture *f, int n)
{
    char path[700];
    float x[300];
    const struct timespec times[2] = { { 1000000 + n, 0 }, { 1000000 + n, 0 } }; /* clocks may be too coarse to differ */
    for (int i = 0; i < 300; i++) {
        x[i] = (float)n;
    }
    path_in(f, "x.npy", path, sizeof path);
    int fd = open(path, O_WRONLY);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, x, sizeof x, 4096), sizeof x);
    assert_int_equal(futimens(fd, times), 0);
    close(fd);
}

static void test_written_to__at_any_system_call__is_told_or_seen_later(void **state)
{
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    bool is_over = false;
    int n_told = 0, n_seen = 0;
    begin(f);
    for (int n = 1; !is_over; n++) {
        int status = 0;
        grebe_graph *g = NULL;
        grebe_graph_array x;
        grebe_graph_made made;
        pid_t child = start(f, false, false, &status);
        bool is_stopped = true;
        for (int k = 0; k < n && is_stopped; k++) {
            is_stopped = to_next_stop(child, &status);
        }
        is_over = !is_stopped;
        write_x(f, n);
        if (is_stopped) {
            assert_int_equal(ptrace(PTRACE_CONT, child, NULL, NULL), 0);
            assert_int_equal(waitpid(child, &status, 0), child);
        }
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) <= 1);
        n_told += WEXITSTATUS(status);
        assert_ok(grebe_graph_preprocess(f->ctx, f->folder, NULL, &made, &err));
        n_seen += WEXITSTATUS(status) == 0 && !made.is_reused ? 1 : 0;
        assert_ok(grebe_graph_open(f->ctx, f->folder, &g, &err));
        assert_ok(grebe_graph_feature_values(g, 0, &x, &err));
        for (int i = 0; i < 300; i++) {
            if (((const float *)x.data)[i] != (float)n) {
                fail_msg("written to at call %d: row %d is %g", n, i, (double)((const float *)x.data)[i]);
            }
        }
        grebe_graph_close(g);
    }
    assert_true(n_told > 10 && n_seen > 5);
}

#if defined(__x86_64__)

static int refusal_of(long call)
{
    switch (call) {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* whose own allocators end the process */
    case SYS_mmap: return ENOMEM;
#endif
    case SYS_write:
    case SYS_pwrite64: return ENOSPC;
    case SYS_openat:
    case SYS_read:
    case SYS_pread64:
    case SYS_fsync:
    case SYS_ftruncate:
    case SYS_lseek:
    case SYS_mkdir:
    case SYS_rename:
    case SYS_renameat2:
    case SYS_unlink:
    case SYS_rmdir:
    case SYS_fstat:
    case SYS_newfstatat:
    case SYS_getdents64:
    case SYS_getrandom: return EIO;
    default: return 0;
    }
}

/* The n-th call that can be refused is. False: there were fewer. */
static bool refuse(pid_t child, int n, int *status, long *call)
{
    struct user_regs_struct r;
    while (to_next_stop(child, status)) { /* an entry */
        assert_int_equal(ptrace(PTRACE_GETREGS, child, NULL, &r), 0);
        int failure = refusal_of((long)r.orig_rax);
        bool is_refused = failure != 0 && --n == 0;
        *call = is_refused ? (long)r.orig_rax : *call;
        if (is_refused) {
            r.orig_rax = (unsigned long long)-1;
            assert_int_equal(ptrace(PTRACE_SETREGS, child, NULL, &r), 0);
        }
        if (!to_next_stop(child, status)) { /* the way out */
            return false;
        }
        if (is_refused) {
            assert_int_equal(ptrace(PTRACE_GETREGS, child, NULL, &r), 0);
            r.rax = (unsigned long long)-failure;
            assert_int_equal(ptrace(PTRACE_SETREGS, child, NULL, &r), 0);
            return true;
        }
    }
    return false;
}

static void test_refused__any_system_call__old_or_new_result(void **state)
{
    struct fixture *f = *state;
    bool was_bare = true, is_refused = true;
    int n_failed = 0;
    begin(f);
    for (int n = 1; is_refused; n++) {
        int status = 0;
        long call = 0;
        pid_t child = start(f, !was_bare, true, &status);
        is_refused = refuse(child, n, &status, &call);
        if (is_refused) {
            assert_int_equal(ptrace(PTRACE_CONT, child, NULL, NULL), 0);
            assert_int_equal(waitpid(child, &status, 0), child);
        }
        if (!WIFEXITED(status) || WEXITSTATUS(status) > 1) {
            fail_msg("call %d (number %ld) refused: ended with %x", n, call, (unsigned)status);
        }
        bool is_bare = check_result(f, n);
        if (WEXITSTATUS(status) == 0 && is_bare == was_bare) {
            fail_msg("call %d (number %ld) refused: success was told, nothing was made", n, call);
        }
        n_failed += WEXITSTATUS(status);
        was_bare = is_bare;
        remove_leftovers(f);
    }
    assert_true(n_failed > 50);
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_killed__at_any_system_call__old_or_new_result, fixture_set_up,
                                        fixture_tear_down),
        cmocka_unit_test_setup_teardown(test_written_to__at_any_system_call__is_told_or_seen_later, fixture_set_up,
                                        fixture_tear_down),
#if defined(__x86_64__)
        cmocka_unit_test_setup_teardown(test_refused__any_system_call__old_or_new_result, fixture_set_up,
                                        fixture_tear_down),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
