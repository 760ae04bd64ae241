/**
 * Finds the value of an option. A flag takes precedence over a secret file, a secret file over the environment, and the
 * environment over the default. Collects all problems instead of stopping at the first one. Prints values with their
 * secrets masked.
 */
import { IndexerError } from '../errors/indexer-error.ts';
import { suggestionText, nearestWithinTwo } from '../errors/nearest-names.ts';
import { holdsPrivateKey, readSmallFileSync, smallFileExpected, unusableKind, unreadableReason } from './small-file.ts';
import { mistakeHint } from './likely-mistakes.ts';
import { optionList } from './option-table.ts';
import type { Option } from './option.ts';
import { maskAddress, maskUrl } from './url-secrets.ts';

export type Origin = 'flag' | 'file' | 'environment' | 'default';

interface OptionValue {
  readonly text: string;
  readonly origin: Origin;
}

export interface OptionSource {
  /** The value. If it is invalid, reports a problem and returns the fallback, so that reading can continue. */
  readonly read: <T>(option: Option<T>) => T;
  /** The file that the value comes from; undefined if it does not come from a file. */
  readonly fileOf: (option: Option<unknown>) => string | undefined;
  /** The value as the operator wrote it, with secrets masked, and its origin. */
  readonly describe: (option: Option<unknown>) => { readonly value: string; readonly origin: Origin };
  /** Reports a problem that does not concern a single value, e.g. two options that exclude each other. */
  readonly refuse: (problem: string) => void;
  /** @throws IndexerError CONFIGURATION_INVALID if any problem was reported */
  readonly refuseProblems: () => void;
}

/** The options of a command line. */
export interface OptionFlags {
  /** Values by option name. */
  readonly values: ReadonlyMap<string, string>;
  /** Problems with options that are not allowed on a command line, one line each. */
  readonly problems: readonly string[];
}

/** A command line without options. */
export const emptyFlags: OptionFlags = { values: new Map(), problems: [] };

/** Reads every flag and variable once. Throws nothing before `refuseProblems`. */
export function readOptions(env: NodeJS.ProcessEnv, flags: OptionFlags): OptionSource {
  // A set, because an option may be read several times and would report its problem each time.
  const problems = new Set([...flags.problems, ...unknownVariables(env)]);
  const settings = new Map<string, OptionValue>();
  for (const option of optionList) {
    const setting = findSetting(option, flags.values, env, problems);
    if (setting !== undefined) settings.set(option.name, setting);
  }
  return {
    read: (option) => {
      const setting = settings.get(option.name);
      if (setting === undefined) return option.fallback;
      const parsed = option.check(setting.text);
      if ('value' in parsed) return parsed.value;
      const hint = mistakeHint(option.env, setting.text);
      problems.add(
        `${sourceName(option, setting.origin)}: expected ${parsed.expected}, got ${quoteValue(option, setting.text)}` +
          (hint === undefined ? '' : `: ${hint}`),
      );
      return option.fallback;
    },
    fileOf: (option) => (settings.get(option.name)?.origin === 'file' ? env[`${option.env}_FILE`] : undefined),
    describe: (option) => {
      const setting = settings.get(option.name) ?? { text: option.default ?? '', origin: 'default' };
      return {
        value: setting.text === '' ? `(${option.unset})` : masked(option, setting.text),
        origin: setting.origin,
      };
    },
    refuse: (problem) => {
      problems.add(problem);
    },
    refuseProblems: () => {
      if (problems.size > 0) throw invalidConfigurationError([...problems]);
    },
  };
}

function findSetting(
  option: Option<unknown>,
  flags: ReadonlyMap<string, string>,
  env: NodeJS.ProcessEnv,
  problems: Set<string>,
): OptionValue | undefined {
  const flag = flags.get(option.name);
  if (flag !== undefined) return { text: flag, origin: 'flag' };
  const file = option.fileVariant ? env[`${option.env}_FILE`] : undefined;
  if (file !== undefined && file !== '') return readSecret(`${option.env}_FILE`, file, problems);
  const text = env[option.env]?.trim();
  // An empty variable is treated as an unset one, because compose files pass `${NAME:-}` for unset variables.
  return text === undefined || text === '' ? undefined : { text, origin: 'environment' };
}

