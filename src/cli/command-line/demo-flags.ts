/** Options of the sandbox by short names: `--speed 10` is `--demo-speed 10` where only the sandbox can be meant. */
import type { OptionFlags } from '../../config/option-sources.ts';
import type { CommandFlag, Given } from './parse.ts';

/** Those of `demo`, and of `sandbox`. */
export const demoFlags: readonly CommandFlag[] = [
  { name: 'speed', value: 'N', doc: 'the same as --demo-speed' },
  { name: 'chaos', doc: 'the same as --demo-chaos' },
  { name: 'seed', value: 'N', doc: 'the same as --demo-seed' },
];

/** Of `sandbox` only: a demo stops at an offset of its indexer. */
export const maxUpdatesFlag: CommandFlag = { name: 'max-updates', value: 'N', doc: 'the same as --demo-max-updates' };

/** Options for the configuration, short names replaced by long ones. */
export function optionsOf(given: Given): OptionFlags {
  const { values, problems } = given.options;
  const long = [...demoFlags, maxUpdatesFlag]
    .filter(({ name }) => given.has(name))
    .map(({ name }) => [`demo-${name}`, given.text(name) ?? 'true'] as const);
  return { problems, values: new Map([...values, ...long]) };
}
