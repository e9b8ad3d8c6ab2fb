/* SPDX-License-Identifier: Apache-2.0 */
#include "arrow/ipc.h"

#include <assert.h>
#include <string.h>

#include "arrow/ipc_message.h"
#include "base/checked.h"
#include "base/endian.h"

/* A stream being read. After a failure every call fails the same way. */
struct ipc_stream {
    const grebe_allocator *a;
    struct ipc_source source;
    struct region *region; /* bytes in memory; source is not used then */
    size_t pos;            /* in the region, or bytes read so far: for messages */
    struct ArrowSchema schema;
    struct ipc_dictionaries dictionaries;
    struct buf metadata;
    grebe_status failed;
    bool is_at_end;
};

bool ipc_sniff(const unsigned char *head, size_t head_len)
{
    if (head_len >= 8 && memcmp(head, ipc_file_magic, 6) == 0) {
        return true;
    }
    if (head_len < 16) {
        return false;
    }
    /* A flatbuffer whose root offset lies inside it. Before Arrow 0.15 the length came first: four letters
     * make a larger number than any that is believed there. */
    enum { OLD_LEN_MAX = 1 << 24 };
    bool is_old = load_le32(head) != UINT32_MAX;
    uint32_t len = load_le32(head + (is_old ? 0 : 4));
    uint32_t root = load_le32(head + (is_old ? 4 : 8));
    return len >= 16 && len <= (is_old ? OLD_LEN_MAX : INT32_MAX) && (is_old || len % 8 == 0) &&
           root >= 4 && root < len;
}

static grebe_status read_source(struct ipc_stream *s, void *dst, size_t len, size_t *got,
                                grebe_error *err)
{
    if (s->region == NULL) {
        grebe_status st = s->source.read(s->source.from, dst, len, got, err);
        if (st == GREBE_OK) {
            s->pos += *got;
        }
        return st;
    }
    *got = min_size(len, s->region->len - s->pos);
    if (*got > 0) {
        memcpy(dst, s->region->data + s->pos, *got);
    }
    s->pos += *got;
    return GREBE_OK;
}

static grebe_status cut_off(const struct ipc_stream *s, uint64_t expected, size_t got,
                            grebe_error *err)
{
    return GREBE_FAIL(err, GREBE_ECORRUPT, "Arrow stream ends at byte %zu: expected %llu more",
                      s->pos, (unsigned long long)(expected - got));
}

/* Exactly len bytes appended to dst; memory grows only as bytes come in. */
static grebe_status read_growing(struct ipc_stream *s, struct buf *dst, uint64_t len,
                                 grebe_error *err)
{
    enum { FIRST_STEP = 1 << 20 };
    size_t step = FIRST_STEP;
    uint64_t done = 0;
    while (done < len) {
        size_t n = (size_t)min_u64(step, len - done);
        size_t got = 0;
        grebe_status st = buf_reserve(dst, n, err);
        if (st == GREBE_OK) {
            st = read_source(s, dst->data + dst->len, n, &got, err);
        }
        if (st != GREBE_OK) {
            return st;
        }
        dst->len += got;
        done += got;
        if (got < n) {
            return cut_off(s, len, (size_t)done, err);
        }
        step = n * 2;
    }
    return GREBE_OK;
}

/* Length of the metadata of the next message; 0: the end. */
static grebe_status read_prefix(struct ipc_stream *s, uint32_t *len, grebe_error *err)
{
    unsigned char bytes[4];
    size_t got = 0;
    *len = 0;
    grebe_status st = read_source(s, bytes, 4, &got, err);
    if (st != GREBE_OK || got == 0) {
        return st;
    }
    if (got == 4 && load_le32(bytes) == UINT32_MAX) {
        st = read_source(s, bytes, 4, &got, err);
        if (st != GREBE_OK) {
            return st;
        }
    }
    if (got < 4) {
        return cut_off(s, 4, got, err);
    }
    *len = load_le32(bytes);
    return GREBE_OK;
}

static grebe_status read_body_growing(struct ipc_stream *s, uint64_t len, struct region **out,
                                      grebe_error *err)
{
    struct buf bytes = BUF_INIT(s->a);
    *out = NULL;
    grebe_status st = read_growing(s, &bytes, len, err);
    if (st == GREBE_OK) {
        st = region_new(s->a, bytes.len, out, err);
    }
    if (st == GREBE_OK && bytes.len > 0) {
        memcpy((*out)->data, bytes.data, bytes.len);
    }
    buf_release(&bytes);
    return st;
}

