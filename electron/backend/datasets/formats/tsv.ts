import { delimited } from './delimited';

export const tsv = delimited('TSV', ['.tsv'], () => '\t');
