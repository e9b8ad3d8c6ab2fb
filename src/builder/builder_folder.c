/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/builder_folder.h"

#include <string.h>

#include "base/checked.h"
#include "base/name_index.h"
#include "builder/builder_filter.h"
#include "text/text_builder.h"

enum { BATCH_ROWS = 100 };

/* ---- rows ---- */

struct folder_rows {
    struct folder_builder *b;
    const char *path;          /* of the file */
    size_t split, file;
    struct builder_units units; /* of an archive; b NULL: none */
    struct name_index members;  /* its files, where metadata names them */
    size_t at;                 /* member, or metadata file */
    struct shard_reader inner; /* of a metadata file */
    int64_t row, inner_base;
    struct shard_place start;  /* of the inner reader */
    bool is_over;
};

static grebe_status label_of(const struct folder_builder *b, const char *path, int64_t *out, grebe_error *err)
{
    const char *end = strrchr(path, '/'), *begin = end;
    while (begin != NULL && begin > path && begin[-1] != '/') {
        begin--;
    }
    const size_t len = begin != NULL ? (size_t)(end - begin) : 0;
    for (size_t low = 0, high = b->n_labels; low < high;) {
        const size_t middle = low + (high - low) / 2, n = strlen(b->labels[middle]);
        int cmp = memcmp(b->labels[middle], len > 0 ? begin : "", min_size(n, len));
        cmp = cmp != 0 ? cmp : n < len ? -1 : n > len;
        if (cmp == 0) {
            *out = (int64_t)middle;
            return GREBE_OK;
        }
        *(cmp < 0 ? &low : &high) = cmp < 0 ? middle + 1 : middle;
    }
    return GREBE_FAIL(err, GREBE_ECORRUPT, "%s: its folder was not there when the labels were made", path);
}

/* Media and labels as rows. */
static grebe_status finish_media(struct folder_rows *r, struct media_builder *m, struct text_builder *labels,
                                 struct ArrowSchema *schema, struct ArrowArray *out, grebe_error *err)
{
    const grebe_allocator *a = r->b->base.b.ctx->a;
    const size_t n = r->b->has_labels ? 2 : 1;
    struct ArrowArray columns[2] = { { 0 }, { 0 } }, rows = { 0 };
    struct ArrowSchema type = { 0 };
    const int64_t first = r->row;
    grebe_status st = GREBE_OK;
    GREBE_TRY(media_finish(m, &columns[0], err));
    const int64_t n_rows = columns[0].length;
    if (n == 2) {
        GREBE_TRY(text_builder_finish(labels, 0, &columns[1], err));
    }
    GREBE_TRY(array_struct(a, n_rows, columns, n, &rows, err));
    GREBE_TRY(schema_new(a, "+s", "", false, (int64_t)n, &type, err));
    GREBE_TRY(media_schema(a, r->b->media->column, type.children[0], err));
    if (n == 2) {
        GREBE_TRY(schema_new(a, "l", "label", true, 0, type.children[1], err));
    }
    r->row += n_rows;
    st = builder_emit(&r->b->base, r->path, &type, &rows, false, first, schema, out, err);
out:
    array_release(&columns[0]);
    array_release(&columns[1]);
    array_release(&rows);
    schema_release(&type);
    return st;
}

static grebe_status put_label(struct folder_rows *r, struct text_builder *labels, const char *path, grebe_error *err)
{
    int64_t label = 0;
    grebe_status st = label_of(r->b, path, &label, err);
    st = st == GREBE_OK ? text_builder_reserve(labels, 1, err) : st;
    if (st == GREBE_OK) {
        memcpy(labels->data + labels->n * sizeof label, &label, sizeof label);
        text_builder_took(labels);
    }
    return st;
}

