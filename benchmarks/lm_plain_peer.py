"""The other side: a small GPT in plain PyTorch, written and trained the way nanoGPT's tutorial does it.

A program of its own that obeys lines on standard input: ``train N`` makes N steps and prints their seconds, ``validate`` prints
the loss on all windows of the last 10 %. Modes: eager, compile, and ddp (under torchrun, gloo, one thread a process).
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional

# The preset; the larger model of the part "large" is asked for by a variable, before anything is defined.
SIZES = {"preset": (4, 8, 128, 64, 32), "large": (6, 6, 384, 256, 16)}
LAYERS, HEADS, DIM, BLOCK, BATCH = SIZES[os.environ.get("LM_PLAIN_SIZE", "preset")]


class Attention(nn.Module):
    """Causal self-attention with one projection for q, k and v."""

    def __init__(self) -> None:
        super().__init__()
        self.attend = nn.Linear(DIM, 3 * DIM, bias=False)
        self.project = nn.Linear(DIM, DIM, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Attend."""
        rows, length, dim = x.size()
        q, k, v = self.attend(x).split(DIM, dim=2)
        q, k, v = (part.view(rows, length, HEADS, dim // HEADS).transpose(1, 2) for part in (q, k, v))
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        out: torch.Tensor = self.project(y.transpose(1, 2).contiguous().view(rows, length, dim))
        return out


class Block(nn.Module):
    """Norm, attention, norm, MLP, both around a residual stream."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.attention = nn.LayerNorm(DIM, bias=False), Attention()
        self.second = nn.LayerNorm(DIM, bias=False)
        self.up, self.down = nn.Linear(DIM, 4 * DIM, bias=False), nn.Linear(4 * DIM, DIM, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Add both branches to the stream."""
        x = x + self.attention(self.first(x))
        out: torch.Tensor = x + self.down(functional.gelu(self.up(self.second(x))))
        return out


class PlainGPT(nn.Module):
    """Embeddings, blocks, norm, tied head."""

    def __init__(self, vocab: int) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(vocab, DIM), nn.Embedding(BLOCK, DIM)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm = nn.LayerNorm(DIM, bias=False)
        self.head = nn.Linear(DIM, vocab, bias=False)
        self.tokens.weight = self.head.weight
        for name, parameter in self.named_parameters():
            if parameter.dim() >= 2:
                scale = math.sqrt(2 * LAYERS) if name.endswith(("project.weight", "down.weight")) else 1.0
                nn.init.normal_(parameter, mean=0.0, std=0.02 / scale)

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """Return the mean loss."""
        stream = self.tokens(x) + self.places(torch.arange(x.size(1)))
        for block in self.blocks:
            stream = block(stream)
        logits = self.head(self.norm(stream))
        return functional.cross_entropy(logits.view(-1, logits.size(-1)), y.view(-1))


class Trainer:
    """One model, its data and its optimizer."""

    def __init__(self, options: argparse.Namespace, rank: int, world: int) -> None:
        text = Path(options.data).read_text(encoding="utf-8")
        chars = sorted(set(text))
        ids = np.array([chars.index(char) for char in text], dtype=np.uint16)
        cut = int(0.9 * len(ids))
        self.train_ids, self.val_ids = ids[:cut], ids[cut:]
        self.options, self.rows = options, BATCH // world
        torch.manual_seed(1337)
        self.model = PlainGPT(options.vocab or len(chars))
        decay = [p for p in self.model.parameters() if p.dim() >= 2]
        rest = [p for p in self.model.parameters() if p.dim() < 2]
        groups = [{"params": decay, "weight_decay": 0.1}, {"params": rest, "weight_decay": 0.0}]
        self.optimizer = torch.optim.AdamW(groups, lr=options.lr, betas=(0.9, 0.99))
        self.call: Any = self.model
        if options.mode == "compile":
            self.call = torch.compile(self.model)
        elif options.mode == "ddp":
            self.call = nn.parallel.DistributedDataParallel(self.model)
        torch.manual_seed(1337 + rank)
        self.step = 0

    def batch(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Draw windows as nanoGPT does."""
        starts = torch.randint(len(self.train_ids) - BLOCK, (self.rows,)).tolist()
        x = torch.stack([torch.from_numpy(self.train_ids[i : i + BLOCK].astype(np.int64)) for i in starts])
        y = torch.stack(
            [torch.from_numpy(self.train_ids[i + 1 : i + 1 + BLOCK].astype(np.int64)) for i in starts]
        )
        return x, y

    def rate(self) -> float:
        """Warm-up, then a cosine down to a tenth."""
        options = self.options
        if self.step < options.warmup:
            return float(options.lr * (self.step + 1) / options.warmup)
        share = (self.step - options.warmup) / max(1, options.horizon - options.warmup)
        return float(options.lr * (0.1 + 0.9 * 0.5 * (1 + math.cos(math.pi * share))))

    def train(self, steps: int) -> float:
        """Make some steps; return their seconds."""
        started = time.perf_counter()
        for _ in range(steps):
            for group in self.optimizer.param_groups:
                group["lr"] = self.rate()
            loss = self.call(*self.batch())
            loss.backward()
            nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.optimizer.step()
            self.optimizer.zero_grad(set_to_none=True)
            self.step += 1
        return time.perf_counter() - started

    def validate(self) -> float:
        """Return the mean loss over all windows of the last part."""
        num = (len(self.val_ids) - 1) // BLOCK
        rows = np.stack([self.val_ids[i * BLOCK : i * BLOCK + BLOCK + 1] for i in range(num)]).astype(
            np.int64
        )
        total = 0.0
        with torch.no_grad():
            for start in range(0, num, 64):
                part = torch.from_numpy(rows[start : start + 64])
                total += float(self.model(part[:, :-1].contiguous(), part[:, 1:].contiguous())) * len(part)
        return total / num


def main() -> None:
    """Obey standard input."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", required=True)
    parser.add_argument("--mode", default="eager", choices=["eager", "compile", "ddp"])
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--warmup", type=int, default=100)
    parser.add_argument("--vocab", type=int, default=0, help="rows of the embedding; 0: one a character")
    parser.add_argument("--horizon", type=int, default=1000)
    options = parser.parse_args()
    rank, world = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    if options.mode == "ddp":
        torch.set_num_threads(1)
        torch.distributed.init_process_group("gloo")
    trainer = Trainer(options, rank, world)
    if rank == 0:
        print("ready", flush=True)
    while True:
        line = [sys.stdin.readline().strip() if rank == 0 else ""]
        if world > 1:
            torch.distributed.broadcast_object_list(line, 0)
        command, _, number = line[0].partition(" ")
        if command == "train":
            answer = trainer.train(int(number))
        elif command == "validate":
            answer = trainer.validate()
        else:
            break
        if rank == 0:
            print(json.dumps(answer), flush=True)
    if options.mode == "ddp":
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
