"""Loads our exports of a reward model with transformers and PEFT, and compares scores with ours.

    python scores.py CASE.json    {base, adapter, merged: folder, rows: [ids], ours: [scores]}

Prints one JSON line: largest difference of our f32 scores from PEFT's on base and adapter in f64 (`difference`), of
those from transformers' on the merged folder in f64 (`merged`), and the largest effect of the adapter's LoRA on the
scores (`effect`); what the adapter's configuration says that it is (`task`), and how many numbers its head has (`head`).
"""

import json
import sys

import torch
from compare import to_double
from peft import PeftConfig, PeftModel
from transformers import AutoModelForSequenceClassification

OPTIONS = {"dtype": torch.float32, "attn_implementation": "eager"}


def scores(model, rows):
    with torch.no_grad():
        return torch.stack([model(torch.tensor([row])).logits[0, 0].double() for row in rows])


def main():
    case = json.load(open(sys.argv[1]))
    rows, ours = case["rows"], torch.tensor(case["ours"], dtype=torch.float64)
    base = AutoModelForSequenceClassification.from_pretrained(case["base"], num_labels=1, **OPTIONS)
    model = PeftModel.from_pretrained(base, case["adapter"]).eval()
    adapted = scores(to_double(model), rows)
    head = model.get_base_model().score.modules_to_save["default"].weight
    # the trained head on hidden states without LoRA
    with model.disable_adapter(), torch.no_grad():
        states = [model.get_base_model().model(torch.tensor([row])).last_hidden_state[0, -1] for row in rows]
        plain = torch.stack([(state @ head[0]).double() for state in states])
    merged = AutoModelForSequenceClassification.from_pretrained(case["merged"], **OPTIONS).eval()
    assert merged.config.num_labels == 1
    print(
        json.dumps(
            {
                "difference": float((adapted - ours).abs().max()),
                "merged": float((scores(to_double(merged), rows) - adapted).abs().max()),
                "effect": float((adapted - plain).abs().max()),
                "task": PeftConfig.from_pretrained(case["adapter"]).task_type,
                "head": head.numel(),
            }
        )
    )


if __name__ == "__main__":
    main()
