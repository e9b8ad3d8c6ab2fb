/* SPDX-License-Identifier: Apache-2.0 */
/* How the objects of a file lie: lines, an array, one object, a member of an object. */
#include <string.h>

#include "base/checked.h"
#include "builder/builder_decode.h"
#include "builder/builder_json.h"
#include "text/json_records.h"

static bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

static grebe_status fail_json(const char *expected, grebe_error *err)
{
    return GREBE_FAIL(err, GREBE_ECORRUPT, "expected %s, found other JSON or none", expected);
}

/* ---- content made lines ---- */

static grebe_status put_pair(struct buf *dst, const char *key, size_t key_len, const char *value, size_t len,
                             grebe_error *err)
{
    grebe_status st = GREBE_OK;
    GREBE_TRY(buf_put(dst, key, key_len, err));
    GREBE_TRY(buf_put_byte(dst, ':', err));
    st = buf_put(dst, value, len, err);
out:
    return st;
}

/* An array of scalars: rows with one column, `text`. */
static grebe_status lines_of_scalars(struct json_cursor *c, struct buf *dst, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    c->p++;
    if (json_take(c, ']')) {
        return GREBE_OK;
    }
    do {
        json_skip_space(c);
        const char *begin = c->p;
        if (!json_skip_value(c, 1)) {
            return fail_json("an array of values", err);
        }
        GREBE_TRY(buf_put_byte(dst, '{', err));
        GREBE_TRY(put_pair(dst, "\"text\"", 6, begin, (size_t)(c->p - begin), err));
        GREBE_TRY(buf_put(dst, "}\n", 2, err));
    } while (json_take(c, ','));
    st = json_take(c, ']') ? GREBE_OK : fail_json("an array", err);
out:
    return st;
}

struct column_text {
    const char *key;
    size_t key_len;
    struct json_cursor c; /* at the next element */
};

/* The columns of an object whose members are arrays. */
static grebe_status find_columns(struct json_cursor *c, struct buf *columns, grebe_error *err)
{
    c->p++;
    if (json_take(c, '}')) {
        return GREBE_OK;
    }
    do {
        struct column_text t = { 0 };
        json_skip_space(c);
        t.key = c->p;
        if (c->p >= c->end || *c->p != '"' || !json_skip_value(c, 1)) {
            return fail_json("an object", err);
        }
        t.key_len = (size_t)(c->p - t.key);
        if (!json_take(c, ':')) {
            return fail_json("an object", err);
        }
        json_skip_space(c);
        t.c = *c;
        if (c->p >= c->end || *c->p != '[' || !json_skip_value(c, 1)) {
            return fail_json("an object of columns, which are arrays", err);
        }
        t.c.end = c->p;
        t.c.p++;
        grebe_status st = buf_put(columns, &t, sizeof t, err);
        if (st != GREBE_OK) {
            return st;
        }
    } while (json_take(c, ','));
    return json_take(c, '}') ? GREBE_OK : fail_json("an object", err);
}

static grebe_status lines_of_columns(struct json_cursor *c, struct buf *dst, grebe_error *err)
{
    struct buf columns = BUF_INIT(dst->a);
    grebe_status st = find_columns(c, &columns, err);
    struct column_text *t = (struct column_text *)(void *)columns.data;
    size_t n = columns.len / sizeof *t, n_over = 0;
    for (size_t row = 0; st == GREBE_OK && n > 0; row++) {
        size_t before = dst->len;
        n_over = 0;
        for (size_t i = 0; i < n; i++) {
            if (json_take(&t[i].c, ']')) {
                n_over++;
                continue;
            }
            if (row > 0) {
                json_take(&t[i].c, ',');
            }
            json_skip_space(&t[i].c);
            const char *begin = t[i].c.p;
            json_skip_value(&t[i].c, 1);
            GREBE_TRY(buf_put_byte(dst, i == 0 ? '{' : ',', err));
            GREBE_TRY(put_pair(dst, t[i].key, t[i].key_len, begin, (size_t)(t[i].c.p - begin), err));
        }
        if (n_over > 0) {
            dst->len = before;
            st = n_over == n ? GREBE_OK : fail_json("columns of one length", err);
            break;
        }
        GREBE_TRY(buf_put(dst, "}\n", 2, err));
    }
out:
    buf_release(&columns);
    return st;
}

/* The value of a member of the top object; the cursor comes to stand at it. */
static grebe_status find_field(struct json_cursor *c, const char *field, grebe_error *err)
{
    struct buf scratch = BUF_INIT(mem_system());
    const char *name = NULL;
    size_t len = 0;
    grebe_status st = GREBE_OK;
    if (!json_take(c, '{')) {
        return fail_json("an object", err);
    }
    if (!json_take(c, '}')) {
        do {
            json_skip_space(c);
            if (c->p >= c->end || *c->p != '"' || json_string(c, &scratch, &name, &len, err) != GREBE_OK ||
                !json_take(c, ':')) {
                st = fail_json("an object", err);
                goto out;
            }
            json_skip_space(c);
            if (len == strlen(field) && memcmp(name, field, len) == 0) {
                goto out;
            }
            if (!json_skip_value(c, 1)) {
                st = fail_json("an object", err);
                goto out;
            }
        } while (json_take(c, ','));
    }
    st = GREBE_FAIL(err, GREBE_ENOTFOUND, "expected the field \"%s\", found no such member", field);
out:
    buf_release(&scratch);
    return st;
}

