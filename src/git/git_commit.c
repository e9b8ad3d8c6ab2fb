/* SPDX-License-Identifier: Apache-2.0 */
#include "git/git_repo.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/arena.h"
#include "git/git_library.h"

#define SIGNATURE "git-vdb <git-vdb@localhost>"

/* ---- writing ---- */

/* Minutes east of UTC; none while SOURCE_DATE_EPOCH fixes the time, so that ids are the same everywhere. */
static int offset_minutes(int64_t seconds)
{
    const char *fixed = getenv("SOURCE_DATE_EPOCH");
    struct tm local;
    time_t t = (time_t)seconds;
    if ((fixed != NULL && *fixed != '\0') || localtime_r(&t, &local) == NULL) {
        return 0;
    }
    return (int)(local.tm_gmtoff / 60);
}

static grebe_status put_person(struct buf *b, const char *role, int64_t seconds, int minutes, grebe_error *err)
{
    int m = minutes < 0 ? -minutes : minutes;
    return buf_printf(b, err, "%s " SIGNATURE " %lld %c%02d%02d\n", role, (long long)seconds, minutes < 0 ? '-' : '+',
                      m / 60, m % 60);
}

grebe_status repo_commit_add(struct repo_pack *p, const struct repo_oid *root, const struct repo_oid *const *parents,
                            size_t n_parents, const char *message, struct repo_oid *out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct repo *r = repo_pack_repo(p);
    struct buf b = BUF_INIT(r->a);
    char hex[REPO_OID_HEX + 1];
    int64_t now_us = context_now_us(r->ctx);
    int64_t seconds = now_us < 0 ? 0 : now_us / 1000000;
    int minutes = offset_minutes(seconds);

    repo_oid_hex(root, hex);
    GREBE_TRY(buf_printf(&b, err, "tree %s\n", hex));
    for (size_t i = 0; i < n_parents; i++) {
        repo_oid_hex(parents[i], hex);
        GREBE_TRY(buf_printf(&b, err, "parent %s\n", hex));
    }
    GREBE_TRY(put_person(&b, "author", seconds, minutes, err));
    GREBE_TRY(put_person(&b, "committer", seconds, minutes, err));
    GREBE_TRY(buf_put_byte(&b, '\n', err));
    GREBE_TRY(buf_put_text(&b, message, err));
    st = repo_pack_add(p, REPO_COMMIT, b.data, b.len, 6, out, err);
out:
    buf_release(&b);
    return st;
}

/* ---- reading ---- */

/* "<key> <40 hex>\n" at *at. */
static bool take_oid(const char *text, size_t len, size_t *at, const char *key, struct repo_oid *out)
{
    size_t n = strlen(key);
    if (len - *at < n + 1 + REPO_OID_HEX + 1 || memcmp(text + *at, key, n) != 0 || text[*at + n] != ' ' ||
        text[*at + n + 1 + REPO_OID_HEX] != '\n' || !repo_oid_from_hex(text + *at + n + 1, REPO_OID_HEX, out)) {
        return false;
    }
    *at += n + 1 + REPO_OID_HEX + 1;
    return true;
}

/* The seconds of "committer NAME <MAIL> SECONDS ZONE"; what cannot be read is 0, as Git shows such commits. */
static int64_t seconds_of(const char *line, size_t len)
{
    size_t at = len;
    while (at > 0 && line[at - 1] != '>') {
        at--;
    }
    uint64_t v = 0;
    while (at < len && line[at] == ' ') {
        at++;
    }
    for (; at < len && line[at] >= '0' && line[at] <= '9'; at++) {
        if (v > INT64_MAX / 10 - 1) {
            return 0;
        }
        v = v * 10 + (uint64_t)(line[at] - '0');
    }
    return (int64_t)v;
}

grebe_status repo_commit_parse(struct arena *ar, const void *bytes, size_t len, struct repo_commit *out, grebe_error *err)
{
    const char *text = bytes;
    size_t at = 0;
    struct repo_oid other;
    memset(out, 0, sizeof *out);
    if (!take_oid(text, len, &at, "tree", &out->root)) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "commit: expected \"tree\" and 40 hex digits at byte 0 of %zu", len);
    }
    out->has_parent = take_oid(text, len, &at, "parent", &out->parent);
    while (take_oid(text, len, &at, "parent", &other)) {
    }
    while (at < len && text[at] != '\n') { /* headers, up to an empty line */
        const char *end = memchr(text + at, '\n', len - at);
        size_t n = end == NULL ? len - at : (size_t)(end - (text + at));
        if (n > 10 && memcmp(text + at, "committer ", 10) == 0) {
            out->time_seconds = seconds_of(text + at, n);
        }
        at += n + (end != NULL ? 1 : 0);
    }
    while (at < len && text[at] == '\n') {
        at++;
    }
    out->message = arena_str(ar, text + at, len - at);
    return out->message == NULL ? mem_fail(err, len - at, "a message") : GREBE_OK;
}

grebe_status repo_commit_read(struct repo *r, const struct repo_oid *oid, struct arena *ar, struct repo_commit *out,
                             grebe_error *err)
{
    struct region *region = NULL;
    const unsigned char *bytes = NULL;
    size_t len = 0;
    grebe_status st = repo_object_read(r, oid, REPO_COMMIT, &region, &bytes, &len, err);
    if (st == GREBE_OK) {
        st = repo_commit_parse(ar, bytes, len, out, err);
        out->oid = *oid;
        st = repo_object_wrap(oid, st, err);
    }
    region_drop(region);
    return st;
}
