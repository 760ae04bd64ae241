/** Verbs `updates` and `update`: ranges of updates, new updates as they arrive, and single updates. */
import { IndexerError } from '../../errors/indexer-error.ts';
import type { UpdateResponse } from '../../ledger/api/update-types.ts';
import { isObject, type JsonObject } from '../../ledger/frames/field.ts';
import { ledgerError } from '../../ledger/errors/make-ledger-error.ts';
import { updateFormat, updatesRequest } from '../../ledger/api/request-format.ts';
import { arrayIn, objectIn, templateName, textIn } from './json-cells.ts';
import { filterFlags, filterOf, followRows, limitFlag, offsetType, readRemedies, type OffsetRow } from './streams.ts';
import { limitBatches, singleBatch, shortId, type RowFormat } from '../command-line/output.ts';
import { usageError } from '../command-line/refusals.ts';
import type { Verb, VerbCall } from './verb.ts';
import { readAllUpdates } from './complete-reads.ts';

interface UpdateRow extends OffsetRow {
  readonly kind: string;
  readonly value: JsonObject;
}

function rowOf(text: string): UpdateRow {
  let frame: unknown;
  try {
    frame = JSON.parse(text);
  } catch {
    throw ledgerError('LEDGER_UNDECODABLE', 'expected JSON in a frame of /v2/updates, found another value');
  }
  const [kind = '', body] = Object.entries(objectIn(frame, 'update'))[0] ?? [];
  const value = objectIn({ body }, 'body')['value'];
  const offset = isObject(value) ? value['offset'] : undefined;
  if (isObject(value) && typeof offset === 'number') return { text, kind, value, offset };
  throw ledgerError('LEDGER_UNDECODABLE', 'expected an offset in an update, found none');
}

/** Cells of an event: contract, kind, and template or party. */
function eventCells(name: string, event: JsonObject): readonly string[] {
  const contract = shortId(textIn(event, 'contractId'));
  switch (name) {
    case 'CreatedEvent':
      return [contract, 'create', templateName(event)];
    case 'ArchivedEvent':
      return [contract, 'archive', templateName(event)];
    case 'ExercisedEvent':
      return [contract, `exercise ${textIn(event, 'choice')}`, templateName(event)];
    case 'JsUnassignedEvent': {
      const value = objectIn(event, 'value');
      return [shortId(textIn(value, 'contractId')), 'unassign', templateName(value)];
    }
    case 'JsAssignmentEvent': {
      const created = objectIn(event, 'createdEvent');
      return [shortId(textIn(created, 'contractId')), 'assign', templateName(created)];
    }
    default:
      return ['', name, shortId(textIn(objectIn(event, 'value'), 'partyId'))];
  }
}

/** One line per event. Each line has the offset, so that lines can be filtered. */
function linesOf({ kind, value, offset }: UpdateRow): readonly (readonly string[])[] {
  const events = arrayIn(value, 'events').flatMap((entry) => {
    // Topology events are nested one level deeper.
    const body = kind === 'TopologyTransaction' ? objectIn(entry, 'event') : entry;
    return Object.entries(isObject(body) ? body : {});
  });
  const leadingCells = [String(offset), textIn(value, 'recordTime')];
  if (events.length === 0) return [[...leadingCells, '', kind, '']];
  return events.map(([name, event]) => [...leadingCells, ...eventCells(name, isObject(event) ? event : {})]);
}

/** JSON output is the text of the ledger, so that nothing of a payload is lost. */
const rowFormat: RowFormat<UpdateRow> = {
  columns: [
    { title: 'OFFSET', right: true, least: 8 },
    { title: 'RECORD TIME', least: 27 },
    { title: 'CONTRACT', least: 19 },
    { title: 'EVENT', least: 24 },
    { title: 'TEMPLATE' },
  ],
  lines: linesOf,
  json: ({ text }) => text,
};

async function* range(call: VerbCall): AsyncGenerator<readonly UpdateRow[]> {
  const { args, client } = call;
  const from = args.number('from') ?? (await client.state.latestPrunedOffsets());
  const endInclusive = args.number('to') ?? (await client.state.ledgerEnd());
  // The end of an empty ledger is 0, but the ledger rejects 0 as the end of a range.
  if (endInclusive === 0 && from === 0) return;
  yield* readAllUpdates(call, { from, to: endInclusive, filter: await filterOf(call), read: rowOf });
}

async function* follow(call: VerbCall): AsyncGenerator<readonly UpdateRow[]> {
  const filter = await filterOf(call);
  const after = call.args.number('from') ?? (await call.client.state.ledgerEnd());
  const start = { after, request: (offset: number) => updatesRequest(offset, filter), read: rowOf };
  for await (const rows of followRows(call, '/v2/updates', start)) {
    yield rows.filter(({ kind }) => kind !== 'OffsetCheckpoint');
  }
}

async function updates(call: VerbCall): Promise<void> {
  const { args, output } = call;
  if (args.has('follow') && args.has('to')) {
    throw usageError('--to cannot be combined with --follow, which has no end', 'remove one of them');
  }
  const rows = args.has('follow') ? follow(call) : range(call);
  await output.rows(limitBatches(rows, args.number('limit')), rowFormat);
}

/** A number of at most 16 digits is an offset. Update ids are longer. */
const offsetShape = /^\d{1,16}$/;

async function update(call: VerbCall): Promise<void> {
  const { args, client, output } = call;
  const [updateRef = ''] = args.operands;
  const format = updateFormat(await filterOf(call));
  const requestedUpdate = await (offsetShape.test(updateRef)
    ? client.updates.byOffset(Number(updateRef), format)
    : client.updates.byId(updateRef, format));
  if (requestedUpdate?.update === undefined || requestedUpdate.update === null) {
    throw new IndexerError(`there is no update ${updateRef} under this filter`, {
      code: 'UPDATE_NOT_FOUND',
    });
  }
  await output.rows(singleBatch([requestedUpdate]), {
    columns: rowFormat.columns,
    lines: (foundUpdate: UpdateResponse) => linesOf(rowOf(JSON.stringify(foundUpdate))),
    json: (foundUpdate) => JSON.stringify(foundUpdate),
  });
}

export const updateVerbs: readonly Verb[] = [
  {
    name: 'updates',
    summary: 'print updates in the order of the ledger',
    operands: [],
    flags: [
      {
        name: 'from',
        value: 'OFFSET',
        type: offsetType,
        doc: 'start after this offset; default pruned offset, with --follow ledger end',
      },
      { name: 'to', value: 'OFFSET', type: offsetType, doc: 'end at this offset; default ledger end' },
      { name: 'follow', doc: 'continue with new updates until interrupted' },
      ...filterFlags,
      limitFlag,
    ],
    example: 'ledger updates --follow --party alice::1220…',
    remedies: readRemedies,
    run: updates,
  },
  {
    name: 'update',
    summary: 'print one update by its offset or id',
    operands: ['OFFSET|ID'],
    flags: filterFlags,
    example: 'ledger update 250 --json',
    remedies: readRemedies,
    run: update,
  },
];
