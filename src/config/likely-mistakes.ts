/**
 * Hints for common mistakes in the configuration, recognized by the text of a value. A hint never repeats the text,
 * which may contain a secret.
 */

interface LikelyMistake {
  readonly option: RegExp;
  readonly text: RegExp;
  /** Text after "…, got X: ". */
  readonly meant: string;
}

/** In order of precedence: the first match is reported. */
const likelyMistakes: readonly LikelyMistake[] = [
  { option: /./, text: /^(["']).*\1$/s, meant: 'remove the quotes; an env file does not need them' },
  { option: /./, text: /^[\s,]*,[\s,]*$/, meant: 'the variables that the list is composed of may be unset' },
  { option: /^LEDGER_URL$/, text: /^postgres(?:ql)?:/i, meant: 'a Postgres address belongs to DATABASE_URL' },
  {
    option: /^LEDGER_URL$/,
    text: /^wss?:/i,
    meant: 'write http:// or https://, streams use the same address',
  },
  {
    option: /^LEDGER_URL$/,
    text: /^https?:\/\/[^/]*@/i,
    meant: 'put the token into LEDGER_TOKEN_FILE, not into the address',
  },
  { option: /^LEDGER_URL$/, text: /^[\w.-]+(?::\d+)?(?:\/|$)/, meant: 'write http:// or https:// in front' },
  { option: /DATABASE_URL$/, text: /^https?:/i, meant: 'an HTTP address belongs to LEDGER_URL' },
  {
    option: /DATABASE_URL$/,
    text: /^jdbc:/i,
    meant: 'remove jdbc: and write user and password in front of the host',
  },
  { option: /DATABASE_URL$/, text: /^\w+\s*=/, meant: 'write the settings as an address (postgres://…)' },
  { option: /DATABASE_URL$/, text: /^[\w.-]+(?::\d+)?\//, meant: 'write postgres:// in front' },
  { option: /^LEDGER_TOKEN$/, text: /^bearer\s/i, meant: 'remove "Bearer"' },
  { option: /^LEDGER_TOKEN$/, text: /^[./~]/, meant: 'the path of a file belongs to LEDGER_TOKEN_FILE' },
  {
    option: /^LEDGER_PARTIES$/,
    text: /./,
    meant: 'a hint does not identify a party; run `ledger-indexer ledger parties` to list the complete ids',
  },
  {
    option: /^LEDGER_(?:TEMPLATES|INTERFACES)$/,
    text: /^[\w-]+:[\w.]+:\w+/,
    meant: 'write # in front of the package name',
  },
  {
    option: /^LEDGER_(?:TEMPLATES|INTERFACES)$/,
    text: /./,
    meant: 'the package name is missing; run `ledger-indexer ledger packages` to list the packages',
  },
  { option: /^POSTGRES_SCHEMA$/, text: /^pg_/, meant: 'Postgres reserves names that begin with pg_' },
  { option: /^POSTGRES_SCHEMA$/, text: /[A-Z]/, meant: 'write it in lower case' },
];

/**
 * The hint for a value, as the end of a sentence; undefined if no common mistake is recognized.
 * @param env name of the variable
 */
export function mistakeHint(env: string, text: string): string | undefined {
  return likelyMistakes.find((candidate) => candidate.option.test(env) && candidate.text.test(text))?.meant;
}
