/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of data files: mapped, expanded where they are compressed, member by member where they are a zip archive. */
#include <string.h>

#include "base/checked.h"
#include "builder/builder_decode.h"
#include "builder/builder_internal.h"
#include "codec/codec_stream.h"

size_t builder_n_files(const struct builder_base *b)
{
    size_t n = 0;
    for (size_t i = 0; i < b->request->n_splits; i++) {
        n += b->request->splits[i].n;
    }
    return n;
}

const char *builder_file(const struct builder_base *b, size_t i)
{
    size_t split = 0;
    while (i >= b->request->splits[split].n) {
        i -= b->request->splits[split++].n;
    }
    return b->request->splits[split].paths[i];
}

const char *builder_path(const struct builder_base *b, size_t split, size_t file)
{
    return b->request->splits[split].paths[file];
}

grebe_status builder_one_part(struct builder *b, size_t split, size_t file, int64_t *n, grebe_error *err)
{
    (void)b;
    (void)split;
    (void)file;
    (void)err;
    *n = 1;
    return GREBE_OK;
}

grebe_status builder_map(struct builder_base *b, const char *path, struct region **out, grebe_error *err)
{
    struct io_shared_file *shared = NULL;
    struct io_identity id;
    grebe_status st = io_open_shared(b->store, path, &shared, err);
    if (st == GREBE_OK && shared->map != NULL) {
        *out = region_keep(shared->map);
    } else if (st == GREBE_OK) {
        st = io_read_all(b->store, path, SIZE_MAX, out, &id, err);
    }
    io_shared_drop(shared);
    return st;
}

struct region_reader {
    const struct region *bytes;
    size_t at;
};

static grebe_status read_region(void *arg, void *dst, size_t len, size_t *got, grebe_error *err)
{
    struct region_reader *r = arg;
    (void)err;
    *got = min_size(len, r->bytes->len - r->at);
    if (*got > 0) {
        memcpy(dst, r->bytes->data + r->at, *got);
    }
    r->at += *got;
    return GREBE_OK;
}

grebe_status builder_expand(grebe_context *ctx, const char *name, struct region *bytes, struct region **out,
                            grebe_error *err)
{
    enum { STEP = 1 << 20 };
    enum codec_id id = codec_stream_sniff(bytes->data, bytes->len);
    struct region_reader from = { bytes, 0 };
    struct codec_stream *codec = NULL;
    struct buf content = BUF_INIT(ctx->a);
    grebe_status st = GREBE_OK;
    size_t got = 0;
    *out = NULL;
    if (id == CODEC_NONE) {
        *out = region_keep(bytes);
        return GREBE_OK;
    }
    GREBE_TRY(codec_stream_new(ctx->a, id, read_region, &from, &codec, err));
    do {
        GREBE_TRY(buf_reserve(&content, STEP, err));
        GREBE_TRY(codec_stream_read(codec, content.data + content.len, STEP, &got, err));
        content.len += got;
    } while (got > 0);
    st = region_of_buf(&content, out, err);
out:
    if (st != GREBE_OK) {
        error_wrap(err, st, "%s", name);
    }
    codec_stream_free(codec);
    buf_release(&content);
    return st;
}

/* ---- units ---- */

/*
 * Folders, and what is hidden or made by other programs (".DS_Store", "__MACOSX/…"), are no data. "./" is how many archives
 * begin; and with "../" a member is read as another, since its name is no path here.
 */
static bool is_data(const struct archive_member *m)
{
    if (m->is_folder || m->is_other) {
        return false;
    }
    for (const char *part = m->name; part != NULL; part = strchr(part, '/')) {
        part += *part == '/';
        size_t dots = strspn(part, "."), len = strcspn(part, "/");
        if ((dots > 0 && (dots < len || dots > 2)) || strncmp(part, "__", 2) == 0) {
            return false;
        }
    }
    return true;
}

/* Insertion by halves: archives have few members of text, and the order must not depend on qsort's. */
static void sort_members(const struct archive *zip, size_t *order, size_t n)
{
    for (size_t gap = n / 2; gap > 0; gap /= 2) {
        for (size_t i = gap; i < n; i++) {
            size_t v = order[i], k = i;
            for (; k >= gap; k -= gap) {
                int cmp = strcmp(zip->members[order[k - gap]].name, zip->members[v].name);
                if (cmp < 0 || (cmp == 0 && order[k - gap] < v)) {
                    break;
                }
                order[k] = order[k - gap];
            }
            order[k] = v;
        }
    }
}

grebe_status builder_units_open(struct builder_base *b, const char *path, struct builder_units *out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    *out = (struct builder_units){ .b = b, .path = path, .n = 1, .name = BUF_INIT(b->b.ctx->a) };
    GREBE_TRY(builder_map(b, path, &out->bytes, err));
    if (!archive_is_zip(out->bytes->data, out->bytes->len)) {
        goto out;
    }
    st = archive_open(b->b.ctx->a, out->bytes, &out->zip, err);
    if (st != GREBE_OK) {
        error_wrap(err, st, "%s", path);
        goto out;
    }
    out->n = 0;
    out->order = mem_alloc_zero(b->b.ctx->a, out->zip->n * sizeof *out->order);
    if (out->order == NULL) {
        st = mem_fail(err, out->zip->n * sizeof *out->order, "members");
        goto out;
    }
    for (size_t i = 0; i < out->zip->n; i++) {
        if (is_data(&out->zip->members[i])) {
            out->order[out->n++] = i;
        }
    }
    sort_members(out->zip, out->order, out->n);
out:
    if (st != GREBE_OK) {
        builder_units_close(out);
    }
    return st;
}

