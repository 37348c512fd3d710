import { useState } from 'react';
import { Button } from '../../components/Button';
import { Snippet } from '../../components/Copyable';
import { Facts } from '../../components/Facts';
import { Field } from '../../components/Field';
import { deviceNames } from '../../components/device-names';
import { formatBytes } from '../../components/format';
import { NumberInput } from '../../components/Input';
import { Panel, Screen, Section } from '../../components/Screen';
import { Segmented } from '../../components/Segmented';
import { ErrorState, Skeleton, SkeletonRows } from '../../components/States';
import { Status } from '../../components/Status';
import { Switch } from '../../components/Switch';
import { asFailure } from '../../data/failure';
import {
  useChecks,
  useDiagnostics,
  useInfo,
  useSaveSettings,
  useSettings,
  useStatus,
  type Settings,
} from '../../data/system';
import { GpuChoice } from './GpuChoice';
import styles from './SettingsScreen.module.css';

type Theme = 'system' | 'light' | 'dark';

const checkStates = {
  ok: { tone: 'done', label: 'Fine' },
  warning: { tone: 'warning', label: 'Warning' },
  failed: { tone: 'bad', label: 'Failed' },
} as const;

export function SettingsScreen({ theme, onTheme }: { theme: Theme; onTheme: (theme: Theme) => void }) {
  return (
    <Screen title="Settings">
      <div className={styles.narrow}>
        <Section title="Appearance">
          <Panel className={styles.panel}>
            <div className={styles.row}>
              <span>Theme</span>
              <Segmented
                label="Theme"
                value={theme}
                onChange={onTheme}
                options={[
                  { value: 'system', label: 'As the system' },
                  { value: 'light', label: 'Light' },
                  { value: 'dark', label: 'Dark' },
                ]}
              />
            </div>
          </Panel>
        </Section>
        <Training />
        <Machine />
        <Diagnostics />
      </div>
    </Screen>
  );
}

const GB = 1e9;

function Training() {
  const settings = useSettings();
  const save = useSaveSettings();
  const status = useStatus();
  const info = useInfo();
  if (settings.isError)
    return (
      <Section title="Training">
        <ErrorState
          what="The settings cannot be read."
          error={asFailure(settings.error)}
          onRetry={settings.refetch}
        />
      </Section>
    );
  if (settings.data === undefined) return <SkeletonRows rows={3} label="Loading settings" />;
  const shown: Settings = save.isPending ? save.variables : settings.data;
  const put = (change: Partial<Settings>) => save.mutate({ ...shown, ...change });
  return (
    <Section title="Training">
      {save.isError && (
        <div style={{ marginBottom: 12 }}>
          <ErrorState compact what="The setting was not saved." error={asFailure(save.error)} />
        </div>
      )}
      <Panel className={styles.panel}>
        <Field
          inline
          label="Memory limit of the engine"
          help={`Empty: 75 % of the device's memory${status === null ? '' : `, now ${formatBytes(status.memory.limitBytes)}`}.`}
        >
          {(ids) => (
            <NumberInput
              {...ids}
              nullable
              unit="GB"
              min={0.25}
              value={
                shown.memoryLimitBytes === null ? null : Number((shown.memoryLimitBytes / GB).toFixed(2))
              }
              onChange={(value) =>
                (value === null || value >= 0.25) &&
                put({ memoryLimitBytes: value === null ? null : Math.round(value * GB) })
              }
            />
          )}
        </Field>
        {info.data !== undefined && (
          <GpuChoice info={info.data} chosen={shown.devices} onChange={(devices) => put({ devices })} />
        )}
        <Field
          inline
          label="Store tokens of rollouts"
          help="Ids and log-probabilities, about 8 bytes a token. Needed to colour answers by probability."
        >
          {(ids) => (
            <span className={styles.right}>
              <Switch {...ids} checked={shown.storeTokens} onChange={(storeTokens) => put({ storeTokens })} />
            </span>
          )}
        </Field>
        <Field
          inline
          label="Checkpoints kept"
          help="Of each run; older ones are deleted, the last one always stays."
        >
          {(ids) => (
            <NumberInput
              {...ids}
              integer
              min={1}
              max={100}
              value={shown.keepCheckpoints}
              onChange={(value) =>
                value !== null && value >= 1 && value <= 100 && put({ keepCheckpoints: value })
              }
            />
          )}
        </Field>
      </Panel>
    </Section>
  );
}

function Machine() {
  const info = useInfo();
  const checks = useChecks();
  return (
    <Section
      title="Machine"
      actions={
        <Button kind="quiet" busy={checks.isFetching} onClick={() => void checks.refetch()}>
          Check again
        </Button>
      }
    >
      {checks.isError ? (
        <ErrorState
          compact
          what="The machine could not be checked."
          error={asFailure(checks.error)}
          onRetry={checks.refetch}
        />
      ) : checks.data === undefined ? (
        <Skeleton height={120} />
      ) : (
        <Panel className={styles.panel}>
          <ul>
            {checks.data.map((check) => (
              <li key={check.id} className={styles.check}>
                <Status {...checkStates[check.state]} />
                <div>
                  {check.label}
                  <p className={styles.quiet}>{check.detail}</p>
                  {check.state !== 'ok' && check.fix !== undefined && (
                    <p className={styles.fix}>{check.fix}</p>
                  )}
                </div>
              </li>
            ))}
          </ul>
        </Panel>
      )}
      {info.data !== undefined && (
        <Panel className={styles.panel}>
          <Facts
            list
            items={[
              ['Atelier', `${info.data.version} (${info.data.commit.slice(0, 9)})`],
              ['MLX', info.data.mlx],
              ['Platform', info.data.platform],
              ...info.data.devices.map(
                (device) =>
                  [
                    device.device === info.data.device
                      ? `${deviceNames[device.device]}, in use`
                      : deviceNames[device.device],
                    device.available
                      ? `${device.description}${device.memoryBytes > 0 ? `, ${formatBytes(device.memoryBytes)}` : ''}`
                      : device.description,
                  ] as const,
              ),
              ['Folder', <code key="folder">{info.data.folder}</code>],
            ]}
          />
        </Panel>
      )}
      {info.isError && (
        <ErrorState
          compact
          what="Versions and devices cannot be read."
          error={asFailure(info.error)}
          onRetry={info.refetch}
        />
      )}
    </Section>
  );
}

function Diagnostics() {
  const [wanted, setWanted] = useState(false);
  const diagnostics = useDiagnostics(wanted);
  return (
    <Section
      title="Diagnostics"
      hint="For a bug report. Nothing is sent anywhere; read it before you share it"
    >
      {!wanted ? (
        <Button onClick={() => setWanted(true)}>Collect</Button>
      ) : diagnostics.isError ? (
        <ErrorState
          compact
          what="The diagnostics cannot be collected."
          error={asFailure(diagnostics.error)}
          onRetry={diagnostics.refetch}
        />
      ) : diagnostics.data === undefined ? (
        <Skeleton height={160} />
      ) : (
        <div className={styles.diagnostics}>
          <Snippet label="Diagnostics" text={diagnostics.data.text} />
        </div>
      )}
    </Section>
  );
}
