/* SPDX-License-Identifier: Apache-2.0 */
#include "../git/git_test.h"

#include <math.h>

#include "gitvdb/vdb_build.h"
#include "gitvdb/vdb_lsh.h"
#include "gitvdb/vdb_topk.h"

/* ---- points ---- */

static void add_lines(struct vdb_points *p, const char *const *lines, size_t n)
{
    grebe_error err = GREBE_ERROR_INIT;
    for (size_t i = 0; i < n; i++) {
        assert_ok(vdb_points_add_line(p, lines[i], strlen(lines[i]), &err));
    }
}

static float next_signed(uint64_t *state)
{
    float x = (float)((double)(test_random(state) >> 40) / 16777216.0);
    return x * 2.0F - 1.0F;
}

/* The synthetic sets of git-vdb's benchmarks: uniform, or around n_centers. */
static void add_synthetic(struct vdb_points *p, size_t n, uint32_t dim, size_t n_centers)
{
    grebe_error err = GREBE_ERROR_INIT;
    uint64_t state = UINT64_C(0x676974766462626d);
    float *centers = malloc((n_centers + 1) * dim * sizeof *centers);
    float *v = malloc(dim * sizeof *v);
    for (size_t i = 0; i < n_centers * dim; i++) {
        centers[i] = next_signed(&state);
    }
    for (size_t i = 0; i < n; i++) {
        char payload[48];
        const struct vdb_id id = { true, i, NULL, 0 };
        for (uint32_t d = 0; d < dim; d++) {
            float noise = next_signed(&state);
            v[d] = n_centers == 0 ? noise : centers[i % n_centers * dim + d] + noise * 0.08F;
        }
        snprintf(payload, sizeof payload, "{\"selectivity_bucket\":%zu}", i % 1000);
        assert_ok(vdb_points_add(p, &id, v, dim, payload, strlen(payload), &err));
    }
    free(centers);
    free(v);
}

static void add_16(struct vdb_points *p)
{
    for (int i = 0; i < 16; i++) {
        char line[128];
        const char *lines[1] = { line };
        snprintf(line, sizeof line, "{\"id\":\"point-%02d\",\"vector\":[%d,%d],\"payload\":{\"kind\":\"test\"}}", i, i - 7,
                 i * 7 % 11 - 5);
        add_lines(p, lines, 1);
    }
}

/* ---- collections ---- */

static const struct vdb_work work = { NULL, NULL, 1, NULL };

/* Write the points as a collection of a format; gives its root. */
static struct repo_oid write_points(struct git_fixture *f, const struct vdb_config *config, uint32_t format,
                                   const struct vdb_points *points)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct vdb_work w = work;
    struct vdb_built *empty = NULL, *full = NULL;
    struct repo_pack *pack = NULL;
    const struct vdb_change change = { points, NULL, 0 };
    w.a = mem_system();
    assert_ok(vdb_built_new(mem_system(), config, format, &empty, &err));
    if (points->n > 0) {
        assert_ok(vdb_built_apply(empty, &w, &change, &full, &err));
        assert_non_null(full);
    }
    struct vdb_built *b = full == NULL ? empty : full;
    assert_ok(repo_pack_begin(f->repo, &pack, &err));
    assert_ok(vdb_built_write(b, NULL, &w, pack, false, &err));
    assert_ok(repo_pack_publish(pack, &err));
    struct repo_oid root = b->root;
    repo_pack_free(pack);
    vdb_built_free(full);
    vdb_built_free(empty);
    return root;
}

