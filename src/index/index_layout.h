/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_INDEX_INDEX_LAYOUT_H
#define GREBE_INDEX_INDEX_LAYOUT_H

/*
 * Places in an index file, all little-endian (docs/format/index.md). The first page holds the magic and zeros, the last
 * one the table:
 *
 *      0  magic "GREBEIDX"     24  file length u64            64  64 fields of 16: name, u64 or float64
 *      8  version u32          32  zeros                    1088  40 sections of 32: name, offset, length, XXH3
 *     12  fields u32                                        2368  zeros
 *     16  sections u32, 20 zero                             4088  XXH3 of what stands before it
 */

#include "index/index_file.h"

#define INDEX_MAGIC "GREBEIDX"

enum {
    INDEX_MAGIC_BYTES = 8,
    INDEX_TABLE_VERSION = 8,
    INDEX_TABLE_N_FIELDS = 12,
    INDEX_TABLE_N_SECTIONS = 16,
    INDEX_TABLE_BYTES = 24,
    INDEX_TABLE_FIELDS = 64,
    INDEX_FIELD_BYTES = 16,
    INDEX_TABLE_SECTIONS = INDEX_TABLE_FIELDS + INDEX_FIELDS_MAX * INDEX_FIELD_BYTES,
    INDEX_SECTION_BYTES = 32,
    INDEX_TABLE_CHECKSUM = INDEX_FILE_ALIGN - 8
};

#endif
