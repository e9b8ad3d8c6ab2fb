/* SPDX-License-Identifier: Apache-2.0 */
#include "gitvdb/vdb_blob.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "base/endian.h"
#include "base/utf8.h"

/*
 * magic[8] | n: u32 | offset[n + 1]: u32 | body        docs/format/gitvdb.md, "rows"
 *
 * A row of an id: 00 | length: u32 | UTF-8, or 01 | value: u64, all little-endian.
 */
enum { MAGIC = 8, TABLE_AT = 12, TEXT_AT = 5, NUMBER_ROW = 9 };
enum id_kind { ID_TEXT = 0, ID_NUMBER = 1 };

static const char magics[][MAGIC] = { "GTV2IDS", "GTV2PAY" };
static const char *const names[] = { "ids", "payloads" };

static const unsigned char *table_of(const struct vdb_rows *r) { return r->bytes + TABLE_AT; }

static const unsigned char *body_of(const struct vdb_rows *r)
{
    return r->bytes + TABLE_AT + 4 * ((size_t)r->n + 1);
}

/* Offsets start at 0, never fall, and end where the body does. */
static grebe_status check_offsets(const struct vdb_rows *r, grebe_error *err)
{
    const unsigned char *table = table_of(r);
    const size_t body = (size_t)(r->bytes + r->len - body_of(r));
    uint32_t before = load_le32(table);

    if (before != 0) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "offset 0: expected 0, found %" PRIu32, before);
    }
    for (uint32_t i = 1; i <= r->n; i++) {
        const uint32_t at = load_le32(table + 4 * (size_t)i);
        if (at < before) {
            return GREBE_FAIL(err, GREBE_ECORRUPT,
                              "offset %" PRIu32 ": expected at least %" PRIu32 ", found %" PRIu32,
                              i, before, at);
        }
        before = at;
    }
    if (before != body) {
        return GREBE_FAIL(err, GREBE_ECORRUPT,
                          "offset %" PRIu32 ": expected the %zu bytes of the body, found %" PRIu32,
                          r->n, body, before);
    }
    return GREBE_OK;
}

static grebe_status check_id(const unsigned char *row, size_t len, uint32_t i, grebe_error *err)
{
    if (len == NUMBER_ROW && row[0] == ID_NUMBER) {
        return GREBE_OK;
    }
    if (len < TEXT_AT || row[0] != ID_TEXT) {
        return GREBE_FAIL(err, GREBE_ECORRUPT,
                          "row %" PRIu32 ": expected an id of type 0 or 1, found %zu bytes of type %d", i,
                          len, len == 0 ? -1 : row[0]);
    }
    if (load_le32(row + 1) != len - TEXT_AT) {
        return GREBE_FAIL(err, GREBE_ECORRUPT,
                          "row %" PRIu32 ": expected an id of %zu bytes, found length %" PRIu32, i,
                          len - TEXT_AT, load_le32(row + 1));
    }
    const size_t good = utf8_valid_prefix(row + TEXT_AT, len - TEXT_AT);
    if (good != len - TEXT_AT) {
        return GREBE_FAIL(err, GREBE_ECORRUPT,
                          "row %" PRIu32 ": expected an id in UTF-8, found byte 0x%02x at %zu", i,
                          row[TEXT_AT + good], good);
    }
    return GREBE_OK;
}

/* Canonical order of two rows that were checked: texts by bytes, then numbers. */
static bool is_below(const unsigned char *a, size_t a_len, const unsigned char *b, size_t b_len)
{
    if (a[0] != b[0]) {
        return a[0] == ID_TEXT;
    }
    if (a[0] == ID_NUMBER) {
        return load_le64(a + 1) < load_le64(b + 1);
    }
    const size_t shorter = a_len < b_len ? a_len : b_len;
    const int order = memcmp(a + TEXT_AT, b + TEXT_AT, shorter - TEXT_AT);
    return order < 0 || (order == 0 && a_len < b_len);
}

static grebe_status check_ids(const struct vdb_rows *r, grebe_error *err)
{
    const unsigned char *before = NULL;
    const unsigned char *row = body_of(r);
    const unsigned char *table = table_of(r);
    size_t before_len = 0;
    uint32_t begin = 0;

    for (uint32_t i = 0; i < r->n; i++) {
        const uint32_t end = load_le32(table + 4 * ((size_t)i + 1));
        const size_t len = end - begin;
        grebe_status st = check_id(row, len, i, err);
        if (st != GREBE_OK) {
            return st;
        }
        if (before != NULL && !is_below(before, before_len, row, len)) {
            return GREBE_FAIL(err, GREBE_ECORRUPT,
                              "row %" PRIu32 ": expected an id above the one before, found one that is not", i);
        }
        before = row;
        before_len = len;
        row += len;
        begin = end;
    }
    return GREBE_OK;
}

grebe_status vdb_rows_open(enum vdb_rows_kind kind, const void *bytes, size_t len,
                           struct vdb_rows *out, grebe_error *err)
{
    struct vdb_rows r = { bytes, len, 0 };
    char found[40];

