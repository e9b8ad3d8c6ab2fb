/* SPDX-License-Identifier: Apache-2.0 */
#include "parquet/parquet_write_internal.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "arrow/ipc.h"
#include "base/base64.h"
#include "base/checked.h"
#include "base/endian.h"
#include "grebe_version_info.h"

static const char magic[4] = {'P', 'A', 'R', '1'};

static grebe_status put(struct pw_writer *w, const void *bytes, size_t len, grebe_error *err)
{
    grebe_status st = GREBE_OK;

    if (w->position == 0) {
        st = io_write(w->to, magic, sizeof magic, err);
        w->position = sizeof magic;
    }
    if (st == GREBE_OK && len > 0) {
        st = io_write(w->to, bytes, len, err);
        w->position += len;
    }
    return st;
}

static int32_t codec_of(enum codec_id id)
{
    switch (id) {
    case CODEC_SNAPPY: return PQ_SNAPPY;
    case CODEC_GZIP: return PQ_GZIP;
    case CODEC_BROTLI: return PQ_BROTLI;
    case CODEC_ZSTD: return PQ_ZSTD;
    case CODEC_LZ4_RAW: return PQ_LZ4_RAW;
    default: assert(id == CODEC_NONE); return PQ_UNCOMPRESSED;
    }
}

/* ---- one chunk's metadata ---- */

static grebe_status keep_bytes(struct pw_writer *w, const struct buf *b, struct pq_bytes *out,
                               grebe_error *err)
{
    const char *copy = arena_str(&w->arena, b->len > 0 ? (const char *)b->data : "", b->len);

    if (copy == NULL) {
        return mem_fail(err, b->len, "statistics");
    }
    *out = (struct pq_bytes){(const unsigned char *)copy, b->len};
    return GREBE_OK;
}

static bool has_legacy_order(enum pw_order order)
{
    return order == PW_ORDER_BOOL || order == PW_ORDER_I32 || order == PW_ORDER_I64 ||
           order == PW_ORDER_F32 || order == PW_ORDER_F64;
}

static grebe_status fill_statistics(struct pw_writer *w, const struct pw_chunk *c,
                                    struct pq_chunk *out, grebe_error *err)
{
    struct pq_statistics *s = &out->statistics;
    const bool is_float = c->leaf->order >= PW_ORDER_F16 && c->leaf->order <= PW_ORDER_F64;
    const bool is_vector = c->mode == PW_VECTOR;
    grebe_status st = GREBE_OK;

    if (w->config.is_milvus && c->leaf->n_nodes == 1 &&
        (c->leaf->is_blob || c->leaf->is_plain_binary)) {
        return GREBE_OK; /* the reference turns them off as a whole */
    }
    if (w->config.is_without_statistics) {
        return GREBE_OK;
    }
    out->has_statistics = true;
    s->null_count = c->n_slots - c->n_values;
    if (c->has_min) {
        GREBE_TRY(keep_bytes(w, &c->min, &s->min_value, err));
    }
    if (c->has_max) {
        GREBE_TRY(keep_bytes(w, &c->max, &s->max_value, err));
    }
    if (has_legacy_order(c->leaf->order)) {
        s->legacy_min = s->min_value;
        s->legacy_max = s->max_value;
    }
    if (!w->config.is_milvus) {
        s->is_min_exact = c->has_min ? (int8_t)c->is_min_exact : -1;
        s->is_max_exact = c->has_max ? (int8_t)c->is_max_exact : -1;
        s->nan_count = is_float && !is_vector ? c->bounds.n_nan : -1;
    }
out:
    return st;
}

static grebe_status fill_sizes(struct pw_writer *w, const struct pw_chunk *c,
                               struct pq_chunk *out, grebe_error *err)
{
    const uint32_t n_rep = c->leaf->max_rep + 1u;
    const uint32_t n_def = c->leaf->max_def + 1u;
    int64_t *rep = arena_array(&w->arena, n_rep, sizeof *rep);
    int64_t *def = arena_array(&w->arena, n_def, sizeof *def);

