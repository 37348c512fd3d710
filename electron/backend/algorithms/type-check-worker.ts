// The thread that checks the types of an algorithm against the app's own sources. It runs nothing of the code.
import { join } from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';
import ts from 'typescript';
import type { CodeMistake } from '../rewards';

const { root } = workerData as { root: string };
const file = join(root, 'shared', 'algorithms', '__own-algorithm__.ts');

const options: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2023,
  module: ts.ModuleKind.ESNext,
  moduleResolution: ts.ModuleResolutionKind.Bundler,
  lib: ['lib.es2023.d.ts'],
  types: [],
  strict: true,
  noEmit: true,
  skipLibCheck: true,
  verbatimModuleSyntax: true,
};
let code = '';
const host = ts.createCompilerHost(options);
const { readFile, fileExists, getSourceFile } = host;
/** All files but the algorithm: parsed once in a thread's life. */
const parsed = new Map<string, ts.SourceFile | undefined>();
host.readFile = (name) => (name === file ? code : readFile(name));
host.fileExists = (name) => name === file || fileExists(name);
host.getSourceFile = (name, ...rest) => {
  if (name === file)
    return ts.createSourceFile(name, code, { languageVersion: ts.ScriptTarget.ES2023 }, true);
  if (!parsed.has(name)) parsed.set(name, getSourceFile(name, ...rest));
  return parsed.get(name);
};

let program: ts.Program | undefined;

function mistakes(): CodeMistake[] {
  program = ts.createProgram([file], options, host, program);
  const source = program.getSourceFile(file)!;
  const found = [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)];
  return found.slice(0, 50).map(({ start = 0, messageText }) => {
    const { line, character } = source.getLineAndCharacterOfPosition(start);
    return {
      line: line + 1,
      column: character + 1,
      message: ts.flattenDiagnosticMessageText(messageText, ' '),
    };
  });
}

parentPort?.on('message', (next: string) => {
  code = next;
  parentPort?.postMessage(mistakes());
});
