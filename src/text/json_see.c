/* SPDX-License-Identifier: Apache-2.0 */
/* What values look like, straight from the text. Gives what json_shape_add gives for the tree. */
#include "text/json_shape.h"

#include "base/utf8.h"

/* All numbers of up to 15 digits are exact in every type that has their form. */
enum { DIGITS_PLAIN = 15 };

static grebe_status see_number(struct json_shape *s, struct json_cursor *c)
{
    bool is_integer = false, has_exponent = false;
    size_t n = json_number(c, &is_integer, &has_exponent);
    if (n == 0) {
        return JSON_ODD;
    }
    s->seen |= JSON_SEEN_SCALAR;
    if (is_integer && n <= DIGITS_PLAIN && *c->p != '-') {
        s->types &= TEXT_INT64 | TEXT_UINT64 | TEXT_DOUBLE;
    } else if (!is_integer && !has_exponent && n < 300) {
        s->types &= TEXT_DOUBLE;
    } else {
        s->types &= text_types_of(c->p, n);
    }
    c->p += n;
    return GREBE_OK;
}

static grebe_status see_list(struct arena *ar, struct json_shape *s, struct json_cursor *c,
                             int depth, struct buf *scratch, grebe_error *err)
{
    s->seen |= JSON_SEEN_ARRAY;
    c->p++;
    grebe_status st = json_shape_need_item(ar, s, err);
    if (st != GREBE_OK || json_take(c, ']')) {
        return st;
    }
    do {
        json_skip_space(c);
        st = json_shape_see(ar, s->item, c, depth + 1, scratch, err);
        if (st != GREBE_OK) {
            return st;
        }
    } while (json_take(c, ','));
    return json_take(c, ']') ? GREBE_OK : JSON_ODD;
}

/* The field whose name stands at the cursor; hint: the one that came here before. */
static grebe_status see_name(struct arena *ar, struct json_shape *s, struct json_cursor *c,
                             struct json_field *hint, struct buf *scratch, struct json_field **out,
                             grebe_error *err)
{
    const char *name = NULL;
    size_t len = 0, n_before = s->n_fields;
    if (hint != NULL && json_field_is_at(hint, c->p, c->end)) {
        c->p += hint->len + 2;
        *out = hint;
        return GREBE_OK;
    }
    if (c->p == c->end || *c->p != '"') {
        return JSON_ODD;
    }
    grebe_status st = json_string(c, scratch, &name, &len, err);
    if (st == GREBE_OK) {
        st = json_shape_field_of(ar, s, name, len, hint, out, err);
    }
    return st == GREBE_OK && s->n_fields > n_before && !utf8_is_valid(name, len) ? JSON_ODD : st;
}

static grebe_status see_object(struct arena *ar, struct json_shape *s, struct json_cursor *c,
                               int depth, struct buf *scratch, grebe_error *err)
{
    struct json_field *f = NULL;
    s->seen |= JSON_SEEN_OBJECT;
    c->p++;
    if (json_take(c, '}')) {
        return GREBE_OK;
    }
    do {
        struct json_field *before = f;
        struct json_field *hint = before != NULL ? before->guess : s->first;
        json_skip_space(c);
        grebe_status st = see_name(ar, s, c, hint, scratch, &f, err);
        if (st != GREBE_OK || !json_take(c, ':')) {
            return st != GREBE_OK ? st : JSON_ODD;
        }
        if (before != NULL) {
            before->guess = f;
        }
        json_skip_space(c);
        st = json_shape_see(ar, &f->shape, c, depth + 1, scratch, err);
        if (st != GREBE_OK) {
            return st;
        }
    } while (json_take(c, ','));
    return json_take(c, '}') ? GREBE_OK : JSON_ODD;
}

grebe_status json_shape_see(struct arena *ar, struct json_shape *s, struct json_cursor *c, int depth,
                            struct buf *scratch, grebe_error *err)
{
    const char *text = NULL;
    size_t len = 0;
    if (c->p == c->end) {
        return JSON_ODD;
    }
    switch (*c->p) {
    case '"': {
        grebe_status st = json_string(c, scratch, &text, &len, err);
        s->seen |= json_is_special(text, len) ? JSON_SEEN_SPECIAL : JSON_SEEN_STRING;
        return st;
    }
    case '{':
    case '[':
        if (depth >= JSON_DEPTH_MAX) {
            return JSON_ODD;
        }
        return *c->p == '{' ? see_object(ar, s, c, depth, scratch, err)
                            : see_list(ar, s, c, depth, scratch, err);
    case 'n': return json_take_word(c, "null", 4) ? GREBE_OK : JSON_ODD;
    case 't':
    case 'f':
        s->seen |= JSON_SEEN_SCALAR;
        s->types &= TEXT_BOOL;
        return json_take_word(c, "true", 4) || json_take_word(c, "false", 5) ? GREBE_OK : JSON_ODD;
    default: return see_number(s, c);
    }
}
