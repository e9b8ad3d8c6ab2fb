/* SPDX-License-Identifier: Apache-2.0 */
/* Where records end, from afar: cutting text into blocks, and what the first lines show. */
#include "text/text_csv_internal.h"

#include <string.h>

#include "base/checked.h"

static bool is_line_end(char c) { return c == '\n' || c == '\r'; }

/* From the first byte of a field to the byte behind it: its delimiter, line end, or the end. */
static size_t field_end(const struct text_csv_options *o, const char *data, size_t at, size_t len,
                        char delimiter, bool *is_open)
{
    const char escape = o->escape == o->quote ? 0 : o->escape;
    *is_open = false;
    if (at < len && data[at] == o->quote && o->quote != 0) {
        for (at++;; at++) {
            if (at >= len) {
                *is_open = true;
                return len;
            }
            if (escape != 0 && data[at] == escape) {
                at++;
            } else if (data[at] == o->quote) {
                at++;
                if (at == len || data[at] != o->quote) {
                    break;
                }
            }
        }
    }
    const bool has_escapes = csv_escapes_all(o, delimiter);
    while (at < len && data[at] != delimiter && !is_line_end(data[at])) {
        at += has_escapes && data[at] == '\\' ? 2 : 1;
    }
    return min_size(at, len);
}

/*
 * Last record border in data[begin, end) that holds no quoted field; 0: none. A CR at the very end may
 * be half of a CR LF.
 */
static size_t last_border(const char *data, size_t begin, size_t end, size_t len)
{
    for (size_t i = end; i > begin; i--) {
        if (data[i - 1] == '\n' || (data[i - 1] == '\r' && i < len && data[i] != '\n')) {
            return i;
        }
    }
    return 0;
}

/* From quote to quote: one that stands first in its field begins text that has no borders. */
static size_t cut_quoted(const struct text_csv_options *o, const char *data, size_t len)
{
    size_t border = 0, outside = 0, at = 0;
    for (;;) {
        const char *quote = memchr(data + at, o->quote, len - at);
        if (quote == NULL) {
            size_t last = last_border(data, outside, len, len);
            return last > 0 ? last : border;
        }
        at = (size_t)(quote - data);
        if (at > 0 && data[at - 1] != o->delimiter && !is_line_end(data[at - 1])) {
            at++;
            continue;
        }
        size_t last = last_border(data, outside, at, len);
        border = last > 0 ? last : border;
        for (at++;; at++) {
            quote = memchr(data + at, o->quote, len - at);
            if (quote == NULL) {
                return border;
            }
            at = (size_t)(quote - data) + 1;
            if (at == len || data[at] != o->quote) {
                break;
            }
        }
        outside = at;
    }
}

/* With comments, which may have quotes, and escapes: field by field. */
static size_t cut_fields(const struct text_csv_options *o, const char *data, size_t len)
{
    size_t border = 0, at = 0;
    bool is_open = false;
    while (at < len) {
        if (o->comment != 0 && at == border && data[at] == o->comment) {
            while (at < len && !is_line_end(data[at])) {
                at++;
            }
        } else {
            at = field_end(o, data, at, len, o->delimiter, &is_open);
        }
        if (at == len || is_open) {
            break;
        }
        if (data[at] == '\r') {
            if (at + 1 == len) {
                break;
            }
            at += data[at + 1] == '\n';
        }
        bool is_end = is_line_end(data[at]);
        at++;
        border = is_end ? at : border;
    }
    return border;
}

size_t csv_cut(void *arg, const char *data, size_t len, bool is_last)
{
    const struct text_csv_options *o = arg;
    if (is_last || len == 0) {
        return len;
    }
    if (o->quote == 0 && !csv_escapes_all(o, o->delimiter)) {
        return last_border(data, 0, len, len);
    }
    return o->comment != 0 || (o->escape != 0 && o->escape != o->quote) ? cut_fields(o, data, len)
                                                                       : cut_quoted(o, data, len);
}

/* Fields of the first records. */
struct field_counts {
    size_t first, least, most;
};

static struct field_counts count_fields(const struct text_csv_options *o, const char *data,
                                        size_t len, char delimiter)
{
    struct field_counts counts = { 0, SIZE_MAX, 0 };
    size_t at = 0, n = 1;
    int n_records = 0;
    bool is_open = false, is_comment = false;
    while (at < len && n_records < 32) {
        size_t begin = at;
        is_comment = n == 1 && o->comment != 0 && data[at] == o->comment;
        while (is_comment && at < len && !is_line_end(data[at])) {
            at++;
        }
        at = is_comment ? at : field_end(o, data, at, len, delimiter, &is_open);
        if (at == len) {
            break; /* perhaps cut */
        }
        if (data[at] == delimiter) {
            n++;
            at++;
            continue;
        }
        bool is_empty = n == 1 && at == begin;
        at += data[at] == '\r' && at + 1 < len && data[at + 1] == '\n';
        at++;
        if (!is_empty && !is_comment) {
            counts.first = n_records == 0 ? n : counts.first;
            counts.least = min_size(counts.least, n);
            counts.most = max_size(counts.most, n);
            n_records++;
        }
        n = 1;
    }
    if (n_records == 0) { /* a single line */
        counts = (struct field_counts){ n, n, n };
    }
    return counts;
}

char csv_sniff_delimiter(const struct text_csv_options *o, const char *data, size_t len)
{
    static const char candidates[] = { ',', '\t', ';', '|' };
    char best = ',';
    size_t best_score = 0;
    bool is_alone = true;
    for (size_t i = 0; i < sizeof candidates; i++) {
        if (o->is_decimal_comma && candidates[i] == ',') {
            continue;
        }
        struct field_counts n = count_fields(o, data, min_size(len, 65536), candidates[i]);
        /* The same number in every line says most; then the number itself. */
        size_t score = n.first <= 1 ? 0 : n.least == n.most ? ((size_t)1 << 32) + n.most : n.least;
        is_alone &= n.first <= 1;
        if (score > best_score) {
            best = candidates[i];
            best_score = score;
        }
    }
    /* What the first line does not have, later ones have in their texts. */
    return is_alone ? CSV_NO_DELIMITER : best;
}
