// What an algorithm of one's own may import, as shared/algorithms does. Bundled for the sandbox: no Node, no DOM.
export * as zod from 'zod';
export * as program from '../../../../shared/program';
export * as algorithm from '../../../../shared/algorithms/algorithm';
export * as common from '../../../../shared/algorithms/common';
export * as fields from '../../../../shared/algorithms/fields';
export * as heldOut from '../../../../shared/algorithms/held-out';
export * as metrics from '../../../../shared/algorithms/metrics';
export * as policyGradient from '../../../../shared/algorithms/policy-gradient';
export * as preference from '../../../../shared/algorithms/preference';
export * as rolloutParams from '../../../../shared/algorithms/rollout-params';
export * as router from '../../../../shared/algorithms/router';
export * as groupAdvantages from '../../../../shared/algorithms/advantages/group-advantages';
export * as stats from '../../../../shared/algorithms/advantages/stats';
export * as tokenAdvantages from '../../../../shared/algorithms/advantages/token-advantages';