    if (rep == NULL || def == NULL) {
        return mem_fail(err, n_rep + n_def, "size statistics");
    }
    for (size_t i = 0; i < pw_page_count(c); i++) {
        pw_levels_count(c, pw_page_at(c, i), rep, def);
    }
    out->has_size_statistics = true;
    out->size_statistics.unencoded_bytes = c->leaf->store == PW_BYTES ? c->unencoded_bytes : -1;
    if (n_rep > 1) {
        out->size_statistics.repetition = rep;
        out->size_statistics.n_repetition = n_rep;
    }
    if (n_def > 2 || n_rep > 1) {
        out->size_statistics.definition = def;
        out->size_statistics.n_definition = n_def;
    }
    return GREBE_OK;
}

/* Which encodings there are, and how many pages have each. */
static grebe_status fill_encodings(struct pw_writer *w, const struct pw_chunk *c,
                                   struct pq_chunk *out, grebe_error *err)
{
    enum { KINDS = PQ_ALP + 1 };
    int32_t count[KINDS] = {0};
    struct pq_encoding_stats *stats = arena_array(&w->arena, KINDS + 1, sizeof *stats);
    int32_t *list = arena_array(&w->arena, KINDS, sizeof *list);
    const bool has_levels = c->leaf->max_def > 0 || c->leaf->max_rep > 0;

    if (stats == NULL || list == NULL) {
        return mem_fail(err, KINDS * sizeof *stats, "encoding statistics");
    }
    if (c->has_dictionary) {
        stats[out->n_encoding_stats++] =
            (struct pq_encoding_stats){PQ_PAGE_DICTIONARY, PQ_PLAIN, 1};
    }
    for (size_t i = 0; i < pw_page_count(c); i++) {
        count[pw_page_at(c, i)->encoding]++;
    }
    for (int32_t e = 0; e < KINDS; e++) {
        if (count[e] > 0) {
            stats[out->n_encoding_stats++] =
                (struct pq_encoding_stats){w->config.is_v2 ? PQ_PAGE_DATA_V2 : PQ_PAGE_DATA, e, count[e]};
        }
        if (count[e] > 0 || (e == PQ_PLAIN && c->has_dictionary) || (e == PQ_RLE && has_levels)) {
            list[out->n_encodings++] = e;
        }
    }
    out->encodings = list;
    out->encoding_stats = stats;
    return GREBE_OK;
}

static grebe_status put_offset_index(struct pw_writer *w, const struct pw_chunk *c,
                                     struct pq_chunk *out, uint64_t chunk_begin,
                                     grebe_error *err)
{
    const size_t n = pw_page_count(c);
    struct arena ar = ARENA_INIT(w->a);
    const size_t begin = w->offset_indexes.len;
    struct pq_offset_index x = {.n = (uint32_t)n};
    grebe_status st = GREBE_OK;

    x.offset = arena_array(&ar, n, sizeof *x.offset);
    x.size = arena_array(&ar, n, sizeof *x.size);
    x.first_row = arena_array(&ar, n, sizeof *x.first_row);
    x.unencoded_bytes = arena_array(&ar, n, sizeof *x.unencoded_bytes);
    if (x.offset == NULL || x.size == NULL || x.first_row == NULL || x.unencoded_bytes == NULL) {
        st = mem_fail(err, n * sizeof *x.offset, "offset index");
        goto out;
    }
    for (size_t i = 0; i < n; i++) {
        const struct pw_page *p = pw_page_at(c, i);

        if (p->size > INT32_MAX) {
            st = GREBE_FAIL(err, GREBE_ELIMIT, "column \"%s\": expected a page below 2 GiB, found %zu bytes",
                            c->leaf->nodes[0].name, p->size);
            goto out;
        }
        x.offset[i] = (int64_t)(chunk_begin + p->offset);
        x.size[i] = (int32_t)p->size;
        x.first_row[i] = p->row_begin;
        x.unencoded_bytes[i] = p->unencoded_bytes;
    }
    if (c->leaf->store != PW_BYTES) {
        x.unencoded_bytes = NULL;
    }
    GREBE_TRY(pq_offset_index_encode(&x, &w->offset_indexes, err));
    /* Where in the file is known at the end: the place among the indexes until then. */
    out->offset_index_offset = (int64_t)begin;
    out->offset_index_length = (int32_t)(w->offset_indexes.len - begin);
out:
    arena_release(&ar);
    return st;
}