static void assert_root(struct git_fixture *f, const struct vdb_config *config, const struct vdb_points *points,
                        const char *root_1)
{
    char hex[REPO_OID_HEX + 1];
    grebe_error err = GREBE_ERROR_INIT;
    struct vdb_snapshot *s = NULL;
    uint64_t checked = 7;
    struct repo_oid root = write_points(f, config, 1, points);
    repo_oid_hex(&root, hex);
    assert_string_equal(hex, root_1);
    /* and back: the same points, and tables that fit them */
    assert_ok(vdb_snapshot_open(f->repo, &root, mem_system(), &s, &err));
    assert_int_equal(s->meta.format, 1);
    assert_int_equal(s->meta.point_count, points->n);
    for (size_t i = 0; i < points->n; i++) {
        const struct vdb_id id = vdb_points_id(points, i);
        unsigned char digest[VDB_DIGEST_BYTES];
        uint32_t row = 0;
        size_t len = 0, stored_len = 0;
        vdb_id_digest(&id, digest);
        const struct vdb_shard *sh = &s->shards[vdb_shard_of(digest)];
        assert_true(sh->exists && vdb_rows_find(&sh->ids, &id, &row));
        assert_memory_equal(sh->vectors.values + (size_t)row * points->dim, points->vectors + i * points->dim,
                            points->dim * sizeof(float));
        const char *payload = vdb_points_payload(points, i, &len);
        const unsigned char *stored = vdb_rows_get(&sh->payloads, row, &stored_len);
        assert_int_equal(len, stored_len);
        assert_memory_equal(stored, payload, len);
    }
    assert_ok(vdb_lsh_validate(s, false, &checked, &err));
    assert_int_equal(checked, 0);
    assert_ok(vdb_lsh_validate(s, true, &checked, &err));
    assert_int_equal(checked, points->n == 0 ? 0 : 12 * points->n);
    vdb_snapshot_close(s);
}

static void test_lsh_write__examples__published_roots(void **state)
{
    (void)state;
    static const char *const e3[] = { "{\"id\":\"a\",\"vector\":[1,0],\"payload\":{\"topic\":\"rust\"}}",
                                      "{\"id\":7,\"vector\":[0,1]}" };
    static const char *const e5[] = {
        "{\"id\":\"1\",\"vector\":[1,2,3],\"payload\":{\"n\":1,\"f\":1.0,\"big\":1e16,\"neg\":-5}}",
        "{\"id\":1,\"vector\":[1,2,3],\"payload\":{\"z\":[null,true,false,\"\\u0001\\n\\\"\\\\/\\u007f\\u20ac\\ud83d\\ude00\"]}}",
        "{\"id\":18446744073709551615,\"vector\":[0,0,0],\"payload\":{\"\":{\"b\":2,\"a\":18446744073709551615}}}",
        "{\"id\":\"\",\"vector\":[-1,0,0.5],\"payload\":{\"\\u00e9\":0.1,\"e\":1e-7,\"E\":-0.0}}"
    };
    static const char *const e6[] = {
        "{\"id\":\"p0\",\"vector\":[0.0,0.0]}", "{\"id\":\"p1\",\"vector\":[-0.0,1.0]}",
        "{\"id\":\"p2\",\"vector\":[0.0,1.0]}", "{\"id\":\"p3\",\"vector\":[1.0,1.0]}",
        "{\"id\":\"p4\",\"vector\":[2.0,2.0]}", "{\"id\":\"p5\",\"vector\":[1.0,1.0]}",
        "{\"id\":\"p6\",\"vector\":[-1.0,-0.0]}", "{\"id\":\"p7\",\"vector\":[0.0,-0.0]}" };
    static const char *const e9[] = { "{\"id\":\"x\",\"vector\":[0.5]}", "{\"id\":\"y\",\"vector\":[-0.5]}" };
    static const char *const golden[] = { "{\"id\":\"old\",\"vector\":[1,0],\"payload\":{\"topic\":\"v1\"}}" };
    static const struct {
        const char *const *lines;
        size_t n;
        uint32_t dim;
        const char *root;
    } cases[] = { { NULL, 0, 2, "0ea7f46fcb1f4b855e3d29c55146464594c5a970" },
                  { e3, 2, 2, "1c669e98f778302d042ea1d7d457598a544ef069" },
                  { e5, 4, 3, "65746ca5d6ea10ed2887a1f77e107c436039b367" },
                  { e6, 8, 2, "13db032ca32a1fdb5177ce05692d2509cfbea615" },
                  { e9, 2, 1, "27fff03860182ef8ad1c5d08083b5c9612fb63f1" },
                  { golden, 1, 2, "b02e98c1f919ec065ac342812a5ccf6b62bc4217" } };
    struct git_fixture f;
    struct vdb_points p;
    git_fixture_open(&f, REPO_CREATE);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct vdb_config c = VDB_CONFIG_INIT(cases[i].dim);
        if (cases[i].lines == e5) {
            c.vector_space = "m/\xc3\xa9@1";
            c.vector_space_len = strlen(c.vector_space);
        }
        if (cases[i].lines == e9) {
            c.full_scan_threshold = 0;
            c.default_probes = c.default_candidate_limit = 1;
        }
        vdb_points_init(&p, mem_system());
        add_lines(&p, cases[i].lines, cases[i].n);
        assert_root(&f, &c, &p, cases[i].root);
        vdb_points_release(&p);
    }
    const struct vdb_config c2 = VDB_CONFIG_INIT(2), c8 = VDB_CONFIG_INIT(8), c16 = VDB_CONFIG_INIT(16);
    vdb_points_init(&p, mem_system());
    add_16(&p);
    assert_root(&f, &c2, &p, "274c3524d1cdd7d3f7da329366234d7399dc390b");
    vdb_points_release(&p);
    vdb_points_init(&p, mem_system());
    add_synthetic(&p, 300, 8, 0);
    assert_root(&f, &c8, &p, "6e856458d9b8213f4be86639e81e5cb9760be38b");
    vdb_points_release(&p);
    vdb_points_init(&p, mem_system());
    add_synthetic(&p, 1000, 16, 32);
    assert_root(&f, &c16, &p, "bde6a6072aa2106b610cd9c7277a03c7a190df81");
    vdb_points_release(&p);
    git_fixture_close(&f);
}

