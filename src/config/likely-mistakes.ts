/**
 * Mistakes of a first evening, known by the text of a value: what was meant where something else was written. None of these
 * sentences repeats the text, which may hold a secret.
 */

interface Mistake {
  readonly option: RegExp;
  readonly text: RegExp;
  /** Completes "…, got X: ". */
  readonly meant: string;
}

/** The first that fits is shown. */
const mistakes: readonly Mistake[] = [
  { option: /./, text: /^(["']).*\1$/s, meant: 'take the quotes away, which an env file does not need' },
  { option: /./, text: /^[\s,]*,[\s,]*$/, meant: 'the variables that the list is put together from may be unset' },
  { option: /^LEDGER_URL$/, text: /^postgres(?:ql)?:/i, meant: 'an address of Postgres belongs to DATABASE_URL' },
  {
    option: /^LEDGER_URL$/,
    text: /^wss?:/i,
    meant: 'write http:// or https://, streams are opened at the same address',
  },
  {
    option: /^LEDGER_URL$/,
    text: /^https?:\/\/[^/]*@/i,
    meant: 'a token belongs to LEDGER_TOKEN_FILE, not into the address',
  },
  { option: /^LEDGER_URL$/, text: /^[\w.-]+(?::\d+)?(?:\/|$)/, meant: 'write http:// or https:// in front' },
  { option: /DATABASE_URL$/, text: /^https?:/i, meant: 'an address of HTTP belongs to LEDGER_URL' },
  {
    option: /DATABASE_URL$/,
    text: /^jdbc:/i,
    meant: 'take jdbc: away, and write user and password in front of the host',
  },
  { option: /DATABASE_URL$/, text: /^\w+\s*=/, meant: 'write the settings as an address' },
  { option: /DATABASE_URL$/, text: /^[\w.-]+(?::\d+)?\//, meant: 'write postgres:// in front' },
  { option: /^LEDGER_TOKEN$/, text: /^bearer\s/i, meant: 'take "Bearer" away' },
  { option: /^LEDGER_TOKEN$/, text: /^[./~]/, meant: 'the path of a file belongs to LEDGER_TOKEN_FILE' },
  {
    option: /^LEDGER_PARTIES$/,
    text: /./,
    meant: 'a hint alone names no party; `ledger-indexer ledger parties` lists the whole ids',
  },
  {
    option: /^LEDGER_(?:TEMPLATES|INTERFACES)$/,
    text: /^[\w-]+:[\w.]+:\w+/,
    meant: 'write # in front of the name of the package',
  },
  {
    option: /^LEDGER_(?:TEMPLATES|INTERFACES)$/,
    text: /./,
    meant: 'the name of the package is missing; `ledger-indexer ledger packages` lists them',
  },
  { option: /^POSTGRES_SCHEMA$/, text: /^pg_/, meant: 'Postgres keeps names that begin with pg_ for itself' },
  { option: /^POSTGRES_SCHEMA$/, text: /[A-Z]/, meant: 'write it in lower case' },
];

/** What was meant, as the end of a sentence; undefined for a mistake that is none of these. @param env the variable */
export function meantBy(env: string, text: string): string | undefined {
  return mistakes.find((mistake) => mistake.option.test(env) && mistake.text.test(text))?.meant;
}
