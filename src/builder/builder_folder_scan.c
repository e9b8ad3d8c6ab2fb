/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of all splits say: which labels there are, and which metadata. */
#include <stdio.h>
#include <string.h>

#include "base/ascii.h"
#include "base/checked.h"
#include "builder/builder_filter.h"
#include "builder/builder_folder.h"

/* What Pillow opens; then sounds of libsndfile, and films, as the library `datasets` lists them. */
static const char image_extensions[] = " blp bmp dib bufr cur pcx dcx dds ps eps fit fits fli flc ftc ftu gbr gif grib png "
                                       "apng jp2 j2k jpc jpf jpx j2c icns ico "
                                       "im iim tif tiff jfif jpe jpg jpeg mpg mpeg msp pcd pxr pbm pgm ppm pnm psd bw rgb "
                                       "rgba sgi ras tga icb vda vst webp wmf emf xbm "
                                       "xpm ";
static const char audio_extensions[] = " aiff au avr caf flac htk svx mat4 mat5 mpc2k ogg paf pvf raw rf64 sd2 sds ircam "
                                       "voc w64 wav nist wavex wve xi mp3 opus 3gp 3g2 "
                                       "avi asf flv mp4 mov m4v mkv mpg webm f4v wmv wma ogm mxf nut ";
static const char video_extensions[] = " mkv mp4 avi mov mpg mpeg webm 3gp 3g2 asf flv m4v f4v wmv ogm ogv mxf nut ts ";

static bool is_extension_of(const struct folder_media *m, const char *p, size_t len)
{
    const char *list = m == &folder_image   ? image_extensions
                       : m == &folder_audio ? audio_extensions
                                            : video_extensions;
    char wanted[16];
    if (len == 0 || len + 3 > sizeof wanted) {
        return false;
    }
    wanted[0] = ' ';
    for (size_t i = 0; i < len; i++) {
        wanted[i + 1] = ascii_lower(p[i]);
    }
    wanted[len + 1] = ' ';
    wanted[len + 2] = '\0';
    return strstr(list, wanted) != NULL;
}

bool folder_is_media(const struct folder_media *m, const char *path)
{
    const char *name = path_base_name(path), *last = strrchr(name, '.');
    if (last == NULL || last == name) {
        return false;
    }
    if (is_extension_of(m, last + 1, strlen(last + 1))) {
        return true;
    }
    const char *second = last;
    while (second > name && second[-1] != '.') {
        second--;
    }
    return second > name + 1 && is_extension_of(m, second, (size_t)(last - second));
}

bool folder_is_metadata(const struct folder_builder *b, const char *path)
{
    static const char *const names[] = { "metadata.csv", "metadata.jsonl", "metadata.parquet" };
    const struct json_value *given = builder_option_set(&b->base, "metadata_filenames");
    const char *name = path_base_name(path);
    for (size_t i = 0; given == NULL && i < 3; i++) {
        if (strcmp(names[i], name) == 0) {
            return true;
        }
    }
    for (size_t i = 0; given != NULL && given->type == JSON_ARRAY && i < given->n; i++) {
        if (json_is_text(&given->items[i], name)) {
            return true;
        }
    }
    return false;
}

/* ---- labels ---- */

struct scan {
    struct folder_builder *b;
    struct buf labels, metadata; /* const char *; struct folder_metadata */
    int64_t depth;               /* '/' of the first path; -1: none yet */
    bool is_level;               /* all have as many */
};

/* The folder that a file is in: [*begin, *len) of the path. */
static void parent_of(const char *path, const char **begin, size_t *len)
{
    const char *end = strrchr(path, '/');
    *begin = path;
    *len = 0;
    if (end == NULL) {
        return;
    }
    const char *p = end;
    while (p > path && p[-1] != '/') {
        p--;
    }
    *begin = p;
    *len = (size_t)(end - p);
}

