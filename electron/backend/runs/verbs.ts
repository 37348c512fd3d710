import { stringify } from 'yaml';
import type { AtelierContract } from '../../../shared/contract';
import { AtelierError, type Handlers } from '../../../shared/rpc';
import { estimateRun } from './estimate';
import { chooseFit } from './fit';
import { tuneRun } from './tune';
import { exportForms, exportRun, type ExportOptions } from './export';
import { followRun } from './follow';
import type { Runs } from './runs';
import { details, summarise } from './summary';
import { writeTrace } from './trace';

/** The verbs of `runs`. */
export function runVerbs(runs: Runs, options: ExportOptions): Handlers<AtelierContract>['runs'] {
  const done = {};
  return {
    list: () => Promise.all(runs.all().map((entry) => summarise(entry, runs.place(entry)))),
    get: ({ id }) => details(runs.get(id), runs.place(runs.get(id))),
    estimate: (config, { signal }) => estimateRun(config, options, runs, signal),
    fit: (config, { signal }) => chooseFit(config, options, runs, signal),
    tune: (config, { signal }) => tuneRun(config, options, runs, signal),
    start: (config) => runs.start(config),
    follow: ({ id, after }, { signal }) => {
      const entry = runs.get(id);
      void entry.readable;
      return followRun(entry, after, signal);
    },
    pause({ id }) {
      runs.pause(id);
      return done;
    },
    resume({ id }) {
      runs.resume(id);
      return done;
    },
    stop({ id }) {
      runs.stop(id);
      return done;
    },
    async remove({ id }) {
      await runs.remove(id);
      return done;
    },
    async rename({ id, name }) {
      await runs.rename(id, name);
      return done;
    },
    rollouts: ({ id, ...query }) => runs.get(id).reader.rollouts(query),
    groups: ({ id, ...query }) => runs.get(id).reader.groups(query),
    async tokens({ id, rollout }) {
      const entry = runs.get(id);
      const tokens = entry.reader.tokens(rollout);
      if (!tokens) throw new AtelierError('not_found', `The run has no rollout ${rollout}.`);
      const { text } = await options.sources.model(entry.readable.config.model);
      return { ...tokens, pieces: await text.pieces(tokens.ids) };
    },
    checkpoints: ({ id }) =>
      runs
        .get(id)
        .reader.checkpoints()
        .map(({ step, bytes, at, reward }) => ({ step, bytes, at, reward })),
    exportForms: ({ id }) => exportForms(runs.get(id), options),
    export: (request, { signal }) => exportRun(runs.get(request.id), request, options, signal),
    trace: ({ id, path }) => writeTrace(runs.get(id), path, options.roots),
    yaml: (config) => ({ yaml: stringify(config) }),
  };
}
