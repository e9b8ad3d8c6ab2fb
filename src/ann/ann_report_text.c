/* SPDX-License-Identifier: Apache-2.0 */
/* Cases as a table and as line protocol, and where they go. */
#include "ann/ann_report.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/number.h"
#include "io/io.h"

grebe_status ann_form_parse(const char *name, enum ann_form *out, grebe_error *err)
{
    static const struct { const char *name; enum ann_form form; } forms[] = {
        { "table", ANN_FORM_TABLE }, { "text", ANN_FORM_TABLE }, { "json", ANN_FORM_JSON },
        { "line_protocol", ANN_FORM_LINE }, { "line", ANN_FORM_LINE },
    };
    char quoted[64];
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        if (strcmp(forms[i].name, name) == 0) {
            *out = forms[i].form;
            return GREBE_OK;
        }
    }
    return GREBE_FAIL(err, GREBE_EINVAL, "form of results: expected table, text, json or line_protocol, found \"%s\"",
                      error_quote(quoted, sizeof quoted, name, strlen(name)));
}

/* ---- table ---- */

struct column {
    const char *title;
    enum ann_text text;     /* is_text */
    enum ann_number number; /* else */
    int decimals;
    bool is_text;
    bool is_bytes;
};

static const struct column columns[] = {
    { "Name", ANN_TEXT_NAME, 0, 0, true, false },
    { "Index", ANN_TEXT_INDEX, 0, 0, true, false },
    { "NumVectors", 0, ANN_BASE_COUNT, 0, false, false },
    { "Dim", 0, ANN_DIM, 0, false, false },
    { "DataType", ANN_TEXT_ELEMENT, 0, 0, true, false },
    { "MetricType", ANN_TEXT_METRIC, 0, 0, true, false },
    { "IndexParam", ANN_TEXT_INDEX_INFO, 0, 0, true, false },
    { "Memory(build)", 0, ANN_BUILD_MEMORY, 0, false, true },
    { "BuildTime", 0, ANN_BUILD_SECONDS, 3, false, false },
    { "TPS", 0, ANN_TPS, 1, false, false },
    { "SearchParam", ANN_TEXT_SEARCH_PARAM, 0, 0, true, false },
    { "Memory(search)", 0, ANN_SEARCH_MEMORY, 0, false, true },
    { "QPS", 0, ANN_QPS, 1, false, false },
    { "LatencyAvg(ms)", 0, ANN_LATENCY_AVG, 4, false, false },
    { "RecallAvg", 0, ANN_RECALL_AVG, 5, false, false },
};
enum { N_COLUMNS = sizeof columns / sizeof columns[0], CELL_MAX = 40 /* columns of the screen, as the original cuts */ };

struct cell {
    char text[4 * CELL_MAX + 8];
    size_t width; /* characters */
};

static void put_cell(const struct ann_case *c, const struct column *k, struct cell *out)
{
    const char *text = k->is_text ? c->text[k->text] : NULL;
    size_t n = 0;
    if (k->is_bytes && !isnan(c->number[k->number])) {
        ann_bytes_text(out->text, c->number[k->number]);
        n = out->width = strlen(out->text);
    } else if (!k->is_text && !isnan(c->number[k->number])) {
        n = number_put_fixed(out->text, c->number[k->number], k->decimals);
        out->width = n;
    } else if (text != NULL && text[0] != '\0') {
        for (out->width = 0; *text != '\0' && out->width < CELL_MAX; out->width++) {
            do { /* one character; control characters would break the line */
                out->text[n++] = (unsigned char)*text < ' ' ? ' ' : *text;
                text++;
            } while (((unsigned char)*text & 0xc0) == 0x80 && n < sizeof out->text - 4);
        }
        if (*text != '\0') {
            memcpy(out->text + n, "…", sizeof "…" - 1);
            n += sizeof "…" - 1;
            out->width++;
        }
    } else {
        memcpy(out->text, "N/A", 3);
        n = out->width = 3;
    }
    out->text[n] = '\0';
}

