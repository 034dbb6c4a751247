"""Linear, ReLU, Linear, Tanh under PyTorch/XLA: PJRT_DEVICE=HLOSCOPE python torch_mlp.py. Compares
with PyTorch's own CPU result."""

import torch
import torch_xla


def build():
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 64), torch.nn.Tanh()
    )


def train(device, steps=20):
    model = build().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    torch.manual_seed(1)
    x = torch.randn(32, 64)
    y = torch.sin(x).to(device)
    x = x.to(device)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = ((model(x) - y) ** 2).mean()
        loss.backward()
        optimizer.step()
        torch_xla.sync()
        losses.append(loss.item())
    return losses


if __name__ == "__main__":
    ours, reference = train(torch_xla.device()), train("cpu")
    worst = max(abs(a - b) for a, b in zip(ours, reference))
    print(
        f"{torch_xla.device()}: loss {ours[0]:.4f} -> {ours[-1]:.4f}; largest difference from"
        f" PyTorch's CPU {worst:.2e}"
    )
    assert worst < 1e-4
