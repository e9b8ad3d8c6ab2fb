/* SPDX-License-Identifier: Apache-2.0 */
#include "progress.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "out.h"

enum { UPDATE_NS = 100000000, SILENT_NS = 500000000 }; /* ten a second; nothing for short work */

struct progress {
    bool is_json;
    bool is_shown;
    int64_t started_ns, last_ns;
};

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

struct progress *progress_new(enum progress_mode mode)
{
    if (mode == PROGRESS_NEVER || (mode == PROGRESS_AUTO && !isatty(STDERR_FILENO))) {
        return NULL;
    }
    struct progress *p = calloc(1, sizeof *p);
    if (p != NULL) {
        p->is_json = mode == PROGRESS_JSON;
        p->started_ns = now_ns();
        p->last_ns = mode == PROGRESS_AUTO ? p->started_ns + SILENT_NS : 0;
    }
    return p;
}

static void show_json(const grebe_progress *g, double seconds)
{
    fprintf(stderr,
            "{\"progress\":{\"phase\":\"%s\",\"rows\":%llu,\"rows_total\":%llu,\"bytes\":%llu,"
            "\"bytes_total\":%llu,\"seconds\":%.3f}}\n",
            g->phase, (unsigned long long)g->rows_done, (unsigned long long)g->rows_total,
            (unsigned long long)g->bytes_done, (unsigned long long)g->bytes_total, seconds);
}

static void show_line(const grebe_progress *g, double seconds)
{
    char done[16], rate[16];
    uint64_t bytes_per_s = seconds > 0 ? (uint64_t)((double)g->bytes_done / seconds) : 0;
    fprintf(stderr, "\r\033[K%s: %llu rows, %s, %s/s", g->phase, (unsigned long long)g->rows_done,
            size_text(done, g->bytes_done), size_text(rate, bytes_per_s));
    if (g->rows_total > g->rows_done && g->rows_done > 0) {
        double left = seconds * (double)(g->rows_total - g->rows_done) / (double)g->rows_done;
        fprintf(stderr, ", %.0f %%, %.0f s left",
                100.0 * (double)g->rows_done / (double)g->rows_total, left);
    }
    fflush(stderr);
}

void progress_update(void *progress_ctx, const grebe_progress *now)
{
    struct progress *p = progress_ctx;
    int64_t t = now_ns();
    if (t - p->last_ns < UPDATE_NS) {
        return;
    }
    p->last_ns = t;
    double seconds = (double)(t - p->started_ns) / 1e9;
    if (p->is_json) {
        show_json(now, seconds);
    } else {
        show_line(now, seconds);
        p->is_shown = true;
    }
}

void progress_clear(struct progress *p)
{
    if (p != NULL && p->is_shown) {
        fputs("\r\033[K", stderr);
        p->is_shown = false;
    }
}

void progress_free(struct progress *p)
{
    progress_clear(p);
    free(p);
}
