/** What an option is, and how one is declared: from its environment variable follow its flag and its section. */
import { constant } from './option-types.ts';
import type { OptionType, Parsed } from './option-types.ts';

export type Section = 'ledger' | 'database' | 'indexer';

export interface Option<T> {
  /** The flag without its dashes, e.g. `batch-updates`. */
  readonly name: string;
  /** The environment variable, e.g. `INDEXER_BATCH_UPDATES`. */
  readonly env: string;
  readonly type: string;
  /** The default as an operator would write it; undefined when there is none. */
  readonly default: string | undefined;
  /** `url`: the password in it is masked; `value`: never shown, and not accepted as a flag, which `ps` would show. */
  readonly secret: 'no' | 'url' | 'value';
  /** True when the variable with `_FILE` appended may name a file that holds the value. */
  readonly fileVariant: boolean;
  readonly doc: string;
  readonly section: Section;
  /** What holds when nothing is set, in words, for options without a default. */
  readonly unset: string;
  /** The value when nothing is set. */
  readonly fallback: T;
  check(given: string): Parsed<T>;
}

interface Spec {
  readonly env: string;
  readonly section: Section;
  readonly doc: string;
  readonly secret?: 'url' | 'value';
  readonly fileVariant?: true;
  readonly unset?: string;
}

/** An option that may be left out. */
export function optional<T>(spec: Spec, type: OptionType<T>): Option<T | undefined> {
  return { ...common(spec, type), default: undefined, fallback: undefined, check: (given) => type.parse(given) };
}

/** An option with a default, given as an operator would write it. */
export function withDefault<T>(spec: Spec, type: OptionType<T>, given: string): Option<T> {
  return {
    ...common(spec, type),
    default: given,
    fallback: constant(type, given),
    check: (given) => type.parse(given),
  };
}

function common(spec: Spec, type: { readonly label: string }): Omit<Option<never>, 'default' | 'fallback' | 'check'> {
  return {
    name: spec.env
      .replace(/^INDEXER_/, '')
      .toLowerCase()
      .replaceAll('_', '-'),
    env: spec.env,
    type: type.label,
    secret: spec.secret ?? 'no',
    fileVariant: spec.fileVariant ?? false,
    doc: spec.doc,
    section: spec.section,
    unset: spec.unset ?? 'not set',
  };
}

export const ledger = (env: string, doc: string, more: Partial<Spec> = {}): Spec => ({
  env,
  doc,
  section: 'ledger',
  ...more,
});
export const database = (env: string, doc: string, more: Partial<Spec> = {}): Spec => ({
  env,
  doc,
  section: 'database',
  ...more,
});
export const indexer = (env: string, doc: string, more: Partial<Spec> = {}): Spec => ({
  env,
  doc,
  section: 'indexer',
  ...more,
});
