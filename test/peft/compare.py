"""Loads a base model and our adapter with transformers and PEFT, and compares logits with ours.

    python compare.py CASE.json    {base, adapter, rows: [ids], ours: file of little-endian f32 [tokens, V]}

Prints one JSON line: largest difference of our f32 logits from PEFT's in f64 (`difference`), in f32
(`difference_f32`), and of PEFT's f32 from its f64 (`rounding`); largest effect of the adapter; its modules.
"""

import json
import os
import sys

import numpy as np
import torch
from peft import PeftModel
from transformers import AutoModelForCausalLM


def load(base):
    options = {"dtype": torch.float32, "attn_implementation": "eager"}
    if base.endswith(".gguf"):
        folder, name = os.path.split(base)
        return AutoModelForCausalLM.from_pretrained(folder, gguf_file=name, **options).eval()
    return AutoModelForCausalLM.from_pretrained(base, **options).eval()


def logits(model, rows):
    with torch.no_grad():
        return np.concatenate([model(torch.tensor([row])).logits[0].double().numpy() for row in rows])


def rms_norm(self, x):
    return self.weight * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.variance_epsilon)


def to_double(model):
    """transformers computes norms and eager attention's softmax in f32 whatever the weights' type."""
    norms = {type(m) for m in model.modules() if type(m).__name__.endswith("RMSNorm")}
    assert norms, "no RMSNorm in the model"
    for norm in norms:
        norm.forward = rms_norm
    whole = model.get_base_model() if isinstance(model, PeftModel) else model
    whole.set_attn_implementation("sdpa")
    return model.double()


def main():
    case = json.load(open(sys.argv[1]))
    rows = case["rows"]
    model = load(case["base"])
    plain = logits(model, rows)
    model = PeftModel.from_pretrained(model, case["adapter"]).eval()
    modules = sum("lora_B" in name for name, _ in model.named_parameters())
    adapted = logits(model, rows)
    exact = logits(to_double(model), rows)
    ours = np.fromfile(case["ours"], dtype="<f4").reshape(adapted.shape)
    print(
        json.dumps(
            {
                "difference": float(np.abs(exact - ours).max()),
                "difference_f32": float(np.abs(adapted - ours).max()),
                "rounding": float(np.abs(adapted - exact).max()),
                "effect": float(np.abs(adapted - plain).max()),
                "modules": modules,
            }
        )
    )


if __name__ == "__main__":
    main()
