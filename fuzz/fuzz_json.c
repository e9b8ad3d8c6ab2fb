/* SPDX-License-Identifier: Apache-2.0 */
/* JSON from any bytes: what was read is written, read again and written again to the same bytes. */
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "fuzz_require.h"
#include "wire/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void put(struct json_writer *w, const struct json_value *v)
{
    int64_t i = 0;
    uint64_t u = 0;
    double d = 0;
    switch (v->type) {
    case JSON_NULL: json_null(w); break;
    case JSON_BOOL: json_bool(w, v->boolean); break;
    case JSON_NUMBER:
        require(json_double(v, &d));
        if (json_i64(v, &i)) {
            json_int(w, i);
        } else if (json_u64(v, &u)) {
            json_uint(w, u);
        } else {
            json_real(w, d);
        }
        break;
    case JSON_STRING:
        require(utf8_is_valid(v->text, v->n) && v->text[v->n] == '\0');
        json_text_len(w, v->text, v->n);
        break;
    case JSON_ARRAY:
        json_open_array(w);
        for (size_t k = 0; k < v->n; k++) {
            put(w, &v->items[k]);
        }
        json_close_array(w);
        break;
    case JSON_OBJECT:
        json_open_object(w);
        for (size_t k = 0; k < v->n; k++) {
            json_key_len(w, v->members[k].key, v->members[k].key_len);
            put(w, &v->members[k].value);
        }
        json_close_object(w);
        break;
    }
}

static void write_tree(const struct json_value *v, struct buf *dst)
{
    struct json_writer w;
    json_begin(&w, dst, 0, NULL);
    put(&w, v);
    require(json_end(&w) == GREBE_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena = ARENA_INIT(mem_system());
    struct buf first = BUF_INIT(mem_system());
    struct buf second = BUF_INIT(mem_system());
    const struct json_value *v = NULL;
    grebe_error err = GREBE_ERROR_INIT;
    if (json_parse(&arena, (const char *)data, size, &v, &err) == GREBE_OK) {
        write_tree(v, &first);
        require(json_parse(&arena, (const char *)first.data, first.len, &v, &err) == GREBE_OK);
        write_tree(v, &second);
        require(first.len == second.len && memcmp(first.data, second.data, first.len) == 0);
    } else {
        require(v == NULL && err.message[0] != '\0');
    }
    buf_release(&first);
    buf_release(&second);
    arena_release(&arena);
    return 0;
}
