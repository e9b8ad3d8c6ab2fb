/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/flatbuf.h"

#include <assert.h>
#include <string.h>

#include "base/checked.h"
#include "base/endian.h"

void flatbuf_init(struct flatbuf *fb, const void *data, size_t len)
{
    *fb = (struct flatbuf){ data, len, len, NULL, 0 };
    if (len > INT32_MAX) {
        flatbuf_set_bad(fb, 0, "larger than 2 GiB");
    }
}

void flatbuf_set_bad(struct flatbuf *fb, size_t at, const char *why)
{
    if (fb->bad == NULL) {
        fb->bad = why;
        fb->bad_at = at;
    }
}

grebe_status flatbuf_status(const struct flatbuf *fb, grebe_error *err)
{
    if (fb->bad == NULL) {
        return GREBE_OK;
    }
    return GREBE_FAIL(err, GREBE_ECORRUPT, "flatbuffer of %zu bytes: at %zu: %s", fb->len,
                      fb->bad_at, fb->bad);
}

static struct flatbuf_table table_at(struct flatbuf *fb, size_t pos)
{
    static const struct flatbuf_table none = { 0, 0, 0, 0 };
    if (fb->bad != NULL) {
        return none;
    }
    if (fb->budget == 0) {
        flatbuf_set_bad(fb, pos, "more tables than bytes");
        return none;
    }
    fb->budget--;
    if (pos == 0 || !range_fits_u64(pos, 4, fb->len)) {
        flatbuf_set_bad(fb, pos, "table lies outside");
        return none;
    }
    int64_t vtable = (int64_t)pos - (int32_t)load_le32(fb->data + pos);
    if (vtable < 0 || !range_fits_u64((uint64_t)vtable, 4, fb->len)) {
        flatbuf_set_bad(fb, pos, "vtable lies outside");
        return none;
    }
    struct flatbuf_table t = { pos, (size_t)vtable, load_le16(fb->data + vtable),
                               load_le16(fb->data + vtable + 2) };
    if (t.vtable_len < 4 || t.vtable_len % 2 != 0 ||
        !range_fits_u64(t.vtable, t.vtable_len, fb->len)) {
        flatbuf_set_bad(fb, t.vtable, "vtable has an impossible length");
        return none;
    }
    if (t.table_len < 4 || !range_fits_u64(pos, t.table_len, fb->len)) {
        flatbuf_set_bad(fb, pos, "table runs over the end");
        return none;
    }
    return t;
}

/* Where the offset stored at `at` (checked) leads; 0 after a fault. */
static size_t follow(struct flatbuf *fb, size_t at)
{
    uint32_t offset = load_le32(fb->data + at);
    if (offset == 0 || !range_fits_u64(at, (uint64_t)offset + 4, fb->len)) {
        flatbuf_set_bad(fb, at, "offset leads outside");
        return 0;
    }
    return at + offset;
}

struct flatbuf_table flatbuf_root(struct flatbuf *fb)
{
    size_t pos = 0;
    if (fb->len < 8) {
        flatbuf_set_bad(fb, 0, "too short");
    } else if (fb->bad == NULL) {
        pos = follow(fb, 0);
    }
    return table_at(fb, pos);
}

/* Position of a field; 0: absent, or a fault. */
static size_t field_at(struct flatbuf *fb, const struct flatbuf_table *t, int slot, size_t width)
{
    size_t entry = 4 + 2 * (size_t)slot;
    if (t->pos == 0 || fb->bad != NULL || entry + 2 > t->vtable_len) {
        return 0;
    }
    uint16_t offset = load_le16(fb->data + t->vtable + entry);
    if (offset == 0) {
        return 0;
    }
    if (offset < 4 || offset + width > t->table_len) {
        flatbuf_set_bad(fb, t->vtable + entry, "field lies outside its table");
        return 0;
    }
    return t->pos + offset;
}

bool flatbuf_has(const struct flatbuf *fb, const struct flatbuf_table *t, int slot)
{
    size_t entry = 4 + 2 * (size_t)slot;
    return t->pos != 0 && fb->bad == NULL && entry + 2 <= t->vtable_len &&
           load_le16(fb->data + t->vtable + entry) != 0;
}