static void test_lsh_signature__golden__bits(void **state)
{
    (void)state;
    grebe_error err = GREBE_ERROR_INIT;
    struct vdb_config c = VDB_CONFIG_INIT(3);
    struct vdb_lsh_planes *planes = NULL;
    const float v[3] = { 1.0F, -2.0F, 0.5F }, zero[3] = { 0.0F, -0.0F, 0.0F };
    c.tables = 2;
    c.signature_bits = 4;
    assert_ok(vdb_lsh_planes_new(&c, mem_system(), &planes, &err));
    assert_int_equal(vdb_lsh_signature(planes, 0, v), 0x0);
    assert_int_equal(vdb_lsh_signature(planes, 1, v), 0x4);
    assert_int_equal(vdb_lsh_signature(planes, 1, zero), 0xf);
    vdb_lsh_planes_free(planes);

    static const unsigned expected[12] = { 0x82b, 0xc0b, 0x03d, 0xf62, 0xde5, 0x476, 0x9e4, 0x90a, 0x2d1, 0x2a1, 0x79a, 0x8b4 };
    const struct vdb_config standard = VDB_CONFIG_INIT(2);
    const float old[2] = { 1.0F, 0.0F };
    assert_ok(vdb_lsh_planes_new(&standard, mem_system(), &planes, &err));
    for (uint32_t t = 0; t < 12; t++) {
        assert_int_equal(vdb_lsh_signature(planes, t, old), expected[t]);
    }
    vdb_lsh_planes_free(planes);
    c.tables = UINT64_C(1) << 62;
    assert_fails(vdb_lsh_planes_new(&c, mem_system(), &planes, &err), GREBE_ELIMIT, "coefficients");
    c.tables = 0;
    assert_fails(vdb_lsh_planes_new(&c, mem_system(), &planes, &err), GREBE_EINVAL, "tables");
}

