import { createHash } from 'node:crypto';
import type { blankSourceFile as BlankSourceFile } from 'ts-blank-space';
import type ts from 'typescript';
import type { RewardParams } from '../../../shared/contract/rewards';
import { AtelierError } from '../../../shared/rpc/errors';

/** 1-based, as editors count. */
export interface CodeMistake {
  line: number;
  column: number;
  message: string;
}

/** sha-256 of the code, hex: stored with each rollout it scored. */
export function codeHash(code: string): string {
  return createHash('sha256').update(code).digest('hex');
}

/**
 * Types are blanked out in place, so that lines and columns stay the user's. TypeScript's parser finds the
 * mistakes; what has no meaning once types are gone (enum, namespace, parameter properties) is one too.
 * `importable`: modules that the code may import; a reward has none.
 */
export async function strip(
  code: string,
  importable: readonly string[] = [],
): Promise<{ javascript: string; mistakes: CodeMistake[] }> {
  // The compiler is large: loaded when first needed.
  const [{ default: typescript }, { blankSourceFile }] = await Promise.all([
    import('typescript'),
    import('ts-blank-space'),
  ]);
  try {
    return blank(code, importable, typescript, blankSourceFile);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    const message = 'the code is nested too deeply to be read';
    return { javascript: '', mistakes: [{ line: 1, column: 1, message }] };
  }
}

/** @throws RangeError where the parser's recursion finds no end */
function blank(
  code: string,
  importable: readonly string[],
  typescript: typeof ts,
  blankSourceFile: typeof BlankSourceFile,
): { javascript: string; mistakes: CodeMistake[] } {
  const file = typescript.createSourceFile('reward.ts', code, typescript.ScriptTarget.ESNext, true);
  const mistakes: CodeMistake[] = [];
  const at = (position: number, message: string) => {
    const { line, character } = file.getLineAndCharacterOfPosition(position);
    mistakes.push({ line: line + 1, column: character + 1, message });
  };
  for (const found of parseDiagnostics(file)) {
    at(found.start, typescript.flattenDiagnosticMessageText(found.messageText, ' '));
  }
  if (mistakes.length > 0) return { javascript: '', mistakes };
  const javascript = blankSourceFile(file, (node) =>
    at(
      node.getStart(file),
      `${typescript.SyntaxKind[node.kind]} is TypeScript that cannot simply be left out here`,
    ),
  );
  for (const statement of file.statements) {
    if (!typescript.isImportDeclaration(statement) || statement.importClause?.isTypeOnly) continue;
    const from = (statement.moduleSpecifier as ts.StringLiteral).text;
    if (importable.includes(from)) continue;
    at(
      statement.getStart(file),
      importable.length === 0
        ? 'a reward cannot import anything: it runs alone'
        : `"${from}" cannot be imported; there are ${importable.join(', ')}`,
    );
  }
  const waiting = file.statements.find((statement) => isAsyncDefault(typescript, statement));
  if (waiting) {
    at(waiting.getStart(file), 'a reward answers at once: leave out async and await');
  }
  return { javascript, mistakes };
}

/** `export default async function`, or the same as an arrow. */
function isAsyncDefault(typescript: typeof ts, statement: ts.Statement): boolean {
  const isAsync = (node: ts.FunctionLikeDeclaration) =>
    node.modifiers?.some(({ kind }) => kind === typescript.SyntaxKind.AsyncKeyword) === true;
  if (typescript.isFunctionDeclaration(statement)) {
    const isDefault = statement.modifiers?.some(({ kind }) => kind === typescript.SyntaxKind.DefaultKeyword);
    return isDefault === true && isAsync(statement);
  }
  if (!typescript.isExportAssignment(statement)) return false;
  const { expression } = statement;
  if (!typescript.isArrowFunction(expression) && !typescript.isFunctionExpression(expression)) return false;
  return isAsync(expression);
}

/** Of the code with its settings; without any, of the code alone. */
export function rewardHash(code: string, params: RewardParams): string {
  return Object.keys(params).length === 0 ? codeHash(code) : codeHash(`${code}\n${JSON.stringify(params)}`);
}

export async function compileReward(code: string): Promise<string> {
  const known = compiled.get(code);
  if (known !== undefined) return known;
  const { javascript, mistakes } = await strip(code);
  const first = mistakes[0];
  if (first) {
    throw new AtelierError(
      'reward_failed',
      `The reward's code has a mistake in line ${first.line}, column ${first.column}: ${first.message}.`,
      undefined,
      { problems: mistakes },
    );
  }
  if (compiled.size > 32) compiled.clear();
  compiled.set(code, javascript);
  return javascript;
}
const compiled = new Map<string, string>();

/** What createSourceFile found; TypeScript keeps it off its public types. */
function parseDiagnostics(file: ts.SourceFile): readonly ts.DiagnosticWithLocation[] {
  return (file as unknown as { parseDiagnostics: readonly ts.DiagnosticWithLocation[] }).parseDiagnostics;
}
