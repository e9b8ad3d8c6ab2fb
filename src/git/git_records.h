/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GIT_GIT_RECORDS_H
#define GREBE_GIT_GIT_RECORDS_H

/*
 * A zlib stream of records of one size: postings, rows of trees, floats. A match is only looked for one record before. That
 * is ten times as fast as zlib, which looks everywhere, and a tenth smaller: its chance matches further back cost more
 * than they save.
 */

#include <stddef.h>

#include "base/buf.h"

enum { REPO_RECORDS_STRIDE_MAX = 32768 };

/**
 * Append the stream. Blocks that do not shrink are stored.
 *
 * @param scratch Its content is lost.
 * @param stride  Bytes of a record, up to REPO_RECORDS_STRIDE_MAX; 0: nothing repeats, only bytes are counted.
 * @return GREBE_OK; GREBE_ENOMEM (out is as before).
 */
grebe_status repo_deflate_records(struct buf *scratch, const unsigned char *bytes, size_t len, size_t stride,
                                 struct buf *out, grebe_error *err);

#endif