static void test_lsh_probes__order__by_distance(void **state)
{
    (void)state;
    const uint64_t signatures[2] = { 0x0, 0x4 };
    static const struct { uint32_t table; uint64_t bucket; } first[] = { { 0, 0 }, { 1, 4 }, { 0, 1 }, { 0, 2 }, { 0, 4 }, { 0, 8 } };
    struct vdb_lsh_probes p = { .n_tables = 2, .n_bits = 4 };
    uint32_t table = 0, n = 0, distance = 0;
    uint64_t mask = 0, before = 0;
    bool seen[2][16] = { { false } };
    while (vdb_lsh_probes_next(&p, &table, &mask)) {
        if (n < 6) {
            assert_int_equal(table, first[n].table);
            assert_int_equal(signatures[table] ^ mask, first[n].bucket);
        }
        assert_true((uint32_t)__builtin_popcountll(mask) >= distance);
        distance = (uint32_t)__builtin_popcountll(mask);
        assert_false(seen[table][mask]);
        seen[table][mask] = true;
        before = mask;
        n++;
    }
    assert_int_equal(n, 32);
    assert_int_equal(before, 0xf);
    /* lexicographic by positions: {0,1} {0,2} {0,3} {1,2} {1,3} {2,3} */
    static const uint64_t pairs[] = { 3, 5, 9, 6, 10, 12 };
    struct vdb_lsh_probes q = { .n_tables = 1, .n_bits = 4 };
    for (int i = 0; i < 5; i++) {
        assert_true(vdb_lsh_probes_next(&q, &table, &mask));
    }
    for (int i = 0; i < 6; i++) {
        assert_true(vdb_lsh_probes_next(&q, &table, &mask));
        assert_int_equal(mask, pairs[i]);
    }
    struct vdb_lsh_probes wide = { .n_tables = 1, .n_bits = 64 };
    for (int i = 0; i < 65; i++) {
        assert_true(vdb_lsh_probes_next(&wide, &table, &mask));
        assert_true(mask == (i == 0 ? 0 : UINT64_C(1) << (i - 1)));
    }
}

/* ---- search ---- */

struct ranked {
    uint64_t key;
    size_t i;
    const struct vdb_points *p;
};

static int compare_ranked(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    const struct vdb_id ix = vdb_points_id(x->p, x->i), iy = vdb_points_id(y->p, y->i);
    return x->key != y->key ? (x->key > y->key ? -1 : 1) : vdb_id_compare(&ix, &iy);
}

static int compare_digests(const void *a, const void *b) { return memcmp(a, b, VDB_DIGEST_BYTES); }

