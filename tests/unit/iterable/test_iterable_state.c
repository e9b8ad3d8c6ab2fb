/* SPDX-License-Identifier: Apache-2.0 */
#include "iterable_fixture.h"

#include <sys/resource.h>
#include <time.h>

/* Places of streams: exact for every kind of step, refused where they belong to another stream. */

static grebe_context *context(void)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_context *ctx;
    assert_ok(context_new(NULL, &ctx, &err));
    return ctx;
}

/* ---- random trees ---- */

static int64_t below(uint64_t *s, int64_t n)
{
    return (int64_t)(test_random(s) % (uint64_t)n);
}

static grebe_iterable *random_leaf(grebe_context *ctx, uint64_t *s)
{
    int64_t rows[8], n = 1 + below(s, 8);
    for (int64_t i = 0; i < n; i++) {
        rows[i] = below(s, 12);
    }
    int64_t kind = below(s, 3);
    return id_iterable(ctx, rows, n, 1 + below(s, 6), kind > 0, kind != 1);
}

static grebe_iterable *random_tree(grebe_context *ctx, uint64_t *s, int64_t depth, char *told, size_t room);

static void tell(char *told, size_t room, const char *what)
{
    size_t at = strlen(told);
    snprintf(told + at, room - at, " %s", what);
}

static grebe_iterable *random_join(grebe_context *ctx, uint64_t *s, grebe_iterable *it, char *told, size_t room)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_iterable *next = NULL;
    tell(told, room, "(");
    grebe_iterable *other = random_tree(ctx, s, below(s, 3), told, room);
    tell(told, room, ")");
    const grebe_iterable *both[] = { it, other, it };
    uint32_t seed = (uint32_t)below(s, 100);
    size_t n = 2 + (size_t)below(s, 2);
    static const double two[] = { 0.3, 0.7 }, three[] = { 0.2, 0.5, 0.3 };
    int64_t kind = below(s, 3);
    grebe_status st;
    if (kind == 0) {
        tell(told, room, "chain");
        st = grebe_iterable_concatenate(both, n, 0, &next, &err);
    } else {
        tell(told, room, "interleave");
        st = grebe_iterable_interleave(both, n,
                                       kind == 1 ? NULL
                                       : n == 2  ? two
                                                 : three,
                                       (grebe_seed){ &seed, 1 }, (grebe_stop)below(s, 3), &next, &err);
    }
    if (st == GREBE_ESCHEMA || st == GREBE_EINVAL) {
        next = grebe_iterable_keep(it); /* lists beside numbers, nodes beside none */
    } else if (st != GREBE_OK) {
        fail_msg("%s", err.message);
    }
    grebe_iterable_free(other);
    return then(it, next);
}

