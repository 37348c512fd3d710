import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { AdapterInfo, LoraSpec } from '../../../native/face';

export interface AdapterDescription {
  /** Name of the base model, never a path of this machine. */
  base: string;
  /** What was asked for. */
  spec: Pick<LoraSpec, 'rank' | 'alpha' | 'rslora' | 'rankPattern' | 'alphaPattern'>;
  /** What the model has made of it. */
  info: Pick<AdapterInfo, 'modules' | 'saved' | 'scalarHead'>;
}

/** Every field that peft 0.21.2 writes for a LoRA adapter, in its order. */
export function adapterConfig({ base, spec, info }: AdapterDescription): Record<string, unknown> {
  const { modules, saved, scalarHead } = info;
  const whole = [
    ...saved.map((name) => name.split('.').at(-1)!).sort(),
    ...(scalarHead ? ['classifier', 'score'] : []),
  ];
  return {
    alora_invocation_tokens: null,
    alpha_pattern: spec.alphaPattern ?? {},
    arrow_config: null,
    auto_mapping: null,
    // a name that was typed may look like a path; what loads the adapter must not go looking there
    base_model_name_or_path: base.replace(/^([A-Za-z]:)?[\\/]+/, ''),
    bias: 'none',
    corda_config: null,
    ensure_weight_tying: false,
    eva_config: null,
    exclude_modules: null,
    fan_in_fan_out: false,
    inference_mode: true,
    init_lora_weights: true,
    kasa_config: null,
    layer_replication: null,
    layers_pattern: null,
    layers_to_transform: null,
    loftq_config: {},
    lora_alpha: spec.alpha,
    lora_bias: false,
    lora_dropout: 0,
    lora_ga_config: null,
    megatron_config: null,
    megatron_core: 'megatron.core',
    modules_to_save: whole.length === 0 ? null : whole,
    monteclora_config: null,
    peft_type: 'LORA',
    peft_version: '0.21.2',
    qalora_group_size: 16,
    r: spec.rank,
    rank_pattern: spec.rankPattern ?? {},
    revision: null,
    target_modules: [...new Set(modules.map(({ name }) => name.split('.').at(-1)!))].sort(),
    target_parameters: null,
    task_type: scalarHead ? 'SEQ_CLS' : 'CAUSAL_LM',
    trainable_token_indices: null,
    use_bdlora: null,
    use_dora: modules.some(({ dora }) => dora),
    use_qalora: false,
    use_rslora: spec.rslora ?? false,
    velora_config: null,
  };
}

export async function writeAdapterConfig(folder: string, description: AdapterDescription): Promise<void> {
  const text = JSON.stringify(adapterConfig(description), null, 2);
  await writeFile(join(folder, 'adapter_config.json'), text);
}
