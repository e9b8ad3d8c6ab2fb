/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"
#include "opt.h"
#include "out.h"
#include "progress.h"

/* The one thing a signal handler can reach; set before the handler is installed. */
static grebe_cancel *interrupt_token;

static void on_interrupt(int signal_number)
{
    grebe_cancel_set(interrupt_token);
    /* A second one ends the process at once. */
    signal(signal_number, SIG_DFL);
}

static void log_line(void *log_ctx, grebe_log_level level, const char *line)
{
    struct cli *cli = log_ctx;
    if (level == GREBE_LOG_WARNING || cli->is_verbose) {
        out_note(cli, "%s", line);
    }
}

static void env_option(const char *name, uint64_t *out)
{
    const char *text = getenv(name);
    char *end = NULL;
    if (text != NULL && *text >= '0' && *text <= '9') {
        errno = 0;
        unsigned long long v = strtoull(text, &end, 10);
        static const char suffixes[] = "KMGT";
        const char *s = *end != '\0' ? strchr(suffixes, *end) : NULL;
        if (errno == 0 && (*end == '\0' || s != NULL)) {
            unsigned shift = s != NULL ? 10 * (unsigned)(s - suffixes + 1) : 0;
            *out = v > UINT64_MAX >> shift ? UINT64_MAX : (uint64_t)v << shift;
        }
    }
}

static int set_up(struct cli *cli)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_context_options o = GREBE_CONTEXT_OPTIONS_INIT;
    uint64_t threads = 0, memory = 0;
    int64_t threads_given = 0;
    int format = 0, progress_mode = 0;

    int code = opt_choice(cli, "format", "table|json|jsonl|csv|arrow", &format);
    cli->format = format;
    cli->is_quiet = opt_has(cli, "quiet");
    cli->is_verbose = opt_has(cli, "verbose");
    const char *no_color = getenv("NO_COLOR");
    cli->is_colored = isatty(STDOUT_FILENO) && (no_color == NULL || *no_color == '\0');
    env_option("GREBE_THREADS", &threads);
    env_option("GREBE_MEMORY_LIMIT", &memory);
    threads_given = threads > 256 ? 256 : (int64_t)threads;
    code = code != 0 ? code : opt_int(cli, "threads", 1, 256, &threads_given);
    code = code != 0 ? code : opt_size(cli, "memory-limit", &memory);
    code = code != 0 ? code : opt_choice(cli, "progress", "auto|always|never|json", &progress_mode);
    if (code != 0) {
        return code;
    }
    o.threads = (uint32_t)threads_given;
    o.memory_limit_bytes = memory;
    o.log = log_line;
    o.log_ctx = cli;
    if (grebe_context_new(&o, &cli->ctx, &err) != GREBE_OK ||
        grebe_cancel_new(cli->ctx, &cli->cancel, &err) != GREBE_OK) {
        return out_error(cli, "start", &err);
    }
    cli->progress = cli->is_quiet ? NULL : progress_new((enum progress_mode)progress_mode);
    cli->call = (grebe_call_options)GREBE_CALL_OPTIONS_INIT;
    cli->call.cancel = cli->cancel;
    if (cli->progress != NULL) {
        cli->call.progress = progress_update;
        cli->call.progress_ctx = cli->progress;
    }
    interrupt_token = cli->cancel;
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_interrupt;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    struct sigaction hangup; /* a terminal that is closed, unless nohup says otherwise */
    if (sigaction(SIGHUP, NULL, &hangup) == 0 && hangup.sa_handler != SIG_IGN) {
        sigaction(SIGHUP, &action, NULL);
    }
    return 0;
}

/* The sub-command that the first word names becomes cli->cmd; without one, or with --help, the help of the verb. */
static int find_sub(struct cli *cli, char ***words, size_t *n_words)
{
    const struct cmd *verb = cli->cmd;
    const char *sub = *n_words > 0 ? (*words)[0] : "--help";
    cli->cmd = cmd_find_sub(verb, sub);
    if (cli->cmd != NULL) {
        ++*words;
        --*n_words;
        return 0;
    }
    if (strcmp(sub, "--help") == 0 || strcmp(sub, "-h") == 0 || strcmp(sub, "help") == 0) {
        static char *name[1];
        name[0] = cli_copy(cli, verb->name);
        cli->positional = name;
        cli->n_positional = 1;
        cli->cmd = cmd_find("help");
        return 0;
    }
    const char *names[64];
    size_t n = 0;
    for (size_t i = 0; verb->subs[i] != NULL; i++) {
        names[n++] = verb->subs[i]->name + strlen(verb->name) + 1;
    }
    cli->cmd = verb;
    const char *near = nearest_word(sub, names, n);
    return near != NULL ? out_usage(cli, "unknown command %s: did you mean %s?", sub, near)
                        : out_usage(cli, "unknown command %s", sub);
}