function readSecret(name: string, file: string, problems: Set<string>): OptionValue | undefined {
  try {
    return { text: readSmallFileSync(file).trim(), origin: 'file' };
  } catch (error) {
    const expectation = unusableKind(file) === undefined ? 'a readable file' : smallFileExpected;
    problems.add(`${name}: expected ${expectation}, got "${file}" (${unreadableReason(error)})`);
    return undefined;
  }
}

const variableNames = new Set(
  optionList.flatMap((option) => (option.fileVariant ? [option.env, `${option.env}_FILE`] : [option.env])),
);
/** Variables of docker-compose.yml and of tests. They may be set in the shell that runs the program. */
const ignoredVariables = new Set([
  'LEDGER_DARS',
  'INDEXER_PORT',
  'INDEXER_STOP_GRACE',
  'LEDGER_GRAPHQL_IMAGE',
  'LEDGER_INDEXER_IMAGE',
  'LEDGER_SANDBOX_IMAGE',
  'LEDGER_SANDBOX_PORT',
]);
/** Variables that Kubernetes sets in every pod for each service, including services named `ledger-…` or `indexer`. */
const serviceLink = /_(?:SERVICE_HOST|SERVICE_PORT(?:_\w+)?|PORT_\d+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?)$/;

function unknownVariables(env: NodeJS.ProcessEnv): string[] {
  const problems: string[] = [];
  for (const [name, value] of Object.entries(env)) {
    if (name.startsWith('POSTGRES_') && !variableNames.has(name)) {
      // Other programs, e.g. Postgres images, also read variables with such names. So only a misspelling of a known
      // variable is rejected.
      const suggestion = nearestWithinTwo(name, variableNames);
      if (suggestion !== undefined) problems.push(`${name}: no such variable; did you mean ${suggestion}?`);
    }
    if (!/^(?:LEDGER|INDEXER)_/.test(name) || variableNames.has(name) || ignoredVariables.has(name)) continue;
    if (serviceLink.test(name) || (name.endsWith('_PORT') && /^(?:tcp|udp|sctp):\/\//.test(value ?? ''))) continue;
    problems.push(`${name}: no such variable${suggestVariable(name)}`);
  }
  return problems;
}

/** The variable name without an additional prefix, if that is a known variable. */
function suggestVariable(name: string): string {
  const shortName = name.replace(/^(?:LEDGER|INDEXER)_/, '');
  return variableNames.has(shortName) ? `; did you mean ${shortName}?` : suggestionText(name, variableNames);
}

function sourceName(option: Option<unknown>, origin: Origin): string {
  if (origin === 'flag') return `--${option.name}`;
  return origin === 'file' ? `${option.env}_FILE` : option.env;
}

function masked(option: Option<unknown>, text: string): string {
  if (option.secret === 'value') return '[set]';
  if (option.secret === 'url') return maskUrl(text);
  return option.type === 'URL' ? maskAddress(text) : text;
}

function quoteValue(option: Option<unknown>, text: string): string {
  if (option.secret !== 'no' || holdsPrivateKey(text))
    return 'a different value (not printed, it may contain a secret)';
  // An address with credentials or a query is rejected. The message of the rejection must not write them to a log.
  const visibleText = option.type === 'URL' ? maskAddress(text) : text.replaceAll(/:\/\/\S*@/g, '://***@');
  return `"${visibleText.length > 200 ? `${visibleText.slice(0, 200)}…` : visibleText}"`;
}

function invalidConfigurationError(problems: readonly string[]): IndexerError {
  const heading =
    problems.length === 1 ? 'the configuration is invalid' : `the configuration has ${problems.length} problems`;
  return new IndexerError([`${heading}:`, ...problems.map((problem) => `  ${problem}`)].join('\n'), {
    code: 'CONFIGURATION_INVALID',
    remedy: 'correct the listed values; `ledger-indexer config --markdown` lists every option',
    facts: { problems: problems.length },
  });
}
