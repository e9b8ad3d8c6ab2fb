/* SPDX-License-Identifier: Apache-2.0 */
#include "grebe/formats.h"

#include "array/array_format.h"
#include "hdf5/hdf5_format.h"
#include "ipc/ipc_format.h"
#include "parquet/parquet_format.h"

static const struct file_format *const formats[] = { &parquet_format, &ipc_format, &hdf5_format, &npy_format, &vecs_format, NULL };

const struct source_registry *formats_registry(void)
{
    static const struct source_registry registry = { formats };
    return &registry;
}