/* The members of an archive that come next; *n of them. */
static grebe_status put_members(struct folder_rows *r, struct media_builder *m, struct text_builder *labels, size_t *n,
                                grebe_error *err)
{
    struct buf full = BUF_INIT(r->b->base.b.ctx->a);
    grebe_status st = GREBE_OK;
    for (*n = 0; r->at < r->units.n && *n < BATCH_ROWS && st == GREBE_OK; r->at++) {
        const size_t i = r->units.order[r->at];
        const char *name = r->units.zip->members[i].name;
        struct region *bytes = NULL;
        if (!folder_is_media(r->b->media, name)) {
            continue;
        }
        st = archive_read(r->units.zip, i, UINT32_MAX / 2, &bytes, err);
        st = st == GREBE_OK ? media_put_bytes(m, bytes->data, bytes->len, name, err) : error_wrap(err, st, "%s", r->path);
        region_drop(bytes);
        if (st == GREBE_OK && r->b->has_labels) {
            buf_clear(&full);
            st = buf_printf(&full, err, "%s/%s", r->path, name);
            st = st == GREBE_OK ? put_label(r, labels, (const char *)full.data, err) : st;
        }
        (*n)++;
    }
    buf_release(&full);
    return st;
}

static grebe_status next_media(struct folder_rows *r, struct ArrowSchema *schema, struct ArrowArray *out, grebe_error *err)
{
    const grebe_allocator *a = r->b->base.b.ctx->a;
    struct media_builder *m = NULL;
    struct text_builder labels;
    size_t n = 1;
    text_builder_init(&labels, a, TEXT_BUILDER_FIXED, sizeof(int64_t));
    grebe_status st = media_builder_new(a, &m, err);
    if (st == GREBE_OK && r->units.zip != NULL) {
        st = put_members(r, m, &labels, &n, err);
    } else if (st == GREBE_OK) {
        st = media_put_path(m, r->path, strlen(r->path), err);
        st = st == GREBE_OK && r->b->has_labels ? put_label(r, &labels, r->path, err) : st;
        r->is_over = true;
    }
    if (st == GREBE_OK) {
        st = n > 0 ? finish_media(r, m, &labels, schema, out, err) : GREBE_END;
    }
    media_builder_free(m);
    text_builder_release(&labels);
    return st;
}

/* ---- rows of metadata ---- */

/* Which file of the inner loader's split a metadata file is. */
static size_t inner_file(const struct folder_builder *b, size_t i)
{
    size_t first = i;
    while (first > 0 && b->metadata[first - 1].split == b->metadata[i].split) {
        first--;
    }
    return i - first;
}

static grebe_status filter_rows(struct folder_builder *b, const struct ArrowSchema *schema, struct ArrowArray *rows,
                                grebe_error *err)
{
    const grebe_allocator *a = b->base.b.ctx->a;
    struct expr *e = NULL;
    struct ArrowArray kept = { 0 };
    uint8_t *keep = NULL;
    const size_t bytes = bitmap_bytes(rows->length) + 8;
    grebe_status st = GREBE_OK;
    GREBE_TRY(expr_parse(a, (const char *)b->where.data, &e, err));
    GREBE_TRY(expr_bind(e, schema, err));
    keep = mem_alloc_zero(a, bytes);
    if (keep == NULL) {
        st = mem_fail(err, bytes, "a filter");
        goto out;
    }
    GREBE_TRY(expr_eval_rows(e, rows, keep, NULL, err));
    GREBE_TRY(array_filter(a, schema, rows, keep, &kept, err));
    array_release(rows);
    array_move(rows, &kept);
out:
    mem_free(a, keep, keep != NULL ? bytes : 0);
    expr_free(e);
    return st;
}

