import { engineBusy, type Lane, type Timeline } from '../../../../shared/contract/timeline';
import { axisTicks } from '../../components/axis';
import { formatMicroseconds, microsecondTick } from '../../components/format';
import { useSize } from '../../components/use-size';
import styles from './StepLanes.module.css';
import { engineGaps, LANE_WORDS, PHASE_WORDS } from './time-shares';

const LABEL = 76;
/** Of a character of the spans' type. */
const CHARACTER = 6.2;

/** One step: who worked on what, side by side, and where the engine had nothing to do. */
export function StepLanes({ timeline, lanes }: { timeline: Timeline; lanes: readonly Lane[] }) {
  const { ref, width } = useSize();
  const { length } = timeline;
  const inner = Math.max(1, width - LABEL);
  const place = (from: number, to: number) => ({
    left: `${(100 * from) / length}%`,
    width: `${(100 * (to - from)) / length}%`,
  });
  const fits = (text: string, from: number, to: number) =>
    text.length * CHARACTER + 12 <= ((to - from) / length) * inner ? text : '';
  const ticks = axisTicks(0, length, Math.max(2, inner / 110));
  return (
    <div ref={ref} className={styles.lanes} role="img" aria-label={summary(timeline, lanes)}>
      {width > 0 &&
        lanes.map((lane) => (
          <div key={lane} className={styles.lane}>
            <span className={styles.name}>{LANE_WORDS[lane]}</span>
            <div className={styles.track}>
              {lane === 'engine' &&
                engineGaps(timeline).map(([from, to]) => (
                  <span
                    key={from}
                    className={styles.gap}
                    style={place(from, to)}
                    title={`Engine idle: ${formatMicroseconds(to - from)}`}
                  >
                    {fits(`idle ${formatMicroseconds(to - from)}`, from, to)}
                  </span>
                ))}
              {timeline.spans
                .filter((span) => span.lane === lane)
                .map(({ phase, start, end, busy }) => (
                  <span
                    key={start}
                    className={styles.span}
                    data-phase={phase}
                    style={place(start, end)}
                    title={`${PHASE_WORDS[phase]}: ${formatMicroseconds(end - start)}, from ${formatMicroseconds(start)} on; at work for ${formatMicroseconds(busy)} of it`}
                  >
                    {fits(`${PHASE_WORDS[phase]} ${formatMicroseconds(end - start)}`, start, end) ||
                      fits(PHASE_WORDS[phase], start, end)}
                  </span>
                ))}
            </div>
          </div>
        ))}
      <div className={styles.axis} aria-hidden>
        {ticks.map((tick) => (
          <span key={tick} style={{ left: `${(100 * tick) / length}%` }}>
            {microsecondTick(tick, length)}
          </span>
        ))}
      </div>
    </div>
  );
}

/** The picture in words, for those who do not see it. */
function summary(timeline: Timeline, lanes: readonly Lane[]): string {
  const { length, spans } = timeline;
  const parts = lanes.map((lane) => {
    const own = spans.filter((span) => span.lane === lane);
    const told = own.map(
      ({ phase, start, end }) => `${PHASE_WORDS[phase]} ${formatMicroseconds(end - start)}`,
    );
    return `${LANE_WORDS[lane]}: ${told.length === 0 ? 'nothing' : told.join(', ')}`;
  });
  return `${formatMicroseconds(length)}, the engine idle for ${formatMicroseconds(length - engineBusy(timeline))}. ${parts.join('. ')}.`;
}
