/* SPDX-License-Identifier: Apache-2.0 */
#include "text/text_input.h"

#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "base/utf8.h"
#include "text/text_scan.h"

/* ---- bytes ---- */

/* Raw bytes of the input, compressed or not. */
static grebe_status read_raw(void *arg, void *dst, size_t len, size_t *got, grebe_error *err)
{
    struct text_reader *r = arg;
    if (r->input.map != NULL) {
        *got = min_size(len, r->input.map->len - (size_t)r->raw_at);
        memcpy(dst, r->input.map->data + r->raw_at, *got);
        r->raw_at += *got;
        return GREBE_OK;
    }
    if (r->head_at < r->n_head) {
        *got = min_size(len, r->n_head - r->head_at);
        memcpy(dst, r->head + r->head_at, *got);
        r->head_at += *got;
        return GREBE_OK;
    }
    return r->input.read(r->input.arg, dst, len, got, err);
}

/* A pipe may give its first bytes one by one. */
static grebe_status read_head(struct text_reader *r, grebe_error *err)
{
    if (r->input.map != NULL) {
        r->n_head = min_size(sizeof r->head, r->input.map->len);
        memcpy(r->head, r->input.map->data, r->n_head);
        return GREBE_OK;
    }
    while (r->n_head < sizeof r->head) {
        size_t got = 0;
        grebe_status st = r->input.read(r->input.arg, r->head + r->n_head,
                                        sizeof r->head - r->n_head, &got, err);
        if (st != GREBE_OK) {
            return st;
        }
        if (got == 0) {
            break;
        }
        r->n_head += got;
    }
    return GREBE_OK;
}

/* Nothing has an address, too: places in it are counted from there. */
static const char *address_of(const unsigned char *data) { return data != NULL ? (const char *)data : ""; }

grebe_status text_reader_init(struct text_reader *r, grebe_context *ctx,
                              const struct text_input *in, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    memset(r, 0, sizeof *r);
    r->ctx = ctx;
    r->input = *in;
    r->input.name = NULL;
    r->window = BUF_INIT(ctx->a);
    r->data = "";
    r->line = r->column = 1;
    r->record_max = TEXT_RECORD_MAX;
    region_keep(r->input.map);
    r->name = str_copy(ctx->a, in->name);
    if (r->name == NULL) {
        st = mem_fail(err, strlen(in->name), "a name");
        goto out;
    }
    GREBE_TRY(read_head(r, err));
    enum codec_id id = codec_stream_sniff(r->head, r->n_head);
    if (id != CODEC_NONE) {
        GREBE_TRY(codec_stream_new(ctx->a, id, read_raw, r, &r->codec, err));
    } else if (r->input.map != NULL && !r->input.is_latin1) {
        r->data = address_of(r->input.map->data);
        r->end = r->input.map->len;
        r->is_over = true;
    }
out:
    if (st != GREBE_OK) {
        r->input.free = NULL; /* still the caller's */
        text_reader_release(r);
    }
    return st;
}

void text_reader_release(struct text_reader *r)
{
    if (r->ctx != NULL) {
        codec_stream_free(r->codec);
        if (r->input.free != NULL) {
            r->input.free(r->input.arg);
        }
        region_drop(r->input.map);
        str_free(r->ctx->a, r->name);
        buf_release(&r->window);
        memset(r, 0, sizeof *r);
    }
}

/* n bytes of ISO 8859-1 become UTF-8 in place, from the end: there is room for twice as many. */
static size_t utf8_of_latin1(unsigned char *p, size_t n)
{
    size_t n_high = 0;
    for (size_t i = 0; i < n; i++) {
        n_high += p[i] >> 7;
    }
    for (size_t from = n, to = n + n_high; from > 0;) {
        unsigned char c = p[--from];
        if (c < 0x80) {
            p[--to] = c;
        } else {
            p[--to] = (unsigned char)(0x80 | (c & 0x3f));
            p[--to] = (unsigned char)(0xc0 | c >> 6);
        }
    }
    return n + n_high;
}

grebe_status text_reader_fill(struct text_reader *r, size_t want, grebe_error *err)
{
    enum { READ_BYTES = 256 << 10 };
    if (r->is_over || r->end - r->at >= want) {
        return GREBE_OK;
    }
    if (r->at > 0) {
        memmove(r->window.data, r->window.data + r->at, r->end - r->at);
        r->end -= r->at;
        r->at = 0;
        r->window.len = r->end;
    }
    while (!r->is_over && r->end < want) {
        size_t got = 0, part = max_size(min_size(want - r->end, 4 * READ_BYTES), READ_BYTES);
        grebe_status st = buf_reserve(&r->window, part, err);
        if (st != GREBE_OK) {
            return st;
        }
        unsigned char *dst = r->window.data + r->end;
        part = r->input.is_latin1 ? part / 2 : part;
        st = r->codec != NULL ? codec_stream_read(r->codec, dst, part, &got, err)
                              : read_raw(r, dst, part, &got, err);
        if (st != GREBE_OK) {
            return error_wrap(err, st, "%s", r->name);
        }
        r->is_over = got == 0;
        r->end += r->input.is_latin1 ? utf8_of_latin1(dst, got) : got;
        r->window.len = r->end;
    }
    r->data = address_of(r->window.data);
    return GREBE_OK;
}

