import { Button } from '../../components/Button';
import { Field } from '../../components/Field';
import { NumberInput, TextArea } from '../../components/Input';
import type { Sampling } from '../../data/chat';
import styles from './SamplingDrawer.module.css';

type Value = Sampling & { system: string };

const numbers = [
  {
    key: 'temperature',
    label: 'Temperature',
    help: '0 takes the likeliest token each time.',
    integer: false,
    min: 0,
    max: 4,
    step: 0.1,
  },
  {
    key: 'topP',
    label: 'Top p',
    help: 'Keeps the likeliest tokens up to this share. 1 keeps all.',
    integer: false,
    min: 0.01,
    max: 1,
    step: 0.05,
  },
  {
    key: 'topK',
    label: 'Top k',
    help: 'Keeps this many tokens. 0 keeps all.',
    integer: true,
    min: 0,
    max: 1000,
    step: 1,
  },
  {
    key: 'minP',
    label: 'Min p',
    help: 'Drops tokens below this share of the likeliest.',
    integer: false,
    min: 0,
    max: 1,
    step: 0.01,
  },
  {
    key: 'repetitionPenalty',
    label: 'Repetition penalty',
    help: 'Above 1 makes tokens of the conversation less likely. 1 is off; 1.1 is usual.',
    integer: false,
    min: 0.1,
    max: 10,
    step: 0.05,
  },
  {
    key: 'presencePenalty',
    label: 'Presence penalty',
    help: 'Above 0 makes tokens that the answer has less likely.',
    integer: false,
    min: -2,
    max: 2,
    step: 0.1,
  },
  {
    key: 'frequencyPenalty',
    label: 'Frequency penalty',
    help: 'The same for each time that the answer has them.',
    integer: false,
    min: -2,
    max: 2,
    step: 0.1,
  },
  {
    key: 'maxNewTokens',
    label: 'Longest answer',
    help: 'In tokens.',
    integer: true,
    min: 1,
    max: 32_768,
    step: 16,
  },
  {
    key: 'seed',
    label: 'Seed',
    help: 'The same for both columns.',
    integer: true,
    min: 0,
    max: 2 ** 31,
    step: 1,
  },
] as const;

export function SamplingDrawer({
  value,
  onChange,
  onReset,
}: {
  value: Value;
  onChange: (value: Value) => void;
  onReset: () => void;
}) {
  return (
    <aside className={styles.drawer} aria-label="Sampling" tabIndex={-1}>
      <div className={styles.head}>
        <h2>Sampling</h2>
        <Button kind="quiet" onClick={onReset}>
          Defaults
        </Button>
      </div>
      <Field label="System prompt">
        {(ids) => (
          <TextArea
            {...ids}
            rows={3}
            value={value.system}
            onChange={(event) => onChange({ ...value, system: event.target.value })}
          />
        )}
      </Field>
      {numbers.map((number) => (
        <Field key={number.key} label={number.label} help={number.help}>
          {(ids) => (
            <NumberInput
              {...ids}
              integer={number.integer}
              min={number.min}
              max={number.max}
              step={number.step}
              value={value[number.key]}
              onChange={(next) =>
                next !== null &&
                next >= number.min &&
                next <= number.max &&
                onChange({ ...value, [number.key]: next })
              }
            />
          )}
        </Field>
      ))}
    </aside>
  );
}
