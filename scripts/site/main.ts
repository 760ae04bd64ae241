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
import { llmsText } from './llms.ts';
import { groups } from './sidebar.ts';
import { stagedPages } from './staging.ts';

const root = process.cwd();
const source = join(root, 'scripts/site');
const siteFolder = join(root, '.bench/site');
const pagesFolder = join(siteFolder, 'pages');
const outputFolder = join(siteFolder, 'dist');

const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  readonly version: string;
  readonly homepage: string;
  readonly description: string;
};
const base = process.env['SITE_BASE'] ?? '/';

if (!installed()) process.exitCode = 69;
else if (!process.argv.includes('--install')) process.exitCode = build();

function installed(): boolean {
  mkdirSync(siteFolder, { recursive: true });
  const [lock, sourceLock] = [
    join(siteFolder, 'package-lock.json'),
    readFileSync(join(source, 'package-lock.json'), 'utf8'),
  ];
  const isInstalled = existsSync(join(siteFolder, 'node_modules/vitepress')) && existsSync(lock);
  if (isInstalled && readFileSync(lock, 'utf8') === sourceLock) return true;
  cpSync(join(source, 'package.json'), join(siteFolder, 'package.json'));
  writeFileSync(lock, sourceLock);
  const { status } = run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund']);
  if (status === 0) return true;
  console.error(
    'site: not built: npm could not install its generator (scripts/site/package.json); check the network and run npm run docs:site again',
  );
  return false;
}

function build(): number {
  installSite();
  const { status } = run(process.execPath, [
    join(siteFolder, 'node_modules/vitepress/bin/vitepress.js'),
    'build',
    pagesFolder,
  ]);
  if (status !== 0) return status ?? 1;
  writeForModels();
  const brokenLinks = deadLinks(outputFolder, base);
  for (const link of brokenLinks) console.error(`site: dead link: ${link}`);
  const foreign = foreignResources(outputFolder);
  for (const resource of foreign) console.error(`site: resource of another host: ${resource}`);
  console.log(`site: ${String(stagedPages(root, manifest.homepage).length)} pages in ${outputFolder}`);
  return brokenLinks.length + foreign.length === 0 ? 0 : 1;
}

/** Writes llms.txt, and the Markdown to which it links, into the built site. */
function writeForModels(): void {
  const { homepage, description: summary } = manifest;
  const pages = stagedPages(root, homepage);
  for (const { path, text } of pages) writeFileSync(join(outputFolder, path), text);
  writeFileSync(join(outputFolder, 'llms.txt'), llmsText({ title: 'ledger-indexer', summary, base, groups, pages }));
}

/** Copies pages, pictures and settings to the places where the generator expects them. */
function installSite(): void {
  rmSync(pagesFolder, { recursive: true, force: true });
  rmSync(outputFolder, { recursive: true, force: true });
  for (const { path, source: from, text } of stagedPages(root, manifest.homepage)) {
    const file = join(pagesFolder, path);
    mkdirSync(dirname(file), { recursive: true });
    // Address of the link for corrections.
    writeFileSync(file, `---\nedit: ${manifest.homepage}/edit/main/${from}\n---\n\n${text}`);
  }
  cpSync(join(root, 'docs/images'), join(pagesFolder, 'public/images'), { recursive: true });
  cpSync(join(source, 'generator'), join(pagesFolder, '.vitepress'), { recursive: true });
  const versions = (process.env['SITE_VERSIONS'] ?? '').split(',').flatMap((pair) => {
    const [text = '', link = ''] = pair.split('=');
    return link === '' ? [] : [{ text, link }];
  });
  const { version, homepage, description } = manifest;
  const settings = { version, homepage, description, base, out: outputFolder, versions, groups };
  writeFileSync(join(pagesFolder, '.vitepress/settings.json'), JSON.stringify(settings, undefined, 2));
}

function run(program: string, args: readonly string[]): { readonly status: number | null } {
  // Disables third-party telemetry, so that the build sends no network requests.
  const env = { ...process.env, NODE_ENV: 'production' };
  return spawnSync(program, args, { cwd: siteFolder, stdio: ['ignore', 'inherit', 'inherit'], env });
}
