#!/usr/bin/env python3
"""export_models.py FOLDER   Writes networks with random weights as .onnx files below FOLDER, for `make bench-models`: their
speed does not depend on the weights. Classifiers of torchvision, and networks of other kinds, written here. Needs torch,
torchvision and onnx."""

import os
import sys

import torch
import torchvision
from torch import nn

CLASSIFIERS = ("resnet18", "resnet50", "mobilenet_v2", "mobilenet_v3_large", "mobilenet_v3_small", "efficientnet_b0")
SIZE = 224
SEED = 1
VOCABULARY = 8000
TOKENS = 128


class Block(nn.Module):
    """A transformer's layer, written out as exporters of models write it."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.joined = (nn.Linear(width, width) for _ in range(4))
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.attended, self.done = nn.LayerNorm(width), nn.LayerNorm(width)

    def attend(self, x, mask):
        batch, tokens, width = x.shape

        def split(layer):
            return layer(x).view(batch, tokens, self.heads, width // self.heads).transpose(1, 2)

        scores = torch.matmul(split(self.query), split(self.key).transpose(-1, -2)) / (width // self.heads) ** 0.5
        shares = torch.softmax(scores if mask is None else scores + mask, -1)
        return self.joined(torch.matmul(shares, split(self.value)).transpose(1, 2).reshape(batch, tokens, width))

    def forward(self, x, mask=None):
        x = self.attended(x + self.attend(x, mask))
        return self.done(x + self.narrow(nn.functional.gelu(self.wide(x))))


class Bert(nn.Module):
    def __init__(self, width=384, heads=6, layers=4):
        super().__init__()
        self.words = nn.Embedding(VOCABULARY, width)
        self.places = nn.Parameter(torch.randn(1, TOKENS, width))
        self.norm = nn.LayerNorm(width)
        self.blocks = nn.ModuleList([Block(width, heads) for _ in range(layers)])
        self.scores = nn.Linear(width, 2)

    def forward(self, input_ids, mask):
        x = self.norm(self.words(input_ids) + self.places)
        hidden = (1 - mask[:, None, None, :].float()) * -1e4
        for block in self.blocks:
            x = block(x, hidden)
        return self.scores(torch.tanh(x[:, 0]))


class VisionTransformer(nn.Module):
    def __init__(self, width=192, heads=3, layers=12, patch=16):
        super().__init__()
        self.patches = nn.Conv2d(3, width, patch, patch)
        self.first = nn.Parameter(torch.randn(1, 1, width))
        self.places = nn.Parameter(torch.randn(1, 1 + (SIZE // patch) ** 2, width))
        self.blocks = nn.ModuleList([Block(width, heads) for _ in range(layers)])
        self.norm = nn.LayerNorm(width)
        self.scores = nn.Linear(width, 1000)

    def forward(self, image):
        x = self.patches(image).flatten(2).transpose(1, 2)
        x = torch.cat([self.first.expand(x.shape[0], -1, -1), x], 1) + self.places
        for block in self.blocks:
            x = block(x)
        return self.scores(self.norm(x)[:, 0])


class Recurrent(nn.Module):
    def __init__(self, layer, inputs=64, hidden=256, outputs=32):
        super().__init__()
        self.layers = layer(inputs, hidden, batch_first=True, num_layers=2)
        self.scores = nn.Linear(hidden, outputs)

    def forward(self, x):
        return self.scores(self.layers(x)[0])


def networks():
    """(name, network, inputs by name) of each network."""
    image = {"image": torch.zeros(1, 3, SIZE, SIZE)}
    for name in CLASSIFIERS:
        yield name, getattr(torchvision.models, name)(weights=None), image
    words = torch.zeros(1, TOKENS, dtype=torch.long)
    yield "bert", Bert(), {"input_ids": words, "mask": torch.ones_like(words)}
    yield "vit", VisionTransformer(), image
    for name, layer in (("lstm", nn.LSTM), ("gru", nn.GRU), ("rnn", nn.RNN)):
        yield name, Recurrent(layer), {"x": torch.zeros(1, 50, 64)}


def main(folder):
    os.makedirs(folder, exist_ok=True)
    torch.manual_seed(SEED)
    for name, network, inputs in networks():
        path = os.path.join(folder, f"{name}.onnx")
        with torch.no_grad():
            torch.onnx.export(network.eval(), tuple(inputs.values()), path, opset_version=17, input_names=list(inputs),
                              output_names=["scores"], dynamo=False)
        print(path, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
