/* SPDX-License-Identifier: Apache-2.0 */
#include "arrow/ipc_file.h"

#include <assert.h>
#include <string.h>

#include "base/checked.h"
#include "base/endian.h"

enum { MAGIC_LEN = 6, TAIL_LEN = 4 + MAGIC_LEN };

bool ipc_file_sniff(const unsigned char *head, size_t head_len)
{
    return head_len >= MAGIC_LEN && memcmp(head, ipc_file_magic, MAGIC_LEN) == 0;
}

/* ---- messages at their places ---- */

grebe_status ipc_file_message(const struct ipc_file *f, const struct ipc_file_batch *b,
                              struct ipc_incoming *m, grebe_error *err)
{
    const unsigned char *p = (const unsigned char *)f->region->data + b->offset;
    size_t prefix = b->metadata_len >= 8 && load_le32(p) == UINT32_MAX ? 8 : 4;
    int64_t body_len = 0;
    memset(m, 0, sizeof *m);
    if (b->metadata_len < prefix || load_le32(p + prefix - 4) > b->metadata_len - prefix) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "message of %u bytes of metadata in a place for %u",
                          b->metadata_len < prefix ? 0 : load_le32(p + prefix - 4),
                          b->metadata_len);
    }
    flatbuf_init(&m->fb, p + prefix, load_le32(p + prefix - 4));
    grebe_status st = ipc_message_decode(m, &body_len, err);
    if (st == GREBE_OK && (uint64_t)body_len > b->body_len) {
        st = GREBE_FAIL(err, GREBE_ECORRUPT, "message with a body of %lld bytes in a place for %llu",
                        (long long)body_len, (unsigned long long)b->body_len);
    }
    m->body.region = f->region;
    m->body.data = p + b->metadata_len;
    m->body.len = (size_t)body_len;
    return st;
}

static grebe_status wrap(const struct ipc_file_batch *b, grebe_status st, grebe_error *err)
{
    return error_wrap(err, st, "message at byte %llu", (unsigned long long)b->offset);
}

/* Block i of a vector of the footer, checked against the file. */
static grebe_status block_at(const struct ipc_file *f, const struct flatbuf *fb,
                             const struct flatbuf_vector *v, uint32_t i,
                             struct ipc_file_batch *out, grebe_error *err)
{
    const unsigned char *p = fb->data + v->pos + (size_t)BLOCK_BYTES * i;
    uint64_t offset = load_le64(p), body_len = load_le64(p + 16);
    uint32_t metadata_len = load_le32(p + 8);
    *out = (struct ipc_file_batch){ offset, metadata_len, body_len, 0, IPC_UNCOMPRESSED };
    if (metadata_len < 8 || !range_fits_u64(offset, metadata_len, f->footer_start) ||
        body_len > f->footer_start - offset - metadata_len || offset < sizeof ipc_file_magic) {
        return GREBE_FAIL(err, GREBE_ECORRUPT,
                          "footer: block %u: %u bytes of metadata and %llu of body at %llu; the footer "
                          "begins at %llu", i, metadata_len, (unsigned long long)body_len,
                          (unsigned long long)offset, (unsigned long long)f->footer_start);
    }
    return GREBE_OK;
}

/* Blocks that share bytes would make much out of little. */
static grebe_status count_bytes(const struct ipc_file *f, const struct ipc_file_batch *b,
                                uint64_t *total, grebe_error *err)
{
    *total += b->metadata_len + b->body_len; /* each below the file's length, and at most 2^32 of them */
    return *total <= f->footer_start
               ? GREBE_OK
               : GREBE_FAIL(err, GREBE_ECORRUPT, "footer: blocks of %llu bytes in front of byte %llu",
                            (unsigned long long)*total, (unsigned long long)f->footer_start);
}

