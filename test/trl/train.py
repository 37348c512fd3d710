"""One run in TRL with the recipe of a JSON file (main.ts writes it); the curve goes to recipe["out"]."""

import json
import re
import sys
import time

import torch
from datasets import Dataset
from peft import PeftModel, get_peft_model_state_dict
from safetensors.torch import load_file
from torch.utils.data import SequentialSampler
from transformers import AutoModelForCausalLM, AutoTokenizer, TrainerCallback
from trl import GRPOConfig, GRPOTrainer, SFTConfig, SFTTrainer

recipe = json.load(open(sys.argv[1]))
torch.manual_seed(recipe["seed"])
tokenizer = AutoTokenizer.from_pretrained(recipe["base"])
base = AutoModelForCausalLM.from_pretrained(recipe["base"], dtype=torch.float32)
# the adapter that our run of this seed begins with
model = PeftModel.from_pretrained(base, recipe["adapter"], is_trainable=True)


class Curve(TrainerCallback):
    """The logged values of each step, and what it costs."""

    def __init__(self, key):
        self.key, self.values, self.norms, self.costs = key, [], [], []
        self.sampling = 0.0
        self.clock = None

    def on_step_begin(self, args, state, control, **kwargs):
        self.values.append(None)

    def on_log(self, args, state, control, logs=None, **kwargs):
        if self.key in logs:
            self.values[-1] = logs[self.key]
            self.norms.append(logs["grad_norm"])
            now = time.perf_counter(), time.process_time()
            if self.clock:
                seconds, processor = (b - a for a, b in zip(self.clock, now))
                self.costs.append({"seconds": seconds, "sampling": self.sampling, "processor": processor})
            self.clock, self.sampling = now, 0.0


def sums(completions, answer, **kwargs):
    """resources/rewards/sums.ts."""
    rewards = []
    for completion, right in zip(completions, answer):
        text = completion[0]["content"] if isinstance(completion, list) else completion
        given = re.search(r"\nanswer: (\d+)\s*$", text, re.ASCII)
        rewards.append(0.0 if given is None else 1.0 if given.group(1) == right else 0.1)
    return rewards


common = dict(
    output_dir=recipe["scratch"],
    seed=recipe["seed"],
    max_steps=recipe["steps"],
    learning_rate=recipe["learningRate"],
    lr_scheduler_type="constant",
    max_grad_norm=1.0,
    weight_decay=0.0,
    optim="adamw_torch",
    bf16=False,
    gradient_checkpointing=False,
    use_cpu=True,
    logging_steps=1,
    report_to="none",
    save_strategy="no",
    disable_tqdm=True,
)
rows = Dataset.from_list(recipe["rows"])
if recipe["algorithm"] == "grpo":
    curve = Curve("reward")

    class Timed(GRPOTrainer):
        def _generate_single_turn(self, *args, **kwargs):
            start = time.perf_counter()
            answers = super()._generate_single_turn(*args, **kwargs)
            curve.sampling += time.perf_counter() - start
            return answers

    class Replay(GRPOTrainer):
        """Takes answers that were sampled elsewhere, {"prompt": ids, "completion": ids} by step."""

        def _generate_single_turn(self, prompt_ids, *args, **kwargs):
            step = recipe["rollouts"][self.state.global_step]
            if [row["prompt"] for row in step] != prompt_ids:
                raise SystemExit(f"step {self.state.global_step + 1}: other prompts than the answers are to")
            return [row["completion"] for row in step], None

    trainer = (Replay if "rollouts" in recipe else Timed)(
        model=model,
        processing_class=tokenizer,
        reward_funcs=sums,
        train_dataset=rows,
        args=GRPOConfig(
            per_device_train_batch_size=recipe["prompts"] * recipe["groupSize"],
            num_generations=recipe["groupSize"],
            max_completion_length=recipe["maxNewTokens"],
            temperature=1.0,
            loss_type="dapo",
            scale_rewards="group",
            epsilon=0.2,
            epsilon_high=0.28,
            beta=0.0,
            mask_truncated_completions=True,
            shuffle_dataset=False,  # the rows come in our order
            **common,
        ),
        callbacks=[curve],
    )
else:
    curve = Curve("loss")

    class InOrder(SFTTrainer):
        def _get_train_sampler(self, *args):
            return SequentialSampler(self.train_dataset)

    trainer = InOrder(
        model=model,
        processing_class=tokenizer,
        train_dataset=rows,  # input_ids and completion_mask in our order: no template of TRL's, no shuffling
        args=SFTConfig(
            per_device_train_batch_size=recipe["batchSize"],
            completion_only_loss=True,
            dataloader_drop_last=True,
            **common,
        ),
        callbacks=[curve],
    )
trainer.train()
if len(curve.values) != recipe["steps"] or None in curve.values:
    raise SystemExit(f"{len(curve.values)} of {recipe['steps']} steps were logged")


def distance(one, other):
    """Euclidean, over all tensors of two adapters."""
    return sum((one[name] - other[name]).square().sum().item() for name in one) ** 0.5


result = {"curve": curve.values, "gradNorms": curve.norms, "costs": curve.costs}
if "trained" in recipe:
    first, theirs = (load_file(f"{recipe[key]}/adapter_model.safetensors") for key in ("adapter", "trained"))
    ours = get_peft_model_state_dict(model)
    if not (first.keys() == theirs.keys() == ours.keys()):
        raise SystemExit(f"other tensors: {sorted(ours)[:3]} and {sorted(theirs)[:3]}")
    result["adapterDifference"] = distance(ours, theirs) / distance(theirs, first)
json.dump(result, open(recipe["out"], "w"))
