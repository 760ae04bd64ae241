/** Options of the sandbox by short names: `--speed 10` is `--demo-speed 10` where only the sandbox can be meant. */
const short = /^--(no-)?(speed|chaos|seed|stop-at)(?==|$)/;

/** The words with the long names in place of the short ones. @param names short names that are known here */
export function longDemoFlags(argv: readonly string[], names: readonly string[]): string[] {
  return argv.map((word) =>
    word.replace(short, (given: string, no: string | undefined, name: string) =>
      names.includes(name) ? `--${no ?? ''}demo-${name}` : given,
    ),
  );
}
