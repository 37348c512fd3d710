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
          hint="As YAML that the command line’s `run` takes"
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
        {run.rewardCode !== null && (
          <Section title="Reward" hint="The code as it was when the run began">
            <Panel className={styles.code}>
              <Suspense fallback={<pre className={styles.plain}>{run.rewardCode}</pre>}>
                <CodeEditor value={run.rewardCode} label="Reward code of the run" readOnly />
              </Suspense>
            </Panel>
          </Section>
        )}
      </div>
    </div>
  );
}