static grebe_status see_media(struct scan *s, const char *path, grebe_error *err)
{
    int64_t depth = 0;
    const char *begin = NULL;
    size_t len = 0;
    for (const char *p = path; *p != '\0'; p++) {
        depth += *p == '/';
    }
    s->is_level = s->is_level && (s->depth < 0 || s->depth == depth);
    s->depth = depth;
    parent_of(path, &begin, &len);
    const char **labels = (const char **)(void *)s->labels.data;
    size_t low = 0, high = s->labels.len / sizeof *labels;
    while (low < high) { /* sorted */
        size_t middle = low + (high - low) / 2;
        int cmp = strncmp(labels[middle], begin, len);
        cmp = cmp == 0 && strlen(labels[middle]) > len ? 1 : cmp;
        if (cmp == 0) {
            return GREBE_OK;
        }
        *(cmp < 0 ? &low : &high) = cmp < 0 ? middle + 1 : middle;
    }
    const char *copy = arena_str(&s->b->arena, begin, len);
    grebe_status st = copy != NULL ? buf_put(&s->labels, &copy, sizeof copy, err) : mem_fail(err, len, "a label");
    if (st == GREBE_OK) {
        labels = (const char **)(void *)s->labels.data;
        size_t n = s->labels.len / sizeof *labels;
        memmove(labels + low + 1, labels + low, (n - 1 - low) * sizeof *labels);
        labels[low] = copy;
    }
    return st;
}

static grebe_status see_zip(struct scan *s, size_t split, size_t file, const char *path, grebe_error *err)
{
    struct folder_builder *b = s->b;
    struct builder_units units;
    grebe_status st = builder_units_open(&b->base, path, &units, err);
    for (size_t i = 0; st == GREBE_OK && units.zip != NULL && i < units.n; i++) {
        const char *name = units.zip->members[units.order[i]].name;
        const size_t size = strlen(path) + strlen(name) + 2;
        char *full = arena_alloc(&b->arena, size);
        if (full == NULL) {
            st = mem_fail(err, size, "a path");
            break;
        }
        snprintf(full, size, "%s/%s", path, name);
        if (folder_is_media(b->media, name)) {
            st = see_media(s, full, err);
        } else if (folder_is_metadata(b, name)) {
            const char *base = path_base_name(name);
            struct folder_metadata m = { split, file, full, arena_str(&b->arena, name, (size_t)(base - name)) };
            st = m.in_zip != NULL ? buf_put(&s->metadata, &m, sizeof m, err) : mem_fail(err, size, "a path");
        }
    }
    builder_units_close(&units);
    return st;
}

static bool is_zip_name(const char *path)
{
    size_t n = strlen(path);
    return n > 4 && ascii_equal(path + n - 4, ".zip");
}

/* Files of a split by path, so that rows do not depend on the order of names given. */
static void sort_metadata(struct folder_metadata *m, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        struct folder_metadata v = m[i];
        size_t k = i;
        for (; k > 0 && (m[k - 1].split > v.split || (m[k - 1].split == v.split && strcmp(m[k - 1].path, v.path) > 0));
             k--) {
            m[k] = m[k - 1];
        }
        m[k] = v;
    }
}

grebe_status folder_scan(struct folder_builder *b, grebe_error *err)
{
    const grebe_allocator *a = b->base.b.ctx->a;
    struct scan s = { .b = b, .labels = BUF_INIT(a), .metadata = BUF_INIT(a), .depth = -1, .is_level = true };
    const struct json_value *drop = builder_option_set(&b->base, "drop_labels");
    bool is_dropped = false, is_metadata_dropped = false;
    grebe_status st = GREBE_OK;
    GREBE_TRY(builder_option_bool(&b->base, "drop_labels", &is_dropped, err));
    GREBE_TRY(builder_option_bool(&b->base, "drop_metadata", &is_metadata_dropped, err));
    for (size_t k = 0; k < b->base.request->n_splits; k++) {
        for (size_t i = 0; i < b->base.request->splits[k].n; i++) {
            const char *path = builder_path(&b->base, k, i);
            struct folder_metadata m = { k, i, path, NULL };
            st = folder_is_media(b->media, path)   ? see_media(&s, path, err)
                 : folder_is_metadata(b, path)     ? buf_put(&s.metadata, &m, sizeof m, err)
                 : is_zip_name(path)               ? see_zip(&s, k, i, path, err)
                                                   : GREBE_OK;
            GREBE_TRY(st);
        }
    }
    b->n_metadata = s.metadata.len / sizeof(struct folder_metadata);
    b->n_labels = s.labels.len / sizeof(char *);
    b->metadata = arena_array(&b->arena, b->n_metadata + 1, sizeof *b->metadata);
    b->labels = arena_array(&b->arena, b->n_labels + 1, sizeof *b->labels);
    if (b->metadata == NULL || b->labels == NULL) {
        st = mem_fail(err, s.labels.len, "labels");
        goto out;
    }
    if (s.metadata.len > 0) {
        memcpy(b->metadata, s.metadata.data, s.metadata.len);
        sort_metadata(b->metadata, b->n_metadata);
    }
    if (s.labels.len > 0) {
        memcpy(b->labels, s.labels.data, s.labels.len);
    }
    b->has_metadata = b->n_metadata > 0 && !is_metadata_dropped;
    bool is_told = b->n_labels > 1 && s.is_level; /* folders tell something */
    b->has_labels = b->n_metadata == 0 && (drop == NULL ? is_told : !is_dropped);
out:
    buf_release(&s.labels);
    buf_release(&s.metadata);
    return st;
}

