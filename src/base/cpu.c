/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cpu.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

bool cpu_simd_has(enum cpu_simd level)
{
#if defined(__x86_64__)
    const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
                          __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt") &&
                          __builtin_cpu_supports("fma");

    switch (level) {
    case CPU_SCALAR:
        return true;
    case CPU_AVX2:
        return has_avx2;
    case CPU_AVX512:
        return has_avx2 && __builtin_cpu_supports("avx512f") &&
               __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
               __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vbmi");
    }
    return false;
#else
    return level == CPU_SCALAR;
#endif
}

static enum cpu_simd detect(void)
{
    enum cpu_simd best = CPU_SCALAR;
    enum cpu_simd wanted = CPU_AVX512;
    const char *env = getenv("GREBE_SIMD");

    if (cpu_simd_has(CPU_AVX512)) {
        best = CPU_AVX512;
    } else if (cpu_simd_has(CPU_AVX2)) {
        best = CPU_AVX2;
    }
    if (env != NULL && strcmp(env, "scalar") == 0) {
        wanted = CPU_SCALAR;
    } else if (env != NULL && strcmp(env, "avx2") == 0) {
        wanted = CPU_AVX2;
    }
    return best < wanted ? best : wanted;
}

enum cpu_simd cpu_simd_level(void)
{
    /* Every thread that finds -1 computes the same value, so no lock is needed. */
    static atomic_int cached = -1;
    int level = atomic_load_explicit(&cached, memory_order_relaxed);

    if (level < 0) {
        level = (int)detect();
        atomic_store_explicit(&cached, level, memory_order_relaxed);
    }
    return (enum cpu_simd)level;
}
