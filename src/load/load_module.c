/* SPDX-License-Identifier: Apache-2.0 */
#include "load/load_module.h"

#include <stdlib.h>
#include <string.h>

#include "archive/archive.h"
#include "base/ascii.h"
#include "base/name_index.h"

/* Suffixes of each loader, a space around each. Media have them in upper case too. */
struct suffixes {
    const char *module, *list;
    bool is_media;
    const char *option, *option_value;
};

static const struct suffixes SUFFIXES[] = {
    { "csv", " .csv ", false, NULL, NULL },
    { "csv", " .tsv ", false, "sep", "\t" },
    { "json", " .json .jsonl .ndjson ", false, NULL, NULL },
    { "parquet", " .parquet .geoparquet .gpq ", false, NULL, NULL },
    { "arrow", " .arrow ", false, NULL, NULL },
    { "text", " .txt ", false, NULL, NULL },
    { "conll", " .conll ", false, NULL, NULL },
    { "conll", " .conllu ", false, "comment_prefix", "#" },
    { "webdataset", " .tar ", false, NULL, NULL },
    { "xml", " .xml ", false, NULL, NULL },
    { "hdf5", " .hdf5 .h5 ", false, NULL, NULL },
    { "eval", " .eval ", false, NULL, NULL },
    { "harbor", " .toml .md ", false, NULL, NULL },
    { "lance", " .lance ", false, NULL, NULL },
    { "tsfile", " .tsfile ", false, NULL, NULL },
    { "vortex", " .vortex ", false, NULL, NULL },
    { "fasta", " .fa .fasta .fna .ffn .faa .frn .afa ", false, NULL, NULL },
    { "genbank", " .gb .gbk .genbank ", false, NULL, NULL },
    { "fastq", " .fq .fastq ", false, NULL, NULL },
    { "pdb", " .pdb .ent ", true, NULL, NULL },
    { "mmcif", " .cif .mmcif ", false, NULL, NULL },
    { "imagefolder",
      " .blp .bmp .dib .bufr .cur .pcx .dcx .dds .ps .eps .fit .fits .fli .flc .ftc .ftu .gbr .gif .grib .png .apng .jp2 .j2k"
      " .jpc .jpf .jpx .j2c .icns .ico .im .iim .tif .tiff .jfif .jpe .jpg .jpeg .msp .pcd .pxr .pbm .pgm .ppm .pnm .psd .bw"
      " .rgb .rgba .sgi .ras .tga .icb .vda .vst .webp .wmf .emf .xbm .xpm ",
      true, NULL, NULL },
    { "audiofolder",
      " .mpg .aiff .au .avr .caf .flac .htk .svx .mat4 .mat5 .mpc2k .ogg .paf .pvf .raw .rf64 .sd2 .sds .ircam .voc .w64 .wav"
      " .nist .wavex .wve .xi .mp3 .opus .3gp .3g2 .asf .flv .m4v .webm .f4v .wmv .wma .ogm .mxf .nut ",
      true, NULL, NULL },
    { "videofolder", " .mpeg .avi .mp4 .mov .mkv ", true, NULL, NULL },
    { "meshfolder", " .glb .gltf .ply .stl ", true, NULL, NULL },
    { "pdffolder", " .pdf ", true, NULL, NULL },
    { "niftifolder", " .nii ", true, NULL, NULL },
};
enum { N_SUFFIXES = sizeof SUFFIXES / sizeof *SUFFIXES, SUFFIX_MAX = 16 };

static const char *const MORE_MODULES[] = { "pandas", "iceberg", "sql", "hdf5" };

bool load_is_module(const char *name)
{
    for (size_t i = 0; i < N_SUFFIXES; i++) {
        if (strcmp(SUFFIXES[i].module, name) == 0) {
            return true;
        }
    }
    for (size_t i = 0; i < sizeof MORE_MODULES / sizeof *MORE_MODULES; i++) {
        if (strcmp(MORE_MODULES[i], name) == 0) {
            return true;
        }
    }
    return false;
}

