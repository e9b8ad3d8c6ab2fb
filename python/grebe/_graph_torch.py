# SPDX-License-Identifier: Apache-2.0
"""Loaders of graphs as torch's DataLoader takes them. Needs torch."""

import torch.utils.data


class IterableLoader(torch.utils.data.IterableDataset):
    """Made by Loader.as_torch()."""

    def __init__(self, loader):
        super().__init__()
        self.loader = loader

    def __iter__(self):
        worker = torch.utils.data.get_worker_info()
        return iter(self.loader if worker is None else self.loader.share(worker.id, worker.num_workers))

    def __len__(self):
        return len(self.loader)