static grebe_status convert(struct folder_rows *r, const struct folder_metadata *m, struct ArrowSchema *schema,
                            struct ArrowArray *rows, struct ArrowSchema *out_schema, struct ArrowArray *out,
                            grebe_error *err)
{
    struct ArrowSchema type = { 0 };
    struct ArrowArray media = { 0 };
    const char *base = path_base_name(m->path);
    char *folder = str_copy_len(r->b->base.b.ctx->a, m->path, (size_t)(base - m->path));
    if (folder == NULL) {
        schema_release(schema);
        array_release(rows);
        return mem_fail(err, strlen(m->path), "a path");
    }
    struct folder_files files = { .b = r->b, .folder = folder, .zip = m->in_zip != NULL ? r->units.zip : NULL,
                                  .members = &r->members, .in_zip = m->in_zip, .zip_path = r->path };
    const int64_t first = r->row, n = rows->length;
    grebe_status st = folder_convert(&files, schema, rows, first - r->inner_base, &type, &media, err);
    if (st != GREBE_OK) {
        error_wrap(err, st, "%s", m->path);
    }
    st = st == GREBE_OK ? builder_emit(&r->b->base, m->path, &type, &media, false, first, out_schema, out, err) : st;
    r->row += st == GREBE_OK ? n : 0;
    str_free(r->b->base.b.ctx->a, folder);
    return st;
}

static grebe_status next_metadata(struct folder_rows *r, struct ArrowSchema *schema, struct ArrowArray *out,
                                  grebe_error *err)
{
    struct folder_builder *b = r->b;
    for (; r->at < b->n_metadata; r->at++) {
        const struct folder_metadata *m = &b->metadata[r->at];
        if (m->split != r->split || m->file != r->file) {
            continue;
        }
        grebe_status st = GREBE_OK;
        if (r->inner.ops == NULL) {
            st = b->inner->ops->read(b->inner, r->split, inner_file(b, r->at), -1, r->start, &r->inner, err);
            r->inner_base = r->row - r->start.row;
        }
        while (st == GREBE_OK) {
            struct ArrowSchema type = { 0 };
            struct ArrowArray rows = { 0 };
            st = r->inner.ops->next(r->inner.self, &type, &rows, err);
            if (st == GREBE_OK && b->where.len > 0) {
                st = filter_rows(b, &type, &rows, err);
            }
            if (st == GREBE_OK && rows.length > 0) {
                return convert(r, m, &type, &rows, schema, out, err);
            }
            schema_release(&type);
            array_release(&rows);
        }
        if (st != GREBE_END) {
            return st;
        }
        shard_reader_free(&r->inner);
        r->start = (struct shard_place){ 0 };
    }
    return GREBE_END;
}

static grebe_status folder_next(void *self, struct ArrowSchema *schema, struct ArrowArray *out, grebe_error *err)
{
    struct folder_rows *r = self;
    if (r->is_over) {
        return GREBE_END;
    }
    return r->b->has_metadata ? next_metadata(r, schema, out, err) : next_media(r, schema, out, err);
}

/* A member's number, or the place of a metadata file that is the only one of its file. */
static struct shard_place folder_place(void *self)
{
    const struct folder_rows *r = self;
    if (!r->b->has_metadata) {
        return r->units.zip != NULL ? (struct shard_place){ r->row, r->at }
                                    : (struct shard_place){ r->row, (uint64_t)r->row };
    }
    if (r->units.zip != NULL || r->b->where.len > 0 || r->inner.ops == NULL) {
        return (struct shard_place){ 0, 0 };
    }
    return r->inner.ops->place(r->inner.self);
}

static int64_t folder_next_row(void *self) { return ((struct folder_rows *)self)->row; }

static void folder_rows_free(void *self)
{
    struct folder_rows *r = self;
    const grebe_allocator *a = r->b->base.b.ctx->a;
    shard_reader_free(&r->inner);
    name_index_release(&r->members);
    builder_units_close(&r->units);
    mem_free(a, r, sizeof *r);
}

static const struct shard_reader_ops folder_rows_ops = { folder_next, folder_place, folder_next_row, folder_rows_free, NULL };

static bool has_rows(const struct folder_builder *b, size_t split, size_t file, bool is_zip)
{
    const char *path = builder_path(&b->base, split, file);
    for (size_t i = 0; b->has_metadata && i < b->n_metadata; i++) {
        if (b->metadata[i].split == split && b->metadata[i].file == file) {
            return true;
        }
    }
    return !b->has_metadata && (is_zip || folder_is_media(b->media, path));
}

