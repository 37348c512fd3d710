import { ChevronLeft, ChevronRight, Download } from 'lucide-react';
import { useMemo } from 'react';
import { engineIdle, LANES, type Lane, type Timeline } from '../../../../shared/contract/timeline';
import { Button, IconButton } from '../../components/Button';
import { formatCount, formatMicroseconds, formatPercent } from '../../components/format';
import { algorithmOf } from '../../components/run-measures';
import { Section } from '../../components/Screen';
import { Segmented } from '../../components/Segmented';
import { EmptyState } from '../../components/States';
import type { RunStore, RunView } from '../../data/run-store';
import { isActive, useSeriesVersion, useTrace, type Run, type RunStatus } from '../../data/runs';
import { ShareStack } from './ShareStack';
import { SpanTable, StepTable } from './TimeTables';
import { StepLanes } from './StepLanes';
import { columnsOf, PARTS, sharesOf } from './time-shares';
import styles from './TimeTab.module.css';
import { TraceNote } from './TraceNote';
import type { RunSearch, SetSearch } from './types';

const MOST_COLUMNS = 240;

/** Where the time of the steps went, and what the engine waited for. */
export function TimeTab({
  run,
  status,
  view,
  store,
  search,
  set,
}: {
  run: Run;
  status: RunStatus;
  view: RunView;
  store: RunStore;
  search: RunSearch;
  set: SetSearch;
}) {
  const version = useSeriesVersion(store);
  const trace = useTrace(run.id);
  const { timelines } = store;
  const columns = useMemo(
    () => columnsOf(timelines.all, MOST_COLUMNS),
    // a version stands for the timelines' content
    // eslint-disable-next-line react-hooks/exhaustive-deps
    [timelines, version],
  );
  if (timelines.length === 0) return <NoTimeline status={status} view={view} />;

  const newest = timelines.last!;
  const shown = search.step === undefined ? newest : timelines.of(search.step);
  const step = shown?.step ?? search.step!;
  const [before, after] = [timelines.beside(step, -1), timelines.beside(step, 1)];
  // what was chosen among the rollouts is of another step
  const choose = (to: number | undefined) =>
    set({ step: to, rollout: undefined, group: undefined, page: undefined });
  const go = (to: Timeline | undefined) => to && choose(to.step);
  const rewarded = algorithmOf(run)?.rewarded === true;
  const following = search.step === undefined;
  const parts = PARTS.filter(
    ({ part, idle }, k) =>
      idle || columns.some(({ shares }) => shares[k]! > 0) || (shown && sharesOf(shown)[part] > 0),
  );
  return (
    <>
      <Section
        title={<span className={styles.title}>{nameOf(step)}</span>}
        hint={shown && `took ${formatMicroseconds(shown.length)}`}
        actions={
          <>
            {isActive(status) &&
              (following ? (
                <span className={styles.following}>Following the newest step</span>
              ) : (
                <Button kind="quiet" onClick={() => choose(undefined)}>
                  Follow the newest step
                </Button>
              ))}
            <span className={styles.stepper}>
              <IconButton
                label="Step before"
                icon={<ChevronLeft />}
                disabled={!before}
                onClick={() => go(before)}
              />
              <IconButton
                label="Step after"
                icon={<ChevronRight />}
                disabled={!after}
                onClick={() => go(after)}
              />
            </span>
            <Segmented
              label="How times are shown"
              value={search.view}
              onChange={(next) => set({ view: next })}
              options={[
                { value: 'charts', label: 'Charts' },
                { value: 'table', label: 'Table' },
              ]}
            />
            <Button icon={<Download />} busy={trace.isPending} onClick={() => trace.mutate()}>
              Export trace
            </Button>
          </>
        }
      >
        <TraceNote trace={trace} />
        {shown === undefined ? (
          <EmptyState
            compact
            title={`No timeline of step ${formatCount(step)} is kept`}
            action={<Button onClick={() => choose(undefined)}>Show the newest step</Button>}
          >
            A step that is still under way, or that a version before this one made, has none.
          </EmptyState>
        ) : search.view === 'table' ? (
          <SpanTable timeline={shown} />
        ) : (
          <>
            <StepLanes timeline={shown} lanes={lanesOf(shown, rewarded)} />
            <Legend timeline={shown} parts={parts} />
          </>
        )}
      </Section>
      {columns.length > 0 && (
        <Section
          title="Over the steps"
          hint={
            search.view === 'table'
              ? 'What each step’s time went to, newest first'
              : 'Share of each step’s time. Click a step to see it above'
          }
        >
          {search.view === 'table' ? (
            <StepTable timelines={timelines.all} parts={parts} />
          ) : (
            <ShareStack
              columns={columns}
              selected={shown?.step}
              onPick={choose}
              onMove={(by) => go(by === -1 ? before : after)}
            />
          )}
        </Section>
      )}
    </>
  );
}

const nameOf = (step: number) => (step === 0 ? 'Before step 1' : `Step ${formatCount(step)}`);

const lanesOf = ({ spans }: Timeline, rewarded: boolean): Lane[] =>
  LANES.filter((lane) => lane !== 'rewards' || rewarded || spans.some((span) => span.lane === lane));

/** What the step's time went to: the key to the colours, and the numbers. */
function Legend({ timeline, parts }: { timeline: Timeline; parts: typeof PARTS }) {
  const shares = sharesOf(timeline);
  return (
    <div className={styles.legend}>
      <div className={styles.idle}>
        <span>Engine idle</span>
        <strong>{formatPercent(engineIdle(timeline), 1)}</strong>
      </div>
      {[false, true].map((idle) => (
        <dl key={String(idle)} className={styles.parts}>
          {parts
            .filter((part) => part.idle === idle)
            .map(({ part, label }) => (
              <div key={part} className={styles.part}>
                <dt>
                  <i data-part={part} aria-hidden />
                  {label}
                </dt>
                <dd>{formatMicroseconds(shares[part])}</dd>
                <dd>{formatPercent(shares[part] / timeline.length, 1)}</dd>
              </div>
            ))}
        </dl>
      ))}
    </div>
  );
}

function NoTimeline({ status, view }: { status: RunStatus; view: RunView }) {
  const reading = view.phase === 'replaying';
  if (isActive(status) || reading) {
    return (
      <EmptyState compact title="The first timeline comes after the first step">
        {reading
          ? 'Reading what is stored…'
          : 'It shows what each step’s time went to, and what the engine waited for.'}
      </EmptyState>
    );
  }
  return (
    <EmptyState compact title="No timeline of this run is kept">
      {view.lastStep > 0
        ? 'It was made before timelines were kept. A new run has one.'
        : 'No step of it was finished.'}
    </EmptyState>
  );
}
