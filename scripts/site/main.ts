/**
 * `npm run docs:site`: builds the pages as a static site in .bench/site/dist. The generator is a separate package that this command
 * installs if it is missing (with `--install` it only does that). The build needs no network. Exit code 69: it cannot be installed.
 *
 * SITE_BASE is the path it is served under (default: /); SITE_VERSIONS names builds of other versions: `0.1=/0.1/,0.2=/0.2/`.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { deadLinks, foreignResources } from './dead-links.ts';
import { groups } from './sidebar.ts';
import { stagedPages } from './staging.ts';

const root = process.cwd();
const source = join(root, 'scripts/site');
const house = join(root, '.bench/site');
const stage = join(house, 'pages');
const out = join(house, 'dist');

const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  readonly version: string;
  readonly homepage: string;
  readonly description: string;
};
const base = process.env['SITE_BASE'] ?? '/';

if (!installed()) process.exitCode = 69;
else if (!process.argv.includes('--install')) process.exitCode = build();

function installed(): boolean {
  mkdirSync(house, { recursive: true });
  const [lock, sourceLock] = [
    join(house, 'package-lock.json'),
    readFileSync(join(source, 'package-lock.json'), 'utf8'),
  ];
  const isHere = existsSync(join(house, 'node_modules/vitepress')) && existsSync(lock);
  if (isHere && readFileSync(lock, 'utf8') === sourceLock) return true;
  cpSync(join(source, 'package.json'), join(house, 'package.json'));
  writeFileSync(lock, sourceLock);
  const { status } = run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund']);
  if (status === 0) return true;
  console.error(
    'site: not built: npm could not install its generator (scripts/site/package.json); check the network and run npm run docs:site again',
  );
  return false;
}

function build(): number {
  putInPlace();
  const { status } = run(process.execPath, [join(house, 'node_modules/vitepress/bin/vitepress.js'), 'build', stage]);
  if (status !== 0) return status ?? 1;
  const dead = deadLinks(out, base);
  for (const link of dead) console.error(`site: dead link: ${link}`);
  const foreign = foreignResources(out);
  for (const resource of foreign) console.error(`site: resource of another host: ${resource}`);
  console.log(`site: ${String(stagedPages(root, manifest.homepage).length)} pages in ${out}`);
  return dead.length + foreign.length === 0 ? 0 : 1;
}

/** Copies pages, pictures and settings to the places where the generator expects them. */
function putInPlace(): void {
  rmSync(stage, { recursive: true, force: true });
  rmSync(out, { recursive: true, force: true });
  for (const { path, source: from, text } of stagedPages(root, manifest.homepage)) {
    const file = join(stage, path);
    mkdirSync(dirname(file), { recursive: true });
    // Address of the link for corrections.
    writeFileSync(file, `---\nedit: ${manifest.homepage}/edit/main/${from}\n---\n\n${text}`);
  }
  cpSync(join(root, 'docs/images'), join(stage, 'public/images'), { recursive: true });
  cpSync(join(source, 'generator'), join(stage, '.vitepress'), { recursive: true });
  const versions = (process.env['SITE_VERSIONS'] ?? '').split(',').flatMap((pair) => {
    const [text = '', link = ''] = pair.split('=');
    return link === '' ? [] : [{ text, link }];
  });
  const { version, homepage, description } = manifest;
  const settings = { version, homepage, description, base, out, versions, groups };
  writeFileSync(join(stage, '.vitepress/settings.json'), JSON.stringify(settings, undefined, 2));
}

function run(program: string, args: readonly string[]): { readonly status: number | null } {
  // Disables third-party telemetry, so that the build sends no network requests.
  const env = { ...process.env, NODE_ENV: 'production' };
  return spawnSync(program, args, { cwd: house, stdio: ['ignore', 'inherit', 'inherit'], env });
}