static grebe_status index_members(struct folder_rows *r, grebe_error *err)
{
    const struct archive *z = r->units.zip;
    grebe_status st = name_index_new(r->b->base.b.ctx->a, z->n, &r->members, err);
    for (size_t i = 0; i < z->n && st == GREBE_OK; i++) {
        bool is_file = !z->members[i].is_folder && !z->members[i].is_other;
        st = is_file ? name_index_add(&r->members, z->members[i].name, i, NULL, err) : GREBE_OK;
    }
    return st;
}

grebe_status folder_read(struct builder *base, size_t split, size_t file, int64_t part, struct shard_place place,
                         struct shard_reader *out, grebe_error *err)
{
    struct folder_builder *b = (struct folder_builder *)base;
    const char *path = builder_path(&b->base, split, file);
    grebe_status st = GREBE_OK;
    (void)part;
    struct folder_rows *r = mem_alloc_zero(base->ctx->a, sizeof *r);
    if (r == NULL) {
        return mem_fail(err, sizeof *r, path);
    }
    r->b = b;
    r->path = path;
    r->split = split;
    r->file = file;
    r->row = place.row;
    r->start = place;
    const bool is_plain = folder_is_media(b->media, path) || folder_is_metadata(b, path);
    if (!is_plain) {
        st = builder_units_open(&b->base, path, &r->units, err);
    }
    if (st == GREBE_OK && b->has_metadata && r->units.zip != NULL) {
        st = index_members(r, err);
    }
    r->is_over =
        !has_rows(b, split, file, r->units.zip != NULL) || (!b->has_metadata && r->units.zip == NULL && place.at > 0);
    r->at = !b->has_metadata && r->units.zip != NULL ? (size_t)place.at : 0;
    if (st != GREBE_OK) {
        folder_rows_free(r);
        return st;
    }
    *out = (struct shard_reader){ &folder_rows_ops, r };
    return GREBE_OK;
}

/* ---- the builder ---- */

static grebe_status set_features(struct folder_builder *b, grebe_error *err)
{
    const grebe_allocator *a = b->base.b.ctx->a;
    struct buf json = BUF_INIT(a);
    struct features *f = NULL;
    grebe_status st = buf_printf(&json, err, "{\"%s\": {\"_type\": \"%s\"}", b->media->column, b->media->type);
    if (st == GREBE_OK && b->has_labels) {
        st = buf_put_text(&json, ", \"label\": {\"names\": [", err);
        for (size_t i = 0; i < b->n_labels && st == GREBE_OK; i++) {
            st = i > 0 ? buf_put_text(&json, ", ", err) : GREBE_OK;
            st = st == GREBE_OK ? json_put_string(&json, b->labels[i], strlen(b->labels[i]), err) : st;
        }
        st = st == GREBE_OK ? buf_put_text(&json, "], \"_type\": \"ClassLabel\"}", err) : st;
    }
    st = st == GREBE_OK ? buf_put_text(&json, "}", err) : st;
    st = st == GREBE_OK ? features_from_json(a, (const char *)json.data, json.len, &f, err) : st;
    buf_release(&json);
    return st == GREBE_OK ? builder_set_features(&b->base, f, err) : st;
}

static void folder_free(struct builder *base)
{
    struct folder_builder *b = (struct folder_builder *)base;
    builder_free(b->inner);
    io_store_free(b->memory);
    buf_release(&b->where);
    arena_release(&b->arena);
    builder_base_free(base);
}

static const struct builder_ops folder_ops = { NULL, builder_one_part, folder_read, folder_free, NULL };

