/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hash.h"

#include <stdbool.h>
#define XXH_STATIC_LINKING_ONLY /* the state's size: it comes from our allocator */
#include <xxhash.h>
#include <zlib.h>

#include "base/cpu.h"

#if defined(__x86_64__) && defined(__GNUC__)
#define HASH_HAS_CLMUL 1
#include <immintrin.h>
#else
#define HASH_HAS_CLMUL 0
#endif

uint64_t hash_bytes(const void *bytes, size_t len, uint64_t seed)
{
    return XXH64(bytes, len, seed);
}

uint64_t hash_xxh3(const void *bytes, size_t len) { return XXH3_64bits(bytes, len); }

struct hash_stream {
    XXH3_state_t state; /* aligned to 64 */
    const grebe_allocator *a;
};

grebe_status hash_stream_new(const grebe_allocator *a, struct hash_stream **out, grebe_error *err)
{
    struct hash_stream *h = mem_alloc_aligned(a, sizeof *h, MEM_ALIGN_VECTOR);
    *out = h;
    if (h == NULL) {
        return mem_fail(err, sizeof *h, "a checksum");
    }
    h->a = a;
    hash_stream_reset(h);
    return GREBE_OK;
}

void hash_stream_free(struct hash_stream *h)
{
    if (h != NULL) {
        mem_free_aligned(h->a, h, sizeof *h, MEM_ALIGN_VECTOR);
    }
}

void hash_stream_reset(struct hash_stream *h)
{
    XXH3_INITSTATE(&h->state);
    XXH3_64bits_reset(&h->state);
}

void hash_stream_put(struct hash_stream *h, const void *bytes, size_t len)
{
    XXH3_64bits_update(&h->state, bytes, len);
}

uint64_t hash_stream_get(const struct hash_stream *h) { return XXH3_64bits_digest(&h->state); }

#if HASH_HAS_CLMUL

/* Folding by carry-less multiplication: V. Gopal et al., "Fast CRC Computation for Generic
 * Polynomials Using PCLMULQDQ Instruction", Intel 2009; constants for the reflected 0x04C11DB7
 * from its appendix. len is a multiple of 16 and at least 64; crc is complemented. */
__attribute__((target("pclmul,sse4.1"))) static uint32_t fold(uint32_t crc, const unsigned char *p,
                                                               size_t len)
{
    const __m128i k1k2 = _mm_set_epi64x(0x01c6e41596, 0x0154442bd4);
    const __m128i k3k4 = _mm_set_epi64x(0x00ccaa009e, 0x01751997d0);
    const __m128i k5 = _mm_set_epi64x(0, 0x0163cd6124);
    const __m128i poly = _mm_set_epi64x(0x01f7011641, 0x01db710641);
    const __m128i low_words = _mm_setr_epi32(~0, 0, ~0, 0);
    __m128i x[4];

    for (int i = 0; i < 4; i++) {
        x[i] = _mm_loadu_si128((const __m128i *)(const void *)(p + 16 * i));
    }
    x[0] = _mm_xor_si128(x[0], _mm_cvtsi32_si128((int)crc));
    for (p += 64, len -= 64; len >= 64; p += 64, len -= 64) {
        for (int i = 0; i < 4; i++) {
            __m128i next = _mm_loadu_si128((const __m128i *)(const void *)(p + 16 * i));
            __m128i low = _mm_clmulepi64_si128(x[i], k1k2, 0x00);
            __m128i high = _mm_clmulepi64_si128(x[i], k1k2, 0x11);
            x[i] = _mm_xor_si128(_mm_xor_si128(low, high), next);
        }
    }
    /* Four times 128 bits to one, then what is left of the input. */
    __m128i v = x[0];
    for (int i = 1; i < 4 || len >= 16; i++) {
        __m128i next = i < 4 ? x[i] : _mm_loadu_si128((const __m128i *)(const void *)p);
        __m128i low = _mm_clmulepi64_si128(v, k3k4, 0x00);
        __m128i high = _mm_clmulepi64_si128(v, k3k4, 0x11);
        v = _mm_xor_si128(_mm_xor_si128(low, high), next);
        p += i < 4 ? 0 : 16;
        len -= i < 4 ? 0 : 16;
    }
    /* 128 bits to 64, 64 to 32 (Barrett). */
    v = _mm_xor_si128(_mm_srli_si128(v, 8), _mm_clmulepi64_si128(v, k3k4, 0x10));
    v = _mm_xor_si128(_mm_srli_si128(v, 4),
                      _mm_clmulepi64_si128(_mm_and_si128(v, low_words), k5, 0x00));
    __m128i q = _mm_clmulepi64_si128(_mm_and_si128(v, low_words), poly, 0x10);
    q = _mm_clmulepi64_si128(_mm_and_si128(q, low_words), poly, 0x00);
    return (uint32_t)_mm_extract_epi32(_mm_xor_si128(v, q), 1);
}

static bool can_fold(void)
{
    return cpu_simd_level() >= CPU_AVX2 && __builtin_cpu_supports("pclmul");
}

#endif

uint32_t hash_crc32(uint32_t crc, const void *bytes, size_t len)
{
    const unsigned char *p = bytes;
#if HASH_HAS_CLMUL
    if (len >= 128 && can_fold()) {
        size_t folded = len & ~(size_t)15;
        crc = ~fold(~crc, p, folded);
        p += folded;
        len -= folded;
    }
#endif
    return len == 0 ? crc : (uint32_t)crc32_z(crc, p, len);
}

uint32_t hash_crc32_join(uint32_t first, uint32_t second, uint64_t len)
{
    enum { STEP = 1 << 30 }; /* z_off_t may have 32 bits */
    uLong crc = first;
    for (; len > STEP; len -= STEP) {
        crc = crc32_combine(crc, 0, STEP);
    }
    return (uint32_t)crc32_combine(crc, second, (z_off_t)len);
}
