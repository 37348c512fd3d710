import { join } from 'node:path';
import { z } from 'zod';
import { Id } from '../../../shared/contract/common';
import { Mapping, type Dataset } from '../../../shared/contract/datasets';
import { fitsOf, suggestMapping, typeOf } from '../../../shared/contract/mapping';
import { RegistryFile } from '../places';

const Choice = z.object({ id: Id, mapping: Mapping });

type Mapped = Pick<Dataset, 'mapping' | 'mappedBy' | 'type' | 'fits' | 'notes'>;

/** Which column plays which part, where a person chose otherwise than we would guess: a list of the data folder. */
export class MappingChoices {
  readonly #file: RegistryFile<z.infer<typeof Choice>>;

  constructor(home: string) {
    this.#file = new RegistryFile(join(home, 'dataset-mappings.json'), Choice);
  }

  /** The mapping of a data set with these columns, and what it makes of them. */
  async of(id: string, columns: Dataset['columns']): Promise<Mapped> {
    const chosen = (await this.#file.read()).find((each) => each.id === id)?.mapping;
    const gone = Object.values(chosen ?? {}).filter(
      (name) => !columns.some((column) => column.name === name),
    );
    const kept = chosen !== undefined && gone.length === 0;
    const mapping = kept ? chosen : suggestMapping(columns).mapping;
    return {
      mapping,
      mappedBy: kept ? 'person' : 'guess',
      type: typeOf(mapping, columns),
      fits: fitsOf(mapping),
      notes:
        gone.length === 0
          ? []
          : [
              `The choice of columns is not used: ${gone.map((name) => `"${name}"`).join(', ')} is not there any more.`,
            ],
    };
  }

  /** null: no choice. */
  async set(id: string, mapping: Mapping | null): Promise<void> {
    await this.#file.update((all) => [
      ...all.filter((each) => each.id !== id),
      ...(mapping === null ? [] : [{ id, mapping }]),
    ]);
  }
}
