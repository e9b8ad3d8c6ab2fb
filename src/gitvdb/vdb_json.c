/* SPDX-License-Identifier: Apache-2.0 */
#include "gitvdb/vdb_json.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/utf8.h"
#include "gitvdb/vdb_scan.h"

struct parser {
    struct arena *ar;
    const char *p, *end;
    const struct vdb_text *text;
    bool is_unique;     /* a key that stands twice is an error */
    struct buf stack;   /* members of the open arrays and objects (a key of NULL in arrays) */
    struct buf scratch; /* a string being decoded */
    grebe_error *err;
};

static grebe_status fail_at(const struct parser *ps, const char *at, const char *expected)
{
    struct vdb_fault fault = { at, expected };
    return vdb_fault_fail(&fault, ps->text, ps->err);
}

static grebe_status no_memory(const struct parser *ps, size_t n)
{
    return mem_fail(ps->err, n, "JSON");
}

/* ps->p is at the opening quote. */
static grebe_status parse_string(struct parser *ps, const char **text, size_t *len)
{
    struct vdb_fault fault = { NULL, NULL };
    bool has_escape = false;
    bool has_high = false;
    const char *begin = ps->p + 1;
    const char *behind = vdb_scan_string(begin, ps->end, &has_escape, &fault);
    if (behind == NULL) {
        return vdb_fault_fail(&fault, ps->text, ps->err);
    }
    const char *close = behind - 1;
    ps->p = behind;
    if (!has_escape) {
        *len = (size_t)(close - begin);
        *text = arena_str(ps->ar, begin, *len);
        return *text != NULL ? GREBE_OK : no_memory(ps, *len);
    }
    buf_clear(&ps->scratch);
    for (const char *p = begin; p < close;) {
        char decoded[4];
        size_t n = 0;
        const char *run = p;
        p = vdb_scan_plain(p, close, &has_high);
        grebe_status st = buf_put(&ps->scratch, run, (size_t)(p - run), ps->err);
        if (st == GREBE_OK && p < close) {
            p = vdb_scan_escape(p, close, decoded, &n, &fault);
            assert(p != NULL); /* checked above */
            st = buf_put(&ps->scratch, decoded, n, ps->err);
        }
        if (st != GREBE_OK) {
            return st;
        }
    }
    *len = ps->scratch.len;
    *text = arena_str(ps->ar, (const char *)ps->scratch.data, *len);
    return *text != NULL ? GREBE_OK : no_memory(ps, *len);
}

static grebe_status parse_number(struct parser *ps, struct vdb_value *out)
{
    struct vdb_number n;
    struct vdb_fault fault = { NULL, NULL };
    const char *behind = vdb_scan_number(ps->p, ps->end, &n, &fault);
    if (behind == NULL) {
        return vdb_fault_fail(&fault, ps->text, ps->err);
    }
    if (n.type == VDB_FLOAT && isinf(n.f)) {
        return fail_at(ps, ps->p, "a number in the range of 64-bit floats");
    }
    out->type = n.type;
    out->u = n.u; /* all of the union's classes are 64 bits */
    ps->p = behind;
    return GREBE_OK;
}

static bool parse_word(struct parser *ps, const char *word)
{
    size_t n = strlen(word);
    if ((size_t)(ps->end - ps->p) < n || memcmp(ps->p, word, n) != 0) {
        return false;
    }
    ps->p += n;
    return true;
}

/* ---- members in the order of their keys ---- */

static int compare_keys(const struct vdb_member *a, const struct vdb_member *b)
{
    size_t n = a->key_len < b->key_len ? a->key_len : b->key_len;
    int order = n > 0 ? memcmp(a->key, b->key, n) : 0;
    return order != 0 ? order : (a->key_len > b->key_len) - (a->key_len < b->key_len);
}

/* Merges [begin, middle) and [middle, end) of from into to; of equal keys the earlier comes first. */
static void merge_runs(struct vdb_member *to, const struct vdb_member *from, size_t begin, size_t middle, size_t end)
{
    size_t i = begin;
    size_t j = middle;
    for (size_t k = begin; k < end; k++) {
        bool take_left = i < middle && (j == end || compare_keys(&from[i], &from[j]) <= 0);
        to[k] = take_left ? from[i++] : from[j++];
    }
}

