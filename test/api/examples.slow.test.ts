/** Runs the requests of docs/how-to/integrate/http-api.md. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { blocksOf, pages } from '../docs/pages.ts';
import { commandsOf } from '../docs/shell.ts';
import { ApiWorld, type ApiReader } from './api-world.ts';

const path = 'docs/how-to/integrate/http-api.md';
const commands = pages()
  .filter((page) => page.path === path)
  .flatMap(blocksOf)
  .filter(({ language }) => language === 'sh')
  .flatMap(commandsOf);

let world: ApiWorld;
let reader: ApiReader;
let values: Readonly<Record<string, string>>;

beforeAll(async () => {
  world = await ApiWorld.open('demo');
  reader = await world.reader();
  const [row] = await world.sql(
    `select (select owner from explore.token_balances where unlocked > 11 and instrument_id = 'Amulet' order by holdings desc, owner limit 1) as party,
            (select provider from explore.traffic_purchases order by "offset" limit 1) as validator,
            (select contract_id from explore.exercises where consuming order by "offset" limit 1) as contract`,
  );
  const { next } = await world.page('/api/updates', { limit: '100' });
  values = {
    'alice::1220…': String(row?.['party']),
    'validator-1::1220…': String(row?.['validator']),
    '00ab…': String(row?.['contract']),
    $TOKEN: reader.token,
    $NEXT: next ?? '',
  };
});
afterAll(() => world[Symbol.asyncDispose]());

/** The words of a command. Only the quotes that the page uses are understood. */
function wordsOf(command: string): readonly string[] {
  return [...command.matchAll(/(?:"([^"]*)"|(\S+))/g)].map(([, quoted, plain]) => quoted ?? plain ?? '');
}

interface CurlRequest {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** The request that curl would send. */
function requestOf(command: string): CurlRequest {
  const filled = Object.entries(values).reduce((text, [name, value]) => text.replaceAll(name, value), command);
  const [program, ...words] = wordsOf(filled);
  if (program !== 'curl') throw new Error(`not a request: ${command}`);
  const query: string[] = [];
  const headers: Record<string, string> = {};
  let address = '';
  for (let index = 0; index < words.length; index += 1) {
    const word = words[index] ?? '';
    if (word === '-s' || word === '-sG') continue;
    if (!['-d', '--data-urlencode', '-H'].includes(word)) {
      address = word;
      continue;
    }
    index += 1;
    const argument = words[index] ?? '';
    const separator = argument.indexOf(word === '-H' ? ':' : '=');
    const [name, value] = [argument.slice(0, separator), argument.slice(separator + 1).trim()];
    if (word === '-H') headers[name] = value;
    else query.push(`${name}=${word === '-d' ? value : encodeURIComponent(value)}`);
  }
  const { pathname } = new URL(`http://${address}`);
  return { path: query.length === 0 ? pathname : `${pathname}?${query.join('&')}`, headers };
}

describe(path, () => {
  it('has requests', () => {
    expect(commands.length).toBeGreaterThan(15);
  });

  it.each(commands)('%s', async (command) => {
    const request = requestOf(command);
    const { status, text } = await world.get(request.path, undefined, request.headers);
    expect(status, text).toBe(200);
    const { rows } = JSON.parse(text) as { rows?: readonly unknown[] };
    // The demo rejects few commands, and this many updates may have none.
    if (rows !== undefined && !command.includes('succeeded=false')) expect(rows.length, text).toBeGreaterThan(0);
  });
});
