"""The steps of an SFT recipe (main.ts writes it) in double precision, in plain torch: what rounding does not touch."""

import json
import sys

import torch
from peft import PeftModel
from transformers import AutoModelForCausalLM

recipe = json.load(open(sys.argv[1]))
exact = torch.float64
# eager: nothing of it is fused, so that all of it is in double precision
base = AutoModelForCausalLM.from_pretrained(recipe["base"], dtype=exact, attn_implementation="eager")
model = PeftModel.from_pretrained(base, recipe["adapter"], is_trainable=True, autocast_adapter_dtype=False).to(exact)
model.train()
parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
optimizer = torch.optim.AdamW(parameters, lr=recipe["learningRate"], weight_decay=0.0)


def batch(rows):
    """Ids, mask and labels, [rows, longest]; a token that is not learnt has the label -100."""
    size = (len(rows), max(len(row["input_ids"]) for row in rows))
    ids, mask, labels = torch.zeros(size).long(), torch.zeros(size).long(), torch.full(size, -100)
    for k, row in enumerate(rows):
        length = len(row["input_ids"])
        ids[k, :length] = torch.tensor(row["input_ids"])
        mask[k, :length] = 1
        learnt = torch.tensor(row["completion_mask"]).bool()
        labels[k, :length][learnt] = ids[k, :length][learnt]
    return ids, mask, labels


curve, norms = [], []
for step in range(recipe["steps"]):
    size = recipe["batchSize"]
    ids, mask, labels = batch(recipe["rows"][step * size : (step + 1) * size])
    logits = model(input_ids=ids, attention_mask=mask).logits
    if logits.dtype != exact:
        raise SystemExit(f"logits of {logits.dtype}")
    loss = torch.nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    norms.append(torch.nn.utils.clip_grad_norm_(parameters, 1.0).item())
    optimizer.step()
    curve.append(loss.item())
json.dump({"curve": curve, "gradNorms": norms}, open(recipe["out"], "w"))