/* Stable, so that the last of equal keys is known; n log n, as files choose the order. Needs `spare` of the same size.
 */
static struct vdb_member *sort_members(struct vdb_member *m, struct vdb_member *spare, size_t n)
{
    for (size_t width = 1; width < n; width *= 2) {
        for (size_t begin = 0; begin < n; begin += 2 * width) {
            size_t middle = begin + width < n ? begin + width : n;
            size_t end = begin + 2 * width < n ? begin + 2 * width : n;
            merge_runs(spare, m, begin, middle, end);
        }
        struct vdb_member *swap = m;
        m = spare;
        spare = swap;
    }
    return m;
}

static grebe_status order_members(struct parser *ps, struct vdb_member *m, size_t n, struct vdb_value *out)
{
    size_t sorted = 1;
    while (sorted < n && compare_keys(&m[sorted - 1], &m[sorted]) < 0) {
        sorted++;
    }
    out->type = VDB_OBJECT;
    out->object.members = m;
    out->object.n = n;
    if (sorted >= n) {
        return GREBE_OK;
    }
    struct vdb_member *spare = arena_array(ps->ar, n, sizeof *spare);
    if (spare == NULL) {
        return no_memory(ps, n * sizeof *spare);
    }
    m = sort_members(m, spare, n);
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        if (i + 1 == n || compare_keys(&m[i], &m[i + 1]) != 0) {
            m[kept++] = m[i];
        }
    }
    if (ps->is_unique && kept < n) {
        return fail_at(ps, ps->p - 1, "each key once before the end of the object");
    }
    out->object.members = m;
    out->object.n = kept;
    return GREBE_OK;
}

/* ---- arrays and objects ---- */

static grebe_status parse_value(struct parser *ps, int depth, struct vdb_value *out);

/* Values since `begin` of the stack as elements or members of out. */
static grebe_status take_stack(struct parser *ps, size_t begin, bool is_object, struct vdb_value *out)
{
    const struct vdb_member *from =
        ps->stack.data == NULL ? NULL : (const struct vdb_member *)(void *)(ps->stack.data + begin);
    size_t n = (ps->stack.len - begin) / sizeof *from;
    ps->stack.len = begin;
    if (is_object) {
        struct vdb_member *members = arena_array(ps->ar, n, sizeof *members);
        if (members == NULL) {
            return no_memory(ps, n * sizeof *members);
        }
        if (n > 0) {
            memcpy(members, from, n * sizeof *members);
        }
        return order_members(ps, members, n, out);
    }
    struct vdb_value *items = arena_array(ps->ar, n, sizeof *items);
    if (items == NULL) {
        return no_memory(ps, n * sizeof *items);
    }
    for (size_t i = 0; i < n; i++) {
        items[i] = from[i].value;
    }
    out->type = VDB_ARRAY;
    out->array.items = items;
    out->array.n = n;
    return GREBE_OK;
}

static grebe_status parse_key(struct parser *ps, struct vdb_member *m)
{
    if (ps->p == ps->end || *ps->p != '"') {
        return fail_at(ps, ps->p, "'\"' before a key");
    }
    grebe_status st = parse_string(ps, &m->key, &m->key_len);
    if (st != GREBE_OK) {
        return st;
    }
    ps->p = vdb_skip_space(ps->p, ps->end);
    if (ps->p == ps->end || *ps->p != ':') {
        return fail_at(ps, ps->p, "':'");
    }
    ps->p = vdb_skip_space(ps->p + 1, ps->end);
    return GREBE_OK;
}

