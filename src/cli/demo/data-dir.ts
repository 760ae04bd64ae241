/** The data folder of the embedded servers. */
import {
  accessSync,
  constants,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  realpathSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { IndexerError } from '../../errors/indexer-error.ts';
import { readSmallFileSync } from '../../config/small-file.ts';
import { shellWord } from '../command-line/shell-word.ts';

/**
 * Creates the folder if it is missing, one path component at a time. The option `recursive` is not used, because Node
 * then never returns on file systems that accept no folders, such as /proc. Rejects a folder that other users may have
 * filled.
 * @throws IndexerError DATA_DIR_UNUSABLE (exit 78)
 */
export function prepareDataDir(dataDir: string): void {
  const folder = resolve(dataDir);
  let dataDirRefusal: Refusal | undefined;
  try {
    makeFolder(folder);
    dataDirRefusal = refusalOf(folder);
    if (dataDirRefusal === undefined) accessSync(folder, constants.W_OK);
  } catch (thrown) {
    const code = (thrown as NodeJS.ErrnoException).code ?? 'unknown';
    throw unusableFolder(folder, `cannot be used for data: ${code}`, otherFolderRemedy, thrown);
  }
  if (dataDirRefusal !== undefined) throw unusableFolder(folder, dataDirRefusal.why, dataDirRefusal.remedy);
}

const otherFolderRemedy =
  'set INDEXER_DATA_DIR to a folder that this user can write to, or set DATABASE_URL and LEDGER_URL';

function unusableFolder(folder: string, problem: string, remedy: string, cause?: unknown): IndexerError {
  return new IndexerError(`the folder ${folder} ${problem}`, { code: 'DATA_DIR_UNUSABLE', remedy, cause });
}

function makeFolder(folder: string): void {
  if (existsSync(folder)) {
    if (!statSync(folder).isDirectory()) throw Object.assign(new Error('a file'), { code: 'ENOTDIR' });
    return;
  }
  makeFolder(dirname(folder));
  // The mode must not depend on the umask. The next start would reject a folder that every user can write to.
  mkdirSync(folder, { mode: 0o755 });
}

interface Refusal {
  readonly why: string;
  readonly remedy: string;
}

const otherWriteBit = 0o002;
const stickyBit = 0o1000;

/**
 * Why the folder is not safe to use; undefined if it is. Users who can write to the folder control what the embedded
 * servers read and where they write. Group members may write, because Kubernetes assigns volumes to a group. A mounted
 * volume may be open to all users or belong to any user, because Kubernetes creates volumes with mode 0777, and a
 * folder of the host keeps its owner in a container. This is safe because only root can mount volumes.
 */
function refusalOf(folder: string): Refusal | undefined {
  const link = lstatSync(folder);
  if (link.isSymbolicLink() && !isTrusted(link.uid)) {
    return {
      why: `is a link that belongs to user ${String(link.uid)}, who can change its target`,
      remedy: `if you trust the target of the link, run: export INDEXER_DATA_DIR=${shellWord(realpathSync(folder))}`,
    };
  }
  const { uid, mode, dev } = statSync(folder);
  if (dev !== statSync(dirname(realpathSync(folder))).dev) return undefined;
  if (!isTrusted(uid)) {
    const currentUserId = String(process.getuid?.() ?? '');
    return {
      why: `belongs to user ${String(uid)}, and this is user ${currentUserId}`,
      remedy: `set INDEXER_DATA_DIR to another folder; or, if you trust its contents, run as root: chown ${currentUserId} ${shellWord(folder)}`,
    };
  }
  if ((mode & otherWriteBit) === 0 || (mode & stickyBit) !== 0) return undefined;
  return {
    why: 'can be written by every user, who may have changed its contents',
    remedy: `if you trust its contents, run: chmod o-w ${shellWord(folder)}; otherwise set INDEXER_DATA_DIR to another folder`,
  };
}

function isTrusted(uid: number): boolean {
  return uid === 0 || uid === process.getuid?.();
}

/** Path of the journal of the demo with this seed. */
export function journalOf(dataDir: string, seed: number): string {
  return join(dataDir, `sandbox-${String(seed)}.journal`);
}

/**
 * Name of a file in the data folder of a Postgres that contains the history of a participant. The content of the file
 * identifies the participant.
 */
const participantFile = 'participant';

/**
 * Claims the folder of a Postgres that is about to be used. Its history belongs to one demo or to one participant.
 * @param run the seed of the demo that starts, or the ledger URL of the participant to index
 * @returns the previous address of the folder's participant if it has changed
 * @throws IndexerError DATA_DIR_TAKEN (exit 78), before anything is written
 */
export function claimDataDir(
  dataDir: string,
  run: { readonly seed: number } | { readonly ledgerUrl: string },
): string | undefined {
  if ('seed' in run) {
    refuseParticipant(dataDir);
    assertSameDemo(dataDir, run.seed);
    return undefined;
  }
  assertSameDemo(dataDir, undefined);
  const previousParticipant = readParticipantFile(dataDir);
  if (previousParticipant === undefined) writeParticipantFile(dataDir, run.ledgerUrl);
  return previousParticipant === new URL(run.ledgerUrl).host ? undefined : previousParticipant;
}

/** Records the participant whose history is in the folder. */
export function writeParticipantFile(dataDir: string, ledgerUrl: string): void {
  // Only the host is stored, because the path of a URL may be a secret, and the credentials of a URL are secret.
  writeFileSync(join(dataDir, participantFile), `${new URL(ledgerUrl).host}\n`);
}

function readParticipantFile(dataDir: string): string | undefined {
  const file = join(dataDir, participantFile);
  return existsSync(file) ? readSmallFileSync(file).trim() : undefined;
}

function refuseParticipant(dataDir: string): void {
  const participant = readParticipantFile(dataDir);
  if (participant === undefined) return;
  throw new IndexerError(
    `the folder ${resolve(dataDir)} holds the history of the participant at ${participant}, but this run is a demo`,
    {
      code: 'DATA_DIR_TAKEN',
      remedy:
        'set LEDGER_URL to that participant; for a demo, set INDEXER_DATA_DIR to another folder, or delete the folder if that history is no longer needed',
    },
  );
}

/** @param seed random seed of the demo that starts; undefined if a participant is indexed */
function assertSameDemo(dataDir: string, seed: number | undefined): void {
  const seeds = storedSeeds(dataDir);
  const [storedSeed] = seeds;
  if (storedSeed === undefined || (seed !== undefined && seeds.includes(seed))) return;
  const conflictText = seed === undefined ? 'LEDGER_URL names a participant' : `this demo has seed ${String(seed)}`;
  const sameSeedHint = seed === undefined ? '' : `, or run the demo with --demo-seed ${String(storedSeed)}`;
  throw new IndexerError(
    `the folder ${resolve(dataDir)} holds a demo with seed ${String(storedSeed)}, but ${conflictText}`,
    {
      code: 'DATA_DIR_TAKEN',
      remedy: `set ${seed === undefined ? 'DATABASE_URL, or ' : ''}INDEXER_DATA_DIR to another folder${sameSeedHint}, or delete the folder if that demo is no longer needed`,
    },
  );
}

function storedSeeds(dataDir: string): readonly number[] {
  if (!existsSync(dataDir)) return [];
  return readdirSync(dataDir).flatMap((name) => {
    const seed = /^sandbox-(\d+)\.journal$/u.exec(name)?.[1];
    return seed === undefined ? [] : [Number(seed)];
  });
}
