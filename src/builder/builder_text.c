/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/builder_text.h"

#include <string.h>

#include "base/checked.h"
#include "base/utf8.h"
#include "builder/builder_decode.h"
#include "text/text_builder.h"

enum sample { BY_LINE, BY_PARAGRAPH, BY_DOCUMENT };
enum { CHUNK_BYTES = 10 << 20, BLOCK_BYTES = 1 << 20 };

struct text_file_builder {
    struct builder_base base;
    struct builder_encoding encoding;
    enum sample sample;
    bool is_kept; /* line breaks */
    const char *column;
};

/* ---- shared ---- */

grebe_status builder_encoding_options(const struct builder_base *b, struct builder_encoding *out, grebe_error *err)
{
    grebe_status st = builder_option_text(b, "encoding", &out->name, err);
    st = st == GREBE_OK ? builder_option_text(b, "encoding_errors", &out->errors, err) : st;
    return st == GREBE_OK ? builder_decode_check(out->name, out->errors, err) : st;
}

grebe_status builder_text_reader(struct builder_base *b, const struct builder_encoding *e, struct region *bytes,
                                 const char *name, uint64_t at, struct text_reader *out, bool *is_plain, grebe_error *err)
{
    struct region *content = NULL, *text = NULL;
    struct text_input in = { .name = name, .map = bytes, .call = b->request->call };
    grebe_status st = GREBE_OK;
    memset(out, 0, sizeof *out);
    *is_plain = !builder_decode_is_needed(e->name, e->errors);
    if (!*is_plain) {
        GREBE_TRY(builder_expand(b->b.ctx, name, bytes, &content, err));
        st = builder_decode(b->b.ctx->a, e->name, e->errors, content, &text, err);
        if (st != GREBE_OK) {
            error_wrap(err, st, "%s", name);
            goto out;
        }
        in.map = text;
    }
    GREBE_TRY(text_reader_init(out, b->b.ctx, &in, err));
    *is_plain = *is_plain && out->codec == NULL;
    if (at > 0 && (!*is_plain || at > out->end)) {
        st = GREBE_FAIL(err, GREBE_EINVAL, "%s: expected a place in the file, found byte %llu", name, (unsigned long long)at);
        goto out;
    }
    text_reader_skip(out, (size_t)at);
out:
    region_drop(content);
    region_drop(text);
    return st;
}

grebe_status builder_text_check(const char *name, const struct text_block *block, grebe_error *err)
{
    char place[512];
    size_t good = utf8_valid_prefix(block->data, block->len);
    return good == block->len ? GREBE_OK
                              : GREBE_FAIL(err, GREBE_ECORRUPT, "%s: expected UTF-8, found 0x%02x",
                                           text_place(place, name, block, good), (unsigned char)block->data[good]);
}

grebe_status builder_text_unify(const char *p, size_t len, struct buf *scratch, struct text_span *out, grebe_error *err)
{
    *out = (struct text_span){ p, len };
    const char *cr = len > 0 ? memchr(p, '\r', len) : NULL;
    if (cr == NULL) {
        return GREBE_OK;
    }
    buf_clear(scratch);
    grebe_status st = buf_reserve(scratch, len + 1, err);
    if (st != GREBE_OK) {
        return st;
    }
    char *dst = (char *)scratch->data;
    size_t n = (size_t)(cr - p);
    memcpy(dst, p, n);
    for (size_t i = n; i < len; i++) {
        if (p[i] == '\r') {
            dst[n++] = '\n';
            i += i + 1 < len && p[i + 1] == '\n';
        } else {
            dst[n++] = p[i];
        }
    }
    scratch->len = n;
    *out = (struct text_span){ dst, n };
    return GREBE_OK;
}

grebe_status builder_text_schema(const grebe_allocator *a, const char *const *names, size_t n, const char *format,
                                 struct ArrowSchema *out, grebe_error *err)
{
    grebe_status st = schema_new(a, "+s", "", false, (int64_t)n, out, err);
    bool is_list = strcmp(format, "+l") == 0;
    for (size_t i = 0; i < n && st == GREBE_OK; i++) {
        st = schema_new(a, format, names[i], true, is_list ? 1 : 0, out->children[i], err);
        if (st == GREBE_OK && is_list) {
            st = schema_new(a, "u", "item", true, 0, out->children[i]->children[0], err);
        }
    }
    if (st != GREBE_OK) {
        schema_release(out);
    }
    return st;
}

/* ---- blocks ---- */

/* Behind the last break that is surely whole: a CR at the end may have its LF in what follows. */
static size_t cut_lines(const char *p, size_t len)
{
    for (size_t i = len; i > 0; i--) {
        if (p[i - 1] == '\n' || (p[i - 1] == '\r' && i < len && p[i] != '\n')) {
            return i;
        }
    }
    return 0;
}

