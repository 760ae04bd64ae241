/** Short names of sandbox options: in commands that run only the sandbox, `--speed 10` means `--demo-speed 10`. */
import type { OptionFlags } from '../../config/option-sources.ts';
import type { CommandFlag, Args } from './parse.ts';

/** Short flags of `demo` and `sandbox`. */
export const demoFlags: readonly CommandFlag[] = [
  { name: 'speed', value: 'N', doc: 'short form of --demo-speed' },
  { name: 'chaos', doc: 'short form of --demo-chaos' },
  { name: 'seed', value: 'N', doc: 'short form of --demo-seed' },
];

/** Short flag for `sandbox` only. A demo stops at an offset of its indexer instead. */
export const maxUpdatesFlag: CommandFlag = { name: 'max-updates', value: 'N', doc: 'short form of --demo-max-updates' };

/** Configuration options, with short names replaced by long ones. */
export function optionsOf(args: Args): OptionFlags {
  const { values, problems } = args.options;
  const demoArgs = [...demoFlags, maxUpdatesFlag]
    .filter(({ name }) => args.has(name))
    .map(({ name }) => [`demo-${name}`, args.text(name) ?? 'true'] as const);
  return { problems, values: new Map([...values, ...demoArgs]) };
}
