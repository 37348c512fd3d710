import { Field } from '../../components/Field';
import { formatBytes } from '../../components/format';
import { Switch } from '../../components/Switch';
import type { Settings, SystemInfo } from '../../data/system';
import styles from './SettingsScreen.module.css';

/** Which GPUs work together, where the machine has several. */
export function GpuChoice({
  info,
  chosen,
  onChange,
}: {
  info: Pick<SystemInfo, 'device' | 'devices' | 'workingOn'>;
  chosen: Settings['devices'];
  onChange: (devices: Settings['devices']) => void;
}) {
  const units = info.devices.find(({ device }) => device === info.device)?.units ?? [];
  if (units.length < 2) return null;
  const used = chosen ?? [0];
  const put = (gpu: number, on: boolean) => {
    const next = units.flatMap((_, k) => ((k === gpu ? on : used.includes(k)) ? [k] : []));
    // at least one works; the first alone needs no process of its own
    if (next.length > 0) onChange(next.length === 1 && next[0] === 0 ? null : next);
  };
  const waits = String(info.workingOn ?? [0]) !== String(used);
  return (
    <>
      {units.map(({ description, memoryBytes }, gpu) => (
        <Field
          // its number is what it is
          key={gpu}
          inline
          label={`GPU ${gpu}`}
          help={[
            `${description}${memoryBytes > 0 ? `, ${formatBytes(memoryBytes)}` : ''}.`,
            ...(gpu === 0 ? ['Those that are on share the answers and rows of each step.'] : []),
            ...(gpu === 0 && waits ? ['Changes when the engine is free.'] : []),
          ].join(' ')}
        >
          {(ids) => (
            <span className={styles.right}>
              <Switch {...ids} checked={used.includes(gpu)} onChange={(on) => put(gpu, on)} />
            </span>
          )}
        </Field>
      ))}
    </>
  );
}
