import type { z } from 'zod';

const KINDS: Record<string, string> = {
  int: 'a whole number',
  number: 'a number',
  string: 'a text',
  boolean: 'true or false',
  array: 'a list',
  object: 'a group of fields',
  record: 'a group of fields',
  null: 'empty',
  NaN: 'not a number',
};

/** What is wrong with a field, to follow its path: "must be at least 2". Schemas' own messages stay. */
export function issueText(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case 'invalid_type': {
      const got = /received (\w+)$/.exec(issue.message)?.[1] ?? '';
      if (got === 'undefined') return 'is missing';
      const wanted = KINDS[issue.expected] ?? issue.expected;
      // a number where a whole one is wanted
      return KINDS[got] === undefined || issue.expected === 'int'
        ? `must be ${wanted}`
        : `must be ${wanted}, this is ${KINDS[got]}`;
    }
    case 'too_small':
      return `must ${limit(issue.origin, 'least', issue.minimum)}`;
    case 'too_big':
      return `must ${limit(issue.origin, 'most', issue.maximum)}`;
    case 'invalid_value':
      return `must be one of ${issue.values.map(String).join(', ')}`;
    case 'unrecognized_keys':
      return `there is no ${issue.keys.map((key) => `"${key}"`).join(', ')}`;
    default:
      return issue.message;
  }
}

function limit(origin: string, which: 'least' | 'most', value: number | bigint): string {
  if (origin === 'string') return `have at ${which} ${value} characters`;
  if (origin === 'array') return `have at ${which} ${value} entries`;
  return `be at ${which} ${value}`;
}

/** For a field that does not exist: those that do. */
export function issueHint(schema: z.ZodType, issue: z.core.$ZodIssue): string | undefined {
  if (issue.code !== 'unrecognized_keys') return undefined;
  let at: Level | undefined = schema as Level;
  for (const part of issue.path) at = bare(at)?.shape?.[String(part)];
  const { shape } = bare(at) ?? {};
  return shape && `There are ${Object.keys(shape).join(', ')}.`;
}

interface Level {
  shape?: Record<string, Level>;
  unwrap?(): Level;
}

/** Without what makes it optional or gives it a default. */
function bare(level: Level | undefined): Level | undefined {
  let at = level;
  while (at && !at.shape && at.unwrap) at = at.unwrap();
  return at;
}
