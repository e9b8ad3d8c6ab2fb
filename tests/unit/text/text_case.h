/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_TEST_TEXT_CASE_H
#define GREBE_TEST_TEXT_CASE_H

/* Text in, "name:type,…" and rows as JSON lines out: what tests of the text readers compare. */

#include "test_support.h"

#include <stdio.h>
#include <stdlib.h>

#include "text/text_input.h"
#include "text/text_print.h"

struct text_case {
    const char *data;
    size_t len, at;
    size_t step; /* most bytes of one read; 0: the input is a map */
    int n_freed;
};

static inline grebe_status case_read(void *arg, void *dst, size_t len, size_t *got,
                                     grebe_error *err)
{
    struct text_case *p = arg;
    (void)err;
    *got = p->len - p->at < len ? p->len - p->at : len;
    *got = *got < p->step ? *got : p->step;
    if (*got > 0) {
        memcpy(dst, p->data + p->at, *got);
    }
    p->at += *got;
    return GREBE_OK;
}

static inline void case_free(void *arg) { ((struct text_case *)arg)->n_freed++; }

static inline grebe_context *case_context(const grebe_allocator *a, uint32_t threads)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_context *ctx = NULL;
    grebe_context_options o = GREBE_CONTEXT_OPTIONS_INIT;
    o.allocator = a;
    o.threads = threads;
    assert_ok(context_new(&o, &ctx, &err));
    return ctx;
}

static inline void case_end(struct region *r) { (void)r; }

struct case_sink {
    struct text_sink sink;
    struct buf *dst;
};

static inline grebe_status case_write(struct text_sink *sink, const void *bytes, size_t len,
                                      grebe_error *err)
{
    return buf_put(((struct case_sink *)(void *)sink)->dst, bytes, len, err);
}

/* A stream that checks every batch of another, deeply. */
static inline grebe_status case_print(struct ArrowArrayStream *in, struct buf *dst,
                                      grebe_error *err)
{
    struct ArrowSchema schema = { 0 };
    struct case_sink sink = { { case_write }, dst };
    struct text_print p = { dst->a, &sink.sink, NULL, NULL, 0 };
    struct buf batches = BUF_INIT(dst->a);
    struct ArrowArrayStream checked = { 0 };
    grebe_status st = GREBE_OK;
    GREBE_TRY(stream_schema(in, &schema, err));
    for (int64_t i = 0; i < schema.n_children; i++) {
        GREBE_TRY(buf_printf(dst, err, "%s%s:", i > 0 ? "," : "", schema.children[i]->name));
        GREBE_TRY(type_print(dst, schema.children[i], err));
    }
    GREBE_TRY(buf_put_text(dst, "\n", err));
    for (;;) {
        struct ArrowArray batch = { 0 };
        st = stream_next(in, &batch, err);
        if (st == GREBE_END) {
            break;
        }
        if (st == GREBE_OK) {
            st = array_check(&schema, &batch, true, err);
        }
        if (st == GREBE_OK) {
            st = buf_put(&batches, &batch, sizeof batch, err);
        }
        if (st != GREBE_OK) {
            array_release(&batch);
            goto out;
        }
    }
    GREBE_TRY(stream_from_batches(dst->a, &schema, (struct ArrowArray *)(void *)batches.data,
                                  batches.len / sizeof(struct ArrowArray), &checked, err));
    batches.len = 0;
    st = text_print_json(&p, &checked, true, err);
out:
    for (size_t at = 0; at < batches.len; at += sizeof(struct ArrowArray)) {
        array_release((struct ArrowArray *)(void *)(batches.data + at));
    }
    buf_release(&batches);
    stream_release(&checked);
    schema_release(&schema);
    return st;
}

/** Opens the text with the options of its format. */
typedef grebe_status (*case_open_fn)(grebe_context *ctx, const struct text_input *in,
                                     const void *options, struct ArrowArrayStream *out,
                                     grebe_error *err);