static grebe_status folder_set_up(struct builder *base, grebe_error *err)
{
    struct folder_builder *b = (struct folder_builder *)base;
    grebe_status st = GREBE_OK;
    b->media = base->kind == &builder_imagefolder   ? &folder_image
               : base->kind == &builder_audiofolder ? &folder_audio
                                                    : &folder_video;
    b->arena = ARENA_INIT(base->ctx->a);
    b->where = BUF_INIT(base->ctx->a);
    GREBE_TRY(folder_scan(b, err));
    const struct json_value *filters = builder_option_set(&b->base, "filters");
    if (filters != NULL) {
        if (!b->has_metadata) {
            st = GREBE_FAIL(err, GREBE_EINVAL, "option \"filters\": expected metadata files, found none");
            goto out;
        }
        GREBE_TRY(builder_filter_text(filters, &b->where, err));
        st = buf_text(&b->where) != NULL ? GREBE_OK : mem_fail(err, 0, "a filter");
        GREBE_TRY(st);
    }
    if (b->has_metadata) {
        GREBE_TRY(folder_open_metadata(b, err));
    } else if (!b->base.is_given) {
        GREBE_TRY(set_features(b, err));
    }
out:
    return st;
}

const struct folder_media folder_image = { "image", "Image" };
const struct folder_media folder_audio = { "audio", "Audio" };
const struct folder_media folder_video = { "video", "Video" };

static const char *const folder_options[] = { "features", "drop_labels", "drop_metadata", "metadata_filenames", "filters",
                                              "decode_num_threads", NULL };
static const char *const image_extensions[] = {
    ".blp", ".bmp", ".dib", ".bufr", ".cur", ".pcx", ".dcx", ".dds", ".ps", ".eps", ".fit", ".fits", ".fli", ".flc", ".ftc", ".ftu",
    ".gbr", ".gif", ".grib", ".png", ".apng", ".jp2", ".j2k", ".jpc", ".jpf", ".jpx", ".j2c", ".icns", ".ico", ".im", ".iim", ".tif",
    ".tiff", ".jfif", ".jpe", ".jpg", ".jpeg", ".mpg", ".mpeg", ".msp", ".pcd", ".pxr", ".pbm", ".pgm", ".ppm", ".pnm", ".psd", ".bw",
    ".rgb", ".rgba", ".sgi", ".ras", ".tga", ".icb", ".vda", ".vst", ".webp", ".wmf", ".emf", ".xbm", ".xpm", NULL
};
static const char *const audio_extensions[] = { ".aiff", ".au", ".avr", ".caf", ".flac", ".htk", ".svx", ".mat4", ".mat5", ".mpc2k",
                                                ".ogg", ".paf", ".pvf", ".raw", ".rf64", ".sd2", ".sds", ".ircam", ".voc", ".w64",
                                                ".wav", ".nist", ".wavex", ".wve", ".xi", ".mp3", ".opus", ".wma", NULL };
static const char *const video_extensions[] = { ".mkv", ".mp4", ".avi", ".mov", ".webm", ".3gp", ".3g2", ".asf", ".flv", ".m4v",
                                                ".f4v", ".wmv", ".ogm", ".mxf", ".nut", NULL };

const struct builder_kind builder_imagefolder = { .name = "imagefolder",
                                                  .extensions = image_extensions,
                                                  .options = folder_options,
                                                  .is_metadata_filtered = true,
                                                  .knows_features = true,
                                                  .size = sizeof(struct folder_builder),
                                                  .ops = &folder_ops,
                                                  .set_up = folder_set_up };
const struct builder_kind builder_audiofolder = { .name = "audiofolder",
                                                  .extensions = audio_extensions,
                                                  .options = folder_options,
                                                  .is_metadata_filtered = true,
                                                  .knows_features = true,
                                                  .size = sizeof(struct folder_builder),
                                                  .ops = &folder_ops,
                                                  .set_up = folder_set_up };
const struct builder_kind builder_videofolder = { .name = "videofolder",
                                                  .extensions = video_extensions,
                                                  .options = folder_options,
                                                  .is_metadata_filtered = true,
                                                  .knows_features = true,
                                                  .size = sizeof(struct folder_builder),
                                                  .ops = &folder_ops,
                                                  .set_up = folder_set_up };