static grebe_iterable *random_step(grebe_context *ctx, uint64_t *s, grebe_iterable *it, char *told, size_t room)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_iterable *next = NULL;
    grebe_iterable_shuffle_options shuffle = GREBE_ITERABLE_SHUFFLE_OPTIONS_INIT;
    uint32_t seed = (uint32_t)below(s, 1000);
    static const char *const names[] = { "shuffle", "shuffle", "take",   "skip",     "repeat", "map",
                                         "filter",  "where",   "join",   "prefetch", "node",   "formatted",
                                         "shard",   "cast",    "rename", "epoch",    "worker" };
    int64_t kind = below(s, 17);
    if (strcmp(names[kind], "join") == 0) {
        return random_join(ctx, s, it, told, room);
    }
    tell(told, room, names[kind]);
    switch (kind) {
    case 0:
    case 1:
        shuffle.seed = (grebe_seed){ &seed, 1 };
        shuffle.buffer_rows = 1 + below(s, 12);
        shuffle.max_input_shards = 1 + below(s, 4);
        assert_ok(grebe_iterable_shuffle(it, &shuffle, &next, &err));
        break;
    case 2: assert_ok(grebe_iterable_take(it, 5 + below(s, 40), &next, &err)); break;
    case 3: assert_ok(grebe_iterable_skip(it, below(s, 6), &next, &err)); break;
    case 4: assert_ok(grebe_iterable_repeat(it, 1 + below(s, 3), &next, &err)); break;
    case 5: return with_function(it, below(s, 2) == 0 ? "x10" : "dup", 1 + below(s, 5));
    case 6: return with_function(it, below(s, 2) == 0 ? "even" : "odd_batch", 1 + below(s, 5));
    case 7: assert_ok(grebe_iterable_filter(it, "id % 3 <> 1", &next, &err)); break;
    case 9: assert_ok(grebe_iterable_prefetch(it, 1 + (int32_t)below(s, 3), &next, &err)); break;
    case 10: assert_ok(grebe_iterable_split_by_node(it, below(s, 2), 2, GREBE_NODE_AUTO, &next, &err)); break;
    case 11: assert_ok(grebe_iterable_with_formatted(it, below(s, 2) == 0, &next, &err)); break;
    case 12: assert_ok(grebe_iterable_shard(it, 2, below(s, 2), below(s, 2) == 0, &next, &err)); break;
    case 13: assert_ok(grebe_iterable_cast(it, ID_FEATURES, false, &next, &err)); break;
    case 14: {
        grebe_column_rename names_of[] = { { "id", "id" } };
        assert_ok(grebe_iterable_rename_columns(it, names_of, 1, &next, &err));
        break;
    }
    case 15: assert_ok(grebe_iterable_set_epoch(it, below(s, 3), &next, &err)); break;
    default: assert_ok(grebe_iterable_for_worker(it, below(s, 2), 2, &next, &err)); break;
    }
    return then(it, next);
}

static grebe_iterable *random_tree(grebe_context *ctx, uint64_t *s, int64_t depth, char *told, size_t room)
{
    grebe_iterable *it = random_leaf(ctx, s);
    tell(told, room, "leaf");
    for (int64_t i = 0; i < depth; i++) {
        it = random_step(ctx, s, it, told, room);
    }
    return it;
}

/* From every k-th row on: the state is taken there, a pass goes on from it, and another one from where that stopped. */
static void check_places(const grebe_iterable *it, uint64_t *s, const char *told)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct ids all = { 0 }, part = { 0 };
    grebe_iterator *iter;
    ids_all(it, NULL, 7, &all);
    int64_t step = 1 + (int64_t)all.n / 12;
    assert_ok(grebe_iterator_new(it, NULL, NULL, &iter, &err));
    for (size_t at = 0;;) {
        size_t before = part.n;
        bool is_end = !ids_next(iter, 1 + below(s, 2 * step), &part, &err);
        int64_t back = is_end ? 0 : below(s, (int64_t)(part.n - before));
        at = part.n - (size_t)back;
        char *text = state_text(iter, back);
        struct ids first = { 0 }, rest = { 0 };
        grebe_iterator *second;
        assert_ok(grebe_iterator_new(it, text, NULL, &second, &err));
        bool has = ids_next(second, 1 + below(s, 5), &first, &err);
        char *again = state_text(second, has ? below(s, (int64_t)first.n + 1) : 0);
        char *newest = state_text(second, 0);
        grebe_iterator_free(second);
        ids_all(it, newest, below(s, 4), &rest);
        assert_ids(told, &rest, all.ids + at + first.n, all.n - at - first.n);
        assert_ids(told, &first, all.ids + at, first.n);
        rest.n = 0;
        ids_all(it, again, 3, &rest);
        assert_true(rest.n >= all.n - at - first.n && rest.n <= all.n - at);
        assert_ids(told, &rest, all.ids + (all.n - rest.n), rest.n);
        free(first.ids);
        free(rest.ids);
        free(text);
        free(again);
        free(newest);
        if (is_end) {
            break;
        }
    }
    assert_ids(told, &part, all.ids, all.n);
    grebe_iterator_free(iter);
    free(all.ids);
    free(part.ids);
}

