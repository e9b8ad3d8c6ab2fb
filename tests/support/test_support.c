/* SPDX-License-Identifier: Apache-2.0 */
#include "test_support.h"

#include <ftw.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* Worker threads of a context allocate too. */
static pthread_mutex_t counting = PTHREAD_MUTEX_INITIALIZER;

static void *counting_alloc(void *ctx, size_t size, size_t align)
{
    struct test_allocator *t = ctx;
    void *p = NULL;
    pthread_mutex_lock(&counting);
    t->n_calls++;
    if ((t->fail_at == 0 || t->n_calls < t->fail_at) && posix_memalign(&p, align < 16 ? 16 : align, size) == 0) {
        t->live_bytes += size;
        t->n_live++;
        if (t->live_bytes > t->peak_bytes) {
            t->peak_bytes = t->live_bytes;
        }
        if (size > t->largest_bytes) {
            t->largest_bytes = size;
        }
    } else {
        p = NULL;
    }
    pthread_mutex_unlock(&counting);
    return p;
}

static void counting_free(void *ctx, void *p, size_t size, size_t align)
{
    struct test_allocator *t = ctx;
    (void)align;
    pthread_mutex_lock(&counting);
    const bool is_known = t->n_live > 0 && t->live_bytes >= size;
    t->live_bytes -= size;
    t->n_live--;
    pthread_mutex_unlock(&counting);
    assert_true(is_known);
    free(p);
}

static void *counting_resize(void *ctx, void *p, size_t old_size, size_t new_size, size_t align)
{
    void *grown = counting_alloc(ctx, new_size, align);
    if (grown != NULL) {
        memcpy(grown, p, old_size < new_size ? old_size : new_size);
        counting_free(ctx, p, old_size, align);
    }
    return grown;
}

void test_allocator_init(struct test_allocator *t)
{
    memset(t, 0, sizeof *t);
    t->a = (grebe_allocator){ t, counting_alloc, counting_resize, counting_free };
}

char *test_folder_new(void)
{
    const char *tmp = getenv("TMPDIR");
    char path[512];
    snprintf(path, sizeof path, "%s/grebe-test-XXXXXX", tmp != NULL ? tmp : "/tmp");
    assert_non_null(mkdtemp(path));
    return strdup(path);
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
    (void)st;
    (void)flag;
    (void)ftw;
    return remove(path);
}

void test_folder_remove(char *path)
{
    nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    free(path);
}

unsigned char *test_read_file(const char *path, size_t *len)
{
    FILE *f = fopen(path, "rb");
    if (f == NULL) {
        fail_msg("cannot open %s", path);
    }
    fseek(f, 0, SEEK_END);
    long size = ftell(f);
    rewind(f);
    unsigned char *bytes = malloc((size_t)size + 1);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, (size_t)size, f), size);
    fclose(f);
    *len = (size_t)size;
    return bytes;
}

void test_write_file(const char *path, const void *bytes, size_t len)
{
    FILE *f = fopen(path, "wb");
    if (f == NULL) {
        fail_msg("cannot create %s", path);
    }
    assert_int_equal(fwrite(bytes, 1, len, f), len);
    fclose(f);
}

uint64_t test_seed(void)
{
    const char *fixed = getenv("GREBE_TEST_SEED");
    uint64_t seed = fixed != NULL ? strtoull(fixed, NULL, 10) : (uint64_t)time(NULL);
    print_message("GREBE_TEST_SEED=%llu\n", (unsigned long long)seed);
    return seed;
}

uint64_t test_random(uint64_t *state)
{
    /* splitmix64, Steele, Lea, Flood 2014 */
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}