/* ---- lines and blocks ---- */

static uint64_t count_char(const char *data, size_t len, char c)
{
    const struct text_set set = { { c, c, c, c, c } };
    struct text_scan s;
    uint64_t n = 0;
    text_scan_init(&s, data, len, &set);
    while (text_scan_fill(&s)) {
        for (size_t i = 0; i < s.n_words; i++) {
            n += (uint64_t)__builtin_popcountll(s.masks[i]);
        }
    }
    return n;
}

uint64_t text_count_lines(const char *data, size_t len)
{
    uint64_t n = count_char(data, len, '\n');
    const char *end = data + len;
    for (const char *p = len > 0 ? memchr(data, '\r', len) : NULL; p != NULL;) {
        n += p + 1 == end || p[1] != '\n';
        p = p + 1 == end ? NULL : memchr(p + 1, '\r', (size_t)(end - p - 1));
    }
    return n;
}

static bool is_line_end(char c) { return c == '\n' || c == '\r'; }

static uint64_t count_chars(const char *data, size_t len)
{
    uint64_t n = 0;
    for (size_t i = 0; i < len; i++) {
        n += ((unsigned char)data[i] & 0xc0) != 0x80;
    }
    return n;
}

void text_reader_skip(struct text_reader *r, size_t n)
{
    const char *data = r->data + r->at;
    size_t line_begin = n;
    while (line_begin > 0 && !is_line_end(data[line_begin - 1])) {
        line_begin--;
    }
    r->column = count_chars(data + line_begin, n - line_begin) + (line_begin > 0 ? 1 : r->column);
    r->line += text_count_lines(data, n);
    r->at += n;
}

grebe_status text_reader_too_long(const struct text_reader *r, grebe_error *err)
{
    return GREBE_FAIL(err, GREBE_ELIMIT,
                      "%s:%llu: expected a record of at most %zu bytes, found a longer one", r->name,
                      (unsigned long long)r->line, r->record_max);
}

grebe_status text_reader_blocks(struct text_reader *r, size_t block_bytes, text_cut_fn cut,
                                void *cut_arg, struct text_block *blocks, size_t max, size_t *n,
                                grebe_error *err)
{
    size_t at = 0; /* from r->at, which stays until all blocks are cut: filling moves bytes */
    *n = 0;
    grebe_status st = text_reader_fill(r, block_bytes * max, err);
    while (st == GREBE_OK && *n < max && at < r->end - r->at) {
        const char *data = r->data + r->at + at;
        size_t left = r->end - r->at - at, len = min_size(left, block_bytes), taken = 0;
        for (;;) {
            bool is_last = len == left && r->is_over;
            taken = cut(cut_arg, data, len, is_last);
            if (taken > 0 || is_last) {
                break;
            }
            if (len < left) {
                len = min_size(left, 2 * len);
            } else if (*n > 0 || len > r->record_max) {
                break;
            } else {
                st = text_reader_fill(r, 2 * len, err);
                if (st != GREBE_OK) {
                    return st;
                }
                data = r->data + r->at;
                left = r->end - r->at;
                len = min_size(left, 2 * len);
            }
            if (len > 2 * r->record_max) {
                break;
            }
        }
        if (taken == 0 && *n > 0) {
            break; /* the next call reads on */
        }
        if (taken == 0 || taken >= 2 * (size_t)TEXT_RECORD_MAX) { /* places in it have 30 bits */
            return text_reader_too_long(r, err);
        }
        blocks[*n].data = data;
        blocks[*n].len = taken;
        (*n)++;
        at += taken;
    }
    for (size_t i = 0; st == GREBE_OK && i < *n; i++) {
        blocks[i].data = r->data + r->at;
        blocks[i].line = r->line;
        blocks[i].column = r->column;
        text_reader_skip(r, blocks[i].len);
    }
    return st;
}

const char *text_place(char dst[512], const char *name, const struct text_block *b, size_t at)
{
    size_t line_begin = at;
    while (line_begin > 0 && !is_line_end(b->data[line_begin - 1])) {
        line_begin--;
    }
    uint64_t column = count_chars(b->data + line_begin, at - line_begin) +
                      (line_begin > 0 ? 1 : b->column);
    snprintf(dst, 512, "%.400s:%llu:%llu", name,
             (unsigned long long)(b->line + text_count_lines(b->data, line_begin)),
             (unsigned long long)column);
    return dst;
}