static void test_iterator_state__random_trees__resumed_twice_rest_is_exact(void **state)
{
    (void)state;
    uint64_t seed = test_seed();
    grebe_context *ctx = context();
    size_t n_rows = 0;
    for (int i = 0; i < 300; i++) {
        uint64_t s = seed + (uint64_t)i * 7919;
        char told[1024];
        snprintf(told, sizeof told, "tree %d:", i);
        grebe_iterable *it = random_tree(ctx, &s, 1 + below(&s, 6), told, sizeof told);
        struct ids all = { 0 };
        ids_all(it, NULL, 0, &all);
        n_rows += all.n;
        if (all.n < 2000) {
            check_places(it, &s, told);
        }
        free(all.ids);
        grebe_iterable_free(it);
    }
    print_message("%zu rows\n", n_rows);
    assert_true(n_rows > 3000);
    context_free(ctx);
}

/* ---- what is refused ---- */

static grebe_iterable *shuffled(grebe_context *ctx, int64_t n_shards, uint32_t seed, int64_t buffer)
{
    grebe_error err = GREBE_ERROR_INIT;
    static const int64_t rows[] = { 10, 10, 10, 10 };
    grebe_iterable_shuffle_options o = GREBE_ITERABLE_SHUFFLE_OPTIONS_INIT;
    grebe_iterable *next;
    o.seed = (grebe_seed){ &seed, 1 };
    o.buffer_rows = buffer;
    grebe_iterable *it = id_iterable(ctx, rows, n_shards, 4, true, true);
    assert_ok(grebe_iterable_shuffle(it, &o, &next, &err));
    return then(it, next);
}

static char *place_after(const grebe_iterable *it, int64_t n)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_iterator *iter;
    struct ids ids = { 0 };
    assert_ok(grebe_iterator_new(it, NULL, NULL, &iter, &err));
    if (n > 0) {
        ids_next(iter, n, &ids, &err);
    }
    char *text = state_text(iter, 0);
    grebe_iterator_free(iter);
    free(ids.ids);
    return text;
}

static void test_iterator_new__state_of_another_stream__refused(void **state)
{
    (void)state;
    grebe_context *ctx = context();
    grebe_error err = GREBE_ERROR_INIT;
    grebe_iterable *it = shuffled(ctx, 4, 42, 8),
                   *others[] = { shuffled(ctx, 3, 42, 8), shuffled(ctx, 4, 43, 8), shuffled(ctx, 4, 42, 9) };
    char *text = place_after(it, 17);
    grebe_iterator *iter;
    for (size_t i = 0; i < 3; i++) {
        assert_fails(grebe_iterator_new(others[i], text, NULL, &iter, &err), GREBE_EINVAL, "another stream");
        assert_null(iter);
        grebe_iterable_free(others[i]);
    }
    char *other = malloc(strlen(text) + 1);
    strcpy(other, text);
    memcpy(strstr(other, "\"version\": 1") + 11, "9", 1);
    assert_fails(grebe_iterator_new(it, other, NULL, &iter, &err), GREBE_EINVAL, "version 9");
    static const char *const wrong[] = { "", "{}", "[]", "nonsense", "{\"version\": 1}", "{\"version\": \"1\"}" };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_fails(grebe_iterator_new(it, wrong[i], NULL, &iter, &err), GREBE_EINVAL, "state");
    }
    free(other);
    free(text);
    grebe_iterable_free(it);
    context_free(ctx);
}

