/** `completion bash|zsh|fish`: what a shell completes, made from the tables of commands and of options. */
import { optionList } from '../../config/option-table.ts';
import { parse } from './parse.ts';
import { commandNamed, commandTable } from '../table/command-table.ts';
import type { CommandInfo } from '../table/command-info.ts';

interface Word {
  readonly word: string;
  readonly doc: string;
}

const optionFlags: readonly Word[] = optionList
  .filter(({ secret }) => secret !== 'value')
  .map(({ name, doc }) => ({ word: `--${name}`, doc: doc.replaceAll('`', '') }));

/** Options with a fixed set of values, e.g. `--log-level`. */
const choices: ReadonlyMap<string, string> = new Map(
  optionList
    .filter(({ type }) => /^[A-Za-z_]+(?:, [A-Za-z_]+)+$/.test(type))
    .map(({ name, type }): [string, string] => [`--${name}`, type.replaceAll(', ', ' ')]),
);

/** The flags a command takes, its own first. */
function flagsOf({ flags, options }: CommandInfo): readonly Word[] {
  const own = flags.map(({ name, doc }) => ({ word: `--${name}`, doc }));
  return [...own, { word: '--help', doc: 'what the command does' }, ...(options === false ? [] : optionFlags)];
}

function wordsOf(info: CommandInfo): readonly string[] {
  return info.name === 'help' ? commandTable.map(({ name }) => name) : (info.operands[0]?.words ?? []);
}

function texts(words: readonly Word[]): string {
  return words.map(({ word }) => word).join(' ');
}

function bash(): string {
  const cases = commandTable.map(
    (info) => `    ${info.name}) words="${wordsOf(info).join(' ')}"; flags="${texts(flagsOf(info))}" ;;`,
  );
  const values = [...choices].map(
    ([flag, words]) => `    ${flag}) COMPREPLY=($(compgen -W "${words}" -- "$current")); return ;;`,
  );
  const files = optionFlags.filter(({ word }) => /-(?:file|dir)$/.test(word)).map(({ word }) => word);
  return `# ledger-indexer completion for bash: source <(ledger-indexer completion bash)
_ledger_indexer() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="" words="" flags=""
  COMPREPLY=()
  if [ "$COMP_CWORD" -gt 0 ]; then previous="\${COMP_WORDS[COMP_CWORD-1]}"; fi
  case "$previous" in
${values.join('\n')}
    ${files.join('|')}) COMPREPLY=($(compgen -f -- "$current")); return ;;
  esac
  if [ "$COMP_CWORD" -eq 1 ] && [ "\${current:0:1}" != "-" ]; then
    COMPREPLY=($(compgen -W "${commandTable.map(({ name }) => name).join(' ')}" -- "$current"))
    return
  fi
  case "\${COMP_WORDS[1]}" in
${cases.join('\n')}
    *) flags="--help --version ${texts(optionFlags)}" ;;
  esac
  if [ "\${current:0:1}" = "-" ]; then COMPREPLY=($(compgen -W "$flags" -- "$current"))
  elif [ "$COMP_CWORD" -eq 2 ] && [ -n "$words" ]; then COMPREPLY=($(compgen -W "$words" -- "$current"))
  fi
}
complete -o default -F _ledger_indexer ledger-indexer`;
}

/** In single quotes of zsh and fish, where a description may hold anything. */
function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", `'\\''`)}'`;
}

function zsh(): string {
  const described = ({ word, doc }: Word): string => quoted(`${word}:${doc.replaceAll(':', ' ')}`);
  const cases = commandTable.map((info) => {
    const words = wordsOf(info).map((word) => quoted(word));
    return `    ${info.name}) flags=(${flagsOf(info).map(described).join(' ')}); words_=(${words.join(' ')}) ;;`;
  });
  return `#compdef ledger-indexer
# ledger-indexer completion for zsh: save as _ledger-indexer in a folder of $fpath
_ledger_indexer() {
  local -a commands flags words_
  commands=(${commandTable.map(({ name, summary }) => described({ word: name, doc: summary })).join(' ')})
  if (( CURRENT == 2 )) && [[ "$PREFIX" != -* ]]; then _describe command commands; return; fi
  case "\${words[2]}" in
${cases.join('\n')}
    *) flags=(${optionFlags.map(described).join(' ')}) ;;
  esac
  if [[ "$PREFIX" == -* ]]; then _describe option flags
  elif (( CURRENT == 3 )) && (( \${#words_} )); then _describe word words_
  else _files; fi
}
if [ "$funcstack[1]" = "_ledger_indexer" ]; then _ledger_indexer "$@"; else compdef _ledger_indexer ledger-indexer; fi`;
}

function fish(): string {
  const line = (condition: string, rest: string): string => `complete -c ledger-indexer -n '${condition}' ${rest}`;
  const lines = commandTable.flatMap((info) => {
    const seen = `__fish_seen_subcommand_from ${info.name}`;
    return [
      line('__fish_use_subcommand', `-f -a ${info.name} -d ${quoted(info.summary)}`),
      ...wordsOf(info).map((word) => line(seen, `-f -a ${word}`)),
      ...info.flags.map(({ name, value, doc }) =>
        line(seen, `-l ${name}${value === undefined ? '' : ' -r'} -d ${quoted(doc)}`),
      ),
    ];
  });
  const options = optionList
    .filter(({ secret }) => secret !== 'value')
    .map(({ name, doc, type }) => {
      const words = choices.get(`--${name}`);
      const value = words === undefined ? (type === 'boolean' ? '' : ' -r') : ` -x -a ${quoted(words)}`;
      return `complete -c ledger-indexer -l ${name}${value} -d ${quoted(doc.replaceAll('`', ''))}`;
    });
  return ['# ledger-indexer completion for fish', ...lines, ...options].join('\n');
}

const shells: ReadonlyMap<string, () => string> = new Map([
  ['bash', bash],
  ['zsh', zsh],
  ['fish', fish],
]);

/** The script for the shell named. @throws IndexerError USAGE */
export function completionScript(argv: readonly string[]): string {
  const [shell = ''] = parse(commandNamed('completion'), argv).operands;
  return shells.get(shell)?.() ?? '';
}
