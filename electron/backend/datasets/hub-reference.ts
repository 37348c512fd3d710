import { AtelierError } from '../../../shared/rpc/errors';

/** `repo[:config[:split]]`; repo is owner/name, or a name alone for the oldest ones. */
export interface HubReference {
  repo: string;
  config: string | null;
  split: string | null;
}

const namePattern = /^[\w][\w.-]{0,95}$/;
const partPattern = /^[\w][\w. +=-]{0,127}$/;

export function parseReference(reference: string): HubReference {
  const refuse = (why: string) =>
    new AtelierError(
      'invalid_input',
      `"${reference.slice(0, 120)}" is no reference to data on the Hub: ${why}.`,
      'Write owner/name, owner/name:config or owner/name:config:split; for instance openai/gsm8k:main:train.',
      { path: 'reference' },
    );
  const [repo = '', config, split, ...more] = reference.trim().split(':');
  if (more.length > 0) throw refuse(`it has ${more.length + 3} parts, and three at most are read`);
  const names = repo.split('/');
  if (names.length > 2 || names.some((name) => !namePattern.test(name) || /\.\.|--|\.git$/.test(name))) {
    throw refuse(`"${repo}" is no name of a repository`);
  }
  const part = (value: string | undefined, what: string) => {
    if (value === undefined) return null;
    if (!partPattern.test(value) || value.includes('..')) throw refuse(`"${value}" is no name of a ${what}`);
    return value;
  };
  return { repo, config: part(config, 'config'), split: part(split, 'split') };
}
