/* SPDX-License-Identifier: Apache-2.0 */
#include "out.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "progress.h"

int exit_code_of(grebe_status status)
{
    switch (status) {
    case GREBE_OK:
    case GREBE_END: return EXIT_CODE_OK;
    case GREBE_EINVAL: return EXIT_CODE_USAGE;
    case GREBE_ENOTFOUND: return EXIT_CODE_NOT_FOUND;
    case GREBE_EEXISTS: return EXIT_CODE_EXISTS;
    case GREBE_ECORRUPT: return EXIT_CODE_CORRUPT;
    case GREBE_EUNSUPPORTED: return EXIT_CODE_UNSUPPORTED;
    case GREBE_ECONFLICT: return EXIT_CODE_CONFLICT;
    case GREBE_EUNKNOWN_OUTCOME: return EXIT_CODE_UNKNOWN_OUTCOME;
    case GREBE_ENETWORK:
    case GREBE_EAUTH: return EXIT_CODE_NETWORK;
    case GREBE_ENOMEM:
    case GREBE_ELIMIT: return EXIT_CODE_LIMIT;
    case GREBE_ESCHEMA: return EXIT_CODE_SCHEMA;
    case GREBE_ECANCELLED: return EXIT_CODE_INTERRUPTED;
    case GREBE_EIO: return EXIT_CODE_FAILURE;
    }
    return EXIT_CODE_FAILURE;
}

int out_write(void *write_ctx, const void *bytes, size_t len)
{
    struct cli *cli = write_ctx;
    errno = 0;
    if (fwrite(bytes, 1, len, stdout) == len) {
        return 0;
    }
    cli->is_pipe_closed = errno == EPIPE;
    return errno != 0 ? errno : EIO;
}

void out_printf(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    vprintf(fmt, args);
    va_end(args);
}

static uint32_t screen_width(void)
{
    struct winsize size;
    if (isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) {
        return size.ws_col;
    }
    return 0;
}

int out_rows(struct cli *cli, struct ArrowArrayStream *rows)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_print_options o = GREBE_PRINT_OPTIONS_INIT;
    o.format = cli->format;
    o.width = screen_width();
    o.is_colored = cli->is_colored;
    o.call = &cli->call;
    grebe_status st = grebe_print_rows(cli->ctx, rows, &o, out_write, cli, NULL, &err);
    if (st != GREBE_OK && cli->is_pipe_closed) {
        return EXIT_CODE_OK;
    }
    return st == GREBE_OK ? 0 : out_error(cli, cli->cmd->name, &err);
}

int out_finish(struct cli *cli, int code)
{
    errno = 0;
    bool has_failed = fflush(stdout) != 0;
    int failed = errno;
    has_failed = has_failed || ferror(stdout);
    if (!has_failed || failed == EPIPE || cli->is_pipe_closed || code != 0) {
        return code;
    }
    if (failed == 0) {
        failed = EIO;
    }
    if (!cli->is_quiet) {
        fprintf(stderr, "grebe: standard output: %s\n", strerror(failed));
    }
    return failed == ENOSPC ? EXIT_CODE_LIMIT : EXIT_CODE_FAILURE;
}

/* Bytes of one UTF-8 character, 0 where there is none. */
static size_t utf8_len(const unsigned char *p)
{
    size_t n = p[0] < 0x80 ? 1 : p[0] < 0xc2 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : p[0] < 0xf5 ? 4 : 0;
    for (size_t i = 1; i < n; i++) {
        if ((p[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    bool is_bad = (p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) ||
                  (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f);
    return is_bad ? 0 : n;
}

/* What is no UTF-8 (a path may hold anything, a message may be cut) becomes U+FFFD. */
static void json_text(FILE *f, const char *text)
{
    fputc('"', f);
    for (const unsigned char *p = (const unsigned char *)text; *p != '\0'; p++) {
        size_t n = utf8_len(p);
        if (n != 1) {
            fwrite(n == 0 ? "\xef\xbf\xbd" : (const char *)p, 1, n == 0 ? 3 : n, f);
            p += n == 0 ? 0 : n - 1;
            continue;
        }
        if (*p == '"' || *p == '\\') {
            fprintf(f, "\\%c", *p);
        } else if (*p < 0x20) {
            fprintf(f, "\\u%04x", *p);
        } else {
            fputc(*p, f);
        }
    }
    fputc('"', f);
}

void out_json_text(const char *text) { json_text(stdout, text); }

static bool is_json(const struct cli *cli)
{
    return cli->format == GREBE_PRINT_JSON || cli->format == GREBE_PRINT_JSONL;
}

int out_error(struct cli *cli, const char *what, const grebe_error *err)
{
    progress_clear(cli->progress);
    fflush(stdout);
    if (is_json(cli)) {
        fprintf(stderr, "{\"error\":{\"status\":\"%s\",\"message\":", grebe_status_name(err->status));
        json_text(stderr, err->message);
        if (err->flags & GREBE_ERROR_HAS_OFFSET) {
            fprintf(stderr, ",\"offset\":%llu", (unsigned long long)err->offset);
        }
        if (err->flags & GREBE_ERROR_HAS_VERSIONS) {
            fprintf(stderr, ",\"read_version\":%llu,\"latest_version\":%llu",
                    (unsigned long long)err->read_version,
                    (unsigned long long)err->latest_version);
        }
        fprintf(stderr, ",\"retryable\":%s}}\n",
                err->flags & GREBE_ERROR_RETRYABLE ? "true" : "false");
    } else {
        fprintf(stderr, "grebe: %s: %s\n", what, err->message);
    }
    return exit_code_of(err->status);
}

int out_usage(struct cli *cli, const char *fmt, ...)
{
    grebe_error err = GREBE_ERROR_INIT;
    va_list args;
    va_start(args, fmt);
    vsnprintf(err.message, sizeof err.message, fmt, args);
    va_end(args);
    err.status = GREBE_EINVAL;
    const char *verb = cli->cmd != NULL ? cli->cmd->name : "grebe";
    out_error(cli, verb, &err);
    if (!is_json(cli) && !cli->is_quiet) {
        fprintf(stderr, "usage: grebe %s\n",
                cli->cmd != NULL ? cli->cmd->usage : "VERB …   (grebe help lists the verbs)");
    }
    return EXIT_CODE_USAGE;
}

void out_note(struct cli *cli, const char *fmt, ...)
{
    if (cli->is_quiet) {
        return;
    }
    progress_clear(cli->progress);
    fputs("grebe: ", stderr);
    va_list args;
    va_start(args, fmt);
    vfprintf(stderr, fmt, args);
    va_end(args);
    fputc('\n', stderr);
}

const char *size_text(char dst[16], uint64_t bytes)
{
    static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
    double v = (double)bytes;
    size_t u = 0;
    while (v >= 1024 && u < 6) {
        v /= 1024;
        u++;
    }
    snprintf(dst, 16, u == 0 ? "%.0f %s" : "%.1f %s", v, units[u]);
    return dst;
}

const char *time_text(char dst[40], int64_t time_us)
{
    if (time_us == INT64_MIN) {
        return "";
    }
    int64_t s = time_us / 1000000;
    if (time_us % 1000000 < 0) {
        s--;
    }
    time_t t = (time_t)s;
    struct tm tm;
    if (gmtime_r(&t, &tm) == NULL || strftime(dst, 40, "%Y-%m-%dT%H:%M:%SZ", &tm) == 0) {
        return "";
    }
    return dst;
}
