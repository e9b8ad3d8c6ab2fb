/* SPDX-License-Identifier: Apache-2.0 */
#include "grebe/formats.h"

#include "array/array_format.h"
#include "array/tensor_rows.h"
#include "grebe/source_graph.h"
#include "hdf5/hdf5_format.h"
#include "ipc/ipc_format.h"
#include "parquet/parquet_format.h"

static const struct file_format *const formats[] = { &parquet_format, &ipc_format, &hdf5_format, &npy_format, &npz_format, &torch_format,
                                                     &vecs_format,    &graph_part_format, NULL };

const struct source_registry *formats_registry(void)
{
    static const struct source_registry registry = { formats };
    return &registry;
}
