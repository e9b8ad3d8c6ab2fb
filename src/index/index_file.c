/* SPDX-License-Identifier: Apache-2.0 */
/* Reading of index files. The layout stands in docs/format/index.md and index_layout.h. */
#include "index/index_file.h"

#include <assert.h>
#include <string.h>

#include "base/checked.h"
#include "base/endian.h"
#include "base/hash.h"
#include "index/index_layout.h"

struct index_file {
    grebe_context *ctx;
    struct io_store *store;
    struct io_file *file;
    struct region *map;
    const unsigned char *table; /* the last page of the map */
    uint64_t table_offset;
    uint32_t n_fields, n_sections;
};

static const unsigned char *field_at(const struct index_file *f, uint32_t i)
{
    return f->table + INDEX_TABLE_FIELDS + (size_t)i * INDEX_FIELD_BYTES;
}

static const unsigned char *section_at(const struct index_file *f, uint32_t i)
{
    return f->table + INDEX_TABLE_SECTIONS + (size_t)i * INDEX_SECTION_BYTES;
}

/* A tag is 1 to 8 printable characters, then zeros. */
static bool tag_is_good(const unsigned char *tag)
{
    size_t n = 0;
    while (n < sizeof(index_tag) && tag[n] > 0x20 && tag[n] < 0x7f) {
        n++;
    }
    for (size_t i = n; i < sizeof(index_tag); i++) {
        if (tag[i] != 0) {
            return false;
        }
    }
    return n > 0;
}

static const unsigned char *find(const unsigned char *entries, uint32_t n, size_t entry_bytes, const char *tag)
{
    index_tag wanted = { 0 };
    size_t len = strlen(tag);
    assert(len >= 1 && len <= sizeof wanted);
    memcpy(wanted, tag, len);
    for (uint32_t i = 0; i < n; i++) {
        if (memcmp(entries + i * entry_bytes, wanted, sizeof wanted) == 0) {
            return entries + i * entry_bytes;
        }
    }
    return NULL;
}

static grebe_status check_tags(const struct index_file *f, const unsigned char *entries, uint32_t n, size_t entry_bytes,
                               grebe_error *err)
{
    char quoted[64];
    for (uint32_t i = 0; i < n; i++) {
        const unsigned char *tag = entries + i * entry_bytes;
        bool is_good = tag_is_good(tag);
        for (uint32_t j = 0; is_good && j < i; j++) {
            is_good = memcmp(tag, entries + j * entry_bytes, sizeof(index_tag)) != 0;
        }
        if (!is_good) {
            return GREBE_FAIL(err, GREBE_ECORRUPT,
                              "%s: name %u of the table at %llu: expected a name of its own, found %s", f->file->path,
                              i, (unsigned long long)f->table_offset,
                              error_quote(quoted, sizeof quoted, tag, sizeof(index_tag)));
        }
    }
    return GREBE_OK;
}

/* Sections ascend, do not overlap and end before the table. */
static grebe_status check_sections(const struct index_file *f, grebe_error *err)
{
    uint64_t end = INDEX_FILE_ALIGN;
    for (uint32_t i = 0; i < f->n_sections; i++) {
        const unsigned char *e = section_at(f, i);
        uint64_t offset = load_le64(e + 8);
        uint64_t len = load_le64(e + 16);
        if (offset % INDEX_FILE_ALIGN != 0 || offset < end || !range_fits_u64(offset, len, f->table_offset)) {
            return GREBE_FAIL(
                err, GREBE_ECORRUPT,
                "%s: section %.8s: expected %llu bytes at a multiple of %d in [%llu, %llu), found at %llu",
                f->file->path, (const char *)e, (unsigned long long)len, INDEX_FILE_ALIGN, (unsigned long long)end,
                (unsigned long long)f->table_offset, (unsigned long long)offset);
        }
        end = offset + len;
    }
    return GREBE_OK;
}

static grebe_status check_contents(const struct index_file *f, grebe_error *err)
{
    for (uint32_t i = 0; i < f->n_sections; i++) {
        const unsigned char *e = section_at(f, i);
        uint64_t offset = load_le64(e + 8);
        uint64_t found = hash_xxh3(f->map->data + offset, (size_t)load_le64(e + 16));
        if (found != load_le64(e + 24)) {
            return GREBE_FAIL(err, GREBE_ECORRUPT, "%s: section %.8s at %llu: expected checksum %016llx, found %016llx",
                              f->file->path, (const char *)e, (unsigned long long)offset,
                              (unsigned long long)load_le64(e + 24), (unsigned long long)found);
        }
    }
    return GREBE_OK;
}

static grebe_status check_table(struct index_file *f, grebe_error *err)
{
    const unsigned char *t = f->table;
    const char *path = f->file->path;
    if (memcmp(f->map->data, INDEX_MAGIC, INDEX_MAGIC_BYTES) != 0) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "%s: expected an index file, found other bytes at 0", path);
    }
    if (memcmp(t, INDEX_MAGIC, INDEX_MAGIC_BYTES) != 0) {
        return GREBE_FAIL(err, GREBE_ECORRUPT,
                          "%s: expected the table of an index in the last %d of %llu bytes: the file is cut off?", path,
                          INDEX_FILE_ALIGN, (unsigned long long)f->map->len);
    }
    uint32_t version = load_le32(t + INDEX_TABLE_VERSION);
    if (version > INDEX_FILE_VERSION) {
        return GREBE_FAIL(err, GREBE_EUNSUPPORTED, "%s: index file version %u, expected at most %d", path, version,
                          INDEX_FILE_VERSION);
    }
    uint64_t sum = hash_xxh3(t, INDEX_TABLE_CHECKSUM);
    if (sum != load_le64(t + INDEX_TABLE_CHECKSUM)) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "%s: table at %llu: expected checksum %016llx, found %016llx", path,
                          (unsigned long long)f->table_offset, (unsigned long long)load_le64(t + INDEX_TABLE_CHECKSUM),
                          (unsigned long long)sum);
    }
    f->n_fields = load_le32(t + INDEX_TABLE_N_FIELDS);
    f->n_sections = load_le32(t + INDEX_TABLE_N_SECTIONS);
    uint64_t bytes = load_le64(t + INDEX_TABLE_BYTES);
    if (version == 0 || f->n_fields > INDEX_FIELDS_MAX || f->n_sections > INDEX_SECTIONS_MAX || bytes != f->map->len) {
        return GREBE_FAIL(
            err, GREBE_ECORRUPT,
            "%s: table at %llu: version %u, %u fields of %d, %u sections of %d, %llu bytes, the file has %llu", path,
            (unsigned long long)f->table_offset, version, f->n_fields, INDEX_FIELDS_MAX, f->n_sections,
            INDEX_SECTIONS_MAX, (unsigned long long)bytes, (unsigned long long)f->map->len);
    }
    return GREBE_OK;
}