static grebe_status put_indexes(struct pw_writer *w, const struct pw_chunk *c,
                                struct pq_chunk *out, uint64_t chunk_begin, grebe_error *err)
{
    grebe_status st = put_offset_index(w, c, out, chunk_begin, err);

    if (st == GREBE_OK && c->column_index.len > 0) {
        out->column_index_offset = (int64_t)w->column_indexes.len;
        out->column_index_length = (int32_t)c->column_index.len;
        st = buf_put(&w->column_indexes, c->column_index.data, c->column_index.len, err);
    }
    return st;
}

static grebe_status put_part(void *arg, const void *bytes, size_t len, grebe_error *err)
{
    return put(arg, bytes, len, err);
}

static grebe_status chunk_write(struct pw_writer *w, const struct pw_chunk *c,
                                struct pq_chunk *out, grebe_error *err)
{
    static const unsigned char zeros[PW_ALIGN] = {0};
    uint64_t begin = 0;
    grebe_status st = GREBE_OK;

    if (c->is_aligned) {
        GREBE_TRY(put(w, zeros, 0, err)); /* the magic is in the file */
        GREBE_TRY(put(w, zeros, (size_t)(-(w->position + c->align_at) % PW_ALIGN), err));
    } else {
        GREBE_TRY(put(w, zeros, 0, err));
    }
    begin = w->position;
    GREBE_TRY(c->is_in_place ? pw_write_in_place(c, put_part, w, err)
                             : put(w, c->out.data, c->out.len, err));
    pq_chunk_init(out);
    out->has_metadata = true;
    out->type = c->leaf->type;
    out->codec = codec_of(c->codec);
    out->num_values = c->n_slots;
    out->total_uncompressed_size = c->uncompressed_size;
    out->total_compressed_size = (int64_t)(w->position - begin);
    out->data_page_offset = (int64_t)begin;
    if (c->has_dictionary) {
        out->dictionary_page_offset = (int64_t)begin;
        out->data_page_offset = (int64_t)(begin + c->dictionary_size);
    }
    out->path = c->leaf->path;
    out->n_path = c->leaf->n_path;
    GREBE_TRY(fill_encodings(w, c, out, err));
    GREBE_TRY(fill_statistics(w, c, out, err));
    if (!w->config.is_milvus) {
        GREBE_TRY(fill_sizes(w, c, out, err));
        if (!w->config.is_without_page_index) {
            GREBE_TRY(put_indexes(w, c, out, begin, err));
        }
    }
    if (c->bloom.len > 0) {
        out->bloom_filter_offset = (int64_t)w->blooms.len; /* among the filters until the end */
        out->bloom_filter_length = (int32_t)c->bloom.len;
        GREBE_TRY(buf_put(&w->blooms, c->bloom.data, c->bloom.len, err));
    }
out:
    return st;
}

grebe_status pw_group_write(struct pw_writer *w, struct pw_group *g, grebe_error *err)
{
    struct pq_row_group group;
    const size_t number = w->row_groups.len / sizeof group;
    grebe_status st = GREBE_OK;

    pq_row_group_init(&group);
    group.n_columns = w->schema.n_leaves;
    group.columns = arena_array(&w->arena, group.n_columns, sizeof *group.columns);
    if (group.columns == NULL) {
        return mem_fail(err, group.n_columns * sizeof *group.columns, "row group metadata");
    }
    if (number >= PQ_ROW_GROUPS_MAX) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "%s: expected at most %d row groups", w->to->path,
                          PQ_ROW_GROUPS_MAX);
    }
    group.num_rows = g->n_rows;
    group.total_compressed_size = 0;
    group.ordinal = number <= INT16_MAX ? (int32_t)number : -1;
    for (uint32_t i = 0; i < group.n_columns; i++) {
        struct pq_chunk *c = &group.columns[i];

        GREBE_TRY(chunk_write(w, &g->chunks[i], c, err));
        if (i == 0) {
            group.file_offset = c->dictionary_page_offset > 0 ? c->dictionary_page_offset
                                                              : c->data_page_offset;
        }
        group.total_byte_size += c->total_uncompressed_size;
        group.total_compressed_size += c->total_compressed_size;
    }
    GREBE_TRY(buf_put(&w->row_groups, &group, sizeof group, err));
    if (w->config.is_milvus) {
        int64_t first = 0;

        for (size_t i = 0; i < number; i++) {
            first += ((const struct pq_row_group *)(const void *)w->row_groups.data)[i].num_rows;
        }
        GREBE_TRY(buf_printf(&w->milvus_groups, err, "%s%lld|%lld|%lld", number > 0 ? ";" : "",
                             (long long)g->n_bytes, (long long)g->n_rows, (long long)first));
    }
    if (w->call.progress != NULL) {
        const grebe_progress progress = {
            .phase = "write",
            .rows_done = (uint64_t)(w->n_rows + g->n_rows),
            .rows_total = w->expected_rows > 0 ? (uint64_t)w->expected_rows : 0,
            .bytes_done = w->position,
        };

        w->call.progress(w->call.progress_ctx, &progress);
    }
