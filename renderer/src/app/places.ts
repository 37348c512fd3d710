import {
  BookText,
  Boxes,
  Download,
  Gauge,
  House,
  ListTree,
  MessagesSquare,
  Plus,
  Settings,
  Sigma,
  type LucideIcon,
} from 'lucide-react';

export interface Place {
  to:
    | '/'
    | '/models'
    | '/data'
    | '/rewards'
    | '/algorithms'
    | '/new'
    | '/runs'
    | '/chat'
    | '/export'
    | '/settings';
  label: string;
  icon: LucideIcon;
  /** Other words that people look for. */
  words: string;
}

/** The sidebar, in its groups. */
export const places: readonly (readonly Place[])[] = [
  [{ to: '/', label: 'Home', icon: House, words: 'start demo welcome' }],
  [
    { to: '/models', label: 'Models', icon: Boxes, words: 'base model checkpoint gguf adapters lora' },
    { to: '/data', label: 'Data', icon: BookText, words: 'datasets jsonl prompts rows' },
    { to: '/rewards', label: 'Rewards', icon: Gauge, words: 'reward function rubric verifier grader score' },
    {
      to: '/algorithms',
      label: 'Algorithms',
      icon: Sigma,
      words: 'loss program objective grpo dpo own custom',
    },
  ],
  [
    { to: '/new', label: 'New run', icon: Plus, words: 'train grpo sft fine-tune job experiment' },
    { to: '/runs', label: 'Runs', icon: ListTree, words: 'jobs experiments history training' },
  ],
  [
    { to: '/chat', label: 'Chat', icon: MessagesSquare, words: 'compare base adapter arena' },
    { to: '/export', label: 'Export', icon: Download, words: 'peft adapter safetensors save' },
  ],
];

export const settingsPlace: Place = {
  to: '/settings',
  label: 'Settings',
  icon: Settings,
  words: 'diagnostics theme memory dark light preferences',
};