/* ---- metadata ---- */

static const char *extension_of(const char *path)
{
    const char *dot = strrchr(path_base_name(path), '.');
    return dot != NULL ? dot : "";
}

/* Metadata of archives are read from memory, all of them, under the names that they have here. */
static grebe_status fill_memory(struct folder_builder *b, grebe_error *err)
{
    grebe_status st = io_memory_new(b->base.b.ctx, &b->memory, err);
    for (size_t i = 0; i < b->n_metadata && st == GREBE_OK; i++) {
        const struct folder_metadata *m = &b->metadata[i];
        struct builder_units units;
        struct region *bytes = NULL;
        struct io_writer *w = NULL;
        const char *path = builder_path(&b->base, m->split, m->file);
        st = builder_units_open(&b->base, path, &units, err);
        if (st != GREBE_OK) {
            break;
        }
        if (m->in_zip == NULL) {
            bytes = region_keep(units.bytes);
        }
        for (size_t k = 0; m->in_zip != NULL && k < units.n && st == GREBE_OK && bytes == NULL; k++) {
            if (strcmp(units.zip->members[units.order[k]].name, m->path + strlen(path) + 1) == 0) {
                st = archive_read(units.zip, units.order[k], UINT32_MAX, &bytes, err);
            }
        }
        st = st == GREBE_OK ? io_create(b->memory, m->path, false, &w, err) : st;
        st = st == GREBE_OK ? io_write(w, bytes->data, bytes->len, err) : st;
        st = st == GREBE_OK ? io_writer_publish(w, true, err) : st;
        io_writer_free(w);
        region_drop(bytes);
        builder_units_close(&units);
    }
    return st;
}

static grebe_status list_splits(struct folder_builder *b, grebe_error *err)
{
    const size_t n = b->base.request->n_splits;
    b->inner_splits = arena_array(&b->arena, n, sizeof *b->inner_splits);
    const char **paths = arena_array(&b->arena, b->n_metadata, sizeof *paths);
    if (b->inner_splits == NULL || paths == NULL) {
        return mem_fail(err, n * sizeof *b->inner_splits, "splits");
    }
    for (size_t k = 0, at = 0; k < n; k++) {
        b->inner_splits[k] = (struct builder_files){ b->base.request->splits[k].split, paths + at, 0 };
        for (; at < b->n_metadata && b->metadata[at].split == k; at++) {
            paths[at] = b->metadata[at].path;
            b->inner_splits[k].n++;
        }
    }
    return GREBE_OK;
}

const struct folder_column *folder_media_column(const struct folder_builder *b, const char *name)
{
    for (size_t i = 0; i < b->n_columns; i++) {
        if (strcmp(b->columns[i].name, name) == 0) {
            return b->columns[i].media != NULL ? &b->columns[i] : NULL;
        }
    }
    return NULL;
}

/* "image" of "file_name"; false: the column is no name of a file. *is_list: "file_names". */
static bool name_media(struct folder_builder *b, const struct ArrowSchema *column, const char **name, bool *is_list)
{
    const bool is_text = strcmp(column->format, "u") == 0 || strcmp(column->format, "U") == 0;
    *is_list = strcmp(column->format, "+l") == 0 && strcmp(column->children[0]->format, "u") == 0;
    const char *suffix = *is_list ? "file_names" : "file_name", *plural = *is_list ? "s" : "";
    const size_t n = strlen(column->name), k = strlen(suffix);
    if ((!is_text && !*is_list) || n < k || strcmp(column->name + n - k, suffix) != 0 ||
        (n > k && column->name[n - k - 1] != '_')) {
        return false;
    }
    if (n > k) {
        *name = arena_str(&b->arena, column->name, n - k - 1);
    } else {
        char text[32];
        int len = snprintf(text, sizeof text, "%s%s", b->media->column, plural);
        *name = arena_str(&b->arena, text, (size_t)len);
    }
    return *name != NULL;
}

