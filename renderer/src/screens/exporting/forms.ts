import type { ExportForm, ExportKind } from '../../../../shared/contract/runs';

interface FormWords {
  label: string;
  help: string;
  /** What the button does. */
  action: string;
  /** How the numbers are kept; the first is chosen. */
  types: readonly { value: string; label: string; note: string }[];
  form(type: string): ExportForm;
  /** How it is loaded. */
  snippet(where: { path: string; base: string; type: string; scalarHead: boolean }): {
    title: string;
    language: string;
    text: string;
  };
}

const autoClass = (scalarHead: boolean) =>
  scalarHead ? 'AutoModelForSequenceClassification' : 'AutoModelForCausalLM';

const quoted = (text: string) => JSON.stringify(text);

export const FORMS: Record<ExportKind, FormWords> = {
  adapter: {
    label: 'PEFT adapter',
    help: 'Small: what was learnt, without the base. PEFT, vLLM and others load it beside the base.',
    action: 'Export adapter',
    types: [],
    form: () => ({ kind: 'adapter' }),
    snippet: ({ path, base, scalarHead }) => ({
      title: 'Load it with PEFT',
      language: 'Python',
      text: `from peft import PeftModel
from transformers import ${autoClass(scalarHead)}, AutoTokenizer

base = ${quoted(base)}
model = ${autoClass(scalarHead)}.from_pretrained(base${scalarHead ? ', num_labels=1' : ''})
model = PeftModel.from_pretrained(model, ${quoted(path)})
tokenizer = AutoTokenizer.from_pretrained(base)`,
    }),
  },
  merged: {
    label: 'Merged',
    help: 'A whole model in safetensors, as transformers loads it; an adapter is merged into it in 32-bit.',
    action: 'Export model',
    types: [
      { value: 'f32', label: '32-bit', note: 'exact' },
      { value: 'bf16', label: 'bf16', note: 'half the size, rounded' },
      { value: 'f16', label: 'f16', note: 'half the size, rounded' },
    ],
    form: (type) => ({ kind: 'merged', dtype: type as 'f32' }),
    snippet: ({ path, scalarHead }) => ({
      title: 'Load it with transformers',
      language: 'Python',
      text: `from transformers import ${autoClass(scalarHead)}, AutoTokenizer

model = ${autoClass(scalarHead)}.from_pretrained(${quoted(path)})
tokenizer = AutoTokenizer.from_pretrained(${quoted(path)})`,
    }),
  },
  gguf: {
    label: 'GGUF',
    help: 'One file with tokenizer and chat template, for llama.cpp, Ollama and LM Studio.',
    action: 'Export GGUF',
    types: [
      { value: 'f16', label: 'f16', note: '16-bit' },
      { value: 'q8_0', label: 'q8_0', note: '8-bit, about half of f16' },
      { value: 'f32', label: 'f32', note: 'exact' },
    ],
    form: (type) => ({ kind: 'gguf', type: type as 'f16' }),
    snippet: ({ path, type }) => ({
      title: 'Run it with llama.cpp',
      language: 'Shell',
      text: `llama-cli -m ${quoted(`${path}/model-${type}.gguf`)}`,
    }),
  },
  mlx: {
    label: 'MLX',
    help: 'A folder for mlx-lm and LM Studio on Apple silicon.',
    action: 'Export for MLX',
    types: [
      { value: '4', label: '4-bit', note: 'smallest' },
      { value: '8', label: '8-bit', note: 'close to the original' },
      { value: 'bf16', label: 'bf16', note: 'not quantised' },
    ],
    form: (type) => ({ kind: 'mlx', bits: type === 'bf16' ? null : type === '8' ? 8 : 4 }),
    snippet: ({ path }) => ({
      title: 'Run it with mlx-lm',
      language: 'Shell',
      text: `mlx_lm.chat --model ${quoted(path)}`,
    }),
  },
};
