/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of torch.save: a zip archive of stored members, in which data.pkl says which tensors there are and data/0, data/1, …
 * hold their storages (torch/serialization.py, torch/_utils.py: behaviour). The pickle is read, nothing in it is called.
 */
#include <stdio.h>
#include <string.h>

#include "archive/archive.h"
#include "array/tensor_internal.h"
#include "base/checked.h"
#include "base/name_index.h"

struct torch_file {
    grebe_context *ctx;
    char *path; /* in the arena */
    struct arena arena;
    struct archive *zip;
    size_t prefix; /* length of "NAME/" */
    struct name_index members; /* of names behind the prefix; a graph of thousands of types has as many */
    const struct pickle_value *root;
};

static const struct {
    const char *name; /* of the storage class; of the dtype */
    const char *dtype;
    int type;
} types[] = {
    { "torch FloatStorage", "torch float32", ARRAY_F32 },    { "torch DoubleStorage", "torch float64", ARRAY_F64 },
    { "torch HalfStorage", "torch float16", ARRAY_F16 },     { "torch BFloat16Storage", "torch bfloat16", ARRAY_BF16 },
    { "torch LongStorage", "torch int64", ARRAY_I64 },       { "torch IntStorage", "torch int32", ARRAY_I32 },
    { "torch ShortStorage", "torch int16", ARRAY_I16 },      { "torch CharStorage", "torch int8", ARRAY_I8 },
    { "torch ByteStorage", "torch uint8", ARRAY_U8 },        { "torch BoolStorage", "torch bool", ARRAY_BOOL },
    { "torch ComplexFloatStorage", "torch complex64", TENSOR_C64 },
    { "torch ComplexDoubleStorage", "torch complex128", TENSOR_C128 },
    { "", "torch uint16", ARRAY_U16 },                       { "", "torch uint32", ARRAY_U32 },
    { "", "torch uint64", ARRAY_U64 },
};
enum { N_TYPES = sizeof types / sizeof types[0] };

static const char *const names[] = { "torch._utils _rebuild_tensor_v2", "torch._utils _rebuild_tensor_v3",
                                     "torch._utils _rebuild_parameter", "collections OrderedDict",
                                     "torch.storage UntypedStorage", "torch.storage TypedStorage" };

struct allowed {
    pickle_allows_fn more;
    void *arg;
};

static bool allows(void *arg, const char *module, size_t module_len, const char *name, size_t name_len)
{
    const struct allowed *allowed = arg;
    char text[256];
    if (module_len + name_len + 2 > sizeof text) {
        return false;
    }
    snprintf(text, sizeof text, "%.*s %.*s", (int)module_len, module, (int)name_len, name);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(text, names[i]) == 0) {
            return true;
        }
    }
    for (size_t i = 0; i < N_TYPES; i++) {
        if (strcmp(text, types[i].name) == 0 || strcmp(text, types[i].dtype) == 0) {
            return true;
        }
    }
    return allowed->more != NULL && allowed->more(allowed->arg, module, module_len, name, name_len);
}

/* What bytes are that are no zip archive. */
static grebe_status refuse(const char *path, const struct region *r, grebe_error *err)
{
    static const unsigned char old[] = { 0x80, 0x02, 0x8a, 0x0a, 0x6c, 0xfc, 0x9c, 0x46, 0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19 };
    if (r->len >= sizeof old && memcmp(r->data, old, sizeof old) == 0) {
        return GREBE_FAIL(err, GREBE_EUNSUPPORTED, "%s: a torch file of the form before torch 1.6: load and save it with a current torch", path);
    }
    if (r->len >= 2 && r->data[0] == 0x80) {
        return GREBE_FAIL(err, GREBE_EUNSUPPORTED, "%s: a bare pickle, which is no torch file: nothing of it was run", path);
    }
    return GREBE_FAIL(err, GREBE_ECORRUPT, "%s: expected a npy or a torch file", path);
}

/* Names below the archive's one folder. */
static grebe_status index_members(struct torch_file *f, grebe_error *err)
{
    const char *first = f->zip->n > 0 ? f->zip->members[0].name : "";
    const char *slash = strchr(first, '/');
    f->prefix = slash != NULL ? (size_t)(slash - first) + 1 : 0;
    grebe_status st = name_index_new(f->ctx->a, f->zip->n, &f->members, err);
    for (size_t i = 0; i < f->zip->n && st == GREBE_OK; i++) {
        const char *whole = f->zip->members[i].name;
        if (strncmp(whole, first, f->prefix) == 0) {
            st = name_index_add(&f->members, whole + f->prefix, i, NULL, err);
        }
    }
    return st;
}

