/* SPDX-License-Identifier: Apache-2.0 */
#include "text/json_records.h"

#include <string.h>

#include "base/checked.h"

static bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

size_t json_cut_values(const char *data, size_t len, bool is_array)
{
    size_t border = 0;
    int64_t depth = 0;
    for (size_t i = 0; i < len && depth >= 0; i++) {
        switch (data[i]) {
        case '"':
            for (i++; i < len && data[i] != '"'; i++) {
                i += data[i] == '\\';
            }
            break;
        case '{':
        case '[': depth++; break;
        case '}':
        case ']':
            depth--;
            border = !is_array && depth == 0 ? i + 1 : border;
            break;
        case ',': border = is_array && depth == 0 ? i + 1 : border; break;
        default: break;
        }
    }
    return border;
}

size_t json_cut(void *arg, const char *data, size_t len, bool is_last)
{
    const struct json_stream *s = arg;
    if (is_last || len == 0) {
        return len;
    }
    if (s->layout != LAYOUT_LINES) {
        return json_cut_values(data, len, s->layout == LAYOUT_ARRAY);
    }
    while (len > 0 && data[len - 1] != '\n') {
        len--;
    }
    return len;
}

/* So many rows tell how many the block has. */
enum { ROWS_TRIED = 64 };

static grebe_status fail_at(const struct json_records *r, const char *expected, grebe_error *err)
{
    char place[512], found[24];
    const struct text_block *b = &r->slot->block;
    text_place(place, r->s->wave.reader.name, b, r->at);
    if (r->at == b->len) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "%s: expected %s, found the end", place, expected);
    }
    return GREBE_FAIL(err, GREBE_ECORRUPT, "%s: expected %s, found '%s'", place, expected,
                      error_quote(found, sizeof found, b->data + r->at, 1));
}

/* Straight from the text. */
grebe_status json_plain_object(struct json_records *r, size_t end, bool is_alone,
                                 grebe_error *err)
{
    const char *data = r->slot->block.data;
    struct json_cursor c = { data + r->at, data + end };
    grebe_status st = GREBE_OK;
    if (*c.p != '{') {
        return JSON_ODD;
    }
    if (r->table != NULL) {
        st = json_table_put(r->table, &c, err);
        if (st == GREBE_OK && json_table_rows(r->table) == ROWS_TRIED) {
            double share = (double)r->slot->block.len / (double)(c.p - data);
            st = json_table_expect(r->table, (size_t)(ROWS_TRIED * share * 1.05) + 16, err);
        }
    } else {
        st = json_shape_see(&r->found->arena, &r->found->shape, &c, 0, &r->scratch, err);
        r->found->n_rows++;
    }
    if (st == GREBE_OK && is_alone) {
        json_skip_space(&c);
        st = c.p == c.end ? GREBE_OK : JSON_ODD;
    }
    r->at = (size_t)(c.p - data);
    return st;
}

/* By a tree, which knows its places. */
grebe_status json_tree_object(struct json_records *r, size_t end, bool is_alone,
                                grebe_error *err)
{
    const struct text_block *b = &r->slot->block;
    const struct json_value *v = NULL;
    size_t used = end - r->at, line_begin = r->at;
    if (b->data[r->at] != '{') {
        return fail_at(r, "an object", err);
    }
    /* Back to the record before, at most: a line may hold all records. */
    uint64_t n_chars = 0;
    while (line_begin > r->counted && b->data[line_begin - 1] != '\n') {
        n_chars += ((unsigned char)b->data[--line_begin] & 0xc0) != 0x80;
    }
    bool is_new_line = line_begin > 0 && b->data[line_begin - 1] == '\n';
    uint64_t before = is_new_line ? 1 : r->counted == 0 ? b->column : r->column;
    uint64_t column = before + n_chars;
    r->column = column;
    r->line += text_count_lines(b->data + r->counted, r->at - r->counted);
    r->counted = r->at;
    struct json_place place = { r->s->wave.reader.name, (uint32_t)min_u64(r->line, UINT32_MAX),
                                (uint32_t)min_u64(column, UINT32_MAX) };
    grebe_status st = json_parse_at(&r->arena, b->data + r->at, end - r->at, &place,
                                    is_alone ? NULL : &used, &v, err);
    if (st == GREBE_OK) {
        st = buf_put(&r->values, &v, sizeof v, err);
    }
    r->at += used;
    return st;
}

static void skip_space(struct json_records *r)
{
    const struct text_block *b = &r->slot->block;
    while (r->at < b->len && is_space(b->data[r->at])) {
        r->at++;
    }
}

static grebe_status read_lines(struct json_records *r, grebe_error *err)
{
    const struct text_block *b = &r->slot->block;
    grebe_status st = GREBE_OK;
    for (skip_space(r); st == GREBE_OK && r->at < b->len; skip_space(r)) {
        const char *end = memchr(b->data + r->at, '\n', b->len - r->at);
        st = r->object(r, end != NULL ? (size_t)(end - b->data) : b->len, true, err);
    }
    return st;
}

static grebe_status read_values(struct json_records *r, grebe_error *err)
{
    const struct text_block *b = &r->slot->block;
    grebe_status st = GREBE_OK;
    for (skip_space(r); st == GREBE_OK && r->at < b->len; skip_space(r)) {
        st = r->object(r, b->len, false, err);
    }
    return st;
}

/* Elements of an array up to its end, or up to the comma that ends the block. */
static grebe_status read_elements(struct json_records *r, grebe_error *err)
{
    const struct text_block *b = &r->slot->block;
    bool is_after_comma = !r->slot->is_first;
    for (;;) {
        skip_space(r);
        if (r->at == b->len) {
            return GREBE_OK;
        }
        if (b->data[r->at] == ']' && !is_after_comma) {
            r->at++;
            r->slot->is_closed = true;
            skip_space(r);
            return r->at == b->len ? GREBE_OK : fail_at(r, "the end", err);
        }
        grebe_status st = r->object(r, b->len, false, err);
        if (st != GREBE_OK) {
            return st;
        }
        skip_space(r);
        is_after_comma = r->at < b->len && b->data[r->at] == ',';
        if (!is_after_comma && (r->at == b->len || b->data[r->at] != ']')) {
            return fail_at(r, "',' or ']'", err);
        }
        r->at += is_after_comma;
    }
}

grebe_status json_read_block(struct json_records *r, struct text_slot *slot, object_fn object,
                               grebe_error *err)
{
    const struct json_stream *s = slot->owner;
    *r = (struct json_records){ .s = s, .slot = slot, .object = object, .found = r->found,
                                .table = r->table, .scratch = BUF_INIT(s->arena.a),
                                .arena = ARENA_INIT(s->arena.a),
                                .values = BUF_INIT(s->arena.a), .line = slot->block.line };
    slot->is_closed = false;
    switch (s->layout) {
    case LAYOUT_LINES: return read_lines(r, err);
    case LAYOUT_VALUES: return read_values(r, err);
    default: return read_elements(r, err);
    }
}

void json_release_block(struct json_records *r)
{
    arena_release(&r->arena);
    buf_release(&r->values);
    buf_release(&r->scratch);
}

const struct json_value *const *json_values_of(const struct json_records *r, size_t *n)
{
    *n = r->values.len / sizeof(void *);
    return (const struct json_value *const *)(void *)r->values.data;
}
