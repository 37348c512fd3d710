import { useState } from 'react';
import { openTo } from '../../../../shared/contract/rewards';
import { Button } from '../../components/Button';
import { Field } from '../../components/Field';
import { TextInput } from '../../components/Input';
import { Notice } from '../../components/Notice';
import { asFailure } from '../../data/failure';
import { useAccess, type RewardText } from '../../data/reward-test';
import styles from './AccessPanel.module.css';

/** What the reward may reach, and the consent that it needs. Nothing for code in the sandbox. */
export function AccessPanel({ reward }: { reward: RewardText }) {
  const { access, allow, setKey } = useAccess(reward);
  const failure = access.error ?? allow.error ?? setKey.error;
  if (reward.language === 'typescript') return null;
  if (failure !== null) {
    return (
      <div className={styles.panel}>
        <Notice level="error" title="What the reward may reach cannot be told">
          {asFailure(failure).message}
        </Notice>
      </div>
    );
  }
  const found = access.data;
  if (found === undefined || found.kind === 'sandbox') return null;
  const consent = (
    <Button busy={allow.isPending} onClick={() => allow.mutate(!found.allowed)}>
      {found.allowed ? 'Take back' : 'Allow'}
    </Button>
  );
  if (found.kind === 'judge') {
    if (found.address === null) return null;
    return (
      <div className={styles.panel}>
        <div className={styles.row}>
          <p>
            Prompts and answers {found.allowed ? 'are sent' : 'would be sent'} to <code>{found.address}</code>
            , to be judged by <code>{found.model}</code>.
          </p>
          {consent}
        </div>
        <Key address={found.address} hasKey={found.hasKey} busy={setKey.isPending} onKey={setKey.mutate} />
      </div>
    );
  }
  const { python, confined, reasons } = found.state;
  if (python === null) {
    return (
      <div className={styles.panel}>
        <Notice level="error" title="No Python 3.9 or newer was found">
          Install Python 3, or name one in the environment variable ATELIER_PYTHON and start Atelier again.
        </Notice>
      </div>
    );
  }
  return (
    <div className={styles.panel}>
      <div className={styles.row}>
        <p>
          Python {python.version}, <code>{python.path}</code>.{' '}
          {confined
            ? 'It runs alone: no network, no files but its own and Python’s, no other programs.'
            : `It cannot be confined here: ${openTo(found.state)} would be within its reach${reasons.length === 0 ? '' : ` (${reasons.join('; ')})`}. Allow only code that you wrote or know; a change asks anew.`}
        </p>
        {!confined && consent}
      </div>
    </div>
  );
}

function Key({
  address,
  hasKey,
  busy,
  onKey,
}: {
  address: string;
  hasKey: boolean;
  busy: boolean;
  onKey: (input: { address: string; key: string | null }) => void;
}) {
  const [key, setKey] = useState('');
  if (hasKey) {
    return (
      <div className={styles.row}>
        <p>A key for this address is kept on this machine, outside of runs.</p>
        <Button kind="quiet" busy={busy} onClick={() => onKey({ address, key: null })}>
          Forget it
        </Button>
      </div>
    );
  }
  return (
    <form
      className={styles.row}
      onSubmit={(event) => {
        event.preventDefault();
        if (key.trim() === '') return;
        onKey({ address, key: key.trim() });
        setKey('');
      }}
    >
      <div className={styles.key}>
        <Field label="Key, where the address wants one">
          {(ids) => (
            <TextInput
              {...ids}
              type="password"
              autoComplete="off"
              value={key}
              onChange={(event) => setKey(event.target.value)}
            />
          )}
        </Field>
      </div>
      <Button type="submit" busy={busy} disabled={key.trim() === ''}>
        Keep
      </Button>
    </form>
  );
}
