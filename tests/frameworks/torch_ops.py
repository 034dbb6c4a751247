#!/usr/bin/env python3
"""PyTorch/XLA on the built-in device, unmodified: single operations and training loops against
PyTorch's own CPU. TAP.

    torch_ops.py PLUGIN.so

Skipped where torch_xla is not installed (it is no dependency of hloscope;
tests/frameworks/README.md says how to get it).
"""

import copy
import sys

from torch_device import DEVICE  # before torch: it skips the test where there is none
import torch
import torch_xla

nn = torch.nn
functional = torch.nn.functional
number = failures = 0


def report(good: bool, name: str, note: str = "") -> None:
    global number, failures
    number += 1
    failures += not good
    print(f"{'ok' if good else 'not ok'} {number} - {name}", flush=True)
    if note and not good:
        print("#   " + note.replace("\n", "\n#   "), flush=True)


def worst(expected, found) -> float:
    expected = expected if isinstance(expected, (tuple, list)) else (expected,)
    found = found if isinstance(found, (tuple, list)) else (found,)
    gap = 0.0
    for a, b in zip(expected, found, strict=True):
        b = b.cpu()
        if a.shape != b.shape or a.dtype != b.dtype:
            return float("inf")
        if a.numel():
            wide = torch.complex128 if a.is_complex() else torch.float64
            gap = max(gap, (a.to(wide) - b.to(wide)).abs().max().item())
    return gap


def compare(name: str, function, *arguments, tolerance: float = 2e-6) -> None:
    try:
        gap = worst(function(*arguments), function(*[a.to(DEVICE) for a in arguments]))
        report(gap <= tolerance, name, f"largest difference {gap}, allowed {tolerance}")
    except RuntimeError as error:
        report(False, name, str(error)[:600])


def operations() -> None:
    torch.manual_seed(0)
    image, matrix, index = torch.randn(8, 3, 16, 16), torch.randn(5, 7), torch.randint(0, 5, (11,))
    compare("matmul, tanh", lambda a: (a @ a.T).tanh(), matrix)
    compare("batch norm", lambda a: nn.BatchNorm2d(3).to(a.device)(a), image)
    compare("max pool", lambda a: functional.max_pool2d(a, 2), image)
    compare("average pool", lambda a: functional.avg_pool2d(a, 2), image)
    compare("log softmax", lambda a: functional.log_softmax(a, 1), matrix)
    compare(
        "bf16 matmul",
        lambda a: a.to(torch.bfloat16) @ a.to(torch.bfloat16).T,
        matrix,
        tolerance=0.07,
    )
    compare("gather rows", lambda a, i: a[i], matrix, index)
    compare(
        "scatter add",
        lambda a, i: torch.zeros(5, 7, device=a.device).index_add(0, i, a[i]),
        matrix,
        index,
    )
    compare("top k", lambda a: torch.topk(a, 3), matrix)
    compare("sort", lambda a: torch.sort(a, 1), matrix)
    compare("cumulative sum", lambda a: a.cumsum(1), matrix)
    compare("where", lambda a: torch.where(a > 0, a, a * 0.1), matrix)
    compare("std, mean, argmax", lambda a: (a.std(), a.mean(0), a.argmax(1)), matrix)
    compare("einsum", lambda a: torch.einsum("ij,kj->ik", a, a), matrix)
    compare("gelu", functional.gelu, matrix)
    compare("integers", lambda i: (i * 3 % 4) // 2, index)
    compare(
        "concatenate, transpose",
        lambda a: torch.cat([a, a], 1).transpose(0, 1).contiguous(),
        matrix,
    )
    compare(
        "cholesky",
        lambda a: torch.linalg.cholesky(a @ a.T + torch.eye(5, device=a.device)),
        matrix,
        tolerance=1e-5,
    )
    compare("fft", torch.fft.fft, matrix, tolerance=1e-5)
    compare("empty", lambda a: a[:0], matrix)
    lstm = nn.LSTM(7, 6, batch_first=True)
    compare("lstm", lambda a: copy.deepcopy(lstm).to(a.device)(a[None])[0], matrix)


def training(name: str, network, inputs, targets, loss, optimizer) -> None:
    """Losses of five steps on both; weights are donated and updated in place on the device."""
    found = []
    for device in ("cpu", DEVICE):
        model = copy.deepcopy(network).to(device)
        steps = optimizer(model.parameters())
        x, y, losses = inputs.to(device), targets.to(device), []
        for _ in range(5):
            steps.zero_grad()
            value = loss(model(x), y)
            value.backward()
            steps.step()
            torch_xla.sync()
            losses.append(value.item())
        found.append(losses)
    gap = max(abs(a - b) for a, b in zip(*found))
    report(
        gap < 1e-4 and found[0][4] < found[0][0],
        f"training: {name}",
        f"losses {found[0]} on the CPU, {found[1]} on the device",
    )


def main() -> int:
    operations()
    torch.manual_seed(1)
    training(
        "perceptron, momentum",
        nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.Tanh()),
        torch.randn(32, 64),
        torch.randn(32, 64),
        nn.MSELoss(),
        lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9),
    )
    convolutions = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.Conv2d(8, 8, 3, stride=2),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(72, 10),
    )
    training(
        "convolutions, Adam",
        convolutions,
        torch.randn(8, 3, 16, 16),
        torch.randint(0, 10, (8,)),
        nn.CrossEntropyLoss(),
        lambda p: torch.optim.Adam(p, lr=1e-3),
    )
    kept = nn.Dropout(0.5).to(DEVICE)(torch.ones(10000, device=DEVICE)).cpu()
    report(
        set(kept.unique().tolist()) == {0.0, 2.0} and abs(kept.mean().item() - 1) < 0.1,
        "dropout",
        f"mean {kept.mean().item()}",
    )
    compiled = torch.compile(lambda a: (a @ a.T).relu().sum(), backend="openxla")
    compare(
        "torch.compile",
        lambda a: compiled(a) if a.device.type == "xla" else (a @ a.T).relu().sum(),
        torch.randn(5, 7),
        tolerance=1e-4,
    )
    print(f"1..{number}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
