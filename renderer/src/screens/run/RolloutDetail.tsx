import { classes } from '../../components/classes';
import { CopyButton } from '../../components/Copyable';
import { formatCount, formatFixed, formatSigned } from '../../components/format';
import { Notice } from '../../components/Notice';
import { Segmented } from '../../components/Segmented';
import { ErrorState, Skeleton } from '../../components/States';
import { Tag } from '../../components/Tag';
import { TokenText } from '../../components/TokenText';
import { asFailure } from '../../data/failure';
import { useRolloutTokens, type Rollout } from '../../data/rollouts';
import type { Run } from '../../data/runs';
import styles from './RolloutDetail.module.css';

const finishes = { stop: 'ended by itself', length: 'cut off at the length limit', cancelled: 'cancelled' };

/** One answer in full, with its group around it. */
export function RolloutDetail({
  run,
  rollout,
  siblings,
  show,
  onShow,
  onChoose,
}: {
  run: Run;
  rollout: Rollout;
  siblings: readonly Rollout[];
  show: 'text' | 'tokens';
  onShow: (show: 'text' | 'tokens') => void;
  onChoose: (rollout: Rollout) => void;
}) {
  const place = siblings.findIndex((each) => each.id === rollout.id) + 1;
  return (
    <section className={styles.detail} aria-label={`Rollout ${rollout.id}`} tabIndex={-1}>
      <header className={styles.head}>
        <dl className={styles.numbers}>
          <Figure name="Reward" value={formatFixed(rollout.reward, 3)} strong />
          <Figure name="Advantage" value={formatSigned(rollout.advantage, 3)} strong />
          <Figure name="Tokens" value={String(rollout.length)} />
          <Figure name="Mean log p" value={formatFixed(rollout.meanLogp, 3)} />
          {rollout.answer !== null && <Figure name="Expected" value={rollout.answer} />}
        </dl>
        <span className={styles.where}>
          step {formatCount(rollout.step)}, row {formatCount(rollout.line)}
          {siblings.length > 1 ? `, answer ${place} of ${siblings.length}` : ''}
        </span>
      </header>
      {rollout.components.length > 0 && <Parts parts={rollout.components} />}
      {rollout.status !== 'ok' && (
        <div className={styles.notice}>
          <Notice level="error" title={`The reward gave no number: ${rollout.status}`}>
            {rollout.error ?? 'No message came with it.'} This answer is left out, not counted as 0.
          </Notice>
        </div>
      )}
      <div className={styles.body} tabIndex={0} role="region" aria-label="Prompt and answer">
        <h3 className={styles.label}>Prompt</h3>
        <pre className={styles.prompt}>{rollout.prompt}</pre>
        <div className={styles.labelRow}>
          <h3 className={styles.label}>Answer</h3>
          <Tag tone={rollout.finish === 'length' ? 'warning' : 'quiet'}>{finishes[rollout.finish]}</Tag>
          <span className={styles.space} />
          <Segmented
            label="Show the answer as"
            value={show}
            onChange={onShow}
            options={[
              { value: 'text', label: 'Text' },
              { value: 'tokens', label: 'Tokens', title: 'Coloured by probability (t)' },
            ]}
          />
          <CopyButton label="Copy answer" text={rollout.completion} />
        </div>
        {show === 'text' ? (
          <pre className={styles.completion}>
            {rollout.completion === '' ? '(empty)' : rollout.completion}
          </pre>
        ) : (
          <Tokens run={run} rollout={rollout} />
        )}
        {siblings.length > 1 && <Siblings siblings={siblings} chosen={rollout.id} onChoose={onChoose} />}
      </div>
      <footer className={styles.keys} aria-hidden>
        <kbd>j</kbd> <kbd>k</kbd> answers <kbd>h</kbd> <kbd>l</kbd> steps <kbd>t</kbd> tokens <kbd>/</kbd>{' '}
        search
      </footer>
    </section>
  );
}

/** What the reward is the sum of. */
function Parts({ parts }: { parts: Rollout['components'] }) {
  return (
    <ul className={styles.parts} aria-label="Parts of the reward">
      {parts.map(({ name, weight, reward, status, error }) => (
        <li key={name} title={error}>
          <span>{name}</span>
          <b>{status === 'ok' ? formatFixed(reward, 3) : status}</b>
          {weight !== 1 && <span>× {weight}</span>}
        </li>
      ))}
    </ul>
  );
}

function Tokens({ run, rollout }: { run: Run; rollout: Rollout }) {
  const tokens = useRolloutTokens(run.id, rollout.id, true);
  if (tokens.isError) {
    return (
      <ErrorState
        compact
        what="The tokens of this answer are not there."
        error={{
          hint: 'Turn on “Store tokens of rollouts” in Settings for runs to come.',
          ...asFailure(tokens.error),
        }}
      />
    );
  }
  if (tokens.data === undefined) return <Skeleton height={96} />;
  return (
    <TokenText
      label="Answer by token"
      pieces={tokens.data.pieces}
      ids={tokens.data.ids}
      logp={tokens.data.logp}
    />
  );
}

/** The group side by side: what the policy learns from is the difference between these. */
function Siblings({
  siblings,
  chosen,
  onChoose,
}: {
  siblings: readonly Rollout[];
  chosen: number;
  onChoose: (rollout: Rollout) => void;
}) {
  const sorted = siblings.toSorted((a, b) => (b.advantage ?? -Infinity) - (a.advantage ?? -Infinity));
  return (
    <>
      <h3 className={styles.label}>Its group, best first</h3>
      <ul className={styles.siblings}>
        {sorted.map((each) => (
          <li key={each.id}>
            <button
              type="button"
              className={classes(styles.sibling, each.id === chosen && styles.current)}
              aria-current={each.id === chosen ? true : undefined}
              onClick={() => onChoose(each)}
            >
              <span className={styles.siblingHead}>
                <b>{each.status === 'ok' ? formatFixed(each.reward, 2) : each.status}</b>
                <span>{formatSigned(each.advantage, 2)}</span>
              </span>
              <span className={styles.siblingText}>
                {each.completion.trim() === '' ? '(empty)' : each.completion.trim()}
              </span>
            </button>
          </li>
        ))}
      </ul>
    </>
  );
}

function Figure({ name, value, strong = false }: { name: string; value: string; strong?: boolean }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd className={strong ? styles.strong : undefined}>{value}</dd>
    </div>
  );
}
