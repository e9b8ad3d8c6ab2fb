/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_TEXT_TEXT_BYTES_H
#define GREBE_TEXT_TEXT_BYTES_H

/* Binary values in text, as text_value.h writes them: base64 in JSON, hexadecimal digits in CSV. */

#include <stdbool.h>
#include <stddef.h>

/** How many bytes the text stands for, at most half (base64: three quarters) of len; SIZE_MAX: it cannot be any. */
size_t text_bytes_len(const char *s, size_t len, bool is_json);

/** The bytes, text_bytes_len() of them, which is not SIZE_MAX; false: a character does not fit. */
bool text_bytes_store(const char *s, size_t len, bool is_json, void *dst);

/** Exactly `width` bytes; 16 may also be a UUID with its dashes. false: they are not in the text. */
bool text_bytes_store_fixed(const char *s, size_t len, bool is_json, void *dst, size_t width);

#endif
