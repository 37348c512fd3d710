import type { FrozenReward } from '../../../shared/contract/runs';
import type { RunRecord } from '../store';

const FENCES = { typescript: 'ts', python: 'py', judge: 'md' };

function rewardText({ name, language, code, weight, params }: FrozenReward): string {
  const settings = Object.entries(params).map(([key, value]) => `${key} ${String(value)}`);
  const about = [weight === 1 ? '' : `weight ${weight}`, ...settings].filter(Boolean).join(', ');
  const fence = '```';
  return `\n## Reward: ${name}${about === '' ? '' : ` (${about})`}\n\n${fence}${FENCES[language]}\n${code.replaceAll(fence, "'''")}\n${fence}\n`;
}

export interface CardNumbers {
  step: number;
  heldOut: { before: number | null; after: number | null };
  /** Why its check failed; null where it passed. */
  unverified: string | null;
}

/** README.md of an exported adapter: what it is, how it was made, how to load it. */
export function modelCard(record: RunRecord, { step, heldOut, unverified }: CardNumbers): string {
  const { config } = record;
  const number = (value: number | null) => (value === null ? 'not measured' : value.toFixed(3));
  return `---
base_model: ${record.modelName}
library_name: peft
pipeline_tag: text-generation
tags:
- lora
- ${config.algorithm}
---

# ${record.name}
${unverified === null ? '' : `\n**Verification failed.** ${unverified}\n`}
A LoRA adapter for ${record.modelName}, trained with ${config.algorithm.toUpperCase()} by Atelier ${record.provenance['version'] ?? ''}.

| | |
|---|---|
| Steps | ${step} of ${record.steps} |
| Data set | ${config.data.dataset} |
| Held-out, before | ${number(heldOut.before)} |
| Held-out, after | ${number(heldOut.after)} |
| Seed | ${config.seed} |
${Object.entries(record.provenance)
  .map(([key, value]) => `| ${key} | ${value} |`)
  .join('\n')}

## Settings

\`\`\`json
${JSON.stringify(config.params, null, 2)}
\`\`\`
${record.rewards.map(rewardText).join('')}
## Use

\`\`\`python
from peft import PeftModel
from transformers import AutoModelForCausalLM

base = AutoModelForCausalLM.from_pretrained("PATH_OF_${record.modelName.replaceAll('"', '')}")
model = PeftModel.from_pretrained(base, "PATH_OF_THIS_FOLDER")
\`\`\`
`;
}