/* A state with words changed: never anything but rows of the source, or a refusal. */
static void test_iterator_new__words_changed__no_harm(void **state)
{
    (void)state;
    grebe_context *ctx = context();
    uint64_t seed = test_seed();
    grebe_error err = GREBE_ERROR_INIT;
    grebe_iterable *it = shuffled(ctx, 4, 42, 8);
    char *text = place_after(it, 23);
    char *words = strstr(text, "\"words\": [") + 10;
    size_t head = (size_t)(words - text), n_good = 0;
    for (int turn = 0; turn < 3000; turn++) {
        char changed[8192];
        snprintf(changed, sizeof changed, "%.*s", (int)head, text);
        int64_t at = below(&seed, 60), i = 0;
        for (const char *p = words; *p != '\0' && *p != ']'; i++) {
            char *end;
            long long v = strtoll(p, &end, 10);
            static const long long nasty[] = { 0, 1, -1, 2, 7, 1000, INT64_MAX, INT64_MIN, INT32_MAX, 40 };
            v = i == at ? nasty[below(&seed, 10)] : v;
            size_t len = strlen(changed);
            snprintf(changed + len, sizeof changed - len, "%s%lld", i > 0 ? "," : "", v);
            p = *end == ',' ? end + 1 : end;
        }
        strcat(changed, "]}");
        grebe_iterator *iter;
        grebe_status st = grebe_iterator_new(it, changed, NULL, &iter, &err);
        if (st == GREBE_OK) {
            struct ArrowArray rows;
            struct ArrowSchema schema;
            for (int k = 0; k < 50; k++) {
                st = grebe_iterator_next(iter, 0, &rows, &schema, &err);
                if (st != GREBE_OK || rows.release == NULL) {
                    break;
                }
                for (int64_t r = 0; r < rows.length; r++) {
                    assert_in_range(ids_of(&rows)[r], 0, 39);
                }
                rows.release(&rows);
                schema.release(&schema);
            }
            grebe_iterator_free(iter);
            n_good++;
        } else {
            assert_int_equal(st, GREBE_EINVAL);
        }
    }
    assert_true(n_good > 10 && n_good < 2990);
    free(text);
    grebe_iterable_free(it);
    context_free(ctx);
}

static void test_iterator_new__state_of_another_epoch__begins_that_epoch(void **state)
{
    (void)state;
    grebe_context *ctx = context();
    grebe_error err = GREBE_ERROR_INIT;
    grebe_iterable *it = shuffled(ctx, 4, 42, 8), *next;
    char *text = place_after(it, 17), *end;
    struct ids fresh = { 0 }, resumed = { 0 };
    assert_ok(grebe_iterable_set_epoch(it, 1, &next, &err));
    ids_all(next, NULL, 0, &fresh);
    ids_all(next, text, 0, &resumed);
    assert_ids("epoch 1", &resumed, fresh.ids, fresh.n);
    assert_int_equal(fresh.n, 40);
    end = place_after(next, 40);
    resumed.n = 0;
    ids_all(next, end, 0, &resumed);
    assert_int_equal(resumed.n, 0);
    ids_all(it, end, 0, &resumed);
    assert_int_equal(resumed.n, 40);
    free(text);
    free(end);
    free(fresh.ids);
    free(resumed.ids);
    grebe_iterable_free(it);
    grebe_iterable_free(next);
    context_free(ctx);
}

static void test_iterable_set_epoch__with_take__differs_and_repeats(void **state)
{
    (void)state;
    grebe_context *ctx = context();
    grebe_error err = GREBE_ERROR_INIT;
    grebe_iterable *base = shuffled(ctx, 4, 1, 12), *it, *epochs[3];
    struct ids ids[3] = { { 0 } };
    assert_ok(grebe_iterable_take(base, 30, &it, &err));
    for (int e = 0; e < 3; e++) {
        struct ids again = { 0 };
        assert_ok(grebe_iterable_set_epoch(it, e, &epochs[e], &err));
        ids_all(epochs[e], NULL, 0, &ids[e]);
        ids_all(epochs[e], NULL, 5, &again);
        assert_int_equal(ids[e].n, 30);
        assert_ids("the same epoch", &again, ids[e].ids, 30);
        free(again.ids);
    }
    assert_memory_not_equal(ids[0].ids, ids[1].ids, 30 * 8);
    assert_memory_not_equal(ids[1].ids, ids[2].ids, 30 * 8);
    for (int e = 0; e < 3; e++) {
        free(ids[e].ids);
        grebe_iterable_free(epochs[e]);
    }
    assert_fails(grebe_iterable_set_epoch(it, -1, &epochs[0], &err), GREBE_EINVAL, "negative");
    grebe_iterable_free(base);
    grebe_iterable_free(it);
    context_free(ctx);
}

/* ---- nodes and workers ---- */

enum pipeline { PLAIN, SHUFFLED, TAKEN, SKIPPED, N_PIPELINES };