static void check_search(struct vdb_snapshot *s, const struct vdb_points *p, const float *query, uint64_t probes,
                         uint64_t limit)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct vdb_lsh_planes *planes = NULL;
    struct { unsigned char digest[VDB_DIGEST_BYTES]; size_t i; } *order = calloc(p->n + 1, sizeof *order);
    bool *taken = calloc(p->n + 1, sizeof *taken);
    struct ranked *ranked = calloc(p->n + 1, sizeof *ranked);
    struct vdb_lsh_probes walk = { .n_tables = 12, .n_bits = 12 };
    struct vdb_search_stats expected = { .collection_points = p->n }, stats;
    uint32_t table = 0;
    uint64_t mask = 0;
    const uint64_t n_probes = probes == 0 ? 96 : probes, candidates = limit == 0 ? 10000 : limit;
    struct vdb_work w = work;
    w.a = mem_system();
    assert_ok(vdb_lsh_planes_new(&s->meta.config, mem_system(), &planes, &err));
    for (size_t i = 0; i < p->n; i++) {
        const struct vdb_id id = vdb_points_id(p, i);
        vdb_id_digest(&id, order[i].digest);
        order[i].i = i;
    }
    qsort(order, p->n, sizeof *order, compare_digests);
    while (expected.buckets_probed < n_probes && !expected.candidate_limit_exhausted &&
           vdb_lsh_probes_next(&walk, &table, &mask)) {
        const uint64_t bucket = vdb_lsh_signature(planes, table, query) ^ mask;
        expected.buckets_probed++;
        for (size_t k = 0; k < p->n; k++) {
            const size_t i = order[k].i;
            if (taken[i] || vdb_lsh_signature(planes, table, p->vectors + i * p->dim) != bucket) {
                continue;
            }
            if (expected.candidates_discovered >= candidates) {
                expected.candidate_limit_exhausted = true;
                break;
            }
            taken[i] = true;
            const float score = (float)vdb_cosine(query, p->vectors + i * p->dim, p->dim);
            ranked[expected.candidates_discovered++] = (struct ranked){ vdb_score_key((double)score), i, p };
        }
    }
    qsort(ranked, (size_t)expected.candidates_discovered, sizeof *ranked, compare_ranked);
    const struct vdb_query q = { query, 10, VDB_SEARCH_APPROXIMATE, probes, limit, NULL };
    struct vdb_hit *hits = NULL;
    size_t n = 0;
    assert_ok(vdb_search(s, &w, &q, &hits, &n, &stats, &err));
    assert_int_equal(n, expected.candidates_discovered < 10 ? expected.candidates_discovered : 10);
    for (size_t i = 0; i < n; i++) {
        const struct vdb_id found = vdb_rows_id(&s->shards[hits[i].at.shard].ids, hits[i].at.row);
        const struct vdb_id wanted = vdb_points_id(p, ranked[i].i);
        assert_int_equal(vdb_id_compare(&found, &wanted), 0);
        assert_true(vdb_score_key(hits[i].score) == ranked[i].key);
    }
    assert_int_equal(stats.buckets_probed, expected.buckets_probed);
    assert_int_equal(stats.candidates_discovered, expected.candidates_discovered);
    assert_int_equal(stats.vectors_scored, expected.candidates_discovered);
    assert_int_equal(stats.collection_points, p->n);
    assert_int_equal(stats.probe_limit_exhausted, expected.buckets_probed == n_probes);
    assert_int_equal(stats.candidate_limit_exhausted, expected.candidate_limit_exhausted);
    mem_free(mem_system(), hits, n * sizeof *hits);
    vdb_lsh_planes_free(planes);
    free(order);
    free(taken);
    free(ranked);
}

static void test_lsh_search__probes_and_limits__as_plain_loops(void **state)
{
    (void)state;
    grebe_error err = GREBE_ERROR_INIT;
    struct git_fixture f;
    struct vdb_points p;
    struct vdb_snapshot *s = NULL;
    const struct vdb_config c = VDB_CONFIG_INIT(8);
    git_fixture_open(&f, REPO_CREATE);
    vdb_points_init(&p, mem_system());
    add_synthetic(&p, 300, 8, 0);
    struct repo_oid root = write_points(&f, &c, 1, &p);
    assert_ok(vdb_snapshot_open(f.repo, &root, mem_system(), &s, &err));
    static const uint64_t probes[] = { 0, 1, 12, 13, 200, 1000 }, limits[] = { 0, 1, 25 };
    for (size_t i = 0; i < 6; i++) {
        for (size_t k = 0; k < 3; k++) {
            check_search(s, &p, p.vectors + 8 * 17, probes[i], limits[k]);
            check_search(s, &p, (const float[8]){ 0 }, probes[i], limits[k]);
        }
    }
    const struct vdb_query q = { .vector = p.vectors, .mode = VDB_SEARCH_APPROXIMATE, .probes = UINT64_MAX, .limit = 3 };
    struct vdb_hit *hits = NULL;
    struct vdb_search_stats stats;
    size_t n = 0;
    struct vdb_work w = work;
    w.a = mem_system();
    assert_ok(vdb_search(s, &w, &q, &hits, &n, &stats, &err)); /* all buckets there are, then the end */
    assert_int_equal(stats.buckets_probed, 12 << 12);
    assert_int_equal(stats.candidates_discovered, 300);
    assert_false(stats.probe_limit_exhausted);
    mem_free(mem_system(), hits, n * sizeof *hits);
    vdb_snapshot_close(s);
    vdb_points_release(&p);
    git_fixture_close(&f);
}

