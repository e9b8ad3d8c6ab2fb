/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_TEXT_TEXT_INPUT_H
#define GREBE_TEXT_TEXT_INPUT_H

/*
 * Text that is read as rows: where its bytes come from, and how they are cut into blocks that
 * end between records, so that blocks can be parsed side by side.
 */

#include "arrow/arrow_stream.h"
#include "base/context_internal.h"
#include "codec/codec_stream.h"

/** Where text comes from. Plain, gzip or zstd: the first bytes tell. */
struct text_input {
    const char *name;   /* for messages; borrowed for the open call */
    struct region *map; /* the whole input, kept by one more reference; NULL: it is read */
    codec_read_fn read; /* at most len bytes, 0 only at the end */
    void (*free)(void *arg); /* called when the stream ends; NULL: nothing to free */
    void *arg;          /* moved in on success of the open call */
    bool is_latin1;     /* ISO 8859-1; else UTF-8 */
    const grebe_call_options *call; /* of the open call; borrowed for it; NULL: defaults */
};

/** Sizes; 0: the default. */
struct text_sizes {
    size_t block_bytes;  /* default 2 MiB (CSV), 1 MiB (JSON): one batch each */
    size_t sample_bytes; /* default 16 MiB: what types are inferred from in input read once */
    uint64_t sample_lines; /* types are inferred from about so many lines of any input */
    bool is_sample_all;    /* types are inferred from all of the input, which is kept in memory */
    size_t record_bytes;   /* longest record; default and most TEXT_RECORD_MAX */
};

/** Records [data, data + len); the first begins at `line` and `column`, counted from 1. */
struct text_block {
    const char *data;
    size_t len;
    uint64_t line, column;
};

/**
 * Length of the longest run of whole records at the front of data; 0: not even one ends here.
 * With is_last all of it is to be taken.
 */
typedef size_t (*text_cut_fn)(void *arg, const char *data, size_t len, bool is_last);

/** One thread's at a time. */
struct text_reader {
    grebe_context *ctx;
    char *name;             /* owned */
    struct text_input input; /* owned: free is called */
    struct codec_stream *codec; /* NULL: plain */
    uint64_t raw_at;        /* of the map, when it is compressed */
    unsigned char head[4];  /* what sniffing took of the input */
    size_t n_head, head_at;
    const char *data;       /* the map, or window.data; of nothing an address, too */
    size_t at, end;         /* what is not yet taken */
    bool is_over;           /* nothing follows data + end */
    struct buf window;
    uint64_t line, column;  /* of data + at */
    size_t record_max;      /* longest record; some of up to twice as much are read */
};

/** Longest record. */
enum { TEXT_RECORD_MAX = 1 << 29 };

/** @param in Taken over on success; stays the caller's on failure. */
grebe_status text_reader_init(struct text_reader *r, grebe_context *ctx,
                              const struct text_input *in, grebe_error *err);
void text_reader_release(struct text_reader *r);

/** Have at least `want` bytes ahead, or all that remain. Moves what blocks point to. */
grebe_status text_reader_fill(struct text_reader *r, size_t want, grebe_error *err);

/** Skip n bytes that are there, counting lines. */
void text_reader_skip(struct text_reader *r, size_t n);

/**
 * The next blocks, each of about block_bytes.
 *
 * @param blocks Written, shape [max]. Point into the reader until its next call.
 * @param n      Written; 0 at the end.
 * @return also GREBE_ELIMIT (a record longer than record_max).
 */
grebe_status text_reader_blocks(struct text_reader *r, size_t block_bytes, text_cut_fn cut,
                                void *cut_arg, struct text_block *blocks, size_t max, size_t *n,
                                grebe_error *err);

/** GREBE_ELIMIT: the record ahead is too long. */
grebe_status text_reader_too_long(const struct text_reader *r, grebe_error *err);

/** Ends of lines: LF, CR LF, or CR alone. */
uint64_t text_count_lines(const char *data, size_t len);

/** "name:line:column" of a place in a block, for messages. dst: shape [512]. */
const char *text_place(char dst[512], const char *name, const struct text_block *b, size_t at);

#endif
