// The thread that checks the types of an algorithm against the app's own sources. It runs nothing of the code.
import { join } from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';
import ts from 'typescript';
import type { CodeMistake } from '../rewards';

const { root, code } = workerData as { root: string; code: string };
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
const host = ts.createCompilerHost(options);
const { readFile, fileExists, getSourceFile } = host;
host.readFile = (name) => (name === file ? code : readFile(name));
host.fileExists = (name) => name === file || fileExists(name);
host.getSourceFile = (name, ...rest) =>
  name === file
    ? ts.createSourceFile(name, code, { languageVersion: ts.ScriptTarget.ES2023 }, true)
    : getSourceFile(name, ...rest);

const program = ts.createProgram([file], options, host);
const source = program.getSourceFile(file)!;
const found = [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)];
parentPort?.postMessage(
  found.slice(0, 50).map(({ start = 0, messageText }): CodeMistake => {
    const { line, character } = source.getLineAndCharacterOfPosition(start);
    return {
      line: line + 1,
      column: character + 1,
      message: ts.flattenDiagnosticMessageText(messageText, ' '),
    };
  }),
);
