/**
 * The folder of the embedded parts. A folder that other users may have filled is rejected with the command that fixes
 * it. Volumes are accepted.
 */
import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, lchownSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { prepareDataDir } from '../../../src/cli/demo/data-dir.ts';
import type { IndexerError } from '../../../src/errors/indexer-error.ts';
import { main, program } from '../../cli/program.ts';
import { needs, rootSkipReason } from '../../support/skips/needs.ts';

const otherUid = 12_345;
/** Undefined if volumes can be mounted in a separate mount namespace, where they do not affect the machine. */
const mountSkipReason =
  spawnSync('unshare', ['-m', 'true']).status === 0 ? undefined : 'needs the right to mount (unshare -m)';

let parent: string;
let folder: string;
beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), 'data-folder-'));
  folder = join(parent, 'data');
});
afterEach(() => {
  rmSync(parent, { recursive: true });
});

function createFolder(mode: number): string {
  mkdirSync(folder);
  chmodSync(folder, mode);
  return folder;
}

function refusal(): IndexerError | undefined {
  try {
    prepareDataDir(folder);
    return undefined;
  } catch (error) {
    return error as IndexerError;
  }
}

describe('data folder', () => {
  it('is rejected with exit code 78 and a chmod command if every user can write to it', async () => {
    createFolder(0o777);
    const env = { INDEXER_DATA_DIR: folder, INDEXER_HTTP_PORT: '0', INDEXER_STOP_AT: '1' };
    const { code, stdout, stderr } = await program(['demo'], env);
    expect(stdout + stderr).toContain('DATA_DIR_UNUSABLE');
    const command = `chmod o-w ${folder}`;
    expect(stdout + stderr).toContain(`run: ${command}`);
    expect(code).toBe(78);
    spawnSync('sh', ['-c', command]);
    expect(refusal()).toBeUndefined();
  });

  it('is rejected with a valid shell command if its path contains spaces and quotes', () => {
    folder = join(parent, "it's mine");
    createFolder(0o757);
    const [, command = ''] = /run: (.*?);/.exec(refusal()?.remedy ?? '') ?? [];
    expect(spawnSync('sh', ['-c', command]).status).toBe(0);
    expect(refusal()).toBeUndefined();
  });

  it.each([
    ['if only its owner can access it', 0o700],
    ['if a group can write to it, as with a Kubernetes volume', 0o2775],
    ['if it is world-writable and sticky', 0o1777],
  ])('is accepted %s', (_caseName, mode) => {
    createFolder(mode);
    expect(refusal()).toBeUndefined();
  });

  it('is created without write access for other users, for any umask', () => {
    const umaskBefore = process.umask(0);
    try {
      prepareDataDir(join(folder, 'below'));
    } finally {
      process.umask(umaskBefore);
    }
    for (const path of [folder, join(folder, 'below')]) expect(statSync(path).mode & 0o022).toBe(0);
  });

  it('is rejected if it belongs to another user', needs(rootSkipReason), () => {
    chownSync(createFolder(0o755), otherUid, otherUid);
    expect(refusal()).toMatchObject({
      code: 'DATA_DIR_UNUSABLE',
      message: expect.stringContaining(`belongs to user ${String(otherUid)}`) as string,
      remedy: expect.stringContaining(`chown 0 ${folder}`) as string,
    });
  });
});

describe('symbolic link to the data folder', () => {
  beforeEach(() => {
    mkdirSync(join(parent, 'target'));
    symlinkSync('target', folder);
  });

  it('is followed if it belongs to the same user', () => {
    expect(refusal()).toBeUndefined();
  });

  it('is rejected, with its target in the remedy, if it belongs to another user', needs(rootSkipReason), () => {
    lchownSync(folder, otherUid, otherUid);
    expect(refusal()).toMatchObject({
      code: 'DATA_DIR_UNUSABLE',
      remedy: expect.stringContaining(`export INDEXER_DATA_DIR=${join(parent, 'target')}`) as string,
    });
  });
});

it('a world-writable data volume of another user is accepted', needs(mountSkipReason), () => {
  createFolder(0o755);
  const mount = `mount -t tmpfs -o mode=0777,uid=${String(otherUid)} none '${folder}'`;
  const module = new URL('cli/demo/data-dir.js', pathToFileURL(main)).href;
  const run = `'${process.execPath}' --input-type=module -e "import { prepareDataDir } from '${module}'; prepareDataDir('${folder}')"`;
  const { status, stderr } = spawnSync('unshare', ['-m', 'sh', '-c', `${mount} && ${run}`], { encoding: 'utf8' });
  expect(stderr).toBe('');
  expect(status).toBe(0);
});