static grebe_iterable *pipeline(grebe_context *ctx, int64_t n_shards, enum pipeline kind)
{
    grebe_error err = GREBE_ERROR_INIT;
    static const int64_t rows[] = { 5, 5, 5, 5, 5, 5, 5, 5 };
    grebe_iterable_shuffle_options o = GREBE_ITERABLE_SHUFFLE_OPTIONS_INIT;
    uint32_t seed = 7;
    o.seed = (grebe_seed){ &seed, 1 };
    o.buffer_rows = 6;
    grebe_iterable *it = id_iterable(ctx, rows, n_shards, 2, true, true), *next = NULL;
    switch (kind) {
    case SHUFFLED: assert_ok(grebe_iterable_shuffle(it, &o, &next, &err)); break;
    case TAKEN: assert_ok(grebe_iterable_take(it, 2 * n_shards, &next, &err)); break;
    case SKIPPED: assert_ok(grebe_iterable_skip(it, 2 * n_shards, &next, &err)); break;
    default: return it;
    }
    return then(it, next);
}

static void check_union(grebe_context *ctx, int64_t n_shards, int64_t workers, int64_t nodes, enum pipeline kind)
{
    grebe_error err = GREBE_ERROR_INIT;
    uint8_t seen[64] = { 0 };
    size_t n = 0;
    grebe_iterable *it = pipeline(ctx, n_shards, kind);
    for (int64_t rank = 0; rank < nodes; rank++) {
        grebe_iterable *node;
        assert_ok(grebe_iterable_split_by_node(it, rank, nodes, GREBE_NODE_AUTO, &node, &err));
        for (int64_t id = 0; id < workers; id++) {
            grebe_iterable *worker;
            struct ids ids = { 0 };
            assert_ok(grebe_iterable_for_worker(node, id, workers, &worker, &err));
            ids_all(worker, NULL, 0, &ids);
            for (size_t i = 0; i < ids.n; i++) {
                seen[ids.ids[i]]++;
            }
            n += ids.n;
            free(ids.ids);
            grebe_iterable_free(worker);
        }
        grebe_iterable_free(node);
    }
    size_t wanted = (size_t)(kind == TAKEN ? 2 * n_shards : kind == SKIPPED ? 3 * n_shards : 5 * n_shards);
    if (n != wanted) {
        fail_msg("%lld shards, %lld workers, %lld nodes, pipeline %d: %zu rows, expected %zu", (long long)n_shards,
                 (long long)workers, (long long)nodes, (int)kind, n, wanted);
    }
    for (size_t i = 0; i < 64; i++) {
        assert_in_range(seen[i], 0, 1);
    }
    grebe_iterable_free(it);
}

static void test_iterable_for_worker__all_workers_and_nodes__every_row_once(void **state)
{
    (void)state;
    grebe_context *ctx = context();
    for (int64_t shards = 1; shards <= 8; shards++) {
        for (int64_t workers = 1; workers <= 8; workers++) {
            for (int64_t nodes = 1; nodes <= 8; nodes++) {
                for (int kind = 0; kind < N_PIPELINES; kind++) {
                    check_union(ctx, shards, workers, nodes, (enum pipeline)kind);
                }
            }
        }
    }
    context_free(ctx);
}

/* ---- what a resumption reads ---- */