    *out = (struct vdb_rows){ NULL, 0, 0 };
    if (len < TABLE_AT + 4) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "expected %s of at least %d bytes, found %zu", names[kind],
                          TABLE_AT + 4, len);
    }
    if (memcmp(bytes, magics[kind], MAGIC) != 0) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "expected the magic %s, found %s", magics[kind],
                          error_quote(found, sizeof found, bytes, MAGIC));
    }
    r.n = load_le32(r.bytes + MAGIC);
    if (r.n > (len - TABLE_AT - 4) / 4) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "expected at most %zu rows in %zu bytes, found %" PRIu32,
                          (len - TABLE_AT - 4) / 4, len, r.n);
    }
    grebe_status st = check_offsets(&r, err);
    if (st == GREBE_OK && kind == VDB_ROWS_IDS) {
        st = check_ids(&r, err);
    }
    if (st == GREBE_OK) {
        *out = r;
    }
    return st;
}

const unsigned char *vdb_rows_get(const struct vdb_rows *r, uint32_t row, size_t *len)
{
    assert(row < r->n);
    const unsigned char *entry = table_of(r) + 4 * (size_t)row;
    const uint32_t begin = load_le32(entry);
    *len = load_le32(entry + 4) - begin;
    return body_of(r) + begin;
}

struct vdb_id vdb_rows_id(const struct vdb_rows *ids, uint32_t row)
{
    size_t len = 0;
    const unsigned char *bytes = vdb_rows_get(ids, row, &len);

    if (bytes[0] == ID_NUMBER) {
        return (struct vdb_id){ true, load_le64(bytes + 1), NULL, 0 };
    }
    return (struct vdb_id){ false, 0, (const char *)bytes + TEXT_AT, len - TEXT_AT };
}

bool vdb_rows_find(const struct vdb_rows *ids, const struct vdb_id *id, uint32_t *row)
{
    uint32_t low = 0, high = ids->n;

    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        const struct vdb_id at = vdb_rows_id(ids, middle);
        const int order = vdb_id_compare(&at, id);
        if (order == 0) {
            *row = middle;
            return true;
        }
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    *row = low;
    return false;
}

void vdb_rows_writer_init(struct vdb_rows_writer *w, enum vdb_rows_kind kind, const grebe_allocator *a)
{
    w->kind = kind;
    w->body = BUF_INIT(a);
    w->ends = BUF_INIT(a);
}

/* The row whose bytes were just put ends here. */
static grebe_status end_row(struct vdb_rows_writer *w, grebe_error *err)
{
    unsigned char end[4];

    if (w->body.len > UINT32_MAX || w->ends.len / 4 >= UINT32_MAX - 1) {
        return GREBE_FAIL(err, GREBE_ELIMIT,
                          "%s of a shard: at most %" PRIu32 " bytes and rows fit, found %zu bytes and %zu rows",
                          names[w->kind], UINT32_MAX, w->body.len, w->ends.len / 4 + 1);
    }
    store_le32(end, (uint32_t)w->body.len);
    return buf_put(&w->ends, end, sizeof end, err);
}

grebe_status vdb_rows_writer_add(struct vdb_rows_writer *w, const void *row, size_t len, grebe_error *err)
{
    grebe_status st = buf_put(&w->body, row, len, err);
    return st == GREBE_OK ? end_row(w, err) : st;
}

grebe_status vdb_rows_writer_add_id(struct vdb_rows_writer *w, const struct vdb_id *id, grebe_error *err)
{
    unsigned char head[NUMBER_ROW];

    if (id->is_number) {
        head[0] = ID_NUMBER;
        store_le64(head + 1, id->number);
        return vdb_rows_writer_add(w, head, NUMBER_ROW, err);
    }
    if (id->len > UINT32_MAX) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "an id of %zu bytes: at most %" PRIu32 " fit", id->len, UINT32_MAX);
    }
    head[0] = ID_TEXT;
    store_le32(head + 1, (uint32_t)id->len);
    grebe_status st = buf_put(&w->body, head, TEXT_AT, err);
    return st == GREBE_OK ? vdb_rows_writer_add(w, id->text, id->len, err) : st;
}

grebe_status vdb_rows_writer_end(struct vdb_rows_writer *w, struct buf *out, grebe_error *err)
{
    unsigned char head[TABLE_AT + 4] = { 0 };

    memcpy(head, magics[w->kind], MAGIC);
    store_le32(head + MAGIC, (uint32_t)(w->ends.len / 4));
    grebe_status st = buf_reserve(out, sizeof head + w->ends.len + w->body.len, err);
    if (st == GREBE_OK) {
        st = buf_put(out, head, sizeof head, err);
    }
    if (st == GREBE_OK) {
        st = buf_put(out, w->ends.data, w->ends.len, err);
    }
    if (st == GREBE_OK) {
        st = buf_put(out, w->body.data, w->body.len, err);
    }
    buf_clear(&w->ends);
    buf_clear(&w->body);
    return st;
}

void vdb_rows_writer_release(struct vdb_rows_writer *w)
{
    buf_release(&w->body);
    buf_release(&w->ends);
}
