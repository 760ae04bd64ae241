/**
 * Options and their value types.
 *
 * A value type parses text to a value, or returns a description of what it expected. Parsers do not throw and do not
 * repeat the text, so they can also be used for secrets.
 */
import { holdsPrivateKey, smallFileExpected, unusableKind } from './small-file.ts';
import { unusableUrlFile } from './url-files.ts';

/** The parsed value, or the text after "expected …". */
export type ParseResult<T> = { readonly value: T } | { readonly expected: string };

export interface OptionType<T> {
  /** Name in the documentation, e.g. `integer`, `duration`. */
  readonly label: string;
  parse(text: string): ParseResult<T>;
}

export const text: OptionType<string> = { label: 'text', parse: (input) => ({ value: input }) };

/**
 * The path of a file that is read later and may not exist yet. A pipe or device is rejected, because it would block the
 * process or fill its memory.
 */
export const smallFile: OptionType<string> = {
  label: 'text',
  parse: (input) => {
    if (holdsPrivateKey(input)) return { expected: 'the path of a file, not its content' };
    const kind = unusableKind(input);
    return kind === undefined ? { value: input } : { expected: `${smallFileExpected}, not one that is ${kind}` };
  },
};

/** Integers from `min` to `max`, both inclusive, in decimal notation. */
export function integer(min: number, max: number): OptionType<number> {
  const expectation = `an integer between ${min} and ${max}`;
  return {
    label: 'integer',
    parse: (input) => {
      const value = /^-?\d{1,16}$/.test(input) ? Number(input) : Number.NaN;
      return value >= min && value <= max ? { value } : { expected: expectation };
    },
  };
}

const booleans = new Map([
  ['true', true],
  ['1', true],
  ['yes', true],
  ['on', true],
  ['false', false],
  ['0', false],
  ['no', false],
  ['off', false],
]);

export const boolean: OptionType<boolean> = {
  label: 'boolean',
  parse: (input) => {
    const value = booleans.get(input.toLowerCase());
    return value === undefined ? { expected: 'true or false' } : { value };
  },
};

/** A number with one of the `units`, from `min` to `max` (inclusive), converted to the smallest unit. */
function quantity(
  label: string,
  units: Readonly<Record<string, number>>,
  bounds: readonly [minText: string, min: number, maxText: string, max: number],
): OptionType<number> {
  const [minText, min, maxText, max] = bounds;
  const names = Object.keys(units);
  const shape = new RegExp(`^(\\d{1,12}(?:\\.\\d{1,3})?)(${names.join('|')})$`);
  return {
    label,
    parse: (input) => {
      const match = shape.exec(input);
      const value = Math.round(Number(match?.[1]) * (units[match?.[2] ?? ''] ?? Number.NaN));
      if (value >= min && value <= max) return { value };
      return { expected: `a ${label} between ${minText} and ${maxText} (units: ${names.join(', ')})` };
    },
  };
}

const milliseconds = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** Durations such as `500ms`, `30s`, `5m`, `1h`; the value is in milliseconds. */
export function duration(minText: string, maxText: string): OptionType<number> {
  const anyDuration = quantity('duration', milliseconds, ['0ms', 0, 'any', Number.MAX_SAFE_INTEGER]);
  return quantity('duration', milliseconds, [
    minText,
    constant(anyDuration, minText),
    maxText,
    constant(anyDuration, maxText),
  ]);
}

const ages = { m: 1, h: 60, d: 1440, w: 10_080 };
const msOfMinute = 60_000;

/** Ages such as `12h`, `90d`, `6w`; the value is in milliseconds. */
export function age(minText: string, maxText: string): OptionType<number> {
  const anyAge = quantity('age', ages, ['0m', 0, 'any', Number.MAX_SAFE_INTEGER]);
  const minutes = quantity('age', ages, [minText, constant(anyAge, minText), maxText, constant(anyAge, maxText)]);
  return {
    label: minutes.label,
    parse: (input) => {
      const parsed = minutes.parse(input);
      return 'value' in parsed ? { value: parsed.value * msOfMinute } : parsed;
    },
  };
}

const bytes = { B: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 };

