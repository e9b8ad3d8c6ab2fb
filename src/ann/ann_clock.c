/* SPDX-License-Identifier: Apache-2.0 */
/* Clocks, and the memory of the process as Linux tells it. */
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ann/ann_run.h"
#include "base/number.h"

static double seconds_of(clockid_t clock)
{
    struct timespec t = { 0, 0 };
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double ann_seconds(void) { return seconds_of(CLOCK_MONOTONIC); }

double ann_cpu_seconds(void) { return seconds_of(CLOCK_PROCESS_CPUTIME_ID); }

/* "VmRSS:     1234 kB" */
static uint64_t bytes_after(const char *text, const char *name)
{
    const char *p = strstr(text, name);
    uint64_t kb = 0;
    if (p == NULL) {
        return 0;
    }
    p += strlen(name);
    p += strspn(p, " \t");
    return number_parse_u64(p, strspn(p, "0123456789"), &kb) ? kb * 1024 : 0;
}

void ann_memory(uint64_t *now, uint64_t *peak)
{
    char text[4096];
    size_t n = 0;
    int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && n < sizeof text - 1) {
        ssize_t got = read(fd, text + n, sizeof text - 1 - n);
        if (got <= 0) {
            break;
        }
        n += (size_t)got;
    }
    if (fd >= 0) {
        close(fd);
    }
    text[n] = '\0';
    *now = bytes_after(text, "VmRSS:");
    *peak = bytes_after(text, "VmHWM:");
}