static grebe_status read_body(struct ipc_stream *s, uint64_t len, struct ipc_body *body,
                              grebe_error *err)
{
    /* Above this a declared length is believed only as the bytes arrive. */
    enum { TRUSTED_MAX = 64 << 20 };
    grebe_status st = GREBE_OK;
    struct region *region = NULL;
    size_t got = 0;
    if (s->region != NULL) {
        if (len > s->region->len - s->pos) {
            return cut_off(s, len, s->region->len - s->pos, err);
        }
        body->region = region_keep(s->region);
        body->data = s->region->data + s->pos;
        body->len = (size_t)len;
        s->pos += (size_t)len;
        return GREBE_OK;
    }
    if (len > TRUSTED_MAX) {
        st = read_body_growing(s, len, &region, err);
    } else {
        st = region_new(s->a, (size_t)len, &region, err);
        if (st == GREBE_OK) {
            st = read_source(s, region->data, (size_t)len, &got, err);
        }
        if (st == GREBE_OK && got < len) {
            st = cut_off(s, len, got, err);
        }
    }
    if (st != GREBE_OK) {
        region_drop(region);
        return st;
    }
    *body = (struct ipc_body){ region, region->data, (size_t)len, 0 };
    return GREBE_OK;
}

/* GREBE_END at the end of the stream. The body must be dropped by the caller. */
static grebe_status read_message(struct ipc_stream *s, struct ipc_incoming *m, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    uint32_t len = 0;
    int64_t body_len = 0;

    memset(m, 0, sizeof *m);
    GREBE_TRY(read_prefix(s, &len, err));
    if (len == 0) {
        return GREBE_END;
    }
    if (len > INT32_MAX) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "message of %u bytes of metadata", len);
    }
    if (s->region != NULL) {
        if (len > s->region->len - s->pos) {
            return cut_off(s, len, s->region->len - s->pos, err);
        }
        flatbuf_init(&m->fb, s->region->data + s->pos, len);
        s->pos += len;
    } else {
        buf_clear(&s->metadata);
        GREBE_TRY(read_growing(s, &s->metadata, len, err));
        flatbuf_init(&m->fb, s->metadata.data, len);
    }
    GREBE_TRY(ipc_message_decode(m, &body_len, err));
    int16_t version = m->body.version;
    GREBE_TRY(read_body(s, (uint64_t)body_len, &m->body, err));
    m->body.version = version;
out:
    return st;
}

static grebe_status skip_file_magic(struct ipc_stream *s, bool *is_file, grebe_error *err)
{
    unsigned char magic[8];
    size_t got = 0;
    *is_file = false;
    if (s->region != NULL) {
        *is_file = s->region->len >= 8 && memcmp(s->region->data, ipc_file_magic, 6) == 0;
        s->pos = *is_file ? 8 : 0;
        return GREBE_OK;
    }
    /* Eight bytes are the prefix of a stream as well: they go back by way of the metadata. */
    grebe_status st = read_source(s, magic, 8, &got, err);
    if (st != GREBE_OK) {
        return st;
    }
    *is_file = got == 8 && memcmp(magic, ipc_file_magic, 6) == 0;
    return *is_file ? GREBE_OK : buf_put(&s->metadata, magic, got, err);
}

/* The first message of a source whose first eight bytes are in s->metadata. */
static grebe_status read_first(struct ipc_stream *s, struct ipc_incoming *m, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    int64_t body_len = 0;
    const unsigned char *p = s->metadata.data;
    size_t have = s->metadata.len;
    size_t head = have == 8 && load_le32(p) == UINT32_MAX ? 8 : 4;

    memset(m, 0, sizeof *m);
    if (have < head) {
        return cut_off(s, head, have, err);
    }
    uint32_t len = load_le32(p + head - 4);
    if (len > INT32_MAX || len < have - head) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "no Arrow stream: a first message of %u bytes", len);
    }
    memmove(s->metadata.data, p + head, have - head);
    s->metadata.len = have - head;
    GREBE_TRY(read_growing(s, &s->metadata, len - (have - head), err));
    flatbuf_init(&m->fb, s->metadata.data, len);
    GREBE_TRY(ipc_message_decode(m, &body_len, err));
    GREBE_TRY(read_body(s, (uint64_t)body_len, &m->body, err));
out:
    return st;
}