/** Sizes such as `64KiB`, `8MiB`; the value is in bytes. */
export function size(minText: string, maxText: string): OptionType<number> {
  const anySize = quantity('size', bytes, ['0B', 0, 'any', Number.MAX_SAFE_INTEGER]);
  return quantity('size', bytes, [minText, constant(anySize, minText), maxText, constant(anySize, maxText)]);
}

const volumes = { ...bytes, TiB: 1024 ** 4, MB: 1e6, GB: 1e9, TB: 1e12 };

/** Sizes of disks in decimal or binary units, such as `500GB`, `1.5TiB`; the value is in bytes. */
export const volume = quantity('size', volumes, ['0B', 0, '8191TiB', Number.MAX_SAFE_INTEGER]);

/** Exactly one of the given words. */
export function choice<const T extends string>(choices: readonly T[]): OptionType<T> {
  return {
    label: choices.join(', '),
    parse: (input) => {
      const value = choices.find((candidate) => candidate === input);
      return value === undefined ? { expected: `one of ${choices.join(', ')}` } : { value };
    },
  };
}

/** Text that matches `shape`. @param expectation text after "expected …" */
export function patternType(label: string, shape: RegExp, expectation: string): OptionType<string> {
  return { label, parse: (input) => (shape.test(input) ? { value: input } : { expected: expectation }) };
}

/** Comma-separated items. Spaces around an item are removed, and so are duplicates. */
export function listType(item: OptionType<string>): OptionType<readonly string[]> {
  return {
    label: 'list',
    parse: (input) => {
      const entries = new Set<string>();
      for (const entry of input.split(',').map((rawEntry) => rawEntry.trim())) {
        if (entry === '') continue;
        const parsed = item.parse(entry);
        if ('expected' in parsed) return parsed;
        entries.add(parsed.value);
      }
      // If "$A,$B" were allowed with both unset, it would mean an empty list, which selects everything.
      if (entries.size === 0 && input.trim() !== '')
        return { expected: 'at least one entry between the commas, or an empty value' };
      return { value: [...entries] };
    },
  };
}

/** Where the history of an empty database starts: a word, or an offset. */
export const startType: OptionType<'seed' | 'genesis' | 'oldest' | number> = {
  label: 'start',
  parse: (input) => {
    if (input === 'seed' || input === 'genesis' || input === 'oldest') return { value: input };
    const offset = integer(0, Number.MAX_SAFE_INTEGER).parse(input);
    return 'value' in offset ? offset : { expected: 'seed, genesis, oldest or an offset (an integer)' };
  },
};

/** The last offset to store, or the ledger end. */
export const endPoint: OptionType<'end' | number> = {
  label: 'end',
  parse: (input) => {
    if (input === 'end') return { value: input };
    const offset = integer(1, Number.MAX_SAFE_INTEGER).parse(input);
    return 'value' in offset ? offset : { expected: 'end or an offset (an integer of at least 1)' };
  },
};

/** The base URL of the JSON Ledger API. A trailing slash is removed. */
export const ledgerUrl: OptionType<string> = {
  label: 'URL',
  parse: (input) => {
    const expectation = 'an http:// or https:// address without credentials, query or fragment';
    if (!/^https?:\/\//.test(input) || !URL.canParse(input)) return { expected: expectation };
    const url = new URL(input);
    if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '')
      return { expected: expectation };
    if (/\/v2(?:\/|$)/.test(url.pathname)) return { expected: 'the base address, without /v2, which the indexer adds' };
    return { value: `${url.origin}${url.pathname.replace(/\/+$/, '')}` };
  },
};

