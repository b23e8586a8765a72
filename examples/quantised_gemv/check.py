"""Unpacks the weights and multiplies them with x itself. Exit code 1 where the chain is off."""
import os
import sys
import numpy as np

folder = os.environ["PDL_BUFFERS"]
bits, columns, rows = (int(os.environ[name]) for name in ("BITS", "COLUMNS", "ROWS"))
load = lambda name: np.load(f"{folder}/{name}.npy")

words = load("weights").reshape(rows, -1)
if bits == 4:
    # Byte j of a word holds the even value 2j in its low half and the odd one 2j + 1 in its high half.
    nibbles = np.stack([(words >> (4 * i)) & 15 for i in range(8)], axis=-1)
    weights = nibbles.reshape(rows, columns).astype(np.int64) - 8
else:
    weights = words.view(np.int8).reshape(rows, columns).astype(np.int64)
weights = weights * np.repeat(load("weight_scales").astype(np.float64).reshape(rows, -1), 32, axis=1)
x = load("x").astype(np.float64)
wanted = weights @ x
found = load("y").astype(np.float64)

# Rounding to 8 bits is off by at most half a step of each block of x.
step = np.abs(x).reshape(-1, 32).max(axis=1) / 127
limit = np.abs(weights) @ np.repeat(step / 2, 32) * 1.01
if not (np.abs(found - wanted) <= limit).all():
    sys.exit(f"y is off by {np.abs(found - wanted).max()}")
# A bound of the worst case hides much: the usual error is far below it.
spread = np.sqrt((weights**2) @ np.repeat(step**2 / 12, 32))
if not (np.abs(found - wanted) <= 6 * spread).all():
    sys.exit("y is off by more than six standard deviations of the rounding")