static grebe_status put_padded(struct buf *dst, const char *text, size_t width, size_t to, bool is_right, bool is_last,
                               grebe_error *err)
{
    static const char spaces[] = "                                                  ";
    grebe_status st = GREBE_OK;
    size_t pad = to > width ? min_size(to - width, sizeof spaces - 1) : 0;
    st = is_right ? buf_put(dst, spaces, pad, err) : GREBE_OK;
    st = st == GREBE_OK ? buf_put_text(dst, text, err) : st;
    st = st == GREBE_OK && !is_right && !is_last ? buf_put(dst, spaces, pad, err) : st;
    return st == GREBE_OK ? buf_put_text(dst, is_last ? "\n" : "  ", err) : st;
}

static grebe_status print_table(const struct ann_report *r, struct buf *dst, grebe_error *err)
{
    size_t widths[N_COLUMNS];
    struct cell cell;
    grebe_status st = GREBE_OK;
    for (size_t j = 0; j < N_COLUMNS; j++) {
        widths[j] = strlen(columns[j].title);
        for (size_t i = 0; i < r->n; i++) {
            put_cell(&r->cases[i], &columns[j], &cell);
            widths[j] = max_size(widths[j], cell.width);
        }
    }
    for (size_t j = 0; st == GREBE_OK && j < N_COLUMNS; j++) {
        st = put_padded(dst, columns[j].title, strlen(columns[j].title), widths[j], !columns[j].is_text,
                        j + 1 == N_COLUMNS, err);
    }
    for (size_t i = 0; i < r->n; i++) {
        for (size_t j = 0; st == GREBE_OK && j < N_COLUMNS; j++) {
            put_cell(&r->cases[i], &columns[j], &cell);
            st = put_padded(dst, cell.text, cell.width, widths[j], !columns[j].is_text, j + 1 == N_COLUMNS, err);
        }
    }
    return st;
}

/* ---- line protocol ---- */

/* A tag's value: comma, equals sign and space are escaped; a line feed would end the point, a backslash at the end
 * would escape what follows. */
static grebe_status put_tag(struct buf *dst, const char *name, const char *value, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    if (value == NULL || value[0] == '\0') {
        return GREBE_OK; /* an empty value is not legal */
    }
    GREBE_TRY(buf_put_byte(dst, ',', err));
    GREBE_TRY(buf_put_text(dst, name, err));
    GREBE_TRY(buf_put_byte(dst, '=', err));
    for (const char *p = value; *p != '\0'; p++) {
        char c = (unsigned char)*p < ' ' ? ' ' : *p;
        if (c == ',' || c == '=' || c == ' ') {
            GREBE_TRY(buf_put_byte(dst, '\\', err));
        } else if (c == '\\' && (p[1] == '\0' || p[1] == ',' || p[1] == '=' || p[1] == ' ')) {
            c = '/';
        }
        GREBE_TRY(buf_put_byte(dst, (uint8_t)c, err));
    }
out:
    return st;
}

static grebe_status print_line(const struct ann_case *c, int64_t now_ns, struct buf *dst, grebe_error *err)
{
    static const struct { const char *name; enum ann_number which; } fields[] = {
        { "num_vectors", ANN_BASE_COUNT }, { "dim", ANN_DIM }, { "build_time", ANN_BUILD_SECONDS }, { "tps", ANN_TPS },
        { "qps", ANN_QPS }, { "latency_avg", ANN_LATENCY_AVG }, { "latency_p90", ANN_P90 }, { "latency_p95", ANN_P95 },
        { "latency_p99", ANN_P99 }, { "recall_avg", ANN_RECALL_AVG },
    };
    char text[NUMBER_TEXT_MAX];
    grebe_status st = GREBE_OK;
    size_t begin = dst->len, n = 0;
    GREBE_TRY(buf_put_text(dst, "performance", err));
    GREBE_TRY(put_tag(dst, "case_name", c->text[ANN_TEXT_NAME], err));
    GREBE_TRY(put_tag(dst, "index_name", c->text[ANN_TEXT_INDEX], err));
    GREBE_TRY(put_tag(dst, "dtype", c->text[ANN_TEXT_ELEMENT], err));
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        double v = c->number[fields[i].which];
        if (!isfinite(v)) {
            continue;
        }
        GREBE_TRY(buf_put_byte(dst, n++ == 0 ? ' ' : ',', err));
        GREBE_TRY(buf_put_text(dst, fields[i].name, err));
        GREBE_TRY(buf_put_byte(dst, '=', err));
        bool is_whole = v == floor(v) && fabs(v) < 1e15;
        GREBE_TRY(buf_put(dst, text, is_whole ? number_put_i64(text, (int64_t)v)
                                              : number_put_double(text, v, &number_style_json), err));
    }
    if (n == 0) { /* a point without fields is not legal */
        dst->len = begin;
        return GREBE_OK;
    }
    if (now_ns > 0) {
        GREBE_TRY(buf_put_byte(dst, ' ', err));
        GREBE_TRY(buf_put(dst, text, number_put_i64(text, now_ns), err));
    }
    GREBE_TRY(buf_put_byte(dst, '\n', err));
