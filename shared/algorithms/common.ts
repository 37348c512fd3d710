import { z } from 'zod';
import { field } from './fields';
import { moduleValues } from './name-pattern';

/** How a base is kept in memory: as its files have it, or quantised when it is loaded. */
export const BASE_WEIGHTS = ['stored', '8-bit', '4-bit'] as const;
export type BaseWeights = (typeof BASE_WEIGHTS)[number];

export const OPTIMIZERS = ['adamw', 'adamw-8bit', 'adam', 'adafactor', 'muon'] as const;

/** Ranks and alphas that an adapter may have. */
export const LORA_RANK = { min: 1, max: 256, whole: true };
export const LORA_ALPHA = { min: 0.1, max: 1024, whole: false };

const LORA = { key: 'method', is: 'lora' } as const;
const FULL = { key: 'method', is: 'full' } as const;

/** What every algorithm can train: an adapter, or the whole model. */
export const adapterParams = () => ({
  method: field(z.enum(['lora', 'full']).default('lora'), {
    label: 'What is trained',
    help: 'A small adapter beside the model takes little memory and is easy to share. All parameters can learn more; with AdamW each takes 16 to 18 bytes of memory.',
    level: 'simple',
    section: 'Trained weights',
    options: { lora: 'LoRA adapter', full: 'All parameters' },
  }),
  loraRank: field(z.int().min(LORA_RANK.min).max(LORA_RANK.max).default(16), {
    label: 'LoRA rank',
    help: 'How much the adapter can hold. 8 to 32 is enough for reinforcement learning; large datasets may want more.',
    when: LORA,
    level: 'simple',
    section: 'Trained weights',
    step: 1,
  }),
  loraAlpha: field(z.number().min(LORA_ALPHA.min).max(LORA_ALPHA.max).default(32), {
    label: 'LoRA alpha',
    help: 'The adapter is scaled by alpha / rank. Twice the rank is usual.',
    when: LORA,
    level: 'advanced',
    section: 'Trained weights',
    step: 1,
  }),
  loraTargets: field(z.enum(['all-linear', 'attention', 'mlp']).default('all-linear'), {
    label: 'LoRA targets',
    help: 'Which weights get an adapter. All linear layers learns best; fewer take less memory.',
    when: LORA,
    level: 'advanced',
    section: 'Trained weights',
    options: { 'all-linear': 'All linear layers', attention: 'Attention only', mlp: 'MLP only' },
  }),
  loraRanks: field(moduleValues(LORA_RANK).default(''), {
    label: 'Ranks by module',
    help: 'Modules with a rank of their own, such as "q_proj: 32, down_proj: 64". A name is the end of a module\'s name, or a regular expression for it; the first that matches counts (PEFT\'s rank_pattern).',
    when: LORA,
    level: 'advanced',
    section: 'Trained weights',
  }),
  loraAlphas: field(moduleValues(LORA_ALPHA).default(''), {
    label: 'Alphas by module',
    help: "Modules with an alpha of their own, written like their ranks (PEFT's alpha_pattern). A module with another rank keeps the alpha above, and so gets another scale.",
    when: LORA,
    level: 'advanced',
    section: 'Trained weights',
  }),
  rsLora: field(z.boolean().default(false), {
    label: 'Rank-stabilised scale',
    help: 'Scales by alpha / √rank, which keeps high ranks (64 and more) learning.',
    when: LORA,
    level: 'advanced',
    section: 'Trained weights',
  }),
  dora: field(z.boolean().default(false), {
    label: 'DoRA',
    help: 'Learns the length of each row of a weight apart from its direction. Often a little better at low ranks; slower.',
    when: LORA,
    level: 'advanced',
    section: 'Trained weights',
  }),
  savedModules: field(z.enum(['none', 'head', 'embeddings', 'both']).default('none'), {
    label: 'Trained whole',
    help: 'Embeddings and output head are trained as they are, beside the adapter, and saved with it. For new tokens or another language; the adapter becomes large.',
    when: LORA,
    level: 'advanced',
    section: 'Trained weights',
    options: {
      none: 'Nothing',
      head: 'Output head',
      embeddings: 'Embeddings',
      both: 'Embeddings and output head',
    },
  }),
  baseWeights: field(z.enum(BASE_WEIGHTS).default('stored'), {
    label: 'Base weights',
    help: 'How the base model is kept in memory. 8-bit needs about a quarter of the memory of 32-bit weights and changes answers little; 4-bit an eighth, and changes them more. The adapter is trained beside them (QLoRA).',
    level: 'advanced',
    section: 'Trained weights',
    options: { stored: 'As stored', '8-bit': '8-bit', '4-bit': '4-bit' },
  }),
});