out:
    return st;
}

/* ---- key-value metadata ---- */

static bool is_taken(const struct pw_writer *w, const char *key, size_t len)
{
    for (size_t i = 0; i < w->n_metadata; i++) {
        if (w->metadata[i].key.len == len && memcmp(w->metadata[i].key.data, key, len) == 0) {
            return true;
        }
    }
    return false;
}

static grebe_status add_pair(struct pw_writer *w, const char *key, size_t key_len,
                             const void *value, size_t value_len, grebe_error *err)
{
    const char *k = arena_str(&w->arena, key, key_len);
    const char *v = arena_str(&w->arena, value_len > 0 ? value : "", value_len);

    if (k == NULL || v == NULL) {
        return mem_fail(err, key_len + value_len, "file metadata");
    }
    w->metadata[w->n_metadata++] =
        (struct pq_key_value){{(const unsigned char *)k, key_len},
                              {(const unsigned char *)v, value_len}};
    return GREBE_OK;
}

static grebe_status add_arrow_schema(struct pw_writer *w, grebe_error *err)
{
    static const char key[] = "ARROW:schema";
    struct buf message = BUF_INIT(w->a);
    struct buf text = BUF_INIT(w->a);
    struct ArrowSchema kept = {0};
    grebe_status st = GREBE_OK;

    GREBE_TRY(pw_schema_kept(w->a, &w->schema, &kept, err));
    GREBE_TRY(ipc_schema_encode(&message, &kept, err));
    GREBE_TRY(base64_encode(&text, message.data, message.len, err));
    GREBE_TRY(add_pair(w, key, sizeof key - 1, text.data, text.len, err));
out:
    schema_release(&kept);
    buf_release(&message);
    buf_release(&text);
    return st;
}

grebe_status pw_metadata_keep(struct pw_writer *w, const struct format_write_options *options,
                              grebe_error *err)
{
    enum { OURS = 2 };
    static const char arrow_key[] = "ARROW:schema";
    const struct ArrowSchema *schema = &w->schema.arrow;
    const size_t n_schema = w->config.is_milvus ? 0 : schema_metadata_count(schema);
    const size_t n_max = options->n_metadata + n_schema + OURS;
    grebe_status st = GREBE_OK;

    if (n_max > PQ_KEY_VALUES_MAX) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "metadata: expected at most %d pairs, found %zu",
                          PQ_KEY_VALUES_MAX, n_max);
    }
    w->metadata = arena_array(&w->arena, n_max, sizeof *w->metadata);
    if (w->metadata == NULL) {
        return mem_fail(err, n_max * sizeof *w->metadata, "file metadata");
    }
    for (size_t i = 0; i < options->n_metadata + n_schema; i++) {
        const struct key_value kv =
            i < options->n_metadata ? options->metadata[i]
                                    : schema_metadata_at(schema, i - options->n_metadata);
        const bool is_ours = kv.key_len == sizeof arrow_key - 1 &&
                             memcmp(kv.key, arrow_key, kv.key_len) == 0;

        if (!is_ours && !(i >= options->n_metadata && is_taken(w, kv.key, kv.key_len))) {
            GREBE_TRY(add_pair(w, kv.key, kv.key_len, kv.value, kv.value_len, err));
        }
    }
    if (!w->config.is_milvus) {
        GREBE_TRY(add_arrow_schema(w, err));
    }
