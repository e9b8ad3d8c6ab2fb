/* SPDX-License-Identifier: Apache-2.0 */
/* Names of members, how their payloads are read, and the types of fields. */
#include "builder/builder_webdataset.h"

#include <stdio.h>
#include <string.h>

#include "base/ascii.h"
#include "base/checked.h"
#include "base/utf8.h"
#include "builder/builder_webdataset_decode.h"

enum { EXAMPLES_SEEN = 5, COLUMNS_MAX = 4096 };

/* ---- names ---- */

/* Behind the first dot of the last part of a name; NULL: it has no field, or is hidden. */
static const char *field_of(const char *name, size_t *key_len)
{
    const char *base = path_base_name(name), *dot = strchr(base, '.');
    if (dot == NULL || dot == base || strncmp(base, "__", 2) == 0) {
        return NULL; /* of folders the names do not matter: many archives begin with "./" */
    }
    *key_len = (size_t)(dot - name);
    return dot + 1;
}

static const char *last_extension(const char *field, size_t len)
{
    size_t i = len;
    while (i > 0 && field[i - 1] != '.') {
        i--;
    }
    return field + i;
}

static bool is_packed_extension(const char *p)
{
    static const char *const known[] = { "gz", "bz2", "xz", "lz4", "zst" };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (ascii_equal(p, known[i])) {
            return true;
        }
    }
    return false;
}

/* What decides how the payload is read: the last suffix that is none of a compression. */
static bool decoding_extension(const char *field, char dst[32])
{
    const char *last = last_extension(field, strlen(field));
    size_t n = strlen(last);
    if (is_packed_extension(last) && last > field) {
        n = (size_t)(last - 1 - last_extension(field, (size_t)(last - 1 - field)));
        last -= n + 1;
    }
    if (n >= 32) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        dst[i] = ascii_lower(last[i]);
    }
    dst[n] = '\0';
    return true;
}

