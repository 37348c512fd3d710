"""Loads our merged exports of an adapter with the software that they are made for.

    python merged.py CASE.json    {base, adapter, rows: [ids], merged: folder, gguf: {type: file}}

Prints one JSON line: largest difference of the logits of transformers on the merged folder from PEFT's on base and
adapter, both in f64 (`difference`); for each GGUF file its tensors and those whose bytes are not the merged model's as
the gguf package rounds them (`wrong`); the pieces that its tokenizer is told to have (`tokens`).
"""

import json
import sys

import gguf
import numpy as np
import torch
from compare import load, logits, to_double
from gguf.quants import dequantize, quantize
from peft import PeftModel
from transformers import AutoModelForCausalLM, AutoTokenizer

case = json.load(open(sys.argv[1]))
rows = case["rows"]

adapted = to_double(PeftModel.from_pretrained(load(case["base"]), case["adapter"]).eval())
expected = logits(adapted, rows)
del adapted
merged = AutoModelForCausalLM.from_pretrained(
    case["merged"], dtype=torch.float32, attn_implementation="eager"
).eval()
weights = {name: tensor.numpy().copy() for name, tensor in merged.state_dict().items()}
config = merged.config
difference = float(np.abs(logits(to_double(merged), rows) - expected).max())
tokenizer = AutoTokenizer.from_pretrained(case["merged"])

names = gguf.get_tensor_name_map(
    {"llama": gguf.MODEL_ARCH.LLAMA, "qwen3": gguf.MODEL_ARCH.QWEN3}[config.model_type],
    config.num_hidden_layers,
)


def permuted(w, heads):
    """LlamaModel.permute of llama.cpp's convert_hf_to_gguf.py."""
    return w.reshape(heads, 2, w.shape[0] // heads // 2, *w.shape[1:]).swapaxes(1, 2).reshape(w.shape)


def as_gguf(name):
    w = weights[name]
    if config.model_type == "llama" and name.endswith("q_proj.weight"):
        return permuted(w, config.num_attention_heads)
    if config.model_type == "llama" and name.endswith("k_proj.weight"):
        return permuted(w, config.num_key_value_heads)
    return w


def check(file):
    reader = gguf.GGUFReader(file)
    found = {tensor.name: tensor for tensor in reader.tensors}
    wrong = []
    for name in weights:
        if name == "lm_head.weight" and config.tie_word_embeddings:
            continue
        tensor = found.pop(names.get_name(name, try_suffixes=(".weight",)))
        w = as_gguf(name)
        kind = tensor.tensor_type
        if kind in (gguf.GGMLQuantizationType.F32, gguf.GGMLQuantizationType.F16):
            good = np.array_equal(tensor.data, w.astype(tensor.data.dtype))
        else:
            good = np.array_equal(np.asarray(tensor.data).reshape(-1), quantize(w, kind).reshape(-1))
            good = good and dequantize(tensor.data, kind).shape == w.shape
        if not good:
            wrong.append(name)
    tokens = reader.get_field("tokenizer.ggml.tokens")
    ids = [i for i in range(len(tokenizer)) if tokenizer.convert_ids_to_tokens(i) is not None]
    pieces = tokens.contents()
    return {
        "tensors": len(reader.tensors),
        "wrong": wrong + [f"{name} is none of the model's" for name in found]
        + [f"token {i}" for i in ids if pieces[i] != tokenizer.convert_ids_to_tokens(i)],
        "tokens": len(pieces),
    }


print(
    json.dumps(
        {
            "difference": difference,
            "gguf": {kind: check(file) for kind, file in case["gguf"].items()},
        }
    )
)
