import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SPECIAL } from './tokenizer';

const [PAD, , END_OF_TURN] = SPECIAL;

/** Qwen3's architecture, small. Field names as transformers writes them. */
export const CONFIG = {
  architectures: ['Qwen3ForCausalLM'],
  model_type: 'qwen3',
  vocab_size: 448,
  hidden_size: 128,
  intermediate_size: 256,
  num_hidden_layers: 3,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  head_dim: 32,
  hidden_act: 'silu',
  max_position_embeddings: 512,
  rms_norm_eps: 1e-6,
  rope_theta: 10000,
  tie_word_embeddings: true,
  attention_bias: false,
  attention_dropout: 0,
  use_sliding_window: false,
  initializer_range: 0.02,
  bos_token_id: null,
  eos_token_id: SPECIAL.indexOf(END_OF_TURN),
  pad_token_id: SPECIAL.indexOf(PAD),
  torch_dtype: 'bfloat16',
} as const;

const TEMPLATE = `{%- for message in messages -%}
{{ '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}
{%- endfor -%}
{%- if add_generation_prompt -%}
{{ '<|im_start|>assistant\\n' }}
{%- endif -%}
`;

const json = (value: object) => JSON.stringify(value, null, 2) + '\n';

/** Everything of the model's folder but the weights, config.json (the engine writes those) and the card. */
export function writeTextFiles(folder: string, tokenizerJson: string): void {
  mkdirSync(folder, { recursive: true });
  const write = (name: string, text: string) => writeFileSync(join(folder, name), text);
  write('tokenizer.json', tokenizerJson);
  write(
    'tokenizer_config.json',
    json({
      tokenizer_class: 'PreTrainedTokenizerFast',
      bos_token: null,
      eos_token: END_OF_TURN,
      pad_token: PAD,
      unk_token: null,
      add_bos_token: false,
      model_max_length: CONFIG.max_position_embeddings,
      clean_up_tokenization_spaces: false,
    }),
  );
  write(
    'generation_config.json',
    json({
      eos_token_id: [SPECIAL.indexOf(END_OF_TURN), SPECIAL.indexOf(PAD)],
      pad_token_id: SPECIAL.indexOf(PAD),
      do_sample: true,
      temperature: 1,
    }),
  );
  write('chat_template.jinja', TEMPLATE);
}