static grebe_status read_dictionaries(struct ipc_file *f, struct flatbuf *fb,
                                      const struct flatbuf_vector *blocks, grebe_error *err)
{
    uint64_t total = 0;
    for (uint32_t i = 0; i < blocks->n; i++) {
        struct ipc_file_batch b;
        struct ipc_incoming m;
        grebe_status st = block_at(f, fb, blocks, i, &b, err);
        if (st == GREBE_OK) {
            st = count_bytes(f, &b, &total, err);
        }
        if (st == GREBE_OK) {
            st = ipc_file_message(f, &b, &m, err);
        }
        if (st == GREBE_OK && m.type != IPC_DICTIONARY) {
            st = GREBE_FAIL(err, GREBE_ECORRUPT, "expected a dictionary (2), found message type %d",
                            m.type);
        }
        if (st == GREBE_OK && flatbuf_u8(&m.fb, &m.header, DICTIONARY_IS_DELTA, 0) == 0 &&
            ipc_dictionary_is_set(&f->dictionaries,
                                  flatbuf_i64(&m.fb, &m.header, DICTIONARY_ID, 0))) {
            st = GREBE_FAIL(err, GREBE_EUNSUPPORTED,
                            "dictionary %lld is replaced, which Arrow files do not allow",
                            (long long)flatbuf_i64(&m.fb, &m.header, DICTIONARY_ID, 0));
        }
        if (st == GREBE_OK) {
            st = ipc_read_dictionary(f->a, &f->dictionaries, &m.fb, &m.header, &m.body, err);
        }
        if (st != GREBE_OK) {
            return wrap(&b, st, err);
        }
    }
    f->n_dictionary_batches = blocks->n;
    return ipc_dictionaries_settle(f->a, &f->dictionaries, err);
}

grebe_status ipc_file_describe(struct ipc_incoming *m, struct ipc_file_batch *b, grebe_error *err)
{
    if (m->type != IPC_RECORDS) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "expected a batch (3), found message type %d", m->type);
    }
    b->n_rows = flatbuf_i64(&m->fb, &m->header, BATCH_LENGTH, 0);
    struct flatbuf_table compression = flatbuf_child(&m->fb, &m->header, BATCH_COMPRESSION);
    if (compression.pos != 0) {
        b->compression = (int8_t)flatbuf_u8(&m->fb, &compression, 0, IPC_LZ4_FRAME);
    }
    grebe_status st = flatbuf_status(&m->fb, err);
    return st == GREBE_OK
               ? ipc_check_length(b->n_rows, b->body_len, compression.pos != 0, err)
               : st;
}

static grebe_status describe_batch(const struct ipc_file *f, struct ipc_file_batch *b,
                                   grebe_error *err)
{
    struct ipc_incoming m;
    grebe_status st = ipc_file_message(f, b, &m, err);
    return st == GREBE_OK ? ipc_file_describe(&m, b, err) : st;
}

grebe_status ipc_file_seal(struct ipc_file *f, grebe_error *err)
{
    size_t columns = (size_t)f->schema.n_children;
    /* A byte for each column of each batch: less than the metadata that describes them. */
    if (f->n_batches > 0 && columns > f->region->len / f->n_batches) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "%zu batches of %zu columns in a file of %zu bytes",
                          f->n_batches, columns, f->region->len);
    }
    f->is_checked = mem_alloc_zero(f->a, f->n_batches * columns * sizeof *f->is_checked);
    return f->is_checked == NULL ? mem_fail(err, f->n_batches * columns, "checks") : GREBE_OK;
}

static grebe_status list_batches(struct ipc_file *f, struct flatbuf *fb,
                                 const struct flatbuf_vector *blocks, grebe_error *err)
{
    int64_t total = 0;
    uint64_t bytes = 0;
    f->batches = mem_alloc_zero(f->a, blocks->n * sizeof *f->batches);
    if (f->batches == NULL) {
        return mem_fail(err, blocks->n * sizeof *f->batches, "batches");
    }
    f->n_batches = blocks->n;
    for (uint32_t i = 0; i < blocks->n; i++) {
        struct ipc_file_batch *b = &f->batches[i];
        grebe_status st = block_at(f, fb, blocks, i, b, err);
        if (st == GREBE_OK) {
            st = count_bytes(f, b, &bytes, err);
        }
        if (st == GREBE_OK) {
            st = describe_batch(f, b, err);
        }
        if (st == GREBE_OK && !checked_add_i64(total, b->n_rows, &total)) {
            st = GREBE_FAIL(err, GREBE_ECORRUPT, "more rows than can be counted");
        }
        if (st != GREBE_OK) {
            return wrap(b, st, err);
        }
    }
    return ipc_file_seal(f, err);
}

