/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_DATASET_FINGERPRINT_H
#define GREBE_DATASET_FINGERPRINT_H

/*
 * What a transform did, as 16 hexadecimal digits: XXH64 over the digests of the values that count, each digest over the
 * bytes that Python's pickle (protocol 4, as dill writes it) makes of the value. docs/format/dataset.md.
 */

#include "grebe/dataset.h"
#include "wire/json.h"

struct fingerprint {
    struct buf text; /* what was absorbed */
};

/** Begins with what is transformed and by what: "datasets.arrow_dataset.Dataset.<transform>". */
grebe_status fingerprint_begin(struct fingerprint *f, const grebe_allocator *a, const char *from, const char *transform,
                               grebe_error *err);
void fingerprint_release(struct fingerprint *f);
grebe_status fingerprint_text(struct fingerprint *f, const char *text, grebe_error *err);
grebe_status fingerprint_value(struct fingerprint *f, const struct json_value *v, grebe_error *err);
/* An argument: its name, then its value. Names in ascending order. */
grebe_status fingerprint_arg_text(struct fingerprint *f, const char *name, const char *text, grebe_error *err);
grebe_status fingerprint_arg_int(struct fingerprint *f, const char *name, int64_t v, grebe_error *err);
grebe_status fingerprint_arg_double(struct fingerprint *f, const char *name, double v, grebe_error *err);
grebe_status fingerprint_arg_bool(struct fingerprint *f, const char *name, bool v, grebe_error *err);
grebe_status fingerprint_arg_seed(struct fingerprint *f, const char *name, grebe_seed seed, grebe_error *err);
grebe_status fingerprint_arg_texts(struct fingerprint *f, const char *name, const char *const *texts, size_t n,
                                   grebe_error *err);
/** A value as JSON text. */
grebe_status fingerprint_arg_json(struct fingerprint *f, const char *name, const char *json, grebe_error *err);
/** range(begin, end) */
grebe_status fingerprint_arg_range(struct fingerprint *f, const char *name, int64_t begin, int64_t end,
                                   grebe_error *err);
/** A list of rows; a long one by its bytes. */
grebe_status fingerprint_arg_rows(struct fingerprint *f, const char *name, const int64_t *rows, size_t n,
                                  grebe_error *err);
/** The digits; f is released. */
void fingerprint_end(struct fingerprint *f, char out[17]);

/** Drawn from the context's random source: nothing is found by it again. */
grebe_status fingerprint_random(grebe_context *ctx, char out[17], grebe_error *err);
/** GREBE_EINVAL: empty, longer than 64, or one of <>:/\|?* in it. */
grebe_status fingerprint_check(const char *fingerprint, grebe_error *err);

/* ---- pickles ---- */

/** Bytes of one pickled value; frames as Python's pickler cuts them. */
struct pickle {
    struct buf out, frame;
};
grebe_status pickle_begin(struct pickle *p, const grebe_allocator *a, grebe_error *err);
grebe_status pickle_json(struct pickle *p, const struct json_value *v, grebe_error *err);
grebe_status pickle_int(struct pickle *p, int64_t v, grebe_error *err);
grebe_status pickle_text(struct pickle *p, const char *text, size_t len, grebe_error *err);
/** A non-negative number of any size. */
grebe_status pickle_words(struct pickle *p, const uint32_t *words, size_t n, grebe_error *err);
grebe_status pickle_raw(struct pickle *p, const void *bytes, size_t len, grebe_error *err);
/** The end: all bytes stand in p->out. */
grebe_status pickle_end(struct pickle *p, grebe_error *err);
void pickle_release(struct pickle *p);

#endif
