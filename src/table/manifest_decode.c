/* SPDX-License-Identifier: Apache-2.0 */
#include "table/manifest.h"

#include <assert.h>
#include <stdlib.h>

enum { RAW_MAGIC = 0x4D494C56 }; /* "MILV" */

void manifest_init(struct manifest *m, const grebe_allocator *a)
{
    memset(m, 0, sizeof *m);
    m->arena = ARENA_INIT(a);
}

void manifest_release(struct manifest *m)
{
    const grebe_allocator *a = m->arena.a;
    arena_release(&m->arena);
    manifest_init(m, a);
}

static int compare_text(const manifest_text *x, const manifest_text *y)
{
    size_t n = x->len < y->len ? x->len : y->len;
    int order = n == 0 ? 0 : memcmp(x->data, y->data, n);
    return order != 0 ? order : (x->len > y->len) - (x->len < y->len);
}

/* Orders struct avro_pair and struct manifest_stat alike: both begin with their key. Of equal
 * keys the one that was read later, at the higher address before sorting, cannot be told by
 * qsort; lists are sorted by insertion below for that reason. */
static void sort_by_key(struct avro_list *list, size_t size, void *scratch)
{
    char *items = list->items;
    bool is_sorted = true;
    for (size_t i = 1; i < list->n && is_sorted; i++) {
        is_sorted = compare_text((manifest_text *)(items + (i - 1) * size),
                                 (manifest_text *)(items + i * size)) < 0;
    }
    if (is_sorted) {
        return;
    }
    /* Bottom-up merge sort: stable, n log n on hostile input. */
    char *from = items;
    char *to = scratch;
    for (size_t width = 1; width < list->n; width *= 2) {
        for (size_t begin = 0; begin < list->n; begin += 2 * width) {
            size_t mid = begin + width < list->n ? begin + width : list->n;
            size_t end = mid + width < list->n ? mid + width : list->n;
            size_t x = begin;
            size_t y = mid;
            for (size_t i = begin; i < end; i++) {
                bool take_x = x < mid && (y >= end ||
                                          compare_text((manifest_text *)(from + x * size),
                                                       (manifest_text *)(from + y * size)) <= 0);
                memcpy(to + i * size, from + (take_x ? x++ : y++) * size, size);
            }
        }
        char *swap = from;
        from = to;
        to = swap;
    }
    size_t n = 0;
    for (size_t i = 0; i < list->n; i++) { /* of equal keys the last one stays */
        bool is_last = i + 1 == list->n ||
                       compare_text((manifest_text *)(from + i * size),
                                    (manifest_text *)(from + (i + 1) * size)) != 0;
        if (is_last) {
            memmove(from + n * size, from + i * size, size);
            n++;
        }
    }
    if (from != items) {
        memcpy(items, from, n * size);
    }
    list->n = n;
}

static grebe_status normalize_list(struct arena *arena, struct avro_list *list, size_t size,
                                   grebe_error *err)
{
    if (list->n < 2) {
        return GREBE_OK;
    }
    void *scratch = arena_array(arena, list->n, size);
    if (scratch == NULL) {
        return mem_fail(err, list->n * size, "sorting");
    }
    sort_by_key(list, size, scratch);
    return GREBE_OK;
}

static void normalize_text(manifest_text *t)
{
    if (t->data == NULL) {
        t->data = "";
        t->len = 0;
    }
}

static void normalize_texts(const struct avro_list *list)
{
    for (size_t i = 0; i < list->n; i++) {
        normalize_text((manifest_text *)list->items + i);
    }
}

static grebe_status normalize_pairs(struct arena *arena, struct avro_list *list, grebe_error *err)
{
    for (size_t i = 0; i < list->n; i++) {
        struct avro_pair *pair = (struct avro_pair *)list->items + i;
        normalize_text(&pair->key);
        normalize_text(&pair->value);
    }
    return normalize_list(arena, list, sizeof(struct avro_pair), err);
}

