/** Verb `acs`: the active contracts, streamed over the WebSocket with bounded memory. */
import { isObject, type JsonObject } from '../../ledger/frames/field.ts';
import { filterFlags, filterOf, limitFlag, offsetType, readRemedies } from './streams.ts';
import { limitBatches, singleBatch, shortId, type RowFormat } from '../command-line/output.ts';
import { objectIn, templateName, textIn, textsIn } from './json-cells.ts';
import type { Verb, VerbCall } from './verb.ts';
import { readAllActiveContracts } from './complete-reads.ts';

/** The states of an entry, by the name of its kind in the JSON API. */
const states: Readonly<Record<string, string>> = {
  JsActiveContract: 'active',
  JsIncompleteUnassigned: 'unassigned',
  JsIncompleteAssigned: 'assigned',
};

/**
 * The created event of an entry, and its synchronizer. In an incomplete assignment, both are nested one level deeper.
 */
function createdEventFields(
  kind: string,
  body: JsonObject,
): { readonly event: JsonObject; readonly synchronizerId: string } {
  if (kind === 'JsIncompleteAssigned') {
    const assignedEvent = objectIn(body, 'assignedEvent');
    return { event: objectIn(assignedEvent, 'createdEvent'), synchronizerId: textIn(assignedEvent, 'target') };
  }
  const unassignedEvent = objectIn(body, 'unassignedEvent');
  const synchronizerId = textIn(body, 'synchronizerId') || textIn(unassignedEvent, 'source');
  return { event: objectIn(body, 'createdEvent'), synchronizerId };
}

function linesOf(text: string): readonly (readonly string[])[] {
  const entry: unknown = JSON.parse(text);
  const kinds = Object.entries(objectIn(entry, 'contractEntry'));
  return kinds.map(([kind, body]) => {
    const { event, synchronizerId } = createdEventFields(kind, isObject(body) ? body : {});
    return [
      shortId(textIn(event, 'contractId')),
      states[kind] ?? kind,
      textIn(event, 'createdAt'),
      shortId(synchronizerId),
      templateName(event),
      textsIn(event, 'signatories').map(shortId).join(' '),
    ];
  });
}

/** JSON output is the text of the ledger, so that nothing of a payload is lost. */
const contractFormat: RowFormat<string> = {
  columns: [
    { title: 'CONTRACT' },
    { title: 'STATE', least: 6 },
    { title: 'CREATED', least: 27 },
    { title: 'SYNCHRONIZER', least: 24 },
    { title: 'TEMPLATE', least: 48 },
    { title: 'SIGNATORIES' },
  ],
  lines: linesOf,
  json: (text) => text,
};

async function activeContracts(call: VerbCall): Promise<void> {
  const { args, client, output } = call;
  const offset = args.number('at') ?? (await client.state.ledgerEnd());
  const contracts = offset === 0 ? singleBatch([]) : readAllActiveContracts(call, offset, await filterOf(call));
  await output.rows(limitBatches(contracts, args.number('limit')), contractFormat);
}

export const contractVerbs: readonly Verb[] = [
  {
    name: 'acs',
    summary: 'print active contracts',
    operands: [],
    flags: [
      { name: 'at', value: 'OFFSET', type: offsetType, doc: 'active at this offset; default ledger end' },
      ...filterFlags,
      limitFlag,
    ],
    example: "ledger acs --template '#iou:Iou:Iou' --party alice::1220… --limit 1000",
    remedies: readRemedies,
    run: activeContracts,
  },
];