static inline grebe_status case_run(grebe_context *ctx, struct text_case *c, case_open_fn open,
                                    const void *options, struct buf *dst, grebe_error *err)
{
    struct ArrowArrayStream stream = { 0 };
    struct text_input in = { .name = "x", .read = case_read, .free = case_free, .arg = c };
    grebe_status st = GREBE_OK;
    if (c->step == 0) {
        GREBE_TRY(region_wrap(ctx->a, c->data, c->len, case_end, NULL, &in.map, err));
        in.free = NULL;
    }
    st = open(ctx, &in, options, &stream, err);
    if (st != GREBE_OK && in.free != NULL) {
        assert_int_equal(c->n_freed, 0); /* still the caller's */
    }
    GREBE_TRY(st);
    st = case_print(&stream, dst, err);
out:
    stream_release(&stream);
    region_drop(in.map);
    return st;
}

/** The same from a map, from reads of every small size, and in small blocks. */
static inline void case_gives(case_open_fn open, const void *const *options, size_t n_options,
                              const char *text, size_t len, const char *expected)
{
    static const size_t steps[] = { 0, 1, 2, 3, 1000 };
    grebe_error err = GREBE_ERROR_INIT;
    grebe_context *ctx = case_context(NULL, 2);
    for (size_t i = 0; i < n_options * 5; i++) {
        struct buf got = BUF_INIT(mem_system());
        struct text_case c = { text, len, 0, steps[i % 5], 0 };
        assert_ok(case_run(ctx, &c, open, options[i / 5], &got, &err));
        assert_string_equal(buf_text(&got), expected);
        assert_int_equal(c.n_freed, c.step != 0);
        buf_release(&got);
    }
    context_free(ctx);
}

/** Fails with that status and fragment, from a map and from single bytes. */
static inline void case_fails(case_open_fn open, const void *options, const char *text, size_t len,
                              grebe_status expected, const char *fragment)
{
    grebe_context *ctx = case_context(NULL, 2);
    for (size_t step = 0; step < 2; step++) {
        grebe_error err = GREBE_ERROR_INIT;
        struct buf got = BUF_INIT(mem_system());
        struct text_case c = { text, len, 0, step, 0 };
        assert_fails(case_run(ctx, &c, open, options, &got, &err), expected, fragment);
        buf_release(&got);
    }
    context_free(ctx);
}

/** Every front part of the text is read or refused, and refused with a message. */
static inline void case_truncations(case_open_fn open, const void *options, const char *text,
                                    size_t len)
{
    grebe_context *ctx = case_context(NULL, 1);
    for (size_t n = 0; n <= len; n++) {
        for (size_t step = 0; step < 2; step++) {
            grebe_error err = GREBE_ERROR_INIT;
            struct buf got = BUF_INIT(mem_system());
            char *part = malloc(n + 1); /* of its exact size, for the sanitizers */
            assert_non_null(part);
            memcpy(part, text, n);
            struct text_case c = { part, n, 0, step, 0 };
            grebe_status st = case_run(ctx, &c, open, options, &got, &err);
            assert_true(st == GREBE_OK || err.message[0] != '\0');
            buf_release(&got);
            free(part);
        }
    }
    context_free(ctx);
}

/** Fail the n-th allocation for every n until all is well; nothing leaks. */
static inline void case_memory(case_open_fn open, const void *options, const char *text,
                               size_t len)
{
    for (size_t step = 0; step < 2; step++) {
        bool is_done = false;
        for (size_t n = 1; !is_done; n++) {
            struct test_allocator t;
            grebe_error err = GREBE_ERROR_INIT;
            test_allocator_init(&t);
            grebe_context *ctx = case_context(&t.a, 1);
            struct buf got = BUF_INIT(ctx->a);
            struct text_case c = { text, len, 0, step * 7, 0 };
            t.fail_at = t.n_calls + n;
            grebe_status st = case_run(ctx, &c, open, options, &got, &err);
            if (st != GREBE_OK && st != GREBE_ENOMEM) {
                fail_msg("allocation %zu: %s: %s", n, grebe_status_name(st), err.message);
            }
            is_done = st == GREBE_OK;
            t.fail_at = 0;
            buf_release(&got);
            context_free(ctx);
            assert_int_equal(t.n_live, 0);
            assert_true(n < 100000);
        }
    }
}

#endif