grebe_status builder_units_get(struct builder_units *u, size_t i, struct region **bytes, const char **name,
                               grebe_error *err)
{
    if (u->zip == NULL) {
        *bytes = region_keep(u->bytes);
        *name = u->path;
        return GREBE_OK;
    }
    const struct archive_member *m = &u->zip->members[u->order[i]];
    char quoted[160];
    buf_clear(&u->name);
    grebe_status st = buf_printf(&u->name, err, "%s::%s", u->path,
                                 error_quote(quoted, sizeof quoted, m->name, strlen(m->name)));
    if (st != GREBE_OK) {
        return st;
    }
    *name = buf_text(&u->name);
    st = *name != NULL ? archive_read(u->zip, u->order[i], UINT64_MAX, bytes, err) : mem_fail(err, 0, "a name");
    return st == GREBE_OK ? st : error_wrap(err, st, "%s", u->path);
}

void builder_units_close(struct builder_units *u)
{
    if (u->b != NULL) {
        mem_free(u->b->b.ctx->a, u->order, u->order != NULL ? u->zip->n * sizeof *u->order : 0);
        archive_free(u->zip);
        region_drop(u->bytes);
        buf_release(&u->name);
    }
    *u = (struct builder_units){ 0 };
}

/* ---- rows of all units ---- */

struct units_reader {
    struct builder_units units;
    struct shard_reader unit;  /* of units[at]; no ops: none is open */
    struct shard_place start;  /* of the first unit that is opened */
    size_t at;
    int64_t base;              /* rows of the units before */
};

static grebe_status units_next(void *self, struct ArrowSchema *schema, struct ArrowArray *out, grebe_error *err)
{
    struct units_reader *r = self;
    while (r->at < r->units.n) {
        if (r->unit.ops == NULL) {
            struct region *bytes = NULL;
            const char *name = NULL;
            grebe_status st = builder_units_get(&r->units, r->at, &bytes, &name, err);
            st = st == GREBE_OK ? r->units.b->b.ops->open_unit(r->units.b, bytes, name, r->start, &r->unit, err) : st;
            region_drop(bytes);
            if (st != GREBE_OK) {
                return st;
            }
            r->start = (struct shard_place){ 0 };
        }
        grebe_status st = r->unit.ops->next(r->unit.self, schema, out, err);
        if (st != GREBE_END) {
            return st;
        }
        r->base += r->unit.ops->next_row(r->unit.self);
        r->at++;
        shard_reader_free(&r->unit);
    }
    return GREBE_END;
}

static struct shard_place units_place(void *self)
{
    struct units_reader *r = self;
    if (r->units.zip != NULL) { /* at the beginning of the member */
        return (struct shard_place){ r->base, r->at };
    }
    return r->unit.ops != NULL ? r->unit.ops->place(r->unit.self)
                               : (struct shard_place){ r->base + r->start.row, r->start.at };
}

static int64_t units_next_row(void *self)
{
    const struct units_reader *r = self;
    return r->base + (r->unit.ops != NULL ? r->unit.ops->next_row(r->unit.self) : r->start.row);
}

static void units_free(void *self)
{
    struct units_reader *r = self;
    const grebe_allocator *a = r->units.b->b.ctx->a;
    shard_reader_free(&r->unit);
    builder_units_close(&r->units);
    mem_free(a, r, sizeof *r);
}

static const struct shard_reader_ops units_ops = { units_next, units_place, units_next_row, units_free, NULL };

grebe_status builder_read_units(struct builder *base, size_t split, size_t file, int64_t part, struct shard_place place,
                                struct shard_reader *out, grebe_error *err)
{
    struct builder_base *b = (struct builder_base *)base;
    const char *path = builder_path(b, split, file);
    (void)part;
    struct units_reader *r = mem_alloc_zero(b->b.ctx->a, sizeof *r);
    if (r == NULL) {
        return mem_fail(err, sizeof *r, path);
    }
    grebe_status st = builder_units_open(b, path, &r->units, err);
    if (st == GREBE_OK && r->units.zip != NULL && place.at > r->units.n) {
        builder_units_close(&r->units);
        st = GREBE_FAIL(err, GREBE_EINVAL, "%s: expected a place among %zu members, found %llu", path, r->units.n,
                        (unsigned long long)place.at);
    }
    if (st != GREBE_OK) {
        mem_free(b->b.ctx->a, r, sizeof *r);
        return st;
    }
    if (r->units.zip != NULL) {
        r->at = (size_t)place.at;
        r->base = place.row;
    } else {
        r->start = place;
    }
    *out = (struct shard_reader){ &units_ops, r };
    return GREBE_OK;
}
