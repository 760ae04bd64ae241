/** `codegen`: generates types for the views of the database and the payloads of contracts. */
import { readFile } from 'node:fs/promises';
import type { TypesInput } from '#codegen/typescript/typescript';
import { loadConfig } from '../../config/config.ts';
import { ExitCode } from '../../errors/exit-code.ts';
import { IndexerError } from '../../errors/indexer-error.ts';
import type { PackageModel } from '../../daml/package-model.ts';
import type { Call, Command } from '../command-line/command.ts';
import type { Args } from '../command-line/parse.ts';
import { usageError } from '../command-line/refusals.ts';
import { withDatabase } from '../database/with-database.ts';
import { bytesOf, saveBytes } from '../ledger/files.ts';

const usage = '--lang ts [--output FILE] [--check] [--dar FILE…]';

export const codegenCommand: Command = {
  name: 'codegen',
  usage,
  summary: 'generate TypeScript types for views, payloads and choices',
  does: [
    'Writes one TypeScript file from the views of the database and the packages of its contracts: `DB` for Kysely, with null',
    'only where it is possible, and the payloads of templates, choices and interface views. DARs of --dar are added; without',
    'a database, only their payloads are generated. The same input gives the same bytes.',
  ],
  operands: [],
  flags: [
    { name: 'lang', value: 'ts', doc: 'language: ts' },
    { name: 'output', value: 'FILE', doc: 'file to write; default standard output' },
    { name: 'check', doc: 'write nothing; exit with 1 and print differences if FILE is outdated' },
    {
      name: 'dar',
      value: 'FILE',
      list: true,
      doc: 'packages that are not in the database, or used without a database',
    },
  ],
  examples: [
    'codegen --lang ts --output src/ledger.ts',
    'codegen --lang ts --output src/ledger.ts --check',
    'codegen --lang ts --dar model-1.2.0.dar > payloads.ts',
  ],
  exits: [
    [1, '--check: the file differs or does not exist'],
    [2, 'wrong arguments'],
    [65, 'a file is not a DAR, or a package in it is damaged or in Daml-LF 1'],
    [69, 'the database cannot be reached'],
    [77, 'the role may not read the tables'],
  ],
  page: 'docs/how-to/integrate/typescript.md',
  /**
   * @throws IndexerError USAGE, CONFIGURATION_INVALID, FILE_UNUSABLE, DAR_UNREADABLE, PACKAGE_UNREADABLE, STORE_ errors
   */
  run: async (call) => {
    const { out: outputFile, check, dars } = requestOf(call.args);
    const { typescriptOf } = await import('#codegen/typescript/typescript');
    const text = typescriptOf({ ...(await inputOf(call, dars)), functions: await typeFunctions() });
    if (check) return await compare(outputFile ?? '', text, call);
    if (outputFile === undefined) call.write(text);
    else await saveBytes(outputFile, Buffer.from(text));
    return ExitCode.stopped;
  },
};

interface CodegenRequest {
  readonly out: string | undefined;
  readonly check: boolean;
  readonly dars: readonly string[];
}

function requestOf(args: Args): CodegenRequest {
  const commandUsageError = (message: string): IndexerError => usageError(message, `ledger-indexer codegen ${usage}`);
  const lang = args.text('lang');
  if (lang !== 'ts') throw commandUsageError(lang === undefined ? 'codegen needs --lang ts' : '--lang takes ts');
  const outputFile = args.text('output');
  const check = args.has('check');
  if (check && outputFile === undefined) throw commandUsageError('--check needs --output FILE, the file to compare');
  return { out: outputFile, check, dars: args.texts('dar') };
}

async function inputOf({ args, env }: Call, dars: readonly string[]): Promise<Omit<TypesInput, 'functions'>> {
  const config = loadConfig(env, args.options);
  const darPackages = dars.length === 0 ? [] : await packagesOf(dars);
  const addedNames = darPackages
    .filter(({ templates, interfaces }) => templates.length + interfaces.length > 0)
    .map(nameOf);
  if (config.database.url === undefined && dars.length > 0) {
    return { packages: darPackages, names: new Set(addedNames), views: undefined };
  }
  const openOptions = {
    command: 'codegen',
    feature: 'codegen',
    remedy: 'set DATABASE_URL to the database of the views, or pass a DAR with --dar',
  } as const;
  return await withDatabase(config, openOptions, async (database) => {
    const { readPackages, readPackageState } = await import('../../store/typed/package-store.ts');
    const { readRelations } = await import('../../store/typed/relations.ts');
    const views = await readRelations(database);
    const { named: namedEntities } = await readPackageState(database);
    const viewPackageNames = views.relations.flatMap(({ subject }) => subject?.packageName ?? []);
    const packages = [...(await readPackages(database)), ...darPackages];
    return { packages, names: new Set([...namedEntities, ...viewPackageNames, ...addedNames]), views };
  });
}

async function typeFunctions(): Promise<TypesInput['functions']> {
  const { byNameAndVersion } = await import('../../daml/package-order.ts');
  return { ...(await import('../../daml/type-walk.ts')), byNameAndVersion };
}

async function packagesOf(files: readonly string[]): Promise<readonly PackageModel[]> {
  const { packagesInDar } = await import('../../daml/dar.ts');
  return (await Promise.all(files.map(async (file) => packagesInDar(await bytesOf(file), file)))).flat();
}

function nameOf({ name }: PackageModel): string {
  return name;
}

/** Prints lines that are missing or unexpected in the file. */
async function compare(file: string, expectedText: string, { print }: Call): Promise<ExitCode> {
  const currentText = await readFile(file, 'utf8').catch((cause: unknown) => {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return undefined;
    throw new IndexerError(`cannot read ${file}`, { code: 'FILE_UNUSABLE', cause });
  });
  if (currentText === expectedText) return ExitCode.stopped;
  if (currentText === undefined) print(`${file} does not exist`);
  else for (const line of differences(file, currentText.split('\n'), expectedText.split('\n'))) print(line);
  return ExitCode.different;
}

const maxDiffLines = 20;

function differences(
  file: string,
  currentLines: readonly string[],
  expectedLines: readonly string[],
): readonly string[] {
  let start = 0;
  while (start < currentLines.length && currentLines[start] === expectedLines[start]) start += 1;
  let end = 0;
  const sharedLength = Math.min(currentLines.length, expectedLines.length) - start;
  while (end < sharedLength && currentLines.at(-1 - end) === expectedLines.at(-1 - end)) end += 1;
  const lines = [
    ...currentLines.slice(start, currentLines.length - end).map((line) => `- ${line}`),
    ...expectedLines.slice(start, expectedLines.length - end).map((line) => `+ ${line}`),
  ];
  const omittedNote = lines.length > maxDiffLines ? [`… and ${String(lines.length - maxDiffLines)} more lines`] : [];
  return [`${file} differs from line ${String(start + 1)}:`, ...lines.slice(0, maxDiffLines), ...omittedNote];
}
