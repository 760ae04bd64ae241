/** Verbs about the participant: release, ledger end, and API descriptions. */
import { IndexerError } from '../../errors/indexer-error.ts';
import type { LedgerClient } from '../../ledger/api/client.ts';
import type { Verb, VerbCall } from './verb.ts';

async function printVersion({ client, output }: VerbCall): Promise<void> {
  const version = await client.node.version();
  const features = Object.entries(version.features ?? {}).filter(([, value]) => value !== null && value !== undefined);
  await output.object(version, [
    ['version', version.version],
    ...features.map(([name, value]): [string, string] => [name, JSON.stringify(value)]),
  ]);
}

/** The participant id; null if the user may not read it. The other lines are still printed. */
async function readableParticipantId({ parties }: LedgerClient): Promise<string | null> {
  try {
    return await parties.participantId();
  } catch (thrown) {
    if (thrown instanceof IndexerError && thrown.code === 'LEDGER_PERMISSION_DENIED') return null;
    throw thrown;
  }
}

async function printLedgerEnd({ client, output }: VerbCall): Promise<void> {
  const [offset, participantPrunedUpToInclusive, participantId, connectedSynchronizers] = await Promise.all([
    client.state.ledgerEnd(),
    client.state.latestPrunedOffsets(),
    readableParticipantId(client),
    client.state.connectedSynchronizers(),
  ]);
  await output.object({ offset, participantPrunedUpToInclusive, participantId, connectedSynchronizers }, [
    ['ledger end', String(offset)],
    ['pruned up to', participantPrunedUpToInclusive === 0 ? 'never pruned' : String(participantPrunedUpToInclusive)],
    // Not shortened, because users copy the ids.
    ['participant', participantId ?? 'not visible to this user'],
    ...connectedSynchronizers.map(({ synchronizerAlias, synchronizerId }): [string, string] => [
      'synchronizer',
      `${synchronizerAlias}  ${synchronizerId}`,
    ]),
  ]);
}

export const nodeVerbs: readonly Verb[] = [
  {
    name: 'version',
    summary: 'print the release of the participant and its limits',
    operands: [],
    flags: [],
    example: 'ledger version',
    run: printVersion,
  },
  {
    name: 'end',
    summary: 'print ledger end, pruned offset, participant id and synchronizers',
    operands: [],
    flags: [],
    example: 'ledger end --json',
    run: printLedgerEnd,
  },
  {
    name: 'openapi',
    summary: "print the participant's OpenAPI description as YAML",
    operands: [],
    flags: [],
    example: 'ledger openapi > openapi.yaml',
    run: async ({ client, output }) => output.text(await client.node.openapi()),
  },
  {
    name: 'asyncapi',
    summary: "print the participant's AsyncAPI description as YAML",
    operands: [],
    flags: [],
    example: 'ledger asyncapi > asyncapi.yaml',
    run: async ({ client, output }) => output.text(await client.node.asyncapi()),
  },
];