/* The opaque bytes of the first generations are the property "metadata" of today's. */
static grebe_status normalize_file(struct arena *arena, struct manifest_file *f, grebe_error *err)
{
    normalize_text(&f->path);
    normalize_text(&f->blob);
    if (f->blob.len > 0 && pairs_find(&f->properties, "metadata") == NULL) {
        struct avro_pair *pairs = arena_array(arena, f->properties.n + 1, sizeof *pairs);
        if (pairs == NULL) {
            return mem_fail(err, sizeof *pairs, "a property");
        }
        if (f->properties.n > 0) {
            memcpy(pairs, f->properties.items, f->properties.n * sizeof *pairs);
        }
        pairs[f->properties.n].key = (manifest_text){ "metadata", strlen("metadata") };
        pairs[f->properties.n].value = f->blob;
        f->properties = (struct avro_list){ pairs, f->properties.n + 1 };
    }
    return normalize_pairs(arena, &f->properties, err);
}

static grebe_status normalize(struct manifest *m, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    for (size_t g = 0; g < m->groups.n; g++) {
        struct manifest_group *group = manifest_group_at(m, g);
        normalize_text(&group->format);
        normalize_texts(&group->columns);
        for (size_t f = 0; f < group->files.n; f++) {
            GREBE_TRY(normalize_file(&m->arena, manifest_file_at(group, f), err));
        }
    }
    for (size_t i = 0; i < m->delta_logs.n; i++) {
        normalize_text(&manifest_delta_at(m, i)->path);
    }
    for (size_t i = 0; i < m->stats.n; i++) {
        struct manifest_stat *stat = manifest_stat_at(m, i);
        normalize_text(&stat->key);
        normalize_texts(&stat->paths);
        GREBE_TRY(normalize_pairs(&m->arena, &stat->metadata, err));
    }
    GREBE_TRY(normalize_list(&m->arena, &m->stats, sizeof(struct manifest_stat), err));
    for (size_t i = 0; i < m->indexes.n; i++) {
        struct manifest_index *index = manifest_index_at(m, i);
        normalize_text(&index->column_name);
        normalize_text(&index->index_name);
        normalize_text(&index->index_type);
        normalize_text(&index->path);
        normalize_texts(&index->file_keys);
        GREBE_TRY(normalize_pairs(&m->arena, &index->properties, err));
    }
    for (size_t i = 0; i < m->lob_files.n; i++) {
        normalize_text(&manifest_lob_at(m, i)->path);
    }
out:
    return st;
}

/* Header keys of ours, copied: the input does not live on. */
static grebe_status keep_header(struct manifest *m, const struct avro_ocf *ocf, grebe_error *err)
{
    struct avro_pair *pairs = arena_array(&m->arena, ocf->n_metadata, sizeof *pairs);
    if (pairs == NULL) {
        return mem_fail(err, ocf->n_metadata * sizeof *pairs, "header entries");
    }
    size_t n = 0;
    for (size_t i = 0; i < ocf->n_metadata; i++) {
        const struct avro_pair *pair = &ocf->metadata[i];
        if (pair->key.len <= 6 || memcmp(pair->key.data, "grebe.", 6) != 0) {
            continue;
        }
        pairs[n].key.data = arena_str(&m->arena, pair->key.data, pair->key.len);
        pairs[n].key.len = pair->key.len;
        pairs[n].value.data = arena_str(&m->arena, pair->value.data, pair->value.len);
        pairs[n].value.len = pair->value.len;
        if (pairs[n].key.data == NULL || pairs[n].value.data == NULL) {
            return mem_fail(err, pair->value.len, "a header entry");
        }
        n++;
    }
    m->header = (struct avro_list){ pairs, n };
    return normalize_list(&m->arena, &m->header, sizeof *pairs, err);
}

