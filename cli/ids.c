/* SPDX-License-Identifier: Apache-2.0 */
#include "ids.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "out.h"

enum { IDS_MAX = 1 << 27 };

static bool add_id(struct ids *ids, int64_t id)
{
    if (ids->n == ids->capacity) {
        size_t capacity = ids->capacity == 0 ? 1024 : ids->capacity * 2;
        int64_t *grown = realloc(ids->data, capacity * sizeof *grown);
        if (grown == NULL) {
            return false;
        }
        ids->data = grown;
        ids->capacity = capacity;
    }
    ids->data[ids->n++] = id;
    return true;
}

int ids_parse(struct cli *cli, const char *text, struct ids *ids)
{
    const char *p = text;
    for (;;) {
        while (*p == ',' || isspace((unsigned char)*p)) {
            p++;
        }
        if (*p == '\0') {
            return 0;
        }
        char *end = NULL;
        const char *word_begin = p;
        errno = 0;
        long long first = strtoll(p, &end, 10), last = 0;
        bool is_good = errno == 0 && end != p;
        last = first;
        if (is_good && *end == ':') {
            p = end + 1;
            long long stop = strtoll(p, &end, 10);
            is_good = errno == 0 && end != p && first >= 0 && stop >= first;
            last = is_good ? stop - 1 : first;
        }
        if (!is_good || (*end != '\0' && *end != ',' && !isspace((unsigned char)*end))) {
            char word[60];
            snprintf(word, sizeof word, "%.*s", (int)strcspn(word_begin, ", \t\r\n"), word_begin);
            return out_usage(cli, "expected row ids (whole numbers) or BEGIN:END, found \"%s\"",
                             word);
        }
        for (long long k = 0; k <= last - first; k++) {
            if (ids->n == IDS_MAX || !add_id(ids, first + k)) {
                grebe_error err = GREBE_ERROR_INIT;
                err.status = ids->n == IDS_MAX ? GREBE_ELIMIT : GREBE_ENOMEM;
                snprintf(err.message, sizeof err.message, "row ids: at most %lld can be taken at once",
                         (long long)ids->n);
                return out_error(cli, cli->cmd->name, &err);
            }
        }
        p = end;
    }
}

int ids_read(struct cli *cli, const char *path, struct ids *ids)
{
    grebe_error err = GREBE_ERROR_INIT;
    FILE *f = strcmp(path, "-") == 0 ? stdin : fopen(path, "r");
    if (f == NULL) {
        err.status = errno == ENOENT ? GREBE_ENOTFOUND : GREBE_EIO;
        snprintf(err.message, sizeof err.message, "%.400s: %s", path, strerror(errno));
        return out_error(cli, cli->cmd->name, &err);
    }
    char *line = NULL;
    size_t capacity = 0;
    int code = 0;
    ssize_t len = 0;
    errno = 0;
    while (code == 0 && (len = getline(&line, &capacity, f)) >= 0) {
        code = strlen(line) == (size_t)len
                   ? ids_parse(cli, line, ids)
                   : out_usage(cli, "expected row ids as text, found a zero byte in %s", path);
    }
    if (code == 0 && !feof(f)) {
        err.status = errno == ENOMEM ? GREBE_ENOMEM : GREBE_EIO;
        snprintf(err.message, sizeof err.message, "%.400s: %s", path,
                 errno != 0 ? strerror(errno) : "cannot read");
        code = out_error(cli, cli->cmd->name, &err);
    }
    free(line);
    if (f != stdin) {
        fclose(f);
    }
    return code;
}

void ids_drop(struct ids *ids)
{
    free(ids->data);
    *ids = (struct ids){ 0 };
}
