/** Attacks with files and folders that another user or a cloned repository controls. */
import { createHash } from 'node:crypto';
import {
  chmod,
  chown,
  lchown,
  lstat,
  mkdir,
  mkdtemp,
  readFile,
  readdir,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { verdict, type Attempt, type Group } from '../attempt.ts';
import { runProgram } from '../world/program.ts';
import type { World } from '../world/world.ts';

const victimsToken = 'victims-ledger-token';

interface FileNote {
  readonly id: string;
  readonly what: string;
  readonly mode?: number;
  readonly change?: Readonly<Record<string, unknown>>;
  /** Target of the note, if the note is a symbolic link. */
  readonly link?: string;
  readonly argv?: readonly string[];
}

/** A file that claims that a demo runs in the current folder, as a cloned repository can contain it. */
const fileAttempt = ({
  id,
  what: description,
  mode = 0o600,
  change = {},
  link,
  argv = ['ledger', 'end'],
}: FileNote): Attempt => ({
  id: `note-${id}`,
  what: description,
  expected: 'the listener that the note names does not get a token of the victim',
  run: async (world) => {
    const folder = await mkdtemp(join(world.folder, 'cloned-'));
    const requestHeaders: IncomingHttpHeaders[] = [];
    const server = createServer((request, response) => {
      requestHeaders.push(request.headers);
      response.setHeader('content-type', 'application/json').end('{"offset":7}');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
    const text = JSON.stringify({
      pid: process.pid,
      httpUrl: url,
      ledgerUrl: url,
      database: '127.0.0.1:9/ledger',
      schema: 'ledger',
      embeddedLedger: true,
      embeddedDatabase: false,
      live: true,
      ...change,
    });
    await mkdir(join(folder, '.ledger-indexer'));
    await writeFile(join(folder, '.ledger-indexer', link ?? 'running.json'), text, { mode });
    if (link !== undefined) await symlink(link, join(folder, '.ledger-indexer', 'running.json'));
    await writeFile(join(folder, 'token'), victimsToken);
    const env = { DATABASE_URL: 'postgres://me@127.0.0.1:9/ledger', LEDGER_TOKEN: victimsToken };
    const { code } = await runProgram(argv, { cwd: folder, env }, 20_000);
    server.closeAllConnections();
    server.close();
    const leakedHeaders = requestHeaders.filter((headers) => JSON.stringify(headers).includes(victimsToken)).length;
    return verdict(
      leakedHeaders === 0,
      `exit ${String(code)}; ${String(requestHeaders.length)} requests, ${String(leakedHeaders)} with the token`,
    );
  },
});

const fileNotes: readonly FileNote[] = [
  { id: 'of-a-checkout', what: 'a note that others can read', mode: 0o644 },
  { id: 'of-a-living-process', what: 'a note that names a running process' },
  { id: 'of-init', what: 'a note that names process 1', change: { pid: 1 } },
  { id: 'that-is-a-link', what: 'a note that is a link', link: 'elsewhere.json' },
  {
    id: 'with-a-password',
    what: 'a note whose address holds a password',
    change: { ledgerUrl: 'http://a:b@127.0.0.1:9' },
  },
  {
    id: 'and-token-file',
    what: 'a note, and a token file that is named for the call',
    argv: ['ledger', 'end', '--ledger-token-file', 'token'],
  },
  { id: 'and-check', what: 'a note, and the command check', argv: ['check'] },
  { id: 'and-parties', what: 'a note, and the command ledger parties', argv: ['ledger', 'parties'] },
];

/** Files that a cloned repository can contain in addition to the note of a demo. */
const plantedAttempt = (id: string, description: string, files: Readonly<Record<string, string>>): Attempt => ({
  id: `planted-${id}`,
  what: description,
  expected: 'the program does not read it',
  run: async (world) => {
    const folder = await mkdtemp(join(world.folder, 'planted-'));
    for (const [path, text] of Object.entries(files)) {
      await mkdir(join(folder, path, '..'), { recursive: true });
      await writeFile(join(folder, path), text);
      await chmod(join(folder, path), 0o755);
    }
    const { code, stdout, stderr } = await runProgram(['config'], { cwd: folder });
    const isReadable = /planted/.test(stdout + stderr) || (await readdir(folder)).includes('ran');
    return verdict(!isReadable && code === 0, `exit ${String(code)}: ${stderr}`);
  },
});

const runs = `require('node:fs').writeFileSync('ran', 'planted')`;
const plantedAttempts: readonly Attempt[] = [
  plantedAttempt('env-file', 'a file .env with the address of a ledger', {
    '.env': 'LEDGER_URL=http://planted.example\n',
  }),
  plantedAttempt('node-modules', 'modules in the current folder', {
    'node_modules/pg/index.js': runs,
    'node_modules/pg/package.json': '{"name":"pg","main":"index.js"}',
  }),
  plantedAttempt('npmrc', 'settings of npm', {
    '.npmrc': 'script-shell=planted\n',
    'package.json': '{"name":"planted","type":"module"}',
  }),
  plantedAttempt('migrations', 'migrations in the current folder', { 'migrations/0001_stream.sql': 'select planted' }),
  plantedAttempt('config-file', 'a configuration in the data folder', {
    '.ledger-indexer/config.json': '{"LEDGER_URL":"http://planted.example"}',
  }),
];

async function exported(world: World): Promise<{ readonly lake: string; readonly precious: string }> {
  const folder = await mkdtemp(join(world.folder, 'lake-'));
  const lake = join(folder, 'lake');
  await world.succeed(['export', '--to', lake, '--until', '300']);
  await mkdir(join(folder, 'elsewhere'));
  const protectedFile = join(folder, 'elsewhere', 'precious');
  await writeFile(protectedFile, 'kept');
  return { lake, precious: protectedFile };
}

interface Segment {
  readonly files: readonly { readonly path: string | null }[];
}

interface Manifest {
  readonly segments: readonly { readonly path: string; readonly sha256: string }[];
}

/**
 * Replaces the path in each entry of the first segment, and updates name and hash of the segment. An attacker with
 * write access could do the same.
 */
async function changeFiles(lake: string, path: string): Promise<void> {
  const file = join(lake, 'manifest.json');
  const head = JSON.parse(await readFile(file, 'utf8')) as Manifest;
  const [first, ...otherSegments] = head.segments;
  if (first === undefined) throw new Error('the manifest names no segment');
  const segment = JSON.parse(await readFile(join(lake, first.path), 'utf8')) as Segment;
  const files = segment.files.map((fileName) =>
    fileName.path === null ? fileName : { ...fileName, path, marks: { redacted: 99, late: 99 } },
  );
  const text = JSON.stringify({ ...segment, files });
  const sha256 = createHash('sha256').update(text).digest('hex');
  const name = first.path.replace(/[\da-f]{16}(?=\.json$)/, sha256.slice(0, 16));
  await writeFile(join(lake, name), text);
  await writeFile(file, JSON.stringify({ ...head, segments: [{ ...first, path: name, sha256 }, ...otherSegments] }));
}

/** A manifest that names files outside of the lake. It is marked so that the export rewrites them. */
const manifest = (id: string, path: string): Attempt => ({
  id: `manifest-${id}`,
  what: `a manifest of a lake names ${path}`,
  expected: 'the export rejects it, and the file stays as it was',
  run: async (world) => {
    const { lake, precious: protectedFile } = await exported(world);
    await changeFiles(lake, path.replace('PRECIOUS', protectedFile));
    const { code, stderr } = await world.command(['export', '--to', lake, '--until', '400']);
    const keptText = await readFile(protectedFile, 'utf8').catch(() => 'gone');
    return verdict(
      keptText === 'kept' && code !== 0 && code !== 70,
      `exit ${String(code)}, the file is ${keptText}: ${stderr}`,
    );
  },
});

const lakes: readonly Attempt[] = [
  manifest('above-the-lake', '../elsewhere/precious'),
  manifest('absolute', 'PRECIOUS'),
  manifest('through-a-table', 'contracts/../../elsewhere/precious'),
  {
    id: 'lake-table-is-a-link',
    what: 'a folder of a table is a link to a folder outside of the lake',
    expected: 'nothing is written there',
    run: async (world) => {
      const { precious: protectedFile } = await exported(world);
      const lake = await mkdtemp(join(world.folder, 'linked-'));
      await symlink(join(protectedFile, '..'), join(lake, 'contracts'));
      const { code, stderr } = await world.command(['export', '--to', lake, '--until', '300']);
      const foundFiles = await readdir(join(protectedFile, '..'));
      return verdict(
        foundFiles.length === 1 && code !== 70,
        `exit ${String(code)}, ${foundFiles.join(', ')}: ${stderr}`,
      );
    },
  },
  {
    id: 'lake-modes',
    what: 'another user of the machine reads the lake',
    expected: 'folders have mode 0700, files 0600',
    run: async (world) => {
      const { lake } = await exported(world);
      const readableEntries: string[] = [];
      for (const entry of await readdir(lake, { recursive: true })) {
        const { mode } = await lstat(join(lake, entry));
        if ((mode & 0o077) !== 0) readableEntries.push(entry);
      }
      return verdict(readableEntries.length === 0, readableEntries.slice(0, 5).join(', ') || 'closed to others');
    },
  },
];

/** Starts the embedded servers in a data folder that another user prepared. */
const dataFolder = (
  id: string,
  description: string,
  prepare: (data: string, outsideFolder: string) => Promise<unknown>,
): Attempt => ({
  id: `data-folder-${id}`,
  what: description,
  expected: 'the program refuses the folder, and the folder elsewhere stays as it was',
  run: async (world) => {
    const folder = await mkdtemp(join(world.folder, 'data-'));
    const [data, outsideFolder] = [join(folder, 'data'), join(folder, 'elsewhere')];
    await mkdir(data);
    await mkdir(outsideFolder, { mode: 0o755 });
    await prepare(data, outsideFolder);
    const statBefore = await lstat(outsideFolder);
    const env = { INDEXER_DATA_DIR: data, LEDGER_URL: world.ledgerUrl, INDEXER_HTTP_PORT: '0', INDEXER_STOP_AT: '1' };
    const { code, stderr } = await runProgram([], { cwd: folder, env }, 30_000);
    const statAfter = await lstat(outsideFolder);
    const isSame =
      statBefore.mode === statAfter.mode &&
      statBefore.uid === statAfter.uid &&
      (await readdir(outsideFolder)).length === 0;
    return verdict(
      isSame && code === 78,
      `exit ${String(code)}, elsewhere ${isSame ? 'as before' : 'changed'}: ${stderr}`,
    );
  },
});

const otherUid = 65_533;

const folders: readonly Attempt[] = [
  dataFolder('for-everybody', 'every user can write to the data folder', (data) => chmod(data, 0o777)),
  // Only root can change the owner of a symbolic link.
  ...(process.getuid?.() === 0
    ? [
        dataFolder('behind-a-link', 'the data folder is a link of another user', async (data, outsideFolder) => {
          await rm(data, { recursive: true });
          await symlink(outsideFolder, data);
          await lchown(data, otherUid, otherUid);
        }),
        dataFolder('of-another-user', 'the data folder belongs to another user', (data) =>
          chown(data, otherUid, otherUid),
        ),
      ]
    : []),
  dataFolder('with-a-link', 'postgres in the data folder is a link', (data, outsideFolder) =>
    symlink(outsideFolder, join(data, 'postgres')),
  ),
  dataFolder('open-to-others', 'postgres in the data folder can be written by any user', async (data) => {
    await mkdir(join(data, 'postgres', 'cluster'), { recursive: true });
    await chmod(join(data, 'postgres'), 0o777);
    await writeFile(join(data, 'postgres', 'cluster', 'PG_VERSION'), '17');
  }),
];

export const files: Group = {
  name: 'files',
  what: 'files and folders of other users',
  quick: false,
  attempts: [...fileNotes.map(fileAttempt), ...plantedAttempts, ...lakes, ...folders],
};
