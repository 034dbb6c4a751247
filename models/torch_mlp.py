"""The network of the operator profile (Linear, ReLU, Linear, Tanh) under PyTorch/XLA: PJRT_DEVICE=HLOSCOPE python models/torch_mlp.py.

Runs it forward and through a step of SGD, on the device and on PyTorch's CPU, and ends with 1 where the two differ.
"""
import sys

import torch
import torch_xla


class Network(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer1 = torch.nn.Linear(4, 4)
        self.nl1 = torch.nn.ReLU()
        self.layer2 = torch.nn.Linear(4, 2)
        self.nl2 = torch.nn.Tanh()

    def forward(self, x):
        return self.nl2(self.layer2(self.nl1(self.layer1(x))))


def run(device, x):
    """What the network gives before and after one step, and the step's gradients."""
    torch.manual_seed(0)
    model = Network().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x = x.to(device)
    before = model(x)
    loss = (before**2).sum()
    loss.backward()
    gradients = [p.grad.detach().clone() for p in model.parameters()]
    optimizer.step()
    after = model(x)
    torch_xla.sync()
    return [t.detach().cpu() for t in (before, loss, after, *gradients)]


def main():
    torch.manual_seed(1)
    x = torch.rand(8, 4)
    worst = 0.0
    for ours, expected in zip(run(torch_xla.device(), x), run("cpu", x)):
        worst = max(worst, float((ours - expected).abs().max()))
    print(f"torch_mlp on {torch_xla.device()}: largest difference from PyTorch's CPU {worst:.2e}")
    return 0 if worst < 1e-6 else 1


if __name__ == "__main__":
    sys.exit(main())