out:
    return st;
}

static grebe_status add_milvus_pairs(struct pw_writer *w, grebe_error *err)
{
    static const char groups_key[] = "row_group_metadata";
    static const char version_key[] = "storage_version";
    grebe_status st = add_pair(w, groups_key, sizeof groups_key - 1, w->milvus_groups.data,
                               w->milvus_groups.len, err);

    return st != GREBE_OK ? st
                          : add_pair(w, version_key, sizeof version_key - 1, "1.0.0", 5, err);
}

/* ---- the end of the file ---- */

/* All bloom filters, all ColumnIndexes, all OffsetIndexes; chunks learn where theirs are. */
static grebe_status write_indexes(struct pw_writer *w, grebe_error *err)
{
    struct pq_row_group *groups = (struct pq_row_group *)(void *)w->row_groups.data;
    const size_t n = w->row_groups.len / sizeof *groups;
    const int64_t bloom_base = (int64_t)w->position;
    const int64_t column_base = bloom_base + (int64_t)w->blooms.len;
    const int64_t offset_base = column_base + (int64_t)w->column_indexes.len;
    grebe_status st = GREBE_OK;

    for (size_t g = 0; g < n; g++) {
        for (uint32_t i = 0; i < groups[g].n_columns; i++) {
            struct pq_chunk *c = &groups[g].columns[i];

            if (c->bloom_filter_length > 0) {
                c->bloom_filter_offset += bloom_base;
            }
            if (c->column_index_length > 0) {
                c->column_index_offset += column_base;
            }
            if (c->offset_index_length > 0) {
                c->offset_index_offset += offset_base;
            }
        }
    }
    GREBE_TRY(put(w, w->blooms.data, w->blooms.len, err));
    GREBE_TRY(put(w, w->column_indexes.data, w->column_indexes.len, err));
    GREBE_TRY(put(w, w->offset_indexes.data, w->offset_indexes.len, err));
out:
    return st;
}

grebe_status pw_footer_write(struct pw_writer *w, struct file_summary *out, grebe_error *err)
{
    static const char created_by[] = "grebe version " GREBE_VERSION_TEXT " (build none)";
    struct buf bytes = BUF_INIT(w->a);
    uint8_t *orders = arena_array(&w->arena, w->schema.n_leaves + 1u, sizeof *orders);
    unsigned char tail[8];
    struct pq_footer footer;
    grebe_status st = GREBE_OK;

    memset(out, 0, sizeof *out);
    if (orders == NULL) {
        return mem_fail(err, w->schema.n_leaves, "footer");
    }
    GREBE_TRY(put(w, NULL, 0, err));
    GREBE_TRY(write_indexes(w, err));
    if (w->config.is_milvus) {
        GREBE_TRY(add_milvus_pairs(w, err));
    }
    memset(orders, PQ_ORDER_TYPE, w->schema.n_leaves);
    footer = (struct pq_footer){
        .version = w->config.is_milvus ? 2 : 1,
        .num_rows = w->n_rows,
        .schema = w->schema.elements,
        .n_schema = w->schema.n_elements,
        .row_groups = (struct pq_row_group *)(void *)w->row_groups.data,
        .n_row_groups = (uint32_t)(w->row_groups.len / sizeof(struct pq_row_group)),
        .key_values = w->metadata,
        .n_key_values = (uint32_t)w->n_metadata,
        .column_orders = orders,
        .n_column_orders = w->schema.n_leaves,
        .created_by = {(const unsigned char *)created_by, sizeof created_by - 1},
    };
    GREBE_TRY(pq_footer_encode(&footer, &bytes, err));
    if (bytes.len > UINT32_MAX - sizeof tail) {
        st = GREBE_FAIL(err, GREBE_ELIMIT, "%s: the footer has %zu bytes", w->to->path, bytes.len);
        goto out;
    }
    store_le32(tail, (uint32_t)bytes.len);
    memcpy(tail + 4, magic, sizeof magic);
    GREBE_TRY(put(w, bytes.data, bytes.len, err));
    GREBE_TRY(put(w, tail, sizeof tail, err));
    *out = (struct file_summary){w->n_rows, w->position, bytes.len + sizeof tail};
out:
    buf_release(&bytes);
    return st;
}