/* The member of that name; n: none. */
static size_t find_member(const struct torch_file *f, const char *name)
{
    const size_t *i = f->members.n > 0 ? name_index_find(&f->members, name) : NULL;
    return i != NULL ? *i : f->zip->n;
}

/* Storages and the pickle lie as they are; deflated ones are no tensors of torch.save. */
static grebe_status check_stored(const struct torch_file *f, grebe_error *err)
{
    for (size_t i = 0; i < f->zip->n; i++) {
        const struct archive_member *m = &f->zip->members[i];
        if (m->method != 0 && !m->is_folder) {
            return GREBE_FAIL(err, GREBE_EUNSUPPORTED, "%s: member %s is compressed: torch stores members as they are", f->path, m->name);
        }
    }
    return GREBE_OK;
}

static grebe_status parse_pickle(struct torch_file *f, struct allowed *allowed, grebe_error *err)
{
    struct region *bytes = NULL;
    size_t i = find_member(f, "data.pkl");
    if (i == f->zip->n) {
        return GREBE_FAIL(err, GREBE_EUNSUPPORTED, "%s: an archive without data.pkl: not a torch file", f->path);
    }
    grebe_status st = archive_read(f->zip, i, UINT64_MAX, &bytes, err);
    st = st == GREBE_OK ? pickle_parse(&f->arena, f->path, bytes->data, bytes->len, allows, allowed, &f->root, err) : st;
    region_drop(bytes);
    i = find_member(f, "byteorder");
    if (st == GREBE_OK && i < f->zip->n) {
        const struct archive_member *m = &f->zip->members[i];
        bool is_big = m->stored == 3 && memcmp(f->zip->region->data + m->at, "big", 3) == 0;
        if (is_big) {
            return GREBE_FAIL(err, GREBE_EUNSUPPORTED, "%s: tensors of a big-endian machine", f->path);
        }
    }
    return st;
}

grebe_status torch_open(grebe_context *ctx, const char *path, pickle_allows_fn more, void *arg, struct torch_file **out,
                        grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct io_store *store = NULL;
    struct io_file *file = NULL;
    struct region *r = NULL;
    struct allowed allowed = { more, arg };
    *out = NULL;
    struct torch_file *f = mem_alloc_zero(ctx->a, sizeof *f);
    if (f == NULL) {
        return mem_fail(err, sizeof *f, path);
    }
    f->ctx = ctx;
    f->arena = ARENA_INIT(ctx->a);
    f->path = arena_str(&f->arena, path, strlen(path));
    if (f->path == NULL) {
        st = mem_fail(err, strlen(path), path);
        goto out;
    }
    GREBE_TRY(io_local_new(ctx, &store, err));
    GREBE_TRY(io_open(store, path, &file, err));
    if (file->id.size_bytes == 0 || file->ops->map == NULL) {
        st = GREBE_FAIL(err, GREBE_ECORRUPT, "%s: expected a npy or a torch file, found nothing", path);
        goto out;
    }
    GREBE_TRY(file->ops->map(file, &r, err));
    if (!archive_is_zip(r->data, r->len)) {
        st = refuse(path, r, err);
        goto out;
    }
    st = archive_open(ctx->a, r, &f->zip, err);
    if (st != GREBE_OK) {
        st = error_wrap(err, st, "%s", path);
        goto out;
    }
    GREBE_TRY(check_stored(f, err));
    GREBE_TRY(index_members(f, err));
    GREBE_TRY(parse_pickle(f, &allowed, err));
    *out = f;
    f = NULL;
out:
    torch_close(f);
    region_drop(r);
    io_close(file);
    io_store_free(store);
    return st;
}

void torch_close(struct torch_file *f)
{
    if (f == NULL) {
        return;
    }
    const grebe_allocator *a = f->ctx->a;
    name_index_release(&f->members);
    archive_free(f->zip);
    arena_release(&f->arena);
    mem_free(a, f, sizeof *f);
}

const struct pickle_value *torch_root(const struct torch_file *f) { return f->root; }

/* ---- tensors ---- */

static grebe_status odd(const struct torch_file *f, const struct pickle_value *v, const char *what, grebe_error *err)
{
    return GREBE_FAIL(err, GREBE_ECORRUPT, "%s: pickle at offset %llu: expected %s", f->path,
                      (unsigned long long)(v != NULL ? v->offset : 0), what);
}

