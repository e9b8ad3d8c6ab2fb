/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GREBE_H
#define GREBE_GREBE_H

/* All of the public interface. */

#include "grebe/alloc.h"
#include "grebe/ann.h"
#include "grebe/ann_index.h"
#include "grebe/ann_measure.h"
#include "grebe/arrow.h"
#include "grebe/chunk.h"
#include "grebe/context.h"
#include "grebe/dataset.h"
#include "grebe/dataset_load.h"
#include "grebe/gitvdb.h"
#include "grebe/graph.h"
#include "grebe/graph_files.h"
#include "grebe/graph_sample.h"
#include "grebe/graph_stats.h"
#include "grebe/hdf5.h"
#include "grebe/iterable.h"
#include "grebe/packed.h"
#include "grebe/print.h"
#include "grebe/scan.h"
#include "grebe/search.h"
#include "grebe/source.h"
#include "grebe/status.h"
#include "grebe/table.h"
#include "grebe/text.h"
#include "grebe/txn.h"
#include "grebe/version.h"

#endif
