#!/usr/bin/env python3
"""Models of PyTorch on the built-in device against PyTorch's CPU: attention, recurrence,
embeddings, optimizers, mixed precision, compilation. TAP.

    torch_models.py PLUGIN.so

Skipped where torch_xla is not installed (it is no dependency of hloscope;
tests/frameworks/README.md says how to get it).
"""

import copy
import os
import sys
import tempfile

from torch_device import DEVICE  # before torch: it skips the test where there is none
from tap import main, test
import torch
import torch_xla
import torch_xla.core.xla_model as xm

nn = torch.nn
functional = torch.nn.functional


def close(expected, found, tolerance):
    expected, found = expected.detach().to(torch.float64), found.detach().cpu().to(torch.float64)
    assert expected.shape == found.shape, (expected.shape, found.shape)
    gap = (expected - found).abs().max().item() if expected.numel() else 0.0
    assert gap <= tolerance * (1 + expected.abs().max().item()), gap


def trained(model, inputs, loss_of, device, make_optimizer, steps=4):
    model = copy.deepcopy(model).to(device)
    optimizer = make_optimizer(model.parameters())
    inputs = [x.to(device) for x in inputs]
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = loss_of(model, *inputs)
        loss.backward()
        optimizer.step()
        torch_xla.sync()
        losses.append(loss.detach().cpu())
    return torch.stack(losses), [p.detach().cpu() for p in model.parameters()]


def train_both(model, inputs, loss_of, make_optimizer, tolerance=1e-4):
    losses, weights = trained(model, inputs, loss_of, "cpu", make_optimizer)
    ours, our_weights = trained(model, inputs, loss_of, DEVICE, make_optimizer)
    close(losses, ours, tolerance)
    for a, b in zip(weights, our_weights, strict=True):
        close(a, b, tolerance)
    assert ours[-1] < ours[0]


def adam(parameters):
    return torch.optim.Adam(parameters, lr=1e-3)


@test
def transformer_encoder_trains():
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True, norm_first=True)
    model = nn.Sequential(
        nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), nn.Linear(32, 5)
    )
    x, y = torch.randn(4, 9, 32), torch.randint(0, 5, (4, 9))
    # Not Adam: the keys' biases have gradients of nothing but rounding, of which it would make
    # whole steps.
    train_both(
        model,
        [x, y],
        lambda m, x, y: functional.cross_entropy(m(x).flatten(0, 1), y.flatten()),
        lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9),
    )


@test
def attention_with_a_mask_agrees():
    torch.manual_seed(1)
    q, k, v = (torch.randn(2, 3, 7, 8) for _ in range(3))
    for options in ({}, {"is_causal": True}, {"attn_mask": torch.rand(7, 7) > 0.3}):
        there = {n: o.to(DEVICE) if isinstance(o, torch.Tensor) else o for n, o in options.items()}
        expected = functional.scaled_dot_product_attention(q, k, v, **options)
        close(
            torch.nan_to_num(expected),
            torch.nan_to_num(
                functional.scaled_dot_product_attention(
                    q.to(DEVICE), k.to(DEVICE), v.to(DEVICE), **there
                )
            ),
            1e-5,
        )


class Tagger(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.embedding = nn.Embedding(20, 12, padding_idx=0)
        self.recurrent = getattr(nn, kind)(
            12, 10, num_layers=2, batch_first=True, bidirectional=True
        )
        self.out = nn.Linear(20, 4)

    def forward(self, tokens):
        return self.out(self.recurrent(self.embedding(tokens))[0])


@test
def recurrent_networks_over_embeddings_train():
    for kind in ("LSTM", "GRU"):
        torch.manual_seed(2)
        tokens, tags = torch.randint(0, 20, (3, 6)), torch.randint(0, 4, (3, 6))
        train_both(
            Tagger(kind),
            [tokens, tags],
            lambda m, x, y: functional.cross_entropy(m(x).flatten(0, 1), y.flatten()),
            adam,
        )


@test
def optimizers_agree():
    torch.manual_seed(3)
    model = nn.Sequential(nn.Linear(6, 16), nn.GELU(), nn.LayerNorm(16), nn.Linear(16, 1))
    x, y = torch.randn(12, 6), torch.randn(12, 1)
    loss = lambda m, x, y: functional.mse_loss(m(x), y)  # noqa: E731
    for make in (
        adam,
        lambda p: torch.optim.AdamW(p, lr=1e-3, weight_decay=0.1, amsgrad=True),
        lambda p: torch.optim.RMSprop(p, lr=1e-3, momentum=0.9),
        lambda p: torch.optim.Adagrad(p, lr=1e-2),
        lambda p: torch.optim.SGD(p, lr=1e-2, momentum=0.9, nesterov=True),
    ):
        train_both(model, [x, y], loss, make)


@test
def mixed_precision_stays_near():
    torch.manual_seed(4)
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(8 * 64, 10),
    )
    x, y = torch.randn(6, 3, 8, 8), torch.randint(0, 10, (6,))

    def loss(m, x, y):
        with torch.autocast("xla" if x.device.type == "xla" else "cpu", dtype=torch.bfloat16):
            out = m(x)
            assert out.dtype == torch.bfloat16
        return functional.cross_entropy(out.float(), y)

    train_both(model, [x, y], loss, adam, tolerance=3e-2)