/* Whether a suffix stands in the list: as it is, or (media) all in upper case. */
static bool is_listed(const struct suffixes *s, const char *suffix, size_t len)
{
    char word[SUFFIX_MAX + 3] = " ";
    bool is_upper = s->is_media;
    if (len > SUFFIX_MAX || memchr(suffix, ' ', len) != NULL) {
        return false;
    }
    for (size_t i = 0; i < len; i++) {
        is_upper = is_upper && !(suffix[i] >= 'a' && suffix[i] <= 'z');
        word[i + 1] = suffix[i];
    }
    for (size_t i = 0; i < len && is_upper; i++) {
        word[i + 1] = ascii_lower(suffix[i]);
    }
    word[len + 1] = ' ';
    word[len + 2] = '\0';
    return strstr(s->list, word) != NULL;
}

static const struct suffixes *find_suffix(const char *suffix, size_t len)
{
    for (size_t i = 0; i < N_SUFFIXES; i++) {
        if (is_listed(&SUFFIXES[i], suffix, len)) {
            return &SUFFIXES[i];
        }
    }
    return NULL;
}

static bool is_word(const char *suffix, size_t len, const char *word)
{
    return len == strlen(word) && memcmp(suffix, word, len) == 0;
}

bool load_is_any_extension(const char *suffix, size_t len)
{
    return find_suffix(suffix, len) != NULL || is_word(suffix, len, ".zip") || is_word(suffix, len, ".idx") ||
           is_word(suffix, len, ".txn") || is_word(suffix, len, ".manifest");
}

/* ---- which suffix ---- */

static bool is_metadata_name(const char *name)
{
    return strcmp(name, "metadata.csv") == 0 || strcmp(name, "metadata.jsonl") == 0 || strcmp(name, "metadata.parquet") == 0;
}

static bool is_any_metadata_name(const char *name)
{
    return is_metadata_name(name) || strcmp(name, "task.toml") == 0 || strcmp(name, "instruction.md") == 0 ||
           strcmp(name, "latest_version_hint.json") == 0;
}

/* How often a suffix stands in names. */
struct count {
    const char *suffix; /* lower case */
    size_t len;
    bool is_metadata;
    size_t n;
};

struct counts {
    struct arena *ar;
    struct count *items;
    size_t n, capacity;
    struct name_index index; /* by 'm' or 'd' (metadata or data) and suffix: names such as x.000001.png have many */
};

static grebe_status counts_new(struct arena *ar, struct counts *out, grebe_error *err)
{
    *out = (struct counts){ .ar = ar };
    return name_index_new(ar->a, 32, &out->index, err);
}

static grebe_status count_one(struct counts *c, const char *suffix, size_t len, bool is_metadata, grebe_error *err)
{
    char key[SUFFIX_MAX + 2];
    bool is_there = false;
    key[0] = is_metadata ? 'm' : 'd';
    for (size_t i = 0; i < len; i++) {
        key[i + 1] = ascii_lower(suffix[i]);
    }
    key[len + 1] = '\0';
    const size_t *at = name_index_find(&c->index, key);
    if (at != NULL) {
        c->items[*at].n++;
        return GREBE_OK;
    }
    char *kept = arena_str(c->ar, key, len + 1);
    if (kept == NULL) {
        return mem_fail(err, len, "suffixes");
    }
    if (c->n == c->capacity) {
        size_t capacity = c->capacity == 0 ? 16 : 2 * c->capacity;
        struct count *items = arena_array(c->ar, capacity, sizeof *items);
        if (items == NULL) {
            return mem_fail(err, capacity * sizeof *items, "suffixes");
        }
        if (c->n > 0) {
            memcpy(items, c->items, c->n * sizeof *items);
        }
        c->items = items;
        c->capacity = capacity;
    }
    c->items[c->n] = (struct count){ kept + 1, len, is_metadata, 1 };
    return name_index_add(&c->index, kept, c->n++, &is_there, err);
}

