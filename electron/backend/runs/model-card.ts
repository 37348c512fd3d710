import type { ExportForm, FrozenReward } from '../../../shared/contract/runs';
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
  form: ExportForm;
  /** It scores texts. */
  scalarHead: boolean;
}

const SCORE = `

The score of a conversation is \`model(ids).logits[0, 0]\`, with the ids of its chat template, the answer included.`;

/** What the folder holds, and how it is loaded. */
function aboutForm(
  form: ExportForm,
  base: string,
  whole: boolean,
  scalarHead: boolean,
): { library: string; what: string; use: string } {
  const auto = scalarHead ? 'AutoModelForSequenceClassification' : 'AutoModelForCausalLM';
  const merged = whole
    ? `${base} with all parameters trained`
    : `${base} with a LoRA adapter merged into it in 32-bit`;
  switch (form.kind) {
    case 'adapter':
      return {
        library: 'peft',
        what: scalarHead
          ? `A LoRA adapter with a score head, which makes a reward model of ${base}`
          : `A LoRA adapter for ${base}`,
        use: `\`\`\`python
from peft import PeftModel
from transformers import ${auto}

base = ${auto}.from_pretrained("PATH_OF_${base.replaceAll('"', '')}"${scalarHead ? ', num_labels=1' : ''})
model = PeftModel.from_pretrained(base, "PATH_OF_THIS_FOLDER")
\`\`\`${scalarHead ? SCORE : ''}`,
      };
    case 'merged':
      return {
        library: 'transformers',
        what: `${merged}, kept as ${form.dtype}`,
        use: `\`\`\`python
from transformers import ${auto}, AutoTokenizer

model = ${auto}.from_pretrained("PATH_OF_THIS_FOLDER")
tokenizer = AutoTokenizer.from_pretrained("PATH_OF_THIS_FOLDER")
\`\`\`${scalarHead ? SCORE : ''}`,
      };
    case 'gguf':
      return {
        library: 'gguf',
        what: `${merged}, kept as GGUF ${form.type}`,
        use: `\`\`\`sh\nllama-cli -m model-${form.type}.gguf\n\`\`\``,
      };
    case 'mlx':
      return {
        library: 'mlx',
        what: `${merged}, kept in MLX's form ${form.bits === null ? 'as bf16' : `in ${form.bits} bits`}`,
        use: '```sh\nmlx_lm.chat --model PATH_OF_THIS_FOLDER\n```',
      };
  }
}

/** README.md of an export: what it is, how it was made, how to load it. */
export function modelCard(
  record: RunRecord,
  { step, heldOut, unverified, form, scalarHead }: CardNumbers,
): string {
  const { config } = record;
  const whole = config.params['method'] === 'full';
  const { library, what, use } = aboutForm(form, record.modelName, whole, scalarHead);
  const number = (value: number | null) => (value === null ? 'not measured' : value.toFixed(3));
  return `---
base_model: ${record.modelName}
library_name: ${library}
pipeline_tag: ${scalarHead ? 'text-classification' : 'text-generation'}
tags:
- ${whole ? 'full-parameter' : 'lora'}
- ${config.algorithm}
---

# ${record.name}
${unverified === null ? '' : `\n**Verification failed.** ${unverified}\n`}
${what}, trained with ${config.algorithm.toUpperCase()} by Atelier ${record.provenance['version'] ?? ''}.

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

${use}
`;
}
