/* SPDX-License-Identifier: Apache-2.0 */
#include "table/manifest.h"

#include <assert.h>

static const char *const folder_names[] = { "_data/", "_delta/", "_stats/", "_index/",
                                            "../lobs/" };

const char *manifest_folder_name(enum manifest_folder folder)
{
    assert((size_t)folder < sizeof folder_names / sizeof folder_names[0]);
    return folder_names[folder];
}

/* Lexical normalisation of base/folder; keeps the trailing '/'. */
static grebe_status put_folder(struct buf *dst, const char *base, enum manifest_folder folder,
                               grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct buf joined = BUF_INIT(dst->a);
    size_t start = dst->len;
    GREBE_TRY(path_join(&joined, base, folder_names[folder], err));
    if (buf_text(&joined) == NULL) {
        GREBE_TRY(mem_fail(err, joined.len, "a path"));
    }
    GREBE_TRY(path_normalize(dst, buf_text(&joined), err));
    if (dst->len == start || dst->data[dst->len - 1] != '/') {
        GREBE_TRY(buf_put_byte(dst, '/', err));
    }
out:
    buf_release(&joined);
    return st;
}

grebe_status manifest_path_resolve(struct buf *dst, const char *base, enum manifest_folder folder,
                                   const char *stored, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    if (stored[0] == '/' || path_scheme_len(stored) > 0) {
        return buf_put_text(dst, stored, err);
    }
    struct buf joined = BUF_INIT(dst->a);
    GREBE_TRY(put_folder(&joined, base, folder, err));
    GREBE_TRY(buf_put_text(&joined, stored, err));
    if (buf_text(&joined) == NULL) {
        GREBE_TRY(mem_fail(err, joined.len, "a path"));
    }
    GREBE_TRY(path_normalize(dst, buf_text(&joined), err));
out:
    buf_release(&joined);
    return st;
}

grebe_status manifest_path_relativize(struct buf *dst, const char *base,
                                      enum manifest_folder folder, const char *path,
                                      grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct buf prefix = BUF_INIT(dst->a);
    GREBE_TRY(put_folder(&prefix, base, folder, err));
    bool is_inside = strncmp(path, (const char *)prefix.data, prefix.len) == 0;
    GREBE_TRY(buf_put_text(dst, is_inside ? path + prefix.len : path, err));
out:
    buf_release(&prefix);
    return st;
}

grebe_status manifest_path_old(struct buf *dst, const char *base, enum manifest_folder folder,
                               const char *stored, grebe_error *err)
{
    if (folder == FOLDER_LOBS || stored[0] == '/' || path_scheme_len(stored) > 0) {
        return GREBE_OK;
    }
    const char *name = folder_names[folder];
    const char *found = NULL; /* the last part that is the folder's name */
    for (const char *at = strstr(stored, name); at != NULL; at = strstr(at + 1, name)) {
        if (at == stored || at[-1] == '/') {
            found = at;
        }
    }
    if (found == NULL) {
        return GREBE_OK;
    }
    return manifest_path_resolve(dst, base, folder, found + strlen(name), err);
}

grebe_status manifest_path_probe(struct buf *dst, struct io_store *store, const char *base,
                                 enum manifest_folder folder, const char *stored,
                                 grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct buf path = BUF_INIT(dst->a);
    struct buf old = BUF_INIT(dst->a);
    struct io_info info;
    GREBE_TRY(manifest_path_resolve(&path, base, folder, stored, err));
    GREBE_TRY(manifest_path_old(&old, base, folder, stored, err));
    const char *text = buf_text(&path);
    const char *text_old = buf_text(&old);
    if (text == NULL || text_old == NULL) {
        GREBE_TRY(mem_fail(err, path.len, "a path"));
    }
    bool is_old = old.len > 0 && io_stat(store, text, &info, NULL) == GREBE_ENOTFOUND &&
                  io_stat(store, text_old, &info, NULL) == GREBE_OK;
    GREBE_TRY(buf_put_text(dst, is_old ? text_old : text, err));
out:
    buf_release(&path);
    buf_release(&old);
    return st;
}