/* Every suffix behind a dot of the name counts. */
static grebe_status count_name(struct counts *c, const char *path, bool with_metadata, grebe_error *err)
{
    const char *name = path_base_name(path);
    bool is_metadata = with_metadata && is_any_metadata_name(name);
    grebe_status st = GREBE_OK;
    for (const char *dot = strchr(name, '.'); st == GREBE_OK && dot != NULL;) {
        const char *next = strchr(dot + 1, '.');
        size_t len = next != NULL ? (size_t)(next - dot) : strlen(dot);
        if (len <= SUFFIX_MAX) { /* no longer one is known */
            st = count_one(c, dot, len, is_metadata, err);
        }
        dot = next;
    }
    return st;
}

/* Which comes first among equals. */
static int favour(const char *suffix)
{
    static const char *const order[] = { ".csv", ".json", ".jsonl", ".arrow", ".vortex", ".lance", ".parquet" };
    for (int i = 0; i < 7; i++) {
        if (strcmp(order[i], suffix) == 0) {
            return i + 1;
        }
    }
    return 0;
}

static int most_first(const void *x, const void *y)
{
    const struct count *a = x, *b = y;
    if (a->is_metadata != b->is_metadata) {
        return a->is_metadata ? 1 : -1;
    }
    if (a->n != b->n) {
        return a->n < b->n ? 1 : -1;
    }
    int by_favour = favour(b->suffix) - favour(a->suffix);
    return by_favour != 0 ? by_favour : strcmp(b->suffix, a->suffix);
}

static void set_module(struct load_module *out, const struct suffixes *s)
{
    out->name = s->module;
    out->option = s->option;
    out->option_value = s->option_value;
}

/* ---- in zip archives ---- */

enum { ARCHIVES_MAX = 10 };

static grebe_status count_members(struct counts *c, struct io_store *store, const char *path, grebe_error *err)
{
    struct io_file *file = NULL;
    struct region *region = NULL;
    struct archive *z = NULL;
    grebe_status st = GREBE_OK;
    GREBE_TRY(io_open(store, path, &file, err));
    if (file->ops->map == NULL) {
        st = GREBE_FAIL(err, GREBE_EUNSUPPORTED, "%s: archives are read where files can be mapped", path);
        goto out;
    }
    GREBE_TRY(file->ops->map(file, &region, err));
    st = archive_open(c->ar->a, region, &z, err);
    if (st != GREBE_OK) {
        error_wrap(err, st, "%s", path);
        goto out;
    }
    for (size_t i = 0; st == GREBE_OK && i < z->n; i++) {
        const char *name = path_base_name(z->members[i].name);
        if (!z->members[i].is_folder && name[0] != '.' && strncmp(name, "__", 2) != 0) {
            st = count_name(c, name, false, err);
        }
    }
out:
    archive_free(z);
    region_drop(region);
    io_close(file);
    return st;
}

static grebe_status infer_in_archives(struct arena *ar, struct io_store *store, const struct load_files *files,
                                      struct load_module *out, grebe_error *err)
{
    struct counts c;
    size_t n_archives = 0, best = 0;
    grebe_status st = counts_new(ar, &c, err);
    for (size_t i = 0; st == GREBE_OK && i < files->n && n_archives < ARCHIVES_MAX; i++) {
        size_t len = strlen(files->items[i].path);
        if (len > 4 && strcmp(files->items[i].path + len - 4, ".zip") == 0) {
            st = count_members(&c, store, files->items[i].path, err);
            n_archives++;
        }
    }
    name_index_release(&c.index);
    if (st != GREBE_OK) {
        return st;
    }
    for (size_t i = 1; i < c.n; i++) { /* of equals the first that was seen */
        best = c.items[i].n > c.items[best].n ? i : best;
    }
    const struct suffixes *s = c.n > 0 ? find_suffix(c.items[best].suffix, c.items[best].len) : NULL;
    if (s != NULL) {
        set_module(out, s);
    }
    return GREBE_OK;
}