/* ---- life ---- */

static grebe_status find_footer(struct ipc_file *f, grebe_error *err)
{
    const unsigned char *p = f->region->data;
    size_t len = f->region->len;
    if (!ipc_file_sniff(p, len)) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "expected \"ARROW1\" at the beginning, found other bytes");
    }
    if (len < sizeof ipc_file_magic + TAIL_LEN ||
        memcmp(p + len - MAGIC_LEN, ipc_file_magic, MAGIC_LEN) != 0) {
        return GREBE_FAIL(err, GREBE_ECORRUPT,
                          "expected \"ARROW1\" at the end of %zu bytes, found none: the file was cut", len);
    }
    f->footer_len = load_le32(p + len - TAIL_LEN);
    if (f->footer_len > len - TAIL_LEN - sizeof ipc_file_magic) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "footer of %llu bytes in a file of %zu",
                          (unsigned long long)f->footer_len, len);
    }
    f->footer_start = len - TAIL_LEN - f->footer_len;
    return GREBE_OK;
}

static grebe_status read_footer(struct ipc_file *f, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct flatbuf fb;
    struct ipc_ids ids = { f->a, NULL, 0, 0 };
    GREBE_TRY(find_footer(f, err));
    flatbuf_init(&fb, (const unsigned char *)f->region->data + f->footer_start,
                 (size_t)f->footer_len);
    struct flatbuf_table t = flatbuf_root(&fb);
    f->version = flatbuf_i16(&fb, &t, FOOTER_VERSION, 0);
    struct flatbuf_table schema = flatbuf_child(&fb, &t, FOOTER_SCHEMA);
    struct flatbuf_vector dictionaries = flatbuf_vector(&fb, &t, FOOTER_DICTIONARIES, BLOCK_BYTES);
    struct flatbuf_vector records = flatbuf_vector(&fb, &t, FOOTER_RECORDS, BLOCK_BYTES);
    GREBE_TRY(flatbuf_status(&fb, err));
    if (schema.pos == 0) {
        st = GREBE_FAIL(err, GREBE_ECORRUPT, "footer without a schema");
        goto out;
    }
    GREBE_TRY(ipc_schema_of_table(f->a, &fb, &schema, &f->schema, &ids, err));
    GREBE_TRY(ipc_dictionaries_new(f->a, &f->schema, &ids, &f->dictionaries, err));
    GREBE_TRY(read_dictionaries(f, &fb, &dictionaries, err));
    GREBE_TRY(list_batches(f, &fb, &records, err));
out:
    ipc_ids_release(&ids);
    return st;
}

grebe_status ipc_file_open(const grebe_allocator *a, struct region *region, struct ipc_file **out,
                           grebe_error *err)
{
    *out = NULL;
    struct ipc_file *f = mem_alloc_zero(a, sizeof *f);
    if (f == NULL) {
        return mem_fail(err, sizeof *f, "an Arrow file");
    }
    f->a = a;
    f->region = region_keep(region);
    grebe_status st = read_footer(f, err);
    if (st != GREBE_OK) {
        ipc_file_close(f);
        return st;
    }
    *out = f;
    return GREBE_OK;
}