out:
    return st;
}

grebe_status ann_report_print_text(const struct ann_report *r, enum ann_form form, int64_t now_ns, struct buf *dst,
                                   grebe_error *err)
{
    grebe_status st = GREBE_OK;
    if (form == ANN_FORM_TABLE) {
        return print_table(r, dst, err);
    }
    for (size_t i = 0; st == GREBE_OK && i < r->n; i++) {
        st = print_line(&r->cases[i], now_ns, dst, err);
    }
    return st;
}

/* ---- sinks ---- */

grebe_status ann_sink_parse(const char *sink, const char **path, bool *is_append, grebe_error *err)
{
    static const char file[] = "file://", append[] = "appendfile://";
    char quoted[96];
    *path = NULL;
    *is_append = strncmp(sink, append, sizeof append - 1) == 0;
    if (strcmp(sink, "stdout") == 0) {
        return GREBE_OK;
    }
    if (*is_append || strncmp(sink, file, sizeof file - 1) == 0) {
        *path = sink + (*is_append ? sizeof append : sizeof file) - 1;
        if (**path != '\0') {
            return GREBE_OK;
        }
    }
    *path = NULL;
    return GREBE_FAIL(err, GREBE_EINVAL, "where results go: expected stdout, file://PATH or appendfile://PATH, found \"%s\"",
                      error_quote(quoted, sizeof quoted, sink, strlen(sink)));
}

/* Several programs may append to one file: the system's own append, in one write. */
static grebe_status append_file(const char *path, const void *bytes, size_t len, grebe_error *err)
{
    const char *at = bytes;
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    while (fd >= 0 && len > 0) {
        ssize_t n = write(fd, at, len);
        if (n < 0 && errno != EINTR) {
            break;
        }
        at += n > 0 ? n : 0;
        len -= n > 0 ? (size_t)n : 0;
    }
    int failed = fd < 0 || len > 0 ? errno : 0;
    if (fd >= 0 && close(fd) != 0 && failed == 0) {
        failed = errno;
    }
    return failed == 0 ? GREBE_OK : GREBE_FAIL_SYS(err, status_from_errno(failed), failed, "%s: cannot be appended to", path);
}

grebe_status ann_sink_write(grebe_context *ctx, const char *path, bool is_append, const void *bytes, size_t len,
                            grebe_error *err)
{
    struct io_store *store = NULL;
    struct io_writer *w = NULL;
    char *folder = NULL;
    grebe_status st = GREBE_OK;
    const char *slash = strrchr(path, '/');
    GREBE_TRY(io_local_new(ctx, &store, err));
    if (slash != NULL && slash != path) {
        folder = str_copy_len(ctx->a, path, (size_t)(slash - path));
        if (folder == NULL) {
            st = mem_fail(err, (size_t)(slash - path), path);
            goto out;
        }
        GREBE_TRY(io_make_folders(store, folder, false, err));
    }
    if (is_append) {
        GREBE_TRY(append_file(path, bytes, len, err));
        goto out;
    }
    GREBE_TRY(io_create(store, path, false, &w, err));
    GREBE_TRY(io_write(w, bytes, len, err));
    GREBE_TRY(io_writer_publish(w, true, err));
out:
    str_free(ctx->a, folder);
    io_writer_free(w);
    io_store_free(store);
    return st;
}