@test
def dropout_drops_and_scales():
    x = torch.ones(200, 200, device=DEVICE)
    torch_xla.manual_seed(5)
    y = functional.dropout(x, 0.25)
    z = functional.dropout(x, 0.25)
    y, z = y.cpu(), z.cpu()
    assert set(y.unique().tolist()) == {0.0, torch.tensor(1 / 0.75).item()}, y.unique()
    assert abs((y == 0).float().mean().item() - 0.25) < 0.02 and (y != z).any()
    torch_xla.manual_seed(5)
    assert torch.equal(functional.dropout(x, 0.25).cpu(), y)


@test
def compiled_by_openxla_agrees():
    torch.manual_seed(6)
    model = nn.Sequential(nn.Linear(8, 16), nn.SiLU(), nn.Linear(16, 3)).eval()
    compiled = torch.compile(copy.deepcopy(model).to(DEVICE), backend="openxla")
    with torch.no_grad():
        for batch in (4, 4, 7):
            x = torch.randn(batch, 8)
            close(model(x), compiled(x.to(DEVICE)), 1e-5)


@test
def indexing_and_shapes_agree():
    torch.manual_seed(7)
    x = torch.randn(5, 6, 7)
    index = torch.tensor([3, 0, 3])
    for f in (
        lambda x, i: x[i],
        lambda x, i: x[:, i, 1:5:2],
        lambda x, i: x.gather(0, i.reshape(3, 1, 1).expand(3, 6, 7)),
        lambda x, i: torch.zeros_like(x).index_add_(0, i, x[:3]),
        lambda x, i: torch.zeros_like(x).scatter_(0, i.reshape(3, 1, 1).expand(3, 6, 7), x[:3]),
        lambda x, i: x.sort(dim=1).values,
        lambda x, i: x.topk(3, dim=2).values,
        lambda x, i: x.cumsum(1),
        lambda x, i: torch.einsum("abc,adc->bd", x, x),
        lambda x, i: functional.interpolate(x[None], scale_factor=2, mode="nearest"),
        lambda x, i: functional.pad(x, (1, 2, 0, 3), value=4.0),
        lambda x, i: torch.where(x > 0, x, x.exp()),
        lambda x, i: x.flip(0).roll(2, 1).tril(),
        lambda x, i: x.var(dim=(0, 2)),
        lambda x, i: x.argmax(2).float(),
        lambda x, i: torch.linalg.inv(x[0, :5, :5] + 5 * torch.eye(5, device=x.device)),
    ):
        close(f(x, index), f(x.to(DEVICE), index.to(DEVICE)), 1e-4)


@test
def sizes_known_at_run_time_only_are_results_or_named():
    x = torch.tensor([[1.0, 0.0], [0.0, 2.0]])
    try:
        found = x.to(DEVICE).nonzero().cpu()
    except RuntimeError as error:
        assert "dynamic" in str(error) or "nonzero" in str(error), error
    else:
        assert torch.equal(found, x.nonzero())


@test
def saved_state_comes_back():
    torch.manual_seed(8)
    model = nn.Linear(4, 4).to(DEVICE)
    with tempfile.TemporaryDirectory() as folder:
        xm.save(model.state_dict(), os.path.join(folder, "state"))
        state = torch.load(os.path.join(folder, "state"))
    close(state["weight"], model.weight, 0)
    other = nn.Linear(4, 4)
    other.load_state_dict(state)
    x = torch.randn(3, 4)
    close(other(x), model(x.to(DEVICE)), 1e-6)


@test
def errors_are_exceptions():
    a, b = torch.ones(2, 3, device=DEVICE), torch.ones(2, 3, device=DEVICE)
    try:
        (a @ b).cpu()
    except RuntimeError:
        pass
    else:
        raise AssertionError("2x3 by 2x3")
    close(torch.full((2, 2), 3.0), (a @ b.T).cpu(), 0)


@test
def memory_is_told():
    info = xm.get_memory_info(DEVICE)
    assert info["bytes_used"] > 0 and info["bytes_limit"] >= info["bytes_used"], info


if __name__ == "__main__":
    sys.exit(main())