/* ---- damage ---- */

/* The root with one path replaced, made by git itself. */
static struct repo_oid damaged_root(struct git_fixture *f, const struct repo_oid *root, const char *script)
{
    char hex[REPO_OID_HEX + 1], file[600];
    size_t len = 0;
    struct repo_oid out;
    repo_oid_hex(root, hex);
    snprintf(file, sizeof file, "%s/root.txt", f->folder);
    assert_int_equal(run_shell("cd %s && export GIT_WORK_TREE=. GIT_DIR=%s GIT_INDEX_FILE=%s/index && rm -f \"$GIT_INDEX_FILE\" && git read-tree %s"
                               " && { %s ; } && git write-tree > root.txt", f->folder, f->path, f->folder, hex, script), 0);
    unsigned char *text = test_read_file(file, &len);
    assert_true(len >= 40);
    for (int i = 0; i < 20; i++) {
        char two[3] = { (char)text[2 * i], (char)text[2 * i + 1], 0 };
        out.bytes[i] = (unsigned char)strtoul(two, NULL, 16);
    }
    free(text);
    git_fixture_reopen(f);
    return out;
}

static void test_lsh_load__damage__corrupt_with_place(void **state)
{
    (void)state;
    static const struct { const char *script, *fragment; } cases[] = {
        /* another payload, not canonical */
        { "P=$(git ls-files | grep payload.json | grep '^points' | head -1); B=$(printf '{ }' | git hash-object -w --stdin);"
          " git update-index --cacheinfo 100644,$B,$P", "payload.json" },
        { "P=$(git ls-files | grep id.json | grep '^points' | head -1); B=$(printf '{\"type\":\"uint\",\"value\":12345678}' |"
          " git hash-object -w --stdin); git update-index --cacheinfo 100644,$B,$P", "expected the hash of its id" },
        { "P=$(git ls-files | grep id.json | grep '^points' | head -1); B=$(printf '{\"type\":\"uint\",\"value\":-1}' |"
          " git hash-object -w --stdin); git update-index --cacheinfo 100644,$B,$P", "id.json" },
        { "P=$(git ls-files | grep vector.f32le | grep '^points' | head -1); B=$(printf 'GTVDBV01' | git hash-object -w --stdin);"
          " git update-index --cacheinfo 100644,$B,$P", "vector.f32le" },
        { "P=$(git ls-files | grep vector.f32le | grep '^points' | head -1); B=$(printf"
          " 'GTVDBV01\\002\\000\\000\\000\\000\\000\\200\\177\\000\\000\\000\\000' | git hash-object -w --stdin);"
          " git update-index --cacheinfo 100644,$B,$P", "finite" },
        { "P=$(git ls-files | grep vector.f32le | grep '^points' | head -1); git update-index --force-remove $P", "found nothing" },
        { "B=$(git hash-object -w --stdin < /dev/null); git update-index --add --cacheinfo 100644,$B,points/zzz", "zzz" },
    };
    struct git_fixture f;
    struct vdb_points p;
    struct vdb_snapshot *s = NULL;
    grebe_error err = GREBE_ERROR_INIT;
    const struct vdb_config c = VDB_CONFIG_INIT(2);
    git_fixture_open(&f, REPO_CREATE);
    vdb_points_init(&p, mem_system());
    add_16(&p);
    struct repo_oid root = write_points(&f, &c, 1, &p);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct repo_oid bad = damaged_root(&f, &root, cases[i].script);
        assert_fails(vdb_snapshot_open(f.repo, &bad, mem_system(), &s, &err), GREBE_ECORRUPT, cases[i].fragment);
        assert_null(s);
    }
    vdb_points_release(&p);
    git_fixture_close(&f);
}

