import { Button } from '../../components/Button';
import { CopyButton } from '../../components/Copyable';
import { formatBytes } from '../../components/format';
import { Notice } from '../../components/Notice';
import { ErrorState } from '../../components/States';
import { desktop } from '../../data/desktop';
import { asFailure } from '../../data/failure';
import type { useTrace } from '../../data/runs';
import styles from './TraceNote.module.css';

/** What became of the export: where the file lies, and what opens it. */
export function TraceNote({ trace }: { trace: ReturnType<typeof useTrace> }) {
  if (trace.isError) {
    return (
      <div className={styles.note}>
        <ErrorState
          compact
          what="No trace was written."
          error={asFailure(trace.error)}
          onRetry={() => trace.mutate()}
        />
      </div>
    );
  }
  if (trace.data === undefined) return null;
  const { path, bytes } = trace.data;
  return (
    <div className={styles.note}>
      <Notice
        level="info"
        title={`Trace written, ${formatBytes(bytes)}`}
        action={
          <span className={styles.actions}>
            <CopyButton text={path} label="Copy path" />
            {desktop !== undefined && (
              <Button kind="quiet" onClick={() => void desktop!.showInFolder(path)}>
                Show in folder
              </Button>
            )}
          </span>
        }
      >
        <code className={styles.path}>{path}</code> Open it in Perfetto (ui.perfetto.dev) or chrome://tracing.
      </Notice>
    </div>
  );
}
