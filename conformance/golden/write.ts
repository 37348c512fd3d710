/** Writes what the native tests hold against the reference evaluator: `npx tsx conformance/golden/write.ts`. */
import { writeFileSync } from 'node:fs';
import { goldenText } from '../../shared/program/testing/op-cases';

writeFileSync(new URL('program_ops.json', import.meta.url), goldenText());