/** `learningRate`: for LoRA; all parameters take a tenth. */
export const optimizerParams = (defaults: {
  learningRate: number;
  schedule: 'constant' | 'linear' | 'cosine';
  warmup: number;
}) => ({
  learningRate: field(z.number().min(1e-8).max(1).default(defaults.learningRate), {
    label: 'Learning rate',
    help: 'How far each update moves the adapter. Too high forgets and breaks the text; too low learns nothing. An adapter wants about ten times the rate of all parameters, whatever its rank.',
    when: LORA,
    level: 'simple',
    section: 'Learning',
    logarithmic: true,
  }),
  fullLearningRate: field(
    z
      .number()
      .min(1e-9)
      .max(1)
      .default(Number((defaults.learningRate / 10).toPrecision(3))),
    {
      label: 'Learning rate',
      help: 'How far each update moves the model. Too high forgets and breaks the text; too low learns nothing. All parameters want about a tenth of the rate of an adapter.',
      when: FULL,
      level: 'simple',
      section: 'Learning',
      logarithmic: true,
    },
  ),
  schedule: field(z.enum(['constant', 'linear', 'cosine']).default(defaults.schedule), {
    label: 'Schedule',
    help: 'How the learning rate goes on after the warm-up.',
    level: 'advanced',
    section: 'Learning',
    options: { constant: 'Constant', linear: 'Linear', cosine: 'Cosine' },
  }),
  lowestRate: field(z.number().min(0).max(1).default(0), {
    label: 'Lowest rate',
    help: 'Where linear and cosine end, as a share of the learning rate.',
    when: { key: 'schedule', is: ['linear', 'cosine'] },
    level: 'advanced',
    section: 'Learning',
    step: 0.05,
  }),
  warmup: field(z.number().min(0).max(0.5).default(defaults.warmup), {
    label: 'Warm-up',
    help: 'Share of the updates over which the learning rate rises from 0.',
    level: 'advanced',
    section: 'Learning',
    step: 0.01,
  }),
  maxGradNorm: field(z.number().min(0).max(100).default(1), {
    label: 'Gradient clipping',
    help: 'A gradient with a larger norm is scaled down to it. 0 turns it off.',
    level: 'advanced',
    section: 'Learning',
    step: 0.1,
  }),
  weightDecay: field(z.number().min(0).max(1).default(0), {
    label: 'Weight decay',
    help: 'Pulls matrices towards 0 a little with each update; norms, biases and embeddings are left alone. Rarely needed for LoRA.',
    level: 'advanced',
    section: 'Learning',
    step: 0.01,
  }),
  optimizer: field(z.enum(OPTIMIZERS).default('adamw'), {
    label: 'Optimiser',
    help: 'How a gradient becomes an update. Beside the weights AdamW and Adam keep 8 bytes a parameter, AdamW in 8 bits 2, Adafactor almost none, Muon 4. Adam adds weight decay to the gradient (L2), the others take it off the weights. Muon is for all parameters; a critic, which is an adapter, then takes AdamW.',
    level: 'advanced',
    section: 'Learning',
    options: {
      adamw: 'AdamW',
      'adamw-8bit': 'AdamW, 8-bit states',
      adam: 'Adam',
      adafactor: 'Adafactor',
      muon: 'Muon',
    },
  }),
  recompute: field(z.boolean().default(false), {
    label: 'Recompute layers',
    help: 'Keeps no activations between forward and backward: longer rows fit into the same memory, an update takes about a third longer. The result is the same.',
    level: 'advanced',
    section: 'Learning',
  }),
});

/** The rate that a run goes by. */
export const learningRateOf = (p: {
  method: 'lora' | 'full';
  learningRate: number;
  fullLearningRate: number;
}): number => (p.method === 'full' ? p.fullLearningRate : p.learningRate);

/** AdamW's other constants: the same for every algorithm, torch's defaults. */
export const ADAMW = { beta1: 0.9, beta2: 0.999, epsilon: 1e-8 };

/** Muon's, torch's default. */
export const MUON = { momentum: 0.95 };

/** Bits of a number of a base; null: as stored. */
export const BASE_BITS: Record<BaseWeights, number | null> = { stored: null, '8-bit': 8, '4-bit': 4 };

/** Modules that `savedModules` stands for, as peft.LoraConfig's modules_to_save. */
export const SAVED_MODULES: Record<'none' | 'head' | 'embeddings' | 'both', string[]> = {
  none: [],
  head: ['lm_head'],
  embeddings: ['embed_tokens'],
  both: ['embed_tokens', 'lm_head'],
};

/** Module name endings that `loraTargets` stands for, as peft.LoraConfig's target_modules. */
export const LORA_TARGETS: Record<'all-linear' | 'attention' | 'mlp', string[] | string> = {
  'all-linear': 'all-linear',
  attention: ['q_proj', 'k_proj', 'v_proj', 'o_proj'],
  mlp: ['gate_proj', 'up_proj', 'down_proj'],
};