uint8_t flatbuf_u8(struct flatbuf *fb, const struct flatbuf_table *t, int slot, uint8_t missing)
{
    size_t at = field_at(fb, t, slot, 1);
    return at != 0 ? fb->data[at] : missing;
}

uint16_t flatbuf_u16(struct flatbuf *fb, const struct flatbuf_table *t, int slot,
                     uint16_t missing)
{
    size_t at = field_at(fb, t, slot, 2);
    return at != 0 ? load_le16(fb->data + at) : missing;
}

int16_t flatbuf_i16(struct flatbuf *fb, const struct flatbuf_table *t, int slot, int16_t missing)
{
    return (int16_t)flatbuf_u16(fb, t, slot, (uint16_t)missing);
}

uint32_t flatbuf_u32(struct flatbuf *fb, const struct flatbuf_table *t, int slot,
                     uint32_t missing)
{
    size_t at = field_at(fb, t, slot, 4);
    return at != 0 ? load_le32(fb->data + at) : missing;
}

int32_t flatbuf_i32(struct flatbuf *fb, const struct flatbuf_table *t, int slot, int32_t missing)
{
    return (int32_t)flatbuf_u32(fb, t, slot, (uint32_t)missing);
}

uint64_t flatbuf_u64(struct flatbuf *fb, const struct flatbuf_table *t, int slot,
                     uint64_t missing)
{
    size_t at = field_at(fb, t, slot, 8);
    return at != 0 ? load_le64(fb->data + at) : missing;
}

int64_t flatbuf_i64(struct flatbuf *fb, const struct flatbuf_table *t, int slot, int64_t missing)
{
    return (int64_t)flatbuf_u64(fb, t, slot, (uint64_t)missing);
}

const unsigned char *flatbuf_struct(struct flatbuf *fb, const struct flatbuf_table *t, int slot,
                                    size_t size)
{
    size_t at = field_at(fb, t, slot, size);
    return at != 0 ? fb->data + at : NULL;
}

struct flatbuf_table flatbuf_child(struct flatbuf *fb, const struct flatbuf_table *t, int slot)
{
    size_t at = field_at(fb, t, slot, 4);
    if (at == 0) {
        return (struct flatbuf_table){ 0, 0, 0, 0 };
    }
    return table_at(fb, follow(fb, at));
}

/* A length-prefixed run at the target of the offset stored at `at`. */
static struct flatbuf_vector vector_at(struct flatbuf *fb, size_t at, size_t elem_size)
{
    static const struct flatbuf_vector none = { 0, 0 };
    size_t pos = follow(fb, at);
    if (pos == 0) {
        return none;
    }
    uint32_t n = load_le32(fb->data + pos);
    if ((uint64_t)n * elem_size > fb->len - pos - 4) {
        flatbuf_set_bad(fb, pos, "vector runs over the end");
        return none;
    }
    return (struct flatbuf_vector){ pos + 4, n };
}

struct flatbuf_vector flatbuf_vector(struct flatbuf *fb, const struct flatbuf_table *t, int slot,
                                     size_t elem_size)
{
    size_t at = field_at(fb, t, slot, 4);
    return at != 0 ? vector_at(fb, at, elem_size) : (struct flatbuf_vector){ 0, 0 };
}

static const char *string_of(struct flatbuf *fb, struct flatbuf_vector v, size_t *len)
{
    *len = v.n;
    return v.pos != 0 ? (const char *)fb->data + v.pos : NULL;
}

const char *flatbuf_string(struct flatbuf *fb, const struct flatbuf_table *t, int slot,
                           size_t *len)
{
    return string_of(fb, flatbuf_vector(fb, t, slot, 1), len);
}

struct flatbuf_table flatbuf_vector_table(struct flatbuf *fb, const struct flatbuf_vector *v,
                                          uint32_t i)
{
    assert(i < v->n);
    return table_at(fb, fb->bad == NULL ? follow(fb, v->pos + 4 * (size_t)i) : 0);
}

const char *flatbuf_vector_string(struct flatbuf *fb, const struct flatbuf_vector *v, uint32_t i,
                                  size_t *len)
{
    assert(i < v->n);
    struct flatbuf_vector s = { 0, 0 };
    if (fb->bad == NULL) {
        s = vector_at(fb, v->pos + 4 * (size_t)i, 1);
    }
    return string_of(fb, s, len);
}

