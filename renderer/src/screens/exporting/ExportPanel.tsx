import { Download } from 'lucide-react';
import { useState } from 'react';
import type { ExportKind } from '../../../../shared/contract/runs';
import { Button } from '../../components/Button';
import { Snippet } from '../../components/Copyable';
import { Field } from '../../components/Field';
import { formatBytes, formatNumber } from '../../components/format';
import { TextInput } from '../../components/Input';
import { Progress } from '../../components/Progress';
import { Panel, Section } from '../../components/Screen';
import { ErrorState, SkeletonRows } from '../../components/States';
import { Segmented } from '../../components/Segmented';
import { Select } from '../../components/Select';
import { Status } from '../../components/Status';
import { Table } from '../../components/Table';
import { desktop } from '../../data/desktop';
import { useExport, useExportForms, type ExportDone } from '../../data/exporting';
import { asFailure } from '../../data/failure';
import { useModels, type Adapter } from '../../data/library';
import styles from './ExportPanel.module.css';
import { FORMS } from './forms';

/** The forms that a checkpoint can take, once they are known. */
export function ExportPanel({ adapter }: { adapter: Adapter }) {
  const forms = useExportForms(adapter.run);
  if (forms.isError) {
    return (
      <ErrorState
        what="What it can be exported as cannot be told."
        error={asFailure(forms.error)}
        onRetry={forms.refetch}
      />
    );
  }
  if (forms.data === undefined) return <SkeletonRows rows={3} label="Looking at the checkpoint" />;
  return <Panels adapter={adapter} forms={forms.data} />;
}

type Forms = NonNullable<ReturnType<typeof useExportForms>['data']>;

function Panels({ adapter, forms }: { adapter: Adapter; forms: Forms }) {
  const [path, setPath] = useState('');
  const refused = forms.filter((form) => form.refused !== null);
  const [kind, setKind] = useState<ExportKind>(
    (forms.find((form) => form.refused === null) ?? forms[0]!).kind,
  );
  const [type, setType] = useState<string>();
  const words = FORMS[kind];
  const chosen = type ?? words.types[0]?.value ?? '';
  const { state, run, reset } = useExport();
  const busy = state.phase === 'writing' || state.phase === 'verifying';
  const start = () =>
    void run({
      id: adapter.run,
      checkpoint: adapter.checkpoint,
      as: words.form(chosen),
      ...(path.trim() === '' ? {} : { path: path.trim() }),
    });
  return (
    <>
      <Section title="As">
        <Segmented
          label="Form"
          value={kind}
          options={forms.map((form) => ({
            value: form.kind,
            label: FORMS[form.kind].label,
            title: form.refused?.message ?? FORMS[form.kind].help,
            disabled: form.refused !== null,
          }))}
          onChange={(next) => {
            setKind(next);
            setType(undefined);
            reset();
          }}
        />
        <p className={styles.help}>{words.help}</p>
        {refused.length > 0 && (
          <ul className={styles.refused} aria-label="Forms that it cannot take">
            {refused.map((form) => (
              <li key={form.kind}>
                <b>Not as {FORMS[form.kind].label}:</b> {form.refused!.message} {form.refused!.hint}
              </li>
            ))}
          </ul>
        )}
        {words.types.length > 0 && (
          <div className={styles.type}>
            <Field label="Numbers">
              {(ids) => (
                <Select
                  {...ids}
                  value={chosen}
                  options={[...words.types]}
                  onChange={(next) => {
                    setType(next);
                    reset();
                  }}
                />
              )}
            </Field>
          </div>
        )}
      </Section>
      <Section title="Where">
        <div className={styles.where}>
          <Field label="Folder" help="Empty: inside the run’s own folder.">
            {(ids) => (
              <TextInput
                {...ids}
                value={path}
                placeholder="The run’s exports folder"
                onChange={(event) => setPath(event.target.value)}
              />
            )}
          </Field>
          {desktop !== undefined && (
            <Button
              onClick={() =>
                void desktop!.chooseExportFolder().then((chosen) => chosen !== null && setPath(chosen))
              }
            >
              Choose…
            </Button>
          )}
          <Button kind="primary" icon={<Download />} busy={busy} onClick={start}>
            {words.action}
          </Button>
        </div>
        {busy && (
          <div className={styles.progress}>
            <Progress value={state.total > 0 ? state.done / state.total : null} label="Export" />
            <p role="status">
              {state.phase === 'writing'
                ? 'Writing the files'
                : 'Reading them back in a fresh process and comparing'}
            </p>
          </div>
        )}
        {state.phase === 'failed' && (
          <div className={styles.progress}>
            <ErrorState
              what="Nothing was exported."
              error={state.error}
              action={<Button onClick={start}>Try again</Button>}
            />
          </div>
        )}
      </Section>
      {state.phase === 'done' && <Result result={state.result} adapter={adapter} kind={kind} type={chosen} />}
    </>
  );
}

function Result({
  result,
  adapter,
  kind,
  type,
}: {
  result: ExportDone;
  adapter: Adapter;
  kind: ExportKind;
  type: string;
}) {
  const model = useModels().data?.find((each) => each.id === adapter.model);
  const load = FORMS[kind].snippet({
    path: result.path,
    base: model?.path ?? 'BASE_MODEL',
    type,
    scalarHead: adapter.scalarHead,
  });
  const one = result.compared === 'scores' ? 'score' : 'logit';
  return (
    <Section title="Result">
      <Panel className={styles.result}>
        <div className={styles.head}>
          <Status
            tone={result.verified ? 'done' : 'bad'}
            label={result.verified ? 'Written, read back and verified' : 'Written, but the check failed'}
          />
          {desktop !== undefined && (
            <Button kind="quiet" onClick={() => void desktop!.showInFolder(result.path)}>
              Show in folder
            </Button>
          )}
        </div>
        {result.message !== undefined && <p className={styles.message}>{result.message}</p>}
        <dl className={styles.numbers}>
          <div>
            <dt>Largest {one} difference to what was trained</dt>
            <dd>{formatNumber(result.maxDifferenceLive)}</dd>
            <dd className={styles.note}>
              {kind === 'adapter' || type === 'f32'
                ? 'near 0: what was written is what was trained'
                : result.compared === 'scores'
                  ? 'rounding'
                  : `rounding: mean divergence ${formatNumber(result.meanKl)} nats, the likeliest token agrees for ${Math.round(result.topAgreement * 100)} %`}
            </dd>
          </div>
          <div>
            <dt>Largest {one} difference to the base</dt>
            <dd>{formatNumber(result.maxDifferenceBase)}</dd>
            <dd className={styles.note}>above 0: what was learnt changes the model</dd>
          </div>
        </dl>
        <p className={styles.path}>
          <code>{result.path}</code>
        </p>
        <Table
          bare
          label="Files written"
          rows={result.files}
          rowKey={(file) => file.name}
          columns={[
            { key: 'name', header: 'File', cell: (file) => <code>{file.name}</code> },
            { key: 'bytes', header: 'Size', numeric: true, cell: (file) => formatBytes(file.bytes) },
          ]}
        />
      </Panel>
      <h3 className={styles.how}>{load.title}</h3>
      <Snippet label={load.language} text={load.text} />
    </Section>
  );
}