/* ---- */

/* out->name NULL: no file of a known suffix. */
static grebe_status infer_split(struct arena *ar, struct io_store *store, const struct load_files *files,
                                struct load_module *out, grebe_error *err)
{
    struct counts c;
    *out = (struct load_module){ NULL, NULL, NULL };
    grebe_status st = counts_new(ar, &c, err);
    for (size_t i = 0; st == GREBE_OK && i < files->n; i++) {
        st = count_name(&c, files->items[i].path, true, err);
    }
    name_index_release(&c.index);
    if (st == GREBE_OK && c.n > 1) {
        qsort(c.items, c.n, sizeof *c.items, most_first);
    }
    for (size_t i = 0; st == GREBE_OK && i < c.n; i++) {
        const struct suffixes *s = find_suffix(c.items[i].suffix, c.items[i].len);
        if (s != NULL) {
            set_module(out, s);
            return GREBE_OK;
        }
        if (strcmp(c.items[i].suffix, ".zip") == 0) {
            return infer_in_archives(ar, store, files, out, err);
        }
    }
    return st;
}

static const char *name_or_none(const struct load_module *m) { return m->name != NULL ? m->name : "none"; }

grebe_status load_module_infer(struct arena *ar, struct io_store *store, const char *base, const struct load_file_set *set,
                               struct load_module *out, grebe_error *err)
{
    *out = (struct load_module){ NULL, NULL, NULL };
    for (size_t i = 0; i < set->n; i++) {
        struct load_module m;
        grebe_status st = infer_split(ar, store, &set->splits[i].files, &m, err);
        if (st != GREBE_OK) {
            return st;
        }
        if (i == 0) {
            *out = m;
        } else if (m.name != out->name || m.option != out->option) {
            return GREBE_FAIL(err, GREBE_EINVAL,
                              "splits of different formats: \"%s\" has files of %s%s, \"%s\" of %s%s", set->splits[0].split,
                              name_or_none(out), out->option != NULL ? " with an option" : "", set->splits[i].split,
                              name_or_none(&m), m.option != NULL ? " with an option" : "");
        }
    }
    if (out->name == NULL) {
        return GREBE_FAIL(err, GREBE_ENOTFOUND, "%s: no data files of a format that a loader reads", base);
    }
    return GREBE_OK;
}

/* A suffix of the loader at the end of the name, or in front of whatever stands behind a further dot. */
static bool is_of_module(const char *module, const char *path)
{
    const char *name = path_base_name(path);
    bool is_media = false;
    for (const char *dot = strchr(name, '.'); dot != NULL;) {
        const char *next = strchr(dot + 1, '.');
        size_t len = next != NULL ? (size_t)(next - dot) : strlen(dot);
        for (size_t i = 0; i < N_SUFFIXES; i++) {
            if (strcmp(SUFFIXES[i].module, module) == 0 && is_listed(&SUFFIXES[i], dot, len)) {
                return true;
            }
        }
        if (is_word(dot, len, ".zip")) {
            return true;
        }
        dot = next;
    }
    for (size_t i = 0; i < N_SUFFIXES; i++) {
        is_media = is_media || (SUFFIXES[i].is_media && strcmp(SUFFIXES[i].module, module) == 0);
    }
    return is_media && is_metadata_name(name);
}

void load_module_filter(const char *module, struct load_file_set *set)
{
    for (size_t i = 0; i < set->n; i++) {
        struct load_files *files = &set->splits[i].files;
        size_t n = 0;
        for (size_t k = 0; k < files->n; k++) {
            if (is_of_module(module, files->items[k].path)) {
                files->items[n++] = files->items[k];
            }
        }
        files->n = n;
    }
}
