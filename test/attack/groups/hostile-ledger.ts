/**
 * A malicious participant that sends its own frames, responses and texts. Each attempt has its own indexer and
 * database.
 */
import type { ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { pause, waitFor } from '../../support/wait-for.ts';
import { verdict, type Attempt, type Group } from '../attempt.ts';
import { HostileLedger, type FrameEdits } from '../wire/hostile-ledger.ts';
import { Victim, type VictimState } from '../world/victim.ts';

/** How long the ledger sends malicious data. */
const hostileMs = 5_000;
const secret = 'hunter2-in-the-words-of-the-ledger';

interface HostileBehavior {
  readonly id: string;
  readonly what: string;
  readonly edits: () => FrameEdits;
  /** Text that no output may contain. */
  readonly without?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** The indexer must keep running during the attack. Afterwards it must continue, also after a restart. */
const hostileAttempt = ({ id, what: description, edits, without: forbiddenText, env }: HostileBehavior): Attempt => ({
  id: `ledger-${id}`,
  what: description,
  expected: 'the indexer runs, /livez responds, and a clean ledger is followed after a restart',
  run: async (world) => {
    await using ledger = await HostileLedger.before(world.ledgerUrl);
    await using victim = await Victim.open(world, ledger.url, env);
    await waitFor('the indexer follows', async () => ((await victim.checkpoint()) >= 0 ? true : undefined), 60_000);
    ledger.edits = edits();
    await pause(hostileMs);
    const stateDuring = await victim.state();
    const output = stateDuring.status + victim.program.output();
    ledger.edits = {};
    const continuedVerdict = await checkContinues(victim, ledger.url, stateDuring);
    const isHidden = forbiddenText === undefined || !output.includes(forbiddenText);
    const observation = `exit ${String(stateDuring.exit)}, /livez ${String(stateDuring.livez)}, ${stateDuring.status.slice(0, 120)}`;
    const isHeld = stateDuring.exit === undefined && stateDuring.livez === 200 && continuedVerdict && isHidden;
    return verdict(
      isHeld,
      `${continuedVerdict ? 'continues' : 'does not continue'}${isHidden ? '' : ', prints the secret'}; ${observation}`,
    );
  },
});

async function checkContinues(victim: Victim, url: string, { checkpoint }: VictimState): Promise<boolean> {
  await victim.start(url);
  const hasMoved = async (): Promise<true | undefined> => ((await victim.checkpoint()) > checkpoint ? true : undefined);
  return waitFor('the checkpoint moves', hasMoved, 60_000).catch(() => false);
}

type Json = Record<string, unknown>;

/** Changes the first event of each transaction, at any depth of the frame. */
const editEvents = (change: (event: Json) => void) => (): FrameEdits => ({
  frame: (text) => {
    const frame = JSON.parse(text) as Json;
    visitEvents(frame, change);
    return [JSON.stringify(frame)];
  },
});

function visitEvents(value: unknown, change: (event: Json) => void): void {
  if (typeof value !== 'object' || value === null) return;
  for (const [key, nestedValue] of Object.entries(value)) {
    if (key === 'CreatedEvent' || key === 'ExercisedEvent')
      change(
        (nestedValue as Json)['value'] === undefined ? (nestedValue as Json) : ((nestedValue as Json)['value'] as Json),
      );
    else visitEvents(nestedValue, change);
  }
}

const frames = (make: (text: string) => readonly (string | Buffer)[]) => (): FrameEdits => ({ frame: make });

let partyCounter = 0;
const parties = (count: number): readonly string[] => {
  partyCounter += 1;
  return Array.from({ length: count }, (_, index) => `p${String(partyCounter)}-${String(index)}::1220`);
};

const deepJson = (levels: number): string => `${'['.repeat(levels)}${']'.repeat(levels)}`;

function writeEndlessly(response: ServerResponse | Duplex, first: string, repeatedPart: string): void {
  const socket = 'socket' in response && response.socket !== null ? (response.socket as Duplex) : (response as Duplex);
  const writeMore = (): void => {
    if (!socket.destroyed) socket.write(repeatedPart, () => setImmediate(writeMore));
  };
  socket.on('error', () => undefined);
  socket.write(first, writeMore);
}

const hints = 'HTTP/1.1 103 Early Hints\r\nlink: </a>; rel=preload\r\n\r\n'.repeat(100);
const withAnswers = (first: string, repeatedPart: string) => (): FrameEdits => ({
  answer: (path, response) => {
    if (path.startsWith('/v2/updates')) return false;
    writeEndlessly(response, first, repeatedPart);
    return true;
  },
});
const errorWords = JSON.stringify({
  code: 'NOVEL',
  cause: `refused at https://bob:${secret}@host/x?token=${secret}`,
  grpcCodeValue: 14,
});

/** Inserts the nested value into the text, because JSON.stringify needs stack for each level of nesting. */
const deepPayload = (levels: number) => (): FrameEdits => ({
  frame: (text) => {
    const frame = JSON.parse(text) as Json;
    visitEvents(frame, (event) => (event['createArgument'] = '<deep>'));
    return [JSON.stringify(frame).replaceAll('"<deep>"', deepJson(levels))];
  },
});

const table: readonly HostileBehavior[] = [
  {
    id: 'frame-of-100-megabytes',
    what: 'one text frame of 100 MB',
    edits: frames(() => [`{"x":"${'y'.repeat(100_000_000)}"}`]),
  },
  {
    id: 'frames-of-30-megabytes',
    what: 'each update with a payload of 30 MB',
    edits: editEvents((event) => (event['createArgument'] = { x: 'y'.repeat(30_000_000) })),
  },
  { id: 'deep-frame', what: 'a frame of 200,000 levels', edits: frames(() => [`{"update":${deepJson(200_000)}}`]) },
  {
    id: 'deep-payload',
    what: 'payloads of 5,000 levels',
    edits: deepPayload(5_000),
  },
  {
    id: 'many-keys',
    what: 'payloads of 300,000 keys',
    edits: editEvents(
      (event) =>
        (event['createArgument'] = Object.fromEntries(
          Array.from({ length: 300_000 }, (_, index) => [`k${String(index)}`, index]),
        )),
    ),
  },
  {
    id: 'party-lists',
    what: '100,000 observers that no other contract has',
    edits: editEvents((event) => (event['observers'] = parties(100_000))),
  },
  {
    id: 'witness-lists',
    what: '100,000 witnesses that no other event has',
    edits: editEvents((event) => (event['witnessParties'] = parties(100_000))),
  },
  {
    id: 'nul-in-text',
    what: 'NUL characters in payloads and parties',
    edits: editEvents((event) =>
      Object.assign(event, { createArgument: { x: 'a\u0000b' }, signatories: ['a\u0000b::1220'] }),
    ),
  },
  {
    id: 'lone-surrogates',
    what: 'halves of characters in payloads',
    edits: editEvents((event) => (event['createArgument'] = { x: '\ud800', ['\udfff']: 1 })),
  },
  {
    id: 'prototype-keys',
    what: 'payloads with keys of the prototype',
    edits: frames((text) => [
      text.replace(
        '"createArgument":{',
        '"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":1}},"createArgument":{"__proto__":1,',
      ),
    ]),
  },
  {
    id: 'huge-numbers',
    what: 'offsets that no number holds',
    edits: frames((text) => [text.replaceAll(/"offset":\d+/g, '"offset":1e400')]),
  },
  {
    id: 'negative-offsets',
    what: 'offsets that fall',
    edits: frames((text) => [text.replaceAll(/"offset":(\d+)/g, '"offset":-$1')]),
  },
  {
    id: 'sql-in-names',
    what: 'names of templates with quotes and SQL',
    edits: editEvents((event) => (event['templateId'] = `x"; drop schema ledger cascade; --:Main.Iou:Iou'`)),
  },
  {
    id: 'binary-frames',
    what: 'binary frames that are not text',
    edits: frames(() => [Buffer.from([0xff, 0xfe, 0x00, 0x80])]),
  },
  { id: 'not-json', what: 'frames that are not JSON', edits: frames(() => ['{"update":', '', 'null', '[]', '1']) },
  {
    id: 'repeated-frames',
    what: 'each frame 50 times',
    edits: frames((text) => Array.from({ length: 50 }, () => text)),
  },
  {
    id: 'empty-frames',
    what: '2,000 empty frames for each one',
    edits: frames((text) => [...Array.from({ length: 2_000 }, () => '{}'), text]),
  },
  {
    id: 'error-words-with-secrets',
    what: 'errors whose texts contain a password and a token',
    edits: frames(() => [errorWords]),
    without: secret,
  },
  {
    id: 'error-answers-with-secrets',
    what: 'responses of status 500 whose texts contain a password',
    edits: () => ({
      answer: (_, response) => (response.writeHead(500, { 'content-type': 'application/json' }).end(errorWords), true),
      frame: () => [errorWords],
    }),
    without: secret,
  },
  { id: 'endless-hints', what: 'informational responses without end', edits: withAnswers('', hints) },
  {
    id: 'endless-body',
    what: 'a response without end',
    edits: withAnswers('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n{"offset":', '1'.repeat(65_536)),
  },
  {
    id: 'endless-header',
    what: 'a header without end',
    edits: withAnswers('HTTP/1.1 200 OK\r\nx: ', 'y'.repeat(65_536)),
  },
  {
    id: 'redirect-to-metadata',
    what: 'redirects to an address of a cloud',
    edits: () => ({
      answer: (_, response) => (
        response.writeHead(307, { location: 'http://169.254.169.254/latest/meta-data' }).end(),
        true
      ),
    }),
  },
  {
    id: 'handshake-without-end',
    what: 'an upgrade whose response is hints without end',
    edits: () => ({ frame: () => [], upgrade: (_, socket) => (writeEndlessly(socket, '', hints), true) }),
  },
];

export const hostileLedger: Group = {
  name: 'hostile-ledger',
  what: 'a malicious participant',
  quick: false,
  attempts: table.map(hostileAttempt),
};
