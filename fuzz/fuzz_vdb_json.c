/* SPDX-License-Identifier: Apache-2.0 */
/* JSON of vector collections from any bytes: the reader of trees, the check of canonical text and the reader of lines
 * agree. */
#include <stdlib.h>
#include <string.h>

#include "fuzz_require.h"
#include "gitvdb/vdb_points.h"
#include "gitvdb/vdb_scan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What was read, printed: canonical, and the same again unless a float is unstable. */
static void check_tree(const struct vdb_value *v, const char *text, size_t size)
{
    struct arena arena = ARENA_INIT(mem_system());
    struct buf first = BUF_INIT(mem_system());
    struct buf second = BUF_INIT(mem_system());
    const struct vdb_value *again = NULL;
    require(vdb_json_put(&first, v, NULL) == GREBE_OK);
    const char *printed = (const char *)first.data;
    if (v->type == VDB_OBJECT) {
        require(vdb_json_is_canonical_object(printed, first.len));
        bool is_same = first.len == size && memcmp(printed, text, size) == 0;
        require(!is_same || vdb_json_is_canonical_object(text, size));
        require(is_same || !vdb_json_is_canonical_object(text, size) || vdb_json_is_unstable(text, size));
    }
    if (!vdb_json_is_unstable(printed, first.len)) {
        require(vdb_json_parse(&arena, printed, first.len, &again, NULL) == GREBE_OK);
        require(vdb_json_equal(v, again));
        require(vdb_json_put(&second, again, NULL) == GREBE_OK);
        require(first.len == second.len && memcmp(first.data, second.data, first.len) == 0);
    }
    for (int form = VDB_PRINT_JSON; form <= VDB_PRINT_LINES; form++) {
        buf_clear(&second);
        require(vdb_json_print(&second, v, (enum vdb_print)form, NULL) == GREBE_OK);
    }
    /* indenting the text gives what indenting the tree gives */
    const struct vdb_value raw = { .type = VDB_RAW, .s = { printed, first.len } };
    struct buf indented = BUF_INIT(mem_system());
    buf_clear(&second);
    require(vdb_json_print(&second, v, VDB_PRINT_PRETTY, NULL) == GREBE_OK);
    require(vdb_json_print(&indented, &raw, VDB_PRINT_PRETTY, NULL) == GREBE_OK);
    require(second.len == indented.len && memcmp(second.data, indented.data, second.len) == 0);
    buf_release(&indented);
    buf_release(&first);
    buf_release(&second);
    arena_release(&arena);
}

/* The value as payload of a line: the same text as through a tree. */
static void check_line(const struct vdb_value *v, const char *text, size_t size)
{
    struct vdb_points points;
    struct buf line = BUF_INIT(mem_system());
    struct buf expected = BUF_INIT(mem_system());
    vdb_points_init(&points, mem_system());
    require(buf_put_text(&line, "{\"id\":1,\"vector\":[1.5,2],\"payload\":", NULL) == GREBE_OK);
    require(buf_put(&line, text, size, NULL) == GREBE_OK);
    require(buf_put_text(&line, "}", NULL) == GREBE_OK);
    if (vdb_points_add_line(&points, (const char *)line.data, line.len, NULL) == GREBE_OK) {
        size_t len = 0;
        const char *payload = vdb_points_payload(&points, 0, &len);
        require(v->type == VDB_OBJECT && points.n == 1);
        require(vdb_json_put(&expected, v, NULL) == GREBE_OK);
        require(expected.len == len && memcmp(expected.data, payload, len) == 0);
    }
    buf_release(&line);
    buf_release(&expected);
    vdb_points_release(&points);
}

/* What can be read can be passed over. */
static void check_skip(const char *text, size_t size, bool is_json)
{
    const struct vdb_text t = { text, text + size, true };
    const char *after = NULL;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_status st = vdb_skip_value(mem_system(), &t, vdb_skip_space(text, t.end), &after, &err);
    require(st == GREBE_OK || (!is_json && st == GREBE_EINVAL && err.message[0] != '\0'));
    require(st != GREBE_OK || (after > text && after <= t.end));
    require(!is_json || vdb_skip_space(after, t.end) == t.end);
}

/* What export writes is the value, but for floats that nobody can read back. */
static void check_readable(const struct vdb_value *v)
{
    struct arena arena = ARENA_INIT(mem_system());
    struct buf stored = BUF_INIT(mem_system()), out = BUF_INIT(mem_system());
    const struct vdb_value *again = NULL;
    require(vdb_json_put(&stored, v, NULL) == GREBE_OK);
    require(vdb_json_put_readable(&out, (const char *)stored.data, stored.len, NULL) == GREBE_OK);
    require(vdb_json_parse(&arena, (const char *)out.data, out.len, &again, NULL) == GREBE_OK);
    require(again->type == v->type);
    buf_release(&stored);
    buf_release(&out);
    arena_release(&arena);
}

/* As a row: what the format takes is taken unless a member stands both in the payload and beside it, and payloads are canonical. */
static void check_row_line(const char *text, size_t size, bool is_point)
{
    static const struct vdb_line_form form = { "id", "vector", 2, 6, true };
    struct vdb_points points;
    grebe_error err = GREBE_ERROR_INIT;
    vdb_points_init(&points, mem_system());
    if (vdb_points_add_row_line(&points, &form, text, size, &err) == GREBE_OK) {
        size_t len;
        const char *payload = vdb_points_payload(&points, 0, &len);
        require(points.n == 1 && points.dim > 0 && vdb_json_is_canonical_object(payload, len));
    } else {
        require(points.n == 0 && points.ids.len == 0 && points.payloads.len == 0 && err.message[0] != '\0');
        require(!is_point || err.status == GREBE_EINVAL);
    }
    vdb_points_release(&points);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena = ARENA_INIT(mem_system());
    struct vdb_points points;
    const char *text = (const char *)data;
    const struct vdb_value *v = NULL;
    grebe_error err = GREBE_ERROR_INIT;
    if (vdb_json_parse(&arena, text, size, &v, &err) == GREBE_OK) {
        check_skip(text, size, true);
        check_readable(v);
        check_tree(v, text, size);
        check_line(v, text, size);
    } else {
        require(v == NULL && err.message[0] != '\0');
        check_skip(text, size, false);
        require(!vdb_json_is_canonical_object(text, size) || vdb_json_is_unstable(text, size));
    }
    vdb_points_init(&points, mem_system());
    for (int i = 0; i < 2; i++) {
        if (vdb_points_add_line(&points, text, size, NULL) == GREBE_OK) {
            require(points.n == (size_t)i + 1 && points.dim > 0);
            (void)vdb_points_check(&points, NULL);
        } else {
            require(points.n == 0);
        }
    }
    check_row_line(text, size, points.n != 0);
    vdb_points_release(&points);
    arena_release(&arena);
    return 0;
}
