/** Verbs about packages: list, download and upload. */
import { IndexerError } from '../../errors/indexer-error.ts';
import type { VettedPackage } from '../../ledger/api/packages.ts';
import type { LedgerClient } from '../../ledger/api/client.ts';
import { bytesOf, saveBytes } from './files.ts';
import { singleBatch, type RowFormat } from '../command-line/output.ts';
import { usageError } from '../command-line/refusals.ts';
import type { Verb, VerbCall } from './verb.ts';

interface PackageRow {
  readonly packageId: string;
  readonly packageStatus: string;
  /** Name of the package; null for packages that are not vetted, and for all packages before release 3.5. */
  readonly packageName: string | null;
  readonly packageVersion: string | null;
}

/** Package ids are not shortened, because users copy them. */
const packageFormat: RowFormat<PackageRow> = {
  columns: [{ title: 'PACKAGE' }, { title: 'STATUS' }, { title: 'NAME' }, { title: 'VERSION' }],
  lines: (row) => [
    [
      row.packageId,
      row.packageStatus.replace(/^PACKAGE_STATUS_/, '').toLowerCase(),
      row.packageName ?? '-',
      row.packageVersion ?? '-',
    ],
  ],
  json: (row) => JSON.stringify(row),
};

/** Number of concurrent status requests; each package needs its own request. */
const maxConcurrency = 16;

/** Names and versions of vetted packages by package id; empty for releases without the endpoint. */
async function namesOf(client: LedgerClient): Promise<ReadonlyMap<string, VettedPackage>> {
  const names = new Map<string, VettedPackage>();
  let pageToken: string | undefined;
  try {
    do {
      const page = await client.packages.vetted(pageToken === undefined ? {} : { pageToken });
      for (const { packages } of page.vettedPackages)
        for (const vettedPackage of packages ?? []) names.set(vettedPackage.packageId, vettedPackage);
      pageToken = page.nextPageToken;
    } while (pageToken !== undefined);
  } catch (thrown) {
    const isAbsent = thrown instanceof IndexerError && thrown.facts['httpStatus'] === 404;
    if (!isAbsent) throw thrown;
  }
  return names;
}

type VettedPackageMap = ReadonlyMap<string, VettedPackage>;

async function rowOf(client: LedgerClient, names: VettedPackageMap, packageId: string): Promise<PackageRow> {
  const { packageName, packageVersion } = names.get(packageId) ?? {};
  const packageStatus = await client.packages.status(packageId);
  return { packageId, packageStatus, packageName: packageName ?? null, packageVersion: packageVersion ?? null };
}

async function* rowsOf(client: LedgerClient, ids: readonly string[]): AsyncGenerator<readonly PackageRow[]> {
  const names = await namesOf(client);
  for (let start = 0; start < ids.length; start += maxConcurrency) {
    yield await Promise.all(ids.slice(start, start + maxConcurrency).map((id) => rowOf(client, names, id)));
  }
}

async function packages({ args, client, output }: VerbCall): Promise<void> {
  const [packageId] = args.operands;
  const file = args.text('output');
  if (packageId === undefined) {
    if (file !== undefined) throw usageError('--output needs a package id', 'pass the package id before --output');
    await output.rows(rowsOf(client, await client.packages.list()), packageFormat);
    return;
  }
  if (file === undefined) {
    await output.rows(rowsOf(client, [packageId]), packageFormat);
    return;
  }
  const { bytes, hash } = await client.packages.content(packageId);
  await saveBytes(file, bytes);
  await output.object({ packageId, file, bytes: bytes.length, hash: hash ?? null }, [
    ['package', packageId],
    ['file', file],
    ['bytes', String(bytes.length)],
    ['hash', hash ?? '-'],
  ]);
}

async function uploadDar({ args, client, output }: VerbCall): Promise<void> {
  const dar = await bytesOf(args.operands[0] ?? '');
  const synchronizerId = args.text('synchronizer');
  const before = new Set(await client.packages.list());
  await client.packages.uploadDar(dar, {
    ...(args.has('no-vet') ? { vetAllPackages: false } : {}),
    ...(synchronizerId === undefined ? {} : { synchronizerId }),
  });
  const newIds = (await client.packages.list()).filter((id) => !before.has(id));
  await output.rows(singleBatch(newIds), {
    columns: [{ title: 'NEW PACKAGE' }],
    lines: (id) => [[id]],
    json: (packageId) => JSON.stringify({ packageId }),
  });
}

export const packageVerbs: readonly Verb[] = [
  {
    name: 'packages',
    summary: 'list packages with status, name and version, or save one',
    operands: ['[ID]'],
    flags: [{ name: 'output', value: 'FILE', doc: 'write the archive of package ID to FILE' }],
    example: 'ledger packages 5b1e…c0 --output iou.dalf',
    remedies: {
      LEDGER_REQUEST_INVALID: 'run `ledger-indexer ledger packages` to list the packages of the participant',
    },
    run: packages,
  },
  {
    name: 'upload-dar',
    summary: 'upload a DAR and print the ids of new packages',
    operands: ['FILE'],
    flags: [
      { name: 'no-vet', doc: 'do not vet the packages' },
      { name: 'synchronizer', value: 'ID', doc: 'synchronizer for vetting; required if several are connected' },
    ],
    example: 'ledger upload-dar .daml/dist/iou-1.0.0.dar',
    remedies: {
      LEDGER_REQUEST_INVALID: 'correct the DAR according to the message; nothing was uploaded',
      LEDGER_PERMISSION_DENIED: 'use a token of a user with the right ParticipantAdmin',
    },
    run: uploadDar,
  },
];
