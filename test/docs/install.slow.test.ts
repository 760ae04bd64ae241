/**
 * No page instructs users to install or run a package by a name that anyone could register. The installed package
 * contains every file that the program names.
 */
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { commands } from '../../src/cli/commands.ts';
import { catalogue } from '../../src/errors/catalogue.ts';
import { pages, root } from './pages.ts';

/** A line of a file, with its position for failure messages. */
interface Line {
  readonly where: string;
  readonly text: string;
}

function linesOf(path: string): readonly Line[] {
  const lines = readFileSync(join(root, path), 'utf8').split('\n');
  return lines.map((text, index) => ({ where: `${path}:${String(index + 1)}`, text }));
}

function filesBelow(folder: string, name: RegExp): readonly string[] {
  const folderFiles = readdirSync(join(root, folder), { recursive: true, withFileTypes: true });
  const files = folderFiles.filter((entry) => entry.isFile() && name.test(entry.name));
  return files.map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1));
}

const sources = [
  ...filesBelow('src', /\.(?:ts|js|html)$/),
  // The build of the MCP server copies pages, and its dependencies are in its own folder.
  ...filesBelow('packages', /(?<!\/dist\/.*)\.(?:ts|md)$/).filter(
    (path) => !/node_modules|^packages\/mcp\/docs/.test(path),
  ),
];
const deployFiles = [
  ...filesBelow('docs/deploy', /./),
  ...filesBelow('grafana', /\.ya?ml$/),
  'docker-compose.yml',
  'Dockerfile',
];
const checkedFiles = [...pages().map(({ path }) => path), ...sources, ...deployFiles, ...filesBelow('scripts', /./)];

/** Commands that download packages from a registry, with their arguments. */
const fetches =
  /\b(?:npm (?:i|install|add|exec|x|ci)|npx|yarn (?:add|dlx)|pnpm (?:add|dlx|i|install)|bunx?(?: add| x)?)\b([^`'"|&;]*)/g;

/** Words of a line that a registry would resolve to a package with our name. */
function namesIn(line: string): readonly string[] {
  return [...line.matchAll(fetches)].flatMap(([command, args = '']) => {
    // This command uses only an installed package.
    if (/^npx (?:--no|--no-install) /.test(command)) return [];
    return args
      .split(/\s+/)
      .filter((commandName) =>
        /^(?:ledger-indexer(?:-sandbox|-postgres|-lake|-mcp)?|ledger-sandbox)(?:@|$)/.test(commandName),
      );
  });
}

it('pages, sources and examples never install or run the package by its name', () => {
  const unknownMentions = [...new Set(checkedFiles)].flatMap(linesOf).filter(({ text }) => namesIn(text).length > 0);
  expect(unknownMentions).toEqual([]);
});

it.each([
  ['npm install --save-dev ledger-indexer', true],
  ['npm i -g ledger-indexer@0.1.0', true],
  ['run `npx ledger-indexer query "…"` there', true],
  ['npm exec --yes -- ledger-indexer status', true],
  ['npx --no-install ledger-indexer status', false],
  ['npm install ledger-indexer-sandbox', true],
  ['npm install ledger-indexer-lake', true],
  ['npx ledger-sandbox --port 0', true],
  ['npm install --save-dev ./ledger-indexer/ledger-indexer*-0.1.0.tgz', false],
  ['npm install github:ledger-indexer/ledger-indexer', false],
])('the search for package names in %j returns %s', (line, recognizedText) => {
  expect(namesIn(line).length > 0).toBe(recognizedText);
});

it('package.json contains the address of the repository and of its issues', () => {
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Readonly<Record<string, unknown>>;
  const home = 'https://github.com/ledger-indexer/ledger-indexer';
  expect(manifest).toMatchObject({ homepage: home, bugs: `${home}/issues` });
  expect(manifest['repository']).toEqual({ type: 'git', url: `git+${home}.git` });
  expect(manifest['keywords']).toContain('postgres');
});

/** Lines of the program without comments, whose texts may reach a user. */
const proseLines = sources.flatMap(linesOf).filter(({ text }) => !/^\s*(?:\/\/|\/?\*|<!--)/.test(text));

it('npm pack contains all files that the program names', () => {
  const { status, stdout, stderr } = spawnSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
    cwd: root,
    encoding: 'utf8',
    timeout: 60_000,
  });
  expect(status, stderr).toBe(0);
  const [packResult] = JSON.parse(stdout) as readonly [{ readonly files: readonly { readonly path: string }[] }];
  const packedPaths = new Set(packResult.files.map(({ path }) => path));
  const commandMentions = proseLines.flatMap(({ where: location, text }) => {
    const paths = [...text.matchAll(/(?<![\w./-])(?:docs|grafana|migrations|scripts|test)\/[\w/-]+\.\w+/g)];
    return paths.map(([path]) => ({ where: location, path }));
  });
  expect(commandMentions.length).toBeGreaterThan(5);
  expect(commandMentions.filter(({ path }) => !packedPaths.has(path))).toEqual([]);
}, 90_000);

it('remedies name only existing commands', () => {
  const commandNames = new Set(commands.map(({ name }) => name));
  const catalogueMentions = Object.entries(catalogue).map(([code, { remedy = '' }]) => ({ path: code, text: remedy }));
  const sourceMentions = sources.flatMap((path) => {
    // A remedy may have several lines.
    const remedies = readFileSync(join(root, path), 'utf8').matchAll(
      /\bremedy(?::|\(|[A-Z]\w* =)[^;]*?(?=;|\n\s*\w+:)/g,
    );
    return [...remedies].map(([text]) => ({ path, text }));
  });
  const commandMentions = [...catalogueMentions, ...sourceMentions].flatMap(({ path, text }) =>
    [...text.matchAll(/(?<!\ba )\bledger-indexer ([a-z][a-z-]+)/g)].map(([, commandName = '']) => ({
      path,
      word: commandName,
    })),
  );
  expect(commandMentions.length).toBeGreaterThan(10);
  expect(commandMentions.filter(({ word: commandName }) => !commandNames.has(commandName))).toEqual([]);
});
