/* SPDX-License-Identifier: Apache-2.0 */
#include "grebe/version.h"

#include "grebe_version_info.h"

#ifdef GREBE_HAVE_LZ4
#define WITH_LZ4 " lz4"
#else
#define WITH_LZ4 ""
#endif
#ifdef GREBE_HAVE_SNAPPY
#define WITH_SNAPPY " snappy"
#else
#define WITH_SNAPPY ""
#endif
#ifdef GREBE_HAVE_BROTLI
#define WITH_BROTLI " brotli"
#else
#define WITH_BROTLI ""
#endif
#ifdef GREBE_HAVE_PCRE2
#define WITH_PCRE2 "\npatterns pcre2"
#else
#define WITH_PCRE2 ""
#endif
#ifdef GREBE_HAVE_GIT
#define WITH_GIT "\nvectors  gitvdb"
#else
#define WITH_GIT ""
#endif

#if GREBE_HAVE_YAML
#define WITH_YAML "\nconfigs  yaml"
#else
#define WITH_YAML ""
#endif

const char *grebe_version(void) { return GREBE_VERSION_TEXT; }

const char *grebe_build_info(void)
{
    return "compiler " GREBE_COMPILER "\n"
           "build    " GREBE_BUILD_TYPE "\n"
           "codecs   zstd gzip" WITH_LZ4 WITH_SNAPPY WITH_BROTLI "\n"
           "formats  parquet arrow npy vecs hdf5" WITH_PCRE2 WITH_GIT WITH_YAML "\n";
}
