/* SPDX-License-Identifier: Apache-2.0 */
#include "table/version.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "wire/json.h"

enum { TAG_FILE_MAX = 1 << 20 };

void tag_release(const grebe_allocator *a, struct tag *tag)
{
    str_free(a, tag->name);
    str_free(a, tag->message);
    *tag = (struct tag){ 0 };
}

grebe_status tag_name_check(const char *name, grebe_error *err)
{
    size_t len = strlen(name);
    bool is_fine = len >= 1 && len <= TAG_NAME_MAX && name[0] != '.' && utf8_is_valid(name, len);
    bool has_other = false; /* something that is no digit: a number is a version */
    for (size_t i = 0; i < len && is_fine; i++) {
        unsigned char c = (unsigned char)name[i];
        is_fine = c >= 0x20 && c != 0x7f && c != '/' && c != '@';
        has_other |= c < '0' || c > '9';
    }
    if (is_fine && has_other) {
        return GREBE_OK;
    }
    char quoted[64];
    return GREBE_FAIL(err, GREBE_EINVAL,
                      "tag: expected 1 to %d bytes without '/' and '@', no leading '.', no number, "
                      "found \"%s\"", TAG_NAME_MAX, error_quote(quoted, sizeof quoted, name, len));
}

static grebe_status tag_path(struct buf *dst, const char *base, const char *name, grebe_error *err)
{
    grebe_status st = tag_name_check(name, err);
    if (st == GREBE_OK) {
        st = path_join(dst, base, "_refs/tags", err);
    }
    if (st == GREBE_OK) {
        st = buf_printf(dst, err, "/%s.json", name);
    }
    return st == GREBE_OK && buf_text(dst) == NULL ? mem_fail(err, dst->len, "a path") : st;
}

static grebe_status tag_parse(const grebe_allocator *a, const char *name, const char *text,
                              size_t len, struct tag *out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct arena arena = ARENA_INIT(a);
    const struct json_value *v = NULL;
    const struct json_value *version = NULL;
    GREBE_TRY(json_parse(&arena, text, len, &v, err));
    GREBE_TRY(json_expect(v, "version", JSON_NUMBER, &version, err));
    if (!json_i64(version, &out->version) || out->version < 1) {
        st = GREBE_FAIL(err, GREBE_ECORRUPT, "expected a version >= 1, found %s", version->text);
        goto out;
    }
    const struct json_value *time = json_get(v, "time");
    const struct json_value *message = json_get(v, "message");
    out->time_us = INT64_MIN;
    if (time != NULL && time->type == JSON_STRING) {
        (void)!time_parse(time->text, &out->time_us);
    }
    out->name = str_copy(a, name);
    out->message = message != NULL && message->type == JSON_STRING
                       ? str_copy_len(a, message->text, message->n)
                       : str_copy(a, "");
    if (out->name == NULL || out->message == NULL) {
        st = mem_fail(err, len, "a tag");
    }
out:
    arena_release(&arena);
    return st;
}

grebe_status tag_read(struct io_store *store, const char *base, const char *name,
                      struct tag *out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const grebe_allocator *a = store->ctx->a;
    struct buf path = BUF_INIT(a);
    struct region *bytes = NULL;
    struct io_identity id;
    *out = (struct tag){ 0 };
    GREBE_TRY(tag_path(&path, base, name, err));
    GREBE_TRY(io_read_all(store, buf_text(&path), TAG_FILE_MAX, &bytes, &id, err));
    st = tag_parse(a, name, (const char *)bytes->data, bytes->len, out, err);
    if (st != GREBE_OK) {
        error_wrap(err, st, "%s", buf_text(&path));
        tag_release(a, out);
    }
out:
    region_drop(bytes);
    buf_release(&path);
    return st;
}

