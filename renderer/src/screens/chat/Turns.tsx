import { useEffect, useRef } from 'react';
import { formatCount, plural } from '../../components/format';
import { ErrorState } from '../../components/States';
import type { Reply, Turn } from '../../data/chat';
import styles from './Turns.module.css';

/** The conversation: each prompt across, the replies beside each other. */
export function Turns({ turns, names }: { turns: readonly Turn[]; names: readonly string[] }) {
  const box = useRef<HTMLDivElement>(null);
  const stuck = useRef(true);
  useEffect(() => {
    if (stuck.current && box.current !== null) box.current.scrollTop = box.current.scrollHeight;
  }, [turns]);
  return (
    <div
      ref={box}
      className={styles.turns}
      tabIndex={0}
      role="region"
      aria-label="Conversation"
      onScroll={({ currentTarget: at }) => {
        stuck.current = at.scrollHeight - at.scrollTop - at.clientHeight < 40;
      }}
    >
      {turns.map((turn) => (
        <article key={turn.id} className={styles.turn}>
          <p className={styles.prompt}>{turn.prompt}</p>
          <div className={styles.replies} data-columns={turn.replies.length}>
            {turn.replies.map((reply, column) => (
              <section
                key={column}
                className={styles.reply}
                aria-label={names[column] ?? 'Reply'}
                aria-busy={reply.state !== 'done'}
              >
                <h2 className={styles.name}>{names[column]}</h2>
                <Text reply={reply} />
              </section>
            ))}
          </div>
        </article>
      ))}
    </div>
  );
}

const finishes = { stop: '', length: ', cut off at the length limit', cancelled: ', stopped' };

function Text({ reply }: { reply: Reply }) {
  if (reply.state === 'failed') return <ErrorState compact what="No answer came." error={reply.error!} />;
  const waits =
    reply.text === '' &&
    (reply.state === 'waiting' || reply.state === 'loading' || reply.state === 'streaming');
  return (
    <>
      {waits ? (
        <p className={styles.waiting}>{reply.state === 'loading' ? 'Loading the model…' : 'Waiting…'}</p>
      ) : (
        <div className={styles.text}>
          {reply.text === '' && reply.state === 'done' ? <i>(empty answer)</i> : reply.text}
          {reply.state === 'streaming' && <span className={styles.caret} aria-hidden />}
        </div>
      )}
      <p className={styles.meta}>
        {reply.state === 'done'
          ? `${plural(reply.tokens ?? 0, 'token')}, ${formatCount(reply.tokensPerSecond)} tokens/s${finishes[reply.finish ?? 'stop']}`
          : reply.state === 'stopped'
            ? 'stopped'
            : '\u00a0'}
      </p>
    </>
  );
}