static grebe_status decode_avro(struct manifest *m, const void *bytes, size_t len,
                                grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct arena scratch = ARENA_INIT(m->arena.a);
    struct buf inflated = BUF_INIT(m->arena.a);
    struct avro_ocf ocf;
    struct avro_type *type = NULL;
    GREBE_TRY(avro_ocf_read(bytes, len, MANIFEST_BYTES_MAX, &scratch, &inflated, &ocf, err));
    GREBE_TRY(avro_schema_parse(&scratch, ocf.schema.data, ocf.schema.len, &type, err));
    GREBE_TRY(avro_record_resolve(&ocf.body, type, &manifest_record_read, &m->arena, m, err));
    GREBE_TRY(keep_header(m, &ocf, err));
out:
    buf_release(&inflated);
    arena_release(&scratch);
    return st;
}

static grebe_status decode_raw(struct manifest *m, const void *bytes, size_t len,
                               grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct avro_reader r = { bytes, len, 0, 0, 0 };
    int32_t magic = 0;
    int32_t version = 0;
    st = avro_read_int(&r, &magic, NULL);
    if (st != GREBE_OK || magic != RAW_MAGIC || len < 4) {
        return GREBE_FAIL(err, GREBE_ECORRUPT,
                          "expected the first bytes of a manifest, found %s in %zu bytes",
                          len < 4 ? "too few" : "others", len);
    }
    GREBE_TRY(avro_read_int(&r, &version, err));
    if (version < 1 || version > MANIFEST_RAW_VERSION_MAX) {
        return GREBE_FAIL(err, GREBE_EUNSUPPORTED,
                          "raw manifest of version %d, known are 1 to %d", version,
                          MANIFEST_RAW_VERSION_MAX);
    }
    m->encoding = MANIFEST_RAW;
    m->raw_version = version;
    const struct avro_member *sections = manifest_raw_sections;
    GREBE_TRY(avro_member_read(&r, &sections[RAW_GROUPS], &m->arena, m, err));
    GREBE_TRY(avro_member_read(&r, &sections[RAW_DELTAS], &m->arena, m, err));
    GREBE_TRY(avro_member_read(&r, &sections[version >= 3 ? RAW_STATS : RAW_STATS_PATHS],
                               &m->arena, m, err));
    if (version >= 2 && avro_remaining(&r) > 0) {
        GREBE_TRY(avro_member_read(&r, &sections[RAW_INDEXES], &m->arena, m, err));
    }
out:
    return st;
}

grebe_status manifest_decode(struct manifest *m, const void *bytes, size_t len, grebe_error *err)
{
    assert(m->arena.a != NULL && m->groups.n == 0);
    grebe_status st = GREBE_OK;
    if (len > MANIFEST_BYTES_MAX) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "manifest of %zu bytes, at most %d are read", len,
                          MANIFEST_BYTES_MAX);
    }
    m->size_bytes = len;
    st = avro_ocf_sniff(bytes, len) ? decode_avro(m, bytes, len, err)
                                    : decode_raw(m, bytes, len, err);
    if (st == GREBE_OK) {
        st = normalize(m, err);
    }
    if (st != GREBE_OK) {
        manifest_release(m);
    }
    return st;
}

const manifest_text *pairs_find(const struct avro_list *pairs, const char *key)
{
    for (size_t i = 0; i < pairs->n; i++) {
        const struct avro_pair *pair = (const struct avro_pair *)pairs->items + i;
        if (text_is(&pair->key, key)) {
            return &pair->value;
        }
    }
    return NULL;
}

const struct manifest_stat *manifest_stat_find(const struct manifest *m, const char *key)
{
    for (size_t i = 0; i < m->stats.n; i++) {
        if (text_is(&manifest_stat_at(m, i)->key, key)) {
            return manifest_stat_at(m, i);
        }
    }
    return NULL;
}

uint64_t manifest_file_size(const struct manifest_file *f, const char *key)
{
    const manifest_text *text = pairs_find(&f->properties, key);
    uint64_t v = 0;
    for (size_t i = 0; text != NULL && i < text->len; i++) {
        unsigned digit = (unsigned char)text->data[i] - (unsigned)'0';
        if (digit > 9 || v > ((uint64_t)INT64_MAX - digit) / 10) {
            return 0;
        }
        v = v * 10 + digit;
    }
    return v;
}
