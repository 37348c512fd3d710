"""Loads a base model and our adapter with transformers and PEFT, and compares logits with ours.

    python compare.py CASE.json    {base, adapter, rows: [ids], ours: file of little-endian f32 [tokens, V]}

Prints one JSON line: largest difference of our f32 logits from PEFT's in f64 (in f32 its own rounding alone is as
large as 1e-4 on logits of 38), its excess over 1e-4 + 1e-5 |logit|, and the difference from PEFT's in f32; largest
effect of the adapter; its modules.
"""

import json
import os
import sys

import numpy as np
import torch
from peft import PeftModel
from transformers import AutoModelForCausalLM

case = json.load(open(sys.argv[1]))
base = case["base"]
options = {"dtype": torch.float32, "attn_implementation": "eager"}
if base.endswith(".gguf"):
    folder, name = os.path.split(base)
    model = AutoModelForCausalLM.from_pretrained(folder, gguf_file=name, **options)
else:
    model = AutoModelForCausalLM.from_pretrained(base, **options)
model.eval()


def logits():
    with torch.no_grad():
        return np.concatenate(
            [model(torch.tensor([row])).logits[0].double().numpy() for row in case["rows"]]
        )


plain = logits()
model = PeftModel.from_pretrained(model, case["adapter"]).eval()
modules = sum("lora_B" in name for name, _ in model.named_parameters())
adapted = logits()
model = model.double()
exact = logits()
ours = np.fromfile(case["ours"], dtype="<f4").reshape(adapted.shape)
print(
    json.dumps(
        {
            "difference": float(np.abs(exact - ours).max()),
            "excess": float((np.abs(exact - ours) - 1e-4 - 1e-5 * np.abs(exact)).max()),
            "difference_f32": float(np.abs(adapted - ours).max()),
            "rounding": float(np.abs(adapted - exact).max()),
            "effect": float(np.abs(adapted - plain).max()),
            "modules": modules,
        }
    )
)