void ipc_file_close(struct ipc_file *f)
{
    if (f == NULL) {
        return;
    }
    const grebe_allocator *a = f->a;
    size_t n_columns = f->schema.release != NULL ? (size_t)f->schema.n_children : 0;
    ipc_dictionaries_release(a, &f->dictionaries);
    mem_free(a, f->batches, f->n_batches * sizeof *f->batches);
    mem_free(a, f->is_checked, f->n_batches * n_columns * sizeof *f->is_checked);
    schema_release(&f->schema);
    region_drop(f->region);
    mem_free(a, f, sizeof *f);
}

/* ---- reading ---- */

/* Which columns are wanted, and which of these were found good before. */
static void choose(struct ipc_file *f, size_t batch, const int *fields, size_t n_fields,
                   bool *is_wanted, bool *is_checked)
{
    size_t n = (size_t)f->schema.n_children;
    for (size_t i = 0; i < n; i++) {
        is_wanted[i] = fields == NULL;
        is_checked[i] = atomic_load_explicit(&f->is_checked[batch * n + i], memory_order_relaxed) != 0;
    }
    for (size_t i = 0; fields != NULL && i < n_fields; i++) {
        assert(!is_wanted[fields[i]]);
        is_wanted[fields[i]] = true;
    }
}

/* is_deep: what was not checked before is checked, and remembered as good. */
static grebe_status read_columns(struct ipc_file *f, size_t i, const int *fields, size_t n_fields, bool is_deep,
                                 struct ArrowArray *out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    size_t n = (size_t)f->schema.n_children;
    size_t n_out = fields == NULL ? n : n_fields;
    struct ipc_incoming m;
    int64_t length = 0;
    memset(out, 0, sizeof *out);
    bool *flags = mem_alloc_zero(f->a, 2 * n * sizeof *flags);
    struct ArrowArray *columns = mem_alloc_zero(f->a, n * sizeof *columns);
    struct ArrowArray *chosen = mem_alloc_zero(f->a, n_out * sizeof *chosen);
    if (flags == NULL || columns == NULL || chosen == NULL) {
        st = mem_fail(err, n * sizeof *columns, "columns");
        goto out;
    }
    struct ipc_wanted wanted = { flags, flags + n };
    choose(f, i, fields, n_fields, flags, flags + n);
    for (size_t k = n; !is_deep && k < 2 * n; k++) {
        flags[k] = true;
    }
    GREBE_TRY(ipc_file_message(f, &f->batches[i], &m, err));
    GREBE_TRY(ipc_read_columns(f->a, &f->schema, &f->dictionaries, &m.fb, &m.header, &m.body,
                               &wanted, columns, &length, err));
    for (size_t k = 0; k < n_out; k++) {
        size_t column = fields == NULL ? k : (size_t)fields[k];
        if (is_deep) {
            atomic_store_explicit(&f->is_checked[i * n + column], 1, memory_order_relaxed);
        }
        array_move(&chosen[k], &columns[column]);
    }
    st = array_struct(f->a, length, chosen, n_out, out, err);
out:
    for (size_t k = 0; st != GREBE_OK && chosen != NULL && k < n_out; k++) {
        array_release(&chosen[k]);
    }
    for (size_t k = 0; st != GREBE_OK && columns != NULL && k < n; k++) {
        array_release(&columns[k]);
    }
    mem_free(f->a, flags, 2 * n * sizeof *flags);
    mem_free(f->a, columns, n * sizeof *columns);
    mem_free(f->a, chosen, n_out * sizeof *chosen);
    return st == GREBE_OK ? st : wrap(&f->batches[i], st, err);
}

grebe_status ipc_file_read(struct ipc_file *f, size_t i, const int *fields, size_t n_fields,
                           struct ArrowArray *out, grebe_error *err)
{
    return read_columns(f, i, fields, n_fields, true, out, err);
}

grebe_status ipc_file_look(struct ipc_file *f, size_t i, int field, struct ArrowArray *out, bool *is_checked,
                           grebe_error *err)
{
    size_t n = (size_t)f->schema.n_children;
    *is_checked = atomic_load_explicit(&f->is_checked[i * n + (size_t)field], memory_order_relaxed) != 0;
    return read_columns(f, i, &field, 1, false, out, err);
}
