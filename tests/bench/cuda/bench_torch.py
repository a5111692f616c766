#!/usr/bin/env python3
"""The networks of cuda_bench in PyTorch: eager, replayed as a CUDA graph, and compiled; in the same lines.

    bench_torch.py real|tiny plain|compiled [DEVICE]

TF32 is off for products and convolutions, as Sluice's default is. Inputs lie on the device, nothing is sent and one small number
is fetched. `tiny` on "cpu" proves that this program works. Without PyTorch, or a card for it, it says "skipped: …"."""

import statistics
import sys
import time

try:
    import torch
    from torch import nn
    from torch.nn import functional
except ImportError:
    print("skipped: no PyTorch")
    raise SystemExit(0) from None

ROUNDS, WARM_ROUNDS = 30, 11
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}


class Bottleneck(nn.Module):
    """A block of ResNet-50 as it is served: batch normalisation by kept statistics."""

    def __init__(self, width, inner, stride):
        super().__init__()
        self.path = nn.Sequential(
            nn.Conv2d(width, inner, 1, bias=False), nn.BatchNorm2d(inner), nn.ReLU(),
            nn.Conv2d(inner, inner, 3, stride, 1, bias=False), nn.BatchNorm2d(inner), nn.ReLU(),
            nn.Conv2d(inner, 4 * inner, 1, bias=False), nn.BatchNorm2d(4 * inner))
        self.shortcut = nn.Identity() if width == 4 * inner else nn.Sequential(
            nn.Conv2d(width, 4 * inner, 1, stride, bias=False), nn.BatchNorm2d(4 * inner))

    def forward(self, x):
        return functional.relu(self.path(x) + self.shortcut(x))


def resnet50(is_tiny):
    width, blocks = (4, [1, 1]) if is_tiny else (64, [3, 4, 6, 3])
    layers = [nn.Conv2d(3, width, 7, 2, 3, bias=False), nn.BatchNorm2d(width), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    channels = width
    for stage, count in enumerate(blocks):
        for block in range(count):
            layers.append(Bottleneck(channels, width << stage, 2 if block == 0 and stage > 0 else 1))
            channels = 4 * (width << stage)
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 8 if is_tiny else 1000)]
    return nn.Sequential(*layers), (3, 16, 16) if is_tiny else (3, 224, 224)


class Layer(nn.Module):
    """A layer of BERT's encoder, with PyTorch's own attention."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.mixed = (nn.Linear(width, width) for _ in range(4))
        self.inner, self.outer = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.norm, self.last_norm = nn.LayerNorm(width), nn.LayerNorm(width)

    def forward(self, x):
        batch, words, width = x.shape
        query, key, value = (part(x).view(batch, words, self.heads, -1).transpose(1, 2) for part in (self.query, self.key, self.value))
        attended = functional.scaled_dot_product_attention(query, key, value)
        x = self.norm(self.mixed(attended.transpose(1, 2).reshape(batch, words, width)) + x)
        return self.last_norm(self.outer(functional.gelu(self.inner(x))) + x)


def bert(is_tiny):
    width, heads, words, layers = (8, 2, 4, 1) if is_tiny else (768, 12, 128, 12)
    return nn.Sequential(*(Layer(width, heads) for _ in range(layers))), (words, width)


def trained(is_tiny):
    width = 16 if is_tiny else 4096
    layers = [nn.Linear(width, width, bias=False) for _ in range(4)]
    return nn.Sequential(layers[0], nn.ReLU(), layers[1], nn.ReLU(), layers[2], nn.ReLU(), layers[3]), (width,)


def synchronize(device):
    if device == "cuda":
        torch.cuda.synchronize()


def time_calls(step, device, is_tiny):
    """Microseconds of calls one after another, each to its end."""
    times = []
    rounds = 2 if is_tiny else ROUNDS
    for index in range(-WARM_ROUNDS, rounds):
        start = time.perf_counter()
        step()
        synchronize(device)
        if index >= 0:
            times.append((time.perf_counter() - start) * 1e6)
    return times


def graphed(step):
    """The step as a CUDA graph, captured behind a few calls on a stream of its own."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay


def inference_step(model, x):
    model.eval()

    def step():
        with torch.inference_mode():
            return model(x)
    return step


def training_step(model, x):
    labels = (torch.arange(x.shape[0], device=x.device) % 4)
    weights = list(model.parameters())

    def step():
        loss = functional.cross_entropy(model(x), labels, reduction="sum")
        gradients = torch.autograd.grad(loss, weights)
        with torch.no_grad():
            torch._foreach_add_(weights, gradients, alpha=-0.0001)  # pylint: disable=protected-access
        return loss
    return step


# How a step is made of a model, for each kind of systems. Compiling takes long: it comes in a call of its own.
SYSTEMS = {
    "plain": {"PyTorch eager": lambda model, make_step, x: make_step(model, x),
              "PyTorch graphed": lambda model, make_step, x: graphed(make_step(model, x))},
    "compiled": {"PyTorch compiled": lambda model, make_step, x: make_step(torch.compile(model), x),
                 "PyTorch compiled, graphed": lambda model, make_step, x: graphed(make_step(torch.compile(model), x))},
}


def measure(name, make, make_step, dtype, batch, systems, device, is_tiny):
    shape_text = f"batch {batch}"
    for system, make_system in systems.items():
        torch.manual_seed(0)
        model, shape = make(is_tiny)
        model = model.to(device=device, dtype=DTYPES[dtype])
        x = torch.rand((batch, *shape), device=device, dtype=DTYPES[dtype]) * 2 - 1
        try:
            times = time_calls(make_system(model, make_step, x), device, is_tiny)
        except Exception as error:  # pylint: disable=broad-except  (one system that fails leaves the others their rows)
            print(f"fact\t{name}, {dtype}, {shape_text}, {system}\tfails: {type(error).__name__}", flush=True)
            continue
        print(f"{'tiny ' if is_tiny else ''}time\t{name}\t{dtype}\t{shape_text}\t{system}\t{statistics.median(times):.6g}\t{min(times):.6g}\t"
              f"{max(times):.6g}\t", flush=True)


def main():
    is_tiny = sys.argv[1] == "tiny"
    systems = SYSTEMS[sys.argv[2]]
    device = sys.argv[3] if len(sys.argv) > 3 else "cuda"
    if device == "cuda" and not torch.cuda.is_available():
        print("skipped: PyTorch sees no CUDA device")
        return
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    if device == "cpu":
        systems.pop("PyTorch graphed", None)  # which only a card has
    print(f"fact\tPyTorch\t{torch.__version__}, TF32 off")
    for name, make in (("ResNet-50", resnet50), ("BERT-base", bert)):
        for dtype in DTYPES:
            for batch in (1, 2) if is_tiny else (1, 32):
                measure(name, make, inference_step, dtype, batch, systems, device, is_tiny)
    measure("training of 4 layers", trained, training_step, "float32", 4 if is_tiny else 256, systems, device, is_tiny)


if __name__ == "__main__":
    main()