static grebe_status read_schema(struct ipc_stream *s, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct ipc_incoming m;
    struct ipc_ids ids = { s->a, NULL, 0, 0 };
    bool is_file = false;

    memset(&m, 0, sizeof m);
    GREBE_TRY(skip_file_magic(s, &is_file, err));
    st = is_file || s->region != NULL ? read_message(s, &m, err) : read_first(s, &m, err);
    if (st == GREBE_END) {
        st = GREBE_FAIL(err, GREBE_ECORRUPT, "Arrow stream without a schema");
    }
    if (st != GREBE_OK) {
        goto out;
    }
    if (m.type != IPC_SCHEMA) {
        st = GREBE_FAIL(err, GREBE_ECORRUPT,
                        "Arrow stream: expected a schema (1) first, found message type %d", m.type);
        goto out;
    }
    GREBE_TRY(ipc_schema_of_table(s->a, &m.fb, &m.header, &s->schema, &ids, err));
    GREBE_TRY(ipc_dictionaries_new(s->a, &s->schema, &ids, &s->dictionaries, err));
out:
    region_drop(m.body.region);
    ipc_ids_release(&ids);
    return st;
}

static grebe_status next_batch(struct ipc_stream *s, struct ArrowArray *out, grebe_error *err)
{
    for (;;) {
        struct ipc_incoming m;
        size_t at = s->pos;
        grebe_status st = read_message(s, &m, err);
        if (st != GREBE_OK) {
            return st == GREBE_END ? st : error_wrap(err, st, "message at byte %zu", at);
        }
        if (m.type == IPC_DICTIONARY) {
            st = ipc_read_dictionary(s->a, &s->dictionaries, &m.fb, &m.header, &m.body, err);
        } else if (m.type == IPC_RECORDS) {
            st = ipc_read_batch(s->a, &s->schema, &s->dictionaries, &m.fb, &m.header, &m.body, out,
                                err);
        } else {
            st = GREBE_FAIL(err, m.type == IPC_SCHEMA ? GREBE_ECORRUPT : GREBE_EUNSUPPORTED,
                            "expected a batch, found message type %d", m.type);
        }
        region_drop(m.body.region);
        if (st != GREBE_OK || m.type == IPC_RECORDS) {
            return error_wrap(err, st, "message at byte %zu", at);
        }
    }
}

static grebe_status stream_get_schema(void *self, struct ArrowSchema *out, grebe_error *err)
{
    const struct ipc_stream *s = self;
    return schema_copy(s->a, &s->schema, out, err);
}

static grebe_status stream_get_next(void *self, struct ArrowArray *out, grebe_error *err)
{
    struct ipc_stream *s = self;
    memset(out, 0, sizeof *out);
    if (s->is_at_end) {
        return GREBE_END;
    }
    if (s->failed != GREBE_OK) {
        return GREBE_FAIL(err, s->failed, "the Arrow stream failed before");
    }
    grebe_status st = next_batch(s, out, err);
    s->is_at_end = st == GREBE_END;
    s->failed = st < 0 ? st : GREBE_OK;
    return st;
}

static void stream_free(void *self)
{
    struct ipc_stream *s = self;
    const grebe_allocator *a = s->a;
    ipc_dictionaries_release(a, &s->dictionaries);
    schema_release(&s->schema);
    buf_release(&s->metadata);
    region_drop(s->region);
    if (s->source.free != NULL) {
        s->source.free(s->source.from);
    }
    mem_free(a, s, sizeof *s);
}

static const struct stream_ops ipc_ops = { stream_get_schema, stream_get_next, stream_free };

static grebe_status open_stream(const grebe_allocator *a, const struct ipc_source *source,
                                struct region *region, struct ArrowArrayStream *out,
                                grebe_error *err)
{
    grebe_status st = GREBE_OK;
    memset(out, 0, sizeof *out);
    struct ipc_stream *s = mem_alloc_zero(a, sizeof *s);
    if (s == NULL) {
        return mem_fail(err, sizeof *s, "a stream");
    }
    s->a = a;
    s->metadata = BUF_INIT(a);
    s->region = region_keep(region);
    if (source != NULL) {
        /* Freed by the stream only once it is handed over. */
        s->source = (struct ipc_source){ source->read, NULL, source->from };
    }
    GREBE_TRY(read_schema(s, err));
    GREBE_TRY(stream_export(a, &ipc_ops, s, out, err));
    if (source != NULL) {
        s->source.free = source->free;
    }
    s = NULL;
out:
    if (s != NULL) {
        stream_free(s);
    }
    return st;
}

grebe_status ipc_stream_open(const grebe_allocator *a, const struct ipc_source *source,
                             struct ArrowArrayStream *out, grebe_error *err)
{
    return open_stream(a, source, NULL, out, err);
}

grebe_status ipc_stream_of_region(const grebe_allocator *a, struct region *region,
                                  struct ArrowArrayStream *out, grebe_error *err)
{
    return open_stream(a, NULL, region, out, err);
}
