/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/graph_edges_csv.h"

#include <string.h>

size_t graph_csv_line_end(const unsigned char *s, size_t len, size_t at)
{
    while (at < len && s[at] != '\n' && s[at] != '\r') {
        at++;
    }
    if (at < len && s[at] == '\r' && at + 1 < len && s[at + 1] == '\n') {
        at++;
    }
    return at < len ? at + 1 : len;
}

enum field { FIELD_OK, FIELD_EMPTY, FIELD_ODD, FIELD_LARGE };

/* [spaces]["][+-]digits["][spaces]; *p stands behind it. FIELD_EMPTY: spaces alone. */
static enum field read_id(const unsigned char **p, const unsigned char *end, int64_t *out)
{
    const unsigned char *s = *p;
    uint64_t v = 0;
    while (s < end && *s == ' ') {
        s++;
    }
    bool is_quoted = s < end && *s == '"';
    s += is_quoted ? 1 : 0;
    bool is_negative = s < end && *s == '-';
    s += s < end && (*s == '-' || *s == '+') ? 1 : 0;
    const unsigned char *digits = s;
    const bool is_begun = is_quoted || (s > *p && s[-1] != ' ');
    bool is_large = false;
    while (s < end && *s >= '0' && *s <= '9') {
        is_large |= __builtin_mul_overflow(v, (uint64_t)10, &v);
        is_large |= __builtin_add_overflow(v, (uint64_t)(*s - '0'), &v);
        s++;
    }
    bool has_digits = s > digits;
    if (is_quoted) {
        if (s == end || *s != '"') {
            return FIELD_ODD;
        }
        s++;
    }
    while (s < end && *s == ' ') {
        s++;
    }
    *p = s;
    if (!has_digits) {
        return is_begun ? FIELD_ODD : s == end || *s == ',' || *s == '\n' || *s == '\r' ? FIELD_EMPTY : FIELD_ODD;
    }
    if (is_large || v > (uint64_t)INT64_MAX) {
        return FIELD_LARGE;
    }
    *out = is_negative ? -(int64_t)v : (int64_t)v;
    return FIELD_OK;
}

/* ---- what is wrong with a line ---- */

static uint64_t line_of(const struct graph_edges *e, const unsigned char *at)
{
    uint64_t line = 1;
    const unsigned char *s = e->text->data;
    for (size_t i = 0; s + i < at;) {
        size_t end = graph_csv_line_end(s, e->text->len, i);
        if (s + end > at) {
            break;
        }
        line += s[end - 1] == '\n' || s[end - 1] == '\r' ? 1 : 0;
        i = end;
    }
    return line;
}

static const char *field_problem(enum field f)
{
    return f == FIELD_EMPTY ? "is empty" : f == FIELD_LARGE ? "does not fit 64 bits" : "is not an integer";
}

/* The line that begins at s is not two integers: say why. */
static grebe_status odd_line(const struct graph_edges *e, const unsigned char *s, grebe_error *err)
{
    static const char *const names[] = { "first", "second" };
    const unsigned char *text_end = e->text->data + e->text->len, *end = s;
    char quoted[80];
    size_t n_fields = 1;
    uint64_t line = line_of(e, s);
    while (end < text_end && *end != '\n' && *end != '\r') {
        n_fields += *end == (unsigned char)e->csv.separator ? 1 : 0;
        end++;
    }
    if (n_fields != 2) {
        const char *hint = n_fields > 1                                 ? ""
                           : memchr(s, '\t', (size_t)(end - s)) != NULL ? "; separated by tabs? (--csv-sep)"
                           : memchr(s, ' ', (size_t)(end - s)) != NULL  ? "; separated by spaces? (--csv-sep)"
                           : memchr(s, ';', (size_t)(end - s)) != NULL  ? "; separated by ';'? (--csv-sep)"
                                                                        : "";
        return GREBE_FAIL(err, GREBE_ECORRUPT, "%s:%llu: line %llu has %zu field%s, 2 are wanted%s", e->path,
                          (unsigned long long)line, (unsigned long long)line, n_fields, n_fields == 1 ? "" : "s", hint);
    }
    for (size_t i = 0; i < 2; i++) {
        const unsigned char *begin = s, *stop = s, *p = s;
        int64_t id;
        while (stop < end && *stop != (unsigned char)e->csv.separator) {
            stop++;
        }
        enum field f = read_id(&p, stop, &id);
        f = f == FIELD_OK && p != stop ? FIELD_ODD : f;
        if (f != FIELD_OK) {
            return GREBE_FAIL(err, GREBE_ECORRUPT, "%s:%llu: the %s field %s: \"%s\"%s", e->path,
                              (unsigned long long)line, names[i], field_problem(f),
                              error_quote(quoted, sizeof quoted, begin, (size_t)(stop - begin)),
                              line == 1 && f == FIELD_ODD ? "; a file of edges has no header (--csv-header)" : "");
        }
        s = stop + 1;
    }
    return GREBE_FAIL(err, GREBE_ECORRUPT, "%s:%llu: not a pair of integers", e->path, (unsigned long long)line);
}

static grebe_status out_of_range(const struct graph_edges *e, const unsigned char *s, int64_t source,
                                 int64_t destination, grebe_error *err)
{
    bool is_source = source < 0 || source >= e->n_sources;
    const char *type = is_source ? e->source_type : e->destination_type;
    return GREBE_FAIL(err, GREBE_ECORRUPT, "%s:%llu: column %d: node %lld, the bound is %lld%s%s", e->path,
                      (unsigned long long)line_of(e, s), is_source ? 1 : 2,
                      (long long)(is_source ? source : destination),
                      (long long)(is_source ? e->n_sources : e->n_destinations),
                      type != NULL ? ", the nodes of type " : "", type != NULL ? type : "");
}

grebe_status graph_csv_read(const struct graph_edges *e, size_t block, int64_t *sources, int64_t *destinations,
                            size_t *n, grebe_error *err)
{
    const unsigned char *s = e->text->data + e->text_begin[block], *end = e->text->data + e->text_begin[block + 1];
    const unsigned char separator = (unsigned char)e->csv.separator;
    size_t k = 0;
    while (s < end) {
        const unsigned char *line = s;
        int64_t source = 0, destination = 0;
        if (*s == '\n' || *s == '\r') {
            s++;
            continue;
        }
        if (k > GRAPH_BLOCK_EDGES) { /* cannot be: an edge takes four bytes */
            return GREBE_FAIL(err, GREBE_ECORRUPT, "%s: changed while it was read", e->path);
        }
        enum field f = read_id(&s, end, &source);
        if (f == FIELD_EMPTY && (s == end || *s == '\n' || *s == '\r')) { /* spaces alone */
            continue;
        }
        bool is_passed = separator == ' ' && s > line && s[-1] == ' '; /* as one of the spaces behind the number */
        if (f != FIELD_OK || s == end || (*s != separator && !is_passed)) {
            return odd_line(e, line, err);
        }
        s += is_passed ? 0 : 1;
        f = read_id(&s, end, &destination);
        if (f != FIELD_OK || (s < end && *s != '\n' && *s != '\r')) {
            return odd_line(e, line, err);
        }
        if (((uint64_t)source >= (uint64_t)e->n_sources) | ((uint64_t)destination >= (uint64_t)e->n_destinations)) {
            return out_of_range(e, line, source, destination, err);
        }
        sources[k] = source;
        destinations[k++] = destination;
    }
    *n = k;
    return GREBE_OK;
}
