import { algorithmByKey, ALGORITHMS, fields, metricsOf } from '../../../shared/algorithms';
import type { RunConfig } from '../../../shared/contract/runs';
import { AtelierError, issueHint, issueText } from '../../../shared/rpc';
import type { FoundAlgorithm } from './found-algorithm';
import type { Sources } from './sources';

/** @throws AtelierError where there is none of this name, or its code has a mistake */
export async function findAlgorithm(
  { algorithm: key, algorithmCode }: Pick<RunConfig, 'algorithm' | 'algorithmCode'>,
  sources: Sources,
): Promise<FoundAlgorithm> {
  const known = algorithmByKey(key);
  if (known && algorithmCode === null) {
    return {
      label: known.label,
      rewarded: known.advantages !== undefined,
      metrics: metricsOf(known),
      fields: fields(known),
      own: null,
      async settle(params) {
        const { data, error } = known.params.safeParse(params);
        if (!error) return { params: data, algorithm: known };
        const faults = error.issues.map((issue) => ({
          path: issue.path,
          message: issueText(issue),
          hint: issueHint(known.params, issue),
        }));
        return { faults };
      },
    };
  }
  const own = await sources.ownAlgorithm(key, algorithmCode);
  if (own) return own;
  const keys = ALGORITHMS.map((each) => each.key).join(', ');
  throw new AtelierError(
    'invalid_input',
    `There is no algorithm "${key}".`,
    `Choose one of ${keys}, or one of your own.`,
  );
}
