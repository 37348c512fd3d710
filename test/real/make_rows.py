"""Rows of chain_sum.jsonl, made once and committed:

    python3 -m venv rg && rg/bin/pip install reasoning-gym==0.1.25 && rg/bin/python make_rows.py > chain_sum.jsonl
"""

import json

import reasoning_gym

rows = reasoning_gym.create_dataset(
    "chain_sum", size=256, seed=7, min_terms=2, max_terms=2, min_digits=1, max_digits=2
)
for row in rows:
    print(json.dumps({"question": row["question"], "answer": row["answer"]}))
