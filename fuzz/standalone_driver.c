/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a fuzz target on files and on every file of folders: corpus replay without libFuzzer. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int n_run;

static int run_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (f == NULL) {
        fprintf(stderr, "cannot open %s\n", path);
        return 1;
    }
    fseek(f, 0, SEEK_END);
    long size = ftell(f);
    rewind(f);
    uint8_t *data = malloc(size > 0 ? (size_t)size : 1);
    if (data == NULL || fread(data, 1, (size_t)size, f) != (size_t)size) {
        fprintf(stderr, "cannot read %s\n", path);
        fclose(f);
        free(data);
        return 1;
    }
    fclose(f);
    LLVMFuzzerTestOneInput(data, (size_t)size);
    /* Every prefix of a small file too: truncation is the commonest damage. */
    for (long n = 0; size <= 4096 && n < size; n += 1 + size / 256) {
        uint8_t *part = malloc(n > 0 ? (size_t)n : 1);
        if (part != NULL) {
            memcpy(part, data, (size_t)n);
            LLVMFuzzerTestOneInput(part, (size_t)n);
            free(part);
        }
    }
    free(data);
    n_run++;
    return 0;
}

static int run_path(const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0) {
        fprintf(stderr, "no such file or folder: %s\n", path);
        return 1;
    }
    if (!S_ISDIR(st.st_mode)) {
        return run_file(path);
    }
    int failed = 0;
    DIR *dir = opendir(path);
    for (struct dirent *e; dir != NULL && (e = readdir(dir)) != NULL;) {
        if (e->d_name[0] != '.') {
            char child[4096];
            snprintf(child, sizeof child, "%s/%s", path, e->d_name);
            failed |= run_path(child);
        }
    }
    if (dir != NULL) {
        closedir(dir);
    }
    return failed;
}

int main(int argc, char **argv)
{
    int failed = argc < 2;
    for (int i = 1; i < argc; i++) {
        failed |= run_path(argv[i]);
    }
    printf("%d inputs\n", n_run);
    return failed || n_run == 0;
}