/* ---- writing ---- */

static grebe_status pad_to(struct flatbuf_writer *w, size_t align, size_t extra, grebe_error *err)
{
    size_t pos = w->out->len - w->base + extra;
    return buf_put_zero(w->out, (align - pos % align) % align, err);
}

static grebe_status put_u32(struct flatbuf_writer *w, size_t v, grebe_error *err)
{
    unsigned char bytes[4];
    if (v > INT32_MAX) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "flatbuffer: a length of %zu does not fit", v);
    }
    store_le32(bytes, (uint32_t)v);
    return buf_put(w->out, bytes, sizeof bytes, err);
}

grebe_status flatbuf_writer_begin(struct flatbuf_writer *w, struct buf *out, grebe_error *err)
{
    *w = (struct flatbuf_writer){ out, out->len };
    return put_u32(w, 0, err);
}

grebe_status flatbuf_put_table(struct flatbuf_writer *w, const struct flatbuf_field *fields,
                               size_t n, size_t *at, size_t *pos, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    unsigned char vtable[4 + 2 * FLATBUF_SLOTS_MAX] = { 0 };
    unsigned char table[4 + 8 * FLATBUF_SLOTS_MAX + 8] = { 0 };
    size_t vtable_len = 4;
    size_t table_len = 4;

    /* The table starts at a multiple of 8, so that alignment inside it is alignment overall. */
    for (size_t i = 0; i < n; i++) {
        assert(fields[i].slot < FLATBUF_SLOTS_MAX);
        assert(i == 0 || fields[i].slot > fields[i - 1].slot);
        size_t width = fields[i].width == FLATBUF_OFFSET ? 4 : (size_t)fields[i].width;
        table_len = (table_len + width - 1) / width * width;
        size_t entry = 4 + 2 * (size_t)fields[i].slot;
        store_le16(vtable + entry, (uint16_t)table_len);
        vtable_len = entry + 2;
        unsigned char bits[8];
        store_le64(bits, fields[i].width == FLATBUF_OFFSET ? 0 : fields[i].value);
        memcpy(table + table_len, bits, width);
        at[i] = table_len;
        table_len += width;
    }
    store_le16(vtable, (uint16_t)vtable_len);
    store_le16(vtable + 2, (uint16_t)table_len);
    GREBE_TRY(pad_to(w, 8, vtable_len, err));
    GREBE_TRY(buf_put(w->out, vtable, vtable_len, err));
    *pos = w->out->len - w->base;
    store_le32(table, (uint32_t)vtable_len);
    GREBE_TRY(buf_put(w->out, table, table_len, err));
    for (size_t i = 0; i < n; i++) {
        at[i] += *pos;
    }
out:
    return st;
}

grebe_status flatbuf_put_string(struct flatbuf_writer *w, const char *s, size_t len, size_t *pos,
                                grebe_error *err)
{
    grebe_status st = flatbuf_put_vector(w, s, len, 1, 4, pos, err);
    return st != GREBE_OK ? st : buf_put_byte(w->out, 0, err);
}

grebe_status flatbuf_put_offsets(struct flatbuf_writer *w, size_t n, size_t *pos,
                                 grebe_error *err)
{
    return flatbuf_put_vector(w, NULL, n, 4, 4, pos, err);
}

grebe_status flatbuf_put_vector(struct flatbuf_writer *w, const void *bytes, size_t n,
                                size_t elem_size, size_t align, size_t *pos, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    size_t len = 0;

    if (!checked_mul_size(n, elem_size, &len)) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "flatbuffer: %zu elements do not fit", n);
    }
    GREBE_TRY(pad_to(w, max_size(align, 4), 4, err));
    *pos = w->out->len - w->base;
    GREBE_TRY(put_u32(w, n, err));
    st = bytes != NULL ? buf_put(w->out, bytes, len, err) : buf_put_zero(w->out, len, err);
out:
    return st;
}

void flatbuf_link(struct flatbuf_writer *w, size_t at, size_t target)
{
    assert(target > at && target - at <= INT32_MAX);
    store_le32(w->out->data + w->base + at, (uint32_t)(target - at));
}
