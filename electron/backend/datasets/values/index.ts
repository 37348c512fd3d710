import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** A file or folder that pyarrow or datasets wrote; rows.json says what is in them, and who made them. */
export const valuePath = (name: string) => fileURLToPath(new URL(name, import.meta.url));
export const value = <T>(name: string): T => JSON.parse(readFileSync(valuePath(name), 'utf8')) as T;