/* Behind the first two breaks of the last run of them: splitting goes on from there as it would have. */
static size_t cut_paragraphs(const char *p, size_t len)
{
    size_t border = 0, run = 0;
    for (size_t i = 0; i < len; i++) {
        if (p[i] == '\r' && i + 1 == len) {
            break;
        }
        if (p[i] == '\n' || p[i] == '\r') {
            i += p[i] == '\r' && p[i + 1] == '\n';
            if (i >= len) {
                break;
            }
            border = ++run == 2 ? i + 1 : border;
        } else {
            run = 0;
        }
    }
    return border;
}

static size_t cut_text(void *arg, const char *data, size_t len, bool is_last)
{
    const struct text_file_builder *b = arg;
    if (is_last || b->sample == BY_DOCUMENT) {
        return is_last ? len : 0;
    }
    return b->sample == BY_LINE ? cut_lines(data, len) : cut_paragraphs(data, len);
}

/* ---- rows ---- */

struct text_rows {
    struct text_file_builder *b;
    struct text_reader reader;
    bool is_plain, is_over;
    int64_t row;
    struct buf scratch;
};

static grebe_status put_lines(struct text_builder *t, struct text_span s, bool is_kept, grebe_error *err)
{
    grebe_status st = text_builder_reserve_text(t, s.len, err);
    for (const char *p = s.p, *end = s.p + s.len; p < end && st == GREBE_OK;) {
        const char *line = memchr(p, '\n', (size_t)(end - p));
        const char *next = line != NULL ? line + 1 : end;
        st = text_builder_put_text(t, p, (size_t)((line != NULL && !is_kept ? line : next) - p), err);
        p = next;
    }
    return st;
}

static grebe_status put_paragraphs(struct text_builder *t, struct text_span s, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    for (const char *p = s.p, *end = s.p + s.len; p < end && st == GREBE_OK;) {
        const char *stop = p;
        while (stop != end && !(stop[0] == '\n' && stop + 1 < end && stop[1] == '\n')) {
            const char *line = stop + 1 < end ? memchr(stop + 1, '\n', (size_t)(end - stop - 1)) : NULL;
            stop = line != NULL ? line : end;
        }
        st = stop > p ? text_builder_put_text(t, p, (size_t)(stop - p), err) : GREBE_OK;
        p = stop == end ? end : stop + 2;
    }
    return st;
}

/* The next block of the file as rows; GREBE_END. */
static grebe_status read_block(struct text_rows *r, struct ArrowArray *out, grebe_error *err)
{
    const grebe_allocator *a = r->b->base.b.ctx->a;
    struct text_builder t;
    struct text_block block = { "", 0, 1, 1 };
    struct text_span s;
    struct ArrowArray column = { 0 };
    size_t n = 0;
    grebe_status st = GREBE_OK;
    text_builder_init(&t, a, TEXT_BUILDER_TEXT, 0);
    if (r->is_over) {
        return GREBE_END;
    }
    GREBE_TRY(text_reader_blocks(&r->reader, r->b->base.block_bytes, cut_text, r->b, &block, 1, &n, err));
    r->is_over = n == 0 || r->b->sample == BY_DOCUMENT;
    if (n == 0 && (r->b->sample != BY_DOCUMENT || r->row > 0)) {
        return GREBE_END;
    }
    GREBE_TRY(builder_text_check(r->reader.name, &block, err));
    GREBE_TRY(builder_text_unify(block.data, block.len, &r->scratch, &s, err));
    st = r->b->sample == BY_LINE        ? put_lines(&t, s, r->b->is_kept, err)
         : r->b->sample == BY_PARAGRAPH ? put_paragraphs(&t, s, err)
                                        : text_builder_put_text(&t, s.p, s.len, err);
    GREBE_TRY(st);
    GREBE_TRY(text_builder_finish(&t, 0, &column, err));
    st = array_struct(a, column.length, &column, 1, out, err);
out:
    array_release(&column);
    text_builder_release(&t);
    return st;
}

static grebe_status text_next(void *self, struct ArrowSchema *schema, struct ArrowArray *out, grebe_error *err)
{
    struct text_rows *r = self;
    struct ArrowArray rows = { 0 };
    struct ArrowSchema type = { 0 };
    grebe_status st = GREBE_OK;
    do {
        array_release(&rows);
        st = read_block(r, &rows, err);
    } while (st == GREBE_OK && rows.length == 0);
    st = st == GREBE_OK ? builder_text_schema(r->b->base.b.ctx->a, &r->b->column, 1, "u", &type, err) : st;
    if (st != GREBE_OK) {
        array_release(&rows);
        return st;
    }
    int64_t n = rows.length;
    st = builder_emit(&r->b->base, r->reader.name, &type, &rows, false, r->row, schema, out, err);
    r->row += n;
    return st;
}