/* A storage: ('storage', class, key, place, values). */
static grebe_status storage_of(const struct torch_file *f, const struct pickle_value *v, int type, struct tensor *out, uint64_t *room,
                               grebe_error *err)
{
    char name[64];
    const struct pickle_value *id = v != NULL && v->type == PICKLE_PERSID ? v->items[0] : NULL;
    if (id == NULL || id->type != PICKLE_TUPLE || id->n != 5 || id->items[1]->type != PICKLE_GLOBAL ||
        id->items[2]->type != PICKLE_TEXT || id->items[4]->type != PICKLE_INT) {
        return odd(f, v, "a storage", err);
    }
    for (size_t i = 0; type < 0 && i < N_TYPES; i++) {
        type = pickle_is_global(id->items[1], types[i].name) ? types[i].type : type;
    }
    const char *key = id->items[2]->text;
    if (type < 0 || strlen(key) != id->items[2]->n || id->items[2]->n > 20 || strspn(key, "0123456789") != id->items[2]->n) {
        return odd(f, v, "a storage of numbers, under a number", err);
    }
    snprintf(name, sizeof name, "data/%s", key);
    size_t i = find_member(f, name);
    if (i == f->zip->n) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "%s: there is no member %s", f->path, name);
    }
    const struct archive_member *m = &f->zip->members[i];
    uint64_t bytes = 0;
    bool is_untyped = pickle_is_global(id->items[1], "torch.storage UntypedStorage");
    if (id->items[4]->integer < 0 ||
        !checked_mul_u64((uint64_t)id->items[4]->integer, is_untyped ? 1 : tensor_type_bytes(type), &bytes) || bytes > m->stored) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "%s: member %s: expected %lld values of %s, found %llu bytes", f->path, name,
                          (long long)id->items[4]->integer, tensor_type_name(type), (unsigned long long)m->stored);
    }
    out->type = type;
    out->data = f->zip->region->data + m->at;
    *room = bytes;
    return GREBE_OK;
}

/* A tuple of integers that are not negative. */
static grebe_status read_dims(const struct torch_file *f, const struct pickle_value *v, uint64_t dims[TENSOR_DIMS_MAX], unsigned *rank,
                              grebe_error *err)
{
    if (v->type != PICKLE_TUPLE || v->n > TENSOR_DIMS_MAX) {
        return odd(f, v, "a shape of at most 8 dimensions", err);
    }
    for (size_t i = 0; i < v->n; i++) {
        if (v->items[i]->type != PICKLE_INT || v->items[i]->integer < 0) {
            return odd(f, v, "numbers that are not negative", err);
        }
        dims[i] = (uint64_t)v->items[i]->integer;
    }
    *rank = (unsigned)v->n;
    return GREBE_OK;
}

grebe_status torch_tensor(struct torch_file *f, const struct pickle_value *v, struct tensor *out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    uint64_t room = 0, strides[TENSOR_DIMS_MAX];
    unsigned n_strides = 0;
    int type = -1;
    memset(out, 0, sizeof *out);
    const struct pickle_value **parameter = pickle_call(v, "torch._utils _rebuild_parameter", 3);
    v = parameter != NULL ? parameter[0] : v;
    const struct pickle_value **a = pickle_call(v, "torch._utils _rebuild_tensor_v2", 6);
    if (a == NULL) {
        a = pickle_call(v, "torch._utils _rebuild_tensor_v3", 7);
        for (size_t i = 0; a != NULL && i < N_TYPES; i++) {
            type = pickle_is_global(a[6], types[i].dtype) ? types[i].type : type;
        }
        if (a == NULL || type < 0) {
            return odd(f, v, "a tensor", err);
        }
    }
    GREBE_TRY(storage_of(f, a[0], type, out, &room, err));
    if (a[1]->type != PICKLE_INT || a[1]->integer < 0) {
        return odd(f, v, "an offset that is not negative", err);
    }
    GREBE_TRY(read_dims(f, a[2], out->shape, &out->rank, err));
    GREBE_TRY(read_dims(f, a[3], strides, &n_strides, err));
    if (n_strides != out->rank) {
        return odd(f, v, "a stride for each dimension", err);
    }
    GREBE_TRY(tensor_settle(out, f->path, err));
    for (unsigned i = 0; i < out->rank; i++) {
        if (strides[i] > INT64_MAX) {
            return odd(f, v, "strides inside of the storage", err);
        }
        out->strides[i] = (int64_t)strides[i];
    }
    uint64_t begin = 0;
    if (!checked_mul_u64((uint64_t)a[1]->integer, tensor_type_bytes(out->type), &begin) || begin > room) {
        return odd(f, v, "an offset inside of the storage", err);
    }
    out->data += begin;
    GREBE_TRY(tensor_check_room(out, room - begin, f->path, err));
    out->is_packed = tensor_is_packed(out);
    out->region = region_keep(f->zip->region);
out:
    return st;
}