static bool is_one_of(const char *text, const char *const *list)
{
    for (size_t i = 0; list[i] != NULL; i++) {
        if (strcmp(text, list[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* By the last suffix of all, as the features are. */
static const char *media_of(const char *field)
{
    static const char *const meshes[] = { "glb", "ply", "stl", NULL };
    char name[40], extension[32];
    const char *last = last_extension(field, strlen(field));
    if (strlen(last) >= sizeof extension) {
        return NULL;
    }
    for (size_t i = 0; i <= strlen(last); i++) {
        extension[i] = ascii_lower(last[i]);
    }
    snprintf(name, sizeof name, "x.%s", extension);
    return is_one_of(extension, meshes)             ? "Mesh"
           : folder_is_media(&folder_video, name)   ? "Video"
           : folder_is_media(&folder_audio, name)   ? "Audio"
           : folder_is_media(&folder_image, name)   ? "Image"
                                                    : NULL;
}

static enum field_kind kind_of(const char *field)
{
    static const char *const text[] = { "txt", "text", "transcript", NULL }, *const integers[] = { "cls", "cls2", "index",
                                                                                                   "inx", "id",   NULL },
                             *const json[] = { "json", "jsn", NULL }, *const msgpack[] = { "mp", "msg", NULL };
    char extension[32];
    if (!decoding_extension(field, extension)) {
        return FIELD_BYTES;
    }
    return is_one_of(extension, text)          ? FIELD_TEXT
           : is_one_of(extension, integers)    ? FIELD_INT
           : is_one_of(extension, json)        ? FIELD_JSON
           : is_one_of(extension, msgpack)     ? FIELD_MSGPACK
           : strcmp(extension, "cbor") == 0    ? FIELD_CBOR
           : strcmp(extension, "npy") == 0     ? FIELD_NPY
           : media_of(field) != NULL           ? FIELD_MEDIA
                                               : FIELD_BYTES;
}

/* ---- archives ---- */

grebe_status webdataset_open_tar(struct builder_base *b, const char *path, struct archive **out, grebe_error *err)
{
    struct region *bytes = NULL, *content = NULL;
    grebe_status st = builder_map(b, path, &bytes, err);
    st = st == GREBE_OK ? builder_expand(b->b.ctx, path, bytes, &content, err) : st;
    if (st == GREBE_OK && content->len == 0) {
        st = GREBE_FAIL(err, GREBE_ECORRUPT, "%s: expected a tar archive, found an empty file", path);
    }
    if (st == GREBE_OK) {
        st = archive_open(b->b.ctx->a, content, out, err);
        st = st == GREBE_OK ? st : error_wrap(err, st, "%s", path);
    }
    region_drop(bytes);
    region_drop(content);
    return st;
}

bool webdataset_next_example(const struct archive *z, size_t at, struct example *out)
{
    *out = (struct example){ 0 };
    for (; at < z->n; at++) {
        const struct archive_member *m = &z->members[at];
        size_t key_len = 0;
        if (m->is_folder || m->is_other || field_of(m->name, &key_len) == NULL) {
            continue;
        }
        if (out->key == NULL) {
            *out = (struct example){ at, at, key_len, m->name };
        } else if (key_len != out->key_len || memcmp(out->key, m->name, key_len) != 0) {
            break;
        }
        out->end = at + 1;
    }
    return out->key != NULL;
}

/* The field of a member of the example; NULL: the member is none. */
const char *webdataset_member_field(const struct archive *z, const struct example *e, size_t i)
{
    const struct archive_member *m = &z->members[i];
    size_t key_len = 0;
    const char *field = m->is_folder || m->is_other ? NULL : field_of(m->name, &key_len);
    return key_len == e->key_len ? field : NULL;
}

grebe_status webdataset_payload(struct builder_base *b, const struct archive *z, size_t i, struct region **out,
                                grebe_error *err)
{
    const char *name = z->members[i].name, *last = last_extension(name, strlen(name));
    struct region *bytes = NULL;
    grebe_status st = archive_read(z, i, UINT32_MAX / 2, &bytes, err);
    if (st == GREBE_OK && is_packed_extension(last)) {
        st = builder_expand(b->b.ctx, name, bytes, out, err);
    } else if (st == GREBE_OK) {
        *out = region_keep(bytes);
    }
    region_drop(bytes);
    return st;
}

/* A tree's text as JSON. *scratch owns it where it is not the payload itself. */
grebe_status webdataset_tree_text(const struct field *f, const struct region *bytes, struct buf *scratch,
                                  struct json_cursor *out, const char **dtype, int *n_dims, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    buf_clear(scratch);
    switch (f->kind) {
    case FIELD_NPY: st = webdataset_npy(bytes->data, bytes->len, scratch, dtype, n_dims, err); break;
    case FIELD_MSGPACK: st = webdataset_msgpack(bytes->data, bytes->len, scratch, err); break;
    case FIELD_CBOR: st = webdataset_cbor(bytes->data, bytes->len, scratch, err); break;
    default:
        *out = (struct json_cursor){ (const char *)bytes->data, (const char *)bytes->data + bytes->len };
        return utf8_is_valid(bytes->data, bytes->len) ? GREBE_OK : GREBE_FAIL(err, GREBE_ECORRUPT, "expected UTF-8");
    }
    *out = (struct json_cursor){ (const char *)scratch->data, (const char *)scratch->data + scratch->len };
    return st;
}

/* ---- types ---- */

struct field *webdataset_find_field(const struct webdataset_builder *b, const char *name)
{
    for (size_t i = 0; i < b->n; i++) {
        if (strcmp(b->fields[i].name, name) == 0) {
            return &b->fields[i];
        }
    }
    return NULL;
}

/* Text stays text here: nothing that looks like a date becomes one. */
static void keep_text(struct json_kinds *t)
{
    t->is_no_time = true;
    if (t->item != NULL) {
        keep_text(t->item);
    }
    for (struct json_kinds_field *f = t->first; f != NULL; f = f->next) {
        keep_text(&f->type);
    }
}

static grebe_status see_tree(struct webdataset_builder *b, struct field *f, const struct region *bytes, grebe_error *err)
{
    struct buf scratch = BUF_INIT(b->base.b.ctx->a);
    struct json_see see = { &b->arena, BUF_INIT(b->base.b.ctx->a) };
    struct json_cursor c;
    const char *dtype = NULL;
    int n_dims = 0;
    grebe_status st = webdataset_tree_text(f, bytes, &scratch, &c, &dtype, &n_dims, err);
    if (st == GREBE_OK && f->dtype != NULL && (strcmp(f->dtype, dtype) != 0 || f->n_dims != n_dims)) {
        st = GREBE_FAIL(err, GREBE_ESCHEMA, "expected arrays of %d dimensions of %s, found %d of %s", f->n_dims, f->dtype,
                        n_dims, dtype);
    }
    f->dtype = dtype;
    f->n_dims = n_dims;
    st = st == GREBE_OK ? json_kinds_see(&see, f->type, &c, 1, err) : st;
    buf_release(&scratch);
    buf_release(&see.scratch);
    return st;
}

static grebe_status add_field(struct webdataset_builder *b, const char *name, grebe_error *err)
{
    if (b->n == COLUMNS_MAX) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "expected at most %d fields, found more", COLUMNS_MAX);
    }
    struct field *f = &b->fields[b->n];
    *f = (struct field){ .name = arena_str(&b->arena, name, strlen(name)), .kind = kind_of(name), .media = media_of(name) };
    f->type = arena_alloc_zero(&b->arena, sizeof *f->type);
    if (f->name == NULL || f->type == NULL) {
        return mem_fail(err, sizeof *f->type, "a field");
    }
    b->n++;
    return GREBE_OK;
}

static grebe_status see_example(struct webdataset_builder *b, const struct archive *z, const struct example *e,
                                bool is_first, grebe_error *err)
{
    size_t n = 0;
    grebe_status st = GREBE_OK;
    for (size_t i = e->begin; i < e->end && st == GREBE_OK; i++) {
        const char *name = webdataset_member_field(z, e, i);
        if (name == NULL) {
            continue;
        }
        struct field *f = webdataset_find_field(b, name);
        if (is_first && f == NULL) {
            st = add_field(b, name, err);
            f = st == GREBE_OK ? &b->fields[b->n - 1] : NULL;
        } else if (is_first) {
            st = GREBE_FAIL(err, GREBE_ECORRUPT, "\"%s\": a field is there twice", z->members[i].name);
        }
        n++;
        if (st == GREBE_OK && (f == NULL || n > b->n)) {
            st = GREBE_FAIL(err, GREBE_EINVAL, "\"%s\": expected the fields of the first example in the first five",
                            z->members[i].name);
        }
        if (st == GREBE_OK && webdataset_is_tree(f->kind)) {
            struct region *bytes = NULL;
            st = webdataset_payload(&b->base, z, i, &bytes, err);
            st = st == GREBE_OK ? see_tree(b, f, bytes, err) : st;
            st = st == GREBE_OK ? st : error_wrap(err, st, "\"%s\"", z->members[i].name);
            region_drop(bytes);
        }
    }
    return st == GREBE_OK && n != b->n ? GREBE_FAIL(err, GREBE_EINVAL,
                                                    "\"%.*s\": expected the %zu fields of the first example, found %zu",
                                                    (int)min_size(e->key_len, 200), e->key, b->n, n)
                                       : st;
}

/* The shape to read a tree with. */
static grebe_status resolve_tree(struct webdataset_builder *b, struct field *f, grebe_error *err)
{
    struct json_resolve how = { .ar = &b->arena };
    f->shape = arena_alloc_zero(&b->arena, sizeof *f->shape);
    if (f->shape == NULL) {
        return mem_fail(err, sizeof *f->shape, "a shape");
    }
    keep_text(f->type);
    grebe_status st = GREBE_OK;
    if (f->kind != FIELD_NPY) {
        st = json_kinds_resolve(&how, f->type, NULL, 1, f->name, f->shape, err);
        f->n_leaves = how.n_leaves;
        return st;
    }
    struct ArrowSchema type = { 0 };
    struct buf text = BUF_INIT(b->base.b.ctx->a);
    static const char *const from[] = { "float16", "float32", "float64" }, *const to[] = { "halffloat", "float", "double" };
    const char *dtype = f->dtype;
    for (size_t i = 0; i < 3; i++) {
        dtype = strcmp(f->dtype, from[i]) == 0 ? to[i] : dtype;
    }
    for (int i = 0; i < f->n_dims && st == GREBE_OK; i++) {
        st = buf_put_text(&text, "list<item: ", err);
    }
    st = st == GREBE_OK ? buf_put_text(&text, dtype, err) : st;
    for (int i = 0; i < f->n_dims && st == GREBE_OK; i++) {
        st = buf_put_text(&text, ">", err);
    }
    st = st == GREBE_OK && buf_text(&text) == NULL ? mem_fail(err, text.len, "a type") : st;
    st = st == GREBE_OK ? type_parse(b->base.b.ctx->a, buf_text(&text), f->name, true, &type, err) : st;
    st = st == GREBE_OK ? json_shape_give(&b->arena, f->shape, &type, err) : st;
    f->n_leaves = (size_t)f->n_dims + 1;
    schema_release(&type);
    buf_release(&text);
    return st;
}

static grebe_status field_schema(const struct webdataset_builder *b, const struct field *f, struct ArrowSchema *out,
                                 grebe_error *err)
{
    const grebe_allocator *a = b->base.b.ctx->a;
    switch (f->kind) {
    case FIELD_BYTES: return schema_new(a, "z", f->name, true, 0, out, err);
    case FIELD_TEXT: return schema_new(a, "u", f->name, true, 0, out, err);
    case FIELD_INT: return schema_new(a, "l", f->name, true, 0, out, err);
    case FIELD_MEDIA: return media_schema(a, f->name, out, err);
    default: return json_rows_schema(a, f->shape, f->name, out, err);
    }
}

grebe_status webdataset_rows_schema(const struct webdataset_builder *b, struct ArrowSchema *out, grebe_error *err)
{
    const grebe_allocator *a = b->base.b.ctx->a;
    grebe_status st = schema_new(a, "+s", "", false, (int64_t)b->n + 2, out, err);
    for (size_t i = 0; i < b->n && st == GREBE_OK; i++) {
        st = field_schema(b, &b->fields[i], out->children[i], err);
    }
    st = st == GREBE_OK ? schema_new(a, "u", "__key__", true, 0, out->children[b->n], err) : st;
    st = st == GREBE_OK ? schema_new(a, "u", "__url__", true, 0, out->children[b->n + 1], err) : st;
    if (st != GREBE_OK) {
        schema_release(out);
    }
    return st;
}

static grebe_status set_features(struct webdataset_builder *b, grebe_error *err)
{
    const grebe_allocator *a = b->base.b.ctx->a;
    struct ArrowSchema schema = { 0 };
    struct features *plain = NULL, *media = NULL, *all = NULL;
    struct buf json = BUF_INIT(a);
    bool has_media = false;
    grebe_status st = GREBE_OK;
    GREBE_TRY(webdataset_rows_schema(b, &schema, err));
    GREBE_TRY(features_from_schema(a, &schema, false, &plain, err));
    GREBE_TRY(buf_put_text(&json, "{", err));
    for (size_t i = 0; i < b->n; i++) {
        if (b->fields[i].kind == FIELD_MEDIA) {
            GREBE_TRY(has_media ? buf_put_text(&json, ", ", err) : GREBE_OK);
            GREBE_TRY(json_put_string(&json, b->fields[i].name, strlen(b->fields[i].name), err));
            GREBE_TRY(buf_printf(&json, err, ": {\"_type\": \"%s\"}", b->fields[i].media));
            has_media = true;
        }
    }
    GREBE_TRY(buf_put_text(&json, "}", err));
    GREBE_TRY(features_from_json(a, (const char *)json.data, json.len, &media, err));
    GREBE_TRY(features_merge(a, plain, media, &all, err));
    st = builder_set_features(&b->base, all, err);
out:
    schema_release(&schema);
    features_free(plain);
    features_free(media);
    buf_release(&json);
    return st;
}

static grebe_status see_fields(struct webdataset_builder *b, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    b->fields = arena_array(&b->arena, COLUMNS_MAX, sizeof *b->fields);
    if (b->fields == NULL) {
        return mem_fail(err, COLUMNS_MAX * sizeof *b->fields, "fields");
    }
    for (size_t k = 0; k < builder_n_files(&b->base) && st == GREBE_OK && b->n == 0; k++) {
        struct archive *z = NULL;
        struct example e = { 0 };
        st = webdataset_open_tar(&b->base, builder_file(&b->base, k), &z, err);
        for (size_t i = 0; st == GREBE_OK && i < EXAMPLES_SEEN && webdataset_next_example(z, e.end, &e); i++) {
            st = see_example(b, z, &e, i == 0, err);
            st = st == GREBE_OK ? st : error_wrap(err, st, "%s", builder_file(&b->base, k));
        }
        archive_free(z);
    }
    for (size_t i = 0; i < b->n && st == GREBE_OK; i++) {
        st = webdataset_is_tree(b->fields[i].kind) ? resolve_tree(b, &b->fields[i], err) : GREBE_OK;
    }
    return st;
}

grebe_status webdataset_infer(struct builder *base, grebe_error *err)
{
    struct webdataset_builder *b = (struct webdataset_builder *)base;
    grebe_status st = b->is_ready ? GREBE_OK : see_fields(b, err);
    if (st == GREBE_OK && !b->is_ready && !b->base.is_given) {
        st = set_features(b, err);
    }
    b->is_ready = b->is_ready || st == GREBE_OK;
    return st;
}
