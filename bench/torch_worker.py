"""PyTorch's own CPU kernels (eager, oneDNN), in a process of its own; the jobs are those of
xla_worker.py, for the models that are written down here.

ResNet-50 as in models/resnet50.py (batch 8, 224x224, batch norm by the statistics of the batch, SGD
with momentum), in channels-last memory, which is what PyTorch recommends on CPUs. PyTorch pads a
strided window on both sides alike, XLA's SAME on one side more: the same work on other positions.
Eager PyTorch has nothing to compile; "compile" makes the network and its inputs.
"""

import time

import torch
from torch import nn
from torch.nn import functional

import worker_loop

BATCH, SIZE, CLASSES = 8, 224, 1000
STAGES = ((3, 64), (4, 128), (6, 256), (3, 512))
LEARNING_RATE, MOMENTUM = 0.1, 0.9


class ConvNorm(nn.Module):
    def __init__(self, width_in, width_out, size, stride=1):
        super().__init__()
        self.conv = nn.Conv2d(width_in, width_out, size, stride, size // 2, bias=False)
        self.norm = nn.BatchNorm2d(width_out)

    def forward(self, x):
        return self.norm(self.conv(x))


class Block(nn.Module):
    def __init__(self, width_in, width, stride, project):
        super().__init__()
        self.reduce, self.spatial = ConvNorm(width_in, width, 1), ConvNorm(width, width, 3, stride)
        self.expand = ConvNorm(width, 4 * width, 1)
        self.project = ConvNorm(width_in, 4 * width, 1, stride) if project else None

    def forward(self, x):
        y = functional.relu(self.reduce(x), inplace=True)
        y = functional.relu(self.spatial(y), inplace=True)
        y = self.expand(y)
        return functional.relu(y + (self.project(x) if self.project else x), inplace=True)


class ResNet50(nn.Module):
    def __init__(self):
        super().__init__()
        blocks, width_in = [], 64
        for stage, (count, width) in enumerate(STAGES):
            for index in range(count):
                blocks.append(
                    Block(width_in, width, 2 if index == 0 and stage > 0 else 1, index == 0)
                )
                width_in = 4 * width
        self.stem, self.blocks, self.head = (
            ConvNorm(3, 64, 7, 2),
            nn.Sequential(*blocks),
            nn.Linear(width_in, CLASSES),
        )

    def forward(self, x):
        x = functional.max_pool2d(functional.relu(self.stem(x), inplace=True), 3, 2, 1)
        return self.head(self.blocks(x).mean((2, 3)))


class Forward:
    def __init__(self):
        torch.manual_seed(0)
        self.network = ResNet50().to(memory_format=torch.channels_last).train()
        self.images = torch.randn(BATCH, 3, SIZE, SIZE).to(memory_format=torch.channels_last)

    def run(self):
        with torch.no_grad():
            self.network(self.images)


class Train(Forward):
    def __init__(self):
        super().__init__()
        self.labels = torch.arange(BATCH) % CLASSES
        self.optimizer = torch.optim.SGD(self.network.parameters(), LEARNING_RATE, MOMENTUM)

    def run(self):
        self.optimizer.zero_grad(set_to_none=True)
        functional.cross_entropy(self.network(self.images), self.labels).backward()
        self.optimizer.step()


PROGRAMS = {"resnet50_forward": Forward, "resnet50_train": Train}


def main():
    held = {}

    def answer(job):
        if job["do"] == "hello":
            return {
                "name": "PyTorch",
                "torch": torch.__version__,
                "threads": torch.get_num_threads(),
                "programs": sorted(PROGRAMS),
            }
        name = job["program"]
        if job["do"] == "forget":
            held.pop(name, None)
            return {}
        start = time.perf_counter()
        if name not in held or job["do"] == "compile":
            held[name] = PROGRAMS[name]()
        if job["do"] == "compile":
            return {"seconds": time.perf_counter() - start}
        samples = []
        for _ in range(job["count"]):
            start = time.perf_counter()
            held[name].run()
            samples.append(time.perf_counter() - start)
        return {"seconds": samples}

    worker_loop.serve(answer)


if __name__ == "__main__":
    main()
