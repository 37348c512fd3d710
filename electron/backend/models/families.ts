/** `model_type` of config.json (and GGUF's general.architecture) -> the architecture the engine has for it. */
export const families: Readonly<Record<string, string>> = {
  llama: 'LlamaForCausalLM',
  qwen3: 'Qwen3ForCausalLM',
};

/** Tensor types of GGUF files that the engine reads. */
export const ggufTypes: ReadonlySet<string> = new Set(['F32', 'F16', 'BF16', 'Q8_0', 'Q4_0', 'Q4_1']);

type Json = Record<string, unknown>;

/** Why the engine would not take a checkpoint, or null. Told before a run; the engine has the last word. */
export function unsupported(config: Json): string | null {
  const type = String(config['model_type'] ?? 'none');
  const architecture = Object.hasOwn(families, type) ? families[type] : undefined;
  if (architecture === undefined) {
    return `The architecture "${type}" is not supported. Supported: ${Object.keys(families).join(', ')}.`;
  }
  const named = config['architectures'];
  if (Array.isArray(named) && named[0] !== architecture) {
    return `The architecture ${String(named[0])} is not supported; of this family ${architecture} is.`;
  }
  if (config['quantization_config']) return 'Quantised checkpoints (quantization_config) are not supported.';
  if (config['auto_map']) return 'Checkpoints that bring their own code (auto_map) are not run.';
  const rope = (config['rope_parameters'] ?? config['rope_scaling']) as Json | null | undefined;
  const scaling = String(rope?.['rope_type'] ?? rope?.['type'] ?? 'default');
  if (scaling !== 'default' && scaling !== 'llama3')
    return `Rope scaling of type "${scaling}" is not supported.`;
  const layers = config['layer_types'];
  const odd = Array.isArray(layers) ? layers.find((layer) => layer !== 'full_attention') : undefined;
  return odd === undefined ? null : `Layers of type "${String(odd)}" are not supported.`;
}
