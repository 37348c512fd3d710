import { Link } from '@tanstack/react-router';
import { deviceNames } from '../components/device-names';
import { formatBytes, formatDuration, formatPercent } from '../components/format';
import { Progress } from '../components/Progress';
import { Sparkline } from '../components/Sparkline';
import { Status, type StatusTone } from '../components/Status';
import { useConnection } from '../data/context';
import { useRuns } from '../data/runs';
import { useInfo, useStatus, type SystemStatus } from '../data/system';
import styles from './StatusBar.module.css';

const engineWords: Record<SystemStatus['engine'], [StatusTone, string]> = {
  starting: ['waiting', 'Engine starting'],
  ready: ['done', 'Engine ready'],
  busy: ['active', 'Engine busy'],
  failed: ['bad', 'Engine failed'],
};

export function StatusBar() {
  const connection = useConnection();
  const status = useStatus();
  const info = useInfo();
  const [tone, words] =
    connection.phase === 'open' && status !== null
      ? engineWords[status.engine]
      : connection.phase === 'refused'
        ? (['bad', 'Not connected'] as const)
        : (['waiting', connection.phase === 'lost' ? 'Reconnecting' : 'Connecting'] as const);
  return (
    <footer className={styles.bar}>
      <span title={status?.engineMessage}>
        <Status tone={tone} label={words} small />
      </span>
      {info.data !== undefined && (
        <span className={styles.quiet}>
          {deviceNames[info.data.device]}
          {info.data.workingOn !== null &&
            info.data.workingOn.length > 1 &&
            ` × ${info.data.workingOn.length}`}
        </span>
      )}
      {status !== null && <Memory memory={status.memory} />}
      <span className={styles.space} />
      {status?.activeRun != null && <ActiveRun run={status.activeRun} queued={status.queued} />}
    </footer>
  );
}

function Memory({ memory }: { memory: SystemStatus['memory'] }) {
  const share = memory.limitBytes > 0 ? memory.engineBytes / memory.limitBytes : 0;
  return (
    <span
      className={styles.memory}
      title={`Engine ${formatBytes(memory.engineBytes)}, peak ${formatBytes(memory.peakBytes)}, limit ${formatBytes(memory.limitBytes)}; free on this machine ${formatBytes(memory.freeBytes)} of ${formatBytes(memory.totalBytes)}`}
    >
      <span className={styles.quiet}>Memory</span>
      <span className={styles.meter}>
        <Progress value={share} label={`Engine memory, ${formatPercent(share)} of its limit`} thin />
      </span>
      <span className={styles.number}>{formatBytes(memory.engineBytes)}</span>
    </span>
  );
}

function ActiveRun({ run, queued }: { run: NonNullable<SystemStatus['activeRun']>; queued: number }) {
  const points = useRuns().data?.find((each) => each.id === run.id)?.headline.points ?? [];
  return (
    <Link to="/runs/$id" params={{ id: run.id }} className={styles.run}>
      <Sparkline points={points} width={72} height={16} label={`Headline metric of ${run.name}`} />
      <span className={styles.name}>{run.name}</span>
      <span className={styles.quiet}>
        {run.status === 'paused' ? 'paused at ' : ''}step {run.step} of {run.steps}
      </span>
      {run.etaSeconds !== null && <span className={styles.eta}>{formatDuration(run.etaSeconds)} left</span>}
      {queued > 0 && <span className={styles.quiet}>{queued} queued</span>}
    </Link>
  );
}
