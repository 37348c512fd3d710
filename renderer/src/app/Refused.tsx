import { useState, type FormEvent } from 'react';
import { Button } from '../components/Button';
import { Snippet } from '../components/Copyable';
import { Field } from '../components/Field';
import { TextInput } from '../components/Input';
import { Screen, Section } from '../components/Screen';
import type { Failure } from '../components/States';
import { offerCode } from '../data/session';
import styles from './Refused.module.css';

/** Why this window is not let in, and how it gets in. */
export function Refused({ error, onRetry }: { error: Failure; onRetry: () => void }) {
  const [text, setText] = useState('');
  const [problem, setProblem] = useState<string>();
  const enter = (event: FormEvent) => {
    event.preventDefault();
    if (offerCode(text)) onRetry();
    else setProblem('There is no code in it: it ends with #code= and 43 letters and figures.');
  };
  return (
    <Screen title="Not connected">
      <div className={styles.measure}>
        <p role="alert" className={styles.why}>
          {error.message}
        </p>
        <p className={styles.quiet}>
          Whoever can open this page could train, read and delete, so that each browser window needs an
          address with a code of its own, which is good once. A reload of a connected window needs none.
        </p>
        <Section title="Get an address">
          <p className={styles.step}>In a terminal on the machine that runs Atelier:</p>
          <Snippet label="Command" text="npm run atelier -- address" />
          <form className={styles.form} onSubmit={enter}>
            <Field
              label="Address or code"
              help="Open what it prints, or paste it here."
              {...(problem === undefined ? {} : { problem })}
            >
              {(ids) => (
                <TextInput
                  {...ids}
                  value={text}
                  placeholder="http://127.0.0.1:4780/#code=…"
                  onChange={(event) => {
                    setText(event.target.value);
                    setProblem(undefined);
                  }}
                />
              )}
            </Field>
            <Button type="submit" kind="primary" disabled={text.trim() === ''}>
              Connect
            </Button>
          </form>
          <p className={styles.quiet}>
            The terminal in which Atelier was started shows a fresh address too. Where it was ended, start it
            again: <code>npm start</code>
          </p>
        </Section>
      </div>
    </Screen>
  );
}
