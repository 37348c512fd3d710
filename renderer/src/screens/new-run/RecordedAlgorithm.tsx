import { Link } from '@tanstack/react-router';
import { Button } from '../../components/Button';
import { Notice } from '../../components/Notice';
import type { OwnAlgorithm } from '../../data/algorithms';
import type { Draft } from './draft';
import styles from './RecordedAlgorithm.module.css';

/** Says where a repeated run's algorithm is another text than what is saved under its name. */
export function RecordedAlgorithm({
  draft,
  set,
  own,
}: {
  draft: Draft;
  set: (change: Partial<Draft>) => void;
  own: readonly OwnAlgorithm[];
}) {
  const { recorded } = draft;
  if (recorded === null || recorded.info.key !== draft.algorithm) return null;
  const saved = own.find(({ key }) => key === draft.algorithm);
  if (saved?.code === recorded.code) return null;
  return (
    <div className={styles.notice}>
      {saved === undefined ? (
        <Notice level="info" title={`“${recorded.info.label}” as the run recorded it`}>
          It is not among your algorithms; this run would take the text that the repeated one kept.
        </Notice>
      ) : (
        <Notice
          level="warning"
          title={`“${saved.name}” has changed since the run that is repeated`}
          action={<Button onClick={() => set({ recorded: null })}>Use the saved one</Button>}
        >
          The text that the run recorded is taken, so that it can be repeated.{' '}
          <Link to="/algorithms/$key" params={{ key: saved.key }} className="link">
            Read the saved one
          </Link>
        </Notice>
      )}
    </div>
  );
}