static void test_iterator_new__deep_in_a_shard__reads_what_it_needs(void **state)
{
    (void)state;
    grebe_context *ctx = context();
    grebe_error err = GREBE_ERROR_INIT;
    struct id_source *s = calloc(1, sizeof *s);
    *s = (struct id_source){ .rows = { 1000000 }, .first = { 0 }, .n = 1, .batch = 1000 };
    grebe_iterable *it, *shuffle;
    grebe_iterable_shuffle_options o = GREBE_ITERABLE_SHUFFLE_OPTIONS_INIT;
    uint32_t seed = 3;
    o.seed = (grebe_seed){ &seed, 1 };
    o.buffer_rows = 1000;
    assert_ok(grebe_iterable_of_function(ctx, id_shard, s, free, 1, false, ID_FEATURES, &it, &err));
    assert_ok(grebe_iterable_shuffle(it, &o, &shuffle, &err));
    const grebe_iterable *both[] = { it, shuffle };
    for (int i = 0; i < 2; i++) {
        grebe_iterator *iter;
        struct ids ids = { 0 }, rest = { 0 };
        assert_ok(grebe_iterator_new(both[i], NULL, NULL, &iter, &err));
        for (int k = 0; k < 500; k++) {
            ids.n = 0;
            assert_true(ids_next(iter, 1001, &ids, &err));
        }
        char *text = state_text(iter, 0);
        assert_true(strlen(text) < 20000);
        ids.n = 0;
        assert_true(ids_next(iter, 10, &ids, &err));
        grebe_iterator_free(iter);
        s->n_given = 0;
        assert_ok(grebe_iterator_new(both[i], text, NULL, &iter, &err));
        assert_true(ids_next(iter, 10, &rest, &err));
        assert_ids("the rest", &rest, ids.ids, ids.n);
        print_message("%lld rows read, state of %zu bytes\n", (long long)s->n_given, strlen(text));
        assert_in_range(s->n_given, 1, i == 0 ? 2000 : 30000);
        grebe_iterator_free(iter);
        free(text);
        free(ids.ids);
        free(rest.ids);
    }
    grebe_iterable_free(it);
    grebe_iterable_free(shuffle);
    context_free(ctx);
}

/* Slow: only when asked for. */
static void test_iterator_next__ten_million_rows__memory_is_bounded(void **state)
{
    (void)state;
    if (getenv("GREBE_TEST_LONG") == NULL) {
        skip();
    }
    grebe_context *ctx = context();
    grebe_error err = GREBE_ERROR_INIT;
    struct id_source *s = calloc(1, sizeof *s);
    *s = (struct id_source){ .n = 10, .batch = 1000 };
    for (int64_t i = 0; i < 10; i++) {
        s->rows[i] = 1000000;
        s->first[i] = i * 1000000;
    }
    grebe_iterable *it, *shuffle;
    grebe_iterator *iter;
    grebe_iterable_shuffle_options o = GREBE_ITERABLE_SHUFFLE_OPTIONS_INIT;
    uint32_t seed = 3;
    int64_t n = 0, sum = 0;
    struct rusage before, after;
    o.seed = (grebe_seed){ &seed, 1 };
    o.buffer_rows = 100000;
    assert_ok(grebe_iterable_of_function(ctx, id_shard, s, free, 10, true, ID_FEATURES, &it, &err));
    assert_ok(grebe_iterable_shuffle(it, &o, &shuffle, &err));
    assert_ok(grebe_iterator_new(shuffle, NULL, NULL, &iter, &err));
    getrusage(RUSAGE_SELF, &before);
    clock_t begin = clock();
    for (;;) {
        struct ArrowArray rows;
        struct ArrowSchema schema;
        assert_ok(grebe_iterator_next(iter, 1000, &rows, &schema, &err));
        if (rows.release == NULL) {
            break;
        }
        for (int64_t i = 0; i < rows.length; i++) {
            sum += ids_of(&rows)[i];
        }
        n += rows.length;
        rows.release(&rows);
        schema.release(&schema);
    }
    getrusage(RUSAGE_SELF, &after);
    print_message("%lld rows, %.2f s, %ld MB more\n", (long long)n, (double)(clock() - begin) / CLOCKS_PER_SEC,
                  (after.ru_maxrss - before.ru_maxrss) / 1024);
    assert_int_equal(n, 10000000);
    assert_true(sum == INT64_C(10000000) * 9999999 / 2);
    assert_true(after.ru_maxrss - before.ru_maxrss < 100 * 1024);
    grebe_iterator_free(iter);
    grebe_iterable_free(it);
    grebe_iterable_free(shuffle);
    context_free(ctx);
}

/* ---- after a failure ---- */

struct refusing {
    int64_t id; /* of the row that the function fails at; -1: none */
};

static grebe_status refuse(void *fn_ctx, const grebe_map_input *in, uint8_t *keep, grebe_error *err)
{
    const struct refusing *r = fn_ctx;
    for (int64_t i = 0; i < in->rows->length; i++) {
        if (ids_of(in->rows)[i] == r->id) {
            return GREBE_FAIL(err, GREBE_ESCHEMA, "id %lld", (long long)r->id);
        }
        keep[i] = 1;
    }
    return GREBE_OK;
}