grebe_status index_file_open(grebe_context *ctx, const char *path, bool is_deep, struct index_file **out,
                             grebe_error *err)
{
    grebe_status st = GREBE_OK;
    *out = NULL;
    struct index_file *f = mem_alloc_zero(ctx->a, sizeof *f);
    if (f == NULL) {
        return mem_fail(err, sizeof *f, path);
    }
    f->ctx = ctx;
    GREBE_TRY(io_local_new(ctx, &f->store, err));
    GREBE_TRY(io_open(f->store, path, &f->file, err));
    uint64_t bytes = f->file->id.size_bytes;
    if (bytes < 2 * INDEX_FILE_ALIGN || bytes % INDEX_FILE_ALIGN != 0) {
        st = GREBE_FAIL(err, GREBE_ECORRUPT, "%s: expected an index file of whole pages of %d bytes, found %llu bytes",
                        path, INDEX_FILE_ALIGN, (unsigned long long)bytes);
        goto out;
    }
    GREBE_TRY(f->file->ops->map(f->file, &f->map, err));
    f->table_offset = bytes - INDEX_FILE_ALIGN;
    f->table = f->map->data + f->table_offset;
    GREBE_TRY(check_table(f, err));
    GREBE_TRY(check_tags(f, field_at(f, 0), f->n_fields, INDEX_FIELD_BYTES, err));
    GREBE_TRY(check_tags(f, section_at(f, 0), f->n_sections, INDEX_SECTION_BYTES, err));
    GREBE_TRY(check_sections(f, err));
    if (is_deep || bytes <= INDEX_VERIFY_BYTES) {
        GREBE_TRY(check_contents(f, err));
    }
    *out = f;
    f = NULL;
out:
    index_file_close(f);
    return st;
}

void index_file_close(struct index_file *f)
{
    if (f == NULL) {
        return;
    }
    region_drop(f->map);
    io_close(f->file);
    io_store_free(f->store);
    mem_free(f->ctx->a, f, sizeof *f);
}

const char *index_file_path(const struct index_file *f)
{
    return f->file->path;
}

grebe_status index_file_uint(const struct index_file *f, const char *tag, uint64_t min, uint64_t max, uint64_t *out,
                             grebe_error *err)
{
    const unsigned char *e = find(field_at(f, 0), f->n_fields, INDEX_FIELD_BYTES, tag);
    *out = 0;
    if (e == NULL) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "%s: expected a field %s, found none", f->file->path, tag);
    }
    uint64_t v = load_le64(e + 8);
    if (v < min || v > max) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "%s: field %s: expected %llu to %llu, found %llu", f->file->path, tag,
                          (unsigned long long)min, (unsigned long long)max, (unsigned long long)v);
    }
    *out = v;
    return GREBE_OK;
}

grebe_status index_file_real(const struct index_file *f, const char *tag, double *out, grebe_error *err)
{
    uint64_t bits = 0;
    *out = 0;
    grebe_status st = index_file_uint(f, tag, 0, UINT64_MAX, &bits, err);
    if (st != GREBE_OK) {
        return st;
    }
    double v;
    memcpy(&v, &bits, sizeof v);
    if (!(v - v == 0)) { /* NaN and infinities */
        return GREBE_FAIL(err, GREBE_ECORRUPT, "%s: field %s: expected a finite number", f->file->path, tag);
    }
    *out = v;
    return GREBE_OK;
}

grebe_status index_file_section(const struct index_file *f, const char *tag, uint64_t len, const void **data,
                                uint64_t *found_len, grebe_error *err)
{
    const unsigned char *e = find(section_at(f, 0), f->n_sections, INDEX_SECTION_BYTES, tag);
    *data = NULL;
    if (e == NULL) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "%s: expected a section %s, found none", f->file->path, tag);
    }
    uint64_t found = load_le64(e + 16);
    if (len != UINT64_MAX && found != len) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "%s: section %s: expected %llu bytes, found %llu", f->file->path, tag,
                          (unsigned long long)len, (unsigned long long)found);
    }
    *data = f->map->data + load_le64(e + 8);
    if (found_len != NULL) {
        *found_len = found;
    }
    return GREBE_OK;
}

uint64_t index_file_offset(const struct index_file *f, const char *tag)
{
    const unsigned char *e = find(section_at(f, 0), f->n_sections, INDEX_SECTION_BYTES, tag);
    return e == NULL ? 0 : load_le64(e + 8);
}

bool index_file_has(const struct index_file *f, const char *tag)
{
    return find(section_at(f, 0), f->n_sections, INDEX_SECTION_BYTES, tag) != NULL;
}
