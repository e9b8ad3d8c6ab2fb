/* SPDX-License-Identifier: Apache-2.0 */
#include "index/index_bits.h"

#include <string.h>

#include "base/endian.h"

void index_bits_release(struct index_bits *b)
{
    if (b->words != NULL) {
        mem_free(b->a, b->words, b->n_words * sizeof *b->words);
    }
    b->words = NULL;
    b->n_words = 0;
    b->n_set = 0;
}

grebe_status index_bits_set(struct index_bits *b, uint32_t position, grebe_error *err)
{
    const size_t word = position / 64;

    if (word >= b->n_words) {
        const size_t n = word + 1 + word / 2;
        uint64_t *words = mem_resize(b->a, b->words, b->n_words * sizeof *words, n * sizeof *words);

        if (words == NULL) {
            return mem_fail(err, n * sizeof *words, "removed rows");
        }
        memset(words + b->n_words, 0, (n - b->n_words) * sizeof *words);
        b->words = words;
        b->n_words = n;
    }
    b->n_set += (b->words[word] >> (position % 64) & 1) == 0;
    b->words[word] |= UINT64_C(1) << (position % 64);
    return GREBE_OK;
}

grebe_status index_bits_save(const struct index_bits *b, const char *tag, struct index_writer *w, grebe_error *err)
{
    grebe_status st;
    unsigned char bytes[8];

    if (b->n_set == 0) {
        return GREBE_OK;
    }
    st = index_writer_begin(w, tag, err);
    for (size_t i = 0; st == GREBE_OK && i < b->n_words; i++) {
        store_le64(bytes, b->words[i]);
        st = index_writer_append(w, bytes, sizeof bytes, err);
    }
    return st == GREBE_OK ? index_writer_end(w, err) : st;
}

grebe_status index_bits_load(struct index_bits *b, const char *tag, const struct index_file *f, uint64_t n,
                             grebe_error *err)
{
    const void *data = NULL;
    uint64_t len = 0;
    grebe_status st;

    if (!index_file_has(f, tag)) {
        return GREBE_OK;
    }
    st = index_file_section(f, tag, UINT64_MAX, &data, &len, err);
    if (st != GREBE_OK) {
        return st;
    }
    for (uint64_t i = 0; i < len / 8; i++) {
        uint64_t word = load_le64((const unsigned char *)data + i * 8);

        if (word != 0 && (i * 64 >= n || (n - i * 64 < 64 && word >> (n - i * 64) != 0))) {
            return GREBE_FAIL(err, GREBE_ECORRUPT, "section %.8s: expected bits below %llu, word %llu has others", tag,
                              (unsigned long long)n, (unsigned long long)i);
        }
        for (; st == GREBE_OK && word != 0; word &= word - 1) {
            st = index_bits_set(b, (uint32_t)(i * 64 + (uint64_t)__builtin_ctzll(word)), err);
        }
        if (st != GREBE_OK) {
            return st;
        }
    }
    return GREBE_OK;
}