/* Features of the metadata, with media where names of files are. */
static grebe_status make_features(struct folder_builder *b, grebe_error *err)
{
    const struct builder_base *inner = (const struct builder_base *)b->inner;
    const grebe_allocator *a = b->base.b.ctx->a;
    const size_t n = (size_t)inner->storage.n_children;
    struct buf json = BUF_INIT(a);
    struct features *renamed = NULL, *media = NULL, *all = NULL;
    bool has_media = false;
    grebe_status st = GREBE_OK;
    const char **names = arena_array(&b->arena, n + 1, sizeof *names), **as = arena_array(&b->arena, n + 1, sizeof *as);
    b->columns = arena_array(&b->arena, n + 1, sizeof *b->columns);
    if (names == NULL || as == NULL || b->columns == NULL) {
        return mem_fail(err, n * sizeof *names, "names");
    }
    b->n_columns = n;
    for (size_t i = 0; i < n; i++) {
        struct folder_column *c = &b->columns[i];
        names[i] = as[i] = c->name = arena_str(&b->arena, inner->storage.children[i]->name,
                                               strlen(inner->storage.children[i]->name));
        if (c->name == NULL) {
            st = mem_fail(err, n, "names");
            goto out;
        }
        if (!name_media(b, inner->storage.children[i], &c->media, &c->is_list)) {
            c->media = NULL;
            continue;
        }
        as[i] = c->media;
        GREBE_TRY(buf_put_text(&json, has_media ? ", " : "{", err));
        GREBE_TRY(json_put_string(&json, as[i], strlen(as[i]), err));
        GREBE_TRY(buf_printf(
            &json, err, c->is_list ? ": {\"feature\": {\"_type\": \"%s\"}, \"_type\": \"List\"}" : ": {\"_type\": \"%s\"}",
            b->media->type));
        has_media = true;
    }
    if (!has_media) {
        st = GREBE_FAIL(err, GREBE_EINVAL,
                        "%s: expected a column file_name, *_file_name, file_names or *_file_names, found none",
                        b->metadata[0].path);
        goto out;
    }
    GREBE_TRY(buf_put_text(&json, "}", err));
    GREBE_TRY(features_from_json(a, (const char *)json.data, json.len, &media, err));
    GREBE_TRY(features_project(a, b->inner->features, names, as, n, &renamed, err));
    GREBE_TRY(features_merge(a, renamed, media, &all, err));
    if (!b->base.is_given) {
        st = builder_set_features(&b->base, all, err);
        all = NULL;
    }
out:
    buf_release(&json);
    features_free(renamed);
    features_free(media);
    features_free(all);
    return st;
}

grebe_status folder_open_metadata(struct folder_builder *b, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    bool is_in_zip = false;
    const char *extension = extension_of(b->metadata[0].path);
    const struct builder_kind *kind = strcmp(extension, ".csv") == 0       ? &builder_csv
                                      : strcmp(extension, ".parquet") == 0 ? &builder_parquet
                                                                           : &builder_json;
    for (size_t i = 0; i < b->n_metadata; i++) {
        is_in_zip = is_in_zip || b->metadata[i].in_zip != NULL;
        if (strcmp(extension_of(b->metadata[i].path), extension) != 0) {
            return GREBE_FAIL(err, GREBE_EINVAL, "expected metadata files of one kind, found %s and %s",
                              b->metadata[0].path, b->metadata[i].path);
        }
    }
    if (is_in_zip) {
        GREBE_TRY(fill_memory(b, err));
    }
    GREBE_TRY(list_splits(b, err));
    b->no_options = (struct json_value){ .type = JSON_OBJECT };
    b->request = (struct builder_request){ .options = &b->no_options, .splits = b->inner_splits,
                                           .n_splits = b->base.request->n_splits, .base = b->base.request->base,
                                           .call = b->base.request->call };
    GREBE_TRY(builder_open(b->base.b.ctx, kind, &b->request, &b->inner, err));
    if (b->memory != NULL) {
        builder_use_store(b->inner, b->memory);
        b->memory = NULL;
    }
    GREBE_TRY(builder_infer(b->inner, err));
    st = make_features(b, err);
out:
    return st;
}
