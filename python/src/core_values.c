/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values of Arrow arrays as Python objects: numbers, texts, lists and structs here, times and decimals by way of the
 * Python function that was registered for them (grebe._values), for which the stable interface of Python has nothing.
 */
#include "core.h"

static bool is_valid(const struct ArrowArray *a, int64_t i)
{
    if (a->null_count == 0 || a->n_buffers == 0 || a->buffers[0] == NULL) {
        return a->n_buffers != 0 || a->n_children != 0;
    }
    const uint8_t *bits = a->buffers[0];
    return (bits[i >> 3] >> (i & 7)) & 1;
}

static double half_value(uint16_t h)
{
    uint32_t sign = (uint32_t)(h >> 15) << 31, exponent = (h >> 10) & 31, mantissa = h & 1023, bits = 0;
    if (exponent == 0) { /* zero and subnormal numbers: mantissa * 2^-24 */
        double v = (double)mantissa / 16777216.0;
        return sign != 0 ? -v : v;
    }
    bits = sign | (exponent == 31 ? 0x7f800000u : (exponent + 112) << 23) | mantissa << 13;
    float f = 0;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static PyObject *text_at(const char *p, int64_t begin, int64_t end)
{
    return PyUnicode_DecodeUTF8(p != NULL ? p + begin : "", (Py_ssize_t)(end - begin), "strict");
}

static PyObject *bytes_at(const char *p, int64_t begin, int64_t end)
{
    return PyBytes_FromStringAndSize(p != NULL ? p + begin : "", (Py_ssize_t)(end - begin));
}

/* One value of a text or binary type; j: slot with the offset added. */
static PyObject *blob(char format, const struct ArrowArray *a, int64_t j)
{
    if (format == 'u' || format == 'z') {
        const int32_t *o = a->buffers[1];
        return format == 'u' ? text_at(a->buffers[2], o[j], o[j + 1]) : bytes_at(a->buffers[2], o[j], o[j + 1]);
    }
    const int64_t *o = a->buffers[1];
    return format == 'U' ? text_at(a->buffers[2], o[j], o[j + 1]) : bytes_at(a->buffers[2], o[j], o[j + 1]);
}

/* Views: 16 bytes each, short values in place. */
static PyObject *view_value(bool is_text, const struct ArrowArray *a, int64_t j)
{
    const unsigned char *v = (const unsigned char *)a->buffers[1] + j * 16;
    int32_t len = 0, buffer = 0, offset = 0;
    memcpy(&len, v, 4);
    const char *p = (const char *)v + 4;
    if (len > 12) {
        memcpy(&buffer, v + 8, 4);
        memcpy(&offset, v + 12, 4);
        p = (const char *)a->buffers[2 + buffer] + offset;
    }
    return is_text ? text_at(p, 0, len) : bytes_at(p, 0, len);
}

static PyObject *temporal(const char *format, PyObject *value)
{
    PyObject *out = value != NULL ? PyObject_CallFunction(core.value_out, "sO", format, value) : NULL;
    Py_XDECREF(value);
    return out;
}

/* Width in bytes of a type that temporal() converts from an integer; 0: another. */
static int temporal_width(const char *format)
{
    if (format[0] != 't') {
        return 0;
    }
    return format[1] == 'd' ? (format[2] == 'D' ? 4 : 8) : format[1] == 't' ? (format[2] == 's' || format[2] == 'm' ? 4 : 8) : 8;
}

static PyObject *other_value(const struct ArrowSchema *s, const struct ArrowArray *a, int64_t j)
{
    const char *f = s->format;
    int width = temporal_width(f);
    if (width != 0) {
        int64_t x = width == 4 ? ((const int32_t *)a->buffers[1])[j] : ((const int64_t *)a->buffers[1])[j];
        return temporal(f, PyLong_FromLongLong(x));
    }
    if (f[0] == 'd') { /* d:precision,scale[,bits] */
        const char *comma = strchr(f, ',');
        comma = comma != NULL ? strchr(comma + 1, ',') : NULL;
        Py_ssize_t bytes = comma != NULL ? (Py_ssize_t)strtol(comma + 1, NULL, 10) / 8 : 16;
        return temporal(f, PyBytes_FromStringAndSize((const char *)a->buffers[1] + j * bytes, bytes));
    }
    if (f[0] == 'w') {
        int64_t width_bytes = strtoll(f + 2, NULL, 10);
        return bytes_at(a->buffers[1], j * width_bytes, (j + 1) * width_bytes);
    }
    if (f[0] == 'v') {
        return view_value(f[1] == 'u', a, j);
    }
    PyErr_Format(PyExc_NotImplementedError, "a value of Arrow type \"%s\" (column \"%s\") as a Python object", f, s->name);
    return NULL;
}

static PyObject *list_value(const struct ArrowSchema *s, const struct ArrowArray *a, int64_t j)
{
    const char *f = s->format;
    int64_t begin = 0, end = 0;
    if (f[1] == 'w') {
        int64_t size = strtoll(f + 3, NULL, 10);
        begin = j * size;
        end = begin + size;
    } else if (f[1] == 'l' || f[1] == 'm') {
        begin = ((const int32_t *)a->buffers[1])[j];
        end = ((const int32_t *)a->buffers[1])[j + 1];
    } else {
        begin = ((const int64_t *)a->buffers[1])[j];
        end = ((const int64_t *)a->buffers[1])[j + 1];
    }
    return core_value_list(s->children[0], a->children[0], begin, end - begin);
}

static PyObject *struct_value(const struct ArrowSchema *s, const struct ArrowArray *a, int64_t j)
{
    PyObject *dict = PyDict_New();
    for (int64_t c = 0; dict != NULL && c < s->n_children; c++) {
        PyObject *v = core_value(s->children[c], a->children[c], j);
        if (v == NULL || PyDict_SetItemString(dict, s->children[c]->name, v) != 0) {
            Py_CLEAR(dict);
        }
        Py_XDECREF(v);
    }
    return dict;
}

PyObject *core_value(const struct ArrowSchema *s, const struct ArrowArray *a, int64_t i)
{
    const char *f = s->format;
    int64_t j = i + a->offset;
    const void *p = a->n_buffers > 1 ? a->buffers[1] : NULL;
    if (f[0] == 'n' || !is_valid(a, j)) {
        Py_RETURN_NONE;
    }
    if (a->dictionary != NULL) {
        struct ArrowSchema index = *s;
        index.dictionary = NULL;
        struct ArrowArray plain = *a;
        plain.dictionary = NULL;
        PyObject *k = core_value(&index, &plain, i);
        long long at = k != NULL ? PyLong_AsLongLong(k) : -1;
        Py_XDECREF(k);
        return at < 0 ? NULL : core_value(s->dictionary, a->dictionary, at);
    }
    switch (f[0]) {
    case 'b': return PyBool_FromLong((((const uint8_t *)p)[j >> 3] >> (j & 7)) & 1);
    case 'c': return PyLong_FromLong(((const int8_t *)p)[j]);
    case 'C': return PyLong_FromLong(((const uint8_t *)p)[j]);
    case 's': return PyLong_FromLong(((const int16_t *)p)[j]);
    case 'S': return PyLong_FromLong(((const uint16_t *)p)[j]);
    case 'i': return PyLong_FromLong(((const int32_t *)p)[j]);
    case 'I': return PyLong_FromUnsignedLong(((const uint32_t *)p)[j]);
    case 'l': return PyLong_FromLongLong(((const int64_t *)p)[j]);
    case 'L': return PyLong_FromUnsignedLongLong(((const uint64_t *)p)[j]);
    case 'e': return PyFloat_FromDouble(half_value(((const uint16_t *)p)[j]));
    case 'f': return PyFloat_FromDouble(((const float *)p)[j]);
    case 'g': return PyFloat_FromDouble(((const double *)p)[j]);
    case 'u': case 'U': case 'z': case 'Z': return blob(f[0], a, j);
    case '+': return f[1] == 's' ? struct_value(s, a, j) : list_value(s, a, j);
    default: return other_value(s, a, j);
    }
}

/*
 * Texts of ASCII alone are decoded many at once and cut out of the whole: CPython looks at the bytes once, and in words, where each
 * text by itself is gone through up to the first word boundary byte by byte, and then copied.
 */
static int fill_texts(PyObject *list, const int32_t *o, const char *data, int64_t n)
{
    enum { AT_ONCE_BYTES = 32768, WORTH = 4 };
    for (int64_t i = 0; i < n;) {
        int64_t end = i + 1;
        while (end < n && o[end + 1] - o[i] <= AT_ONCE_BYTES) {
            end++;
        }
        PyObject *all = end - i >= WORTH ? text_at(data, o[i], o[end]) : NULL;
        bool is_ascii = all != NULL && PyUnicode_GetLength(all) == (Py_ssize_t)(o[end] - o[i]);
        PyErr_Clear(); /* damage is told where it stands */
        for (int64_t begin = o[i]; i < end; i++) {
            PyObject *v = is_ascii ? PyUnicode_Substring(all, (Py_ssize_t)(o[i] - begin), (Py_ssize_t)(o[i + 1] - begin))
                                   : text_at(data, o[i], o[i + 1]);
            if (v == NULL || PyList_SetItem(list, (Py_ssize_t)i, v) != 0) {
                Py_XDECREF(all);
                return -1;
            }
        }
        Py_XDECREF(all);
    }
    return 0;
}

/* The common types without a switch per value; NULL without an exception: not one of them. */
static PyObject *plain_list(const struct ArrowSchema *s, const struct ArrowArray *a, int64_t begin, int64_t n)
{
    char f = s->format[1] == '\0' ? s->format[0] : '\0';
    if (a->dictionary != NULL || a->null_count != 0 || (f != 'l' && f != 'i' && f != 'g' && f != 'f' && f != 'u')) {
        return NULL;
    }
    PyObject *list = PyList_New((Py_ssize_t)n);
    int64_t j = begin + a->offset;
    if (f == 'u' && list != NULL && fill_texts(list, (const int32_t *)a->buffers[1] + j, a->buffers[2], n) != 0) {
        Py_CLEAR(list);
    }
    for (int64_t i = 0; f != 'u' && list != NULL && i < n; i++, j++) {
        PyObject *v = NULL;
        if (f == 'l') {
            v = PyLong_FromLongLong(((const int64_t *)a->buffers[1])[j]);
        } else if (f == 'g') {
            v = PyFloat_FromDouble(((const double *)a->buffers[1])[j]);
        } else if (f == 'f') {
            v = PyFloat_FromDouble(((const float *)a->buffers[1])[j]);
        } else {
            v = PyLong_FromLong(((const int32_t *)a->buffers[1])[j]);
        }
        if (v == NULL || PyList_SetItem(list, (Py_ssize_t)i, v) != 0) {
            Py_CLEAR(list);
        }
    }
    return list;
}

PyObject *core_value_list(const struct ArrowSchema *s, const struct ArrowArray *a, int64_t begin, int64_t n)
{
    PyObject *list = plain_list(s, a, begin, n);
    if (list != NULL || PyErr_Occurred()) {
        return list;
    }
    if (Py_EnterRecursiveCall(" in nested Arrow values") != 0) {
        return NULL;
    }
    list = PyList_New((Py_ssize_t)n);
    for (int64_t i = 0; list != NULL && i < n; i++) {
        PyObject *v = core_value(s, a, begin + i);
        if (v == NULL || PyList_SetItem(list, (Py_ssize_t)i, v) != 0) {
            Py_CLEAR(list);
        }
    }
    Py_LeaveRecursiveCall();
    return list;
}

PyObject *core_row_dicts(const struct ArrowSchema *s, const struct ArrowArray *rows, PyObject *names)
{
    int64_t n = rows->length, n_columns = s->n_children;
    PyObject *list = PyList_New((Py_ssize_t)n);
    PyObject **columns = PyMem_Calloc((size_t)n_columns + 1, sizeof *columns);
    bool is_good = list != NULL && columns != NULL;
    for (int64_t c = 0; is_good && c < n_columns; c++) {
        columns[c] = core_value_list(s->children[c], rows->children[c], 0, n);
        is_good = columns[c] != NULL;
    }
    for (int64_t i = 0; is_good && i < n; i++) {
        PyObject *row = PyDict_New();
        is_good = row != NULL && PyList_SetItem(list, (Py_ssize_t)i, row) == 0;
        for (int64_t c = 0; is_good && c < n_columns; c++) {
            is_good = PyDict_SetItem(row, PyTuple_GetItem(names, (Py_ssize_t)c), PyList_GetItem(columns[c], (Py_ssize_t)i)) == 0;
        }
    }
    for (int64_t c = 0; columns != NULL && c < n_columns; c++) {
        Py_XDECREF(columns[c]);
    }
    if (columns == NULL) {
        PyErr_NoMemory();
    }
    PyMem_Free(columns);
    if (!is_good) {
        Py_CLEAR(list);
    }
    return list;
}
