import { Link } from '@tanstack/react-router';
import { lazy, Suspense } from 'react';
import { buttonClass } from '../../components/Button';
import { Snippet } from '../../components/Copyable';
import { Facts } from '../../components/Facts';
import { Panel, Section } from '../../components/Screen';
import { ErrorState, Skeleton } from '../../components/States';
import { asFailure } from '../../data/failure';
import { useYaml, type Run } from '../../data/runs';
import styles from './ConfigTab.module.css';

const CodeEditor = lazy(async () => ({ default: (await import('../../components/CodeEditor')).CodeEditor }));

export function ConfigTab({ run }: { run: Run }) {
  const yaml = useYaml(run.config);
  return (
    <div className={styles.columns}>
      <div>
        <Section
          title="Configuration"
          hint={
            <>
              As YAML that the command line’s <code>run</code> takes
            </>
          }
          actions={
            <Link to="/new" search={{ from: run.id }} className={buttonClass()}>
              New run from this
            </Link>
          }
        >
          {yaml.isError ? (
            <ErrorState compact what="The YAML cannot be written." error={asFailure(yaml.error)} />
          ) : yaml.data === undefined ? (
            <Skeleton height={240} />
          ) : (
            <Snippet label="Configuration" text={yaml.data.yaml} />
          )}
        </Section>
      </div>
      <div>
        <Section title="Provenance" hint="What the run was made with">
          <Panel className={styles.facts}>
            <Facts
              list
              items={[
                ...Object.entries(run.provenance).map(
                  ([name, value]) => [name, <code key={name}>{value}</code>] as const,
                ),
                ['folder', <code key="folder">{run.folder}</code>] as const,
              ]}
            />
          </Panel>
        </Section>
        {run.rewards.map(({ name, language, code, weight, params }) => (
          <Section
            key={name}
            title={run.rewards.length === 1 ? 'Reward' : `Reward: ${name}`}
            hint={weight === 1 ? 'The code as it was when the run began' : `Weight ${weight}`}
          >
            {Object.keys(params).length > 0 && (
              <Panel className={styles.facts}>
                <Facts
                  list
                  items={Object.entries(params).map(([key, value]) => [key, String(value)] as const)}
                />
              </Panel>
            )}
            <Panel className={styles.code}>
              <Suspense fallback={<pre className={styles.plain}>{code}</pre>}>
                <CodeEditor
                  value={code}
                  language={language === 'typescript' ? 'typescript' : 'plain'}
                  label={`Reward code of the run: ${name}`}
                  readOnly
                />
              </Suspense>
            </Panel>
          </Section>
        ))}
      </div>
    </div>
  );
}
