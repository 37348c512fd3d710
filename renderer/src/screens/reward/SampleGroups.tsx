import { formatFixed, formatMilliseconds } from '../../components/format';
import { Tag } from '../../components/Tag';
import type { ScoredSample } from '../../data/reward-test';
import { groupsOf } from './findings';
import styles from './SampleGroups.module.css';

/** Answers under their prompt, each with its reward or with why it has none. */
export function SampleGroups({ samples }: { samples: readonly ScoredSample[] }) {
  const most = Math.max(1e-9, ...samples.map((sample) => Math.abs(sample.reward ?? 0)));
  return (
    <ul className={styles.groups}>
      {groupsOf(samples).map((group) => (
        <li key={group[0]!.group}>
          <div className={styles.prompt}>
            <span>{group[0]!.prompt}</span>
            {group[0]!.answer !== null && <span className={styles.answer}>expects {group[0]!.answer}</span>}
          </div>
          <ul>
            {group.map((sample) => (
              <li key={sample.index} className={styles.sample}>
                <div className={styles.score}>
                  {sample.status === 'ok' ? (
                    <>
                      <b>{formatFixed(sample.reward, 2)}</b>
                      <span className={styles.bar} aria-hidden>
                        <i
                          style={{ width: `${(Math.abs(sample.reward ?? 0) / most) * 100}%` }}
                          data-negative={(sample.reward ?? 0) < 0 || undefined}
                        />
                      </span>
                    </>
                  ) : (
                    <Tag tone={sample.status === 'abstain' ? 'quiet' : 'danger'}>{sample.status}</Tag>
                  )}
                </div>
                <div className={styles.text}>
                  <pre>{sample.completion === '' ? '(empty)' : sample.completion}</pre>
                  {sample.error !== undefined && <p className={styles.error}>{sample.error}</p>}
                  <p className={styles.meta}>
                    {sample.finish === 'length' ? 'cut off at the length limit, ' : ''}
                    {formatMilliseconds(sample.milliseconds)}
                  </p>
                </div>
              </li>
            ))}
          </ul>
        </li>
      ))}
    </ul>
  );
}
