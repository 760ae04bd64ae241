/** Options of the sandbox by short names: `--speed 10` is `--demo-speed 10` where only the sandbox can be meant. */
import type { Given } from './parse.ts';

const short = ['speed', 'chaos', 'seed', 'stop-at'] as const;

/** Words for the configuration, short names replaced by long ones. */
export function optionWords(given: Given): readonly string[] {
  const long = short
    .filter((name) => given.has(name))
    .map((name) => {
      const value = given.text(name);
      return value === undefined ? `--demo-${name}` : `--demo-${name}=${value}`;
    });
  return [...given.options, ...long];
}
