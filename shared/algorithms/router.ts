import { z } from 'zod';
import type { ProgramBuilder } from '../program';
import type { MetricInfo } from './algorithm';
import { field } from './fields';

/** Of algorithms that may train a mixture of experts for long. */
export const routerParams = () => ({
  routerAuxCoef: field(z.number().min(0).max(1).default(0), {
    label: 'Router balance',
    help: 'For models with a mixture of experts alone: weight of the loss that keeps the experts equally busy. 0.001 to 0.01 is usual, and costs a forward pass more; 0 turns it off.',
    level: 'advanced',
    section: 'Objective',
    step: 0.001,
  }),
});

/** Adds coef times the load-balancing loss (Switch Transformers, eq. 4; Router balance). Nothing where coef is 0. */
export function addRouterLoss(p: ProgramBuilder, coef: number): void {
  if (coef === 0) return;
  const aux = p.engine('routerAux');
  p.loss('router', aux.times(coef), 1);
  p.sum('train/router_aux', aux);
}

export const ROUTER_METRIC: MetricInfo = {
  key: 'train/router_aux',
  label: 'Router imbalance',
  unit: '',
  help: 'The load-balancing loss before its weight, where Router balance is above 0. With k experts a token it is k where all are equally busy, and grows as few do most of the work.',
  better: 'down',
};
