// Sets the version of the project in every file that contains it: `npm run set-version -- 1.2.0`. All packages, the chart
// and the examples of a release have the same version. `--list` prints the version of each file instead.
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const folder = dirname(fileURLToPath(import.meta.url));
const root = process.env.PROJECT_ROOT ?? dirname(dirname(folder));
const { manifests, lockFiles, mentions, patterns } = JSON.parse(
  readFileSync(join(folder, 'version-files.json'), 'utf8'),
);
const versionPattern = String.raw`\d+\.\d+\.\d+(?:-(?:alpha|beta|rc)\.\d+)?`;

const [argument = ''] = process.argv.slice(2);
if (argument === '--list') process.stdout.write(`${versions().join('\n')}\n`);
else if (new RegExp(`^${versionPattern}$`).test(argument)) setVersion(argument);
else {
  process.stderr.write(`set-version: expected a version such as 1.2.0, got "${argument}"\n`);
  process.exitCode = 2;
}

function setVersion(version) {
  for (const path of manifests) editJson(path, (manifest) => (manifest.version = version));
  for (const [path, entries] of Object.entries(lockFiles)) {
    editJson(path, (lock) => {
      lock.version = version;
      for (const entry of entries) lock.packages[entry].version = version;
    });
  }
  for (const [path, kind] of Object.entries(mentions)) {
    const text = read(path).replace(patternOf(kind), (_found, before) => `${before}${version}`);
    writeFileSync(join(root, path), text);
  }
}

/** Each version in the files, after its path. */
function versions() {
  const lines = manifests.map((path) => `${path} ${JSON.parse(read(path)).version}`);
  for (const [path, entries] of Object.entries(lockFiles)) {
    const { version, packages } = JSON.parse(read(path));
    lines.push(...[version, ...entries.map((entry) => packages[entry].version)].map((found) => `${path} ${found}`));
  }
  for (const [path, kind] of Object.entries(mentions)) {
    const found = [...read(path).matchAll(patternOf(kind))];
    lines.push(...found.map(([text, before]) => `${path} ${text.slice(before.length)}`));
  }
  return lines;
}

function patternOf(kind) {
  return new RegExp(patterns[kind].replace('VERSION', versionPattern), 'g');
}

function read(path) {
  return readFileSync(join(root, path), 'utf8');
}

/** Rewrites a file in the format in which npm writes it. */
function editJson(path, edit) {
  const content = JSON.parse(read(path));
  edit(content);
  writeFileSync(join(root, path), `${JSON.stringify(content, undefined, 2)}\n`);
}