static bool is_array_of_objects(struct json_cursor c)
{
    return json_take(&c, '[') && (json_take(&c, ']') || json_take(&c, '{'));
}

/* What is no array of objects becomes lines; *out: the new content, NULL: it may stay. */
static grebe_status rewrite(const struct json_builder *b, struct json_cursor *c, struct region **out, grebe_error *err)
{
    struct buf lines = BUF_INIT(b->base.b.ctx->a);
    grebe_status st = GREBE_OK;
    *out = NULL;
    json_skip_space(c);
    if (c->p >= c->end || is_array_of_objects(*c)) {
        return GREBE_OK;
    }
    st = *c->p == '['   ? lines_of_scalars(c, &lines, err)
         : *c->p == '{' ? lines_of_columns(c, &lines, err)
                        : fail_json("an array or an object", err);
    st = st == GREBE_OK ? region_of_buf(&lines, out, err) : st;
    buf_release(&lines);
    return st;
}

/* ---- opening ---- */

static grebe_status open_reader(struct json_builder *b, struct region *bytes, const char *name, struct json_unit *u,
                                grebe_error *err)
{
    const struct text_input in = { .name = name, .map = bytes, .call = b->base.request->call };
    text_reader_release(&u->reader);
    return text_reader_init(&u->reader, b->base.b.ctx, &in, err);
}