static int run(struct cli *cli, int argc, char **argv)
{
    const char *verb = argc > 1 ? argv[1] : "help";
    if (strcmp(verb, "--help") == 0 || strcmp(verb, "-h") == 0) {
        verb = "help";
    } else if (strcmp(verb, "--version") == 0 || strcmp(verb, "-V") == 0) {
        verb = "version";
    }
    cli->cmd = cmd_find(verb);
    if (cli->cmd == NULL) {
        const char *names[64];
        size_t n = 0;
        for (size_t i = 0; cmd_list[i] != NULL; i++) {
            names[n++] = cmd_list[i]->name;
        }
        const char *near = nearest_word(verb, names, n);
        return near != NULL ? out_usage(cli, "unknown verb %s: did you mean %s?", verb, near)
                            : out_usage(cli, "unknown verb %s", verb);
    }
    size_t n_words = argc > 2 ? (size_t)argc - 2 : 0;
    for (size_t i = 0; i < n_words; i++) { /* so that even a usage error has the right form */
        const char *w = argv[i + 2];
        if (strcmp(w, "--format=json") == 0 || strcmp(w, "--format=jsonl") == 0 ||
            (strcmp(w, "--format") == 0 && i + 1 < n_words && strncmp(argv[i + 3], "json", 4) == 0)) {
            cli->format = GREBE_PRINT_JSON;
        }
        if (strcmp(w, "--") == 0) {
            break;
        }
    }
    char **words = argv + 2;
    if (cli->cmd->subs != NULL) {
        int failed = find_sub(cli, &words, &n_words);
        if (failed != 0 || cli->cmd->run == cmd_help) {
            return failed != 0 ? failed : cli->cmd->run(cli);
        }
    }
    if (cli->cmd->options == own_words) {
        cli->positional = argv + 2;
        cli->n_positional = n_words;
        int failed = set_up(cli);
        return failed != 0 ? failed : cli->cmd->run(cli);
    }
    int code = opt_parse(cli, words, n_words);
    if (code != 0) {
        return code;
    }
    if (opt_has(cli, "help")) {
        const struct cmd *help = cmd_find("help");
        cli->positional = &argv[1];
        cli->n_positional = words == argv + 2 ? 1 : 2;
        cli->cmd = help;
        return help->run(cli);
    }
    if (cli->n_positional < cli->cmd->positional_min) {
        return out_usage(cli, "expected %s%zu argument%s, found %zu",
                         cli->cmd->positional_min == cli->cmd->positional_max ? "" : "at least ",
                         cli->cmd->positional_min, cli->cmd->positional_min == 1 ? "" : "s",
                         cli->n_positional);
    }
    if (cli->n_positional > cli->cmd->positional_max) {
        return out_usage(cli, "unexpected argument \"%s\"",
                         cli->positional[cli->cmd->positional_max]);
    }
    code = set_up(cli);
    return code != 0 ? code : cli->cmd->run(cli);
}

/*
 * Standard streams that were closed are opened the other way round, so that using one fails as it
 * should, and no file that is opened later gets its number.
 */
static void open_standard_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF &&
            open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd) {
            _exit(EXIT_CODE_FAILURE);
        }
    }
}

int main(int argc, char **argv)
{
    static struct cli cli; /* large; zero */
    static char buffer[1 << 18];
    open_standard_streams();
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a write beyond the limit fails as one on a full disk does */
    setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
    int code = run(&cli, argc, argv);
    progress_free(cli.progress);
    cli.progress = NULL;
    code = out_finish(&cli, code);
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    signal(SIGHUP, SIG_DFL);
    grebe_cancel_free(cli.cancel);
    grebe_context_free(cli.ctx);
    cli_free_all(&cli);
    return code;
}
