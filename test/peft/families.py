"""Reads GGUF files of whole families with the gguf package, and with transformers where that knows the architecture.

    python families.py CASE.json    [{folder, gguf, architecture}]

Prints one JSON line, for each: the tensors; those that gguf's mapping of transformers' names does not have, under that
name, with the folder's numbers, and gguf's keys that do not say what transformers' configuration does (`wrong`); the
largest difference of transformers' logits on the file's tensors from those on the folder, f32 (`difference`; null where
transformers does not read the architecture). Of the keys transformers reads some only: it gets the folder's config.
"""

import json
import os
import re
import sys

import gguf
import numpy as np
import torch
from safetensors.torch import load_file
from transformers import AutoConfig, AutoModelForCausalLM

# llama.cpp's converter: LlamaModel and what derives from it turn the rows of q and k, Gemma 3 adds 1 to its norms.
TURNED = {"llama", "mistral", "smollm3"}
ONE_PLUS = {"gemma3_text"}
UNREAD = {"smollm3"}
# transformers has no such name of a GGUF: Llama to it.
NAMELESS = {"mistral"}
ARCHITECTURES = {name: arch for arch, name in gguf.MODEL_ARCH_NAMES.items()}


def permuted(w, heads):
    return w.reshape(heads, 2, w.shape[0] // heads // 2, *w.shape[1:]).swapaxes(1, 2).reshape(w.shape)


def weights_of(folder):
    out = {}
    for name in sorted(os.listdir(folder)):
        if re.fullmatch(r"model.*\.safetensors", name):
            out |= load_file(os.path.join(folder, name))
    return {name: tensor.float().numpy() for name, tensor in out.items()}


def stacked(weights):
    """The experts of a layer as one tensor, as the converter merges them."""
    out, experts = {}, {}
    for name, w in weights.items():
        found = re.fullmatch(r"(.*\.experts)\.(\d+)\.(.*)", name)
        if found:
            experts.setdefault(f"{found[1]}.{found[3]}", {})[int(found[2])] = w
        else:
            out[name] = w
    return out | {name: np.stack([parts[e] for e in sorted(parts)]) for name, parts in experts.items()}


def as_gguf(name, w, config):
    kind = config["model_type"]
    if kind in TURNED and name.endswith("q_proj.weight"):
        return permuted(w, config["num_attention_heads"])
    if kind in TURNED and name.endswith("k_proj.weight"):
        return permuted(w, config["num_key_value_heads"])
    return w + 1 if kind in ONE_PLUS and name.endswith("norm.weight") else w


def keys_of(config):
    """What the file must say, by gguf's names."""
    K = gguf.Keys
    heads = config.num_attention_heads
    head_dim = getattr(config, "head_dim", None) or config.hidden_size // heads
    rope = config.rope_parameters
    rope = rope.get("full_attention", rope)
    keys = {
        K.LLM.BLOCK_COUNT: config.num_hidden_layers,
        K.LLM.CONTEXT_LENGTH: config.max_position_embeddings,
        K.LLM.EMBEDDING_LENGTH: config.hidden_size,
        K.LLM.FEED_FORWARD_LENGTH: config.intermediate_size,
        K.LLM.VOCAB_SIZE: config.vocab_size,
        K.Attention.HEAD_COUNT: heads,
        K.Attention.HEAD_COUNT_KV: config.num_key_value_heads,
        K.Attention.KEY_LENGTH: head_dim,
        K.Attention.VALUE_LENGTH: head_dim,
        K.Attention.LAYERNORM_RMS_EPS: config.rms_norm_eps,
        K.Rope.DIMENSION_COUNT: head_dim,
        K.Rope.FREQ_BASE: rope["rope_theta"],
    }
    if rope["rope_type"] == "linear":
        keys |= {K.Rope.SCALING_TYPE: "linear", K.Rope.SCALING_FACTOR: rope["factor"]}
    if config.model_type == "gemma3_text":
        keys |= {K.Attention.SLIDING_WINDOW: config.sliding_window}
    if config.model_type == "qwen3_moe":
        keys |= {
            K.LLM.EXPERT_COUNT: config.num_experts,
            K.LLM.EXPERT_USED_COUNT: config.num_experts_per_tok,
            K.LLM.EXPERT_FEED_FORWARD_LENGTH: config.moe_intermediate_size,
        }
    return keys


def wrong_keys(reader, architecture, config):
    for key, value in keys_of(config).items():
        field = reader.get_field(key.format(arch=architecture))
        there = field and field.contents()
        close = isinstance(value, float) and there is not None and np.isclose(there, value, rtol=1e-6, atol=0)
        if there != value and not close:
            yield f"{key.format(arch=architecture)} is {there}, not {value}"


def check(case):
    config = json.load(open(os.path.join(case["folder"], "config.json")))
    reader = gguf.GGUFReader(case["gguf"])
    assert reader.get_field("general.architecture").contents() == case["architecture"]
    arch = ARCHITECTURES[case["architecture"]]
    names = gguf.get_tensor_name_map(arch, config["num_hidden_layers"])
    found = {tensor.name: tensor for tensor in reader.tensors}
    wrong = []
    for name, w in stacked(weights_of(case["folder"])).items():
        if name == "lm_head.weight" and config["tie_word_embeddings"]:
            continue
        tensor = found.pop(names.get_name(name, try_suffixes=(".weight", ".bias")) or "", None)
        if tensor is None or not np.array_equal(tensor.data, as_gguf(name, w, config)):
            wrong.append(name)
    wrong += [f"{name} is none of the model's" for name in found]
    read = AutoConfig.from_pretrained(case["folder"])
    wrong += wrong_keys(reader, case["architecture"], read)

    ids = torch.tensor([[1, 5, 9, 2, 7, 11, 3, 8, 6, 4, 10, 12]])
    difference = None
    if config["model_type"] not in UNREAD:
        load = dict(dtype=torch.float32, attn_implementation="eager")
        ours = AutoModelForCausalLM.from_pretrained(case["folder"], **load).eval()
        at, file = os.path.split(case["gguf"])
        if config["model_type"] not in NAMELESS:
            load["config"] = read
        theirs = AutoModelForCausalLM.from_pretrained(at, gguf_file=file, **load).eval()
        with torch.no_grad():
            difference = float((ours(ids).logits - theirs(ids).logits).abs().max())
    return {"tensors": len(reader.tensors), "wrong": wrong, "difference": difference}


print(json.dumps([check(case) for case in json.load(open(sys.argv[1]))]))