/** The URL of a token provider. It is not changed, because an issuer has to match exactly. */
export const providerUrl: OptionType<string> = {
  label: 'URL',
  parse: (input) => {
    const expectation = 'an http:// or https:// address without credentials or fragment';
    if (!/^https?:\/\//.test(input) || !URL.canParse(input)) return { expected: expectation };
    const { username, password, hash } = new URL(input);
    return username === '' && password === '' && hash === '' ? { value: input } : { expected: expectation };
  },
};

const anyDatabaseUrl = patternType('URL', /^postgres(?:ql)?:\/\/\S+$/, 'postgres://user:password@host:port/database');

/** A Postgres URL. Its certificate files have to be {@link smallFile}s. */
export const databaseUrl: OptionType<string> = {
  label: anyDatabaseUrl.label,
  parse: (input) => {
    const parsed = anyDatabaseUrl.parse(input);
    const fileProblem = 'value' in parsed ? unusableUrlFile(input) : undefined;
    return fileProblem === undefined
      ? parsed
      : { expected: `certificates in ${smallFileExpected}, and ${fileProblem}` };
  },
};

const packageNamePattern = /^#[A-Za-z0-9_-]+:[A-Za-z][\w.$']*:[A-Za-z][\w$']*$/;
const byPackageId = /^#?[0-9a-f]{64}:/;

/** A template or interface: `#package-name:Module:Entity`. */
export const identifier: OptionType<string> = {
  label: 'identifier',
  parse: (input) => {
    if (byPackageId.test(input)) {
      return {
        expected:
          '#package-name:Module:Entity (a package id names one version only and would miss contracts of every other version)',
      };
    }
    return packageNamePattern.test(input) ? { value: input } : { expected: '#package-name:Module:Entity' };
  },
};

/** An {@link identifier}, or one of `choices`. */
export function identifierOr(choices: readonly string[]): OptionType<string> {
  return {
    label: 'identifier',
    parse: (input) => {
      if (choices.includes(input)) return { value: input };
      const parsed = identifier.parse(input);
      return 'expected' in parsed ? { expected: `${choices.join(', ')}, or ${parsed.expected}` } : parsed;
    },
  };
}

/**
 * Parses a text in the source code. A text that cannot be parsed is a bug, which is found when the module is loaded.
 */
export function constant<T>(type: OptionType<T>, input: string): T {
  const parsed = type.parse(input);
  if ('value' in parsed) return parsed.value;
  throw new TypeError(`the built-in value "${input}" is not ${parsed.expected}`);
}

// Declarations of options. The flag is derived from the environment variable.

export type Section = 'ledger' | 'database' | 'indexer';

export interface Option<T> {
  /** The flag without its dashes, e.g. `batch-updates`. */
  readonly name: string;
  /** The environment variable, e.g. `INDEXER_BATCH_UPDATES`. */
  readonly env: string;
  readonly type: string;
  /** The default in the format that an operator would use; undefined if there is none. */
  readonly default: string | undefined;
  /**
   * Whether the value is secret. `url`: its password is masked. `value`: it is never printed, and not accepted as a
   * flag, because `ps` prints flags.
   */
  readonly secret: 'no' | 'url' | 'value';
  /** Whether the variable with the suffix `_FILE` may name a file that contains the value. */
  readonly fileVariant: boolean;
  readonly doc: string;
  readonly section: Section;
  /** Description of the behavior if the option is unset and has no default. */
  readonly unset: string;
  /** The value if the option is unset. */
  readonly fallback: T;
  check(input: string): ParseResult<T>;
}

interface Spec {
  readonly env: string;
  readonly section: Section;
  readonly doc: string;
  readonly secret?: 'url' | 'value';
  readonly fileVariant?: true;
  readonly unset?: string;
}

/** An option without a default. */
export function optional<T>(spec: Spec, type: OptionType<T>): Option<T | undefined> {
  return { ...commonFields(spec, type), default: undefined, fallback: undefined, check: (input) => type.parse(input) };
}

/** An option with a default. @param defaultText the default in the format that an operator would use */
export function withDefault<T>(spec: Spec, type: OptionType<T>, defaultText: string): Option<T> {
  return {
    ...commonFields(spec, type),
    default: defaultText,
    fallback: constant(type, defaultText),
    check: (input) => type.parse(input),
  };
}

function commonFields(
  spec: Spec,
  type: { readonly label: string },
): Omit<Option<never>, 'default' | 'fallback' | 'check'> {
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

export const ledger = (env: string, doc: string, overrides: Partial<Spec> = {}): Spec => ({
  env,
  doc,
  section: 'ledger',
  ...overrides,
});
export const database = (env: string, doc: string, overrides: Partial<Spec> = {}): Spec => ({
  env,
  doc,
  section: 'database',
  ...overrides,
});
export const indexer = (env: string, doc: string, overrides: Partial<Spec> = {}): Spec => ({
  env,
  doc,
  section: 'indexer',
  ...overrides,
});