/* Rows until the function fails at one, and from the state of that pass on: every row once. */
static void check_failure(const grebe_iterable *it, struct refusing *r, int64_t bad, int64_t batch, const struct ids *all)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_iterator *iter;
    struct ArrowArray rows;
    struct ArrowSchema schema;
    struct ids got = { 0 };
    grebe_status st;
    r->id = bad;
    assert_ok(grebe_iterator_new(it, NULL, NULL, &iter, &err));
    while ((st = grebe_iterator_next(iter, batch, &rows, &schema, &err)) == GREBE_OK) {
        assert_non_null(rows.release);
        ids_add(&got, ids_of(&rows), (size_t)rows.length);
        rows.release(&rows);
        schema.release(&schema);
    }
    assert_int_equal(st, GREBE_ESCHEMA);
    assert_fails(grebe_iterator_next(iter, batch, &rows, &schema, &err), GREBE_ESCHEMA, "failed before");
    r->id = -1;
    char *text = state_text(iter, 0);
    grebe_iterator_free(iter);
    ids_all(it, text, batch, &got);
    assert_ids("after a failure", &got, all->ids, all->n);
    free(text);
    free(got.ids);
}

static void no_free(void *p)
{
    (void)p;
}

static void test_iterator_state__after_a_failure__behind_the_rows_given(void **state)
{
    (void)state;
    grebe_context *ctx = context();
    grebe_error err = GREBE_ERROR_INIT;
    static const int64_t shards[] = { 11, 0, 7, 20 };
    uint32_t seed = 5;
    for (int kind = 0; kind < 4; kind++) { /* 1: a shuffle below the function, 2: above, 3: read ahead */
        struct refusing r = { -1 };
        grebe_map_options o = GREBE_MAP_OPTIONS_INIT;
        grebe_iterable_shuffle_options shuffle = GREBE_ITERABLE_SHUFFLE_OPTIONS_INIT;
        grebe_iterable *it = id_iterable(ctx, shards, 4, 5, true, true), *next;
        shuffle.seed = (grebe_seed){ &seed, 1 };
        shuffle.buffer_rows = 6;
        o.batch_rows = 4;
        if (kind == 1) {
            assert_ok(grebe_iterable_shuffle(it, &shuffle, &next, &err));
            it = then(it, next);
        }
        assert_ok(grebe_iterable_filter_fn(it, refuse, &r, no_free, &o, false, &next, &err));
        it = then(it, next);
        if (kind == 2) {
            assert_ok(grebe_iterable_shuffle(it, &shuffle, &next, &err));
            it = then(it, next);
        } else if (kind == 3) {
            assert_ok(grebe_iterable_prefetch(it, 2, &next, &err));
            it = then(it, next);
        }
        struct ids all = { 0 };
        ids_all(it, NULL, 0, &all);
        assert_int_equal(all.n, 38);
        for (size_t i = 0; i < all.n; i++) {
            check_failure(it, &r, all.ids[i], (int64_t)(i % 9), &all);
        }
        free(all.ids);
        grebe_iterable_free(it);
    }
    context_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_iterator_state__random_trees__resumed_twice_rest_is_exact),
        cmocka_unit_test(test_iterator_state__after_a_failure__behind_the_rows_given),
        cmocka_unit_test(test_iterator_new__state_of_another_stream__refused),
        cmocka_unit_test(test_iterator_new__words_changed__no_harm),
        cmocka_unit_test(test_iterator_new__state_of_another_epoch__begins_that_epoch),
        cmocka_unit_test(test_iterable_set_epoch__with_take__differs_and_repeats),
        cmocka_unit_test(test_iterable_for_worker__all_workers_and_nodes__every_row_once),
        cmocka_unit_test(test_iterator_next__ten_million_rows__memory_is_bounded),
        cmocka_unit_test(test_iterator_new__deep_in_a_shard__reads_what_it_needs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
