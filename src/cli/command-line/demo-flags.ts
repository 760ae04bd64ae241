/** Options of the sandbox by short names: `--speed 10` is `--demo-speed 10` where only the sandbox can be meant. */
import type { CommandFlag, Given } from './parse.ts';

/** Those of `demo`, and of `sandbox`. */
export const demoFlags: readonly CommandFlag[] = [
  { name: 'speed', value: 'N', doc: 'the same as --demo-speed' },
  { name: 'chaos', doc: 'the same as --demo-chaos' },
  { name: 'seed', value: 'N', doc: 'the same as --demo-seed' },
];

/** Of `sandbox` only: a demo stops at an offset of its indexer. */
export const stopFlag: CommandFlag = { name: 'stop-at', value: 'N', doc: 'the same as --demo-stop-at' };

/** Words for the configuration, short names replaced by long ones. */
export function optionWords(given: Given): readonly string[] {
  const long = [...demoFlags, stopFlag]
    .filter(({ name }) => given.has(name))
    .map(({ name }) => {
      const value = given.text(name);
      return value === undefined ? `--demo-${name}` : `--demo-${name}=${value}`;
    });
  return [...given.options, ...long];
}