grebe_status tag_write(struct io_store *store, const char *base, const struct tag *tag,
                       grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const grebe_allocator *a = store->ctx->a;
    struct buf path = BUF_INIT(a);
    struct buf folder = BUF_INIT(a);
    struct buf text = BUF_INIT(a);
    struct io_writer *w = NULL;
    struct json_writer json;
    char time[TIME_TEXT_LEN];
    GREBE_TRY(tag_path(&path, base, tag->name, err));
    GREBE_TRY(path_join(&folder, base, "_refs/tags", err));
    if (buf_text(&folder) == NULL) {
        GREBE_TRY(mem_fail(err, folder.len, "a path"));
    }
    time_print(time, tag->time_us);
    json_begin(&json, &text, 0, err);
    json_open_object(&json);
    json_key(&json, "version");
    json_int(&json, tag->version);
    json_key(&json, "time");
    json_text(&json, time);
    json_key(&json, "message");
    json_text(&json, tag->message == NULL ? "" : tag->message);
    json_close_object(&json);
    GREBE_TRY(json_end(&json));
    GREBE_TRY(buf_put_byte(&text, '\n', err));
    GREBE_TRY(io_make_folders(store, buf_text(&folder), true, err));
    GREBE_TRY(io_create(store, buf_text(&path), true, &w, err));
    GREBE_TRY(io_write(w, text.data, text.len, err));
    st = io_writer_publish(w, false, err);
    if (st == GREBE_EEXISTS) {
        st = GREBE_FAIL(err, GREBE_EEXISTS, "%s: tag \"%s\" is there already", base, tag->name);
    }
out:
    io_writer_free(w);
    buf_release(&text);
    buf_release(&folder);
    buf_release(&path);
    return st;
}

grebe_status tag_remove(struct io_store *store, const char *base, const char *name,
                        grebe_error *err)
{
    struct buf path = BUF_INIT(store->ctx->a);
    grebe_status st = tag_path(&path, base, name, err);
    if (st == GREBE_OK) {
        st = io_remove(store, buf_text(&path), err);
        if (st == GREBE_ENOTFOUND) {
            st = GREBE_FAIL(err, GREBE_ENOTFOUND, "%s: no tag \"%s\"", base, name);
        }
    }
    buf_release(&path);
    return st;
}

/* ---- listing ---- */

struct name_list {
    const grebe_allocator *a;
    struct buf names; /* char *, owned */
};

static grebe_status take_name(void *arg, const char *name, enum io_kind kind, grebe_error *err)
{
    struct name_list *list = arg;
    size_t len = strlen(name);
    if (kind == IO_FOLDER || len <= 5 || strcmp(name + len - 5, ".json") != 0) {
        return GREBE_OK;
    }
    char *copy = str_copy_len(list->a, name, len - 5);
    if (copy == NULL) {
        return mem_fail(err, len, "a name");
    }
    grebe_status st = GREBE_OK;
    if (tag_name_check(copy, NULL) == GREBE_OK) {
        st = buf_put(&list->names, &copy, sizeof copy, err);
        if (st == GREBE_OK) {
            return st;
        }
    }
    str_free(list->a, copy);
    return st;
}

static int compare_names(const void *x, const void *y)
{
    return strcmp(*(char *const *)x, *(char *const *)y);
}

grebe_status tag_names(const grebe_allocator *a, struct io_store *store, const char *base,
                       char ***out, size_t *n, grebe_error *err)
{
    struct name_list list = { a, BUF_INIT(a) };
    struct buf path = BUF_INIT(a);
    *out = NULL;
    *n = 0;
    grebe_status st = path_join(&path, base, "_refs/tags", err);
    if (st == GREBE_OK && buf_text(&path) == NULL) {
        st = mem_fail(err, path.len, "a path");
    }
    if (st == GREBE_OK) {
        st = io_list(store, buf_text(&path), take_name, &list, err);
        st = st == GREBE_ENOTFOUND ? GREBE_OK : st;
    }
    size_t count = list.names.len / sizeof(char *);
    if (st == GREBE_OK && count > 0) {
        char **names = mem_alloc(a, list.names.len);
        if (names == NULL) {
            st = mem_fail(err, list.names.len, "names");
        } else {
            memcpy(names, list.names.data, list.names.len);
            qsort(names, count, sizeof *names, compare_names);
            *out = names;
            *n = count;
        }
    }
    for (size_t i = 0; st != GREBE_OK && i < count; i++) {
        str_free(a, ((char **)(void *)list.names.data)[i]);
    }
    buf_release(&list.names);
    buf_release(&path);
    return st;
}