static grebe_status parse_container(struct parser *ps, int depth, struct vdb_value *out)
{
    bool is_object = *ps->p == '{';
    char close = is_object ? '}' : ']';
    size_t begin = ps->stack.len;
    if (depth >= VDB_JSON_DEPTH_MAX) {
        return fail_at(ps, ps->p, "at most 127 arrays and objects inside each other");
    }
    ps->p = vdb_skip_space(ps->p + 1, ps->end);
    if (ps->p < ps->end && *ps->p == close) {
        ps->p++;
        return take_stack(ps, begin, is_object, out);
    }
    for (;;) {
        struct vdb_member m;
        memset(&m, 0, sizeof m);
        grebe_status st = is_object ? parse_key(ps, &m) : GREBE_OK;
        if (st == GREBE_OK) {
            st = parse_value(ps, depth + 1, &m.value);
        }
        if (st == GREBE_OK) {
            st = buf_put(&ps->stack, &m, sizeof m, ps->err);
        }
        if (st != GREBE_OK) {
            return st;
        }
        ps->p = vdb_skip_space(ps->p, ps->end);
        if (ps->p < ps->end && *ps->p == close) {
            ps->p++;
            return take_stack(ps, begin, is_object, out);
        }
        if (ps->p == ps->end || *ps->p != ',') {
            return fail_at(ps, ps->p, is_object ? "',' or '}'" : "',' or ']'");
        }
        ps->p = vdb_skip_space(ps->p + 1, ps->end);
    }
}

static grebe_status parse_value(struct parser *ps, int depth, struct vdb_value *out)
{
    memset(out, 0, sizeof *out);
    switch (ps->p < ps->end ? *ps->p : '\0') {
    case '{':
    case '[': return parse_container(ps, depth, out);
    case '"': out->type = VDB_STRING; return parse_string(ps, &out->s.text, &out->s.len);
    case 't':
    case 'f':
        out->type = VDB_BOOL;
        out->boolean = *ps->p == 't';
        if (parse_word(ps, out->boolean ? "true" : "false")) {
            return GREBE_OK;
        }
        break;
    case 'n':
        if (parse_word(ps, "null")) {
            return GREBE_OK;
        }
        break;
    default:
        if (ps->p < ps->end && (*ps->p == '-' || (*ps->p >= '0' && *ps->p <= '9'))) {
            return parse_number(ps, out);
        }
    }
    return fail_at(ps, ps->p, "a value");
}

static grebe_status parse_at(struct parser *ps, int depth, const char **after, struct vdb_value *out)
{
    grebe_status st = parse_value(ps, depth, out);
    *after = ps->p;
    buf_release(&ps->stack);
    buf_release(&ps->scratch);
    return st;
}

grebe_status vdb_json_parse_at(struct arena *ar, const struct vdb_text *text, const char *p, int depth,
                               const char **after, struct vdb_value *out, grebe_error *err)
{
    struct parser ps = { ar, p, text->end, text, false, BUF_INIT(ar->a), BUF_INIT(ar->a), err };
    return parse_at(&ps, depth, after, out);
}

static grebe_status parse_whole(struct arena *ar, const char *text, size_t len, bool is_unique,
                                const struct vdb_value **out, grebe_error *err)
{
    const struct vdb_text whole = { text, len > 0 ? text + len : text, false };
    const char *p = vdb_skip_space(text, whole.end);
    struct parser ps = { ar, p, whole.end, &whole, is_unique, BUF_INIT(ar->a), BUF_INIT(ar->a), err };
    *out = NULL;
    struct vdb_value *root = arena_alloc(ar, sizeof *root);
    if (root == NULL) {
        return mem_fail(err, sizeof *root, "JSON");
    }
    grebe_status st = parse_at(&ps, 0, &p, root);
    if (st != GREBE_OK) {
        return st;
    }
    p = vdb_skip_space(p, whole.end);
    if (p != whole.end) {
        struct vdb_fault fault = { p, "the end" };
        return vdb_fault_fail(&fault, &whole, err);
    }
    *out = root;
    return GREBE_OK;
}

grebe_status vdb_json_parse(struct arena *ar, const char *text, size_t len, const struct vdb_value **out,
                            grebe_error *err)
{
    return parse_whole(ar, text, len, false, out, err);
}

grebe_status vdb_json_parse_unique(struct arena *ar, const char *text, size_t len, const struct vdb_value **out,
                                   grebe_error *err)
{
    return parse_whole(ar, text, len, true, out, err);
}

const struct vdb_value *vdb_json_get(const struct vdb_value *v, const char *key, size_t key_len)
{
    for (size_t i = 0; v->type == VDB_OBJECT && i < v->object.n; i++) {
        const struct vdb_member *m = &v->object.members[i];
        if (m->key_len == key_len && (key_len == 0 || memcmp(m->key, key, key_len) == 0)) {
            return &m->value;
        }
    }
    return NULL;
}
