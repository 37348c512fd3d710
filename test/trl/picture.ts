import { meanLine, picture } from '../../bench/picture';
import type { Outcome } from './compare';
import type { Recipe } from './recipes';

/** Both sides' runs of a recipe, one a seed. */
export interface Sides {
  recipe: Recipe;
  ours: readonly Outcome[];
  theirs: readonly Outcome[];
}

const HERE = '#1f4e9c';
const TRL = '#d2691e';
/** Steps that a point of a sampled curve looks at. */
const WINDOW = 5;

/** A panel a recipe: the mean over the seeds of both sides, and what lies between the lowest and the highest seed. */
export function curvesPicture(all: readonly Sides[]): string {
  return picture({
    title: 'npm run test:trl: the same recipe here and in TRL',
    legend: [
      { text: 'here', color: HERE },
      { text: 'TRL', color: TRL },
    ],
    columns: 2,
    plot: { width: 420, height: 240 },
    panels: all.map(({ recipe, ours, theirs }) => {
      const window = recipe.answers > 0 ? WINDOW : 1;
      const sides = [
        { side: theirs, color: TRL, width: 2.5 },
        { side: ours, color: HERE, width: 1.5 },
      ].map(({ side, ...look }) => ({
        ...look,
        seeds: side.map(({ curve }) => meanLine([curve], window)),
      }));
      const bound = (seeds: readonly number[][], of: (...values: number[]) => number) =>
        seeds[0]!.map((_, k) => of(...seeds.map((values) => values[k]!)));
      return {
        title: recipe.algorithm.toUpperCase(),
        note:
          `${recipe.metric}, ${ours.length} seeds: mean, lowest and highest` +
          (window > 1 ? `; over ${window} steps` : ''),
        bands: sides.map(({ seeds, color }) => ({
          low: bound(seeds, Math.min),
          high: bound(seeds, Math.max),
          color,
        })),
        lines: sides.map(({ seeds, color, width }) => ({ values: meanLine(seeds), color, width })),
      };
    }),
  });
}
