/**
 * Reads `--name value`, `--name=value`, `--flag` and `--no-flag` against the option table. Knows nothing of values:
 * it returns their text, and a problem for every argument it cannot place.
 */
import { editDistance } from '../errors/nearest-names.ts';
import { optionList } from './option-table.ts';
import type { Option } from './option.ts';
import { maskUrl } from './url-secrets.ts';

export interface ParsedFlags {
  /** Text by flag name without dashes; lists given twice are joined, everything else keeps the last text. */
  readonly values: ReadonlyMap<string, string>;
  readonly problems: readonly string[];
}

const byName = new Map(optionList.map((option) => [option.name, option]));

/** Flags of the arguments after the command word. Never throws. */
export function parseFlags(argv: readonly string[]): ParsedFlags {
  const values = new Map<string, string>();
  const problems: string[] = [];
  for (let index = 0; index < argv.length; index += 1) {
    const argument = argv[index] ?? '';
    const found = readFlag(argument, argv[index + 1]);
    if ('problem' in found) {
      problems.push(found.problem);
      // The value of an unknown flag is not a second mistake.
      if (found.takesNext) index += 1;
      continue;
    }
    if (found.takesNext) index += 1;
    const earlier = byName.get(found.name)?.type === 'list' ? values.get(found.name) : undefined;
    values.set(found.name, earlier === undefined ? found.text : `${earlier},${found.text}`);
  }
  return { values, problems };
}

type Flag =
  | { readonly name: string; readonly text: string; readonly takesNext: boolean }
  | { readonly problem: string; readonly takesNext: boolean };

function readFlag(argument: string, next: string | undefined): Flag {
  const match = /^--([^=]+)(?:=(.*))?$/s.exec(argument);
  const name = match?.[1];
  if (name === undefined) return { problem: `"${argument}": expected a flag such as --http-port`, takesNext: false };
  const inline = match?.[2];
  const follows = inline === undefined && next !== undefined && !next.startsWith('--');
  const negated = name.startsWith('no-') ? byName.get(name.slice(3)) : undefined;
  if (negated?.type === 'boolean') {
    if (inline === undefined) return { name: negated.name, text: 'false', takesNext: false };
    return { problem: `--${name}: expected no value`, takesNext: false };
  }
  const option = byName.get(name);
  if (option === undefined) {
    return { problem: `--${name}: no such flag${didYouMean(`--${name}`, flagNames)}`, takesNext: follows };
  }
  if (option.secret === 'value') return { problem: elsewhere(option), takesNext: follows };
  const text = inline ?? (follows ? next : undefined);
  if (option.secret === 'url' && text !== undefined && maskUrl(text) !== text) {
    return { problem: `${elsewhere(option)}; a flag takes an address without a password`, takesNext: follows };
  }
  if (inline !== undefined) return { name, text: inline, takesNext: false };
  if (option.type === 'boolean') return { name, text: 'true', takesNext: false };
  if (text === undefined) return { problem: `--${name}: expected a value`, takesNext: false };
  return { name, text, takesNext: true };
}

function elsewhere({ name, env }: Option<unknown>): string {
  return `--${name}: expected in ${env} or ${env}_FILE, because every user of the machine can read arguments`;
}

const flagNames = optionList.filter((option) => option.secret !== 'value').map((option) => `--${option.name}`);

/** `; did you mean X?` when a known name is close enough to be a slip of the same word, else nothing. */
export function didYouMean(name: string, known: Iterable<string>): string {
  let best: { readonly name: string; readonly distance: number } | undefined;
  for (const candidate of known) {
    // Of two as close, the one that begins as the word does: "prun" is rather prune than run.
    const distance = editDistance(name, candidate) + (candidate.startsWith(name.slice(0, 3)) ? 0 : 0.5);
    if (best === undefined || distance < best.distance) best = { name: candidate, distance };
  }
  return best === undefined || best.distance > name.length / 2 ? '' : `; did you mean ${best.name}?`;
}

/** The known name that differs in at most two letters; undefined when there is none. */
export function nearly(name: string, known: Iterable<string>): string | undefined {
  return [...known].find((candidate) => editDistance(name, candidate) <= 2);
}