/* All content, decoded, and the part of it that has the rows. */
static grebe_status open_content(struct json_builder *b, struct region *bytes, const char *name, struct json_unit *u,
                                 grebe_error *err)
{
    const grebe_allocator *a = b->base.b.ctx->a;
    struct region *content = NULL, *text = NULL, *lines = NULL;
    grebe_status st = GREBE_OK;
    GREBE_TRY(builder_expand(b->base.b.ctx, name, bytes, &content, err));
    if (builder_decode_is_needed(b->encoding, b->encoding_errors)) {
        st = builder_decode(a, b->encoding, b->encoding_errors, content, &text, err);
    } else {
        text = region_keep(content);
    }
    if (st == GREBE_OK && b->field != NULL) {
        struct json_cursor c = { (const char *)text->data, (const char *)text->data + text->len };
        c.p += text->len >= 3 && memcmp(c.p, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
        st = find_field(&c, b->field, err);
        const char *begin = c.p;
        st = st == GREBE_OK ? rewrite(b, &c, &lines, err) : st;
        if (st == GREBE_OK && lines == NULL) {
            c.p = begin;
            st = json_skip_value(&c, 1) ? region_slice(a, text, (size_t)(begin - (const char *)text->data),
                                                       (size_t)(c.p - begin), &lines, err)
                                        : fail_json("an array of objects", err);
        }
    }
    if (st != GREBE_OK) {
        error_wrap(err, st, "%s", name);
        goto out;
    }
    st = open_reader(b, lines != NULL ? lines : text, name, u, err);
out:
    region_drop(content);
    region_drop(text);
    region_drop(lines);
    return st;
}

/* Whether the first object goes over a line: then lines are no borders. */
static grebe_status is_over_lines(struct json_unit *u, bool *out, grebe_error *err)
{
    struct text_reader *r = &u->reader;
    *out = false;
    for (size_t want = r->end - r->at;; want *= 2) {
        grebe_status st = text_reader_fill(r, want, err);
        if (st != GREBE_OK) {
            return st;
        }
        struct json_cursor c = { r->data + r->at, r->data + r->end };
        const char *line = memchr(c.p, '\n', (size_t)(c.end - c.p));
        bool is_whole = json_skip_value(&c, 0);
        if (is_whole || r->is_over) {
            *out = is_whole && line != NULL && line < c.p;
            return GREBE_OK;
        }
    }
}

static grebe_status find_layout(struct json_builder *b, struct region *bytes, const char *name, struct json_unit *u,
                                grebe_error *err)
{
    struct text_reader *r = &u->reader;
    grebe_status st = text_reader_fill(r, u->block_bytes, err);
    size_t n = 0;
    bool is_long = false;
    if (st == GREBE_OK && r->end - r->at >= 3 && memcmp(r->data + r->at, "\xef\xbb\xbf", 3) == 0) {
        r->at += 3;
    }
    while (st == GREBE_OK && n < r->end - r->at && is_space(r->data[r->at + n])) {
        n++;
        st = n == r->end - r->at ? text_reader_fill(r, 2 * n, err) : GREBE_OK;
    }
    if (st != GREBE_OK || n == r->end - r->at) {
        return st;
    }
    text_reader_skip(r, n);
    u->layout = ROWS_LINES;
    if (r->data[r->at] == '{') {
        st = is_over_lines(u, &is_long, err);
        u->layout = is_long ? ROWS_WHOLE : ROWS_LINES;
        return st;
    }
    if (r->data[r->at] != '[') {
        return GREBE_OK;
    }
    struct json_cursor c = { r->data + r->at, r->data + r->end };
    if (is_array_of_objects(c)) {
        u->layout = ROWS_ARRAY;
        text_reader_skip(r, 1);
        return GREBE_OK;
    }
    struct region *lines = NULL;
    st = text_reader_fill(r, SIZE_MAX / 4, err);
    c = (struct json_cursor){ r->data + r->at, r->data + r->end };
    st = st == GREBE_OK ? rewrite(b, &c, &lines, err) : st;
    if (st == GREBE_OK && lines != NULL) {
        u->is_plain = false;
        st = open_reader(b, lines, name, u, err);
    }
    region_drop(lines);
    (void)bytes;
    return st == GREBE_OK ? st : error_wrap(err, st, "%s", name);
}

grebe_status json_unit_open(struct json_builder *b, struct region *bytes, const char *name, uint64_t at,
                            struct json_unit *out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    memset(out, 0, sizeof *out);
    out->block_bytes = b->base.block_bytes;
    if (b->field != NULL || builder_decode_is_needed(b->encoding, b->encoding_errors)) {
        GREBE_TRY(open_content(b, bytes, name, out, err));
    } else {
        GREBE_TRY(open_reader(b, bytes, name, out, err));
        out->is_plain = out->reader.codec == NULL;
    }
    GREBE_TRY(find_layout(b, bytes, name, out, err));
    if (at > 0 && (!out->is_plain || at > out->reader.end || at < out->reader.at)) {
        st = GREBE_FAIL(err, GREBE_EINVAL, "%s: expected a place in the rows, found byte %llu", name,
                        (unsigned long long)at);
        goto out;
    }
    if (at > out->reader.at) {
        text_reader_skip(&out->reader, (size_t)at - out->reader.at);
    }
out:
    return st;
}

void json_unit_release(struct json_unit *u)
{
    text_reader_release(&u->reader);
}

/* ---- blocks ---- */

static size_t cut_block(void *arg, const char *data, size_t len, bool is_last)
{
    const struct json_unit *u = arg;
    if (is_last || len == 0) {
        return len;
    }
    if (u->layout == ROWS_WHOLE) {
        return 0;
    }
    if (u->layout == ROWS_ARRAY) {
        return json_cut_values(data, len, true);
    }
    while (len > 0 && data[len - 1] != '\n') {
        len--;
    }
    return len;
}

grebe_status json_unit_blocks(struct json_unit *u, size_t block_bytes, struct text_block *blocks, size_t max, size_t *n,
                              grebe_error *err)
{
    return text_reader_blocks(&u->reader, block_bytes, cut_block, u, blocks, max, n, err);
}

grebe_status json_next_object(const struct json_unit *u, struct json_cursor *c, bool *is_first, grebe_error *err)
{
    json_skip_space(c);
    if (u->layout == ROWS_ARRAY && c->p < c->end) {
        if (!*is_first && *c->p == ',') {
            c->p++;
            json_skip_space(c);
            if (c->p == c->end) {
                return GREBE_END; /* the block ends behind a comma */
            }
        } else if (*c->p == ']') {
            c->p++;
            json_skip_space(c);
            return c->p == c->end ? GREBE_END : fail_json("nothing behind the array", err);
        } else if (!*is_first) {
            return fail_json("',' or ']'", err);
        }
    }
    if (c->p == c->end) {
        return u->layout == ROWS_ARRAY ? fail_json("']'", err) : GREBE_END;
    }
    *is_first = false;
    return *c->p == '{' ? GREBE_OK : fail_json("an object", err);
}

grebe_status json_see_block(const struct json_unit *u, const struct text_block *block, struct arena *ar,
                            struct json_kinds *t, grebe_error *err)
{
    struct json_cursor c = { block->data, block->data + block->len };
    struct json_see see = { .ar = ar, .scratch = BUF_INIT(ar->a) };
    bool is_first = true;
    grebe_status st = GREBE_OK;
    for (;;) {
        st = json_next_object(u, &c, &is_first, err);
        if (st != GREBE_OK) {
            break;
        }
        st = json_kinds_see(&see, t, &c, 0, err);
        if (st != GREBE_OK) {
            break;
        }
    }
    if (st != GREBE_END && st != GREBE_ENOMEM) {
        char place[512];
        size_t at = c.p > c.end ? block->len : (size_t)(c.p - block->data);
        error_wrap(err, st, "%s", text_place(place, u->reader.name, block, at));
    }
    buf_release(&see.scratch);
    return st == GREBE_END ? GREBE_OK : st;
}
