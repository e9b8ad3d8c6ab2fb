/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "ipc/ipc_format.h"
#include "wire/json.h"

static const char *compression_name(int compression)
{
    return compression == IPC_ZSTD ? "zstd" : compression == IPC_LZ4_FRAME ? "lz4" : "none";
}

static void put_uint(struct json_writer *w, const char *key, uint64_t v)
{
    json_key(w, key);
    json_uint(w, v);
}

static void put_batch(struct json_writer *w, const struct ipc_file_batch *b)
{
    json_open_object(w);
    put_uint(w, "offset", b->offset);
    put_uint(w, "metadata_bytes", b->metadata_len);
    put_uint(w, "body_bytes", b->body_len);
    put_uint(w, "rows", (uint64_t)b->n_rows);
    json_key(w, "compression");
    json_text(w, compression_name(b->compression));
    json_close_object(w);
}

grebe_status ipc_format_inspect(struct format_reader *base, struct buf *dst, grebe_error *err)
{
    const struct ipc_file *f = ((struct ipc_reader *)base)->file;
    struct buf schema = BUF_INIT(base->ctx->a);
    struct json_writer w;
    grebe_status st = schema_to_json(&schema, &f->schema, err);
    if (st == GREBE_OK) {
        json_begin(&w, dst, 0, err);
        json_open_object(&w);
        json_key(&w, "format");
        json_text(&w, "arrow");
        put_uint(&w, "file_size", base->file_size_bytes);
        put_uint(&w, "footer_size", f->footer_len);
        json_key(&w, "metadata_version");
        json_text(&w, f->version == IPC_VERSION_V5 ? "V5" : "V4");
        put_uint(&w, "rows", (uint64_t)base->n_rows);
        put_uint(&w, "dictionary_batches", f->n_dictionary_batches);
        json_key(&w, "schema");
        json_raw(&w, (const char *)schema.data, schema.len);
        json_key(&w, "batches");
        json_open_array(&w);
        for (size_t i = 0; i < f->n_batches; i++) {
            put_batch(&w, &f->batches[i]);
        }
        json_close_array(&w);
        json_close_object(&w);
        st = json_end(&w);
    }
    buf_release(&schema);
    return st;
}

grebe_status ipc_format_check(struct format_reader *base, bool is_deep, const struct call *call,
                              check_fn fn, void *arg, grebe_error *err)
{
    struct ipc_reader *r = (struct ipc_reader *)base;
    /* Footer, schema, dictionaries and the places of all batches were checked when it was opened. */
    for (size_t i = 0; is_deep && i < r->file->n_batches; i++) {
        struct ArrowArray rows;
        grebe_error found = GREBE_ERROR_INIT;
        char place[64];
        grebe_status st = call_check(call, err);
        if (st != GREBE_OK) {
            return st;
        }
        st = ipc_file_read(r->file, i, NULL, 0, &rows, &found);
        if (st == GREBE_ENOMEM) {
            return GREBE_FAIL(err, st, "%s", found.message);
        }
        if (st != GREBE_OK) {
            snprintf(place, sizeof place, "batch %zu", i);
            fn(arg, true, place, found.message);
        } else {
            array_release(&rows);
        }
    }
    return GREBE_OK;
}