static struct shard_place text_place_of(void *self)
{
    const struct text_rows *r = self;
    bool is_byte = r->is_plain && r->b->sample != BY_DOCUMENT;
    return is_byte ? (struct shard_place){ r->row, r->reader.at } : (struct shard_place){ 0, 0 };
}

static int64_t text_next_row(void *self) { return ((struct text_rows *)self)->row; }

static void text_rows_free(void *self)
{
    struct text_rows *r = self;
    const grebe_allocator *a = r->b->base.b.ctx->a;
    text_reader_release(&r->reader);
    buf_release(&r->scratch);
    mem_free(a, r, sizeof *r);
}

static const struct shard_reader_ops text_rows_ops = { text_next, text_place_of, text_next_row, text_rows_free, NULL };

static grebe_status open_unit(struct builder_base *base, struct region *bytes, const char *name, struct shard_place place,
                              struct shard_reader *out, grebe_error *err)
{
    struct text_file_builder *b = (struct text_file_builder *)base;
    struct text_rows *r = mem_alloc_zero(base->b.ctx->a, sizeof *r);
    if (r == NULL) {
        return mem_fail(err, sizeof *r, name);
    }
    r->b = b;
    r->row = place.row;
    r->scratch = BUF_INIT(base->b.ctx->a);
    grebe_status st = builder_text_reader(base, &b->encoding, bytes, name, place.at, &r->reader, &r->is_plain, err);
    if (st != GREBE_OK) {
        text_rows_free(r);
        return st;
    }
    *out = (struct shard_reader){ &text_rows_ops, r };
    return GREBE_OK;
}

/* ---- the builder ---- */

static const struct builder_ops text_ops = { NULL, builder_one_part, builder_read_units, builder_base_free, open_unit };

static grebe_status text_options_of(struct text_file_builder *b, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const char *sample = "line";
    int64_t chunk = CHUNK_BYTES;
    GREBE_TRY(builder_encoding_options(&b->base, &b->encoding, err));
    GREBE_TRY(builder_option_i64(&b->base, "chunksize", 1, &chunk, err));
    GREBE_TRY(builder_option_bool(&b->base, "keep_linebreaks", &b->is_kept, err));
    GREBE_TRY(builder_option_text(&b->base, "sample_by", &sample, err));
    b->base.block_bytes = (size_t)min_i64(chunk, BLOCK_BYTES);
    if (strcmp(sample, "paragraph") == 0) {
        b->sample = BY_PARAGRAPH;
    } else if (strcmp(sample, "document") == 0) {
        b->sample = BY_DOCUMENT;
    } else if (strcmp(sample, "line") != 0) {
        st = builder_option_fail("sample_by", "line, paragraph or document", builder_option(&b->base, "sample_by"), err);
    }
out:
    return st;
}

static grebe_status text_set_up(struct builder *base, grebe_error *err)
{
    struct text_file_builder *b = (struct text_file_builder *)base;
    struct ArrowSchema schema = { 0 };
    grebe_status st = GREBE_OK;
    b->column = base->kind->name;
    b->sample = base->kind == &builder_xml ? BY_DOCUMENT : BY_LINE;
    GREBE_TRY(text_options_of(b, err));
    if (!b->base.is_given) {
        GREBE_TRY(builder_text_schema(base->ctx->a, &b->column, 1, "u", &schema, err));
        GREBE_TRY(builder_set_schema(&b->base, &schema, false, err));
    } else if (base->features->top.n_fields != 1) {
        st = GREBE_FAIL(err, GREBE_EINVAL, "%s: expected features of one column, found %zu", base->kind->name,
                        base->features->top.n_fields);
    } else {
        b->column = base->features->top.fields[0].name;
    }
out:
    schema_release(&schema);
    return st;
}

static const char *const text_extensions[] = { ".txt", NULL };
static const char *const text_options[] = { "features", "encoding", "encoding_errors", "chunksize", "keep_linebreaks",
                                            "sample_by", NULL };
static const char *const xml_extensions[] = { ".xml", NULL };
static const char *const xml_options[] = { "features", "encoding", "encoding_errors", NULL };

const struct builder_kind builder_text = { .name = "text", .extensions = text_extensions, .options = text_options,
                                           .size = sizeof(struct text_file_builder), .ops = &text_ops, .set_up = text_set_up };
const struct builder_kind builder_xml = { .name = "xml", .extensions = xml_extensions, .options = xml_options,
                                          .size = sizeof(struct text_file_builder), .ops = &text_ops, .set_up = text_set_up };