static void test_lsh_validate__damage_of_tables__found_in_full(void **state)
{
    (void)state;
    static const char *const scripts[] = {
        /* an entry less */
        "P=$(git ls-files index | head -1); git ls-files ${P%/*} | git update-index --force-remove --stdin",
        /* a table less */
        "git ls-files index/lsh-v1/0003 | git update-index --force-remove --stdin",
        /* an entry more */
        "T=$(git rev-parse $(git write-tree):points/$(git ls-files points | head -1 | cut -d/ -f2,3));"
        " git read-tree --prefix=index/lsh-v1/0000/ff/fff/0000000000000000000000000000000000000000000000000000000000000000/ $T",
    };
    struct git_fixture f;
    struct vdb_points p;
    struct vdb_snapshot *s = NULL;
    grebe_error err = GREBE_ERROR_INIT;
    const struct vdb_config c = VDB_CONFIG_INIT(2);
    uint64_t checked = 0;
    git_fixture_open(&f, REPO_CREATE);
    vdb_points_init(&p, mem_system());
    add_16(&p);
    struct repo_oid root = write_points(&f, &c, 1, &p);
    for (size_t i = 0; i < sizeof scripts / sizeof scripts[0]; i++) {
        struct repo_oid bad = damaged_root(&f, &root, scripts[i]);
        assert_false(repo_oid_equal(&bad, &root));
        assert_ok(vdb_snapshot_open(f.repo, &bad, mem_system(), &s, &err));
        assert_ok(vdb_lsh_validate(s, false, &checked, &err));
        assert_fails(vdb_lsh_validate(s, true, &checked, &err), GREBE_ECORRUPT, "lsh-v1");
        assert_int_equal(checked, 0);
        vdb_snapshot_close(s);
        s = NULL;
    }
    vdb_points_release(&p);
    git_fixture_close(&f);
}

static void test_lsh_load__no_memory__fails_and_frees(void **state)
{
    (void)state;
    grebe_error err = GREBE_ERROR_INIT;
    struct git_fixture f;
    struct vdb_points p;
    const struct vdb_config c = VDB_CONFIG_INIT(2);
    git_fixture_open(&f, REPO_CREATE);
    vdb_points_init(&p, mem_system());
    add_16(&p);
    struct repo_oid root = write_points(&f, &c, 1, &p);
    grebe_status st = GREBE_ENOMEM;
    for (size_t fail_at = 1; st != GREBE_OK; fail_at++) {
        struct test_allocator a;
        struct vdb_snapshot *s = NULL;
        struct vdb_hit *hits = NULL;
        struct vdb_search_stats stats;
        size_t n = 0;
        test_allocator_init(&a);
        a.fail_at = fail_at;
        const struct vdb_work w = { &a.a, NULL, 1, NULL };
        const struct vdb_query q = { .vector = p.vectors, .limit = 4, .mode = VDB_SEARCH_APPROXIMATE };
        st = vdb_snapshot_open(f.repo, &root, &a.a, &s, &err);
        if (st == GREBE_OK) {
            st = vdb_search(s, &w, &q, &hits, &n, &stats, &err);
            mem_free(&a.a, hits, n * sizeof *hits);
        }
        vdb_snapshot_close(s);
        assert_true(st == GREBE_OK || st == GREBE_ENOMEM);
        assert_int_equal(a.n_live, 0);
        assert_true(fail_at < 20000);
    }
    vdb_points_release(&p);
    git_fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lsh_signature__golden__bits),
        cmocka_unit_test(test_lsh_probes__order__by_distance),
        cmocka_unit_test(test_lsh_write__examples__published_roots),
        cmocka_unit_test(test_lsh_search__probes_and_limits__as_plain_loops),
        cmocka_unit_test(test_lsh_load__damage__corrupt_with_place),
        cmocka_unit_test(test_lsh_validate__damage_of_tables__found_in_full),
        cmocka_unit_test(test_lsh_load__no_memory__fails_and_frees),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
