/** `completion bash|zsh|fish`: generates shell completion from the commands and the option table. */
import { optionList } from '../../config/option-table.ts';
import type { Command } from './command.ts';

export const completionCommand: Command = {
  name: 'completion',
  summary: 'print a completion script for bash, zsh or fish',
  does: [
    'bash: source <(ledger-indexer completion bash)',
    'zsh:  ledger-indexer completion zsh > "${fpath[1]}/_ledger-indexer"',
    'fish: ledger-indexer completion fish > ~/.config/fish/completions/ledger-indexer.fish',
  ],
  operands: [{ name: 'SHELL', words: ['bash', 'zsh', 'fish'] }],
  flags: [],
  examples: ['completion bash', 'completion fish'],
  options: false,
  alone: true,
  run: async ({ args, print, commands }) => print(completionScript(args.operands[0] ?? '', commands)),
};

interface CompletionWord {
  readonly word: string;
  readonly doc: string;
}

const optionFlags: readonly CompletionWord[] = optionList
  .filter(({ secret }) => secret !== 'value')
  .map(({ name, doc }) => ({ word: `--${name}`, doc: doc.replaceAll('`', '') }));

/** Option flags with a fixed set of values, e.g. `--log-level`, with the values as text. */
const choices: ReadonlyMap<string, string> = new Map(
  optionList
    .filter(({ type }) => /^[A-Za-z_]+(?:, [A-Za-z_]+)+$/.test(type))
    .map(({ name, type }): [string, string] => [`--${name}`, type.replaceAll(', ', ' ')]),
);

/** The flags of a command, with its own flags first. */
function flagsOf({ flags, options }: Command): readonly CompletionWord[] {
  const ownFlags = flags.map(({ name, doc }) => ({ word: `--${name}`, doc }));
  return [...ownFlags, { word: '--help', doc: 'print help' }, ...(options === false ? [] : optionFlags)];
}

/** Words for the first operand of a command. */
function wordsOf({ name, operands }: Command, commands: readonly Command[]): readonly string[] {
  return name === 'help' ? commands.map((command) => command.name) : (operands[0]?.words ?? []);
}

function texts(words: readonly CompletionWord[]): string {
  return words.map(({ word }) => word).join(' ');
}

function bash(commands: readonly Command[]): string {
  const caseLines = commands.map(
    (command) =>
      `    ${command.name}) words="${wordsOf(command, commands).join(' ')}"; flags="${texts(flagsOf(command))}" ;;`,
  );
  const values = [...choices].map(
    ([flag, candidates]) => `    ${flag}) COMPREPLY=($(compgen -W "${candidates}" -- "$current")); return ;;`,
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
    COMPREPLY=($(compgen -W "${commands.map(({ name }) => name).join(' ')}" -- "$current"))
    return
  fi
  case "\${COMP_WORDS[1]}" in
${caseLines.join('\n')}
    *) flags="--help --version ${texts(optionFlags)}" ;;
  esac
  if [ "\${current:0:1}" = "-" ]; then COMPREPLY=($(compgen -W "$flags" -- "$current"))
  elif [ "$COMP_CWORD" -eq 2 ] && [ -n "$words" ]; then COMPREPLY=($(compgen -W "$words" -- "$current"))
  fi
}
complete -o default -F _ledger_indexer ledger-indexer`;
}

/** Quotes a description, which may contain any character, for zsh and fish. */
function shellQuote(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", `'\\''`)}'`;
}

function zsh(commands: readonly Command[]): string {
  const describeWord = ({ word, doc }: CompletionWord): string => shellQuote(`${word}:${doc.replaceAll(':', ' ')}`);
  const caseLines = commands.map((command) => {
    const quotedWords = wordsOf(command, commands).map((word) => shellQuote(word));
    return `    ${command.name}) flags=(${flagsOf(command).map(describeWord).join(' ')}); words_=(${quotedWords.join(' ')}) ;;`;
  });
  return `#compdef ledger-indexer
# ledger-indexer completion for zsh: save as _ledger-indexer in a folder of $fpath
_ledger_indexer() {
  local -a commands flags words_
  commands=(${commands.map(({ name, summary }) => describeWord({ word: name, doc: summary })).join(' ')})
  if (( CURRENT == 2 )) && [[ "$PREFIX" != -* ]]; then _describe command commands; return; fi
  case "\${words[2]}" in
${caseLines.join('\n')}
    *) flags=(${optionFlags.map(describeWord).join(' ')}) ;;
  esac
  if [[ "$PREFIX" == -* ]]; then _describe option flags
  elif (( CURRENT == 3 )) && (( \${#words_} )); then _describe word words_
  else _files; fi
}
if [ "$funcstack[1]" = "_ledger_indexer" ]; then _ledger_indexer "$@"; else compdef _ledger_indexer ledger-indexer; fi`;
}

function fishScript(commands: readonly Command[]): string {
  const line = (condition: string, rest: string): string => `complete -c ledger-indexer -n '${condition}' ${rest}`;
  const lines = commands.flatMap((command) => {
    const seenCondition = `__fish_seen_subcommand_from ${command.name}`;
    return [
      line('__fish_use_subcommand', `-f -a ${command.name} -d ${shellQuote(command.summary)}`),
      ...wordsOf(command, commands).map((word) => line(seenCondition, `-f -a ${word}`)),
      ...command.flags.map(({ name, value, doc }) =>
        line(seenCondition, `-l ${name}${value === undefined ? '' : ' -r'} -d ${shellQuote(doc)}`),
      ),
    ];
  });
  const options = optionList
    .filter(({ secret }) => secret !== 'value')
    .map(({ name, doc, type }) => {
      const valueChoices = choices.get(`--${name}`);
      const value =
        valueChoices === undefined ? (type === 'boolean' ? '' : ' -r') : ` -x -a ${shellQuote(valueChoices)}`;
      return `complete -c ledger-indexer -l ${name}${value} -d ${shellQuote(doc.replaceAll('`', ''))}`;
    });
  return ['# ledger-indexer completion for fish', ...lines, ...options].join('\n');
}

const shells: ReadonlyMap<string, (commands: readonly Command[]) => string> = new Map([
  ['bash', bash],
  ['zsh', zsh],
  ['fish', fishScript],
]);

/** The script for the given shell; empty for an unknown shell. */
export function completionScript(shell: string, commands: readonly Command[]): string {
  return shells.get(shell)?.(commands) ?? '';
}
